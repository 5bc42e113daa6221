"""The fields of a request, checked for their type; an invalid field raises a one-sentence error."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, TypeVar

from dalembert.base.tables.wording import shown
from dalembert.errors import DalembertError

Body = dict[str, Any]
Group = TypeVar("Group")


def words(body: Body, key: str, usual: str | None = None) -> str:
    """A string; ``usual`` if it is missing or null."""
    value = body.get(key)
    if value is None and usual is not None:
        return usual
    if not isinstance(value, str):
        raise DalembertError(f"'{key}' is {shown(value)}; it must be a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DalembertError(f"'{key}' contains half of a surrogate pair; it must be valid Unicode text") from None
    return value


def optional_words(body: Body, key: str) -> str | None:
    """A string, or None if it is missing or empty."""
    return words(body, key, "") or None


def flag(body: Body, key: str, usual: bool = False) -> bool:
    """Whether."""
    value = body.get(key, usual)
    if not isinstance(value, bool):
        raise DalembertError(f"'{key}' is {shown(value)}; it must be true or false")
    return value


def finite(value: Any, key: str) -> float:
    """A finite number."""
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:  # an integer beyond the range of floating-point numbers
        number = math.inf
    if not math.isfinite(number):
        raise DalembertError(f"'{key}' is {shown(value)}; it must be a finite number")
    return number


def optional_number(body: Body, key: str) -> float | None:
    """A number, or None if it is missing."""
    return None if body.get(key) is None else finite(body[key], key)


def numbers_by_name(body: Body, key: str) -> dict[str, float]:
    """Numbers by name."""
    value = body[key]
    if not isinstance(value, dict):
        raise DalembertError(f"'{key}' is {shown(value)}; it must be an object of numbers by name")
    return {name: finite(number, f"{key}.{name}") for name, number in value.items()}


def vector(body: Body, key: str) -> tuple[float, float, float]:
    """Three numbers."""
    value = body[key]
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise DalembertError(f"'{key}' is {shown(value)}; it must be a list of three numbers, x, y and z")
    x, y, z = (finite(number, key) for number in value)
    return x, y, z


KINDS: dict[str, Any] = {  # how a field is read, by its type
    "str | None": optional_words, "bool": flag, "bool | None": flag, "float | None": optional_number,
    "Mapping[str, float]": numbers_by_name, "tuple[float, float, float]": vector,
}  # fmt: skip


def request(group: type[Group], body: Body) -> Group:
    """A group of options (a dataclass) from the fields of a request; those that are missing or null keep their defaults."""
    given = [field for field in fields(group) if body.get(field.name) is not None]  # type: ignore[arg-type]
    return group(**{field.name: KINDS[str(field.type)](body, field.name) for field in given})
