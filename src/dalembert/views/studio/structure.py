"""Structural changes of a robot: locked joints, another tip or root, a payload, rotors, lengths of closed chains.

None of these is an input of the page's kernels, so each change requires new ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.wording import nearest, some
from dalembert.errors import DalembertError
from dalembert.robot.model.loop_joints import Loop
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Frame, Joint, Robot
from dalembert.robot.readers.load import part_of

Part = Joint | Loop | Frame  # whose place holds lengths


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
        "payload": 0.0 if robot.payload is None else float(robot.payload.mass),
        "com": [0.0] * 3 if robot.payload is None else [float(x) for x in robot.payload.com],
        "rotors": any(joint.rotor is not None for joint in robot.joints),
        "lengths": loop_lengths(robot),
    }


def _joint(joint: Joint) -> dict[str, Any]:
    ends = (joint.limits.lower, joint.limits.upper)
    lower, upper = (None if x is None or not np.isfinite(x) else float(x) for x in ends)
    return {"name": joint.name, "revolute": joint.type != "prismatic", "lower": lower, "upper": upper}


# -- lengths of closed chains ---------------------------------------------------------------------------


def loop_lengths(robot: Robot) -> dict[str, float]:
    """The non-zero translations (m) of a closed chain's joints, loops and tip, by name; empty for an open chain, whose
    lengths the page changes itself.

    >>> from dalembert.robot.readers.load import load_robot
    >>> loop_lengths(load_robot("five-bar"))["x of joint elbow1 on the link before"]
    0.22
    """
    assert robot.tip is not None
    parts: list[Part] = [*robot.tree_joints, *robot.loops, robot.tip] if robot.loops else []
    places = [(words, getattr(part, key).translation) for part in parts for key, words in _words(part).items()]
    return {f"{x} of {words}": float(v) for words, at in places for x, v in zip("xyz", at, strict=True) if v}


def _words(part: Part) -> dict[str, str]:
    """{placement whose lengths can be changed: its name}."""
    if isinstance(part, Loop):
        return {f"placement_{k}": f"loop {part.name} on link {getattr(part, f'link_{k}')}" for k in "ab"}
    if isinstance(part, Frame):
        return {"placement": "the tip on its link"}
    return {"placement": f"joint {part.name} on the link before", "link_frame": f"link frame of joint {part.name}"}


def with_loop_lengths(robot: Robot, lengths: Mapping[str, float]) -> Robot:
    """The robot with other lengths. Masses keep their positions in the link frames."""
    known = loop_lengths(robot)
    for name in lengths:
        if name not in known:
            raise DalembertError(
                f"arm '{robot.name}' has no length called '{name}'{nearest(name, list(known))} (there are {some(list(known))})"
            )

    def moved(part: Any) -> Any:
        places = {}
        for key, words in _words(part).items():
            old = getattr(part, key)
            at = [lengths.get(f"{x} of {words}", v) for x, v in zip("xyz", old.translation, strict=True)]
            places[key] = Placement(old.rotation, at)
        return replace(part, **places)

    joints, loops = tuple(map(moved, robot.joints)), tuple(map(moved, robot.loops))
    return robot.replace(joints=joints, loops=loops, tip=moved(robot.tip))
