"""Signals that end a command: Ctrl-C and SIGTERM raise an exception in the main thread, so that everything is cleaned up."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

CLEANING = 5.0  # seconds after a SIGTERM in which further ones change nothing
_ending_since = -math.inf


class Terminated(KeyboardInterrupt):
    """Raised by SIGTERM: the same clean-up as after Ctrl-C, but no partial result is returned as if it were complete."""


@contextmanager
def ending_by_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGINT and :class:`Terminated` on SIGTERM; signals that are ignored, as under nohup, stay ignored."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: _terminated}
    numbers = [number for number in handlers if signal.getsignal(number) is not signal.SIG_IGN]
    sys.unraisablehook = _unraisable
    try:
        for number in numbers:
            signal.signal(number, handlers[number])
        yield
    finally:
        for number in numbers:  # only the shutdown of Python itself remains; what ends by SIGTERM keeps its exit status
            ending = number == signal.SIGTERM and time.monotonic() - _ending_since < CLEANING
            signal.signal(number, signal.SIG_IGN if ending else signal.SIG_DFL)


def _terminated(number: int, frame: FrameType | None) -> None:
    """Raise once: a second SIGTERM, which some supervisors send at once, does not interrupt the clean-up after the first."""
    global _ending_since
    now = time.monotonic()
    if now - _ending_since > CLEANING:
        _ending_since = now
        raise Terminated


def _unraisable(problem: Any) -> None:
    """Send the signal again shortly after Python dropped its exception, as it does in finalizers, so that it can be caught."""
    if not issubclass(problem.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(problem)
        return
    global _ending_since
    _ending_since = -math.inf
    number = signal.SIGTERM if issubclass(problem.exc_type, Terminated) else signal.SIGINT
    main_thread = threading.main_thread().ident or 0
    resend = partial(signal.pthread_kill, main_thread) if hasattr(signal, "pthread_kill") else signal.raise_signal
    threading.Timer(0.01, resend, (number,)).start()
