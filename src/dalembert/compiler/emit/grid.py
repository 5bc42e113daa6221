"""A tape as a GPU kernel: one thread per state.

The threads of a block copy their rows in and out through shared memory, so that neighbouring threads access
neighbouring numbers and the GPU's memory runs at full speed. There are four kinds of kernels:

staged   inputs and outputs are dense rows. A block loads the rows of its states, each thread processes its own row, and
         the block stores the results. Results that are too wide for shared memory are computed in pieces: one piece is
         stored, and the next takes its place.
direct   like staged, but every thread reads its own inputs: rows may be any distance apart, or all the same.
phases   several consecutive tapes (stages), for results that would need more registers than there are.
strided  arrays of any strides with up to ``AXES`` leading axes; every thread reads and writes its own data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from math import inf, prod
from typing import Any, NamedTuple

from dalembert.compiler.emit.ir import BYTES, IR, Form
from dalembert.compiler.emit.llvm import TapePart, function_parts, module, output_starts
from dalembert.compiler.emit.numpy_loops import LETTERS
from dalembert.compiler.emit.rollout import rollout_texts
from dalembert.compiler.emit.signature import Signature
from dalembert.compiler.emit.wrappers import Wrapper
from dalembert.compiler.graph.passes import by_outputs, eased
from dalembert.compiler.graph.program import Program
from dalembert.compiler.graph.tape import Graph

AXES = 4  # leading axes of arrays that are not dense rows
WIDE = 1000  # bytes of results up to which a thread keeps them all at once; a block has 64 KB on the smallest GPUs
PIECE = 182  # numbers per piece of wider results
BLOCK = {"double": 32, "float": 64}  # threads per block of the dense kernels
UNROLLED_NUMBERS = 64  # numbers of a row up to which full blocks copy it without a loop
BYTES_OF_THREAD = 1000  # numbers in shared memory beyond which inputs bypass it

DECLARED = """@staging = external addrspace(3) global [0 x {scalar}], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
"""
UNROLLED = '!1 = distinct !{!1, !2}\n!2 = !{!"llvm.loop.unroll.count", i32 4}'
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"


def staged_inputs(signature: Signature, scalar: str) -> bool:
    """Whether it pays off to stage the dense rows of inputs through shared memory."""
    given = [prod(shape) for _, shape in signature.inputs]
    results = sum(prod(shape) for _, shape in signature.outputs)
    size = BYTES[scalar]
    fits = (sum(given) + min(results, WIDE // size)) * size <= BYTES_OF_THREAD
    return fits and all(x % 4 for x in given)  # rows of 4 numbers would use few of the banks of shared memory


def grid_ir(graph: Graph, signature: Signature, scalar: str, name: str, kind: str = "direct") -> tuple[str, int]:
    """The module of a graph with its kernel ``name``, and the amount of shared memory per thread, in numbers."""
    form = Form(1, scalar, BYTES[scalar], kind == "strided")
    graph = by_outputs(graph) if _is_wide(signature, form.bytes) and kind != "strided" else eased(graph)
    if kind == "strided":
        parts, slots = function_parts(graph, signature, form, longest=inf)
        kernel = _GridKernel(signature, len(parts), slots, form).strided(name)
        return module([*parts, kernel], form, inline=True), 0
    pieces = pieces_of(graph, signature, form.bytes)
    parts, slots = function_parts(graph, signature, form, longest=inf, part_class=partial(_StagedPart, pieces=pieces))
    inputs = sum(prod(shape) for _, shape in signature.inputs) if kind == "staged" else 0
    kernel = _GridKernel(signature, len(parts), slots, form).dense(name, inputs)
    return module([*parts, kernel, UNROLLED], form, inline=True), inputs + max(
        sum(run.width for run in piece) for piece in pieces
    )


# -- pieces ------------------------------------------------------------------------------------------


class OutputRun(NamedTuple):
    """Neighbouring elements of one output that are in shared memory at the same time."""

    array: int
    first: int  # element
    lines: tuple[int, ...]  # of the tape
    size: int  # numbers in a row of the output
    before: int  # numbers per thread in shared memory before these

    @property
    def width(self) -> int:
        """The distance between rows: an odd number, so that a column of them uses all banks."""
        return len(self.lines) | 1


Piece = list[OutputRun]  # results that are in shared memory simultaneously


def _is_wide(signature: Signature, size: int) -> bool:
    """Whether there are too many results to be in shared memory at once."""
    return sum(prod(shape) for _, shape in signature.outputs) * size > WIDE


def pieces_of(graph: Graph, signature: Signature, size: int) -> list[Piece]:
    """The results in pieces, in memory order: whole, or as many rows of a matrix at a time as fit."""
    runs, wide = [], _is_wide(signature, size)
    for (_, shape), (array, start, end) in zip(signature.outputs, output_starts(signature), strict=True):
        lines = tuple(graph.outputs[start:end])
        most = end - start
        if wide:
            most = shape[-1] * (PIECE // shape[-1]) if shape and shape[-1] <= PIECE else PIECE
        runs += [OutputRun(array, k, lines[k : k + most], end - start, 0) for k in range(0, end - start, most)]
    if wide:
        return [[run] for run in runs]
    befores = accumulate((run.width for run in runs), initial=0)
    return [[run._replace(before=before) for run, before in zip(runs, befores, strict=False)]]


class _StagedPart(TapePart):
    """A part that stores its results in shared memory and copies them out with its block whenever a piece is complete.

    After the arrays, its table contains the start of the shared memory for results; after the offsets, the first state
    of the block and its number of states.
    """

    def __init__(self, *arguments: Any, pieces: list[Piece]) -> None:
        super().__init__(*arguments)
        self.pieces = pieces

    def stores(self, needed_later: list[int], outputs: list[int]) -> Iterator[tuple[list[int], Callable[[], None]]]:
        before: list[int] = []  # must have been copied out before the next piece takes its place
        for k, piece in enumerate(self.pieces):
            lines = [line for run in piece for line in run.lines]
            for run in piece:
                for place, line in enumerate(run.lines):
                    fixed = self.graph.op(line) in ("const", "input")
                    yield [*before, *(lines if fixed else [line])], partial(self.put_down, run, line, place)
            before = [*before, *lines]
            yield before, partial(self.copy_out, k, piece)

    def room(self, run: OutputRun) -> str:
        """The start of the rows of a run in shared memory."""
        begin = self.entry("%arrays", len(self.signature.arrays), "ptr")
        return self.let(f"getelementptr {self.scalar}, ptr {begin}, i64 {BLOCK[self.scalar] * run.before}")

    def put_down(self, run: OutputRun, line: int, place: int) -> None:
        """Store a result at its place in the thread's row."""
        row = self.let(f"mul i64 {_register(self, 'tid')}, {run.width}")
        at = self.let(f"getelementptr {self.scalar}, ptr {self.room(run)}, i64 {self.let(f'add i64 {row}, {place}')}")
        self.say(f"store {self.vector} {self.value(line)}, ptr {at}, align {self.bytes}")

    def copy_out(self, k: int, piece: Piece) -> None:
        """Copy out the block's rows of a piece, neighbouring numbers by neighbouring threads."""
        self.say(BARRIER)
        for run in piece:
            first = self.entry("%offsets", len(self.signature.arrays))
            output = self.entry("%arrays", run.array, "ptr")
            to = self.let(f"getelementptr {self.scalar}, ptr {output}, i64 {self.let(f'mul i64 {first}, {run.size}')}")
            rows = self.entry("%offsets", len(self.signature.arrays) + 1)
            _moved_out(self, f"piece{k}_{run.array}", run, to, self.room(run), rows, len(self.pieces) > 1)
        if k + 1 < len(self.pieces):
            self.say(BARRIER)


