"""Processes that compile, keep kernels and write files, killed with SIGKILL at random instants."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from trust.check import Outcome, Task
from trust.processes import cache_at, started, torques

VARIANTS = 8
LONGEST = 0.8  # s until the kill


def work(task: Task, outcome: Outcome) -> None:
    """So many kills in one folder; after each, everything under a final name is whole, and a new process gets the torques."""
    folder = Path(tempfile.mkdtemp(prefix="killed-", dir=task.folder))
    rng = task.rng
    expected = _answer(started(torques, cache_at(folder / "elsewhere")))
    for k in range(round(task.amount)):
        where = f"kill {k} of piece {task.index}, seed {task.seed}, in {folder}"
        child = started(lambda: endless(folder), cache_at(folder))
        time.sleep(rng.uniform(0.0, LONGEST))
        child.kill()
        status, checked = started(lambda: inspected(folder), cache_at(folder)).answer()
        outcome.passed("files and cache after a kill", None if status == 0 and checked is None else f"{checked}", where)
        again = started(torques, cache_at(folder)).answer()
        right = again[0] == 0 and again[1]["sum"] == expected["sum"]
        outcome.passed("torques of the next process", None if right else f"{again}", where)
        outcome.count += 1
    if not outcome.findings:
        shutil.rmtree(folder)


def _answer(child: Any) -> Any:
    status, answer = child.answer()
    assert status == 0, answer
    return answer


def endless(folder: Path) -> None:
    """Compile arms, keep their kernels, and write a robot and a table again and again."""
    import dalembert as da
    from dalembert.compiler.kernel import cache, make
    from dalembert.robot.readers.load import save_robot

    motion = da.polynomial([0.0, 0.0], [1.0, 2.0], duration=1.0)
    k = 0
    while True:
        arm = da.load("planar-2r").with_payload(1.0 + k % VARIANTS / 1024)
        arm.inverse_dynamics([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
        save_robot(arm.robot, folder / "arm.toml")
        motion.save(folder / "motion.csv", overwrite=True, rate=1000.0)
        k += 1
        make._kernels.clear()  # asked of the disk again, or compiled again
        if k % VARIANTS == 0:
            cache.clear()


def inspected(folder: Path) -> str | None:
    """What is wrong with what a killed process left behind; None where nothing is."""
    import dalembert as da
    from dalembert.compiler.kernel import cache

    if cache.folder().is_dir():
        _, removed, stuck = cache.verify()
        if removed or stuck:
            return f"{len(removed) + len(stuck)} kept kernels were damaged"
    robot, motion = folder / "arm.toml", folder / "motion.csv"
    if robot.exists() and da.load(robot).n != 2:
        return f"{robot} is not the robot that was written"
    if motion.exists():
        t = da.read_trajectory(motion).t
        if len(t) != 1001 or not np.isclose(t[-1], 1.0):
            return f"{motion} has {len(t)} rows instead of 1001"
    return None
