"""Goals of the next motion: the variance that it should reduce, given the information of an earlier fit.

The information of both runs adds up, A = A_prior + A_new: A_prior is the inverse of the earlier fit's covariance, zero
where that fit determines nothing, and A_new = Σ Ȳᵀ diag(1/σ²) Ȳ over independent samples of the new motion, with the
noise σ and the correlation times of the earlier fit. A goal defines which combinations C of the parameters matter, and
the criterion of a motion is the variance tr C A⁻¹ Cᵀ:

    parameters          relative standard deviations of all base parameters
    friction[:joint …]  relative standard deviations of friction and offsets, of all joints or of some
    payload[:mass-com]  the ten parameters of a load at the tip, from a run with it; or its mass and first moments, while its
                        inertia is unknown too. Friction and offsets are fitted to that run, as in ``identify_payload``
    task:FILE.csv       torques along a motion, relative to the effort limits
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.base.wording import nearest
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import INERTIAL
from dalembert.robot.terms import Offset
from dalembert.work.excitation.exciting_columns import LoadColumns
from dalembert.work.fits.fit_record import FitRecord
from dalembert.work.identification.fitting.base_parameters import BaseParameters, showing_states
from dalembert.work.identification.fitting.least_squares import above_zero, inverse_of
from dalembert.work.identification.fitting.model_parameters import joint_index
from dalembert.work.identification.fitting.parameter_set import Parameter
from dalembert.work.logs.conditioning import REACH
from dalembert.work.trajectory.planning.motion_file import read_trajectory
from dalembert.work.trajectory.planning.trajectory import Trajectory

GOALS = ("parameters", "friction", "payload", "task")
LOADS = {"body": INERTIAL, "mass-com": INERTIAL[:4]}  # the parameters of a load that matter
USUAL = 200  # random states at which the torque of a parameter is evaluated
INSTANTS = 400  # samples of a task
NOTHING = 1e-9  # of a row's length: tolerated component along a direction that is not determined
SINGULAR = 1e-13  # of the largest eigenvalue of the scaled information: smaller ones are not determined
FASTEST, SLOWEST = 1e-3, 1e6  # times the duration of a motion: range searched for reaching a standard deviation


@record
class GoalRow:
    """A row of the table: its name, its value (NaN if it has none) and Q, with std² = tr Q A⁻¹."""

    name: str
    value: float
    Q: Array


@record
class Aim:
    """A goal: ``wanted`` CᵀC (p, p), the criterion in words, and the rows of the table.

    load       the columns of a load at the tip
    forgotten  base parameters whose prior information is discarded, because the next run has other values
    prior      A_prior (p, p) of an earlier fit; seconds: the duration of the new motion that another fit would keep
    """

    text: str
    measure: str
    wanted: Array
    rows: tuple[GoalRow, ...]
    load: LoadColumns | None = None
    forgotten: tuple[int, ...] = ()
    prior: Array = field(default_factory=lambda: np.zeros((0, 0)))
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


def check_wanted(goal: str, names: Sequence[str], name: str, std: float) -> None:
    """Raise an error if a goal does not contain a quantity, or the wanted accuracy is impossible."""
    if name not in names:
        raise DalembertError(f"the goal '{goal}' has no '{name}'; it has {', '.join(names)}{nearest(name, names)}")
    if not 0 < std < math.inf:
        raise DalembertError(f"the requested standard deviation of '{name}' is {std:g}; it must be above 0")


@record
class Forecast:
    """Forecast of the standard deviations of the quantities in a goal, before and after the motion is run.

    goal, measure  the goal as given, and a description of ``value_before`` and ``value_after``
    names, values  of the quantities in the goal, in SI units; NaN if there is no value, as for a load
    before, after  standard deviations; infinite if nothing is known
    seconds        of the motion that a fit keeps
    """

    goal: str
    measure: str
    names: tuple[str, ...]
    values: Array
    before: Array
    after: Array
    value_before: float
    value_after: float
    seconds: float
    prior: Array
    gained: Array
    rows: tuple[GoalRow, ...]

    def __str__(self) -> str:
        """The forecast as a table."""
        wide = max(map(len, self.names))
        lines = [f"{'':{wide}}  {'value':>10}  {'std before':>10}  {'std after':>10}"]
        for name, *numbers in zip(self.names, self.values, self.before, self.after, strict=True):
            lines.append(f"{name:{wide}}  " + "  ".join(f"{'' if math.isnan(x) else f'{x:.4g}':>10}" for x in numbers))
        return "\n".join(lines)

    def seconds_until(self, name: str, std: float) -> float:
        """The duration (s) of such a motion that reduces the deviation of ``name`` to ``std``; infinite if none does."""
        check_wanted(self.goal, self.names, name, std)
        row = self.rows[self.names.index(name)]

        def reached(share: float) -> bool:
            return bool(deviations(self.prior + share * self.gained, (row,))[0] <= std)

        if not reached(SLOWEST):
            return math.inf
        low, high = math.log(FASTEST), math.log(SLOWEST)
        if reached(FASTEST):
            return 0.0
        while high - low > 1e-4:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if reached(math.exp(middle)) else (middle, high)
        return self.seconds * math.exp(high)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The forecast as comments of a file: one line per quantity."""
        head = (
            f"goal {self.goal}: {self.measure} {self.value_before:.4g} before, {self.value_after:.4g} predicted after"
        )
        rows = zip(self.names, self.values, self.before, self.after, strict=True)
        return (
            head,
            *(f"{n}: {'' if math.isnan(v) else f'{v:.6g}, '}std {x:.4g} before, {y:.4g} after" for n, v, x, y in rows),
        )


