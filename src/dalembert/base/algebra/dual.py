"""A scalar with its derivative along one direction: laws that are written once are differentiated by evaluating them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.base.algebra import scalars
from dalembert.base.algebra.scalars import Scalar


def _function(f: Callable[[Scalar], Scalar], slope: Callable[[Scalar, Scalar], Scalar]) -> Callable[[Dual], Dual]:
    """A method for f(x), whose slope is a function of x and f(x)."""

    def method(self: Dual) -> Dual:
        value = f(self.value)
        return Dual(value, _product(self.slope, slope(self.value, value)))

    return method


class Dual:
    """x + ε x′ with ε² = 0."""

    __slots__ = ("slope", "value")

    def __init__(self, value: Scalar, slope: Scalar = 0.0) -> None:
        self.value, self.slope = value, slope

    def __add__(self, other: Any) -> Dual:
        y = dual(other)
        return Dual(self.value + y.value, _sum(self.slope, y.slope))

    def __sub__(self, other: Any) -> Dual:
        return self + -dual(other)

    def __mul__(self, other: Any) -> Dual:
        y = dual(other)
        return Dual(self.value * y.value, _sum(_product(self.slope, y.value), _product(y.slope, self.value)))

    def __truediv__(self, other: Any) -> Dual:
        y = dual(other)
        value = self.value / y.value
        return Dual(value, _product(_sum(self.slope, -_product(y.slope, value)), 1.0 / y.value))

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Dual:
        return dual(other) - self

    def __rtruediv__(self, other: Any) -> Dual:
        return dual(other) / self

    sin = _function(scalars.sin, lambda x, f: scalars.cos(x))
    cos = _function(scalars.cos, lambda x, f: -scalars.sin(x))
    sqrt = _function(scalars.sqrt, lambda x, f: 0.5 / f)
    exp = _function(scalars.exp, lambda x, f: f)
    log = _function(scalars.log, lambda x, f: 1.0 / x)
    tanh = _function(scalars.tanh, lambda x, f: 1.0 - f * f)
    asin = _function(scalars.asin, lambda x, f: 1.0 / scalars.sqrt(1.0 - x * x))
    acos = _function(scalars.acos, lambda x, f: -1.0 / scalars.sqrt(1.0 - x * x))

    def atan2(self, x: Any) -> Dual:
        """The angle of the point (x, this)."""
        x = dual(x)
        square = self.value * self.value + x.value * x.value
        slope = _sum(_product(self.slope, x.value), -_product(x.slope, self.value))
        return Dual(scalars.atan2(self.value, x.value), _product(slope, 1.0 / square))

    def ratan2(self, y: Any) -> Dual:
        """The angle of the point (this, y)."""
        return dual(y).atan2(self)

    def sign(self) -> Dual:
        """sgn x, whose derivative is 0 where it exists"""
        return Dual(scalars.sgn(self.value))

    def less(self, other: Any) -> Dual:
        """1 where x < other, else 0"""
        return Dual(scalars.less(self.value, dual(other).value))

    def select(self, x: Any, y: Any) -> Dual:
        """x if this is not 0, else y"""
        x, y = dual(x), dual(y)
        return Dual(scalars.select(self.value, x.value, y.value), scalars.select(self.value, x.slope, y.slope))


def dual(x: Scalar) -> Dual:
    """x, or a constant as a dual number."""
    return x if isinstance(x, Dual) else Dual(x)


def slope(x: Scalar) -> Scalar:
    """The derivative that a value carries."""
    return x.slope if isinstance(x, Dual) else 0.0


def _is(x: Scalar, value: float) -> bool:
    return isinstance(x, float) and x == value


def _sum(x: Scalar, y: Scalar) -> Scalar:
    return y if _is(x, 0.0) else x if _is(y, 0.0) else x + y


def _product(x: Scalar, y: Scalar) -> Scalar:
    return 0.0 if _is(x, 0.0) or _is(y, 0.0) else y if _is(x, 1.0) else x * y
