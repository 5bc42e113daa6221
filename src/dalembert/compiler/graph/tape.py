"""The tape: one append-only list of operations per trace, each recorded at most once.

A node is ``(op, args)``: ``("mul", (3, 7))`` multiplies the values of lines 3 and 7. There is only one
node type, and nothing here depends on robots. Recording the same operation twice gives the same line
(hash-consing), operations on constants are evaluated immediately, and the rules of
:mod:`dalembert.compiler.graph.rules` are tried on every operation before it is recorded. Operands of ``+`` and
``*`` are ordered by their line, never by memory address, so the same trace gives the same tape, byte
for byte.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dalembert.base.algebra.scalars import acos, asin, atan2, cos, exp, less, log, select, sgn, sin, sqrt, tanh
from dalembert.compiler.graph.rules import ALGEBRA, COMMUTES


def _divide(x: float, y: float) -> float:
    if y == 0:
        return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1.0, y)
    return x / y


# every operation, on floats
OPERATIONS: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": _divide,
    "neg": operator.neg,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
    "sin": lambda x: math.sin(x) if math.isfinite(x) else math.nan,
    "cos": lambda x: math.cos(x) if math.isfinite(x) else math.nan,
    "exp": exp,
    "log": log,
    "tanh": tanh,
    "atan2": atan2,
    "asin": asin,
    "acos": acos,
    "sign": lambda x: 1.0 if x > 0 else -1.0 if x < 0 else x * 0.0,
    "less": lambda x, y: 1.0 if x < y else 0.0,
    "select": lambda c, x, y: x if c != 0.0 else y,
}

# the same on scalars of any kind
ON_SCALARS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")},
    **{f.__name__: f for f in (sqrt, sin, cos, exp, log, tanh, atan2, asin, acos, less, select)},
    **{"div": operator.truediv, "sign": sgn},
}

Node = tuple[str, tuple[Any, ...]]
ANOTHER = "an expression of another graph was used; each trace has its own tape"


class Graph:
    """One trace: inputs, constants and operations, in the order in which they were first recorded."""

    def __init__(self, simplify: bool = True) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self._lines: dict[Any, int] = {}
        self._simplify = simplify

    def input(self, name: str) -> Expr:
        """A new input; names are for display and must be unique."""
        line = self._write(("input", (name,)), ("input", name))
        if line not in self.inputs:
            self.inputs.append(line)
        return Expr(self, line)

    def constant(self, value: float) -> Expr:
        """A constant, identified by its bits: 0.0 and −0.0 are two constants."""
        return Expr(self, self._constant(float(value)))

    def output(self, values: Iterable[Expr | float]) -> None:
        """Append to the outputs of the graph."""
        self.outputs.extend(self.lift(v).line for v in values)

    def lift(self, value: Any) -> Expr:
        """``value`` as an expression on this tape."""
        if isinstance(value, Expr):
            if value.graph is not self:
                raise ValueError(ANOTHER)
            return value
        return self.constant(value)

    def apply(self, op: str, *args: Expr) -> Expr:
        """The expression of an operation, recorded unless it folds, simplifies, or is already on the tape."""
        return Expr(self, self.line_of(op, tuple([a.line for a in args])))

    def line_of(self, op: str, lines: tuple[int, ...]) -> int:
        """The line of an operation, given the lines of its operands. Results are memoised."""
        key = (op, lines)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = self._simplified(op, lines)
        return line

    def _simplified(self, op: str, lines: tuple[int, ...]) -> int:
        nodes = self.nodes
        heads = (op, *[nodes[k][0] for k in lines])
        if heads.count("const") == len(lines):
            return self._constant(OPERATIONS[op](*[nodes[k][1][0] for k in lines]))
        better = ALGEBRA.rewrite(self, heads, lines) if self._simplify else None
        return self.copy_of(op, lines) if better is None else better

    def copy_of(self, op: str, lines: tuple[int, ...]) -> int:
        """The line of an operation that neither folds nor simplifies; no rules are tried."""
        node = (op, lines[::-1]) if op in COMMUTES and lines[0] > lines[1] else (op, lines)
        return self._write(node, node)

    def _constant(self, value: float) -> int:
        return self._write(("const", (value,)), struct.pack("<d", value))

    def _write(self, node: Node, key: Any) -> int:
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = len(self.nodes)
            self.nodes.append(node)
        return line

    def op(self, line: int) -> str:
        """The operation on a line."""
        return self.nodes[line][0]

    def value(self, line: int) -> float | None:
        """The constant on a line, or None."""
        op, args = self.nodes[line]
        return args[0] if op == "const" else None

    def operands(self, line: int) -> tuple[int, ...]:
        """The lines an operation reads; inputs and constants read none."""
        op, args = self.nodes[line]
        return () if op in ("const", "input") else args

    def __str__(self) -> str:
        """The tape as text, one line per operation: ``%12 = mul %3 %7``."""
        text = []
        for line, (op, args) in enumerate(self.nodes):
            words = " ".join(f"%{a}" for a in args) if op in OPERATIONS else str(args[0])
            text.append(f"%{line} = {op} {words}")
        text.append("return " + " ".join(f"%{k}" for k in self.outputs))
        return "\n".join(text)


def _operator(op: str, swap: bool = False) -> Callable[[Expr, Any], Any]:
    """A method of two operands, where the other is an expression or a number; with ``swap`` the other comes first."""

    def operate(self: Expr, other: Any) -> Any:
        graph = self.graph
        if isinstance(other, (int, float)):
            line = graph.constant(other).line
        elif isinstance(other, Expr):
            if other.graph is not graph:
                raise ValueError(ANOTHER)
            line = other.line
        else:
            return NotImplemented
        return Expr(graph, graph.line_of(op, (line, self.line) if swap else (self.line, line)))

    return operate


def _function(op: str) -> Callable[[Expr], Expr]:
    """A method without further operands."""
    return lambda self: self.graph.apply(op, self)


class Expr:
    """A scalar on the tape, with which the equations compute while they are traced."""

    __slots__ = ("graph", "line")
    # NumPy must leave operations with arrays to this class instead of creating arrays of expressions itself
    __array_ufunc__ = None

    def __init__(self, graph: Graph, line: int) -> None:
        self.graph = graph
        self.line = line

    __add__, __radd__ = _operator("add"), _operator("add", swap=True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", swap=True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", swap=True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", swap=True)

    def __neg__(self) -> Expr:
        return self.graph.apply("neg", self)

    def __bool__(self) -> bool:
        raise TypeError(
            "an expression has no value while it is traced, so it cannot control a branch: use less and select"
        )

    sqrt, sin, cos, exp, log, tanh = map(_function, ("sqrt", "sin", "cos", "exp", "log", "tanh"))
    asin, acos, sign = map(_function, ("asin", "acos", "sign"))

    def atan2(self, x: Any) -> Expr:
        """The angle of the point (x, this), from −π to π"""
        return self.graph.apply("atan2", self, self.graph.lift(x))

    def ratan2(self, y: Any) -> Expr:
        """The angle of the point (this, y), from −π to π"""
        return self.graph.apply("atan2", self.graph.lift(y), self)

    def less(self, other: Any) -> Expr:
        """1 where x < other, else 0; 0 where either is NaN"""
        return self.graph.apply("less", self, self.graph.lift(other))

    def select(self, x: Any, y: Any) -> Expr:
        """x where this is not 0, else y"""
        return self.graph.apply("select", self, self.graph.lift(x), self.graph.lift(y))

    def __repr__(self) -> str:
        op, args = self.graph.nodes[self.line]
        return f"<%{self.line} = {op} {args}>"


def evaluate(graph: Graph, inputs: Sequence[Any], operations: dict[str, Callable[..., Any]] = OPERATIONS) -> list[Any]:
    """The outputs of the tape, evaluated in plain Python on floats or on the type that ``operations`` support."""
    held: list[Any] = [math.nan] * len(graph.nodes)
    given = dict(zip(graph.inputs, inputs, strict=True))
    for line, (op, args) in enumerate(graph.nodes):
        if op == "const":
            held[line] = args[0]
        elif op == "input":
            held[line] = given[line]
        else:
            held[line] = operations[op](*(held[a] for a in args))
    return [held[k] for k in graph.outputs]
