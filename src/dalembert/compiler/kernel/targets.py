"""The table of targets for emitted code. To add one, write its writer and a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dalembert.base.tables.wording import nearest
from dalembert.compiler.emit.c99 import c99, c99_of
from dalembert.compiler.emit.readable import dot, numpy, python
from dalembert.compiler.emit.source import SCALARS, Settings, Source, Unit
from dalembert.compiler.kernel.compile import LEVELS
from dalembert.compiler.kernel.objects import llvm, object_files
from dalembert.compiler.kernel.ptx import ptx
from dalembert.compiler.kernel.web import wasm, wasm_of
from dalembert.errors import DalembertError


@dataclass(frozen=True)
class CodeTarget:
    """One target of emitted code.

    summary     description of the output
    write       the files of a unit
    precisions  the supported precisions, "double" or "single", the default first
    several     the files, under a given name, of several units as separate functions, if supported (``separate=True``)
    own         whether it can be emitted without C library functions (``libm=False``)
    """

    summary: str
    write: Callable[[Unit, Settings], Source]
    precisions: tuple[str, ...] = ("double",)
    own: bool = False
    several: Callable[[Sequence[Unit], Settings, str], Source] | None = None


EITHER = ("double", "single")
_OBJECTS = {
    "host": ("this processor, its header, and the kernel", object_files("host", measured=False), EITHER),
    **{x: (f"processors of the level {x}", object_files(x, measured=False), EITHER) for x in LEVELS},
    "aarch64": ("64-bit ARM, its header and a self-test", object_files("aarch64"), EITHER),
    "riscv64": ("64-bit RISC-V", object_files("riscv64"), EITHER),
    "cortex-m7": ("Cortex-M7 in double precision", object_files("cortex-m7", rows=False), EITHER),
    "cortex-m4f": ("Cortex-M4 in single precision", object_files("cortex-m4f", rows=False), ("single",)),
}
TARGETS: dict[str, CodeTarget] = {
    "c": CodeTarget("a C99 file, its header and a self-test", c99, EITHER, True, c99_of),
    **{name: CodeTarget(f"an object file for {of}", write, some, True) for name, (of, write, some) in _OBJECTS.items()},
    "wasm": CodeTarget("a WebAssembly module and a loader", wasm, EITHER, True, wasm_of),
    "ptx": CodeTarget("kernels for NVIDIA GPUs, as text", ptx, EITHER),
    "llvm": CodeTarget("LLVM's intermediate representation, for inspection", llvm, EITHER, True),
    "python": CodeTarget("a Python module that imports only math", python),
    "numpy": CodeTarget("a Python module whose function broadcasts over leading axes", numpy),
    "dot": CodeTarget("the tape as a graph, for Graphviz", dot),
}


def target_of(name: str) -> CodeTarget:
    """The table's entry; an unknown name raises an error that lists the known ones."""
    if not isinstance(name, str) or name not in TARGETS:
        hint = nearest(name, list(TARGETS)) if isinstance(name, str) else ""
        raise DalembertError(f"there is no target {name!r}; known targets are {', '.join(TARGETS)}{hint}")
    return TARGETS[name]


def emitted(unit: Unit, name: str, precision: str | None = None, libm: bool = True) -> Source:
    """The files of a unit for a target."""
    target = target_of(name)
    check_settings(name, precision, libm)
    return target.write(unit, Settings(SCALARS[precision or target.precisions[0]], libm))


def emitted_apart(
    units: Sequence[Unit], files: str, name: str, precision: str | None = None, libm: bool = True
) -> Source:
    """The files, under a given name, with one function for each of several units."""
    target = target_of(name)
    check_settings(name, precision, libm, separate=True)
    assert target.several is not None  # checked
    return target.several(units, Settings(SCALARS[precision or target.precisions[0]], libm), files)


def check_settings(name: str, precision: str | None, libm: bool, separate: bool = False) -> None:
    """Refuse unsupported options before any work is done."""
    target = target_of(name)
    if separate and target.several is None:
        able = [other for other, entry in TARGETS.items() if entry.several]
        raise DalembertError(
            f"separate=True (--separate) is supported by the targets {', '.join(able)}, not by '{name}': emit one "
            "quantity at a time"
        )
    if precision is not None and precision not in target.precisions:
        raise DalembertError(
            f"target '{name}' does not support the precision {precision!r}; it supports "
            f"{' and '.join(target.precisions)}"
        )
    if not libm and not target.own:
        able = [other for other, entry in TARGETS.items() if entry.own]
        raise DalembertError(f"libm=False (--no-libm) is supported by the targets {', '.join(able)}, not by '{name}'")
