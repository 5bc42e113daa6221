"""Inertia matrix, Christoffel Coriolis matrix and torque derivatives from composite bodies.

Every joint i moves the points p of its composite body (all links beyond it) with unit velocity
u_i(p): z_i × p for a revolute joint, z_i for a prismatic one, p relative to the joint's frame. Then

    b_ij      = ∫ u_i · u_j dm                                  the inertia matrix,
    c_ij      = ∫ u_i · u̇_j dm                                  the Christoffel choice of C, and
        ∂τ_i/∂q_j = ∫ u_i · (ü_j − z_j × (p̈ − g)) dm                for i beyond j,
                  = ∫ u_i · ü_j + z_i · (u_j × (p̈ − g)) dm          for i before j,

over the points that both joints move. The second line is M (2.14), h_ikm = Tr(U_jkm J_j U_jiᵀ),
summed over q̇_m: the Christoffel symbols of S (7.45) are products of first and second derivatives
of positions, since kinetic energy is a sum of squares of velocities. That gives C with
Ḃ − 2C skew-symmetric from a recursion, without differentiating B (cf. Echeandia and Wensing, 2021).
∂τ/∂q̇ is 2C + F_v.

A composite body is described by m, h = ∫p, Σ = ∫p pᵀ, and by P = ∫ṗ, N = ∫ṗ pᵀ, with ṗ relative to
the frame's origin (only velocities relative to one another matter). A row of C is a covector
(F, M, G) that pairs with (v̇_j, ż_j, z_j) of an earlier joint; a column is a force and a moment
(f, μ) that acts on earlier joints. Both are moved from frame to frame towards the base.

Frames and inertias are those of :mod:`dalembert.mechanics.equations.regrouping`. A full rotor adds its spin
s = k_r I_m z_m on the link that carries it (S 7.5): to rows and columns of its joint, and −½ q̇ S(s)
to trN 1 − N of that link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dalembert.base.algebra.scalars import Grid, Scalar, Values, cos, sin, zeros
from dalembert.base.algebra.vectors import NULL, ZERO, Mat, RotZ, Vec, Z, skew, vec_sum
from dalembert.mechanics.equations.friction import bare, further, loaded, slopes
from dalembert.mechanics.equations.lean_newton_euler import acceleration_matrix, inverse_dynamics, moment_of
from dalembert.mechanics.equations.regrouping import LeanLink, lean_links
from dalembert.robot.model.mechanism import Mechanism


@dataclass
class Composite:
    """A link and everything that it carries, in the link's lean frame; ṗ relative to its origin."""

    m: Scalar
    h: Vec
    Sigma: Mat
    P: Vec = ZERO
    N: Mat = NULL

    def shifted(self, r: Vec, w: Vec) -> Composite:
        """With respect to a frame whose origin lies at −r and moves with −w."""
        m, h, P, r_h = self.m, self.h, self.P, r.outer(self.h)
        return Composite(
            m,
            h + m * r,
            self.Sigma + (r_h + r_h.T) + m * r.outer(r),
            P + m * w,
            self.N + (P.outer(r) + w.outer(h)) + m * w.outer(r),
        )

    def rotated(self, R: Mat, turn: RotZ) -> Composite:
        """In the axes before the joint: R Rot_z(q)."""
        return Composite(
            self.m,
            R @ (turn @ self.h),
            R @ turn.both(self.Sigma) @ R.T,
            R @ (turn @ self.P),
            R @ turn.both(self.N) @ R.T,
        )

    def __add__(self, other: Composite) -> Composite:
        return Composite(
            self.m + other.m, self.h + other.h, self.Sigma + other.Sigma, self.P + other.P, self.N + other.N
        )

    def inertia(self, x: Vec) -> Vec:
        """(tr Σ 1 − Σ) x = ∫ p × (x × p)"""
        return _trace_minus(self.Sigma, x)

    def carried(self, x: Vec) -> Vec:
        """(tr N 1 − N) x = ∫ p × (x × ṗ)"""
        return _trace_minus(self.N, x)


def _trace_minus(A: Mat, x: Vec) -> Vec:
    return Vec((
        (A[1][1] + A[2][2]) * x[0] - A[0][1] * x[1] - A[0][2] * x[2],
        (A[0][0] + A[2][2]) * x[1] - A[1][0] * x[0] - A[1][2] * x[2],
        (A[0][0] + A[1][1]) * x[2] - A[2][0] * x[0] - A[2][1] * x[1],
    ))  # fmt: skip


