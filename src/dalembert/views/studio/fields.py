"""The fields of a request, checked for their type; an invalid field raises a one-sentence error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from dalembert.base.tables.located import REQUIRED, Located, finite_float
from dalembert.errors import DalembertError

Group = TypeVar("Group")


class StudioRequest(Located):
    """The fields of a request; a field that is null counts as missing."""

    error = DalembertError

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__("the request")
        self.body = body

    def raw(self, key: str) -> Any:
        """The value of a field."""
        value = self.body.get(key)
        return REQUIRED if value is None else value

    def text(self, key: str, default: Any = REQUIRED) -> str:
        """A string of valid Unicode."""
        value = super().text(key, default)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise DalembertError(f"'{key}' contains half of a surrogate pair; it must be valid Unicode text") from None
        return value

    def scalar(self, key: str, value: Any, **_: Any) -> float:
        """A finite number."""
        number = finite_float(value)
        if number is None:
            raise self.wrong(key, value, "a finite number")
        return number

    def numbers_by_name(self, key: str) -> dict[str, float]:
        """Numbers by name."""
        value = self.get(key)
        if not isinstance(value, dict):
            raise self.wrong(key, value, "an object of numbers by name")
        return {name: self.scalar(f"{key}.{name}", number) for name, number in value.items()}


KINDS: dict[str, Callable[[StudioRequest, str], Any]] = {  # how a field is read, by its type
    "str | None": lambda given, key: given.text(key, "") or None, "bool": StudioRequest.flag, "bool | None": StudioRequest.flag,
    "float | None": StudioRequest.number, "Mapping[str, float]": StudioRequest.numbers_by_name,
    "tuple[float, float, float]": lambda given, key: given.numbers(key, 3),
}  # fmt: skip


def request(group: type[Group], given: StudioRequest, names: str = "") -> Group:
    """A group of options (a dataclass) from a request; fields that are missing or null, or not in ``names``, keep their defaults."""
    offered = [field for field in fields(group) if not names or field.name in names.split()]  # type: ignore[arg-type]
    present = [field for field in offered if field.name in given]
    return group(**{field.name: KINDS[str(field.type)](given, field.name) for field in present})
