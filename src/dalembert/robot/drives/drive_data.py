"""Motors and gears with the quantities of their data sheets, and the rotor that follows from them.

Every field has a unit; a table in a robot file takes a number in that unit, or a string with another unit:
``rotor_inertia = "0.32 kg cm2"``. A field that is not given is unknown, and checks that need it are skipped.
"""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, field, fields
from itertools import pairwise
from typing import Any

from dalembert.base.algebra.records import settle
from dalembert.base.environment.short_repr import brief
from dalembert.base.files.file_bounds import LARGEST_NUMBER
from dalembert.base.wording import shown
from dalembert.errors import RobotError

THERMAL_CLASSES = {"A": 105.0, "E": 120.0, "B": 130.0, "F": 155.0, "H": 180.0}  # °C, IEC 60085
SMALLEST = 1e-15  # in SI units: below it, quotients of a few numbers leave the range of floating-point numbers
REFERENCE_AMBIENT = 40.0  # °C, and
REFERENCE_ALTITUDE = 1000.0  # m: ratings hold up to these, IEC 60034-1
PER_100_M = 0.01  # loss of continuous torque per 100 m above that: the manufacturers' usual rule

Points = tuple[tuple[float, float], ...]


def _known(unit: str, default: Any = None, *, zero: bool = False) -> Any:
    """A field with its unit; ``zero`` if 0 is an admissible value."""
    return field(default=default, metadata={"unit": unit, "zero": zero})


@dataclass(frozen=True)
class DrivePart:
    """Base class of motors and gears: a name, and numbers with units that are checked."""

    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise RobotError(f"{self.kind}: the name is {shown(self.name)}; it must be a string")
        for entry in self.numbers():
            value = getattr(self, entry.name)
            if value is not None:
                settle(self, **{entry.name: self._checked(entry, value)})

    @property
    def kind(self) -> str:
        """The words that messages use for it."""
        word = type(self).__name__.lower()
        return f"{word} '{self.name}'" if self.name else f"the {word}"

    @classmethod
    def numbers(cls) -> list[Field[Any]]:
        """The numeric fields, with their units."""
        return [entry for entry in fields(cls) if "unit" in entry.metadata]

    def _checked(self, entry: Field[Any], value: Any) -> float:
        unit = "" if entry.metadata["unit"] in ("1", "price") else entry.metadata["unit"]
        if isinstance(value, bool) or not (isinstance(value, int | float) or hasattr(value, "dtype")):
            allowed = f"a number in {unit}" if unit else "a number"
            raise RobotError(f"{self.kind}: '{entry.name}' is {shown(value)}; it must be {allowed}")
        number = float(value)
        signed = entry.metadata["unit"] == "°C" or entry.name == "ratio"
        zero = entry.metadata["zero"]
        if not (SMALLEST <= abs(number) <= LARGEST_NUMBER or (number == 0 and zero)) or (number < 0 and not signed):
            bound = "" if signed else " ≥ 0" if zero else " above 0"
            allowed = f"a finite number{' other than 0' if entry.name == 'ratio' else bound}"
            raise RobotError(
                f"{self.kind}: '{entry.name}' is {f'{number:g} {unit}'.strip()}; it must be {allowed}, of magnitude "
                f"{SMALLEST:g} to {LARGEST_NUMBER:g}"
            )
        return number


