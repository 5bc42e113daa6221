"""Joints held fixed, sub-trees and chains: the same machine with some of its joints at rest."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.errors import RobotError
from dalembert.robot.model.mechanism import mechanism
from dalembert.robot.model.robot_notes import Note, notes_on
from dalembert.robot.model.subrobot import locked, selected
from dalembert.robot.readers.urdf import parse_urdf
from plain_mechanics import PlainMechanics
from test_urdf import robots

BODY = (
    '<inertial><origin xyz="0.02 0.01 0.1" rpy="0.3 0 0.1"/><mass value="{m}"/>'
    '<inertia ixx="0.2" iyy="0.3" izz="0.25" ixy="0.01" ixz="0.02" iyz="0"/></inertial>'
)


def link(name, mass=1.5):
    return f'<link name="{name}">{BODY.format(m=mass) if mass else ""}</link>'


def joint(name, parent, child, axis="0 0 1", kind="revolute", lower=-2, upper=2, more=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
        f'<origin xyz="0.1 0.05 0.2" rpy="0.2 0.1 0.4"/><limit lower="{lower}" upper="{upper}" effort="9" velocity="3"/>{more}</joint>'
    )


def chain(prefix, parent, count):
    """Links prefix1 … in a row."""
    axes = ("0 0 1", "0 1 0", "1 0 0")
    names = [parent, *(f"{prefix}{k}" for k in range(1, count + 1))]
    return "".join(link(b) + joint(f"j_{b}", a, b, axes[k % 3]) for k, (a, b) in enumerate(pairwise(names)))


FINGERS = (
    link("left", 0.2) + joint("grip", "hand", "left", "0 1 0", "prismatic", 0, 0.04)
    + link("right", 0.2) + joint("follow", "hand", "right", "0 -1 0", "prismatic", 0, 0.04, '<mimic joint="grip" multiplier="0.5" offset="0.01"/>')
)  # fmt: skip
HAND = link("hand", 0.5) + joint("mount", "a4", "hand", kind="fixed")
GRIPPER = f'<robot name="gripper">{link("base")}{chain("a", "base", 4)}{HAND}{FINGERS}</robot>'
TWO_ARMS = (
    f'<robot name="two">{link("base")}{link("torso")}{joint("lift", "base", "torso", "0 0 1", "prismatic", 0.1, 0.5)}'
    f"{chain('l', 'torso', 3)}{chain('r', 'torso', 3)}{link('tool', 0.1)}{joint('t', 'l3', 'tool', kind='fixed')}"
    f"{link('claw', 0.3)}{joint('c', 'tool', 'claw')}</robot>"
)
ROTORS = da.load("scara").robot


def with_free(robot, names, values):
    """The arm's coordinates, some of them given by name."""
    order = [joint.name for joint in robot.moving_joints]
    q = np.zeros(len(order))
    q[[order.index(name) for name in names]] = values
    return q


