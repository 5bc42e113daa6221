"""From the triangles of a log to parameters: the method asked for, its covariance, possible bodies, drive gains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.identification import estimate as ways
from dalembert.identification.accumulate import JointTriangles, column_lengths
from dalembert.identification.base import BaseParameters
from dalembert.identification.log_equations import LogEquations, levels, typical_sizes
from dalembert.identification.physical import Belief, consistent
from dalembert.identification.result import Identification, PredictedRun, make_run
from dalembert.logs.conditioning import Conditioned
from dalembert.logs.formats.raw import listed

Array = NDArray[np.float64]

SEEN = 0.05  # a payload that makes less than this share of a joint's torque does not fix its drive gain
LOST = 10.0  # a parameter whose error alone makes torques so many times those measured is not in the log


def solution(
    equations: LogEquations, base: BaseParameters, joints: JointTriangles, method: str, damping: float | None,
    belief: Belief | None, loaded: tuple[Arm, Conditioned] | None, notes: list[str], warned: list[str],
) -> Identification:  # fmt: skip
    """The parameters by ``method``; with a ``belief``, those that possible bodies have.

    loaded  an arm with a payload that is known, and a run of it
    notes   sentences about the result are added to these, and warnings to ``warned``
    """
    ready, typical, gains, full = equations.ready, typical_sizes(base), None, None
    if method == "total":
        assert loaded is not None
        estimate, gains = _total(equations, base, joints, loaded, warned)
    elif method == "damped":
        estimate = ways.damped(joints, base.values, damping, typical)
    elif method == "sequential":
        estimate = ways.sequential(joints, base.values, typical)
    else:
        rounds = {"ordinary": 0, "weighted": 1, "reweighted": ways.ROUNDS}[method]
        fixed = ways.undetermined(joints.together(), typical)
        estimate = ways.least_squares(joints, base.values, fixed, rounds)
        if belief is None:
            size = float(np.sqrt(np.mean(ready.tau**2)))
            unit = joints.together(1.0 / np.maximum(estimate.noise, 1e-12 * size))
            fixed = ways.undetermined(unit, typical, 1.0 / (LOST * size))
            estimate = ways.least_squares(joints, base.values, fixed, rounds)
    notes += estimate.notes
    values, fixed = estimate.values, estimate.fixed
    equations.step("residuals", 0.0)
    run = make_run(base, values, ready, gains)
    times = correlation_times(run, equations.moving)
    if belief is not None:
        equations.step("semidefinite program", 0.0)
        values, full, covariance = _physical(base, joints, estimate, times, belief, levels(base, ready), notes)
        run = make_run(base, values, ready)
    elif method == "total":
        covariance = estimate.covariance
    elif method in ("damped", "sequential"):
        covariance = estimate.covariance * float(np.max(times))
    else:
        _, covariance, _ = ways.spread(joints, values, estimate.weights, fixed, times=times)
    unknown = () if belief is not None else fixed
    free = [k for k in range(base.rank) if k not in fixed]
    weighted = joints.together(1.0 / ways.above_zero(estimate.noise)).R[:, free]
    result = Identification(
        before=equations.arm, base=base, method=method, physical=belief is not None, parameters=values,
        covariance=covariance, found_full=full, condition=_condition(joints.together().R[:, free]),
        scaled_condition=_condition(weighted / column_lengths(weighted)), noise=estimate.noise, correlation=times,
        essential=tuple(base.names[k] for k in ways.essential(values, covariance, unknown)),
        unidentified=tuple(base.names[k] for k in unknown), run=run, gains=gains,
    )  # fmt: skip
    warned += [*_unseen(result, fixed), *_weak(result, typical)]
    return result


def correlation_times(run: PredictedRun, moving: NDArray[np.bool_]) -> Array:
    """Each joint's correlation time in kept samples, over all runs, at least what the low-pass itself brings."""
    ready = run.conditioned
    least = max(1.0, ready.rate / ready.every / (2.0 * ready.cutoff)) if ready.reach else 1.0
    ends = [log.t.max() for log in ready.log.separate]
    starts = [piece.t[0] for piece in ready.pieces]
    runs = np.searchsorted(ends, starts) if ready.log.parts else np.zeros(len(starts), int)
    cuts = np.cumsum([len(kept) for kept in ready.kept])[:-1]
    times = []
    for j in range(run.residual.shape[1]):
        use = np.split(moving[:, j], cuts)
        stretches = [r[m] for r, m in zip(np.split(run.residual[:, j], cuts), use, strict=True)]
        for k in set(runs.tolist()):
            mine = np.flatnonzero(runs == k)
            together = np.concatenate([stretches[i] for i in mine])
            for i in mine if len(together) else ():
                stretches[i] = stretches[i] - together.mean()
        times.append(ways.correlation_time(stretches, least))
    return np.array(times)


