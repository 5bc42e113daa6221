"""Lagrange's equations from the link and rotor Jacobians: S 7.1 and 7.2.1.

S's frame j−1 of joint j is the joint's own frame on the parent link: z_{j−1} goes through its origin
p_{j−1}. In a tree the columns of a Jacobian run over the joints between the base and the link; all
others are zero. Links are counted without their rotors, and rotors on their own, as S does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dalembert.algebra.linalg import (
    ZERO,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    madd,
    matmul,
    matvec,
    scale,
    skew,
    sub,
    transpose,
)
from dalembert.equations.friction import friction
from dalembert.equations.kinematics import Frames, frames, jacobian
from dalembert.robot.mechanism import Mechanism, rotor_body


@dataclass(frozen=True)
class Part:
    """One link (ℓ_i) or one rotor (m_i): a term of the kinetic energy, S (7.20), (7.30).

    m, p, I   mass, centre of mass p_ℓi and tensor R_i I^i_ℓi R_iᵀ about it, in base axes
    carried   the joints that carry it: those between the base and the link, or the rotor's carrier
    joints    the joints that move it: those, and for a rotor its own joint, that spins it
    J_P, J_O  the columns ȷ_Pj and ȷ_Oj, by joint
    """

    m: Scalar
    p: Vector
    I: Matrix
    carried: tuple[int, ...]
    joints: tuple[int, ...]
    J_P: dict[int, Vector]
    J_O: dict[int, Vector]


def column_P(mechanism: Mechanism, F: Frames, j: int, p: Vector) -> Vector:
    """ȷ_Pj of the point p: S (7.18), (7.26)."""
    return cross(F.z[j], sub(p, F.p_joint[j])) if mechanism.bodies[j].revolute else F.z[j]


def column_O(mechanism: Mechanism, F: Frames, j: int) -> Vector:
    """ȷ_Oj: S (7.19)."""
    return F.z[j] if mechanism.bodies[j].revolute else ZERO


def parts(mechanism: Mechanism, F: Frames) -> list[Part]:
    """Every link and every rotor, with its Jacobians."""
    found = []
    for i, body in enumerate(mechanism.bodies):
        # link i: (7.12), (7.16)–(7.19)
        R, link = F.R[i], body.link
        p = add(F.p[i], matvec(R, link.com))
        I = matmul(matmul(R, link.tensor), transpose(R))
        on = mechanism.path(i)
        J_P = {j: column_P(mechanism, F, j, p) for j in on}
        J_O = {j: column_O(mechanism, F, j) for j in on}
        found.append(Part(link.mass, p, I, on, on, J_P, J_O))
    for i, body in enumerate(mechanism.bodies):
        # rotor i on link i−1: (7.25)–(7.29); a reflected one is a point mass there
        c = body.parent
        still = (0.0, 0.0) if body.reflected else (body.rotor_inertia, body.rotor_transverse)
        rotor = rotor_body(body.rotor_mass, body.rotor_position, body.rotor_axis, *still)
        if rotor.is_zero:
            continue
        R, p_c = (F.R[c], F.p[c]) if c >= 0 else (mechanism.base.rotation, mechanism.base.translation)
        p = add(p_c, matvec(R, rotor.com))
        I = matmul(matmul(R, rotor.tensor), transpose(R))  # z_mi is its axis of symmetry: the spin leaves it as it is
        z_m = matvec(R, body.rotor_axis)
        on = mechanism.path(c)
        J_P = {j: column_P(mechanism, F, j, p) for j in on} | {i: ZERO}
        J_O = {j: column_O(mechanism, F, j) for j in on} | {i: scale(body.gear, z_m)}
        found.append(Part(rotor.mass, p, I, on, (*on, i), J_P, J_O))
    return found


def _square(n: int) -> list[list[Scalar]]:
    return [[0.0] * n for _ in range(n)]


def _B(mechanism: Mechanism, every: list[Part]) -> list[list[Scalar]]:
    B = _square(mechanism.n)
    for part in every:
        m, I, J_P, J_O = part.m, part.I, part.J_P, part.J_O
        I_J_O = {j: matvec(I, J_O[j]) for j in part.joints}
        for i in part.joints:
            for j in part.joints:
                B[i][j] = B[i][j] + m * dot(J_P[i], J_P[j]) + dot(J_O[i], I_J_O[j])  # (7.32)
    for i, body in enumerate(mechanism.bodies):
        if body.reflected and body.has_rotor:  # S 7.3.2, the reduced model
            B[i][i] = B[i][i] + body.gear * body.gear * body.rotor_inertia
    return B


def _g(mechanism: Mechanism, every: list[Part]) -> list[Scalar]:
    g: list[Scalar] = [0.0] * mechanism.n
    for part in every:
        for i in part.joints:
            g[i] = g[i] - part.m * dot(mechanism.gravity, part.J_P[i])  # (7.39)
    return g


def _dB(mechanism: Mechanism, F: Frames, every: list[Part]) -> list[list[list[Scalar]]]:
    bodies = mechanism.bodies
    dB = [_square(mechanism.n) for _ in bodies]

    def dz(j: int, k: int) -> Vector:
        """∂z_{j−1}/∂q_k = z_{k−1} × z_{j−1} when joint k turns the link that holds axis j."""
        turns = bodies[k].revolute and k in mechanism.path(bodies[j].parent)
        return cross(F.z[k], F.z[j]) if turns else ZERO

    def dp_joint(j: int, k: int) -> Vector:
        """∂p_{j−1}/∂q_k: the column of that point when joint k carries it."""
        return column_P(mechanism, F, k, F.p_joint[j]) if k in mechanism.path(bodies[j].parent) else ZERO

    for part in every:
        m, p, I, J_P, J_O = part.m, part.p, part.I, part.J_P, part.J_O
        I_J_O = {j: matvec(I, J_O[j]) for j in part.joints}
        for k in part.carried:  # nothing depends on a rotor's own angle
            S = skew(F.z[k])
            # ∂R/∂q_k = S(z) R, so ∂(R I Rᵀ)/∂q_k = S I + I Sᵀ
            dI = madd(matmul(S, I), matmul(I, transpose(S))) if bodies[k].revolute else None
            dJ_P: dict[int, Vector] = {}
            dJ_O: dict[int, Vector] = {}
            dI_J_O: dict[int, Vector] = {}
            for j in part.joints:
                if j not in part.carried:  # a rotor's own joint: ȷ_P = 0, ȷ_O = k_r z_m, turning with the carrier
                    dJ_P[j] = ZERO
                    dJ_O[j] = cross(F.z[k], J_O[j]) if bodies[k].revolute else ZERO
                elif bodies[j].revolute:
                    dJ_P[j] = add(
                        cross(dz(j, k), sub(p, F.p_joint[j])),
                        cross(F.z[j], sub(J_P[k], dp_joint(j, k))),
                    )
                    dJ_O[j] = dz(j, k)
                else:
                    dJ_P[j], dJ_O[j] = dz(j, k), ZERO
                dI_J_O[j] = matvec(dI, J_O[j]) if dI is not None else ZERO
            for i in part.joints:
                for j in part.joints:
                    if j >= i:
                        tran = m * (dot(dJ_P[i], J_P[j]) + dot(J_P[i], dJ_P[j]))
                        rot = dot(dJ_O[i], I_J_O[j]) + dot(J_O[i], dI_J_O[j]) + dot(I_J_O[i], dJ_O[j])
                        dB[k][i][j] = dB[k][i][j] + tran + rot
    for k in range(mechanism.n):
        for i in range(mechanism.n):
            for j in range(i):
                dB[k][i][j] = dB[k][j][i]
    return dB


def _christoffel(dB: list[list[list[Scalar]]]) -> list[list[list[Scalar]]]:
    n = range(len(dB))
    return [[[0.5 * (dB[k][i][j] + dB[j][i][k] - dB[i][j][k]) for k in n] for j in n] for i in n]  # (7.45)


def _C(c: list[list[list[Scalar]]], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    n = range(len(c))
    return [[_sum(c[i][j][k] * qd[k] for k in n) for j in n] for i in n]  # (7.44)


def _sum(terms: Iterable[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for term in terms:
        total = total + term
    return total


def inertia_matrix(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """B(q), S (7.32)."""
    return _B(mechanism, parts(mechanism, frames(mechanism, q)))


def gravity(mechanism: Mechanism, q: Sequence[Scalar]) -> list[Scalar]:
    """g(q), S (7.39)."""
    return _g(mechanism, parts(mechanism, frames(mechanism, q)))


def inertia_derivatives(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[list[Scalar]]]:
    """∂b_ij/∂q_k as [k][i][j]: each term of (7.32) by the product rule."""
    F = frames(mechanism, q)
    return _dB(mechanism, F, parts(mechanism, F))


def christoffel(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[list[Scalar]]]:
    """The Christoffel symbols of the first type c_ijk as [i][j][k], S (7.45)."""
    return _christoffel(inertia_derivatives(mechanism, q))


def coriolis_matrix(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """C(q, q̇) with c_ij = Σ_k c_ijk q̇_k, S (7.44): the choice that makes Ḃ − 2C skew-symmetric."""
    return _C(christoffel(mechanism, q), qd)


def inverse_dynamics(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    h_e: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """τ = B q̈ + C q̇ + F_v q̇ + F_s sgn(q̇) + g + Jᵀ h_e, S (7.42)."""
    n = range(mechanism.n)
    F = frames(mechanism, q)
    every = parts(mechanism, F)
    B, g = _B(mechanism, every), _g(mechanism, every)
    C = _C(_christoffel(_dB(mechanism, F, every)), qd)
    tau = []
    for i, body in enumerate(mechanism.bodies):
        inertial = _sum(B[i][j] * qdd[j] for j in n)
        tau.append(inertial + _sum(C[i][j] * qd[j] for j in n) + friction(body, qd[i]) + g[i])
    if h_e is not None:
        J = jacobian(mechanism, q)
        tau = [tau[i] + _sum(J[k][i] * h_e[k] for k in range(6)) for i in n]
    return tau
