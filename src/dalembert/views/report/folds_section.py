"""The cross-validation in a report: the error on every part that was left out, and the spread of the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.base.arrays import Array
from dalembert.views.report.colours import INK, RED, SOFT, joint_colour
from dalembert.views.report.figures import WHOLE, Panel, wide_panels
from dalembert.views.report.html import error_text, grid, number, table, text
from dalembert.views.report.user_text import literal, shortened
from dalembert.work.identification.fitting.result import Identification
from dalembert.work.identification.records.leave_one_out import FAR, Folds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS = 40  # largest number of parameters per panel
LOWEST, HIGHEST = 0.1, 10.0  # range of the ratios that are drawn
ABOUT = (
    "<p>The whole identification was repeated without each part, and that part was predicted. The spread of the estimates gives a "
    "standard deviation without assumptions about the residuals (jackknife); its ratio to the one by formula should be about 1.</p>"
)


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
    panels = fold_panels(fit, folds)
    columns = ["parameter", "mean", "std between folds", "std of the fit by jackknife", "std by formula", "ratio"]
    return (
        f'<h2 id="folds">Cross-validation</h2><ul class="notes">{lines}</ul>{ABOUT}'
        + table(headings, shown)
        + grid(panels[:1], "folds", "of the cross-validation", across="one")
        + grid(panels[1:], "spreads", "of the cross-validation", across="one")
        + "<h3>Parameters between folds</h3>"
        + table(columns, rows)
    )


def fold_panels(fit: Identification, folds: Folds) -> list[Panel]:
    """The relative error on every part, of all joints and of each; the ratio of spread to standard deviation."""
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
    panels = [Panel("Relative torque error on the part that was left out", draw, (*keys, dashed), WHOLE)]
    known = np.flatnonzero(np.isfinite(folds.ratio))

    def draw_ratios(axes: Axes, some: Array) -> None:
        ratios = np.clip(folds.ratio[some], LOWEST, HIGHEST)
        axes.axhspan(1 / FAR, FAR, color=SOFT, alpha=0.15, lw=0)
        axes.axhline(1.0, color=SOFT, lw=0.9)
        for k, ratio in enumerate(ratios.tolist()):
            colour = RED if ratio > FAR else INK
            axes.plot([k, k], [1.0, ratio], color=colour, lw=1.2)
            axes.plot(k, ratio, "o", ms=4.0, color=colour)
        axes.set_yscale("log")
        axes.set_ylim(LOWEST, HIGHEST)
        axes.set_yticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
        axes.minorticks_off()
        axes.grid(axis="x", visible=False)
        axes.set_xticks(range(len(some)), [literal(folds.names[k]) for k in some], rotation=90, fontsize=7)
        axes.set_xlim(-0.7, len(some) - 0.3)
        axes.set_ylabel("ratio")

    title = "Ratio of the standard deviation by jackknife to that by formula"
    marks = ((INK, f"at most {FAR:g} times"), (RED, f"more than {FAR:g} times"))
    return [*panels, *wide_panels(title, known, draw_ratios, marks, even_width(len(known)))]


def even_width(count: int) -> int:
    """The number of parameters per panel, so that all panels have about as many.

    >>> even_width(58), even_width(40), even_width(0)
    (29, 40, 1)
    """
    return max(1, -(-count // max(1, -(-count // ACROSS))))
