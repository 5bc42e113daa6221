"""``dalembert equations``: the equations of motion in closed form, for reading."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dalembert.cli.options import ArmArgument, LatexFlag, Physical, PhysicalOption, TipOption, load
from dalembert.cli.terminal import Bar, plain
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.symbols.present import Equations


class Letters(StrEnum):
    """Which numbers become letters."""

    nonzero = "nonzero"
    all = "all"
    numbers = "numbers"


def equations(
    arm: ArmArgument,
    latex: LatexFlag = False,
    text: Annotated[bool, typer.Option("--text", help="Plain text, all of it, however long.")] = False,
    term: Annotated[
        str | None,
        typer.Option(
            metavar="TERM", help="One term only: B11, C12, g1, tau2, F1 (friction), c112 (Christoffel symbol)."
        ),
    ] = None,
    parameters: Annotated[
        Letters,
        typer.Option(help="What becomes a letter: numbers that are not zero, all inertial parameters, or none."),
    ] = Letters.nonzero,
    absolute: Annotated[
        bool, typer.Option("--absolute", help="In the links' angles with the base (parallel joints only).")
    ] = False,
    payload: Annotated[
        float | None, typer.Option(metavar="MASS", help="A point mass m_L held at the tip, in kg.")
    ] = None,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Show the equations of motion in closed form: B, C, g and the torques."""
    if latex and text:
        raise DalembertError("--latex and --text are both given; choose one")
    loaded = load(arm, physical, tip, payload)
    with Bar(f"equations of {loaded.name}") as bar:
        made: Equations
        if absolute:
            made = loaded.in_coordinates("absolute").equations(parameters.value)  # type: ignore[assignment]
        else:
            made = loaded.equations(parameters.value, lambda fraction: bar(0.5 * fraction))
        if latex:
            shown = made.latex(term, progress=lambda fraction: bar(0.5 + 0.5 * fraction))
        else:
            shown = made.text(term, whole=text, progress=lambda fraction: bar(0.5 + 0.5 * fraction))
    sys.stdout.write("".join(f"{plain(line)}\n" for line in shown.rstrip("\n").splitlines()))
    sys.stdout.flush()
