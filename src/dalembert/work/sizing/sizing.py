"""Sizing: the demands of a motion on every joint, motor and bearing, and their margins to the limits.

The torque of joint i is τ_i of S (7.42): the torque of the drive at the joint, including the inertia torque of its
rotor. Through a lossless gear, the motor delivers τ_i / k_ri at k_ri q̇_i, so that the power
τ_i q̇_i is the same on both sides: S (7.22), Example 7.1. A joint without a rotor in its robot file
has no motor here, and its motor figures are NaN.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array
from dalembert.base.environment.progress import OfFraction as Progress
from dalembert.base.environment.progress import reporting, silent
from dalembert.base.environment.short_repr import record
from dalembert.base.files import whole_file
from dalembert.base.tables.signal_columns import SIGNALS
from dalembert.base.text_tables import csv_text
from dalembert.errors import DalembertError
from dalembert.work.logs.log_units import sliding_joints
from dalembert.work.sizing.drive_formulas import energies, rms
from dalembert.work.sizing.drive_sizing import BRAKE_FACTOR, DriveRules, Drives, GearSweep, drives_of
from dalembert.work.sizing.motion_samples import Motion, MotionSamples, samples_of
from dalembert.work.trajectory.planning.limits import excesses, limits_of
from dalembert.work.trajectory.planning.motion_checks import check_finite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELEGATES = {"plot": "views.report.plots:sizing_figure", "_repr_html_": "views.report.notebook:sizing_html"}

NAMES = {"position": "q", "speed": "qd", "acceleration": "qdd", "torque": "tau"}
UNITS = {name: (str(SIGNALS[x].unit), str(SIGNALS[x].sliding)) for name, x in NAMES.items()}  # revolute, prismatic
CHUNK = 1 << 14  # samples computed at a time


@record
class Demand:
    """One quantity at every joint: its peak, the time of the first peak, its RMS value, and the limit.

    value   (n,) the value with its sign at the peak; ``peak`` is its magnitude
    at      (n,) time of the peak (s)
    rms     (n,) root mean square over the motion
    limit   (n,) NaN where none is known
    """

    name: str
    units: tuple[str, ...]
    value: Array
    at: Array
    rms: Array
    limit: Array

    @property
    def peak(self) -> Array:
        """Peak magnitude: (n,)."""
        return np.abs(self.value)

    @property
    def used(self) -> Array:
        """Peak as a share of the limit: (n,); 1 is the limit itself, NaN if no limit is known."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.limit > 0, self.peak / self.limit, np.where(self.peak > 0, np.inf, 0) + 0 * self.limit)

    @property
    def margin(self) -> Array:
        """Remaining share of the limit: (n,); negative if the limit is exceeded."""
        return 1.0 - self.used


