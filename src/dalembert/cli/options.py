"""Arguments and options that several commands share. Only what ``--help`` needs is imported here."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert import Arm

LIMIT_EXCEEDED = 3  # the exit status of --check-limits


class Physical(StrEnum):
    """What to do about an inertia that no body can have."""

    error = "error"
    warn = "warn"


class Redundancy(StrEnum):
    """What redundant joints do."""

    pseudo_inverse = "pseudo-inverse"
    dynamic = "dynamic"
    exact = "exact"


def overwriting(name: str) -> Any:
    """The option ``--force`` of a command that writes one file."""
    return typer.Option("--force", help=f"Overwrite {name} if it is there.")


ArmArgument = Annotated[
    str,
    typer.Argument(
        metavar="ARM", help="A shipped arm (see 'dalembert arms') or a robot file: .urdf, .toml, or .xml (MJCF).",
        show_default=False,
    ),
]  # fmt: skip
PhysicalOption = Annotated[
    Physical, typer.Option(help="'warn' takes a robot whose inertias no body can have, and says so.")
]
TipOption = Annotated[str | None, typer.Option(metavar="LINK", help="The link whose frame is the end effector.")]

LatexFlag = Annotated[bool, typer.Option("--latex", help="LaTeX (an align* of amsmath).")]
ForceFlag = Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")]
OffsetHelp = "A constant torque for every joint."
CutoffOption = Annotated[
    float | None, typer.Option(metavar="HZ", help="Of the low-pass; chosen from the motion unless given.")
]

# how the columns of a log are to be read
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(metavar="q=NAME", help="What t, q, qd, tau or current is called, or its columns from 0: q=1:7."),
]
UnitOption = Annotated[
    list[str] | None,
    typer.Option(metavar="q=UNIT", help="In which unit t, q, qd, tau or current is: q=deg, t=ms, current=mA."),
]
JointsOption = Annotated[
    str | None, typer.Option(metavar='"j1 j2 …"', help="The arm's joints in the order of the log's columns.")
]
TopicOption = Annotated[str | None, typer.Option(help="Which JointState messages of a ROS log to read.")]
GainsOption = Annotated[
    str | None, typer.Option(metavar='"k1 k2 …"', help="Drive gains (N m/A): torque is current times these.")
]
GearsOption = Annotated[
    str | None, typer.Option(metavar='"g1 g2 …"', help="Gear ratios, or the n×n matrix row by row.")
]
MotorSideOption = Annotated[
    str | None, typer.Option(metavar="q,qd,tau", help="Which of the columns are at the motor side.")
]
TimeUnitOption = Annotated[str | None, typer.Option(help="s, ms, us or ns.")]

WrenchOption = Annotated[
    str | None,
    typer.Option(
        metavar='"fx fy fz mx my mz"',
        help="Constant force (N) and moment (N m) by the tip on its environment, in base axes.",
    ),
]
PayloadOption = Annotated[float | None, typer.Option(metavar="MASS", help="Mass held at the tip, in kg.")]
PayloadComOption = Annotated[
    str | None, typer.Option(metavar='"x y z"', help="Its centre of mass in the tip's frame, in m.")
]

TaskOption = Annotated[
    str | None,
    typer.Option(
        metavar="ROWS",
        help="Directions of the tip, like xy or 'x y z'; those of its position that the arm can move unless given.",
    ),
]
LimitsOption = Annotated[
    str | None,
    typer.Option(
        metavar='unit|arm|"l1 … ln"',
        help="Torque (or velocity) limits: 1 for every joint, the arm's own, or numbers. The arm's own if it has them.",
    ),
]


def wrench_of(text: str | None) -> tuple[float, ...] | None:
    """What ``--tip-wrench`` says."""
    from dalembert.cli.given import numbers_of

    return numbers_of("--tip-wrench", text, "fx fy fz mx my mz")


def load_with_payload(
    arm: str, physical: Physical, tip: str | None, mass: float | None, where: str | None = None
) -> Arm:
    """The arm, with what ``--payload`` and ``--payload-com`` put at its tip."""
    from dalembert.cli.given import load, numbers_of

    if where is not None and mass is None:
        raise DalembertError("--payload-com says where the payload is, but --payload MASS is missing")
    com = numbers_of("--payload-com", where, "x y z") or (0.0, 0.0, 0.0)
    loaded = load(arm, physical.value, tip)
    return loaded if mass is None else loaded.with_payload(mass, com)
