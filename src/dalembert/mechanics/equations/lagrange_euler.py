"""Lagrange–Euler with 4×4 homogeneous matrices and pseudo-inertias: M section 2.

⁰A_i is a product of one matrix per joint. Only ⁱ⁻¹A_i depends on q_i, and ∂ⁱ⁻¹A_i/∂q_i = Q_i ⁱ⁻¹A_i
with a constant Q_i, so that

    U_ij  = ∂⁰A_i/∂q_j  = ⁰A_{j−1} Q_j ʲ⁻¹A_i
    U_ijk = ∂U_ij/∂q_k  = ⁰A_{j−1} Q_j ʲ⁻¹A_{k−1} Q_k ᵏ⁻¹A_i      (j ≤ k; the same matrix for k < j)

Here frame j−1 is the joint's own frame on the parent link. In a tree, j and k run over the joints
between the base and link i. A rotor is one more body: its frame is placed on the link that carries it
and rotates by k_ri q_i about its own axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dalembert.base.algebra.scalars import Grid, Scalar, Values, total, zeros
from dalembert.base.algebra.vectors import IDENTITY, NULL, ZERO, Mat, Vec, rotation_about, skew
from dalembert.mechanics.equations.friction import friction
from dalembert.mechanics.equations.kinematics import contact_torque, homogeneous, joint_motion
from dalembert.mechanics.equations.lean_newton_euler import lifting
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.mechanism import Mechanism, rotor_body
from dalembert.robot.model.placement import Placement


class LagrangeEulerCoefficients(NamedTuple):
    """M's dynamic coefficients: τ_i = Σ_k D_ik q̈_k + Σ_k Σ_m h_ikm q̇_k q̇_m + c_i, M (2.5)."""

    D: Grid
    h: list[Grid]
    c: list[Scalar]


@dataclass(frozen=True)
class JointedBody:
    """One link or one rotor j: its joint and its inertia; all matrices are 4×4.

    parent   the link that carries it; −1 for the base
    moved_by the index of its own joint variable
    P        its joint's frame j−1 on the parent link
    Q        ∂ʲ⁻¹A_j/∂q = Q ʲ⁻¹A_j
    A        ʲ⁻¹A_j at the present q
    inertia  in frame j
    """

    parent: int
    moved_by: int
    P: Mat
    Q: Mat
    A: Mat
    inertia: Inertia


def _frame(placement: Placement) -> Mat:
    return homogeneous(placement.rotation, placement.translation)


def jointed_bodies(mechanism: Mechanism, q: Values) -> list[JointedBody]:
    """All links, then all rotors."""
    out = []
    for i, body in enumerate(mechanism.bodies):
        motion = joint_motion(body, q[i])  # M (2.1)
        A = homogeneous(motion.R, motion.R @ motion.r)  # M (2.1), with frame i anywhere on the link
        Q = homogeneous(skew(body.axis), ZERO, 0.0) if body.revolute else homogeneous(NULL, body.axis, 0.0)
        out.append(JointedBody(body.parent, i, _frame(body.placement), Q, A, body.link))
    for i, body in enumerate(mechanism.bodies):
        still = (0.0, 0.0) if body.reflected else (body.rotor_inertia, body.rotor_transverse)
        rotor = rotor_body(body.rotor_mass, ZERO, body.rotor_axis, *still)
        if not rotor.is_zero:
            P = homogeneous(IDENTITY, body.rotor_position)
            Q = homogeneous(body.gear * skew(body.rotor_axis), ZERO, 0.0)
            A = homogeneous(rotation_about(body.rotor_axis, body.gear * q[i]), ZERO)  # M (2.1)
            out.append(JointedBody(body.parent, i, P, Q, A, rotor))
    return out


@dataclass(frozen=True)
class PoseDerivatives:
    """U_ij and U_ijk of one body i, by joint variable."""

    joints: tuple[int, ...]
    U: dict[int, Mat]
    UU: dict[tuple[int, int], Mat]


