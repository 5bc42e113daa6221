"""Points in joint space from a table: columns q1 … qn, one point per row, with optional holds and payloads."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import brief
from dalembert.errors import DalembertError
from dalembert.robot import Inertia
from dalembert.work.trajectory.planning.motion_columns import POINTS, Stated
from dalembert.work.trajectory.planning.motion_file import payloads_of, read_columns


@brief
@dataclass(frozen=True)
class Points:
    """Points in joint space, with the hold time and the payload at each of them.

    q         (k, n) rad; m
    hold      (k,) rest time at the point (s)
    payloads  body held from arrival at this point until arrival at the next one, in the tip frame; None for none
    """

    q: Array
    hold: Array
    payloads: tuple[Inertia | None, ...]

    @property
    def plain(self) -> bool:
        """Whether there are neither holds nor payloads."""
        return not self.hold.any() and not any(self.payloads)


def read_points(path: str | os.PathLike[str], arm: Arm, *, degrees: bool = False) -> Points:
    """The columns q1 … qn (rad; m), or those named after the joints of ``arm``; ``hold`` (s) and ``payload`` (kg) per
    point.

    Units in the header are respected. ``payload_x`` … (m) and ``payload_ixx`` … (kg m²) describe a payload, as in
    motion files.

    degrees  read revolute joints without a unit in the header in degrees
    """
    stated = replace(Stated.of(None, None), usual={"q": "deg"} if degrees else {})
    _, layout, numbers = read_columns(path, arm, POINTS, stated, strict=True)
    columns = layout.split(numbers)
    nothing, q = np.zeros(len(numbers)), columns.pop("q")
    hold = columns.pop("hold", nothing)
    if (hold < 0).any():
        raise DalembertError(f"{path}: hold of point {hold.argmin() + 1} is {hold.min():g} s; it must be 0 or more")
    if not columns:
        return Points(q, hold, (None,) * len(q))
    bodies, which = payloads_of(path, columns, lambda row: f"of point {row + 1}")
    return Points(q, hold, tuple(None if (event := bodies[k]) is None else event.body for k in which))
