"""A tape as a GPU's kernel: one thread for each state.

There are three of them. The dense kernels are for arrays whose rows lie one behind the other, as outputs do when they are made
for it. The threads of a block share memory: together they copy the rows of all their states in, number by number, so that
neighbouring threads read neighbouring numbers; each works on its own row; together they copy the results out. Rows that
are too wide for that are computed in pieces: what is there is copied out, and the next piece takes its place.

The strided kernel takes and writes arrays of any strides with up to ``AXES`` leading axes, each thread for itself.

The dense kernel is there twice: ``staged`` copies inputs in, which must be dense rows; of ``direct`` every thread reads its
own, which may be any row distance apart, or all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf, prod
from typing import Any, NamedTuple

from dalembert.emit.ir import IR, Form
from dalembert.emit.llvm import Part, function_parts, module, output_starts
from dalembert.emit.signature import Signature
from dalembert.emit.wrappers import Wrapper
from dalembert.graph.order import eased
from dalembert.graph.tape import Graph

AXES = 4  # leading axes of arrays that are no dense rows
WIDE = 1200  # bytes of results up to which a thread keeps them all at once
PIECE = 384  # bytes of a piece of wider ones
BYTES_OF_THREAD = 800  # in shared memory, beyond which inputs do not go through it
NARROW = 24  # numbers of a row that are copied out regardless of rows; a warp copies longer rows one by one
WARP = 32

DECLARED = """@staging = external addrspace(3) global [0 x {scalar}], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
"""
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
KINDS = ("staged", "direct", "strided")


def staged_inputs(signature: Signature, scalar: str) -> bool:
    """Whether inputs of dense rows are worth copying in together."""
    given = [prod(shape) for _, shape in signature.inputs]
    results = sum(prod(shape) for _, shape in signature.outputs)
    size = Form(1, scalar).bytes
    return all(x % 4 for x in given) and (sum(given) + min(results, WIDE // size)) * size <= BYTES_OF_THREAD


def grid_ir(graph: Graph, signature: Signature, scalar: str, name: str, kind: str = "direct") -> tuple[str, int]:
    """The module of a graph with its kernel ``name``, and the numbers of shared memory that a thread of it needs."""
    graph = eased(graph)
    form = Form(1, scalar, 8 if scalar == "double" else 4, kind == "strided")
    if kind == "strided":
        parts, slots = function_parts(graph, signature, form, longest=inf)
        kernel = _Grid(signature, len(parts), slots, form).strided(name)
        return module([*parts, kernel], form, inline=True), 0
    pieces = pieces_of(graph, signature, form.bytes)
    parts, slots = function_parts(graph, signature, form, longest=inf, part_class=partial(_StagedPart, pieces=pieces))
    inputs = sum(prod(shape) for _, shape in signature.inputs) if kind == "staged" else 0
    kernel = _Grid(signature, len(parts), slots, form).dense(name, inputs)
    tables = [
        f"@piece{k}_{run.array} = internal addrspace(1) constant [{len(run.elements)} x i32] "
        f"[{', '.join(f'i32 {e}' for e in run.elements)}]"
        for k, piece in enumerate(pieces)
        for run in piece.runs
        if not run.whole
    ]
    return module([*tables, *parts, kernel], form, inline=True), inputs + max(piece.numbers for piece in pieces)


# -- pieces ------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """Elements of one output in shared memory, in the order of memory."""

    array: int
    elements: tuple[int, ...]
    lines: tuple[int, ...]  # of the tape
    size: int  # numbers in a row of the output
    before: int  # numbers that a thread has in shared memory before these

    @property
    def whole(self) -> bool:
        """Whether these are all elements of the row."""
        return len(self.elements) == self.size

    @property
    def width(self) -> int:
        """How far rows are apart: an odd number, so that a column of them uses all banks."""
        return len(self.elements) | 1


class Piece(NamedTuple):
    """Results that are in shared memory at the same time."""

    runs: tuple[Run, ...]
    needed: list[int]  # the lines that they are on

    @property
    def numbers(self) -> int:
        """Of a thread's shared memory."""
        return sum(run.width for run in self.runs)


