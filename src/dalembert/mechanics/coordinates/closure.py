"""How the dependent joints of the tree follow from the independent ones: q = γ(q_a).

Couplings state it explicitly: :class:`Linear` for mimic joints, coupled wrists and screws, :class:`PolynomialClosure`.
The passive joints of a closed chain follow in one of three ways, of which the first applicable one is used:

* :class:`Linear`: q_p = A q_k + b, as in parallelograms: ϑ_2' = ϑ_1'' − ϑ_1', ϑ_3' = π − ϑ_2'
  (S 7.3.3 by its 2.64). It is found by trial: if A consists of integers at one configuration, the straight
  line through that configuration is substituted into the loop's equations at widely spread configurations.
* :class:`Triangle`: a planar loop with two passive joints, one of which may be prismatic (:mod:`triangles`).
* otherwise Newton's method, applied by the caller: no closure contains loops then.

A loop may contain joints that an earlier loop has determined, or that follow actuated ones; joints that follow a
passive joint come after the loops.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalembert.base.algebra.scalars import Scalar
from dalembert.errors import ClosureError, RobotError
from dalembert.mechanics.coordinates.formula import Formula
from dalembert.mechanics.coordinates.loop_closure import (
    AnyLoop,
    Plane,
    assembled,
    describe,
    least_squares,
    rates,
    size_of,
    stacked,
)
from dalembert.mechanics.coordinates.triangles import Triangle, triangle_of
from dalembert.robot.model.joint_couplings import in_order
from dalembert.robot.model.loop_joints import independent
from dalembert.robot.model.mechanism import Body, Mechanism, mechanism, places
from dalembert.robot.model.robot import Robot

WHOLE = 1e-7  # tolerance within which the entries of A must be integers to be tried


@dataclass(frozen=True)
class Linear:
    """q_p = A q_k + b, for the loops ``loops`` (numbers) and their passive joints; a coupling has no loops."""

    loops: tuple[int, ...]
    passive: tuple[int, ...]
    known: tuple[int, ...]
    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]

    kind = "linear"

    def values(self, x: Sequence[Any]) -> list[Any]:
        """The dependent joints from those that they follow, as numbers or arrays."""
        rows = zip(self.A, self.b, strict=True)
        return [sum((a * y for a, y in zip(row, x, strict=True) if a), start=b) for row, b in rows]


@dataclass(frozen=True)
class PolynomialClosure:
    """q_p = Σ c_k x^k for one joint that follows one other: a coupling."""

    passive: tuple[int]
    known: tuple[int]
    coefficients: tuple[float, ...]

    kind = "polynomial"
    loops: tuple[int, ...] = ()

    def values(self, x: Sequence[Any]) -> list[Any]:
        """The dependent joint from the one that it follows."""
        return [horner(self.coefficients, x[0])]

    def slopes(self, x: Sequence[Scalar]) -> list[list[Scalar]]:
        """S = ∂q_p/∂x"""
        return [[horner(derived(self.coefficients), x[0])]]

    def bends(self, x: Sequence[Scalar], xd: Sequence[Scalar]) -> list[list[Scalar]]:
        """Ṡ"""
        return [[horner(derived(derived(self.coefficients)), x[0]) * xd[0]]]


def horner(coefficients: Sequence[float], x: Any) -> Any:
    """Σ c_k x^k

    >>> horner((1.0, 2.0, 3.0), 10.0)
    321.0
    """
    total: Any = 0.0
    for c in reversed(coefficients):
        total = total * x + c
    return total


def derived(coefficients: Sequence[float]) -> tuple[float, ...]:
    """The coefficients of the derivative.

    >>> derived((1.0, 2.0, 3.0))
    (2.0, 6.0)
    """
    return tuple(k * c for k, c in enumerate(coefficients))[1:]


def _of_tree(name: str) -> Any:
    """A property that the mechanism has from its tree."""
    return property(lambda mechanism: getattr(mechanism.tree, name))


Coupled = Linear | PolynomialClosure | Formula
Closure = Coupled | Triangle


@dataclass(frozen=True)
class CoupledMechanism:
    """A tree with dependent joints in the form used by the equations of motion; closed chains are cut.

    actuated  the bodies of the tree that q_a moves, in the order of q_a
    passive   for every loop the joints that it determines
    pose      the assembled configuration near the branches, for all joints of the tree
    closures  how γ is computed, in order; if none contains a loop, by Newton's method from the pose
    """

    tree: Mechanism
    actuated: tuple[int, ...]
    loops: tuple[AnyLoop, ...]
    passive: tuple[tuple[int, ...], ...]
    pose: tuple[float, ...]
    closures: tuple[Closure, ...]

    identity = False

    @property
    def n(self) -> int:
        """Number of actuated joints."""
        return len(self.actuated)

    def with_tree(self, tree: Mechanism) -> CoupledMechanism:
        """The same closures for another tree."""
        return replace(self, tree=tree)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The actuated joints with the links that they move."""
        return tuple(self.tree.bodies[i] for i in self.actuated)

    # of the tree: g_0; the summands of S (7.40) that an approximate model omits; the poses of the root and of the tip, the
    # body that carries the tip, and the frames at which wrenches act, none if that is only the tip
    gravity, omitted, base, tip, tip_body, contacts = map(
        _of_tree, ("gravity", "omitted", "base", "tip", "tip_body", "contacts")
    )

    @property
    def home(self) -> list[float]:
        """The actuated joints in the configuration given by the branches."""
        return [self.pose[i] for i in self.actuated]

    @property
    def by_newton(self) -> bool:
        """Whether the loops are closed iteratively; q then contains all joints of the tree."""
        return bool(self.loops) and not any(closure.loops for closure in self.closures)

    @property
    def wound(self) -> set[int]:
        """The joints of the tree known by cosine and sine: revolute joints of loops, and joints that follow them."""
        every = {i for group in self.passive for i in group if self.tree.bodies[i].revolute}
        for closure in self.closures:
            if isinstance(closure, Linear) and not closure.loops:
                rows = zip(closure.passive, closure.A, strict=True)
                every |= {
                    i for i, row in rows if any(a and j in every for a, j in zip(row, closure.known, strict=True))
                }
        return every

    @property
    def linear(self) -> bool:
        """Whether q is linear in q_a, so that Γ is constant."""
        return not self.by_newton and all(closure.kind == "linear" for closure in self.closures)

    def follow(self, q: Any) -> None:
        """Set the coupled joints in an array (…, N) of all joints of the tree."""
        _put([closure for closure in self.closures if not isinstance(closure, Triangle) and not closure.loops], q.T)


