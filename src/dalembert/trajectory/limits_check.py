"""Where a motion goes beyond an arm's limits, and when it does so most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.robot.model import Joint
from dalembert.trajectory.trajectory import LimitExcess, Trajectory

Array = NDArray[np.floating[Any]]

ROUNDING = 1e-9  # of the limit: a motion that just reaches it is within it
QUANTITIES = ("position", "velocity", "acceleration", "torque")
UNITS = {
    "revolute": ("rad", "rad/s", "rad/s²", "N m"),
    "prismatic": ("m", "m/s", "m/s²", "N"),
}


def limits_report(motion: Trajectory, arm: Arm, torque: bool, tip_wrench: ArrayLike | None) -> list[LimitExcess]:
    """:meth:`Trajectory.limits_report`."""
    motion.fits(arm)

    def values(t: Array) -> tuple[Array, ...]:
        q, qd, qdd = motion(t)
        return (q, qd, qdd, arm.inverse_dynamics(q, qd, qdd, tip_wrench)) if torque else (q, qd, qdd)

    t = instants(motion)
    at_samples = values(t)
    report = []
    for j, joint in enumerate(arm.robot.moving_joints):
        units = UNITS["prismatic" if joint.type == "prismatic" else "revolute"]
        for kind, sign, limit in _bounds(joint, len(at_samples)):

            def excess(at: Array, kind: int = kind, sign: int = sign, j: int = j) -> Array:
                value = values(at)[kind][:, j]
                return np.abs(value) if sign == 0 else sign * value

            sampled = at_samples[kind][:, j]
            worst = int(np.argmax(np.abs(sampled) if sign == 0 else sign * sampled))
            when = _refined(excess, t, worst)
            value = float(values(np.array([when]))[kind][0, j])
            beyond = abs(value) - limit if sign == 0 else sign * (value - limit)
            if beyond > ROUNDING * max(1.0, abs(limit)):
                report.append(LimitExcess(joint.name, QUANTITIES[kind], value, limit, when, units[kind]))
    return report


def instants(motion: Trajectory) -> Array:
    """The sample instants, and those just before each knot, where a piece has its last value."""
    before = [k * (1 - 1e-12) for k in motion.knots if 0 < k <= motion.duration]
    return np.unique(np.concatenate([motion.t - motion.t[0], before]))


def _bounds(joint: Joint, kinds: int) -> Iterator[tuple[int, int, float]]:
    """(quantity, sign, limit) of each limit the joint has; sign 0 means that the size counts."""
    limits = joint.limits
    signed = (0, -1, limits.lower), (0, 1, limits.upper)
    sized = (1, 0, limits.velocity), (2, 0, limits.acceleration), (3, 0, limits.effort)
    for kind, sign, limit in (*signed, *sized):
        if limit is not None and np.isfinite(limit) and kind < kinds:
            yield kind, sign, limit


def _refined(excess: Callable[[Array], Array], t: Array, worst: int) -> float:
    """The instant of the largest excess near sample ``worst``: the gap beside it, sampled finer and finer."""
    low, best, high = t[max(worst - 1, 0)], t[worst], t[min(worst + 1, len(t) - 1)]
    for _ in range(3):
        fine = np.unique(np.concatenate([np.linspace(low, high, 21), [best]]))
        k = int(np.argmax(excess(fine)))
        low, best, high = fine[max(k - 1, 0)], fine[k], fine[min(k + 1, len(fine) - 1)]
    return float(best)
