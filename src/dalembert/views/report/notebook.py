"""Notebook representations of objects: a table, and a small picture of what moves, as HTML without scripts.

Pictures are panels of the report as SVG; without Matplotlib there are only tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array, is_lazy
from dalembert.base.wording import counted
from dalembert.errors import DalembertError
from dalembert.views.report.arm_figures import arm_panels
from dalembert.views.report.colours import RED, joint_colour
from dalembert.views.report.drive_figures import light
from dalembert.views.report.figures import Panel, alone, over_time
from dalembert.views.report.html import extent, known, number, table, text
from dalembert.views.report.plots import joint_names
from dalembert.views.report.svg import FONT, figure_svg
from dalembert.views.report.tip_figures import at_tip
from dalembert.views.report.user_text import shortened
from dalembert.work.analysis.ellipsoid import Ellipsoid
from dalembert.work.identification.fitting.result import Identification
from dalembert.work.logs.log import Log
from dalembert.work.simulation.simulate import Run
from dalembert.work.sizing.drive_selection import DriveSelection
from dalembert.work.sizing.drive_sizing import Drives
from dalembert.work.sizing.monte_carlo import QUANTILES, MonteCarlo
from dalembert.work.sizing.sizing import Sizing, joint_units
from dalembert.work.trajectory.planning.trajectory import Trajectory
from dalembert.work.trajectory.timing.scaling import ScalingTable

PIXELS = 66  # per inch of a panel
ROWS = 24  # largest number of rows of a table; the remaining ones are counted
MARK = '<span style="color:{}">■</span> '


def shown(
    title: str,
    panels: Callable[[], list[Panel]],
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *notes: str,
) -> str:
    """Title, pictures side by side, table (cells are already HTML) and notes.

    An arm that cannot assume its configuration, or Matplotlib that is not installed, is a note instead of a picture.
    """
    said = [f"and {len(rows) - ROWS} more rows"] if len(rows) > ROWS else []
    pictures = ""
    try:
        pictures = "".join(map(_picture, panels()))
    except DalembertError as problem:
        said.append(f"no picture: {problem}")
    words = "; ".join(filter(None, (*said, *notes)))
    foot = f'<div style="font-size:12px;opacity:.75">{text(words)}</div>' if words else ""
    return (
        f'<div><div style="font-weight:600;margin:2px 0 4px">{text(title)}</div>'
        f'<div style="display:flex;flex-wrap:wrap;gap:8px 18px;align-items:flex-start">{pictures}'
        f'<div style="overflow-x:auto;max-width:100%">{table(columns, rows[:ROWS])}{foot}</div></div></div>'
    )


def _picture(panel: Panel) -> str:
    """The panel on a white sheet."""
    look = (
        f"width:{PIXELS * panel.size[0]:.0f}px;max-width:100%;background:#fff;font-family:{FONT};stroke-linejoin:round"
    )
    return f'<div style="{look}">{figure_svg(alone(panel), panel.title, "notebook")}</div>'


def _curves(t: Array, names: Sequence[str], x: Array, title: str) -> Panel:
    """A curve of x (N, n) for each joint, in its colour."""
    return over_time(title, t, [(joint_colour(i), name, x[:, i]) for i, name in enumerate(names)], ())


def _name(i: int, name: str) -> str:
    return MARK.format(joint_colour(i)) + text(shortened(name))


# -- arms and motions ----------------------------------------------------------------------------


def arm_html(arm: Arm) -> str:
    """An arm: its picture at home, and its joints with their limits."""
    units, rows = joint_units(arm), []
    for i, joint in enumerate(arm.robot.moving_joints):
        limits = joint.limits
        speed, effort = known(limits.velocity, units["speed"][i]), known(limits.effort, units["torque"][i])
        both = extent(limits.lower, limits.upper, units["position"][i])
        rows.append([_name(i, joint.name), text(joint.type), both, speed, effort])
    also = f", {len(arm.passive_names)} passive" if arm.passive_names else ""
    assert arm.robot.tip is not None
    title = f"{arm.name}: {counted(arm.n, 'joint')}{also}, {number(arm.robot.mass)} kg, tip {arm.robot.tip.link}"
    columns = ["joint", "type", "range", "speed limit", "effort limit"]
    return shown(title, lambda: arm_panels(arm, None)[:1], columns, rows)


def motion_html(motion: Trajectory) -> str:
    """A motion: positions over time, and the start, end and peak rates of every joint."""
    names = joint_names(motion.n, None)
    values = np.stack([motion.q[0], motion.q[-1], *(np.abs(x).max(axis=0) for x in (motion.qd, motion.qdd))], axis=1)
    rows = [[_name(i, name), *map(number, values[i])] for i, name in enumerate(names)]
    title = f"motion of {counted(motion.n, 'joint')}, {number(motion.duration)} s"
    columns = ["joint", "from (rad, m)", "to", "peak speed (/s)", "peak acceleration (/s²)"]
    picture = _curves(motion.t, names, motion.q, "Positions (rad, m)")
    return shown(title, lambda: [picture], columns, rows, *map(str, motion.events), *motion.notes)


def run_html(run: Run) -> str:
    """A simulated motion: the arm along it, positions over time, and the range and peaks of every joint."""
    arm, units, batch = run.arm, joint_units(run.arm), run.q.shape[:-2]
    q = run.q[(0,) * len(batch)]
    every = tuple(range(run.q.ndim - 1))
    positions = np.stack([q[0], q[-1], run.q.min(axis=every), run.q.max(axis=every)], axis=1)
    speeds = np.abs(run.qd).max(axis=every)
    for values in (positions, speeds):  # without rounding errors
        values[np.abs(values) < 1e-12 * np.abs(values).max(initial=0.0)] = 0.0
    rows = []
    for i, name in enumerate(arm.joint_names):
        cells = [(x, units["position"][i]) for x in positions[i]] + [(speeds[i], units["speed"][i])]
        cells += [] if batch else [(np.abs(run.tau[:, i]).max(), units["torque"][i])]
        rows.append([_name(i, name), *(f"{number(x)} {unit}" for x, unit in cells)])
    columns = ["joint", "initial", "final", "lowest", "highest", "peak speed", *([] if batch else ["peak |τ|"])]
    many = f"{int(np.prod(batch)):,} runs, the first one drawn, " if batch else ""
    title = f"run of {arm.name}: {many}{number(float(run.t[-1] - run.t[0]))} s, {len(run.t):,} samples"
    unit = " or ".join(sorted(set(units["position"]), reverse=True))

    def panels() -> list[Panel]:
        curves = _curves(run.t, arm.joint_names, q, f"Positions ({unit})")
        return [*arm_panels(arm, SimpleNamespace(t=run.t, q=q))[:1], curves]

    return shown(title, panels, columns, rows)


# -- results -------------------------------------------------------------------------------------


def ellipsoid_html(shape: Ellipsoid) -> str:
    """An ellipsoid: at the arm's tip, and its axes with their radii; for a batch only its shape."""
    unit = shape.units[0] if len(set(shape.units)) == 1 else "mixed units"
    of = "" if shape.arm is None else f" of {shape.arm.name}"
    title = f"{shape.what} ellipsoid{of}: {' '.join(shape.rows)}"
    batch = shape.radii.shape[:-1]
    if batch or is_lazy(shape.radii):
        rows = [[name, str(getattr(shape, name).shape)] for name in ("center", "axes", "radii")]
        return shown(f"{title}, batch {batch}", list, ["array", "shape"], rows)

    def panels() -> list[Panel]:
        drawn = shape.arm is not None and sum(row in "xyz" for row in shape.rows) >= 2
        return [at_tip(shape)] if drawn and np.isfinite(shape.radii).all() else []

    rows = [
        [str(k), f"{number(radius)} {unit}", ", ".join(number(x, 3) for x in axis)]
        for k, (radius, axis) in enumerate(zip(shape.radii, shape.axes.T, strict=True), 1)
    ]
    columns = ["axis", "radius", f"direction ({', '.join(shape.rows)})"]
    return shown(title, panels, columns, rows, f"centre {', '.join(map(number, shape.center))} {unit}")


