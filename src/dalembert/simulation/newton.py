"""Closed chains whose closure is found by Newton: steps taken from Python, each pose from the one before.

The actuated joints are integrated and the others follow from them, so the loops stay closed; and since
Newton's method starts where the chain just was, it stays on its branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import DalembertError
from dalembert.simulation.task import Task, check_limits, check_numbers

if TYPE_CHECKING:
    from dalembert.closed_arm import ClosedArm

Array = NDArray[np.float64]
Progress = Callable[[float], None]


class Follower:
    """Accelerations of a closed chain, from a tree pose that is kept up to date."""

    def __init__(self, task: Task) -> None:
        arm: Any = task.arm
        self.arm: ClosedArm = arm if task.plan.friction else _frictionless(arm)
        self.task = task
        options = ("tip_wrench",) if "tip_wrench" in task.constants else ()
        self.kernel = self.arm.kernel("forward_dynamics", options=options)
        self.extra = [task.constants[x] for x in options]
        self.tree_q = np.asarray(self.arm.tree_positions(task.q0), float)

    def accelerate(self, q: Array, qd: Array, tau: Array) -> Array:
        """q̈ at a state near the last one."""
        self.tree_q = np.asarray(self.arm.tree_positions(q, near=self.tree_q), float)
        return self.kernel(self.tree_q, qd, tau, *self.extra)

    def torque(self, k: int, t: float, q: Array, qd: Array) -> Array:
        """τ in step k at an instant."""
        if self.task.function is not None:
            return self.task.call_function(t, q, qd)
        return np.zeros_like(q) if self.task.torques is None else np.broadcast_to(self.task.torque_at(k), q.shape)


def _frictionless(arm: Any) -> Any:
    from dataclasses import replace

    from dalembert.robot.model import Friction

    def smooth(joint: Any) -> Any:
        rotor = joint.rotor and replace(joint.rotor, viscous=0.0, coulomb=(0.0, 0.0))
        return replace(joint, friction=Friction(), rotor=rotor)

    return arm.replace(joints=tuple(smooth(joint) for joint in arm.robot.joints))


def newton_steps(task: Task, rtol: float, atol: float, progress: Progress | None) -> tuple[Array, Array]:
    """(q, qd) at the records: Runge–Kutta 4, or DOP853 for one state after the other."""
    refuse(task)
    if task.method == "dop853":
        return _adaptive(task, rtol, atol)
    follower = Follower(task)
    q, qd = task.q0.copy(), task.qd0.copy()
    kept = [np.empty((*task.batch, len(task.records), task.arm.n)) for _ in range(2)]
    row = 0
    for k in range(task.steps + 1):
        if row < len(task.records) and k == task.records[row]:
            kept[0][..., row, :], kept[1][..., row, :] = q, qd
            row += 1
        if k == task.steps:
            break
        h, t = float(task.h[k]), float(task.t[k])

        def slope(part: float, x: Array, v: Array, k: int = k, t: float = t, h: float = h) -> Array:
            return follower.accelerate(x, v, follower.torque(k, t + part * h, x, v))

        a1 = slope(0.0, q, qd)
        v2 = qd + 0.5 * h * a1
        a2 = slope(0.5, q + 0.5 * h * qd, v2)
        v3 = qd + 0.5 * h * a2
        a3 = slope(0.5, q + 0.5 * h * v2, v3)
        v4 = qd + h * a3
        a4 = slope(1.0, q + h * v3, v4)
        q, qd = q + h / 6.0 * (qd + 2.0 * (v2 + v3) + v4), qd + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
        check_numbers(task, q[..., None, :], qd[..., None, :], task.t[k + 1 : k + 2])
        if task.limits is not None:
            check_limits(task, q[..., None, :], task.t[k + 1 : k + 2])
        if progress is not None and k % 64 == 0:
            progress((k + 1) / task.steps)
    return kept[0], kept[1]


def refuse(task: Task) -> None:
    """What is not known for closures by Newton, in words."""
    why = None
    if task.method == "variational":
        why = "the variational method"
    elif task.controller is not None:
        why = "a compiled controller: give the torque as a function (t, q, qd)"
    elif task.plan.stops:
        why = "stops='contact'"
    elif task.plan.friction and any(any(body.coulomb) for body in task.arm.mechanism.bodies):
        why = "Coulomb friction: use friction=False"
    if why is not None:
        raise DalembertError(f"arm '{task.arm.name}' closes its loops by Newton's method, which does not go with {why}")


def _adaptive(task: Task, rtol: float, atol: float) -> tuple[Array, Array]:
    from dataclasses import replace

    from scipy.integrate import solve_ivp

    if task.torques is not None and task.torques.shape[-2] > 1:
        raise DalembertError("dop853 of a closure by Newton takes no array of torques over time; use 'rk4'")
    n = task.arm.n
    q, qd = (np.empty((*task.batch, len(task.records), n)) for _ in range(2))
    for index in np.ndindex(*task.batch):
        one = replace(task, q0=task.q0[index], qd0=task.qd0[index], batch=())
        follower = Follower(one)

        def slope(t: float, y: Array, follower: Follower = follower) -> Array:
            x, v = y[:n], y[n:]
            return np.concatenate([v, follower.accelerate(x, v, follower.torque(0, t, x, v))])

        times = task.t[task.records]
        solution = solve_ivp(
            slope, (0.0, task.duration), np.concatenate([one.q0, one.qd0]), "DOP853", t_eval=times, rtol=rtol, atol=atol
        )
        q[index], qd[index] = solution.y[:n].T, solution.y[n:].T
    return q, qd
