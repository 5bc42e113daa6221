"""The page about an identification: torques measured and predicted, residuals, spectra, parameters with error bars."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.files import check_writable, whole_file
from dalembert.identification.result import Identification, PredictedRun
from dalembert.logs.conditioning import spectrum
from dalembert.report.figures import HALF, JOINTS, RED, SOFT, WHOLE, Panel
from dalembert.report.html import csv_text, download, grid, number, page, table, text
from dalembert.report.words import literal

MEASURED, PREDICTED, RESIDUAL = (SOFT, "measured"), (JOINTS[0], "predicted"), (RED, "difference")
MOST = 1500  # points a line is drawn with


def write_identification(
    path: str | os.PathLike[str],
    fit: Identification,
    *,
    overwrite: bool = False,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write the page, whole or not at all. It needs nothing from anywhere."""
    check_writable(path, overwrite=overwrite)
    made = identification_html(fit, progress)
    with whole_file(path, overwrite=overwrite) as file:
        file.write(made)


def identification_html(fit: Identification, progress: Callable[[float], None] | None = None) -> str:
    """The page as text."""
    title = f"{fit.before.name}: identified parameters"
    runs = [fit.run, *fit.validation]
    parts = [_head(title, fit), "<main>", _summary(fit), _notes(fit), _errors(fit, runs)]

    def share(k: int) -> Callable[[float], None] | None:
        return None if progress is None else lambda fraction: progress((k + fraction) / (len(runs) + 2))

    for k, run in enumerate(runs):
        word = "the identification run" if k == 0 else f"validation run {k}" if len(runs) > 2 else "the validation run"
        parts.append(f'<h2 id="run-{k}">Torques of {word}</h2><p class="soft">{text(run.name)}</p>')
        parts.append(grid(_torque_panels(fit, run), f"run-{k}", f"torques of {word}", progress=share(k)))
    spectra = grid(_spectrum_panels(fit), "spectra", "spectrum", progress=share(len(runs)))
    parts += ['<h2 id="spectra">Spectra</h2>', _spectra_words(fit), spectra]
    if progress is not None:
        progress((len(runs) + 1) / (len(runs) + 2))
    parts += [_parameters(fit), _downloads(fit, runs), "</main>"]
    parts.append("<footer><div>Made by dalembert.</div></footer>")
    return page(title, "\n".join(parts))


def _head(title: str, fit: Identification) -> str:
    links = [("run-0", "Torques"), ("spectra", "Spectra"), ("parameters", "Parameters")]
    shown = "".join(f'<a href="#{where}">{word}</a>' for where, word in links)
    kind = f"{fit.method} least squares" + (", physically consistent" if fit.physical else "")
    return (
        f'<header><div><h1>{text(title)}</h1><p class="soft">{text(kind)}, from {text(fit.run.name)}</p>'
        f"<nav>{shown}</nav></div></header>"
    )


def _summary(fit: Identification) -> str:
    cards = [(f"{100 * fit.relative_error:.2f} %", "relative torque error, identification")]
    cards += [(f"{100 * run.relative_error:.2f} %", "relative torque error, validation") for run in fit.validation]
    cards += [
        (f"{len(fit.parameters)}", f"base parameters, {len(fit.essential)} of them essential"),
        (number(fit.condition, 3), "condition number of the regressor"),
        ("yes" if fit.positive_definite else "no", "B(q) positive definite at 10,000 random poses"),
        (f"{number(fit.run.conditioned.cutoff, 3)} Hz", "cut-off of the low-pass"),
    ]
    made = "".join(f'<div class="card"><b>{text(b)}</b><span>{text(s)}</span></div>' for b, s in cards)
    return f'<div class="cards">{made}</div>'


def _notes(fit: Identification) -> str:
    lines = [f"<li><b>{text(w)}</b></li>" for w in fit.warnings] + [f"<li>{text(n)}</li>" for n in fit.notes]
    return f"<h3>What was done, and what to know</h3><ul>{''.join(lines)}</ul>" if lines else ""


def _errors(fit: Identification, runs: list[PredictedRun]) -> str:
    columns = ["run", "all joints", *fit.before.joint_names]
    rows = [
        [
            text(os.path.basename(r.name)),
            f"{100 * r.relative_error:.2f} %",
            *(f"{100 * e:.2f} %" for e in r.joint_errors),
        ]
        for r in runs
    ]
    rms = [
        [
            text(os.path.basename(r.name)),
            number(float(np.sqrt(np.mean(r.residual**2))), 3),
            *(number(e, 3) for e in r.rms),
        ]
        for r in runs
    ]
    return (
        "<h3>Relative torque error, ‖measured − predicted‖ / ‖measured‖</h3>" + table(columns, rows)
        + "<h3>Root mean square of the difference (N m)</h3>" + table(columns, rms)
    )  # fmt: skip


