"""Sums grouped as in S, and their notation: as text, as LaTeX, as SymPy.

A polynomial becomes a tree of sums and products: b_11 is grouped by masses and inertias, as in
m_ℓ2 (a_1² + ℓ_2² + 2 a_1 ℓ_2 c_2); g_1 by the angle, as in (m_ℓ1 ℓ_1 + m_ℓ2 a_1) g c_1.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dalembert.mechanics.symbols.names import INERTIAL, TRIGONOMETRIC, Letter
from dalembert.mechanics.symbols.ring import WIDTH, Coefficient, Polynomial, Ring, tidy

WIDE = 100  # columns of text before a sum is broken
LATEX_WIDE = 64  # printed characters of a line of LaTeX, about the width of a page

MOTION = ("velocity", "acceleration", "sign", "function")
Factors = tuple[tuple[int, int], ...]  # (letter's number in the ring, exponent)


@dataclass(frozen=True)
class Product:
    """coefficient · letters · (sum) · (sum) …"""

    coefficient: Coefficient
    factors: Factors
    sums: tuple[tuple[Product, ...], ...] = ()


Sum = tuple[Product, ...]


def _key(ring: Ring, factors: Factors) -> Any:
    letters = [(ring.letters[k], e) for k, e in factors]
    turning = sum(e for letter, e in letters if letter.kind in TRIGONOMETRIC)
    return turning, [(letter.order, -e) for letter, e in sorted(letters, key=lambda pair: pair[0].order)]


def _outer_key(ring: Ring, factors: Factors) -> Any:
    """Groups in the order of S: by link, and within a link I_ℓ, m_ℓ, its motor's k_r I_m, m_m."""
    letters = sorted((ring.letters[k] for k, _ in factors), key=lambda letter: letter.order)
    of_motor = any(letter.kind == "gear" or letter.name.startswith(("I_m", "m_m")) for letter in letters)
    return (
        max((letter.index for letter in letters), default=0),
        of_motor,
        [letter.order for letter in letters],
        [e for _, e in factors],
    )


def grouped(x: Polynomial, outside: Callable[[Letter], bool], *, by_angle: bool = False) -> Sum:
    """The polynomial as a sum over the letters outside the brackets."""
    ring = x.ring
    groups: dict[Factors, list[Product]] = {}
    for monomial, c in x.terms.items():
        split: tuple[list[Any], list[Any]] = ([], [])
        for k, e in ring.exponents(monomial):
            split[outside(ring.letters[k])].append((k, e))
        groups.setdefault(tuple(split[1]), []).append(Product(c, tuple(split[0])))
    out: list[Product] = []
    order = _key if by_angle else _outer_key
    for outer in sorted(groups, key=lambda factors: order(ring, factors)):
        inner = sorted(groups[outer], key=lambda p: (_outer_key if by_angle else _key)(ring, p.factors))
        if len(inner) == 1:
            out.append(replace(inner[0], factors=outer + inner[0].factors))
        elif not outer:
            out += inner
        else:
            sign = _leading_sign(inner)
            out.append(Product(sign, outer, (tuple(replace(p, coefficient=sign * p.coefficient) for p in inner),)))
    return tuple(out)


def _leading_sign(terms: Sequence[Product]) -> int:
    """−1 if a bracket reads better with its signs changed: the first is negative, and so are at least half of them."""
    negative = [p.coefficient < 0 for p in terms]
    return -1 if negative[0] and 2 * sum(negative) >= len(negative) else 1


def by_inertia(x: Polynomial) -> Sum:
    """Grouped by mass and inertia, as S writes b_ij; an angle common to all terms follows the bracket."""
    common = _common_angles(x) if len(x) > 1 else 0
    rest = Polynomial(x.ring, {monomial - common: c for monomial, c in x.terms.items()})
    return times(_by_inertia(rest), tuple(x.ring.exponents(common)))


def _by_inertia(x: Polynomial) -> Sum:
    return grouped(x, lambda letter: letter.kind in INERTIAL)


