"""A move as a path with limits, the input of the time-optimal passes.

S (7.122) with friction, along the path q(s), reads τ = m s̈ + c ṡ² + v ṡ + k with

    m = B q',  c = B q'' + C(q, q') q',  v = F_v q',  k = g + F_s sgn(q'),

and q̈ = q' s̈ + q'' ṡ². All come from three batches of the arm's compiled inverse dynamics.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.errors import DalembertError, LimitError
from dalembert.work.trajectory.planning.events import LoadTable, carrying
from dalembert.work.trajectory.planning.limits import JointLimits, too_heavy
from dalembert.work.trajectory.timing.moves import Move
from dalembert.work.trajectory.timing.path_functions import PathTerms, assemble
from dalembert.work.trajectory.timing.reachable_sets import PathLimits
from dalembert.work.trajectory.timing.scaling import coulomb, friction_along, friction_of

Indices = NDArray[np.intp]

NEARBY = 2  # intervals: a load this close to where the passes give up is what stops them
LANES = 8  # the number of rows is padded to a multiple of this, for vectorisation


class LimitedPath:
    """A move and its limits as rows m u + c x + v √x + k, as the passes need them; s is the move's r."""

    def __init__(self, move: Move, arm: Arm, keep: JointLimits, loads: LoadTable | None = None) -> None:
        self.move, self.arm, self.keep = move, arm, keep
        self.loads = move.motion.loads if loads is None else loads
        self.length, self.knots, self.at = move.length, move.knots, move.at
        self.tiny = 1e-12 * self.length
        limited = np.isfinite(keep.effort)
        self.pushes = bool(limited.any())
        self.accelerates = bool(np.isfinite(keep.acceleration).any())
        self.rows = (2 if self.accelerates else 1) * arm.n  # torque limits, then acceleration limits
        bodies, actuated = arm.mechanism.tree.bodies, arm.mechanism.actuated
        passive = [body for i, body in enumerate(bodies) if i not in actuated]
        self.dry = np.array([max(map(abs, body.coulomb)) for body in arm.mechanism.bodies], float)
        self.passive_dry = any(any(body.coulomb) for body in passive)
        # the joints whose friction counts: all joints of the tree if passive ones have friction, mapped through Γ
        self.pulled = self.passive_dry or any(body.viscous for body in passive)
        F_v, self.forward, self.backward = friction_of(bodies if self.pulled else arm.mechanism.bodies)
        self.viscous = bool(((F_v if self.pulled else F_v[limited]) != 0).any())
        self.dry_joints = (self.forward != 0) | (self.backward != 0)
        self.turning = bool(self.dry_joints.any())

    def time(self, s: float) -> float:
        """Time at which the original motion passes s."""
        return float(self.move.given_time(np.array([s]))[0])

    def torques(self, s: Array, q: Array, *states: tuple[Array, Array]) -> list[Array]:
        """Inverse dynamics at the path positions s for each of the pairs (q̇, q̈), with the load carried there."""
        if not self.loads:
            return [self.arm.inverse_dynamics(q, *state) for state in states]
        beside = self.tiny / self.length * (self.move.pieces[-1].end - self.move.pieces[0].start)
        begin, end = self.move.given_time(np.array([0.0, self.length]))
        payload, wrench = self.loads.at(np.clip(self.move.given_time(s), begin + 4 * beside, end - 4 * beside))
        model = carrying(self.arm, payload)
        return [model.inverse_dynamics(q, *state, wrench) for state in states]

    def speeds(self, q: Array, qp: Array) -> tuple[Array | None, Array]:
        """Γ (None for the identity) and Γ q', the speeds of the joints whose friction counts.

        Speeds at the level of the rounding error of Γ are set to zero.
        """
        if not self.pulled:
            return None, qp
        Gamma = self.arm.closure_jacobian(q)
        v = (Gamma @ qp[..., None])[..., 0]
        return Gamma, np.where(np.abs(v) > 1e-12 * np.abs(v).max(), v, 0.0)

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """(joint, limit) for the rows of torque and acceleration limits, then for the velocity limits."""
        kinds = ("effort", "acceleration", "velocity") if self.accelerates else ("effort", "velocity")
        return tuple((joint, kind) for kind in kinds for joint in self.arm.joint_names)


# -- the grid ------------------------------------------------------------------------------------


def even_grid(path: LimitedPath, count: int) -> Array:
    """Grid points: every knot, every reversal of a joint with Coulomb friction, and uniform steps between."""
    r, share = path.move.spacing
    marks = np.interp(np.concatenate([[0.0], path.knots, [path.length]]), r, share)
    pieces = np.maximum(2, np.ceil(count * np.diff(marks) - 1e-9)).astype(int)
    steps = [a + (b - a) * np.arange(k) / k for a, b, k in zip(marks[:-1], marks[1:], pieces, strict=True)]
    s: Array = np.append(np.interp(np.concatenate(steps), share, r), path.length)
    s[np.cumsum(pieces[:-1])] = path.knots  # exactly, without rounding
    if path.turning or path.move.rough:
        s = _finer_at_ends(path, s)
    return _with_turns(path, s) if path.turning else s


