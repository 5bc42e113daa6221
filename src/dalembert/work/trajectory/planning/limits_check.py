"""Limit violations along a motion, with the time and the size of the largest violation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.tables.signal_columns import SIGNALS
from dalembert.robot.model.robot import Joint, Limits
from dalembert.work.trajectory.planning.motion_loads import torques
from dalembert.work.trajectory.planning.trajectory import Trajectory

ROUNDING = 1e-6  # of the limit: a motion that just reaches it does not violate it
QUANTITIES = {"position": "q", "velocity": "qd", "acceleration": "qdd", "torque": "tau"}
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
    torque = torque and any(limit.quantity == "torque" for limit in _limits(arm))

    def values(t: Array) -> dict[str, Array]:
        quantities = dict(zip(QUANTITIES, _with_passive(arm, *motion(t)), strict=False))
        return quantities | ({"torque": torques(motion, arm, t, tip_wrench)} if torque else {})

    before = [k * (1 - 1e-12) for k in motion.knots if 0 < k <= motion.duration]  # last value of each segment
    t = np.unique(np.concatenate([motion.t - motion.t[0], before]))
    sampled = values(t)
    report = []
    for limit in _limits(arm):
        fine, there = t, sampled
        if (worst := limit.worst(there)) is None:
            continue
        for _ in range(3):  # resample the gaps beside the worst sample ever more finely
            gaps = np.linspace(fine[max(worst - 1, 0)], fine[min(worst + 1, len(fine) - 1)], 21)
            fine = np.unique(np.append(gaps, fine[worst]))
            there = values(fine)
            worst = limit.worst(there) or 0
        report += limit.excess(values(fine[[worst]]), 0, float(fine[worst]))
    return report


def excesses(arm: Arm, t: Array, quantities: Mapping[str, Array]) -> list[LimitExcess]:
    """The limits that samples of some quantities (N, n) at the times t (N,) exceed."""
    report = []
    quantities = dict(quantities)
    if "acceleration" in quantities:
        state = _with_passive(arm, *(quantities[name] for name in ("position", "velocity", "acceleration")))
        quantities |= zip(QUANTITIES, state, strict=False)
    for limit in _limits(arm):
        if (worst := limit.worst(quantities)) is not None:
            report += limit.excess(quantities, worst, float(t[worst]))
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


@dataclass(frozen=True)
class _JointLimit:
    """A limit on one quantity of a joint, which is a column of the samples."""

    column: int
    joint: Joint
    quantity: str
    side: int
    limit: float

    def worst(self, quantities: Mapping[str, Array]) -> int | None:
        """The sample that is farthest towards the limit; None if the samples do not have the quantity."""
        values = quantities.get(self.quantity)
        if values is None or self.column >= values.shape[1]:
            return None
        return int(np.argmax(self._towards(values[:, self.column])))

    def excess(self, quantities: Mapping[str, Array], sample: int, when: float) -> list[LimitExcess]:
        """The violation by a sample; a value that is not a number violates every limit."""
        value = float(quantities[self.quantity][sample, self.column])
        if self._towards(value) - (self.side or 1) * self.limit <= ROUNDING * max(1.0, abs(self.limit)):
            return []
        signal = SIGNALS[QUANTITIES[self.quantity]]
        unit = signal.sliding if self.joint.type == "prismatic" else signal.unit
        return [LimitExcess(self.joint.name, self.quantity, value, self.limit, when, str(unit))]

    def _towards(self, value: Any) -> Any:
        """The number to compare with the limit: the value, its negative, or its magnitude."""
        return self.side * value if self.side else np.abs(value)


def _limits(arm: Arm) -> Iterator[_JointLimit]:
    """Every limit of the joints of q, and of the passive joints."""
    for column, joint in enumerate([*arm.robot.moving_joints, *_passive(arm).values()]):
        for quantity, side, name in LIMITS:
            limit = getattr(joint.limits, name)
            if limit is not None and np.isfinite(limit):
                yield _JointLimit(column, joint, quantity, side, float(limit))
