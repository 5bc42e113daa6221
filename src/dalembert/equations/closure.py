"""How the passive joints of a closed chain follow from the actuated ones: q = γ(q_a).

Three ways, the first that holds is taken:

* :class:`Linear`: q_p = A q_k + b. Parallelograms are such: ϑ_2' = ϑ_1'' − ϑ_1', ϑ_3' = π − ϑ_2'
  (S 7.3.3 by its 2.64). Found by trying: where A at one pose is made of whole numbers, the straight
  line through that pose is put into the loop's equations at poses far and wide.
* :class:`Triangle`: a planar loop with two passive joints. Those two pivots and the cut are the corners
  of a triangle whose sides the other joints know: four-bar and five-bar linkages. Two triangles have
  these sides; the branch says which.
* otherwise Newton's method, by the caller: ``closures`` is empty then.

A loop may stand on joints that an earlier loop has determined; they are put in such an order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.equations.loops import (
    AnyLoop,
    Plane,
    assembled,
    describe,
    least_squares,
    rates,
    size_of,
    stacked,
    times,
    turn_of,
)
from dalembert.errors import ClosureError, RobotError
from dalembert.robot.linalg import Scalar, sqrt
from dalembert.robot.loops import independent
from dalembert.robot.mechanism import Body, Mechanism, mechanism, places
from dalembert.robot.model import Robot
from dalembert.robot.placement import Placement

Pair = tuple[Scalar, Scalar]
WHOLE = 1e-7  # how near to whole numbers the entries of A must be before they are tried


@dataclass(frozen=True)
class Linear:
    """q_p = A q_k + b, for the loops ``loops`` (numbers) and their passive joints."""

    loops: tuple[int, ...]
    passive: tuple[int, ...]
    known: tuple[int, ...]
    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]


@dataclass(frozen=True)
class Triangle:
    """The planar loop number ``loop``; ``branch`` is +1 where the corner lies to the left of the known side."""

    loop: int
    passive: tuple[int, int]
    branch: float

    @property
    def loops(self) -> tuple[int, ...]:
        """The loops that it closes: one."""
        return (self.loop,)


Closure = Linear | Triangle


@dataclass(frozen=True)
class ClosedMechanism:
    """A closed chain ready for the equations: the tree that is left after the cuts, and the loops.

    actuated  the bodies of the tree that q_a moves, in the order of q_a
    passive   for every loop the joints it determines
    pose      the assembled pose that the branches name, of all joints of the tree
    closures  how γ is computed, in order; none: by Newton from the pose
    """

    tree: Mechanism
    actuated: tuple[int, ...]
    loops: tuple[AnyLoop, ...]
    passive: tuple[tuple[int, ...], ...]
    pose: tuple[float, ...]
    closures: tuple[Closure, ...]

    @property
    def n(self) -> int:
        """How many actuated joints there are."""
        return len(self.actuated)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The actuated joints with the links that they move."""
        return tuple(self.tree.bodies[i] for i in self.actuated)

    @property
    def gravity(self) -> tuple[Scalar, Scalar, Scalar]:
        """g_0 in the base frame."""
        return self.tree.gravity

    @property
    def base(self) -> Placement:
        """Where the root stands in the base frame."""
        return self.tree.base

    @property
    def tip_body(self) -> int:
        """The body of the tree that carries the tip."""
        return self.tree.tip_body

    @property
    def tip(self) -> Placement:
        """Where the tip stands on it."""
        return self.tree.tip

    @property
    def by_newton(self) -> bool:
        """Whether the closure is found by iteration; q is then that of all joints of the tree."""
        return not self.closures

    @property
    def linear(self) -> bool:
        """Whether q is linear in q_a: Γ is constant."""
        return bool(self.closures) and all(isinstance(closure, Linear) for closure in self.closures)


# -- which way -----------------------------------------------------------------------------------


