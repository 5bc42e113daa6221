"""The figures of a report. Each function takes a :class:`Study` and returns a matplotlib Figure.

A figure consists of panels; the page shows every panel separately, so that it can be read on a narrow
screen, and the functions here arrange them side by side. No window is opened and no backend is selected.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.views.report.colours import INK, RED, SOFT, joint_colour
from dalembert.views.report.skeleton import Pose, View, skeleton, views
from dalembert.views.report.study import Study
from dalembert.views.report.user_text import literal, shortened, visible, with_glyphs
from dalembert.work.analysis.negligible_terms import Omission, Omissions
from dalembert.work.sizing.sizing import UNITS
from dalembert.work.trajectory.planning.events import Event, PayloadEvent, WrenchEvent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Key = tuple[str, str]  # an entry of a legend: (colour, word)
Curve = tuple[str, str, Array]  # (colour, word, values)

AXES = ("#b0413e", "#3d8f5a", "#1f5fa8")  # x, y, z
CAUSES = {
    "inertia": ("#2f67ad", "inertia of the links"),
    "rotor": ("#93b9e3", "inertia of the spinning rotors"),
    "centrifugal": ("#e07b2a", "centrifugal"),
    "coriolis": ("#f3c24f", "Coriolis"),
    "gravity": ("#5b9f70", "gravity"),
    "viscous": ("#8e62a8", "viscous friction"),
    "coulomb": ("#c8a8d8", "Coulomb friction"),
    "other": ("#c2508a", "springs and further friction"),
    "contact": ("#bb4a3d", "force at the tip"),
    "base": ("#6f7d8a", "motion of the base"),
}
SPLIT = {
    "D_rot": ("#2f67ad", "rotation, due to accelerations"),
    "D_tran": ("#93b9e3", "translation, due to accelerations"),
    "h_rot": ("#e07b2a", "rotation, due to velocities"),
    "h_tran": ("#f3c24f", "translation, due to velocities"),
}
EVENTS = {PayloadEvent: ("#b8860b", "payload held"), WrenchEvent: ("#0f8a8a", "wrench at the tip")}
STYLE: Any = {
    "font.size": 9.0,
    "font.family": "DejaVu Sans",
    "text.usetex": False,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 7.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "axes.formatter.limits": (-4, 5),
    "grid.color": "#e4e8ec",
    "grid.linewidth": 0.7,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "white",
    "svg.fonttype": "none",
}


@dataclass(frozen=True)
class Panel:
    """One set of axes: its title, its drawing function, and its legend."""

    title: str
    draw: Callable[[Any], None]
    key: tuple[Key, ...] = ()
    size: tuple[float, float] = (5.2, 2.7)  # inches
    foot: float = 0.42  # inches below the axes
    left: float = 0.62  # inches beside them


PAGE_DPI = 80  # pixels of a notebook page per inch of a figure
HALF, THIRD, WHOLE = (5.2, 2.7), (4.0, 2.45), (10.6, 3.2)  # inches: two, three and one panel per row


def new_figure(**options: Any) -> Figure:
    """An empty figure that a notebook shows as a picture, whether or not pyplot has been imported."""
    with extra("plot", "a figure"):
        from matplotlib.figure import Figure

    figure = Figure(**options)
    figure._repr_png_ = partial(_notebook_png, figure)  # type: ignore[attr-defined]
    return figure


def _notebook_png(figure: Figure) -> tuple[bytes, dict[str, int]]:
    """The figure as PNG with two pixels per pixel of the page, and its size on the page."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=2 * PAGE_DPI)
    width, height = (round(PAGE_DPI * inches) for inches in figure.get_size_inches())
    return file.getvalue(), {"width": width, "height": height}


def alone(panel: Panel) -> Figure:
    """The panel by itself, without its legend; its axes are aligned with those of its neighbours."""
    with extra("plot", "a figure"):
        import matplotlib

    width, height = panel.size
    with matplotlib.rc_context(STYLE):
        figure = new_figure(figsize=panel.size)
        top = 0.30 if panel.title else 0.08
        figure.subplots_adjust(panel.left / width, panel.foot / height, 1 - 0.2 / width, 1 - top / height)
        axes = figure.add_subplot()
        panel.draw(axes)
        if panel.title:
            axes.set_title(literal(panel.title))
    return figure


