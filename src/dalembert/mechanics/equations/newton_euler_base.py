"""Newton–Euler inverse dynamics with everything in base coordinates: M Table 1.

M's frame i−1 is the joint's own frame on the parent link, at p_{i−1}; if that is displaced from
the parent's frame by t_i, its acceleration follows as for any point of the link. In a tree the
terms of link i+1 are sums over all links that link i carries. M has no rotors: augmented links carry
them as if fixed, and S (7.103), (7.105), (7.106) give the contribution of their spin, here in base axes.
"""

from __future__ import annotations

from collections.abc import Mapping

from dalembert.base.algebra.scalars import Scalar, Values
from dalembert.base.algebra.vectors import ZERO, Vec, VecLike
from dalembert.mechanics.equations.friction import friction
from dalembert.mechanics.equations.kinematics import frames
from dalembert.mechanics.equations.newton_euler import BaseMotion, Recursion
from dalembert.robot.model.mechanism import Mechanism


def newton_euler_base(
    mechanism: Mechanism,
    q: Values,
    qd: Values,
    qdd: Values,
    h_e: Values | None = None,
    base: BaseMotion | None = None,
    loads: Mapping[int, tuple[VecLike, VecLike]] | None = None,
) -> Recursion:
    """The recursion of M Table 1, S (7.93)–(7.106); ``h_e`` is f_{n+1}, n_{n+1} at the tip.

    ``loads`` are the wrenches that links exert on other bodies: force, and moment about the origin of frame i, in base
    axes.
    """
    bodies, n = mechanism.bodies, mechanism.n
    base = base or BaseMotion()
    at = frames(mechanism, q)
    z = at.z

    # initial conditions: v̇_0 is the base's acceleration minus g_0, so that gravity acts through it
    omega, omega_dot, v_dot = {-1: base.omega}, {-1: base.omega_dot}, {-1: base.felt(mechanism)}
    R, p = (
        {-1: mechanism.base.rotation, **dict(enumerate(at.R))},
        {-1: mechanism.base.translation, **dict(enumerate(at.p))},
    )
    a_bar: dict[int, Vec] = {}
    omega_dot_m: dict[int, Vec] = {}
    z_m: dict[int, Vec] = {}
    t: dict[int, Vec] = {}
    p_star: dict[int, Vec] = {}
    s_bar: dict[int, Vec] = {}

    # forward equations
    for i, body in enumerate(bodies):
        j, k = body.parent, body.gear
        t[i] = at.p_joint[i] - p[j]  # from the parent's frame to frame i−1
        p_star[i] = p[i] - at.p_joint[i]  # from frame i−1 to frame i
        s_bar[i] = R[i] @ body.inertia.com
        vd = v_dot[j] + omega_dot[j].cross(t[i]) + omega[j].cross(omega[j].cross(t[i]))
        if body.revolute:
            omega[i] = omega[j] + qd[i] * z[i]
            omega_dot[i] = omega_dot[j] + qdd[i] * z[i] + omega[j].cross(qd[i] * z[i])
            v_dot[i] = omega_dot[i].cross(p_star[i]) + omega[i].cross(omega[i].cross(p_star[i])) + vd
        else:
            omega[i] = omega[j]
            omega_dot[i] = omega_dot[j]
            v_dot[i] = (
                qdd[i] * z[i]
                + omega_dot[i].cross(p_star[i])
                + (2.0 * omega[i]).cross(qd[i] * z[i])
                + omega[i].cross(omega[i].cross(p_star[i]))
                + vd
            )
        a_bar[i] = omega_dot[i].cross(s_bar[i]) + omega[i].cross(omega[i].cross(s_bar[i])) + v_dot[i]
        z_m[i] = R[j] @ body.rotor_axis
        omega_dot_m[i] = omega_dot[j] + k * qdd[i] * z_m[i] + k * qd[i] * omega[j].cross(z_m[i])  # S (7.103)

    # the contribution of link i+1: f_{i+1}, and n_{i+1} moved to the origin of frame i
    f_next, n_next = [ZERO] * n, [ZERO] * n
    for e, place, f_e, n_e in mechanism.exerted(h_e):
        f_next[e], n_next[e] = f_next[e] + f_e, n_next[e] + n_e + (R[e] @ place.translation).cross(f_e)

    for e, (f_load, n_load) in (loads or {}).items():
        f_next[e], n_next[e] = f_next[e] + f_load, n_next[e] + n_load

    if mechanism.lifts:  # the carrier of a weight pulls the link up, and the link pulls it down
        for i, body in enumerate(bodies):
            weight = body.lifted.mass * mechanism.gravity
            f_next[i], n_next[i] = f_next[i] + weight, n_next[i] + (R[i] @ body.lifted.com).cross(weight)

    # backward equations
    F, M, f, mu, tau = [ZERO] * n, [ZERO] * n, [ZERO] * n, [ZERO] * n, [0.0] * n  # μ_i is M's n_i
    for i in reversed(range(n)):
        body = bodies[i]
        j, k, I_m = body.parent, body.gear, body.rotor_inertia
        I_i = R[i] @ body.inertia.tensor @ R[i].T
        F[i] = body.inertia.mass * a_bar[i]
        M[i] = I_i @ omega_dot[i] + omega[i].cross(I_i @ omega[i])
        f[i] = F[i] + f_next[i]
        mu[i] = n_next[i] + p_star[i].cross(f_next[i]) + (p_star[i] + s_bar[i]).cross(F[i]) + M[i]
        tau[i] = (mu[i] if body.revolute else f[i]).dot(z[i])
        if body.has_rotor:  # S (7.106)
            tau[i] = tau[i] + (k * k * I_m * qdd[i] if body.reflected else k * I_m * omega_dot_m[i].dot(z_m[i]))
        tau[i] = tau[i] + friction(body, q[i], qd[i], tau[i])
        if j >= 0:
            f_next[j] = f_next[j] + f[i]
            n_next[j] = n_next[j] + mu[i] + t[i].cross(f[i])
            if body.has_rotor and not body.reflected:  # S (7.105), last two terms
                n_next[j] = n_next[j] + (k * qdd[i] * I_m * z_m[i] + k * qd[i] * I_m * omega[j].cross(z_m[i]))
    return Recursion(omega, omega_dot, v_dot, a_bar, omega_dot_m, F, M, f, mu, tau)


def inverse_dynamics(
    mechanism: Mechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None = None, base: BaseMotion | None = None
) -> list[Scalar]:
    """τ of S (7.42), by the recursion in base axes."""
    return newton_euler_base(mechanism, q, qd, qdd, h_e, base).tau
