"""Polynomials and sums as SymPy expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.mechanics.symbols.differences import Difference
from dalembert.mechanics.symbols.grouped_sums import Product, Sum
from dalembert.mechanics.symbols.laws import Function
from dalembert.mechanics.symbols.names import TRIGONOMETRIC, Letter
from dalembert.mechanics.symbols.ring import Polynomial, Ring
from dalembert.mechanics.symbols.sympy_package import sympy


def letters_of(ring: Ring, qd: Sequence[Polynomial]) -> list[Any]:
    """The SymPy object of every letter of the ring; signs are those of the velocities ``qd``."""
    velocities = [x.letter for x in qd]

    def symbol(letter: Letter) -> Any:
        if letter.kind == "sign":
            return sympy.sign(_sum_of(letter, velocities))
        if isinstance(letter, Function):
            return letter.expression
        if isinstance(letter, Difference):
            return sympy.Add(*(factor * sympy.Symbol(part.name) for factor, part in letter.parts))
        return sympy.sqrt(letter.index) if letter.kind == "root" else sympy.Symbol(letter.name)

    return [symbol(letter) for letter in ring.letters]


def _sum_of(letter: Letter, variables: Sequence[Letter]) -> Any:
    """The sum of variables that a letter is a function of."""
    return sum(sympy.nsimplify(f) * sympy.Symbol(variables[j - 1].name) for j, f in letter.angle)


def angles_of(letters: Sequence[Letter], q: Sequence[Letter]) -> dict[sympy.Symbol, sympy.Expr]:
    """The expressions of those letters that are cosines and sines."""
    out = {}
    for letter in letters:
        if letter.kind in TRIGONOMETRIC:
            angle = _sum_of(letter, q) + (sympy.Float(letter.phase) if letter.phase else 0)
            out[sympy.Symbol(letter.name)] = (sympy.cos if letter.kind == "cosine" else sympy.sin)(angle)
    return out


def matrix_of(rows: list[list[Sum]], letters: list[Any]) -> sympy.ImmutableMatrix:
    """The matrix of these sums."""
    entries = {id(x): x for row in rows for x in row}  # B has most of them twice
    converted = {k: to_sympy(x, letters) for k, x in entries.items()}
    return sympy.ImmutableMatrix([[converted[id(x)] for x in row] for row in rows])


def to_sympy(x: Sum, letters: list[Any]) -> Any:
    """The sum as a SymPy expression; ``letters[k]`` is the object for letter k."""

    def product(p: Product) -> Any:
        c = p.coefficient
        number = sympy.Float(c) if isinstance(c, float) else sympy.Rational(c.numerator, c.denominator)
        powers = (letters[k] ** e if e > 1 else letters[k] for k, e in p.factors)
        return sympy.Mul(number, *powers, *(to_sympy(inner, letters) for inner in p.sums))

    return sympy.Add(*map(product, x))
