"""Inertia matrix, Christoffel Coriolis matrix and torque derivatives from composite bodies.

Every joint i moves the points p of its composite body (all links behind it) with unit velocity
u_i(p): z_i × p for a revolute joint, z_i for a prismatic one, p seen from the joint's frame. Then

    b_ij      = ∫ u_i · u_j dm                                  the inertia matrix,
    c_ij      = ∫ u_i · u̇_j dm                                  the Christoffel choice of C, and
    ∂τ_i/∂q_j = ∫ u_i · (ü_j − z_j × (p̈ − g)) dm                for i behind j,
              = ∫ u_i · ü_j + z_i · (u_j × (p̈ − g)) dm          for i before j,

over the points that both joints move. The second line is M (2.14), h_ikm = Tr(U_jkm J_j U_jiᵀ),
summed over q̇_m: the Christoffel symbols of S (7.45) are products of first and second derivatives
of positions, since kinetic energy is a sum of squares of velocities. That gives C with
Ḃ − 2C skew-symmetric from a recursion, without differentiating B (cf. Echeandia and Wensing, 2021).
∂τ/∂q̇ is 2C + F_v.

A composite body is known by m, h = ∫p, Σ = ∫p pᵀ, and by P = ∫ṗ, N = ∫ṗ pᵀ, with ṗ relative to
the frame's origin (only velocities relative to one another matter). A row of C is a covector
(F, M, G) that pairs with (v̇_j, ż_j, z_j) of an earlier joint; a column is a force and a moment
(f, μ) felt by earlier joints. Both travel from frame to frame towards the base.

Frames and inertias are those of :mod:`dalembert.equations.regrouping`. A full rotor adds its spin
s = k_r I_m z_m on the link that carries it (S 7.5): to rows and columns of its joint, and −½ q̇ S(s)
to trN 1 − N of that link.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dalembert.algebra.linalg import (
    NULL,
    ZERO,
    Matrix,
    Scalar,
    Vector,
    add,
    cos,
    cross,
    madd,
    matmul,
    matvec,
    mscale,
    outer,
    scale,
    sin,
    skew,
    sub,
    tmatvec,
    transpose,
)
from dalembert.equations.lean_newton_euler import acceleration_matrix, moment_of, turned, turned_back
from dalembert.equations.regrouping import LeanLink, lean_links
from dalembert.robot.mechanism import Mechanism

Z: Vector = (0.0, 0.0, 1.0)


def turned_matrix(c: Scalar, s: Scalar, A: Matrix) -> Matrix:
    """Rot_z(q) A Rot_z(q)ᵀ, with 12 multiplications."""
    w = s * (A[1][1] - A[0][0]) - c * (A[0][1] + A[1][0])
    sw, cw = s * w, c * w
    xz, yz, _ = turned(c, s, (A[0][2], A[1][2], 0.0))
    zx, zy, _ = turned(c, s, (A[2][0], A[2][1], 0.0))
    return (
        (A[0][0] + sw, -(cw + A[1][0]), xz),
        (-(cw + A[0][1]), A[1][1] - sw, yz),
        (zx, zy, A[2][2]),
    )


@dataclass
class Composite:
    """A link and all that it carries, in the link's lean frame; ṗ relative to its origin."""

    m: Scalar
    h: Vector
    Sigma: Matrix
    P: Vector = ZERO
    N: Matrix = NULL

    def shifted(self, r: Vector, w: Vector) -> Composite:
        """Seen from a frame whose origin lies at −r and moves with −w."""
        rh = outer(r, self.h)
        return Composite(
            self.m,
            add(self.h, scale(self.m, r)),
            madd(madd(self.Sigma, madd(rh, transpose(rh))), mscale(self.m, outer(r, r))),
            add(self.P, scale(self.m, w)),
            madd(madd(self.N, madd(outer(self.P, r), outer(w, self.h))), mscale(self.m, outer(w, r))),
        )

    def rotated(self, R: Matrix, c: Scalar, s: Scalar) -> Composite:
        """In the axes before the joint: R Rot_z(q)."""
        return Composite(
            self.m,
            matvec(R, turned(c, s, self.h)),
            matmul(matmul(R, turned_matrix(c, s, self.Sigma)), transpose(R)),
            matvec(R, turned(c, s, self.P)),
            matmul(matmul(R, turned_matrix(c, s, self.N)), transpose(R)),
        )

    def __add__(self, other: Composite) -> Composite:
        return Composite(
            self.m + other.m,
            add(self.h, other.h),
            madd(self.Sigma, other.Sigma),
            add(self.P, other.P),
            madd(self.N, other.N),
        )

    def inertia(self, x: Vector) -> Vector:
        """(tr Σ 1 − Σ) x = ∫ p × (x × p)"""
        return _trace_minus(self.Sigma, x)

    def carried(self, x: Vector) -> Vector:
        """(tr N 1 − N) x = ∫ p × (x × ṗ)"""
        return _trace_minus(self.N, x)


