"""Pictures of what an arm can do with its tip: ellipsoids at one configuration, maps over the workspace."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.analysis.ellipsoid import Ellipsoid, Polytope, _polygon
from dalembert.analysis.workspace import WorkspaceMap
from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.report.figures import INK, SOFT, STYLE, Panel, _pull, _time_axis, _triad, assemble
from dalembert.report.skeleton import Pose, View, skeleton, views
from dalembert.report.study import Study
from dalembert.report.words import literal, with_glyphs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
WITH, WITHOUT, EXACT, STEEL = "#1f5fa8", "#d1702a", "#5b9f70", "#9aa6b2"
FAINT, BETWEEN = "#dde3e8", "#d5e0ec"


# -- one configuration ---------------------------------------------------------------------------


def ellipsoid_figure(arm: Arm, q: ArrayLike, shape: Ellipsoid, exact: Polytope | None = None) -> Figure:
    """An ellipsoid at the arm's tip, and by itself, with and without gravity: S Fig. 7.15.

    exact  the polytope of the same limits, drawn around it
    """
    at = np.asarray(q, float)
    if shape.center.ndim != 1 or sum(row in "xyz" for row in shape.rows) < 2:
        raise DalembertError("a picture shows one configuration and two or three of the rows x, y, z")
    pose = skeleton(arm, at[None])[0]
    gravity = np.array(arm.robot.gravity, float)
    points = np.concatenate([*(line.reshape(-1, 3) for line in pose.lines), np.array([arm.robot.base.translation])])
    flat = sum(row in "xyz" for row in shape.rows) == 2
    moved = np.concatenate([points, _tips(arm)])
    seen = views(moved, gravity)
    panels = [_at_tip(arm, pose, points, seen[0], shape, flat)]
    if flat:
        pairs = [[row for row in shape.rows if row in "xyz"]]
        down = int(np.argmax(np.abs(gravity)))
        if gravity.any() and pairs[0][0] == "xyz"[down]:
            pairs[0].reverse()
    else:
        pairs = [["x", "z"], ["y", "z"], ["x", "y"]]
    panels += [_by_itself(shape, exact, across, up) for across, up in pairs]
    return assemble(panels, 2)


def _tips(arm: Arm) -> Array:
    from dalembert.tip.task_rows import spread

    return np.asarray(arm.pose(spread(arm, 8))[:, :3, 3], np.float64)


def _lift(shape: Ellipsoid) -> tuple[Array, Array]:
    """The centre (3,) and matrix (3, m) of the ellipsoid in base axes."""
    L = np.zeros((3, len(shape.rows)))
    for k, row in enumerate(shape.rows):
        if row in "xyz":
            L["xyz".index(row), k] = 1.0
    return L @ shape.center, L @ shape.matrix


def _curve(center: Array, G: Array) -> Array:
    """The outline (2, N) of the shadow of an ellipsoid: centre (2,), matrix (2, m)."""
    U, s, _ = np.linalg.svd(G, full_matrices=False)
    angle = np.linspace(0, 2 * np.pi, 181)
    return center[:, None] + (U * s) @ np.stack([np.cos(angle), np.sin(angle)])


def _at_tip(arm: Arm, pose: Pose, points: Array, view: View, shape: Ellipsoid, flat: bool) -> Panel:
    center, G = _lift(shape)
    c, P = view.matrix @ center, view.matrix @ G
    tip = view.matrix @ pose.tip
    extent = max(float(np.ptp(points @ view.matrix.T, axis=0).max()), 1e-3)
    shifted = bool(np.hypot(*c) > 1e-12)
    largest = max(float(np.abs(_curve(k * c, P)).max()) for k in (0, 1))
    scale = 0.42 * extent / max(largest, 1e-300)  # m of paper for a unit

    def draw(axes: Axes) -> None:
        for line in pose.lines:
            axes.plot(*(view.matrix @ line.T), color=STEEL, lw=6, solid_capstyle="round", zorder=2)
        for line in pose.rails:
            axes.plot(*(view.matrix @ line.T), color=STEEL, lw=2, ls=(0, (2, 1.5)), zorder=2)
        for kind, marker in (("turns", "o"), ("slides", "s")):
            where = getattr(pose, kind)
            if len(where):
                axes.plot(*(view.matrix @ where.T), marker, ms=6, mfc="white", mec=STEEL, mew=1.8, zorder=3)
        if shifted:
            axes.plot(*(tip[:, None] + scale * _curve(0 * c, P)), color=WITHOUT, lw=1.4, ls=(0, (4, 2)), zorder=4)
        x, y = tip[:, None] + scale * _curve(c, P)
        axes.fill(x, y, color=WITH, alpha=0.14, lw=0, zorder=3.5)
        axes.plot(x, y, color=WITH, lw=1.7, zorder=5)
        axes.plot(*tip, "o", ms=4.5, color=INK, zorder=6)
        _ruler(axes, scale, largest, shape.units[0], "lower left" if view.scales else "lower right")
        _framed(axes, arm, view, extent)

    return Panel(f"{arm.name}: {shape.what} at the tip", draw, _key(shape, shifted, None), (5.2, 4.2))


def _framed(axes: Axes, arm: Arm, view: View, extent: float) -> None:
    """The base, where gravity pulls, and axes with scales or a triad of them."""
    base = np.array(arm.robot.base.translation, float)
    axes.plot(*(view.matrix @ base), "^", ms=12, color=INK, zorder=1.5)
    _pull(axes, view.matrix @ np.array(arm.robot.gravity, float))
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.1)
    if view.scales:
        axes.set_xlabel(view.across, labelpad=1)
        axes.set_ylabel(view.up, labelpad=1)
    else:
        axes.set_axis_off()
        _triad(axes, view, base, 0.16 * extent)


def _ruler(axes: Axes, scale: float, largest: float, unit: str, corner: str = "lower left") -> None:
    """A bar that says how long an acceleration is on this picture."""
    from matplotlib.offsetbox import AnchoredOffsetbox, AuxTransformBox, TextArea, VPacker

    power = 10.0 ** np.floor(np.log10(0.6 * largest))
    value = max(k * power for k in (1, 2, 5) if k * power <= 0.6 * largest)
    from matplotlib.lines import Line2D

    bar = AuxTransformBox(axes.transData)
    bar.add_artist(Line2D([0, scale * value], [0, 0], color=INK, lw=1.6, solid_capstyle="butt"))
    label = TextArea(f"{value:g} {unit}", textprops={"fontsize": 8, "color": INK})
    box = VPacker(children=[bar, label], align="center", pad=0, sep=3)
    axes.add_artist(AnchoredOffsetbox(corner, child=box, frameon=False, pad=0.4, borderpad=0.3))


def _key(shape: Ellipsoid, shifted: bool, exact: Polytope | None) -> tuple[tuple[str, str], ...]:
    key = [(WITH, "with gravity" if shifted else "ellipsoid")]
    key += [(WITHOUT, "without gravity")] if shifted else []
    key += [(EXACT, "exactly, each motor within its limit")] if exact is not None else []
    return tuple(key)


def _by_itself(shape: Ellipsoid, exact: Polytope | None, across: str, up: str) -> Panel:
    """The ellipsoid's shadow on two base axes, in its own unit; 0 is the tip at rest."""
    P = np.zeros((2, 3))
    P[0, "xyz".index(across)] = P[1, "xyz".index(up)] = 1.0
    center, G = _lift(shape)
    c, G = P @ center, P @ G
    shifted = bool(np.linalg.norm(center) > 1e-12)

    def draw(axes: Axes) -> None:
        axes.axhline(0, color=SOFT, lw=0.7, zorder=1)
        axes.axvline(0, color=SOFT, lw=0.7, zorder=1)
        if exact is not None:
            pick = np.array([[float(row == a) for row in exact.rows] for a in (across, up)])
            corners = pick @ exact.center + _polygon(pick @ exact.generators)
            closed = np.concatenate([corners, corners[:1]]).T
            axes.fill(*closed, color=EXACT, alpha=0.10, lw=0, zorder=1.5)
            axes.plot(*closed, color=EXACT, lw=1.2, zorder=2)
        if shifted:
            axes.plot(*_curve(0 * c, G), color=WITHOUT, lw=1.4, ls=(0, (4, 2)), zorder=4)
        x, y = _curve(c, G)
        axes.fill(x, y, color=WITH, alpha=0.14, lw=0, zorder=3.5)
        axes.plot(x, y, color=WITH, lw=1.7, zorder=5)
        if shifted and np.hypot(*c) > 0.02 * np.ptp([x, y]):
            look: dict[str, Any] = {"arrowstyle": "-|>", "color": WITH, "lw": 1.1, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", xy=tuple(c), xytext=(0, 0), arrowprops=look, zorder=6)
        axes.plot(0, 0, "o", ms=4, color=INK, zorder=6)
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.07)
        unit = shape.units[0]
        axes.set_xlabel(f"{across} ({unit})", labelpad=3)
        axes.set_ylabel(f"{up} ({unit})", labelpad=5)

    return Panel(f"{shape.what} in {across} and {up}", draw, _key(shape, shifted, exact), (5.2, 4.2))


