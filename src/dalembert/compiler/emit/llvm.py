"""A graph as LLVM IR: straight-line code, vectorised across the batch with the width of the machine's registers.

There is one module, or several if the tape is long, with these functions:

``part0, part1, …``  the tape itself for one block of W states, split into parts that the optimiser can
    handle; values that later parts need go through a workspace. Lane l of array a is read at
    ``pointer[a] + offset[a][l]``, so rows may be anywhere.
``constants, rows``  if there are many outputs: the parts leave them in the workspace as consecutive vectors, and
    ``rows`` writes them to the arrays; outputs that are the same for all states are stored there once, by ``constants``.
``loop_d, loop_f``   NumPy's inner loop for doubles and floats. If the core axes are contiguous, the blocks
    process the arrays in place. The remainder is one more block whose surplus lanes repeat the last
    state: they read and write the same row, never beyond the arrays. Other layouts, and floats, go
    through a small copy on the stack.

sin and cos are arithmetic (:mod:`dalembert.compiler.emit.trigonometry`), and so are exp, log, tanh, atan2, asin and acos
(:mod:`dalembert.compiler.emit.elementary`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from math import prod

from dalembert.compiler.emit.elementary import ELEMENTARY
from dalembert.compiler.emit.ir import IR, Form
from dalembert.compiler.emit.numpy_loops import loops
from dalembert.compiler.emit.signature import Signature
from dalembert.compiler.emit.transpose import declarations, group_of, load_group, rows_function, store_group
from dalembert.compiler.emit.trigonometry import ANY, FAR, FarSine, any_function, sincos
from dalembert.compiler.graph.passes import live_lines, workspace_slots
from dalembert.compiler.graph.tape import Graph

# operations that are one instruction; "contract" allows a multiplication and an addition to fuse
INSTRUCTIONS = {
    "add": "fadd contract {v} {0}, {1}",
    "sub": "fsub contract {v} {0}, {1}",
    "mul": "fmul contract {v} {0}, {1}",
    "div": "fdiv {v} {0}, {1}",
    "neg": "fneg {v} {0}",
    "sqrt": "call {v} @llvm.sqrt.{s}({v} {0})",
}

UNLIKELY = '!0 = !{!"branch_weights", i32 1, i32 100000}'  # branch metadata

# longer straight-line code is split, because register allocation and scheduling grow faster than linearly
PART_LENGTH = 1500
LONG_TAPE = 2_000  # lines beyond which shorter parts compile and run faster, because fewer values are live
SHORT_PART_LENGTH = 500
MODULE_PARTS = 20  # more parts are compiled in several modules, half a second each
# approximate number of instructions of operations that take more than one
LENGTH = {**dict.fromkeys(("sin", "cos"), 15), **dict.fromkeys(ELEMENTARY, 50)}

# from this many numbers per state on, outputs are kept as vectors and transposed to rows together at the end: in the
# parts they would have to stay in registers until their neighbours in the row are available
WIDE = 16
LINE = 64  # bytes of a cache line

DECLARED = (("sqrt", 1), ("copysign", 2))  # intrinsics and their number of vector arguments

Chunk = tuple[str, list[int]]  # ("angles", lines) or ("lines", lines)


def llvm_ir(graph: Graph, signature: Signature, form: Form) -> list[str]:
    """The modules' texts; the same graph gives the same texts, byte for byte."""
    if len(graph.inputs) != sum(prod(s) for _, s in signature.inputs):
        raise ValueError("the graph's inputs do not match the signature")
    shapes, inputs = signature.arrays, len(signature.inputs)
    staged = sum(prod(shape) for _, shape in signature.outputs) >= WIDE
    parts, slots = function_parts(graph, signature, form, staged=staged)
    loop = loops(shapes, inputs, len(parts), slots, form, staged)
    if staged:
        constants = TapePart(graph, signature, form, {}, False)
        constants.first_output = slots
        parts = [*parts, constants.written("constants", [], [], _constants(graph))]
        loop = rows_function(shapes, inputs, slots, form) + loop
    return modules(parts, loop, form)


