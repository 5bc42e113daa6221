"""The fastest decay of speeds in a simulation, by friction and by a continuous controller, and a check of it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.arm.damping import NONE, POSES, Pole, Posed, damped, damping_pole, fastest, friction_slopes, posed
from dalembert.base.arrays import Array, which_state
from dalembert.compiler.quantities import machine
from dalembert.compiler.quantities.rollouts import ROLLOUTS
from dalembert.errors import SimulationError
from dalembert.mechanics.coordinates.pulled import inertia_matrix
from dalembert.mechanics.coordinates.variable_parameters import with_parameters
from dalembert.mechanics.motion.methods import METHODS
from dalembert.mechanics.motion.stepping import has_dry_friction
from dalembert.work.simulation.controllers import Controller

if TYPE_CHECKING:
    from dalembert.work.simulation.task import Task

SETS = 8  # poses for each set of parameters
RECORDS = 64  # records of a run at which friction is checked
CALLS = 8  # records of a run at which the slope of a Python torque is taken
SUSPECT = 2.0  # steps are checked afterwards if this many times the pole would be too fast for them
MARGIN = 1.1  # of a method's ``stable``: beyond, steps are wrong
SAMPLED = 2.0  # pole times period above which a torque that is held for a period more than reverses the speed
DEVIATION = 1e-3  # rad/s or m/s: deviation of the speed by which the slope of a law is taken, in both directions


def _some(values: Array, count: int) -> Array:
    """At most this many of the rows, evenly spaced: (…, size) → (count, size)."""
    rows = values.reshape(-1, values.shape[-1])
    return rows[_spread(len(rows), count)]


def _spread(length: int, count: int) -> NDArray[np.intp]:
    """At most this many indices of an axis, evenly spaced, including both ends."""
    return np.unique(np.linspace(0, max(0, length - 1), count if length else 0).round().astype(np.intp))


def poses_of(arm: Arm, q0: Array) -> Posed:
    """Poses at which poles are computed: of the arm, or initial ones if its loops may not close elsewhere."""
    return arm._posed if arm.mechanism.linear else posed(arm, _some(q0, POSES))


def friction_pole(arm: Arm, q0: Array, qd0: Array, parameters: Array | None) -> Pole:
    """The fastest pole of the arm's friction, at rest and at the initial speeds, or of other ``parameters``, (…, 13N)."""
    if parameters is None and not damped(arm):
        return NONE
    if parameters is None:
        pole = arm._damping if arm.mechanism.linear else damping_pole(arm, _some(q0, POSES))
        return max(pole, damping_pole(arm, _some(q0, POSES), _some(qd0, POSES))) if _curved(arm) else pole
    poses, pole = _some(poses_of(arm, q0).q, SETS), NONE
    x = np.asarray(arm.placed(poses), float)
    for values in _some(parameters, POSES):
        mechanism = with_parameters(arm.mechanism, values.tolist())
        D = friction_slopes(mechanism, x)
        if D.any():
            pole = max(pole, fastest(np.array([inertia_matrix(mechanism, at.tolist()) for at in x], float), D))
    return pole


def _curved(arm: Arm) -> bool:
    """Whether the slope of friction may depend on the speed."""
    return any("qd" in term.of for body in arm.mechanism.tree.bodies for term in body.further)


def check_damping(task: Task, q: Array, qd: Array) -> None:
    """Raise an error if friction is steeper along a motion (…, N, n) than its steps resolve.

    It may become so where the slope of friction depends on the speed, and where the inertia of a joint falls below that of
    all poses at which the steps were chosen. The search for events could hide that such steps are unstable.
    """
    arm, stable, step = task.arm, METHODS[task.plan.method].stable, float(task.grid.h.max())
    near = SUSPECT * task.pole.rate * step > stable
    known = task.plan.friction and not task.plan.parameters and not arm.mechanism.by_newton
    if not known or not (near or _curved(arm)):
        return
    rows = _spread(q[..., 0].size, RECORDS)
    positions, speeds = (x.reshape(-1, arm.n)[rows] for x in (q, qd))
    if damping_pole(arm, positions, speeds).rate * step <= MARGIN * stable:
        return
    poles = [damping_pole(arm, x[None], v[None]) for x, v in zip(positions, speeds, strict=True)]
    k = int(np.argmax([pole.rate for pole in poles]))
    *index, at = np.unravel_index(rows[k], q.shape[:-1])
    raise _too_fast("friction", task, poles[k], float(task.t[task.records][at]), which_state(index))


