"""Transposition of rows to lanes and back.

The numbers of a state are contiguous in memory; the kernel needs the same number of W states in one register. Groups of
G numbers are loaded from every row, W/G rows per register, and transposed in log₂ G rounds of shuffles, which is far
less work than single loads. Groups that the row does not fill are loaded and stored under a mask, so that nothing
beyond the row is accessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from dalembert.compiler.emit.ir import IR, Form

LARGEST_GROUP = 8  # arms have about as many joints; longer groups would shuffle unused elements


def group_of(form: Form) -> int:
    """The number of elements of a row that are moved together."""
    return min(form.width, LARGEST_GROUP)


def piece_of(form: Form) -> int:
    """The number of elements of a row loaded at once: half registers, which saves the last round of shuffles."""
    return group_of(form) if form.width < 4 else min(group_of(form), form.width // 2)


def declarations(form: Form) -> list[str]:
    """The intrinsics used here."""
    names = []
    for name, g in (("load", piece_of(form)), ("store", group_of(form))):
        v, m, suffix = f"<{g} x {form.scalar}>", f"<{g} x i1>", f"v{g}f{8 * form.bytes}"
        result, arguments = (v, f"ptr, i32, {m}, {v}") if name == "load" else ("void", f"{v}, ptr, i32, {m}")
        names.append(f"declare {result} @llvm.masked.{name}.{suffix}.p0({arguments})")
    return names


def transposed(text: IR, rows: list[str]) -> list[str]:
    """G vectors of W numbers, their G × G blocks transposed: each round swaps one bit of row and column indices."""
    width, v = text.width, text.vector
    rows = list(rows)
    bit = 1
    while bit < len(rows):
        for r in range(len(rows)):
            if r & bit:
                continue
            a, b = rows[r], rows[r | bit]
            low = [c if not c & bit else width + (c ^ bit) for c in range(width)]
            high = [c | bit if not c & bit else width + c for c in range(width)]
            rows[r], rows[r | bit] = (_shuffled(text, v, a, b, order) for order in (low, high))
        bit *= 2
    return rows


def _shuffled(text: IR, v: str, a: str, b: str, order: Iterable[int]) -> str:
    picks = [f"i32 {k}" for k in order]
    return text.let(f"shufflevector {v} {a}, {v} {b}, <{len(picks)} x i32> <{', '.join(picks)}>")


def _mask(group: int, count: int) -> str:
    return f"<{group} x i1> <" + ", ".join(f"i1 {'true' if k < count else 'false'}" for k in range(group)) + ">"


def load_group(text: IR, places: list[str], count: int) -> list[str]:
    """Load ``count`` consecutive elements of every lane's row from these addresses on, one vector per element."""
    columns = []
    for first in range(0, count, piece := piece_of(text.form)):
        starts = [text.let(f"getelementptr i8, ptr {at}, i64 {text.bytes * first}") for at in places]
        columns += _load_piece(text, starts if first else places, min(piece, count - first))
    return columns


def _load_piece(text: IR, places: list[str], count: int) -> list[str]:
    g, align = piece_of(text.form), text.form.align
    part, suffix = f"<{g} x {text.scalar}>", f"v{g}f{8 * text.bytes}"
    loaded = []
    for at in places:
        masked = f"call {part} @llvm.masked.load.{suffix}.p0(ptr {at}, i32 {align}, {_mask(g, count)}, {part} zeroinitializer)"
        loaded.append(text.let(f"load {part}, ptr {at}, align {align}" if count == g else masked))
    beside = [loaded[k::g] for k in range(g)]  # rows k, k + G, k + 2 G, … go into one register
    length = g
    while length < text.width:
        part, length = f"<{length} x {text.scalar}>", 2 * length
        beside = [
            [_shuffled(text, part, a, b, range(length)) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            for parts in beside
        ]
    return transposed(text, [whole for (whole,) in beside])[:count]


def store_group(text: IR, places: list[str], values: list[str]) -> None:
    """Write consecutive elements, one vector per element, to every lane's row from these addresses on."""
    v, g, align = text.vector, group_of(text.form), text.form.align
    if len(values) == 1:  # like columns of a row-major matrix: nothing to transpose
        for lane, at in enumerate(places):
            x = text.let(f"extractelement {v} {values[0]}, i64 {lane}")
            text.say(f"store {text.scalar} {x}, ptr {at}, align {align}")
        return
    turned = transposed(text, values + ["poison"] * (g - len(values)))
    part, suffix = f"<{g} x {text.scalar}>", f"v{g}f{8 * text.bytes}"
    for lane, at in enumerate(places):
        x, start = turned[lane % g], lane - lane % g
        if g < text.width:
            x = _shuffled(text, v, x, "poison", range(start, start + g))
        if len(values) == g:
            text.say(f"store {part} {x}, ptr {at}, align {align}")
        else:
            text.say(
                f"call void @llvm.masked.store.{suffix}.p0({part} {x}, ptr {at}, i32 {align}, {_mask(g, len(values))})"
            )


def rows_function(shapes: Sequence[tuple[int, ...]], inputs: int, slots: int, form: Form) -> str:
    """The function ``rows``, which writes all outputs, vectors after the workspace's slots, to every lane's row."""
    text = IR(form)
    g, at, block = group_of(form), slots, "entry"
    text.label(block)
    for a, shape in enumerate(shapes[inputs:], inputs):
        count = prod(shape)
        base, last = text.entry("%arrays", a, "ptr"), count - count % g
        offsets = [text.entry("%offsets", a * form.width + lane) for lane in range(form.width)]
        rows = [text.let(f"getelementptr i8, ptr {base}, i64 {offset}") for offset in offsets]
        vectors = text.let(f"getelementptr {text.vector}, ptr %workspace, i64 {at}")
        if last:
            text.go(f"groups{a}")
            text.say(f"%k{a} = phi i64 [ 0, %{block} ], [ %next{a}, %groups{a} ]")
            _turned(text, vectors, rows, f"%k{a}", g)
            text.say(f"%next{a} = add i64 %k{a}, {g}")
            block = f"after{a}"
            text.branch(text.let(f"icmp slt i64 %next{a}, {last}"), f"groups{a}", block, block)
        if last < count:
            _turned(text, vectors, rows, str(last), count - last)
        at += count
    head = "define internal void @rows(ptr noalias %arrays, ptr noalias %offsets, ptr noalias %workspace) #0 {"
    return "\n".join([head, *text.lines, "  ret void", "}", ""])


def _turned(text: IR, vectors: str, rows: list[str], first: str, count: int) -> None:
    """Write some elements of every row, from index ``first`` on."""
    here = text.let(f"getelementptr {text.vector}, ptr {vectors}, i64 {first}")
    values = [text.load(text.let(f"getelementptr {text.vector}, ptr {here}, i64 {k}")) for k in range(count)]
    store_group(text, [text.let(f"getelementptr {text.scalar}, ptr {row}, i64 {first}") for row in rows], values)
