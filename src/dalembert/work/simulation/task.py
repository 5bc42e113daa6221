"""Validated simulation tasks: shapes, torque, limits, and the program that follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.arm.damping import NONE, Pole
from dalembert.base.arrays import Array, double, which_state
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import brief
from dalembert.base.wording import shown
from dalembert.compiler.quantities.machine import kernel
from dalembert.compiler.quantities.rollouts import ROLLOUTS
from dalembert.compiler.quantities.step_program import BASE, FOLLOWING, Plan, Rollout, gains_of, rollout
from dalembert.errors import DalembertError, ShapeError, SimulationError
from dalembert.mechanics.equations.friction import loaded
from dalembert.mechanics.equations.regressor import WIDTH, width
from dalembert.mechanics.motion.methods import Method, check_method
from dalembert.mechanics.motion.stepping import has_dry_friction
from dalembert.robot.model.omitted_terms import SUMMANDS
from dalembert.work.simulation.controllers import Controller
from dalembert.work.simulation.drive_behaviour import MOST_SAMPLES, Sampling, effort_of
from dalembert.work.simulation.stiffness import closed_loop_pole, friction_pole, poses_of, sampled_remedy
from dalembert.work.simulation.time_steps import Steps, make_steps
from dalembert.work.tip.controller import OperationalController
from dalembert.work.trajectory.planning.limits import position_limits
from dalembert.work.trajectory.planning.motion_checks import check_choice, positive_number
from dalembert.work.trajectory.planning.time_breaks import breaks_of

Function = Callable[[float, Array, Array], Any]
WRENCH = "a wrench has 6 components"
BASE_PARTS = "a base_motion has 9 components [ω, ω̇, p̈]"
UPRIGHT = 0.05  # cosine of the pitch below which it is within 3° of ±90°
AHEAD = 1024  # samples for which a reference is evaluated at once
NEAR_THE_END = 50  # recorded times before a motion diverged
Index = tuple[int, ...] | None  # index of one state of the batch, or None for all


@brief
@dataclass
class Task:
    """A validated simulation task."""

    arm: Arm
    q0: Array  # (*batch, n)
    qd0: Array
    duration: float
    step: float
    every: int
    plan: Plan
    batch: tuple[int, ...]
    grid: Steps
    torques: Array | None = None  # (…, steps or 1, n), held over each step
    controller: Controller | None = None
    function: Function | None = None
    wrenches: Array | None = None  # (…, steps or 1, 6), held over each step
    wrench_function: Function | None = None
    bases: Array | None = None  # (…, steps or 1, 9), held over each step
    base_function: Callable[[float], Any] | None = None
    constants: dict[str, Array] = field(default_factory=dict)
    limits: Array | None = None  # (n, 2)
    tip: OperationalController | None = None  # where it is compiled
    effort: Array | None = None  # (n,) largest torques of the drives
    sampling: Sampling | None = None  # of the controller; None if it is continuous
    followed: Controller | None = None  # the controller that computed the torques, where these are known
    held_rate: float = 0.0  # samples per second of the controller that computed the torques; 0 if they were given
    learned: Array | None = None  # (*batch, p) parameter estimates from an earlier stage
    pole: Pole = NONE  # the fastest decay of the speeds, which the steps resolve
    substeps: int = 1  # of a whole step
    solver: str = ""  # of adaptive steps; "" for fixed ones

    @property
    def notes(self) -> tuple[str, ...]:
        """Why steps are divided; empty if they are not."""
        if self.substeps == 1:
            return ()
        return (
            f"every step of {self.step:g} s is computed in {self.substeps} substeps, because damping makes the speed of joint "
            f"'{self.arm.joint_names[self.pole.joint]}' decay with a pole of {self.pole.rate:.4g} /s",
        )

    @property
    def initial_state(self) -> list[Array]:
        """q and q̇, and the estimate of an adaptive law, its initial one or that of an earlier stage."""
        return [self.q0, self.qd0, *([self.initial_estimate] if self.plan.columns else [])]

    @property
    def initial_estimate(self) -> Array:
        """The deviation of an adaptive law's parameters from its model: zero, or that of an earlier stage, (*batch, p)."""
        none = np.zeros((*self.batch, len(self.plan.columns)))
        return none if self.learned is None else np.broadcast_to(self.learned, none.shape).copy()

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.grid.h)

    @property
    def t(self) -> Array:
        """Times between the steps (s): (steps + 1,)."""
        return self.grid.t

    @property
    def records(self) -> NDArray[np.intp]:
        """The steps after which the state is recorded, including 0."""
        return self.grid.records

    @property
    def smooth_between(self) -> NDArray[np.intp]:
        """The times between which all inputs are smooth; every time if arrays are held over each step."""
        held = (values for values in (self.torques, self.wrenches, self.bases) if values is not None)
        return np.arange(self.steps + 1) if any(values.shape[-2] > 1 for values in held) else self.grid.edges

    @cached_property
    def rollout(self) -> Rollout:
        """The program of fixed steps."""
        return rollout(self.arm.mechanism, self.plan)

    @property
    def twofold(self) -> bool:
        """Whether a torque from Python is needed with and without Jᵀ h_e, since load-dependent friction needs τ."""
        pressed = self.wrenches is not None or self.wrench_function is not None
        return pressed and self.plan.friction and bool(loaded(self.arm.mechanism))

    def given(self, start: int, stop: int) -> dict[str, Array]:
        """The stepwise slots for the steps from ``start`` to ``stop``, (…, steps, k) each."""
        k = np.arange(start, stop)
        h, t = self.grid.h[start:stop], self.t[start:stop]
        slots: dict[str, Array] = {"h": h[:, None], "t": t[:, None]}
        if self.plan.tip_wrench:
            slots["tip_wrench"] = self._held(self.wrenches, k)
        if self.plan.law == "given":
            slots["tau"] = self._held(self.torques, k)
        if self.bases is not None:
            slots["base_motion"] = self._held(self.bases, k)
        for slot, part_of_step in self.rollout.references.items():
            slots[slot] = self._reference(self.grid.seen(k, t + part_of_step * h))
        for slot, part_of_step in self.rollout.bases.items():
            slots[slot] = self._moved(self.grid.seen(k, t + part_of_step * h))
        return slots

    def _reference(self, t: Array) -> Array:
        if self.tip is not None:
            return self.tip.references(t)
        assert self.controller is not None
        return self.controller.reference(t, self.arm, friction=self.plan.friction)

    def followed_along(self) -> Array | None:
        """q_d at the records, (…, records, n); None if no joint motion is followed."""
        control = self.control
        return control.followed(self._recorded[1], self.arm.n)[0] if control is not None and control.tracks else None

    def _moved(self, t: Array) -> Array:
        """Motion of the base at the times t: (…, N, 9)."""
        assert self.base_function is not None
        return np.stack([self.base_function(at) for at in t.tolist()], axis=-2)

    def _held(self, values: Array | None, k: Any) -> Array:
        """Values held in the steps k: (…, *k.shape, size)."""
        assert values is not None
        if values.shape[-2] > 1:
            rows = self.grid.row(k)
            whole = np.size(rows) > 1 and np.all(np.diff(rows) == 1)  # a slice, without a copy
            return values[..., rows[0] : rows[-1] + 1, :] if whole else values[..., rows, :]
        constant = values[..., 0, :] if np.ndim(k) == 0 else values
        return np.broadcast_to(constant, (*values.shape[:-2], *np.shape(k), values.shape[-1]))

    def only(self, k: int, q: Array, qd: Array) -> Task:
        """Step k alone, from (q, qd), with torque and wrench from Python."""
        wrenches, bases = (
            None if values is None else self._held(values, k)[..., None, :] for values in (self.wrenches, self.bases)
        )
        plan = replace(self.plan, law="host", tip_wrench=False, tip=None, twofold=self.twofold)
        grid = self.grid.between(k, k + 1)
        return replace(self, plan=plan, tip=None, q0=q, qd0=qd, wrenches=wrenches, bases=bases, grid=grid)

    # -- torque and wrench from Python: at one time of step k, or at many times, one per step -----------------------

    def load_at(self, k: int, t: float, q: Array, x: Array, qd: Array, index: Index = None) -> Array:
        """τ − Jᵀ h_e at the time t of step k, for the batch or its state ``index``; x replaces q in the equations.

        If :attr:`twofold`, τ is appended: (…, 2n).
        """
        t = float(self.grid.seen(k, t))
        return self._less_wrench(self._torque(k, t, q, x, qd, index), k, t, q, x, qd, index)

    def torque_along(self, q: Array, x: Array, qd: Array, learned: Array | None = None) -> Array:
        """τ at the records: that of the step that begins there, and for the last record that of the step that ends."""
        return self._torque(*self._recorded, q, x, qd, None, learned)

    def load_along(self, q: Array, x: Array, qd: Array, tau: Array) -> Array:
        """τ − Jᵀ h_e at the records, as in :meth:`load_at`."""
        return self._less_wrench(tau, *self._recorded, q, x, qd, None)

    def base_at(self, k: int, t: float, index: Index = None) -> tuple[Array, ...]:
        """Motion of the base at the time t of step k, for the batch or state ``index``; () for a base at rest."""
        if self.base_function is not None:
            return (self.part(self.base_function(float(self.grid.seen(k, t))), index),)
        return () if self.bases is None else (self.part(self._held(self.bases, k), index),)

    def base_along(self) -> tuple[Array, ...]:
        """Motion of the base at the records: (…, N, 9)."""
        k, t = self._recorded
        return (self._moved(t),) if self.base_function is not None else self.base_at(k, t)

    @property
    def control(self) -> Controller | None:
        """The controller, also where the torques that it computed are known."""
        return self.controller or self.followed

    @property
    def _recorded(self) -> tuple[Any, Any]:
        """Steps and times of the records."""
        k = np.minimum(self.records, self.steps - 1)
        return k, self.grid.seen(k, self.t[self.records])

    def delivered(self, tau: Array) -> Array:
        """The torque that the drives deliver if τ (…, n) is commanded."""
        return tau if self.effort is None else np.clip(tau, -self.effort, self.effort)

    def sampled_law(self, t: Array) -> Callable[..., tuple[Array, Array]]:
        """A function of the number of a sample, taken at these times, of q, x, q̇ and the estimate: (τ, rate of the
        estimate), (…, n) and (…, p)."""
        times, law = t.tolist(), None if self.controller is None else self._law
        gains = [self.constants[name] for name in self.controller.constants] if self.controller is not None else []
        rows: Array | None = None
        limited, adapts = self.effort is not None, bool(self.plan.columns)

        def sample(k: int, q: Array, x: Array, qd: Array, learned: Array) -> tuple[Array, Array]:
            nonlocal rows
            if law is None:
                return self._torque(0, times[k], q, x, qd, None), learned
            if k % AHEAD == 0:
                rows = self._reference(t[k : k + AHEAD])
            assert rows is not None
            reference = rows[..., k % AHEAD, :]
            tau, rate = law(x, qd, reference, *gains, learned) if adapts else (law(x, qd, reference, *gains), learned)
            return self.delivered(tau) if limited else tau, rate

        return sample

    def driven(self) -> Task:
        """The same task with torques held over each step, initially zero, instead of its controller."""
        grid, plan = replace(self.grid, cuts=np.empty(0, np.intp)), self.plan  # each step stands for itself
        rows = self.grid.row(np.arange(len(grid.h)))
        wrenches, bases = (
            values if values is None or values.shape[-2] == 1 else values[..., rows, :]
            for values in (self.wrenches, self.bases)
        )
        law = "given" if self.wrench_function is None else "host"
        known = () if self.controller is None else self.controller.constants
        return replace(
            self, grid=grid, every=1, controller=None, function=None, tip=None, sampling=None, followed=self.controller,
            held_rate=0.0 if self.sampling is None else self.sampling.rate,
            torques=np.zeros((*self.batch, len(grid.h), self.arm.n)), wrenches=wrenches, bases=bases,
            constants={name: values for name, values in self.constants.items() if name not in known},
            plan=replace(
                plan, law=law, tip=None, model=None, columns=(), effort=(), twofold=law == "host" and self.twofold,
                tip_wrench=wrenches is not None and law != "host",
            ),
        )  # fmt: skip

    def _torque(
        self, k: Any, t: Any, q: Array, x: Array, qd: Array, index: Index, learned: Array | None = None
    ) -> Array:
        """The torque that the drives deliver for the commanded one."""
        if self.controller is not None:
            reference = self._reference(np.atleast_1d(t))
            gains = [self.part(self.constants[name], index) for name in self.controller.constants]
            if isinstance(t, np.ndarray):
                gains = [gain[..., None, :] for gain in gains]
            else:
                reference = self.part(reference[..., 0, :], index)
            estimate = () if learned is None else (learned,)
            tau: Any = self._law(x, qd, reference, *gains, *estimate)
            return self.delivered(tau[0] if estimate else tau)
        if self.function is not None:
            return self.delivered(_called("torque", self.function, t, q, qd, self.arm.n))
        if self.torques is not None:
            return np.broadcast_to(self.part(self._held(self.torques, k), index), q.shape).copy()
        return np.zeros(q.shape)

    def _less_wrench(self, tau: Array, k: Any, t: Any, q: Array, x: Array, qd: Array, index: Index) -> Array:
        if self.wrench_function is not None:
            wrench = _called("tip_wrench", self.wrench_function, t, q, qd, self.arm.sizes["W"])
        elif self.wrenches is not None:
            wrench = self.part(self._held(self.wrenches, k), index)
        else:
            return tau
        net = tau - self._tip_torque(x, wrench)
        return np.concatenate([net, np.broadcast_to(tau, net.shape)], axis=-1) if self.twofold else net

    def part(self, values: Array, index: Index) -> Array:
        """The part that belongs to one state of the batch, or everything; values are (…, size)."""
        return values if index is None else np.broadcast_to(values, (*self.batch, values.shape[-1]))[index]

    @cached_property
    def _law(self) -> np.ufunc:
        assert self.controller is not None
        return self.controller.kernel(self.arm, friction=self.plan.friction)

    @cached_property
    def _tip_torque(self) -> np.ufunc:
        """Jᵀ h_e as a function of (q, h_e)."""
        return kernel(self.arm.mechanism, ROLLOUTS["tip_torque"])


