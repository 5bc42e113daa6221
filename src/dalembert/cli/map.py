"""``dalembert map``: a quantity over the workspace, as a picture."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Option

from dalembert.cli import options
from dalembert.cli.ellipsoid import limits_of
from dalembert.cli.terminal import number, numbers, plain, tell
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError


def map_(
    arm: options.ArmArgument,
    plot: Annotated[
        str, Option("--plot", "-o", metavar="OUT.png", help="The picture file: .png, .svg or .pdf.")
    ] = "map.png",
    quantity: Annotated[
        str,
        Option(
            help="dynamic-manipulability, velocity-manipulability, force-manipulability or gravity-load.",
            metavar="NAME",
        ),
    ] = "dynamic-manipulability",
    task: options.TaskOption = None,
    limits: options.LimitsOption = None,
    take: Annotated[
        Literal["best", "mean", "worst"], Option(help="Which value to show of the configurations that reach a cell.")
    ] = "best",
    redundancy: Annotated[options.Redundancy, Option(help="As for 'dalembert ellipsoid'.")] = "pseudo-inverse",
    poses: Annotated[int, Option(help="Number of configurations to sample.", min=1)] = 1_000_000,
    cells: Annotated[int, Option(help="Cells along the longer side.", min=2, max=2000)] = 120,
    seed: Annotated[int, Option(help="Another seed gives other random configurations.", min=0)] = 0,
    cluster: options.ClusterOption = None,
    force: Annotated[bool, options.overwriting("OUT.png")] = False,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Draw the capability of an arm over the positions that its tip can reach."""
    import numpy as np

    from dalembert.analysis.workspace import QUANTITIES, workspace_map

    loaded = options.load(arm, loading)
    if quantity not in QUANTITIES:
        raise DalembertError(f"there is no map of '{plain(quantity)}'; the maps are {', '.join(QUANTITIES)}")
    options.check_plot(plot, force=force)
    size = limits_of(loaded, limits, QUANTITIES[quantity][2])
    with Bar(f"{poses:,} configurations", patience=0.3) as bar:
        workspace = workspace_map(
            loaded, quantity, poses=poses, cells=cells, limits=size, task=task, take=take,
            redundancy=redundancy, seed=seed, progress=bar, cluster=cluster,
        )  # fmt: skip
    if not np.isfinite(workspace.values).any():
        raise DalembertError(f"arm '{loaded.name}' has no finite value of {quantity} anywhere")
    options.save_plot(workspace.plot(), plot, force=force)
    value, q, place = workspace.best
    tell(f"{plain(loaded.name)}: {workspace.words}", "bold")
    seen = workspace.values[np.isfinite(workspace.values)]
    tell(f"over {len(seen):,} cells: from {number(float(seen.min()))} to {number(float(seen.max()))}")
    at = (f"{axis.removesuffix(' (m)')} {number(float(x))} m" for axis, x in zip(workspace.axes, place, strict=True))
    tell(f"largest {number(value)} at {', '.join(at)}, with q = ({numbers(q)})")
    tell(f"the picture is in {plain(plot)}", stderr=True)
