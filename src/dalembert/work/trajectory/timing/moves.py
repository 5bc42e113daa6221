"""Decomposition of a motion into moves: segments from rest to rest, each with a regular path parameter.

The original timing of a motion must not affect the fastest timing of its path, but a path q(t) in its own time
is badly parametrised wherever both q̇ and q̈ vanish: at the ends of polynomials of degree 5 and 7, for instance, where
any finite rate of t leaves the arm at rest. A move is therefore described by a parameter r in which the path leaves
every rest like q ≈ q_0 + a r², as a cubic does in time. Where the distance travelled grows like t^k,

    t = r^(2/k),    and between both ends    t = x(r) = r^α / (r^α + (1 − r)^β),    α = 2/k_start,  β = 2/k_end.

For k = 2 (cubics, clamped splines, trapezoidal velocities) r is the motion's own time. Where the motion comes to rest,
or changes its speed, without changing its direction, no stop is needed: there α = 1/k, so that r grows like the distance
itself, and the segments on both sides are stretched until q' is continuous.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import brief, record
from dalembert.errors import DalembertError
from dalembert.work.trajectory.planning.hermite import Hermite
from dalembert.work.trajectory.planning.time_breaks import bisected, segment
from dalembert.work.trajectory.planning.trajectory import Trajectory
from dalembert.work.trajectory.timing.path_functions import hermite

SAMPLES = 513  # times at which a motion is examined, in addition to its knots and the midpoints between them
STILL = 1e-9  # of the largest speed: below this, all joints stand still
RESTING = 1e-16  # of the largest speed: zero speed up to rounding
DWELL = 1e-3  # of the duration: a standstill that lasts longer is a dwell
SHORT_DWELL = 1e-5  # of the duration: the same threshold for a standstill at exactly zero speed, such as that of a hold
NEARLY = 1e-6  # of the duration: distance from the end of a move within which its speed may be lost in rounding
SLOW = 0.05  # of the largest speed: a minimum of the speed below this may be a rest
REST = 1e-6  # of the largest speed: residual speed at a rest
CORNER = 1e-4  # rad: smallest change of direction that requires a stop; also the smallest relevant relative speed jump
TURN = 1e-2  # rad: the same threshold at a rest, where the direction is extrapolated
WIGGLE = 1e-6  # of the joints' range: anything shorter between two stops is noise, not a move
LOOKS = 257  # points at which the path of a move is examined before a grid is built
BY_DISTANCE = 0.3  # weight of the distance travelled in the spacing of the grid
BESIDE = 1e-12  # of a segment: distance from its ends at which derivatives are evaluated


def states(motion: Trajectory, t: Array) -> tuple[Array, Array, Array]:
    """q, q̇ and q̈ (M, n) at the times t (M,)."""
    curve = motion.evaluate
    if not isinstance(curve, Hermite) or len(curve.y) < 2:
        q, qd, qdd = (np.asarray(x, float) for x in curve(t))
        return q, qd, qdd
    out = np.empty((3, len(t), motion.n))
    x, y = np.ascontiguousarray(curve.x), np.ascontiguousarray(curve.y)
    F, F1, F2 = curve.factors
    hermite(t, x, y, F, F1, F2, out)
    return out[0], out[1], out[2]


@brief
@dataclass(frozen=True)
class MovePiece:
    """A segment of a move: t = start + duration x(r / length), with r from 0 to ``length``."""

    start: float
    end: float
    alpha: float
    beta: float
    length: float

    @property
    def duration(self) -> float:
        return self.end - self.start

    @property
    def plain(self) -> bool:
        """Whether t is proportional to r."""
        return self.alpha == 1.0 and self.beta == 1.0

    def times(self, r: Array) -> tuple[Array, Array, Array]:
        """t, dt/dr and d²t/dr² at r (…), from 0 to ``length``."""
        rate = self.duration / self.length
        if self.plain:
            return self.start + rate * r, np.full_like(r, rate), np.zeros_like(r)
        a, b, y = self.alpha, self.beta, np.clip(r / self.length, BESIDE, 1.0 - BESIDE)
        left, right = np.power(y, a), np.power(1.0 - y, b)
        x, rest = left / (left + right), right / (left + right)
        # measured from the nearer end, to avoid cancellation close to it
        t = np.where(y < 0.5, self.start + self.duration * x, self.end - self.duration * rest)
        slope = a / y + b / (1.0 - y)  # derivative of ln(x / (1 − x))
        bend = b / np.square(1.0 - y) - a / np.square(y)
        first = x * rest * slope
        second = x * rest * ((rest - x) * np.square(slope) + bend)
        return t, rate * first, rate / self.length * second

    def parameter(self, t: Array) -> Array:
        """r at the times t."""
        y = np.clip((t - self.start) / self.duration, 0.0, 1.0)
        if self.plain:
            return y * self.length
        # z = ln(r / (1 − r)) solves β ln(1 + e^z) − α ln(1 + e^−z) = ln(x / (1 − x)), whose slope is between α and β
        with np.errstate(divide="ignore"):
            wanted = np.log(y) - np.log1p(-y)
        inside = np.isfinite(wanted)
        wanted = wanted[inside]
        z = np.where(wanted < 0, wanted / self.alpha, wanted / self.beta)
        for _ in range(60):
            r = 1.0 / (1.0 + np.exp(-z))
            value = self.beta * np.logaddexp(0.0, z) - self.alpha * np.logaddexp(0.0, -z) - wanted
            step = value / (self.alpha * (1.0 - r) + self.beta * r)
            z = z - step
            if np.all(np.abs(step) <= 1e-15 * (1.0 + np.abs(z))):
                break
        y[inside] = 1.0 / (1.0 + np.exp(-z))
        return y * self.length


@record
class Move:
    """A segment of a motion from rest to rest, from ``start`` to ``end`` (s), as a path q(r) with 0 ≤ r ≤ length."""

    motion: Trajectory
    pieces: tuple[MovePiece, ...]
    knots: Array
    clock: tuple[Array, Array] | None = None  # times of this motion, and of the motion before smoothing

    @property
    def start(self) -> float:
        """Start time of the move in the original motion."""
        return float(self.given_time(np.array([0.0]))[0])

    def given_time(self, r: Array) -> Array:
        """Times at which the original motion passes r; at both ends of the move, exactly its start and its end."""
        t = self.times(r)[0]
        t = np.where(r <= 0.0, self.pieces[0].start, np.where(r >= self.length, self.pieces[-1].end, t))
        return t if self.clock is None else np.asarray(np.interp(t, *self.clock))

    @property
    def plain(self) -> bool:
        """Whether the parameter is the motion's own time."""
        return len(self.pieces) == 1 and self.pieces[0].plain

    @property
    def rough(self) -> bool:
        """Whether q'' behaves like a root of the parameter at either end."""
        return self.pieces[0].alpha < 1.0 or self.pieces[-1].beta < 1.0

    @cached_property
    def marks(self) -> Array:
        """Start of every segment and end of the last one."""
        return np.cumsum([0.0, *(piece.length for piece in self.pieces)])

    @property
    def length(self) -> float:
        return float(self.marks[-1])

    def times(self, r: Array) -> tuple[Array, Array, Array]:
        """t, dt/dr and d²t/dr²."""
        if len(self.pieces) == 1:
            return self._times_of(self.pieces[0], r)
        which = segment(self.marks, r)
        times = np.empty((3, *np.shape(r)))
        for k, piece in enumerate(self.pieces):
            mine = which == k
            times[:, mine] = self._times_of(piece, r[mine] - self.marks[k])
        return times[0], times[1], times[2]

    def _times_of(self, piece: MovePiece, r: Array) -> tuple[Array, Array, Array]:
        """t, dt/dr and d²t/dr² on one segment, with one-sided derivatives at its ends."""
        t, first, second = piece.times(np.clip(r, 0.0, piece.length))
        beside = 1e-12 * self.motion.duration
        low = piece.start + beside if piece.start > 0.0 else 0.0
        high = piece.end - beside if piece.end < self.motion.duration else piece.end
        return np.clip(t, low, high), first, second

    @cached_property
    def spacing(self) -> tuple[Array, Array]:
        """Points in r, and the share of a uniform grid that lies before each of them.

        The spacing is uniform in a mean of the parameter and the distance travelled, so that no part of the path is
        covered by only a few steps, whatever its parametrisation.
        """
        r = np.unique(np.append(np.linspace(0.0, self.length, LOOKS), self.knots))
        speed = np.linalg.norm(self.at(r)[1], axis=1)
        way = np.append(0.0, np.cumsum(0.5 * (speed[:-1] + speed[1:]) * np.diff(r)))
        return r, (1.0 - BY_DISTANCE) * r / self.length + BY_DISTANCE * way / way[-1]

    def at(self, r: Array) -> tuple[Array, Array, Array]:
        """q, q' and q'' at r (N,): (N, n) each."""
        t, first, second = self.times(r)
        q, qd, qdd = states(self.motion, t)
        if self.plain:
            return q, qd, qdd
        first, second = first[:, None], second[:, None]
        return q, qd * first, qdd * first * first + qd * second


