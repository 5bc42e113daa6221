"""The regressor Y of S (7.81): τ = Y(q, q̇, q̈) π, linear in the dynamic parameters of S (7.77).

The parameters of joint i are, in this order,

    m_i, m_i ℓ_x, m_i ℓ_y, m_i ℓ_z, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz, I_mi, F_vi, F_si

for the augmented link i: mass, first moments (7.72), inertia tensor about the origin of frame i
(7.73) with the tensor's own entries (S writes I_xy for minus the entry), and the rotor that drives
joint i, with its full coupling k_r I_m.

A link with mass m, first moments h and tensor I accelerates by a at its origin, with U = S(ω̇) +
S(ω)S(ω). Joint j moves its origin by v_j and turns it by z_j, so that by virtual work

    τ_j = v_jᵀ (m a + U h) + z_jᵀ (h × a + I ω̇ + ω × I ω).
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.algebra.linalg import (
    NULL,
    ZERO,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    matvec,
    scale,
    sgn,
    sub,
    tmatvec,
)
from dalembert.equations.kinematics import joint_motion
from dalembert.equations.lean_newton_euler import acceleration_matrix
from dalembert.robot.mechanism import Mechanism

INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
PARAMETERS = (*INERTIAL, "Im", "Fv", "Fs")  # of one joint, in the order of Y's columns


def parameters(mechanism: Mechanism) -> list[Scalar]:
    """π of S (7.81), joint after joint."""
    values: list[Scalar] = []
    for body in mechanism.bodies:
        I, h = body.inertia.tensor_at_origin, body.inertia.first_moments
        values += [body.inertia.mass, *h, I[0][0], I[0][1], I[0][2], I[1][1], I[1][2], I[2][2]]
        values += [body.rotor_inertia, body.viscous, 0.5 * (body.coulomb[0] + body.coulomb[1])]
    return values


def regressor(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> list[list[Scalar]]:
    """Y(q, q̇, q̈), n rows; block-triangular for a chain as in S (7.80)."""
    n, width = mechanism.n, len(PARAMETERS)
    Y: list[list[Scalar]] = [[0.0] * (n * width) for _ in range(n)]
    w: list[Vector] = []
    wd: list[Vector] = []
    U: list[Matrix] = []
    a: list[Vector] = []
    moves: list[dict[int, tuple[Vector, Vector]]] = []  # joint j → (z_j, v_j) in the axes of link i
    a_0 = tmatvec(mechanism.base.rotation, sub(ZERO, mechanism.gravity))
    for i, body in enumerate(mechanism.bodies):
        p, column = body.parent, i * width
        w_p, wd_p, U_p, a_p, moves_p = (w[p], wd[p], U[p], a[p], moves[p]) if p >= 0 else (ZERO, ZERO, NULL, a_0, {})
        P, t = body.placement.rotation, body.placement.translation
        motion = joint_motion(body, q[i])

        def into(v: Vector, P: Matrix = P, R: Matrix = motion.R) -> Vector:
            return tmatvec(R, tmatvec(P, v))

        # the motion of link i, S (7.107)–(7.109), with ω̇ × r + ω × (ω × r) written U r
        z_i = tmatvec(motion.R, body.axis)
        w_i, wd_i = into(w_p), into(wd_p)
        if body.revolute:
            w_i = add(w_i, scale(qd[i], z_i))
            wd_i = add(wd_i, scale(qdd[i], z_i), scale(qd[i], cross(w_i, z_i)))
        U_i = acceleration_matrix(w_i, wd_i)
        a_i = add(into(add(a_p, matvec(U_p, t))), matvec(U_i, motion.r))
        if not body.revolute:
            a_i = add(a_i, scale(qdd[i], z_i), scale(2.0 * qd[i], cross(w_i, z_i)))

        # how every joint up to i moves link i
        here = {}
        for j, (z, v) in moves_p.items():
            turned = into(z)
            here[j] = (turned, add(into(add(v, cross(z, t))), cross(turned, motion.r)))
        here[i] = (z_i, cross(z_i, motion.r)) if body.revolute else (ZERO, z_i)

        for j, (z, v) in here.items():
            Y[j][column : column + 10] = _link_columns(z, v, w_i, wd_i, U_i, a_i)

        # the rotor of joint i on the parent link, S (7.111), (7.113), (7.114)
        k, z_m = body.gear, body.rotor_axis
        Y[i][column + 10] = k * k * qdd[i]
        if not body.reflected:
            Y[i][column + 10] = Y[i][column + 10] + k * dot(wd_p, z_m)
            spin = add(scale(k * qdd[i], z_m), scale(k * qd[i], cross(w_p, z_m)))
            for j, (z, _) in moves_p.items():
                Y[j][column + 10] = dot(z, spin)
        Y[i][column + 11], Y[i][column + 12] = qd[i], sgn(qd[i])
        w.append(w_i)
        wd.append(wd_i)
        U.append(U_i)
        a.append(a_i)
        moves.append(here)
    return Y


def _link_columns(z: Vector, v: Vector, w: Vector, wd: Vector, U: Matrix, a: Vector) -> list[Scalar]:
    """What the ten parameters of a link bring to a joint that moves it by (z, v)."""
    h = add(tmatvec(U, v), cross(a, z))
    y = cross(z, w)  # zᵀ (ω × Iω) = (z × ω)ᵀ I ω
    return [
        dot(v, a),
        *h,
        wd[0] * z[0] + y[0] * w[0],
        wd[0] * z[1] + wd[1] * z[0] + y[0] * w[1] + y[1] * w[0],
        wd[0] * z[2] + wd[2] * z[0] + y[0] * w[2] + y[2] * w[0],
        wd[1] * z[1] + y[1] * w[1],
        wd[1] * z[2] + wd[2] * z[1] + y[1] * w[2] + y[2] * w[1],
        wd[2] * z[2] + y[2] * w[2],
    ]
