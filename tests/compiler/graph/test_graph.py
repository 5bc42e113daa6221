"""The tape: rules by value, hash-consing, folding, passes, counts, derivatives."""

from __future__ import annotations

import ast
import math
import random
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.compiler.graph.count import count
from dalembert.compiler.graph.derivative import forward, gradient, jacobian
from dalembert.compiler.graph.passes import factored, pruned
from dalembert.compiler.graph.rules import ALGEBRA, Rule
from dalembert.compiler.graph.tape import OPERATIONS, Expr, Graph, evaluate

FUNCTIONS = {name: OPERATIONS[name] for name in ("sin", "cos", "tanh", "asin", "atan2", "sign", "select")}


@pytest.mark.parametrize("rule", ALGEBRA.rules, ids=lambda r: r.text)
def test_rule_holds_by_value(rule: Rule) -> None:
    """Both sides of every rule are equal at random values that meet its condition."""
    left, _, rest = rule.text.partition("->")
    right, _, condition = rest.partition(" if ")
    source = random.Random(1)
    tried = 0
    while tried < 50:
        values = {name: source.uniform(-3, 3) for name in "xyzcd"} | FUNCTIONS
        if condition and not eval(condition, {}, values):
            continue
        tried += 1
        assert eval(left, {}, values) == pytest.approx(eval(right, {}, values), rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("rule", ALGEBRA.rules, ids=lambda r: r.text)
def test_rule_is_applied(rule: Rule) -> None:
    """Writing a rule's left side gives its right side's line: no rule is dead."""
    left, _, rest = rule.text.partition("->")
    right, _, condition = rest.partition(" if ")
    constants = {"c": -1.5 if "c < 0" in condition else 1.5, "d": 2.5}
    free = sorted({n.id for n in ast.walk(ast.parse(left.strip())) if isinstance(n, ast.Name)} & set("xyz"))

    def written(text: str) -> tuple[Graph, Expr]:
        graph = Graph()
        names: dict = {name: graph.input(name) for name in free}
        names |= {k: graph.constant(v) for k, v in constants.items()}
        for f in FUNCTIONS:
            names[f] = lambda *x, f=f: graph.apply(f, *map(graph.lift, x))
        return graph, graph.lift(eval(text, {}, names))

    (g1, a), (g2, b) = written(left), written(right)
    g1.outputs, g2.outputs = [a.line], [b.line]
    assert str(pruned(g1)) == str(pruned(g2))


def test_same_operation_is_one_line() -> None:
    g = Graph()
    x, y = g.input("x"), g.input("y")
    assert (x * y).line == (y * x).line
    assert (x + y).line == (y + x).line
    assert (x - y).line != (y - x).line
    assert x.sin().line == x.sin().line


def test_constants_fold_and_keep_their_bits() -> None:
    g = Graph()
    assert g.value((g.constant(2.0) * 3.0 + 1.0).line) == 7.0
    assert g.constant(0.0).line != g.constant(-0.0).line
    assert math.isnan(g.value((g.constant(0.0) / 0.0).line))  # type: ignore[arg-type]
    assert g.value((g.constant(1.0) / 0.0).line) == math.inf


def test_arrays_are_not_swallowed() -> None:
    x = Graph().input("x")
    with pytest.raises(TypeError):
        np.ones(3) * x  # type: ignore[operator]
    with pytest.raises(TypeError):
        x * "3"


def test_expressions_of_two_graphs_do_not_mix() -> None:
    g, h = Graph(), Graph()
    with pytest.raises(ValueError, match="another graph"):
        g.output([h.input("x")])


def test_every_stage_prints() -> None:
    g = Graph()
    x = g.input("x")
    g.output([x * x + 1.0])
    assert str(g).splitlines() == ["%0 = input x", "%1 = mul %0 %0", "%2 = const 1.0", "%3 = add %1 %2", "return %3"]


def test_trace_is_reproducible() -> None:
    def write() -> str:
        g = Graph()
        a, b = g.input("a"), g.input("b")
        g.output([(a * b + b.sin()) / (a - 2.0 * b), -(a * b)])
        return str(g)

    assert write() == write()


def random_graph(seed: int, steps: int = 40) -> Graph:
    rng = random.Random(seed)
    g = Graph()
    pool: list = [g.input(n) for n in "xyz"] + [0.5, -2.0, 0.0, 1.0]
    for _ in range(steps):
        op = rng.choice(["add", "sub", "mul", "mul", "neg", "sin", "cos", "div", "tanh", "atan2"])
        picked = [g.lift(rng.choice(pool)) for _ in range(len(signature(OPERATIONS[op]).parameters))]
        if op in ("div", "atan2"):
            picked[1] = g.lift(2.5 + picked[1].cos())
        pool.append(g.apply(op, *picked))
    g.output(pool[-6:])
    return g


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_passes_keep_the_values(seed: int) -> None:
    g = random_graph(seed)
    x = [random.Random(seed).uniform(-1, 1) for _ in range(3)]
    expected = evaluate(g, x)
    for after in (pruned(g), factored(pruned(g))):
        assert evaluate(after, x) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert len(after.nodes) <= len(g.nodes) + 3
        assert [after.nodes[k] for k in after.inputs] == [("input", (name,)) for name in "xyz"]


def test_factoring_saves_a_multiplication() -> None:
    g = Graph()
    x, y, z = (g.input(n) for n in "xyz")
    g.output([x * y - x * z])
    assert count(g).multiplications == 2
    assert count(factored(g)).multiplications == 1
    shared = Graph()
    x, y, z = (shared.input(n) for n in "xyz")
    shared.output([x * y + x * z, x * y])  # the product is needed anyway: nothing to gain
    assert count(factored(shared)).multiplications == 2


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**9))
def test_derivatives_match_differences(seed: int) -> None:
    g = random_graph(seed, 20)
    outputs = [Expr(g, k) for k in g.outputs]
    inputs = [Expr(g, k) for k in g.inputs]
    rng = random.Random(seed)
    x, v = [rng.uniform(-1, 1) for _ in range(3)], [rng.uniform(-1, 1) for _ in range(3)]

    def at(s: float) -> np.ndarray:
        g.outputs = [y.line for y in outputs]
        return np.array(evaluate(g, [a + s * b for a, b in zip(x, v, strict=True)]))

    h = 1e-3
    slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    J, dots = jacobian(g, outputs, inputs), forward(g, outputs, dict(zip(g.inputs, v, strict=True)))
    flat = [g.lift(e).line for row in J for e in row] + [g.lift(e).line for e in dots]
    g.outputs = flat
    values = np.array(evaluate(g, x))
    if not np.all(np.isfinite(values)) or np.abs(slope).max() > 1e3:
        return
    assert values[: 3 * len(outputs)].reshape(-1, 3) @ v == pytest.approx(slope, rel=1e-5, abs=1e-5)
    assert values[3 * len(outputs) :] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_derivative_of_sqrt_and_sign() -> None:
    g = Graph()
    x = g.input("x")
    (slope,) = gradient(g, x.sqrt() * x.sign(), [x])
    g.output([slope])
    assert evaluate(g, [4.0])[0] == pytest.approx(0.25)


def test_comparison_and_choice() -> None:
    g = Graph()
    x, y = g.input("x"), g.input("y")
    chosen = x.less(y).select(3.0 * x, y * y)
    g.output([x.less(y), chosen, *gradient(g, chosen, [x, y])])
    assert evaluate(g, [1.0, 2.0]) == [1.0, 3.0, 3.0, 0.0]
    assert evaluate(g, [2.0, 1.5]) == [0.0, 2.25, 0.0, 3.0]
    assert evaluate(g, [math.nan, 1.0])[0] == 0.0


def test_counts() -> None:
    g = Graph()
    x, y = g.input("x"), g.input("y")
    g.output([x.sin() * y - x.cos() / y + (-x).sqrt()])
    x * 17.0  # dead
    c = count(g)
    assert (c.multiplications, c.additions, c.divisions, c.square_roots, c.sines, c.cosines) == (1, 2, 1, 1, 1, 1)
    assert c.total == 3


def test_rule_index_sees_every_rule() -> None:
    assert len(ALGEBRA.rules) > 30
