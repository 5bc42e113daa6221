"""Short ``repr``s of records that hold arrays or other records: one line, with array shapes instead of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

Record = TypeVar("Record", bound=type)
LONGEST = 150  # characters
FEW = 4  # numbers shown of an array
PLAIN = (bool, int, float, str, tuple)  # fields that are omitted at their default


def brief(record: Record) -> Record:
    """The dataclass with a one-line ``repr`` of at most about 200 characters, without fields at their default.

    >>> from dataclasses import dataclass
    >>> @brief
    ... @dataclass
    ... class Table:
    ...     name: str
    ...     rows: list[int]
    >>> Table("lengths", list(range(100)))
    Table(name='lengths', rows=<100 of int>)
    """
    record.__repr__ = _brief  # type: ignore[assignment, method-assign]
    return record


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def record(cls: Record) -> Record:
    """A frozen dataclass with a short ``repr``, compared by identity because its fields are arrays.

    >>> @record
    ... class Samples:
    ...     t: Any
    >>> Samples([0.0, 0.1])
    Samples(t=[0.0, 0.1])
    """
    frozen: Any = dataclass(frozen=True, eq=False)(cls)
    return brief(frozen)


def _brief(self: Any) -> str:
    out = ""
    for entry in fields(self):
        value = getattr(self, entry.name)
        if not entry.repr or value is entry.default or (isinstance(value, PLAIN) and value == entry.default):
            continue
        word = f"{entry.name}={_value(value)}"
        if len(out) + len(word) > LONGEST:
            out += ", …" if out else "…"
            break
        out += f", {word}" if out else word
    return f"{type(self).__name__}({out})"


def _value(x: Any) -> str:
    """One value: numbers and short strings unchanged, arrays as their shape, records as their type."""
    shape = getattr(x, "shape", None)
    if isinstance(shape, tuple):
        if len(shape) == 1 and 0 < shape[0] <= FEW and getattr(x.dtype, "kind", "") == "f" and hasattr(x, "tolist"):
            return f"[{' '.join(f'{v:.5g}' for v in x.tolist())}]"
        return f"{x.item():.6g}" if shape == () and getattr(x.dtype, "kind", "") == "f" else f"<{shape} array>"
    if isinstance(x, float):
        return f"{x:.6g}"
    if isinstance(x, (tuple, list, dict, frozenset)):
        short = repr(x)
        kinds = {type(item).__name__ for item in x}
        if len(x) <= FEW and len(short) <= 40 and kinds <= {"str", "int", "float"}:
            return short
        return f"<{len(x)} of {', '.join(sorted(kinds))}>" if x else short
    short = repr(x)
    if len(short) <= 60 and "\n" not in short:
        return short
    return f"{short[:36]}…{short[-1]}" if isinstance(x, str) else f"<{type(x).__name__}>"
