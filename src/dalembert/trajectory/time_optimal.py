"""The fastest timing of a path under torque, velocity and acceleration limits, friction included.

A motion q(s), with its own time s as the path's parameter, is given a new timing s(t). S (7.122) with
friction reads, along the path,

    τ = m s̈ + c ṡ² + v ṡ + k,    m = B q',  c = B q'' + C q',  v = F_v q',  k = g + F_s sgn(q'),

and q̈ = q' s̈ + q'' ṡ². The passes of :mod:`dalembert.trajectory.passes` find the fastest ṡ(s); this
module lays the grid, asks the arm's compiled inverse dynamics for m, c and k, and repeats the passes
until no limit is exceeded between the grid points either. docs/scaling.md tells why it works.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.trajectory.limits import JointLimits, LimitError, LimitsLike, joint_limits
from dalembert.trajectory.scaling import coulomb, friction_of
from dalembert.trajectory.trajectory import Trajectory

Array = NDArray[np.floating[Any]]

ALLOWED = 4e-7  # a limit may be exceeded by this share of it, anywhere
PARTS = 4  # each interval is looked at in this many parts
ROUNDS = 12  # of the passes on one grid
SAMPLED = 101  # grid points at which the maximum velocity curve is looked at for a scale
REFINEMENTS = 6  # of the grid, where it is too coarse
AT_REST = 1e-9  # q' below this share of its largest is rest


@dataclass(frozen=True)
class Active:
    """A stretch of the path on which one limit decides: from, to (s, in the new time)."""

    start: float
    end: float
    joint: str
    limit: str


@dataclass(frozen=True)
class TimeOptimalReport:
    """What :meth:`Trajectory.time_optimal` found.

    duration, duration_before   in s
    s, t                 (N+1,) the grid: time in the motion as it was, and in the new one
    path_velocity        (N+1,) ṡ; path_acceleration (N, 2): s̈ at both ends of each interval, linear between
    largest_share        the largest share of any limit taken anywhere: at most 1 + 1e-6
    active               which limit decides where, as :class:`Active` stretches
    rounds, refinements  how often the passes ran, and the grid was made finer
    """

    duration: float
    duration_before: float
    s: Array
    t: Array
    path_velocity: Array
    path_acceleration: Array
    largest_share: float
    rounds: int
    refinements: int
    _shares: Array = field(repr=False)
    _names: tuple[tuple[str, str], ...] = field(repr=False)

    @cached_property
    def active(self) -> tuple[Active, ...]:
        """The stretches, in order of time."""
        row = self._shares.argmax(axis=1)
        edges = np.flatnonzero(np.diff(row)) + 1
        starts, ends = np.concatenate([[0], edges]), np.concatenate([edges, [len(row)]])
        return tuple(
            Active(float(self.t[a]), float(self.t[b]), *self._names[row[a]]) for a, b in zip(starts, ends, strict=True)
        )

    def __str__(self) -> str:
        return f"from {self.duration_before:.6g} s to {self.duration:.6g} s on {len(self.s)} grid points"


def time_optimal(
    motion: Trajectory, arm: Arm, limits: LimitsLike = None, grid: int = 1000, duration: float | None = None
) -> Trajectory:
    """See :meth:`Trajectory.time_optimal`."""
    keep = joint_limits(arm, limits)
    motion.fits(arm)
    if not (isinstance(grid, int) and grid >= 2):
        raise DalembertError(f"grid is {grid!r}; it must be a whole number of intervals, at least 2")
    path = _Path(motion, arm, keep)
    best = _solve(path, _grid(path, grid), np.inf)
    if duration is not None:
        best = _as_slow_as(path, best, float(duration))
    return _trajectory(path, best)


# -- the path ----------------------------------------------------------------------------------


class _Path:
    """What the passes need to know of a motion: its limits as rows m u + c x + v √x + k."""

    def __init__(self, motion: Trajectory, arm: Arm, keep: JointLimits) -> None:
        self.motion, self.arm, self.keep = motion, arm, keep
        self.length = motion.duration
        self.tiny = 1e-12 * self.length
        self.inverse_dynamics = arm.kernel("inverse_dynamics")
        self.F_v, self.forward, self.backward = friction_of(arm)
        self.torque = np.flatnonzero(np.isfinite(keep.effort))
        self.acceleration = np.flatnonzero(np.isfinite(keep.acceleration))
        self.velocity = np.flatnonzero(np.isfinite(keep.velocity))
        self.rubbing = (self.forward > 0) | (self.backward > 0)
        self.viscous = bool((self.F_v[self.torque] > 0).any())
        names = arm.joint_names
        self.names = tuple(
            [(names[j], "effort") for j in self.torque]
            + [(names[j], "acceleration") for j in self.acceleration]
            + [(names[j], "velocity") for j in self.velocity]
        )
        inner = [k for k in motion.knots if self.tiny < k < self.length - self.tiny]
        self.knots = np.unique(np.array(inner, float))

    def at(self, s: Array) -> tuple[Array, Array, Array]:
        """q, q', q''."""
        q, qd, qdd = self.motion.evaluate(s)
        return np.asarray(q, float), np.asarray(qd, float), np.asarray(qdd, float)


