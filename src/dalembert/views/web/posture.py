"""The initial posture of an arm on a page: above its base, bent, and far from singularities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.algebra.vectors import rotation_about
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Joint

BENDS = (math.radians(30.0), math.radians(60.0))  # whole degrees, which are easy to read
MOST_SIGNS = 6  # number of joints that are tried in both directions


def first_posture(arm: Arm) -> list[float]:
    """q (n,) in rad and m, within the limits; closed chains stay near home, where their loops close."""
    joints = arm.robot.moving_joints
    if arm.mechanism.loops:
        near = np.asarray(arm.home, float) + 0.3 * (-1.0) ** np.arange(arm.n)
        inside = all(_within(joint, x, 0.0) == x for joint, x in zip(joints, near.tolist(), strict=True))
        return [float(x) for x in (near if inside and np.all(arm.closes(near)) else arm.home)]
    postures = _candidates(joints)
    positions = np.array(postures) if arm.mechanism.identity else np.asarray(arm.tree_positions(np.array(postures)))
    scores = [_score(arm.mechanism.tree, q) for q in positions.tolist()]
    return postures[int(np.argmax(scores))]


def _candidates(joints: tuple[Joint, ...]) -> list[list[float]]:
    """Postures with every joint except the first bent by the same angle, in either direction."""
    tried = min(MOST_SIGNS, len(joints))

    def angle(k: int, bend: float, signs: int) -> float:
        if joints[k].type == "prismatic":
            return _middle(joints[k])
        return BENDS[0] if k == 0 else bend if k >= tried or signs >> k & 1 else -bend

    return [
        [_within(joint, angle(k, bend, signs)) for k, joint in enumerate(joints)]
        for bend in BENDS
        for signs in range(0, 2**tried, 2)
    ]


def _middle(joint: Joint) -> float:
    """The position of a partly extended prismatic joint (m)."""
    lower, upper = joint.limits.lower, joint.limits.upper
    known = lower is not None and upper is not None and np.isfinite(upper - lower)
    return 0.2 if not known else lower + 0.6 * (upper - lower)  # type: ignore[operator]


def _within(joint: Joint, value: float, margin: float = 0.1) -> float:
    """The position, clipped to the limits with a margin proportional to their range."""
    limits = joint.limits
    lower = -np.inf if limits.lower is None else limits.lower
    upper = np.inf if limits.upper is None else limits.upper
    inset = margin * (upper - lower) if np.isfinite(upper - lower) else 0.0
    return float(np.clip(value, lower + inset, upper - inset))


def _score(mechanism: Any, q: list[float]) -> float:
    """Score of a posture: manipulability plus reach, minus a penalty for parts below the base."""
    links: list[Placement] = []
    seats, axes = [], []
    for body, value in zip(mechanism.bodies, q, strict=True):
        seat = (links[body.parent] if body.parent >= 0 else mechanism.base) @ body.placement
        value += float(body.offset)
        turned = Placement(rotation_about(body.axis, value))
        moved = turned if body.revolute else Placement(translation=value * body.axis)
        links.append(seat @ moved @ body.link_frame)
        seats.append(np.array(seat.translation, float))
        axes.append(np.array(seat.direction(body.axis), float))
    tip = np.array((links[mechanism.tip_body] @ mechanism.tip).translation, float)
    points = np.array([*seats, *(np.array(link.translation, float) for link in links), tip])
    base = np.array(mechanism.base.translation, float)
    reach = float(np.linalg.norm(points - base, axis=1).max()) or 1.0
    path = mechanism.path(mechanism.tip_body)
    columns = [np.cross(axes[i], tip - seats[i]) / reach if mechanism.bodies[i].revolute else axes[i] for i in path]
    values = np.linalg.svd(np.array(columns), compute_uv=False)
    spread = float(np.prod(values[values > 1e-3]))
    gravity = np.array(mechanism.gravity, float)
    up = -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])
    heights = (points - base) @ up / reach
    away = np.linalg.norm(points - base, axis=1) > 0.15 * reach
    lowest = min(float(heights[away].min(initial=1.0)), 0.15)
    forward = float(np.linalg.norm(tip - base - (tip - base) @ up * up)) / reach
    return spread + 4.0 * min(lowest - 0.1, 0.0) + 0.3 * forward
