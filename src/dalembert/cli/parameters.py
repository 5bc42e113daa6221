"""``dalembert parameters``: what a motion can tell of an arm's parameters, as formulas."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dalembert.cli.options import ArmArgument, LatexFlag, OffsetHelp, Physical, PhysicalOption, TipOption, load
from dalembert.cli.terminal import console, number, plain, print_table
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.identification.base import BaseParameters
    from dalembert.identification.formulas import SymbolicBaseParameters


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
    from dalembert.identification.base import base_parameters
    from dalembert.identification.formulas import SymbolicBaseParameters, parameter_letter, symbolic_base_parameters
    from dalembert.identification.parameters import FRICTION, ParameterSet

    if inertial and two_sided:
        raise DalembertError("--inertial leaves friction out, --two-sided asks for it; choose one")
    loaded = load(arm, physical, tip)
    chosen = ParameterSet(
        loaded, friction=() if inertial else FRICTION, two_sided=two_sided, offset=offset, rotor=not inertial,
        only="nonzero" if nonzero else None,
    )  # fmt: skip
    made: BaseParameters | SymbolicBaseParameters
    if not loaded.mechanism.identity and not symbols and not latex:  # formulas are known of open arms
        made = base_parameters(chosen)
    else:
        made = symbolic_base_parameters(chosen, "symbols" if symbols else "numbers")
    if latex:
        assert isinstance(made, SymbolicBaseParameters)
        lines = [rf"\pi_{{{k}}} &= {formula}" for k, formula in enumerate(made.latex, 1)]
        sys.stdout.write("\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n")
        return
    screen = console()
    screen.print(_counts(made), soft_wrap=True)
    screen.print()
    values = made.K @ chosen.values
    formulas = [plain(formula) for formula in made.formulas]
    rows = [[str(k), formula, number(float(x))] for k, (formula, x) in enumerate(zip(formulas, values, strict=True), 1)]
    print_table(screen, "", [">", "base parameter", ">value"], rows)
    if made.zero:
        unfelt = ", ".join(parameter_letter(chosen.names[k]).text for k in made.zero)
        screen.print(f"\nNo motion shows {unfelt}.", soft_wrap=True)
    if isinstance(made, SymbolicBaseParameters) and made.legend:
        screen.print(
            "\nwith " + ", ".join(f"{text} = {number(value)}" for text, _, value in made.legend), soft_wrap=True
        )
    screen.print(
        "\nm, mℓ_C, Î: mass, first moments and inertia tensor of augmented link i about the origin of its frame, S (7.77).",
        soft_wrap=True,
    )
    if isinstance(made, SymbolicBaseParameters) and made.at_lengths < made.rank:
        screen.print(
            f"With the arm's own lengths there are {made.at_lengths}: they are special; leave out --symbols to see them.",
            soft_wrap=True,
        )


def _counts(made: BaseParameters | SymbolicBaseParameters) -> str:
    size, name = made.parameters.size, plain(made.parameters.arm.name)
    return (
        f"{name}: {made.rank} base parameters of {size}; {len(made.dependent)} count with others, "
        f"{len(made.zero)} are never felt"
    )
