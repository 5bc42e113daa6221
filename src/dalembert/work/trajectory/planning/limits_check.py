"""Limit violations along a motion, with the time and the size of the largest violation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.robot.model.robot import Joint, Limits
from dalembert.work.trajectory.planning.motion_loads import torques
from dalembert.work.trajectory.planning.trajectory import Trajectory

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
    torque = torque and any(quantity == "torque" for _, quantity, *_ in _limits(arm))

    def values(t: Array) -> dict[str, Array]:
        quantities = dict(zip(("position", "velocity", "acceleration"), _with_passive(arm, *motion(t)), strict=True))
        return quantities | ({"torque": torques(motion, arm, t, tip_wrench)} if torque else {})

    before = [k * (1 - 1e-12) for k in motion.knots if 0 < k <= motion.duration]  # last value of each segment
    t = np.unique(np.concatenate([motion.t - motion.t[0], before]))
    sampled = values(t)
    report = []
    for j, quantity, side, limit in _limits(arm):
        if quantity not in sampled or j >= sampled[quantity].shape[1]:
            continue
        worst = int(np.argmax(_towards(side, sampled[quantity][:, j])))
        low, when, high = t[max(worst - 1, 0)], t[worst], t[min(worst + 1, len(t) - 1)]
        for _ in range(3):  # resample the gaps beside the worst sample ever more finely
            fine = np.unique(np.concatenate([np.linspace(low, high, 21), [when]]))
            k = int(np.argmax(_towards(side, values(fine)[quantity][:, j])))
            low, when, high = fine[max(k - 1, 0)], fine[k], fine[min(k + 1, len(fine) - 1)]
        report += _excess(arm, j, quantity, side, limit, float(values(np.array([when]))[quantity][0, j]), float(when))
    return report


def excesses(arm: Arm, t: Array, quantities: Mapping[str, Array]) -> list[LimitExcess]:
    """The limits that samples of some quantities (N, n) at the times t (N,) exceed."""
    report = []
    quantities = dict(quantities)
    if "acceleration" in quantities:
        state = _with_passive(arm, *(quantities[name] for name in ("position", "velocity", "acceleration")))
        quantities |= dict(zip(("position", "velocity", "acceleration"), state, strict=True))
    for j, quantity, side, limit in _limits(arm):
        if quantity in quantities and j < quantities[quantity].shape[1]:
            worst = int(np.argmax(_towards(side, quantities[quantity][:, j])))
            report += _excess(arm, j, quantity, side, limit, float(quantities[quantity][worst, j]), float(t[worst]))
    return report


def _passive(arm: Arm) -> dict[int, Joint]:
    """The passive joints of a closed chain that have limits, by their place in the tree."""
    joints = enumerate(arm.robot.tree_joints)
    return {k: joint for k, joint in joints if joint.name in arm.passive_names and joint.limits != Limits()}


def _with_passive(arm: Arm, *state: Array) -> list[Array]:
    """q, q̇ and q̈ (N, n), followed by those of the passive joints that have limits."""
    if not (places := list(_passive(arm))):
        return list(state)
    tree = arm.tree_motion(*state)
    return [np.concatenate([x, y[:, places]], axis=1) for x, y in zip(state, tree, strict=True)]


def _limited_joints(arm: Arm) -> list[Joint]:
    """The joints of q, and the passive joints that have limits."""
    return [*arm.robot.moving_joints, *_passive(arm).values()]


def _limits(arm: Arm) -> Iterator[tuple[int, str, int, float]]:
    """Joint, quantity, side and value of every limit of the arm."""
    for j, joint in enumerate(_limited_joints(arm)):
        for quantity, side, name in LIMITS:
            limit = getattr(joint.limits, name)
            if limit is not None and np.isfinite(limit):
                yield j, quantity, side, float(limit)


def _excess(arm: Arm, j: int, quantity: str, side: int, limit: float, value: float, when: float) -> list[LimitExcess]:
    """The violation of a limit by a value; a value that is not a number violates every limit."""
    if _towards(side, value) - (side or 1) * limit <= ROUNDING * max(1.0, abs(limit)):
        return []
    joint = _limited_joints(arm)[j]
    return [LimitExcess(joint.name, quantity, value, limit, when, UNITS[quantity][joint.type == "prismatic"])]


def _towards(side: int, value: Any) -> Any:
    """The number to compare with a limit on this side: the value, its negative, or its magnitude."""
    return side * value if side else np.abs(value)
