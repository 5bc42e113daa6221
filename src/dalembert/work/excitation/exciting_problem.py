"""The criteria of an exciting motion, and their gradients.

The objective is a function of A = Ȳ_bᵀȲ_b / N, where Ȳ_b holds the columns of the base parameters at N samples:

    condition          cond Ȳ_b = √(λ_max/λ_min) in SI units without scaling, as Gaz et al. define it. The optimiser
                       uses (log tr Aᵖ + log tr A⁻ᵖ)/2p instead, which is smooth and tends to log cond
    scaled-condition   the same with every column scaled to length one
    d-optimal          −log det A, the volume of the parameters' error ellipsoid; scaling the columns or choosing
                       other base parameters changes it by a constant only
    l-optimal          log tr C A⁻¹ Cᵀ, where A is the information of an earlier fit and of the motion together: the
                       variance of the quantities in a goal (:mod:`exciting_goals`)

Gradients are exact: ∂A enters as a matrix of weights G on Ȳ_b, and one compiled kernel computes
∂(Σ G∘Y)/∂(q, q̇, q̈) by reverse mode; terms of friction, springs and shared drives have their own (:mod:`exciting_columns`).
Only sgn q̇ is smoothed, and only for the optimiser.

The motions are q = centre + Σ_k z_k shape_k(t), every shape at rest at both ends, for a finite Fourier series or a
spline. Both are linear in the amplitudes z, so a search uses one matrix for positions, one for velocities and one for
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

import contextlib
from collections.abc import Sequence

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.compiler.quantities.derived import gradient
from dalembert.compiler.quantities.gradients import GRADIENTS
from dalembert.compiler.quantities.machine import kernel
from dalembert.errors import ClosureError
from dalembert.work.excitation.exciting_columns import ColumnLaw, TermColumns, traced
from dalembert.work.excitation.exciting_goals import Aim
from dalembert.work.excitation.exciting_limits import Limited
from dalembert.work.excitation.exciting_options import CRITERIA
from dalembert.work.identification.fitting.base_parameters import BaseParameters
from dalembert.work.identification.fitting.evidence import column_lengths
from dalembert.work.logs.scipy_package import scipy
from dalembert.work.trajectory.planning.profiles import SmoothCurve, fourier
from dalembert.work.trajectory.planning.trajectory import Trajectory

FINE = 4  # times as many samples, for checking the result of the optimiser
ROUNDS = 60  # steps of shrinking by 0.1 %, followed by as many steps of 20 %
SMOOTH = 0.02  # of the largest speed: below this sgn q̇ is smoothed
FLAT = 1e-18  # of the largest eigenvalue: lower bound of the eigenvalues
UNKNOWN = 1e-15  # the same for the information, which is inverted
UNEVEN = 100.0  # ratio of column lengths above which columns are scaled before computing eigenvalues
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
    """B-splines of degree 5 over uniform knots; with three control points at the centre, a motion rests at either end."""

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


class ExcitationProblem:
    """Coefficients x (n, 1 + shapes) → motion → criterion and limits, with exact gradients.

    x[:, 0] is the centre of a joint and the others are the amplitudes of the shapes, all in units of half the joint's
    range.
    """

    def __init__(
        self,
        arm: Arm,
        base: BaseParameters,
        limits: Limited,
        shapes: Shapes,
        criterion: str,
        weights: Array,
        aim: Aim | None = None,
    ) -> None:
        self.arm, self.base, self.limits = arm, base, limits
        self.shapes, self.criterion, self.weights, self.aim = shapes, criterion, weights, aim
        self.load = None if aim is None else aim.load
        self.wanted = None if aim is None else aim.wanted
        # the weight of the mean over all samples: the seconds of the motion that a fit keeps, or one
        self.seconds = 1.0 if aim is None else aim.seconds
        self.width = base.rank + (0 if self.load is None else len(self.load.names))
        self.anchored, self.home = limits.anchored, (limits.home - limits.middle) / limits.half
        self.few = shapes.at(shapes.instants, self.anchored)
        self.many = shapes.at(FINE * shapes.instants, self.anchored)
        columns = [base.parameters.members[c] for c in base.independent]
        own = [not traced(column) for column in columns]
        self.at = np.flatnonzero(~np.array(own, bool))
        sources = tuple(columns[k].source for k in self.at)
        self.columns = kernel(self.arm.mechanism, GRADIENTS["regressor"].of(sources))
        self.columns_slope = kernel(self.arm.mechanism, gradient(GRADIENTS["regressor"].of(sources)))
        members = [(k, column) for k, column in enumerate(columns) if own[k]]
        self.terms = TermColumns(base.parameters, members, self.slow)
        self.size = (arm.n, (0 if self.anchored else 1) + shapes.count)

    def _amplitudes(self, x: Array) -> tuple[Array, Array]:
        """(centre or start (n,), amplitudes (n, shapes)), in rad."""
        half = self.limits.half[:, None]
        if self.anchored:
            return self.limits.home, half * x
        return self.limits.middle + self.limits.half * x[:, 0], half * x[:, 1:]

    def motion(self, x: Array, shapes: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """q, q̇, q̈ at the samples of ``shapes``."""
        centre, z = self._amplitudes(x)
        P, V, A = shapes
        return centre + P @ z.T, V @ z.T, A @ z.T

    def back(self, dq: Array, dqd: Array, dqdd: Array) -> Array:
        """∂/∂x from ∂/∂(q, q̇, q̈) at the coarse samples: the transpose of :meth:`motion`."""
        P, V, A = self.few
        half = self.limits.half[:, None]
        dz = half * (dq.T @ P + dqd.T @ V + dqdd.T @ A)
        return dz if self.anchored else np.hstack([half * dq.sum(axis=0)[:, None], dz])

    def written(self, x: Array) -> tuple[Array, Array]:
        """Coefficients and offset from which the shapes make a trajectory."""
        return self.shapes.coefficients(*self._amplitudes(x), self.anchored)

    def shrunk(self, x: Array, s: float) -> Array:
        """The motion shrunk by a fraction towards the posture that satisfies all limits."""
        y = s * x
        if not self.anchored:
            y[:, 0] = self.home + s * (x[:, 0] - self.home)
        return y

    def within_limits(self, x: Array) -> Array:
        """The same motion, shrunk towards home just as much as the limits require."""

        def allowed(s: float) -> bool:
            try:
                return bool(self.limits.worst(*self.motion(self.shrunk(x, s), self.many), between=True).max() <= -1e-6)
            except ClosureError:
                return False

        if not allowed(1.0):
            low, high = 0.0, 1.0
            for _ in range(30):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if allowed(middle) else (low, middle)
            x = self.shrunk(x, low)
        for k in range(2 * ROUNDS):  # covers the motion between samples, and planes that a smaller motion may approach
            clear = not self.limits.planes or self.limits.planes.excess(self.motion(x, self.many)[0], True).max() <= 0
            if clear and not self.shapes.trajectory(*self.written(x)).limits_report(self.arm, torque=True):
                break
            x = self.shrunk(x, 1 - 1e-3 if k < ROUNDS else 0.8)
        return x

    # -- the criterion -------------------------------------------------------------------------------

    def regressor(self, q: Array, qd: Array, qdd: Array, laws: Sequence[ColumnLaw]) -> Array:
        """Ȳ_b weighted, and the columns of a load: (N, n, width); ``laws`` are the columns of the terms, smooth or not."""
        Y = np.zeros((len(q), self.arm.n, self.width))
        Y[:, :, self.at] = self.columns(self.arm.placed(q), qd, qdd)
        for law in laws:
            Y[:, :, law.column] = law.row * law.f[:, None]
        if self.load is not None:
            Y[:, :, self.base.rank :] = self.load.columns(q, qd, qdd)
        return Y * self.weights[:, None]

    @cached_property
    def slow(self) -> Array:
        """The speeds below which sgn is smoothed, including those of passive joints."""
        fastest = np.minimum(self.limits.velocity, 2 * np.pi * self.shapes.highest * self.limits.half)
        fastest = self.limits.follows @ fastest
        return np.asarray(SMOOTH * fastest, dtype=np.float64)

    def objective(self, x: Array, p: float) -> tuple[float, Array, tuple[Array, Array, Array]]:
        """(criterion, ∂/∂x, the motion), with smoothed sgn."""
        state = self.motion(x, self.few)
        q, qd, qdd = state
        laws = self.terms.laws(q, qd, qdd, smooth=True)
        Y = self.regressor(q, qd, qdd, laws)
        flat = Y.reshape(-1, self.width)
        value, dA = criterion_gradient(self.information(flat), self.criterion, p, self.wanted)
        G = (flat @ (2.0 * self.seconds / len(q) * dA)).reshape(Y.shape) * self.weights[:, None]
        parts = [self.columns_slope(self.arm.placed(q), qd, qdd, np.ascontiguousarray(G[:, :, self.at]))]
        parts.append(self.terms.slopes(q, qd, laws, G))
        if self.load is not None:
            parts.append(self.load.slopes(q, qd, qdd, G[:, :, self.base.rank :]))
        return value, self.back(*(sum(slopes) for slopes in zip(*parts, strict=True))), state

    def information(self, flat: Array) -> Array:
        """A of weighted equations (N n, width) at N equidistant samples, plus the prior information."""
        A = self.gained(flat)
        return A if self.aim is None else self.aim.prior + A

    def gained(self, flat: Array) -> Array:
        """The information of weighted equations alone: (width, width)."""
        return np.asarray(self.seconds * self.arm.n / len(flat) * flat.T @ flat)

    def along(self, x: Array) -> Array:
        """The weighted equations (N n, width) along the motion, with exact sgn."""
        state = self.motion(x, self.many)
        return self.regressor(*state, self.terms.laws(*state, smooth=False)).reshape(-1, self.width)

    def measured(self, x: Array) -> tuple[float, float, float]:
        """(condition, condition with scaled columns, log det) of the base columns along the motion, with exact sgn."""
        flat = self.along(x)[:, : self.base.rank]
        s = np.linalg.svd(flat / np.sqrt(len(flat) / self.arm.n), compute_uv=False)
        condition = float(s[0] / s[-1]) if s[-1] > 0 else float("inf")
        scaled = float(np.linalg.cond(flat / column_lengths(flat)))
        return condition, scaled, float(2.0 * np.log(np.maximum(s, 1e-300)).sum())

    def score(self, x: Array) -> float:
        """The score for comparing motions: smaller is better."""
        if self.aim is None:
            return self.shown(self.measured(x)[CRITERIA.index(self.criterion)])
        value, _ = criterion_gradient(self.information(self.along(x)), self.criterion, 1.0, self.wanted)
        return float(np.exp(0.5 * value)) if self.criterion == "l-optimal" else value

    def shown(self, score: float) -> float:
        """The score in its usual form (condition number, log det), and the inverse conversion."""
        return -score if self.criterion == "d-optimal" else score

    # -- limits as a penalty -------------------------------------------------------------------------

    def penalty(
        self, state: tuple[Array, Array, Array], multipliers: dict[str, Array], rho: float
    ) -> tuple[float, Array, dict[str, Array]]:
        """Augmented Lagrangian of the limits: (Σ max(0, λ + ρg)² − λ²)/2ρN, its ∂/∂x, and the new λ."""
        N, limits = len(state[0]), self.limits
        total = 0.0
        slopes = {kind: np.zeros_like(state[0]) for kind in ("q", "qd", "qdd")}
        renewed: dict[str, Array] = {}
        for kind, value, scale in limits.parts(*state):
            if kind == "plane":
                g = [np.where(limits.planes.counted, (scale - value) / limits.planes.size, -1.0)]
            else:
                g = [value / scale - 1.0, -value / scale - 1.0]
            w = np.zeros_like(value)
            for side, excess in enumerate(g):
                name = f"{kind}{side}"
                before = multipliers.get(name, 0.0)
                push = np.maximum(0.0, before + rho * excess)
                total += float(np.sum(push**2 - np.square(before))) / (2 * rho * N)
                renewed[name] = push
                w += (1 - 2 * side) * push / N
            if kind == "plane":
                slopes["q"] += limits.planes.slope(state[0], -w / limits.planes.size)
            elif kind == "tau":
                pulled = limits.torque_slope(self.arm.placed(state[0]), *state[1:], w / scale)
                for name, d in zip(("q", "qd", "qdd"), pulled, strict=True):
                    slopes[name] += d
            else:
                slopes[kind] += w / scale
        return total, self.back(*slopes.values()), renewed


def criterion_gradient(A: Array, criterion: str, p: float, wanted: Array | None = None) -> tuple[float, Array]:
    """(value, ∂value/∂A) of the smooth criterion; A is symmetric and positive semidefinite.

    wanted  CᵀC of "l-optimal", whose value is log tr(C A⁻¹ Cᵀ)
    """
    d = np.sqrt(np.maximum(np.diag(A), 1e-300))
    size = np.outer(d, d)  # A / size has columns of length one, for accuracy
    if criterion == "l-optimal":
        assert wanted is not None
        lam, V = np.linalg.eigh(A / size)  # undetermined directions get a large but finite variance
        inverse = (V / np.maximum(lam, UNKNOWN * lam[-1])) @ V.T / size
        spread = inverse @ wanted @ inverse
        total = max(float(np.sum(inverse * wanted)), 1e-300)
        return float(np.log(total)), -spread / total
    if criterion == "scaled-condition":
        unit = A / size
        value, M = criterion_gradient(unit, "condition", p)
        dA = M / size
        dA[np.diag_indices_from(dA)] -= np.sum(M * unit, axis=1) / d**2
        return value, dA
    if criterion == "d-optimal":  # the lengths of the columns are added back as a constant
        lam, V = np.linalg.eigh(A / size)
        lam = np.maximum(lam, FLAT * lam[-1])
        return float(-np.log(lam).sum() - 2.0 * np.log(d).sum()), -((V / lam) @ V.T) / size
    lam, V = eigen(A)
    lam = np.maximum(lam, FLAT * lam[-1])
    logs = np.log(lam)
    up, down = np.exp(p * (logs - logs[-1])), np.exp(-p * (logs - logs[0]))
    value = 0.5 * (logs[-1] - logs[0] + (np.log(up.sum()) + np.log(down.sum())) / p)
    slope = 0.5 * (up / up.sum() - down / down.sum()) / lam
    return float(value), (V * slope) @ V.T


def eigen(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of A = Ȳᵀ Ȳ.

    If the columns differ much in length, the small ones would be lost in the rounding errors of the large ones; the
    singular values of a triangle R with RᵀR = A, made from columns of length one, are then used.
    """
    d = np.sqrt(np.maximum(np.diag(A), 1e-300))
    if d.max() > UNEVEN * d.min():
        with contextlib.suppress(np.linalg.LinAlgError):
            _, s, Vt = np.linalg.svd(np.linalg.cholesky(A / np.outer(d, d)).T * d)
            return s[::-1] ** 2, Vt[::-1].T
    lam, V = np.linalg.eigh(A)
    return lam, V
