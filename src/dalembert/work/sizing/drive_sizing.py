"""Motors and gears under a motion: utilisation, heat, life, brakes, and a traffic light for every joint.

The torque τ of a joint consists of the load torque T2 at the gear output and of the torque that spins the rotor:

    τ = T2 + k (J ω̇_m + rotor friction),   ω̇_m = k q̈ + ω̇_{i−1}·z_m,   S (7.111), (7.114)

J is the inertia of motor and gear at the motor shaft, and k the gear ratio. Through a gear with efficiency η, the
motor torque depends on the direction of the power T2 q̇,

    T_m = J ω̇_m + friction + T2 / (k η)    where the motor drives the load
    T_m = J ω̇_m + friction + T2 η / k      where the load drives the motor

At a time at which the joint starts or stops, the direction is that of the adjacent motion; where it
reverses, it is the one with the higher torque; where it stays at rest, the gear holds without losses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array
from dalembert.base.text_tables import csv_text
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import INERTIAL, WIDTH
from dalembert.robot.drives.drive_data import REFERENCE_AMBIENT, Gear, Motor, of_rotor
from dalembert.robot.model.robot import Rotor
from dalembert.work.sizing.drive_formulas import (
    RPM,
    at_output,
    curve_at,
    durations,
    energies,
    gear_life,
    mean_speed,
    mean_torque,
    rms_torque,
    through_gear,
)
from dalembert.work.sizing.motion_samples import MotionSamples
from dalembert.work.trajectory.planning.limits import ROUNDING
from dalembert.work.trajectory.timing.scaling import coulomb

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELEGATES = {"plot": "views.report.drive_figures:figure_of", "_repr_html_": "views.report.notebook:drives_html"}

CHUNK = 1 << 12  # samples whose regressors are computed at a time
BRAKE_FACTOR = 1.5  # required brake torque over the largest gravity torque
GREEN, AMBER = 0.2, 0.0  # smallest margins for the colours of the traffic light
LIGHTS = ("green", "amber", "red")


# -- checks ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """One requirement on a drive compared with its rating: ``value`` of ``limit``, both in ``unit``.

    at      the time (s) of a peak; NaN for means
    more    True if more is better, as for life and brake torque
    """

    name: str
    value: float
    limit: float
    unit: str
    at: float = math.nan
    more: bool = False

    @property
    def used(self) -> float:
        """Utilisation: 1 is all that is allowed."""
        need, have = (self.limit, self.value) if self.more else (self.value, self.limit)
        return need / have if have > 0 else (math.inf if need > 0 else 0.0)

    @property
    def margin(self) -> float:
        """Remaining share of the limit; negative if it is exceeded."""
        return 1.0 - self.used

    @property
    def light(self) -> str:
        """green (a margin of at least 20 %), amber, or red."""
        return light_of(self.margin)

    @property
    def per_cent(self) -> str:
        """Utilisation in per cent; never shown as 100 for a value above the limit.

        >>> Check("speed", 3000.4, 3000.0, "rpm").per_cent, Check("speed", 3000.0, 3000.0, "rpm").per_cent
        ('100.1', '100')
        """
        if not math.isfinite(self.used):
            return "∞"
        rounded = round(100 * self.used)
        above = rounded <= 100 and self.used > 1 + ROUNDING
        return f"{math.ceil(1000 * self.used) / 10:.1f}" if above else f"{rounded}"

    @property
    def sentence(self) -> str:
        """The required and the allowed value in words."""
        when = "" if math.isnan(self.at) else f" at t = {self.at:.4g} s"
        scale, unit = (1 / RPM, "rpm") if self.unit == "rad/s" else (1.0, self.unit)
        verb = "of required" if self.more else "of"
        value, limit = _figures(self.value * scale), _figures(self.limit * scale)
        return f"{self.name} {value}{when} {verb} {limit} {unit}, {self.per_cent} %"


def _figures(value: float) -> str:
    """A number with four significant digits, without powers of ten below a billion."""
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def light_of(margin: float) -> str:
    """Colour of the traffic light for a margin.

    >>> light_of(0.3), light_of(0.1), light_of(-1e-12), light_of(-0.01)
    ('green', 'amber', 'amber', 'red')
    """
    return LIGHTS[0] if margin >= GREEN - ROUNDING else LIGHTS[1] if margin >= AMBER - ROUNDING else LIGHTS[2]


@dataclass(frozen=True, eq=False)
class JointLoad:
    """What the drive of one joint must move along a motion, (N,) each.

    load_torque, load_speed      T2 and q̇ at the gear output
    carrier                      ω̇_{i−1}·z_m, the contribution of the carrying link to the rotor's spin
    load_inertia, gravity        of the load at the joint
    bearings                     axial and radial force and tilting moment, as magnitudes
    slides                       whether the joint is prismatic
    """

    joint: str
    t: Array
    load_torque: Array
    load_speed: Array
    load_acceleration: Array
    carrier: Array
    load_inertia: Array
    gravity: Array
    bearings: tuple[Array, ...]
    slides: bool


@dataclass(frozen=True, eq=False)
class DriveSizing(JointLoad):
    """Demands of a motion on the motor and the gear of one joint; arrays are over its samples (N,).

    motor_torque, motor_speed    at the shaft, including gear losses and rotor inertia
    inertia_ratio                (smallest, largest) load inertia / motor inertia over the motion
    mean_torque, mean_speed      of the gear: T_av at its output (N m) and the mean input speed (rad/s)
    life_10, life_50             (h)
    current_peak, current_rms    (A); copper_loss, the mean heat of the winding (W); temperature, its peak (°C)
    regenerated                  energy returned to the supply in one cycle (J)
    holding_torque               at the shaft, the largest gravity torque along the motion (N m)
    twist, lost_motion           of the gear under the peak load, and half its backlash (rad)
    checks                       all checks that the data sheets allow
    """

    motor: Motor | None
    gear: Gear | None
    friction: Array
    motor_torque: Array
    motor_speed: Array
    inertia_ratio: tuple[float, float]
    mean_torque: float
    mean_speed: float
    life_10: float
    life_50: float
    current_peak: float
    current_rms: float
    copper_loss: float
    temperature: float
    regenerated: float
    holding_torque: float
    twist: float
    lost_motion: float
    torque_rms: float
    checks: tuple[Check, ...]

    @property
    def output_torque(self) -> Array:
        """T2 at the gear output (N,); for a prismatic joint from the lead of its screw, NaN if that is unknown."""
        return at_output(self.gear, self.load_torque, slides=self.slides)

    def __repr__(self) -> str:
        return f"<DriveSizing of {self.joint}: {self.light}, {self.verdict}>"

    @property
    def deciding(self) -> Check | None:
        """The check with the smallest margin."""
        return min(self.checks, key=lambda check: check.margin, default=None)

    @property
    def margin(self) -> float:
        """Smallest margin of all checks; NaN if there are no checks."""
        return math.nan if self.deciding is None else self.deciding.margin

    @property
    def light(self) -> str:
        """The traffic light of the joint; "unknown" if there are no checks."""
        return "unknown" if self.deciding is None else self.deciding.light

    @property
    def verdict(self) -> str:
        """The deciding check in a sentence."""
        return "the motor and gear data do not allow any check" if self.deciding is None else self.deciding.sentence

    @property
    def inertia(self) -> float:
        """J at the motor shaft, of motor and gear (kg m²)."""
        return of_rotor(self.motor, self.gear)["inertia"]

    def check(self, name: str) -> Check:
        """The check with this name."""
        checks = {check.name: check for check in self.checks}
        if name not in checks:
            raise DalembertError(f"joint '{self.joint}' has no check '{name}'; its checks are {', '.join(checks)}")
        return checks[name]

    def sweep(self, ratios: ArrayLike | None = None) -> GearSweep:
        """Requirements on the motor for other gear ratios, with the same efficiency and motor friction.

        The load torque at this joint stays the same; the effect of the rotor's spin on other joints is
        not included here (``da.select_drives`` includes it).
        """
        if self.inertia <= 0:
            raise DalembertError(
                f"joint '{self.joint}' has a motor without rotor inertia, so there is no optimal gear ratio; give the "
                "rotor inertia"
            )
        gear = self.gear or Gear()
        own, lever = abs(gear.ratio), gear.lever
        weights = durations(self.t)
        pull, swing = rms_torque(weights, self.load_torque), self.inertia * rms_torque(weights, self.load_acceleration)
        near = [own, lever * math.sqrt(pull / swing)] if pull > 0 and swing > 0 else [own]  # around the optimum
        at = np.geomspace(min(near) / 4, max(near) * 4, 201) if ratios is None else np.asarray(ratios, float)
        if at.ndim != 1 or not len(at) or not (at > 0).all():
            raise DalembertError(f"ratios must be a list of numbers above 0, not {ratios!r}")
        load = through_gear(Gear(efficiency=gear.efficiency), self.load_torque, self.load_speed)
        k = (-at if gear.ratio < 0 else at)[:, None] / lever
        torque = self.inertia * (k * self.load_acceleration + self.carrier) + self.friction + load / k
        speed = k * self.load_speed
        rms = np.sqrt(torque**2 @ weights / weights.sum())
        mean = np.abs(speed) @ weights / weights.sum()
        shares = _shares_of(self.motor or Motor(), torque, speed, rms, mean)
        most, fastest = np.abs(torque).max(axis=1), np.abs(speed).max(axis=1)
        return GearSweep(self.joint, self.motor, own, at, most, rms, fastest, shares)


def _shares_of(motor: Motor, torque: Array, speed: Array, rms: Array, mean: Array) -> Array:
    """Largest utilisation of a motor's speed, peak and continuous torque, as far as these are known: (M,)."""
    shares = [np.zeros(len(rms))]
    if motor.top_speed is not None:
        shares.append(np.abs(speed).max(axis=1) / motor.top_speed)
    with np.errstate(divide="ignore", invalid="ignore"):
        if motor.peak_points:
            peak = np.abs(torque) / curve_at(motor.peak_points, speed)
            shares.append(np.where(torque == 0, 0.0, peak).max(axis=1))
        if motor.continuous_points:
            level = curve_at(motor.continuous_points, mean) * motor.torque_factor
            shares.append(np.where(rms == 0, 0.0, rms / level))
    return np.asarray(np.max(shares, axis=0))


