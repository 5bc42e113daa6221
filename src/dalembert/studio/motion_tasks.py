"""Tasks of worker processes: new timings of a motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dalembert.arm import Arm
from dalembert.studio.notes import noting
from dalembert.studio.page_tasks import Titled
from dalembert.studio.worker import Tell
from dalembert.trajectory.csv_file import read_trajectory
from dalembert.web.samples import motions_of


def retime(
    tell: Tell, arm: Arm, name: str, folder: str, csv: str, how: str, duration: float | None
) -> tuple[Titled, dict[str, Any], list[str]]:
    """A motion (CSV text) with a new timing: the motion, its data for the page, and notes."""
    notes: list[str] = []
    path = Path(folder, "motion.csv")
    path.write_text(csv, encoding="utf-8")
    with noting(notes):
        given = read_trajectory(path, arm)
        tell("timing", 0.2)
        if how == "time-optimal":
            motion = given.time_optimal(arm, duration=duration)
            title = f"{name}, time-optimal"
        else:
            motion = given.scaled(arm, allow_faster=True)
            title = f"{name}, scaled"
    sentence = str(motion.scaling)
    titled = (title, f"{sentence[:1].upper()}{sentence[1:]}.", motion)
    (data,) = motions_of(arm, [titled])
    return titled, data, notes
