"""The initial posture of an arm on a page: above its base, bent, and far from singularities; and a slow motion from there."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.work.trajectory.planning.joined import join
from dalembert.work.trajectory.planning.limits import joint_ranges, position_limits
from dalembert.work.trajectory.planning.profiles import polynomial
from dalembert.work.trajectory.planning.trajectory import Trajectory

BENDS = (math.radians(30.0), math.radians(60.0))  # whole degrees, which are easy to read
MOST_SIGNS = 6  # number of joints that are tried in both directions
SHARE, CLOSED_SHARE = 0.4, 0.15  # of the way to the end of a joint's range; of arms with loops
TURNING, SLIDING = 0.5, 0.15  # rad/s, m/s: mean speeds of a tour
SLOWLY = 0.25  # of a joint's velocity limit
SHORTEST = 1.0  # s, of a part of a tour
CHECKED = 200  # instants at which loops must close


def first_posture(arm: Arm) -> list[float]:
    """q (n,) in rad and m, within the limits; closed chains stay near home, where their loops close."""
    low, high = position_limits(arm)
    if arm.mechanism.loops:
        near = np.asarray(arm.home, float) + 0.3 * (-1.0) ** np.arange(arm.n)
        inside = bool(((low <= near) & (near <= high)).all() and np.all(arm.closes(near)))
        return [float(x) for x in (near if inside else arm.home)]
    postures = _candidates(arm, low, high)
    return [float(x) for x in postures[int(np.argmax(_scores(arm, postures)))]]


def tour(arm: Arm) -> Trajectory | None:
    """A slow motion from the initial posture towards both ends of every joint's range and back, neighbouring joints in
    opposite directions; None if the loops of the arm do not close all along."""
    first, (low, high) = np.array(first_posture(arm)), joint_ranges(arm)
    up = np.arange(arm.n) % 2 == 0
    share = CLOSED_SHARE if arm.mechanism.loops else SHARE
    ends = [first + share * (np.where(towards, high, low) - first) for towards in (up, ~up)]
    limits = np.array([joint.limits.velocity or np.inf for joint in arm.robot.moving_joints])
    usual = np.array([SLIDING if joint.type == "prismatic" else TURNING for joint in arm.robot.moving_joints])
    legs = []
    for start, end in pairwise([first, *ends, first]):
        mean = np.abs(end - start) / np.minimum(usual, SLOWLY * limits)
        legs.append(polynomial(start, end, max(float(mean.max()), SHORTEST), degree=5))
    motion = join(legs)
    if arm.mechanism.loops and not np.all(arm.closes(motion(np.linspace(0.0, motion.duration, CHECKED))[0])):
        return None
    return motion


def _candidates(arm: Arm, low: Array, high: Array) -> Array:
    """Postures (N, n) with every joint except the first bent by the same angle, in either direction, and prismatic joints
    partly extended; away from the limits by a tenth of their range."""
    joint, tried = np.arange(arm.n), min(MOST_SIGNS, arm.n)
    forward = (np.arange(0, 2**tried, 2)[:, None] >> np.minimum(joint, tried)) & 1
    signs = np.where((forward == 1) | (joint >= tried), 1.0, -1.0)
    q = np.concatenate([bend * signs for bend in BENDS])
    q[:, 0] = BENDS[0]
    known = np.isfinite(high - low)
    span = np.where(known, high - low, 0.0)
    slides = [joint.type == "prismatic" for joint in arm.robot.moving_joints]
    q[:, slides] = np.where(known, low + 0.6 * span, 0.2)[slides]
    return np.clip(q, low + 0.1 * span, high - 0.1 * span)


def _scores(arm: Arm, q: Array) -> Array:
    """Scores of postures q (N, n): manipulability plus reach, minus a penalty for parts below the base."""
    base = np.array(arm.robot.base.translation, float)
    tip = arm.pose(q)[:, :3, 3] - base
    points = np.concatenate([arm.link_poses(q)[..., :3, 3] - base, tip[:, None]], axis=1)
    distances = np.linalg.norm(points, axis=-1)
    reach = np.where(distances.any(axis=-1), distances.max(axis=-1), 1.0)[:, None]
    turning = [joint.type != "prismatic" for joint in arm.robot.moving_joints]
    jacobian = arm.jacobian(q)[:, :3] / np.where(turning, reach, 1.0)[:, None]
    values = np.linalg.svd(jacobian, compute_uv=False)
    spread = np.where(values > 1e-3, values, 1.0).prod(axis=-1)
    gravity = np.array(arm.robot.gravity, float)
    up = -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])
    heights = np.where(distances > 0.15 * reach, points @ up / reach, 1.0)
    low = np.minimum(np.minimum(heights.min(axis=-1), 0.15) - 0.1, 0.0)
    forward = np.linalg.norm(tip - (tip @ up)[:, None] * up, axis=-1) / reach[:, 0]
    return np.asarray(spread + 4.0 * low + 0.3 * forward)