CASES = {
    "rotors": (ROTORS, {"joint2": 0.4}),
    "reflected": (replace(ROTORS, joints=tuple(replace(x, rotor=da.Rotor(1e-3, 50, mass=1.0, reflected=True)) for x in ROTORS.joints)), {"joint3": 0.1}),
    "mimic": (parse_urdf(GRIPPER), {"grip": 0.02, "j_a2": -0.3}),
    "closed chain": (da.load("five-bar").robot, {"motor1": 2.0}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_locked_arm_is_the_whole_arm_with_those_joints_at_rest(case):
    robot, lock = CASES[case]
    whole, part = da.Arm(robot), da.load(robot, lock=lock)
    names = part.joint_names
    assert [*names] == [name for name in whole.joint_names if name not in lock]
    rng, at = np.random.default_rng(3), [whole.joint_names.index(name) for name in names]
    q, v, a = rng.uniform(0.2, 0.9, (3, part.n))
    Q = with_free(robot, [*lock, *names], [*lock.values(), *q])
    V, A = (with_free(robot, names, x) for x in (v, a))
    np.testing.assert_allclose(
        part.inverse_dynamics(q, v, a), whole.inverse_dynamics(Q, V, A)[at], rtol=1e-11, atol=1e-12
    )
    assert part.robot.mass == pytest.approx(robot.mass, rel=1e-12)
    assert any(note.startswith("locked: ") for note in part.robot.notes)


@settings(max_examples=25, deadline=None)
@given(robots(), st.data())
def test_any_robot_with_joints_held_or_on_another_root_is_part_of_the_whole(robot, data):
    """B and g are those rows and columns of the whole robot's, rotors, payload and fixed joints included."""
    names = [x.name for x in robot.tree_joints]
    assume(len(names) > 1)
    held = data.draw(st.dictionaries(st.sampled_from(names), st.floats(-2, 2), max_size=len(names) - 1))
    behind = [x.parent for x in robot.tree_joints if x.name not in held]
    part = selected(robot, lock=held, root=data.draw(st.sampled_from([robot.root, *behind])))
    left = [x.name for x in part.tree_joints]
    q = np.linspace(-0.9, 1.2, len(left))
    at = held | dict(zip(left, q, strict=True))
    rows = [names.index(name) for name in left]
    whole, ours = (
        PlainMechanics(mechanism(robot), [at.get(name, 0.0) for name in names]),
        PlainMechanics(mechanism(part), q),
    )
    size = np.abs(whole.B).max()
    np.testing.assert_allclose(ours.B, whole.B[np.ix_(rows, rows)], rtol=1e-9, atol=1e-10 * size)
    np.testing.assert_allclose(ours.g, whole.g[rows], rtol=1e-9, atol=1e-9 * (1 + np.abs(whole.g).max()))


def reduced(text, hold):
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(text)
    q = pin.neutral(model)
    for name, x in hold.items():
        q[model.joints[model.getJointId(name)].idx_q] = x
    return pin, pin.buildReducedModel(model, [model.getJointId(name) for name in hold], q)


def test_chain_of_a_two_armed_robot_is_pinocchio_s_reduced_model():
    robot = selected(parse_urdf(TWO_ARMS, tip="tool"), root="base", chain=True)
    assert [x.name for x in robot.moving_joints] == ["lift", "j_l1", "j_l2", "j_l3"]
    assert any("locked, not on the chain" in note and "j_r1 at 0 rad" in note for note in robot.notes)
    pin, model = reduced(TWO_ARMS, dict.fromkeys(["j_r1", "j_r2", "j_r3", "c"], 0.0))
    order = [model.joints[model.getJointId(x.name)].idx_v for x in robot.moving_joints]
    q = np.array([0.3, 0.5, -0.4, 0.9])
    theirs = np.empty(4)
    theirs[order] = q
    ours = PlainMechanics(mechanism(robot), q)
    np.testing.assert_allclose(
        ours.g, pin.computeGeneralizedGravity(model, model.createData(), theirs)[order], atol=1e-11
    )
    M = pin.crba(model, model.createData(), theirs)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
    np.testing.assert_allclose(ours.B, M, atol=1e-11)


def test_sub_tree_has_gravity_as_in_the_whole_robot():
    whole = parse_urdf(TWO_ARMS)
    part = selected(parse_urdf(TWO_ARMS, tip="tool"), root="torso", chain=True)
    assert [x.name for x in part.moving_joints] == ["j_l1", "j_l2", "j_l3"]
    assert "r1" not in [x.name for x in part.links] and "claw" in [x.name for x in part.links]
    assert any("left out, on the base and not on the chain" in note and "j_r3" in note for note in part.notes)
    assert any(note.startswith("gravity in the axes of the root 'torso'") for note in part.notes)
    q = [0.5, -0.4, 0.9]
    ours = PlainMechanics(mechanism(part), q)
    every = with_free(whole, ["j_l1", "j_l2", "j_l3"], q)
    theirs = PlainMechanics(mechanism(whole), every)
    at = [[x.name for x in whole.tree_joints].index(x.name) for x in part.tree_joints]
    np.testing.assert_allclose(ours.g, theirs.g[at], atol=1e-12)
    np.testing.assert_allclose(ours.B, theirs.B[np.ix_(at, at)], atol=1e-12)


def test_sub_tree_alone_keeps_its_branches_and_the_joints_that_follow_others_are_held():
    robot = selected(parse_urdf(TWO_ARMS), root="torso")
    assert len(robot.moving_joints) == 7
    follow = TWO_ARMS.replace(
        '<joint name="j_r1" type="revolute">', '<joint name="j_r1" type="revolute"><mimic joint="lift" offset="0.2"/>'
    )
    robot = selected(parse_urdf(follow), root="torso")
    assert "j_r1" not in [x.name for x in robot.tree_joints] and any("j_r1 at 0.2 rad" in note for note in robot.notes)


def test_root_that_is_the_root_and_no_lock_change_nothing():
    robot = parse_urdf(GRIPPER)
    assert selected(robot, root="base") == robot == selected(robot, lock={})


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        (
            GRIPPER,
            {"lock": {"grp": 1}},
            "lock names 'grp', but robot 'gripper' has no such joint; .*did you mean 'grip'",
        ),
        (
            GRIPPER,
            {"lock": {"follow": 0.01}},
            "joint 'follow', which follows 'grip' through a coupling .*lock 'grip' instead",
        ),
        (
            GRIPPER,
            {"lock": {"follow": 0.01, "grip": 0.02}},
            "joint 'follow' the position 0.01, but it follows 'grip', which puts it at 0.02",
        ),
        (GRIPPER, {"lock": {"grip": "x"}}, "the position 'x'; it needs one finite number"),
        (GRIPPER, {"lock": {"grip": float("nan")}}, "the position nan; it needs one finite number"),
        (GRIPPER, {"lock": {"grip": [1, 2]}}, r"the position \[1, 2\]; it needs one finite number"),
        (GRIPPER, {"lock": ["grip"]}, r"lock is \['grip'\]; it must map joints"),
        (
            GRIPPER,
            {"lock": dict.fromkeys(["grip", "j_a1", "j_a2", "j_a3", "j_a4"], 0.0)},
            "every joint is locked .* remove one from lock",
        ),
        (GRIPPER, {"root": "hnd"}, "there is no link 'hnd', so it cannot be the root; .*did you mean 'hand'"),
        (GRIPPER, {"root": "left", "tip": "left"}, "link 'left' cannot be the root: no joint behind it moves"),
        (GRIPPER, {"root": "a4", "tip": "hand"}, "no joint moves between the root 'a4' and the tip on link 'hand'"),
        (TWO_ARMS, {"root": "r1", "tip": "tool"}, "link 'tool', which is not in the sub-tree of link 'r1'"),
    ],
)
def test_mistakes_get_one_sentence(text, options, sentence):
    robot = parse_urdf(text, tip=options.pop("tip", None))
    with pytest.raises(RobotError, match=sentence):
        selected(robot, **options, chain=True)


