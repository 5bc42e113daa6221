"""Structural changes of a robot: locked joints, another tip or root, a payload, rotors, lengths of closed chains.

None of these is an input of the page's kernels, so each change requires new ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.robot.load import part_of
from dalembert.robot.loops import Loop
from dalembert.robot.model import Joint, Robot
from dalembert.robot.placement import Placement
from dalembert.robot.tables import nearest, some
from dalembert.studio.fields import Body, flag, numbers_by_name, optional_number, optional_words, vector

AXES = "xyz"
# the placements whose lengths can be changed, and their names
OF_JOINT = {"placement": "joint {} on the link before", "link_frame": "link frame of joint {}"}
OF_LOOP = {"placement_a": "loop {} on link {}", "placement_b": "loop {} on link {}"}
OF_TIP = "the tip on its link"


@dataclass(frozen=True)
class Structure:
    """Structural changes of a robot as loaded; a field at its default changes nothing.

    lock      positions (rad, m) of locked joints
    payload   mass (kg) held at the tip, with its centre of mass ``com`` in the tip's frame (m)
    rotors    False omits all rotors: their inertia, their mass and the friction of the motors
    lengths   translations (m) by the names of :func:`loop_lengths`
    """

    tip: str | None = None
    root: str | None = None
    lock: Mapping[str, float] = field(default_factory=dict)
    payload: float | None = None
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotors: bool = True
    lengths: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of_request(cls, body: Body) -> Structure:
        """The changes given by the fields of a request."""
        return cls(
            tip=optional_words(body, "tip"),
            root=optional_words(body, "root"),
            lock=numbers_by_name(body, "lock"),
            payload=optional_number(body, "payload"),
            com=vector(body, "com"),
            rotors=flag(body, "rotors", True),
            lengths=numbers_by_name(body, "lengths"),
        )

    @property
    def data(self) -> dict[str, Any]:
        """The changes as data for the page, which :meth:`of_request` reads."""
        return {
            "tip": self.tip, "root": self.root, "lock": dict(self.lock), "payload": self.payload, "com": list(self.com),
            "rotors": self.rotors, "lengths": dict(self.lengths),
        }  # fmt: skip

    def arm(self, robot: Robot) -> Arm:
        """The robot with these changes."""
        if self.lengths:
            robot = with_loop_lengths(robot, self.lengths)
        if not self.rotors:
            robot = robot.replace(joints=tuple(joint.with_rotor(None) for joint in robot.joints))
        if self.tip is not None:
            robot = robot.with_tip(self.tip)
        where = f"robot '{robot.name}'"
        arm = Arm(part_of(robot, where, lock=self.lock, root=self.root, chain=self.tip is not None))
        return arm if self.payload is None else arm.with_payload(self.payload, self.com)


def loop_lengths(robot: Robot) -> dict[str, float]:
    """The non-zero translations (m) of a closed chain's joints, loops and tip, by name; empty for an open chain, whose
    lengths the page changes itself.

    >>> import dalembert as da
    >>> loop_lengths(da.load("five-bar").robot)["x of joint elbow1 on the link before"]
    0.22
    """
    if not robot.loops:
        return {}
    lengths: dict[str, float] = {}
    for joint in robot.tree_joints:
        for name, words in OF_JOINT.items():
            lengths |= _nonzero(words.format(joint.name), getattr(joint, name))
    for loop in robot.loops:
        for name, words in OF_LOOP.items():
            link = loop.link_a if name == "placement_a" else loop.link_b
            lengths |= _nonzero(words.format(loop.name, link), getattr(loop, name))
    assert robot.tip is not None
    return lengths | _nonzero(OF_TIP, robot.tip.placement)


def _nonzero(words: str, placement: Placement) -> dict[str, float]:
    return {f"{x} of {words}": float(v) for x, v in zip(AXES, placement.translation, strict=True) if v}


def with_loop_lengths(robot: Robot, lengths: Mapping[str, float]) -> Robot:
    """The robot with other lengths. Masses keep their positions in the link frames."""
    known = loop_lengths(robot)
    for name in lengths:
        if name not in known:
            raise DalembertError(
                f"arm '{robot.name}' has no length called '{name}'{nearest(name, list(known))} (there are {some(list(known))})"
            )

    def joint(old: Joint) -> Joint:
        before, after = (words.format(old.name) for words in OF_JOINT.values())
        return replace(
            old, placement=_moved(old.placement, before, lengths), link_frame=_moved(old.link_frame, after, lengths)
        )

    def loop(old: Loop) -> Loop:
        a, b = (
            words.format(old.name, link) for words, link in zip(OF_LOOP.values(), (old.link_a, old.link_b), strict=True)
        )
        return replace(
            old, placement_a=_moved(old.placement_a, a, lengths), placement_b=_moved(old.placement_b, b, lengths)
        )

    assert robot.tip is not None
    tip = replace(robot.tip, placement=_moved(robot.tip.placement, OF_TIP, lengths))
    return robot.replace(joints=tuple(map(joint, robot.joints)), loops=tuple(map(loop, robot.loops)), tip=tip)


def _moved(placement: Placement, words: str, lengths: Mapping[str, float]) -> Placement:
    names = [f"{x} of {words}" for x in AXES]
    if not set(names) & set(lengths):
        return placement
    translation = [lengths.get(name, float(v)) for name, v in zip(names, placement.translation, strict=True)]
    return Placement(placement.rotation, tuple(translation))


def described(robot: Robot) -> dict[str, Any]:
    """The structural properties of a robot that can be changed, for the page."""
    assert robot.tip is not None
    children = [joint.child for joint in robot.joints]
    return {
        "name": robot.name,
        "joints": [_joint(joint) for joint in robot.moving_joints],
        "links": [robot.root, *children],
        "tip": robot.tip.link,
        "root": robot.root,
        "rotors": any(joint.rotor is not None for joint in robot.joints),
        "lengths": loop_lengths(robot),
    }


def _joint(joint: Joint) -> dict[str, Any]:
    ends = (joint.limits.lower, joint.limits.upper)
    lower, upper = (None if x is None or not np.isfinite(x) else float(x) for x in ends)
    return {"name": joint.name, "revolute": joint.type != "prismatic", "lower": lower, "upper": upper}
