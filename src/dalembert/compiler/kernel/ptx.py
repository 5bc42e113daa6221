"""The target ``ptx``: kernels for NVIDIA GPUs as text, which every driver translates to machine code.

The file has two kernels: ``NAME`` for contiguous rows and ``NAME_strided`` for arrays of any strides. If NVIDIA's
assembler ``ptxas`` is installed, the notes include the resources that it reports.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from dalembert.compiler.emit.grid import AXES, BLOCK, grid_ir
from dalembert.compiler.emit.source import Settings, Source, Unit, commented, description
from dalembert.compiler.emit.statements import array_names
from dalembert.compiler.kernel.compile import compiled_for
from dalembert.compiler.kernel.cuda import BYTES, GPU, USUAL_SHARED
from dalembert.errors import DalembertError

CARD = "sm_90"  # that notes are about


def ptx(unit: Unit, settings: Settings) -> Source:
    """The file NAME.ptx."""
    scalar = settings.scalar
    dense, numbers = grid_ir(unit.graph, unit.signature, scalar, unit.symbol, "direct")
    strided, _ = grid_ir(unit.graph, unit.signature, scalar, f"{unit.symbol}_strided", "strided")
    code = compiled_for(GPU, dense, True, "static", strided).decode()
    use = _use(unit, scalar, numbers * BYTES[scalar])
    head = description(unit, array_names(unit, set()), " ".join(use), f"{settings.arithmetic}, no library functions")
    notes = [*unit.notes, *use]
    if shutil.which("ptxas"):
        for name, needs in sorted(assembled(code, CARD).items()):
            notes.append(
                f"{name}: {needs.registers} registers, {needs.spilled} bytes spilled, as assembled by ptxas for {CARD}."
            )
    return Source({f"{unit.symbol}.ptx": f"{commented('//', head)}\n{code}"}, tuple(notes))


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


class Needs(NamedTuple):
    """The resources that a thread of a kernel needs on a GPU."""

    registers: int
    stack: int  # bytes
    spilled: int  # bytes spilled to memory for lack of registers


def assembled(text: str, card: str) -> dict[str, Needs]:
    """The resources of every kernel of a text, by name, as reported by ``ptxas`` for a GPU such as "sm_90"."""
    program = shutil.which("ptxas")
    if program is None:
        raise DalembertError(
            "ptxas is not on the PATH; install NVIDIA's CUDA compiler, for instance with pip install nvidia-cuda-nvcc"
        )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "compiler.kernel.ptx"
        source.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [program, "-v", f"-arch={card}", str(source), "-o", str(Path(folder) / "kernel.cubin")],
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise DalembertError(f"ptxas rejects the text for {card}: {done.stderr.strip() or done.stdout.strip()}")
    needs = {}
    pieces = re.split(r"Compiling entry function '(\w+)'", done.stdout + done.stderr)
    for name, said in zip(pieces[1::2], pieces[2::2], strict=True):
        stack, stores, loads = _numbers(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said
        )
        (registers,) = _numbers(r"Used (\d+) registers", said)
        needs[name] = Needs(registers, stack, max(stores, loads))
    return needs


def _numbers(pattern: str, said: str) -> list[int]:
    match = re.search(pattern, said)
    if match is None:
        raise DalembertError(f"the output of ptxas is not understood: {said.strip()!r}; this is a bug in dalembert")
    return [int(x) for x in match.groups()]
