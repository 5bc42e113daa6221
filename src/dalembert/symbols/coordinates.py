"""Closed forms in other generalized coordinates: q = T y + shift, with T constant (S Problem 7.6).

B_y = Tᵀ B T, C_y = Tᵀ C T, g_y = Tᵀ g: with q̇ = T ẏ the kinetic energy and the virtual work keep
their values. An angle k·q becomes (Tᵀk)·y, so the letters c_12, s_12 only change their names.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from copy import copy
from typing import Any

from dalembert.symbols.closed_form import ClosedForm
from dalembert.symbols.model import SAME, motion_letters
from dalembert.symbols.names import Letter, circle_letters, joint_variable, sign_of
from dalembert.symbols.ring import WIDTH, Polynomial, Ring, tidy

Rows = Sequence[Sequence[float]]


def transformed(form: ClosedForm, T: Rows, shift: Sequence[float]) -> ClosedForm:
    """The closed form in the coordinates y."""
    n = form.n
    T = [[tidy(float(x)) for x in row] for row in T]
    turns = [one.name.startswith("theta") for one in form.q]
    # y_j is an angle if it moves any turning joint
    new_turns = [any(T[i][j] and turns[i] for i in range(n)) for j in range(n)]
    ring = Ring()
    ring._squares, ring._high = form.ring._squares, form.ring._high
    ring.letters = [copy(one) for one in form.ring.letters]
    y = [joint_variable(j + 1, new_turns[j]) for j in range(n)]
    yd, ydd, _ = motion_letters(ring, new_turns)
    put = _Substitution(ring, form, T, shift, y, yd, new_turns)

    def combined(weights: Sequence[float], parts: Sequence[Polynomial]) -> Polynomial:
        total = ring.number(0)
        for w, part in zip(weights, parts, strict=True):
            total = total + part * w if w else total
        return total

    N = range(n)
    columns = [[T[i][a] for i in N] for a in N]
    B = [[put(x) for x in row] for row in form.B]
    BT = [[combined(columns[b], B[i]) for b in N] for i in N]
    B_y = [[combined(columns[a], [BT[i][b] for i in N]) for b in N] for a in N]
    c = [[[put(x) for x in row] for row in matrix] for matrix in form.christoffel]
    c_y: list[Any] = [[[None] * n for _ in N] for _ in N]
    for b, d in itertools.combinations_with_replacement(N, 2):
        inner = [combined(columns[b], [combined(columns[d], c[i][j]) for j in N]) for i in N]
        for a in N:
            c_y[a][b][d] = c_y[a][d][b] = combined(columns[a], inner)
    g, friction = [put(x) for x in form.g], [put(x) for x in form.friction]
    return ClosedForm(
        ring, y, yd, ydd, B_y, c_y, [combined(w, g) for w in columns], [combined(w, friction) for w in columns]
    )  # fmt: skip


class _Substitution:
    """Puts q = T y + shift into polynomials: letters are renamed, slides become sums."""

    def __init__(
        self,
        ring: Ring,
        form: ClosedForm,
        T: Rows,
        shift: Sequence[float],
        y: list[Letter],
        yd: list[Polynomial],
        turns: list[bool],
    ) -> None:
        self.ring = ring
        n = form.n
        self.renamed: dict[int, tuple[int, int]] = {}  # letter → (letter, sign)
        self.replaced: dict[int, Polynomial] = {}
        moving: dict[int, Polynomial] = {}
        rates: dict[tuple[float, ...], Polynomial] = {}
        for k, one in enumerate(form.ring.letters):
            if one.kind == "cosine":  # its sine is the next letter
                self._circle(k, one, T, shift, turns)
            elif one.kind == "slide":
                total = ring.number(shift[one.index - 1])
                for j in range(n):
                    if (w := T[one.index - 1][j]) != 0:
                        if j not in moving:
                            moving[j] = ring.letter(copy(y[j]))
                        total = total + moving[j] * w
                self.replaced[k] = total
            elif one.kind == "velocity":
                total = ring.number(0)
                for j in range(n):
                    total = total + yd[j] * T[one.index - 1][j]
                self.replaced[k] = total
            elif one.kind == "sign":
                row = tuple(T[one.index - 1])
                if row not in rates:
                    speeds = [(joint_variable(j + 1, turns[j], 1), w) for j, w in enumerate(row) if w]
                    rates[row] = ring.letter(sign_of(speeds))
                self.replaced[k] = rates[row]

    def _circle(self, k: int, one: Letter, T: Rows, shift: Sequence[float], turns: list[bool]) -> None:
        factors = {j: tidy(float(sum(f * T[i - 1][j - 1] for i, f in one.angle))) for j in range(1, len(T) + 1)}
        key = [(j, f) for j, f in factors.items() if f]
        weight = sum(f for _, f in key) or key[-1][1]
        sign = 1 if weight > 0 else -1
        phase = sign * (one.phase + sum(f * shift[i - 1] for i, f in one.angle))
        quarter = round(phase / (math.pi / 2))
        quarter, phase = (quarter % 4, 0.0) if abs(phase - quarter * math.pi / 2) < SAME else (0, phase)
        self.ring.letters[k], self.ring.letters[k + 1] = circle_letters([(j, sign * f) for j, f in key], turns, phase)
        # cos and sin of (angle + quarter turns), and the sine changes its sign with the angle
        c, s = ((k, 1), (k + 1, 1)), ((k + 1, 1), (k, -1))
        to = [(c[0], c[1]), ((k + 1, -1), (k, 1)), ((k, -1), (k + 1, -1)), (s[0], s[1])][quarter]
        self.renamed[k] = to[0]
        self.renamed[k + 1] = (to[1][0], to[1][1] * sign)

    def __call__(self, x: Polynomial) -> Polynomial:
        out = self.ring.number(0)
        for monomial, c in x.terms.items():
            plain, more = 0, []
            for k, e in self.ring.exponents(monomial):
                if k in self.replaced:
                    more += [self.replaced[k]] * e
                else:
                    to, sign = self.renamed.get(k, (k, 1))
                    plain += e << (WIDTH * to)
                    c = c * sign**e
            term = Polynomial(self.ring, {plain: c})
            for factor in more:
                term = term * factor
            out = out + term
        return out
