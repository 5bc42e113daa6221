"""The file of an identification: everything that another program, a later comparison or the next motion needs.

``dalembert identify --json`` and :meth:`Identification.save` write it, :func:`read_fit` reads it. The file is JSON with a
``format`` and a ``version``; the reader checks every field, since a file may come from anywhere.
"""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.environment.brief import brief
from dalembert.environment.cached_property import cached_property
from dalembert.environment.version import __version__
from dalembert.errors import DalembertError
from dalembert.files import read_bounded, whole_file
from dalembert.identification.base import BaseParameters, base_parameters
from dalembert.identification.options import CHOICES, EstimatorOptions, FilterOptions, ModelOptions
from dalembert.identification.parameters import FRICTION, SLOPE_UNITS, Drive, JointTerm, ParameterSet, has
from dalembert.terms import TERMS, Offset, Term

if TYPE_CHECKING:
    from dalembert.identification.comparison import FitComparison
    from dalembert.identification.result import Identification, PredictedRun

Array = NDArray[np.float64]

DELEGATES = {"compare": "identification.comparison:comparison"}  # imported when it is first called

FORMAT, VERSION = "dalembert identification", 1
LARGEST = 16 << 20  # bytes, the largest file that is read
SAME = 1e-6  # relative: combinations of parameters that differ by more belong to another geometry
SYMMETRIC = 1e-6  # relative asymmetry of a covariance that rounding may cause
FASTEST = 99.0  # percentile of |q̇| that is used as a joint's largest speed


KINDS = {
    "inertia": "inertial parameters",
    "friction": "friction",
    "offset": "torque offset",
    "position": "springs and position-dependent torque",
}


