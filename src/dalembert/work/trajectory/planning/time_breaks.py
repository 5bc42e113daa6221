"""Times at which functions of time are not smooth, for integrators and controllers."""

from __future__ import annotations

from typing import Any

import numpy as np

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


def breaks_of_motion(motion: Any) -> Array:
    """Breaks of a motion whose final pose is held: its own, its start, and the end of its ``duration``."""
    end = float(getattr(motion, "duration", np.inf))
    breaks = breaks_of(motion)
    return np.concatenate([[0.0], breaks[breaks < end], [end]]) if end < np.inf else breaks
