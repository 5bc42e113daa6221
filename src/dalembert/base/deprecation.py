"""Warnings of what version 2 will remove."""

from __future__ import annotations

import warnings


def warn_of_resume(resume: object, level: int = 3) -> None:
    """Warn that ``resume=`` has no effect: a run that was interrupted starts from the beginning, with the same results."""
    if resume is not False:
        warnings.warn(
            "resume= has no effect since version 1.1 and will be removed in version 2; leave it out",
            DeprecationWarning,
            stacklevel=level,
        )


def warn_of_choice(name: str, why: str) -> None:
    """Warn that a selection does not make a choice any more."""
    warnings.warn(
        f"choose contains '{name}', which is not chosen since version 1.1: {why}; leave it out",
        DeprecationWarning,
        stacklevel=4,
    )
