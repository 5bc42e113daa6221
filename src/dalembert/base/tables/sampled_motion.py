"""A joint motion at sampled times: what files, logs, planned motions and simulations have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record


@record
class SampledMotion:
    """A motion at nondecreasing times; a time occurs twice where the motion jumps.

    t          (N,) in s, and q, qd, qdd (N, n) in rad or m
    tau        (N, n) torques in N m or N; None if they are unknown
    payload    (N, 10) body at the tip, as ``Arm.variants(payload=…)`` expects it; None if there is none
    wrench     (N, 6) of the tip on its environment; None if there is none
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array | None = None
    payload: Array | None = None
    wrench: Array | None = None

    def rows(self, which: Any) -> Self:
        """A subset of the samples, by a slice, a mask or their indices."""
        arrays = {name: getattr(self, name) for name in SampledMotion.__dataclass_fields__}
        return replace(self, **{name: x[which] for name, x in arrays.items() if x is not None})
