"""What an MJCF file says about torques: MuJoCo's own inverse dynamics are the oracle."""

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics.equations import lean_newton_euler
from dalembert.robot.model.mechanism import mechanism
from dalembert.robot.readers.mjcf import read_mjcf

mujoco = pytest.importorskip("mujoco")


def random_file(rng, angle):
    """Hinges and slides in a random tree, with springs, damping, friction, armature, ref, gravcomp and fixed bodies."""

    def numbers(*shape, scale=1.0):
        return " ".join(f"{x:.5f}" for x in scale * rng.uniform(-1, 1, shape))

    def joint(name):
        turn = 1.0 if angle == "radian" else 57.3
        kind = rng.choice(["hinge", "slide"], p=[0.7, 0.3])
        scale = turn if kind == "hinge" else 1.0
        of_spring = f'stiffness="{rng.uniform(0, 9):.4f}" springref="{scale * rng.uniform(-1, 1):.4f}"'
        of_motor = (
            f'damping="{rng.uniform():.4f}" armature="{rng.uniform():.4f}" frictionloss="{rng.uniform(0, 0.05):.5f}"'
        )
        return (
            f'<joint name="{name}" type="{kind}" axis="{numbers(3)}" pos="{numbers(3, scale=0.2)}" '
            f'ref="{scale * rng.uniform(-1, 1):.4f}" {of_motor} {of_spring if rng.random() < 0.7 else ""}/>'
        )

    def body(depth):
        moves = [joint(f"j{rng.integers(10**9)}") for _ in range(rng.integers(0, 3) if depth else 1)]
        compensated = f'gravcomp="{rng.choice([0.4, 1.0, 1.3, -0.2])}"' if rng.random() < 0.6 else ""
        children = "".join(body(depth + 1) for _ in range(rng.integers(1, 3))) if depth < 2 else ""
        inertial = (
            f'<inertial pos="{numbers(3, scale=0.3)}" mass="{rng.uniform(1, 4):.4f}" diaginertia="0.1 0.12 0.15"/>'
        )
        return f'<body pos="{numbers(3)}" quat="{numbers(4)}" {compensated}>{"".join(moves)}{inertial}{children}</body>'

    option = f'<compiler angle="{angle}"/><option gravity="{numbers(3, scale=9)}"/>'
    return f"<mujoco>{option}<worldbody>{body(0)}</worldbody></mujoco>"


def assert_mujoco_has_these_torques(text, states=4, seed=0):
    model, arm, rng = mujoco.MjModel.from_xml_string(text), mechanism(read_mjcf(text)), np.random.default_rng(seed)
    data = mujoco.MjData(model)
    for _ in range(states):
        q, qdd = rng.uniform(-1, 1, (2, model.nv))
        qd = rng.choice([-1, 1], model.nv) * rng.uniform(0.5, 1, model.nv)  # friction slides: MuJoCo's is soft
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        tau = lean_newton_euler.inverse_dynamics(arm, q.tolist(), qd.tolist(), qdd.tolist())
        np.testing.assert_allclose(tau, data.qfrc_inverse, rtol=0, atol=1e-9 * np.abs(data.qfrc_inverse).max())


@pytest.mark.parametrize("seed", range(12))
def test_random_files_have_mujocos_torques(seed):
    rng = np.random.default_rng(seed)
    assert_mujoco_has_these_torques(random_file(rng, ("radian", "degree")[seed % 2]), seed=seed)


ARM = """<mujoco><option {option}><flag {flags}/></option><worldbody>
<body name="upper" gravcomp="0.7"><joint name="a" axis="0 1 0" stiffness="7" springref="20" damping="0.3" frictionloss="0.2" {a}/>
 <geom type="box" size="0.1 0.2 0.3" pos="0.2 0 0" contype="0" conaffinity="0"/>
 <body name="lower" pos="0.4 0 0" gravcomp="0.4"><joint name="b" axis="0 1 0.1" stiffness="3" ref="15" {b}/>
  <geom type="capsule" size="0.05 0.2" pos="0.1 0 0.2" contype="0" conaffinity="0"/></body></body></worldbody>{after}</mujoco>"""


def arm(option="", flags="", a="", b="", after=""):
    return ARM.format(option=option, flags=flags, a=a, b=b, after=after)


def test_springs_and_gravcomp_become_terms_and_weights():
    robot = read_mjcf(arm())
    (spring,) = robot.joints[0].friction.further
    assert (spring.stiffness, spring.rest) == (7, pytest.approx(np.deg2rad(20)))
    assert [link.weight for link in robot.links] == [1, pytest.approx(0.3), pytest.approx(0.6)]
    assert robot.left_out == ()


FLAGS = ["spring", "damper", "frictionloss", "gravity", "constraint", "equality"]


@pytest.mark.parametrize("flags", [*([flag] for flag in FLAGS), ["spring", "damper"]], ids="+".join)
def test_what_a_flag_disables_is_left_out(flags):
    if "spring" in flags or "damper" in flags:
        pytest.importorskip("mujoco", minversion="3.3.6", reason="older MuJoCo has one flag for both")
    coupled = '<equality><joint joint1="b" joint2="a"/></equality>' if set(flags) & {"equality", "constraint"} else ""
    assert_mujoco_has_these_torques(arm(flags=" ".join(f'{flag}="disable"' for flag in flags), after=coupled))


