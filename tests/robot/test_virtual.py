"""Planar, floating and ball joints as virtual joints: against Pinocchio's and MuJoCo's own coordinates, at any state."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import RobotError
from dalembert.robot.model.mechanism import mechanism
from dalembert.robot.model.subrobot import selected
from dalembert.robot.readers.load import load_robot
from dalembert.robot.readers.urdf import parse_urdf
from plain_mechanics import PlainMechanics

BODY = (
    '<inertial><origin xyz="0.02 0.01 0.1" rpy="0.3 0 0.1"/><mass value="{m}"/>'
    '<inertia ixx="0.2" iyy="0.3" izz="0.25" ixy="0.01" ixz="0.02" iyz="0"/></inertial>'
)
PLACE = '<origin xyz="0.3 -0.2 0.5" rpy="0.4 -0.3 0.8"/>'


def urdf(kind, more=""):
    arm = "".join(
        f'<link name="l{k}">{BODY.format(m=2)}</link><joint name="j{k}" type="revolute"><parent link="{"chassis" if k == 0 else f"l{k - 1}"}"/>'
        f'<child link="l{k}"/><origin xyz="0.1 0 0.2" rpy="0.2 0.1 0"/><axis xyz="{axis}"/>'
        '<limit lower="-2" upper="2" effort="9" velocity="3"/></joint>'
        for k, axis in enumerate(("0 0 1", "0 1 0"))
    )
    return (
        f'<robot name="r"><link name="world"/><link name="chassis">{BODY.format(m=10)}</link><joint name="free" type="{kind}">'
        f'<parent link="world"/><child link="chassis"/>{PLACE}{more}</joint>{arm}</robot>'
    )


def turns(angles):
    """R = Rz(yaw) Ry(pitch) Rx(roll), and the body's angular velocity for unit rates of yaw, pitch and roll."""
    (sy, sp, sr), (cy, cp, cr) = np.sin(angles), np.cos(angles)
    Rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    Ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    Rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    return Rz @ Ry @ Rx, np.array([[-sp, 0, 1], [sr * cp, cr, 0], [cr * cp, -sr, 0]])


def floating_map(q):
    """The velocity (linear, angular) in the body's axes, for rates of x y z yaw pitch roll."""
    R, W = turns(q[3:6])
    T = np.zeros((6, 6), q.dtype)
    T[:3, :3], T[3:, 3:] = R.T, W
    return T


def planar_map(q):
    """Pinocchio's planar joint has its velocity in the body's axes."""
    s, c = np.sin(q[2]), np.cos(q[2])
    return np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])


def mapped(T_of, q, qd, qdd, n):
    """v = T q̇ and v̇ = T q̈ + Ṫ q̇ with T for the base and 1 for the other joints; Ṫ by a complex step."""

    def whole(q):
        T = np.eye(len(q), dtype=q.dtype)
        T[:n, :n] = T_of(q)
        return T

    T, step = whole(q), 1e-30
    T_dot = whole(q + 1j * step * qd).imag / step
    return T, T @ qd, T @ qdd + T_dot @ qd


@pytest.fixture(scope="module")
def states():
    return np.random.default_rng(8).uniform(-1, 1, (4, 3, 8))


