"""The target ``wasm``: a WebAssembly module, and a loader for web pages and Node.

The module exports one function per quantity, named after it: ``inverse_dynamics(q, qd, qdd, tau, count)`` takes the
byte offsets of contiguous rows in the imported memory, and the number of states. Two states in double precision, or
four in single precision, are computed in parallel (SIMD128).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

from dalembert.base.environment.version import __version__
from dalembert.compiler.emit.source import LICENCE, Settings, Source, Unit, operation_words
from dalembert.compiler.emit.wrappers import many_rows, wrapped
from dalembert.compiler.kernel.compile import compiled_for
from dalembert.compiler.kernel.machines import MACHINES
from dalembert.compiler.kernel.wasm import PAGE, wasm_module
from dalembert.errors import DalembertError

LOADER = Path(__file__).with_name("loader.mjs")
# names used by the module and its loader; ``then`` would make it a promise
RESERVED = ("reserved", "about", "exports", "memory", "then")


def wasm(units: Sequence[Unit], settings: Settings, name: str) -> Source:
    """The files NAME.wasm and NAME.mjs with several functions that share a memory."""
    for unit in units:
        if unit.name in RESERVED:
            raise DalembertError(
                f"the function of a wasm module cannot be named '{unit.name}', because {', '.join(RESERVED)} are "
                "reserved; choose another name, --function NAME (function=...)"
            )
    machine = MACHINES["wasm"]
    form = replace(machine.form(settings.scalar), flags=False)
    ir = wrapped([(unit.graph, unit.signature, unit.name) for unit in units], form, many_rows)
    about = {
        "functions": {
            unit.name: {
                way: [[array, prod(shape)] for array, shape in arrays]
                for way, arrays in (("inputs", unit.signature.inputs), ("outputs", unit.signature.outputs))
            }
            for unit in units
        },
        "scalar": settings.scalar,
        "robot": units[0].robot,
        "digest": units[0].digest,
        "made": f"dalembert {__version__}. {LICENCE}",
    }
    module, pages = wasm_module(compiled_for(machine, ir), [unit.name for unit in units], about)
    files: dict[str, str | bytes] = {f"{name}.wasm": module, f"{name}.mjs": LOADER.read_text(encoding="utf-8")}
    notes = [f"{unit.name}: {operation_words(unit.operations)}." for unit in units]
    notes.append(
        f"{len(module):,} bytes, {form.width} states in parallel; the first {pages * PAGE:,} bytes of "
        "the memory belong to the module."
    )
    remarks = dict.fromkeys(remark for unit in units for remark in unit.remarks)
    return Source(files, (*notes, *remarks))
