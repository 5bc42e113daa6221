"""Whether a motion has plausible numbers: the ranges of its angles, and quantities that are derivatives of others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array

FAR = 40.0  # rad: no joint without limits moves that far
BEYOND = 4.0  # times its limits: no joint moves that far
SLACK = 0.1  # rad beyond a limit
MOVES = 0.05  # of the largest norm: joints that change less are not judged
AGREE = (0.8, 1.25)  # factors that are taken for noise
ALIKE = 0.1  # spread of the logarithms of equal factors


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


def off_by(change: Array, measured: Array) -> tuple[list[int], float, bool] | None:
    """Joints whose ``measured`` (N, n) is not ``change``, the one that moves most first; its factor; whether all have it.

    None if all agree, or nothing changes.
    """
    size = np.linalg.norm(change, axis=0)
    if not size.max(initial=0.0) > 0.0:
        return None
    ratio = np.sum(change * measured, axis=0) / np.maximum(np.square(size), 1e-300)
    moving = np.flatnonzero(size > MOVES * size.max())
    off = [int(j) for j in moving if not AGREE[0] < ratio[j] < AGREE[1]]
    if not off:
        return None
    off.sort(key=lambda j: -float(size[j]))
    everywhere = np.ptp(np.log(np.maximum(np.abs(ratio[moving]), 1e-12))) < ALIKE
    return off, float(ratio[off[0]]), bool(everywhere)
