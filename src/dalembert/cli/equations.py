"""``dalembert equations``: the equations of motion in closed form, for reading."""

from __future__ import annotations

import sys

from dalembert import Arm
from dalembert.cli.terminal import Bar, plain
from dalembert.symbols.present import Equations


def show_equations(arm: Arm, *, latex: bool, text: bool, term: str | None, parameters: str, absolute: bool) -> None:
    """Print the equations, or one term of them, as text or LaTeX. ``text`` prints all, however long."""
    with Bar(f"equations of {arm.name}") as bar:
        made: Equations
        if absolute:
            made = arm.in_coordinates("absolute").equations(parameters)  # type: ignore[assignment]
        else:
            made = arm.equations(parameters, lambda fraction: bar(0.5 * fraction))
        if latex:
            shown = made.latex(term, progress=lambda fraction: bar(0.5 + 0.5 * fraction))
        else:
            shown = made.text(term, whole=text, progress=lambda fraction: bar(0.5 + 0.5 * fraction))
    sys.stdout.write("".join(f"{plain(line)}\n" for line in shown.rstrip("\n").splitlines()))
    sys.stdout.flush()
