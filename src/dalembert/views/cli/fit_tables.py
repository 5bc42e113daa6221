"""Tables of a cross-validation and of a comparison of fits, for the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dalembert.views.cli.terminal import console, number, print_table, tell

if TYPE_CHECKING:
    from dalembert.work.identification.records.fit_comparison import FitComparison, FitTrend
    from dalembert.work.identification.records.leave_one_out import Folds
    from dalembert.work.identification.selection.selection_result import Selection

ROWS = 12  # parameters in a table; the report and the JSON file have all of them


def show_selection(selection: Selection, saved: str | None) -> None:
    """What was chosen and why, in at most five sentences, and how a later fit reuses the choices if they are saved."""
    console().print("Model selection", style="bold")
    for sentence in selection.sentences:
        console().print(f"- {sentence}")
    if saved is not None:
        tell(f"To reuse these choices for another log without a search: --like {saved}")
    tell("")


def show_folds(folds: Folds, joints: tuple[str, ...]) -> None:
    """The errors on every part that was left out."""
    rests = any(fold.resting_error is not None for fold in folds)
    rows = []
    for fold in folds:
        at_rest = (fold.moving_error, fold.resting_error) if rests else (None, None)
        rows.append([fold.name, *map(error_cell, (*fold.joint_errors, fold.relative_error, *at_rest))])
    middle, spread = folds.errors.mean(axis=0), folds.errors.std(axis=0, ddof=1)
    means = [f"{100 * m:.2f} ± {100 * s:.2f}" for m, s in zip(middle, spread, strict=True)]
    rows.append(["mean ± std", *means[1:], means[0], "", ""])
    tell("")
    columns = ["left out", *(f">{name}" for name in joints), ">all joints", ">moving", ">at rest"]
    print_table(columns, rows, "Cross-validation: relative torque error (%)")
    for sentence in folds.sentences:
        tell(sentence)


def show_trend(trend: FitTrend) -> None:
    """The changes, as a table of the most significant differences and in sentences."""
    tell("")
    if len(trend.steps) == 1:
        _show_comparison(trend.steps[0], trend.labels[0])
    else:
        _show_steps(trend)
    for sentence in trend.sentences:
        tell(sentence)


def error_cell(error: float | None) -> str:
    """A relative error in percent; a dash if there is none."""
    return "–" if error is None else f"{100 * error:.2f}"


def _show_comparison(step: FitComparison, label: str) -> None:
    rows = []
    for x in sorted(step.parameters, key=lambda x: -abs(x.z))[:ROWS]:
        values = [_with_error(x.before, x.before_std), _with_error(x.after, x.after_std)]
        mark = "changed" if x.name in step.significant else ""
        rows.append([x.name, *values, f"{x.difference:+.3g}", f"{x.z:+.1f}", mark, x.unit])
    title = f"Comparison with {label}: the {len(rows)} most significant of {len(step.parameters)} parameters"
    print_table(["parameter", ">before", ">after", ">difference", ">σ", "", "unit"], rows, title)


def _show_steps(trend: FitTrend) -> None:
    changed = {x.name for x in trend.changed}
    rows = [
        [x.name, *map(_with_error, x.values, x.std), "not constant" if x.name in changed else "", x.unit]
        for x in sorted(trend.parameters, key=lambda x: x.p)[:ROWS]
    ]
    title = f"{len(trend.records)} fits: the {len(rows)} most significant of {len(trend.parameters)} parameters"
    print_table(["parameter", *(f">{label}" for label in trend.labels), "", "unit"], rows, title)


def _with_error(value: float, std: float) -> str:
    """``4.12 ± 0.03``: the value to the second significant digit of its error."""
    if not (std > 0 and math.isfinite(std)):
        return number(value)
    decimals = 1 - math.floor(math.log10(std))
    if 0 <= decimals <= 6:
        return f"{value:.{decimals}f} ± {std:.{decimals}f}"
    return f"{number(value)} ± {number(std, digits=2)}"
