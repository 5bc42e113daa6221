"""A move as a path with limits on it: what the time-optimal passes work on.

S (7.122) with friction, along the path q(s), reads τ = m s̈ + c ṡ² + v ṡ + k with

    m = B q',  c = B q'' + C(q, q') q',  v = F_v q',  k = g + F_s sgn(q'),

and q̈ = q' s̈ + q'' ṡ². All come from three batches of the arm's compiled inverse dynamics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError, LimitError
from dalembert.trajectory.limits import JointLimits
from dalembert.trajectory.moves import Move
from dalembert.trajectory.scaling import coulomb, friction_along, friction_of

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]

LOOKS = 257  # at the path before its grid is made
BY_DISTANCE = 0.3  # how much the distance travelled has to say in the spacing of the grid


class LimitedPath:
    """What the passes need to know of a move: its limits as rows m u + c x + v √x + k; s is the move's r."""

    def __init__(self, move: Move, arm: Arm, keep: JointLimits) -> None:
        self.move, self.arm, self.keep = move, arm, keep
        self.length, self.knots, self.at = move.length, move.knots, move.at
        self.tiny = 1e-12 * self.length
        self.inverse_dynamics: Any = arm.inverse_dynamics if arm.robot.loops else arm.kernel("inverse_dynamics")
        self.F_v, self.forward, self.backward = friction_of(arm)
        self.torque = np.flatnonzero(np.isfinite(keep.effort))
        self.acceleration = np.flatnonzero(np.isfinite(keep.acceleration))
        self.velocity = np.flatnonzero(np.isfinite(keep.velocity))
        self.rubbing = (self.forward > 0) | (self.backward > 0)
        self.viscous = bool((self.F_v[self.torque] > 0).any())
        self.passive = _passive_friction(arm)
        if self.passive is not None:
            self.viscous = self.viscous or bool(self.passive.viscous.any())

    def time(self, s: float) -> float:
        """The instant at which the motion as it was is at s."""
        return float(self.move.given_time(np.array([s]))[0])

    def speeds(self, s: Array) -> Array:
        """q' of the joints that have Coulomb friction, passive ones too."""
        q, qp, _ = self.at(s)
        if self.passive is None:
            return qp[:, self.rubbing]
        return self.passive.speeds(q, qp)

    @property
    def turning(self) -> bool:
        """Whether any joint has Coulomb friction."""
        return bool(self.rubbing.any()) or (self.passive is not None and bool(self.passive.dry.any()))

    @property
    def every_row(self) -> Rows:
        """All limits on torque and acceleration."""
        return Rows(self.torque, self.acceleration)

    def names(self, rows: Rows) -> tuple[tuple[str, str], ...]:
        """(joint, limit) of these rows, then of the velocity limits."""
        joints = self.arm.joint_names
        listed = (("effort", rows.torque), ("acceleration", rows.acceleration), ("velocity", self.velocity))
        return tuple((joints[j], kind) for kind, which in listed for j in which)


@dataclass(frozen=True)
class Passive:
    """Friction of a closed chain's passive joints: their F_v, and which joints of the tree have Coulomb friction."""

    arm: Arm
    viscous: Array
    dry: NDArray[np.bool_]
    rubbing: NDArray[np.bool_]

    def speeds(self, q: Array, qp: Array) -> Array:
        """q' of all joints that have Coulomb friction."""
        return self._followed(q, qp)[1][:, self.rubbing]

    def _followed(self, q: Array, qp: Array) -> tuple[Array, Array]:
        """(Γ, Γ q'); what only trembles stands still."""
        Gamma = self.arm.closure_jacobian(q)  # type: ignore[attr-defined]
        v = (Gamma @ qp[..., None])[..., 0]
        return Gamma, np.where(np.abs(v) > 1e-12 * np.abs(v).max(), v, 0.0)

    def torques(self, path: LimitedPath, q: Array, qp: Array) -> Rubbing:
        """What they bring to the actuated joints at ṡ = 1."""
        viscous, dry = friction_along(self.arm, q, qp)
        Gamma, v = self._followed(q, qp)
        bodies = self.arm.mechanism.tree.bodies
        forward, backward = np.array([body.coulomb for body in bodies], float).T
        mine = [i for i in range(len(bodies)) if i not in self.arm.mechanism.actuated]
        return Rubbing(
            viscous - path.F_v * qp, dry - coulomb(qp, path.forward, path.backward),
            Gamma[:, mine], coulomb(v, forward, backward)[:, mine],
        )  # fmt: skip


@dataclass(frozen=True)
class Rubbing:
    """Friction of passive joints at P points of a path, at ṡ = 1, as the actuated joints feel it.

    viscous, dry   (P, n) Γᵀ F_v Γ q' and Γᵀ F_s sgn(Γ q')
    Gamma, levels  (P, passive, n) and (P, passive): Γ, and F_s sgn(Γ q') of each joint
    """

    viscous: Array
    dry: Array
    Gamma: Array
    levels: Array


