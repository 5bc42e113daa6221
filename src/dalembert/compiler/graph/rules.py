"""Simplification rules, one line of algebra each, tried on every operation before it is recorded.

In a rule, ``x y z`` match any expression and ``c d`` match constants; ``if`` states a condition on the
constants. The text below is the source of the rules: it is parsed here, and the tests evaluate both
sides of each rule at random values.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.compiler.graph.tape import Graph

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
Bindings = dict[str, int]  # name in a rule → line
Reading = Callable[[list[Any], tuple[int, ...]], "Bindings | None"]  # from a tape's nodes and the lines of the operands


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
    """One line: ``left -> right`` with an optional condition on its constants, such as ``c < 0``."""

    text: str
    left: Pattern
    right: Pattern
    condition: str

    @staticmethod
    def parse(text: str) -> Rule:
        """The rule in one line of the table above."""
        left, _, rest = text.partition("->")
        right, _, condition = rest.partition(" if ")
        sides = [_pattern(ast.parse(side.strip(), mode="eval").body) for side in (left, right)]
        return Rule(text.strip(), sides[0], sides[1], condition.strip())


class RuleSet:
    """Rules indexed by the operations of their operands, so that most operations need no matching at all."""

    def __init__(self, text: str) -> None:
        self.rules = [Rule.parse(line) for line in text.splitlines() if line.strip()]
        self._index: dict[tuple[str, ...], list[tuple[Reading, Pattern]]] = {}

    def rewrite(self, graph: Graph, heads: tuple[str, ...], lines: tuple[int, ...]) -> int | None:
        """The line of the simpler expression for ``op(lines)``, or None if no rule matches.

        ``heads`` are the operation and those of its operands.
        """
        candidates = self._index.get(heads)
        if candidates is None:
            candidates = self._index[heads] = [
                (_reading(way, rule.condition), rule.right)
                for rule in self.rules
                for way in dict.fromkeys(_arrangements(rule.left))
                if _may_match(way, heads)
            ]
        for reading, right in candidates:
            bound = reading(graph.nodes, lines)
            if bound is not None:
                return _build(graph, right, bound)
        return None


def _arrangements(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern with the operands of + and * in every order."""
    if pattern[0] in ("any", "const", "value"):
        yield pattern
        return
    arrangements = list(product(*map(_arrangements, pattern[1:])))
    yield from ((pattern[0], *way) for way in arrangements)
    if pattern[0] in COMMUTES:
        yield from ((pattern[0], *way[::-1]) for way in arrangements)


def _may_match(pattern: Pattern, heads: tuple[str, ...]) -> bool:
    """Whether the operations of the operands allow a match; looks one level down."""
    return pattern[0] == heads[0] and all(
        part[0] in ("any", head) or (part[0] == "value" and head == "const")
        for part, head in zip(pattern[1:], heads[1:], strict=True)
    )


def _reading(pattern: Pattern, condition: str) -> Reading:
    """The function that matches operands with those of ``pattern``, in this order: the bindings of the names, or None.

    It is generated as Python source for speed, because it is called for every operation. The operations of the
    operands, one level down, are known to match.
    """
    bound: dict[str, str] = {}
    tests: list[str] = []
    for k, part in enumerate(pattern[1:]):
        _test(part, f"lines[{k}]", bound, tests, known=True)
    if condition:
        name, _, comparison = condition.partition(" ")
        tests.append(f"nodes[{bound[name]}][1][0] {comparison}")
    names = ", ".join(f"{name!r}: {line}" for name, line in bound.items())
    return eval(f"lambda nodes, lines: {{{names}}} if {' and '.join(tests) or True} else None")


def _test(pattern: Pattern, line: str, bound: dict[str, str], tests: list[str], known: bool = False) -> None:
    """Append the conditions under which the expression on ``line`` matches ``pattern``."""
    kind, *parts = pattern
    if kind == "value":
        tests.append(f"nodes[{line}] == ('const', ({parts[0]!r},))")
        return
    if kind != "any" and not known:
        tests.append(f"nodes[{line}][0] == {kind!r}")
    if kind in ("any", "const"):
        first = bound.setdefault(parts[0], line)
        if first != line:
            tests.append(f"{first} == {line}")
        return
    for k, part in enumerate(parts):
        _test(part, f"nodes[{line}][1][{k}]", bound, tests)


def _build(graph: Graph, pattern: Pattern, bound: Bindings) -> int:
    kind = pattern[0]
    if kind in ("any", "const"):
        return bound[pattern[1]]
    if kind == "value":
        return graph.constant(pattern[1]).line
    return graph.line_of(kind, tuple([_build(graph, p, bound) for p in pattern[1:]]))


ALGEBRA = RuleSet(TEXT)
