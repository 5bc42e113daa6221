"""The file of an identification: everything that another program, a later comparison or the next motion needs.

``dalembert identify --json`` and :meth:`Identification.save` write it, :func:`read_fit` reads it. The file is JSON with a
``format`` and a ``version``; the reader checks every field, since a file may come from anywhere.
"""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.base.environment.version import __version__
from dalembert.base.files import read_bounded, whole_file
from dalembert.base.tables.located import REQUIRED, Table, finite_float
from dalembert.base.wording import shown, some
from dalembert.errors import DalembertError
from dalembert.robot.terms import TERMS, Offset, Term
from dalembert.work.identification.fitting import fit_options
from dalembert.work.identification.fitting.base_parameters import BaseParameters, base_parameters
from dalembert.work.identification.fitting.covariance import standard_deviations
from dalembert.work.identification.fitting.model_parameters import pattern_of
from dalembert.work.identification.fitting.parameter_set import (
    FRICTION,
    SLOPE_UNITS,
    Drive,
    JointTerm,
    ParameterSet,
    has,
)
from dalembert.work.identification.fitting.result import Identification

if TYPE_CHECKING:
    from dalembert.work.fits.fit_comparison import FitComparison, FitTrend


DELEGATES = {"compare": "work.fits.fit_comparison:comparison"}  # imported when it is first called

FORMAT, VERSION = "dalembert identification", 1
LARGEST = 16 << 20  # bytes, the largest file that is read
SAME = 1e-6  # relative: combinations of parameters that differ by more belong to another geometry
SYMMETRIC = 1e-6  # relative asymmetry of a covariance that rounding may cause
FASTEST = 99.0  # percentile of |q̇| that is used as a joint's largest speed


# fields of a record that a fit has under the same names
OF_FIT = (
    *("method", "physical", "names", "formulas", "parameters", "covariance", "condition", "scaled_condition", "noise"),
    *("correlation", "essential", "unidentified", "gains", "formula_covariance", "notes", "warnings"),
)
KINDS = {
    "inertia": "inertial parameters",
    "friction": "friction",
    "offset": "torque offset",
    "position": "springs and position-dependent torque",
}


def _stored(read: str, *shape: str, null: Any = REQUIRED, default: Any = MISSING) -> Any:
    """A field of a file: the method of :class:`_StoredTable` that reads it, the names of its sizes, and the value of null."""
    return field(default=default, metadata={"read": read, "shape": shape, "null": null})


@record
class RunErrors:
    """Prediction errors of a fit on one run: relative errors of all joints and of each (n,), rms (n,) in N m or N.

    moving_error, resting_error   the relative error while joints move and while they rest; None if they never do
    held                          the fraction of its dry friction that a joint at rest was predicted to hold
    """

    name: str = _stored("text")
    relative_error: float = _stored("number", null=math.nan)
    joint_errors: Array = _stored("array", "n")
    rms: Array = _stored("array", "n")
    moving_error: float | None = _stored("number", null=None, default=None)
    resting_error: float | None = _stored("number", null=None, default=None)
    moving_joint_errors: tuple[float | None, ...] = _stored("some_numbers", "n", default=())
    resting_joint_errors: tuple[float | None, ...] = _stored("some_numbers", "n", default=())
    held: float = _stored("share", null=0.0, default=0.0)


