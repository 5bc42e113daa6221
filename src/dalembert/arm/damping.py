"""The fastest decay of joint speeds by friction, which bounds the step of an explicit integration method.

Between two changes of a contact, a deviation of the speeds decays as δq̈ = −B⁻¹ D δq̇, where D is the slope of friction over
the speed at rest: F_v, and that of smooth laws such as tanh, for a closed chain Γᵀ D Γ. An explicit method is stable while
the step times λ, the largest eigenvalue of B⁻¹ D, stays below a number of its own. Longer steps are divided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.base.arrays import Array
from dalembert.errors import SimulationError
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.coordinates.pulled import smooth
from dalembert.mechanics.motion.dry_friction import moving_torque
from dalembert.mechanics.motion.methods import Method

if TYPE_CHECKING:
    from dalembert.arm.compiled import Compiled


POSES = 32  # poses of an open chain at which its fastest pole is computed, drawn from the ranges of its joints
MOST = 1000  # substeps of a step
SLOWER = 1e-6  # rad/s or m/s: speed over which the slope of friction is taken


class Pole(NamedTuple):
    """The fastest decay of joint speeds: its rate λ (1/s), and the index of the joint that dissipates most of it."""

    rate: float
    joint: int

    def substeps(self, arm: Compiled, method: Method, step: float) -> int:
        """Number of equal parts of a step (s) in which the method is stable; an error if they are too many."""
        if self.rate * step <= method.stable:
            return 1
        if (parts := self.rate * step / method.divided) > MOST:
            raise SimulationError(
                f"the damping of joint '{arm.joint_names[self.joint]}' of arm '{arm.name}' makes its speed decay with a "
                f"pole of {self.rate:.3g} /s, for which a step of {step:g} s would be divided into {parts:.3g} substeps, "
                f"more than {MOST}; use a step of at most {MOST * method.divided / self.rate:.2g} s, or less damping"
            )
        return int(np.ceil(parts))


NONE = Pole(0.0, 0)


class Posed(NamedTuple):
    """Some poses of an arm with their inertia and damping: q (N, n), B and D (N, n, n)."""

    q: Array
    B: Array
    D: Array


def fastest(B: Array, D: Array, least: float = 0.0) -> Pole:
    """The fastest decaying pole of δq̈ = −B⁻¹ D δq̇ over all B and D, (…, n, n) each; none if all are slower than ``least``
    (1/s) by their norm."""
    known = np.isfinite(B).all(axis=(-2, -1))
    B, D = B[known], np.broadcast_to(D, B.shape)[known]
    if not D.any():
        return NONE
    moved = np.linalg.cond(B) < 1 / np.finfo(float).eps  # every joint moves some inertia
    B, D = B[moved], D[moved]
    with np.errstate(all="ignore"):
        decay_of = np.linalg.solve(B, D)
    if not np.isfinite(decay_of).all():
        return Pole(np.inf, int(np.argmax(np.abs(D).max(axis=(0, 1)))))
    if np.einsum("...ij,...ij->...", decay_of, decay_of).max(initial=0.0) <= least * least:
        return NONE
    rates, modes = np.linalg.eig(decay_of)
    decay = np.where(rates.real > 0.0, np.abs(rates), 0.0)
    pose, k = np.unravel_index(int(np.argmax(decay)), decay.shape)
    mode = modes[pose, :, k]
    return Pole(float(decay[pose, k]), int(np.argmax(np.abs(mode.conj() * (D[pose] @ mode)))))


def friction_slopes(mechanism: AnyMechanism, x: Array, qd: Array | None = None) -> Array:
    """D: the slope of friction over the speeds q̇, by default at rest, (…, n, n).

    x  positions for the equations of motion, (…, Q)
    """
    n, sliding = mechanism.n, smooth(mechanism)
    speeds = np.zeros((*x.shape[:-1], n)) if qd is None else qd
    D = np.empty((*speeds.shape, n))
    for index in np.ndindex(*speeds.shape[:-1]):
        at, v = x[index].tolist(), speeds[index]
        rest = np.array(moving_torque(sliding, at, v.tolist()), float)
        if mechanism.identity:  # the friction of a joint depends on its own speed alone
            more = np.array(moving_torque(sliding, at, (v + SLOWER).tolist()), float)
            D[index] = np.diag((more - rest) / SLOWER)
        else:
            columns = [moving_torque(sliding, at, (v + SLOWER * e).tolist()) for e in np.eye(n)]
            D[index] = (np.array(columns, float) - rest).T / SLOWER
    return D


def some_poses(arm: Compiled) -> Array:
    """Poses drawn from the ranges of the joints; the home pose of an arm whose loops may not close there: (…, n)."""
    if not arm.mechanism.linear:
        return np.array([arm.home])
    joints = arm.robot.moving_joints
    half = np.array([np.pi if joint.type != "prismatic" else 1.0 for joint in joints])
    low, high = (np.array([getattr(x.limits, end) for x in joints], float) for end in ("lower", "upper"))
    low, high = np.fmax(low, -half), np.fmin(high, half)
    return np.random.default_rng(0).uniform(np.fmin(low, high), high, (POSES, arm.n))


def posed(arm: Compiled, q: Array, qd: Array | None = None) -> Posed:
    """The poses q (N, n) with their inertia, and their damping at rest or at the speeds q̇."""
    B: Array = np.asarray(arm.inertia_matrix(q), np.float64)  # type: ignore[attr-defined]
    if not damped(arm):
        return Posed(q, B, np.zeros_like(B))
    return Posed(q, B, friction_slopes(arm.mechanism, np.asarray(arm.placed(q), float), qd))


def damped(arm: Compiled) -> bool:
    """Whether any friction of the arm depends on the speed."""
    bodies = arm.mechanism.tree.bodies
    return any("qd" in term.of and any(term.coefficients) for body in bodies for term in body.terms)


def damping_pole(arm: Compiled, q: Array, qd: Array | None = None) -> Pole:
    """The fastest pole of friction at these poses q (N, n), at rest or at the speeds q̇."""
    _, B, D = posed(arm, q, qd)
    return fastest(B, D)
