"""Progress of long computations: one protocol inside, and bars on the terminal. Rich is imported when a bar is shown.

Inside, a computation reports with ``progress(text, fraction)``: what it does, and the completed fraction. A public
function takes the callback of its own documentation, and :func:`reporting` adapts it where it enters.
Simultaneous bars share one display, for example a simulation and the kernel that is compiled for it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich import progress as rich

Progress = Callable[[str, float], None]  # what is done, and the completed fraction
OfFraction = Callable[[float], None]  # the public form of most functions


def silent(text: str, fraction: float) -> None:
    """Progress that nobody reads."""


def reporting(progress: OfFraction | None) -> Progress:
    """The protocol for a callback that takes the fraction alone.

    >>> reporting(print)("simulation", 0.5)
    0.5
    """
    return silent if progress is None else lambda text, fraction: progress(fraction)


def part_of(progress: Progress, start: float, end: float) -> Progress:
    """The protocol for a part of the work, from the fraction ``start`` to ``end`` of the whole."""
    return lambda text, fraction: progress(text, start + fraction * (end - start))


class _Screen:
    """The display, while there is something to show."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.display: rich.Progress | None = None

    def add(self, what: str) -> rich.TaskID:
        if self.display is None:
            self.display = _display()
            self.display.start()
        return self.display.add_task(_printable(what), total=None)

    def update(self, task: rich.TaskID, what: str, done: float) -> None:
        if self.display is not None:
            self.display.update(task, description=_printable(what), total=1.0, completed=done)

    def remove(self, task: rich.TaskID) -> None:
        if self.display is not None:
            self.display.remove_task(task)
            if not self.display.tasks:
                self.display.stop()
                self.display = None


def _printable(what: str) -> str:
    """The description as plain text, whatever characters a robot's name contains."""
    return "".join(c if c.isprintable() else " " for c in what)


def _display() -> rich.Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), transient=True,
        console=Console(stderr=True, markup=False, emoji=False, highlight=False),
    )  # fmt: skip


def _on_terminal() -> bool:
    """Whether stderr is a terminal; a program may have replaced it by any writable object or by None."""
    isatty = getattr(sys.stderr, "isatty", None)
    return isatty is not None and not getattr(sys.stderr, "closed", False) and bool(isatty())


_screen = _Screen()
if hasattr(os, "register_at_fork"):  # a forked child has neither the drawing thread nor a thread that holds the lock
    os.register_at_fork(after_in_child=_screen.__init__)  # type: ignore[misc]


class Bar:
    """A progress bar on stderr, if that is a terminal; shown after ``patience`` seconds and removed when the work is
    done.

    >>> with Bar("counting") as bar:
    ...     bar(0.5)
    """

    def __init__(self, what: str, patience: float = 1.0) -> None:
        self.what, self.patience = what, patience
        self.done: float | None = None  # not known yet
        self.task: rich.TaskID | None = None

    def __enter__(self) -> Bar:
        self.over = not _on_terminal()
        self.started = time.monotonic()
        self.waiting = threading.Timer(self.patience, self._show)  # for work that does not report its progress
        self.waiting.daemon = True
        if not self.over:
            self.waiting.start()
        return self

    def _show(self) -> None:
        with _screen.lock:
            if self.task is None and not self.over:
                self.task = _screen.add(self.what)
                if self.done is not None:
                    _screen.update(self.task, self.what, self.done)

    def __call__(self, fraction: float) -> None:
        """Report the completed fraction of the work."""
        self.done = fraction
        if self.over:
            return
        if self.task is None and time.monotonic() - self.started >= self.patience:
            self._show()
        if self.task is not None:
            with _screen.lock:
                _screen.update(self.task, self.what, fraction)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.waiting.cancel()
        with _screen.lock:
            self.over = True  # a timer that fires at this moment shows nothing
            if self.task is not None:
                _screen.remove(self.task)
