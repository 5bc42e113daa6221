"""``dalembert identify``."""

from __future__ import annotations

from typing import Annotated

import typer

from dalembert.cli.options import (
    ArmArgument,
    ColumnOption,
    CutoffOption,
    ForceFlag,
    GainsOption,
    GearsOption,
    JointsOption,
    MotorSideOption,
    OffsetHelp,
    PayloadComOption,
    Physical,
    PhysicalOption,
    TimeUnitOption,
    TipOption,
    TopicOption,
    UnitOption,
)
from dalembert.errors import DalembertError


def identify(
    arm: ArmArgument,
    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG…",
            help="A run, or several that are fitted together: .csv, .npz, .mat, .parquet, .mcap, .bag or .db3 files, or ROS bag "
            "folders.",
            show_default=False,
        ),
    ],
    validate: Annotated[
        list[str] | None, typer.Option(metavar="LOG2", help="Another run to judge the result on; may be repeated.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="ordinary, weighted, reweighted, damped, sequential or total (S 7.4).")
    ] = "weighted",
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Only parameters that bodies can have (semidefinite program).")
    ] = False,
    prior: Annotated[
        str | None, typer.Option(metavar="ARM", help="An arm whose inertias are believed; implies --consistent.")
    ] = None,
    prior_deviation: Annotated[float, typer.Option(help="How far the prior may be off: 0.3 is thirty percent.")] = 0.3,
    prior_kind: Annotated[str, typer.Option(help="entropic or euclidean.")] = "entropic",
    box: Annotated[
        list[str] | None,
        typer.Option(
            metavar='LINK="x y z X Y Z"', help="A box that holds a link's mass, in its frame; implies --consistent."
        ),
    ] = None,
    cutoff: CutoffOption = None,
    decimate: Annotated[int | None, typer.Option(metavar="N", help="Keep one sample in N.")] = None,
    edge: Annotated[float | None, typer.Option(metavar="S", help="Seconds cut at both ends.")] = None,
    dead_zone: Annotated[
        float | None, typer.Option(metavar="SPEED", help="Leave a joint's samples out below this speed (rad/s).")
    ] = None,
    hold_out: Annotated[
        float, typer.Option(metavar="SHARE", help="Leave the last share of LOG, such as 0.3, out and validate on it.")
    ] = 0.0,
    column: ColumnOption = None,
    unit: UnitOption = None,
    joints: JointsOption = None,
    topic: TopicOption = None,
    gains: GainsOption = None,
    gears: GearsOption = None,
    motor_side: MotorSideOption = None,
    time_unit: TimeUnitOption = None,
    rotor: Annotated[bool | None, typer.Option("--rotor/--no-rotor", help="Identify rotor inertias.")] = None,
    offset: Annotated[bool, typer.Option("--offset/--no-offset", help=OffsetHelp)] = True,
    two_sided: Annotated[bool, typer.Option("--two-sided", help="Coulomb friction for each direction.")] = False,
    stribeck: Annotated[
        bool, typer.Option("--stribeck", help="Stribeck friction, its speeds chosen by trial.")
    ] = False,
    sigmoid: Annotated[
        bool, typer.Option("--sigmoid", help="Coulomb friction turns over gradually, its widths by least squares.")
    ] = False,
    coupling: Annotated[
        list[str] | None, typer.Option(metavar="I:J", help="A drive that joints I and J share, such as 5:6.")
    ] = None,
    balance: Annotated[list[str] | None, typer.Option(metavar="JOINT", help="A joint with a counterbalance.")] = None,
    damping: Annotated[float | None, typer.Option(help="λ of --method damped.")] = None,
    loaded: Annotated[
        str | None, typer.Option(metavar="LOG3", help="For --method total: a run with a known payload.")
    ] = None,
    payload: Annotated[float | None, typer.Option(metavar="MASS", help="That payload's mass (kg).")] = None,
    payload_com: PayloadComOption = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="OUT.toml", help="Save the calibrated arm: .toml or .urdf.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="OUT.html", help="Write a page with torques, spectra, parameters.")
    ] = None,
    json: Annotated[str | None, typer.Option(metavar="OUT.json", help="Write every number.")] = None,
    force: ForceFlag = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Identify the dynamic parameters of an arm from a log of its motion (S 7.4)."""
    from dalembert.cli.given import load, numbers_of
    from dalembert.cli.identify import Wanted, boxes_of, couplings_of, reading_of, run_identify

    if payload_com is not None and payload is None:
        raise DalembertError("--payload-com says where the payload is, but --payload MASS is missing")
    com = numbers_of("--payload-com", payload_com, "x y z")
    loaded_arm = load(arm, physical.value, tip)
    options = {
        "validate": validate or None, "method": method, "physical": consistent,
        "prior": None if prior is None else load(prior, physical.value, None), "prior_deviation": prior_deviation,
        "prior_kind": prior_kind, "bounds": boxes_of(box), "cutoff": cutoff, "decimate": decimate, "edge": edge, "dead_zone": dead_zone, "hold_out": hold_out,
        "rotor": rotor, "offset": offset, "two_sided": two_sided, "stribeck": stribeck, "sigmoid": sigmoid,
        "coupling": couplings_of(coupling), "balance": balance or (), "damping": damping, "loaded": loaded,
        "payload": payload if com is None else {"mass": payload, "com": com},
    }  # fmt: skip
    options |= reading_of(loaded_arm.n, column, gains, gears, motor_side, time_unit, unit, joints, topic)
    run_identify(loaded_arm, log if len(log) > 1 else log[0], Wanted(options, output, report, json, force))
