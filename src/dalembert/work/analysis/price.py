"""Cost of the formulations: M's Table 3, our formulas as written, as compiled, and nanoseconds.

>>> table_3("newton-euler", 6)
Operations(multiplications=792, additions=662)
>>> polynomial([(n, n * n + n * (n - 1) // 2) for n in range(1, 6)])
(Fraction(0, 1), Fraction(-1, 2), Fraction(3, 2))
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.algebra.vectors import NULL, Vec, vec_sum
from dalembert.base.environment.progress import OfFraction, reporting
from dalembert.compiler.graph.count import Operations, count
from dalembert.compiler.quantities import machine
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.errors import DalembertError
from dalembert.robot.model.inertia import Inertia, steiner
from dalembert.robot.readers.dh import Row, from_dh

F = Fraction
Polynomial = tuple[Fraction, ...]  # coefficients of 1, n, n², …

# M, Table 3: (multiplications, additions), for inverse dynamics of n joints
TABLE_3: dict[str, tuple[Polynomial, Polynomial]] = {
    "lagrange-euler": (
        (F(0), F(160, 3), F(739, 3), F(512, 3), F(128, 3)),
        (F(0), F(245, 6), F(559, 3), F(781, 6), F(98, 3)),
    ),
    "newton-euler": ((F(0), F(132)), (F(-4), F(111))),
    "dalembert": ((F(69), F(268, 3), F(105, 2), F(13, 6)), (F(45), F(146, 3), F(44), F(4, 3))),
}
# per formulation: the degree in n of the operations as written (of those in Table 3, the degree there), and the two other
# rows of Table 3, the representation of the kinematics and the form of the equations of motion
HOMOGENEOUS, ROTATIONS = "4×4 homogeneous matrices", "3×3 rotations, position vectors"
CLOSED_FORM, RECURSIVE = "closed-form differential", "recursive"
CHARACTERS = {
    "lagrange-euler": (4, HOMOGENEOUS, CLOSED_FORM),
    "newton-euler": (1, ROTATIONS, RECURSIVE),
    "dalembert": (3, ROTATIONS, CLOSED_FORM),
    "lagrange": (4, ROTATIONS, CLOSED_FORM),
    "newton-euler-base": (1, ROTATIONS, RECURSIVE),
    "lean": (1, ROTATIONS, RECURSIVE),
}
DEGREE = {name: degree for name, (degree, _, _) in CHARACTERS.items()}
CHARACTER = {name: (kinematics, equations) for name, (_, kinematics, equations) in CHARACTERS.items()}
FORMULATIONS = tuple(DEGREE)
GROWING = ("lagrange-euler", "newton-euler", "dalembert", "lean")
# forward dynamics: degree in n of the operations as written
DIRECT = {"column-by-column": 3, "composite": 3, "articulated": 1}
# formulations of degree 4 are traced and compiled up to this many joints unless all are requested
MANY_JOINTS = 7
STATES = 1024  # of a timed batch: its arrays stay in the second cache


@dataclass(frozen=True)
class Cost:
    """Cost of inverse (or forward) dynamics by one formulation for an arm of n joints.

    table        M's Table 3, if it contains the formulation
    written      the formulas as they stand, without sharing
    compiled     after simplification; None if it was omitted (see ``MANY_JOINTS``)
    nanoseconds  measured per state, in a batch on one core; None if it was not measured
    """

    formulation: str
    n: int
    table: Operations | None
    written: Operations
    compiled: Operations | None = None
    nanoseconds: float | None = None
    quantity: str = "inverse_dynamics"


def table_3(formulation: str, n: int) -> Operations | None:
    """M's Table 3 for n joints; None for a formulation that it does not contain."""
    if formulation not in TABLE_3:
        return None
    mul, plus = (int(value(p, n)) for p in TABLE_3[formulation])
    return Operations(multiplications=mul, additions=plus)


def value(coefficients: Polynomial, n: int) -> Fraction:
    """The polynomial at n."""
    return sum((c * n**k for k, c in enumerate(coefficients)), F(0))


def polynomial(points: Sequence[tuple[int, int]]) -> Polynomial:
    """The polynomial of lowest degree through points (n, count) at successive n, exactly."""
    rows: list[list[int]] = [[y for _, y in points]]
    while len(rows[-1]) > 1 and any(rows[-1]):
        rows.append([b - a for a, b in zip(rows[-1], rows[-1][1:], strict=False)])
    total: list[Fraction] = [F(0)] * len(points)
    basis: list[Fraction] = [F(1)]  # (n − n₀)(n − n₀ − 1) … / k!
    for k, row in enumerate(rows):
        for power, c in enumerate(basis):
            total[power] += row[0] * c
        root = points[0][0] + k
        shifted = [F(0), *basis]
        basis = [(a - root * b) / (k + 1) for a, b in zip(shifted, [*basis, F(0)], strict=True)]
    while len(total) > 1 and total[-1] == 0:
        total.pop()
    return tuple(total)


