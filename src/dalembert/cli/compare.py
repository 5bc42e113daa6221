"""``dalembert compare``: what the formulations cost, beside M's Table 3."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dalembert as da
from dalembert.cli.options import Physical, PhysicalOption, TipOption, check_plot, load, overwriting, save_plot
from dalembert.cli.terminal import Bar, console, plain, print_table
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.analysis.price import Line, Polynomial
    from dalembert.graph.count import Operations

MOST_JOINTS = 24
NAMES = {  # the formulations that are shown growing
    "lagrange-euler": "Lagrange–Euler",
    "newton-euler": "Newton–Euler",
    "dalembert": "generalized d'Alembert",
    "lean": "lean Newton–Euler",
}
COLOURS = {"lagrange-euler": "#b3403a", "newton-euler": "#2f6db3", "dalembert": "#c98a1b", "lean": "#2e8b57"}
LETTERS = {"lagrange-euler": "e", "newton-euler": "n", "dalembert": "d", "lean": "l"}
COLUMNS = [">M\n×", ">\n+", ">written\n×", ">\n+", ">compiled\n×", ">\n+", ">\ntrig", ">\nns"]


def compare(
    arm: Annotated[
        str | None,
        typer.Argument(metavar="[ARM]", help="A shipped arm or a robot file; without it, arms of n general joints."),
    ] = None,
    joints: Annotated[
        str | None,
        typer.Option(metavar="2..12", help="Growth with the number of joints; 2..12 where no arm is given."),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Compile, and time each formulation; otherwise only count.")
    ] = True,
    everything: Annotated[
        bool, typer.Option("--all", help="Also formulations of degree 4 for more than 7 joints, which take long.")
    ] = False,
    plot: Annotated[
        str | None, typer.Option(metavar="OUT.png", help="Write growth as a figure: .png, .svg or .pdf.")
    ] = None,
    force: Annotated[bool, overwriting("OUT.png")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Compare the formulations of inverse dynamics: M's Table 3, operations as written and compiled, ns per state."""
    wanted = joints_of(joints) if joints is not None else range(2, 13) if arm is None else None
    if plot is not None:
        if wanted is None or len(wanted) < 2:
            raise DalembertError("--plot draws growth with the number of joints; give a range, like --joints 2..12")
        check_plot(plot, force=force)
    if arm is not None:
        _show_arm(load(arm, physical, tip), measure=measure, everything=everything)
    if wanted is not None:
        _show_growth(wanted, measure=measure, everything=everything, plot=plot, force=force)


def joints_of(text: str) -> range:
    """The numbers of joints in ``2..12``, ``2-12`` or ``7``."""
    found = re.fullmatch(r"\s*(\d{1,6})\s*(?:(?:\.\.|-|–|…)\s*(\d{1,6})\s*)?", text)
    if found is None:
        raise DalembertError(f'--joints "{plain(text)}" is not a number of joints like 7, or a range like 2..12')
    first, last = int(found[1]), int(found[2] or found[1])
    if first > last:
        raise DalembertError(f"--joints {first}..{last} begins after its end; write {last}..{first}")
    if first < 1 or last > MOST_JOINTS:
        raise DalembertError(f"--joints must lie between 1 and {MOST_JOINTS}, not {first if first < 1 else last}")
    return range(first, last + 1)


def _show_arm(arm: da.Arm, *, measure: bool, everything: bool) -> None:
    """A table of all formulations for one arm."""
    from dalembert.analysis import price

    with Bar("tracing, compiling, measuring" if measure else "tracing", patience=0.2) as bar:
        lines = price.compare(arm, measure=measure, everything=everything, progress=bar)
    screen = console()
    title = f"{plain(arm.name)}: inverse dynamics, {arm.n} joint{'s' * (arm.n != 1)}"
    print_table(screen, title, ["\nformulation", *COLUMNS], [[line.formulation, *_cells(line)] for line in lines])
    _notes(screen, lines)


def _show_growth(joints: range, *, measure: bool, everything: bool, plot: str | None, force: bool) -> None:
    """Tables for arms of n general revolute joints, a drawing, and a figure if asked for."""
    from dalembert.analysis import price

    with Bar("tracing, compiling, measuring" if measure else "tracing", patience=0.2) as bar:
        lines = price.growth(joints, measure=measure, everything=everything, progress=bar)
    screen = console()
    for name in NAMES:
        mine = [line for line in lines if line.formulation == name]
        title = f"{name}: inverse dynamics of n general revolute joints"
        print_table(screen, title, [">\nn", *COLUMNS], [[str(line.n), *_cells(line)] for line in mine])
        if len(mine) > price.DEGREE[name] + 1:  # one point more than the polynomial has coefficients
            fits = [
                price.polynomial([(x.n, getattr(x.written, f)) for x in mine]) for f in ("multiplications", "additions")
            ]
            screen.print(f"written × = {in_n(fits[0])}\nwritten + = {in_n(fits[1])}")
        screen.print()
    _notes(screen, lines)
    if len(joints) > 1:
        screen.print("\n".join(["", *drawing(lines)]), soft_wrap=True)
    if plot is not None:
        save_plot(figure(lines), plot, force=force)
        console(stderr=True).print(f"the figure is in {plain(plot)}", soft_wrap=True)