def _records(title: str, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], note: str = "") -> str:
    """A table of records: for each heading the names of the fields that are shown under it, such as "torque_peak torque_unit"."""
    cells = [
        [" ".join(_cell(name, row.get(name)) for name in names.split()) for names in columns.values()] for row in rows
    ]
    return shown(title, list, list(columns), cells, note)


def _cell(name: str, value: Any) -> str:
    """The value of a field: a traffic light, words, a share in percent, or a number."""
    if name == "light":
        return light(value)
    if isinstance(value, str):
        return text(shortened(value))
    if value is None or np.isnan(value):
        return "–"
    return f"{value:.1%}" if name.startswith(("margin", "exceeded")) or name.endswith("margin") else number(value)


def sizing_html(sizing: Sizing) -> str:
    """A sizing: peak and RMS torque, speed and power of every joint, and their margins."""
    columns = {
        "joint": "joint", "peak torque": "torque_peak torque_unit", "margin": "torque_margin",
        "RMS torque": "torque_rms torque_unit", "peak speed": "speed_peak speed_unit", "its margin": "speed_margin",
        "peak power": "power_peak power_unit", "energy": "energy_given energy_unit",
    }  # fmt: skip
    title = f"sizing of {sizing.arm}: {number(sizing.duration)} s"
    return _records(title, sizing.table(), columns, "; ".join(sizing.exceeded[:3]))


