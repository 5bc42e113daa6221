"""``identify``: the dynamic parameters of an arm from a log of its motion, S 7.4."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.deprecation import warn_of_resume
from dalembert.base.environment.progress import Progress, part_of, silent
from dalembert.base.wording import some
from dalembert.compiler.kernel.one_thread import one_thread
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.evidence import LogEquations, RestWeights
from dalembert.work.identification.fitting.fit_options import (
    AskedSettings,
    EstimatorOptions,
    FilterOptions,
    LoopOptions,
    ModelOptions,
    SelectionOptions,
    ValidationOptions,
    settle,
)
from dalembert.work.identification.fitting.friction_shapes import with_sigmoid, with_stribeck
from dalembert.work.identification.fitting.known_load import KnownLoad, known_load
from dalembert.work.identification.fitting.methods import FitProblem, least_squares, torque_lag
from dalembert.work.identification.fitting.model_parameters import (
    friction_of,
    parameter_set,
)
from dalembert.work.identification.fitting.parameter_set import ParameterSet, has_rotors
from dalembert.work.identification.fitting.result import Identification, make_run
from dalembert.work.identification.fitting.result import IdentificationWarning as IdentificationWarning
from dalembert.work.identification.fitting.solution import drift_hints, solution
from dalembert.work.identification.selection.estimator_choice import choose
from dalembert.work.identification.selection.selection_result import Selection
from dalembert.work.identification.selection.time_blocks import TooShortError
from dalembert.work.logs.alignment import aligned
from dalembert.work.logs.checks.plausible_units import findings
from dalembert.work.logs.conditioning import Conditioned, automatic_cutoff, condition
from dalembert.work.logs.log import EPISODE, Log, Source, joined, read_log

FOLDS = {"folds": "work.fits.leave_one_out:cross_validated"}  # imported if folds are requested
POSITIONS = {  # imported if positions instead of torques are given
    "loop": "work.closed_loop.position_fit:RecordedLoop",
    "positions": "work.closed_loop.position_fit:fitted_to_positions",
    "judged": "work.closed_loop.position_fit:judged_by_positions",
}
OF_TORQUES = ("torque", "spikes")  # checks of a log that do not apply to torques computed from positions

LOADS = 12  # maximum number of fits in the fixed-point iteration for load-dependent terms
SETTLED = 1e-6  # relative change of the torques below which the iteration has converged
WORSE = 2.0  # a converged fit may be worse than the best earlier one by at most this factor
NOTHING = 1e-30  # N m: smaller torques count as zero
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
    loop: LoopOptions | None = None,
    progress: Progress | None = None,
    resume: bool = False,
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
    loop        the controller that moved the arm, if its positions but no torques are in the log, with
                measured="position": :class:`dalembert.LoopOptions`
    progress    called with a description and the fraction done
    resume      deprecated since version 1.1, without effect
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
    warn_of_resume(resume, 4)  # one level for the decorator
    groups = {"model": model, "filtering": filtering, "estimator": estimator, "validation": validation, "loop": loop}
    direct = {"method": method, "physical": physical, "prior": prior}
    settings, reading = settle(groups, selection, {**direct, **options})
    if progress is not None and not callable(progress):
        raise DalembertError(f"progress is {progress!r}; it must be a function of a description and the fraction done")
    step = progress or silent
    recorded = delegate(POSITIONS, "loop")(arm, settings.loop) if settings.loop.measured == "position" else None
    fit_to = partial(fitted, arm) if recorded is None else partial(delegate(POSITIONS, "positions"), recorded)
    needed = {} if recorded is None else {"torque_needed": False, "commands": recorded.commanded}
    whole, others = _read_all(arm, log, validate, settings.validation.hold_out, {**reading, **needed}, step)
    if recorded is not None:
        whole = recorded.with_torques(whole)
    try:
        result = fit_to(whole, settings, reading, step)
        if recorded is not None:
            result, others = delegate(POSITIONS, "judged")(recorded, result, others)
        result = replace(result, validation=tuple(map(result.judged, others)))
        if settings.validation.folds:
            again = partial(fit_to, settings=settings, reading=reading)
            folds = delegate(FOLDS, "folds")(result, whole, again, settings.validation.folds, step)
            result = replace(result, folds=folds)
    except np.linalg.LinAlgError:
        raise DalembertError(
            f"{whole.source}: the equations of arm '{arm.name}' cannot be solved in double precision, because its parameters or "
            "the torques differ by too many orders of magnitude; are its masses, lengths and gear ratios and the log in SI units?"
        ) from None
    result = _with_findings(arm, result, others, reading)
    for sentence in result.warnings:
        warnings.warn(sentence, IdentificationWarning, stacklevel=3)  # one level for the decorator
    step("done", 1.0)
    return result


def fitted(
    arm: Arm, whole: Log, settings: AskedSettings, reading: Mapping[str, Any], step: Progress,
    unchecked: tuple[str, ...] = (),
) -> Identification:  # fmt: skip
    """The identification from a log that has been read; the selection chooses what the settings leave open.

    unchecked  the checks of a log that do not apply
    """
    step("filtering", 0.0)
    how = {key: getattr(settings.filtering, key) for key in ("cutoff", "decimate", "edge")}
    ready = condition(whole, **how)
    if not np.abs(ready.tau).max() > NOTHING:
        raise DalembertError(f"{whole.source}: the torques are zero throughout, so no parameter can be identified")
    band = ready.cutoff if how["cutoff"] is None else automatic_cutoff(whole)
    how["cutoff"] = ready.cutoff  # common to all runs
    suspected = _suspected(arm, whole, ready, how, reading, unchecked)
    arm, rotor, about_rotors = _rotor(arm, settings.model, reading)
    settings, selection, about_choice, doubts = _chosen(arm, whole, how, settings, rotor, step)
    problem = _LogFit(arm, ready, settings, step)
    parameters, about_shapes = problem.parameters(rotor)
    weighed = None
    if settings.estimator.loaded is not None:
        loaded = condition(aligned(read_log(settings.estimator.loaded, arm, **reading)), **how)
        weighed = known_load(arm, settings.estimator.payload, loaded.earlier_torques(problem.lag or 0.0))
    parameters, about_load, unsettled = _with_load(parameters, lambda x: problem.solved(x, weighed, quickly=True))
    result = _with_own_load(problem.solved(parameters, weighed))
    about = (*whole.notes, *ready.notes, *about_rotors, *about_choice, *about_shapes, *about_load)
    return replace(
        result,
        reading={k: v for k, v in reading.items() if v is not None},
        conditioning={k: v for k, v in how.items() if v is not None},
        notes=(*about, *result.notes),
        warnings=(*suspected, *doubts, *unsettled, *result.warnings),
        selection=selection,
        band=band,
    )


def _with_findings(arm: Arm, fit: Identification, others: Sequence[Log], reading: Mapping[str, Any]) -> Identification:
    """The result with notes and warnings on the validation runs, and on what its residuals suggest."""
    notes, doubts = list(fit.notes), list(fit.warnings)
    for other, run in zip(others, fit.validation, strict=True):
        notes += [*other.notes, *run.conditioned.repairs]
        unchecked = () if fit.closed_loop is None else OF_TORQUES
        doubts += [x for check, x in findings(arm, other, run.conditioned, reading) if check not in unchecked]
        doubts += run.notes
    if fit.relative_error > WRONG_ARM and not fit.physical:
        doubts.append(
            f"{fit.run.name}: the best fit leaves {100 * fit.relative_error:.0f} % of the torques unexplained; are the joints in "
            "the arm's order, with its zeros and signs, and in rad and N m?"
        )
    return replace(fit, notes=tuple(dict.fromkeys([*notes, *drift_hints(fit)])), warnings=tuple(doubts))


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
        self.ready, self.step = ready.earlier_torques(self.lag or 0.0), step
        self.rests = RestWeights.of(arm, self.ready, filtering.dead_zone, dry)

    def problem(self, parameters: ParameterSet, loaded: KnownLoad | None = None) -> FitProblem:
        """The equations of a parameter set with their evidence; the lag of the torques is compensated."""
        base = base_parameters(parameters)
        equations = LogEquations(base.columns_for(self.ready.sparse), self.ready, self.rests)
        evidence, lag = equations.gathered(base.rank, step=self.step), self.lag
        if lag is None:
            lag = torque_lag(base, evidence)
            evidence, equations = replace(evidence, lag=lag), equations.of(self.ready.earlier_torques(lag))
        return FitProblem(base, equations, evidence, lag, self.lag is None, self.estimator, loaded)

    def parameters(self, rotor: bool) -> tuple[ParameterSet, list[str]]:
        """The parameters of the model, with shapes of friction found from the log, and notes on them."""
        arm, model = self.arm, self.model
        parameters, notes = parameter_set(arm, model, rotor, self.log.mean_temperature)
        notes += [
            f"{part.source}: it has no temperature, although friction is to depend on it; the mean of the other runs is used"
            for part in self.log.separate
            if parameters.heated and part.temperature is None
        ]
        if model.sigmoid not in (None, False):
            parameters, remarks = with_sigmoid(parameters, model.sigmoid, self.ready, self.rests, self.step)
            notes += remarks
        if model.stribeck not in (None, False):
            parameters, remarks = with_stribeck(parameters, model.stribeck, self.ready, self.problem)
            notes += remarks
        return parameters, notes

    def solved(self, parameters: ParameterSet, loaded: KnownLoad | None, quickly: bool = False) -> Identification:
        """The result; ``quickly`` replaces the many iterations of a robust fit by weighted least squares."""
        problem = self.problem(parameters, loaded)
        if not problem.evidence.rows.any() or not any(R.any() for R in problem.evidence.triangles):
            raise DalembertError(
                f"{self.log.source}: no sample is left for the identification; does the arm move in this log?"
            )
        if hidden := [k for k in problem.base.dependent if parameters.members[k].loaded]:
            raise DalembertError(
                f"{parameters.names[hidden[0]]} cannot be distinguished from the masses: losses that differ between driving and "
                "driven operation at every joint leave the scale of the masses open; use 'load' instead of 'gear' at one joint"
            )
        method = "weighted" if quickly and self.method == "robust" else self.method
        return solution(problem, method, self.step)


def _suspected(
    arm: Arm, whole: Log, ready: Conditioned, how: Mapping[str, Any], reading: Mapping[str, Any],
    unchecked: tuple[str, ...],
) -> list[str]:  # fmt: skip
    """Warnings about the runs that are long enough for the cut-off, of many only the longest; what all episodes of a
    dataset have in common is reported for the first alone."""
    starts, warned = np.array([piece.t[0] for piece in ready.pieces]), dict[tuple[str, ...], str]()
    near = [log for log in whole.separate if ((log.t.min() <= starts) & (starts <= log.t.max())).any()]
    for part in sorted(near, key=len, reverse=True)[:MOST_RUNS] if len(near) > MOST_RUNS else near:
        for check, sentence in findings(arm, part, condition(part, **how) if whole.parts else ready, reading):
            if check not in unchecked:
                warned.setdefault((check,) if EPISODE in part.source else (check, sentence), sentence)
    return list(warned.values())


def _chosen(
    arm: Arm, whole: Log, how: Mapping[str, Any], settings: AskedSettings, rotor: bool, step: Progress
) -> tuple[AskedSettings, Selection | None, list[str], list[str]]:
    """The settings with all open choices made, the selection, notes and warnings; a first fit of the plain model gives
    the lag of the torques and the load of load-dependent laws."""
    if not settings.open:
        return settings, None, [], []
    ready = condition(whole, **how, thin=True)
    plain = replace(settings, model=replace(settings.model, sigmoid=None, stribeck=None))
    parameters, _ = parameter_set(arm, plain.model, rotor, whole.mean_temperature)
    try:
        problem = _LogFit(arm, ready, plain, step).problem(parameters)
        first = least_squares(problem, 1).estimate.values
        named = dict(zip(problem.base.names, first, strict=True))
        return *choose(arm, problem.ready, settings, rotor, named, step), []
    except TooShortError as short:
        return settings, None, [], [f"{short}, so nothing was chosen by cross-validation"]


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


def _read_all(
    arm: Arm, log: Any, validate: Any, hold_out: float, reading: Mapping[str, Any], step: Progress
) -> tuple[Log, list[Log]]:
    """The log (several logs are joined into one) and the validation logs."""
    mine = list(log) if isinstance(log, list | tuple) else [log]
    others = [] if validate is None else list(validate) if isinstance(validate, list | tuple) else [validate]
    if not mine:
        raise DalembertError("there is no log to identify from: the list of logs is empty")
    sources, logs = [*mine, *others], list[Log]()
    for k, source in enumerate(sources):
        share = part_of(step, k / len(sources), (k + 1) / len(sources))
        share("reading", 0.0)
        logs.append(aligned(read_log(source, arm, **reading, progress=partial(share, "reading"))))
    whole, more = joined(logs[: len(mine)]), logs[len(mine) :]
    if hold_out:
        last = replace(whole.part(1 - hold_out, 1.0), source=f"{whole.source} (last {100 * hold_out:g} %)", notes=())
        return whole.part(0.0, 1 - hold_out), [last, *more]
    return whole, more
