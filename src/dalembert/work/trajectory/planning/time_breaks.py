"""Times at which functions of time are not smooth, for integrators and controllers, and the search among sorted times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.errors import DalembertError


def breaks_of(function: Any) -> Array:
    """Times at which a function of time is not smooth: its ``breaks`` or ``knots``, if it has any."""
    knots = getattr(function, "breaks", getattr(function, "knots", ()))
    try:
        breaks = np.asarray(knots, float).ravel()
    except (TypeError, ValueError):
        raise DalembertError(f"the knots of {function!r:.80} are not times in s: {knots!r:.80}") from None
    return breaks[np.isfinite(breaks)]


def inside(instants: Array, duration: float) -> Array:
    """Those of the instants that lie between 0 and the duration."""
    return instants[(instants > 0.0) & (instants < duration)]


def nearest(marks: Array, t: Array) -> NDArray[np.intp]:
    """Index of the sorted mark that is nearest to each of the times t."""
    after = np.clip(np.searchsorted(marks, t), 0, len(marks) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(np.abs(marks[after] - t) < np.abs(marks[before] - t), after, before)


def segment(marks: Array, t: Array) -> NDArray[np.intp]:
    """Index of the segment between two sorted marks to which each of the times t belongs; at a mark, the one that begins."""
    return np.clip(np.searchsorted(marks, t, side="right") - 1, 0, len(marks) - 2)


def breaks_of_motion(motion: Any) -> Array:
    """Breaks of a motion whose final pose is held: its own, its start, and the end of its ``duration``."""
    end = float(getattr(motion, "duration", np.inf))
    breaks = breaks_of(motion)
    return np.concatenate([[0.0], breaks[breaks < end], [end]]) if end < np.inf else breaks


def bisected(low: Any, high: Any, passed: Callable[[Any], Any], steps: int) -> tuple[Any, Any]:
    """The bracket of the time at which ``passed`` becomes true, between low and high (…), after so many bisections."""
    for _ in range(steps):
        middle = 0.5 * (low + high)
        after = passed(middle)
        low, high = np.where(after, low, middle)[()], np.where(after, middle, high)[()]
    return low, high