def modules(parts: Sequence[str], loop: str, form: Form) -> list[str]:
    """The parts and their callers as one module; many parts as several modules, which can be compiled one by one."""
    if len(parts) <= MODULE_PARTS:
        return [module([*parts, loop], form)]
    visible = [part.replace("define internal", "define hidden", 1) for part in parts]
    bundles = [visible[k : k + MODULE_PARTS] for k in range(0, len(visible), MODULE_PARTS)]
    names = [part[part.index("@") : part.index("(")] for part in parts]
    declared = [f"declare hidden void {name}(ptr, ptr, ptr)" for name in names]
    return [module(functions, form) for functions in (*bundles, [*declared, loop])]


def module(functions: Sequence[str], form: Form, inline: bool | None = None) -> str:
    """The functions with their declarations; parts of a tape may be inlined by LLVM or never."""
    declared = [*declarations(form), "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"]
    for text in {scalar: IR(replace(form, scalar=scalar)) for scalar in (form.scalar, "double")}.values():
        v = text.vector
        declared += [f"declare {v} @llvm.{name}.{text.suffix}({', '.join([v] * count)})" for name, count in DECLARED]
    if any(f"@{ANY}(" in function for function in functions):
        declared += any_function(form.scalar)
    if any(f"@{FAR}(" in function for function in (*declared, *functions)):
        declared += ["declare i64 @llvm.ctlz.i64(i64, i1)", *FarSine(form.scalar).written()]
    bits = 8 * form.bytes * form.width
    inlining = {None: "", True: "alwaysinline ", False: "noinline "}[inline] + '"no-builtins" ' * (not form.flags)
    attributes = (
        f'attributes #0 = {{ nounwind {inlining}"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" }}'
    )
    return "\n".join(["; dalembert", *declared, *functions, UNLIKELY, attributes, ""])


def _schedule(graph: Graph) -> list[list[int]]:
    """Stages of lines. Each stage except the first is preceded by sines and cosines, computed together.

    Their arguments usually need only the inputs, so there are two stages: a very short one and the
    rest. Computing them together costs only one branch for arguments out of range.
    """
    live = live_lines(graph)
    level = [0] * len(graph.nodes)
    for line, (op, _) in enumerate(graph.nodes):
        below = max((level[k] for k in graph.operands(line)), default=0)
        level[line] = below + (op in ("sin", "cos"))
    wanted = [k for k in range(len(graph.nodes)) if live[k] and graph.op(k) not in ("const", "input")]
    # the operands of the next stage's angles come first; everything else is left to the last stage
    last = max((level[k] for k in wanted), default=0)
    stages: list[list[int]] = [[] for _ in range(last + 1)]
    early = [graph.op(k) in ("sin", "cos") for k in range(len(graph.nodes))]  # and their operands
    for k in reversed(wanted):
        for operand in graph.operands(k) if early[k] else ():
            early[operand] = True
    for k in wanted:
        stages[level[k] if early[k] else last].append(k)
    return stages


