"""The ranges of angles that a motion covers, compared with the limits of the joints: are they in degrees?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from dalembert.arm import Arm
from dalembert.base.arrays import Array

FAR = 40.0  # rad: no joint without limits moves that far
BEYOND = 4.0  # times its limits: no joint moves that far
SLACK = 0.1  # rad beyond a limit


class Range(NamedTuple):
    """The range of angles that a joint covers, and its allowed range (rad)."""

    low: float
    high: float
    lower: float
    upper: float

    @property
    def far(self) -> bool:
        """Whether the joint moves too far for angles in radians."""
        return max(-self.low, self.high) > BEYOND * max(-self.lower, self.upper) or self.high - self.low > FAR

    @property
    def possible_in_degrees(self) -> bool:
        """Whether the limits are kept if the numbers are degrees."""
        return self.lower - SLACK < math.radians(self.low) and math.radians(self.high) < self.upper + SLACK


def ranges(arm: Arm, q: Array) -> dict[int, Range]:
    """{revolute joint: its range} of positions (N, n); the allowed range without limits is half of ``FAR`` either way."""
    by_joint = {}
    for j, joint in enumerate(arm.robot.moving_joints):
        lower, upper = joint.limits.lower, joint.limits.upper
        if lower is None or upper is None or joint.type == "continuous":
            lower, upper = -0.5 * FAR, 0.5 * FAR
        if joint.type != "prismatic":
            by_joint[j] = Range(float(q[:, j].min()), float(q[:, j].max()), float(lower), float(upper))
    return by_joint


def described(arm: Arm, source: str, beyond: Mapping[int, Range]) -> str:
    """The motion of the joint that exceeds its limits the most, in words."""
    worst = max(beyond, key=lambda j: max(beyond[j].lower - beyond[j].low, beyond[j].high - beyond[j].upper))
    low, high, lower, upper = beyond[worst]
    text = f"{source}: joint '{arm.joint_names[worst]}' moves from {low:.4g} to {high:.4g} rad"
    unlimited = (lower, upper) == (-0.5 * FAR, 0.5 * FAR)
    return text if unlimited else f"{text}, but its limits are {lower:.4g} and {upper:.4g}"


def far_beyond(arm: Arm, source: str, q: Array) -> tuple[str, bool]:
    """(a description of joints far beyond their limits, empty if there are none; whether all joints could be in degrees)."""
    all_ranges = ranges(arm, q)
    far = {j: r for j, r in all_ranges.items() if r.far}
    return (described(arm, source, far) if far else ""), all(r.possible_in_degrees for r in all_ranges.values())
