"""Vectors and 3×3 matrices with the operators of the printed equations: + − * @ .T, dot and cross.

The scalars may be floats, traced expressions or symbols: nothing here checks their type, so the same code
serves numbers, the compiler and closed forms. A vector is a tuple of scalars and a matrix a tuple of rows;
everything except cross and skew also works for other sizes, such as M's 4×4 matrices. Sums are evaluated in the
order in which they are written, so that the same code gives the same tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add, mul, sub
from typing import Any, Self

from dalembert.base.algebra.scalars import Scalar, Values, cos, sin, sqrt


class Additive(tuple[Any, ...]):
    """Tuples that can be added and scaled, entry by entry."""

    __slots__ = ()
    __array_priority__ = -1.0  # NumPy scalars leave s * v to us; NumPy arrays treat vectors as rows of numbers

    def __add__(self, other: Any) -> Self:
        return type(self)(map(add, self, other)) if isinstance(other, tuple) else NotImplemented

    def __sub__(self, other: Any) -> Self:
        return type(self)(map(sub, self, other)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, s: Scalar) -> Self:
        return type(self)([s * x for x in self])

    __rmul__ = __mul__

    def __neg__(self) -> Self:
        return type(self)([-x for x in self])


class Vec(Additive):
    """A vector.

    >>> 2.0 * Vec((1.0, 0.0, 0.0)) + Vec((1.0, 0.0, 0.0)).cross(Vec((0.0, 1.0, 0.0)))
    (2.0, 0.0, 1.0)
    """

    __slots__ = ()

    def dot(self, b: Values) -> Scalar:
        """aᵀb"""
        return reduce(add, map(mul, self, b))

    def cross(self, b: Values) -> Vec:
        """a × b"""
        ax, ay, az = self
        bx, by, bz = b
        return Vec((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))

    def outer(self, b: Values) -> Mat:
        """a bᵀ"""
        return Mat([Vec([x * y for y in b]) for x in self])

    @property
    def norm(self) -> Scalar:
        """|a|"""
        return sqrt(self.dot(self))


class Mat(Additive):
    """A matrix, row by row.

    >>> Mat.of(((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))).T @ Vec((1.0, 2.0, 3.0))
    (2.0, -1.0, 3.0)
    """

    __slots__ = ()

    @staticmethod
    def of(rows: Any) -> Mat:
        """A matrix from rows that need not be vectors."""
        return Mat(map(Vec, rows))

    @property
    def T(self) -> Mat:
        """Aᵀ"""
        return Mat(map(Vec, zip(*self, strict=True)))

    def __matmul__(self, other: Any) -> Any:
        """A x or A B"""
        if isinstance(other, Mat):
            columns = other.T
            return Mat([Vec([row.dot(column) for column in columns]) for row in self])
        return Vec([row.dot(other) for row in self]) if isinstance(other, tuple) else NotImplemented

    @property
    def trace(self) -> Scalar:
        """tr A"""
        return reduce(add, (row[k] for k, row in enumerate(self)))


class RotZ:
    """The rotation by q about the z-axis, stored as cos q and sin q only: two products per coordinate."""

    __slots__ = ("c", "s")

    def __init__(self, c: Scalar, s: Scalar) -> None:
        self.c, self.s = c, s

    def __matmul__(self, v: Vec) -> Vec:
        """R v"""
        c, s, (x, y, z) = self.c, self.s, v
        return Vec((c * x - s * y, s * x + c * y, z))

    def back(self, v: Vec) -> Vec:
        """Rᵀ v"""
        c, s, (x, y, z) = self.c, self.s, v
        return Vec((c * x + s * y, c * y - s * x, z))

    def both(self, A: Mat) -> Mat:
        """R A Rᵀ, with 12 multiplications."""
        c, s, ((xx, xy, xz), (yx, yy, yz), (zx, zy, zz)) = self.c, self.s, A
        w = s * (yy - xx) - c * (xy + yx)
        sw, cw = s * w, c * w
        xz, yz, _ = self @ Vec((xz, yz, 0.0))
        zx, zy, _ = self @ Vec((zx, zy, 0.0))
        return Mat.of(((xx + sw, -(cw + yx), xz), (-(cw + xy), yy - sw, yz), (zx, zy, zz)))

    @property
    def matrix(self) -> Mat:
        """R itself."""
        return Mat.of(((self.c, -self.s, 0.0), (self.s, self.c, 0.0), Z))


# types that accept any three scalars, or three rows of them, and hold a Vec or a Mat
VecLike = Any
MatLike = Any

ZERO = Vec((0.0, 0.0, 0.0))
X, Y, Z = Vec((1.0, 0.0, 0.0)), Vec((0.0, 1.0, 0.0)), Vec((0.0, 0.0, 1.0))
IDENTITY = Mat((X, Y, Z))
NULL = Mat((ZERO, ZERO, ZERO))


def vec_sum(vectors: Sequence[Vec]) -> Vec:
    """a + b + …, added in this order; 0 for an empty sequence."""
    return reduce(add, vectors) if vectors else ZERO


def skew(a: Values) -> Mat:
    """S(a), the matrix with S(a) b = a × b"""
    return Mat.of(((0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0)))


def rotation_about(axis: Values, angle: Scalar) -> Mat:
    """Rodrigues' formula: the rotation by ``angle`` about the unit vector ``axis``."""
    s, c = sin(angle), cos(angle)
    x, y, z = axis
    v = 1.0 - c
    return Mat.of((
        (x * x + (1.0 - x * x) * c, x * y * v - z * s, x * z * v + y * s),
        (x * y * v + z * s, y * y + (1.0 - y * y) * c, y * z * v - x * s),
        (x * z * v - y * s, y * z * v + x * s, z * z + (1.0 - z * z) * c),
    ))  # fmt: skip
