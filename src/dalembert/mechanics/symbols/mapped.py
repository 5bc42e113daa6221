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

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from dalembert.base.algebra.scalars import dot
from dalembert.mechanics.coordinates.chain import Chain, on_tree
from dalembert.mechanics.coordinates.closure import CoupledMechanism, Linear
from dalembert.mechanics.symbols.closed_form import Circles, ClosedForm, without_noise
from dalembert.mechanics.symbols.laws import Function, moved
from dalembert.mechanics.symbols.names import Letter, joint_variable, sign_of
from dalembert.mechanics.symbols.ring import Polynomial, tidy
from dalembert.mechanics.symbols.symbolic_mechanism import SAME
from dalembert.robot.model.joint_couplings import joints_follow
from dalembert.robot.model.robot import Robot


def in_linear_coordinates(tree: ClosedForm, robot: Robot, closed: CoupledMechanism) -> ClosedForm:
    """The closed form of the tree in the actuated coordinates."""
    same = _equal_sides(tree, closed)
    form = _Substitution(tree, closed, _letters(tree, robot, closed), same).form()
    return replace(form, far_ends=_far_ends(tree, closed, same))


def _letters(tree: ClosedForm, robot: Robot, closed: CoupledMechanism) -> Iterator[list[Letter]]:
    """The letters of y, ẏ and ÿ: those of the actuated joints, or, in other coordinates, numbered from 1."""
    for dots, of_tree in enumerate((tree.q, [x.letter for x in tree.qd], [x.letter for x in tree.qdd])):
        if robot.in_coordinates:
            yield [joint_variable(k, body.revolute, dots) for k, body in enumerate(closed.bodies, 1)]
        else:
            yield [replace(of_tree[i], index=k) for k, i in enumerate(closed.actuated, 1)]


def affine(closed: CoupledMechanism) -> tuple[list[list[float]], list[float]]:
    """T and b of q = T q_a + b."""
    rest = [0.0] * closed.n
    b = on_tree(closed, rest)
    for closure in closed.closures:
        assert isinstance(closure, Linear)
        for i, x in zip(closure.passive, closure.values([b[j] for j in closure.known]), strict=True):
            b[i] = x
    return [list(row) for row in zip(*Chain(closed, rest).Gamma, strict=True)], b


def labels_of(robot: Robot) -> list[str]:
    """The numbers of the joints of the tree, as they are written: 1'' for a joint called joint1''."""
    names = [joint.name for joint in robot.tree_joints]
    endings = [re.search(r"(\d+'*)$", name) for name in names]
    written = [match[1] if match else "" for match in endings]
    tied = joints_follow(robot) and not robot.in_coordinates
    if not tied or not all(written) or len(set(written)) < len(written):
        return [str(k) for k in range(1, len(names) + 1)]
    return written


def _far_ends(tree: ClosedForm, closed: CoupledMechanism, same: Mapping[int, int]) -> dict[tuple[int, int], str]:
    """(link, letter of its length) → the loop that is closed at the link's far end, if its frame is there."""
    out = {}
    for ends in (loop.ends for loop in closed.loops):
        for body, place in ((ends.body_a, ends.place_a), (ends.body_b, ends.place_b)):
            own = (k for k, x in enumerate(tree.ring.letters) if x.name.startswith("a_") and x.index == body + 1)
            k = next(own, None)
            if k is not None and place.translation.norm < SAME:
                out[body + 1, same.get(k, k)] = ends.name
    return out


def _equal_sides(tree: ClosedForm, closed: CoupledMechanism) -> dict[int, int]:
    """The letters of sides of a parallelogram → the letter of the equal side that belongs to an actuated joint."""
    lengths = {k: (x.index - 1, x.value or 0.0) for k, x in enumerate(tree.ring.letters)
               if x.kind == "length" and re.fullmatch(r"a_\d+'*", x.name)}  # fmt: skip
    out: dict[int, int] = {}
    for loop, passive in zip(closed.loops, closed.passive, strict=True):
        given = [k for k, (i, _) in lengths.items() if i in closed.actuated and i in loop.ends.joints]
        for k, (i, length) in lengths.items():
            equal = [g for g in given if abs(lengths[g][1] - length) < 1e-12 * abs(length)]
            if i in passive and equal:
                out.setdefault(k, equal[0])
    return out