def _passive_friction(arm: Arm) -> Passive | None:
    if not arm.robot.loops:
        return None
    bodies, actuated = arm.mechanism.tree.bodies, arm.mechanism.actuated
    passive = np.array([i not in actuated for i in range(len(bodies))])
    rubs = np.array([any(body.coulomb) for body in bodies])
    viscous = np.array([float(body.viscous) for body in bodies])
    if not (passive & (rubs | (viscous > 0))).any():
        return None
    return Passive(arm, viscous[passive], rubs[passive], rubs)


@dataclass(frozen=True)
class Rows:
    """Limits on torque and acceleration, by the joints they are on."""

    torque: Indices
    acceleration: Indices

    def __len__(self) -> int:
        return len(self.torque) + len(self.acceleration)

    def split(self, chosen: NDArray[np.bool_]) -> tuple[Rows, Rows]:
        """The chosen rows, and the others."""
        k = len(self.torque)
        return (
            Rows(self.torque[chosen[:k]], self.acceleration[chosen[k:]]),
            Rows(self.torque[~chosen[:k]], self.acceleration[~chosen[k:]]),
        )


# -- the grid ------------------------------------------------------------------------------------


def even_grid(path: LimitedPath, count: int) -> Array:
    """Grid points: every knot, the points where a joint with Coulomb friction turns, and even steps between.

    The steps are even in a mean of the parameter and the distance travelled, so that no part of the path is passed in
    a few of them, however its parameter came about.
    """
    r = np.unique(np.append(np.linspace(0.0, path.length, LOOKS), path.knots))
    speed = np.sqrt(np.square(path.at(r)[1]).sum(axis=1))
    way = np.concatenate([[0.0], np.cumsum(0.5 * (speed[:-1] + speed[1:]) * np.diff(r))])
    share = (1.0 - BY_DISTANCE) * r / path.length + BY_DISTANCE * way / way[-1]
    marks = np.interp(np.concatenate([[0.0], path.knots, [path.length]]), r, share)
    pieces = np.maximum(2, np.ceil(count * np.diff(marks) - 1e-9)).astype(int)
    steps = [a + (b - a) * np.arange(k) / k for a, b, k in zip(marks[:-1], marks[1:], pieces, strict=True)]
    s: Array = np.append(np.interp(np.concatenate(steps), share, r), path.length)
    s[np.cumsum(pieces[:-1])] = path.knots  # to the last digit
    if path.turning or path.move.rough:
        s = _finer_at_ends(path, s)
    return _with_turns(path, s) if path.turning else s


def _finer_at_ends(path: LimitedPath, s: Array) -> Array:
    """The grid with 16 graded intervals for 4 even ones at both ends.

    Coulomb friction acts on one side of rest and not at rest, and q'' may begin like a root.
    """
    if len(s) < 10 or np.isin(s[[1, 2, 3, -4, -3, -2]], path.knots).any():
        return s
    graded = np.square(np.arange(1, 16) / 16.0)
    return np.concatenate(
        [s[:1], s[0] + (s[4] - s[0]) * graded, s[4:-4], (s[-1] - (s[-1] - s[-5]) * graded)[::-1], s[-1:]]
    )


def _with_turns(path: LimitedPath, s: Array) -> Array:
    """The grid with the points added at which a joint with Coulomb friction turns round."""
    speed = path.speeds(s)
    scale = np.abs(speed).max(axis=0)
    where, joint = np.nonzero((speed[:-1] * speed[1:] < 0) & (scale > 0))
    if not len(where):
        return s
    low, high = s[where].copy(), s[where + 1].copy()
    rising = speed[where + 1, joint] > 0
    for _ in range(45):
        middle = 0.5 * (low + high)
        after = (path.speeds(middle)[np.arange(len(joint)), joint] > 0) == rising
        low, high = np.where(after, low, middle), np.where(after, middle, high)
        if np.all(high - low < path.tiny):
            break
    turns = np.unique(high + (path.tiny if path.passive is None else 100.0 * path.tiny))  # where its sign is clear
    turns = turns[np.diff(turns, prepend=-np.inf) > 1e-9 * path.length]
    # a turn takes the place of an even grid point that is too near
    fixed = np.concatenate([[0.0], path.knots, [path.length]])
    index = np.searchsorted(s, turns)
    step = np.minimum(s[np.minimum(index, len(s) - 1)] - s[index - 1], path.length)
    gap = np.abs(s[None, :] - turns[:, None]) < 0.2 * step[:, None]
    free = ~np.isin(s, fixed)
    kept = s[~(gap.any(axis=0) & free)]
    turns = turns[np.abs(turns[:, None] - fixed).min(axis=1) > 1e-9 * path.length]
    return np.unique(np.concatenate([kept, turns]))


