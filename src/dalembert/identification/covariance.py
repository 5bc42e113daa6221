"""Covariances of least-squares estimates from what segments of a log say on their own.

A formula for white or for stationary noise asks for more than residuals keep to: they are autocorrelated, larger at
reversals, and correlated between joints. Segments of time, one after another, are nearly independent whatever happens in
them. With the Gram matrices of every segment, a fit that leaves some out or counts some twice is small linear algebra:

* :func:`jackknife`: every block is left out once. It is the standard deviation of a fit; on simulated robots ±2σ
  covers 95 % (tests/soak_identification).
* :func:`bootstrap`: moving blocks are drawn with replacement. It checks the former.

The lag of the torques behind the positions is a column beside those of the parameters, −τ̇: what is not known of the lag
is not known of the viscous friction and of the inertias either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.environment.brief import brief
from dalembert.errors import DalembertError

Array = NDArray[np.float64]

BLOCKS = 40  # that are left out one at a time
FEWEST_BLOCKS = 15  # where the residuals have a long memory
FINE = 3  # segments a block, between which moving blocks may begin
PER_BLOCK = 8  # kept samples a block, at least
MEMORIES = 4.0  # correlation times a block, at least
LEVERAGE = 0.9  # what a block may count of a parameter: leaving out more than that says nothing about the rest


@brief
@dataclass(frozen=True, eq=False)
class Segments:
    """The Gram matrices of a log's equations, segment by segment of time.

    G        for every joint (S, p + 2, p + 2): of its columns, −τ̇ and τ
    columns  for every joint the base parameters (p,) that its columns stand for
    size     how many base parameters there are
    memory   the residuals' correlation time in segments
    lagging  whether the lag of the torques was estimated too
    """

    G: tuple[Array, ...]
    columns: tuple[NDArray[np.intp], ...]
    size: int
    lagging: bool
    memory: float = 0.0

    @property
    def count(self) -> int:
        """How many segments there are."""
        return len(self.G[0])

    @property
    def block(self) -> int:
        """Segments a block: enough that blocks are nearly independent, as long as there are enough blocks."""
        longest = max(FINE, self.count // FEWEST_BLOCKS)
        return int(np.clip(np.ceil(MEMORIES * self.memory), FINE, longest))

    def normal(self, weights: Array, values: Array, lag: float) -> tuple[Array, Array]:
        """(A, c): of every segment the weighted normal matrix (S, b + 1, b + 1), and the gradient at an estimate (S, b + 1)."""
        A = np.zeros((self.count, self.size + 1, self.size + 1))
        c = np.zeros((self.count, self.size + 1))
        for G, columns, weight in zip(self.G, self.columns, weights, strict=True):
            at = np.append(columns, self.size)
            x = np.append(values[columns], lag)
            A[:, at[:, None], at] += weight**2 * G[:, :-1, :-1]
            c[:, at] += weight**2 * (G[:, :-1, -1] - G[:, :-1, :-1] @ x)
        return A, c


class SegmentSums:
    """Takes in equations in the order of time, and sums their Gram matrices over segments.

    ``rows`` is how many instants there are in all.
    """

    def __init__(self, columns: Sequence[NDArray[np.intp]], size: int, rows: int) -> None:
        self.columns, self.size, self.rows, self.done = tuple(columns), size, rows, 0
        count = FINE * int(np.clip(rows // PER_BLOCK, 2, BLOCKS))
        self.G = tuple(np.zeros((count, len(x) + 2, len(x) + 2)) for x in columns)

    def take(self, equations: Sequence[Array]) -> None:
        """The next instants: for every joint [columns, −τ̇, τ] (p + 2, M), weighted."""
        count, instants = len(self.G[0]), equations[0].shape[1]
        label = (self.done + np.arange(instants)) * count // self.rows
        self.done += instants
        starts = np.flatnonzero(np.diff(label, prepend=-1))
        for start, end in zip(starts, [*starts[1:], instants], strict=True):
            for G, X in zip(self.G, equations, strict=True):
                part = X[:, start:end]
                G[label[start]] += part @ part.T

    def segments(self, lagging: bool) -> Segments:
        """What was summed."""
        return Segments(self.G, self.columns, self.size, lagging)


@brief
@dataclass(frozen=True, eq=False)
class BlockFit:
    """A least-squares estimate and the segments that it was made of: what leaving out and drawing again needs.

    weights  (n,) of the joints' equations
    fixed    the columns that keep their values
    """

    segments: Segments
    weights: Array
    values: Array
    lag: float
    fixed: tuple[int, ...]

    def _whitened(self) -> tuple[Array, Array, Array]:
        """(H, s, back): normal matrices and gradients in coordinates where their sum is 1, and the way back to π_b."""
        b = self.segments.size
        free = [k for k in range(b) if k not in self.fixed] + [b] * self.segments.lagging
        A, c = self.segments.normal(self.weights, self.values, self.lag)
        A, c = A[:, free][:, :, free], c[:, free]
        whole = A.sum(axis=0)
        d = 1.0 / np.sqrt(np.maximum(np.diag(whole), 1e-300))
        size, U = np.linalg.eigh(whole * d[:, None] * d)
        kept = size > 1e-13 * size.max(initial=0.0)
        T = (d[:, None] * U[:, kept]) / np.sqrt(size[kept])
        back = np.zeros((b, T.shape[1]))
        parameters = [i for i, k in enumerate(free) if k < b]
        back[[free[i] for i in parameters]] = T[parameters]
        return T.T @ A @ T, c @ T, back

    def jackknife(self) -> Array:
        """The covariance (b, b) of π_b: how it changes when blocks of time are left out, one at a time."""
        H, s, back = self._whitened()
        starts = np.arange(0, self.segments.count, self.segments.block)
        H, s = np.add.reduceat(H, starts), np.add.reduceat(s, starts)
        share, U = np.linalg.eigh(H)
        inside = np.einsum("bij,bi->bj", U, s) / (1.0 - np.clip(share, 0.0, LEVERAGE))
        change = np.einsum("bij,bj->bi", U, inside)
        count = len(starts)
        return np.asarray((count - 1) / count * back @ (change.T @ change) @ back.T)

    def bootstrap(self, count: int, seed: int) -> Array:
        """The covariance (b, b) of π_b over ``count`` logs that are drawn from moving blocks of this one."""
        if not isinstance(count, int) or count < 2:
            raise DalembertError(f"count is {count!r}; it is how many times the log is drawn again, and at least 2")
        rng = np.random.default_rng(seed)
        H, s, back = self._whitened()
        total, block = self.segments.count, self.segments.block
        sums_H, sums_s = (np.concatenate([np.zeros((1, *x.shape[1:])), np.cumsum(x, axis=0)]) for x in (H, s))
        moving_H, moving_s = sums_H[block:] - sums_H[:-block], sums_s[block:] - sums_s[:-block]
        # every block is as likely to be drawn; what a drawn log has too much of at the estimate itself is taken off
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


def block_fit(
    segments: Segments, weights: Array, values: Array, lag: float, fixed: Sequence[int], times: Array, instants: int
) -> BlockFit:
    """The estimate with blocks as long as the memory of its residuals asks for: ``times`` (n,) in kept samples."""
    memory = float(np.median(times)) * segments.count / max(instants, 1)
    return BlockFit(replace(segments, memory=memory), weights, values, lag, tuple(fixed))
