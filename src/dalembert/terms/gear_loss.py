"""Losses of a gear, which differ between a motor that drives its joint and one that is driven by it."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.algebra.scalars import Scalar, less, select, sgn
from dalembert.terms.term import Term, coefficient


@dataclass(frozen=True)
class GearLoss(Term):
    """η |load| sgn(q̇), η being η_1 where the load opposes the motion (the motor drives) and η_2 where it goes with it"""

    name = "gear"
    title = "gear losses"
    of = ("qd", "load")
    driving: float = coefficient("eta1", "")
    driven: float = coefficient("eta2", "")

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        lost = load * sgn(load) * sgn(qd)
        drives = less(0.0, load * sgn(qd))
        return select(drives, lost, 0.0), select(drives, 0.0, lost)
