"""``dalembert compare``: the cost of the formulations, next to M's Table 3."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dalembert.base.bibliography import introduction
from dalembert.base.environment.progress import Bar
from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import Loading
from dalembert.views.cli.terminal import console, plain, print_table, tell

if TYPE_CHECKING:
    from dalembert.arm import Arm
    from dalembert.compiler.graph.count import Operations
    from dalembert.work.analysis.price import Cost, Polynomial
    from dalembert.work.analysis.recursion_price import Step

MOST_JOINTS = 24
EXPLAINED = (3, 4, 5, 6)  # joints of general chains: from the third on, every joint adds the same number
LETTERS = {"lagrange-euler": "e", "newton-euler": "n", "dalembert": "d", "lean": "l"}  # in the plot of growth
COLUMNS = [">M\n×", ">\n+", ">written\n×", ">\n+", ">compiled\n×", ">\n+", ">\ntrig", ">\nns"]


def compare(
    arm: str | None = option(
        "A shipped arm or a robot file; default: arms with n general joints.", argument=True, metavar="[ARM]"
    ),
    joints: str | None = option("Growth with the number of joints; 2..12 by default without an arm.", metavar="2..12"),
    measure: bool = option("Compile and time each formulation; otherwise only count operations.", True),
    everything: bool = option(
        "Include formulations of degree 4 for more than 7 joints, which take long.", False, spelled="--all"
    ),
    explain: bool = option(
        "Show only the operations of Newton–Euler and Lagrange–Euler per equation, and why M counts others.", False
    ),
    plot: str | None = options.plotting("Write growth as a figure"),
    force: bool = options.overwriting("OUT.png"),
    *,
    loading: Loading,
) -> None:
    """Compare the formulations of inverse dynamics: operations as published, written and compiled, and ns per state.

    The published operations are those of M's Table 3. Growth with the number of joints is also shown for direct
    dynamics.
    """
    if explain:
        if joints is not None or plot is not None:
            raise DalembertError("--explain takes an arm or nothing, and neither --joints nor --plot")
        explained = None if arm is None else options.load(arm, loading)
        _explain(explained)
        _explain_traces(explained)
        return
    wanted = joints_of(joints) if joints is not None else range(2, 13) if arm is None else None
    if plot is not None:
        if wanted is None or len(wanted) < 2:
            raise DalembertError("--plot draws the growth with the number of joints; give a range, like --joints 2..12")
        options.check_plot(plot, force=force)
    from dalembert.work.analysis import price

    loaded = None if arm is None else options.load(arm, loading)

    def priced(work: Callable[..., tuple[Cost, ...]], of: Any) -> tuple[Cost, ...]:
        with Bar("tracing, compiling, measuring" if measure else "tracing", patience=0.2) as bar:
            return work(of, measure=measure, everything=everything, progress=bar)

    if loaded is not None:
        costs = priced(price.compare, loaded)
        title = f"{plain(loaded.name)}: inverse dynamics, {loaded.n} joint{'s' * (loaded.n != 1)}"
        print_table(["\nformulation", *COLUMNS], [[cost.formulation, *_cells(cost)] for cost in costs], title)
        _notes(costs)
        rows = [[cost.formulation, *price.CHARACTER[cost.formulation]] for cost in costs]
        tell("")
        print_table(["formulation", "kinematics representation", "equations of motion"], rows)
    if wanted is not None:
        costs = priced(price.growth, wanted)
        _show_growth(costs)
        _show_direct(priced(price.direct_growth, wanted))
        if len(wanted) > 1:
            tell("\n".join(["", *drawing(costs)]))
        if plot is not None:
            from dalembert.views.report.price_figures import growth_figure

            options.save_plot(growth_figure(costs), plot, force=force)


def joints_of(text: str) -> range:
    """The numbers of joints given as ``2..12``, ``2-12`` or ``7``."""
    match = re.fullmatch(r"\s*(\d{1,6})\s*(?:(?:\.\.|-|–|…)\s*(\d{1,6})\s*)?", text)
    if match is None:
        raise DalembertError(f'--joints "{plain(text)}" is not a number of joints like 7, or a range like 2..12')
    first, last = int(match[1]), int(match[2] or match[1])
    if first > last:
        raise DalembertError(f"--joints {first}..{last} starts after its end; write {last}..{first}")
    if first < 1 or last > MOST_JOINTS:
        raise DalembertError(f"--joints must lie between 1 and {MOST_JOINTS}, not {first if first < 1 else last}")
    return range(first, last + 1)


def _show_growth(costs: Sequence[Cost]) -> None:
    """Tables for arms of n general revolute joints."""
    from dalembert.work.analysis.price import DEGREE, polynomial

    for name in LETTERS:
        mine = [cost for cost in costs if cost.formulation == name]
        title = f"{name}: inverse dynamics of n general revolute joints"
        print_table([">\nn", *COLUMNS], [[str(cost.n), *_cells(cost)] for cost in mine], title)
        regular = [cost for cost in mine if cost.n > 1]  # a single joint has no couplings
        if len(regular) > DEGREE[name] + 1:  # at least one point more than the polynomial has coefficients
            for sign, field in (("×", "multiplications"), ("+", "additions")):
                fit = polynomial([(cost.n, getattr(cost.written, field)) for cost in regular])
                console().print(f"written {sign} = {in_n(fit)}")
        tell("")
    _notes(costs)


def _show_direct(costs: Sequence[Cost]) -> None:
    """Direct dynamics of the same arms, and what S 7.6 states about both."""
    from dalembert.work.analysis.price import DIRECT, exponent, polynomial

    by_name = {name: [cost for cost in costs if cost.formulation == name] for name in DIRECT}
    rows = []
    for line in zip(*by_name.values(), strict=True):
        cells = [(str(x.written.total), str(x.compiled and x.compiled.total), _nanoseconds(x)) for x in line]
        rows.append([str(line[0].n), *(cell for three in cells for cell in three)])
    heads = [head for name in DIRECT for head in (f">{name}\nwritten", ">\ncompiled", ">\nns")]
    tell("")
    print_table([">\nn", *heads], rows, "direct dynamics of n general revolute joints: multiplications + additions")
    for name, mine in by_name.items():
        regular = [cost for cost in mine if cost.n > 1]
        if len(regular) > DIRECT[name] + 1:
            fit = polynomial([(cost.n, cost.written.total) for cost in regular])
            console().print(f"{name}: written = {in_n(fit)}; compiled grows as n^{exponent(regular):.1f}")
    console().print(
        "S 7.6 states O(n) for inverse and O(n²) for direct dynamics: τ′ and the n columns of B take n + 1 runs of a recursion of "
        "O(n), the formulation column-by-column. Solving (7.115) for q̈ adds a term in n³, which S does not count. Composite "
        "bodies give the same B with far fewer operations in n²; articulated bodies need neither B nor its inverse. "
        f"{introduction('S')}"
    )


def _explain(arm: Arm | None) -> None:
    """The recursion's operations per equation: for an arm, or the operations that one more joint adds to a general chain."""
    from dalembert.work.analysis.price import chain
    from dalembert.work.analysis.recursion_price import steps

    arms = [chain(n) for n in EXPLAINED] if arm is None else [arm]
    tables = [steps(each) for each in arms]
    counts = list(map(_counts, tables))
    compiled = {
        f"{name}, compiled": [_pair(each.operations("inverse_dynamics", name).compiled) for each in arms]
        for name in ("newton-euler", "lean")
    }
    title, cells = "Newton–Euler inverse dynamics by equation of S 7.5.2", counts[0]
    if arm is None:
        title += ": operations added by one more general revolute joint"
        cells = [[b - a for a, b in zip(*rows, strict=True)] for rows in zip(counts[0], counts[1], strict=True)]
        series = {"written": 0, "nontrivial": 2, "M Table 2, row by row": 4}
        totals = {name: [rows[-1][k : k + 2] for rows in counts] for name, k in series.items()} | compiled
        lines = _printed("newton-euler") | {name: _in_n(EXPLAINED, pairs) for name, pairs in totals.items()}
    else:
        title = f"{plain(arm.name)}: {title}"
        lines = {name: list(map(str, pairs[0])) for name, pairs in compiled.items()}
    _show_steps(tables[0], cells, title, "M Table 2", lines)
    console().print(
        "written: the formulas as printed. nontrivial: without products with 0, 1 and −1 and sums with 0; nothing is shared. "
        "M Table 2: its rows for revolute joints counted by hand, 9 × and 6 + for a matrix times a vector, 6 × and 3 + for a "
        "cross product, no × for z_0 = (0, 0, 1). P, t: the pose of the joint on its link; in M the joint is on the z-axis of a "
        f"DH frame, R_i takes 4 multiplications, and there are no rotors. {introduction()}"
    )


