"""Exact derivatives of a simulated motion: along its inputs, and backwards from a function of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.base.arrays import Array, double
from dalembert.base.wording import shown
from dalembert.compiler.quantities.machine import OWN_NUMBERS
from dalembert.compiler.quantities.rollout_derivatives import RolloutDerivatives, StepDerivatives
from dalembert.compiler.quantities.step_program import GAINS
from dalembert.errors import DalembertError, ShapeError
from dalembert.mechanics.coordinates.variable_parameters import VARIANTS
from dalembert.work.simulation.controllers import Controller
from dalembert.work.simulation.task import Task

if TYPE_CHECKING:
    from dalembert.work.simulation.simulate import Run

# what a run can be differentiated by, and the slot of its program
INPUTS = {"q0": "q", "qd0": "qd", "torque": "tau", "tip_wrench": "tip_wrench", "lambda_": "kp"} | {
    name: name for name in (*GAINS["servo"], "gamma", *VARIANTS)
}


class Sensitivity(NamedTuple):
    """The derivatives of a motion by one input of k numbers: dq and dqd, (…, N, n, k) each."""

    q: Array
    qd: Array


def sensitivity(run: Run, by: str | Iterable[str]) -> dict[str, Sensitivity]:
    """The implementation of :meth:`dalembert.work.simulation.simulate.Run.sensitivity`."""
    task, names = run.task, _names(by)
    derivatives, state = _derivatives(run, names)
    sizes = {name: _size(derivatives, task, INPUTS[name]) for name in names}
    count, records = len(task.records) - 1, task.records
    if count * records[1] == task.steps and not np.any(np.diff(records, 2)):  # only these states are kept
        records = np.arange(count + 1)
    else:
        count = task.steps
    out = {}
    for name in names:
        slot, unit = INPUTS[name], np.eye(sizes[name])
        direction = unit[:, None] if slot in ("tau", "tip_wrench") else unit
        if slot == "tau" and task.effort is not None:
            rows = np.broadcast_to(_delivered(task), (*task.batch, task.grid.row(task.steps - 1) + 1, run.arm.n))
            direction = direction * rows[..., None, task.grid.row(np.arange(task.steps)), :]
        moved = derivatives.along(state, {slot: direction}, sizes[name], count)
        first = [np.zeros((*task.batch, sizes[name], 1, run.arm.n)) for _ in moved]
        for k, own in enumerate(("q0", "qd0")):
            if name == own:
                first[k][...] = unit[:, None]
        whole = (np.concatenate(x, axis=-2)[..., records, :] for x in zip(first, moved, strict=True))
        out[name] = Sensitivity(*(np.moveaxis(x, -3, -1) for x in whole))
    return out


def gradient(
    run: Run, by: str | Iterable[str], *, q: ArrayLike | None = None, qd: ArrayLike | None = None
) -> dict[str, Array]:
    """∂L/∂x of a scalar L of a simulated motion, for each input x of the simulation, by its name.

    run    of :func:`dalembert.simulate`, with fixed steps
    by     "q0", "qd0", "torque", "tip_wrench"; "kp", "kd", "lambda_", "gamma", "effort", "speed" (arguments of the
           controller); "parameters", "lengths", "payload", "gravity" or "gears" (numbers of the arm): a name or several
    q, qd  ∂L/∂q and ∂L/∂q̇ at the recorded times, (…, N, n); zero by default
    Returns arrays of one state of the batch each: (…, n) for "q0", (…, steps, n) for a "torque" given for every step,
    (…, n) for a constant one. The derivative is exact for the discrete steps, also where joints stick, slip, or hit their
    stops. It does not exist where a joint only just reaches its stop or comes to rest; there, the change of the time of
    the event is left out.

    The torques that bring a pendulum to rest at 1 rad after 0.5 s:

    >>> import numpy as np, dalembert as da
    >>> from scipy.optimize import minimize
    >>> arm = da.load("pendulum")
    >>> def distance(torque):
    ...     run = da.simulate(arm, [0.0], [0.0], torque[:, None], 0.5, step=0.01)
    ...     q, qd = np.zeros((2, 51, 1))
    ...     q[-1], qd[-1] = run.q[-1] - 1.0, run.qd[-1]  # the slopes of L = ½ (q − 1)² + ½ q̇² at the end
    ...     slope = da.gradient(run, "torque", q=q, qd=qd)["torque"]
    ...     return 0.5 * float(q[-1] @ q[-1] + qd[-1] @ qd[-1]), slope[:, 0]
    >>> bool(minimize(distance, np.zeros(50), jac=True).fun < 1e-6)
    True
    """
    if not hasattr(run, "task"):
        raise DalembertError(f"run is a {type(run).__name__}; give a run, as da.simulate returns it")
    task, names, n = run.task, _names(by), run.arm.n
    derivatives, state = _derivatives(run, names)
    weights = {}
    for name, value in (("q", q), ("qd", qd)):
        array = np.zeros(n) if value is None else double(f"the weight of {name}", value)
        try:
            weights[name] = np.broadcast_to(array, run.q.shape)
        except ValueError:
            raise ShapeError(
                f"the weight of {name} has shape {array.shape}; it must have that of run.{name}, {run.q.shape}, or broadcast to it"
            ) from None
    later = {name: w[..., 1:, :] for name, w in weights.items()}
    slopes = derivatives.back(state, later, task.records[1:])
    results = {}
    for name in names:
        slope = slopes[INPUTS[name]]
        if name in ("q0", "qd0"):
            slope = slope + weights[INPUTS[name]][..., 0, :]
        elif name in ("torque", "tip_wrench"):
            given = task.torques if name == "torque" else task.wrenches
            held = given is not None and given.shape[-2] > 1
            row = task.grid.row(np.arange(task.steps))
            if held and row[-1] + 1 < task.steps:  # some of its steps were divided
                slope = np.add.reduceat(slope, np.searchsorted(row, np.arange(row[-1] + 1)), axis=-2)
            if name == "torque" and task.effort is not None:
                slope = slope * _delivered(task)
            slope = slope if held else slope.sum(axis=-2)
        results[name] = slope
    return results


def _delivered(task: Task) -> Array:
    """Which of the given torques the drives deliver, as 1, and which are limited, as 0: (…, steps or 1, n)."""
    given = np.zeros((1, task.arm.n)) if task.torques is None else task.torques
    return np.where(np.abs(given) < task.effort, 1.0, 0.0)


def _names(by: str | Iterable[str]) -> tuple[str, ...]:
    names = (by,) if isinstance(by, str) or not isinstance(by, Iterable) else tuple(by)
    for name in names:
        if name not in tuple(INPUTS):
            raise DalembertError(
                f"a run has no derivative by {shown(name)}; it can be differentiated by {', '.join(INPUTS)}"
            )
    return names


def _derivatives(run: Run, names: tuple[str, ...]) -> tuple[RolloutDerivatives, dict[str, Array]]:
    """The derivatives of a run with respect to these inputs, and its initial state."""
    task = run.task
    staged = "its motion has events with loads; differentiate the simulation between two events"
    if reason := staged if hasattr(run, "stages") else refusal(task, names):
        raise DalembertError(f"this run has no derivatives: {reason}")
    arm, plan = run.task.arm, task.plan
    numbers = tuple(name for name in VARIANTS if name in plan.numbers or name in names)
    own = {x: np.array(OWN_NUMBERS[x](arm.mechanism), float) for x in numbers if x not in task.constants}
    if "torque" in names and plan.law == "none":
        plan = replace(plan, law="given")
        task = replace(task, torques=np.zeros((1, arm.n)))
    plan = replace(plan, numbers=numbers)
    task = replace(task, plan=plan, constants=task.constants | own)
    by = tuple(dict.fromkeys(INPUTS[name] for name in names if name not in ("q0", "qd0")))
    constants = {x: task.constants[x] for x in task.rollout.program.constant}
    state = dict(zip(task.rollout.program.state, task.initial_state, strict=True))
    step = StepDerivatives(arm.mechanism, plan, by)
    return RolloutDerivatives(step, task.batch, constants, task.given, task.steps), state


def refusal(task: Task, names: tuple[str, ...]) -> str:
    """Why a simulation cannot be differentiated with respect to these inputs; "" if it can."""
    controller, tip = task.controller, task.tip
    gains = {} if controller is None or not controller.tracks else _gains(controller)
    absent = [name for name in (*GAINS["servo"], "lambda_", "gamma") if name in names and name not in gains]
    lacking = " and ".join(absent)
    reasons = {
        "the steps of method 'dop853' follow from the motion; use method 'rk4'": bool(task.solver),
        "method 'variational' has none; use method 'rk4'": task.plan.method == "variational",
        "its torques or wrenches come from a Python function; give arrays or a controller": task.plan.law == "host",
        "its controller was sampled (rate=); simulate it as continuous": task.held_rate > 0.0 or task.sampling is not None,
        "the loops of the arm are closed by Newton's method": task.arm.mechanism.by_newton,
        "its torques are a da.RecordedTorque; give them as an array with one row per step": "torque" in names and controller is not None and not controller.tracks,
        f"its torques come from a controller; differentiate by {', '.join(gains) or 'parameters'} instead": "torque" in names and (controller is not None or tip is not None),
        "the gains of a da.OperationalController are constants of its law; differentiate by q0, qd0 or numbers of the arm": bool(absent) and tip is not None,
        f"its controller has no {lacking}; it has {', '.join(gains)}": bool(absent and gains),
        f"no controller with {lacking} acted in it": bool(absent),
        "no tip_wrench was given as an array": "tip_wrench" in names and not task.plan.tip_wrench,
    }  # fmt: skip
    return next((reason for reason, holds in reasons.items() if holds), "")


def _gains(controller: Controller) -> dict[str, str]:
    """The gains of a controller by their own names, and the constants of its law that they are."""
    words = (*controller.words, *controller.constants[len(controller.words) :])
    return dict(zip(words, controller.constants, strict=False))


def _size(derivatives: RolloutDerivatives, task: Task, slot: str) -> int:
    """The number of entries of an input."""
    sizes: dict[str, Any] = {"q": task.arm.n, "qd": task.arm.n, "tau": task.arm.n, "tip_wrench": task.arm.sizes["W"]}
    return int(sizes[slot] if slot in sizes else derivatives.constants[slot].shape[-1])