@contextmanager
def _explained(sentence: str) -> Iterator[None]:
    """Turn an unusable value of a user's function into an error with this sentence."""
    try:
        yield
    except (TypeError, ValueError) as problem:
        if isinstance(problem, DalembertError):
            raise
        raise ShapeError(f"{sentence}: {problem}") from problem


def _called(name: str, function: Function, t: Any, q: Array, qd: Array, size: int) -> Array:
    """Value of the user's function at one or many times, validated: (…, size)."""
    if isinstance(t, np.ndarray):
        each = (_called(name, function, at, q[..., k, :], qd[..., k, :], size) for k, at in enumerate(t.tolist()))
        return np.stack(list(each), axis=-2)
    shape = (*q.shape[:-1], size)
    sentence = f"the {name} function must give numbers of shape {shape} at t = {t:g} s"
    with _explained(sentence):
        value = double(f"the {name}", function(t, q, qd))
    try:
        return np.broadcast_to(value, shape)
    except ValueError:
        raise ShapeError(f"{sentence}, and gives {value.shape}") from None


def _checked_base(function: Callable[[float], Any]) -> Callable[[float], Array]:
    """The user's function of time for the base motion, validated: (…, 9), with the same shape at all times."""

    def value_at(t: float) -> Array:
        with _explained(f"the base_motion function must give numbers of shape (…, 9) for one instant, t = {t:g} s"):
            value = double("the base_motion", function(t))
        return _numbers(f"the base_motion at t = {t:g} s", value, BASE, BASE_PARTS)

    shape = value_at(0.0).shape

    def at(t: float) -> Array:
        if (value := value_at(t)).shape != shape:
            raise ShapeError(
                f"the base_motion has shape {shape} at t = 0 s but {value.shape} at t = {t:g} s; it must have the same "
                "shape at all times"
            )
        return value

    return at


