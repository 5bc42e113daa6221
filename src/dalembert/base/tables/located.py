"""Values that know their place in a file: numbers, texts, flags, choices and vectors, with one style of error.

A :class:`Located` holds named values, and its ``where`` begins every message. A :class:`Table` takes them from a mapping
(TOML, JSON, a row written in Python) and an :class:`XmlElement` from the attributes of an element, so a part of a robot
that several formats can describe has one reader.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from dalembert.base.algebra.vectors import Mat, Vec
from dalembert.base.files.file_bounds import NAME
from dalembert.base.tables.units import parse_angle, parse_quantity
from dalembert.base.wording import nearest, shown
from dalembert.errors import DalembertError, RobotError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

REQUIRED: Any = object()
Units = dict[str, float] | None  # factors to SI
FLAGS = {"true": True, "1": True, "false": False, "0": False}


def finite_float(value: object) -> float | None:
    """A number as a float; None for a text, a truth value, an array, infinity and NaN.

    >>> finite_float(2), finite_float("2"), finite_float(True), finite_float(10**400)
    (2.0, None, None, None)
    """
    if isinstance(value, bool) or not (isinstance(value, (int, float)) or getattr(value, "ndim", 1) == 0):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


class Located:
    """Named values at one place of a file. A missing value without a ``default`` is an error."""

    error: type[DalembertError] = RobotError

    def __init__(self, where: str) -> None:
        self.where = where

    def __contains__(self, key: str) -> bool:
        return self.raw(key) is not REQUIRED

    def raw(self, key: str) -> Any:
        """The value as the file has it; REQUIRED if it is missing."""
        raise NotImplementedError

    def label(self, key: str) -> str:
        """The words with which messages refer to a value."""
        return f"'{key}'"

    def missing(self, key: str) -> str:
        """What messages say of a missing value."""
        return f": the key '{key}' is missing"

    def get(self, key: str, default: Any = REQUIRED) -> Any:
        """The value as the file has it; an error if it is required and missing."""
        value = self.raw(key)
        if value is REQUIRED and default is REQUIRED:
            raise self.error(f"{self.where}{self.missing(key)}")
        return default if value is REQUIRED else value

    def wrong(self, key: str, value: object, must: str) -> DalembertError:
        """The error for a value that is not what it must be."""
        return self.error(f"{self.where}: {self.label(key)} is {shown(value)}; it must be {must}")

    def text(self, key: str, default: Any = REQUIRED) -> str:
        """A string."""
        value = self.get(key, default)
        if value is not default and not isinstance(value, str):
            raise self.wrong(key, value, "a string")
        return value

    def name(self, key: str = "name", default: Any = REQUIRED) -> str:
        """A string that is neither empty nor excessively long."""
        value = self.text(key, default)
        if value is not default and not 1 <= len(value) <= NAME:
            raise self.wrong(key, value, f"a name of 1 to {NAME} characters")
        return value

    def choice(self, key: str, options: Sequence[Any], default: Any = REQUIRED) -> Any:
        """One of several options."""
        value = self.get(key, default)
        if value not in options:
            raise self.wrong(key, value, f"one of {', '.join(map(repr, options))}")
        return value

    def flag(self, key: str, default: Any = REQUIRED) -> bool:
        """true or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def number(self, key: str, default: Any = REQUIRED, **form: Any) -> Any:
        """A finite number; see :meth:`scalar`."""
        value = self.get(key, default)
        return value if value is default else self.scalar(key, value, **form)

    def numbers(self, key: str, count: int, default: Any = REQUIRED, **form: Any) -> Any:
        """A tuple of ``count`` numbers."""
        value = self.get(key, default)
        if value is default:
            return value
        items = self.items(key, value, (count,), f"a list of {count} numbers")
        return tuple(self.scalar(key, x, **form) for x in items)

    def vector(self, key: str, default: Any = REQUIRED, **form: Any) -> Any:
        """Three numbers."""
        value = self.numbers(key, 3, default, **form)
        return value if value is default else Vec(value)

    def scalar(self, key: str, value: Any, *, angle: bool = False, units: Units = None, infinite: bool = False) -> Any:
        """``value``, found under ``key``, as a number; symbols are returned unchecked.

        ``angle`` also allows strings such as "pi/2" and "90 deg", ``units`` strings with these units, such as "40 mm".
        """
        must = 'a number, or an angle such as "pi/2" or "90 deg"' if angle else "a number"
        if units:
            known = ", ".join(filter(None, units))
            must = f'a number, or a string with a unit ({known}), such as "40 {list(units)[-1]}"'
        number: Any = value
        if isinstance(value, str):
            number = parse_quantity(value, units) if units else None
            number = parse_angle(value) if angle and number is None else number
        if hasattr(number, "sin"):
            return number
        if infinite and isinstance(number, float) and math.isinf(number):
            return number
        result = finite_float(number)
        if result is None:
            numeric = not isinstance(number, bool) and isinstance(number, (int, float))
            raise self.wrong(key, number if numeric else value, "a finite number" if numeric and not infinite else must)
        return result

    def items(self, key: str, value: Any, sizes: Sequence[int], must: str) -> Sequence[Any]:
        """``value`` as a list with one of the given lengths."""
        value = value.tolist() if hasattr(value, "tolist") else value  # a NumPy array
        if not isinstance(value, (list, tuple)) or len(value) not in sizes:
            raise self.wrong(key, value, must)
        return value


