"""Gradients of weighted sums, for optimisers: kernels that multiply a Jacobian from the left, by reverse mode.

A function y(q, q̇, q̈) with many components is traced, its sum Σ w∘y with weights w that are inputs is taken, and one
sweep back over the tape gives what a gradient needs, ∂(Σ w∘y)/∂(q, q̇, q̈), at a few times the price of y itself. The
Jacobian of y is never made. ``GRADIENTS[name]`` is y and ``GRADIENTS[name + "_gradient"]`` the gradient; those of the
regressor are ``.of(columns)``, the c columns that count.
"""

from __future__ import annotations

from typing import Any

from dalembert.algebra.scalars import Values
from dalembert.algebra.vectors import Vec
from dalembert.coordinates import pulled
from dalembert.coordinates.chain import AnyMechanism, Chain
from dalembert.equations import kinematics, regressor
from dalembert.quantities.machine import Equations, Quantity, table
from dalembert.robot.omissions import SUMMANDS


def points(mechanism: AnyMechanism, q: Values) -> list[Any]:
    """Where the arm is, in base axes: the origins of the frames of all N joints and links of its tree, and the tip."""
    F = kinematics.frames(mechanism.tree, Chain(mechanism, q).q)
    return [*F.p_joint, *F.p, F.p_tip]


def _heights(m: AnyMechanism, q: Values) -> list[Any]:
    """How high each point is over the origin of the base, against gravity (m)."""
    size = float(sum(float(g) ** 2 for g in m.gravity)) ** 0.5
    up = Vec(-float(g) / size for g in m.gravity)
    return [up.dot(point) for point in points(m, q)]


def _regressor(m: AnyMechanism, columns: tuple[int, ...], q: Values, qd: Values, qdd: Values) -> list[Any]:
    Y = pulled.regressor(m, q, qd, qdd, regressor.regressor)
    return [row[k] for row in Y for k in columns]


def _gradient(value: Equations, bound: int) -> Equations:
    """∂(Σ w∘y)/∂(q, q̇, q̈) of a function y of the mechanism, so many things that are bound, and the states."""

    def run(m: AnyMechanism, *arrays: Any) -> list[Any]:
        from dalembert.graph import derivative

        *given, weights = arrays
        states = given[bound:]
        total = sum((w * y for w, y in zip(weights, value(m, *given), strict=True)), 0.0)
        slopes = derivative.gradient(weights[0].graph, total, [x for state in states for x in state])
        if m.by_newton:  # the joints of the tree move with q_a
            N = m.tree.n
            slopes = [*Chain(m, states[0]).pull(slopes[:N]), *slopes[N:]]
        return slopes

    return run


def _rows(name: str, states: str, shape: str, summary: str, value: Equations, **other: Any) -> dict[str, Quantity]:
    """The function, and the gradient of its weighted sum."""
    slopes = ", ".join(f"d{x}(n)" for x in states.split(", "))
    words, endless = f"gradient of Σ w∘y, y = {summary}", float("inf")
    return {
        name: Quantity(f"{states} -> {name}{shape}", summary, {"value": value}, condensed=endless, **other),
        f"{name}_gradient": Quantity(
            f"{states}, w{shape} -> {slopes}",
            words,
            {"reverse": _gradient(value, int("sizes" in other))},
            condensed=endless,
            **other,
        ),
    }


GRADIENTS = table(
    "gradients",
    {
        **_rows(
            "regressor", "q, qd, qdd", "(n,c)", "chosen columns of Y, S (7.81)", _regressor,
            sizes=lambda columns: {"c": len(columns)}, whole=SUMMANDS,
        ),
        **_rows(
            "torque", "q, qd, qdd", "(n)", "τ of S (7.42); Coulomb friction is constant", pulled.inverse_dynamics
        ),
        **_rows("heights", "q", "(P)", "heights of joints, links and tip", _heights),
    },
)  # fmt: skip