class _Substitution:
    """Substitutes q = T y + b into the polynomials of the tree; ``same`` maps letters to those that replace them."""

    def __init__(
        self, tree: ClosedForm, closed: CoupledMechanism, y: Iterable[list[Letter]], same: Mapping[int, int]
    ) -> None:
        T, self.b = affine(closed)
        self.T = [[tidy(x) for x in row] for row in T]
        self.tree, self.n, self.actuated = tree, closed.n, closed.actuated
        self.ring = ring = tree.ring.extended(list(tree.ring.letters))
        self.signs: dict[Any, Polynomial] = {}
        self.slides: dict[int, Polynomial] = {}
        self.q, *rates = y
        self.circles = Circles(ring, self.q)
        self.qd, self.qdd = ([ring.letter(x) for x in letters] for letters in rates)
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
            self.images[k] = zero + dot(row, self.qd)
        elif letter.kind == "sign":
            speeds = [(x.letter, w) for x, w in zip(self.qd, row, strict=True) if w]
            if row not in self.signs:
                self.signs[row] = self.ring.letter(sign_of(speeds)) if speeds else zero
            self.images[k] = self.signs[row]
        elif letter.kind == "slide":
            for j, w in enumerate(row):
                if w and j not in self.slides:
                    self.slides[j] = self.ring.letter(copy(self.q[j]))
            moving = [self.slides.get(j, zero) for j in range(self.n)]
            self.images[k] = self.ring.number(self.b[letter.index - 1]) + dot(row, moving)
        elif isinstance(letter, Function):
            self.images[k] = moved(self.ring, letter, [self._used(letter.index - 1, x) for x in letter.uses])

    def _used(self, i: int, letter: Letter) -> list[tuple[float, Letter | None]]:
        """A letter of a function at joint i of the tree as a sum: (factor, letter) …, and a number with None."""
        if letter.name == self.tree.q[i].name:
            return [(self.b[i], None), *zip(self.T[i], self.q, strict=True)]
        if letter.kind == "velocity":
            return list(zip(self.T[i], (v.letter for v in self.qd), strict=True))
        return [(1, replace(letter, index=self.actuated.index(i) + 1) if letter.kind == "load" else letter)]

    def _circle(self, cosine: Letter) -> tuple[Polynomial, Polynomial]:
        """cos and sin of an angle of the tree, in terms of those of y."""
        weights = [tidy(float(sum(f * self.T[i - 1][j] for i, f in cosine.angle))) for j in range(self.n)]
        phase = cosine.phase + sum(f * self.b[i - 1] for i, f in cosine.angle)
        key = [(j, w) for j, w in enumerate(weights, 1) if w]
        quarter = round(phase / (math.pi / 2))
        turned, rest = (quarter % 4, 0.0) if abs(phase - quarter * math.pi / 2) < SAME else (0, phase)
        if not key:
            c, s = self.ring.number(math.cos(rest) if rest else 1), self.ring.number(math.sin(rest) if rest else 0)
        else:
            c, s = self.circles.of(key, rest)
        return ((c, s), (-s, c), (-c, -s), (s, -c))[turned]

    def __call__(self, x: Polynomial) -> Polynomial:
        """A polynomial in the tree's letters, converted to those of y."""
        return x.put(self.images, self.ring)

    def form(self) -> ClosedForm:
        """B_y, its Christoffel symbols, g_y and friction."""
        tree, zero, span = self.tree.map(self, self.ring), self.ring.number(0), range(self.n)
        columns = list(zip(*self.T, strict=True))

        def pulled(parts: Sequence[Polynomial]) -> list[Polynomial]:
            return [zero + dot(column, parts) for column in columns]

        def both(A: Sequence[Sequence[Polynomial]]) -> list[list[Polynomial]]:
            """Tᵀ A T"""
            return list(map(pulled, zip(*map(pulled, A), strict=True)))

        inner = list(map(both, tree.christoffel))
        sides = [[pulled([A[max(b, d)][min(b, d)] for A in inner]) for d in span] for b in span]
        c = [[[x[a] for x in row] for row in sides] for a in span]
        others = [zero if i in self.actuated else x for i, x in enumerate(tree.friction)]
        ((B,), c, ((g,),)) = map(without_noise, ([both(tree.B)], c, [[pulled(tree.g)]]))
        pi = [(name, self(x)) for name, x in tree.pi]
        return replace(
            tree, q=self.q, qd=self.qd, qdd=self.qdd, B=B, christoffel=c, g=g, friction=pulled(tree.friction),
            carried=pulled(others), pi=pi, tree=None,
        )  # fmt: skip
