"""Newton–Euler inverse dynamics in link coordinates: S (7.107)–(7.114), M Table 2.

Every quantity is in the axes of its own link. The equations of S for a chain hold for a tree if the
sums over Link i+1 run over all links that Link i carries. Frame i−1 of joint i is the joint's own
frame on the parent link; if its origin differs from that of the parent's link frame, its acceleration
follows from (7.102), as for any point of the link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from dalembert.base.algebra.scalars import Scalar, Values
from dalembert.base.algebra.vectors import ZERO, Vec, VecLike
from dalembert.mechanics.equations.friction import friction
from dalembert.mechanics.equations.kinematics import joint_motion
from dalembert.robot.model.mechanism import Mechanism


@dataclass(frozen=True)
class BaseMotion:
    """The motion of the base, in base axes: ω_0, ω̇_0, and p̈_0 of the origin of the base frame."""

    omega: VecLike = ZERO
    omega_dot: VecLike = ZERO
    acceleration: VecLike = ZERO

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, Vec(getattr(self, field.name)))

    @classmethod
    def of(cls, numbers: Values) -> BaseMotion:
        """From [ω, ω̇, p̈], nine numbers."""
        return cls(tuple(numbers[0:3]), tuple(numbers[3:6]), tuple(numbers[6:9]))

    def felt(self, mechanism: Mechanism) -> Vec:
        """p̈ − g_0 at the origin of the root link, by (7.102), in base axes: gravity acts through the acceleration."""
        t = mechanism.base.translation
        p_ddot = self.acceleration + self.omega_dot.cross(t) + self.omega.cross(self.omega.cross(t))
        return p_ddot - mechanism.gravity


@dataclass
class Recursion:
    """The results of the recursion for every link i, and for the base under −1, so that each step can be checked.

    The names are S's; M has v̇ for p̈, ā for p̈_C and n for μ. F_i = m_i p̈_Ci and M_i = Ī_i ω̇_i + ω_i × (Ī_i ω_i) are
    M's. p̈ and p̈_C are accelerations minus g_0, since the recursion starts from p̈_0 − g_0.
    """

    omega: dict[int, Vec]
    omega_dot: dict[int, Vec]
    p_ddot: dict[int, Vec]
    p_ddot_C: dict[int, Vec]
    omega_dot_m: dict[int, Vec]
    F: list[Vec]
    M: list[Vec]
    f: list[Vec]
    mu: list[Vec]
    tau: list[Scalar]


def newton_euler(
    mechanism: Mechanism,
    q: Values,
    qd: Values,
    qdd: Values,
    h_e: Values | None = None,
    base: BaseMotion | None = None,
    with_friction: bool = True,
    loads: Mapping[int, tuple[VecLike, VecLike]] | None = None,
) -> Recursion:
    """The recursive algorithm of S 7.5.2.

    ``h_e`` is [f, μ] exerted by the end effector on the environment, in base axes, at the tip (or at each of the contacts).
    f_i and μ_i are the force and the moment (about the origin of frame i−1) that Link i−1 exerts on
    Link i, in the axes of frame i. ``loads`` are the wrenches that links exert on other bodies, such as the other
    end of a closed chain: force, and moment about the origin of frame i, in its axes.
    """
    bodies, n = mechanism.bodies, mechanism.n
    base = base or BaseMotion()
    R_0 = mechanism.base.rotation
    # initial conditions: ω_0, ω̇_0 and p̈_0 − g_0, so that gravity acts through the acceleration
    omega, omega_dot = {-1: R_0.T @ base.omega}, {-1: R_0.T @ base.omega_dot}
    p_ddot = {-1: R_0.T @ base.felt(mechanism)}
    p_ddot_C: dict[int, Vec] = {}
    omega_dot_m: dict[int, Vec] = {}
    motions = [joint_motion(body, q_i) for body, q_i in zip(bodies, q, strict=True)]  # R_i and r_i, M (2.1)

    for i, body in enumerate(bodies):
        # the joint's frame i−1, fixed on the parent link: its axes and, by (7.102), its acceleration
        j, P, t = body.parent, body.placement.rotation, body.placement.translation
        w, wd = P.T @ omega[j], P.T @ omega_dot[j]  # to frame i−1
        pdd = P.T @ (p_ddot[j] + omega_dot[j].cross(t) + omega[j].cross(omega[j].cross(t)))  # to frame i−1
        z, R, r, r_C = body.axis, motions[i].R, motions[i].r, body.inertia.com
        k, z_m = body.gear, body.rotor_axis

        if body.revolute:
            omega[i] = R.T @ (w + qd[i] * z)  # (7.107)
            omega_dot[i] = R.T @ (wd + qdd[i] * z + qd[i] * w.cross(z))  # (7.108)
            p_ddot[i] = R.T @ pdd + omega_dot[i].cross(r) + omega[i].cross(omega[i].cross(r))  # (7.109)
        else:
            omega[i] = R.T @ w  # (7.107)
            omega_dot[i] = R.T @ wd  # (7.108)
            p_ddot[i] = (
                R.T @ (pdd + qdd[i] * z)
                + (2.0 * qd[i] * omega[i]).cross(R.T @ z)
                + omega_dot[i].cross(r)
                + omega[i].cross(omega[i].cross(r))
            )  # (7.109)
        p_ddot_C[i] = p_ddot[i] + omega_dot[i].cross(r_C) + omega[i].cross(omega[i].cross(r_C))  # (7.110)
        omega_dot_m[i] = omega_dot[j] + k * qdd[i] * z_m + k * qd[i] * omega[j].cross(z_m)  # (7.111)

    # Σ over the links that Link i carries of R f_{i+1} and, about the origin of frame i, R μ_{i+1}
    f_next, mu_next = [ZERO] * n, [ZERO] * n
    for k, place, f_e, mu_e in mechanism.exerted(h_e):
        R = R_0
        for i in mechanism.path(k):
            R = R @ bodies[i].placement.rotation @ motions[i].R
        f_k, mu_k = R.T @ f_e, R.T @ mu_e
        f_next[k], mu_next[k] = f_next[k] + f_k, mu_next[k] + mu_k + place.translation.cross(f_k)
    for k, (f_load, mu_load) in (loads or {}).items():
        f_next[k], mu_next[k] = f_next[k] + f_load, mu_next[k] + mu_load

    if mechanism.lifts:  # the carrier of a weight pulls the link up, and the link pulls it down
        rest = [0.0] * n
        at_rest = newton_euler(mechanism.lifted, q, rest, rest)
        for i, body in enumerate(bodies):
            weight = -body.lifted.mass * at_rest.p_ddot_C[i]
            f_next[i], mu_next[i] = f_next[i] + weight, mu_next[i] + body.lifted.com.cross(weight)

    F, M, f, mu, tau = [ZERO] * n, [ZERO] * n, [ZERO] * n, [ZERO] * n, [0.0] * n
    for i in reversed(range(n)):
        body, R, r = bodies[i], motions[i].R, motions[i].r
        m, r_C, I = body.inertia.mass, body.inertia.com, body.inertia.tensor
        k, I_m, z_m = body.gear, body.rotor_inertia, body.rotor_axis
        F[i] = m * p_ddot_C[i]  # (7.112)
        M[i] = I @ omega_dot[i] + omega[i].cross(I @ omega[i])  # (7.113)
        f[i] = f_next[i] + F[i]  # (7.112)
        mu[i] = -f[i].cross(r + r_C) + mu_next[i] + f_next[i].cross(r_C) + M[i]  # (7.113); rotors are in mu_next
        tau[i] = (mu[i] if body.revolute else f[i]).dot(R.T @ body.axis)  # (7.114)
        if body.has_rotor:
            rotor = k * k * I_m * qdd[i] if body.reflected else k * I_m * omega_dot_m[i].dot(z_m)  # (7.114)
            tau[i] = tau[i] + rotor  # (7.114)
        if with_friction:
            tau[i] = tau[i] + friction(body, q[i], qd[i], tau[i])  # (7.42)

        j, P, t = body.parent, body.placement.rotation, body.placement.translation
        if j >= 0:
            f_turned = R @ f[i]  # (7.112)
            mu_turned = R @ mu[i]  # (7.113)
            f_j = P @ f_turned  # from frame i−1
            mu_j, lever = P @ mu_turned, t.cross(f_j)  # from frame i−1
            f_next[j] = f_next[j] + f_j  # (7.112)
            mu_next[j] = mu_next[j] + mu_j  # (7.113)
            mu_next[j] = mu_next[j] + lever  # from frame i−1
            if body.has_rotor and not body.reflected:
                # the rotor's angular momentum, a load on the link that carries it: (7.113), last terms
                spin = k * qdd[i] * I_m * z_m + k * qd[i] * I_m * omega[j].cross(z_m)  # (7.113)
                mu_next[j] = mu_next[j] + spin  # (7.113)
    return Recursion(omega, omega_dot, p_ddot, p_ddot_C, omega_dot_m, F, M, f, mu, tau)


def inverse_dynamics(
    mechanism: Mechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None = None, base: BaseMotion | None = None
) -> list[Scalar]:
    """τ of S (7.42), by the recursion."""
    return newton_euler(mechanism, q, qd, qdd, h_e, base).tau