def _numbers(name: str, value: Any, size: int, why: str) -> Array:
    array = double(name, value)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ShapeError(f"{name} has shape {array.shape}, but {why}: the last axis must be {size}, as in (…, {size})")
    if not np.all(np.isfinite(array)):
        raise ShapeError(f"{name} holds a value that is not a finite number")
    return array


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulationRequest:
    """The arguments of :func:`dalembert.simulate` that define a task, as they were given."""

    q0: Any
    qd0: Any = None
    torque: Any = None
    duration: Any
    method: str = "rk4"
    step: Any = 1e-3
    every: Any = 1
    tip_wrench: Any = None
    base_motion: Any = None
    friction: bool = True
    stops: str | None = None
    restitution: Any = 0.0
    parameters: Any = None
    effort_limits: Any = False
    sampling: Sampling | None = None

    @property
    def adapts(self) -> bool:
        """Whether the controller learns parameters."""
        return isinstance(self.torque, Controller) and self.torque.law == "adaptive"


def make_task(arm: Arm, request: SimulationRequest) -> Task:
    """The validated task; raises an error that names what is wrong."""
    method, restitution = _method(arm, request), _restitution(request)
    arm._needs_inertia()
    task = _with_law(_with_inputs(arm, request, restitution), request, method)
    task = replace(task, plan=_plan(task, request, method))
    if task.plan.law == "host" and task.twofold:
        task = replace(task, plan=replace(task.plan, twofold=True))
    task = resolved(task, method)
    if task.limits is not None:
        check_limits(task, task.q0[..., None, :], task.t[:1])
    return task


