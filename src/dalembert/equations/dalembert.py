"""Generalized d'Alembert equations: M section 4, with prismatic joints and rotors.

The derivation of what M leaves out (prismatic joints, rotors, joints placed anywhere, trees) is in
docs/formulations.md; its equations are cited as F (n). In short, each link s is given its d'Alembert
forces −m_s a_s and −d(I_s ω_s)/dt, and their work in a virtual motion of joint i is

    ∂r̄_s/∂q_i = z_{i−1} × (r̄_s − p_{i−1}),  ∂ω_s/∂q̇_i = z_{i−1}      joint i turns
    ∂r̄_s/∂q_i = z_{i−1},                     ∂ω_s/∂q̇_i = 0            joint i slides

p_{i−1} is the origin of the joint's own frame; p*_k goes from there to the next joint's frame on the
way to link s, c̄_s to the centre of mass of link s; s runs over the links that joint i moves. Links
are augmented: the rotors that they carry count with them, standing still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algebra.linalg import ZERO, Scalar, Vector, add, cross, dot, matvec, scale, sub, tmatvec
from dalembert.equations.friction import friction
from dalembert.equations.kinematics import frames, jacobian
from dalembert.robot.mechanism import Mechanism


@dataclass(frozen=True)
class Coefficients:
    """τ_i = Σ_j (D_ij^rot + D_ij^tran) q̈_j + h_i^tran + h_i^rot + c_i, M (4.1)."""

    D_rot: list[list[Scalar]]
    D_tran: list[list[Scalar]]
    h_tran: list[Scalar]
    h_rot: list[Scalar]
    c: list[Scalar]


def _sum(vectors: Sequence[Vector]) -> Vector:
    return add(vectors[0], *vectors[1:]) if vectors else ZERO


def coefficients(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Coefficients:
    """M (4.2)–(4.5), term by term."""
    bodies = mechanism.bodies
    n = range(len(bodies))
    F = frames(mechanism, q)
    z, p = F.z, F.p_joint  # z_{i−1} and p_{i−1}
    path = [mechanism.path(s) for s in n]
    turning = [[j for j in path[s] if bodies[j].revolute] for s in n]
    moved = [[s for s in n if i in path[s]] for i in n]  # s = i … n for a chain
    m = [body.inertia.mass for body in bodies]
    I = [body.inertia.tensor for body in bodies]
    r_bar = [add(F.p[s], matvec(F.R[s], bodies[s].inertia.com)) for s in n]

    # ∂r̄_s/∂q_i, F (3)
    dr = [{s: cross(z[i], sub(r_bar[s], p[i])) if bodies[i].revolute else z[i] for s in moved[i]} for i in n]
    # ˢR₀ z_{i−1} of the turning joints, θ̇_i ˢR₀ z_{i−1}, and I_s ˢR₀ z_{i−1}
    z_s = [{i: tmatvec(F.R[s], z[i]) for i in turning[s]} for s in n]
    spin_s = [{i: scale(qd[i], z_s[s][i]) for i in turning[s]} for s in n]
    I_z_s = [{i: matvec(I[s], z_s[s][i]) for i in turning[s]} for s in n]

    # D_ij^rot and D_ij^tran, (4.2)
    D_rot: list[list[Scalar]] = [[0.0] * mechanism.n for _ in n]
    D_tran: list[list[Scalar]] = [[0.0] * mechanism.n for _ in n]
    for j in n:
        for i in path[j]:
            for s in moved[j]:
                if bodies[i].revolute and bodies[j].revolute:
                    D_rot[i][j] = D_rot[i][j] + dot(z_s[s][i], I_z_s[s][j])
                D_tran[i][j] = D_tran[i][j] + m[s] * dot(dr[j][s], dr[i][s])
            D_rot[j][i], D_tran[j][i] = D_rot[i][j], D_tran[i][j]

    # Σ_p θ̇_p z_{p−1} and Σ_p (Σ_{q<p} θ̇_q z_{q−1}) × θ̇_p z_{p−1} over the turning joints up to link k, F (2), (5)
    moves = [scale(qd[k], z[k]) for k in n]  # θ̇_k z_{k−1}, or ḋ_k z_{k−1}
    omega = [_sum([moves[j] for j in turning[k]]) for k in n]
    gyration = [
        cross(omega[bodies[k].parent], moves[k]) if bodies[k].revolute and bodies[k].parent >= 0 else ZERO for k in n
    ]
    omega_dot = [_sum([gyration[j] for j in turning[k]]) for k in n]  # ω̇_k as far as it has no θ̈

    def bent(k: int, v: Vector) -> Vector:
        """The acceleration without q̈ that the vector v, fixed in link k, brings from its foot to its head."""
        return add(cross(omega[k], cross(omega[k], v)), cross(omega_dot[k], v))

    # h_i^tran, (4.3): along the p*_k up to link s, then along c̄_s, and F (6) for what slides on the way
    along_p_star = [
        bent(bodies[k].parent, sub(p[k], p[bodies[k].parent])) if bodies[k].parent >= 0 else ZERO for k in n
    ]
    sliding = [ZERO if bodies[k].revolute else scale(2.0, cross(omega[k], moves[k])) for k in n]
    a_s = [
        add(
            _sum([along_p_star[k] for k in path[s]]),
            bent(s, sub(r_bar[s], p[s])),
            _sum([sliding[k] for k in path[s]]),
        )
        for s in n
    ]
    h_tran: list[Scalar] = [0.0] * mechanism.n
    for i in n:
        for s in moved[i]:
            h_tran[i] = h_tran[i] + m[s] * dot(a_s[s], dr[i][s])

    # h_i^rot, (4.4)
    h_rot: list[Scalar] = [0.0] * mechanism.n
    for s in n:
        after = [_sum([spin_s[s][k] for k in turning[s][b + 1 :]]) for b in range(len(turning[s]))]
        I_coriolis = matvec(I[s], _sum([cross(spin_s[s][j], after[b]) for b, j in enumerate(turning[s])]))
        omega_s = _sum([spin_s[s][j] for j in turning[s]])
        I_omega = matvec(I[s], omega_s)
        for i in turning[s]:
            h_rot[i] = h_rot[i] + dot(z_s[s][i], I_coriolis) + dot(cross(z_s[s][i], omega_s), I_omega)

    # c_i, (4.5) and, for joints that slide, F (8)
    g = mechanism.gravity
    c: list[Scalar] = []
    for i in n:
        if bodies[i].revolute:
            c.append(-dot(g, cross(z[i], _sum([scale(m[j], sub(r_bar[j], p[i])) for j in moved[i]]))))
        else:
            c.append(-dot(g, _sum([scale(m[j], z[i]) for j in moved[i]])))

    # the spin of rotor r on link e, F (10)–(13): k_r q̇_r about z_m, beyond the rotor's share in the augmented link
    for r, body in enumerate(bodies):
        if not body.has_rotor:
            continue
        k_r, I_m, e = body.gear, body.rotor_inertia, body.parent
        D_rot[r][r] = D_rot[r][r] + k_r * k_r * I_m
        if body.reflected or e < 0:
            continue
        z_m = matvec(F.R[e], body.rotor_axis)
        turned = scale(k_r * qd[r] * I_m, cross(omega[e], z_m))
        for i in turning[e]:
            D_rot[i][r] = D_rot[i][r] + k_r * I_m * dot(z[i], z_m)
            D_rot[r][i] = D_rot[i][r]
            h_rot[i] = h_rot[i] + dot(z[i], turned)
        h_rot[r] = h_rot[r] + k_r * I_m * dot(z_m, omega_dot[e])
    return Coefficients(D_rot, D_tran, h_tran, h_rot, c)


def inverse_dynamics(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    h_e: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """τ of M (4.1), with friction and Jᵀ h_e as in S (7.42)."""
    x = coefficients(mechanism, q, qd)
    J = jacobian(mechanism, q) if h_e is not None else []
    tau = []
    for i, body in enumerate(mechanism.bodies):
        torque = x.h_tran[i] + x.h_rot[i] + x.c[i] + friction(body, qd[i])
        for j in range(mechanism.n):
            torque = torque + (x.D_rot[i][j] + x.D_tran[i][j]) * qdd[j]
        if h_e is not None:
            for k in range(6):
                torque = torque + J[k][i] * h_e[k]
        tau.append(torque)
    return tau
