"""Inverse dynamics with the fewest operations: the recursion of S 7.5, written through U and Σ.

With U = S(ω̇) + S(ω)S(ω), a point r of a link accelerates by a + U r. Therefore, with first moments
h = ∫ r dm and second moments Σ = ∫ r rᵀ dm about the frame's origin,

    f = m a + U h                      the force on the link,
    μ = h × a + ax(UΣ − (UΣ)ᵀ)         the moment about the origin, since r × Ur = ax(Ur rᵀ − r rᵀUᵀ).

U is needed for the forces anyway, so the moments come cheaper than through Ī ω̇ + ω × Ī ω. Frames
and inertias are those of :mod:`dalembert.mechanics.equations.regrouping`; the results equal S (7.107)–(7.114).
"""

from __future__ import annotations

from dalembert.base.algebra.scalars import Scalar, Values, cos, sin
from dalembert.base.algebra.vectors import Mat, RotZ, Vec
from dalembert.mechanics.equations.friction import friction
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.mechanics.equations.regrouping import LeanLink, lean_links
from dalembert.robot.model.mechanism import Mechanism


def acceleration_matrix(w: Vec, wd: Vec) -> Mat:
    """U = S(ω̇) + S(ω) S(ω)"""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return Mat.of((
        (-(yy + zz), xy - wd[2], xz + wd[1]),
        (xy + wd[2], -(xx + zz), yz - wd[0]),
        (xz - wd[1], yz + wd[0], -(xx + yy)),
    ))  # fmt: skip


def affected_by_own_rotation(link: LeanLink) -> bool:
    """False for a link that is symmetric about its joint's axis."""
    S = link.Sigma
    if not all(isinstance(x, (int, float)) for x in (*S[0], *S[1], *S[2])):
        return True  # traced parameters may have any value
    same = 1e-15 * abs(S[0][0])
    return not (
        link.revolute
        and abs(S[0][0] - S[1][1]) <= same
        and all(x == 0.0 for x in (link.h[0], link.h[1], S[0][1], S[0][2], S[1][2]))
    )


def moment_of(U: Mat, w: Vec, S: Mat, w_r: Vec | None = None) -> Vec:
    """ax(UΣ − (UΣ)ᵀ); the differences of U's diagonal are differences of squares of ω, or of products with ω_r."""
    xx, yy, zz = (x * y for x, y in zip(w, w_r or w, strict=True))
    return Vec((
        (zz - yy) * S[1][2] + U[2][0] * S[0][1] + U[2][1] * S[1][1] - U[1][0] * S[0][2] - U[1][2] * S[2][2],
        (xx - zz) * S[0][2] + U[0][1] * S[1][2] + U[0][2] * S[2][2] - U[2][0] * S[0][0] - U[2][1] * S[0][1],
        (yy - xx) * S[0][1] + U[1][0] * S[0][0] + U[1][2] * S[0][2] - U[0][1] * S[1][1] - U[0][2] * S[1][2],
    ))  # fmt: skip


