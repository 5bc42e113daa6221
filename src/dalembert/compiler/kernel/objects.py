"""Targets that LLVM compiles, other than wasm.

Object files: a function for one state, on hosted machines also one for many rows, and a C header.

The function is ``NAME_QUANTITY``, as for the target ``c``. ``NAME_QUANTITY_rows`` also takes a count, and fills the
vector registers of the machine with states. No symbols of the C library or of the compiler's runtime library are
needed.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dalembert.compiler.emit.c99 import header_and_test
from dalembert.compiler.emit.grid import AXES, BLOCK, grid_ir
from dalembert.compiler.emit.ir import BYTES, Form
from dalembert.compiler.emit.source import Settings, Source, Unit, commented, description
from dalembert.compiler.emit.statements import array_names
from dalembert.compiler.emit.wrappers import many_rows, one_state, wrapped
from dalembert.compiler.kernel.compile import MACHINES, compiled_for, runnable, target
from dalembert.compiler.kernel.cuda import GPU, USUAL_SHARED
from dalembert.compiler.kernel.footprint import flash, footprint, undefined

if TYPE_CHECKING:
    import numpy as np


def object_files(name: str, unit: Unit, settings: Settings, *, rows: bool = True, measured: bool = True) -> Source:
    """The files NAME.o, NAME.h and NAME_test.c for a machine.

    rows      whether there is a function for many rows, as on machines that run Linux
    measured  whether its flash and stack are in the notes; otherwise there is a gufunc restricted to its instructions
    """
    machine, scalar = target() if name == "host" else MACHINES[name], settings.scalar
    reloc = "pic" if rows else "static"
    state = wrapped([(unit.code, unit.signature, unit.symbol)], Form(1, scalar, BYTES[scalar], flags=False), one_state)
    beside = []
    if rows:
        form = replace(machine.form(scalar, BYTES[scalar]), flags=False)
        beside.append(wrapped([(unit.code, unit.signature, f"{unit.symbol}_rows")], form, many_rows))
    content = compiled_for(machine, state, False, reloc, *beside)
    files: dict[str, str | bytes] = {f"{unit.symbol}.o": content, **header_and_test(unit, settings, rows)}
    notes = [*unit.notes]
    if measured:
        marked = state if machine.triple.startswith("thumb") else state.replace(" nounwind", " nounwind uwtable")
        stack, instructions = footprint(compiled_for(machine, marked, True, reloc).decode(), unit.symbol)
        notes.append(
            f"{flash(content):,} bytes of flash (code and constants), {stack:,} bytes of stack, {instructions:,} "
            f"instructions{' in the function for one state' if rows else ''}, counted in the file."
        )
        if missing := undefined(content):
            notes.append(
                f"The linker must find {', '.join(missing)} in the compiler's library, whose stack is not counted."
            )
    if rows:
        notes.append(f"{unit.symbol}_rows: {form.width} state{'s in parallel' if form.width > 1 else ' at a time'}.")
    return Source(files, tuple(notes), None if measured else partial(machine_kernel, unit, name, scalar))


def machine_kernel(unit: Unit, name: str, scalar: str) -> np.ufunc:
    """The gufunc of a unit, compiled with only the instructions of a target."""
    from dalembert.compiler.kernel.make import graph_kernel

    graph = unit.graph
    tape = hashlib.sha256(repr((graph.nodes, graph.inputs, graph.outputs)).encode()).hexdigest()
    return graph_kernel(
        ("emitted", name, unit.symbol, tape, repr(unit.signature)),
        unit.signature, lambda: graph, unit.name, unit.summary, (machine_kernel, (unit, name, scalar)), unit.robot, scalar,
        runnable(name),
    )  # fmt: skip


def llvm(unit: Unit, settings: Settings) -> Source:
    """The file NAME.ll: the IR of the function for one state, for inspection."""
    names = array_names(unit, set())
    use = f"void {unit.symbol}(pointers to the arrays, in this order); one state."
    head = description(unit, names, use, f"{settings.arithmetic}, no library functions")
    form = Form(1, settings.scalar, BYTES[settings.scalar], flags=False)
    text = wrapped([(unit.code, unit.signature, unit.symbol)], form, one_state)
    return Source({f"{unit.symbol}.ll": commented(";", head) + text}, unit.notes)


def ptx(unit: Unit, settings: Settings) -> Source:
    """The file NAME.ptx, which every NVIDIA driver translates: ``NAME`` for contiguous rows, ``NAME_strided`` for any strides."""
    scalar = settings.scalar
    dense, numbers = grid_ir(unit.graph, unit.signature, scalar, unit.symbol, "direct")
    strided, _ = grid_ir(unit.graph, unit.signature, scalar, f"{unit.symbol}_strided", "strided")
    code = compiled_for(GPU, dense, True, "static", strided).decode()
    use = _launching(unit, scalar, numbers * BYTES[scalar])
    head = description(unit, array_names(unit, set()), " ".join(use), f"{settings.arithmetic}, no library functions")
    return Source({f"{unit.symbol}.ptx": f"{commented('//', head)}\n{code}"}, (*unit.notes, *use))


def _launching(unit: Unit, scalar: str, shared: int) -> list[str]:
    """Instructions for calling the kernels."""
    inputs, outputs = ([name for name, _ in of] for of in (unit.signature.inputs, unit.signature.outputs))
    arrays = [*inputs, *outputs]
    rows = ", ".join(f"stride of {name}" for name in inputs)
    sentences = [
        f"{unit.symbol}({', '.join(arrays)}, {rows}, count): device pointers to {scalar}s, the distance in bytes "
        "between rows of each input (0: the same row for all), and the number of states, all 64-bit; rows of "
        "outputs are contiguous.",
        f"Launch it with exactly {BLOCK[scalar]} threads in each of ceil(count / {BLOCK[scalar]}) blocks, and "
        f"{BLOCK[scalar] * shared:,} bytes of dynamic shared memory, {shared} per thread.",
        f"{unit.symbol}_strided({', '.join(arrays)}, count, lengths of the last {AXES - 1} of {AXES} leading axes, "
        f"{AXES} strides of each array, strides of all core axes): for arrays of any strides, in bytes; needs no "
        "shared memory.",
    ]
    if BLOCK[scalar] * shared > USUAL_SHARED:
        sentences.insert(
            2,
            f"More than {USUAL_SHARED:,} bytes must be requested first: cuFuncSetAttribute with "
            "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.",
        )
    return sentences