def _finer_at_ends(path: LimitedPath, s: Array) -> Array:
    """The grid with the 4 uniform intervals at each end replaced by 16 graded ones.

    Coulomb friction acts during motion but not at rest, and q'' may start like a square root.
    """
    if len(s) < 10 or np.isin(s[[1, 2, 3, -4, -3, -2]], path.knots).any():
        return s
    graded = np.square(np.arange(1, 16) / 16.0)
    return np.concatenate(
        [s[:1], s[0] + (s[4] - s[0]) * graded, s[4:-4], (s[-1] - (s[-1] - s[-5]) * graded)[::-1], s[-1:]]
    )


def _with_turns(path: LimitedPath, s: Array) -> Array:
    """The grid with the points added at which a joint with Coulomb friction reverses."""

    def speeds(at: Array) -> Array:
        return path.speeds(*path.at(at)[:2])[1][:, path.dry_joints]

    speed = speeds(s)
    scale = np.abs(speed).max(axis=0)
    where, joint = np.nonzero((speed[:-1] * speed[1:] < 0) & (scale > 0))
    if not len(where):
        return s
    low, high = s[where].copy(), s[where + 1].copy()
    rising = speed[where + 1, joint] > 0
    for _ in range(45):
        middle = 0.5 * (low + high)
        after = (speeds(middle)[np.arange(len(joint)), joint] > 0) == rising
        low, high = np.where(after, low, middle), np.where(after, middle, high)
        if np.all(high - low < path.tiny):
            break
    turns = np.unique(high + (100.0 * path.tiny if path.pulled else path.tiny))  # where the sign is unambiguous
    turns = turns[np.diff(turns, prepend=-np.inf) > 1e-9 * path.length]
    # a reversal replaces a uniform grid point that is too close
    fixed = np.concatenate([[0.0], path.knots, [path.length]])
    index = np.searchsorted(s, turns)
    step = np.minimum(s[np.minimum(index, len(s) - 1)] - s[index - 1], path.length)
    gap = np.abs(s[None, :] - turns[:, None]) < 0.2 * step[:, None]
    free = ~np.isin(s, fixed)
    others = s[~(gap.any(axis=0) & free)]
    turns = turns[np.abs(turns[:, None] - fixed).min(axis=1) > 1e-9 * path.length]
    return np.unique(np.concatenate([others, turns]))


def _points(path: LimitedPath, s: Array) -> tuple[Array, Indices, NDArray[np.bool_]]:
    """All points of a grid: its N + 1 points, the left side of its knots, and N midpoints; those of each interval, (N, 3):
    left end, middle, right end; and which grid points are knots."""
    N = len(s) - 1
    at_knot = np.zeros(N + 1, bool)
    at_knot[np.searchsorted(s, path.knots)] = True
    knots = np.flatnonzero(at_knot)
    where = np.arange(N)[:, None] + np.array([0, N + 1 + len(knots), 1])
    where[knots - 1, 2] = np.arange(N + 1, N + 1 + len(knots))
    points = np.concatenate([s, s[knots] - path.tiny, 0.5 * (s[:-1] + s[1:])])
    points[knots] += path.tiny
    return points, where, at_knot


# -- limits on the grid ----------------------------------------------------------------------------