# -- a motion ------------------------------------------------------------------------------------

POSES = 7  # of a motion, at which its ellipsoids are drawn


def along_panels(study: Study, shapes: Ellipsoid) -> list[Panel]:
    """The ellipsoids at some poses of a motion, and over time what they allow beside what the motion asks for."""
    room = [row for row in shapes.rows if row in "xyz"]
    panels = [_on_the_way(study, shapes)] if len(room) >= 2 else []
    return [*panels, _asked_and_allowed(study, shapes)]


def _on_the_way(study: Study, shapes: Ellipsoid) -> Panel:
    """The path of the tip with an ellipsoid here and there, its centre moved by gravity."""
    q, arm = study.shown.q, study.arm
    picked = np.unique(np.linspace(0, len(q) - 1, POSES).round().astype(int))
    poses = skeleton(arm, q[picked])
    path = study.tip[0]
    base = np.array(arm.robot.base.translation, float)
    points = np.concatenate([*(line.reshape(-1, 3) for pose in poses for line in pose.lines), path, base[None]])
    view = views(points, np.array(arm.robot.gravity, float))[0]
    lifted = [
        _lift(Ellipsoid(shapes.center[k], shapes.axes[k], shapes.radii[k], shapes.rows, shapes.what)) for k in picked
    ]
    outlines = [_curve(view.matrix @ center, view.matrix @ G) for center, G in lifted]
    extent = max(float(np.ptp(points @ view.matrix.T, axis=0).max()), 1e-3)
    largest = max(float(np.abs(outline).max()) for outline in outlines)
    scale = 0.22 * extent / max(largest, 1e-300)  # m of paper for a unit

    def draw(axes: Axes) -> None:
        for k, pose in enumerate(poses):
            ends = k in (0, len(poses) - 1)
            for line in pose.lines:
                axes.plot(
                    *(view.matrix @ line.T), color=STEEL if ends else FAINT, lw=3.5 if ends else 1.4, zorder=2 + ends
                )
        axes.plot(*(view.matrix @ path.T), color=WITHOUT, lw=1.2, zorder=4)
        for k, outline in zip(picked, outlines, strict=True):
            x, y = (view.matrix @ path[k])[:, None] + scale * outline
            axes.fill(x, y, color=WITH, alpha=0.12, lw=0, zorder=4.5)
            axes.plot(x, y, color=WITH, lw=1.3, zorder=5)
            axes.plot(*(view.matrix @ path[k]), "o", ms=3, color=INK, zorder=6)
        _ruler(axes, scale, largest, shapes.units[0], "lower left" if view.scales else "lower right")
        _framed(axes, arm, view, extent)

    return Panel("On the way", draw, ((WITH, "ellipsoid"), (WITHOUT, "path of the tip")), (5.2, 4.0))


