"""Inverse dynamics with the fewest operations: the recursion of S 7.5, written through U and Σ.

With U = S(ω̇) + S(ω)S(ω), a point r of a link accelerates by a + U r. Therefore, with first moments
h = ∫ r dm and second moments Σ = ∫ r rᵀ dm about the frame's origin,

    f = m a + U h                      the force on the link,
    μ = h × a + ax(UΣ − (UΣ)ᵀ)         the moment about the origin, since r × Ur = ax(Ur rᵀ − r rᵀUᵀ).

U is needed for the forces anyway, so the moments come cheaper than through Ī ω̇ + ω × Ī ω. Frames
and inertias are those of :mod:`dalembert.equations.regrouping`; the results equal S (7.107)–(7.114).
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.algebra.linalg import (
    Matrix,
    Scalar,
    Vector,
    add,
    cos,
    cross,
    dot,
    matmul,
    matvec,
    scale,
    sin,
    sub,
    tmatvec,
)
from dalembert.equations.friction import friction
from dalembert.equations.newton_euler import BaseMotion
from dalembert.equations.regrouping import LeanLink, lean_links
from dalembert.robot.mechanism import Mechanism


def turned_back(c: Scalar, s: Scalar, v: Vector) -> Vector:
    """Rot_z(q)ᵀ v"""
    return (c * v[0] + s * v[1], c * v[1] - s * v[0], v[2])


def turned(c: Scalar, s: Scalar, v: Vector) -> Vector:
    """Rot_z(q) v"""
    return (c * v[0] - s * v[1], s * v[0] + c * v[1], v[2])


def acceleration_matrix(w: Vector, wd: Vector) -> Matrix:
    """U = S(ω̇) + S(ω) S(ω)"""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return (
        (-(yy + zz), xy - wd[2], xz + wd[1]),
        (xy + wd[2], -(xx + zz), yz - wd[0]),
        (xz - wd[1], yz + wd[0], -(xx + yy)),
    )


def feels_its_turn(link: LeanLink) -> bool:
    """False for a link that looks the same however its joint is turned."""
    S = link.Sigma
    if not all(isinstance(x, (int, float)) for x in (*S[0], *S[1], *S[2])):
        return True  # traced parameters may be anything
    same = 1e-15 * abs(S[0][0])
    return not (
        link.revolute
        and abs(S[0][0] - S[1][1]) <= same
        and all(x == 0.0 for x in (link.h[0], link.h[1], S[0][1], S[0][2], S[1][2]))
    )


def moment_of(U: Matrix, w: Vector, S: Matrix) -> Vector:
    """ax(UΣ − (UΣ)ᵀ); the differences of U's diagonal are differences of squares of ω."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    return (
        (zz - yy) * S[1][2] + U[2][0] * S[0][1] + U[2][1] * S[1][1] - U[1][0] * S[0][2] - U[1][2] * S[2][2],
        (xx - zz) * S[0][2] + U[0][1] * S[1][2] + U[0][2] * S[2][2] - U[2][0] * S[0][0] - U[2][1] * S[0][1],
        (yy - xx) * S[0][1] + U[1][0] * S[0][0] + U[1][2] * S[0][2] - U[0][1] * S[1][1] - U[0][2] * S[1][2],
    )


