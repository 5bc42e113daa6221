"""The figures of a report. Each function takes a :class:`Study` and returns a matplotlib Figure.

A figure is made of panels; the page shows every panel by itself, so that it can be read on a narrow
screen, and the functions here put them side by side. No window is opened and no backend chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.report.skeleton import View, skeleton, views
from dalembert.report.study import Study
from dalembert.report.words import literal, shortened, visible, with_glyphs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.floating[Any]]
Key = tuple[str, str]  # what a colour means: (colour, word)

INK, SOFT, RED = "#1c2733", "#8b97a3", "#b3261e"
JOINTS = ("#1f5fa8", "#d1702a", "#3d8f5a", "#8a58a5", "#b0413e", "#3b9ba3", "#8c6d31", "#d4679b", "#5b6770", "#7a9a01")
AXES = ("#b0413e", "#3d8f5a", "#1f5fa8")  # x, y, z
CAUSES = {
    "inertia": ("#2f67ad", "inertia of the links"),
    "rotor": ("#93b9e3", "inertia of the rotors' spin"),
    "centrifugal": ("#e07b2a", "centrifugal"),
    "coriolis": ("#f3c24f", "Coriolis"),
    "gravity": ("#5b9f70", "gravity"),
    "viscous": ("#8e62a8", "viscous friction"),
    "coulomb": ("#c8a8d8", "Coulomb friction"),
    "contact": ("#bb4a3d", "force at the tip"),
}
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
    """One set of axes: its title, what draws it, and what its colours mean."""

    title: str
    draw: Callable[[Any], None]
    key: tuple[Key, ...] = ()
    size: tuple[float, float] = (5.2, 2.7)  # inches
    foot: float = 0.42  # inches below the axes


HALF, THIRD, WHOLE = (5.2, 2.7), (4.0, 2.45), (10.6, 3.2)  # inches: panels two and three to a line, and one


def alone(panel: Panel) -> Figure:
    """The panel by itself, without its key; its axes begin where those of its neighbours begin."""
    import matplotlib
    from matplotlib.figure import Figure

    width, height = panel.size
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=panel.size)
        top = 0.30 if panel.title else 0.08
        figure.subplots_adjust(0.62 / width, panel.foot / height, 1 - 0.2 / width, 1 - top / height)
        axes = figure.add_subplot()
        panel.draw(axes)
        if panel.title:
            axes.set_title(literal(panel.title))
    return figure


def assemble(panels: Sequence[Panel], columns: int = 2) -> Figure:
    """The panels side by side in one figure, with one legend for all."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    columns = min(columns, len(panels))
    lines = -(-len(panels) // columns)
    width, height = panels[0].size
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width * columns, height * lines), layout="constrained")
        for k, panel in enumerate(panels, 1):
            axes = figure.add_subplot(lines, columns, k)
            panel.draw(axes)
            axes.set_title(literal(panel.title))
        key = dict.fromkeys(pair for panel in panels for pair in panel.key)
        if key:
            # a label that begins with "_" means none to matplotlib, so that the words are set afterwards
            handles = [Line2D([], [], color=colour, lw=3, label="word") for colour, _ in key]
            room = int(14 * width * columns) // (6 + max(len(shortened(visible(word))) for _, word in key))
            legend = figure.legend(
                handles=handles, loc="outside upper left", ncols=max(1, min(len(handles), 4 * columns, room))
            )
            for piece, (_, word) in zip(legend.get_texts(), key, strict=True):
                piece.set_text(literal(word))
    return with_glyphs(figure)


# -- figures -------------------------------------------------------------------------------------


def draw_arm(study: Study) -> Figure:
    """The arm in its start and its end pose, and the path of its tip."""
    return assemble(arm_panels(study))


def motion_figure(study: Study) -> Figure:
    """Positions, velocities, accelerations and torques of the joints: S Figs 7.5, 7.7, 7.10."""
    return assemble([*motion_panels(study), *_torques_together(study)])


