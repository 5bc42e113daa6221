"""Operations of a formulation by equation, beside those that M counts: Newton–Euler and Lagrange–Euler.

The formulas of :mod:`dalembert.mechanics.equations.newton_euler` and :mod:`dalembert.mechanics.equations.lagrange_euler` run on counting
scalars; an operation belongs to the equation named in the comment at the end of its line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from dalembert.arm import Arm
from dalembert.base.environment.short_repr import brief
from dalembert.compiler.graph.count import Counted, Nontrivial, Operations
from dalembert.compiler.quantities import machine
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.errors import DalembertError
from dalembert.mechanics.equations import lagrange_euler, newton_euler
from dalembert.work.analysis.price import F, Polynomial, value

# (multiplications, additions), counted by hand
Count = tuple[int, int]
TURN, CROSS, DOT = (9, 6), (6, 3), (3, 2)  # a 3×3 matrix times a vector, a × b, aᵀb
SCALE, SUM = (3, 0), (0, 3)
ALONG_Z, CROSS_Z = (0, 1), (2, 2)  # z_0 q̇ added, ω × z_0 q̇ added: z_0 = (0, 0, 1) costs no multiplication
PRODUCT = (64, 48)  # of two 4×4 matrices
TRACE = (128, 98)  # Tr(U J Uᵀ): two products, and three diagonal entries, as the last row of U is zero

# how often something is computed for n joints
EACH: Polynomial = (F(0), F(1))
BUT_LAST: Polynomial = (F(-1), F(1))
PAIRS: Polynomial = (F(0), F(0), F(1))
J_TO_I: Polynomial = (F(0), F(1, 2), F(1, 2))  # Σ_i i, the pairs j ≤ i
JK_TO_I: Polynomial = (F(0), F(1, 6), F(1, 2), F(1, 3))  # Σ_i i², the triples j, k ≤ i
SUMS_OF_D: Polynomial = (F(0), F(-1, 6), F(0), F(1, 6))  # Σ_k k (n − k): the sums over j of D_ik with i ≤ k

OTHER = "other"
Group = tuple[Polynomial, Count]  # how often, and what it costs
# equation: what it computes, and M's count: its rows of Table 2, or how its Table 3 can be explained
NEWTON_EULER: dict[str, tuple[str, tuple[Group, ...]]] = {
    "M (2.1)": ("R_i of the joint", ((EACH, (4, 0)),)),
    "frame i−1": ("P, t of the joint", ()),
    "(7.107)": ("ω_i", ((EACH, TURN), (EACH, ALONG_Z))),
    "(7.108)": ("ω̇_i", ((EACH, TURN), (EACH, ALONG_Z), (EACH, CROSS_Z))),
    "(7.109)": ("p̈_i", ((EACH, TURN), *3 * ((EACH, CROSS),), *2 * ((EACH, SUM),))),
    "(7.110)": ("p̈_Ci", (*3 * ((EACH, CROSS),), *2 * ((EACH, SUM),))),
    "(7.111)": ("ω̇_mi of the rotor", ()),
    "(7.112)": ("f_i", ((EACH, SCALE), (BUT_LAST, TURN), (BUT_LAST, SUM))),
    "(7.113)": (
        "μ_i",
        (*2 * ((EACH, CROSS), (EACH, TURN), (EACH, SUM)), (BUT_LAST, TURN), (BUT_LAST, CROSS), *2 * ((BUT_LAST, SUM),)),
    ),
    "(7.114)": ("τ_i", ((EACH, DOT),)),
    "(7.42)": ("friction", ((EACH, (1, 1)),)),
    OTHER: ("coordinates, loops", ()),
}
LAGRANGE_EULER: dict[str, tuple[str, tuple[Group, ...]]] = {
    "M (2.1)": ("ⁱ⁻¹A_i of joint i", ()),
    "ʲA_i": ("products of them", ((PAIRS, PRODUCT),)),
    "U_ij": ("∂⁰A_i/∂q_j", ((J_TO_I, PRODUCT),)),
    "U_ijk": ("∂U_ij/∂q_k", ((JK_TO_I, PRODUCT), (JK_TO_I, PRODUCT))),
    "(2.11)": ("D_ik", (((F(0), *J_TO_I), TRACE), (SUMS_OF_D, (0, 1)))),
    "(2.14)": ("h_ikm", (((F(0), *JK_TO_I), TRACE),)),
    "(2.15)": ("c_i", ()),
    "(2.5)": ("τ_i", ((PAIRS, (1, 1)), (EACH, (0, 1)))),
    "(7.42)": ("friction", ()),
    OTHER: ("coordinates, loops", ()),
}
EXPLAINED: dict[str, tuple[ModuleType, dict[str, tuple[str, tuple[Group, ...]]]]] = {
    "newton-euler": (newton_euler, NEWTON_EULER),
    "lagrange-euler": (lagrange_euler, LAGRANGE_EULER),
}


@brief
@dataclass(frozen=True)
class Step:
    """Operations of one equation of a formulation, for all joints of an arm.

    equation  its number in S or M, or the purpose of the step
    what      what it computes
    written   as the formula stands
    nontrivial    the same without multiplications by 0, 1 and −1 and additions of 0; nothing is shared
    paper     M's operations for the same number of joints: its rows of Table 2 counted by hand for Newton–Euler, a
              sum that equals its Table 3 for Lagrange–Euler; zero if M has no such step
    """

    equation: str
    what: str
    written: Operations
    nontrivial: Operations
    paper: Operations


def steps(arm: Arm, formulation: str = "newton-euler") -> tuple[Step, ...]:
    """Operations of inverse dynamics by equation: one :class:`Step` each, which add up to the total.

    formulation  "newton-euler" or "lagrange-euler"

    >>> import dalembert as da
    >>> moment = steps(da.load("planar-2r"))[8]
    >>> moment.equation, moment.what, moment.written.multiplications, moment.nontrivial.multiplications
    ('(7.113)', 'μ_i', 91, 11)
    """
    if formulation not in EXPLAINED:
        raise DalembertError(f"formulation '{formulation}' is not counted by equation; use {' or '.join(EXPLAINED)}")
    written, nontrivial = (_by_step(arm, formulation, scalar) for scalar in (Counted, Nontrivial))
    n = arm.mechanism.tree.n
    return tuple(
        Step(equation, what, written[equation], nontrivial.get(equation, Operations()), by_hand(groups, n))
        for equation, (what, groups) in EXPLAINED[formulation][1].items()
        if equation in written
    )


def by_hand(groups: Iterable[Group], n: int) -> Operations:
    """The operations of M for n joints."""
    counts = [(int(value(often, n)), count) for often, count in groups]
    return Operations(sum(often * a for often, (a, _) in counts), sum(often * b for often, (_, b) in counts))


def summed(operations: Iterable[Operations]) -> Operations:
    """Sum of the multiplications and additions of several steps."""
    listed = list(operations)
    return Operations(sum(x.multiplications for x in listed), sum(x.additions for x in listed))


def _by_step(arm: Arm, formulation: str, scalar: type[Counted]) -> dict[str, Operations]:
    """Operations by equation; those that belong to none are listed only if there are any."""
    module, rows = EXPLAINED[formulation]
    counts: dict[str, Counter[str]] = {step: Counter() for step in rows if step != OTHER}

    def count(field: str) -> None:
        counts.setdefault(_step(module), Counter())[field] += 1

    machine.run_on(arm.mechanism, JOINTS["inverse_dynamics"], formulation, lambda: scalar(count))
    return {step: Operations(**fields) for step, fields in counts.items()}


def _step(module: ModuleType) -> str:
    """The current step: that of the outermost line with a name."""
    lines, step = _named_lines(module), OTHER
    frame = sys._getframe(2)
    while frame is not None and frame.f_code is not machine.run_on.__code__:
        if frame.f_code.co_filename == module.__file__:
            step = lines.get(frame.f_lineno, step)
        frame = frame.f_back  # type: ignore[assignment]
    return step


@cache
def _named_lines(module: ModuleType) -> dict[int, str]:
    """Line → step, for the lines of statements with a comment that names one."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    (names,) = (rows for each, rows in EXPLAINED.values() if each is module)
    pattern = re.compile("|".join(re.escape(step) for step in sorted(names, key=len, reverse=True) if step != OTHER))
    source, lines = text.splitlines(), dict[int, str]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr):
            comment = source[(node.end_lineno or node.lineno) - 1].partition("  # ")[2]
            if match := pattern.search(comment):
                lines |= dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), match[0])
    return lines
