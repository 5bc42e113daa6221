"""Units in which logs are written, and the factors that bring them to SI."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.logs.formats.raw import Array

TIME = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
CURRENT = {"A": 1.0, "mA": 1e-3}
# of revolute joints, and of prismatic ones
TURNING = {
    "q": {"rad": 1.0, "deg": math.pi / 180, "°": math.pi / 180, "mrad": 1e-3},
    "qd": {"rad/s": 1.0, "deg/s": math.pi / 180, "°/s": math.pi / 180, "mrad/s": 1e-3, "rpm": math.pi / 30},
    "qdd": {"rad/s²": 1.0, "deg/s²": math.pi / 180, "°/s²": math.pi / 180, "mrad/s²": 1e-3},
    "tau": {"N m": 1.0, "N mm": 1e-3, "mN m": 1e-3, "N cm": 1e-2, "kN m": 1e3},
}
SLIDING = {
    "q": {"m": 1.0, "mm": 1e-3},
    "qd": {"m/s": 1.0, "mm/s": 1e-3},
    "qdd": {"m/s²": 1.0, "mm/s²": 1e-3},
    "tau": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
}


def known(quantity: str, sliding: bool | None = None) -> dict[str, float]:
    """The units in which a quantity may be, and their factors; those of prismatic joints alone, or of revolute ones."""
    if quantity in ("t", "current"):
        return TIME if quantity == "t" else CURRENT
    if sliding is None:
        return TURNING[quantity] | SLIDING[quantity]
    return (SLIDING if sliding else TURNING)[quantity]


def plain(unit: str) -> str:
    """A unit without what people write differently: N·m, Nm, N*m, deg/sec, degrees, rad/s^2.

    >>> plain("N·m"), plain("degrees/sec^2"), plain("rad/s/s")
    ('nm', 'deg/s2', 'rad/s2')
    """
    word = unit.strip().replace("μ", "µ")
    for old, new in (("degrees", "deg"), ("degree", "deg"), ("radians", "rad"), ("/sec", "/s"), ("seconds", "s")):
        word = word.replace(old, new)
    word = "".join(c for c in word if c not in " ·*.⋅^").lower()
    return word.replace("²", "2").replace("/s/s", "/s2")


def understood(quantity: str, unit: str) -> str | None:
    """The unit as it is written here, or None."""
    return next((word for word in known(quantity) if plain(word) == plain(unit)), None)


def factors(source: str, quantity: str, units: Sequence[str], sliding: Sequence[bool | None]) -> Array:
    """What the columns of a quantity are to be multiplied with: (k,), from the unit of each and the kind of its joint.

    "deg mm" is two units, one for the joints that turn and one for those that slide: a word changes only the joints
    it can be about.
    """
    scale = np.ones(len(units))
    for k, (unit, slides) in enumerate(zip(units, sliding, strict=True)):
        words = [understood(quantity, word) for word in ([unit] if understood(quantity, unit) else unit.split())]
        if not words or None in words:
            raise DalembertError(f"{source}: {quantity} is in '{unit}'; known are {', '.join(known(quantity))}")
        for word in words:
            scale[k] *= known(quantity, slides).get(str(word), 1.0)
    return scale


def of_columns(source: str, quantity: str, units: Sequence[str | None], sliding: Sequence[bool | None]) -> Array:
    """The factors of columns whose header says a unit each; one that says none has that of the first which does."""
    usual = next((unit for unit in units if unit is not None), None)
    if usual is None:
        return np.ones(len(units))
    scale = factors(source, quantity, [unit or usual for unit in units], sliding)
    for k, (unit, slides) in enumerate(zip(units, sliding, strict=True)):
        word = None if unit is None else understood(quantity, unit)
        if word is not None and word not in known(quantity, slides):
            kind = "prismatic" if slides else "revolute"
            raise DalembertError(
                f"{source}: {quantity} of joint {k + 1} is in '{unit}', but the joint is {kind}; known are "
                f"{', '.join(known(quantity, slides))}"
            )
    return scale


def converted(source: str, name: str, units: Sequence[str | None]) -> str:
    """The note that a quantity was in these units."""
    return f"{source}: {name} was brought from {', '.join(dict.fromkeys(filter(None, units)))} to SI"


def sliding_joints(arm: Arm) -> list[bool]:
    """For each joint of an arm whether it is prismatic."""
    return [joint.type == "prismatic" for joint in arm.robot.moving_joints]
