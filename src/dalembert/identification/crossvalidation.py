"""Blocked cross-validation on Gram matrices: what a choice of columns leaves of the torques of parts that it did not see."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.blocks import Grams

Array = NDArray[np.float64]

NOISELESS = 1e-8  # of a joint's squares: errors below this do not count, they are rounding
RIDGE = 1e-10  # of columns of length one: what holds those that a part of the log does not show


class CrossValidation:
    """Fits that leave out one part each, and their errors there, for any choice of columns.

    fitted, judged  Gram matrices of the equations as they are fitted and as they are judged
    size            P, how many columns there are
    start           (P,) the values from which columns depart that the log does not show
    precision       (P, P) of a prior around ``start``, or None
    weights         (n,) 1/σ_j
    usual           (n,) the squares per equation that errors are measured in
    """

    def __init__(
        self, fitted: Grams, judged: Grams, size: int, start: Array, weights: Array, usual: Array, precision: Array | None = None
    ) -> None:  # fmt: skip
        self.fitted, self.judged, self.size, self.start = fitted, judged, size, start
        self.weights, self.usual, self.precision = weights, usual, precision
        self.parts = judged.blocks.parts
        sums = np.zeros((self.parts + 1, size + 1, size + 1))
        for G, columns, w in zip(fitted.G, fitted.columns, weights, strict=True):
            at = np.append(columns, size)
            by_part = np.stack([G[fitted.blocks.part == k].sum(axis=0) for k in range(self.parts)])
            whole = by_part.sum(axis=0)
            for k in range(self.parts):
                sums[k][np.ix_(at, at)] += w**2 * (whole - by_part[k])
            sums[self.parts][np.ix_(at, at)] += w**2 * whole
        self.normal = sums  # the last is of all parts
        rows = judged.rows.sum(axis=0)
        self.counted = np.flatnonzero(rows > 0)  # blocks that have equations

    def solve(self, k: int, columns: NDArray[np.intp]) -> tuple[Array, float]:
        """(π (P,) of the fit without part k, the squares it leaves there); k = parts is the fit to all."""
        N = self.normal[k]
        A = N[np.ix_(columns, columns)]
        b = N[columns, -1] - A @ self.start[columns]
        if self.precision is not None:
            A = A + self.precision[np.ix_(columns, columns)]
        d = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-300))
        S = A * d[:, None] * d
        S[np.diag_indices_from(S)] += RIDGE
        x = d * np.linalg.solve(S, d * b)
        pi = np.zeros(self.size)
        pi[columns] = self.start[columns] + x
        full = np.append(pi, -1.0)
        at = np.append(columns, self.size)
        return pi, float(full[at] @ N[np.ix_(at, at)] @ full[at])

    def squares(self, pi: Array, part: int | None) -> Array:
        """(n, B) the squares that π leaves of the judged equations in the blocks of a part, or in all of them."""
        blocks = self.judged.blocks.part
        mine = np.arange(len(blocks)) if part is None else np.flatnonzero(blocks == part)
        out = np.zeros((len(self.judged.G), len(blocks)))
        full = np.append(pi, -1.0)
        for j, (G, columns) in enumerate(zip(self.judged.G, self.judged.columns, strict=True)):
            x = full[np.append(columns, self.size)]
            out[j, mine] = np.maximum(np.einsum("bij,i,j->b", G[mine], x, x, optimize=True), 0.0)
        return out

    def errors(self, variants: Sequence[NDArray[np.intp]]) -> tuple[Array, int]:
        """((n, B) squares on parts left out, the variant that fits all parts best).

        ``variants`` are sets of columns; in every fit the one is taken that leaves least of what it is fitted to.
        """
        out = np.zeros((len(self.judged.G), len(self.judged.blocks.part)))
        for k in range(self.parts):
            best = min((self.solve(k, columns) for columns in variants), key=lambda x: x[1])
            out += self.squares(best[0], k)
        last = [self.solve(self.parts, columns)[1] for columns in variants] if len(variants) > 1 else [0.0]
        return out, int(np.argmin(last))

    def scores(self, errors: Array) -> Array:
        """(B',) errors of every block that counts, in usual squares per equation, as a mean of the joints."""
        rows = np.maximum(self.judged.rows, 1.0)
        return (errors / rows / self.usual[:, None])[:, self.counted].mean(axis=0)

    def relative(self, errors: Array) -> float:
        """‖τ_measured − τ_predicted‖ / ‖τ_measured‖ over all parts and joints."""
        whole = sum(float(G[:, -1, -1].sum()) for G in self.judged.G)
        return float(np.sqrt(errors.sum() / max(whole, 1e-300)))


def usual_squares(judged: Grams, errors: Array) -> Array:
    """(n,) squares per equation of these errors, none below what rounding makes of the torques."""
    rows = np.maximum(judged.rows.sum(axis=1), 1.0)
    torques = np.array([float(G[:, -1, -1].sum()) for G in judged.G])
    return np.maximum(errors.sum(axis=1), NOISELESS * torques + 1e-300) / rows


def difference(a: Array, b: Array, parts: int) -> tuple[float, float]:
    """(mean, its standard error) of how much larger the scores a (B,) are than b.

    Neighbouring blocks resemble each other: the error is the larger of that over blocks and that over ``parts``.
    """
    d = a - b
    means = np.array([some.mean() for some in np.array_split(d, min(parts, len(d)))])
    errors = [float(x.std(ddof=1) / np.sqrt(len(x))) for x in (d, means) if len(x) > 1]
    return float(d.mean()), max(errors, default=0.0)
