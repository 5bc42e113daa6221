"""A planar arm of two joints whose friction is given, and logs of it with noise: for tests of records, comparisons, folds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import dalembert as da


def planar(viscous: float = 2.0, coulomb: float = 4.0, **other: Any) -> da.Arm:
    """The arm; the friction of its second joint is given."""
    arm = da.load("planar-2r")
    frictions = (da.Friction(3.0, 5.0), da.Friction(viscous, coulomb, **other))
    moving = iter(frictions)
    joints = tuple(
        replace(j, friction=next(moving), rotor=j.rotor and replace(j.rotor, viscous=0.0, coulomb=(0.0, 0.0)))
        if j.moves
        else j
        for j in arm.robot.joints
    )
    return arm.replace(joints=joints)


def simulated(arm: da.Arm, seed: int = 0, noise: float = 0.5, seconds: float = 20.0) -> dict[str, Any]:
    """A log of a periodic motion with white noise in the torques; the seed gives both."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, seconds, 0.01)
    q, qd, qdd = da.fourier(0.4 * rng.standard_normal((2, arm.n, 4)), 0.2, duration=seconds)(t)
    tau = np.asarray(arm.inverse_dynamics(q, qd, qdd)) + noise * rng.standard_normal((len(t), arm.n))
    return {"t": t, "q": q, "qd": qd, "tau": tau}