def _torque_panels(fit: Identification, run: PredictedRun) -> list[Panel]:
    step = max(1, -(-len(run.t) // MOST))
    t = run.t[::step]

    def draw(j: int) -> Callable[[Any], None]:
        def on(axes: Any) -> None:
            axes.plot(t, run.measured[::step, j], color=MEASURED[0], lw=2.4)
            axes.plot(t, run.predicted[::step, j], color=PREDICTED[0], lw=1.1)
            axes.plot(t, run.residual[::step, j], color=RESIDUAL[0], lw=0.9)
            axes.set_xlabel("t (s)")

        return on

    return [
        Panel(f"{name} (N m)", draw(j), (MEASURED, PREDICTED, RESIDUAL), HALF)
        for j, name in enumerate(fit.before.joint_names)
    ]


def _spectra_words(fit: Identification) -> str:
    return (
        "<p>The cut-off should stand where the motion's power has fallen away and what is left is noise: left of the line "
        "the logged velocities (noise floor taken off), the torque and the difference are used, right of it nothing is.</p>"
    )


def _spectrum_panels(fit: Identification) -> list[Panel]:
    from scipy.signal import welch

    ready = fit.run.conditioned
    f, motion = spectrum(ready.log, ready.rate)
    piece = max(ready.pieces, key=lambda p: len(p.t))
    residual = piece.tau - fit.torque(piece.q, piece.qd, piece.qdd)
    if fit.gains is not None:
        residual = piece.tau * fit.gains - fit.torque(piece.q, piece.qd, piece.qdd)
    window = min(len(piece.t), int(20 * ready.rate / ready.cutoff))
    g, tau = welch(piece.tau, ready.rate, nperseg=window, axis=0, detrend="constant")
    _, left = welch(residual, ready.rate, nperseg=window, axis=0, detrend="constant")
    end = min(0.5 * ready.rate, 20 * ready.cutoff)
    keys = ((JOINTS[2], "velocity"), MEASURED, RESIDUAL, (JOINTS[1], "cut-off"))

    def draw(j: int) -> Callable[[Any], None]:
        def on(axes: Any) -> None:
            bins = np.geomspace(max(float(f[1]), end / 2000), end, 200)
            which = np.digitize(f, bins)
            found = [k for k in range(len(bins)) if (which == k).any()]
            x = np.array([f[which == k].mean() for k in found])
            y = np.array([motion[which == k, j].mean() for k in found])
            y = np.where(y > 1e-9 * y.max(initial=0.0), y / max(float(y.max(initial=0.0)), 1e-300), np.nan)
            axes.loglog(x, y, color=keys[0][0], lw=1.2)
            use = (g > 0) & (g <= end)
            high = max(float(tau[use, j].max(initial=0.0)), 1e-300)
            axes.loglog(g[use], np.maximum(tau[use, j] / high, 1e-12), color=MEASURED[0], lw=1.4)
            axes.loglog(g[use], np.maximum(left[use, j] / high, 1e-12), color=RESIDUAL[0], lw=1.0)
            axes.axvline(ready.cutoff, color=keys[3][0], lw=1.4)
            axes.set_xlabel("frequency (Hz)")

        return on

    return [Panel(f"{name}: power, relative", draw(j), keys, HALF) for j, name in enumerate(fit.before.joint_names)]


def _parameters(fit: Identification) -> str:
    """Table and error bars."""
    values, std = fit.parameters, fit.std
    rows = []
    for k, (name, formula) in enumerate(zip(fit.names, fit.formulas, strict=True)):
        mark = "not in the log" if name in fit.unidentified else "yes" if name in fit.essential else "no"
        relative = fit.relative_std[k]
        shown = "–" if not np.isfinite(relative) else "&gt; 1000 %" if relative >= 10 else f"{100 * relative:.2g} %"
        shown = f"{100 * relative:.0f} %" if 0.995 <= relative < 10 else shown
        rows.append(
            [f"<b>{text(name)}</b>", number(float(values[k])), number(float(std[k]), 2), shown, mark,
             f'<span class="soft">{text(formula)}</span>']
        )  # fmt: skip

    before = fit.base.values
    finite = np.flatnonzero(np.isfinite(std))

    def draw(some: Any) -> Callable[[Any], None]:
        def on(axes: Any) -> None:
            size = np.maximum(np.maximum(np.abs(values[some]), np.abs(before[some])), 1e-300)
            x = np.arange(len(some))
            axes.errorbar(
                x,
                values[some] / size,
                np.minimum(2 * std[some] / size, 3),
                fmt="o",
                ms=3.5,
                lw=1,
                color=JOINTS[0],
                capsize=2,
            )
            axes.plot(x, before[some] / size, "_", ms=9, color=JOINTS[1])
            axes.set_xticks(x, [literal(fit.names[k]) for k in some], rotation=90, fontsize=7)
            axes.set_ylim(-1.6, 1.6)

        return on

    size = (WHOLE[0], 3.2)
    panels = [
        Panel(
            "Parameters with ±2 standard deviations, over the larger of identified and former value" if not start else "",
            draw(finite[start : start + 40]), ((JOINTS[0], "identified"), (JOINTS[1], "the arm as it was")), size, 0.6,
        )
        for start in range(0, len(finite), 40)
    ]  # fmt: skip
    return (
        '<h2 id="parameters">Parameters</h2><p>Base parameters in SI units; the standard deviations count how far the '
        "residuals repeat themselves.</p>"
        + grid(panels, "parameters", "parameters", across="one")
        + table(["parameter", "value", "std", "relative std", "essential", "what it is made of"], rows, words=True)
    )


def _downloads(fit: Identification, runs: list[PredictedRun]) -> str:
    items = [
        "name,value,std\n"
        + "".join(f"{n},{v:.12g},{s:.6g}\n" for n, v, s in zip(fit.names, fit.parameters, fit.std, strict=True))
    ]
    made = download("parameters.csv", "the parameters", items[0])
    n = fit.before.n
    for k, run in enumerate(runs):
        names = ["t", *(f"measured{j + 1}" for j in range(n)), *(f"predicted{j + 1}" for j in range(n))]
        made += download(
            f"torques-{k}.csv",
            f"torques of {os.path.basename(run.name)}",
            csv_text(names, (run.t, run.measured, run.predicted)),
        )
    return f'<h3>Numbers</h3><ul class="downloads">{made}</ul>'
