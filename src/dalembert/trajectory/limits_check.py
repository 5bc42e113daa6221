"""Limit violations along a motion, with the time and the size of the largest violation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arrays import Array
from dalembert.robot.model import Limits
from dalembert.trajectory.loads import torques
from dalembert.trajectory.trajectory import Trajectory

ROUNDING = 1e-6  # of the limit: a motion that just reaches it does not violate it
UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s²", "m/s²"),
    "torque": ("N m", "N"),
}  # of revolute and prismatic joints
# limits that a joint may have: the quantity, the side (0: the magnitude is compared) and the name of the limit
LIMITS = (
    ("position", -1, "lower"),
    ("position", 1, "upper"),
    ("velocity", 0, "velocity"),
    ("acceleration", 0, "acceleration"),
    ("torque", 0, "effort"),
)


@dataclass(frozen=True)
class LimitExcess:
    """A limit that a motion exceeds; ``str(excess)`` describes it in one sentence."""

    joint: str
    quantity: str  # position, velocity, acceleration or torque
    value: float  # the most extreme value, with its sign
    limit: float
    time: float  # s
    unit: str

    def __str__(self) -> str:
        side = "below" if self.value < self.limit and self.quantity == "position" else "above"
        value = self.value if self.quantity == "position" else abs(self.value)
        return (
            f"joint '{self.joint}': {self.quantity} {value:.6g} {self.unit} at t = {self.time:.6g} s "
            f"is {side} its limit of {self.limit:.6g} {self.unit}"
        )


def limits_report(motion: Trajectory, arm: Arm, torque: bool, tip_wrench: ArrayLike | None) -> list[LimitExcess]:
    """:meth:`Trajectory.limits_report`."""
    motion.fits(arm)
    bounded = {
        k: x for k, x in enumerate(arm.robot.tree_joints) if x.name in arm.passive_names and x.limits != Limits()
    }

    def values(t: Array) -> dict[str, Array]:
        state: Sequence[Array] = motion(t)
        if bounded:  # passive joints follow those of q
            tree = arm.tree_motion(*state)
            state = [np.concatenate([x, y[:, list(bounded)]], axis=1) for x, y in zip(state, tree, strict=True)]
        quantities = dict(zip(("position", "velocity", "acceleration"), state, strict=True))
        return quantities | ({"torque": torques(motion, arm, t, tip_wrench)} if torque else {})

    before = [k * (1 - 1e-12) for k in motion.knots if 0 < k <= motion.duration]  # last value of each segment
    t = np.unique(np.concatenate([motion.t - motion.t[0], before]))
    sampled = values(t)
    report = []
    for j, joint in enumerate((*arm.robot.moving_joints, *bounded.values())):
        for quantity, side, name in LIMITS:
            limit = getattr(joint.limits, name)
            if limit is None or not np.isfinite(limit) or quantity not in sampled or j >= sampled[quantity].shape[1]:
                continue
            worst = int(np.argmax(_towards(side, sampled[quantity][:, j])))
            low, when, high = t[max(worst - 1, 0)], t[worst], t[min(worst + 1, len(t) - 1)]
            for _ in range(3):  # resample the gaps beside the worst sample ever more finely
                fine = np.unique(np.concatenate([np.linspace(low, high, 21), [when]]))
                k = int(np.argmax(_towards(side, values(fine)[quantity][:, j])))
                low, when, high = fine[max(k - 1, 0)], fine[k], fine[min(k + 1, len(fine) - 1)]
            value = float(values(np.array([when]))[quantity][0, j])
            if _towards(side, value) - (side or 1) * limit > ROUNDING * max(1.0, abs(limit)):
                unit = UNITS[quantity][joint.type == "prismatic"]
                report.append(LimitExcess(joint.name, quantity, value, limit, float(when), unit))
    return report


def _towards(side: int, value: Any) -> Any:
    """The number to compare with a limit on this side: the value, its negative, or its magnitude."""
    return side * value if side else np.abs(value)
