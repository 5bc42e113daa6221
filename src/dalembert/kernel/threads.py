"""Threads that help with large batches: kernels release Python's lock while they compute.

The thread that calls takes part itself, and helpers take what it has not begun. It never waits for a helper that is busy
with another batch, however many threads of the user call at once: there is nothing to wait for in a circle, and no more
helpers than the largest batch has asked for. Helpers end before the process forks, and begin again when they are needed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from operator import index
from queue import SimpleQueue
from threading import Condition, Lock, RLock, Thread
from time import sleep
from typing import Any

import numpy as np

from dalembert.arrays import shown
from dalembert.errors import DalembertError

MOST_THREADS = 1024
ENDING = 1.0  # s at most that a fork waits for a helper: nothing depends on its end but Python's warning
YIELDS = 100  # looks at whether helpers are done, some 100 µs, before a sleep from which waking takes as long

Queue = SimpleQueue["_Job | None"]


def checked_threads(threads: Any) -> int | None:
    """``threads`` as a number; None is left to the size of the batch.

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
    """The CPUs that this process may use, or OMP_NUM_THREADS where that is less."""
    if hasattr(os, "process_cpu_count"):  # from Python 3.13 on
        cpus = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        cpus = len(os.sched_getaffinity(0))
    else:
        cpus = os.cpu_count() or 1
    outermost = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # "4,2": 2 are for nested regions
    return min(cpus, int(outermost)) if outermost.isdecimal() and int(outermost) > 0 else cpus


class _Job:
    """Pieces of work that several threads take one after the other."""

    def __init__(self, work: Callable[[Iterator[Any]], None], pieces: Iterable[Any]) -> None:
        self.work, self.left = work, deque(pieces)
        self.changed, self.helping = Condition(Lock()), 0
        self.problem: BaseException | None = None

    def taken(self) -> Iterator[Any]:
        """Pieces until none is left."""
        while True:
            try:
                piece = self.left.popleft()
            except IndexError:
                return
            yield piece

    def help(self) -> None:
        """The same in a helper; what goes wrong is kept for the thread that waits."""
        with self.changed:
            if not self.left:
                return
            self.helping += 1
        try:
            self.work(self.taken())
        except BaseException as problem:  # noqa: BLE001 - raised again by run()
            self.problem = problem
            self.left.clear()
        finally:
            with self.changed:
                self.helping -= 1
                self.changed.notify()

    def run(self, helpers: int) -> None:
        """Take part until all is done; after an error or Ctrl-C, until helpers have done what they had begun."""
        try:
            if helpers > 0:
                _helpers.ask(self, helpers)
            self.work(self.taken())
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
        """Begin without any, as the child of a fork does."""
        self.asked: Queue = SimpleQueue()
        self.threads: list[Thread] = []
        self.growing = RLock()  # a signal's handler may fork while this thread holds it

    def ask(self, job: _Job, count: int) -> None:
        """Let so many helpers take part, as soon as they are free."""
        with self.growing:
            while len(self.threads) < count:
                helper = Thread(target=_wait_for_jobs, args=(self.asked,), name="dalembert", daemon=True)
                try:
                    helper.start()
                except RuntimeError:  # no more threads on this machine, or Python is about to end: the rest do it
                    break
                self.threads.append(helper)
            for _ in range(min(count, len(self.threads))):
                self.asked.put(job)

    def end(self) -> None:
        """Let all of them end: Python warns of a fork beside other threads."""
        with self.growing:
            for _ in self.threads:
                self.asked.put(None)
            for thread in self.threads:
                thread.join(ENDING)
            self.threads.clear()


def _wait_for_jobs(asked: Queue) -> None:
    while (job := asked.get()) is not None:
        job.help()
        del job  # and the arrays that it holds


_helpers = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_helpers.end, after_in_child=_helpers.forget)


def together(work: Callable[[Iterator[Any]], None], pieces: Iterable[Any], threads: int) -> None:
    """``work(some)`` in this thread and in helpers, each with the pieces that it takes; an error in one is raised here.

    >>> done = []
    >>> together(done.extend, range(5), threads=2)
    >>> sorted(done)
    [0, 1, 2, 3, 4]
    """
    job = _Job(work, pieces)
    job.run(min(threads, len(job.left)) - 1)
