"""Validation of arguments of motions: each error names the argument and the joint."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array, double
from dalembert.base.files.file_bounds import LARGEST_NUMBER, SMALLEST_LIMIT
from dalembert.base.per_joint import per_joint
from dalembert.base.wording import shown
from dalembert.errors import DalembertError, ShapeError

FARTHEST = 1e30  # rad, m: far above any arm, and the square of a speed of this size is still finite


def finite(name: str, value: ArrayLike, shape: tuple[int, ...] | None = None, numbers: str = "") -> Array:
    """``value`` as an array of finite numbers, of this ``shape`` if one is given; ``numbers`` says what they are."""
    array = double(name, value)
    if not np.isfinite(array).all():
        raise DalembertError(f"{name} has the value {array[~np.isfinite(array)][0]:g}; every number must be finite")
    if shape is not None and array.shape != shape:
        raise ShapeError(f"{name} has shape {array.shape}; it must be {shape}{numbers}")
    return array


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise an error unless ``value`` is one of the choices."""
    *others, last = choices
    if value not in (*others, last):
        allowed = f"{', '.join(map(repr, others))} or {last!r}"
        raise DalembertError(f"{name} is {shown(value)}; it must be {allowed}")


def direction(name: str, value: ArrayLike) -> Array:
    """``value`` as a unit vector (3,)."""
    vector = finite(name, value)
    if vector.shape != (3,) or not np.any(vector):
        raise DalembertError(f"{name} is {vector.tolist()}; it must be a nonzero direction, such as (0, 0, 1)")
    vector = np.ldexp(vector, -np.frexp(np.abs(vector).max())[1])  # the square of 1e160 is not finite
    return vector / np.linalg.norm(vector)


def check_finite(arm: Arm, t: Array, tau: Array) -> None:
    """Raise an error for the first of the torques (…, n) at the times t (…) that is not a number."""
    bad = np.argwhere(~np.isfinite(tau.reshape(-1, arm.n)))
    if len(bad):
        row, joint = bad[0]
        raise DalembertError(
            f"the torque of joint '{arm.joint_names[joint]}' at t = {np.ravel(t)[row]:g} s is not a finite number; "
            "the motion, the arm or its load has values far too large there"
        )


def positions(name: str, value: ArrayLike) -> Array:
    """``value`` as an array of joint positions, which are finite, and small enough for their squares."""
    array = finite(name, value)
    if np.abs(array).max(initial=0.0) > FARTHEST:
        most = array.flat[int(np.abs(array).argmax())]
        raise DalembertError(f"{name} has the position {most:g}; it must be within ±{FARTHEST:g} rad or m")
    return array


def positive(name: str, value: ArrayLike, n: int) -> Array:
    """One positive number per joint, (n,), of a size that motions of arms have."""
    array = per_joint(name, value, n)
    bad = np.flatnonzero(~((array >= SMALLEST_LIMIT) & (array <= LARGEST_NUMBER)))
    if len(bad):
        which, x = f" of joint {bad[0] + 1}" if n > 1 else "", array[bad[0]]
        allowed = "above zero" if x <= 0 else f"between {SMALLEST_LIMIT:g} and {LARGEST_NUMBER:g} in SI units"
        raise DalembertError(f"the {name}{which} is {x:g}; it must be {allowed}")
    return array


def positive_number(name: str, value: Any, unit: str = "s", zero: bool = False) -> float:
    """A finite number above 0 or, with ``zero``, of at least 0."""
    try:
        if isinstance(value, str):
            raise TypeError("a string is not a number, even if it looks like one")
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise DalembertError(f"{name} is {shown(value)}; it must be a number in {unit}") from None
    if not (math.isfinite(number) and (number > 0 or (zero and number == 0))):
        least = "0 or more" if zero else "more than 0"
        raise DalembertError(f"{name} is {number:g} {unit}; it must be finite and {least}")
    return number


def both_ends(q0: ArrayLike, q1: ArrayLike) -> tuple[Array, Array]:
    """Initial and final positions of a motion, (n,) each."""
    n = max(positions("q0", q0).size, positions("q1", q1).size)
    return per_joint("q0", q0, n), per_joint("q1", q1, n)