def _method(arm: Arm, request: SimulationRequest) -> Method:
    """The method of integration, which must suit the arm and the request."""
    needs = {
        "parameters": request.parameters is not None,
        "approximation": bool(arm.mechanism.omitted),
        "Newton": arm.mechanism.by_newton,
        "dry friction": request.friction and any(map(has_dry_friction, arm.mechanism.tree.bodies)),
        "contact": request.stops == "contact",
        "adaptation": request.adapts,
    }
    method = check_method(request.method, arm.name, (need for need, holds in needs.items() if holds))
    check_choice("stops", request.stops, (None, "error", "contact"))
    return method


def _restitution(request: SimulationRequest) -> float:
    value = request.restitution
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DalembertError(f"restitution is {value!r}; it must be a number from 0 (plastic) to 1 (elastic)") from None
    if not 0.0 <= number <= 1.0:
        raise DalembertError(f"restitution is {number:g}; it must be from 0 (plastic) to 1 (elastic)")
    if number and request.stops != "contact":
        raise DalembertError(f"restitution is {number:g}, but there are no stops to rebound from; use stops='contact'")
    return number


def _with_inputs(arm: Arm, request: SimulationRequest, restitution: float) -> Task:
    """The task with its steps, its initial state and what acts at tip and base, as validated arrays."""
    n, joints, sampling = arm.n, f"arm '{arm.name}' has {arm.n} joints", request.sampling
    duration, step = positive_number("duration", request.duration), positive_number("step", request.step)
    every = request.every
    if not isinstance(every, (int, float, np.integer)) or not (every >= 1 and every % 1 == 0):
        raise DalembertError(f"every is {shown(every)}; it must be an integer number of steps, at least 1")
    q0 = _numbers("q0", request.q0, n, joints)
    qd0 = np.zeros(n) if request.qd0 is None else _numbers("qd0", request.qd0, n, joints)
    if duration / step > MOST_SAMPLES:
        raise DalembertError(
            f"{duration:g} s in steps of {step:g} s are more than {MOST_SAMPLES:g} steps; use a larger step"
        )
    breaks = breaks_of(request.torque) if sampling is None else sampling.breaks(duration)
    breaks = np.concatenate([breaks, breaks_of(request.tip_wrench), breaks_of(request.base_motion)])
    grid = make_steps(duration, step, int(every), breaks)
    task = Task(arm, q0, qd0, duration, step, int(every), Plan(), (), grid, sampling=sampling)
    if callable(request.tip_wrench):
        task.wrench_function = request.tip_wrench
    else:
        task.wrenches = _over_time(task, "tip_wrench", request.tip_wrench, arm.sizes["W"], WRENCH)
    if callable(request.base_motion):
        task.base_function = _checked_base(request.base_motion)
    else:
        task.bases = _over_time(task, "base_motion", request.base_motion, BASE, BASE_PARTS)
    if restitution:
        task.constants["restitution"] = np.array([restitution])
    if request.parameters is not None:
        task.constants["parameters"] = _parameters(arm, request.parameters)
    return task


