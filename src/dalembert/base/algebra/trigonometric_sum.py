"""Trigonometric polynomials in their unique form: sums of cosines and sines of w·y, times products of letters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

Letters = tuple[int, ...]  # a product of letters, by their numbers, each repeated according to its exponent
# w of cos w·y and sin w·y: (number of a letter, weight), the first one positive
Weights = tuple[tuple[int, float], ...]
Key = tuple[Letters, Weights]

CANCELLED = 1e-14  # rounding error of terms that cancel, relative to these terms


class TrigonometricSum:
    """Σ Re(z e^{i w·y}) × letters: z = c − i s stands for c cos w·y + s sin w·y.

    ``spend`` is told the number of products of terms before each multiplication.

    >>> c, s = (TrigonometricSum({((), ((1, 1.0),)): z}) for z in (1.0, -1.0j))
    >>> (c * c + s * s).terms, (s * c).terms
    ({((), ()): (1+0j)}, {((), ((1, 2.0),)): -0.5j})
    """

    __slots__ = ("spend", "terms")

    def __init__(self, terms: dict[Key, complex], spend: Callable[[int], None] = lambda products: None) -> None:
        self.terms, self.spend = terms, spend

    def _sum_of(self, contributions: Iterable[tuple[Letters, Weights, complex]]) -> TrigonometricSum:
        """The sum of the contributions, without the rounding errors of those that cancel."""
        total: dict[Key, complex] = {}
        size: dict[Key, float] = {}
        for letters, weights, z in contributions:
            weights, z = upright(weights, z)
            key = (letters, weights)
            total[key] = total.get(key, 0.0) + z
            size[key] = size.get(key, 0.0) + abs(z)
        rounded = {key: _without(z, CANCELLED * size[key]) for key, z in total.items()}
        return TrigonometricSum({key: z for key, z in rounded.items() if z}, self.spend)

    def _parts(self, sign: float = 1.0) -> Iterable[tuple[Letters, Weights, complex]]:
        return ((letters, weights, sign * z) for (letters, weights), z in self.terms.items())

    def __add__(self, other: TrigonometricSum) -> TrigonometricSum:
        return self._sum_of([*self._parts(), *other._parts()])

    def __sub__(self, other: TrigonometricSum) -> TrigonometricSum:
        return self._sum_of([*self._parts(), *other._parts(-1.0)])

    def __neg__(self) -> TrigonometricSum:
        return TrigonometricSum({key: -z for key, z in self.terms.items()}, self.spend)

    def __mul__(self, other: TrigonometricSum) -> TrigonometricSum:
        """cos a cos b = ½ cos(a + b) + ½ cos(a − b), and likewise with sines."""
        self.spend(len(self.terms) * len(other.terms))
        products: list[tuple[Letters, Weights, complex]] = []
        for (letters_a, a), x in self.terms.items():
            for (letters_b, b), y in other.terms.items():
                letters = tuple(sorted(letters_a + letters_b))
                if a and b:
                    products.append((letters, combined(a, b, 1.0), 0.5 * x * y))
                    products.append((letters, combined(a, b, -1.0), 0.5 * x * y.conjugate()))
                else:  # one of the two is a constant
                    products.append((letters, a or b, x * y))
        return self._sum_of(products)

    def turned(self, z: complex) -> TrigonometricSum | None:
        """Re(z e^{i x}) of this sum x, which is linear in the inputs: z = 1 for cos x, −i for sin x; else None."""
        angle, phase = [], 0.0
        for (letters, weights), c in self.terms.items():
            if weights or len(letters) > 1:
                return None
            if letters:
                angle.append((letters[0], c.real))
            else:
                phase = c.real
        turn = complex(math.cos(phase), math.sin(phase))
        return self._sum_of([((), tuple(sorted(angle)), z * turn)])


def upright(weights: Weights, z: complex) -> tuple[Weights, complex]:
    """The same Re(z e^{i w·y}) with a positive first weight; z is real if there is none."""
    if weights and weights[0][1] < 0:
        return tuple((line, -w) for line, w in weights), z.conjugate()
    return weights, z if weights else complex(z.real)


def _without(z: complex, floor: float) -> complex:
    return complex(z.real if abs(z.real) > floor else 0.0, z.imag if abs(z.imag) > floor else 0.0)


def combined(a: Weights, b: Weights, sign: float) -> Weights:
    """a + b, or a − b for sign = −1."""
    total = dict(a)
    for line, w in b:
        had = total.get(line, 0.0)
        total[line] = had + sign * w
        if abs(total[line]) <= CANCELLED * (abs(had) + abs(w)):
            del total[line]
    return tuple(sorted(total.items()))
