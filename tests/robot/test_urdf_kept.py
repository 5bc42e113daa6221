"""What URDF files say beside inertias and joints: drives, shapes, materials, extensions; read, and written again."""

import math
import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.errors import RobotError
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Robot, Rotor
from dalembert.robot.model.shapes import Shape
from dalembert.robot.readers.load import load_robot, save_robot
from dalembert.robot.readers.toml_reader import parse_toml
from dalembert.robot.readers.toml_writer import write_toml
from dalembert.robot.readers.urdf import parse_urdf
from dalembert.robot.readers.urdf_writer import write_urdf

BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
ROTOR = '<drake:rotor_inertia value="0.001"/><drake:gear_ratio value="50"/>'
SIMPLE = "<type>transmission_interface/SimpleTransmission</type>"


def urdf(*parts: str, joint: str = "", link: str = "") -> str:
    return (
        f'<robot name="r" xmlns:drake="http://drake.mit.edu"><link name="base"/><link name="a">{BODY}{link}</link>'
        f'<link name="b"/><joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>'
        f'<limit lower="-1" upper="1" effort="5" velocity="2"/>{joint}</joint>'
        f'<joint name="f" type="fixed"><parent link="a"/><child link="b"/></joint>{"".join(parts)}</robot>'
    )


def drive(inside: str, kind: str = SIMPLE, joints: str = '<joint name="j"/>', called: str = "t") -> str:
    return f'<transmission name="{called}">{kind}{joints}<actuator name="m">{inside}</actuator></transmission>'


def reduction(ratio: str) -> str:
    return f"<mechanicalReduction>{ratio}</mechanicalReduction>"


# --- drives -------------------------------------------------------------------------------------

FIFTY = Rotor(0.001, 50.0, reflected=True)


@pytest.mark.parametrize(
    ("text", "rotor"),
    [
        (urdf(joint=ROTOR), FIFTY),
        (urdf(drive(ROTOR)), FIFTY),
        (urdf(drive(ROTOR, kind="")), FIFTY),
        (urdf(drive(reduction("1") + ROTOR)), FIFTY),
        (urdf(drive(reduction("30") + ROTOR)), FIFTY),  # Drake's ratio beats the reduction
        (urdf(drive(reduction("30")), joint=ROTOR), FIFTY),
        (urdf(drive('<drake:rotor_inertia value="2"/>')), Rotor(2.0, 1.0, reflected=True)),
        (urdf(drive('<drake:rotor_inertia value="2"/>' + reduction("-3"))), Rotor(2.0, -3.0, reflected=True)),
        (urdf(drive(reduction("-40"))), Rotor(0.0, -40.0, reflected=True)),
        (urdf(drive("", joints=f'<joint name="j">{reduction("40")}</joint>')), Rotor(0.0, 40.0, reflected=True)),
        (
            urdf(f'<transmission name="t"><joint name="j"/>{reduction("4")}</transmission>'),
            Rotor(gear=4, reflected=True),
        ),
        (urdf(drive(ROTOR), drive(ROTOR, called="u")), Rotor(0.002, 50.0, reflected=True)),
        (urdf(drive(reduction("1"))), None),
        (urdf(drive("")), None),
    ],
)
def test_drives_are_rotors(text: str, rotor: Rotor | None) -> None:
    robot = parse_urdf(text)
    assert robot.joints[0].rotor == rotor
    assert robot.notes == robot.left_out == ()
    assert parse_urdf(write_urdf(robot)).joints == robot.joints


@pytest.mark.parametrize(
    ("text", "note", "torques"),
    [
        (drive(reduction("9"), joints='<joint name="j"/><joint name="k"/>'), "several joints.*joints: j, k", False),
        (drive(ROTOR, kind="<type>x/DifferentialTransmission</type>"), "several joints.*Differential", True),
        (drive(ROTOR, joints='<joint name="nowhere"/>'), "does not exist: transmission 't' .joint 'nowhere'", False),
        (drive(reduction("0")), "mechanicalReduction is 0 and was ignored: transmission 't'", False),
    ],
)
def test_drives_of_no_single_joint_are_noted(text: str, note: str, torques: bool) -> None:
    robot = parse_urdf(urdf(text))
    assert robot.joints[0].rotor is None
    (sentence,) = robot.left_out if torques else robot.notes
    assert re.search(note, sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (urdf(joint='<drake:rotor_inertia value="-1"/>'), "joint 'j': 'value' of <drake:rotor_inertia> is '-1'"),
        (
            urdf(joint='<drake:gear_ratio value="0"/>'),
            "joint 'j': 'value' of <drake:gear_ratio> is '0'; it must be other",
        ),
        (
            urdf(drive('<drake:gear_ratio value="x"/>')),
            "transmission 't': 'value' of <drake:gear_ratio> is 'x'; it must be a number",
        ),
        (urdf(drive("<drake:gear_ratio>3</drake:gear_ratio>")), "transmission 't': <drake:gear_ratio> has no 'value'"),
        (urdf(drive(reduction("inf"))), "transmission 't': <mechanicalReduction> is 'inf'; it must be a finite"),
    ],
)
def test_wrong_drives_get_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(RobotError, match=f"URDF text: {sentence}"):
        parse_urdf(text)