def torque_figure(study: Study) -> Figure:
    """The torque of every joint between its limits."""
    return assemble(torque_panels(study))


def contribution_figures(study: Study) -> list[Figure]:
    """Where the torque comes from: stacked by cause; and for small arms every term: S Figs 7.6, 7.8, 7.11."""
    made = [assemble(stacked_panels(study))]
    return [*made, assemble(pair_panels(study), 3)] if study.arm.n <= 3 else made


def tip_figure(study: Study) -> Figure:
    """Position, velocity and acceleration of the tip: S Fig. 7.9."""
    return assemble(tip_panels(study), 3)


def scaling_figure(study: Study) -> Figure:
    """The torques at this pace, and at the paces that use the limits up."""
    return assemble(scaling_panels(study))


# -- panels --------------------------------------------------------------------------------------


def motion_panels(study: Study) -> list[Panel]:
    """Positions, velocities and accelerations; joints that slide in panels of their own."""
    out = []
    for name, x, units in (
        ("Position", study.shown.q, ("rad", "m")),
        ("Velocity", study.shown.qd, ("rad/s", "m/s")),
        ("Acceleration", study.shown.qdd, ("rad/s²", "m/s²")),
    ):
        out += _by_joint(study, name, x, units)
    return out


def _torques_together(study: Study) -> list[Panel]:
    return _by_joint(study, "Torque", study.shown_torque, ("N m", "N"), ("Torque", "Force"))


def _by_joint(
    study: Study, name: str, x: Array, units: tuple[str, str], names: tuple[str, str] | None = None
) -> list[Panel]:
    """One panel for the joints that turn and one for those that slide, a line for each joint."""
    joints = study.arm.robot.moving_joints
    out = []
    for slides in (False, True):
        some = [i for i, joint in enumerate(joints) if (joint.type == "prismatic") == slides]
        if not some:
            continue

        def draw(axes: Axes, some: list[int] = some) -> None:
            for i in some:
                covers = any(np.allclose(x[:, i], x[:, j], rtol=0, atol=1e-6 * np.ptp(x)) for j in some if j < i)
                axes.plot(study.shown.t, x[:, i], color=_colour(i), ls=(0, (4, 4)) if covers else "-")
            _time_axis(axes, study)

        key = tuple((_colour(i), joints[i].name) for i in some)
        word = name if names is None else names[slides]
        out.append(Panel(f"{word} ({units[slides]})", draw, key, THIRD))
    return out


def torque_panels(study: Study) -> list[Panel]:
    """For each joint the torque, with its limits where they are near enough to be seen."""
    out = []
    for i in range(study.arm.n):

        def draw(axes: Axes, i: int = i) -> None:
            axes.plot(study.shown.t, study.shown_torque[:, i], color=_colour(i))
            _limits(axes, study.sizing.torque.limit[i], study.shown_torque[:, i])
            _time_axis(axes, study)

        out.append(Panel(f"{study.arm.joint_names[i]} ({study.sizing.torque.units[i]})", draw, (), _small(study)))
    return out


def share_panel(study: Study) -> Panel:
    """All torques as shares of their limits."""
    limit = study.sizing.torque.limit
    known = [i for i in range(study.arm.n) if limit[i] > 0]

    def draw(axes: Axes) -> None:
        for i in known:
            axes.plot(study.shown.t, 100 * study.shown_torque[:, i] / limit[i], color=_colour(i))
        most = max(100.0, *(100 * study.sizing.torque.used[known]))
        axes.set_ylim(-1.08 * most, 1.08 * most)
        for bound in (-100, 100):
            axes.axhline(bound, color=RED, lw=1.0, ls=(0, (5, 3)))
        axes.axhspan(100, 10 * most, color=RED, alpha=0.06, lw=0)
        axes.axhspan(-10 * most, -100, color=RED, alpha=0.06, lw=0)
        axes.set_yticks([-100, -50, 0, 50, 100] if most < 200 else axes.get_yticks().tolist())
        axes.set_ylim(-1.08 * most, 1.08 * most)
        _time_axis(axes, study)

    key = tuple((_colour(i), study.arm.joint_names[i]) for i in known)
    return Panel("Torque as a share of its limit (%)", draw, key, WHOLE)


