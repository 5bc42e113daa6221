"""Viscous friction, S (7.42)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert.base.algebra.scalars import Scalar
from dalembert.robot.terms.term import Term, coefficient


@dataclass(frozen=True)
class Viscous(Term):
    """F_v q̇"""

    name = "viscous"
    title = "viscous friction"
    damping: float = coefficient("Fv", "N m s/rad")

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (qd,)

    def written(self) -> Any:
        return self.damping if self.physical else super().written()
