"""The arm in one configuration, in several, or along a motion: ``arm.plot(q)``, and the arm of other figures."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.errors import DalembertError
from dalembert.views.report.colours import AXES, INK, SOFT, joint_colour
from dalembert.views.report.figures import Axes, Figure, Key, Panel, assemble, evenly
from dalembert.views.report.skeleton import Pose, Stroke, View, by_depth, plate, size_of, skeleton, strokes, views_of
from dalembert.work.trajectory.planning.limits import position_limits

GHOSTS = 7  # configurations drawn along a motion
MOST = 24  # largest number of given configurations
PATH = 400  # points of the tip's path
TIP, SHEET = INK, "#dfe4e9"


def resting(arm: Arm) -> Array:
    """The configuration in which an arm is shown by default: its home, moved within the joint limits."""
    return arm.home if arm.loops else np.clip(arm.home, *position_limits(arm))


def configurations(arm: Arm, q: Any) -> tuple[Array, Array | None]:
    """The configurations (N, n) to be drawn, the last one in full, and the points (M, 3) of the tip's path, if any."""
    if q is None:
        return resting(arm)[None], None
    if hasattr(q, "t") and hasattr(q, "q"):
        motion = arm.checked("q", q.q)
        if motion.ndim != 2:
            raise DalembertError(
                f"the motion's q has shape {motion.shape}, but a picture shows one motion, (N, {arm.n}); choose one, as in run.q[0]"
            )
        picked = np.interp(np.linspace(q.t[0], q.t[-1], GHOSTS), q.t, np.arange(len(q.t))).round().astype(int)
        return motion[np.unique(picked)], arm.pose(motion[evenly(len(motion), PATH)])[:, :3, 3]
    rows = arm.checked("q", q).reshape(-1, arm.n)
    if not 1 <= len(rows) <= MOST:
        raise DalembertError(f"q has {len(rows)} configurations; a picture shows from 1 to {MOST}")
    return np.asarray(rows, float), None


def arm_figure(arm: Arm, q: ArrayLike | Any | None = None) -> Figure:
    """See :meth:`Arm.plot`."""
    return assemble(arm_panels(arm, q, f"{arm.name}, "))


def arm_panels(arm: Arm, q: ArrayLike | Any | None, name: str = "") -> list[Panel]:
    """A panel for each view of the arm, with ``name`` before the title of the view."""
    rows, path = configurations(arm, q)
    poses = skeleton(arm, rows)
    key: list[Key] = [(joint_colour(i), joint) for i, joint in enumerate(arm.joint_names)]
    if path is not None:
        key.append((TIP, "path of the tip"))
    panels = []
    for view in views_of(arm, poses):
        title = f"{name}{view.name.lower() if name else view.name}".removesuffix(", ")
        panels.append(Panel(title, partial(draw, arm=arm, poses=poses, view=view, path=path), tuple(key), (5.2, 4.4)))
    return panels


def draw(axes: Axes, arm: Arm, poses: list[Pose], view: View, path: Array | None = None) -> None:
    """The last pose in full, earlier ones as ghosts, the tip's path, the plate at the base, and gravity."""
    size = size_of(arm, poses)
    for k, pose in enumerate(poses[:-1]):
        for line in pose.lines:
            share = 0.30 + 0.40 * k / max(len(poses) - 2, 1)
            axes.plot(*(view.matrix @ line.T), color="#9fb0c0", lw=3.0, alpha=share, zorder=2)
    if path is not None:
        axes.plot(*(view.matrix @ path.T), color=TIP, lw=1.2, ls=(0, (4, 1.5)), zorder=2.5)
    draw_strokes(axes, by_depth(strokes(arm, poses[-1], size), view), view)
    label_tip(axes, poses[-1], view, size)
    draw_surroundings(axes, arm, view, size)
    axes.margins(0.09)


def draw_surroundings(axes: Axes, arm: Arm, view: View, size: float) -> None:
    """The plate at the base, the direction of gravity, and axes with scales or the directions of the base's axes."""
    axes.fill(*(view.matrix @ plate(arm, size).T), facecolor=SHEET, edgecolor=SOFT, lw=1.6, joinstyle="round", zorder=1)
    _pull(axes, view.matrix @ np.array(arm.robot.gravity, float))
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel(view.across, labelpad=1)
    axes.set_ylabel(view.up, labelpad=1)
    if not view.scales:
        axes.set_axis_off()
        _triad(axes, view, np.array(arm.robot.base.translation, float), 0.16 * size)


def _pull(axes: Axes, g: Array) -> None:
    """An arrow for gravity in the corner, if it lies in the view."""
    size = float(np.hypot(*g))
    if size < 1e-9:
        return
    dx, dy = 30 * g / size
    axes.annotate(
        "g", xy=(0.95, 0.84), xytext=(-dx, -dy), xycoords="axes fraction", textcoords="offset points",
        arrowprops={"arrowstyle": "-|>", "color": SOFT, "shrinkA": 1, "shrinkB": 0}, ha="center", va="center",
        color=SOFT, annotation_clip=False,
    )  # fmt: skip


def _triad(axes: Axes, view: View, origin: Array, length: float) -> None:
    """The base's axes, for views without scales."""
    for k in range(3):
        way = length * np.eye(3)[k]
        (x0, y0), (x1, y1) = view.matrix @ origin, view.matrix @ (origin + way)
        axes.annotate("", xy=(x1, y1), xytext=(x0, y0), arrowprops={"arrowstyle": "->", "color": AXES[k], "lw": 1.1})
        x, y = view.matrix @ (origin + 1.15 * way)
        axes.text(x, y, "xyz"[k], color=AXES[k], ha="center", va="center", fontsize=8)


def draw_strokes(axes: Axes, drawn: list[Stroke], view: View) -> None:
    """The strokes in painting order, each with a light outline."""
    for k, stroke in enumerate(drawn):
        x, y = view.matrix @ stroke.ends.T
        look: dict[str, Any] = {"solid_capstyle": "round" if stroke.round else "butt", "zorder": 3 + k / len(drawn)}
        if np.hypot(x[1] - x[0], y[1] - y[0]) <= 1e-3 * np.linalg.norm(stroke.ends[1] - stroke.ends[0]):  # end on
            look |= {"marker": "o" if stroke.round else "s", "ms": 1.25 * stroke.width, "mew": 1.2, "mec": "white"}
            axes.plot(x[:1], y[:1], color=stroke.colour, **look)
            continue
        if stroke.outlined:
            axes.plot(x, y, color="white", lw=stroke.width + 1.8, **look)
        axes.plot(x, y, color=stroke.colour, lw=stroke.width, **look)


def label_tip(axes: Axes, pose: Pose, view: View, size: float) -> None:
    """Letters at the tip's axes, if these can be distinguished."""
    for letter, colour, way in zip("xyz", AXES, pose.tip_axes.T, strict=True):
        end = view.matrix @ way
        if np.hypot(*end) > 0.35:
            x, y = view.matrix @ (pose.tip + 0.145 * size * way)
            axes.text(x, y, letter, color=colour, fontsize=8, ha="center", va="center", zorder=6)
