"""A torque that is periodic in the joint angle: cogging, torque ripple of a gear, a counterbalance."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar, cos, sin
from dalembert.robot.terms.term import Term, coefficient, shape


@dataclass(frozen=True)
class Harmonic(Term):
    """a sin kq + b cos kq, with k periods per turn"""

    name = "harmonic"
    title = "the torque ripple"
    of = ("q",)
    order: float = shape("k", "per turn", least=0.0, above=True)
    sine: float = coefficient("a", "N m", 0.0, negative=True)
    cosine: float = coefficient("b", "N m", 0.0, negative=True)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        x = q if self.order == 1.0 else self.order * q
        return sin(x), cos(x)

    @property
    def symbols(self) -> tuple[str, ...]:
        return f"sin{self.order:g}", f"cos{self.order:g}"
