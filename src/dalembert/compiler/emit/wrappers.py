"""Functions around the blocks of a tape for use without NumPy: for one state, for many rows, or for a grid.

Each wrapper is an exported function that calls the parts of the tape, which LLVM inlines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from dalembert.compiler.emit.ir import IR, Form
from dalembert.compiler.emit.llvm import function_parts, module
from dalembert.compiler.emit.rollout import ProgramTapes, step_texts
from dalembert.compiler.emit.signature import Signature
from dalembert.compiler.graph.tape import Graph

ALONE = '"no-builtins"'  # prevents LLVM from calling C library functions, such as memset for a row of zeros
MOST_IN_LINE = 6  # number of parts; longer tapes stay in separate functions, which share a workspace on the stack


class Wrapper(IR):
    """The text of a function around the parts of a tape."""

    def __init__(self, signature: Signature, parts: int, slots: int, form: Form, part: str = "part") -> None:
        super().__init__(form)
        self.signature, self.parts, self.slots, self.part = signature, parts, slots, part
        self.sizes = [prod(shape) for shape in signature.arrays]
        self.arguments = [f"%{name}.{k}" for k, (name, _) in enumerate((*signature.inputs, *signature.outputs))]

    def rooms(self, arrays: int = 0, offsets: int = 0) -> None:
        """Allocate the tables that the parts read, with so many entries for the wrapper's own copies, and their workspace."""
        self.say(f"%arrays = alloca ptr, i32 {len(self.sizes) + arrays}")
        self.say(f"%offsets = alloca i64, i32 {len(self.sizes) * self.width + offsets}")
        self.say(f"%workspace = alloca {self.vector}, i32 {max(self.slots, 1)}, align {self.bytes * self.width}")

    def tables(self, pointers: Sequence[str], offset: Callable[[int, int], str] = lambda array, lane: "0") -> None:
        """Write the tables: one address per array and one offset per lane."""
        for a, pointer in enumerate(pointers):
            self.put("%arrays", a, pointer, "ptr")
            for lane in range(self.width):
                self.put("%offsets", a * self.width + lane, offset(a, lane))

    def block(self) -> None:
        """Call all parts for the states given by the tables."""
        for part in range(self.parts):
            self.say(f"call void @{self.part}{part}(ptr %arrays, ptr %offsets, ptr %workspace)")

    def function(self, head: str) -> str:
        """The lines as a function."""
        return "\n".join([f"define {head} {{", "entry:", *self.lines, "}"])


def one_state(text: Wrapper, name: str) -> str:
    """``void name(const scalar *inputs…, scalar *outputs…)``: one state, as C calls it."""
    text.rooms()
    text.tables(text.arguments)
    text.block()
    text.say("ret void")
    outputs = len(text.signature.inputs)
    parameters = [f"ptr {'readonly ' * (k < outputs)}{x}" for k, x in enumerate(text.arguments)]
    return text.function(f"void @{name}({', '.join(parameters)}) nounwind {ALONE}")


def many_rows(text: Wrapper, name: str) -> str:
    """``void name(inputs…, outputs…, int count)``: contiguous rows of ``count`` states in every array.

    Lanes beyond the last state repeat it: they read and write the same row.
    """
    width = text.width
    text.rooms()
    text.say("%some = icmp sgt i32 %count, 0")
    text.branch("%some", "ready", "done")
    text.say("%last = sub i32 %count, 1")
    text.go("states")
    text.say("%first = phi i32 [ 0, %ready ], [ %next, %states ]")
    rows = []
    for lane in range(width):
        row = text.let(f"add i32 %first, {lane}")
        if lane:
            row = text.let(f"select i1 {text.let(f'icmp slt i32 {row}, %last')}, i32 {row}, i32 %last")
        rows.append(text.let(f"zext i32 {row} to i64"))
    text.tables(text.arguments, lambda a, lane: text.let(f"mul i64 {rows[lane]}, {text.bytes * text.sizes[a]}"))
    text.block()
    text.say(f"%next = add i32 %first, {width}")
    text.say("%more = icmp slt i32 %next, %count")
    text.branch("%more", "states", "done", "done")
    text.say("ret void")
    parameters = [*(f"ptr {x}" for x in text.arguments), "i32 %count"]
    return text.function(f"void @{name}({', '.join(parameters)}) nounwind {ALONE}")


def wrapped(
    functions: Sequence[tuple[Graph | ProgramTapes, Signature, str]], form: Form, wrapper: Callable[[Wrapper, str], str]
) -> str:
    """The module of one or several graphs, each with its function ``name`` around the tape."""
    texts, longest = [], 0
    for graph, signature, name in functions:
        if isinstance(graph, ProgramTapes):
            texts += step_texts(graph, form, name, wrapper is many_rows)
            longest = MOST_IN_LINE + 1
            continue
        prefix = "part" if len(functions) == 1 else f"{name}.part"
        parts, slots = function_parts(graph, signature, form, prefix)
        texts += [*parts, wrapper(Wrapper(signature, len(parts), slots, form, prefix), name)]
        longest = max(longest, len(parts))
    return module(texts, form, inline=longest <= MOST_IN_LINE)
