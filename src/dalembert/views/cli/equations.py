"""``dalembert equations``: the equations of motion in closed form, for reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dalembert.base.bibliography import introduction
from dalembert.base.environment.progress import Bar
from dalembert.base.files import whole_file
from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading
from dalembert.views.cli.terminal import plain, print_lines, tell

if TYPE_CHECKING:
    from dalembert.mechanics.symbols.present import Equations


def equations(
    arm: ArmArgument,
    *,
    latex: bool = options.common("latex"),
    text: bool = option("Plain text, complete, however long.", False),
    term: str | None = option(
        "Only one term: B11, C12, g1, tau2, F1 (friction), c112 (Christoffel symbol), h112, T, U, L.", metavar="TERM"
    ),
    derivation: bool = option("Every step: Jacobians, energies, B, Christoffel symbols, C, g, torques.", False),
    regressor: bool = option("Y and π of τ = Y π, S (7.81).", False),
    output: str | None = option(
        "The output file; .tex is a complete LaTeX document, '-' the screen.",
        spelled="-o --output",
        metavar="FILE",
        writes=(".tex", ".txt", ".md"),
    ),
    parameters: Literal["nonzero", "all", "numbers"] = option(
        "What becomes a letter: nonzero numbers, all inertial parameters, or none.", "nonzero"
    ),
    absolute: bool = option("Use the angles of the links with respect to the base (parallel joints only).", False),
    payload: float | None = option("A point mass m_L held at the tip, in kg.", metavar="MASS"),
    force: bool = options.overwriting("the file"),
    loading: Loading,
) -> None:
    """Show the equations of motion in closed form: B, C, g and the torques."""
    if latex and text:
        raise options.exclude("--latex", "--text")
    if (term is not None) + derivation + regressor > 1:
        raise DalembertError("--term, --derivation and --regressor exclude each other; choose one")
    if output == "-":
        output, text = None, not latex
    if output is not None:
        latex = latex or output.endswith(".tex")
    loaded = options.load(arm, loading, options.Load(payload=payload))
    with Bar(f"equations of {loaded.name}") as bar:
        closed_form: Equations
        if absolute:
            closed_form = loaded.in_coordinates("absolute").equations(parameters)
        else:
            closed_form = loaded.equations(parameters, lambda fraction: bar(0.5 * fraction))

        def later(fraction: float) -> None:
            bar(0.5 + 0.5 * fraction)

        if derivation:
            shown = closed_form.derivation("latex" if latex else "text")
            shown = shown if latex else f"{introduction('S')}\n\n{shown}"
        elif regressor:
            shown = closed_form.regressor.latex() if latex else closed_form.regressor.text()
        elif latex:
            shown = closed_form.latex(term, progress=later)
        else:
            shown = closed_form.text(term, whole=text or output is not None, progress=later)
    if output is not None:
        if latex and term is None:
            from dalembert.mechanics.symbols.derivation import document

            shown = document(shown, f"Equations of motion of {loaded.name}")
        with whole_file(output, overwrite=force) as file:
            file.write(shown.rstrip("\n") + "\n")
        tell(f"written to {plain(output)}")
        return
    print_lines(shown.rstrip("\n"))
