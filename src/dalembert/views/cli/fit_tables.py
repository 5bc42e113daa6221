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
        errors = (*fold.joint_errors, fold.relative_error, *at_rest)
        rows.append([fold.name, *("–" if e is None else f"{100 * e:.2f}" for e in errors)])
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


def _show_comparison(step: FitComparison, label: str) -> None:
    clearest = sorted(step.parameters, key=lambda x: -abs(x.z))[:ROWS]
    rows = [
        [x.name, _with_error(x.before, x.before_std), _with_error(x.after, x.after_std), _signed(x.difference), f"{x.z:+.1f}",
         "changed" if x.name in step.significant else "", x.unit]
        for x in clearest
    ]  # fmt: skip
    count = f"the {len(rows)} most significant of {len(step.parameters)} parameters"
    print_table(
        ["parameter", ">before", ">after", ">difference", ">σ", "", "unit"], rows, f"Comparison with {label}: {count}"
    )


def _show_steps(trend: FitTrend) -> None:
    clearest = sorted(trend.parameters, key=lambda x: x.p)[:ROWS]
    changed = {x.name for x in trend.changed}
    rows = [
        [x.name, *(_with_error(float(v), float(s)) for v, s in zip(x.values, x.std, strict=True)),
         "not constant" if x.name in changed else "", x.unit]
        for x in clearest
    ]  # fmt: skip
    count = f"the {len(rows)} most significant of {len(trend.parameters)} parameters"
    labels = [f">{label}" for label in trend.labels]
    print_table(["parameter", *labels, "", "unit"], rows, f"{len(trend.records)} fits: {count}")


def _with_error(value: float, std: float) -> str:
    """``4.12 ± 0.03``: the value to the second significant digit of its error."""
    if not (std > 0 and math.isfinite(std)):
        return number(value)
    decimals = 1 - math.floor(math.log10(std))
    return (
        f"{value:.{decimals}f} ± {std:.{decimals}f}"
        if 0 <= decimals <= 6
        else f"{number(value)} ± {number(std, digits=2)}"
    )


def _signed(value: float) -> str:
    return f"{value:+.3g}"
