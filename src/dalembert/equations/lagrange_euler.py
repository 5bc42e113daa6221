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

from dalembert.algebra.scalars import Grid, Scalar, Values, total, zeros
from dalembert.algebra.vectors import IDENTITY, NULL, ZERO, Mat, Vec, rotation_about, skew
from dalembert.equations.friction import friction
from dalembert.equations.kinematics import contact_torque, homogeneous, joint_motion
from dalembert.equations.lean_newton_euler import lifting
from dalembert.robot.inertia import Inertia
from dalembert.robot.mechanism import Mechanism, rotor_body
from dalembert.robot.placement import Placement


@dataclass(frozen=True)
class LagrangeEulerCoefficients:
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
        motion = joint_motion(body, q[i])
        A = homogeneous(motion.R, motion.R @ motion.r)  # M (2.1), with frame i anywhere on the link
        Q = homogeneous(skew(body.axis), ZERO, 0.0) if body.revolute else homogeneous(NULL, body.axis, 0.0)
        out.append(JointedBody(body.parent, i, _frame(body.placement), Q, A, body.link))
    for i, body in enumerate(mechanism.bodies):
        still = (0.0, 0.0) if body.reflected else (body.rotor_inertia, body.rotor_transverse)
        rotor = rotor_body(body.rotor_mass, ZERO, body.rotor_axis, *still)
        if not rotor.is_zero:
            P = homogeneous(IDENTITY, body.rotor_position)
            Q = homogeneous(body.gear * skew(body.rotor_axis), ZERO, 0.0)
            A = homogeneous(rotation_about(body.rotor_axis, body.gear * q[i]), ZERO)
            out.append(JointedBody(body.parent, i, P, Q, A, rotor))
    return out


@dataclass(frozen=True)
class PoseDerivatives:
    """U_ij and U_ijk of one body i, by joint variable; U_ijk for j before or at k on the path from the base."""

    joints: tuple[int, ...]
    U: dict[int, Mat]
    UU: dict[tuple[int, int], Mat]


def pose_derivatives(mechanism: Mechanism, bodies: list[JointedBody]) -> list[PoseDerivatives]:
    """U_ij and U_ijk of every body, each once."""
    A_0 = {-1: _frame(mechanism.base)}  # ⁰A_i
    A: list[dict[int, Mat]] = []  # ʲ⁻¹A_i, by i and j
    # ⁰A_{j−1} Q_j and ⁰A_{j−1} Q_j ʲ⁻¹A_{k−1} of each link: the left of U_ij and U_ijk
    left: list[Mat] = []
    left_left: list[dict[int, Mat]] = []
    out = []
    for i, body in enumerate(bodies):
        before = mechanism.path(body.parent)
        A_joint = A_0[body.parent] @ body.P  # ⁰A_{i−1}
        A_0[i] = A_joint @ body.A
        to_joint = {k: A[body.parent][k] @ body.P for k in before}  # ᵏ⁻¹A_{i−1}
        A.append({k: to_joint[k] @ body.A for k in before} | {body.moved_by: body.A})
        left.append(A_joint @ body.Q)
        left_left.append({k: left[k] @ to_joint[k] for k in before})
        # the joints before body i belong to links; the last one is its own, which for a rotor is its spin
        way, joints = (*before, i), (*before, body.moved_by)
        U = {k: left[s] @ A[i][k] for s, k in zip(way, joints, strict=True)}
        UU: dict[tuple[int, int], Mat] = {}
        for b, (s, k) in enumerate(zip(way, joints, strict=True)):
            Q_A = bodies[s].Q @ A[i][k]  # Q_k ᵏ⁻¹A_i
            UU |= {(j, k): left_left[s][j] @ Q_A for j in joints[:b]}
            UU[k, k] = left[s] @ Q_A
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
        for b, k in enumerate(at.joints):
            U_J = U[k] @ J
            for i in at.joints:
                D[i][k] = D[i][k] + _trace(U_J, U[i])  # (2.11)
            for m in at.joints[b:]:
                U_J = at.UU[k, m] @ J
                for i in at.joints:
                    h[i][k][m] = h[i][k][m] + _trace(U_J, U[i])  # (2.14)
        for i in at.joints:
            c[i] = c[i] - m_j * g.dot(U[i] @ r_bar)  # (2.15)
    for i, joint in enumerate(mechanism.bodies):
        if joint.reflected and joint.has_rotor:  # S 7.3.2, the reduced model
            D[i][i] = D[i][i] + joint.gear * joint.gear * joint.rotor_inertia
    # h_ikm = h_imk: the values computed with k before m on the path from the base serve both
    h = [[[h_i[min(k, m)][max(k, m)] for m in range(n)] for k in range(n)] for h_i in h]
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
            torque = torque + at.D[i][k] * qdd[k]
            for m in n:
                torque = torque + at.h[i][k][m] * qd[k] * qd[m]
        if contact is not None:
            torque = torque + contact[i]
        tau.append(torque + friction(body, q[i], qd[i], torque))
    return tau
