"""``dalembert parameters``: the base parameters of an arm, as formulas."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dalembert.cli import options
from dalembert.cli.terminal import number, plain, print_table, tell
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.identification.base import BaseParameters
    from dalembert.identification.formulas import SymbolicBaseParameters


def parameters(
    arm: options.ArmArgument,
    symbols: Annotated[bool, Option("--symbols", help="Use letters for lengths, gear ratios and gravity.")] = False,
    latex: options.LatexFlag = False,
    inertial: Annotated[bool, Option("--inertial", help="Links only: no rotors, no friction.")] = False,
    nonzero: Annotated[bool, Option("--nonzero", help="Only parameters that are nonzero in the arm.")] = False,
    two_sided: Annotated[bool, Option("--two-sided", help="One Coulomb level per direction.")] = False,
    offset: Annotated[bool, Option("--offset", help=options.OffsetHelp)] = False,
    payload: options.PayloadOption = None,
    payload_com: options.PayloadComOption = None,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Show what can be identified: the base parameters as formulas of the standard parameters."""
    from dalembert.identification.base import base_parameters
    from dalembert.identification.formulas import (
        SymbolicBaseParameters,
        lettered,
        parameter_letter,
        symbolic_base_parameters,
    )
    from dalembert.identification.parameters import FRICTION, ParameterSet

    if inertial and two_sided:
        raise DalembertError("--inertial excludes friction, --two-sided includes it; choose one")
    loaded = options.load(arm, loading, payload, payload_com)
    chosen = ParameterSet(
        loaded, friction=() if inertial else FRICTION, two_sided=two_sided, offset=offset, rotor=not inertial,
        only="nonzero" if nonzero else None, terms=() if inertial else None,
    )  # fmt: skip
    base: BaseParameters | SymbolicBaseParameters
    if not (symbols or latex) and (loaded.passive_names or not all(map(lettered, chosen.members))):
        base = base_parameters(chosen)
    else:
        base = symbolic_base_parameters(chosen, "symbols" if symbols else "numbers")
    if latex:
        assert isinstance(base, SymbolicBaseParameters)
        lines = [rf"\pi_{{{k}}} &= {formula}" for k, formula in enumerate(base.latex, 1)]
        sys.stdout.write("\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n")
        return
    size, name = base.parameters.size, plain(base.parameters.arm.name)
    counts = f"{len(base.dependent)} are combined with others, {len(base.zero)} have no effect on the torques"
    tell(f"{name}: {base.rank} base parameters of {size}; {counts}\n")
    values = zip(base.formulas, base.K @ chosen.values, strict=True)
    rows = [[str(k), plain(formula), number(float(x))] for k, (formula, x) in enumerate(values, 1)]
    print_table([">", "base parameter", ">value"], rows)
    if base.zero:
        tell(
            f"\nNot identifiable by any motion: {', '.join(parameter_letter(chosen.names[k]).text for k in base.zero)}."
        )
    if isinstance(base, SymbolicBaseParameters) and base.legend:
        tell("\nwith " + ", ".join(f"{text} = {number(value)}" for text, _, value in base.legend))
    tell(
        "\nm, mℓ_C, Î: mass, first moments and inertia tensor of augmented link i about the origin of its frame, S (7.77)."
    )
    if payload is not None:
        from dalembert.symbols.regressor import parameters_with_payload

        sums = [f"{name} = {formula}" for name, formula in parameters_with_payload(loaded.robot)]
        tell(
            f"The payload is part of {', '.join(sums)}."
            if sums
            else "The tip does not move, and the payload has no effect on any joint."
        )
    options.tell_numbers(loaded)
    if isinstance(base, SymbolicBaseParameters) and base.at_lengths < base.rank:
        tell(
            f"With the arm's own lengths, which are special, there are {base.at_lengths}; leave out --symbols to see them."
        )
