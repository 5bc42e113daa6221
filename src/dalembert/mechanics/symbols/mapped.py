"""Closed forms in coordinates in which those of the tree are linear: q = T y + b, with T of N rows and n columns.

With q̇ = T ẏ the kinetic energy and the virtual work keep their values: B_y = Tᵀ B T, g_y = Tᵀ g, and the Christoffel
symbols are multiplied by T on all three sides. An angle k·q becomes (Tᵀk)·y + k·b: sums that a loop keeps constant
disappear, and a joint that follows with an arbitrary factor has a cosine and a sine of its own. T is square for a
change of coordinates (S Problem 7.6); for coupled joints and the parallelogram of S 7.3.3 it has one column per
actuated joint.

Springs and similar terms of a passive joint use its angle T y + b directly; kernels know it by its sine and cosine and
use the value between −π and π, where both agree.

Joints whose names end in 1', 2', 1'' … keep these numbers; equal sides of a parallelogram share one letter, that of an
actuated joint.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from dalembert.mechanics.coordinates.closure import CoupledMechanism, Linear
from dalembert.mechanics.symbols.closed_form import ClosedForm, without_noise
from dalembert.mechanics.symbols.laws import Function, moved
from dalembert.mechanics.symbols.names import Letter, circle_letters, joint_variable, relabelled, sign_of, upright
from dalembert.mechanics.symbols.ring import Polynomial, mapped, tidy
from dalembert.mechanics.symbols.symbolic_mechanism import SAME
from dalembert.robot.model.robot import Robot

Rows = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Held:
    """The coordinates y, and how they are written.

    numbers  the number of every coordinate, from 1
    turns    whether it is an angle
    joints   the joint of the tree that it moves, from 0
    labels   the notation of a number that is written differently: 1'' for a joint called joint1''
    """

    numbers: Sequence[int]
    turns: Sequence[bool]
    joints: Sequence[int]
    labels: Mapping[str, str] = field(default_factory=dict)

    def variable(self, k: int, dots: int) -> Letter:
        """y_k or a time derivative of it."""
        variable = relabelled(joint_variable(self.numbers[k], self.turns[k], dots), self.labels)
        variable.index = k + 1
        return variable

    def circle(self, weights: Sequence[tuple[int, float]], phase: float) -> list[Letter]:
        """cos and sin of Σ w y_k + phase."""
        revolute = dict(zip(self.numbers, self.turns, strict=True))
        pair = circle_letters([(self.numbers[k], w) for k, w in weights], revolute, phase, self.labels)
        return [self._of(turned, weights) for turned in pair]

    def sign(self, weights: Sequence[tuple[int, float]]) -> Letter:
        """sgn(Σ w ẏ_k)"""
        speeds = [(joint_variable(self.numbers[k], self.turns[k], 1), w) for k, w in weights]
        return self._of(relabelled(sign_of(speeds), self.labels), weights)

    def _of(self, letter: Letter, weights: Sequence[tuple[int, float]]) -> Letter:
        letter.angle, letter.index = tuple((k + 1, w) for k, w in weights), weights[0][0] + 1
        return letter


def in_linear_coordinates(tree: ClosedForm, robot: Robot, closed: CoupledMechanism) -> ClosedForm:
    """The closed form of the tree in the actuated coordinates."""
    numbers, labels = [i + 1 for i in closed.actuated], _labels(robot)
    if robot.in_coordinates:  # y is numbered from 1, like the joints that follow
        numbers, labels = list(range(1, closed.n + 1)), {}
    held = Held(numbers, [body.revolute for body in closed.bodies], closed.actuated, labels)
    same = _equal_sides(tree, closed)
    form = Substitution(tree, *affine(closed), held, same).form()
    return replace(form, far_ends=_far_ends(tree, closed, same))


def labelled(tree: ClosedForm, robot: Robot, closed: CoupledMechanism) -> Substitution:
    """The substitution of the tree's own coordinates, numbered by the names of its joints, into polynomials of the tree."""
    n, turns = range(tree.n), [body.revolute for body in closed.tree.bodies]
    identity = [[float(i == j) for j in n] for i in n]
    labels = {} if robot.in_coordinates else _labels(robot)
    return Substitution(tree, identity, [0.0] * tree.n, Held([i + 1 for i in n], turns, n, labels), {})


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


