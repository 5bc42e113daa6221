"""URDF in and out: against Pinocchio on real files, against hostile files, and round."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.errors import RobotError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.mechanism import mechanism
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.plausibility import ModelWarning, check
from dalembert.robot.model.robot import Frame, Friction, Joint, Limits, Link, Robot, Rotor
from dalembert.robot.readers.load import load_robot, save_robot
from dalembert.robot.readers.urdf import parse_urdf, read_urdf
from dalembert.robot.readers.urdf_writer import write_urdf
from plain_mechanics import PlainMechanics, assert_same_machine

MODELS = Path(__file__).resolve().parents[3] / "shared" / "data" / "models"
FILES = sorted(MODELS.glob("*.urdf"))

if not FILES:
    FILES = [pytest.param(None, marks=pytest.mark.skip("shared/data/models is absent"))]


def name(path):
    return path.stem if path else "absent"


# --- real files, with Pinocchio as the oracle ---------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=name)
def test_same_as_pinocchio(path):
    pin = pytest.importorskip("pinocchio")
    robot, model = read_urdf(path), pin.buildModelFromUrdf(str(path))
    arm = mechanism(check(robot, "warn"))
    assert [joint.name for joint in robot.moving_joints] == list(model.names)[1:]
    for joint, body in zip(robot.moving_joints, arm.bodies, strict=True):
        theirs = model.joints[model.getJointId(joint.name)]
        assert model.effortLimit[theirs.idx_v] == joint.limits.effort
        assert model.velocityLimit[theirs.idx_v] == joint.limits.velocity
        if joint.type != "continuous":
            assert model.lowerPositionLimit[theirs.idx_q] == joint.limits.lower
            assert model.upperPositionLimit[theirs.idx_q] == joint.limits.upper
        assert model.damping[theirs.idx_v] == joint.friction.viscous
        inertia = model.inertias[theirs.id]
        np.testing.assert_allclose(body.link.mass, inertia.mass, rtol=0, atol=1e-10)
        np.testing.assert_allclose(body.link.com, inertia.lever, rtol=0, atol=1e-10)
        np.testing.assert_allclose(body.link.tensor, inertia.inertia, rtol=0, atol=1e-10)


@pytest.mark.parametrize("path", FILES, ids=name)
def test_same_inertia_matrix_gravity_and_tip_as_pinocchio(path):
    pin = pytest.importorskip("pinocchio")
    robot, model = read_urdf(path), pin.buildModelFromUrdf(str(path))
    model.gravity.linear[:] = robot.gravity
    data, q = model.createData(), np.linspace(-1.1, 1.3, model.nv)
    ours = PlainMechanics(mechanism(robot), q)
    at = their_q(model, q)
    M = pin.crba(model, data, at)
    M = np.triu(M) + np.triu(M, 1).T
    rotors = [0 if j.rotor is None else j.rotor.gear**2 * j.rotor.inertia for j in robot.moving_joints]
    np.testing.assert_allclose(ours.B, M + np.diag(rotors), atol=1e-9)
    np.testing.assert_allclose(ours.g, pin.computeGeneralizedGravity(model, data, at), atol=1e-9)
    pin.framesForwardKinematics(model, data, at)
    np.testing.assert_allclose(ours.tip, data.oMf[model.getFrameId(robot.tip.link)].homogeneous, atol=1e-10)


def their_q(model, q):
    """Pinocchio keeps a continuous joint as cosine and sine."""
    out = np.zeros(model.nq)
    for joint in list(model.joints)[1:]:
        x = q[joint.idx_v]
        out[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (math.cos(x), math.sin(x))
    return out


@pytest.mark.parametrize("path", FILES, ids=name)
def test_real_files_go_round(path):
    robot = read_urdf(path)
    again = parse_urdf(write_urdf(robot))
    assert_same_machine(mechanism(robot), mechanism(again))
    assert [joint.limits for joint in robot.moving_joints] == [joint.limits for joint in again.moving_joints]
    assert [joint.type for joint in robot.joints] == [joint.type for joint in again.joints]
    assert write_urdf(again) == write_urdf(parse_urdf(write_urdf(again)))


# --- what each element says ---------------------------------------------------------------------

LINK = """<link name="{}"><inertial><origin xyz="0 0 0.1" rpy="{rpy}"/><mass value="{m}"/>
<inertia ixx="{ixx}" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.03"/></inertial></link>"""


