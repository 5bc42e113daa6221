"""The shipped arms and the loader: what is in them, where it comes from, how wrong names are answered."""

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dalembert.base.algebra.vectors import rotation_about
from dalembert.errors import RobotError
from dalembert.robot import Inertia, Link, Placement
from dalembert.robot.model.mechanism import mechanism
from dalembert.robot.readers.dh import from_dh
from dalembert.robot.readers.load import LIBRARY, arms, load_robot, save_robot
from dalembert.robot.readers.toml_reader import parse_toml
from dalembert.robot.readers.toml_writer import write_toml

SHARED = Path(__file__).resolve().parents[3] / "shared"
NAMES = {
    *("pendulum", "cartesian-2", "cartesian-2-45", "planar-2r", "planar-3r", "scara", "pr-arm"),
    *("puma560", "stanford", "panda", "ur5e", "ur10", "iiwa14", "kr300"),
    *("parallelogram", "parallelogram-decoupled", "five-bar", "palletizer"),
}


def shared(*parts):
    path = SHARED.joinpath("data", *parts)
    if not path.exists():
        pytest.skip("the shared data is not here")
    return path


def bodies_and_jacobians(robot, q):
    """Mass, tensor, J_P, J_O and centre of each augmented body and J of each rotor, S (7.16)-(7.29), spelled out."""
    mech = mechanism(robot)
    frames, axes = [], []
    for body, x in zip(mech.bodies, q, strict=True):
        parent = mech.base if body.parent < 0 else frames[body.parent]
        joint = parent @ body.placement
        x = x + body.offset
        moved = Placement(rotation_about(body.axis, x)) if body.revolute else Placement(translation=x * body.axis)
        axes.append((np.array(joint.direction(body.axis)), np.array(joint.translation), body.revolute))
        frames.append(joint @ moved @ body.link_frame)
    return mech, frames, axes


def inertia_matrix_and_gravity(robot, q):
    """B and g by S (7.32), (7.39), the rotors' spin added: an oracle that shares no code with the equations."""
    mech, frames, axes = bodies_and_jacobians(robot, q)
    B, g = np.zeros((mech.n, mech.n)), np.zeros(mech.n)
    J_O_of = {-1: np.zeros((3, mech.n))}
    for i, body in enumerate(mech.bodies):
        R, c = np.array(frames[i].rotation), np.array(frames[i].point(body.inertia.com))
        J_P, J_O = np.zeros((3, mech.n)), np.zeros((3, mech.n))
        for j in mech.path(i):
            z, p, revolute = axes[j]
            J_P[:, j] = np.cross(z, c - p) if revolute else z
            J_O[:, j] = z if revolute else 0
        J_O_of[i] = J_O
        B += body.inertia.mass * J_P.T @ J_P + J_O.T @ R @ np.array(body.inertia.tensor) @ R.T @ J_O
        g -= body.inertia.mass * np.array(mech.gravity) @ J_P
        spin = np.zeros(mech.n)
        spin[i] = body.gear
        B += body.rotor_inertia * np.outer(spin, spin)
        if not body.reflected:  # the carried part is in the augmented body; the cross terms are not
            parent = np.eye(3) if body.parent < 0 else np.array(frames[body.parent].rotation)
            cross = np.outer(spin, parent @ np.array(body.rotor_axis) @ J_O_of[body.parent]) * body.rotor_inertia
            B += cross + cross.T
    return B, g