class DrawnDrives:
    """Base of results that are plotted as drives: speed–torque diagrams, or a sweep over gear ratios."""

    def plot(self) -> Figure:
        """A matplotlib Figure: speed–torque diagrams of motor and load; for a sweep, torque and speed over the ratio."""
        return delegate(DELEGATES, "plot")(self)


@dataclass(frozen=True, eq=False)
class GearSweep(DrawnDrives):
    """Peak and RMS torque and top speed of a motor over gear ratios, and the utilisation of its limits: (M,) each."""

    joint: str
    motor: Motor | None
    fitted: float
    ratio: Array
    peak: Array
    rms: Array
    speed: Array
    used: Array

    def __repr__(self) -> str:
        return f"<GearSweep of {self.joint}: least RMS torque {self.rms.min():.4g} N m at ratio {self.optimum:.4g}>"

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """Ratios for which the known speed, peak torque and continuous torque of the motor suffice: (M,)."""
        return self.used <= 1.0

    @property
    def optimum(self) -> float:
        """The ratio with the smallest RMS torque."""
        return float(self.ratio[np.argmin(self.rms)])

    @property
    def best(self) -> float:
        """The ratio with the smallest RMS torque among those that the motor allows; NaN if there is none."""
        best = np.argmin(np.where(self.allowed, self.rms, np.inf))
        return float(self.ratio[best]) if self.allowed.any() else math.nan


