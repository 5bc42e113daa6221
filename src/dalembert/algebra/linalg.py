"""Vectors and matrices of three, as tuples of scalars.

The scalars may be floats, traced expressions or symbols: nothing here asks what they are, so the
same text serves numbers, the compiler and closed forms. Robots and equations both stand on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Scalar = Any  # float, graph.Expr or a symbol: whatever has + - * /
Vector = tuple[Scalar, Scalar, Scalar]
Matrix = tuple[Vector, Vector, Vector]

ZERO: Vector = (0.0, 0.0, 0.0)
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
NULL: Matrix = (ZERO, ZERO, ZERO)


def sin(x: Scalar) -> Scalar:
    """sin x for floats and for every scalar that has a ``sin`` method."""
    return exact_sin(x) if isinstance(x, (int, float)) else x.sin()


def cos(x: Scalar) -> Scalar:
    """cos x for floats and for every scalar that has a ``cos`` method."""
    return exact_cos(x) if isinstance(x, (int, float)) else x.cos()


def sqrt(x: Scalar) -> Scalar:
    """√x for floats and for every scalar that has a ``sqrt`` method."""
    return math.sqrt(x) if isinstance(x, (int, float)) else x.sqrt()


def sgn(x: Scalar) -> Scalar:
    """The sign function of S (7.42), with sgn 0 = 0 and sgn NaN = NaN."""
    if isinstance(x, (int, float)):
        return 1.0 if x > 0 else -1.0 if x < 0 else x * 0.0
    return x.sign()


def less(x: Scalar, y: Scalar) -> Scalar:
    """1 where x < y, else 0."""
    if not isinstance(x, (int, float)):
        return x.less(y)
    if not isinstance(y, (int, float)):
        return (-y).less(-x)
    return 1.0 if x < y else 0.0


def select(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """x where the condition is not 0, else y."""
    if isinstance(condition, (int, float)):
        return x if condition != 0.0 else y
    return condition.select(x, y)


# Robot files print right angles with 11 or more digits ("1.57079632679"). Taken literally they turn
# every 0 of a rotation into 5e-12 and cost operations; nobody means that. Angles this close to a
# multiple of π/2 are that multiple.
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
    # very small angles are themselves, not zero
    return (x if abs(x) < 1 else 0.0, 1.0, 0.0, -1.0)[k]


def exact_cos(x: float) -> float:
    """math.cos, but exactly 0 and ±1 at multiples of π/2."""
    k = _quarters(x)
    if k is None:
        return math.cos(x) if math.isfinite(x) else math.nan
    return (1.0, 0.0, -1.0, 0.0)[k]


def add(a: Sequence[Scalar], *others: Sequence[Scalar]) -> Vector:
    """a + b + …"""
    x, y, z = a
    for b in others:
        x, y, z = x + b[0], y + b[1], z + b[2]
    return (x, y, z)


def sub(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vector:
    """a − b"""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(s: Scalar, a: Sequence[Scalar]) -> Vector:
    """s a"""
    return (s * a[0], s * a[1], s * a[2])


def neg(a: Sequence[Scalar]) -> Vector:
    """−a"""
    return (-a[0], -a[1], -a[2])


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """aᵀb"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vector:
    """a × b"""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def skew(a: Sequence[Scalar]) -> Matrix:
    """S(a), the matrix with S(a) b = a × b"""
    return ((0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0))


def outer(a: Sequence[Scalar], b: Sequence[Scalar]) -> Matrix:
    """a bᵀ"""
    return tuple(tuple(x * y for y in b) for x in a)  # type: ignore[return-value]


def transpose(A: Matrix) -> Matrix:
    """Aᵀ"""
    return tuple(zip(*A, strict=True))  # type: ignore[return-value]


def matvec(A: Matrix, x: Sequence[Scalar]) -> Vector:
    """A x"""
    return (dot(A[0], x), dot(A[1], x), dot(A[2], x))


def tmatvec(A: Matrix, x: Sequence[Scalar]) -> Vector:
    """Aᵀ x"""
    return (
        A[0][0] * x[0] + A[1][0] * x[1] + A[2][0] * x[2],
        A[0][1] * x[0] + A[1][1] * x[1] + A[2][1] * x[2],
        A[0][2] * x[0] + A[1][2] * x[1] + A[2][2] * x[2],
    )


def matmul(A: Matrix, B: Matrix) -> Matrix:
    """A B"""
    columns = transpose(B)
    return tuple(tuple(dot(row, c) for c in columns) for row in A)  # type: ignore[return-value]


def madd(A: Matrix, B: Matrix) -> Matrix:
    """A + B"""
    return tuple(add(a, b) for a, b in zip(A, B, strict=True))  # type: ignore[return-value]


def msub(A: Matrix, B: Matrix) -> Matrix:
    """A − B"""
    return tuple(sub(a, b) for a, b in zip(A, B, strict=True))  # type: ignore[return-value]


def mscale(s: Scalar, A: Matrix) -> Matrix:
    """s A"""
    return tuple(scale(s, a) for a in A)  # type: ignore[return-value]


def trace(A: Matrix) -> Scalar:
    """tr A"""
    return A[0][0] + A[1][1] + A[2][2]


def rotation_about(axis: Vector, angle: Scalar) -> Matrix:
    """Rodrigues' formula: the rotation by ``angle`` about the unit vector ``axis``."""
    s, c = sin(angle), cos(angle)
    x, y, z = axis
    v = 1.0 - c
    return (
        (x * x + (1.0 - x * x) * c, x * y * v - z * s, x * z * v + y * s),
        (x * y * v + z * s, y * y + (1.0 - y * y) * c, y * z * v - x * s),
        (x * z * v - y * s, y * z * v + x * s, z * z + (1.0 - z * z) * c),
    )


def norm(a: Sequence[float]) -> float:
    """|a| of numbers"""
    return math.sqrt(dot(a, a))
