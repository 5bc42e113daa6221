"""Friction that grows with the torque transmitted by the joint."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar, sgn
from dalembert.robot.terms.term import Term, coefficient


@dataclass(frozen=True)
class LoadFriction(Term):
    """μ |load| sgn(q̇); with μ ≥ 1 no load could drive the joint"""

    name = "load"
    title = "load-dependent friction"
    of = ("qd", "load")
    share: float = coefficient("mu", "", below=1.0)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (load * sgn(load) * sgn(qd),)
