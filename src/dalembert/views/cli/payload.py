"""``dalembert payload``: the load at the flange, from two runs or from one run with a wrist sensor."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument

import dalembert as da
from dalembert.base.environment.progress import Bar
from dalembert.base.options import option
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading, LogReading
from dalembert.views.cli.terminal import number, print_table, say, saying_warnings, tell

if TYPE_CHECKING:
    from dalembert.work.payload.payload_fit import Payload


def payload(
    arm: ArmArgument,
    log: Annotated[
        Path,
        Argument(
            metavar="UNLOADED", help="A run without the load; on its own, a run with a wrench.", show_default=False
        ),
    ],
    *,
    loaded: Annotated[Path | None, Argument(metavar="[LOADED]", help="A run with the load.")] = None,
    logs: LogReading,
    gain_deviation: str | None = option(
        "Relative uncertainty of --gains: one number or one per joint; 0.1 by default; 0: exact.", metavar="SHARE"
    ),
    arm_deviation: float = option(
        "Relative uncertainty of the arm's own masses: use its weight as a source of gains.", 0.2, metavar="SHARE"
    ),
    reference: str | None = option("Torques of the controller's model in UNLOADED, for drive gains.", metavar="NAME"),
    wrench: str | None = option("The name of the wrench in the log.", metavar="NAME"),
    sensor: str | None = option("The pose of the wrist sensor at the tip (m, rad).", metavar='"x y z roll pitch yaw"'),
    reaction: bool = option("The sensor measures the wrench that the load exerts on the flange.", False),
    parameters: Literal["body", "mass-com"] = option("All ten parameters, or mass and centre of mass.", "body"),
    cutoff: float | None = option("Cut-off of the low-pass filter; default: chosen from the motion.", metavar="HZ"),
    save: Path | None = option("Write the arm with its load.", metavar="ARM.toml", writes=options.ROBOTS),
    force: bool = options.overwriting("ARM.toml"),
    loading: Loading,
) -> None:
    """Identify an unknown load at the flange, with standard deviations.

    It uses the joint torques or motor currents of one run without the load and one with it, or one run with a
    force/torque sensor at the wrist (columns wrench1 … wrench6, or fx fy fz mx my mz: the wrench that the flange exerts
    on the load, in the sensor's axes).
    """
    loaded_arm = options.load(arm, loading)
    reading = logs.keywords(loaded_arm.n)
    if sensor is not None:
        x, y, z, roll, pitch, yaw = options.numbers_of("--sensor", sensor, "x1 x2 x3 x4 x5 x6")
        reading["sensor"] = da.Placement.rpy(roll, pitch, yaw, xyz=(x, y, z))
    deviation = options.list_of("--gain-deviation", gain_deviation or "") or None
    with saying_warnings(), Bar(f"the load of {loaded_arm.name}"):
        reading["gain_deviation"] = deviation[0] if deviation is not None and len(deviation) == 1 else deviation
        reading |= {"reference": reference, "wrench": wrench, "parameters": parameters, "cutoff": cutoff}
        sign = -1.0 if reaction else 1.0
        load = da.identify_payload(loaded_arm, log, loaded, sign=sign, arm_deviation=arm_deviation, **reading)
    _show(load, loaded_arm)
    if save is not None:
        load.attached_to(loaded_arm).save(save)
        tell(f"the arm with its load is in {save.resolve()}")


def _show(load: Payload, loaded_arm: da.Arm) -> None:
    """The parameters of the load with their standard deviations."""
    say("note", *load.notes)
    values: list[tuple[str, Any, Any, str]] = [("mass", load.mass, load.mass_std, "kg")]
    values += [(f"centre of mass {axis}", *c, "m") for axis, *c in zip("xyz", load.com, load.com_std, strict=True)]
    for i, j in itertools.combinations_with_replacement(range(3), 2):
        values.append((f"inertia {'xyz'[i]}{'xyz'[j]}", load.inertia[i, j], load.inertia_std[i, j], "kg m²"))
    if load.bias is not None and load.bias_std is not None:
        words = zip(("fx", "fy", "fz", "mx", "my", "mz"), load.bias, load.bias_std, strict=True)
        values += [(f"bias {word}", *b, "N" if word[0] == "f" else "N m") for word, *b in words]
    if load.gains is not None and load.gains_std is not None:
        gains = zip(loaded_arm.joint_names, load.gains, load.gains_std, strict=True)
        values += [(f"gain {name}", *g, load.gains_unit) for name, *g in gains]
    values += [(f"mass from {source.name}", source.mass, source.std, "kg") for source in load.by_source]
    rows = [[word, number(float(x)), number(float(std)), unit] for word, x, std, unit in values if not math.isnan(x)]
    print_table(["", ">value", ">std", "unit"], rows, f"Load, in the frame '{load.frame}'")
    tell(
        f"relative error {100 * load.relative_error:.2f} % with the load, {load.samples:,} equations; the inertia is "
        "about the centre of mass"
    )
