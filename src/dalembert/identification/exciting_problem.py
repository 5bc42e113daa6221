"""What an exciting motion is judged by, and how that changes with the motion.

What is minimised is a function of A = Ȳ_bᵀȲ_b / N, where Ȳ_b holds the columns of the base parameters at N instants:

    condition          cond Ȳ_b = √(λ_max/λ_min) as it stands, in SI units, as Gaz et al. count it. In its place
                       the optimiser sees (log tr Aᵖ + log tr A⁻ᵖ)/2p, which is smooth and tends to log cond
    scaled-condition   the same with every column scaled to length one
    d-optimal          −log det A, the volume of the parameters' error ellipsoid; no scaling of columns and no
                       choice of base parameters changes it but for a constant

Gradients are exact: ∂A enters as a matrix of weights G on Ȳ_b, and one compiled kernel gives
∂(Σ G∘Y)/∂(q, q̇, q̈) by reverse mode. Only sgn q̇ of Coulomb friction is smoothed, for the optimiser alone.
"""

from __future__ import annotations

import contextlib
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.errors import ClosureError
from dalembert.identification.accumulate import column_lengths
from dalembert.identification.base import BaseParameters
from dalembert.identification.exciting_limits import Limited
from dalembert.identification.exciting_shapes import Shapes
from dalembert.quantities.derived import gradient
from dalembert.quantities.gradients import GRADIENTS
from dalembert.quantities.machine import kernel

Array = NDArray[np.floating[Any]]

CRITERIA = ("condition", "scaled-condition", "d-optimal")
FINE = 4  # times as many instants, to check what the optimiser found
SMOOTH = 0.02  # of the largest speed: below this sgn q̇ is smoothed
FLAT = 1e-18  # of the largest eigenvalue: what is smaller counts as this
UNEVEN = 100.0  # columns that differ more in length are scaled before eigenvalues are taken


