"""The terms of the torque, separated by cause and joint: S (7.40) and M's interpretation of its coefficients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dalembert.base.algebra.scalars import Grid, Scalar, Values
from dalembert.base.algebra.vectors import ZERO
from dalembert.mechanics.equations import lean_newton_euler
from dalembert.mechanics.equations.composite import christoffel, inertia_matrix
from dalembert.mechanics.equations.friction import bare, coulomb, further, loaded, viscous
from dalembert.mechanics.equations.kinematics import contact_torque
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.robot.model.mechanism import Mechanism


def torque_terms(
    mechanism: Mechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None = None, base: BaseMotion | None = None
) -> tuple[Any, ...]:
    """(inertia, rotor, products, gravity, viscous, coulomb, other, contact, base); they sum to τ.

    inertia_ij     b_ij q̈_j of links and of rotors as if fixed to them, S (7.40)
    rotor_ij       the contribution of the rotors' own spin to b_ij, times q̈_j: k_ri² I_mi and k_ri I_mi terms
    products_i(jk) h_ijj q̇_j², and (h_ijk + h_ikj) q̇_j q̇_k for j < k: one per entry of [q̇q̇], S (7.117)
    """
    n = mechanism.n
    span = range(n)
    still = replace(mechanism, bodies=tuple(replace(body, rotor_inertia=0.0) for body in mechanism.bodies))
    B, B_links = inertia_matrix(mechanism, q), inertia_matrix(still, q)
    c = christoffel(mechanism, q)
    rest = [0.0] * n
    contact = rest if h_e is None else contact_torque(mechanism, q, h_e)
    load: Values = rest
    if loaded(mechanism):
        load = lean_newton_euler.inverse_dynamics(bare(mechanism), q, qd, qdd, h_e, base)
    return (
        [[B_links[i][j] * qdd[j] for j in span] for i in span],
        [[(B[i][j] - B_links[i][j]) * qdd[j] for j in span] for i in span],
        velocity_terms(c, qd),
        lean_newton_euler.inverse_dynamics(bare(mechanism), q, rest, rest),
        [viscous(body, v) for body, v in zip(mechanism.bodies, qd, strict=True)],
        [coulomb(body, v) for body, v in zip(mechanism.bodies, qd, strict=True)],
        [further(*of) for of in zip(mechanism.bodies, q, qd, load, strict=True)],
        contact,
        rest if base is None else base_torque(mechanism, q, qd, base),
    )


def velocity_terms(c: list[Grid], qd: Values) -> Grid:
    """Γ(q) of S (7.117) with each column times its product of velocities: q̇_1², q̇_1 q̇_2, …, q̇_n²."""
    span = range(len(qd))
    products = {(j, k): qd[j] * qd[k] if j == k else 2.0 * (qd[j] * qd[k]) for j in span for k in span if j <= k}
    return [[c[i][j][k] * product for (j, k), product in products.items()] for i in span]


def base_torque(mechanism: Mechanism, q: Values, qd: Values, base: BaseMotion) -> list[Scalar]:
    """The contribution of the motion of the base to the torques: those with it, minus those without."""
    weightless, rest = replace(bare(mechanism), gravity=ZERO), [0.0] * mechanism.n
    on_base, at_rest = (lean_newton_euler.inverse_dynamics(weightless, q, qd, rest, None, b) for b in (base, None))
    return [x - y for x, y in zip(on_base, at_rest, strict=True)]