def quaternion(R):
    """w, x, y, z of a rotation of less than half a turn."""
    w = 0.5 * np.sqrt(1 + np.trace(R))
    return np.array([4 * w * w, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4 * w)


def test_floating_joint_is_pinocchio_s_free_flyer(states):
    pin = pytest.importorskip("pinocchio")
    arm, model = da.Arm(parse_urdf(urdf("floating"))), pin.buildModelFromXML(urdf("floating"))
    assert arm.joint_names == (*(f"free/{x}" for x in ("x", "y", "z", "yaw", "pitch", "roll")), "j0", "j1")
    data = model.createData()
    for q, qd, qdd in states:
        T, v, a = mapped(floating_map, q, qd, qdd, 6)
        at = np.concatenate([q[:3], np.roll(quaternion(turns(q[3:6])[0]), -1), q[6:]])
        tau = pin.rnea(model, data, at, v, a)
        np.testing.assert_allclose(arm.inverse_dynamics(q, qd, qdd), T.T @ tau, rtol=1e-10, atol=1e-10)
        M = pin.crba(model, data, at)
        M = np.triu(M) + np.triu(M, 1).T
        np.testing.assert_allclose(arm.inertia_matrix(q), T.T @ M @ T, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(arm.forward_dynamics(q, qd, arm.inverse_dynamics(q, qd, qdd)), qdd, atol=1e-9)


@pytest.mark.parametrize("axis", ["", '<axis xyz="0 0 1"/>'])
def test_planar_joint_is_pinocchio_s(states, axis):
    pin = pytest.importorskip("pinocchio")
    arm, model = da.Arm(parse_urdf(urdf("planar", axis))), pin.buildModelFromXML(urdf("planar", axis))
    data = model.createData()
    for q, qd, qdd in states[:, :, 3:]:
        T, v, a = mapped(planar_map, q, qd, qdd, 3)
        at = np.concatenate([q[:2], [np.cos(q[2]), np.sin(q[2])], q[3:]])
        np.testing.assert_allclose(
            arm.inverse_dynamics(q, qd, qdd), T.T @ pin.rnea(model, data, at, v, a), rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize("axis", ["1 0 0", "0 0 -1", "0.3 -0.5 0.2", "0 -2 0"])
def test_planar_joint_moves_across_its_axis(axis):
    robot = parse_urdf(urdf("planar", f'<axis xyz="{axis}"/>'))
    normal = np.array([float(x) for x in axis.split()])
    normal /= np.linalg.norm(normal)
    frame = np.array(robot.joints[0].placement.rotation)
    place = np.array(parse_urdf(urdf("floating")).joints[0].placement.rotation)
    np.testing.assert_allclose(place.T @ frame @ [0, 0, 1], normal, atol=1e-15)
    whole = robot.joints[0].placement @ robot.joints[2].link_frame
    np.testing.assert_allclose(whole.rotation, place, atol=1e-15)  # at zero the chassis stands where <origin> says


MJCF = """<mujoco><worldbody><body name="chassis" pos="0.3 -0.2 0.5" quat="0.9 0.1 0.3 -0.2">{joint}
<inertial pos="0.02 0.01 0.1" mass="10" fullinertia="0.2 0.3 0.25 0.01 0.02 0"/>
<body name="arm" pos="0.1 0 0.2" euler="20 10 0"><joint name="j" axis="0 1 0"/>
<inertial pos="0.1 0.02 0" mass="2" fullinertia="0.02 0.03 0.025 0.001 0.002 0"/></body></body></worldbody></mujoco>"""


def mujoco_map(q):
    """MuJoCo's free joint has the linear velocity in the world's axes, the angular one in the body's."""
    T = np.eye(6, dtype=q.dtype)
    T[3:, 3:] = turns(q[3:6])[1]
    return T


@pytest.mark.parametrize(
    ("joint", "T_of", "n"),
    [
        ('<freejoint name="f"/>', mujoco_map, 6),
        ('<joint name="f" type="ball" pos="0.1 0.2 -0.1"/>', lambda q: turns(q[:3])[1], 3),
    ],
)
def test_free_and_ball_joints_are_mujoco_s(tmp_path, states, joint, T_of, n):
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "r.xml").write_text(MJCF.format(joint=joint))
    arm = da.load(tmp_path / "r.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "r.xml"))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    for q, qd, qdd in states[:, :, : n + 1]:
        T, v, a = mapped(T_of, q, qd, qdd, n)
        data.qpos[:] = [*q[: n - 3], *quaternion(turns(q[n - 3 : n])[0]), q[n]]
        data.qvel[:], data.qacc[:] = v, a
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(arm.inverse_dynamics(q, qd, qdd), T.T @ data.qfrc_inverse, rtol=1e-9, atol=1e-9)


def test_ball_joint_of_sdf_is_a_floating_joint_that_does_not_slide(tmp_path):
    body = "<inertial><pose>0.02 0.01 0.1 0.3 0 0.1</pose><mass>10</mass><inertia><ixx>0.2</ixx><iyy>0.3</iyy><izz>0.25</izz><ixy>0.01</ixy><ixz>0.02</ixz></inertia></inertial>"
    (tmp_path / "r.sdf").write_text(
        f'<sdf version="1.9"><model name="r"><link name="chassis"><pose>0.3 -0.2 0.5 0.4 -0.3 0.8</pose>{body}</link>'
        '<joint name="free" type="ball"><parent>world</parent><child>chassis</child></joint></model></sdf>'
    )
    ball = load_robot(tmp_path / "r.sdf")
    whole = parse_urdf(urdf("floating").replace('<link name="l0">', "<!--").replace("</robot>", "--></robot>"))
    held = selected(whole, lock=dict.fromkeys(("free/x", "free/y", "free/z"), 0.0))
    ours, theirs = (PlainMechanics(mechanism(robot), [0.4, -0.7, 0.2]) for robot in (ball, held))
    assert [x.name for x in ball.moving_joints] == ["free/yaw", "free/pitch", "free/roll"]
    np.testing.assert_allclose(ours.B, theirs.B, atol=1e-13)
    np.testing.assert_allclose(ours.g, theirs.g, atol=1e-12)


def test_mobile_base_is_welded_by_the_name_of_its_joint():
    robot = parse_urdf(urdf("floating"))
    welded = selected(robot, lock={"free": 0})
    assert [x.name for x in welded.moving_joints] == ["j0", "j1"]
    tilted = da.load(robot, lock={"free": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)})
    q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, -0.8]
    np.testing.assert_allclose(tilted.gravity_torque(q[6:]), da.Arm(robot).gravity_torque(q)[6:], atol=1e-12)
    assert len(selected(robot, lock={"free/z": 0.1}).moving_joints) == 7
    with pytest.raises(RobotError, match=r"joint 'free' the position 1; it needs 0 or 6 numbers, for free/x"):
        selected(robot, lock={"free": 1})


def test_what_virtual_joints_are_is_said():
    robot = parse_urdf(urdf("floating", '<limit lower="0" upper="1" effort="1" velocity="1"/><dynamics damping="2"/>'))
    assert "singular at pitch = ±90°" in robot.notes[0] and "free/yaw, free/pitch, free/roll" in robot.notes[0]
    assert any(note.startswith("limits of planar and floating joints are ignored") for note in robot.notes)
    assert robot.left_out == ("friction of planar and floating joints: joint 'free'",)
    assert all(x.massless for x in robot.links if "/" in x.name)


def test_mobile_robots_go_through_files_and_no_parameter_is_looked_for_on_links_without_mass(tmp_path):
    robot = parse_urdf(urdf("planar"))
    for name in ("r.toml", "r.urdf"):
        da.Arm(robot).save(tmp_path / name)
        again = load_robot(tmp_path / name)
        assert [x.name for x in again.moving_joints] == [x.name for x in robot.moving_joints]
        assert [x.massless for x in again.links] == [x.massless for x in robot.links]
    names = da.Arm(robot).base_parameters().names
    assert names and not any("free/x" in name for name in names)


def test_a_simulation_that_comes_to_the_singular_pitch_says_so():
    arm = da.Arm(parse_urdf(urdf("floating")))
    q, qd = np.zeros(8), np.zeros(8)
    q[4], qd[4] = 1.4, 3.0
    with pytest.raises(da.SimulationError, match=r"'free/pitch' came to ±90°, where its three angles are singular"):
        da.simulate(arm, q, qd, None, 0.2)


CYLINDRICAL = """name = "piston"
convention = "frames"
gravity = [0.0, 0.0, -9.81]
[[link]]
name = "base"
[[link]]
name = "rod"
mass = 2.0
com = [0.5, 0.0, 0.0]
[[joint]]
name = "joint"
type = "cylindrical"
parent = "base"
child = "rod"
AXIS
[tip]
link = "rod"
"""


@pytest.mark.parametrize(
    ("axis", "torque"),
    [((0.0, 0.0, 1.0), lambda yaw: (2.0 * 9.81, 0.0)), ((0.0, 3.0, 0.0), lambda yaw: (0.0, -9.81 * np.cos(yaw)))],
)
def test_a_toml_file_may_have_joints_of_several_variables(axis: tuple, torque: Any, tmp_path: Path) -> None:
    """Gravity acts along a vertical axis, and about a horizontal one."""
    (tmp_path / "piston.toml").write_text(CYLINDRICAL.replace("AXIS", f"axis = {list(axis)}"))
    arm = da.load(tmp_path / "piston.toml")
    assert arm.joint_names == ("joint/z", "joint/yaw") and "cylindrical joint 'joint'" in arm.robot.notes[0]
    assert np.allclose(arm.gravity_torque([0.3, 0.4]), torque(0.4), atol=1e-12)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("axis = [0.0, 0.0, 0.0]", "the axis of joint 'joint' is .0.0, 0.0, 0.0.; it needs a direction"),
        ("friction = { viscous = 1.0 }", "several variables, so 'friction' is ambiguous; .* separate joints .z, yaw."),
    ],
)
def test_mistakes_of_such_joints_are_one_sentence(line: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "piston.toml").write_text(CYLINDRICAL.replace("AXIS", line))
    with pytest.raises(da.RobotError, match=sentence):
        da.load(tmp_path / "piston.toml")
