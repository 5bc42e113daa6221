"""NumPy's inner loops around the blocks: which rows a block works on, and what the leftover does."""

from __future__ import annotations

from collections.abc import Sequence

# the largest copy of rows that is kept on the stack; a kernel with more numbers a state copies fewer rows
SCRATCH_BYTES = 65536

# dst[l, i, j, k] = src[l·outer + i·s0 + j·s1 + k·s2], and back; T is the array's type
_COPIES = """
define internal void @gather_{t}(ptr %src, ptr %dst, i64 %lanes, i64 %outer, i64 %n0, i64 %s0, i64 %n1, i64 %s1, i64 %n2, i64 %s2) noinline nounwind {{
{head}
  %x = load {T}, ptr %p3, align 1
  {widen}
  %to = getelementptr double, ptr %dst, i64 %at
  store double %y, ptr %to, align 8
{tail}
}}
define internal void @scatter_{t}(ptr %src, ptr %dst, i64 %lanes, i64 %outer, i64 %n0, i64 %s0, i64 %n1, i64 %s1, i64 %n2, i64 %s2) noinline nounwind {{
{head}
  %from = getelementptr double, ptr %dst, i64 %at
  %x = load double, ptr %from, align 8
  {narrow}
  store {T} %y, ptr %p3, align 1
{tail}
}}
"""
_HEAD = """entry:
  %none = icmp eq i64 %lanes, 0
  br i1 %none, label %done, label %l.loop
l.loop:
  %l = phi i64 [ 0, %entry ], [ %l.next, %l.end ]
  %at.l = phi i64 [ 0, %entry ], [ %at.next, %l.end ]
  %o.l = mul i64 %l, %outer
  %p0 = getelementptr i8, ptr %src, i64 %o.l
  br label %i.loop
i.loop:
  %i = phi i64 [ 0, %l.loop ], [ %i.next, %i.end ]
  %at.i = phi i64 [ %at.l, %l.loop ], [ %at.next, %i.end ]
  %o.i = mul i64 %i, %s0
  %p1 = getelementptr i8, ptr %p0, i64 %o.i
  br label %j.loop
j.loop:
  %j = phi i64 [ 0, %i.loop ], [ %j.next, %j.end ]
  %at.j = phi i64 [ %at.i, %i.loop ], [ %at.next, %j.end ]
  %o.j = mul i64 %j, %s1
  %p2 = getelementptr i8, ptr %p1, i64 %o.j
  br label %k.loop
k.loop:
  %k = phi i64 [ 0, %j.loop ], [ %k.next, %k.loop ]
  %at = phi i64 [ %at.j, %j.loop ], [ %at.next, %k.loop ]
  %o.k = mul i64 %k, %s2
  %p3 = getelementptr i8, ptr %p2, i64 %o.k"""
_TAIL = """  %at.next = add i64 %at, 1
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, %n2
  br i1 %k.more, label %k.loop, label %j.end
j.end:
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %n1
  br i1 %j.more, label %j.loop, label %i.end
i.end:
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %n0
  br i1 %i.more, label %i.loop, label %l.end
l.end:
  %l.next = add i64 %l, 1
  %l.more = icmp slt i64 %l.next, %lanes
  br i1 %l.more, label %l.loop, label %done
done:
  ret void"""


# rows of floats that lie one behind the other are one long row, converted eight at a time
_FLAT = """
define internal void @flat_{name}(ptr %narrow, ptr %wide, i64 %count) noinline nounwind {{
entry:
  %some = icmp sge i64 %count, 8
  br i1 %some, label %eights, label %rest
eights:
  %k = phi i64 [ 0, %entry ], [ %k.next, %eights ]
  %n = getelementptr float, ptr %narrow, i64 %k
  %w = getelementptr double, ptr %wide, i64 %k
  {eight}
  %k.next = add i64 %k, 8
  %k.end = add i64 %k.next, 8
  %k.more = icmp sle i64 %k.end, %count
  br i1 %k.more, label %eights, label %rest
rest:
  %r = phi i64 [ 0, %entry ], [ %k.next, %eights ]
  %left = icmp slt i64 %r, %count
  br i1 %left, label %ones, label %done
ones:
  %j = phi i64 [ %r, %rest ], [ %j.next, %ones ]
  %n1 = getelementptr float, ptr %narrow, i64 %j
  %w1 = getelementptr double, ptr %wide, i64 %j
  {one}
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %count
  br i1 %j.more, label %ones, label %done
done:
  ret void
}}
"""
_FLAT_IN = {
    "eight": "%x = load <8 x float>, ptr %n, align 1\n  %y = fpext <8 x float> %x to <8 x double>\n"
    "  store <8 x double> %y, ptr %w, align 8",
    "one": "%x1 = load float, ptr %n1, align 1\n  %y1 = fpext float %x1 to double\n  store double %y1, ptr %w1, align 8",
}
_FLAT_OUT = {
    "eight": "%x = load <8 x double>, ptr %w, align 8\n  %y = fptrunc <8 x double> %x to <8 x float>\n"
    "  store <8 x float> %y, ptr %n, align 1",
    "one": "%x1 = load double, ptr %w1, align 8\n  %y1 = fptrunc double %x1 to float\n  store float %y1, ptr %n1, align 1",
}


