"""Units used in tables and logs, by quantity, with their factors to SI."""

from __future__ import annotations

import math
import re

DEGREE = math.pi / 180
LENGTH = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
ANGLE = {"rad": 1.0, "deg": DEGREE, "°": DEGREE, "mrad": 1e-3}
SPEED = {"m/s": 1.0, "mm/s": 1e-3}
TURNING_SPEED = {"rad/s": 1.0, "deg/s": DEGREE, "°/s": DEGREE, "mrad/s": 1e-3, "rpm": math.pi / 30}
ACCELERATION = {"m/s²": 1.0, "mm/s²": 1e-3}
TURNING_ACCELERATION = {"rad/s²": 1.0, "deg/s²": DEGREE, "°/s²": DEGREE, "mrad/s²": 1e-3}
FORCE = {"N": 1.0, "mN": 1e-3, "kN": 1e3}
TORQUE = {"N m": 1.0, "N mm": 1e-3, "mN m": 1e-3, "N cm": 1e-2, "kN m": 1e3}
MASS = {"kg": 1.0, "g": 1e-3, "t": 1e3}
INERTIA = {"kg m²": 1.0, "kg cm²": 1e-4, "kg mm²": 1e-6, "g cm²": 1e-7, "g mm²": 1e-9, "g m²": 1e-3}
DAMPING = {"N s/m": 1.0}
TURNING_DAMPING = {"N m s/rad": 1.0, "N m s": 1.0, "N m/(rad/s)": 1.0, "N m s/deg": 1 / DEGREE, "N m/rpm": 30 / math.pi}

# larger numbers without a unit are refused, because they are nearly always in degrees or millimetres
LONGEST = 20.0  # m, between two joints or along a link
WIDEST = 1.01 * 2 * math.pi  # rad; some arms have limits slightly beyond a full turn

_QUANTITY = re.compile(r"\s*+([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)\s*+([^\s0-9].{0,20}+)")


def parse_quantity(text: str, units: dict[str, float]) -> float | None:
    """A number in SI units from a string with one of these units, such as "40 mm"; None if it is not one.

    >>> parse_quantity("40 mm", LENGTH), parse_quantity("2.4 kN m", TORQUE), parse_quantity("0.5", LENGTH)
    (0.04, 2400.0, None)
    """
    match = _QUANTITY.fullmatch(text)
    unit = unit_among(units, match[2]) if match is not None else None
    return None if match is None or unit is None else float(match[1]) * units[unit]


def plain(unit: str) -> str:
    """A unit in normalised spelling: N·m, Nm, N*m, deg/sec, degrees, rad/s^2 have many variants.

    >>> plain("N·m"), plain("degrees/sec^2"), plain("rad/s/s")
    ('nm', 'deg/s2', 'rad/s2')
    """
    word = unit.strip().replace("μ", "µ")
    for old, new in (("degrees", "deg"), ("degree", "deg"), ("radians", "rad"), ("/sec", "/s"), ("seconds", "s")):
        word = word.replace(old, new)
    word = "".join(c for c in word if c not in " ·*.⋅^").lower()
    return word.replace("²", "2").replace("/s/s", "/s2")


def unit_among(known: dict[str, float], unit: str) -> str | None:
    """The unit in ``known`` of which ``unit`` is a spelling, or None.

    >>> unit_among(INERTIA, "kg·cm^2"), unit_among(LENGTH, "deg")
    ('kg cm²', None)
    """
    return next((word for word in known if plain(word) == plain(unit)), None)
