"""Friction that changes with the temperature of the drives, where a log has that."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.views.cli.main import app
from dalembert.views.report import identification
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.parameter_set import ParameterSet, temperature_parameters
from dalembert.work.identification.fitting.term_columns import States
from dalembert.work.logs.conditioning import condition
from dalembert.work.logs.log import joined, read_log
from test_identification import motion, with_friction

VISCOUS, COULOMB = np.array([-0.02, -0.015]), np.array([-0.015, -0.02])  # per K
MEAN = 35.0


@cache
def arm() -> da.Arm:
    return with_friction("planar-2r")


@cache
def run(seed: int = 3, warmer: float = 0.0, noise: float = 0.0) -> dict[str, np.ndarray]:
    """A run that warms up; friction falls with the temperature, which the drives round to 0.1 K."""
    t, q, qd, qdd = motion(2, seed=seed)
    rising = 25.0 + warmer + 20.0 * (1.0 - np.exp(-t / (0.5 * t[-1])))
    T = np.column_stack([rising, 0.8 * rising + 3.0 * np.sin(2 * np.pi * t / t[-1])])
    change = (T - MEAN) * (VISCOUS * qd + COULOMB * np.sign(qd))
    tau = np.asarray(arm().inverse_dynamics(q, qd, qdd)) + change
    tau += noise * np.random.default_rng(0).normal(size=tau.shape)
    return {"t": t, "q": q, "qd": qd, "tau": tau, "temperature": np.round(T, 1)}


def fitted(**options: Any) -> da.Identification:
    settings = {"terms": ["temperature"], "cutoff": 8.0, "selection": False, **options}
    return da.identify(arm(), run(), **settings)


def test_slopes_are_recovered_and_a_warmer_run_is_predicted() -> None:
    fit, plain = fitted(), fitted(terms=())
    for j, name in enumerate(arm().joint_names):
        usual, viscous, coulomb = fit.temperature_slopes[name]
        assert abs(usual - run()["temperature"][:, j].mean()) < 0.01
        assert abs(viscous / VISCOUS[j] - 1) < 0.05 and abs(coulomb / COULOMB[j] - 1) < 0.05
    warmer = run(seed=4, warmer=20.0)
    good, poor = (x.evaluate(warmer) for x in (fit, plain))
    assert np.linalg.norm(good.residual) < 0.05 * np.linalg.norm(poor.residual)
    predicted = fit.predict({x: y for x, y in warmer.items() if x != "tau"})
    inside = slice(200, -200)
    assert (
        np.abs(predicted - warmer["tau"])[inside].max()
        < 0.1 * np.abs(plain.predict(warmer) - warmer["tau"])[inside].max()
    )


def test_without_a_temperature_the_mean_is_taken_and_said() -> None:
    fit, bare = fitted(), {x: y for x, y in run().items() if x != "temperature"}
    with pytest.warns(UserWarning, match="no temperature; the mean of the training log"):
        tau = fit.predict(bare)
    even = {**run(), "temperature": np.tile(fit.base.parameters.usual_temperature, (len(bare["t"]), 1))}
    assert np.allclose(tau, fit.predict(even), atol=1e-9)
    judged = fit.evaluate(bare)
    assert any("no temperature" in note for note in judged.conditioned.notes)
    q, qd, qdd = (np.ones((3, 2)) for _ in range(3))
    mean = fit.base.parameters.usual_temperature
    assert np.allclose(fit.torque(q, qd, qdd), fit.torque(q, qd, qdd, mean), atol=1e-9)
    change = fit.torque(q, qd, qdd, mean + 10.0) - fit.torque(q, qd, qdd)
    assert np.allclose(change, 10.0 * (VISCOUS + COULOMB), rtol=0.05)
    with pytest.raises(da.DalembertError, match="'joint1' is to depend on the temperature, but the log has none"):
        da.identify(arm(), bare, terms=["temperature"], selection=False)
    two = da.identify(arm(), [run(), bare], terms=["temperature"], cutoff=8.0, selection=False)
    assert any("the mean of the other runs is used" in note for note in two.notes)


def test_the_calibrated_arm_has_the_friction_of_the_mean_temperature(tmp_path: Path) -> None:
    fit = fitted()
    (note,) = (note for note in fit.arm_notes if "mean temperature" in note)
    assert re.search(r"FvT_1 = -0\.0\d+ N m s/rad per K", note)
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, 20, 2))
    assert np.allclose(fit.arm.inverse_dynamics(q, qd, qdd), fit.torque(q, qd, qdd), atol=1e-6)
    fit.save(tmp_path / "fit.json")
    record = da.read_fit(tmp_path / "fit.json")
    assert record.heated == (0, 1) and np.allclose(record.mean_temperature, fit.base.parameters.usual_temperature)
    again = record.base(arm())
    assert again.names == fit.names and "FsT_2" in again.names
    assert "temperature, above a mean of" in identification._terms(fit)


@pytest.mark.parametrize(
    "pattern", [["temperature"], "temperature", {"joint2": ["temperature", "load"]}, {"temperature": {}}]
)
def test_patterns_of_terms_name_heated_joints(pattern: Any) -> None:
    fit = fitted(terms=pattern)
    heated = {"joint2": (1,)}.get(*pattern) if isinstance(pattern, dict) and "joint2" in pattern else (0, 1)
    assert tuple(fit.base.parameters.heated) == (heated or (1,))
    with pytest.raises(da.DalembertError, match="no shape"):
        fitted(terms={"temperature": {"rest": 1.0}})


@pytest.mark.parametrize("name", ["scara", "puma560", "five-bar"])
def test_columns_are_friction_times_the_warmth(name: str) -> None:
    loaded = da.load(name)
    mean = np.linspace(20.0, 40.0, loaded.n)
    some = ParameterSet(loaded, heated=range(loaded.n), mean_temperature=mean)
    rng = np.random.default_rng(0)
    q, qd, qdd, warmth = rng.uniform(-1, 1, (4, 5, loaded.n)) * 0.1
    Y = some.regressor(q, qd, qdd, mean + warmth)
    states = States(loaded, q, qd, qdd, warmth)
    for j in range(loaded.n):
        for parameter, column in zip(temperature_parameters(loaded, j), (qd, np.sign(qd)), strict=True):
            brought = Y[:, :, some.names.index(parameter.name)]
            assert np.allclose(brought, parameter.column(states))
            assert np.allclose(brought[:, j], column[:, j] * warmth[:, j])
    assert not some.regressor(q, qd, qdd)[:, :, [x.slope is not None for x in some.members]].any()
    assert {f"FvT_{loaded.mechanism.actuated[j] + 1}" for j in range(loaded.n)} <= set(base_parameters(some).names)
    with pytest.raises(da.DalembertError, match="need mean_temperature"):
        ParameterSet(loaded, heated=[0]).regressor(q, qd, qdd, mean)


def test_temperatures_as_logs_have_them(tmp_path: Path) -> None:
    data, T = run(), run()["temperature"]
    bare = {x: y for x, y in data.items() if x != "temperature"}
    for given, how, truth in (
        ({"temp": T[:, 0]}, {}, T[:, [0, 0]]),
        ({"motor_temperature": T.T}, {}, T),
        ({"temperature": T + 273.15}, {"units": {"temperature": "K"}}, T),
        ({"heat": T}, {"columns": {"temperature": "heat"}}, T),
    ):
        log = read_log({**bare, **given}, arm(), **how)
        assert log.temperature is not None and np.allclose(log.temperature, truth)
    seldom = T.copy()
    seldom[np.arange(len(T)) % 100 != 0] = np.nan
    seldom[300, 1] = 1e20
    log = read_log({**data, "temperature": seldom}, arm())
    assert len(log) == len(T) and np.abs(log.temperature - T)[:-100].max() < 0.5  # type: ignore[operator]
    assert any("interpolated" in note for note in log.notes)
    header = "t,q1,q2,joint1.temperature [K],joint2.temperature [degC],tau1,tau2"
    rows = np.column_stack([data["t"], data["q"], T[:, 0] + 273.15, T[:, 1], data["tau"]])
    np.savetxt(tmp_path / "log.csv", rows, "%.10g", ",", header=header, comments="")
    assert np.allclose(read_log(tmp_path / "log.csv", arm()).temperature, T, atol=1e-6)  # type: ignore[arg-type]
    for odd, words in (
        (T + 273.15, "looks like kelvin"),
        (np.full_like(T, np.nan), "no plausible number"),
        (np.column_stack([T, T[:, 0]]), "has 3 joints"),
        (T[:-1], "must be"),
    ):
        log = read_log({**data, "temperature": odd}, arm())
        assert log.temperature is None and any(words in note and "is ignored" in note for note in log.notes), words
    with pytest.raises(da.DalembertError, match="known units are °C, degC"):
        read_log(data, arm(), units={"temperature": "F"})


def test_temperatures_follow_their_log_through_cuts_joins_and_filters() -> None:
    log, other = read_log(run(), arm()), read_log(run(seed=4, warmer=20.0), arm())
    both = joined([log, other])
    assert np.array_equal(both.temperature, np.vstack([log.temperature, other.temperature]))  # type: ignore[list-item]
    assert np.array_equal(both.part(0.0, 0.5).parts[1].temperature, other.part(0.0, 0.5).temperature)  # type: ignore[arg-type]
    uneven = log.rows(np.random.default_rng(0).random(len(log)) > 0.1)
    for x in (log, uneven, both):
        ready = condition(x, cutoff=8.0)
        for piece in ready.pieces:
            truth = np.column_stack([np.interp(piece.t, x.t, column) for column in x.temperature.T])  # type: ignore[union-attr]
            assert piece.temperature is not None and np.abs(piece.temperature - truth).max() < 0.2
    assert (
        condition(read_log({x: y for x, y in run().items() if x != "temperature"}, arm())).pieces[0].temperature is None
    )


def test_the_command_asks_for_it_by_a_term(tmp_path: Path) -> None:
    arm().save(tmp_path / "arm.toml")
    np.savez(tmp_path / "log.npz", **run())
    command = [
        "identify",
        str(tmp_path / "arm.toml"),
        str(tmp_path / "log.npz"),
        "--term",
        "all:temperature",
        "--cutoff",
        "8",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert "FvT_1" in shown.output and "mean temperature" in " ".join(shown.output.split())
