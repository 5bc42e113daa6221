"""Lagrange–Euler with 4×4 homogeneous matrices and pseudo-inertias: M section 2.

⁰A_i is a product of one matrix a joint. Only ⁱ⁻¹A_i depends on q_i, and ∂ⁱ⁻¹A_i/∂q_i = Q_i ⁱ⁻¹A_i
with a constant Q_i, so that

    U_ij  = ∂⁰A_i/∂q_j  = ⁰A_{j−1} Q_j ʲ⁻¹A_i
    U_ijk = ∂U_ij/∂q_k  = ⁰A_{j−1} Q_j ʲ⁻¹A_{k−1} Q_k ᵏ⁻¹A_i      (j ≤ k; the same matrix for k < j)

Here frame j−1 is the joint's own frame on the parent link. In a tree, j and k run over the joints
between the base and link i. A rotor is one more body: its frame stands on the link that carries it
and turns by k_ri q_i about its own axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algebra.linalg import IDENTITY, ZERO, Matrix, Scalar, Vector, matvec, mscale, rotation_about, skew
from dalembert.equations.friction import friction
from dalembert.equations.kinematics import jacobian, joint_motion
from dalembert.robot.inertia import Inertia
from dalembert.robot.mechanism import Mechanism, rotor_body
from dalembert.robot.placement import Placement

Matrix4 = tuple[tuple[Scalar, ...], ...]


@dataclass(frozen=True)
class Coefficients:
    """M's dynamic coefficients: τ_i = Σ_k D_ik q̈_k + Σ_k Σ_m h_ikm q̇_k q̇_m + c_i, M (2.5)."""

    D: list[list[Scalar]]
    h: list[list[list[Scalar]]]
    c: list[Scalar]


@dataclass(frozen=True)
class Part:
    """One link or one rotor j: how it is joined, and its inertia.

    parent   the link that carries it; −1 for the base
    moved_by the index of its own joint variable
    P        its joint's frame j−1 on the parent link
    Q        ∂ʲ⁻¹A_j/∂q = Q ʲ⁻¹A_j
    A        ʲ⁻¹A_j at the present q
    inertia  in frame j
    """

    parent: int
    moved_by: int
    P: Matrix4
    Q: Matrix4
    A: Matrix4
    inertia: Inertia


def homogeneous(R: Matrix, p: Vector, last: Scalar = 1.0) -> Matrix4:
    """[[R, p], [0, last]]: 1 for a frame, 0 for a derivative."""
    return ((*R[0], p[0]), (*R[1], p[1]), (*R[2], p[2]), (0.0, 0.0, 0.0, last))


def product(*matrices: Matrix4) -> Matrix4:
    """A B …, from the left."""
    A = matrices[0]
    for B in matrices[1:]:
        A = tuple(tuple(a[0] * B[0][k] + a[1] * B[1][k] + a[2] * B[2][k] + a[3] * B[3][k] for k in range(4)) for a in A)
    return A


def trace_with_transpose(A: Matrix4, B: Matrix4) -> Scalar:
    """Tr(A Bᵀ)."""
    total: Scalar = 0.0
    for a, b in zip(A, B, strict=True):
        for x, y in zip(a, b, strict=True):
            total = total + x * y
    return total


def _frame(placement: Placement) -> Matrix4:
    return homogeneous(placement.rotation, placement.translation)


def parts(mechanism: Mechanism, q: Sequence[Scalar]) -> list[Part]:
    """All links, then all rotors."""
    found = []
    for i, body in enumerate(mechanism.bodies):
        motion = joint_motion(body, q[i])
        A = homogeneous(motion.R, matvec(motion.R, motion.r))  # M (2.1), with frame i anywhere on the link
        turn = homogeneous(skew(body.axis), ZERO, 0.0)
        slide = homogeneous((ZERO, ZERO, ZERO), body.axis, 0.0)
        found.append(Part(body.parent, i, _frame(body.placement), turn if body.revolute else slide, A, body.link))
    for i, body in enumerate(mechanism.bodies):
        still = (0.0, 0.0) if body.reflected else (body.rotor_inertia, body.rotor_transverse)
        rotor = rotor_body(body.rotor_mass, ZERO, body.rotor_axis, *still)
        if not rotor.is_zero:
            P = homogeneous(IDENTITY, body.rotor_position)
            Q = homogeneous(mscale(body.gear, skew(body.rotor_axis)), ZERO, 0.0)
            A = homogeneous(rotation_about(body.rotor_axis, body.gear * q[i]), ZERO)
            found.append(Part(body.parent, i, P, Q, A, rotor))
    return found


@dataclass(frozen=True)
class Derivatives:
    """U_ij and U_ijk of one part i, by joint variable; U_ijk for j before or at k on the way from the base."""

    joints: tuple[int, ...]
    U: dict[int, Matrix4]
    UU: dict[tuple[int, int], Matrix4]


