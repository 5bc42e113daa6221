"""Generalized d'Alembert equations: M section 4, with prismatic joints and rotors.

The derivation of the cases that M does not treat (prismatic joints, rotors, arbitrarily placed joints, trees) is in
docs/formulations.md; its equations are cited as F (n). In short, each link s is given its d'Alembert
forces −m_s a_s and −d(I_s ω_s)/dt, and their work in a virtual motion of joint i is

    ∂r̄_s/∂q_i = z_{i−1} × (r̄_s − p_{i−1}),  ∂ω_s/∂q̇_i = z_{i−1}      joint i is revolute
    ∂r̄_s/∂q_i = z_{i−1},                     ∂ω_s/∂q̇_i = 0            joint i is prismatic

p_{i−1} is the origin of the joint's own frame; p*_k goes from there to the next joint's frame on the
path to link s, c̄_s to the centre of mass of link s; s runs over the links that joint i moves. Links
are augmented: they include the rotors that they carry, as if fixed to them.
"""

from __future__ import annotations

from typing import NamedTuple

from dalembert.base.algebra.scalars import Grid, Scalar, Values, total, zeros
from dalembert.base.algebra.vectors import ZERO, Vec, vec_sum
from dalembert.mechanics.equations.friction import friction
from dalembert.mechanics.equations.kinematics import contact_torque, frames
from dalembert.mechanics.equations.lean_newton_euler import lifting
from dalembert.robot.model.mechanism import Mechanism


class DalembertCoefficients(NamedTuple):
    """τ_i = Σ_j (D_ij^rot + D_ij^tran) q̈_j + h_i^tran + h_i^rot + c_i, M (4.1)."""

    D_rot: Grid
    D_tran: Grid
    h_tran: list[Scalar]
    h_rot: list[Scalar]
    c: list[Scalar]


class _Links:
    """Positions, joint axes and angular velocities of the links: the ingredients of (4.2)–(4.5), F (2)–(5).

    path, turning   the joints on the path to link s, and the revolute ones among them
    moved           the links that joint i moves: s = i … n for a chain
    dr              ∂r̄_s/∂q_i by joint and link
    z_s, spin_s     ˢR₀ z_{i−1} of the revolute joints and θ̇_i ˢR₀ z_{i−1}, by link and joint
    omega           Σ_p θ̇_p z_{p−1} over the revolute joints up to link k
    omega_dot       Σ_p (Σ_{q<p} θ̇_q z_{q−1}) × θ̇_p z_{p−1}: the part of ω̇_k without θ̈
    z_m             the axes of the rotors that spin on a moving link, by joint
    """

    def __init__(self, mechanism: Mechanism, q: Values, qd: Values) -> None:
        bodies = mechanism.bodies
        n = range(len(bodies))
        F = frames(mechanism, q)
        z, p = F.z, F.p_joint  # z_{i−1} and p_{i−1}
        self.bodies, self.n, self.z, self.p = bodies, n, z, p
        self.path = path = [mechanism.path(s) for s in n]
        self.turning = turning = [[j for j in path[s] if bodies[j].revolute] for s in n]
        self.moved = [[s for s in n if i in path[s]] for i in n]
        self.m = [body.inertia.mass for body in bodies]
        self.I = [body.inertia.tensor for body in bodies]
        self.r_bar = r_bar = [F.p[s] + F.R[s] @ bodies[s].inertia.com for s in n]
        self.dr = [{s: z[i].cross(r_bar[s] - p[i]) if bodies[i].revolute else z[i] for s in self.moved[i]} for i in n]
        self.z_s = [{i: F.R[s].T @ z[i] for i in turning[s]} for s in n]
        self.spin_s = [{i: qd[i] * self.z_s[s][i] for i in turning[s]} for s in n]
        self.moves = moves = [qd[k] * z[k] for k in n]  # θ̇_k z_{k−1}, or ḋ_k z_{k−1}
        self.omega = omega = [vec_sum([moves[j] for j in turning[k]]) for k in n]
        gyration = [
            omega[bodies[k].parent].cross(moves[k]) if bodies[k].revolute and bodies[k].parent >= 0 else ZERO for k in n
        ]
        self.omega_dot = [vec_sum([gyration[j] for j in turning[k]]) for k in n]
        self.z_m = {
            r: F.R[body.parent] @ body.rotor_axis
            for r, body in enumerate(bodies)
            if body.has_rotor and not body.reflected and body.parent >= 0
        }

    def p_star(self, s: int) -> list[tuple[int, Vec]]:
        """(k, p*_k) of the links before link s: from the frame of joint k to that of the next joint on the path."""
        steps = [(self.bodies[j].parent, j) for j in self.path[s]]
        return [(k, self.p[j] - self.p[k]) for k, j in steps if k >= 0]

    def sliding(self, k: int) -> Vec:
        """2 ω_k × ḋ_k z_{k−1}, the term of F (6) that M (4.3) does not have."""
        return ZERO if self.bodies[k].revolute else 2.0 * self.omega[k].cross(self.moves[k])

    def coriolis_s(self, s: int) -> Vec:
        """Σ_j θ̇_j ˢR₀ z_{j−1} × Σ_{k>j} θ̇_k ˢR₀ z_{k−1}, in the axes of link s, (4.4)."""
        turning, spin = self.turning[s], self.spin_s[s]
        after = [vec_sum([spin[k] for k in turning[b + 1 :]]) for b in range(len(turning))]
        return vec_sum([spin[j].cross(after[b]) for b, j in enumerate(turning)])

    def rotor_terms(self, r: int, qd: Values) -> dict[int, Scalar]:
        """The contribution of the spin of rotor r on a moving link to h^rot, by joint: F (12), (13)."""
        if r not in self.z_m:
            return {}
        k_r, I_m, e, z_m = self.bodies[r].gear, self.bodies[r].rotor_inertia, self.bodies[r].parent, self.z_m[r]
        turned = k_r * qd[r] * I_m * self.omega[e].cross(z_m)
        return {i: self.z[i].dot(turned) for i in self.turning[e]} | {r: k_r * I_m * z_m.dot(self.omega_dot[e])}


