"""From the triangles of a log to parameters: the chosen method, its covariance, physical consistency, drive gains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.base.wording import some
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting import least_squares as lsq
from dalembert.work.identification.fitting.base_parameters import BaseParameters, observable_columns
from dalembert.work.identification.fitting.covariance import BlockFit
from dalembert.work.identification.fitting.energy_method import energy_residuals, energy_triangles
from dalembert.work.identification.fitting.fit_options import EstimatorOptions
from dalembert.work.identification.fitting.log_equations import LogEquations, MethodFit, levels, typical_sizes
from dalembert.work.identification.fitting.physical_consistency import Belief, ConsistentProblem
from dalembert.work.identification.fitting.result import Identification, PredictedRun, make_run
from dalembert.work.identification.fitting.robust import robust
from dalembert.work.identification.fitting.tip_load import TipLoad, point_mass
from dalembert.work.identification.fitting.triangular_systems import JointTriangles, column_lengths
from dalembert.work.logs.conditioning import Conditioned

ROUNDS = {"ordinary": 0, "weighted": 1, "reweighted": lsq.ROUNDS}  # of reweighting by the noise of each joint
SEEN = 0.05  # minimum fraction of a joint's torque that a payload must cause to fix its drive gain
CLEARLY = 1.5  # times the residual of weighted least squares: the sequential procedure has accumulated errors
PERIODS = 5  # minimum number of periods of the cut-off per parameter for enough energy balances
HARMLESS = 1e-3  # of a joint's torque: a negligible residual
CENTRES = 4  # fits, each with the payload's inertia at the centre of mass of the previous one
TOLD_LAG = 0.1  # ms: smallest lag that is reported
LOST = 10.0  # a parameter is undetermined if its uncertainty alone changes the torques by more than this factor


def solution(
    equations: LogEquations, base: BaseParameters, joints: JointTriangles, method: str, estimator: EstimatorOptions,
    belief: Belief | None, loaded: KnownLoad | None,
) -> Identification:  # fmt: skip
    """The parameters by ``method``; with a ``belief``, physically consistent ones. ``loaded``: a run with a known payload."""
    lag, notes = equations.lag, list[str]()
    if lag is None:
        lag, equations = joints.lag, equations.with_lag(joints.lag)
        if 1e3 * abs(lag) >= TOLD_LAG:
            word = "later" if lag > 0 else "earlier"
            notes.append(f"the torques are {1e3 * abs(lag):.2g} ms {word} than the positions, which was corrected")
    ready, typical, step = equations.ready, typical_sizes(base), equations.step
    fit = _estimated(equations, base, joints, method, estimator, belief, loaded)
    estimate, joints, gains = fit.estimate, fit.joints, fit.gains
    notes += estimate.notes
    values, fixed = estimate.values, estimate.fixed
    step("residuals", 0.0)
    run = make_run(base, values, fit.equations.ready, gains, predicted=fit.equations.predicted(base, values))
    times = correlation_times(run, fit.equations.moving)
    noise, worth = estimate.noise, times * fit.inflation
    if method == "energy":
        moving = fit.equations.moving
        noise = np.sqrt(np.sum(np.where(moving, run.residual, 0.0) ** 2, axis=0) / np.maximum(moving.sum(axis=0), 1))
        worth = np.array([lsq.correlation_time(energy_residuals(base, ready, values))])
    full, blocks, formula = None, None, None
    if belief is not None:
        step("semidefinite program", 0.0)
        values, full, covariance, remarks = _physical(base, joints, estimate, worth, belief, levels(base, ready))
        notes += remarks
    elif method == "total":
        covariance = estimate.covariance
    elif method in ("damped", "sequential"):
        covariance = estimate.covariance * float(np.max(times))
    else:
        _, covariance = lsq.spread(joints, values, estimate.weights, fixed, times=worth)
        if method not in ("energy", "robust"):
            assert joints.segments is not None
            memory = float(np.median(times)) * joints.segments.count / max(ready.count, 1)
            segments = replace(joints.segments, memory=memory)  # blocks as long as the residuals' memory requires
            blocks = BlockFit(segments, estimate.weights, values, joints.lag, tuple(fixed))
            formula, covariance = covariance, blocks.jackknife()
    if belief is not None or fit.equations.ready is not ready:
        run = make_run(base, values, ready, gains, predicted=fit.equations.predicted(base, values))
    unknown = () if belief is not None else fixed
    free = [k for k in range(base.rank) if k not in fixed]
    weighted = joints.together(1.0 / lsq.above_zero(estimate.noise)).R[:, free]
    result = Identification(
        before=equations.arm, base=base, method=method, physical=belief is not None, parameters=values,
        covariance=covariance, found_full=full, condition=_condition(joints.together().R[:, free]),
        scaled_condition=_condition(weighted / column_lengths(weighted)), noise=noise, correlation=times,
        essential=tuple(base.names[k] for k in lsq.essential(values, covariance, unknown)),
        unidentified=tuple(base.names[k] for k in unknown), run=run, gains=gains, lag=lag, blocks=blocks,
        gains_std=fit.gains_std, payload_com=fit.com, payload_com_std=fit.com_std, formula_covariance=formula,
        notes=tuple(notes),
    )  # fmt: skip
    return replace(result, warnings=(*fit.warnings, *_doubts(result, fixed, typical)))


def _estimated(
    equations: LogEquations, base: BaseParameters, joints: JointTriangles, method: str, estimator: EstimatorOptions,
    belief: Belief | None, loaded: KnownLoad | None,
) -> MethodFit:  # fmt: skip
    """The estimate of a method, with the equations that it was computed from."""
    ready, typical = equations.ready, typical_sizes(base)
    size = float(np.sqrt(np.mean(ready.tau**2)))

    def fixed_by(triangles: JointTriangles, noise: Array | None = None) -> tuple[int, ...]:
        """The columns that the log does not determine, or determines so poorly that their errors exceed the measured
        torques."""
        if noise is None or belief is not None:
            return lsq.undetermined(triangles.together(), typical)
        unit = triangles.together(1.0 / np.maximum(noise, 1e-12 * size))
        return lsq.undetermined(unit, typical, 1.0 / (LOST * size))

    if method == "robust":
        return robust(equations, base, joints, fixed_by)
    if method == "energy":
        joints = energy_triangles(base, ready)
        estimate = lsq.determined(joints, base.values, fixed_by, 0)
        doubts = _few_balances(joints, estimate, ready) if belief is None else []
        return MethodFit(estimate, equations, joints, warnings=tuple(doubts))
    if method == "total":
        assert loaded is not None
        return _total(equations, base, joints, loaded)
    if method == "sequential":
        estimate = lsq.sequential(joints, base.values, typical)
        doubts = _against(equations, joints, estimate, base, fixed_by)
        return MethodFit(estimate, equations, joints, warnings=tuple(doubts))
    if method == "damped":
        estimate = lsq.damped(joints, base.values, estimator.damping, typical, estimator.damped_to or "arm")
    else:
        estimate = lsq.determined(joints, base.values, fixed_by, ROUNDS[method])
    return MethodFit(estimate, equations, joints)


def _few_balances(joints: JointTriangles, estimate: lsq.Estimate, ready: Conditioned) -> list[str]:
    """Warn if a log has too few energy balances: there is one per period of the cut-off, for all joints together."""
    periods = round(joints.together().rows * ready.every / ready.rate * ready.cutoff)
    free = len(estimate.values) - len(estimate.fixed)
    if periods >= PERIODS * free:
        return []
    return [
        f"{ready.log.source}: the log has at most {periods} independent energy balances for {free} parameters, and "
        f"method='energy' is inaccurate with fewer than {PERIODS * free:g}; log a longer motion without repetition, give a "
        "prior, or use method='weighted'"
    ]


def _against(
    equations: LogEquations, joints: JointTriangles, own: lsq.Estimate, base: BaseParameters, fixed_by: lsq.FixedBy
) -> list[str]:
    """Warn against the sequential procedure if its residuals show clearly that errors have accumulated."""
    other = lsq.determined(joints, base.values, fixed_by, 1)
    torques = np.sqrt([joint.z @ joint.z + joint.rss for joint in joints.joints])
    least = np.maximum(HARMLESS * torques, 1e-300)
    ratios = np.sqrt(lsq.squares(joints, own.values)) / np.maximum(np.sqrt(lsq.squares(joints, other.values)), least)
    worst = int(np.argmax(ratios))
    if not ratios[worst] > CLEARLY:
        return []
    return [
        f"{equations.ready.log.source}: errors accumulate from joint to joint in method='sequential', whose residual at joint "
        f"'{equations.arm.joint_names[worst]}' is {ratios[worst]:.2g} times that of weighted least squares; use "
        "method='weighted'"
    ]


def correlation_times(run: PredictedRun, moving: NDArray[np.bool_]) -> Array:
    """Each joint's correlation time in kept samples, over all runs, at least that of the low-pass itself."""
    ready = run.conditioned
    least = max(1.0, ready.rate / ready.every / (2.0 * ready.cutoff)) if ready.reach else 1.0
    ends = [log.t.max() for log in ready.log.separate]
    starts = [piece.t[0] for piece in ready.pieces]
    runs = np.searchsorted(ends, starts) if ready.log.parts else np.zeros(len(starts), int)
    cuts = np.cumsum([len(indices) for indices in ready.kept])[:-1]
    times = []
    for j in range(run.residual.shape[1]):
        use = np.split(moving[:, j], cuts)
        stretches = [r[m] for r, m in zip(np.split(run.residual[:, j], cuts), use, strict=True)]
        for k in set(runs.tolist()):
            mine = np.flatnonzero(runs == k)
            together = np.concatenate([stretches[i] for i in mine])
            for i in mine if len(together) else ():
                stretches[i] = stretches[i] - together.mean()
        times.append(lsq.correlation_time(stretches, least))
    return np.array(times)


