"""``cached_property`` without a lock, as of Python 3.12.

That of Python 3.11 computes under a lock of the class, which a process that is forked meanwhile finds locked for ever.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:
        """A property computed at its first use; if several threads begin at once, each computes it."""

        def __init__(self, function: Any) -> None:
            self.func, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.attrname = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            if self.attrname not in (values := instance.__dict__):
                values[self.attrname] = self.func(instance)
            return values[self.attrname]


__all__ = ["cached_property"]
