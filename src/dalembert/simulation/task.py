"""What is to be simulated, checked: shapes, torque, limits, and the program that follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arrays import double, shown
from dalembert.equations.rubbing import all_bodies
from dalembert.equations.stepping import PARAMETERS
from dalembert.errors import DalembertError, ShapeError, SimulationError
from dalembert.rollouts import Plan
from dalembert.simulation.closing import by_newton, check_method
from dalembert.simulation.controllers import Controller
from dalembert.simulation.operational_controller import OperationalController

if TYPE_CHECKING:
    from dalembert.arm import Arm

Array = NDArray[np.float64]
METHODS = ("rk4", "dop853", "variational")
Torque = Callable[[float, Array, Array], Any]


@dataclass
class Task:
    """A simulation that is known to make sense."""

    arm: Arm
    q0: Array  # (*batch, n)
    qd0: Array
    duration: float
    method: str
    step: float
    every: int
    plan: Plan
    batch: tuple[int, ...]
    h: Array  # (steps,)
    t: Array  # (steps + 1,)
    records: Array  # the steps after which the state is recorded, 0 among them
    torques: Array | None = None  # (…, steps or 1, n), held over each step
    controller: Controller | None = None
    function: Torque | None = None
    constants: dict[str, Array] = field(default_factory=dict)
    limits: Array | None = None  # (n, 2)
    tip: OperationalController | None = None  # where it is compiled

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return len(self.h)

    def torque_at(self, k: int) -> Array:
        """The torque held in step k, of an array."""
        assert self.torques is not None
        return self.torques[..., min(k, self.torques.shape[-2] - 1), :]

    def given(self, start: int, stop: int) -> dict[str, Array]:
        """The stepwise slots for the steps from ``start`` to ``stop``: (…, steps, k) each."""
        n, count = self.arm.n, stop - start
        h, t = self.h[start:stop], self.t[start:stop]
        slots: dict[str, Array] = {"h": h[:, None]}
        if self.plan.law == "given":
            assert self.torques is not None
            one = self.torques.shape[-2] == 1
            part = self.torques if one else self.torques[..., start:stop, :]
            slots["tau"] = np.broadcast_to(part, (*part.shape[:-2], count, n))
        elif self.plan.law == "host":
            slots["t"] = t[:, None]
        elif self.tip is not None:
            for stage, part_of_step in (("_0", 0.0), ("_half", 0.5), ("_1", 1.0)):
                slots["reference" + stage] = self.tip.references(t + part_of_step * h)
        elif self.controller is not None:
            for stage, part_of_step in (("_0", 0.0), ("_half", 0.5), ("_1", 1.0)):
                slots["reference" + stage] = self.controller.reference(t + part_of_step * h, n)
        return slots

    def call_function(self, t: float, q: Array, qd: Array) -> Array:
        """The torque that the user's function gives, checked."""
        assert self.function is not None
        try:
            tau = double("the torque", self.function(float(t), q, qd))
            return np.broadcast_to(tau, q.shape)
        except (TypeError, ValueError) as problem:
            if isinstance(problem, DalembertError):
                raise
            raise ShapeError(
                f"the torque function must give numbers of shape {q.shape} at t = {t:g} s: {problem}"
            ) from problem


def _numbers(name: str, value: Any, size: int, why: str) -> Array:
    array = double(name, value)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ShapeError(f"{name} has shape {array.shape}, but {why}: the last axis must be {size}, as in (…, {size})")
    if not np.all(np.isfinite(array)):
        raise ShapeError(f"{name} holds a value that is not a finite number")
    return array


