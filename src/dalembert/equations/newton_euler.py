"""Newton–Euler inverse dynamics in link coordinates: S (7.107)–(7.114), M Table 2.

Every quantity is in the axes of its own link. What S writes for a chain holds for a tree when the
sums over Link i+1 run over all links that Link i carries. Frame i−1 of joint i is the joint's own
frame on the parent link; where that stands away from the parent's link frame, its acceleration
follows from (7.102), as that of any point of the link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dalembert.algebra.linalg import (
    ZERO,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    matmul,
    matvec,
    neg,
    scale,
    sub,
    tmatvec,
)
from dalembert.equations.friction import friction
from dalembert.equations.kinematics import joint_motion
from dalembert.robot.mechanism import Mechanism


@dataclass(frozen=True)
class BaseMotion:
    """How the base moves, in base axes: ω_0, ω̇_0 and p̈_0."""

    omega: Vector = ZERO
    omega_dot: Vector = ZERO
    acceleration: Vector = ZERO


@dataclass
class Recursion:
    """What the recursion computes for every link, for reading and for checking step by step."""

    omega: list[Vector]
    omega_dot: list[Vector]
    p_ddot: list[Vector]
    p_ddot_C: list[Vector]
    omega_dot_m: list[Vector]
    f: list[Vector]
    mu: list[Vector]
    tau: list[Scalar]


def newton_euler(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    h_e: Sequence[Scalar] | None = None,
    base: BaseMotion | None = None,
    with_friction: bool = True,
    loads: Mapping[int, tuple[Vector, Vector]] | None = None,
) -> Recursion:
    """The recursive algorithm of S 7.5.2.

    ``h_e`` is [f, μ] exerted by the end effector on the environment, in base axes, at the tip.
    f_i and μ_i are the force and the moment (about the origin of frame i−1) that Link i−1 exerts on
    Link i, in the axes of frame i. ``loads`` are what links exert on something else, such as the other
    end of a closed chain: force, and moment about the origin of frame i, in its axes.
    """
    bodies = mechanism.bodies
    base = base or BaseMotion()
    R_0 = mechanism.base.rotation
    # initial conditions: ω_0, ω̇_0 and p̈_0 − g_0, so that gravity acts through the acceleration
    omega_0, omega_dot_0 = tmatvec(R_0, base.omega), tmatvec(R_0, base.omega_dot)
    p_ddot_0 = tmatvec(R_0, sub(base.acceleration, mechanism.gravity))

    out = Recursion([], [], [], [], [], [ZERO] * len(bodies), [ZERO] * len(bodies), [0.0] * len(bodies))
    motions = [joint_motion(body, q_i) for body, q_i in zip(bodies, q, strict=True)]

    for i, body in enumerate(bodies):
        j = body.parent
        w_p, wd_p, pdd_p = (
            (out.omega[j], out.omega_dot[j], out.p_ddot[j]) if j >= 0 else (omega_0, omega_dot_0, p_ddot_0)
        )
        # the joint's frame i−1, fixed on the parent link: its axes and, by (7.102), its acceleration
        P, t = body.placement.rotation, body.placement.translation
        w, wd = tmatvec(P, w_p), tmatvec(P, wd_p)
        pdd = tmatvec(P, add(pdd_p, cross(wd_p, t), cross(w_p, cross(w_p, t))))
        z, R, r = body.axis, motions[i].R, motions[i].r

        if body.revolute:
            omega = tmatvec(R, add(w, scale(qd[i], z)))  # (7.107)
            omega_dot = tmatvec(R, add(wd, scale(qdd[i], z), scale(qd[i], cross(w, z))))  # (7.108)
            p_ddot = add(tmatvec(R, pdd), cross(omega_dot, r), cross(omega, cross(omega, r)))  # (7.109)
        else:
            omega = tmatvec(R, w)  # (7.107)
            omega_dot = tmatvec(R, wd)  # (7.108)
            p_ddot = add(  # (7.109)
                tmatvec(R, add(pdd, scale(qdd[i], z))),
                cross(scale(2.0 * qd[i], omega), tmatvec(R, z)),
                cross(omega_dot, r),
                cross(omega, cross(omega, r)),
            )
        r_C = body.inertia.com
        p_ddot_C = add(p_ddot, cross(omega_dot, r_C), cross(omega, cross(omega, r_C)))  # (7.110)
        k, z_m = body.gear, body.rotor_axis
        omega_dot_m = add(wd_p, scale(k * qdd[i], z_m), scale(k * qd[i], cross(w_p, z_m)))  # (7.111)
        out.omega.append(omega)
        out.omega_dot.append(omega_dot)
        out.p_ddot.append(p_ddot)
        out.p_ddot_C.append(p_ddot_C)
        out.omega_dot_m.append(omega_dot_m)

    # Σ over the links that Link i carries of R f_{i+1} and, about the origin of frame i, R μ_{i+1}
    carried_f: list[Vector] = [ZERO] * len(bodies)
    carried_mu: list[Vector] = [ZERO] * len(bodies)
    if h_e is not None and mechanism.tip_body >= 0:
        k = mechanism.tip_body
        f_tip, mu_tip = _in_link_axes(mechanism, motions, k, h_e)
        carried_f[k] = f_tip
        carried_mu[k] = add(mu_tip, cross(mechanism.tip.translation, f_tip))
    for k, (f_load, mu_load) in (loads or {}).items():
        carried_f[k], carried_mu[k] = add(carried_f[k], f_load), add(carried_mu[k], mu_load)

    for i in reversed(range(len(bodies))):
        body = bodies[i]
        omega, omega_dot = out.omega[i], out.omega_dot[i]
        m, r_C, I = body.inertia.mass, body.inertia.com, body.inertia.tensor
        f = add(carried_f[i], scale(m, out.p_ddot_C[i]))  # (7.112)
        mu = add(  # (7.113); its rotor terms arrive through carried_mu
            neg(cross(f, add(motions[i].r, r_C))),
            carried_mu[i],
            cross(carried_f[i], r_C),
            matvec(I, omega_dot),
            cross(omega, matvec(I, omega)),
        )
        out.f[i], out.mu[i] = f, mu

        z_i = tmatvec(motions[i].R, body.axis)
        tau = dot(mu if body.revolute else f, z_i)  # (7.114)
        k, I_m, z_m = body.gear, body.rotor_inertia, body.rotor_axis
        if body.has_rotor:
            tau = tau + (k * k * I_m * qdd[i] if body.reflected else k * I_m * dot(out.omega_dot_m[i], z_m))
        if with_friction:
            tau = tau + friction(body, qd[i])
        out.tau[i] = tau

        j = body.parent
        if j >= 0:
            P, t = body.placement.rotation, body.placement.translation
            f_j, mu_j = matvec(P, matvec(motions[i].R, f)), matvec(P, matvec(motions[i].R, mu))
            carried_f[j] = add(carried_f[j], f_j)
            carried_mu[j] = add(carried_mu[j], mu_j, cross(t, f_j))
            if body.has_rotor and not body.reflected:
                # the rotor's angular momentum, a load on the link that carries it: (7.113), last terms
                spin = add(scale(k * qdd[i] * I_m, z_m), scale(k * qd[i] * I_m, cross(out.omega[j], z_m)))
                carried_mu[j] = add(carried_mu[j], spin)
    return out


def _in_link_axes(
    mechanism: Mechanism, motions: Sequence[object], k: int, h_e: Sequence[Scalar]
) -> tuple[Vector, Vector]:
    """The tip's force and moment, given in base axes, in the axes of link k."""
    R: Matrix = mechanism.base.rotation
    for i in mechanism.path(k):
        R = matmul(matmul(R, mechanism.bodies[i].placement.rotation), motions[i].R)  # type: ignore[attr-defined]
    return tmatvec(R, tuple(h_e[:3])), tmatvec(R, tuple(h_e[3:]))


def inverse_dynamics(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    h_e: Sequence[Scalar] | None = None,
    base: BaseMotion | None = None,
) -> list[Scalar]:
    """τ of S (7.42), by the recursion."""
    return newton_euler(mechanism, q, qd, qdd, h_e, base).tau
