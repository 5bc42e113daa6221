"""``dalembert torques`` and ``dalembert report``: what a motion asks of an arm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.options import (
    LIMIT_EXCEEDED,
    ArmArgument,
    PayloadComOption,
    PayloadOption,
    Physical,
    PhysicalOption,
    TipOption,
    WrenchOption,
    load_with_payload,
    overwriting,
    wrench_of,
)

MotionHelp = "The motion, one line for each instant."


def torques(
    arm: ArmArgument,
    motion: Annotated[Path, typer.Argument(metavar="MOTION.csv", help=MotionHelp, show_default=False)],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT.csv", help="Where to write the torques; '-' is the screen.")
    ] = "-",
    force: Annotated[bool, overwriting("OUT.csv")] = False,
    check_limits: Annotated[
        bool, typer.Option("--check-limits", help="Exit with status 3 when a joint needs more than its effort limit.")
    ] = False,
    tip_wrench: WrenchOption = None,
    payload: PayloadOption = None,
    payload_com: PayloadComOption = None,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Compute the joint torques of a motion (inverse dynamics).

    MOTION.csv has a header and the columns t (s), q1 … qn (rad; m for sliding joints), qd1 … qdn (rad/s; m/s)
    and qdd1 … qddn (rad/s²; m/s²), in any order; other separators and units in the header, such as q1 [deg], are heeded.

    OUT.csv gets t (s) and tau1 … taun (N m; N for sliding joints). A summary goes to stderr.
    """
    from dalembert.cli.torques import compute

    wrench = wrench_of(tip_wrench)
    loaded = load_with_payload(arm, physical, tip, payload, payload_com)
    if not compute(loaded, arm, motion, output, force=force, check_limits=check_limits, tip_wrench=wrench):
        raise typer.Exit(LIMIT_EXCEEDED)


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
    from dalembert.cli.report import write

    wrench = wrench_of(tip_wrench)
    loaded = load_with_payload(arm, physical, tip, payload, payload_com)
    if not write(
        loaded, arm, motion, example, out, force=force, check_limits=check_limits, limits=limits, tip_wrench=wrench
    ):
        raise typer.Exit(LIMIT_EXCEEDED)
