"""Quantities with units as found in data sheets, "0.32 kg cm2" or "3000 rpm", converted to the units of the model.

The model uses SI units, with three exceptions that all data sheets share: temperatures are in °C, gear life is in
hours, and a price is in the currency of the catalogue.
"""

from __future__ import annotations

import math
import re

from dalembert.errors import RobotError
from dalembert.robot.tables import shown

_TURN, _DEGREE = 2.0 * math.pi, math.pi / 180.0
_MINUTE = _DEGREE / 60.0  # arcminute

# {the model's unit: {unit as written, without blanks and periods: factor to the model's unit}}
UNITS: dict[str, dict[str, float]] = {
    "N m": {"Nm": 1.0, "mNm": 1e-3, "kNm": 1e3, "Ncm": 1e-2, "N-m": 1.0,
            **dict.fromkeys(("ozin", "oz-in"), 0.0070615518333), **dict.fromkeys(("lbin", "lb-in"), 0.112984829),
            **dict.fromkeys(("lbft", "lb-ft"), 1.3558179483)},
    "rad/s": {"rad/s": 1.0, "rpm": _TURN / 60, "r/min": _TURN / 60, "1/min": _TURN / 60, "min-1": _TURN / 60,
              "U/min": _TURN / 60, "rev/min": _TURN / 60, "rps": _TURN, "rev/s": _TURN, "deg/s": _DEGREE, "°/s": _DEGREE},
    "kg m²": {"kgm2": 1.0, "kgcm2": 1e-4, "kgmm2": 1e-6, "gcm2": 1e-7, "gmm2": 1e-9, "gm2": 1e-3,
              **{f"10-{power}kgm2": 10.0**-power for power in (3, 4, 5, 6, 7)}},
    "kg": {"kg": 1.0, "g": 1e-3, "lb": 0.45359237},
    "A": {"A": 1.0, "Arms": 1.0, "mA": 1e-3},
    "ohm": {"ohm": 1.0, "Ω": 1.0, "mohm": 1e-3, "mΩ": 1e-3},
    "N m/A": {"Nm/A": 1.0, "Nm/Arms": 1.0, "mNm/A": 1e-3},
    "K/W": {"K/W": 1.0, "°C/W": 1.0},
    "°C": {"°C": 1.0, "C": 1.0, "degC": 1.0},
    "s": {"s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0},
    "h": {"h": 1.0, "hr": 1.0, "hours": 1.0},
    "m": {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "in": 0.0254, "km": 1e3},
    "N": {"N": 1.0, "kN": 1e3},
    "rad": {"rad": 1.0, "deg": _DEGREE, "°": _DEGREE, "arcmin": _MINUTE, "'": _MINUTE, "arcsec": _MINUTE / 60},
    "N m/rad": {"Nm/rad": 1.0, "kNm/rad": 1e3, "Nm/arcmin": 1.0 / _MINUTE, "Nm/deg": 1.0 / _DEGREE},
    "1": {"": 1.0, "1": 1.0, "-": 1.0, ":1": 1.0, "%": 1e-2},
    "price": {"": 1.0, "EUR": 1.0, "€": 1.0, "USD": 1.0, "$": 1.0, "CHF": 1.0, "GBP": 1.0, "JPY": 1.0},
}  # fmt: skip

_QUANTITY = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(.*?)\s*")
_SAME = str.maketrans(
    {"·": "", "×": "", "*": "", " ": "", "^": "", "⁻": "-", "−": "-", "\u00b5": "μ"}
    | dict(zip("¹²³⁴⁵⁶⁷", "1234567", strict=True))
)


def factor(written: str, unit: str, what: str) -> float:
    """The factor from the ``written`` unit to ``unit``, the unit of the model.

    >>> factor("kg cm²", "kg m²", "J"), factor("Nm", "N m", "Mn")
    (0.0001, 1.0)
    """
    known = UNITS[unit]
    compact = written.translate(_SAME)
    lower = {name.lower(): name for name in known}
    name = compact if compact in known else lower.get(compact.lower())
    if name is None:
        raise RobotError(f"{what} is in '{written}'; the allowed units are {', '.join(x for x in known if x)}")
    return known[name]


def quantity(value: str, unit: str, what: str) -> float:
    """The value of a number with a unit, converted to ``unit``, the unit of the model.

    >>> quantity("3000 rpm", "rad/s", "rated_speed")
    314.1592653589793
    >>> quantity("1.27 N m", "N m", "rated_torque"), quantity("50 %", "1", "efficiency")
    (1.27, 0.5)
    """
    match = _QUANTITY.fullmatch(value)
    if match is None:
        raise RobotError(f"{what} is {shown(value)}; it must be a number with a unit, such as '1.5 {unit}'")
    if not match[2] and "" not in UNITS[unit]:
        raise RobotError(
            f"{what} is {shown(value)}, a string without a unit; write '{match[1]} {unit}', or a number in {unit}"
        )
    return float(match[1]) * factor(match[2], unit, what)
