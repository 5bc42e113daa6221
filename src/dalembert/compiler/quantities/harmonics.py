"""A graph rewritten as trigonometric polynomials of its inputs: the closed form, as numbers on a tape.

Sums and products of sines and cosines can be written as Σ (c cos w·y + s sin w·y) × (product of inputs) in exactly one
way: c_1 c_12 + s_1 s_12 becomes c_2 when it is multiplied out, terms that cancel on paper cancel here, and the weights
w may be any real numbers. Divisions, roots and choices are copied unchanged, with their operands in closed form.

If the joints of a tree follow linearly, q = T y + b, every quantity of an arm is such a polynomial in the actuated
coordinates (S 7.3.3), which is often cheaper than the equations of the tree with Γ: for the parallelogram arm it has 19
operations instead of 47. Both are traced, and the one that compiles to fewer operations is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dalembert.base.algebra.scalars import flat
from dalembert.base.algebra.trigonometric_sum import Key, Letters, TrigonometricSum, Weights, combined, upright
from dalembert.compiler.graph.count import count
from dalembert.compiler.graph.passes import factored, live_lines, pruned
from dalembert.compiler.graph.tape import ON_SCALARS, Expr, Graph, evaluate
from dalembert.errors import DalembertError

NEGLIGIBLE = 1e-16  # a coefficient relative to the largest one of the same inputs
WORK = 60_000  # total number of products of two terms after which the expansion is abandoned


class ClosedFormTooLarge(DalembertError):
    """The closed form has so many terms that it cannot be the cheaper one."""


def closed_form(arrays: dict[str, Any], values: Callable[[dict[str, Any]], Any]) -> list[Any]:
    """A quantity from trigonometric polynomials, grouped by inputs or by angle, whichever takes fewer operations."""
    graph = Graph()
    graph.output(flat(values({x: [graph.input(f"{x}{k + 1}") for k in range(len(row))] for x, row in arrays.items()})))
    expansion = Expansion(pruned(graph))
    forms = (expansion.written(by_angle) for by_angle in (False, True))
    lightest = min(forms, key=lambda form: count(factored(pruned(form))).total)
    return evaluate(lightest, [x for row in arrays.values() for x in row], ON_SCALARS)


class Expansion:
    """The closed forms of the values of a graph, as far as it consists of sums, products, sines and cosines.

    Raises :class:`ClosedFormTooLarge` if they become too large.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self.live = graph, live_lines(graph)
        self.left = WORK  # products of two terms
        self.sums = {line: self._letter(line) for line in graph.inputs}
        self.angles: list[Weights] = []  # the angles whose sines and cosines occur in the graph
        for line, (op, args) in enumerate(graph.nodes):
            if self.live[line] and op != "input":
                value = self._value(line, op, args)
                if value is not None:
                    self.sums[line] = value

    def spend(self, products: int) -> None:
        """Count products of terms; raise an error when nothing is left."""
        self.left -= products
        if self.left < 0:
            raise ClosedFormTooLarge(
                f"the closed form is too large to be useful: multiplying it out takes more than {WORK} products of terms; "
                "choose another formulation"
            )

    def _letter(self, line: int) -> TrigonometricSum:
        return TrigonometricSum({((line,), ()): 1.0 + 0.0j}, self.spend)

    def _value(self, line: int, op: str, args: tuple[Any, ...]) -> TrigonometricSum | None:
        if op == "const":
            number: dict[Key, complex] = {((), ()): complex(args[0])} if args[0] else {}
            return TrigonometricSum(number, self.spend) if math.isfinite(args[0]) else None
        operands = [self.sums[a] for a in args if a in self.sums]
        if len(operands) < len(args):
            return None
        if op in CHOICES:
            return self._letter(line)
        if op not in EXPANDED:
            return None
        value = EXPANDED[op](*operands)
        if op in ("cos", "sin") and value is not None:
            self.angles += [weights for _, weights in value.terms if weights and weights not in self.angles]
        return value

    def written(self, by_angle: bool) -> Graph:
        """The same values from closed forms, with sines and cosines of no more angles than before.

        Sums are grouped by the inputs outside the brackets, as in (b_11) q̈_1 + (b_12) q̈_2, or by angle.
        """
        graph, new = self.graph, Graph()
        values = {line: new.input(graph.nodes[line][1][0]) for line in graph.inputs}
        copied = [line for line, (op, _) in enumerate(graph.nodes)
                  if self.live[line] and line not in values and (line not in self.sums or op in CHOICES)]  # fmt: skip
        read = {*graph.outputs, *(a for line in copied for a in graph.operands(line))} & self.sums.keys()
        angles = {weights for line in read for _, weights in self.sums[line].terms if weights}
        circles = _Circles(new, values, self.angles if len(angles) > len(self.angles) else sorted(angles))

        def on_tape(line: int) -> Expr:
            if line not in values:
                values[line] = _written(self.sums[line], circles, by_angle)
            return values[line]

        for line in copied:
            op, args = graph.nodes[line]
            values[line] = new.constant(*args) if op == "const" else new.apply(op, *(on_tape(a) for a in args))
        new.outputs = [on_tape(line).line for line in graph.outputs]
        return new


