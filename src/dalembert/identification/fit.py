"""``identify``: from a log of a moving arm to its parameters, S 7.4."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.identification import estimate as ways
from dalembert.identification.accumulate import JointTriangles, Triangle, triangle
from dalembert.identification.base import BaseParameters, base_parameters
from dalembert.identification.columns import balance_columns, coupling_columns, sigmoid_columns, stribeck_columns
from dalembert.identification.conditioning import Conditioned, condition
from dalembert.identification.felt import Felt
from dalembert.identification.hints import hints
from dalembert.identification.logs import Log, joined, per_joint, read_log
from dalembert.identification.parameters import ParameterSet, tree_of
from dalembert.identification.result import Identification, Run, make_run
from dalembert.identification.suspicions import suspicions
from dalembert.identification.turn_over import turn_overs
from dalembert.kernel.one_thread import one_thread
from dalembert.robot.inertia import Inertia
from dalembert.robot.tables import nearest

Array = NDArray[np.float64]
Source = str | os.PathLike[str] | Mapping[str, ArrayLike] | Log
Progress = Callable[[str, float], None]

READING = ("columns", "gains", "gears", "motor_side", "time_unit", "units", "joint_names", "topic")
SEEN = 0.05  # a payload that makes less than this share of a joint's torque does not fix its drive gain
REST = 0.1  # the factor of a joint's equations while it rests, unless a dead zone is asked for
SETTLED = 4096  # equations of a joint that wait until they are made a triangle
LOST = 10.0  # a parameter whose error alone makes torques so many times those measured is not in the log
STRIBECK_SPEEDS = (0.02, 0.04, 0.08, 0.16, 0.32)  # of a joint's largest speed, tried one after the other
UNLIKE = 0.5  # a relative error above which the arm is hardly the one that moved


class IdentificationWarning(UserWarning):
    """Something about a log or a fit that its user should know before trusting it."""


@one_thread()
def identify(
    arm: Arm,
    log: Source | Sequence[Source],
    validate: Source | Sequence[Source] | None = None,
    method: str = "weighted",
    physical: bool = False,
    prior: Arm | None = None,
    *,
    friction: Sequence[str] = ("viscous", "coulomb"),
    two_sided: bool = False,
    offset: bool = True,
    rotor: bool | None = None,
    stribeck: bool | float | Sequence[float] = False,
    sigmoid: bool | float | Sequence[float] = False,
    coupling: Sequence[Any] = (),
    balance: Sequence[str | int] = (),
    cutoff: float | None = None,
    decimate: int | None = None,
    edge: float | None = None,
    dead_zone: float | Sequence[float] | None = None,
    hold_out: float = 0.0,
    damping: float | None = None,
    prior_deviation: float = 0.3,
    prior_kind: str = "entropic",
    bounds: Mapping[str, Any] | None = None,
    loaded: Source | None = None,
    payload: Inertia | Mapping[str, Any] | float | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Identification:
    """The dynamic parameters of an arm from a log of its motion: t, q, qd (or not) and torques or currents.

    arm         its geometry; its inertias where known are the point from which the calibrated arm departs
    log         a path (.csv .npz .mat .parquet .bag .db3 .mcap), a dict of arrays t, q, qd, tau, or a list of them
    validate    other runs, on which the result is judged
    method      "ordinary", "weighted" (by each joint's noise), "reweighted" (until the weights settle),
                "damped", "sequential" (joint by joint, from the last), or "total"
    physical    only parameters that bodies can have (semidefinite program; extra ``[identify]``)
    prior       an arm whose inertias are believed to ``prior_deviation`` (relative); asks for physical too
    friction    of "viscous" and "coulomb"; two_sided, offset, stribeck (True, or the speed(s) in rad/s) add to it
    sigmoid     Coulomb friction turns over as tanh((q̇ − c)/w): True finds w and c of every joint, numbers are w (rad/s)
    rotor       identify rotor inertias; unless given, if the arm has rotors or torques come from the motors
    coupling    drives that two joints share, such as [(5, 6)]; balance: joints with a counterbalance
    cutoff      of the low-pass (Hz), decimate, edge (s): see :func:`conditioning.condition`
    dead_zone   a joint's equations do not count while it is slower than this (rad/s); unless given, those
                slower than 1 % of its largest speed count for a tenth
    hold_out    the last share of the log, such as 0.3, is left out of the fit and validates it
    damping     λ of "damped"; by generalised cross-validation unless given
    bounds      {link: {"box": (low, high)}} or {link: {"centre": c, "radii": r}}: where a link's mass must be
    loaded      for "total": a run with a payload that is known, whose weight fixes the scale of the drive gains
    payload     that payload: an Inertia in the tip's frame, or a mass
    reading     columns, gains, gears, motor_side, units, time_unit, joint_names, topic: see :func:`logs.read_log`
    progress    called with words and the fraction done
    """
    _check_options(method, prior_kind, prior_deviation, reading, loaded, payload)
    physical = physical or prior is not None
    if physical and method in ("damped", "sequential", "total"):
        raise DalembertError(f"physical estimates are weighted least squares; they cannot be '{method}' too")
    step = progress or (lambda words, fraction: None)
    found, more = _read_all(arm, log, validate, reading, step)
    if hold_out:
        if not 0 < hold_out < 1:
            raise DalembertError(f"hold_out is {hold_out:g}; it is a share of the log between 0 and 1, such as 0.3")
        last = replace(found.part(1 - hold_out, 1.0), source=f"{found.source} (last {100 * hold_out:g} %)", notes=())
        found, more = found.part(0.0, 1 - hold_out), [last, *more]
    step("filtering", 0.0)
    how = {"cutoff": cutoff, "decimate": decimate, "edge": edge}
    ready = condition(found, **how)  # type: ignore[arg-type]
    notes = [*found.notes, *ready.notes]
    if rotor is None:
        rotor = _has_rotors(arm) or "gains" in reading or "tau" in tuple(reading.get("motor_side", ()))
        if rotor and not _has_rotors(arm):
            notes.append("rotor inertias are identified too, since the torques are those of the motors")
    extra = (*coupling_columns(arm, coupling), *balance_columns(arm, balance))
    dry = "coulomb" in friction
    if sigmoid is not False:
        if two_sided or not dry:
            raise DalembertError(
                "sigmoid is a shape of Coulomb friction: friction must have 'coulomb', and not two_sided"
            )
        friction = [kind for kind in friction if kind != "coulomb"]
    fitted = _Fit(arm, ready, tuple(friction), two_sided, offset, rotor, dead_zone, step, dry)
    said = [
        sentence
        for one in found.separate
        for sentence in suspicions(arm, one, _alone(one, ready, how) if found.parts else ready, reading)
    ]
    if sigmoid is not False:
        extra = (*extra, *sigmoid_columns(arm, *fitted.sigmoids(sigmoid, extra, notes)))
    if stribeck is not False:
        extra = (*extra, *stribeck_columns(arm, fitted.stribeck_speeds(stribeck, extra, notes)))
    base, joints = fitted.prepared(extra)
    if not ready.tau.any():
        raise DalembertError(f"{found.source}: the torques are zero throughout, so that nothing can be identified")
    if not joints.together().rows or max(np.abs(one.R).max(initial=0.0) for one in joints.joints) == 0:
        raise DalembertError(f"{found.source}: no sample is left to identify from; is the arm moving in it?")

    typical = _typical(base)
    start = base.values
    fixed = ways.undetermined(joints.together(), typical)
    gains = None
    if method == "total":
        made, gains, total_covariance = _total(fitted, base, joints, loaded, payload, reading, how, said)
    elif method == "damped":
        made = ways.damped(joints, start, damping, typical)
        fixed = ()
    elif method == "sequential":
        made = ways.sequential(joints, start, typical)
        fixed = made.fixed
    else:
        rounds = {"ordinary": 0, "weighted": 1, "reweighted": ways.ROUNDS}[method]
        made = ways.least_squares(joints, start, fixed, rounds)
        if not physical:
            size = float(np.sqrt(np.mean(ready.tau**2)))
            unit = joints.together(1.0 / np.maximum(made.noise, 1e-12 * size))
            fixed = ways.undetermined(unit, typical, 1.0 / (LOST * size))
            made = ways.least_squares(joints, start, fixed, rounds)
    notes += made.notes
    if fixed:
        names = [base.formulas[k] if len(base.formulas[k]) < 40 else base.names[k] + " + …" for k in fixed]
        said.append(
            f"{found.source}: the motion does not show {_listed(names)}, which keep the arm's own value; move "
            f"{_listed(sorted({_joint_of(base, k) for k in fixed}))} more"
        )

    step("residuals", 0.0)
    run = make_run(base, made.values, ready, gains)
    moving = np.abs(ready.qd) >= fitted.zone
    times = _correlation(run, moving)
    values, full = made.values, None
    if method == "total":
        covariance = total_covariance
    elif method in ("damped", "sequential"):
        covariance = made.covariance * float(np.max(times))
    else:
        covariance = ways.with_correlation(joints, made, times)
    if physical:
        step("semidefinite program", 0.0)
        levels = _levels(base, ready)
        values, full, covariance = _physical(
            base, joints, made, times, prior, prior_deviation, prior_kind, bounds, levels, notes
        )
        run = make_run(base, values, ready)
        fixed_names: tuple[str, ...] = ()
    else:
        fixed_names = tuple(base.names[k] for k in fixed)
    whole = joints.together()
    weighted = joints.together(1.0 / np.maximum(made.noise, 1e-300))
    inflation = np.sqrt(np.maximum(np.diag(covariance), 1e-300) / np.maximum(np.diag(made.covariance), 1e-300))
    needed = ways.essential(values, weighted, np.maximum(inflation, 1.0), tuple(fixed))
    free = [k for k in range(len(values)) if k not in fixed]
    result = Identification(
        before=arm, base=base, method=method, physical=physical, parameters=values, covariance=covariance, found_full=full,
        condition=_condition(whole.R[:, free]), scaled_condition=_condition(_unit(weighted.R[:, free])),
        noise=made.noise, correlation=times, essential=tuple(base.names[k] for k in needed), unidentified=fixed_names,
        run=run, gains=gains, reading={k: v for k, v in reading.items() if v is not None},
        conditioning={k: v for k, v in how.items() if v is not None},
        validation=tuple(_validated(base, values, one, ready, how, gains, notes) for one in more),
    )  # fmt: skip
    _weak(result, typical, said)
    for one, other in zip(more, result.validation, strict=True):
        said += suspicions(arm, one, other.conditioned, reading)
    if result.relative_error > UNLIKE and not physical:
        said.append(
            f"{found.source}: the best fit leaves {100 * result.relative_error:.0f} % of the torques unexplained; are the joints in "
            "the arm's order, with its zeros and signs, and in rad and N m?"
        )
    asked = {
        "coupling": coupling,
        "balance": balance,
        "sigmoid": sigmoid is not False,
        "stribeck": stribeck is not False,
    }
    notes += hints(result, [word for word, value in asked.items() if value])
    object.__setattr__(result, "notes", tuple(dict.fromkeys(notes)))
    object.__setattr__(result, "warnings", tuple(said))
    for sentence in said:
        warnings.warn(sentence, IdentificationWarning, stacklevel=3)  # one for the decorator
    step("done", 1.0)
    return result


# -- options -------------------------------------------------------------------------------------


def _check_options(
    method: str, prior_kind: str, deviation: float, reading: Mapping[str, Any], loaded: Any, payload: Any
) -> None:
    if method not in ways.METHODS:
        raise DalembertError(
            f"there is no method '{method}'; known are {', '.join(ways.METHODS)}{nearest(method, ways.METHODS)}"
        )
    if prior_kind not in ("entropic", "euclidean"):
        raise DalembertError(f"prior_kind is '{prior_kind}'; it can be entropic or euclidean")
    if not deviation > 0:
        raise DalembertError(f"prior_deviation is {deviation:g}; it must be above 0, such as 0.3 for thirty percent")
    unknown = [name for name in reading if name not in READING]
    if unknown:
        raise DalembertError(f"identify knows no option '{unknown[0]}'{nearest(unknown[0], READING)}")
    if method == "total" and (loaded is None or payload is None):
        raise DalembertError(
            "total least squares finds drive gains too, and needs a known payload to fix the scale: give loaded (a run with "
            "it) and payload (its mass, or an Inertia)"
        )
    if method != "total" and (loaded is not None or payload is not None):
        raise DalembertError("loaded and payload are for method='total'")


def _several(logs: Any) -> list[Any]:
    if logs is None:
        return []
    if isinstance(logs, list | tuple):
        return list(logs)
    return [logs]


def _alone(log: Log, ready: Conditioned, how: Mapping[str, Any]) -> Conditioned:
    """One of several logs, with the cut-off of all."""
    return condition(log, **{**how, "cutoff": ready.cutoff})


def _read_all(arm: Arm, log: Any, validate: Any, reading: Mapping[str, Any], step: Progress) -> tuple[Log, list[Log]]:
    """The log, or several as one, and those to validate on."""
    mine, others = _several(log), _several(validate)
    if not mine:
        raise DalembertError("there is no log to identify from: the list is empty")
    logs, read = [*mine, *others], list[Log]()
    for one in logs:

        def told(fraction: float, done: int = len(read)) -> None:
            step("reading", (done + fraction) / len(logs))

        told(0.0)
        read.append(read_log(one, arm, **reading, progress=told))
    return joined(read[: len(mine)]), read[len(mine) :]


def _has_rotors(arm: Arm) -> bool:
    return any(body.has_rotor for body in tree_of(arm).bodies)


def _listed(words: Sequence[str], most: int = 8) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def _joint_of(base: BaseParameters, k: int) -> str:
    joint = base.parameters.joints[base.independent[k]]
    return tree_of(base.parameters.arm).bodies[joint].name if joint >= 0 else base.names[k]


# -- the equations of a log ----------------------------------------------------------------------


class _Fit:
    """A conditioned log and the choice of parameters; its triangles for any further columns."""

    def __init__(
        self, arm: Arm, ready: Conditioned, friction: tuple[str, ...], two_sided: bool, offset: bool, rotor: bool,
        dead_zone: Any, step: Progress, dry: bool,
    ) -> None:  # fmt: skip
        self.arm, self.ready, self.step = arm, ready, step
        self.friction, self.two_sided, self.offset, self.rotor = friction, two_sided, offset, rotor
        fastest = np.abs(ready.qd).max(axis=0)
        self.zone = 0.01 * fastest if dead_zone is None else per_joint("dead_zone", dead_zone, arm.n)
        self.at_rest = REST if dead_zone is None else 0.0
        if not dry:
            self.zone = np.zeros(arm.n)

    def parameters(self, extra: tuple[Any, ...]) -> ParameterSet:
        return ParameterSet(self.arm, self.friction, self.two_sided, self.offset, self.rotor, extra)

    def prepared(self, extra: tuple[Any, ...]) -> tuple[BaseParameters, JointTriangles]:
        base = base_parameters(self.parameters(extra))
        return base, triangles(base, self.ready, self.zone, self.at_rest, self.step)

    def _weights(self) -> Array:
        """What every joint's equation counts at the kept instants: (M, n)."""
        return np.where(np.abs(self.ready.qd) >= self.zone, 1.0, self.at_rest)

    def stribeck_speeds(
        self, asked: bool | float | Sequence[float], extra: tuple[Any, ...], notes: list[str]
    ) -> list[float]:
        """The speeds v of exp(−(q̇/v)²): as asked, or for each joint that which explains its torque best."""
        n = self.arm.n
        if asked is not True:
            speeds = per_joint("stribeck", asked, n)
            if not (speeds > 0).all():
                raise DalembertError("a Stribeck speed must be above 0")
            return [float(v) for v in speeds]
        fastest = np.abs(self.ready.qd).max(axis=0)
        tried = []
        for share in STRIBECK_SPEEDS:
            speeds = np.maximum(share * fastest, 1e-9)
            base, joints = self.prepared((*extra, *stribeck_columns(self.arm, speeds.tolist())))
            fixed = ways.undetermined(joints.together(), _typical(base))
            made = ways.least_squares(joints, base.values, fixed, 1)
            tried.append(ways.squares(joints, made.values))
        best = np.argmin(tried, axis=0)
        chosen = [float(STRIBECK_SPEEDS[k] * v) for k, v in zip(best, fastest, strict=True)]
        notes.append(f"the Stribeck speeds were chosen by trial: {', '.join(f'{v:.3g}' for v in chosen)} rad/s")
        return chosen

    def sigmoids(
        self, asked: bool | float | Sequence[float], extra: tuple[Any, ...], notes: list[str]
    ) -> tuple[Array, Array]:
        """Widths and centres of the turn-overs of Coulomb friction: as asked, or those of least squares."""
        if asked is not True:
            widths = per_joint("sigmoid", asked, self.arm.n)
            if not (widths > 0).all():
                raise DalembertError("the width of a sigmoid must be above 0")
            return widths, np.zeros(self.arm.n)
        widths, centres = turn_overs(base_parameters(self.parameters(extra)), self.ready, self._weights(), self.step)
        notes.append(
            f"Coulomb friction turns over as tanh((q̇ − c)/w), w = {', '.join(f'{w:.3g}' for w in widths)} and "
            f"c = {', '.join(f'{c:.2g}' for c in centres)} rad/s by least squares"
        )
        return widths, centres


def triangles(base: BaseParameters, ready: Conditioned, zone: Array, at_rest: float, step: Progress) -> JointTriangles:
    """Every joint's triangle of the low-passed equations of a log, a block at a time.

    A joint's equation at an instant has the factor ``at_rest`` while the joint is slower than ``zone``: there
    friction is anything between its two levels.
    """
    felt = Felt(base.parameters, base.independent, spare=1)
    n = len(felt.parts)
    held: list[Triangle | None] = [None] * n
    waiting: list[Array] = []
    counts = np.zeros(n, int)

    def settle() -> None:
        equations = np.concatenate(waiting, axis=1)
        for j, part in enumerate(felt.parts):
            new = triangle(equations[part].T, int(counts[j]), felt.columns[j])
            before = held[j]
            held[j] = new if before is None else before + new
        waiting.clear()
        counts[:] = 0

    blocks = list(ready.blocks())
    for done, (number, rows, kept) in enumerate(blocks):
        piece = ready.pieces[number]
        made = felt.rows(piece.q[rows], piece.qd[rows], piece.qdd[rows])
        made[[part.stop - 1 for part in felt.parts]] = piece.tau[rows].T
        moving = np.abs(piece.qd[rows][kept]) >= zone
        equations = ready.low_passed(made, kept)
        for j, part in enumerate(felt.parts):
            equations[part] *= np.where(moving[:, j], 1.0, at_rest)
        waiting.append(equations)
        counts += moving.sum(axis=0)
        if sum(one.shape[1] for one in waiting) >= SETTLED or done == len(blocks) - 1:
            settle()
        step("regressor", (done + 1) / len(blocks))
    return JointTriangles(tuple(one for one in held if one is not None), base.independent)


def _levels(base: BaseParameters, ready: Conditioned) -> Array:
    """For every parameter that is no inertia, the value with which it alone would make the measured torques."""
    parameters = base.parameters
    size = np.sqrt(np.mean(ready.tau**2, axis=0))
    piece = max(ready.pieces, key=lambda p: len(p.t))
    some = slice(None, None, ready.every)
    Y = parameters.regressor(piece.q[some], piece.qd[some], piece.qdd[some])
    felt = np.sqrt(np.mean(Y**2, axis=0))  # (n, p)
    with np.errstate(divide="ignore"):
        return np.min(np.where(felt > 0, size[:, None] / np.maximum(felt, 1e-300), np.inf), axis=0)


def _typical(base: BaseParameters) -> Array:
    """The size of each base column at random states of order one."""
    from dalembert.identification.base import random_states

    Y = base.regressor(*random_states(base.parameters.arm, 200, seed=3))
    return np.maximum(np.sqrt(np.mean(Y**2, axis=(0, 1))), 1e-12)


def _condition(R: Array) -> float:
    s = np.linalg.svd(R, compute_uv=False)
    return float(s[0] / s[-1]) if len(s) and s[-1] > 0 else float("inf")


def _unit(R: Array) -> Array:
    size = np.linalg.norm(R, axis=0)
    return R / np.where(size > 0, size, 1.0)


def _correlation(run: Run, moving: NDArray[np.bool_]) -> Array:
    """Each joint's correlation time in kept samples, at least what the low-pass itself brings."""
    ready = run.conditioned
    least = max(1.0, ready.rate / ready.every / (2.0 * ready.cutoff)) if ready.reach else 1.0
    n = run.residual.shape[1]
    longest = max(np.split(np.arange(len(run.t)), np.cumsum([len(k) for k in ready.kept])[:-1]), key=len)
    return np.array([ways.correlation_time(run.residual[longest[moving[longest, j]], j], least) for j in range(n)])


def _validated(
    base: BaseParameters, values: Array, log: Log, ready: Conditioned, how: Mapping[str, Any], gains: Array | None,
    notes: list[str],
) -> Run:  # fmt: skip
    """A validation run, conditioned with the same cut-off."""
    other = condition(log, **{**how, "cutoff": ready.cutoff})
    notes += [*log.notes, *(note for note in other.notes if not note.startswith("low-pass"))]
    return make_run(base, values, other, gains)


# -- physical, total -----------------------------------------------------------------------------


def _physical(
    base: BaseParameters, joints: JointTriangles, made: ways.Estimate, times: Array, prior: Arm | None,
    deviation: float, kind: str, bounds: Mapping[str, Any] | None, levels: Array, notes: list[str],
) -> tuple[Array, Array, Array]:  # fmt: skip
    """(π_b, φ, covariance of π_b) with possible bodies, each sample worth what its correlation leaves of it."""
    from dalembert.identification.physical import Prior, consistent

    if prior is not None and (prior.n != base.parameters.arm.n):
        raise DalembertError(f"the prior '{prior.name}' has {prior.n} joints, and the arm {base.parameters.arm.n}")
    whole = joints.together(1.0 / (np.maximum(made.noise, 1e-12 * made.noise.max()) * np.sqrt(times)))
    believed = None if prior is None else Prior(prior, deviation, kind)
    phi, curvature, told = consistent(base, whole.R, whole.z, prior=believed, bounds=bounds, levels=levels)
    notes += told
    if prior is not None:
        notes.append(
            f"the inertias of '{prior.name}' are a prior ({kind}, {100 * deviation:g} %), its friction within the size of the "
            "torques measured"
        )
    RK = whole.R @ base.K
    H = RK.T @ RK + curvature
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    inverse = scale[:, None] * np.linalg.pinv(H * scale[:, None] * scale, rcond=1e-14, hermitian=True) * scale
    return base.K @ phi, phi, base.K @ inverse @ base.K.T


def _total(
    fitted: _Fit, base: BaseParameters, joints: JointTriangles, loaded: Any, payload: Any, reading: Mapping[str, Any],
    how: Mapping[str, Any], said: list[str],
) -> tuple[ways.Estimate, Array, Array]:  # fmt: skip
    """Parameters and drive gains from a run without and one with a known payload."""
    arm, n, b = fitted.arm, fitted.arm.n, base.rank
    if isinstance(payload, Inertia):
        body = payload
    elif isinstance(payload, Mapping):
        body = Inertia(**payload)
    else:
        body = Inertia(float(payload))
    if arm.robot.payload is not None:
        raise DalembertError("the arm holds a payload already; total least squares needs the arm without one")
    heavy = arm.with_payload(float(body.mass), body.com, body.tensor)
    second = condition(read_log(loaded, arm, **reading), **{**how, "cutoff": fitted.ready.cutoff})
    equations: list[list[Array]] = [[] for _ in range(n)]
    shown, whole = np.zeros(n), np.zeros(n)
    for ready, carries in ((fitted.ready, False), (second, True)):
        for number, part, kept in ready.blocks():
            piece = ready.pieces[number]
            state = piece.q[part], piece.qd[part], piece.qdd[part]
            Y = ready.filtered(base.regressor(*state), kept)
            tau = ready.filtered(piece.tau[part], kept)
            known = np.zeros_like(tau)
            if carries:
                known = ready.filtered(heavy.inverse_dynamics(*state) - arm.inverse_dynamics(*state), kept)
            moving = np.abs(piece.qd[part][kept]) >= fitted.zone
            for j in range(n):
                use = moving[:, j]
                V = np.zeros((int(use.sum()), n))
                V[:, j] = -tau[use, j]
                block = np.column_stack([Y[use, j], known[use, j], V])
                shown[j] += float(np.sum(known[use, j] ** 2))
                whole[j] += float(np.sum(tau[use, j] ** 2))
                equations[j] = [np.asarray(np.linalg.qr(np.vstack([*equations[j], block]), mode="r"))]
    # the noise of the torques as they are logged, from the run without payload
    alone = ways.least_squares(joints, base.values, ways.undetermined(joints.together(), _typical(base)), ways.ROUNDS)
    run = make_run(base, alone.values, fitted.ready)
    times = _correlation(run, np.abs(fitted.ready.qd) >= fitted.zone)
    held = shown < (SEEN**2) * whole
    if held.all():
        raise DalembertError("the known payload hardly changes a torque in the loaded log, so it cannot fix the scale")
    values, gains, covariance, weights = ways.total([e[0] for e in equations], alone.noise, alone.values, held, times)
    errors = np.zeros(n)
    errors[~held] = np.sqrt(np.diag(covariance)[b:])
    words = ", ".join(f"{g:.4g} ± {e:.2g}" for g, e in zip(gains, errors, strict=True))
    if held.any():
        names = [arm.joint_names[j] for j in np.flatnonzero(held)]
        said.append(f"the payload hardly loads {_listed(names)}, whose drive gains stay as they were given")
    note = f"drive gains found with the payload: {words} times those given"
    made = ways.Estimate(values, alone.noise * np.abs(gains), weights, covariance[:b, :b], (), (note,))
    return made, gains, covariance[:b, :b]


# -- what the motion hardly shows ------------------------------------------------------------------


def _weak(fit: Identification, typical: Array, said: list[str]) -> None:
    """Names the base parameters that the log hardly shows: their error alone makes torques like those measured."""
    if fit.physical:
        return
    size = float(np.sqrt(np.mean(fit.run.measured**2)))
    brought = fit.std * typical
    weak = [k for k in np.argsort(-brought) if np.isfinite(brought[k]) and brought[k] > size]
    if weak:
        joints = sorted({_joint_of(fit.base, int(k)) for k in weak})
        said.append(
            f"{fit.run.name}: the motion hardly shows {_listed([fit.names[k] for k in weak])}: their standard deviations "
            f"stand for torques as large as those measured; excite {_listed(joints)} more"
        )


__all__ = ["IdentificationWarning", "identify"]
