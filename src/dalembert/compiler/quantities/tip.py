"""The quantities of an arm in operational space, in one table.

The entries depend on the selected rows of the tip's pose: ``TIP[name].of(space)``, which has m rows. Every quantity
that inverts a matrix also reports whether it could: by the pivots of the factorisation, and by the measure of the
representation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.base.algebra.scalars import Values
from dalembert.compiler.quantities.machine import Equations, Quantity, table
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.motion import control
from dalembert.mechanics.motion import operational_space as s
from dalembert.mechanics.motion.operational_space import Space


def _trusted(function: Equations) -> Equations:
    """From a function that returns (value, model): the value, and the measures of its reliability."""

    def run(*arrays: Any) -> list[Any]:
        value, model = function(*arrays)
        return [value, *model.trust]

    return run


def _jacobian(m: AnyMechanism, space: Space, q: Values, soft: Values) -> Any:
    k = s.analytical(m, space, q, soft)
    return k.J, k.turn.measure


def _jacobian_derivative(m: AnyMechanism, space: Space, q: Values, qd: Values, soft: Values) -> Any:
    k = s.analytical(m, space, q, soft)
    return s.analytical_derivative(m, space, q, qd, k), k.turn.measure


def _velocity(m: AnyMechanism, space: Space, q: Values, qd: Values, soft: Values) -> Any:
    J, measure = _jacobian(m, space, q, soft)
    return [sum(a * b for a, b in zip(row, qd, strict=True)) for row in J], measure


def _acceleration(m: AnyMechanism, space: Space, q: Values, qd: Values, qdd: Values, soft: Values) -> Any:
    k = s.analytical(m, space, q, soft)
    Jd = s.analytical_derivative(m, space, q, qd, k)
    rows = [(*row, *rate) for row, rate in zip(k.J, Jd, strict=True)]
    return [sum(a * b for a, b in zip(row, (*qdd, *qd), strict=True)) for row in rows], k.turn.measure


def _of_model(value: Callable[[s.TaskModel], Any]) -> Equations:
    """A quantity of the model in operational space, and the measures of its reliability."""

    def run(m: AnyMechanism, space: Space, q: Values, soft: Values) -> list[Any]:
        model = s.model(m, space, q, soft)
        return [value(model), *model.trust]

    return run


def _row(arrays: str, summary: str, equations: Equations) -> Quantity:
    return Quantity(
        arrays, summary, {"operational": equations}, sizes=lambda m, space: {"m": space.m}, condensed=float("inf")
    )


TRUST = ", pivots(m), measure()"
ELLIPSOID = "q, size -> p(3), w()"

TIP = table("tip", {
    "transformation": _row("q -> T_A(6,6), measure()", "T_A with v_e = T_A ẋ_e, S (7.128)", s.transformation),
    "jacobian": _row("q, soft -> J_A(m,n), measure()", "analytical Jacobian J_A, S (7.128)", _jacobian),
    "jacobian_derivative": _row("q, qd, soft -> Jd_A(m,n), measure()", "J̇_A", _jacobian_derivative),
    "velocity": _row("q, qd, soft -> xd(m), measure()", "ẋ_e = J_A q̇", _velocity),
    "acceleration": _row("q, qd, qdd, soft -> xdd(m), measure()", "ẍ_e = J_A q̈ + J̇_A q̇", _acceleration),
    "inertia": _row("q, soft -> B_A(m,m)" + TRUST, "B_A, S (7.130)", _of_model(s.TaskModel.inertia)),
    "coriolis": _row(
        "q, qd, soft -> C_A(m,m)" + TRUST, "C_A of S (7.131) with Ḃ_A − 2C_A skew-symmetric", _trusted(s.coriolis)
    ),
    "coriolis_force": _row("q, qd, soft -> force(m)" + TRUST, "C_A ẋ_e of S (7.131)", _trusted(s.coriolis_force)),
    "gravity": _row("q, soft -> g_A(m)" + TRUST, "g_A, S (7.132)", _trusted(s.gravity)),
    "inverse_jacobian": _row("q, soft -> J_bar(n,m)" + TRUST, "J̄_A, S (7.138)", _of_model(s.TaskModel.inverse_jacobian)),
    "null_projector": _row("q, soft -> N(n,n)" + TRUST, "1 − J_Aᵀ J̄_Aᵀ, S (7.141)", _trusted(s.null_projector)),
    "torque": _row(
        "q, qd, xdd, tip_wrench, tau0, soft -> tau(n)" + TRUST, "τ of S (7.141)", _trusted(s.torque)
    ),
    "controlled": _row(
        "q, qd, reference(3m), tip_wrench, row_gains, joint_gains, soft -> tau(n)" + TRUST,
        "τ of the controller of the tip", _trusted(control.tip_torque),
    ),
    "wall_wrench": _row("q, qd, surface -> h_e(6)", "the wrench that the tip exerts on a wall", control.wall_wrench),
    "resolved_acceleration": _row(
        "q, qd, xdd, qdd0, soft -> qdd(n)" + TRUST, "q̈ = J_A⁺(ẍ_e − J̇_A q̇) + (1 − J_A⁺ J_A) q̈_0",
        s.resolved_acceleration,
    ),
    "damped_step": _row(
        "q, error(m), free(n), damping(1) -> step(n)", "(JᵀJ + λ D)⁻¹ Jᵀ e, a step towards a goal", s.damped_step
    ),
    "torque_maps": _row(
        "q, soft -> by_plus(m,n), by_bar(m,n)", "(B J⁺)ᵀ and (B J̄)ᵀ, torques of tip accelerations", s.torque_maps
    ),
    "reach": _row("q -> J(m,n), over_B_J(m,n), center(m)", "J, J B⁻¹ and −J B⁻¹ g, S (7.148)", s.reach),
    "manipulability": _row(ELLIPSOID, "√det(J W² Jᵀ)", s.manipulability),
    "dynamic_manipulability": _row(
        ELLIPSOID, "the product of the radii of the ellipsoid of S (7.148)", s.dynamic_manipulability
    ),
    "consistent_manipulability": _row(
        ELLIPSOID, "the same with the dynamically consistent inverse (7.138)", s.consistent_manipulability
    ),
    "exact_manipulability": _row(ELLIPSOID, "√det(J B⁻¹ W² B⁻¹ Jᵀ)", s.exact_manipulability),
})  # fmt: skip
