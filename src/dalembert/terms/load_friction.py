"""Friction that grows with the torque that the joint passes on."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.algebra.scalars import Scalar, sgn
from dalembert.terms.term import Term, coefficient


@dataclass(frozen=True)
class LoadFriction(Term):
    """μ |load| sgn(q̇)"""

    name = "load"
    title = "load-dependent friction"
    of = ("qd", "load")
    share: float = coefficient("mu", "")

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (load * sgn(load) * sgn(qd),)
