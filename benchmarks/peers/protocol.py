"""What every peer's file gives, and what a peer's process needs to run it: NumPy and the standard library alone.

A peer is a module with

    VERSION              a string
    load(folder)         its model of the arm in a folder that has arm.urdf and arm.toml
    ways(model, quantity) the ways to compute a quantity, by name; empty where the peer does not have it
    operations(model, quantity)  where the peer can count them
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
# what goes into each quantity that is compared
INPUTS = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "inertia_matrix": ("q",),
    "gravity_torque": ("q",),
    "torque_derivatives": ("q", "qd", "qdd"),
    "forward_derivatives": ("q", "qd", "tau"),
    "regressor": ("q", "qd", "qdd"),
    "compact_regressor": ("q", "qd", "qdd"),
    "torque_terms": ("q", "qd", "qdd"),
}


def as_array(result: Any) -> Array:
    """A result that is an array, or nearly."""
    return np.asarray(result)


@dataclass(frozen=True)
class Way:
    """How a peer computes a quantity.

    call   what is called, as the page names it
    one    a function of the arrays of one state
    batch  from arrays of many states, a function without arguments that computes them all; without it, a Python loop
    read   the numbers to compare, from what ``one`` gives
    rows   the same from what ``batch`` gives, one row per state
    alone  whether it runs on one core; otherwise it may have all
    bound  how far from our results it may be, of the largest number
    """

    call: str
    one: Callable[..., Any] | None
    batch: Callable[..., Callable[[], Any]] | None = None
    read: Callable[[Any], Array] = as_array
    rows: Callable[[Any], Array] = as_array
    alone: bool = True
    bound: float = 1e-8