@pytest.mark.parametrize("option", ["tip", "root"])
def test_a_link_is_given_by_its_name(option):
    with pytest.raises(RobotError, match=f"{option} is 3; it must be the name of a link"):
        da.load("panda", **{option: 3})


def test_a_payload_moves_with_the_tip_and_that_is_said(tmp_path):
    da.load("panda").with_payload(2.0).save(tmp_path / "arm.toml")
    moved = da.load(tmp_path / "arm.toml", tip="panda_link5")
    assert "the payload is held at the new tip, 'panda_link5', and no longer at 'panda_link8'" in moved.robot.notes
    assert not da.load(tmp_path / "arm.toml", tip="panda_link8").robot.notes


def test_closed_chains_that_cannot_be_held_are_refused():
    five_bar = da.load("five-bar").robot
    with pytest.raises(
        RobotError, match=r"joint 'elbow1' of the closed chain 'meeting', which determines joint 'elbow1'"
    ):
        locked(five_bar, {"elbow1": 0.1})
    with pytest.raises(
        RobotError, match=r"joint 'motor1' of the closed chain 'meeting', which has no actuated joint other"
    ):
        locked(five_bar, {"motor1": 0.1, "motor2": 0.2})
    with pytest.raises(RobotError, match=r"link 'base1' cannot be the root|cannot be the root"):
        selected(five_bar, root=five_bar.links[1].name)


def test_part_of_a_robot_goes_through_files(tmp_path):
    for case in ("rotors", "mimic"):
        robot, lock = CASES[case]
        part = da.load(robot, lock=lock)
        for name in ("part.toml", "part.urdf"):
            part.save(tmp_path / name)
            again = da.load(tmp_path / name)
            q = np.linspace(0.1, 0.5, part.n)
            np.testing.assert_allclose(again.gravity_torque(q), part.gravity_torque(q), rtol=1e-12, atol=1e-12)


def test_inertias_that_no_body_can_have_stop_only_the_part_that_has_them(tmp_path):
    antenna = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial>'
    antenna = f'<link name="antenna">{antenna}</link>{joint("screws", "base", "antenna", kind="fixed")}'
    path = tmp_path / "two.urdf"
    path.write_text(TWO_ARMS.replace("</robot>", f"{antenna}</robot>"))
    with pytest.raises(RobotError, match=r"link 'antenna'.* load it with physical="):
        da.load(path)
    assert da.load(path, root="torso", tip="r3").n == 3


