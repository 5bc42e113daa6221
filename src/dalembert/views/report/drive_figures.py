"""Drives in the report: speed–torque diagrams in four quadrants, utilisation with traffic lights, gear-ratio sweeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from dalembert.base.arrays import Array
from dalembert.robot.drives.drive_data import Gear, Motor, Points
from dalembert.views.report.figures import HALF, INK, RED, SOFT, THIRD, Axes, Figure, Key, Panel, assemble
from dalembert.views.report.html import number, table, table_of_columns, text
from dalembert.views.report.study import Place, Study
from dalembert.work.sizing.drive_formulas import RPM, inertia_band
from dalembert.work.sizing.drive_sizing import Check, Drives, DriveSizing, GearSweep

COLOURS = {"green": "#2e7d4f", "amber": "#c77700", "red": RED, "unknown": SOFT}
KINDS = {"green": "good", "amber": "tight", "red": "bad", "unknown": "soft"}
PEAK, CONTINUOUS, POINT, SHADE = RED, "#2e7d4f", "#c77700", "#e3efe7"
WIDE_ENOUGH = 3.0  # times the motion's speed: extent of a diagram; limits beyond it are noted at the edge
MOTION: tuple[Key, ...] = ((INK, "the motion"),)
MOTOR_KEY: tuple[Key, ...] = (
    *MOTION,
    (PEAK, "peak torque and maximum speed of the motor"),
    (CONTINUOUS, "continuous torque"),
    (POINT, "RMS torque at mean speed"),
)
GEAR_KEY: tuple[Key, ...] = (
    *MOTION,
    (PEAK, "T2B and maximum speed of the gear"),
    (CONTINUOUS, "limit of the mean torque (T2N or TA)"),
    (POINT, "mean torque at mean speed"),
)


# -- figures -----------------------------------------------------------------------------------------


def drives_figure(drives: Drives) -> Figure:
    """Speed–torque diagrams of all drives, motor side and load side."""
    return assemble([panel for drive in drives.joints for panel in (motor_panel(drive), load_panel(drive))])


def figure_of(drawn: Drives | GearSweep) -> Figure:
    """The figure of ``.plot()`` for drives, or for a sweep over gear ratios."""
    return drives_figure(drawn) if isinstance(drawn, Drives) else sweep_figure(drawn)


def motor_panel(drive: DriveSizing) -> Panel:
    """The four quadrants at the motor shaft."""
    lines, point, key = [], None, MOTION
    if (motor := drive.motor) is not None:
        lines = [_limit(points, colour, motor.top_speed, RPM) for points, colour in _curves(motor)]
        point, key = (float(drive.mean_speed / RPM), drive.torque_rms), MOTOR_KEY
    draw = partial(_diagram, speed=drive.motor_speed / RPM, torque=drive.motor_torque, curves=lines, point=point)
    return Panel(f"{drive.joint}: motor side (N m over rpm)", draw, key, THIRD)


def load_panel(drive: DriveSizing) -> Panel:
    """The four quadrants at the joint."""
    units, scale = ("N over m/s", 1.0) if drive.slides else ("N m over rpm", RPM)
    lines, point = [], None
    if (gear := drive.gear) is not None and not np.isnan(drive.output_torque).any():
        k = abs(gear.reduction)
        top = None if gear.max_input_speed is None else gear.max_input_speed / k
        reach = top if top is not None else WIDE_ENOUGH * float(np.abs(drive.load_speed).max()) or 1.0
        for level, colour in ((gear.acceleration_torque, PEAK), (gear.mean_torque_limit, CONTINUOUS)):
            if level is not None:
                lines.append(_limit(((0.0, level / gear.lever), (reach, level / gear.lever)), colour, top, scale))
        point = drive.mean_speed / k / scale, drive.mean_torque / gear.lever
    draw = partial(_diagram, speed=drive.load_speed / scale, torque=drive.load_torque, curves=lines, point=point)
    return Panel(f"{drive.joint}: load side ({units})", draw, GEAR_KEY if gear is not None else MOTION, THIRD)


def _curves(motor: Motor) -> list[tuple[Points, str]]:
    """The known curves of a motor with their colours, the continuous one derated."""
    derated = tuple((n, T * motor.torque_factor) for n, T in motor.continuous_points)
    return [(points, colour) for points, colour in ((motor.peak_points, PEAK), (derated, CONTINUOUS)) if points]


Limit = tuple[str, Array, Array, bool]  # colour, speeds, torques, and whether it ends at a maximum speed


def _limit(points: Points, colour: str, top: float | None, scale: float) -> Limit:
    """A speed–torque curve ((rad/s or m/s, torque), …) in one quadrant, closed at the maximum speed; ``scale`` of the plot."""
    n, T = np.array(points, float).T
    closed = (np.append(n, n[-1]), np.append(T, 0.0)) if top is not None else (n, T)
    return colour, closed[0] / scale, closed[1], top is not None


def _diagram(axes: Axes, speed: Any, torque: Any, curves: Sequence[Limit], point: tuple[float, float] | None) -> None:
    """The motion and its limits in four quadrants; limits far from the motion are noted at the edge."""
    for colour, n, T, _ in curves:
        for a in (1, -1):
            for b in (1, -1):
                axes.plot(a * n, b * T, color=colour, lw=1.2, zorder=3)
    if point is not None:
        axes.plot(*([x] for x in point), "D", color=POINT, ms=5, zorder=5, mec="white", mew=0.8)
    axes.plot(speed, torque, color=INK, lw=1.3, zorder=4)
    for line in (axes.axhline, axes.axvline):
        line(0.0, color=SOFT, lw=0.8, zorder=1)
    fast, strong = (max(float(np.abs(x).max()), y) for x, y in zip((speed, torque), point or (0.0, 0.0), strict=True))
    ends = [float(n[-1]) for _, n, _, _ in curves]
    levels = {colour: float(T.max()) for colour, _, T, _ in curves}
    steady = max(levels.get(CONTINUOUS, 0.0), 1.3 * strong)  # the continuous torque is always visible
    x = min(max(ends, default=np.inf), WIDE_ENOUGH * fast) if fast > 0 else max(ends, default=1.0)
    y = steady if steady < 0.5 * levels.get(PEAK, 0.0) else max([*levels.values(), 1.1 * strong])
    axes.set_xlim(-1.08 * (x or 1.0), 1.08 * (x or 1.0))
    axes.set_ylim(-1.3 * (y or 1.0), 1.3 * (y or 1.0))  # room for text at the upper edge
    look: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "fontsize": 8, "color": PEAK, "zorder": 6}
    if levels.get(PEAK, 0.0) > y:
        axes.text(0.01, 0.98, f"↑ limit {levels[PEAK]:.3g}", ha="left", **look)
    if ends and max(ends) > 1.08 * x and any(ends_there for *_, ends_there in curves):
        axes.text(0.99, 0.98, f"limit {max(ends):.4g} →", ha="right", **look)


def sweep_figure(sweep: GearSweep) -> Figure:
    """Torque and speed of the motor against the gear ratio, with the optimum marked."""
    key: tuple[Key, ...] = (
        (PEAK, "peak torque (dashed: limits of the motor's torque and speed)"),
        (CONTINUOUS, "RMS torque (dashed: the motor's continuous torque)"),
        (INK, "motor speed"),
        (SHADE, "ratios that the motor allows"),
    )
    drawn = {"torque (N m)": _sweep_torque, "speed (rpm)": _sweep_speed}
    return assemble([Panel(f"{sweep.joint}: {what}", partial(x, sweep=sweep), key, HALF) for what, x in drawn.items()])


def _sweep_torque(axes: Axes, sweep: GearSweep) -> None:
    axes.loglog(sweep.ratio, sweep.peak, color=PEAK)
    axes.loglog(sweep.ratio, sweep.rms, color=CONTINUOUS)
    for points, colour in [] if sweep.motor is None else _curves(sweep.motor):
        axes.axhline(max(T for _, T in points), color=colour, lw=1.0, ls=(0, (5, 3)))
    axes.plot([sweep.optimum], [sweep.rms.min()], "o", color=CONTINUOUS, ms=6)
    optimum, at = f"optimum {sweep.optimum:.3g}", (sweep.optimum, float(sweep.rms.min()))
    axes.annotate(optimum, at, (0, 8), textcoords="offset points", ha="center", fontsize=8, zorder=6)
    if not math.isnan(sweep.best) and sweep.best != sweep.optimum:
        least = float(sweep.rms[sweep.ratio == sweep.best][0])
        axes.plot([sweep.best], [least], "D", color=POINT, ms=6)
        best = f"best within limits {sweep.best:.3g}"
        axes.annotate(best, (sweep.best, least), (-6, -12), textcoords="offset points", ha="right", fontsize=8)
    _ratio_axis(axes, sweep)


def _sweep_speed(axes: Axes, sweep: GearSweep) -> None:
    axes.loglog(sweep.ratio, sweep.speed / RPM, color=INK)
    if sweep.motor is not None and sweep.motor.top_speed is not None:
        axes.axhline(sweep.motor.top_speed / RPM, color=PEAK, lw=1.0, ls=(0, (5, 3)))
    _ratio_axis(axes, sweep)


def _ratio_axis(axes: Axes, sweep: GearSweep) -> None:
    """The feasible and the fitted ratio; ticks as plain numbers."""
    axes.axvline(sweep.fitted, color=SOFT, lw=1.0, ls=(0, (2, 2)))
    look: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "color": SOFT}
    axes.annotate(f"fitted {sweep.fitted:.4g}", (sweep.fitted, 1.0), (3, -9), fontsize=8, **look)
    if sweep.allowed.any() and not sweep.allowed.all():
        inside = sweep.ratio[sweep.allowed]
        axes.axvspan(float(inside.min()), float(inside.max()), color=SHADE, lw=0, zorder=0)
    axes.set_xlim(float(sweep.ratio[0]), float(sweep.ratio[-1]))
    axes.set_xlabel("gear ratio")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda x, _: f"{x:g}")
        axis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:.0e}"[0] in "25" else "")


# -- the section -------------------------------------------------------------------------------------


def drives_section(study: Study, place: Place) -> str:
    """The requirements on motors and gears, as HTML; empty if the robot file has none."""
    drives = study.sizing.drives
    if drives is None:
        return ""
    motors = [motor_panel(drive) for drive in drives.joints if drive.motor is not None]
    loads = [load_panel(drive) for drive in drives.joints]
    diagrams = "".join(
        f"<h4>Speed and torque at the {title}</h4>\n" + place(panels, name, across="three")
        for title, name, panels in (("motor shaft", "motors", motors), ("joint", "gears", loads))
        if panels
    )
    return (
        "<h3>Drives</h3>\n<p>Motors and gears of the robot file under this motion, repeated as a continuous cycle. A light is green "
        "if every check has a margin of at least 20 %, amber if a margin is smaller, red if a limit is exceeded. A limit far outside "
        "a diagram is noted at its edge.</p>"
        + _lights(drives) + "<h4>Utilisation</h4>\n" + _utilisation(drives) + diagrams
        + "<h4>Motors</h4>\n" + _motors(drives) + _gears(drives)
    )  # fmt: skip


def light(colour: str, words: str = "") -> str:
    """A traffic light with a text."""
    lamp = f'<span style="color:{COLOURS[colour]};font-size:1.25em;line-height:1">●</span>'
    return f"{lamp} {text(words or colour)}"


def _lights(drives: Drives) -> str:
    rows = []
    for drive in drives.joints:
        words = map(text, (part_name(drive.motor), part_name(drive.gear), drive.verdict))
        rows.append([text(drive.joint), light(drive.light), *words])
    return table(["joint", "light", "motor", "gear", "deciding"], rows, words=True)


def part_name(part: Motor | Gear | None) -> str:
    """The name of a motor or a gear."""
    return "–" if part is None else part.name or "given"


def _utilisation(drives: Drives) -> str:
    """A row for each check and a column for each joint: utilisation in percent."""
    names = list(dict.fromkeys(check.name for drive in drives.joints for check in drive.checks))
    own = [{check.name: check for check in drive.checks} for drive in drives.joints]
    rows = [[text(name), *(_used(checks.get(name)) for checks in own)] for name in names]
    return table(["utilisation (%)", *(drive.joint for drive in drives.joints)], rows)


def _used(check: Check | None) -> str:
    if check is None:
        return '<span class="soft">–</span>'
    return f'<span class="{KINDS[check.light]}" title="{text(check.sentence)}">{check.per_cent}</span>'


def _motors(drives: Drives) -> str:
    own = [drive for drive in drives.joints if drive.motor is not None]
    if not own:
        return "<p class=soft>The robot file has gears without motors.</p>"
    most = [d.inertia_ratio[1] for d in own]
    columns = [
        ("", "joint", [text(d.joint) for d in own]),
        ("torque (N m)", "peak", [number(float(np.abs(d.motor_torque).max())) for d in own]),
        ("torque (N m)", "RMS", [number(d.torque_rms) for d in own]),
        ("speed (rpm)", "peak", [number(float(np.abs(d.motor_speed).max()) / RPM) for d in own]),
        ("speed (rpm)", "mean", [number(d.mean_speed / RPM) for d in own]),
        ("inertia load / motor", "minimum", [number(d.inertia_ratio[0], 3) for d in own]),
        ("inertia load / motor", "maximum", [number(ratio, 3) for ratio in most]),
        ("inertia load / motor", "band", ["–" if math.isnan(ratio) else text(inertia_band(ratio)) for ratio in most]),
    ]
    electric = [
        ("", "joint", [text(d.joint) for d in own]),
        ("current (A)", "peak", [number(d.current_peak, 3) for d in own]),
        ("current (A)", "RMS", [number(d.current_rms, 3) for d in own]),
        ("winding", "heat (W)", [number(d.copper_loss, 3) for d in own]),
        ("winding", "°C", [number(d.temperature, 3) for d in own]),
        ("", "regenerated (J per cycle)", [number(d.regenerated, 3) for d in own]),
        ("", "holding torque (N m)", [number(d.holding_torque, 3) for d in own]),
    ]
    return table_of_columns(columns) + table_of_columns(electric)


def _gears(drives: Drives) -> str:
    own = [drive for drive in drives.joints if drive.gear is not None]
    if not own:
        return ""
    minute = math.pi / 180 / 60
    columns = [
        ("", "joint", [text(d.joint) for d in own]),
        ("", "ratio", [number(d.gear.ratio) for d in own if d.gear is not None]),
        ("", "η", [number(d.gear.efficiency, 3) for d in own if d.gear is not None]),
        ("torque (N m)", "peak", [number(float(np.abs(d.output_torque).max())) for d in own]),
        ("torque (N m)", "mean", [number(d.mean_torque) for d in own]),
        ("life (h)", "L10", [number(d.life_10) for d in own]),
        ("life (h)", "L50", [number(d.life_50) for d in own]),
        ("arc minutes", "twist", [number(d.twist / minute, 3) for d in own]),
        ("arc minutes", "lost motion", [number(d.lost_motion / minute, 3) for d in own]),
    ]
    return "<h4>Gears</h4>\n" + table_of_columns(columns)
