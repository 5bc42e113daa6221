"""Garbage rows: finite but physically impossible numbers, as left in a log by uninitialised buffers.

Uninitialised memory reads as numbers of any magnitude, 1e282 next to 1e-310, and as time stamps of 0. A few such rows
are dropped and counted; if there are many, the column does not have the assumed meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array

Rows = NDArray[np.bool_]

BEYOND = 1e8  # rad, rad/s, N m, or any other unit: no log of an arm contains such values
FAR = 1e6  # a value above BEYOND and more than this many times the median of its column is garbage
LARGE = 1e4  # rad, rad/s, N m: impossible for a joint, but the column may be in another unit
UNLIKE = 1e5  # a value above LARGE and more than this many times the 90th percentile of its column is garbage
TINY = 1e-30  # a smaller value that is not 0, in a row next to garbage, is garbage too
MOST = 0.1  # of the rows: more garbage than this is not accidental
APART = 100.0  # usual steps: time stamps further apart are not consecutive
AWAY = 100.0  # times the duration of the log: an isolated stamp this far from the others is garbage


class Garbage(NamedTuple):
    """Which rows (N,) are garbage, and the quantity, the column and the value of the worst."""

    rows: Rows
    group: str
    column: int
    value: float

    @property
    def many(self) -> bool:
        """Whether there are more than a few garbage rows."""
        return bool(self.rows.mean() > MOST)


def garbage_in(t: Array, columns: Mapping[str, Array]) -> Garbage | None:
    """The rows of a log with impossible numbers, from its stamps t (N,) and quantities (N, k); None if there are none.

    >>> q = np.sin(0.1 * np.arange(100.0))[:, None]
    >>> q[0], q[1] = 1e282, 1e-310
    >>> garbage = garbage_in(0.01 * np.arange(100.0), {"q": q})
    >>> np.flatnonzero(garbage.rows), garbage.group, garbage.value
    (array([0, 1]), 'q', 1e+282)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        bad = {group: impossible(x) for group, x in columns.items()}
        lonely = _lonely(t)
    rows: Rows = lonely | np.any([at.any(axis=1) for at in bad.values()], axis=0)
    if not rows.any():
        return None
    tiny = np.any([((x != 0) & (np.abs(x) < TINY)).any(axis=1) for x in columns.values()], axis=0)
    worst = (float(t[lonely][0]) if lonely.any() else 0.0, "t", 0)
    sizes = {group: np.where(at, np.abs(columns[group]), 0.0).max(axis=0) for group, at in bad.items() if at.any()}
    value, group, column = max(
        [(float(size.max()), group, int(np.argmax(size))) for group, size in sizes.items()], default=worst
    )
    doubtful = rows | tiny
    stretch = np.cumsum(np.diff(doubtful, prepend=False))  # adjacent rows with tiny values are garbage too
    return Garbage(doubtful & np.isin(stretch, stretch[rows]), group, column, value)


def impossible(values: Array) -> Rows:
    """Which values (N, k) are impossible: above all limits, and far above the others in their column."""
    size = np.where(np.isfinite(values), np.abs(values), 0.0)
    candidates = size > LARGE
    if not candidates.any():
        return candidates
    bad = np.zeros(values.shape, bool)
    for k in np.flatnonzero(candidates.any(axis=0)):
        finite = size[np.isfinite(values[:, k]), k]
        middle, high = np.median(finite), np.percentile(finite, 90, method="lower")
        column = size[:, k]
        bad[:, k] = (column > BEYOND) & (column > FAR * middle)
        if 0 < high < BEYOND:
            bad[:, k] |= (column > LARGE) & (column > UNLIKE * high)
    return bad


def _lonely(t: Array) -> Rows:
    """Isolated time stamps that are 0 or far from all others."""
    finite = t[np.isfinite(t)]
    steps = np.abs(np.diff(finite))
    if not steps.any():
        return np.zeros(len(t), bool)
    reach = APART * np.median(steps[steps > 0])
    low, middle, high = np.percentile(finite, (5, 50, 95), method="lower")
    follows = np.abs(np.diff(t))
    close = (follows > 0) & (follows <= reach)
    alone = ~(np.append(close, False) | np.insert(close, 0, False))
    away = np.abs(t - middle) > AWAY * (high - low) + reach
    nothing = (np.abs(t) < TINY) & (np.abs(t - middle) > high - low + reach)
    return np.asarray(alone & np.isfinite(t) & (away | nothing))
