"""Tables of named values, read strictly: unknown keys and values of the wrong type are refused in one sentence.

Robot files and DH rows written in Python are both such tables; reading them here gives both the same
rules and the same messages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from dalembert.algebra.scalars import Scalar
from dalembert.algebra.vectors import Mat, Vec
from dalembert.errors import RobotError
from dalembert.robot.bounds import NAME
from dalembert.robot.units import parse_quantity

REQUIRED: Any = object()
Units = dict[str, float] | None  # factors to SI

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


LONGEST_WORD = 60  # characters: the comparison takes quadratic time


def nearest(word: str, known: Sequence[str]) -> str:
    """ "; did you mean 'x'?" if something known resembles ``word``, else the empty string."""
    lower = {name.lower(): name for name in known}
    same = [word.lower()] if word.lower() in lower else []
    likely = [name for name in islice(lower, 1000) if len(name) <= LONGEST_WORD] if len(word) <= LONGEST_WORD else []
    import difflib

    close = same or difflib.get_close_matches(word.lower(), likely, n=3)
    return f"; did you mean {' or '.join(repr(lower[c]) for c in close)}?" if close else ""


@contextmanager
def errors_at(where: str) -> Iterator[None]:
    """Prefix an error of the model with the location of its value in the file or table, unless it is already there."""
    try:
        yield
    except RobotError as error:
        if str(error).startswith(where):
            raise
        raise RobotError(f"{where}: {error}") from None


def shown(value: object) -> str:
    """A value in the form used in messages: short, on one line.

    >>> shown("x" * 100), shown([2**100_000])
    ("'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...", 'an integer of more than 4300 digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python does not print integers of more than 4300 digits
        text = "an integer of more than 4300 digits"
    except RecursionError:
        text = f"a {type(value).__name__} of infinite depth"
    return text if len(text) <= 60 else text[:57] + "..."


def some(names: Sequence[str], most: int = 10, separator: str = ", ") -> str:
    """The first names of a list, and the number of the others.

    >>> some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return separator.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


class Table:
    """A mapping whose keys are all in ``allowed``; ``where`` begins every error message."""

    def __init__(self, data: object, where: str, allowed: Sequence[str]) -> None:
        if not isinstance(data, Mapping):
            raise RobotError(f"{where}: a table of named values was expected, not {shown(data)}")
        known = set(allowed)
        for key in data:
            if key not in known:
                hint = nearest(key, allowed) if isinstance(key, str) else ""
                raise RobotError(f"{where}: unknown key {shown(key)}{hint} (known keys: {', '.join(allowed)})")
        self.data, self.where = data, where

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def get(self, key: str, default: Any = REQUIRED) -> Any:
        """The raw value; an error if it is required and missing."""
        if key in self.data:
            return self.data[key]
        if default is REQUIRED:
            raise RobotError(f"{self.where}: the key '{key}' is missing")
        return default

    def wrong(self, key: str, value: object, must: str) -> RobotError:
        """The error for a value of the wrong kind."""
        return RobotError(f"{self.where}: '{key}' is {shown(value)}; it must be {must}")

    def text(self, key: str, default: Any = REQUIRED) -> str:
        """A string."""
        value = self.get(key, default)
        if value is not default and not isinstance(value, str):
            raise self.wrong(key, value, "a string")
        return value

    def name(self, key: str, default: Any = REQUIRED) -> str:
        """A string that is neither empty nor excessively long."""
        value = self.text(key, default)
        if value is not default and not 1 <= len(value) <= NAME:
            raise self.wrong(key, value, f"a name of 1 to {NAME} characters")
        return value

    def choice(self, key: str, options: Sequence[str], default: Any = REQUIRED) -> str:
        """One of several options."""
        value = self.get(key, default)
        if value not in options:
            raise self.wrong(key, value, f"one of {', '.join(map(repr, options))}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty if the key is missing."""
        value = self.get(key, ())
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
            raise self.wrong(key, value, "a list of strings")
        return tuple(value)

    def number(
        self, key: str, default: Any = REQUIRED, *, angle: bool = False, units: Units = None, infinite: bool = False
    ) -> Scalar:
        """A finite number (or a symbol).

        ``angle`` also allows strings such as "pi/2" and "90 deg", ``units`` strings with these units, such as "40 mm".
        """
        value = self.get(key, default)
        return value if value is default else self.scalar(key, value, angle=angle, units=units, infinite=infinite)

    def scalar(
        self, key: str, value: object, *, angle: bool = False, units: Units = None, infinite: bool = False
    ) -> Scalar:
        """``value``, found under ``key``, as a number."""
        must = 'a number, or an angle such as "pi/2" or "90 deg"' if angle else "a number"
        must = (
            f'a number, or a string with a unit ({", ".join(units)}), such as "40 {list(units)[-1]}"' if units else must
        )
        if isinstance(value, str):
            parsed = parse_quantity(value, units) if units else None
            parsed = parse_angle(value) if angle and parsed is None else parsed
            if parsed is None:
                raise self.wrong(key, value, must)
            value = parsed
        if hasattr(value, "sin"):  # a traced scalar or symbol, which is passed on unchecked
            return value
        if isinstance(value, bool) or not (isinstance(value, (int, float)) or getattr(value, "ndim", 1) == 0):
            raise self.wrong(key, value, must)
        try:
            result = float(value)  # type: ignore[arg-type]
        except (OverflowError, TypeError, ValueError):
            raise self.wrong(key, value, "a finite number") from None
        if math.isnan(result) or (math.isinf(result) and not infinite):
            raise self.wrong(key, result, "a number" if infinite else "a finite number")
        return result

    def list(self, key: str, value: object, sizes: tuple[int, ...], must: str) -> Sequence[Any]:
        """``value`` as a list with one of the given lengths."""
        value = value.tolist() if hasattr(value, "tolist") else value  # a NumPy array
        if not isinstance(value, (list, tuple)) or len(value) not in sizes:
            raise self.wrong(key, value, must)
        return value

    def vector(self, key: str, default: Any = REQUIRED, *, angle: bool = False, units: Units = None) -> Vec:
        """Three numbers."""
        value = self.get(key, default)
        if value is default:
            return value
        items = self.list(key, value, (3,), "a list of 3 numbers")
        return Vec([self.scalar(key, v, angle=angle, units=units) for v in items])

    def rows(self, key: str, value: object, must: str) -> Mat:
        """``value`` as three rows of three numbers."""
        rows = self.list(key, value, (3,), must)
        if not all(isinstance(row, (list, tuple)) and len(row) == 3 for row in rows):
            raise self.wrong(key, value, must)
        return Mat([Vec([self.scalar(key, v) for v in row]) for row in rows])

    def table(self, key: str, allowed: Sequence[str]) -> Table | None:
        """The table under ``key``, or None if the key is missing."""
        return Table(self.data[key], f"{self.where}, {key}", allowed) if key in self.data else None