def test_transmissions_say_what_rotors_have_become() -> None:
    robot = parse_urdf(urdf(drive(reduction("30") + ROTOR)))
    joint = replace(robot.joints[0], rotor=Rotor(0.004, 80.0, mass=1.0))
    root = ElementTree.fromstring(write_urdf(robot.replace(joints=(joint, robot.joints[1]))))
    drake = "{http://drake.mit.edu}"
    actuator = root.find("transmission/actuator")
    assert actuator.find(f"{drake}rotor_inertia").get("value") == "0.004"
    assert actuator.find(f"{drake}gear_ratio").get("value") == "80.0"
    assert parse_urdf(write_urdf(robot.replace(joints=(joint, robot.joints[1])))).joints[0].rotor == joint.rotor


# --- shapes and all else ------------------------------------------------------------------------


def test_shapes_are_read() -> None:
    text = urdf(
        '<material name="red"><color rgba="1 0 0 0.5"/></material>',
        link='<visual name="v"><origin xyz="1 2 3"/><geometry><mesh filename="package://p/a.stl" scale="1 2 1"/></geometry>'
        '<material name="red"/></visual><collision><geometry><box size="1 2 3"/></geometry></collision>'
        '<visual><geometry><cylinder radius="0.1" length="2"/></geometry><material><color rgba="0 0 1 1"/></material></visual>'
        '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
        '<collision><geometry><drake:capsule radius="0.1" length="0.3"/></geometry></collision>',
    )
    link = parse_urdf(text).link("a")
    mesh = Shape("mesh", (1, 2, 1), Placement(translation=(1, 2, 3)), "package://p/a.stl", "v", "red", (1, 0, 0, 0.5))
    assert link.visuals == (mesh, Shape("cylinder", (0.1, 2.0), colour=(0, 0, 1, 1)))
    assert link.collisions == (Shape("box", (1, 2, 3)), Shape("sphere", (0.1,)), Shape("capsule", (0.1, 0.3)))
    assert parse_urdf(text).notes == ()


def test_strange_shapes_are_kept_and_said() -> None:
    shape = '<visual><geometry><blob size="1" /></geometry></visual>'
    robot = parse_urdf(urdf(link=shape))
    assert robot.link("a").kept == (shape,)
    assert robot.notes == ("shapes of an unknown kind are only kept as text: link 'a'",)
    assert parse_urdf(write_urdf(robot)) == robot


def test_what_refers_to_joints_or_links_that_are_gone_is_not_written() -> None:
    gazebo = '<gazebo reference="b"><mu1>1</mu1></gazebo><gazebo reference="a"/>'
    robot = parse_urdf(urdf(drive(ROTOR), gazebo, '<material name="m"/>'))
    less = robot.replace(links=robot.links[:2], joints=robot.joints[:1], tip=None)
    assert '"b"' not in write_urdf(less) and 'reference="a"' in write_urdf(less)
    alone = robot.replace(links=robot.links[:1], joints=(), tip=None)
    assert "transmission" not in write_urdf(alone) and "material" in write_urdf(alone)


def test_mesh_paths_stay_valid_in_other_folders(tmp_path: Path) -> None:
    (tmp_path / "robot" / "meshes").mkdir(parents=True)
    (tmp_path / "robot" / "meshes" / "a.stl").write_text("solid\nendsolid\n")
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    files = ("meshes/a.stl", "meshes/missing.stl", "package://p/a.stl", "/a.stl")
    (tmp_path / "robot" / "arm.urdf").write_text(urdf(link="".join(map(mesh.format, files))))
    robot = load_robot(tmp_path / "robot" / "arm.urdf")
    (tmp_path / "out").mkdir()
    for suffix in ("urdf", "toml"):
        save_robot(robot, tmp_path / "out" / f"arm.{suffix}")
        again = load_robot(tmp_path / "out" / f"arm.{suffix}")
        assert [shape.file for shape in again.link("a").visuals] == ["../robot/meshes/a.stl", *files[1:]]
    save_robot(robot, tmp_path / "robot" / "copy.urdf")
    assert load_robot(tmp_path / "robot" / "copy.urdf").replace(source=robot.source) == robot


