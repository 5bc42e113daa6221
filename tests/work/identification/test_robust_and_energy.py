"""Estimates that outliers do not spoil, estimates without accelerations, and the sequential procedure's advice."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import dalembert as da
from arms import arm
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.energy_method import energy_equations
from dalembert.work.identification.fitting.evidence import Evidence, LogEquations, RestWeights, triangle
from dalembert.work.identification.fitting.fit import IdentificationWarning
from dalembert.work.identification.fitting.least_squares import least_squares, undetermined
from dalembert.work.identification.fitting.methods import typical_sizes
from dalembert.work.identification.fitting.parameter_set import Drive, ParameterSet
from dalembert.work.identification.fitting.robust import row_weights
from dalembert.work.logs.conditioning import Conditioned, condition
from dalembert.work.logs.log import read_log

identify = partial(da.identify, selection=False)  # what is not given takes its plain value

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.work.identification.fitting.fit.IdentificationWarning")

ARMS = ["planar-2r", "scara", "parallelogram", "wrist"]  # open, closed and coupled
PLAIN = {"cutoff": 8.0, "selection": False}


@cache
def logged(name: str, noise: float = 0.02, seconds: float = 15.0, seed: int = 0) -> tuple[da.Arm, dict]:
    """An arm, and a log of a motion around its home with normal noise on its torques."""
    truth, rng = arm(name), np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 0.01)
    w = 2 * np.pi * 0.2 * np.arange(1, 6)
    a, b = rng.normal(size=(2, truth.n, 5)) * 0.3 / np.sqrt(w)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd = truth.home + s @ a.T + c @ b.T, (c * w) @ a.T - (s * w) @ b.T
    tau = np.asarray(truth.inverse_dynamics(q, qd, -(s * w**2) @ a.T - (c * w**2) @ b.T))
    return truth, {"t": t, "q": q, "qd": qd, "tau": tau + noise * rms(tau) * rng.normal(size=tau.shape)}


def rms(x: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(x**2, axis=0))


def apart(fit: da.Identification, values: np.ndarray, std: np.ndarray) -> float:
    """How far the parameters are from ``values``, in standard deviations, in the mean."""
    return float(rms((fit.parameters - values) / std))


def with_gross_errors(log: dict, noise: float = 0.02) -> dict:
    """The log with 2 % of its torques 20 standard deviations off, most of them upwards."""
    rng = np.random.default_rng(7)
    shape, size = log["tau"].shape, 20 * noise * rms(log["tau"])
    wrong = (rng.random(shape) < 0.02) * np.where(rng.random(shape) < 0.8, 1.0, -1.0)
    return {**log, "tau": log["tau"] + wrong * size}


# -- robust --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARMS)
def test_gross_errors_hardly_move_the_robust_estimate(name: str) -> None:
    truth, log = logged(name)
    spoilt = with_gross_errors(log)
    clean = identify(truth, log, method="weighted", **PLAIN)
    plain = identify(truth, spoilt, method="weighted", **PLAIN)
    fit = identify(truth, spoilt, method="robust", **PLAIN)
    assert apart(fit, clean.parameters, clean.std) < 0.5 < 2.0 < apart(plain, clean.parameters, clean.std)
    assert np.median(fit.std / clean.std) == pytest.approx(1.0, abs=0.35)
    assert np.median(plain.std / clean.std) > 2.0
    assert any("isolated torque spikes" in note for note in fit.notes)
    assert np.array_equal(fit.run.measured, plain.run.measured)  # judged on the torques as they were logged


@pytest.mark.parametrize("name", ARMS)
def test_without_gross_errors_robust_is_weighted(name: str) -> None:
    truth, log = logged(name)
    plain = identify(truth, log, method="weighted", **PLAIN)
    fit = identify(truth, log, method="robust", **PLAIN)
    assert apart(fit, plain.parameters, plain.std) < 0.5
    assert np.median(fit.std / plain.std) == pytest.approx(1.0, abs=0.35)
    assert fit.noise == pytest.approx(plain.noise, rel=0.25)
    assert not any("isolated torque spikes" in note for note in fit.notes)


def test_a_contact_that_lasts_counts_for_less() -> None:
    """It is no spike; Huber's weights bound it."""
    truth, log = logged("planar-2r")
    tau = log["tau"].copy()
    tau[700:760] += 10 * 0.02 * rms(tau) * np.sin(np.linspace(0, np.pi, 60))[:, None]
    clean = identify(truth, log, method="weighted", **PLAIN)
    plain = identify(truth, {**log, "tau": tau}, method="weighted", **PLAIN)
    fit = identify(truth, {**log, "tau": tau}, method="robust", **PLAIN)
    moved, before = (apart(x, clean.parameters, clean.std) for x in (fit, plain))
    assert moved < 0.5 * before
    assert any("were down-weighted" in note for note in fit.notes)
    bodies = identify(truth, {**log, "tau": tau}, method="robust", physical=True, **PLAIN)
    assert bodies.physical and bodies.evaluate(log).relative_error < 1.1 * clean.relative_error