# -- choice of the closure -----------------------------------------------------------------------


def mechanism_of(robot: Robot) -> Mechanism | CoupledMechanism:
    """The mechanism of a robot: its tree, with independent coordinates if there are dependent joints."""
    return coupled_mechanism(robot) if robot.loops or robot.couplings else mechanism(robot)


def couplings_of(robot: Robot, tree: Mechanism) -> tuple[Coupled, ...]:
    """The couplings in terms of the bodies of the tree, each after those that it depends on."""
    number = {body.name: i for i, body in enumerate(tree.bodies)}
    out: list[Coupled] = []
    for coupling in in_order(robot.couplings):
        passive, known = (tuple(number[name] for name in names) for names in (coupling.joints, coupling.of))
        if coupling.formulas:
            out.append(Formula(passive, known, coupling.of, coupling.formulas))
        elif coupling.higher:
            coefficients = (*coupling.offset, *coupling.matrix[0], *coupling.higher)
            out.append(PolynomialClosure((passive[0],), (known[0],), coefficients))
        else:
            out.append(Linear((), passive, known, coupling.matrix, coupling.offset))
    return tuple(out)


def _put(couplings: Sequence[Coupled], q: Any) -> None:
    """Set the coupled joints in a list (or along the first axis of an array) of all joints of the tree."""
    for closure in couplings:
        for i, x in zip(closure.passive, closure.values([q[j] for j in closure.known]), strict=True):
            q[i] = x


def _around_loops(couplings: Sequence[Coupled], passive: Container[int]) -> tuple[list[Coupled], list[Coupled]]:
    """The couplings that depend only on actuated joints, and those that depend on passive ones."""
    before: list[Coupled] = []
    after: list[Coupled] = []
    late: set[int] = set()
    for closure in couplings:
        if any(j in passive or j in late for j in closure.known):
            late |= set(closure.passive)
            after.append(closure)
        else:
            before.append(closure)
    return before, after


