"""What makes long logs quick changes no number: pieces of a computation are the whole of it."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.work.identification.fitting import evidence
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.evidence import LogEquations, RestWeights
from dalembert.work.identification.fitting.model_parameters import terms_of
from dalembert.work.identification.fitting.parameter_set import Drive, ParameterSet
from dalembert.work.identification.fitting.result import make_run
from dalembert.work.identification.selection.crossvalidation import CrossValidation
from dalembert.work.identification.selection.time_blocks import time_blocks
from dalembert.work.logs import conditioning
from dalembert.work.logs.conditioning import condition, derivatives
from dalembert.work.logs.log import Log, read_log


def simulated(name: str, count: int = 3000, rate: float = 100.0) -> tuple[da.Arm, Log]:
    """An arm and a log of it on sums of sines."""
    arm, rng = da.load(name), np.random.default_rng(1)
    t = np.arange(count) / rate
    w, phase = 2 * np.pi * rng.uniform(0.1, 0.6, (3, arm.n)), rng.uniform(0, 6, (3, arm.n))
    angle = t[:, None, None] * w + phase
    q, qd, qdd = (x.sum(axis=1) for x in (np.sin(angle) / w, np.cos(angle), -w * np.sin(angle)))
    tau = arm.inverse_dynamics(q, qd, qdd) + 0.2 * np.sign(qd) + 0.01 * rng.standard_normal(q.shape)
    return arm, read_log({"t": t, "q": q, "qd": qd, "tau": tau}, arm)


def chosen(arm: da.Arm) -> ParameterSet:
    """Parameters of every origin: links, friction, offsets, a spring, a ripple, a loss of the load, a shared drive."""
    names = arm.joint_names
    further = terms_of(arm, {names[1]: {"spring": {}, "harmonic": {"order": 2.0}}, names[2]: ["load"]})[0]
    return ParameterSet(arm, offset=True, drives=(Drive(4, 5),)).with_terms(further)


@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_torque_of_felt_columns_is_regressor_times_values(name: str) -> None:
    arm = da.load(name)
    base = base_parameters(chosen(arm))
    x = np.random.default_rng(0).uniform(-1, 1, (3, 300, arm.n))
    values = np.random.default_rng(1).uniform(-1, 1, base.rank)
    expected = base.regressor(*x) @ values
    assert np.allclose(base.joint_columns.torque(values, *x), expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    rows = base.joint_columns.rows(*x)
    for j, (places, part) in enumerate(zip(base.joint_columns.columns, base.joint_columns.parts, strict=True)):
        assert np.allclose(values[places] @ rows[part], expected[:, j], rtol=0, atol=1e-10 * np.abs(expected).max())


def test_residuals_and_weighted_triangles_of_kept_columns_are_those_of_a_new_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arm, log = simulated("puma560", 6000, 1000.0)
    ready, base = condition(log, cutoff=8.0), base_parameters(chosen(arm))
    rests = RestWeights.of(arm, ready)
    held = LogEquations(base.joint_columns, ready, rests)
    values = base.values + 0.1
    predicted = held.predicted(values)
    whole = make_run(base, values, ready).predicted
    assert held._held is not None
    assert np.allclose(predicted, whole, rtol=0, atol=1e-9 * np.abs(whole).max())
    monkeypatch.setattr(evidence, "HELD", 0.0)
    fresh = LogEquations(base.joint_columns, ready, rests)
    a, b = (x.gathered(base.rank) for x in (held, fresh))
    assert fresh._held is None and np.array_equal(fresh.predicted(values), predicted)
    assert all(np.array_equal(x, y) for x, y in zip(a.triangles, b.triangles, strict=True))


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_pieces_of_a_spline_are_those_of_the_whole(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).standard_normal((1200, 2))
    whole = derivatives(x, 100.0, order)[-1]
    monkeypatch.setattr(conditioning, "AT_ONCE", 400)
    assert np.allclose(derivatives(x, 100.0, order)[-1], whole, rtol=0, atol=1e-10 * np.abs(whole).max())


def test_cross_validation_takes_the_variant_that_fits_best() -> None:
    arm, log = simulated("puma560")
    ready, base = condition(log), base_parameters(ParameterSet(arm))
    equations = LogEquations(base.joint_columns, ready, RestWeights.of(arm, ready))
    cv = CrossValidation(equations.gathered(base.rank, time_blocks(ready, 4).labels), base.values)
    variants = [np.arange(base.rank), np.arange(base.rank - 3)]
    errors, best = cv.errors(variants)
    expected = np.zeros_like(errors)
    for k in range(cv.parts):
        fits = [cv._solved(slice(k, k + 1), x) for x in variants]
        expected += cv.squares(min(fits, key=lambda fit: float(fit[1][0]))[0][0], k)
    assert np.allclose(errors, expected) and best == 0
