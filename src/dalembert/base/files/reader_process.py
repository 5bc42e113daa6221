"""Third-party readers, run in a helper process, so that a file that crashes them gives only an error message.

A compiled reader (MuJoCo's compiler, SciPy's reader of MATLAB files, pyarrow's of Parquet) can crash, hang or exhaust
memory on a damaged file, and would take down the user's process. All of them run in one helper process. It starts with
the first such file (about 0.2 s), is kept for the next, and ends with this process, however that ends, because its pipe
closes. It may use :data:`MEMORY` bytes and :data:`SECONDS` per file; if it dies, the next file starts a new one. The
child of a fork starts its own helper, and the program's ``__main__`` is never imported again, so notebooks and worker
pools need no precautions.

Messages consist of JSON and raw numeric arrays, never pickles: a file that takes over the helper can send wrong
numbers, but no code.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from io import BytesIO, FileIO
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import DalembertError, MissingExtraError

MEMORY = 4 * 2**30  # bytes of address space; not enforced on systems without such a limit (Windows, macOS)
SECONDS = 30.0  # per file
LARGEST_ANSWER = 2 * 2**30  # bytes
LARGEST_TEXT = 256 * 2**20  # bytes of JSON in an answer

Arrays = Mapping[str, NDArray[Any]]
Pipe = FileIO | BytesIO
_LENGTH = struct.Struct("<Q")
# Set the paths first, then the package without its __init__: the helper needs neither Arm nor a compiler.
_ENTRY = """
import json, sys, types
sys.path[:], package = json.loads(sys.argv[1])
sys.modules["dalembert"] = front = types.ModuleType("dalembert")
front.__path__ = [package]
from dalembert.base.files.reader_process_main import serve
serve()
"""
# One thread each: many threads reserve gigabytes of address space on machines with many cores.
_FEW_THREADS = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # pyarrow's own pool reserves more than a gigabyte
}


def ask(
    function: str,
    arguments: Mapping[str, Any],
    *,
    where: str,
    reader: str,
    error: type[DalembertError] = DalembertError,
    seconds: float = SECONDS,
    progress: Callable[[float], None] = lambda fraction: None,
) -> tuple[Any, dict[str, NDArray[Any]]]:
    """The answer of ``function`` ("package.module:name") in the helper process: plain data, and arrays by name.

    The arguments are plain data too (JSON). A :class:`DalembertError` of the function is raised here as ``error``, with
    the same message. In messages about a failure of the helper, ``where`` names the file and ``reader`` its reader.
    ``progress`` is called with the fraction done if the function reports it with
    :func:`dalembert.base.files.reader_process_main.tell`.
    """
    global _helper
    with _lock:
        try:
            if _helper is not None and (_helper.expired or _helper.is_last or _helper.process.poll() is not None):
                _end()
            _helper = _helper or _Helper()
            kind, plain, arrays = _helper.ask(function, arguments, seconds, progress)
        except _Died as how:
            _end()
            raise error(f"{where}: {reader} {how}") from None
        except BaseException:  # Ctrl-C: the answer would remain in the pipe for the next question
            _end()
            raise
    if kind == "answer":
        return plain, arrays
    if kind == "missing":
        raise MissingExtraError(str(plain))
    if kind == "refused":
        raise error(str(plain))
    if kind == "memory":
        raise error(f"{where}: {reader} {_NEEDS_MEMORY}")
    raise error(f"{where}: {reader} failed on it ({plain}); the file is damaged, too large, or of an unsupported kind")


_NEEDS_MEMORY = f"needs more than {MEMORY >> 30} GiB of memory for it, the limit for one file; make the file smaller"


class _Died(Exception):
    """How the helper ended, or why it could not start, as the rest of a sentence."""


class _Helper:
    """The process with its two pipes; it handles one question at a time."""

    def __init__(self) -> None:
        if not sys.executable or getattr(sys, "frozen", False):  # a frozen application would start itself again
            raise _Died(
                f"runs in a process of its own, which needs a Python interpreter, but sys.executable is {sys.executable!r}; "
                "run dalembert with a regular Python"
            )
        package = os.path.abspath(__file__).rsplit(os.sep, 3)[0]
        paths = [os.path.abspath(path) for path in sys.path if isinstance(path, str)]
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-c", _ENTRY, json.dumps([paths, package])],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | _FEW_THREADS,
                start_new_session=True,  # Ctrl-C must reach only this process
            )
        except OSError as problem:
            raise _Died(
                f"runs in a process of its own, which cannot be started ({sys.executable}: {problem.strerror})"
            ) from None
        self.into, self.out = cast(FileIO, self.process.stdin), cast(FileIO, self.process.stdout)
        self.expired = self.is_last = False

    def ask(
        self, function: str, arguments: Mapping[str, Any], seconds: float, progress: Callable[[float], None]
    ) -> tuple[str, Any, dict[str, Any]]:
        """(kind, plain data, arrays) of the answer."""
        try:
            folder = os.getcwd()
        except OSError:  # the current folder was deleted
            folder = None
        question = {"function": function, "arguments": arguments, "folder": folder, "seconds": seconds}
        clock = threading.Timer(seconds, self._expire)
        clock.daemon = True
        clock.start()
        try:
            write_message(self.into, question)
            answer, arrays = read_message(self.out)
            while answer["kind"] == "progress":
                progress(float(answer["plain"]))
                answer, arrays = read_message(self.out)
            self.is_last = bool(answer["last"])
            return str(answer["kind"]), answer["plain"], arrays
        except (EOFError, OSError):  # the helper has closed its ends of the pipes
            raise _Died(self._last_words(seconds)) from None
        except (ValueError, TypeError, KeyError, RecursionError, MemoryError):
            self.stop()
            raise _Died("gave an invalid answer; the file is damaged") from None
        finally:
            clock.cancel()

    def _expire(self) -> None:
        self.expired = True
        self.process.kill()

    def _last_words(self, seconds: float) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):  # it has closed its pipes, so it is about to end
            self.process.wait(5.0)
        self.stop()
        code = self.process.returncode
        if self.expired or -code == getattr(signal, "SIGALRM", None):
            return f"did not finish within {seconds:g} s, the limit for one file; make the file smaller or simpler"
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            return f"crashed on it ({name}); the file is damaged, or needs more than {MEMORY >> 30} GiB of memory"
        return f"ended with status {code}; the file is damaged, or needs more than {MEMORY >> 30} GiB of memory"

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.close()
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Close both pipes; nothing is buffered, so nothing is written."""
        self.into.close()
        self.out.close()


