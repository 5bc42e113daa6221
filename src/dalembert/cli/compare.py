"""``dalembert compare``: what the formulations cost, beside M's Table 3."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from dalembert.cli import options
from dalembert.cli.terminal import console, plain, print_table, tell
from dalembert.environment.extras import extra
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.analysis.price import Cost, Polynomial
    from dalembert.graph.count import Operations

MOST_JOINTS = 24
GROWING = {  # the formulations that are shown growing: their name, colour and letter
    "lagrange-euler": ("Lagrange–Euler", "#b3403a", "e"),
    "newton-euler": ("Newton–Euler", "#2f6db3", "n"),
    "dalembert": ("generalized d'Alembert", "#c98a1b", "d"),
    "lean": ("lean Newton–Euler", "#2e8b57", "l"),
}
COLUMNS = [">M\n×", ">\n+", ">written\n×", ">\n+", ">compiled\n×", ">\n+", ">\ntrig", ">\nns"]


def compare(
    arm: Annotated[
        str | None,
        Argument(metavar="[ARM]", help="A shipped arm or a robot file; without it, arms of n general joints."),
    ] = None,
    joints: Annotated[
        str | None, Option(metavar="2..12", help="Growth with the number of joints; 2..12 where no arm is given.")
    ] = None,
    measure: Annotated[
        bool, Option("--measure/--no-measure", help="Compile, and time each formulation; otherwise only count.")
    ] = True,
    everything: Annotated[
        bool, Option("--all", help="Also formulations of degree 4 for more than 7 joints, which take long.")
    ] = False,
    plot: Annotated[str | None, Option(metavar="OUT.png", help="Write growth as a figure: .png, .svg or .pdf.")] = None,
    force: Annotated[bool, options.overwriting("OUT.png")] = False,
    physical: options.PhysicalOption = "error",
    tip: options.TipOption = None,
) -> None:
    """Compare the formulations of inverse dynamics: M's Table 3, operations as written and compiled, ns per state."""
    wanted = joints_of(joints) if joints is not None else range(2, 13) if arm is None else None
    if plot is not None:
        if wanted is None or len(wanted) < 2:
            raise DalembertError("--plot draws growth with the number of joints; give a range, like --joints 2..12")
        options.check_plot(plot, force=force)
    from dalembert.analysis import price

    loaded = None if arm is None else options.load(arm, physical, tip)

    def priced(work: Callable[..., tuple[Cost, ...]], of: Any) -> tuple[Cost, ...]:
        with Bar("tracing, compiling, measuring" if measure else "tracing", patience=0.2) as bar:
            return work(of, measure=measure, everything=everything, progress=bar)

    if loaded is not None:
        costs = priced(price.compare, loaded)
        title = f"{plain(loaded.name)}: inverse dynamics, {loaded.n} joint{'s' * (loaded.n != 1)}"
        print_table(["\nformulation", *COLUMNS], [[cost.formulation, *_cells(cost)] for cost in costs], title)
        _notes(costs)
    if wanted is not None:
        costs = priced(price.growth, wanted)
        _show_growth(costs)
        if len(wanted) > 1:
            tell("\n".join(["", *drawing(costs)]))
        if plot is not None:
            options.save_plot(figure(costs), plot, force=force)
            tell(f"the figure is in {plain(plot)}", stderr=True)


def joints_of(text: str) -> range:
    """The numbers of joints in ``2..12``, ``2-12`` or ``7``."""
    match = re.fullmatch(r"\s*(\d{1,6})\s*(?:(?:\.\.|-|–|…)\s*(\d{1,6})\s*)?", text)
    if match is None:
        raise DalembertError(f'--joints "{plain(text)}" is not a number of joints like 7, or a range like 2..12')
    first, last = int(match[1]), int(match[2] or match[1])
    if first > last:
        raise DalembertError(f"--joints {first}..{last} begins after its end; write {last}..{first}")
    if first < 1 or last > MOST_JOINTS:
        raise DalembertError(f"--joints must lie between 1 and {MOST_JOINTS}, not {first if first < 1 else last}")
    return range(first, last + 1)


