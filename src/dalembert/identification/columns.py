"""Columns beyond S's: Stribeck friction, Coulomb friction that turns over gradually, drives that two joints share, counterbalances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.identification.parameters import ExtraColumn
from dalembert.robot.tables import nearest

Array = NDArray[np.float64]
Level = Callable[[int, Array, Array], Array]  # joint j, its positions (N,) and velocities (N,) → torques (N,)


def joint_index(arm: Arm, joint: str | int) -> int:
    """A joint by its name or its number from 1."""
    if isinstance(joint, str) and joint in arm.joint_names:
        return arm.joint_names.index(joint)
    if isinstance(joint, str) and joint.isdigit():
        joint = int(joint)
    if isinstance(joint, int) and 1 <= joint <= arm.n:
        return joint - 1
    known = arm.joint_names
    raise DalembertError(
        f"arm '{arm.name}' has no joint '{joint}'; its joints are {', '.join(known)} (1 … {arm.n}){nearest(str(joint), known)}"
    )


def numbered(arm: Arm, kind: str, *joints: int) -> str:
    """The name of a parameter of some actuated joints: the kind, and their numbers in the tree, from 1."""
    return "_".join([kind, *(str(arm.mechanism.actuated[j] + 1) for j in joints)])


def own_column(arm: Arm, kind: str, j: int, level: Level) -> ExtraColumn:
    """A column that joint j alone feels."""

    def torque(q: Array, qd: Array, qdd: Array) -> Array:
        out = np.zeros_like(qd)
        out[:, j] = level(j, q[:, j], qd[:, j])
        return out

    return ExtraColumn(numbered(arm, kind, j), torque)


def drive_column(arm: Arm, kind: str, i: int, j: int, ratio: float) -> ExtraColumn:
    """The inertia (Im), viscous (Fv) or Coulomb friction (Fs) of a drive at the speed q̇_i·r + q̇_j, felt by both joints."""

    def torque(q: Array, qd: Array, qdd: Array) -> Array:
        rate = qdd if kind == "Im" else qd
        drive = ratio * rate[:, i] + rate[:, j]
        drive = np.sign(drive) if kind == "Fs" else drive
        out = np.zeros_like(qd)
        out[:, i], out[:, j] = ratio * drive, drive
        return out

    return ExtraColumn(numbered(arm, kind, i, j), torque)


def stribeck_columns(arm: Arm, speeds: Array) -> tuple[ExtraColumn, ...]:
    """Fst_j sgn(q̇) exp(−(q̇/v_j)²): what sticks more than it slides."""

    def level(j: int, q: Array, qd: Array) -> Array:
        return np.sign(qd) * np.exp(-((qd / speeds[j]) ** 2))

    return tuple(own_column(arm, "Fst", j, level) for j in range(arm.n))


def sigmoid_columns(arm: Arm, widths: Array, centres: Array) -> tuple[ExtraColumn, ...]:
    """Fs_j tanh((q̇ − c_j)/w_j): Coulomb friction that turns over gradually, and not at rest exactly."""

    def level(j: int, q: Array, qd: Array) -> Array:
        return np.tanh((qd - centres[j]) / widths[j])

    return tuple(own_column(arm, "Fs", j, level) for j in range(arm.n))


def coupling_columns(arm: Arm, pairs: Sequence[Any]) -> tuple[ExtraColumn, ...]:
    """A drive that turns with two joints: (i, j) or (i, j, r) for one at the speed q̇_i·r + q̇_j.

    Its inertia, viscous and Coulomb friction act on both joints: Im_i_j, Fv_i_j, Fs_i_j.
    """
    columns: list[ExtraColumn] = []
    for pair in pairs:
        if len(pair) not in (2, 3):
            raise DalembertError(f"a coupling is two joints and perhaps a ratio, such as (5, 6), not {pair!r}")
        i, j = joint_index(arm, pair[0]), joint_index(arm, pair[1])
        ratio = float(pair[2]) if len(pair) == 3 else 1.0
        if i == j or not np.isfinite(ratio) or ratio == 0:
            raise DalembertError(f"a coupling joins two joints by a ratio that is not 0, not {pair!r}")
        columns += [drive_column(arm, kind, i, j, ratio) for kind in ("Im", "Fv", "Fs")]
    return tuple(columns)


def balance_columns(arm: Arm, joints: Sequence[str | int]) -> tuple[ExtraColumn, ...]:
    """A counterbalance (spring, gas or hydraulic) on a joint: sin q, cos q, sin 2q, cos 2q of its own angle."""
    shapes: dict[str, Level] = {
        "sin": lambda j, q, qd: np.sin(q),
        "cos": lambda j, q, qd: np.cos(q),
        "sin2": lambda j, q, qd: np.sin(2 * q),
        "cos2": lambda j, q, qd: np.cos(2 * q),
    }
    columns: list[ExtraColumn] = []
    for joint in joints:
        j = joint_index(arm, joint)
        if arm.robot.moving_joints[j].type == "prismatic":
            raise DalembertError(f"joint '{arm.joint_names[j]}' slides; a counterbalance acts on a joint that turns")
        columns += [own_column(arm, f"balance_{word}", j, shape) for word, shape in shapes.items()]
    return tuple(columns)