def _moved_out(text: IR, label: str, run: OutputRun, to: str, room: str, rows: str, unrolled: bool = False) -> None:
    """Copy the numbers of all rows of a run from shared memory; thread k copies k, k + B, …"""
    block, count = BLOCK[text.scalar], len(run.lines)
    thread = _register(text, "tid")

    def moved(k: str) -> None:
        source = target = k
        if run.width != run.size:  # rows are not laid out in shared memory as in the output
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
        text.branch(full, f"{label}_full", f"{label}_some")
        for j in range(count):
            moved(text.let(f"add i64 {thread}, {j * block}"))
        text.go(f"{label}_over", f"{label}_some")
    bound = text.let(f"mul i64 {rows}, {count}")
    text.go(f"{label}_look")
    some = text.let(f"icmp slt i64 {thread}, {bound}")
    text.branch(some, f"{label}_copy", f"{label}_done")
    text.say(f"%{label}_k = phi i64 [ {thread}, %{label}_look ], [ %{label}_next, %{label}_copy ]")
    moved(f"%{label}_k")
    text.say(f"%{label}_next = add i64 %{label}_k, {block}")
    more = text.let(f"icmp slt i64 %{label}_next, {bound}")
    text.branch(more, f"{label}_copy", f"{label}_done", f"{label}_done", hint=", !llvm.loop !1" * unrolled)
    if count <= UNROLLED_NUMBERS:
        text.go(f"{label}_over")


def _register(text: IR, name: str) -> str:
    return text.let(f"zext i32 {text.let(f'call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()')} to i64")


# -- kernels -----------------------------------------------------------------------------------------


