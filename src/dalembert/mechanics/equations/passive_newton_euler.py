"""B(q) q̈_r + C(q, q̇) q̇_r + g(q) + f(q, q̇_r) by one recursion, with the C of S (7.44), (7.45) and without forming it.

Controllers that are based on the skew-symmetry of Ḃ − 2C, S (7.48), need C times a velocity q̇_r that is not the arm's
own. The recursion of S 7.5 gives only C(q, q̇) q̇, for which any C will do; here it must be that of Christoffel
symbols.

**Links.** Joint j moves a point p of the arm by u_j = ∂p/∂q_j, and B = ∫ u_i·u_j dm, S (7.31). Therefore (7.45) reads
c_ijk = ∫ u_i · ∂u_j/∂q_k dm, and with v_r = Σ_j u_j q̇_rj, the velocity that p would have if the joints moved with q̇_r,

    (B q̈_r + C q̇_r)_i = ∫ u_i · Σ_j (u_j q̈_rj + u̇_j q̇_rj) dm = ∫ u_i · v̇_r dm,

where v̇_r is the rate of v_r while the arm moves with q̇. That is Newton's law with v̇_r for the acceleration. The points r
of a link have v_r = v_r(O) + ω_r × r with ṙ = ω × r, so that

    v̇_r = a_r + U_r r,    U_r = S(ω̇_r) + S(ω_r) S(ω),    f = m a_r + U_r h,    μ = h × a_r + ax(U_r Σ − (U_r Σ)ᵀ),

as in :mod:`lean_newton_euler` with one ω of each product replaced. Differentiating S (7.93), (7.94) for q̇_r along q̇,

    ω̇_r,i = ω̇_r,j + q̈_r z + q̇_r ω_j × z                                        revolute, cf. (7.108),
    a_r,i = a_r,j + U_r (t + x z) + q̈_r z + q̇_r ω × z + q̇ ω_r × z               prismatic, cf. (7.109).

**Rotors.** A rotor rotates by k_r q_i about z_m relative to the link that carries it, and is included in that link as
if fixed. Its spin adds to f and μ of (7.111)–(7.114), with s = k_r I_m z_m, q̈ s + q̇ ω × s on the link and s·ω̇ + k_r²
I_m q̈ at the joint. C q̇_r is symmetric in q̇ and q̇_r, S (7.46), so the quadratic terms become their polar forms:

    μ_j += q̈_r s + ½ (q̇_r ω_j × s + q̇ ω_r,j × s),    τ_i += s·(ω̇_r,j + ½ ω_r,j × ω_j) + k_r² I_m q̈_r.

**Friction** is evaluated at the velocity q̇_r: f(q̇_r) − f(q̇) and q̇_r − q̇ have the same sign if friction grows with
the speed (viscous, Coulomb), so it damps the controlled motion instead of being cancelled by a measured velocity. For
q̇_r = q̇ and q̈_r = q̈ the result is τ of S (7.42).
"""

from __future__ import annotations

from dalembert.base.algebra.scalars import Scalar, Values, cos, sin
from dalembert.base.algebra.vectors import NULL, ZERO, Mat, RotZ, Vec
from dalembert.mechanics.equations.friction import friction
from dalembert.mechanics.equations.lean_newton_euler import affected_by_own_rotation, lifting, moment_of, pass_on
from dalembert.mechanics.equations.regrouping import lean_links
from dalembert.robot.model.mechanism import Mechanism


def reference_matrix(w: Vec, w_r: Vec, wd_r: Vec) -> Mat:
    """U_r = S(ω̇_r) + S(ω_r) S(ω), where S(ω_r) S(ω) = ω ω_rᵀ − (ω·ω_r) 1."""
    xx, yy, zz = w[0] * w_r[0], w[1] * w_r[1], w[2] * w_r[2]
    return Mat.of((
        (-(yy + zz), w[0] * w_r[1] - wd_r[2], w[0] * w_r[2] + wd_r[1]),
        (w[1] * w_r[0] + wd_r[2], -(xx + zz), w[1] * w_r[2] - wd_r[0]),
        (w[2] * w_r[0] - wd_r[1], w[2] * w_r[1] + wd_r[0], -(xx + yy)),
    ))  # fmt: skip


