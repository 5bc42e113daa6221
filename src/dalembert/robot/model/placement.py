"""A rigid displacement: the pose of one frame in another."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalembert.base.algebra.records import number, settle
from dalembert.base.algebra.vectors import IDENTITY, ZERO, Mat, MatLike, Vec, VecLike, X, Y, Z, rotation_about
from dalembert.errors import RobotError

ORTHONORMAL = 1e-8  # tolerance of R Rᵀ = 1: a rotation given with fewer digits distorts the arm measurably


def vector(x: object, what: str) -> Vec:
    """Three scalars; otherwise an error that names ``what``."""
    if not hasattr(x, "__iter__"):
        raise RobotError(f"{what} needs 3 numbers, not {x!r}")
    values = Vec(number(v) for v in x)
    if len(values) != 3:
        raise RobotError(f"{what} needs 3 numbers, not {len(values)}")
    return values


def matrix(x: object, what: str) -> Mat:
    """Three rows of three scalars; otherwise an error that names ``what``."""
    rows = Mat(vector(row, f"each row of {what}") for row in x)  # type: ignore[attr-defined]
    if len(rows) != 3:
        raise RobotError(f"{what} needs 3 rows of 3 numbers, not {len(rows)}")
    return rows


def unit(axis: object, what: str) -> Vec:
    """The unit vector along ``axis``; exact if the axis already has unit length."""
    v = vector(axis, what)
    length = v.norm
    if not (math.isfinite(length) and length > 1e-12):
        raise RobotError(f"{what} is {v}; it needs a direction, such as (0, 0, 1)")
    return v if abs(length - 1.0) < 1e-15 else 1.0 / length * v


def no_rotation(R: Mat) -> str | None:
    """The reason why a matrix is not a rotation, or None; symbolic matrices are accepted unchecked."""
    if not all(isinstance(x, float) for row in R for x in row):
        return None
    error = max(abs(x) for row in R @ R.T - IDENTITY for x in row)
    if error > ORTHONORMAL:
        return f"its rows are not orthogonal unit vectors (error {error:.2g}); give it with more digits"
    if R[0].dot(R[1].cross(R[2])) < 0:
        return "its determinant is −1, so it is a reflection"
    return None


@dataclass(frozen=True)
class Placement:
    """The pose of a frame in another: ``rotation`` (3×3, its axes as columns), ``translation`` (m).

    >>> Placement.rpy(0, 0, 0, xyz=(1, 2, 3)).translation
    (1.0, 2.0, 3.0)
    """

    rotation: MatLike = IDENTITY
    translation: VecLike = ZERO

    def __post_init__(self) -> None:
        rotation, translation = matrix(self.rotation, "a rotation"), vector(self.translation, "a translation")
        settle(self, rotation=rotation, translation=translation)

    @staticmethod
    def rpy(roll: float, pitch: float, yaw: float, xyz: VecLike = ZERO) -> Placement:
        """R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF (radians, metres)."""
        return Placement(rotation_about(Z, yaw) @ (rotation_about(Y, pitch) @ rotation_about(X, roll)), xyz)

    @staticmethod
    def quaternion(w: float, x: float, y: float, z: float, xyz: VecLike = ZERO) -> Placement:
        """From a quaternion, scalar first, which is normalised."""
        n = math.sqrt(w * w + x * x + y * y + z * z)
        w, x, y, z = w / n, x / n, y / n, z / n
        R = (
            (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        )
        return Placement(R, xyz)

    def __matmul__(self, other: Placement) -> Placement:
        """The composition: ``other``, given in this frame, expressed in the outer frame of this placement."""
        return Placement(self.rotation @ other.rotation, self.point(other.translation))

    @property
    def inverse(self) -> Placement:
        """The inverse displacement."""
        return Placement(self.rotation.T, -(self.rotation.T @ self.translation))

    def point(self, p: VecLike) -> Vec:
        """A point given in this frame, expressed in the outer frame."""
        return self.translation + self.rotation @ p

    def direction(self, v: VecLike) -> Vec:
        """A direction given in this frame, expressed in the outer frame."""
        return self.rotation @ v

    def to_rpy(self) -> tuple[float, float, float]:
        """Roll, pitch, yaw (radians) with R = Rz(yaw) Ry(pitch) Rx(roll)."""
        R = self.rotation
        h = math.hypot(R[0][0], R[1][0])
        # At pitch ±90° only roll ∓ yaw is determined. Computing roll after yaw has been undone
        # keeps the pair consistent there, even if each alone is ill-conditioned.
        s, c = (R[1][0] / h, R[0][0] / h) if h > 1e-14 else (0.0, 1.0)
        roll = math.atan2(s * R[0][2] - c * R[1][2], c * R[1][1] - s * R[0][1])
        return roll, math.atan2(-R[2][0], h), math.atan2(s, c)
