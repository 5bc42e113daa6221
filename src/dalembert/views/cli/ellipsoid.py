"""``dalembert ellipsoid``: the capability of the end effector in one configuration, as numbers and as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import dalembert as da
from dalembert.base.options import REQUIRED, option
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading
from dalembert.views.cli.terminal import finite, number, numbers, plain, print_json, print_table, tell

if TYPE_CHECKING:
    from dalembert.work.analysis.ellipsoid import Ellipsoid, Polytope

Kind = Literal["dynamic", "velocity", "force", "static"]
KINDS: dict[Kind, str] = {
    "dynamic": "accelerations of the tip from rest, S (7.148)",
    "velocity": "velocities of the tip",
    "force": "forces of the tip, ignoring the arm's weight",
    "static": "forces of the tip in addition to the arm's weight",
}


def ellipsoid(
    arm: ArmArgument,
    *,
    q: str = option("The configuration (rad; m if prismatic).", REQUIRED, metavar='"q1 … qn"', show_default=False),
    kind: Kind = option("Accelerations, velocities, forces, or forces in addition to the arm's weight.", "dynamic"),
    task: str | None = options.common("task"),
    limits: str | None = options.common("capability_limits"),
    redundancy: options.Redundancy = option(
        "Redundant joints: least accelerations, dynamically consistent, or everything that is possible.",
        "pseudo-inverse",
    ),
    gravity: bool = option("Whether gravity shifts the centre.", True),
    as_json: bool = options.common("as_json"),
    plot: str | None = options.plotting("Write the picture", spelled="--plot -o"),
    force: bool = options.overwriting("OUT.png"),
    loading: Loading,
) -> None:
    """Show the dynamic manipulability ellipsoid: the acceleration capability of the end effector in one configuration."""
    import numpy as np

    from dalembert.work.analysis import ellipsoid as shapes

    loaded = options.load(arm, loading)
    at = options.row_of("--q", q, "q", loaded.n)
    size = limits_of(loaded, limits, "velocity" if kind == "velocity" else "effort")
    exact: Polytope | None = None
    if kind == "dynamic":
        shape = loaded.dynamic_manipulability(at, size, task, redundancy=redundancy, gravity=gravity)
        if size is not None:
            exact = loaded.acceleration_polytope(at, size, task, gravity=gravity)
    else:
        shape = getattr(shapes, f"{kind}_manipulability")(loaded, at, size, task)
    if not np.isfinite(shape.radii).all():
        raise DalembertError(f"arm '{loaded.name}' cannot hold still in this configuration with these torque limits")
    if as_json:
        print_json(finite(as_data(loaded, at, shape, exact)))
    else:
        _print(loaded, at, shape, exact, kind, size)
    if plot is not None:
        options.save_plot(shape.plot(exact), plot, force=force)


def limits_of(arm: da.Arm, text: str | None, kind: str) -> Any:
    """The value of --limits: "unit", "arm" or numbers; by default the arm's own if it has all of them."""
    if text is None:
        known = [getattr(joint.limits, kind) for joint in arm.robot.moving_joints]
        return "arm" if all(v is not None and 0 < v < math.inf for v in known) else None
    if text.strip() in ("unit", "arm"):
        return None if text.strip() == "unit" else "arm"
    return options.row_of("--limits", text, "limit", arm.n)


def as_data(arm: da.Arm, q: tuple[float, ...], shape: Ellipsoid, exact: Polytope | None) -> dict[str, Any]:
    """The result as data for programs."""
    data: dict[str, Any] = {
        "arm": arm.name, "q": list(q), "what": shape.what, "rows": list(shape.rows), "units": list(shape.units),
        "center": shape.center.tolist(), "radii": shape.radii.tolist(), "axes": shape.axes.T.tolist(),
        "volume": float(shape.volume), "manipulability": dict(zip(("w", "w_d"), measures(arm, q, shape), strict=True)),
    }  # fmt: skip
    if exact is not None:
        data["polytope"] = {"center": exact.center.tolist(), "generators": exact.generators.T.tolist()}
    return data


def measures(arm: da.Arm, q: tuple[float, ...], shape: Ellipsoid) -> tuple[float, float]:
    """w of S (3.56) and w_d of Problem 7.11 for the rows of an ellipsoid, without limits."""
    return float(arm.manipulability(q, shape.rows)), float(arm.manipulability(q, shape.rows, dynamic=True))


def _print(arm: da.Arm, q: tuple[float, ...], shape: Ellipsoid, exact: Polytope | None, kind: Kind, size: Any) -> None:
    unit = shape.units[0] if len(set(shape.units)) == 1 else ""
    whose = "the arm’s" if isinstance(size, str) else "these"
    bound = f"whose ratios to {whose} limits have squares that sum to at most 1"
    bound = "of unit length" if size is None else bound
    tell(f"{plain(arm.name)} at q = ({numbers(q)}): {KINDS[kind]}", "bold")
    what = "joint velocities" if kind == "velocity" else "torques"
    tell(f"from {what} {bound}; components {', '.join(shape.rows)}\n")
    tell(f"centre  {numbers(shape.center)} {unit}")
    m = len(shape.radii)
    measure = {1: unit, 2: f"({unit})²", 3: f"({unit})³"}.get(m, "") if unit else ""
    tell(f"{'area' if m == 2 else 'volume':<8}{number(float(shape.volume))} {measure}")
    w, w_d = map(number, measures(arm, q, shape))
    tell(f"manipulability measure w = √det(J Jᵀ) = {w}, dynamic w_d = √det(J (BᵀB)⁻¹ Jᵀ) = {w_d} (without limits)\n")
    rows = [[str(k + 1), number(float(r), unit), numbers(shape.axes[:, k], 3)] for k, r in enumerate(shape.radii)]
    print_table(["axis", ">radius", "direction"], rows)
    tell("")
    _print_reaches(shape, exact, unit)


def _print_reaches(shape: Ellipsoid, exact: Polytope | None, unit: str) -> None:
    """The reach in each direction from 0; a sentence if the weight of the arm leaves none."""
    import numpy as np

    words = [f"{sign}{row}" for sign in "+−" for row in shape.rows]
    directions = np.concatenate([np.eye(len(shape.rows)), -np.eye(len(shape.rows))])
    columns = {">ellipsoid": shape, ">each joint within its limit": exact}
    reaches = {head: x.max_acceleration(directions) for head, x in columns.items() if x is not None}
    some = {head: values for head, values in reaches.items() if not np.isnan(values).all()}
    if ">ellipsoid" not in some:
        tell(
            "no axis meets the ellipsoid from 0, the tip at rest: torques of this size do not hold the arm's weight; give larger "
            "--limits, or ignore the weight with --no-gravity"
        )
    if some:
        cells = [["none" if math.isnan(x) else number(x, unit) for x in values] for values in some.values()]
        print_table(["from 0 towards", *some], list(zip(words, *cells, strict=True)))