def _physical(
    base: BaseParameters, joints: JointTriangles, estimate: lsq.Estimate, times: Array, belief: Belief, sizes: Array
) -> tuple[Array, Array, Array, list[str]]:
    """(π_b, φ, covariance of π_b, notes) of a physically consistent fit that accounts for autocorrelated residuals."""
    prior = belief.prior
    if prior is not None and (prior.n != base.parameters.arm.n):
        raise DalembertError(
            f"the prior '{prior.name}' has {prior.n} joints, and the arm has {base.parameters.arm.n}; give a prior for the same arm"
        )
    whole = joints.together(1.0 / (lsq.above_zero(estimate.noise) * np.sqrt(times)))
    phi, curvature, notes = ConsistentProblem(base, belief, sizes, estimate.fixed).solve(whole.R, whole.z)
    if prior is not None:
        notes.append(
            f"the inertias of '{prior.name}' are a prior ({belief.kind}, {100 * belief.deviation:g} %), and its friction is limited by the "
            "size of the measured torques"
        )
    RK = whole.R @ base.K
    return base.K @ phi, phi, base.K @ lsq.inverse_of(RK.T @ RK + curvature, 1e-14) @ base.K.T, notes


@record
class KnownLoad:
    """A run with a payload of known mass: its ten parameters at the tip; if not ``centred``, its centre is unknown."""

    ten: Array
    run: Conditioned
    centred: bool