@dataclass
class LinkSteps:
    """Pose and motion of each joint: the constant step, the rotation, the shift along z; the base under −1."""

    links: list[LeanLink]
    turn: list[RotZ] = field(default_factory=list)
    shift: list[Vec] = field(default_factory=list)  # from the joint to the link's frame, in link axes
    omega: dict[int, Vec] = field(default_factory=dict)
    shift_velocity: list[Vec] = field(default_factory=list)  # of that shift, in link axes
    step_velocity: list[Vec] = field(default_factory=list)  # ω_p × t, in the parent's axes

    def down(self, i: int, v: Vec) -> Vec:
        """A vector in the axes of link i, expressed in those of its parent."""
        return self.links[i].R @ (self.turn[i] @ v)

    def up(self, i: int, v: Vec) -> Vec:
        """A vector in the axes of link i's parent, expressed in those of link i."""
        return self.turn[i].back(self.links[i].R.T @ v)

    def to_base(self, i: int) -> Iterator[tuple[int, int]]:
        """(link, its parent) from link i to the base."""
        while (j := self.links[i].parent) >= 0:
            yield i, j
            i = j


def link_steps(mechanism: Mechanism, q: Values, qd: Values | None = None, omega: Vec = ZERO) -> LinkSteps:
    """Sines, cosines and, if velocities are given, velocities; ``omega`` is that of the root link, in its axes."""
    links = lean_links(mechanism)
    s = LinkSteps(links, omega={-1: omega})
    for i, link in enumerate(links):
        x = q[i] + link.offset
        s.turn.append(RotZ(cos(x), sin(x)) if link.revolute else RotZ(1.0, 0.0))
        s.shift.append(Vec((0.0, 0.0, link.d if link.revolute else x)))
        if qd is None:
            s.omega[i] = ZERO
            s.shift_velocity.append(ZERO)
            s.step_velocity.append(ZERO)
            continue
        w_p = s.omega[link.parent]
        w = s.up(i, w_p)
        s.omega[i] = Vec((w[0], w[1], w[2] + qd[i])) if link.revolute else w
        slide = ZERO if link.revolute else Vec((0.0, 0.0, qd[i]))
        s.shift_velocity.append(s.omega[i].cross(s.shift[i]) + slide)
        s.step_velocity.append(w_p.cross(link.t))
    return s


Bodies = Iterable[tuple[int, LeanLink, Composite]]  # the composite body of every link, with the link


def composites(s: LinkSteps, qd: Values | None = None) -> Iterator[tuple[int, LeanLink, Composite]]:
    """The composite body of every link, one after the other from the tips to the base.

    They are consumed one at a time, so that compiled code keeps few of them alive.
    """
    links = s.links
    bodies = [Composite(link.m, link.h, link.Sigma) for link in links]
    if qd is not None:
        for i, link in enumerate(links):
            bodies[i].P = s.omega[i].cross(link.h)
            bodies[i].N = skew(s.omega[i]) @ link.Sigma
        for i, link in enumerate(links):
            if link.parent >= 0 and link.spins:
                bodies[link.parent].N = bodies[link.parent].N + 0.5 * qd[i] * skew(link.spin)
    for i in reversed(range(len(links))):
        link = links[i]
        yield i, link, bodies[i]
        if link.parent >= 0:
            at_joint = bodies[i].shifted(s.shift[i], s.shift_velocity[i])
            seen = at_joint.rotated(link.R, s.turn[i]).shifted(link.t, s.step_velocity[i])
            bodies[link.parent] = bodies[link.parent] + seen


@dataclass
class Covector:
    """∫ u_i · (…), a row: pairs F with a linear, M with an angular field, G with z × ṗ."""

    F: Vec
    M: Vec
    G: Vec

    def moved(self, s: LinkSteps, i: int) -> Covector:
        """In the frame of link i's parent."""
        M = self.M + s.shift[i].cross(self.F)
        G = self.G + s.shift_velocity[i].cross(self.F)
        F, M, G = s.down(i, self.F), s.down(i, M), s.down(i, G)
        return Covector(F, M + s.links[i].t.cross(F), G + s.step_velocity[i].cross(F))


@dataclass
class ForceMoment:
    """A force and a moment about the frame's origin, passed towards the base: a column."""

    f: Vec
    mu: Vec

    def moved(self, s: LinkSteps, i: int) -> ForceMoment:
        """In the frame of link i's parent."""
        mu = self.mu + s.shift[i].cross(self.f)
        f, mu = s.down(i, self.f), s.down(i, mu)
        return ForceMoment(f, mu + s.links[i].t.cross(f))

    def felt_by(self, link: LeanLink) -> Scalar:
        """u_i · (…): the joint's own component."""
        return self.mu[2] if link.revolute else self.f[2]


