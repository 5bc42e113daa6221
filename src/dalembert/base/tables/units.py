"""Units as written in tables, logs, data sheets and robot files, with their factors to the units of the model.

The model uses SI units, with three exceptions that all data sheets share: temperatures are in °C, gear life is in
hours, and a price is in the currency of the catalogue.
"""

from __future__ import annotations

import math
import re

DEGREE, TURN = math.pi / 180, 2.0 * math.pi
ARCMINUTE = DEGREE / 60.0

# {unit of the model: {unit: factor to the unit of the model}}; unit_among accepts other spellings of each
UNITS: dict[str, dict[str, float]] = {
    "m": {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "km": 1e3, "in": 0.0254},
    "rad": {"rad": 1.0, "deg": DEGREE, "°": DEGREE, "mrad": 1e-3, "arcmin": ARCMINUTE, "'": ARCMINUTE,
            "arcsec": ARCMINUTE / 60},
    "m/s": {"m/s": 1.0, "mm/s": 1e-3},
    "rad/s": {"rad/s": 1.0, "deg/s": DEGREE, "°/s": DEGREE, "mrad/s": 1e-3, "rpm": math.pi / 30, "r/min": TURN / 60,
              "rev/min": TURN / 60, "U/min": TURN / 60, "1/min": TURN / 60, "min-1": TURN / 60, "rps": TURN, "rev/s": TURN},
    "m/s²": {"m/s²": 1.0, "mm/s²": 1e-3},
    "rad/s²": {"rad/s²": 1.0, "deg/s²": DEGREE, "°/s²": DEGREE, "mrad/s²": 1e-3},
    "N": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
    "N m": {"N m": 1.0, "N mm": 1e-3, "mN m": 1e-3, "N cm": 1e-2, "kN m": 1e3, "N-m": 1.0, "oz in": 0.0070615518333,
            "oz-in": 0.0070615518333, "lb in": 0.112984829, "lb-in": 0.112984829, "lb ft": 1.3558179483,
            "lb-ft": 1.3558179483},
    "kg": {"kg": 1.0, "g": 1e-3, "t": 1e3, "lb": 0.45359237},
    "kg m²": {"kg m²": 1.0, "kg cm²": 1e-4, "kg mm²": 1e-6, "g cm²": 1e-7, "g mm²": 1e-9, "g m²": 1e-3,
              **{f"10-{power} kg m²": 10.0**-power for power in (3, 4, 5, 6, 7)}},
    "N s/m": {"N s/m": 1.0},
    "N m s/rad": {"N m s/rad": 1.0, "N m s": 1.0, "N m/(rad/s)": 1.0, "N m s/deg": 1 / DEGREE, "N m/rpm": 30 / math.pi},
    "s": {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    "h": {"h": 1.0, "hr": 1.0, "hours": 1.0},
    "A": {"A": 1.0, "mA": 1e-3, "A rms": 1.0},
    "ohm": {"ohm": 1.0, "Ω": 1.0, "mohm": 1e-3, "mΩ": 1e-3},
    "N m/A": {"N m/A": 1.0, "mN m/A": 1e-3, "N m/A rms": 1.0},
    "K/W": {"K/W": 1.0, "°C/W": 1.0},
    "°C": {"°C": 1.0, "degC": 1.0, "C": 1.0, "celsius": 1.0, "K": 1.0, "kelvin": 1.0},
    "N m/rad": {"N m/rad": 1.0, "kN m/rad": 1e3, "N m/arcmin": 1.0 / ARCMINUTE, "N m/deg": 1.0 / DEGREE},
    "rad/rad": {"rad/rad": 1.0, "1": 1.0, "-": 1.0},
    "rad/m": {"rad/m": 1.0, "1/m": 1.0},
    "1": {"": 1.0, "1": 1.0, "-": 1.0, ":1": 1.0, "%": 1e-2},
    "price": {"": 1.0, "EUR": 1.0, "€": 1.0, "USD": 1.0, "$": 1.0, "CHF": 1.0, "GBP": 1.0, "JPY": 1.0},
}  # fmt: skip
OFFSETS = {"K": -273.15, "kelvin": -273.15}  # added to give °C
LENGTH, ANGLE, MASS, INERTIA = UNITS["m"], UNITS["rad"], UNITS["kg"], UNITS["kg m²"]

# larger numbers without a unit are refused, because they are nearly always in degrees or millimetres
LONGEST = 20.0  # m, between two joints or along a link
WIDEST = 1.01 * 2 * math.pi  # rad; some arms have limits slightly beyond a full turn

# {unit: (largest plausible number in it, the unit that larger numbers are usually in, that unit in words)}
DOUBTS = {
    "m": (LONGEST, "mm", "millimetres"),
    "rad": (WIDEST, "deg", "degrees"),
    "rad/s": (50.0, "deg/s", "degrees per second"),
}

_MAGNITUDE = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
NUMBER = rf"[+-]?{_MAGNITUDE}"
_QUANTITY = re.compile(rf"\s*+({NUMBER})\s*+(.{{0,30}}+)")
# Blanks belong to what they follow and every repetition is possessive, so each character is visited once.
_ANGLE = re.compile(
    rf"\s*+(?:(?P<sign>[+-])\s*+)?(?:(?P<factor>{_MAGNITUDE})\s*+(?:\*\s*+)?)?(?:(?P<pi>pi|π)\s*+)?"
    rf"(?:/\s*+(?P<divisor>{_MAGNITUDE})\s*+)?(?:(?P<unit>deg|rad|°)\s*+)?"
)
# spellings of the same unit: words first, then characters
RESPELT = (("degrees", "deg"), ("degree", "deg"), ("radians", "rad"), ("/sec", "/s"), ("seconds", "s"))
CHARACTERS = dict.fromkeys(" ·*.⋅^×", "") | dict(zip("¹²³⁴⁵⁶⁷⁻−μ", "1234567--µ", strict=True))
_CHARACTERS = str.maketrans(CHARACTERS)


def plain(unit: str) -> str:
    """A unit in normalised spelling: N·m, Nm, N*m, deg/sec, degrees, rad/s^2 have many variants.

    >>> plain("N·m"), plain("degrees/sec^2"), plain("rad/s/s")
    ('nm', 'deg/s2', 'rad/s2')
    """
    word = unit.strip()
    for old, new in RESPELT:
        word = word.replace(old, new)
    return word.translate(_CHARACTERS).lower().replace("/s/s", "/s2")


def unit_among(known: dict[str, float], unit: str) -> str | None:
    """The unit in ``known`` of which ``unit`` is a spelling, or None.

    >>> unit_among(INERTIA, "kg·cm^2"), unit_among(LENGTH, "deg")
    ('kg cm²', None)
    """
    return unit if unit in known else next((word for word in known if plain(word) == plain(unit)), None)


def parse_quantity(text: str, units: dict[str, float]) -> float | None:
    """A number in units of the model from a string with one of these units, such as "40 mm"; None if it is not one.

    >>> parse_quantity("40 mm", LENGTH), parse_quantity("2.4 kN m", UNITS["N m"]), parse_quantity("0.5", LENGTH)
    (0.04, 2400.0, None)
    >>> parse_quantity("3000 rpm", UNITS["rad/s"]), parse_quantity("50 %", UNITS["1"]), parse_quantity("400 K", UNITS["°C"])
    (314.1592653589793, 0.5, 126.85000000000002)
    """
    match = _QUANTITY.fullmatch(text)
    unit = unit_among(units, match[2]) if match is not None else None
    return None if match is None or unit is None else float(match[1]) * units[unit] + OFFSETS.get(unit, -0.0)


def doubt(value: float, unit: str) -> str:
    """What is said of a number without a unit that is implausible in ``unit``; empty if it is plausible.

    >>> doubt(90.0, "rad")
    '90 rad, which looks like degrees; write "90 deg" if that is meant, or "90 rad" if not'
    """
    largest, usual, words = DOUBTS[unit]
    remedy = f'write "{value:g} {usual}" if that is meant, or "{value:g} {unit}" if not'
    return f"{value:g} {unit}, which looks like {words}; {remedy}" if abs(value) > largest else ""


def parse_angle(text: str) -> float | None:
    """An angle in radians from a string such as "pi/2", "-3 pi / 4", "90 deg", "1.2 rad"; None if it is not one.

    >>> parse_angle("-pi/2"), parse_angle("180 deg"), parse_angle("ninety")
    (-1.5707963267948966, 3.141592653589793, None)
    """
    match = _ANGLE.fullmatch(text)
    if match is None or not (match["factor"] or match["pi"]) or (match["pi"] and match["unit"]):
        return None
    divisor = float(match["divisor"] or 1)
    if divisor == 0 or math.isinf(divisor):
        return None
    value = float(match["factor"] or 1) * (math.pi if match["pi"] else 1.0) / divisor
    value = -value if match["sign"] == "-" else value
    return math.radians(value) if match["unit"] in ("deg", "°") else value
