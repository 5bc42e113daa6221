"""A tape as a GPU's kernel: one thread for each state.

The threads of a block share memory, through which rows go in and out: neighbouring threads then read and write
neighbouring numbers, and the card's memory works at its full speed. There are four kinds of kernels:

staged   inputs and outputs are dense rows. A block copies the rows of its states in, each thread works on its own row, and
         the block copies the results out. Results that are too wide for shared memory are computed in pieces: one piece is
         copied out, and the next takes its place.
direct   the same, but every thread reads its own inputs: rows may be any distance apart, or all the same.
acts     several tapes that follow each other, for results that would need more registers than there are.
strided  arrays of any strides with up to ``AXES`` leading axes; every thread reads and writes for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from math import inf, prod
from typing import Any, NamedTuple

from dalembert.emit.ir import IR, Form
from dalembert.emit.llvm import TapePart, function_parts, module, output_starts
from dalembert.emit.loops import LETTERS
from dalembert.emit.rollout import rollout_texts
from dalembert.emit.signature import Signature
from dalembert.emit.wrappers import Wrapper
from dalembert.graph.order import by_outputs, eased
from dalembert.graph.program import Program
from dalembert.graph.tape import Graph

AXES = 4  # leading axes of arrays that are no dense rows
WIDE = 1000  # bytes of results up to which a thread keeps them all at once: a block has 64 KB on the smallest cards
PIECE = 182  # numbers of a piece of wider ones
BLOCK = {"double": 32, "float": 64}  # threads of a block of the dense kernels
UNROLLED_NUMBERS = 64  # of a row, up to which full blocks copy it without a loop
BYTES_OF_THREAD = 1000  # in shared memory, beyond which inputs do not go through it

DECLARED = """@staging = external addrspace(3) global [0 x {scalar}], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
"""
UNROLLED = '!1 = distinct !{!1, !2}\n!2 = !{!"llvm.loop.unroll.count", i32 4}'
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"


def staged_inputs(signature: Signature, scalar: str) -> bool:
    """Whether inputs of dense rows are worth copying in together."""
    given = [prod(shape) for _, shape in signature.inputs]
    results = sum(prod(shape) for _, shape in signature.outputs)
    size = Form(1, scalar).bytes
    fits = (sum(given) + min(results, WIDE // size)) * size <= BYTES_OF_THREAD
    return fits and all(x % 4 for x in given)  # rows of 4 numbers would use few of the banks of shared memory


def grid_ir(graph: Graph, signature: Signature, scalar: str, name: str, kind: str = "direct") -> tuple[str, int]:
    """The module of a graph with its kernel ``name``, and the numbers of shared memory that a thread of it needs."""
    size = Form(1, scalar).bytes
    graph = by_outputs(graph) if _is_wide(signature, size) and kind != "strided" else eased(graph)
    form = Form(1, scalar, 8 if scalar == "double" else 4, kind == "strided")
    if kind == "strided":
        parts, slots = function_parts(graph, signature, form, longest=inf)
        kernel = _GridKernel(signature, len(parts), slots, form).strided(name)
        return module([*parts, kernel], form, inline=True), 0
    pieces = pieces_of(graph, signature, form.bytes)
    parts, slots = function_parts(graph, signature, form, longest=inf, part_class=partial(_StagedPart, pieces=pieces))
    inputs = sum(prod(shape) for _, shape in signature.inputs) if kind == "staged" else 0
    kernel = _GridKernel(signature, len(parts), slots, form).dense(name, inputs)
    return module([*parts, kernel, UNROLLED], form, inline=True), inputs + max(piece.numbers for piece in pieces)


# -- pieces ------------------------------------------------------------------------------------------


class OutputRun(NamedTuple):
    """Neighbouring elements of one output, in shared memory at the same time."""

    array: int
    first: int  # element
    lines: tuple[int, ...]  # of the tape
    size: int  # numbers in a row of the output
    before: int  # numbers that a thread has in shared memory before these

    @property
    def width(self) -> int:
        """How far rows are apart: an odd number, so that a column of them uses all banks."""
        return len(self.lines) | 1


class OutputPiece(NamedTuple):
    """Results that are in shared memory at the same time."""

    runs: tuple[OutputRun, ...]

    @property
    def numbers(self) -> int:
        """Of a thread's shared memory."""
        return sum(run.width for run in self.runs)

    @property
    def lines(self) -> list[int]:
        """All that it holds."""
        return [line for run in self.runs for line in run.lines]


