"""``dalembert excite``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.options import ArmArgument, Physical, PhysicalOption, TipOption, overwriting


class Criterion(StrEnum):
    """What an exciting motion is best at."""

    condition = "condition"
    scaled = "scaled-condition"
    d_optimal = "d-optimal"


class Shape(StrEnum):
    """What an exciting motion is made of."""

    fourier = "fourier"
    spline = "spline"


def excite(
    arm: ArmArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT.csv", help="Where to write the motion.")
    ] = Path("excite.csv"),
    duration: Annotated[
        float, typer.Option(metavar="S", help="Seconds; of a series a whole number of periods.")
    ] = 30.0,
    shape: Annotated[Shape, typer.Option(help="A Fourier series, or a spline.")] = Shape.fourier,
    points: Annotated[
        int | None, typer.Option(metavar="N", help="Control points of the spline for every joint; one a second.")
    ] = None,
    harmonics: Annotated[int, typer.Option(metavar="L", help="Harmonics of the Fourier series.")] = 5,
    frequency: Annotated[
        float | None, typer.Option(metavar="HZ", help="Base frequency; periods take about 10 s unless given.")
    ] = None,
    criterion: Annotated[
        Criterion,
        typer.Option(help="Condition number of the base regressor (as it is, or scaled), or its determinant."),
    ] = Criterion.condition,
    clearance: Annotated[
        float, typer.Option(metavar="M", help="How far joints, links and tip stay above the height of the base.")
    ] = 0.1,
    floor: Annotated[bool, typer.Option("--floor/--no-floor", help="Whether there is a floor.")] = True,
    share: Annotated[float, typer.Option(metavar="0…1", help="How much of every limit to use.")] = 1.0,
    limits: Annotated[
        str | None, typer.Option(metavar="LIMITS", help="Limits in place of the robot's: a file or text.")
    ] = None,
    start: Annotated[str | None, typer.Option(metavar='"q1 … qn"', help="Where to begin and end.")] = None,
    starts: Annotated[int, typer.Option(metavar="N", help="Random motions to begin the search from.")] = 4,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same motion.")] = 0,
    rate: Annotated[float, typer.Option(metavar="HZ", help="Samples a second in OUT.csv.")] = 100.0,
    force: Annotated[bool, overwriting("OUT.csv")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Find a motion for identification: one that shows the arm's base parameters best, within its limits.

    A Fourier series or a spline from rest to rest. Ctrl-C ends the search with the best motion so far. OUT.csv gets t, q, qd, qdd
    and the torques that the arm's model says it takes.
    """
    from dalembert.cli.excite import write
    from dalembert.cli.given import load

    write(
        load(arm, physical.value, tip), output, force=force, rate=rate, criterion=criterion.value, limits=limits,
        start=start, duration=duration, shape=shape.value, points=points, harmonics=harmonics, base_frequency=frequency,
        clearance=clearance if floor else None, share=share, starts=starts, seed=seed,
    )  # fmt: skip
