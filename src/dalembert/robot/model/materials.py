"""Densities of common robot materials."""

from __future__ import annotations

import math
import re

from dalembert.base.tables.units import NUMBER, parse_quantity
from dalembert.base.wording import nearest, shown
from dalembert.errors import RobotError

MATERIALS = {  # kg/m³, typical alloys and grades
    "steel": 7850.0, "stainless steel": 7900.0, "cast iron": 7200.0, "aluminium": 2700.0, "aluminum": 2700.0,
    "magnesium": 1800.0, "titanium": 4430.0, "brass": 8500.0, "bronze": 8800.0, "copper": 8960.0,
    "carbon fibre": 1600.0, "carbon fiber": 1600.0, "glass fibre": 1900.0, "glass fiber": 1900.0,
    "pla": 1240.0, "abs": 1040.0, "petg": 1270.0, "nylon": 1140.0, "pom": 1410.0, "peek": 1300.0, "wood": 700.0,
}  # fmt: skip
DENSITY = {"kg/m³": 1.0, "kg/m3": 1.0, "g/cm³": 1e3, "g/cm3": 1e3, "kg/dm³": 1e3, "kg/dm3": 1e3}
LIGHTEST = 25.0  # kg/m³: a smaller number without a unit is refused, because it is usually in g/cm³


def density_of(value: object) -> float:
    """A density in kg/m³ from a number, a number with its unit, or the name of a material.

    >>> density_of("aluminium"), density_of("7.85 g/cm³"), density_of(1200)
    (2700.0, 7850.0, 1200.0)
    """
    has_unit = False
    if isinstance(value, str):
        word = value.strip().lower()
        if word in MATERIALS:
            return MATERIALS[word]
        density = parse_quantity(word, DENSITY)
        has_unit = density is not None
        value = density if has_unit else float(word) if re.fullmatch(NUMBER, word) else value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RobotError(
            f"the density is {shown(value)}; it must be a number in kg/m³, a number with its unit such as '2.7 g/cm³', or one "
            f"of {', '.join(MATERIALS)}{nearest(str(value), list(MATERIALS))}"
        )
    if 0 < value < LIGHTEST and not has_unit:
        raise RobotError(
            f"the density is {value:g} kg/m³, which looks like g/cm³; write {1000 * value:g} if it is, or '{value:g} kg/m³' "
            "if not"
        )
    if not (math.isfinite(value) and value > 0):
        raise RobotError(f"the density is {value:g} kg/m³; it must be a finite number above 0")
    return float(value)
