"""Jobs in separate processes, which can be ended at any time: one process per job.

The process is a child that communicates through two pipes. It ends when this process ends, for whatever reason, because
its pipe closes. Ctrl-C in the terminal does not reach it.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pkgutil import resolve_name
from typing import Any, cast

from dalembert.base.files.reader_process import read_exactly, write_all
from dalembert.errors import DalembertError

Tell = Callable[[str, float], None]
LENGTH = struct.Struct("<Q")
_ENTRY = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from dalembert.views.studio.worker import serve
serve()
"""


class CancelledError(Exception):
    """The job was ended before it returned an answer."""


class Worker:
    """A process that runs one function, ``"package.module:name"``, with ``tell`` and arguments that can be pickled."""

    def __init__(self) -> None:
        self.cancelled = False
        paths = [os.path.abspath(path) for path in sys.path if isinstance(path, str)]
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-c", _ENTRY, json.dumps(paths)],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C must reach only this process
            )
        except OSError as problem:
            raise DalembertError(
                f"no process can be started for this job ({sys.executable}: {problem.strerror})"
            ) from None

    def run(self, function: str, arguments: tuple[Any, ...], tell: Tell) -> Any:
        """The return value of the function; its :class:`DalembertError` is raised here with the same message."""
        into, out = cast(FileIO, self.process.stdin), cast(FileIO, self.process.stdout)
        try:
            send(into, (function, arguments))
            kind, content = receive(out)
            while kind == "progress":
                tell(*content)
                kind, content = receive(out)
        except (OSError, EOFError, ValueError):
            kind, content = "died", None
        finally:
            self.end()
            into.close()
            out.close()
        if self.cancelled:
            raise CancelledError
        if kind == "refused":
            raise DalembertError(content)
        if kind == "died":
            raise DalembertError("the worker process ended without an answer; it may have run out of memory")
        if kind == "failed":
            raise DalembertError(f"the job failed unexpectedly ({content}); the studio's terminal shows the traceback")
        return content

    def cancel(self) -> None:
        """End the process immediately."""
        self.cancelled = True
        self.end()

    def end(self) -> None:
        """Wait until the process has ended."""
        self.process.kill()
        self.process.wait()


@contextmanager
def noting(notes: list[str]) -> Iterator[None]:
    """Collect warnings as notes, without duplicates."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notes += dict.fromkeys(str(warning.message) for warning in caught)


def send(pipe: FileIO, content: Any) -> None:
    """Write an object."""
    data = pickle.dumps(content)
    write_all(pipe, memoryview(LENGTH.pack(len(data)) + data))


def receive(pipe: FileIO) -> Any:
    """Read an object; EOFError if the pipe ends first."""
    (length,) = LENGTH.unpack(read_exactly(pipe, LENGTH.size))
    return pickle.loads(read_exactly(pipe, length))


# -- the process -------------------------------------------------------------------------------------


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