def stacked_panels(study: Study) -> list[Panel]:
    """For each joint the torque by cause: what pushes upwards stacked above zero, the rest below."""
    few = _few(len(study.shown.t))
    t, causes = study.shown.t[few], {name: x[few] for name, x in study.causes.items()}
    key = tuple(CAUSES[name] for name in causes)
    out = []
    for i in range(study.arm.n):

        def draw(axes: Axes, i: int = i) -> None:
            above, below = np.zeros(len(t)), np.zeros(len(t))
            for name, x in causes.items():
                up, down = np.maximum(x[:, i], 0.0), np.minimum(x[:, i], 0.0)
                for base, part in ((above, up), (below, down)):
                    if part.any():
                        axes.fill_between(t, base, base + part, color=CAUSES[name][0], lw=0)
                above, below = above + up, below + down
            axes.plot(study.shown.t, study.shown_torque[:, i], color="white", lw=2.6)
            axes.plot(study.shown.t, study.shown_torque[:, i], color=INK, lw=1.3)
            _time_axis(axes, study)

        title = f"{study.arm.joint_names[i]} ({study.sizing.torque.units[i]})"
        out.append(Panel(title, draw, (*key, (INK, "torque")), _small(study)))
    return out


def pair_panels(study: Study) -> list[Panel]:
    """Every term by itself: b_ij q̈_j, h_ijj q̇_j², 2 h_ijk q̇_j q̇_k and g_i, as in S Figs 7.6, 7.8, 7.11."""
    terms, n, names = study.terms, study.arm.n, study.arm.joint_names
    accelerating = terms.inertia + terms.rotor
    out = []
    for i in range(n):
        unit = study.sizing.torque.units[i]
        of_joint = f"at {names[i]} ({unit})"
        inertia = [(_colour(j), f"by {names[j]}", accelerating[:, i, j]) for j in range(n)]
        out.append(_lines(study, f"Inertia {of_joint}", inertia))
        squares = [(_colour(j), f"centrifugal, by {names[j]}", terms.centrifugal[:, i, j]) for j in range(n)]
        products = [
            (_colour(n + j + k - 1), f"Coriolis, {names[j]} and {names[k]}", terms.coriolis[:, i, j, k])
            for j in range(n)
            for k in range(j + 1, n)
        ]
        out.append(_lines(study, f"Velocities {of_joint}", [*squares, *products]))
        rest = [(*CAUSES[name], getattr(terms, name)[:, i]) for name in ("gravity", "viscous", "coulomb", "contact")]
        out.append(_lines(study, f"{_rest(study)} {of_joint}", [line for line in rest if line[2].any()]))
    return out


def _rest(study: Study) -> str:
    words = [word for name, word in (("gravity", "gravity"), ("viscous", "friction"), ("contact", "contact"))
             if name in study.causes or (name == "viscous" and "coulomb" in study.causes)]  # fmt: skip
    return " and ".join(words).capitalize() or "Gravity"


