"""The report on an identification: measured and predicted torques, residuals, spectra, parameters with error bars."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.base.environment.progress import OfFraction, Progress, part_of, reporting
from dalembert.views.report.colours import INK, JOINTS, RED, SOFT, joint_colour
from dalembert.views.report.comparison_page import comparison_section, error_bar_panels
from dalembert.views.report.figures import HALF, WHOLE, Axes, Figure, Key, Panel, assemble, draw_dots
from dalembert.views.report.html import Byline, cards, csv_text, download, error_text, grid, number, page, table, text
from dalembert.views.report.user_text import literal, shortened
from dalembert.work.closed_loop.position_fit import ClosedLoopFit, LoopRun
from dalembert.work.fits.fit_comparison import FitTrend
from dalembert.work.fits.leave_one_out import Folds
from dalembert.work.identification.fitting.parameter_set import SLOPE_UNITS
from dalembert.work.identification.fitting.result import Identification, PredictedRun
from dalembert.work.identification.selection.model_search import WORTH
from dalembert.work.identification.selection.selection_result import Selection, Trial
from dalembert.work.identification.selection.selection_result import percent as held_out
from dalembert.work.logs.conditioning import spectrum
from dalembert.work.simulation.servo import LIMITLESS
from dalembert.work.sizing.sizing import joint_units

MEASURED, PREDICTED, RESIDUAL = ("#a9b4bf", "measured"), (JOINTS[0], "predicted"), (RED, "residual")
CUTOFF, VELOCITY = (JOINTS[1], "cut-off of the low-pass"), (JOINTS[2], "velocity, on its own scale")
WIDTHS = {MEASURED: 3.0, PREDICTED: 1.1, RESIDUAL: 0.9}
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
LOSS = -0.6  # gains below this are drawn at the edge of their panel
ROW, LETTER = 0.2, 0.076  # inches: height of a row of a panel, and width of a letter beside it
CHOSEN, REJECTED = (JOINTS[0], "chosen"), (SOFT, "not chosen")
BEST = 3  # laws per joint that are shown in the table although they were not chosen; the others are collapsed
TRIED = ("tried", "held-out error", "gain ± standard error", "parameters", "")
CANDIDATES = (
    "<p>The parts are the runs of the log or, of a single run, blocks of time. Every candidate was fitted to all parts of the log but one and evaluated on that "
    "one, for each part. The held-out error is ‖measured − predicted‖ / ‖measured‖ over all joints. The gain is the relative "
    "reduction of the squared error, with the joints weighted equally, so that a small joint counts as much as a large one: for a "
    "law, relative to the error of its joint; for an estimator, to the first one. A law with more "
    "parameters is accepted if its gain exceeds {errors} of the difference, and {worth:g} % of the error of its joint. A law with "
    "a sufficient gain that was not chosen has a coefficient with an impossible sign, was superseded by another law, or was "
    "removed at the end. A shared drive belongs to a joint and the next one. A law that also helps other joints, such as a shared "
    "drive, can gain more than 100 % of the error of its own joint. Held-out errors refer to the model at the time of the trial, "
    "so laws that were chosen early have larger ones. In the pictures, a triangle marks a loss beyond the edge.</p>"
)
FOLDS = (
    "<p>The whole identification was repeated without each part, and that part was predicted. The spread of the estimates gives a "
    "standard deviation without assumptions about the residuals (jackknife); its ratio to the one by formula should be about 1.</p>"
)


def identification_html(
    fit: Identification,
    progress: OfFraction | None = None,
    *,
    title: str | None = None,
    compared: FitTrend | None = None,
    **byline: Any,
) -> str:
    """The page as text, which is self-contained; title, author, note and date as for :func:`dalembert.write_report`.

    compared  a result of :func:`dalembert.compare_fits`, shown in a section of its own
    """
    runs = [fit.run, *fit.validation]
    parts = [_summary(fit), _notes(fit), error_tables(fit, runs)]
    parts += [] if fit.selection is None else [selection_section(fit.selection)]
    parts += [] if fit.closed_loop is None else [loop_section(fit, fit.closed_loop)]
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
    links += [] if fit.closed_loop is None else [("closed-loop", "Closed loop")]
    links += [("run-0", "Torques"), ("residuals", "Residuals"), ("spectra", "Spectra"), ("parameters", "Parameters")]
    links += [] if fit.folds is None else [("folds", "Cross-validation")]
    links += [] if compared is None else [("comparison", "Comparison")]
    title = title or f"{fit.before.name}: identified parameters"
    return page(title, text(f"Identification report: {about}, from {fit.run.name}"), links, parts, Byline(**byline))


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


def gain_rows(fit: Identification, loop: ClosedLoopFit) -> list[list[str]]:
    """The gains of each joint ± their errors, and the error of its position: rows of a table with the joints as columns."""
    rows = []
    for name, values in loop.gains.items():
        errors = loop.gains_std[name]
        if np.all(values < LIMITLESS):
            rows.append([name, *(_with_spread(x, e) for x, e in zip(values, errors, strict=True))])
    return [*rows, ["RMS error of q", *(number(x, 3) for x in loop.run.rms)]]


def _with_spread(value: float, error: float) -> str:
    if not np.isfinite(error):
        return f"{number(value, 4)} (not determined)"
    return number(value, 4) + (f" ± {number(error, 2)}" if error else "")


def loop_section(fit: Identification, loop: ClosedLoopFit) -> str:
    """The gains of the controller, and the tracking error as measured and as the simulated loop predicts it."""
    runs, joints = [loop.run, *loop.validation], fit.before.joint_names
    unexplained = ", ".join(f"{percent(run.relative_error)} ({text(os.path.basename(run.name))})" for run in runs)
    errors = {MEASURED: loop.run.commanded - loop.run.measured, PREDICTED: loop.run.commanded - loop.run.predicted}
    panels = _over_time(fit, loop.run, errors, "q_d − q", "position")
    return (
        '<h2 id="closed-loop">Closed loop</h2><p>The parameters were identified from positions: the loop of controller and arm '
        f"was simulated, and fitted to them. Not explained of the tracking error: {unexplained}.</p>"
        + table(["", *joints], gain_rows(fit, loop))
        + "<h3>Tracking error</h3>"
        + grid(panels, "tracking", "of the identification run")
    )


def _run_panels(fit: Identification, run: PredictedRun, what: str) -> list[Panel]:
    """The measured and predicted torque of every joint over time, or its residual."""
    torques = {MEASURED: run.measured, PREDICTED: run.predicted}
    return _over_time(fit, run, torques if what == "torque" else {RESIDUAL: run.residual}, what)


def _over_time(
    fit: Identification, run: PredictedRun | LoopRun, curves: dict[Key, Array], what: str, quantity: str = "torque"
) -> list[Panel]:
    """Curves over the time of a run for every joint; a line is interrupted where a piece of the log ends."""
    rows = np.arange(0, len(run.t), max(1, -(-len(run.t) // MOST)))
    t = run.t[rows].astype(float)
    usual = float(np.median(np.diff(t))) if len(t) > 1 else 1.0
    gaps = np.flatnonzero((np.diff(t) < 0) | (np.diff(t) > 20 * usual)) + 1
    t, rows = np.insert(t, gaps, np.nan), np.insert(rows, gaps, 0)

    def draw(axes: Axes, j: int, unit: str) -> None:
        if RESIDUAL in curves:
            axes.axhline(0, color=SOFT, lw=0.7)
        for key, x in curves.items():
            axes.plot(t, x[rows, j], color=key[0], lw=WIDTHS[key])
        axes.set(xlabel="time (s)", ylabel=f"{what} ({unit})")

    return _by_joint(fit, draw, tuple(curves), quantity)


def _against_panels(fit: Identification) -> list[Panel]:
    """The residual of every joint against its position and against its velocity, with the mean in a number of bins."""
    q, qd = fit.run.motion["q"], fit.run.motion["qd"]
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
        axes.set(xlabel=label, ylabel=f"residual ({unit})")

    units, key, out = joint_units(fit.before), (RESIDUAL, (INK, f"its mean in {BINS} bins")), []
    for j, name in enumerate(fit.before.joint_names):
        for x, letter, what in ((q, "q", "position"), (qd, "q̇", "speed")):
            shown = partial(draw, j=j, unit=units["torque"][j], x=x, label=f"{letter} ({units[what][j]})")
            out.append(Panel(name, shown, key, HALF, left=LEFT))
    return out


def _by_joint(
    fit: Identification, draw: Callable[..., None], key: tuple[Key, ...], quantity: str = "torque"
) -> list[Panel]:
    """A panel for each joint j, drawn by ``draw(axes, j=j, unit=unit of its torque or other quantity)``."""
    joints = zip(fit.before.joint_names, joint_units(fit.before)[quantity], strict=True)
    return [Panel(name, partial(draw, j=j, unit=unit), key, HALF, left=LEFT) for j, (name, unit) in enumerate(joints)]


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
        axes.set(xlabel="frequency (Hz)", ylabel=f"density (({unit})²/Hz)")

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

    pairs = zip(fit.names, np.column_stack([values, fit.base.values]), np.column_stack([std, 0 * std]), strict=True)
    known = [row for row in pairs if np.isfinite(row[2]).all()]
    panels = error_bar_panels(known, ((JOINTS[0], "identified"), (JOINTS[1], "original arm")))
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


# -- model selection ---------------------------------------------------------------------------------


def selection_section(selection: Selection) -> str:
    """The section: reasons, pictures, the table of the chosen and the best other candidates, the remaining ones collapsed."""
    lines = "".join(f"<li>{text(sentence)}</li>" for sentence in selection.sentences)
    count = selection.standard_errors
    errors = "one standard error" if count == 1 else f"{count:g} standard errors"
    parts = [
        f'<h2 id="selection">Model selection</h2><ul class="notes">{lines}</ul>',
        CANDIDATES.format(errors=errors, worth=100 * WORTH),
    ]
    if panels := gain_panels(selection):
        parts += ["<h3>Laws of the joints</h3>", grid(panels, "selection", "of the model selection")]
    shown, folded = ranked(selection)
    parts += ["<h3>Candidates</h3>", _trial_table(shown)]
    if folded:
        summary = f"<summary>{len(folded)} further candidates that were not chosen</summary>"
        parts.append(f"<details>{summary}{_trial_table(folded)}</details>")
    return "".join(parts)


def ranked(selection: Selection) -> tuple[list[Trial], list[Trial]]:
    """(the chosen laws and the ``BEST`` others of each joint, estimators; all remaining trials)."""
    shown, folded = list[Trial](), list[Trial]()
    for joint in selection.structure:
        mine = laws_at(selection, joint)
        others = [trial for trial in mine if not trial.chosen]
        shown += [trial for trial in mine if trial.chosen] + others[:BEST]
        folded += others[BEST:]
    return [*shown, *selection.tried("estimator")], folded


def laws_at(selection: Selection, joint: str) -> list[Trial]:
    """The laws that were tried at a joint, the largest gain first."""
    return sorted((trial for trial in selection.trials if trial.joint == joint), key=lambda trial: -trial.gain)


def _trial_table(trials: Sequence[Trial]) -> str:
    """The trials, with a heading before those of each joint."""
    rows = []
    for name, some in itertools.groupby(trials, key=lambda trial: trial.joint or trial.choice):
        rows += [[f'<span class="soft">{text(name)}</span>', *[""] * 4], *(_trial_row(trial) for trial in some)]
    return table(TRIED, rows)


def _trial_row(trial: Trial) -> list[str]:
    gain = 100 * trial.gain
    signed = number(round(gain, 1 if abs(gain) < 10 else 0), 6, sign=True)
    words = f"{signed} ± {number(100 * trial.spread, 2)} %" if trial.spread else "–"
    more = "–" if trial.choice == "estimator" else number(trial.parameters, sign=True)
    cells = [text(trial.option), text(held_out(trial.error)), words, more]
    return [f"<b>{cell}</b>" for cell in (*cells, "chosen")] if trial.chosen else [*cells, ""]


def gain_panels(selection: Selection) -> list[Panel]:
    """For every joint the gains of the laws that were tried there with their standard errors, one row per law."""
    joints = [(f"{k} {joint}", laws_at(selection, joint)) for k, joint in enumerate(selection.structure, 1)]
    left = 0.2 + LETTER * max((len(_label(trial)) for _, trials in joints for trial in trials), default=0)

    def draw(axes: Axes, trials: Sequence[Trial]) -> None:
        high = max(0.05, *(trial.gain + trial.spread for trial in trials))
        low = min(-0.05, max(LOSS * max(1.0, high), min(trial.gain - trial.spread for trial in trials)))
        axes.axvline(0, color=SOFT, lw=0.9, zorder=0.9)
        for k, trial in enumerate(trials):
            mark, spread = ("<", 0.0) if trial.gain < low else ("o", 100 * trial.spread)
            colour, size = (CHOSEN[0], 5.5) if trial.chosen else (REJECTED[0], 4.0)
            axes.errorbar(
                100 * max(trial.gain, low), k, xerr=spread, fmt=mark, ms=size, lw=1.2, capsize=2.0, color=colour
            )
        axes.set_yticks(range(len(trials)), [literal(_label(trial)) for trial in trials], fontsize=8)
        for tick, trial in zip(axes.get_yticklabels(), trials, strict=True):
            tick.set_color(CHOSEN[0] if trial.chosen else INK)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        room = 0.05 * (high - low)
        axes.set(xlim=(100 * (low - room), 100 * (high + room)), ylim=(len(trials) - 0.4, -0.6))
        axes.set_xlabel("gain (%)", labelpad=1)

    look, width = (CHOSEN, REJECTED), HALF[0]
    return [
        Panel(name, partial(draw, trials=x), look, (width, 0.9 + ROW * len(x)), 0.46, min(left, 0.55 * width))
        for name, x in joints if x
    ]  # fmt: skip


def _label(trial: Trial) -> str:
    """The candidate in few words: "shared drive, ratio −1", "gas spring, shortest at 3.9 rad"."""
    first, *_, last = trial.option.split(", ") if ", " in trial.option else (trial.option, "")
    first = "shared drive" if trial.choice == "coupling" else first.removeprefix("a ").removeprefix("an ")
    return ", ".join([first.replace(" friction", ""), last]).removesuffix(", ").replace(" -", " −")


# -- cross-validation --------------------------------------------------------------------------------


def folds_section(fit: Identification, folds: Folds) -> str:
    """The section: sentences, table of errors, pictures, table of parameters."""
    lines = "".join(f"<li>{text(sentence)}</li>" for sentence in folds.sentences)
    rests = any(fold.resting_error is not None for fold in folds)
    shown = []
    for fold, errors in zip(folds, folds.errors, strict=True):
        at_rest = (fold.moving_error, fold.resting_error) if rests else ()
        shown.append([text(fold.name), *map(error_text, (errors[0], *at_rest, *errors[1:]))])
    middle, spread = folds.errors.mean(axis=0), folds.errors.std(axis=0, ddof=1)
    means = [f"{100 * a:.2f} ± {100 * b:.2f} %" for a, b in zip(middle, spread, strict=True)]
    shown.append(["<b>mean ± std</b>", means[0], *["–", "–"] * rests, *means[1:]])
    headings = ["left out", "all joints", *["moving", "at rest"] * rests, *fit.before.joint_names]
    spreads = np.stack([folds.parameter_std, folds.jackknife_std, folds.std, folds.ratio], axis=1)
    rows = [
        [f"<b>{text(name)}</b>", number(mean), *(number(x, 2) for x in some)]
        for name, mean, some in zip(folds.names, folds.parameter_mean, spreads, strict=True)
    ]
    columns = ["parameter", "mean", "std between folds", "std of the fit by jackknife", "std by formula", "ratio"]
    return (
        f'<h2 id="folds">Cross-validation</h2><ul class="notes">{lines}</ul>{FOLDS}'
        + table(headings, shown)
        + grid([fold_panel(fit, folds)], "folds", "of the cross-validation", across="one")
        + "<h3>Parameters between folds</h3>"
        + table(columns, rows)
    )


def fold_panel(fit: Identification, folds: Folds) -> Panel:
    """The relative error on every part, of all joints and of each."""
    colours = [joint_colour(j) for j in range(fit.before.n)]
    keys = [(INK, "all joints"), *zip(colours, fit.before.joint_names, strict=True)]

    def draw(axes: Axes) -> None:
        x = np.arange(len(folds))
        for j, colour in enumerate(colours):
            axes.plot(x, 100 * folds.errors[:, 1 + j], "o", ms=4.0, color=colour)
        axes.plot(x, 100 * folds.errors[:, 0], "o-", ms=6.0, lw=1.6, color=INK)
        axes.axhline(100 * folds.own_error, color=SOFT, lw=1.2, ls=(0, (4, 3)))
        axes.set_xticks(x, [literal(shortened(fold.name)) for fold in folds])
        axes.set_xlim(-0.5, len(folds) - 0.5)
        axes.set_ylim(0, None)
        axes.set_ylabel("relative error (%)")

    dashed = (SOFT, "all joints, the fit to the whole log (dashed)")
    return Panel("Relative torque error on the part that was left out", draw, (*keys, dashed), WHOLE)


# -- numbers -----------------------------------------------------------------------------------------


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
