"""Inverse kinematics of the page: goals are reached within the limits, or the nearest point is; the tip follows the pointer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from arms import random_robot
from in_node import with_robot

# as while the handle is held: twelve rounds per frame, as long as the arm moves
SOLVE = """
import { inverseKinematics } from "./inverse_kinematics.js";
const follow = (position, from) => {
  let [solution, moves, rounds] = [{ q: from }, true, 0];
  for (let frame = 0; frame < 300 && moves; frame++) {
    const next = inverseKinematics(robot, position, solution.q, 12);
    moves = next.q.some((x, i) => Math.abs(x - solution.q[i]) > 1e-11);
    rounds += next.rounds;
    solution = next;
  }
  return { ...solution, rounds };
};
result = given.goals.map(({ position, from }) => follow(position, from));
"""


def nine_joints() -> da.Arm:
    return da.Arm(replace(random_robot(np.random.default_rng(9), 9, tree=False, extras=False), name="nine"))


def random_postures(arm: da.Arm, count: int) -> np.ndarray:
    """Postures in the middle two thirds of the limits, or near home."""
    rng = np.random.default_rng(3)
    lower, upper = (
        np.array([getattr(j.limits, end) or 0.0 for j in arm.robot.moving_joints]) for end in ("lower", "upper")
    )
    known = (upper > lower) & (upper - lower < 7.0)
    centre = np.where(known, 0.5 * (lower + upper), np.asarray(arm.home))
    half = np.where(known, (upper - lower) / 3.0, 0.4 if arm.loops else 2.0)
    return centre + half * rng.uniform(-1, 1, (count, arm.n))


ARMS = [
    "pendulum",
    "planar-2r",
    "planar-3r",
    "cartesian-2",
    "pr-arm",
    "scara",
    "stanford",
    "puma560",
    "ur5e",
    "panda",
    "parallelogram",
]


@pytest.mark.parametrize("name", [*ARMS, "nine"])
def test_goals_that_can_be_reached_are_reached_within_the_limits(name: str, tmp_path: Path) -> None:
    arm = nine_joints() if name == "nine" else da.load(name)
    there = random_postures(arm, 25)
    rng = np.random.default_rng(4)
    goals = []
    for q in there:
        T = arm.pose(q)
        from_ = q + rng.uniform(-0.25, 0.25, arm.n)
        goals.append({"position": T[:3, 3].tolist(), "from": from_.tolist()})
    solutions = with_robot(tmp_path, arm, SOLVE, {"goals": goals})
    for goal, solution in zip(goals, solutions, strict=True):
        T = arm.pose(np.array(solution["q"]))
        assert np.abs(T[:3, 3] - goal["position"]).max() < 1e-10
        for x, joint in zip(solution["q"], arm.robot.moving_joints, strict=True):
            assert joint.limits.lower is None or x >= joint.limits.lower
            assert joint.limits.upper is None or x <= joint.limits.upper


def test_goals_beyond_reach_give_the_nearest_point(tmp_path: Path) -> None:
    """Of a planar arm that reaches 2 m, also for goals beside its plane; a stretched arm creeps towards it."""
    arm, rng = da.load("planar-2r"), np.random.default_rng(5)
    ways = rng.uniform(0, 2 * np.pi, 10)
    goals = [
        {"position": [3.0 * np.cos(a), 3.0 * np.sin(a), rng.normal()], "from": [a + 0.4, 0.9]} for a in ways.tolist()
    ]
    for goal, solution in zip(goals, with_robot(tmp_path, arm, SOLVE, {"goals": goals}), strict=True):
        x, y, z = goal["position"]
        assert solution["distance"] == pytest.approx(np.hypot(np.hypot(x, y) - 2.0, z), rel=1e-3)


def test_joints_at_their_limits_stay_there_and_the_others_go_on(tmp_path: Path) -> None:
    """The nearest point of a planar arm whose elbow may bend between 0 and 1 rad, for a goal near its base."""
    arm = da.load("planar-2r")
    elbow = arm.robot.joints[1]
    bounded = arm.replace(
        joints=(arm.robot.joints[0], replace(elbow, limits=replace(elbow.limits, lower=0.0, upper=1.0))), name="bounded"
    )
    (solution,) = with_robot(tmp_path, bounded, SOLVE, {"goals": [{"position": [0.3, 0.2, 0.0], "from": [0.0, 0.5]}]})
    assert solution["q"][1] == 1.0
    assert solution["distance"] == pytest.approx(2 * np.cos(0.5) - np.hypot(0.3, 0.2), rel=1e-9)


def test_the_unit_of_length_does_not_matter(tmp_path: Path) -> None:
    """A millionth of the size: as many rounds, and the same posture."""
    code = (
        SOLVE
        + """
const whole = result;
robot.held.change({ lengths: robot.numbers.lengths.map((x) => 1e-6 * x) });
const small = given.goals.map(({ position, from }) =>
  follow(position.map((x) => 1e-6 * x), from));
result = [whole, small];
"""
    )
    arm = da.load("ur5e")
    goals = [{"position": arm.pose(q)[:3, 3].tolist(), "from": (q + 0.3).tolist()} for q in random_postures(arm, 5)]
    for whole, small in zip(*with_robot(tmp_path, arm, code, {"goals": goals}), strict=True):
        assert np.abs(np.array(whole["q"]) - small["q"]).max() < 1e-6
        assert abs(whole["rounds"] - small["rounds"]) <= 2


TIP = "() => { const T = dalembert.robot.pose(dalembert.app.state.q); return [T[3], T[7], T[11]]; }"


@pytest.mark.parametrize("name", ["planar-2r", "panda", "parallelogram"])
def test_the_tip_follows_the_handle(name: str, page_of: Callable[..., Any]) -> None:
    page = page_of(name)
    handle = page.locator(".stage-handle")
    before = np.array(page.evaluate(TIP))
    box = handle.bounding_box()
    x, y = round(box["x"] + box["width"] / 2), round(box["y"] + box["height"] / 2)  # events have integers
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 30, y + 25, steps=6)
    target = page.evaluate(
        "([x, y, p]) => { const { stage } = dalembert.app; const { from } = stage.handle;"
        " return Array.from(stage.camera.inPlane(x - from.x, y - from.y, from.point)); }",
        [x - 30, y + 25, before.tolist()],
    )
    page.wait_for_timeout(300)
    page.mouse.up()
    after = np.array(page.evaluate(TIP))
    assert np.linalg.norm(after - before) > 0.01
    planar = name != "panda"
    seen = slice(0, 2) if planar else slice(0, 3)
    assert np.abs(after[seen] - np.array(target)[seen]).max() < 1e-9
    box = handle.bounding_box()
    if not planar:
        assert abs(box["x"] + box["width"] / 2 - (x - 30)) < 2 and abs(box["y"] + box["height"] / 2 - (y + 25)) < 2


def test_arrow_keys_move_the_tip(page_of: Callable[..., Any]) -> None:
    page = page_of("panda")
    before = np.array(page.evaluate(TIP))
    page.locator(".stage-handle").focus()
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    page.wait_for_timeout(100)
    assert np.linalg.norm(np.array(page.evaluate(TIP)) - before) > 0.01