def coefficients(mechanism: Mechanism, q: Values, qd: Values) -> DalembertCoefficients:
    """M (4.2)–(4.5), term by term."""
    at = _Links(mechanism, q, qd)
    bodies, n, z, p, m, I, r_bar = at.bodies, at.n, at.z, at.p, at.m, at.I, at.r_bar
    path, turning, moved, dr, z_s, omega, omega_dot = (
        at.path, at.turning, at.moved, at.dr, at.z_s, at.omega, at.omega_dot,
    )  # fmt: skip
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

    def bent(k: int, v: Vec) -> Vec:
        """The acceleration without q̈ of the head of the vector v, fixed in link k, relative to its foot."""
        return omega[k].cross(omega[k].cross(v)) + omega_dot[k].cross(v)

    # h_i^tran, (4.3): along the p*_k up to link s, then along c̄_s, and F (6) for prismatic joints on the path
    along_p_star = [bent(bodies[k].parent, p[k] - p[bodies[k].parent]) if bodies[k].parent >= 0 else ZERO for k in n]
    sliding = [at.sliding(k) for k in n]
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
        I_coriolis = I[s] @ at.coriolis_s(s)
        omega_s = vec_sum([at.spin_s[s][j] for j in turning[s]])
        I_omega = I[s] @ omega_s
        for i in turning[s]:
            h_rot[i] = h_rot[i] + z_s[s][i].dot(I_coriolis) + z_s[s][i].cross(omega_s).dot(I_omega)

    # c_i, (4.5) and, for prismatic joints, F (8)
    g = mechanism.gravity
    c = [
        -g.dot(z[i].cross(vec_sum([m[j] * (r_bar[j] - p[i]) for j in moved[i]])))
        if bodies[i].revolute
        else -g.dot(vec_sum([m[j] * z[i] for j in moved[i]]))
        for i in n
    ]

    if mechanism.lifts:
        c = [x - y for x, y in zip(c, lifting(mechanism, q), strict=True)]

    # the spin of rotor r on link e, F (10)–(13): k_r q̇_r about z_m, in addition to the rotor's part in the augmented link
    for r, body in enumerate(bodies):
        if not body.has_rotor:
            continue
        k_r, I_m = body.gear, body.rotor_inertia
        D_rot[r][r] = D_rot[r][r] + k_r * k_r * I_m
        for i in turning[body.parent] if r in at.z_m else ():
            D_rot[i][r] = D_rot[i][r] + k_r * I_m * z[i].dot(at.z_m[r])
            D_rot[r][i] = D_rot[i][r]
        for i, torque in at.rotor_terms(r, qd).items():
            h_rot[i] = h_rot[i] + torque
    return DalembertCoefficients(D_rot, D_tran, h_tran, h_rot, c)


