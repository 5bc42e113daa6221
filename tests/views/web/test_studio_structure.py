"""A changed structure is what the library makes of the same changes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.views.studio.fields import StudioRequest, request
from dalembert.views.studio.structure import Structure, described, loop_lengths


def near(mine: da.Arm, theirs: da.Arm) -> bool:
    q, qd, qdd = np.random.default_rng(0).uniform(-0.3, 0.3, (3, theirs.n))
    q = q + (np.asarray(theirs.home) if theirs.loops else 0.0)
    return mine.joint_names == theirs.joint_names and np.allclose(
        mine.inverse_dynamics(q, qd, qdd), theirs.inverse_dynamics(q, qd, qdd), rtol=1e-12, atol=1e-12
    )


def test_nothing_changed_is_the_robot() -> None:
    robot = da.load("panda").robot
    assert request(Structure, StudioRequest({})) == Structure() and Structure().arm(robot).robot == robot


def test_tip_root_lock_and_payload_are_those_of_load() -> None:
    body = {
        "tip": "panda_link6",
        "root": "panda_link1",
        "lock": {"panda_joint3": 0.2},
        "payload": 1.5,
        "com": [0.1, 0, 0],
    }
    structure = request(Structure, StudioRequest(body))
    expected = da.load("panda", tip="panda_link6", root="panda_link1", lock={"panda_joint3": 0.2})
    assert near(structure.arm(da.load("panda").robot), expected.with_payload(1.5, (0.1, 0, 0)))
    assert request(Structure, StudioRequest(asdict(structure))) == structure


def test_rotors_can_be_left_out() -> None:
    robot = da.load("planar-2r").robot
    assert described(robot)["rotors"]
    mine = Structure(rotors=False).arm(robot)
    assert not described(mine.robot)["rotors"]
    assert near(mine, da.Arm(robot.replace(joints=tuple(joint.with_rotor(None) for joint in robot.joints))))
    assert not near(mine, da.Arm(robot))


@pytest.mark.parametrize("name", ["five-bar", "parallelogram", "palletizer"])
def test_lengths_of_closed_chains_are_found_and_changed(name: str) -> None:
    robot = da.load(name).robot
    lengths = loop_lengths(robot)
    assert lengths and not loop_lengths(da.load("planar-2r").robot)
    assert near(Structure(lengths=lengths).arm(robot), da.Arm(robot))
    chosen = next(iter(lengths))
    longer = Structure(lengths={chosen: 1.01 * lengths[chosen]})
    assert loop_lengths(longer.arm(robot).robot)[chosen] == pytest.approx(1.01 * lengths[chosen])


@pytest.mark.parametrize("name", ["five-bar", "parallelogram", "palletizer"])
def test_a_closed_chain_that_is_larger_in_all_lengths_reaches_farther_in_proportion(name: str) -> None:
    robot = da.load(name).robot
    lengths = {name: 1.1 * value for name, value in loop_lengths(robot).items()}
    q = np.asarray(da.Arm(robot).home) + 0.05
    larger = Structure(lengths=lengths).arm(robot)
    assert np.allclose(larger.pose(q)[:3, 3], 1.1 * da.Arm(robot).pose(q)[:3, 3], rtol=1e-12, atol=1e-12)
    assert np.allclose(larger.pose(q)[:3, :3], da.Arm(robot).pose(q)[:3, :3], atol=1e-12)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"tip": "nowhere"}, "there is no link 'nowhere'"),
        ({"root": "nowhere"}, "nowhere"),
        ({"lock": {"nowhere": 0.0}}, "nowhere"),
        ({"lock": {"elbow1": 0.0}}, "elbow1"),
        ({"lengths": {"nothing": 1.0}}, "no length called 'nothing'"),
        ({"lengths": {"x of joint elbow1 on the link before": 100.0}}, "five-bar|meeting"),
        ({"lengths": {"x of joint elbow1 on the link before": "long"}}, "must be a finite number"),
        ({"payload": -1}, "payload|mass"),
        ({"com": [1, 2]}, "a list of 3 numbers"),
        ({"rotors": "yes"}, "true or false"),
        ({"lock": [1]}, "numbers by name"),
        ({"tip": 3}, "must be a string"),
    ],
)
def test_mistakes_are_one_sentence(body: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DalembertError, match=sentence):
        arm = request(Structure, StudioRequest(body)).arm(da.load("five-bar").robot)
        arm.inverse_dynamics(arm.home, [0, 0], [0, 0])