@dataclass(frozen=True)
class PathSamples:
    """The path and the arm at all points of a grid: its N + 1 points, left of its knots, and N middles.

    where   (N, 3) the points of each interval: left end, middle, right end
    g, m, c torques of the arm: at rest, for q̈ = q' at rest, and for q̇ = q', q̈ = q''
    passive friction of passive joints, where a closed chain has some
    still   (n,) joints that only tremble; smooth (N,) no knot and no turn at the next grid point
    """

    s: Array
    where: Indices
    g: Array
    m: Array
    c: Array
    qp: Array
    qpp: Array
    still: NDArray[np.bool_]
    smooth: NDArray[np.bool_]
    passive: Rubbing | None = None


def sample(path: LimitedPath, s: Array) -> PathSamples:
    """One call of the path and three of inverse dynamics for everything."""
    N = len(s) - 1
    at_knot = np.zeros(N + 1, bool)
    at_knot[np.searchsorted(s, path.knots)] = True
    knots = np.flatnonzero(at_knot)
    where = np.empty((N, 3), np.intp)
    where[:, 0] = np.arange(N)
    where[:, 1] = np.arange(N + 1 + len(knots), 2 * N + 1 + len(knots))
    where[:, 2] = np.arange(1, N + 1)
    where[knots - 1, 2] = np.arange(N + 1, N + 1 + len(knots))
    points = np.concatenate([s, s[knots] - path.tiny, 0.5 * (s[:-1] + s[1:])])
    points[knots] += path.tiny
    q, qp, qpp = path.at(points)
    g = m = c = q
    if len(path.torque):
        rest = np.zeros_like(q)
        g = path.inverse_dynamics(q, rest, rest)
        m = path.inverse_dynamics(q, rest, qp)
        c = path.inverse_dynamics(q, qp, qpp)
    still, smooth = np.zeros(path.arm.n, bool), ~at_knot[1:]
    if path.turning:
        at = where[:, 1]
        ways = np.sign(qp[at][:, path.rubbing] if path.passive is None else path.passive.speeds(q[at], qp[at]))
        smooth[:-1] &= (ways[:-1] == ways[1:]).all(axis=1)
        size = np.abs(qp).max(axis=0)
        still = path.rubbing & (size > 0) & (size < 1e-12 * float(size.max()))
    passive = None if path.passive is None else path.passive.torques(path, q, qp)
    return PathSamples(s, where, g, m, c, qp, qpp, still, smooth, passive)


# -- the limits on it ------------------------------------------------------------------------------


@dataclass
class PathProblem:
    """Some limits on N intervals, as the passes take them; J rows.

    D       (N, 3, 4, J) m, c, v, k over the limit, at the left end, the middle and the right end
    floor   (J,) an |m| that is as good as none
    speed   (N, 3, n_v) |q'| over the velocity limit
    x_most  (N+1,) what velocity limits allow
    """

    s: Array
    h: Array
    rows: Rows
    D: Array
    floor: Array
    speed: Array
    x_most: Array
    smooth: NDArray[np.bool_]