def _is_wide(signature: Signature, size: int) -> bool:
    """Whether the results are too many to be in shared memory all at once."""
    return sum(prod(shape) for _, shape in signature.outputs) * size > WIDE


def pieces_of(graph: Graph, signature: Signature, size: int) -> list[OutputPiece]:
    """The results in pieces, in the order of memory: whole, or so many rows of a matrix at a time as there is room for."""
    runs = []
    for (_, shape), (array, start, end) in zip(signature.outputs, output_starts(signature), strict=True):
        lines = tuple(graph.outputs[start:end])
        most = end - start
        if _is_wide(signature, size):
            most = shape[-1] * (PIECE // shape[-1]) if shape and shape[-1] <= PIECE else PIECE
        runs += [OutputRun(array, k, lines[k : k + most], end - start, 0) for k in range(0, end - start, most)]
    if _is_wide(signature, size):
        return [OutputPiece((run,)) for run in runs]
    befores = accumulate((run.width for run in runs), initial=0)
    return [OutputPiece(tuple(run._replace(before=before) for run, before in zip(runs, befores, strict=False)))]


class _StagedPart(TapePart):
    """A part that leaves its results in shared memory, and copies them out with its block whenever a piece is complete.

    Behind the arrays, its table has where shared memory for results begins; behind the offsets, the first state of the
    block and its number of states.
    """

    def __init__(self, *arguments: Any, pieces: list[OutputPiece]) -> None:
        super().__init__(*arguments)
        self.pieces = pieces

    def stores(self, kept: list[int], outputs: list[int]) -> Iterator[tuple[list[int], Callable[[], None]]]:
        before: list[int] = []  # what must have been copied out: the next piece takes its place
        for k, piece in enumerate(self.pieces):
            for run in piece.runs:
                for place, line in enumerate(run.lines):
                    fixed = self.graph.op(line) in ("const", "input")
                    yield [*before, *(piece.lines if fixed else [line])], partial(self.put_down, run, line, place)
            before = [*before, *piece.lines]
            yield before, partial(self.copy_out, k, piece)

    def room(self, run: OutputRun) -> str:
        """Where the rows of a run begin in shared memory."""
        begin = self.entry("%arrays", len(self.signature.arrays), "ptr")
        return self.let(f"getelementptr {self.scalar}, ptr {begin}, i64 {BLOCK[self.scalar] * run.before}")

    def put_down(self, run: OutputRun, line: int, place: int) -> None:
        """A result to its place in the thread's row."""
        row = self.let(f"mul i64 {_register(self, 'tid')}, {run.width}")
        at = self.let(f"getelementptr {self.scalar}, ptr {self.room(run)}, i64 {self.let(f'add i64 {row}, {place}')}")
        self.say(f"store {self.vector} {self.value(line)}, ptr {at}, align {self.bytes}")

    def copy_out(self, k: int, piece: OutputPiece) -> None:
        """The block's rows of a piece, neighbouring numbers by neighbouring threads."""
        self.say(BARRIER)
        for run in piece.runs:
            first = self.entry("%offsets", len(self.signature.arrays))
            output = self.entry("%arrays", run.array, "ptr")
            to = self.let(f"getelementptr {self.scalar}, ptr {output}, i64 {self.let(f'mul i64 {first}, {run.size}')}")
            rows = self.entry("%offsets", len(self.signature.arrays) + 1)
            _moved_out(self, f"piece{k}_{run.array}", run, to, self.room(run), rows, len(self.pieces) > 1)
        if k + 1 < len(self.pieces):
            self.say(BARRIER)


def _moved_out(text: IR, label: str, run: OutputRun, to: str, room: str, rows: str, unrolled: bool = False) -> None:
    """Number k of all rows of a run from shared memory by thread k, k + B, …"""
    block, count = BLOCK[text.scalar], len(run.lines)
    thread = _register(text, "tid")

    def moved(k: str) -> None:
        source = target = k
        if run.width != run.size:  # rows do not lie in shared memory as in the output
            narrow = text.let(f"trunc i64 {k} to i32")
            row32 = text.let(f"udiv i32 {narrow}, {count}")
            within = text.let(f"sub i32 {narrow}, {text.let(f'mul i32 {row32}, {count}')}")
            row, e = text.let(f"zext i32 {row32} to i64"), text.let(f"zext i32 {within} to i64")
            source = text.let(f"add i64 {text.let(f'mul i64 {row}, {run.width}')}, {e}")
            there = text.let(f"add i64 {e}, {run.first}")
            target = text.let(f"add i64 {text.let(f'mul i64 {row}, {run.size}')}, {there}")
        x = text.let(f"load {text.scalar}, ptr {text.let(f'getelementptr {text.scalar}, ptr {room}, i64 {source}')}")
        text.say(f"store {text.scalar} {x}, ptr {text.let(f'getelementptr {text.scalar}, ptr {to}, i64 {target}')}")

    if count <= UNROLLED_NUMBERS:
        full = text.let(f"icmp eq i64 {rows}, {block}")
        text.say(f"br i1 {full}, label %{label}_full, label %{label}_some")
        text.label(f"{label}_full")
        for j in range(count):
            moved(text.let(f"add i64 {thread}, {j * block}"))
        text.say(f"br label %{label}_over")
        text.label(f"{label}_some")
    with _StrideLoop(text, label, thread, text.let(f"mul i64 {rows}, {count}"), str(block), unrolled) as k:
        moved(k)
    if count <= UNROLLED_NUMBERS:
        text.say(f"br label %{label}_over")
        text.label(f"{label}_over")


class _StrideLoop:
    """Within it, the lines of a loop over k = first, first + step, … below a bound."""

    def __init__(self, text: IR, label: str, first: str, bound: str, step: str, unrolled: bool) -> None:
        self.text, self.label, self.first, self.bound, self.step = text, label, first, bound, step
        self.hint = ", !llvm.loop !1" * unrolled

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
        text.say(f"br i1 {more}, label %{label}_copy, label %{label}_done{self.hint}")
        text.label(f"{label}_done")


def _register(text: IR, name: str) -> str:
    return text.let(f"zext i32 {text.let(f'call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()')} to i64")


# -- kernels -----------------------------------------------------------------------------------------


class _GridKernel(Wrapper):
    """The text of a kernel."""

    def own_state(self, block: int | None = None) -> None:
        """%first, the first state of the block, and %state, the thread's own, at most the last."""
        self.thread, self.threads = _register(self, "tid"), str(block or _register(self, "ntid"))
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
        self.own_state(BLOCK[self.scalar])
        left = self.let("sub i64 %count, %first")
        few = self.let(f"icmp slt i64 {left}, {self.threads}")
        self.say(f"%rows = select i1 {few}, i64 {left}, i64 {self.threads}")
        given = self.copied_in() if staged else [self.generic(x, 1) for x in self.arguments[:inputs]]

        def offset(array: int, lane: int) -> str:
            return self.let(f"mul i64 %state, %stride{array}") if array < inputs and not staged else "0"

        self.tables([*given, *(self.generic(x, 1) for x in self.arguments[inputs:])], offset)
        self.put("%arrays", arrays, self.generic(self.shared(staged), 3), "ptr")
        for k, value in enumerate(("%first", "%rows")):
            self.put("%offsets", arrays + k, value)
        self.block()
        self.say("ret void")
        parameters = [f"ptr addrspace(1) noalias {x}" for x in self.arguments]
        return self.kernel(name, [*parameters, *(f"i64 %stride{a}" for a in range(inputs)), "i64 %count"])

    def shared(self, before: int, offset: str = "0") -> str:
        """A place in shared memory behind what all threads of the block have so many numbers of."""
        start = self.let(f"add i64 {offset}, {BLOCK[self.scalar] * before}")
        return self.let(f"getelementptr {self.scalar}, ptr addrspace(3) @staging, i64 {start}")

    def copied_in(self) -> list[str]:
        """The block's rows of all inputs in shared memory, as they lie, and where the thread's own are."""
        inputs, own, before = len(self.signature.inputs), [], 0
        mine = self.let("sub i64 %state, %first")
        places = []
        for a, size in enumerate(self.sizes[:inputs]):
            start = self.let(f"mul i64 %first, {size}")
            begin = self.let(f"getelementptr {self.scalar}, ptr addrspace(1) {self.arguments[a]}, i64 {start}")
            room = self.shared(before)
            places.append((begin, room))
            row = self.let(f"mul i64 {mine}, {size}")
            own.append(self.generic(self.let(f"getelementptr {self.scalar}, ptr addrspace(3) {room}, i64 {row}"), 3))
            before += size
        full = self.let(f"icmp eq i64 %rows, {self.threads}")
        self.say(f"br i1 {full}, label %in_full, label %in_some")
        for label, clamped in (("in_full", False), ("in_some", True)):
            self.label(label)
            self._numbers_in(places, clamped)
            self.say("br label %in_over")
        self.label("in_over")
        self.say(BARRIER)
        return own

    def _numbers_in(self, places: list[tuple[str, str]], clamped: bool) -> None:
        """All numbers are asked for before the first is put down; in a block that is not full, threads repeat the last."""
        scalar, loaded = self.scalar, []
        for size, (begin, room) in zip(self.sizes, places, strict=False):
            last = self.let(f"sub i64 {self.let(f'mul i64 %rows, {size}')}, 1") if clamped else ""
            for j in range(size):
                k = self.let(f"add i64 {self.thread}, {j * BLOCK[scalar]}")
                if clamped:
                    k = self.let(f"select i1 {self.let(f'icmp slt i64 {k}, {last}')}, i64 {k}, i64 {last}")
                place = self.let(f"getelementptr {scalar}, ptr addrspace(1) {begin}, i64 {k}")
                there = self.let(f"getelementptr {scalar}, ptr addrspace(3) {room}, i64 {k}")
                loaded.append((self.let(f"load {scalar}, ptr addrspace(1) {place}"), there))
        for x, there in loaded:
            self.say(f"store {scalar} {x}, ptr addrspace(3) {there}")

    def in_acts(self, name: str, acts: Sequence[Signature]) -> str:
        """As :meth:`dense` with inputs that are staged, but several tapes after each other."""
        inputs = len(self.signature.inputs)
        self.rooms()
        most = max(len(arrays.arrays) for arrays in acts)
        self.say(f"%nowhere = alloca i64, i32 {most}")
        tables = [self.let(f"alloca ptr, i32 {len(arrays.arrays)}") for arrays in acts]
        self.own_state(BLOCK[self.scalar])
        left = self.let("sub i64 %count, %first")
        few = self.let(f"icmp slt i64 {left}, {self.threads}")
        self.say(f"%rows = select i1 {few}, i64 {left}, i64 {self.threads}")
        rows = dict(zip((name for name, _ in self.signature.inputs), self.copied_in(), strict=True))
        self.numbers = sum(self.sizes[:inputs])
        rooms = {}
        for arrays in acts:
            for key, shape in arrays.outputs:
                if key not in rows:
                    rooms[key], width = self.shared(self.numbers), prod(shape) | 1
                    own = self.let(f"mul i64 {self.thread}, {width}")
                    row = self.let(f"getelementptr {self.scalar}, ptr addrspace(3) {rooms[key]}, i64 {own}")
                    rows[key] = self.generic(row, 3)
                    self.numbers += width
        for k in range(most):
            self.put("%nowhere", k, "0")
        for k, (arrays, table) in enumerate(zip(acts, tables, strict=True)):
            for position, (key, _) in enumerate((*arrays.inputs, *arrays.outputs)):
                self.put(table, position, rows[key], "ptr")
            self.say(f"call void @act{k}_0(ptr {table}, ptr %nowhere, ptr %workspace)")
            self.say(BARRIER)  # LLVM, too, keeps nothing beyond it that it can read again
        for (key, shape), array in zip(self.signature.outputs, self.arguments[inputs:], strict=True):
            size = prod(shape)
            run = OutputRun(0, 0, (0,) * size, size, 0)
            first = self.let(
                f"getelementptr {self.scalar}, ptr addrspace(1) {array}, i64 {self.let(f'mul i64 %first, {size}')}"
            )
            to, room = self.generic(first, 1), self.generic(rooms[key], 3)
            _moved_out(self, f"out_{key}", run, to, room, "%rows")
        self.say("ret void")
        parameters = [f"ptr addrspace(1) noalias {x}" for x in self.arguments]
        return self.kernel(name, [*parameters, *(f"i64 %stride{a}" for a in range(inputs)), "i64 %count"])

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


# -- several acts --------------------------------------------------------------------------------------


def acts_ir(acts: Sequence[tuple[Graph, Signature]], signature: Signature, scalar: str, name: str) -> tuple[str, int]:
    """The module of several tapes that follow each other in one kernel, and the numbers of shared memory of a thread.

    What an act gives the next lies in shared memory, by its name, and so do inputs and results; few values wait in
    registers from one act to the next. An act may put its results where it had its inputs.
    """
    form = Form(1, scalar, 8 if scalar == "double" else 4)
    texts, slots = [], 1
    for k, (graph, arrays) in enumerate(acts):
        functions, needed = function_parts(eased(graph), arrays, form, f"act{k}_", longest=inf)
        texts += functions
        slots = max(slots, needed)
    text = _GridKernel(signature, 0, slots, form)
    kernel = text.in_acts(name, [arrays for _, arrays in acts])
    return module([*texts, kernel, UNROLLED], form, inline=True), text.numbers


# -- rollouts ----------------------------------------------------------------------------------------


def rollout_grid_ir(program: Program, graphs: Mapping[str, tuple[Graph, Signature]], scalar: str, name: str) -> str:
    """The module of a rollout with its kernel ``name``: one thread takes all steps of one state.

    ``name(arrays…, count, core sizes…, strides of the arrays…, strides of their core axes…)``: what NumPy tells a loop.
    """
    form = Form(1, scalar, 8 if scalar == "double" else 4)
    texts, loop = rollout_texts(program, graphs, form, inf, "alwaysinline")
    cores = program.cores()
    sizes = list(dict.fromkeys(axis for core in cores for axis in core))
    text = _GridKernel(Signature((), ()), 0, 0, form)
    text.own_state()
    tables = {
        "args": ("ptr", [f"%array{a}" for a in range(len(cores))]),
        "dims": ("i64", ["1", *(f"%size{k}" for k in range(len(sizes)))]),
        "steps": (
            "i64",
            [*(f"%outer{a}" for a in range(len(cores))), *(f"%core{k}" for k in range(sum(map(len, cores))))],
        ),
    }
    outside = text.let(f"icmp sge i64 {text.let(f'add i64 %first, {text.thread}')}, %count")
    text.say(f"br i1 {outside}, label %done, label %inside")
    text.label("inside")
    for table, (kind, values) in tables.items():
        text.say(f"%{table} = alloca {kind}, i32 {len(values)}")
        for k, value in enumerate(values):
            if kind == "ptr":
                moved = text.let(f"mul i64 %state, %outer{k}")
                value = text.let(f"getelementptr i8, ptr {text.generic(value, 1)}, i64 {moved}")
            text.put(f"%{table}", k, value, kind)
    text.say(f"call void @loop_{LETTERS[scalar]}(ptr %args, ptr %dims, ptr %steps, ptr null)")
    text.say("br label %done")
    text.label("done")
    text.say("ret void")
    parameters = [
        *(f"ptr addrspace(1) %array{a}" for a in range(len(cores))),
        "i64 %count",
        *(f"i64 %size{k}" for k in range(len(sizes))),
        *(f"i64 %outer{a}" for a in range(len(cores))),
        *(f"i64 %core{k}" for k in range(sum(map(len, cores)))),
    ]
    inner = loop.replace(f"define void @loop_{LETTERS[scalar]}", f"define internal void @loop_{LETTERS[scalar]}")
    return module([*texts, inner, text.kernel(name, parameters)], form, inline=True)
