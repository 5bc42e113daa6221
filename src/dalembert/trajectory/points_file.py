"""Points in joint space from a table of text: columns q1 … qn, one point a row."""

from __future__ import annotations

import os

import numpy as np

from dalembert.arm import Arm
from dalembert.arrays import Array
from dalembert.errors import DalembertError
from dalembert.logs import units as si
from dalembert.logs.formats.raw import listed, name_and_unit
from dalembert.logs.formats.text import open_table


def read_points(path: str | os.PathLike[str], arm: Arm, *, degrees: bool = False) -> Array:
    """The columns q1 … qn (rad; m), or those named after the joints of ``arm``, with units in the header heeded: (k, n).

    degrees  what revolute joints without a unit in the header are in
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
                    often = "is missing" if not at else "stands in the header more than once"
                    needed = listed([f"q{i}" for i in range(1, arm.n + 1)])
                    raise DalembertError(f"{path}: the column q{k} {often}; needed are {needed} for arm '{arm.name}'")
                places += at
            sliding = si.sliding_joints(arm)
            unless = [None if slides or not degrees else "deg" for slides in sliding]
            own = [units[i] or unit for i, unit in zip(places, unless, strict=True)]
            factors = si.of_columns(str(path), "q", own, sliding)
            rows: Array = np.concatenate([block[:, places] for _, block in table.blocks()])
    except OSError as error:
        raise DalembertError(f"{path}: the file cannot be read ({error.strerror})") from None
    if not np.isfinite(rows).all():
        raise DalembertError(
            f"{path}: point {np.argwhere(~np.isfinite(rows))[0, 0] + 1} has a value that is not a finite number"
        )
    return rows * factors