def test_gravity_compensation_by_motors_is_part_of_their_torques():
    by_motors = 'actuatorgravcomp="true"'
    assert_mujoco_has_these_torques(arm(a=by_motors, b=by_motors))
    assert read_mjcf(arm(a=by_motors, b=by_motors)).left_out == ()
    assert read_mjcf(arm(b=by_motors)).left_out == ("actuatorgravcomp, combined with joints that do not have it: b",)


TENDON = '<tendon><fixed name="t" {}><joint joint="a" coef="1"/></fixed></tendon>'
LEFT_OUT = {
    "limits of tendons: t": {"after": TENDON.format('stiffness="3"')},
    "friction, inertia and": {"after": TENDON.format('range="-1 1" limited="true"')},
    "fluid forces": {"option": 'viscosity="0.1"'},
    "density": {"option": 'density="1.2"'},
    "equality constraints of tendons": {
        "after": TENDON.format("") + '<equality><tendon name="e" tendon1="t"/></equality>'
    },
    "contacts between geoms that can collide": {
        "after": '<worldbody><geom name="g" size="1"/><body><geom name="h" size="1"/></body></worldbody>'
        '<contact><pair geom1="g" geom2="h"/></contact>'
    },
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_changes_torques_and_is_not_modelled_is_a_warning(what, tmp_path):
    file = tmp_path / "arm.xml"
    file.write_text(arm(**LEFT_OUT[what]))
    with pytest.warns(da.ModelWarning, match=what) as caught:
        robot = da.load(file).robot
    assert len(caught) == 1
    assert str(file) in str(caught[0].message)
    assert not any("tendon" in note and "springs" in note for note in robot.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", da.ModelWarning)
        da.load(file)


@pytest.mark.skipif(not hasattr(mujoco.MjModel, "jnt_stiffnesspoly"), reason="this MuJoCo has linear springs only")
def test_nonlinear_springs_and_damping_are_left_out():
    text = arm().replace('stiffness="7"', 'stiffness="7 1 2"').replace('damping="0.3"', 'damping="0.3 1"')
    assert read_mjcf(text).left_out == ("nonlinear joint springs: a", "nonlinear joint damping: a")


@pytest.mark.parametrize("wrong", ['stiffness="-3"', 'damping="-3"', 'frictionloss="-3"', 'armature="-3"'])
def test_a_number_that_no_joint_can_have_is_told_with_its_joint(wrong):
    text = f'<mujoco><worldbody><body><joint name="hip" {wrong}/><geom size="0.1"/></body></worldbody></mujoco>'
    with pytest.raises(da.RobotError, match=r"joint 'hip': .* is -3; it "):
        read_mjcf(text)


def test_what_is_ignored_and_changes_no_torque_is_no_warning(tmp_path):
    servo = '<actuator><position joint="a" kp="10"/><motor name="pull" tendon="t"/></actuator>'
    idle = '<equality><joint name="off" joint1="b" joint2="a" active="false"/></equality>'
    (tmp_path / "arm.xml").write_text(arm(after=TENDON.format("") + servo + idle))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = da.load(tmp_path / "arm.xml").robot
    assert [note.partition(" ignored")[0] for note in robot.notes] == [
        "inactive equality constraints are",
        "tendons are",
        "actuators that do not drive a single joint are",
        "the control laws of actuators (position, velocity, …) are",
    ]


def test_left_out_and_weight_outlive_a_file(tmp_path):
    (tmp_path / "arm.xml").write_text(arm(option='density="1.2"'))
    with pytest.warns(da.ModelWarning):
        loaded = da.load(tmp_path / "arm.xml")
    for name in ("again.toml", "again.urdf"):
        loaded.save(tmp_path / name)
    with pytest.warns(da.ModelWarning, match="fluid"):
        again = da.load(tmp_path / "again.toml")
    assert again.robot == loaded.robot
    assert [x.weight for x in da.load(tmp_path / "again.urdf").robot.links] == [x.weight for x in loaded.robot.links]


@pytest.mark.parametrize(
    ("floor", "geom", "contact", "touches"),
    [
        ("", "", "", True),
        ('<geom type="plane" size="1 1 1"/>', "", '<contact><exclude body1="a" body2="c"/></contact>', True),
        ("", "", '<contact><exclude body1="c" body2="a"/></contact>', False),
        ("", 'contype="0" conaffinity="0"', "", False),
        ("", 'contype="2" conaffinity="1"', "", False),
        ("", 'contype="2" conaffinity="1"', '<contact><pair geom1="ga" geom2="gb"/></contact>', True),
        ("", "", '<option><flag contact="disable"/></option>', False),
    ],
)
def test_geoms_that_can_touch_are_left_out_with_a_warning(floor: str, geom: str, contact: str, touches: bool) -> None:
    """As MuJoCo looks for contacts, parents and children aside; it agrees where all geoms are at one place."""
    links = "".join(f'<body name="{x}"><joint axis="0 1 0"/><geom name="g{x}" size="0.1" {geom}/>' for x in "abc")
    text = f"<mujoco><worldbody>{floor}{links}{'</body>' * 3}</worldbody>{contact}</mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert (data.ncon > 0) == touches
    assert (read_mjcf(text).left_out == ("contacts between geoms that can collide",)) == touches