def test_lock_says_what_it_does_not_use_and_what_is_outside_limits():
    robot = locked(parse_urdf(GRIPPER), {"mount": 1.0, "grip": 0.1})
    assert "locked outside their position limits: grip, follow" in robot.notes
    assert any(note.startswith("already fixed in the file") and note.endswith("mount") for note in robot.notes)


TIPS = {
    "fingers, one of them a follower": (GRIPPER, "hand"),
    "fingers with a motor each": (GRIPPER.replace("<mimic", "<!--mimic").replace('offset="0.01"/>', "-->"), "hand"),
    "fingers beside a tool frame": (GRIPPER.replace("</robot>", link("hand_tcp", 0) + joint("tcp", "hand", "hand_tcp", kind="fixed") + "</robot>"), "hand_tcp"),
    "fingers beside a camera": (GRIPPER.replace("</robot>", link("camera", 0) + joint("cam", "hand", "camera", kind="fixed") + "</robot>"), "hand"),
    "a tool frame before the hand": (GRIPPER.replace("</robot>", link("tool0", 0) + joint("t0", "a4", "tool0", kind="fixed") + "</robot>"), "tool0"),
    "one jaw": (f'<robot name="r">{link("base")}{chain("a", "base", 4)}{link("jaw")}{joint("j", "a4", "jaw")}</robot>', "a4"),
    "one jaw that its joint names": (f'<robot name="r">{link("base")}{chain("a", "base", 4)}{link("mover")}{joint("jointGripper", "a4", "mover")}</robot>', "a4"),
    "a wrist that turns the gripper": (f'<robot name="r">{link("base")}{chain("a", "base", 4)}{link("palm")}{joint("GripperYaw", "a4", "palm")}</robot>', "palm"),
    "two arms": (TWO_ARMS.replace("claw", "lance"), "lance"),
    "two equal arms": (f'<robot name="r">{link("base")}{chain("l", "base", 3)}{chain("r", "base", 3)}</robot>', "l3"),
    "a camera and a tool frame": (f'<robot name="r">{link("base")}{chain("a", "base", 2)}{link("cam", 0)}{joint("c", "a2", "cam", kind="fixed")}{link("tool0", 0)}{joint("t", "a2", "tool0", kind="fixed")}</robot>', "tool0"),
    "cameras on the tool": (f'<robot name="r">{link("base")}{chain("a", "base", 4)}{link("end_effector_link", 0)}{joint("e", "a4", "end_effector_link", kind="fixed")}{link("camera_link", 0)}{joint("c", "end_effector_link", "camera_link", kind="fixed")}{link("camera_depth", 0)}{joint("d", "end_effector_link", "camera_depth", kind="fixed")}</robot>', "end_effector_link"),
    "a finger behind two joints and a tool": (f'<robot name="r">{link("base")}{chain("a", "base", 1)}{link("tool0")}{joint("t", "a1", "tool0")}{link("finger")}{joint("f", "tool0", "finger")}</robot>', "tool0"),
    "a finger by itself": (f'<robot name="r">{link("base")}{chain("finger", "base", 3)}</robot>', "finger3"),
}  # fmt: skip


@pytest.mark.parametrize("case", TIPS)
def test_default_tip_is_the_hand_and_never_a_finger(case):
    text, tip = TIPS[case]
    robot = parse_urdf(text)
    assert robot.tip.link == tip
    leaves = {x.name for x in robot.links} - {x.parent for x in robot.joints}
    assert len(notes_on(robot.notes, ["tip"])) == (leaves != {tip} or "finger" in tip)
    assert not notes_on(parse_urdf(text, tip=tip).notes, ["tip"])


def test_what_no_robot_is_loaded_from_is_one_sentence():
    with pytest.raises(da.RobotError, match="by its name, not from 3"):
        da.load(3)
    with pytest.raises(
        da.RobotError, match="density applies to reading a file, but robot 'planar-2r' has already been read"
    ):
        da.load(da.load("planar-2r").robot, density=2700)


def test_the_topic_of_a_note_survives_pickling_and_the_note_is_its_sentence() -> None:
    note = Note("the file names no tip", "tip")
    again = pickle.loads(pickle.dumps(note))
    assert (
        again == note == "the file names no tip"
        and again.topic == "tip"
        and notes_on([again, "plain"], ["tip"]) == [note]
    )
