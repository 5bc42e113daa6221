"""Rows of a task: positions and orientations of a frame, selected by name or as far as the arm can move them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.arm import Arm
from dalembert.base.algebra.orientations import euler_zyz, quaternion, roll_pitch_yaw, rotation_vector
from dalembert.base.arrays import Array
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates.pulled import AnyMechanism, jacobian
from dalembert.mechanics.motion.operational_space import ANGLE, Space, analytical
from dalembert.robot.model.mechanism import mechanism
from dalembert.robot.model.robot import Frame
from dalembert.work.trajectory.planning.limits import random_poses
from dalembert.work.trajectory.planning.motion_checks import check_choice

Task = str | Sequence[str] | None


@dataclass(frozen=True)
class Representation:
    """A representation of orientation: row names, coordinates (…, 3) of R, and the measure of its singularity."""

    rows: tuple[str, str, str]
    numbers: Callable[[Array], Array]
    measure: str = ""


REPRESENTATIONS = {
    "zyz": Representation(("phi", "theta", "psi"), euler_zyz, "|sin theta|"),
    "rpy": Representation(("roll", "pitch", "yaw"), roll_pitch_yaw, "|cos pitch|"),
    "quaternion": Representation(("ex", "ey", "ez"), lambda R: quaternion(R)[..., 1:], "the scalar part"),
    "geometric": Representation(("wx", "wy", "wz"), rotation_vector),
}


def with_frame(arm: Arm, frame: str) -> AnyMechanism:
    """The arm's mechanism with its tip at a link's frame; the payload stays where it is."""
    assert arm.robot.tip is not None
    if frame in ("tip", arm.robot.tip.name):
        return arm.mechanism
    arm.robot.link(frame)  # raises an error that lists the links
    of_frame = mechanism(arm.robot.replace(tip=Frame(frame, frame), payload=None))
    tree = dataclasses.replace(arm.mechanism.tree, tip_body=of_frame.tip_body, tip=of_frame.tip)
    return arm.mechanism.with_tree(tree)


def spread(arm: Arm, count: int = 16) -> Array:
    """Generic configurations within the limits, the same in every call: (count, n)."""
    return random_poses(arm, np.random.default_rng(3), count)


def row_names(space: Space) -> tuple[str, ...]:
    """Names of the rows: x, y, z, those of the orientation, "angle"."""
    return tuple(_names(space.orientation)[k] for k in space.rows)


def _names(orientation: str) -> tuple[str, ...]:
    return ("x", "y", "z", *REPRESENTATIONS[orientation].rows, "angle")


def space_of(arm: Arm, chain: AnyMechanism, orientation: str, task: Task) -> Space:
    """The rows that ``task`` names; by default, those that this arm can move, as many as it has joints."""
    check_choice("orientation", orientation, REPRESENTATIONS)
    normal = _only_axis(arm, chain)
    if task is None:
        return _movable(arm, chain, orientation, normal)
    names = _names(orientation)
    words = _words(task, names[:6])
    for word in words:
        if word not in names:
            raise DalembertError(
                f"task {task!r} contains the row '{word}'; it must be 'pose', 'position', 'orientation', or rows from "
                f"{', '.join(names)} (orientation '{orientation}')"
            )
    if len(set(words)) < len(words):
        raise DalembertError(f"task {task!r} names a row twice")
    if "angle" in words and normal is None:
        raise DalembertError(
            f"task {task!r} contains the angle about one axis, but arm '{arm.name}' rotates its tip about several"
        )
    if not words:
        raise DalembertError("the task names no rows")
    return Space(orientation, tuple(names.index(word) for word in words), normal or (0.0, 0.0, 1.0))


def _words(task: str | Sequence[str], pose: Sequence[str]) -> list[str]:
    if not isinstance(task, str):
        if not isinstance(task, Iterable) or not all(isinstance(word, str) for word in task):
            raise DalembertError(f"task is {task!r}; it must be a word such as 'pose' or 'xy', or a list of row names")
        return list(task)
    known = {"pose": pose, "position": pose[:3], "orientation": pose[3:]}
    if task in known or set(task) <= set("xyz"):
        return list(known.get(task, task))
    return task.replace(",", " ").split()


def _only_axis(arm: Arm, chain: AnyMechanism) -> tuple[float, float, float] | None:
    """The unit vector about which every joint rotates the tip, or None."""
    J = np.array([jacobian(chain, q) for q in arm.placed(spread(arm, 4))], float)[:, 3:]
    columns = np.moveaxis(J, 1, -1).reshape(-1, 3)
    columns = columns[np.linalg.norm(columns, axis=1) > 1e-9]
    if not len(columns):
        return None
    n = columns[0] / np.linalg.norm(columns[0])
    if np.abs(np.cross(columns, n)).max() > 1e-9:
        return None
    n = n * np.sign(n[np.argmax(np.abs(n))])
    x, y, z = (np.where(np.abs(n - n.round()) < 1e-12, n.round(), n) + 0.0).tolist()
    return x, y, z


def _movable(arm: Arm, chain: AnyMechanism, orientation: str, normal: tuple[float, float, float] | None) -> Space:
    """The rows, taken one by one, that can be moved while those before them stay at rest."""
    every = Space(orientation, (0, 1, 2, ANGLE) if normal else (0, 1, 2, 3, 4, 5), normal or (0.0, 0.0, 1.0))
    J = np.array([analytical(chain, every, q).J for q in arm.placed(spread(arm, 6))], float)
    rows = tuple(every.rows[k] for k in independent_rows(J))
    if not rows:
        raise DalembertError(f"no joint of arm '{arm.name}' moves this frame")
    return dataclasses.replace(every, rows=rows)


def independent_rows(J: Array) -> list[int]:
    """Indices of the rows of Jacobians (…, m, n) that can be moved while those selected before stay at rest."""
    sizes = np.linalg.norm(J, axis=-1, keepdims=True)
    J = np.where(sizes > 1e-9, J / np.maximum(sizes, 1e-9), 0.0)
    selected: list[int] = []
    for k in range(J.shape[-2]):
        if np.linalg.matrix_rank(J[..., [*selected, k], :], tol=1e-6).max() > len(selected):
            selected.append(k)
    return selected
