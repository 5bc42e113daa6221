"""Lagrange's equations from the link and rotor Jacobians: S 7.1 and 7.2.1.

S's frame j−1 of joint j is the joint's own frame on the parent link: z_{j−1} goes through its origin
p_{j−1}. In a tree the columns of a Jacobian run over the joints between the base and the link; all
others are zero. Links do not include their rotors, which are bodies of their own, as in S.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dalembert.base.algebra.scalars import Grid, Scalar, Values, total, zeros
from dalembert.base.algebra.vectors import NULL, ZERO, Mat, Vec, skew, vec_sum
from dalembert.mechanics.equations.friction import friction
from dalembert.mechanics.equations.kinematics import Frames, columns_of, contact_torque, frames
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.mechanism import Body, Mechanism, rotor_body


@dataclass(frozen=True)
class MovingBody:
    """One link (ℓ_i) or one rotor (m_i): a term of the kinetic energy, S (7.20), (7.30).

    m, p, I   mass, centre of mass p_ℓi and tensor R_i I^i_ℓi R_iᵀ about it, in base axes
    carried   the joints that carry it: those between the base and the link, or the link that carries the rotor
    joints    the joints that move it: the same and, for a rotor, its own joint, which spins it
    J_P, J_O  the columns ȷ_Pj and ȷ_Oj, by joint
    """

    m: Scalar
    p: Vec
    I: Mat
    carried: tuple[int, ...]
    joints: tuple[int, ...]
    J_P: dict[int, Vec]
    J_O: dict[int, Vec]


def moving_bodies(mechanism: Mechanism, F: Frames) -> list[MovingBody]:
    """Every link and every rotor, with its Jacobians."""
    rotors = (_rotor(mechanism, F, i) for i, body in enumerate(mechanism.bodies) if not carried_rotor(body).is_zero)
    return [*_links(mechanism, F), *rotors]


def _links(mechanism: Mechanism, F: Frames) -> list[MovingBody]:
    out = []
    for i, body in enumerate(mechanism.bodies):
        R, link, carried = F.R[i], body.link, mechanism.path(i)
        p = F.p[i] + R @ link.com
        I = R @ link.tensor @ R.T  # (7.12)
        columns = columns_of(mechanism, F, p, i)  # (7.16)–(7.19)
        J_P, J_O = {j: columns[j][0] for j in carried}, {j: columns[j][1] for j in carried}
        out.append(MovingBody(link.mass, p, I, carried, carried, J_P, J_O))
    return out


def carried_rotor(body: Body) -> Inertia:
    """The rotor of a joint, as if fixed to the link that carries it; for a reflected rotor only its mass."""
    still = (0.0, 0.0) if body.reflected else (body.rotor_inertia, body.rotor_transverse)
    return rotor_body(body.rotor_mass, body.rotor_position, body.rotor_axis, *still)


def _rotor(mechanism: Mechanism, F: Frames, i: int) -> MovingBody:
    body = mechanism.bodies[i]
    rotor, c, carried = carried_rotor(body), body.parent, mechanism.path(body.parent)
    R, p_c = (F.R[c], F.p[c]) if c >= 0 else (mechanism.base.rotation, mechanism.base.translation)
    p = p_c + R @ rotor.com
    I = R @ rotor.tensor @ R.T  # z_mi is its axis of symmetry: the spin does not change it
    z_m = R @ body.rotor_axis
    columns = columns_of(mechanism, F, p, c)  # (7.25), (7.26), (7.28), (7.29)
    J_P = {j: columns[j][0] for j in carried} | {i: ZERO}
    J_O = {j: columns[j][1] for j in carried} | {i: body.gear * z_m}
    return MovingBody(rotor.mass, p, I, carried, (*carried, i), J_P, J_O)


def inertia_of(mechanism: Mechanism, bodies: list[MovingBody]) -> Grid:
    """B of these links and rotors, S (7.32)."""
    B = zeros(mechanism.n)
    for body in bodies:
        m, J_P, J_O = body.m, body.J_P, body.J_O
        I_J_O = {j: body.I @ J_O[j] for j in body.joints}
        for i in body.joints:
            for j in body.joints:
                B[i][j] = B[i][j] + m * J_P[i].dot(J_P[j]) + J_O[i].dot(I_J_O[j])  # (7.32)
    for i, joint in enumerate(mechanism.bodies):
        if joint.reflected and joint.has_rotor:  # S 7.3.2, the reduced model
            B[i][i] = B[i][i] + joint.gear * joint.gear * joint.rotor_inertia
    return B


def gravity_of(mechanism: Mechanism, F: Frames, bodies: list[MovingBody]) -> list[Scalar]:
    """g of these links and rotors, S (7.39)."""
    g: list[Scalar] = [0.0] * mechanism.n
    for body in bodies:
        for i in body.joints:
            g[i] = g[i] - body.m * mechanism.gravity.dot(body.J_P[i])  # (7.39)
    if mechanism.lifts:
        lifted = mechanism.lifted
        carried = gravity_of(lifted, F, moving_bodies(lifted, F))
        return [x - y for x, y in zip(g, carried, strict=True)]
    return g


def potential_energy_of(mechanism: Mechanism, body: MovingBody) -> Scalar:
    """U of one link or rotor, S (7.34), (7.35)."""
    return -body.m * mechanism.gravity.dot(body.p)


def inertia_derivatives_of(mechanism: Mechanism, F: Frames, bodies: list[MovingBody]) -> list[Grid]:
    """∂b_ij/∂q_k as [k][i][j] of these links and rotors: each term of (7.32) by the product rule."""
    n, z = range(mechanism.n), F.z
    turns = [body.revolute for body in mechanism.bodies]
    holds = [mechanism.path(body.parent) for body in mechanism.bodies]  # the joints that move the axis of joint j
    dB = [zeros(mechanism.n) for _ in n]

    def dz(j: int, k: int) -> Vec:
        """∂z_{j−1}/∂q_k = z_{k−1} × z_{j−1} if joint k rotates the link that holds axis j."""
        return z[k].cross(z[j]) if turns[k] and k in holds[j] else ZERO

    def dp_joint(j: int, k: int) -> Vec:
        """∂p_{j−1}/∂q_k: the column of that point if joint k carries it."""
        if k not in holds[j]:
            return ZERO
        return z[k].cross(F.p_joint[j] - F.p_joint[k]) if turns[k] else z[k]

    for body in bodies:
        m, p, I, J_P, J_O = body.m, body.p, body.I, body.J_P, body.J_O
        I_J_O = {j: I @ J_O[j] for j in body.joints}
        for k in body.carried:  # nothing depends on a rotor's own angle
            S = skew(z[k])
            dI = S @ I + I @ S.T if turns[k] else NULL  # ∂R/∂q_k = S(z) R, so ∂(R I Rᵀ)/∂q_k = S I + I Sᵀ
            dJ_P: dict[int, Vec] = {}
            dJ_O: dict[int, Vec] = {}
            dI_J_O: dict[int, Vec] = {}
            for j in body.joints:
                if j not in body.carried:  # a rotor's own joint: ȷ_P = 0, ȷ_O = k_r z_m, which rotates with the carrier
                    dJ_P[j], dJ_O[j] = ZERO, z[k].cross(J_O[j]) if turns[k] else ZERO
                elif turns[j]:
                    dJ_P[j] = dz(j, k).cross(p - F.p_joint[j]) + z[j].cross(J_P[k] - dp_joint(j, k))
                    dJ_O[j] = dz(j, k)
                else:
                    dJ_P[j], dJ_O[j] = dz(j, k), ZERO
                dI_J_O[j] = dI @ J_O[j] if turns[k] else ZERO
            for i in body.joints:
                for j in body.joints:
                    if j >= i:
                        tran = m * (dJ_P[i].dot(J_P[j]) + J_P[i].dot(dJ_P[j]))
                        rot = dJ_O[i].dot(I_J_O[j]) + J_O[i].dot(dI_J_O[j]) + I_J_O[i].dot(dJ_O[j])
                        dB[k][i][j] = dB[k][i][j] + tran + rot
    return [[[dB[k][min(i, j)][max(i, j)] for j in n] for i in n] for k in n]


def christoffel_of(dB: list[Grid]) -> list[Grid]:
    """c_ijk as [i][j][k] of ∂b_ij/∂q_k, S (7.45)."""
    n = range(len(dB))
    return [[[0.5 * (dB[k][i][j] + dB[j][i][k] - dB[i][j][k]) for k in n] for j in n] for i in n]  # (7.45)


def coriolis_of(c: list[Grid], qd: Values) -> Grid:
    """c_ij = Σ_k c_ijk q̇_k, S (7.44)."""
    n = range(len(c))
    return [[total(c[i][j][k] * qd[k] for k in n) for j in n] for i in n]  # (7.44)


# -- the steps of S 7.1, body by body ---------------------------------------------------------------


def _by_joint(mechanism: Mechanism, F: Frames) -> tuple[list[MovingBody], list[MovingBody]]:
    """Link i and rotor i of every joint, separately: T_ℓi and T_mi are ½ m ṗᵀṗ + ½ ωᵀIω of these.

    For a reflected rotor only the spin is included, S 7.3.2: ω_mi = k_ri q̇_i z_mi and I = I_mi z_mi z_miᵀ.
    """
    rotors = []
    for i, body in enumerate(mechanism.bodies):
        rotor = _rotor(mechanism, F, i)
        if body.reflected and body.has_rotor:
            z_m = (F.R[body.parent] if body.parent >= 0 else mechanism.base.rotation) @ body.rotor_axis
            rotor = replace(rotor, I=body.rotor_inertia * z_m.outer(z_m), J_O={i: body.gear * z_m})
        elif carried_rotor(body).is_zero:
            rotor = MovingBody(0.0, ZERO, NULL, (), (), {}, {})
        rotors.append(rotor)
    return _links(mechanism, F), rotors


class BodySteps(NamedTuple):
    """For all links ℓ_i and all rotors m_i: m, p, the columns of J_P and J_O by joint, and I in base axes."""

    link_mass: list[Scalar]
    link_position: list[Vec]
    link_linear: list[list[Vec]]
    link_angular: list[list[Vec]]
    link_tensor: list[Mat]
    rotor_mass: list[Scalar]
    rotor_position: list[Vec]
    rotor_linear: list[list[Vec]]
    rotor_angular: list[list[Vec]]
    rotor_tensor: list[Mat]


def body_jacobians(mechanism: Mechanism, q: Values) -> BodySteps:
    """J_P^(ℓi), J_O^(ℓi) and J_P^(mi), J_O^(mi), S (7.16)–(7.19), (7.25)–(7.29), with the I_ℓi, I_mi of (7.12)."""
    n = range(mechanism.n)
    parts: list[Any] = []
    for bodies in _by_joint(mechanism, frames(mechanism, q)):
        linear = [[body.J_P.get(j, ZERO) for j in n] for body in bodies]
        angular = [[body.J_O.get(j, ZERO) for j in n] for body in bodies]
        parts += [[b.m for b in bodies], [b.p for b in bodies], linear, angular, [b.I for b in bodies]]
    return BodySteps(*parts)


class Energies(NamedTuple):
    """T_ℓi, T_mi, U_ℓi, U_mi of every joint."""

    link_kinetic: list[Scalar]
    rotor_kinetic: list[Scalar]
    link_potential: list[Scalar]
    rotor_potential: list[Scalar]


def body_energies(mechanism: Mechanism, q: Values, qd: Values) -> Energies:
    """T_ℓi of S (7.20), T_mi of (7.30), U_ℓi of (7.34) and U_mi of (7.35), the latter 0 for a rotor on the base."""
    F = frames(mechanism, q)
    links, rotors = _by_joint(mechanism, F)

    def kinetic(body: MovingBody) -> Scalar:
        p_dot = vec_sum([qd[j] * J for j, J in body.J_P.items()])  # (7.14), (7.24)
        omega = vec_sum([qd[j] * J for j, J in body.J_O.items()])  # (7.15), (7.27)
        return 0.5 * body.m * p_dot.dot(p_dot) + 0.5 * omega.dot(body.I @ omega)

    U_l = [potential_energy_of(mechanism, body) for body in links]
    if mechanism.lifts:
        lifted, _ = _by_joint(mechanism.lifted, F)
        U_l = [U + body.m * mechanism.gravity.dot(body.p) for U, body in zip(U_l, lifted, strict=True)]
    U_m = [
        potential_energy_of(mechanism, rotor) if body.parent >= 0 else 0.0
        for body, rotor in zip(mechanism.bodies, rotors, strict=True)
    ]
    return Energies([kinetic(body) for body in links], [kinetic(body) for body in rotors], U_l, U_m)


def inertia_matrix(mechanism: Mechanism, q: Values) -> Grid:
    """B(q), S (7.32)."""
    return inertia_of(mechanism, moving_bodies(mechanism, frames(mechanism, q)))


def gravity(mechanism: Mechanism, q: Values) -> list[Scalar]:
    """g(q), S (7.39)."""
    F = frames(mechanism, q)
    return gravity_of(mechanism, F, moving_bodies(mechanism, F))


def inertia_derivatives(mechanism: Mechanism, q: Values) -> list[Grid]:
    """∂b_ij/∂q_k as [k][i][j]."""
    F = frames(mechanism, q)
    return inertia_derivatives_of(mechanism, F, moving_bodies(mechanism, F))


def christoffel(mechanism: Mechanism, q: Values) -> list[Grid]:
    """The Christoffel symbols of the first type c_ijk as [i][j][k], S (7.45)."""
    return christoffel_of(inertia_derivatives(mechanism, q))


def coriolis_matrix(mechanism: Mechanism, q: Values, qd: Values) -> Grid:
    """C(q, q̇) with c_ij = Σ_k c_ijk q̇_k, S (7.44): the choice that makes Ḃ − 2C skew-symmetric."""
    return coriolis_of(christoffel(mechanism, q), qd)


def inverse_dynamics(
    mechanism: Mechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None = None
) -> list[Scalar]:
    """τ = B q̈ + C q̇ + F_v q̇ + F_s sgn(q̇) + g + Jᵀ h_e, S (7.42)."""
    n = range(mechanism.n)
    F = frames(mechanism, q)
    bodies = moving_bodies(mechanism, F)
    B, g = inertia_of(mechanism, bodies), gravity_of(mechanism, F, bodies)
    C = coriolis_of(christoffel_of(inertia_derivatives_of(mechanism, F, bodies)), qd)
    contact = contact_torque(mechanism, q, h_e) if h_e is not None else None
    tau = []
    for i, body in enumerate(mechanism.bodies):
        B_qdd, C_qd = total(B[i][j] * qdd[j] for j in n), total(C[i][j] * qd[j] for j in n)
        load = B_qdd + C_qd + g[i]
        if contact is not None:
            load = load + contact[i]
        tau.append(load + friction(body, q[i], qd[i], load))  # (7.42)
    return tau
