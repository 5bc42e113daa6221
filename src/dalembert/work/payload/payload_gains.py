"""Drive gains: joint equations in which they are unknown, g_j y_j = Y_j π + friction, and every source of these gains.

y is the logged signal of the drives. In its units, y_j = Y_j π / g_j + F_j f_j. The noise is that of y, so an error of a
gain does not change it. The friction and offset F_j f_j of each joint are eliminated first; the remaining problem is
linear in π and in 1/g_j, and is solved for π and ln g together by Gauss–Newton. The scale of π and g is undetermined:
prior distributions of ln g (normal, with a covariance) or of π fix it, and their errors are part of the joint covariance.

The sources are given gains, the controller's own torques and the arm's own weight, each a normal distribution of ln g,
the logarithm of the factor between the logged signal and the torque. The gain errors of one arm are partly common to its
joints, so half of the variance of every source is common.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.base.per_joint import per_joint
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.base_parameters import BaseParameters, observable_columns
from dalembert.work.identification.fitting.evidence import column_lengths
from dalembert.work.identification.fitting.least_squares import above_zero, correlation_time, inverse_of
from dalembert.work.identification.fitting.physical_consistency import scales
from dalembert.work.identification.fitting.result import relative

STEPS = 200  # of Gauss–Newton, maximum
SETTLED = 1e-4  # change of the weighted sum of squares, χ², at which the iteration ends
STEADY = 1e-4  # relative change of the noise at which the iteration ends
HALVINGS = 20  # of a step that increases the sum of squares, maximum
FITS = 3  # each with the correlation times of the residuals of the previous fit
REFERENCES = ("tau_des", "target_moment", "target_torque")  # torques of a controller's own model, in logs of UR arms
GAIN_DEVIATION = 0.1  # relative, of gains in a data sheet: torque constants are specified to ten percent
ARM_DEVIATION = 0.2  # relative, of the masses and centres of mass in a robot file
MODEL_DEVIATION = 0.02  # relative, of a controller's own model of its arm
FLANGE = 0.01  # of the arm's mass: possible mass at the flange in the unloaded run that the controller does not know
FLANGE_LENGTH = 0.1  # m, its distance from the tip
FRICTION_DEVIATION = 0.03  # relative, of the friction law: more than its residual suggests
COMMON = 0.5  # the fraction of a source's variance that is common to all joints
LINEARISED = 5  # fits, each linearising the relative errors of the arm's moments at the previous one
SAME = 1e-3  # change of ln g at which these iterations end
UNKNOWN = 2.0  # standard deviation of ln g of a joint for which a source has no information
SIGNIFICANT = 3.0  # minimum number of standard deviations between a slope and zero for it to be a gain
KNOWN = 2.0  # minimum number of standard deviations between a first moment and zero for it to fix the scale


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


# -- sources ---------------------------------------------------------------------------------------


@record
class GainSource:
    """A distribution of ln g (n,), and the name of its source."""

    name: str
    belief: NormalBelief


def shared(deviation: Array) -> Array:
    """(n, n) covariance of relative errors of this size (n,), the fraction ``COMMON`` of it common to all joints."""
    return np.outer(deviation, deviation) * (COMMON + (1 - COMMON) * np.eye(len(deviation)))


def from_given(name: str, deviation: ArrayLike | None, arm: Arm) -> GainSource | None:
    """Given gains, so that the factor on them is 1; None if they are exact (deviation 0)."""
    deviations = per_joint("gain_deviation", GAIN_DEVIATION if deviation is None else deviation, arm.n)
    if not ((deviations >= 0) & (deviations <= 1)).all():
        raise DalembertError(
            f"gain_deviation is {', '.join(f'{x:g}' for x in deviations)}; relative standard deviations must lie between 0 (exact) "
            "and 1, such as 0.1 for ten percent"
        )
    if not deviations.any():
        return None
    return GainSource(name, NormalBelief.of(np.zeros(arm.n), shared(np.maximum(deviations, 1e-6))))


def from_reference(
    joints: Sequence[JointRows], expected: Sequence[Array], logged: Sequence[Array], arm: Arm, name: str, required: bool
) -> GainSource | None:
    """Factors by which the logged signal agrees with the torques of the controller's own model, friction excluded.

    A mass at the flange that the controller does not know (adapters, cables) is allowed for: about ``FLANGE`` of the
    arm's mass.

    joints            rows whose columns are the model's torque, and mass and first moments at the flange
    expected, logged  those torques, and the logged signal, at the same rows, friction included
    Returns None if they agree at no joint; raises an error instead if the source is ``required``.
    """
    mass = FLANGE * sum(float(body.inertia.mass) for body in arm.mechanism.tree.bodies)
    extra = np.array([mass, *[mass * FLANGE_LENGTH] * 3])
    known = NormalBelief.of(np.array([1.0, 0.0, 0.0, 0.0, 0.0]), np.diag([1e-8, *np.maximum(extra, 1e-6) ** 2]))
    sizes = [relative(x, y) for x, y in zip(expected, logged, strict=True)]
    start = NormalBelief.of(np.log(np.maximum(sizes, 1e-12)), UNKNOWN**2 * np.eye(arm.n))
    fit = fit_drives(joints, start, bodies=known)
    belief = fit.gains_belief
    if not (belief.std < 1.0 / SIGNIFICANT).any():
        if not required:
            return None
        raise DalembertError(
            f"'{name}' hardly agrees with the measured torque of any joint, so no drive gain can be found from it; give gains"
        )
    explained = [x / np.exp(u) for x, u in zip(expected, fit.log_gains, strict=True)]
    law = [
        FRICTION_DEVIATION * float(np.std(y - x)) / max(float(np.std(x)), 1e-300)
        for x, y in zip(explained, logged, strict=True)
    ]
    covariance = belief.covariance + np.diag(np.minimum(law, UNKNOWN) ** 2) + shared(np.full(arm.n, MODEL_DEVIATION))
    return GainSource(f"'{name}'", NormalBelief.of(belief.mean, covariance))


def from_arm(base: BaseParameters, joints: Sequence[JointRows], deviation: float) -> GainSource | None:
    """Factors by which the logged signal equals the torque of the arm's own weight, its masses known to within
    ``deviation``.

    Only first moments that are significantly different from zero are used, since masses are better known than inertias;
    the other parameters are free. None if the arm has no such moments or the run does not determine them.
    """
    if not 1e-6 <= deviation <= 1e6:
        raise DalembertError(
            f"arm_deviation is {deviation:g}; it is the relative standard deviation of the arm's masses and must be between 1e-6 and "
            "1e6, such as 0.2, or None"
        )
    members = [base.parameters.members[k] for k in base.independent]
    usual, values = scales(base.parameters), base.parameters.values
    # an error common to all masses, and one per mass
    errors = (1 - COMMON) * np.diag(usual**2) + COMMON * np.outer(values, values)
    covariance = deviation**2 * base.K @ errors @ base.K.T
    std = np.sqrt(np.diag(covariance))
    moments = [
        k for k, member in enumerate(members)
        if member.kind in ("mx", "my", "mz") and abs(base.values[k]) > KNOWN * std[k]
    ]  # fmt: skip
    if not moments:
        return None
    expected = [joint.whole[:, :-1] @ base.values for joint in joints]
    sizes = [(float(np.linalg.norm(tau)), float(np.linalg.norm(joint.whole[:, -1])))
             for tau, joint in zip(expected, joints, strict=True)]  # fmt: skip
    ratios = [np.log(tau / y) for tau, y in sizes if y > 0 and tau > 1e-3 * max(sizes)[0]]
    if not ratios:
        return None
    start = NormalBelief.of(np.full(len(joints), float(np.median(ratios))), UNKNOWN**2 * np.eye(len(joints)))
    expected_moments, values = base.values[moments], base.values
    errors = covariance[np.ix_(moments, moments)] / np.outer(expected_moments, expected_moments)  # relative
    fit = None
    for _ in range(LINEARISED):  # the errors are relative: normal in ln π, linearised at the previous fit
        now = values[moments]
        if not (now * expected_moments > 0).all():
            return None
        precision = np.zeros_like(covariance)
        precision[np.ix_(moments, moments)] = inverse_of(errors * np.outer(now, now))
        mean = base.values.copy()
        mean[moments] = now * (1 + np.log(expected_moments / now))
        before = fit
        try:
            fit = fit_drives(joints, start, bodies=NormalBelief(mean, precision), near=before)
        except DalembertError:  # the masses are so wrong that no gains agree with them: no information
            return None
        values = fit.values
        if before is not None and np.abs(fit.log_gains - before.log_gains).max() < SAME:
            break
    assert fit is not None
    belief = fit.gains_belief
    if not (belief.std < 0.5 * UNKNOWN).any():
        return None
    return GainSource("the arm's own weight", belief)


def sources_note(sources: Sequence[GainSource], unit: Array, amperes: bool) -> list[str]:
    """Sentences on the sources of the torque scale; ``unit`` (n,): gains as read."""
    words, per = ("drive gains", " N m/A") if amperes else ("factors of the torques", "")
    notes = []
    for source in sources:
        values = zip(unit * np.exp(source.belief.mean), source.belief.std, strict=True)
        shown = ", ".join(f"{g:.4g} ± {100 * s:.2g} %" if s < 1 else "unknown" for g, s in values)
        notes.append(f"{words} from {source.name}: {shown}{per}")
    return notes
