"""Least squares over logs of any length, without ever holding the stacked regressor of S (7.85).

Every joint's equations are taken in blocks of rows; a block is put under the triangle R of what came
before and the two are made a triangle again by Householder reflections (LAPACK's tpqrt). RᵀR = ȲᵀȲ, but
Ȳ itself is never squared: the condition number stays that of Ȳ, and memory stays that of one block.

The joints are kept apart until the end: joint i feels only the columns of the links it moves (S (7.80)),
so its triangle is small; of those only independent ones are worked on, since Y = Y_base K gives the others; joints may
be weighted afterwards, as often as one likes; and the sequential procedure of S 7.4, from the last joint to the first,
finds its equations ready.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import DalembertError, ShapeError
from dalembert.identification.felt import Felt
from dalembert.identification.parameters import ParameterSet
from dalembert.kernel.one_thread import one_thread

Array = NDArray[np.float64]

BLOCK = 1024  # samples that are triangularised at once
PANEL = 8  # columns that tpqrt handles together: the fastest for 20 to 90 columns
RANK = 1e-11  # singular values of R (columns of length one), beside the largest, that are rounding
EXACT = 1e-10  # what counts as dependent here: only what is so but for rounding


@dataclass(frozen=True)
class Triangle:
    """What least squares needs of any number of equations Yπ = τ.

    R        (p, p) upper triangular, RᵀR = YᵀY
    z        (p,), Rᵀz = Yᵀτ: the estimates solve Rπ = z
    rss      the sum of squares of τ that no π can explain
    rows     how many equations there were
    columns  the columns of the parameter set that R's columns stand for

    Triangles of the same columns are added with ``+``: the equations of both.
    """

    R: Array
    z: Array
    rss: float
    rows: int
    columns: tuple[int, ...]

    @property
    def whole(self) -> Array:
        """[[R, z], [0, √rss]], the triangle of [Y, τ]."""
        p = len(self.z)
        out = np.zeros((p + 1, p + 1))
        out[:p, :p], out[:p, p], out[p, p] = self.R, self.z, np.sqrt(self.rss)
        return out

    def __add__(self, other: Triangle) -> Triangle:
        if self.columns != other.columns:
            raise DalembertError("these triangles stand for different columns; only equal ones can be added")
        return triangle(np.vstack([self.whole, other.whole]), self.rows + other.rows, self.columns)

    def solved(self, tolerance: float = 1e-12) -> Array:
        """The least-squares π (p,), of least length where the equations leave it open."""
        return np.asarray(np.linalg.lstsq(self.R, self.z, rcond=tolerance)[0], dtype=np.float64)

    def squares(self, pi: ArrayLike) -> float:
        """‖Yπ − τ‖² for any π."""
        return float(np.sum((self.R @ np.asarray(pi, float) - self.z) ** 2) + self.rss)

    def of(self, columns: Sequence[int]) -> Triangle:
        """The triangle of some of its columns alone, the other parameters taken as zero."""
        at = {column: k for k, column in enumerate(self.columns)}
        chosen = [at[c] for c in columns]
        whole = self.whole
        return triangle(whole[:, [*chosen, len(self.z)]], self.rows, tuple(columns))

    def expanded(self, K: ArrayLike) -> Triangle:
        """The triangle for π where this one is for π_b = Kπ: Y = Y_b K."""
        K = np.asarray(K, float)
        whole = self.whole
        return triangle(np.hstack([whole[:, :-1] @ K, whole[:, -1:]]), self.rows, tuple(range(K.shape[1])))

    def scaled(self, weight: float) -> Triangle:
        """Every equation times ``weight``."""
        return Triangle(weight * self.R, weight * self.z, weight**2 * self.rss, self.rows, self.columns)


def triangle(equations: Array, rows: int, columns: tuple[int, ...]) -> Triangle:
    """The triangle of equations [Y, τ]; the diagonal of R is not negative.

    Where Y's columns are dependent, what of z no π reaches is counted with rss: R and z still have RᵀR = YᵀY and
    Rᵀz = Yᵀτ.
    """
    p = len(columns)
    whole = np.zeros((p + 1, p + 1))
    made = np.linalg.qr(equations, mode="r") if len(equations) else np.zeros((0, p + 1))
    whole[: len(made)] = made[: p + 1]
    whole *= np.where(np.diag(whole) < 0, -1.0, 1.0)[:, None]
    R, z, rss = whole[:p, :p], whole[:p, p].copy(), float(whole[p, p] ** 2)
    length = np.linalg.norm(R, axis=0)
    U, singular, _ = np.linalg.svd(R / np.where(length > 0, length, 1.0))
    lost = U[:, singular <= RANK * singular.max(initial=0.0)]
    apart = lost @ (lost.T @ z)
    return Triangle(R, z - apart, rss + float(apart @ apart), rows, columns)


@dataclass(frozen=True)
class JointTriangles:
    """A triangle for every joint's own equations, each of the columns that the joint feels."""

    joints: tuple[Triangle, ...]
    columns: tuple[int, ...]

    def __add__(self, other: JointTriangles) -> JointTriangles:
        return JointTriangles(
            tuple(a + b for a, b in zip(self.joints, other.joints, strict=True)), self.columns
        )  # fmt: skip

    def together(self, weights: ArrayLike | None = None) -> Triangle:
        """One triangle of all joints, joint i's equations times ``weights[i]``: 1/σ_i to weight by noise."""
        n = len(self.joints)
        w = np.ones(n) if weights is None else np.asarray(weights, float)
        if w.shape != (n,):
            raise ShapeError(f"weights has shape {w.shape}; it must be ({n},), one number a joint")
        at = {column: k for k, column in enumerate(self.columns)}
        stacked = []
        for one, weight in zip(self.joints, w, strict=True):
            wide = np.zeros((len(one.z) + 1, len(self.columns) + 1))
            wide[:, [*(at[c] for c in one.columns), len(self.columns)]] = weight * one.whole
            stacked.append(wide)
        return triangle(np.vstack(stacked), sum(one.rows for one in self.joints), self.columns)