def chain(n: int) -> Arm:
    """n revolute joints in general position: no angle, length, mass or moment is zero.

    The numbers are always the same, and the arm of n joints begins with the one of n − 1.
    """
    if n < 1:
        raise DalembertError(f"an arm needs at least 1 joint, not {n}")
    figures = random.Random(1788)
    rows = []
    for _ in range(n):
        a, alpha, d, theta = (figures.uniform(0.2, 0.9) for _ in range(4))
        rows.append(Row(a, alpha, d, theta, inertia=_body(figures)))
    return Arm(from_dh(rows, name=f"general {n}R"))


def _body(figures: random.Random) -> Inertia:
    """Six point masses, which make a physically possible body."""
    points = [Vec(figures.uniform(-0.3, 0.3) for _ in range(3)) for _ in range(6)]
    masses = [figures.uniform(0.1, 1.0) for _ in points]
    mass = sum(masses)
    com = 1.0 / mass * vec_sum([m * r for m, r in zip(masses, points, strict=True)])
    tensor = NULL
    for m, r in zip(masses, points, strict=True):
        tensor = tensor + steiner(m, r - com)
    return Inertia(mass, com, tensor)


def nanoseconds(arm: Arm, formulation: str, seconds: float = 0.15, quantity: str = "inverse_dynamics") -> float:
    """Time per state in ns, in a batch of ``STATES`` on one core: the best of several runs."""
    kernel = arm.kernel(quantity, formulation=formulation)
    q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, STATES, arm.n))
    tau = kernel(q, qd, qdd)
    best, until = float("inf"), time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        kernel(q, qd, qdd, out=tau)
        now = time.perf_counter()
        best = min(best, now - start)
        if now > until:
            return best / STATES * 1e9


def cost(
    arm: Arm, formulation: str, *, measure: bool = True, compiled: bool = True, quantity: str = "inverse_dynamics"
) -> Cost:
    """Cost of one formulation for one arm."""
    entry = JOINTS[quantity]
    written = machine.written(arm.mechanism, entry, formulation)
    operations = count(machine.trace(arm.mechanism, entry, formulation)) if compiled else None
    measured = nanoseconds(arm, formulation, quantity=quantity) if measure and compiled else None
    return Cost(formulation, arm.n, table_3(formulation, arm.n), written, operations, measured, quantity)


def _too_large(formulation: str, n: int) -> bool:
    return DEGREE.get(formulation, 0) >= 4 and n > MANY_JOINTS


def costs_of(
    jobs: Sequence[tuple[Arm, str]], *, measure: bool = True, everything: bool = False, progress: OfFraction | None = None,
    quantity: str = "inverse_dynamics",
) -> tuple[Cost, ...]:  # fmt: skip
    """Cost of inverse (or forward) dynamics of every arm by its formulation.

    measure     also compile, and measure the time per state
    everything  include cases in which tracing and compiling takes long: degree 4 and more than ``MANY_JOINTS`` joints
    """
    degree = {**DEGREE, **DIRECT}
    work = [arm.n ** (degree[name] - _too_large(name, arm.n) * (not everything) * 3) for arm, name in jobs]
    costs = []
    for k, (arm, name) in enumerate(jobs):
        reporting(progress)(name, sum(work[:k]) / sum(work))
        wanted = everything or not _too_large(name, arm.n)
        costs.append(cost(arm, name, measure=measure, compiled=wanted, quantity=quantity))
    return tuple(costs)


def compare(arm: Arm, formulations: Sequence[str] = FORMULATIONS, **options: Any) -> tuple[Cost, ...]:
    """Cost of inverse dynamics of this arm by each formulation; options as in :func:`costs_of`."""
    return costs_of([(arm, name) for name in formulations], **options)


def growth(
    joints: Iterable[int] = range(2, 13), formulations: Sequence[str] = GROWING, **options: Any
) -> tuple[Cost, ...]:
    """Growth of the cost with the number of joints, for the arms of :func:`chain`; options as in :func:`costs_of`."""
    arms = [chain(n) for n in joints]
    return costs_of([(arm, name) for name in formulations for arm in arms], **options)


def direct_growth(joints: Iterable[int] = range(2, 13), **options: Any) -> tuple[Cost, ...]:
    """Growth of the cost of forward dynamics for every formulation in ``DIRECT``; options as in :func:`costs_of`."""
    return growth(joints, tuple(DIRECT), quantity="forward_dynamics", **options)


def exponent(costs: Sequence[Cost]) -> float:
    """The exponent k with which the compiled operations of one formulation grow as nᵏ over the upper half of the joint
    counts.

    >>> round(exponent(growth([10, 20], ["lean"], measure=False)), 1)
    1.1
    """
    known = [(cost.n, cost.compiled.total) for cost in costs if cost.compiled is not None]
    (n, low), (m, high) = known[(len(known) - 1) // 2], known[-1]
    return math.log(high / low) / math.log(m / n)
