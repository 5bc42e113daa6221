"""Work in a process of its own, which can be ended at any time: one process for one piece of work.

The process is a child of ours that speaks through two pipes, and it ends when this process ends, however it ends, because its
pipe closes. Ctrl-C in the terminal does not reach it.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Callable
from io import FileIO
from typing import Any, cast

from dalembert.errors import DalembertError
from dalembert.files.foreign import read_exactly, write_all

Tell = Callable[[str, float], None]
LENGTH = struct.Struct("<Q")
_ENTRY = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from dalembert.studio.worker_main import serve
serve()
"""


class CancelledError(Exception):
    """The work was ended before its answer."""


class Worker:
    """A process that runs one function, ``"package.module:name"``, called with ``tell`` and arguments that can be pickled."""

    def __init__(self) -> None:
        self.cancelled = False
        paths = [os.path.abspath(path) for path in sys.path if isinstance(path, str)]
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-c", _ENTRY, json.dumps(paths)],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for us
            )
        except OSError as problem:
            raise DalembertError(f"no process can be started for it ({sys.executable}: {problem.strerror})") from None

    def run(self, function: str, arguments: tuple[Any, ...], tell: Tell) -> Any:
        """What the function returns; a :class:`DalembertError` of it is raised here, with its sentence."""
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
            raise DalembertError("the process that worked on it ended without an answer; it may have run out of memory")
        if kind == "failed":
            raise DalembertError(f"it failed unexpectedly ({content}); the terminal of the studio shows where")
        return content

    def cancel(self) -> None:
        """End it, whatever it does."""
        self.cancelled = True
        self.end()

    def end(self) -> None:
        """The process is gone afterwards."""
        self.process.kill()
        self.process.wait()


def send(pipe: FileIO, content: Any) -> None:
    """Write an object."""
    data = pickle.dumps(content)
    write_all(pipe, memoryview(LENGTH.pack(len(data)) + data))


def receive(pipe: FileIO) -> Any:
    """Read an object; EOFError where the pipe ends before."""
    (length,) = LENGTH.unpack(read_exactly(pipe, LENGTH.size))
    return pickle.loads(read_exactly(pipe, length))
