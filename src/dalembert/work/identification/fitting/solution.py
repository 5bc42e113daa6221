"""From the evidence of a log to parameters: the method, its covariance, physical consistency, and the assessment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.progress import Progress
from dalembert.base.wording import some
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting import least_squares as lsq
from dalembert.work.identification.fitting.base_parameters import BaseParameters
from dalembert.work.identification.fitting.covariance import BlockFit
from dalembert.work.identification.fitting.evidence import Evidence, column_lengths
from dalembert.work.identification.fitting.fit_options import EstimatorOptions, is_consistent
from dalembert.work.identification.fitting.methods import (
    FitProblem,
    MethodFit,
    damped,
    energy,
    least_squares,
    levels,
    sequential,
    total,
)
from dalembert.work.identification.fitting.physical_consistency import ConsistentProblem
from dalembert.work.identification.fitting.result import Identification, correlation_times, make_run
from dalembert.work.identification.fitting.robust import robust

TOLD_LAG = 0.1  # ms: smallest lag that is reported
POOR = 0.03  # relative error of a joint above which a drift is mentioned
LARGE = 0.2  # fraction of a joint's squared residual that a drift must explain
NAMED = 3  # largest number of joints with a drift that are named


# the function of each method and the source of its covariance, "jackknife": fits that leave out blocks of time; "formula":
# for stationary residuals, with their correlation times; "inflated": that of the estimate, multiplied by them; "own": that of it
METHODS: dict[str, tuple[Callable[[FitProblem], MethodFit], str]] = {
    "ordinary": (partial(least_squares, rounds=0), "jackknife"),
    "weighted": (partial(least_squares, rounds=1), "jackknife"),
    "reweighted": (partial(least_squares, rounds=lsq.ROUNDS), "jackknife"),
    "robust": (robust, "formula"),
    "energy": (energy, "formula"),
    "damped": (damped, "inflated"),
    "sequential": (sequential, "inflated"),
    "total": (total, "own"),
}


def solution(problem: FitProblem, name: str, step: Progress) -> Identification:
    """The parameters by a method, physically consistent if the options of the estimator request that."""
    base, ready, (method, errors) = problem.base, problem.ready, METHODS[name]
    fit, consistent = method(problem), is_consistent(problem.estimator)
    estimate, equations, evidence = fit.estimate, fit.problem.equations, fit.problem.evidence
    values = estimate.values
    notes = [*estimate.notes]
    if problem.lagging and 1e3 * abs(problem.lag) >= TOLD_LAG:
        late = f"{1e3 * abs(problem.lag):.2g} ms {'later' if problem.lag > 0 else 'earlier'}"
        notes.insert(0, f"the torques are {late} than the positions, which was corrected")
    step("residuals", 0.0)
    run = make_run(base, values, equations.ready, fit.gains, predicted=equations.predicted(values))
    moving = equations.moving
    times = correlation_times(run, moving)
    noise, worth = estimate.noise, times * fit.inflation
    if fit.residuals is not None:
        noise = np.sqrt(np.sum(np.where(moving, run.residual, 0.0) ** 2, axis=0) / np.maximum(moving.sum(axis=0), 1))
        worth = np.array([lsq.correlation_time(fit.residuals)])
    full, blocks, formula = None, None, None
    covariance = estimate.covariance
    if consistent:
        step("semidefinite program", 0.0)
        sizes = levels(base, ready)
        values, full, covariance, remarks = _physical(base, evidence, estimate, worth, problem.estimator, sizes)
        notes += remarks
    elif errors == "inflated":
        covariance = covariance * float(np.max(times))
    elif errors != "own":
        _, covariance = lsq.spread(evidence, values, estimate.weights, estimate.fixed, times=worth)
        if errors == "jackknife":
            memory = float(np.median(times)) * evidence.count / max(ready.count, 1)
            blocks = BlockFit(evidence, estimate.weights, values, estimate.fixed, problem.lagging, memory)
            formula, covariance = covariance, blocks.jackknife()
    if consistent or equations.ready is not ready:
        run = make_run(base, values, ready, fit.gains, predicted=problem.equations.predicted(values))
    unknown = () if consistent else estimate.fixed
    free = [k for k in range(base.rank) if k not in estimate.fixed]
    weighted = evidence.together(1.0 / lsq.above_zero(estimate.noise)).R[:, free]
    result = Identification(
        before=base.parameters.arm, base=base, method=name, physical=consistent, parameters=values,
        covariance=covariance, found_full=full, condition=_condition(evidence.together().R[:, free]),
        scaled_condition=_condition(weighted / column_lengths(weighted)), noise=noise, correlation=times,
        essential=tuple(base.names[k] for k in lsq.essential(values, covariance, unknown)),
        unidentified=tuple(base.names[k] for k in unknown), run=run, gains=fit.gains, lag=problem.lag, blocks=blocks,
        gains_std=fit.gains_std, payload_com=fit.com, payload_com_std=fit.com_std, formula_covariance=formula,
        notes=tuple(notes),
    )  # fmt: skip
    return replace(result, warnings=(*fit.warnings, *_doubts(result, estimate.fixed, problem.typical)))


def _physical(
    base: BaseParameters,
    evidence: Evidence,
    estimate: lsq.Estimate,
    times: Array,
    options: EstimatorOptions,
    sizes: Array,
) -> tuple[Array, Array, Array, list[str]]:
    """(π_b, φ, covariance of π_b, notes) of a physically consistent fit that accounts for autocorrelated residuals."""
    prior = options.prior
    if prior is not None and (prior.n != base.parameters.arm.n):
        raise DalembertError(
            f"the prior '{prior.name}' has {prior.n} joints, and the arm has {base.parameters.arm.n}; give a prior for the same arm"
        )
    whole = evidence.together(1.0 / (lsq.above_zero(estimate.noise) * np.sqrt(times)))
    problem = ConsistentProblem(base, options, sizes, estimate.fixed)
    phi, curvature, notes = problem.solve(whole.R, whole.z)
    if prior is not None:
        notes.append(
            f"the inertias of '{prior.name}' are a prior ({options.prior_kind or 'entropic'}, {100 * problem.deviation:g} %), and its friction is limited by the "
            "size of the measured torques"
        )
    RK = whole.R @ base.K
    return base.K @ phi, phi, base.K @ lsq.inverse_of(RK.T @ RK + curvature, 1e-14) @ base.K.T, notes


# -- assessment -----------------------------------------------------------------------------------


def _condition(R: Array) -> float:
    return float(np.linalg.cond(R)) if R.size else float("inf")


def _joints_of(base: BaseParameters, unknowns: list[int]) -> str:
    """The joints that some base parameters belong to, in words; user-defined columns by their own names."""
    bodies, joints = base.parameters.arm.mechanism.tree.bodies, [base.parameters.joints[c] for c in base.independent]
    return some(sorted({bodies[joints[k]].name if joints[k] >= 0 else base.names[k] for k in unknowns}))


def _doubts(fit: Identification, fixed: tuple[int, ...], typical: Array) -> list[str]:
    """Warn about base parameters that the log does not determine, or whose errors cause torques like the measured ones."""
    base, doubts = fit.base, list[str]()
    if fixed:
        names = [base.formulas[k] if len(base.formulas[k]) < 40 else base.names[k] + " + …" for k in fixed]
        doubts.append(
            f"{fit.run.name}: the motion does not excite {some(names)}, which keep the arm's own value; move "
            f"{_joints_of(base, list(fixed))} more"
        )
    size, unit_torques = float(np.sqrt(np.mean(fit.run.measured**2))), fit.std * typical
    weak = [int(k) for k in np.argsort(-unit_torques) if np.isfinite(unit_torques[k]) and unit_torques[k] > size]
    if weak and not fit.physical:
        doubts.append(
            f"{fit.run.name}: the motion hardly excites {some([fit.names[k] for k in weak])}: their standard deviations "
            f"correspond to torques as large as the measured ones; excite {_joints_of(base, weak)} more"
        )
    return doubts


def drift_hints(fit: Identification) -> list[str]:
    """A sentence if much of the residual of some joints is a straight line over time, for the largest of them."""
    residual, run = fit.run.residual, fit.run
    t = run.t - run.t.mean()
    if not t.any():
        return []
    slope = t @ residual / float(t @ t)
    explained = slope**2 * float(t @ t) / np.maximum(np.sum((residual - residual.mean(axis=0)) ** 2, axis=0), 1e-300)
    large: Array = np.where((run.joint_errors > POOR) & (explained > LARGE), explained, 0.0)
    order = [j for j in np.argsort(-large)[:NAMED] if large[j] > 0]
    if not order:
        return []
    names = ", ".join(
        f"{100 * explained[j]:.0f} % at {fit.before.joint_names[j]} ({slope[j] * np.ptp(t):+.2g} N m)" for j in order
    )
    return [
        f"the torques drift during the log, which explains {names} of the residual there and which no robot file can hold; "
        "let the arm warm up before recording, or log the temperatures of its joints"
    ]
