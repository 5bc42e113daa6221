"""Closed chains in a robot file: loop joints that close the tree, S 7.3.3.

The joints of a robot form a tree. A :class:`Loop` states that a frame on one link and a frame on another
coincide: it is the joint at which the closed chain was cut. Some of the joints around the loop are
*passive*: their positions follow from the others, the actuated joints, which are the arm's ``q``.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from dalembert.base.algebra.records import number, settle
from dalembert.base.algebra.vectors import ZERO, Vec, VecLike
from dalembert.base.files.file_bounds import LINKS_IN_LOOPS, LOOPS, at_most
from dalembert.base.wording import shown, some
from dalembert.errors import RobotError
from dalembert.robot.model.placement import Placement, unit, vector

if TYPE_CHECKING:
    from dalembert.robot.model.robot import Joint, Robot

LoopKind = Literal["revolute", "connect", "weld"]
LOOP_KINDS = ("revolute", "connect", "weld")
DEPENDENT = 1e-6  # a joint whose closure velocity differs from a combination of others by less than this is redundant


@dataclass(frozen=True)
class Loop:
    """A joint that closes a chain.

    link_a, placement_a   a frame on one link; link_b, placement_b: a frame on another
    kind      "revolute": the origins and the axes coincide; "connect": the origins coincide (a ball
              joint); "weld": the frames coincide
    axis      of a revolute loop, in the axes of both frames
    passive   the joints around the loop that it determines; by default those farthest from the base, and of
              two equally far ones the later (a motor turns the crank rather than the rocker or slider)
    branch    (joint, position) …: a configuration near which the loop is closed; joints that are not named
              are at 0. It selects one of the assembly modes of the loop

    >>> import dalembert as da
    >>> loop = da.load("five-bar").robot.loops[0]
    >>> loop.name, loop.kind, loop.passive
    ('meeting', 'revolute', ('elbow1', 'elbow2'))
    """

    name: str
    link_a: str
    placement_a: Placement
    link_b: str
    placement_b: Placement
    kind: LoopKind = "revolute"
    axis: VecLike = (0.0, 0.0, 1.0)
    passive: tuple[str, ...] = ()
    branch: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in LOOP_KINDS:
            raise RobotError(f"loop '{self.name}' has kind '{self.kind}'; it must be one of {', '.join(LOOP_KINDS)}")
        axis = unit(self.axis, f"the axis of loop '{self.name}'")
        if isinstance(self.passive, str):
            raise RobotError(f"loop '{self.name}': passive is {self.passive!r}; it must be a list of joints")
        try:
            pairs = self.branch.items() if isinstance(self.branch, Mapping) else self.branch
            branch = tuple((str(name), number(float(value))) for name, value in pairs)
        except (TypeError, ValueError, OverflowError):
            raise RobotError(
                f"loop '{self.name}': branch is {shown(self.branch)}; it must map joints to positions, as in {{'elbow': 1.3}}"
            ) from None
        settle(self, axis=axis, passive=tuple(self.passive), branch=branch)

    @property
    def text(self) -> str:
        """The loop as one line of text."""
        joined = f"'{self.name}' ({self.kind}) joins '{self.link_a}' and '{self.link_b}'"
        return f"{joined}; passive: {', '.join(self.passive)}"


def check_loops(robot: Robot) -> tuple[Loop, ...]:
    """The robot's loops with their passive joints, after checking every name in them."""
    _few_enough(robot, robot.loops)
    links, joints = {link.name for link in robot.links}, {joint.name: joint for joint in robot.joints}
    determined: dict[str, str] = {}
    follows = {name: coupling.of for coupling in robot.couplings for name in coupling.joints}
    for k, loop in enumerate(robot.loops):
        where = f"robot '{robot.name}': loop '{loop.name}'"
        if any(loop.name == other.name for other in robot.loops[:k]):
            raise RobotError(f"robot '{robot.name}': two loops are called '{loop.name}'; names must be unique")
        for link in (loop.link_a, loop.link_b):
            if link not in links:
                raise RobotError(f"{where} is attached to link '{link}', which does not exist")
        around = [joint.name for joint in joints_around(robot, loop) if joint.moves]
        if not around:
            raise RobotError(
                f"{where} joins links '{loop.link_a}' and '{loop.link_b}', but no joint moves between them: it closes no chain"
            )
        for name in (*(name for name, _ in loop.branch), *loop.passive):
            if name not in joints or not joints[name].moves:
                fault = "does not move" if name in joints else "does not exist"
                raise RobotError(f"{where}: joint '{name}' {fault}, but its branch or its passive joints name it")
        for name in loop.passive:
            if name not in around:
                raise RobotError(
                    f"{where}: its passive joint '{name}' is not part of it; the joints around it are {', '.join(around)}"
                )
            if name in follows:
                raise RobotError(
                    f"{where}: its passive joint '{name}' already follows joint "
                    f"{some([repr(leader) for leader in follows[name]])} through a coupling; name another joint around the loop"
                )
            if name in determined:
                other = determined[name]
                raise RobotError(f"{where}: joint '{name}' is already passive in loop '{other}'; name it only once")
            determined[name] = loop.name
    dependent = {*determined, *follows}
    loops = _with_passive(robot, robot.loops, dependent)
    if all(name in dependent for name, joint in joints.items() if joint.moves):
        names = ", ".join(f"'{loop.name}'" for loop in loops)
        raise RobotError(
            f"robot '{robot.name}': loop {names} leaves no joint that a motor could move: all {len(dependent)} are passive{' or coupled' if follows else ''}"
        )
    return loops


