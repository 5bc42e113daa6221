"""Sixteen processes that start at the same moment on one empty cache."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

from trust.check import Outcome, Task
from trust.processes import cache_at, started, torques

PROCESSES = 16


def work(task: Task, outcome: Outcome) -> None:
    """Rounds of processes that wait for one another and then ask for the same kernel."""
    for k in range(round(task.amount)):
        where = f"round {k} of piece {task.index}, seed {task.seed}"
        with tempfile.TemporaryDirectory(prefix="crowd-", dir=task.folder) as name:
            folder = Path(name)
            ready, go = os.pipe()
            children = [started(partial(_together, ready, go), cache_at(folder)) for _ in range(PROCESSES)]
            os.close(ready)
            os.close(go)  # the last open end but those of the children, which close theirs at once: now all may go
            answers = [child.answer() for child in children]
            bad = [answer for status, answer in answers if status != 0 or answer["said"]]
            outcome.passed("every process answers, without a warning", f"{bad[0]}" if bad else None, where)
            sums = {answer["sum"] for status, answer in answers if status == 0}
            outcome.passed("all torques are equal", None if len(sums) == 1 else f"{sums}", where)
            kept = [path.name for path in (folder / "cache" / "dalembert").iterdir()]
            whole = len(kept) == 1 and kept[0].endswith(".o")
            outcome.passed("one kernel is kept, and nothing else", None if whole else f"{kept}", where)
            status, answer = started(torques, cache_at(folder)).answer()
            reused = status == 0 and answer["compiled"] == 0 and {answer["sum"]} == sums
            outcome.passed("the next process compiles nothing", None if reused else f"{answer}", where)
        outcome.count += PROCESSES


def _together(ready: int, go: int) -> object:
    """Wait until no process holds the writing end any more, and ask for torques."""
    os.close(go)
    os.read(ready, 1)
    return torques()