class VelocityTerms(NamedTuple):
    """h_i^tran and h_i^rot of M (4.3), (4.4) term by term: the contribution of every link s to every joint i.

    tran_1 … tran_4  M's four sums: ω_k × (ω_k × p*_k) and ω̂̇_k × p*_k over the links k before s, then both for c̄_s
    tran_sliding     Coriolis acceleration of prismatic joints, F (6)
    rot_1, rot_2     the two terms of (4.4)
    rot_rotor        the spin of rotor s, F (12), (13)
    centrifugal_1, centrifugal_3, centrifugal_rot    the parts of tran_1, tran_3 and rot_2 with p = q
    """

    tran_1: Grid
    tran_2: Grid
    tran_3: Grid
    tran_4: Grid
    tran_sliding: Grid
    rot_1: Grid
    rot_2: Grid
    rot_rotor: Grid
    centrifugal_1: Grid
    centrifugal_3: Grid
    centrifugal_rot: Grid


def velocity_terms(mechanism: Mechanism, q: Values, qd: Values) -> VelocityTerms:
    """M (4.3) and (4.4), every term separately. Terms other than tran_1, tran_3, rot_2 have only products with p ≠ q."""
    at = _Links(mechanism, q, qd)
    terms = VelocityTerms(*(zeros(mechanism.n) for _ in VelocityTerms._fields))

    def around(k: int, v: Vec) -> Vec:
        """(Σ_p θ̇_p z_{p−1}) × [(Σ_q θ̇_q z_{q−1}) × v]"""
        return at.omega[k].cross(at.omega[k].cross(v))

    def around_one(k: int, v: Vec) -> Vec:
        """The same with p = q only."""
        return vec_sum([at.moves[j].cross(at.moves[j].cross(v)) for j in at.turning[k]])

    for s in at.n:
        before, c_bar = at.p_star(s), at.r_bar[s] - at.p[s]
        moving = {
            "tran_1": vec_sum([around(k, v) for k, v in before]),
            "tran_2": vec_sum([at.omega_dot[k].cross(v) for k, v in before]),
            "tran_3": around(s, c_bar),
            "tran_4": at.omega_dot[s].cross(c_bar),
            "tran_sliding": vec_sum([at.sliding(k) for k in at.path[s]]),
            "centrifugal_1": vec_sum([around_one(k, v) for k, v in before]),
            "centrifugal_3": around_one(s, c_bar),
        }
        for i in at.path[s]:
            for name, acceleration in moving.items():
                getattr(terms, name)[i][s] = at.m[s] * acceleration.dot(at.dr[i][s])
        I, spin = at.I[s], at.spin_s[s]
        I_coriolis, omega_s = I @ at.coriolis_s(s), vec_sum(list(spin.values()))
        for i, z in at.z_s[s].items():
            terms.rot_1[i][s] = z.dot(I_coriolis)
            terms.rot_2[i][s] = z.cross(omega_s).dot(I @ omega_s)
            terms.centrifugal_rot[i][s] = total(z.cross(w).dot(I @ w) for w in spin.values())
        for i, torque in at.rotor_terms(s, qd).items():
            terms.rot_rotor[i][s] = torque
    return terms


def inverse_dynamics(
    mechanism: Mechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None = None
) -> list[Scalar]:
    """τ of M (4.1), with friction and Jᵀ h_e as in S (7.42)."""
    at = coefficients(mechanism, q, qd)
    contact = contact_torque(mechanism, q, h_e) if h_e is not None else None
    tau = []
    for i, body in enumerate(mechanism.bodies):
        torque = at.h_tran[i] + at.h_rot[i] + at.c[i]
        for j in range(mechanism.n):
            torque = torque + (at.D_rot[i][j] + at.D_tran[i][j]) * qdd[j]
        if contact is not None:
            torque = torque + contact[i]
        tau.append(torque + friction(body, q[i], qd[i], torque))
    return tau
