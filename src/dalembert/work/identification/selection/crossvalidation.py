"""Blocked cross-validation on the evidence of a log: the prediction errors of a choice of columns on parts left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.work.identification.fitting.evidence import Evidence
from dalembert.work.identification.selection.time_blocks import PIECES, TooShortError

NOISELESS = 1e-8  # of a joint's squares: smaller errors are rounding errors and ignored
RIDGE = 1e-10  # for columns of length one: regularises those that a part of the log does not determine


class CrossValidation:
    """Fits that leave out one part each, and their errors there, for any choice of columns.

    evidence   the equations, in ``PIECES`` blocks for each part
    start      (P,) initial values of all columns, kept by those that the log does not determine
    weights    (n,) 1/σ_j; 1 by default
    usual      (n,) squares per equation in units of which errors are expressed; 1 by default
    precision  (P, P) of a prior around ``start``, or None
    """

    def __init__(self, evidence: Evidence, start: Array, weights: Array | None = None) -> None:
        self.evidence, self.start, self.size = evidence, start, evidence.size
        self.weights = np.ones(len(evidence.columns)) if weights is None else weights
        self.usual = np.ones(len(evidence.columns))
        self.precision: Array | None = None
        self.parts = evidence.count // PIECES
        self.grams = [np.delete(np.delete(G, -2, axis=1), -2, axis=2) for G in evidence.grams]  # of [Y, τ]
        self.torques = np.array([G[:, -1, -1].sum() for G in self.grams])  # squares of each joint's torques
        self.normal = self.without_parts(self.weights)
        self.rows = evidence.rows
        self.counted = np.flatnonzero(self.rows.sum(axis=0) > 0)  # blocks that have equations
        if len(set((self.counted // PIECES).tolist())) < 2:
            raise TooShortError("the arm moves in fewer than two of the parts of the log that cross-validation needs")

    def without_parts(self, weights: Array) -> Array:
        """The weighted sums over all blocks except those of one part and, last, over all: (parts + 1, P + 1, P + 1)."""
        sums = np.zeros((self.parts + 1, self.size + 1, self.size + 1))
        for G, columns, w in zip(self.grams, self.evidence.columns, weights, strict=True):
            by_part = np.add.reduceat(G, range(0, self.parts * PIECES, PIECES), axis=0)
            whole, at = by_part.sum(axis=0), np.append(columns, self.size)
            sums[:, at[:, None], at] += w**2 * np.concatenate([whole - by_part, whole[None]])
        return sums

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

    def squares(self, pi: Array, part: int | None = None) -> Array:
        """(n, B) the squared residuals of π in the blocks of a part or in all of them."""
        out = np.zeros_like(self.rows)
        mine = slice(None) if part is None else slice(PIECES * part, PIECES * (part + 1))
        full = np.append(pi, -1.0)
        for j, (G, columns) in enumerate(zip(self.grams, self.evidence.columns, strict=True)):
            x = full[np.append(columns, self.size)]
            out[j, mine] = np.maximum(G[mine] @ x @ x, 0.0)
        return out

    def errors(self, variants: Sequence[NDArray[np.intp]]) -> tuple[Array, int]:
        """((n, B) squared residuals on parts left out, the variant that fits all parts best).

        ``variants`` are sets of columns; every fit uses the one with the smallest residual on the data that it is
        fitted to.
        """
        out = np.zeros_like(self.rows)
        count = self.parts + (len(variants) > 1)  # the fit to all parts decides the variant
        fits = [self._solved(slice(0, count), columns) for columns in variants]
        best = np.argmin([left for _, left in fits], axis=0)
        for k in range(self.parts):
            out += self.squares(fits[best[k]][0][k], k)
        return out, int(best[-1]) if len(variants) > 1 else 0

    def best(self, variants: Sequence[NDArray[np.intp]]) -> int:
        """The set of columns that fits all parts best."""
        whole = slice(self.parts, self.parts + 1)
        return int(np.argmin([self._solved(whole, columns)[1][0] for columns in variants]))

    def noise(self, pi: Array) -> Array:
        """σ_j (n,) of π in all equations; none below 1e-6 of the largest."""
        rows = np.maximum(self.rows.sum(axis=1), 1.0)
        noise = np.sqrt(self.squares(pi).sum(axis=1) / rows)
        return np.maximum(noise, 1e-6 * max(float(noise.max()), 1e-30))

    def rates(self, errors: Array) -> Array:
        """(n, B') errors of every block with equations, in usual squares per equation."""
        return (errors / np.maximum(self.rows, 1.0) / self.usual[:, None])[:, self.counted]

    def scores(self, errors: Array) -> Array:
        """(B',) errors of every block with equations, in usual squares per equation, averaged over the joints."""
        return np.asarray(self.rates(errors).mean(axis=0))

    def share(self, errors: Array, joint: int) -> float:
        """The contribution of a joint to the score of these errors."""
        return max(float(self.rates(errors)[joint].mean()), 1e-12) / len(self.grams)

    def floor(self, joint: int) -> float:
        """The contribution to a score of errors that are negligible, being due to rounding and sampling."""
        rows = max(float(self.rows[joint].sum()), 1.0)
        return float(NOISELESS * self.torques[joint] / rows / self.usual[joint] / len(self.grams))

    def relative(self, errors: Array) -> float:
        """‖τ_measured − τ_predicted‖ / ‖τ_measured‖ over all parts and joints."""
        return float(np.sqrt(errors.sum() / max(sum(self.torques.tolist()), 1e-300)))


def weighted_study(evidence: Evidence, start: Array, columns: NDArray[np.intp]) -> CrossValidation:
    """The cross-validation with every joint weighted by the noise that remains after fitting some columns to all parts,
    and errors in units of those with these columns, none below the rounding errors of the torques."""
    cv = CrossValidation(evidence, start)
    for _ in range(2):
        cv = CrossValidation(evidence, start, 1.0 / cv.noise(cv.fit(columns)))
    errors, floor = cv.errors([columns])[0], NOISELESS * cv.torques + 1e-300
    cv.usual = np.maximum(errors.sum(axis=1), floor) / np.maximum(cv.rows.sum(axis=1), 1.0)
    return cv


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


def difference(a: Array, b: Array, parts: int) -> tuple[float, float]:
    """(mean, its standard error) of the difference between the scores a (B,) and b.

    Neighbouring blocks are correlated: the error is the larger of that over blocks and that over ``parts``.
    """
    d = a - b
    means = np.array([some.mean() for some in np.array_split(d, min(parts, len(d)))])
    errors = [float(x.std(ddof=1) / np.sqrt(len(x))) for x in (d, means) if len(x) > 1]
    return float(d.mean()), max(errors, default=0.0)


def better_in(a: Array, b: Array, parts: int) -> float:
    """The fraction of the parts in which the scores b (B,) are smaller than a.

    >>> better_in(np.array([2.0, 2.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.5, 3.0]), 2)
    0.5
    """
    return float(np.mean([some.mean() > 0 for some in np.array_split(a - b, min(parts, len(a)))]))