class _GridKernel(Wrapper):
    """The text of a kernel."""

    def own_state(self, block: int | None = None) -> None:
        """%first, the first state of the block, %state, the thread's own, at most the last, and for a fixed block its %rows."""
        self.thread, self.threads = _register(self, "tid"), str(block or _register(self, "ntid"))
        self.say(f"%first = mul i64 {_register(self, 'ctaid')}, {self.threads}")
        own = self.let(f"add i64 %first, {self.thread}")
        self.say("%last = sub i64 %count, 1")
        self.say(f"%state = select i1 {self.let(f'icmp slt i64 {own}, %count')}, i64 {own}, i64 %last")
        if block:
            left = self.let("sub i64 %count, %first")
            few = self.let(f"icmp slt i64 {left}, {self.threads}")
            self.say(f"%rows = select i1 {few}, i64 {left}, i64 {self.threads}")

    def generic(self, pointer: str, space: int) -> str:
        """A pointer of an address space as a generic pointer; LLVM infers its address space again."""
        return self.let(f"addrspacecast ptr addrspace({space}) {pointer} to ptr")

    def kernel(self, name: str, kind: str, numbers: Sequence[str]) -> str:
        """The kernel made of the lines: its parameters are the arrays, pointers of this kind, and the numbers."""
        parameters = [*(f"ptr addrspace(1) {kind}{x}" for x in self.arguments), *(f"i64 {x}" for x in numbers)]
        return DECLARED.format(scalar=self.scalar) + self.function(f"ptx_kernel void @{name}({', '.join(parameters)})")

    def dense_kernel(self, name: str) -> str:
        """The kernel made of the lines, for dense rows."""
        self.say("ret void")
        strides = [f"%stride{a}" for a in range(len(self.signature.inputs))]
        return self.kernel(name, "noalias ", [*strides, "%count"])

    def rooms(self, arrays: int = 1, offsets: int = 3) -> None:
        """The tables, with the entries for a block's copies after those for the parts."""
        super().rooms(arrays, max(offsets, sum(map(len, self.signature.arrays))))

    def dense(self, name: str, staged: int) -> str:
        """``name(arrays…, strides of the inputs' rows in bytes…, count)``, with this many ``staged`` input numbers."""
        inputs, arrays = len(self.signature.inputs), len(self.sizes)
        self.rooms()
        self.own_state(BLOCK[self.scalar])
        given = self.copied_in() if staged else [self.generic(x, 1) for x in self.arguments[:inputs]]

        def offset(array: int, lane: int) -> str:
            return self.let(f"mul i64 %state, %stride{array}") if array < inputs and not staged else "0"

        self.tables([*given, *(self.generic(x, 1) for x in self.arguments[inputs:])], offset)
        self.put("%arrays", arrays, self.generic(self.shared(staged), 3), "ptr")
        for k, value in enumerate(("%first", "%rows")):
            self.put("%offsets", arrays + k, value)
        self.block()
        return self.dense_kernel(name)

    def shared(self, before: int) -> str:
        """An address in shared memory after ``before`` numbers for each thread of the block."""
        start = self.let(f"add i64 0, {BLOCK[self.scalar] * before}")
        return self.let(f"getelementptr {self.scalar}, ptr addrspace(3) @staging, i64 {start}")

    def copied_in(self) -> list[str]:
        """Copy the block's rows of all inputs to shared memory, and return the addresses of the thread's own rows."""
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
        self.branch(full, "in_full", "in_some")
        self._numbers_in(places, clamped=False)
        self.go("in_over", "in_some")
        self._numbers_in(places, clamped=True)
        self.go("in_over")
        self.say(BARRIER)
        return own

    def _numbers_in(self, places: list[tuple[str, str]], clamped: bool) -> None:
        """Issue all loads before the first store; in a block that is not full, threads repeat the last number."""
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

    def in_phases(self, name: str, phases: Sequence[Signature]) -> str:
        """Like :meth:`dense` with staged inputs, but for several consecutive tapes."""
        inputs = len(self.signature.inputs)
        self.rooms()
        most = max(len(arrays.arrays) for arrays in phases)
        self.say(f"%nowhere = alloca i64, i32 {most}")
        tables = [self.let(f"alloca ptr, i32 {len(arrays.arrays)}") for arrays in phases]
        self.own_state(BLOCK[self.scalar])
        rows = dict(zip((name for name, _ in self.signature.inputs), self.copied_in(), strict=True))
        self.numbers = sum(self.sizes[:inputs])
        rooms = {}
        for arrays in phases:
            for key, shape in arrays.outputs:
                if key not in rows:
                    rooms[key], width = self.shared(self.numbers), prod(shape) | 1
                    own = self.let(f"mul i64 {self.thread}, {width}")
                    row = self.let(f"getelementptr {self.scalar}, ptr addrspace(3) {rooms[key]}, i64 {own}")
                    rows[key] = self.generic(row, 3)
                    self.numbers += width
        for k in range(most):
            self.put("%nowhere", k, "0")
        for k, (arrays, table) in enumerate(zip(phases, tables, strict=True)):
            for position, (key, _) in enumerate((*arrays.inputs, *arrays.outputs)):
                self.put(table, position, rows[key], "ptr")
            self.say(f"call void @phase{k}_0(ptr {table}, ptr %nowhere, ptr %workspace)")
            self.say(BARRIER)  # a barrier for LLVM, too: it reloads values instead of keeping them
        for (key, shape), array in zip(self.signature.outputs, self.arguments[inputs:], strict=True):
            size = prod(shape)
            run = OutputRun(0, 0, (0,) * size, size, 0)
            first = self.let(
                f"getelementptr {self.scalar}, ptr addrspace(1) {array}, i64 {self.let(f'mul i64 %first, {size}')}"
            )
            to, room = self.generic(first, 1), self.generic(rooms[key], 3)
            _moved_out(self, f"out_{key}", run, to, room, "%rows")
        return self.dense_kernel(name)

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
        cores = [f"%core{k}" for k in range(sum(map(len, self.signature.arrays)))]
        for k, core in enumerate(cores):
            self.put("%offsets", arrays + k, core)
        self.block()
        self.say("ret void")
        lengths = [f"%length{axis}" for axis in range(1, AXES)]
        strides = [f"%s{array}_{axis}" for array in range(arrays) for axis in range(AXES)]
        return self.kernel(name, "", ["%count", *lengths, *strides, *cores])


