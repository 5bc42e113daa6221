"""Figures of operation counts against the number of joints: M's Table 3 beside our formulas as written and as compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from dalembert.views.report.figures import Axes, Figure, Key, Panel, assemble
from dalembert.work.analysis.price import Cost, growth

GROWING: dict[str, Key] = {  # the formulations that are drawn
    "lagrange-euler": ("#b3403a", "Lagrange–Euler"),
    "newton-euler": ("#2f6db3", "Newton–Euler"),
    "dalembert": ("#c98a1b", "generalized d'Alembert"),
    "lean": ("#2e8b57", "lean Newton–Euler"),
}
SERIES: dict[str, dict[str, Any]] = {  # fields of a Cost and how they are drawn
    "table": {"ls": "--", "lw": 1.3, "label": "M's Table 3"},
    "written": {"marker": "o", "mfc": "white", "lw": 1.1, "label": "as written"},
    "compiled": {"marker": "o", "lw": 1.9, "label": "compiled"},
}
FEW = 10  # operations: lower limit of the axis; compiled code for one joint lies below it and is not drawn


def table_3_figure(joints: Iterable[int] = range(1, 21), costs: Sequence[Cost] | None = None) -> Figure:
    """M's Table 3 with our curves: multiplications and additions of inverse dynamics over n, as a matplotlib Figure.

    joints  the numbers of joints on the axis
    costs   a result of :func:`dalembert.work.analysis.price.growth`; counted now by default

    >>> len(table_3_figure([2, 3]).axes)
    2
    """
    costs = growth(joints, measure=False) if costs is None else costs
    names = ("multiplications", "additions")
    return assemble([_panel(f"{x.capitalize()} for inverse dynamics", costs, SERIES, attrgetter(x)) for x in names])


def growth_figure(costs: Sequence[Cost]) -> Figure:
    """Growth with n: operations, and nanoseconds if they were measured."""
    title = "Multiplications and additions for inverse dynamics"
    panels = [_panel(title, costs, SERIES, attrgetter("total"))]
    if any(cost.nanoseconds is not None for cost in costs):
        panels.append(_panel("Measured, ns per state", costs, {"nanoseconds": SERIES["compiled"]}, float))
    return assemble(panels)


def _panel(title: str, costs: Sequence[Cost], series: dict[str, Any], value: Callable[[Any], float]) -> Panel:
    """The known values of some fields over n, both axes logarithmic; zeros are omitted."""
    numbers = [n for n in sorted({cost.n for cost in costs}) if n <= 6 or n in (8, 10, 12, 15, 20)]

    def draw(axes: Axes) -> None:
        for name, (colour, _) in GROWING.items():
            for field, look in series.items():
                mine = [cost for cost in costs if cost.formulation == name and getattr(cost, field) is not None]
                points = [(cost.n, y) for cost in mine if (y := value(getattr(cost, field))) > 0]
                axes.plot([n for n, _ in points], [y for _, y in points], color=colour, ms=3.5, **look)
        axes.set(xscale="log", yscale="log", xlabel="joints n")
        axes.minorticks_off()
        axes.set_xticks(numbers, labels=map(str, numbers))
        if "table" in series:
            axes.set_ylim(bottom=FEW)
            axes.legend(handles=axes.get_lines()[:3], loc="upper left")

    return Panel(title, draw, tuple(GROWING.values()), (5.0, 5.0))