def function_parts(
    graph: Graph,
    signature: Signature,
    form: Form,
    name: str = "part",
    lanes: bool = False,
    longest: float | None = None,
    part_class: Callable[..., TapePart] | None = None,
    staged: bool = False,
) -> tuple[list[str], int]:
    """The tape as one or more functions ``name0``, ``name1``, …, and the number of workspace slots that they share.

    With ``lanes``, an array is stored not as rows but as consecutive vectors of W lanes. The parts are up to
    ``longest`` instructions long; a class other than :class:`TapePart` may write them. With ``staged``, outputs go to
    the workspace as consecutive vectors after the slots, except for constants, which are not written.
    """
    if longest is None:
        longest = SHORT_PART_LENGTH if len(graph.nodes) > LONG_TAPE else PART_LENGTH
    order: list[Chunk] = []
    for stage in _schedule(graph):
        trig = [k for k in stage if graph.op(k) in ("sin", "cos")]
        rest = [k for k in stage if graph.op(k) not in ("sin", "cos")]
        if trig:
            order.append(("angles", trig))
        order += [("lines", lines) for lines in _cut(graph, rest, longest)]
    # pack chunks into parts of bounded length
    packed: list[list[Chunk]] = [[]]
    length = 0
    for kind, lines in order or [("lines", [])]:
        weight = sum(LENGTH.get(graph.op(k), 1) for k in lines)
        if packed[-1] and length + weight > longest * 1.3:
            packed.append([])
            length = 0
        packed[-1].append((kind, lines))
        length += weight
    part_of = {k: index for index, chunks in enumerate(packed) for _, lines in chunks for k in lines}
    slot_of, slots = workspace_slots(
        [[(k, graph.operands(k)) for _, lines in chunks for k in lines] for chunks in packed]
    )
    # an output is written by the part that computes its value; constants and inputs by the first
    writers: dict[int, list[int]] = {}
    for position in sorted({*range(len(graph.outputs))}.difference(_constants(graph) if staged else ())):
        writers.setdefault(part_of.get(graph.outputs[position], 0), []).append(position)
    needed_later: list[list[int]] = [[] for _ in packed]
    for line in slot_of:
        needed_later[part_of[line]].append(line)
    functions = []
    ahead = _lines_ahead(graph, signature, form)
    for index, chunks in enumerate(packed):
        part = (part_class or TapePart)(graph, signature, form, slot_of, lanes)
        if staged:
            part.first_output, part.ahead = slots, ahead
        functions.append(part.written(f"{name}{index}", chunks, needed_later[index], writers.get(index, [])))
    return functions, slots


def _cut(graph: Graph, lines: list[int], longest: float) -> list[list[int]]:
    """The lines in chunks of limited length."""
    runs: list[list[int]] = []
    room = 0.0
    for k in lines:
        length = LENGTH.get(graph.op(k), 1)
        if length > room:
            runs.append([])
            room = longest
        runs[-1].append(k)
        room -= length
    return runs


def _constants(graph: Graph) -> list[int]:
    """The outputs that are the same for all states."""
    return [position for position, line in enumerate(graph.outputs) if graph.op(line) == "const"]


def _lines_ahead(graph: Graph, signature: Signature, form: Form) -> dict[int, list[tuple[int, int]]]:
    """For every output that is not constant, the cache lines to prefetch when it is stored: (array, offset).

    Together they are the rows that the next block writes, if rows are contiguous: writing to memory that is not cached
    is slow, and the duration of a block is enough to fetch it.
    """
    lines = []
    for array, start, end in output_starts(signature):
        block = (end - start) * form.width * form.bytes
        lines += [(array, offset) for offset in range(block, 2 * block, LINE)]
    stored = sorted({*range(len(graph.outputs))}.difference(_constants(graph)))
    share = len(lines) / max(len(stored), 1)
    return {p: lines[int(k * share) : int((k + 1) * share)] for k, p in enumerate(stored)}