def assemble(panels: Sequence[Panel], columns: int = 2) -> Figure:
    """The panels side by side in one figure, with one legend for all."""
    with extra("plot", "a figure"):
        import matplotlib
        from matplotlib.lines import Line2D

    columns = min(columns, len(panels))
    lines = -(-len(panels) // columns)
    width, height = panels[0].size
    key = dict.fromkeys(pair for panel in panels for pair in panel.key)
    room = int(14 * width * columns) // (6 + max((len(shortened(visible(word))) for _, word in key), default=0))
    across = max(1, min(len(key), 4 * columns, room))
    more = 0.19 * max(0, -(-len(key) // across) - 2)  # inches, for a legend of more than two lines
    with matplotlib.rc_context(STYLE):
        figure = new_figure(figsize=(width * columns, height * lines + more), layout="constrained")
        for k, panel in enumerate(panels, 1):
            axes = figure.add_subplot(lines, columns, k)
            panel.draw(axes)
            axes.set_title(literal(panel.title))
        if key:
            # a label that begins with "_" is ignored by matplotlib, so the texts are set afterwards
            handles = [Line2D([], [], color=colour, lw=3, label="word") for colour, _ in key]
            legend = figure.legend(handles=handles, loc="outside upper left", ncols=across)
            for piece, (_, word) in zip(legend.get_texts(), key, strict=True):
                piece.set_text(literal(word))
    return with_glyphs(figure)


# -- figures -------------------------------------------------------------------------------------


def draw_arm(study: Study) -> Figure:
    """The arm in its start and end pose, and the path of its tip."""
    return assemble(arm_panels(study))


def motion_figure(study: Study) -> Figure:
    """Positions, velocities, accelerations and torques of the joints: S Figs 7.5, 7.7, 7.10."""
    return assemble([*motion_panels(study), *_by_joint(study, ("Torque", "Force"), study.shown_torque, "torque")])


def torque_figure(study: Study) -> Figure:
    """The torque of every joint with its limits."""
    return assemble(torque_panels(study))


def contribution_figures(study: Study) -> list[Figure]:
    """Where the torque comes from: stacked by cause; and for small arms every term: S Figs 7.6, 7.8, 7.11."""
    by_cause = [assemble(stacked_panels(study))]
    return [*by_cause, assemble(pair_panels(study), 3)] if study.arm.n <= 3 else by_cause


def tip_figure(study: Study) -> Figure:
    """Position, velocity and acceleration of the tip: S Fig. 7.9."""
    return assemble(tip_panels(study), 3)


def scaling_figure(study: Study) -> Figure:
    """The torques of the motion as given, and of the scaled motions that reach the limits."""
    return assemble(scaling_panels(study))


def omission_figure(studies: Omissions | Mapping[str, Omissions]) -> Figure:
    """Negligible terms along a motion, or along several by their titles: errors, and saved operations."""
    titled = studies if isinstance(studies, Mapping) else {"": studies}
    return assemble([omission_panel(study, title if len(titled) > 1 else "") for title, study in titled.items()], 1)


# -- panels --------------------------------------------------------------------------------------


def motion_panels(study: Study) -> list[Panel]:
    """Positions, velocities and accelerations; prismatic joints in separate panels."""
    at = study.shown
    shown = (("Position", at.q, "position"), ("Velocity", at.qd, "speed"), ("Acceleration", at.qdd, "acceleration"))
    return [panel for name, x, what in shown for panel in _by_joint(study, (name, name), x, what)]


def _by_joint(study: Study, names: tuple[str, str], x: Array, what: str) -> list[Panel]:
    """One panel for revolute joints and one for prismatic joints, with one line per joint."""
    curves: tuple[list[Curve], list[Curve]] = [], []
    for i, joint in enumerate(study.arm.robot.moving_joints):
        curves[joint.type == "prismatic"].append((joint_colour(i), joint.name, x[:, i]))
    titles = [f"{name} ({unit})" for name, unit in zip(names, UNITS[what], strict=True)]
    same = 1e-6 * float(np.ptp(x))
    return [_together(study, title, some, same) for title, some in zip(titles, curves, strict=True) if some]


def _together(study: Study, title: str, curves: Sequence[Curve], same: float = 0.0) -> Panel:
    """Curves over the time of a motion."""
    return over_time(title, study.shown.t, curves, study.events, THIRD, same)


def over_time(
    title: str, t: Array, curves: Sequence[Curve], events: Sequence[Event], size: tuple[float, float], same: float
) -> Panel:
    """Curves over time, with events shaded; a curve that coincides with an earlier one, to within ``same``, is dashed."""
    few = rows_of(len(t), 2000)

    def draw(axes: Axes) -> None:
        for k, (colour, word, y) in enumerate(curves):
            covers = any(np.allclose(y, below, rtol=0, atol=same) for _, _, below in curves[:k])
            axes.plot(t[few], y[few], color=colour, ls=(0, (4, 4)) if covers else "-", label=literal(word))
        time_axis(axes, t, events)

    return Panel(title, draw, tuple((colour, word) for colour, word, _ in curves), size)


def _each_joint(study: Study, draw: Callable[..., None], key: tuple[Key, ...] = ()) -> list[Panel]:
    """A panel for each joint i, drawn by ``draw(axes, i=i)``."""
    size = HALF if study.arm.n <= 4 else THIRD
    joints = zip(study.arm.joint_names, study.sizing.torque.units, strict=True)
    return [Panel(f"{name} ({unit})", partial(draw, i=i), key, size) for i, (name, unit) in enumerate(joints)]


def torque_panels(study: Study) -> list[Panel]:
    """For each joint the torque, with its limits if they are close enough to be visible."""

    def draw(axes: Axes, i: int) -> None:
        axes.plot(study.shown.t, study.shown_torque[:, i], color=joint_colour(i))
        _limits(axes, study.sizing.torque.limit[i], study.shown_torque[:, i], study.arm.joint_names[i])
        time_axis(axes, study.shown.t, study.events)

    return _each_joint(study, draw)


def share_panel(study: Study) -> Panel:
    """All torques relative to their limits."""
    limit = study.sizing.torque.limit
    known = [i for i in range(study.arm.n) if limit[i] > 0]

    def draw(axes: Axes) -> None:
        for i in known:
            axes.plot(study.shown.t, 100 * study.shown_torque[:, i] / limit[i], color=joint_colour(i))
        most = max(100.0, *(100 * study.sizing.torque.used[known]))
        axes.set_ylim(-1.08 * most, 1.08 * most)
        for sign in (-1, 1):
            axes.axhline(sign * 100, color=RED, lw=1.0, ls=(0, (5, 3)))
            axes.axhspan(sign * 100, sign * 10 * most, color=RED, alpha=0.06, lw=0)
        axes.set_yticks([-100, -50, 0, 50, 100] if most < 200 else axes.get_yticks().tolist())
        axes.set_ylim(-1.08 * most, 1.08 * most)
        time_axis(axes, study.shown.t, study.events)

    key = tuple((joint_colour(i), study.arm.joint_names[i]) for i in known)
    return Panel("Torque relative to its limit (%)", draw, key, WHOLE)


def stacked_panels(study: Study) -> list[Panel]:
    """For each joint the torque by cause: positive contributions stacked above zero, the others below."""
    parts = [(*CAUSES[name], x) for name, x in study.causes.items()]
    return _stacked(study, parts, (INK, "torque", study.shown_torque))


def motion_split_panels(study: Study) -> list[Panel]:
    """For each joint the torques of the links' rotation and translation, D q̈ and h of M (4.1), stacked."""
    whole = sum(study.split.values(), np.zeros_like(study.shown.q))
    noise = 1e-9 * np.abs(whole).max(initial=0.0)
    parts = [(*SPLIT[name], x) for name, x in study.split.items() if np.abs(x).max(initial=0.0) > noise]
    return _stacked(study, parts, (INK, "sum", whole))


def _stacked(study: Study, parts: Sequence[Curve], whole: Curve) -> list[Panel]:
    """For each joint the parts (N, n), stacked above and below zero, and their sum as a line."""
    few = rows_of(len(study.shown.t), 600)  # areas are not simplified like lines
    t = study.shown.t[few]

    def draw(axes: Axes, i: int) -> None:
        above, below = np.zeros(len(t)), np.zeros(len(t))
        for colour, _, x in parts:
            up, down = np.maximum(x[few, i], 0.0), np.minimum(x[few, i], 0.0)
            for base, part in ((above, up), (below, down)):
                if part.any():
                    axes.fill_between(t, base, base + part, color=colour, lw=0)
            above, below = above + up, below + down
        axes.plot(study.shown.t, whole[2][:, i], color="white", lw=2.6)
        axes.plot(study.shown.t, whole[2][:, i], color=whole[0], lw=1.3)
        time_axis(axes, study.shown.t, study.events)

    return _each_joint(study, draw, tuple((colour, word) for colour, word, _ in (*parts, whole)))


def pair_panels(study: Study) -> list[Panel]:
    """Every term separately: b_ij q̈_j, h_ijj q̇_j², 2 h_ijk q̇_j q̇_k and g_i, as in S Figs 7.6, 7.8, 7.11."""
    terms, n, names = study.terms, study.arm.n, study.arm.joint_names
    accelerating = terms.inertia + terms.rotor
    words = {
        "gravity": "gravity",
        **dict.fromkeys(("viscous", "coulomb", "other"), "friction"),
        "contact": "contact",
        "base": "base",
    }
    present = dict.fromkeys(word for name, word in words.items() if name in study.causes)
    others = " and ".join(present).capitalize() or "Gravity"
    out = []
    for i in range(n):
        of_joint = f"at {names[i]} ({study.sizing.torque.units[i]})"
        inertia = [(joint_colour(j), f"by {names[j]}", accelerating[:, i, j]) for j in range(n)]
        out.append(_lines(study, f"Inertia {of_joint}", inertia))
        squares = [(joint_colour(j), f"centrifugal, {names[j]}", terms.centrifugal[:, i, j]) for j in range(n)]
        products = [
            (joint_colour(n + j + k - 1), f"Coriolis, {names[j]} and {names[k]}", terms.coriolis[:, i, j, k])
            for j, k in itertools.combinations(range(n), 2)
        ]
        out.append(_lines(study, f"Velocities {of_joint}", [*squares, *products]))
        rest = [(*CAUSES[name], getattr(terms, name)[:, i]) for name in words]
        out.append(_lines(study, f"{others} {of_joint}", [line for line in rest if line[2].any()]))
    return out


def _lines(study: Study, title: str, lines: Sequence[Curve]) -> Panel:
    """Lines with a legend inside; if all are zero throughout, the panel says so."""
    noise = 1e-9 * np.abs(study.shown_torque).max(initial=0.0)
    moving = [line for line in lines if np.abs(line[2]).max(initial=0.0) > noise]

    def draw(axes: Axes) -> None:
        for colour, word, y in moving:
            axes.plot(study.shown.t, y, color=colour, label=literal(word))
        if moving:
            columns = 2 if max(len(word) for _, word, _ in moving) <= 18 else 1
            headroom(axes, -(-len(moving) // columns))
            axes.legend(loc="upper left", ncols=columns, borderaxespad=0.1, columnspacing=1.2, handlelength=1.2)
        else:
            axes.set_ylim(-1, 1)
            axes.text(0.5, 0.56, "zero throughout", transform=axes.transAxes, ha="center", va="bottom", color=SOFT)
            axes.axhline(0, color=SOFT)
        time_axis(axes, study.shown.t, study.events)

    return Panel(title, draw, (), THIRD)


def tip_panels(study: Study) -> list[Panel]:
    """Position, velocity and acceleration of the tip along the base axes; components that stay zero are omitted."""
    moving = [
        np.abs(x).max(axis=0) > 1e-9 * max(np.abs(x).max(initial=0.0), least)
        for x, least in zip(study.tip, (1e-6, 1e-9, 1e-9), strict=True)
    ]
    seen = np.flatnonzero(np.any(moving, axis=0)).tolist()
    titles = ("Tip: position (m)", "Tip: velocity (m/s)", "Tip: acceleration (m/s²)")
    return [_together(study, title, _along_axes(x, seen)) for title, x in zip(titles, study.tip, strict=True)]


def reaction_panels(study: Study) -> list[Panel]:
    """The force at each loop closure, along the base axes; components that stay zero are omitted."""
    out = []
    noise = 1e-9 * max(np.abs(study.reactions[..., :3]).max(initial=0.0), 1e-9)
    for index, loop in enumerate(study.arm.loops):
        force = study.reactions[:, index, :3]
        seen = np.flatnonzero(np.abs(force).max(axis=0, initial=0.0) > noise).tolist()
        curves = [*_along_axes(force, seen), (INK, "size", np.linalg.norm(force, axis=-1))]
        out.append(_together(study, f"Force at {loop.name} (N)", curves))
    return out


def _along_axes(x: Array, seen: Sequence[int]) -> list[Curve]:
    """The components of vectors x (N, 3) along the base axes that are shown."""
    return [(AXES[k], "xyz"[k], x[:, k]) for k in seen]


SCALED = {"as given": SOFT, "uniformly scaled": "#1f5fa8", "time-optimal": "#d1702a"}


def scaling_panels(study: Study) -> list[Panel]:
    """For each joint the torque of the motion and of its scaled versions, over time."""
    paces = [("as given", study), *((v.name, v.study) for v in (study.evenly, study.fastest) if v.study is not None)]

    def draw(axes: Axes, i: int) -> None:
        for name, at in paces:
            axes.plot(at.shown.t - at.shown.t[0], at.shown_torque[:, i], color=SCALED[name], lw=1.4)
        every = np.concatenate([at.shown_torque[:, i] for _, at in paces])
        _limits(axes, study.sizing.torque.limit[i], every, study.arm.joint_names[i])
        axes.set_xlim(0, max(at.sizing.duration for _, at in paces) or 1.0)
        axes.set_xlabel("time (s)", labelpad=1)

    return _each_joint(study, draw, tuple((SCALED[name], name) for name, _ in paces))


LEAST, MOST = 1e-4, 3.0  # range of the relative errors that are drawn: 0.01 % to 300 %


def omission_panel(omissions: Omissions, title: str = "") -> Panel:
    """For each omission one bar per joint with its error, on a logarithmic scale; below it the saved operations."""
    n, rows = len(omissions.joints), omissions.rows
    width = 0.8 / n

    def draw(axes: Axes) -> None:
        axes.set_yscale("log")
        axes.set_ylim(LEAST, MOST)
        axes.set_yticks([1e-4, 1e-3, 1e-2, 1e-1, 1.0], labels=["0.01 %", "0.1 %", "1 %", "10 %", "100 %"])
        axes.set_yticks([], minor=True)
        for i in range(n):
            at = np.arange(len(rows)) + (i - (n - 1) / 2) * width
            share = np.array([row.share[i] for row in rows])
            axes.bar(at, np.clip(share, LEAST, MOST), 0.86 * width, color=joint_colour(i))
        for k, row in enumerate(rows):
            if not row.share.any():
                axes.text(k, 1.3 * LEAST, "no such\nterms", ha="center", va="bottom", color=SOFT, fontsize=8)
        axes.axhline(0.01, color=RED, lw=1.0, ls=(0, (5, 3)))
        names = ["\n+ ".join(row.drop) + f"\n{_operations(omissions, row)}" for row in rows]
        axes.set_xticks(range(len(rows)), labels=names, fontsize=8)
        axes.tick_params(axis="x", length=0)
        axes.set_xlim(-0.6, len(rows) - 0.4)
        axes.grid(axis="x", visible=False)

    key = tuple((joint_colour(i), joint) for i, joint in enumerate(omissions.joints))
    head = title or f"complete model: {omissions.operations.total} operations"
    return Panel(f"RMS error / RMS torque ({head})", draw, key, (10.6, 3.6), 0.85)


def wide_panels(
    title: str, rows: Sequence[Any] | Array, draw: Callable[..., None], key: tuple[Key, ...], across: int = 40
) -> list[Panel]:
    """Panels below each other, of at most so many rows each, drawn by ``draw(axes, some=rows)``; the first has the title."""
    return [
        Panel("" if start else title, partial(draw, some=rows[start : start + across]), key, WHOLE, 0.6)
        for start in range(0, len(rows), across)
    ]


def _operations(omissions: Omissions, row: Omission) -> str:
    saved = 100 * (omissions.saved(row) or 0.0)
    return f"{row.operations.total} operations" + (f"\n({-saved:+.0f} %)".replace("-", "−") if round(saved) else "")


# -- the arm -------------------------------------------------------------------------------------


def poses_along(study: Study) -> tuple[NDArray[np.intp], list[Pose], Array]:
    """Some of the drawn samples, the arm at each, and all points (N, 3) of these poses, the tip's path and the base."""
    picked = evenly(len(study.shown.t), 7)
    poses = skeleton(study.arm, study.shown.q[picked])
    lines = [line.reshape(-1, 3) for pose in poses for line in pose.lines]
    return picked, poses, np.concatenate([*lines, study.tip[0], [study.arm.robot.base.translation]])


def arm_panels(study: Study) -> list[Panel]:
    """The arm from its most informative direction: one view of a planar arm, two views of others."""
    _, poses, everything = poses_along(study)
    key = (("#b9c3cd", "start"), ("#dde3e8", "in between"), ("#1f5fa8", "end"), ("#d1702a", "path of the tip"))

    def draw(axes: Axes, view: View) -> None:
        extent = view.extent(everything)
        for k, pose in enumerate(poses):
            first, last = k == 0, k == len(poses) - 1
            colour = "#1f5fa8" if last else "#b9c3cd" if first else "#dde3e8"
            width, rail = (5.0, 2.0) if first or last else (1.6, 1.0)
            draw_links(axes, view, pose, colour, width, rail, 2 + 2 * last + first)
            if first or last:
                draw_joints(axes, view, pose, colour, 5.5, 1.6, 4 + 2 * last)
                axes.plot(*(view.matrix @ pose.tip), "o", ms=4.0, color="#d1702a", zorder=8)
        axes.plot(*(view.matrix @ study.tip[0].T), color="#d1702a", lw=1.2, zorder=7)
        draw_surroundings(axes, study.arm, view, base_size=11, margin=0.08, triad=0.2 * extent)
        if extent < 1e-2:
            x, _ = view.matrix @ study.arm.robot.base.translation
            axes.set_xlim(x - 0.5, x + 0.5)

    seen = views(everything, study.arm)
    return [Panel(view.name, partial(draw, view=view), key, (5.2, 4.0)) for view in seen]


def draw_links(axes: Axes, view: View, pose: Pose, colour: str, width: float, rail: float, zorder: float) -> None:
    """The links as lines of this width, and the extended rails of prismatic joints as dashed lines."""
    for line in pose.lines:
        axes.plot(*(view.matrix @ line.T), color=colour, lw=width, zorder=zorder)
    for line in pose.rails:
        axes.plot(*(view.matrix @ line.T), color=colour, lw=rail, ls=(0, (2, 1.5)), zorder=2)


def draw_joints(axes: Axes, view: View, pose: Pose, colour: str, size: float, edge: float, zorder: float) -> None:
    """The joints: round if revolute, square if prismatic."""
    for points, marker in ((pose.turns, "o"), (pose.slides, "s")):
        if len(points):
            axes.plot(*(view.matrix @ points.T), marker, ms=size, mfc="white", mec=colour, mew=edge, zorder=zorder)


def draw_surroundings(
    axes: Axes, arm: Arm, view: View, *, triad: float, base_size: float = 12.0, margin: float = 0.1
) -> None:
    """The base, the direction of gravity, and axes with scales or a ``triad``."""
    base = np.array(arm.robot.base.translation, float)
    axes.plot(*(view.matrix @ base), "^", ms=base_size, color=INK, zorder=1.5)
    _pull(axes, view.matrix @ np.array(arm.robot.gravity, float))
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(margin)
    axes.set_xlabel(view.across, labelpad=1)
    axes.set_ylabel(view.up, labelpad=1)
    if not view.scales:
        axes.set_axis_off()
        _triad(axes, view, base, triad)


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


# -- helpers --------------------------------------------------------------------------------


def draw_dots(axes: Axes, x: Array, y: Array, colour: str, size: float = 2.0) -> None:
    """Dots (diameter in points) at the positions x, y (N,): a single path for any number of them."""
    with extra("plot", "a figure"):
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

    at = np.column_stack([x, y])
    path = Path(np.repeat(at, 2, axis=0), np.tile([Path.MOVETO, Path.LINETO], len(at)))
    path.should_simplify = False
    axes.add_patch(PathPatch(path, fc="none", ec=colour, lw=size, capstyle="round"))
    axes.update_datalim(at)
    axes.autoscale_view()


def evenly(count: int, most: int) -> NDArray[np.intp]:
    """At most so many evenly spaced rows of ``count``, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.intp))


def rows_of(count: int, most: int) -> Any:
    """Rows that are drawn: all, or at most so many evenly spaced ones."""
    return slice(None) if count <= most else evenly(count, most)


def time_axis(axes: Axes, t: Array, events: Sequence[Event]) -> None:
    """The time axis of a motion, its events shaded, and a line at zero if the curves cross it."""
    for event in events:
        axes.axvspan(event.start, event.end, color=EVENTS[type(event)][0], alpha=0.13, lw=0, zorder=0.3)
    axes.set_xlim(t[0], t[-1] if t[-1] > t[0] else t[0] + 1.0)
    axes.set_xlabel("time (s)", labelpad=1)
    low, high = axes.get_ylim()
    if high - low < 1e-9 * max(abs(low), abs(high), 1e-6):
        axes.set_ylim(low - 1.0, high + 1.0)
    if axes.get_ylim()[0] < 0 < axes.get_ylim()[1]:
        axes.axhline(0, color=SOFT, lw=0.7, zorder=0.9)


def headroom(axes: Axes, lines: int) -> None:
    """Room above the curves for a legend of this many lines."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + (high - low) * (0.04 + 0.16 * lines))


def _limits(axes: Axes, limit: float, y: Array, joint: str) -> None:
    """± limit as dashed lines if the curve comes close, otherwise as text: beside the joint's name, or below it if both
    are too long for one line."""
    if np.isnan(limit):
        axes.margins(y=0.12)
        return
    low, high = float(y.min()), float(y.max())
    peak = max(-low, high)
    near = peak > 0.3 * limit
    for sign, extreme in ((1, high), (-1, -low)):
        if near and extreme > 0.3 * limit:
            axes.axhline(sign * limit, color=RED, lw=1.0, ls=(0, (5, 3)))
            if extreme > limit:
                axes.axhspan(sign * limit, sign * 1.1 * extreme, color=RED, alpha=0.07, lw=0)
    axes.margins(y=0.12)
    if not near:
        words = f"limit ±{limit:g}, off the scale"
        points = 72 * axes.bbox.width / axes.figure.dpi
        beside = 6.2 * (len(shortened(joint)) + 6) + 4.4 * len(words) < points
        if not beside:
            headroom(axes, 1)
        axes.text(1.0, 1.03 if beside else 0.98, words, transform=axes.transAxes, ha="right",
                  va="bottom" if beside else "top", color=RED, fontsize=8)  # fmt: skip