def _labels(robot: Robot) -> dict[str, str]:
    """The number of a joint in the tree → how it is written: 1'' for a joint called joint1''."""
    names = [joint.name for joint in robot.tree_joints]
    endings = [re.search(r"(\d+'*)$", name) for name in names]
    written = [match[1] if match else "" for match in endings]
    if not all(written) or len(set(written)) < len(written):
        written = [str(k) for k in range(1, len(names) + 1)]
    return {str(k): label for k, label in enumerate(written, 1)}


def _far_ends(tree: ClosedForm, closed: CoupledMechanism, same: Mapping[int, int]) -> dict[tuple[int, int], str]:
    """(link, letter of its length) → the loop that is closed at the link's far end, if its frame is there."""
    out = {}
    for ends in (loop.ends for loop in closed.loops):
        for body, place in ((ends.body_a, ends.place_a), (ends.body_b, ends.place_b)):
            k = next((k for k, x in enumerate(tree.ring.letters) if x.name == f"a_{body + 1}"), None)
            if k is not None and place.translation.norm < SAME:
                out[body + 1, same.get(k, k)] = ends.name
    return out


def _equal_sides(tree: ClosedForm, closed: CoupledMechanism) -> dict[int, int]:
    """The letters of sides of a parallelogram → the letter of the equal side that belongs to an actuated joint."""
    lengths = {k: (x.index - 1, x.value or 0.0) for k, x in enumerate(tree.ring.letters)
               if x.kind == "length" and re.fullmatch(r"a_\d+", x.name)}  # fmt: skip
    out: dict[int, int] = {}
    for loop, passive in zip(closed.loops, closed.passive, strict=True):
        given = [k for k, (i, _) in lengths.items() if i in closed.actuated and i in loop.ends.joints]
        for k, (i, length) in lengths.items():
            equal = [g for g in given if abs(lengths[g][1] - length) < 1e-12 * abs(length)]
            if i in passive and equal:
                out.setdefault(k, equal[0])
    return out