# -- several phases --------------------------------------------------------------------------------------


def phases_ir(
    phases: Sequence[tuple[Graph, Signature]], signature: Signature, scalar: str, name: str
) -> tuple[str, int]:
    """The module of several consecutive tapes in one kernel, and the amount of shared memory per thread, in numbers.

    The results that one phase passes to the next are in shared memory, by name, and so are inputs and results; few values
    stay in registers from one phase to the next. A phase may overwrite its inputs with its results.
    """
    form = Form(1, scalar, BYTES[scalar])
    texts, slots = [], 1
    for k, (graph, arrays) in enumerate(phases):
        functions, needed = function_parts(eased(graph), arrays, form, f"phase{k}_", longest=inf)
        texts += functions
        slots = max(slots, needed)
    text = _GridKernel(signature, 0, slots, form)
    kernel = text.in_phases(name, [arrays for _, arrays in phases])
    return module([*texts, kernel, UNROLLED], form, inline=True), text.numbers


# -- rollouts ----------------------------------------------------------------------------------------


def rollout_grid_ir(program: Program, graphs: Mapping[str, tuple[Graph, Signature]], scalar: str, name: str) -> str:
    """The module of a rollout with its kernel ``name``: one thread performs all steps of one state.

    ``name(arrays…, count, core sizes…, strides of the arrays…, strides of their core axes…)``: the arguments that NumPy
    passes to a loop.
    """
    form = Form(1, scalar, BYTES[scalar])
    texts, loop = rollout_texts(program, graphs, form, inf, "alwaysinline")
    cores = program.cores()
    text = _GridKernel(Signature((), ()), 0, 0, form)
    text.arguments = [f"%array{a}" for a in range(len(cores))]
    text.own_state()
    sizes = [f"%size{k}" for k in range(len({axis for core in cores for axis in core}))]
    strides = [f"%outer{a}" for a in range(len(cores))] + [f"%core{k}" for k in range(sum(map(len, cores)))]
    tables = {"args": ("ptr", text.arguments), "dims": ("i64", ["1", *sizes]), "steps": ("i64", strides)}
    outside = text.let(f"icmp sge i64 {text.let(f'add i64 %first, {text.thread}')}, %count")
    text.branch(outside, "done", "inside", "inside")
    for table, (kind, values) in tables.items():
        text.say(f"%{table} = alloca {kind}, i32 {len(values)}")
        for k, value in enumerate(values):
            if kind == "ptr":
                moved = text.let(f"mul i64 %state, %outer{k}")
                value = text.let(f"getelementptr i8, ptr {text.generic(value, 1)}, i64 {moved}")
            text.put(f"%{table}", k, value, kind)
    text.say(f"call void @loop_{LETTERS[scalar]}(ptr %args, ptr %dims, ptr %steps, ptr null)")
    text.go("done")
    text.say("ret void")
    inner = loop.replace(f"define void @loop_{LETTERS[scalar]}", f"define internal void @loop_{LETTERS[scalar]}")
    return module([*texts, inner, text.kernel(name, "", ["%count", *sizes, *strides])], form, inline=True)
