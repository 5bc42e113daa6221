"""Initial states from a file, for a batch of simulations."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.tables.signal_columns import factors
from dalembert.work.logs.formats.raw import Raw
from dalembert.work.logs.log import raw_of
from dalembert.work.logs.log_units import sliding_joints
from dalembert.work.logs.signals import SignalColumns, find, joint_order, numeric, same_count


def read_states(path: str | os.PathLike[str], arm: Arm) -> tuple[Array, Array | None]:
    """(q, qd) of N states in a table with columns q1 … qn and, optionally, qd1 … qdn: (N, n) each, in rad and rad/s.

    A CSV file with a header, an npz file with arrays q and qd, or any other log format; joint names and units in
    the header are interpreted as for logs. Without velocities, qd is None.

    >>> import tempfile, dalembert as da
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = open(f"{folder}/states.csv", "w").write("q1,q2\\n0.1,0.2\\n0.3,0.4\\n")
    ...     read_states(f"{folder}/states.csv", da.load("planar-2r"))[0].tolist()
    [[0.1, 0.2], [0.3, 0.4]]
    """
    raw = raw_of(path, arm)
    q, qd = find(raw, "q", None), find(raw, "qd", None)
    if q is None:
        raise raw.wrong(f"it has no positions: columns q1 … q{arm.n} or an array q are required; it has {raw.contents}")
    positions, speeds = _values(raw, arm, "q", q), None if qd is None else _values(raw, arm, "qd", qd)
    if speeds is not None and len(speeds) != len(positions):
        raise raw.wrong(f"it has {len(positions)} rows of q but {len(speeds)} of qd; the numbers must be equal")
    return positions, speeds


def _values(raw: Raw, arm: Arm, group: str, columns: SignalColumns) -> Array:
    values: Any = numeric(raw, columns)
    values = values.reshape(-1, 1) if values.ndim == 1 and arm.n == 1 else np.atleast_2d(values)
    units = list(columns.units) or [columns.unit] * values.shape[-1]
    if columns.joints is not None:
        order, _ = joint_order(raw.source, "table", columns.joints, arm, "")
        values, units = values[:, order], [units[k] for k in order]
    same_count(arm, values.shape[-1], raw.source, group)
    return np.asarray(values * factors(raw.source, group, units, sliding_joints(arm))[0], np.float64)