def link(called="a", m=1, ixx=0.04, rpy="0 0 0"):
    return LINK.format(called, m=m, ixx=ixx, rpy=rpy)


def joint(called="j", kind="revolute", parent="base", child="a", inside='<axis xyz="0 0 1"/>'):
    return f'<joint name="{called}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def urdf(*parts):
    return f'<robot name="r"><link name="base"/>{"".join(parts)}</robot>'


def the_joint(inside, kind="revolute"):
    return parse_urdf(urdf(link(), joint(kind=kind, inside=inside))).joints[0]


def test_inertial_frames_are_turned():
    turned = parse_urdf(urdf(link(rpy="1.57079632679 0 0"), joint())).link("a").inertia
    assert turned.tensor == ((0.04, 0, 0), (0, 0.03, 0), (0, 0, 0.02))
    assert turned.com == (0, 0, 0.1)


def test_axis_is_x_unless_given():
    assert the_joint("").axis == (1, 0, 0)
    assert the_joint('<axis xyz="0 0 0"/>', "fixed").type == "fixed"


def test_friction_and_limits_are_used():
    found = the_joint(
        '<dynamics damping="0.5" friction="0.25"/>'
        '<limit lower="-1" upper="2" velocity="3" effort="0" drake:acceleration="7"/>'
    )
    assert found.friction == Friction(0.5, (0.25, 0.25))
    assert found.limits == Limits(-1, 2, 3, 7, 0)


@pytest.mark.parametrize(
    ("parts", "note"),
    [
        ([joint(inside='<safety_controller k_velocity="1"/>')], "<safety_controller> is ignored.*joint 'j'"),
        ([joint(inside='<calibration rising="1"/>')], "<calibration> is ignored"),
        (
            [joint(kind="continuous", inside='<limit lower="-1" upper="1"/>')],
            "continuous joints are ignored: joint 'j'",
        ),
        ([joint(), "<group/>", "<frame/>"], "group, frame"),
        (
            [joint(), "<transmission name='t'><mechanicalReduction>100</mechanicalReduction></transmission>"],
            "no rotor is derived from it: transmission 't'",
        ),
        ([joint(inside='<origin xyz="1 0 0"/><origin/>')], "first of several is used: <origin> in joint 'j'"),
    ],
)
def test_what_is_ignored_is_said(parts, note):
    notes = parse_urdf(urdf(link(), *parts)).notes
    assert len(notes) == 1

    assert re.search(note, notes[0])


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ([joint(inside='<dynamics damping="1" spring_stiffness="3"/>')], "spring_stiffness of <dynamics>"),
        ([joint(), "<drake:linear_spring_damper/>"], "drake:linear_spring_damper"),
        ([joint(), "<gazebo reference='j'><springStiffness>3</springStiffness></gazebo>"], "springStiffness of 'j'"),
        ([joint(), "<gazebo reference='a'><turnGravityOff>true</turnGravityOff></gazebo>"], "turnGravityOff of 'a'"),
    ],
)
def test_what_changes_torques_and_is_not_read_is_a_warning(parts, what, tmp_path):
    (tmp_path / "arm.urdf").write_text(urdf(link(), *parts))
    with pytest.warns(ModelWarning, match=what):
        robot = load_robot(tmp_path / "arm.urdf")
    assert robot.notes == ()
    assert len(robot.left_out) == 1


def test_shapes_need_no_note_and_no_meshes():
    shape = '<visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual>'
    text = urdf(
        link(), joint(), f'<link name="b">{shape}</link>', joint("k", "fixed", "a", "b"), "<gazebo/>", "<material/>"
    )
    assert parse_urdf(text).notes == ()
    light = "<gazebo reference='a'><gravity>true</gravity><turnGravityOff>false</turnGravityOff></gazebo>"
    assert parse_urdf(urdf(link(), joint(), light)).left_out == ()


def test_tip():
    text = urdf(link(), joint(), '<link name="tool0"/>', joint("k", "fixed", "a", "tool0"))
    assert parse_urdf(text).tip.link == "tool0"
    assert parse_urdf(text, tip="a").tip == Frame("a", "a")
    with pytest.raises(RobotError, match=r"there is no link 'tool'.*did you mean 'tool0'"):
        parse_urdf(text, tip="tool")


# --- bad input ----------------------------------------------------------------------------------

LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>' + urdf("&b;")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (LAUGHS, "arm.urdf.*document type or entity"),
        ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot/>', "arm.urdf.*document type or entity"),
        ("<robot>" + "<a>" * 100_000, "arm.urdf.*nested more than 500 deep"),
        (urdf(link(), joint())[:-20], "arm.urdf: this is not well-formed XML"),
        ("", "arm.urdf: the file is empty"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "arm.urdf: this is a binary file"),
        (b"\xff\xd8\xff\xe0JFIF", "arm.urdf: this is not well-formed XML"),
        (b'<?xml version="1.0" encoding="klingon"?><robot/>', "arm.urdf.*encoding|arm.urdf.*declaration"),
        ("<sdf/>", "arm.urdf: this is SDF"),
        ("<mujoco/>", "arm.urdf: this is MJCF"),
        ("<html/>", "arm.urdf: the root element is <html>"),
        ('<robot name="r"><xacro:macro name="x"/></robot>', "arm.urdf: <xacro:macro>.*run 'xacro"),
        (urdf(link(m="${mass}"), joint()), "arm.urdf: <mass>.*xacro"),
        ("<robot/>", "arm.urdf: robot 'robot' has no links"),
        (urdf("<link/>"), "arm.urdf: <link> has no 'name'"),
        (urdf(link(), link(), joint()), "arm.urdf.*two links have the name 'a'"),
        (urdf(link()), "arm.urdf.*2 roots"),
        (
            urdf(link("a"), link("b"), joint("j", parent="a", child="b"), joint("k", parent="b", child="a")),
            "arm.urdf.*cycle",
        ),
        (urdf(link(), joint(child="c")), "arm.urdf.*joint 'j' has child link 'c', which does not exist"),
        (urdf(link(), joint(kind="ball")), "arm.urdf: joint 'j' has type 'ball', which is not supported"),
        (urdf(link(), joint(), '<drake:joint name="b" type="ball"/>'), "arm.urdf: joint 'b' has type 'ball'"),
        (
            urdf(link(), joint(inside='<mimic joint="other"/>')),
            "the coupling of joint 'j': there is no joint 'other'; the joints are j",
        ),
        (urdf(link(), joint(inside='<axis xyz="0 0 0"/>')), "arm.urdf: joint 'j'.*axis.*direction"),
        (urdf(link(), joint(inside='<axis xyz="0 1"/>')), "arm.urdf: joint 'j': 'xyz' of <axis>.*3 numbers, not 2"),
        (urdf(link(), joint(inside='<origin xyz="1,5 0 0"/>')), "arm.urdf: joint 'j'.*'1,5'; it must be a number"),
        (urdf(link(), joint(inside='<origin rpy="nan 0 0"/>')), "arm.urdf: joint 'j'.*'nan'; it must be a finite"),
        (urdf(link(m="nan"), joint()), "arm.urdf: link 'a'.*'nan'"),
        (urdf(link(m="1_0"), joint()), "arm.urdf: link 'a'.*'1_0'; it must be a number"),
        (urdf(link(m="-2"), joint()), r"arm.urdf: link 'a' has a negative mass \(-2 kg\)"),
        (urdf(link(ixx="0.5"), joint()), "arm.urdf.*link 'a'.*triangle inequality"),
        (urdf(link(ixx="-0.01"), joint()), "arm.urdf.*link 'a'.*negative principal moment"),
        (
            urdf('<link name="a"><inertial><mass value="1"/></inertial></link>', joint()),
            "arm.urdf: link 'a'.*no <inertia>",
        ),
        (urdf(link(), joint(inside='<dynamics damping="-1"/>')), "arm.urdf: joint 'j': viscous friction is -1"),
        (urdf(link(), joint(inside='<limit lower="2" upper="1"/>')), "arm.urdf: joint 'j'.*lower limit 2 is above"),
    ],
)
def test_bad_input_gets_one_sentence(tmp_path, text, sentence):
    path = tmp_path / "arm.urdf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RobotError, match=sentence) as caught:
        check(read_urdf(path))
    assert "\n" not in str(caught.value)
    assert str(caught.value).count("arm.urdf") <= 2  # said once; the xacro advice repeats it


