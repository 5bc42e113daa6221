"""Comparison of two or more identifications of an arm: a section of the report, and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from dalembert.base.arrays import Array
from dalembert.views.report.colours import INK, JOINTS, RED, SOFT
from dalembert.views.report.figures import HALF, Axes, Figure, Key, Panel, assemble, wide_panels
from dalembert.views.report.html import grid, number, table, text
from dalembert.views.report.user_text import literal
from dalembert.work.fits.fit_comparison import (
    FitComparison,
    FitTrend,
    compare_fits,
    friction_torque,
)
from dalembert.work.fits.fit_record import KINDS

BEFORE, AFTER, CHANGED = SOFT, JOINTS[0], RED
POINTS = 60  # speeds per friction curve
SLOWEST = 0.02  # of the largest common speed: where the curve begins
FAINT = 0.35  # opacity of parameters that are not significantly different from zero in any fit
LIMIT = 1.6  # of the axes, relative to the largest of all values
ABOUT = (
    "<p>Differences are tested with the covariances of all fits; every family of tests is corrected for its size (Holm), so the "
    "probability of reporting any change where there is none is at most {level:g} %. The parameters of one kind at one joint are "
    "tested together by their Mahalanobis distance.</p>"
)


def comparison_section(trend: FitTrend) -> str:
    """The section: the changes in words, the tests, every parameter, error bars and friction curves."""
    lines = "".join(f"<li>{text(sentence)}</li>" for sentence in trend.sentences)
    parts = [
        f'<h2 id="comparison">Comparison with {text(", ".join(trend.labels[:-1]))}</h2><ul class="notes">{lines}</ul>',
        ABOUT.format(level=100 * trend.level),
        grid(_parameter_panels(trend), "compared", "parameters", across="one"),
    ]
    if panels := friction_panels(trend):
        heading = "<h3>Friction torque without load, ±2 standard deviations</h3>"
        parts.append(heading + grid(panels, "frictions", "of a joint"))
    return "".join([*parts, _groups(trend.steps[-1]), _table(trend)])


def comparison_figure(comparison: FitComparison) -> Figure:
    """See :meth:`FitComparison.plot`."""
    trend = compare_fits(comparison.before, comparison.after, level=comparison.level)
    return assemble(_parameter_panels(trend), 1)


# -- pictures --------------------------------------------------------------------------------------


def _colours(trend: FitTrend) -> list[str]:
    """One colour per fit: grey for the first of two, shades of the joints' colours for several, blue for the last."""
    if len(trend.records) == 2:
        return [BEFORE, AFTER]
    return [*(JOINTS[1 + k % (len(JOINTS) - 1)] for k in range(len(trend.records) - 1)), AFTER]


def _parameter_panels(trend: FitTrend) -> list[Panel]:
    """Every common parameter of every fit with its error bars; changed ones on a red background."""
    rows = [(x.name, x.values, x.std) for x in trend.parameters]
    return error_bar_panels(
        rows, list(zip(_colours(trend), trend.labels, strict=True)), [x.name for x in trend.changed]
    )


def error_bar_panels(
    rows: Sequence[tuple[str, Array, Array]], key: Sequence[Key], changed: Sequence[str] = ()
) -> list[Panel]:
    """Parameters (name, values, standard deviations) with error bars, relative to the largest of their values."""

    def draw(axes: Axes, some: Sequence[tuple[str, Array, Array]]) -> None:
        for k, (name, values, stds) in enumerate(some):
            # parameters that are not significantly different from zero are drawn faintly
            faint = FAINT if (2 * stds > np.abs(values)).all() else 1.0
            size = max(float(np.abs(values).max()), 1e-300)
            if name in changed:
                axes.axvspan(k - 0.5, k + 0.5, color=CHANGED, alpha=0.13, lw=0, zorder=0.3)
            places = k + np.linspace(-0.22, 0.22, len(key))
            for x, value, std, (colour, _) in zip(places, values, stds, key, strict=True):
                bar = min(2 * float(std) / size, 2 * LIMIT)
                axes.errorbar(x, value / size, bar, fmt="o", ms=3.2, lw=1.1, capsize=1.6, color=colour, alpha=faint)
        axes.axhline(0, color=SOFT, lw=0.7, zorder=0.9)
        axes.grid(axis="x", visible=False)
        axes.set_xticks(range(len(some)), [literal(name) for name, _, _ in some], rotation=90, fontsize=7)
        for tick, (name, _, _) in zip(axes.get_xticklabels(), some, strict=True):
            tick.set_color(CHANGED if name in changed else INK)
        axes.set_xlim(-0.7, len(some) - 0.3)
        axes.set_ylim(-LIMIT, LIMIT)

    marked = [(CHANGED, "significant change")] if changed else []
    return wide_panels("Parameters ± 2 σ, relative to the largest value", rows, draw, (*key, *marked))


