"""MJCF through MuJoCo's compiler: MuJoCo's own inertia matrix, bias force and site poses are the oracle."""

from pathlib import Path

import numpy as np
import pytest

from dalembert.errors import RobotError
from dalembert.robot.model.mechanism import mechanism
from dalembert.robot.model.plausibility import check
from dalembert.robot.model.robot import Limits, Rotor
from dalembert.robot.readers.mjcf import read_mjcf
from plain_mechanics import PlainMechanics

mujoco = pytest.importorskip("mujoco")

UR5E = Path(__file__).resolve().parents[3] / "shared" / "data" / "models" / "ur5e_mjcf.xml"


def assert_same_as_mujoco(robot, model, site=None):
    """B, g, damping and a site's pose at a few configurations."""
    arm, data, rng = mechanism(check(robot)), mujoco.MjData(model), np.random.default_rng(1)
    assert [body.name for body in arm.bodies] == [model.joint(j).name for j in range(model.njnt)]
    for _ in range(4):
        q = rng.uniform(-1.5, 1.5, model.nq)
        data.qpos[:], data.qvel[:] = q, 0
        mujoco.mj_forward(model, data)
        M, ours = np.zeros((model.nv, model.nv)), PlainMechanics(arm, q)
        mujoco.mj_fullM(model, data, M)
        np.testing.assert_allclose(ours.B, M, rtol=0, atol=1e-12 * np.abs(M).max())
        np.testing.assert_allclose(ours.g, data.qfrc_bias, rtol=0, atol=1e-11)
        if site:
            np.testing.assert_allclose(ours.tip[:3, 3], data.site(site).xpos, rtol=0, atol=1e-12)
            np.testing.assert_allclose(ours.tip[:3, :3].ravel(), data.site(site).xmat, rtol=0, atol=1e-12)
    data.qvel[:] = qd = rng.uniform(-1, 1, model.nv)  # passive forces at speed are damping alone
    model.jnt_stiffness[:] = 0
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose([b.viscous * v for b, v in zip(arm.bodies, qd, strict=True)], -data.qfrc_passive)


def without_meshes(path):
    """The oracle's model of a file whose meshes are absent, by other means: the XML without them."""
    import xml.etree.ElementTree as ET

    tree = ET.parse(path).getroot()
    tree.remove(tree.find("asset"))
    for body in tree.iter("body"):
        for geom in body.findall("geom"):
            body.remove(geom)
    return mujoco.MjModel.from_xml_string(ET.tostring(tree, encoding="unicode"))


@pytest.mark.skipif(not UR5E.exists(), reason="shared/data/models is absent")
def test_ur5e_without_its_meshes():
    robot = read_mjcf(UR5E)
    assert_same_as_mujoco(robot, without_meshes(UR5E), "attachment_site")
    assert robot.tip.name == "attachment_site"
    elbow = robot.joints[3]
    assert elbow.name == "elbow_joint"
    assert elbow.limits == Limits(-3.1415, 3.1415, effort=150)
    assert elbow.rotor == Rotor(inertia=0.1, gear=1, reflected=True)
    assert len(robot.notes) == 1
    assert robot.left_out == ("contacts between geoms that can collide",)
    # right angles come out exact, not as 1e-16: zeros cost nothing later
    assert {x for joint in robot.joints for row in joint.placement.rotation for x in row} <= {0.0, 1.0, -1.0}


