"""Signals that end a command: Ctrl-C and SIGTERM alike are an exception in the main thread, and everything is cleaned up."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any


class Terminated(KeyboardInterrupt):
    """SIGTERM: whatever cleans up after Ctrl-C cleans up after it, too, but nothing is to be ended as if it were complete."""


@contextmanager
def ending_by_signals() -> Iterator[None]:
    """Within it SIGINT is a KeyboardInterrupt and SIGTERM is :class:`Terminated`; one that is ignored, as under nohup, stays so."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: _terminated}
    taken = [number for number in handlers if signal.getsignal(number) is not signal.SIG_IGN]
    sys.unraisablehook = _unraisable
    try:
        for number in taken:
            signal.signal(number, handlers[number])
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)  # what is left is Python's own end


def _terminated(number: int, frame: FrameType | None) -> None:
    raise Terminated


def _unraisable(problem: Any) -> None:
    """Where Python drops exceptions, as in a finalizer, the signal comes again a moment later, where it can be caught."""
    if not issubclass(problem.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(problem)
        return
    number = signal.SIGTERM if issubclass(problem.exc_type, Terminated) else signal.SIGINT
    main_thread = threading.main_thread().ident or 0
    resend = partial(signal.pthread_kill, main_thread) if hasattr(signal, "pthread_kill") else signal.raise_signal
    threading.Timer(0.01, resend, (number,)).start()
