"""Steps of a simulation: uniform steps, cut where the motion that is followed has a knot.

Everything is then smooth within a step, and each step evaluates its own side of the knots: the left limit at the end
of a step, and the right limit at the beginning of the next.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.work.trajectory.planning.time_breaks import inside

Indices = NDArray[np.intp]

SAME_INSTANT = 16  # units in the last place: k·step and a knot closer than this differ only by rounding
BESIDE = 2e-12  # of the last knot: distance from a knot at which its limits are evaluated; closer knots are merged


@record
class Steps:
    """The steps of a simulation.

    h        (N,) their lengths, and t (N + 1,) the times between them (s)
    records  which of these times are recorded, including 0
    cuts     which of them were inserted between two of the uniform steps
    starts   at which of them a segment of the reference begins; the first segment has begun before
    low      (segments,) and ``high``: times between which a segment is evaluated
    """

    h: Array
    t: Array
    records: Indices
    cuts: Indices
    starts: Indices
    low: Array
    high: Array

    def row(self, k: Any) -> Any:
        """Index of the uniform step that step k is or is part of."""
        return k - np.searchsorted(self.cuts, k, side="right")

    def seen(self, k: Any, t: Any) -> Any:
        """The times t of the steps k, on their own side of the knots."""
        if not len(self.starts):
            return t
        piece = np.searchsorted(self.starts, k, side="right")
        return np.clip(t, self.low[piece], self.high[piece])

    def divided(self, parts: Indices) -> Steps:
        """Every step divided into this many equal ones, (N,), which are parts of it: inputs are held over all of them."""
        begins = np.concatenate([[0], np.cumsum(parts)])
        inside = np.arange(begins[-1]) - np.repeat(begins[:-1], parts)
        h = np.repeat(self.h / parts, parts)
        t = np.append(np.repeat(self.t[:-1], parts) + inside * h, self.t[-1])
        cuts = np.union1d(np.flatnonzero(inside), begins[self.cuts])
        return replace(self, h=h, t=t, records=begins[self.records], cuts=cuts, starts=begins[self.starts])

    def between(self, first: int, last: int) -> Steps:
        """The steps from ``first`` up to but excluding ``last``, all of them recorded."""
        return replace(
            self, h=self.h[first:last], t=self.t[first : last + 1], records=np.arange(last - first + 1),
            cuts=np.empty(0, np.intp), starts=self.starts - first,
        )  # fmt: skip

    @property
    def edges(self) -> Indices:
        """The times between which the reference is smooth."""
        inner = self.starts[(self.starts > 0) & (self.starts < len(self.h))]
        return np.unique(np.concatenate([[0], inner, [len(self.h)]]))


def time_grid(duration: float, step: float) -> tuple[Array, Array]:
    """(h, t): uniform steps, the last one shorter if the duration is not a multiple of the step."""
    whole = int(duration / step * (1 + 1e-12))
    left = duration - whole * step
    h = np.full(whole, step)
    if left > 1e-9 * step or not whole:
        h = np.append(h, left)
    t = np.minimum(np.arange(len(h) + 1) * step, duration)
    t[-1] = duration
    return h, t


def make_steps(duration: float, step: float, every: int, breaks: Array) -> Steps:
    """Uniform steps, cut at the times ``breaks``, in any order."""
    h, t = time_grid(duration, step)
    records = np.unique(np.append(np.arange(0, len(h) + 1, min(every, len(h))), len(h)))
    none = np.empty(0, np.intp)
    breaks = np.unique(breaks)
    if not len(breaks):
        return Steps(h, t, records, none, none, np.array([-np.inf]), np.array([np.inf]))
    beside = BESIDE * min(float(np.abs(breaks).max()), duration)
    low, high = np.append(-np.inf, breaks + beside), np.append(breaks - beside, np.inf)
    inner = inside(breaks, duration)
    after = np.searchsorted(t, inner)
    same = SAME_INSTANT * np.spacing(inner)
    own = (t[after] - inner > same) & (inner - t[after - 1] > same) & (np.diff(inner, prepend=-1.0) > same)
    cuts = np.searchsorted(t, inner[own]) + np.arange(np.count_nonzero(own))
    if len(cuts):
        recorded, t = t[records], np.sort(np.concatenate([t, inner[own]]))
        records = np.searchsorted(t, recorded)
        row = np.arange(len(t) - 1) - np.searchsorted(cuts, np.arange(len(t) - 1), side="right")
        h = np.where(np.bincount(row)[row] > 1, np.diff(t), h[row])
    # a knot begins its segment at the nearest time: its own, or one that differs by rounding
    starts = np.clip(np.searchsorted(t, breaks - SAME_INSTANT * np.spacing(np.abs(breaks))), 0, len(h))
    return Steps(h, t, records, cuts, starts, low, high)
