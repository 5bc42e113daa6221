"""The helper process of :mod:`dalembert.base.files.reader_process`: answers questions until its pipe closes."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from io import FileIO
from pkgutil import resolve_name
from typing import Any

from dalembert.base.files.reader_process import MEMORY, Arrays, read_message, write_message
from dalembert.errors import DalembertError, MissingExtraError

_answers: FileIO | None = None


def tell(fraction: float) -> None:
    """Report the fraction done to the caller; without effect in a function that is not run by :func:`serve`."""
    if _answers is not None:
        write_message(_answers, {"kind": "progress", "plain": fraction})


def serve() -> None:
    """Read questions and write answers until the pipe closes."""
    global _answers
    _limit_memory()
    # Readers may print and may read stdin: they get the null device, and the pipes get other descriptors.
    questions, answers = FileIO(os.dup(0), "r"), FileIO(os.dup(1), "w")
    _answers = answers
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    while True:
        try:
            question, _ = read_message(questions)
            kind, plain, arrays = _answer(question)
            last = kind == "memory" or _is_swollen()
            write_message(answers, {"kind": kind, "plain": plain, "last": last}, arrays)
        except (EOFError, BrokenPipeError):
            os._exit(0)  # the caller has gone; the third-party libraries need no cleanup


def _answer(question: Mapping[str, Any]) -> tuple[str, Any, Arrays]:
    _alarm(question["seconds"] + 1.0)  # in case the caller has died; the default action needs no interpreter
    try:
        if question["folder"] is not None:
            os.chdir(question["folder"])  # relative paths have the same meaning as for the caller
        return "answer", *resolve_name(question["function"])(**question["arguments"])
    except MissingExtraError as error:
        return "missing", str(error), {}
    except DalembertError as error:
        return "refused", str(error), {}
    except MemoryError:
        return "memory", "", {}
    except Exception as error:  # noqa: BLE001  a third-party reader may raise anything; all of it is sent to the caller
        return "failed", " ".join(f"{type(error).__name__}: {error}".split())[:200], {}
    finally:
        _alarm(0.0)


def _is_swollen() -> bool:
    """Whether a reader retained so much memory that the next file, which may be fine, could run out of it."""
    try:
        with open("/proc/self/statm", "rb") as file:
            pages = int(file.read().split()[0])
    except OSError:  # not Linux
        return False
    return pages * os.sysconf("SC_PAGESIZE") > MEMORY // 4


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not available on Windows, where only the time limit applies
        return
    for what, bound in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        hardest = resource.getrlimit(what)[1]
        bound = bound if hardest == resource.RLIM_INFINITY else min(bound, hardest)
        try:
            resource.setrlimit(what, (bound, hardest))
        except (ValueError, OSError):  # macOS refuses limits on address space, so only the time limit applies
            continue
