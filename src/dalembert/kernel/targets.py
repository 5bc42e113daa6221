"""The table of targets: what a unit can be emitted as. To add one, write its writer and a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dalembert.emit.c99 import c99
from dalembert.emit.readable import dot, numpy, python
from dalembert.emit.source import Settings, Source, Unit
from dalembert.errors import DalembertError
from dalembert.robot.tables import nearest


@dataclass(frozen=True)
class CodeTarget:
    """One thing that code is emitted for.

    summary     what is written, in words
    write       the files of a unit
    precisions  the kinds of numbers it can calculate with, "double" or "float", the usual one first
    own         whether it can do without the C library's functions (``libm=False``)
    """

    summary: str
    write: Callable[[Unit, Settings], Source]
    precisions: tuple[str, ...] = ("double",)
    own: bool = False


TARGETS: dict[str, CodeTarget] = {
    "c": CodeTarget("a C99 file, its header and a self-test", c99, ("double", "float")),
    "python": CodeTarget("a Python module that imports nothing but math", python),
    "numpy": CodeTarget("a Python module whose function broadcasts over leading axes", numpy),
    "dot": CodeTarget("the tape as a graph, for Graphviz", dot),
}


def target_of(name: str) -> CodeTarget:
    """The table's entry, or an error that lists the names."""
    if not isinstance(name, str) or name not in TARGETS:
        hint = nearest(name, list(TARGETS)) if isinstance(name, str) else ""
        raise DalembertError(f"there is no target {name!r}; known are {', '.join(TARGETS)}{hint}")
    return TARGETS[name]


def emitted(unit: Unit, name: str, precision: str | None = None, libm: bool = True) -> Source:
    """The files of a unit for a target."""
    target = target_of(name)
    check_settings(name, precision, libm)
    return target.write(unit, Settings(precision or target.precisions[0], libm))


def check_settings(name: str, precision: str | None, libm: bool) -> None:
    """Refuse what a target cannot do, before any work."""
    target = target_of(name)
    if precision is not None and precision not in target.precisions:
        raise DalembertError(
            f"target '{name}' has no precision {precision!r}; it has {' and '.join(target.precisions)}"
        )
    if not libm and not target.own:
        able = [other for other, entry in TARGETS.items() if entry.own]
        raise DalembertError(f"libm=False (--no-libm) is for the targets {', '.join(able)}, not for '{name}'")
