"""The operations of :mod:`dalembert.algebra.vectors` as functions, for any tuples of three.

What they give is a ``Vec`` or a ``Mat``; where both operands are, the operators say the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.algebra.scalars import Scalar, cos, exact_cos, exact_sin, less, select, sgn, sin, sqrt  # noqa: F401
from dalembert.algebra.vectors import IDENTITY, NULL, ZERO, Mat, MatLike, Vec, VecLike, rotation_about, skew, vec_sum  # noqa: F401

Vector = VecLike
Matrix = MatLike


def add(a: Sequence[Scalar], *others: Sequence[Scalar]) -> Vec:
    """a + b + …"""
    return vec_sum([Vec(a), *map(Vec, others)])


def sub(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vec:
    """a − b"""
    return Vec(a) - Vec(b)


def scale(s: Scalar, a: Sequence[Scalar]) -> Vec:
    """s a"""
    return Vec(a) * s


def neg(a: Sequence[Scalar]) -> Vec:
    """−a"""
    return -Vec(a)


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """aᵀb"""
    return Vec(a).dot(Vec(b))


def cross(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vec:
    """a × b"""
    return Vec(a).cross(Vec(b))


def outer(a: Sequence[Scalar], b: Sequence[Scalar]) -> Mat:
    """a bᵀ"""
    return Vec(a).outer(Vec(b))


def transpose(A: Matrix) -> Mat:
    """Aᵀ"""
    return Mat.of(A).T


def matvec(A: Matrix, x: Sequence[Scalar]) -> Vec:
    """A x"""
    return Mat.of(A) @ Vec(x)


def tmatvec(A: Matrix, x: Sequence[Scalar]) -> Vec:
    """Aᵀ x"""
    return Mat.of(A).T @ Vec(x)


def matmul(A: Matrix, B: Matrix) -> Mat:
    """A B"""
    return Mat.of(A) @ Mat.of(B)


def madd(A: Matrix, B: Matrix) -> Mat:
    """A + B"""
    return Mat.of(A) + Mat.of(B)


def msub(A: Matrix, B: Matrix) -> Mat:
    """A − B"""
    return Mat.of(A) - Mat.of(B)


def mscale(s: Scalar, A: Matrix) -> Mat:
    """s A"""
    return Mat.of(A) * s


def trace(A: Matrix) -> Scalar:
    """tr A"""
    return Mat.of(A).trace


def norm(a: Sequence[float]) -> float:
    """|a| of numbers"""
    return float(Vec(a).norm)
