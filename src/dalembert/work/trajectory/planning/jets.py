"""Exact first and second derivatives of functions of time: x + x′ ε + x″ ε²/2, propagated through NumPy functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dalembert.base.arrays import Array

Parts = tuple[Array, Array, Array]


class Jet(NDArrayOperatorsMixin):
    """Values at many times with two derivatives; the tables below define the supported NumPy functions."""

    def __init__(self, value: Any, first: Any = 0.0, second: Any = 0.0) -> None:
        parts = np.broadcast_arrays(*(np.asarray(part, float) for part in (value, first, second)))
        self.parts: Parts = tuple(parts)  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        jets = [x if isinstance(x, Jet) else Jet(x) for x in inputs]
        if method != "__call__" or options:
            return NotImplemented
        if ufunc in COMPARED:
            return ufunc(*(jet.parts[0] for jet in jets))
        if ufunc in OF_ONE:
            return jets[0].through(*OF_ONE[ufunc](jets[0].parts[0]))
        return OF_TWO[ufunc](*jets) if ufunc in OF_TWO else NotImplemented

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        if function is not np.where or len(inputs) != 3 or isinstance(inputs[0], Jet):
            return NotImplemented
        return _select(inputs[0], *(x if isinstance(x, Jet) else Jet(x) for x in inputs[1:]))

    def through(self, f: Array, slope: Array, bend: Array) -> Jet:
        """f of this jet, from the value and the first and second derivatives of f."""
        _, first, second = self.parts
        return Jet(f, slope * first, bend * first * first + slope * second)


def _select(condition: Any, x: Jet, y: Jet) -> Jet:
    return Jet(*(np.where(condition, a, b) for a, b in zip(x.parts, y.parts, strict=True)))


def _product(x: Jet, y: Jet) -> Jet:
    (a, a1, a2), (b, b1, b2) = x.parts, y.parts
    return Jet(a * b, a1 * b + a * b1, a2 * b + 2.0 * a1 * b1 + a * b2)


def _power(x: Jet, y: Jet) -> Jet:
    exponent, *changes = y.parts
    if any(change.any() for change in changes) or exponent.size == 0 or np.ptp(exponent):
        return np.exp(y * np.log(x))
    p, base = float(exponent.flat[0]), x.parts[0]
    slope = p * base ** (p - 1.0) if p else np.zeros_like(base)
    bend = p * (p - 1.0) * base ** (p - 2.0) if p * (p - 1.0) else np.zeros_like(base)
    return x.through(base**p, slope, bend)


# f, f′ and f″ of one argument
OF_ONE: dict[Any, Callable[[Array], tuple[Array, ...]]] = {
    np.sin: lambda x: (np.sin(x), np.cos(x), -np.sin(x)),
    np.cos: lambda x: (np.cos(x), -np.sin(x), -np.cos(x)),
    np.exp: lambda x: (np.exp(x),) * 3,
    np.log: lambda x: (np.log(x), 1.0 / x, -1.0 / x**2),
    np.sqrt: lambda x: (np.sqrt(x), 0.5 * x**-0.5, -0.25 * x**-1.5),
    np.square: lambda x: (x * x, 2.0 * x, np.full_like(x, 2.0)),
    np.sinh: lambda x: (np.sinh(x), np.cosh(x), np.sinh(x)),
    np.cosh: lambda x: (np.cosh(x), np.sinh(x), np.cosh(x)),
    np.tanh: lambda x: (f := np.tanh(x), slope := 1.0 - f * f, -2.0 * f * slope),
    np.arctan: lambda x: (np.arctan(x), slope := 1.0 / (1.0 + x * x), -2.0 * x * slope * slope),
    np.reciprocal: lambda x: (1.0 / x, -1.0 / x**2, 2.0 / x**3),
    np.negative: lambda x: (-x, np.full_like(x, -1.0), np.zeros_like(x)),
    np.positive: lambda x: (x, np.ones_like(x), np.zeros_like(x)),
}
OF_TWO: dict[Any, Callable[[Jet, Jet], Jet]] = {
    np.add: lambda x, y: Jet(*(a + b for a, b in zip(x.parts, y.parts, strict=True))),
    np.subtract: lambda x, y: Jet(*(a - b for a, b in zip(x.parts, y.parts, strict=True))),
    np.multiply: _product,
    np.divide: lambda x, y: _product(x, np.reciprocal(y)),
    np.power: _power,
    np.minimum: lambda x, y: _select(x <= y, x, y),
    np.maximum: lambda x, y: _select(x >= y, x, y),
}
COMPARED = (np.less, np.less_equal, np.greater, np.greater_equal)
