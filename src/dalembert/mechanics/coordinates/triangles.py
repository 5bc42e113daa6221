"""Loops that are closed by a triangle: the positions of two passive joints, given the side known from the other joints.

If both are revolute, their pivots and the cut are the corners of a triangle with known sides: four-bar and five-bar
linkages, cylinders. If one is prismatic, a circle about the other intersects a line: slider-cranks and their
inversions. There are two such triangles, and two points of intersection; the branch selects one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar, less, select, sqrt
from dalembert.base.algebra.vectors import Vec
from dalembert.errors import ClosureError
from dalembert.mechanics.coordinates.loop_closure import NOWHERE, UNTURNED, Plane, step_of, times, turn_of
from dalembert.robot.model.mechanism import Mechanism

ON_PIVOT = 1e-18  # squared length, relative to that of the longest link of the loop


@dataclass(frozen=True)
class Triangle:
    """The closure of the planar loop number ``loop``.

    branch  +1 if the corner is to the left of the known side; with a prismatic joint, if its position is beyond
            the point of its line nearest to the pivot
    slides  whether one of the passive joints is prismatic
    """

    loop: int
    passive: tuple[int, int]
    branch: float
    slides: bool = False

    kind = "triangle"

    @property
    def loops(self) -> tuple[int, ...]:
        """The loops that it closes: exactly one."""
        return (self.loop,)

    @property
    def singular(self) -> str:
        """Where the actuated joints do not determine the motion of the passive ones, in words."""
        if self.slides:
            return "its prismatic joint is perpendicular to its link or ends at its pivot"
        return "its links are collinear"

    @property
    def clearances(self) -> int:
        """Number of values that measure the distance from such a configuration."""
        return 2 if self.slides else 1


def triangle_of(tree: Mechanism, loop: Plane, number: int, passive: tuple[int, ...], pose: Sequence[float]) -> Triangle:
    first, second = (i for i in loop.ends.joints if i in passive)
    if not all(tree.bodies[i].revolute for i in passive):
        slide = first if tree.bodies[second].revolute else second
        line = _line(*_paths(tree, loop, pose, passive))
        beyond = pose[slide] + tree.bodies[slide].offset + line.point.dot(line.along)
        return Triangle(number, (first, second), 1.0 if beyond >= 0 else -1.0, slides=True)
    side, corner = known_side(tree, loop, (first, second), pose)
    branch = side[0] * corner[1] - side[1] * corner[0]
    return Triangle(number, (first, second), 1.0 if branch >= 0 else -1.0)


def conj(a: Vec) -> Vec:
    """The inverse rotation."""
    return Vec((a[0], -a[1]))


@dataclass
class Parts:
    """A path around a planar loop, split at the passive revolute joints.

    turned   rotation before each of them, since the previous one
    legs     vectors from one of them to the next (from the ancestor to the first, from the last to the cut), in
             the axes after the rotation of the joint at which the leg begins; passive prismatic joints at zero
    slides   for every leg with a passive prismatic joint, the direction in which it extends the leg
    """

    turned: list[Vec]
    legs: list[Vec]
    slides: dict[int, Vec]


def _parts(tree: Mechanism, loop: Plane, span: range, start: Vec, q: Sequence[Scalar], passive: Sequence[int]) -> Parts:
    turned, p = UNTURNED, start
    out = Parts([], [], {})
    for k in span:
        slide = loop.slide[k]
        free = loop.ends.joints[k] in passive
        if free and slide is not None:
            out.slides[len(out.legs)] = times(turned, slide)
        elif free:
            out.turned.append(turned)
            out.legs.append(p)
            turned, p = UNTURNED, NOWHERE
        else:
            turned = times(turned, turn_of(tree, loop, k, q))
        p = p + times(turned, loop.step[k] if free else step_of(tree, loop, k, q))
    out.legs.append(p)
    return out


def known_side(tree: Mechanism, loop: Plane, passive: tuple[int, int], q: Sequence[float]) -> tuple[Vec, Vec]:
    """(known side, corner) of the triangle at a numeric configuration."""
    a, b = _paths(tree, loop, q, passive)
    side, _, _ = _sides(a, b)
    way = a if a.turned else b
    # the corner is the end of the first passive leg in its current orientation
    k = loop.ends.joints.index(passive[0])
    corner = times(times(way.turned[0], turn_of(tree, loop, k, q)), way.legs[1])
    return side, corner


def _paths(tree: Mechanism, loop: Plane, q: Sequence[Scalar], passive: Sequence[int]) -> tuple[Parts, Parts]:
    split = len(loop.ends.way_a)
    return (
        _parts(tree, loop, range(split), loop.start_a, q, passive),
        _parts(tree, loop, range(split, len(loop.step)), loop.start_b, q, passive),
    )


def _sides(a: Parts, b: Parts) -> tuple[Vec, Vec, Vec]:
    """(vector from the first passive pivot to the far corner, the first leg, the second leg)."""
    if len(a.turned) == 1:  # one passive joint on each path; the corner is the cut
        return b.legs[0] - a.legs[0], a.legs[1], b.legs[1]
    way, other = (a, b) if len(a.turned) == 2 else (b, a)  # the corner is the second passive joint
    return other.legs[0] - way.legs[0], way.legs[1], way.legs[2]


def triangle_places(
    tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[Scalar]
) -> tuple[Vec | Scalar, Vec | Scalar]:
    """The two passive joints: (cos x, sin x) for a revolute, x for a prismatic joint, with x = q + offset.

    NaN if the sides do not meet.
    """
    if not closure.slides:
        return _two_turns(tree, loop, closure, q)
    turn, x = _turn_and_slide(tree, loop, closure, q)
    return (turn, x) if tree.bodies[closure.passive[0]].revolute else (x, turn)


def _out_of_reach(loop: Plane) -> ClosureError:
    name = loop.ends.name
    return ClosureError(f"loop '{name}' cannot be closed: its links do not reach each other", "unreachable", name)


def _two_turns(tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[Scalar]) -> tuple[Vec, Vec]:
    """The intersection of two circles: (cos x, sin x) of the two passive joints."""
    a, b = _paths(tree, loop, q, closure.passive)
    D, leg_1, leg_2 = _sides(a, b)
    d2, r1, r2 = D.dot(D), leg_1.dot(leg_1), leg_2.dot(leg_2)
    over = 0.5 / d2
    along = (d2 + (r1 - r2)) * over
    height = 2.0 * r1 * over - along * along
    if isinstance(height, float) and height < 0:
        raise _out_of_reach(loop)
    across = sqrt(height)
    if closure.branch < 0:
        across = -across
    corner = times(Vec((along, across)), D)
    signs = [loop.sign[loop.ends.joints.index(i)] for i in closure.passive]
    if len(a.turned) == 1:
        turn_1 = _turn(a.turned[0], corner, leg_1, r1)
        turn_2 = _turn(b.turned[0], corner - D, leg_2, r2)
    else:
        way = a if len(a.turned) == 2 else b
        turn_1 = _turn(way.turned[0], corner, leg_1, r1)
        before = times(times(way.turned[0], turn_1), way.turned[1])
        turn_2 = _turn(before, D - corner, leg_2, r2)
    return Vec((turn_1[0], signs[0] * turn_1[1])), Vec((turn_2[0], signs[1] * turn_2[1]))


@dataclass(frozen=True)
class _Line:
    """The line of a passive prismatic joint relative to the passive pivot, and the circle about this pivot.

    point, along   point + x along is the point of the line at joint position x
    reach          the vector to the end that must meet the line: its length is the radius of the circle
    turns          whether the line is on the link rotated by the pivot (otherwise the reach is)
    before         rotation of the path before the pivot
    """

    point: Vec
    along: Vec
    reach: Vec
    turns: bool
    before: Vec


def _line(a: Parts, b: Parts) -> _Line:
    way, other = (a, b) if a.turned else (b, a)
    side, leg = other.legs[0] - way.legs[0], way.legs[1]
    if 1 in way.slides:  # after the pivot
        return _Line(leg, way.slides[1], side, True, way.turned[0])
    if 0 in way.slides:  # it carries the pivot, and so moves the far end in the opposite direction
        return _Line(side, -way.slides[0], leg, False, way.turned[0])
    return _Line(side, other.slides[0], leg, False, way.turned[0])


def _turn_and_slide(tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[Scalar]) -> tuple[Vec, Scalar]:
    """The intersection of a circle and a line: |point + x along| = |reach| for x, and the rotation to that point."""
    line = _line(*_paths(tree, loop, q, closure.passive))
    p, u = line.point, line.along
    r2 = line.reach.dot(line.reach)
    if line.turns:  # onto the pivot itself: any rotation is a solution
        r2 = select(less(r2, ON_PIVOT * square_of(loop)), float("nan"), r2)
    past = p[0] * u[1] - p[1] * u[0]  # distance of the line from the pivot
    half = r2 - past * past
    if isinstance(half, float) and half < 0:
        raise _out_of_reach(loop)
    root = sqrt(half)
    if closure.branch < 0:
        root = -root
    x = root - p.dot(u)
    corner = p + x * u
    if line.turns:
        c, s = _turn(line.before, line.reach, corner, r2)
    else:
        c, s = _turn(line.before, corner, line.reach, r2)
    sign = next(loop.sign[k] for k, i in enumerate(loop.ends.joints) if i in closure.passive and loop.slide[k] is None)
    return Vec((c, sign * s)), x


def _turn(before: Vec, to: Vec, leg: Vec, r: Scalar) -> Vec:
    """The rotation that takes ``leg``, already rotated by ``before``, to ``to``."""
    return 1.0 / r * times(times(conj(before), to), conj(leg))


def reach(tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
    """The squared lengths of the triangle's sides: the known one and the two legs."""
    a, b = _paths(tree, loop, q, closure.passive)
    D, leg_1, leg_2 = _sides(a, b)
    return D.dot(D), leg_1.dot(leg_1), leg_2.dot(leg_2)


def square_of(loop: Plane) -> float:
    """A squared length for scaling: that of the longest step of the loop, or 1 m if all joints are prismatic."""
    return max(step.dot(step) for step in (*loop.step, loop.start_a - loop.start_b)) or 1.0


def line_reach(tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[float]) -> tuple[float, float, float]:
    """(distance of the line of the prismatic joint from the pivot, radius of the circle, a length for scaling)."""
    line = _line(*_paths(tree, loop, q, closure.passive))
    p, u = line.point, line.along
    return abs(p[0] * u[1] - p[1] * u[0]), math.sqrt(line.reach.dot(line.reach)), math.sqrt(square_of(loop))
