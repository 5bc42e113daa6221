"""What frozen records of scalars are made with."""

from __future__ import annotations

from typing import Any

from dalembert.algebra.scalars import Scalar
from dalembert.errors import RobotError


def settle(record: Any, **fields: Any) -> None:
    """Set fields of a frozen record while it is being made."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)


def number(x: Scalar) -> Scalar:
    """Plain numbers become floats; traced scalars and symbols pass as they are."""
    try:
        return float(x) if isinstance(x, (int, float)) or hasattr(x, "dtype") else x
    except TypeError:  # a NumPy array where one number was meant
        raise RobotError(f"one number was expected, not {x!r}") from None
    except OverflowError:
        raise RobotError("an integer is beyond ±1.8e308, the largest number that a float has") from None
