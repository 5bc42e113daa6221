"""DH tables: both conventions against published poses, rows read and recovered, bad rows named."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from dalembert.base.algebra.vectors import rotation_about
from dalembert.errors import RobotError
from dalembert.robot import Frame, Friction, Inertia, Limits, Placement, Rotor
from dalembert.robot.model.plausibility import ModelWarning
from dalembert.robot.readers.dh import Row, from_dh, rows_of
from dalembert.robot.readers.toml_reader import parse_toml
from dalembert.robot.readers.toml_writer import write_toml

SHARED = Path(__file__).resolve().parents[3] / "shared"


def pose(robot, q):
    """The tip in the base frame, by multiplying out the joints."""
    T = robot.base
    for joint, x in zip(robot.joints, q, strict=True):
        x = x + joint.offset
        if joint.type == "prismatic":
            moved = Placement(translation=x * joint.axis)
        else:
            moved = Placement(rotation_about(joint.axis, x))
        T = T @ joint.placement @ moved @ joint.link_frame
    T = T @ robot.tip.placement
    return np.block([[np.array(T.rotation), np.array(T.translation)[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


def about(axis, angle):
    T = np.eye(4)
    T[:3, :3] = rotation_about(axis, angle)
    return T


def along(x, y, z):
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


@pytest.mark.parametrize(("case", "convention"), [("dh", "standard"), ("mdh", "modified")])
def test_puma_poses_are_the_published_ones(case, convention):
    path = SHARED / "data" / "reference" / "puma560_sympybotics.json"
    if not path.exists():
        pytest.skip("the shared reference data is not here")
    data = json.loads(path.read_text())["cases"][f"test_puma_{case}_num_geo_kin_dyn"]
    assert data["dh"]["convention"].startswith(convention) and data["dh"]["columns"] == "alpha a d theta"
    robot = from_dh([(a, alpha, d, "q") for alpha, a, d, _ in data["dh"]["rows"]], convention)
    assert np.abs(pose(robot, data["q_test"]) - np.array(data["T_pcorke"])).max() < 1e-12


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_one_joint_is_its_product_of_four(convention, kind):
    a, alpha, d, theta, q = 0.3, 0.7, -0.2, 1.1, 0.4
    robot = from_dh([{"a": a, "alpha": alpha, "d": d, "theta": theta, "type": kind}], convention)
    turn, slide = (theta + q, d) if kind == "revolute" else (theta, d + q)
    z, x = about(Z, turn) @ along(0, 0, slide), along(a, 0, 0) @ about(X, alpha)
    assert np.allclose(pose(robot, [q]), z @ x if convention == "standard" else x @ z, atol=1e-15)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_rows_come_back_from_the_robot(convention):
    rows = [
        Row(0.1, math.pi / 2, 0.2, -math.pi / 3, name="a", link="A", inertia=Inertia(1.0, (0.1, 0.2, 0.3))),
        Row(0.2, 0.123, 0.3, math.pi, type="prismatic", name="b", link="B", physical=False),
        Row(-0.2, -1.0, 0.0, 0.0, type="continuous", name="c", link="C", friction=Friction(1.0), limits=Limits(-1, 1)),
    ]
    found = rows_of(from_dh(rows, convention))
    assert found is not None
    assert found[0] == convention
    for row, again in zip(rows, found[1], strict=True):
        assert again == row


def test_right_angles_are_exact():
    robot = from_dh([{"alpha": 1.57079632679, "a": 1.0}])
    assert robot.joints[0].link_frame.rotation == ((1, 0, 0), (0, 0, -1), (0, 1, 0))


def test_row_forms_agree():
    as_dict = from_dh([{"a": 1, "alpha": "90 deg", "d": 0.5, "theta": "-pi"}, {"type": "prismatic", "offset": 0.25}])
    as_rows = from_dh([Row(1.0, math.pi / 2, 0.5, -math.pi), Row(d=0.25, type="prismatic")])
    as_array = from_dh(np.array([[1.0, math.pi / 2, 0.5, -math.pi]]))
    assert as_dict == as_rows
    assert as_array.joints[0] == as_rows.joints[0]
    assert from_dh([(0, 0, "q", 0)]).joints[0].type == "prismatic"
    assert from_dh([{"offset": "pi"}]).joints[0].offset == math.pi


def test_inertia_forms_agree():
    tensor = [[1.0, 0.1, 0.3], [0.1, 2.0, 0.2], [0.3, 0.2, 2.5]]
    six = [1.0, 2.0, 2.5, 0.1, 0.2, 0.3]
    named = {"xx": 1.0, "yy": 2.0, "zz": 2.5, "xy": 0.1, "yz": 0.2, "xz": 0.3}
    robots = [from_dh([{"mass": 3, "com": (0, 0, 1), "inertia": I}]) for I in (tensor, six, named, np.array(tensor))]
    robots.append(from_dh([{"inertia": Inertia(3.0, (0, 0, 1), tensor)}]))
    assert all(robot == robots[0] for robot in robots)
    assert robots[0].links[1].inertia.tensor[1][2] == 0.2


def test_everything_given_arrives():
    robot = from_dh(
        [
            {
                "name": "j",
                "link": "l",
                "rotor": {"inertia": 0.1, "gear": -3, "coulomb": [1, 2]},
                "limits": {"lower": "-90 deg"},
            }
        ],
        name="r",
        gravity=(0, -1, 0),
        base=Placement(translation=(0, 0, 1)),
        base_link="floor",
        tip=Frame("tool", "l", Placement(translation=(1, 0, 0))),
        payload=Inertia(1.0),
        source="me",
        notes=["so"],
    )
    joint = robot.joints[0]
    assert (joint.name, joint.parent, joint.child) == ("j", "floor", "l")
    assert joint.rotor == Rotor(inertia=0.1, gear=-3, coulomb=(1, 2))
    assert joint.limits.lower == -math.pi / 2
    assert (robot.tip.name, robot.payload.mass, robot.source, robot.notes) == ("tool", 1.0, "me", ("so",))


def test_what_is_not_used_is_said():
    robot = from_dh([{"rotor": {"inertia": 1, "reflected": True, "axis": [1, 0, 0]}}])
    assert robot.notes == (
        "the rotor of joint 'joint1' is reflected (only k_r² I_m is modelled), so its axis is not used",
    )


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"alhpa": 1}, "DH row 2: unknown key 'alhpa'; did you mean 'alpha'? (known keys: type, name"),
        ({"alpha": "ninety"}, "'alpha' is 'ninety'; it must be a number, or an angle such as"),
        ({"a": "pi"}, "'a' is 'pi'; it must be a number"),
        ({"a": math.nan}, "'a' is nan; it must be a finite number"),
        ({"d": math.inf}, "'d' is inf; it must be a finite number"),
        ({"d": 10**400}, "it must be a finite number"),
        ({"a": True}, "'a' is True; it must be a number"),
        ({"type": "screw"}, "'type' is 'screw'; it must be one of 'revolute'"),
        ({"theta": 1, "offset": 1}, "both 'offset' and 'theta' are given"),
        ({"inertia": [1, 2]}, "'inertia' is [1, 2]; it must be {xx, yy, zz, xy, xz, yz}"),
        (
            {"inertia": [1, 1, 1]},
            "'inertia' is [1, 1, 1]; it must be {xx, yy, zz, xy, xz, yz} (products default to 0)",
        ),
        ({"inertia": [[1, 0, 0], 1, [0, 0, 1]]}, "'inertia' is [[1, 0, 0], 1, [0, 0, 1]]; it must be"),
        ({"inertia": {"xx": 1}}, "inertia: the key 'yy' is missing"),
        ({"com": [1, 2]}, "'com' is [1, 2]; it must be a list of 3 numbers"),
        ({"inertia": Inertia(1.0), "mass": 2}, "'mass' is given twice"),
        ({"rotor": {"gear": 0}}, "DH row 2, rotor: the rotor's gear ratio is 0"),
        ({"friction": {"viscous": -1}}, "DH row 2, friction: viscous friction is -1"),
        ({"friction": {"coulomb": [1, 2, 3]}}, "'coulomb' is [1, 2, 3]; it must be one number, or two"),
        ({"limits": {"lower": 2, "upper": 1}}, "DH row 2, limits: the lower limit 2 is above the upper limit 1"),
        ({"rotor": 3}, "rotor: a table of named values was expected, not 3"),
        ((1, 2, 3), "a row needs 4 values (a, alpha, d, theta), not 3"),
        (("q", 0, 0, 0), "'q' marks a; only d or theta can be the joint variable"),
        (7, "a table of named values was expected, not 7"),
    ],
)
def test_bad_rows_are_named(row, sentence):
    with pytest.raises(RobotError) as error:
        from_dh([{}, row], name="arm")
    assert sentence in str(error.value)
    assert str(error.value).startswith("arm: DH row 2")
    assert "\n" not in str(error.value)


def test_bad_tables_are_named():
    with pytest.raises(RobotError, match="no rows"):
        from_dh([])
    with pytest.raises(RobotError, match="'craig'; it must be one of standard, modified"):
        from_dh([{}], "craig")
    with pytest.raises(RobotError, match="two joints have the name 'x'"):
        from_dh([{"name": "x"}, {"name": "x"}])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            (0.5, -90, 0, 0),
            "DH row 1: 'alpha' is -90 rad, which looks like degrees; write \"-90 deg\" if that is meant",
        ),
        ({"alpha": 180.0}, 'or "180 rad" if not'),
        ((500, 0, 0, 0), "DH row 1: 'a' is 500 m, which looks like millimetres; write \"500 mm\" if that is meant"),
        ({"type": "prismatic", "offset": -120}, "'offset' is -120 m, which looks like millimetres"),
    ],
)
def test_numbers_that_look_like_degrees_or_millimetres_are_questioned(row, message):
    with pytest.raises(RobotError) as error:
        from_dh([row])
    assert message in str(error.value)


def test_numbers_with_units_are_not_questioned():
    row = {"a": "500 mm", "alpha": "-90 deg", "d": "30 m", "theta": "7 rad"}
    assert rows_of(from_dh([row]))[1][0].a == 0.5 and from_dh([row]).joints[0].offset == 7.0
    with pytest.warns(
        ModelWarning, match=r"'theta' is 7 rad, which looks like degrees; write \"7 deg\" if that is meant"
    ):
        from_dh([row | {"theta": 7.0}])


def test_large_numbers_survive_a_file(tmp_path):
    robot = from_dh([{"a": "50 m", "theta": "7 rad", "d": "-30 m"}, {"a": 1.0}], name="crane")
    assert parse_toml(write_toml(robot)) == robot
