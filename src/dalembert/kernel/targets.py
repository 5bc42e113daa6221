"""The table of targets: what a unit can be emitted as. To add one, write its writer and a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dalembert.emit.c99 import c99
from dalembert.emit.readable import dot, numpy, python
from dalembert.emit.source import Settings, Source, Unit
from dalembert.errors import DalembertError
from dalembert.kernel.compile import LEVELS
from dalembert.kernel.objects import llvm, on_computers, on_controllers, with_kernel
from dalembert.kernel.ptx import ptx
from dalembert.kernel.web import wasm, wasm_of
from dalembert.robot.tables import nearest


@dataclass(frozen=True)
class CodeTarget:
    """One thing that code is emitted for.

    summary     what is written, in words
    write       the files of a unit
    precisions  the kinds of numbers it can calculate with, "double" or "float", the usual one first
    several     the files, so named, of units that are functions of their own, where the target has such (``separate=True``)
    own         whether it can do without the C library's functions (``libm=False``)
    """

    summary: str
    write: Callable[[Unit, Settings], Source]
    precisions: tuple[str, ...] = ("double",)
    own: bool = False
    several: Callable[[Sequence[Unit], Settings, str], Source] | None = None


EITHER = ("double", "float")
TARGETS: dict[str, CodeTarget] = {
    "c": CodeTarget("a C99 file, its header and a self-test", c99, EITHER, own=True),
    "host": CodeTarget(
        "an object file for this processor, its header, and the kernel", with_kernel("host"), EITHER, True
    ),
    **{
        level: CodeTarget(f"the same for processors of the level {level}", with_kernel(level), EITHER, True)
        for level in LEVELS
    },
    "aarch64": CodeTarget(
        "an object file for 64-bit ARM, its header and a self-test", on_computers("aarch64"), EITHER, True
    ),
    "riscv64": CodeTarget("an object file for 64-bit RISC-V", on_computers("riscv64"), EITHER, True),
    "cortex-m7": CodeTarget("an object file for Cortex-M7 with doubles", on_controllers("cortex-m7"), EITHER, True),
    "cortex-m4f": CodeTarget(
        "an object file for Cortex-M4 with floats", on_controllers("cortex-m4f"), ("float",), True
    ),
    "wasm": CodeTarget("a WebAssembly module and a loader", wasm, EITHER, True, wasm_of),
    "ptx": CodeTarget("kernels for NVIDIA's GPUs, as text", ptx, EITHER),
    "llvm": CodeTarget("LLVM's intermediate representation, for reading", llvm, EITHER, True),
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


def emitted_apart(units: Sequence[Unit], files: str, name: str, precision: str | None = None) -> Source:
    """The files, so named, that hold a function for each of several units."""
    target = target_of(name)
    check_settings(name, precision, True, separate=True)
    assert target.several is not None  # checked
    return target.several(units, Settings(precision or target.precisions[0]), files)


def check_settings(name: str, precision: str | None, libm: bool, separate: bool = False) -> None:
    """Refuse what a target cannot do, before any work."""
    target = target_of(name)
    if separate and target.several is None:
        able = [other for other, entry in TARGETS.items() if entry.several]
        raise DalembertError(
            f"separate=True (--separate) is for the target {', '.join(able)}, not for '{name}': emit one quantity at a time"
        )
    if precision is not None and precision not in target.precisions:
        raise DalembertError(
            f"target '{name}' has no precision {precision!r}; it has {' and '.join(target.precisions)}"
        )
    if not libm and not target.own:
        able = [other for other, entry in TARGETS.items() if entry.own]
        raise DalembertError(f"libm=False (--no-libm) is for the targets {', '.join(able)}, not for '{name}'")