class _Loop:
    """Text of one inner loop."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], inputs: int, parts: int, width: int) -> None:
        self.shapes, self.inputs, self.parts, self.width = shapes, inputs, parts, width
        self.lines: list[str] = []
        self.names = 0

    def let(self, expression: str) -> str:
        self.names += 1
        self.lines.append(f"  %x{self.names} = {expression}")
        return f"%x{self.names}"

    def say(self, line: str) -> None:
        self.lines.append("  " + line)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def load(self, table: str, index: int, kind: str = "i64") -> str:
        return self.let(f"load {kind}, ptr {self.let(f'getelementptr {kind}, ptr {table}, i64 {index}')}")

    def put(self, table: str, index: int, value: str, kind: str = "i64") -> None:
        self.say(f"store {kind} {value}, ptr {self.let(f'getelementptr {kind}, ptr {table}, i64 {index}')}")

    def block(self) -> None:
        for part in range(self.parts):
            self.say(f"call void @part{part}(ptr %arrays, ptr %offsets, ptr %workspace)")

    def offsets(self, strides: list[str], last: str | None) -> None:
        """Where each lane's row is; lanes beyond ``last`` share the last row."""
        for lane in range(self.width):
            row = str(lane)
            if last is not None and lane > 0:
                inside = self.let(f"icmp slt i64 {lane}, {last}")
                row = self.let(f"select i1 {inside}, i64 {lane}, i64 {last}")
            for a, stride in enumerate(strides):
                self.put("%offsets", a * self.width + lane, self.let(f"mul i64 {row}, {stride}"))


def loops(shapes: Sequence[tuple[int, ...]], inputs: int, parts: int, slots: int, width: int) -> str:
    """The text of loop_d and loop_f and what they call."""
    copies = "".join(
        _COPIES.format(t=t, T=T, head=_HEAD, tail=_TAIL, widen=widen, narrow=narrow)
        for t, T, widen, narrow in (
            ("d", "double", "%y = fadd double %x, -0.0", "%y = fadd double %x, -0.0"),
            ("f", "float", "%y = fpext float %x to double", "%y = fptrunc double %x to float"),
        )
    )
    copies += _FLAT.format(name="gather", **_FLAT_IN) + _FLAT.format(name="scatter", **_FLAT_OUT)
    both = [_loop(kind, shapes, inputs, parts, slots, width) for kind in ("d", "f")]
    return copies + "\n".join(both) + '\n!0 = !{!"branch_weights", i32 1, i32 100000}\n'


def _size(shape: Sequence[int]) -> int:
    product = 1
    for k in shape:
        product *= k
    return product


def _loop(kind: str, shapes: Sequence[tuple[int, ...]], inputs: int, parts: int, slots: int, width: int) -> str:
    text = _Loop(shapes, inputs, parts, width)
    arrays, lanes = len(shapes), range(len(shapes))
    numbers = sum(_size(s) for s in shapes)
    rows = width if 8 * width * numbers <= SCRATCH_BYTES else 1
    text.label("entry")
    text.say(f"%arrays = alloca ptr, i64 {arrays}")
    text.say(f"%offsets = alloca i64, i64 {arrays * width}")
    text.say(f"%workspace = alloca <{width} x double>, i64 {max(slots, 1)}, align {8 * width}")
    text.say(f"%scratch = alloca double, i64 {max(rows * numbers, 1)}, align 64")
    count = text.load("%dims", 0)
    pointers = [text.load("%args", a, "ptr") for a in lanes]
    strides = [text.load("%steps", a) for a in lanes]
    core = _core_strides(text, shapes)
    for a in lanes:
        text.put("%arrays", a, pointers[a], "ptr")
    text.say(f"%empty = icmp sle i64 {count}, 0")
    text.say("br i1 %empty, label %done, label %look")
    text.label("look")
    if kind == "d":
        in_place = "true"
        for a in lanes:
            in_place = text.let(f"and i1 {in_place}, {_contiguous(text, shapes[a], core[a], 8)}")
        text.say(f"br i1 {in_place}, label %direct, label %copied")
        _direct(text, count, strides)
    else:
        text.say("br label %copied")
    _copied(text, kind, count, pointers, strides, core, rows)
    text.label("done")
    text.say("ret void")
    head = f"define void @loop_{kind}(ptr %args, ptr %dims, ptr %steps, ptr %data) #0 {{"
    return "\n".join([head, *text.lines, "}"])