@brief
@dataclass(frozen=True)
class Motor(DrivePart):
    """A motor as described by its data sheet; ``None`` marks values missing from the data sheet.

    stall_torque, rated_torque, peak_torque   M0, Mn and Mmax (N m)
    rated_speed, max_speed                    (rad/s)
    continuous_curve, peak_curve              ((speed, torque), …) in rad/s and N m; by default the straight line
                                              from M0 through (rated_speed, Mn), and Mmax at every speed
    rotor_inertia (kg m²), mass (kg)
    torque_constant                           N m per A (RMS phase current; direct current for a DC motor)
    resistance                                between two terminals (Ω); ``phases`` is 3, or 1 for a DC motor
    max_current                               of the motor or its amplifier (A, RMS)
    thermal_class                             A, E, B, F or H: winding limit of 105, 120, 130, 155 or 180 °C
    winding_limit                             (°C), replaces the limit of the thermal class
    thermal_resistance                        winding to ambient (K/W)
    thermal_time_constant                     of the winding (s)
    ambient, altitude                         operating conditions (°C, m): derated above 40 °C and 1000 m
    derating                                  a further factor on the continuous torque, for instance for a seal
    brake_torque                              of the holding brake, at the shaft (N m)
    price                                     in any currency

    >>> motor = Motor("M1", stall_torque=1.4, rated_torque=1.27, rated_speed=314.0, rotor_inertia=3.2e-5)
    >>> motor.winding_temperature_limit, round(motor.torque_factor, 3)
    (155.0, 1.0)
    """

    stall_torque: float | None = _known("N m")
    rated_torque: float | None = _known("N m")
    peak_torque: float | None = _known("N m")
    rated_speed: float | None = _known("rad/s")
    max_speed: float | None = _known("rad/s")
    continuous_curve: Points = ()
    peak_curve: Points = ()
    rotor_inertia: float = _known("kg m²", 0.0, zero=True)
    mass: float = _known("kg", 0.0, zero=True)
    torque_constant: float | None = _known("N m/A")
    resistance: float | None = _known("ohm")
    phases: int = 3
    max_current: float | None = _known("A")
    thermal_class: str = "F"
    winding_limit: float | None = _known("°C")
    thermal_resistance: float | None = _known("K/W")
    thermal_time_constant: float | None = _known("s")
    ambient: float = _known("°C", REFERENCE_AMBIENT, zero=True)
    altitude: float = _known("m", 0.0, zero=True)
    derating: float = _known("1", 1.0)
    brake_torque: float | None = _known("N m")
    price: float | None = _known("price", zero=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, allowed in (("thermal_class", tuple(THERMAL_CLASSES)), ("phases", (1, 3))):
            if getattr(self, key) not in allowed:
                raise RobotError(
                    f"{self.kind}: '{key}' is {shown(getattr(self, key))}; it must be one of {', '.join(map(str, allowed))}"
                )
        settle(self, phases=int(self.phases))
        for key in ("continuous_curve", "peak_curve"):
            settle(self, **{key: self._points(key, getattr(self, key))})
        below = {"rated_torque": "peak_torque", "stall_torque": "peak_torque", "rated_speed": "max_speed"}
        for small, large in below.items():
            low, high = getattr(self, small), getattr(self, large)
            if low is not None and high is not None and high < low:
                unit = "N m" if large == "peak_torque" else "rad/s"
                raise RobotError(
                    f"{self.kind}: '{large}' is {high:g} {unit}, which is below '{small}', {low:g} {unit}; exchange them"
                )
        if self.winding_temperature_limit <= max(self.ambient, REFERENCE_AMBIENT):
            raise RobotError(
                f"{self.kind}: 'ambient' is {self.ambient:g} °C, but the winding limit is {self.winding_temperature_limit:g} °C; it "
                f"must be above the ambient temperature, and above {REFERENCE_AMBIENT:g} °C, up to which ratings hold"
            )
        if self.torque_factor <= 0:
            raise RobotError(
                f"{self.kind}: 'altitude' is {self.altitude:g} m, where derating leaves no torque; give the altitude in m"
            )

    def _points(self, key: str, value: Any) -> Points:
        """A curve: at least two points at increasing speeds."""
        try:
            points = tuple((float(n), float(T)) for n, T in value)
        except (TypeError, ValueError):
            points = ((math.nan, math.nan),)
        flat = [x for point in points for x in point]
        rising = all(a[0] < b[0] for a, b in pairwise(points))
        if points and (len(points) < 2 or not rising or not all(math.isfinite(x) and x >= 0 for x in flat)):
            raise RobotError(
                f"{self.kind}: '{key}' is {shown(value)}; it must be two or more points [speed in rad/s, torque in N m] at "
                "increasing speeds"
            )
        return points

    @property
    def winding_temperature_limit(self) -> float:
        """Largest winding temperature (°C): the given limit, or that of the thermal class."""
        return THERMAL_CLASSES[self.thermal_class] if self.winding_limit is None else self.winding_limit

    @property
    def torque_factor(self) -> float:
        """Derating factor of the continuous torque due to ambient temperature, altitude and ``derating`` (0 … 1).

        The admissible winding loss is proportional to the temperature rise above ambient, and the torque to its square
        root; above 1000 m the torque decreases by 1 % per 100 m.

        >>> round(Motor(ambient=55.0, altitude=2000.0).torque_factor, 4)
        0.8393
        """
        limit = self.winding_temperature_limit
        warm = math.sqrt((limit - max(self.ambient, REFERENCE_AMBIENT)) / (limit - REFERENCE_AMBIENT))
        high = 1.0 - PER_100_M * max(self.altitude - REFERENCE_ALTITUDE, 0.0) / 100.0
        return self.derating * warm * high

    @property
    def continuous_points(self) -> Points:
        """The continuous curve, ((speed, torque), …), before derating; empty if unknown."""
        if self.continuous_curve:
            return self.continuous_curve
        M0, Mn, nn = self.stall_torque, self.rated_torque, self.rated_speed
        if M0 is None and Mn is None:
            return ()
        if M0 is None or Mn is None or nn is None:
            level = min(M for M in (M0, Mn) if M is not None)
            return ((0.0, level), (self.max_speed or nn or 1.0, level))
        points = [(0.0, M0), (nn, Mn)]
        if self.max_speed is not None and self.max_speed > nn:  # extend the line as long as the torque is positive
            points.append((self.max_speed, max(Mn + (Mn - M0) / nn * (self.max_speed - nn), 0.0)))
        return tuple(points)

    @property
    def peak_points(self) -> Points:
        """The peak curve, ((speed, torque), …); empty if unknown."""
        if self.peak_curve or self.peak_torque is None:
            return self.peak_curve
        return ((0.0, self.peak_torque), (self.top_speed or 1.0, self.peak_torque))

    @property
    def top_speed(self) -> float | None:
        """The maximum speed (rad/s): max_speed, or the end of the curves, or rated_speed; None if unknown."""
        ends = [curve[-1][0] for curve in (self.peak_curve, self.continuous_curve) if curve]
        return self.max_speed if self.max_speed is not None else max(ends) if ends else self.rated_speed


@brief
@dataclass(frozen=True)
class Gear(DrivePart):
    """A gear as described by its catalogue; torques refer to its output, and ``None`` marks values not given there.

    ratio               i: motor turns per turn of the gear's output, signed
    lead                of the screw (or pinion) between the gear's output and a prismatic joint: travel per turn (m).
                        Without it the ``ratio`` of a prismatic joint is in rad/m, and output torques are unknown
    efficiency          of the gear under load, in addition to the joint friction: 0 … 1
    rated_torque        T2N (N m); average_torque is the limit of the mean torque if it differs (Harmonic Drive)
    acceleration_torque T2B: the repeated peak torque
    emergency_torque    T2Not: the momentary peak torque during an emergency stop
    rated_speed         input speed at which rated torque and life hold (rad/s)
    mean_input_speed, max_input_speed   (rad/s)
    backlash (rad), stiffness (N m/rad), tilting_moment (N m), axial_force, radial_force (N)
    life                L10 (h) at rated torque and rated speed: 7000 for Harmonic Drive's CSF, 6000 for RV gears
    life_exponent       3, or 10/3 for RV gears
    life_ratio          L50 / L10: 5 for strain wave gears
    inertia             at the input (kg m²); mass (kg); price in any currency

    >>> Gear("G120", ratio=120.0, efficiency=0.75, rated_torque=294.0).efficiency
    0.75
    """

    ratio: float = _known("1", 1.0)
    lead: float | None = _known("m")
    efficiency: float = _known("1", 1.0)
    rated_torque: float | None = _known("N m")
    average_torque: float | None = _known("N m")
    acceleration_torque: float | None = _known("N m")
    emergency_torque: float | None = _known("N m")
    rated_speed: float | None = _known("rad/s")
    mean_input_speed: float | None = _known("rad/s")
    max_input_speed: float | None = _known("rad/s")
    backlash: float | None = _known("rad", zero=True)
    stiffness: float | None = _known("N m/rad")
    tilting_moment: float | None = _known("N m")
    axial_force: float | None = _known("N")
    radial_force: float | None = _known("N")
    life: float | None = _known("h")
    life_exponent: float = _known("1", 3.0)
    life_ratio: float = _known("1", 5.0)
    inertia: float = _known("kg m²", 0.0, zero=True)
    mass: float = _known("kg", 0.0, zero=True)
    price: float | None = _known("price", zero=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.efficiency > 1:
            raise RobotError(
                f"{self.kind}: 'efficiency' is {self.efficiency:g}; it must be above 0 and at most 1 (or, for example, '70 %')"
            )

    @property
    def mean_torque_limit(self) -> float | None:
        """The limit of the mean torque (N m): ``average_torque``, or T2N if that is not given."""
        return self.rated_torque if self.average_torque is None else self.average_torque

    @property
    def lever(self) -> float:
        """Torque at the gear's output per unit of joint force: lead / 2π for a screw (m), otherwise 1."""
        return 1.0 if self.lead is None else self.lead / (2.0 * math.pi)

    @property
    def reduction(self) -> float:
        """k: ratio of motor speed to joint speed, signed; in rad/m for a prismatic joint.

        >>> round(Gear(ratio=2.0, lead=0.01).reduction, 1)  # a screw with 10 mm lead behind a 2 : 1 belt
        1256.6
        """
        return self.ratio / self.lever


def of_rotor(motor: Motor | None, gear: Gear | None) -> dict[str, float]:
    """Inertia, gear ratio and mass of the rotor formed by a motor and a gear: {field of Rotor: value}.

    >>> of_rotor(Motor(rotor_inertia=3e-5, mass=1.5), Gear(ratio=100.0, inertia=1e-5, mass=0.5))
    {'inertia': 4e-05, 'gear': 100.0, 'mass': 2.0}
    """
    motor, gear = motor or Motor(), gear or Gear()
    return {"inertia": motor.rotor_inertia + gear.inertia, "gear": gear.reduction, "mass": motor.mass + gear.mass}