def closed_mechanism(robot: Robot) -> ClosedMechanism:
    """Cut the loops, assemble them once near their branches, and find how they are closed."""
    tree, at = mechanism(robot), places(robot)
    number = {body.name: i for i, body in enumerate(tree.bodies)}
    loops = tuple(describe(tree, at, loop) for loop in robot.loops)
    passive = tuple(tuple(number[name] for name in loop.passive) for loop in robot.loops)
    every = [i for group in passive for i in group]
    actuated = tuple(i for i in range(tree.n) if i not in every)
    _check_counts(robot, tree, loops, passive)
    start = [0.0] * tree.n
    for loop in robot.loops:
        for name, value in loop.branch:
            start[number[name]] = value
    pose = assembled(tree, loops, every, start)
    names = ", ".join(f"'{loop.name}'" for loop in robot.loops)
    taken = _freedoms(tree, loops, start if pose is None else pose)
    if pose is None:
        counts = f" (or other passive joints: it takes {taken} freedoms away there, and {len(every)} are passive)"
        raise ClosureError(
            f"robot '{robot.name}': loop {names} cannot be closed near the pose of its branch; "
            "name positions of its joints at which it is nearly closed, as branch = { joint = position }"
            + counts * (taken != len(every)),
            "branch", robot.loops[0].name,
        )  # fmt: skip
    if taken > len(every):
        raise RobotError(
            f"robot '{robot.name}': loop {names} takes {taken} freedoms away, and only {len(every)} of the joints are "
            "passive; name as many, or none to have them chosen"
        )
    for i in range(tree.n):
        if tree.bodies[i].revolute and i in every:
            pose[i] = math.remainder(pose[i], 2.0 * math.pi)
    closures = _in_sequence(tree, loops, passive, actuated, pose)
    if closures is None:
        together = _linear(tree, loops, tuple(range(len(loops))), tuple(every), actuated, pose)
        closures = () if together is None else (together,)
    return ClosedMechanism(tree, actuated, loops, passive, tuple(pose), closures)


def _freedoms(tree: Mechanism, loops: Sequence[AnyLoop], q: Sequence[float]) -> int:
    """How many joints the loops together determine at a pose: the rank of Φ."""
    _, columns = stacked(tree, loops, q)
    return len(independent(list(columns.values())))


def _check_counts(robot: Robot, tree: Mechanism, loops: Sequence[AnyLoop], passive: Sequence[tuple[int, ...]]) -> None:
    for loop, joints in zip(loops, passive, strict=True):
        if isinstance(loop, Plane) and len(joints) != 2:
            around = ", ".join(tree.bodies[i].name for i in loop.ends.joints)
            raise RobotError(
                f"robot '{robot.name}': loop '{loop.ends.name}' is planar and determines 2 joints, and {len(joints)} "
                f"are passive in it; the joints around it are {around}"
            )


def _in_sequence(
    tree: Mechanism,
    loops: Sequence[AnyLoop],
    passive: Sequence[tuple[int, ...]],
    actuated: Sequence[int],
    pose: Sequence[float],
) -> tuple[Closure, ...] | None:
    """Each loop by itself, after those it stands on; None where that does not work out."""
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
        if closure is None and isinstance(loop, Plane):
            closure = _triangle(tree, loop, k, passive[k], pose)
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
    chosen = [loops[k] for k in which]
    near = list(pose)  # away from a pose that may be special
    for k, i in enumerate(known):
        near[i] += 0.05 * math.sqrt(2.0 + k)
    at = assembled(tree, chosen, passive, near)
    if at is None:
        return None
    _, columns = stacked(tree, chosen, at)
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
    size = size_of(tree, chosen, at)
    constants = list(zip(passive, A, b, strict=True))
    for trial in range(1, 13):  # an equation of sines and cosines that holds at so many poses holds everywhere
        far = list(at)
        for k, i in enumerate(known):
            far[i] = math.remainder(1.7 * trial * math.sqrt(2.0 + k) + 0.3 * trial * trial, 6.0)
        for i, weights, c in constants:
            far[i] = c + sum(a * far[j] for a, j in zip(weights, known, strict=True))
        if max(abs(x) for loop in chosen for x in rates(tree, loop, far).residual) > 1e-9 * size:
            return None
    return Linear(
        which, passive, tuple(known[k] for k in used), tuple(tuple(row[k] for k in used) for row in A), tuple(b)
    )


def _round_angle(b: float, revolute: bool) -> float:
    """A constant angle between −π and π; those that are meant to be twelfths of π are."""
    if not revolute:
        return 0.0 if abs(b) < 1e-12 else b
    b = math.remainder(b, 2.0 * math.pi)
    twelfth = round(b / (math.pi / 12))
    return twelfth * (math.pi / 12) if abs(b - twelfth * (math.pi / 12)) < 1e-10 else b


def _triangle(tree: Mechanism, loop: Plane, number: int, passive: tuple[int, ...], pose: Sequence[float]) -> Triangle:
    first, second = (i for i in loop.ends.joints if i in passive)
    side, _, corner = known_side(tree, loop, (first, second), pose)
    branch = side[0] * corner[1] - side[1] * corner[0]
    return Triangle(number, (first, second), 1.0 if branch >= 0 else -1.0)


# -- triangles -----------------------------------------------------------------------------------


def conj(a: Pair) -> Pair:
    """The turn back."""
    return (a[0], -a[1])


def minus(a: Pair, b: Pair) -> Pair:
    """a − b"""
    return (a[0] - b[0], a[1] - b[1])


def square(a: Pair) -> Scalar:
    """|a|²"""
    return a[0] * a[0] + a[1] * a[1]