def _show_growth(costs: Sequence[Cost]) -> None:
    """Tables for arms of n general revolute joints."""
    from dalembert.analysis.price import DEGREE, polynomial

    for name in GROWING:
        mine = [cost for cost in costs if cost.formulation == name]
        title = f"{name}: inverse dynamics of n general revolute joints"
        print_table([">\nn", *COLUMNS], [[str(cost.n), *_cells(cost)] for cost in mine], title)
        if len(mine) > DEGREE[name] + 1:  # one point more than the polynomial has coefficients
            for sign, field in (("×", "multiplications"), ("+", "additions")):
                fit = polynomial([(cost.n, getattr(cost.written, field)) for cost in mine])
                console().print(f"written {sign} = {in_n(fit)}")
        tell("")
    _notes(costs)


def _cells(cost: Cost) -> list[str]:
    def two(operations: Operations | None, missing: str) -> list[str]:
        if operations is None:
            return [missing, missing]
        return [str(operations.multiplications), str(operations.additions)]

    compiled = cost.compiled
    trig = "—" if compiled is None else str(compiled.sines + compiled.cosines)
    ns = "–" if cost.nanoseconds is None else f"{cost.nanoseconds:.1f}"
    return [*two(cost.table, ""), *two(cost.written, ""), *two(compiled, "—"), trig, "—" if compiled is None else ns]


def _notes(costs: Sequence[Cost]) -> None:
    from dalembert.analysis.price import MANY_JOINTS, STATES

    words = "× multiplications, + additions. M: its Table 3, evaluated at n. written: the formulas as they stand. "
    words += "compiled: after simplification; trig: sines and cosines that are left."
    if any(cost.nanoseconds is not None for cost in costs):
        words += f" ns: for each state, measured here in batches of {STATES} on one core."
    console().print(words)
    if any(cost.compiled is None for cost in costs):
        console().print(
            f"— not traced: formulations of degree 4 with more than {MANY_JOINTS} joints take long; --all takes them too."
        )


def in_n(coefficients: Polynomial) -> str:
    """A polynomial as people write it.

    >>> from fractions import Fraction
    >>> in_n((Fraction(-4), Fraction(111), Fraction(0), Fraction(13, 6)))
    '13/6 n³ + 111 n − 4'
    """
    text = ""
    for power in reversed(range(len(coefficients))):
        c = coefficients[power]
        if c == 0:
            continue
        letter = "" if power == 0 else "n" if power == 1 else "n" + "⁰¹²³⁴⁵⁶⁷⁸⁹"[power]
        sign = (" − " if c < 0 else " + ") if text else ("−" if c < 0 else "")
        text += sign + " ".join(word for word in (str(abs(c)) if abs(c) != 1 or not letter else "", letter) if word)
    return text or "0"


# -- growth, drawn --------------------------------------------------------------------------------


