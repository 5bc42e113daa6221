"""Which rows a task has: directions and turns of a frame, by their names or as the arm can move them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.coordinates.pulled import AnyMechanism
from dalembert.errors import DalembertError
from dalembert.motion import operational_space as equations
from dalembert.motion.operational_space import ANGLE, ORIENTATIONS, Space
from dalembert.robot.mechanism import mechanism
from dalembert.robot.model import Frame

Array = NDArray[np.floating[Any]]
Orientation = Literal["zyz", "rpy", "quaternion", "geometric"]
Task = str | Sequence[str] | None

POSITION = ("x", "y", "z")
TURNS: dict[str, tuple[str, str, str]] = {
    "zyz": ("phi", "theta", "psi"),
    "rpy": ("roll", "pitch", "yaw"),
    "quaternion": ("ex", "ey", "ez"),
    "geometric": ("wx", "wy", "wz"),
}


def with_frame(arm: Arm, frame: str) -> AnyMechanism:
    """The arm's mechanism with its tip at a link's frame; the payload stays where it is."""
    assert arm.robot.tip is not None
    if frame in ("tip", arm.robot.tip.name):
        return arm.mechanism
    arm.robot.link(frame)  # says which links there are
    there = mechanism(arm.robot.replace(tip=Frame(frame, frame), payload=None))
    tree = getattr(arm.mechanism, "tree", arm.mechanism)
    tree = dataclasses.replace(tree, tip_body=there.tip_body, tip=there.tip)
    return dataclasses.replace(arm.mechanism, tree=tree) if not arm.mechanism.identity else tree  # type: ignore[call-arg]


def spread(arm: Arm, count: int = 16) -> Array:
    """Configurations within the limits, none of them special, the same every time: (count, n)."""
    return random_poses(arm, np.random.default_rng(3), count)


def random_poses(arm: Arm, generator: np.random.Generator, count: int) -> Array:
    """Configurations drawn evenly from the joints' ranges, those in which loops can be closed: (count, n)."""
    low, high = joint_ranges(arm)
    if not arm.mechanism.identity:
        return arm.closing(generator, low, high, count)  # type: ignore[attr-defined]
    return generator.uniform(low, high, (count, arm.n))


def joint_ranges(arm: Arm) -> tuple[Array, Array]:
    """From where to where each joint goes: its limits, else half a turn (or 1 m) to both sides."""
    low, high = np.empty(arm.n), np.empty(arm.n)
    for j, joint in enumerate(arm.robot.moving_joints):
        half = 1.0 if joint.type == "prismatic" else np.pi
        lower, upper = (
            np.nan if v is None or not np.isfinite(v) else v for v in (joint.limits.lower, joint.limits.upper)
        )
        if np.isnan(lower) and np.isnan(upper):
            lower, upper = -half, half
        low[j] = upper - 2 * half if np.isnan(lower) else lower
        high[j] = lower + 2 * half if np.isnan(upper) else upper
        if joint.type != "prismatic" and high[j] - low[j] > 2 * np.pi:  # turns that repeat each other
            low[j], high[j] = max(low[j], -np.pi), max(low[j], -np.pi) + 2 * np.pi
    return low, high


def row_names(space: Space) -> tuple[str, ...]:
    """The names of the rows: x, y, z, the orientation's, "angle"."""
    names = (*POSITION, *TURNS[space.orientation], "angle")
    return tuple(names[k] for k in space.rows)


def space_of(arm: Arm, chain: AnyMechanism, orientation: str, task: Task) -> Space:
    """The rows that ``task`` names; without it those that this arm can move, as many as it has joints."""
    if orientation not in ORIENTATIONS:
        raise DalembertError(f"unknown orientation '{orientation}'; known are {', '.join(ORIENTATIONS)}")
    normal = _only_axis(arm, chain)
    if task is None:
        return _movable(arm, chain, orientation, normal)
    names = (*POSITION, *TURNS[orientation], "angle")
    wanted = _words(task, orientation)
    for word in wanted:
        if word not in names:
            raise DalembertError(
                f"task {task!r} asks for a row '{word}'; it is one of 'pose', 'position', 'orientation', or rows out of "
                f"{', '.join(names)} (orientation '{orientation}')"
            )
    if len(set(wanted)) < len(wanted):
        raise DalembertError(f"task {task!r} names a row twice")
    if "angle" in wanted and normal is None:
        raise DalembertError(
            f"task {task!r} asks for the angle about one axis, but arm '{arm.name}' turns its tip about several"
        )
    if not wanted:
        raise DalembertError("the task names no row at all")
    return Space(orientation, tuple(names.index(word) for word in wanted), normal or (0.0, 0.0, 1.0))


def _words(task: str | Sequence[str], orientation: str) -> list[str]:
    if not isinstance(task, str):
        if not isinstance(task, Iterable) or not all(isinstance(word, str) for word in task):
            raise DalembertError(f"task is {task!r}; it is a word like 'pose' or 'xy', or a list of row names")
        return list(task)
    known = {"pose": (*POSITION, *TURNS[orientation]), "position": POSITION, "orientation": TURNS[orientation]}
    if task in known:
        return list(known[task])
    if task and set(task) <= set("xyz"):
        return list(task)
    return task.replace(",", " ").split()


def _only_axis(arm: Arm, chain: AnyMechanism) -> tuple[float, float, float] | None:
    """The unit vector about which every joint turns the tip, or None."""
    J = np.array([equations.jacobian(chain, q) for q in arm._placed(spread(arm, 4))], float)[:, 3:]
    columns = np.moveaxis(J, 1, -1).reshape(-1, 3)
    columns = columns[np.linalg.norm(columns, axis=1) > 1e-9]
    if not len(columns):
        return None
    n = columns[0] / np.linalg.norm(columns[0])
    if np.abs(np.cross(columns, n)).max() > 1e-9:
        return None
    n = n * np.sign(n[np.argmax(np.abs(n))])
    x, y, z = (float(round(v, 12)) + 0.0 if abs(v - round(v)) < 1e-12 else float(v) for v in n)
    return x, y, z


def _movable(arm: Arm, chain: AnyMechanism, orientation: str, normal: tuple[float, float, float] | None) -> Space:
    """Row by row, those that can be moved while the ones before them stand still."""
    every = Space(orientation, (0, 1, 2, ANGLE) if normal else (0, 1, 2, 3, 4, 5), normal or (0.0, 0.0, 1.0))
    Js = np.array([equations.analytical(chain, every, q).J for q in arm._placed(spread(arm, 6))], float)
    taken: list[int] = []
    for k in range(every.m):
        trial = Js[:, [*taken, k]]
        norms = np.linalg.norm(trial, axis=-1, keepdims=True)
        if (norms[:, -1] > 1e-9).any():
            least = np.linalg.svd(trial / np.maximum(norms, 1e-9), compute_uv=False)[:, -1]
            if len(taken) < arm.n and least.max() > 1e-6:
                taken.append(k)
    if not taken:
        raise DalembertError(f"no joint of arm '{arm.name}' moves this frame")
    return dataclasses.replace(every, rows=tuple(every.rows[k] for k in taken))