def _row(link: LeanLink, body: Composite) -> Covector:
    """∫ u_i · (…) over the joint's own composite body."""
    if not link.revolute:
        return Covector(Vec((0.0, 0.0, body.m)), body.h.cross(Z), body.P.cross(Z))
    h, S, N = body.h, body.Sigma, body.N
    return Covector(
        Vec((-h[1], h[0], 0.0)),
        Vec((-S[0][2], -S[1][2], S[0][0] + S[1][1])),
        Vec((-N[2][0], -N[2][1], N[0][0] + N[1][1])),
    )


def inertia_matrix(mechanism: Mechanism, q: Values) -> Grid:
    """B(q), S (7.32), from composite bodies: b_ij = ∫ u_i · u_j dm."""
    s = link_steps(mechanism, q)
    return inertia_of(s, composites(s))


def inertia_of(s: LinkSteps, bodies: Bodies) -> Grid:
    """B of these composite bodies, given from the tips to the base."""
    B = zeros(len(s.links))
    for i, link, body in bodies:
        row = _row(link, body)
        push = ForceMoment(row.F, row.M)  # the same numbers, read as the force for a unit acceleration
        B[i][i] = push.felt_by(link) + link.own_rotor
        for k, j in s.to_base(i):
            push = push.moved(s, k)
            if k == i and link.spins:
                push.mu = push.mu + link.spin
            B[i][j] = B[j][i] = push.felt_by(s.links[j])
    return B


def potential_energy_of(s: LinkSteps, bodies: Bodies, gravity: Vec, origin: Vec) -> Scalar:
    """U = −g_0 · ∫ p dm, S (7.36), over the bodies that stand on the root link, which has its frame at ``origin``.

    Everything is in the axes of the root link.
    """
    U: Scalar = 0.0
    for i, link, body in bodies:
        if link.parent < 0:
            at_joint = body.h + body.m * s.shift[i]
            U = U - gravity.dot(s.down(i, at_joint) + body.m * (link.t + origin))
    return U


def coriolis_matrix(mechanism: Mechanism, q: Values, qd: Values) -> Grid:
    """C(q, q̇) with the Christoffel symbols of S (7.44), (7.45): c_ij = ∫ u_i · u̇_j dm."""
    s, n = link_steps(mechanism, q, qd), mechanism.n
    C = zeros(n)
    for i, link, body in composites(s, qd):
        row, column = _row(link, body), _coriolis_column(link, body, s.omega[i])
        C[i][i] = column.felt_by(link)
        for k, j in s.to_base(i):
            row, column = row.moved(s, k), column.moved(s, k)
            if k == i and link.spins:
                _add_spin(link, s.omega[j], row, column)
            C[i][j] = _coriolis_pair(row, s.links[j], s.omega[j])
            C[j][i] = column.felt_by(s.links[j])
    return C


def _add_spin(link: LeanLink, w: Vec, row: Covector, column: ForceMoment) -> None:
    """Add the rotor's angular momentum to the link that carries it, which rotates with ω."""
    half = 0.5 * w.cross(link.spin)
    row.M, row.G = row.M + link.spin, row.G + half
    column.mu = column.mu + half


def _coriolis_pair(row: Covector, earlier: LeanLink, w: Vec) -> Scalar:
    """Row i paired with u̇_j of an earlier joint j: ż_j = ω_j × z_j."""
    if earlier.revolute:
        return row.M[0] * w[1] - row.M[1] * w[0] + row.G[2]
    return row.F[0] * w[1] - row.F[1] * w[0]


def _coriolis_column(link: LeanLink, body: Composite, w: Vec) -> ForceMoment:
    """∫ u̇_j and ∫ p × u̇_j over the joint's own composite body."""
    zd = Vec((w[1], -w[0], 0.0))
    if link.revolute:
        return ForceMoment(zd.cross(body.h) + Z.cross(body.P), body.inertia(zd) + body.carried(Z))
    return ForceMoment(body.m * zd, body.h.cross(zd))


@dataclass(frozen=True)
class UnitMotion:
    """u_i(p) = z × p + v, the velocity that joint i gives the points p of a link, in the link's frame."""

    z: Vec
    v: Vec

    def moved(self, s: LinkSteps, i: int) -> UnitMotion:
        """From the frame of link i's parent to that of link i."""
        z = s.up(i, self.z)
        return UnitMotion(z, s.up(i, self.v + self.z.cross(s.links[i].t)) + z.cross(s.shift[i]))


