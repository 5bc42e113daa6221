"""The shapes of exciting motions: q = centre + Σ_k z_k shape_k(t), every shape at rest at both ends.

Both kinds are linear in the amplitudes z, so a search uses one matrix for positions, one for velocities and one for
accelerations, whatever the shapes are:

    count, highest, instants   the number of shapes, approximately their highest frequency (Hz), and the number of
                               equidistant samples that an optimiser needs
    at                         position, velocity and acceleration of every shape at a number of equidistant samples,
                               (count, shapes) each; if anchored, positions are relative to the start of the motion, not
                               to its centre
    coefficients               the coefficients of the motion with amplitudes z (n, shapes), and its offset (n,)
    trajectory                 the motion
"""

from __future__ import annotations

import numpy as np

from dalembert.base.arrays import Array
from dalembert.work.logs.scipy_package import scipy
from dalembert.work.trajectory.planning.profiles import SmoothCurve, fourier
from dalembert.work.trajectory.planning.trajectory import Trajectory

SAMPLES = 24  # samples per period of the highest frequency, for the optimiser
DEGREE = 5  # of splines: accelerations are smooth, jerks are continuous


class FourierShapes:
    """Finite Fourier series over whole periods: q̇ = 0 and q̈ = 0 at their ends are linear in the coefficients."""

    def __init__(self, frequency: float, harmonics: int, periods: int) -> None:
        self.f, self.L, self.periods = frequency, harmonics, periods
        l = np.arange(1, harmonics + 1)
        rest = np.zeros((2, 2 * harmonics))  # q̇(0) = Σ l ω a_l = 0 and q̈(0) = −Σ (l ω)² b_l = 0
        rest[0, :harmonics], rest[1, harmonics:] = l, l**2
        self.basis = np.linalg.svd(rest)[2][2:].T  # (2L, 2L − 2), orthonormal
        self.count, self.instants, self.highest = self.basis.shape[1], SAMPLES * harmonics, harmonics * frequency

    def at(self, count: int, anchored: bool) -> tuple[Array, Array, Array]:
        """The shapes over one period."""
        w = 2 * np.pi * self.f * np.arange(1, self.L + 1)
        angle = np.outer(np.arange(count) / (count * self.f), w)
        s, c = np.sin(angle), np.cos(angle)
        P, V, A = np.hstack([s, c]), np.hstack([c * w, -s * w]), np.hstack([-s * w**2, -c * w**2])
        if anchored:
            P = P - P[0]
        return P @ self.basis, V @ self.basis, A @ self.basis

    def coefficients(self, centre: Array, z: Array, anchored: bool) -> tuple[Array, Array]:
        """(2, n, L) amplitudes of sine and cosine, (n,) offset."""
        ab = z @ self.basis.T
        if anchored:
            centre = centre - ab[:, self.L :].sum(axis=1)
        return np.stack([ab[:, : self.L], ab[:, self.L :]]), centre

    def trajectory(self, coefficients: Array, offset: Array) -> Trajectory:
        """The motion over all periods."""
        return fourier(coefficients, self.f, offset, duration=self.periods / self.f)


class SplineShapes:
    """B-splines of degree 5 over uniform knots: with its first and last three control points at the centre, a motion
    starts and ends there at rest."""

    def __init__(self, duration: float, points: int) -> None:
        self.duration, self.count = duration, points
        inner = np.linspace(0.0, duration, points + 2 * (DEGREE // 2 + 1) - DEGREE + 1)
        self.knots = np.concatenate([np.zeros(DEGREE), inner, np.full(DEGREE, duration)])
        spans = len(inner) - 1
        self.instants, self.highest = SAMPLES * spans // 2, 0.5 * spans / duration

    def at(self, count: int, anchored: bool) -> tuple[Array, Array, Array]:
        """The shapes over the whole motion; they start at the centre."""
        ends = DEGREE // 2 + 1
        free = np.eye(self.count + 2 * ends)[:, ends:-ends]
        t = np.linspace(0.0, self.duration, count)
        spline = scipy.interpolate.BSpline(self.knots, free, DEGREE)
        return spline(t), spline.derivative(1)(t), spline.derivative(2)(t)

    def coefficients(self, centre: Array, z: Array, anchored: bool) -> tuple[Array, Array]:
        """(n, points + 6) control points relative to the offset, (n,) offset."""
        return np.pad(z, ((0, 0), (DEGREE // 2 + 1,) * 2)), centre

    def trajectory(self, coefficients: Array, offset: Array) -> Trajectory:
        """The motion, from rest to rest."""
        spline = scipy.interpolate.BSpline(self.knots, (coefficients + offset[:, None]).T, DEGREE)
        return Trajectory(self.duration, len(offset), SmoothCurve.of(spline))


Shapes = FourierShapes | SplineShapes
