"""GPU kernels on the CPU: the same IR, with a thread of the operating system for each thread of a block.

Address spaces become one, shared memory an array, registers of the GPU and its barrier functions of Python. ``launch`` of
:mod:`dalembert.compiler.kernel.cuda` then works on arrays of NumPy as it does on those of a GPU, layouts and all.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dalembert.compiler.emit.grid import BLOCK, grid_ir, phases_ir
from dalembert.compiler.kernel import cuda
from dalembert.compiler.kernel.compile import MachineCode, object_code
from dalembert.compiler.kernel.cuda import DeviceArray, DeviceKernel, Loaded

ALONE = 4  # threads in a block of a kernel that has no barrier
PATIENCE = 30  # seconds that a thread waits for the others
NUMBER, BARRIER = ctypes.CFUNCTYPE(ctypes.c_int32), ctypes.CFUNCTYPE(None, ctypes.c_int32)


class Grid:
    """Where the thread is that asks."""

    def __init__(self) -> None:
        self.own = threading.local()
        self.threads = 0
        self.barrier = threading.Barrier(1)
        self.functions = {
            "read.ptx.sreg.tid.x": NUMBER(lambda: self.own.thread),
            "read.ptx.sreg.ntid.x": NUMBER(lambda: self.threads),
            "read.ptx.sreg.ctaid.x": NUMBER(lambda: self.own.block),
            "barrier.cta.sync.aligned.all": BARRIER(lambda _: self._wait()),
        }

    def _wait(self) -> None:
        self.barrier.wait(PATIENCE)

    def on_host(self, ir: str, numbers: int) -> str:
        """The module of a kernel whose threads need so many numbers of shared memory, for this machine."""
        scalar = "float" if "[0 x float]" in ir else "double"
        ir = re.sub(r"^declare .*@llvm\.nvvm\..*\n", "", ir, flags=re.MULTILINE)
        room = f"@staging = global [{max(numbers * BLOCK[scalar], 1)} x {scalar}] zeroinitializer, align 16"
        ir = re.sub(r"^@staging = .*$", room, ir, flags=re.MULTILINE)
        ir = ir.replace("addrspacecast", "bitcast").replace("ptx_kernel ", "")
        ir = re.sub(r" addrspace\(\d\)", "", ir)
        defined = []
        for name, function in self.functions.items():
            address = ctypes.cast(function, ctypes.c_void_p).value
            ir = ir.replace(f"@llvm.nvvm.{name}", f'@"{name}"')
            kind, taken, given = ("void", "i32 %x", "i32 %x") if "barrier" in name else ("i32", "", "")
            call = f"call {kind} %f({given})"  # of an address that is read: calls of constants reach 2 GB only
            body = f"{call}\n  ret void" if kind == "void" else f"%r = {call}\n  ret i32 %r"
            defined.append(f'@"{name}.at" = global i64 {address}')
            read = f'%a = load volatile i64, ptr @"{name}.at"\n  %f = inttoptr i64 %a to ptr'
            defined.append(f'define {kind} @"{name}"({taken}) {{\n  {read}\n  {body}\n}}')
        return "\n".join([ir, *defined])

    def run(self, function: Any, block: int, count: int, numbers: Sequence[int]) -> None:
        """All blocks of a kernel, one after the other."""
        self.threads = block
        for k in range(-(-count // block)):
            self.barrier = threading.Barrier(block)
            threads = [threading.Thread(target=self._thread, args=(function, k, t, numbers)) for t in range(block)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def _thread(self, function: Any, block: int, thread: int, numbers: Sequence[int]) -> None:
        self.own.block, self.own.thread = block, thread
        function(*numbers)


GRID = Grid()


@dataclass(frozen=True)
class HostKernel:
    """A function, and the code that it is part of."""

    call: Any
    code: MachineCode


def compiled(ir: str, numbers: int, name: str = cuda.NAME) -> HostKernel:
    """The kernel of a module as a function."""
    head = re.search(rf"^define ptx_kernel void @{name}\((.*)\).*{{$", ir, flags=re.MULTILINE)
    assert head is not None
    code = MachineCode(object_code([GRID.on_host(ir, numbers)]))
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(head[1].split(",")))
    return HostKernel(kind(code.address(name)), code)


def loaded(kernels: dict[Any, Loaded], of: DeviceKernel, device: int, kind: str) -> Loaded:
    """What ``DeviceKernel.loaded`` gives."""
    key = (of.parts, of.scalar, kind)
    if key not in kernels:
        if kind == "phases" and of.phases is not None:
            ir, numbers = phases_ir(of.phases(), of.signature, of.scalar, cuda.NAME)
        else:
            ir, numbers = grid_ir(of.graph(), of.signature, of.scalar, cuda.NAME, kind)
        kernels[key] = Loaded(compiled(ir, numbers), ALONE if kind == "strided" else BLOCK[of.scalar], 0)
    return kernels[key]


def launched(kernel: Loaded, count: int, numbers: Sequence[int], stream: int) -> None:
    """What ``_launch`` does."""
    GRID.run(kernel.function.call, kernel.block, count, numbers)


def on_this_machine(patch: pytest.MonkeyPatch) -> dict[Any, Loaded]:
    """Let kernels for GPUs run here; the kernels that were, by what they are made of and their kind."""
    kernels: dict[Any, Loaded] = {}
    patch.setattr(cuda, "_current", lambda device: contextlib.nullcontext())
    patch.setattr(cuda, "_launch", launched)
    patch.setattr(DeviceKernel, "loaded", lambda self, device, kind: loaded(kernels, self, device, kind))
    return kernels


def described(x: np.ndarray) -> DeviceArray:
    """Where an array lies."""
    return DeviceArray(x.ctypes.data, x.shape, x.strides, x.dtype.name, 0)


def outputs_of(kernel: DeviceKernel, lead: tuple[int, ...]) -> list[np.ndarray]:
    """Room for results."""
    kind = {"double": np.float64, "float": np.float32}[kernel.scalar]
    return [np.full((*lead, *core), np.nan, kind) for _, core in kernel.signature.outputs]
