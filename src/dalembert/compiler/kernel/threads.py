"""Helper threads for large batches: kernels release Python's interpreter lock while they compute.

The calling thread takes part itself, and helpers take the pieces that it has not begun. It never waits for a helper
that is busy with another batch, however many user threads call at once, so deadlocks are impossible, and there are
never more helpers than the largest batch has requested. Helpers end before the process forks, and are restarted when
they are needed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from operator import index
from queue import SimpleQueue
from threading import Condition, Lock, RLock, Thread
from time import sleep
from typing import Any

import numpy as np

from dalembert.base.wording import shown
from dalembert.errors import DalembertError

MOST_THREADS = 1024
ENDING = 1.0  # s: longest wait of a fork for a helper; only Python's warning depends on its end
YIELDS = 100  # polls of the helpers, about 100 µs, before a sleep from which waking takes as long

Queue = SimpleQueue["_Job | None"]


def checked_threads(threads: Any) -> int | None:
    """``threads``, checked; None stands for a choice by the size of the batch.

    >>> checked_threads(2)
    2
    """
    if threads is None:
        return None
    try:
        count = 0 if isinstance(threads, (bool, np.bool_)) else index(threads)
    except TypeError:
        count = 0
    if not 1 <= count <= MOST_THREADS:
        raise DalembertError(
            f"threads is {shown(threads)}; it must be a whole number from 1 to {MOST_THREADS}, or None to choose by the "
            "size of the batch"
        )
    return count


def usable_threads() -> int:
    """The number of CPUs that this process may use, or OMP_NUM_THREADS if that is smaller."""
    if hasattr(os, "process_cpu_count"):  # from Python 3.13 on
        cpus = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        cpus = len(os.sched_getaffinity(0))
    else:
        cpus = os.cpu_count() or 1
    outermost = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # "4,2": the 2 is for nested regions
    return min(cpus, int(outermost)) if outermost.isdecimal() and int(outermost) > 0 else cpus


class _Job:
    """Pieces of work that several threads take from a common queue."""

    def __init__(self, work: Callable[[Iterator[Any]], None], pieces: Iterable[Any]) -> None:
        self.work, self.left = work, deque(pieces)
        self.changed, self.helping = Condition(Lock()), 0
        self.problem: BaseException | None = None

    def pieces(self) -> Iterator[Any]:
        """Process pieces until none is left."""
        with suppress(IndexError):
            while True:
                yield self.left.popleft()

    def help(self) -> None:
        """Process pieces in a helper; an exception is stored for the waiting thread."""
        with self.changed:
            if not self.left:
                return
            self.helping += 1
        try:
            self.work(self.pieces())
        except BaseException as problem:  # noqa: BLE001 - raised again by run()
            self.problem = problem
            self.left.clear()
        finally:
            with self.changed:
                self.helping -= 1
                self.changed.notify()

    def run(self, helpers: int) -> None:
        """Take part until all is done; after an error or Ctrl-C, until helpers have finished their current pieces."""
        try:
            if helpers > 0:
                _helpers.ask(self, helpers)
            self.work(self.pieces())
        finally:
            self.left.clear()
            for _ in range(YIELDS if self.helping else 0):
                sleep(0)
                if not self.helping:
                    break
            with self.changed:
                while self.helping:
                    self.changed.wait()
        if self.problem is not None:
            raise self.problem


class _Helpers:
    """Threads that wait for jobs."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start without helpers, as in the child of a fork."""
        self.jobs: Queue = SimpleQueue()
        self.threads: list[Thread] = []
        self.growing = RLock()  # a signal handler may fork while this thread holds it

    def ask(self, job: _Job, count: int) -> None:
        """Let this many helpers take part as soon as they are free."""
        with self.growing:
            while len(self.threads) < count:
                helper = Thread(target=_wait_for_jobs, args=(self.jobs,), name="dalembert", daemon=True)
                try:
                    helper.start()
                except RuntimeError:  # no more threads, or Python is shutting down: the others do the work
                    break
                self.threads.append(helper)
            for _ in range(min(count, len(self.threads))):
                self.jobs.put(job)

    def end(self) -> None:
        """Stop all helpers, because Python warns of a fork in the presence of other threads."""
        with self.growing:
            for _ in self.threads:
                self.jobs.put(None)
            for thread in self.threads:
                thread.join(ENDING)
            self.threads.clear()


def _wait_for_jobs(jobs: Queue) -> None:
    while (job := jobs.get()) is not None:
        job.help()
        del job  # and release the arrays that it holds


_helpers = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_helpers.end, after_in_child=_helpers.forget)


def together(work: Callable[[Iterator[Any]], None], pieces: Iterable[Any], threads: int) -> None:
    """Run ``work(some)`` in this thread and in helpers, each with the pieces that it takes; an error in one is raised
    here.

    >>> done = []
    >>> together(done.extend, range(5), threads=2)
    >>> sorted(done)
    [0, 1, 2, 3, 4]
    """
    job = _Job(work, pieces)
    job.run(min(threads, len(job.left)) - 1)
