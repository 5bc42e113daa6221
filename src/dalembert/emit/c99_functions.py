"""sin, cos and the others in C, for where there is no C library."""

from __future__ import annotations

from collections.abc import Sequence


def own_functions(names: Sequence[str], kind: str, prefix: str) -> str:
    """The functions of these names, and what they need."""
    raise NotImplementedError
