"""Torques along a motion, including the payloads and tip wrenches of its events."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.variants import Variants
from dalembert.base.arrays import Array, double
from dalembert.errors import ShapeError
from dalembert.work.trajectory.planning.limits import holding_torque
from dalembert.work.trajectory.planning.trajectory import Trajectory


def carrying(arm: Arm, payload: Array | None) -> Arm | Variants:
    """The arm with an additional body at its tip for each state: payload (…, 10), or None."""
    return arm if payload is None or not payload.any() else arm.variants(payload=payload)


def together(first: ArrayLike | None, second: ArrayLike | None) -> Array | None:
    """Sum of two wrenches, either of which may be None."""
    parts = [double("tip_wrench", wrench) for wrench in (first, second) if wrench is not None]
    return sum(parts[1:], parts[0]) if parts else None


def loaded(
    motion: Trajectory, arm: Arm, t: Array, tip_wrench: ArrayLike | None = None
) -> tuple[Arm | Variants, Array | None]:
    """The arm with its load at the times t of the motion, and the wrench (…, 6) at its tip, including
    ``tip_wrench``."""
    payload, wrench = motion.loads.at(t)
    return carrying(arm, payload), together(wrench, tip_wrench)


def torques(motion: Trajectory, arm: Arm, t: ArrayLike | None, tip_wrench: ArrayLike | None) -> Array:
    """:meth:`Trajectory.torques`."""
    motion.fits(arm)
    at = motion.t if t is None else double("t", t)
    if tip_wrench is not None and np.shape(tip_wrench)[-1:] != (6,):
        raise ShapeError(f"tip_wrench has shape {np.shape(tip_wrench)}; the last axis must be 6, as in (…, 6)")
    model, wrench = loaded(motion, arm, at, tip_wrench)
    tau: Array = model.inverse_dynamics(*motion(at), wrench)
    return tau


def holding(arm: Arm, model: Arm | Variants, wrench: Array | None, q: Array) -> Array:
    """Torques that hold the loaded arm at rest: gravity, springs and offsets, and Jᵀ h_e."""
    at_rest = holding_torque(arm, q)
    if model is not arm:
        at_rest = at_rest - arm.gravity_torque(q) + model.gravity_torque(q)
    if wrench is None:
        return at_rest
    pushed: Array = at_rest + np.einsum("...ij,...i->...j", arm.jacobian(q), wrench)
    return pushed
