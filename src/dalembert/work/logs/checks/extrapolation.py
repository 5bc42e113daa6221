"""Runs that leave the range of the motion used for identification, where predictions are extrapolated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.wording import counted
from dalembert.work.logs.log_units import sliding_joints

BEYOND = 99.0  # percentile of a run's samples that is compared with the range
MOST = 2  # largest number of sentences per run


class Extent(NamedTuple):
    """A quantity of a motion: its wording, its unit, the allowed excess over the range, and what is doubtful beyond it.

    factor  of the largest value in the range, or of the width of the range of positions; slack: an absolute allowance
            in SI units
    """

    verb: str
    level: str
    units: tuple[str, str]
    factor: float
    slack: float
    doubtful: str


QUANTITIES = {
    "qd": Extent("moves", "at up to", ("rad/s", "m/s"), 1.3, 0.02, "friction"),
    "q": Extent("goes", "", ("rad", "m"), 0.25, 0.05, "everything that depends on the pose"),
    "tau": Extent("has torques", "of up to", ("N m", "N"), 1.5, 0.1, "friction under load"),
    "qdd": Extent("accelerates", "at up to", ("rad/s²", "m/s²"), 1.5, 0.1, "inertia"),
}  # the most critical first

Motion = Mapping[str, Array]  # (M, n) of some of the quantities


def leaves_range(arm: Arm, source: str, run: Motion, training: Motion) -> list[str]:
    """Sentences about a run that leaves the range of the training runs: the joint, the quantity and both ranges.

    >>> import dalembert as da
    >>> slow = {"qd": np.array([[-0.4], [0.5]])}
    >>> leaves_range(da.load("pendulum"), "fast.csv", {"qd": 4 * slow["qd"]}, slow)
    ["fast.csv: joint 'joint1' moves at up to 2 rad/s, and the training run at up to 0.5 rad/s: friction there is extrapolated"]
    """
    sentences = []
    for name, quantity in QUANTITIES.items():
        if name in run and name in training and np.isfinite(run[name]).all():
            excess = _excess(run[name], training[name], quantity, name == "q")
            if (excess > 1.0).any():
                sentences.append(_sentence(arm, source, name, run[name], training[name], excess))
    return sentences[:MOST]


def _excess(run: Array, training: Array, quantity: Extent, two_ended: bool) -> Array:
    """The excess of each joint over the range: (n,), above 1 where it leaves the range."""
    if two_ended:
        low, high = training.min(axis=0), training.max(axis=0)
        least, most = np.percentile(run, (100.0 - BEYOND, BEYOND), axis=0)
        return np.asarray(np.maximum(low - least, most - high) / (quantity.factor * (high - low) + quantity.slack))
    level = np.percentile(np.abs(run), BEYOND, axis=0)
    return np.asarray(level / (quantity.factor * np.abs(training).max(axis=0) + quantity.slack))


def _sentence(arm: Arm, source: str, name: str, run: Array, training: Array, excess: Array) -> str:
    worst, others = int(np.argmax(excess)), int((excess > 1.0).sum()) - 1
    quantity = QUANTITIES[name]
    unit = quantity.units[sliding_joints(arm)[worst]]
    mine, theirs = (
        f"from {x.min():.3g} to {x.max():.3g} {unit}"
        if name == "q"
        else f"{quantity.level} {np.abs(x).max():.3g} {unit}"
        for x in (run[:, worst], training[:, worst])
    )
    more = f" (and at {counted(others, 'more joint')})" if others else ""
    return (
        f"{source}: joint '{arm.joint_names[worst]}' {quantity.verb} {mine}, and the training run {theirs}: "
        f"{quantity.doubtful} there is extrapolated{more}"
    )
