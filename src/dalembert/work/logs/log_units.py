"""Which joints of an arm are prismatic, so that their signals are in m and N."""

from __future__ import annotations

from dalembert.arm import Arm


def sliding_joints(arm: Arm) -> list[bool]:
    """Whether each joint of an arm is prismatic."""
    return [joint.type == "prismatic" for joint in arm.robot.moving_joints]
