"""Forward dynamics with articulated bodies (Featherstone 1983), linear in the number of joints.

Seen from its joint, a link and everything it carries respond to an acceleration (ω̇, a) of the link's frame with

    μ = I ω̇ + H a + μ_0,        f = Hᵀ ω̇ + M a + f_0,

where the joints further out already follow their torques freely. The joint's own acceleration is
eliminated as a rank-one change, and the result is passed to the parent. Frames and inertias are those
of :mod:`dalembert.mechanics.equations.regrouping`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.base.algebra.scalars import Scalar, Values
from dalembert.base.algebra.vectors import IDENTITY, ZERO, Mat, RotZ, Vec, skew, vec_sum
from dalembert.mechanics.equations.composite import ForceMoment, LinkSteps, link_steps
from dalembert.mechanics.equations.friction import load_of
from dalembert.mechanics.equations.lean_newton_euler import acceleration_matrix, add_contacts, lifting, moment_of
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.mechanics.equations.regrouping import LeanLink
from dalembert.robot.model.mechanism import Mechanism


@dataclass
class Articulated:
    """I, H, M and the bias μ_0, f_0."""

    I: Mat
    H: Mat
    M: Mat
    mu: Vec
    f: Vec

    def shifted(self, r: Vec) -> Articulated:
        """Seen from a frame whose origin lies at −r: a' = a + ω̇ × r, μ = μ' + r × f."""
        S = skew(r)
        S_Ht, S_M = S @ self.H.T, S @ self.M
        I = self.I + (S_Ht + S_Ht.T) - S_M @ S
        return Articulated(I, self.H + S_M, self.M, self.mu + r.cross(self.f), self.f)

    def rotated(self, R: Mat, turn: RotZ) -> Articulated:
        """In the axes before the joint."""
        I, H, M = (R @ turn.both(A) @ R.T for A in (self.I, self.H, self.M))
        return Articulated(I, H, M, R @ (turn @ self.mu), R @ (turn @ self.f))

    def freed(self, u_mu: Vec, u_f: Vec, over_D: Scalar, u: Scalar) -> Articulated:
        """Minus the rank-one part that the joint's own acceleration takes up, plus the contribution of its torque."""
        k_mu, k_f = over_D * u_mu, over_D * u_f
        I, H, M = self.I - k_mu.outer(u_mu), self.H - k_mu.outer(u_f), self.M - k_f.outer(u_f)
        return Articulated(I, H, M, self.mu + u * over_D * u_mu, self.f + u * over_D * u_f)

    def __add__(self, other: Articulated) -> Articulated:
        return Articulated(self.I + other.I, self.H + other.H, self.M + other.M, self.mu + other.mu, self.f + other.f)


def _at_rest(link: LeanLink) -> Articulated:
    """A link on its own: I = tr Σ 1 − Σ, H = S(h), M = m 1."""
    I = link.Sigma.trace * IDENTITY - link.Sigma
    return Articulated(I, skew(link.h), link.m * IDENTITY, ZERO, ZERO)


