"""Where the links are and how they move: frames, geometric Jacobian and its time derivative.

S's frame i−1 of joint i is here the joint's own frame on the parent link: the axis z_{i−1} goes
through its origin. For a standard DH chain it is the parent's link frame itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algebra.linalg import (
    ZERO,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    matmul,
    matvec,
    rotation_about,
    scale,
    sub,
    tmatvec,
)
from dalembert.robot.mechanism import Body, Mechanism


@dataclass(frozen=True)
class JointMotion:
    """R^{i−1}_i and r^i_{i−1,i}: frame i seen from the joint's frame, at one joint position."""

    R: Matrix
    r: Vector


def joint_motion(body: Body, q: Scalar) -> JointMotion:
    """A_i(q_i) = Rot(z, ϑ_i) or Trans(z, d_i), then the fixed step to frame i, M (2.1)."""
    R_fixed, r_fixed = body.link_frame.rotation, body.link_frame.translation
    if body.revolute:
        R = matmul(rotation_about(body.axis, q + body.offset), R_fixed)
        return JointMotion(R, tmatvec(R_fixed, r_fixed))
    return JointMotion(R_fixed, tmatvec(R_fixed, add(r_fixed, scale(q + body.offset, body.axis))))


@dataclass(frozen=True)
class Frames:
    """In base axes: R_i and p_i of every link frame; z_{i−1} and p_{i−1} of every joint."""

    R: list[Matrix]
    p: list[Vector]
    z: list[Vector]
    p_joint: list[Vector]
    R_tip: Matrix
    p_tip: Vector


def frames(mechanism: Mechanism, q: Sequence[Scalar]) -> Frames:
    """Direct kinematics: every frame in the base frame."""
    R: list[Matrix] = []
    p: list[Vector] = []
    z: list[Vector] = []
    p_joint: list[Vector] = []
    base = mechanism.base
    for body, q_i in zip(mechanism.bodies, q, strict=True):
        R_parent, p_parent = (R[body.parent], p[body.parent]) if body.parent >= 0 else (base.rotation, base.translation)
        R_joint = matmul(R_parent, body.placement.rotation)
        p_joint.append(add(p_parent, matvec(R_parent, body.placement.translation)))
        z.append(matvec(R_joint, body.axis))
        motion = joint_motion(body, q_i)
        R.append(matmul(R_joint, motion.R))
        p.append(add(p_joint[-1], matvec(R[-1], motion.r)))
    k = mechanism.tip_body
    R_link, p_link = (R[k], p[k]) if k >= 0 else (base.rotation, base.translation)
    return Frames(
        R, p, z, p_joint,
        matmul(R_link, mechanism.tip.rotation),
        add(p_link, matvec(R_link, mechanism.tip.translation)),
    )  # fmt: skip


def pose(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """The 4×4 homogeneous matrix of the tip in the base frame."""
    F = frames(mechanism, q)
    return [[*F.R_tip[k], F.p_tip[k]] for k in range(3)] + [[0.0, 0.0, 0.0, 1.0]]


def link_poses(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[list[Scalar]]]:
    """The 4×4 homogeneous matrices of all link frames in the base frame."""
    F = frames(mechanism, q)
    return [[[*F.R[i][k], F.p[i][k]] for k in range(3)] + [[0.0, 0.0, 0.0, 1.0]] for i in range(mechanism.n)]


def jacobian(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """The geometric Jacobian of the tip, 6×n, linear rows first, in base axes: S (7.18), (7.19)."""
    F = frames(mechanism, q)
    on_path = mechanism.path(mechanism.tip_body)
    columns = []
    for i, body in enumerate(mechanism.bodies):
        if i not in on_path:
            columns.append((*ZERO, *ZERO))
        elif body.revolute:
            columns.append((*cross(F.z[i], sub(F.p_tip, F.p_joint[i])), *F.z[i]))
        else:
            columns.append((*F.z[i], *ZERO))
    return [[column[row] for column in columns] for row in range(6)]


def jacobian_derivative(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """J̇ of the tip, 6×n: each column of the Jacobian differentiated, with ż = ω_{i−1} × z."""
    F = frames(mechanism, q)
    omega: list[Vector] = []
    v_joint: list[Vector] = []
    v: list[Vector] = []
    for i, body in enumerate(mechanism.bodies):
        k = body.parent
        w_parent, v_parent, p_parent = (omega[k], v[k], F.p[k]) if k >= 0 else (ZERO, ZERO, mechanism.base.translation)
        v_joint.append(add(v_parent, cross(w_parent, sub(F.p_joint[i], p_parent))))
        if body.revolute:
            omega.append(add(w_parent, scale(qd[i], F.z[i])))
            v.append(add(v_joint[i], cross(omega[i], sub(F.p[i], F.p_joint[i]))))
        else:
            omega.append(w_parent)
            v.append(add(v_joint[i], scale(qd[i], F.z[i]), cross(omega[i], sub(F.p[i], F.p_joint[i]))))
    k = mechanism.tip_body
    v_tip = add(v[k], cross(omega[k], sub(F.p_tip, F.p[k]))) if k >= 0 else ZERO
    on_path = mechanism.path(k)
    columns = []
    for i, body in enumerate(mechanism.bodies):
        w_parent = omega[body.parent] if body.parent >= 0 else ZERO
        zd = cross(w_parent, F.z[i])
        if i not in on_path:
            columns.append((*ZERO, *ZERO))
        elif body.revolute:
            linear = add(cross(zd, sub(F.p_tip, F.p_joint[i])), cross(F.z[i], sub(v_tip, v_joint[i])))
            columns.append((*linear, *zd))
        else:
            columns.append((*zd, *ZERO))
    return [[column[row] for column in columns] for row in range(6)]
