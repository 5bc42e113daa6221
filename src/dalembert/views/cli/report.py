"""``dalembert report``: one page about a motion, for a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dalembert.base.environment.progress import Bar
from dalembert.base.files import HTML
from dalembert.base.options import option
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, AtTip, Loading, MotionArgument, Reading
from dalembert.views.cli.terminal import say
from dalembert.views.cli.torques import motions_of, need_effort_limits


def report(
    arm: ArmArgument,
    *,
    motion: MotionArgument = None,
    example: str | None = options.common("example"),
    limits: Annotated[options.Load, "limits"],
    out: Path = option(
        "The file for the page.", Path("report.html"), spelled="--out -o", metavar="OUT.html", writes=HTML
    ),
    heading: options.ReportHeading,
    force: bool = options.overwriting("OUT.html"),
    check_limits: bool = options.common("check_limits"),
    tolerance: list[str] | None = option(**options.COMMON["tolerance"]),
    resume: bool | None = options.common("resume"),
    load: AtTip,
    reading: Reading,
    loading: Loading,
) -> None:
    """Write a report on a motion: one HTML page that needs no network.

    It shows the arm, the motion, the torques with their limits and their causes, the loads on joints, motors and
    bearings, and the effect of dynamic scaling; all numbers are included as CSV.

    MOTION.csv has the columns t (s), q1 … qn, qd1 … qdn, qdd1 … qddn, as for 'dalembert torques'.
    """
    common: dict[str, Any] = {"tip_wrench": load.wrench, "tolerances": options.tolerances_of(tolerance)}
    paths = None if motion is None else [motion]
    loaded = options.load(arm, loading, limits)
    if check_limits:
        need_effort_limits(loaded, "; --limits gives them")
    options.need_figures(f"{out}: a report")
    motions = motions_of(loaded, paths, example, reading, needed="a report needs a motion")
    from dalembert.views.report import study, write_report
    from dalembert.work.sizing.sizing import without_effort_limit

    if missing := ", ".join(without_effort_limit(loaded)):
        say("note", f"robot '{loaded.name}' has no effort limits at {missing}, so the report omits margins")
    options.check_resume(resume)
    studies, words = [], heading.heading
    if heading.title is None and example is not None:
        words["title"] = f"Example {example}: {loaded.name}"
    with Bar(f"report on {loaded.name}") as bar:
        for k, (name, about, moving) in enumerate(motions):
            studies.append(study(loaded, moving, title=name, note=about, **common))
            bar(0.2 * (k + 1) / len(motions))
        write_report(out, studies, **words, overwrite=force, progress=lambda fraction: bar(0.2 + 0.8 * fraction))
    print(f"the report is in {out.resolve()} ({out.stat().st_size // 1000} kB)")
    beyond = [sentence for motion_study in studies for sentence in motion_study.sizing.exceeded]
    say("error" if check_limits else "warning", *beyond)
    if check_limits and beyond:
        raise typer.Exit(options.LIMIT_EXCEEDED)
