"""TOML robots: exact round trips of random robots, every wrong file one sentence."""

import math
import os
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.base.files.file_bounds import TOML_BYTES
from dalembert.errors import RobotError
from dalembert.robot import Frame, Friction, Inertia, Joint, Limits, Link, Placement, Robot, Rotor
from dalembert.robot.readers.dh import Row, from_dh
from dalembert.robot.readers.load import save_robot
from dalembert.robot.readers.toml_reader import parse_toml, read_toml
from dalembert.robot.readers.toml_writer import write_toml

numbers = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0, -0.5])
sizes = st.floats(0.0, 1e3) | st.just(0.0)
angles = st.sampled_from([k * math.pi / 4 for k in range(-4, 5)]) | st.floats(-math.pi, math.pi)
vectors = st.tuples(numbers, numbers, numbers)
axes = vectors.filter(lambda v: math.hypot(*v) > 1e-3)
placements = st.builds(lambda r, p, y, t: Placement.rpy(r, p, y, xyz=t), angles, angles, angles, vectors)
tensors = st.tuples(*[numbers] * 6).map(lambda t: ((t[0], t[3], t[4]), (t[3], t[1], t[5]), (t[4], t[5], t[2])))
inertias = st.just(Inertia()) | st.builds(Inertia, sizes, vectors, tensors)
coulombs = sizes | st.tuples(sizes, sizes)
frictions = st.builds(Friction, sizes, coulombs)
maybe = st.none() | sizes
limits = st.builds(
    Limits, maybe.map(lambda x: x and -x), maybe | st.just(math.inf), velocity=maybe, acceleration=maybe, effort=maybe
)
rotors = (
    st.none()
    | st.builds(
        Rotor,
        sizes,
        numbers.filter(bool),
        sizes,
        st.none() | vectors,
        st.none() | axes,
        sizes,
        st.just(False),
        sizes,
        coulombs,
    )
    | st.builds(lambda inertia: Rotor(inertia, reflected=True), sizes)
)
texts = st.text(max_size=12)
rows = st.builds(
    Row, numbers, angles, numbers, angles, st.sampled_from(["revolute", "continuous", "prismatic"]),
    inertia=inertias, physical=st.booleans(), friction=frictions, limits=limits, rotor=rotors,
)  # fmt: skip


@st.composite
def trees(draw):
    """Any robot: a random tree with fixed joints, rotors, tip, base, payload."""
    n = draw(st.integers(0, 5))
    names = draw(st.lists(st.text(min_size=1, max_size=8), min_size=n + 1, max_size=n + 1, unique=True))
    links = [Link(name, draw(inertias), draw(st.booleans())) for name in names]
    joints = []
    for i in range(1, n + 1):
        parent = names[draw(st.integers(0, i - 1))]
        common = {"placement": draw(placements), "link_frame": draw(placements)}
        if draw(st.booleans()):
            common |= {"axis": draw(axes), "offset": draw(angles), "friction": draw(frictions)}
            common |= {"limits": draw(limits), "rotor": draw(rotors)}
            kind = draw(st.sampled_from(["revolute", "continuous", "prismatic"]))
        else:
            kind = "fixed"
        joints.append(Joint(f"j{i}", kind, parent, names[i], **common))
    tip = draw(st.none() | st.builds(Frame, st.text(min_size=1, max_size=5), st.sampled_from(names), placements))
    return Robot(
        draw(st.text(min_size=1, max_size=9)), tuple(links), tuple(joints), draw(vectors), draw(placements), tip,
        draw(st.none() | st.builds(Inertia, sizes, vectors, tensors)), draw(texts), tuple(draw(st.lists(texts, max_size=2))),
    )  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(trees())
def test_any_robot_comes_back_the_same(robot):
    assert parse_toml(write_toml(robot)) == robot


@settings(max_examples=30, deadline=None)
@given(st.lists(rows, min_size=1, max_size=4), st.sampled_from(["standard", "modified"]), placements, vectors)
def test_dh_arms_come_back_the_same(table, convention, base, gravity):
    robot = from_dh(table, convention, base=base, gravity=gravity, tip=Placement(translation=(0, 0, 1)))
    assert parse_toml(write_toml(robot)) == robot


def test_writer_prefers_dh_rows_and_words_for_angles():
    robot = from_dh([(0.5, -math.pi / 2, 0.1, 0.0), (0.0, 0.3, "q", math.pi)], "standard", base_link="floor")
    text = write_toml(robot)
    data = tomllib.loads(text)
    assert data["convention"] == "standard"
    assert data["base"] == {"link": "floor"}
    assert [joint["alpha"] for joint in data["joint"]] == ["-pi/2", 0.3]
    assert data["joint"][1]["theta"] == "pi"
    assert parse_toml(text) == robot


