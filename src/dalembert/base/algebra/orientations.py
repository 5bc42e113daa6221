"""Orientations as numbers: Euler angles, quaternions, rotation vectors, for arrays of any number of rotation matrices."""

from __future__ import annotations

import numpy as np

from dalembert.base.arrays import Array


def euler_zyz(R: Array) -> Array:
    """φ, ϑ, ψ with R = R_z(φ) R_y(ϑ) R_z(ψ): (…, 3), 0 ≤ ϑ ≤ π."""
    s = np.hypot(R[..., 0, 2], R[..., 1, 2])
    flat = s < 1e-12  # φ and ψ rotate about the same axis: the whole angle is ψ
    phi = np.where(flat, 0.0, np.arctan2(R[..., 1, 2], R[..., 0, 2]))
    psi = np.where(flat, np.arctan2(R[..., 1, 0], R[..., 1, 1]), np.arctan2(R[..., 2, 1], -R[..., 2, 0]))
    return np.stack([phi, np.arctan2(s, R[..., 2, 2]), psi], axis=-1)


def roll_pitch_yaw(R: Array) -> Array:
    """Roll, pitch, yaw with R = R_z(yaw) R_y(pitch) R_x(roll): (…, 3), |pitch| ≤ π/2."""
    c = np.hypot(R[..., 0, 0], R[..., 1, 0])
    flat = c < 1e-12  # roll and yaw rotate about the same axis: the whole angle is roll
    roll = np.where(flat, np.arctan2(-R[..., 1, 2], R[..., 1, 1]), np.arctan2(R[..., 2, 1], R[..., 2, 2]))
    yaw = np.where(flat, 0.0, np.arctan2(R[..., 1, 0], R[..., 0, 0]))
    return np.stack([roll, np.arctan2(-R[..., 2, 0], c), yaw], axis=-1)


def quaternion(R: Array) -> Array:
    """(η, ε) with η ≥ 0 of rotations (…, 3, 3): (…, 4), computed from the largest component."""
    a, b, c = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x, y, z = R[..., 2, 1], R[..., 0, 2], R[..., 1, 0]
    u, v, w = R[..., 1, 2], R[..., 2, 0], R[..., 0, 1]
    outer = np.array(
        [
            [1 + a + b + c, x - u, y - v, z - w],
            [x - u, 1 + a - b - c, z + w, y + v],
            [y - v, z + w, 1 - a + b - c, x + u],
            [z - w, y + v, x + u, 1 - a - b + c],
        ]
    )  # 4 (η, ε)ᵀ (η, ε)
    best = np.argmax(np.diagonal(outer), axis=-1)
    Q = np.take_along_axis(np.moveaxis(outer, (0, 1), (-2, -1)), best[..., None, None], axis=-2)[..., 0, :]
    Q = Q / np.linalg.norm(Q, axis=-1, keepdims=True)
    return np.where(Q[..., :1] < 0, -Q, Q)


def angle_about(axis: Array, R: Array) -> Array:
    """The angle by which rotations (…, 3, 3) rotate about this unit vector: (…), in [−π, π]."""
    Q = quaternion(R)
    return 2 * np.arctan2(Q[..., 1:] @ axis, Q[..., 0])


def rotation_vector(R: Array) -> Array:
    """Axis times angle of rotations (…, 3, 3): (…, 3), the angle at most π."""
    Q = quaternion(R)
    sine = np.linalg.norm(Q[..., 1:], axis=-1, keepdims=True)  # of half the angle
    tiny = np.finfo(float).tiny
    return Q[..., 1:] * np.where(sine > tiny, 2 * np.arctan2(sine, Q[..., :1]) / np.maximum(sine, tiny), 2.0)


def rotation_by(vector: Array) -> Array:
    """The rotation by axis times angle (…, 3): (…, 3, 3)."""
    angle = np.linalg.norm(vector, axis=-1)[..., None, None]
    S = np.swapaxes(np.cross(vector[..., None, :], np.eye(3)), -1, -2)
    return np.eye(3) + np.sinc(angle / np.pi) * S + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * (S @ S)