def pieces_of(graph: Graph, signature: Signature, size: int) -> list[Piece]:
    """The results in pieces, in the order in which they come to be; constants go with the result before them."""
    results = len(graph.outputs)
    most = results if results * size <= WIDE else PIECE // size
    with_it: dict[int, list[int]] = {}  # by a result that is computed: itself and the constants behind it
    for position, line in enumerate(graph.outputs):
        if not with_it or graph.op(line) not in ("const", "input"):
            last = position
        with_it.setdefault(last, []).append(position)
    order = [p for head in sorted(with_it, key=lambda p: (graph.outputs[p], p)) for p in with_it[head]]
    return [_piece(graph, signature, sorted(order[k : k + most])) for k in range(0, results, most)]


def _piece(graph: Graph, signature: Signature, positions: list[int]) -> Piece:
    runs: list[Run] = []
    for array, start, end in output_starts(signature):
        here = [p for p in positions if start <= p < end]
        if here:
            before = sum(run.width for run in runs)
            lines = tuple(graph.outputs[p] for p in here)
            runs.append(Run(array, tuple(p - start for p in here), lines, end - start, before))
    return Piece(tuple(runs), [graph.outputs[p] for p in positions])


class _StagedPart(Part):
    """A part that leaves its results in shared memory, and copies them out with its block whenever a piece is complete.

    Behind the arrays, its table has where shared memory for results begins; behind the offsets, the first state of the
    block, its number of states, and of threads.
    """

    def __init__(self, *arguments: Any, pieces: list[Piece]) -> None:
        super().__init__(*arguments)
        self.pieces = pieces

    def stores(self, kept: list[int], outputs: list[int]) -> Iterator[tuple[list[int], Callable[[], None]]]:
        for k, piece in enumerate(self.pieces):
            for run in piece.runs:
                for place, line in enumerate(run.lines):
                    fixed = self.graph.op(line) in ("const", "input")
                    yield piece.needed if fixed else [line], partial(self.stage, run, line, place)
            yield piece.needed, partial(self.copy_out, k, piece)

    def room(self, run: Run) -> str:
        """Where the rows of a run begin in shared memory."""
        threads = self.entry("%offsets", len(self.signature.arrays) + 2)
        begin = self.entry("%arrays", len(self.signature.arrays), "ptr")
        return self.let(f"getelementptr {self.scalar}, ptr {begin}, i64 {self.let(f'mul i64 {threads}, {run.before}')}")

    def stage(self, run: Run, line: int, place: int) -> None:
        """A result to its place in the thread's row."""
        row = self.let(f"mul i64 {_register(self, 'tid')}, {run.width}")
        at = self.let(f"getelementptr {self.scalar}, ptr {self.room(run)}, i64 {self.let(f'add i64 {row}, {place}')}")
        self.say(f"store {self.vector} {self.value(line)}, ptr {at}, align {self.bytes}")

    def copy_out(self, k: int, piece: Piece) -> None:
        """The block's rows of a piece, neighbouring numbers by neighbouring threads."""
        self.say(BARRIER)
        for run in piece.runs:
            first = self.entry("%offsets", len(self.signature.arrays))
            output = self.entry("%arrays", run.array, "ptr")
            to = self.let(f"getelementptr {self.scalar}, ptr {output}, i64 {self.let(f'mul i64 {first}, {run.size}')}")
            by = self.by_rows if len(run.elements) >= NARROW and run.width != run.size else self.by_numbers
            by(f"piece{k}_{run.array}", run, to, self.room(run))
        if k + 1 < len(self.pieces):
            self.say(BARRIER)

    def by_numbers(self, label: str, run: Run, to: str, room: str) -> None:
        """Number k of all rows by thread k, k + B, …"""
        rows, threads = (self.entry("%offsets", len(self.signature.arrays) + m) for m in (1, 2))
        count = len(run.elements)
        with _Loop(self, label, _register(self, "tid"), self.let(f"mul i64 {rows}, {count}"), threads) as k:
            source = target = k
            if run.width != run.size:
                narrow = self.let(f"trunc i64 {k} to i32")
                row32 = self.let(f"udiv i32 {narrow}, {count}")
                within = self.let(f"sub i32 {narrow}, {self.let(f'mul i32 {row32}, {count}')}")
                row, e = self.let(f"zext i32 {row32} to i64"), self.let(f"zext i32 {within} to i64")
                source = self.let(f"add i64 {self.let(f'mul i64 {row}, {run.width}')}, {e}")
                if not run.whole:
                    e = self.element(label, e)
                target = self.let(f"add i64 {self.let(f'mul i64 {row}, {run.size}')}, {e}")
            self.moved(room, source, to, target)

    def by_rows(self, label: str, run: Run, to: str, room: str) -> None:
        """A row by a warp: elements l, l + 32, … of it by its thread l."""
        rows, threads = (self.entry("%offsets", len(self.signature.arrays) + m) for m in (1, 2))
        thread, count = _register(self, "tid"), len(run.elements)
        lane, warp = self.let(f"and i64 {thread}, {WARP - 1}"), self.let(f"udiv i64 {thread}, {WARP}")
        warps = self.let(f"udiv i64 {threads}, {WARP}")
        for j in range(0, count, WARP):
            e = self.let(f"add i64 {lane}, {j}")
            inside = self.let(f"icmp slt i64 {e}, {count}")
            beyond = self.let(f"select i1 {inside}, i64 {rows}, i64 0")  # a thread beyond the row copies none
            e = self.let(f"select i1 {inside}, i64 {e}, i64 0")
            target_e = e if run.whole else self.element(label, e)
            with _Loop(self, f"{label}_{j}", warp, beyond, warps) as row:
                source = self.let(f"add i64 {self.let(f'mul i64 {row}, {run.width}')}, {e}")
                self.moved(room, source, to, self.let(f"add i64 {self.let(f'mul i64 {row}, {run.size}')}, {target_e}"))

    def element(self, label: str, index: str) -> str:
        """The element of the row that stands at an index of a run."""
        at = self.let(f"getelementptr i32, ptr addrspace(1) @{label}, i64 {index}")
        return self.let(f"zext i32 {self.let(f'load i32, ptr addrspace(1) {at}')} to i64")

    def moved(self, room: str, source: str, to: str, target: str) -> None:
        """One number."""
        x = self.let(f"load {self.scalar}, ptr {self.let(f'getelementptr {self.scalar}, ptr {room}, i64 {source}')}")
        self.say(f"store {self.scalar} {x}, ptr {self.let(f'getelementptr {self.scalar}, ptr {to}, i64 {target}')}")