def test_documented_examples_read():
    text = (Path(__file__).parents[2] / "docs" / "robot-files.md").read_text()
    examples = re.findall(r"```toml\n(.*?)```", text, re.S)
    assert [parse_toml(example).name for example in examples] == ["hand", "tubes", "post", "elbow", "slider"]


def test_save_is_atomic_and_ordinary(tmp_path):
    robot = from_dh([(1.0, 0, 0, 0)])
    path = tmp_path / "arm.toml"
    save_robot(robot, path)
    save_robot(robot.replace(name="second"), path)
    assert read_toml(path).name == "second"
    assert os.listdir(tmp_path) == ["arm.toml"]
    assert path.stat().st_mode & 0o600 == 0o600
    with pytest.raises(RobotError, match=r"nowhere. does not exist"):
        save_robot(robot, tmp_path / "nowhere" / "arm.toml")


def test_symbols_and_nan_are_not_written():
    with pytest.raises(RobotError, match="NaN"):
        write_toml(Robot("r", (Link("a", Inertia(math.nan)),), ()))

    class Symbol:
        def sin(self):
            return self

        cos = __neg__ = __mul__ = __rmul__ = sin

    with pytest.raises(RobotError, match="symbolic values cannot be written"):
        write_toml(from_dh([{"alpha": Symbol()}]))


def test_link_notes_join_the_robots():
    text = 'convention = "standard"\nnotes = ["a"]\n[[joint]]\nmass = 0\nphysical = false\nnote = "never found"'
    robot = parse_toml(text, "x.toml")
    assert robot.notes == ("a", "link 'link1': never found")
    assert not robot.links[1].physical
    assert robot.name == "x"


UNITS = {  # strings with units, and what they mean
    "revolute": (
        "limits = { lower = '-90 deg', upper = 'pi/2', velocity = '130 deg/s', acceleration = '2 rad/s^2', effort = '2.4 kN m' }",
        "limits = { lower = '-pi/2', upper = 'pi/2', velocity = 2.2689280275926285, acceleration = 2.0, effort = 2400.0 }",
    ),
    "revolute at 21 rpm": ("limits = { velocity = '21 rpm' }", "limits = { velocity = 2.199114857512855 }"),
    "prismatic": (
        "type = 'prismatic'\nlimits = { upper = '500 mm', velocity = '250 mm/s', effort = '2.4 kN' }\nfriction = { coulomb = '3 N' }",
        "type = 'prismatic'\nlimits = { upper = 0.5, velocity = 0.25, effort = 2400.0 }\nfriction = { coulomb = 3.0 }",
    ),
    "bodies": (
        "mass = '1.2 t'\ncom = ['-40 mm', 0, 0]\ninertia = ['300 g m²', 1, 1, 0, 0, 0]",
        "mass = 1200.0\ncom = [-0.04, 0, 0]\ninertia = [0.3, 1, 1, 0, 0, 0]",
    ),
    "drives": (
        "rotor = { inertia = '3 g m²', gear = 100, mass = '800 g' }\nfriction = { viscous = '2 N m s/rad', coulomb = ['50 N cm', 0.25] }",
        "rotor = { inertia = 3e-3, gear = 100, mass = 0.8 }\nfriction = { viscous = 2.0, coulomb = [0.5, 0.25] }",
    ),
}


@pytest.mark.parametrize("kind", UNITS)
def test_strings_with_units_are_numbers_in_si(kind):
    with_units, in_si = (parse_toml(f'convention = "standard"\n[[joint]]\na = 1.0\n{x}') for x in UNITS[kind])
    for ours, wanted in zip(with_units.joints, in_si.joints, strict=True):
        assert (ours.friction, ours.rotor) == (wanted.friction, wanted.rotor)
        pairs = [(getattr(x.limits, key) for x in (ours, wanted)) for key in vars(ours.limits)]
        assert all(x == y or x == pytest.approx(y, rel=1e-15) for x, y in pairs)
    assert with_units.links == in_si.links


def test_unused_values_are_said():
    text = FRAMES + 'type = "fixed"\nrotor = { inertia = 1 }\noffset = 1'
    notes = parse_toml(text).notes
    assert notes == ("joint 'j' is fixed, so its offset is not used", "joint 'j' is fixed, so its rotor is not used")