def problem(path: LimitedPath, at: PathSamples, rows: Rows, cap: float = 1e200, every: int = 1) -> PathProblem:
    """These rows on the grid, or on a coarser one that takes ``every`` so many intervals together."""
    from dalembert.trajectory import passes

    s, where, smooth = at.s, at.where, at.smooth
    if every > 1:
        points = np.unique(np.append(np.arange(0, len(s), every), len(s) - 1))
        left, right = points[:-1], points[1:]
        inner = np.where(right - left > 1, where[(left + right) // 2, 0], where[left, 1])
        where = np.stack([where[left, 0], inner, where[right - 1, 2]], axis=1)
        s, smooth = s[points], smooth[right - 1]
    N, J, keep = len(s) - 1, len(rows), path.keep
    D, speed, largest = np.empty((N, 3, 4, J)), np.empty((N, 3, len(path.velocity))), np.empty((4, J))
    x_most = np.full(N + 1, cap)
    rests = np.zeros(N, bool)
    rests[[0, -1]] = True
    if path.turning:
        smooth = smooth.copy()
        smooth[:-1] &= rests[:-1] == rests[1:]
    # a joint that only trembles may rub either way
    effort = keep.effort - np.where(at.still, np.maximum(path.forward, path.backward), 0.0)
    passes.assemble(
        where, at.g, at.m, at.c, at.qp, at.qpp, path.F_v, path.forward, path.backward, at.still, rests,
        effort, keep.acceleration, keep.velocity, rows.torque, rows.acceleration, path.velocity,
        D, speed, largest, x_most,
    )  # fmt: skip
    if at.passive is not None and len(rows.torque):
        _add_passive(path, at, where, rests, rows.torque, effort, D, largest)
    floor = 1e-9 * np.maximum(largest[0], largest[1] * path.length)
    fixed = np.flatnonzero((floor == 0) & (largest[3] > 1.0))
    if len(fixed):  # a load that no timing changes
        j = int(fixed[0])
        i = int(np.abs(D[:, 0, 3, j]).argmax())
        raise too_heavy(path, int(rows.torque[j]), float(s[i]), float(D[i, 0, 3, j]))
    return PathProblem(s, np.diff(s), rows, D, floor, speed, x_most, smooth)


def _add_passive(
    path: LimitedPath, at: PathSamples, where: Indices, rests: NDArray[np.bool_], torques: Indices, effort: Array, D: Array, largest: Array
) -> None:  # fmt: skip
    """Friction of passive joints into the rows of torque limits, as ``passes.assemble`` has that of actuated ones."""
    assert at.passive is not None
    scale = 1.0 / effort[torques]
    v, k = at.passive.viscous[:, torques] * scale, at.passive.dry[:, torques] * scale
    own = coulomb(np.where(at.still, 0.0, at.qp), path.forward, path.backward)[:, torques] * scale
    middle = where[:, 1]
    factor = np.where(rests[:, None], 1.0 / np.maximum(1.0 - 0.5 * np.abs(own[middle]), 1e-6), 1.0)  # of assemble
    J = len(torques)
    for side in range(3):
        p = where[:, side]
        D[:, side, 1, :J] -= factor * (v[p] + k[p])  # the torque at q̇ = q' has both in it
        D[:, side, 2, :J] += factor * v[p]
        rub = np.einsum("ikn,ik->in", at.passive.Gamma[p], at.passive.levels[middle])[:, torques] * scale
        half = np.where(rests[:, None], 0.5, 1.0) * factor * rub  # at rest with it and without, as there
        D[:, side, 3, :J] += half
        narrower = 1.0 / np.maximum(1.0 - np.where(rests[:, None], np.abs(half), 0.0), 1e-6)
        D[:, side, :, :J] *= narrower[:, None, :]
    largest[:, :J] = np.abs(D[..., :J]).max(axis=(0, 1))


def too_heavy(path: LimitedPath, joint: int, s: float, share: float) -> LimitError:
    """Gravity alone is more than a joint can hold."""
    name, limit = path.arm.joint_names[joint], float(path.keep.effort[joint])
    dry = path.rubbing[joint] or (path.passive is not None and path.passive.dry.any())
    rubs = "and Coulomb friction alone take" if dry else "alone takes"
    time = path.time(s)
    return LimitError(
        f"gravity {rubs} {share * limit:.6g} of joint '{name}' at t = {time:.4g} s of the motion, and its effort limit is "
        f"{limit:.6g}: no timing helps, so change the path, the payload or the limit",
        joint=name,
        time=time,
    )


class TooRough(DalembertError):
    """A path that turns faster than the grid can follow."""


def stuck(path: LimitedPath, on: PathProblem, status: int) -> DalembertError:
    """The sentence for a path that cannot be followed: the joint and where.

    Where rest is possible all along the path, so is a motion that is slow enough: then the grid is to blame.
    """
    i = min(abs(status) - 1, len(on.h) - 1)
    s, k = float(on.s[i]), len(on.rows.torque)
    if np.abs(on.D[:, :, 3, :k]).max(initial=0.0) < 1.0 - 1e-6:
        return TooRough(f"the path is too rough at t = {path.time(s):.4g} s for a grid of {len(on.s)} points")
    load = np.abs(on.D[max(0, i - 1) : i + 2, :, 3, :k])
    if load.size and load.max() > 1.0:
        where = np.unravel_index(int(load.argmax()), load.shape)
        return too_heavy(path, int(on.rows.torque[where[2]]), s, float(load.max()))
    # the two rows that contradict each other at rest
    names = path.names(on.rows)
    m, load = on.D[i, 0, 0], on.D[i, 0, 3]
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(m > 0, (-1 - load) / m, np.where(m < 0, (1 - load) / m, -np.inf))
        high = np.where(m > 0, (1 - load) / m, np.where(m < 0, (-1 - load) / m, np.inf))
    pair = sorted({names[int(np.argmax(low))], names[int(np.argmin(high))]})
    said = " and ".join(f"the {kind} limit of joint '{joint}'" for joint, kind in pair)
    time = path.time(s)
    return LimitError(
        f"no timing brings the motion past t = {time:.4g} s: {said} leave{'' if len(pair) > 1 else 's'} no speed there "
        "from which it can go on",
        joint=pair[0][0],
        kind=pair[0][1],
        time=time,
    )