@dataclass(frozen=True, eq=False)
class FitRecord:
    """The content of an identification file: parameters, their covariance, and the model that they belong to.

    arm            name of the arm; ``joint_names`` (n) and ``tree_joint_names`` (passive joints included) identify its
                   geometry together with ``combinations``
    names          of the base parameters (b,); ``formulas``: each as a sum of standard parameters
    parameters     (b,), ``covariance`` (b, b); zero rows for parameters that the log does not determine (``unidentified``)
    joints, units  for each base parameter, its joint of the tree from 0 (−1: none) and its term with a unit coefficient
                   (None for an inertia)
    combinations   K (b, p) with π_base = K π, over the standard parameters ``standard_names``
    friction_kinds, two_sided, offset
                   for every joint of the tree: its friction, any of "viscous" and "coulomb"; whether Coulomb friction has
                   one level per direction; whether there is a constant torque
    rotor, terms, drives, load_from
                   the rest of the model, as arguments of :class:`ParameterSet`
    noise          σ_j (n,) of the kept residuals; ``correlation``: number of kept samples per independent sample
    rate           kept samples per second; ``cutoff`` of the low-pass (Hz)
    speeds         (n,) 99th percentile of the speed of each joint
    error_scale    (b,) at least 1: the factor on ``std`` that accounts for the spread between folds, if there were folds
    runs           errors on the identification run and on the validation runs
    heated, mean_temperature
                   joints whose friction depends on the temperature, and the mean temperature of each joint in the log (°C)
    log_date       when the log file was last changed (ISO 8601, UTC), if the log came from a file
    selection      the choices of the cross-validation and all candidates, as plain data; None if nothing was chosen
    closed_loop    the gains and times of the controller and the errors of positions, as plain data; None for a fit of torques
    software       the version of dalembert that wrote the file

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("pendulum")
    >>> t = np.arange(0, 20, 0.01)
    >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
    >>> fit = da.identify(arm, {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}, selection=False)
    >>> record = fit.record
    >>> record.names == fit.names, record.base(arm).rank == len(fit.names)
    (True, True)
    """

    arm: str = _stored("text")
    joint_names: tuple[str, ...] = _stored("texts")
    tree_joint_names: tuple[str, ...] = _stored("texts")
    prismatic: tuple[bool, ...] = _stored("flags", "tree")
    method: str = _stored("text")
    physical: bool = _stored("flag")
    names: tuple[str, ...] = _stored("texts")
    formulas: tuple[str, ...] = _stored("texts", "b")
    parameters: Array = _stored("finite", "b")
    covariance: Array = _stored("array", "b", "b")
    joints: tuple[int, ...] = _stored("joints", "b", "tree")
    units: tuple[Term | None, ...] = _stored("units", "b")
    standard_names: tuple[str, ...] = _stored("texts")
    combinations: Array = _stored("finite", "b", "p")
    friction_kinds: tuple[tuple[str, ...], ...] = _stored("frictions", "tree")
    two_sided: tuple[bool, ...] = _stored("flags", "tree")
    offset: tuple[bool, ...] = _stored("flags", "tree")
    rotor: bool = _stored("flag")
    terms: tuple[JointTerm, ...] = _stored("terms", "tree")
    drives: tuple[Drive, ...] = _stored("drives", "n")
    load_from: Array | None = _stored("finite", "p", null=None)
    tolerance: float = _stored("positive")
    condition: float = _stored("number", null=math.inf)
    scaled_condition: float = _stored("number", null=math.inf)
    noise: Array = _stored("finite", "n")
    correlation: Array = _stored("finite", "n")
    rate: float = _stored("positive")
    cutoff: float = _stored("positive")
    speeds: Array = _stored("finite", "n")
    essential: tuple[str, ...] = _stored("base_names")
    unidentified: tuple[str, ...] = _stored("base_names")
    runs: tuple[RunErrors, ...] = _stored("runs")
    gains: Array | None = _stored("finite", "n", null=None, default=None)
    # (b, b) from the formula for stationary residuals, which has full rank
    formula_covariance: Array | None = _stored("finite", "b", "b", null=None, default=None)
    error_scale: Array | None = _stored("finite", "b", null=None, default=None)
    notes: tuple[str, ...] = _stored("texts", default=())
    warnings: tuple[str, ...] = _stored("texts", default=())
    log_date: str | None = _stored("text", null=None, default=None)
    heated: tuple[int, ...] = _stored("heated", "n", default=())
    mean_temperature: Array | None = _stored("finite", "n", null=None, default=None)
    selection: Mapping[str, Any] | None = _stored("selection", null=None, default=None)
    closed_loop: Mapping[str, Any] | None = _stored("closed_loop", null=None, default=None)
    software: str = _stored("text", default=__version__)
    source: str = "this fit"

    @property
    def n(self) -> int:
        """The number of joints in q."""
        return len(self.joint_names)

    @cached_property
    def std(self) -> Array:
        """Standard deviations (b,); infinite for parameters that the log does not determine."""
        return standard_deviations(self.covariance, self.names, self.unidentified)

    def __repr__(self) -> str:
        words = f"{len(self.names)} base parameters, relative error {100 * self.runs[0].relative_error:.3g} %"
        return f"<FitRecord of {self.arm!r}: {words}>"

    # -- the parameters for an arm -------------------------------------------------------------

    def parameter_set(self, arm: Arm) -> ParameterSet:
        """The parameter set of the fit, for an arm with the same joints."""
        if arm.joint_names != self.joint_names:
            raise DalembertError(
                f"{self.source} belongs to arm '{self.arm}' with joints {some(self.joint_names, 4)}, and arm '{arm.name}' has "
                f"{some(arm.joint_names, 4)}; give the arm that was identified"
            )
        model_parameters = ParameterSet(
            arm, dict(enumerate(self.friction_kinds)), np.flatnonzero(self.two_sided).tolist(),
            np.flatnonzero(self.offset).tolist(), self.rotor, terms=self.terms, drives=self.drives, heated=self.heated,
            mean_temperature=self.mean_temperature,
        )  # fmt: skip
        if missing := [name for name in self.standard_names if name not in model_parameters.names]:
            raise DalembertError(
                f"{self.source} has a parameter '{missing[0]}', which arm '{arm.name}' does not have; give the arm that was "
                "identified"
            )
        return replace(model_parameters, only=self.standard_names, load_from=self.load_from)

    def base(self, arm: Arm) -> BaseParameters:
        """The base parameters of this record, for an arm with the same geometry; a different geometry raises an error."""
        base = base_parameters(self.parameter_set(arm), self.tolerance)
        size = np.maximum(np.abs(self.combinations).max(initial=0.0), 1.0)
        if base.names != self.names or np.abs(base.K - self.combinations).max(initial=0.0) > SAME * size:
            raise DalembertError(
                f"{self.source} belongs to an arm '{self.arm}' of another geometry: its {len(self.names)} base parameters differ "
                f"from the {base.rank} of arm '{arm.name}'; give the arm that was identified"
            )
        return base

    def options(self, arm: Arm) -> dict[str, Any]:
        """Keywords of :func:`dalembert.identify` that request the model, the cut-off and the estimator of this record.

        ``da.identify(arm, log, **record.options(arm))`` chooses nothing. A prior that the selection chose, the arm's
        own inertias, is included; a prior that was given is not stored in the file and must be given again, and so must
        bounds.

        >>> import numpy as np, dalembert as da
        >>> arm, t = da.load("pendulum"), np.arange(0, 20, 0.01)
        >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
        >>> log = {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}
        >>> fit = da.identify(arm, log, cutoff=5.0, offset=False, selection=False)
        >>> again = da.identify(arm, log, **fit.record.options(arm))
        >>> again.names == fit.names, bool(np.allclose(again.parameters, fit.parameters))
        (True, True)
        """
        self.parameter_set(arm)  # raises an error for a different arm
        places = dict(zip(arm.mechanism.actuated, arm.joint_names, strict=True))
        own = ((places[body], term) for body, term in self.terms if body in places)
        terms = pattern_of(arm.joint_names, own, (arm.joint_names[joint] for joint in self.heated))
        model = fit_options.ModelOptions(
            friction={name: self.friction_kinds[body] for body, name in places.items()},
            two_sided=[name for body, name in places.items() if self.two_sided[body]],
            offset=[name for body, name in places.items() if self.offset[body]],
            rotor=self.rotor,
            coupling=[(drive.i + 1, drive.j + 1, drive.ratio) for drive in self.drives],
            terms=terms,
        )
        tried = {} if self.selection is None else self.selection["estimator"]
        estimator = fit_options.EstimatorOptions(method=self.method, physical=self.physical)
        if tried.get("prior") and "estimator" in (self.selection or {})["chosen"]:
            estimator = replace(
                estimator, prior=arm, prior_deviation=tried["prior_deviation"], prior_kind=tried["prior_kind"]
            )
        filtering = fit_options.FilterOptions(cutoff=self.cutoff)
        return {"model": model, "filtering": filtering, "estimator": estimator, "selection": False}

    def compare(self, before: FitRecord | str | os.PathLike[str], *, level: float = 0.01) -> FitComparison:
        """Changes since an earlier fit of the arm; see :meth:`Identification.compare`."""
        return delegate(DELEGATES, "compare")(self, before, level=level)

    # -- the file ------------------------------------------------------------------------------------

    def written(self) -> dict[str, Any]:
        """The record as plain data for JSON; infinite and undefined numbers become null."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **{key: plain(x) for key, x in own_fields(FitRecord, self, "std").items() if key not in _TABLES},
            "units": [None if unit is None else {unit.name: _numbers_of(unit)} for unit in self.units],
            "terms": [{"joint": joint, term.name: _numbers_of(term)} for joint, term in self.terms],
            "drives": [{"joints": [drive.i, drive.j], "ratio": drive.ratio} for drive in self.drives],
            "runs": [plain(own_fields(RunErrors, run)) for run in self.runs],
        }

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the record as JSON, atomically; :func:`read_fit` reads it."""
        write_json(path, self.written(), overwrite=overwrite)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> FitRecord:
        """The record stored in a file; see :func:`read_fit`."""
        return read_fit(path)


