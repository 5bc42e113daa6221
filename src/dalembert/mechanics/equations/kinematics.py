"""Positions and velocities of the links: frames, geometric Jacobian and its time derivative.

S's frame i−1 of joint i is here the joint's own frame on the parent link: the axis z_{i−1} goes
through its origin. For a standard DH chain it is the parent's link frame itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.base.algebra.scalars import Grid, Scalar, Values
from dalembert.base.algebra.vectors import ZERO, Mat, Vec, rotation_about
from dalembert.robot.model.mechanism import Body, Mechanism


@dataclass(frozen=True)
class JointMotion:
    """R^{i−1}_i and r^i_{i−1,i}: frame i with respect to the joint's frame, at one joint position."""

    R: Mat
    r: Vec


def joint_motion(body: Body, q: Scalar) -> JointMotion:
    """A_i(q_i) = Rot(z, ϑ_i) or Trans(z, d_i), then the fixed step to frame i, M (2.1)."""
    R_fixed, r_fixed = body.link_frame.rotation, body.link_frame.translation
    if body.revolute:
        R = rotation_about(body.axis, q + body.offset) @ R_fixed
        return JointMotion(R, R_fixed.T @ r_fixed)
    return JointMotion(R_fixed, R_fixed.T @ (r_fixed + (q + body.offset) * body.axis))


@dataclass(frozen=True)
class Frames:
    """In base axes: R_i and p_i of every link frame; z_{i−1} and p_{i−1} of every joint."""

    R: list[Mat]
    p: list[Vec]
    z: list[Vec]
    p_joint: list[Vec]
    R_tip: Mat
    p_tip: Vec


def frames(mechanism: Mechanism, q: Values) -> Frames:
    """Direct kinematics: every frame in the base frame."""
    R: list[Mat] = []
    p: list[Vec] = []
    z: list[Vec] = []
    p_joint: list[Vec] = []
    base = mechanism.base
    for body, q_i in zip(mechanism.bodies, q, strict=True):
        R_parent, p_parent = (R[body.parent], p[body.parent]) if body.parent >= 0 else (base.rotation, base.translation)
        R_joint = R_parent @ body.placement.rotation
        p_joint.append(p_parent + R_parent @ body.placement.translation)
        z.append(R_joint @ body.axis)
        motion = joint_motion(body, q_i)
        R.append(R_joint @ motion.R)
        p.append(p_joint[-1] + R[-1] @ motion.r)
    k = mechanism.tip_body
    R_link, p_link = (R[k], p[k]) if k >= 0 else (base.rotation, base.translation)
    return Frames(R, p, z, p_joint, R_link @ mechanism.tip.rotation, p_link + R_link @ mechanism.tip.translation)


def homogeneous(R: Mat, p: Vec, last: Scalar = 1.0) -> Mat:
    """[[R, p], [0, last]], 4×4: 1 for a frame, 0 for a derivative."""
    return Mat.of((*((*row, x) for row, x in zip(R, p, strict=True)), (*ZERO, last)))


def pose(mechanism: Mechanism, q: Values) -> Mat:
    """The 4×4 homogeneous matrix of the tip in the base frame."""
    F = frames(mechanism, q)
    return homogeneous(F.R_tip, F.p_tip)


def link_poses(mechanism: Mechanism, q: Values) -> list[Mat]:
    """The 4×4 homogeneous matrices of all link frames in the base frame."""
    F = frames(mechanism, q)
    return [homogeneous(R, p) for R, p in zip(F.R, F.p, strict=True)]


def columns_of(mechanism: Mechanism, F: Frames, p: Vec, link: int) -> dict[int, tuple[Vec, Vec]]:
    """(ȷ_Pj, ȷ_Oj) of the point p of a link, by the joints j between the base and the link: S (7.18), (7.19)."""
    return {
        j: (F.z[j].cross(p - F.p_joint[j]), F.z[j]) if mechanism.bodies[j].revolute else (F.z[j], ZERO)
        for j in mechanism.path(link)
    }


def jacobian(mechanism: Mechanism, q: Values) -> Grid:
    """The geometric Jacobian of the tip, 6×n, linear rows first, in base axes: S (7.18), (7.19)."""
    F = frames(mechanism, q)
    return _by_rows(mechanism, columns_of(mechanism, F, F.p_tip, mechanism.tip_body))


def contact_torque(mechanism: Mechanism, q: Values, h_e: Values) -> list[Scalar]:
    """Jᵀ h_e of S (7.42), summed over the contacts: by default only the tip."""
    F = frames(mechanism, q)
    tau: list[Scalar] = [0.0] * mechanism.n
    for k, place, f_e, mu_e in mechanism.exerted(h_e):
        for j, (linear, angular) in columns_of(mechanism, F, F.p[k] + F.R[k] @ place.translation, k).items():
            tau[j] = tau[j] + (linear.dot(f_e) + angular.dot(mu_e))
    return tau


def _by_rows(mechanism: Mechanism, columns: dict[int, tuple[Vec, Vec]]) -> Grid:
    """The 6×n matrix of the columns; joints without a column have zeros."""
    by_joint = [(*linear, *angular) for linear, angular in (columns.get(i, (ZERO, ZERO)) for i in range(mechanism.n))]
    return [[column[row] for column in by_joint] for row in range(6)]


@dataclass(frozen=True)
class Velocities:
    """In base axes: ω_i and ṗ_i of every link frame, and the velocity of the origin of every joint's frame i−1."""

    omega: list[Vec]
    p_dot: list[Vec]
    p_dot_joint: list[Vec]


def velocities(mechanism: Mechanism, F: Frames, qd: Values, omega_0: Vec = ZERO) -> Velocities:
    """ω_i and ṗ_i of all links, S (7.93), (7.94), on a base that rotates with ω_0 about its origin."""
    omega: list[Vec] = []
    v_joint: list[Vec] = []
    v: list[Vec] = []
    for i, body in enumerate(mechanism.bodies):
        k = body.parent
        w_parent, v_parent, p_parent = (
            (omega[k], v[k], F.p[k]) if k >= 0 else (omega_0, ZERO, mechanism.base.translation)
        )
        v_joint.append(v_parent + w_parent.cross(F.p_joint[i] - p_parent))
        if body.revolute:
            omega.append(w_parent + qd[i] * F.z[i])
            v.append(v_joint[i] + omega[i].cross(F.p[i] - F.p_joint[i]))
        else:
            omega.append(w_parent)
            slide, swing = qd[i] * F.z[i], omega[i].cross(F.p[i] - F.p_joint[i])
            v.append(v_joint[i] + slide + swing)
    return Velocities(omega, v, v_joint)


def jacobian_derivative(mechanism: Mechanism, q: Values, qd: Values) -> Grid:
    """J̇ of the tip, 6×n: each column of the Jacobian differentiated, with ż = ω_{i−1} × z."""
    F = frames(mechanism, q)
    moving = velocities(mechanism, F, qd)
    omega, v, v_joint = moving.omega, moving.p_dot, moving.p_dot_joint
    k = mechanism.tip_body
    v_tip = v[k] + omega[k].cross(F.p_tip - F.p[k]) if k >= 0 else ZERO
    columns = {}
    for i in mechanism.path(k):
        body, z = mechanism.bodies[i], F.z[i]
        zd = (omega[body.parent] if body.parent >= 0 else ZERO).cross(z)
        if body.revolute:
            columns[i] = (zd.cross(F.p_tip - F.p_joint[i]) + z.cross(v_tip - v_joint[i]), zd)
        else:
            columns[i] = (zd, ZERO)
    return _by_rows(mechanism, columns)