class TapePart(IR):
    """The text of one function: some lines of the tape, between inputs or a workspace and outputs or a workspace."""

    first_output: int | None = None  # the slot of the first output, if outputs go to the workspace

    def __init__(self, graph: Graph, signature: Signature, form: Form, slot_of: dict[int, int], by_lanes: bool) -> None:
        super().__init__(form)
        self.graph, self.signature, self.slot_of, self.by_lanes = graph, signature, slot_of, by_lanes
        self.where = _elements(graph, signature)
        self.names: dict[int, str] = {}
        self.pointers: dict[int, list[str]] = {}
        # output → (array, offset) of the cache lines prefetched when it is stored
        self.ahead: dict[int, list[tuple[int, int]]] = {}

    def written(self, name: str, chunks: list[Chunk], needed_later: list[int], outputs: list[int]) -> str:
        """The function; ``needed_later`` are the lines that later parts read, ``outputs`` the positions that this one writes.

        Values are stored as soon as they are computed, so that few of them occupy registers.
        """
        turn = {k: place for place, k in enumerate(k for _, lines in chunks for k in lines)}
        due: dict[int, list[Callable[[], None]]] = {}
        for needed, store in self.stores(needed_later, outputs):
            due.setdefault(max((turn[k] for k in needed if k in turn), default=-1), []).append(store)
        for kind, lines in chunks:
            if kind == "angles":
                self.angles(lines)
            for k in lines:
                if kind == "lines":
                    operands = [self.value(a) for a in self.graph.operands(k)]
                    self.names[k] = self.instruction(self.graph.op(k), operands)
                for store in due.get(turn[k], ()):
                    store()
        for store in due.get(-1, ()):  # inputs and constants
            store()
        head = f"define internal void @{name}(ptr noalias %arrays, ptr noalias %offsets, ptr noalias %workspace) #0 {{"
        return "\n".join([head, "entry:", *self.lines, "  ret void", "}"])

    def instruction(self, op: str, operands: list[str]) -> str:
        """The result of an operation."""
        if op in WRITTEN:
            return WRITTEN[op](self, *operands)
        return self.let(INSTRUCTIONS[op].format(*operands, v=self.vector, s=self.suffix))

    def stores(self, needed_later: list[int], outputs: list[int]) -> Iterator[tuple[list[int], Callable[[], None]]]:
        """All stores, with the lines that they need."""
        for line in needed_later:
            yield [line], partial(self.store_kept, line)
        if self.first_output is not None:
            for position in outputs:
                yield [self.graph.outputs[position]], partial(self.store_staged, self.first_output + position, position)
            return
        for array, start, end in output_starts(self.signature):
            elements = {p - start: self.graph.outputs[p] for p in sorted(outputs) if start <= p < end}
            for run in _runs(list(elements), 1 if self.by_lanes else group_of(self.form)):
                lines = [elements[e] for e in run]
                yield lines, partial(self.store_outputs, array, run[0], lines)

    def value(self, line: int) -> str:
        """The name of a line's value, which is loaded if necessary."""
        if line not in self.names:
            op, args = self.graph.nodes[line]
            if op == "const":
                self.names[line] = self.splat(args[0])
            elif op == "input" and self.by_lanes:
                self.names[line] = self.load(self.vector_at(*self.where[line]))
            elif op == "input":
                self.load_rows(*self.where[line])
            else:
                self.names[line] = self.load(self.slot(line))
        return self.names[line]

    def angles(self, lines: list[int]) -> None:
        """Compute sines and cosines together, once per angle."""
        angles: dict[int, list[int]] = {}
        for k in lines:
            angles.setdefault(self.graph.operands(k)[0], []).append(k)
        pairs = sincos(self, [self.value(angle) for angle in angles], f"a{lines[0]}")
        for (sine, cosine), trig in zip(pairs, angles.values(), strict=True):
            for k in trig:
                self.names[k] = sine if self.graph.op(k) == "sin" else cosine

    # -- the workspace, and arrays as vectors or as rows --------------------------------------------

    def slot(self, line: int) -> str:
        return self.let(f"getelementptr {self.vector}, ptr %workspace, i64 {self.slot_of[line]}")

    def vector_at(self, array: int, element: int) -> str:
        """The address of an element's vector in an array of vectors."""
        if array not in self.pointers:
            self.pointers[array] = [self.entry("%arrays", array, "ptr")]
        return self.let(f"getelementptr {self.vector}, ptr {self.pointers[array][0]}, i64 {element}")

    def rows(self, array: int) -> list[str]:
        """The address of every lane's row in an array of rows."""
        if array not in self.pointers:
            base = self.entry("%arrays", array, "ptr")
            self.pointers[array] = [
                self.let(f"getelementptr i8, ptr {base}, i64 {self.entry('%offsets', array * self.width + lane)}")
                for lane in range(self.width)
            ]
        return self.pointers[array]

    def places(self, array: int, element: int) -> list[str]:
        """The address of an element in every lane's row."""
        offset = self.core_offset(array, element) if self.form.strided else str(self.bytes * element)
        return [self.let(f"getelementptr i8, ptr {row}, i64 {offset}") for row in self.rows(array)]

    def core_offset(self, array: int, element: int) -> str:
        """The offset of an element from the start of its row, by the strides of the core axes."""
        shapes = self.signature.arrays
        at = self.width * len(shapes) + sum(len(shape) for shape in shapes[:array])
        offset = "0"
        for axis in reversed(range(len(shapes[array]))):
            element, index = divmod(element, shapes[array][axis])
            if index:
                stride = self.entry("%offsets", at + axis)
                offset = self.let(f"add i64 {offset}, {self.let(f'mul i64 {stride}, {index}')}")
        return offset

    def load_rows(self, array: int, element: int) -> None:
        """The whole group of inputs that an element belongs to."""
        group = group_of(self.form)
        first = element - element % group
        members = {e: line for line, (a, e) in self.where.items() if a == array and first <= e < first + group}
        for e, vector in enumerate(load_group(self, self.places(array, first), len(members)), first):
            self.names[members[e]] = vector

    def store_kept(self, line: int) -> None:
        """Store a value that a later part reads in the workspace."""
        self.store(self.names[line], self.slot(line))

    def store_staged(self, slot: int, position: int) -> None:
        """Store an output in the workspace, and prefetch some of the memory to which the next block writes."""
        place = self.let(f"getelementptr {self.vector}, ptr %workspace, i64 {slot}")
        self.store(self.value(self.graph.outputs[position]), place)
        for array, offset in self.ahead.get(position, ()):
            line = self.let(f"getelementptr i8, ptr {self.entry('%arrays', array, 'ptr')}, i64 {offset}")
            self.say(f"call void @llvm.prefetch.p0(ptr {line}, i32 0, i32 2, i32 1)")

    def store_outputs(self, array: int, first: int, lines: list[int]) -> None:
        """Store neighbouring outputs from element ``first`` on: as rows, or as one vector."""
        values = [self.value(line) for line in lines]
        if self.by_lanes:
            self.store(values[0], self.vector_at(array, first))
        else:
            store_group(self, self.places(array, first), values)


