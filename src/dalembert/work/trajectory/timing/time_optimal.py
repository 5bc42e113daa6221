"""The fastest timing of a path under torque, velocity and acceleration limits, friction included.

A motion is a sequence of moves from rest to rest (:mod:`dalembert.work.trajectory.timing.moves`). The path q(s) of each
move is assigned a timing s(t), under limits that are rows in s̈ and ṡ² (:mod:`dalembert.work.trajectory.timing.path_limits`).
The passes of :mod:`dalembert.work.trajectory.timing.reachable_sets` find the fastest ṡ(s) on a grid; this module repeats
them until no limit is exceeded between the grid points either.
docs/scaling.md explains the method.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array, number
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError, LimitError
from dalembert.work.trajectory.planning.events import events_at, instants_of, snapped
from dalembert.work.trajectory.planning.limits import JointLimits, LimitsLike, check_terms, joint_limits
from dalembert.work.trajectory.planning.trajectory import Trajectory
from dalembert.work.trajectory.timing.interval_checks import Checked, check
from dalembert.work.trajectory.timing.moves import Move, Stop
from dalembert.work.trajectory.timing.path_functions import law as timing_law
from dalembert.work.trajectory.timing.path_limits import (
    LimitedPath,
    TooRough,
    coarser,
    even_grid,
    problem,
    stuck,
)
from dalembert.work.trajectory.timing.reachable_sets import Passing, PathLimits
from dalembert.work.trajectory.timing.refinement import repeat
from dalembert.work.trajectory.timing.smoothing import smoothed

ALLOWED = 7e-7  # largest excess over a limit anywhere, as a share of it
TOO_ROUGH = 2e-2  # uncertainty of a limit share above which the grid is refined
HOPELESS = 0.1  # excess, as a share of the limit, that rules out success if it persists after two refinements
CONVERGED = 0.015  # by how much the coarse solution may be slower: the error of the grid itself is then below 1e-3
ROUNDS = 16  # of the passes on one grid
REFINEMENTS = 6  # of the grid, where it is too coarse
EVERY = 8  # intervals merged for the coarse solution
CLOSE_BY = np.array([0.003, 0.03, 0.12, 0.3, 0.5, 0.7, 0.88, 0.97, 0.997])  # of an interval: check points near the ends
SMOOTHING = (1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4)  # of the joint range: tolerances for a path that is too rough
SAMPLED = 50  # number of knots above which a path counts as sampled
WORTH = 5e-4  # of the duration: minimum gain for which such a path is smoothed
SAME_GRID_POINT = 1e-9  # of the duration: an event this close to a grid point takes place at it
FEWEST = 100  # intervals of a short move among longer ones
FRICTION_SHARES = (0.02, 0.1, 0.5, 2.0)  # of a limit: initial speeds, given by the viscous friction they cause


@dataclass(frozen=True)
class Active:
    """An interval of the motion in which one limit is active, from ``start`` to ``end`` (s, in the new time).

    ``limit`` is "effort", "velocity" or "acceleration"; "dwell", without a joint, where the motion is at rest.
    """

    start: float
    end: float
    joint: str
    limit: str


@record
class TimeOptimalReport:
    """Report on :meth:`Trajectory.time_optimal`.

    duration, duration_before   in s
    s, t                 (N+1,) the grid in the time of the original motion and of the new one
    path                 (N+1,) path parameter at the grid points, in which the path leaves rest quadratically
    path_velocity        (N+1,) its rate; path_acceleration (N, 2), its second derivative at both ends of each interval,
                         linear between them
    largest_share        largest share of any limit used anywhere: at most 1 + 1e-6
    active               the active limits, as :class:`Active` intervals
    stops                stops that the path requires, as :class:`Stop`: corners of the path, and dwells
    smoothing            largest distance of the new path from the original one (rad, m): 0 unless the latter was too
                         rough, for instance because positions were rounded to a few decimals
    rounds, refinements  number of rounds of the passes, and of refinements of the grid
    """

    duration: float
    duration_before: float
    t: Array
    largest_share: float
    stops: tuple[Stop, ...]
    smoothing: float
    rounds: int
    refinements: int
    _timed: _Timed = field(repr=False)

    @cached_property
    def s(self) -> Array:
        """The grid in the time of the original motion."""
        return np.concatenate([profile.path.move.given_time(profile.on.s) for profile in self._timed.profiles])

    def new_time(self, t: Array) -> Array:
        """Times at which the new motion is where the original one is at the times t; dwells are traversed uniformly."""
        was = np.concatenate([[0.0], self.s, [self.duration_before]])
        now = np.concatenate([[0.0], self.t, [self.duration]])
        return np.asarray(np.interp(t, was, now))

    @cached_property
    def path(self) -> Array:
        """Path parameter at the grid points."""
        begins = np.cumsum([0.0, *(profile.path.length for profile in self._timed.profiles)])
        return np.concatenate([a + profile.on.s for a, profile in zip(begins, self._timed.profiles, strict=False)])

    @cached_property
    def path_velocity(self) -> Array:
        """ṡ at the grid points."""
        return np.concatenate([np.sqrt(profile.to.x) for profile in self._timed.profiles])

    @cached_property
    def path_acceleration(self) -> Array:
        """s̈ at both ends of each interval."""
        joint = np.zeros((1, 2))  # between two moves
        return np.concatenate([part for profile in self._timed.profiles for part in (profile.to.u, joint)][:-1])

    @cached_property
    def active(self) -> tuple[Active, ...]:
        """The intervals in order of time."""
        stretches: list[Active] = []
        for profile, begin in zip(self._timed.profiles, self._timed.begins, strict=True):
            t, shares, names = begin + profile.to.t, profile.shares, profile.path.names
            before = stretches[-1].end if stretches else 0.0
            if t[0] > before:
                stretches.append(Active(before, float(t[0]), "", "dwell"))
            row = shares.argmax(axis=1)
            edges = [0, *(np.flatnonzero(np.diff(row)) + 1), len(row)]
            stretches += [Active(float(t[a]), float(t[b]), *names[row[a]]) for a, b in pairwise(edges)]
        if stretches[-1].end < self.duration:
            stretches.append(Active(stretches[-1].end, self.duration, "", "dwell"))
        return tuple(stretches)

    def __str__(self) -> str:
        sentence = f"from {self.duration_before:.6g} s to {self.duration:.6g} s on {len(self.s)} grid points"
        corners = [stop for stop in self.stops if not stop.dwell]
        if corners:
            first = f"{corners[0].reason} at t = {corners[0].time:.4g} s of the motion"
            more = f" and {len(corners) - 1} more" if len(corners) > 1 else ""
            sentence += f"; the path requires {'stops' if more else 'a stop'}: {first}{more}"
        if self.smoothing > 1e-9:
            sentence += f"; the path was too rough and was smoothed by at most {self.smoothing:.1e} rad or m"
        return sentence


def time_optimal(
    motion: Trajectory, arm: Arm, limits: LimitsLike = None, grid: int = 1000, duration: float | None = None
) -> Trajectory:
    """See :meth:`Trajectory.time_optimal`."""
    motion.fits(arm)
    keep = joint_limits(arm, limits)
    if np.isfinite(keep.effort).any():
        check_terms(arm, "time_optimal")
    if not (isinstance(grid, int) and grid >= 2):
        raise DalembertError(f"grid is {grid!r}; it must be an integer number of intervals, at least 2")
    wanted = None if duration is None else number("duration", duration)
    moves, stops = motion.moves
    whole = sum(move.length for move in moves)
    best: list[_Profile] = []
    smoothing = 0.0
    for move in moves:
        intervals = max(min(grid, FEWEST), round(grid * move.length / whole))
        profiles, away = _follow(move, arm, keep, intervals)
        best, smoothing = best + profiles, max(smoothing, away)
    if wanted is not None:
        best = _as_slow_as(best, wanted, sum(stop.dwell for stop in stops))
    return _trajectory(motion, best, stops, smoothing)


def _follow(move: Move, arm: Arm, keep: JointLimits, intervals: int) -> tuple[list[_Profile], float]:
    """The fastest profile along a move, which is smoothed as little as necessary if it is too rough.

    A path known from samples is also smoothed, by 1e-7 of its range, if that makes it faster: between
    samples, a jump of the acceleration leaves ripples that no grid can resolve at high speed.
    """
    loads, rough = move.motion.loads, None
    path, exact = LimitedPath(move, arm, keep, loads), list[_Profile]()
    try:
        exact = [_solve(path, even_grid(path, intervals), np.inf)]
        if len(move.knots) < SAMPLED:
            return exact, 0.0
    except TooRough as error:
        rough = error
    slowest = (1.0 - WORTH) * exact[0].duration if exact else np.inf
    size = float(np.ptp(move.at(np.linspace(0.0, move.length, 101))[0], axis=0).max())
    for tolerance in SMOOTHING if rough else SMOOTHING[:1]:
        parts, away = smoothed(move, tolerance * size, loads.edges)
        smooth = [LimitedPath(part, arm, keep, loads) for part in parts]
        counts = [max(FEWEST, round(intervals * part.length / sum(x.length for x in smooth))) for part in smooth]
        try:
            profiles = [_solve(path, even_grid(path, n), np.inf) for path, n in zip(smooth, counts, strict=True)]
        except TooRough:
            continue
        if sum(profile.duration for profile in profiles) < slowest:
            return profiles, away
    if rough:
        raise rough
    return exact, 0.0


# -- rounds of the passes ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Profile:
    """A timing along a path, as it was checked."""

    path: LimitedPath
    on: PathLimits
    refinements: int
    to: Checked

    @property
    def duration(self) -> float:
        return float(self.to.t[-1])

    @property
    def worst(self) -> float:
        """Largest excess over any limit."""
        return max(float(self.to.over.max()), float(self.to.fast.max()))

    @property
    def coarse(self) -> NDArray[np.bool_]:
        """Intervals on which the grid is too coarse."""
        return (self.to.blur > TOO_ROUGH) | (self.to.over > ALLOWED) | (self.to.fast > ALLOWED)

    @property
    def shares(self) -> Array:
        """The largest share of every limit on each interval."""
        ends = np.sqrt(np.stack([self.to.x[:-1], self.to.x[1:]], axis=1))[:, :, None]
        speeds = (self.on.speed[self.on.where[:, ::2], : self.path.arm.n] * ends).max(axis=1)
        return np.concatenate([self.to.near[:, : self.path.rows], speeds], axis=1)


def _look_closer_at_the_ends(path: LimitedPath, on: PathLimits, to: Checked) -> None:
    """Check the limits densely at both ends, where q'' may start like a square root; raises ``over``."""
    h, x, u, over, N = on.h, to.x, to.u, to.over, len(on.h)
    i = np.unique(np.clip([0, 1, 2, N - 3, N - 2, N - 1], 0, N - 1))
    d = h[i, None] * CLOSE_BY
    bend = ((u[i, 1] - u[i, 0]) / h[i])[:, None]
    sd2 = np.maximum(x[i, None] + (2.0 * u[i, :1] + bend * d) * d, 0.0).ravel()[:, None]
    sdd = (u[i, :1] + bend * d).ravel()[:, None]
    at = (on.s[i, None] + d).ravel()
    q, qp, qpp = path.at(at)
    qdd = qp * sdd + qpp * sd2
    shares = (np.abs(qdd) / path.keep.acceleration).max(axis=1)
    if path.pushes:
        (torque,) = path.torques(at, q, (qp * np.sqrt(sd2), qdd))
        shares = np.maximum(shares, (np.abs(torque) / path.keep.effort).max(axis=1))
    over[i] = np.maximum(over[i], shares.reshape(len(i), -1).max(axis=1) - 1.0)


def _solve(path: LimitedPath, s: Array, cap: float) -> _Profile:
    """The fastest profile with ṡ ≤ cap that satisfies its limits everywhere."""
    for refinements in range(REFINEMENTS + 1):
        try:
            profile, coarse = _on_grid(path, s, cap, refinements)
        except (LimitError, TooRough):
            if not path.viscous or refinements > 1:
                raise
            coarse = np.ones(len(s) - 1, bool)  # strong friction may require shorter steps
        else:
            if not coarse.any() or refinements == REFINEMENTS or (refinements > 1 and profile.worst > HOPELESS):
                break
        s = np.sort(np.concatenate([s, (0.5 * (s[:-1] + s[1:]))[coarse]]))
    if profile.worst > 1e-6:
        raise TooRough(
            f"the limits are exceeded by a share of {profile.worst:.1e} between the grid points on the finest "
            f"grid tried ({len(s)} points): the path is too rough; give a larger grid"
        )
    return profile


def _on_grid(path: LimitedPath, s: Array, cap: float, refinements: int) -> tuple[_Profile, NDArray[np.bool_]]:
    """The profile on this grid, and the intervals that must be halved before it can be trusted."""
    on = problem(path, s)
    look = coarser(on, EVERY if len(s) > 16 * EVERY else 1)
    top = _top_speed(path, look)
    least, most = 1e-18 * top, min(top, cap * cap)
    on, look = (x._replace(fastest=np.minimum(x.fastest, most), least=least) for x in (on, look))
    seen, _ = _repeated(path, look, 1, refinements, None)
    profile, status = _repeated(path, on, ROUNDS, refinements, seen)
    if profile is None:
        raise stuck(path, on, status)
    slower = seen is None or seen.duration > (1.0 + CONVERGED) * profile.duration
    imprecise = refinements < 2 and slower and len(look.s) < len(s)
    return profile, profile.coarse | imprecise


def _repeated(
    path: LimitedPath, on: PathLimits, rounds: int, refinements: int, seen: _Profile | None
) -> tuple[_Profile | None, int]:
    """A profile from repeated passes, with more margin where a limit was exceeded, and the status of the last pass.

    The first profile that satisfies all limits; the last one if none does; None if there is no profile.
    seen  the solution on a coarser grid, whose limit shares and speeds serve as initial values
    """
    at, N, J = _passing(on), len(on.h), len(on.floor)
    to = Checked(
        np.empty(N + 1), np.empty((N, 2)), np.empty(N + 1), np.zeros((N, J)),
        np.empty(N), np.empty(N), np.empty(N), np.zeros(1, np.int64),
    )  # fmt: skip
    status = 0
    for level in _levels(path, on, seen):
        at.level[:] = level
        if seen is not None:
            to.near[:] = seen.to.near[np.searchsorted(seen.on.s, on.s[:-1], side="right") - 1]
        share = 0.0 if seen is None else 0.8
        first, last = 1, 1 if path.move.rough else rounds
        while True:
            status = repeat(on, at, to, first, last, ALLOWED, share, path.viscous)
            if status or not path.move.rough:
                break
            _look_closer_at_the_ends(path, on, to)
            if last == rounds or max(to.over.max(), to.fast.max()) <= ALLOWED:
                break
            first, last = first + 1, last + 1
        if to.rounds[0]:
            return _Profile(path, on, refinements, to), status
    return None, status


def _passing(limits: PathLimits) -> Passing:
    """Work arrays for the passes."""
    N, J = len(limits.h), len(limits.floor)
    flags = np.zeros((4, N), bool)
    return Passing(
        x=np.empty(N + 1), u=np.empty((N, 2)), K=np.empty((N + 1, 2)), ends=np.empty((N, 2)), rows=np.empty((2, 3, 2 * J)),
        x_most=np.empty(N + 1), room=np.empty(N), slower=np.empty(N), level=np.zeros(N + 1), kind=np.empty(N, np.int64),
        always=flags[0], new=flags[1], dirty=flags[2], moved=flags[3], step=np.empty(N),
    )  # fmt: skip


def _levels(path: LimitedPath, on: PathLimits, seen: _Profile | None) -> Iterator[Array | float]:
    """Where √x is linearised first: at the coarser solution; otherwise slow, where rest is feasible, then faster."""
    if not path.viscous:
        yield 0.0
        return
    if seen is not None:
        yield np.interp(on.s, seen.on.s, seen.to.x)
    where = on.where
    dry = np.abs(on.D[np.append(where[:, 0], where[-1, 2]), 2]).max(axis=1)
    for share in FRICTION_SHARES:
        yield np.square(share / np.maximum(dry, 1e-3 * dry.max()))


def _top_speed(path: LimitedPath, on: PathLimits) -> float:
    """A finite x above all relevant values, for paths on which nothing limits the speed.

    It lies far above the x at which s̈ = ṡ² / length and ṡ² would use up a whole limit at a typical point.
    """
    middle = on.where[:, 1]
    m, c = np.abs(on.D[middle, :2]).transpose(1, 0, 2)
    need = np.maximum((c + m / path.length).max(axis=1), np.square(on.speed[middle].max(axis=1)))
    return float(1e8 / max(np.median(need), 1e-3 * need.max()))


def _as_slow_as(best: list[_Profile], duration: float, dwells: float) -> list[_Profile]:
    """Profiles with the total duration ``duration``: the fastest ones under the cap on ṡ that achieves it."""
    least = sum(profile.duration for profile in best) + dwells
    if not np.isfinite(duration):
        raise DalembertError(f"duration is {duration:g}; it must be a finite number of seconds, at least {least:.6g}")
    if duration < least * (1 - 1e-9):
        raise DalembertError(f"the motion cannot take {duration:g} s: the limits allow no less than {least:.6g} s")
    moving = duration - dwells
    low, high = 0.0, float(np.sqrt(max(profile.to.x.max() for profile in best)))
    cap = sum(profile.path.length for profile in best) / moving
    slow, fast = best, best
    for _ in range(60):
        total = sum(profile.duration for profile in slow)
        if abs(total - moving) <= 1e-9 * duration:
            return slow
        if total < moving:
            fast = slow
        if high - low < 1e-9 * high:
            break
        try:
            slow = [_solve(profile.path, profile.on.s, cap) for profile in best]
        except LimitError:
            raise DalembertError(
                f"the motion cannot take {duration:g} s: at that duration gravity would make it exceed some limit"
            ) from None
        total = sum(profile.duration for profile in slow)
        low, high = (cap, high) if total > moving else (low, cap)
        # the duration is nearly inversely proportional to the cap: step towards it within the bracket
        step = cap * total / moving
        cap = step if low < step < high else 0.5 * (low + high)
    return _between(fast, slow, moving)


def _between(fast: list[_Profile], slow: list[_Profile], moving: float) -> list[_Profile]:
    """Profiles between faster and slower ones on the same grid, with the total duration ``moving``.

    A cap on ṡ that is barely active costs more than it should, by the error of the grid, so just above the minimum
    duration no cap gives the duration. Except for viscous friction, limits are linear in (ṡ², s̈), so an interpolation
    between two profiles that satisfy them satisfies them too.
    """
    if any(len(a.to.x) != len(b.to.x) for a, b in zip(fast, slow, strict=True)):
        return slow
    low, high, mixed = 0.0, 1.0, slow
    for _ in range(60):
        share = 0.5 * (low + high)
        mixed = [_mixed(*profiles, share) for profiles in zip(fast, slow, strict=True)]
        total = sum(profile.duration for profile in mixed)
        if abs(total - moving) <= 1e-9 * moving:
            break
        low, high = (share, high) if total < moving else (low, share)
    return mixed if max(profile.worst for profile in mixed) <= 1e-6 else slow


def _mixed(fast: _Profile, slow: _Profile, share: float) -> _Profile:
    """ṡ² and s̈ with this share of the slower profile, checked like any other profile."""
    at = _passing(slow.on)
    at.x[:], at.u[:] = (1.0 - share) * fast.to.x + share * slow.to.x, (1.0 - share) * fast.to.u + share * slow.to.u
    at.moved[:] = True
    to = Checked._make(map(np.array, slow.to))
    status = check(slow.on, at, to)
    assert status == 0  # both are feasible, and so is everything between them
    if slow.path.move.rough:
        _look_closer_at_the_ends(slow.path, slow.on, to)
    return replace(slow, to=to)


# -- the new motion ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Timed:
    """The moves in sequence, each from its own start time; the arm is at rest between them."""

    profiles: list[_Profile]
    begins: Array  # start time of each move, in the new time
    duration: float

    def __call__(self, time: Array) -> tuple[Array, Array, Array]:
        which = np.clip(np.searchsorted(self.begins, time, side="right") - 1, 0, len(self.profiles) - 1)
        states = np.empty((3, len(time), self.profiles[0].path.arm.n))
        for k in np.unique(which):
            mine = which == k
            states[:, mine] = self._move(int(k), time[mine] - self.begins[k])
        return states[0], states[1], states[2]

    def _move(self, k: int, time: Array) -> tuple[Array, Array, Array]:
        profile = self.profiles[k]
        path, end = profile.path, profile.to.t[-1]
        law = np.empty((3, len(time)))
        within = np.clip(time, 0.0, end)
        # a time that rounding moved off a grid point is taken to be that point: the interval that begins there applies
        point = profile.to.t[np.minimum(np.searchsorted(profile.to.t, within), len(profile.to.t) - 1)]
        within = np.where(point - within <= 4.0 * np.spacing(self.begins[k] + end), point, within)
        timing_law(np.ascontiguousarray(within), profile.to.t, profile.on.s, profile.to.x, profile.to.u, law)
        over = within >= end
        law[0, over] = path.length
        q, qp, qpp = path.at(law[0])
        sd, sdd = law[1][:, None], law[2][:, None]
        qd, qdd = qp * sd, qp * sdd + qpp * sd * sd
        qd[(time <= 0.0) | over] = 0.0  # exactly at rest, since friction distinguishes it from nearly at rest
        last = self.begins[k] + end >= self.duration * (1 - 1e-12)
        # at the final time of the whole motion, the acceleration is that of the segment that ends there
        qdd[(time < 0.0) | ((time > end * (1 + 1e-12)) if last else over)] = 0.0
        return q, qd, qdd


def _trajectory(motion: Trajectory, profiles: list[_Profile], stops: list[Stop], smoothing: float) -> Trajectory:
    begins, now, was = [], 0.0, 0.0
    for profile in profiles:
        now += sum(stop.dwell for stop in stops if was <= stop.time < profile.path.move.start)
        was = profile.path.move.start
        begins.append(now)
        now += profile.duration
    duration = now + sum(stop.dwell for stop in stops if stop.time >= was)
    timed = _Timed(profiles, np.array(begins), duration)
    report = TimeOptimalReport(
        duration=duration,
        duration_before=motion.duration,
        t=np.concatenate([begin + profile.to.t for begin, profile in zip(begins, profiles, strict=True)]),
        largest_share=1.0 + max(profile.worst for profile in profiles),
        stops=tuple(stops),
        smoothing=smoothing,
        rounds=max(int(profile.to.rounds[0]) for profile in profiles),
        refinements=max(profile.refinements for profile in profiles),
        _timed=timed,
    )
    # an event at a grid point, such as a pick at the end of a move, stays at it to the last digit
    near = SAME_GRID_POINT * motion.duration
    events = events_at(motion.events, lambda t: report.new_time(snapped(t, report.s, near)))
    knots = np.concatenate([report.t, instants_of(events)])
    return Trajectory(duration, motion.n, timed, tuple(knots.tolist()), None, report, motion.notes, events)
