"""Parts of a robot: joints locked in place, a sub-tree as a robot of its own, a chain from one link to another.

Every function takes an immutable :class:`Robot` and returns a new one. ``notes`` lists what was locked or left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dalembert.base.tables.located import finite_float
from dalembert.base.wording import nearest, shown, some
from dalembert.errors import RobotError
from dalembert.robot.model.joint_couplings import Coupling, followers, in_order
from dalembert.robot.model.loop_joints import Loop, joints_around, links_behind, path_to
from dalembert.robot.model.mechanism import rotor_at_rest
from dalembert.robot.model.multi_dof_joints import parts_of
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Joint, Link, Robot
from dalembert.robot.model.robot_notes import Note, notes_on, without

CONSISTENT = 1e-9  # rad or m: tolerance between the given and the resulting position of a coupled joint


def selected(
    robot: Robot, *, lock: Mapping[str, Any] | None = None, root: str | None = None, chain: bool = False
) -> Robot:
    """The robot with joints locked and a new root link; with ``chain``, only the joints from there to the tip move.

    lock   {joint: position (rad or m)}, see :func:`locked`
    root   the link that becomes the base, see :func:`rooted`
    chain  True: joints that are not between the root and the tip are locked too, see :func:`chained`

    >>> from dalembert.robot.readers.load import load_robot
    >>> panda = selected(load_robot("panda"), lock={"panda_joint3": 0.4}, root="panda_link1")
    >>> [joint.name for joint in panda.moving_joints]
    ['panda_joint2', 'panda_joint4', 'panda_joint5', 'panda_joint6', 'panda_joint7']
    """
    positions = _positions(robot, lock or {})
    assert robot.tip is not None
    if root is not None and root not in links_behind(robot, robot.root):
        links = [link.name for link in robot.links]
        raise RobotError(
            f"there is no link '{root}', so it cannot be the root; known links are {some(links)}{nearest(root, links)}"
        )
    if chain and root is not None and robot.tip.link not in links_behind(robot, root):
        raise RobotError(
            f"the tip is on link '{robot.tip.link}', which is not in the sub-tree of link '{root}', so there is no chain from "
            f"root to tip; possible roots are {some([joint.parent for joint in path_to(robot, robot.tip.link)], 30)}"
        )
    if positions:
        robot = locked(robot, positions)
    if root is not None and root != robot.root:
        robot = rooted(robot, root)
    return chained(robot) if chain else robot


# -- lock ------------------------------------------------------------------------------------------


def _positions(robot: Robot, lock: Mapping[str, Any]) -> dict[str, float]:
    """{joint: position}, with planar, floating and ball joints split into their virtual joints."""
    if not isinstance(lock, Mapping):
        raise RobotError(f"lock is {shown(lock)}; it must map joints to positions, as in {{'finger_joint': 0.02}}")
    joints = {joint.name: joint for joint in robot.joints}
    positions: dict[str, float] = {}
    for name, value in lock.items():
        parts = [name] if name in joints else parts_of(robot, name)
        if not parts:
            known = [joint.name for joint in robot.tree_joints]
            raise RobotError(
                f"lock names '{name}', but robot '{robot.name}' has no such joint; the joints that move are "
                f"{some(known, 30)}{nearest(str(name), known)}"
            )
        values = list(value) if hasattr(value, "__iter__") and not isinstance(value, str) else [value]
        if len(parts) > 1 and len(values) == 1 and values[0] == 0:
            values = [0.0] * len(parts)
        numbers = [number for x in values if (number := finite_float(x)) is not None]
        if len(values) != len(parts) or len(numbers) != len(parts):
            wanted = "one finite number" if len(parts) == 1 else f"0 or {len(parts)} numbers, for {', '.join(parts)},"
            raise RobotError(f"lock gives joint '{name}' the position {shown(value)}; it needs {wanted} in rad or m")
        positions |= dict(zip(parts, numbers, strict=True))
    return positions


def locked(robot: Robot, positions: Mapping[str, float], why: str = "locked") -> Robot:
    """The robot with joints locked at the given positions (rad or m).

    A locked joint becomes a fixed joint. Its rotor no longer spins and remains as a mass on the link that carries it.
    Joints that follow a locked joint are locked at the positions that result.
    """
    joints = {joint.name: joint for joint in robot.joints}
    idle = [name for name in positions if not joints[name].moves]
    held = {name: x for name, x in positions.items() if joints[name].moves}
    couplings, held = _held_followers(robot, held)
    loops = tuple(_loop_without(robot, loop, held) for loop in robot.loops)
    units = {name: "m" if joints[name].type == "prismatic" else "rad" for name in held}
    notes = [f"{why}: {some([f'{name} at {x:g} {units[name]}' for name, x in held.items()], 50)}"] if held else []
    outside = [name for name, x in held.items() if not _within(joints[name], x)]
    if outside:
        notes.append(Note(f"locked outside their position limits: {some(outside, 50)}", "locked outside"))
    if idle:
        notes.append(f"already fixed in the file, so the positions given by lock are not used: {some(idle, 50)}")
    if held.keys() >= {joint.name for joint in robot.tree_joints}:
        raise RobotError(
            f"robot '{robot.name}': every joint is locked ({some(list(held), 5)}), so no joint can move; remove one from lock"
        )
    links, every_joint = list(robot.links), list[Joint]()
    for joint in robot.joints:
        if joint.name not in held:
            every_joint.append(joint)
            continue
        placement = joint.placement @ joint.moved(held[joint.name])
        ends = (joint.parent, joint.child)
        every_joint.append(Joint(joint.name, "fixed", *ends, placement, link_frame=joint.link_frame))
        rotor = _still_rotor(joint)
        if rotor is not None:
            links.append(rotor)
            every_joint.append(Joint(rotor.name, "fixed", joint.parent, rotor.name))
    return robot.replace(
        links=tuple(links), joints=tuple(every_joint), couplings=couplings, loops=loops, notes=(*robot.notes, *notes)
    )


def _within(joint: Joint, x: float) -> bool:
    lower, upper = joint.limits.lower, joint.limits.upper
    return (lower is None or x >= lower - CONSISTENT) and (upper is None or x <= upper + CONSISTENT)


def _still_rotor(joint: Joint) -> Link | None:
    """The rotor of a locked joint as a body in the axes of the link that carries it; None if it has no mass."""
    if (rotor := joint.rotor) is None:
        return None
    axis = joint.placement.direction(joint.axis) if rotor.axis is None else rotor.axis
    position = joint.placement.translation if rotor.position is None else rotor.position
    body = rotor_at_rest(rotor, position, axis)
    return None if body.is_zero else Link(f"{joint.name}:rotor", body, physical=body.impossible() is None)


def _held_followers(robot: Robot, held: Mapping[str, float]) -> tuple[tuple[Coupling, ...], dict[str, float]]:
    """The remaining couplings, and the positions including those of the joints that follow."""
    positions, remaining, follows = dict(held), [], followers(robot)
    for coupling in in_order(robot.couplings):
        fixed = [k for k, leader in enumerate(coupling.of) if leader in positions]
        if not fixed:
            remaining.append(coupling)
            continue
        if coupling.formulas:
            raise RobotError(
                f"lock names joint '{coupling.of[fixed[0]]}', which {some(coupling.joints)} follow through formulas; lock joints "
                "before changing the coordinates of the robot"
            )
        offset = tuple(
            shift + sum(row[k] * positions[coupling.of[k]] for k in fixed)
            for row, shift in zip(coupling.matrix, coupling.offset, strict=True)
        )
        if len(fixed) < len(coupling.of):
            free = [k for k in range(len(coupling.of)) if k not in fixed]
            rows = tuple(tuple(row[k] for k in free) for row in coupling.matrix)
            remaining.append(replace(coupling, of=tuple(coupling.of[k] for k in free), matrix=rows, offset=offset))
            continue
        x = positions[coupling.of[0]]
        curved = sum(c * x**k for k, c in enumerate(coupling.higher, 2))
        for name, at in zip(coupling.joints, offset, strict=True):
            if name in held and abs(held[name] - at - curved) > CONSISTENT:
                raise RobotError(
                    f"lock gives joint '{name}' the position {held[name]:g}, but it follows {some([repr(x) for x in coupling.of])}, "
                    f"which puts it at {at + curved:g}; remove '{name}' from lock"
                )
            positions[name] = at + curved
    still_coupled = {name for coupling in remaining for name in coupling.joints}
    if late := [name for name in held if name in still_coupled]:
        leaders = some([repr(x) for x in follows[late[0]].of])
        raise RobotError(
            f"lock names joint '{late[0]}', which follows {leaders or 'no joint and is fixed'} through a coupling "
            f"({follows[late[0]].text}); lock {leaders or 'other joints'} instead"
        )
    return tuple(remaining), positions


def _loop_without(robot: Robot, loop: Loop, held: Mapping[str, float]) -> Loop:
    """The loop with some of its joints locked, provided that its passive joints still follow from a moving one."""
    around = [joint.name for joint in joints_around(robot, loop) if joint.moves]
    here = [name for name in around if name in held]
    left = [name for name in around if name not in held and name not in loop.passive]
    if any(name in loop.passive for name in here) or (here and not left):
        passive = next((name for name in here if name in loop.passive), None)
        reason = f"determines joint '{passive}'" if passive else f"has no actuated joint other than '{here[0]}'"
        can_be = [name for name in around if name not in loop.passive]
        remedy = f"leave at least one of {some(can_be)} free" if len(can_be) > 1 else "lock joints outside it"
        chain = f"the closed chain '{loop.name}', which {reason}"
        raise RobotError(f"lock names joint '{passive or here[0]}' of {chain}; {remedy}")
    return replace(loop, branch=tuple((name, x) for name, x in loop.branch if name not in held))


# -- root and chain ----------------------------------------------------------------------------------


def rooted(robot: Robot, root: str) -> Robot:
    """The sub-tree of the link ``root``, which becomes the fixed base.

    The base frame is the frame of that link. Gravity acts in it as in the whole robot with its other joints at 0.
    """
    subtree = links_behind(robot, root)
    out = [joint for joint in robot.joints if joint.child not in subtree or joint.child == root]
    if not any(joint.moves for joint in robot.joints if joint.parent in subtree):
        nearer = f"a link nearer to '{robot.root}'"
        raise RobotError(f"link '{root}' cannot be the root: no joint behind it moves; choose {nearer}")
    crossing = [loop for loop in robot.loops if (loop.link_a in subtree) != (loop.link_b in subtree)]
    if crossing:
        raise RobotError(
            f"link '{root}' cannot be the root: the closed chain '{crossing[0].name}' connects '{crossing[0].link_a}' and "
            f"'{crossing[0].link_b}', but only one of them is in its sub-tree; choose a root whose sub-tree contains both"
        )
    loops = tuple(loop for loop in robot.loops if loop.link_a in subtree and loop.link_b in subtree)
    follows = followers(robot)
    moving = [joint.name for joint in out if joint.moves]
    inside = {joint.name for joint in robot.joints} - {joint.name for joint in out}
    # joints outside the sub-tree are at 0, and joints of the sub-tree that follow them are locked accordingly
    still = {name: 0.0 for name in moving if name not in follows}
    tied = [name for name in moving if name in follows and any(leader in inside for leader in follows[name].of)]
    whole = robot.replace(loops=loops, couplings=tuple(x for x in robot.couplings if not set(x.joints) & set(tied)))
    still |= dict.fromkeys(tied, 0.0)
    before = len(robot.notes)
    if still:
        whole = locked(whole, still, f"outside the sub-tree of the root '{root}', at zero position")
    stands = whole.base
    for joint in path_to(whole, root):
        stands = stands @ joint.placement @ joint.moved(0.0) @ joint.link_frame
    gravity = stands.rotation.T @ whole.gravity
    least = 1e-15 * max(map(abs, gravity))
    gravity = type(gravity)(0.0 if abs(x) <= least else x for x in gravity)  # exact zeros, no rounding errors
    notes = [*whole.notes[:before], *without(whole.notes[before:], "locked outside")]
    if max(map(abs, gravity - whole.gravity)) > 1e-12:
        notes.append(f"gravity in the axes of the root '{root}': {' '.join(f'{x:.6g}' for x in gravity)} m/s²")
    parents = {joint.child: joint.parent for joint in whole.joints}  # rotors of locked joints are links now
    part: dict[str, Any] = {
        "links": tuple(link for link in whole.links if link.name in subtree or parents.get(link.name) in subtree),
        "joints": tuple(joint for joint in whole.joints if joint.parent in subtree),
        "couplings": tuple(x for x in whole.couplings if {*x.joints, *x.of} <= inside),
    }
    assert robot.tip is not None
    held_here, by_default = robot.tip.link in subtree, bool(notes_on(robot.notes, ["tip"]))
    tip = robot.tip if held_here and (robot.payload is not None or not by_default) else None
    notes = notes if tip is not None else without(notes, "tip")
    if robot.payload is not None and not held_here:
        notes.append(f"the payload is left out with link '{robot.tip.link}', which is not in the sub-tree of '{root}'")
    payload = robot.payload if held_here else None
    whole = replace(whole, **part, base=Placement(), gravity=gravity, tip=tip, payload=payload, notes=tuple(notes))
    return whole if tip is not None else whole.with_tip_note()


def chained(robot: Robot) -> Robot:
    """The chain from the root to the tip: joints that are not on it are locked, and their links remain as masses.

    A joint is locked at 0, or at the middle of its range if 0 is outside its limits. Joints that follow the chain's
    joints through couplings or closed chains keep moving with them. Branches attached to the base move nothing and are
    left out.
    """
    assert robot.tip is not None
    way = path_to(robot, robot.tip.link)
    moving = [joint.name for joint in way if joint.moves]
    if not moving:
        raise RobotError(
            f"no joint moves between the root '{robot.root}' and the tip on link '{robot.tip.link}'; choose links farther apart"
        )
    needed = _that_move(robot, moving)
    free = {joint.name: joint for joint in robot.moving_joints}
    held = {name: _middle(joint) for name, joint in free.items() if name not in needed}
    robot = _pruned(robot, held)
    held = {joint.name: held[joint.name] for joint in robot.joints if joint.name in held}
    return locked(robot, held, "locked, not on the chain from root to tip") if held else robot


def _middle(joint: Joint) -> float:
    """0, or the middle of the range if 0 is outside."""
    lower, upper = joint.limits.lower, joint.limits.upper
    return 0.0 if _within(joint, 0.0) or lower is None or upper is None else 0.5 * (lower + upper)


def _that_move(robot: Robot, names: Sequence[str]) -> set[str]:
    """The joints, and those that they follow through couplings or closed chains."""
    follows, needed, waiting = followers(robot), set[str](), list(names)
    around = {name: joints_around(robot, loop) for loop in robot.loops for name in loop.passive}
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        waiting += follows[name].of if name in follows else ()
        waiting += [joint.name for joint in around.get(name, ()) if joint.moves]
    return needed


def _pruned(robot: Robot, held: Mapping[str, float]) -> Robot:
    """The robot without the branches on the base that only joints of ``held`` move."""
    assert robot.tip is not None
    base = {robot.root}
    branch: dict[str, str] = {}  # {link: first joint of its branch}; the links of the base have none
    for joint in robot.joints:
        if joint.parent in branch:
            branch[joint.child] = branch[joint.parent]
        elif joint.parent in base and not joint.moves:
            base.add(joint.child)
        elif joint.parent in base and joint.name in held:
            branch[joint.child] = joint.name
    tied = {name for loop in robot.loops for name in (loop.link_a, loop.link_b)} | {robot.tip.link}
    coupled = {name for coupling in robot.couplings for name in (*coupling.joints, *coupling.of)}
    tied |= {joint.child for joint in robot.tree_joints if joint.name not in held or joint.name in coupled}
    needed = {branch[link] for link in tied if link in branch}
    dropped = {link for link, first in branch.items() if first not in needed}
    if not dropped:
        return robot
    names = [joint.name for joint in robot.tree_joints if joint.child in dropped]
    return robot.replace(
        links=tuple(link for link in robot.links if link.name not in dropped),
        joints=tuple(joint for joint in robot.joints if joint.child not in dropped),
        notes=(*robot.notes, f"left out, on the base and not on the chain from root to tip: {some(names, 50)}"),
    )