@brief
@dataclass(frozen=True)
class Stop:
    """A time of the original motion at which the path requires a stop, with its reason and length (s)."""

    time: float
    reason: str
    dwell: float = 0.0


def moves_of(motion: Trajectory) -> tuple[list[Move], list[Stop]]:
    """The moves of a motion in order, and the stops before, between and after them.

    A dwell (all joints at rest for a while) is preserved; at a corner of the path the arm must stop.
    """
    look = _Look(motion)
    dwells = look.dwells()
    stops = [Stop(begin, "dwell", end - begin) for begin, end in dwells]
    moves = []
    bounds = [0.0, *(instant for dwell in dwells for instant in dwell), motion.duration]
    for begin, end in zip(bounds[::2], bounds[1::2], strict=True):
        if end - begin <= look.tiny:
            continue
        marks = [begin]
        for cut in (*look.cuts(begin, end), _Cut(end, True)):
            marks.append(cut.time)
            if cut.stop:
                moves.append(look.move(marks))
                marks = [cut.time]
                stops += [Stop(cut.time, cut.reason)] if cut.reason else []
    return moves, sorted(stops, key=lambda stop: stop.time)


@dataclass(frozen=True)
class _Cut:
    time: float
    stop: bool
    reason: str = ""


class _Look:
    """Analysis of a motion: dwells, corners of the path, and rests."""

    def __init__(self, motion: Trajectory) -> None:
        self.motion, self.tiny = motion, 1e-12 * motion.duration
        knots = motion.breaks
        knots = knots[(knots > self.tiny) & (knots < motion.duration - self.tiny)]
        self.knots = knots[np.diff(knots, prepend=-np.inf) > 1e-9 * motion.duration]
        even = np.linspace(0.0, motion.duration, SAMPLES)
        marks = np.concatenate([[0.0], self.knots, [motion.duration]])
        self.t = np.unique(np.concatenate([even, marks, 0.5 * (marks[:-1] + marks[1:])]))
        q, qd, _ = self._at(self.t)
        self.speed = np.linalg.norm(qd, axis=1)
        self.fastest = float(self.speed.max())
        self.range = float(np.ptp(q, axis=0).max())
        if not self.fastest > 0:
            raise DalembertError("the motion never moves, so there is nothing to retime")

    def _at(self, t: Array) -> tuple[Array, Array, Array]:
        return states(self.motion, np.clip(t, 0.0, self.motion.duration))

    def _speed(self, t: Array) -> Array:
        return np.linalg.norm(self._at(t)[1], axis=1)

    # -- dwells ----------------------------------------------------------------------------------

    def dwells(self) -> list[tuple[float, float]]:
        """The intervals in which all joints stand still."""
        still = self.speed <= STILL * self.fastest
        edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]])))
        stretches = []
        for first, end in zip(edges[::2], edges[1::2], strict=True):
            last = end - 1
            exactly = bool((self.speed[first:end] <= RESTING * self.fastest).all())
            shortest = (SHORT_DWELL if exactly else DWELL) * self.motion.duration
            if last - first < 2 or self.t[last] - self.t[first] < shortest:
                continue
            core = (first + last) // 2
            level = (RESTING if self.speed[core] <= RESTING * self.fastest else STILL) * self.fastest
            inner = self.speed[first:end] <= level
            first, last = first + np.flatnonzero(inner)[[0, -1]]
            begin = self._edge(self.t[first - 1], self.t[first], level) if first > 0 else 0.0
            stop = self._edge(self.t[last + 1], self.t[last], level) if last + 1 < len(still) else self.motion.duration
            stretches.append((begin, stop))
        return stretches

    def _edge(self, moving: float, still: float, level: float) -> float:
        """Time at which the speed falls below ``level``, between a time with motion and one without."""
        first = float(still)
        still = float(bisected(moving, still, lambda t: self._speed(np.array([t]))[0] <= level, 60)[1])
        if (
            abs(first - still) < NEARLY * self.motion.duration
            and np.abs(self.knots - first).min(initial=np.inf) < self.tiny
        ):
            return first  # the remaining speed is lost in rounding just before the knot at which it ends
        return self._on_knot(still)

    def _on_knot(self, t: float) -> float:
        """The knot within rounding of t, or t itself."""
        near = self.knots[np.abs(self.knots - t) < 1e-9 * self.motion.duration]
        return float(near[0]) if len(near) else t

    # -- corners and rests ---------------------------------------------------------------------------

    def cuts(self, begin: float, end: float) -> list[_Cut]:
        """Times between begin and end at which the path turns, the speed jumps, or the motion rests."""
        inside = (self.knots > begin + self.tiny) & (self.knots < end - self.tiny)
        knots = self.knots[inside]
        v0, v1 = self._at(knots - self.tiny)[1], self._at(knots + self.tiny)[1]
        s0, s1 = np.linalg.norm(v0, axis=1), np.linalg.norm(v1, axis=1)
        moving = (s0 > REST * self.fastest) & (s1 > REST * self.fastest)
        angle = np.zeros(len(knots))
        angle[moving] = _angles(v0[moving], v1[moving])
        cuts = [
            _Cut(float(t), bool(a > CORNER), f"a corner of {np.degrees(a):.3g}°")
            for t, a, jump in zip(knots, angle, np.abs(s1 - s0), strict=True)
            if a > CORNER or jump > CORNER * self.fastest
        ]
        rests = self._rests(begin, end)
        for k, t in enumerate(rests):
            reach = 1e-4 * min(t - (rests[k - 1] if k else begin), (rests[k + 1] if k + 1 < len(rests) else end) - t)
            v = self._at(t + reach * np.array([-2.0, -1.0, 1.0, 2.0]))[1]
            size = np.linalg.norm(v, axis=1, keepdims=True)
            if not np.all(size > 0):
                continue
            e = v / size
            turn = float(_angles((2 * e[1] - e[0])[None], (2 * e[2] - e[3])[None])[0])
            cuts.append(_Cut(float(t), turn > TURN, f"a turn of {np.degrees(turn):.3g}° at rest"))
        return self._without_noise(begin, end, sorted(cuts, key=lambda cut: cut.time))

    def _rests(self, begin: float, end: float) -> Array:
        """Times between begin and end at which the motion is momentarily at rest."""
        t, w = self.t, self.speed
        inner = np.flatnonzero((w[1:-1] <= w[:-2]) & (w[1:-1] <= w[2:]) & (w[1:-1] < SLOW * self.fastest)) + 1
        inner = inner[(t[inner - 1] >= begin) & (t[inner + 1] <= end)]
        if not len(inner):
            return np.empty(0)
        rests, search = t[inner].copy(), w[inner] > 0

        def faster(at: Array) -> Array:
            _, qd, qdd = self._at(at)
            return (qd * qdd).sum(axis=1) > 0

        low, high = bisected(t[inner - 1][search], t[inner + 1][search], faster, 50 if search.any() else 0)
        rests[search] = [self._on_knot(middle) for middle in 0.5 * (low + high)]
        return np.unique(rests[self._speed(rests) < REST * self.fastest])

    def _without_noise(self, begin: float, end: float, cuts: list[_Cut]) -> list[_Cut]:
        """The cuts without those stops between which the path is so short that it can only be noise."""
        remaining: list[_Cut] = []
        q = self._at(np.array([begin, *(cut.time for cut in cuts), end]))[0]
        last = q[0]
        for cut, position in zip(cuts, q[1:-1], strict=True):
            noise = min(np.abs(position - last).max(), np.abs(position - q[-1]).max()) < WIGGLE * self.range
            if cut.stop and noise and not self._far(cut.time, begin, end):
                continue
            remaining.append(cut)
            last = position if cut.stop else last
        return remaining

    def _far(self, t: float, begin: float, end: float) -> bool:
        """Whether the path moves away from its position at t both before and after t, as a full circle does."""
        q = self._at(np.array([t]))[0]
        sides = (self.t > begin) & (self.t < t), (self.t > t) & (self.t < end)
        return all(side.any() and np.abs(self._at(self.t[side])[0] - q).max() > WIGGLE * self.range for side in sides)

    # -- the path parameter ----------------------------------------------------------------------

    def move(self, marks: list[float]) -> Move:
        """The move between the first and the last mark, which passes the others without stopping."""
        last = len(marks) - 2
        pieces: list[MovePiece] = []
        scale = 1.0
        for k, (a, b) in enumerate(pairwise(marks)):
            alpha = (2.0 if k == 0 else 1.0) / self._order(a, b)
            beta = (2.0 if k == last else 1.0) / self._order(b, a)
            piece = MovePiece(a, b, alpha, beta, b - a)
            if k > 0:  # keep q' continuous
                scale *= self._rate(pieces[-1], 1.0 - 1e-7) / self._rate(piece, 1e-7)
            pieces.append(replace(piece, length=(b - a) / scale))
        move = Move(self.motion, tuple(pieces), np.empty(0))
        knots = [move.marks[1:-1]]
        for piece, begin in zip(pieces, move.marks, strict=False):
            inside = (self.knots > piece.start + self.tiny) & (self.knots < piece.end - self.tiny)
            knots.append(begin + piece.parameter(self.knots[inside]))
        r = np.sort(np.concatenate(knots))
        return replace(move, knots=r[np.diff(r, prepend=-np.inf) > 1e-9 * move.length])

    def _rate(self, piece: MovePiece, y: float) -> float:
        """|q'| at share y of a segment whose length equals its duration."""
        t, first, _ = piece.times(np.array([y * piece.length]))
        return float(self._speed(t)[0] * first[0] * piece.length / piece.duration)

    def _order(self, at: float, towards: float) -> int:
        """The exponent k with which the distance travelled near the time ``at`` grows: |t − at|^k.

        Rounded down when in doubt, since too large a k would make q'' infinite there.
        """
        first, slow, fast = self._speed(at + (towards - at) * np.array([1e-9, 1e-3, 4e-3]))
        if first > 1e-3 * fast:
            return 1
        if not slow > 0:
            return 2
        return int(np.clip(np.floor(1.25 + np.log(fast / slow) / np.log(4.0)), 2, 12))


def _angles(a: Array, b: Array) -> Array:
    """Angles between the rows of a and b in rad, accurate for small angles."""
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    return np.asarray(2.0 * np.arctan2(np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1)))
