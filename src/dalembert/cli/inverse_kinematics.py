"""``dalembert inverse-kinematics``: the joint positions for a pose of the tip."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from typer import Option

import dalembert as da
from dalembert.cli import options
from dalembert.cli.terminal import plain, print_table, tell
from dalembert.errors import DalembertError

Aim = Literal["pose", "position+axis", "position"]


def inverse_kinematics(
    arm: options.ArmArgument,
    position: Annotated[
        str, Option(metavar='"x y z"', help="The position of the tip, in base axes (m).", show_default=False)
    ],
    rpy: Annotated[
        str | None,
        Option(metavar='"r p y"', help="Its orientation: roll, pitch and yaw (rad), R_z(yaw) R_y(pitch) R_x(roll)."),
    ] = None,
    axis: Annotated[
        str | None, Option(metavar='"x y z"', help="Instead, the direction of the tip's z-axis in base axes.")
    ] = None,
    task: Annotated[
        Aim | None, Option(help="What is prescribed; default: what is given, as far as the arm has the joints for it.")
    ] = None,
    q: Annotated[
        str | None, Option("--q", metavar='"q1 … qn"', help="List the solution nearest to these positions first.")
    ] = None,
    solutions: Annotated[str, Option(metavar="N|all", help="Number of distinct solutions to search for.")] = "all",
    limits: Annotated[
        bool, Option("--limits/--no-limits", help="Whether to respect the joints' position limits.")
    ] = True,
    deg: Annotated[bool, Option("--deg", help="Angles in degrees, both given and printed.")] = False,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Find the joint positions that bring the tip to a pose (inverse kinematics).

    Without an orientation only the position is prescribed. An arm with fewer than six joints solves for what it can
    reach: position and orientation in its plane, position and the direction of its tool axis, or position alone.
    """
    import numpy as np

    from dalembert.logs.units import sliding_joints

    loaded = options.load(arm, loading)
    x = options.numbers_of("--position", position, "x y z")
    if rpy is not None and axis is not None:
        raise DalembertError("--rpy and --axis are both given; choose one")
    factors = [1.0 if slides or not deg else math.degrees(1.0) for slides in sliding_joints(loaded)]
    near = None if q is None else np.array(options.row_of("--q", q, "q", loaded.n)) / factors
    goal: Any = x
    if rpy is not None or axis is not None:
        goal = np.eye(4)
        goal[:3, 3] = x
        if rpy is not None:
            turns = [angle / (math.degrees(1.0) if deg else 1.0) for angle in options.numbers_of("--rpy", rpy, "r p y")]
            goal[:3, :3] = _rotation(*turns)
        elif axis is not None:
            goal[:3, :3] = _towards(np.array(options.numbers_of("--axis", axis, "x y z")))
            task = task or "position+axis"
    solved = da.inverse_kinematics(loaded, goal, near, task=task, solutions=_count(solutions), respect_limits=limits)
    unit = "°" if deg else "rad"
    heads = [
        f">{plain(name)} ({'m' if slides else unit})"
        for name, slides in zip(loaded.joint_names, sliding_joints(loaded), strict=True)
    ]
    rows = [
        [str(k), *(f"{value:.6g}" for value in (row * factors).round(9) + 0.0)]
        for k, row in enumerate(solved.solutions, 1)
    ]
    print_table(
        ["", *heads], rows, f"{plain(loaded.name)}: {len(rows)} solution{'s' * (len(rows) != 1)}, task '{solved.task}'"
    )
    metres, angle = solved.error
    tell(f"error of the first: {metres:.1e} m, {angle:.1e} rad", stderr=True)


def _count(text: str) -> Any:
    return int(text) if text.isdigit() else text


def _rotation(roll: float, pitch: float, yaw: float) -> Any:
    """R_z(yaw) R_y(pitch) R_x(roll)"""
    import numpy as np

    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (roll, pitch, yaw))
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


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
