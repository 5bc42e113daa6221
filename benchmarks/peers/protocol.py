"""The interface of every library's module, which needs only NumPy and the standard library.

A peer is a module with

    VERSION              a string
    load(folder)         its model of the arm in a folder with arm.urdf and arm.toml
    ways(model, quantity) the ways to compute a quantity, by name; empty if it is not supported
    operations(model, quantity)  operation counts, if available
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
# the inputs of each compared quantity
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
    """A result that can be converted to an array."""
    return np.asarray(result)


@dataclass(frozen=True)
class Way:
    """One way to compute a quantity.

    call   name of the call on the page
    one    a function of the arrays of one state
    batch  from arrays of many states, a function without arguments that computes them all; otherwise a Python loop is used
    read   the numbers to compare, from the result of ``one``
    rows   the same from the result of ``batch``, one row per state
    alone  whether it runs on one core; otherwise it may use all
    bound  allowed difference from our results, relative to the largest number
    """

    call: str
    one: Callable[..., Any] | None
    batch: Callable[..., Callable[[], Any]] | None = None
    read: Callable[[Any], Array] = as_array
    rows: Callable[[Any], Array] = as_array
    alone: bool = True
    bound: float = 1e-8
