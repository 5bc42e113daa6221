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

from collections.abc import Sequence
from typing import Any

from dalembert.algebra.vectors import IDENTITY, Mat, VecLike, X, Y, Z
from dalembert.robot.friction import Friction
from dalembert.robot.model import Joint, JointType, Limits, Link, Robot, Rotor
from dalembert.robot.placement import Placement

_SLIDES: tuple[tuple[str, JointType, VecLike], ...] = (
    ("x", "prismatic", X),
    ("y", "prismatic", Y),
    ("z", "prismatic", Z),
)
_TURNS: tuple[tuple[str, JointType, VecLike], ...] = (
    ("yaw", "continuous", Z),
    ("pitch", "continuous", Y),
    ("roll", "continuous", X),
)
VIRTUAL: dict[str, tuple[tuple[str, JointType, VecLike], ...]] = {
    "planar": (*_SLIDES[:2], _TURNS[0]),
    "floating": (*_SLIDES, *_TURNS),
    "ball": _TURNS,
    "cylindrical": (_SLIDES[2], _TURNS[0]),
}
HERE = Placement()
SINGULAR = "is singular at pitch = ±90°, where the axes of yaw and roll coincide"


def virtual_joints(
    name: str,
    kind: str,
    parent: str,
    child: str,
    placement: Placement = HERE,
    *,
    axis: VecLike = Z,
    link_frame: Placement = HERE,
    friction: Sequence[Friction] = (),
    limits: Sequence[Limits] = (),
    rotors: Sequence[Rotor | None] = (),
    at: Sequence[float] = (),
) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    """The massless links and the joints of one variable that replace a joint of a kind of ``VIRTUAL``.

    axis        direction of the z-axis of the kind in the joint frame: the normal of the plane of a planar joint
    link_frame  the child's frame in the frame of the last joint
    friction, limits, rotors   one per joint, in order, if any
    at          the joint variables at which the child is at ``placement``; 0 by default

    >>> links, joints = virtual_joints("cart", "planar", "world", "chassis")
    >>> [(joint.name, joint.type, joint.parent, joint.child) for joint in joints][1:]
    [('cart/y', 'prismatic', 'cart/x', 'cart/y'), ('cart/yaw', 'continuous', 'cart/y', 'chassis')]
    """
    steps = VIRTUAL[kind]
    turned = Placement(_basis(axis))
    names = [f"{name}/{word}" for word, _, _ in steps]
    links = tuple(Link(inner, massless=True) for inner in names[:-1])
    ends = [parent, *names[:-1], child]
    joints = []
    for k, (_, type_, direction) in enumerate(steps):
        given: dict[str, Any] = {
            key: values[k] for key, values in (("friction", friction), ("limits", limits), ("rotor", rotors)) if values
        }
        first, last = k == 0, k == len(steps) - 1
        joints.append(
            Joint(
                names[k],
                type_,
                ends[k],
                ends[k + 1],
                placement @ turned if first else Placement(),
                direction,
                -at[k] if at else 0.0,
                turned.inverse @ link_frame if last else Placement(),
                **given,
            )
        )
    return links, tuple(joints)


def virtual_note(name: str, kind: str) -> str:
    """The note of a reader on a joint that it replaced by virtual joints."""
    words = ", ".join(f"{name}/{word}" for word, _, _ in VIRTUAL[kind])
    singular = f"; it {SINGULAR}" if set(_TURNS) <= set(VIRTUAL[kind]) else ""
    return f"the {kind} joint '{name}' is replaced by {words}{singular}"


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
