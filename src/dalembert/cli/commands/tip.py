"""``dalembert ellipsoid`` and ``dalembert map``: what the tip can do."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dalembert.cli.options import (
    ArmArgument,
    LimitsOption,
    Physical,
    PhysicalOption,
    Redundancy,
    TaskOption,
    TipOption,
    overwriting,
)


class Kind(StrEnum):
    """What an ellipsoid is of."""

    dynamic = "dynamic"
    velocity = "velocity"
    force = "force"
    static = "static"


class Take(StrEnum):
    """What a cell of a map shows."""

    best = "best"
    mean = "mean"
    worst = "worst"


def ellipsoid(
    arm: ArmArgument,
    q: Annotated[
        str,
        typer.Option(
            "--q", metavar='"q1 … qn"', help="The configuration (rad; m for sliding joints).", show_default=False
        ),
    ],
    kind: Annotated[Kind, typer.Option(help="Accelerations, velocities, forces, or forces under the arm's weight.")] = (
        Kind.dynamic
    ),
    task: TaskOption = None,
    limits: LimitsOption = None,
    redundancy: Annotated[
        Redundancy,
        typer.Option(help="Redundant joints: least accelerations, dynamically consistent, or all that is possible."),
    ] = Redundancy.pseudo_inverse,
    gravity: Annotated[bool, typer.Option("--gravity/--no-gravity", help="Whether gravity moves the centre.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON, for programs.")] = False,
    plot: Annotated[
        str | None, typer.Option("--plot", "-o", metavar="OUT.png", help="Write the picture: .png, .svg or .pdf.")
    ] = None,
    force: Annotated[bool, overwriting("OUT.png")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Show the dynamic manipulability ellipsoid: how the tip can be accelerated from one configuration."""
    from dalembert.cli.ellipsoid import show_ellipsoid
    from dalembert.cli.given import load

    show_ellipsoid(
        load(arm, physical.value, tip), q, kind=kind.value, task=task, limits=limits, redundancy=redundancy.value,
        gravity=gravity, as_json=json, plot=plot, force=force,
    )  # fmt: skip


def map_(
    arm: ArmArgument,
    plot: Annotated[
        str, typer.Option("--plot", "-o", metavar="OUT.png", help="Where the picture goes: .png, .svg or .pdf.")
    ] = "map.png",
    quantity: Annotated[
        str,
        typer.Option(
            help="dynamic-manipulability, velocity-manipulability, force-manipulability or gravity-load.",
            metavar="NAME",
        ),
    ] = "dynamic-manipulability",
    task: TaskOption = None,
    limits: LimitsOption = None,
    take: Annotated[Take, typer.Option(help="Which of the configurations that reach a cell it shows.")] = Take.best,
    redundancy: Annotated[Redundancy, typer.Option(help="As for 'dalembert ellipsoid'.")] = Redundancy.pseudo_inverse,
    poses: Annotated[int, typer.Option(help="How many configurations are tried.", min=1)] = 1_000_000,
    cells: Annotated[int, typer.Option(help="Cells along the longer side.", min=2, max=2000)] = 120,
    seed: Annotated[int, typer.Option(help="For other random configurations.", min=0)] = 0,
    force: Annotated[bool, overwriting("OUT.png")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Draw what an arm can do wherever its tip can be."""
    from dalembert.cli.given import load
    from dalembert.cli.map import show_map

    show_map(
        load(arm, physical.value, tip), quantity=quantity, task=task, limits=limits, take=take.value,
        redundancy=redundancy.value, poses=poses, cells=cells, seed=seed, plot=plot, force=force,
    )  # fmt: skip