_TABLES = ("units", "terms", "drives", "runs", "source")  # fields that are converted before they are written


def read_fit(path: str | os.PathLike[str]) -> FitRecord:
    """The :class:`FitRecord` in a file that ``fit.save(…)`` or ``dalembert identify --json`` wrote.

    A file of more than 16 MiB, or one that is not such a record, raises a one-sentence error.

    >>> import tempfile, numpy as np, dalembert as da
    >>> arm = da.load("pendulum")
    >>> t = np.arange(0, 20, 0.01)
    >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
    >>> fit = da.identify(arm, {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}, selection=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fit.save(f"{folder}/fit.json")
    ...     record = da.read_fit(f"{folder}/fit.json")
    >>> bool((record.parameters == fit.parameters).all())
    True
    """
    where = os.fspath(path)
    content = read_bounded(path, LARGEST, "result of an identification")
    try:
        whole = json.loads(content, parse_constant=_no_constant)
    except RecursionError:
        raise DalembertError(f"{where}: the file is nested too deeply to be the result of an identification") from None
    except ValueError as problem:
        raise DalembertError(
            f"{where}: this is not JSON ({problem}); give a file of 'dalembert identify --json'"
        ) from None
    return _record_of_file(whole, where)


def as_record(source: Identification | FitRecord | str | os.PathLike[str]) -> FitRecord:
    """The record of a fit or file; a record is returned unchanged."""
    if isinstance(source, FitRecord):
        return source
    if isinstance(source, str | os.PathLike):
        return read_fit(source)
    if not isinstance(source, Identification):
        raise DalembertError(
            f"the fit is a {type(source).__name__}; give an identification, a FitRecord or the path of a file of "
            "'dalembert identify --json'"
        )
    return source.record


