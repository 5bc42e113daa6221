"""Methods that are implemented by other modules.

A class lists them in a table ``DELEGATES = {method: "package.module:function"}``, which ``tests/test_house.py`` reads.
The modules are imported when a method is called, so that imports point in one direction and importing the class is
cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def delegate(table: Mapping[str, str], method: str) -> Any:
    """The function that implements a method."""
    module, _, function = table[method].partition(":")
    return getattr(import_module(f"dalembert.{module}"), function)
