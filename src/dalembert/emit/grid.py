"""A tape as a GPU's kernel: one thread for each state.

There are two of them. ``dense_grid`` is for outputs that lie one row behind the other, as they do when they are made for it:
every thread leaves its row in the memory that the threads of a block share, and the block then copies all of its rows
linearly, so that neighbouring threads write neighbouring numbers. ``strided_grid`` takes and writes arrays of any
strides with up to ``AXES`` leading axes, each thread for itself.

Launched with B threads in a block, ``dense_grid`` needs B · ``shared_numbers`` numbers of shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from dalembert.emit.ir import Form
from dalembert.emit.llvm import function_parts, module
from dalembert.emit.signature import Signature
from dalembert.emit.wrappers import Wrapper
from dalembert.graph.tape import Graph

AXES = 4  # leading axes of arrays that are no dense rows

DECLARED = """@staging = external addrspace(3) global [0 x {scalar}], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
"""


def staged_width(size: int) -> int:
    """How many numbers apart rows are in shared memory: an odd number, so that a column of them uses all banks."""
    return size | 1


def shared_numbers(signature: Signature) -> int:
    """Numbers of shared memory that a thread needs."""
    return sum(staged_width(prod(shape)) for _, shape in signature.outputs)


class Grid(Wrapper):
    """The text of a kernel."""

    def threads(self) -> None:
        """%thread in its block of %threads, %first the block's first state, %state the thread's own, at most the last."""
        for name, register in (("thread", "tid"), ("threads", "ntid"), ("block", "ctaid")):
            value = self.let(f"call i32 @llvm.nvvm.read.ptx.sreg.{register}.x()")
            self.say(f"%{name} = zext i32 {value} to i64")
        self.say("%first = mul i64 %block, %threads")
        own = self.let("add i64 %first, %thread")
        self.say("%last = sub i64 %count, 1")
        inside = self.let(f"icmp slt i64 {own}, %count")
        self.say(f"%state = select i1 {inside}, i64 {own}, i64 %last")

    def generic(self, pointer: str, space: int) -> str:
        """A pointer of an address space as the parts take it; LLVM finds out again where it came from."""
        return self.let(f"addrspacecast ptr addrspace({space}) {pointer} to ptr")

    def kernel(self, name: str, parameters: Sequence[str]) -> str:
        """The lines as a kernel."""
        return DECLARED.format(scalar=self.scalar) + self.function(f"ptx_kernel void @{name}({', '.join(parameters)})")


def dense_grid(text: Grid, name: str) -> str:
    """``name(arrays…, strides of the inputs' rows in bytes…, count)``"""
    inputs, scalar = len(text.signature.inputs), text.scalar
    text.rooms()
    text.threads()
    places, at = [], 0
    for size in text.sizes[inputs:]:
        width = staged_width(size)
        before, row = text.let(f"mul i64 %threads, {at}"), text.let(f"mul i64 %thread, {width}")
        begin = text.let(f"getelementptr {scalar}, ptr addrspace(3) @staging, i64 {before}")
        places.append((begin, text.let(f"getelementptr {scalar}, ptr addrspace(3) {begin}, i64 {row}")))
        at += width
    given = [text.generic(x, 1) for x in text.arguments[:inputs]]
    staged = [text.generic(row, 3) for _, row in places]

    def offset(array: int, lane: int) -> str:
        return text.let(f"mul i64 %state, %stride{array}") if array < inputs else "0"

    text.tables([*given, *staged], offset)
    text.block()
    text.say("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)")
    left = text.let("sub i64 %count, %first")
    full = text.let(f"icmp slt i64 {left}, %threads")
    text.say(f"%rows = select i1 {full}, i64 {left}, i64 %threads")
    for (begin, _), size, array in zip(places, text.sizes[inputs:], text.arguments[inputs:], strict=True):
        _copy_out(text, begin, size, array)
    text.say("ret void")
    pointers = [f"ptr addrspace(1) noalias {x}" for x in text.arguments]
    return text.kernel(name, [*pointers, *(f"i64 %stride{a}" for a in range(inputs)), "i64 %count"])


def _copy_out(text: Grid, begin: str, size: int, array: str) -> None:
    """The block's rows of one output, from shared memory: number k of them by thread k, k + B, …"""
    scalar, width = text.scalar, staged_width(size)
    label = array[1:].replace(".", "_")
    numbers = text.let(f"mul i64 %rows, {size}")
    start = text.let(f"mul i64 %first, {size}")
    to = text.let(f"getelementptr {scalar}, ptr addrspace(1) {array}, i64 {start}")
    text.say(f"br label %{label}_look")
    text.label(f"{label}_look")
    text.say(f"%{label}_some = icmp slt i64 %thread, {numbers}")
    text.say(f"br i1 %{label}_some, label %{label}_copy, label %{label}_done")
    text.label(f"{label}_copy")
    text.say(f"%{label}_k = phi i64 [ %thread, %{label}_look ], [ %{label}_next, %{label}_copy ]")
    k = f"%{label}_k"
    if width != size:  # skip what fills the rows up
        narrow = text.let(f"trunc i64 {k} to i32")
        row = text.let(f"zext i32 {text.let(f'udiv i32 {narrow}, {size}')} to i64")
        k = text.let(f"add i64 {k}, {row}")
    x = text.let(
        f"load {scalar}, ptr addrspace(3) {text.let(f'getelementptr {scalar}, ptr addrspace(3) {begin}, i64 {k}')}"
    )
    text.say(
        f"store {scalar} {x}, ptr addrspace(1) {text.let(f'getelementptr {scalar}, ptr addrspace(1) {to}, i64 %{label}_k')}"
    )
    text.say(f"%{label}_next = add i64 %{label}_k, %threads")
    text.say(f"%{label}_more = icmp slt i64 %{label}_next, {numbers}")
    text.say(f"br i1 %{label}_more, label %{label}_copy, label %{label}_done")
    text.label(f"{label}_done")


def strided_grid(text: Grid, name: str) -> str:
    """``name(arrays…, count, AXES − 1 inner lengths, AXES strides of each array, strides of all core axes)``, in bytes"""
    arrays = len(text.sizes)
    text.rooms()
    text.threads()
    rest, indices = "%state", []
    for axis in reversed(range(1, AXES)):
        indices.append(text.let(f"srem i64 {rest}, %length{axis}"))
        rest = text.let(f"sdiv i64 {rest}, %length{axis}")
    indices = [rest, *reversed(indices)]

    def offset(array: int, lane: int) -> str:
        total = "0"
        for axis, index in enumerate(indices):
            total = text.let(f"add i64 {total}, {text.let(f'mul i64 {index}, %s{array}_{axis}')}")
        return total

    text.tables([text.generic(x, 1) for x in text.arguments], offset)
    cores = sum(map(len, text.signature.arrays))
    for k in range(cores):
        text.put("%offsets", arrays + k, f"%core{k}")
    text.block()
    text.say("ret void")
    parameters = [
        *(f"ptr addrspace(1) {x}" for x in text.arguments),
        "i64 %count",
        *(f"i64 %length{axis}" for axis in range(1, AXES)),
        *(f"i64 %s{array}_{axis}" for array in range(arrays) for axis in range(AXES)),
        *(f"i64 %core{k}" for k in range(cores)),
    ]
    return text.kernel(name, parameters)


def grid_ir(graph: Graph, signature: Signature, scalar: str, name: str, strided: bool = False) -> str:
    """The module of a graph with its kernel ``name``."""
    form = Form(1, scalar, 8 if scalar == "double" else 4, strided)
    parts, slots = function_parts(graph, signature, form)
    text = Grid(signature, len(parts), slots, form)
    return module([*parts, (strided_grid if strided else dense_grid)(text, name)], form, inline=True)
