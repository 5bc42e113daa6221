"""Simplification rules, one line of algebra each, tried on every operation before it is written.

In a rule ``x y z`` stand for anything and ``c d`` for constants; ``if`` names a condition on the
constants. The lines are the rules: they are parsed here, and the tests evaluate both sides of each
of them at random values.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.graph.tape import Expr, Graph

TEXT = """
x + 0 -> x
x - 0 -> x
0 - x -> -x
x - x -> 0
x * 0 -> 0
x * 1 -> x
0 / x -> 0
x / 1 -> x
x / c -> (1 / c) * x if c != 0
-(-x) -> x
-(x - y) -> y - x
x + (-y) -> x - y
x - (-y) -> x + y
(-x) - y -> -(x + y)
x * (-y) -> -(x * y)
x / (-y) -> -(x / y)
(-x) / y -> -(x / y)
c * x -> -((-c) * x) if c < 0
x + c -> x - (-c) if c < 0
x - c -> x + (-c) if c < 0
c * (d * x) -> (c * d) * x
c + (d + x) -> (c + d) + x
c + (x - d) -> (c - d) + x
c - (d + x) -> (c - d) - x
c + (d - x) -> (c + d) - x
c - (d - x) -> (c - d) + x
(x + c) - d -> x + (c - d)
(x - c) - d -> x - (c + d)
x + (y - x) -> y
(x + y) - x -> y
x - (x + y) -> -y
x - (x - y) -> y
(x - y) - x -> -y
sin(-x) -> -sin(x)
cos(-x) -> cos(x)
sin(x) * sin(x) + cos(x) * cos(x) -> 1
tanh(-x) -> -tanh(x)
asin(-x) -> -asin(x)
atan2(-x, y) -> -atan2(x, y)
sign(-x) -> -sign(x)
select(0, x, y) -> y
select(1, x, y) -> x
select(x, y, y) -> y
"""

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
COMMUTES = ("add", "mul")

Pattern = tuple[Any, ...]  # ("any", name) | ("const", name) | ("value", float) | (op, pattern, …)
Bindings = dict[str, int]


def _pattern(tree: ast.expr) -> Pattern:
    match tree:
        case ast.Name(id=name):
            return ("const", name) if name in "cd" else ("any", name)
        case ast.Constant(value=value):
            return ("value", float(value))  # type: ignore[arg-type]
        case ast.UnaryOp(op=ast.USub(), operand=x):
            return ("neg", _pattern(x))
        case ast.BinOp(left=x, op=op, right=y):
            return (_BINARY[type(op)], _pattern(x), _pattern(y))
        case ast.Call(func=ast.Name(id=name), args=args):
            return (name, *(_pattern(a) for a in args))
    raise SyntaxError(f"a rule cannot contain {ast.dump(tree)}")


@dataclass(frozen=True)
class Rule:
    """One line: ``left -> right`` with an optional condition on its constants."""

    text: str
    left: Pattern
    right: Pattern
    condition: Callable[[dict[str, float]], bool] | None

    @staticmethod
    def parse(text: str) -> Rule:
        """Read one line of the table above."""
        left, _, rest = text.partition("->")
        right, _, condition = rest.partition(" if ")
        sides = [_pattern(ast.parse(side.strip(), mode="eval").body) for side in (left, right)]
        test = None
        if condition:
            name, comparison, number = condition.split()
            bound = float(number)
            test = {
                "<": lambda values: values[name] < bound,
                "!=": lambda values: values[name] != bound,
            }[comparison]
        return Rule(text.strip(), sides[0], sides[1], test)


class RuleSet:
    """Rules with an index by what the operands are, so that most operations meet no rule at all."""

    def __init__(self, text: str) -> None:
        self.rules = [Rule.parse(line) for line in text.splitlines() if line.strip()]
        self._index: dict[tuple[str, ...], list[Rule]] = {}

    def rewrite(self, graph: Graph, op: str, lines: tuple[int, ...]) -> Expr | None:
        """The simpler expression for ``op(lines)``, or None when no rule fits."""
        nodes = graph.nodes
        heads = (op, *(nodes[k][0] for k in lines))
        candidates = self._index.get(heads)
        if candidates is None:
            candidates = self._index[heads] = [r for r in self.rules if _may_match(r.left, heads)]
        for rule in candidates:
            for bound in _match_operands(graph, rule.left, op, lines, {}):
                if rule.condition is None or rule.condition(
                    {name: graph.nodes[k][1][0] for name, k in bound.items() if graph.op(k) == "const"}
                ):
                    return _build(graph, rule.right, bound)
        return None


def _may_match(pattern: Pattern, heads: tuple[str, ...]) -> bool:
    """Whether the operands' own operations allow a match; looks one level down."""
    if pattern[0] != heads[0]:
        return False
    wanted = [p[0] for p in pattern[1:]]
    return any(
        all(
            w == "any" or w == h or (w in ("const", "value") and h == "const")
            for w, h in zip(wanted, order, strict=True)
        )
        for order in _orders(heads[0], heads[1:])
    )


def _orders(op: str, operands: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return [operands, operands[::-1]] if op in COMMUTES else [operands]


def _match(graph: Graph, pattern: Pattern, line: int, bound: Bindings) -> list[Bindings]:
    """All ways to read what stands on ``line`` as ``pattern``."""
    kind = pattern[0]
    op, args = graph.nodes[line]
    if kind in ("any", "const"):
        if kind == "const" and op != "const":
            return []
        name = pattern[1]
        if name in bound:
            return [bound] if bound[name] == line else []
        return [{**bound, name: line}]
    if kind == "value":
        return [bound] if op == "const" and args[0] == pattern[1] else []
    return _match_operands(graph, pattern, op, args, bound)


def _match_operands(graph: Graph, pattern: Pattern, op: str, lines: tuple[int, ...], bound: Bindings) -> list[Bindings]:
    if pattern[0] != op:
        return []
    readings: list[Bindings] = []
    for order in _orders(op, lines):
        ways = [bound]
        for part, line in zip(pattern[1:], order, strict=True):
            ways = [further for way in ways for further in _match(graph, part, line, way)]
        readings += ways
    return readings


def _build(graph: Graph, pattern: Pattern, bound: Bindings) -> Expr:
    kind = pattern[0]
    if kind in ("any", "const"):
        return graph.on(bound[pattern[1]])
    if kind == "value":
        return graph.constant(pattern[1])
    return graph.apply(kind, *(_build(graph, p, bound) for p in pattern[1:]))


ALGEBRA = RuleSet(TEXT)
