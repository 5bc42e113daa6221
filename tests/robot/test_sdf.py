"""SDF: frames, axes, limits and includes against hand-computed answers and the same robot in URDF; hostile files.

``make test-drake`` compares random models with Drake's reading.
"""

import math
import os
from pathlib import Path

import pytest

from dalembert.errors import RobotError
from dalembert.robot.model.mechanism import mechanism
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.plausibility import ModelWarning
from dalembert.robot.model.robot import Friction, Limits, Rotor
from dalembert.robot.model.shapes import Shape
from dalembert.robot.readers.load import load_robot
from dalembert.robot.readers.sdf import read_sdf
from dalembert.robot.readers.urdf import parse_urdf
from plain_mechanics import assert_same_machine

INERTIAL = "<inertial><pose>0.1 0 0 0 0 0</pose><mass>2</mass><inertia><ixx>1</ixx><iyy>2</iyy><izz>2.5</izz></inertia></inertial>"


def link(name="a", pose="", inside=INERTIAL):
    return f'<link name="{name}">{pose}{inside}</link>'


def joint(name="j", kind="revolute", parent="world", child="a", inside="<axis><xyz>0 0 1</xyz></axis>"):
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'


def model(*parts, name="m", pose="", attributes=""):
    return f'<model name="{name}"{attributes}>{pose}{"".join(parts)}</model>'


def sdf(*parts, version="1.10"):
    return f'<sdf version="{version}">{"".join(parts)}</sdf>'


def lone(*parts, version="1.10"):
    return read_sdf(sdf(model(*parts), version=version))


def close(a, b):
    flat = [[*x.translation, *(y for row in x.rotation for y in row)] for x in (a, b)]
    assert flat[0] == pytest.approx(flat[1], abs=1e-12)


def test_the_same_robot_in_urdf():
    """Two links: SDF gives poses in the model, URDF from joint to joint."""
    ours = lone(
        link("base"),
        link("a", "<pose>1 2 3 0.1 0.2 0.3</pose>"),
        link("b", '<pose relative_to="k">0 0 0 0 0 0</pose>'),
        joint(
            "j",
            "revolute",
            "base",
            "a",
            "<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>2</upper></limit></axis>",
        ),
        joint("k", "prismatic", "a", "b", '<pose relative_to="a">0.5 0 0 0 0 1</pose><axis><xyz>1 0 0</xyz></axis>'),
    )
    body = '<inertial><origin xyz="0.1 0 0"/><mass value="2"/><inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial>'
    theirs = parse_urdf(
        f'<robot name="m"><link name="base">{body}</link><link name="a">{body}</link><link name="b">{body}</link>'
        '<joint name="j" type="revolute"><parent link="base"/><child link="a"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="2"/></joint>'
        '<joint name="k" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0.5 0 0" rpy="0 0 1"/>'
        '<axis xyz="1 0 0"/></joint></robot>'
    )
    assert_same_machine(mechanism(ours), mechanism(theirs))
    assert [x.limits for x in ours.joints] == [x.limits for x in theirs.joints]
    assert ours.tip == theirs.tip and ours.name == theirs.name
    (note,) = ours.notes
    assert "no joint connects the model to the world" in note and "link 'base'" in note


def test_frames_are_chains_of_poses():
    """A frame on a frame on a link; a joint that is given in one and stands in the child all the same."""
    robot = lone(
        '<frame name="f" attached_to="a"><pose>0 0 1 0 0 0</pose></frame>',
        '<frame name="g" attached_to="f"><pose>0 2 0 0 0 0</pose></frame>',
        '<frame name="free"><pose>5 0 0 0 0 0</pose></frame>',
        link("a", '<pose relative_to="free">1 0 0 0 0 0</pose>'),
        joint(inside='<pose relative_to="g"/><axis><xyz>0 0 1</xyz></axis>'),
    )
    (j,) = robot.moving_joints
    assert j.placement.translation == (6.0, 2.0, 1.0)
    assert j.link_frame.translation == (0.0, -2.0, -1.0)
    text = sdf(model('<frame name="tool" attached_to="a"><pose>0 0 0.3 0 0 0</pose></frame>', link(), joint()))
    assert read_sdf(text, tip="tool").tip.placement.translation == (0.0, 0.0, 0.3)