def _trace_minus(A: Matrix, x: Vector) -> Vector:
    return (
        (A[1][1] + A[2][2]) * x[0] - A[0][1] * x[1] - A[0][2] * x[2],
        (A[0][0] + A[2][2]) * x[1] - A[1][0] * x[0] - A[1][2] * x[2],
        (A[0][0] + A[1][1]) * x[2] - A[2][0] * x[0] - A[2][1] * x[1],
    )


@dataclass
class Steps:
    """How each joint stands and moves: the constant step, the turn, the shift along z."""

    links: list[LeanLink]
    turn: list[tuple[Scalar, Scalar]]
    shift: list[Vector]  # from the joint to the link's frame, in link axes
    omega: list[Vector] = field(default_factory=list)
    shift_velocity: list[Vector] = field(default_factory=list)  # of that shift, in link axes
    step_velocity: list[Vector] = field(default_factory=list)  # ω_p × t, in the parent's axes


def steps(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar] | None = None) -> Steps:
    """Sines, cosines and, where velocities are given, what moves."""
    links = lean_links(mechanism)
    out = Steps(links, [], [])
    for i, link in enumerate(links):
        x = q[i] + link.offset
        out.turn.append((cos(x), sin(x)) if link.revolute else (1.0, 0.0))
        out.shift.append((0.0, 0.0, link.d if link.revolute else x))
        if qd is None:
            out.omega.append(ZERO)
            out.shift_velocity.append(ZERO)
            out.step_velocity.append(ZERO)
            continue
        w_p = out.omega[link.parent] if link.parent >= 0 else ZERO
        w = turned_back(*out.turn[i], tmatvec(link.R, w_p))
        if link.revolute:
            w = (w[0], w[1], w[2] + qd[i])
        slide = ZERO if link.revolute else (0.0, 0.0, qd[i])
        out.omega.append(w)
        out.shift_velocity.append(add(cross(w, out.shift[i]), slide))
        out.step_velocity.append(cross(w_p, link.t))
    return out


def composites(s: Steps, qd: Sequence[Scalar] | None = None) -> Iterator[tuple[int, LeanLink, Composite]]:
    """The composite body of every link, one after the other from the tips to the base.

    They are used as they come, so that compiled code keeps few of them at a time.
    """
    links = s.links
    bodies = [Composite(link.m, link.h, link.Sigma) for link in links]
    if qd is not None:
        for i, link in enumerate(links):
            w = s.omega[i]
            bodies[i].P = cross(w, link.h)
            bodies[i].N = matmul(skew(w), link.Sigma)
        for i, link in enumerate(links):
            if link.parent >= 0 and spins(link):
                spun = mscale(0.5 * qd[i], skew(spin_of(link)))
                bodies[link.parent].N = madd(bodies[link.parent].N, spun)
    for i in reversed(range(len(links))):
        link = links[i]
        yield i, link, bodies[i]
        if link.parent >= 0:
            at_joint = bodies[i].shifted(s.shift[i], s.shift_velocity[i])
            seen = at_joint.rotated(link.R, *s.turn[i]).shifted(link.t, s.step_velocity[i])
            bodies[link.parent] = bodies[link.parent] + seen