def _too_fast(what: str, task: Task, pole: Pole, t: float, which: str = "", otherwise: str = "") -> SimulationError:
    """The error for a pole that the steps do not resolve, caused by ``what`` at the time t in ``which`` state."""
    stable, step = METHODS[task.plan.method].stable, float(task.grid.h.max())
    return SimulationError(
        f"{what} makes the speed of joint '{task.arm.joint_names[pole.joint]}' decay with a pole of {pole.rate:.3g} /s at "
        f"t = {t:.6g} s{which}, for which steps of {step:.2g} s are too long; use a step of at most "
        f"{task.step * stable / (pole.rate * step):.2g} s{otherwise}"
    )


def check_torque_function(task: Task, q: Array, qd: Array) -> None:
    """Raise an error if a Python torque falls with the speed more steeply than the steps of a motion (…, N, n) resolve.

    With dry friction, the search for events could hide that such steps are unstable. The slope is judged where it is the
    same for two deviations; a torque that jumps has none.
    """
    arm, function, step = task.arm, task.function, float(task.grid.h.max())
    dry = task.plan.friction and any(map(has_dry_friction, arm.mechanism.tree.bodies))
    if function is None or task.sampling is not None or not dry or arm.mechanism.by_newton:
        return

    def slope(t: float, x: Array, v: Array, by: float) -> Array:
        deviations = by * np.concatenate([np.eye(arm.n), -np.eye(arm.n)])
        tau = np.array([np.broadcast_to(np.asarray(function(t, x, v + way), float), x.shape) for way in deviations])
        return np.moveaxis((tau[arm.n :] - tau[: arm.n]) / (2 * by), 0, -1).reshape(-1, arm.n, arm.n)

    stable, times = METHODS[task.plan.method].stable, task.t[task.records]
    for k in _spread(q.shape[-2], CALLS):
        x, v = q[..., k, :], qd[..., k, :]
        near, wide = (slope(float(times[k]), x, v, by) for by in (DEVIATION, 3 * DEVIATION))
        if not np.allclose(near, wide, rtol=0.1, atol=0.1 * float(np.abs(wide).max())):
            continue
        _, B, D = posed(arm, x.reshape(-1, arm.n))
        pole = fastest(B, near + D)
        if pole.rate * step > MARGIN * stable:
            otherwise = ", or a controller such as da.PD, whose steps are divided"
            raise _too_fast("the torque function", task, pole, float(times[k]), otherwise=otherwise)


def closed_loop_pole(
    arm: Arm, controller: Controller, poses: Posed, gains: Sequence[Array], friction: bool, least: float = 0.0
) -> Pole:
    """The fastest pole of the speeds under a continuous law with its largest gains, if faster than ``least`` (1/s)."""
    q, B, D = poses
    largest = [gain.reshape(-1, arm.n).max(axis=0, initial=0.0) for gain in gains]
    if not largest[1].any():  # K_d
        return NONE
    x, still = np.asarray(arm.placed(q), float), np.zeros((len(q), 1, 2 * arm.n))
    reference = np.concatenate([q[:, None, :], still], axis=-1)
    law = machine.kernel(controller.known(arm, friction), ROLLOUTS[controller.memoryless or controller.law])
    ahead, back = (law(x[:, None, :], way * DEVIATION * np.eye(arm.n), reference, *largest) for way in (1.0, -1.0))
    law_slope = (back - ahead).swapaxes(-1, -2) / (2 * DEVIATION)
    return fastest(B, law_slope + D if friction else law_slope, least)


def sampled_remedy(arm: Arm, controller: Controller | None, rate: float, q: Array) -> str:
    """The remedy for a sampled loop that diverged in the motion q (instants, n), which names the rate and the gain."""
    held = f"the torque is held between samples (rate={rate:g} Hz)"
    if controller is None:
        return f"{held}: use a higher rate, or smaller gains in the torque function"
    kp, kd = controller.words[:2]
    gains = list(Controller.gains(controller, arm).values())
    pole = closed_loop_pole(arm, controller, posed(arm, q[:1]), gains, friction=False)
    if pole.rate < SAMPLED * rate:
        return f"{held}: use a higher rate, a shorter delay, or smaller gains {kp} and {kd}"
    return (
        f"{held}, for which {kd} is too large: it gives joint '{arm.joint_names[pole.joint]}' a pole of {pole.rate:.3g} /s, and a "
        f"sampled loop is unstable above {SAMPLED:g} × rate; use a rate above {pole.rate / SAMPLED:.3g} Hz, or a smaller {kd}"
    )