@dataclass(frozen=True)
class Sizing:
    """Demands of a motion on the joints, the motors and the bearings of an arm.

    torque, speed, acceleration, power         at the joint
    motor_torque, motor_speed, motor_power     at the motor shaft; NaN for joints without a rotor
    energy      (n,) J delivered to the joint; ``returned`` (n,) J recovered from it, both ≥ 0
    force, moment                              magnitudes of f_i and μ_i, S (7.112), (7.113)
    axial, radial, tilting                     f_i along and perpendicular to the axis, μ_i perpendicular to it
    lowest, highest, lower, upper              (n,) positions reached, and their limits (NaN: none)
    exceeded    one sentence per limit that the motion exceeds
    drives      demands on the motors and gears of the joints, or None if they have none
    """

    arm: str
    joints: tuple[str, ...]
    duration: float
    torque: Demand
    speed: Demand
    acceleration: Demand
    power: Demand
    motor_torque: Demand
    motor_speed: Demand
    motor_power: Demand
    energy: Array
    returned: Array
    force: Demand
    moment: Demand
    axial: Demand
    radial: Demand
    tilting: Demand
    lowest: Array
    highest: Array
    lower: Array
    upper: Array
    position_units: tuple[str, ...]
    exceeded: list[str]
    drives: Drives | None = None

    @property
    def quantities(self) -> tuple[Demand, ...]:
        """All quantities with a peak."""
        return tuple(value for value in vars(self).values() if isinstance(value, Demand))

    @property
    def tightest(self) -> tuple[Demand, int] | None:
        """The quantity (torque, speed or acceleration) and the joint with the smallest margin."""
        limited = (self.torque, self.speed, self.acceleration)
        known = [(x, i) for x in limited for i in np.flatnonzero(~np.isnan(x.limit)).tolist()]
        return max(known, key=lambda pair: float(pair[0].used[pair[1]]), default=None)

    def sweep(self, joint: str | int, ratios: ArrayLike | None = None) -> GearSweep:
        """Requirements on the motor of one joint for other gear ratios: peak and RMS torque, and speed."""
        if self.drives is None:
            raise DalembertError(
                f"robot '{self.arm}' has no motors, so there are no gear ratios to compare; give [joint.motor] in its file, or "
                "choose motors with da.select_drives"
            )
        return self.drives.sweep(joint, ratios)

    def table(self) -> list[dict[str, Any]]:
        """One row per joint, {column: value}.

        The columns are ``joint``, then ``torque_peak``, ``torque_at``, ``torque_rms``, ``torque_unit`` and,
        if a limit is known, ``torque_limit`` and ``torque_margin``; likewise for every other quantity.
        """
        rows: list[dict[str, Any]] = []
        for i, name in enumerate(self.joints):
            row: dict[str, Any] = {"joint": name}
            for x in self.quantities:
                key = x.name.replace(" ", "_")
                row |= {f"{key}_{field}": float(getattr(x, field)[i]) for field in ("peak", "at", "rms")}
                row[f"{key}_unit"] = x.units[i]
                if not np.isnan(x.limit).all():
                    row |= {f"{key}_{field}": float(getattr(x, field)[i]) for field in ("limit", "margin")}
            row |= {
                "energy_given": float(self.energy[i]),
                "energy_returned": float(self.returned[i]),
                "energy_unit": "J",
            }
            row |= {f"position_{key}": float(getattr(self, key)[i]) for key in ("lowest", "highest", "lower", "upper")}
            rows.append(row | {"position_unit": self.position_units[i]})
        return rows

    def csv(self) -> str:
        """The table as CSV; unknown values are empty cells."""
        return csv_text(self.table())

    def to_csv(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the table to a file, completely or not at all."""
        with whole_file(path, overwrite=overwrite, kinds=(".csv", ".txt")) as file:
            file.write(self.csv())

    def plot(self) -> Figure:
        """A matplotlib Figure with the limit utilisation of every joint, and its peak and RMS torque, speed and power.

        >>> import dalembert as da
        >>> sizing = da.size(da.load("planar-2r"), da.triangular([0.0, 0.0], [1.0, -2.0], duration=2.0))
        >>> sizing.plot().axes[0].get_title("left")
        'Utilisation of the limit (%)'
        """
        return delegate(DELEGATES, "plot")(self)

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)

    def __repr__(self) -> str:
        words = f"{len(self.joints)} joints, {self.duration:.6g} s"
        if self.tightest is not None:
            quantity, i = self.tightest
            words += f", at most {100 * quantity.used[i]:.3g} % of a limit ({quantity.name} of {self.joints[i]!r:.40})"
        return f"<Sizing of {self.arm!r:.60}: {words}>"


def size(
    arm: Arm,
    motion: Motion,
    tip_wrench: ArrayLike | None = None,
    payload: float | None = None,
    payload_com: ArrayLike = (0.0, 0.0, 0.0),
    progress: Progress | None = None,
    life: float | None = None,
    brake_factor: float = BRAKE_FACTOR,
) -> Sizing:
    """Demands of ``motion`` on ``arm``.

    motion      a Trajectory, including its events, or any object with .t (N,), .q, .qd, .qdd (N, n)
    tip_wrench  (6,) or (N, 6) exerted by the tip on its environment, as in ``arm.inverse_dynamics``
    payload     a mass held at the tip (kg), with its centre at ``payload_com`` in the tip frame (m)
    life        required life of the gears (h, L10); by default it is computed but not checked
    brake_factor  safety factor of a holding brake over the largest gravity torque of the motion

    Joints with a ``motor`` or ``gear`` in their robot file are checked against their data: ``.drives``, docs/sizing.md.

    Means and energies are integrals by the trapezoidal rule between the sample times; the values on both
    sides of a jump are used.

    >>> import dalembert as da
    >>> from dalembert.work.trajectory.planning.motion_file import MotionTable
    >>> still = np.zeros((2, 2))
    >>> sizing = size(da.load("planar-2r"), MotionTable(np.array([0.0, 1.0]), still, still, still))
    >>> sizing.torque.peak, sizing.motor_torque.peak
    (array([1030.05,  245.25]), array([10.3005,  2.4525]))
    """
    if payload is not None:
        arm = arm.with_payload(payload, payload_com)
    at = samples_of(arm, motion)
    rules = DriveRules(life, brake_factor)
    tau, f, mu = loads(arm, at, tip_wrench, reporting(progress))
    t, power = at.t, tau * at.qd
    quantities = {"position": at.q, "velocity": at.qd, "acceleration": at.qdd, "torque": tau}
    units = joint_units(arm)
    effort, velocity = limits_of(arm, "effort"), limits_of(arm, "velocity")
    k_r = np.array([np.nan if joint.rotor is None else joint.rotor.gear for joint in arm.robot.moving_joints])
    given, returned = energies(t, power)
    axial, radial, tilting = bearing_parts(arm, f, mu)
    with np.errstate(divide="ignore", invalid="ignore"):
        motor_effort, motor_velocity = effort / np.abs(k_r), velocity * np.abs(k_r)
    return Sizing(
        arm=arm.name,
        joints=arm.joint_names,
        duration=float(t[-1] - t[0]),
        torque=demand(t, "torque", units["torque"], tau, effort),
        speed=demand(t, "speed", units["speed"], at.qd, velocity),
        acceleration=demand(t, "acceleration", units["acceleration"], at.qdd, limits_of(arm, "acceleration")),
        power=demand(t, "power", "W", power),
        motor_torque=demand(t, "motor torque", "N m", tau / k_r, motor_effort),
        motor_speed=demand(t, "motor speed", "rad/s", at.qd * k_r, motor_velocity),
        motor_power=demand(t, "motor power", "W", power + 0 * k_r),
        energy=given,
        returned=returned,
        force=demand(t, "bearing force", "N", np.linalg.norm(f, axis=-1)),
        moment=demand(t, "bearing moment", "N m", np.linalg.norm(mu, axis=-1)),
        axial=demand(t, "axial force", "N", axial),
        radial=demand(t, "radial force", "N", radial),
        tilting=demand(t, "tilting moment", "N m", tilting),
        lowest=at.q.min(axis=0),
        highest=at.q.max(axis=0),
        lower=limits_of(arm, "lower"),
        upper=limits_of(arm, "upper"),
        position_units=units["position"],
        exceeded=[str(excess) for excess in excesses(arm, t, quantities)],
        drives=drives_of(arm, at, tau, (axial, radial, tilting), rules),
    )


def joint_units(arm: Arm) -> dict[str, tuple[str, ...]]:
    """Units of the joint quantities, per joint."""
    return {what: tuple(pair[slides] for slides in sliding_joints(arm)) for what, pair in UNITS.items()}


def without_effort_limit(arm: Arm) -> list[str]:
    """The joints without a known effort limit."""
    return [joint.name for joint in arm.robot.moving_joints if joint.limits.effort is None]


def demand(t: Array, name: str, unit: str | tuple[str, ...], x: Array, limit: Array | None = None) -> Demand:
    """Summary of x (N, n) at the times t."""
    n = x.shape[1]
    peak = np.argmax(np.where(np.isnan(x), -1.0, np.abs(x)), axis=0)
    value = np.take_along_axis(x, peak[None], 0)[0]
    when = np.where(np.isnan(value), np.nan, t[peak])
    units = (unit,) * n if isinstance(unit, str) else unit
    return Demand(name, units, value, when, rms(t, x), np.full(n, np.nan) if limit is None else limit)


def bearing_parts(arm: Arm, f: Array, mu: Array) -> tuple[Array, Array, Array]:
    """Axial and radial forces and tilting moments (N, n) of the bearing loads f and μ (N, n, 3)."""
    to_link = np.array([body.link_frame.rotation for body in arm.mechanism.bodies], float)
    z = np.einsum("kji,kj->ki", to_link, np.array([body.axis for body in arm.mechanism.bodies], float))
    axial, twisting = (np.einsum("tki,ki->tk", x, z) for x in (f, mu))
    radial, tilting = (np.linalg.norm(x - y[..., None] * z, axis=-1) for x, y in ((f, axial), (mu, twisting)))
    return axial, radial, tilting


def loads(
    arm: Arm, at: MotionSamples, tip_wrench: ArrayLike | None = None, progress: Callable[[str, float], None] = silent
) -> tuple[Array, Array, Array]:
    """Torques (N, n) and bearing loads f, μ (N, n, 3) along a motion, computed in chunks."""
    tau, wrenches = np.empty(at.q.shape), np.empty((*at.q.shape, 6))
    h = at.push(tip_wrench)
    for start in range(0, len(at.t), CHUNK):
        part = slice(start, min(start + CHUNK, len(at.t)))
        state, model = (at.q[part], at.qd[part], at.qdd[part]), at.rows(part).model(arm)
        push = h[part] if h is not None and h.ndim > 1 else h
        with np.errstate(all="ignore"):
            tau[part] = model.inverse_dynamics(*state, push)
            bearings = model.joint_wrenches(*state, push)
            # for closed chains, those of the actuated joints
            wrenches[part] = np.take(bearings, arm.mechanism.actuated, axis=1)
        progress("torques and bearing loads", part.stop / len(at.t))
    check_finite(arm, at.t, tau)
    return tau, wrenches[..., :3], wrenches[..., 3:]
