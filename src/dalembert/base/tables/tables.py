"""Angles written in words, the place of an error, and the words of :mod:`dalembert.base.tables.wording`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager

from dalembert.base.tables.wording import nearest, shown, some
from dalembert.errors import RobotError

# Blanks belong to what they follow and every repetition is possessive, so each character is visited once.
_NUMBER = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_ANGLE = re.compile(
    rf"\s*+(?:(?P<sign>[+-])\s*+)?(?:(?P<factor>{_NUMBER})\s*+(?:\*\s*+)?)?(?:(?P<pi>pi|π)\s*+)?"
    rf"(?:/\s*+(?P<divisor>{_NUMBER})\s*+)?(?:(?P<unit>deg|rad|°)\s*+)?"
)


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


@contextmanager
def errors_at(where: str) -> Iterator[None]:
    """Prefix an error of the model with the location of its value in the file or table, unless it is already there."""
    try:
        yield
    except RobotError as error:
        if str(error).startswith(where):
            raise
        raise RobotError(f"{where}: {error}") from None


__all__ = ["errors_at", "nearest", "parse_angle", "shown", "some"]