def problem(path: LimitedPath, s: Array) -> PathLimits:
    """All limits on the grid, from one evaluation of the path and three of inverse dynamics."""
    n, keep = path.arm.n, path.keep
    points, where, at_knot = _points(path, s)
    q, qp, qpp = path.at(points)
    g = m = c = q
    if path.pushes:
        rest = np.zeros(n)
        g, m, c = path.torques(points, q, (rest, rest), (rest, qp), (qp, qpp))
    viscous, dry = friction_along(path.arm, q, qp) if path.viscous or path.turning else np.empty((2, 0, n))
    source, smooth, effort = np.arange(len(points)), ~at_knot[1:], keep.effort
    rub: Array = np.empty((0, n))
    if path.turning:  # each interval has points of its own, with the sign of Coulomb friction at its middle
        Gamma, speeds = path.speeds(q, qp)
        signs = np.sign(speeds[where[:, 1]][:, path.dry_joints])
        smooth[:-1] &= (signs[:-1] == signs[1:]).all(axis=1)
        smooth[[0, -2]] = False  # there is no neighbour beside rest
        size = np.abs(qp).max(axis=0)
        still = (path.dry > 0) & (size > 0) & (size < 1e-12 * float(size.max()))  # moves only by rounding error
        effort = effort - np.where(still, path.dry, 0.0)  # at standstill, Coulomb friction may act either way
        speeds = speeds if path.pulled else np.where(still, 0.0, speeds)
        levels = np.repeat(coulomb(speeds[where[:, 1]], path.forward, path.backward), 3, axis=0)
        source = where.ravel()
        rub = levels if Gamma is None else np.einsum("pbn,pb->pn", Gamma[source], levels)
        where = np.arange(len(source)).reshape(-1, 3)
    P, J, V = len(source), path.rows + -path.rows % LANES, n + -n % LANES
    D, speed, largest = np.zeros((P, 4, J)), np.zeros((P, V)), np.zeros((4, J))
    per = 1.0 / np.stack([effort, keep.acceleration, keep.velocity])
    assemble(
        source, PathTerms(g, m, c, qp, qpp, viscous, dry), rub, path.viscous or path.turning, per, D, speed, largest
    )
    steepest = np.ascontiguousarray(speed.T).max(axis=0)
    floor = 1e-9 * np.maximum(largest[0], largest[1] * path.length)
    fixed = np.flatnonzero((floor == 0) & (largest[3] > 1.0))
    if len(fixed):  # a load that no timing can change
        j = int(fixed[0])
        load = D[where[:, 0], 3, j]
        i = int(np.abs(load).argmax())
        raise _too_heavy(path, j, float(s[i]), float(load[i]))
    ends = np.append(steepest[where[:, 0]], steepest[where[-1, 2]])
    ends[1:] = np.maximum(ends[1:], steepest[where[:, 2]])
    fastest = 1.0 / np.maximum(np.square(ends), 1e-200)
    return PathLimits(s, D, where, floor, speed, np.diff(s), smooth, fastest, 0.0)


def coarser(on: PathLimits, every: int) -> PathLimits:
    """The same limits on a coarser grid that merges ``every`` intervals into one."""
    if every == 1:
        return on
    points = np.append(np.arange(0, len(on.s) - 1, every), len(on.s) - 1)
    left, right, s = points[:-1], points[1:], on.s[points]
    inner = np.where(right - left > 1, on.where[(left + right) // 2, 0], on.where[left, 1])
    where = np.stack([on.where[left, 0], inner, on.where[right - 1, 2]], axis=1)
    return on._replace(s=s, where=where, h=np.diff(s), smooth=on.smooth[right - 1], fastest=on.fastest[points])


def _too_heavy(path: LimitedPath, joint: int, s: float, share: float, no_help: str = "no timing helps") -> LimitError:
    load, has_coulomb = share * path.keep.effort[joint], bool(path.dry[joint]) or path.passive_dry
    return too_heavy(path.arm, path.keep, joint, load, path.time(s), has_coulomb, no_help)


class TooRough(DalembertError):
    """A path that varies faster than the grid can resolve."""


def stuck(path: LimitedPath, on: PathLimits, status: int) -> DalembertError:
    """The error for a path that cannot be followed, with the joint and the time.

    Wherever rest is possible along the whole path, a sufficiently slow motion is too; in that case the grid is at
    fault.
    """
    D, where, k = on.D, on.where, path.arm.n
    i = min(abs(status) - 1, len(where) - 1)
    s = float(on.s[i])
    if np.abs(D[:, 3, :k]).max(initial=0.0) < 1.0 - 1e-6:
        return TooRough(f"the path is too rough at t = {path.time(s):.4g} s for a grid of {len(on.s)} points")
    # the first and the last interval also contain the rows at rest, in their own units
    loads = D[where[1:-1, 1], 3, :k]
    overloaded = 1 + np.flatnonzero((np.abs(loads) > 1.0).any(axis=1))
    time = path.time(s)
    if len(overloaded):
        at = int(overloaded[np.abs(overloaded - i).argmin()])
        joint = int(np.abs(loads[at - 1]).argmax())
        no_help = "no timing helps" if abs(at - i) <= NEARBY else f"no timing leads past t = {time:.4g} s"
        return _too_heavy(path, joint, float(on.s[at]), float(loads[at - 1, joint]), no_help)
    # the two rows that contradict each other at rest
    names = path.names
    m, loads = D[where[i, 0], 0, : path.rows], D[where[i, 0], 3, : path.rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(m > 0, (-1 - loads) / m, np.where(m < 0, (1 - loads) / m, -np.inf))
        high = np.where(m > 0, (1 - loads) / m, np.where(m < 0, (-1 - loads) / m, np.inf))
    pair = sorted({names[int(np.argmax(low))], names[int(np.argmin(high))]})
    limits = " and ".join(f"the {kind} limit of joint '{joint}'" for joint, kind in pair)
    return LimitError(
        f"no timing brings the motion past t = {time:.4g} s: {limits} leave{'' if len(pair) > 1 else 's'} no feasible "
        "speed there from which it could continue",
        joint=pair[0][0],
        kind=pair[0][1],
        time=time,
    )