@brief
@dataclass(frozen=True, eq=False)
class RunErrors:
    """Prediction errors of a fit on one run: relative errors of all joints and of each (n,), rms (n,) in N m or N.

    moving_error, resting_error   the relative error while joints move and while they rest; None if they never do
    held                          the fraction of its dry friction that a joint at rest was predicted to hold
    """

    name: str
    relative_error: float
    joint_errors: Array
    rms: Array
    moving_error: float | None = None
    resting_error: float | None = None
    moving_joint_errors: tuple[float | None, ...] = ()
    resting_joint_errors: tuple[float | None, ...] = ()
    held: float = 0.0


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

    arm: str
    joint_names: tuple[str, ...]
    tree_joint_names: tuple[str, ...]
    prismatic: tuple[bool, ...]
    method: str
    physical: bool
    names: tuple[str, ...]
    formulas: tuple[str, ...]
    parameters: Array
    covariance: Array
    joints: tuple[int, ...]
    units: tuple[Term | None, ...]
    standard_names: tuple[str, ...]
    combinations: Array
    friction_kinds: tuple[tuple[str, ...], ...]
    two_sided: tuple[bool, ...]
    offset: tuple[bool, ...]
    rotor: bool
    terms: tuple[JointTerm, ...]
    drives: tuple[Drive, ...]
    load_from: Array | None
    tolerance: float
    condition: float
    scaled_condition: float
    noise: Array
    correlation: Array
    rate: float
    cutoff: float
    speeds: Array
    essential: tuple[str, ...]
    unidentified: tuple[str, ...]
    runs: tuple[RunErrors, ...]
    gains: Array | None = None
    formula_covariance: Array | None = None  # (b, b) from the formula for stationary residuals, which has full rank
    error_scale: Array | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    log_date: str | None = None
    heated: tuple[int, ...] = ()
    mean_temperature: Array | None = None
    selection: Mapping[str, Any] | None = None
    software: str = __version__
    source: str = "this fit"

    @property
    def n(self) -> int:
        """The number of joints in q."""
        return len(self.joint_names)

    @cached_property
    def std(self) -> Array:
        """Standard deviations (b,); infinite for parameters that the log does not determine."""
        out = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        out[[name in self.unidentified for name in self.names]] = np.inf
        return out

    def __repr__(self) -> str:
        words = f"{len(self.names)} base parameters, relative error {100 * self.runs[0].relative_error:.3g} %"
        return f"<FitRecord of {self.arm!r}: {words}>"

    # -- the parameters for an arm -------------------------------------------------------------

    def parameter_set(self, arm: Arm) -> ParameterSet:
        """The parameter set of the fit, for an arm with the same joints."""
        if arm.joint_names != self.joint_names:
            raise DalembertError(
                f"{self.source} belongs to arm '{self.arm}' with joints {_few(self.joint_names)}, and arm '{arm.name}' has "
                f"{_few(arm.joint_names)}; give the arm that was identified"
            )
        chosen = ParameterSet(
            arm, dict(enumerate(self.friction_kinds)), _which(self.two_sided), _which(self.offset), self.rotor,
            terms=self.terms, drives=self.drives, heated=self.heated, mean_temperature=self.mean_temperature,
        )  # fmt: skip
        if missing := [name for name in self.standard_names if name not in chosen.names]:
            raise DalembertError(
                f"{self.source} has a parameter '{missing[0]}', which arm '{arm.name}' does not have; give the arm that was "
                "identified"
            )
        return replace(chosen, only=self.standard_names, load_from=self.load_from)

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
        terms: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name in arm.joint_names}
        for body, term in self.terms:
            if body in places:
                shape = {x.name: getattr(term, x.name) for x in term.numbers() if x.name not in term.linear()}
                terms[places[body]].setdefault(term.name, []).append(shape)
        for joint in self.heated:
            terms[arm.joint_names[joint]]["temperature"] = [{}]
        model = ModelOptions(
            friction={name: self.friction_kinds[body] for body, name in places.items()},
            two_sided=[name for body, name in places.items() if self.two_sided[body]],
            offset=[name for body, name in places.items() if self.offset[body]],
            rotor=self.rotor,
            coupling=[(drive.i + 1, drive.j + 1, drive.ratio) for drive in self.drives],
            terms=terms,
        )
        chosen = {} if self.selection is None else self.selection["estimator"]
        estimator = EstimatorOptions(method=self.method, physical=self.physical)
        if chosen.get("prior") and "estimator" in (self.selection or {})["chosen"]:
            estimator = replace(
                estimator, prior=arm, prior_deviation=chosen["prior_deviation"], prior_kind=chosen["prior_kind"]
            )
        filtering = FilterOptions(cutoff=self.cutoff)
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
            **{key: plain(getattr(self, key)) for key in (*_PLAIN, "std")},
            "units": [None if unit is None else {unit.name: _numbers_of(unit)} for unit in self.units],
            "terms": [{"joint": joint, term.name: _numbers_of(term)} for joint, term in self.terms],
            "drives": [{"joints": [drive.i, drive.j], "ratio": drive.ratio} for drive in self.drives],
            "runs": [{field.name: plain(getattr(run, field.name)) for field in fields(RunErrors)} for run in self.runs],
        }

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the record as JSON, atomically; :func:`read_fit` reads it."""
        write_json(path, self.written(), overwrite=overwrite)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> FitRecord:
        """The record stored in a file; see :func:`read_fit`."""
        return read_fit(path)


_TABLES = ("units", "terms", "drives", "runs", "source")  # fields that are converted before they are written
_PLAIN = tuple(entry.name for entry in fields(FitRecord) if entry.name not in _TABLES)


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
    return _RecordReader(where, whole).record()


def as_record(source: Identification | FitRecord | str | os.PathLike[str]) -> FitRecord:
    """The record of a fit, of a record itself, or of a file."""
    if isinstance(source, FitRecord):
        return source
    if isinstance(source, str | os.PathLike):
        return read_fit(source)
    record = getattr(source, "record", None)
    if not isinstance(record, FitRecord):
        raise DalembertError(
            f"the fit is a {type(source).__name__}; give an identification, a FitRecord or the path of a file of "
            "'dalembert identify --json'"
        )
    return record


def record_of(fit: Identification) -> FitRecord:
    """The record of an identification, for its file."""
    base, ready, arm = fit.base, fit.run.conditioned, fit.before
    parameters = base.parameters
    if parameters.extra:
        raise DalembertError(
            f"parameter '{parameters.extra[0].name}' belongs to a user-defined column, which cannot be stored in a file; leave "
            "extra columns out, or make them terms"
        )
    members, bodies = [parameters.members[k] for k in base.independent], range(arm.mechanism.tree.n)
    return FitRecord(
        arm=arm.name, joint_names=tuple(arm.joint_names),
        tree_joint_names=tuple(joint.name for joint in arm.robot.tree_joints),
        prismatic=tuple(joint.type == "prismatic" for joint in arm.robot.tree_joints),
        method=fit.method, physical=fit.physical,
        names=fit.names, formulas=fit.formulas, parameters=fit.parameters, covariance=fit.covariance,
        joints=tuple(x.joint for x in members), units=tuple(x.unit for x in members), standard_names=parameters.names,
        combinations=base.K,
        friction_kinds=tuple(tuple(parameters.friction_of(j)) for j in bodies),
        two_sided=tuple(has(parameters.two_sided, j) for j in bodies),
        offset=tuple(has(parameters.offset, j) for j in bodies),
        rotor=parameters.rotor, terms=tuple(parameters.further), drives=tuple(parameters.drives),
        load_from=parameters.load_from, tolerance=base.tolerance, condition=fit.condition,
        scaled_condition=fit.scaled_condition, noise=fit.noise, correlation=fit.correlation, rate=ready.rate / ready.every,
        cutoff=ready.cutoff, speeds=np.percentile(np.abs(ready.qd), FASTEST, axis=0), essential=fit.essential,
        unidentified=fit.unidentified, runs=tuple(_errors(run) for run in (fit.run, *fit.validation)), gains=fit.gains,
        formula_covariance=fit.formula_covariance,
        error_scale=None if fit.folds is None else fit.folds.error_scale,
        notes=fit.notes, warnings=fit.warnings, log_date=_date_of([log.source for log in ready.log.separate]),
        heated=tuple(parameters.heated), mean_temperature=parameters.mean_temperature,
        selection=None if fit.selection is None else fit.selection.as_json(),
    )  # fmt: skip


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


def fit_as_json(fit: Identification) -> dict[str, Any]:
    """Every number of an identification: its record, and the properties of the calibrated arm."""
    return {
        **fit.record.written(),
        **({} if fit.folds is None else {"folds": fit.folds.written()}),
        "lag": plain(fit.lag),
        "positive_definite": fit.positive_definite,
        "smallest_inertia": plain(fit.smallest_inertia),
        "friction": {joint.name: plain(joint.friction.written()) for joint in fit.arm.robot.tree_joints},
    }


def write_json(path: str | os.PathLike[str], plain: Mapping[str, Any], *, overwrite: bool) -> None:
    """Plain data as JSON, with one line per key and per row of a matrix."""
    with whole_file(path, overwrite=overwrite, kinds=(".json",)) as file:
        lines = [f" {json.dumps(key)}: {_value_text(value)}" for key, value in plain.items()]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def _value_text(value: Any) -> str:
    """A value on one line; a list of lists or tables has one line per entry."""
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return "[\n" + ",\n".join(f"  {json.dumps(x, ensure_ascii=False, allow_nan=False)}" for x in value) + "\n ]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _errors(run: PredictedRun) -> RunErrors:
    return RunErrors(**{field.name: getattr(run, field.name) for field in fields(RunErrors)})


def _date_of(sources: Sequence[str]) -> str | None:
    """When the most recent of some files was changed; None if one of them is not a file."""
    try:
        last = max(os.stat(source).st_mtime for source in sources)
    except (OSError, ValueError):
        return None
    return datetime.datetime.fromtimestamp(last, datetime.UTC).isoformat(timespec="seconds")


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" … ({len(names)})" if len(names) > 4 else "")


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


class _RecordReader:
    """The fields of a file, read one by one, each checked for its type and range."""

    def __init__(self, where: str, whole: Any) -> None:
        self.where, self.whole = where, whole

    def wrong(self, words: str) -> DalembertError:
        return DalembertError(f"{self.where}: {words}")

    def record(self) -> FitRecord:
        self._check_format()
        joint_names, tree = self.words("joint_names"), self.words("tree_joint_names")
        names, standard = self.words("names"), self.words("standard_names")
        n, b, p = len(joint_names), len(names), len(standard)
        if not n or len(tree) < n:
            raise self.wrong(
                f"joint_names has {n} names and tree_joint_names {len(tree)}; an arm has at least one joint"
            )
        if len(set(names)) < b:
            raise self.wrong("names contains a name twice; the names of base parameters must be unique")
        covariance = self.numbers("covariance", b, b)
        size = float(np.abs(covariance[np.isfinite(covariance)]).max(initial=0.0))
        if not np.allclose(covariance, covariance.T, rtol=0, atol=SYMMETRIC * size, equal_nan=True):
            raise self.wrong("covariance is not symmetric; the file is damaged")
        if (np.diag(covariance) < 0).any():
            raise self.wrong(
                "covariance has a negative number on its diagonal; variances are at least 0, so the file is damaged"
            )
        joints = self.joint_numbers("joints", b, len(tree))
        return FitRecord(
            arm=self.word("arm"), joint_names=joint_names, tree_joint_names=tree, method=self.word("method"),
            prismatic=self.flags("prismatic", len(tree)), physical=self.flag("physical"), names=names,
            formulas=self.words("formulas", b), parameters=self.finite("parameters", b), covariance=covariance,
            joints=joints, units=self.units(b), standard_names=standard, combinations=self.finite("combinations", b, p),
            friction_kinds=self.frictions(len(tree)), two_sided=self.flags("two_sided", len(tree)),
            offset=self.flags("offset", len(tree)),
            rotor=self.flag("rotor"), terms=self.terms(len(tree)), drives=self.drives(n),
            load_from=None if self.get("load_from") is None else self.finite("load_from", p),
            tolerance=self.positive("tolerance"), condition=self.number("condition"),
            scaled_condition=self.number("scaled_condition"), noise=self.finite("noise", n),
            correlation=self.finite("correlation", n), rate=self.positive("rate"), cutoff=self.positive("cutoff"),
            speeds=self.finite("speeds", n), essential=self.words("essential", known=names),
            unidentified=self.words("unidentified", known=names), runs=self.runs(n), heated=self.heated(n),
            mean_temperature=self.finite("mean_temperature", n) if self.heated(n) else None,
            gains=None if self.get("gains") is None else self.finite("gains", n),
            error_scale=None if self.whole.get("error_scale") is None else self.finite("error_scale", b), notes=self.words("notes"),
            warnings=self.words("warnings"), log_date=None if self.get("log_date") is None else self.word("log_date"),
            selection=self.selection(), software=self.word("software"), source=self.where,
            formula_covariance=None if self.whole.get("formula_covariance") is None else self.finite("formula_covariance", b, b),
        )  # fmt: skip

    def _check_format(self) -> None:
        if not isinstance(self.whole, dict):
            raise self.wrong("this is not the result of an identification; give a file of 'dalembert identify --json'")
        if self.whole.get("format") != FORMAT:
            older = {"names", "parameters", "std"} <= self.whole.keys()
            if older:
                raise self.wrong(
                    "this result was written by an older dalembert, without the covariance that is needed; create it again with "
                    "'dalembert identify --json'"
                )
            raise self.wrong("this is not the result of an identification; give a file of 'dalembert identify --json'")
        version = self.get("version")
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            raise self.wrong(f"version is {_short(version)}; it must be a whole number from 1 to {VERSION}")
        if version > VERSION:
            raise self.wrong(
                f"version is {_short(version)}, and this dalembert reads up to {VERSION}; update dalembert"
            )

    # -- single fields -------------------------------------------------------------------------------

    def get(self, key: str) -> Any:
        if key not in self.whole:
            raise self.wrong(f"'{key}' is missing; the file is damaged or was written by another program")
        return self.whole[key]

    def heated(self, n: int) -> tuple[int, ...]:
        """The joints whose friction depends on the temperature; older files have none."""
        joints = self.whole.get("heated", [])
        if not isinstance(joints, list) or not all(type(j) is int and 0 <= j < n for j in joints):
            raise self.wrong(f"heated is {_short(joints)}; it must be a list of whole numbers from 0 to {n - 1}")
        return tuple(joints)

    def selection(self) -> Mapping[str, Any] | None:
        """What was chosen and tried; None in older files and for a fit in which nothing was chosen."""
        given = self.whole.get("selection")
        if given is None:
            return None
        if not isinstance(given, dict):
            raise self.wrong(f"selection is {_short(given)}; it must be a table or null")
        inside = _RecordReader(f"{self.where}: selection", given)
        if unknown := [name for name in inside.words("chosen") if name not in CHOICES]:
            raise inside.wrong(f"chosen contains '{unknown[0]}'; it must be one of {', '.join(CHOICES)}")
        inside.words("sentences")
        for key in ("error", "plain_error", "band"):
            inside.number(key)
        for key, kind in (("structure", dict), ("drives", list), ("estimator", dict), ("trials", list)):
            if not isinstance(inside.get(key), kind):
                raise inside.wrong(f"{key} is {_short(given[key])}; it must be a {'table' if kind is dict else 'list'}")
        estimator = _RecordReader(f"{self.where}: selection: estimator", given["estimator"])
        estimator.word("method")
        if estimator.flag("prior"):
            estimator.positive("prior_deviation")
            if estimator.get("prior_kind") not in (None, "entropic", "euclidean"):
                raise estimator.wrong(
                    f"prior_kind is {_short(given['estimator']['prior_kind'])}; it must be 'entropic' or 'euclidean'"
                )
        for trial in inside.tables("trials"):
            tried = _RecordReader(f"{self.where}: selection: trials", trial)
            for key in ("choice", "joint", "option"):
                tried.word(key)
            for key in ("error", "gain", "spread", "parameters"):
                tried.number(key)
            tried.flag("chosen")
        return given

    def word(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str):
            raise self.wrong(f"{key} is {_short(value)}; it must be a string")
        return value

    def words(self, key: str, count: int | None = None, known: Sequence[str] | None = None) -> tuple[str, ...]:
        value = self.get(key)
        if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
            raise self.wrong(f"{key} is {_short(value)}; it must be a list of strings")
        if count is not None and len(value) != count:
            raise self.wrong(f"{key} has {len(value)} entries; it must have {count}, one for each base parameter")
        if known is not None and (unknown := [x for x in value if x not in known]):
            raise self.wrong(f"{key} contains '{unknown[0]}', which is not among the base parameters")
        return tuple(value)

    def flag(self, key: str) -> bool:
        value = self.get(key)
        if not isinstance(value, bool):
            raise self.wrong(f"{key} is {_short(value)}; it must be true or false")
        return value

    def flags(self, key: str, count: int) -> tuple[bool, ...]:
        value = self.get(key)
        if not isinstance(value, list) or len(value) != count or not all(isinstance(x, bool) for x in value):
            raise self.wrong(f"{key} is {_short(value)}; it must be a list of {count} values true or false")
        return tuple(value)

    def frictions(self, count: int) -> tuple[tuple[str, ...], ...]:
        value = self.get("friction_kinds")
        if not isinstance(value, list) or len(value) != count or not all(_is_friction(x) for x in value):
            raise self.wrong(
                f"friction_kinds is {_short(value)}; it must be a list of {count} lists, each with any of {' and '.join(FRICTION)}, or empty"
            )
        return tuple(map(tuple, value))

    def numbers(self, key: str, *shape: int, within: Any = None) -> Array:
        """An array of this shape; null is NaN."""
        value = self.get(key) if within is None else within
        out = np.full(shape, np.nan)
        self._fill(key, out, value, shape)
        return out

    def _fill(self, key: str, out: Array, value: Any, shape: tuple[int, ...]) -> None:
        words = "×".join(map(str, shape))
        if not isinstance(value, list) or len(value) != len(out):
            raise self.wrong(f"{key} is {_short(value)}; it must be a list of {words} numbers")
        for k, x in enumerate(value):
            if out.ndim > 1:
                self._fill(key, out[k], x, shape)
            elif x is not None:
                out[k] = self._number(key, x)

    def _number(self, key: str, value: Any) -> float:
        try:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise OverflowError
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.wrong(f"{key} has {_short(value)}; it must be a finite number")
        return number

    def finite(self, key: str, *shape: int) -> Array:
        out = self.numbers(key, *shape)
        if np.isnan(out).any():
            raise self.wrong(f"{key} contains null where a number is needed")
        return out

    def number(self, key: str) -> float:
        """A number; null is infinite."""
        value = self.get(key)
        return math.inf if value is None else self._number(key, value)

    def positive(self, key: str) -> float:
        value = self.number(key)
        if not 0 < value < math.inf:
            raise self.wrong(f"{key} is {_short(self.get(key))}; it must be a number above 0")
        return value

    def joint_numbers(self, key: str, count: int, bodies: int) -> tuple[int, ...]:
        value = self.get(key)
        if not isinstance(value, list) or len(value) != count or not all(_is_index(x, -1, bodies) for x in value):
            raise self.wrong(f"{key} is {_short(value)}; it must be {count} whole numbers from -1 to {bodies - 1}")
        return tuple(value)

    # -- tables --------------------------------------------------------------------------------------

    def tables(self, key: str) -> list[dict[str, Any]]:
        value = self.get(key)
        if not isinstance(value, list) or not all(isinstance(x, dict) for x in value):
            raise self.wrong(f"{key} is {_short(value)}; it must be a list of tables")
        return value

    def term(self, key: str, table: Mapping[str, Any]) -> Term:
        """A term from {name: its numbers}."""
        (name, values), *more = table.items() if table else [("", None)]
        if more or name not in TERMS:
            raise self.wrong(f"{key} has {_short(dict(table))}; it must be one of {', '.join(TERMS)} with its numbers")
        try:
            return TERMS[name].read(values)
        except (DalembertError, TypeError, ValueError, OverflowError) as problem:
            raise self.wrong(f"{key}: {name}: {problem}") from None

    def units(self, count: int) -> tuple[Term | None, ...]:
        value = self.get("units")
        if (
            not isinstance(value, list)
            or len(value) != count
            or not all(x is None or isinstance(x, dict) for x in value)
        ):
            raise self.wrong(f"units is {_short(value)}; it must be a list of {count} tables or null")
        return tuple(None if x is None else self.term("units", x) for x in value)

    def terms(self, bodies: int) -> tuple[JointTerm, ...]:
        out = []
        for table in self.tables("terms"):
            joint = table.get("joint")
            if not _is_index(joint, 0, bodies):
                raise self.wrong(f"terms has joint {_short(joint)}; it must be a whole number from 0 to {bodies - 1}")
            out.append((int(joint), self.term("terms", {k: x for k, x in table.items() if k != "joint"})))  # type: ignore[arg-type]
        return tuple(out)

    def drives(self, n: int) -> tuple[Drive, ...]:
        out = []
        for table in self.tables("drives"):
            pair = table.get("joints")
            if not isinstance(pair, list) or len(pair) != 2 or not all(_is_index(x, 0, n) for x in pair):
                raise self.wrong(f"drives has joints {_short(pair)}; they must be two numbers from 0 to {n - 1}")
            out.append(Drive(pair[0], pair[1], self._number("drives", table.get("ratio"))))
        return tuple(out)

    def runs(self, n: int) -> tuple[RunErrors, ...]:
        out = []
        for table in self.tables("runs"):
            name = table.get("name")
            if not isinstance(name, str):
                raise self.wrong(f"runs has the name {_short(name)}; it must be a string")
            error, joints, rms = (table.get(key) for key in ("relative_error", "joint_errors", "rms"))
            whole = math.nan if error is None else self._number("relative_error", error)
            errors, sizes = (
                self.numbers(f"runs: {key}", n, within=x or []) for key, x in (("joint_errors", joints), ("rms", rms))
            )
            out.append(RunErrors(name, whole, errors, sizes, **self._at_rest(table, n)))
        if not out:
            raise self.wrong("runs is empty; a result has at least the identification run")
        return tuple(out)

    def _at_rest(self, table: Mapping[str, Any], n: int) -> dict[str, Any]:
        """Errors while moving and at rest, and the fraction of friction held at rest; older files lack them."""
        out: dict[str, Any] = {}
        for key in ("moving_error", "resting_error", "held"):
            if table.get(key) is not None:
                out[key] = self._number(key, table[key])
        if not 0 <= out.get("held", 0.0) <= 1:
            raise self.wrong(f"runs: held is {out['held']:g}; it must be a fraction of the friction, from 0 to 1")
        for key in ("moving_joint_errors", "resting_joint_errors"):
            given = table.get(key) or []
            if not isinstance(given, list) or len(given) not in (0, n):
                raise self.wrong(f"runs: {key} is {_short(given)}; it must be a list of {n} numbers or nulls")
            out[key] = tuple(None if x is None else self._number(key, x) for x in given)
        return out


def _is_friction(x: Any) -> bool:
    return isinstance(x, list) and all(isinstance(word, str) and word in FRICTION for word in x)


def _which(flags: Sequence[bool]) -> list[int]:
    """The joints whose flag is set."""
    return [j for j, flag in enumerate(flags) if flag]


def _is_index(x: Any, low: int, end: int) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and low <= x < end


def _short(value: Any) -> str:
    """A value, abbreviated for a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:36] + " …"
