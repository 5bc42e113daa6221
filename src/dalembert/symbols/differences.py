"""Lengths that occur only as a sum or difference with another one get a letter of their own: S 7.3.3's ℓ̄_3' = ℓ_3' − a_1'.

With ℓ = ℓ̄ + a put in, a polynomial in ℓ − a has fewer terms: (a² − 2aℓ + ℓ²) m is m ℓ̄². The letter is taken where that
is so in more than one formula and no formula gets longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dalembert.symbols.closed_form import ClosedForm
from dalembert.symbols.names import Letter
from dalembert.symbols.ring import WIDTH, Polynomial, Ring

MANY = 2000  # terms above which nobody looks for such lengths


@dataclass
class Difference(Letter):
    """A length that is the sum of two others, (factor, letter) each."""

    parts: tuple[tuple[int, Letter], ...] = ()

    @property
    def latex_of_parts(self) -> str:
        """What it stands for."""
        (_, x), (sign, y) = self.parts
        return f"{x.latex} {'+' if sign > 0 else '-'} {y.latex}"


def with_differences(form: ClosedForm) -> ClosedForm:
    """The same formulas, for reading, in a ring that has letters for such lengths."""
    if sum(map(len, form.polynomials())) > MANY:
        return form
    ring = Ring()
    ring.letters, ring._squares, ring._high = list(form.ring.letters), form.ring._squares, form.ring._high
    form = form.map(lambda x: Polynomial(ring, x.terms), ring)
    lengths = [k for k, letter in enumerate(ring.letters) if letter.kind == "length"]
    for k in (k for k in lengths if ring.letters[k].name.startswith("l_")):
        for other, sign in list(_candidates(form, k, lengths)):
            shorter = _substituted(form, k, other, sign)
            gained = [len(x) - len(y) for x, y in zip(form.polynomials(), shorter.polynomials(), strict=True)]
            if min(gained) >= 0 and sum(map(bool, gained)) > 1:
                form = shorter
                break
            del ring.letters[-1]
    return form


def _candidates(form: ClosedForm, k: int, lengths: list[int]) -> Iterator[tuple[int, int]]:
    """The lengths y, with a sign, of which some formula has x ± y times the same: (y's number, sign) for letter x."""
    unit, seen = 1 << (WIDTH * k), set[tuple[int, int]]()
    for polynomial in form.polynomials():
        for monomial, c in polynomial.terms.items():
            if (monomial >> (WIDTH * k)) & 15 == 1:
                for other in lengths:
                    d = polynomial.terms.get(monomial - unit + (1 << (WIDTH * other)), 0)
                    if other != k and d in (c, -c):
                        seen.add((other, 1 if d == c else -1))
    yield from sorted(seen)


def _substituted(form: ClosedForm, k: int, other: int, sign: int) -> ClosedForm:
    """The formulas with x = x̄ − sign · y for letter k, x̄ being a new letter of the ring."""
    ring = form.ring
    x, y = ring.letters[k], ring.letters[other]
    value = (x.value or 0.0) + sign * (y.value or 0.0)
    head, _, below = x.latex.partition("_")
    base, _, index = x.text.partition("_")
    meaning = f"{x.text} {'+' if sign > 0 else '−'} {y.text}"
    if sign < 0 and (x.index, other) in form.far_ends:
        owner = x.meaning.partition(",")[0]
        meaning += f", distance of the {owner} from the axis of '{form.far_ends[x.index, other]}'"
    difference = Difference(
        x.name.replace("l_", "lbar_", 1), rf"\bar{{{head}}}_{below}", f"{base}\u0304_{index}", "length", x.index, value,
        meaning, parts=((1, x), (sign, y)),
    )  # fmt: skip
    image = ring.letter(difference) - sign * ring.known(other)

    def changed(p: Polynomial) -> Polynomial:
        powers: dict[int, dict[int, object]] = {}
        for monomial, c in p.terms.items():
            e = (monomial >> (WIDTH * k)) & 15
            powers.setdefault(e, {})[monomial - (e << (WIDTH * k))] = c
        if not powers.keys() - {0}:
            return p
        out = ring.number(0)
        for e, terms in powers.items():
            term = Polynomial(ring, terms)
            for _ in range(e):
                term = term * image
            out = out + term
        return out

    return form.map(changed, ring)
