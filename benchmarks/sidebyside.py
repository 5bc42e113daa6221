"""Interleaved timing in one run: machines are noisy, so only ratios of interleaved minima are meaningful."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

STATES = 10_000


def one_core() -> None:
    """Pin the process to one core, if the system supports it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def interleaved(calls: dict[str, Callable[[], object]], rounds: int = 25) -> dict[str, float]:
    """The minimum time of each call (s), measured alternately so that all see the same machine."""
    least = {name: float("inf") for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def random_states(n: int, count: int = STATES, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, qd, qdd of shape (count, n)."""
    q, qd, qdd = np.random.default_rng(seed).uniform(-2, 2, (3, count, n))
    return q, qd, qdd


def panda_urdf_text() -> str:
    """Our shipped panda as URDF, for the other libraries."""
    import dalembert as da
    from dalembert.robot.readers.urdf_writer import write_urdf

    return write_urdf(da.load("panda").robot)


def table(title: str, rows: list[tuple[str, ...]], head: tuple[str, ...]) -> None:
    """Print a table."""
    from rich.console import Console
    from rich.table import Table

    made = Table(title=title, title_justify="left")
    for k, column in enumerate(head):
        made.add_column(column, justify="left" if k == 0 else "right")
    for row in rows:
        made.add_row(*row)
    Console(width=110).print(made)
