"""Joints of several variables as chains of joints of one variable, with massless links between them.

Every joint thus has one variable, and all quantities work unchanged: there are no quaternions in ``q``. The joint
``NAME`` becomes the following joints, in this order (prismatic joints in m, revolute joints in rad):

planar     NAME/x, NAME/y in the plane perpendicular to the axis, NAME/yaw about it
floating   NAME/x, NAME/y, NAME/z along the axes of the joint frame, then NAME/yaw, NAME/pitch, NAME/roll:
           R = Rz(yaw) Ry(pitch) Rx(roll), singular at pitch = ±90°
ball       NAME/yaw, NAME/pitch, NAME/roll, with the same rotation
cylindrical  NAME/z along the axis, NAME/yaw about it

A further kind is one row of ``VIRTUAL``: TOML files may then use it as the type of a joint.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from dalembert.base.algebra.vectors import IDENTITY, Mat, VecLike, X, Y, Z
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Joint, JointType, Link, Robot

Steps = tuple[tuple[str, JointType, VecLike], ...]  # (name, type, axis) of the joints of one variable
_SLIDES: Steps = (("x", "prismatic", X), ("y", "prismatic", Y), ("z", "prismatic", Z))
_TURNS: Steps = (("yaw", "continuous", Z), ("pitch", "continuous", Y), ("roll", "continuous", X))
VIRTUAL: dict[str, Steps] = {
    "planar": (*_SLIDES[:2], _TURNS[0]),
    "floating": (*_SLIDES, *_TURNS),
    "ball": _TURNS,
    "cylindrical": (_SLIDES[2], _TURNS[0]),
}


def virtual_joints(whole: Joint, kind: str) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    """The massless links and the joints of one variable that replace the joint ``whole`` of a kind of ``VIRTUAL``.

    Name, ends, placement and link frame are those of ``whole``; its axis is the z-axis of the kind, such as the normal of
    the plane of a planar joint.

    >>> links, joints = virtual_joints(Joint("cart", "fixed", "world", "chassis"), "planar")
    >>> [(joint.name, joint.type, joint.parent, joint.child) for joint in joints][1:]
    [('cart/y', 'prismatic', 'cart/x', 'cart/y'), ('cart/yaw', 'continuous', 'cart/y', 'chassis')]
    """
    turned = Placement(_basis(whole.axis))
    names = [f"{whole.name}/{word}" for word, _, _ in VIRTUAL[kind]]
    links = tuple(Link(inner, massless=True) for inner in names[:-1])
    ends = pairwise((whole.parent, *names[:-1], whole.child))
    joints = [
        Joint(name, type_, *pair, axis=axis)
        for name, (_, type_, axis), pair in zip(names, VIRTUAL[kind], ends, strict=True)
    ]
    joints[0] = replace(joints[0], placement=whole.placement @ turned)
    joints[-1] = replace(joints[-1], link_frame=turned.inverse @ whole.link_frame)
    return links, tuple(joints)


def parts_of(robot: Robot, name: str) -> list[str]:
    """The virtual joints that replace the joint ``name``; empty if there is no such joint."""
    present = {joint.name for joint in robot.joints}
    for steps in sorted(VIRTUAL.values(), key=len, reverse=True):
        names = [f"{name}/{word}" for word, _, _ in steps]
        if present.issuperset(names):
            return names
    return []


def _basis(normal: VecLike) -> Mat:
    """The smallest rotation that takes z to the normal: Rodrigues' formula."""
    across, along = Z.cross(normal), Z.dot(normal)
    if along < -1.0 + 1e-12:  # half a turn about x
        return Mat.of(((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)))
    x, y, _ = across
    S = Mat.of(((0.0, 0.0, y), (0.0, 0.0, -x), (-y, x, 0.0)))
    return IDENTITY + S + 1.0 / (1.0 + along) * (S @ S)