_helper: _Helper | None = None
_lock = threading.Lock()


def _forget_after_fork() -> None:
    """Close the pipes of the parent's helper in the child of a fork; otherwise the helper would outlive the parent."""
    global _helper, _lock
    _lock = threading.Lock()  # the old one may be held by a thread that does not exist here
    if _helper is not None:
        _helper.close()
        _helper.process.returncode = 0  # not a child of this process, so do not wait for it
        _helper = None


def _end() -> None:
    global _helper
    if _helper is not None:
        _helper.stop()
    _helper = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
atexit.register(_end)


# -- messages: a length, JSON, then the arrays announced in it ------------------------------------


def write_message(pipe: Pipe, plain: Any, arrays: Arrays | None = None) -> None:
    """Write plain data and numeric arrays as one message."""
    solid = {name: np.asarray(array, order="C") for name, array in (arrays or {}).items()}
    shapes = [[name, array.dtype.str, array.shape] for name, array in solid.items()]
    text = json.dumps([plain, shapes]).encode()
    write_all(pipe, memoryview(_LENGTH.pack(len(text)) + text))
    for array in solid.values():
        write_all(pipe, array.reshape(-1).view(np.uint8).data)


def read_message(pipe: Pipe) -> tuple[Any, dict[str, NDArray[Any]]]:
    """The message written by :func:`write_message`; EOFError if the pipe ends, ValueError if the message is invalid."""
    (length,) = _LENGTH.unpack(read_exactly(pipe, _LENGTH.size))
    if length > LARGEST_TEXT:
        raise ValueError(f"a text of {length} bytes")
    plain, shapes = json.loads(bytes(read_exactly(pipe, length)))
    arrays, left = {}, LARGEST_ANSWER
    for name, kind, shape in shapes:
        dtype = np.dtype(kind)
        if dtype.kind not in "fiub" or not all(type(k) is int and k >= 0 for k in shape):
            raise ValueError(f"an array of {kind}")
        left -= (size := dtype.itemsize * math.prod(shape))
        if left < 0:
            raise ValueError("arrays of too many bytes")
        arrays[str(name)] = np.frombuffer(read_exactly(pipe, size), dtype).reshape(shape)
    return plain, arrays


def write_all(pipe: Pipe, data: memoryview) -> None:
    """Write every byte, however few the pipe accepts at a time."""
    while len(data):
        data = data[pipe.write(data) :]


def read_exactly(pipe: Pipe, size: int) -> bytearray:
    """Exactly this many bytes; EOFError if the pipe ends earlier."""
    content = bytearray(size)
    rest = memoryview(content)
    while len(rest):
        count = pipe.readinto(rest)
        if not count:
            raise EOFError
        rest = rest[count:]
    return content
