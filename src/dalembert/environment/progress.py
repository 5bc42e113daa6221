"""A bar on the terminal for long work, in commands and in Python alike. Rich is imported when a bar is shown.

Bars of several things under way stand in one display: a simulation, say, and the kernel that is compiled for it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class _Screen:
    """The display, while there is something to show."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.display: Progress | None = None

    def add(self, what: str) -> TaskID:
        if self.display is None:
            self.display = _display()
            self.display.start()
        return self.display.add_task(_printable(what), total=None)

    def update(self, task: TaskID, what: str, done: float) -> None:
        if self.display is not None:
            self.display.update(task, description=_printable(what), total=1.0, completed=done)

    def remove(self, task: TaskID) -> None:
        if self.display is not None:
            self.display.remove_task(task)
            if not self.display.tasks:
                self.display.stop()
                self.display = None


def _printable(what: str) -> str:
    """The words, whatever a robot's name holds."""
    return "".join(c if c.isprintable() else " " for c in what)


def _display() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), transient=True,
        console=Console(stderr=True, markup=False, emoji=False, highlight=False),
    )  # fmt: skip


def _on_terminal() -> bool:
    """Whether stderr is a terminal; a program may have put anything that can be written to in its place, or nothing."""
    asked = getattr(sys.stderr, "isatty", None)
    return asked is not None and not getattr(sys.stderr, "closed", False) and bool(asked())


_screen = _Screen()
if hasattr(os, "register_at_fork"):  # a child has neither the thread that draws nor one that holds the lock
    os.register_at_fork(after_in_child=_screen.__init__)  # type: ignore[misc]


class Bar:
    """A progress bar on stderr where that is a terminal, once the work has taken ``patience`` seconds; gone when it is done.

    >>> with Bar("counting") as bar:
    ...     bar(0.5)
    """

    def __init__(self, what: str, patience: float = 1.0) -> None:
        self.what, self.patience = what, patience
        self.done: float | None = None  # not known yet
        self.task: TaskID | None = None

    def __enter__(self) -> Bar:
        self.over = not _on_terminal()
        self.started = time.monotonic()
        self.waiting = threading.Timer(self.patience, self._show)  # for work that says nothing while it goes on
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
        """The work is done to this fraction."""
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
            self.over = True  # a timer that fires just now shows nothing
            if self.task is not None:
                _screen.remove(self.task)