def _common_angles(x: Polynomial) -> int:
    """The cosines and sines common to all terms, as a monomial."""
    powers = [dict(x.ring.exponents(monomial)) for monomial in x.terms]
    shared = set.intersection(*(set(p) for p in powers))
    angles = (k for k in shared if x.ring.letters[k].kind in TRIGONOMETRIC)
    return sum(min(p[k] for p in powers) << (WIDTH * k) for k in angles)


def by_angle(x: Polynomial) -> Sum:
    """Grouped by gravity and angle, as S writes g_i."""
    return grouped(x, lambda letter: letter.kind == "gravity" or letter.kind in TRIGONOMETRIC, by_angle=True)


def shortest(x: Polynomial) -> Sum:
    """Grouped by inertia or by angle, whichever gives fewer groups: Christoffel symbols."""
    angles = by_angle(x)
    return by_inertia(x) if len(_by_inertia(x)) <= len(angles) else angles


def times(x: Sum, factors: Factors, more: Iterable[Sum] = (), coefficient: Coefficient = 1) -> Sum:
    """The sum times letters and further sums, as a sum of one product."""
    sums = tuple(more)
    if not x:
        return ()
    if len(x) == 1:
        (product,) = x
        return (Product(tidy(coefficient * product.coefficient), product.factors + factors, product.sums + sums),)
    if not factors and not sums and coefficient == 1:
        return x
    sign = _leading_sign(x)
    if sign < 0:
        x = tuple(replace(p, coefficient=-p.coefficient) for p in x)
    return (Product(sign * coefficient, factors, (x, *sums)),)


# -- strings -------------------------------------------------------------------------------------