def record_of(fit: Identification) -> FitRecord:
    """The record of an identification, for its file."""
    base, ready, arm = fit.base, fit.run.conditioned, fit.before
    parameters = base.parameters
    if parameters.extra:
        raise DalembertError(
            f"parameter '{parameters.extra[0].name}' belongs to a user-defined column, which cannot be stored in a file; leave "
            "extra columns out, or make them terms"
        )
    members, joints = [parameters.members[k] for k in base.independent], arm.robot.tree_joints
    return FitRecord(
        arm=arm.name, joint_names=tuple(arm.joint_names), tree_joint_names=tuple(joint.name for joint in joints),
        prismatic=tuple(joint.type == "prismatic" for joint in joints), **{key: getattr(fit, key) for key in OF_FIT},
        joints=tuple(x.joint for x in members), units=tuple(x.unit for x in members), standard_names=parameters.names,
        combinations=base.K, friction_kinds=tuple(tuple(parameters.friction_of(j)) for j in range(len(joints))),
        two_sided=tuple(has(parameters.two_sided, j) for j in range(len(joints))),
        offset=tuple(has(parameters.offset, j) for j in range(len(joints))),
        rotor=parameters.rotor, terms=tuple(parameters.further), drives=tuple(parameters.drives),
        load_from=parameters.load_from, tolerance=base.tolerance, rate=ready.rate / ready.every, cutoff=ready.cutoff,
        speeds=np.percentile(np.abs(ready.qd), FASTEST, axis=0),
        runs=tuple(RunErrors(**own_fields(RunErrors, run)) for run in (fit.run, *fit.validation)),
        error_scale=None if fit.folds is None else fit.folds.error_scale,
        log_date=_date_of([log.source for log in ready.log.separate]), heated=tuple(parameters.heated),
        mean_temperature=parameters.mean_temperature,
        selection=None if fit.selection is None else fit.selection.as_json(),
        closed_loop=None if fit.closed_loop is None else plain(fit.closed_loop.as_json()),
    )  # fmt: skip