def _few_enough(robot: Robot, loops: Sequence[Loop]) -> None:
    """Limit the number of loops and links, because every loop requires a walk through the robot."""
    where = f"robot '{robot.name}'"
    at_most(LOOPS, len(loops), "loops", where)
    at_most(LINKS_IN_LOOPS, len(robot.links) if loops else 0, "links in a robot with closed chains", where)


def joints_around(robot: Robot, loop: Loop) -> list[Joint]:
    """The joints of the loop: from its two links towards the base, up to where these paths meet."""
    a, b = _paths(robot, loop)
    return [*a, *b]


def _paths(robot: Robot, loop: Loop) -> tuple[list[Joint], list[Joint]]:
    """The joints that carry the loop's first link but not its second, and vice versa; from the base outwards."""
    a, b = path_to(robot, loop.link_a), path_to(robot, loop.link_b)
    shared = {joint.name for joint in a} & {joint.name for joint in b}
    return [joint for joint in a if joint.name not in shared], [joint for joint in b if joint.name not in shared]


def _passive(
    robot: Robot, loop: Loop, determined: Container[str], undriven: Container[str] | None = None
) -> tuple[str, ...]:
    """As many joints as the loop has independent constraints: those farthest from the base, later ones first."""
    columns = velocities(robot, loop)
    below = {robot.root: 0}
    for joint in robot.joints:
        below[joint.child] = below[joint.parent] + joint.moves
    depth = {joint.name: below[joint.child] for joint in robot.joints}
    candidates = [name for name in columns if name not in determined]
    order = {joint.name: k for k, joint in enumerate(robot.joints)}
    driven = {name for name in candidates if undriven is not None and name not in undriven}
    favoured = sorted(candidates, key=lambda name: (name in driven, -depth[name], -order[name]))
    rank = len(independent([columns[name] for name in columns]))
    independent_columns = independent([columns[name] for name in favoured])
    if len(independent_columns) < rank:
        raise RobotError(
            f"robot '{robot.name}': loop '{loop.name}' has {rank} independent constraints, but only {len(independent_columns)} of its joints "
            "can be passive"
        )
    picked = {favoured[k] for k in independent_columns}
    return tuple(name for name in columns if name in picked)


