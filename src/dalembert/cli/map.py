"""``dalembert map``: a quantity over the workspace, as a picture."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np

from dalembert.analysis.workspace import QUANTITIES, workspace_map
from dalembert.arm import Arm
from dalembert.cli.compare import check_plot, save
from dalembert.cli.ellipsoid import limits_of
from dalembert.cli.terminal import Bar, console, number, numbers, plain
from dalembert.errors import DalembertError


def show_map(
    arm: Arm,
    *,
    quantity: str,
    task: str | None,
    limits: str | None,
    take: str,
    redundancy: str,
    poses: int,
    cells: int,
    seed: int,
    plot: str,
    force: bool,
) -> None:
    """Compute with a bar, draw, and say where the largest value is."""
    if quantity not in QUANTITIES:
        raise DalembertError(f"there is no map of '{plain(quantity)}'; known are {', '.join(QUANTITIES)}")
    check_plot(plot, force=force)
    size = limits_of(arm, limits, QUANTITIES[quantity][2])
    with Bar(f"{poses:,} configurations", patience=0.3) as bar:
        made = workspace_map(
            arm, quantity, poses=poses, cells=cells, limits=size, task=task,
            take=cast(Literal["best", "mean", "worst"], take), redundancy=redundancy, seed=seed, progress=bar,
        )  # fmt: skip
    if not np.isfinite(made.values).any():
        raise DalembertError(f"arm '{arm.name}' has no finite value of {quantity} anywhere")
    from dalembert.report.tip_figures import map_figure

    save(map_figure(made), plot, force=force)
    screen = console()
    value, q, (u, v) = made.best
    screen.print(f"{plain(arm.name)}: {made.words}", style="bold", soft_wrap=True)
    seen = made.values[np.isfinite(made.values)]
    screen.print(
        f"over {len(seen):,} cells: from {number(float(seen.min()))} to {number(float(seen.max()))}", soft_wrap=True
    )
    screen.print(
        f"largest {number(value)} at {made.axes[0].removesuffix(' (m)')} {number(float(u))} m, "
        f"{made.axes[1].removesuffix(' (m)')} {number(float(v))} m, with q = ({numbers(q)})",
        soft_wrap=True,
    )
    console(stderr=True).print(f"the picture is in {plain(plot)}", soft_wrap=True)
