"""Forward dynamics with articulated bodies (Featherstone 1983), linear in the number of joints.

Seen from its joint, a link and all it carries answer an acceleration (ω̇, a) of the link's frame with

    μ = I ω̇ + H a + μ_0,        f = Hᵀ ω̇ + M a + f_0,

in which the joints behind are already free to follow their torques. The joint's own acceleration is
eliminated as a rank-one change, and the rest is handed to the parent. Frames and inertias are those
of :mod:`dalembert.equations.regrouping`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algebra.linalg import (
    IDENTITY,
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
    mscale,
    msub,
    outer,
    scale,
    skew,
    sub,
    tmatvec,
    trace,
    transpose,
)
from dalembert.equations.composite import Steps, own_rotor, spin_of, spins, steps, turned_matrix
from dalembert.equations.friction import friction
from dalembert.equations.lean_newton_euler import acceleration_matrix, load_tip, moment_of, turned, turned_back
from dalembert.equations.regrouping import LeanLink
from dalembert.robot.mechanism import Mechanism


@dataclass
class Articulated:
    """I, H, M and the bias μ_0, f_0."""

    I: Matrix
    H: Matrix
    M: Matrix
    mu: Vector
    f: Vector

    def shifted(self, r: Vector) -> Articulated:
        """Seen from a frame whose origin lies at −r: a' = a + ω̇ × r, μ = μ' + r × f."""
        S = skew(r)
        SHt, SM = matmul(S, transpose(self.H)), matmul(S, self.M)
        return Articulated(
            msub(madd(self.I, madd(SHt, transpose(SHt))), matmul(SM, S)),
            madd(self.H, SM),
            self.M,
            add(self.mu, cross(r, self.f)),
            self.f,
        )

    def rotated(self, R: Matrix, c: Scalar, s: Scalar) -> Articulated:
        """In the axes before the joint."""

        def both(A: Matrix) -> Matrix:
            return matmul(matmul(R, turned_matrix(c, s, A)), transpose(R))

        return Articulated(
            both(self.I),
            both(self.H),
            both(self.M),
            matvec(R, turned(c, s, self.mu)),
            matvec(R, turned(c, s, self.f)),
        )

    def without(self, u_mu: Vector, u_f: Vector, over_D: Scalar) -> Articulated:
        """Less the rank-one part that the joint's own acceleration takes up."""
        k_mu, k_f = scale(over_D, u_mu), scale(over_D, u_f)
        return Articulated(
            msub(self.I, outer(k_mu, u_mu)),
            msub(self.H, outer(k_mu, u_f)),
            msub(self.M, outer(k_f, u_f)),
            self.mu,
            self.f,
        )

    def __add__(self, other: Articulated) -> Articulated:
        return Articulated(
            madd(self.I, other.I),
            madd(self.H, other.H),
            madd(self.M, other.M),
            add(self.mu, other.mu),
            add(self.f, other.f),
        )


def _at_rest(link: LeanLink) -> Articulated:
    """A link by itself: I = tr Σ 1 − Σ, H = S(h), M = m 1."""
    I = msub(mscale(trace(link.Sigma), IDENTITY), link.Sigma)
    return Articulated(I, skew(link.h), mscale(link.m, IDENTITY), ZERO, ZERO)