def spins(link: LeanLink) -> bool:
    known_zero = isinstance(link.rotor_inertia, float) and link.rotor_inertia == 0.0
    return not link.reflected and not known_zero


def spin_of(link: LeanLink) -> Vector:
    """s = k_r I_m z_m, the rotor's angular momentum at unit joint speed, in the parent's frame."""
    return scale(link.gear * link.rotor_inertia, link.rotor_axis)


def own_rotor(link: LeanLink) -> Scalar:
    """k_r² I_m, what the rotor adds on the diagonal."""
    return link.gear * link.gear * link.rotor_inertia


@dataclass
class Row:
    """∫ u_i · (…) as a covector: pairs F with a linear, M with an angular field, G with z × ṗ."""

    F: Vector
    M: Vector
    G: Vector

    def moved(self, s: Steps, i: int) -> Row:
        """In the frame of link i's parent."""
        link = s.links[i]

        def back(v: Vector) -> Vector:
            return matvec(link.R, turned(*s.turn[i], v))

        F = self.F
        M = add(self.M, cross(s.shift[i], F))
        G = add(self.G, cross(s.shift_velocity[i], F))
        F, M, G = back(F), back(M), back(G)
        return Row(F, add(M, cross(link.t, F)), add(G, cross(s.step_velocity[i], F)))


@dataclass
class Column:
    """A force and a moment about the frame's origin, on their way to the base."""

    f: Vector
    mu: Vector

    def moved(self, s: Steps, i: int) -> Column:
        """In the frame of link i's parent."""
        link = s.links[i]
        mu = add(self.mu, cross(s.shift[i], self.f))
        f, mu = matvec(link.R, turned(*s.turn[i], self.f)), matvec(link.R, turned(*s.turn[i], mu))
        return Column(f, add(mu, cross(link.t, f)))

    def felt_by(self, link: LeanLink) -> Scalar:
        """u_i · (…): the joint's own component."""
        return self.mu[2] if link.revolute else self.f[2]


def _row(link: LeanLink, body: Composite) -> Row:
    if link.revolute:
        h, S, N = body.h, body.Sigma, body.N
        return Row(
            (-h[1], h[0], 0.0),
            (-S[0][2], -S[1][2], S[0][0] + S[1][1]),
            (-N[2][0], -N[2][1], N[0][0] + N[1][1]),
        )
    return Row((0.0, 0.0, body.m), cross(body.h, Z), cross(body.P, Z))


