"""Stribeck friction: additional friction near standstill that decreases with velocity."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar, exp, sgn
from dalembert.robot.terms.term import Term, coefficient, shape


@dataclass(frozen=True)
class Stribeck(Term):
    """F_st sgn(q̇) exp(−(q̇/v_s)²), in addition to Coulomb friction"""

    name = "stribeck"
    title = "Stribeck friction"
    level: float = coefficient("Fst", "N m")
    speed: float = shape("vs", "rad/s", least=0.0, above=True)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        x = qd / self.speed
        return (sgn(qd) * exp(-(x * x)),)