class Table(Located):
    """A mapping whose keys are all in ``allowed``; any key if ``allowed`` is None."""

    def __init__(self, data: object, where: str, allowed: Sequence[str] | None) -> None:
        super().__init__(where)
        if not isinstance(data, Mapping):
            raise self.error(f"{where}: a table of named values was expected, not {shown(data)}")
        known = data if allowed is None else set(allowed)
        for key in data:
            if key not in known:
                hint = nearest(key, allowed or ()) if isinstance(key, str) else ""
                raise self.error(f"{where}: unknown key {shown(key)}{hint} (known keys: {', '.join(allowed or ())})")
        self.data = data

    def raw(self, key: str) -> Any:
        """The value of a key."""
        return self.data.get(key, REQUIRED)

    def texts(self, key: str, default: Any = ()) -> tuple[str, ...]:
        """A list of strings; empty if the key is missing."""
        value = self.get(key, default)
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
            raise self.wrong(key, value, "a list of strings")
        return tuple(value)

    def rows(self, key: str, value: object, must: str) -> Mat:
        """``value`` as three rows of three numbers."""
        rows = self.items(key, value, (3,), must)
        if not all(isinstance(row, (list, tuple)) and len(row) == 3 for row in rows):
            raise self.wrong(key, value, must)
        return Mat([Vec([self.scalar(key, v) for v in row]) for row in rows])

    def part(self, key: str, allowed: Sequence[str] | None) -> Self | None:
        """The table under ``key``, or None if the key is missing."""
        return type(self)(self.data[key], f"{self.where}, {key}", allowed) if key in self.data else None

    def parts(self, key: str, must: str, allowed: Sequence[str] | None, what: str = "") -> list[Self]:
        """The tables in the list under ``key``, each located by ``what`` and its number."""
        value = self.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, value, must)
        return [type(self)(x, f"{self.where}, {what or key} {k}", allowed) for k, x in enumerate(value, 1)]


class XmlElement(Located):
    """An element of an XML file, which may be absent, with its attributes as values."""

    def __init__(self, element: Element | None, where: str) -> None:
        super().__init__(where)
        self.given = element is not None
        if element is None:
            from xml.etree.ElementTree import Element  # a shipped arm is not XML, and this takes longer than reading it

            element = Element("")
        self.element = element
        self.tag = self.element.tag

    def like(self, element: Element | None, where: str = "") -> Self:
        """Another element of the same file, by default at the same place."""
        return type(self)(element, where or self.where)

    def raw(self, key: str) -> Any:
        """The text of an attribute."""
        return self.element.get(key, REQUIRED)

    def label(self, key: str) -> str:
        """Attribute and element."""
        return f"'{key}' of <{self.tag}>"

    def missing(self, key: str) -> str:
        """What the element lacks."""
        return f": <{self.tag}> has no '{key}'"

    def child(self, tag: str) -> Self:
        """The first child with this tag."""
        return self.like(self.element.find(tag))

    def each(self, tag: str) -> Iterator[Self]:
        """The children with this tag, each of which must have a name."""
        for element in self.element.findall(tag):
            name = XmlElement(element, self.where).name()
            yield self.like(element, f"{self.where}: {tag} '{name}'")

    def name(self, key: str = "name", default: Any = REQUIRED) -> str:
        """A name in an attribute; an empty one counts as missing."""
        value = self.element.get(key) or default
        if value is REQUIRED:
            raise self.error(f"{self.where}{self.missing(key)}")
        return value if value is default else super().name(key)

    def flag(self, key: str, default: Any = REQUIRED) -> bool:
        """true or false."""
        value = self.get(key, default)
        flag = FLAGS.get(value.lower()) if isinstance(value, str) else value
        if flag is None:
            raise self.wrong(key, value, "true or false")
        return flag

    def scalar(self, key: str, value: Any, *, infinite: bool = False, **_: Any) -> float:
        """The text as a number, without a unit."""
        try:
            number = float(value.replace("_", "?"))  # Python reads 1_0 as 10, other readers do not
        except ValueError:
            raise self.wrong(key, value, "a number") from None
        if math.isnan(number) or (math.isinf(number) and not infinite):
            raise self.wrong(key, value, "a finite number")
        return number

    def items(self, key: str, value: Any, sizes: Sequence[int], must: str) -> Sequence[str]:
        """The words of the text."""
        words = value.split()
        if len(words) not in sizes:
            raise self.wrong(key, value, f"{sizes[0]} numbers, not {len(words)}")
        return words


class XmlParent(XmlElement):
    """An element whose values are the texts of its children; a child without a text counts as missing."""

    def raw(self, key: str) -> Any:
        """The text of a child."""
        return (self.element.findtext(key) or "").strip() or REQUIRED

    def label(self, key: str) -> str:
        """The child."""
        return f"<{key}>"

    def missing(self, key: str) -> str:
        """The child that the element lacks."""
        return f" has no <{key}>"
