"""Hermite interpolation between nodes with given values and derivatives, and splines of minimum bending energy.

The spline of degree 2m − 1 through given values minimises ∫ (y⁽ᵐ⁾)² dt, like an elastic beam for m = 2. With the
derivatives 1 … m − 1 at the nodes as unknowns, this is a finite-element problem: a symmetric positive definite block
tridiagonal system, solved by cyclic reduction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb, factorial, perm

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record

SINGULAR = 1e-13  # reciprocal condition number below which the boundary conditions are linearly dependent
Conditions = Callable[["Hermite"], Array]


@cache
def _basis(m: int) -> Array:
    """(2m, 2m): Bernstein coefficients minus the first value, from the Taylor coefficients 0 … m − 1 of both ends."""
    d = 2 * m - 1
    start = np.array([[comb(k, j) / comb(d, j) for j in range(m)] for k in range(m)])
    end = (start * (-1.0) ** np.arange(m))[::-1]
    return np.block([[start, np.zeros((m, m))], [np.zeros((m, m)), end]])


@cache
def _stiffness(m: int) -> Array:
    """(2m, 2m): ∫₀¹ (y⁽ᵐ⁾)² du as a quadratic form in the Taylor coefficients of both ends."""
    p = m - 1
    H = np.diff(_basis(m), m, axis=0) * perm(2 * m - 1, m)  # Bernstein coefficients of y⁽ᵐ⁾, of degree p
    G = [[comb(p, i) * comb(p, j) / comb(2 * p, i + j) / (2 * p + 1) for j in range(m)] for i in range(m)]
    return H.T @ np.array(G) @ H


@record
class Hermite:
    """Between nodes x (N,), the polynomial of degree 2m − 1 with the values and derivatives y (m, N, n) of both ends.

    Its Bernstein form avoids cancellation where it leaves an end at rest.

    rounding  (n,): rounding error of the values. In a quintic segment of h seconds it would be amplified by 60/h² in
              the acceleration; a displacement that equals that of the derivatives at both ends up to rounding is
              therefore replaced by it
    """

    x: Array
    y: Array
    rounding: Array | float = 0.0

    @property
    def breaks(self) -> Array:
        """Times at which its segments meet."""
        return self.x

    def bernstein(self, pieces: slice) -> Array:
        """(k, 2m, n): coefficients of a slice of the segments, minus the initial value of each."""
        m = len(self.y)
        scale = _taylor(np.diff(self.x)[pieces], m)[..., None]
        left, right = scale * self.y[:, :-1][:, pieces], scale * self.y[:, 1:][:, pieces]
        right[0] -= left[0]
        left[0] = 0.0
        if m == 3 and np.any(self.rounding):
            smooth = (left[1] + right[1]) / 2 + (left[2] - right[2]) / 6
            right[0] = np.where(np.abs(right[0] - smooth) <= self.rounding, smooth, right[0])
        return np.einsum("jk,kin->ijn", _basis(m), np.concatenate([left, right]))

    @cached_property
    def factors(self) -> list[Array]:
        """Factors of uᵏ (1 − u)ᵈ⁻ᵏ in the curve and its first two derivatives, u = (x − xᵢ)/h: (N − 1, d + 1, n) each."""
        b, d = self.bernstein(slice(None)), 2 * len(self.y) - 1
        factors = []
        for order in range(3):
            shape = [comb(d - order, k) for k in range(d - order + 1)]
            factor = perm(d, order) * np.diff(b, order, axis=1) * np.array(shape, float)[:, None]
            factors.append(np.ascontiguousarray(factor))
        return factors

    def __call__(self, x: Array) -> tuple[Array, Array, Array]:
        i = np.clip(np.searchsorted(self.x, x, side="right") - 1, 0, len(self.x) - 2)
        left, right = self.x[i], self.x[i + 1]
        h = right - left
        u, v = (np.ones((2 * len(self.y), len(x))) for _ in range(2))
        for power, base in ((u, (x - left) / h), (v, (right - x) / h)):
            for k in range(1, len(power)):
                np.multiply(power[k - 1], base, out=power[k])
        values = []
        for factors in self.factors:
            d = factors.shape[1] - 1
            values.append(np.einsum("ki,ikn->in", u[: d + 1] * v[d::-1], factors.take(i, axis=0)))
        values[0] += self.y[0, i]
        values[1] /= h[:, None]
        values[2] /= h[:, None] ** 2
        for at, node in ((x == left, i), (x == right, i + 1)):  # no rounding at the nodes themselves
            if at.any():
                for value, given in zip(values, self.y, strict=False):
                    value[at] = given[node[at]]
        return values[0], values[1], values[2]

    def derivatives(self, side: str) -> Array:
        """(2m − 1, n): derivatives of order 1 … 2m − 1 at the "start" or the "end"."""
        at = 0 if side == "start" else -1
        pieces = slice(0, 1) if side == "start" else slice(-1, None)
        (b,), (h,) = self.bernstein(pieces), np.diff(self.x)[pieces]
        d = len(b) - 1
        return np.array([perm(d, k) * np.diff(b, k, axis=0)[at] / h**k for k in range(1, d + 1)])

    def highest(self, pieces: slice) -> Array:
        """(k, n): the derivative of order 2m − 1, which is constant in a segment."""
        d = 2 * len(self.y) - 1
        return np.diff(self.bernstein(pieces), d, axis=1)[:, 0] * (factorial(d) / np.diff(self.x)[pieces, None] ** d)


def _taylor(h: Array, m: int) -> Array:
    """(m, k): hʲ/j!"""
    return np.stack([h**j / factorial(j) for j in range(m)])


def spline(x: Array, y: Array, m: int, conditions: Conditions, values: Array | float = 0.0) -> Hermite:
    """The spline of degree 2m − 1 through y (N, n) at x (N,) whose ``conditions`` have the ``values`` (2m − 2, n).

    The conditions are 2m − 2 linear functions (2m − 2, n) of a curve, such as derivatives at its ends. The curve is the
    one with all derivatives zero at both ends plus the responses to each of these derivatives, weighted so that the
    conditions hold. Raises np.linalg.LinAlgError if they do not determine a curve.
    """
    n, free = y.shape[1], 2 * m - 2
    step = (x[-1] - x[0]) / (len(x) - 1)
    columns = np.zeros((m, len(x), n + free))
    columns[0, :, :n] = y - y[0]
    columns[1:, 0, n : n + m - 1] = columns[1:, -1, n + m - 1 :] = np.eye(m - 1)
    if len(x) > 2:
        columns[1:, 1:-1] = _inner(np.diff(x) / step, columns)
    units = step ** np.arange(m)
    curve = Hermite(x, columns / units[:, None, None])
    reached = conditions(curve)
    response = reached[:, n:]
    rows = np.abs(response).max(axis=1, keepdims=True)
    if not (np.isfinite(response).all() and rows.all() and np.linalg.cond(response / rows) < 1.0 / SINGULAR):
        raise np.linalg.LinAlgError("the conditions do not determine a spline")
    amounts = np.linalg.solve(response / rows, (values - reached[:, :n]) / rows)
    whole = curve.y[:, :, :n] + curve.y[:, :, n:] @ amounts
    whole[0] = y
    return Hermite(x, whole)


def _inner(h: Array, columns: Array) -> Array:
    """(m − 1, N − 2, k): derivatives at the inner nodes from all values and the derivatives at both ends."""
    m = len(columns)
    scale = np.concatenate([_taylor(h, m)] * 2).T
    K = _stiffness(m) * (scale[:, :, None] * scale[:, None, :] / h[:, None, None] ** (2 * m - 1))
    inner = slice(1, m), slice(m + 1, 2 * m)  # the derivatives at the left and the right end of a segment
    rise = np.diff(columns[0], axis=0)[:, None, :]
    right = -(K[:-1, inner[1], m, None] * rise[:-1] + K[1:, inner[0], m, None] * rise[1:])
    right[0] -= K[0, inner[1], inner[0]] @ columns[1:, 0]
    right[-1] -= K[-1, inner[0], inner[1]] @ columns[1:, -1]
    below, above = K[:-1, inner[1], inner[0]], K[1:, inner[0], inner[1]]
    diagonal = K[:-1, inner[1], inner[1]] + K[1:, inner[0], inner[0]]
    return np.moveaxis(_tridiagonal(below, diagonal, above, right), 1, 0)


def _tridiagonal(A: Array, B: Array, C: Array, r: Array) -> Array:
    """x (N, b, k) of Aᵢ xᵢ₋₁ + Bᵢ xᵢ + Cᵢ xᵢ₊₁ = rᵢ, by cyclic reduction: the even unknowns are eliminated at once."""
    if len(B) == 1:
        return np.linalg.solve(B, r)
    A, C = A.copy(), C.copy()
    A[0] = C[-1] = 0.0
    over = np.linalg.solve(B[::2], np.concatenate([A[::2], C[::2], r[::2]], axis=2))
    b = B.shape[1]
    back, on, own = over[:, :, :b], over[:, :, b : 2 * b], over[:, :, 2 * b :]
    odd, count = slice(1, None, 2), len(B) // 2
    last = len(over) == count  # the last odd unknown has no even one after it
    after = np.concatenate([over[1:], np.zeros((1, *over.shape[1:]))]) if last else over[1:]
    A1, C1 = A[odd], C[odd]
    inner = _tridiagonal(
        -A1 @ back[:count],
        B[odd] - A1 @ on[:count] - C1 @ after[:, :, :b],
        -C1 @ after[:, :, b : 2 * b],
        r[odd] - A1 @ own[:count] - C1 @ after[:, :, 2 * b :],
    )
    x = np.empty_like(r)
    x[odd] = inner
    x[::2] = own
    x[2::2] -= back[1:] @ inner[: len(over) - 1]
    x[::2][:count] -= on[:count] @ inner
    return x
