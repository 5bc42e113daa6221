"""Figures of the capability of the tip: ellipsoids at one configuration, maps over the workspace."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.errors import DalembertError
from dalembert.robot.model.robot import Frame
from dalembert.views.report import arm_figures, figures
from dalembert.views.report.colours import INK, SOFT
from dalembert.views.report.figures import STYLE, Axes, Figure, Panel, assemble
from dalembert.views.report.skeleton import skeleton, views_of
from dalembert.views.report.study import Study
from dalembert.views.report.user_text import literal, with_glyphs
from dalembert.work.analysis.ellipsoid import Ellipsoid, Polytope, components
from dalembert.work.analysis.workspace import WorkspaceMap, map_plane

WITH, WITHOUT, EXACT = "#1f5fa8", "#d1702a", "#5b9f70"
FAR = 8.0  # radii between the centre of an ellipsoid and zero, beyond which it is drawn about its centre
ASKED, REACH, BETWEEN = "#d1702a", "#3d8f5a", "#c5d8ee"  # of the motion; of the ellipsoid in that direction; its radii


# -- one configuration ---------------------------------------------------------------------------


def ellipsoid_figure(shape: Ellipsoid, exact: Polytope | None = None) -> Figure:
    """See :meth:`Ellipsoid.plot`: the ellipsoid at the arm's tip, and separately, with and without gravity: S Fig. 7.15."""
    if shape.arm is None or shape.q is None:
        raise DalembertError(
            "this ellipsoid belongs to no arm and cannot be drawn; use one from a method such as arm.dynamic_manipulability(q)"
        )
    named = [row for row in shape.rows if row in "xyz"]
    if shape.center.ndim != 1 or len(named) < 2:
        raise DalembertError("a picture needs one configuration and two or three of the rows x, y, z")
    gravity = np.array(shape.arm.robot.gravity, float)
    pairs = [["x", "z"], ["y", "z"], ["x", "y"]]
    if len(named) == 2:
        along_gravity = gravity.any() and named[0] == "xyz"[int(np.argmax(np.abs(gravity)))]
        pairs = [named[::-1] if along_gravity else named]
    about = ""
    if np.linalg.norm(shape.center) > FAR * shape.radii[0] > 0:  # drawn to scale, the ellipsoid would be a dot
        about = ", about its centre"
        exact = None if exact is None else replace(exact, center=np.zeros_like(exact.center))
        shape = replace(shape, center=np.zeros_like(shape.center))
    panels = [at_tip(shape), *(_by_itself(shape, exact, across, up) for across, up in pairs)]
    return assemble([replace(panel, title=panel.title + about) for panel in panels], 2)


def at_tip(shape: Ellipsoid) -> Panel:
    """The ellipsoid at the tip of its arm, or at the link frame for which it was computed."""
    assert shape.arm is not None and shape.q is not None
    arm = shape.arm if shape.frame == "tip" else shape.arm.replace(tip=Frame(shape.frame, shape.frame))
    poses = skeleton(arm, shape.q.reshape(1, -1))
    view = views_of(arm, poses)[0]
    c, edge = shape.shadow(view.matrix @ components(shape.rows, "xyz"))
    shifted = bool(np.hypot(*c) > 1e-12)
    largest = max(float(np.abs(k * c[:, None] + edge).max()) for k in (0, 1))
    scale = 0.42 * view.extent(poses[0].points) / max(largest, 1e-300)  # m of the picture per unit

    def draw(axes: Axes) -> None:
        arm_figures.draw(axes, arm, poses, view)
        _ellipse(axes, view.matrix @ poses[0].tip, scale * c, scale * edge, shifted)

    return Panel(f"{arm.name}: {shape.what} at the tip", draw, _key(shifted, None), (5.2, 4.2))


def _ellipse(axes: Axes, at: Array, shift: Array, edge: Array, shifted: bool) -> None:
    """An ellipse with its centre shifted by gravity, and its position without gravity."""
    if shifted:
        axes.plot(*(at[:, None] + edge), color=WITHOUT, lw=1.4, ls=(0, (4, 2)), zorder=4)
    x, y = (at + shift)[:, None] + edge
    axes.fill(x, y, color=WITH, alpha=0.14, lw=0, zorder=3.5)
    axes.plot(x, y, color=WITH, lw=1.7, zorder=5)


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


def acceleration_panel(study: Study, shapes: Ellipsoid) -> Panel:
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
        axes.plot(t, size, color=ASKED, lw=1.5)
        axes.set_ylim(bottom=0)
        figures.time_axis(axes, t, study.events)

    words = ("acceleration of the motion", "reach of the ellipsoid in that direction", "its shortest to longest radius")
    key = tuple(zip((ASKED, REACH, BETWEEN), words, strict=True))
    return Panel(f"Acceleration of the tip ({shapes.units[0]})", draw, key, figures.WHOLE)


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
    joints = plane.place(np.concatenate([pose.seats, pose.pins]))
    axes.plot(*joints, "o", ms=4.5, mfc="white", mec=INK, mew=1.2, zorder=5)
    axes.plot(*plane.place(pose.tip[None]), "o", ms=6, color="#d1702a", mec="white", mew=1.0, zorder=6)