def information_of(record: FitRecord, forgotten: Sequence[int] = ()) -> Array:
    """A_prior (b, b): the inverse of the covariance, zero in directions that the fit does not determine.

    Standard deviations are those of the fit; correlations are those of the formula for stationary residuals, if the
    record has them.

    forgotten  parameters whose prior information is discarded, such as friction that changes with temperature; the
               information on the others is that with these unknown
    """
    known = np.array([name not in record.unidentified for name in record.names], bool)
    known[list(forgotten)] = False
    covariance = record.covariance[np.ix_(known, known)]
    if record.formula_covariance is not None:  # a covariance from a few blocks of time may not have full rank
        formula = record.formula_covariance[np.ix_(known, known)]
        scale = np.sqrt(np.diag(covariance) / np.maximum(np.diag(formula), 1e-300))
        covariance = formula * np.outer(scale, scale)
    if not np.isfinite(covariance).all():
        raise DalembertError(f"{record.source}: the covariance has entries that are not finite; identify again")
    A = np.zeros_like(record.covariance)
    A[np.ix_(known, known)] = inverse_of(covariance)
    return np.asarray(0.5 * (A + A.T))


def weights_of(record: FitRecord) -> Array:
    """(n,) the factors on the joints' equations with which ȲᵀȲ is the information per second."""
    return np.asarray(np.sqrt(record.rate / record.correlation) / above_zero(record.noise))


def aim_of(goal: str | Trajectory, arm: Arm, base: BaseParameters, record: FitRecord, duration: float) -> Aim:
    """The goal described by a text, with the information of the earlier fit."""
    seconds = duration - 2.0 * REACH / record.cutoff
    if not seconds > 0:
        raise DalembertError(
            f"duration is {duration:g} s, and the low-pass at {record.cutoff:.3g} Hz of the earlier fit removes "
            f"{REACH / record.cutoff:.3g} s at each end; give more than {2 * REACH / record.cutoff:.3g} s"
        )
    aim = _goal(goal, arm, base, record)
    prior = np.zeros_like(aim.wanted)
    prior[: base.rank, : base.rank] = information_of(record, aim.forgotten)
    aim = _within_reach(replace(aim, prior=prior, seconds=seconds), base, record)
    if any(base.parameters.members[k].loaded for k in base.independent):
        note = "load-dependent friction is included, but the search treats the load as constant"
        aim = replace(aim, notes=(*aim.notes, note))
    return aim