def inertia_matrix(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """B(q), S (7.32), from composite bodies: b_ij = ∫ u_i · u_j dm."""
    s = steps(mechanism, q)
    n = len(s.links)
    B: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for i, link, body in composites(s):
        row = _row(link, body)
        push = Column(row.F, row.M)  # the same numbers, read as the force that unit acceleration takes
        B[i][i] = push.felt_by(link) + own_rotor(link)
        k, j = i, link.parent
        while j >= 0:
            push = push.moved(s, k)
            if k == i and spins(link):
                push.mu = add(push.mu, spin_of(link))
            B[i][j] = B[j][i] = push.felt_by(s.links[j])
            k, j = j, s.links[j].parent
    return B


def coriolis_matrix(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """C(q, q̇) with the Christoffel symbols of S (7.44), (7.45): c_ij = ∫ u_i · u̇_j dm."""
    s = steps(mechanism, q, qd)
    n = len(s.links)
    C: list[list[Scalar]] = [[0.0] * n for _ in range(n)]

    for i, link, body in composites(s, qd):
        row, column = _row(link, body), _coriolis_column(link, body, s.omega[i])
        C[i][i] = column.felt_by(link)
        k, j = i, link.parent
        while j >= 0:
            row, column = row.moved(s, k), column.moved(s, k)
            if k == i and spins(link):
                half = scale(0.5, cross(s.omega[j], spin_of(link)))
                row = Row(row.F, add(row.M, spin_of(link)), add(row.G, half))
                column = Column(column.f, add(column.mu, half))
            C[i][j] = _coriolis_pair(row, s.links[j], s.omega[j])
            C[j][i] = column.felt_by(s.links[j])
            k, j = j, s.links[j].parent
    return C


def _coriolis_pair(row: Row, earlier: LeanLink, w: Vector) -> Scalar:
    """Row i with u̇_j of an earlier joint j: ż_j = ω_j × z_j."""
    if earlier.revolute:
        return row.M[0] * w[1] - row.M[1] * w[0] + row.G[2]
    return row.F[0] * w[1] - row.F[1] * w[0]


def _coriolis_column(link: LeanLink, body: Composite, w: Vector) -> Column:
    """∫ u̇_j and ∫ p × u̇_j over the joint's own composite body."""
    zd = (w[1], -w[0], 0.0)
    if link.revolute:
        return Column(add(cross(zd, body.h), cross(Z, body.P)), add(body.inertia(zd), body.carried(Z)))
    return Column(scale(body.m, zd), cross(body.h, zd))


def inertia_derivative(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """Ḃ = C + Cᵀ, since Ḃ − 2C is skew-symmetric, S (7.47)."""
    C = coriolis_matrix(mechanism, q, qd)
    return [[C[i][j] + C[j][i] for j in range(mechanism.n)] for i in range(mechanism.n)]


def christoffel(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[list[Scalar]]]:
    """c_ijk of S (7.45): C is linear in q̇, so c_ij at q̇ = e_k is c_ijk; and c_ijk = c_ikj, (7.46)."""
    n = mechanism.n
    at = [coriolis_matrix(mechanism, q, [1.0 if j == k else 0.0 for j in range(n)]) for k in range(n)]
    return [[[at[max(j, k)][i][min(j, k)] for k in range(n)] for j in range(n)] for i in range(n)]


def torque_derivatives(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """(∂τ/∂q, ∂τ/∂q̇) of S (7.42), without end-effector forces."""
    s = steps(mechanism, q, qd)
    n = len(s.links)
    U, a, f, mu = _motion_and_forces(mechanism, s, qd, qdd)
    dq: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    C: list[list[Scalar]] = [[0.0] * n for _ in range(n)]

    for i, link, body in composites(s, qd):
        w = s.omega[i]
        row = _row(link, body)
        column = _coriolis_column(link, body, w)
        turn = _position_column(link, body, w, U[i], a[i])
        C[i][i] = column.felt_by(link)
        dq[i][i] = turn.felt_by(link)
        # joints before this one also see its force turned (or moved) with it
        turn = _with_force(link, turn, f[i], mu[i])
        _carry(s, i, f, mu, qd, qdd)
        k, j = i, link.parent
        while j >= 0:
            row, column, turn = row.moved(s, k), column.moved(s, k), turn.moved(s, k)
            if k == i and spins(link):
                half = scale(0.5, cross(s.omega[j], spin_of(link)))
                row = Row(row.F, add(row.M, spin_of(link)), add(row.G, half))
                column = Column(column.f, add(column.mu, half))
            earlier = s.links[j]
            C[i][j] = _coriolis_pair(row, earlier, s.omega[j])
            C[j][i] = column.felt_by(earlier)
            dq[i][j] = _position_pair(row, earlier, s.omega[j], U[j], a[j])
            dq[j][i] = turn.felt_by(earlier)
            k, j = j, s.links[j].parent
    dqd = [[2.0 * C[i][j] + (mechanism.bodies[i].viscous if i == j else 0.0) for j in range(n)] for i in range(n)]
    return dq, dqd


def _position_pair(row: Row, earlier: LeanLink, w: Vector, U: Matrix, a: Vector) -> Scalar:
    """Row i with a × z + z̈ × p + 2 ż × ṗ of an earlier joint; z̈ = U z."""
    if earlier.revolute:
        F, M, G = row.F, row.M, row.G
        straight = F[0] * a[1] - F[1] * a[0] + M[0] * U[0][2] + M[1] * U[1][2] + M[2] * U[2][2]
        return straight + 2.0 * (G[0] * w[1] - G[1] * w[0])
    return row.F[0] * U[0][2] + row.F[1] * U[1][2] + row.F[2] * U[2][2]


def _position_column(link: LeanLink, body: Composite, w: Vector, U: Matrix, a: Vector) -> Column:
    """∫ and ∫ p × of the same field over the joint's own composite body."""
    zdd = (U[0][2], U[1][2], U[2][2])
    if not link.revolute:
        return Column(scale(body.m, zdd), cross(body.h, zdd))
    twice = (2.0 * w[1], -(2.0 * w[0]), 0.0)
    push = (a[1], -a[0], 0.0)
    return Column(
        add(scale(body.m, push), cross(zdd, body.h), cross(twice, body.P)),
        add(cross(body.h, push), body.inertia(zdd), body.carried(twice)),
    )


def _with_force(link: LeanLink, column: Column, f: Vector, mu: Vector) -> Column:
    """Plus z × f and z × μ (revolute), or z × f as a moment (prismatic)."""
    if link.revolute:
        return Column(add(column.f, (-f[1], f[0], 0.0)), add(column.mu, (-mu[1], mu[0], 0.0)))
    return Column(column.f, add(column.mu, (-f[1], f[0], 0.0)))


def _carry(s: Steps, i: int, f: list[Vector], mu: list[Vector], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> None:
    """Add link i's f and μ, which are complete, to its parent's."""
    link, j = s.links[i], s.links[i].parent
    if j >= 0:
        seen = Column(f[i], mu[i]).moved(s, i)
        f[j], mu[j] = add(f[j], seen.f), add(mu[j], seen.mu)
        if spins(link):
            spin = spin_of(link)
            mu[j] = add(mu[j], scale(qdd[i], spin), scale(qd[i], cross(s.omega[j], spin)))


def _motion_and_forces(
    mechanism: Mechanism, s: Steps, qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> tuple[list[Matrix], list[Vector], list[Vector], list[Vector]]:
    """U and a of every link, and f, μ of the link alone: the lean recursion's way out."""
    links = s.links
    wd: list[Vector] = []
    U: list[Matrix] = []
    a: list[Vector] = []
    f: list[Vector] = []
    mu: list[Vector] = []
    a_0 = tmatvec(mechanism.base.rotation, sub(ZERO, mechanism.gravity))
    for i, link in enumerate(links):
        j = link.parent
        wd_p, U_p, a_p = (wd[j], U[j], a[j]) if j >= 0 else (ZERO, NULL, a_0)
        w = s.omega[i]
        wd_i = turned_back(*s.turn[i], tmatvec(link.R, wd_p))
        a_i = turned_back(*s.turn[i], tmatvec(link.R, add(a_p, matvec(U_p, link.t))))
        if link.revolute:
            wd_i = (wd_i[0] + qd[i] * w[1], wd_i[1] - qd[i] * w[0], wd_i[2] + qdd[i])
        U_i = acceleration_matrix(w, wd_i)
        a_i = add(a_i, matvec(U_i, s.shift[i]))
        if not link.revolute:
            a_i = add(a_i, (2.0 * qd[i] * w[1], -(2.0 * qd[i] * w[0]), qdd[i]))
        wd.append(wd_i)
        U.append(U_i)
        a.append(a_i)
        f.append(add(scale(link.m, a_i), matvec(U_i, link.h)))
        mu.append(add(cross(link.h, a_i), moment_of(U_i, w, link.Sigma)))
    return U, a, f, mu
