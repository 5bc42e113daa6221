"""Numbers that carry a bound on their rounding error, so that a zero can be distinguished from a small number.

The equations run on them as on floats: every operation adds its own rounding error to the errors of its operands (a
running error analysis). A number larger than its bound is nonzero, however small it is compared with other
coefficients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.base.arrays import Array

UNIT = 2.0**-53  # relative rounding error


class Rounded:
    """An array of values, one per draw, with bounds on their errors.

    >>> x = Rounded([0.1]) + 0.2 - 0.3
    >>> bool(x.value[0] == 0.0), bool(abs(x.value[0]) <= x.error[0])
    (False, True)
    """

    __slots__ = ("error", "value")
    __array_ufunc__ = None  # so that NumPy defers to our operators

    def __init__(self, value: ArrayLike, error: Array | float = 0.0) -> None:
        """``error`` is that of the operands; the rounding error of the value is added here."""
        self.value: Array = np.asarray(value, float)
        self.error: Array = error + UNIT * np.abs(self.value)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Rounded):
            return self if other == 0.0 else Rounded(self.value + other, self.error + UNIT * abs(other))
        return Rounded(self.value + other.value, self.error + other.error)

    __radd__ = __add__

    def __neg__(self) -> Rounded:
        return -1.0 * self

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, tuple):  # a vector is scaled entry by entry
            return NotImplemented
        if not isinstance(other, Rounded):
            error = (self.error + UNIT * np.abs(self.value)) * abs(other)
            return other if other == 0.0 else Rounded(self.value * other, error)
        x, y = self.value, other.value
        return Rounded(x * y, np.abs(x) * other.error + np.abs(y) * self.error)

    __rmul__ = __mul__

    def sin(self) -> Rounded:
        """sin x"""
        return Rounded(np.sin(self.value), self.error)

    def cos(self) -> Rounded:
        """cos x"""
        return Rounded(np.cos(self.value), self.error)


def stacked(nested: Any, count: int) -> tuple[Array, Array]:
    """The values and the errors of nested lists of numbers, each (count, …)."""
    if isinstance(nested, list):
        parts = [stacked(x, count) for x in nested]
        return np.stack([v for v, _ in parts], axis=1), np.stack([e for _, e in parts], axis=1)
    x = nested if isinstance(nested, Rounded) else Rounded(np.full(count, float(nested)))
    return x.value, x.error