def _known_by_cosine(robot: Robot, tree: Mechanism, couplings: Sequence[Coupled], passive: Container[int]) -> None:
    """Refuse couplings that require the angle itself of a joint for which a loop gives only cosine and sine."""
    unwound = {i for i in range(tree.n) if i in passive and tree.bodies[i].revolute}
    for closure in couplings:
        if not unwound.intersection(closure.known):
            continue
        for i, row in zip(closure.passive, closure.A if isinstance(closure, Linear) else ((0.5,),), strict=True):
            parts = [(a, j) for a, j in zip(row, closure.known, strict=True) if a and j in unwound]
            uneven = next((part for part in parts if part[0] != round(part[0]) or not tree.bodies[i].revolute), None)
            if uneven is not None:
                raise RobotError(
                    f"robot '{robot.name}': joint '{tree.bodies[i].name}' follows joint '{tree.bodies[uneven[1]].name}', for which "
                    "a loop gives only the cosine and sine of its angle; a revolute joint can follow it with an integer factor, "
                    "and other joints must follow actuated joints"
                )
            if parts:
                unwound.add(i)


def coupled_mechanism(robot: Robot) -> CoupledMechanism:
    """The mechanism with its loops cut and assembled near their branches, and with closures of all dependent joints."""
    tree, at = mechanism(robot), places(robot)
    number = {body.name: i for i, body in enumerate(tree.bodies)}
    loops = tuple(describe(tree, at, loop) for loop in robot.loops)
    passive = tuple(tuple(number[name] for name in loop.passive) for loop in robot.loops)
    every = [i for group in passive for i in group]
    before, after = _around_loops(couplings_of(robot, tree), every)
    dependent = {*every, *(i for closure in (*before, *after) for i in closure.passive)}
    actuated = tuple(i for i in range(tree.n) if i not in dependent)
    pose = [0.0] * tree.n
    for loop in robot.loops:
        for name, value in loop.branch:
            pose[number[name]] = value
    _put(before, pose)
    if loops:
        _check_counts(robot, tree, loops, passive)
        pose = _closed_pose(robot, tree, loops, every, pose)
    free = tuple(i for i in range(tree.n) if i not in every and all(i not in closure.passive for closure in after))
    closures = _in_sequence(tree, loops, passive, free, pose)
    if closures is None:
        together = _linear(tree, loops, tuple(range(len(loops))), tuple(every), free, pose)
        closures = () if together is None else (together,)
    if closures:
        _known_by_cosine(robot, tree, after, every)
    _put(after, pose)
    return CoupledMechanism(tree, actuated, loops, passive, tuple(pose), (*before, *closures, *after))


def _closed_pose(
    robot: Robot, tree: Mechanism, loops: Sequence[AnyLoop], passive: Sequence[int], start: list[float]
) -> list[float]:
    """All joints of the tree with the loops closed, near ``start``; angles of passive joints are between −π and π."""
    pose = assembled(tree, loops, passive, start)
    names = ", ".join(f"'{loop.name}'" for loop in robot.loops)
    _, columns = stacked(tree, loops, start if pose is None else pose)
    rank = len(independent(list(columns.values())))
    if pose is None:
        counts = f" (or other passive joints: it has {rank} independent constraints there, and {len(passive)} passive joints)"
        raise ClosureError(
            f"robot '{robot.name}': loop {names} cannot be closed near the configuration of its branch; "
            "give positions of its joints at which it is nearly closed, as branch = { joint = position }"
            + counts * (rank != len(passive)),
            "branch", robot.loops[0].name,
        )  # fmt: skip
    if rank > len(passive):
        raise RobotError(
            f"robot '{robot.name}': loop {names} has {rank} independent constraints, but only {len(passive)} passive joints; "
            "name as many passive joints, or none to have them chosen automatically"
        )
    for i in passive:
        if tree.bodies[i].revolute:
            pose[i] = math.remainder(pose[i], 2.0 * math.pi)
    return pose


