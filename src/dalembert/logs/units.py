"""Units used in logs, and their factors to SI."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.logs.formats.raw import Array
from dalembert.robot import units as si
from dalembert.robot.tables import nearest

TIME = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
CURRENT = {"A": 1.0, "mA": 1e-3}
TEMPERATURE = {"degC": 0.0, "°C": 0.0, "C": 0.0, "celsius": 0.0, "K": -273.15, "kelvin": -273.15}  # added to give °C
# for revolute joints, and for prismatic ones
TURNING = {"q": si.ANGLE, "qd": si.TURNING_SPEED, "qdd": si.TURNING_ACCELERATION, "tau": si.TORQUE}
SLIDING = {"q": si.LENGTH, "qd": si.SPEED, "qdd": si.ACCELERATION, "tau": si.FORCE}


def known(quantity: str, sliding: bool | None = None) -> dict[str, float]:
    """{unit: factor} for the units that a quantity may have; for prismatic or for revolute joints, or for both."""
    if quantity in ("t", "current", "temperature"):
        return {"t": TIME, "current": CURRENT, "temperature": dict.fromkeys(TEMPERATURE, 1.0)}[quantity]
    if sliding is None:
        return TURNING[quantity] | SLIDING[quantity]
    return (SLIDING if sliding else TURNING)[quantity]


def understood(quantity: str, unit: str) -> str | None:
    """The unit in the spelling used here, or None."""
    return si.unit_among(known(quantity), unit)


def factors(source: str, quantity: str, units: Sequence[str], sliding: Sequence[bool | None]) -> Array:
    """The factors of the columns of a quantity: (k,), from the unit of each and the type of its joint.

    "deg mm" are two units, one for revolute and one for prismatic joints: each applies only to the joints for which
    it is possible.
    """
    scale = np.ones(len(units))
    for k, (unit, slides) in enumerate(zip(units, sliding, strict=True)):
        words = [understood(quantity, word) for word in ([unit] if understood(quantity, unit) else unit.split())]
        if not words or None in words:
            raise DalembertError(
                f"{source}: {quantity} is in '{unit}'; known units are {', '.join(known(quantity))}{nearest(unit, list(known(quantity)))}"
            )
        for word in words:
            scale[k] *= known(quantity, slides).get(str(word), 1.0)
    return scale


def celsius(source: str, units: Sequence[str | None]) -> Array:
    """Offsets from temperatures in these units (k,) to °C; a column without a unit takes the first that is given."""
    usual = next((unit for unit in units if unit is not None), "degC")
    words = [(unit or usual, understood("temperature", unit or usual)) for unit in units]
    unknown = [unit for unit, word in words if word is None]
    if unknown:
        raise DalembertError(f"{source}: temperature is in '{unknown[0]}'; known units are {', '.join(TEMPERATURE)}")
    return np.array([TEMPERATURE[str(word)] for _, word in words])


def of_columns(source: str, quantity: str, units: Sequence[str | None], sliding: Sequence[bool | None]) -> Array:
    """The factors of columns with units in their headers; a column without a unit takes the first that is given."""
    usual = next((unit for unit in units if unit is not None), None)
    if usual is None:
        return np.ones(len(units))
    scale = factors(source, quantity, [unit or usual for unit in units], sliding)
    for k, (unit, slides) in enumerate(zip(units, sliding, strict=True)):
        word = None if unit is None else understood(quantity, unit)
        if word is not None and word not in known(quantity, slides):
            kind = "prismatic" if slides else "revolute"
            raise DalembertError(
                f"{source}: {quantity} of joint {k + 1} is in '{unit}', but the joint is {kind}; known units are "
                f"{', '.join(known(quantity, slides))}"
            )
    return scale


def converted(source: str, name: str, units: Sequence[str | None]) -> str:
    """The note that a quantity was converted from these units."""
    return f"{source}: {name} was converted from {', '.join(dict.fromkeys(filter(None, units)))} to SI"


def sliding_joints(arm: Arm) -> list[bool]:
    """Whether each joint of an arm is prismatic."""
    return [joint.type == "prismatic" for joint in arm.robot.moving_joints]
