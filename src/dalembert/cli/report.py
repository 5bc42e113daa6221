"""``dalembert report``: one page about a motion, for a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

import dalembert as da
from dalembert.cli import options
from dalembert.cli.terminal import say
from dalembert.cli.torques import need_effort_limits, read
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError
from dalembert.files import HTML, check_writable

EXAMPLES = ("7.2",)


def report(
    arm: options.ArmArgument,
    motion: options.MotionArgument = None,
    example: options.ExampleOption = None,
    limits: options.LimitsSourceOption = None,
    out: Annotated[Path, Option("--out", "-o", metavar="OUT.html", help="The file for the page.")] = Path(
        "report.html"
    ),
    author: options.AuthorOption = None,
    title: options.TitleOption = None,
    note: options.NoteOption = None,
    date: options.DateOption = "today",
    force: Annotated[bool, options.overwriting("OUT.html")] = False,
    check_limits: Annotated[
        bool, Option("--check-limits", help="Exit with status 3 when the motion exceeds a limit.")
    ] = False,
    reading: options.Reading = options.AS_WRITTEN,
    tolerance: options.ToleranceOption = None,
    resume: options.ResumeOption = True,
    tip_wrench: options.WrenchOption = None,
    payload: options.PayloadOption = None,
    payload_com: options.PayloadComOption = None,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Write a report on a motion: one HTML page that needs no network.

    It shows the arm, the motion, the torques with their limits and their causes, the loads on joints, motors and
    bearings, and the effect of dynamic scaling; all numbers are included as CSV.

    MOTION.csv has the columns t (s), q1 … qn, qd1 … qdn, qdd1 … qddn, as for 'dalembert torques'.
    """
    wrench, within = options.wrench_of(tip_wrench), options.tolerances_of(tolerance)
    if (motion is None) == (example is None):
        raise DalembertError(
            "a report needs a motion: give MOTION.csv, or --example 7.2 for the motions of the book's example"
            if example is None
            else f"--example {example} and {motion} are both given; choose one"
        )
    loaded = options.load(arm, loading, payload, payload_com, limits)
    if check_limits:
        need_effort_limits(loaded, "; --limits gives them")
    options.not_an_input(out, "the report would overwrite the file it is", motion, arm, limits)
    options.need_figures(f"{out}: a report")
    check_writable(out, overwrite=force, kinds=HTML)
    motions = [_from_file(loaded, motion, reading)] if motion is not None else example_motions(loaded, example)
    from dalembert.analysis.sizing import without_effort_limit
    from dalembert.report import study, write_report

    if missing := ", ".join(without_effort_limit(loaded)):
        say("note", f"robot '{loaded.name}' has no effort limits at {missing}, so the report omits margins")
    studies = []
    if title is None and example is not None:
        title = f"Example {example}: {loaded.name}"
    heading: dict[str, str | None] = {"title": title, "author": author, "note": note, "date": options.date_of(date)}
    with Bar(f"report on {loaded.name}") as bar:
        for k, (name, about, moving) in enumerate(motions):
            studies.append(
                study(
                    loaded, moving, title=name, note=about, tip_wrench=wrench, tolerances=within,
                    resume=options.resuming(resume),
                )
            )  # fmt: skip
            bar(0.2 * (k + 1) / len(motions))
        write_report(out, studies, **heading, overwrite=force, progress=lambda fraction: bar(0.2 + 0.8 * fraction))
    print(f"the report is in {out.resolve()} ({out.stat().st_size // 1000} kB)")
    beyond = [sentence for motion_study in studies for sentence in motion_study.sizing.exceeded]
    say("error" if check_limits else "warning", *beyond)
    if check_limits and beyond:
        raise typer.Exit(options.LIMIT_EXCEEDED)


def _from_file(arm: da.Arm, path: Path, reading: options.Reading) -> tuple[str, str, Any]:
    table, how = read(arm, path, reading)
    note = f"Read from {path.name}: {len(table.t):,} instants, t = {table.t[0]:g} … {table.t[-1]:g} s."
    return path.stem, " ".join([note, *(f"{sentence}." for sentence in how)]), table


def example_motions(arm: da.Arm, example: str | None) -> list[tuple[str, str, Any]]:
    """The motions of an example: title, a sentence about it, the motion."""
    if example not in EXAMPLES:
        raise DalembertError(f"there is no example '{example}'; the examples are {', '.join(EXAMPLES)}")
    if arm.n != 2:
        raise DalembertError(f"Example 7.2 needs a two-link arm like planar-2r, but '{arm.name}' has {arm.n} joints")
    from dalembert.trajectory.example_7_2 import titled_motions

    return titled_motions(arm)