CHOICES = ("sign", "less", "select")  # their results are letters like any input: friction is a sum of them
EXPANDED: dict[str, Callable[..., TrigonometricSum | None]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: -x,
    "cos": lambda x: x.turned(1.0 + 0.0j),
    "sin": lambda x: x.turned(-1.0j),
}


class _Circles:
    """Cosines and sines on the tape: of the angles in the graph, and of others by the addition theorems."""

    def __init__(self, tape: Graph, letters: dict[int, Expr], angles: list[Weights]) -> None:
        self.tape, self.letters = tape, letters
        self.known = {weights: self._circle(weights) for weights in angles}

    def _circle(self, weights: Weights) -> tuple[Expr, Expr]:
        angle = self.tape.constant(0.0)
        for line, w in weights:
            angle = angle + self.letters[line] * w
        return angle.cos(), angle.sin()

    def __call__(self, weights: Weights) -> tuple[Expr, Expr]:
        """(cos, sin) of w·y."""
        key, _ = upright(weights, 0.0j)
        if key not in self.known:
            self.known[key] = self._composed(key) or self._circle(key)
        c, s = self.known[key]
        return c, (s if key == weights else -s)

    def _composed(self, weights: Weights) -> tuple[Expr, Expr] | None:
        """By cos(a + b) and sin(a + b), with a known and b known or a smaller sum; None if there is no such pair."""
        splits = [(a, sign, combined(weights, a, -sign)) for a in self.known for sign in (1.0, -1.0)]
        a, sign, b = min(splits, key=lambda way: (upright(way[2], 0.0j)[0] not in self.known, _size(way[2])))
        if upright(b, 0.0j)[0] not in self.known and _size(b) >= _size(weights):
            return None
        (cos_a, sin_a), (cos_b, sin_b) = self(a), self(b)
        sin_a = sin_a if sign > 0 else -sin_a
        return cos_b * cos_a - sin_b * sin_a, sin_b * cos_a + cos_b * sin_a


def _written(x: TrigonometricSum, circles: _Circles, by_angle: bool) -> Expr:
    """The sum on the tape, grouped by letters or by angle."""
    tape = circles.tape
    groups: dict[Any, dict[Any, float]] = {}
    for (letters, weights), z in sorted(x.terms.items(), key=lambda term: (_size(term[0][1]), term[0])):
        for turn, c in enumerate((z.real, -z.imag)):
            if c:
                keys = (letters, (weights, turn))
                groups.setdefault(keys[by_angle], {})[keys[not by_angle]] = c

    def product(letters: Letters) -> Expr:
        return math.prod((circles.letters[line] for line in letters), start=tape.constant(1.0))

    def turned(angle: tuple[Weights, int]) -> Expr:
        weights, turn = angle
        return circles(weights)[turn] if weights else tape.constant(1.0)

    outer, inner = (turned, product) if by_angle else (product, turned)
    total = tape.constant(0.0)
    for outside, bracket in groups.items():
        largest = max(map(abs, bracket.values()))
        inside = tape.constant(0.0)
        for key, c in bracket.items():
            if abs(c) > NEGLIGIBLE * largest:
                inside = inside + inner(key) * c
        total = total + inside * outer(outside)
    return total


def _size(weights: Weights) -> float:
    return sum(abs(w) for _, w in weights)
