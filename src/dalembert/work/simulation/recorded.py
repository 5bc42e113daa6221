"""Recorded torques over time, from a file or an array, applied without feedback; and initial states from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.tables.signal_columns import factors
from dalembert.base.wording import shown
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.logs.formats.raw import Raw
from dalembert.work.logs.log import Columns, raw_of
from dalembert.work.logs.log_units import sliding_joints
from dalembert.work.logs.signals import SignalColumns, find, joint_order, numeric, same_count
from dalembert.work.simulation.controllers import Controller
from dalembert.work.trajectory.planning.events import Event, LoadTable, PayloadEvent, WrenchEvent
from dalembert.work.trajectory.planning.motion_checks import check_choice, finite

Between = Literal["linear", "held"]


class RecordedTorque(Controller):
    """Torques tau (N, n) in N m (N for prismatic joints) at the times t (N,) in s, applied without feedback.

    A time may occur twice where torques jump.

    between  "linear" interpolation between the times, or "held" from each to the next; the first and the last value
             apply before and after
    q0, qd0  the initial state (n,), if it is known
    events   payloads and tip wrenches that the arm carries meanwhile, as in ``motion.events``

    >>> import dalembert as da
    >>> arm, motion = da.load("planar-2r"), da.polynomial([0.2, 0.4], [0.5, 0.0], duration=1.0)
    >>> t = np.linspace(0.0, 1.0, 1001)
    >>> torque = RecordedTorque(t, arm.inverse_dynamics(*motion(t)))
    >>> da.simulate(arm, [0.2, 0.4], None, torque, 1.0).q[-1].round(4) + 0.0
    array([0.5, 0. ])
    """

    law, what, tracks = "feedforward", "torque", False

    def __init__(
        self,
        t: ArrayLike,
        tau: ArrayLike,
        between: Between = "linear",
        *,
        q0: ArrayLike | None = None,
        qd0: ArrayLike | None = None,
        events: Sequence[Event] = (),
    ) -> None:
        self.t, self.tau = finite("t", t), finite("tau", tau)
        steps = np.diff(self.t) if self.t.ndim == 1 else np.zeros(0)
        thrice = (steps[1:] == 0) & (steps[:-1] == 0)
        if not steps.any() or np.any(steps < 0) or np.any(thrice):
            raise ShapeError(
                f"t has shape {self.t.shape}; it must be (N,), at least two increasing times, each listed once, or "
                "twice where torques jump"
            )
        if self.tau.ndim != 2 or len(self.tau) != len(self.t):
            raise ShapeError(f"tau has shape {self.tau.shape}; it must be ({len(self.t)}, n), one row per time")
        check_choice("between", between, get_args(Between))
        n = self.tau.shape[1]
        self.between = between
        self.q0 = None if q0 is None else finite("q0", q0)
        self.qd0 = None if qd0 is None else finite("qd0", qd0)
        self.events = tuple(events)
        for event in self.events:
            if not isinstance(event, (PayloadEvent, WrenchEvent)):
                raise DalembertError(
                    f"events contains {shown(event)}; it must hold events of a motion, such as motion.events"
                )
        super().__init__(0.0, 0.0, np.zeros(n))

    @property
    def duration(self) -> float:
        """The last time (s)."""
        return float(self.t[-1])

    @property
    def loads(self) -> LoadTable:
        """Loads on the tip from the events."""
        return LoadTable(self.events, self.duration)

    def later(self, start: float) -> RecordedTorque:
        """The same torques, with time counted from ``start``."""
        return RecordedTorque(self.t - start, self.tau, self.between)

    @property
    def breaks(self) -> Array:
        """Times at which the torque is not smooth: all of them."""
        return np.unique(self.t)

    def at(self, t: ArrayLike) -> Array:
        """Torque at the times t (…): (…, n) in N m."""
        times = np.asarray(t, float)
        if self.between == "held":
            return self.tau[np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, None)]
        return np.stack([np.interp(times, self.t, column) for column in self.tau.T], axis=-1)

    def reference(self, t: Array, arm: Arm, *, friction: bool = True) -> Array:
        """[0, 0, τ] at the times t: (N, 3n)."""
        if self.tau.shape[1] != arm.n:
            raise ShapeError(f"tau has shape {self.tau.shape}, but arm '{arm.name}' has {arm.n} joints")
        return np.concatenate([np.zeros((len(t), 2 * arm.n)), self.at(t)], axis=-1)

    def __repr__(self) -> str:
        return (
            f"<RecordedTorque: {self.tau.shape[1]} joints, {len(self.t)} instants, {self.duration:g} s, {self.between}>"
        )


def read_torques(
    path: str | os.PathLike[str],
    arm: Arm,
    between: Between = "linear",
    *,
    columns: Columns | None = None,
    units: Mapping[str, str] | None = None,
) -> RecordedTorque:
    """The torques tau1 … taun over t in a table, such as ``dalembert torques -o`` or ``motion.save(arm=…)`` writes.

    between  "linear" or "held", as for :class:`RecordedTorque`
    columns, units   as for :func:`dalembert.read_trajectory`
    The first time in the file becomes t = 0. ``.q0`` and ``.qd0`` are the initial state if the file has columns q1 …
    and qd1 … Its loads, in columns payload and fx …, act in a simulation with these torques.

    >>> import tempfile, dalembert as da
    >>> arm = da.load("planar-2r")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     da.polynomial([0.2, 0.4], [0.5, 0.0], duration=1.0).save(f"{folder}/motion.csv", arm=arm)
    ...     read_torques(f"{folder}/motion.csv", arm).q0
    array([0.2, 0.4])
    """
    from dalembert.work.trajectory.planning.motion_file import Stated, torques_in

    t, groups, events = torques_in(path, arm, Stated.of(columns, units))
    first = {group: values[0] for group, values in groups.items()}
    return RecordedTorque(t, groups["tau"], between, q0=first.get("q"), qd0=first.get("qd"), events=events)


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
