"""Identification from logs: made ones whose truth is known, real ones, and wrong ones."""

from __future__ import annotations

import html
import itertools
import json
import re
import warnings
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from arms import MODELS, REFERENCE, SHARED
from dalembert.robot.terms import Tanh
from dalembert.views.cli.main import app
from dalembert.views.report.identification import remarks
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.fit import IdentificationWarning
from dalembert.work.identification.fitting.least_squares import correlation_time
from dalembert.work.identification.fitting.model_parameters import at_every_joint
from dalembert.work.identification.fitting.parameter_set import ParameterSet
from dalembert.work.identification.fitting.physical_consistency import entries, links_of, shape_forms
from dalembert.work.logs.conditioning import condition
from dalembert.work.logs.log import Log, read_log

identify = partial(da.identify, selection=False)  # what is not given takes its plain value

LOGS = SHARED / "data" / "logs"
GAINS = [10.0, 10.6956, 8.4566, 9.0029, 9.48, 10.1232]
KR = {"columns": {"q": "q_mot", "qd": "qd_mot", "tau": "tau_motor"}, "motor_side": ["tau"]}
here = pytest.mark.skipif(not LOGS.exists(), reason="../shared/data is not here")


def motion(n: int, seconds: float = 20.0, rate: float = 200.0, seed: int = 0, still: tuple[int, ...] = ()) -> tuple:
    """t, q, qd, qdd of a sum of sines."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / rate)
    w = 2 * np.pi * 0.1 * np.arange(1, 6)
    a, b = rng.normal(size=(2, n, 5)) * 1.4 / w
    a[list(still)] = b[list(still)] = 0.0
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    return t, s @ a.T + c @ b.T, (c * w) @ a.T - (s * w) @ b.T, -(s * w**2) @ a.T - (c * w**2) @ b.T


def with_friction(name: str) -> da.Arm:
    """An arm with the same friction in both directions at every joint, and none at its rotors."""

    def joint(j: da.Joint) -> da.Joint:
        rotor = None if j.rotor is None else replace(j.rotor, viscous=0.0, coulomb=(0.0, 0.0))
        return replace(j, rotor=rotor, friction=da.Friction(0.8, (1.1, 1.1))) if j.moves else j

    arm = da.load(name)
    return arm.replace(joints=tuple(joint(j) for j in arm.robot.joints))


@cache
def planar_log(noise: float = 0.0, seed: int = 0) -> tuple[da.Arm, dict]:
    arm = with_friction("planar-2r")
    t, q, qd, qdd = motion(2, seed=3)
    tau = np.asarray(arm.inverse_dynamics(q, qd, qdd))
    tau = tau + noise * np.random.default_rng(seed).normal(size=tau.shape)
    return arm, {"t": t, "q": q, "qd": qd, "tau": tau}


# -- made logs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ordinary", "weighted", "reweighted", "robust", "sequential"])
@pytest.mark.parametrize("name", ["planar-2r", "puma560", "scara"])
def test_finds_the_parameters_that_made_the_log(method: str, name: str) -> None:
    arm = with_friction(name)
    t, q, qd, qdd = motion(arm.n, seed=1)
    log = {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}
    fit = identify(arm, log, method=method, cutoff=20.0)
    assert fit.relative_error < 2e-3  # sgn at reversals, between samples
    size = np.maximum(np.abs(fit.base.values), 1e-2 * np.abs(fit.base.values).max())
    assert np.abs((fit.parameters - fit.base.values) / size).max() < 0.1
    fresh = motion(arm.n, seed=2)[1:]
    moving = np.abs(fresh[1]).min(axis=1) > 0.05
    truth = np.asarray(arm.inverse_dynamics(*fresh))[moving]
    off = fit.torque(*fresh)[moving] - truth
    assert np.linalg.norm(off) / np.linalg.norm(truth) < 5e-3


def test_error_bars_hold_at_the_stated_rate() -> None:
    """z-scores of 40 noisy trials: within ±2σ at about 95 %."""
    z = []
    for seed in range(40):
        arm, log = planar_log(20.0, seed)
        fit = identify(arm, log, cutoff=5.0)
        truth = fit.base.values
        z.append((fit.parameters - truth) / fit.std)
    z = np.array(z)
    inside = np.mean(np.abs(z) < 2)
    assert 0.90 <= inside <= 0.995, inside
    assert 0.7 < np.std(z) < 1.2


def test_error_bars_hold_when_the_noise_repeats_itself() -> None:
    """Noise with a memory of a quarter second: as honest, since correlation is counted."""
    z = []
    arm, clean = planar_log()
    for seed in range(20):
        noise = drifting(clean["tau"].shape, seed)
        fit = identify(arm, {**clean, "tau": clean["tau"] + 15 * noise}, cutoff=5.0)
        z.append((fit.parameters - fit.base.values) / fit.std)
    assert np.mean(np.abs(z) < 2) > 0.85


def test_weighting_trusts_the_quiet_joint() -> None:
    arm, clean = planar_log()
    errors = {"ordinary": [], "reweighted": []}
    for seed in range(10):
        noise = np.random.default_rng(seed).normal(size=clean["tau"].shape) * [200.0, 0.5]
        for method, listed in errors.items():
            fit = identify(arm, {**clean, "tau": clean["tau"] + noise}, method=method, cutoff=5.0)
            listed.append(np.abs(fit.parameters - fit.base.values)[list(fit.names).index("mx_2")])
    assert np.mean(errors["reweighted"]) < 0.5 * np.mean(errors["ordinary"])


def test_total_least_squares_finds_drive_gains(tmp_path: Path) -> None:
    """Torques in a wrong unit, and a run with a payload that is known."""
    arm = with_friction("planar-2r")
    states = motion(2, seed=3)
    true = np.array([1.3, 0.8])
    payload = 50.0
    heavy = arm.with_payload(payload)
    rng = np.random.default_rng(0)
    t, q, qd, qdd = states
    runs = []
    for a in (arm, heavy):
        tau = np.asarray(a.inverse_dynamics(q, qd, qdd))
        runs.append({"t": t, "q": q, "qd": qd, "tau": (tau + 3 * rng.normal(size=tau.shape)) / true})
    fit = identify(arm, runs[0], method="total", loaded=runs[1], payload=payload, cutoff=5.0)
    assert fit.gains is not None and np.abs(fit.gains / true - 1).max() < 0.05
    large = np.abs(fit.base.values) > 5
    assert np.abs(fit.parameters[large] / fit.base.values[large] - 1).max() < 0.1
    # only the mass is given: the centre of mass, here the tip itself, is found with the gains
    assert fit.payload_com is not None and fit.payload_com_std is not None and fit.gains_std is not None
    assert (np.abs(fit.payload_com[:2]) < 3 * fit.payload_com_std[:2]).all() and np.isnan(fit.payload_com[2])
    assert any("only the mass of the payload is known" in note for note in fit.notes)
    off = [
        runs[0],
        {**runs[1], "tau": np.asarray(arm.with_payload(50.0, (0.1, 0.2, 0.0)).inverse_dynamics(q, qd, qdd)) / true},
    ]
    fit = identify(arm, off[0], method="total", loaded=off[1], payload={"mass": payload}, cutoff=5.0)
    assert fit.gains is not None and np.abs(fit.gains / true - 1).max() < 0.05
    assert fit.payload_com is not None and np.allclose(fit.payload_com[:2], (0.1, 0.2), atol=0.02)
    with pytest.raises(da.DalembertError, match="mass of 0 kg"):
        identify(arm, off[0], method="total", loaded=off[1], payload=0.0, cutoff=5.0)
    arm.save(tmp_path / "arm.toml")
    for name, run in zip(("empty", "loaded"), runs, strict=True):
        np.savez(tmp_path / f"{name}.npz", **run)
    words = ["identify", str(tmp_path / "arm.toml"), str(tmp_path / "empty.npz"), "--cutoff", "5", "--method", "total"]
    words += ["--loaded", str(tmp_path / "loaded.npz"), "--payload-com", "0 0 0"]
    done = CliRunner().invoke(app, [*words, "--payload", "50"])
    assert done.exit_code == 0 and "only the mass" not in done.output, done.output
    assert "--payload MASS is missing" in CliRunner().invoke(app, words).output
    with pytest.raises(da.DalembertError, match="damping applies to method='damped'"):
        identify(arm, runs[0], damping=1.0)


def test_damping_is_said() -> None:
    arm, log = planar_log(5.0)
    with pytest.raises(da.DalembertError, match=r"hold_out is 1.5"):
        identify(arm, log, hold_out=1.5)
    fit = identify(arm, log, method="damped", damping=3.0, cutoff=5.0)
    assert any("λ = 3" in note for note in fit.notes)
    automatic = identify(arm, log, method="damped", cutoff=5.0)
    assert any("cross-validation" in note for note in automatic.notes)
    assert automatic.relative_error < 0.05


def test_damped_to_zero_is_the_inverse_of_s_7_4() -> None:
    """(ȲᵀȲ + λ²1)⁻¹Ȳᵀτ̄, whatever the arm's file says; (7.86) for λ → 0."""
    true = da.load("planar-2r")
    file = true.replace(
        links=[replace(x, inertia=replace(x.inertia, mass=1.5 * x.inertia.mass)) for x in true.robot.links]
    )
    t, q, qd, qdd = motion(2, seed=5)
    log = {"t": t, "q": q, "qd": qd, "tau": np.asarray(true.inverse_dynamics(q, qd, qdd))}
    plain = {
        "friction": (),
        "offset": False,
        "selection": False,
        "cutoff": 0.4 / (t[1] - t[0]),
        "decimate": 1,
        "edge": 0.0,
        "lag": 0.0,
    }
    Y = true.regressor(q, qd, qdd)[
        ..., [true.parameter_names.index(x) for x in true.base_parameters(friction=()).names]
    ]
    Y, tau = Y.reshape(-1, Y.shape[-1]), log["tau"].reshape(-1)
    for damping in (0.0, 30.0, 300.0):
        formula = np.linalg.solve(Y.T @ Y + damping**2 * np.eye(Y.shape[1]), Y.T @ tau)
        for arm in (true, file):
            fit = identify(arm, log, method="damped", damping=damping, damped_to="zero", **plain)
            assert np.abs(fit.parameters - formula).max() < 2e-3 * np.abs(formula).max()
    assert any("towards zero" in note for note in fit.notes)
    with pytest.raises(da.DalembertError, match="damped_to applies to method='damped'"):
        identify(file, log, damped_to="zero")
    with pytest.raises(da.DalembertError, match="damped_to is 'x'; it must be 'arm' or 'zero'"):
        identify(file, log, method="damped", damped_to="x")


