"""Rows to lanes and back.

A state's numbers lie side by side in memory; the kernel wants the same number of W states side by
side in a register. W rows of W numbers are loaded as they lie and transposed in log₂ W rounds of
shuffles, which is far less work than W² single loads. Groups that the row does not fill are loaded
and stored under a mask, so that nothing beyond the row is touched.
"""

from __future__ import annotations

from dalembert.emit.ir import IR


def declarations(width: int) -> list[str]:
    """The intrinsics used here."""
    v, m = f"<{width} x double>", f"<{width} x i1>"
    return [
        f"declare {v} @llvm.masked.load.v{width}f64.p0(ptr, i32, {m}, {v})",
        f"declare void @llvm.masked.store.v{width}f64.p0({v}, ptr, i32, {m})",
    ]


def transposed(text: IR, rows: list[str]) -> list[str]:
    """W vectors of W numbers, transposed: in each round one bit of row and column trade places."""
    width, v = text.width, text.vector
    rows = list(rows)
    bit = 1
    while bit < width:
        for r in range(width):
            if r & bit:
                continue
            a, b = rows[r], rows[r | bit]
            low = [c if not c & bit else width + (c ^ bit) for c in range(width)]
            high = [c | bit if not c & bit else width + c for c in range(width)]
            orders = (", ".join(f"i32 {k}" for k in picks) for picks in (low, high))
            rows[r], rows[r | bit] = (
                text.let(f"shufflevector {v} {a}, {v} {b}, <{width} x i32> <{order}>") for order in orders
            )
        bit *= 2
    return rows


def _mask(text: IR, count: int) -> str:
    return "<" + ", ".join(f"i1 {'true' if k < count else 'false'}" for k in range(text.width)) + ">"


def load_group(text: IR, rows: list[str], first: int, count: int) -> list[str]:
    """Elements ``first`` … of every lane's row, one vector an element."""
    v, w = text.vector, text.width
    loaded = []
    for row in rows:
        at = text.let(f"getelementptr i8, ptr {row}, i64 {8 * first}")
        masked = f"(ptr {at}, i32 1, {text.mask} {_mask(text, count)}, {v} zeroinitializer)"
        loaded.append(
            text.let(f"load {v}, ptr {at}, align 1" if count == w else f"call {v} @llvm.masked.load.v{w}f64.p0{masked}")
        )
    return transposed(text, loaded)[:count]


def store_group(text: IR, rows: list[str], first: int, values: list[str]) -> None:
    """Write consecutive elements, one vector an element, to every lane's row."""
    v, w = text.vector, text.width
    if len(values) == 1:  # as the columns of a matrix that grows by rows: nothing to transpose
        for lane, row in enumerate(rows):
            x = text.let(f"extractelement {v} {values[0]}, i64 {lane}")
            text.say(f"store double {x}, ptr {text.let(f'getelementptr i8, ptr {row}, i64 {8 * first}')}, align 1")
        return
    turned = transposed(text, values + ["poison"] * (w - len(values)))
    for row, x in zip(rows, turned, strict=True):
        at = text.let(f"getelementptr i8, ptr {row}, i64 {8 * first}")
        if len(values) == w:
            text.say(f"store {v} {x}, ptr {at}, align 1")
        else:
            mask = f"{text.mask} {_mask(text, len(values))}"
            text.say(f"call void @llvm.masked.store.v{w}f64.p0({v} {x}, ptr {at}, i32 1, {mask})")
