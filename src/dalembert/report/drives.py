"""Drives in the report: speed–torque diagrams in four quadrants, utilisation with traffic lights, gear-ratio sweeps."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.drives import RPM, Check, Drives, DriveSizing, GearSweep, inertia_band
from dalembert.report.figures import INK, RED, SOFT, Key, Panel, assemble, joint_colour
from dalembert.report.html import grid, number, table, table_of_columns, text
from dalembert.report.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"green": "#2e7d4f", "amber": "#c77700", "red": RED, "unknown": SOFT}
KINDS = {"green": "good", "amber": "tight", "red": "bad", "unknown": "soft"}
PEAK, CONTINUOUS, POINT = RED, "#2e7d4f", "#c77700"
TALL = (5.2, 3.4)
BESIDE = 0.01  # of the diagonal of the axes: how near to each other instants are marked
MOTOR_KEY: tuple[Key, ...] = (
    (PEAK, "peak torque"),
    (CONTINUOUS, "continuous torque"),
    (POINT, "RMS torque at mean speed"),
)
GEAR_KEY: tuple[Key, ...] = ((PEAK, "gear: T2B"), (CONTINUOUS, "gear: T2N"), (POINT, "mean torque at mean speed"))


# -- figures -----------------------------------------------------------------------------------------


def drives_figure(drives: Drives) -> Figure:
    """Speed–torque diagrams of all drives, motor side and load side."""
    return assemble([panel for drive in drives.joints for panel in drive_panels(drive)])


def sweep_figure(sweep: GearSweep) -> Figure:
    """Torque and speed of the motor over the gear ratio, the optimum marked."""
    return assemble(sweep_panels(sweep))


def figure_of(drawn: Drives | GearSweep) -> Figure:
    """What ``.plot()`` draws of drives, or of a sweep over gear ratios."""
    return drives_figure(drawn) if isinstance(drawn, Drives) else sweep_figure(drawn)


def drive_panels(drive: DriveSizing, colour: str = INK) -> list[Panel]:
    """The four quadrants at the motor shaft and at the joint."""
    return [
        Panel(
            f"{drive.joint}: motor side (N m over rpm)", partial(_motor_side, drive=drive, colour=colour),
            MOTOR_KEY if drive.motor is not None else (), TALL,
        ),
        Panel(
            f"{drive.joint}: load side ({'N over m/s' if drive.slides else 'N m over rpm'})", partial(_load_side, drive=drive, colour=colour),
            GEAR_KEY if drive.gear is not None else (), TALL,
        ),
    ]  # fmt: skip


def _motor_side(axes: Axes, drive: DriveSizing, colour: str) -> None:
    speed = drive.motor_speed / RPM
    if (motor := drive.motor) is not None:
        derated = [(n, T * motor.torque_factor) for n, T in motor.continuous_points]
        for points, line in ((motor.peak_points, PEAK), (derated, CONTINUOUS)):
            _four_quadrants(axes, points, line, motor.top_speed)
        weight = float(drive.mean_speed / RPM)
        axes.plot([weight], [drive.torque_rms], "D", color=POINT, ms=6, zorder=5, mec="white", mew=0.8)
    _points(axes, speed, drive.motor_torque, colour)


def _load_side(axes: Axes, drive: DriveSizing, colour: str) -> None:
    scale = 1.0 if drive.slides else RPM
    speed = drive.load_speed / scale
    if (gear := drive.gear) is not None:
        for level, line in ((gear.acceleration_torque, PEAK), (gear.rated_torque, CONTINUOUS)):
            if level is not None:
                top = None if gear.max_input_speed is None else gear.max_input_speed / abs(gear.ratio)
                reach = top if top is not None else 1.2 * float(np.abs(drive.load_speed).max()) or 1.0
                _four_quadrants(axes, [(0.0, level), (reach, level)], line, top, scale)
        mean = drive.mean_speed / abs(gear.ratio) / scale
        axes.plot([mean], [drive.mean_torque], "D", color=POINT, ms=6, zorder=5, mec="white", mew=0.8)
    _points(axes, speed, drive.load_torque, colour)


def _four_quadrants(axes: Axes, points: Any, colour: str, top: float | None, scale: float = RPM) -> None:
    """A speed–torque curve in all four quadrants, closed at the largest speed."""
    if not points:
        return
    n, T = np.array(points, float).T / np.array([[scale], [1.0]])
    end = [0.0] if top is not None else []
    n, T = np.append(n, [n[-1]] * len(end)), np.append(T, end)
    for a in (1, -1):
        for b in (1, -1):
            axes.plot(a * n, b * T, color=colour, lw=1.2, zorder=3)


def _points(axes: Axes, speed: Any, torque: Any, colour: str) -> None:
    """The motion as a line with its instants, the axes through zero, room for both."""
    axes.plot(speed, torque, color=colour, lw=0.7, alpha=0.5, zorder=4)
    axes.plot(speed, torque, ".", color=colour, ms=2.6, zorder=4, markevery=BESIDE)  # each is an element of the page
    for line in (axes.axhline, axes.axvline):
        line(0.0, color=SOFT, lw=0.8, zorder=1)
    for get, put in ((axes.get_xlim, axes.set_xlim), (axes.get_ylim, axes.set_ylim)):
        most = max(map(abs, get()))
        put(-most, most)


def sweep_panels(sweep: GearSweep) -> list[Panel]:
    """Torques and speed over the ratio."""
    torque_key: tuple[Key, ...] = ((PEAK, "peak torque"), (CONTINUOUS, "RMS torque"), (INK, "motor speed"))
    return [
        Panel(f"{sweep.joint}: torque (N m)", partial(_sweep_torque, sweep=sweep), torque_key, TALL, 0.6),
        Panel(f"{sweep.joint}: speed (rpm)", partial(_sweep_speed, sweep=sweep), torque_key, TALL, 0.6),
    ]


def _sweep_torque(axes: Axes, sweep: GearSweep) -> None:
    axes.loglog(sweep.ratio, sweep.peak, color=PEAK)
    axes.loglog(sweep.ratio, sweep.rms, color=CONTINUOUS)
    if sweep.motor is not None:
        for level, colour in ((sweep.motor.peak_torque, PEAK), (sweep.motor.rated_torque, CONTINUOUS)):
            if level is not None:
                axes.axhline(level, color=colour, lw=1.0, ls=(0, (5, 3)))
    axes.plot([sweep.optimum], [sweep.rms.min()], "o", color=CONTINUOUS, ms=6)
    axes.annotate(
        f"optimum {sweep.optimum:.3g}", (sweep.optimum, float(sweep.rms.min())), (0, 8), textcoords="offset points",
        ha="center", fontsize=8, zorder=6,
    )  # fmt: skip
    if not math.isnan(sweep.best) and sweep.best != sweep.optimum:
        least = float(sweep.rms[sweep.ratio == sweep.best][0])
        axes.plot([sweep.best], [least], "D", color=POINT, ms=6)
        axes.annotate(
            f"best within limits {sweep.best:.3g}",
            (sweep.best, least),
            (-6, -12),
            textcoords="offset points",
            ha="right",
            fontsize=8,
        )
    _ratio_axis(axes, sweep)


def _sweep_speed(axes: Axes, sweep: GearSweep) -> None:
    axes.loglog(sweep.ratio, sweep.speed / RPM, color=INK)
    if sweep.motor is not None and sweep.motor.top_speed is not None:
        axes.axhline(sweep.motor.top_speed / RPM, color=PEAK, lw=1.0, ls=(0, (5, 3)))
    _ratio_axis(axes, sweep)


def _ratio_axis(axes: Axes, sweep: GearSweep) -> None:
    """What is possible, what is fitted; ticks as plain numbers."""
    axes.axvline(sweep.fitted, color=SOFT, lw=1.0, ls=(0, (2, 2)))
    axes.annotate(
        f"fitted {sweep.fitted:.4g}", (sweep.fitted, 1.0), (3, -9), xycoords=("data", "axes fraction"),
        textcoords="offset points", fontsize=8, color=SOFT,
    )  # fmt: skip
    if sweep.allowed.any() and not sweep.allowed.all():
        inside = sweep.ratio[sweep.allowed]
        axes.axvspan(float(inside.min()), float(inside.max()), color=CONTINUOUS, alpha=0.07, lw=0)
    axes.set_xlim(float(sweep.ratio[0]), float(sweep.ratio[-1]))
    axes.set_xlabel("gear ratio")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda x, _: f"{x:g}")
        axis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:.0e}"[0] in "25" else "")


# -- the section -------------------------------------------------------------------------------------


def drives_section(study: Study, name: str, about: str) -> str:
    """What the motion asks of motors and gears, as HTML; nothing where the robot file has none."""
    drives = study.sizing.drives
    if drives is None:
        return ""
    panels = [
        panel
        for drive in drives.joints
        for panel in drive_panels(drive, joint_colour(study.arm.joint_names.index(drive.joint)))
    ]
    return (
        "<h3>Drives</h3>\n<p>Motors and gears of the robot file under this motion; the cycle repeats for ever. A light is green "
        "where every check leaves 20 % or more, amber where less is left, red where a limit is exceeded.</p>"
        + _lights(drives) + "<h4>Speed and torque in four quadrants</h4>\n"
        + grid(panels, f"{name}-drives", about) + "<h4>Utilisation</h4>\n" + _utilisation(drives)
        + "<h4>Motors</h4>\n" + _motors(drives) + _gears(drives)
    )  # fmt: skip


def light(colour: str, words: str = "") -> str:
    """A traffic light, and words beside it."""
    lamp = f'<span style="color:{COLOURS[colour]};font-size:1.25em;line-height:1">●</span>'
    return f"{lamp} {text(words or colour)}"


def _lights(drives: Drives) -> str:
    rows = [
        [text(drive.joint), light(drive.light), text(_part(drive.motor)), text(_part(drive.gear)), text(drive.verdict)]
        for drive in drives.joints
    ]
    return table(["joint", "light", "motor", "gear", "deciding"], rows, words=True)


def _part(part: Any) -> str:
    return "–" if part is None else part.name or "given"


def _utilisation(drives: Drives) -> str:
    """A row for each check and a column for each joint: per cent of what is allowed."""
    names = list(dict.fromkeys(check.name for drive in drives.joints for check in drive.checks))
    own = [{check.name: check for check in drive.checks} for drive in drives.joints]
    rows = [[text(name), *(_used(checks.get(name)) for checks in own)] for name in names]
    return table(["% of what is allowed", *(drive.joint for drive in drives.joints)], rows)


def _used(check: Check | None) -> str:
    if check is None:
        return '<span class="soft">–</span>'
    shown = f"{100 * check.used:.0f}" if math.isfinite(check.used) else "∞"
    return f'<span class="{KINDS[check.light]}" title="{text(check.sentence)}">{shown}</span>'


def _motors(drives: Drives) -> str:
    own = [drive for drive in drives.joints if drive.motor is not None]
    if not own:
        return "<p class=soft>The robot file has gears without motors.</p>"
    columns = [
        ("", "joint", [text(d.joint) for d in own]),
        ("torque (N m)", "peak", [number(float(np.abs(d.motor_torque).max())) for d in own]),
        ("torque (N m)", "RMS", [number(d.torque_rms) for d in own]),
        ("speed (rpm)", "peak", [number(float(np.abs(d.motor_speed).max()) / RPM) for d in own]),
        ("speed (rpm)", "mean", [number(d.mean_speed / RPM) for d in own]),
        ("inertia load / motor", "least", [number(d.inertia_ratio[0], 3) for d in own]),
        ("inertia load / motor", "most", [number(d.inertia_ratio[1], 3) for d in own]),
        ("inertia load / motor", "band", [_band(d) for d in own]),
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


def _hours(life: float) -> str:
    return "over 1 million" if life > 1e6 else number(life)


def _band(drive: DriveSizing) -> str:
    most = drive.inertia_ratio[1]
    return "–" if math.isnan(most) else text(inertia_band(most))


def _gears(drives: Drives) -> str:
    own = [drive for drive in drives.joints if drive.gear is not None]
    if not own:
        return ""
    minute = math.pi / 180 / 60
    columns = [
        ("", "joint", [text(d.joint) for d in own]),
        ("", "ratio", [number(d.gear.ratio) for d in own if d.gear is not None]),
        ("", "η", [number(d.gear.efficiency, 3) for d in own if d.gear is not None]),
        ("torque (N m)", "peak", [number(float(np.abs(d.load_torque).max())) for d in own]),
        ("torque (N m)", "mean", [number(d.mean_torque) for d in own]),
        ("life (h)", "L10", [_hours(d.life_10) for d in own]),
        ("life (h)", "L50", [_hours(d.life_50) for d in own]),
        ("arc minutes", "twist", [number(d.twist / minute, 3) for d in own]),
        ("arc minutes", "lost motion", [number(d.lost_motion / minute, 3) for d in own]),
    ]
    return "<h4>Gears</h4>\n" + table_of_columns(columns)