class Text:
    """Plain text: 2 a_1 ℓ_2 c_2."""

    minus, plus, fraction = "−", "+", "{}/{}"

    def name(self, letter: Letter, e: int) -> str:
        """A letter to a power."""
        return letter.text + (str(e).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")) if e > 1 else "")

    def coefficient(self, c: Coefficient, roots: list[str]) -> list[str]:
        """A positive number with its roots."""
        if isinstance(c, float):
            return [self.decimal(*f"{c:.6g}".partition("e")), *roots]
        top, bottom = Fraction(c).numerator, Fraction(c).denominator
        head = " ".join(roots if top == 1 and roots else [str(top), *roots])
        return [self.fraction.format(head, bottom)] if bottom > 1 else [head] if head != "1" else []

    def decimal(self, digits: str, e: str, power: str) -> str:
        """A number with a decimal point, from its digits and its power of ten."""
        return digits + e + power


class Latex(Text):
    """LaTeX: 2 a_1 \\ell_2 c_2."""

    minus, fraction = "-", r"\frac{{{}}}{{{}}}"

    def name(self, letter: Letter, e: int) -> str:
        """A letter to a power; sin²(…) has the exponent in the middle."""
        if e == 1:
            return letter.latex
        if letter.latex.startswith(("\\cos", "\\sin", "\\operatorname")):
            head, middle, rest = letter.latex.partition("(" if "(" in letter.latex else "\\alpha")
            return f"{head}^{{{e}}}{middle}{rest}"
        return f"{letter.latex}^{{{e}}}"

    def decimal(self, digits: str, e: str, power: str) -> str:
        """1.2 \\cdot 10^{-5}"""
        return digits + (rf" \cdot 10^{{{int(power)}}}" if power else "")


def written(ring: Ring, x: Sum, style: Text) -> list[str]:
    """The terms of a sum, each with its sign: '2 a', '− b' …"""
    out = []
    for p in x:
        letters = [(ring.letters[k], e) for k, e in sorted(p.factors, key=lambda pair: ring.letters[pair[0]].order)]
        # S writes (…) g c_1 and (…) ϑ̈_1 but m_ℓ2 (…) and s_2 (ϑ̇_1 + ϑ̇_2): angles follow a bracket of masses or lengths
        angles_last = all(letter.kind in (*TRIGONOMETRIC, *MOTION, "root", "gravity") for letter, _ in letters)
        places: dict[str, list[str]] = {x: [] for x in ("root", "before", "bracket", "after", "speeds", "motion")}
        for letter, e in letters:
            turning = letter.kind in TRIGONOMETRIC
            place = "motion" if letter.kind in MOTION else "after" if turning or angles_last else "before"
            places["root" if letter.kind == "root" else place].append(style.name(letter, e))
        for inner in p.sums:
            of_speeds = any(ring.letters[k].kind == "velocity" for k, _ in inner[0].factors)
            places["speeds" if of_speeds else "bracket"].append(f"({joined(written(ring, inner, style), style)})")
        words = style.coefficient(abs(p.coefficient), places.pop("root"))
        body = " ".join([*words, *(word for place in places.values() for word in place)])
        out.append((f"{style.minus} " if p.coefficient < 0 else "") + (body or "1"))
    return out or ["0"]


def joined(terms: list[str], style: Text) -> str:
    """The terms in one line."""
    first, *rest = terms
    start = f"{style.minus} "
    line = style.minus + first[len(start) :] if first.startswith(start) else first
    return line + "".join(f" {t}" if t.startswith(start) else f" {style.plus} {t}" for t in rest)


# -- long lines ---------------------------------------------------------------------------------


def broken(start: str, terms: list[str]) -> str:
    """The sum in one line, or one term per line if it is long."""
    line = start + joined(terms, Text())
    if len(line) <= WIDE:
        return line
    pad = " " * (len(start) - 2)
    first, *rest = terms
    head = start + ("−" + first[2:] if first.startswith("− ") else first)
    lines = [head, *(f"{pad}{t}" if t.startswith("− ") else f"{pad}+ {t}" for t in rest)]
    return "\n".join(wrapped(line, len(pad) + 4) for line in lines)


def wrapped(line: str, pad: int) -> str:
    """A long line broken before + and −, if possible not inside inner brackets."""
    return "\n".join(_filled(line, [""], " " * pad, WIDE, len))


def _filled(
    line: str, rows: list[str], pad: str, width: int, length: Callable[[str], int], depth: int = 0
) -> list[str]:
    """The pieces of a line appended to the rows, with a new row (indented by ``pad``) when one is full."""
    for piece in _pieces(line, depth):
        if depth < 4 and length(piece) > width - len(pad):
            _filled(piece, rows, pad, width, length, depth + 1)
        elif not rows[-1]:
            rows[-1] = piece
        elif length(rows[-1]) + 1 + length(piece) <= width:
            rows[-1] += f" {piece}"
        else:
            rows.append(pad + piece)
    return rows


def _pieces(line: str, depth: int) -> list[str]:
    """The line split before each sign that is nested in at most this many brackets."""
    cuts, inside = [0], 0
    for k, character in enumerate(line):
        inside += (character == "(") - (character == ")")
        if character == " " and inside <= depth and line[k + 1 : k + 3] in ("+ ", "− ", "- ") and line[:k].strip():
            cuts.append(k)
    return [line[a:b] if a == 0 else line[a + 1 : b] for a, b in zip(cuts, [*cuts[1:], len(line)], strict=True)]


def aligned(name: str, parts: list[str]) -> list[str]:
    """Rows of an align environment, broken before + and − where they would exceed the page width."""
    rows: list[str] = []
    for part in parts:
        start = "" if not rows else "- " if part.startswith("-") else "+ "
        rows += _filled(start + part.removeprefix("-" if rows else ""), [""], "", LATEX_WIDE, seen_length)
    return [f"{name} &= {rows[0]}", *(rf"&\quad {row}" for row in rows[1:])]


def seen_length(latex: str) -> int:
    """The approximate number of printed characters in a line."""
    return len(re.sub(r"[{}_^ ]", "", re.sub(r"\\[a-zA-Z]+", "x", latex)))


def text_width(text: str) -> int:
    """The number of columns of a text; combining marks take none."""
    return sum(not unicodedata.combining(character) for character in text)


def padded(text: str, width: int) -> str:
    """The text padded with spaces to this many columns."""
    return text + " " * (width - text_width(text))
