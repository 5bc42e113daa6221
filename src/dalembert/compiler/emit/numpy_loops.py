"""NumPy's inner loops around the blocks: the rows of each block, and the remainder."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from dalembert.compiler.emit.ir import IR, Form, template

# the largest copy of rows on the stack; a kernel with more numbers per state copies fewer rows
SCRATCH_BYTES = 65536
LETTERS = {"double": "d", "float": "f"}  # bytes of the types for which NumPy calls loops


class InnerLoop(IR):
    """The text of a loop called by NumPy, with pointers in %args, sizes in %dims and strides in %steps."""

    def core_strides(self, axes: Sequence[int]) -> list[list[str]]:
        """The strides of each array's core axes, which NumPy lists after those of the loop."""
        at, core = len(axes), []
        for count in axes:
            core.append([self.entry("%steps", at + k) for k in range(count)])
            at += count
        return core

    def function(self, kind: str) -> str:
        """The lines as NumPy's loop for a type."""
        head = f"define void @loop_{kind}(ptr %args, ptr %dims, ptr %steps, ptr %data) #0 {{"
        return "\n".join([head, *self.lines, "}"])


def loops(
    shapes: Sequence[tuple[int, ...]], inputs: int, parts: int, slots: int, form: Form, staged: bool = False
) -> str:
    """The text of the loops and the functions they call: loop_d and loop_f, or only loop_f for arithmetic in floats.

    With ``staged``, the parts leave the outputs in the workspace, after the slots.
    """
    S = form.scalar
    same = {"t": LETTERS[S], "T": S, "widen": f"%y = fadd {S} %x, -0.0", "narrow": f"%y = fadd {S} %x, -0.0"}
    kinds = [same]
    if S == "double":
        conversions = {"widen": "%y = fpext float %x to double", "narrow": "%y = fptrunc double %x to float"}
        kinds.append({"t": "f", "T": "float", **conversions})
    text = "".join(template("strided_copies", S=S, **kind) for kind in kinds)
    if S == "double":
        text += template("float_rows")
    return text + "\n".join(_StateLoop(kind["t"], shapes, inputs, parts, form, staged).written(slots) for kind in kinds)


