"""Comparison of two identifications of one arm: what changed, by how much, and whether the change is significant.

The errors of two logs are independent, so the covariance of a difference is the sum of both. Parameters are tested in
groups (the inertias, the friction and the offset of each joint) by their Mahalanobis distance, and individually by
their own standard deviation; each family of tests is corrected for its size (Holm), so the probability of reporting any
change where there is none is at most ``level``. Where the friction laws of a joint differ, the friction torques at five
speeds are compared instead of the parameters.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import brief, record
from dalembert.base.wording import some
from dalembert.errors import DalembertError
from dalembert.robot.terms.term import unit_at
from dalembert.work.fits.fit_record import KINDS, FitRecord, as_record, kind_of_parameter, own_fields, same_parameter
from dalembert.work.identification.fitting.parameter_set import SLOPE_UNITS
from dalembert.work.identification.fitting.result import Identification, make_run
from dalembert.work.logs.scipy_package import scipy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# the module that draws a comparison, imported when it is first called
DELEGATES = {"plot": "views.report.comparison_page:comparison_figure"}
AnyFit = Identification | FitRecord | str | os.PathLike[str]

LEVEL = 0.01  # probability of reporting any change although nothing has changed
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)  # of the largest common speed, at which friction torques are compared
SINGULAR = 1e-12  # of the largest eigenvalue of a correlation matrix: directions that count as exactly known
NAMED = 3  # largest number of parameters of a group that a sentence names
INERTIA_UNITS = {"m": "kg", "mx": "kg m", "my": "kg m", "mz": "kg m"}  # kg m² for all others


@brief
@dataclass(frozen=True)
class ParameterChange:
    """One base parameter before and after: difference, its standard deviation, z = difference/std, and the p-value of
    z.

    joint     of the tree, from 0; −1 for those of shared drives
    kind      a key of ``KINDS``
    title     a word for the term, such as Coulomb; "" for inertias
    adjusted  the p-value corrected for the number of parameters
    """

    name: str
    joint: int
    kind: str
    title: str
    unit: str
    before: float
    after: float
    before_std: float
    after_std: float
    p: float
    adjusted: float = math.nan

    @property
    def difference(self) -> float:
        """Value after minus value before."""
        return self.after - self.before

    @property
    def std(self) -> float:
        """The standard deviation of the difference."""
        return math.hypot(self.before_std, self.after_std)

    @property
    def z(self) -> float:
        """The difference in units of its standard deviation."""
        return self.difference / max(self.std, 1e-300)

    @property
    def text(self) -> str:
        """``Coulomb (Fs_3) 4.1 → 6 N m (+46 %, 8.2 σ)``."""
        name = f"{self.title} ({self.name})" if self.title else self.name
        return f"{name} {_arrow(self.before, self.after, self.unit, self.z)}"


@brief
@dataclass(frozen=True)
class GroupChange:
    """All parameters of one kind at one joint: Mahalanobis distance, degrees of freedom, and the p-value of the distance."""

    joint: int
    kind: str
    names: tuple[str, ...]
    distance: float
    freedom: int
    p: float
    adjusted: float = math.nan


@record
class FrictionChange:
    """The friction torque of one joint at five speeds, before and after: ½(τ(v) − τ(−v)), (5,) each, without load.

    same_law  whether both fits have the same friction terms there; if so, their parameters are tested instead
    """

    joint: int
    speeds: Array
    before: Array
    after: Array
    before_std: Array
    after_std: Array
    same_law: bool
    p: float
    adjusted: float = math.nan

    @property
    def z(self) -> Array:
        """The differences in units of their standard deviations."""
        return (self.after - self.before) / np.maximum(np.hypot(self.before_std, self.after_std), 1e-300)


@dataclass(frozen=True, eq=False)
class FitComparison:
    """What has changed from one identification of an arm to another.

    parameters    a :class:`ParameterChange` for each base parameter that both determine
    groups        a :class:`GroupChange` for the inertias, the friction, the offset … of each joint
    friction      a :class:`FrictionChange` for each joint
    missing       base parameters that only one of the two has, or that a log does not determine
    former_error  the relative torque error of the earlier parameters on the later log, if that log is available
    level         probability of reporting any change although nothing has changed

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("pendulum")
    >>> t = np.arange(0, 20, 0.01)
    >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
    >>> rng = np.random.default_rng(0)
    >>> tau = arm.inverse_dynamics(q, qd, qdd)
    >>> logs = [{"t": t, "q": q, "qd": qd, "tau": tau + 0.1 * rng.standard_normal(tau.shape)} for k in range(2)]
    >>> logs[1]["tau"] += 0.5 * np.sign(qd)
    >>> before, after = (da.identify(arm, log, selection=False) for log in logs)
    >>> after.compare(before).changed
    True
    """

    before: FitRecord
    after: FitRecord
    parameters: tuple[ParameterChange, ...]
    groups: tuple[GroupChange, ...]
    friction: tuple[FrictionChange, ...]
    missing: tuple[str, ...] = ()
    former_error: float | None = None
    level: float = LEVEL

    @property
    def changed(self) -> bool:
        """Whether there is any significant change."""
        return bool(self.changed_groups or self.changed_friction)

    @cached_property
    def changed_groups(self) -> tuple[GroupChange, ...]:
        """The groups that changed, the most significant first."""
        return tuple(sorted((x for x in self.groups if x.adjusted < self.level), key=lambda x: (x.p, -x.distance)))

    @cached_property
    def changed_friction(self) -> tuple[FrictionChange, ...]:
        """The joints with different friction laws whose friction torque changed."""
        return tuple(x for x in self.friction if not x.same_law and x.adjusted < self.level)

    @cached_property
    def significant(self) -> frozenset[str]:
        """The names of the individual parameters that changed."""
        return frozenset(x.name for x in self.parameters if x.adjusted < self.level)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What changed, in words; a single sentence if nothing did."""
        out = [self._group_sentence(group) for group in self.changed_groups]
        out += [self._friction_sentence(change) for change in self.changed_friction]
        if not out:
            largest = max((abs(x.z) for x in self.parameters), default=0.0)
            out.append(
                f"nothing changed significantly: the largest of {len(self.parameters)} differences is {largest:.2g} σ "
                f"(significance level {100 * self.level:g} % for all tests together)"
            )
        if self.former_error is not None:
            out.append(
                f"the earlier parameters predict the later log with {100 * self.former_error:.3g} % relative error, its own "
                f"with {100 * self.after.runs[0].relative_error:.3g} %"
            )
        return (*out, *self.notes)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the comparison that the user should know."""
        notes, old, new = [], self.before, self.after
        if self.missing:
            notes.append(
                f"not compared, because only one of the two fits determines them in this form: {some(list(self.missing), 6)}"
            )
        if old.method != new.method or old.physical != new.physical:
            words = [f"{x.method}{', physically consistent' if x.physical else ''}" for x in (old, new)]
            notes.append(
                f"the two fits use different methods ({' and '.join(words)}), whose errors may differ by more than σ"
            )
        if self.changed and (old.error_scale is None or new.error_scale is None):
            notes.append(
                "σ accounts for the noise of each log, but not for model errors: identify with folds (--folds 5) to include the "
                "spread between parts of a log"
            )
        return tuple(notes)

    def joint_name(self, joint: int) -> str:
        """A joint in words; −1 stands for the shared drives."""
        return f"joint '{self.after.tree_joint_names[joint]}'" if joint >= 0 else "the shared drives"

    def _group_sentence(self, group: GroupChange) -> str:
        mine = sorted((x for x in self.parameters if x.name in group.names), key=lambda x: -abs(x.z))
        clear = [x for x in mine if x.name in self.significant]
        what = f"{KINDS[group.kind]} of {self.joint_name(group.joint)}"
        if not clear:
            names = some([x.name for x in mine])
            return (
                f"{what}: changed as a group (Mahalanobis distance {group.distance:.2g}, p = {group.p:.1g}), although none of "
                f"{names} changed significantly by itself"
            )
        return f"{what}: {some([x.text for x in clear], NAMED)}"

    def _friction_sentence(self, change: FrictionChange) -> str:
        k = int(np.argmax(np.abs(change.z)))
        slides = self.after.prismatic[change.joint]
        torque, speed = ("N", "m/s") if slides else ("N m", "rad/s")
        values = _arrow(float(change.before[k]), float(change.after[k]), torque, float(change.z[k]))
        return (
            f"friction of {self.joint_name(change.joint)}: torque at {change.speeds[k]:.2g} {speed} {values}; the two fits have "
            "different friction laws there"
        )

    def written(self) -> dict[str, Any]:
        """The comparison as data for JSON, with arrays."""
        return {
            "before": self.before.source,
            "before_log_date": self.before.log_date,
            "changed": self.changed,
            "level": self.level,
            "sentences": list(self.sentences),
            "former_error": self.former_error,
            "parameters": [own_fields(ParameterChange, x, "difference", "std", "z") for x in self.parameters],
            "groups": [own_fields(GroupChange, x) for x in self.groups],
            "friction": [own_fields(FrictionChange, x, "z") for x in self.friction],
            "missing": list(self.missing),
        }

    def plot(self) -> Figure:
        """A matplotlib Figure: every parameter before and after with its error bars, and the friction of every joint."""
        return delegate(DELEGATES, "plot")(self)

    def __repr__(self) -> str:
        count = len(self.changed_groups) + len(self.changed_friction)
        words = f"{count} of {len(self.groups)} groups changed" if self.changed else "nothing changed"
        return f"<FitComparison of {self.after.arm!r}: {words}, {len(self.parameters)} parameters>"


@record
class ParameterTrend:
    """One base parameter over several fits: values and std (m,), and the p-value of their spread if it were constant."""

    name: str
    joint: int
    kind: str
    unit: str
    values: Array
    std: Array
    p: float
    adjusted: float = math.nan


@dataclass(frozen=True, eq=False)
class FitTrend:
    """Several identifications of an arm in chronological order.

    records     the fits that are compared
    steps       a :class:`FitComparison` of each fit with the one before it
    parameters  a :class:`ParameterTrend` for each base parameter that all of them determine
    """

    records: tuple[FitRecord, ...]
    steps: tuple[FitComparison, ...]
    parameters: tuple[ParameterTrend, ...]
    level: float = LEVEL

    @property
    def changed(self) -> tuple[ParameterTrend, ...]:
        """The parameters that are not constant, the most significant first."""
        return tuple(sorted((x for x in self.parameters if x.adjusted < self.level), key=lambda x: x.p))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The name of each fit: its file, and the date of its log if the dates differ."""
        days = [(record.log_date or "")[:10] for record in self.records]
        names = [os.path.basename(record.source).removesuffix(".json") for record in self.records]
        dated = zip(names, days if len(set(days)) > 1 else [""] * len(days), strict=True)
        labels = [f"{name} ({day})" if day else name for name, day in dated]
        alike = len(set(labels)) < len(labels)
        return tuple(f"{k}: {label}" if alike else label for k, label in enumerate(labels, 1))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What changed at each step, in words."""
        if len(self.steps) == 1:
            return self.steps[0].sentences
        pairs = zip(self.labels, self.labels[1:], self.steps, strict=False)
        return tuple(f"{a} → {b}: {sentence}" for a, b, step in pairs for sentence in step.sentences)

    def __repr__(self) -> str:
        return f"<FitTrend of {self.records[-1].arm!r}: {len(self.records)} fits, {len(self.changed)} parameters not constant>"


def compare_fits(*fits: AnyFit, level: float = LEVEL) -> FitTrend:
    """A :class:`FitTrend` of several fits of one arm in chronological order: before and after a repair, month by month.

    fits   each an identification, a :class:`FitRecord`, or the path of a file of ``fit.save(…)``
    level  probability of reporting any change although nothing has changed

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("pendulum")
    >>> t = np.arange(0, 20, 0.01)
    >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
    >>> rng = np.random.default_rng(0)
    >>> tau = arm.inverse_dynamics(q, qd, qdd)
    >>> logs = [{"t": t, "q": q, "qd": qd, "tau": tau + 0.1 * rng.standard_normal(tau.shape)} for k in range(3)]
    >>> da.compare_fits(*(da.identify(arm, log, selection=False) for log in logs))
    <FitTrend of 'pendulum': 3 fits, 0 parameters not constant>
    """
    if len(fits) < 2:
        raise DalembertError(f"there is {len(fits)} fit to compare; give at least two, in chronological order")
    records = tuple(as_record(fit) for fit in fits)
    steps = tuple(comparison(after, before, level=level) for before, after in zip(records, fits[1:], strict=False))
    shared = [name for name in records[-1].names if all(_comparable(records[-1], x, name) for x in records)]
    return FitTrend(records, steps, tuple(_adjusted([_trend(records, name) for name in shared])), level)


def _trend(records: Sequence[FitRecord], name: str) -> ParameterTrend:
    places = [record.names.index(name) for record in records]
    values = np.array([record.parameters[k] for record, k in zip(records, places, strict=True)])
    std = np.array([_errors_of(record)[k] for record, k in zip(records, places, strict=True)])
    weight, last, at = np.maximum(std, 1e-300) ** -2.0, records[-1], places[-1]
    mean = float(np.sum(weight * values) / np.sum(weight))
    p = _beyond(float(np.sum(weight * (values - mean) ** 2)), len(records) - 1)
    return ParameterTrend(name, last.joints[at], kind_of_parameter(last, at), unit_of(last, at), values, std, p)


def comparison(after: AnyFit, before: AnyFit, *, level: float = LEVEL) -> FitComparison:
    """See :meth:`Identification.compare`."""
    if not 0 < level < 1:
        raise DalembertError(f"level is {level:g}; it must be a probability between 0 and 1, such as 0.01")
    old, new = as_record(before), as_record(after)
    if old.joint_names != new.joint_names:
        raise DalembertError(
            f"{old.source} belongs to arm '{old.arm}' with joints {some(list(old.joint_names), 4)}, and {new.source} to "
            f"'{new.arm}' with {some(list(new.joint_names), 4)}; compare two fits of the same arm"
        )
    shared = [name for name in new.names if _comparable(new, old, name)]
    if not shared:
        raise DalembertError(
            f"{old.source} and {new.source} have no parameter that both determine; did the geometry of arm '{new.arm}' change "
            "between them?"
        )
    missing = tuple(dict.fromkeys(name for name in (*old.names, *new.names) if name not in shared))
    i, j = ([record.names.index(name) for name in shared] for record in (old, new))
    covariance = _covariance(old)[np.ix_(i, i)] + _covariance(new)[np.ix_(j, j)]
    difference = new.parameters[j] - old.parameters[i]
    changes = []
    for name, a, b in zip(shared, i, j, strict=True):
        stds = (float(_errors_of(old)[a]), float(_errors_of(new)[b]))
        p = math.erfc(
            abs(float(new.parameters[b] - old.parameters[a])) / max(math.hypot(*stds), 1e-300) / math.sqrt(2.0)
        )
        title = "" if (term := new.units[b]) is None else term.title.removeprefix("the ").removesuffix(" friction")
        about = (name, new.joints[b], kind_of_parameter(new, b), title, unit_of(new, b))
        changes.append(ParameterChange(*about, float(old.parameters[a]), float(new.parameters[b]), *stds, p))
    actuated = [new.tree_joint_names.index(name) for name in new.joint_names if name in new.tree_joint_names]
    curves = [change for joint in actuated if (change := _friction_change(old, new, joint)) is not None]
    tested = [x for x in curves if not x.same_law]
    others = {x.joint for x in tested}  # whose friction torques are compared instead of the parameters
    groups = []
    for joint, kind in dict.fromkeys((x.joint, x.kind) for x in changes):
        if kind == "friction" and joint in others:
            continue
        mine = [k for k, x in enumerate(changes) if (x.joint, x.kind) == (joint, kind)]
        square, freedom = mahalanobis(difference[mine], covariance[np.ix_(mine, mine)])
        names = tuple(shared[k] for k in mine)
        groups.append(GroupChange(joint, kind, names, math.sqrt(square), freedom, _beyond(square, freedom)))
    together = _adjusted([*groups, *tested])  # one family of tests
    friction = {x.joint: x for x in (*curves, *together[len(groups) :])}
    return FitComparison(
        old, new, tuple(_adjusted(changes)), tuple(together[: len(groups)]), tuple(friction.values()), missing,
        _former_error(after, old), level,
    )  # fmt: skip


# -- single tests --------------------------------------------------------------------------------


def mahalanobis(difference: Array, covariance: Array) -> tuple[float, int]:
    """(dᵀ Σ⁻¹ d, degrees of freedom), without the directions that Σ knows exactly; infinite if d differs in a variable
    of variance 0.

    >>> mahalanobis(np.array([3.0, 4.0]), np.diag([1.0, 4.0]))
    (13.0, 2)
    """
    std = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    use = std > 0
    if (difference[~use] != 0).any():  # exactly known, and different
        return math.inf, len(difference)
    if not use.any():
        return 0.0, 0
    unit, correlation = difference[use] / std[use], covariance[np.ix_(use, use)] / np.outer(std[use], std[use])
    eigenvalues, vectors = np.linalg.eigh(0.5 * (correlation + correlation.T))
    regular = eigenvalues > SINGULAR * eigenvalues[-1]
    along = vectors[:, regular].T @ unit
    return float(np.sum(along**2 / eigenvalues[regular])), int(regular.sum())


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction: adjusted p-values such that those below α contain any false rejection with probability at most
    α.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order, adjusted = np.argsort(p, kind="stable"), np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(p), 0, -1) * np.asarray(p, float)[order]))
    return adjusted.tolist()


def _adjusted(tests: Sequence[Any]) -> list[Any]:
    """The same tests, with p-values corrected for their number."""
    return [replace(test, adjusted=p) for test, p in zip(tests, holm([x.p for x in tests]), strict=True)]


def _beyond(square: float, freedom: int) -> float:
    """The probability that χ² with this many degrees of freedom is larger."""
    return float(scipy.special.gammaincc(0.5 * freedom, 0.5 * square)) if freedom else 1.0


# -- properties of a record --------------------------------------------------------------------------


def unit_of(record: FitRecord, k: int) -> str:
    """The unit of a base parameter."""
    term, joint = record.units[k], record.joints[k]
    if term is None:
        return {**INERTIA_UNITS, **SLOPE_UNITS}.get(record.names[k].split("_")[0], "kg m²")
    unit = next((x.metadata["unit"] for x in term.numbers() if x.metadata["linear"] and getattr(term, x.name)), "")
    return unit_at(unit, joint >= 0 and record.prismatic[joint])


def _comparable(a: FitRecord, b: FitRecord, name: str) -> bool:
    """Whether both fits determine the parameter, as the same combination, with a finite error."""
    return same_parameter(a, b, name) and all(np.isfinite(_errors_of(x)[x.names.index(name)]) for x in (a, b))


def _errors_of(record: FitRecord) -> Array:
    """Standard deviations, or the spread between folds where it is larger."""
    return record.std if record.error_scale is None else record.std * record.error_scale


def _covariance(record: FitRecord) -> Array:
    scale = 1.0 if record.error_scale is None else np.outer(record.error_scale, record.error_scale)
    return np.nan_to_num(record.covariance, nan=0.0, posinf=0.0, neginf=0.0) * scale


def _friction_change(old: FitRecord, new: FitRecord, joint: int) -> FrictionChange | None:
    """The friction torques of both fits at speeds that both logs reach; None if a joint is at rest in one of them."""
    at = new.joint_names.index(new.tree_joint_names[joint])
    fastest = min(float(old.speeds[at]), float(new.speeds[at]))
    if fastest <= 0:
        return None
    speeds = fastest * np.array(SHARES)
    before, after = (friction_torque(record, joint, speeds) for record in (old, new))
    if before is None or after is None:
        return None
    laws = [_law(record, joint) for record in (old, new)]
    change = FrictionChange(joint, speeds, before[0], after[0], before[1], after[1], laws[0] == laws[1], 1.0)
    p = min(1.0, len(speeds) * math.erfc(float(np.abs(change.z).max()) / math.sqrt(2.0)))
    return replace(change, p=p)


def _law(record: FitRecord, joint: int) -> set[tuple[str, Any]]:
    """The friction terms that a fit determines at a joint, with their shapes and coefficients."""
    return {
        (record.names[k], (unit, tuple((s, round(float(x), 6)) for s, x in zip(record.standard_names, row, strict=True) if x)))
        for k, (unit, row) in enumerate(zip(record.units, record.combinations, strict=True))
        if record.joints[k] == joint and kind_of_parameter(record, k) == "friction"
    }  # fmt: skip


def friction_torque(record: FitRecord, joint: int, speeds: Array) -> tuple[Array, Array] | None:
    """½(τ(v) − τ(−v)) of the friction of an unloaded joint, and its standard deviation; None if nothing is known."""
    rows = np.zeros((len(speeds), len(record.names)))
    for k, unit in enumerate(record.units):
        if record.joints[k] == joint and unit is not None and kind_of_parameter(record, k) == "friction":
            for i, v in enumerate(speeds.tolist()):
                rows[i, k] = 0.5 * float(unit.torque(0.0, v, 0.0) - unit.torque(0.0, -v, 0.0))
    known = np.isfinite(_errors_of(record))
    if not rows.any() or rows[:, ~known].any():
        return None
    variance = np.einsum("ik,kl,il->i", rows[:, known], _covariance(record)[np.ix_(known, known)], rows[:, known])
    return rows @ record.parameters, np.sqrt(np.maximum(variance, 0.0))


def _former_error(after: AnyFit, before: FitRecord) -> float | None:
    """The relative error of the earlier parameters on the log of a later fit; None if the log is not available."""
    if not isinstance(after, Identification):
        return None
    try:
        base = before.base(after.before)
    except DalembertError:  # the geometry has changed since: parameters are still compared where they are the same
        return None
    held = before.runs[0].held
    return make_run(base, before.parameters, after.run.conditioned, before.gains, held).relative_error


def _arrow(before: float, after: float, unit: str, z: float) -> str:
    """``4.1 → 6 N m (+46 %, 8.2 σ)``; the percentage is given unless the earlier value is nearly zero beside the later."""
    ratio = after / before if before else math.inf
    share = f"{100 * (ratio - 1):+.{0 if abs(ratio - 1) > 0.1 else 1}f} %, " if 0.02 < abs(ratio) < 10 else ""
    digits = max(2, 1 - math.floor(math.log10(max(abs(after - before) / max(abs(after), abs(before), 1e-300), 1e-6))))
    sigmas = f"{abs(z):.0f}" if abs(z) >= 10 else f"{abs(z):.2g}"
    text = f"{before:.{digits}g} → {after:.{digits}g} {unit}".rstrip() + f" ({share}{sigmas} σ)"
    return text.replace("-", "−")
