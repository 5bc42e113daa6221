"""Tasks of worker processes: pages of robots, as loaded or with structural changes, and new timings of a motion."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dalembert.arm import Arm
from dalembert.base.wording import counted
from dalembert.robot.model.robot import Robot
from dalembert.robot.readers.load import load_robot
from dalembert.views.studio.confined import check_mjcf_paths, confine
from dalembert.views.studio.structure import Structure
from dalembert.views.studio.worker import Tell, noting
from dalembert.views.web.live_page import page_of
from dalembert.views.web.samples import Titled, example_motions, motions_of
from dalembert.work.trajectory.planning.motion_file import read_trajectory


@dataclass(frozen=True)
class Shown:
    """A robot, its structural changes, and the page of the resulting arm.

    key     what tells this page from others of the studio: its requests contain it
    folder  folder of a robot opened from the page: no file outside it is read for this robot, now or later
    """

    robot: Robot
    structure: Structure
    arm: Arm
    motions: tuple[Titled, ...]
    page: str
    notes: tuple[str, ...] = ()
    key: str = ""
    folder: str | None = None


def read_robot(tell: Tell, path: str, folder: str) -> Robot:
    """The robot from a file; no file outside the folder is read."""
    if os.path.splitext(path)[1].lower() in (".xml", ".mjcf"):
        check_mjcf_paths(Path(path), Path(folder))
    confine(folder)
    return load_robot(path)


def read_design(tell: Tell, folder: str, toml: str) -> Robot:
    """The robot from the text of a robot file, as the page writes it."""
    path = Path(folder, "design.toml")
    path.write_text(toml, encoding="utf-8")
    return read_robot(tell, str(path), folder)


def open_robot(tell: Tell, path: str, folder: str, studio: Mapping[str, Any]) -> Shown:
    """The page of a robot file opened from the page; no file outside its folder is read."""
    notes: list[str] = []
    with noting(notes):
        robot = read_robot(tell, path, folder)
    return replace(shown_page(tell, robot, Structure(), (), studio, notes), folder=folder)


def open_shipped(tell: Tell, name: str, studio: Mapping[str, Any]) -> Shown:
    """The page of a shipped arm."""
    return shown_page(tell, load_robot(name), Structure(), (), studio)


def changed_page(tell: Tell, before: Shown, robot: Robot, structure: Structure, studio: Mapping[str, Any]) -> Shown:
    """The page of another robot or structure that replaces the displayed one, with its motions."""
    confine(before.folder)
    return replace(shown_page(tell, robot, structure, before.motions, studio), folder=before.folder)


def shown_page(
    tell: Tell, robot: Robot, structure: Structure, motions: tuple[Titled, ...], studio: Mapping[str, Any], notes: list[str] | None = None
) -> Shown:  # fmt: skip
    """The page of a robot with structural changes; motions for another number of joints are omitted."""
    notes = [] if notes is None else notes
    tell("model", 0.05)
    with noting(notes):
        arm = structure.arm(robot)
        fitting = tuple(motion for motion in motions if motion[2].n == arm.n)
        if left := len(motions) - len(fitting):
            words = counted(left, "motion was omitted because it is", "motions were omitted because they are")
            notes.append(f"{words} for another number of joints")
        known = fitting or tuple(example_motions(arm))
        key = secrets.token_hex(8)
        facts = {**studio, "page": key}
        page = page_of(arm, list(known), studio=facts, progress=lambda fraction: tell("kernels", 0.1 + 0.9 * fraction))
    return Shown(robot, structure, arm, known, page.text, (*notes, *page.notes), key)


def plain_page(tell: Tell, shown: Shown) -> str:
    """The displayed page as one file that needs no server."""
    confine(shown.folder)
    return page_of(shown.arm, list(shown.motions), progress=lambda fraction: tell("kernels", fraction)).text


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
        optimal = how == "time-optimal"
        motion = given.time_optimal(arm, duration=duration) if optimal else given.scaled(arm, allow_faster=True)
    sentence = str(motion.scaling)
    titled = (f"{name}, {how}", f"{sentence[:1].upper()}{sentence[1:]}.", motion)
    (data,) = motions_of(arm, [titled])
    return titled, data, notes
