"""Linear time scaling of a motion until the arm can execute it: S 7.7, r = ct.

The torque of the motion q̄(r), r = ct, follows from the torques of the original motion, S (7.126),
without another run of inverse dynamics. S neglects friction; with it,

    τ(c) = τ_s / c² + τ_v / c + τ_0,

τ_s   B q̈ + C q̇, which scales with the square of the speed, S (7.123)
τ_v   F_v q̇, which scales with the speed
τ_0   g + F_s sgn(q̇), which does not scale, like springs and all other terms that depend on position alone

At each time, each limit forbids an interval of speeds 1/c, whose ends are roots of a quadratic; c is
the smallest slow-down that lies in none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import brief, record
from dalembert.base.text_tables import aligned
from dalembert.base.wording import shown
from dalembert.errors import DalembertError, LimitError
from dalembert.robot.model.mechanism import Body
from dalembert.work.trajectory.planning.events import events_at, holding, loaded
from dalembert.work.trajectory.planning.limits import (
    KINDS,
    JointLimits,
    LimitsLike,
    check_terms,
    joint_limits,
    sliding_joints,
    too_heavy,
)
from dalembert.work.trajectory.planning.motion_checks import check_finite, finite
from dalembert.work.trajectory.planning.time_breaks import inside
from dalembert.work.trajectory.planning.trajectory import Trajectory

INSTANTS = 2001  # number of times at which the torques are evaluated first
CLOSE = 0.02  # limit shares this close to the largest are refined
SCALES = 1e-30  # of the original speed, and its inverse: beyond these a scaled motion has no meaning
RANGE = (1e-6, 1e6)  # of a factor in a table: beyond it, squared speeds lose all precision
FINER = 64  # refined samples between two of the first times

DELEGATES = {"_repr_html_": "views.report.notebook:scaling_table_html"}  # imported on first use


@brief
@dataclass(frozen=True)
class ScalingReport:
    """Report on :meth:`Trajectory.scaled`.

    c                ratio of the new duration to the old one, S's c in r = ct; 1 if no limit was exceeded
    duration, duration_before   in s
    joint, time      joint of the limit that determines c, and the time (s) in the original motion
    limit            "effort", "velocity" or "acceleration"; "" if no limit is active
    exceeded         largest share of any limit used by the original motion (1: the limit itself)
    exceeded_joint, exceeded_time   joint and time of that share, S's joint with the largest violation
    torque_before, torque           torque of the limiting joint at that time (N m), before and after
    scaling_torque, viscous_torque, constant_torque   its τ_s, τ_v and τ_0 in the original motion
    """

    c: float
    duration: float
    duration_before: float
    joint: str
    time: float
    limit: str
    exceeded: float
    exceeded_joint: str
    exceeded_time: float
    torque_before: float
    torque: float
    scaling_torque: float
    viscous_torque: float
    constant_torque: float

    def __str__(self) -> str:
        if self.c == 1.0:
            return f"no limit is exceeded (at most {self.exceeded:.1%} of one is used): the motion is unchanged"
        verb = "slowed down" if self.c > 1 else "sped up"
        return (
            f"{verb} by c = {self.c:.6g}, from {self.duration_before:.6g} to {self.duration:.6g} s: "
            f"the {self.limit} limit of joint '{self.joint}' at t = {self.time:.4g} s decides"
        )


@record
class TorqueParts:
    """Coordinates along a motion and its torque, split into parts that scale differently, S (7.123): (N, n) each.

    scaling   τ_s = B q̈ + C q̇, which scales with the square of the speed
    viscous   F_v q̇, which scales with the speed
    dry       F_s sgn(q̇), and ``holding``, the torque that holds the arm at rest: neither scales
    """

    t: Array
    scaling: Array
    viscous: Array
    dry: Array
    holding: Array
    q: Array
    qd: Array
    qdd: Array

    @property
    def constant(self) -> Array:
        """τ_0, which does not scale."""
        return self.holding + self.dry

    def torque(self, speed: float) -> Array:
        """Torque of the motion run at ``speed`` times its original speed, r = speed · t."""
        return self.scaling * speed**2 + self.viscous * speed + self.constant


def friction_of(bodies: Sequence[Body]) -> tuple[Array, Array, Array]:
    """F_v, and F_s for positive and for negative speed, of each body's joint."""
    viscous, forward, backward = np.array([(body.viscous, *body.coulomb) for body in bodies], float).T
    return viscous, forward, backward


