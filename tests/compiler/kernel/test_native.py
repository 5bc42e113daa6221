"""Plain functions compiled for the machine: what they give is what Python gives."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalembert as da
from dalembert.compiler.emit.functions import NotTranslated, functions_ir
from dalembert.compiler.kernel import make
from dalembert.compiler.kernel import native as native_
from dalembert.compiler.kernel.native import Flags1, Floats1, Floats2, Floats3, Integers1, lanes, native

SCALE, COUNT = 2.5, 3


class Table(NamedTuple):
    """A record of arrays and numbers."""

    values: Floats2
    factor: float
    order: Integers1
    shift: int


def _largest(row: Floats1, x: float) -> tuple[float, int]:
    best, at = -1e300, 0
    for j in range(len(row)):
        value = row[j] * x
        if value > best:
            best, at = value, j
    return best, at


@native
def statements(table: Table, limit: float, out: Floats2, flags: Flags1) -> int:
    """Loops, branches, tuples, parts of arrays, records and calls."""
    count = 0
    for i in range(table.values.shape[0] - 1, -1, -1):
        row = table.values[table.order[i]]
        best, at = _largest(row, table.factor)
        out[i, 0], out[i, 1] = best, SCALE * at
        flags[i] = (best > limit and at > 0) or not 0.0 < best <= 2.0
        if at == 2:
            continue
        count += at
        while count > 40:
            count -= COUNT
            if count < 39 and i % 2 == 0:
                break
    return count + table.shift


@native
def expressions(x: float, y: float, k: int, yes: bool) -> float:
    """Arithmetic of floats and ints, conditional values, functions."""
    a = b = x * y - 1
    a += abs(k) // 2 if yes else -k
    b = min(a, b, x) + max(k, 3) / 4 - int(yes) * float(k)
    return sqrt(abs(a)) + b if x < y or x >= k != 7 else -b * (abs(k) % 2)


@native
def side_by_side(x: Floats2, weight: Floats1, out: Floats2) -> float:
    """Loops over lanes, with a sum and an extreme in them."""
    least = 1e300
    for i in range(x.shape[0]):
        row, into = x[i], out[i]
        for j in lanes(len(weight)):
            value = row[j] * weight[j]
            into[j] = value if value > 0.0 else 0.5 * value
            least = min(least, value)
    return least


@given(st.integers(0, 10**6))
def test_statements_do_what_python_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, width = int(rng.integers(1, 9)), int(rng.integers(1, 20))
    table = Table(rng.normal(size=(n, width)), float(rng.normal()), rng.permutation(n), int(rng.integers(-5, 5)))
    results = []
    for function in (statements, statements.__wrapped__):  # type: ignore[attr-defined]
        out, flags = np.zeros((n, 2)), np.zeros(n, bool)
        results.append((function(table, 0.7, out, flags), out, flags))
    assert results[0][0] == results[1][0]
    assert np.array_equal(results[0][1], results[1][1]) and np.array_equal(results[0][2], results[1][2])


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.integers(-100, 100), st.booleans())
def test_expressions_give_what_python_gives(x: float, y: float, k: int, yes: bool) -> None:
    wanted = expressions.__wrapped__(x, y, k, yes)  # type: ignore[attr-defined]
    assert expressions(x, y, k, yes) == pytest.approx(wanted, rel=1e-12, abs=1e-9)  # sums may be fused


@pytest.mark.parametrize("width", [1, 4, 7, 16, 33])
def test_lanes_are_all_done(width: int) -> None:
    rng = np.random.default_rng(width)
    x, weight, out = rng.normal(size=(5, width)), rng.normal(size=width), np.zeros((5, width))
    assert side_by_side(x, weight, out) == (x * weight).min()
    assert np.allclose(out, np.where(x * weight > 0, x * weight, 0.5 * x * weight), rtol=1e-15)


def test_arrays_of_another_kind_are_refused() -> None:
    x, weight = np.ones((2, 3)), np.ones(3)
    for wrong in (x.astype(np.float32), x[0], np.ones((3, 2)).T):
        with pytest.raises(da.DalembertError, match="a contiguous one of float64 with 2"):
            side_by_side(wrong, weight, x)


def _changes(x: float) -> float:
    y = 1
    y = x
    return y


def _many(x: Floats3) -> float:
    return x[0, 0, 0, 0]


def _with(x: float) -> float:
    with open("nothing"):
        return x


def _unknown(x: float) -> float:
    return nowhere + x  # type: ignore[name-defined]  # noqa: F821


def _text(x: float) -> float:
    return sum((x, x))


def _untyped(x: list[float]) -> float:
    return x[0]


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (_changes, "_changes, line .*double where i64 is needed"), (_many, "the array has 3 dimensions"),
        (_with, "an unsupported statement"), (_unknown, "neither a variable of this function"),
        (_text, "not a function known in the module"), (_untyped, "not a supported type"),
    ],
)  # fmt: skip
def test_other_python_is_refused_in_a_sentence(function: object, sentence: str) -> None:
    with pytest.raises(NotTranslated, match=sentence) as error:
        functions_ir([function])  # type: ignore[list-item]
    assert "\n" not in str(error.value)


def test_compiled_code_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    native_._code.__wrapped__(__name__)
    monkeypatch.setattr(make, "object_code", None)  # nothing is compiled any more
    native_._code.__wrapped__(__name__)