def _physical(
    base: BaseParameters, joints: JointTriangles, estimate: ways.Estimate, times: Array, belief: Belief, sizes: Array,
    notes: list[str],
) -> tuple[Array, Array, Array]:  # fmt: skip
    """(π_b, φ, covariance of π_b) with possible bodies, each sample worth what its correlation leaves of it."""
    prior = belief.prior
    if prior is not None and (prior.n != base.parameters.arm.n):
        raise DalembertError(f"the prior '{prior.name}' has {prior.n} joints, and the arm {base.parameters.arm.n}")
    whole = joints.together(1.0 / (ways.above_zero(estimate.noise) * np.sqrt(times)))
    phi, curvature, remarks = consistent(base, whole.R, whole.z, belief, levels=sizes, kept=estimate.fixed)
    notes += remarks
    if prior is not None:
        notes.append(
            f"the inertias of '{prior.name}' are a prior ({belief.kind}, {100 * belief.deviation:g} %), its friction within the size of the "
            "torques measured"
        )
    RK = whole.R @ base.K
    return base.K @ phi, phi, base.K @ ways.inverse_of(RK.T @ RK + curvature, 1e-14) @ base.K.T


def _total(
    equations: LogEquations, base: BaseParameters, joints: JointTriangles, loaded: tuple[Arm, Conditioned],
    warned: list[str],
) -> tuple[ways.Estimate, Array]:  # fmt: skip
    """Parameters and drive gains from a run without and one with a known payload."""
    arm, n, b = equations.arm, equations.arm.n, base.rank
    heavy, loaded_run = loaded
    triangles = [np.zeros((0, b + 1 + n)) for _ in range(n)]
    shown, whole = np.zeros(n), np.zeros(n)
    for ready in (equations.ready, loaded_run):
        for piece, kept in ready.blocks():
            Y = ready.filtered(base.regressor(*piece.states, piece.temperature), kept)
            tau = ready.filtered(piece.tau, kept)
            known = np.zeros_like(tau)
            if ready is loaded_run:
                extra = heavy.inverse_dynamics(*piece.states) - arm.inverse_dynamics(*piece.states)
                known = ready.filtered(extra, kept)
            moving = np.abs(piece.qd[kept]) >= equations.zone
            for j in range(n):
                use = moving[:, j]
                V = np.zeros((int(use.sum()), n))
                V[:, j] = -tau[use, j]
                block = np.column_stack([Y[use, j], known[use, j], V])
                shown[j] += float(np.sum(known[use, j] ** 2))
                whole[j] += float(np.sum(tau[use, j] ** 2))
                triangles[j] = np.asarray(np.linalg.qr(np.vstack([triangles[j], block]), mode="r"))
    # the noise of the torques as they are logged, from the run without payload
    fixed = ways.undetermined(joints.together(), typical_sizes(base))
    alone = ways.least_squares(joints, base.values, fixed, ways.ROUNDS)
    times = correlation_times(make_run(base, alone.values, equations.ready), equations.moving)
    held = shown < (SEEN**2) * whole
    if held.all():
        raise DalembertError("the known payload hardly changes a torque in the loaded log, so it cannot fix the scale")
    values, gains, covariance, weights = ways.total(triangles, alone.noise, alone.values, held, times)
    errors = np.zeros(n)
    errors[~held] = np.sqrt(np.diag(covariance)[b:])
    words = ", ".join(f"{g:.4g} ± {e:.2g}" for g, e in zip(gains, errors, strict=True))
    if held.any():
        names = [arm.joint_names[j] for j in np.flatnonzero(held)]
        warned.append(f"the payload hardly loads {listed(names)}, whose drive gains stay as they were given")
    note = f"drive gains found with the payload: {words} times those given"
    return ways.Estimate(values, alone.noise * np.abs(gains), weights, covariance[:b, :b], fixed, (note,)), gains


# -- judgement -----------------------------------------------------------------------------------


def _condition(R: Array) -> float:
    return float(np.linalg.cond(R)) if R.size else float("inf")


def _joints_of(base: BaseParameters, chosen: list[int]) -> str:
    """The joints that some base parameters belong to, in words; extra columns by their own names."""
    bodies, joints = base.parameters.arm.mechanism.tree.bodies, [base.parameters.joints[c] for c in base.independent]
    return listed(sorted({bodies[joints[k]].name if joints[k] >= 0 else base.names[k] for k in chosen}))


def _unseen(fit: Identification, fixed: tuple[int, ...]) -> list[str]:
    """Names the base parameters that the log does not show at all."""
    if not fixed:
        return []
    base = fit.base
    names = [base.formulas[k] if len(base.formulas[k]) < 40 else base.names[k] + " + …" for k in fixed]
    return [
        f"{fit.run.name}: the motion does not show {listed(names)}, which keep the arm's own value; move "
        f"{_joints_of(base, list(fixed))} more"
    ]


def _weak(fit: Identification, typical: Array) -> list[str]:
    """Names the base parameters that the log hardly shows: their error alone makes torques like those measured."""
    size = float(np.sqrt(np.mean(fit.run.measured**2)))
    brought = fit.std * typical
    weak = [int(k) for k in np.argsort(-brought) if np.isfinite(brought[k]) and brought[k] > size]
    if fit.physical or not weak:
        return []
    return [
        f"{fit.run.name}: the motion hardly shows {listed([fit.names[k] for k in weak])}: their standard deviations "
        f"stand for torques as large as those measured; excite {_joints_of(fit.base, weak)} more"
    ]