def friction_along(arm: Arm, q: Array, qd: Array) -> tuple[Array, Array]:
    """(F_v q̇, F_s sgn(q̇)) along a motion, (N, n) each, including the friction of dependent joints mapped by Γᵀ."""
    F_v, forward, backward = friction_of(arm.mechanism.tree.bodies)
    Gamma = arm.closure_jacobian(q)
    speeds = np.einsum("...ij,...j->...i", Gamma, qd)
    dry = coulomb(speeds, forward, backward)
    return tuple(np.einsum("...ij,...i->...j", Gamma, f) for f in (F_v * speeds, dry))


def coulomb(sign: Array, forward: Array | float, backward: Array | float) -> Array:
    """F_s sgn(q̇), with a separate level for each direction."""
    return np.where(sign > 0, forward, np.where(sign < 0, -backward, 0.0))


def scaled(motion: Trajectory, arm: Arm, limits: LimitsLike = None, allow_faster: bool = False) -> Trajectory:
    """See :meth:`Trajectory.scaled`."""
    motion.fits(arm)
    check_terms(arm, "scaled")
    keep = joint_limits(arm, limits)
    top = np.inf if allow_faster else 1.0
    parts = torque_parts(motion, arm, _instants(motion))
    speed, *_ = _fastest(arm, keep, parts, top)
    parts = _closer(motion, arm, keep, parts, [speed if SCALES < speed < 1.0 / SCALES else 1.0])
    speed, limit, row, joint = _fastest(arm, keep, parts, top)
    if speed > 1.0 / SCALES:
        raise LimitError(
            "the motion hardly moves a limited joint: it can be arbitrarily fast, so there is no fastest scaling"
        )
    if speed < SCALES:
        raise LimitError(
            f"the {limit} limit of joint '{arm.joint_names[joint]}', {getattr(keep, limit)[joint]:g}, would slow the motion "
            "down by a factor beyond 1e30; give a limit of the size of the motion",
            joint=arm.joint_names[joint],
            kind=limit,
        )
    report = _report(motion, arm, keep, parts, 1.0 / speed, limit, row, joint)
    c = report.c
    if c == 1.0:
        return replace(motion, scaling=report)
    knots = tuple(c * k for k in motion.knots)
    at = None if motion.sampled_at is None else c * motion.sampled_at
    events = events_at(motion.events, lambda t: c * t)
    return Trajectory(report.duration, motion.n, Stretched(motion, c), knots, at, report, motion.notes, events)


def _report(
    motion: Trajectory, arm: Arm, keep: JointLimits, parts: TorqueParts, c: float, limit: str, row: int, joint: int
) -> ScalingReport:
    before = _shares(keep, parts, 1.0)
    worst_row, worst = (int(k) for k in np.unravel_index(int(before.max(axis=2).argmax()), before.shape[:2]))
    if not limit:
        row, joint = worst_row, worst
    a, b, k = (float(x[row, joint]) for x in (parts.scaling, parts.viscous, parts.constant))
    return ScalingReport(
        c=c,
        duration=c * motion.duration,
        duration_before=motion.duration,
        joint=arm.joint_names[joint],
        time=float(parts.t[row]),
        limit=limit,
        exceeded=float(before.max()),
        exceeded_joint=arm.joint_names[worst],
        exceeded_time=float(parts.t[worst_row]),
        torque_before=a + b + k,
        torque=a / c**2 + b / c + k,
        scaling_torque=a,
        viscous_torque=b,
        constant_torque=k,
    )


@dataclass(frozen=True, eq=False)
class Stretched:
    """The same motion with time stretched by a factor c."""

    motion: Trajectory
    c: float

    @property
    def breaks(self) -> Array:
        """Times at which its segments meet."""
        return self.c * self.motion.breaks

    @property
    def instants(self) -> Array:
        """Sample times."""
        return self.c * self.motion.t

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        q, qd, qdd = self.motion.evaluate(np.clip(t / self.c, 0.0, self.motion.duration))
        return q, np.asarray(qd) / self.c, np.asarray(qdd) / self.c**2


