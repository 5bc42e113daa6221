"""``dalembert map``: a quantity over the workspace, as a picture."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dalembert.cli.ellipsoid import limits_of
from dalembert.cli.options import (
    ArmArgument,
    LimitsOption,
    Physical,
    PhysicalOption,
    Redundancy,
    TaskOption,
    TipOption,
    check_plot,
    load,
    overwriting,
    save_plot,
)
from dalembert.cli.terminal import Bar, console, number, numbers, plain
from dalembert.errors import DalembertError


class Take(StrEnum):
    """What a cell of a map shows."""

    best = "best"
    mean = "mean"
    worst = "worst"


def map_(
    arm: ArmArgument,
    plot: Annotated[
        str, typer.Option("--plot", "-o", metavar="OUT.png", help="Where the picture goes: .png, .svg or .pdf.")
    ] = "map.png",
    quantity: Annotated[
        str,
        typer.Option(
            help="dynamic-manipulability, velocity-manipulability, force-manipulability or gravity-load.",
            metavar="NAME",
        ),
    ] = "dynamic-manipulability",
    task: TaskOption = None,
    limits: LimitsOption = None,
    take: Annotated[Take, typer.Option(help="Which of the configurations that reach a cell it shows.")] = Take.best,
    redundancy: Annotated[Redundancy, typer.Option(help="As for 'dalembert ellipsoid'.")] = Redundancy.pseudo_inverse,
    poses: Annotated[int, typer.Option(help="How many configurations are tried.", min=1)] = 1_000_000,
    cells: Annotated[int, typer.Option(help="Cells along the longer side.", min=2, max=2000)] = 120,
    seed: Annotated[int, typer.Option(help="For other random configurations.", min=0)] = 0,
    force: Annotated[bool, overwriting("OUT.png")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Draw what an arm can do wherever its tip can be."""
    import numpy as np

    from dalembert.analysis.workspace import QUANTITIES, workspace_map
    from dalembert.report.tip_figures import map_figure

    loaded = load(arm, physical, tip)
    if quantity not in QUANTITIES:
        raise DalembertError(f"there is no map of '{plain(quantity)}'; known are {', '.join(QUANTITIES)}")
    check_plot(plot, force=force)
    size = limits_of(loaded, limits, QUANTITIES[quantity][2])
    with Bar(f"{poses:,} configurations", patience=0.3) as bar:
        workspace = workspace_map(
            loaded, quantity, poses=poses, cells=cells, limits=size, task=task, take=take.value,
            redundancy=redundancy.value, seed=seed, progress=bar,
        )  # fmt: skip
    if not np.isfinite(workspace.values).any():
        raise DalembertError(f"arm '{loaded.name}' has no finite value of {quantity} anywhere")
    save_plot(map_figure(workspace), plot, force=force)
    screen = console()
    value, q, (u, v) = workspace.best
    screen.print(f"{plain(loaded.name)}: {workspace.words}", style="bold", soft_wrap=True)
    seen = workspace.values[np.isfinite(workspace.values)]
    screen.print(
        f"over {len(seen):,} cells: from {number(float(seen.min()))} to {number(float(seen.max()))}", soft_wrap=True
    )
    screen.print(
        f"largest {number(value)} at {workspace.axes[0].removesuffix(' (m)')} {number(float(u))} m, "
        f"{workspace.axes[1].removesuffix(' (m)')} {number(float(v))} m, with q = ({numbers(q)})",
        soft_wrap=True,
    )
    console(stderr=True).print(f"the picture is in {plain(plot)}", soft_wrap=True)
