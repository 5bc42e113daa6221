"""Closed forms of closed chains whose closure is linear: q = T q_a + b, as of S 7.3.3's parallelogram.

The tree's closed form is found first. Then B_a = Tᵀ B T, g_a = Tᵀ g, and Christoffel's symbols with T on
all three sides; an angle k·q of the tree becomes (Tᵀk)·q_a + k·b, so that sums of angles that the loop
holds constant disappear. Joints that are numbered 1', 2', 1'' … by their names keep these numbers; the
sides of a parallelogram that are equal have one letter, that of an actuated joint.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from copy import copy
from typing import Any

from dalembert.coordinates.closure import CoupledMechanism, Linear
from dalembert.robot.model import Robot
from dalembert.symbols.closed_form import ClosedForm, Progress, closed_form
from dalembert.symbols.model import SAME, model
from dalembert.symbols.names import Letter, circle_letters, joint_variable, sign_of
from dalembert.symbols.present import Equations
from dalembert.symbols.ring import WIDTH, Polynomial, Ring, tidy

Rows = Sequence[Sequence[float]]


def closed_equations(
    robot: Robot, closed: CoupledMechanism, parameters: str = "nonzero", progress: Progress | None = None
) -> Equations:
    """The equations of motion on the actuated joints."""
    tree = closed_form(model(robot, parameters), progress)
    return Equations(robot.name, _Actuated(robot, closed, tree).form())


def affine(closed: CoupledMechanism) -> tuple[list[list[float]], list[float]]:
    """T and b of q = T q_a + b."""
    N, n = closed.tree.n, closed.n
    T, b = [[0.0] * n for _ in range(N)], [0.0] * N
    for k, i in enumerate(closed.actuated):
        T[i][k] = 1.0
    for closure in closed.closures:
        assert isinstance(closure, Linear)
        for i, row, c in zip(closure.passive, closure.A, closure.b, strict=True):
            T[i] = [sum(a * T[j][k] for a, j in zip(row, closure.known, strict=True)) for k in range(n)]
            b[i] = c + sum(a * b[j] for a, j in zip(row, closure.known, strict=True))
    return T, b


def labels_of(robot: Robot) -> dict[str, str]:
    """Number of a joint in the tree → how it is written: 1'' for a joint called joint1''."""
    names = [joint.name for joint in robot.tree_joints]
    found = [re.search(r"(\d+'*)$", name) for name in names]
    written = [match[1] if match else "" for match in found]
    if not all(written) or len(set(written)) < len(written):
        written = [str(k) for k in range(1, len(names) + 1)]
    return {str(k): label for k, label in enumerate(written, 1)}


def relabelled(one: Letter, labels: dict[str, str]) -> Letter:
    """The letter with other numbers for the joints."""

    def plain(text: str) -> str:
        return re.sub(r"\d+", lambda found: labels.get(found[0], found[0]), text)

    def braced(text: str) -> str:
        def whole(found: re.Match[str]) -> str:
            label = labels.get(found[1], found[1])
            return f"_{label}" if len(label) == 1 else f"_{{{label}}}"

        # first the numbers that are a subscript by themselves, then those within one
        parts = re.split(r"(_\d+(?!\d)|_\{\d+\})", text)
        done = [
            whole(match) if (match := re.fullmatch(r"_\{?(\d+)\}?", part)) is not None else plain(part)
            for part in parts
        ]
        return "".join(done)

    new = copy(one)
    if one.kind != "root":
        new.name, new.text, new.latex = plain(one.name), plain(one.text), braced(one.latex)
        new.meaning = re.sub(
            r"\b(row|joint|rotor|motor|link) (\d+)\b", lambda m: f"{m[1]} {labels.get(m[2], m[2])}", one.meaning
        )
    return new


class _Actuated:
    """Puts q = T q_a + b into the polynomials of the tree."""

    def __init__(self, robot: Robot, closed: CoupledMechanism, tree: ClosedForm) -> None:
        self.tree, self.closed = tree, closed
        self.T, self.b = affine(closed)
        self.labels = labels_of(robot)
        self.turns = [body.revolute for body in closed.tree.bodies]
        self.ring = ring = Ring()
        ring._squares, ring._high = dict(tree.ring._squares), tree.ring._high
        ring.letters = [relabelled(one, self.labels) for one in tree.ring.letters]
        self.circles: dict[Any, tuple[Polynomial, Polynomial]] = {}
        self.signs: dict[Any, Polynomial] = {}
        self.slides: dict[int, Polynomial] = {}
        self.q = [self._variable(k, 0) for k in range(closed.n)]
        self.qd = [ring.letter(self._variable(k, 1)) for k in range(closed.n)]
        self.qdd = [ring.letter(self._variable(k, 2)) for k in range(closed.n)]
        self.images: dict[int, Polynomial] = {}
        for k, one in enumerate(tree.ring.letters):
            self._image(k, one)
        for k in self.images:  # the tree's own letters occur no more
            ring.letters[k] = Letter(f"gone_{k}", "", "", "length", 0, 0.0)

    def _variable(self, k: int, dots: int) -> Letter:
        i = self.closed.actuated[k]
        one = relabelled(joint_variable(i + 1, self.turns[i], dots), self.labels)
        one.index = k + 1
        return one

    def _image(self, k: int, one: Letter) -> None:
        zero = self.ring.number(0)
        if one.kind == "cosine":  # its sine is the next letter
            self.images[k], self.images[k + 1] = self._circle(one)
        elif one.kind == "acceleration":
            self.images[k] = zero  # B, C, g and friction have none
        elif one.kind == "velocity":
            self.images[k] = sum((v * w for v, w in zip(self.qd, self.T[one.index - 1], strict=True)), zero)
        elif one.kind == "sign":
            row = tuple(self.T[one.index - 1])
            if row not in self.signs:
                self.signs[row] = self.ring.letter(self._sign(row))
            self.images[k] = self.signs[row]
        elif one.kind == "slide":
            total = self.ring.number(self.b[one.index - 1])
            for j, w in enumerate(self.T[one.index - 1]):
                if w and j not in self.slides:
                    self.slides[j] = self.ring.letter(copy(self.q[j]))
                total = total + self.slides[j] * w if w else total
            self.images[k] = total
        elif one.kind == "length" and re.fullmatch(r"a_\d+", one.name):
            twin = self._twin(one)
            if twin is not None:
                self.images[k] = Polynomial(self.ring, {1 << (WIDTH * twin): 1})

    def _sign(self, row: Sequence[float]) -> Letter:
        parts = [(joint_variable(self.closed.actuated[j] + 1, self.turns[self.closed.actuated[j]], 1), w)
                 for j, w in enumerate(row) if w]  # fmt: skip
        made = relabelled(sign_of(parts), self.labels)
        made.angle = tuple((j + 1, w) for j, w in enumerate(row) if w)
        made.index = made.angle[0][0]
        return made

    def _twin(self, one: Letter) -> int | None:
        """The letter of the equal side of the parallelogram, where that belongs to an actuated joint."""
        if one.index - 1 in self.closed.actuated:
            return None
        for loop, passive in zip(self.closed.loops, self.closed.passive, strict=True):
            if one.index - 1 not in passive:
                continue
            for k, other in enumerate(self.tree.ring.letters):
                is_length = other.kind == "length" and re.fullmatch(r"a_\d+", other.name) is not None
                actuated = other.index - 1 in self.closed.actuated and other.index - 1 in loop.ends.joints
                apart = abs((other.value or 0.0) - (one.value or 0.0))
                if is_length and actuated and apart < 1e-12 * abs(one.value or 0.0):
                    return k
        return None

    def _circle(self, one: Letter) -> tuple[Polynomial, Polynomial]:
        """cos and sin of an angle of the tree, in those of the actuated joints."""
        n = self.closed.n
        weights = [tidy(float(sum(f * self.T[i - 1][j] for i, f in one.angle))) for j in range(n)]
        phase = one.phase + sum(f * self.b[i - 1] for i, f in one.angle)
        key = [(j, w) for j, w in enumerate(weights) if w]
        quarter = round(phase / (math.pi / 2))
        turned, rest = (quarter % 4, 0.0) if abs(phase - quarter * math.pi / 2) < SAME else (0, phase)
        if not key:
            c, s = self.ring.number(math.cos(rest) if rest else 1), self.ring.number(math.sin(rest) if rest else 0)
        else:
            weight = sum(w for _, w in key) or key[-1][1]
            sign = 1 if weight > 0 else -1
            name = (tuple((j, sign * w) for j, w in key), round(sign * rest, 12))
            if name not in self.circles:
                in_tree = [(self.closed.actuated[j] + 1, w) for j, w in name[0]]
                pair = [relabelled(x, self.labels) for x in circle_letters(in_tree, self.turns, sign * rest)]
                for x in pair:
                    x.angle, x.index = tuple((j + 1, w) for j, w in name[0]), name[0][0][0] + 1
                self.circles[name] = self.ring.circle(*pair)
            c, s = self.circles[name]
            s = s if sign > 0 else -s
        return ((c, s), (-s, c), (-c, -s), (s, -c))[turned]

    def put(self, x: Polynomial) -> Polynomial:
        """A polynomial of the tree's letters in those of the actuated joints."""
        out = self.ring.number(0)
        for monomial, c in x.terms.items():
            plain, factors = 0, []
            for k, e in self.ring.exponents(monomial):
                if k in self.images:
                    factors += [self.images[k]] * e
                else:
                    plain += e << (WIDTH * k)
            term = Polynomial(self.ring, {plain: c})
            for factor in factors:
                term = term * factor
            out = out + term
        return out

    def form(self) -> ClosedForm:
        """B_a, its Christoffel symbols, g_a and friction."""
        N, n = range(self.closed.tree.n), self.closed.n
        columns = [[self.T[i][a] for i in N] for a in range(n)]
        zero = self.ring.number(0)

        def combined(weights: Sequence[float], parts: Sequence[Polynomial]) -> Polynomial:
            return sum((part * w for w, part in zip(weights, parts, strict=True) if w), zero)

        B = [[self.put(x) for x in row] for row in self.tree.B]
        BT = [[combined(columns[b], B[i]) for b in range(n)] for i in N]
        B_a = [[combined(columns[a], [BT[i][b] for i in N]) for b in range(n)] for a in range(n)]
        c = [[[self.put(x) for x in row] for row in matrix] for matrix in self.tree.christoffel]
        c_a: list[Any] = [[[None] * n for _ in range(n)] for _ in range(n)]
        for b, d in itertools.combinations_with_replacement(range(n), 2):
            inner = [combined(columns[b], [combined(columns[d], c[i][j]) for j in N]) for i in N]
            for a in range(n):
                c_a[a][b][d] = c_a[a][d][b] = combined(columns[a], inner)
        g, friction = ([self.put(x) for x in values] for values in (self.tree.g, self.tree.friction))
        return ClosedForm(
            self.ring, self.q, self.qd, self.qdd, B_a, c_a,
            [combined(w, g) for w in columns], [combined(w, friction) for w in columns],
        )  # fmt: skip
