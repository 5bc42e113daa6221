"""Points in joint space from a text table: columns q1 … qn, one point per row, with optional holds and payloads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.arm import Arm
from dalembert.arrays import Array
from dalembert.environment.brief import brief
from dalembert.errors import DalembertError
from dalembert.logs import units as si
from dalembert.logs.formats.raw import listed, name_and_unit
from dalembert.logs.formats.text import open_table
from dalembert.robot import Inertia
from dalembert.trajectory.csv_file import PAYLOADS, TENSOR
from dalembert.trajectory.events import payload_event

HOLDS = {"hold": {"s": 1.0, "ms": 1e-3}}


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
    try:
        with open_table(path, "points", strict=True) as table:
            if not table.headed:
                raise DalembertError(
                    f"{path}, line {table.line}: the file has no header; its first line must be q1, q2, …"
                )
            names, units = zip(*map(name_and_unit, table.names), strict=True)
            places = []
            for k, joint in enumerate(arm.joint_names, 1):
                at = [i for i, name in enumerate(names) if name in (f"q{k}", joint)]
                if len(at) != 1:
                    often = "is missing" if not at else "occurs more than once in the header"
                    needed = listed([f"q{i}" for i in range(1, arm.n + 1)])
                    raise DalembertError(f"{path}: the column q{k} {often}; required are {needed} for arm '{arm.name}'")
                places += at
            sliding = si.sliding_joints(arm)
            unless = [None if slides or not degrees else "deg" for slides in sliding]
            own = [units[i] or unit for i, unit in zip(places, unless, strict=True)]
            factors = si.of_columns(str(path), "q", own, sliding)
            others = [i for i in range(len(names)) if i not in places]
            others_factors = [_factor(str(path), names[i], units[i]) for i in others]
            rows: Array = np.concatenate([block[:, places + others] for _, block in table.blocks()])
    except OSError as error:
        raise DalembertError(f"{path}: the file cannot be read ({error.strerror})") from None
    if not np.isfinite(rows).all():
        raise DalembertError(
            f"{path}: point {np.argwhere(~np.isfinite(rows))[0, 0] + 1} has a value that is not a finite number"
        )
    happens = {names[i]: rows[:, arm.n + k] * others_factors[k] for k, i in enumerate(others)}
    hold = happens.pop("hold", np.zeros(len(rows)))
    if (hold < 0).any():
        raise DalembertError(f"{path}: hold of point {hold.argmin() + 1} is {hold.min():g} s; it must be 0 or more")
    return Points(rows[:, : arm.n] * factors, hold, _payloads(str(path), happens, len(rows)))


def _factor(path: str, name: str, unit: str | None) -> float:
    """Conversion factor to SI units of a column other than a position."""
    known: Mapping[str, Mapping[str, float]] = HOLDS | PAYLOADS
    if name not in known:
        raise DalembertError(
            f"{path}: the column '{name}' is unknown; in addition to the joints, a point may have {listed(list(known))}"
        )
    if unit is not None and unit not in known[name]:
        raise DalembertError(f"{path}: {name} is in '{unit}'; known units are {', '.join(known[name])}")
    return 1.0 if unit is None else known[name][unit]


def _payloads(path: str, columns: Mapping[str, Array], count: int) -> tuple[Inertia | None, ...]:
    """The body held at each point."""
    if columns and "payload" not in columns:
        raise DalembertError(f"{path}: the column {listed(list(columns))} needs a column 'payload' with the mass in kg")

    def body(k: int, values: Sequence[float]) -> Inertia | None:
        mass, x, y, z, *tensor = values
        xx, xy, xz, yy, yz, zz = tensor
        try:
            event = payload_event(mass, (x, y, z), ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)), 0.0, 1.0)
        except DalembertError as error:
            raise DalembertError(f"{path}: the payload of point {k + 1}: {error}") from None
        return event.body if mass else None

    assert len(PAYLOADS) == 4 + len(TENSOR)
    table = np.stack([columns.get(name, np.zeros(count)) for name in PAYLOADS], axis=1)
    return tuple(body(k, values) for k, values in enumerate(table.tolist()))
