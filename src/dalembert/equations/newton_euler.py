"""Newton–Euler inverse dynamics in link coordinates: S (7.107)–(7.114), M Table 2.

Every quantity is in the axes of its own link. What S writes for a chain holds for a tree when the
sums over Link i+1 run over all links that Link i carries. Frame i−1 of joint i is the joint's own
frame on the parent link; where that stands away from the parent's link frame, its acceleration
follows from (7.102), as that of any point of the link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from dalembert.algebra.scalars import Scalar
from dalembert.algebra.vectors import ZERO, Vec, VecLike
from dalembert.equations.friction import friction
from dalembert.equations.kinematics import joint_motion
from dalembert.robot.mechanism import Mechanism


@dataclass(frozen=True)
class BaseMotion:
    """How the base moves, in base axes: ω_0, ω̇_0 and p̈_0."""

    omega: VecLike = ZERO
    omega_dot: VecLike = ZERO
    acceleration: VecLike = ZERO

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, Vec(getattr(self, field.name)))


@dataclass
class Recursion:
    """What the recursion computes for every link, for reading and for checking step by step."""

    omega: list[Vec]
    omega_dot: list[Vec]
    p_ddot: list[Vec]
    p_ddot_C: list[Vec]
    omega_dot_m: list[Vec]
    f: list[Vec]
    mu: list[Vec]
    tau: list[Scalar]


def newton_euler(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    h_e: Sequence[Scalar] | None = None,
    base: BaseMotion | None = None,
    with_friction: bool = True,
    loads: Mapping[int, tuple[Vec, Vec]] | None = None,
) -> Recursion:
    """The recursive algorithm of S 7.5.2.

    ``h_e`` is [f, μ] exerted by the end effector on the environment, in base axes, at the tip.
    f_i and μ_i are the force and the moment (about the origin of frame i−1) that Link i−1 exerts on
    Link i, in the axes of frame i. ``loads`` are what links exert on something else, such as the other
    end of a closed chain: force, and moment about the origin of frame i, in its axes.
    """
    bodies, n = mechanism.bodies, mechanism.n
    base = base or BaseMotion()
    R_0 = mechanism.base.rotation
    # initial conditions: ω_0, ω̇_0 and p̈_0 − g_0, so that gravity acts through the acceleration
    omega_0, omega_dot_0 = R_0.T @ base.omega, R_0.T @ base.omega_dot
    p_ddot_0 = R_0.T @ (base.acceleration - mechanism.gravity)

    out = Recursion([], [], [], [], [], [ZERO] * n, [ZERO] * n, [0.0] * n)
    motions = [joint_motion(body, q_i) for body, q_i in zip(bodies, q, strict=True)]

    for i, body in enumerate(bodies):
        j = body.parent
        w_p, wd_p, pdd_p = (
            (out.omega[j], out.omega_dot[j], out.p_ddot[j]) if j >= 0 else (omega_0, omega_dot_0, p_ddot_0)
        )
        # the joint's frame i−1, fixed on the parent link: its axes and, by (7.102), its acceleration
        P, t = body.placement.rotation, body.placement.translation
        w, wd = P.T @ w_p, P.T @ wd_p
        pdd = P.T @ (pdd_p + wd_p.cross(t) + w_p.cross(w_p.cross(t)))
        z, R, r, r_C = body.axis, motions[i].R, motions[i].r, body.inertia.com

        if body.revolute:
            omega = R.T @ (w + qd[i] * z)  # (7.107)
            omega_dot = R.T @ (wd + qdd[i] * z + qd[i] * w.cross(z))  # (7.108)
            p_ddot = R.T @ pdd + omega_dot.cross(r) + omega.cross(omega.cross(r))  # (7.109)
        else:
            omega = R.T @ w  # (7.107)
            omega_dot = R.T @ wd  # (7.108)
            p_ddot = (
                R.T @ (pdd + qdd[i] * z)
                + (2.0 * qd[i] * omega).cross(R.T @ z)
                + omega_dot.cross(r)
                + omega.cross(omega.cross(r))
            )  # (7.109)
        p_ddot_C = p_ddot + omega_dot.cross(r_C) + omega.cross(omega.cross(r_C))  # (7.110)
        k, z_m = body.gear, body.rotor_axis
        omega_dot_m = wd_p + (k * qdd[i]) * z_m + (k * qd[i]) * w_p.cross(z_m)  # (7.111)
        out.omega.append(omega)
        out.omega_dot.append(omega_dot)
        out.p_ddot.append(p_ddot)
        out.p_ddot_C.append(p_ddot_C)
        out.omega_dot_m.append(omega_dot_m)

    # Σ over the links that Link i carries of R f_{i+1} and, about the origin of frame i, R μ_{i+1}
    f_next, mu_next = [ZERO] * n, [ZERO] * n
    if h_e is not None and mechanism.tip_body >= 0:
        k = mechanism.tip_body
        R = R_0
        for i in mechanism.path(k):
            R = R @ bodies[i].placement.rotation @ motions[i].R
        f_next[k], mu_tip = R.T @ Vec(h_e[:3]), R.T @ Vec(h_e[3:])
        mu_next[k] = mu_tip + mechanism.tip.translation.cross(f_next[k])
    for k, (f_load, mu_load) in (loads or {}).items():
        f_next[k], mu_next[k] = f_next[k] + f_load, mu_next[k] + mu_load

    for i in reversed(range(n)):
        body, R, r, omega, omega_dot = bodies[i], motions[i].R, motions[i].r, out.omega[i], out.omega_dot[i]
        m, r_C, I = body.inertia.mass, body.inertia.com, body.inertia.tensor
        k, I_m, z_m = body.gear, body.rotor_inertia, body.rotor_axis
        f = f_next[i] + m * out.p_ddot_C[i]  # (7.112)
        # (7.113); its rotor terms arrive through mu_next
        mu = -f.cross(r + r_C) + mu_next[i] + f_next[i].cross(r_C) + I @ omega_dot + omega.cross(I @ omega)
        tau = (mu if body.revolute else f).dot(R.T @ body.axis)  # (7.114)
        if body.has_rotor:
            tau = tau + (k * k * I_m * qdd[i] if body.reflected else k * I_m * out.omega_dot_m[i].dot(z_m))
        if with_friction:
            tau = tau + friction(body, qd[i])
        out.f[i], out.mu[i], out.tau[i] = f, mu, tau

        j = body.parent
        if j >= 0:
            P, t = body.placement.rotation, body.placement.translation
            f_j, mu_j = P @ (R @ f), P @ (R @ mu)
            f_next[j] = f_next[j] + f_j
            mu_next[j] = mu_next[j] + mu_j + t.cross(f_j)
            if body.has_rotor and not body.reflected:
                # the rotor's angular momentum, a load on the link that carries it: (7.113), last terms
                mu_next[j] = mu_next[j] + ((k * qdd[i] * I_m) * z_m + (k * qd[i] * I_m) * out.omega[j].cross(z_m))
    return out


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
