"""Safe opening of files: devices are refused, pipes without a writer never block, and sizes are limited."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, TextIO

from dalembert.errors import DalembertError

LARGEST_PIPE = 1 << 30  # bytes: the content of a pipe is held in memory
LONGEST_LINE = 1 << 20  # characters
BLOCK = 1 << 24  # characters of the lines that are returned together


def open_bounded(
    path: str | os.PathLike[str], largest: int, what: str = "file", error: type[DalembertError] = DalembertError
) -> BinaryIO:
    """A regular file of at most ``largest`` bytes, opened for reading in binary; otherwise an error with the reason.

    A pipe with a writer (``cat log.csv | dalembert … /dev/stdin``, ``<(…)``) is read completely, up to ``largest`` and
    to 1 GiB; a pipe without a writer is empty and does not block. ``what`` names the file in messages.
    """
    where = os.fspath(path)
    try:
        descriptor = os.open(where, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise error(f"{where}: there is no such file") from None
    except OSError as problem:
        raise error(f"{where}: the {what} cannot be read ({problem.strerror})") from None
    except ValueError as problem:  # an invalid path, such as one with a zero byte
        raise error(f"{where!r}: this is not a valid file name ({problem})") from None
    file = None
    try:
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            raise error(f"{where}: this is a folder; give the {what} inside it")
        if not (stat.S_ISREG(about.st_mode) or stat.S_ISFIFO(about.st_mode)):
            raise error(f"{where}: this is a device, not a {what}")
        if about.st_size > largest:
            raise error(f"{where}: the {what} has {about.st_size} bytes; the maximum is {largest}")
        if hasattr(os, "set_blocking"):
            os.set_blocking(descriptor, True)
        file = os.fdopen(descriptor, "rb")
        if stat.S_ISREG(about.st_mode):
            return file
        with file:
            return io.BytesIO(_content(file, min(largest, LARGEST_PIPE), where, what, error))
    except OSError as problem:
        raise error(f"{where}: the {what} cannot be read ({problem.strerror})") from None
    finally:
        if file is None:
            os.close(descriptor)


def read_bounded(
    path: str | os.PathLike[str], largest: int, what: str = "file", error: type[DalembertError] = DalembertError
) -> bytes:
    """The content of the file opened by :func:`open_bounded`; a file that grows beyond the limit meanwhile is refused.

    >>> read_bounded("/dev/zero", 100)
    Traceback (most recent call last):
    ...
    dalembert.errors.DalembertError: /dev/zero: this is a device, not a file
    """
    with open_bounded(path, largest, what, error) as file:
        return _content(file, largest, os.fspath(path), what, error)


def _content(file: BinaryIO, largest: int, where: str, what: str, error: type[DalembertError]) -> bytes:
    try:
        content = file.read(largest + 1)
    except OSError as problem:
        raise error(f"{where}: the {what} cannot be read ({problem.strerror})") from None
    if len(content) > largest:
        raise error(f"{where}: the {what} has more than {largest} bytes, the maximum")
    return content


def line_blocks(file: TextIO, path: str | os.PathLike[str], most: int) -> Iterator[list[tuple[int, str]]]:
    """The lines of a text with their numbers from 1, in blocks of at most ``most`` lines and about 16 MB.

    A line of more than 1 MiB is refused before it is read completely.

    >>> [block for block in line_blocks(io.StringIO("a\\nb\\nc"), "x", 2)]
    [[(1, 'a\\n'), (2, 'b\\n')], [(3, 'c')]]
    """
    block: list[tuple[int, str]] = []
    size, number = 0, 1
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise DalembertError(
                f"{os.fspath(path)}, line {number}: the line has more than {LONGEST_LINE} characters, so this is not a table"
            )
        block.append((number, line))
        size, number = size + len(line), number + 1
        if len(block) == most or size > BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block