def unit_motions(s: LinkSteps) -> list[dict[int, UnitMotion]]:
    """For each link j: joint i → u_i in the frame of link j, for all joints i that move it."""
    motions: list[dict[int, UnitMotion]] = []
    for j, link in enumerate(s.links):
        earlier = motions[link.parent] if link.parent >= 0 else {}
        own = UnitMotion(Z, ZERO) if link.revolute else UnitMotion(ZERO, Z)
        motions.append({**{i: u.moved(s, j) for i, u in earlier.items()}, j: own})
    return motions


def christoffel(mechanism: Mechanism, q: Values) -> list[Grid]:
    """c_ijk of S (7.45) by F (16) in docs/formulations.md; c_ijk = c_ikj, (7.46)."""
    s, n = link_steps(mechanism, q), mechanism.n
    motions = unit_motions(s)
    c = [zeros(n) for _ in range(n)]
    for j, link, body in composites(s):
        spin = 0.5 * s.up(j, link.spin) if link.spins else None
        for i, u in motions[j].items():
            if i == j:
                continue  # x_jj = 0
            x = _moment_of_motions(link, body, u)  # x_ji, F (15)
            for k, other in motions[j].items():
                turned = x if spin is None or k == j else x + u.z.cross(spin)
                c_jik = other.z.dot(turned)
                c[i][j][k] = c[i][k][j] = -c_jik
                if k <= i:
                    c[j][i][k] = c[j][k][i] = c_jik
    return c


def _moment_of_motions(link: LeanLink, body: Composite, u: UnitMotion) -> Vec:
    """∫ u × u_j dm over the joint's own composite body, F (17)."""
    z, v, h, S = u.z, u.v, body.h, body.Sigma
    if not link.revolute:
        return (z.cross(h) + body.m * v).cross(Z)
    return vec_sum([z[1] * S[0] - z[0] * S[1], v.cross(Vec((-h[1], h[0], 0.0)))])


def velocity_product_matrix(
    mechanism: Any, q: Values, symbols: Callable[[Any, Values], list[Grid]] = christoffel
) -> Grid:
    """Γ(q) of S (7.117), with C q̇ = Γ [q̇q̇]: c_ijj for q̇_j², and c_ijk + c_ikj for q̇_j q̇_k, j < k."""
    span = range(mechanism.n)
    return [[c[j][k] if j == k else 2.0 * c[j][k] for j in span for k in span if j <= k] for c in symbols(mechanism, q)]


def torque_derivatives(mechanism: Mechanism, q: Values, qd: Values, qdd: Values) -> tuple[Grid, Grid]:
    """(∂τ/∂q, ∂τ/∂q̇) of S (7.42), without end-effector forces."""
    s, n = link_steps(mechanism, q, qd), mechanism.n
    U, a, forces = _motion_and_forces(mechanism, s, qd, qdd)
    dq = zeros(n)
    C = zeros(n)
    for i, link, body in composites(s, qd):
        w = s.omega[i]
        row = _row(link, body)
        column = _coriolis_column(link, body, w)
        turn = _position_column(link, body, w, U[i], a[i])
        C[i][i] = column.felt_by(link)
        dq[i][i] = turn.felt_by(link)
        # joints before this one also see its force rotated (or moved) with it
        turn = _with_force(link, turn, forces[i])
        _carry(s, i, forces, qd, qdd)
        for k, j in s.to_base(i):
            row, column, turn = row.moved(s, k), column.moved(s, k), turn.moved(s, k)
            if k == i and link.spins:
                _add_spin(link, s.omega[j], row, column)
            earlier = s.links[j]
            C[i][j] = _coriolis_pair(row, earlier, s.omega[j])
            C[j][i] = column.felt_by(earlier)
            dq[i][j] = _position_pair(row, earlier, s.omega[j], U[j], a[j])
            dq[j][i] = turn.felt_by(earlier)
    dqd = [[2.0 * C[i][j] for j in range(n)] for i in range(n)]
    if mechanism.lifts:
        rest = [0.0] * n
        carried, _ = torque_derivatives(mechanism.lifted, q, rest, rest)
        dq = [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(dq, carried, strict=True)]
    _add_friction(mechanism, q, qd, qdd, dq, dqd)
    return dq, dqd


