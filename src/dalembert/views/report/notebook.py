"""Notebook representations of objects: a small picture and a table, as HTML without scripts.

Everything is drawn as SVG by ``sketch.py``: no matplotlib, no style sheet, readable on light and on dark pages.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array, is_lazy
from dalembert.base.wording import counted
from dalembert.errors import DalembertError
from dalembert.views.report.arm_figures import configurations
from dalembert.views.report.arm_strokes import points_of, views_of
from dalembert.views.report.colours import RED, joint_colour
from dalembert.views.report.drive_figures import COLOURS, light, part_name
from dalembert.views.report.html import extent, known, number, text
from dalembert.views.report.plots import at_frame, curves_of, joint_names
from dalembert.views.report.skeleton import skeleton
from dalembert.views.report.sketch import arm_svg, bars_svg, curves_svg
from dalembert.views.report.user_text import shortened
from dalembert.work.analysis.ellipsoid import Ellipsoid, components
from dalembert.work.identification.fitting.result import Identification
from dalembert.work.logs.log import Log
from dalembert.work.simulation.simulate import Run
from dalembert.work.sizing.drive_selection import DriveSelection
from dalembert.work.sizing.drive_sizing import Drives
from dalembert.work.sizing.monte_carlo import QUANTILES, MonteCarlo
from dalembert.work.sizing.sizing import ROUNDING, Sizing, joint_units
from dalembert.work.trajectory.planning.trajectory import Trajectory
from dalembert.work.trajectory.timing.scaling import ScalingTable

ROWS = 24  # largest number of rows of a table; the remaining ones are counted
MARK = '<span style="color:{}">■</span> '


def shown(
    title: str, pictures: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = ""
) -> str:
    """Title, pictures side by side, table (cells are already HTML) and a note."""

    def line(cells: Iterable[str], tag: str, more: str = "") -> str:
        sides = itertools.chain(["left"], itertools.repeat("right"))
        looks = (f'{tag}{more} style="padding:2px 8px;text-align:{side}"' for side in sides)
        return "".join(f"<{look}>{cell}</{tag}>" for look, cell in zip(looks, cells, strict=False))

    head = line(map(text, columns), "th", ' scope="col"')
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows[:ROWS])
    if len(rows) > ROWS:
        note = f"and {len(rows) - ROWS} more rows{'; ' if note else ''}{note}"
    table = f'<table style="border-collapse:collapse;font-size:12px;margin:0"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    foot = f'<div style="font-size:12px;opacity:.75">{text(note)}</div>' if note else ""
    return (
        f'<div><div style="font-weight:600;margin:2px 0 4px">{text(title)}</div>'
        f'<div style="display:flex;flex-wrap:wrap;gap:8px 18px;align-items:flex-start">{"".join(pictures)}'
        f'<div style="overflow-x:auto;max-width:100%">{table}{foot}</div></div></div>'
    )


def _drawn(draw: Callable[[], str]) -> tuple[list[str], str]:
    """The picture, or a sentence in its place if the arm cannot assume this configuration."""
    try:
        return [draw()], ""
    except DalembertError as problem:
        return [], f"no picture: {problem}"


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
    pictures, note = _drawn(lambda: _arm_picture(arm, None))
    return shown(title, pictures, ["joint", "type", "range", "speed limit", "effort limit"], rows, note)


def _arm_picture(arm: Arm, motion: Any) -> str:
    q, path = configurations(arm, motion)
    poses = skeleton(arm, q if arm.n <= 12 else q[[0, -1]])
    return arm_svg(arm, poses, views_of(arm, poses)[0], path=path)


def motion_html(motion: Trajectory) -> str:
    """A motion: positions over time, and the start, end and peak rates of every joint."""
    names = joint_names(motion.n, None)
    values = np.stack([motion.q[0], motion.q[-1], *(np.abs(x).max(axis=0) for x in (motion.qd, motion.qdd))], axis=1)
    rows = [[_name(i, name), *map(number, values[i])] for i, name in enumerate(names)]
    title = f"motion of {counted(motion.n, 'joint')}, {number(motion.duration)} s"
    columns = ["joint", "from (rad, m)", "to", "peak speed (/s)", "peak acceleration (/s²)"]
    picture = curves_svg(motion.t, curves_of(names, motion.q), "positions (rad, m)")
    return shown(title, [picture], columns, rows, "; ".join([*map(str, motion.events), *motion.notes]))


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
    pictures, note = _drawn(lambda: _arm_picture(arm, SimpleNamespace(t=run.t, q=q)))
    unit = " or ".join(sorted(set(units["position"]), reverse=True))
    picture = curves_svg(run.t, curves_of(arm.joint_names, q), f"positions ({unit})")
    return shown(title, [*pictures, picture], columns, rows, note)


# -- results -------------------------------------------------------------------------------------


def ellipsoid_html(shape: Ellipsoid) -> str:
    """An ellipsoid: at the arm's tip, and its axes with their radii; for a batch only its shape."""
    unit = shape.units[0] if len(set(shape.units)) == 1 else "mixed units"
    of = "" if shape.arm is None else f" of {shape.arm.name}"
    title = f"{shape.what} ellipsoid{of}: {' '.join(shape.rows)}"
    batch = shape.radii.shape[:-1]
    if batch or is_lazy(shape.radii):
        rows = [[name, str(getattr(shape, name).shape)] for name in ("center", "axes", "radii")]
        return shown(f"{title}, batch {batch}", [], ["array", "shape"], rows)
    rows = [
        [str(k), f"{number(radius)} {unit}", ", ".join(number(x, 3) for x in axis)]
        for k, (radius, axis) in enumerate(zip(shape.radii, shape.axes.T, strict=True), 1)
    ]
    notes, pictures = [f"centre {', '.join(map(number, shape.center))} {unit}"], list[str]()
    if shape.arm is not None and sum(row in "xyz" for row in shape.rows) >= 2 and np.isfinite(shape.radii).all():
        pictures, note = _drawn(lambda: _ellipsoid_picture(shape))
        notes += [note] if note else []
    return shown(title, pictures, ["axis", "radius", f"direction ({', '.join(shape.rows)})"], rows, "; ".join(notes))


