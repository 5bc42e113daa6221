"""Jobs started by the page: at most one of each kind, with its progress, state and result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dalembert.errors import DalembertError
from dalembert.views.studio.worker import CancelledError, Worker

TITLES = {"page": "a page", "timing": "a timing", "identification": "an identification"}
Then = Callable[[Any], dict[str, Any]]
RUNNING, DONE, FAILED, CANCELLED = "running", "done", "failed", "cancelled"


@dataclass
class Job:
    """A job. ``number`` distinguishes it from earlier ones; ``result`` is for the page, ``sentence`` the error message."""

    kind: str
    number: int
    worker: Worker
    state: str = RUNNING
    words: str = ""
    fraction: float = 0.0
    sentence: str = ""
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> dict[str, Any]:
        """The job as data for the page."""
        return {name: value for name, value in vars(self).items() if name != "worker"}


class Jobs:
    """The last job of each kind; ``start`` is refused while one of that kind is running."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[str, Job] = {}
        self._count = 0
        self._closed = False

    def start(self, kind: str, function: str, arguments: tuple[Any, ...], then: Then) -> dict[str, Any]:
        """Start a job; ``then`` converts its answer to the result for the page, unless the job has been cancelled."""
        with self._lock:
            last = self._last.get(kind)
            if last is not None and last.state == RUNNING:
                raise DalembertError(f"{TITLES[kind]} is already in progress; wait for it or cancel it")
            if self._closed:
                raise DalembertError("the studio is stopping")
            self._count += 1
            self._last[kind] = job = Job(kind, self._count, Worker())
        threading.Thread(target=self._run, args=(job, function, arguments, then), daemon=True).start()
        return job.data

    def _run(self, job: Job, function: str, arguments: tuple[Any, ...], then: Then) -> None:
        def tell(words: str, fraction: float) -> None:
            job.words, job.fraction = words, fraction

        try:
            job.result = then(job.worker.run(function, arguments, tell))
            job.state = DONE
        except CancelledError:
            job.state = CANCELLED
        except DalembertError as error:
            job.sentence = str(error)
            job.state = FAILED

    def data(self) -> dict[str, Any]:
        """The last job of each kind, for the page."""
        with self._lock:
            return {kind: job.data for kind, job in self._last.items()}

    def cancel(self, kind: str) -> None:
        """Cancel the running job of a kind; a finished job is not affected."""
        with self._lock:
            job = self._last.get(kind)
        if job is not None and job.state == RUNNING:
            job.worker.cancel()

    def close(self) -> None:
        """Cancel all jobs and refuse new ones."""
        with self._lock:
            self._closed = True
        for kind in TITLES:
            self.cancel(kind)
