"""Joint equations with unknown drive gains: g_j y_j = Y_j π + friction, where y is the logged signal of the drives.

In the units of the log, y_j = Y_j π / g_j + F_j f_j. The noise is that of y, so an error of a gain does not change it.
The friction and offset F_j f_j of each joint are eliminated first; the remaining problem is linear in π and in 1/g_j,
and is solved for π and ln g together by Gauss–Newton. The scale of π and g is undetermined: prior distributions of ln g
(normal, with a covariance) or of π fix it, and their errors are part of the joint covariance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.base_parameters import observable_columns
from dalembert.work.identification.fitting.least_squares import above_zero, correlation_time, inverse_of
from dalembert.work.identification.fitting.triangular_systems import column_lengths

STEPS = 200  # of Gauss–Newton, maximum
SETTLED = 1e-4  # change of the weighted sum of squares, χ², at which the iteration ends
STEADY = 1e-4  # relative change of the noise at which the iteration ends
HALVINGS = 20  # of a step that increases the sum of squares, maximum
FITS = 3  # each with the correlation times of the residuals of the previous fit


@record
class NormalBelief:
    """A normal distribution: mean (k,) and precision (k, k), the inverse of its covariance."""

    mean: Array
    precision: Array

    @classmethod
    def of(cls, mean: Array, covariance: Array) -> NormalBelief:
        """With the covariance (k, k) given."""
        return cls(np.asarray(mean, float), inverse_of(np.asarray(covariance, float)))

    @property
    def covariance(self) -> Array:
        """(k, k)."""
        return inverse_of(self.precision)

    @property
    def std(self) -> Array:
        """(k,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def __and__(self, other: NormalBelief) -> NormalBelief:
        """The combination of both as independent distributions: precisions add."""
        precision = self.precision + other.precision
        pull = self.precision @ self.mean + other.precision @ other.mean
        return NormalBelief(inverse_of(precision) @ pull, precision)


@record
class JointRows:
    """The equations of one joint, its friction eliminated: rows [Y, y] (M, p + 1), and Q (M, r), a basis of the friction.

    runs  the rows of each run, for the correlation of the residuals
    """

    whole: Array
    basis: Array
    runs: tuple[slice, ...]

    @classmethod
    def of(cls, Y: Array, y: Array, friction: Array, runs: tuple[slice, ...]) -> JointRows:
        """From Y (M, p), y (M,) and the columns of the friction (M, f)."""
        U, s, _ = np.linalg.svd(friction / column_lengths(friction), full_matrices=False)
        Q = U[:, s > 1e-9 * s.max(initial=0.0)] if friction.size else np.zeros((len(y), 0))
        rows = np.column_stack([Y, y])
        return cls(rows - Q @ (Q.T @ rows), Q, runs)


@record
class DriveFit:
    """π (p,), NaN where the rows do not determine it, and ln g (n,), with their joint covariance (p + n, p + n).

    noise   standard deviation of each joint's residual, in the unit of the log
    times   number of samples of each joint's residual per independent sample
    """

    values: Array
    log_gains: Array
    covariance: Array
    noise: Array
    times: Array
    residual: tuple[Array, ...]

    @property
    def gains_belief(self) -> NormalBelief:
        """The distribution of ln g alone."""
        n = len(self.log_gains)
        return NormalBelief.of(self.log_gains, self.covariance[-n:, -n:])


def fit_drives(
    joints: Sequence[JointRows], gains: NormalBelief | None, bodies: NormalBelief | None = None, near: DriveFit | None = None
) -> DriveFit:  # fmt: skip
    """π and ln g from the rows of every joint.

    gains   prior distribution of ln g (n,); None: all gains are exactly 1
    bodies  prior distribution of π (p,)
    near    a fit of nearly the same rows, used as the starting point
    """
    n, p = len(joints), joints[0].whole.shape[1] - 1
    triangles = [np.asarray(np.linalg.qr(joint.whole, mode="r")) for joint in joints]
    rows = np.array([len(joint.whole) - joint.basis.shape[1] for joint in joints], float)
    prior, mean, times = np.zeros((p + n, p + n)), np.zeros(p + n), np.ones(n)
    if gains is not None:
        prior[p:, p:], mean[p:] = gains.precision, gains.mean
    free, x = _seen(triangles, mean[p:]) if bodies is None else np.arange(p), mean.copy()
    if bodies is not None:
        prior[:p, :p], mean[:p] = bodies.precision, bodies.mean
    active = free if gains is None else np.concatenate([free, p + np.arange(n)])
    noise = np.array([max(float(np.linalg.norm(E[:, p])), 1e-300) for E in triangles]) / np.sqrt(rows.clip(1))
    if near is not None:
        x, noise, times = np.concatenate([np.nan_to_num(near.values), near.log_gains]), near.noise, near.times
    for _ in range(FITS if near is None else 1):
        x, noise, covariance = _gauss_newton(triangles, rows, times, prior, mean, active, x, noise)
        residual = tuple(joint.whole @ np.append(x[:p] * np.exp(-x[p + j]), -1.0) for j, joint in enumerate(joints))
        times = np.array(
            [
                correlation_time([part - part.mean() for part in (r[run] for run in joint.runs) if len(part)])
                for r, joint in zip(residual, joints, strict=True)
            ]
        )
    x, noise, covariance = _gauss_newton(triangles, rows, times, prior, mean, active, x, noise)
    values = x[:p].copy()
    unseen = np.setdiff1d(np.arange(p), free)
    values[unseen] = np.nan
    covariance[unseen, :] = covariance[:, unseen] = np.nan
    return DriveFit(values, x[p:], covariance, noise, times, residual)


def _seen(triangles: Sequence[Array], u: Array) -> NDArray[np.intp]:
    """The columns of π that the rows determine."""
    parts = [np.exp(-u[j]) * E[:, :-1] / max(float(np.linalg.norm(E[:, -1])), 1e-300) for j, E in enumerate(triangles)]
    return np.array(sorted(observable_columns(np.vstack(parts))), dtype=np.intp)


def _gauss_newton(
    triangles: Sequence[Array], rows: Array, times: Array, prior: Array, mean: Array, active: NDArray[np.intp], x: Array,
    noise: Array,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """(π and ln g, noise, covariance): the noise of every joint is that of its residuals and is updated in each step.

    Gauss–Newton steps are taken in ln g; for each, π is solved exactly, since the equations are linear in it (variable
    projection).
    """
    n = len(triangles)
    p = len(x) - n
    linear, open_gains = active[active < p], bool((active >= p).any())
    normals = [E[:, :p].T @ E[:, :p] for E in triangles]
    rights = [E[:, :p].T @ E[:, p] for E in triangles]

    def parts(at: Array) -> list[Array]:
        return [E[:, :p] @ (at[:p] * np.exp(-at[p + j])) - E[:, p] for j, E in enumerate(triangles)]

    def cost(at: Array, unit: Array) -> float:
        away = at - mean
        return sum(float(r @ r) / s**2 for r, s in zip(parts(at), unit, strict=True)) + float(away @ prior @ away)

    def solved(u: Array, unit: Array) -> Array:
        """The best π for these ln g, and ln g."""
        shares = np.exp(-u) / unit**2
        A = prior[:p, :p] + np.tensordot(shares * np.exp(-u), normals, 1)
        right = prior[:p, :p] @ mean[:p] + shares @ np.array(rights)
        best = np.zeros(p)
        best[linear] = inverse_of(A[np.ix_(linear, linear)]) @ right[linear]
        return np.concatenate([best, u])

    for _ in range(STEPS):
        unit = above_zero(noise) * np.sqrt(times)
        x = solved(x[p:], unit)
        gradient, blocks = -prior @ (x - mean), []
        for j, (E, r) in enumerate(zip(triangles, parts(x), strict=True)):
            J = np.zeros((len(E), p + n))
            J[:, :p] = E[:, :p] * np.exp(-x[p + j])
            J[:, p + j] = -(J[:, :p] @ x[:p])
            blocks.append(J.T @ J / unit[j] ** 2)
            gradient -= J.T @ r / unit[j] ** 2
        A = np.sum(blocks, axis=0) + prior
        inverse = np.zeros_like(A)
        inverse[np.ix_(active, active)] = inverse_of(A[np.ix_(active, active)])
        before, step = cost(x, unit), (inverse @ gradient)[p:]
        if open_gains:
            for halving in range(HALVINGS):
                trial = solved(x[p:] + 0.5**halving * step, unit)
                if cost(trial, unit) <= before * (1 + 1e-12):
                    x = trial
                    break
        used = np.array([float(np.sum(inverse * block)) for block in blocks])
        squares = np.array([float(r @ r) for r in parts(x)])
        last, noise = noise, np.sqrt(squares / np.maximum(rows - used, 1.0))
        steady = np.abs(noise / above_zero(last) - 1).max() < STEADY or not squares.any()
        if steady and abs(before - cost(x, unit)) <= SETTLED:
            return x, noise, inverse
    raise DalembertError(
        f"the fit of drive gains and payload did not converge in {STEPS} steps; give gains closer to the true ones or a smaller "
        "gain_deviation"
    )