def own_fields(kind: type[Any], source: Any, *further: str) -> dict[str, Any]:
    """What an object has under the names of the fields of a record, and under further names."""
    return {name: getattr(source, name) for name in (*(entry.name for entry in fields(kind)), *further)}


def kind_of_parameter(record: FitRecord, k: int) -> str:
    """The kind of a base parameter, a key of ``KINDS``."""
    unit = record.units[k]
    if record.names[k].split("_")[0] in SLOPE_UNITS:
        return "friction"
    if unit is None:
        return "inertia"
    if isinstance(unit, Offset):
        return "offset"
    return "friction" if {"qd", "load"} & set(unit.of) else "position"


def same_parameter(a: FitRecord, b: FitRecord, name: str) -> bool:
    """Whether a name denotes the same combination of the same terms in both."""
    if name not in a.names or name not in b.names:
        return False
    i, j = a.names.index(name), b.names.index(name)
    if a.units[i] != b.units[j]:
        return False
    rows = [dict(zip(x.standard_names, x.combinations[k], strict=True)) for x, k in ((a, i), (b, j))]
    size = max(1.0, *(abs(value) for row in rows for value in row.values()))
    return all(abs(rows[0].get(key, 0.0) - rows[1].get(key, 0.0)) <= SAME * size for key in rows[0] | rows[1])


def save_fit(
    fit: Identification, path: str | os.PathLike[str], compared: FitTrend | None = None, *, overwrite: bool = False
) -> None:
    """See :meth:`Identification.save`."""
    whole = {
        **fit.record.written(),
        **({} if fit.folds is None else {"folds": fit.folds.written()}),
        "lag": plain(fit.lag),
        "positive_definite": fit.positive_definite,
        "smallest_inertia": plain(fit.smallest_inertia),
        "friction": {joint.name: plain(joint.friction.written()) for joint in fit.arm.robot.tree_joints},
        **({} if compared is None else {"comparisons": [plain(step.written()) for step in compared.steps]}),
    }
    write_json(path, whole, overwrite=overwrite)


