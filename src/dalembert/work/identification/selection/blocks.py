"""A log in blocks of time: the Gram matrices of its equations, joint by joint and block by block, at several cut-offs.

Cross-validation only needs sums over blocks: with [Y, τ]ᵀ[Y, τ] of every block, a fit that leaves some out, and its
error on those, are small linear algebra for every choice of columns.

Errors at different cut-offs are compared in one common band: a low cut-off makes the torques smooth and easy to
predict, which is no merit. The band ends halfway, on a logarithmic scale, between the lowest and the highest cut-off:
above it the torques are noise and vibration, which no model predicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.covariance import runs_of_equal
from dalembert.work.logs import conditioning
from dalembert.work.logs.conditioning import Conditioned, Stretch
from dalembert.work.logs.log import Log
from dalembert.work.logs.scipy_package import scipy

PER_PART = 4  # blocks per part that is left out: their spread gives the standard error
BAND = 0.999  # the fraction of the torques' power that the highest cut-off passes
SLOWEST, FASTEST = 4.0, 60.0  # the lowest and the highest cut-off, relative to the conditioning.bandwidth of the motion
COUNT = 7  # number of cut-offs that are tried
OVERSAMPLED = 12.0  # samples that are kept per period of the highest cut-off
SHORTEST = 12.0  # minimum length of the longest stretch, in periods of the lowest cut-off
LONGEST_GAP = 0.1  # of a part: excluded from the evaluation at its ends, where the low-pass mixes it with others
REST = 0.1  # weight of a joint's equations while it is at rest
STILL = 0.01  # of its largest speed: below this it counts as at rest


class TooShortError(DalembertError):
    """A log that is too short to be divided into blocks."""


class Material:
    """A log that is prepared for evaluation at several cut-offs.

    stretches  (t, q, qd or None, tau) at equidistant samples, at a rate no higher than the highest cut-off needs
    rate       of those (Hz); thinned: whether it is lower than that of the log
    cutoffs    the cut-offs to be tried (Hz), ascending; band: the frequency up to which all are evaluated
    """

    def __init__(self, log: Log, parts: int, cutoff: float | None) -> None:
        self.log = log
        rate = 1.0 / conditioning.usual_step(log)
        motion, torque = power_limits(log, rate)
        longest = max(float(np.ptp(part.t)) for part in log.separate)
        slowest = min(1.0 / conditioning.usual_step(part) for part in log.separate)
        lowest = max(SLOWEST * motion, SHORTEST / longest)
        highest = min(max(torque, 2.5 * lowest), FASTEST * motion, 0.2 * slowest)
        if cutoff is None and SHORTEST / longest > highest:
            raise TooShortError(
                f"{log.source}: the longest stretch lasts {longest:.3g} s, which is shorter than {SHORTEST:g} periods of the highest "
                f"cut-off, {highest:.3g} Hz"
            )
        lowest = min(lowest, highest)
        self.cutoffs = np.geomspace(lowest, highest, COUNT) if cutoff is None else np.array([cutoff])
        self.band = float(np.sqrt(lowest * highest))
        every = max(1, int(rate / (OVERSAMPLED * max(self.band, float(self.cutoffs[-1])))))
        whole, _ = conditioning.even_stretches(
            log, 1.0 / rate, conditioning.GAP / float(np.sqrt(self.cutoffs[0] * self.cutoffs[-1]))
        )
        self.rate, self.thinned = rate / every, every > 1
        needed = 2 * round(conditioning.REACH / float(self.cutoffs[0]) * self.rate) + 4 * conditioning.SPACING
        self.stretches = [thinned for stretch in whole if len((thinned := thin(stretch, rate, every)).t) > needed]
        if not self.stretches:
            raise TooShortError(f"{log.source}: no stretch of the log is long enough for blocks of time")
        self.parts = parts
        self.part_count = parts

    def at(self, cutoff: float) -> tuple[Conditioned, Conditioned]:
        """(for the fit, for the evaluation): states low-passed at twice the cut-off, torques at the cut-off, and at the
        band."""
        smooth = [conditioning.filtered_states(stretch, self.rate, cutoff) for stretch in self.stretches]
        pieces = tuple(conditioning.with_rests(smooth, self.rate, cutoff))
        every = max(1, int(self.rate / (conditioning.SPACING * cutoff)))
        fit = Conditioned(pieces, self.rate, cutoff, every, 0, self.log)
        fit = replace(fit, edge=fit.reach)
        every = max(1, int(self.rate / (conditioning.SPACING * self.band)))
        lost = round(conditioning.REACH / float(self.cutoffs[0]) * self.rate)
        judged = Conditioned(pieces, self.rate, self.band, every, 0, self.log)
        return fit, replace(judged, edge=max(lost, judged.reach))

    def blocks(self, ready: Conditioned, gap: float) -> tuple[NDArray[np.intp], int]:
        """The block of every kept sample, −1 for those within ``gap`` seconds of another part; and the number of parts."""
        sizes = np.array([len(indices) for indices in ready.kept])
        runs = self._runs(ready)
        lengths = np.bincount(runs, sizes)
        if len(lengths) >= 3 and lengths.min() > 0.2 * lengths.mean() and len(lengths) <= 20:
            part = np.repeat(runs, sizes)
            count = len(lengths)
        else:
            count = self.parts
            part = np.arange(sizes.sum()) * count // max(int(sizes.sum()), 1)
        self.part_count = count
        inside = np.zeros(len(part), np.intp)
        near = np.zeros(len(part), bool)
        for k in range(count):
            mine = np.flatnonzero(part == k)
            inside[mine] = np.arange(len(mine)) * PER_PART // max(len(mine), 1)
            margin = int(min(gap * ready.rate / ready.every, LONGEST_GAP * len(mine)))
            near[mine[:margin]] = near[mine[len(mine) - margin :]] = True
        block = PER_PART * part + inside
        return np.where(near, -1, block), count

    def _runs(self, ready: Conditioned) -> NDArray[np.intp]:
        """The run that each piece belongs to."""
        ends = [log.t.max() for log in self.log.separate]
        return np.minimum(np.searchsorted(ends, [piece.t[0] for piece in ready.pieces]), len(ends) - 1)


def thin(log: Log, rate: float, every: int) -> Log:
    """One sample in ``every``, after low-pass filtering of all but the temperatures."""
    if every == 1:
        return log
    smooth = log.mapped(lambda x: conditioning.low_pass(x, rate, 0.4 * rate / every), "q", "qd", "tau")
    return smooth.rows(slice(None, None, every))


def power_limits(log: Log, rate: float) -> tuple[float, float]:
    """The frequencies (Hz) below which 99 % of the motion's and 99.9 % of the torques' power lie, pooled over all runs."""
    limits: list[list[tuple[int, float]]] = [[], []]  # (samples, frequency) of every run: of its motion, of its torques
    for part in log.separate:
        own = 1.0 / conditioning.usual_step(part)
        g, power = scipy.signal.welch(part.tau, own, nperseg=min(len(part), int(20 * own)), axis=0, detrend="linear")
        motion = conditioning.bandwidth(*conditioning.spectrum(part, own), conditioning.ENERGY, conditioning.USUAL)
        torque = conditioning.bandwidth(g, conditioning.above_noise(power), BAND, 2 * conditioning.USUAL)
        for values, limit in zip(limits, (motion, torque), strict=True):
            values += [] if limit is None else [(len(part), limit)]

    def pooled(values: list[tuple[int, float]], instead: float) -> float:
        weights = np.array([n for n, _ in values], float)
        return float(weights @ [x for _, x in values] / weights.sum()) if values else instead

    motion = max(pooled(limits[0], 1.0), 1e-3)
    return motion, pooled(limits[1], 10.0 * motion)


@record
class Grams:
    """[Y, τ]ᵀ[Y, τ] of every block and joint.

    G        for each joint (B, p_j + 1, p_j + 1)
    columns  for each joint the columns that act on it
    rows     (n, B) the number of equations
    parts    number of parts that are left out, of ``PER_PART`` blocks each
    """

    G: list[Array]
    columns: list[NDArray[np.intp]]
    rows: Array
    parts: int

    @cached_property
    def without_parts(self) -> list[Array]:
        """For each joint the sums over all blocks except those of one part, and over all blocks: (parts + 1, p_j + 1,
        p_j + 1)."""
        by_part = [np.add.reduceat(G, range(0, self.parts * PER_PART, PER_PART), axis=0) for G in self.G]
        return [np.concatenate([x.sum(axis=0) - x, x.sum(axis=0)[None]]) for x in by_part]


Rows = Callable[[Stretch], list[Array]]  # (columns, samples) for each joint, from a block of samples
Weights = Callable[[Stretch, NDArray[np.intp]], Array]  # (n, M) of the equations of the kept samples


def moving_weights(piece: Stretch, indices: NDArray[np.intp], fastest: Array) -> Array:
    """(M, n) weights of the kept equations, small for a joint at rest; ``fastest`` (n,) are the largest speeds."""
    moving = (np.abs(piece.qd[indices]) >= STILL * fastest) & ~piece.resting[indices]
    return np.where(moving, 1.0, REST)


def several_grams(
    low_passes: Sequence[Conditioned], labels: Sequence[tuple[NDArray[np.intp], int]],
    columns: Sequence[NDArray[np.intp]], rows: Rows, weights: Weights,
) -> list[Grams]:  # fmt: skip
    """The Gram matrices of the same pieces with several low-passes, computing the equations only once."""
    reach = max(ready.reach for ready in low_passes)
    sums = [_GramSums(ready, label, parts, columns) for ready, (label, parts) in zip(low_passes, labels, strict=True)]
    size = max(conditioning.BLOCK, conditioning.WIDE * reach)
    for number, piece in enumerate(low_passes[0].pieces):
        for start in range(0, len(piece.t), size):
            inside = [each.indices(number, start, start + size) for each in sums]
            if not any(map(len, inside)):
                continue
            first = max(start - reach, 0)
            part = piece.part(slice(first, start + size + reach))
            unit_torques = rows(part)
            for each, indices in zip(sums, inside, strict=True):
                if len(indices):
                    each.take(part, indices - first, unit_torques, weights(part, indices - first))
    return [Grams(each.G, list(columns), each.counts, each.parts) for each in sums]


class _GramSums:
    """Accumulated Gram matrices of blocks."""

    def __init__(
        self, ready: Conditioned, label: NDArray[np.intp], parts: int, columns: Sequence[NDArray[np.intp]]
    ) -> None:
        self.ready, self.label, self.parts, self.done = ready, label, parts, 0
        self.G = [np.zeros((PER_PART * parts, len(places) + 1, len(places) + 1)) for places in columns]
        self.counts = np.zeros((len(columns), PER_PART * parts))

    def indices(self, piece: int, start: int, end: int) -> NDArray[np.intp]:
        """The kept ones among some samples of a piece."""
        indices = self.ready.kept[piece]
        return indices[slice(*np.searchsorted(indices, [start, end]))]

    def take(self, piece: Stretch, indices: NDArray[np.intp], rows: list[Array], weights: Array) -> None:
        """Add the next samples of all joints."""
        mine = self.label[self.done : self.done + len(indices)]
        self.done += len(indices)
        tau = self.ready.low_passed(piece.tau.T, indices)
        runs = [(b, some) for b, some in runs_of_equal(mine) if b >= 0]
        for j, (G, columns) in enumerate(zip(self.G, rows, strict=True)):
            X = np.vstack([self.ready.low_passed(columns, indices), tau[j]])
            X *= weights[j]
            for b, some in runs:
                G[b] += X[:, some] @ X[:, some].T
                self.counts[j, b] += np.count_nonzero(weights[j, some] == 1.0)