def _ellipsoid_picture(shape: Ellipsoid) -> str:
    assert shape.arm is not None and shape.q is not None
    arm = at_frame(shape.arm, shape.frame)
    poses = skeleton(arm, shape.q.reshape(1, -1))
    view = views_of(arm, poses)[0]
    _, edge = shape.shadow(view.matrix @ components(shape.rows, "xyz"), 61)
    scaled = 0.35 * view.extent(points_of(poses[0])) * edge / max(float(np.abs(edge).max()), 1e-300)
    return arm_svg(arm, poses, view, shape=scaled.T)


def sizing_html(sizing: Sizing) -> str:
    """A sizing: the utilisation of the tightest limit of every joint, and peak and RMS torque, speed and power."""
    torque, speed, power = sizing.torque, sizing.speed, sizing.power
    values = ((torque.peak, torque), (torque.rms, torque), (speed.peak, speed), (power.peak, power))
    rows = [
        [_name(i, name), *(f"{number(x[i])} {of.units[i]}" for x, of in values), number(sizing.energy[i])]
        for i, name in enumerate(sizing.joints)
    ]
    columns = ["joint", "peak torque", "RMS torque", "peak speed", "peak power", "energy (J)"]
    used = np.stack([x.used for x in (torque, speed, sizing.acceleration)])
    shares = np.where(np.isnan(used).all(axis=0), np.nan, np.nan_to_num(used, nan=0.0).max(axis=0))
    picture = _limit_bars(sizing.joints, shares, "largest utilisation of a limit")
    title = f"sizing of {sizing.arm}: {number(sizing.duration)} s"
    return shown(title, [picture], columns, rows, "; ".join(sizing.exceeded[:3]))


def _limit_bars(names: Sequence[str], shares: Array, title: str) -> str:
    """Utilisations of limits as bars, red where a limit is exceeded."""
    colours = [RED if share > 1 + ROUNDING else joint_colour(i) for i, share in enumerate(shares)]
    return bars_svg(names, shares, colours, title)


def drives_html(drives: Drives) -> str:
    """Drives: the utilisation of the deciding limit of every joint, its traffic light and the reason."""
    return _drives_shown(f"drives of {counted(len(drives), 'joint')}", drives, {})


