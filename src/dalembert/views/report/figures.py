"""The panels of a report: functions of a :class:`Study`.

The page shows every panel separately, so that it can be read on a narrow screen; :func:`assemble` arranges panels side
by side in a matplotlib Figure. No window is opened and no backend is selected.
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

from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.views.report.colours import AXES, INK, RED, SOFT, joint_colour
from dalembert.views.report.study import Study
from dalembert.views.report.user_text import literal, shortened, visible, with_glyphs
from dalembert.work.analysis.negligible_terms import Omission, Omissions
from dalembert.work.sizing.sizing import joint_units
from dalembert.work.trajectory.planning.events import Event, PayloadEvent, WrenchEvent

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:
    Axes = Figure = Any  # words of annotations: Matplotlib is imported when something is drawn

Key = tuple[str, str]  # an entry of a legend: (colour, word)
Curve = tuple[str, str, Array]  # (colour, word, values)

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
EVENTS = {PayloadEvent: ("#b8860b", "payload held"), WrenchEvent: ("#0f8a8a", "wrench at the tip")}
TITLES = {
    "position": "Position",
    "speed": "Velocity",
    "acceleration": "Acceleration",
    "torque": "Torque",
    "error": "Tracking error",
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
    """One set of axes: its title, its drawing function, and its legend."""

    title: str
    draw: Callable[[Any], None]
    key: tuple[Key, ...] = ()
    size: tuple[float, float] = (5.2, 2.7)  # inches
    foot: float = 0.42  # inches below the axes
    left: float = 0.62  # inches beside them


PAGE_DPI = 80  # pixels of a notebook page per inch of a figure
ACROSS = 40  # largest number of rows of a wide panel
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


# -- panels --------------------------------------------------------------------------------------


def motion_panels(study: Study) -> list[Panel]:
    """Positions, velocities and accelerations over time: S Figs 7.5, 7.7, 7.10."""
    at = study.shown
    shown = {"position": at.q, "speed": at.qd, "acceleration": at.qdd}
    return joint_panels(study.arm.joint_names, joint_units(study.arm), at.t, shown, study.events)


def joint_panels(
    names: Sequence[str],
    units: Mapping[str, Sequence[str]],
    t: Array,
    shown: Mapping[str, Array],
    events: Sequence[Event],
    size: tuple[float, float] = THIRD,
) -> list[Panel]:
    """A panel for every quantity (N, n) and each of its units over the joints, with one line per joint."""
    panels = []
    for what, x in shown.items():
        for unit in dict.fromkeys(units[what]):
            title = f"{'Force' if unit == 'N' else TITLES[what]} ({unit})"
            curves = [(joint_colour(i), names[i], x[:, i]) for i in range(len(names)) if units[what][i] == unit]
            panels.append(over_time(title, t, curves, events, size))
    return panels


def over_time(
    title: str, t: Array, curves: Sequence[Curve], events: Sequence[Event], size: tuple[float, float] = THIRD
) -> Panel:
    """Curves over time, with events shaded; a curve that coincides with an earlier one is dashed."""
    few = evenly(len(t), 2000)
    same = 1e-6 * max((float(np.ptp(y)) for _, _, y in curves), default=0.0)

    def draw(axes: Axes) -> None:
        for k, (colour, word, y) in enumerate(curves):
            covers = any(np.allclose(y, below, rtol=0, atol=same) for _, _, below in curves[:k])
            axes.plot(t[few], y[few], color=colour, ls=(0, (4, 4)) if covers else "-", label=literal(word))
        time_axis(axes, t, events)

    return Panel(title, draw, (*((colour, word) for colour, word, _ in curves), *key_of(events)), size)


def key_of(events: Sequence[Event]) -> tuple[Key, ...]:
    """The colours in which events are shaded."""
    return tuple(dict.fromkeys(EVENTS[type(event)] for event in events))


def _each_joint(study: Study, draw: Callable[..., None], key: tuple[Key, ...] = ()) -> list[Panel]:
    """A panel for each joint i, drawn by ``draw(axes, i=i)``."""
    size = HALF if study.arm.n <= 4 else THIRD
    joints = zip(study.arm.joint_names, study.sizing.torque.units, strict=True)
    return [Panel(f"{name} ({unit})", partial(draw, i=i), key, size) for i, (name, unit) in enumerate(joints)]


def torque_panels(study: Study) -> list[Panel]:
    """For each joint the torque, with its limits if they are close enough to be visible."""

    def draw(axes: Axes, i: int) -> None:
        axes.plot(study.shown.t, study.shown_torque[:, i], color=joint_colour(i))
        _limits(axes, study.sizing.torque.limit[i], study.shown_torque[:, i])
        time_axis(axes, study.shown.t, study.events)

    return _each_joint(study, draw)


def stacked_panels(study: Study) -> list[Panel]:
    """For each joint the torque by cause: positive contributions stacked above zero, the others below; their sum as a line."""
    parts = [(*CAUSES[name], x) for name, x in study.causes.items()]
    few = evenly(len(study.shown.t), 600)  # areas are not simplified like lines
    t = study.shown.t[few]

    def draw(axes: Axes, i: int) -> None:
        above, below = np.zeros(len(t)), np.zeros(len(t))
        for colour, _, x in parts:
            up, down = np.maximum(x[few, i], 0.0), np.minimum(x[few, i], 0.0)
            for base, part in ((above, up), (below, down)):
                if part.any():
                    axes.fill_between(t, base, base + part, color=colour, lw=0)
            above, below = above + up, below + down
        for colour, width in (("white", 2.6), (INK, 1.3)):
            axes.plot(study.shown.t, study.shown_torque[:, i], color=colour, lw=width)
        time_axis(axes, study.shown.t, study.events)

    return _each_joint(study, draw, (*((colour, word) for colour, word, _ in parts), (INK, "torque")))


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
    """Position, velocity and acceleration of the tip along the base axes, S Fig. 7.9; components that stay zero are omitted."""
    moving = [
        np.abs(x).max(axis=0) > 1e-9 * max(np.abs(x).max(initial=0.0), least)
        for x, least in zip(study.tip, (1e-6, 1e-9, 1e-9), strict=True)
    ]
    seen = np.flatnonzero(np.any(moving, axis=0)).tolist()
    titles = ("Tip: position (m)", "Tip: velocity (m/s)", "Tip: acceleration (m/s²)")
    t, events = study.shown.t, study.events
    return [over_time(title, t, _along_axes(x, seen), events) for title, x in zip(titles, study.tip, strict=True)]


def reaction_panels(study: Study) -> list[Panel]:
    """The force at each loop closure, along the base axes; components that stay zero are omitted."""
    out = []
    noise = 1e-9 * max(np.abs(study.reactions[..., :3]).max(initial=0.0), 1e-9)
    for index, loop in enumerate(study.arm.loops):
        force = study.reactions[:, index, :3]
        seen = np.flatnonzero(np.abs(force).max(axis=0, initial=0.0) > noise).tolist()
        curves = [*_along_axes(force, seen), (INK, "size", np.linalg.norm(force, axis=-1))]
        out.append(over_time(f"Force at {loop.name} (N)", study.shown.t, curves, study.events))
    return out


def _along_axes(x: Array, seen: Sequence[int]) -> list[Curve]:
    """The components of vectors x (N, 3) along the base axes that are shown."""
    return [(AXES[k], "xyz"[k], x[:, k]) for k in seen]


SCALED = {"as given": SOFT, "uniformly scaled": "#1f5fa8", "time-optimal": "#d1702a"}


def scaling_panels(study: Study) -> list[Panel]:
    """For each joint the torque of the motion and of its scaled versions, over time."""
    paces = study.paces.items()

    def draw(axes: Axes, i: int) -> None:
        for name, at in paces:
            axes.plot(at.shown.t - at.shown.t[0], at.shown_torque[:, i], color=SCALED[name], lw=1.4)
        every = np.concatenate([at.shown_torque[:, i] for _, at in paces])
        _limits(axes, study.sizing.torque.limit[i], every)
        axes.set_xlim(0, max(at.sizing.duration for _, at in paces) or 1.0)
        axes.set_xlabel("time (s)", labelpad=1)

    return _each_joint(study, draw, tuple((SCALED[name], name) for name, _ in paces))


def omission_figure(studies: Omissions | Mapping[str, Omissions]) -> Figure:
    """Negligible terms along a motion, or along several by their titles: errors, and saved operations."""
    titled = studies if isinstance(studies, Mapping) else {"": studies}
    return assemble([omission_panel(study, title if len(titled) > 1 else "") for title, study in titled.items()], 1)


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
    title: str, rows: Sequence[Any] | Array, draw: Callable[..., None], key: tuple[Key, ...]
) -> list[Panel]:
    """Panels below each other, all of about as many rows, drawn by ``draw(axes, some=rows)``; the first has the title."""
    across = -(-len(rows) // max(1, -(-len(rows) // ACROSS))) or 1
    return [
        Panel("" if start else title, partial(draw, some=rows[start : start + across]), key, WHOLE, 0.6)
        for start in range(0, len(rows), across)
    ]


def _operations(omissions: Omissions, row: Omission) -> str:
    saved = 100 * (omissions.saved(row) or 0.0)
    return f"{row.operations.total} operations" + (f"\n({-saved:+.0f} %)".replace("-", "−") if round(saved) else "")


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


def _limits(axes: Axes, limit: float, y: Array) -> None:
    """± limit as dashed lines if the curve comes close, otherwise as text above the curve."""
    axes.margins(y=0.12)
    extremes = {1: float(y.max()), -1: -float(y.min())}
    for sign, extreme in extremes.items():
        if extreme > 0.3 * limit:
            axes.axhline(sign * limit, color=RED, lw=1.0, ls=(0, (5, 3)))
        if extreme > limit:
            axes.axhspan(sign * limit, sign * 1.1 * extreme, color=RED, alpha=0.07, lw=0)
    if max(extremes.values()) <= 0.3 * limit:
        headroom(axes, 1)
        look: Any = {"transform": axes.transAxes, "ha": "right", "va": "top", "color": RED, "fontsize": 8}
        axes.text(1.0, 0.98, f"limit ±{limit:g}, off the scale", **look)