def write_json(path: str | os.PathLike[str], plain: Mapping[str, Any], *, overwrite: bool) -> None:
    """Plain data as JSON, with one line per key and per row of a matrix or a list of tables."""
    text, lines = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode, []
    for key, value in plain.items():
        rows = isinstance(value, list) and value and isinstance(value[0], list | dict)
        shown = "[\n" + ",\n".join(f"  {text(x)}" for x in value) + "\n ]" if rows else text(value)
        lines.append(f" {json.dumps(key)}: {shown}")
    with whole_file(path, overwrite=overwrite, kinds=(".json",)) as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def _date_of(sources: Sequence[str]) -> str | None:
    """When the most recent of some files was changed; None if one of them is not a file."""
    try:
        last = max(os.stat(source).st_mtime for source in sources)
    except (OSError, ValueError):
        return None
    return datetime.datetime.fromtimestamp(last, datetime.UTC).isoformat(timespec="seconds")


def plain(value: Any) -> Any:
    """Arrays as lists, and null for numbers that JSON does not have."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {key: plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _numbers_of(term: Term) -> dict[str, Any]:
    """All numbers of a term by name, as :meth:`Term.read` takes them, including those that robot files omit."""
    values = {entry.name: plain(getattr(term, entry.name)) for entry in term.numbers()}
    return values if term.physical else {**values, "physical": False}


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")


class _StoredTable(Table):
    """A table of a file of an identification: a method per kind of field; ``sizes`` are the lengths of its arrays."""

    error = DalembertError
    sizes: Mapping[str, int] = MappingProxyType({})
    names: Sequence[str] = ()  # of the base parameters

    def label(self, key: str) -> str:
        return key

    def missing(self, key: str) -> str:
        return f": '{key}' is missing; the file is damaged or was written by another program"

    def inner(self, key: str, data: Any) -> _StoredTable:
        inner = _StoredTable(data, f"{self.where}: {key}", None)
        inner.sizes, inner.names = self.sizes, self.names
        return inner

    def fields(self, kind: type[Any]) -> dict[str, Any]:
        """The fields of a record that this table stores."""
        return {entry.name: self.field(entry) for entry in fields(kind) if "read" in entry.metadata}

    def field(self, entry: Field[Any]) -> Any:
        """A field of a record; a missing one has its default, and null the value that the field declares."""
        key, value = entry.name, self.raw(entry.name)
        if value is REQUIRED and entry.default is not MISSING:
            return entry.default
        if value is None and entry.metadata["null"] is not REQUIRED:
            return entry.metadata["null"]
        sizes = [self.sizes[name] for name in entry.metadata["shape"]]
        return getattr(self, entry.metadata["read"])(key, *sizes)

    # -- single values -------------------------------------------------------------------------------

    def scalar(self, key: str, value: Any, **_: Any) -> float:
        number = finite_float(value)
        if number is None:
            raise self.wrong(key, value, "a finite number")
        return number

    def positive(self, key: str) -> float:
        value = self.number(key)
        if value <= 0:
            raise self.wrong(key, self.get(key), "a number above 0")
        return value

    def share(self, key: str) -> float:
        value = self.number(key)
        if not 0 <= value <= 1:
            raise self.wrong(key, value, "a fraction of the friction, from 0 to 1")
        return value

    def term(self, key: str, table: Mapping[str, Any]) -> Term:
        """A term from {name: its numbers}."""
        (name, values), *more = table.items() if table else [("", None)]
        if more or name not in TERMS:
            raise self.error(
                f"{self.where}: {key} has {shown(dict(table))}; it must be one of {', '.join(TERMS)} with its numbers"
            )
        try:
            return TERMS[name].read(values)
        except (DalembertError, TypeError, ValueError, OverflowError) as problem:
            raise self.error(f"{self.where}: {key}: {name}: {problem}") from None

    # -- lists and arrays ----------------------------------------------------------------------------

    def each(self, key: str, must: str, valid: Callable[[Any], bool], count: int | None = None) -> tuple[Any, ...]:
        value = self.get(key)
        if not (isinstance(value, list) and count in (None, len(value)) and all(map(valid, value))):
            raise self.wrong(key, value, f"a list of {must}" if count is None else f"a list of {count} {must}")
        return tuple(value)

    def texts(self, key: str, default: Any = None) -> tuple[str, ...]:
        return self.each(key, "strings", lambda x: isinstance(x, str), default)

    def base_names(self, key: str) -> tuple[str, ...]:
        if unknown := [x for x in self.texts(key) if x not in self.names]:
            raise self.error(f"{self.where}: {key} contains '{unknown[0]}', which is not among the base parameters")
        return self.texts(key)

    def flags(self, key: str, count: int) -> tuple[bool, ...]:
        return self.each(key, "values true or false", lambda x: isinstance(x, bool), count)

    def frictions(self, key: str, count: int) -> tuple[tuple[str, ...], ...]:
        """The kinds of friction of each joint."""
        must = f"lists, each with any of {' and '.join(FRICTION)}, or empty"
        lists = self.each(key, must, lambda x: isinstance(x, list) and all(word in FRICTION for word in x), count)
        return tuple(map(tuple, lists))

    def joints(self, key: str, count: int, bodies: int) -> tuple[int, ...]:
        """Joints of the tree; −1 for none."""
        return self.each(key, f"whole numbers from -1 to {bodies - 1}", lambda x: _is_index(x, -1, bodies), count)

    def heated(self, key: str, n: int) -> tuple[int, ...]:
        """The joints whose friction depends on the temperature."""
        return self.each(key, f"whole numbers from 0 to {n - 1}", lambda x: _is_index(x, 0, n))

    def some_numbers(self, key: str, n: int) -> tuple[float | None, ...]:
        """Numbers, null where there are none; an empty list if there are none at all."""
        value = self.get(key) or []
        if not isinstance(value, list) or len(value) not in (0, n):
            raise self.wrong(key, value, f"a list of {n} numbers or nulls")
        return tuple(None if x is None else self.scalar(key, x) for x in value)

    def array(self, key: str, *shape: int) -> Array:
        """An array of this shape; null is NaN."""
        must = f"a list of {'×'.join(map(str, shape))} numbers"

        def filled(value: Any, depth: int) -> list[Any]:
            items = self.items(key, value, shape[depth : depth + 1], must)
            if depth + 1 < len(shape):
                return [filled(x, depth + 1) for x in items]
            return [math.nan if x is None else self.scalar(key, x) for x in items]

        return np.array(filled(self.get(key), 0), float).reshape(shape)

    def finite(self, key: str, *shape: int) -> Array:
        out = self.array(key, *shape)
        if np.isnan(out).any():
            raise self.error(f"{self.where}: {key} contains null where a number is needed")
        return out

    # -- tables --------------------------------------------------------------------------------------

    def tables(self, key: str) -> tuple[dict[str, Any], ...]:
        return self.each(key, "tables", lambda x: isinstance(x, dict))

    def units(self, key: str, count: int) -> tuple[Term | None, ...]:
        units = self.each(key, "tables or null", lambda x: x is None or isinstance(x, dict), count)
        return tuple(None if x is None else self.term(key, x) for x in units)

    def terms(self, key: str, bodies: int) -> tuple[JointTerm, ...]:
        terms = []
        for table in self.tables(key):
            joint: Any = table.get("joint")
            if not _is_index(joint, 0, bodies):
                raise self.error(
                    f"{self.where}: terms has joint {shown(joint)}; it must be a whole number from 0 to {bodies - 1}"
                )
            terms.append((int(joint), self.term(key, {k: x for k, x in table.items() if k != "joint"})))
        return tuple(terms)

    def drives(self, key: str, n: int) -> tuple[Drive, ...]:
        drives = []
        for table in self.tables(key):
            pair = table.get("joints")
            if not isinstance(pair, list) or len(pair) != 2 or not all(_is_index(x, 0, n) for x in pair):
                raise self.error(
                    f"{self.where}: drives has joints {shown(pair)}; they must be two numbers from 0 to {n - 1}"
                )
            drives.append(Drive(pair[0], pair[1], self.scalar(key, table.get("ratio"))))
        return tuple(drives)

    def runs(self, key: str) -> tuple[RunErrors, ...]:
        runs = tuple(RunErrors(**self.inner(key, table).fields(RunErrors)) for table in self.tables(key))
        if not runs:
            raise self.error(f"{self.where}: runs is empty; a result has at least the identification run")
        return runs

    def selection(self, key: str) -> Mapping[str, Any]:
        inside = self.inner(key, self.get(key))
        inside.check(texts="sentences", limit="error plain_error band")
        known = (*fit_options.CHOICES, *fit_options.FORMER_CHOICES)
        if unknown := [name for name in inside.texts("chosen") if name not in known]:
            raise inside.wrong("chosen", unknown[0], f"one of {', '.join(known)}")
        for name, kind, word in (("structure", dict, "table"), ("drives", list, "list")):
            if not isinstance(inside.get(name), kind):
                raise inside.wrong(name, inside.get(name), f"a {word}")
        estimator = inside.inner("estimator", inside.get("estimator"))
        estimator.text("method")
        if estimator.flag("prior"):
            estimator.positive("prior_deviation")
            estimator.choice("prior_kind", (None, "entropic", "euclidean"))
        for trial in inside.tables("trials"):
            numbers = "error gain spread parameters"
            inside.inner("trials", trial).check(text="choice joint option", flag="chosen", limit=numbers)
        return inside.data

    def closed_loop(self, key: str) -> Mapping[str, Any]:
        inside = self.inner(key, self.get(key))
        inside.check(text="scale", number="delay delay_std lateness lateness_std")
        for table in (inside.inner(name, inside.get(name)) for name in ("gains", "gains_std")):
            for gain in table.data:
                table.some_numbers(gain, inside.sizes["n"])
        for run in inside.tables("runs"):
            inside.inner("runs", run).check(text="name", number="relative_error")
        return inside.data

    def limit(self, key: str) -> float:
        """A number; null is infinite."""
        return math.inf if self.get(key) is None else self.number(key)

    def check(self, **kinds: str) -> None:
        """Refuse values of the wrong kind: methods that read them, and the keys for each."""
        for kind, keys in kinds.items():
            for key in keys.split():
                getattr(self, kind)(key)


def _record_of_file(whole: Any, where: str) -> FitRecord:
    """The record in the content of a file."""
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise DalembertError(
            f"{where}: this is not the result of an identification, or one of an older dalembert, without the covariance that "
            "is needed; create it with 'dalembert identify --json'"
        )
    version = whole.get("version")
    if not _is_index(version, 1, VERSION + 1):
        raise DalembertError(
            f"{where}: version is {shown(version)}, and this dalembert reads 1 to {VERSION}; update dalembert for a later one"
        )
    table = _StoredTable(whole, where, None)
    keys = {"n": "joint_names", "tree": "tree_joint_names", "b": "names", "p": "standard_names"}
    table.sizes = {size: len(table.texts(key)) for size, key in keys.items()}
    table.names = table.texts("names")
    n, tree, b = (table.sizes[size] for size in ("n", "tree", "b"))
    if not n or tree < n:
        raise DalembertError(
            f"{where}: joint_names has {n} names and tree_joint_names {tree}; an arm has at least one joint"
        )
    if len(set(table.names)) < b:
        raise DalembertError(f"{where}: names contains a name twice; the names of base parameters must be unique")
    record = FitRecord(**table.fields(FitRecord), source=where)
    if record.heated and record.mean_temperature is None:
        raise table.wrong(
            "mean_temperature", None, f"a list of {n} numbers, because friction depends on the temperature"
        )
    covariance = record.covariance
    size = float(np.abs(covariance[np.isfinite(covariance)]).max(initial=0.0))
    if not np.allclose(covariance, covariance.T, rtol=0, atol=SYMMETRIC * size, equal_nan=True):
        raise DalembertError(f"{where}: covariance is not symmetric; the file is damaged")
    if (np.diag(covariance) < 0).any():
        raise DalembertError(
            f"{where}: covariance has a negative number on its diagonal; variances are at least 0, so the file is damaged"
        )
    return record


def _is_index(x: Any, low: int, end: float) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and low <= x < end