def _check_counts(robot: Robot, tree: Mechanism, loops: Sequence[AnyLoop], passive: Sequence[tuple[int, ...]]) -> None:
    for loop, joints in zip(loops, passive, strict=True):
        # with prismatic joints some loops determine fewer joints, which are counted at the assembled configuration
        if isinstance(loop, Plane) and len(joints) != 2 and not any(loop.slide):
            around = ", ".join(tree.bodies[i].name for i in loop.ends.joints)
            raise RobotError(
                f"robot '{robot.name}': loop '{loop.ends.name}' is planar and determines 2 joints, but has {len(joints)} "
                f"passive joints; the joints around it are {around}"
            )


def _in_sequence(
    tree: Mechanism,
    loops: Sequence[AnyLoop],
    passive: Sequence[tuple[int, ...]],
    actuated: Sequence[int],
    pose: Sequence[float],
) -> tuple[Closure, ...] | None:
    """The closures of the loops one by one, each after those that it depends on; None if that is not possible."""
    known, waiting = set(actuated), list(range(len(loops)))
    out: list[Closure] = []
    while waiting:
        ready = [k for k in waiting if set(loops[k].ends.joints) <= known | set(passive[k])]
        if not ready:
            return None
        k = ready[0]
        around = tuple(i for i in loops[k].ends.joints if i not in passive[k])
        closure: Closure | None = _linear(tree, loops, (k,), passive[k], around, pose)
        loop = loops[k]
        turning = sum(tree.bodies[i].revolute for i in passive[k])
        if closure is None and isinstance(loop, Plane) and len(passive[k]) == 2 and turning > 0:
            closure = triangle_of(tree, loop, k, passive[k], pose)
        if closure is None:
            return None
        out.append(closure)
        known |= set(passive[k])
        waiting.remove(k)
    return tuple(out)


def _linear(
    tree: Mechanism,
    loops: Sequence[AnyLoop],
    which: tuple[int, ...],
    passive: tuple[int, ...],
    known: tuple[int, ...],
    pose: Sequence[float],
) -> Linear | None:
    subset = [loops[k] for k in which]
    near = list(pose)  # away from a configuration that may be special
    for k, i in enumerate(known):
        near[i] += 0.05 * math.sqrt(2.0 + k)
    at = assembled(tree, subset, passive, near)
    if at is None:
        return None
    _, columns = stacked(tree, subset, at)
    A: list[list[float]] = [[0.0] * len(known) for _ in passive]
    for k, i in enumerate(known):
        if i not in columns:
            continue
        slopes = least_squares([columns[j] for j in passive], [-x for x in columns[i]])
        if slopes is None or any(abs(x - round(x)) > WHOLE for x in slopes):
            return None
        for r, x in enumerate(slopes):
            A[r][k] = float(round(x)) + 0.0
    used = [k for k in range(len(known)) if any(row[k] for row in A)]
    b = [_round_angle(at[i] - sum(a * at[j] for a, j in zip(row, known, strict=True)), tree.bodies[i].revolute)
         for i, row in zip(passive, A, strict=True)]  # fmt: skip
    size = size_of(tree, subset, at)
    constants = list(zip(passive, A, b, strict=True))
    for trial in range(1, 13):  # a trigonometric equation that holds at this many points holds everywhere
        far = list(at)
        for k, i in enumerate(known):
            far[i] = math.remainder(1.7 * trial * math.sqrt(2.0 + k) + 0.3 * trial * trial, 6.0)
        for i, weights, c in constants:
            far[i] = c + sum(a * far[j] for a, j in zip(weights, known, strict=True))
        if max(abs(x) for loop in subset for x in rates(tree, loop, far).residual) > 1e-9 * size:
            return None
    return Linear(
        which, passive, tuple(known[k] for k in used), tuple(tuple(row[k] for k in used) for row in A), tuple(b)
    )


def _round_angle(b: float, revolute: bool) -> float:
    """A constant angle between −π and π; values near twelfths of π are rounded to them."""
    if not revolute:
        return 0.0 if abs(b) < 1e-12 else b
    b = math.remainder(b, 2.0 * math.pi)
    twelfth = round(b / (math.pi / 12))
    return twelfth * (math.pi / 12) if abs(b - twelfth * (math.pi / 12)) < 1e-10 else b