def with_passive(robot: Robot, loops: Sequence[Loop], undriven: Container[str]) -> Robot:
    """The robot with loops whose passive joints are, as far as possible, those without a motor."""
    _few_enough(robot, loops)
    determined = {name for coupling in robot.couplings for name in coupling.joints}
    return robot.replace(loops=_with_passive(robot, loops, determined, undriven))


def _with_passive(
    robot: Robot, loops: Sequence[Loop], determined: set[str], undriven: Container[str] | None = None
) -> tuple[Loop, ...]:
    """The loops, each with its passive joints, which are added to the determined ones."""
    complete = []
    for loop in loops:
        complete.append(loop if loop.passive else replace(loop, passive=_passive(robot, loop, determined, undriven)))
        determined.update(complete[-1].passive)
    return tuple(complete)


def velocities(robot: Robot, loop: Loop) -> dict[str, list[float]]:
    """{joint around the loop: relative velocity of the loop's ends per joint velocity}, in the branch configuration."""
    at = dict(loop.branch)
    frames: dict[str, Placement] = {robot.root: Placement()}
    axes: dict[str, tuple[Vec, Vec]] = {}
    for joint in robot.joints:
        frame = frames[joint.parent] @ joint.placement
        axes[joint.name] = (frame.direction(joint.axis), frame.translation)
        frames[joint.child] = frame @ joint.moved(at.get(joint.name, 0.0)) @ joint.link_frame
    a, b = frames[loop.link_a] @ loop.placement_a, frames[loop.link_b] @ loop.placement_b
    on_a, on_b = _paths(robot, loop)
    around, way_a = [*on_a, *on_b], {joint.name for joint in on_a}
    n = a.direction(loop.axis)
    size = max([1e-9, *(max(map(abs, axes[j.name][1] - a.translation)) for j in around)])
    out: dict[str, list[float]] = {}
    for joint in around:
        if not joint.moves:
            continue
        sign, end = (1.0, a) if joint.name in way_a else (-1.0, b)
        z, p = axes[joint.name]
        slides = joint.type == "prismatic"
        v = z if slides else 1.0 / size * z.cross(end.translation - p)
        w = ZERO if slides else z
        if loop.kind == "revolute":
            w = w - w.dot(n) * n
        column = [*v] if loop.kind == "connect" else [*v, *w]
        out[joint.name] = [sign * x for x in column]
    return out


def independent(columns: Sequence[Sequence[float]]) -> list[int]:
    """The indices of the columns that are linearly independent of those before them."""
    basis: list[list[float]] = []
    places = []
    for k, column in enumerate(columns):
        v = list(column)
        for b in basis:
            along = sum(x * y for x, y in zip(v, b, strict=True))
            v = [x - along * y for x, y in zip(v, b, strict=True)]
        size = math.sqrt(sum(x * x for x in v))
        if size > DEPENDENT * max(1e-300, math.sqrt(sum(x * x for x in column))) and size > DEPENDENT:
            basis.append([x / size for x in v])
            places.append(k)
    return places


def loop_of(data: Any) -> Loop:
    """A loop from a :class:`Loop` or from a mapping with its fields; placements may be three numbers."""
    if isinstance(data, Loop):
        return data
    fields = dict(data)
    for key in ("placement_a", "placement_b"):
        value = fields.get(key, Placement())
        fields[key] = value if isinstance(value, Placement) else Placement(translation=vector(value, key))
    try:
        return Loop(**fields)
    except TypeError as problem:
        raise RobotError(f"this is not a valid loop: {str(problem).removeprefix('Loop.__init__() ')}") from None


def path_to(robot: Robot, link: str) -> list[Joint]:
    """The joints from the root to a link."""
    above = {joint.child: joint for joint in robot.joints}
    path: list[Joint] = []
    while link in above:
        path.append(above[link])
        link = above[link].parent
    return path[::-1]


def links_behind(robot: Robot, link: str) -> set[str]:
    """A link and all links in its sub-tree."""
    links = {link}
    for joint in robot.joints:  # parents precede children
        if joint.parent in links:
            links.add(joint.child)
    return links