@pytest.mark.parametrize(
    ("version", "attribute", "inside", "axis"),
    [
        ("1.4", "", "", (0, 1, 0)),  # in the model's frame
        ("1.6", "", "", (0, 0, 1)),  # in the joint's
        ("1.6", "", "<use_parent_model_frame>1</use_parent_model_frame>", (0, 1, 0)),
        ("1.7", "", "", (0, 0, 1)),
        ("1.7", ' expressed_in="__model__"', "", (0, 1, 0)),
        ("1.7", ' expressed_in="j"', "", (0, 0, 1)),
        ("1.7", ' expressed_in="a"', "", (0, 0, 1)),
    ],
)
def test_axes_by_version(version, attribute, inside, axis):
    turned = "<pose>0 0 0 1.5707963267948966 0 0</pose>"
    robot = lone(link("a", turned), joint(inside=f"<axis><xyz{attribute}>0 0 1</xyz>{inside}</axis>"), version=version)
    assert robot.joints[0].axis == pytest.approx(axis, abs=1e-15)


def test_limits_friction_springs_and_rotors():
    inside = (
        "<axis><xyz>0 0 1</xyz><limit><lower>{}</lower><upper>{}</upper><effort>{}</effort><velocity>{}</velocity></limit>"
        "<dynamics><damping>1</damping><friction>2</friction><spring_stiffness>3</spring_stiffness>"
        "<spring_reference>0.5</spring_reference></dynamics></axis>"
        "<drake:rotor_inertia>0.01</drake:rotor_inertia><drake:gear_ratio>50</drake:gear_ratio>"
    )
    j = lone(link(), joint(inside=inside.format("-1", "1e16", "-1", "inf"))).joints[0]
    assert (j.type, j.limits) == ("revolute", Limits(lower=-1.0))
    assert j.friction == Friction(1.0, 2.0, spring={"stiffness": 3.0, "rest": 0.5})
    assert j.rotor == Rotor(0.01, 50.0, reflected=True)
    j = lone(link(), joint(inside=inside.format("-1e16", "1e17", "7", "8"))).joints[0]
    assert (j.type, j.limits) == ("continuous", Limits(effort=7.0, velocity=8.0))


def test_screws_universal_joints_and_mimics():
    axes = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    robot = lone(link(), joint(kind="universal", inside=axes))
    assert [(x.name, tuple(x.axis)) for x in robot.joints] == [("j:1", (1, 0, 0)), ("j:2", (0, 1, 0))]
    assert robot.link("j:between").massless
    robot = lone(link("a", "<pose>1 2 3 0 0 0</pose>"), joint(kind="ball", inside=""))
    assert [x.name for x in robot.moving_joints] == ["j/yaw", "j/pitch", "j/roll"]
    assert robot.joints[0].placement.translation == (1, 2, 3) and "the ball joint 'j' is" in robot.notes[0]
    pitch = "<axis><xyz>0 0 1</xyz></axis>"
    for element, advance in (
        ("<screw_thread_pitch>0.5</screw_thread_pitch>", 0.5),
        ("<thread_pitch>-10</thread_pitch>", math.pi / 5),
        ("", 1.0),
    ):
        (coupling,) = lone(link(), joint(kind="screw", inside=pitch + element)).couplings
        assert coupling.matrix[0][0] == pytest.approx(advance / (2 * math.pi), abs=1e-15)
    behind = joint("k", "revolute", "a", "b")
    assert lone(link(), link("b"), joint(kind="screw", inside=pitch), behind).tip.link == "b"
    mimic = '<mimic joint="j"><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>'
    follower = joint("k", "revolute", "a", "b", f"<axis><xyz>0 0 1</xyz>{mimic}</axis>")
    (coupling,) = lone(link(), link("b"), joint(), follower).couplings
    assert (coupling.joints, coupling.of, coupling.matrix) == (("k",), ("j",), ((2.0,),))
    assert coupling.offset == pytest.approx((0.3,))


