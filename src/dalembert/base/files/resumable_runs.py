"""The folder of interrupted runs that can be resumed: its contents and its clean-up."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dalembert.base.files.private_files import state_folder
from dalembert.base.files.writing import locked

FORGOTTEN = 30 * 86400.0  # seconds after which a journal that nobody resumed is removed

unfinished_journals: set[Path] = set()  # journals of runs that this process leaves unfinished
_finished: list[Path] | None = None  # journals of completed runs whose results have not been written yet


@dataclass(frozen=True)
class UnfinishedRun:
    """A run that can be resumed: its journal, the size of the journal in bytes, and the time of its last write (s since 1970)."""

    path: Path
    size: int
    written: float


def folder() -> Path:
    """The folder of the journals of unfinished runs."""
    return state_folder() / "runs"


def unfinished_runs() -> list[UnfinishedRun]:
    """The runs that can be resumed, the oldest first."""
    runs, place = [], folder()
    for path in place.glob("*.run") if place.is_dir() else ():
        with contextlib.suppress(OSError):
            about = path.lstat()
            runs.append(UnfinishedRun(path, about.st_size, about.st_mtime))
    return sorted(runs, key=lambda run: run.written)


def clear(older_than: float = 0.0) -> int:
    """Remove the journals of runs that are not in progress and have this age in seconds; returns their number."""
    return sum(_removed(run.path) for run in unfinished_runs() if time.time() - run.written >= older_than)


def finished(path: Path) -> None:
    """Remove the journal of a completed run, now or as soon as its results have been written."""
    unfinished_journals.discard(path)
    if _finished is None:
        path.unlink(missing_ok=True)
    else:
        _finished.append(path)


@contextmanager
def kept_until_written(*well: type[Exception]) -> Iterator[None]:
    """Keep the journals of completed runs until the context ends, so that results that cannot be written are not lost.

    well  exceptions that end it well, too
    """
    global _finished
    _finished = []
    journals, written = _finished, False
    try:
        yield
        written = True
    except well:
        written = True
        raise
    finally:
        _finished = None
        for path in journals:
            if written:
                path.unlink(missing_ok=True)
            else:
                unfinished_journals.add(path)


def _removed(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            if not locked(descriptor):
                return False
        finally:
            os.close(descriptor)
        os.unlink(path)
    except OSError:  # another process removed it first, or it belongs to another user
        return False
    return True