def _parameters(arm: Arm, parameters: Any) -> Array:
    """Dynamic parameters instead of the arm's own: (…, 13 N), and those of further terms."""
    if changed := [name for name in arm.omitted if name not in SUMMANDS]:
        raise DalembertError(
            f"parameters would restore the {', '.join(changed)} terms that arm '{arm.name}' omits; use them with "
            "the complete arm, arm.replace(omitted=())"
        )
    bodies, count = arm.mechanism.tree.n, width(arm.mechanism.tree)
    more = count - WIDTH * bodies
    why = f"arm '{arm.name}' has {bodies} joints{' in its tree' * (bodies != arm.n)} of {WIDTH} parameters each"
    return _numbers("parameters", parameters, count, why + (f" and {more} of further terms" if more else ""))


def _with_law(task: Task, request: SimulationRequest, method: Method) -> Task:
    """The task with its torques, or the law that computes them, and the batch of all arrays."""
    arm, torque, friction = task.arm, request.torque, bool(request.friction)
    leading = [task.q0.shape[:-1], task.qd0.shape[:-1]]
    leading += [values.shape[:-2] for values in (task.wrenches, task.bases) if values is not None]
    leading += [] if task.base_function is None else [task.base_function(0.0).shape[:-1]]
    leading += [task.constants["parameters"].shape[:-1]] if "parameters" in task.constants else []
    if isinstance(torque, Controller):
        torque.check_model(arm)
        gains = torque.gains(arm, friction)
        task = replace(task, controller=torque, constants=task.constants | gains)
        leading += [gains[name].shape[:-1] for name in torque.constants]
        leading.append(torque.reference(task.t[:1], arm, friction=friction).shape[:-2])
    elif callable(torque):
        tip = None
        if isinstance(torque, OperationalController) and not method.solver and task.wrench_function is None:
            own, by_newton = torque.op.arm, torque.op.arm.mechanism.by_newton or arm.mechanism.by_newton
            same_joints = own is arm or (own.n == arm.n and not by_newton)  # their loads may differ
            tip = torque if torque.law is not None and same_joints else None
        task = replace(task, function=torque, tip=tip)
    else:
        torques = _over_time(task, "torque", torque, arm.n, f"arm '{arm.name}' has {arm.n} joints")
        leading += [] if torques is None else [torques.shape[:-2]]
        task = replace(task, torques=torques)
    if task.sampling is not None and task.function is None and (task.controller is None or not task.controller.tracks):
        raise DalembertError(
            "rate, delay and encoder apply to a controller, but the torque is given; give a controller or a function "
            "(t, q, qd)"
        )
    task = replace(task, effort=effort_of(arm, request.effort_limits))
    if task.torques is not None:
        task = replace(task, torques=task.delivered(task.torques))
    if task.wrench_function is not None and request.adapts:
        raise DalembertError(
            "adaptive control runs in the compiled loop, which cannot call a Python function: give tip_wrench as an array"
        )
    try:
        batch = np.broadcast_shapes(*leading)
    except ValueError:
        raise ShapeError(
            "q0, qd0 and the arguments given with them do not broadcast: their leading axes are "
            f"{', '.join(map(str, leading))}"
        ) from None
    q0, qd0 = (np.broadcast_to(x, (*batch, arm.n)).copy() for x in (task.q0, task.qd0))
    limits = None if request.stops is None else _limits(arm)
    return replace(task, q0=q0, qd0=qd0, batch=tuple(batch), limits=limits)


