"""The report on an identification: measured and predicted torques, residuals, spectra, parameters with error bars."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.base.environment.progress import OfFraction, Progress, part_of, reporting
from dalembert.base.files import HTML, check_writable, whole_file
from dalembert.views.report.colours import INK, JOINTS, RED, SOFT
from dalembert.views.report.comparison_page import comparison_section
from dalembert.views.report.figures import HALF, Key, Panel, assemble, draw_dots, wide_panels
from dalembert.views.report.folds_section import folds_section
from dalembert.views.report.html import Byline, cards, csv_text, download, error_text, grid, number, page, table, text
from dalembert.views.report.selection_section import selection_section
from dalembert.views.report.user_text import literal
from dalembert.work.identification.fitting.parameter_set import SLOPE_UNITS
from dalembert.work.identification.fitting.result import Identification, PredictedRun
from dalembert.work.identification.records.fit_comparison import FitTrend
from dalembert.work.logs.conditioning import spectrum
from dalembert.work.sizing.sizing import joint_units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MEASURED, PREDICTED, RESIDUAL = ("#a9b4bf", "measured"), (JOINTS[0], "predicted"), (RED, "residual")
CUTOFF, VELOCITY = (JOINTS[1], "cut-off of the low-pass"), (JOINTS[2], "velocity, on its own scale")
MOST = 1500  # largest number of points per line
DOTS = 500  # residuals that are drawn against position and against velocity
BINS = 16  # bins of position or velocity for the mean of the residuals
LEFT = 0.84  # inches beside axes with a label
SPECTRA = (
    "<p>Power spectral densities of the torques. The cut-off should lie where the power of the motion has decayed and only noise "
    "remains: below it, the logged velocities (noise floor subtracted), the torques and the residual are used; above it, nothing "
    "is used.</p>"
)
AGAINST = (
    "<p>Where the mean of the residuals differs from zero, the model lacks a term: a dependence on position indicates gravity, "
    "springs or torque ripple, a dependence on velocity indicates friction.</p>"
)


def write_identification(
    path: str | os.PathLike[str],
    fit: Identification,
    *,
    title: str | None = None,
    author: str | None = None,
    note: str | None = None,
    date: str | datetime.date | None = None,
    compared: FitTrend | None = None,
    overwrite: bool = False,
    progress: OfFraction | None = None,
) -> None:
    """Write the report atomically. It is self-contained; title, author, note and date as for
    :func:`dalembert.write_report`. ``compared``: a result of :func:`dalembert.compare_fits`, shown in a section of its own."""
    check_writable(path, overwrite=overwrite, kinds=HTML)
    text_of_page = identification_html(fit, progress, title=title, byline=Byline(author, date, note), compared=compared)
    with whole_file(path, overwrite=overwrite) as file:
        file.write(text_of_page)


def identification_html(
    fit: Identification,
    progress: OfFraction | None = None,
    *,
    title: str | None = None,
    byline: Byline | None = None,
    compared: FitTrend | None = None,
) -> str:
    """The page as text."""
    runs = [fit.run, *fit.validation]
    parts = [_summary(fit), _notes(fit), error_tables(fit, runs)]
    parts += [] if fit.selection is None else [selection_section(fit.selection)]
    tell, steps = reporting(progress), len(runs) + 3

    def share(k: int) -> Progress:
        return part_of(tell, k / steps, (k + 1) / steps)

    for k, run in enumerate(runs):
        word = "the identification run" if k == 0 else f"validation run {k}" if len(runs) > 2 else "the validation run"
        parts.append(f'<h2 id="run-{k}">Torques of {word}</h2><p class="soft">{text(run.name)}</p>')
        parts.append(grid(_run_panels(fit, run, "torque"), f"run-{k}", f"of {word}", progress=share(k)))
        parts.append("<h3>Residuals, measured − predicted</h3>")
        parts.append(grid(_run_panels(fit, run, "residual"), f"residual-{k}", f"of {word}"))
    parts.append(f'<h2 id="residuals">Residuals against position and velocity</h2>{AGAINST}')
    parts.append(grid(_against_panels(fit), "against", "of the identification run", progress=share(len(runs))))
    spectra = grid(_spectrum_panels(fit), "spectra", "of the identification run", progress=share(len(runs) + 1))
    parts += ['<h2 id="spectra">Spectra</h2>', SPECTRA, spectra]
    parts += [_parameters(fit), _terms(fit)]
    parts += [] if fit.folds is None else [folds_section(fit, fit.folds)]
    parts += [] if compared is None else [comparison_section(compared)]
    parts.append(_downloads(fit, runs))
    tell("writing", 1.0)
    about = f"{fit.method} least squares" + (", physically consistent" if fit.physical else "")
    links = [] if fit.selection is None else [("selection", "Model selection")]
    links += [("run-0", "Torques"), ("residuals", "Residuals"), ("spectra", "Spectra"), ("parameters", "Parameters")]
    links += [] if fit.folds is None else [("folds", "Cross-validation")]
    links += [] if compared is None else [("comparison", "Comparison")]
    title = title or f"{fit.before.name}: identified parameters"
    return page(title, text(f"Identification report: {about}, from {fit.run.name}"), links, parts, byline)


def remarks(fit: Identification) -> tuple[str, ...]:
    """Remarks on an identification besides its warnings, one sentence each, for the terminal and the page: how the log
    was processed, what the fit suggests, and what cannot be realised by a body or stored in a robot file."""
    return tuple(dict.fromkeys((*fit.notes, *fit.arm_notes)))


def verdict(fit: Identification) -> str:
    """The number of parameters and how well they are determined, as a sentence for the terminal and the page."""
    definite = "positive definite" if fit.positive_definite else "not positive definite"
    return (
        f"{len(fit.parameters)} base parameters, {len(fit.essential)} essential; condition number {fit.condition:.4g}, "
        f"{fit.scaled_condition:.3g} with columns of length one; "
        f"B(q) is {definite} at 10,000 random poses (smallest eigenvalue {fit.smallest_inertia:.3g})"
    )


def numbering(arm: Arm) -> str:
    """Which joint has which number in the names of parameters; empty if the numbers are those of q."""
    names = ", ".join(f"{k} {joint.name}" for k, joint in enumerate(arm.robot.tree_joints, 1))
    return f"Parameters are numbered by all moving joints: {names}." if arm.passive_names else ""


def percent(share: float) -> str:
    """A relative deviation, with a suitable number of digits.

    >>> percent(0.01234), percent(1.5), percent(20.0)
    ('1.2 %', '150 %', '> 1000 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %" if share < 10 else "> 1000 %"


def _summary(fit: Identification) -> str:
    facts = [(f"{100 * fit.relative_error:.2f} %", "relative torque error, identification")]
    facts += [(f"{100 * run.relative_error:.2f} %", "relative torque error, validation") for run in fit.validation]
    facts += [
        (f"{len(fit.parameters)}", f"base parameters, {len(fit.essential)} of them essential"),
        (number(fit.condition, 3), "condition number of the regressor"),
        ("yes" if fit.positive_definite else "no", "B(q) positive definite at 10,000 random poses"),
        (f"{number(fit.run.conditioned.cutoff, 3)} Hz", "cut-off of the low-pass"),
    ]
    return f"<h2>At a glance</h2>{cards(facts)}<p>{text(verdict(fit))}.</p>"


def _notes(fit: Identification) -> str:
    lines = [f"<li><b>{text(w)}</b></li>" for w in fit.warnings] + [f"<li>{text(n)}</li>" for n in remarks(fit)]
    return f'<h3>Processing and remarks</h3><ul class="notes">{"".join(lines)}</ul>' if lines else ""


def error_tables(fit: Identification, runs: list[PredictedRun]) -> str:
    """Tables of the relative errors of all joints and of each, for all samples, moving and at rest, and of the rms
    residuals."""
    joints, units = fit.before.joint_names, joint_units(fit.before)["torque"]
    names = [text(os.path.basename(run.name)) for run in runs]
    rows = [
        [name if instants == "all" else "", instants, *map(error_text, (overall, *each))]
        for name, run in zip(names, runs, strict=True)
        for instants, overall, each in run.error_table
    ]
    rms = [[name, *(number(e, 3) for e in run.rms)] for name, run in zip(names, runs, strict=True)]
    held = ""
    if any(run.resting.any() for run in runs):
        held = (
            "<p>At rest, friction can take any value between its two levels. A joint at rest is predicted to hold "
            f"{100 * fit.held_friction:.0f} % of its dry friction in the direction of its last motion, which explains the "
            "identification run best; 0 % is the middle between both levels.</p>"
        )
    return (
        "<h3>Relative torque error, ‖measured − predicted‖ / ‖measured‖</h3>"
        + table(["run", "samples", "all joints", *joints], rows) + held
        + "<h3>Root mean square of the residual</h3>"
        + table(["run", *(f"{joint} ({unit})" for joint, unit in zip(joints, units, strict=True))], rms)
    )  # fmt: skip


def _in_time(run: PredictedRun) -> tuple[Array, NDArray[np.intp]]:
    """The samples to be drawn, and their rows; a line is interrupted where a piece of the log ends."""
    rows = np.arange(0, len(run.t), max(1, -(-len(run.t) // MOST)))
    t = run.t[rows].astype(float)
    usual = float(np.median(np.diff(t))) if len(t) > 1 else 1.0
    gaps = np.flatnonzero((np.diff(t) < 0) | (np.diff(t) > 20 * usual)) + 1
    return np.insert(t, gaps, np.nan), np.insert(rows, gaps, 0)


def _run_panels(fit: Identification, run: PredictedRun, what: str) -> list[Panel]:
    """The measured and predicted torque of every joint over time, or its residual."""
    curves = {MEASURED: (run.measured, 3.0), PREDICTED: (run.predicted, 1.1)}
    if what == "residual":
        curves = {RESIDUAL: (run.residual, 0.9)}
    t, rows = _in_time(run)

    def draw(axes: Axes, j: int, unit: str) -> None:
        if what == "residual":
            axes.axhline(0, color=SOFT, lw=0.7)
        for (colour, _), (x, width) in curves.items():
            axes.plot(t, x[rows, j], color=colour, lw=width)
        _labelled(axes, "time (s)", f"{what} ({unit})")

    return _by_joint(fit, draw, tuple(curves))


def _against_panels(fit: Identification) -> list[Panel]:
    """The residual of every joint against its position and against its velocity, with the mean in a number of bins."""
    ready = fit.run.conditioned
    pieces = list(zip(ready.pieces, ready.kept, strict=True))
    q, qd = (np.concatenate([getattr(piece, name)[at] for piece, at in pieces]) for name in ("q", "qd"))
    every = np.arange(0, len(q), max(1, -(-len(q) // DOTS)))

    def draw(axes: Axes, j: int, unit: str, x: Array, label: str) -> None:
        residual = fit.run.residual[:, j]
        axes.axhline(0, color=SOFT, lw=0.7)
        draw_dots(axes, x[every, j], residual[every], RESIDUAL[0], 1.6)
        edges = np.linspace(x[:, j].min(), x[:, j].max(), BINS + 1)
        which = np.clip(np.digitize(x[:, j], edges) - 1, 0, BINS - 1)
        filled = [k for k in range(BINS) if np.count_nonzero(which == k) >= 5]
        centres = 0.5 * (edges[1:] + edges[:-1])
        axes.plot(centres[filled], [residual[which == k].mean() for k in filled], color=INK, lw=1.4)
        _labelled(axes, label, f"residual ({unit})")

    units, key, out = joint_units(fit.before), (RESIDUAL, (INK, f"its mean in {BINS} bins")), []
    for j, name in enumerate(fit.before.joint_names):
        for x, letter, what in ((q, "q", "position"), (qd, "q̇", "speed")):
            shown = partial(draw, j=j, unit=units["torque"][j], x=x, label=f"{letter} ({units[what][j]})")
            out.append(Panel(name, shown, key, HALF, left=LEFT))
    return out


def _by_joint(fit: Identification, draw: Callable[..., None], key: tuple[Key, ...]) -> list[Panel]:
    """A panel for each joint j, drawn by ``draw(axes, j=j, unit=unit of its torque)``."""
    joints = zip(fit.before.joint_names, joint_units(fit.before)["torque"], strict=True)
    return [Panel(name, partial(draw, j=j, unit=unit), key, HALF, left=LEFT) for j, (name, unit) in enumerate(joints)]


def _labelled(axes: Axes, across: str, up: str) -> None:
    axes.set_xlabel(across, labelpad=1)
    axes.set_ylabel(up)


def _spectrum_panels(fit: Identification) -> list[Panel]:
    """Spectra of the measured and predicted torque, the residual and the velocity of every joint."""
    with extra("identify", "the report on an identification"):
        from scipy.signal import welch

    ready = fit.run.conditioned
    f, motion = spectrum(ready.log, ready.rate)
    piece = max(ready.pieces, key=lambda p: len(p.t))
    gains = 1.0 if fit.gains is None else fit.gains
    measured, predicted = piece.tau * gains, fit.torque_of(piece)
    window = min(len(piece.t), int(20 * ready.rate / ready.cutoff))
    torques = np.stack([measured, predicted, measured - predicted])
    g, densities = welch(torques, ready.rate, nperseg=window, axis=1, detrend="constant")
    end = min(0.5 * ready.rate, 20 * ready.cutoff)
    which = np.digitize(f, np.geomspace(max(float(f[1]), end / 2000), end, 200))
    bins = [which == k for k in range(200) if (which == k).any()]
    use = (g > 0) & (g <= end)

    def draw(axes: Axes, j: int, unit: str) -> None:
        high = max(float(densities[0][use, j].max(initial=0.0)), 1e-300)
        y = np.array([motion[inside, j].mean() for inside in bins])
        y = np.where(y > 1e-9 * y.max(initial=0.0), y * (high / max(float(y.max(initial=0.0)), 1e-300)), np.nan)
        axes.loglog([f[inside].mean() for inside in bins], y, color=VELOCITY[0], lw=1.0)
        looks = ((MEASURED, 3.0), (PREDICTED, 1.1), (RESIDUAL, 1.0))
        for ((colour, _), width), density in zip(looks, densities, strict=True):
            axes.loglog(g[use], np.maximum(density[use, j], 1e-12 * high), color=colour, lw=width)
        axes.axvline(ready.cutoff, color=CUTOFF[0], lw=1.4)
        _labelled(axes, "frequency (Hz)", f"density (({unit})²/Hz)")

    return _by_joint(fit, draw, (MEASURED, PREDICTED, RESIDUAL, VELOCITY, CUTOFF))


def _parameters(fit: Identification) -> str:
    """The parameters as a table and with error bars."""
    values, std = fit.parameters, fit.std
    rows = []
    for k, (name, formula) in enumerate(zip(fit.names, fit.formulas, strict=True)):
        mark = "not determined" if name in fit.unidentified else "yes" if name in fit.essential else "no"
        shown = text(percent(fit.relative_std[k])) if np.isfinite(fit.relative_std[k]) else "–"
        sum_of = f'<span class="soft">{text(formula)}</span>'
        rows.append([f"<b>{text(name)}</b>", number(values[k]), number(std[k], 2), shown, mark, sum_of])

    before = fit.base.values
    finite = np.flatnonzero(np.isfinite(std))

    def draw(axes: Any, some: Any) -> None:
        size = np.maximum(np.maximum(np.abs(values[some]), np.abs(before[some])), 1e-300)
        x, bars = np.arange(len(some)), np.minimum(2 * std[some] / size, 3)
        axes.errorbar(x, values[some] / size, bars, fmt="o", ms=3.5, lw=1, color=JOINTS[0], capsize=2)
        axes.plot(x, before[some] / size, "_", ms=9, color=JOINTS[1])
        axes.set_xticks(x, [literal(fit.names[k]) for k in some], rotation=90, fontsize=7)
        axes.set_ylim(-1.6, 1.6)

    title = "Parameters with ±2 standard deviations, relative to the larger of identified and original value"
    key = ((JOINTS[0], "identified"), (JOINTS[1], "original arm"))
    panels = wide_panels(title, finite, draw, key)
    return (
        '<h2 id="parameters">Parameters</h2><p>Base parameters in SI units; the standard deviations account for '
        f"the autocorrelation of the residuals. {text(numbering(fit.before))}</p>"
        + grid(panels, "parameters", "parameters", across="one")
        + table(["parameter", "value", "std", "relative std", "essential", "composition"], rows, words=True)
    )


def _terms(fit: Identification) -> str:
    """Friction, springs and losses of every joint of the calibrated arm."""
    joints = fit.arm.robot.tree_joints
    rows = [(joint.name, term.text_at(joint.type)) for joint in joints for term in joint.friction]
    for name, (usual, viscous, coulomb) in fit.temperature_slopes.items():
        sizes = f"viscous {number(viscous)} {SLOPE_UNITS['FvT']}, Coulomb {number(coulomb)} {SLOPE_UNITS['FsT']}"
        rows.append((name, f"temperature, above a mean of {number(usual)} °C: {sizes}"))
    heading, cells = "<h3>Friction and other terms of the calibrated arm</h3>", [list(map(text, row)) for row in rows]
    return heading + table(["joint", "term"], cells, words=True) if rows else ""


def _downloads(fit: Identification, runs: list[PredictedRun]) -> str:
    rows = zip(fit.names, fit.parameters, fit.std, strict=True)
    values = "name,value,std\n" + "".join(f"{name},{value:.12g},{std:.6g}\n" for name, value, std in rows)
    items = download("parameters.csv", "the parameters", values)
    names = ["t", *(f"{what}{j + 1}" for what in ("measured", "predicted") for j in range(fit.before.n))]
    for k, run in enumerate(runs):
        torques = csv_text(names, (run.t, run.measured, run.predicted))
        items += download(f"torques-{k}.csv", f"torques of {os.path.basename(run.name)}", torques)
    return f'<h3 class="for-screen">Numbers</h3><ul class="downloads">{items}</ul>'


def identification_figure(fit: Identification, run: PredictedRun | None = None) -> Figure:
    """See :meth:`Identification.plot`."""
    run = fit.run if run is None else run
    pairs = zip(*(_run_panels(fit, run, what) for what in ("torque", "residual")), strict=True)
    return assemble([panel for pair in pairs for panel in pair], 2)
