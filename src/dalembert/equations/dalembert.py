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

from dataclasses import dataclass

from dalembert.algebra.scalars import Grid, Scalar, Values, zeros
from dalembert.algebra.vectors import ZERO, Vec, vec_sum
from dalembert.equations.friction import friction
from dalembert.equations.kinematics import frames, jacobian
from dalembert.equations.lean_newton_euler import lifting
from dalembert.robot.mechanism import Mechanism


@dataclass(frozen=True)
class DalembertCoefficients:
    """τ_i = Σ_j (D_ij^rot + D_ij^tran) q̈_j + h_i^tran + h_i^rot + c_i, M (4.1)."""

    D_rot: Grid
    D_tran: Grid
    h_tran: list[Scalar]
    h_rot: list[Scalar]
    c: list[Scalar]


def coefficients(mechanism: Mechanism, q: Values, qd: Values) -> DalembertCoefficients:
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
    r_bar = [F.p[s] + F.R[s] @ bodies[s].inertia.com for s in n]

    # ∂r̄_s/∂q_i, F (3)
    dr = [{s: z[i].cross(r_bar[s] - p[i]) if bodies[i].revolute else z[i] for s in moved[i]} for i in n]
    # ˢR₀ z_{i−1} of the turning joints, θ̇_i ˢR₀ z_{i−1}, and I_s ˢR₀ z_{i−1}
    z_s = [{i: F.R[s].T @ z[i] for i in turning[s]} for s in n]
    spin_s = [{i: qd[i] * z_s[s][i] for i in turning[s]} for s in n]
    I_z_s = [{i: I[s] @ z_s[s][i] for i in turning[s]} for s in n]

    # D_ij^rot and D_ij^tran, (4.2)
    D_rot = zeros(mechanism.n)
    D_tran = zeros(mechanism.n)
    for j in n:
        for i in path[j]:
            for s in moved[j]:
                if bodies[i].revolute and bodies[j].revolute:
                    D_rot[i][j] = D_rot[i][j] + z_s[s][i].dot(I_z_s[s][j])
                D_tran[i][j] = D_tran[i][j] + m[s] * dr[j][s].dot(dr[i][s])
            D_rot[j][i], D_tran[j][i] = D_rot[i][j], D_tran[i][j]

    # Σ_p θ̇_p z_{p−1} and Σ_p (Σ_{q<p} θ̇_q z_{q−1}) × θ̇_p z_{p−1} over the turning joints up to link k, F (2), (5)
    moves = [qd[k] * z[k] for k in n]  # θ̇_k z_{k−1}, or ḋ_k z_{k−1}
    omega = [vec_sum([moves[j] for j in turning[k]]) for k in n]
    gyration = [
        omega[bodies[k].parent].cross(moves[k]) if bodies[k].revolute and bodies[k].parent >= 0 else ZERO for k in n
    ]
    omega_dot = [vec_sum([gyration[j] for j in turning[k]]) for k in n]  # ω̇_k as far as it has no θ̈

    def bent(k: int, v: Vec) -> Vec:
        """The acceleration without q̈ that the vector v, fixed in link k, brings from its foot to its head."""
        return omega[k].cross(omega[k].cross(v)) + omega_dot[k].cross(v)

    # h_i^tran, (4.3): along the p*_k up to link s, then along c̄_s, and F (6) for what slides on the way
    along_p_star = [bent(bodies[k].parent, p[k] - p[bodies[k].parent]) if bodies[k].parent >= 0 else ZERO for k in n]
    sliding = [ZERO if bodies[k].revolute else 2.0 * omega[k].cross(moves[k]) for k in n]
    h_tran: list[Scalar] = [0.0] * mechanism.n
    a_s = [
        vec_sum([along_p_star[k] for k in path[s]]) + bent(s, r_bar[s] - p[s]) + vec_sum([sliding[k] for k in path[s]])
        for s in n
    ]
    for i in n:
        for s in moved[i]:
            h_tran[i] = h_tran[i] + m[s] * a_s[s].dot(dr[i][s])

    # h_i^rot, (4.4)
    h_rot: list[Scalar] = [0.0] * mechanism.n
    for s in n:
        after = [vec_sum([spin_s[s][k] for k in turning[s][b + 1 :]]) for b in range(len(turning[s]))]
        I_coriolis = I[s] @ vec_sum([spin_s[s][j].cross(after[b]) for b, j in enumerate(turning[s])])
        omega_s = vec_sum([spin_s[s][j] for j in turning[s]])
        I_omega = I[s] @ omega_s
        for i in turning[s]:
            h_rot[i] = h_rot[i] + z_s[s][i].dot(I_coriolis) + z_s[s][i].cross(omega_s).dot(I_omega)

    # c_i, (4.5) and, for joints that slide, F (8)
    g = mechanism.gravity
    c = [
        -g.dot(z[i].cross(vec_sum([m[j] * (r_bar[j] - p[i]) for j in moved[i]])))
        if bodies[i].revolute
        else -g.dot(vec_sum([m[j] * z[i] for j in moved[i]]))
        for i in n
    ]

    if mechanism.lifts:
        c = [x - y for x, y in zip(c, lifting(mechanism, q), strict=True)]

    # the spin of rotor r on link e, F (10)–(13): k_r q̇_r about z_m, beyond the rotor's share in the augmented link
    for r, body in enumerate(bodies):
        if not body.has_rotor:
            continue
        k_r, I_m, e = body.gear, body.rotor_inertia, body.parent
        D_rot[r][r] = D_rot[r][r] + k_r * k_r * I_m
        if body.reflected or e < 0:
            continue
        z_m = F.R[e] @ body.rotor_axis
        turned = k_r * qd[r] * I_m * omega[e].cross(z_m)
        for i in turning[e]:
            D_rot[i][r] = D_rot[i][r] + k_r * I_m * z[i].dot(z_m)
            D_rot[r][i] = D_rot[i][r]
            h_rot[i] = h_rot[i] + z[i].dot(turned)
        h_rot[r] = h_rot[r] + k_r * I_m * z_m.dot(omega_dot[e])
    return DalembertCoefficients(D_rot, D_tran, h_tran, h_rot, c)


def inverse_dynamics(
    mechanism: Mechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None = None
) -> list[Scalar]:
    """τ of M (4.1), with friction and Jᵀ h_e as in S (7.42)."""
    at = coefficients(mechanism, q, qd)
    J = jacobian(mechanism, q) if h_e is not None else []
    tau = []
    for i, body in enumerate(mechanism.bodies):
        torque = at.h_tran[i] + at.h_rot[i] + at.c[i]
        for j in range(mechanism.n):
            torque = torque + (at.D_rot[i][j] + at.D_tran[i][j]) * qdd[j]
        if h_e is not None:
            for k in range(6):
                torque = torque + J[k][i] * h_e[k]
        tau.append(torque + friction(body, q[i], qd[i], torque))
    return tau
