"""``dalembert payload``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.options import (
    ArmArgument,
    ColumnOption,
    CutoffOption,
    GainsOption,
    GearsOption,
    JointsOption,
    MotorSideOption,
    Physical,
    PhysicalOption,
    TimeUnitOption,
    TipOption,
    TopicOption,
    UnitOption,
    overwriting,
)


class Load(StrEnum):
    """Which parameters of a load are looked for."""

    body = "body"
    mass_com = "mass-com"


def payload(
    arm: ArmArgument,
    log: Annotated[
        Path,
        typer.Argument(
            metavar="UNLOADED", help="A run without the load; alone, a run with a wrench.", show_default=False
        ),
    ],
    loaded: Annotated[Path | None, typer.Argument(metavar="[LOADED]", help="A run with the load.")] = None,
    column: ColumnOption = None,
    unit: UnitOption = None,
    joints: JointsOption = None,
    topic: TopicOption = None,
    gains: GainsOption = None,
    gears: GearsOption = None,
    motor_side: MotorSideOption = None,
    time_unit: TimeUnitOption = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Torques of the controller's own model in UNLOADED, to find the drive gains from."
        ),
    ] = None,
    wrench: Annotated[str | None, typer.Option(metavar="NAME", help="What the log calls the wrench.")] = None,
    sensor: Annotated[
        str | None,
        typer.Option(metavar='"x y z roll pitch yaw"', help="Where the wrist sensor stands on the tip (m, rad)."),
    ] = None,
    reaction: Annotated[
        bool, typer.Option("--reaction", help="The sensor shows what the load exerts on the flange.")
    ] = False,
    parameters: Annotated[Load, typer.Option(help="All ten parameters, or mass and centre of mass.")] = Load.body,
    cutoff: CutoffOption = None,
    save: Annotated[Path | None, typer.Option(metavar="ARM.toml", help="Write the arm with its load.")] = None,
    force: Annotated[bool, overwriting("ARM.toml")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Identify an unknown load at the flange, with standard deviations.

    From joint torques of a run without and a run with it, or from one run with a force/torque sensor at the wrist
    (columns wrench1 … wrench6, or fx fy fz mx my mz: what the flange exerts on the load, in the sensor's axes).
    """
    from dalembert.cli.given import load
    from dalembert.cli.identify import reading_of
    from dalembert.cli.payload import show

    moved = load(arm, physical.value, tip)
    reading = reading_of(moved.n, column, gains, gears, motor_side, time_unit, unit, joints, topic)
    show(
        moved, log, loaded, sensor=sensor, save=save, force=force, reference=reference, wrench=wrench,
        sign=-1.0 if reaction else 1.0, parameters=parameters.value, cutoff=cutoff, **reading,
    )  # fmt: skip