def selection_html(selection: DriveSelection) -> str:
    """Drives from catalogues: the choice for every joint, its traffic light, and why nothing smaller suffices."""
    assert selection.sizing.drives is not None
    unit = " kg" if selection.criterion == "mass" else ""
    costs = {choice.joint: f"{number(choice.cost)}{unit}" for choice in selection.choices}
    title = f"{'lightest' if unit else 'cheapest'} drives of {selection.arm.name}"
    note = "; ".join(f"{joint}: {reasons[0]}" for joint, reasons in list(selection.reasons.items())[:3] if reasons)
    return _drives_shown(title, selection.sizing.drives, costs, selection.criterion, note)


def _drives_shown(title: str, drives: Drives, costs: dict[str, str], criterion: str = "", note: str = "") -> str:
    rows = []
    for drive in drives:
        parts = [text(part_name(part)) for part in (drive.motor, drive.gear)]
        own = [costs.get(drive.joint, "–")] if costs else []
        rows.append([text(shortened(drive.joint)), light(drive.light), *parts, *own, text(drive.verdict)])
    columns = ["joint", "light", "motor", "gear", *([criterion] if costs else []), "deciding"]
    shares = np.array([min(1.0 - drive.margin, 99.0) for drive in drives])
    joints, colours = [drive.joint for drive in drives], [COLOURS[drive.light] for drive in drives]
    picture = bars_svg(joints, shares, colours, "utilisation of the deciding limit")
    return shown(title, [picture], columns, rows, note)


def monte_carlo_html(study: MonteCarlo) -> str:
    """Robots of one design: the 99 % quantile of the utilisation of each limit, and the quantiles of the peak torques."""
    rows = []
    for i, row in enumerate(study.table()):
        numbers = [row["nominal_peak"], *(row[f"peak_{share:g}"] for share in QUANTILES), row["limit"]]
        above = "–" if np.isnan(row["exceeded"]) else f"{row['exceeded']:.2%}"
        rows.append([_name(i, f"{row['joint']} ({row['unit']})"), *(number(x) for x in numbers), above])
    columns = ["peak torque of", "nominal", *(f"{share:.0%}" for share in QUANTILES), "limit", "above it"]
    picture = _limit_bars(study.joints, 1.0 - study.margin(0.99), "utilisation of the limit, 99 % quantile")
    return shown(f"{len(study.peak):,} robots of the design {study.arm}", [picture], columns, rows)


def fit_html(fit: Identification) -> str:
    """An identification: the joint with the largest prediction error, and the parameters with their standard deviations."""
    worst = int(np.argmax(fit.run.joint_errors))
    curves = [
        ("#9aa6b2", "measured", fit.run.measured[:, worst]),
        (joint_colour(0), "predicted", fit.run.predicted[:, worst]),
        (RED, "difference", fit.run.residual[:, worst]),
    ]
    words = f"{shortened(fit.before.joint_names[worst])[:24]}: measured, predicted, difference"
    picture = curves_svg(fit.run.t, curves, words)
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
    return shown(title, [picture], ["base parameter", "value", "std", "formula"], rows, note)


def log_html(log: Log) -> str:
    """A log: positions and torques over time, and the range of every joint."""
    names = joint_names(log.n, None)
    ranges = [(np.nanmin(x, axis=0), np.nanmax(x, axis=0)) for x in (log.q, log.tau)]
    rows = [
        [_name(i, name), *(f"{number(low[i])} … {number(high[i])}" for low, high in ranges)]
        for i, name in enumerate(names)
    ]
    pictures = [
        curves_svg(log.t, curves_of(names, x), title)
        for x, title in ((log.q, "positions (rad, m)"), (log.tau, "torques (N m, N)"))
    ]
    title = f"{os.path.basename(log.source)}: {len(log):,} samples, {number(float(log.t[-1] - log.t[0]))} s"
    return shown(title, pictures, ["joint", "position (rad, m)", "torque (N m, N)"], rows, "; ".join(log.notes[:4]))


def scaling_table_html(table: ScalingTable) -> str:
    """The table in its printed form."""
    rows = [[text(cell) for cell in row] for row in table.rows]
    return shown("time stretched by c", [], table.columns, rows, table.note)