def forward_dynamics(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    h_e: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """q̈ of S (7.115)."""
    s = steps(mechanism, q, qd)
    links, n = s.links, mechanism.n
    bias = [_velocity_bias(s, i, qd) for i in range(n)]
    bodies = [_at_rest(link) for link in links]
    f: list[Vector] = [ZERO] * n
    mu: list[Vector] = [ZERO] * n
    for i, link in enumerate(links):
        U = acceleration_matrix(s.omega[i], ZERO)
        f[i], mu[i] = matvec(U, link.h), moment_of(U, s.omega[i], link.Sigma)
    if h_e is not None and mechanism.tip_body >= 0:
        load_tip(mechanism, links, s.turn, q, h_e, f, mu)
    for i in range(n):
        bodies[i].f, bodies[i].mu = f[i], mu[i]

    u: list[Scalar] = [0.0] * n
    over_D: list[Scalar] = [0.0] * n
    reach: list[tuple[Vector, Vector]] = [(ZERO, ZERO)] * n  # (u_μ, u_f) in the frame where it was eliminated
    for i in reversed(range(n)):
        link, body = links[i], bodies[i]
        u_mu, u_f = _joint_column(link, body)
        c_w, c_a = bias[i]
        # the velocity's own accelerations act on the articulated body like a bias
        body.mu = add(body.mu, matvec(body.I, c_w), matvec(body.H, c_a))
        body.f = add(body.f, tmatvec(body.H, c_w), matvec(body.M, c_a))
        over_D[i] = 1.0 / ((u_mu[2] if link.revolute else u_f[2]) + own_rotor(link))
        u[i] = tau[i] - friction(mechanism.bodies[i], qd[i]) - (body.mu[2] if link.revolute else body.f[2])
        j = link.parent
        if not (j >= 0 and spins(link)):
            body = body.without(u_mu, u_f, over_D[i])
            body.mu = add(body.mu, scale(u[i] * over_D[i], u_mu))
            body.f = add(body.f, scale(u[i] * over_D[i], u_f))
            reach[i] = (u_mu, u_f)
        if j < 0:
            continue
        body = _to_parent(s, i, body)
        if spins(link):
            # the rotor couples q̈_i with the parent's ω̇, so that the elimination is done there
            spin = spin_of(link)
            u_mu, u_f = _column_to_parent(s, i, u_mu, u_f)
            u_mu = add(u_mu, spin)
            body.mu = add(body.mu, scale(qd[i], cross(s.omega[j], spin)))
            body = body.without(u_mu, u_f, over_D[i])
            body.mu = add(body.mu, scale(u[i] * over_D[i], u_mu))
            body.f = add(body.f, scale(u[i] * over_D[i], u_f))
            reach[i] = (u_mu, u_f)
        bodies[j] = bodies[j] + body
    return _accelerations(mechanism, s, bias, u, over_D, reach)


def _joint_column(link: LeanLink, body: Articulated) -> tuple[Vector, Vector]:
    """What a unit acceleration of the joint takes: a column of I, H, M."""
    k = 2
    if link.revolute:
        return (body.I[0][k], body.I[1][k], body.I[2][k]), body.H[k]
    return (body.H[0][k], body.H[1][k], body.H[2][k]), (body.M[0][k], body.M[1][k], body.M[2][k])


def _velocity_bias(s: Steps, i: int, qd: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """The accelerations (ω̇, a) of link i's frame that velocities alone cause, relative to the parent."""
    link, w = s.links[i], s.omega[i]
    w_p = s.omega[link.parent] if link.parent >= 0 else ZERO
    step = cross(w_p, s.step_velocity[i])  # ω × (ω × t), in the parent's axes
    c_a = add(turned_back(*s.turn[i], tmatvec(link.R, step)), cross(w, cross(w, s.shift[i])))
    if link.revolute:
        c_w = (qd[i] * w[1], -(qd[i] * w[0]), 0.0)
        return c_w, add(c_a, cross(c_w, s.shift[i]))
    return ZERO, add(c_a, (2.0 * qd[i] * w[1], -(2.0 * qd[i] * w[0]), 0.0))


def _to_parent(s: Steps, i: int, body: Articulated) -> Articulated:
    return body.shifted(s.shift[i]).rotated(s.links[i].R, *s.turn[i]).shifted(s.links[i].t)


def _column_to_parent(s: Steps, i: int, u_mu: Vector, u_f: Vector) -> tuple[Vector, Vector]:
    link = s.links[i]
    mu = matvec(link.R, turned(*s.turn[i], add(u_mu, cross(s.shift[i], u_f))))
    f = matvec(link.R, turned(*s.turn[i], u_f))
    return add(mu, cross(link.t, f)), f


def _accelerations(
    mechanism: Mechanism,
    s: Steps,
    bias: list[tuple[Vector, Vector]],
    u: list[Scalar],
    over_D: list[Scalar],
    reach: list[tuple[Vector, Vector]],
) -> list[Scalar]:
    """From the base outwards: each joint's acceleration, then its link's."""
    a_0 = tmatvec(mechanism.base.rotation, sub(ZERO, mechanism.gravity))
    wd: list[Vector] = []
    a: list[Vector] = []
    qdd: list[Scalar] = []
    for i, link in enumerate(s.links):
        j = link.parent
        wd_p, a_p = (wd[j], a[j]) if j >= 0 else (ZERO, a_0)
        w_here = turned_back(*s.turn[i], tmatvec(link.R, wd_p))
        a_here = turned_back(*s.turn[i], tmatvec(link.R, add(a_p, cross(wd_p, link.t))))
        a_here = add(a_here, cross(w_here, s.shift[i]))
        u_mu, u_f = reach[i]
        seen = (wd_p, a_p) if j >= 0 and spins(link) else (w_here, a_here)
        qdd_i = over_D[i] * (u[i] - dot(u_mu, seen[0]) - dot(u_f, seen[1]))
        c_w, c_a = bias[i]
        w_here, a_here = add(w_here, c_w), add(a_here, c_a)
        if link.revolute:
            # link i's frame lies on the axis: the turn itself does not accelerate it
            w_here = (w_here[0], w_here[1], w_here[2] + qdd_i)
        else:
            a_here = (a_here[0], a_here[1], a_here[2] + qdd_i)
        wd.append(w_here)
        a.append(a_here)
        qdd.append(qdd_i)
    return qdd
