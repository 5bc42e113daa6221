"""``identify``: the dynamic parameters of an arm from a log of its motion, S 7.4."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.arm.resuming import resumable_run
from dalembert.base.arrays import number
from dalembert.base.files.journal import Journal, Resume
from dalembert.base.wording import some
from dalembert.compiler.kernel.one_thread import one_thread
from dalembert.errors import DalembertError
from dalembert.robot.model.inertia import Inertia, ten_parameters
from dalembert.work.identification.fitting.fit_options import (
    AskedSettings,
    EstimatorOptions,
    FilterOptions,
    ModelOptions,
    SelectionOptions,
    ValidationOptions,
    settle,
)
from dalembert.work.identification.fitting.hints import hints
from dalembert.work.identification.fitting.log_equations import LogEquations, Progress
from dalembert.work.identification.fitting.model_parameters import (
    belief_of,
    friction_of,
    gradual_terms,
    parameter_set,
    stribeck_terms,
)
from dalembert.work.identification.fitting.parameter_set import ParameterSet, has_rotors
from dalembert.work.identification.fitting.result import Identification, make_run
from dalembert.work.identification.fitting.result import IdentificationWarning as IdentificationWarning
from dalembert.work.identification.fitting.solution import KnownLoad, solution
from dalembert.work.identification.fitting.tip_load import check_free_tip
from dalembert.work.identification.records.leave_one_out import cross_validated
from dalembert.work.identification.selection.blocks import TooShortError
from dalembert.work.identification.selection.selection_run import choose
from dalembert.work.logs.alignment import aligned, earlier_torques
from dalembert.work.logs.checks.plausible_units import findings, suspicions
from dalembert.work.logs.conditioning import Conditioned, condition
from dalembert.work.logs.log import EPISODE, Log, Source, joined, read_log

LOADS = 12  # maximum number of fits in the fixed-point iteration for load-dependent terms
SETTLED = 1e-6  # relative change of the torques below which the iteration has converged
WORSE = 2.0  # a converged fit may be worse than the best earlier one by at most this factor
NOTHING = 1e-30  # N m: smaller torques count as zero
MOST_MASS = 1e6  # kg, largest mass of a known payload
PAYLOAD = tuple(entry.name for entry in fields(Inertia))
SUGGESTED = ("coupling", "balance", "sigmoid", "stribeck")  # options that the residuals may suggest
MOST_RUNS = 20  # runs that are checked individually for wrong units, signs and joint order
WRONG_ARM = 0.5  # relative error above which the log probably belongs to another arm


@one_thread()
def identify(
    arm: Arm,
    log: Source | Sequence[Source],
    validate: Source | Sequence[Source] | None = None,
    method: str | None = None,
    physical: bool | None = None,
    prior: Arm | None = None,
    *,
    model: ModelOptions | None = None,
    filtering: FilterOptions | None = None,
    estimator: EstimatorOptions | None = None,
    validation: ValidationOptions | None = None,
    selection: SelectionOptions | bool | None = None,
    progress: Progress | None = None,
    resume: Resume = False,
    **options: Any,
) -> Identification:
    """The dynamic parameters of an arm, identified from a log of its motion: t, q, optionally qd, and torques or currents.

    arm         the arm whose geometry is used; its inertias, where known, are the starting point of the calibrated arm
    log         a path (.csv .npz .mat .parquet .bag .db3 .mcap, the folder of a LeRobot dataset), a dict of arrays t, q,
                qd, tau, or a list of them
    validate    other runs on which the result is validated
    method      of the estimator: "ordinary", "weighted", "reweighted", "robust", "energy", "damped", "sequential" or
                "total"; for physical and prior see :class:`dalembert.EstimatorOptions`
    model       friction, offsets, rotors, couplings, springs: :class:`dalembert.ModelOptions`
    filtering   cut-off and sampling: :class:`dalembert.FilterOptions`
    estimator   how the equations are solved: :class:`dalembert.EstimatorOptions`
    validation  parts of the log that are kept for validation: :class:`dalembert.ValidationOptions`
    selection   how the options that are not specified are chosen, by blocked cross-validation:
                :class:`dalembert.SelectionOptions`; False chooses nothing and uses viscous and Coulomb friction and an
                offset at every joint, weighted least squares, and a cut-off from the spectrum of the motion
    progress    called with a description and the fraction done
    resume      True keeps every candidate, estimator and fold that was scored on disk, so that the same call resumes an
                identification that was interrupted, with the same bits; a function is also called with a sentence that
                says what is resumed
    options     any field of these groups by name, such as ``cutoff=5.0``, which pins it; and how the log is
                read: columns, gains, gears, motor_side, units, time_unit, rate, joint_names, topic, episodes
                (:func:`logs.read_log`)

    ``fit.selection`` lists the models that were tried, their scores, and why the winner was chosen.

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("pendulum")
    >>> t = np.arange(0, 20, 0.01)
    >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
    >>> log = {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}
    >>> fit = da.identify(arm, log)
    >>> fit.relative_error < 0.01, fit.arm.n
    (True, 1)
    """
    groups = {"model": model, "filtering": filtering, "estimator": estimator, "validation": validation}
    direct = {"method": method, "physical": physical, "prior": prior}
    settings, reading = settle(groups, selection, {**direct, **options})
    if progress is not None and not callable(progress):
        raise DalembertError(f"progress is {progress!r}; it must be a function of a description and the fraction done")
    step = progress or (lambda words, fraction: None)
    whole, others = _read_all(arm, log, validate, settings.validation.hold_out, reading, step)
    loaded = settings.estimator.loaded
    weighed = read_log(loaded, arm, **reading) if resume and loaded is not None else None
    inputs = (whole, others, replace(settings, estimator=replace(settings.estimator, loaded=None)), weighed, reading)
    with _solvable(arm, whole), resumable_run(resume, "identification", arm, *inputs) as journal:
        result = fitted(arm, whole, settings, reading, step, journal)
        judged = tuple(result.judged(other) for other in others)
        notes, warned = list(result.notes), list(result.warnings)
        result = replace(result, validation=judged)
        if settings.validation.folds:

            def fit_of(part: Log, step: Progress) -> Identification:
                return fitted(arm, part, settings, reading, step, journal)

            folds = cross_validated(result, whole, fit_of, settings.validation.folds, step, journal)
            result = replace(result, folds=folds)
    for other, run in zip(others, judged, strict=True):
        notes += [*other.notes, *run.conditioned.repairs]
        warned += [*suspicions(arm, other, run.conditioned, reading), *run.notes]
    if result.relative_error > WRONG_ARM and not result.physical:
        warned.append(
            f"{whole.source}: the best fit leaves {100 * result.relative_error:.0f} % of the torques unexplained; are the joints in "
            "the arm's order, with its zeros and signs, and in rad and N m?"
        )
    notes += hints(result, [name for name in SUGGESTED if getattr(settings.model, name)])
    for sentence in warned:
        warnings.warn(sentence, IdentificationWarning, stacklevel=3)  # one level for the decorator
    step("done", 1.0)
    return replace(result, notes=tuple(dict.fromkeys(notes)), warnings=tuple(warned))


@contextmanager
def _solvable(arm: Arm, log: Log) -> Iterator[None]:
    """Explain equations that double precision cannot solve."""
    try:
        yield
    except np.linalg.LinAlgError:
        raise DalembertError(
            f"{log.source}: the equations of arm '{arm.name}' cannot be solved in double precision, because its parameters or the "
            "torques differ by too many orders of magnitude; are its masses, lengths and gear ratios and the log in SI units?"
        ) from None


def fitted(
    arm: Arm, whole: Log, settings: AskedSettings, reading: Mapping[str, Any], step: Progress, journal: Journal
) -> Identification:
    """The identification from a log that has been read; the selection chooses what the settings leave open."""
    step("filtering", 0.0)
    how: dict[str, Any] = {key: getattr(settings.filtering, key) for key in ("cutoff", "decimate", "edge")}
    ready = condition(whole, **how)
    if not np.abs(ready.tau).max() > NOTHING:
        raise DalembertError(f"{whole.source}: the torques are zero throughout, so no parameter can be identified")
    how["cutoff"] = ready.cutoff  # common to all runs
    warned = _suspected(arm, whole, ready, how, reading)
    arm, rotor, notes = _rotor(arm, settings.model, reading)
    notes = [*whole.notes, *(() if "cutoff" in settings.open else ready.notes), *notes]
    selection = None
    if settings.open:
        try:
            on_time = earlier_torques(whole, _first_lag(arm, ready, settings, rotor, step))
            if "cutoff" not in settings.open:
                settings = replace(settings, filtering=replace(settings.filtering, cutoff=ready.cutoff))
            settings, selection = choose(arm, on_time, settings, rotor, step, journal)
        except TooShortError as short:
            warned.append(f"{short}, so nothing was chosen by cross-validation")
        else:
            how["cutoff"] = settings.filtering.cutoff
            ready = condition(whole, **how, origin="chosen by cross-validation")
            notes += ready.notes if "cutoff" in selection.chosen else ()
    problem = _LogFit(arm, ready, settings, step)
    parameters, remarks = problem.parameters(rotor)
    notes += remarks
    weighed = None
    if settings.estimator.loaded is not None:
        loaded = condition(aligned(read_log(settings.estimator.loaded, arm, **reading)), **how)
        weighed = _known_load(arm, settings.estimator.payload, loaded.earlier_torques(problem.lag or 0.0))
    parameters, about, doubts = _with_load(parameters, lambda some: problem.solved(some, weighed, quickly=True))
    result = _with_own_load(problem.solved(parameters, weighed))
    return replace(
        result,
        reading={k: v for k, v in reading.items() if v is not None},
        conditioning={k: v for k, v in how.items() if v is not None},
        notes=(*notes, *about, *result.notes),
        warnings=(*warned, *doubts, *result.warnings),
        selection=selection,
    )


def _rotor(arm: Arm, model: ModelOptions, reading: Mapping[str, Any]) -> tuple[Arm, bool, list[str]]:
    """(the arm, whether its rotor inertias are identified, notes): by default if it has rotors or the motors were measured."""
    rotor, has = model.rotor, has_rotors(arm)
    if rotor is None:
        rotor = has or "gains" in reading or "tau" in tuple(reading.get("motor_side", ()))
        if rotor and not has:
            return arm, True, ["rotor inertias are identified too, because the torques were measured at the motors"]
    if rotor or not has:
        return arm, rotor, []
    joints = (x if x.rotor is None else x.with_rotor(replace(x.rotor, inertia=0.0)) for x in arm.robot.joints)
    note = "rotor inertias are not identified (rotor=False), and the rotors of the calibrated arm have no inertia"
    return arm.replace(joints=tuple(joints)), False, [note]


class _LogFit:
    """The equations of a conditioned log, and their solution with the settings of a fit."""

    def __init__(self, arm: Arm, ready: Conditioned, settings: AskedSettings, step: Progress) -> None:
        self.arm, self.log, self.model, self.estimator = arm, ready.log, settings.model, settings.estimator
        filtering, friction = settings.filtering, friction_of(arm, settings.model.friction)
        dry = any("coulomb" in law for law in ([*friction.values()] if isinstance(friction, Mapping) else [friction]))
        self.method = self.estimator.method or "weighted"
        self.lag = 0.0 if filtering.lag is None and self.method == "total" else filtering.lag
        on_time = ready.earlier_torques(self.lag or 0.0)
        self.equations = LogEquations(arm, on_time, filtering.dead_zone, dry, step, self.lag)
        self.belief = belief_of(self.estimator)

    def parameters(self, rotor: bool) -> tuple[ParameterSet, list[str]]:
        """The parameters of the model, with shapes of friction found from the log, and notes on them."""
        arm, model, equations = self.arm, self.model, self.equations
        model_parameters, notes = parameter_set(arm, model, rotor, self.log.mean_temperature)
        notes += [
            f"{part.source}: it has no temperature, although friction is to depend on it; the mean of the other runs is used"
            for part in self.log.separate
            if model_parameters.heated and part.temperature is None
        ]
        if model.sigmoid not in (None, False):
            widths, centres, remarks = equations.sigmoids(model.sigmoid, model_parameters)
            model_parameters, notes = model_parameters.with_terms(gradual_terms(arm, widths, centres)), notes + remarks
        if model.stribeck not in (None, False):
            speeds, remarks = equations.stribeck_speeds(model.stribeck, model_parameters)
            model_parameters, notes = model_parameters.with_terms(stribeck_terms(arm, speeds)), notes + remarks
        return model_parameters, notes

    def solved(self, parameters: ParameterSet, loaded: KnownLoad | None, quickly: bool = False) -> Identification:
        """The result; ``quickly`` replaces the many iterations of a robust fit by weighted least squares."""
        base, joints = self.equations.prepared(parameters)
        if not joints.together().rows or max(np.abs(joint.R).max(initial=0.0) for joint in joints.joints) == 0:
            raise DalembertError(
                f"{self.log.source}: no sample is left for the identification; does the arm move in this log?"
            )
        if hidden := [k for k in base.dependent if parameters.members[k].loaded]:
            raise DalembertError(
                f"{parameters.names[hidden[0]]} cannot be distinguished from the masses: losses that differ between driving and "
                "driven operation at every joint leave the scale of the masses open; use 'load' instead of 'gear' at one joint"
            )
        method = "weighted" if quickly and self.method == "robust" else self.method
        return solution(self.equations, base, joints, method, self.estimator, self.belief, loaded)


def _suspected(
    arm: Arm, whole: Log, ready: Conditioned, how: Mapping[str, Any], reading: Mapping[str, Any]
) -> list[str]:
    """Warnings about the runs that are long enough for the cut-off, of many only the longest; what all episodes of a
    dataset have in common is reported for the first alone."""
    starts, warned = np.array([piece.t[0] for piece in ready.pieces]), dict[tuple[str, ...], str]()
    near = [log for log in whole.separate if ((log.t.min() <= starts) & (starts <= log.t.max())).any()]
    for part in sorted(near, key=len, reverse=True)[:MOST_RUNS] if len(near) > MOST_RUNS else near:
        for check, sentence in findings(arm, part, condition(part, **how) if whole.parts else ready, reading):
            warned.setdefault((check,) if EPISODE in part.source else (check, sentence), sentence)
    return list(warned.values())


def _first_lag(arm: Arm, ready: Conditioned, settings: AskedSettings, rotor: bool, step: Progress) -> float:
    """The lag of the torques (s) from which the selection starts: as given, or as estimated with the plain model."""
    if settings.filtering.lag is not None:
        return settings.filtering.lag
    if settings.estimator.method == "total":
        return 0.0
    model = replace(settings.model, sigmoid=None, stribeck=None)
    equations = LogEquations(arm, ready, settings.filtering.dead_zone, True, step)
    return equations.prepared(parameter_set(arm, model, rotor, ready.log.mean_temperature)[0])[1].lag


def _with_load(
    model_parameters: ParameterSet, solved: Callable[[ParameterSet], Identification]
) -> tuple[ParameterSet, list[str], list[str]]:
    """The set with the loads of its load-dependent terms, found by fixed-point iteration, notes and warnings: each fit
    uses the load of the previous one.

    The first fit uses the load of the arm as given. If the iteration does not converge, or a fit becomes worse than an
    earlier one, the load of the fit that explains the torques best with its own load is kept.
    """
    names = [parameter.name for parameter in model_parameters.members if parameter.loaded]
    if not names:
        return model_parameters, [], []
    before, best, error, least = np.zeros(1), model_parameters, np.inf, np.inf
    count, converged = 0, False
    while not converged and count < LOADS:
        fit = solved(model_parameters)
        error = _with_own_load(fit).relative_error
        best, least = (model_parameters, error) if error < least else (best, least)
        model_parameters = replace(model_parameters, load_from=fit.full)
        change, before = np.linalg.norm(fit.run.predicted - before), fit.run.predicted
        count, converged = count + 1, bool(change <= SETTLED * np.linalg.norm(before))
    if converged and error <= WORSE * least + SETTLED:
        return model_parameters, [f"the load-dependent friction ({some(names)}) converged after {count} fits"], []
    return best, [], [
        f"the log does not determine the load of {some(names)}, and the best of {count} fits is kept; remove terms that other "
        "terms can replace"
    ]  # fmt: skip


def _with_own_load(result: Identification) -> Identification:
    """The result, if its load-dependent terms use the load of this very result."""
    if not any(parameter.loaded for parameter in result.base.parameters.members):
        return result
    base = replace(result.base, parameters=replace(result.base.parameters, load_from=result.full))
    return replace(result, base=base, run=make_run(base, result.parameters, result.run.conditioned, result.gains))


# -- options, logs -------------------------------------------------------------------------------


def _read_all(
    arm: Arm, log: Any, validate: Any, hold_out: float, reading: Mapping[str, Any], step: Progress
) -> tuple[Log, list[Log]]:
    """The log (several logs are joined into one) and the validation logs."""
    mine = list(log) if isinstance(log, list | tuple) else [log]
    others = [] if validate is None else list(validate) if isinstance(validate, list | tuple) else [validate]
    if not mine:
        raise DalembertError("there is no log to identify from: the list of logs is empty")
    sources, logs = [*mine, *others], list[Log]()
    for source in sources:

        def reading_step(fraction: float, done: int = len(logs)) -> None:
            step("reading", (done + fraction) / len(sources))

        reading_step(0.0)
        logs.append(aligned(read_log(source, arm, **reading, progress=reading_step)))
    whole, more = joined(logs[: len(mine)]), logs[len(mine) :]
    if hold_out:
        last = replace(whole.part(1 - hold_out, 1.0), source=f"{whole.source} (last {100 * hold_out:g} %)", notes=())
        return whole.part(0.0, 1 - hold_out), [last, *more]
    return whole, more


def _known_load(arm: Arm, payload: Any, run: Conditioned) -> KnownLoad:
    """The known payload of total least squares; if only its mass is given, a number or {"mass": m}, its centre is unknown."""
    check_free_tip(arm)
    centred = isinstance(payload, Inertia) or (isinstance(payload, Mapping) and set(payload) != {"mass"})
    if isinstance(payload, Mapping) and (unknown := [key for key in payload if key not in PAYLOAD]):
        raise DalembertError(f"the known payload has no '{unknown[0]}'; its keys are {', '.join(PAYLOAD)}")
    body = payload if isinstance(payload, Inertia) else Inertia(**payload) if isinstance(payload, Mapping) else None
    if body is None:
        body = Inertia(number("payload", payload))
    if not 0 < float(body.mass) <= MOST_MASS:
        raise DalembertError(
            f"the known payload has a mass of {float(body.mass):g} kg; it must be above 0, and at most {MOST_MASS:g}"
        )
    return KnownLoad(ten_parameters(body), run, centred)
