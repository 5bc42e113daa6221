"""Least squares over logs of any length, without ever holding the stacked regressor of S (7.85).

Every joint's equations are processed in blocks of rows; each block is stacked below the triangle R of the preceding
ones, and Householder reflections (LAPACK's tpqrt) restore the triangle. RᵀR = ȲᵀȲ, but Ȳ itself is never squared: the
condition number stays that of Ȳ, and memory is bounded by one block.

The joints are kept apart until the end: only the columns of the links that it moves act on joint i (S (7.80)), so its
triangle is small; joints can be weighted afterwards, any number of times; and the sequential procedure of S 7.4, from
the last joint to the first, can use its equations directly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import brief
from dalembert.work.identification.fitting.covariance import Segments
from dalembert.work.logs.scipy_package import scipy

PANEL = 8  # columns per panel of tpqrt: the fastest choice for 20 to 90 columns
RANK = 1e-11  # relative to the largest: smaller singular values of R (columns of length one) are rounding errors


@brief
@dataclass(frozen=True)
class TriangularSystem:
    """The data of any number of equations Yπ = τ that least squares needs.

    R        (p, p) upper triangular, RᵀR = YᵀY
    z        (p,), Rᵀz = Yᵀτ: the estimates solve Rπ = z
    rss      the sum of squares of τ that no π can explain
    rows     number of equations
    columns  (p,) the base parameters of R's columns
    """

    R: Array
    z: Array
    rss: float
    rows: int
    columns: NDArray[np.intp]

    def squares(self, pi: Array) -> float:
        """‖Yπ − τ‖² for any π."""
        return float(np.sum((self.R @ pi - self.z) ** 2) + self.rss)


def taken_in(R: Array, equations: Array) -> Array:
    """The triangle R of [Y, τ] extended by more equations, rows of [Y, τ]."""
    return scipy.linalg.lapack.dtpqrt(0, min(PANEL, len(R)), R, equations, overwrite_a=True, overwrite_b=True)[0]


def triangle(equations: Array, rows: int, columns: NDArray[np.intp]) -> TriangularSystem:
    """The triangle of equations [Y, τ]; the diagonal of R is nonnegative.

    If Y's columns are dependent, the part of z that no π can reach is added to rss: R and z still satisfy RᵀR = YᵀY and
    Rᵀz = Yᵀτ.
    """
    p = len(columns)
    whole = np.zeros((p + 1, p + 1))
    upper = np.linalg.qr(equations, mode="r") if len(equations) else np.zeros((0, p + 1))
    whole[: len(upper)] = upper[: p + 1]
    whole *= np.where(np.diag(whole) < 0, -1.0, 1.0)[:, None]
    R, z, rss = whole[:p, :p], whole[:p, p].copy(), float(whole[p, p] ** 2)
    U, singular, _ = np.linalg.svd(R / column_lengths(R))
    lost = U[:, singular <= RANK * singular.max(initial=0.0)]
    apart = lost @ (lost.T @ z)
    return TriangularSystem(R, z - apart, rss + float(apart @ apart), rows, columns)


@dataclass(frozen=True)
class JointTriangles:
    """One triangle per joint for its own equations, in those of ``size`` base parameters that act on the joint.

    lag       compensated delay of the torques in them (s)
    segments  the Gram matrices of the same equations, per segment of time
    """

    joints: tuple[TriangularSystem, ...]
    size: int
    lag: float = 0.0
    segments: Segments | None = None

    def together(self, weights: Array | None = None) -> TriangularSystem:
        """One triangle of all joints, the equations of joint i multiplied by ``weights[i]``: 1/σ_i to weight by noise."""
        stacked = []
        for joint, weight in zip(self.joints, np.ones(len(self.joints)) if weights is None else weights, strict=True):
            wide = np.zeros((len(joint.z) + 1, self.size + 1))  # [[R, z], [0, √rss]], the triangle of [Y, τ]
            wide[:-1, joint.columns], wide[:-1, -1], wide[-1, -1] = joint.R, joint.z, np.sqrt(joint.rss)
            stacked.append(weight * wide)
        return triangle(np.vstack(stacked), sum(joint.rows for joint in self.joints), np.arange(self.size))


def column_lengths(A: ArrayLike) -> Array:
    """The length of every column, or 1 if it is zero: the divisors that scale columns to length one."""
    length = np.linalg.norm(A, axis=0)
    return np.where(length > 0, length, 1.0)