def test_all_arms_are_shipped():
    assert set(arms()) == NAMES
    assert arms() == sorted(arms())


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_arm_loads_quietly_and_quickly(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = load_robot(name)
    assert robot.name == name
    assert robot.source
    assert parse_toml(write_toml(robot)) == robot


@pytest.mark.parametrize("name", sorted(NAMES - {"stanford", "kr300"}))
def test_each_arm_has_limits(name):
    for joint in load_robot(name).moving_joints:
        assert joint.limits.effort > 0
        assert joint.limits.lower < joint.limits.upper


def test_impossible_links_say_so_in_their_files():
    for name in sorted(NAMES):
        robot = load_robot(name)
        marked = {link.name for link in robot.links if not link.physical}
        impossible = {link.name for link in robot.links if not link.inertia.is_zero and link.inertia.impossible()}
        assert marked == impossible
        assert all(any(f"link '{link}'" in note for note in robot.notes) for link in marked)
    assert "link 'link1': published with mass zero" in load_robot("puma560").notes[0]


def test_pendulum_is_example_7_1():
    robot = load_robot("pendulum")
    for q in (0.0, 0.7, -2.0):
        B, g = inertia_matrix_and_gravity(robot, [q])
        assert B[0, 0] == pytest.approx(1.75)
        assert g[0] == pytest.approx(24.525 * math.sin(q))
    assert mechanism(robot).bodies[0].viscous == pytest.approx(0.65)


def test_cartesian_arm_is_7_3_1():
    B, g = inertia_matrix_and_gravity(load_robot("cartesian-2"), [0.3, 0.2])
    assert np.allclose(B, [[30 + 5 + 40 + 20, 0], [0, 20 + 40]])
    assert np.allclose(g, [(30 + 5 + 20) * 9.81, 0])


def test_cartesian_arm_at_45_degrees_is_problem_7_1():
    c = math.cos(math.pi / 4)
    B, g = inertia_matrix_and_gravity(load_robot("cartesian-2-45"), [0.3, 0.2])
    assert np.allclose(B, [[30 + 5 + 40 + 20, 20 * c], [20 * c, 20 + 40]])
    assert np.allclose(g, [(30 + 5 + 20) * 9.81, 20 * 9.81 * c])


def test_planar_2r_is_example_7_2():
    robot = load_robot("planar-2r")
    for joint, link in zip(robot.joints, robot.links[1:], strict=True):
        assert joint.link_frame == Placement(translation=(1, 0, 0))
        assert (link.inertia.mass, link.inertia.com, link.inertia.tensor[2][2]) == (50, (-0.5, 0, 0), 10)
        assert (joint.rotor.mass, joint.rotor.inertia, joint.rotor.gear, joint.rotor.reflected) == (5, 0.01, 100, False)
    a, l, m, I, k, Im, mm = 1, 0.5, 50, 10, 100, 0.01, 5
    q1, q2 = 0.4, -1.1
    c2 = math.cos(q2)
    b11 = I + m * l**2 + k**2 * Im + I + m * (a**2 + l**2 + 2 * a * l * c2) + Im + mm * a**2
    b12, b22 = I + m * (l**2 + a * l * c2) + k * Im, I + m * l**2 + k**2 * Im
    B, g = inertia_matrix_and_gravity(robot, [q1, q2])
    assert np.allclose(B, [[b11, b12], [b12, b22]])
    g2 = m * l * 9.81 * math.cos(q1 + q2)
    assert np.allclose(g, [(m * l + mm * a + m * a) * 9.81 * math.cos(q1) + g2, g2])


def test_pr_arm_is_what_its_file_says():
    s, c = math.sin(0.8), math.cos(0.8)
    B, g = inertia_matrix_and_gravity(load_robot("pr-arm"), [0.2, 0.8])
    assert np.allclose(B, [[20 + 2 + 10 + 40, -3 * s], [-3 * s, 0.4 + 0.9 + 1.8]])
    assert np.allclose(g, [0, 3 * 9.81 * c])


def test_scara_slides_down_and_stays_level():
    robot = load_robot("scara")
    _, frames, _ = bodies_and_jacobians(robot, [0.3, 0.5, 0.1, 0.2])
    assert frames[3].translation[2] == pytest.approx(0.5 - 0.1 - 0.05)
    assert frames[3].translation[0] == pytest.approx(0.4 * math.cos(0.3) + 0.3 * math.cos(0.8))
    assert frames[3].direction((0, 0, 1)) == pytest.approx((0, 0, -1))


@pytest.mark.parametrize("name", ["puma560", "stanford", "kr300"])
def test_published_dh_figures(name):
    data = json.loads(shared("models", f"{name}_dh.json").read_text())
    robot = load_robot(name)
    rows = [
        {
            "type": row.get("type", "revolute"),
            "a": row["a"],
            "alpha": row["alpha"] if row["alpha"] != "0" else 0,
            "d": row.get("d", 0),
            "theta": row.get("theta", row.get("offset", 0)),
            "mass": row["m"],
            "com": row["r"],
            "inertia": row["I"],
            "physical": link.physical,
            "limits": joint.limits,
            "rotor": {
                "inertia": row["Jm"],
                "gear": row["G"],
                "viscous": row.get("B", 0),
                "coulomb": [abs(x) for x in row.get("Tc", (0, 0))],
                "reflected": True,
            },
        }
        for row, link, joint in zip(data["links"], robot.links[1:], robot.joints, strict=True)
    ]
    assert robot == from_dh(rows, name=name, base=robot.base, source=robot.source, notes=robot.notes)
    turned = Placement.rpy(math.pi, 0, 0) if name == "kr300" else Placement()
    assert robot.base == turned


@pytest.mark.parametrize(
    ("name", "file"),
    [("panda", "panda_arm.urdf"), ("iiwa14", "iiwa14.urdf"), ("ur10", "ur10.urdf"), ("ur5e", "ur5e_mjcf.xml")],
)
def test_converted_arms_equal_their_sources(name, file):
    """But for the rotors of Drake's extension, which the shipped arms do not have."""
    ours, theirs = load_robot(name), load_robot(shared("models", file))
    if file.endswith(".urdf"):
        theirs = theirs.replace(joints=[replace(joint, rotor=None) for joint in theirs.joints])
    assert [j.name for j in ours.moving_joints] == [j.name for j in theirs.moving_joints]
    for mine, its in zip(ours.moving_joints, theirs.moving_joints, strict=True):
        for key in ("lower", "upper", "velocity", "acceleration", "effort"):
            assert getattr(mine.limits, key) == getattr(its.limits, key)
        assert mine.friction == its.friction
    rng = np.random.default_rng(0)
    for q in rng.uniform(-2, 2, (3, len(ours.moving_joints))):
        for a, b in zip(inertia_matrix_and_gravity(ours, q), inertia_matrix_and_gravity(theirs, q), strict=True):
            assert np.abs(a - b).max() < 1e-12 * np.abs(b).max()


def test_loader_reads_by_suffix_and_root_element(tmp_path):
    robot = load_robot("planar-2r")
    save_robot(robot, tmp_path / "arm.TOML")
    assert load_robot(tmp_path / "arm.TOML") == robot
    assert load_robot(str(tmp_path / "arm.TOML"), tip="link1").tip.link == "link1"
    urdf = '<robot name="r"><link name="a"/></robot>'
    (tmp_path / "arm.xml").write_text("<!-- hm -->" + urdf)
    assert load_robot(tmp_path / "arm.xml").name == "r"


def test_loader_checks_what_bodies_can_be(tmp_path):
    path = tmp_path / "ghost.toml"
    bad = load_robot("planar-2r")
    ghost = Link("link2", Inertia(1.0, (0, 0, 0), ((1, 0, 0), (0, 1, 0), (0, 0, 9))))
    save_robot(bad.replace(links=(*bad.links[:2], ghost)), path)
    with pytest.raises(RobotError, match=r"ghost\.toml.*link2.*triangle inequality"):
        load_robot(path)
    with pytest.warns(UserWarning, match=r"ghost\.toml.*link2"):
        assert load_robot(path, physical="warn").links[2] == ghost


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("puma", "there is no shipped arm 'puma'; did you mean 'puma560'? (shipped arms: cartesian-2, "),
        ("Panda", "there is no shipped arm 'Panda'; did you mean 'panda'?"),
        ("planar2r", "did you mean 'planar-2r'"),
        ("zzzzzz", "there is no shipped arm 'zzzzzz' (shipped arms:"),
        ("", "there is no shipped arm ''"),
        ("nowhere/arm.toml", "nowhere/arm.toml: there is no such file"),
        ("panda.urdf", "panda.urdf: there is no such file; did you mean 'panda'?"),
        (
            "arm.step",
            "arm.step: the suffix '.step' is not a supported robot format (.toml, .urdf, ",
        ),
        ("nowhere/arm", "nowhere/arm: the suffix '' is not a supported robot format"),
        (str(LIBRARY), "library: this is a folder; give the robot file inside it"),
    ],
)
def test_wrong_names_get_one_sentence(asked, sentence):
    with pytest.raises(RobotError) as error:
        load_robot(asked)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "arm.xml: the file is empty"),
        ("<robot", "arm.xml: this is not well-formed XML"),
        ("<html/>", "arm.xml: the root element is <html>; it must be <mujoco>"),
    ],
)
def test_wrong_xml_gets_one_sentence(tmp_path, text, sentence):
    (tmp_path / "arm.xml").write_text(text)
    with pytest.raises(RobotError) as error:
        load_robot(tmp_path / "arm.xml")
    assert sentence in str(error.value)