@dataclass
class _Grid:
    """A grid on the path with the coefficients of every limit on it; N intervals, J rows.

    D       (N, 3, 4, J) at the left end, the middle and the right end of each interval
    floor   (J,) an |m| that is as good as none
    speed   (N, 3, n_v) |q'| over the velocity limit
    x_most  (N+1,) what velocity limits and stops allow
    smooth  (N,) whether the path runs on without a knot into the next interval
    """

    s: Array
    h: Array
    D: Array
    floor: Array
    speed: Array
    x_most: Array
    smooth: NDArray[np.bool_]


def _grid(path: _Path, count: int) -> Array:
    """Grid points: every knot, the points where a joint with Coulomb friction turns, and even steps between."""
    marks = np.concatenate([[0.0], path.knots, [path.length]])
    pieces = np.maximum(2, np.ceil(count * np.diff(marks) / path.length - 1e-9)).astype(int)
    if len(pieces) == 1:
        s = np.linspace(0.0, path.length, pieces[0] + 1)
    else:
        s = np.concatenate(
            [a + (b - a) * np.arange(k) / k for a, b, k in zip(marks[:-1], marks[1:], pieces, strict=True)]
            + [[path.length]]
        )
    if path.rubbing.any():
        s = _with_turns(path, s)
    return s


def _with_turns(path: _Path, s: Array) -> Array:
    """The grid with the points added at which a joint with Coulomb friction turns round."""
    speed = path.at(s)[1][:, path.rubbing]
    scale = np.abs(speed).max(axis=0)
    where, joint = np.nonzero((speed[:-1] * speed[1:] < 0) & (scale > 0))
    if not len(where):
        return s
    low, high = s[where].copy(), s[where + 1].copy()
    rising = speed[where + 1, joint] > 0
    for _ in range(45):
        middle = 0.5 * (low + high)
        after = (path.at(middle)[1][:, path.rubbing][np.arange(len(joint)), joint] > 0) == rising
        low, high = np.where(after, low, middle), np.where(after, middle, high)
        if np.all(high - low < path.tiny):
            break
    turns = np.unique(high + path.tiny)
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