def _explain_traces(arm: Arm | None) -> None:
    """The operations of Lagrange–Euler per equation, for an arm or for a general chain."""
    from dalembert.work.analysis.price import chain, cost
    from dalembert.work.analysis.recursion_price import steps

    model, name = arm or chain(EXPLAINED[-1]), "lagrange-euler"
    table, lines = steps(model, name), {}
    if arm is None:
        sizes = range(2, 8)
        costs = [cost(chain(n), name, measure=False, compiled=False, quantity="inverse_dynamics") for n in sizes]
        lines = _printed(name) | {"written": _in_n(sizes, [_pair(each.written) for each in costs])}
    lines["compiled"] = list(map(str, _pair(model.operations("inverse_dynamics", name).compiled)))
    tell("")
    whose = plain(model.name) if arm else f"{model.n} general revolute joints"
    title = f"{whose}: Lagrange–Euler inverse dynamics by equation of M section 2"
    _show_steps(table, _counts(table), title, "M Table 3", lines)
    console().print(
        "written: every trace as printed, U_jkm J_j and the diagonal of its product with U_jiᵀ, 80 × and 63 +; j begins at the "
        "largest index, Σ j³ traces in (2.14) and Σ j² in (2.11). M Table 3: M does not say what it counts, but this sum has "
        "exactly its coefficients: both products of a trace in full, 128 × and 98 +, for every i and every j from 1 to n, "
        "n Σ j² and n Σ j traces; two products of 4×4 matrices for U_ijk, one for U_ij, n² for the A; Σ D_ik q̈_k; neither "
        "h_ikm q̇_k q̇_m nor gravity."
    )