numbers = st.floats(-2, 2).map(lambda x: round(x, 4))
positive = st.floats(0.01, 3).map(lambda x: round(x, 4))
words = st.sampled_from(["v", "grün", "<&>", ""])


def spaced(*parts: st.SearchStrategy[float]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda values: " ".join(map(repr, values)))


@st.composite
def shapes(draw: st.DrawFn) -> str:
    geometry = draw(
        st.one_of(
            st.builds('<box size="{}"/>'.format, spaced(positive, positive, positive)),
            st.builds('<sphere radius="{}"/>'.format, positive),
            st.builds('<cylinder radius="{}" length="{}"/>'.format, positive, positive),
            st.builds(
                '<mesh filename="m/{}.dae" scale="{}"/>'.format, st.integers(0, 9), spaced(positive, positive, numbers)
            ),
        )
    )
    material = draw(
        st.sampled_from(
            [
                "",
                '<material name="red"/>',
                '<material name="own"><color rgba="0 0.5 1 1"/></material>',
                '<material name="wood"><texture filename="wood.png"/></material>',
            ]
        )
    )
    tag, name = draw(st.sampled_from(["visual", "collision"])), ElementTree.Element("x", name=draw(words)).get("name")
    called = f' name="{name.replace("&", "&amp;").replace("<", "&lt;")}"' if name else ""
    origin = (
        f'<origin xyz="{draw(spaced(numbers, numbers, numbers))}" rpy="{draw(spaced(numbers, numbers, numbers))}"/>'
    )
    return f"<{tag}{called}>{draw(st.sampled_from(['', origin]))}<geometry>{geometry}</geometry>{material}</{tag}>"


@st.composite
def files(draw: st.DrawFn) -> str:
    """URDF files with all that is kept."""
    tops = st.sampled_from(
        [
            '<material name="red"><color rgba="1 0 0 1"/></material>',
            '<gazebo reference="a"><mu1>0.2</mu1><plugin filename="x.so"> mixed <b/> text</plugin></gazebo>',
            "<gazebo><plugin name='p'/></gazebo>",
            drive(reduction("100")),
            drive(reduction("1") + ROTOR),
            drive(reduction("7"), "<type>x/FourBarLinkageTransmission</type>", '<joint name="j"/><joint name="f"/>'),
            '<ros2_control name="c" type="system"><joint name="j"><command_interface name="position"/></joint></ros2_control>',
        ]
    )
    inner = st.sampled_from(
        [
            '<safety_controller k_velocity="10" soft_lower_limit="-0.9"/>',
            '<calibration rising="0.1"/>',
            "<hardwareInterface>PositionJointInterface</hardwareInterface>",
        ]
    )
    top, joint = draw(st.lists(tops, max_size=4, unique=True)), draw(st.lists(inner, max_size=3, unique=True))
    joint.append(
        draw(st.sampled_from(["", '<dynamics damping="0.5" friction="0.1"/>', '<dynamics damping="1" mu="3"/>']))
    )
    return urdf(*top, joint="".join(joint), link="".join(draw(st.lists(shapes(), max_size=3))))


def same(a: object, b: object) -> bool:
    """Equal but for the last digits of numbers: rotations are written as angles."""
    if is_dataclass(a) and type(a) is type(b):
        return all(same(getattr(a, x.name), getattr(b, x.name)) for x in fields(a) if x.name != "source")
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return math.isclose(a, b, rel_tol=1e-13, abs_tol=1e-14) if isinstance(a, float) else a == b


@settings(max_examples=30, deadline=None)
@given(files())
def test_what_a_file_has_goes_round(text: str) -> None:
    pin = pytest.importorskip("pinocchio")
    robot = parse_urdf(text)
    written = write_urdf(robot)
    ElementTree.fromstring(written)  # strict readers take it too: prefixes are declared
    assert same(parse_urdf(written), robot)
    toml = parse_toml(write_toml(robot))
    assert isinstance(toml, Robot) and toml == robot
    assert pin.buildModelFromXML(written) == pin.buildModelFromXML(text)
