"""An arm as lines: its links and joints, and suitable views of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import brief

ROUNDING = 1e-9  # m: shorter links have no direction


@brief
@dataclass(frozen=True)
class Pose:
    """The arm at one instant, in base axes (m).

    lines   the links, (k, 3) each; ``rails``: the extended parts of prismatic joints
    turns, slides   (k, 3) positions of revolute and prismatic joints; ``tip`` (3,), and ``tip_axes`` (3, 3) its axes in columns
    seats, axes     (N, 3) of all joints of the tree: position on the parent, and direction of the axis
    """

    lines: list[Array]
    rails: list[Array]
    turns: Array
    slides: Array
    tip: Array
    tip_axes: Array
    seats: Array
    axes: Array


def skeleton(arm: Arm, q: Array) -> list[Pose]:
    """The arm at each of the configurations q (N, n)."""
    mechanism = arm.mechanism.tree  # all links of closed chains
    bodies, robot = mechanism.bodies, arm.robot
    cuts: dict[int, list[Array]] = {}  # loop closures on a body, in its own axes
    for loop in arm.mechanism.loops:
        for body, place in ((loop.ends.body_a, loop.ends.place_a), (loop.ends.body_b, loop.ends.place_b)):
            cuts.setdefault(body, []).append(np.array([*place.translation, 1.0], float))
    links, tips = arm.link_poses(q), arm.pose(q)
    base = _matrix(robot.base)
    out = []
    for at, tip_frame in zip(links, tips, strict=True):
        tip = tip_frame[:3, 3]
        begins, moved, axes = [], [], []  # position on the parent, displaced position, axis of each joint
        for i, body in enumerate(bodies):
            frame = (at[body.parent] if body.parent >= 0 else base) @ _matrix(body.placement)
            begins.append(frame[:3, 3])
            axes.append(frame[:3, :3] @ np.array(body.axis, float))
            moved.append((at[i] @ np.linalg.inv(_matrix(body.link_frame)))[:3, 3])
        lines, rails = [], []
        for j in mechanism.children(-1):
            lines.append(np.array([base[:3, 3], begins[j]]))
        for i, body in enumerate(bodies):
            if not body.revolute:
                rails.append(np.array([begins[i], moved[i]]))
            ends = [begins[j] for j in mechanism.children(i)] + [(at[i] @ p)[:3] for p in cuts.get(i, [])]
            if i == mechanism.tip_body:
                ends.append(tip)
            for end in ends or [at[i][:3, 3]]:
                lines.append(_elbow(moved[i], end, axes[i]))
        pins = [(at[i] @ p)[:3] for i, points in cuts.items() if i >= 0 for p in points]
        turns = np.array([*(p for p, body in zip(begins, bodies, strict=True) if body.revolute), *pins]).reshape(-1, 3)
        slides = np.array([p for p, body in zip(moved, bodies, strict=True) if not body.revolute]).reshape(-1, 3)
        out.append(Pose(lines, rails, turns, slides, tip, tip_frame[:3, :3], np.array(begins), np.array(axes)))
    return out


def _elbow(start: Array, end: Array, axis: Array) -> Array:
    """A link from its joint to the next: first along the joint's axis, then across, as d and a in DH tables."""
    along = ((end - start) @ axis) * axis
    across = end - start - along
    shorter = min(np.linalg.norm(along), np.linalg.norm(across))
    if shorter < max(0.02 * float(np.linalg.norm(end - start)), ROUNDING):
        return np.array([start, end])
    return np.array([start, start + along, end])


def _matrix(placement: Any) -> Array:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = placement.rotation, placement.translation
    return out


@brief
@dataclass(frozen=True)
class View:
    """A view: ``matrix`` (2, 3) maps a point to the page."""

    name: str
    matrix: Array
    across: str
    up: str
    scales: bool

    def extent(self, points: Array) -> float:
        """The largest side of points (N, 3) on the page (m)."""
        return max(float(np.ptp(points @ self.matrix.T, axis=0).max()), 1e-3)


def views(points: Array, arm: Arm) -> list[View]:
    """Suitable views of these points: perpendicular if they lie in a plane of base axes, otherwise two views."""
    spread, gravity = np.ptp(points, axis=0), np.array(arm.robot.gravity, float)
    flat = [k for k in range(3) if spread[k] < 1e-6 * max(spread.max(), 1e-9)]
    upwards = int(np.argmax(np.abs(gravity))) if gravity.any() else 2
    if flat:
        away = flat[-1] if upwards not in flat[-1:] or len(flat) == 1 else flat[0]
        across, up = (k for k in range(3) if k != away)
        if across == upwards and up != upwards:
            across, up = up, across
        return [_square("", across, up)]
    side = [k for k in range(3) if k != upwards]
    widest = side[0] if spread[side[0]] >= spread[side[1]] else side[1]
    return [_corner(upwards, gravity), _square("From the side", widest, upwards)]


def _square(name: str, across: int, up: int) -> View:
    matrix = np.zeros((2, 3))
    matrix[0, across] = matrix[1, up] = 1.0
    return View(name, matrix, f"{'xyz'[across]} (m)", f"{'xyz'[up]} (m)", True)


def _corner(upwards: int, gravity: Array) -> View:
    """The view from a corner and from above, in parallel projection."""
    z = np.zeros(3)
    z[upwards] = -np.sign(gravity[upwards]) if gravity[upwards] else 1.0
    x = np.roll(np.eye(3), 1, axis=1)[upwards]  # the axis after the vertical one
    y = np.cross(z, x)
    azimuth, height = np.radians(-58.0), np.radians(22.0)
    across = -np.sin(azimuth) * x + np.cos(azimuth) * y
    towards = np.cos(azimuth) * x + np.sin(azimuth) * y
    up = np.cos(height) * z - np.sin(height) * towards
    return View("From a corner", np.array([across, up]), "", "", False)
