"""``dalembert report``: one page about a motion, for a colleague."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dalembert.base.environment.progress import Bar
from dalembert.base.files import HTML
from dalembert.base.options import option
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading, MotionArgument, Reading
from dalembert.views.cli.terminal import say
from dalembert.views.cli.torques import motions_of, need_effort_limits

ORDER = "example limits out author title note date force check_limits tolerance resume tip_wrench payload payload_com"


@dataclass(frozen=True)
class ReportOptions(options.ReportHeading, options.Load):
    """The motion of a report, what is examined, and its file."""

    example: str | None = options.common("example")
    out: Path = option(
        "The file for the page.", Path("report.html"), spelled="--out -o", metavar="OUT.html", writes=HTML
    )
    force: bool = options.overwriting("OUT.html")
    check_limits: bool = options.common("check_limits")
    tolerance: list[str] | None = options.common("tolerance")
    resume: bool | None = options.common("resume")


def report(
    arm: ArmArgument,
    *,
    motion: MotionArgument = None,
    settings: Annotated[ReportOptions, ORDER],
    reading: Reading,
    loading: Loading,
) -> None:
    """Write a report on a motion: one HTML page that needs no network.

    It shows the arm, the motion, the torques with their limits and their causes, the loads on joints, motors and
    bearings, and the effect of dynamic scaling; all numbers are included as CSV.

    MOTION.csv has the columns t (s), q1 … qn, qd1 … qdn, qdd1 … qddn, as for 'dalembert torques'.
    """
    out, example = settings.out, settings.example
    common: dict[str, Any] = {"tip_wrench": settings.wrench, "tolerances": options.tolerances_of(settings.tolerance)}
    paths = None if motion is None else [motion]
    loaded = options.load(arm, loading, settings)
    if settings.check_limits:
        need_effort_limits(loaded, "; --limits gives them")
    options.need_figures(f"{out}: a report")
    motions = motions_of(loaded, paths, example, reading, needed="a report needs a motion")
    from dalembert.views.report import study, write_report
    from dalembert.work.sizing.sizing import without_effort_limit

    if missing := ", ".join(without_effort_limit(loaded)):
        say("note", f"robot '{loaded.name}' has no effort limits at {missing}, so the report omits margins")
    options.check_resume(settings.resume)
    studies, heading = [], settings.heading
    if settings.title is None and example is not None:
        heading["title"] = f"Example {example}: {loaded.name}"
    with Bar(f"report on {loaded.name}") as bar:
        for k, (name, about, moving) in enumerate(motions):
            studies.append(study(loaded, moving, title=name, note=about, **common))
            bar(0.2 * (k + 1) / len(motions))
        write_report(
            out, studies, **heading, overwrite=settings.force, progress=lambda fraction: bar(0.2 + 0.8 * fraction)
        )
    print(f"the report is in {out.resolve()} ({out.stat().st_size // 1000} kB)")
    beyond = [sentence for motion_study in studies for sentence in motion_study.sizing.exceeded]
    say("error" if settings.check_limits else "warning", *beyond)
    if settings.check_limits and beyond:
        raise typer.Exit(options.LIMIT_EXCEEDED)