def friction_panels(trend: FitTrend) -> list[Panel]:
    """The friction torque of every joint against speed, for every fit."""
    colours, last, out = _colours(trend), trend.records[-1], []
    clear = {x.joint for x in trend.steps[-1].changed_groups if x.kind == "friction"}
    clear |= {x.joint for x in trend.steps[-1].changed_friction}

    def draw(axes: Axes, curves: list[tuple[Array, Array]], speeds: Array, units: tuple[str, str]) -> None:
        for (torque, std), colour in zip(curves, colours, strict=True):
            axes.fill_between(speeds, torque - 2 * std, torque + 2 * std, color=colour, alpha=0.22, lw=0)
            axes.plot(speeds, torque, color=colour, lw=1.6)
        axes.set_xlim(0, speeds[-1])
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, 0.0), high)
        axes.set_xlabel(f"speed ({units[0]})", labelpad=1)
        axes.set_ylabel(f"friction ({units[1]})")

    for at, name in enumerate(last.joint_names):
        fastest = min(float(record.speeds[at]) for record in trend.records)
        joint = last.tree_joint_names.index(name) if name in last.tree_joint_names else -1
        if fastest <= 0 or joint < 0:
            continue
        speeds = fastest * np.linspace(SLOWEST, 1.0, POINTS)
        curves = [friction_torque(record, joint, speeds) for record in trend.records]
        known = [curve for curve in curves if curve is not None]
        if len(known) < len(curves):
            continue
        units = ("m/s", "N") if last.prismatic[joint] else ("rad/s", "N m")
        title = f"{name}: changed" if joint in clear else name
        keys = tuple(zip(colours, trend.labels, strict=True))
        out.append(Panel(title, partial(draw, curves=known, speeds=speeds, units=units), keys, HALF, left=0.84))
    return out


# -- tables ----------------------------------------------------------------------------------------


def _groups(step: FitComparison) -> str:
    rows = []
    for group in step.groups:
        joint = step.after.tree_joint_names[group.joint] if group.joint >= 0 else "shared drives"
        tested = [number(group.distance, 3), f"{group.freedom}", _chance(group.adjusted, step.level)]
        rows.append([text(joint), text(KINDS[group.kind]), *tested])
    columns = ["joint", "parameters", "Mahalanobis distance", "degrees of freedom", "p-value (Holm)"]
    return "<h3>Tests of each joint</h3>" + table(columns, rows)


def _table(trend: FitTrend) -> str:
    rows = []
    for x in trend.parameters:
        change = number(float(x.values[-1] - x.values[0]), 3, sign=True)
        tested = [change, _chance(x.adjusted, trend.level), text(x.unit)]
        rows.append([f"<b>{text(x.name)}</b>", *map(_with_error, x.values, x.std), *tested])
    return "<h3>All parameters</h3>" + table(["parameter", *trend.labels, "change", "p-value (Holm)", "unit"], rows)


def _with_error(value: float, std: float) -> str:
    return f'{number(value)} <span class="soft">± {number(std, 2)}</span>'


def _chance(p: float, level: float) -> str:
    """A p-value, in bold if it is below the significance level."""
    shown = "&lt; 10⁻⁶" if p < 1e-6 else number(p, 2)
    return f'<b class="bad">{shown}</b>' if p < level else shown