@dataclass(frozen=True, eq=False)
class Drives(DrawnDrives):
    """The drives of an arm under a motion, for those of its joints that have a motor or gear."""

    joints: tuple[DriveSizing, ...]
    peak_torque: Array  # of every joint of the arm, for quantiles
    rms_torque: Array
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lights = [drive.light for drive in self.joints]
        shown = ", ".join(f"{lights.count(x)} {x}" for x in (*LIGHTS, "unknown") if x in lights)
        return f"<Drives of {len(self.joints)} joints: {shown}>"

    def __iter__(self) -> Any:
        return iter(self.joints)

    def __len__(self) -> int:
        return len(self.joints)

    def __getitem__(self, joint: str | int) -> DriveSizing:
        if isinstance(joint, int):
            return self.joints[joint]
        drives = {drive.joint: drive for drive in self.joints}
        if joint not in drives:
            raise DalembertError(f"joint '{joint}' has no drive; joints with a drive are {', '.join(drives)}")
        return drives[joint]

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)

    @property
    def lights(self) -> dict[str, str]:
        """{joint: colour}."""
        return {drive.joint: drive.light for drive in self.joints}

    def sweep(self, joint: str | int, ratios: ArrayLike | None = None) -> GearSweep:
        """The gear-ratio sweep of one joint: :meth:`DriveSizing.sweep`."""
        return self[joint].sweep(ratios)

    def margins(self, quantiles: Mapping[str, ArrayLike] | None = None) -> dict[str, dict[str, float]]:
        """{joint: {check: margin}}.

        quantiles  of the arm's joint torques under tolerances, {"peak": (n,), "rms": (n,), "holding": (n,)}, the last
                   for gravity alone, as ``da.monte_carlo(…).quantiles(0.95)`` returns them: the requirements on torque,
                   heat, life and brakes are scaled by their ratio to the nominal torques, joint by joint. Speeds,
                   bearing loads and emergency torques are those of the file
        """
        hold = {drive.joint: drive.holding_torque * abs((drive.gear or Gear()).reduction) for drive in self.joints}
        holding = np.array([hold.get(name, 0.0) for name in self.names])
        nominal = {"peak": self.peak_torque, "rms": self.rms_torque, "holding": holding}
        factors = {}
        for key, value in (quantiles or {}).items():
            if key not in nominal or np.shape(value) != nominal[key].shape:
                raise DalembertError(
                    f"quantiles['{key}'] has shape {np.shape(value)}; quantiles are {', '.join(map(repr, nominal))}, each of shape "
                    f"({len(self.names)},), one value per joint"
                )
            ratio = np.asarray(value, float) / np.where(nominal[key] > 0, nominal[key], 1.0)
            factors[key] = dict(zip(self.names, np.where(nominal[key] > 0, ratio, 1.0).tolist(), strict=True))

        def margin(drive: DriveSizing, check: Check) -> float:
            powers = {"gear life L10": (drive.gear or Gear()).life_exponent, "winding temperature rise": 2.0}
            factor = factors.get(SCALED.get(check.name, ""), {}).get(drive.joint, 1.0)
            return 1.0 - check.used * factor ** powers.get(check.name, 1.0)

        return {drive.joint: {check.name: margin(drive, check) for check in drive.checks} for drive in self.joints}

    def table(self) -> list[dict[str, Any]]:
        """One row per joint with a drive, {column: value}, for data frames and CSV."""
        rows = []
        for drive in self.joints:
            row: dict[str, Any] = {"joint": drive.joint, "light": drive.light, "deciding": drive.verdict}
            row |= {"motor": drive.motor.name if drive.motor else "", "gear": drive.gear.name if drive.gear else ""}
            row |= {name: getattr(drive, name) for name in SUMMARY}
            row["inertia_ratio_least"], row["inertia_ratio_most"] = drive.inertia_ratio
            row |= {f"{check.name} used": check.used for check in drive.checks}
            rows.append(row)
        return rows

    def csv(self) -> str:
        """The table as CSV; unknown values are empty cells."""
        return csv_text(self.table())