@dataclass
class Parts:
    """A way around a planar loop, taken apart at its passive joints.

    turned   how far it has turned before each passive joint, since the passive joint before that
    legs     from one passive joint to the next (from the ancestor to the first, from the last to the
             cut), in the axes after the turn of the one where the leg begins
    """

    turned: list[Pair]
    legs: list[Pair]


def _parts(
    tree: Mechanism, loop: Plane, span: range, start: Pair, q: Sequence[Scalar], passive: Sequence[int]
) -> Parts:
    turned: Pair = (1.0, 0.0)
    p = start
    out = Parts([], [])
    for k in span:
        if loop.ends.joints[k] in passive:
            out.turned.append(turned)
            out.legs.append(p)
            turned, p = (1.0, 0.0), (0.0, 0.0)
        else:
            turned = times(turned, turn_of(tree, loop, k, q))
        reach = times(turned, loop.step[k])
        p = (p[0] + reach[0], p[1] + reach[1])
    out.legs.append(p)
    return out


def known_side(
    tree: Mechanism, loop: Plane, passive: tuple[int, int], q: Sequence[float]
) -> tuple[Pair, tuple[Parts, Parts], Pair]:
    """(known side, the two ways, corner) of the triangle at a pose of numbers."""
    a, b = _ways(tree, loop, q, passive)
    side, _, _ = _sides(a, b)
    way = a if a.turned else b
    # where the corner is: the end of the first passive leg, turned as it stands
    k = loop.ends.joints.index(passive[0])
    corner = times(times(way.turned[0], turn_of(tree, loop, k, q)), way.legs[1])
    return side, (a, b), corner


def _ways(tree: Mechanism, loop: Plane, q: Sequence[Scalar], passive: Sequence[int]) -> tuple[Parts, Parts]:
    split = len(loop.ends.way_a)
    return (
        _parts(tree, loop, range(split), loop.start_a, q, passive),
        _parts(tree, loop, range(split, len(loop.step)), loop.start_b, q, passive),
    )


def _sides(a: Parts, b: Parts) -> tuple[Pair, Pair, Pair]:
    """(from the first passive pivot to the far corner, the first leg, the second leg)."""
    if len(a.turned) == 1:  # one passive joint on each way; the corner is the cut
        return minus(b.legs[0], a.legs[0]), a.legs[1], b.legs[1]
    way, other = (a, b) if len(a.turned) == 2 else (b, a)  # the corner is the second passive joint
    return minus(other.legs[0], way.legs[0]), way.legs[1], way.legs[2]


def triangle_turns(tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[Scalar]) -> tuple[Pair, Pair]:
    """(cos x, sin x) of the two passive joints, where x = q + offset; NaN where the sides do not meet."""
    a, b = _ways(tree, loop, q, closure.passive)
    D, leg_1, leg_2 = _sides(a, b)
    d2, r1, r2 = square(D), square(leg_1), square(leg_2)
    over = 0.5 / d2
    along = (d2 + (r1 - r2)) * over
    height = 2.0 * r1 * over - along * along
    if isinstance(height, float) and height < 0:
        raise ClosureError(
            f"loop '{loop.ends.name}' cannot be closed: its links do not reach", "unreachable", loop.ends.name
        )
    across = sqrt(height)
    if closure.branch < 0:
        across = -across
    corner = (along * D[0] - across * D[1], along * D[1] + across * D[0])
    signs = [loop.sign[loop.ends.joints.index(i)] for i in closure.passive]
    if len(a.turned) == 1:
        turn_1 = _turn(a.turned[0], corner, leg_1, r1)
        turn_2 = _turn(b.turned[0], minus(corner, D), leg_2, r2)
    else:
        way = a if len(a.turned) == 2 else b
        turn_1 = _turn(way.turned[0], corner, leg_1, r1)
        before = times(times(way.turned[0], turn_1), way.turned[1])
        turn_2 = _turn(before, minus(D, corner), leg_2, r2)
    return (turn_1[0], signs[0] * turn_1[1]), (turn_2[0], signs[1] * turn_2[1])


def _turn(before: Pair, to: Pair, leg: Pair, r: Scalar) -> Pair:
    """The turn that brings ``leg``, which has turned by ``before`` already, to ``to``."""
    c, s = times(times(conj(before), to), conj(leg))
    over = 1.0 / r
    return (c * over, s * over)


def reach(tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
    """The lengths (squared) of the triangle's sides: the known one and the two legs."""
    a, b = _ways(tree, loop, q, closure.passive)
    D, leg_1, leg_2 = _sides(a, b)
    return square(D), square(leg_1), square(leg_2)


__all__ = ["ClosedMechanism", "Linear", "Triangle", "closed_mechanism", "reach", "triangle_turns"]