def test_stribeck_coupling_and_balance_are_found() -> None:
    arm = with_friction("planar-2r")
    t, q, qd, qdd = motion(2, seed=5)
    clean = np.asarray(arm.inverse_dynamics(q, qd, qdd))
    tau = clean.copy()
    drive = qd[:, 0] + qd[:, 1]
    tau += 3.0 * drive[:, None] + 2.0 * np.sign(drive)[:, None]  # a shared drive
    tau[:, 0] += 40 * np.sin(2 * q[:, 0])
    fit = identify(arm, {"t": t, "q": q, "qd": qd, "tau": tau}, coupling=[(1, 2)], balance=[1], cutoff=20.0)
    assert fit.relative_error < 5e-3
    found = dict(zip(fit.names, fit.parameters, strict=True))
    assert found["Fs_1_2"] == pytest.approx(2.0, rel=0.1)
    assert found["sin2_1"] == pytest.approx(40.0, rel=0.05)
    sticky = tau.copy()
    sticky[:, 1] += 15 * np.sign(qd[:, 1]) * np.exp(-((qd[:, 1] / 0.3) ** 2))
    log = {"t": t, "q": q, "qd": qd, "tau": sticky}
    plain = identify(arm, log, coupling=[(1, 2)], balance=[1], cutoff=20.0)
    better = identify(arm, log, coupling=[(1, 2)], balance=[1], cutoff=20.0, stribeck=True)
    assert better.run.joint_errors[1] < 0.5 * plain.run.joint_errors[1]