DH = 'convention = "standard"\n'
FRAMES = 'convention = "frames"\n[[link]]\nname = "a"\n[[link]]\nname = "b"\n[[joint]]\nname = "j"\nparent = "a"\nchild = "b"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name = ", "r.toml: this is not valid TOML: Invalid value (at end of document)"),
        ("a = 1\nb = = 2", "this is not valid TOML: Invalid value (at line 2, column 5)"),
        ("x = " + "[" * 100000, "r.toml, line 1: keys or brackets are nested more than 16 deep"),
        ("x = " + "1" * 10000, "r.toml: an integer has more than 4300 digits"),
        ('name = "x"', "r.toml: the key 'convention' is missing; it must be one of 'standard', 'modified', 'frames'"),
        ('convention = "craig"', "'convention' is 'craig'; it must be one of"),
        ("convention = 3", "'convention' is 3; it must be one of"),
        (DH, "there are no [[joint]] tables"),
        (DH + "gravty = [0, 0, 0]", "r.toml: unknown key 'gravty'; did you mean 'gravity'? (known keys: name"),
        (DH + "[[link]]", "r.toml: unknown key 'link'"),
        (DH + "gravity = [0, nan, 0]\n[[joint]]", "'gravity' is nan; it must be a finite number"),
        (DH + "gravity = 9.81\n[[joint]]", "'gravity' is 9.81; it must be a list of 3 numbers"),
        (DH + 'name = ""\n[[joint]]', "'name' is ''; it must be a name of 1 to 1000 characters"),
        (DH + "name = 3\n[[joint]]", "'name' is 3; it must be a string"),
        (DH + 'notes = "x"\n[[joint]]', "'notes' is 'x'; it must be a list of strings"),
        (DH + "joint = 3", "'joint' is 3; write each joint as a [[joint]] table"),
        (DH + "joint = [3]", "joint 1: a table of named values was expected, not 3"),
        (DH + '[[joint]]\nname = "q"\nmas = 1', "r.toml: joint 'q': unknown key 'mas'; did you mean 'mass'"),
        (DH + "[[joint]]\n[[joint]]\nmass = 'x'", "r.toml: joint 2: 'mass' is 'x'; it must be a number"),
        (DH + "[[joint]]\nphysical = 1", "'physical' is 1; it must be true or false"),
        (DH + "[[joint]]\na = 1979-05-27", "it must be a number"),
        (DH + "[[joint]]\n[joint.rotor]\ngears = 1", "joint 1, rotor: unknown key 'gears'; did you mean 'gear'"),
        (DH + "[[joint]]\n[joint.limits]\neffort = -1", "joint 1, limits: the effort limit is -1"),
        (DH + "[[joint]]\n[joint.limits]\neffort = nan", "joint 1, limits: 'effort' is nan; it must be a number"),
        (
            DH + "[[joint]]\ntype='prismatic'\n[joint.limits]\nupper = '1 deg'",
            "'upper' is '1 deg'; it must be a number",
        ),
        (DH + "[base]\nrpy = [0, 0]\n[[joint]]", "r.toml, base: 'rpy' is [0, 0]; it must be a list of 3 numbers"),
        (DH + "[base]\nrpy = [0, 0, 0]\nrotation = [[1,0,0],[0,1,0],[0,0,1]]\n[[joint]]", "both 'rpy' and 'rotation'"),
        (DH + "[base]\nrotation = [[1,0,0],[0,1,0],[0,0,-1]]\n[[joint]]", "base: 'rotation' is not a rotation matrix"),
        (DH + "[tip]\nlink = 'x'\n[[joint]]", "the tip is on link 'x', which does not exist"),
        (DH + "[payload]\ncom = [0,0,0]\n[[joint]]", "r.toml, payload: the key 'mass' is missing"),
        (FRAMES, "r.toml: joint 'j': the key 'type' is missing"),
        (FRAMES + "type = 'universal'", "joint 'j': 'type' is 'universal'; it must be one of"),
        (FRAMES + "type = 'revolute'\naxis = [0, 0, 0]", "r.toml: joint 'j': the axis of joint 'j' is (0.0, 0.0, 0.0)"),
        (FRAMES.replace('child = "b"', 'child = "c"') + "type = 'fixed'", "has child link 'c', which does not exist"),
        (FRAMES + "type = 'fixed'\n[tip]\nxyz = [0, 0, 1]", "r.toml, tip: the key 'link' is missing"),
        ("convention = 'frames'", "there are no [[link]] tables"),
        (FRAMES + "type = 'fixed'\na = 1", "joint 'j': unknown key 'a'"),
    ],
)
def test_wrong_files_get_one_sentence(text, sentence):
    with pytest.raises(RobotError) as error:
        parse_toml(text, "r.toml")
    assert sentence in str(error.value)
    assert str(error.value).startswith("r.toml") and "\n" not in str(error.value)
    assert str(error.value).count("r.toml") == 1


def test_unreadable_files_get_one_sentence(tmp_path):
    with pytest.raises(RobotError, match=r"missing\.toml: there is no such file"):
        read_toml(tmp_path / "missing.toml")
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b'name = "x"\nsource = "\xff"')
    with pytest.raises(RobotError, match=r"bad\.toml: line 2 is not UTF-8"):
        read_toml(bad)
    bad.write_bytes(b"#" * (TOML_BYTES + 1))
    with pytest.raises(RobotError, match=r"bad\.toml: the robot file has \d+ bytes; the maximum is \d+"):
        read_toml(bad)
