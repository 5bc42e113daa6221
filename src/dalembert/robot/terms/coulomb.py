"""Coulomb friction, S (7.42), with a separate level for each direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.base.algebra.scalars import Scalar, sgn
from dalembert.errors import RobotError
from dalembert.robot.terms.term import Term, coefficient


@dataclass(frozen=True)
class Coulomb(Term):
    """F_s⁺ at positive and −F_s⁻ at negative velocity; at rest the value between them that balances the joint."""

    name = "coulomb"
    title = "Coulomb friction"
    forward: float = coefficient("Fs+", "N m")
    backward: float = coefficient("Fs-", "N m")

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        s = sgn(qd)
        return 0.5 * (s + s * s), 0.5 * (s - s * s)

    def torque(self, q: Scalar, qd: Scalar, load: Scalar) -> Scalar:
        """F_s sgn(q̇), written ½(F_s⁺ + F_s⁻) sgn + ½(F_s⁺ − F_s⁻) sgn²."""
        s = sgn(qd)
        return 0.5 * (self.forward + self.backward) * s + 0.5 * (self.forward - self.backward) * (s * s)

    def static(self, q: Scalar, load: Scalar) -> tuple[Scalar, Scalar]:
        return self.forward, self.backward

    @classmethod
    def read(cls, value: Any) -> Coulomb:
        """One level for both directions, or one level per direction."""
        if isinstance(value, Mapping):
            return super().read(value)
        pair = value.tolist() if hasattr(value, "tolist") else value
        pair = tuple(pair) if isinstance(pair, (list, tuple)) else (pair, pair)
        if len(pair) != 2:
            allowed = "one number, or two (positive velocity, negative velocity)"
            raise RobotError(f"'coulomb' is {list(pair)}; it must be {allowed}")
        return super().read(pair)

    def written(self) -> Any:
        if not self.physical:
            return super().written()
        return self.forward if self.forward == self.backward else (self.forward, self.backward)
