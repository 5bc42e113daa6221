"""The notation of sums: as text and as LaTeX, in lines that fit the page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from fractions import Fraction

from dalembert.mechanics.symbols.grouped_sums import Sum
from dalembert.mechanics.symbols.names import TRIGONOMETRIC, Letter
from dalembert.mechanics.symbols.ring import Coefficient, Ring

WIDE = 100  # columns of text before a sum is broken
LATEX_WIDE = 64  # printed characters of a line of LaTeX, about the width of a page

MOTION = ("velocity", "acceleration", "sign", "function")


class Text:
    """Plain text: 2 a_1 ℓ_2 c_2."""

    minus, plus, fraction = "−", "+", "{}/{}"

    def of(self, text: str, latex: str) -> str:
        """Of two notations, that in this style."""
        return text

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

    def terms(self, ring: Ring, x: Sum) -> list[str]:
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
                places["root" if letter.kind == "root" else place].append(self.name(letter, e))
            for inner in p.sums:
                of_speeds = any(ring.letters[k].kind == "velocity" for k, _ in inner[0].factors)
                places["speeds" if of_speeds else "bracket"].append(f"({self.line(ring, inner)})")
            words = self.coefficient(abs(p.coefficient), places.pop("root"))
            body = " ".join([*words, *(word for place in places.values() for word in place)])
            out.append((f"{self.minus} " if p.coefficient < 0 else "") + (body or "1"))
        return out or ["0"]

    def signed(self, terms: list[str]) -> list[str]:
        """The terms as they follow each other in a sum: '−a', '+ 2 b' …"""
        first, *rest = terms
        start = f"{self.minus} "
        head = self.minus + first.removeprefix(start) if first.startswith(start) else first
        return [head, *(t if t.startswith(start) else f"{self.plus} {t}" for t in rest)]

    def line(self, ring: Ring, x: Sum) -> str:
        """The sum in one line."""
        return " ".join(self.signed(self.terms(ring, x)))


class Latex(Text):
    """LaTeX: 2 a_1 \\ell_2 c_2."""

    minus, fraction = "-", r"\frac{{{}}}{{{}}}"

    def of(self, text: str, latex: str) -> str:
        """Of two notations, that in this style."""
        return latex

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


def assembled(own: str, groups: Sequence[tuple[bool, str, Sequence[str]]], style: Text) -> str:
    """own ± factor (name + name …) …, from (negative, factor, names); the factor 1 is the empty string.

    >>> assembled("Î_1zz", [(False, "", ["Î_2yy"]), (True, "a_1²", ["m_1", "m_2"])], Text())
    'Î_1zz + Î_2yy − a_1² (m_1 + m_2)'
    """
    text = own
    for negative, factor, names in groups:
        inside = f" {style.plus} ".join(names)
        if len(names) > 1 and (factor or negative):
            inside = f"({inside})"
        text += f" {style.minus if negative else style.plus} " + (f"{factor} {inside}" if factor else inside)
    return text


# -- long lines ---------------------------------------------------------------------------------


def broken(start: str, terms: list[str]) -> str:
    """The sum in one line, or one term per line if it is long."""
    first, *rest = Text().signed(terms)
    line = " ".join([start + first, *rest])
    if len(line) <= WIDE:
        return line
    pad = " " * (len(start) - 2)
    return "\n".join(wrapped(line, len(pad) + 4) for line in (start + first, *(pad + term for term in rest)))


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