def pose_derivatives(mechanism: Mechanism, bodies: list[JointedBody]) -> list[PoseDerivatives]:
    """U_ij and U_ijk of every body, each multiplied out from the matrices of its own formula."""
    A_0 = {-1: _frame(mechanism.base)}  # ⁰A_i
    A_before: list[Mat] = []  # ⁰A_{i−1}
    A: list[dict[int, Mat]] = []  # ʲ⁻¹A_i, by i and j
    to_joint: list[dict[int, Mat]] = []  # ʲ⁻¹A_{i−1}, by i and j
    out = []
    for i, body in enumerate(bodies):
        before = mechanism.path(body.parent)
        A_before.append(A_0[body.parent] @ body.P)  # ʲA_i
        A_0[i] = A_before[i] @ body.A  # ʲA_i
        to_joint.append({k: A[body.parent][k] @ body.P for k in before})  # ʲA_i
        A.append({k: to_joint[i][k] @ body.A for k in before} | {body.moved_by: body.A})  # ʲA_i
        # the joints before body i belong to links; the last one is its own, which for a rotor is its spin
        way, joints = (*before, i), (*before, body.moved_by)
        U = {j: A_before[s] @ bodies[s].Q @ A[i][j] for s, j in zip(way, joints, strict=True)}  # U_ij
        UU: dict[tuple[int, int], Mat] = {}
        for b, k in enumerate(joints):
            for a, j in enumerate(joints):
                (s, first), (t, last) = sorted([(a, j), (b, k)])
                left = A_before[way[s]] @ bodies[way[s]].Q  # U_ijk
                left = left if s == t else left @ to_joint[way[t]][first]  # U_ijk
                UU[j, k] = left @ (bodies[way[t]].Q @ A[i][last])  # U_ijk
        out.append(PoseDerivatives(joints, U, UU))
    return out


def _trace(A: Mat, B: Mat) -> Scalar:
    """Tr(A Bᵀ)"""
    return total(x * y for a, b in zip(A, B, strict=True) for x, y in zip(a, b, strict=True))


def coefficients(mechanism: Mechanism, q: Values) -> LagrangeEulerCoefficients:
    """D_ik (2.11), h_ikm (2.14) and c_i (2.15)."""
    n = mechanism.n
    bodies = jointed_bodies(mechanism, q)
    g = Vec((*mechanism.gravity, 0.0))
    D = zeros(n)
    h = [zeros(n) for _ in range(n)]
    c: list[Scalar] = [0.0] * n
    # j runs over the links and rotors; those that joints i, k (and m) all move contribute
    for body, at in zip(bodies, pose_derivatives(mechanism, bodies), strict=True):
        J, m_j, r_bar, U = body.inertia.pseudo, body.inertia.mass, Vec((*body.inertia.com, 1.0)), at.U
        for k in at.joints:
            for i in at.joints:
                D[i][k] = D[i][k] + _trace(U[k] @ J, U[i])  # (2.11)
            for m in at.joints:
                for i in at.joints:
                    h[i][k][m] = h[i][k][m] + _trace(at.UU[k, m] @ J, U[i])  # (2.14)
        for i in at.joints:
            c[i] = c[i] - m_j * g.dot(U[i] @ r_bar)  # (2.15)
    for i, joint in enumerate(mechanism.bodies):
        if joint.reflected and joint.has_rotor:  # S 7.3.2, the reduced model
            D[i][i] = D[i][i] + joint.gear * joint.gear * joint.rotor_inertia  # (2.11)
    if mechanism.lifts:
        c = [x - y for x, y in zip(c, lifting(mechanism, q), strict=True)]
    return LagrangeEulerCoefficients(D, h, c)


def inverse_dynamics(
    mechanism: Mechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None = None
) -> list[Scalar]:
    """τ of M (2.5), with friction and Jᵀ h_e as in S (7.42)."""
    n = range(mechanism.n)
    at = coefficients(mechanism, q)
    contact = contact_torque(mechanism, q, h_e) if h_e is not None else None
    tau = []
    for i, body in enumerate(mechanism.bodies):
        torque = at.c[i]
        for k in n:
            torque = torque + at.D[i][k] * qdd[k]  # (2.5)
            for m in n:
                torque = torque + at.h[i][k][m] * qd[k] * qd[m]  # (2.5)
        if contact is not None:
            torque = torque + contact[i]
        tau.append(torque + friction(body, q[i], qd[i], torque))  # (7.42)
    return tau
