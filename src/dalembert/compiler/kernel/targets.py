"""The table of targets for emitted code. To add one, write its writer and a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from dalembert.base.wording import nearest
from dalembert.compiler.emit.c99 import c99
from dalembert.compiler.emit.readable import dot, numpy, python
from dalembert.compiler.emit.source import SCALARS, Settings, Source, Unit
from dalembert.compiler.kernel.compile import LEVELS
from dalembert.compiler.kernel.objects import llvm, object_files, ptx
from dalembert.compiler.kernel.wasm import wasm
from dalembert.errors import DalembertError


@dataclass(frozen=True)
class CodeTarget:
    """One target of emitted code.

    summary     description of the output
    write       the files of a unit; None if there is ``several``
    precisions  the supported precisions, "double" or "single", the default first
    own         whether it can be emitted without C library functions (``libm=False``)
    several     the files, under a given name, of units as separate functions, if supported (``separate=True``)
    """

    summary: str
    write: Callable[[Unit, Settings], Source] | None
    precisions: tuple[str, ...] = ("double",)
    own: bool = False
    several: Callable[[Sequence[Unit], Settings, str], Source] | None = None


EITHER = ("double", "single")
_OBJECTS = {
    "host": ("this processor, its header, and the kernel", partial(object_files, "host", measured=False), EITHER),
    **{x: (f"processors of the level {x}", partial(object_files, x, measured=False), EITHER) for x in LEVELS},
    "aarch64": ("64-bit ARM, its header and a self-test", partial(object_files, "aarch64"), EITHER),
    "riscv64": ("64-bit RISC-V", partial(object_files, "riscv64"), EITHER),
    "cortex-m7": ("Cortex-M7 in double precision", partial(object_files, "cortex-m7", rows=False), EITHER),
    "cortex-m4f": ("Cortex-M4 in single precision", partial(object_files, "cortex-m4f", rows=False), ("single",)),
}
TARGETS: dict[str, CodeTarget] = {
    "c": CodeTarget("a C99 file, its header and a self-test", None, EITHER, True, c99),
    **{name: CodeTarget(f"an object file for {of}", write, some, True) for name, (of, write, some) in _OBJECTS.items()},
    "wasm": CodeTarget("a WebAssembly module and a loader", None, EITHER, True, wasm),
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


def emitted(units: Sequence[Unit], files: str, name: str, precision: str | None = None, libm: bool = True) -> Source:
    """The files for a target, with one function for each unit; ``files`` is their name if there are several.

    The options have been checked by :func:`check_settings`.
    """
    target = target_of(name)
    settings = Settings(SCALARS[precision or target.precisions[0]], libm)
    if target.several is not None:
        return target.several(units, settings, files)
    assert target.write is not None
    return target.write(units[0], settings)


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
