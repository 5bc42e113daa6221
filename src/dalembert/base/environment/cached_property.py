"""``cached_property`` without a lock, as of Python 3.12.

That of Python 3.11 computes under a lock of the class, which a process that is forked meanwhile finds locked for ever.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    cached_property = functools.cached_property
else:

    class cached_property(functools.cached_property):
        """A property computed at its first use; if several threads begin at once, each computes it."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            if self.attrname not in (values := instance.__dict__):
                values[self.attrname] = self.func(instance)
            return values[self.attrname]
