"""Rest phases of the joints of a log: when the velocity is only noise, and in which direction friction acts meanwhile.

The velocity of a joint at rest is noise, and so is its sign: dry friction computed from it would jump between its two
levels. A joint is at rest while its speed stays below a threshold set by the noise of its own velocity, for at least
one period of the cut-off; a reversal passes through zero more quickly and is not a rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record

Mask = NDArray[np.bool_]

SHARE = 1e-3  # of a joint's largest speed: below it even a noise-free joint is at rest
NOISE = 3.0  # standard deviations of the velocity noise: below it a rest may begin
LEAVE = 2.0  # times that speed: above it a rest ends
QUIET = 0.1  # share of the time blocks, those with the least variation, that show the noise; the others contain motion
BENT = 2.0  # largest ratio of the variation of noise about a linear trend to that about a parabola, within a period
CREEP = 1e-9  # rad/s or m/s: the velocity assigned to a joint at rest; its sign is the direction of friction


def rest_speeds(velocities: Sequence[Array], window: int) -> Array:
    """The speed (n,) below which each joint may be at rest, from all stretches (N, n) of a log.

    ``window`` is a period of the cut-off in samples. The noise is the residual of the velocity about a linear trend
    over a period, in the tenth of all periods in which it is smallest.
    """
    fastest = np.max([np.abs(qd).max(axis=0) for qd in velocities], axis=0)
    blocks = [_noise(qd, window) for qd in velocities]
    return np.maximum(NOISE * np.quantile(np.concatenate(blocks), QUIET, axis=0), SHARE * fastest)


def _noise(qd: Array, window: int) -> Array:
    """RMS residual of the velocity about its linear trend, in blocks of one period: (blocks, n).

    A fast motion is curved within a period, which is not noise, so the noise is at most ``BENT`` times the residual
    about a parabola.
    """
    window = max(2, min(window, len(qd)))
    count = len(qd) // window
    rows = qd[: count * window].reshape(count, window, -1)
    ramp = np.arange(window) - 0.5 * (window - 1)
    bend = ramp**2 - np.mean(ramp**2)
    left = np.einsum("bwn,bwn->bn", rows, rows) / window - rows.mean(axis=1) ** 2
    trend = np.einsum("w,bwn->bn", ramp, rows) ** 2 / (ramp @ ramp) / window
    noise = np.sqrt(np.maximum(left - trend, 0.0))
    if window < 4:  # too few samples for a parabola
        return noise
    curvature = np.einsum("w,bwn->bn", bend, rows) ** 2 / (bend @ bend) / window
    return np.minimum(noise, BENT * np.sqrt(np.maximum(left - trend - curvature, 0.0)))


@record
class Rests:
    """When the joints of a stretch are at rest: resting (N, n) bool, and direction (N, n) ±1, or 0 if unknown.

    The direction is that of the last motion; before its first motion a joint has the direction of that motion, and a
    joint that never moves has none. While a joint moves, the sign of its own velocity applies, and the direction is 0.
    """

    resting: Mask
    direction: NDArray[np.int8]

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> Rests:
        """Some of its samples."""
        return Rests(self.resting[rows], self.direction[rows])

    def held(self, qd: Array) -> Array:
        """The velocities (N, n), reduced to a negligible value in the direction of the last motion during rests."""
        return np.where(self.resting, CREEP * self.direction, qd)

    def stopped(self, x: Array) -> Array:
        """Velocities or accelerations (N, n), set to zero while a joint is at rest."""
        return np.where(self.resting, 0.0, x)


def rests(qd: Array, speeds: Array, shortest: int) -> Rests:
    """The rests in one stretch with velocities (N, n): below ``speeds`` (n,) for at least ``shortest`` samples.

    >>> qd = np.concatenate([np.ones(10), 1e-4 * (-1.0) ** np.arange(10), -np.ones(10)])[:, None]
    >>> rest = rests(qd, np.array([1e-3]), 5)
    >>> np.flatnonzero(rest.resting).tolist() == list(range(10, 20)), rest.held(qd)[[0, 10, 19, 20], 0].tolist()
    (True, [1.0, 1e-09, 1e-09, -1.0])
    """
    resting, direction = np.zeros(qd.shape, bool), np.zeros(qd.shape, np.int8)
    for j, speed in enumerate(speeds):
        column = np.ascontiguousarray(qd[:, j])
        size = np.abs(column)
        slow, quick = np.flatnonzero(size <= speed), np.flatnonzero(size > LEAVE * speed)
        if not len(slow):
            continue
        # slow samples belong to one rest unless the joint is fast in between
        before = np.searchsorted(quick, slow)
        cuts = np.flatnonzero(np.diff(before)) + 1
        first, last = np.append(0, cuts), np.append(cuts, len(slow)) - 1
        long = slow[last] - slow[first] + 1 >= shortest
        begins, ends, before = slow[first][long], slow[last][long] + 1, before[first][long]
        signs = np.zeros(len(quick) + 2, np.int8)
        signs[1:-1] = np.sign(column[quick])
        directions = np.where(signs[before] != 0, signs[before], signs[before + 1])
        edges = np.zeros((2, len(column) + 1), np.int8)
        edges[0, begins], edges[1, begins] = 1, directions
        edges[0, ends], edges[1, ends] = edges[0, ends] - 1, edges[1, ends] - directions
        resting[:, j], direction[:, j] = np.cumsum(edges[:, :-1], axis=1, dtype=np.int8)
    return Rests(resting, direction)
