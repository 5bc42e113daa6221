"""A tape as a GPU's kernel: one thread for each state.

There are two of them. The dense kernel is for arrays whose rows lie one behind the other, as outputs do when they are made
for it. The threads of a block share memory: together they copy the rows of all their states in, number by number, so that
neighbouring threads read neighbouring numbers; each works on its own row; together they copy the results out. Rows that
are too wide for that are computed in pieces: what is there is copied out, and the next piece takes its place.

The strided kernel takes and writes arrays of any strides with up to ``AXES`` leading axes, each thread for itself.

Launched with B threads in a block, the dense kernel needs B · ``shared_numbers`` numbers of shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf, prod
from typing import NamedTuple

from dalembert.emit.ir import IR, Form
from dalembert.emit.llvm import Part, function_parts, module, output_starts
from dalembert.emit.signature import Signature
from dalembert.emit.wrappers import Wrapper
from dalembert.graph.order import eased
from dalembert.graph.tape import Graph

AXES = 4  # leading axes of arrays that are no dense rows
WIDE = 1024  # bytes of results up to which a thread keeps them all at once
PIECE = 384  # bytes of a piece of wider ones
STAGED_INPUTS = 800  # bytes of inputs and results, up to which inputs go through shared memory, too

DECLARED = """@staging = external addrspace(3) global [0 x {scalar}], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
"""
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"


class Staging(NamedTuple):
    """What a thread has in shared memory, in numbers: rows of inputs, and room for a piece of the results."""

    inputs: tuple[int, ...]  # how far apart the rows of each are; () where threads read their inputs themselves
    piece: int  # results at a time
    room: int  # how far apart they are

    @property
    def numbers(self) -> int:
        """All of a thread's."""
        return sum(self.inputs) + self.room


def staging_of(signature: Signature, scalar: str) -> Staging:
    """How a kernel uses shared memory. Rows are an odd number of numbers apart, so that a column of them uses all banks."""
    size = Form(1, scalar).bytes
    given = [prod(shape) for _, shape in signature.inputs]
    results = sum(prod(shape) for _, shape in signature.outputs)
    piece = results if results * size <= WIDE else PIECE // size
    staged = (piece + sum(given)) * size <= STAGED_INPUTS
    return Staging(tuple(x | 1 for x in given) if staged else (), piece, piece | 1)


def grid_ir(graph: Graph, signature: Signature, scalar: str, name: str, strided: bool = False) -> str:
    """The module of a graph with its kernel ``name``."""
    graph = eased(graph)
    form = Form(1, scalar, 8 if scalar == "double" else 4, strided)
    written = Part if strided else _StagedPart
    parts, slots = function_parts(graph, signature, form, longest=inf, part_class=written)
    text = _Grid(signature, len(parts), slots, form)
    kernel = text.strided(name) if strided else text.dense(name)
    tables = [] if strided else _tables(graph, signature, scalar)
    return module([*tables, *parts, kernel], form, inline=True)


# -- pieces ------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Results that are in shared memory at the same time: positions among all results, in the order of memory."""

    positions: tuple[int, ...]
    needed: tuple[int, ...]  # the lines that they are on


def pieces_of(graph: Graph, signature: Signature, scalar: str) -> list[Piece]:
    """The results in pieces, in the order in which they come to be; constants go with the result before them."""
    most = staging_of(signature, scalar).piece
    computed = [p for p, line in enumerate(graph.outputs) if graph.op(line) not in ("const", "input")]
    with_it: dict[int, list[int]] = {p: [p] for p in computed}
    last = computed[0] if computed else -1
    if not computed:
        return [Piece(tuple(range(len(graph.outputs))), ())]
    for p in range(len(graph.outputs)):
        if p in with_it:
            last = p
        else:
            with_it[last].append(p)
    pieces: list[list[int]] = [[]]
    for p in sorted(computed, key=lambda p: (graph.outputs[p], p)):
        for position in with_it[p]:
            if len(pieces[-1]) == most:
                pieces.append([])
            pieces[-1].append(position)
    return [Piece(tuple(sorted(x)), tuple(graph.outputs[p] for p in x)) for x in pieces]