def accumulate(
    parameters: ParameterSet,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    weights: ArrayLike | None = None,
    columns: Sequence[int] | None = None,
    block: int = BLOCK,
) -> Triangle:
    """The triangle of a whole log (N, n), in memory that does not grow with N.

    weights  (n,) or (N, n): factors of the equations
    columns  of the parameter set, those to keep (``base.independent``); all unless given

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("planar-2r")
    >>> parameters = ParameterSet(arm, only=["mx_1", "Izz_1", "mx_2", "Izz_2", "Im_2"])
    >>> x = np.random.default_rng(0).uniform(-2, 2, (3, 1000, 2))
    >>> found = accumulate(parameters, *x, parameters.regressor(*x) @ parameters.values)
    >>> np.allclose(found.solved(), parameters.values)
    True
    """
    if weights is not None and np.ndim(weights) == 1:
        return accumulate_joints(parameters, q, qd, qdd, tau, None, columns, block).together(weights)
    return accumulate_joints(parameters, q, qd, qdd, tau, weights, columns, block).together()


@one_thread()
def accumulate_joints(
    parameters: ParameterSet,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
    weights: ArrayLike | None = None,
    columns: Sequence[int] | None = None,
    block: int = BLOCK,
) -> JointTriangles:
    """The same, every joint's equations by themselves. ``weights``: (N, n) factors of single equations."""
    q, qd, qdd, tau = parameters.checked(False, q=q, qd=qd, qdd=qdd, tau=tau)
    if weights is not None:
        (weights,) = parameters.checked(False, weights=weights)
        if len(weights) != len(q):
            raise ShapeError(f"weights has {len(weights)} samples and q {len(q)}")
    if block < 1:
        raise DalembertError(f"block is {block}; at least one sample must be taken at once")
    chosen = tuple(range(parameters.size)) if columns is None else tuple(int(c) for c in columns)
    kept, K = _independent(parameters, chosen)
    felt = Felt(parameters, kept, spare=1)
    triangles = [np.zeros((len(mine) + 1, len(mine) + 1), order="F") for mine in felt.columns]
    rows = np.zeros((felt.parts[-1].stop, min(block, max(len(q), 1))))
    for start in range(0, len(q), rows.shape[1]):
        part = slice(start, start + rows.shape[1])
        felt.rows(q[part], qd[part], qdd[part], out=rows)
        _take(felt, triangles, rows, tau[part], None if weights is None else weights[part])
    if not all(np.isfinite(R).all() for R in triangles):
        raise DalembertError("the log holds values that are not finite numbers; leave such samples out")
    return JointTriangles(
        tuple(_expanded(R, mine, kept, K, chosen, len(q)) for R, mine in zip(triangles, felt.columns, strict=True)),
        chosen,
    )


def _independent(parameters: ParameterSet, columns: tuple[int, ...]) -> tuple[tuple[int, ...], Array]:
    """Of these columns, some that carry all of them: Y[:, columns] = Y[:, some] K, so that only those need work."""
    from dalembert.identification.base import base_parameters

    plain = [c for c in columns if parameters.joints[c] >= 0]
    names = [parameters.names[c] for c in plain]
    base = base_parameters(replace(parameters, extra=(), only=names), tolerance=EXACT)
    own = [parameters.names.index(name) for name in base.parameters.names]  # the set keeps its own order
    extra = [c for c in columns if parameters.joints[c] < 0]
    kept = (*(own[k] for k in base.independent), *extra)
    K = np.zeros((len(kept), len(columns)))
    at = {c: k for k, c in enumerate(columns)}
    K[: base.rank, [at[c] for c in own]] = base.K
    for r, c in enumerate(extra):
        K[base.rank + r, at[c]] = 1.0
    return kept, K


def _expanded(
    R: Array, felt: tuple[int, ...], kept: tuple[int, ...], K: Array, columns: tuple[int, ...], rows: int
) -> Triangle:
    """A joint's triangle of the independent columns it feels, for all the columns that those carry."""
    whole = R[:, :-1] @ K[[kept.index(c) for c in felt]]
    seen = np.flatnonzero(np.any(whole != 0.0, axis=0)) if rows else np.zeros(0, np.intp)
    return triangle(np.hstack([whole[:, seen], R[:, -1:]]), rows, tuple(columns[k] for k in seen))


def _take(felt: Felt, triangles: list[Array], rows: Array, tau: Array, weights: Array | None) -> None:
    """One block of samples, the columns in ``rows``, into every joint's triangle."""
    from scipy.linalg.lapack import dtpqrt

    for i, part in enumerate(felt.parts):
        mine = rows[part, : len(tau)]
        mine[-1] = tau[:, i]
        if weights is not None:
            mine *= weights[:, i]
        R = triangles[i]
        triangles[i] = dtpqrt(0, min(PANEL, len(R)), R, mine.T, overwrite_a=True, overwrite_b=True)[0]


__all__ = ["JointTriangles", "Triangle", "accumulate", "accumulate_joints", "triangle"]
