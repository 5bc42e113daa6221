"""Closed chains in a simulation: positions of their passive joints, and errors where these no longer exist.

The actuated joints are integrated and determine the others, so the loops stay closed. Where Newton's method closes
them, it starts from the last configuration of the chain and so stays on its branch.
"""

from __future__ import annotations

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array, which_state
from dalembert.compiler.quantities.rollouts import piece_kernel
from dalembert.compiler.quantities.step_program import Plan
from dalembert.errors import ClosureError
from dalembert.mechanics.coordinates.triangles import Triangle
from dalembert.mechanics.motion.dry_friction import clearance_count

NEAR = 1e-5  # how close an adaptive step may come to a singular pose, as a sine
KINEMATICS = Plan(law="none", friction=False)  # any plan: the distance to a singular pose does not depend on it
STEPS_AHEAD = 3  # steps in which a diverged chain is searched for beyond its reach


class Place:
    """Maps q to the positions in the equations of motion: q, or γ(q) by Newton's method from the last one."""

    def __init__(self, arm: Arm, q0: Array) -> None:
        self.arm = arm
        self.newton = arm.mechanism.by_newton
        self.tree_q = self._near(q0, None) if self.newton else q0

    def _near(self, q: Array, near: Array | None) -> Array:
        return np.asarray(self.arm.tree_positions(q, near=near), np.float64)

    def __call__(self, q: Array) -> Array:
        if not self.newton:
            return q
        fine = np.isfinite(q).all(axis=-1)
        if fine.all():
            self.tree_q = self._near(q, self.tree_q)
            return self.tree_q
        x = np.full(self.tree_q.shape, np.nan)  # states that have diverged are reported elsewhere
        x[fine] = self._near(q[fine], self.tree_q[fine])
        return x


def placed_along(arm: Arm, q: Array) -> Array:
    """Positions for the equations of motion along a run, q (…, instants, n), each from the previous one."""
    if not arm.mechanism.by_newton:
        return q
    place = Place(arm, q[..., 0, :])
    return np.stack([place(q[..., k, :]) for k in range(q.shape[-2])], axis=-2)


def check_closure_within_step(
    arm: Arm, t: float, x: Array, q: Array, qd: Array, h: float, index: tuple[int, ...] = ()
) -> None:
    """Raise an error if a loop becomes singular or unreachable within a step from the state (q, q̇) at t.

    x replaces q in the equations of motion.
    """
    if not clearance_count(arm.mechanism) or not all(np.isfinite(y).all() for y in (x, q, qd)):
        return
    with np.errstate(all="ignore"):
        unsafe, _ = piece_kernel(arm.mechanism, KINEMATICS, "near_singular")(x, qd, np.full(1, float(h)))
    ahead = q + h * np.arange(STEPS_AHEAD)[:, None] * qd
    if np.isnan(unsafe).any() or not (arm.mechanism.by_newton or arm.closes(ahead).all()):
        raise singular(arm, t, x, q, qd, index)


def singular(arm: Arm, t: float, x: Array, q: Array, qd: Array, index: tuple[int, ...]) -> ClosureError:
    """The error for a simulation that reaches a singular pose."""
    loop, how = "', '".join(arm.loop_names), "its links lie in one line"
    if not arm.mechanism.by_newton:
        _, sines = piece_kernel(arm.mechanism, KINEMATICS, "near_singular")(x, qd, np.zeros(1))
        turning = [closure for closure in arm.mechanism.closures if isinstance(closure, Triangle)]
        turning += [closure for closure in turning if closure.slides]
        nearest = turning[int(np.argmin(sines))]
        loop, how = arm.loop_names[nearest.loop], nearest.singular
    where = "(" + ", ".join(f"{x:.6g}" for x in q.tolist()) + ")"
    return ClosureError(
        f"loop '{loop}' of arm '{arm.name}' comes to a singular pose after t = {t:.6g} s, q = {where}"
        f"{which_state(index)}: there {how}, and the actuated joints do not determine how the "
        "passive ones continue (a smaller step gets closer)",
        "singular", loop, index,
    )  # fmt: skip


def at_instant(problem: ClosureError, t: float) -> ClosureError:
    """The same error with the time added."""
    return ClosureError(f"at t = {t:.6g} s: {problem}", problem.kind, problem.loop, problem.index)
