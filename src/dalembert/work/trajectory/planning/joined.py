"""Composite motions: motions joined, held, reversed and repeated without changing the motions themselves.

A composite motion is a flat list of segments, each a motion that runs forwards or backwards from its own start time.
Nothing is resampled: values, knots, breaks and sample times are those of the segments, shifted in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.base.wording import shown
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.trajectory.planning.events import events_at, instants_of
from dalembert.work.trajectory.planning.motion_checks import positive_number
from dalembert.work.trajectory.planning.profiles import Trapezoids
from dalembert.work.trajectory.planning.time_breaks import inside, nearest, segment
from dalembert.work.trajectory.planning.trajectory import Trajectory

MEETS = 1e-6  # rad, m: largest gap between the end of one motion and the start of the next
KEEPS = 1e-6  # of the larger peak speed: largest velocity mismatch at a junction
NO_SPEED = 1e-12  # rad/s, m/s
STILL_SAMPLES = 51  # samples of a rest
MOST_PIECES = 1_000_000  # segments of a joined motion; each holds arrays of its own
ULPS = 8.0  # a time within this many ulps of a knot is taken to be the knot


@dataclass(frozen=True)
class JoinedPiece:
    """A motion as a segment of a composite motion, run forwards or backwards."""

    motion: Trajectory
    backward: bool = False

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """q, q̇ and q̈ at times of the segment (N,); at a knot, the values after it."""
        own = self.motion.duration - t if self.backward else t
        own = np.clip(self._on_knots(own), 0.0, self.motion.duration)
        q, qd, qdd = (np.asarray(x) for x in self.motion.evaluate(own))
        return q, (0.0 - qd if self.backward else qd), qdd

    def _on_knots(self, t: Array) -> Array:
        """The times, back on knots that rounding moved them off, or just before them if the segment runs backwards."""
        if not len(self.knots):
            return t
        knot = self.knots[nearest(self.knots, t)]
        near = np.abs(knot - t) <= ULPS * np.spacing(self.motion.duration)
        return np.where(near, knot - ULPS * np.spacing(knot) if self.backward else knot, t)

    @cached_property
    def knots(self) -> Array:
        """The knots of the motion between its start and its end."""
        return inside(np.array(self.motion.knots, float), self.motion.duration)


@record
class Joined:
    """The segments in sequence; segment k begins at begins[k], and the last one ends at begins[-1]."""

    pieces: tuple[JoinedPiece, ...]
    begins: Array  # (K + 1,)

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        which = segment(self.begins, t)
        # rounding may place a time that is meant to be a junction just before it
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
        """Index of the group of identical segments of each segment, (K,): one call evaluates a whole group."""
        known: dict[tuple[int, bool], int] = {}
        keys = ((id(piece.motion), piece.backward) for piece in self.pieces)
        return np.array([known.setdefault(key, len(known)) for key in keys], np.intp)

    def _gathered(self, instants: Callable[[JoinedPiece], Array]) -> list[Array]:
        """Times of each segment in the time of the composite motion."""
        known: dict[int, Array] = {}
        parts = []
        for kind, piece, begin in zip(self._kinds.tolist(), self.pieces, self.begins[:-1].tolist(), strict=True):
            if kind not in known:
                own = instants(piece)
                known[kind] = piece.motion.duration - own[::-1] if piece.backward else own
            parts.append(begin + known[kind])
        return parts

    @cached_property
    def knots(self) -> Array:
        """Times at which accelerations may jump: knots of the segments and junctions between them."""
        return np.concatenate([self.begins[1:-1], *self._gathered(lambda piece: piece.knots)])

    @cached_property
    def breaks(self) -> Array:
        """Times at which any derivative may jump."""
        inner = self._gathered(lambda piece: inside(piece.motion.breaks, piece.motion.duration))
        return np.concatenate([self.begins, *inner])

    @cached_property
    def instants(self) -> Array:
        """Sample times of the segments, with a single one at each junction."""
        parts = self._gathered(lambda piece: piece.motion.t - piece.motion.t[0])
        for part, begin in zip(parts, self.begins, strict=False):
            part[0] = begin
        return np.append(np.concatenate([part[:-1] for part in parts]), self.begins[-1])


def pieces_of(motion: Trajectory) -> tuple[JoinedPiece, ...]:
    """The motion as a flat list of segments."""
    return motion.evaluate.pieces if isinstance(motion.evaluate, Joined) else (JoinedPiece(motion),)


def join(motions: Iterable[Trajectory]) -> Trajectory:
    """The motions in sequence, like ``a + b + …`` but in a single step, however many there are.

    Each must begin where the previous one ends, to 1e-6 rad or m, and with the same velocity. Events are kept.

    >>> import dalembert as da
    >>> there = da.polynomial([0.0], [1.0], 1.0)
    >>> cycle = da.join([there, there.reversed()] * 500)
    >>> cycle.duration, cycle(999.5)[0]
    (1000.0, array([0.5]))
    """
    given = list(motions)
    if not given:
        raise DalembertError("there are no motions to join; give at least one")
    for k, motion in enumerate(given):
        if not isinstance(motion, Trajectory):
            raise DalembertError(
                f"motion {k + 1} of the motions to join is {shown(motion)}; it must be a Trajectory, such as "
                "da.polynomial returns"
            )
    if len(given) == 1:
        return given[0]
    _check_meet(given)
    starts = np.concatenate([[0.0], np.cumsum([motion.duration for motion in given])]).tolist()
    events = tuple(
        event
        for motion, start in zip(given, starts, strict=False)
        for event in events_at(motion.events, lambda t, start=start: t + start)  # type: ignore[misc]
    )
    notes = tuple(dict.fromkeys(note for motion in given for note in motion.notes))
    return _assembled([piece for motion in given for piece in pieces_of(motion)], events, notes)


def _check_pieces(count: int) -> None:
    if count > MOST_PIECES:
        raise DalembertError(f"the motion would have {count:,} segments; at most {MOST_PIECES:,} can be joined")


def _assembled(pieces: Sequence[JoinedPiece], events: Any, notes: tuple[str, ...]) -> Trajectory:
    _check_pieces(len(pieces))
    curve = Joined(tuple(pieces), np.concatenate([[0.0], np.cumsum([piece.motion.duration for piece in pieces])]))
    duration = float(curve.begins[-1])
    knots = np.append(curve.knots, inside(instants_of(events), duration)).tolist()
    return Trajectory(duration, pieces[0].motion.n, curve, tuple(knots), notes=notes, events=events)


def _check_meet(motions: Sequence[Trajectory]) -> None:
    """Raise an error unless each motion begins at the position and velocity at which the previous one ends."""
    ends = {key: motion(np.array([0.0, motion.duration])) for key, motion in {id(x): x for x in motions}.items()}
    checked = set()
    for k, (before, after) in enumerate(pairwise(motions), 1):
        if (id(before), id(after)) in checked:
            continue
        checked.add((id(before), id(after)))
        if before.n != after.n:
            raise ShapeError(
                f"motions of {before.n} and of {after.n} joints cannot be joined; they must have the same number of "
                "joints"
            )
        (q0, v0, _), (q1, v1, _) = (x[-1] for x in ends[id(before)]), (x[0] for x in ends[id(after)])
        if (away := np.abs(q1 - q0)).max() > MEETS:
            j = int(away.argmax())
            raise DalembertError(
                f"joint {j + 1} is at {q0[j]:.9g} at the end of motion {k} and at {q1[j]:.9g} at the start of motion {k + 1}; "
                f"motions can be joined only if they meet to within {MEETS:g} rad or m: put a motion between them"
            )
        if (jump := np.abs(v1 - v0)).max() > NO_SPEED + KEEPS * max(_fastest(before, -1), _fastest(after, 0)):
            j = int(jump.argmax())
            raise DalembertError(
                f"the velocity of joint {j + 1} would jump from {v0[j]:.6g} at the end of motion {k} to {v1[j]:.6g} at the start "
                f"of motion {k + 1}, which would need an infinite torque: let both be at rest there, or equally fast"
            )


def _fastest(motion: Trajectory, piece: int) -> float:
    """Largest joint speed in one of the segments."""
    return float(np.abs(pieces_of(motion)[piece].motion.qd).max())


def held(motion: Trajectory, duration: float) -> Trajectory:
    """:meth:`Trajectory.hold`."""
    length = positive_number("the hold time", duration)
    q, qd, _ = motion(motion.duration)
    if np.abs(qd).max() > NO_SPEED + KEEPS * _fastest(motion, -1):
        j = int(np.abs(qd).argmax())
        raise DalembertError(
            f"joint {j + 1} still moves at {qd[j]:.6g} at the end of the motion; only a motion that ends at rest can "
            "be held"
        )
    still, instants = Trapezoids(q, q, *np.zeros((2, motion.n))), np.linspace(0.0, length, STILL_SAMPLES)
    return join([motion, Trajectory(length, motion.n, still, sampled_at=instants)])


def backwards(motion: Trajectory) -> Trajectory:
    """:meth:`Trajectory.reversed`."""
    pieces = [JoinedPiece(piece.motion, not piece.backward) for piece in reversed(pieces_of(motion))]
    events = events_at(motion.events[::-1], lambda t: motion.duration - t, backward=True)
    return _assembled(pieces, events, motion.notes)


def repeated(motion: Trajectory, times: int) -> Trajectory:
    """:meth:`Trajectory.repeated`."""
    if not isinstance(times, (int, np.integer)) or isinstance(times, bool) or times < 1:
        raise DalembertError(f"the number of repetitions must be an integer of at least 1, not {times!r}")
    _check_pieces(int(times) * len(pieces_of(motion)))
    (first, last), _, _ = motion(np.array([0.0, motion.duration]))
    if times > 1 and (away := np.abs(last - first)).max() > MEETS:
        j = int(away.argmax())
        raise DalembertError(
            f"joint {j + 1} begins at {first[j]:.9g} and ends at {last[j]:.9g}; a motion that is repeated must end where it "
            "begins: append a return motion, such as its reversed() (--back)"
        )
    return join([motion] * int(times))
