"""A joint motion: positions, velocities and accelerations at every instant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.arm import Arm
    from dalembert.trajectory.limits import LimitsLike
    from dalembert.trajectory.scaling import ScalingReport
    from dalembert.trajectory.time_optimal import TimeOptimalReport

Array = NDArray[np.floating[Any]]
Evaluate = Callable[[Array], tuple[Array, Array, Array]]

SAMPLES = 501  # how many instants .t has unless the motion came with its own


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A joint motion from 0 to ``duration`` (s), known at every instant.

    ``motion(t)`` gives (q, qd, qdd), each of shape (*t.shape, n); ``.t .q .qd .qdd`` are the same at
    sample instants. ``knots`` are the instants at which an acceleration may jump; there the value
    is that of the piece which begins (of the piece which ends, at the last). Make one with
    :func:`dalembert.trapezoidal` and its neighbours, or :func:`dalembert.read_trajectory`.
    ``scaling`` says what :meth:`scaled` or :meth:`time_optimal` did, for a motion that they made.
    """

    duration: float
    n: int
    evaluate: Evaluate = field(repr=False)
    knots: tuple[float, ...] = field(default=(), repr=False)
    sampled_at: Array | None = field(default=None, repr=False)
    scaling: ScalingReport | TimeOptimalReport | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.duration) and self.duration > 0):
            raise DalembertError(f"a motion must last some time; its duration is {self.duration:g} s")

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """(q, qd, qdd) at the instants ``t``, which must lie between 0 and the duration."""
        at = np.asarray(t, float)
        slack = 1e-9 * self.duration
        if at.size and not (at.min() >= -slack and at.max() <= self.duration + slack):
            raise DalembertError(
                f"the motion is known from 0 to {self.duration:g} s, not at t = "
                f"{at.min() if at.min() < -slack else at.max():g} s"
            )
        flat = np.clip(at.reshape(-1), 0.0, self.duration)
        q, qd, qdd = (np.asarray(x).reshape(*at.shape, self.n) for x in self.evaluate(flat))
        return q, qd, qdd

    @property
    def t(self) -> Array:
        """The sample instants: (N,), knots among them."""
        if self.sampled_at is not None:
            return self.sampled_at
        even = np.linspace(0.0, self.duration, SAMPLES)
        inner = [k for k in self.knots if 0 < k < self.duration]
        return np.unique(np.concatenate([even, inner]))

    @property
    def q(self) -> Array:
        """Positions at the sample instants: (N, n)."""
        return self(self.t)[0]

    @property
    def qd(self) -> Array:
        """Velocities at the sample instants: (N, n)."""
        return self(self.t)[1]

    @property
    def qdd(self) -> Array:
        """Accelerations at the sample instants: (N, n)."""
        return self(self.t)[2]

    def scaled(self, arm: Arm, limits: LimitsLike = None, *, allow_faster: bool = False) -> Trajectory:
        """The same path, slowed down evenly until no limit of ``arm`` is exceeded: S 7.7, r = ct.

        limits        the arm's own unless given: :class:`Limits` for each joint, or a dict such as
                      {"effort": [87, 87, 12], "velocity": 2.0}
        allow_faster  speed up, too, where the limits leave room
        Returns       the motion; its ``.scaling`` names the joint, the instant, c and both durations
        """
        from dalembert.trajectory.scaling import scaled

        return scaled(self, arm, limits, allow_faster)

    def time_optimal(self, arm: Arm, limits: LimitsLike = None, *, grid: int = 1000) -> Trajectory:
        """The same path from rest to rest in the least time that the limits of ``arm`` allow.

        limits   as for :meth:`scaled`: torque, velocity and acceleration, viscous and Coulomb friction counted
        grid     at least this many intervals along the path
        Returns  the motion; its ``.scaling`` has both durations, s, ṡ, s̈ and the active limit along the path
        """
        from dalembert.trajectory.time_optimal import time_optimal

        return time_optimal(self, arm, limits, grid)