def _plan(task: Task, request: SimulationRequest, method: Method) -> Plan:
    """The program that the task needs."""
    controller, tip = task.controller, task.tip
    if task.wrench_function is not None:
        law = "host"
    elif controller is not None:
        law = controller.law
    elif task.function is not None:
        law = "host" if tip is None else "tip"
    else:
        law = "none" if task.torques is None else "given"
    compiled = controller if law != "host" else None
    return Plan(
        method=Plan.method if method.solver else request.method,
        law=law,
        friction=bool(request.friction),
        stops=tuple((float(a), float(b)) for a, b in task.limits) if request.stops == "contact" else (),  # type: ignore[union-attr]
        tip_wrench=task.wrenches is not None and law != "host",
        numbers=("parameters",) if "parameters" in task.constants else (),
        tip=None if tip is None else tip.law,
        restitution="restitution" in task.constants,
        base_motion="sampled" if task.base_function else "held" if task.bases is not None else "",
        model=compiled.model.mechanism if compiled is not None and compiled.model is not None else None,
        columns=() if compiled is None else compiled.columns(task.arm, bool(request.friction)),
        effort=() if task.effort is None else tuple(task.effort.tolist()),
    )


def resolved(task: Task, method: Method) -> Task:
    """The task with steps that are short enough for the damping of its joints, by friction or by a continuous controller."""
    if method.stable == math.inf:
        return task
    pole = friction_pole(task.arm, task.q0, task.qd0, task.constants.get("parameters")) if task.plan.friction else NONE
    if task.controller is not None and task.sampling is None and task.controller.law in FOLLOWING:
        gains = [task.constants[name] for name in gains_of(task.controller.law)]
        poses = poses_of(task.arm, task.q0)
        least = method.stable / task.step
        pole = max(pole, closed_loop_pole(task.arm, task.controller, poses, gains, task.plan.friction, least))
    substeps = pole.substeps(task.arm, method, task.step)
    if substeps == 1:
        return replace(task, pole=pole)
    fast = task.grid.h * pole.rate
    parts = np.where(fast > method.stable, np.ceil(fast / method.divided), 1).astype(np.intp)
    return replace(task, pole=pole, substeps=substeps, grid=task.grid.divided(parts))


