"""Notes that a worker process returns with its answer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def noting(notes: list[str]) -> Iterator[None]:
    """Collect warnings as notes, without duplicates."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notes += dict.fromkeys(str(warning.message) for warning in caught)
