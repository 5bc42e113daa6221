"""Rows with a broken library: each quantity that a call takes from dalembert is changed, wherever the row asks for it.

The change depends on what is asked, so the two sides stay equal only if they ask for the same thing: a row that still
holds compares a quantity with itself.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dalembert.base.environment.cached_property import cached_property
from dalembert.errors import DalembertError
from dalembert.views.documents.rows import MapRow, Names, blocks_of, computed, holds, setting, written

SIZE = 0.02
Quantity = tuple[Any, str]  # a class or module, and the name of a quantity


def felt(row: MapRow, names: Names) -> bool:
    """Whether the row notices a change of a quantity that its call takes from the library, or else its setting; True if
    there is none with numbers."""
    any_quantity = False
    for source in (row.call, _definitions(row)):
        for quantity in _quantities(source, names):
            any_quantity = True
            if not _still_holds(row, quantity):
                return True
    return not any_quantity


def _still_holds(row: MapRow, quantity: Quantity) -> bool:
    where, name = quantity
    again = name in "".join(blocks_of(row))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, _changed(inspect.getattr_static(where, name)))
        try:
            names = setting(row, again=again)
            return holds(row, computed(row, names), written(row, names))
        except (DalembertError, AssertionError, IndexError, np.linalg.LinAlgError):
            return False


def _definitions(row: MapRow) -> str:
    """The statements that define the names of the call."""
    wanted, chosen = _names_in(ast.parse(row.call)), list[str]()
    for statement in reversed([node for text in (*blocks_of(row), row.given) for node in ast.parse(text).body]):
        stored = {x.id for x in ast.walk(statement) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        if isinstance(statement, ast.Assign) and stored & wanted:
            wanted |= _names_in(statement)
            chosen.append(ast.unparse(statement))
    return "\n".join(reversed(chosen))


def _names_in(node: ast.AST) -> set[str]:
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}


def _quantities(source: str, names: Names) -> Iterator[Quantity]:
    """Methods, functions and properties of the library in the source whose value has numbers."""
    seen = set[tuple[int, str]]()
    for node in ast.walk(ast.parse(source)):
        part = node.func if isinstance(node, ast.Call) else node
        if not isinstance(node, ast.Call | ast.Attribute) or not isinstance(part, ast.Attribute | ast.Name):
            continue
        at = ast.unparse(part.value if isinstance(part, ast.Attribute) else part)
        name = part.attr if isinstance(part, ast.Attribute) else "__call__"
        try:
            owner, value = eval(at, dict(names)), eval(ast.unparse(node), dict(names))
        except NameError:  # a variable of a comprehension
            continue
        where = owner if isinstance(owner, ModuleType | type) else type(owner)
        module = where.__name__ if isinstance(where, ModuleType) else where.__module__
        held = inspect.getattr_static(where, name, None)
        if not module.startswith("dalembert") or held is None or isinstance(held, type) or (id(where), name) in seen:
            continue
        if _moved(value, ())[1]:
            seen.add((id(where), name))
            yield where, name


def _changed(held: Any) -> Any:
    if isinstance(held, property | cached_property):
        get: Any = held.fget if isinstance(held, property) else held.func
        return property(lambda self: _moved(get(self), ())[0])
    return lambda *args, **kwargs: _moved(held(*args, **kwargs), (args, tuple(kwargs.items())))[0]


def _moved(x: Any, asked: Any) -> tuple[Any, int]:
    """The value with its numbers changed, and how many places were."""
    if isinstance(x, float | np.floating) or (isinstance(x, np.ndarray) and x.dtype.kind == "f"):
        array = np.asarray(x, float)
        seed = int.from_bytes(hashlib.sha256(_bytes(asked)).digest()[:8], "little")
        shift = np.random.default_rng(seed).uniform(0.5, 1.5, array.shape) * SIZE
        out = array * (1 + shift) + shift * (np.abs(array).max(initial=0.0) or 1.0)
        return out if isinstance(x, np.ndarray) else float(out), 1
    if hasattr(x, "free_symbols") and not isinstance(x, type):
        return x * (1 + SIZE), 1
    if isinstance(x, list | tuple):
        parts = [_moved(y, (asked, k)) for k, y in enumerate(x)]
        values = [value for value, _ in parts]
        return type(x)(*values) if hasattr(x, "_fields") else type(x)(values), sum(count for _, count in parts)
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        held = {f.name: getattr(x, f.name) for f in dataclasses.fields(x) if f.init and not f.name.startswith("_")}
        moved = {k: _moved(y, (asked, k)) for k, y in held.items() if isinstance(y, float | np.ndarray | tuple)}
        return dataclasses.replace(x, **{k: y for k, (y, _) in moved.items()}), sum(c for _, c in moved.values())
    return x, 0


def _bytes(x: Any) -> bytes:
    if isinstance(x, np.ndarray):
        return x.tobytes()
    if isinstance(x, list | tuple):
        return b"".join(map(_bytes, x))
    return repr(x).encode() if isinstance(x, str | float | int) else str(id(x)).encode()
