"""Columns beyond S's: Stribeck friction, Coulomb friction that turns over gradually, drives that two joints share, counterbalances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.arm.tree import actuated_of
from dalembert.errors import DalembertError
from dalembert.identification.parameters import Column
from dalembert.robot.tables import nearest

Array = NDArray[np.float64]
Torque = Callable[[Array, Array, Array], Array]


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


def numbers(arm: Arm) -> list[int]:
    """The numbers that name the parameters of each actuated joint: its own in the tree, from 1."""
    return [i + 1 for i in actuated_of(arm)]


def stribeck_columns(arm: Arm, speeds: Sequence[float]) -> tuple[Column, ...]:
    """Fst_j sgn(q̇) exp(−(q̇/v_j)²): what sticks more than it slides."""

    def column(j: int, v: float) -> Torque:
        def torque(q: Array, qd: Array, qdd: Array) -> Array:
            out = np.zeros_like(qd)
            out[:, j] = np.sign(qd[:, j]) * np.exp(-((qd[:, j] / v) ** 2))
            return out

        return torque

    return tuple(Column(f"Fst_{k}", column(j, v)) for j, (k, v) in enumerate(zip(numbers(arm), speeds, strict=True)))


def sigmoid_columns(arm: Arm, widths: Array, centres: Array) -> tuple[Column, ...]:
    """Fs_j tanh((q̇ − c_j)/w_j): Coulomb friction that turns over gradually, and not at rest exactly."""

    def column(j: int) -> Torque:
        def torque(q: Array, qd: Array, qdd: Array) -> Array:
            out = np.zeros_like(qd)
            out[:, j] = np.tanh((qd[:, j] - centres[j]) / widths[j])
            return out

        return torque

    return tuple(Column(f"Fs_{k}", column(j)) for j, k in enumerate(numbers(arm)))


def coupling_columns(arm: Arm, pairs: Sequence[Any]) -> tuple[Column, ...]:
    """A drive that turns with two joints: (i, j) or (i, j, r) for one at the speed q̇_i·r + q̇_j.

    Its inertia, viscous and Coulomb friction act on both joints: Im_i_j, Fv_i_j, Fs_i_j.
    """
    made: list[Column] = []
    for pair in pairs:
        if len(pair) not in (2, 3):
            raise DalembertError(f"a coupling is two joints and perhaps a ratio, such as (5, 6), not {pair!r}")
        i, j = joint_index(arm, pair[0]), joint_index(arm, pair[1])
        ratio = float(pair[2]) if len(pair) == 3 else 1.0
        if i == j or not np.isfinite(ratio) or ratio == 0:
            raise DalembertError(f"a coupling joins two joints by a ratio that is not 0, not {pair!r}")

        def column(kind: str, i: int = i, j: int = j, ratio: float = ratio) -> Torque:
            def torque(q: Array, qd: Array, qdd: Array) -> Array:
                rate = qdd if kind == "Im" else qd
                drive = ratio * rate[:, i] + rate[:, j]
                drive = np.sign(drive) if kind == "Fs" else drive
                out = np.zeros_like(qd)
                out[:, i], out[:, j] = ratio * drive, drive
                return out

            return torque

        made += [Column(f"{kind}_{numbers(arm)[i]}_{numbers(arm)[j]}", column(kind)) for kind in ("Im", "Fv", "Fs")]
    return tuple(made)


def balance_columns(arm: Arm, joints: Sequence[str | int]) -> tuple[Column, ...]:
    """A counterbalance (spring, gas or hydraulic) on a joint: sin q, cos q, sin 2q, cos 2q of its own angle."""
    shapes: list[tuple[str, Callable[[Array], Array]]] = [
        ("sin", np.sin), ("cos", np.cos), ("sin2", lambda a: np.sin(2 * a)), ("cos2", lambda a: np.cos(2 * a)),
    ]  # fmt: skip
    made = []
    for joint in joints:
        j = joint_index(arm, joint)
        if arm.robot.moving_joints[j].type == "prismatic":
            raise DalembertError(f"joint '{arm.joint_names[j]}' slides; a counterbalance acts on a joint that turns")
        for word, shape in shapes:

            def torque(q: Array, qd: Array, qdd: Array, j: int = j, shape: Callable[[Array], Array] = shape) -> Array:
                out = np.zeros_like(q)
                out[:, j] = shape(q[:, j])
                return out

            made.append(Column(f"balance_{word}_{numbers(arm)[j]}", torque))
    return tuple(made)
