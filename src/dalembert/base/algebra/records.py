"""Helpers for frozen records of scalars."""

from __future__ import annotations

import math
from typing import Any

from dalembert.base.algebra.scalars import Scalar
from dalembert.errors import RobotError


def settle(record: Any, **fields: Any) -> None:
    """Set fields of a frozen record during its construction."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)


def bounded(x: Scalar, what: str, least: float = -math.inf, above: bool = False, below: float | None = None) -> Scalar:
    """A finite number of at least ``least``, or ``above`` it, and below ``below``; symbols are returned unchecked."""
    value = number(x)
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        raise RobotError(f"{what} is {value}; it must be a finite number")
    if value < least or (above and value == least):
        raise RobotError(f"{what} is {value:g}; it must be {'above' if above else 'at least'} {least:g}")
    if below is not None and value >= below:
        raise RobotError(f"{what} is {value:g}; it must be below {below:g}")
    return value


def number(x: Scalar) -> Scalar:
    """Plain numbers become floats; traced scalars and symbols are returned unchanged."""
    try:
        return float(x) if isinstance(x, (int, float)) or hasattr(x, "dtype") else x
    except TypeError:  # a NumPy array instead of a number
        raise RobotError(f"one number was expected, not {x!r}") from None
    except OverflowError:
        raise RobotError("an integer is beyond ±1.8e308, the largest float") from None