def _over_time(task: Task, name: str, value: Any, size: int, why: str) -> Array | None:
    """(…, steps or 1, size) from a constant or from values over time; None for None and 0."""
    if value is None or (not isinstance(value, (list, tuple)) and np.ndim(value) == 0 and value == 0):
        return None
    values, steps = _numbers(name, value, size, why), int(task.grid.row(task.steps - 1)) + 1
    if values.ndim == 1:
        return values[None]
    if values.shape[-2] not in (1, steps):
        *batch, size = values.shape
        raise ShapeError(
            f"{name} has shape {values.shape}: time is its second-last axis, which must be {steps} ({task.duration:g} s in "
            f"steps of {task.step:g} s) or 1; to give one {name} per simulation, {' × '.join(map(str, batch))} in total, "
            f"pass shape {(*batch, 1, size)}"
        )
    return values


def _limits(arm: Arm) -> Array:
    limits = np.stack(position_limits(arm), axis=1)
    if not np.any(np.isfinite(limits)):
        raise DalembertError(f"arm '{arm.name}' has no position limits, so it has no stops")
    return limits


def check_limits(task: Task, q: Array, t: Array) -> None:
    """Raise an error for the first joint beyond its limits; q is (*batch, instants, n)."""
    assert task.limits is not None
    slack = 1e-9
    low, high = task.limits[:, 0] - slack, task.limits[:, 1] + slack
    bad = np.argwhere(np.isfinite(q) & ((q < low) | (q > high)))
    if len(bad):
        worst = bad[np.argmin(bad[:, -2])]
        value, joint = float(q[tuple(worst)]), int(worst[-1])
        raise beyond(task, joint, value, float(t[worst[-2]]), worst[:-2])


