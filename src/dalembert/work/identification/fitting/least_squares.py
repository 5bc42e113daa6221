"""Least squares in the variants of S 7.4, from one triangle per joint: ordinary, weighted, damped, joint by joint,
total.

Every solver returns an :class:`Estimate`: π_b, the weights 1/σ_j of the joints, and its covariance, which accounts for
autocorrelated residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.work.identification.fitting.evidence import Evidence, TriangularSystem, column_lengths
from dalembert.work.logs.scipy_package import scipy

ROUNDS = 50  # of reweighting, maximum
ENOUGH = 0.1  # minimum fraction of samples with a partner at a lag for its correlation to be estimated
FEWEST = 5  # minimum number of independent samples that a joint's residual counts for
TOLERANCE = 1e-9  # a column whose independent part is this small relative to the largest carries no information


@record
class Estimate:
    """π_b (b,) and its errors.

    noise        σ_j (n,), the standard deviation of each joint's residual (N m)
    weights      the factors on the joints' equations
    covariance   (b, b) of π_b, assuming independent samples (:func:`spread` can account for autocorrelation)
    fixed        columns that the log does not determine; they keep their initial value
    """

    values: Array
    noise: Array
    weights: Array
    covariance: Array
    fixed: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def above_zero(noise: Array) -> Array:
    """σ_j (n,), none below 1e-12 of the largest, so that the inverse and its powers stay finite."""
    return np.maximum(noise, 1e-12 * max(float(noise.max()), 1e-30))


def undetermined(whole: TriangularSystem, typical: Array, least: float = 0.0) -> tuple[int, ...]:
    """Columns without an independent part in the log: pivoted QR of the columns scaled by their usual size.

    Besides columns that are zero up to rounding, these are the ones whose independent part is below ``least``: with
    equations of unit noise, 1/(independent part) is the torque error, at usual states, that the column leaves
    undetermined.
    """
    if not len(typical):
        return ()
    _, R, order = scipy.linalg.qr(whole.R / typical, pivoting=True, mode="economic")
    size = np.abs(np.diag(R))
    if not size[0] > 0:
        return tuple(range(len(typical)))
    return tuple(sorted(int(c) for c in order[size < max(TOLERANCE * size[0], least)]))


def solve(joints: Evidence, weights: Array, start: Array, fixed: Sequence[int]) -> Array:
    """Least squares with these weights; the columns in ``fixed`` keep their value in ``start``."""
    whole = joints.together(weights)
    free = [k for k in range(len(start)) if k not in fixed]
    values = start.copy()
    right = whole.z - whole.R[:, list(fixed)] @ start[list(fixed)]
    size = column_lengths(whole.R[:, free])
    values[free] = np.linalg.lstsq(whole.R[:, free] / size, right, rcond=None)[0] / size
    return values


def squares(joints: Evidence, values: Array) -> Array:
    """‖Yπ − τ‖² of every joint."""
    return np.array([joint.squares(values[joint.columns]) for joint in joints.joints])


def spread(
    joints: Evidence, values: Array, weights: Array, fixed: Sequence[int],
    extra: Array | float = 0.0, times: Array | float = 1.0,
) -> tuple[Array, Array]:  # fmt: skip
    """(noise σ_j, covariance): σ_j² = rss_j / (rows_j − the degrees of freedom used by joint j's equations).

    ``extra`` is added to the normal matrix A: the damping, or the curvature of a prior. ``times`` (n,) is the
    correlation time of each joint's residual, in samples.
    """
    b = len(values)
    free = [k for k in range(b) if k not in fixed]
    normal = np.zeros((len(joints.joints), b, b))  # R_jᵀR_j of every joint, in all columns
    for N, joint in zip(normal, joints.joints, strict=True):
        N[np.ix_(joint.columns, joint.columns)] = joint.R.T @ joint.R
    A = np.tensordot(weights**2, normal, 1) + extra
    inverse = np.zeros((b, b))
    inverse[np.ix_(free, free)] = inverse_of(A[np.ix_(free, free)])
    used = weights**2 * np.sum(inverse * normal, axis=(1, 2))
    rows = np.array([joint.rows for joint in joints.joints], float)
    noise = np.sqrt(squares(joints, values) / np.maximum(rows - used, 1.0))
    return noise, inverse @ np.tensordot(weights**4 * noise**2 * times, normal, 1) @ inverse


def inverse_of(A: Array, rcond: float = 1e-15) -> Array:
    """A⁻¹ of a positive definite matrix, after scaling its columns."""
    d = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-300))
    return d[:, None] * np.linalg.pinv(A * d[:, None] * d, rcond=rcond, hermitian=True) * d


def least_squares(joints: Evidence, start: Array, fixed: tuple[int, ...], rounds: int) -> Estimate:
    """Ordinary least squares (rounds = 0), weighted by the noise of the ordinary fit (1), or reweighted until convergence."""
    noise = weights = np.ones(len(joints.joints))
    for done in range(rounds + 1):
        before, weights = weights, 1.0 / above_zero(noise)
        values = solve(joints, weights, start, fixed)
        noise, covariance = spread(joints, values, weights, fixed)
        if done > 1 and np.abs(weights / before - 1).max() < 1e-6:
            break
    return Estimate(values, noise, weights, covariance, fixed)


def determined(joints: Evidence, start: Array, fixed_by: Callable[..., tuple[int, ...]], rounds: int) -> Estimate:
    """Least squares, repeated without the parameters that are undetermined at its noise: ``fixed_by`` triangles and noise."""
    first = least_squares(joints, start, fixed_by(joints), rounds)
    return least_squares(joints, start, fixed_by(joints, first.noise), rounds)


def damped(joints: Evidence, start: Array, damping: float | None, typical: Array, to: str = "arm") -> Estimate:
    """min ‖W(Yπ − τ)‖² + λ²‖S(π − π₀)‖²: for a log whose regressor does not have full rank.

    to  "arm": π₀ is ``start``, W divides by the noise and S is the usual size of the columns, so λ is in units of the
        noise; "zero": π₀ = 0 and W = S = 1, so that π = (ȲᵀȲ + λ²1)⁻¹ Ȳᵀτ̄, the damped inverse of S 7.4

    By default, λ minimises the generalised cross-validation score.
    """
    weights = np.ones(len(joints.joints))
    if to == "zero":
        start, typical = np.zeros_like(start), np.ones_like(typical)
    else:
        weights = least_squares(joints, start, undetermined(joints.together(), typical), 1).weights
    whole = joints.together(weights)
    U, s, Vt = np.linalg.svd(whole.R / typical)
    beta = U.T @ (whole.z - whole.R @ start)
    how = "as given"
    if damping is None:
        grid = s[0] * np.logspace(-12, 0, 121)
        f = s**2 / (s**2 + grid[:, None] ** 2)
        scores = (np.sum(((1 - f) * beta) ** 2, axis=1) + whole.rss) / (whole.rows - f.sum(axis=1)) ** 2
        damping = float(grid[int(np.argmin(scores))])
        how = "by generalised cross-validation"
    filtered = np.where(s > 0, s / np.maximum(s**2 + damping**2, 1e-300), 0.0)
    values = start + (Vt.T @ (filtered * beta)) / typical
    noise, covariance = spread(joints, values, weights, (), np.diag((damping * typical) ** 2))
    aim = "zero" if to == "zero" else "the arm's own"
    note = f"damped least squares with λ = {damping:.3g} ({how}), which pulls the parameters towards {aim}"
    return Estimate(values, noise, weights, covariance, (), (note,))


def sequential(joints: Evidence, start: Array, typical: Array) -> Estimate:
    """The procedure of S 7.4, joint by joint from the last to the first.

    The equations of joint j, together with what the joints after it have determined, determine the combinations of
    parameters that appear first in them: π = π_p + N z, where N spans the undetermined directions.
    """
    b = len(start)
    values, open_, V = start.copy(), np.diag(1.0 / typical), np.zeros((b, b))
    noise = np.ones(len(joints.joints))
    for j in reversed(range(len(joints.joints))):
        joint = joints.joints[j]
        R = np.zeros((len(joint.z), b))
        R[:, joint.columns] = joint.R
        U, s, Vt = np.linalg.svd(R @ open_)
        rank = int(np.sum(s > 1e-7 * s.max(initial=1e-300)))
        gain = open_ @ Vt[:rank].T / s[:rank] @ U[:, :rank].T
        values = values + gain @ (joint.z - R @ values)
        open_ = open_ @ Vt[rank:].T
        noise[j] = np.sqrt(joint.squares(values[joint.columns]) / max(joint.rows - rank, 1))
        left = np.eye(b) - gain @ R  # propagates the errors of the joints after it
        V = left @ V @ left.T + noise[j] ** 2 * gain @ gain.T
    fixed = np.flatnonzero(np.linalg.norm(open_, axis=1) * typical > 1e-6).tolist()
    return Estimate(values, noise, 1.0 / above_zero(noise), V, tuple(fixed))


def total(
    equations: list[Array], noise: Array, start: Array, held: NDArray[np.bool_], times: Array
) -> tuple[Array, Array, Array, Array]:
    """Total least squares of [Y, y_L, −V][π; 1; g] = 0, with y_L the torque of a known payload.

    ``equations`` are the triangles of every joint's rows, in that order of columns. The errors are in the measured
    torques V, with standard deviation ``noise`` each, so the equations of joint j have the error g_j σ_j: Σ_j ‖E_j [π;
    1; g]‖² / (g_j σ_j)² is minimised, starting from π = ``start`` and g = 1. The payload fixes the scale, which would
    otherwise be free. Gains in ``held`` stay 1: the payload does not act on those joints. Returns (π_b, g, covariance
    of π_b and the other gains, weights).
    """
    n, b = len(noise), len(start)
    free = np.flatnonzero(~held)
    size = column_lengths(np.vstack([E[:, :b] / s for E, s in zip(equations, noise, strict=True)]))

    def whole(u: Array) -> tuple[Array, Array]:
        """[π; 1; g] from the unknowns, and g."""
        g = np.ones(n)
        g[free] = np.exp(u[b:])  # a drive gain stays positive
        return np.concatenate([u[:b] / size, [1.0], g]), g

    def residual(u: Array) -> Array:
        x, g = whole(u)
        return np.concatenate([E @ x / (g[j] * noise[j]) for j, E in enumerate(equations)])

    def slope(u: Array) -> Array:
        x, g = whole(u)
        parts = []
        for j, E in enumerate(equations):
            scale = 1.0 / (g[j] * noise[j])
            D = np.zeros((len(E), b + len(free)))
            D[:, :b] = scale * E[:, :b] / size
            for k, i in enumerate(free):
                D[:, b + k] = scale * g[i] * E[:, b + 1 + i] - (scale * (E @ x) if i == j else 0.0)
            parts.append(D)
        return np.vstack(parts)

    first = np.concatenate([start * size, np.zeros(len(free))])
    best = scipy.optimize.least_squares(residual, first, slope, method="trf", x_scale="jac").x
    x, g = whole(best)
    ends = np.cumsum([len(E) for E in equations])[:-1]
    D = np.vstack([d / np.sqrt(t) for d, t in zip(np.split(slope(best), ends), times, strict=True)])
    covariance = inverse_of(D.T @ D)
    unit = np.concatenate([1.0 / size, g[free]])
    return x[:b], g, covariance * np.outer(unit, unit), 1.0 / (noise * g)


def correlation_time(stretches: Sequence[Array], least: float = 1.0) -> float:
    """The number of samples of a residual per independent sample: 1 + 2 Σ ρ_k, summed while pairs are positive (Geyer).

    ``stretches`` (M_i,) were sampled without a break, each less the mean of its run. Their autocovariances are pooled,
    so a stretch is weighted by its length and its contribution to the squares; one that is zero has no effect.
    """
    moving = [r for r in stretches if float(r @ r) > 0]
    m, longest = sum(map(len, moving)), max(map(len, moving), default=0)
    if m < 8:
        return least
    rho, pairs_of = np.zeros(longest), np.zeros(longest)
    for r in moving:
        size = 1 << (2 * len(r) - 1).bit_length()
        rho[: len(r)] += np.fft.irfft(np.abs(np.fft.rfft(r, size)) ** 2, size)[: len(r)]
        pairs_of[: len(r)] += len(r) - np.arange(len(r))
    lags = int(np.count_nonzero(pairs_of >= ENOUGH * m))
    # for a single stretch of m samples, the sum at lag k would have m − k terms
    rho = rho[:lags] / rho[0] * (m - np.arange(lags)) / pairs_of[:lags]
    pairs = rho[: 2 * (lags // 2)].reshape(-1, 2).sum(axis=1)
    end = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    worth = 2.0 * float(np.minimum.accumulate(pairs[:end]).sum()) - 1.0
    return max(least, min(worth, m / FEWEST))


def essential(values: Array, covariance: Array, fixed: tuple[int, ...], least: float = 2.0) -> list[int]:
    """The parameters that are needed: the least significant is repeatedly set to zero while |π| < 2 σ.

    The effect on the others follows from their ``covariance`` with it, exactly as if its column were removed.
    """
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    v, C = values / size, covariance / np.outer(size, size)
    remaining = [k for k in range(len(values)) if k not in fixed]
    while len(remaining) > 1:
        spread = np.maximum(np.diag(C)[remaining], 1e-12)
        t = np.abs(v[remaining]) / np.sqrt(spread)
        worst = int(np.argmin(t))
        if t[worst] >= least:
            break
        k = remaining.pop(worst)
        pull = C[:, k] / spread[worst]
        v, C = v - pull * v[k], C - np.outer(pull, C[k])
    return remaining
