"""States of an arm for the evaluation of further columns: of all joints of its tree, as arrays for a term's law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.robot.terms import Coulomb, GearLoss, LoadFriction, Stribeck, Term


class Samples(np.ndarray):
    """An array of samples that a law accepts as a scalar: it has the functions that laws require."""

    def less(self, other: Any) -> Any:
        """1 where it is below the other, otherwise 0."""
        return 1.0 * np.less(self, other)

    def select(self, x: Any, y: Any) -> Any:
        """x where it is not 0, otherwise y."""
        return np.where(self != 0.0, x, y).view(Samples)

    def ratan2(self, y: Any) -> Any:
        """The angle of the points (self, y)."""
        return np.arctan2(y, self)


for _name, _function in {
    "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "tanh": np.tanh, "sign": np.sign,
    "asin": np.arcsin, "acos": np.arccos, "atan2": np.arctan2,
}.items():  # fmt: skip
    setattr(Samples, _name, lambda self, *others, function=_function: function(self, *others))


JUMPING = (Coulomb, Stribeck, LoadFriction, GearLoss)  # laws that jump with the sign of the velocity


def mean_sign(qd: Array) -> Array:
    """sgn q̇ (N,) averaged over each sampling interval, the velocity being linear between samples.

    Friction jumps between two samples; with sgn at the samples alone the jump could be displaced by up to half an
    interval.

    >>> mean_sign(np.array([-3.0, -1.0, 0.5, 2.0])).tolist()
    [-1.0, -1.0, 0.6666666666666666, 1.0]
    """
    middle = 0.5 * (qd[1:] + qd[:-1])
    before, after = np.append(qd[0], middle), np.append(middle, qd[-1])

    def along(a: Array, b: Array) -> Array:
        rise = b - a
        return np.divide(np.abs(b) - np.abs(a), rise, out=np.sign(a + b), where=rise != 0)

    return 0.5 * (along(before, qd) + along(qd, after))


class States:
    """q, q̇, q̈ of an arm, (N, n) each, and the positions and velocities of the joints of its tree.

    temperature  T − T̄ (N, n): deviation of the joints from their mean temperature (K); zero by default
    loads        (N,) the torques transmitted by joints with load-dependent terms, by their numbers; zero by default
    averaged     whether consecutive samples represent the mean over their interval, as those of a thinned log do
    """

    def __init__(
        self, arm: Arm, q: Array, qd: Array, qdd: Array, temperature: Array | None = None,
        loads: Mapping[int, Array] = {}, averaged: bool = False,
    ) -> None:  # fmt: skip
        self.arm, self.q, self.qd, self.qdd, self.temperature = arm, q, qd, qdd, temperature
        self.loads, self.averaged, self.zero = loads, averaged, np.zeros(len(q))

    @cached_property
    def Gamma(self) -> Array | None:
        """Γ (N, links, n), the Jacobian of the joints of the tree with respect to q; None if they are the same."""
        if self.arm.mechanism.identity:
            return None
        return np.asarray(self.arm.closure_jacobian(self.q), np.float64)

    @cached_property
    def _positions(self) -> Array:
        return self.q if self.Gamma is None else np.asarray(self.arm.tree_positions(self.q), np.float64)

    def row(self, joint: int) -> Array:
        """Γ_j (N, n), or a unit vector (1, n): the dependence of a joint of the tree on q."""
        return np.eye(self.arm.n)[joint : joint + 1] if self.Gamma is None else self.Gamma[:, joint]

    def position(self, joint: int) -> Array:
        """(N,) the position of a joint of the tree."""
        return self._positions[:, joint]

    def torque(self, term: Term, joint: int) -> Array:
        """(N, n) the contribution of a term at a joint of the tree to the joints of q: Γ_jᵀ f(q_j, q̇_j, load)."""
        row = self.row(joint)
        q = self.position(joint) if "q" in term.of else self.zero
        return row * self.sampled(term, q, (row * self.qd).sum(axis=1), self.loads.get(joint, self.zero))

    def own_torque(self, term: Term, joint: int) -> Array:
        """(N,) the torque of a term at a joint on that joint itself, if all joints of the tree are in q."""
        q = self.q[:, joint] if "q" in term.of else self.zero
        return self.sampled(term, q, self.qd[:, joint], self.loads.get(joint, self.zero))[:, 0]

    def warmth(self, joint: int) -> Array:
        """T − T̄ (N, 1) of a joint of the tree that is in q (K)."""
        if self.temperature is None:
            return np.zeros((len(self.q), 1))
        return self.temperature[:, [self.arm.mechanism.actuated.index(joint)]]

    def sampled(self, term: Term, q: Array, qd: Array, load: Array) -> Array:
        """A term's torque (N, 1) at the samples."""
        torque = self.law(term, q, qd, load)
        mean = self.averaged and isinstance(term, JUMPING)
        return torque * (np.sign(qd) * mean_sign(qd))[:, None] if mean else torque

    @staticmethod
    def law(term: Term, q: Array, qd: Array, load: Array) -> Array:
        """A term's torque (N, 1) at many states."""
        with np.errstate(over="ignore"):  # in an exponential whose inverse is used
            torque = term.torque(*(np.asarray(x).view(Samples) for x in (q, qd, load)))
        return np.broadcast_to(np.asarray(torque), len(q))[:, None]
