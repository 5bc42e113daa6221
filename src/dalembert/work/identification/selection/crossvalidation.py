"""Blocked cross-validation on Gram matrices: the prediction errors of a choice of columns on parts left out of the fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.work.identification.selection.blocks import PER_PART, Grams, TooShortError

NOISELESS = 1e-8  # of a joint's squares: smaller errors are rounding errors and ignored
RIDGE = 1e-10  # for columns of length one: regularises those that a part of the log does not determine


class CrossValidation:
    """Fits that leave out one part each, and their errors there, for any choice of columns.

    fitted, judged  Gram matrices of the equations for fitting and for evaluation
    start           (P,) initial values of all columns, kept by those that the log does not determine
    precision       (P, P) of a prior around ``start``, or None
    weights         (n,) 1/σ_j; 1 by default
    usual           (n,) squares per equation in units of which errors are expressed; 1 by default
    """

    def __init__(
        self, fitted: Grams, judged: Grams, start: Array, weights: Array | None = None, usual: Array | None = None
    ) -> None:
        self.fitted, self.judged, self.start, self.size = fitted, judged, start, len(start)
        self.weights, self.usual = (np.ones(len(fitted.G)) if x is None else x for x in (weights, usual))
        self.precision: Array | None = None
        self.parts, size = judged.parts, self.size
        sums = np.zeros((self.parts + 1, size + 1, size + 1))
        for others, columns, w in zip(fitted.without_parts, fitted.columns, self.weights, strict=True):
            at = np.append(columns, size)
            sums[:, at[:, None], at] += w**2 * others
        self.normal = sums  # the last is that of all parts
        rows = judged.rows.sum(axis=0)
        self.counted = np.flatnonzero(rows > 0)  # blocks that have equations
        if len(set((self.counted // PER_PART).tolist())) < 2:
            raise TooShortError("the arm moves in fewer than two of the parts of the log that cross-validation needs")

    def fit(self, columns: NDArray[np.intp]) -> Array:
        """π (P,) of the fit to all parts."""
        return self._solved(slice(self.parts, self.parts + 1), columns)[0][0]

    def _solved(self, which: slice, columns: NDArray[np.intp]) -> tuple[Array, Array]:
        """(π (K, P), squared residuals (K,)) of several fits, each without its part."""
        at = np.append(columns, self.size)
        N = self.normal[which, at[:, None], at]
        x = regularised(
            N, self.start[columns], None if self.precision is None else self.precision[np.ix_(columns, columns)]
        )
        pi = np.zeros((len(N), self.size))
        pi[:, columns] = x
        full = np.column_stack([x, np.full(len(N), -1.0)])
        return pi, np.sum(full * (N @ full[:, :, None])[:, :, 0], axis=1)

    def squares(self, pi: Array, part: int | None) -> Array:
        """(n, B) the squared residuals of π in the evaluation equations, in the blocks of a part or in all of them."""
        out = np.zeros_like(self.judged.rows)
        mine = slice(None) if part is None else slice(PER_PART * part, PER_PART * (part + 1))
        full = np.append(pi, -1.0)
        for j, (G, columns) in enumerate(zip(self.judged.G, self.judged.columns, strict=True)):
            x = full[np.append(columns, self.size)]
            out[j, mine] = np.maximum(G[mine] @ x @ x, 0.0)
        return out

    def errors(self, variants: Sequence[NDArray[np.intp]]) -> tuple[Array, int]:
        """((n, B) squared residuals on parts left out, the variant that fits all parts best).

        ``variants`` are sets of columns; every fit uses the one with the smallest residual on the data that it is
        fitted to.
        """
        out = np.zeros_like(self.judged.rows)
        count = self.parts + (len(variants) > 1)  # the fit to all parts decides the variant
        fits = [self._solved(slice(0, count), columns) for columns in variants]
        best = np.argmin([left for _, left in fits], axis=0)
        for k in range(self.parts):
            out += self.squares(fits[best[k]][0][k], k)
        return out, int(best[-1]) if len(variants) > 1 else 0

    def scores(self, errors: Array) -> Array:
        """(B',) errors of every block with equations, in usual squares per equation, averaged over the joints."""
        rows = np.maximum(self.judged.rows, 1.0)
        return (errors / rows / self.usual[:, None])[:, self.counted].mean(axis=0)

    def floor(self, joint: int) -> float:
        """The contribution to a score of errors that are negligible, being due to rounding and sampling."""
        torques, rows = float(self.judged.G[joint][:, -1, -1].sum()), max(float(self.judged.rows[joint].sum()), 1.0)
        return NOISELESS * torques / rows / float(self.usual[joint]) / len(self.judged.G)

    def relative(self, errors: Array) -> float:
        """‖τ_measured − τ_predicted‖ / ‖τ_measured‖ over all parts and joints."""
        whole = sum(float(G[:, -1, -1].sum()) for G in self.judged.G)
        return float(np.sqrt(errors.sum() / max(whole, 1e-300)))


def regularised(N: Array, start: Array, precision: Array | None = None) -> Array:
    """(K, p) least squares from [Y, τ]ᵀ[Y, τ] (K, p + 1, p + 1), with a prior around ``start`` (p,) of this precision."""
    A = N[:, :-1, :-1]
    b = N[:, :-1, -1] - A @ start
    if precision is not None:
        A = A + precision
    d = 1.0 / np.sqrt(np.maximum(np.diagonal(A, axis1=1, axis2=2), 1e-300))
    S = A * d[:, :, None] * d[:, None, :]
    S[:, np.arange(len(start)), np.arange(len(start))] += RIDGE
    return np.asarray(start + d * np.linalg.solve(S, (d * b)[:, :, None])[:, :, 0])


def joint_noise(totals: Sequence[Array], columns: Sequence[NDArray[np.intp]], rows: Array, pi: Array) -> Array:
    """σ_j (n,) of π in the equations with these Gram matrices and numbers of rows; none below 1e-6 of the largest."""
    full = [np.append(pi[at], -1.0) for at in columns]
    left = [x @ G @ x for G, x in zip(totals, full, strict=True)]
    noise = np.sqrt(np.maximum(left, 0.0) / np.maximum(rows.sum(axis=1), 1.0))
    return np.maximum(noise, 1e-6 * max(float(noise.max()), 1e-30))


def noise_weights(
    fitted: Grams, judged: Grams, start: Array, columns: NDArray[np.intp], totals: Sequence[Array]
) -> tuple[Array, Array]:
    """1/σ_j (n,) of the noise that remains after fitting some columns to all parts, and that fit (P,)."""
    weights = None
    for _ in range(2):
        pi = CrossValidation(fitted, judged, start, weights).fit(columns)
        weights = 1.0 / joint_noise(totals, fitted.columns, fitted.rows, pi)
    assert weights is not None
    return weights, pi


def usual_squares(judged: Grams, errors: Array) -> Array:
    """(n,) squares per equation of these errors, none below the rounding errors of the torques."""
    rows = np.maximum(judged.rows.sum(axis=1), 1.0)
    torques = np.array([float(G[:, -1, -1].sum()) for G in judged.G])
    return np.maximum(errors.sum(axis=1), NOISELESS * torques + 1e-300) / rows


def difference(a: Array, b: Array, parts: int) -> tuple[float, float]:
    """(mean, its standard error) of the difference between the scores a (B,) and b.

    Neighbouring blocks are correlated: the error is the larger of that over blocks and that over ``parts``.
    """
    d = a - b
    means = np.array([some.mean() for some in np.array_split(d, min(parts, len(d)))])
    errors = [float(x.std(ddof=1) / np.sqrt(len(x))) for x in (d, means) if len(x) > 1]
    return float(d.mean()), max(errors, default=0.0)


def relative_gain(a: Array, b: Array, parts: int) -> tuple[float, float]:
    """(mean, its standard error) of the difference between the scores a (B,) and b, relative to a."""
    gain, spread = difference(a, b, parts)
    size = max(float(a.mean()), 1e-300)
    return gain / size, spread / size


def better_in(a: Array, b: Array, parts: int) -> float:
    """The fraction of the parts in which the scores b (B,) are smaller than a.

    >>> better_in(np.array([2.0, 2.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.5, 3.0]), 2)
    0.5
    """
    return float(np.mean([some.mean() > 0 for some in np.array_split(a - b, min(parts, len(a)))]))
