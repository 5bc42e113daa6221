"""Inverse kinematics: forward kinematics undone, for every kind of arm, with limits and with joints to spare."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.trajectory.planning.limits import joint_ranges, position_limits, random_poses

AIMS = {
    "puma560": "pose",
    "panda": "pose",
    "planar-3r": "pose",
    "scara": "pose",
    "planar-2r": "position",
    "cartesian-2": "position",
    "five-bar": "position",
    "pendulum": "position",
}


@pytest.mark.parametrize("name", AIMS)
def test_inverse_of_forward_kinematics_is_identity(name: str) -> None:
    arm = da.load(name)
    q = random_poses(arm, np.random.default_rng(3), 2)
    found = da.inverse_kinematics(arm, arm.pose(q))
    assert found.task == AIMS[name] and found.reached.all() and found.error.max() < 1e-9
    rows = slice(3) if found.task == "position" else slice(4)
    assert np.abs((arm.pose(found.q) - arm.pose(q))[:, rows, 3]).max() < 1e-9
    if found.task == "pose":
        assert np.abs(arm.pose(found.q) - arm.pose(q)).max() < 2e-9
    lower, upper = position_limits(arm)
    assert np.all((found.q >= lower - 1e-9) & (found.q <= upper + 1e-9))
    assert np.abs(da.inverse_kinematics(arm, arm.pose(q), q).q - q).max() < 1e-8  # the nearest to q is q


def test_all_eight_solutions_of_a_spherical_wrist_are_found() -> None:
    arm = da.load("puma560")
    for q in random_poses(arm, np.random.default_rng(7), 3):
        found = da.inverse_kinematics(arm, arm.pose(q), solutions="all", respect_limits=False).solutions
        assert len(found) == 8 and np.abs(arm.pose(found) - arm.pose(q)).max() < 1e-9
        apart = np.abs(np.mod(found[:, None] - found + np.pi, 2 * np.pi) - np.pi).max(axis=-1)
        assert (apart + 10 * np.eye(8)).min() > 1e-3
        assert (np.abs(np.mod(found - q + np.pi, 2 * np.pi) - np.pi).max(axis=-1) < 1e-8).any()  # q is one of them
        kept = da.inverse_kinematics(arm, arm.pose(q), solutions="all").solutions
        lower, upper = position_limits(arm)
        assert 1 <= len(kept) <= 8 and np.all((kept >= lower - 1e-9) & (kept <= upper + 1e-9))


def test_both_elbows_of_two_links_are_those_of_the_cosine_rule() -> None:
    arm = da.load("planar-2r")
    found = da.inverse_kinematics(arm, (0.2, 0.0), solutions="all", respect_limits=False).solutions
    elbow = np.arccos((0.2**2 - 2) / 2)  # both links are 1 m long
    assert np.allclose(np.sort(found[:, 1]), [-elbow, elbow], atol=1e-9)


def test_redundant_arms_come_as_near_as_their_task_lets_them() -> None:
    """The distance to q0 has no slope left along the self-motion, but for joints at their limits."""
    arm = da.load("panda")
    q = random_poses(arm, np.random.default_rng(2), 1)[0]
    q0 = np.clip(q + 0.2, *joint_ranges(arm))
    found = da.inverse_kinematics(arm, arm.pose(q), q0).q
    J = arm.jacobian(found)
    null = np.linalg.svd(J)[2][6]
    lower, upper = position_limits(arm)
    assert np.linalg.norm(found - q0) <= np.linalg.norm(q - q0) + 1e-9
    assert abs(null @ (found - q0)) < 1e-6 or np.any((found < lower + 1e-9) | (found > upper - 1e-9))
    assert np.abs(arm.pose(found) - arm.pose(q)).max() < 2e-9


def test_the_tool_axis_leaves_the_turn_about_it_free() -> None:
    arm = da.load("puma560")
    q = random_poses(arm, np.random.default_rng(4), 1)[0]
    pose = arm.pose(q)
    spun = pose.copy()
    spun[:3, :3] = pose[:3, :3] @ [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    one, other = (da.inverse_kinematics(arm, x, q, task="position+axis").q for x in (pose, spun))
    assert np.abs(one - q).max() < 1e-8 and np.abs(other - q).max() < 1e-8  # the same task
    assert np.abs(arm.pose(one)[:3, 2:] - pose[:3, 2:]).max() < 1e-9


# rows (a in m, α in quarter turns, d in m, type) and a configuration whose tip position was once called out of reach
REACHABLE: list[tuple[list[tuple[float, int, float, str]], list[float]]] = [
    ([(0.5, 1, 0.0, "r"), (0.0, -1, 0.3, "r"), (0.0, 1, 0.0, "r"), (0.5, 1, 0.0, "r"), (0.3, 0, 0.3, "r"), (0.5, 0, 0.0, "r")], [-2.2409, 2.7767, -2.2034, -1.6434, -0.7377, 0.7405]),
    ([(0.3, 1, 0.3, "r"), (0.0, 0, 0.3, "r"), (0.5, -1, 0.0, "r"), (0.0, -1, 0.0, "r"), (0.0, 0, 0.0, "r"), (0.5, 1, 0.3, "r")], [1.459, 0.039, 0.008, -0.283, 0.417, -0.028]),
    ([(0.5, -1, 0.3, "r"), (0.5, -1, 0.3, "r"), (0.5, 0, 0.0, "r"), (0.0, -1, 0.0, "r"), (0.3, 0, 0.3, "p"), (0.5, -1, 0.3, "p")], [1.755, -0.545, -0.886, -0.716, 0.82, 1.462]),
    ([(0.3, 1, 0.3, "r"), (0.0, -1, 0.3, "p"), (0.3, 0, 0.0, "r")], [-0.708, 1.373, -1.646]),
    ([(0.3, 1, 0.0, "p"), (0.0, 1, 0.0, "p"), (0.3, 0, 0.3, "r"), (0.3, 1, 0.0, "r")], [0.229, -1.83, -1.965, -0.614]),
]  # fmt: skip


def dh_arm(rows: list[tuple[float, int, float, str]], size: float = 1.0) -> da.Arm:
    kinds = {"r": "revolute", "p": "prismatic"}
    return da.from_dh(
        [
            {"a": f"{size * a} m", "alpha": turns * np.pi / 2, "d": f"{size * d} m", "type": kinds[kind], "mass": 1.0}
            for a, turns, d, kind in rows
        ]
    )


@pytest.mark.parametrize("case", range(len(REACHABLE)))
def test_positions_that_the_tip_takes_are_found_for_arms_of_any_size(case: int) -> None:
    """Redundant arms whose self-motion curves sharply, and the same arms a thousand million times smaller."""
    rows, at = REACHABLE[case]
    for size in (1.0, 1e-9):
        arm = dh_arm(rows, size)
        q = np.where([kind == "p" for *_, kind in rows], size, 1.0) * at
        found = da.inverse_kinematics(arm, arm.pose(q), task="position")
        assert np.abs(arm.pose(found.q) - arm.pose(q))[:3, 3].max() < 1e-8 * size and found.error[0] < 1e-8 * size


def test_dependent_axes_are_no_error_of_linear_algebra() -> None:
    """Two coaxial joints, whatever the length of the link: J Jᵀ is singular everywhere."""
    for length in (0.0, 10.0, 1e10):
        arm = dh_arm([(0.0, 0, 0.0, "r"), (length, 0, 0.0, "r"), (0.0, 1, 0.0, "r")])
        for task in ("position", "position+axis", "pose"):
            try:
                found = da.inverse_kinematics(arm, arm.pose([0.44, -0.19, 0.3]), task=task)
                assert found.error[0] <= 1e-8 * length and found.error[1] < 1e-8
            except DalembertError as refusal:
                assert "no joint" in str(refusal) and length == 0.0


def test_out_of_reach_is_said_only_where_the_arm_is_too_short() -> None:
    arm = dh_arm([(1.0, 0, 0.0, "r"), (0.5, 0, 0.0, "r")])
    with pytest.raises(DalembertError, match=r"out of reach, the closest it gets is 0\.5 m away"):
        da.inverse_kinematics(arm, (2.0, 0.0))
    with pytest.raises(DalembertError, match=r"out of reach, the closest it gets is 1 m away"):  # off its plane
        da.inverse_kinematics(arm, (1.0, 0.0, 1.0))
    with pytest.raises(DalembertError, match=r"no configuration was found, the closest one is 0\.3 m away"):  # inside
        da.inverse_kinematics(arm, (0.2, 0.0))
    slider = dh_arm([(1.0, 1, 0.0, "r"), (0.0, 0, 0.0, "p")])  # has no limits, so that no distance is too far
    assert da.inverse_kinematics(slider, slider.pose([0.3, 7.0]), task="position").reached


def test_poses_out_of_reach_are_named_with_the_nearest() -> None:
    arm = da.load("planar-2r")
    with pytest.raises(
        DalembertError, match=r"cannot be at \(3, 0, 0\) m: out of reach, the closest it gets is 1 m away"
    ):
        da.inverse_kinematics(arm, (3.0, 0.0))
    nearest = da.inverse_kinematics(arm, [(3.0, 0.0), (1.0, 0.5)], unreachable="nearest")
    assert nearest.reached.tolist() == [False, True] and abs(nearest.error[0, 0] - 1.0) < 1e-6
    tilted = da.load("scara").pose([0.1, 0.2, 0.1, 0.3]) @ np.diag([1.0, -1.0, -1.0, 1.0])
    with pytest.raises(DalembertError, match=r"no configuration was found, the closest one is rotated by 3.142 rad"):
        da.inverse_kinematics(da.load("scara"), tilted)
    limited = da.load("puma560")
    assert limited.robot.moving_joints[0].limits.upper is not None


def test_an_axis_that_no_task_uses_is_refused() -> None:
    arm = da.load("puma560")
    pose = arm.pose([0.3, -0.5, 0.8, 0.4, 0.9, -0.2])
    for goal, task in ((pose, "pose"), (pose[:3, 3], "position")):
        with pytest.raises(
            DalembertError, match=rf"but the task is '{task}': a tip axis applies only to task='position\+axis'"
        ):
            da.inverse_kinematics(arm, goal, axis=(0, 0, -1))
    assert da.inverse_kinematics(arm, pose, task="position+axis", axis=(0, 0, -1)).reached


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"pose": np.eye(3)[0, :2]}, ShapeError, "also moves in z"),
        ({"pose": np.eye(5)}, ShapeError, r"must be \(…, 4, 4\) transforms"),
        ({"pose": 2 * np.eye(4)}, DalembertError, "not a homogeneous transform"),
        ({"pose": np.eye(4), "task": "tip"}, DalembertError, "task is 'tip'; it must be 'pose', 'position"),
        ({"pose": np.eye(4), "solutions": 0}, DalembertError, "an integer of at least 1, or 'all'"),
        ({"pose": np.eye(4), "prefer": "q"}, DalembertError, "'mid-range' or 'zero'"),
        ({"pose": np.zeros(3), "task": "pose"}, ShapeError, "needs an orientation"),
        ({"pose": np.eye(4), "q0": [0.0]}, ShapeError, "has 6 joints"),
        ({"pose": np.eye(4), "unreachable": "nan"}, DalembertError, "'error' or 'nearest'"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        da.inverse_kinematics(da.load("puma560"), **arguments)