def drawing(costs: Sequence[Cost], height: int = 18, step: int = 5) -> list[str]:
    """Growth in characters: capital letters are Table 3, small ones our compiled operations; both axes logarithmic."""
    points: list[tuple[int, int, str]] = []
    for cost in costs:
        letter = GROWING[cost.formulation][2]
        points += [(cost.n, cost.table.total, letter.upper())] if cost.table else []
        points += [(cost.n, cost.compiled.total, letter)] if cost.compiled else []
    low, high = (math.log10(f(y for _, y, _ in points)) for f in (min, max))
    first, last = math.log(points[0][0]), math.log(max(n for n, _, _ in points))
    width = step * len({n for n, _, _ in points})

    def column(n: int) -> int:
        return round((math.log(n) - first) / (last - first) * width)

    def row(y: float) -> int:
        return round((high - math.log10(y)) / (high - low) * (height - 1))

    cells = [[" "] * (width + 1) for _ in range(height)]
    for n, y, letter in points:
        here = cells[row(y)][column(n)]
        cells[row(y)][column(n)] = letter if here == " " else "*"
    decades = {row(10.0**k): f"{10**k:,}" for k in range(math.ceil(low), math.floor(high) + 1)}
    axis = [" "] * (width + 4)
    taken = -2
    for n in sorted({n for n, _, _ in points}):
        if column(n) > taken + 1:
            axis[column(n) : column(n) + len(str(n))] = str(n)
            taken = column(n) + len(str(n)) - 1
    words = ", ".join(f"{letter} {name}" for name, (_, _, letter) in GROWING.items())
    return [
        "multiplications + additions over the number of joints n, both logarithmic",
        *(f"{decades.get(k, ''):>9} │{''.join(cells[k]).rstrip()}" for k in range(height)),
        f"{'':>9} └{'─' * (width + 2)}",
        f"{'n':>9}  {''.join(axis).rstrip()}",
        f"compiled: {words}",
        "E, N, D: the same by M's Table 3; *: two in one place",
    ]


def figure(costs: Sequence[Cost]) -> Figure:
    """Growth with n: operations, and nanoseconds where they were measured."""
    with extra("plot", "a figure"):
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D
        from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, ScalarFormatter

    measured = any(cost.nanoseconds is not None for cost in costs)
    style = {
        "font.size": 9.5, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 10.5,
        "axes.titlelocation": "left", "axes.grid": True, "grid.color": "#e4e4e4", "legend.frameon": False,
        "axes.edgecolor": "#888888", "svg.fonttype": "none",
    }  # fmt: skip
    with matplotlib.rc_context(style):  # type: ignore[arg-type]
        growth = Figure(figsize=(10.0 if measured else 6.0, 5.0), layout="constrained")
        panels = growth.subplots(1, 1 + measured, squeeze=False)[0]
        for name, (_, colour, _) in GROWING.items():
            mine = [cost for cost in costs if cost.formulation == name]
            look: dict[str, Any] = {"color": colour, "ms": 4}
            if mine[0].table:
                panels[0].plot(*_series(mine, "table"), "--", lw=1.3, **look)
            panels[0].plot(*_series(mine, "written"), "-o", lw=1.1, mfc="white", **look)
            panels[0].plot(*_series(mine, "compiled"), "-o", lw=1.9, **look)
            if measured:
                panels[1].plot(*_series(mine, "nanoseconds"), "-o", lw=1.9, **look)
        panels[0].set_title("Operations for inverse dynamics (multiplications + additions)")
        if measured:
            panels[1].set_title("Measured, ns for each state")
        numbers = sorted({cost.n for cost in costs})
        for axes in panels:
            axes.set(xscale="log", yscale="log", xlabel="joints n")
            axes.xaxis.set_major_locator(FixedLocator([n for n in numbers if n <= 8 or n % 2 == 0]))
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.xaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_minor_formatter(NullFormatter())
        grey: dict[str, Any] = {"color": "#555555", "ms": 4}
        handles = [Line2D([], [], color=colour, lw=3, label=word) for word, colour, _ in GROWING.values()]
        handles += [
            Line2D([], [], ls="--", lw=1.3, label="M's Table 3", **grey),
            Line2D([], [], marker="o", mfc="white", lw=1.1, label="as written", **grey),
            Line2D([], [], marker="o", lw=1.9, label="compiled", **grey),
        ]
        growth.legend(handles=handles, loc="outside lower center", ncols=4 if measured else 3)
    return growth


def _series(costs: Sequence[Cost], field: str) -> tuple[list[int], list[float]]:
    known = [(cost.n, getattr(cost, field)) for cost in costs if getattr(cost, field) is not None]
    return [n for n, _ in known], [y if isinstance(y, float) else y.total for _, y in known]