def _coefficients(path: _Path, s: Array) -> _Grid:
    """m, c, v and k of every limit on both ends and in the middle of every interval."""
    from dalembert.trajectory import passes

    N, keep = len(s) - 1, path.keep
    h = np.diff(s)
    # one call of the path and three of inverse dynamics for all of: grid points, left of knots, middles
    right_of = np.arange(N)
    left_of = np.arange(1, N + 1)
    at_knot = np.flatnonzero(np.isin(s, path.knots))
    points = s.copy()
    points[at_knot] += path.tiny
    left_of[at_knot - 1] = N + 1 + np.arange(len(at_knot))
    all_points = np.concatenate([points, s[at_knot] - path.tiny, s[:-1] + 0.5 * h])
    middle = np.arange(len(all_points) - N, len(all_points))
    q, qp, qpp = path.at(all_points)
    size = np.abs(qp).max(axis=0)
    if not size.max() > 0:
        raise DalembertError("the motion never moves, so it has no timing")
    where = np.stack([right_of, middle, left_of], axis=1)  # (N, 3)
    g = m = c = q
    if len(path.torque):
        rest = np.zeros_like(q)
        g = path.inverse_dynamics(q, rest, rest)
        m = path.inverse_dynamics(q, rest, qp)
        c = path.inverse_dynamics(q, qp, qpp)
    # a joint that only trembles may rub either way
    still = path.rubbing & (size > 0) & (size < 1e-12 * float(size.max()))
    effort = keep.effort - np.where(still, np.maximum(path.forward, path.backward), 0.0)
    J = len(path.torque) + len(path.acceleration)
    D, speed, largest = np.empty((N, 3, 4, J)), np.empty((N, 3, len(path.velocity))), np.empty((4, J))
    passes.assemble(
        where, g, m, c, qp, qpp, path.F_v, path.forward, path.backward, still,
        effort, keep.acceleration, keep.velocity, path.torque, path.acceleration, path.velocity, D, speed, largest,
    )  # fmt: skip
    floor = 1e-9 * np.maximum(largest[0], largest[1] * path.length)
    _never_moved(path, D, s, floor, largest[3])
    with np.errstate(divide="ignore"):
        ends = 1.0 / np.square(speed[:, ::2].max(axis=2, initial=0.0))  # (N, 2)
    x_most = np.concatenate([ends[:, 0], [np.inf]])
    x_most[1:] = np.minimum(x_most[1:], ends[:, 1])
    # rest at both ends, and where the path has a corner
    at_rest = AT_REST * float(size.max())
    if np.abs(qp[0]).max() > at_rest:
        x_most[0] = 0.0
    if np.abs(qp[N]).max() > at_rest:
        x_most[N] = 0.0
    if len(at_knot):
        corner = np.abs(qp[at_knot] - qp[N + 1 : N + 1 + len(at_knot)]).max(axis=1) > 1e-6 * float(size.max())
        x_most[at_knot[corner]] = 0.0
    smooth = np.ones(N, bool)
    smooth[at_knot - 1] = False
    return _Grid(s, h, D, floor, speed, x_most, smooth)


def _never_moved(path: _Path, D: Array, s: Array, floor: Array, load: Array) -> None:
    """A row that no timing changes must be within its limit as it is."""
    fixed = np.flatnonzero((floor == 0) & (load > 1.0))
    if len(fixed):
        j = int(fixed[0])
        i = int(np.abs(D[:, 0, 3, j]).argmax())
        raise _too_heavy(path, j, float(s[i]), float(D[i, 0, 3, j]))


def _too_heavy(path: _Path, row: int, s: float, share: float) -> LimitError:
    name, _ = path.names[row]
    limit = float(path.keep.effort[path.torque[row]])
    rubs = "and Coulomb friction alone take" if path.rubbing[path.torque[row]] else "alone takes"
    return LimitError(
        f"gravity {rubs} {share * limit:.6g} of joint '{name}' at t = {s:.4g} s of the motion, and its effort limit is "
        f"{limit:.6g}: no timing helps, so change the path, the payload or the limit",
        joint=name,
        time=s,
    )


# -- the passes, until all is well ------------------------------------------------------------------


@dataclass
class _Profile:
    grid: _Grid
    x: Array
    u: Array
    t: Array
    near: Array  # (N, J) the largest share of each row's limit
    worst: float
    rounds: int
    refinements: int

    @property
    def duration(self) -> float:
        return float(self.t[-1])


def _solve(path: _Path, s: Array, cap: float) -> _Profile:
    """The fastest profile with ṡ ≤ cap, its limits kept everywhere."""
    for refinements in range(REFINEMENTS + 1):
        grid = _coefficients(path, s)
        profile, coarse = _on_grid(path, grid, cap, refinements)
        if not coarse.any() or refinements == REFINEMENTS:
            break
        s = np.sort(np.concatenate([s, (s[:-1] + 0.5 * np.diff(s))[coarse]]))
    if profile.worst > 1e-6:
        raise DalembertError(
            f"the limits are exceeded by {profile.worst:.1e} of themselves between the grid points on the finest "
            f"grid tried ({len(profile.grid.s)} points): the path is too rough; ask for a larger grid"
        )
    return profile


