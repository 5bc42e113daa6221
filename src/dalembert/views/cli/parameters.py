"""``dalembert parameters``: the base parameters of an arm, as formulas."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading, Payload
from dalembert.views.cli.terminal import number, plain, print_table, tell

if TYPE_CHECKING:
    from dalembert.work.analysis.base_formulas import SymbolicBaseParameters
    from dalembert.work.identification.fitting.base_parameters import BaseParameters


def parameters(
    arm: ArmArgument,
    *,
    symbols: bool = option("Use letters for lengths, gear ratios and gravity.", False),
    latex: bool = options.common("latex"),
    inertial: bool = option("Links only: no rotors, no friction.", False),
    nonzero: bool = option("Only parameters that are nonzero in the arm.", False),
    two_sided: bool = option("One Coulomb level per direction.", False),
    offset: bool = option("A constant torque for every joint.", False),
    load: Payload,
    loading: Loading,
) -> None:
    """Show what can be identified: the base parameters as formulas of the standard parameters."""
    from dalembert.work.analysis.base_formulas import (
        SymbolicBaseParameters,
        has_formula,
        parameter_letter,
        symbolic_base_parameters,
    )
    from dalembert.work.identification.fitting.base_parameters import base_parameters
    from dalembert.work.identification.fitting.parameter_set import FRICTION, ParameterSet

    if inertial and two_sided:
        raise DalembertError("--inertial excludes friction, --two-sided includes it; choose one")
    loaded = options.load(arm, loading, load)
    further: dict[str, Any] = {"friction": (), "terms": (), "rotor": False} if inertial else {"friction": FRICTION}
    only = "nonzero" if nonzero else None
    parameter_set = ParameterSet(loaded, **further, two_sided=two_sided, offset=offset, only=only)
    base: BaseParameters | SymbolicBaseParameters
    if not (symbols or latex) and (loaded.passive_names or not all(map(has_formula, parameter_set.members))):
        base = base_parameters(parameter_set)
    else:
        base = symbolic_base_parameters(parameter_set, "symbols" if symbols else "numbers")
    if latex:
        assert isinstance(base, SymbolicBaseParameters)
        lines = [rf"\pi_{{{k}}} &= {formula}" for k, formula in enumerate(base.latex, 1)]
        sys.stdout.write("\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n")
        return
    size, name = base.parameters.size, plain(base.parameters.arm.name)
    counts = f"{len(base.dependent)} are combined with others, {len(base.zero)} have no effect on the torques"
    tell(f"{name}: {base.rank} base parameters of {size}; {counts}\n")
    values = zip(base.formulas, base.K @ parameter_set.values, strict=True)
    rows = [[str(k), plain(formula), number(float(x))] for k, (formula, x) in enumerate(values, 1)]
    print_table([">", "base parameter", ">value"], rows)
    if base.zero:
        letters = (parameter_letter(parameter_set.names[k]).text for k in base.zero)
        tell(f"\nNot identifiable by any motion: {', '.join(letters)}.")
    if isinstance(base, SymbolicBaseParameters) and base.legend:
        tell("\nwith " + ", ".join(f"{text} = {number(value)}" for text, _, value in base.legend))
    tell("\nm, mℓ_C, Î: mass, first moments and inertia tensor of augmented link i about its frame's origin, S (7.77).")
    if load.payload is not None:
        from dalembert.mechanics.symbols.symbolic_regressor import parameters_with_payload

        sums = ", ".join(f"{name} = {formula}" for name, formula in parameters_with_payload(loaded.robot))
        none = "The tip does not move, and the payload has no effect on any joint."
        tell(f"The payload is part of {sums}." if sums else none)
    options.tell_numbers(loaded)
    if isinstance(base, SymbolicBaseParameters) and base.at_lengths < base.rank:
        special = f"With the arm's own lengths, which are special, there are {base.at_lengths}"
        tell(f"{special}; leave out --symbols to see them.")