def derivatives(mechanism: Mechanism, every: list[Part]) -> list[Derivatives]:
    """U_ij and U_ijk of every part, each once."""
    A_0: list[Matrix4] = []  # ⁰A_i
    A: list[dict[int, Matrix4]] = []  # ʲ⁻¹A_i, by i and j
    # ⁰A_{j−1} Q_j and ⁰A_{j−1} Q_j ʲ⁻¹A_{k−1} of each link: the left of U_ij and U_ijk
    left: list[Matrix4] = []
    left_left: list[dict[int, Matrix4]] = []
    found = []
    for i, part in enumerate(every):
        j = part.parent
        before = mechanism.path(j)
        A_joint = product(A_0[j] if j >= 0 else _frame(mechanism.base), part.P)  # ⁰A_{i−1}
        A_0.append(product(A_joint, part.A))
        to_joint = {k: product(A[j][k], part.P) for k in before}  # ᵏ⁻¹A_{i−1}
        A.append({k: product(to_joint[k], part.A) for k in before} | {part.moved_by: part.A})
        left.append(product(A_joint, part.Q))
        left_left.append({k: product(left[k], to_joint[k]) for k in before})
        # the joints before part i are links' own; the last one is its own, which for a rotor is its spin
        way = (*before, i)
        joints = (*before, part.moved_by)
        right = {k: A[i][k] for k in joints}
        U = {k: product(left[s], right[k]) for s, k in zip(way, joints, strict=True)}
        UU: dict[tuple[int, int], Matrix4] = {}
        for b, (s, k) in enumerate(zip(way, joints, strict=True)):
            Q_right = product(every[s].Q, right[k])  # Q_k ᵏ⁻¹A_i
            for j_before in joints[:b]:
                UU[j_before, k] = product(left_left[s][j_before], Q_right)
            UU[k, k] = product(left[s], Q_right)
        found.append(Derivatives(joints, U, UU))
    return found


def coefficients(mechanism: Mechanism, q: Sequence[Scalar]) -> Coefficients:
    """D_ik (2.11), h_ikm (2.14) and c_i (2.15)."""
    n = mechanism.n
    every = parts(mechanism, q)
    g = (*mechanism.gravity, 0.0)
    D: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    h: list[list[list[Scalar]]] = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    c: list[Scalar] = [0.0] * n
    # j runs over the links and rotors; those that joints i, k (and m) all move contribute
    for part, d in zip(every, derivatives(mechanism, every), strict=True):
        J, m_j, r_bar = part.inertia.pseudo, part.inertia.mass, (*part.inertia.com, 1.0)
        for b, k in enumerate(d.joints):
            U_J = product(d.U[k], J)
            for i in d.joints:
                D[i][k] = D[i][k] + trace_with_transpose(U_J, d.U[i])  # (2.11)
            for m in d.joints[b:]:
                U_J = product(d.UU[k, m], J)
                for i in d.joints:
                    h[i][k][m] = h[i][k][m] + trace_with_transpose(U_J, d.U[i])  # (2.14)
        for i in d.joints:
            U_r = [row[0] * r_bar[0] + row[1] * r_bar[1] + row[2] * r_bar[2] + row[3] * r_bar[3] for row in d.U[i]]
            c[i] = c[i] - m_j * (g[0] * U_r[0] + g[1] * U_r[1] + g[2] * U_r[2] + g[3] * U_r[3])  # (2.15)
    for i, body in enumerate(mechanism.bodies):
        if body.reflected and body.has_rotor:  # S 7.3.2, the reduced model
            D[i][i] = D[i][i] + body.gear * body.gear * body.rotor_inertia
    return Coefficients(D, _mirrored(mechanism, h), c)


def _mirrored(mechanism: Mechanism, h: list[list[list[Scalar]]]) -> list[list[list[Scalar]]]:
    """h_ikm = h_imk: what was computed with k before m on the way from the base serves both."""
    n = range(mechanism.n)
    return [[[h[i][min(k, m)][max(k, m)] for m in n] for k in n] for i in n]


def inverse_dynamics(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    h_e: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """τ of M (2.5), with friction and Jᵀ h_e as in S (7.42)."""
    n = range(mechanism.n)
    D, h, c = (x := coefficients(mechanism, q)).D, x.h, x.c
    J = jacobian(mechanism, q) if h_e is not None else []
    tau = []
    for i, body in enumerate(mechanism.bodies):
        torque = c[i] + friction(body, qd[i])
        for k in n:
            torque = torque + D[i][k] * qdd[k]
            for m in n:
                torque = torque + h[i][k][m] * qd[k] * qd[m]
        if h_e is not None:
            for k in range(6):
                torque = torque + J[k][i] * h_e[k]
        tau.append(torque)
    return tau