SUMMARY = (
    *("torque_rms", "mean_torque", "mean_speed", "life_10", "life_50", "current_peak", "current_rms", "copper_loss"),
    *("temperature", "regenerated", "holding_torque", "twist", "lost_motion"),
)
# the quantile of the joint torque that scales a check
SCALED = {
    **dict.fromkeys(("motor peak torque", "peak current", "gear acceleration torque"), "peak"),
    **dict.fromkeys(("motor RMS torque", "gear mean torque", "winding temperature rise", "gear life L10"), "rms"),
    "holding brake": "holding",
}


# -- evaluation along a motion -----------------------------------------------------------------------


@dataclass(frozen=True)
class DriveRules:
    """What drives must satisfy: the required ``life`` of gears (h), the safety factor of holding brakes over gravity, the
    ``margin`` that every check must leave, and the largest ratio of load inertia to motor inertia."""

    life: float | None = None
    brake_factor: float = BRAKE_FACTOR
    margin: float = 0.0
    inertia_ratio: float | None = None

    def __post_init__(self) -> None:
        for name in ("life", "brake_factor", "inertia_ratio"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise DalembertError(f"{name} is {value!r}; it must be a number above 0")
        if not 0 <= self.margin < 1:
            raise DalembertError(
                f"margin is {self.margin!r}; it must be the share that every check must leave, from 0 to below 1"
            )


def drives_of(
    arm: Arm, at: MotionSamples, tau: Array, bearings: tuple[Array, Array, Array], rules: DriveRules
) -> Drives | None:
    """The drives of ``arm`` under torques tau (N, n) and bearing loads (axial, radial, tilting), (N, n) each."""
    joints = arm.robot.moving_joints
    driven = [i for i, joint in enumerate(joints) if joint.motor is not None or joint.gear is not None]
    if not driven:
        return None
    carrier = carrier_accelerations(arm, at, driven)
    model = at.model(arm)
    gravity, B = model.gravity_torque(at.q), model.inertia_matrix(at.q)
    out = []
    for place, i in enumerate(driven):
        joint, rotor = joints[i], joints[i].rotor
        assert rotor is not None
        k, qd, qdd = rotor.gear, at.qd[:, i], at.qdd[:, i]
        gear = None if joint.gear is None else replace(joint.gear, ratio=math.copysign(joint.gear.ratio, k))
        friction = rotor_friction(rotor, k * qd)
        torque = tau[:, i] - k * (rotor.inertia * (k * qdd + carrier[:, place]) + friction)
        load = JointLoad(
            joint.name, at.t, torque, qd, qdd, carrier[:, place],
            load_inertia=np.maximum(B[:, i, i] - k * k * rotor.inertia, 0.0), gravity=gravity[:, i],
            bearings=tuple(np.abs(x[:, i]) for x in bearings), slides=joint.type == "prismatic",
        )  # fmt: skip
        out.append(judged(load, joint.motor, gear, friction, rules))
    weights = durations(at.t)
    rms = np.sqrt(weights @ tau**2 / weights.sum())
    return Drives(tuple(out), np.abs(tau).max(axis=0), rms, arm.joint_names)


def carrier_accelerations(arm: Arm, at: MotionSamples, which: Sequence[int]) -> Array:
    """ω̇_{i−1}·z_m for some joints (N, len(which)): the contribution of the carrying link to the rotor's spin.

    From the regressor's column of I_m, which is k (k q̈ + ω̇_{i−1}·z_m) in the joint's own row; for closed chains from
    that of their tree.
    """
    places = np.array(arm.mechanism.actuated)[list(which)]
    k = np.array([arm.mechanism.tree.bodies[place].gear for place in places], float)
    chunks = []
    for start in range(0, len(at.t), CHUNK):
        part = slice(start, start + CHUNK)
        state = arm.tree_motion(at.q[part], at.qd[part], at.qdd[part])
        rotors = arm.tree.regressor(*state)[:, places, places * WIDTH + len(INERTIAL)]
        chunks.append(rotors / k - k * state[2][:, places])
    return np.concatenate(chunks)


def rotor_friction(rotor: Rotor | None, speed: Array) -> Array:
    """Viscous and Coulomb friction of a rotor at the motor shaft (N,), as far as the robot file specifies it."""
    if rotor is None:
        return np.zeros(len(speed))
    return rotor.viscous * speed + coulomb(speed, *rotor.coulomb)


def judged(load: JointLoad, motor: Motor | None, gear: Gear | None, friction: Array, rules: DriveRules) -> DriveSizing:
    """A motor and a gear under the load of one joint, with the ``friction`` (N,) of the rotor at the motor shaft."""
    part, geared, t = motor or Motor(), gear or Gear(), load.t
    k, J, weights = geared.reduction, part.rotor_inertia + geared.inertia, durations(load.t)
    # a prismatic joint without a known screw has a force, but no torque at the gear output
    output = at_output(geared, load.load_torque, slides=load.slides)
    speed, T2 = k * load.load_speed, through_gear(geared, load.load_torque, load.load_speed)
    torque = J * (k * load.load_acceleration + load.carrier) + friction + T2
    rotor = part.rotor_inertia
    ratios = (load.load_inertia / k**2 + geared.inertia) / rotor if rotor > 0 else np.full(len(t), np.nan)
    T_av, n_av = mean_torque(weights, output, load.load_speed, geared.life_exponent), mean_speed(weights, speed)
    L10 = gear_life(geared, T_av, n_av)
    weight, most = float(np.abs(load.gravity).max()), float(np.abs(load.load_torque).max())
    drive = DriveSizing(
        **vars(load),
        motor=motor,
        gear=gear,
        friction=friction,
        motor_torque=torque,
        motor_speed=speed,
        inertia_ratio=(float(ratios.min()), float(ratios.max())),
        mean_torque=T_av,
        mean_speed=n_av,
        life_10=L10,
        life_50=L10 * geared.life_ratio,
        holding_torque=weight / abs(k) if weight > 1e-12 * most else 0.0,  # ignore rounding errors
        twist=float(np.abs(output).max()) / (math.nan if geared.stiffness is None else geared.stiffness),
        lost_motion=(math.nan if geared.backlash is None else geared.backlash) / 2,
        torque_rms=rms_torque(weights, torque),
        checks=(),
        **_electric(part, t, weights, torque, speed),
    )
    stop = geared.lever * _emergency_torque(part, k, J, load)
    return replace(drive, checks=tuple(_checks(drive, part, geared, stop, rules)))


def _checks(drive: DriveSizing, motor: Motor, gear: Gear, stop: float, rules: DriveRules) -> Iterator[Check]:
    """Every check that the data allow; ``stop`` is the torque at the gear output in an emergency stop (N m)."""
    torque, speed, output = (np.abs(x) for x in (drive.motor_torque, drive.motor_speed, drive.output_torque))
    axial, radial, tilting = drive.bearings

    def check(name: str, value: float, limit: float | None, unit: str, at: float = math.nan) -> list[Check]:
        return [] if limit is None or math.isnan(value) else [Check(name, value, limit, unit, at)]

    def peak(name: str, x: Array, limit: float | None, unit: str) -> list[Check]:
        at = int(np.argmax(x))
        return check(name, float(x[at]), limit, unit, float(drive.t[at]))

    if motor.peak_points:
        allowed = curve_at(motor.peak_points, speed)
        with np.errstate(divide="ignore", invalid="ignore"):
            at = int(np.argmax(np.where(torque > 0, torque / allowed, 0.0)))
        yield Check("motor peak torque", float(torque[at]), float(allowed[at]), "N m", float(drive.t[at]))
    if motor.continuous_points:
        continuous = float(curve_at(motor.continuous_points, drive.mean_speed)) * motor.torque_factor
        yield Check("motor RMS torque", drive.torque_rms, continuous, "N m")
    yield from peak("motor speed", speed, motor.top_speed, "rad/s")
    yield from check("peak current", drive.current_peak, motor.max_current, "A", float(drive.t[int(np.argmax(torque))]))
    own_heat = motor.thermal_resistance is not None and not math.isnan(drive.copper_loss)
    if own_heat or (motor.thermal_time_constant is not None and motor.continuous_points):
        # without thermal data of its own, the temperature is equivalent to the RMS torque
        most = motor.winding_temperature_limit - motor.ambient
        yield Check("winding temperature rise", drive.temperature - motor.ambient, most, "K")
    yield from check("holding brake", drive.holding_torque * rules.brake_factor, motor.brake_torque, "N m")
    yield from peak("gear acceleration torque", output, gear.acceleration_torque, "N m")
    yield from peak("gear input speed", speed, gear.max_input_speed, "rad/s")
    yield from peak("gear axial force", axial, gear.axial_force, "N")
    yield from peak("gear radial force", radial, gear.radial_force, "N")
    yield from peak("gear tilting moment", tilting, gear.tilting_moment, "N m")
    if not np.isnan(output).any():
        yield from check("gear mean torque", drive.mean_torque, gear.mean_torque_limit, "N m")
    yield from check("gear mean input speed", drive.mean_speed, gear.mean_input_speed, "rad/s")
    if not np.isnan(output).any():
        yield from check("gear emergency torque", max(stop, float(output.max())), gear.emergency_torque, "N m")
    if rules.life is not None and not math.isnan(drive.life_10):
        yield Check("gear life L10", drive.life_10, rules.life, "h", more=True)


def _emergency_torque(motor: Motor, k: float, J: float, load: JointLoad) -> float:
    """Torque at the gear output when the holding brake stops the joint (N m): the largest along the motion, for
    this joint alone, whose rotor takes its share of it. The stop of the drive itself is limited by its current."""
    if motor.brake_torque is None:
        return 0.0
    own = k * k * J
    share = load.load_inertia / (load.load_inertia + own) if own > 0 else np.ones(len(load.t))
    return float((share * abs(k) * motor.brake_torque + (1 - share) * np.abs(load.gravity)).max())


def _electric(motor: Motor, t: Array, weights: Array, torque: Array, speed: Array) -> dict[str, Any]:
    """Current, heat and regenerated energy, as far as the motor data determine them."""
    current = torque / (motor.torque_constant or math.nan)
    # there are two phases in series between two terminals of a star connection: 3 I² R/2
    loss = (1.5 if motor.phases == 3 else 1.0) * (motor.resistance or math.nan) * current**2
    known = np.nan_to_num(loss)
    return {
        "current_peak": float(np.abs(current).max()),
        "current_rms": rms_torque(weights, current),
        "copper_loss": float(weights @ loss / weights.sum()),
        "temperature": _temperature(motor, t, weights, torque, speed, known),
        # mechanical power returned through the shaft, minus what the winding converts to heat
        "regenerated": float(energies(t, (torque * speed + known)[:, None])[1][0]),
    }


def _temperature(motor: Motor, t: Array, weights: Array, torque: Array, speed: Array, loss: Array) -> float:
    """Peak winding temperature (°C) of the cycle repeated indefinitely."""
    if motor.thermal_resistance is not None and loss.any():
        rise = motor.thermal_resistance * loss
    elif motor.continuous_points:
        # the derated continuous torque brings the winding to its limit, and heat grows with the square of the torque
        continuous = np.maximum(curve_at(motor.continuous_points, mean_speed(weights, speed)), 1e-300)
        most = motor.winding_temperature_limit - max(motor.ambient, REFERENCE_AMBIENT)
        rise = most * (torque / (continuous * motor.torque_factor)) ** 2
    else:
        return math.nan
    mean = float(weights @ rise / weights.sum())
    if motor.thermal_time_constant is None or t[-1] == t[0]:
        return motor.ambient + mean
    return motor.ambient + periodic_peak(t, rise, motor.thermal_time_constant)


def periodic_peak(t: Array, rise: Array, constant: float) -> float:
    """Peak of θ with constant · θ' = rise − θ when the cycle is repeated indefinitely.

    >>> t = np.linspace(0.0, 10.0, 1001)
    >>> round(periodic_peak(t, np.full(1001, 50.0), 30.0), 6)
    50.0
    """
    decay = np.exp(-np.diff(t) / constant)
    middle = (rise[:-1] + rise[1:]) / 2

    def run(start: float) -> tuple[float, float]:
        value = most = start
        for a, x in zip(decay.tolist(), middle.tolist(), strict=True):
            value = a * value + (1 - a) * x
            most = max(most, value)
        return value, most

    whole = math.exp(-float(t[-1] - t[0]) / constant)
    start = run(0.0)[0] / (1.0 - whole)
    return run(start)[1]