def forecast(aim: Aim, gained: Array) -> Forecast:
    """The forecast of a goal for a motion with the information ``gained``."""
    rows = (*aim.rows, GoalRow("", math.nan, aim.wanted))
    before, after = (deviations(A, rows) for A in (aim.prior, aim.prior + gained))
    return Forecast(
        aim.text, aim.measure, tuple(row.name for row in aim.rows), np.array([row.value for row in aim.rows]),
        before[:-1], after[:-1], float(before[-1]), float(after[-1]), aim.seconds, aim.prior, gained, aim.rows,
    )  # fmt: skip


def deviations(A: Array, rows: Sequence[GoalRow]) -> Array:
    """√ tr Q A⁻¹ of every row; infinite if Q reaches into directions that A does not determine."""
    d = np.sqrt(np.diag(A))
    d = np.where(d > 0, d, 1.0)
    lam, V = np.linalg.eigh(A / np.outer(d, d))
    known = lam > SINGULAR * max(float(lam[-1]), 1e-300)
    W = V / d[:, None]
    out = []
    for row in rows:
        along = np.maximum(np.einsum("ik,ij,jk->k", W, row.Q, W), 0.0)
        lost = along[~known].sum() > NOTHING * along.sum()
        out.append(math.inf if lost else math.sqrt(float((along[known] / lam[known]).sum())))
    return np.array(out)


# -- goals by name -----------------------------------------------------------------------------------


def _goal(goal: str | Trajectory, arm: Arm, base: BaseParameters, record: FitRecord) -> Aim:
    if isinstance(goal, Trajectory):
        return _task("task", goal, arm, base, record)
    if not isinstance(goal, str):
        raise DalembertError(f"goal is {goal!r}; it must be one of {', '.join(GOALS)}, or a Trajectory")
    kind, _, rest = goal.partition(":")
    if kind not in GOALS or (kind == "parameters" and rest):
        raise DalembertError(
            f"there is no goal '{goal}'; known are parameters, friction, friction:JOINT, payload, payload:mass-com and "
            f"task:FILE.csv{nearest(kind, GOALS)}"
        )
    if kind == "payload":
        return _payload(goal, rest, arm, base, record)
    if kind == "task":
        if not rest:
            raise DalembertError("the goal 'task' needs a motion file, such as task:motion.csv")
        return _task(goal, read_trajectory(os.path.expanduser(rest), arm), arm, base, record)
    columns = list(range(base.rank)) if kind == "parameters" else _friction(rest, arm, base)
    usual = _usual(base.regressor(*showing_states(base.parameters, USUAL, seed=3)), record)
    std = np.where(np.isfinite(record.std), record.std, 0.0)
    scale = np.maximum(np.maximum(np.abs(record.parameters), std), 1.0 / usual)
    wanted = np.zeros(base.rank)
    wanted[columns] = 1.0 / (len(columns) * scale[columns] ** 2)
    rows = (_single(base.names[k], float(record.parameters[k]), k, base.rank) for k in columns)
    return Aim(goal, "root mean square of the relative standard deviations", np.diag(wanted), tuple(rows))


def _friction(text: str, arm: Arm, base: BaseParameters) -> list[int]:
    """The base parameters that are friction or an offset, of some joints or of all."""
    joints = {arm.mechanism.actuated[joint_index(arm, word)] for word in text.replace(",", " ").split()}
    columns = _lossy(base)
    if joints:
        columns = [k for k in columns if joints & _joints(base.parameters.members[base.independent[k]], arm)]
    if not columns:
        where = f" of joint {text}" if text else ""
        raise DalembertError(f"the earlier fit has no friction and no offset{where}; identify again with friction")
    return columns


def _lossy(base: BaseParameters) -> list[int]:
    """The base parameters that are friction or an offset."""
    units = [base.parameters.members[c].unit for c in base.independent]
    return [k for k, unit in enumerate(units) if unit is not None and ("qd" in unit.of or isinstance(unit, Offset))]


def _joints(parameter: Parameter, arm: Arm) -> set[int]:
    """The joints of the tree that a parameter belongs to: two for a shared drive."""
    drive = parameter.drive
    return {parameter.joint} if drive is None else {arm.mechanism.actuated[j] for j in (drive.i, drive.j)}