def reference_torque(mechanism: Mechanism, q: Values, qd: Values, qd_r: Values, qdd_r: Values) -> list[Scalar]:
    """B(q) q̈_r + C(q, q̇) q̇_r + g(q) + f(q, q̇_r), in the lean frames."""
    links, bodies = lean_links(mechanism), mechanism.bodies
    w, w_r, wd_r, U_r = {-1: ZERO}, {-1: ZERO}, {-1: ZERO}, {-1: NULL}
    a_r = {-1: mechanism.base.rotation.T @ (ZERO - mechanism.gravity)}
    turn: list[RotZ] = []
    f: list[Vec] = []
    mu: list[Vec] = []
    parents = {link.parent for link in links}
    for i, link in enumerate(links):
        j, R, x = link.parent, link.R, q[i] + link.offset
        turns = link.revolute and (i in parents or affected_by_own_rotation(link))
        turn.append(RotZ(cos(x), sin(x)) if turns else RotZ(1.0, 0.0))
        w_i, wr_i, wd_i = (turn[i].back(R.T @ v) for v in (w[j], w_r[j], wd_r[j]))
        a_i = turn[i].back(R.T @ (a_r[j] + U_r[j] @ link.t))
        if link.revolute:
            w[i] = Vec((w_i[0], w_i[1], w_i[2] + qd[i]))
            w_r[i] = Vec((wr_i[0], wr_i[1], wr_i[2] + qd_r[i]))
            wd_r[i] = Vec((wd_i[0] + qd_r[i] * w_i[1], wd_i[1] - qd_r[i] * w_i[0], wd_i[2] + qdd_r[i]))
            U_r[i] = reference_matrix(w[i], w_r[i], wd_r[i])
            a_r[i] = a_i + link.d * U_r[i].T[2]
        else:
            w[i], w_r[i], wd_r[i] = w_i, wr_i, wd_i
            U_r[i] = reference_matrix(w_i, wr_i, wd_i)
            # the displacement along z: q̈_r z + q̇_r ω × z + q̇ ω_r × z, and the new distance x from the joint
            across = qd_r[i] * w_i[1] + qd[i] * wr_i[1], -(qd_r[i] * w_i[0] + qd[i] * wr_i[0])
            a_r[i] = a_i + Vec((*across, qdd_r[i])) + x * U_r[i].T[2]
        f.append(link.m * a_r[i] + U_r[i] @ link.h)
        mu.append(link.h.cross(a_r[i]) + moment_of(U_r[i], w[i], link.Sigma, w_r[i]))

    tau: list[Scalar] = [0.0] * mechanism.n
    lift = lifting(mechanism, q) if mechanism.lifts else []
    for i in reversed(range(mechanism.n)):
        link, body = links[i], bodies[i]
        j, s = link.parent, link.spin
        spins = body.has_rotor and not link.reflected
        gyro = w[j].cross(s) if spins else ZERO
        torque = mu[i][2] if link.revolute else f[i][2]
        if body.has_rotor:
            torque = torque + link.own_rotor * qdd_r[i]
        if spins:
            torque = torque + (s.dot(wd_r[j]) + 0.5 * w_r[j].dot(gyro))  # s·(ω_r × ω) = ω_r·(ω × s)
        if lift:
            torque = torque - lift[i]
        tau[i] = torque + friction(body, q[i], qd_r[i], torque)
        if j >= 0:
            pass_on(link, turn[i], q[i], i, f, mu)
            if spins:
                mu[j] = mu[j] + (qdd_r[i] * s + 0.5 * (qd_r[i] * gyro + qd[i] * w_r[j].cross(s)))
    return tau