def _closer(
    motion: Trajectory, arm: Arm, keep: JointLimits, parts: TorqueParts, speeds: Sequence[float]
) -> TorqueParts:
    """The parts with additional samples wherever a limit is nearly reached at one of the speeds."""
    t = np.unique(np.concatenate([_between(parts.t, _shares(keep, parts, speed)) for speed in speeds]))
    more = torque_parts(motion, arm, t)
    return TorqueParts(*(np.concatenate([getattr(parts, f.name), getattr(more, f.name)]) for f in fields(TorqueParts)))


def _instants(motion: Trajectory) -> Array:
    """Uniformly spaced times, and both sides of every knot."""
    T, knots = motion.duration, inside(np.array(motion.knots), motion.duration)
    tiny = 1e-10 * T
    return np.unique(np.concatenate([np.linspace(0, T, INSTANTS), knots - tiny, knots, knots + tiny]))


def torque_parts(motion: Trajectory, arm: Arm, t: Array) -> TorqueParts:
    """Parts of the torque at the times t, which may have any shape."""
    with np.errstate(all="ignore"):
        q, qd, qdd = motion(t)
        model, wrench = loaded(motion, arm, t)
        torque = model.inverse_dynamics(q, qd, qdd, wrench)
        viscous, dry = friction_along(arm, q, qd)
        at_rest = holding(arm, model, wrench, q)
    check_finite(arm, t, torque + viscous + at_rest)
    return TorqueParts(t, torque - viscous - (at_rest + dry), viscous, dry, at_rest, q, qd, qdd)


def _shares(keep: JointLimits, parts: TorqueParts, speed: float) -> Array:
    """Share of each limit that is used at this speed: (N, n, 3)."""
    used = (
        np.abs(parts.torque(speed)) / keep.effort,
        np.abs(parts.qd) * speed / keep.velocity,
        np.abs(parts.qdd) * speed**2 / keep.acceleration,
    )
    return np.stack(used, axis=2)


def _between(t: Array, shares: Array) -> Array:
    """Denser times around those at which some share of a limit is close to its maximum."""
    near = np.flatnonzero((shares > (1 - CLOSE) * shares.max(axis=(0, 1))).any(axis=(1, 2)) & (len(t) > 1))
    gaps = np.unique(np.concatenate([near - 1, near]))
    gaps = gaps[(gaps >= 0) & (gaps < len(t) - 1)]
    share = np.arange(1, FINER) / FINER
    return (t[gaps, None] + np.diff(t)[gaps, None] * share).ravel()


def _fastest(arm: Arm, keep: JointLimits, parts: TorqueParts, top: float) -> tuple[float, str, int, int]:
    """The largest speed ≤ top that no limit forbids, and the limit, time and joint that forbid a higher one."""
    share = np.abs(parts.constant) / keep.effort
    if share.max() >= 1.0:  # τ_0 remains however slow the motion
        row, joint = (int(k) for k in np.unravel_index(int(share.argmax()), share.shape))
        has_coulomb = arm.mechanism.bodies[joint].coulomb != (0.0, 0.0)
        load, t = float(parts.constant[row, joint]), float(parts.t[row])
        raise too_heavy(arm, keep, joint, load, t, has_coulomb, "slowing down does not help")
    ends = _forbidden(keep, parts)
    speed, decides = top, ("", 0, 0)
    while True:
        lowest = speed
        for kind, low, high in ends:
            inside = np.where((low < speed) & ((high > speed) | (high == np.inf)), low, np.inf)
            row, joint = (int(k) for k in np.unravel_index(int(inside.argmin()), low.shape))
            if inside[row, joint] < lowest:
                lowest, decides = float(low[row, joint]), (kind, row, joint)
        if lowest == speed:
            return speed, *decides
        speed = lowest


