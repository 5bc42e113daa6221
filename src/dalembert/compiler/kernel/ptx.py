"""The target ``ptx``: kernels for NVIDIA GPUs as text, which every driver translates to machine code.

The file has two kernels: ``NAME`` for contiguous rows and ``NAME_strided`` for arrays of any strides.
"""

from __future__ import annotations

from dalembert.compiler.emit.grid import AXES, BLOCK, grid_ir
from dalembert.compiler.emit.source import Settings, Source, Unit, commented, description
from dalembert.compiler.emit.statements import array_names
from dalembert.compiler.kernel.compile import compiled_for
from dalembert.compiler.kernel.cuda import BYTES, GPU, USUAL_SHARED


def ptx(unit: Unit, settings: Settings) -> Source:
    """The file NAME.ptx."""
    scalar = settings.scalar
    dense, numbers = grid_ir(unit.graph, unit.signature, scalar, unit.symbol, "direct")
    strided, _ = grid_ir(unit.graph, unit.signature, scalar, f"{unit.symbol}_strided", "strided")
    code = compiled_for(GPU, dense, True, "static", strided).decode()
    use = _use(unit, scalar, numbers * BYTES[scalar])
    head = description(unit, array_names(unit, set()), " ".join(use), f"{settings.arithmetic}, no library functions")
    return Source({f"{unit.symbol}.ptx": f"{commented('//', head)}\n{code}"}, (*unit.notes, *use))


def _use(unit: Unit, scalar: str, shared: int) -> list[str]:
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
