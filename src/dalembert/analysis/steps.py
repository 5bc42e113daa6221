"""Operations of the recursion by step: S (7.107)–(7.114), compared with the rows of M's Table 2.

The formulas of :mod:`dalembert.equations.newton_euler` run on counting scalars; an operation belongs to the equation
named in the comment at the end of its line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dalembert.arm import Arm
from dalembert.environment.brief import brief
from dalembert.equations import newton_euler
from dalembert.graph.count import Counted, Nontrivial, Operations, Tally
from dalembert.quantities import machine
from dalembert.quantities.joints import JOINTS

# (multiplications, additions) of vector operations, counted by hand
Count = tuple[int, int]
TURN, CROSS, DOT = (9, 6), (6, 3), (3, 2)  # a 3×3 matrix times a vector, a × b, aᵀb
SCALE, SUM = (3, 0), (0, 3)
ALONG_Z, CROSS_Z = (0, 1), (2, 2)  # z_0 q̇ added, ω × z_0 q̇ added: z_0 = (0, 0, 1) costs no multiplication

OTHER = "other"
# equation: what it computes; M's row in Table 2 per joint; its share per joint except the last
STEPS: dict[str, tuple[str, tuple[Count, ...], tuple[Count, ...]]] = {
    "M (2.1)": ("R_i of the joint", ((4, 0),), ()),
    "frame i−1": ("P, t of the joint", (), ()),
    "(7.107)": ("ω_i", (TURN, ALONG_Z), ()),
    "(7.108)": ("ω̇_i", (TURN, ALONG_Z, CROSS_Z), ()),
    "(7.109)": ("p̈_i", (TURN, CROSS, CROSS, CROSS, SUM, SUM), ()),
    "(7.110)": ("p̈_Ci", (CROSS, CROSS, CROSS, SUM, SUM), ()),
    "(7.111)": ("ω̇_mi of the rotor", (), ()),
    "(7.112)": ("f_i", (SCALE,), (TURN, SUM)),
    "(7.113)": ("μ_i", (CROSS, TURN, TURN, CROSS, SUM, SUM), (TURN, CROSS, SUM, SUM)),
    "(7.114)": ("τ_i", (DOT,), ()),
    "(7.42)": ("friction", ((1, 1),), ()),
    OTHER: ("coordinates, loops", (), ()),
}


@brief
@dataclass(frozen=True)
class Step:
    """Operations of one step of the recursion, for all joints of an arm.

    equation  its number in S, or the purpose of the step
    what      what it computes
    written   as the formula stands
    nontrivial    the same without multiplications by 0, 1 and −1 and additions of 0; nothing is shared
    table_2   M's row in Table 2, counted by hand for the same number of joints; zero if M has no such step
    """

    equation: str
    what: str
    written: Operations
    nontrivial: Operations
    table_2: Operations


def steps(arm: Arm) -> tuple[Step, ...]:
    """Operations of Newton–Euler inverse dynamics by equation: one :class:`Step` each, which add up to the total.

    >>> import dalembert as da
    >>> moment = steps(da.load("planar-2r"))[8]
    >>> moment.equation, moment.what, moment.written.multiplications, moment.nontrivial.multiplications
    ('(7.113)', 'μ_i', 91, 11)
    """
    written, nontrivial = _by_step(arm, Counted), _by_step(arm, Nontrivial)
    n = arm.mechanism.tree.n
    return tuple(
        Step(equation, what, written[equation], nontrivial.get(equation, Operations()), by_hand(each, further, n))
        for equation, (what, each, further) in STEPS.items()
        if equation in written
    )


def by_hand(each: Iterable[Count], further: Iterable[Count], n: int) -> Operations:
    """Vector operations that each of n joints needs, and further ones for all but the last."""
    counts = [(n * a, n * b) for a, b in each] + [((n - 1) * a, (n - 1) * b) for a, b in further]
    return Operations(multiplications=sum(a for a, _ in counts), additions=sum(b for _, b in counts))


def summed(operations: Iterable[Operations]) -> Operations:
    """Sum of the multiplications and additions of several steps."""
    listed = list(operations)
    return Operations(sum(x.multiplications for x in listed), sum(x.additions for x in listed))


def _by_step(arm: Arm, scalar: type[Counted]) -> dict[str, Operations]:
    """Operations by equation; those that belong to none are listed only if there are any."""
    tallies: dict[str, Tally] = {step: Tally() for step in STEPS if step != OTHER}

    class ByStep(Tally):
        def did(self, field: str) -> None:
            tallies.setdefault(_step(), Tally()).did(field)

    tally = ByStep()
    machine.run_on(arm.mechanism, JOINTS["inverse_dynamics"], "newton-euler", lambda: scalar(tally))
    return {step: counted.operations() for step, counted in tallies.items()}


def _step() -> str:
    """The current step: that of the outermost line with a name."""
    lines, step = _named_lines(), OTHER
    frame = sys._getframe(2)
    while frame is not None and frame.f_code is not machine.run_on.__code__:
        if frame.f_code.co_filename == newton_euler.__file__:
            step = lines.get(frame.f_lineno, step)
        frame = frame.f_back  # type: ignore[assignment]
    return step


@cache
def _named_lines() -> dict[int, str]:
    """Line → step, for the lines of statements with a comment that names one."""
    text = Path(newton_euler.__file__).read_text(encoding="utf-8")
    rows, names = text.splitlines(), re.compile("|".join(re.escape(step) for step in STEPS if step != OTHER))
    lines: dict[int, str] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            comment = rows[(node.end_lineno or node.lineno) - 1].partition("  # ")[2]
            if match := names.search(comment):
                lines |= dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), match[0])
    return lines
