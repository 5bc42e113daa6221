"""``dalembert report``: a motion in, one page for a colleague out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dalembert import Arm
from dalembert.cli.terminal import Bar, say
from dalembert.cli.torques import need_effort_limits
from dalembert.errors import DalembertError
from dalembert.files import check_writable, whole_file
from dalembert.trajectory.csv_file import read_motion

EXAMPLES = ("7.2",)


def write(
    arm: Arm,
    robot_file: str,
    motion_file: Path | None,
    example: str | None,
    output: Path,
    *,
    force: bool,
    check_limits: bool,
    limits: str | None,
    tip_wrench: tuple[float, ...] | None,
) -> bool:
    """Compute and write the page; False when limits were to be checked and one is exceeded."""
    if (motion_file is None) == (example is None):
        raise DalembertError(
            "a report is about a motion: give MOTION.csv, or --example 7.2 for the motions of the book's example"
            if example is None
            else f"--example {example} and {motion_file} are both given; choose one"
        )
    if limits is not None:
        from dalembert.robot.limits_file import with_limits

        arm = Arm(with_limits(arm.robot, limits))
    if check_limits:
        need_effort_limits(arm, "; --limits gives them")
    _not_an_input(output, motion_file, Path(robot_file), Path(limits or ""))
    check_writable(output, overwrite=force)
    motions = _example(arm, example) if example is not None else [_from_file(arm, motion_file)]
    if missing := [joint.name for joint in arm.robot.moving_joints if joint.limits.effort is None]:
        say(
            "note", f"robot '{arm.name}' has no effort limits at {', '.join(missing)}, so the report leaves margins out"
        )

    from dalembert.report import report_html, study

    studies = []
    title = f"Example {example}: {arm.name}" if example is not None else None
    with Bar(f"report on {arm.name}") as bar:
        for k, (name, note, motion) in enumerate(motions):
            studies.append(study(arm, motion, title=name, note=note, tip_wrench=tip_wrench))
            bar(0.2 * (k + 1) / len(motions))
        made = report_html(studies, title=title, progress=lambda fraction: bar(0.2 + 0.8 * fraction))
        with whole_file(output, overwrite=force) as file:
            file.write(made)
    print(f"the report is in {output.resolve()} ({len(made.encode()) // 1000} kB)")
    beyond = [line for one in studies for line in one.sizing.exceeded]
    for line in beyond:
        say("error" if check_limits else "warning", line)
    return not (check_limits and beyond)


def _not_an_input(output: Path, *inputs: Path | None) -> None:
    for read in inputs:
        if read is not None and read.is_file() and output.exists() and read.samefile(output):
            raise DalembertError(f"{output}: the report would overwrite the file it is made from; name another")


def _from_file(arm: Arm, path: Path | None) -> tuple[str, str, Any]:
    assert path is not None
    with Bar(f"reading {path.name}") as bar:
        table = read_motion(path, arm, bar)
    for sentence in table.notes:
        say("note", sentence)
    if table.ignored:
        say("note", f"{path}: the columns {', '.join(table.ignored)} are not needed and were ignored")
    note = f"Read from {path.name}: {len(table.t):,} instants, t = {table.t[0]:g} … {table.t[-1]:g} s."
    note += "".join(f" {sentence.removeprefix(f'{path}: ')}." for sentence in table.notes)
    if made := table.reconstructed:
        words = f"{' and '.join(made)} are not in the file and were made from the other columns"
        say("note", f"{path}: {words}")
        note += f" {words}."
    return path.stem, note, table


def _example(arm: Arm, example: str | None) -> list[tuple[str, str, Any]]:
    if example not in EXAMPLES:
        raise DalembertError(f"there is no example '{example}'; known are {', '.join(EXAMPLES)}")
    if arm.n != 2:
        raise DalembertError(f"Example 7.2 is about a two-link arm like planar-2r, and '{arm.name}' has {arm.n} joints")
    from dalembert.trajectory.example_7_2 import FIGURES, MOTIONS, example_7_2

    return [
        (
            f"{name.replace('-', ' ').capitalize()}",
            f"{_ABOUT[name]} S Figs {FIGURES[name]}.",
            example_7_2(name, arm=arm).trajectory,
        )
        for name in MOTIONS
    ]


_ABOUT = {
    "equal-duration": "Both joints turn by π/2 in 0.5 s with triangular velocities; the tip starts at (0.2, 0) m.",
    "different-duration": "Both joints, at most 5 rad/s after 0.15 s of acceleration, take the tip from (0.2, 0) m to "
    "(1.8, 0) m, each in its own time.",
    "straight-line": "The tip goes from (0.2, 0) m to (1.8, 0) m along a straight line, at most 5 m/s after 0.15 s of "
    "acceleration.",
}
