"""``dalembert report``: a motion in, one page for a colleague out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import dalembert as da
from dalembert.cli.options import (
    LIMIT_EXCEEDED,
    ArmArgument,
    MotionHelp,
    PayloadComOption,
    PayloadOption,
    Physical,
    PhysicalOption,
    TipOption,
    WrenchOption,
    load,
    overwriting,
    payload_com_of,
    wrench_of,
)
from dalembert.cli.terminal import Bar, say
from dalembert.cli.torques import need_effort_limits
from dalembert.errors import DalembertError
from dalembert.files import check_writable, whole_file

EXAMPLES = ("7.2",)
_ABOUT = {
    "equal-duration": "Both joints turn by π/2 in 0.5 s with triangular velocities; the tip starts at (0.2, 0) m.",
    "different-duration": "Both joints, at most 5 rad/s after 0.15 s of acceleration, take the tip from (0.2, 0) m to "
    "(1.8, 0) m, each in its own time.",
    "straight-line": "The tip goes from (0.2, 0) m to (1.8, 0) m along a straight line, at most 5 m/s after 0.15 s of "
    "acceleration.",
}


def report(
    arm: ArmArgument,
    motion: Annotated[Path | None, typer.Argument(metavar="[MOTION.csv]", help=MotionHelp)] = None,
    example: Annotated[
        str | None, typer.Option(metavar="7.2", help="The motions of the book's example instead.")
    ] = None,
    limits: Annotated[
        str | None,
        typer.Option(
            metavar="LIMITS",
            help='Limits in place of the robot\'s: a .toml or .csv file, or text like "effort: 87 87 12; velocity: 2".',
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT.html", help="Where to write the page.")] = Path(
        "report.html"
    ),
    force: Annotated[bool, overwriting("OUT.html")] = False,
    check_limits: Annotated[
        bool, typer.Option("--check-limits", help="Exit with status 3 when the motion exceeds a limit.")
    ] = False,
    tip_wrench: WrenchOption = None,
    payload: PayloadOption = None,
    payload_com: PayloadComOption = None,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Write a report on a motion: one HTML page that needs no network.

    It shows the arm, the motion, the torques against their limits and where they come from, what joints, motors and
    bearings must bear, and what scaling would do; with all numbers as CSV.

    MOTION.csv has the columns t (s), q1 … qn, qd1 … qdn, qdd1 … qddn, as for 'dalembert torques'.
    """
    wrench = wrench_of(tip_wrench)
    loaded = load(arm, physical, tip, payload, payload_com_of(payload_com, payload))
    if (motion is None) == (example is None):
        raise DalembertError(
            "a report is about a motion: give MOTION.csv, or --example 7.2 for the motions of the book's example"
            if example is None
            else f"--example {example} and {motion} are both given; choose one"
        )
    if limits is not None:
        from dalembert.robot.limits_file import with_limits

        loaded = da.Arm(with_limits(loaded.robot, limits))
    if check_limits:
        need_effort_limits(loaded, "; --limits gives them")
    _not_an_input(out, motion, Path(arm), Path(limits or ""))
    check_writable(out, overwrite=force)
    motions = _example(loaded, example) if example is not None else [_from_file(loaded, motion)]
    if missing := [joint.name for joint in loaded.robot.moving_joints if joint.limits.effort is None]:
        say(
            "note",
            f"robot '{loaded.name}' has no effort limits at {', '.join(missing)}, so the report leaves margins out",
        )
    from dalembert.report import report_html, study

    studies = []
    title = f"Example {example}: {loaded.name}" if example is not None else None
    with Bar(f"report on {loaded.name}") as bar:
        for k, (name, note, moving) in enumerate(motions):
            studies.append(study(loaded, moving, title=name, note=note, tip_wrench=wrench))
            bar(0.2 * (k + 1) / len(motions))
        page = report_html(studies, title=title, progress=lambda fraction: bar(0.2 + 0.8 * fraction))
        with whole_file(out, overwrite=force) as file:
            file.write(page)
    print(f"the report is in {out.resolve()} ({len(page.encode()) // 1000} kB)")
    beyond = [line for one in studies for line in one.sizing.exceeded]
    for line in beyond:
        say("error" if check_limits else "warning", line)
    if check_limits and beyond:
        raise typer.Exit(LIMIT_EXCEEDED)


def _not_an_input(output: Path, *inputs: Path | None) -> None:
    for read in inputs:
        if read is not None and read.is_file() and output.exists() and read.samefile(output):
            raise DalembertError(f"{output}: the report would overwrite the file it is made from; name another")


def _from_file(arm: da.Arm, path: Path | None) -> tuple[str, str, Any]:
    from dalembert.trajectory.csv_file import read_motion

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


def _example(arm: da.Arm, example: str | None) -> list[tuple[str, str, Any]]:
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