def _printed(formulation: str) -> dict[str, list[str]]:
    """Multiplications and additions of M's Table 3, as polynomials in n."""
    from dalembert.work.analysis.price import TABLE_3

    return {"M Table 3 as printed": [in_n(polynomial) for polynomial in TABLE_3[formulation]]}


def _in_n(sizes: Sequence[int], pairs: Sequence[Sequence[int]]) -> list[str]:
    """Multiplications and additions at these sizes, as polynomials in n."""
    from dalembert.work.analysis.price import polynomial

    return [in_n(polynomial(list(zip(sizes, counts, strict=True)))) for counts in zip(*pairs, strict=True)]


def _counts(table: Sequence[Step]) -> list[list[int]]:
    """Multiplications and additions of every step as written, nontrivial and in M, and their total."""
    rows = [[y for x in (step.written, step.nontrivial, step.paper) for y in _pair(x)] for step in table]
    return [*rows, [sum(column) for column in zip(*rows, strict=True)]]


def _show_steps(
    table: Sequence[Step], cells: list[list[int]], title: str, paper: str, lines: Mapping[str, Sequence[str]]
) -> None:
    names = [*((step.equation, step.what) for step in table), ("", "total")]
    heads = ["\nequation", "\nwhat", ">written\n×", ">\n+", ">nontrivial\n×", ">\n+", f">{paper}\n×", ">\n+"]
    print_table(heads, [[*name, *map(str, row)] for name, row in zip(names, cells, strict=True)], title)
    for name, (times, plus) in lines.items():
        console().print(f"{name}: {times} multiplications, {plus} additions")


def _pair(operations: Operations) -> list[int]:
    return [operations.multiplications, operations.additions]


def _nanoseconds(cost: Cost) -> str:
    return "–" if cost.nanoseconds is None else f"{cost.nanoseconds:.1f}"


def _cells(cost: Cost) -> list[str]:
    cells = ["", ""] if cost.table is None else list(map(str, _pair(cost.table)))
    cells += map(str, _pair(cost.written))
    if (compiled := cost.compiled) is None:
        return [*cells, *["—"] * 4]
    return [*cells, *map(str, _pair(compiled)), str(compiled.sines + compiled.cosines), _nanoseconds(cost)]


def _notes(costs: Sequence[Cost]) -> None:
    from dalembert.work.analysis.price import MANY_JOINTS, STATES

    words = "× multiplications, + additions. M: Table 3, evaluated at n. written: the formulas as printed. "
    words += "compiled: after simplification; trig: sines and cosines that remain."
    if any(cost.nanoseconds is not None for cost in costs):
        words += f" ns: per state, measured here in batches of {STATES} on one core."
    console().print(f"{words} {introduction('M')}")
    if any(cost.compiled is None for cost in costs):
        slow = f"formulations of degree 4 with more than {MANY_JOINTS} joints take long"
        console().print(f"— not traced: {slow}; --all includes them.")


def in_n(coefficients: Polynomial) -> str:
    """A polynomial in conventional notation.

    >>> from fractions import Fraction
    >>> in_n((Fraction(-4), Fraction(111), Fraction(0), Fraction(13, 6)))
    '13/6 n³ + 111 n − 4'
    """
    text = ""
    for power, c in reversed([(power, c) for power, c in enumerate(coefficients) if c]):
        letter = "" if power == 0 else "n" if power == 1 else "n" + "⁰¹²³⁴⁵⁶⁷⁸⁹"[power]
        sign = (" − " if c < 0 else " + ") if text else ("−" if c < 0 else "")
        text += sign + f"{abs(c) if abs(c) != 1 or not letter else ''} {letter}".strip()
    return text or "0"


# -- plot of growth -------------------------------------------------------------------------------


def drawing(costs: Sequence[Cost], height: int = 18, step: int = 5) -> list[str]:
    """Growth as a character plot: capital letters are Table 3, small ones our compiled operations; both axes logarithmic."""
    points: list[tuple[int, int, str]] = []
    for cost in costs:
        letter = LETTERS[cost.formulation]
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
    last_column = -2
    for n in sorted({n for n, _, _ in points}):
        if column(n) > last_column + 1:
            axis[column(n) : column(n) + len(str(n))] = str(n)
            last_column = column(n) + len(str(n)) - 1
    words = ", ".join(f"{letter} {name}" for name, letter in LETTERS.items())
    return [
        "multiplications + additions over the number of joints n, both axes logarithmic",
        *(f"{decades.get(k, ''):>9} │{''.join(cells[k]).rstrip()}" for k in range(height)),
        f"{'':>9} └{'─' * (width + 2)}",
        f"{'n':>9}  {''.join(axis).rstrip()}",
        f"compiled: {words}",
        "E, N, D: the same by M's Table 3; *: two points in one place",
    ]
