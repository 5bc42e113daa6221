"""Joints at rest: when a log shows them, and what friction is predicted there, whatever the sign of their noise."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

import dalembert as da
from arms import FRICTIONS, LOADED, MODELS, SHARED
from dalembert.robot.terms import Term
from dalembert.views.cli.main import app
from dalembert.views.report.identification import error_tables
from dalembert.work.fits.fit_record import read_fit
from dalembert.work.identification.fitting.fit import IdentificationWarning
from dalembert.work.identification.fitting.result import Identification
from dalembert.work.logs.conditioning import Stretch, condition, smoothed
from dalembert.work.logs.log import read_log
from dalembert.work.logs.rest import CREEP, rest_speeds, rests

LEVEL = 100.0  # N m of dry friction
RATE = 250.0
LOGS = SHARED / "data" / "logs"
here = pytest.mark.skipif(not LOGS.exists(), reason="../shared/data is not here")
Array = NDArray[np.float64]


def arm_with_friction(**more: object) -> da.Arm:
    """A planar arm with dry friction at both joints."""
    arm = da.load("planar-2r")

    def joint(j: da.Joint) -> da.Joint:
        rotor = None if j.rotor is None else replace(j.rotor, viscous=0.0, coulomb=(0.0, 0.0))
        return replace(j, rotor=rotor, friction=da.Friction(5.0, (LEVEL, LEVEL), **more)) if j.moves else j

    return arm.replace(joints=tuple(joint(j) for j in arm.robot.joints))


def stop_and_go(seed: int, count: int = 8, pause: float = 0.8) -> tuple[Array, Array, Array, Array]:
    """t, q, qd, qdd of motions from pose to pose, with rests between them: qd is exactly zero there."""
    rng = np.random.default_rng(seed)
    poses = np.vstack([[0.2, 0.4], rng.uniform(-1.5, 1.5, (count, 2))])
    parts, begin = [], 0.0
    for a, b in pairwise(poses):
        motion = da.polynomial(a, b, duration=float(rng.uniform(1.0, 2.0)), degree=5)
        t = np.arange(0.0, motion.duration + pause, 1 / RATE)
        inside = t < motion.duration
        q, qd, qdd = (
            np.where(inside[:, None], x, end)
            for x, end in zip(motion(np.minimum(t, motion.duration)), (b, 0.0, 0.0), strict=True)
        )
        parts.append((t + begin, q, qd, qdd))
        begin += len(t) / RATE
    return tuple(np.concatenate(x) for x in zip(*parts, strict=True))  # type: ignore[return-value]


def log_of(
    arm: da.Arm, seed: int, held: float, noise: float = 2e-4, velocities: bool = True
) -> tuple[dict[str, Array], Array]:
    """(log, true velocities): at rest the joints keep the share ``held`` of their friction in the direction of motion."""
    rng = np.random.default_rng(seed)
    t, q, qd, qdd = stop_and_go(seed)
    last = np.zeros_like(qd)
    for j in range(2):
        at = np.maximum.accumulate(np.where(qd[:, j] != 0, np.arange(len(t)), 0))
        last[:, j] = np.sign(qd[at, j])
    tau = np.asarray(arm.inverse_dynamics(q, qd, qdd)) + np.where(qd == 0, held * LEVEL * last, 0.0)
    log = {"t": t, "q": q + 0.01 * noise * rng.normal(size=q.shape), "tau": tau + rng.normal(size=tau.shape)}
    return (log | {"qd": qd + noise * rng.normal(size=q.shape)} if velocities else log), qd


@cache
def fitted(held: float) -> Identification:
    arm = arm_with_friction()
    return da.identify(arm, log_of(arm, 0, held)[0], validate=log_of(arm, 1, held)[0], selection=False)


# -- detection -----------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-3])
@pytest.mark.parametrize("velocities", [True, False])
def test_rests_are_found_and_reversals_are_none(noise: float, velocities: bool) -> None:
    arm = arm_with_friction()
    log, qd = log_of(arm, 3, 0.0, noise, velocities)
    ready = condition(read_log(log, arm))
    (piece,) = ready.pieces
    period = round(ready.rate / ready.cutoff)
    widened = np.stack([np.convolve(x, np.ones(2 * period + 1), "same") > 0 for x in (qd != 0).T], axis=1)
    assert piece.resting[~widened].mean() > 0.98  # a period of the cut-off inside of every rest
    fast = np.abs(qd) > 0.03 * np.abs(qd).max(axis=0)
    assert not piece.resting[fast].any()


@pytest.mark.parametrize("noise", [0.0, 1e-4, 1e-2])
def test_a_joint_that_never_stops_never_rests(noise: float) -> None:
    t = np.arange(0, 20, 1 / RATE)
    qd = np.stack([np.sin(1.3 * t), 0.1 * np.cos(2.9 * t)], axis=1)
    qd += noise * np.abs(qd).max(axis=0) * np.random.default_rng(0).normal(size=qd.shape)
    log = {"t": t, "q": np.cumsum(qd, axis=0) / RATE, "qd": qd, "tau": np.ones_like(qd)}
    ready = condition(read_log(log, da.load("planar-2r")))
    assert not ready.resting.any()


def test_the_direction_is_that_of_the_last_motion_or_of_the_first() -> None:
    rest, on, back = 1e-4 * (-1.0) ** np.arange(20), np.ones(20), -np.ones(20)
    qd = np.concatenate([rest, on, rest, back, rest])[:, None]
    rest_of = rests(qd, np.array([1e-3]), 10)
    assert rest_of.resting[:, 0].tolist() == ([True] * 20 + [False] * 20) * 2 + [True] * 20
    assert [set(x.tolist()) for x in np.split(rest_of.direction[:, 0], 5)] == [{1}, {0}, {1}, {0}, {-1}]
    never = rests(np.tile(rest, 5)[:, None], np.array([1e-3]), 10)
    assert never.resting.all() and not never.direction.any()
    assert not rests(qd, np.array([1e-3]), 21).resting.any()


def test_parts_of_a_stretch_rest_as_the_whole() -> None:
    arm = arm_with_friction()
    (piece,), _ = smoothed(read_log(log_of(arm, 3, 0.0)[0], arm), 5.0)
    part = piece.part(slice(200, 500))
    assert (part.resting == piece.resting[200:500]).all()
    assert all((x == y[200:500]).all() for x, y in zip(part.states, piece.states, strict=True))
    assert (piece.states[1] != piece.qd).any() and (piece.qd[piece.resting] != 0).any()  # the log's own speed stays
    bare = Stretch(piece.t, piece.q, piece.qd, piece.qdd, piece.tau)
    assert not bare.resting.any() and bare.states[1] is piece.qd


def test_rests_of_a_million_samples_cost_a_third_of_a_second() -> None:
    """Measured on a tenth of them, and with room for other work on the same core."""
    t = np.arange(100_000) / 1000
    qd = np.stack([np.sin(0.5 * t + k) * (np.sin(0.05 * t + k) > 0) for k in range(7)], axis=1)
    qd += 1e-3 * np.random.default_rng(0).normal(size=qd.shape)
    begin = time.process_time()
    rest_of = rests(qd, rest_speeds([qd], 100), 100)
    assert time.process_time() - begin < 0.1  # 0.02 s on an idle core
    assert 0.4 < rest_of.resting.mean() < 0.6


# -- prediction ----------------------------------------------------------------------------------


@pytest.mark.parametrize("held", [0.0, 0.5, 1.0])
def test_the_share_of_friction_that_is_held_is_learned_and_predicts_other_runs(held: float) -> None:
    fit = fitted(held)
    (run,) = fit.validation
    assert fit.held_friction == pytest.approx(held, abs=0.05) and run.held == fit.held_friction
    assert run.resting_error < 0.06 and run.moving_error < 0.05 and run.relative_error < 0.05
    friction = dict(zip(fit.names, fit.parameters, strict=True))
    assert [friction["Fs_1"], friction["Fs_2"]] == pytest.approx([LEVEL, LEVEL], rel=0.05)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("held", [0.0, 1.0])
def test_predicted_torques_do_not_jump_at_rest(seed: int, held: float) -> None:
    """Between two samples at which all joints rest, by no more than a hundredth of the friction's level, where
    sgn(noise) would be 2 levels."""
    fit = fitted(held)
    rng = np.random.default_rng(seed)
    log, qd = log_of(fit.before, 10 + seed, held, float(10 ** rng.uniform(-6, -3)), bool(seed % 2))
    predicted = fit.predict({k: v for k, v in log.items() if k != "tau"})
    period = round(RATE / fit.run.conditioned.cutoff)
    still = np.convolve((qd != 0).any(axis=1), np.ones(2 * period + 1), "same") == 0
    steps = np.abs(np.diff(predicted, axis=0))[still[1:] & still[:-1]]
    assert len(steps) > 500 and steps.max() < 0.01 * LEVEL
    (piece,), _ = smoothed(read_log(log, fit.before), fit.run.conditioned.cutoff)
    naive = fit.torque(piece.q, piece.qd, piece.qdd)
    assert np.abs(np.diff(naive, axis=0))[still[1:] & still[:-1]].max() > 1.9 * LEVEL


@pytest.mark.parametrize(
    "term", [term for friction in (*FRICTIONS, *LOADED) for term in friction], ids=lambda x: x.name
)
def test_at_rest_every_term_has_its_level_just_beyond_rest(term: Term) -> None:
    """The speed of a joint at rest is so small that only its sign counts, in the torque of any term."""
    for sign in (-1.0, 1.0):
        held, beyond = (float(term.torque(0.3, sign * speed, 2.0)) for speed in (CREEP, 1e-3 * CREEP))
        assert held == pytest.approx(beyond, abs=1e-6)


def test_a_run_without_rests_has_errors_in_motion_alone_and_holds_nothing() -> None:
    arm = da.load("pendulum")
    t = np.arange(0, 20, 0.01)
    q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
    log = {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}
    run = da.identify(arm, log, selection=False).run
    assert run.resting_error is None and run.resting_joint_errors == (None,) and run.held == 0.0
    assert run.moving_error == pytest.approx(run.relative_error) and len(run.error_table) == 1


def test_squares_moving_and_at_rest_make_up_all() -> None:
    (run,) = fitted(0.5).validation
    whole = np.sum(run.measured**2)
    parts = [(run.moving_error, ~run.resting), (run.resting_error, run.resting)]
    assert sum(e**2 * np.sum(run.measured[use] ** 2) for e, use in parts) == pytest.approx(
        run.relative_error**2 * whole
    )
    for j, (moving, resting) in enumerate(zip(run.moving_joint_errors, run.resting_joint_errors, strict=True)):
        use, tau = run.resting[:, j], run.measured[:, j]
        left = moving**2 * np.sum(tau[~use] ** 2) + resting**2 * np.sum(tau[use] ** 2)
        assert left == pytest.approx(run.joint_errors[j] ** 2 * np.sum(tau**2))


def test_a_dead_zone_leaves_slow_samples_out_as_before() -> None:
    """Torques at rest that no model explains change nothing then."""
    arm = arm_with_friction()
    log, qd = log_of(arm, 0, 0.0)
    slow = np.abs(qd) < 1e-9
    spoiled = log | {"tau": np.where(slow, 1e4, log["tau"])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)
        a, b = (da.identify(arm, x, dead_zone=0.3, cutoff=20.0, selection=False) for x in (log, spoiled))
    np.testing.assert_allclose(a.parameters, b.parameters, atol=2.0)


def test_errors_moving_and_at_rest_are_shown_written_and_read(tmp_path: Path) -> None:
    arm = arm_with_friction()
    arm.save(tmp_path / "arm.toml")
    np.savez(tmp_path / "run.npz", **log_of(arm, 0, 1.0)[0])
    result = CliRunner().invoke(
        app,
        [
            "identify",
            str(tmp_path / "arm.toml"),
            str(tmp_path / "run.npz"),
            "--no-selection",
            "--json",
            str(tmp_path / "fit.json"),
        ],
    )
    assert result.exit_code == 0, result.output
    assert "moving" in result.output and "at rest" in result.output
    (run,) = json.loads((tmp_path / "fit.json").read_text())["runs"]
    assert {"moving_error", "resting_error", "moving_joint_errors", "resting_joint_errors"} <= set(run)
    (back,) = read_fit(tmp_path / "fit.json").runs
    assert (back.moving_error, back.resting_error, back.held) == (
        run["moving_error"],
        run["resting_error"],
        run["held"],
    )
    assert back.resting_joint_errors == tuple(run["resting_joint_errors"])
    fit = fitted(1.0)
    tables = error_tables(fit, [fit.run, *fit.validation])
    assert tables.count("at rest</td>") == 2 and f"{100 * fit.held_friction:.0f} % of its dry friction" in tables


# -- real logs -----------------------------------------------------------------------------------


@here
def test_of_real_robots_one_keeps_its_friction_at_rest_and_another_does_not() -> None:
    kr, ur = da.load("kr300"), da.load(MODELS / "ur10e.urdf")
    columns = {"q": "q_mot", "qd": "qd_mot", "tau": "tau_motor"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)
        heavy = da.identify(kr, LOGS / "kr300_A.npz", columns=columns, motor_side=["tau"], selection=False)
        light = da.identify(
            ur,
            LOGS / "ur10e_identification_20_02_12_50sec_12harm.npz",
            validate=LOGS / "ur10e_identification_20_02_12_40sec_12harm.npz",
            gains=[10.0, 10.6956, 8.4566, 9.0029, 9.48, 10.1232],
            selection=False,
        )
    assert heavy.held_friction > 0.9 and light.held_friction < 0.2
    assert light.validation_error < 0.054 and light.validation[0].moving_error < 0.04  # 5.6 % with sgn(noise)


@pytest.mark.parametrize("seed", range(30))
def test_a_motion_that_never_stops_has_no_rests_however_short_the_log(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, (6.0, 10.0, 30.0)[seed % 3], 0.005)
    q, qd, _ = da.fourier(rng.normal(0, 0.35, (2, 2, 5)), 0.1, [0.2, 0.4], duration=30.0)(t)
    log = read_log({"t": t, "q": q, "qd": qd + 1e-3 * rng.normal(size=q.shape), "tau": q}, da.load("planar-2r"))
    assert not any(stretch.resting.any() for stretch in smoothed(log, 2.0)[0])