class Substitution:
    """Substitutes q = T y + b into the polynomials of the tree; ``same`` maps letters to those that replace them."""

    def __init__(self, tree: ClosedForm, T: Rows, b: Sequence[float], held: Held, same: Mapping[int, int]) -> None:
        self.tree, self.b, self.held = tree, b, held
        self.T = [[tidy(float(x)) for x in row] for row in T]
        self.n = len(held.numbers)
        self.ring = ring = tree.ring.extended([relabelled(letter, held.labels) for letter in tree.ring.letters])
        self.circles: dict[Any, tuple[Polynomial, Polynomial]] = {}
        self.signs: dict[Any, Polynomial] = {}
        self.slides: dict[int, Polynomial] = {}
        self.q = [held.variable(k, 0) for k in range(self.n)]
        self.qd, self.qdd = ([ring.letter(held.variable(k, dots)) for k in range(self.n)] for dots in (1, 2))
        self.images = {k: ring.known(other) for k, other in same.items()}
        for k, letter in enumerate(tree.ring.letters):
            self._image(k, letter)
        for k in self.images:  # the tree's own letters no longer occur
            ring.letters[k] = Letter(f"gone_{k}", "", "", "length", 0, 0.0)

    def _image(self, k: int, letter: Letter) -> None:
        """Find the replacement of a letter of the tree that depends on the motion."""
        zero = self.ring.number(0)
        row = tuple(self.T[letter.index - 1]) if letter.kind in ("velocity", "sign", "slide") else ()
        if letter.kind == "cosine":  # its sine is the next letter
            self.images[k], self.images[k + 1] = self._circle(letter)
        elif letter.kind == "acceleration":
            self.images[k] = zero  # B, C, g and friction do not contain it
        elif letter.kind == "velocity":
            self.images[k] = _combined(row, self.qd, zero)
        elif letter.kind == "sign":
            weights = [(j, w) for j, w in enumerate(row) if w]
            if row not in self.signs:
                self.signs[row] = self.ring.letter(self.held.sign(weights)) if weights else zero
            self.images[k] = self.signs[row]
        elif letter.kind == "slide":
            for j, w in enumerate(row):
                if w and j not in self.slides:
                    self.slides[j] = self.ring.letter(copy(self.q[j]))
            moving = [self.slides.get(j, zero) for j in range(self.n)]
            self.images[k] = _combined(row, moving, self.ring.number(self.b[letter.index - 1]))
        elif isinstance(letter, Function):
            self.images[k] = moved(self.ring, letter, [self._used(letter.index - 1, x) for x in letter.uses])

    def _used(self, i: int, letter: Letter) -> list[tuple[float, Letter | None]]:
        """A letter of a function at joint i of the tree as a sum: (factor, letter) …, and a number with None."""
        if letter.name == self.tree.q[i].name:
            return [(self.b[i], None), *zip(self.T[i], self.q, strict=True)]
        if letter.kind == "velocity":
            return list(zip(self.T[i], (v.letter for v in self.qd), strict=True))
        written = relabelled(letter, self.held.labels)
        if letter.kind == "load":
            written.index = self.held.joints.index(i) + 1
        return [(1, written)]

    def _circle(self, cosine: Letter) -> tuple[Polynomial, Polynomial]:
        """cos and sin of an angle of the tree, in terms of those of y."""
        weights = [tidy(float(sum(f * self.T[i - 1][j] for i, f in cosine.angle))) for j in range(self.n)]
        phase = cosine.phase + sum(f * self.b[i - 1] for i, f in cosine.angle)
        key = [(j, w) for j, w in enumerate(weights) if w]
        quarter = round(phase / (math.pi / 2))
        turned, rest = (quarter % 4, 0.0) if abs(phase - quarter * math.pi / 2) < SAME else (0, phase)
        if not key:
            c, s = self.ring.number(math.cos(rest) if rest else 1), self.ring.number(math.sin(rest) if rest else 0)
        else:
            angle, sign = upright(key)
            name = (angle, round(sign * rest, 12))
            if name not in self.circles:
                self.circles[name] = self.ring.circle(*self.held.circle(angle, sign * rest))
            c, s = self.circles[name]
            s = s if sign > 0 else -s
        return ((c, s), (-s, c), (-c, -s), (s, -c))[turned]

    def __call__(self, x: Polynomial) -> Polynomial:
        """A polynomial in the tree's letters, converted to those of y."""
        return x.put(self.images, self.ring)

    def form(self) -> ClosedForm:
        """B_y, its Christoffel symbols, g_y and friction."""
        tree, zero, span = self.tree, self.ring.number(0), range(self.n)
        columns = [[row[a] for row in self.T] for a in span]

        def pulled(parts: Sequence[Polynomial]) -> list[Polynomial]:
            return [_combined(column, parts, zero) for column in columns]

        BT = [pulled(mapped(row, self)) for row in tree.B]
        B = [pulled([row[b] for row in BT]) for b in span]
        c_tree = mapped(tree.christoffel, self)
        c: list[Any] = [[[None] * self.n for _ in span] for _ in span]
        for b, d in itertools.combinations_with_replacement(span, 2):
            inner = [
                _combined(columns[b], [_combined(columns[d], row, zero) for row in matrix], zero) for matrix in c_tree
            ]
            for a, x in enumerate(pulled(inner)):
                c[a][b][d] = c[a][d][b] = x
        others = [zero if i in self.held.joints else x for i, x in enumerate(tree.friction)]
        g, friction, carried = (pulled(mapped(values, self)) for values in (tree.g, tree.friction, others))
        ((B,), c, ((g,),)) = map(without_noise, ([B], c, [[g]]))
        pi = [(relabelled(name, self.held.labels), self(x)) for name, x in tree.pi]
        return ClosedForm(self.ring, self.q, self.qd, self.qdd, B, c, g, friction, carried, self(tree.U), pi)


def _combined(weights: Sequence[float], parts: Sequence[Polynomial], start: Polynomial) -> Polynomial:
    return sum((part * w for w, part in zip(weights, parts, strict=True) if w), start)