def inverse_dynamics(
    mechanism: Mechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None = None, base: BaseMotion | None = None
) -> list[Scalar]:
    """τ of S (7.42), equal to :func:`dalembert.mechanics.equations.newton_euler.inverse_dynamics`."""
    links, bodies = lean_links(mechanism), mechanism.bodies
    pressing = {body for body, *_ in mechanism.exerted(h_e)}
    base = base or BaseMotion()
    R_0 = mechanism.base.rotation
    w, wd = {-1: R_0.T @ base.omega}, {-1: R_0.T @ base.omega_dot}
    a = {-1: R_0.T @ base.felt(mechanism)}
    U = {-1: acceleration_matrix(w[-1], wd[-1])}
    turn: list[RotZ] = []
    f: list[Vec] = []
    mu: list[Vec] = []
    parents = {link.parent for link in links}
    for i, link in enumerate(links):
        j, R = link.parent, link.R
        w_i, wd_i = R.T @ w[j], R.T @ wd[j]
        a_i = R.T @ (a[j] + U[j] @ link.t)
        x = q[i] + link.offset
        if link.revolute:
            # the frame of a last link that is symmetric about its axis need not rotate with it
            turns = i in parents or affected_by_own_rotation(link) or i in pressing
            turn.append(RotZ(cos(x), sin(x)) if turns else RotZ(1.0, 0.0))
            w_i, wd_i, a_i = turn[i].back(w_i), turn[i].back(wd_i), turn[i].back(a_i)
            w[i] = Vec((w_i[0], w_i[1], w_i[2] + qd[i]))
            wd[i] = Vec((wd_i[0] + qd[i] * w_i[1], wd_i[1] - qd[i] * w_i[0], wd_i[2] + qdd[i]))
            U[i] = acceleration_matrix(w[i], wd[i])
            a[i] = a_i + link.d * U[i].T[2]
        else:
            turn.append(RotZ(1.0, 0.0))
            w[i], wd[i], U[i] = w_i, wd_i, acceleration_matrix(w_i, wd_i)
            # the displacement along z: its own acceleration, 2 ω × z ḋ, and the new distance x from the joint
            two = 2.0 * qd[i]
            slide, along = Vec((two * w_i[1], -(two * w_i[0]), qdd[i])), x * U[i].T[2]
            a[i] = a_i + slide + along
        # computed here, while U and a are available, so that the inward pass needs only f and μ
        f.append(link.m * a[i] + U[i] @ link.h)
        mu.append(link.h.cross(a[i]) + moment_of(U[i], w[i], link.Sigma))

    add_contacts(mechanism, links, turn, h_e, f, mu)
    tau: list[Scalar] = [0.0] * mechanism.n
    lift = lifting(mechanism, q) if mechanism.lifts else []
    for i in reversed(range(mechanism.n)):
        link, body = links[i], bodies[i]
        j, k, I_m, z_m = link.parent, link.gear, link.rotor_inertia, link.rotor_axis
        torque = mu[i][2] if link.revolute else f[i][2]
        if body.has_rotor:
            torque = torque + (k * k * I_m * qdd[i] if link.reflected else k * I_m * (wd[j].dot(z_m) + k * qdd[i]))
        if lift:
            torque = torque - lift[i]
        tau[i] = torque + friction(body, q[i], qd[i], torque)
        if j >= 0:
            pass_on(link, turn[i], q[i], i, f, mu)
            if body.has_rotor and not link.reflected:
                mu[j] = mu[j] + k * I_m * (qdd[i] * z_m + qd[i] * w[j].cross(z_m))
    return tau


def pass_on(link: LeanLink, turn: RotZ, q: Scalar, i: int, f: list[Vec], mu: list[Vec]) -> None:
    """Add f_i and μ_i to those of the link that carries link i, about the origin of its frame and in its axes."""
    # about the joint instead of the link's frame, which is ``shift`` further along z
    j, shift = link.parent, link.d if link.revolute else q + link.offset
    at_joint = Vec((mu[i][0] - shift * f[i][1], mu[i][1] + shift * f[i][0], mu[i][2]))
    f_j = link.R @ (turn @ f[i])
    f[j] = f[j] + f_j
    mu_j, lever = link.R @ (turn @ at_joint), link.t.cross(f_j)
    mu[j] = mu[j] + mu_j + lever


def lifting(mechanism: Mechanism, q: Values) -> list[Scalar]:
    """The torques saved because weight is carried (:attr:`Link.weight`): those that would hold it at rest."""
    rest = [0.0] * mechanism.n
    return inverse_dynamics(mechanism.lifted, q, rest, rest)


def add_contacts(
    mechanism: Mechanism, links: list[LeanLink], turn: list[RotZ], h_e: Values | None, f: list[Vec], mu: list[Vec]
) -> None:
    """Add the wrenches on the environment, given in base axes, to the links that exert them."""
    for k, place, f_e, mu_e in mechanism.exerted(h_e):
        R = mechanism.base.rotation
        for i in mechanism.path(k):
            R = R @ links[i].R @ turn[i].matrix
        at = links[k].frame.inverse.point(place.translation)
        f_k, mu_k = R.T @ f_e, R.T @ mu_e
        f[k] = f[k] + f_k
        mu[k] = mu[k] + mu_k + at.cross(f_k)
