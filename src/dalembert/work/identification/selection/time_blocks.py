"""The parts of a log that a cross-validation leaves out, one at a time: its runs, or blocks of time.

Blocks of time are so long that neighbouring ones are not copies of each other: longer than the correlation time of the
motion. Every part is divided into a few pieces, whose spread gives the standard error of a difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.base.wording import some
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.result import runs_of_pieces
from dalembert.work.logs.checks.extrapolation import leaves_range
from dalembert.work.logs.conditioning import Conditioned

PIECES = 4  # of a part: their spread gives the standard error
GAP = 1.0  # periods of the cut-off: excluded at the ends of a part, where the low-pass mixes it with others
LONGEST_GAP = 0.1  # of a part, at most
MEMORIES = 1.5  # minimum length of a part in correlation times of the motion
ALIKE = 0.2  # the correlation below which two instants of a motion are not alike
FEWEST = 4  # minimum number of kept samples per piece
MOST_RUNS = 20  # more runs are divided into blocks of time
SHORT_RUN = 0.2  # of the mean length of the runs: with a shorter one among them, blocks of time are used


class TooShortError(DalembertError):
    """A log that is too short to be divided into parts."""


@record
class TimeBlocks:
    """The piece of every kept sample of a log, −1 for those near another part; ``parts`` of ``PIECES`` pieces each."""

    labels: NDArray[np.intp]
    parts: int
    by_runs: bool

    def extrapolated(self, arm: Arm, ready: Conditioned) -> list[str]:
        """A sentence if some parts leave the range of the motion of the others, so that their errors are those of
        extrapolation."""
        motion, outside = {name: ready.at_kept(name) for name in ("q", "qd")}, []
        part = np.where(self.labels < 0, -1, self.labels // PIECES)
        for k in range(self.parts):
            mine, others = (
                {name: x[use] for name, x in motion.items()} for use in (part == k, (part != k) & (part >= 0))
            )
            if len(mine["q"]) and leaves_range(arm, "", mine, others):
                outside.append(str(k + 1))
        if not outside:
            return []
        kind = "runs" if self.by_runs else "parts of the log"
        return [
            f"{kind} {some(outside, 10)} of {self.parts} leave the range of the others: where they are predicted from the others, "
            "the selection judges extrapolation"
        ]


def time_blocks(ready: Conditioned, parts: int) -> TimeBlocks:
    """The runs of a log, or up to ``parts`` blocks of time."""
    sizes = np.array([len(indices) for indices in ready.kept])
    runs = runs_of_pieces(ready)
    lengths = np.bincount(runs, sizes)
    by_runs = 2 <= len(lengths) <= MOST_RUNS and lengths.min() > SHORT_RUN * lengths.mean()
    total = int(sizes.sum())
    if by_runs:
        part, count = np.repeat(runs, sizes), len(lengths)
    else:
        longest = memory(ready.qd[: int(sizes.max(initial=0))])
        count = min(parts, int(total / (MEMORIES * longest)), total // (PIECES * FEWEST))
        if count < 2:
            raise TooShortError(
                f"{ready.log.source}: {total * ready.every / ready.rate:.3g} s of motion are too short for two parts that differ"
            )
        part = np.arange(total) * count // total
    labels = np.empty(total, np.intp)
    for k in range(count):
        mine = np.flatnonzero(part == k)
        labels[mine] = PIECES * k + np.arange(len(mine)) * PIECES // max(len(mine), 1)
        gap = 0 if by_runs else int(min(GAP / ready.cutoff * ready.rate / ready.every, LONGEST_GAP * len(mine)))
        labels[mine[:gap]] = labels[mine[len(mine) - gap :]] = -1
    return TimeBlocks(labels, count, by_runs)


def memory(qd: Array) -> float:
    """The correlation time of a motion in samples: where the mean autocorrelation of the velocities falls below ``ALIKE``.

    >>> t = np.arange(0, 50, 0.1)
    >>> memory(np.sin(t)[:, None])
    14.0
    """
    centred = qd - qd.mean(axis=0)
    size = np.sqrt(np.sum(centred**2, axis=0))
    unit = centred[:, size > 0] / size[size > 0]
    if not unit.size:
        return float(len(qd))
    length = 1 << (2 * len(qd) - 1).bit_length()
    power = np.abs(np.fft.rfft(unit, length, axis=0)) ** 2
    correlation = np.fft.irfft(power.mean(axis=1), length)[: len(qd)]
    return float(np.argmax(correlation < ALIKE)) or float(len(qd))