def beyond(task: Task, joint: int, value: float, t: float, index: Any) -> SimulationError:
    """The error for a joint at or beyond a limit."""
    assert task.limits is not None
    lower, upper = (float(x) for x in task.limits[joint])
    side, limit = ("below its lower", lower) if value - lower < upper - value else ("above its upper", upper)
    return SimulationError(
        f"joint '{task.arm.joint_names[joint]}' is at {value:.6g} at t = {t:.6g} s, {side} limit {limit:g}"
        f"{which_state(index)}"
    )


def check_numbers(
    task: Task, q: Array, qd: Array, t: Array, index: tuple[int, ...] = (), before: tuple[Array, Array] | None = None
) -> None:
    """Raise an error for the first time at which the state, or state ``index`` of the batch, is no longer finite.

    Once one joint has diverged, its coupling with the others makes all of them infinite in the same step; ``before``,
    (q, qd) up to then (*batch, instants, n), identifies which one it was.
    """
    bad = np.argwhere(~(np.isfinite(q) & np.isfinite(qd)))
    if len(bad):
        first = bad[np.argmin(bad[:, -2])]
        joint, at = int(first[-1]), tuple(first[:-2])
        if before is not None and before[0].shape[-2]:
            joint = first_to_diverge(task.arm, before[0][at], before[1][at])
        raise SimulationError(
            f"the simulation diverged at t = {float(t[first[-2]]):.6g} s: the motion of joint "
            f"'{task.arm.joint_names[joint]}' is no longer finite{which_state((*index, *first[:-2]))}; "
            f"{_remedy(task, None if before is None else before[0][at])}"
        )


def _remedy(task: Task, q: Array | None) -> str:
    """The remedy for a motion (instants, n) that diverged; virtual joints have a pose at which no step is small
    enough, and no step stabilises a sampled loop."""
    for k, name in enumerate(task.arm.joint_names):
        if name.endswith("/pitch") and q is not None and np.any(np.abs(np.cos(q[-NEAR_THE_END:, k])) < UPRIGHT):
            return f"'{name}' came to ±90°, where its three angles are singular: start elsewhere, or lock that joint (lock=, --lock)"
    if task.held_rate:
        return sampled_remedy(task.arm, task.followed, task.held_rate, task.q0 if q is None else q)
    return "use a smaller step"


def first_to_diverge(arm: Arm, q: Array, qd: Array) -> int:
    """The joint that diverged first in a motion (instants, n): that with the largest momentum when all began to grow.

    A torque at one joint changes the momentum p = B q̇ of that joint alone, although it moves them all. Momenta are
    divided by √b_ii, so that those of revolute and prismatic joints are comparable. A diverging momentum at least
    doubles per step.
    """
    B = arm.inertia_matrix(q)
    sizes = np.abs((B @ qd[..., None])[..., 0]) / np.sqrt(np.einsum("kii->ki", B))
    largest = sizes.max(axis=1)
    steady = np.flatnonzero(~(largest[1:] >= 2.0 * largest[:-1]))
    begin = int(steady[-1]) + 1 if len(steady) else 0
    return int(np.argmax(sizes[min(begin + 1, len(sizes) - 1)]))
