"""The drive gains from every available source: given gains, the controller's own torques, the arm's own weight.

Each source is a normal distribution of ln g, the logarithm of the factor between the logged signal and the torque. The
gain errors of one arm are partly common to its joints, so half of the variance of every source is common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.base.per_joint import per_joint
from dalembert.base.tables.signal_columns import SIGNALS
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.base_parameters import BaseParameters
from dalembert.work.identification.fitting.least_squares import inverse_of
from dalembert.work.identification.fitting.physical_consistency import scales
from dalembert.work.identification.payload.payload_drives import JointRows, NormalBelief, fit_drives
from dalembert.work.logs.log import Log, Source, raw_of

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
class GainSource:
    """A distribution of ln g (n,), and the name of its source."""

    name: str
    belief: NormalBelief


def names_in(log: Source, arm: Arm) -> set[str]:
    """The names of the quantities in a log."""
    return set() if isinstance(log, Log) else set(raw_of(log, arm).names)


def has_current(names: set[str], reading: Mapping[str, Any]) -> bool:
    """Whether a log with these names has currents and no torques, and therefore needs gains."""
    columns, lower = reading.get("columns") or {}, {name.lower() for name in names}
    current, torque = (bool(key in columns or lower & set(SIGNALS[key].spellings)) for key in ("current", "tau"))
    return current and not torque


def reference_name(names: set[str], reference: str | bool | None) -> str | None:
    """The name of the torques of the controller's own model: as given, or a usual name if the log has it."""
    if isinstance(reference, str):
        return reference
    return None if reference is False else next((name for name in REFERENCES if name in names), None)


def shared(deviation: Array) -> Array:
    """(n, n) covariance of relative errors with these standard deviations (n,), the fraction ``COMMON`` of it common to
    all joints."""
    return np.outer(deviation, deviation) * (COMMON + (1 - COMMON) * np.eye(len(deviation)))


def from_given(name: str, deviation: ArrayLike | None, arm: Arm) -> GainSource | None:
    """Given gains, so that the factor on them is 1; None if they are exact (deviation 0)."""
    relative = per_joint("gain_deviation", GAIN_DEVIATION if deviation is None else deviation, arm.n)
    if not ((relative >= 0) & (relative <= 1)).all():
        raise DalembertError(
            f"gain_deviation is {', '.join(f'{x:g}' for x in relative)}; relative standard deviations must lie between 0 (exact) and 1, "
            "such as 0.1 for ten percent"
        )
    if not relative.any():
        return None
    return GainSource(name, NormalBelief.of(np.zeros(arm.n), shared(np.maximum(relative, 1e-6))))


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
    sizes = [
        float(np.linalg.norm(x)) / max(float(np.linalg.norm(y)), 1e-300) for x, y in zip(expected, logged, strict=True)
    ]
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
    clear = max(tau for tau, _ in sizes)
    ratios = [np.log(tau / y) for tau, y in sizes if y > 0 and tau > 1e-3 * clear]
    if not ratios:
        return None
    start = NormalBelief.of(np.full(len(joints), float(np.median(ratios))), UNKNOWN**2 * np.eye(len(joints)))
    expected_moments, values = base.values[moments], base.values
    relative = covariance[np.ix_(moments, moments)] / np.outer(expected_moments, expected_moments)
    fit = None
    for _ in range(LINEARISED):  # the errors are relative: normal in ln π, linearised at the previous fit
        now = values[moments]
        if not (now * expected_moments > 0).all():
            return None
        precision = np.zeros_like(covariance)
        precision[np.ix_(moments, moments)] = inverse_of(relative * np.outer(now, now))
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
