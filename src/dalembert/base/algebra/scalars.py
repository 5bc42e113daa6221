"""Functions of one scalar: a float, a traced expression, or any other value that has them as methods."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any

Scalar = Any  # float, graph.Expr or a symbol: anything with + - * /
Values = Sequence[Scalar]  # q, q̇, q̈, τ, h_e
Grid = list[list[Scalar]]  # B, C, J

HIGHEST_POWER = 709.78271289338397  # the largest exponent for which eˣ is finite


def zeros(n: int) -> Grid:
    """An n×n matrix to be filled."""
    return [[0.0] * n for _ in range(n)]


def flat(values: Any) -> Iterable[Any]:
    """The scalars of nested lists, in order."""
    for value in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(value, (list, tuple)):
            yield from flat(value)
        else:
            yield value


def total(terms: Iterable[Scalar]) -> Scalar:
    """0 + x + y + …, added in this order."""
    return reduce(add, terms, 0.0)


def dot(a: Values, b: Values) -> Scalar:
    """0 + a_1 b_1 + a_2 b_2 + …, for rows of any length."""
    return total(x * y for x, y in zip(a, b, strict=True))


def sin(x: Scalar) -> Scalar:
    """sin x for floats and for every scalar that has a ``sin`` method."""
    return exact_sin(x) if isinstance(x, (int, float)) else x.sin()


def cos(x: Scalar) -> Scalar:
    """cos x for floats and for every scalar that has a ``cos`` method."""
    return exact_cos(x) if isinstance(x, (int, float)) else x.cos()


def sqrt(x: Scalar) -> Scalar:
    """√x for floats and for every scalar that has a ``sqrt`` method."""
    return math.sqrt(x) if isinstance(x, (int, float)) else x.sqrt()


def exp(x: Scalar) -> Scalar:
    """eˣ for floats and for every scalar that has an ``exp`` method; ∞ on overflow."""
    if isinstance(x, (int, float)):
        return math.exp(x) if x <= HIGHEST_POWER else x * math.inf
    return x.exp()


def log(x: Scalar) -> Scalar:
    """ln x for floats and for every scalar that has a ``log`` method; −∞ at 0, NaN below."""
    if isinstance(x, (int, float)):
        return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan
    return x.log()


def tanh(x: Scalar) -> Scalar:
    """tanh x for floats and for every scalar that has a ``tanh`` method."""
    return math.tanh(x) if isinstance(x, (int, float)) else x.tanh()


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), from −π to π, for floats and for every scalar that has an ``atan2`` method."""
    if not isinstance(y, (int, float)):
        return y.atan2(x)
    return math.atan2(y, x) if isinstance(x, (int, float)) else x.ratan2(y)


def atan(x: Scalar) -> Scalar:
    """arctan x for every scalar that has an ``atan2`` method."""
    return atan2(x, 1.0)


def asin(x: Scalar) -> Scalar:
    """arcsin x for floats and for every scalar that has an ``asin`` method; NaN if |x| > 1."""
    if isinstance(x, (int, float)):
        return math.asin(x) if abs(x) <= 1.0 else math.nan
    return x.asin()


def acos(x: Scalar) -> Scalar:
    """arccos x for floats and for every scalar that has an ``acos`` method; NaN if |x| > 1."""
    if isinstance(x, (int, float)):
        return math.acos(x) if abs(x) <= 1.0 else math.nan
    return x.acos()


def sgn(x: Scalar) -> Scalar:
    """The sign function of S (7.42), with sgn 0 = 0 and sgn NaN = NaN."""
    if isinstance(x, (int, float)):
        return 1.0 if x > 0 else -1.0 if x < 0 else x * 0.0
    return x.sign()


def less(x: Scalar, y: Scalar) -> Scalar:
    """1 if x < y, else 0."""
    if not isinstance(x, (int, float)):
        return x.less(y)
    if not isinstance(y, (int, float)):
        return (-y).less(-x)
    return 1.0 if x < y else 0.0


def select(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """x if the condition is not 0, else y."""
    if isinstance(condition, (int, float)):
        return x if condition != 0.0 else y
    return condition.select(x, y)


# Robot files print right angles with 11 or more digits ("1.57079632679"). Taken literally they turn
# every 0 of a rotation into 5e-12 and cost operations, which is never intended. Angles this close to a
# multiple of π/2 are set to that multiple.
QUARTER_TOLERANCE = 1e-11


def _quarters(x: float) -> int | None:
    if not math.isfinite(x):
        return None
    k = round(x / (math.pi / 2))
    return k % 4 if abs(x - k * (math.pi / 2)) <= QUARTER_TOLERANCE else None


def exact_sin(x: float) -> float:
    """math.sin, but exactly 0 and ±1 at multiples of π/2."""
    k = _quarters(x)
    if x == 0 or k is None:
        return math.sin(x) if math.isfinite(x) else math.nan
    # very small angles are kept, not set to zero
    return (x if abs(x) < 1 else 0.0, 1.0, 0.0, -1.0)[k]


def exact_cos(x: float) -> float:
    """math.cos, but exactly 0 and ±1 at multiples of π/2."""
    k = _quarters(x)
    if k is None:
        return math.cos(x) if math.isfinite(x) else math.nan
    return (1.0, 0.0, -1.0, 0.0)[k]
