"""From the triangles of a log to parameters: the method asked for, its covariance, possible bodies, drive gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.identification import estimate as ways
from dalembert.identification.accumulate import JointTriangles
from dalembert.identification.base import BaseParameters
from dalembert.identification.log_equations import LogEquations, levels, typical_sizes
from dalembert.identification.result import Run, make_run
from dalembert.logs.conditioning import Conditioned
from dalembert.logs.formats.raw import listed

Array = NDArray[np.float64]

SEEN = 0.05  # a payload that makes less than this share of a joint's torque does not fix its drive gain
LOST = 10.0  # a parameter whose error alone makes torques so many times those measured is not in the log


@dataclass(frozen=True, eq=False)
class Solution:
    """π_b with its covariance, and what came with it.

    estimate    what least squares found, before possible bodies were asked for
    fixed       base parameters that the log does not show: they keep the arm's own value
    full        every parameter, where possible bodies were asked for
    gains       factors of the logged torques, where they were asked for
    times       how many samples of each joint's residual are worth one
    """

    values: Array
    covariance: Array
    estimate: ways.Estimate
    fixed: tuple[int, ...]
    run: Run
    times: Array
    full: Array | None = None
    gains: Array | None = None


@dataclass(frozen=True)
class Belief:
    """What possible bodies are asked for besides the log: a prior's inertias, shapes that hold a link's mass."""

    prior: Arm | None
    deviation: float
    kind: str
    bounds: Mapping[str, Any] | None


@dataclass(frozen=True, eq=False)
class Loaded:
    """A run with a payload that is known, and the arm that holds it."""

    run: Conditioned
    heavy: Arm


def solution(
    equations: LogEquations, base: BaseParameters, joints: JointTriangles, method: str, damping: float | None,
    belief: Belief | None, loaded: Loaded | None, notes: list[str], said: list[str],
) -> Solution:  # fmt: skip
    """The parameters by ``method``; with a ``belief``, those that possible bodies have."""
    ready, typical, gains = equations.ready, typical_sizes(base), None
    fixed = ways.undetermined(joints.together(), typical)
    if method == "total":
        assert loaded is not None
        made, gains = _total(equations, base, joints, loaded, said)
    elif method == "damped":
        made, fixed = ways.damped(joints, base.values, damping, typical), ()
    elif method == "sequential":
        made = ways.sequential(joints, base.values, typical)
        fixed = made.fixed
    else:
        rounds = {"ordinary": 0, "weighted": 1, "reweighted": ways.ROUNDS}[method]
        made = ways.least_squares(joints, base.values, fixed, rounds)
        if belief is None:
            size = float(np.sqrt(np.mean(ready.tau**2)))
            unit = joints.together(1.0 / np.maximum(made.noise, 1e-12 * size))
            fixed = ways.undetermined(unit, typical, 1.0 / (LOST * size))
            made = ways.least_squares(joints, base.values, fixed, rounds)
    notes += made.notes
    equations.step("residuals", 0.0)
    run = make_run(base, made.values, ready, gains)
    times = correlation_times(run, np.abs(ready.qd) >= equations.zone)
    if belief is not None:
        equations.step("semidefinite program", 0.0)
        values, full, covariance = _physical(base, joints, made, times, belief, levels(base, ready), fixed, notes)
        return Solution(values, covariance, made, fixed, make_run(base, values, ready), times, full)
    if method == "total":
        covariance = made.covariance
    elif method in ("damped", "sequential"):
        covariance = made.covariance * float(np.max(times))
    else:
        covariance = ways.with_correlation(joints, made, times)
    return Solution(made.values, covariance, made, fixed, run, times, None, gains)


def correlation_times(run: Run, moving: NDArray[np.bool_]) -> Array:
    """Each joint's correlation time in kept samples, over all runs, at least what the low-pass itself brings."""
    ready = run.conditioned
    least = max(1.0, ready.rate / ready.every / (2.0 * ready.cutoff)) if ready.reach else 1.0
    ends = [one.t.max() for one in ready.log.separate]
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
    base: BaseParameters, joints: JointTriangles, made: ways.Estimate, times: Array, belief: Belief, sizes: Array,
    fixed: tuple[int, ...], notes: list[str],
) -> tuple[Array, Array, Array]:  # fmt: skip
    """(π_b, φ, covariance of π_b) with possible bodies, each sample worth what its correlation leaves of it."""
    from dalembert.identification.physical import Prior, consistent

    prior = belief.prior
    if prior is not None and (prior.n != base.parameters.arm.n):
        raise DalembertError(f"the prior '{prior.name}' has {prior.n} joints, and the arm {base.parameters.arm.n}")
    whole = joints.together(1.0 / (ways.above_zero(made.noise) * np.sqrt(times)))
    believed = None if prior is None else Prior(prior, belief.deviation, belief.kind)
    phi, curvature, told = consistent(
        base, whole.R, whole.z, prior=believed, bounds=belief.bounds, levels=sizes, kept=fixed
    )
    notes += told
    if prior is not None:
        notes.append(
            f"the inertias of '{prior.name}' are a prior ({belief.kind}, {100 * belief.deviation:g} %), its friction within the size of the "
            "torques measured"
        )
    RK = whole.R @ base.K
    H = RK.T @ RK + curvature
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    inverse = scale[:, None] * np.linalg.pinv(H * scale[:, None] * scale, rcond=1e-14, hermitian=True) * scale
    return base.K @ phi, phi, base.K @ inverse @ base.K.T