def test_nested_models_and_placement_frames():
    inner = model(
        link("p"), link("q", "<pose>0 0 1 0 0 0</pose>"), joint("i", "revolute", "p", "q"),
        name="n", pose='<pose relative_to="a">1 0 0 0 0 0</pose>', attributes=' placement_frame="q"',
    )  # fmt: skip
    robot = lone(link(), inner, joint(), joint("f", "fixed", "a", "n::p"))
    assert [x.name for x in robot.links] == ["a", "n::p", "n::q", "world"]
    assert [x.name for x in robot.moving_joints] == ["j", "n::i"]
    fixed = next(x for x in robot.joints if x.name == "f")
    close(fixed.placement, Placement(translation=(1, 0, -1)))


def test_worlds_have_gravity_static_models_and_several_robots():
    ground = model("<static>true</static>", link("plane", inside=""), name="ground")
    arm = model(link(), joint(), pose="<pose>0 0 1 0 0 0</pose>", name="{}")
    world = '<world name="cell"><gravity>0 0 -1.6</gravity>{}</world>'
    robot = read_sdf(sdf(world.format(ground + arm.format("left"))))
    assert (robot.name, robot.gravity, robot.notes) == (
        "left",
        (0, 0, -1.6),
        ("static models are not part of the robot: ground",),
    )
    assert robot.joints[0].placement.translation == (0, 0, 1)
    both = read_sdf(sdf(world.format(arm.format("left") + arm.format("right"))))
    assert [x.name for x in both.moving_joints] == ["left::j", "right::j"]
    tied = arm.format("left") + model(link("b"), name="tool")
    robot = read_sdf(sdf(world.format(tied + joint("grip", "fixed", "left::a", "tool::b", ""))))
    assert robot.tip.link == "tool::b" and robot.notes == ()


def test_shapes():
    visual = (
        '<visual name="v"><pose>0 0 1 0 0 0</pose><geometry><mesh><uri>model://m/a.dae</uri><scale>1 1 2</scale></mesh></geometry>'
        "<material><diffuse>1 0 0 1</diffuse></material></visual>"
        '<collision name="c"><geometry><cylinder><radius>0.1</radius><length>2</length></cylinder></geometry></collision>'
        '<collision name="d"><geometry><plane/></geometry></collision>'
    )
    robot = lone(link(inside=INERTIAL + visual), joint())
    a = robot.link("a")
    up = Placement(translation=(0, 0, 1))
    assert a.visuals == (Shape("mesh", (1, 1, 2), up, "model://m/a.dae", "v", "", (1, 0, 0, 1)),)
    assert a.collisions == (Shape("cylinder", (0.1, 2.0), name="c"),)
    assert robot.notes == ("a collision of an unknown kind was ignored: link 'a'",)


def test_masses_and_weights():
    robot = lone(link(inside=""), joint())
    assert robot.link("a").inertia.mass == 1.0 and robot.link("a").inertia.tensor[0][0] == 1.0
    assert robot.notes == ("without <inertial>, so the SDF default of 1 kg and 1 kg m² applies: link 'a'",)
    assert lone(link(inside=INERTIAL + "<gravity>0</gravity>"), joint()).link("a").weight == 0.0


