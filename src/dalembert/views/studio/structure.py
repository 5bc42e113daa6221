"""Structural changes of a robot: locked joints, another tip or root, a payload, rotors, lengths of closed chains.

None of these is an input of the page's kernels, so each change requires new ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.robot.model.loop_lengths import loop_lengths, with_loop_lengths
from dalembert.robot.model.robot import Joint, Robot
from dalembert.robot.readers.load import part_of


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