def _on_grid(path: _Path, grid: _Grid, cap: float, refinements: int) -> tuple[_Profile, NDArray[np.bool_]]:
    """The profile on this grid, and the intervals that should be halved before it can be trusted."""
    from dalembert.trajectory import passes

    D, floor, h = grid.D, grid.floor, grid.h
    N, J = len(h), D.shape[3]
    top = _top_speed(grid, passes)
    x_most = np.minimum(grid.x_most, min(top, cap * cap))
    fastest = x_most.copy()
    room, slower = np.zeros(N), np.zeros(N)
    kind = np.zeros(N, np.uint8)
    near, over, fast, blur = np.full((N, J), np.inf), np.empty(N), np.empty(N), np.empty(N)
    level, K, x, u, t = np.ones(N + 1), np.empty((N + 1, 2)), np.empty(N + 1), np.empty((N, 2)), np.empty(N + 1)
    always = np.zeros(N, bool)  # where u stays constant whatever the shares say
    curved = path.viscous
    if curved:
        level = _first_level(path, grid, passes, x_most, top)
    passes.kinds(D, h, near, x_most, kind, 0.0)
    before, found = np.inf, None
    for round_ in range(1, ROUNDS + 1):
        status = passes.solve(D, floor, h, x_most, room, kind, level, curved, K, x, u)
        if status != 0:
            if curved and round_ == 1 and level.max() > 1e-12 * top:
                level = _slower_level(path, grid, passes, x_most, room, kind, level, top, K, x, u)
            elif found is not None:
                break
            else:
                raise _stuck(path, grid, status)
        sharp = passes.safe_between(h, x, u, kind)
        if sharp:
            always |= kind == passes.CONSTANT
            continue
        stuck = passes.times(h, x, u, t)
        if stuck:
            raise _no_motion(path, grid, stuck - 1)
        passes.check(D, grid.speed, h, grid.smooth, x, u, over, fast, near, blur, PARTS)
        worst = max(float(over.max(initial=-1.0)), float(fast.max(initial=-1.0)))
        if worst <= ALLOWED and (found is None or t[-1] < found.duration):
            found = _Profile(grid, x.copy(), u.copy(), t.copy(), near.copy(), worst, round_, refinements)
        gained, before = before - t[-1], float(t[-1])
        if worst <= ALLOWED and round_ > 1 and gained < 1e-7 * t[-1] + (0 if curved else np.inf):
            break
        # keep more room where a limit was exceeded; constant u where a linear one did much harm
        room += np.where(over > 0.5 * ALLOWED, 1.1 * over + 0.25 * ALLOWED, 0.0)
        slower += np.where(fast > 0.5 * ALLOWED, 1.1 * fast + 0.25 * ALLOWED, 0.0)
        always |= (over > 1e-3) & (kind == passes.LINEAR)
        passes.kinds(D, h, near, fastest, kind, 0.8)
        kind[always] = passes.CONSTANT
        x_most = fastest.copy()
        x_most[:-1] *= np.square(1.0 - np.minimum(slower, 0.5))
        x_most[1:] *= np.square(1.0 - np.minimum(slower, 0.5))
        if curved:
            level = np.where(x_most > 0, np.maximum(x, 1e-9 * top), 0.0)
    coarse = blur > 0.5 * ALLOWED
    if found is None:
        coarse = coarse | (over > 0.5 * ALLOWED) | (fast > 0.5 * ALLOWED)
        found = _Profile(grid, x, u, t, near, worst, ROUNDS, refinements)
    return found, coarse


def _top_speed(grid: _Grid, passes: Any) -> float:
    """A finite x above anything that matters, where nothing limits the speed."""
    curve = np.empty(SAMPLED)
    passes.most_speed(grid.D, grid.floor, grid.x_most, 1e200, curve)
    real = curve[(curve > 0) & (curve < 1e199)]
    return float(1e8 * np.median(real)) if len(real) else 1.0


def _first_level(path: _Path, grid: _Grid, passes: Any, x_most: Array, top: float) -> Array:
    """Where to make √x straight at first: the profile without viscous friction, or the speed of the motion."""
    N = len(grid.h)
    D = grid.D.copy()
    D[:, :, 2] = 0.0
    kind = np.ones(N, np.uint8)
    K, x, u = np.empty((N + 1, 2)), np.empty(N + 1), np.empty((N, 2))
    status = passes.solve(D, grid.floor, grid.h, x_most, np.zeros(N), kind, np.ones(N + 1), False, K, x, u)
    level = x if status == 0 else np.minimum(x_most, 1e-8 * top)
    return np.where(x_most > 0, np.maximum(level, 1e-9 * top), 0.0)


