"""An arm as lines, as strokes with a width and a colour, and suitable views of it: for figures, notebooks and animations.

A revolute joint is a short cylinder along its axis, a prismatic joint a block; the tip has its three axes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import brief
from dalembert.views.report.colours import AXES, joint_colour
from dalembert.work.tip.task_rows import spread

ROUNDING = 1e-9  # m: shorter links have no direction
LINK, ROD, PASSIVE = "#8795a3", "#a9b5c0", "#b4bec8"  # links, rods of prismatic joints, passive joints


@brief
@dataclass(frozen=True)
class Pose:
    """The arm at one instant, in base axes (m).

    lines   the links, (k, 3) each; ``rails``: the extended parts of prismatic joints
    tip     (3,) and its axes in the columns of ``tip_axes`` (3, 3)
    seats   (N, 3) of all joints of the tree: position on the parent; ``axes``: direction of the axis
    pins    (k, 3) positions of loop closures
    """

    lines: list[Array]
    rails: list[Array]
    tip: Array
    tip_axes: Array
    seats: Array
    axes: Array
    pins: Array

    @property
    def points(self) -> Array:
        """All points of the pose, (k, 3)."""
        return np.concatenate(
            [*(line.reshape(-1, 3) for line in (*self.lines, *self.rails)), self.seats, self.tip[None]]
        )


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
        pins = np.array([(at[i] @ p)[:3] for i, points in cuts.items() if i >= 0 for p in points]).reshape(-1, 3)
        out.append(Pose(lines, rails, tip, tip_frame[:3, :3], np.array(begins), np.array(axes), pins))
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


# -- strokes -------------------------------------------------------------------------------------


@brief
@dataclass(frozen=True)
class Stroke:
    """A straight stroke: ``ends`` (2, 3) in base axes (m), its width (points), and whether its ends are round."""

    ends: Array
    colour: str
    width: float
    round: bool = True
    outlined: bool = True
    lift: float = 0.0  # shift towards the viewer in the painting order (m)


def size_of(arm: Arm, poses: list[Pose]) -> float:
    """The size of the arm (m), to which the parts of its picture are scaled."""
    base = np.array(arm.robot.base.translation, float)
    reach = max(float(np.abs(pose.points - base).max()) for pose in poses)
    return reach if reach > 1e-9 else 1.0


def strokes(arm: Arm, pose: Pose, size: float) -> list[Stroke]:
    """The arm at one instant; the number and order of strokes never change, so that they can be followed over time."""
    number_of = {body: i for i, body in enumerate(arm.mechanism.actuated)}
    half, wide = 0.045 * size, 1.0 if len(pose.seats) <= 8 else 0.8
    out = [Stroke(line, ROD, 3.0 * wide) for line in pose.rails]
    out += [Stroke(np.array(ends), LINK, 5.0 * wide) for line in pose.lines for ends in itertools.pairwise(line)]
    for k, (seat, axis) in enumerate(zip(pose.seats, pose.axes, strict=True)):
        colour = joint_colour(number_of[k]) if k in number_of else PASSIVE
        turns = arm.mechanism.tree.bodies[k].revolute
        width, lift = (8.5, 0.0) if turns else (11.0, 0.5 * size)  # a block is painted over the rod inside it
        out.append(Stroke(np.array([seat - half * axis, seat + half * axis]), colour, width * wide, turns, lift=lift))
    out += [Stroke(np.array([pin, pin]), PASSIVE, 8.5 * wide, lift=0.01 * size) for pin in pose.pins]
    for colour, way in zip(AXES, pose.tip_axes.T, strict=True):
        out.append(Stroke(np.array([pose.tip, pose.tip + 0.11 * size * way]), colour, 2.0, outlined=False))
    return out


def plate(arm: Arm, size: float) -> Array:
    """The plate under the base, perpendicular to gravity: the edge of a disc, (k, 3)."""
    g = np.array(arm.robot.gravity, float)
    z = g / np.linalg.norm(g) if g.any() else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    angle = np.linspace(0, 2 * np.pi, 33)[:, None]
    circle = np.cos(angle) * x + np.sin(angle) * np.cross(z, x)
    return np.array(arm.robot.base.translation, float) + 0.11 * size * circle


# -- views ---------------------------------------------------------------------------------------


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


def views_of(arm: Arm, poses: list[Pose]) -> list[View]:
    """Views of the arm: perpendicular if it stays in a plane of base axes, otherwise from a corner and from the side."""
    points = [pose.points for pose in (*poses, *skeleton(arm, spread(arm, 4)))]
    sides = np.ptp(np.concatenate([*points, [arm.robot.base.translation]]), axis=0)
    gravity = np.array(arm.robot.gravity, float)
    flat = [k for k in range(3) if sides[k] < 1e-6 * max(sides.max(), 1e-9)]
    upwards = int(np.argmax(np.abs(gravity))) if gravity.any() else 2
    if flat:
        away = flat[-1] if upwards not in flat[-1:] or len(flat) == 1 else flat[0]
        across, up = (k for k in range(3) if k != away)
        if across == upwards and up != upwards:
            across, up = up, across
        return [_square("", across, up)]
    widest = max((k for k in range(3) if k != upwards), key=lambda k: sides[k])
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


def by_depth(drawn: list[Stroke], view: View) -> list[Stroke]:
    """The strokes in painting order: the farthest first; the tip's axes on top."""
    way = np.cross(*view.matrix)  # out of the page
    return [*sorted(drawn[:-3], key=lambda stroke: float(stroke.ends.mean(axis=0) @ way) + stroke.lift), *drawn[-3:]]
