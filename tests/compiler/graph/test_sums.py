"""The pass over whole sums: the same values, never more operations, and each saving it promises."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.compiler.graph.count import count
from dalembert.compiler.graph.passes import factored, pruned
from dalembert.compiler.graph.sums import condensed
from dalembert.compiler.graph.tape import Expr, Graph, evaluate
from test_graph import random_graph

Formula = Callable[[Expr, Expr, Expr, Expr], list[Expr]]


def both(formula: Formula) -> tuple[Graph, Graph]:
    graph = Graph()
    graph.output(formula(*(graph.input(name) for name in "wxyz")))
    before = factored(pruned(graph))
    after = condensed(before)
    values = [0.3, -1.7, 2.9, 0.77]
    assert evaluate(after, values) == pytest.approx(evaluate(before, values), rel=1e-14, abs=1e-14)
    return before, after


@pytest.mark.parametrize(("formula", "muls", "adds"), [
    (lambda w, x, y, z: [w * (x - y), z * (y - x)], 2, 1),
    (lambda w, x, y, z: [2.0 * (x + y) + 5.0 * (x - y)], 2, 1),
    (lambda w, x, y, z: [0.5 * (x + y) - 0.5 * (x - y)], 0, 0),
    (lambda w, x, y, z: [x * y + w + x * z], 1, 2),
    (lambda w, x, y, z: [3.0 * x + w * z + 3.0 * y], 2, 2),
    (lambda w, x, y, z: [(x + w) - y, (z + w) - y], 0, 3),
    (lambda w, x, y, z: [(2.0 * x + w) + 3.0 * y, (2.0 * x + z) + 3.0 * y], 2, 3),
    (lambda w, x, y, z: [(x + y) * (x + y), 7.0 * (x + y) + 2.0 * x], 3, 2),
])  # fmt: skip
def test_each_saving(formula: Formula, muls: int, adds: int) -> None:
    _, after = both(formula)
    assert (count(after).multiplications, count(after).additions) == (muls, adds)


def test_what_is_constant_or_cancels() -> None:
    _, after = both(lambda w, x, y, z: [(x + y) - (y + x), (x - y) + (y - x) + 2.0, -x, 0.0 * x + 1.5, x])
    assert count(after).total == 0
    empty = Graph()
    empty.input("x")
    assert str(condensed(empty)).startswith("%0 = input x\n") and condensed(empty).outputs == []


def test_no_negation_where_a_swap_will_do() -> None:
    _, after = both(lambda w, x, y, z: [-(x * y) + z, w.sin() - x])
    assert not [op for op, _ in after.nodes if op == "neg"]


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 10**9), st.integers(5, 150))
def test_same_values_and_never_more_operations(seed: int, steps: int) -> None:
    g = factored(pruned(random_graph(seed, steps)))
    after = condensed(g)
    x = [random.Random(seed).uniform(-1, 1) for _ in range(3)]
    expected = evaluate(g, x)
    size = max(map(abs, expected))
    if size < 1e6:
        assert evaluate(after, x) == pytest.approx(expected, rel=1e-9, abs=1e-9 * max(1.0, size))
    assert count(after).total <= count(g).total
    assert [after.nodes[k] for k in after.inputs] == [("input", (name,)) for name in "xyz"]
    assert str(condensed(g)) == str(after)  # the same tape every time