class ExcitationProblem:
    """Coefficients x (n, 1 + shapes) → motion → criterion and limits, with exact gradients.

    x[:, 0] is a joint's centre and the others the amplitudes of the shapes, all in halves of the joint's range.
    """

    def __init__(
        self, arm: Arm, base: BaseParameters, limits: Limited, shapes: Shapes, criterion: str, weights: Array
    ) -> None:
        self.arm, self.base, self.limits = arm, base, limits
        self.shapes, self.criterion, self.weights = shapes, criterion, weights
        self.anchored, self.home = limits.anchored, (limits.home - limits.middle) / limits.half
        self.few = shapes.at(shapes.instants, self.anchored)
        self.many = shapes.at(FINE * shapes.instants, self.anchored)
        columns = [base.parameters.members[c] for c in base.independent]
        self.at = np.flatnonzero([column.kind != "Fs" and column.source >= 0 for column in columns])
        traced = tuple(columns[k].source for k in self.at)
        self.columns = kernel(arm.mechanism, GRADIENTS["regressor"].of(traced))
        self.columns_slope = kernel(arm.mechanism, gradient(GRADIENTS["regressor"].of(traced)))
        self.coulomb = [(k, column.joint) for k, column in enumerate(columns) if column.kind == "Fs"]
        moved = base.parameters.actuated
        self.constant = [(k, moved.index(column.joint)) for k, column in enumerate(columns) if column.source < 0]
        self.size = (arm.n, (0 if self.anchored else 1) + shapes.count)

    def _amplitudes(self, x: Array) -> tuple[Array, Array]:
        """(centre or start (n,), amplitudes (n, shapes)), in rad."""
        half = self.limits.half[:, None]
        if self.anchored:
            return self.limits.home, half * x
        return self.limits.middle + self.limits.half * x[:, 0], half * x[:, 1:]

    def motion(self, x: Array, shapes: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """q, q̇, q̈ at the instants of ``shapes``."""
        centre, z = self._amplitudes(x)
        P, V, A = shapes
        return centre + P @ z.T, V @ z.T, A @ z.T

    def back(self, dq: Array, dqd: Array, dqdd: Array) -> Array:
        """∂/∂x from ∂/∂(q, q̇, q̈) at the few instants: the transpose of :meth:`motion`."""
        P, V, A = self.few
        half = self.limits.half[:, None]
        dz = half * (dq.T @ P + dqd.T @ V + dqdd.T @ A)
        return dz if self.anchored else np.hstack([half * dq.sum(axis=0)[:, None], dz])

    def written(self, x: Array) -> tuple[Array, Array]:
        """Coefficients and offset that the shapes make a trajectory from."""
        return self.shapes.coefficients(*self._amplitudes(x), self.anchored)

    def shrunk(self, x: Array, s: float) -> Array:
        """The motion moved a part of the way to the posture that all limits allow."""
        y = s * x
        if not self.anchored:
            y[:, 0] = self.home + s * (x[:, 0] - self.home)
        return y

    def within_limits(self, x: Array) -> Array:
        """The same motion, shrunk towards home just as much as the limits ask for."""

        def allowed(s: float) -> bool:
            try:
                return bool(self.limits.worst(*self.motion(self.shrunk(x, s), self.many)).max() <= -1e-6)
            except ClosureError:
                return False

        if not allowed(1.0):
            low, high = 0.0, 1.0
            for _ in range(30):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if allowed(middle) else (low, middle)
            x = self.shrunk(x, low)
        for _ in range(60):  # what lies between the instants
            if not self.shapes.trajectory(*self.written(x)).limits_report(self.arm, torque=True):
                break
            x = self.shrunk(x, 1 - 1e-3)
        return x

    # -- the criterion -------------------------------------------------------------------------------

    def regressor(self, q: Array, qd: Array, qdd: Array, smooth: Array | None) -> Array:
        """Ȳ_b weighted, (N, n, b); with sgn smoothed where a speed is given for each joint."""
        Y = np.zeros((len(q), self.arm.n, self.base.rank))
        Y[:, :, self.at] = self.columns(self.arm.placed(q), qd, qdd)
        Gamma, speeds = self._followed(q, qd)
        for k, j in self.coulomb:
            level = np.sign(speeds[:, j]) if smooth is None else np.tanh(speeds[:, j] / smooth[j])
            if Gamma is None:
                Y[:, j, k] = level
            else:
                Y[:, :, k] = Gamma[:, j] * level[:, None]
        for k, j in self.constant:
            Y[:, j, k] = 1.0
        return Y * self.weights[:, None]

    def _followed(self, q: Array, qd: Array) -> tuple[Array | None, Array]:
        """(Γ, q̇ of all joints of the tree); (None, q̇) where these are the same as those of q."""
        if not self.arm.passive_names:
            return None, qd
        Gamma = self.arm.closure_jacobian(q)
        return Gamma, (Gamma @ qd[..., None])[..., 0]

    @cached_property
    def slow(self) -> Array:
        """The speeds below which sgn is smoothed, of passive joints too."""
        fastest = np.minimum(self.limits.velocity, 2 * np.pi * self.shapes.highest * self.limits.half)
        fastest = self.limits.follows @ fastest
        return np.asarray(SMOOTH * fastest, dtype=np.float64)

    def objective(self, x: Array, p: float) -> tuple[float, Array, tuple[Array, Array, Array]]:
        """(criterion, ∂/∂x, the motion), smooth."""
        state = self.motion(x, self.few)
        q, qd, qdd = state
        Y = self.regressor(q, qd, qdd, self.slow)
        flat = Y.reshape(-1, self.base.rank)
        A = flat.T @ flat / len(q)
        value, dA = criterion_gradient(A, self.criterion, p)
        G = (flat @ (2.0 / len(q) * dA)).reshape(Y.shape) * self.weights[:, None]
        dq, dqd, dqdd = self.columns_slope(self.arm.placed(q), qd, qdd, np.ascontiguousarray(G[:, :, self.at]))
        Gamma, speeds = self._followed(q, qd)
        for k, j in self.coulomb:
            level = np.tanh(speeds[:, j] / self.slow[j])
            steep = (1.0 - level**2) / self.slow[j]
            if Gamma is None:
                dqd[:, j] += G[:, j, k] * steep
            else:
                more, faster = self._friction_slope(q, qd, Gamma[:, j], G[:, :, k], level, steep, j)
                dq, dqd = dq + more, dqd + faster
        return value, self.back(dq, dqd, dqdd), state

    def _friction_slope(
        self, q: Array, qd: Array, row: Array, g: Array, level: Array, steep: Array, j: int
    ) -> tuple[Array, Array]:
        """∂/∂q and ∂/∂q̇ of (Γ_j g) tanh(Γ_j q̇ / v): since Γ_j = ∂γ_j/∂q, ∂(Γ_j x)/∂q is row j of Γ̇ along x."""
        push = (row * g).sum(axis=1) * steep
        turned = self.arm.closure_derivative
        dq = level[:, None] * turned(q, g)[:, j] + push[:, None] * turned(q, qd)[:, j]
        return dq, push[:, None] * row

    def measured(self, x: Array) -> tuple[float, float, float]:
        """(condition, condition with scaled columns, log det) along the motion, sgn as it is."""
        q, qd, qdd = self.motion(x, self.many)
        flat = self.regressor(q, qd, qdd, None).reshape(-1, self.base.rank)
        s = np.linalg.svd(flat / np.sqrt(len(q)), compute_uv=False)
        condition = float(s[0] / s[-1]) if s[-1] > 0 else float("inf")
        scaled = float(np.linalg.cond(flat / column_lengths(flat)))
        return condition, scaled, float(2.0 * np.log(np.maximum(s, 1e-300)).sum())

    def score(self, x: Array) -> float:
        """What is compared: the smaller the better."""
        return self.shown(self.measured(x)[CRITERIA.index(self.criterion)])

    def shown(self, score: float) -> float:
        """The score as a person reads it, and back."""
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
            if kind == "height":
                g = [(scale - value) / limits.tall]
                g[0][:, ~limits.points] = -1.0
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
            if kind == "height":
                slopes["q"] += limits.height_slope(self.arm.placed(state[0]), -w / limits.tall)
            elif kind == "tau":
                pulled = limits.torque_slope(self.arm.placed(state[0]), *state[1:], w / scale)
                for name, d in zip(("q", "qd", "qdd"), pulled, strict=True):
                    slopes[name] += d
            else:
                slopes[kind] += w / scale
        return total, self.back(*slopes.values()), renewed


def criterion_gradient(A: Array, criterion: str, p: float) -> tuple[float, Array]:
    """(value, ∂value/∂A) of the smooth criterion; A is symmetric and positive semidefinite."""
    if criterion == "scaled-condition":
        d = np.sqrt(np.maximum(np.diag(A), 1e-300))
        unit = A / np.outer(d, d)
        value, M = criterion_gradient(unit, "condition", p)
        dA = M / np.outer(d, d)
        dA[np.diag_indices_from(dA)] -= np.sum(M * unit, axis=1) / d**2
        return value, dA
    if criterion == "d-optimal":  # columns of length one for its digits; their lengths come back as a constant
        d = np.sqrt(np.maximum(np.diag(A), 1e-300))
        lam, V = np.linalg.eigh(A / np.outer(d, d))
        lam = np.maximum(lam, FLAT * lam[-1])
        return float(-np.log(lam).sum() - 2.0 * np.log(d).sum()), -((V / lam) @ V.T) / np.outer(d, d)
    lam, V = eigen(A)
    lam = np.maximum(lam, FLAT * lam[-1])
    logs = np.log(lam)
    up, down = np.exp(p * (logs - logs[-1])), np.exp(-p * (logs - logs[0]))
    value = 0.5 * (logs[-1] - logs[0] + (np.log(up.sum()) + np.log(down.sum())) / p)
    slope = 0.5 * (up / up.sum() - down / down.sum()) / lam
    return float(value), (V * slope) @ V.T


def eigen(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, upwards, and eigenvectors of A = Ȳᵀ Ȳ.

    Where columns differ much in length, the small ones would drown in the rounding of the large ones: then from
    the singular values of a triangle R with RᵀR = A, made from columns of length one.
    """
    d = np.sqrt(np.maximum(np.diag(A), 1e-300))
    if d.max() > UNEVEN * d.min():
        with contextlib.suppress(np.linalg.LinAlgError):
            _, s, Vt = np.linalg.svd(np.linalg.cholesky(A / np.outer(d, d)).T * d)
            return s[::-1] ** 2, Vt[::-1].T
    lam, V = np.linalg.eigh(A)
    return lam, V
