"""Events of a motion: a payload that is carried, or a wrench that the tip exerts, during part of it; and the loaded arm.

An event is tied to a place on the path. It takes effect at its ``start`` and ceases at its ``end``, except at the end
of the motion itself. Retiming a motion retimes its events with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.variants import Variants
from dalembert.base.arrays import Array, double, number
from dalembert.errors import DalembertError, ShapeError
from dalembert.robot.model.inertia import Inertia, from_ten_parameters, ten_parameters
from dalembert.work.trajectory.planning.limits import holding_torque
from dalembert.work.trajectory.planning.motion_checks import finite
from dalembert.work.trajectory.planning.time_breaks import inside, nearest, segment

if TYPE_CHECKING:
    from dalembert.work.trajectory.planning.trajectory import Trajectory

Instants = Callable[[Array], Array]
BODY = 10  # parameters of a payload: m, m c, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz about the tip's origin
WRENCH = 6  # components of a force and a moment
SLACK = 1e-9  # of the duration: how far an event may lie outside because of rounding


@dataclass(frozen=True, repr=False)
class PayloadEvent:
    """A body held at the tip from ``start`` to ``end`` (s): mass (kg), centre of mass (m) and inertia in the tip frame.

    It is held in addition to the arm's own payload and to the payloads of other events. Created by
    :meth:`Trajectory.with_payload`.

    >>> import dalembert as da
    >>> (event,) = da.polynomial([0.0], [1.0], 1.0).with_payload(2.0, start=0.5).events
    >>> event.mass, event.start, event.end
    (2.0, 0.5, 1.0)
    """

    body: Inertia
    start: float
    end: float

    @property
    def mass(self) -> float:
        """kg"""
        return float(self.body.mass)

    @property
    def values(self) -> Array:
        """The ten inertial parameters, as ``Arm.variants(payload=…)`` expects them: (10,)."""
        return ten_parameters(self.body)

    def __str__(self) -> str:
        return f"payload of {self.mass:g} kg from {self.start:.6g} to {self.end:.6g} s"

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True, repr=False)
class WrenchEvent:
    """A wrench [fx, fy, fz, mx, my, mz] (N, N m) of the tip on its environment, in base axes, from ``start`` to ``end``.

    Created by :meth:`Trajectory.with_tip_wrench`.

    >>> import dalembert as da
    >>> (event,) = da.polynomial([0.0], [1.0], 1.0).with_tip_wrench([0, 0, 5, 0, 0, 0]).events
    >>> print(event)
    tip wrench (0, 0, 5, 0, 0, 0) from 0 to 1 s
    """

    wrench: tuple[float, ...]
    start: float
    end: float

    @property
    def values(self) -> Array:
        """(6,)"""
        return np.array(self.wrench)

    def __str__(self) -> str:
        wrench = ", ".join(f"{x:g}" for x in self.wrench)
        return f"tip wrench ({wrench}) from {self.start:.6g} to {self.end:.6g} s"

    def __repr__(self) -> str:
        return f"<{self}>"


Event = PayloadEvent | WrenchEvent


def payload_event(
    body: float | Inertia, com: ArrayLike, inertia: ArrayLike | None, start: float, end: float
) -> PayloadEvent:
    """A payload from its mass, centre of mass and inertia about it, or from an :class:`Inertia`, validated."""
    if not isinstance(body, Inertia):
        centre = finite("the payload's com", com, (3,))
        tensor = finite("the payload's inertia", np.zeros((3, 3)) if inertia is None else inertia, (3, 3))
        body = Inertia(number("the payload's mass", body), tuple(centre.tolist()), tensor.tolist())
    if (problem := body.impossible()) is not None:
        raise ShapeError(f"the payload is not physically possible: {problem}")
    return PayloadEvent(body, start, end)


def wrench_event(wrench: ArrayLike, start: float, end: float) -> WrenchEvent:
    """A constant wrench, validated."""
    values = finite("the tip wrench", wrench, (WRENCH,), ": fx, fy, fz, mx, my, mz")
    return WrenchEvent(tuple(values.tolist()), start, end)


def interval(duration: float, start: float | None, end: float | None) -> tuple[float, float]:
    """Start and end of an event, validated; by default, those of the motion."""
    first = 0.0 if start is None else number("start", start)
    last = duration if end is None else number("end", end)
    slack = SLACK * duration
    if not (-slack <= first < last <= duration + slack):
        raise DalembertError(
            f"an event from {first:g} to {last:g} s does not fit into the motion: 0 ≤ start < end ≤ {duration:g} s must hold"
        )
    return max(first, 0.0), min(last, duration)


def instants_of(events: Sequence[Event]) -> Array:
    """Times at which an event begins or ends."""
    return np.unique(np.array([x for event in events for x in (event.start, event.end)], float))


def events_at(events: Sequence[Event], new: Instants, *, backward: bool = False) -> tuple[Event, ...]:
    """The events with their times mapped by ``new``, a function of arrays; ``backward`` if it is decreasing."""
    if not events:
        return ()
    sides = ("end", "start") if backward else ("start", "end")
    start, end = (new(np.array([getattr(event, side) for event in events], float)).tolist() for side in sides)
    return tuple(replace(event, start=a, end=b) for event, a, b in zip(events, start, end, strict=True) if b > a)


def snapped(t: Array, marks: Array, near: float) -> Array:
    """The times t, each replaced by the nearest of the sorted ``marks`` if that is closer than ``near``."""
    mark = marks[nearest(marks, t)]
    return np.where(np.abs(mark - t) <= near, mark, t)


class LoadTable:
    """Loads on the tip along a motion, piecewise constant.

    edges    (K + 1,) times (s) between which the load is constant, including 0 and the duration
    payload  (K, 10) all bodies held, combined into one; None if there are none at any time
    wrench   (K, 6); None if there is none at any time
    """

    def __init__(self, events: Sequence[Event], duration: float) -> None:
        self.edges = np.concatenate([[0.0], inside(instants_of(events), duration), [duration]])
        self.payload = self._summed([event for event in events if isinstance(event, PayloadEvent)], BODY)
        self.wrench = self._summed([event for event in events if isinstance(event, WrenchEvent)], WRENCH)

    def _summed(self, events: Sequence[Event], size: int) -> Array | None:
        if not events:
            return None
        table = np.zeros((len(self.edges) - 1, size))
        for event in events:
            first, last = np.searchsorted(self.edges, (event.start, event.end))
            table[first:last] += event.values
        return table

    def __bool__(self) -> bool:
        return self.payload is not None or self.wrench is not None

    def rows(self, t: Array) -> Array:
        """Index of the interval that contains each of the times."""
        return segment(self.edges, t)

    def at(self, t: ArrayLike) -> tuple[Array | None, Array | None]:
        """Payload (…, 10) and wrench (…, 6) at the times t; None for a load that never occurs."""
        rows = self.rows(double("t", t))
        payload, wrench = (None if table is None else table[rows] for table in (self.payload, self.wrench))
        return payload, wrench


def body_of(values: Array) -> Inertia | None:
    """The body with these ten parameters, or None if all are zero."""
    return from_ten_parameters(values) if values.any() else None


def events_of(t: Array, payload: Array | None, wrench: Array | None) -> tuple[Event, ...]:
    """The events of a table: payload (N, 10) and wrench (N, 6) apply from their time in t (N,) to the next."""
    events: list[Event] = []
    for values in (payload, wrench):
        if values is None or len(t) < 2:
            continue
        edges = np.flatnonzero(np.any(np.diff(values[:-1], axis=0) != 0, axis=1)) + 1
        for first, last in pairwise([0, *edges.tolist(), len(t) - 1]):
            row, start, end = values[first], float(t[first]), float(t[last])
            if values is wrench and row.any():
                events.append(WrenchEvent(tuple(row.tolist()), start, end))
            elif values is payload and (body := body_of(row)) is not None:
                events.append(PayloadEvent(body, start, end))
    return tuple(sorted(events, key=lambda event: event.start))


# -- the arm with its load ------------------------------------------------------------------------


def carrying(arm: Arm, payload: Array | None) -> Arm | Variants:
    """The arm with an additional body at its tip for each state: payload (…, 10), or None."""
    return arm if payload is None or not payload.any() else arm.variants(payload=payload)


def together(first: ArrayLike | None, second: ArrayLike | None) -> Array | None:
    """Sum of two wrenches, either of which may be None."""
    parts = [double("tip_wrench", wrench) for wrench in (first, second) if wrench is not None]
    return sum(parts[1:], parts[0]) if parts else None


def loaded(
    motion: Trajectory, arm: Arm, t: Array, tip_wrench: ArrayLike | None = None
) -> tuple[Arm | Variants, Array | None]:
    """The arm with its load at the times t of the motion, and the wrench (…, 6) at its tip, with ``tip_wrench``."""
    payload, wrench = motion.loads.at(t)
    return carrying(arm, payload), together(wrench, tip_wrench)


def torques(motion: Trajectory, arm: Arm, t: ArrayLike | None, tip_wrench: ArrayLike | None) -> Array:
    """:meth:`Trajectory.torques`."""
    motion.fits(arm)
    at = motion.t if t is None else double("t", t)
    if tip_wrench is not None and np.shape(tip_wrench)[-1:] != (6,):
        raise ShapeError(f"tip_wrench has shape {np.shape(tip_wrench)}; the last axis must be 6, as in (…, 6)")
    model, wrench = loaded(motion, arm, at, tip_wrench)
    return model.inverse_dynamics(*motion(at), wrench)


def holding(arm: Arm, model: Arm | Variants, wrench: Array | None, q: Array) -> Array:
    """Torques that hold the loaded arm at rest: gravity, springs and offsets, and Jᵀ h_e."""
    at_rest = holding_torque(arm, q)
    if model is not arm:
        at_rest = at_rest - arm.gravity_torque(q) + model.gravity_torque(q)
    if wrench is None:
        return at_rest
    return at_rest + np.einsum("...ij,...i->...j", arm.jacobian(q), wrench)
