"""``dalembert simulate``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dalembert.cli.options import (
    ArmArgument,
    ForceFlag,
    Physical,
    PhysicalOption,
    TipOption,
    WrenchOption,
    wrench_of,
)


class Scheme(StrEnum):
    """How to integrate."""

    rk4 = "rk4"
    dop853 = "dop853"
    variational = "variational"


class Stops(StrEnum):
    """What a joint's limit is."""

    error = "error"
    contact = "contact"


def simulate(
    arm: ArmArgument,
    q: Annotated[
        str | None, typer.Option("--q", metavar='"q1 … qn"', help="Positions at first; zero unless given.")
    ] = None,
    qd: Annotated[
        str | None, typer.Option("--qd", metavar='"qd1 … qdn"', help="Velocities at first; zero unless given.")
    ] = None,
    duration: Annotated[float, typer.Option(metavar="SECONDS", help="How long.")] = 1.0,
    torque: Annotated[
        str,
        typer.Option(
            metavar='"tau1 … taun"|gravity|none', help="Constant torques; 'gravity' carries the arm's weight."
        ),
    ] = "none",
    method: Annotated[
        Scheme, typer.Option(help="Fixed steps, adaptive steps, or a scheme that keeps the energy bounded.")
    ] = Scheme.rk4,
    step: Annotated[float, typer.Option(metavar="SECONDS", help="The step.")] = 1e-3,
    every: Annotated[int, typer.Option(metavar="K", help="Write every K-th step.")] = 1,
    friction: Annotated[bool, typer.Option(help="Whether the joints' friction acts.")] = True,
    stops: Annotated[
        Stops | None, typer.Option(help="Joint limits: an error, or stops to bump into; ignored unless given.")
    ] = None,
    restitution: Annotated[
        float, typer.Option(metavar="E", help="Of --stops contact, from 0 (plastic) to 1 (elastic).")
    ] = 0.0,
    tip_wrench: WrenchOption = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="RUN.csv", help="Where to write the motion; '-' is the screen.")
    ] = "-",
    plot: Annotated[str | None, typer.Option(metavar="RUN.png", help="Where to draw it: .png, .svg or .pdf.")] = None,
    force: ForceFlag = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Simulate the motion that follows from a state and torques (direct dynamics).

    RUN.csv gets t (s), q, qd, qdd and tau of every joint; 'dalembert torques' reads it. A summary goes to stderr.
    """
    from dalembert.cli.given import load
    from dalembert.cli.simulate import run_simulation

    run_simulation(
        load(arm, physical.value, tip), q, qd, torque.strip(), duration=duration, method=method.value, step=step,
        every=every, friction=friction, stops=stops.value if stops is not None else None,
        restitution=restitution, tip_wrench=wrench_of(tip_wrench), output=output, plot=plot, force=force,
    )  # fmt: skip