class _StateLoop(InnerLoop):
    """The loop over the states of a batch, whose arrays hold doubles ("d") or floats ("f")."""

    def __init__(
        self, kind: str, shapes: Sequence[tuple[int, ...]], inputs: int, parts: int, form: Form, staged: bool
    ) -> None:
        super().__init__(form)
        self.kind, self.shapes, self.inputs, self.parts, self.staged = kind, shapes, inputs, parts, staged
        self.numbers = [prod(shape) for shape in shapes]
        self.widened = kind != LETTERS[form.scalar]
        fits = form.bytes * form.width * sum(self.numbers) <= SCRATCH_BYTES
        self.copied = form.width if fits else 1  # rows at a time

    def written(self, slots: int) -> str:
        """The function."""
        arrays = range(len(self.shapes))
        slots += sum(self.numbers[self.inputs :]) if self.staged else 0
        self.label("entry")
        self.say(f"%arrays = alloca ptr, i64 {len(arrays)}")
        self.say(f"%offsets = alloca i64, i64 {len(arrays) * self.width}")
        self.say(f"%workspace = alloca {self.vector}, i64 {max(slots, 1)}, align {self.bytes * self.width}")
        self.say(f"%scratch = alloca {self.scalar}, i64 {max(self.copied * sum(self.numbers), 1)}, align 64")
        self.count = self.entry("%dims", 0)
        self.pointers = [self.entry("%args", a, "ptr") for a in arrays]
        self.strides = [self.entry("%steps", a) for a in arrays]
        self.core = self.core_strides([len(shape) for shape in self.shapes])
        for a in arrays:
            self.put("%arrays", a, self.pointers[a], "ptr")
        self.say(f"%empty = icmp sle i64 {self.count}, 0")
        self.branch("%empty", "done", "look", "look")
        if self.staged:
            self._call("constants")
        if not self.widened:
            in_place = "true"
            for a in arrays:
                in_place = self.let(f"and i1 {in_place}, {self._contiguous(a, self.bytes)}")
            self.branch(in_place, "direct", "copied")
            self._direct()
        else:
            self.go("copied")
        self._copied()
        self.say("ret void")
        return self.function(self.kind)

    def _block(self) -> None:
        for name in (*(f"part{k}" for k in range(self.parts)), *(["rows"] if self.staged else [])):
            self._call(name)

    def _call(self, name: str) -> None:
        self.say(f"call void @{name}(ptr %arrays, ptr %offsets, ptr %workspace)")

    def _offsets(self, strides: Sequence[str | int], last: str | None = None) -> None:
        """The address of each lane's row; lanes beyond ``last`` share the last row."""
        for lane in range(self.width):
            row = str(lane)
            if last is not None and lane > 0:
                inside = self.let(f"icmp slt i64 {lane}, {last}")
                row = self.let(f"select i1 {inside}, i64 {lane}, i64 {last}")
            for a, stride in enumerate(strides):
                self.put("%offsets", a * self.width + lane, self.let(f"mul i64 {row}, {stride}"))

    def _contiguous(self, a: int, item: int) -> str:
        """Whether the rows of an array are contiguous."""
        so_far, expected = "true", item
        for length, stride in zip(reversed(self.shapes[a]), reversed(self.core[a]), strict=True):
            if length > 1:
                fits = self.let(f"icmp eq i64 {stride}, {expected}")
                so_far = self.let(f"and i1 {so_far}, {fits}")
            expected *= length
        return so_far

    def _direct(self) -> None:
        """Process blocks of rows in place, and the remainder."""
        self._offsets(self.strides)
        steps = [self.let(f"mul i64 {stride}, {self.width}") for stride in self.strides]
        self.say(f"%full = icmp sge i64 {self.count}, {self.width}")
        self.branch("%full", "blocks", "rest")
        self.say(f"%left = phi i64 [ {self.count}, %direct ], [ %left.next, %blocks ]")
        self._block()
        for a, step in enumerate(steps):
            moved = self.let(f"getelementptr i8, ptr {self.entry('%arrays', a, 'ptr')}, i64 {step}")
            self.put("%arrays", a, moved, "ptr")
        self.say(f"%left.next = sub i64 %left, {self.width}")
        self.say(f"%more = icmp sge i64 %left.next, {self.width}")
        self.branch("%more", "blocks", "rest", "rest")
        self.say(f"%over = phi i64 [ {self.count}, %direct ], [ %left.next, %blocks ]")
        self.say("%finished = icmp eq i64 %over, 0")
        self.branch("%finished", "done", "leftover", "leftover")
        self._offsets(self.strides, self.let("sub i64 %over, 1"))
        self._block()
        self.go("done", "copied")

    def _copied(self) -> None:
        """Process any layout and type: rows are copied to the stack, processed there, and copied back."""
        at, places, flat = 0, [], []
        for a, numbers in enumerate(self.numbers):
            places.append(self.let(f"getelementptr {self.scalar}, ptr %scratch, i64 {at}"))
            if self.widened:
                dense = self.let(f"icmp eq i64 {self.strides[a]}, {4 * numbers}")
                flat.append(self.let(f"and i1 {dense}, {self._contiguous(a, 4)}"))
            self.put("%arrays", a, places[a], "ptr")
            at += self.copied * numbers
        self.go("group")
        end = "group.end" if self.widened else "group"
        self.say(f"%done.rows = phi i64 [ 0, %copied ], [ %rows.next, %{end} ]")
        remaining = self.let(f"sub i64 {self.count}, %done.rows")
        few = self.let(f"icmp slt i64 {remaining}, {self.copied}")
        now = self.let(f"select i1 {few}, i64 {remaining}, i64 {self.copied}")

        def copy(name: str, a: int) -> None:
            offset = self.let(f"mul i64 %done.rows, {self.strides[a]}")
            row = self.let(f"getelementptr i8, ptr {self.pointers[a]}, i64 {offset}")
            absent = 3 - len(self.shapes[a])
            axes = zip((*self.shapes[a], *[1] * absent), (*self.core[a], *["0"] * absent), strict=True)
            call = f"call void @{name}_{self.kind}(ptr {row}, ptr {places[a]}, i64 {now}, i64 {self.strides[a]}, "
            call += ", ".join(f"i64 {length}, i64 {stride}" for length, stride in axes) + ")"
            if not self.widened:
                self.say(call)
                return
            numbers = self.let(f"mul i64 {now}, {self.numbers[a]}")
            self.branch(flat[a], f"flat{a}", f"strided{a}")
            self.say(f"call void @flat_{name}(ptr {row}, ptr {places[a]}, i64 {numbers})")
            self.go(f"copied{a}", f"strided{a}")
            self.say(call)
            self.go(f"copied{a}")

        for a in range(self.inputs):
            copy("gather", a)
        self._offsets([self.bytes * numbers for numbers in self.numbers], self.let(f"sub i64 {now}, 1"))
        self._block()
        for a in range(self.inputs, len(self.shapes)):
            copy("scatter", a)
        if self.widened:
            self.go("group.end")
        self.say(f"%rows.next = add i64 %done.rows, {now}")
        more = self.let(f"icmp slt i64 %rows.next, {self.count}")
        self.branch(more, "group", "done", "done")
