"""``dalembert equations``: the equations of motion in closed form, for reading."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from dalembert.cli import options
from dalembert.cli.terminal import plain, tell
from dalembert.documents.sources import introduction
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError
from dalembert.files import check_writable, whole_file

if TYPE_CHECKING:
    from dalembert.symbols.present import Equations


def equations(
    arm: options.ArmArgument,
    latex: options.LatexFlag = False,
    text: Annotated[bool, Option("--text", help="Plain text, complete, however long.")] = False,
    term: Annotated[
        str | None,
        Option(
            metavar="TERM",
            help="Only one term: B11, C12, g1, tau2, F1 (friction), c112 (Christoffel symbol), h112, T, U, L.",
        ),
    ] = None,
    derivation: Annotated[
        bool, Option("--derivation", help="Every step: Jacobians, energies, B, Christoffel symbols, C, g, torques.")
    ] = False,
    regressor: Annotated[bool, Option("--regressor", help="Y and π of τ = Y π, S (7.81).")] = False,
    output: Annotated[
        str | None,
        Option(
            "-o", "--output", metavar="FILE", help="The output file; .tex is a complete LaTeX document, '-' the screen."
        ),
    ] = None,
    parameters: Annotated[
        Literal["nonzero", "all", "numbers"],
        Option(help="What becomes a letter: nonzero numbers, all inertial parameters, or none."),
    ] = "nonzero",
    absolute: Annotated[
        bool, Option("--absolute", help="Use the angles of the links with respect to the base (parallel joints only).")
    ] = False,
    payload: Annotated[float | None, Option(metavar="MASS", help="A point mass m_L held at the tip, in kg.")] = None,
    loading: options.Loading = options.AS_IT_IS,
    force: Annotated[bool, options.overwriting("the file")] = False,
) -> None:
    """Show the equations of motion in closed form: B, C, g and the torques."""
    if latex and text:
        raise DalembertError("--latex and --text are both given; choose one")
    if (term is not None) + derivation + regressor > 1:
        raise DalembertError("--term, --derivation and --regressor exclude each other; choose one")
    if output == "-":
        output, text = None, not latex
    if output is not None:
        check_writable(output, overwrite=force, kinds=(".tex", ".txt", ".md"))
        latex = latex or output.endswith(".tex")
    loaded = options.load(arm, loading, payload)
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
            from dalembert.symbols.derivation import document

            shown = document(shown, f"Equations of motion of {loaded.name}")
        with whole_file(output, overwrite=force) as file:
            file.write(shown.rstrip("\n") + "\n")
        tell(f"written to {plain(output)}")
        return
    sys.stdout.write("".join(f"{plain(line)}\n" for line in shown.rstrip("\n").splitlines()))
    sys.stdout.flush()
