"""A spring at a joint."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar
from dalembert.robot.terms.term import Term, coefficient, shape


@dataclass(frozen=True)
class Spring(Term):
    """k (q − q_0)"""

    name = "spring"
    title = "the spring"
    of = ("q",)
    stiffness: float = coefficient("k", "N m/rad")
    rest: float = shape("q0", "rad", 0.0)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (q - self.rest,)
