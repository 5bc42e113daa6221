"""Losses of a gear, which depend on whether the motor drives the joint or is driven by it."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar, less, select, sgn
from dalembert.robot.terms.term import Term, coefficient


@dataclass(frozen=True)
class GearLoss(Term):
    """η |load| sgn(q̇), with η = η_1 if the load opposes the motion (the motor drives) and η = η_2 if it supports it

    With η_2 ≥ 1 no load could drive the joint.
    """

    name = "gear"
    title = "gear losses"
    of = ("qd", "load")
    driving: float = coefficient("eta1", "")
    driven: float = coefficient("eta2", "", below=1.0)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        lost = load * sgn(load) * sgn(qd)
        drives = less(0.0, load * sgn(qd))
        return select(drives, lost, 0.0), select(drives, 0.0, lost)
