"""Units in which logs are written, and the factors that bring them to SI."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError

Array = NDArray[np.float64]

TIME = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
CURRENT = {"A": 1.0, "mA": 1e-3}
# of revolute joints, and of prismatic ones: a word changes only the joints it can be about
TURNING = {
    "q": {"rad": 1.0, "deg": math.pi / 180, "°": math.pi / 180, "mrad": 1e-3},
    "qd": {"rad/s": 1.0, "deg/s": math.pi / 180, "°/s": math.pi / 180, "mrad/s": 1e-3, "rpm": math.pi / 30},
    "tau": {"N m": 1.0, "N mm": 1e-3, "mN m": 1e-3, "N cm": 1e-2, "kN m": 1e3},
}
SLIDING = {
    "q": {"m": 1.0, "mm": 1e-3},
    "qd": {"m/s": 1.0, "mm/s": 1e-3},
    "tau": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
}


def known(quantity: str) -> list[str]:
    """The units in which a quantity may be."""
    if quantity in ("t", "current"):
        return list(TIME if quantity == "t" else CURRENT)
    return [*TURNING[quantity], *SLIDING[quantity]]


def plain(unit: str) -> str:
    """A unit without what people write differently: N·m, Nm, N*m, deg/sec, degrees."""
    word = unit.strip().replace("μ", "µ")
    for old, new in (("degrees", "deg"), ("degree", "deg"), ("radians", "rad"), ("/sec", "/s"), ("seconds", "s")):
        word = word.replace(old, new)
    return "".join(c for c in word if c not in " ·*.⋅^").lower()


def understood(quantity: str, unit: str) -> str | None:
    """The unit as it is written here, or None."""
    return next((word for word in known(quantity) if plain(word) == plain(unit)), None)


def factors(source: str, quantity: str, unit: str, arm: Arm | None) -> float | Array:
    """What a quantity is to be multiplied with: one number for t and current, (n,) for the rest.

    "deg mm" is two units, one for the joints that turn and one for those that slide.
    """
    words = [unit] if understood(quantity, unit) else unit.split()
    found = [understood(quantity, word) for word in words]
    if not found or None in found:
        raise DalembertError(f"{source}: {quantity} is in '{unit}'; known are {', '.join(known(quantity))}")
    if quantity in ("t", "current"):
        return (TIME if quantity == "t" else CURRENT)[str(found[0])]
    assert arm is not None
    made = np.ones(arm.n)
    for word in found:
        kinds = {joint.name: joint.type for joint in arm.robot.moving_joints}
        for j, name in enumerate(arm.joint_names):
            table = SLIDING if kinds.get(name) == "prismatic" else TURNING
            made[j] *= table[quantity].get(str(word), 1.0)
    return made