def _contiguous(text: _Loop, shape: tuple[int, ...], core: list[str], item: int) -> str:
    """Whether a row's numbers lie side by side."""
    found, expected = "true", item
    for axis in reversed(range(len(shape))):
        if shape[axis] > 1:
            fits = text.let(f"icmp eq i64 {core[axis]}, {expected}")
            found = text.let(f"and i1 {found}, {fits}")
        expected *= shape[axis]
    return found


def _core_strides(text: _Loop, shapes: Sequence[tuple[int, ...]]) -> list[list[str]]:
    """The strides of the core axes, which NumPy lists after those of the loop."""
    at, core = len(shapes), []
    for shape in shapes:
        core.append([text.load("%steps", at + k) for k in range(len(shape))])
        at += len(shape)
    return core


def _direct(text: _Loop, count: str, strides: list[str]) -> None:
    width, arrays = text.width, range(len(strides))
    text.label("direct")
    text.offsets(strides, None)
    steps = [text.let(f"mul i64 {s}, {width}") for s in strides]
    text.say(f"%full = icmp sge i64 {count}, {width}")
    text.say("br i1 %full, label %blocks, label %rest")
    text.label("blocks")
    text.say(f"%left = phi i64 [ {count}, %direct ], [ %left.next, %blocks ]")
    text.block()
    for a in arrays:
        moved = text.let(f"getelementptr i8, ptr {text.load('%arrays', a, 'ptr')}, i64 {steps[a]}")
        text.put("%arrays", a, moved, "ptr")
    text.say(f"%left.next = sub i64 %left, {width}")
    text.say(f"%more = icmp sge i64 %left.next, {width}")
    text.say("br i1 %more, label %blocks, label %rest")
    text.label("rest")
    text.say(f"%over = phi i64 [ {count}, %direct ], [ %left.next, %blocks ]")
    text.say("%finished = icmp eq i64 %over, 0")
    text.say("br i1 %finished, label %done, label %leftover")
    text.label("leftover")
    text.offsets(strides, text.let("sub i64 %over, 1"))
    text.block()
    text.say("br label %done")


def _copied(
    text: _Loop, kind: str, count: str, pointers: list[str], strides: list[str], core: list[list[str]], rows: int
) -> None:
    """Any layout and any type: rows are copied to the stack, worked on there, and copied back."""
    shapes = text.shapes
    text.label("copied")
    at = 0
    places: list[str] = []
    flat: list[str] = []
    for a, shape in enumerate(shapes):
        places.append(text.let(f"getelementptr double, ptr %scratch, i64 {at}"))
        if kind == "f":
            dense = text.let(f"icmp eq i64 {strides[a]}, {4 * _size(shape)}")
            flat.append(text.let(f"and i1 {dense}, {_contiguous(text, shape, core[a], 4)}"))
        text.put("%arrays", a, places[a], "ptr")
        at += rows * _size(shape)
    text.say("br label %group")
    text.label("group")
    text.say(f"%done.rows = phi i64 [ 0, %copied ], [ %rows.next, %{'group.end' if kind == 'f' else 'group'} ]")
    remaining = text.let(f"sub i64 {count}, %done.rows")
    few = text.let(f"icmp slt i64 {remaining}, {rows}")
    now = text.let(f"select i1 {few}, i64 {remaining}, i64 {rows}")

    def copy(name: str, a: int) -> None:
        row = text.let(f"getelementptr i8, ptr {pointers[a]}, i64 {text.let(f'mul i64 %done.rows, {strides[a]}')}")
        sizes = [str(k) for k in shapes[a]] + ["1"] * (3 - len(shapes[a]))
        steps = core[a] + ["0"] * (3 - len(shapes[a]))
        axes = ", ".join(f"i64 {n}, i64 {s}" for n, s in zip(sizes, steps, strict=True))
        call = f"call void @{name}_{kind}(ptr {row}, ptr {places[a]}, i64 {now}, i64 {strides[a]}, {axes})"
        if kind == "d":
            text.say(call)
            return
        numbers = text.let(f"mul i64 {now}, {_size(shapes[a])}")
        text.say(f"br i1 {flat[a]}, label %flat{a}, label %strided{a}")
        text.label(f"flat{a}")
        text.say(f"call void @flat_{name}(ptr {row}, ptr {places[a]}, i64 {numbers})")
        text.say(f"br label %copied{a}")
        text.label(f"strided{a}")
        text.say(call)
        text.say(f"br label %copied{a}")
        text.label(f"copied{a}")

    for a in range(text.inputs):
        copy("gather", a)
    text.offsets([str(8 * _size(s)) for s in shapes], text.let(f"sub i64 {now}, 1"))
    text.block()
    for a in range(text.inputs, len(shapes)):
        copy("scatter", a)
    if kind == "f":
        text.say("br label %group.end")
        text.label("group.end")
    text.say(f"%rows.next = add i64 %done.rows, {now}")
    more = text.let(f"icmp slt i64 %rows.next, {count}")
    text.say(f"br i1 {more}, label %group, label %done")
