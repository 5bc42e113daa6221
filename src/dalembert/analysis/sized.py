"""Numbers that know how large the terms are that they were made of, so that a zero can be told from a small number.

The equations run on them as on floats. A value is what the equations give; its size is the same expression with every
term counted positively. Rounding moves a value by some 1e-16 of its size, never more than a small multiple of that:
what is larger is not zero, however small it is beside other coefficients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Sized:
    """An array of values, one for every draw, with their sizes.

    >>> x = Sized([0.1]) + 0.2 - 0.3
    >>> bool(x.value[0] == 0.0), bool(abs(x.value[0]) < 1e-15 * x.size[0])
    (False, True)
    """

    __slots__ = ("size", "value")
    __array_ufunc__ = None  # NumPy leaves the operators to us

    def __init__(self, value: ArrayLike, size: ArrayLike | None = None) -> None:
        self.value: Array = np.asarray(value, float)
        self.size: Array = np.abs(self.value) if size is None else np.asarray(size, float)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Sized):
            return self if other == 0.0 else Sized(self.value + other, self.size + abs(other))
        return Sized(self.value + other.value, self.size + other.size)

    __radd__ = __add__

    def __neg__(self) -> Sized:
        return Sized(-self.value, self.size)

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, tuple):  # a vector scales itself, entry by entry
            return NotImplemented
        if not isinstance(other, Sized):
            return other if other == 0.0 else Sized(self.value * other, self.size * abs(other))
        return Sized(self.value * other.value, self.size * other.size)

    __rmul__ = __mul__

    def sin(self) -> Sized:
        """sin x"""
        return Sized(np.sin(self.value), np.ones_like(self.value))

    def cos(self) -> Sized:
        """cos x"""
        return Sized(np.cos(self.value), np.ones_like(self.value))


def stacked(nested: Any, count: int) -> tuple[Array, Array]:
    """The values and the sizes of nested lists of numbers, each (count, …)."""
    if isinstance(nested, list):
        parts = [stacked(x, count) for x in nested]
        return np.stack([v for v, _ in parts], axis=1), np.stack([s for _, s in parts], axis=1)
    x = nested if isinstance(nested, Sized) else Sized(np.full(count, float(nested)))
    return x.value, x.size