def _total(equations: LogEquations, base: BaseParameters, joints: JointTriangles, loaded: KnownLoad) -> MethodFit:
    """Parameters and drive gains from a run without and one with a known payload.

    If only the mass of the payload is known, its first moments are three further unknowns; its inertia is then that of
    a point mass at its centre, found by fixed-point iteration.
    """
    arm, n, b = equations.arm, equations.arm.n, base.rank
    load = TipLoad(arm)
    triangles = [np.zeros((0, b + 10 + n)) for _ in range(n)]
    for ready in (equations.ready, loaded.run):
        for piece, indices in ready.blocks():
            Y = ready.filtered(base.regressor(*piece.states, piece.temperature), indices)
            tau = ready.filtered(piece.tau, indices)
            Y_L = np.zeros((*tau.shape, 10))
            if ready is loaded.run:
                Y_L = ready.filtered(load.regressor(piece), indices)
            moving = np.abs(piece.qd[indices]) >= equations.zone
            for j in range(n):
                use = moving[:, j]
                V = np.zeros((int(use.sum()), n))
                V[:, j] = -tau[use, j]
                block = np.column_stack([Y[use, j], Y_L[use, j], V])
                triangles[j] = np.asarray(np.linalg.qr(np.vstack([triangles[j], block]), mode="r"))
    # the noise of the torques as logged, from the run without payload
    fixed = lsq.undetermined(joints.together(), typical_sizes(base))
    alone = lsq.least_squares(joints, base.values, fixed, lsq.ROUNDS)
    times = correlation_times(make_run(base, alone.values, equations.ready), equations.moving)
    moments = np.zeros(0, int) if loaded.centred else _moments_shown(triangles, b)
    start, ten, mass = np.append(alone.values, np.zeros(len(moments))), loaded.ten, float(loaded.ten[0])
    for _ in range(1 if loaded.centred else CENTRES):
        held = np.array([_share(E[:, b : b + 10] @ ten, E[:, b + 10 + j]) < SEEN for j, E in enumerate(triangles)])
        if held.all():
            raise DalembertError(
                "the known payload hardly changes the torques in the loaded log, so it cannot fix the scale; use a heavier payload"
            )
        known = ten.copy()
        known[1 + moments] = 0.0
        unknowns = [*range(b), *(b + 1 + moments)]
        reduced = [np.column_stack([E[:, unknowns], E[:, b : b + 10] @ known, E[:, b + 10 :]]) for E in triangles]
        start, gains, covariance, weights = lsq.total(reduced, alone.noise, start, held, times)
        com = np.zeros(3)
        com[moments] = start[b:] / mass
        ten = loaded.ten if loaded.centred else point_mass(mass, com)
    gains_std = np.zeros(n)
    gains_std[~held] = np.sqrt(np.diag(covariance)[len(start) :])
    words = ", ".join(f"{g:.4g} ± {e:.2g}" for g, e in zip(gains, gains_std, strict=True))
    notes = [f"drive gains identified with the payload: {words} times the given ones"]
    names = [arm.joint_names[j] for j in np.flatnonzero(held)]
    warned = [f"the payload hardly loads {some(names)}, whose drive gains keep their given values"] if names else []
    com_std = None
    if not loaded.centred:
        com_std = np.full(3, np.nan)
        com_std[moments] = np.sqrt(np.diag(covariance)[b : b + len(moments)]) / mass
        com[~np.isfinite(com_std)] = np.nan
        centre = ", ".join(
            f"{c:.4g} ± {e:.2g}" if np.isfinite(c) else "not determined" for c, e in zip(com, com_std, strict=True)
        )
        notes.append(
            f"only the mass of the payload is known; its centre of mass, from the tip, is x, y, z = {centre} m"
        )
    values = start[:b]
    estimate = lsq.Estimate(values, alone.noise * np.abs(gains), weights, covariance[:b, :b], fixed, tuple(notes))
    centre_of_mass = None if loaded.centred else com
    return MethodFit(estimate, equations, joints, 1.0, tuple(warned), gains, gains_std, centre_of_mass, com_std)


def _share(part: Array, whole: Array) -> float:
    """The size of a torque relative to another."""
    return float(np.linalg.norm(part) / max(float(np.linalg.norm(whole)), 1e-300))


def _moments_shown(triangles: list[Array], b: int) -> NDArray[np.intp]:
    """Which first moments of the payload (of 0, 1, 2) the runs determine beside the arm's own parameters and the mass."""
    whole = np.vstack([E[:, : b + 4] for E in triangles])
    return np.array([k - b - 1 for k in observable_columns(whole) if k > b], dtype=np.intp)


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
