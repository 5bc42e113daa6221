"""The page about an identification: torques measured and predicted, residuals, spectra, parameters with error bars."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.environment.extras import extra
from dalembert.files import check_writable, whole_file
from dalembert.identification.result import Identification, PredictedRun
from dalembert.logs.conditioning import spectrum
from dalembert.report.colours import JOINTS, RED, SOFT
from dalembert.report.figures import HALF, WHOLE, Panel, assemble
from dalembert.report.html import cards, csv_text, download, grid, number, page, table, text
from dalembert.report.words import literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURED, PREDICTED, RESIDUAL = (SOFT, "measured"), (JOINTS[0], "predicted"), (RED, "difference")
MOST = 1500  # points a line is drawn with
SPECTRA = (
    "<p>The cut-off should stand where the motion's power has fallen away and what is left is noise: left of the line "
    "the logged velocities (noise floor taken off), the torque and the difference are used, right of it nothing is.</p>"
)


def write_identification(
    path: str | os.PathLike[str],
    fit: Identification,
    *,
    overwrite: bool = False,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write the page, whole or not at all. It needs nothing from anywhere."""
    check_writable(path, overwrite=overwrite)
    text_of_page = identification_html(fit, progress)
    with whole_file(path, overwrite=overwrite) as file:
        file.write(text_of_page)


def identification_html(fit: Identification, progress: Callable[[float], None] | None = None) -> str:
    """The page as text."""
    title = f"{fit.before.name}: identified parameters"
    runs = [fit.run, *fit.validation]
    parts = [_summary(fit), _notes(fit), _errors(fit, runs)]

    def share(k: int) -> Callable[[float], None] | None:
        return None if progress is None else lambda fraction: progress((k + fraction) / (len(runs) + 2))

    for k, run in enumerate(runs):
        word = "the identification run" if k == 0 else f"validation run {k}" if len(runs) > 2 else "the validation run"
        parts.append(f'<h2 id="run-{k}">Torques of {word}</h2><p class="soft">{text(run.name)}</p>')
        parts.append(grid(_torque_panels(fit, run), f"run-{k}", f"torques of {word}", progress=share(k)))
    spectra = grid(_spectrum_panels(fit), "spectra", "spectrum", progress=share(len(runs)))
    parts += ['<h2 id="spectra">Spectra</h2>', SPECTRA, spectra]
    if progress is not None:
        progress((len(runs) + 1) / (len(runs) + 2))
    parts += [_parameters(fit), _terms(fit), _downloads(fit, runs)]
    about = f"{fit.method} least squares" + (", physically consistent" if fit.physical else "")
    links = [("run-0", "Torques"), ("spectra", "Spectra"), ("parameters", "Parameters")]
    return page(title, text(f"{about}, from {fit.run.name}"), links, parts)


