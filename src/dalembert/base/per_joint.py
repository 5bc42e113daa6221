"""One number per joint: the validation of arguments such as limits, gains and offsets."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.base.arrays import Array, double
from dalembert.errors import DalembertError, ShapeError


def per_joint(
    name: str,
    value: Any,
    n: int,
    *,
    arm: str = "",
    positive: bool = False,
    infinite: bool = False,
    matrix: bool = False,
) -> Array:
    """``value`` as one number per joint, (n,); one number applies to all joints.

    arm       name of the arm, for the message about a wrong number of joints
    positive  every number must be more than 0
    infinite  infinite numbers are allowed, as for limits that do not apply
    matrix    n×n numbers are allowed too, and returned as (n, n)

    >>> per_joint("velocity", 2.0, 3)
    array([2., 2., 2.])
    """
    try:
        array = double(name, value)
    except ShapeError as problem:
        raise ShapeError(f"{problem}; it must be {n} finite numbers, one per joint") from None
    if array.shape not in ((), (n,), (n, n) if matrix else ()) or (array.ndim and not n):
        where = f", but arm '{arm}' has {n} joint{'s' * (n != 1)}" if arm else ""
        also = f", or a matrix of {n}×{n}" if matrix else ""
        raise ShapeError(
            f"{name} has shape {array.shape}{where}; it must have shape ({n},), one number per joint: give one number, "
            f"or {n}{also}"
        )
    allowed = (array > 0 if positive else array == array) & (infinite | np.isfinite(array))
    if not allowed.all():
        rules = ["finite"] * (not infinite) + ["more than 0"] * positive
        raise DalembertError(
            f"{name} has the value {array[~allowed].flat[0]:g}; every number must be {' and '.join(rules)}"
        )
    return np.full(n, float(array)) if array.ndim == 0 else array.copy()
