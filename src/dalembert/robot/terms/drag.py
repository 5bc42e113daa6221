"""Friction that grows with the square of the velocity: churning of lubricant, fans, cables."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar, sgn
from dalembert.robot.terms.term import Term, coefficient


@dataclass(frozen=True)
class Drag(Term):
    """F_q q̇ |q̇|"""

    name = "drag"
    title = "quadratic friction"
    level: float = coefficient("Fq", "N m s²/rad²")

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (qd * qd * sgn(qd),)
