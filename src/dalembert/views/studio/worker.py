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
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from typing import Any, cast

from dalembert.base.files.reader_process import read_exactly, write_all
from dalembert.errors import DalembertError

Tell = Callable[[str, float], None]
LENGTH = struct.Struct("<Q")
_ENTRY = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from dalembert.views.studio.worker_main import serve
serve()
"""


class CancelledError(Exception):
    """The job was ended before it returned an answer."""


class Worker:
    """A process that runs one function, ``"package.module:name"``, called with ``tell`` and arguments that can be
    pickled."""

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
        """The return value of the function; a :class:`DalembertError` that it raises is raised here with the same
        message."""
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