def _forbidden(keep: JointLimits, parts: TorqueParts) -> list[tuple[str, Array, Array]]:
    """For each limit, its kind and the open interval of speeds that it forbids at each time for each joint: (N, n)."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ends = []
        for side in (1.0, -1.0):
            # a z² + b z + k > effort, with k < effort; z is the speed
            a, b = side * parts.scaling, side * parts.viscous
            k = side * parts.constant - keep.effort
            square = b * b - 4 * a * k
            root = np.sqrt(np.maximum(square, 0.0))
            # k < 0, so take the first positive root, in the form without cancellation
            first = np.where(b + root > 0, -2 * k / (b + root), np.inf)
            second = np.where(a < 0, (-b - root) / (2 * a), np.inf)  # a < 0: the torque decreases again
            never = (square < 0) | ~(first > 0) | ~np.isfinite(k)
            ends.append(("effort", np.where(never, np.inf, first), np.where(never, -np.inf, second)))
        velocity = keep.velocity / np.abs(parts.qd)
        acceleration = np.sqrt(keep.acceleration / np.abs(parts.qdd))
        for name, least in (("velocity", velocity), ("acceleration", acceleration)):
            ends.append((name, np.nan_to_num(least, nan=np.inf, posinf=np.inf), np.full_like(least, np.inf)))
    return ends


# -- a table of factors ----------------------------------------------------------------------------


@record
class ScalingTable:
    """One column per factor c by which time is stretched; c > 1 is slower.

    joints     names of the n joints, and ``units`` of their torques
    factor     (K,) c in increasing order, and ``duration`` (K,) of the motion (s)
    torque     (K, n) peak |τ| of each joint (N m or N)
    share      (K, n) its share of the effort limit: 1 is the limit itself
    exceeded   (K,) largest share of any limit, with ``decides``, the joint it belongs to, and ``limit``, its kind
    fits       the factor that just satisfies every limit; None if there is none, for the reason ``why``
    """

    joints: tuple[str, ...]
    units: tuple[str, ...]
    factor: Array
    duration: Array
    torque: Array
    share: Array
    exceeded: Array
    decides: tuple[str, ...]
    limit: tuple[str, ...]
    fits: float | None
    why: str

    @property
    def columns(self) -> list[str]:
        """The headings: the quantity, then the factors."""
        marks = ("*" if factor == self.fits else "" for factor in self.factor.tolist())
        return ["peak torque", *(f"c = {c:.4g}{mark}" for c, mark in zip(self.factor.tolist(), marks, strict=True))]

    @property
    def rows(self) -> list[list[str]]:
        """One row per joint, then the duration, and the largest share of a limit with its joint and kind."""
        peaks = [
            [f"{name} ({unit})", *(f"{x:.4g}" for x in column)]
            for name, unit, column in zip(self.joints, self.units, self.torque.T.tolist(), strict=True)
        ]
        return [
            *peaks,
            ["duration (s)", *(f"{x:.4g}" for x in self.duration.tolist())],
            ["largest share of a limit", *(f"{x:.1%}" for x in self.exceeded.tolist())],
            ["of joint", *self.decides],
            ["kind of limit", *self.limit],
        ]

    @property
    def note(self) -> str:
        """Explanation of the mark *, or the reason why no column has one."""
        return self.why if self.fits is None else f"* c = {self.fits:.6g} just satisfies every limit"

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)

    def __str__(self) -> str:
        return f"{aligned([self.columns, *self.rows])}\n{self.note}"


def scaling_table(motion: Trajectory, arm: Arm, factors: ArrayLike, limits: LimitsLike = None) -> ScalingTable:
    """See :meth:`Trajectory.scaling_table`."""
    motion.fits(arm)
    check_terms(arm, "scaling_table")
    keep = joint_limits(arm, limits)
    requested = finite("factors", factors)
    least, most = RANGE
    if requested.ndim != 1 or not requested.size or not ((requested >= least) & (requested <= most)).all():
        raise DalembertError(
            f"factors is {shown(factors)}; it must be a list of numbers from {least:g} to {most:g}, such as [1, 1.5, 2]"
        )
    fits, why = None, ""
    try:
        fits = scaled(motion, arm, limits, allow_faster=True).duration / motion.duration
    except LimitError as problem:
        why = str(problem)
    every = np.unique(requested if fits is None else np.append(requested, fits))
    parts = _closer(motion, arm, keep, torque_parts(motion, arm, _instants(motion)), (1.0 / every).tolist())
    torque = np.stack([np.abs(parts.torque(1.0 / c)).max(axis=0) for c in every])
    used = np.stack([_shares(keep, parts, 1.0 / c).max(axis=0) for c in every])  # (K, n, 3)
    worst, kind = np.divmod(used.reshape(len(every), -1).argmax(axis=1), len(KINDS))
    return ScalingTable(
        joints=arm.joint_names,
        units=tuple("N" if slides else "N m" for slides in sliding_joints(arm)),
        factor=every,
        duration=every * motion.duration,
        torque=torque,
        share=torque / keep.effort,
        exceeded=used.max(axis=(1, 2)),
        decides=tuple(arm.joint_names[j] for j in worst),
        limit=tuple(KINDS[k] for k in kind),
        fits=fits,
        why=why,
    )