def test_gradual_coulomb_friction_is_found() -> None:
    arm = da.load("planar-2r")
    t, q, qd, qdd = motion(2, seed=5)
    tau = np.asarray(arm.inverse_dynamics(q, qd, qdd)) + [30.0, 12.0] * np.tanh((qd - [0.02, -0.05]) / [0.15, 0.3])
    log = {"t": t, "q": q, "qd": qd, "tau": tau + np.random.default_rng(0).normal(0, 0.5, tau.shape)}
    sharp = identify(arm, log, cutoff=20.0)
    fit = identify(arm, log, cutoff=20.0, sigmoid=True)
    assert fit.relative_error < 0.5 * sharp.relative_error
    found = dict(zip(fit.names, fit.parameters, strict=True))
    assert found["Ft_1"] == pytest.approx(30.0, rel=0.03) and found["Ft_2"] == pytest.approx(12.0, rel=0.03)
    told = next(note for note in fit.notes if "tanh" in note)
    numbers = [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e-\d+)?", told)]
    assert numbers == pytest.approx([0.15, 0.3, 0.02, -0.05], rel=0.1, abs=5e-3)
    (gradual,) = (term for term in fit.arm.robot.moving_joints[0].friction if term.name == "tanh")
    assert gradual.values == pytest.approx([30.0, 0.15, 0.02], rel=0.1)
    given = identify(arm, log, cutoff=20.0, sigmoid=[0.15, 0.3])
    assert given.relative_error < sharp.relative_error
    with pytest.raises(da.DalembertError, match="sigmoid"):
        identify(arm, log, sigmoid=True, two_sided=True)
    with pytest.raises(da.DalembertError, match="more than 0"):
        identify(arm, log, sigmoid=[0.1, 0.0])


# -- conditioning --------------------------------------------------------------------------------


def test_filter_shifts_no_phase_and_blocks_agree() -> None:
    t = np.arange(0, 20, 0.002)
    x = np.column_stack([np.sin(2 * np.pi * 0.5 * t), np.cos(2 * np.pi * 0.3 * t)])
    ready = condition(Log(t, x, x), cutoff=5.0)
    assert np.abs(ready.tau - np.column_stack([np.sin(np.pi * ready.t), np.cos(0.6 * np.pi * ready.t)])).max() < 2e-4
    piece = ready.pieces[0]
    assert np.abs(piece.qdd[500:-500, 0] + np.pi**2 * np.sin(np.pi * piece.t[500:-500])).max() < 1e-3
    blocks = [ready.filtered(part.tau, at) for part, at in ready.blocks()]
    assert np.array_equal(np.concatenate(blocks), ready.tau)
    whole = np.column_stack([np.convolve(x[:, j], ready.kernel, "same") for j in range(2)])
    assert np.abs(whole[ready.kept[0]] - ready.tau).max() < 1e-12


def test_uneven_stamps_gaps_and_two_runs_in_one() -> None:
    arm, log = planar_log()
    rng = np.random.default_rng(0)
    n = len(log["t"])
    keep = np.sort(rng.choice(n, int(0.9 * n), replace=False))
    keep = keep[(keep < 1500) | (keep > 1900)]  # two seconds are missing
    part = {name: values[keep] for name, values in log.items()}
    doubled = {name: np.concatenate([values, values]) for name, values in part.items()}
    fit = identify(arm, doubled, cutoff=8.0)
    assert fit.relative_error < 0.01
    notes = " ".join(fit.notes)
    assert "4 stretches" in notes and "missing samples" in notes and "backwards" in notes


@pytest.mark.parametrize("names", [("q", "qd", "tau"), ("q", "tau")])
def test_jumps_by_whole_turns_are_taken_out(names: tuple[str, ...]) -> None:
    """Drives that count an angle from 0 to 2π; the same in degrees without its unit is left for the warnings."""
    arm, log = planar_log(1.0)
    there = {"t": log["t"], **{name: log[name] for name in names}}
    plain = identify(arm, there, cutoff=8.0)
    fit = identify(arm, {**there, "q": np.mod(log["q"], 2 * np.pi)}, cutoff=8.0)
    assert np.allclose(fit.parameters, plain.parameters, rtol=1e-6, atol=1e-6)
    assert any("jumps by full turns" in note for note in fit.notes)
    assert not any("jumps" in note for note in plain.notes)
    degrees = read_log({**there, "q": np.rad2deg(log["q"])}, arm)
    assert not any("jumps" in note for note in degrees.notes)


def test_correlation_time_of_known_noise() -> None:
    rng = np.random.default_rng(0)
    white = rng.normal(size=20000)
    assert correlation_time([white]) < 1.2
    slow = np.zeros(20000)
    for k in range(1, len(slow)):
        slow[k] = 0.8 * slow[k - 1] + white[k]
    assert correlation_time([slow]) == pytest.approx(1.8 / 0.2, rel=0.3)  # (1 + a)/(1 − a)


def test_correlation_time_is_that_of_all_stretches() -> None:
    """Cut into pieces, with one between that rests, the same noise has the same correlation time."""
    rng = np.random.default_rng(1)
    slow = rng.normal(size=20000)
    for k in range(1, len(slow)):
        slow[k] += 0.8 * slow[k - 1]
    pieces = np.split(slow, np.arange(200, len(slow), 200))
    assert correlation_time(pieces) == pytest.approx(correlation_time([slow]), rel=0.1)
    assert correlation_time([slow[:5000], np.zeros(50000), np.empty(0)]) == correlation_time([slow[:5000]])
    assert correlation_time([np.zeros(100)], least=1.5) == correlation_time([], least=1.5) == 1.5