def _slower_level(
    path: _Path, grid: _Grid, passes: Any, x_most: Array, room: Array, kind: Array, level: Array, top: float,
    K: Array, x: Array, u: Array,
) -> Array:  # fmt: skip
    """Straightened at a high speed friction may look too strong for rest: try lower ones."""
    status = 1
    for _ in range(30):
        level = 0.25 * level
        status = passes.solve(grid.D, grid.floor, grid.h, x_most, room, kind, level, True, K, x, u)
        if status == 0:
            return level
    raise _stuck(path, grid, status)


def _stuck(path: _Path, grid: _Grid, status: int) -> LimitError:
    """The sentence for a path that cannot be followed: the joint and where."""
    i = min(abs(status) - 1, len(grid.h) - 1)
    torque = len(path.torque)
    window = slice(max(0, i - 1), i + 2)
    load = np.abs(grid.D[window, :, 3, :torque])
    if load.size and load.max() > 1.0:
        _, _, row = np.unravel_index(int(load.argmax()), load.shape)
        return _too_heavy(path, int(row), float(grid.s[i]), float(load.max()))
    # the two rows that contradict each other at rest
    m, c, k = (grid.D[i, 0, f] for f in (0, 1, 3))
    row = int(np.argmax(np.abs(k) + np.abs(c)))
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(m > 0, (-1 - k) / m, np.where(m < 0, (1 - k) / m, -np.inf))
        high = np.where(m > 0, (1 - k) / m, np.where(m < 0, (-1 - k) / m, np.inf))
    pair = {path.names[int(np.argmax(low))], path.names[int(np.argmin(high))]} or {path.names[row]}
    said = " and ".join(f"the {kind} limit of joint '{joint}'" for joint, kind in sorted(pair))
    return LimitError(
        f"no timing brings the motion past t = {grid.s[i]:.4g} s: {said} leave no speed there from which it can go on",
        joint=sorted(pair)[0][0],
        kind=sorted(pair)[0][1],
        time=float(grid.s[i]),
    )


def _no_motion(path: _Path, grid: _Grid, i: int) -> LimitError:
    return _stuck(path, grid, i + 1)


def _as_slow_as(path: _Path, best: _Profile, duration: float) -> _Profile:
    """A profile that takes `duration`: the fastest one whose ṡ stays below the cap that makes it so."""
    if not np.isfinite(duration) or duration < best.duration * (1 - 1e-9):
        raise DalembertError(
            f"the motion cannot take {duration:g} s: the limits allow no less than {best.duration:.6g} s"
        )
    low, high = 0.0, float(np.sqrt(best.x.max()))
    cap = path.length / duration
    slow = best
    for _ in range(60):
        if abs(slow.duration - duration) <= 1e-9 * duration:
            return slow
        try:
            slow = _solve(path, best.grid.s, cap)
        except LimitError:
            raise DalembertError(
                f"the motion cannot take {duration:g} s: gravity makes it keep up its speed, or some limit would be exceeded"
            ) from None
        low, high = (cap, high) if slow.duration > duration else (low, cap)
        # the time is nearly in inverse proportion to the cap: a step towards it, kept inside the bracket
        step = cap * slow.duration / duration
        cap = step if low < step < high else 0.5 * (low + high)
    return slow


def _trajectory(path: _Path, profile: _Profile) -> Trajectory:
    from dalembert.trajectory import passes

    s, x, u, t = profile.grid.s, profile.x, profile.u, profile.t

    def evaluate(time: Array) -> tuple[Array, Array, Array]:
        law = np.empty((3, len(time)))
        passes.at(np.ascontiguousarray(time, float), t, s, x, u, law)
        q, qp, qpp = path.at(law[0])
        sd, sdd = law[1][:, None], law[2][:, None]
        return q, qp * sd, qp * sdd + qpp * sd * sd

    reached = np.sqrt(np.maximum(x[:-1], x[1:]))
    shares = np.concatenate([profile.near, profile.grid.speed.max(axis=1) * reached[:, None]], axis=1)
    report = TimeOptimalReport(
        duration=profile.duration,
        duration_before=path.motion.duration,
        s=s,
        t=t,
        path_velocity=np.sqrt(x),
        path_acceleration=u,
        largest_share=1.0 + profile.worst,
        rounds=profile.rounds,
        refinements=profile.refinements,
        _shares=shares,
        _names=path.names,
    )
    return Trajectory(profile.duration, path.motion.n, evaluate, tuple(t.tolist()), None, report)
