"""Orientations as numbers: Euler angles, quaternions, rotation vectors, for any number of rotation matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def orientation_numbers(kind: str, R: Array) -> Array:
    """The three numbers of an orientation: (…, 3)."""
    if kind == "zyz":
        s = np.hypot(R[..., 0, 2], R[..., 1, 2])
        flat = s < 1e-12  # φ and ψ turn about the same axis: all of it is ψ
        phi = np.where(flat, 0.0, np.arctan2(R[..., 1, 2], R[..., 0, 2]))
        psi = np.where(flat, np.arctan2(R[..., 1, 0], R[..., 1, 1]), np.arctan2(R[..., 2, 1], -R[..., 2, 0]))
        return np.stack([phi, np.arctan2(s, R[..., 2, 2]), psi], axis=-1)
    if kind == "rpy":
        c = np.hypot(R[..., 0, 0], R[..., 1, 0])
        flat = c < 1e-12  # roll and yaw turn about the same axis: all of it is roll
        roll = np.where(flat, np.arctan2(-R[..., 1, 2], R[..., 1, 1]), np.arctan2(R[..., 2, 1], R[..., 2, 2]))
        yaw = np.where(flat, 0.0, np.arctan2(R[..., 1, 0], R[..., 0, 0]))
        return np.stack([roll, np.arctan2(-R[..., 2, 0], c), yaw], axis=-1)
    if kind == "quaternion":
        return quaternion(R)[..., 1:]
    from dalembert.trajectory.inverse_kinematics import rotation_vector

    return rotation_vector(R)


def quaternion(R: Array) -> Array:
    """(η, ε) with η ≥ 0 of rotations (…, 3, 3): (…, 4), from the largest of its squares."""
    a, b, c = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x, y, z = R[..., 2, 1], R[..., 0, 2], R[..., 1, 0]
    u, v, w = R[..., 1, 2], R[..., 2, 0], R[..., 0, 1]
    ways = np.stack(
        [
            np.stack([1 + a + b + c, x - u, y - v, z - w], axis=-1),
            np.stack([x - u, 1 + a - b - c, z + w, y + v], axis=-1),
            np.stack([y - v, z + w, 1 - a + b - c, x + u], axis=-1),
            np.stack([z - w, y + v, x + u, 1 - a - b + c], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(np.stack([ways[..., k, k] for k in range(4)], axis=-1), axis=-1)
    Q = np.take_along_axis(ways, best[..., None, None], axis=-2)[..., 0, :]
    Q = Q / np.linalg.norm(Q, axis=-1, keepdims=True)
    return np.where(Q[..., :1] < 0, -Q, Q)


def rotation_by(vector: Array) -> Array:
    """The rotation by axis times angle (…, 3): (…, 3, 3)."""
    angle = np.linalg.norm(vector, axis=-1)[..., None, None]
    zero = np.zeros(vector.shape[:-1])
    x, y, z = (vector[..., k] for k in range(3))
    S = np.stack([np.stack([zero, -z, y], -1), np.stack([z, zero, -x], -1), np.stack([-y, x, zero], -1)], axis=-2)
    return np.eye(3) + np.sinc(angle / np.pi) * S + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * (S @ S)