def _add_friction(mechanism: Mechanism, q: Values, qd: Values, qdd: Values, dq: Grid, dqd: Grid) -> None:
    """From the derivatives of ℓ = B q̈ + C q̇ + g to those of τ = ℓ + f(q, q̇, ℓ)."""
    load: Values = [0.0] * mechanism.n
    if loaded(mechanism):
        load = inverse_dynamics(bare(mechanism), q, qd, qdd)
    for i, body in enumerate(mechanism.bodies):
        f_q, f_qd, f_load = slopes(further, body, q[i], qd[i], load[i])
        if body.depends("load"):
            dq[i], dqd[i] = ([(1.0 + f_load) * x for x in row] for row in (dq[i], dqd[i]))
        if body.further:
            dq[i][i] = dq[i][i] + f_q
        dqd[i][i] = dqd[i][i] + (body.viscous + f_qd)


def _position_pair(row: Covector, earlier: LeanLink, w: Vec, U: Mat, a: Vec) -> Scalar:
    """Row i paired with a × z + z̈ × p + 2 ż × ṗ of an earlier joint; z̈ = U z."""
    F, M, G, zdd = row.F, row.M, row.G, U.T[2]
    if earlier.revolute:
        straight = F[0] * a[1] - F[1] * a[0] + M[0] * zdd[0] + M[1] * zdd[1] + M[2] * zdd[2]
        return straight + 2.0 * (G[0] * w[1] - G[1] * w[0])
    return F.dot(zdd)


def _position_column(link: LeanLink, body: Composite, w: Vec, U: Mat, a: Vec) -> ForceMoment:
    """∫ and ∫ p × of the same field over the joint's own composite body."""
    m, h, P, zdd = body.m, body.h, body.P, U.T[2]
    if not link.revolute:
        return ForceMoment(m * zdd, h.cross(zdd))
    twice = Vec((2.0 * w[1], -(2.0 * w[0]), 0.0))
    push = Vec((a[1], -a[0], 0.0))
    return ForceMoment(
        vec_sum([m * push, zdd.cross(h), twice.cross(P)]),
        vec_sum([h.cross(push), body.inertia(zdd), body.carried(twice)]),
    )


def _with_force(link: LeanLink, column: ForceMoment, force: ForceMoment) -> ForceMoment:
    """Plus z × f and z × μ (revolute), or z × f as a moment (prismatic)."""
    f, mu = force.f, force.mu
    z_f = Vec((-f[1], f[0], 0.0))
    if link.revolute:
        return ForceMoment(column.f + z_f, column.mu + Vec((-mu[1], mu[0], 0.0)))
    return ForceMoment(column.f, column.mu + z_f)


def _carry(s: LinkSteps, i: int, forces: list[ForceMoment], qd: Values, qdd: Values) -> None:
    """Add the complete f and μ of link i to those of its parent."""
    link, j = s.links[i], s.links[i].parent
    if j >= 0:
        seen = forces[i].moved(s, i)
        forces[j] = ForceMoment(forces[j].f + seen.f, forces[j].mu + seen.mu)
        if link.spins:
            spin = link.spin
            forces[j].mu = vec_sum([forces[j].mu, qdd[i] * spin, qd[i] * s.omega[j].cross(spin)])


def _motion_and_forces(
    mechanism: Mechanism, s: LinkSteps, qd: Values, qdd: Values
) -> tuple[dict[int, Mat], dict[int, Vec], list[ForceMoment]]:
    """U and a of every link, and f, μ of the link alone: the outward pass of the lean recursion."""
    wd, U, a = {-1: ZERO}, {-1: NULL}, {-1: mechanism.base.rotation.T @ (ZERO - mechanism.gravity)}
    forces = []
    for i, link in enumerate(s.links):
        j, w = link.parent, s.omega[i]
        wd_i, a_i = s.up(i, wd[j]), s.up(i, a[j] + U[j] @ link.t)
        if link.revolute:
            wd_i = Vec((wd_i[0] + qd[i] * w[1], wd_i[1] - qd[i] * w[0], wd_i[2] + qdd[i]))
        wd[i], U[i] = wd_i, acceleration_matrix(w, wd_i)
        a[i] = a_i + U[i] @ s.shift[i]
        if not link.revolute:
            a[i] = a[i] + Vec((2.0 * qd[i] * w[1], -(2.0 * qd[i] * w[0]), qdd[i]))
        f = link.m * a[i] + U[i] @ link.h
        forces.append(ForceMoment(f, link.h.cross(a[i]) + moment_of(U[i], w, link.Sigma)))
    return U, a, forces