def drifting(shape: tuple[int, ...], seed: int, memory: float = 0.98) -> np.ndarray:
    """Noise of unit variance that remembers; at 200 Hz and 0.98, a quarter of a second."""
    noise = np.random.default_rng(seed).normal(size=shape)
    for k in range(1, len(noise)):
        noise[k] = memory * noise[k - 1] + np.sqrt(1 - memory**2) * noise[k]
    return noise


def two_runs(seed: int) -> tuple[da.Arm, dict, dict]:
    """A run in which both joints move, and one twice as long in which the second rests; noise that remembers."""
    arm, clean = planar_log()
    t, q, qd, qdd = motion(2, 40.0, seed=5, still=(1,))
    long = {"t": t, "q": q, "qd": qd, "tau": np.asarray(arm.inverse_dynamics(q, qd, qdd))}
    runs = [
        {**run, "tau": run["tau"] + 15 * drifting(run["tau"].shape, 2 * seed + k)}
        for k, run in enumerate((clean, long))
    ]
    return arm, runs[0], runs[1]


@pytest.mark.filterwarnings(
    "ignore::dalembert.work.identification.fitting.fit.IdentificationWarning", "error::RuntimeWarning"
)
@pytest.mark.parametrize("method", ["weighted", "sequential", "reweighted", "ordinary"])
def test_correlation_times_of_a_joint_that_rests_in_the_longest_run(method: str) -> None:
    arm, moving, long = two_runs(0)
    alone = identify(arm, moving, cutoff=5.0, method=method)
    both = identify(arm, [long, moving], cutoff=5.0, method=method)
    assert alone.correlation[1] > 3  # the low-pass alone would leave 1.3
    assert both.correlation[1] == pytest.approx(alone.correlation[1], rel=0.1)
    resting = identify(arm, long, cutoff=5.0, method=method)
    low, high = sorted((alone.correlation[0], resting.correlation[0]))
    assert 0.9 * low < both.correlation[0] < 1.1 * high


def test_error_bars_of_several_runs_hold_when_the_noise_repeats_itself() -> None:
    z = []
    for seed in range(12):
        arm, moving, long = two_runs(seed)
        fit = identify(arm, [long, moving], cutoff=5.0)
        z.append((fit.parameters - fit.base.values) / fit.std)
    assert np.mean(np.abs(z) < 2) > 0.85 and np.std(z) < 1.3


def degenerate() -> dict[str, dict]:
    """Logs of little or nothing: joints that rest, torques that are zero, clocks that jump, numbers beyond all bounds."""
    log = planar_log(1.0)[1]
    t, q, tau = log["t"], log["q"], log["tau"]
    return {
        "a joint rests": {**log, "q": q * [1, 0], "qd": log["qd"] * [1, 0]},
        "all rest": {"t": t, "q": 0 * q, "tau": tau},
        "all rest, and say so": {**log, "q": 0 * q, "qd": 0 * q},
        "a torque is zero": {**log, "tau": tau * [1, 0]},
        "torques are constant": {**log, "tau": 0 * tau + 1},
        "hardly a torque": {**log, "tau": 1e-200 * tau},
        "hardly a motion": {**log, "q": 1e-200 * q, "qd": 1e-200 * q},
        "ten rows": {name: values[:10] for name, values in log.items()},
        "sixty rows": {name: values[:60] for name, values in log.items()},
        "whole numbers": {"t": t, "q": np.round(q).astype(int), "tau": np.round(tau).astype(int)},
        "huge positions": {"t": t, "q": 1e200 * q, "tau": tau},
        "huge torques": {**log, "tau": 1e200 * tau},
        "a clock that jumps": {**log, "t": np.where(t > 10, t + 1e9, t)},
        "a clock that runs back": {**log, "t": t[::-1]},
    }