def _positive(name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise DalembertError(f"{name} is {shown(value)}; it must be a number of seconds") from None
    if not (math.isfinite(number) and number > 0):
        raise DalembertError(f"{name} is {number:g} s; it must be finite and more than 0")
    return number


def time_grid(duration: float, step: float) -> tuple[Array, Array]:
    """(h, t): equal steps, the last one shorter where the duration is no multiple of the step."""
    whole = int(duration / step * (1 + 1e-12))
    left = duration - whole * step
    h = np.full(whole, step)
    if left > 1e-9 * step:
        h = np.append(h, left)
    t = np.minimum(np.arange(len(h) + 1) * step, duration)
    t[-1] = duration
    return h, t


def make_task(
    arm: Arm,
    q0: Any,
    qd0: Any,
    torque: Any,
    duration: float,
    method: str,
    step: float,
    every: int,
    tip_wrench: Any,
    friction: bool,
    stops: str | None,
    parameters: Any,
) -> Task:
    """Everything checked, or an error that names what is wrong."""
    if method not in METHODS:
        raise DalembertError(f"there is no method '{method}'; known are {', '.join(METHODS)}")
    if stops not in (None, "error", "contact"):
        raise DalembertError(f"stops is {stops!r}; it can be None, 'error' or 'contact'")
    arm._needs_inertia()
    n, joints = arm.n, f"arm '{arm.name}' has {arm.n} joints"
    duration, step = _positive("duration", duration), _positive("step", step)
    if not isinstance(every, (int, float, np.integer)) or not (every >= 1 and every % 1 == 0):
        raise DalembertError(f"every is {shown(every)}; it must be a whole number of steps, 1 or more")
    q0 = _numbers("q0", q0, n, joints)
    qd0 = np.zeros(n) if qd0 is None else _numbers("qd0", qd0, n, joints)
    if duration / step > 1e9:
        raise DalembertError(f"{duration:g} s in steps of {step:g} s are more than 1e9 steps; use a larger step")
    h, t = time_grid(duration, step)
    leading = [q0.shape[:-1], qd0.shape[:-1]]
    constants: dict[str, Array] = {}
    if tip_wrench is not None:
        constants["tip_wrench"] = _numbers("tip_wrench", tip_wrench, 6, "a wrench has 6 components")
        leading.append(constants["tip_wrench"].shape[:-1])
    if parameters is not None:
        if method == "variational":
            raise DalembertError("the variational method takes no parameters; use 'rk4' or 'dop853'")
        bodies = len(all_bodies(arm.mechanism))
        counted = joints if bodies == n else f"arm '{arm.name}' has {bodies} joints in its tree"
        constants["parameters"] = _numbers(
            "parameters", parameters, PARAMETERS * bodies, f"{counted} of {PARAMETERS} parameters each"
        )
        leading.append(constants["parameters"].shape[:-1])
    torques, controller, function, law, tip = None, None, None, "none", None
    if isinstance(torque, Controller):
        controller, law = torque, torque.law
        constants["kp"], constants["kd"] = torque.gains(n)
        leading += [constants["kp"].shape[:-1], constants["kd"].shape[:-1]]
        leading.append(torque.reference(t[:1], n).shape[:-2])
    elif callable(torque):
        function, law = torque, "host"
        if isinstance(torque, OperationalController) and method != "dop853" and _same_joints(torque.op.arm, arm):
            tip = torque.law
            law = "host" if tip is None else "tip"
    elif torque is not None and not (not isinstance(torque, (list, tuple)) and np.ndim(torque) == 0 and torque == 0):
        law = "given"
        torques = _numbers("torque", torque, n, joints)
        if torques.ndim == 1:
            torques = torques[None]
        elif torques.shape[-2] not in (1, len(h)):
            raise ShapeError(
                f"torque has shape {torques.shape}: time is its second-last axis, which must be {len(h)} "
                f"({duration:g} s in steps of {step:g} s) or 1"
            )
        leading.append(torques.shape[:-2])
    try:
        batch = np.broadcast_shapes(*leading)
    except ValueError:
        shapes = ", ".join(str(s) for s in leading)
        raise ShapeError(
            f"q0, qd0 and what is given with them do not broadcast: their leading axes are {shapes}"
        ) from None
    check_method(arm, method)
    dry = friction and any(any(b.coulomb) for b in all_bodies(arm.mechanism))
    if method == "variational" and dry:
        raise DalembertError(
            f"arm '{arm.name}' has Coulomb friction, which the variational method does not know; "
            "use method 'rk4' or 'dop853', or friction=False"
        )
    if method == "variational" and stops == "contact":
        raise DalembertError("the variational method has no contact; use method 'rk4' or 'dop853'")
    limits = _limits(arm) if stops is not None else None
    walls = tuple((float(a), float(b)) for a, b in limits) if stops == "contact" and limits is not None else ()
    plan = Plan(
        "variational" if method == "variational" else "rk4", law, bool(friction), walls,
        "tip_wrench" in constants, "parameters" in constants, tip,
    )  # fmt: skip
    records = np.unique(np.append(np.arange(0, len(h) + 1, min(int(every), len(h))), len(h)))
    task = Task(
        arm, np.broadcast_to(q0, (*batch, n)).copy(), np.broadcast_to(qd0, (*batch, n)).copy(), duration, method, step,
        int(every), plan, tuple(batch), h, t, records, torques, controller, function, constants, limits,
        torque if tip is not None else None,
    )  # fmt: skip
    if limits is not None:
        check_limits(task, task.q0[..., None, :], t[:1])
    return task


def _same_joints(one: Arm, other: Arm) -> bool:
    """Whether the equations of both take the same q; they may differ in their loads."""
    return one is other or (one.n == other.n and not by_newton(one) and not by_newton(other))


def _limits(arm: Arm) -> Array:
    bounds = [joint.limits for joint in arm.robot.moving_joints]
    limits = np.array([
        (-np.inf if b.lower is None else b.lower, np.inf if b.upper is None else b.upper) for b in bounds
    ])  # fmt: skip
    if not np.any(np.isfinite(limits)):
        raise DalembertError(f"arm '{arm.name}' has no position limits, so it has no stops")
    return limits


def state_name(batch: tuple[int, ...], index: Any) -> str:
    """Which state of the batch, in words."""
    return f" (state {', '.join(str(int(k)) for k in index)} of the batch)" if batch else ""


def check_limits(task: Task, q: Array, t: Array) -> None:
    """An error for the first joint beyond its limits; q is (*batch, instants, n)."""
    assert task.limits is not None
    slack = 1e-9
    low, high = task.limits[:, 0] - slack, task.limits[:, 1] + slack
    bad = np.argwhere((q < low) | (q > high))
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
        f"{state_name(task.batch, index)}"
    )


def check_numbers(task: Task, q: Array, qd: Array, t: Array) -> None:
    """An error for the first instant at which the state is no longer finite."""
    bad = np.argwhere(~(np.isfinite(q) & np.isfinite(qd)))
    if len(bad):
        first = bad[np.argmin(bad[:, -2])]
        raise SimulationError(
            f"the simulation left the numbers at t = {float(t[first[-2]]):.6g} s, joint "
            f"'{task.arm.joint_names[int(first[-1])]}'{state_name(task.batch, first[:-2])}; use a smaller step"
        )