def test_files_that_are_none(tmp_path, monkeypatch):
    with pytest.raises(RobotError, match="no such file"):
        read_urdf(tmp_path / "missing.urdf")
    with pytest.raises(RobotError, match="this is a folder"):
        read_urdf(tmp_path)
    with pytest.raises(RobotError, match="this is not a valid file name"):
        read_urdf("a\0b")
    with pytest.raises(RobotError, match="/dev/zero: this is a device, not a robot file"):
        read_urdf("/dev/zero")
    monkeypatch.setattr("dalembert.base.files.safe_xml.XML_BYTES", 10)
    (tmp_path / "big.urdf").write_text(urdf(link(), joint()))
    with pytest.raises(RobotError, match=r"big.urdf: the robot file has \d+ bytes; the maximum is 10"):
        read_urdf(tmp_path / "big.urdf")
    with pytest.raises(RobotError, match=r"URDF text: it has more than 10 bytes, the maximum"):
        read_urdf(urdf(link(), joint()))


def test_other_encodings_and_text():
    text = '<?xml version="1.0" encoding="{}"?>' + urdf(link("größe"), joint(child="größe"))
    for code in ("utf-8", "iso-8859-1", "utf-16"):
        assert parse_urdf(text.format(code).encode(code)).links[1].name == "größe"
    assert read_urdf("\ufeff\n" + text.format("iso-8859-1")).links[1].name == "größe"


# --- the writer ---------------------------------------------------------------------------------

sizes = st.floats(-2, 2, allow_subnormal=False).map(lambda x: round(x, 6))
angles = st.one_of(
    st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi]), st.floats(-3, 3).map(lambda x: round(x, 5))
)
vectors = st.tuples(sizes, sizes, sizes)
placements = st.one_of(
    st.just(Placement()), st.builds(lambda r, p, y, xyz: Placement.rpy(r, p, y, xyz), angles, angles, angles, vectors)
)
axes = st.one_of(
    st.sampled_from([(0, 0, 1), (0, -1, 0), (1, 0, 0)]), vectors.filter(lambda v: sum(x * x for x in v) > 0.01)
)
positive = st.floats(0.001, 3)


@st.composite
def inertias(draw):
    """Of a box somewhere, turned."""
    a, b, c = draw(positive), draw(positive), draw(positive)
    box = Inertia(draw(positive), draw(vectors), ((b + c, 0, 0), (0, a + c, 0), (0, 0, a + b)))
    return box.seen_from(draw(placements))


rotors = st.builds(
    Rotor,
    inertia=positive,
    gear=st.sampled_from([1.0, -30.0, 101.5]),
    mass=positive,
    position=st.none() | vectors,
    axis=st.none() | axes,
    transverse=positive,
    reflected=st.booleans(),
    viscous=positive,
    coulomb=st.tuples(positive, positive),
)
limits = st.builds(
    Limits,
    lower=st.none() | st.floats(-3, 0),
    upper=st.none() | st.floats(0, 3),
    velocity=st.none() | positive,
    acceleration=st.none() | positive,
    effort=st.none() | positive,
)


@st.composite
def robots(draw):
    """Trees of up to five links, in any frames, with all that a Robot can say."""
    count = draw(st.integers(1, 4))
    links = [Link("base <&> 0", draw(inertias()))]
    joints = []
    for k in range(count):
        links.append(Link(f"link {k}", draw(st.just(Inertia()) | inertias()), draw(st.booleans())))
        kind = draw(st.sampled_from(["revolute", "prismatic", "fixed", "continuous"]))
        joints.append(
            Joint(
                f'joint "{k}"',
                kind,
                links[draw(st.integers(0, k))].name,
                links[-1].name,
                draw(placements),
                draw(axes),
                draw(angles),
                draw(placements),
                draw(st.builds(Friction, positive, st.tuples(positive, positive) | positive)),
                draw(limits) if kind in ("revolute", "prismatic") else Limits(),
                draw(st.none() | rotors),
            )
        )
    tip = draw(st.none() | st.builds(Frame, st.just("link 0"), st.sampled_from([x.name for x in links]), placements))
    return Robot("r", links, joints, draw(vectors), draw(placements), tip=tip, payload=draw(st.none() | inertias()))


@settings(max_examples=30, deadline=None)
@given(robots())
def test_any_robot_goes_round(robot):
    again = parse_urdf(write_urdf(robot))
    assert_same_machine(mechanism(robot), mechanism(again))
    assert again.with_tip(again.tip.link).notes == ()  # but for the choice of a tip
    assert again.gravity == robot.gravity
    assert again.tip.name == robot.tip.name
    assert [x.limits for x in again.moving_joints] == [x.limits for x in robot.moving_joints]
    assert [x.type for x in again.moving_joints] == [x.type for x in robot.moving_joints]
    assert {x.name for x in robot.links if not x.physical} == {x.name for x in again.links if not x.physical}