def inverse_dynamics(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    h_e: Sequence[Scalar] | None = None,
    base: BaseMotion | None = None,
) -> list[Scalar]:
    """τ of S (7.42), equal to :func:`dalembert.equations.newton_euler.inverse_dynamics`."""
    links = lean_links(mechanism)
    base = base or BaseMotion()
    R_0 = mechanism.base.rotation
    w_0, wd_0 = tmatvec(R_0, base.omega), tmatvec(R_0, base.omega_dot)
    a_0 = tmatvec(R_0, sub(base.acceleration, mechanism.gravity))

    turn: list[tuple[Scalar, Scalar]] = []
    w: list[Vector] = []
    wd: list[Vector] = []
    U: list[Matrix] = []
    a: list[Vector] = []
    f: list[Vector] = []
    mu: list[Vector] = []
    U_0 = acceleration_matrix(w_0, wd_0)
    parents = {link.parent for link in links}
    for i, link in enumerate(links):
        j = link.parent
        w_p, wd_p, U_p, a_p = (w[j], wd[j], U[j], a[j]) if j >= 0 else (w_0, wd_0, U_0, a_0)
        w_i, wd_i = tmatvec(link.R, w_p), tmatvec(link.R, wd_p)
        a_i = tmatvec(link.R, add(a_p, matvec(U_p, link.t)))
        x = q[i] + link.offset
        if link.revolute:
            # the frame of a last link that looks the same from all sides need not turn with it
            turns = i in parents or feels_its_turn(link) or (h_e is not None and i == mechanism.tip_body)
            c, s = (cos(x), sin(x)) if turns else (1.0, 0.0)
            w_i, wd_i, a_i = turned_back(c, s, w_i), turned_back(c, s, wd_i), turned_back(c, s, a_i)
            w_i = (w_i[0], w_i[1], w_i[2] + qd[i])
            wd_i = (wd_i[0] + qd[i] * w_i[1], wd_i[1] - qd[i] * w_i[0], wd_i[2] + qdd[i])
            U_i = acceleration_matrix(w_i, wd_i)
            a_i = add(a_i, scale(link.d, (U_i[0][2], U_i[1][2], U_i[2][2])))
        else:
            c, s = 1.0, 0.0
            U_i = acceleration_matrix(w_i, wd_i)
            two = 2.0 * qd[i]
            # the slide along z: its own acceleration, 2 ω × z ḋ, and the new distance x from the joint
            a_i = add(a_i, (two * w_i[1], -(two * w_i[0]), qdd[i]), scale(x, (U_i[0][2], U_i[1][2], U_i[2][2])))
        turn.append((c, s))
        w.append(w_i)
        wd.append(wd_i)
        U.append(U_i)
        a.append(a_i)
        # taken here, while U and a are at hand, so that the way back needs only f and μ
        f.append(add(scale(link.m, a_i), matvec(U_i, link.h)))
        mu.append(add(cross(link.h, a_i), moment_of(U_i, w_i, link.Sigma)))

    if h_e is not None and mechanism.tip_body >= 0:
        load_tip(mechanism, links, turn, q, h_e, f, mu)
    tau: list[Scalar] = [0.0] * len(links)
    for i in reversed(range(len(links))):
        link, body = links[i], mechanism.bodies[i]
        torque = mu[i][2] if link.revolute else f[i][2]
        j, k, I_m, z_m = link.parent, link.gear, link.rotor_inertia, link.rotor_axis
        if body.has_rotor:
            if link.reflected:
                torque = torque + k * k * I_m * qdd[i]
            else:
                torque = torque + k * I_m * (dot(wd[j] if j >= 0 else wd_0, z_m) + k * qdd[i])
        tau[i] = torque + friction(body, qd[i])
        if j >= 0:
            shift = link.d if link.revolute else q[i] + link.offset
            f_i, mu_i = f[i], mu[i]
            # about the joint instead of the link's frame, which lies ``shift`` further along z
            mu_i = (mu_i[0] - shift * f_i[1], mu_i[1] + shift * f_i[0], mu_i[2])
            f_j = matvec(link.R, turned(*turn[i], f_i))
            f[j] = add(f[j], f_j)
            mu[j] = add(mu[j], matvec(link.R, turned(*turn[i], mu_i)), cross(link.t, f_j))
            if body.has_rotor and not link.reflected:
                mu[j] = add(mu[j], scale(k * I_m, add(scale(qdd[i], z_m), scale(qd[i], cross(w[j], z_m)))))
    return tau


def load_tip(
    mechanism: Mechanism,
    links: list[LeanLink],
    turn: list[tuple[Scalar, Scalar]],
    q: Sequence[Scalar],
    h_e: Sequence[Scalar],
    f: list[Vector],
    mu: list[Vector],
) -> None:
    """The end effector's wrench, given in base axes at the tip, on the link that holds the tip."""
    R: Matrix = mechanism.base.rotation
    for i in mechanism.path(mechanism.tip_body):
        c, s = turn[i]
        R = matmul(matmul(R, links[i].R), ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))
    k = mechanism.tip_body
    tip = links[k].frame.inverse.point(mechanism.tip.translation)
    f_tip = tmatvec(R, tuple(h_e[:3]))
    f[k] = add(f[k], f_tip)
    mu[k] = add(mu[k], tmatvec(R, tuple(h_e[3:])), cross(tip, f_tip))