def percent(share: float) -> str:
    """A relative deviation, with as many figures as it is worth.

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
    return cards(facts)


def _notes(fit: Identification) -> str:
    lines = [f"<li><b>{text(w)}</b></li>" for w in fit.warnings] + [f"<li>{text(n)}</li>" for n in fit.notes]
    return f"<h3>What was done, and what to know</h3><ul>{''.join(lines)}</ul>" if lines else ""


def _errors(fit: Identification, runs: list[PredictedRun]) -> str:
    columns = ["run", "all joints", *fit.before.joint_names]
    names = [text(os.path.basename(run.name)) for run in runs]
    shares = [[f"{100 * e:.2f} %" for e in (run.relative_error, *run.joint_errors)] for run in runs]
    sizes = [[number(float(e), 3) for e in (np.sqrt(np.mean(run.residual**2)), *run.rms)] for run in runs]
    rows, rms = ([[name, *cells] for name, cells in zip(names, lists, strict=True)] for lists in (shares, sizes))
    return (
        "<h3>Relative torque error, ‖measured − predicted‖ / ‖measured‖</h3>" + table(columns, rows)
        + "<h3>Root mean square of the difference (N m)</h3>" + table(columns, rms)
    )  # fmt: skip


def _torque_panels(fit: Identification, run: PredictedRun) -> list[Panel]:
    step = max(1, -(-len(run.t) // MOST))
    t = run.t[::step]

    def draw(axes: Any, j: int) -> None:
        axes.plot(t, run.measured[::step, j], color=MEASURED[0], lw=2.4)
        axes.plot(t, run.predicted[::step, j], color=PREDICTED[0], lw=1.1)
        axes.plot(t, run.residual[::step, j], color=RESIDUAL[0], lw=0.9)
        axes.set_xlabel("t (s)")

    return [
        Panel(f"{name} (N m)", partial(draw, j=j), (MEASURED, PREDICTED, RESIDUAL), HALF)
        for j, name in enumerate(fit.before.joint_names)
    ]


def _spectrum_panels(fit: Identification) -> list[Panel]:
    with extra("identify", "the report on an identification"):
        from scipy.signal import welch

    ready = fit.run.conditioned
    f, motion = spectrum(ready.log, ready.rate)
    piece = max(ready.pieces, key=lambda p: len(p.t))
    gains = 1.0 if fit.gains is None else fit.gains
    residual = piece.tau * gains - fit.torque(piece.q, piece.qd, piece.qdd)
    window = min(len(piece.t), int(20 * ready.rate / ready.cutoff))
    g, tau = welch(piece.tau, ready.rate, nperseg=window, axis=0, detrend="constant")
    _, left = welch(residual, ready.rate, nperseg=window, axis=0, detrend="constant")
    end = min(0.5 * ready.rate, 20 * ready.cutoff)
    keys = ((JOINTS[2], "velocity"), MEASURED, RESIDUAL, (JOINTS[1], "cut-off"))

    which = np.digitize(f, np.geomspace(max(float(f[1]), end / 2000), end, 200))
    bins = [which == k for k in range(200) if (which == k).any()]
    use = (g > 0) & (g <= end)

    def draw(axes: Any, j: int) -> None:
        y = np.array([motion[inside, j].mean() for inside in bins])
        y = np.where(y > 1e-9 * y.max(initial=0.0), y / max(float(y.max(initial=0.0)), 1e-300), np.nan)
        axes.loglog([f[inside].mean() for inside in bins], y, color=keys[0][0], lw=1.2)
        high = max(float(tau[use, j].max(initial=0.0)), 1e-300)
        axes.loglog(g[use], np.maximum(tau[use, j] / high, 1e-12), color=MEASURED[0], lw=1.4)
        axes.loglog(g[use], np.maximum(left[use, j] / high, 1e-12), color=RESIDUAL[0], lw=1.0)
        axes.axvline(ready.cutoff, color=keys[3][0], lw=1.4)
        axes.set_xlabel("frequency (Hz)")

    joints = enumerate(fit.before.joint_names)
    return [Panel(f"{name}: power, relative", partial(draw, j=j), keys, HALF) for j, name in joints]


def _parameters(fit: Identification) -> str:
    """Table and error bars."""
    values, std = fit.parameters, fit.std
    rows = []
    for k, (name, formula) in enumerate(zip(fit.names, fit.formulas, strict=True)):
        mark = "not in the log" if name in fit.unidentified else "yes" if name in fit.essential else "no"
        relative = fit.relative_std[k]
        shown = "–" if not np.isfinite(relative) else text(percent(relative))
        rows.append(
            [f"<b>{text(name)}</b>", number(float(values[k])), number(float(std[k]), 2), shown, mark,
             f'<span class="soft">{text(formula)}</span>']
        )  # fmt: skip

    before = fit.base.values
    finite = np.flatnonzero(np.isfinite(std))

    def draw(axes: Any, some: Any) -> None:
        size = np.maximum(np.maximum(np.abs(values[some]), np.abs(before[some])), 1e-300)
        x, bars = np.arange(len(some)), np.minimum(2 * std[some] / size, 3)
        axes.errorbar(x, values[some] / size, bars, fmt="o", ms=3.5, lw=1, color=JOINTS[0], capsize=2)
        axes.plot(x, before[some] / size, "_", ms=9, color=JOINTS[1])
        axes.set_xticks(x, [literal(fit.names[k]) for k in some], rotation=90, fontsize=7)
        axes.set_ylim(-1.6, 1.6)

    title = "Parameters with ±2 standard deviations, over the larger of identified and former value"
    key = ((JOINTS[0], "identified"), (JOINTS[1], "the arm as it was"))
    panels = [
        Panel("" if start else title, partial(draw, some=finite[start : start + 40]), key, WHOLE, 0.6)
        for start in range(0, len(finite), 40)
    ]
    return (
        '<h2 id="parameters">Parameters</h2><p>Base parameters in SI units; the standard deviations count how far the '
        "residuals repeat themselves.</p>"
        + grid(panels, "parameters", "parameters", across="one")
        + table(["parameter", "value", "std", "relative std", "essential", "what it is made of"], rows, words=True)
    )


def _terms(fit: Identification) -> str:
    """Friction, springs and losses of every joint of the calibrated arm, and what to know about that."""
    joints = fit.arm.robot.tree_joints
    rows = [[text(joint.name), text(term.text_at(joint.type))] for joint in joints for term in joint.friction]
    if not rows:
        return ""
    notes = "".join(f"<li>{text(note)}</li>" for note in fit.arm_notes)
    return (
        "<h3>Friction and other terms of the calibrated arm</h3>"
        + table(["joint", "term"], rows, words=True)
        + (f"<ul>{notes}</ul>" if notes else "")
    )


def _downloads(fit: Identification, runs: list[PredictedRun]) -> str:
    rows = zip(fit.names, fit.parameters, fit.std, strict=True)
    values = "name,value,std\n" + "".join(f"{name},{value:.12g},{std:.6g}\n" for name, value, std in rows)
    items = download("parameters.csv", "the parameters", values)
    names = ["t", *(f"{what}{j + 1}" for what in ("measured", "predicted") for j in range(fit.before.n))]
    for k, run in enumerate(runs):
        torques = csv_text(names, (run.t, run.measured, run.predicted))
        items += download(f"torques-{k}.csv", f"torques of {os.path.basename(run.name)}", torques)
    return f'<h3>Numbers</h3><ul class="downloads">{items}</ul>'


def identification_figure(fit: Identification, run: PredictedRun | None = None) -> Figure:
    """See :meth:`Identification.plot`."""
    return assemble(_torque_panels(fit, fit.run if run is None else run))
