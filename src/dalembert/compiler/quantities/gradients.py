"""Quantities for the optimisation of motions, with the gradients of weighted sums of them (:func:`derived.gradient`).

``GRADIENTS["regressor"]`` takes ``.of(columns)``, the c columns that are used.
"""

from __future__ import annotations

from typing import Any

from dalembert.base.algebra.scalars import Values
from dalembert.compiler.quantities.machine import Equations, Quantity, table
from dalembert.mechanics.coordinates import pulled
from dalembert.mechanics.coordinates.chain import AnyMechanism, Chain
from dalembert.mechanics.equations import kinematics
from dalembert.robot.model.omitted_terms import SUMMANDS


def points(mechanism: AnyMechanism, q: Values) -> list[Any]:
    """Points of the arm in base axes: the origins of the frames of all N joints and links of its tree, and the tip."""
    F = kinematics.frames(mechanism.tree, Chain(mechanism, q).q)
    return [*F.p_joint, *F.p, F.p_tip]


def _regressor(m: AnyMechanism, columns: tuple[int, ...], q: Values, qd: Values, qdd: Values) -> list[Any]:
    Y = pulled.regressor(m, q, qd, qdd)
    return [row[k] for row in Y for k in columns]


def _row(arrays: str, summary: str, value: Equations, **other: Any) -> Quantity:
    return Quantity(arrays, summary, {"value": value}, condensed=float("inf"), **other)


GRADIENTS = table("gradients", {
    "regressor": _row(
        "q, qd, qdd -> Y(n,c)", "selected columns of Y, S (7.81)", _regressor,
        sizes=lambda m, columns: {"c": len(columns)}, whole=SUMMANDS,
    ),
    "torque": _row(
        "q, qd, qdd -> tau(n)", "τ of S (7.42); Coulomb friction is constant", pulled.inverse_dynamics
    ),
    "points": _row("q -> point(P,3)", "joints, links and tip in base axes", points),
})  # fmt: skip
