"""Covariances of least-squares estimates from the segments of a log.

The formulas for white or stationary noise assume more than the residuals fulfil: they are autocorrelated, larger at
reversals, and correlated between joints. Consecutive segments of time, in contrast, are nearly independent whatever
happens within them. With the evidence of every segment, a fit that leaves some out or counts some twice is small
linear algebra:

* :func:`jackknife`: every block is left out once. It yields the standard deviation of a fit; on simulated robots ±2σ
  covers 95 % (tests/soak_identification).
* :func:`bootstrap`: moving blocks are drawn with replacement, as a check of the jackknife.

The lag of the torques behind the positions is a column beside those of the parameters, −τ̇: uncertainty of the lag is
also uncertainty of the viscous friction and of the inertias.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.evidence import FINE, Evidence

FEWEST_BLOCKS = 15  # if the residuals have a long memory
MEMORIES = 4.0  # minimum length of a block in correlation times
SURE = 2.0  # minimum number of standard errors of a significant lag; a smaller lag is treated as an error
ALIKE = 4.0  # largest mean squared difference between the joints' lags, in squared standard errors
LARGEST_LAG = 0.02  # s: a larger apparent lag has another cause
LEVERAGE = 0.9  # largest contribution of a block to a parameter for which leaving it out is meaningful


class TorqueLags(NamedTuple):
    """The delay of the torques behind the states (s): for all joints together and for each joint, with standard errors.

    The lag of filters or of a bus is the same, or nearly so, for all joints. Presliding friction looks like a lag too,
    but differs between them.
    """

    lag: float
    error: float
    each: Array
    errors: Array

    @property
    def certain(self) -> bool:
        """Whether the joints have a common, significant lag of a size that filters and buses can cause."""
        apart = ((self.each - self.lag) / np.maximum(self.errors, 1e-300))[self.errors > 0]
        same = float(np.mean(apart**2)) < ALIKE if len(apart) else True
        return same and SURE * self.error < abs(self.lag) <= LARGEST_LAG


@record
class BlockFit:
    """A least-squares estimate and the evidence that it was computed from, for jackknife and bootstrap.

    weights  (n,) of the joints' equations
    fixed    the columns that keep their values
    lagging  whether the lag of the torques is unknown
    memory   the correlation time of the residuals in segments of time
    """

    evidence: Evidence
    weights: Array
    values: Array
    fixed: tuple[int, ...]
    lagging: bool = False
    memory: float = 0.0

    @property
    def block(self) -> int:
        """Segments per block: enough that blocks are nearly independent, as long as there are enough blocks."""
        longest = max(FINE, self.evidence.count // FEWEST_BLOCKS)
        return int(np.clip(np.ceil(MEMORIES * self.memory), FINE, longest))

    def _normal(self, together: int) -> tuple[Array, Array]:
        """(A, c): for every block the weighted normal matrix (B, b + n, b + n), and the gradient at the estimate (B, b + n).

        The columns are those of the parameters, then the lag of every joint; ``together`` is the number of segments
        that are summed.
        """
        evidence = self.evidence
        size = evidence.size + len(evidence.columns)
        starts = np.arange(0, evidence.count, together)
        A, c = np.zeros((len(starts), size, size)), np.zeros((len(starts), size))
        for j, (fine, columns, weight) in enumerate(zip(evidence.grams, evidence.columns, self.weights, strict=True)):
            G = np.add.reduceat(fine, starts) if together > 1 else fine
            at = np.append(columns, evidence.size + j)
            x = np.append(self.values[columns], evidence.lag)
            A[:, at[:, None], at] += weight**2 * G[:, :-1, :-1]
            c[:, at] += weight**2 * (G[:, :-1, -1] - G[:, :-1, :-1] @ x)
        return A, c

    def lags(self) -> TorqueLags:
        """The delay of the torques behind the states: common to all joints, and of every joint."""
        b, n = self.evidence.size, len(self.weights)
        (common, error), (each, errors) = (
            (self.evidence.lag + step[b:], np.sqrt(np.diag(self._left_out(H, s, back))[b:]))
            for H, s, back, step in (self._whitened(k, self.block) for k in (1, n))
        )
        return TorqueLags(float(common[0]), float(error[0]), each, errors)

    def _whitened(self, lags: int, together: int) -> tuple[Array, Array, Array, Array]:
        """(H, s, back, step) with one lag, with one per joint, or with none.

        H and s are the normal matrices of the segments, ``together`` of them summed, and the gradients at the best
        estimate, in coordinates in which the sum of H is 1; ``back`` maps to π_b and lags, and ``step`` leads from the
        present estimate to the best.
        """
        b, n = self.evidence.size, len(self.weights)
        free = [k for k in range(b) if k not in self.fixed]
        selector = np.zeros((b + n, len(free) + lags))
        selector[free, range(len(free))] = 1.0
        selector[b:, len(free) :] = np.eye(n) if lags == n else 1.0
        A, c = self._normal(together)
        A, c = selector.T @ A @ selector, c @ selector
        whole = A.sum(axis=0)
        d = 1.0 / np.sqrt(np.maximum(np.diag(whole), 1e-300))
        size, U = np.linalg.eigh(whole * d[:, None] * d)
        regular = size > 1e-13 * size.max(initial=0.0)
        T = (d[:, None] * U[:, regular]) / np.sqrt(size[regular])
        H, s, back = T.T @ A @ T, c @ T, selector @ T
        best = s.sum(axis=0)
        return H, s - H @ best, back, back @ best

    def jackknife(self) -> Array:
        """The covariance (b, b) of π_b from the changes when blocks of time are left out, one at a time."""
        H, s, back, _ = self._whitened(int(self.lagging), self.block)
        b = self.evidence.size
        return self._left_out(H, s, back)[:b, :b]

    def _left_out(self, H: Array, s: Array, back: Array) -> Array:
        """The covariance of π_b and lags from the changes when each block of segments is left out."""
        share, U = np.linalg.eigh(H)
        inside = np.einsum("bij,bi->bj", U, s) / (1.0 - np.clip(share, 0.0, LEVERAGE))
        change = np.einsum("bij,bj->bi", U, inside)
        count = len(H)
        return np.asarray((count - 1) / count * back @ (change.T @ change) @ back.T)

    def bootstrap(self, count: int, seed: int) -> Array:
        """The covariance (b, b) of π_b over ``count`` logs that are resampled from moving blocks of this one."""
        if not isinstance(count, int) or count < 2:
            raise DalembertError(f"count is {count!r}; it is the number of resampled logs and must be at least 2")
        rng = np.random.default_rng(seed)
        H, s, back, _ = self._whitened(int(self.lagging), 1)
        back = back[: self.evidence.size]
        total, block = self.evidence.count, self.block
        sums_H, sums_s = (np.concatenate([np.zeros((1, *x.shape[1:])), np.cumsum(x, axis=0)]) for x in (H, s))
        moving_H, moving_s = sums_H[block:] - sums_H[:-block], sums_s[block:] - sums_s[:-block]
        # all blocks are equally likely; the bias of a resampled log at the estimate itself is subtracted
        draws = rng.integers(len(moving_s), size=(count, max(2, round(total / block))))
        usual = moving_s.mean(axis=0)
        changes = np.array(
            [
                np.linalg.lstsq(moving_H[draw].sum(axis=0), (moving_s[draw] - usual).sum(axis=0), rcond=1e-10)[0]
                for draw in draws
            ]
        )
        changes -= changes.mean(axis=0)
        return np.asarray(back @ (changes.T @ changes / (count - 1)) @ back.T)


def standard_deviations(covariance: Array, names: Sequence[str], unknown: Sequence[str]) -> Array:
    """(b,) of parameters with these names; infinite for those that are not determined."""
    out = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    out[[name in unknown for name in names]] = np.inf
    return out
