"""Coulomb friction as a logistic curve that vanishes at rest, as in published models of Franka's arm."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar, tanh
from dalembert.robot.terms.term import Term, coefficient, shape


@dataclass(frozen=True)
class Sigmoid(Term):
    """F_g (1/(1 + e^(−(q̇ + v_0)/w)) − 1/(1 + e^(−v_0/w)))

    1/(1 + e^(−x)) is computed as ½ (1 + tanh x/2), which is differentiable at any velocity, while e^(−x) overflows.
    """

    name = "sigmoid"
    title = "sigmoid friction"
    level: float = coefficient("Fg", "N m")
    width: float = shape("w", "rad/s", least=0.0, above=True)
    shift: float = shape("v0", "rad/s", 0.0)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (0.5 * (self._tanh(qd + self.shift) - self._tanh(self.shift)),)

    def _tanh(self, v: Scalar) -> Scalar:
        return tanh(0.5 * v / self.width)
