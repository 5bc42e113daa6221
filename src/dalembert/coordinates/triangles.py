"""Loops that are closed by a triangle: where two passive joints are, given the side that the others know.

Where both turn, their pivots and the cut are the corners of a triangle whose sides are known: four-bar and five-bar
linkages, cylinders. Where one slides, a circle about the other meets a line: slider-cranks and their inversions. Two
triangles have these sides and a line meets a circle twice; the branch says which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algebra.scalars import Scalar, less, select, sqrt
from dalembert.algebra.vectors import Vec
from dalembert.coordinates.loops import NOWHERE, UNTURNED, Plane, step_of, times, turn_of
from dalembert.errors import ClosureError
from dalembert.robot.mechanism import Mechanism

ON_PIVOT = 1e-18  # of a length squared, beside that of a loop's longest link


@dataclass(frozen=True)
class Triangle:
    """The planar loop number ``loop``.

    branch  +1 where the corner lies to the left of the known side; with a slide, where it stands beyond the
            point of its line that is nearest to the pivot
    slides  whether one of the passive joints does
    """

    loop: int
    passive: tuple[int, int]
    branch: float
    slides: bool = False

    kind = "triangle"

    @property
    def loops(self) -> tuple[int, ...]:
        """The loops that it closes: one."""
        return (self.loop,)

    @property
    def singular(self) -> str:
        """How it stands where the actuated joints do not say how the passive ones move."""
        if self.slides:
            return "its slide stands square to its link or ends on its pivot"
        return "its links lie in one line"

    @property
    def clearances(self) -> int:
        """How many numbers say how far it is from such a pose."""
        return 2 if self.slides else 1


def triangle_of(tree: Mechanism, loop: Plane, number: int, passive: tuple[int, ...], pose: Sequence[float]) -> Triangle:
    first, second = (i for i in loop.ends.joints if i in passive)
    if not all(tree.bodies[i].revolute for i in passive):
        slide = first if tree.bodies[second].revolute else second
        line = _line(*_ways(tree, loop, pose, passive))
        beyond = pose[slide] + tree.bodies[slide].offset + line.point.dot(line.along)
        return Triangle(number, (first, second), 1.0 if beyond >= 0 else -1.0, slides=True)
    side, _, corner = known_side(tree, loop, (first, second), pose)
    branch = side[0] * corner[1] - side[1] * corner[0]
    return Triangle(number, (first, second), 1.0 if branch >= 0 else -1.0)


def conj(a: Vec) -> Vec:
    """The turn back."""
    return Vec((a[0], -a[1]))


@dataclass
class Parts:
    """A way around a planar loop, taken apart at the passive joints that turn.

    turned   how far it has turned before each of them, since the one before that
    legs     from one of them to the next (from the ancestor to the first, from the last to the cut), in
             the axes after the turn of the one where the leg begins; a passive slide stands at zero
    slides   for every leg with a passive slide, the direction in which that lengthens it
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


def known_side(
    tree: Mechanism, loop: Plane, passive: tuple[int, int], q: Sequence[float]
) -> tuple[Vec, tuple[Parts, Parts], Vec]:
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


def _sides(a: Parts, b: Parts) -> tuple[Vec, Vec, Vec]:
    """(from the first passive pivot to the far corner, the first leg, the second leg)."""
    if len(a.turned) == 1:  # one passive joint on each way; the corner is the cut
        return b.legs[0] - a.legs[0], a.legs[1], b.legs[1]
    way, other = (a, b) if len(a.turned) == 2 else (b, a)  # the corner is the second passive joint
    return other.legs[0] - way.legs[0], way.legs[1], way.legs[2]


def triangle_places(
    tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[Scalar]
) -> tuple[Vec | Scalar, Vec | Scalar]:
    """Where the two passive joints are: (cos x, sin x) of one that turns, x of one that slides, with x = q + offset.

    NaN where the sides do not meet.
    """
    if not closure.slides:
        return _two_turns(tree, loop, closure, q)
    turn, x = _turn_and_slide(tree, loop, closure, q)
    return (turn, x) if tree.bodies[closure.passive[0]].revolute else (x, turn)


def _out_of_reach(loop: Plane) -> ClosureError:
    name = loop.ends.name
    return ClosureError(f"loop '{name}' cannot be closed: its links do not reach", "unreachable", name)


def _two_turns(tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[Scalar]) -> tuple[Vec, Vec]:
    """Two circles that meet: (cos x, sin x) of the two passive joints."""
    a, b = _ways(tree, loop, q, closure.passive)
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

    return Vec((turn_1[0], signs[0] * turn_1[1])), Vec((turn_2[0], signs[1] * turn_2[1]))


@dataclass(frozen=True)
class _Line:
    """The line that a passive slide makes, as seen from the passive pivot, and the circle about that.

    point, along   point + x along, where the slide stands at x
    reach          the end that is to meet it: its length is the circle's radius
    turns          whether the line is on the link that the pivot turns (else the reach is)
    before         how far the way has turned before the pivot
    """

    point: Vec
    along: Vec
    reach: Vec
    turns: bool
    before: Vec


def _line(a: Parts, b: Parts) -> _Line:
    way, other = (a, b) if a.turned else (b, a)
    side, leg = other.legs[0] - way.legs[0], way.legs[1]
    if 1 in way.slides:  # beyond the pivot
        return _Line(leg, way.slides[1], side, True, way.turned[0])
    if 0 in way.slides:  # it carries the pivot, and so moves the far end the other way
        return _Line(side, -way.slides[0], leg, False, way.turned[0])
    return _Line(side, other.slides[0], leg, False, way.turned[0])


def _turn_and_slide(tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[Scalar]) -> tuple[Vec, Scalar]:
    """A circle that meets a line: |point + x along| = |reach| for x, and the turn that brings one to the other."""
    line = _line(*_ways(tree, loop, q, closure.passive))
    p, u = line.point, line.along
    r2 = line.reach.dot(line.reach)
    if line.turns:  # onto the pivot itself: every turn will do
        r2 = select(less(r2, ON_PIVOT * square_of(loop)), float("nan"), r2)
    past = p[0] * u[1] - p[1] * u[0]  # at this distance the line passes the pivot
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
    """The turn that brings ``leg``, which has turned by ``before`` already, to ``to``."""
    return 1.0 / r * times(times(conj(before), to), conj(leg))


def reach(tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
    """The lengths (squared) of the triangle's sides: the known one and the two legs."""
    a, b = _ways(tree, loop, q, closure.passive)
    D, leg_1, leg_2 = _sides(a, b)
    return D.dot(D), leg_1.dot(leg_1), leg_2.dot(leg_2)


def square_of(loop: Plane) -> float:
    """A length of the loop, squared, to measure others by: the longest of its steps, or 1 m where it only slides."""
    return max(step.dot(step) for step in (*loop.step, loop.start_a - loop.start_b)) or 1.0


def line_reach(tree: Mechanism, loop: Plane, closure: Triangle, q: Sequence[float]) -> tuple[float, float, float]:
    """(how far from the pivot the line of the slide passes, the circle's radius, a length to measure both by)."""
    line = _line(*_ways(tree, loop, q, closure.passive))
    p, u = line.point, line.along
    return abs(p[0] * u[1] - p[1] * u[0]), math.sqrt(line.reach.dot(line.reach)), math.sqrt(square_of(loop))
