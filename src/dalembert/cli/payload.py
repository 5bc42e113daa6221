"""``dalembert payload``: two runs, or one with a wrist sensor, in; the load at the flange out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import dalembert as da
from dalembert.cli.identify import reading_of
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
    load,
    numbers_of,
    overwriting,
)
from dalembert.cli.terminal import Bar, console, number, print_table, say, saying_warnings
from dalembert.files import check_writable


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
    loaded_arm = load(arm, physical, tip)
    reading = reading_of(loaded_arm.n, column, gains, gears, motor_side, time_unit, unit, joints, topic)
    if save is not None:
        check_writable(save, overwrite=force)
    if sensor is not None:
        x, y, z, roll, pitch, yaw = numbers_of("--sensor", sensor, "x1 x2 x3 x4 x5 x6")
        reading["sensor"] = da.Placement.rpy(roll, pitch, yaw, xyz=(x, y, z))
    with saying_warnings(), Bar(f"the load of {loaded_arm.name}"):
        estimate = da.identify_payload(
            loaded_arm, log, loaded, reference=reference, wrench=wrench, sign=-1.0 if reaction else 1.0,
            parameters=parameters.value, cutoff=cutoff, **reading,
        )  # fmt: skip
    for note in estimate.notes:
        say("note", note)
    screen = console()
    rows = [["mass", number(estimate.mass), number(estimate.mass_std), "kg"]]
    rows += [
        [f"centre of mass {axis}", number(float(c)), number(float(s)), "m"]
        for axis, c, s in zip("xyz", estimate.com, estimate.com_std, strict=True)
    ]
    for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        value = float(estimate.inertia[i, j])
        if value == value:
            rows.append(
                [f"inertia {'xyz'[i]}{'xyz'[j]}", number(value), number(float(estimate.inertia_std[i, j])), "kg m²"]
            )
    if estimate.bias is not None and estimate.bias_std is not None:
        for k, word in enumerate(("fx", "fy", "fz", "mx", "my", "mz")):
            of_bias = "N" if k < 3 else "N m"
            rows.append([f"bias {word}", number(float(estimate.bias[k])), number(float(estimate.bias_std[k])), of_bias])
    print_table(screen, f"Load, in the frame '{estimate.frame}'", ["", ">value", ">std", "unit"], rows)
    screen.print(
        f"relative error {100 * estimate.relative_error:.2f} % with the load, {estimate.samples:,} equations; the inertia is "
        "about the centre of mass",
        soft_wrap=True,
    )
    if save is not None:
        estimate.attached_to(loaded_arm).save(save)
        screen.print(f"the arm with its load is in {save.resolve()}", soft_wrap=True)