def _payload(text: str, choice: str, arm: Arm, base: BaseParameters, record: FitRecord) -> Aim:
    choice = choice or "body"
    if choice not in LOADS:
        raise DalembertError(f"there is no goal '{text}'; use payload:body for all ten parameters, or payload:mass-com")
    load = LoadColumns(arm)
    load_columns = [k for k, name in enumerate(load.names) if name in LOADS[choice]]
    b, size = base.rank, base.rank + len(load.names)
    usual = _usual(load.columns(*showing_states(base.parameters, USUAL, seed=3)[:3]), record)
    wanted = np.zeros(size)
    wanted[[b + k for k in load_columns]] = usual[load_columns] ** 2 / len(load_columns)
    rows = tuple(_single(f"load {load.names[k]}", math.nan, b + k, size) for k in load_columns)
    measure = "root mean square of the standard deviations of the load, as torques relative to the noise"
    return Aim(text, measure, np.diag(wanted), rows, load, tuple(_lossy(base)))


def _task(text: str, motion: Trajectory, arm: Arm, base: BaseParameters, record: FitRecord) -> Aim:
    motion.fits(arm)
    Y = base.regressor(*motion(np.linspace(0.0, motion.duration, INSTANTS)))
    limits = np.array([np.nan if x.limits.effort is None else x.limits.effort for x in arm.robot.moving_joints], float)
    limited = bool(np.isfinite(limits).all() and (limits > 0).all())
    size = limits if limited else above_zero(record.noise)
    each = np.einsum("tji,tjk->jik", Y, Y) / INSTANTS  # (n, b, b)
    wanted = np.tensordot(1.0 / size**2, each, 1) / arm.n
    rms = np.sqrt(np.mean((Y @ record.parameters) ** 2, axis=0))
    rows = tuple(
        GoalRow(f"torque of {name}", float(x), Q) for name, x, Q in zip(arm.joint_names, rms, each, strict=True)
    )
    beside = "relative to the effort limits" if limited else "relative to the noise"
    return Aim(text, f"root mean square of the torques' standard deviations along the task, {beside}", wanted, rows)


def _single(name: str, value: float, k: int, size: int) -> GoalRow:
    Q = np.zeros((size, size))
    Q[k, k] = 1.0
    return GoalRow(name, value, Q)


def _usual(Y: Array, record: FitRecord) -> Array:
    """(columns,) the torque per unit of each column at usual states, relative to the noise."""
    over = Y / above_zero(record.noise)[:, None]
    return np.maximum(np.sqrt(np.mean(np.sum(over**2, axis=1), axis=0)), 1e-12)


def _within_reach(goal: Aim, base: BaseParameters, record: FitRecord) -> Aim:
    """The goal without quantities that no motion can determine, such as those of a load behind unknown parameters."""
    states = showing_states(base.parameters, USUAL, seed=4)
    Y = base.regressor(*states)
    if goal.load is not None:
        Y = np.concatenate([Y, goal.load.columns(*states[:3])], axis=2)
    flat = (Y * weights_of(record)[:, None]).reshape(-1, len(goal.prior))
    reached = np.isfinite(deviations(goal.prior + flat.T @ flat, goal.rows))
    if reached.all():
        return goal
    never = ", ".join(row.name for row, within in zip(goal.rows, reached, strict=True) if not within)
    words = f"the earlier fit does not determine {', '.join(record.unidentified[:4]) or 'some parameters'}"
    if not reached.any():
        raise DalembertError(
            f"no motion can determine {never}, because {words}; first plan a motion for the goal 'parameters' and identify with it"
        )
    note = f"{never} cannot be determined, because {words}; first plan a motion for the goal 'parameters'"
    rows = tuple(row for row, within in zip(goal.rows, reached, strict=True) if within)
    determined = np.diag(sum(row.Q for row in rows)) > 0
    wanted = np.where(np.outer(determined, determined), goal.wanted, 0.0) * len(goal.rows) / len(rows)
    return replace(goal, rows=rows, wanted=wanted, notes=(note,))
