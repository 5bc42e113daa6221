"""Journals of long runs: the results of completed steps, which are reused when the same run is started again.

A run is deterministic. It is cut into steps, such as one round of a search, one candidate model or one piece of a Monte-Carlo
study, and each step hands its result, plain data and arrays of numbers, to :meth:`Journal.step`. A run that starts again
with the same inputs, program and machine takes the results of the steps that were done before, and its results are bitwise identical.

The journal is a file of the user in ``…/dalembert/runs``, named after a digest of all inputs. A step is appended as soon
as it is done, with a checksum, so that ending the process, even with kill -9, costs at most the current step. A
run that succeeds deletes its journal; journals that are not resumed are deleted after a month. A journal contains JSON and raw
numbers, never a pickle, and a file that belongs to another user or that others can write is not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.base.files import resumable_runs as runs
from dalembert.base.files.digest import digest_of, digest_of_source
from dalembert.base.files.private_files import is_own
from dalembert.base.files.reader_process import read_message, write_all, write_message
from dalembert.base.files.writing import locked
from dalembert.base.wording import shown
from dalembert.errors import DalembertError

PACKAGE = Path(__file__).resolve().parents[2]
MAGIC = b"dalembert-run-1\n"
CHECKSUM = hashlib.sha256().digest_size
LENGTH = 8  # bytes

Resume = bool | Callable[[str], None]
Result = Mapping[str, Any]  # plain data and arrays by name


class Journal:
    """The steps of one run. Without a file, every step is computed and nothing is kept."""

    def __init__(self, file: FileIO | None = None, tell: Callable[[str], None] | None = None) -> None:
        self.file, self.tell = file, tell
        self.steps: dict[str, bytes] = {}  # the message of every step that is on disk
        self.counts: Counter[str] = Counter()
        self.scope = ""
        self.unfinished = self.full = False
        if file is not None:
            self._read(file)

    def close(self) -> None:
        """Close the file and release its lock."""
        if self.file is not None:
            self.file.close()

    def has(self, name: str) -> bool:
        """Whether the next step of this name was completed in an earlier run."""
        name = self.scope + name
        return f"{name} #{self.counts[name]}" in self.steps

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """Prefix the names of steps with a part of the run, such as one fold."""
        before, self.scope = self.scope, f"{self.scope}{name}: "
        try:
            yield
        finally:
            self.scope = before

    def step(self, name: str, compute: Callable[[], Result]) -> Result:
        """The result of a step, either stored by an earlier run or computed and stored now.

        A name may come again; its steps are then told apart by their order.
        """
        name = self.scope + name
        key = f"{name} #{self.counts[name]}"
        self.counts[name] += 1
        if key in self.steps:
            plain, arrays = read_message(io.BytesIO(self.steps[key]))
            return {**plain, **arrays}
        # in the order in which they are read again: sums of products depend on it
        result = {n: np.asarray(x, order="C") if isinstance(x, np.ndarray) else x for n, x in compute().items()}
        if self.file is not None and not self.full:
            self._append(self.file, key, result)
        return result

    def _read(self, file: FileIO) -> None:
        """Read the complete steps; any data after them were being written when the process ended."""
        data = file.readall()
        end = len(MAGIC) if data.startswith(MAGIC) else 0
        while end:
            start = end + LENGTH + CHECKSUM
            length, checksum = int.from_bytes(data[end : end + LENGTH], "little"), data[end + LENGTH : start]
            body = data[start : start + length]
            if len(body) != length or hashlib.sha256(body).digest() != checksum:
                break
            key, _, message = body.partition(b"\0")
            self.steps[key.decode()] = message
            end = start + length
        file.seek(end)
        if end < len(data):
            file.truncate()
        if not end:
            write_all(file, memoryview(MAGIC))

    def _append(self, file: FileIO, key: str, result: Result) -> None:
        arrays = {name: value for name, value in result.items() if isinstance(value, np.ndarray)}
        content = io.BytesIO()
        write_message(content, {name: value for name, value in result.items() if name not in arrays}, arrays)
        body, end = key.encode() + b"\0" + content.getvalue(), file.tell()
        record = len(body).to_bytes(LENGTH, "little") + hashlib.sha256(body).digest() + body
        try:
            write_all(file, memoryview(record))
        except OSError as problem:  # the run itself continues
            self.full = True
            with contextlib.suppress(OSError):
                file.truncate(end)
            if self.tell is not None:
                self.tell(f"further results cannot be stored for resuming the run ({problem.strerror})")
        else:
            self.steps[key] = b""  # counted, and never read by the run that wrote it


@contextmanager
def resumable(resume: Resume, what: str, *inputs: Any) -> Iterator[Journal]:
    """The journal of a run with these inputs; it is removed when the run completes and kept when it is interrupted.

    resume  whether there is a journal at all; a function is called with one sentence when earlier steps are taken over,
            and when they cannot be kept
    what    the kind of run, in words; runs of different kinds have journals of their own

    Set ``journal.unfinished`` to keep the journal of a run that ends early and without an exception.
    """
    if not (isinstance(resume, bool) or callable(resume)):
        raise DalembertError(f"resume is {shown(resume)}; it must be True, False or a function that takes a sentence")
    if resume is False:
        yield Journal()
        return
    tell = resume if callable(resume) else lambda sentence: None
    key = digest_of(what, digest_of_source(PACKAGE), np.__version__, inputs)
    path = runs.folder() / f"{key}.run"
    journal = None
    try:
        runs.clear(older_than=runs.FORGOTTEN)
        journal = _opened(path, tell)
        if journal is None:
            tell(
                "the same run is in progress in another process; this one starts from the beginning and cannot be resumed"
            )
    except OSError as problem:
        where = problem.filename or path
        tell(f"this run cannot be resumed if it is interrupted: {where} cannot be written ({problem.strerror})")
    if journal is None:
        yield Journal()
        return
    if journal.file is not None and journal.steps:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(os.fstat(journal.file.fileno()).st_mtime))
        done = f"{len(journal.steps)} steps were" if len(journal.steps) != 1 else "1 step was"
        tell(f"resuming the {what} that was interrupted at {when}; {done} already completed")
    try:
        yield journal
    except BaseException:
        journal.unfinished = True
        raise
    finally:
        journal.close()
        if not journal.unfinished:
            runs.finished(path)
        elif journal.steps:
            runs.unfinished_journals.add(path)
        else:
            path.unlink(missing_ok=True)


def _opened(path: Path, tell: Callable[[str], None]) -> Journal | None:
    """The journal at a path, created if necessary and locked for this process; None if another process holds it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = sum(getattr(os, name, 0) for name in ("O_RDWR", "O_CREAT", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    while True:
        with contextlib.ExitStack() as closing:
            file = closing.enter_context(FileIO(os.open(path, flags, 0o600), "r+"))
            if not is_own(os.fstat(file.fileno()), 0o022):  # owned by another user, or a pipe or a device: never read
                os.unlink(path)
                continue
            if not locked(file.fileno()):
                return None
            if os.fstat(file.fileno()).st_nlink:  # else a run that ended removed it between opening and locking
                journal = Journal(file, tell)
                closing.pop_all()
                return journal
