"""The equations that simulation, control and operational space ask for, of open and of closed chains alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dalembert.equations import closed_chain, composite, factorisation, kinematics, lean_newton_euler
from dalembert.equations.closure import ClosedMechanism
from dalembert.robot.linalg import Matrix, Scalar, Vector
from dalembert.robot.mechanism import Mechanism

Values = Sequence[Scalar]
Grid = list[list[Scalar]]
AnyMechanism = Mechanism | ClosedMechanism


def inverse_dynamics(
    mechanism: AnyMechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None = None
) -> list[Scalar]:
    """τ of S (7.42)."""
    if isinstance(mechanism, ClosedMechanism):
        return closed_chain.inverse_dynamics(mechanism, q, qd, qdd, h_e)
    return lean_newton_euler.inverse_dynamics(mechanism, q, qd, qdd, h_e)


def inertia_matrix(mechanism: AnyMechanism, q: Values) -> Grid:
    """B(q), S (7.32)."""
    if isinstance(mechanism, ClosedMechanism):
        return closed_chain.inertia_matrix(mechanism, q)
    return composite.inertia_matrix(mechanism, q)


def coriolis_matrix(mechanism: AnyMechanism, q: Values, qd: Values) -> Grid:
    """C(q, q̇), S (7.44)."""
    if isinstance(mechanism, ClosedMechanism):
        return closed_chain.coriolis_matrix(mechanism, q, qd)
    return composite.coriolis_matrix(mechanism, q, qd)


def factorised(mechanism: AnyMechanism, B: Sequence[Values]) -> Any:
    """The factors of B: along the tree of an open chain, dense for a closed one."""
    if isinstance(mechanism, ClosedMechanism):
        return closed_chain.factorised(B)
    return factorisation.factorised(mechanism, B)


def smooth(mechanism: Mechanism, viscous: bool = True) -> Mechanism:
    """The same without dry friction, or without any; of closed chains in the passive joints too."""
    if isinstance(mechanism, ClosedMechanism):
        closed: Any = mechanism
        return replace(closed, tree=smooth(mechanism.tree, viscous))
    bodies = (replace(b, coulomb=(0.0, 0.0), viscous=b.viscous if viscous else 0.0) for b in mechanism.bodies)
    return replace(mechanism, bodies=tuple(bodies))


def weightless(mechanism: AnyMechanism) -> AnyMechanism:
    """The same where nothing pulls and nothing rubs: its torques are B q̈ + C q̇."""
    if isinstance(mechanism, ClosedMechanism):
        return replace(mechanism, tree=weightless(mechanism.tree))  # type: ignore[arg-type]
    return replace(smooth(mechanism, viscous=False), gravity=(0.0, 0.0, 0.0))


# -- the tip -------------------------------------------------------------------------------------


def tip_frame(mechanism: AnyMechanism, q: Values) -> tuple[Matrix, Vector]:
    """R and p of the tip in the base frame."""
    if isinstance(mechanism, ClosedMechanism):
        return tip_frame(mechanism.tree, closed_chain.Chain(mechanism, q).q)
    F = kinematics.frames(mechanism, q)
    return F.R_tip, F.p_tip


def jacobian(mechanism: AnyMechanism, q: Values) -> Grid:
    """J, 6×n, S (7.18), (7.19); of a closed chain J_a = J Γ."""
    if isinstance(mechanism, ClosedMechanism):
        return closed_chain.jacobian(mechanism, q)
    return kinematics.jacobian(mechanism, q)


def jacobian_derivative(mechanism: AnyMechanism, q: Values, qd: Values) -> Grid:
    """J̇; of a closed chain J̇ Γ + J Γ̇."""
    if isinstance(mechanism, ClosedMechanism):
        return closed_chain.jacobian_derivative(mechanism, q, qd)
    return kinematics.jacobian_derivative(mechanism, q, qd)