def drives_html(drives: Drives) -> str:
    """Drives: the traffic light of every joint and the reason."""
    names = ("joint", "light", "motor", "gear", "deciding")
    return _records(f"drives of {counted(len(drives), 'joint')}", drives.table(), dict(zip(names, names, strict=True)))


def selection_html(selection: DriveSelection) -> str:
    """Drives from catalogues: the choice for every joint, its traffic light, and why nothing smaller suffices."""
    names = ("joint", "light", "motor", "gear", "ratio", selection.criterion, "deciding")
    title = f"{'lightest' if selection.criterion == 'mass' else 'cheapest'} drives of {selection.arm.name}"
    note = "; ".join(f"{joint}: {reasons[0]}" for joint, reasons in list(selection.reasons.items())[:3] if reasons)
    return _records(title, selection.table(), dict(zip(names, names, strict=True)), note)


def monte_carlo_html(study: MonteCarlo) -> str:
    """Robots of one design: the quantiles of the peak torques, and how many exceed the limits."""
    columns = {"peak torque of": "joint", "nominal": "nominal_peak unit"}
    columns |= {f"{quantile:.0%}": f"peak_{quantile:g}" for quantile in QUANTILES}
    columns |= {"limit": "limit", "margin at 95 %": "margin_0.95", "above the limit": "exceeded"}
    return _records(f"{len(study.peak):,} robots of the design {study.arm}", study.table(), columns)


def fit_html(fit: Identification) -> str:
    """An identification: the joint with the largest prediction error, and the parameters with their standard deviations."""
    worst = int(np.argmax(fit.run.joint_errors))
    curves = [
        ("#9aa6b2", "measured", fit.run.measured[:, worst]),
        (joint_colour(0), "predicted", fit.run.predicted[:, worst]),
        (RED, "difference", fit.run.residual[:, worst]),
    ]
    words = f"{shortened(fit.before.joint_names[worst])[:24]}: measured, predicted, difference"
    picture = over_time(words, fit.run.t, curves, ())
    rows = []
    for name, value, std, formula in zip(fit.names, fit.parameters, fit.std, fit.formulas, strict=True):
        error = "not determined" if np.isinf(std) else number(std, 2)
        rows.append([text(name), number(value), error, text(shortened(formula))])
    title = f"identification of {fit.before.name}: relative torque error {100 * fit.relative_error:.3g} %"
    if fit.validation_error is not None:
        title += f", on validation {100 * fit.validation_error:.3g} %"
    note = f"condition number {number(fit.condition, 3)}" + "".join(f"; {w}" for w in fit.warnings)
    if fit.selection is not None:
        note = " ".join([*fit.selection.sentences, note])
    return shown(title, lambda: [picture], ["base parameter", "value", "std", "formula"], rows, note)


def log_html(log: Log) -> str:
    """A log: positions and torques over time, and the range of every joint."""
    names = joint_names(log.n, None)
    ranges = [(np.nanmin(x, axis=0), np.nanmax(x, axis=0)) for x in (log.q, log.tau)]
    rows = [
        [_name(i, name), *(f"{number(low[i])} … {number(high[i])}" for low, high in ranges)]
        for i, name in enumerate(names)
    ]
    shown_values = ((log.q, "Positions (rad, m)"), (log.tau, "Torques (N m, N)"))
    panels = [_curves(log.t, names, x, title) for x, title in shown_values]
    title = f"{os.path.basename(log.source)}: {len(log):,} samples, {number(float(log.t[-1] - log.t[0]))} s"
    columns = ["joint", "position (rad, m)", "torque (N m, N)"]
    return shown(title, lambda: panels, columns, rows, *log.notes[:4])


def scaling_table_html(scaling: ScalingTable) -> str:
    """The table in its printed form."""
    rows = [[text(cell) for cell in row] for row in scaling.rows]
    return shown("time stretched by c", list, scaling.columns, rows, scaling.note)
