"""An arm as three-dimensional strokes with a width and a colour, shared by figures, notebooks and animations.

A revolute joint is a short cylinder along its axis, a prismatic joint a block; the tip has its three axes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import brief
from dalembert.views.report.colours import joint_colour
from dalembert.views.report.figures import AXES
from dalembert.views.report.skeleton import Pose, View, skeleton, views
from dalembert.work.tip.task_rows import spread

LINK, ROD, PASSIVE = "#8795a3", "#a9b5c0", "#b4bec8"  # links, rods of prismatic joints, passive joints


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
    reach = max(float(np.abs(points_of(pose) - base).max()) for pose in poses)
    return reach if reach > 1e-9 else 1.0


def points_of(pose: Pose) -> Array:
    """All points of a pose: (k, 3)."""
    return np.concatenate([*(line.reshape(-1, 3) for line in (*pose.lines, *pose.rails)), pose.seats, pose.tip[None]])


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
    pins = pose.turns[sum(body.revolute for body in arm.mechanism.tree.bodies) :]  # loop closures
    out += [Stroke(np.array([pin, pin]), PASSIVE, 8.5 * wide, lift=0.01 * size) for pin in pins]
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


def views_of(arm: Arm, poses: list[Pose]) -> list[View]:
    """Suitable views of the arm: perpendicular if it always stays in a plane, otherwise from a corner and from the side."""
    points = [points_of(pose) for pose in (*poses, *skeleton(arm, spread(arm, 4)))]
    return views(np.concatenate([*points, [arm.robot.base.translation]]), arm)


def by_depth(drawn: list[Stroke], view: View) -> list[Stroke]:
    """The strokes in painting order: the farthest first; the tip's axes on top."""
    way = np.cross(*view.matrix)  # out of the page
    return [*sorted(drawn[:-3], key=lambda stroke: float(stroke.ends.mean(axis=0) @ way) + stroke.lift), *drawn[-3:]]
