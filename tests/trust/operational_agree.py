"""Every quantity in operational space of small random robots, compiled, on open arms, mimic joints and closed loops.

The expected values are matrix products of NumPy with the joint-space quantities, which :mod:`trust.quantities_agree` checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import dalembert as da
from dalembert.mechanics.motion.operational_space import ANGLE
from dalembert.work.tip.operational import OperationalSpace
from trust.check import Outcome, Task
from trust.quantities_agree import KINDS, example

FAR = 0.01  # both measures of singularity are larger in the states that are used
Array = np.ndarray


def work(task: Task, outcome: Outcome) -> None:
    """One robot after the other, of all kinds of coordinates in turn."""
    for number in task.numbers:
        kind = KINDS[number % len(KINDS)]
        arm, x = example(kind, task.seed, number)
        op = arm.operational_space(orientation="geometric")
        regular = np.min(op.singularity(x["q"]), axis=0) > FAR
        at = Tip(
            arm, op, {name: values[regular] for name, values in x.items()}, np.random.default_rng([task.seed, number])
        )
        if regular.any():
            for name, expected in EXPECTED.items():
                for value, wanted in expected(at):
                    size = max(np.abs(wanted).max(initial=0.0), np.abs(value).max(initial=0.0), at.least[name], 1e-12)
                    error = float(np.abs(value - wanted).max(initial=0.0) / size / at.sensitive)
                    outcome.measure(name, error, f"{kind} robot {number}, seed {task.seed}", len(value))
        outcome.count += 1


@dataclass
class Tip:
    """An arm, its operational space, a batch of its states, and its model in joint space."""

    arm: da.Arm
    op: OperationalSpace
    x: dict[str, Array]
    rng: np.random.Generator

    def __post_init__(self) -> None:
        arm, q, qd = self.arm, self.x["q"], self.x["qd"]
        self.B, self.C, self.g = arm.inertia_matrix(q), arm.coriolis_matrix(q, qd), arm.gravity_torque(q)
        self.J, self.Jd = self.rows(arm.jacobian(q)), self.rows(arm.jacobian_derivative(q, qd))
        self.J_over_B = np.swapaxes(np.linalg.solve(self.B, _t(self.J)), -1, -2)  # J B⁻¹
        self.mobility = self.J_over_B @ _t(self.J)
        self.B_A = np.linalg.inv(self.mobility)
        self.J_bar = _t(self.J_over_B) @ self.B_A
        self.xdd = self.rng.uniform(-2, 2, (len(q), self.op.m))
        self.size = self.rng.uniform(0.5, 2, (len(q), arm.n))

    def rows(self, J: Array) -> Array:
        """The rows of the task of the geometric Jacobian (batch, 6, n)."""
        normal = np.array(self.op.space.normal)
        rows = [normal @ J[:, 3:] if row == ANGLE else J[:, row] for row in self.op.space.rows]
        return np.stack(rows, axis=1)

    @cached_property
    def sensitive(self) -> float:
        """Results are as sensitive to rounding as B and products of J with its transpose are near to singular."""
        J_B = self.J @ self.B
        conditions = [np.linalg.cond(self.B)]
        for product in (self.mobility, self.J @ _t(self.J), J_B @ _t(J_B)):
            scale = np.sqrt(np.einsum("kii->ki", product))
            conditions.append(np.linalg.cond(product / scale[:, :, None] / scale[:, None, :]))
        return 1.0 + float(max(x.max() for x in conditions)) / 100

    @cached_property
    def least(self) -> dict[str, float]:
        """The size of the terms of sums that may cancel."""
        moved = float(np.abs(self.J).max(initial=0.0))
        force = float(np.abs(self.B_A).max(initial=0.0)) * max(float(np.abs(self.Jd).max(initial=0.0)), 1.0)
        turned = float(np.abs(self.J_bar).max(initial=0.0)) * float(np.abs(self.g).max(initial=0.0))
        sums = {"coriolis": force, "coriolis_force": force, "gravity": turned, "jacobian_derivative": moved}
        return (
            dict.fromkeys(EXPECTED, 0.0) | sums | {"null_projector": moved * float(np.abs(self.J_bar).max(initial=1.0))}
        )

    def asked(self, name: str, **more: Any) -> Array:
        """A compiled quantity at the states, with what it takes beside q."""
        return self.op.run(name, q=self.x["q"], **more)


def _t(A: Array) -> Array:
    return np.swapaxes(A, -1, -2)


def _by(A: Array, x: Array) -> Array:
    return np.einsum("kij,kj->ki", A, x)


def _volume(A: Array) -> Array:
    return np.sqrt(np.linalg.det(A @ _t(A)))


Pairs = list[tuple[Array, Array]]


def _transformation(t: Tip) -> Pairs:
    """ω = T(φ) φ̇ of ZYZ angles, where sin ϑ is not small."""
    T = t.arm.pose(t.x["q"])
    far = np.hypot(T[:, 0, 2], T[:, 1, 2]) > FAR
    phi, theta = np.arctan2(T[far, 1, 2], T[far, 0, 2]), np.arccos(T[far, 2, 2])
    if not far.any():
        return []
    zyz = t.arm.operational_space(orientation="zyz")
    value = zyz.transformation(t.x["q"][far])
    zero, one = np.zeros_like(phi), np.ones_like(phi)
    s, c = np.sin, np.cos
    axes = np.stack([[zero, zero, one], [-s(phi), c(phi), zero], [c(phi) * s(theta), s(phi) * s(theta), c(theta)]])
    wanted = np.zeros_like(value)
    wanted[:, :3, :3], wanted[:, 3:, 3:] = np.eye(3), np.moveaxis(axes, -1, 0).swapaxes(-1, -2)
    return [(value, wanted)]


def _coriolis(t: Tip) -> Pairs:
    """C_A ẋ is the force of S (7.131) for q̇ = J̄ ẋ."""
    xd = t.rng.uniform(-2, 2, (len(t.x["q"]), t.op.m))
    qd = _by(t.J_bar, xd)
    return [(_by(t.asked("coriolis", qd=qd), xd), t.asked("coriolis_force", qd=qd))]


def _coriolis_force(t: Tip) -> Pairs:
    qd = t.x["qd"]
    wanted = _by(_t(t.J_bar), _by(t.C, qd)) - _by(t.B_A, _by(t.Jd, qd))
    return [(t.asked("coriolis_force", qd=qd), wanted)]


def _torque(t: Tip) -> Pairs:
    """Forward dynamics of the torque accelerates the tip as wanted."""
    q, qd, wrench = t.x["q"], t.x["qd"], t.x["tip_wrench"]
    tau = t.asked("torque", qd=qd, xdd=t.xdd, tip_wrench=wrench, tau0=t.x["tau"])
    qdd = t.arm.forward_dynamics(q, qd, tau, tip_wrench=wrench)
    return [(_by(t.J, qdd) + _by(t.Jd, qd), t.xdd)]


def _resolved(t: Tip) -> Pairs:
    qd, own = t.x["qd"], t.x["qdd_r"]
    plus = np.linalg.pinv(t.J)
    wanted = _by(plus, t.xdd - _by(t.Jd, qd)) + own - _by(plus, _by(t.J, own))
    return [(t.asked("resolved_acceleration", qd=qd, xdd=t.xdd, qdd0=own), wanted)]


def _ellipsoids(name: str) -> Callable[[Tip], Pairs]:
    """The radii of an ellipsoid multiplied, with W = diag(size)."""

    def pairs(t: Tip) -> Pairs:
        W = t.size[:, None, :]
        wanted = {
            "manipulability": lambda: _volume(t.J * W),
            "dynamic_manipulability": lambda: np.linalg.det(t.J @ _t(t.J)) / _volume(t.J @ t.B / W),
            "consistent_manipulability": lambda: np.linalg.det(t.mobility) / _volume(t.J / W),
            "exact_manipulability": lambda: _volume(t.J_over_B * W),
        }[name]()
        place, value = t.op.kernel(name)(t.arm.placed(t.x["q"]), t.size)
        return [(value, wanted), (place, t.arm.pose(t.x["q"])[:, :3, 3])]

    return pairs


def _reach(t: Tip) -> Pairs:
    J, over_B, center = t.op.kernel("reach")(t.arm.placed(t.x["q"]))
    return [(J, t.J), (over_B, t.J_over_B), (center, -_by(t.J_over_B, t.g))]


def _torque_maps(t: Tip) -> Pairs:
    by_plus, by_bar = t.op.kernel("torque_maps")(t.arm.placed(t.x["q"]), np.zeros(2))
    return [(_t(by_plus), t.B @ np.linalg.pinv(t.J)), (_t(by_bar), t.B @ t.J_bar)]


def _damped_step(t: Tip) -> Pairs:
    """(JᵀJ + λ D) x = Jᵀe with D = diag(JᵀJ), for joints that all move the tip."""
    error, free = t.xdd, np.ones((1, t.arm.n))
    step = t.op.kernel("damped_step")(t.arm.placed(t.x["q"]), error, free, np.full((1, 1), 1e-2))
    square = _t(t.J) @ t.J
    D = np.einsum("kii->ki", square)
    D = 1e-2 * (D + 1e-8 * D.sum(axis=1, keepdims=True))
    return [(_by(square, step) + D * step, _by(_t(t.J), error))]


EXPECTED: dict[str, Callable[[Tip], Pairs]] = {
    "transformation": _transformation,
    "jacobian": lambda t: [(t.asked("jacobian"), t.J)],
    "jacobian_derivative": lambda t: [(t.asked("jacobian_derivative", qd=t.x["qd"]), t.Jd)],
    "velocity": lambda t: [(t.asked("velocity", qd=t.x["qd"]), _by(t.J, t.x["qd"]))],
    "acceleration": lambda t: [
        (t.asked("acceleration", qd=t.x["qd"], qdd=t.x["qdd"]), _by(t.J, t.x["qdd"]) + _by(t.Jd, t.x["qd"]))
    ],
    "inertia": lambda t: [(t.asked("inertia"), t.B_A)],
    "coriolis": _coriolis,
    "coriolis_force": _coriolis_force,
    "gravity": lambda t: [(t.asked("gravity"), _by(_t(t.J_bar), t.g))],
    "inverse_jacobian": lambda t: [(t.asked("inverse_jacobian"), t.J_bar)],
    "null_projector": lambda t: [(t.asked("null_projector"), np.eye(t.arm.n) - _t(t.J) @ _t(t.J_bar))],
    "torque": _torque,
    "resolved_acceleration": _resolved,
    "reach": _reach,
    "torque_maps": _torque_maps,
    "damped_step": _damped_step,
    **{
        name: _ellipsoids(name)
        for name in ("manipulability", "dynamic_manipulability", "consistent_manipulability", "exact_manipulability")
    },
}
ELSEWHERE = ("controlled", "wall_wrench")  # laws of controllers, checked by tests/work/tip/test_tip_control.py
