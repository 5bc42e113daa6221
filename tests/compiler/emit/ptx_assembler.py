"""NVIDIA's assembler ``ptxas``, which tells what a kernel needs."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from dalembert.errors import DalembertError


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