@settings(max_examples=25, deadline=None)
@given(robots())
def test_pinocchio_reads_what_is_written(robot):
    """Pinocchio passes over our own elements: the rest of the machine is the same there."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(write_urdf(robot))
    bare = mechanism(robot.replace(joints=[Joint(**(vars(x) | {"rotor": None})) for x in robot.joints]))
    order = [model.joints[model.getJointId(body.name)].idx_v for body in bare.bodies]  # theirs is alphabetical
    q = np.linspace(-1.0, 0.7, bare.n)
    theirs = np.zeros(bare.n)
    theirs[order] = q
    model.gravity.linear[:] = robot.gravity
    data, ours = model.createData(), PlainMechanics(bare, q)
    M = pin.crba(model, data, their_q(model, theirs))
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(ours.B, M[np.ix_(order, order)], atol=1e-9)
    g = pin.computeGeneralizedGravity(model, data, their_q(model, theirs))
    np.testing.assert_allclose(ours.g, g[order], atol=1e-9)


def full_robot():
    rotor = Rotor(0.001, 100, 0.2, (0.1, 0, 0), coulomb=(0.1, 0.2))
    body = Inertia(2.0, (0.1, 0, 0), ((0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)))
    joints = (
        Joint("j1", "revolute", "base", "a", link_frame=Placement(translation=(1, 0, 0)), rotor=rotor, offset=0.3),
        Joint("j2", "prismatic", "a", "b", friction=Friction(0.1, (0.2, 0.3)), limits=Limits(-1, 1, 2, 3, 4)),
    )
    links = (Link("base"), Link("a", body), Link("b", body))
    return Robot("full", links, joints, (0, -9.81, 0), Placement.rpy(0.1, 0, 0), payload=body)


def test_mujoco_reads_what_is_written():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(write_urdf(full_robot()))
    assert model.nv == 2
    np.testing.assert_allclose(model.body_mass.sum(), 6.0)
    assert model.jnt_limited.tolist() == [0, 1]


def test_saving_is_atomic(tmp_path):
    path = tmp_path / "arm.urdf"
    save_robot(full_robot(), path)
    assert_same_machine(mechanism(read_urdf(path)), mechanism(full_robot()))
    assert [p.name for p in tmp_path.iterdir()] == ["arm.urdf"]
    with pytest.raises(RobotError, match=r"nowhere. does not exist"):
        save_robot(full_robot(), tmp_path / "nowhere" / "arm.urdf")


def test_what_xml_cannot_hold_is_refused():
    with pytest.raises(RobotError, match="a link's name is"):
        write_urdf(Robot("r", [Link("a\x07")], []))
    with pytest.raises(RobotError, match="mass of link 'a' is nan"):
        write_urdf(Robot("r", [Link("a", Inertia(math.nan))], []))


ONE_JOINT = """<robot name="u"><link name="base"/><link name="link"/><joint name="j" type="{kind}">
<parent link="base"/><child link="link"/><axis xyz="0 0 1"/>{said}</joint></robot>"""


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ('<fricton term="offset" level="1"/>', "<dalembert> has 'fricton'.*did you mean 'friction'?"),
        ('<friction term="spring" stiffness="1" physical="maybe"/>', "'physical' of <friction> is 'maybe'; it must be"),
        ('<rotor inertia="1" gaer="3"/>', "<rotor> has 'gaer'.*did you mean 'gear'?"),
    ],
)
def test_our_own_elements_have_nothing_that_is_not_known(said: str, sentence: str) -> None:
    with pytest.raises(RobotError, match=f"joint 'j': {sentence}"):
        read_urdf(ONE_JOINT.format(kind="continuous", said=f"<dalembert>{said}</dalembert>"))


def test_friction_and_rotors_of_fixed_joints_are_noted() -> None:
    said = '<dynamics damping="1"/><dalembert><rotor inertia="1"/></dalembert>'
    notes = read_urdf(ONE_JOINT.format(kind="fixed", said=said)).notes
    assert notes == tuple(f"the {what} of fixed joints is not used: joint 'j'" for what in ("friction", "rotor"))
    assert not read_urdf(ONE_JOINT.format(kind="fixed", said='<dynamics damping="0" friction="0"/>')).notes
