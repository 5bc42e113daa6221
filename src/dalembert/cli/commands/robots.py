"""``dalembert arms`` and ``dalembert show``."""

from __future__ import annotations

from typing import Annotated

import typer

from dalembert.cli.options import ArmArgument, Physical, PhysicalOption, TipOption


def arms() -> None:
    """List the shipped arms."""
    from dalembert.cli.show import show_arms

    show_arms()


def show(
    arm: ArmArgument,
    json: Annotated[bool, typer.Option("--json", help="Print the robot as JSON, for programs.")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Show what a robot is made of: joints, drives, links, tip. SI units, radians."""
    from dalembert.cli.given import load
    from dalembert.cli.show import show_json, show_robot

    robot = load(arm, physical.value, tip).robot
    show_json(robot) if json else show_robot(robot)
