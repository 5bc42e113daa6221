"""``dalembert inverse-kinematics``: the joint positions for a pose of the tip."""

from __future__ import annotations

import math
from typing import Any, Literal

import dalembert as da
from dalembert.base.options import REQUIRED, option
from dalembert.base.wording import counted
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading
from dalembert.views.cli.terminal import plain, print_table, tell

Aim = Literal["pose", "position+axis", "position"]


def inverse_kinematics(
    arm: ArmArgument,
    *,
    position: str = options.vector("The position of the tip, in base axes (m).", REQUIRED, show_default=False),
    rpy: str | None = option("Orientation: roll, pitch, yaw (rad), R_z(yaw) R_y(pitch) R_x(roll).", metavar='"r p y"'),
    axis: str | None = options.vector("Instead, the direction of the tip's z-axis in base axes."),
    task: Aim | None = option("What is prescribed; default: what is given, as far as the arm has the joints for it."),
    q: str | None = options.joint_row("List the solution nearest to these positions first."),
    solutions: str = option("Number of distinct solutions to search for.", "all", metavar="N|all"),
    limits: bool = option("Whether to respect the joints' position limits.", True),
    deg: bool = option("Angles in degrees, both given and printed.", False),
    loading: Loading,
) -> None:
    """Find the joint positions that bring the tip to a pose (inverse kinematics).

    Without an orientation only the position is prescribed. An arm with fewer than six joints solves for what it can
    reach: position and orientation in its plane, position and the direction of its tool axis, or position alone.
    """
    import numpy as np

    from dalembert.work.logs.log_units import sliding_joints

    loaded = options.load(arm, loading)
    x = options.numbers_of("--position", position, "x y z")
    if rpy is not None and axis is not None:
        raise options.exclude("--rpy", "--axis")
    factors = [1.0 if slides or not deg else math.degrees(1.0) for slides in sliding_joints(loaded)]
    near = None if q is None else np.array(options.row_of("--q", q, "q", loaded.n)) / factors
    goal: Any = x
    if rpy is not None or axis is not None:
        goal = np.eye(4)
        goal[:3, 3] = x
        if rpy is not None:
            angles = np.array(options.numbers_of("--rpy", rpy, "r p y")) / (math.degrees(1.0) if deg else 1.0)
            goal[:3, :3] = da.Placement.rpy(*angles.tolist()).rotation
        elif axis is not None:
            goal[:3, :3] = _towards(np.array(options.numbers_of("--axis", axis, "x y z")))
            task = task or "position+axis"
    count: Any = int(solutions) if solutions.isdigit() else solutions
    solved = da.inverse_kinematics(loaded, goal, near, task=task, solutions=count, respect_limits=limits)
    unit = "°" if deg else "rad"
    joints = zip(loaded.joint_names, sliding_joints(loaded), strict=True)
    heads = [f">{plain(name)} ({'m' if slides else unit})" for name, slides in joints]
    shown = (solved.solutions * factors).round(9) + 0.0
    rows = [[str(k), *(f"{value:.6g}" for value in row)] for k, row in enumerate(shown, 1)]
    title = f"{plain(loaded.name)}: {counted(len(rows), 'solution')}, task '{solved.task}'"
    print_table(["", *heads], rows, title)
    metres, angle = solved.error
    tell(f"error of the first: {metres:.1e} m, {angle:.1e} rad", stderr=True)


def _towards(z: Any) -> Any:
    """A rotation whose third column is along z."""
    import numpy as np

    length = np.linalg.norm(z)
    if not length > 0:
        raise DalembertError("--axis has no direction: give three numbers that are not all zero")
    z = z / length
    x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
