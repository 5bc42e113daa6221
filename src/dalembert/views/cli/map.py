"""``dalembert map``: a quantity over the workspace, as a picture."""

from __future__ import annotations

from typing import Literal

from dalembert.base.environment.progress import Bar
from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.ellipsoid import limits_of
from dalembert.views.cli.options import ArmArgument, Loading
from dalembert.views.cli.terminal import number, numbers, plain, tell


def map_(
    arm: ArmArgument,
    *,
    plot: str = options.plotting("The picture file", "map.png", spelled="--plot -o"),
    quantity: str = option(
        "dynamic-manipulability, velocity-manipulability, force-manipulability or gravity-load.",
        "dynamic-manipulability",
        metavar="NAME",
    ),
    task: str | None = options.common("task"),
    limits: str | None = options.common("capability_limits"),
    take: Literal["best", "mean", "worst"] = option("The value shown of the configurations in a cell.", "best"),
    redundancy: options.Redundancy = option("As for 'dalembert ellipsoid'.", "pseudo-inverse"),
    poses: int = option("Number of configurations to sample.", 1_000_000, min=1),
    cells: int = option("Cells along the longer side.", 120, min=2, max=2000),
    seed: int = option("Another seed gives other random configurations.", 0, min=0),
    cluster: str | None = options.common("cluster"),
    force: bool = options.overwriting("OUT.png"),
    loading: Loading,
) -> None:
    """Draw the capability of an arm over the positions that its tip can reach."""
    import numpy as np

    from dalembert.work.analysis.workspace import QUANTITIES, workspace_map

    loaded = options.load(arm, loading)
    if quantity not in QUANTITIES:
        raise DalembertError(f"there is no map of '{plain(quantity)}'; the maps are {', '.join(QUANTITIES)}")
    size = limits_of(loaded, limits, QUANTITIES[quantity][2])
    with Bar(f"{poses:,} configurations", patience=0.3) as bar:
        workspace = workspace_map(
            loaded, quantity, task=task, limits=size, take=take, redundancy=redundancy,
            poses=poses, cells=cells, seed=seed, cluster=cluster, progress=bar,
        )  # fmt: skip
    if not np.isfinite(workspace.values).any():
        raise DalembertError(f"arm '{loaded.name}' has no finite value of {quantity} anywhere")
    value, q, place = workspace.best
    tell(f"{plain(loaded.name)}: {workspace.words}", "bold")
    seen = workspace.values[np.isfinite(workspace.values)]
    tell(f"over {len(seen):,} cells: from {number(float(seen.min()))} to {number(float(seen.max()))}")
    at = (f"{axis.removesuffix(' (m)')} {number(float(x))} m" for axis, x in zip(workspace.axes, place, strict=True))
    tell(f"largest {number(value)} at {', '.join(at)}, with q = ({numbers(q)})")
    options.save_plot(workspace.plot(), plot, force=force)
