"""``dalembert equations`` and ``dalembert parameters``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dalembert.cli.options import (
    ArmArgument,
    LatexFlag,
    OffsetHelp,
    Physical,
    PhysicalOption,
    TipOption,
    load_with_payload,
)
from dalembert.errors import DalembertError


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
    from dalembert.cli.equations import show_equations

    if latex and text:
        raise DalembertError("--latex and --text are both given; choose one")
    loaded = load_with_payload(arm, physical, tip, payload)
    show_equations(loaded, latex=latex, text=text, term=term, parameters=parameters.value, absolute=absolute)


def parameters(
    arm: ArmArgument,
    symbols: Annotated[bool, typer.Option("--symbols", help="Letters for lengths, gear ratios and gravity.")] = False,
    latex: LatexFlag = False,
    inertial: Annotated[bool, typer.Option("--inertial", help="Links only: no rotors, no friction.")] = False,
    nonzero: Annotated[bool, typer.Option("--nonzero", help="Only parameters that are not zero in the arm.")] = False,
    two_sided: Annotated[bool, typer.Option("--two-sided", help="Coulomb friction of either direction.")] = False,
    offset: Annotated[bool, typer.Option("--offset", help=OffsetHelp)] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Show what can be identified: the base parameters as formulas in the standard ones."""
    from dalembert.cli.given import load
    from dalembert.cli.parameters import show_parameters

    if inertial and two_sided:
        raise DalembertError("--inertial leaves friction out, --two-sided asks for it; choose one")
    show_parameters(
        load(arm, physical.value, tip), symbols=symbols, latex=latex, inertial=inertial, nonzero=nonzero,
        two_sided=two_sided, offset=offset,
    )  # fmt: skip