class _Loop:
    """Within it, the lines of a loop over k = first, first + step, … below a bound."""

    def __init__(self, text: IR, label: str, first: str, bound: str, step: str) -> None:
        self.text, self.label, self.first, self.bound, self.step = text, label, first, bound, step

    def __enter__(self) -> str:
        text, label = self.text, self.label
        text.say(f"br label %{label}_look")
        text.label(f"{label}_look")
        some = text.let(f"icmp slt i64 {self.first}, {self.bound}")
        text.say(f"br i1 {some}, label %{label}_copy, label %{label}_done")
        text.label(f"{label}_copy")
        text.say(f"%{label}_k = phi i64 [ {self.first}, %{label}_look ], [ %{label}_next, %{label}_copy ]")
        return f"%{label}_k"

    def __exit__(self, *_: object) -> None:
        text, label = self.text, self.label
        text.say(f"%{label}_next = add i64 %{label}_k, {self.step}")
        more = text.let(f"icmp slt i64 %{label}_next, {self.bound}")
        text.say(f"br i1 {more}, label %{label}_copy, label %{label}_done")
        text.label(f"{label}_done")


def _register(text: IR, name: str) -> str:
    return text.let(f"zext i32 {text.let(f'call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()')} to i64")


# -- kernels -----------------------------------------------------------------------------------------