def test_includes_stay_in_the_folder(tmp_path: Path):
    (tmp_path / "cell" / "arm").mkdir(parents=True)
    (tmp_path / "cell" / "arm" / "model.sdf").write_text(sdf(model(link(), joint(), name="arm")))
    (tmp_path / "outside.sdf").write_text(sdf(model(link(), joint(), name="arm")))
    os.symlink(tmp_path / "outside.sdf", tmp_path / "cell" / "link.sdf")
    top = tmp_path / "cell" / "cell.world"

    def include(uri: str, inside: str = ""):
        top.write_text(sdf(f"<world name='w'><include><uri>{uri}</uri>{inside}</include></world>"))
        return load_robot(top)

    for uri in ("model://arm", "arm", "arm/model.sdf", "./arm/../arm/model.sdf"):
        robot = include(uri, "<name>left</name><pose>0 0 2 0 0 0</pose>")
        assert robot.name == "left" and robot.joints[0].placement.translation == (0, 0, 2)
    for uri in ("../outside.sdf", "link.sdf", "model://../outside.sdf", str(tmp_path / "outside.sdf")):
        with pytest.raises(RobotError, match="leads out of the folder"):
            include(uri)
    with pytest.raises(RobotError, match=r"'model://other', but there is no such model"):
        include("model://other")
    with pytest.raises(RobotError, match="it must be model://NAME or a path"):
        include("https://example.org/arm.sdf")
    with pytest.raises(RobotError, match="includes itself"):
        include("cell.world")
    (tmp_path / "cell" / "me.sdf").write_text(sdf(model("<include><uri>me.sdf</uri></include>", link(), joint())))
    with pytest.raises(RobotError, match="includes itself"):
        load_robot(tmp_path / "cell" / "me.sdf")


def test_what_changes_torques_and_is_not_read_is_a_warning(tmp_path: Path):
    decay = "<velocity_decay><linear>0.1</linear></velocity_decay>"
    gear = joint("g", "gearbox", "world", "a", "<gearbox_ratio>2</gearbox_ratio>")
    (tmp_path / "arm.sdf").write_text(sdf(model(link(inside=INERTIAL + decay), joint(), gear)))
    with pytest.warns(ModelWarning, match="velocity_decay: link 'a'; gearbox joints: joint 'g'"):
        load_robot(tmp_path / "arm.sdf")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (sdf(), "there is no <model>"),
        (sdf(model(link(), joint()), version="x"), "the version of <sdf> is 'x'"),
        (sdf(model(link(), joint(kind="slide", inside=""))), "joint 'j' has type 'slide', which is not supported"),
        (sdf(model(link(), joint(), '<drake:joint name="p" type="planar"/>')), "joint 'p' is a <drake:joint> of type 'planar'"),
        (sdf(model(link(), joint(inside=""))), "joint 'j' has no <axis>"),
        (sdf(model(link(), joint(parent="b"))), "joint 'j': there is no link, joint, frame or model 'b' in its model"),
        (sdf(model(link(), joint(child="world"))), "joint 'j' has the child 'world', which does not move"),
        (sdf(model(link(), joint(inside="<axis><xyz>0 0</xyz></axis>"))), "<xyz> is '0 0'; it must be 3 numbers, not 2"),
        (sdf(model(link(), joint(inside="<axis><xyz>0 0 0</xyz></axis>"))), "axis.*direction"),
        (sdf(model(link(pose="<pose>1 2</pose>"), joint())), "<pose> is '1 2'; it must be 6 numbers, not 2"),
        (sdf(model(link(pose='<pose relative_to="a"/>'), joint())), "relative to one another in a cycle"),
        (sdf(model(link(), joint(), '<frame name="f" attached_to="f"/>')), "frame 'f'.*cycle"),
        (sdf(model(link(), joint(name="a"))), "a link and a joint are both called 'a'"),
        (sdf(model(link(), link(), joint())), "a link and a link are both called 'a'"),
        (sdf(model("<static>maybe</static>", link(), joint())), "<static> is 'maybe'; it must be true or false"),
        (sdf(model("<static>1</static>", link(), joint())), "joint 'j' has type 'revolute' in a static model"),
        (sdf(model(link(inside="<inertial><mass>x</mass></inertial>"), joint())), "<mass> is 'x'; it must be a number"),
        (sdf(model(link(inside="<inertial auto='true'/>"), joint())), "<inertial auto='true'> computes the inertia"),
        (sdf(model(link(), joint(), "<include><uri>model://b</uri></include>")), "text has no folder"),
        (sdf("<model name='m'>" * 40 + "</model>" * 40), "nested more than 32 deep"),
        ("<robot/>", "this is URDF, not SDF"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(text, sentence):
    with pytest.raises(RobotError, match=sentence) as caught:
        read_sdf(text)
    assert "\n" not in str(caught.value)
