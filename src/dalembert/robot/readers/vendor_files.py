"""What vendors and CAD exporters write for "unknown" and for right angles, and what their files often lack.

Many exporters write the limits 0 if they know none, and limits such as 1e308 for a joint without limits. π/2 is often
written as 1.5708, which costs operations in every term and changes nothing else.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace

from dalembert.base.algebra.vectors import Mat, Vec
from dalembert.base.arrays import number
from dalembert.base.files.file_bounds import UNLIMITED
from dalembert.base.wording import counted, errors_at, shown, some
from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.robot import Joint, Limits, Link, Robot
from dalembert.robot.model.robot_notes import Note, without
from dalembert.robot.model.shapes import density_of

SNAP = 1e-5  # rad: angles of five digits are this close to right angles


def with_known_limits(robot: Robot) -> Robot:
    """The robot without limits that mean "unknown" or "none", and with notes on the former and on passive joints."""
    unknown: list[str] = []
    joints = tuple(_known(joint, unknown) for joint in robot.joints)
    passive = {name for loop in robot.loops for name in loop.passive}
    ignored = [f"'{joint.name}'" for joint in joints if joint.name in passive and joint.limits != Limits()]
    notes = []
    if unknown:
        words = f"limits of 0 in the file are read as unknown: {some(unknown)}; give them with --limits or in the file"
        notes.append(Note(words, "unknown limits"))
    if ignored:
        words = (
            "limits of passive joints are checked along motions and runs, but not enforced by plan, scale and simulate: "
            f"{some(ignored)}; motion.limits_report(arm) names what exceeds them"
        )
        notes.append(Note(words, "passive limits"))
    if joints == robot.joints and not notes:
        return robot
    return robot.replace(joints=joints, notes=tuple(dict.fromkeys((*robot.notes, *notes))))


def _known(joint: Joint, unknown: list[str]) -> Joint:
    limits = joint.limits
    zero = [key for key in ("velocity", "acceleration", "effort") if getattr(limits, key) == 0.0]
    if zero and limits.lower == limits.upper == 0.0:
        zero += ["lower", "upper"]
    if zero:
        unknown.append(f"{' and '.join(zero)} of joint '{joint.name}'")
    large = {key: x for key, x in vars(limits).items() if x is not None and abs(x) >= UNLIMITED}
    values = {key: math.copysign(math.inf, x) for key, x in large.items()}
    return replace(joint, limits=replace(limits, **dict.fromkeys(zero), **values)) if zero or values else joint


def with_right_angles(robot: Robot, snap: float | None) -> Robot:
    """The robot with angles within ``snap`` (rad) of right angles made exact; without ``snap``, a note on such angles."""
    if snap is not None and not 0.0 <= number("snap", snap) <= 0.01:
        raise RobotError(f"snap is {shown(snap)}; it must be an angle from 0 to 0.01 rad, such as {SNAP:g}")
    joints = tuple(_snapped(joint, SNAP if snap is None else snap) for joint in robot.joints)
    changed = [f"'{new.name}'" for new, old in zip(joints, robot.joints, strict=True) if new.moves and new != old]
    notes = without(robot.notes, "right angles")
    if snap is not None:
        return robot.replace(joints=joints, notes=tuple(notes))
    if not changed:
        return robot
    words = (
        f"right angles are written with few digits, such as π/2 as 1.5708, at {some(changed)}; snap={SNAP:g} (--snap "
        f"{SNAP:g}) makes them exact and the dynamics faster"
    )
    return robot.replace(notes=(*notes, Note(words, "right angles")))


def _snapped(joint: Joint, tolerance: float) -> Joint:
    near = [0.0 if abs(x) <= tolerance else x for x in joint.axis]
    axis = tuple(near) if near.count(0.0) == 2 else joint.axis
    quarter = math.pi / 2 * round(joint.offset / (math.pi / 2)) if isinstance(joint.offset, float) else joint.offset
    offset = quarter if joint.type != "prismatic" and 0 < abs(joint.offset - quarter) <= tolerance else joint.offset
    places = joint.placement, joint.link_frame
    before, after = (replace(x, rotation=snapped_rotation(x.rotation, tolerance)) for x in places)
    snapped = replace(joint, axis=axis, offset=offset, placement=before, link_frame=after)
    return joint if snapped == joint else snapped


def snapped_rotation(R: Mat, tolerance: float) -> Mat:
    """The rotation about a coordinate axis, by a right angle if possible, that R equals to within a tolerance; or else R.

    >>> from dalembert.robot.model.placement import Placement
    >>> snapped_rotation(Placement.rpy(1.5708, 0, 0).rotation, 1e-5)
    ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))
    """
    if not all(isinstance(x, float) for row in R for x in row):
        return R
    near = Mat.of([0.0 if abs(x) <= tolerance else x for x in row] for row in R)
    about_an_axis = all(any(line.count(0.0) == 2 for line in lines) for lines in (near, near.T))
    if near == R or not about_an_axis:
        return R
    x = _unit(near[0])
    z = _unit(x.cross(near[1]))
    return Mat.of([v + 0.0 for v in row] for row in (x, z.cross(x), z))  # + 0.0 turns −0.0 into 0.0


def _unit(v: Vec) -> Vec:
    length = math.hypot(*v)
    return Vec(x / length for x in v)


def without_mass(robot: Robot) -> list[str]:
    """Moving links that have no mass although others have one, and that carry none or have a shape."""
    carrier = {robot.root: robot.root}  # {link: the link to which it is fixed and which a joint moves}
    for joint in robot.joints:
        carrier[joint.child] = joint.child if joint.moves else carrier[joint.parent]
    heavy = {carrier[link.name] for link in robot.links if link.massless or not link.inertia.is_zero}
    drawn = {carrier[link.name] for link in robot.links if link.visuals or link.collisions}
    loaded = set(heavy)  # they or what they carry have a mass
    for joint in reversed(robot.joints):
        if joint.moves and joint.child in loaded:
            loaded.add(carrier[joint.parent])
    moved = [joint.child for joint in robot.joints if joint.moves]
    if not heavy.intersection(moved):
        return []  # the robot has no masses at all, and commands say so
    return [name for name in moved if name not in heavy and (name in drawn or name not in loaded)]


def with_density(robot: Robot, density: float | str, folder: str | os.PathLike[str] = "") -> Robot:
    """The robot, with the inertia of links without a mass computed from their collision shapes, or else their visuals.

    density  kg/m³, or the name of a material;  folder  folder that relative mesh paths refer to
    """
    value, filled, links = density_of(density), list[str](), list[Link]()
    for link in robot.links:
        shapes = link.collisions or link.visuals
        if shapes and link.inertia.is_zero and not link.massless:
            with errors_at(f"link '{link.name}'"):
                body = sum((shape.inertia(value, folder=folder) for shape in shapes), Inertia())
            link = replace(link, inertia=body)
            kind = "collision shape" if link.collisions else "visual shape"
            filled.append(f"'{link.name}' {body.mass:.4g} kg ({counted(len(shapes), kind)})")
        links.append(link)
    note = (
        f"links without a mass in the file take the inertia of their shapes at {value:g} kg/m³: {some(filled, 50)}"
        if filled
        else f"the density {value:g} kg/m³ was not used: every link that has shapes also has a mass"
    )
    return robot.replace(links=tuple(links), notes=(*robot.notes, note))
