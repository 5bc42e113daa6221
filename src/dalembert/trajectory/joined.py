"""Motions one after the other: joined, held, reversed and repeated, exactly as their pieces are.

A joined motion is a flat list of pieces, each a motion that is run forwards or backwards from its own instant on. Nothing is
resampled: values, knots, breaks and sample instants are those of the pieces, moved in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arrays import Array, number
from dalembert.environment.brief import brief
from dalembert.errors import DalembertError, ShapeError
from dalembert.trajectory.events import moved
from dalembert.trajectory.trajectory import Trajectory

MEETS = 1e-6  # rad, m: how far the end of one motion may be from the start of the next
KEEPS = 1e-6  # of the largest speed of both: how much their velocities may differ there
NO_SPEED = 1e-12  # rad/s, m/s
STILL_SAMPLES = 51  # of a rest
MOST_PIECES = 1_000_000
ULPS = 8.0  # of the instant: a knot that is nearer is meant


@brief
@dataclass(frozen=True, eq=False)
class Standstill:
    """All joints stand still at q (n,)."""

    q: Array
    duration: float

    @property
    def instants(self) -> Array:
        """Sample instants."""
        return np.linspace(0.0, self.duration, STILL_SAMPLES)

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        rest = np.zeros((len(t), len(self.q)))
        return np.broadcast_to(self.q, rest.shape).copy(), rest, rest.copy()


@dataclass(frozen=True)
class JoinedPiece:
    """A motion as one of the pieces, forwards or backwards."""

    motion: Trajectory
    backward: bool = False

    def mirrored(self) -> JoinedPiece:
        """The same way back."""
        return JoinedPiece(self.motion, not self.backward)

    def places(self, instants: Array) -> Array:
        """Instants of the motion as instants of the piece, in order."""
        return self.motion.duration - instants[::-1] if self.backward else instants

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """q, q̇ and q̈ at instants of the piece (N,); a knot is seen from the side that follows it."""
        own = self.motion.duration - t if self.backward else t
        own = np.clip(self._on_knots(own), 0.0, self.motion.duration)
        q, qd, qdd = (np.asarray(x) for x in self.motion.evaluate(own))
        return q, (0.0 - qd if self.backward else qd), qdd

    def _on_knots(self, t: Array) -> Array:
        """Instants that rounding has moved off a knot are put back on it; on the side before it when run backwards."""
        knots = self._knots
        if not len(knots):
            return t
        after = np.clip(np.searchsorted(knots, t), 0, len(knots) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(np.abs(knots[after] - t) < np.abs(knots[before] - t), knots[after], knots[before])
        near = np.abs(nearest - t) <= ULPS * np.spacing(self.motion.duration)
        side = nearest - ULPS * np.spacing(nearest) if self.backward else nearest
        return np.where(near, side, t)

    @cached_property
    def _knots(self) -> Array:
        knots = np.array(self.motion.knots, float)
        return knots[(knots > 0.0) & (knots < self.motion.duration)]

    def state(self, side: str) -> tuple[Array, Array]:
        """q and q̇ at its "start" or "end"."""
        q, qd, _ = self.at(np.array([0.0 if side == "start" else self.motion.duration]))
        return q[0], qd[0]


@brief
@dataclass(frozen=True, eq=False)
class Joined:
    """The pieces in turn; piece k begins at begins[k], and the last one ends at begins[-1]."""

    pieces: tuple[JoinedPiece, ...]
    begins: Array  # (K + 1,)

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        which = np.clip(np.searchsorted(self.begins, t, side="right") - 1, 0, len(self.pieces) - 1)
        # rounding may put an instant that is meant to be a junction before it
        late = self.begins[which + 1] - t <= ULPS * np.spacing(t)
        which = np.where(late, np.minimum(which + 1, len(self.pieces) - 1), which)
        own = np.clip(t - self.begins[which], 0.0, None)
        states = np.empty((3, len(t), self.pieces[0].motion.n))
        kind = self._kinds[which]
        order = np.argsort(kind, kind="stable")
        edges = np.flatnonzero(np.diff(kind[order], prepend=-1, append=-1)).tolist()
        for first, last in pairwise(edges):
            rows = order[first:last]
            piece = self.pieces[which[rows[0]]]
            states[:, rows] = piece.at(np.minimum(own[rows], piece.motion.duration))
        return states[0], states[1], states[2]

    @cached_property
    def _kinds(self) -> NDArray[np.intp]:
        """Which pieces are alike, so that one call serves all of them: (K,)."""
        known: dict[tuple[int, bool], int] = {}
        keys = ((id(piece.motion), piece.backward) for piece in self.pieces)
        return np.array([known.setdefault(key, len(known)) for key in keys], np.intp)

    def _gathered(self, instants: Any) -> list[Array]:
        """Instants of each piece in the time of the whole."""
        known: dict[int, Array] = {}
        parts = []
        for kind, piece, begin in zip(self._kinds.tolist(), self.pieces, self.begins[:-1].tolist(), strict=True):
            if kind not in known:
                known[kind] = piece.places(np.asarray(instants(piece.motion), float))
            parts.append(begin + known[kind])
        return parts

    @cached_property
    def knots(self) -> Array:
        """Where accelerations may jump: at the knots of the pieces, and where they meet."""
        inner = self._gathered(lambda motion: [k for k in motion.knots if 0.0 < k < motion.duration])
        return np.concatenate([self.begins[1:-1], *inner])

    @cached_property
    def breaks(self) -> Array:
        """Where any derivative may jump."""
        inner = self._gathered(lambda motion: motion.breaks[(motion.breaks > 0.0) & (motion.breaks < motion.duration)])
        return np.concatenate([self.begins, *inner])

    @cached_property
    def instants(self) -> Array:
        """The sample instants of the pieces; where two meet, one."""
        return np.append(np.concatenate([part[:-1] for part in self._samples]), self.begins[-1])

    @property
    def _samples(self) -> list[Array]:
        parts = self._gathered(lambda motion: motion.t - motion.t[0])
        for part, begin in zip(parts, self.begins, strict=False):
            part[0] = begin
        return parts


def pieces_of(motion: Trajectory) -> tuple[JoinedPiece, ...]:
    """The motion as a flat list of pieces."""
    return motion.evaluate.pieces if isinstance(motion.evaluate, Joined) else (JoinedPiece(motion),)


def join(motions: Iterable[Trajectory]) -> Trajectory:
    """The motions one after the other, as ``a + b + …`` is, in one step however many there are.

    Each must begin where the one before ends, to 1e-6 rad or m, with its velocity. Their events come along.

    >>> import dalembert as da
    >>> there = da.polynomial([0.0], [1.0], 1.0)
    >>> cycle = da.join([there, there.reversed()] * 500)
    >>> cycle.duration, cycle(999.5)[0]
    (1000.0, array([0.5]))
    """
    given = list(motions)
    if not given:
        raise DalembertError("there is no motion to join: give at least one")
    for k, motion in enumerate(given):
        if not isinstance(motion, Trajectory):
            raise DalembertError(
                f"motion {k + 1} of those that are joined is {motion!r:.60}; it must be a Trajectory, such as da.polynomial gives"
            )
    if len(given) == 1:
        return given[0]
    _check_meet(given)
    starts = np.concatenate([[0.0], np.cumsum([motion.duration for motion in given])]).tolist()
    events = tuple(
        event
        for motion, start in zip(given, starts, strict=False)
        for event in moved(motion.events, lambda t, start=start: t + start)  # type: ignore[misc]
    )
    notes = tuple(dict.fromkeys(note for motion in given for note in motion.notes))
    return _assembled([piece for motion in given for piece in pieces_of(motion)], events, notes, given)


def _assembled(
    pieces: Sequence[JoinedPiece], events: Any, notes: tuple[str, ...], motions: Sequence[Trajectory]
) -> Trajectory:
    if len(pieces) > MOST_PIECES:
        raise DalembertError(f"the motion would have {len(pieces):,} pieces; at most {MOST_PIECES:,} can be joined")
    curve = Joined(tuple(pieces), np.concatenate([[0.0], np.cumsum([piece.motion.duration for piece in pieces])]))
    n, duration = motions[0].n, float(curve.begins[-1])
    inner = [t for event in events for t in (event.start, event.end) if 0.0 < t < duration]
    return Trajectory(duration, n, curve, tuple(np.append(curve.knots, inner).tolist()), notes=notes, events=events)


def _check_meet(motions: Sequence[Trajectory]) -> None:
    """Each motion must begin where the one before ends, and as fast; or a sentence says where it does not."""
    ends: dict[int, tuple[tuple[Array, Array], tuple[Array, Array]]] = {}

    def both(motion: Trajectory) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        if id(motion) not in ends:
            q, qd, _ = motion(np.array([0.0, motion.duration]))
            ends[id(motion)] = ((q[0], qd[0]), (q[1], qd[1]))
        return ends[id(motion)]

    done = set()
    for k in range(1, len(motions)):
        before, after = motions[k - 1], motions[k]
        if (id(before), id(after)) in done:
            continue
        done.add((id(before), id(after)))
        if before.n != after.n:
            raise ShapeError(
                f"motions of {before.n} and of {after.n} joints cannot be joined; they must have the same joints"
            )
        (q0, v0), (q1, v1) = both(before)[1], both(after)[0]
        if (away := np.abs(q1 - q0)).max() > MEETS:
            j = int(away.argmax())
            raise DalembertError(
                f"joint {j + 1} is at {q0[j]:.9g} at the end of motion {k} and at {q1[j]:.9g} at the start of motion {k + 1}; "
                f"motions are joined where they meet, to {MEETS:g} rad or m: put a motion between them"
            )
        if (jump := np.abs(v1 - v0)).max() > NO_SPEED + KEEPS * max(_fastest(before, -1), _fastest(after, 0)):
            j = int(jump.argmax())
            raise DalembertError(
                f"the velocity of joint {j + 1} would jump from {v0[j]:.6g} at the end of motion {k} to {v1[j]:.6g} at the start "
                f"of motion {k + 1}, which no torque can do: let both be at rest there, or as fast"
            )


def _fastest(motion: Trajectory, piece: int) -> float:
    """The largest speed of a joint in one of the pieces."""
    return float(np.abs(pieces_of(motion)[piece].motion.qd).max())


def added(first: Trajectory, second: Any) -> Trajectory:
    """:meth:`Trajectory.__add__`."""
    return join([first, second])


def held(motion: Trajectory, duration: float) -> Trajectory:
    """:meth:`Trajectory.hold`."""
    length = number("the time to hold", duration)
    if not (np.isfinite(length) and length > 0.0):
        raise DalembertError(f"the time to hold is {length:g} s; it must be finite and above zero")
    q, qd, _ = motion(motion.duration)
    if np.abs(qd).max() > NO_SPEED + KEEPS * _fastest(motion, -1):
        j = int(np.abs(qd).argmax())
        raise DalembertError(
            f"joint {j + 1} still moves at {qd[j]:.6g} at the end of the motion; only a motion that comes to rest can be held"
        )
    still = Trajectory(length, motion.n, Standstill(q, length))
    return join([motion, still])


def backwards(motion: Trajectory) -> Trajectory:
    """:meth:`Trajectory.reversed`."""
    pieces = [piece.mirrored() for piece in reversed(pieces_of(motion))]
    T = motion.duration
    events = moved(motion.events[::-1], lambda t: T - t, backward=True)
    return _assembled(pieces, events, motion.notes, [motion])


def repeated(motion: Trajectory, times: int) -> Trajectory:
    """:meth:`Trajectory.repeated`."""
    if not isinstance(times, (int, np.integer)) or isinstance(times, bool) or times < 1:
        raise DalembertError(f"a motion is repeated a whole number of times, 1 or more, not {times!r}")
    (first, last), _, _ = motion(np.array([0.0, motion.duration]))
    if times > 1 and (away := np.abs(last - first)).max() > MEETS:
        j = int(away.argmax())
        raise DalembertError(
            f"joint {j + 1} begins at {first[j]:.9g} and ends at {last[j]:.9g}; a motion that is repeated must end where it "
            "begins: join it with a way back, such as its reversed() (--back)"
        )
    return join([motion] * int(times))