def _asked_and_allowed(study: Study, shapes: Ellipsoid) -> Panel:
    """|a| of the tip, how far the ellipsoid reaches that way, and its longest and shortest radius."""
    t = study.shown.t
    if shapes.rows[0] in "xyz":
        asked = study.tip[2][:, ["xyz".index(row) for row in shapes.rows if row in "xyz"]]
    else:
        asked = np.zeros((len(t), len(shapes.rows)))
    size = np.linalg.norm(asked, axis=-1)
    still = size <= 1e-9 * max(float(size.max(initial=0.0)), 1e-9)
    that_way = np.where(still[:, None], np.eye(asked.shape[1])[0], asked)
    allowed = np.where(still, np.nan, shapes.max_acceleration(that_way))

    def draw(axes: Axes) -> None:
        axes.fill_between(t, shapes.radii[:, -1], shapes.radii[:, 0], color=WITH, alpha=0.12, lw=0)
        axes.plot(t, allowed, color=WITH, lw=1.5)
        axes.plot(t, size, color=WITHOUT, lw=1.5)
        axes.set_ylim(bottom=0)
        _time_axis(axes, study)

    key = (
        (WITHOUT, "asked for by the motion"),
        (WITH, "the ellipsoid that way"),
        (BETWEEN, "its shortest to longest radius"),
    )
    return Panel(f"Acceleration of the tip ({shapes.units[0]})", draw, key, (5.2, 4.0))