def _cells(line: Line) -> list[str]:
    def two(operations: Operations | None, missing: str) -> list[str]:
        if operations is None:
            return [missing, missing]
        return [str(operations.multiplications), str(operations.additions)]

    compiled = line.compiled
    trig = "—" if compiled is None else str(compiled.sines + compiled.cosines)
    ns = "–" if line.nanoseconds is None else f"{line.nanoseconds:.1f}"
    return [*two(line.table, ""), *two(line.written, ""), *two(compiled, "—"), trig, "—" if compiled is None else ns]


def _notes(screen: Any, lines: Sequence[Line]) -> None:
    from dalembert.analysis.price import MANY_JOINTS, STATES

    said = "× multiplications, + additions. M: its Table 3, evaluated at n. written: the formulas as they stand. "
    said += "compiled: after simplification; trig: sines and cosines that are left."
    if any(line.nanoseconds is not None for line in lines):
        said += f" ns: for each state, measured here in batches of {STATES} on one core."
    screen.print(said)
    if any(line.compiled is None for line in lines):
        screen.print(
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


def drawing(lines: Sequence[Line], height: int = 18, step: int = 5) -> list[str]:
    """Growth in characters: capital letters are Table 3, small ones our compiled operations; both axes logarithmic."""
    points: list[tuple[int, int, str]] = []
    for line in lines:
        letter = LETTERS[line.formulation]
        points += [(line.n, line.table.total, letter.upper())] if line.table else []
        points += [(line.n, line.compiled.total, letter)] if line.compiled else []
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
    words = ", ".join(f"{LETTERS[name]} {name}" for name in NAMES)
    return [
        "multiplications + additions over the number of joints n, both logarithmic",
        *(f"{decades.get(k, ''):>9} │{''.join(cells[k]).rstrip()}" for k in range(height)),
        f"{'':>9} └{'─' * (width + 2)}",
        f"{'n':>9}  {''.join(axis).rstrip()}",
        f"compiled: {words}",
        "E, N, D: the same by M's Table 3; *: two in one place",
    ]


def figure(lines: Sequence[Line]) -> Figure:
    """Growth with n: operations, and nanoseconds where they were measured."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, ScalarFormatter

    measured = any(line.nanoseconds is not None for line in lines)
    style = {
        "font.size": 9.5, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 10.5,
        "axes.titlelocation": "left", "axes.grid": True, "grid.color": "#e4e4e4", "legend.frameon": False,
        "axes.edgecolor": "#888888", "svg.fonttype": "none",
    }  # fmt: skip
    with matplotlib.rc_context(style):  # type: ignore[arg-type]
        made = Figure(figsize=(10.0 if measured else 6.0, 5.0), layout="constrained")
        panels = made.subplots(1, 1 + measured, squeeze=False)[0]
        for name in NAMES:
            mine = [line for line in lines if line.formulation == name]
            look: dict[str, Any] = {"color": COLOURS[name], "ms": 4}
            if mine[0].table:
                panels[0].plot(*_series(mine, "table"), "--", lw=1.3, **look)
            panels[0].plot(*_series(mine, "written"), "-o", lw=1.1, mfc="white", **look)
            panels[0].plot(*_series(mine, "compiled"), "-o", lw=1.9, **look)
            if measured:
                panels[1].plot(*_series(mine, "nanoseconds"), "-o", lw=1.9, **look)
        panels[0].set_title("Operations for inverse dynamics (multiplications + additions)")
        if measured:
            panels[1].set_title("Measured, ns for each state")
        numbers = sorted({line.n for line in lines})
        for axes in panels:
            axes.set(xscale="log", yscale="log", xlabel="joints n")
            axes.xaxis.set_major_locator(FixedLocator([n for n in numbers if n <= 8 or n % 2 == 0]))
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.xaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_minor_formatter(NullFormatter())
        grey: dict[str, Any] = {"color": "#555555", "ms": 4}
        handles = [Line2D([], [], color=COLOURS[name], lw=3, label=NAMES[name]) for name in NAMES]
        handles += [
            Line2D([], [], ls="--", lw=1.3, label="M's Table 3", **grey),
            Line2D([], [], marker="o", mfc="white", lw=1.1, label="as written", **grey),
            Line2D([], [], marker="o", lw=1.9, label="compiled", **grey),
        ]
        made.legend(handles=handles, loc="outside lower center", ncols=4 if measured else 3)
    return made


def _series(lines: Sequence[Line], field: str) -> tuple[list[int], list[float]]:
    found = [(line.n, getattr(line, field)) for line in lines if getattr(line, field) is not None]
    return [n for n, _ in found], [y if isinstance(y, float) else y.total for _, y in found]
