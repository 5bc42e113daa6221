"""Stages of a simulation whose motion carries loads: between two events, the load of the arm is constant.

At an event the state is continuous: a payload that is picked up has the velocity of the tip, and one that is released
takes its energy with it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.errors import DalembertError
from dalembert.work.simulation.controllers import Controller
from dalembert.work.simulation.recorded import RecordedTorque
from dalembert.work.simulation.task import SimulationRequest
from dalembert.work.trajectory.planning.events import body_of, together
from dalembert.work.trajectory.planning.time_breaks import breaks_of


@dataclass(frozen=True)
class Stage:
    """From ``start`` to ``end`` (s): the arm with its load, and the request with its controller and inputs."""

    start: float
    end: float
    arm: Arm
    request: SimulationRequest


class _Later:
    """A motion, or another function of time, with time counted from ``start``."""

    def __init__(self, function: Callable[..., Any], start: float) -> None:
        self.function, self.start = function, start
        breaks = breaks_of(function) - start
        self.breaks = breaks[breaks > 0.0]
        self.duration = float(getattr(function, "duration", np.inf)) - start

    def __call__(self, t: Any, *state: Array) -> Any:
        return self.function(np.minimum(t + self.start, self.start + self.duration), *state)


def stages_of(arm: Arm, request: SimulationRequest) -> list[Stage] | None:
    """The stages in order; None unless a controller follows a motion, or has torques, with loads."""
    torque, duration = request.torque, request.duration
    tip_wrench, base_motion = request.tip_wrench, request.base_motion
    recorded = isinstance(torque, RecordedTorque)
    motion: Any = torque if recorded else torque.motion if isinstance(torque, Controller) else None
    if motion is None or not getattr(motion, "events", ()):
        return None
    if not (isinstance(duration, (int, float, np.number)) and np.isfinite(duration) and duration > 0):
        return None  # the simulation itself reports the error
    if request.parameters is not None:
        raise DalembertError(
            "parameters would replace the payload of the motion; give da.simulate an arm with these parameters, or a "
            "motion without events"
        )
    for name, value in (("tip_wrench", tip_wrench), ("base_motion", base_motion)):
        if value is not None and not callable(value) and np.ndim(value) > 1 and np.shape(value)[-2] > 1:
            raise DalembertError(
                f"{name} has shape {np.shape(value)}, one row per step, but steps are cut at the events of the motion: "
                "give a constant or a function of time"
            )
    loads = motion.loads
    if loads.wrench is not None and callable(tip_wrench):
        raise DalembertError("tip_wrench is a function, but the motion has tip wrenches of its own: omit one of them")
    arms: dict[bytes, Arm] = {}
    stages = []
    edges, rows = _merged(loads, float(duration))
    for start, end, row in zip(edges[:-1], edges[1:], rows, strict=True):
        payload = None if loads.payload is None else loads.payload[row]
        wrench = None if loads.wrench is None or not loads.wrench[row].any() else loads.wrench[row]
        key = b"" if payload is None else payload.tobytes()
        if key not in arms:
            body, own = None if payload is None else body_of(payload), arm.robot.payload
            arms[key] = arm if body is None else arm.replace(payload=body if own is None else own + body)
        control = torque.later(start) if recorded else copy(torque)
        if not recorded:
            control.motion = _Later(motion, start)
        control.push = wrench
        if torque.law == "adaptive":
            control.model = torque.model or arm  # the estimated parameters must not change with the load
        part = replace(
            request, torque=control, duration=end - start,
            tip_wrench=_Later(tip_wrench, start) if callable(tip_wrench) else together(wrench, tip_wrench),
            base_motion=_Later(base_motion, start) if callable(base_motion) else base_motion,
        )  # fmt: skip
        stages.append(Stage(start, end, arms[key], part))
    return stages


def _merged(loads: Any, duration: float) -> tuple[list[float], list[int]]:
    """The times between which loads are constant, and the row of each interval; the last row persists."""
    edges, rows = [0.0], [0]
    tables = [table for table in (loads.payload, loads.wrench) if table is not None]
    for k, edge in enumerate(loads.edges[1:-1].tolist(), 1):
        if edge < duration and any(not np.array_equal(table[k], table[rows[-1]]) for table in tables):
            edges.append(edge)
            rows.append(k)
    return [*edges, duration], rows