def _tables(graph: Graph, signature: Signature, scalar: str) -> list[str]:
    """For pieces that are not whole arrays: where in its row of the output each number belongs."""
    tables = []
    for k, piece in enumerate(pieces_of(graph, signature, scalar)):
        for array, start, end in output_starts(signature):
            elements = [p - start for p in piece.positions if start <= p < end]
            if elements and len(elements) < end - start:
                listed = ", ".join(f"i32 {e}" for e in elements)
                tables.append(f"@piece{k}_{array} = internal addrspace(4) constant [{len(elements)} x i32] [{listed}]")
    return tables


class _StagedPart(Part):
    """A part that leaves its results in shared memory, and copies them out with its block whenever a piece is complete."""

    def stores(self, kept: list[int], outputs: list[int]) -> Iterator[tuple[list[int], Callable[[], None]]]:
        for k, piece in enumerate(pieces_of(self.graph, self.signature, self.scalar)):
            for place, position in enumerate(piece.positions):
                line = self.graph.outputs[position]
                constant = self.graph.op(line) in ("const", "input")
                yield list(piece.needed) if constant else [line], partial(self.stage, line, place)
            yield list(piece.needed), partial(self.copy_out, k, piece)

    def stage(self, line: int, place: int) -> None:
        """A result to its place in the thread's room."""
        room = self.entry("%arrays", len(self.signature.arrays), "ptr")
        at = self.let(f"getelementptr {self.scalar}, ptr {room}, i64 {place}")
        self.say(f"store {self.vector} {self.value(line)}, ptr {at}, align {self.bytes}")

    def copy_out(self, k: int, piece: Piece) -> None:
        """The block's rows of a piece, number by number."""
        arrays = len(self.signature.arrays)
        rooms = self.entry("%arrays", arrays + 1, "ptr")  # of the whole block
        first, rows, count = (self.entry("%offsets", arrays + m) for m in range(3))
        thread, threads = _threads(self)
        self.say(BARRIER)
        room = staging_of(self.signature, self.scalar).room
        place = 0
        for array, start, end in output_starts(self.signature):
            elements = [p - start for p in piece.positions if start <= p < end]
            if elements:
                linear = place == 0 and room == len(elements) == end - start
                label = f"piece{k}_{array}"
                to = self.entry("%arrays", array, "ptr")
                self._copy(label, to, end - start, rooms, room, place, elements, linear, first, rows, thread, threads)
                place += len(elements)
        self.say(BARRIER)

    def _copy(
        self, label: str, to: str, size: int, rooms: str, room: int, place: int, elements: list[int], linear: bool,
        first: str, rows: str, thread: str, threads: str,
    ) -> None:  # fmt: skip
        length, scalar = len(elements), self.scalar
        numbers = self.let(f"mul i64 {rows}, {length}")
        begin = self.let(f"getelementptr {scalar}, ptr {to}, i64 {self.let(f'mul i64 {first}, {size}')}")
        self.say(f"br label %{label}_look")
        self.label(f"{label}_look")
        some = self.let(f"icmp slt i64 {thread}, {numbers}")
        self.say(f"br i1 {some}, label %{label}_copy, label %{label}_done")
        self.label(f"{label}_copy")
        self.say(f"%{label}_k = phi i64 [ {thread}, %{label}_look ], [ %{label}_next, %{label}_copy ]")
        source = target = f"%{label}_k"
        if not linear:
            narrow = self.let(f"trunc i64 %{label}_k to i32")
            row32 = self.let(f"udiv i32 {narrow}, {length}")
            within = self.let(f"sub i32 {narrow}, {self.let(f'mul i32 {row32}, {length}')}")
            row, at = self.let(f"zext i32 {row32} to i64"), self.let(f"zext i32 {within} to i64")
            there = self.let(f"add i64 {at}, {place}")
            source = self.let(f"add i64 {self.let(f'mul i64 {row}, {room}')}, {there}")
            if length < size:
                entry = self.let(f"getelementptr i32, ptr addrspace(4) @{label}, i64 {at}")
                at = self.let(f"zext i32 {self.let(f'load i32, ptr addrspace(4) {entry}')} to i64")
            target = self.let(f"add i64 {self.let(f'mul i64 {row}, {size}')}, {at}")
        x = self.let(f"load {scalar}, ptr {self.let(f'getelementptr {scalar}, ptr {rooms}, i64 {source}')}")
        self.say(f"store {scalar} {x}, ptr {self.let(f'getelementptr {scalar}, ptr {begin}, i64 {target}')}")
        self.say(f"%{label}_next = add i64 %{label}_k, {threads}")
        more = self.let(f"icmp slt i64 %{label}_next, {numbers}")
        self.say(f"br i1 {more}, label %{label}_copy, label %{label}_done")
        self.label(f"{label}_done")


