"""The process of :mod:`dalembert.views.studio.worker`: it runs one function, reports its progress, and returns the answer."""

from __future__ import annotations

import os
import threading
import traceback
from io import FileIO
from pkgutil import resolve_name
from typing import Any

from dalembert.errors import DalembertError
from dalembert.views.studio.worker import receive, send


def serve() -> None:
    """Read the request and write the answer. Printed output goes to the terminal of the studio."""
    questions, answers = FileIO(os.dup(0), "r"), FileIO(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    function, arguments = receive(questions)
    threading.Thread(target=_end_with, args=(questions,), daemon=True).start()

    def tell(words: str, fraction: float) -> None:
        send(answers, ("progress", (words, fraction)))

    try:
        send(answers, _answer(function, tell, arguments))
    except BrokenPipeError:  # the caller has gone
        os._exit(0)


def _answer(function: str, tell: Any, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        return "answer", resolve_name(function)(tell, *arguments)
    except DalembertError as error:
        return "refused", str(error)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  an internal error: the terminal shows the traceback, the page a message
        traceback.print_exc()
        return "failed", type(error).__name__


def _end_with(questions: FileIO) -> None:
    """End this process when the pipe of the caller closes."""
    while questions.read(1):
        pass
    os._exit(1)