def _lines(study: Study, title: str, lines: Sequence[tuple[str, str, Array]]) -> Panel:
    """Lines with a legend inside; those that are zero throughout are named so."""
    noise = 1e-9 * np.abs(study.shown_torque).max(initial=0.0)
    moving = [line for line in lines if np.abs(line[2]).max(initial=0.0) > noise]

    def draw(axes: Axes) -> None:
        for colour, word, y in moving:
            axes.plot(study.shown.t, y, color=colour, label=literal(word))
        if moving:
            columns = 2 if max(len(word) for _, word, _ in moving) <= 18 else 1
            _headroom(axes, -(-len(moving) // columns))
            axes.legend(loc="upper left", ncols=columns, borderaxespad=0.1, columnspacing=1.2, handlelength=1.2)
        else:
            axes.set_ylim(-1, 1)
            axes.text(0.5, 0.56, "zero throughout", transform=axes.transAxes, ha="center", va="bottom", color=SOFT)
            axes.axhline(0, color=SOFT)
        _time_axis(axes, study)

    return Panel(title, draw, (), THIRD)


def tip_panels(study: Study) -> list[Panel]:
    """Position, velocity and acceleration of the tip along the base's axes; axes it keeps away from left out."""
    reach = max(np.abs(study.tip[0]).max(initial=0.0), 1e-6)
    scales = (reach, *(max(np.abs(x).max(initial=0.0), 1e-9) for x in study.tip[1:]))
    seen = [
        k for k in range(3) if any(np.abs(x[:, k]).max() > 1e-9 * s for x, s in zip(study.tip, scales, strict=True))
    ]
    key = tuple((AXES[k], "xyz"[k]) for k in seen)
    out = []
    for name, x in zip(("Position (m)", "Velocity (m/s)", "Acceleration (m/s²)"), study.tip, strict=True):

        def draw(axes: Axes, x: Array = x) -> None:
            for k in seen:
                axes.plot(study.shown.t, x[:, k], color=AXES[k])
            _time_axis(axes, study)

        out.append(Panel(f"Tip: {name[0].lower()}{name[1:]}", draw, key, THIRD))
    return out


def reaction_panels(study: Study) -> list[Panel]:
    """The force at the joint that closes each chain, along the base's axes; axes it keeps away from left out."""
    out = []
    noise = 1e-9 * max(np.abs(study.reactions[..., :3]).max(initial=0.0), 1e-9)
    for index, loop in enumerate(study.arm.loops):
        force = study.reactions[:, index, :3]
        seen = [k for k in range(3) if np.abs(force[:, k]).max(initial=0.0) > noise]
        key = (*((AXES[k], "xyz"[k]) for k in seen), (INK, "size"))

        def draw(axes: Axes, force: Array = force, seen: list[int] = seen) -> None:
            for k in seen:
                axes.plot(study.shown.t, force[:, k], color=AXES[k])
            axes.plot(study.shown.t, np.linalg.norm(force, axis=-1), color=INK)
            _time_axis(axes, study)

        out.append(Panel(f"Force at {loop.name} (N)", draw, key, THIRD))
    return out


SCALED = {"as given": SOFT, "evenly scaled": "#1f5fa8", "time-optimal": "#d1702a"}


def scaling_panels(study: Study) -> list[Panel]:
    """For each joint the torque at every pace, over time."""
    paces = [("as given", study), *((v.name, v.study) for v in (study.evenly, study.fastest) if v.study is not None)]
    key = tuple((SCALED[name], name) for name, _ in paces)
    out = []
    for i in range(study.arm.n):

        def draw(axes: Axes, i: int = i) -> None:
            for name, at in paces:
                axes.plot(at.shown.t - at.shown.t[0], at.shown_torque[:, i], color=SCALED[name], lw=1.4)
            every = np.concatenate([at.shown_torque[:, i] for _, at in paces])
            _limits(axes, study.sizing.torque.limit[i], every)
            axes.set_xlim(0, max(at.sizing.duration for _, at in paces) or 1.0)
            axes.set_xlabel("time (s)", labelpad=1)

        title = f"{study.arm.joint_names[i]} ({study.sizing.torque.units[i]})"
        out.append(Panel(title, draw, key, _small(study)))
    return out


# -- the arm -------------------------------------------------------------------------------------


def arm_panels(study: Study) -> list[Panel]:
    """The arm seen from where most of it is seen: one view of a planar arm, two of others."""
    picked = np.linspace(0, len(study.shown.t) - 1, 7).round().astype(int)
    poses = skeleton(study.arm, study.shown.q[picked])
    path = study.arm.pose(study.shown.q)[:, :3, 3]
    gravity = np.array(study.arm.robot.gravity, float)
    base = np.array(study.arm.robot.base.translation, float)
    everything = np.concatenate([*(line.reshape(-1, 3) for pose in poses for line in pose.lines), path, base[None]])
    key = (("#b9c3cd", "start"), ("#dde3e8", "on the way"), ("#1f5fa8", "end"), ("#d1702a", "path of the tip"))

    def panel(view: View) -> Panel:
        def draw(axes: Axes) -> None:
            reach = max(float(np.ptp(everything @ view.matrix.T, axis=0).max()), 1e-3)
            for k, pose in enumerate(poses):
                first, last = k == 0, k == len(poses) - 1
                colour = "#1f5fa8" if last else "#b9c3cd" if first else "#dde3e8"
                for line in pose.lines:
                    x, y = view.matrix @ line.T
                    axes.plot(x, y, color=colour, lw=5.0 if first or last else 1.6, zorder=2 + 2 * last + first)
                for line in pose.rails:
                    x, y = view.matrix @ line.T
                    axes.plot(x, y, color=colour, lw=2.0 if first or last else 1.0, ls=(0, (2, 1.5)), zorder=2)
                if first or last:
                    for kind, marker, big in (("turns", "o", 5.5), ("slides", "s", 5.5)):
                        points = getattr(pose, kind)
                        if len(points):
                            x, y = view.matrix @ points.T
                            axes.plot(x, y, marker, ms=big, mfc="white", mec=colour, mew=1.6, zorder=4 + 2 * last)
                    x, y = view.matrix @ pose.tip
                    axes.plot(x, y, "o", ms=4.0, color="#d1702a", zorder=8)
            x, y = view.matrix @ path.T
            axes.plot(x, y, color="#d1702a", lw=1.2, zorder=7)
            x, y = view.matrix @ base
            axes.plot(x, y, "^", ms=11, color=INK, zorder=1.5)
            _pull(axes, view.matrix @ gravity)
            axes.set_aspect("equal", adjustable="datalim")
            axes.margins(0.08)
            if reach < 1e-2:
                axes.set_xlim(x - 0.5, x + 0.5)
            axes.set_xlabel(view.across, labelpad=1)
            axes.set_ylabel(view.up, labelpad=1)
            if not view.scales:
                axes.set_axis_off()
                _triad(axes, view, base, 0.2 * reach)

        return Panel(view.name, draw, key, (5.2, 4.0))

    return [panel(view) for view in views(everything, gravity)]


def _pull(axes: Axes, g: Array) -> None:
    """An arrow for gravity in the corner, where it lies in the view."""
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


# -- small things --------------------------------------------------------------------------------


def _colour(i: int) -> str:
    return JOINTS[i % len(JOINTS)]


def _few(count: int, most: int = 600) -> Any:
    """Rows for areas, which are not simplified as lines are: all, or evenly spread ones."""
    return slice(None) if count <= most else np.linspace(0, count - 1, most).round().astype(int)


def _small(study: Study) -> tuple[float, float]:
    """The size of a panel that stands there once for each joint."""
    return HALF if study.arm.n <= 4 else THIRD


def _time_axis(axes: Axes, study: Study) -> None:
    t = study.shown.t
    axes.set_xlim(t[0], t[-1] if t[-1] > t[0] else t[0] + 1.0)
    axes.set_xlabel("time (s)", labelpad=1)
    low, high = axes.get_ylim()
    if high - low < 1e-9 * max(abs(low), abs(high), 1e-6):
        axes.set_ylim(low - 1.0, high + 1.0)
    if axes.get_ylim()[0] < 0 < axes.get_ylim()[1]:
        axes.axhline(0, color=SOFT, lw=0.7, zorder=0.9)


def _headroom(axes: Axes, lines: int) -> None:
    """Room above the curves for a legend of so many lines."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + (high - low) * (0.04 + 0.14 * lines))


def _limits(axes: Axes, limit: float, y: Array) -> None:
    """± limit as dashed lines where the curve comes near, in words where it stays far away."""
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
        axes.text(1.0, 1.03, f"limit ±{limit:g}, off the scale", transform=axes.transAxes, ha="right", va="bottom",
                  color=RED, fontsize=8)  # fmt: skip
