"""Polynomials in symbols (letters), sines and cosines: small, exact, fast enough in plain Python.

A monomial is one integer: every letter owns four bits of it, which hold its exponent, so that
multiplying monomials is adding integers. Letters with a rule for their square (s² = 1 − c² for every
sine, 2 for √2) never keep an exponent above one: products are reduced when they are formed, so equal
expressions are equal polynomials and terms that cancel on paper cancel here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any

WIDTH = 4
FIELD = (1 << WIDTH) - 1
SMALLEST = 1 << 16  # denominator: rotations by multiples of 15° and moments of inertia have quarters and halves

Coefficient = Any  # int, Fraction or float
Terms = dict[int, Coefficient]


class Ring:
    """The letters, in the order of their creation.

    >>> ring = Ring()
    >>> c, s = ring.circle("c", "s")
    >>> a = ring.letter("a")
    >>> (a * c) * (a * c) + (a * s) * (a * s) == a * a
    True
    """

    def __init__(self) -> None:
        self.letters: list[Any] = []
        self._squares: dict[int, Terms] = {}  # unit → its square
        self._high = 0  # the bits that mean "squared" for the letters with a rule
        self.signs: dict[int, Polynomial] = {}  # a velocity's number → its sign

    def extended(self, letters: list[Any]) -> Ring:
        """A ring that begins with these letters, which have the rules of the present ones."""
        ring = Ring()
        ring.letters, ring._squares, ring._high = letters, dict(self._squares), self._high
        return ring

    def _unit(self, letter: Any) -> int:
        self.letters.append(letter)
        return 1 << (WIDTH * (len(self.letters) - 1))

    def number(self, x: Coefficient) -> Polynomial:
        """A constant."""
        x = tidy(x)
        return Polynomial(self, {0: x} if x != 0 else {})

    def known(self, k: int) -> Polynomial:
        """The letter with this number."""
        return Polynomial(self, {1 << (WIDTH * k): 1})

    def letter(self, letter: Any) -> Polynomial:
        """A letter without a rule."""
        return Polynomial(self, {self._unit(letter): 1})

    def root(self, letter: Any, square: int) -> Polynomial:
        """A letter whose square is a whole number."""
        unit = self._unit(letter)
        self._rule(unit, {0: square})
        return Polynomial(self, {unit: 1})

    def circle(self, cosine: Any, sine: Any) -> tuple[Polynomial, Polynomial]:
        """Two letters with c² + s² = 1."""
        c, s = self._unit(cosine), self._unit(sine)
        self._rule(s, {0: 1, 2 * c: -1})
        return Polynomial(self, {c: 1}), Polynomial(self, {s: 1})

    def _rule(self, unit: int, square: Terms) -> None:
        self._squares[2 * unit] = square
        self._high |= 2 * unit

    def exponents(self, monomial: int) -> Iterator[tuple[int, int]]:
        """(letter's number, exponent) of the letters in a monomial."""
        while monomial:
            k = ((monomial & -monomial).bit_length() - 1) // WIDTH
            e = (monomial >> (WIDTH * k)) & FIELD
            yield k, e
            monomial -= e << (WIDTH * k)

    def add_reduced(self, out: Terms, monomial: int, coefficient: Coefficient) -> None:
        """out += coefficient · monomial, with every square that has a rule replaced."""
        high = monomial & self._high
        if not high:
            out[monomial] = out.get(monomial, 0) + coefficient
            return
        bit = high & -high
        for m, c in self._squares[bit].items():
            self.add_reduced(out, monomial - bit + m, coefficient * c)


def tidy(x: Coefficient) -> Coefficient:
    """Whole numbers as integers."""
    if type(x) is int:
        return x
    if isinstance(x, float):
        return int(x) if x.is_integer() else x
    return x.numerator if isinstance(x, Fraction) and x.denominator == 1 else x


def exact(x: Coefficient, denominator: int = SMALLEST) -> Coefficient:
    """A float that is a multiple of 1/denominator, a power of ½, as a fraction."""
    return tidy(Fraction(x) if type(x) is float and (denominator * x).is_integer() else x)


def halves(x: Coefficient) -> Coefficient:
    """A fraction for the half of a whole number."""
    return exact(x, 2)


def mapped(table: Any, change: Callable[[Polynomial], Any]) -> Any:
    """Nested lists of polynomials with every polynomial changed."""
    return change(table) if isinstance(table, Polynomial) else [mapped(x, change) for x in table]


def occurring(polynomials: Iterable[Polynomial]) -> set[int]:
    """The numbers of the letters that occur in polynomials of one ring."""
    every = list(polynomials)
    bits = reduce(or_, (m for x in every for m in x.terms), 0)
    return {k for k, _ in every[0].ring.exponents(bits)} if every else set()


def mapped_half(table: Sequence[Sequence[Any]], change: Callable[[Any], Any]) -> list[list[Any]]:
    """A symmetric matrix with every entry changed; each of the upper half is changed once."""
    upper = {(i, j): change(x) for i, row in enumerate(table) for j, x in enumerate(row) if j >= i}
    return [[upper[min(i, j), max(i, j)] for j in range(len(table))] for i in range(len(table))]


class Polynomial:
    """A sum of monomials; a scalar for :mod:`dalembert.base.algebra.vectors`."""

    __slots__ = ("ring", "terms")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ring: Ring, terms: Terms) -> None:
        self.ring, self.terms = ring, terms

    def _plus(self, other: Any, sign: int) -> Polynomial:
        if not isinstance(other, Polynomial):
            if other == 0:
                return self
            other = self.ring.number(other)
        if not other.terms:
            return self
        if not self.terms:
            return other if sign > 0 else -other
        out = dict(self.terms)
        for m, c in other.terms.items():
            total = out.get(m, 0) + sign * c
            if total == 0:
                del out[m]
            else:
                out[m] = total
        return Polynomial(self.ring, out)

    def __add__(self, other: Any) -> Polynomial:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Polynomial:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Polynomial:
        return (-self)._plus(other, 1)

    def __neg__(self) -> Polynomial:
        return Polynomial(self.ring, {m: -c for m, c in self.terms.items()})

    def __mul__(self, other: Any) -> Polynomial:
        if not isinstance(other, Polynomial):
            if isinstance(other, tuple):  # a vector scales itself, entry by entry
                return NotImplemented
            if other == 1:
                return self
            x = tidy(other)
            return Polynomial(self.ring, {m: tidy(c * x) for m, c in self.terms.items()} if x else {})
        few, many = self.terms, other.terms
        if len(few) > len(many):
            few, many = many, few
        out: Terms = {}
        high, reduce = self.ring._high, self.ring.add_reduced
        for m1, c1 in few.items():
            for m2, c2 in many.items():
                m = m1 + m2
                if m & high:
                    reduce(out, m, c1 * c2)
                else:
                    out[m] = out.get(m, 0) + c1 * c2
        return Polynomial(self.ring, {m: c for m, c in out.items() if c != 0})

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Polynomial):
            return self.terms == other.terms
        return isinstance(other, (int, float, Fraction)) and self.terms == self.ring.number(other).terms

    def __len__(self) -> int:
        return len(self.terms)

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __float__(self) -> float:
        """Its value for the numbers of its letters."""
        return float(self.value([getattr(letter, "value", None) for letter in self.ring.letters]))

    def __gt__(self, other: float) -> bool:
        return float(self) > other

    def __abs__(self) -> Polynomial:
        return self if float(self) >= 0 else -self

    def sqrt(self) -> float:
        """√x, as a number."""
        return math.sqrt(float(self))

    def sin(self) -> Polynomial:
        """sin x of a constant; joint angles are known by their cosines and sines."""
        raise TypeError(f"the sine of '{self}' is not a polynomial")

    def sign(self) -> Polynomial:
        """sgn x of a velocity."""
        return self.ring.signs[self.number]

    @property
    def number(self) -> int:
        """Its number in the ring, if it is a letter."""
        ((k, _),) = (pair for monomial in self.terms for pair in self.ring.exponents(monomial))
        return k

    @property
    def letter(self) -> Any:
        """The letter that it is."""
        return self.ring.letters[self.number]

    def derivative(self, of: dict[int, Terms]) -> Polynomial:
        """The derivative, given that of each letter: letter's number → its derivative."""
        ring, out = self.ring, dict[int, Coefficient]()
        for m, c in self.terms.items():
            for k, e in ring.exponents(m):
                if k in of:
                    for dm, dc in of[k].items():
                        ring.add_reduced(out, m - (1 << (WIDTH * k)) + dm, e * c * dc)
        return Polynomial(ring, {m: c for m, c in out.items() if c != 0})

    def put(self, images: Mapping[int, Polynomial], ring: Ring) -> Polynomial:
        """The polynomial in that ring, with polynomials in place of letters, given by their numbers."""
        groups: dict[tuple[tuple[int, int], ...], Terms] = {}
        for monomial, c in self.terms.items():
            replaced = tuple((k, e) for k, e in self.ring.exponents(monomial) if k in images)
            groups.setdefault(replaced, {})[monomial - sum(e << (WIDTH * k) for k, e in replaced)] = c
        out = ring.number(0)
        for replaced, terms in groups.items():
            out = out + math.prod([images[k] for k, e in replaced for _ in range(e)], start=Polynomial(ring, terms))
        return out

    def map(self, change: Callable[[Coefficient], Coefficient]) -> Polynomial:
        """The same monomials with other coefficients; those that become zero are dropped."""
        changed = ((m, tidy(change(c))) for m, c in self.terms.items())
        return Polynomial(self.ring, {m: c for m, c in changed if c != 0})

    def value(self, values: Any, number: Callable[[Coefficient], Any] = float) -> Any:
        """The value, given ``values[k]`` of every letter; arrays give an array. ``number`` converts coefficients."""
        total = number(0)
        for m, c in self.terms.items():
            x = number(c)
            for k, e in self.ring.exponents(m):
                x = x * (values[k] if e == 1 else values[k] ** e)
            total = total + x
        return total

    def __repr__(self) -> str:
        def power(k: int, e: int) -> str:
            return str(self.ring.letters[k]) + (f"**{e}" if e > 1 else "")

        terms = ("*".join([str(c), *(power(k, e) for k, e in self.ring.exponents(m))]) for m, c in self.terms.items())
        return " + ".join(terms) or "0"