def test_weighed_triangles_are_those_of_weighted_rows() -> None:
    truth, log = logged("planar-2r")
    ready, base = condition(read_log(log, truth), cutoff=8.0), base_parameters(ParameterSet(truth, offset=True))
    equations = LogEquations(base.joint_columns, ready, RestWeights.of(truth, ready))
    noise, residual = np.array([0.01, 0.02]), ready.tau - equations.predicted(base.values)
    plain = equations.gathered(base.rank)
    joints = equations.gathered(base.rank, weights=row_weights(residual, noise))
    Y = ready.thinned(lambda piece: base.regressor(*piece.states))
    assert residual == pytest.approx(ready.tau - Y @ base.values, abs=1e-9 * np.abs(ready.tau).max())
    weights = row_weights(residual, noise) * np.where(equations.moving, 1.0, equations.rests.factor) ** 2
    for j, (joint, before) in enumerate(zip(joints.joints, plain.joints, strict=True)):
        rows = Y[:, j][:, joint.columns]
        assert pytest.approx(rows.T @ (weights[:, j, None] * rows), rel=1e-9, abs=1e-9) == joint.R.T @ joint.R
        assert joint.rows == before.rows


# -- energy --------------------------------------------------------------------------------------


def poisoned(truth: da.Arm, log: dict, cutoff: float = 8.0) -> Conditioned:
    """A conditioned log whose accelerations are no numbers."""
    ready = condition(read_log(log, truth), cutoff=cutoff)
    return replace(ready, pieces=tuple(replace(x, qdd=np.full(x.qdd.shape, np.nan)) for x in ready.pieces))


@pytest.mark.parametrize("name", [*ARMS, "puma560"])
def test_energy_balances_hold_without_accelerations(name: str) -> None:
    truth, log = logged(name, 0.0)
    chosen = ParameterSet(truth, two_sided=True, offset=True, drives=[Drive(0, 1, -0.5)])
    base, ready = base_parameters(chosen), poisoned(truth, log)
    E, e, t = energy_equations(base, ready)
    assert E.shape == (len(t), base.rank) and len(t) > 0.9 * ready.count
    assert np.abs(E @ base.values - e).max() < 1e-4 * np.abs(e).max()
    (joint,) = Evidence.of_equations([E], [e]).joints
    whole = triangle(np.column_stack([E, e]), len(e), np.arange(base.rank))
    assert pytest.approx(joint.R.T @ joint.R, rel=1e-9, abs=1e-9 * np.abs(whole.R).max() ** 2) == whole.R.T @ whole.R


def test_energy_finds_the_parameters_without_accelerations() -> None:
    truth, log = logged("planar-2r", 0.0)
    base, ready = base_parameters(ParameterSet(truth, offset=True)), poisoned(truth, log)
    E, e, _ = energy_equations(base, ready)
    joints = Evidence.of_equations([E], [e])
    start = 0.5 * base.values
    estimate = least_squares(joints, start, undetermined(joints.together(), typical_sizes(base)), 0)
    assert not estimate.fixed
    assert np.abs((estimate.values - base.values) * typical_sizes(base)).max() < 1e-3 * np.abs(ready.tau).max()


@pytest.mark.parametrize("name", ARMS)
def test_energy_errors_are_what_their_deviations_say(name: str) -> None:
    truth, log = logged(name, 0.02, 30.0)
    fit = identify(truth, log, method="energy", **PLAIN)
    seen = np.isfinite(fit.std)
    assert seen.sum() > 0.8 * len(seen)
    assert 0.2 < rms(((fit.parameters - fit.base.values) / fit.std)[seen]) < 2.0
    assert fit.noise.shape == fit.correlation.shape == (truth.n,)
    bodies = identify(truth, log, method="energy", prior=truth, **PLAIN)
    assert bodies.physical and bodies.relative_error < 0.05


def test_what_energy_does_not_show_keeps_its_value_and_is_named() -> None:
    truth, log = logged("planar-2r", 0.0)
    q, qd = log["q"].copy(), log["qd"].copy()
    q[:, 1], qd[:, 1] = q[0, 1], 0.0
    tau = np.asarray(truth.inverse_dynamics(q, qd, np.gradient(qd, 0.01, axis=0)))
    fit = identify(truth, {"t": log["t"], "q": q, "qd": qd, "tau": tau}, method="energy", **PLAIN)
    assert {"Fv_2", "Fs_2", "offset_2"} <= set(fit.unidentified)
    at = [fit.names.index(name) for name in fit.unidentified]
    assert np.array_equal(fit.parameters[at], fit.base.values[at])
    assert any("does not excite" in sentence for sentence in fit.warnings)


def test_energy_says_where_balances_are_few() -> None:
    truth, log = logged("wrist")
    fits = [identify(truth, log, method="energy", prior=x, **PLAIN) for x in (None, truth)]
    assert [any("independent energy balances" in x for x in fit.warnings) for fit in fits] == [True, False]
    long = identify(*logged("planar-2r"), method="energy", **PLAIN)
    assert not any("independent energy balances" in x for x in long.warnings)


def test_energy_refuses_what_needs_accelerations() -> None:
    truth, log = logged("planar-2r")
    with pytest.raises(da.DalembertError, match="mu_1 depends on the load of its joint, which needs accelerations"):
        identify(truth, log, method="energy", terms=["load"], **PLAIN)


# -- sequential ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "advised"), [("planar-2r", False), ("scara", False), ("parallelogram", True)])
def test_sequential_advises_against_itself_where_errors_add_up(name: str, advised: bool) -> None:
    truth, log = logged(name)
    fit = identify(truth, log, method="sequential", **PLAIN)
    other = identify(truth, log, method="weighted", **PLAIN)
    sentences = [x for x in fit.warnings if "use method='weighted'" in x]
    assert bool(sentences) == advised == (max(fit.run.rms / other.run.rms) > 1.5)
    if advised:
        with pytest.warns(IdentificationWarning, match="errors accumulate from joint to joint in method='sequential'"):
            identify(truth, log, method="sequential", **PLAIN)
