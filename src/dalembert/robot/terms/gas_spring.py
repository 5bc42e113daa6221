"""A counterbalance: a cylinder between the links before and after a joint."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar, cos, sin, sqrt
from dalembert.errors import RobotError
from dalembert.robot.terms.term import Term, coefficient, shape


@dataclass(frozen=True)
class GasSpring(Term):
    """−(F + c (ℓ_0 − ℓ)) dℓ/dq with ℓ² = a² + b² − 2ab cos(q − q_0), F pushing the ends apart

    a, b   distances of the two ends from the joint axis
    angle  q_0, where the ends are closest to each other
    length ℓ_0, at which the force is F; it increases by c per metre of compression
    """

    name = "gas_spring"
    title = "the gas spring"
    of = ("q",)
    turns = True
    force: float = coefficient("F", "N", negative=True)
    a: float = shape("a", "m", least=0.0, above=True)
    b: float = shape("b", "m", least=0.0, above=True)
    angle: float = shape("q0", "rad", 0.0)
    rate: float = coefficient("c", "N/m", 0.0, negative=True)
    length: float = shape("l0", "m", 0.0, least=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.a == self.b:
            raise RobotError(
                f"the ends of a gas spring are both {self.a:g} m from the axis and could coincide; a and b must differ"
            )

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        x = q - self.angle
        length = sqrt(self.a * self.a + self.b * self.b - 2.0 * self.a * self.b * cos(x))
        slope = self.a * self.b * sin(x) / length
        return -slope, -(self.length - length) * slope
