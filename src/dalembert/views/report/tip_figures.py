"""Figures of the capability of the tip: ellipsoids at one configuration, maps over the workspace."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.errors import DalembertError
from dalembert.views.report import figures
from dalembert.views.report.colours import INK, SOFT
from dalembert.views.report.figures import STYLE, Panel, assemble
from dalembert.views.report.skeleton import Pose, View, skeleton, views
from dalembert.views.report.study import Study
from dalembert.views.report.user_text import literal, with_glyphs
from dalembert.work.analysis.ellipsoid import Ellipsoid, Polytope, components
from dalembert.work.analysis.workspace import WorkspaceMap, map_plane
from dalembert.work.tip.task_rows import spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WITH, WITHOUT, EXACT, STEEL = "#1f5fa8", "#d1702a", "#5b9f70", "#9aa6b2"
FAR = 8.0  # radii between the centre of an ellipsoid and zero, beyond which it is drawn about its centre
FAINT, BETWEEN = "#dde3e8", "#c5d8ee"
PATH, REACH = "#d1702a", "#3d8f5a"  # path of the tip; reach of the ellipsoid in the direction of the acceleration


# -- one configuration ---------------------------------------------------------------------------


def ellipsoid_figure(arm: Arm, q: ArrayLike, shape: Ellipsoid, exact: Polytope | None = None) -> Figure:
    """An ellipsoid at the arm's tip, and separately, with and without gravity: S Fig. 7.15.

    exact  the polytope of the same limits, drawn around it
    """
    named = [row for row in shape.rows if row in "xyz"]
    if shape.center.ndim != 1 or len(named) < 2:
        raise DalembertError("a picture needs one configuration and two or three of the rows x, y, z")
    (pose,) = skeleton(arm, np.asarray(q, float)[None])
    gravity = np.array(arm.robot.gravity, float)
    points = np.concatenate([*(line.reshape(-1, 3) for line in pose.lines), np.array([arm.robot.base.translation])])
    view = views(np.concatenate([points, arm.pose(spread(arm, 8))[:, :3, 3]]), arm)[0]
    pairs = [["x", "z"], ["y", "z"], ["x", "y"]]
    if len(named) == 2:
        along_gravity = gravity.any() and named[0] == "xyz"[int(np.argmax(np.abs(gravity)))]
        pairs = [named[::-1] if along_gravity else named]
    about = ""
    if np.linalg.norm(shape.center) > FAR * shape.radii[0] > 0:  # drawn to scale, the ellipsoid would be a dot
        about = ", about its centre"
        exact = None if exact is None else replace(exact, center=np.zeros_like(exact.center))
        shape = replace(shape, center=np.zeros_like(shape.center))
    panels = [_at_tip(arm, pose, points, view, shape), *(_by_itself(shape, exact, across, up) for across, up in pairs)]
    return assemble([replace(panel, title=panel.title + about) for panel in panels], 2)


def _at_tip(arm: Arm, pose: Pose, points: Array, view: View, shape: Ellipsoid) -> Panel:
    c, edge = shape.shadow(view.matrix @ components(shape.rows, "xyz"))
    tip = view.matrix @ pose.tip
    extent = view.extent(points)
    shifted = bool(np.hypot(*c) > 1e-12)
    largest = max(float(np.abs(k * c[:, None] + edge).max()) for k in (0, 1))
    scale = 0.42 * extent / max(largest, 1e-300)  # m of the picture per unit

    def draw(axes: Axes) -> None:
        figures.draw_links(axes, view, pose, STEEL, 6, 2, 2)
        figures.draw_joints(axes, view, pose, STEEL, 6, 1.8, 3)
        _ellipse(axes, tip, scale * c, scale * edge, shifted)
        axes.plot(*tip, "o", ms=4.5, color=INK, zorder=6)
        _ruler(axes, view, scale, largest, shape.units[0])
        figures.draw_surroundings(axes, arm, view, triad=0.16 * extent)

    return Panel(f"{arm.name}: {shape.what} at the tip", draw, _key(shifted, None), (5.2, 4.2))


def _ellipse(axes: Axes, at: Array, shift: Array, edge: Array, shifted: bool) -> None:
    """An ellipse with its centre shifted by gravity, and its position without gravity."""
    if shifted:
        axes.plot(*(at[:, None] + edge), color=WITHOUT, lw=1.4, ls=(0, (4, 2)), zorder=4)
    x, y = (at + shift)[:, None] + edge
    axes.fill(x, y, color=WITH, alpha=0.14, lw=0, zorder=3.5)
    axes.plot(x, y, color=WITH, lw=1.7, zorder=5)


def _ruler(axes: Axes, view: View, scale: float, largest: float, unit: str) -> None:
    """A scale bar for accelerations."""
    with extra("plot", "a figure"):
        from matplotlib.lines import Line2D
        from matplotlib.offsetbox import AnchoredOffsetbox, AuxTransformBox, TextArea, VPacker

    power = 10.0 ** np.floor(np.log10(0.6 * largest))
    value = max(k * power for k in (1, 2, 5) if k * power <= 0.6 * largest)
    corner = "lower left" if view.scales else "lower right"
    bar = AuxTransformBox(axes.transData)
    bar.add_artist(Line2D([0, scale * value], [0, 0], color=INK, lw=1.6, solid_capstyle="butt"))
    label = TextArea(f"{value:g} {unit}", textprops={"fontsize": 8, "color": INK})
    box = VPacker(children=[bar, label], align="center", pad=0, sep=3)
    axes.add_artist(AnchoredOffsetbox(corner, child=box, frameon=False, pad=0.4, borderpad=0.3))


def _key(shifted: bool, exact: Polytope | None) -> tuple[tuple[str, str], ...]:
    key = [(WITH, "with gravity" if shifted else "ellipsoid")]
    key += [(WITHOUT, "without gravity")] if shifted else []
    key += [(EXACT, "exact, each motor within its limit")] if exact is not None else []
    return tuple(key)


def _by_itself(shape: Ellipsoid, exact: Polytope | None, across: str, up: str) -> Panel:
    """The projection of the ellipsoid onto two base axes, in its own unit; 0 is the tip at rest."""
    P = components(shape.rows, across + up)
    c, edge = shape.shadow(P)
    shifted = bool(np.linalg.norm(components(shape.rows, "xyz") @ shape.center) > 1e-12)

    def draw(axes: Axes) -> None:
        axes.axhline(0, color=SOFT, lw=0.7, zorder=1)
        axes.axvline(0, color=SOFT, lw=0.7, zorder=1)
        if exact is not None:
            corners = exact.shadow(P)
            closed = np.concatenate([corners, corners[:1]]).T
            axes.fill(*closed, color=EXACT, alpha=0.10, lw=0, zorder=1.5)
            axes.plot(*closed, color=EXACT, lw=1.2, zorder=2)
        _ellipse(axes, np.zeros(2), c, edge, shifted)
        if shifted and np.hypot(*c) > 0.02 * np.ptp(c[:, None] + edge):
            look: dict[str, Any] = {"arrowstyle": "-|>", "color": WITH, "lw": 1.1, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", xy=tuple(c), xytext=(0, 0), arrowprops=look, zorder=6)
        axes.plot(0, 0, "o", ms=4, color=INK, zorder=6)
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.07)
        unit = shape.units[0]
        axes.set_xlabel(f"{across} ({unit})", labelpad=3)
        axes.set_ylabel(f"{up} ({unit})", labelpad=5)

    return Panel(f"{shape.what} in {across} and {up}", draw, _key(shifted, exact), (5.2, 4.2))


# -- a motion ------------------------------------------------------------------------------------


def along_panels(study: Study, shapes: Ellipsoid) -> list[Panel]:
    """The ellipsoids at some poses of a motion, and their reach over time beside the acceleration of the motion."""
    pictures = [_on_the_way(study, shapes)] if sum(row in "xyz" for row in shapes.rows) >= 2 else []
    return [*pictures, _asked_and_allowed(study, shapes)]


def _on_the_way(study: Study, shapes: Ellipsoid) -> Panel:
    """The path of the tip with ellipsoids at some poses, their centres shifted by gravity."""
    arm, path = study.arm, study.tip[0]
    picked, poses, points = figures.poses_along(study)
    view = views(points, arm)[0]
    centers, edges = shapes.shadow(view.matrix @ components(shapes.rows, "xyz"))
    outlines = [centers[k][:, None] + edges[k] for k in picked]
    extent = view.extent(points)
    largest = max(float(np.abs(outline).max()) for outline in outlines)
    scale = 0.22 * extent / max(largest, 1e-300)  # m of the picture per unit

    def draw(axes: Axes) -> None:
        for k, pose in enumerate(poses):
            ends = k in (0, len(poses) - 1)
            figures.draw_links(axes, view, pose, STEEL if ends else FAINT, 3.5 if ends else 1.4, 1.0, 2 + ends)
        axes.plot(*(view.matrix @ path.T), color=PATH, lw=1.2, zorder=4)
        for k, outline in zip(picked, outlines, strict=True):
            x, y = (view.matrix @ path[k])[:, None] + scale * outline
            axes.fill(x, y, color=WITH, alpha=0.12, lw=0, zorder=4.5)
            axes.plot(x, y, color=WITH, lw=1.3, zorder=5)
            axes.plot(*(view.matrix @ path[k]), "o", ms=3, color=PATH, zorder=6)
        _ruler(axes, view, scale, largest, shapes.units[0])
        figures.draw_surroundings(axes, arm, view, triad=0.16 * extent)

    return Panel("Along the motion", draw, ((WITH, "ellipsoid"), (PATH, "path of the tip")), (5.2, 4.0))


def _asked_and_allowed(study: Study, shapes: Ellipsoid) -> Panel:
    """|a| of the tip, the reach of the ellipsoid in that direction, and its longest and shortest radius."""
    t = study.shown.t
    acceleration = study.tip[2] @ components(shapes.rows, "xyz")
    size = np.linalg.norm(acceleration, axis=-1)
    still = size <= 1e-9 * max(float(size.max(initial=0.0)), 1e-9)
    that_way = np.where(still[:, None], np.eye(acceleration.shape[1])[0], acceleration)
    allowed = np.where(still, np.nan, shapes.max_acceleration(that_way))

    def draw(axes: Axes) -> None:
        axes.fill_between(t, shapes.radii[:, -1], shapes.radii[:, 0], color=BETWEEN, lw=0)
        axes.plot(t, allowed, color=REACH, lw=1.5)
        axes.plot(t, size, color=INK, lw=1.5)
        axes.set_ylim(bottom=0)
        figures.time_axis(axes, t, study.events)

    words = ("acceleration of the motion", "reach of the ellipsoid in that direction", "its shortest to longest radius")
    key = tuple(zip((INK, REACH, BETWEEN), words, strict=True))
    return Panel(f"Acceleration of the tip ({shapes.units[0]})", draw, key, (5.2, 4.0))


# -- the workspace -------------------------------------------------------------------------------


def map_figure(workspace: WorkspaceMap) -> Figure:
    """The map as a picture, with the arm in the configuration of the largest value."""
    with extra("plot", "a figure"):
        import matplotlib

    width, height = workspace.across[-1] - workspace.across[0], workspace.up[-1] - workspace.up[0]
    tall = 5.4
    with matplotlib.rc_context({**STYLE, "axes.grid": False}):
        size = max(min(tall * width / height, 8.0) + 1.9, 4.8), tall + 0.8
        figure = figures.new_figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        low, high = (float(v) for v in np.nanpercentile(workspace.values, (2.0, 99.5)))
        if low < 0.3 * high:
            low = 0.0
        below, above = bool(np.nanmin(workspace.values) < low), bool(np.nanmax(workspace.values) > high)
        extend = "both" if below and above else "min" if below else "max" if above else "neither"
        values = np.ma.masked_invalid(workspace.values)
        look: dict[str, Any] = {"cmap": "viridis", "vmin": low, "vmax": high, "rasterized": True}
        mesh = axes.pcolormesh(workspace.across, workspace.up, values, **look)
        bar = figure.colorbar(mesh, ax=axes, pad=0.02, aspect=30, extend=extend, extendfrac=0.02)
        bar.outline.set_visible(False)
        bar.set_label(workspace.words, labelpad=6)
        _arm_at_best(axes, workspace)
        axes.set_aspect("equal")
        axes.set(xlim=(workspace.across[0], workspace.across[-1]), ylim=(workspace.up[0], workspace.up[-1]))
        axes.set(xlabel=workspace.axes[0], ylabel=workspace.axes[1])
        moved = "speeds" if workspace.quantity == "velocity-manipulability" else "torques"
        limits = f", {moved} relative to their limits" if workspace.limited else f", {moved} of unit size"
        if workspace.quantity == "gravity-load":
            limits = ""  # its title contains it
        words = f"{literal(workspace.arm.name)}\n{workspace.take} of {workspace.poses:,} configurations{limits}"
        axes.set_title(words, loc="left", fontweight="normal", fontsize=9.0, linespacing=1.35)
    return with_glyphs(figure)


def _arm_at_best(axes: Axes, workspace: WorkspaceMap) -> None:
    plane = map_plane(workspace.arm)
    _, q, _ = workspace.best
    (pose,) = skeleton(workspace.arm, q[None])
    for line in pose.lines:
        fine = np.concatenate([np.linspace(a, b, 30) for a, b in itertools.pairwise(line)])
        u, v = plane.place(fine)
        axes.plot(u, v, color="white", lw=4.5, solid_capstyle="round", alpha=0.9, zorder=3)
        axes.plot(u, v, color=INK, lw=2.2, solid_capstyle="round", zorder=4)
    joints = plane.place(np.concatenate([pose.turns, pose.slides]))
    axes.plot(*joints, "o", ms=4.5, mfc="white", mec=INK, mew=1.2, zorder=5)
    axes.plot(*plane.place(pose.tip[None]), "o", ms=6, color="#d1702a", mec="white", mew=1.0, zorder=6)
