"""The model selection in a report: the reasons, all candidates as a table, and their scores as pictures."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.views.report.colours import INK, JOINTS, SOFT
from dalembert.views.report.figures import HALF, WHOLE, Panel
from dalembert.views.report.html import grid, number, table, text
from dalembert.views.report.user_text import literal
from dalembert.work.identification.selection.model_search import WORTH
from dalembert.work.identification.selection.selection_result import Selection, Trial, percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEST = 3  # laws per joint that are shown in the table although they were not chosen; the others are collapsed
LOSS = -0.6  # gains below this are drawn at the edge of their panel
ROW, LETTER = 0.2, 0.076  # inches: height of a row of a panel, and width of a letter beside it
HEADINGS = {"cutoff": "cut-off", "estimator": "estimator"}
CHOSEN, REJECTED = (JOINTS[0], "chosen"), (SOFT, "not chosen")
COLUMNS = ("tried", "held-out error", "gain ± standard error", "parameters", "")
GAS_SPRING = "a gas spring"  # the wording of the candidates
ABOUT = (
    "<p>The log was divided into blocks of time. Every candidate was fitted to all parts of the log but one and evaluated on that "
    "one, for each part. The held-out error is ‖measured − predicted‖ / ‖measured‖ over all joints. The gain is the relative "
    "reduction of the squared error, with the joints weighted equally, so that a small joint counts as much as a large one: for a "
    "law, relative to the error of its joint; for a cut-off, to the best one; for an estimator, to the first one. A law with more "
    "parameters is accepted if its gain exceeds {errors} of the difference, and {worth:g} % of the error of its joint. A law with "
    "a sufficient gain that was not chosen has a coefficient with an impossible sign, was superseded by another law, or was "
    "removed at the end. A shared drive belongs to a joint and the next one. A law that also helps other joints, such as a shared "
    "drive, can gain more than 100 % of the error of its own joint. Held-out errors refer to the model at the time of the trial, "
    "so laws that were chosen early have larger ones.</p>"
)


def selection_section(selection: Selection) -> str:
    """The section: reasons, pictures, the table of the chosen and the best other candidates, and the remaining ones
    collapsed."""
    lines = "".join(f"<li>{text(sentence)}</li>" for sentence in selection.sentences)
    count = selection.standard_errors
    errors = "one standard error" if count == 1 else f"{count:g} standard errors"
    parts = [
        f'<h2 id="selection">Model selection</h2><ul class="notes">{lines}</ul>',
        ABOUT.format(errors=errors, worth=100 * WORTH),
    ]
    for k, (title, panels, across) in enumerate(selection_panels(selection)):
        parts += [f"<h3>{title}</h3>", grid(panels, f"selection-{k}", "of the model selection", across=across)]
    shown, folded = ranked(selection)
    parts += ["<h3>Candidates</h3>", _trial_table(shown)]
    if folded:
        summary = f"<summary>{len(folded)} further candidates that were not chosen</summary>"
        parts.append(f"<details>{summary}{_trial_table(folded)}</details>")
    return "".join(parts)


def ranked(selection: Selection) -> tuple[list[Trial], list[Trial]]:
    """(cut-offs, the chosen laws and the ``BEST`` others of each joint, estimators; all remaining trials)."""
    shown, folded = [*selection.tried("cutoff")], []
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
    for name, some in itertools.groupby(trials, key=lambda trial: HEADINGS.get(trial.choice, trial.joint)):
        rows += [[f'<span class="soft">{text(name)}</span>', *[""] * 4], *(_row(trial) for trial in some)]
    return table(COLUMNS, rows)


def _row(trial: Trial) -> list[str]:
    gain = 100 * trial.gain
    signed = number(round(gain, 1 if abs(gain) < 10 else 0), 6, sign=True)
    words = f"{signed} ± {number(100 * trial.spread, 2)} %" if trial.spread else "–"
    more = "–" if trial.choice in HEADINGS else number(trial.parameters, sign=True)
    cells = [text(trial.option), text(percent(trial.error)), words, more]
    return [f"<b>{cell}</b>" for cell in (*cells, "chosen")] if trial.chosen else [*cells, ""]


def label(trial: Trial) -> str:
    """A short label of a candidate, for a picture.

    >>> label(Trial("coupling", "a", "a drive shared by 'a' and 'b', ratio -1", 0.1, 0.0, 0.0, 3, False))
    'shared drive, ratio −1'
    >>> label(Trial("spring", "a", "a gas spring, lever ratio 0.8 : 1, shortest at 3.9 rad", 0.1, 0.0, 0.0, 2, False))
    'gas spring, shortest at 3.9 rad'
    """
    if trial.choice == "coupling":
        return f"shared drive, {trial.option.rpartition(', ')[2]}".replace("-", "−")
    if trial.option.startswith(GAS_SPRING):
        return f"gas spring,{trial.option.rpartition(',')[2]}"
    shorter = short(trial.option).replace("Coulomb friction, width", "Coulomb, width")
    return shorter.replace("Stribeck friction,", "Stribeck,")


# -- pictures --------------------------------------------------------------------------------------


def selection_panels(selection: Selection) -> list[tuple[str, list[Panel], str]]:
    """(heading, panels, number per row) of the cut-offs, of the laws joint by joint, and of the estimators."""
    out = []
    if len(cutoffs := selection.tried("cutoff")) > 1:
        out.append(("Cut-off of the low-pass", _cutoff_panels(cutoffs), "two"))
    laws = [(joint, mine) for joint in selection.structure if (mine := laws_at(selection, joint))]
    if laws:
        names = {trial: label(trial) for _, mine in laws for trial in mine}
        left = _beside(names.values(), HALF[0])
        panels = [
            _gain_panel(f"{k} {joint}", mine, "gain (%)", [names[trial] for trial in mine], HALF[0], left)
            for k, (joint, mine) in enumerate(laws, 1)
        ]
        out.append(("Laws of the joints", panels, "two"))
    if len(estimators := selection.tried("estimator")) > 1:
        labels = [f"{label(trial)}: {percent(trial.error)}" for trial in estimators]
        across = f"gain over {estimators[0].option} (%)"
        title, width = "Estimators, with their held-out errors", WHOLE[0]
        panel = _gain_panel(title, estimators, across, labels, width, _beside(labels, width))
        out.append(("Estimator", [panel], "one"))
    return out


def _beside(labels: Iterable[str], width: float) -> float:
    """The width (inches) of the labels beside the axes of a panel."""
    return min(0.2 + LETTER * max(map(len, labels)), 0.55 * width)


def _cutoff_panels(trials: Sequence[Trial]) -> list[Panel]:
    """Held-out error over cut-off, and the squared error relative to the best, with joints weighted equally."""
    hertz = np.array([float(trial.option.removesuffix(" Hz")) for trial in trials])
    best = [k for k, trial in enumerate(trials) if trial.chosen]

    def draw(axes: Axes, y: list[float], spread: list[float] | None, up: str) -> None:
        axes.plot(hertz, y, color=SOFT, lw=1.2)
        axes.errorbar(hertz, y, spread, fmt="o", ms=4.0, lw=1.1, capsize=2.0, color=SOFT)
        for k in best:
            axes.axvline(hertz[k], color=CHOSEN[0], lw=1.2, zorder=0.9)
            axes.plot(hertz[k], y[k], "o", ms=7.0, color=CHOSEN[0], zorder=5)
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.set_xticks(hertz, [f"{x:.2g}" if x < 10 else f"{x:.0f}" for x in hertz])
        axes.set_xlabel("cut-off (Hz)", labelpad=1)
        axes.set_ylabel(up)
        if spread is None:
            axes.set_ylim(0, 1.15 * max(y))

    errors = partial(draw, y=[100 * x.error for x in trials], spread=None, up="held-out error (%)")
    excess, spreads = [-100 * x.gain for x in trials], [100 * x.spread for x in trials]
    losses = partial(draw, y=excess, spread=spreads, up="excess over the best (%)")
    return [
        Panel("Torque error on parts left out, all joints", errors, (CHOSEN, REJECTED), HALF, left=0.84),
        Panel("Squared error, joints weighted equally", losses, (CHOSEN, REJECTED), HALF, left=0.84),
    ]


def _gain_panel(
    title: str, trials: Sequence[Trial], across: str, labels: Sequence[str], width: float, left: float
) -> Panel:
    """The gain of each trial with its standard error, one row per trial."""
    gains = np.array([trial.gain for trial in trials])
    spreads = np.array([trial.spread for trial in trials])
    high = float(max(0.05, (gains + spreads).max()))
    low = float(min(-0.05, max(LOSS * max(1.0, high), (gains - spreads).min())))

    def draw(axes: Axes) -> None:
        axes.axvline(0, color=SOFT, lw=0.9, zorder=0.9)
        for k, trial in enumerate(trials):
            colour = CHOSEN[0] if trial.chosen else REJECTED[0]
            if trial.gain < low:
                axes.plot(100 * low, k, "<", ms=5.0, color=colour, clip_on=False)
                continue
            bar, size = [[min(trial.spread, trial.gain - low)], [trial.spread]], 5.5 if trial.chosen else 4.0
            look: dict[str, Any] = {"fmt": "o", "ms": size, "lw": 1.2, "capsize": 2.0, "color": colour}
            axes.errorbar(100 * trial.gain, k, xerr=100 * np.array(bar), **look)
        axes.set_yticks(range(len(trials)), [literal(label) for label in labels], fontsize=8)
        for tick, trial in zip(axes.get_yticklabels(), trials, strict=True):
            tick.set_color(CHOSEN[0] if trial.chosen else INK)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.set_ylim(len(trials) - 0.4, -0.6)
        room = 0.05 * (high - low)
        axes.set_xlim(100 * (low - room), 100 * (high + room))
        axes.set_xlabel(across, labelpad=1)

    return Panel(title, draw, (CHOSEN, REJECTED), (width, 0.9 + ROW * len(trials)), 0.46, left)