EVERYTHING = """<mujoco model="everything">
<compiler angle="radian"/><option gravity="1 2 -3"/>
<worldbody><geom type="plane" size="1 1 1"/>
 <body name="stand" pos="0 0 1" euler="0.3 0 0"><geom name="post" type="box" size=".1 .1 .5"/>
  <body name="shoulder" pos="0.1 0.2 0.3" quat="1 2 3 4">
   <joint name="pan" axis="1 2 0" pos="0.1 0 0.2" ref="0.4" armature="0.2" damping="0.5" frictionloss="0.7"
     range="-1 2" limited="true" actuatorfrcrange="-50 50" actuatorfrclimited="true"/>
   <joint name="lift" axis="0 1 0" pos="0 0.3 0" ref="-0.2"/>
   <joint name="out" type="slide" axis="1 0 1" pos="3 3 3" ref="0.1" stiffness="5"/>
   <geom name="ball" type="ellipsoid" size=".1 .2 .3" pos="0.3 0 0"/>
   <body name="bracket" pos="0 0 0.5" euler="0 1 0"><geom type="capsule" size=".05 .2" mass="0.3"/>
    <body name="hand" pos="0.2 0 0">
     <inertial pos="0.1 0.1 0" mass="2" fullinertia="0.1 0.2 0.25 0.01 0.02 0.03"/>
     <joint name="wrist" axis="0 0 1"/><site name="grip" pos="0.1 0 0" euler="0 0.5 1"/>
    </body></body>
   <body name="side" pos="0 1 0"><joint name="flap" axis="1 0 0"/><geom type="sphere" size="0.1"/></body>
  </body></body></worldbody>
<tendon><fixed name="cable"><joint joint="pan" coef="1"/></fixed></tendon>
<equality><joint name="same" joint1="wrist" joint2="lift" active="false"/></equality>
<actuator><motor name="m" joint="pan" gear="3" forcerange="-10 20" forcelimited="true"/><motor name="t" tendon="cable"/></actuator>
<contact><pair geom1="ball" geom2="post"/></contact>
<sensor><jointpos joint="pan"/><distance geom1="ball" geom2="post"/></sensor>
<keyframe><key name="home" qpos="0 0 0 0 0"/></keyframe>
</mujoco>"""


def test_everything_at_once():
    robot = read_mjcf(EVERYTHING, tip="grip")
    assert_same_as_mujoco(robot, mujoco.MjModel.from_xml_string(EVERYTHING), "grip")
    pan = robot.moving_joints[0]
    assert pan.friction.coulomb == (0.7, 0.7)
    assert pan.limits == Limits(-1, 2, effort=50)  # the joint's own 50 is less than 20 × 3
    assert robot.gravity == (1, 2, -3)
    assert [joint.type for joint in robot.joints if joint.child == "bracket"] == ["fixed"]
    notes = "\n".join(robot.notes)
    for what in (
        "inactive equality constraints are ignored: same",
        "tendons are ignored: cable",
    ):
        assert what in notes
    assert "do not drive a single joint are ignored: t" in notes
    assert robot.left_out == ("contacts between geoms that can collide",)


@pytest.mark.skipif(not hasattr(mujoco.MjModel, "actuator_armature"), reason="this MuJoCo's motors have no armature")
def test_the_motors_own_armature_and_damping_count():
    text = simple(after='<actuator><motor joint="j" gear="3" armature="2" damping="0.7"/></actuator>')
    assert_same_as_mujoco(read_mjcf(text), mujoco.MjModel.from_xml_string(text))
    assert read_mjcf(text).joints[0].rotor.inertia == 18


def simple(joint='<joint name="j"/>', inside='<geom size="0.1"/>', before="", after="", world=""):
    body = f'<body name="a">{joint}{inside}</body>'
    return f"<mujoco>{before}<worldbody>{world}{body}</worldbody>{after}</mujoco>"


def test_gravity_can_be_switched_off():
    assert read_mjcf(simple()).gravity == (0, 0, -9.81)
    assert read_mjcf(simple(before='<option><flag gravity="disable"/></option>')).gravity == (0, 0, 0)


def test_inertia_from_geoms_when_the_file_says_so():
    inside = '<inertial mass="5" pos="0 0 0" diaginertia="1 1 1"/><geom size="0.1" mass="2"/>'
    assert read_mjcf(simple(inside=inside)).link("a").inertia.mass == 5
    text = simple(inside=inside, before='<compiler inertiafromgeom="true"/>')
    assert read_mjcf(text).link("a").inertia.mass == 2
    assert read_mjcf(simple(inside='<geom size="0.1" mass="2"/><geom size="1" mass="0"/>')).link("a").inertia.mass == 2


def test_a_mass_that_is_given_needs_no_density():
    before = '<default><geom density="0"/></default>'
    text = simple(
        inside='<geom size="0.1" mass="2"/><geom size="0.2" pos="1 0 0" mass="1"/><geom size="1"/>', before=before
    )
    assert_same_as_mujoco(read_mjcf(text), mujoco.MjModel.from_xml_string(text))
    assert read_mjcf(text).link("a").inertia.mass == 3


