"""Periodic motions: finite Fourier series, as used to excite an arm for identification."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.base.per_joint import per_joint
from dalembert.errors import ShapeError
from dalembert.work.trajectory.planning.motion_checks import finite, positive
from dalembert.work.trajectory.planning.trajectory import Trajectory


@record
class Series:
    """q = q_0 + Σ_l a_l sin(l ω t) + b_l cos(l ω t); offset (n,), sine and cosine (n, L), omega in rad/s."""

    offset: Array
    sine: Array
    cosine: Array
    omega: float

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        w = self.omega * np.arange(1, self.sine.shape[1] + 1)  # (L,)
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))  # (N, L)
        a, b = self.sine.T, self.cosine.T  # (L, n)
        return self.offset + s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b


def fourier(
    coefficients: ArrayLike,
    base_frequency: float,
    offset: ArrayLike = 0.0,
    *,
    duration: float | None = None,
) -> Trajectory:
    """A motion along a finite Fourier series, q = offset + Σ_l a_l sin(2π l f t) + b_l cos(2π l f t), l = 1 … L.

    coefficients    (2, n, L): amplitudes a, then b, of each joint (rad or m)
    base_frequency  f (Hz)
    offset          (n,) mean position (rad or m)
    duration        in s; defaults to one period, 1/f

    >>> import numpy as np
    >>> motion = fourier(np.array([[[1.0, 0.0]], [[0.0, 0.5]]]), base_frequency=0.1)
    >>> motion.duration, motion(0.0)[0]
    (10.0, array([0.5]))
    """
    ab = finite("coefficients", coefficients)
    if ab.ndim != 3 or len(ab) != 2 or 0 in ab.shape:
        raise ShapeError(
            f"coefficients has shape {ab.shape}; it must be (2, n, L): sine and cosine amplitudes of n joints, L harmonics"
        )
    (f,) = positive("base_frequency", base_frequency, 1)
    (T,) = (1 / f,) if duration is None else positive("duration", duration, 1)
    n = ab.shape[1]
    series = Series(per_joint("offset", offset, n), ab[0], ab[1], float(2 * np.pi * f))
    return Trajectory(float(T), n, series)
