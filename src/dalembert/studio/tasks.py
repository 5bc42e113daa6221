"""What is computed in worker processes: pages, timings, identifications. Each answers with plain data and objects of ours."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.arm import Arm
from dalembert.errors import DalembertError, MissingExtraError
from dalembert.identification.fit import identify
from dalembert.identification.stages import Stages
from dalembert.report.identification import identification_html, remarks, verdict
from dalembert.robot.load import load_robot
from dalembert.robot.model import Robot
from dalembert.studio.confined import check_mjcf_paths, confine
from dalembert.studio.structure import Structure
from dalembert.studio.worker import Tell
from dalembert.trajectory.csv_file import read_trajectory
from dalembert.trajectory.example_7_2 import titled_motions
from dalembert.trajectory.trajectory import Trajectory
from dalembert.web.page import page_of
from dalembert.web.samples import motions_of

Titled = tuple[str, str, Trajectory]
FITTED = 0.8  # of an identification: its share before the report


@dataclass(frozen=True)
class Shown:
    """A robot, how it is changed, and the page of the arm that this makes."""

    robot: Robot
    structure: Structure
    arm: Arm
    motions: tuple[Titled, ...]
    page: str
    notes: tuple[str, ...] = ()


@contextmanager
def noting(notes: list[str]) -> Iterator[None]:
    """Warnings of the work become notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notes += dict.fromkeys(str(warning.message) for warning in caught)


def read_robot(tell: Tell, path: str, folder: str) -> Robot:
    """The robot of a file; nothing outside the folder is read."""
    if os.path.splitext(path)[1].lower() in (".xml", ".mjcf"):
        check_mjcf_paths(Path(path), Path(folder))
    confine([Path(folder)])
    return load_robot(path)


def open_robot(tell: Tell, path: str, folder: str, studio: Mapping[str, Any]) -> Shown:
    """The page of a robot file that the page has asked for; nothing outside its folder is read."""
    notes: list[str] = []
    with noting(notes):
        robot = read_robot(tell, path, folder)
    return shown_page(tell, robot, Structure(), (), studio, notes)


def open_shipped(tell: Tell, name: str, studio: Mapping[str, Any]) -> Shown:
    """The page of a shipped arm."""
    return shown_page(tell, load_robot(name), Structure(), (), studio)


def shown_page(
    tell: Tell, robot: Robot, structure: Structure, motions: tuple[Titled, ...], studio: Mapping[str, Any], notes: list[str] | None = None
) -> Shown:  # fmt: skip
    """The page of a robot with a changed structure; motions for another number of joints are left out."""
    notes = [] if notes is None else notes
    tell("model", 0.05)
    with noting(notes):
        arm = structure.arm(robot)
        kept = tuple(motion for motion in motions if motion[2].n == arm.n)
        if len(kept) < len(motions):
            notes.append(
                f"{len(motions) - len(kept)} motions are left out, since they are for another number of joints"
            )
        known = kept or tuple(example_motions(arm))
        page = page_of(arm, list(known), studio=studio, progress=lambda fraction: tell("kernels", 0.1 + 0.9 * fraction))
    return Shown(robot, structure, arm, known, page.text, (*notes, *page.notes))


def example_motions(arm: Arm) -> list[Titled]:
    """The motions of S Example 7.2 for an arm that can do them."""
    try:
        return titled_motions(arm) if arm.n == 2 else []
    except DalembertError:
        return []


def plain_page(tell: Tell, arm: Arm, motions: tuple[Titled, ...]) -> str:
    """The page of an arm as one file that needs no server."""
    return page_of(arm, list(motions), progress=lambda fraction: tell("kernels", fraction)).text


def retime(
    tell: Tell, arm: Arm, name: str, path: str, how: str, duration: float | None
) -> tuple[Titled, dict[str, Any], list[str]]:
    """A motion (a CSV file) with another timing: the motion, its data for the page, and what there is to say."""
    notes: list[str] = []
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


@dataclass(frozen=True)
class Fitted:
    """What an identification gave: the calibrated arm, the report as a page, and what the studio's page shows."""

    arm: Arm
    report: str | None
    data: dict[str, Any]


def identify_log(tell: Tell, arm: Arm, logs: list[str], settings: dict[str, Any]) -> Fitted:
    """The parameters of the arm from logs of its motion."""
    notes: list[str] = []
    stages = Stages()
    with noting(notes):
        fit = identify(
            arm, logs if len(logs) > 1 else logs[0],
            progress=lambda words, fraction: tell(words, FITTED * stages(words, fraction)), **settings,
        )  # fmt: skip
        calibrated = fit.arm
    try:
        report = identification_html(fit, lambda fraction: tell("report", FITTED + (1 - FITTED) * fraction))
    except MissingExtraError as error:
        report = None
        notes.append(str(error))
    runs = [
        {"run": Path(run.name).name, "instants": instants, "joints": list(joints), "all": overall}
        for run in (fit.run, *fit.validation)
        for instants, overall, joints in run.error_table
    ]
    data = {
        "joints": list(arm.joint_names),
        "errors": runs,
        "selection": [] if fit.selection is None else list(fit.selection.sentences),
        "verdict": verdict(fit),
        "notes": [*notes, *remarks(fit)],
    }
    return Fitted(calibrated, report, data)