def _total(
    equations: LogEquations, base: BaseParameters, joints: JointTriangles, loaded: Loaded, said: list[str]
) -> tuple[ways.Estimate, Array]:
    """Parameters and drive gains from a run without and one with a known payload."""
    arm, n, b = equations.arm, equations.arm.n, base.rank
    rows: list[list[Array]] = [[] for _ in range(n)]
    shown, whole = np.zeros(n), np.zeros(n)
    for ready, carries in ((equations.ready, False), (loaded.run, True)):
        for number, part, kept in ready.blocks():
            piece = ready.pieces[number]
            state = piece.q[part], piece.qd[part], piece.qdd[part]
            Y = ready.filtered(base.regressor(*state), kept)
            tau = ready.filtered(piece.tau[part], kept)
            known = np.zeros_like(tau)
            if carries:
                known = ready.filtered(loaded.heavy.inverse_dynamics(*state) - arm.inverse_dynamics(*state), kept)
            moving = np.abs(piece.qd[part][kept]) >= equations.zone
            for j in range(n):
                use = moving[:, j]
                V = np.zeros((int(use.sum()), n))
                V[:, j] = -tau[use, j]
                block = np.column_stack([Y[use, j], known[use, j], V])
                shown[j] += float(np.sum(known[use, j] ** 2))
                whole[j] += float(np.sum(tau[use, j] ** 2))
                rows[j] = [np.asarray(np.linalg.qr(np.vstack([*rows[j], block]), mode="r"))]
    # the noise of the torques as they are logged, from the run without payload
    alone = ways.least_squares(
        joints, base.values, ways.undetermined(joints.together(), typical_sizes(base)), ways.ROUNDS
    )
    run = make_run(base, alone.values, equations.ready)
    times = correlation_times(run, np.abs(equations.ready.qd) >= equations.zone)
    held = shown < (SEEN**2) * whole
    if held.all():
        raise DalembertError("the known payload hardly changes a torque in the loaded log, so it cannot fix the scale")
    values, gains, covariance, weights = ways.total([e[0] for e in rows], alone.noise, alone.values, held, times)
    errors = np.zeros(n)
    errors[~held] = np.sqrt(np.diag(covariance)[b:])
    words = ", ".join(f"{g:.4g} ± {e:.2g}" for g, e in zip(gains, errors, strict=True))
    if held.any():
        names = [arm.joint_names[j] for j in np.flatnonzero(held)]
        said.append(f"the payload hardly loads {listed(names)}, whose drive gains stay as they were given")
    note = f"drive gains found with the payload: {words} times those given"
    made = ways.Estimate(values, alone.noise * np.abs(gains), weights, covariance[:b, :b], (), (note,))
    return made, gains


__all__ = ["Belief", "Loaded", "Solution", "solution"]