@pytest.mark.filterwarnings(
    "ignore::dalembert.work.identification.fitting.fit.IdentificationWarning", "error::RuntimeWarning"
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        *({"method": x} for x in ("sequential", "damped", "robust", "energy")),
        {"physical": True},
        {"stribeck": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", list(degenerate()))
def test_degenerate_logs_give_numbers_or_a_sentence(name: str, options: dict) -> None:
    try:
        fit = identify(planar_log()[0], degenerate()[name], **options)
    except da.DalembertError as error:
        nothing = name in ("ten rows", "huge positions", "huge torques", "hardly a torque")
        assert nothing or "semidefinite program" in str(error), str(error)  # torques that no body explains
    else:
        assert np.isfinite(fit.parameters).all() and np.isfinite(fit.correlation).all()
        assert fit.covariance.shape == 2 * fit.parameters.shape and not np.isnan(fit.std).any()


def test_velocities_may_be_missing() -> None:
    arm, log = planar_log()
    fit = identify(arm, {k: v for k, v in log.items() if k != "qd"}, cutoff=8.0)
    assert fit.relative_error < 0.01


# -- the result ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["toml", "urdf"])
@pytest.mark.parametrize("physical", [False, True])
def test_calibrated_arm_predicts_the_same_torques(tmp_path: Path, suffix: str, physical: bool) -> None:
    if physical:
        pytest.importorskip("clarabel")
    truth = with_friction("puma560")
    t, q, qd, qdd = motion(6, seed=1)
    log = {"t": t, "q": q, "qd": qd, "tau": truth.inverse_dynamics(q, qd, qdd)}

    def lighter(link: da.Link) -> da.Link:
        i = link.inertia
        return replace(
            link, inertia=da.Inertia(0.7 * i.mass, i.com, tuple(tuple(0.7 * x for x in row) for row in i.tensor))
        )

    start = truth.replace(links=tuple(lighter(link) for link in truth.robot.links))
    fit = identify(start, log, cutoff=20.0, physical=physical)
    fit.arm.save(tmp_path / f"a.{suffix}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arm = da.load(tmp_path / f"a.{suffix}")
    fresh = motion(6, seed=9)[1:]
    moving = np.abs(fresh[1]).min(axis=1) > 0.02
    ours, theirs = fit.torque(*fresh)[moving], np.asarray(arm.inverse_dynamics(*fresh))[moving]
    assert np.abs(ours - theirs).max() < 1e-6 * np.abs(ours).max()
    real = np.asarray(truth.inverse_dynamics(*fresh))[moving]
    assert np.linalg.norm(theirs - real) / np.linalg.norm(real) < 0.01
    assert all(link.physical for link in arm.robot.links) or not physical


def test_predict_gives_a_row_for_each_row() -> None:
    arm, log = planar_log()
    fit = identify(arm, log, cutoff=10.0)
    broken = {**log, "tau": log["tau"].copy()}
    tau = fit.predict({k: v for k, v in broken.items() if k != "tau"})
    assert tau.shape == log["tau"].shape and np.isfinite(tau).all()
    assert np.linalg.norm(tau - log["tau"]) / np.linalg.norm(log["tau"]) < 0.02
    assert fit.evaluate(log).relative_error == pytest.approx(fit.relative_error, rel=1e-9)


# -- bodies that can exist -----------------------------------------------------------------------


def test_physical_estimate_is_possible_and_prior_helps() -> None:
    pytest.importorskip("clarabel")
    arm = with_friction("puma560")
    t, q, qd, qdd = motion(6, seconds=4.0, seed=4)
    tau = np.asarray(arm.inverse_dynamics(q, qd, qdd))
    tau = tau + np.random.default_rng(0).normal(size=tau.shape) * 4
    log = {"t": t, "q": q, "qd": qd, "tau": tau}
    states = motion(6, seed=8)
    check = {"t": states[0], "q": states[1], "qd": states[2], "tau": arm.inverse_dynamics(*states[1:])}
    plain = identify(arm, log, check, cutoff=5.0)
    bodies = identify(arm, log, check, cutoff=5.0, physical=True)
    believed = identify(arm, log, check, cutoff=5.0, prior=arm)
    euclid = identify(arm, log, check, cutoff=5.0, prior=arm, prior_kind="euclidean")
    for fit in (bodies, believed, euclid):
        for own in links_of(fit.base.parameters).own(fit.full):
            assert np.linalg.eigvalsh(entries(own))[0] > -1e-8
        assert fit.positive_definite
    assert believed.validation_error < plain.validation_error
    assert sum("low-pass" in note for note in plain.notes) == 1  # of both runs
    assert euclid.validation_error < plain.validation_error


def test_bounding_shapes_hold_the_mass_inside() -> None:
    pytest.importorskip("clarabel")
    arm, log = planar_log(5.0)
    name = arm.robot.moving_joints[1].child
    box = {name: {"box": ((-0.6, -0.1, -0.1), (0.0, 0.1, 0.1))}}
    fit = identify(arm, log, physical=True, bounds=box, cutoff=5.0)
    J = entries(links_of(fit.base.parameters).own(fit.full)[1])
    assert all(np.sum(Q * J) >= -1e-6 * J[3, 3] for Q in shape_forms(name, box[name]))
    with pytest.raises(da.DalembertError, match="bounds contain the link 'nothing'"):
        identify(arm, log, physical=True, bounds={"nothing": box[name]}, cutoff=5.0)
    assert identify(arm, log, bounds=box, cutoff=5.0).physical  # shapes are for bodies, and ask for them


def test_with_a_prior_what_is_essential_agrees_with_what_was_found() -> None:
    """A short log alone would settle little: what log and prior settle together counts."""
    pytest.importorskip("clarabel")
    arm = with_friction("puma560")
    t, q, qd, qdd = motion(6, seconds=4.0, seed=4)
    tau = np.asarray(arm.inverse_dynamics(q, qd, qdd))
    tau = tau + np.random.default_rng(0).normal(size=tau.shape) * 4
    fit = identify(arm, {"t": t, "q": q, "qd": qd, "tau": tau}, cutoff=5.0, prior=arm, prior_deviation=0.05)
    known = [name for name, share in zip(fit.names, fit.relative_std, strict=True) if share < 0.1]
    assert len(known) > 10 and set(known) <= set(fit.essential)
    assert len(fit.essential) < len(fit.names)


# -- wrong input ---------------------------------------------------------------------------------


def test_joint_counts_and_names_that_do_not_fit(tmp_path: Path) -> None:
    arm, log = planar_log()
    with pytest.raises(da.ShapeError, match="q has 3 joints, but arm 'planar-2r' has 2"):
        identify(arm, {**log, "q": np.zeros((len(log["t"]), 3))})
    with pytest.raises(da.DalembertError, match="is not in the log, whose joints are a, b"):
        identify(arm, log, joint_names=["a", "b"])
    first, second = arm.joint_names
    swapped = {k: v if k == "t" else v[:, ::-1] for k, v in log.items()}
    fit = identify(arm, swapped, joint_names=[second, first], cutoff=8.0)
    assert fit.relative_error < 0.01
    with pytest.raises(da.DalembertError, match="no joint torques"):
        identify(arm, {k: v for k, v in log.items() if k != "tau"})
    with pytest.raises(da.DalembertError, match=r"motor currents and no torques: give the drive gains"):
        identify(arm, {"t": log["t"], "q": log["q"], "current": log["tau"]})
    with pytest.raises(da.DalembertError, match="looks like ms"):
        identify(arm, {**log, "t": log["t"] * 1000})
    with pytest.raises(da.DalembertError, match=r"no method 'wieghted'.*did you mean 'weighted'"):
        identify(arm, log, method="wieghted")
    with pytest.raises(da.DalembertError, match="no such file"):
        identify(arm, tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("factor", "words"), [(1e3, "N mm"), (1e-3, "kN m"), (-1.0, "signs of the torques of .* reversed")]
)
def test_torque_units_are_told_by_their_looks(factor: float, words: str) -> None:
    arm, log = planar_log()
    with pytest.warns(IdentificationWarning, match=words):
        identify(arm, {**log, "tau": factor * log["tau"]}, cutoff=8.0)


def test_rows_of_nan_are_counted_and_dropped() -> None:
    arm, log = planar_log()
    tau = log["tau"].copy()
    tau[100:107, 1] = np.nan
    fit = identify(arm, {**log, "tau": tau}, cutoff=8.0)
    assert any("7 of 4000 rows" in note for note in fit.notes)
    assert fit.relative_error < 0.01


def test_motion_that_shows_too_little_names_the_parameters() -> None:
    arm = with_friction("puma560")
    t, q, qd, qdd = motion(6, seed=1, still=(3, 4, 5))
    log = {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}
    with pytest.warns(IdentificationWarning, match="does not excite .*keep the arm's own value"):
        fit = identify(arm, log, cutoff=8.0)
    assert "Fv_6" in fit.unidentified and np.isinf(fit.std[fit.names.index("Fv_6")])
    assert fit.parameters[fit.names.index("Fv_6")] == pytest.approx(0.8)
    assert "Fv_1" not in fit.unidentified
    assert fit.relative_error < 0.01


@pytest.mark.parametrize("options", [{}, {"method": "sequential"}, {"physical": True}])
def test_a_joint_that_rests_but_for_noise_shows_no_friction(options: dict) -> None:
    if "physical" in options:
        pytest.importorskip("clarabel")
    arm = with_friction("puma560")
    t, q, qd, qdd = motion(6, seed=1, still=(5,))
    tau, rng = np.asarray(arm.inverse_dynamics(q, qd, qdd)), np.random.default_rng(0)
    tau = tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    q, qd = q + 1e-5 * rng.normal(size=q.shape), qd + 1e-3 * rng.normal(size=q.shape)
    with pytest.warns(IdentificationWarning, match="does not excite .*F_v6, F_s6.*move .*joint6"):
        fit = identify(arm, {"t": t, "q": q, "qd": qd, "tau": tau}, cutoff=8.0, **options)
    assert fit.parameters[fit.names.index("Fs_6")] == pytest.approx(1.1, rel=1e-3)


# -- files ---------------------------------------------------------------------------------------


def test_every_format_reads_the_same(tmp_path: Path) -> None:
    arm, log = planar_log()
    small = {k: v[:200] for k, v in log.items()}
    names = ["t", *(f"{g}{k}" for g in ("q", "qd", "tau") for k in (1, 2))]
    table = np.column_stack([small["t"], small["q"], small["qd"], small["tau"]])
    np.savetxt(tmp_path / "a.csv", table, "%.17g", ",", header=",".join(names), comments="")
    np.savez(tmp_path / "a.npz", **small)
    made = ["a.csv", "a.npz"]
    joined = [f"{j}.{g}" for g in ("position", "velocity", "effort") for j in arm.joint_names]
    np.savetxt(tmp_path / "b.csv", table, "%.17g", ";", header=";".join(["time", *joined]), comments="")
    made.append("b.csv")
    with open(tmp_path / "b.csv", "a") as file:
        file.write("9;;;;;;\n")  # a row of empty cells
    try:
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({n: table[:, k] for k, n in enumerate(names)}), tmp_path / "a.parquet")
        made.append("a.parquet")
    except ImportError:
        pass
    for name in made:
        found = read_log(tmp_path / name, arm)
        assert np.array_equal(found.t, small["t"]) and np.array_equal(found.tau, small["tau"]), name
    assert any("1 of 201 rows" in note for note in read_log(tmp_path / "b.csv", arm).notes)
    (tmp_path / "bad.csv").write_text("t,q1,q2,tau1,tau2\n0,1,2,x,4\n")
    with pytest.raises(da.DalembertError, match="line 2, column 4: 'x' is not a number"):
        read_log(tmp_path / "bad.csv", arm)


def test_ros_bags_and_mcap(tmp_path: Path) -> None:
    rosbags = pytest.importorskip("rosbags.rosbag2")
    writer = pytest.importorskip("mcap.writer")
    from rosbags.typesys import Stores, get_typestore

    arm, log = planar_log()
    store = get_typestore(Stores.LATEST)
    State, Header, Time = (
        store.types[f"{p}/msg/{m}"]
        for p, m in (("sensor_msgs", "JointState"), ("std_msgs", "Header"), ("builtin_interfaces", "Time"))
    )
    names = [arm.joint_names[1], arm.joint_names[0], "finger"]  # another order, and one too many
    data = []
    for k in range(100):
        t, (q, qd, tau) = log["t"][k], (log[x][k][::-1] for x in ("q", "qd", "tau"))
        stamp = Time(sec=100 + int(t), nanosec=round((t % 1) * 1e9))
        values = [np.append(x, 0.0) for x in (q, qd, tau)]
        message = State(Header(stamp, ""), names, *values)
        data.append((round(t * 1e9), bytes(store.serialize_cdr(message, "sensor_msgs/msg/JointState"))))
    with rosbags.Writer(tmp_path / "bag", version=9) as bag:
        connection = bag.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        for stamp, raw in data:
            bag.write(connection, stamp, raw)
    with open(tmp_path / "a.mcap", "wb") as file:
        out = writer.Writer(file)
        out.start()
        schema = out.register_schema("sensor_msgs/msg/JointState", "ros2msg", b"")
        channel = out.register_channel("/joint_states", "cdr", schema)
        for stamp, raw in data:
            out.add_message(channel, stamp, raw, stamp)
        out.finish()
    for path in (tmp_path / "bag", tmp_path / "a.mcap"):
        found = read_log(path, arm)
        assert np.abs(found.t - log["t"][:100]).max() < 1e-6
        assert np.array_equal(found.q, log["q"][:100]) and np.array_equal(found.tau, log["tau"][:100])
        assert any("finger" in note for note in found.notes)


def test_motor_side_and_coupled_gears() -> None:
    arm, log = planar_log()
    A = np.array([[50.0, 0.0], [20.0, -30.0]])
    motor = {"t": log["t"], "q": log["q"] @ A.T, "qd": log["qd"] @ A.T, "tau": log["tau"] @ np.linalg.inv(A)}
    found = read_log(motor, arm, gears=A, motor_side=("q", "qd", "tau"))
    for name in ("q", "qd", "tau"):
        assert np.allclose(getattr(found, name), log[name])
    with pytest.raises(da.DalembertError, match="motor_side does not state"):
        read_log(motor, arm, gears=A)


def test_command(tmp_path: Path) -> None:
    arm, log = planar_log(2.0)
    log = log | {"tau": log["tau"] - 3.0 * log["qd"]}  # friction that drives: no mechanism has it
    np.savez(tmp_path / "run.npz", **log)
    arm.save(tmp_path / "arm.toml")
    out, page, numbers = (tmp_path / n for n in ("cal.toml", "page.html", "fit.json"))
    words = ["identify", str(tmp_path / "arm.toml"), str(tmp_path / "run.npz"), "--validate", str(tmp_path / "run.npz")]
    words += ["--cutoff", "5", "-o", str(out), "--report", str(page), "--json", str(numbers)]
    run = CliRunner(env={"COLUMNS": "1000"}).invoke(app, words)
    assert run.exit_code == 0, run.output
    words_said = " ".join(run.output.split())  # narrow screens break lines anywhere
    assert "Relative torque error" in words_said and "positive definite" in words_said
    found = json.loads(numbers.read_text())
    assert found["runs"][0]["relative_error"] < 0.05 and len(found["names"]) == len(found["std"])
    assert da.load(out).n == 2
    shown = page.read_text()
    outside = shown.replace("http-equiv", "").replace(
        "http://www.w3.org/2000/svg", ""
    )  # the name of a space, no address
    assert "http" not in outside and shown.count("<svg") >= 15 and "mx_2" in shown
    # the page has every sentence of the terminal, and axes have words with their units
    said = [line.partition(": ")[2] for line in run.stderr.splitlines() if line.startswith(("note: ", "warning: "))]
    own = [sentence for sentence in said if " is in " not in sentence]  # of the fit, not of files that were written
    assert any("physical = false" in sentence for sentence in own)
    assert [sentence for sentence in own if html.escape(sentence) not in shown] == []
    assert set(remarks(identify(arm, log, cutoff=5.0))) & set(own)
    for label in ("torque (N m)", "residual (N m)", "q (rad)", "q̇ (rad/s)", "frequency (Hz)", "density ((N m)²/Hz)"):
        assert f">{label}</text>" in shown, label
    levels = [int(level) for level in re.findall(r"<h([1-6])", shown)]
    assert levels[0] == 1 and all(b <= a + 1 for a, b in itertools.pairwise(levels))
    again = CliRunner().invoke(app, words)
    assert again.exit_code == 2 and "--force" in again.output
    link = arm.robot.moving_joints[1].child
    boxed = CliRunner().invoke(app, [*words[:3], "--cutoff", "5", "--box", f"{link}=-0.6 -0.1 -0.1 0 0.1 0.1"])
    assert boxed.exit_code == 0, boxed.output
    flat = CliRunner().invoke(app, [*words[:3], "--box", f"{link}=1 2 3"])
    assert flat.exit_code == 2 and f"--box {link} needs 6 numbers" in flat.output
    wrong = CliRunner().invoke(app, ["identify", "panda", str(tmp_path / "run.npz")])
    assert wrong.exit_code == 2 and "has 7" in wrong.output and "Traceback" not in wrong.output


# -- real logs -----------------------------------------------------------------------------------


@here
def test_panda_of_gaz() -> None:
    """64 parameters, condition number 105–125 in the published basis, ≤ 1.2 % at 5–10 Hz, values as published."""
    arm = da.load("panda")
    for cutoff in (5.0, 10.0):
        fit = identify(arm, LOGS / "panda_gaz.npz", method="ordinary", cutoff=cutoff)
        assert len(fit.parameters) == 64
        assert 105 < fit.condition < 125
        assert fit.relative_error <= 0.012
    assert any("repeat" in note for note in fit.notes)
    published = json.loads((REFERENCE / "panda_gaz2019.json").read_text())["base_parameters_table_III"]
    truth = next(row["pi_RE"] for row in published if row["coef"].startswith("J2xx-J2yy"))
    k = fit.names.index("Ixx_2")  # the same combination as in the table
    assert abs(fit.parameters[k] - truth) < 2 * fit.std[k] < 0.2 * truth


@here
def test_ur10e_validates() -> None:
    runs = [LOGS / f"ur10e_identification_20_02_12_{k}sec_12harm.npz" for k in (50, 40)]
    fit = identify(da.load(MODELS / "ur10e.urdf"), runs[0], runs[1], gains=GAINS)
    assert fit.validation_error <= 0.09
    (last,) = identify(da.load(MODELS / "ur10e.urdf"), runs[0], gains=GAINS, hold_out=0.25).validation
    assert last.moving_error <= 0.05
    assert last.relative_error <= 0.11  # it ends with 4 s of rest, whose friction the first three quarters do not tell
    raw = dict(np.load(runs[1]))
    tau = fit.predict({k: raw[k] for k in ("t", "q", "qd")})
    assert tau.shape == raw["q"].shape and np.isfinite(tau).all()


@here
def test_ur10_and_tx40() -> None:
    assert identify(da.load("ur10"), LOGS / "ur10_unisa.npz").relative_error <= 0.065
    tx40 = da.load(MODELS / "tx40.urdf", physical="warn")
    alone = identify(tx40, LOGS / "tx40.npz", rotor=True)
    coupled = identify(tx40, LOGS / "tx40.npz", rotor=True, coupling=[(5, 6)])
    assert coupled.relative_error < 0.09 < alone.relative_error


@here
def test_published_ur10_model_is_ours_joint_by_joint() -> None:
    """Petrone, Ferrentino, Chiacchio 2025: torques of their closed form, to its tolerance of 1e-6 N m.

    It was identified in amperes, joint by joint, so that no one set of parameters makes all of its torques (two joints
    disagree about the same weight by 0.3 %). Each joint's equation is ours: the lengths of that arm, our base
    regressor, and friction F tanh((q̇ − c)/w) with the published α = 2/w and ν = −c.
    """
    a, d = (0, -0.6127, -0.5716, 0, 0, 0), (0.1273, 0, 0, 0.1639, 0.1157, 0.0922)
    turns = (np.pi / 2, 0, 0, np.pi / 2, -np.pi / 2, 0)
    arm = da.from_dh([{"a": x, "d": y, "alpha": z} for x, y, z in zip(a, d, turns, strict=True)])
    alpha = np.array([
        7.946667188885291, 59.95355152110444, 19.82513907637678, 134.8982492898554, 331.4420553811227, 459.1933488839184
    ])  # fmt: skip
    nu = -1e-3 * np.array([
        18.479435103176, 1.949874917063, 5.295096397544, 18.576852000623, 11.778095526897, 12.953200294568
    ])  # fmt: skip
    terms = at_every_joint(arm, Tanh, 2 / alpha, -nu)
    chosen = ParameterSet(arm, ("viscous",), offset=True, rotor=False, terms=terms)
    log = np.load(LOGS / "ur10_unisa_model_expected.npz")
    base = base_parameters(chosen)
    Y, tau = base.regressor(log["q"], log["qd"], log["qdd"]), log["tau_model"]
    for j in range(6):
        found = np.linalg.lstsq(Y[:, j], tau[:, j], rcond=None)[0]
        assert np.abs(Y[:, j] @ found - tau[:, j]).max() < 1e-6
    every = Y.reshape(-1, base.rank)
    together = np.linalg.lstsq(every, tau.ravel(), rcond=None)[0]
    assert 0.005 < np.linalg.norm(every @ together - tau.ravel()) / np.linalg.norm(tau) < 0.02


@here
def test_kr300_with_prior_is_not_fooled() -> None:
    """Held out halves of run A: plain least squares fails, possible bodies near CAD do not."""
    pytest.importorskip("clarabel")
    arm = da.load("kr300")
    log = read_log(LOGS / "kr300_A.npz", arm, **KR)
    halves = log.part(0.0, 0.5), log.part(0.5, 1.0)
    for a, b in (halves, halves[::-1]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentificationWarning)
            plain = identify(arm, a, b, method="ordinary")
            believed = identify(arm, a, b, prior=arm)
        assert plain.validation_error > 0.5
        assert believed.validation_error < 0.25
        assert believed.positive_definite


def test_wrong_terms_and_friction_get_one_sentence_and_what_is_replaced_a_note() -> None:
    geared = da.from_dh(
        [{"a": 0.5, "mass": 2.0, "com": (-0.2, 0, 0), "friction": {"gear": [0.1, 0.2], "viscous": 0.3}}]
    )
    arm = geared.replace(gravity=(0.0, -9.81, 0.0))
    t = np.linspace(0.0, 6.0, 601)
    q, qd, qdd = (x[:, None] for x in (2 * np.sin(2 * t), 4 * np.cos(2 * t), -8 * np.sin(2 * t)))
    log = {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}
    for wrong in ([1], [["load"]], 3, {"joint1": None}):
        with pytest.raises(da.DalembertError, match="the terms of a joint are "):
            identify(arm, log, terms=wrong)
    with pytest.raises(da.DalembertError, match="the rest of the spring is inf; it must be a finite number"):
        identify(arm, log, terms={"joint1": {"spring": {"rest": np.inf}}})
    with pytest.raises(da.DalembertError, match="friction is False; it must be a tuple of viscous and coulomb"):
        identify(arm, log, friction=False)
    for option, value, sentence in (
        ("coupling", [5, 6], "an entry must be two joints, such as"),
        ("coupling", 3, "coupling is 3; it must be a list"),
        ("balance", 1, "balance is 1; it must be a list"),
        ("dead_zone", -1.0, "dead_zone is -1.0; it is a speed \\(rad/s\\) and must be at least 0"),
    ):
        with pytest.raises(da.DalembertError, match=sentence):
            identify(arm, log, **{option: value})
    both = da.Arm(
        arm.robot.replace(joints=[replace(j, friction=j.friction.replace(load=0.1)) for j in arm.robot.joints])
    )
    with pytest.raises(
        da.DalembertError, match="joint 'joint1' has 'load' and 'gear', which a log cannot distinguish; use one"
    ):
        identify(both, log)
    notes = identify(arm, log, terms=["load"]).notes
    assert any("'gear' of joint 'joint1' is replaced by the requested 'load'" in note for note in notes)


def test_a_load_that_the_log_does_not_tell_leaves_the_best_fit_and_a_warning() -> None:
    """Terms of a joint that follows can stand for those of its leader, of which only these are no part of its load."""
    ripple = {"viscous": 0.5, "harmonic": {"order": 1, "cosine": 4.0}}
    rows = [
        {"a": 0.5, "mass": 4.0, "com": (-0.2, 0, 0), "inertia": 0.1 * np.eye(3), "friction": ripple} for _ in range(3)
    ]
    rows[1] |= {"friction": ripple | {"load": 0.05}}
    arm = da.from_dh(rows, gravity=(0, -9.81, 0)).replace(couplings=[da.Coupling("joint3", "joint2", 0.5)])
    t = np.arange(0.0, 8.0, 0.005)[:, None]
    w, amplitude, phase = (np.array(x) for x in ([1.3, 2.1, 3.7], [[0.5, 0.3], [0.2, 0.3], [0.1, 0.1]], [0.0, 1.0]))
    q, qd, qdd = (
        sum(a * v**k * np.sin(v * t + phase + k * np.pi / 2) for a, v in zip(amplitude, w, strict=True))
        for k in range(3)
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit = identify(arm, {"t": t[:, 0], "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)})
    assert any("the log does not determine the load of mu_2, and the best of" in str(x.message) for x in said)
    assert fit.relative_error < 1e-3
