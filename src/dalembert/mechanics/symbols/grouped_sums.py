"""Sums grouped as in S.

A polynomial becomes a tree of sums and products: b_11 is grouped by masses and inertias, as in
m_ℓ2 (a_1² + ℓ_2² + 2 a_1 ℓ_2 c_2); g_1 by the angle, as in (m_ℓ1 ℓ_1 + m_ℓ2 a_1) g c_1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalembert.mechanics.symbols.names import INERTIAL, TRIGONOMETRIC, Letter
from dalembert.mechanics.symbols.ring import WIDTH, Coefficient, Polynomial, Ring, tidy

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
    shared = common_factors(map(x.ring.exponents, x.terms))
    return sum(e << (WIDTH * k) for k, e in shared.items() if x.ring.letters[k].kind in TRIGONOMETRIC)


def common_factors(products: Iterable[Iterable[tuple[int, int]]]) -> dict[int, int]:
    """The letters that occur in all products, by their numbers, with their smallest exponents."""
    powers = [dict(factors) for factors in products]
    return {k: min(p[k] for p in powers) for k in powers[0] if all(k in p for p in powers)}


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
