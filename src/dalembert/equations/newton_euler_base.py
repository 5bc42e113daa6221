"""Newton–Euler inverse dynamics with everything in base coordinates: M Table 1.

M's frame i−1 is the joint's own frame on the parent link, at p_{i−1}; where that stands away from
the parent's frame by t_i, its acceleration follows as that of any point of the link. In a tree the
terms of link i+1 are sums over all links that link i carries. M has no rotors: augmented links carry
them standing still, and S (7.103), (7.105), (7.106) give what their spin adds, in base axes too.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.algebra.linalg import (
    ZERO,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    matmul,
    matvec,
    scale,
    sub,
    transpose,
)
from dalembert.equations.friction import friction
from dalembert.equations.kinematics import frames
from dalembert.equations.newton_euler import BaseMotion
from dalembert.robot.mechanism import Mechanism


def inverse_dynamics(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    h_e: Sequence[Scalar] | None = None,
    base: BaseMotion | None = None,
) -> list[Scalar]:
    """τ by the recursion of M Table 1; ``h_e`` is f_{n+1}, n_{n+1} at the tip."""
    bodies = mechanism.bodies
    n = len(bodies)
    base = base or BaseMotion()
    F = frames(mechanism, q)
    z = F.z

    # initial conditions: v̇_0 is the base's acceleration less g_0, so that gravity acts through it
    omega_0, omega_dot_0, v_dot_0 = base.omega, base.omega_dot, sub(base.acceleration, mechanism.gravity)
    omega: list[Vector] = []
    omega_dot: list[Vector] = []
    v_dot: list[Vector] = []
    a_bar: list[Vector] = []
    omega_dot_m: list[Vector] = []
    z_m: list[Vector] = []
    t: list[Vector] = []
    p_star: list[Vector] = []
    s_bar: list[Vector] = []

    # forward equations
    for i, body in enumerate(bodies):
        j = body.parent
        w, wd, vd = (omega[j], omega_dot[j], v_dot[j]) if j >= 0 else (omega_0, omega_dot_0, v_dot_0)
        R_j, p_j = (F.R[j], F.p[j]) if j >= 0 else (mechanism.base.rotation, mechanism.base.translation)
        t.append(sub(F.p_joint[i], p_j))  # from the parent's frame to frame i−1
        p_star.append(sub(F.p[i], F.p_joint[i]))  # from frame i−1 to frame i
        s_bar.append(matvec(F.R[i], body.inertia.com))
        vd = add(vd, cross(wd, t[i]), cross(w, cross(w, t[i])))
        if body.revolute:
            w_i = add(w, scale(qd[i], z[i]))
            wd_i = add(wd, scale(qdd[i], z[i]), cross(w, scale(qd[i], z[i])))
            vd_i = add(cross(wd_i, p_star[i]), cross(w_i, cross(w_i, p_star[i])), vd)
        else:
            w_i = w
            wd_i = wd
            vd_i = add(
                scale(qdd[i], z[i]),
                cross(wd_i, p_star[i]),
                cross(scale(2.0, w_i), scale(qd[i], z[i])),
                cross(w_i, cross(w_i, p_star[i])),
                vd,
            )
        omega.append(w_i)
        omega_dot.append(wd_i)
        v_dot.append(vd_i)
        a_bar.append(add(cross(wd_i, s_bar[i]), cross(w_i, cross(w_i, s_bar[i])), vd_i))
        k = body.gear
        z_m.append(matvec(R_j, body.rotor_axis))
        omega_dot_m.append(add(wd, scale(k * qdd[i], z_m[i]), scale(k * qd[i], cross(w, z_m[i]))))  # S (7.103)

    # what link i+1 hands down: f_{i+1}, and n_{i+1} moved to the origin of frame i
    f_next: list[Vector] = [ZERO] * n
    n_next: list[Vector] = [ZERO] * n
    if h_e is not None and mechanism.tip_body >= 0:
        e = mechanism.tip_body
        f_tip, n_tip = (h_e[0], h_e[1], h_e[2]), (h_e[3], h_e[4], h_e[5])
        f_next[e] = f_tip
        n_next[e] = add(n_tip, cross(sub(F.p_tip, F.p[e]), f_tip))

    # backward equations
    tau: list[Scalar] = [0.0] * n
    for i in reversed(range(n)):
        body = bodies[i]
        I_i = matmul(matmul(F.R[i], body.inertia.tensor), transpose(F.R[i]))
        F_i = scale(body.inertia.mass, a_bar[i])
        M_i = add(matvec(I_i, omega_dot[i]), cross(omega[i], matvec(I_i, omega[i])))
        f_i = add(F_i, f_next[i])
        n_i = add(n_next[i], cross(p_star[i], f_next[i]), cross(add(p_star[i], s_bar[i]), F_i), M_i)
        tau[i] = dot(n_i if body.revolute else f_i, z[i]) + friction(body, qd[i])
        k, I_m = body.gear, body.rotor_inertia
        if body.has_rotor:  # S (7.106)
            tau[i] = tau[i] + (k * k * I_m * qdd[i] if body.reflected else k * I_m * dot(omega_dot_m[i], z_m[i]))
        j = body.parent
        if j >= 0:
            f_next[j] = add(f_next[j], f_i)
            n_next[j] = add(n_next[j], n_i, cross(t[i], f_i))
            if body.has_rotor and not body.reflected:  # S (7.105), last two terms
                spin = add(scale(k * qdd[i] * I_m, z_m[i]), scale(k * qd[i] * I_m, cross(omega[j], z_m[i])))
                n_next[j] = add(n_next[j], spin)
    return tau
