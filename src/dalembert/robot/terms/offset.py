"""A constant torque: an offset of a sensor or of the drive current."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert.base.algebra.scalars import Scalar
from dalembert.robot.terms.term import Term, coefficient


@dataclass(frozen=True)
class Offset(Term):
    """τ_0"""

    name = "offset"
    title = "the torque offset"
    of = ()
    level: float = coefficient("tau0", "N m", negative=True)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (1.0,)

    @property
    def symbols(self) -> tuple[str, ...]:
        return ("offset",)

    def written(self) -> Any:
        return self.level
