"""Coulomb friction with a smooth transition at zero velocity: a hyperbolic tangent."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar, tanh
from dalembert.robot.terms.term import Term, coefficient, shape


@dataclass(frozen=True)
class Tanh(Term):
    """F_t tanh((q̇ − v_0)/w)"""

    name = "tanh"
    title = "gradual Coulomb friction"
    level: float = coefficient("Ft", "N m")
    width: float = shape("w", "rad/s", least=0.0, above=True)
    centre: float = shape("v0", "rad/s", 0.0)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (tanh((qd - self.centre) / self.width),)
