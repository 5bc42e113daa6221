"""``dalembert payload``: the load at the flange, from two runs or from one run with a wrist sensor."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

import dalembert as da
from dalembert.cli import options
from dalembert.cli.identify import reading_of
from dalembert.cli.terminal import number, print_table, say, saying_warnings, tell
from dalembert.environment.progress import Bar
from dalembert.files import check_writable


def payload(
    arm: options.ArmArgument,
    log: Annotated[
        Path,
        Argument(
            metavar="UNLOADED", help="A run without the load; on its own, a run with a wrench.", show_default=False
        ),
    ],
    loaded: Annotated[Path | None, Argument(metavar="[LOADED]", help="A run with the load.")] = None,
    column: options.ColumnOption = None,
    unit: options.UnitOption = None,
    joints: options.JointsOption = None,
    topic: options.TopicOption = None,
    episodes: options.EpisodesOption = None,
    gains: options.GainsOption = None,
    gears: options.GearsOption = None,
    motor_side: options.MotorSideOption = None,
    time_unit: options.TimeUnitOption = None,
    rate: options.RateOption = None,
    gain_deviation: Annotated[
        str | None,
        Option(
            metavar="SHARE",
            help="Relative uncertainty of --gains: one number or one per joint; 0.1 by default; 0: exact.",
        ),
    ] = None,
    arm_deviation: Annotated[
        float,
        Option(
            metavar="SHARE", help="Relative uncertainty of the arm's own masses: use its weight as a source of gains."
        ),
    ] = 0.2,
    reference: Annotated[
        str | None,
        Option(metavar="NAME", help="Torques of the controller's own model in UNLOADED, as a source of drive gains."),
    ] = None,
    wrench: Annotated[str | None, Option(metavar="NAME", help="The name of the wrench in the log.")] = None,
    sensor: Annotated[
        str | None, Option(metavar='"x y z roll pitch yaw"', help="The pose of the wrist sensor at the tip (m, rad).")
    ] = None,
    reaction: Annotated[
        bool, Option("--reaction", help="The sensor measures the wrench that the load exerts on the flange.")
    ] = False,
    parameters: Annotated[
        Literal["body", "mass-com"], Option(help="All ten parameters, or mass and centre of mass.")
    ] = "body",
    cutoff: options.CutoffOption = None,
    save: Annotated[Path | None, Option(metavar="ARM.toml", help="Write the arm with its load.")] = None,
    force: Annotated[bool, options.overwriting("ARM.toml")] = False,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Identify an unknown load at the flange, with standard deviations.

    It uses the joint torques or motor currents of one run without the load and one with it, or one run with a
    force/torque sensor at the wrist (columns wrench1 … wrench6, or fx fy fz mx my mz: the wrench that the flange exerts
    on the load, in the sensor's axes).
    """
    loaded_arm = options.load(arm, loading)
    reading = reading_of(loaded_arm.n, column, gains, gears, motor_side, time_unit, unit, joints, topic, rate, episodes)
    if save is not None:
        check_writable(save, overwrite=force, kinds=(".toml", ".urdf"))
    if sensor is not None:
        x, y, z, roll, pitch, yaw = options.numbers_of("--sensor", sensor, "x1 x2 x3 x4 x5 x6")
        reading["sensor"] = da.Placement.rpy(roll, pitch, yaw, xyz=(x, y, z))
    deviation = None if gain_deviation is None else options.list_of("--gain-deviation", gain_deviation)
    with saying_warnings(), Bar(f"the load of {loaded_arm.name}"):
        load = da.identify_payload(
            loaded_arm, log, loaded, reference=reference, wrench=wrench, sign=-1.0 if reaction else 1.0,
            parameters=parameters, cutoff=cutoff, arm_deviation=arm_deviation,
            gain_deviation=deviation[0] if deviation is not None and len(deviation) == 1 else deviation, **reading,
        )  # fmt: skip
    say("note", *load.notes)
    values: list[tuple[str, Any, Any, str]] = [("mass", load.mass, load.mass_std, "kg")]
    values += [(f"centre of mass {axis}", *c, "m") for axis, *c in zip("xyz", load.com, load.com_std, strict=True)]
    for i, j in itertools.combinations_with_replacement(range(3), 2):
        values.append((f"inertia {'xyz'[i]}{'xyz'[j]}", load.inertia[i, j], load.inertia_std[i, j], "kg m²"))
    if load.bias is not None and load.bias_std is not None:
        for word, *b in zip(("fx", "fy", "fz", "mx", "my", "mz"), load.bias, load.bias_std, strict=True):
            values.append((f"bias {word}", *b, "N" if word[0] == "f" else "N m"))
    if load.gains is not None and load.gains_std is not None:
        values += [
            (f"gain {name}", *g, load.gains_unit)
            for name, *g in zip(loaded_arm.joint_names, load.gains, load.gains_std, strict=True)
        ]
    values += [(f"mass from {source.name}", source.mass, source.std, "kg") for source in load.by_source]
    rows = [[word, number(float(x)), number(float(std)), unit] for word, x, std, unit in values if not math.isnan(x)]
    print_table(["", ">value", ">std", "unit"], rows, f"Load, in the frame '{load.frame}'")
    tell(
        f"relative error {100 * load.relative_error:.2f} % with the load, {load.samples:,} equations; the inertia is "
        "about the centre of mass"
    )
    if save is not None:
        load.attached_to(loaded_arm).save(save)
        tell(f"the arm with its load is in {save.resolve()}")
