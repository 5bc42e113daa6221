"""A tape as readable assignments: operations that are used once are nested in those that use them.

A target defines a :class:`Notation`: how numbers, elements of arrays and functions are written. The sums and products
are those of the tape, operand for operand, so that every target rounds like the tape.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field

from dalembert.compiler.emit.source import Unit
from dalembert.compiler.graph.passes import live_lines, use_counts

LONGEST = 56  # characters of a nested expression
INFIX = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2)}
UNARY, ATOM = 3, 4  # precedence of expressions: sums 1, products 2, conditionals 0
LOCAL = re.compile(r"[cst]\d+|[cs]_\w+_\d+")  # names of local variables


def array_names(unit: Unit, reserved: Container[str]) -> dict[str, str]:
    """The names of arrays; those that are reserved or look like local variables end with _."""
    arrays = [name for name, _ in (*unit.signature.inputs, *unit.signature.outputs)]
    return {name: f"{name}_" if name in reserved or LOCAL.fullmatch(name) else name for name in arrays}


@dataclass(frozen=True)
class Notation:
    """The notation of a language for everything except + − * /.

    number     a non-negative constant
    element    an element of an input array
    calls      operation → function call, which needs no brackets; also for infix operations that require one
    less       1 if {0} < {1}, otherwise 0
    select     {1} if the condition {0} holds, otherwise {2}
    """

    number: Callable[[float], str]
    element: Callable[[str, int], str]
    calls: Mapping[str, str]
    less: str
    select: str


@dataclass
class Statement:
    """``name = text``, or ``targets[0] = targets[1] = … = text``; ``reads`` are the lines whose names it contains."""

    line: int
    name: str
    text: str
    targets: list[int] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)


@dataclass
class _Text:
    text: str
    bound: int
    reads: set[int]

    def inside(self, needed: int) -> str:
        return self.text if self.bound >= needed else f"({self.text})"


class Statements:
    """The statements of a unit: first the sines and cosines of inputs, then all others in tape order."""

    def __init__(self, unit: Unit, notation: Notation) -> None:
        self.unit, self.graph, self.notation = unit, unit.graph, notation
        self.inputs = unit.input_elements()
        self.texts: dict[int, _Text] = {}
        self.count = 0
        self.angles: list[Statement] = []
        self.rest: list[Statement] = []
        self._write()

    def _write(self) -> None:
        graph, live, uses = self.graph, live_lines(self.graph), use_counts(self.graph)
        targets: dict[int, list[int]] = {}
        for position, line in enumerate(graph.outputs):
            targets.setdefault(line, []).append(position)
        for line, (op, args) in enumerate(graph.nodes):
            if not live[line]:
                continue
            if op == "const":
                self.texts[line] = self._constant(args[0])
            elif op == "input":
                self.texts[line] = _Text(self.notation.element(*self.inputs[line]), ATOM, set())
            elif op in ("sin", "cos") and args[0] in self.inputs:
                array, element = self.inputs[args[0]]
                name = f"{op[0]}{'' if array == 'q' else f'_{array}_'}{element + 1}"
                statement = Statement(line, name, self._expression(op, args).text)
                self.angles.append(statement)
                self.texts[line] = _Text(statement.name, ATOM, {line})
            else:
                expression = self._expression(op, args)
                outputs = targets.get(line, [])
                if uses[line] > len(outputs) and not (uses[line] == 1 and len(expression.text) <= LONGEST):
                    self._name(line, op, args, expression)
                else:
                    self.texts[line] = expression
            if line in targets:
                value = self.texts[line]
                self.rest.append(Statement(line, "", value.text, targets[line], value.reads))

    def _name(self, line: int, op: str, args: tuple[int, ...], expression: _Text) -> None:
        if op == "neg" and self.texts[args[0]].bound == ATOM and self.texts[args[0]].reads == {args[0]}:
            self.texts[line] = expression  # -t5 needs no name
            return
        self.count += 1
        name = f"t{self.count}"
        self.rest.append(Statement(line, name, expression.text, [], expression.reads))
        self.texts[line] = _Text(name, ATOM, {line})

    def _constant(self, value: float) -> _Text:
        if math.copysign(1.0, value) < 0 and not math.isnan(value):
            return _Text(f"-{self.notation.number(-value)}", UNARY, set())
        return _Text(self.notation.number(value), ATOM, set())

    def _expression(self, op: str, args: tuple[int, ...]) -> _Text:
        parts = [self.texts[k] for k in args]
        reads = set().union(*(part.reads for part in parts))
        if op == "neg":
            return _Text(f"-{parts[0].inside(ATOM)}", UNARY, reads)
        if op in INFIX and not (op in self.notation.calls and self.graph.op(args[1]) != "const"):
            sign, bound = INFIX[op]
            first, second = parts
            if op in ("add", "mul") and second.bound == bound != first.bound:
                first, second = second, first  # a + (b + c) is b + c + a
            if op in ("add", "sub") and second.bound == UNARY:
                sign, second = {"+": "-", "-": "+"}[sign], _Text(second.text[1:], ATOM, second.reads)
            elif op == "add" and first.bound == UNARY:
                first, second, sign = second, _Text(first.text[1:], ATOM, first.reads), "-"
            text = f"{first.inside(bound)} {sign} {second.inside(bound + 1)}"
            return _Text(text, bound, reads)
        if op == "less":
            return _Text(self.notation.less.format(*(part.inside(1) for part in parts)), 0, reads)
        if op == "select":
            condition = self._condition(args[0], parts[0])
            return _Text(self.notation.select.format(condition, *(part.inside(1) for part in parts[1:])), 0, reads)
        return _Text(self.notation.calls[op].format(*(part.text for part in parts)), ATOM, reads)

    def _condition(self, line: int, part: _Text) -> str:
        """The condition of a conditional: x < y if it is a comparison, otherwise whether it is non-zero."""
        op, args = self.graph.nodes[line]
        if op == "less" and part.bound == 0:
            return " < ".join(self.texts[k].inside(1) for k in args)
        return f"{part.inside(1)} != {self.notation.number(0.0)}"
