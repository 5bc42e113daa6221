"""Lengths that occur only as a sum or difference with another one get a letter of their own: S 7.3.3's ℓ̄_3' = ℓ_3' − a_1'.

With ℓ = ℓ̄ + a substituted, a polynomial in ℓ − a has fewer terms: (a² − 2aℓ + ℓ²) m is m ℓ̄². The letter is introduced
if this shortens more than one formula and lengthens none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from dalembert.mechanics.symbols.names import Letter
from dalembert.mechanics.symbols.ring import FIELD, WIDTH, Polynomial, Ring

MANY = 2000  # terms above which such lengths are not searched for


@dataclass
class Difference(Letter):
    """A length that is the sum of two others, (factor, letter) each."""

    parts: tuple[tuple[int, Letter], ...] = ()

    @property
    def latex_of_parts(self) -> str:
        """The sum that it stands for."""
        (_, x), (sign, y) = self.parts
        return f"{x.latex} {'+' if sign > 0 else '-'} {y.latex}"


Change = Callable[[Polynomial], Polynomial]


def differences(
    given: Ring, formulas: Sequence[Polynomial], far_ends: Mapping[tuple[int, int], str], *, spelt: bool = False
) -> tuple[Ring, Change]:
    """A ring with letters for the lengths that shorten these formulas, and the function that converts a polynomial.

    far_ends  as in :class:`~dalembert.mechanics.symbols.closed_form.ClosedForm`
    spelt     whether such a letter is written (ℓ_1 − a_1) instead of ℓ̄_1
    """
    ring = given.extended(list(given.letters))
    now = [Polynomial(ring, x.terms) for x in formulas]
    changes: list[Change] = []
    lengths = [k for k, letter in enumerate(ring.letters) if letter.kind == "length"]
    if sum(map(len, now)) <= MANY:
        for k in (k for k in lengths if ring.letters[k].name.startswith("l_")):
            for other, sign in _candidates(now, k, lengths):
                meaning = far_ends.get((ring.letters[k].index, other)) if sign < 0 else None
                difference = ring.letter(_difference(ring, k, other, sign, meaning, spelt))
                # x = x̄ ∓ y, where x̄ = x ± y
                change = partial(Polynomial.put, images={k: difference - sign * ring.known(other)}, ring=ring)
                shorter = list(map(change, now))
                gained = [len(x) - len(y) for x, y in zip(now, shorter, strict=True)]
                if min(gained) >= 0 and sum(map(bool, gained)) > 1:
                    now, changes = shorter, [*changes, change]
                    break
                del ring.letters[-1]

    def changed(x: Polynomial) -> Polynomial:
        return reduce(lambda y, change: change(y), changes, Polynomial(ring, x.terms))

    return ring, changed


def _candidates(formulas: Sequence[Polynomial], k: int, lengths: list[int]) -> list[tuple[int, int]]:
    """Lengths y, with a sign, for which some formula contains a multiple of x ± y: (y's number, sign) for letter x."""
    unit, pairs = 1 << (WIDTH * k), set[tuple[int, int]]()
    for polynomial in formulas:
        for monomial, c in polynomial.terms.items():
            if (monomial >> (WIDTH * k)) & FIELD == 1:
                for other in lengths:
                    d = polynomial.terms.get(monomial - unit + (1 << (WIDTH * other)), 0)
                    if other != k and d in (c, -c):
                        pairs.add((other, 1 if d == c else -1))
    return sorted(pairs)


def _difference(ring: Ring, k: int, other: int, sign: int, far_end: str | None, spelt: bool) -> Difference:
    x, y = ring.letters[k], ring.letters[other]
    value = (x.value or 0.0) + sign * (y.value or 0.0)
    name, latex, text = x.name.replace("l_", "lbar_", 1), rf"\bar{{\ell}}{x.latex[4:]}", f"ℓ\u0304{x.text[1:]}"
    meaning = f"{x.text} {'+' if sign > 0 else '−'} {y.text}"
    if spelt:
        latex, text = f"({x.latex} {'+' if sign > 0 else '-'} {y.latex})", f"({meaning})"
    if far_end is not None:
        meaning += f", distance of the {x.meaning.partition(',')[0]} from the axis of '{far_end}'"
    return Difference(name, latex, text, "length", x.index, value, meaning, parts=((1, x), (sign, y)))