def test_files_that_make_no_inertia_are_not_needed():
    asset = (
        '<asset><hfield name="h" file="absent.png" size="1 1 1 1"/><texture name="t" type="2d" file="absent.png"/>'
        '<material name="m" texture="t"/><mesh name="v" file="absent.obj"/></asset>'
    )
    shapes = (
        '<geom type="mesh" mesh="v" mass="0"/><geom size="0.1" mass="2" material="m"/><site name="s" material="m"/>'
    )
    world = '<geom name="ground" type="hfield" hfield="h"/>'
    after = '<contact><pair geom1="ground" geom2="ground"/></contact><sensor><gyro site="s"/></sensor>'
    assert read_mjcf(simple(inside=shapes, before=asset, world=world, after=after)).link("a").inertia.mass == 2


def test_tip_is_a_body_or_a_site():
    text = simple(inside='<geom size="0.1"/><site name="left"/><site name="right" pos="1 0 0"/>')
    assert read_mjcf(text).tip.name == "tip"  # two sites: neither is chosen
    assert read_mjcf(text, tip="right").tip.placement.translation == (1, 0, 0)
    assert read_mjcf(text, tip="a").tip.link == "a"
    with pytest.raises(RobotError, match=r"there is no body or site 'rigth'.*did you mean 'right'"):
        read_mjcf(text, tip="rigth")


def test_meshes_are_found_beside_the_file_whatever_its_name(tmp_path):
    (tmp_path / "box.obj").write_text(
        "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 2)) + "f 1 2 3\n"
    )
    asset = '<asset><mesh name="m" file="box.obj" inertia="convex"/></asset>'
    for name in ("arm.xml", "arm.mjcf"):
        (tmp_path / name).write_text(simple(inside='<geom type="mesh" mesh="m" density="10"/>', before=asset))
        inertia = read_mjcf(tmp_path / name).link("a").inertia
        np.testing.assert_allclose([inertia.mass, *inertia.com], [20, 0.5, 0.5, 1], rtol=1e-6)


MESH = '<asset><mesh name="m" file="absent.obj"/></asset>'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            simple(inside='<geom type="mesh" mesh="m"/>', before=MESH),
            r"arm.xml: body 'a' has no <inertial>.*'absent.obj'",
        ),
        (simple(inside=""), "arm.xml: MuJoCo's compiler rejects it: .*mass"),
        (simple(inside="<nonsense/>"), "arm.xml: MuJoCo cannot read it: .*nonsense"),
        (simple()[:-5], "arm.xml: this is not well-formed XML"),
        ('<!DOCTYPE m [<!ENTITY a "b">]>' + simple(), "arm.xml.*document type or entity"),
        ('<robot name="r"/>', "arm.xml: this is URDF"),
        ("<html/>", "arm.xml: the root element is <html>"),
    ],
)
def test_bad_input_gets_one_sentence(tmp_path, text, sentence):
    (tmp_path / "arm.xml").write_text(text)
    with pytest.raises(RobotError, match=sentence) as caught:
        read_mjcf(tmp_path / "arm.xml")
    assert "\n" not in str(caught.value)


def test_a_missing_mesh_of_a_body_that_never_moves_is_only_said():
    world = '<body name="rock"><geom type="mesh" mesh="m"/></body>'
    notes = read_mjcf(simple(before=MESH, world=world)).notes
    assert any("body 'rock', which never moves" in note for note in notes)


@pytest.mark.parametrize("roughness", ['cogging="0.02 7 0"', 'lugre="1 2 0 0.3 0.5"', ""])
def test_cogging_and_friction_of_dc_motors_are_named(roughness):
    motor = f'<dcmotor name="m" joint="j" gear="50" motorconst="0.05" resistance="2" input="none" {roughness}/>'
    try:
        robot = read_mjcf(
            '<mujoco><worldbody><body name="a"><joint name="j" axis="0 1 0"/><geom type="sphere" size="0.1" mass="2" contype="0"/>'
            f"</body></worldbody><actuator>{motor}</actuator></mujoco>"
        )
    except RobotError as error:
        assert "dcmotor" in str(error)  # unknown to this version of MuJoCo
        return
    assert robot.left_out == (("cogging and friction of dcmotor actuators: m",) if roughness else ())