def test_wrong_places_to_save(tmp_path):
    with pytest.raises(RobotError, match=r"written to \.toml and \.urdf files, not to '\.step'"):
        save_robot(load_robot("pendulum"), tmp_path / "arm.step")


def test_folders_are_no_files(tmp_path):
    (tmp_path / "arm.toml").mkdir()
    with pytest.raises(RobotError, match="this is a folder"):
        load_robot(tmp_path / "arm.toml")


def test_a_missing_file_is_near_to_files_of_its_folder(tmp_path, monkeypatch):
    """Not to shipped arms, which are no files: arm5.urdf is no pr-arm."""
    with pytest.raises(RobotError, match=r"arm5\.urdf: there is no such file$"):
        load_robot(tmp_path / "arm5.urdf")
    (tmp_path / "mobile.urdf").write_text("")  # alike by its ending alone
    with pytest.raises(RobotError, match=r"arm5\.urdf: there is no such file$"):
        load_robot(tmp_path / "arm5.urdf")
    for name in ("arm6.urdf", "arm6.txt", "gripper.urdf"):
        (tmp_path / name).write_text("")
    with pytest.raises(RobotError, match=r"arm5\.urdf: there is no such file; did you mean 'arm6\.urdf'\?$"):
        load_robot(tmp_path / "arm5.urdf")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RobotError, match=r"^arm6\.step: .* did you mean 'arm6\.urdf'\?$"):
        load_robot("arm6.step")


def test_messages_name_the_shipped_arm_and_not_its_file() -> None:
    with pytest.raises(RobotError, match=r"^arm 'planar-2r': there is no link 'tool'"):
        load_robot("planar-2r", tip="tool")
    with pytest.raises(RobotError, match=r"^arm 'planar-2r': lock names 'elbow'"):
        load_robot("planar-2r", lock={"elbow": 0.0})