def _register(text: IR, name: str) -> str:
    return text.let(f"zext i32 {text.let(f'call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()')} to i64")


def _threads(text: IR) -> tuple[str, str]:
    """The thread's number in its block, and how many there are."""
    return _register(text, "tid"), _register(text, "ntid")


# -- kernels -----------------------------------------------------------------------------------------


class _Grid(Wrapper):
    """The text of a kernel."""

    def own_state(self) -> None:
        """%first, the first state of the block, and %state, the thread's own, at most the last."""
        self.thread, self.threads = _threads(self)
        self.say(f"%first = mul i64 {_register(self, 'ctaid')}, {self.threads}")
        own = self.let(f"add i64 %first, {self.thread}")
        self.say("%last = sub i64 %count, 1")
        self.say(f"%state = select i1 {self.let(f'icmp slt i64 {own}, %count')}, i64 {own}, i64 %last")

    def generic(self, pointer: str, space: int) -> str:
        """A pointer of an address space as the parts take it; LLVM finds out again where it came from."""
        return self.let(f"addrspacecast ptr addrspace({space}) {pointer} to ptr")

    def kernel(self, name: str, parameters: Sequence[str]) -> str:
        """The lines as a kernel."""
        return DECLARED.format(scalar=self.scalar) + self.function(f"ptx_kernel void @{name}({', '.join(parameters)})")

    def rooms(self) -> None:
        """Tables with what the copies of a block need behind what the parts need."""
        arrays = len(self.sizes)
        strides = sum(map(len, self.signature.arrays))
        self.say(f"%arrays = alloca ptr, i32 {arrays + 2}")
        self.say(f"%offsets = alloca i64, i32 {arrays + max(strides, 3)}")
        self.say(f"%workspace = alloca {self.vector}, i32 {max(self.slots, 1)}, align {self.bytes}")

    def dense(self, name: str) -> str:
        """``name(arrays…, strides of the inputs' rows in bytes…, count)``"""
        inputs, arrays = len(self.signature.inputs), len(self.sizes)
        staging = staging_of(self.signature, self.scalar)
        self.rooms()
        self.own_state()
        left = self.let("sub i64 %count, %first")
        few = self.let(f"icmp slt i64 {left}, {self.threads}")
        self.say(f"%rows = select i1 {few}, i64 {left}, i64 {self.threads}")
        given, at = [], 0
        for a, width in enumerate(staging.inputs):
            given.append(self._copied_in(a, self._shared(at, "0"), width))
            at += width
        if staging.inputs:
            self.say(BARRIER)
        results = self._shared(at, self.let(f"mul i64 {self.thread}, {staging.room}"))
        pointers = given or [self.generic(x, 1) for x in self.arguments[:inputs]]

        def offset(array: int, lane: int) -> str:
            return self.let(f"mul i64 %state, %stride{array}") if array < inputs and not given else "0"

        self.tables([*pointers, *(self.generic(x, 1) for x in self.arguments[inputs:])], offset)
        self.put("%arrays", arrays, self.generic(results, 3), "ptr")
        self.put("%arrays", arrays + 1, self.generic(self._shared(at, "0"), 3), "ptr")
        for k, value in enumerate(("%first", "%rows", "%count")):
            self.put("%offsets", arrays + k, value)
        self.block()
        self.say("ret void")
        parameters = [f"ptr addrspace(1) noalias {x}" for x in self.arguments]
        return self.kernel(name, [*parameters, *(f"i64 %stride{a}" for a in range(inputs)), "i64 %count"])

    def _shared(self, before: int, offset: str) -> str:
        """A place in shared memory behind what all threads of the block have so many numbers of."""
        start = self.let(f"add i64 {self.let(f'mul i64 {self.threads}, {before}')}, {offset}")
        return self.let(f"getelementptr {self.scalar}, ptr addrspace(3) @staging, i64 {start}")

    def _copied_in(self, a: int, room: str, width: int) -> str:
        """The block's rows of an input in shared memory, number by number; where the thread's own is."""
        size, scalar, label = self.sizes[a], self.scalar, f"in{a}"
        numbers = self.let(f"mul i64 %rows, {size}")
        self.say(f"br label %{label}_look")
        self.label(f"{label}_look")
        some = self.let(f"icmp slt i64 {self.thread}, {numbers}")
        self.say(f"br i1 {some}, label %{label}_copy, label %{label}_done")
        self.label(f"{label}_copy")
        self.say(f"%{label}_k = phi i64 [ {self.thread}, %{label}_look ], [ %{label}_next, %{label}_copy ]")
        narrow = self.let(f"trunc i64 %{label}_k to i32")
        row32 = self.let(f"udiv i32 {narrow}, {size}")
        within = self.let(f"sub i32 {narrow}, {self.let(f'mul i32 {row32}, {size}')}")
        row, e = self.let(f"zext i32 {row32} to i64"), self.let(f"zext i32 {within} to i64")
        state = self.let(f"add i64 %first, {row}")
        start = self.let(
            f"getelementptr i8, ptr addrspace(1) {self.arguments[a]}, i64 {self.let(f'mul i64 {state}, %stride{a}')}"
        )
        x = self.let(
            f"load {scalar}, ptr addrspace(1) {self.let(f'getelementptr {scalar}, ptr addrspace(1) {start}, i64 {e}')}"
        )
        there = self.let(f"add i64 {self.let(f'mul i64 {row}, {width}')}, {e}")
        self.say(
            f"store {scalar} {x}, ptr addrspace(3) {self.let(f'getelementptr {scalar}, ptr addrspace(3) {room}, i64 {there}')}"
        )
        self.say(f"%{label}_next = add i64 %{label}_k, {self.threads}")
        more = self.let(f"icmp slt i64 %{label}_next, {numbers}")
        self.say(f"br i1 {more}, label %{label}_copy, label %{label}_done")
        self.label(f"{label}_done")
        own = self.let(f"sub i64 %state, %first")
        mine = self.let(f"getelementptr {scalar}, ptr addrspace(3) {room}, i64 {self.let(f'mul i64 {own}, {width}')}")
        return self.generic(mine, 3)

    def strided(self, name: str) -> str:
        """``name(arrays…, count, AXES − 1 inner lengths, AXES strides of each array, strides of all core axes)``, in bytes"""
        arrays = len(self.sizes)
        self.rooms()
        self.own_state()
        rest, indices = "%state", []
        for axis in reversed(range(1, AXES)):
            indices.append(self.let(f"srem i64 {rest}, %length{axis}"))
            rest = self.let(f"sdiv i64 {rest}, %length{axis}")
        indices = [rest, *reversed(indices)]

        def offset(array: int, lane: int) -> str:
            total = "0"
            for axis, index in enumerate(indices):
                total = self.let(f"add i64 {total}, {self.let(f'mul i64 {index}, %s{array}_{axis}')}")
            return total

        self.tables([self.generic(x, 1) for x in self.arguments], offset)
        cores = sum(map(len, self.signature.arrays))
        for k in range(cores):
            self.put("%offsets", arrays + k, f"%core{k}")
        self.block()
        self.say("ret void")
        parameters = [
            *(f"ptr addrspace(1) {x}" for x in self.arguments),
            "i64 %count",
            *(f"i64 %length{axis}" for axis in range(1, AXES)),
            *(f"i64 %s{array}_{axis}" for array in range(arrays) for axis in range(AXES)),
            *(f"i64 %core{k}" for k in range(cores)),
        ]
        return self.kernel(name, parameters)
