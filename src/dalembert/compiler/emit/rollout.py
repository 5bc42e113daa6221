"""A program as LLVM IR: the whole rollout is one loop, W states at a time.

Every slot is a row of vectors on the stack, where lane l is state l of the block. The functions are
straight-line code (:mod:`dalembert.compiler.emit.llvm`), present once however often they are called. The
loop over the steps is inside: memory is accessed only to read the inputs of a step and to write the
state when a record is due.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, islice
from math import prod

from dalembert.compiler.emit.ir import IR, Form, template
from dalembert.compiler.emit.llvm import function_parts, modules
from dalembert.compiler.emit.numpy_loops import LETTERS, InnerLoop
from dalembert.compiler.emit.signature import Signature
from dalembert.compiler.graph.program import Program, perform
from dalembert.compiler.graph.tape import Graph, evaluate


def rollout_ir(program: Program, graphs: Mapping[str, tuple[Graph, Signature]], form: Form) -> list[str]:
    """The modules' texts: every function once, and NumPy's inner loop around them, for doubles."""
    return modules(*rollout_texts(program, graphs, form), form)


def rollout_texts(
    program: Program,
    graphs: Mapping[str, tuple[Graph, Signature]],
    form: Form,
    longest: float | None = None,
    inline: str = "noinline",
) -> tuple[list[str], str]:
    """The functions of the tapes, and the loop with the code that moves numbers between the stack and the arrays."""
    texts: list[str] = []
    parts: dict[str, int] = {}
    slots = 1
    for name, (graph, signature) in graphs.items():
        functions, needed = function_parts(graph, signature, form, f"{name}_part", lanes=True, longest=longest)
        texts += functions
        parts[name] = len(functions)
        slots = max(slots, needed)
    loop = _RolloutLoop(program, parts, slots, form).written()
    moves = template("lanes", width=form.width, scalar=form.scalar, align=form.align, inline=inline)
    return texts, moves + loop


@dataclass(frozen=True)
class ProgramTapes:
    """A program to emit, and the tapes of its functions with their arrays, by name."""

    program: Program
    graphs: Mapping[str, tuple[Graph, Signature]]

    def evaluate(self, row: Sequence[float]) -> list[float]:
        """The state after one step in plain Python, from the inputs of the program one after the other."""
        program, numbers = self.program, iter(row)
        memory = {name: [0.0] * size for name, size in program.sizes.items()}
        memory |= {name: list(islice(numbers, program.sizes[name])) for name in program.inputs}
        perform(
            program,
            {name: partial(self._called, name) for name in self.graphs},
            memory,
            zero=lambda count: [0.0] * count,
            holds=lambda slot: slot[0] != 0.0,
        )
        return [x for name in program.state for x in memory[name]]

    def _called(self, name: str, *given: Sequence[float]) -> list[list[float]]:
        graph, signature = self.graphs[name]
        results = iter(evaluate(graph, [x for slot in given for x in slot]))
        return [list(islice(results, prod(shape))) for _, shape in signature.outputs]


def step_texts(tapes: ProgramTapes, form: Form, name: str, rows: bool) -> list[str]:
    """The functions of a program, and ``void name(inputs…, outputs…)``, which takes one step; for ``rows`` with an integer
    count, which takes one from each of so many states with contiguous rows in every array."""
    form = replace(form, width=1)
    program = tapes.program
    texts, loop = rollout_texts(program, tapes.graphs, form)
    text, cores, once = IR(form), program.cores(), {"s": 1, "m": 1}
    pointers = [f"%array.{k}" for k in range(len(cores))]
    axes = list(dict.fromkeys(axis for core in cores for axis in core))
    shapes = [[once.get(axis) or int(axis) for axis in core] for core in cores]
    strides = [[form.bytes * prod(shape[k:]) for k in range(len(shape) + 1)] for shape in shapes]
    tables = {
        "args": ("ptr", pointers),
        "dims": ("i64", ["%batch", *(str(once.get(axis) or axis) for axis in axes)]),
        "steps": ("i64", [str(x) for of in ([s[0] for s in strides], *(s[1:] for s in strides)) for x in of]),
    }
    text.say("%batch = sext i32 %count to i64" if rows else "%batch = add i64 1, 0")
    for table, (kind, values) in tables.items():
        text.say(f"%{table} = alloca {kind}, i32 {len(values)}")
        for k, value in enumerate(values):
            text.put(f"%{table}", k, value, kind)
    text.say(f"call void @loop_{LETTERS[form.scalar]}(ptr %args, ptr %dims, ptr %steps, ptr null)")
    parameters = ", ".join([*(f"ptr {x}" for x in pointers), *(["i32 %count"] if rows else [])])
    head = f'define void @{name}({parameters}) nounwind "no-builtins" {{'
    whole = "\n".join([head, "entry:", *text.lines, "  ret void", "}"])
    return [*texts, loop.replace("define void @loop_", "define internal void @loop_"), whole]


class _RolloutLoop(InnerLoop):
    """The text of loop_d."""

    def __init__(self, program: Program, parts: Mapping[str, int], slots: int, form: Form) -> None:
        super().__init__(form)
        self.program, self.parts, self.slots = program, parts, slots
        self.given, self.cores = program.inputs, program.cores()
        self.fixed = len(program.state) + len(program.constant)  # arrays that are read once
        ends = list(accumulate(program.sizes.values()))
        self.place = dict(zip(program.sizes, [0, *ends], strict=False))  # start of each slot
        self.total = ends[-1]

    def slot(self, name: str, element: int = 0) -> str:
        return self.let(f"getelementptr {self.vector}, ptr %memory, i64 {self.place[name] + element}")

    def copy(self, origin: str, to: str) -> None:
        for k in range(self.program.sizes[to]):
            self.store(self.load(self.slot(origin, k)), self.slot(to, k))

    def somewhere(self, name: str) -> str:
        """Whether the slot is non-zero in some lane."""
        x = self.load(self.slot(name))
        return self.anywhere(self.let(f"fcmp une {self.vector} {x}, {self.splat(0.0)}"))

    def written(self) -> str:
        self.label("entry")
        self._begin()
        self._begin_block()
        self._begin_step()
        self._calls()
        self._record()
        self._end_step()
        self.say(f"%first.next = add i64 %first, {self.width}")
        self.say(f"%first.more = icmp slt i64 %first.next, {self.count}")
        self.branch("%first.more", "block", "done", "done")
        self.say("ret void")
        return self.function(LETTERS[self.scalar])

    def _begin(self) -> None:
        """Allocate the stack, and read NumPy's description of the arrays."""
        self.say(f"%memory = alloca {self.vector}, i64 {self.total}, align {self.bytes * self.width}")
        self.say(f"%workspace = alloca {self.vector}, i64 {self.slots}, align {self.bytes * self.width}")
        self.rows = [self.let(f"alloca ptr, i64 {self.width}") for _ in self.cores]
        self.tables = [self._table((*call.inputs, *call.outputs)) for call in self.program.calls]
        # dims: the batch, then each core size once, in the order in which the signature names them
        sizes = list(dict.fromkeys(axis for core in self.cores for axis in core))
        self.count = self.entry("%dims", 0)
        self.steps = self.entry("%dims", 1 + sizes.index("s"))
        records = self.entry("%dims", 1 + sizes.index("m"))
        self.base = [self.entry("%args", a, "ptr") for a in range(len(self.cores))]
        self.outer = [self.entry("%steps", a) for a in range(len(self.cores))]
        self.core = self.core_strides([len(core) for core in self.cores])
        nothing = self.let(f"icmp sle i64 {self.count}, 0")
        unasked = self.let(f"icmp sle i64 {records}, 0")
        idle = self.let(f"or i1 {nothing}, {unasked}")
        self.branch(idle, "done", "begin", "begin")
        self.every = self.let(f"sdiv i64 {self.steps}, {records}")
        self.go("block")

    def _begin_block(self) -> None:
        """Compute the address of each lane's rows (surplus lanes repeat the last) and read the constant inputs."""
        self.say("%first = phi i64 [ 0, %begin ], [ %first.next, %block.end ]")
        last = self.let(f"sub i64 {self.count}, 1")
        for lane in range(self.width):
            wanted = self.let(f"add i64 %first, {lane}")
            inside = self.let(f"icmp slt i64 {wanted}, {last}")
            row = self.let(f"select i1 {inside}, i64 {wanted}, i64 {last}")
            for base, outer, rows in zip(self.base, self.outer, self.rows, strict=True):
                pointer = self.let(f"getelementptr i8, ptr {base}, i64 {self.let(f'mul i64 {row}, {outer}')}")
                self.put(rows, lane, pointer, "ptr")
        for a, name in enumerate(self.given[: self.fixed]):
            self._move("in", self.rows[a], "0", name, self.core[a][0])
        self.go("step")

    def _begin_step(self) -> None:
        """Read the inputs of this step, and clear the slots that the calls share."""
        self.say("%k = phi i64 [ 0, %block ], [ %k.next, %step.end ]")
        self.say("%due = phi i64 [ 1, %block ], [ %due.next, %step.end ]")
        self.say("%record = phi i64 [ 0, %block ], [ %record.next, %step.end ]")
        for a, name in enumerate(self.given[self.fixed :], self.fixed):
            self._move("in", self.rows[a], self.let(f"mul i64 %k, {self.core[a][0]}"), name, self.core[a][1])
        for name in self.program.inner:
            for k in range(self.program.sizes[name]):
                self.store("zeroinitializer", self.slot(name, k))
        self.go("pass")

    def _calls(self) -> None:
        """Make the program's calls, conditional ones if the condition holds in some lane, and repeat on request."""
        program = self.program
        for index, call in enumerate(program.calls):
            if call.when is not None:
                self.branch(self.somewhere(call.when), f"call{index}", f"after{index}")
            elif call.again is not None:
                self.go(f"call{index}")
            for part in range(self.parts[call.function]):
                name = f"{call.function}_part{part}"
                self.say(f"call void @{name}(ptr {self.tables[index]}, ptr null, ptr %workspace)")
            if call.again is not None:
                self.branch(self.somewhere(call.again), f"repeat{index}", f"after{index}")
                for origin, to in call.carry:
                    self.copy(origin, to)
                self.go(f"call{index}", f"after{index}")
            elif call.when is not None:
                self.go(f"after{index}")
        for origin, to in program.carry:
            self.copy(origin, to)
        if program.again is not None:
            self.branch(self.somewhere(program.again), "pass", "passed", "passed")
        else:
            self.go("passed")

    def _record(self) -> None:
        """Write the state when a record is due."""
        self.say(f"%is.due = icmp sge i64 %due, {self.every}")
        self.branch("%is.due", "write", "step.end")
        for a, name in enumerate(self.program.state, len(self.given)):
            self._move("out", self.rows[a], self.let(f"mul i64 %record, {self.core[a][0]}"), name, self.core[a][1])
        self.say("%record.after = add i64 %record, 1")
        self.go("step.end")

    def _end_step(self) -> None:
        self.say("%record.next = phi i64 [ %record, %passed ], [ %record.after, %write ]")
        self.say("%due.before = phi i64 [ %due, %passed ], [ 0, %write ]")
        self.say("%due.next = add i64 %due.before, 1")
        self.say("%k.next = add i64 %k, 1")
        self.say(f"%k.more = icmp slt i64 %k.next, {self.steps}")
        self.branch("%k.more", "step", "block.end", "block.end")

    def _move(self, way: str, rows: str, offset: str, name: str, stride: str) -> None:
        size = self.program.sizes[name]
        self.say(f"call void @lanes_{way}(ptr {rows}, i64 {offset}, ptr {self.slot(name)}, i64 {size}, i64 {stride})")

    def _table(self, slots: Sequence[str]) -> str:
        """The addresses of a call's slots."""
        table = self.let(f"alloca ptr, i64 {len(slots)}")
        for k, name in enumerate(slots):
            self.put(table, k, self.slot(name), "ptr")
        return table
