"""Controllers: a law of ``motion/control.py``, its gains and the motion it is to follow.

They are traced together with the dynamics, so that a closed loop runs as one compiled loop too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arrays import double
from dalembert.errors import ShapeError
from dalembert.motion.stepping import smooth
from dalembert.quantities import machine
from dalembert.quantities.rollouts import ROLLOUTS
from dalembert.trajectory.breaks import breaks_of_motion

if TYPE_CHECKING:
    from dalembert.arm import Arm

Array = NDArray[np.float64]


class Controller:
    """A law with gains kp, kd ((…, n) or one number) and a reference: a pose (…, n) or a motion.

    A motion is a :class:`dalembert.Trajectory` or any function t (N,) → q, qd, qdd (N, n) each. After
    its ``duration``, if it has one, the last pose is held. Steps are cut at that instant and at the motion's
    ``knots``, if it has any.
    """

    law = ""
    what = ""

    def __init__(self, kp: ArrayLike, kd: ArrayLike, reference: Any) -> None:
        self.kp, self.kd = double("kp", kp), double("kd", kd)
        for name, gain in (("kp", self.kp), ("kd", self.kd)):
            if not np.all(np.isfinite(gain)) or np.any(gain < 0):
                raise ShapeError(f"{type(self).__name__}: {name} must be finite and not negative")
        self.motion: Callable[[Array], tuple[Array, Array, Array]] | None = None
        self.pose: Array | None = None
        if callable(reference):
            self.motion = reference
        else:
            self.pose = double(f"the {self.what}", reference)

    def gains(self, n: int) -> tuple[Array, Array]:
        """kp and kd for n joints."""
        for name, gain in (("kp", self.kp), ("kd", self.kd)):
            if gain.ndim and gain.shape[-1] != n:
                raise ShapeError(f"{type(self).__name__}: {name} has shape {gain.shape}; the last axis must be {n}")
        kp, kd = (gain if gain.ndim else np.broadcast_to(gain, (n,)) for gain in (self.kp, self.kd))
        return kp, kd

    def reference(self, t: Array, n: int) -> Array:
        """[q, qd, qdd] of the reference at the instants t: (…, N, 3n)."""
        if self.pose is not None:
            if self.pose.ndim == 0 or self.pose.shape[-1] != n:
                raise ShapeError(
                    f"{type(self).__name__}: the {self.what} has shape {self.pose.shape}; the last axis must be {n}"
                )
            still = np.concatenate([self.pose, np.zeros((*self.pose.shape[:-1], 2 * n))], axis=-1)
            return np.broadcast_to(still[..., None, :], (*still.shape[:-1], len(t), 3 * n))
        assert self.motion is not None
        end = float(getattr(self.motion, "duration", np.inf))
        parts = [np.asarray(x, float) for x in self.motion(np.minimum(t, end))]
        if len(parts) != 3 or any(x.shape != (len(t), n) for x in parts):
            shapes = ", ".join(str(x.shape) for x in parts)
            raise ShapeError(
                f"{type(self).__name__}: the motion gives {shapes} for {len(t)} instants; "
                f"it must give q, qd and qdd of shape ({len(t)}, {n})"
            )
        over = (t > end)[:, None]
        return np.concatenate([parts[0], np.where(over, 0.0, parts[1]), np.where(over, 0.0, parts[2])], axis=-1)

    @property
    def breaks(self) -> Array:
        """Where the reference is not smooth: its knots, and its end."""
        return breaks_of_motion(self.motion)

    def torque(self, arm: Arm, t: ArrayLike, q: ArrayLike, qd: ArrayLike) -> Array:
        """The torque at the instants t (N,) in the states q, qd (…, N, n): the compiled law.

        >>> import dalembert as da
        >>> arm = da.load("planar-2r")
        >>> PD(100.0, 20.0, [0.0, 0.0]).torque(arm, 0.0, [0.1, 0.0], [0.0, 0.0]).shape
        (2,)
        """
        at = double("t", t)
        reference = self.reference(at.reshape(-1), arm.n)
        reference = reference.reshape(*reference.shape[:-2], *at.shape, 3 * arm.n)
        kp, kd = self.gains(arm.n)
        if at.ndim:
            kp, kd = kp[..., None, :], kd[..., None, :]
        return self.kernel(arm)(arm.placed(q), arm.checked("qd", qd), reference, kp, kd)

    def kernel(self, arm: Arm, *, friction: bool = True) -> np.ufunc:
        """The compiled law: τ of (q as the equations take it, q̇, reference, kp, kd); friction that is left out of the
        arm is not compensated either."""
        mechanism = arm.mechanism if friction else smooth(arm.mechanism, viscous=False)
        return machine.kernel(mechanism, ROLLOUTS[self.law])


class PD(Controller):
    """PD with gravity compensation: τ = g(q) + K_p (q_d − q) + K_d (q̇_d − q̇), g with springs and offsets.

    target  a pose (…, n) to go to and hold, or a motion to follow

    >>> import dalembert as da
    >>> run = da.simulate(da.load("planar-2r"), [0.2, 0.4], None, PD(20000.0, 4000.0, [0.5, 0.0]), 3.0)
    >>> run.q[-1].round(3) + 0.0
    array([0.5, 0. ])
    """

    law, what = "pd", "target"

    def __init__(self, kp: ArrayLike, kd: ArrayLike, target: Any) -> None:
        super().__init__(kp, kd, target)


class ComputedTorque(Controller):
    """Inverse dynamics (computed torque): τ = B(q) y + τ′(q, q̇), y = q̈_d + K_d (q̇_d − q̇) + K_p (q_d − q).

    Every joint then follows ë + K_d ė + K_p e = 0. Friction is compensated as it is; its static levels, Coulomb friction
    among them, and what depends on the load for the direction of the reference.

    trajectory  a motion to follow, or a pose (…, n)

    >>> import dalembert as da
    >>> motion = da.polynomial([0.2, 0.4], [0.5, 0.0], duration=1.0)
    >>> run = da.simulate(da.load("planar-2r"), [0.2, 0.4], None, ComputedTorque(100.0, 20.0, motion), 1.0)
    >>> run.q[-1].round(6) + 0.0
    array([0.5, 0. ])
    """

    law, what = "computed", "trajectory"

    def __init__(self, kp: ArrayLike, kd: ArrayLike, trajectory: Any) -> None:
        super().__init__(kp, kd, trajectory)
