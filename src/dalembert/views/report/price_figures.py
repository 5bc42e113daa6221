"""Figures of operation counts against the number of joints: M's Table 3 beside our formulas as written and as compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dalembert.base.environment.extras import extra
from dalembert.work.analysis.price import Cost, growth

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROWING = {  # the formulations that are drawn: their name and colour
    "lagrange-euler": ("Lagrange–Euler", "#b3403a"),
    "newton-euler": ("Newton–Euler", "#2f6db3"),
    "dalembert": ("generalized d'Alembert", "#c98a1b"),
    "lean": ("lean Newton–Euler", "#2e8b57"),
}
STYLE: Any = {
    "font.size": 9.5, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 10.5,
    "axes.titlelocation": "left", "axes.grid": True, "grid.color": "#e4e4e4", "legend.frameon": False,
    "axes.edgecolor": "#888888", "svg.fonttype": "none",
}  # fmt: skip
FEW = 10  # operations: lower limit of the axis; compiled code for one joint lies below it and is not drawn
Number = Callable[[Any], float]  # the value shown in a panel: operations or nanoseconds


def table_3_figure(joints: Iterable[int] = range(1, 21), costs: Sequence[Cost] | None = None) -> Figure:
    """M's Table 3 with our curves: multiplications and additions of inverse dynamics over n, as a matplotlib Figure.

    joints  the numbers of joints on the axis
    costs   a result of :func:`dalembert.work.analysis.price.growth`; counted now by default

    >>> len(table_3_figure([2, 3]).axes)
    2
    """
    costs = growth(joints, measure=False) if costs is None else costs
    panels: dict[str, Number | None] = {
        "Multiplications for inverse dynamics": attrgetter("multiplications"),
        "Additions for inverse dynamics": attrgetter("additions"),
    }
    return _figure(costs, panels)


def growth_figure(costs: Sequence[Cost]) -> Figure:
    """Growth with n: operations, and nanoseconds if they were measured."""
    panels: dict[str, Number | None] = {
        "Operations for inverse dynamics (multiplications + additions)": attrgetter("total")
    }
    if any(cost.nanoseconds is not None for cost in costs):
        panels["Measured, ns per state"] = None
    return _figure(costs, panels)


def _figure(costs: Sequence[Cost], panels: Mapping[str, Number | None]) -> Figure:
    """A panel for each title, of operations or, if they are None, of nanoseconds; both axes logarithmic."""
    with extra("plot", "a figure"):
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D
        from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, ScalarFormatter

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.0 if len(panels) > 1 else 6.0, 5.0), layout="constrained")
        numbers = sorted({cost.n for cost in costs})
        row = figure.subplots(1, len(panels), squeeze=False, sharey=None not in panels.values())[0]
        for axes, (title, number) in zip(row, panels.items(), strict=True):
            for name, (_, colour) in GROWING.items():
                mine = [cost for cost in costs if cost.formulation == name]
                look: dict[str, Any] = {"color": colour, "ms": 3.5}
                if number is None:
                    axes.plot(*_series(mine, "nanoseconds", float), "-o", lw=1.9, **look)
                    continue
                axes.plot(*_series(mine, "table", number), "--", lw=1.3, **look)
                axes.plot(*_series(mine, "written", number), "-o", lw=1.1, mfc="white", **look)
                axes.plot(*_series(mine, "compiled", number), "-o", lw=1.9, **look)
            axes.set(title=title, xscale="log", yscale="log", xlabel="joints n")
            if number is not None:
                axes.set_ylim(bottom=FEW)
            axes.xaxis.set_major_locator(FixedLocator([n for n in numbers if n <= 6 or n in (8, 10, 12, 15, 20)]))
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.xaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_minor_formatter(NullFormatter())
        grey: dict[str, Any] = {"color": "#555555", "ms": 4}
        handles = [Line2D([], [], color=colour, lw=3, label=word) for word, colour in GROWING.values()]
        handles += [
            Line2D([], [], ls="--", lw=1.3, label="M's Table 3", **grey),
            Line2D([], [], marker="o", mfc="white", lw=1.1, label="as written", **grey),
            Line2D([], [], marker="o", lw=1.9, label="compiled", **grey),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=4 if len(panels) > 1 else 3)
    return figure


def _series(costs: Sequence[Cost], field: str, number: Number) -> tuple[list[int], list[float]]:
    """n and the known values; zeros are omitted on a logarithmic axis."""
    known = [(cost.n, number(getattr(cost, field))) for cost in costs if getattr(cost, field) is not None]
    return [n for n, y in known if y > 0], [y for _, y in known if y > 0]