def _runs(elements: list[int], longest: int) -> Iterator[list[int]]:
    """Runs of consecutive numbers in an increasing sequence."""
    run: list[int] = []
    for element in elements:
        if run and (element != run[-1] + 1 or len(run) == longest):
            yield run
            run = []
        run.append(element)
    if run:
        yield run


def _elements(graph: Graph, signature: Signature) -> dict[int, tuple[int, int]]:
    """input line → (array, element)"""
    lines = iter(graph.inputs)
    return {next(lines): (a, k) for a, (_, shape) in enumerate(signature.inputs) for k in range(prod(shape))}


def output_starts(signature: Signature) -> list[tuple[int, int, int]]:
    """(array, first output, last output + 1)"""
    ends = accumulate((prod(shape) for _, shape in signature.outputs), initial=0)
    return [(array, start, end) for array, (start, end) in enumerate(pairwise(ends), len(signature.inputs))]


def _sign(text: IR, x: str) -> str:
    """±1, but 0 stays 0 and NaN stays NaN; equality compares without raising flags."""
    v = text.vector
    if not text.form.flags:
        above, below = (text.let(f"fcmp {relation} {v} {x}, {text.splat(0.0)}") for relation in ("ogt", "olt"))
        return text.choice(above, text.splat(1.0), text.choice(below, text.splat(-1.0), x))
    itself = text.let(f"fcmp ueq {v} {x}, {text.splat(0.0)}")
    signed = text.let(f"call {v} @llvm.copysign.{text.suffix}({v} {text.splat(1.0)}, {v} {x})")
    return text.choice(itself, x, signed)


def _less(text: IR, x: str, y: str) -> str:
    smaller = text.let(f"fcmp olt {text.vector} {x}, {y}")
    return text.choice(smaller, text.splat(1.0), text.splat(0.0))


def _select(text: IR, condition: str, x: str, y: str) -> str:
    holds = text.let(f"fcmp une {text.vector} {condition}, {text.splat(0.0)}")
    return text.choice(holds, x, y)


# operations that are several instructions
WRITTEN: dict[str, Callable[..., str]] = {"sign": _sign, "less": _less, "select": _select, **ELEMENTARY}
