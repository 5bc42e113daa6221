"""A position servo as drives have it: feedback of position and velocity without a model of the arm, and a limited torque."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array, double
from dalembert.compiler.foreign.libraries import tracked
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.simulation.controllers import Controller

FIT = "fit"  # a number that :func:`dalembert.identify` is to find
LIMITLESS = 1e30  # N m and rad/s that no drive reaches; unlike infinity, their product with zero is zero


class Servo(Controller):
    """Position servo of a drive: τ = K_p (q_d − q) − K_d q̇, within the drive's torque; nothing compensates gravity.

    kp, kd    (…, n) or one number each (N m/rad, N m s/rad); None where :func:`dalembert.identify` is to find them
    target    a pose (…, n) or a motion; None for the commands of a log in :func:`dalembert.identify`
    velocity  whether K_d acts on q̇_d − q̇, with the velocity of the motion, instead of −q̇
    effort    τ_max (N m), the largest torque of each drive; by default not limited; "fit" where identify is to find it
    speed     ω_0 (rad/s): a drive that drives delivers at most τ_max (1 − |q̇|/ω_0), which falls to zero at this speed;
              "fit" where identify is to find it

    The position servos of small arms, and PD targets of reinforcement learning, work like this. A cascade of a position
    controller k_p and a velocity controller k_v has K_p = k_v k_p and K_d = k_v, times the torque per unit of its output.

    >>> import dalembert as da
    >>> run = da.simulate(da.load("pendulum"), [0.0], None, da.Servo(50.0, 5.0, [0.4]), 5.0)
    >>> sag = float(da.load("pendulum").gravity_torque(run.q[-1])[0]) / 50.0
    >>> bool(abs(run.q[-1, 0] + sag - 0.4) < 1e-3)
    True
    """

    law, what = "servo", "target"
    words = constants = ("kp", "kd", "effort", "speed")

    def __init__(
        self,
        kp: ArrayLike | None = None,
        kd: ArrayLike | None = None,
        target: Any = None,
        *,
        velocity: bool = False,
        effort: ArrayLike | str | None = None,
        speed: ArrayLike | str | None = None,
    ) -> None:
        given: dict[str, Any] = {"kp": kp, "kd": kd, "effort": effort, "speed": speed}
        self.unknown = tuple(
            name
            for name, x in given.items()
            if (x is None and name in ("kp", "kd")) or (isinstance(x, str) and x == FIT)
        )
        self.commanded = target is None
        kp, kd, effort, speed = (
            default if x is None or name in self.unknown else x
            for (name, x), default in zip(given.items(), (0.0, 0.0, LIMITLESS, LIMITLESS), strict=True)
        )
        super().__init__(kp, kd, np.zeros(1) if target is None else target)
        self.velocity = velocity
        self.effort, self.speed = self._positive("effort", effort), self._positive("speed", speed)

    @staticmethod
    def _positive(name: str, value: Any) -> Any:
        if tracked(value):
            return value
        limits = np.minimum(double(name, value), LIMITLESS)
        if not np.all(limits > 0):
            raise ShapeError(f"Servo: {name} is {value!r}; it must be positive")
        return np.asarray(limits, float)

    def check_model(self, arm: Arm) -> None:
        """Raise an error if a gain or the target is to come from a log."""
        missing = [*self.unknown, *(["target"] if self.commanded else [])]
        if missing:
            raise DalembertError(
                f"Servo: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not given, which only da.identify accepts; "
                "give a number or one per joint, and a pose or a motion as target"
            )

    def reference(self, t: Array, arm: Arm, *, friction: bool = True) -> Array:
        """[q, qd, 0] of the motion at the times t, qd only if it is fed forward: (…, N, 3n)."""
        q, qd, qdd = self.followed(t, arm.n)
        return np.concatenate([q, qd if self.velocity else np.zeros_like(qd), np.zeros_like(qdd)], axis=-1)
