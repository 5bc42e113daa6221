"""``dalembert compare``: the cost of the formulations, next to M's Table 3."""

from __future__ import annotations

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

MOST_JOINTS = 24
GENERAL = 6  # joints of the chain that is explained without an arm
EXPLAINED = {  # per formulation: the title of its table, the source of M's counts, and what is counted
    "newton-euler": (
        "Newton–Euler inverse dynamics by equation of S 7.5.2", "M Table 2",
        "written: the formulas as printed. M Table 2: its rows for revolute joints counted by hand, 9 × and 6 + for a matrix times "
        "a vector, 6 × and 3 + for a cross product, no × for z_0 = (0, 0, 1). P, t: the pose of the joint on its link; in M the "
        "joint is on the z-axis of a DH frame, R_i takes 4 multiplications, and there are no rotors.",
    ),
    "lagrange-euler": (
        "Lagrange–Euler inverse dynamics by equation of M section 2", "M Table 3",
        "written: every trace as printed, U_jkm J_j and the diagonal of its product with U_jiᵀ, 80 × and 63 +; j begins at the "
        "largest index, Σ j³ traces in (2.14) and Σ j² in (2.11). M Table 3: M does not say what it counts, but this sum has "
        "exactly its coefficients: both products of a trace in full, 128 × and 98 +, for every i and every j from 1 to n, "
        "n Σ j² and n Σ j traces; two products of 4×4 matrices for U_ijk, one for U_ij, n² for the A; Σ D_ik q̈_k; neither "
        "h_ikm q̇_k q̇_m nor gravity.",
    ),
}  # fmt: skip
ABOUT_DIRECT = (
    "S 7.6 states O(n) for inverse and O(n²) for direct dynamics: τ′ and the n columns of B take n + 1 runs of a recursion of "
    "O(n), the formulation column-by-column. Solving (7.115) for q̈ adds a term in n³, which S does not count. Composite "
    "bodies give the same B with far fewer operations in n²; articulated bodies need neither B nor its inverse."
)
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
        from dalembert.work.analysis.price import chain

        explained = chain(GENERAL) if arm is None else options.load(arm, loading)
        _explain(explained, f"{GENERAL} general revolute joints" if arm is None else plain(explained.name))
        return
    wanted = joints_of(joints) if joints is not None else range(2, 13) if arm is None else None
    if plot is not None and (wanted is None or len(wanted) < 2):
        raise DalembertError("--plot draws the growth with the number of joints; give a range, like --joints 2..12")
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
        _show_growth(costs, price.DEGREE, "inverse")
        _notes(costs)
        tell("")
        _show_growth(priced(price.direct_growth, wanted), price.DIRECT, "direct")
        console().print(f"{ABOUT_DIRECT} {introduction('S')}")
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


def _show_growth(costs: Sequence[Cost], degrees: Mapping[str, int], what: str) -> None:
    """Tables for arms of n general revolute joints, and the polynomials in n of the operations as written."""
    from dalembert.work.analysis.price import exponent, polynomial

    for name in dict.fromkeys(cost.formulation for cost in costs):
        mine = [cost for cost in costs if cost.formulation == name]
        title = f"{name}: {what} dynamics of n general revolute joints"
        print_table([">\nn", *COLUMNS], [[str(cost.n), *_cells(cost)] for cost in mine], title)
        regular = [cost for cost in mine if cost.n > 1]  # a single joint has no couplings
        if len(regular) > degrees[name] + 1:  # at least one point more than the polynomial has coefficients
            for sign, field in (("×", "multiplications"), ("+", "additions")):
                fit = polynomial([(cost.n, getattr(cost.written, field)) for cost in regular])
                console().print(f"written {sign} = {in_n(fit)}")
            console().print(f"compiled grows as n^{exponent(regular):.1f}")
        tell("")


def _explain(arm: Arm, whose: str) -> None:
    """The operations of Newton–Euler and of Lagrange–Euler, equation by equation."""
    from dalembert.work.analysis.recursion_price import steps

    for name, (title, paper, words) in EXPLAINED.items():
        table = steps(arm, name)
        counts = [[y for x in (step.written, step.nontrivial, step.paper) for y in _pair(x)] for step in table]
        rows = [[step.equation, step.what, *map(str, row)] for step, row in zip(table, counts, strict=True)]
        rows.append(["", "total", *(str(sum(column)) for column in zip(*counts, strict=True))])
        heads = ["\nequation", "\nwhat", ">written\n×", ">\n+", ">nontrivial\n×", ">\n+", f">{paper}\n×", ">\n+"]
        print_table(heads, rows, f"{whose}: {title}")
        times, plus = _pair(arm.operations("inverse_dynamics", name).compiled)
        console().print(f"compiled: {times} multiplications, {plus} additions")
        console().print(f"{words}\n")
    console().print(
        f"nontrivial: without products with 0, 1 and −1 and sums with 0; nothing is shared. {introduction()}"
    )


def _pair(operations: Operations) -> list[int]:
    return [operations.multiplications, operations.additions]


def _cells(cost: Cost) -> list[str]:
    cells = ["", ""] if cost.table is None else list(map(str, _pair(cost.table)))
    cells += map(str, _pair(cost.written))
    if (compiled := cost.compiled) is None:
        return [*cells, *["—"] * 4]
    time = "–" if cost.nanoseconds is None else f"{cost.nanoseconds:.1f}"
    return [*cells, *map(str, _pair(compiled)), str(compiled.sines + compiled.cosines), time]


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