# -- the workspace -------------------------------------------------------------------------------


def map_figure(made: WorkspaceMap) -> Figure:
    """The map as a picture, with the arm in the configuration of the largest value."""
    import matplotlib
    from matplotlib.figure import Figure

    width, height = made.across[-1] - made.across[0], made.up[-1] - made.up[0]
    tall = 5.4
    with matplotlib.rc_context({**STYLE, "axes.grid": False}):
        figure = Figure(figsize=(max(min(tall * width / height, 8.0) + 1.9, 4.8), tall + 0.8), layout="constrained")
        axes = figure.add_subplot()
        shown = np.ma.masked_invalid(made.values)
        low, high = (float(v) for v in np.nanpercentile(made.values, (2.0, 99.5)))
        if low < 0.3 * high:
            low = 0.0
        beyond = (bool(np.nanmin(made.values) < low), bool(np.nanmax(made.values) > high))
        extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[beyond]
        mesh = axes.pcolormesh(made.across, made.up, shown, cmap="viridis", vmin=low, vmax=high, rasterized=True)
        bar = figure.colorbar(mesh, ax=axes, pad=0.02, aspect=30, extend=extend, extendfrac=0.02)
        bar.outline.set_visible(False)
        bar.set_label(made.words, labelpad=6)
        _arm_at_best(axes, made)
        axes.set_aspect("equal")
        axes.set_xlim(made.across[0], made.across[-1])
        axes.set_ylim(made.up[0], made.up[-1])
        axes.set_xlabel(made.axes[0])
        axes.set_ylabel(made.axes[1])
        moved = "speeds" if made.quantity == "velocity-manipulability" else "torques"
        limits = f"{moved} relative to their limits" if made.limited else f"{moved} of unit size"
        words = f"{literal(made.arm.name)}\n{made.take} of {made.poses:,} configurations, {limits}"
        axes.set_title(words, loc="left", fontweight="normal", fontsize=9.0, linespacing=1.35)
    return with_glyphs(figure)


def _arm_at_best(axes: Axes, made: WorkspaceMap) -> None:
    from dalembert.analysis.workspace import _plane

    plane = _plane(made.arm)
    _, q, _ = made.best
    pose = skeleton(made.arm, np.asarray(q, np.float64)[None])[0]
    for line in pose.lines:
        fine = np.concatenate([np.linspace(a, b, 30) for a, b in itertools.pairwise(line)])
        u, v = plane.place(fine)
        axes.plot(u, v, color="white", lw=4.5, solid_capstyle="round", alpha=0.9, zorder=3)
        axes.plot(u, v, color=INK, lw=2.2, solid_capstyle="round", zorder=4)
    joints = np.concatenate([pose.turns, pose.slides])
    u, v = plane.place(joints)
    axes.plot(u, v, "o", ms=4.5, mfc="white", mec=INK, mew=1.2, zorder=5)
    u, v = plane.place(pose.tip[None])
    axes.plot(u, v, "o", ms=6, color="#d1702a", mec="white", mew=1.0, zorder=6)