class _Grid(Wrapper):
    """The text of a kernel."""

    def own_state(self) -> None:
        """%first, the first state of the block, and %state, the thread's own, at most the last."""
        self.thread, self.threads = _register(self, "tid"), _register(self, "ntid")
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
        arrays, strides = len(self.sizes), sum(map(len, self.signature.arrays))
        self.say(f"%arrays = alloca ptr, i32 {arrays + 1}")
        self.say(f"%offsets = alloca i64, i32 {arrays + max(strides, 3)}")
        self.say(f"%workspace = alloca {self.vector}, i32 {max(self.slots, 1)}, align {self.bytes}")

    def dense(self, name: str, staged: int) -> str:
        """``name(arrays…, strides of the inputs' rows in bytes…, count)``; dense inputs have so many numbers ``staged``."""
        inputs, arrays = len(self.signature.inputs), len(self.sizes)
        self.rooms()
        self.own_state()
        left = self.let("sub i64 %count, %first")
        few = self.let(f"icmp slt i64 {left}, {self.threads}")
        self.say(f"%rows = select i1 {few}, i64 {left}, i64 {self.threads}")
        if staged:
            given = self.copied_in()
        else:
            given = [self.generic(x, 1) for x in self.arguments[:inputs]]

        def offset(array: int, lane: int) -> str:
            return self.let(f"mul i64 %state, %stride{array}") if array < inputs and not staged else "0"

        self.tables([*given, *(self.generic(x, 1) for x in self.arguments[inputs:])], offset)
        self.put("%arrays", arrays, self.generic(self.shared(staged), 3), "ptr")
        for k, value in enumerate(("%first", "%rows", self.threads)):
            self.put("%offsets", arrays + k, value)
        self.block()
        self.say("ret void")
        parameters = [f"ptr addrspace(1) noalias {x}" for x in self.arguments]
        return self.kernel(name, [*parameters, *(f"i64 %stride{a}" for a in range(inputs)), "i64 %count"])

    def shared(self, before: int, offset: str = "0") -> str:
        """A place in shared memory behind what all threads of the block have so many numbers of."""
        start = self.let(f"add i64 {self.let(f'mul i64 {self.threads}, {before}')}, {offset}")
        return self.let(f"getelementptr {self.scalar}, ptr addrspace(3) @staging, i64 {start}")

    def copied_in(self) -> list[str]:
        """The block's rows of all inputs in shared memory, as they lie, and where the thread's own are.

        All numbers are asked for before the first is put down. Threads of a block that is not full repeat the last number.
        """
        scalar, loaded, own, at = self.scalar, [], [], 0
        mine = self.let("sub i64 %state, %first")
        for a in range(len(self.signature.inputs)):
            size = self.sizes[a]
            last = self.let(f"sub i64 {self.let(f'mul i64 %rows, {size}')}, 1")
            start = self.let(f"mul i64 %first, {size}")
            begin = self.let(f"getelementptr {scalar}, ptr addrspace(1) {self.arguments[a]}, i64 {start}")
            room = self.shared(at)
            k = self.thread
            for _ in range(size):
                inside = self.let(f"icmp slt i64 {k}, {last}")
                index = self.let(f"select i1 {inside}, i64 {k}, i64 {last}")
                place = self.let(f"getelementptr {scalar}, ptr addrspace(1) {begin}, i64 {index}")
                there = self.let(f"getelementptr {scalar}, ptr addrspace(3) {room}, i64 {index}")
                loaded.append((self.let(f"load {scalar}, ptr addrspace(1) {place}"), there))
                k = self.let(f"add i64 {k}, {self.threads}")
            row = self.let(f"mul i64 {mine}, {size}")
            own.append(self.generic(self.let(f"getelementptr {scalar}, ptr addrspace(3) {room}, i64 {row}"), 3))
            at += size
        for x, there in loaded:
            self.say(f"store {scalar} {x}, ptr addrspace(3) {there}")
        self.say(BARRIER)
        return own

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