def forward_dynamics(
    mechanism: Mechanism, q: Values, qd: Values, tau: Values, h_e: Values | None = None, base: BaseMotion | None = None
) -> list[Scalar]:
    """q̈ of S (7.115)."""
    moving, base = base is not None, base or BaseMotion()
    s = link_steps(mechanism, q, qd, mechanism.base.rotation.T @ base.omega)
    links, n = s.links, mechanism.n
    bias = [_velocity_bias(s, i, qd) for i in range(n)]
    bodies = [_at_rest(link) for link in links]
    f, mu = [ZERO] * n, [ZERO] * n
    for i, link in enumerate(links):
        U = acceleration_matrix(s.omega[i], ZERO)
        f[i], mu[i] = U @ link.h, moment_of(U, s.omega[i], link.Sigma)
    add_contacts(mechanism, links, s.turn, h_e, f, mu)
    for i in range(n):
        bodies[i].f, bodies[i].mu = f[i], mu[i]

    lift = lifting(mechanism, q) if mechanism.lifts else []
    u: list[Scalar] = [0.0] * n
    over_D: list[Scalar] = [0.0] * n
    columns: list[ForceMoment] = []  # (u_f, u_μ) of every joint, in the frame where it was eliminated
    for i in reversed(range(n)):
        link, body, j = links[i], bodies[i], links[i].parent
        column = _joint_column(link, body)
        c_w, c_a = bias[i]
        # the accelerations due to velocities act on the articulated body like a bias
        body.mu = vec_sum([body.mu, body.I @ c_w, body.H @ c_a])
        body.f = vec_sum([body.f, body.H.T @ c_w, body.M @ c_a])
        over_D[i] = 1.0 / (column.felt_by(link) + link.own_rotor)
        held = body.mu[2] if link.revolute else body.f[2]
        u[i] = load_of(mechanism.bodies[i], q[i], qd[i], tau[i]) - held
        if lift:
            u[i] = u[i] + lift[i]
        if link.spins and (j >= 0 or moving):
            # the rotor couples q̈_i with the parent's ω̇, so the elimination is done there
            body, spin, column = _to_parent(s, i, body), link.spin, column.moved(s, i)
            column.mu = column.mu + spin
            body.mu = body.mu + qd[i] * s.omega[j].cross(spin)
            body = body.freed(column.mu, column.f, over_D[i], u[i])
        else:
            body = body.freed(column.mu, column.f, over_D[i], u[i])
            body = _to_parent(s, i, body) if j >= 0 else body
        columns.insert(0, column)
        if j >= 0:
            bodies[j] = bodies[j] + body
    return _accelerations(mechanism, s, bias, u, over_D, columns, base, moving)


def _joint_column(link: LeanLink, body: Articulated) -> ForceMoment:
    """The wrench for a unit acceleration of the joint: a column of I, H, M."""
    return ForceMoment(body.H[2], body.I.T[2]) if link.revolute else ForceMoment(body.M.T[2], body.H.T[2])


def _velocity_bias(s: LinkSteps, i: int, qd: Values) -> tuple[Vec, Vec]:
    """The accelerations (ω̇, a) of link i's frame that velocities alone cause, relative to the parent."""
    link, w = s.links[i], s.omega[i]
    step = s.omega[link.parent].cross(s.step_velocity[i])  # ω × (ω × t), in the parent's axes
    c_a = s.up(i, step) + w.cross(w.cross(s.shift[i]))
    if link.revolute:
        c_w = Vec((qd[i] * w[1], -(qd[i] * w[0]), 0.0))
        return c_w, c_a + c_w.cross(s.shift[i])
    return ZERO, c_a + Vec((2.0 * qd[i] * w[1], -(2.0 * qd[i] * w[0]), 0.0))


def _to_parent(s: LinkSteps, i: int, body: Articulated) -> Articulated:
    return body.shifted(s.shift[i]).rotated(s.links[i].R, s.turn[i]).shifted(s.links[i].t)


def _accelerations(
    mechanism: Mechanism,
    s: LinkSteps,
    bias: list[tuple[Vec, Vec]],
    u: list[Scalar],
    over_D: list[Scalar],
    columns: list[ForceMoment],
    base: BaseMotion,
    moving: bool,
) -> list[Scalar]:
    """From the base outwards: each joint's acceleration, then its link's; the base itself may move."""
    R_0 = mechanism.base.rotation
    wd, a = {-1: R_0.T @ base.omega_dot}, {-1: R_0.T @ base.felt(mechanism)}
    qdd: list[Scalar] = []
    for i, link in enumerate(s.links):
        j = link.parent
        wd_i = s.up(i, wd[j])
        a_i = s.up(i, a[j] + wd[j].cross(link.t))
        a_i = a_i + wd_i.cross(s.shift[i])
        seen_wd, seen_a = (wd[j], a[j]) if link.spins and (j >= 0 or moving) else (wd_i, a_i)
        qdd_i = over_D[i] * (u[i] - columns[i].mu.dot(seen_wd) - columns[i].f.dot(seen_a))
        c_w, c_a = bias[i]
        wd[i], a[i] = wd_i + c_w, a_i + c_a
        if link.revolute:
            # link i's frame lies on the axis: the rotation itself does not accelerate it
            wd[i] = Vec((wd[i][0], wd[i][1], wd[i][2] + qdd_i))
        else:
            a[i] = Vec((a[i][0], a[i][1], a[i][2] + qdd_i))
        qdd.append(qdd_i)
    return qdd
