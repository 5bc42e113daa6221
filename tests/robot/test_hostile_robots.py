"""Robot files, limits and logs from strangers: each is read or refused in one sentence, and soon.

To add a case, add a line to CASES: the file's name, its text, and what the sentence says (None: it loads).
"""

from __future__ import annotations

import math
import os
import signal
import warnings
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.base.files import file_bounds as bounds
from dalembert.base.tables.units import parse_angle
from dalembert.base.wording import nearest
from dalembert.errors import DalembertError, RobotError
from dalembert.robot.readers.limits_file import with_limits
from dalembert.work.logs.log import read_log

SECONDS = 20  # most take milliseconds, and what they used to take was minutes; the machine may be busy

ROW = 'convention = "standard"\n[[joint]]\nmass = 1.0\n'
FRAMES = 'convention = "frames"\n'
INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def urdf(inside: str) -> str:
    return f'<robot name="r"><link name="l0"/>{inside}</robot>'


def sdf(inside: str, joints: int) -> str:
    """A model, and a chain of joints through its links l0, l1, …"""
    chained = "".join(
        f'<joint name="j{k}" type="fixed"><parent>l{k}</parent><child>l{k + 1}</child></joint>' for k in range(joints)
    )
    return f'<sdf version="1.9"><model name="m">{inside}{chained}</model></sdf>'


def chain(n: int, kind: str = "fixed", extra: str = "") -> str:
    links = "".join(f'<link name="l{k + 1}"/>' for k in range(n))
    joints = (
        f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>{extra}</joint>'
        for k in reversed(range(n))
    )
    return urdf(links + "".join(joints))


def mjcf(world: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{world}</worldbody>{after}</mujoco>"


def hfield(n: int) -> str:
    return f'<asset><hfield name="h" nrow="{n}" ncol="{n}" size="1 1 1 1"/></asset>'


def body(inside: str = "") -> str:
    return f'<body>{INERTIAL}<joint axis="0 0 1"/>{inside}</body>'


PART = f'<mujocoinclude><replicate count="1000000000">{body()}</replicate></mujocoinclude>'
ATTACH = "<attach model='m' body='b' prefix='p'/>"
NESTED = "keys or brackets are nested more than 16 deep"
CASES: list[tuple[str, str, str | None]] = [
    # DH angles
    ("blanks.toml", ROW + f'alpha = "{" " * 100_000}x"', "'alpha' is ' .*must be a number, or an angle"),
    ("blanks-between.toml", ROW + f'alpha = "1{" " * 100_000}/{" " * 100_000}x"', "must be a number, or an angle"),
    ("digits.toml", ROW + f'alpha = "{"1" * 100_000}x"', "must be a number, or an angle"),
    ("fraction.toml", ROW + f'alpha = "0.{"1" * 100_000} rad"', None),
    ("endless-angle.toml", ROW + f'alpha = "{"1" * 100_000}"', "'alpha' is inf; it must be a finite number"),
    ("pi-by-infinity.toml", ROW + 'alpha = "pi/1e999"', "must be a number, or an angle"),
    # TOML
    ("dotted.toml", ROW + "a." * 100_000 + "a = 1", f"dotted.toml, line 4: {NESTED}"),
    ("dotted-header.toml", f"[{'a.' * 100_000}a]", f"line 1: {NESTED}"),
    ("dotted-quotes.toml", "'a' . " * 100_000 + "a = 1", f"line 1: {NESTED}"),
    ("deep-list.toml", "a = " + "[" * 5000 + "]" * 5000, f"line 1: {NESTED}"),
    ("deep-tables.toml", "a = " + "{a=" * 5000 + "1" + "}" * 5000, f"line 1: {NESTED}"),
    ("dots-in-strings.toml", f'{ROW}note = "{"a." * 100}"\nlink = """{"[.{" * 100}"""', None),
    ("open-string.toml", 'a = """' + '\\"""' * 50_000, "this is not valid TOML"),
    ("hex.toml", ROW + "a = 0x" + "f" * 100_000, "'a' is an integer of more than 4300 digits; it must be a finite number"),
    ("hex-list.toml", f"gravity = [0x{'f' * 100_000}, 0, 0]\n{ROW}", "'gravity' is an integer of more than 4300 digits"),
    ("hex-name.toml", f"name = 0x{'f' * 100_000}\n{ROW}", "'name' is an integer of .* digits; it must be a string"),
    ("digits-name.toml", f"name = {'1' * 5000}\n{ROW}", "digits-name.toml: an integer has more than 4300 digits; the largest number is"),
    ("long-name.toml", f'name = "{"x" * 100_000}"\n{ROW}', "'name' is 'xxx.*it must be a name of 1 to 1000 characters"),
    ("long-joint.toml", ROW + f'name = "{"x" * 100_000}"', "joint 1: 'name' is 'xxx.*a name of 1 to 1000 characters"),
    ("long-key.toml", ROW + "x" * 100_000 + " = 1", "unknown key 'xxx"),
    ("many-keys.toml", ROW + "".join(f"k{k} = 1\n" for k in range(50_000)), "unknown key 'k0'"),
    ("many-joints.toml", 'convention = "standard"\n' + "[[joint]]\n" * 100_000, r"it has more than 10000 \[\[joint\]\] tables"),
    ("many-loops.toml", ROW + "[[loop]]\n" * 1000, r"it has more than 100 \[\[loop\]\] tables"),
    ("zero-byte.toml", ROW + 'name = "a\0b"', "this is not valid TOML: Illegal character"),
    ("surrogate.toml", ROW + 'name = "\\ud800"', "this is not valid TOML"),
    ("control.toml", ROW + 'name = "a\\nb\\u0007"', None),
    ("control-twice.toml", ROW + 'name = "a\\nb"\n[[joint]]\nname = "a\\nb"', r"two joints have the name 'a\\nb'"),
    ("bytes.toml", "#" * (4 * 2**20 + 1), "the robot file has 4194305 bytes; the maximum is 4194304"),
    # URDF
    ("tags.urdf", urdf("".join(f"<t{k}/>" for k in range(100_000))), None),
    ("calibrations.urdf", chain(9_000, extra="<calibration/>"), None),
    ("fixed.urdf", chain(9_000), None),
    ("moving.urdf", chain(2_000, "continuous"), None),
    ("too-many-joints.urdf", chain(10_001), "it has more than 10000 links"),
    ("elements.urdf", urdf("<a/>" * 200_000), "it has more than 200000 XML elements"),
    ("attributes.urdf", urdf("<a " + "".join(f'a{k}="" ' for k in range(100_000)) + "/>"), None),
    ("more-attributes.urdf", urdf("<a " + 'a="" ' * 600_000 + "/>"), "it has more than 500000 attributes"),
    ("unlimited.urdf", chain(1, "revolute", '<limit/><dalembert unlimited="foo"/>'), "'unlimited' of <dalembert> is 'foo'"),
    ("long-number.urdf", chain(1, extra=f'<origin xyz="{"x" * 10**6} 0 0"/>'), "'xyz' of <origin> is 'xxx.*must be a number"),
    ("digits.urdf", chain(1, extra=f'<origin xyz="{"1" * 10**6} 0 0"/>'), "it must be a finite number"),
    ("many-numbers.urdf", chain(1, extra=f'<origin xyz="{"1 " * 10**6}"/>'), "it must be 3 numbers, not 1000000"),
    ("long-link.urdf", urdf(f'<link name="{"x" * 10**6}"/>'), "'name' of <link> is 'xxx.*1 to 1000 characters"),
    ("line-break.urdf", urdf('<link name="a&#10;b"/>'), r"has 2 roots \(l0, a\\nb\)"),
    ("cycle.urdf", chain(9_000).replace('<parent link="l0"/>', '<parent link="l9000"/>'), "form a cycle|has .* roots"),
    ("deep-kept.urdf", urdf("<a>" * 480 + "</a>" * 480), None),
    ("many-gazebo.urdf", urdf('<gazebo reference="l0"><a/></gazebo>' * 20_000), None),
    # SDF
    ("chain.sdf", sdf("".join(f'<link name="l{k}"/>' for k in range(1_500)), 1_499), None),
    ("too-many.sdf", sdf("".join(f'<link name="l{k}"/>' for k in range(10_001)), 0), "it has more than 10000 links"),
    ("frames.sdf", sdf('<link name="l"/>' + "".join(f'<frame name="f{k}" attached_to="f{k + 1}"/>' for k in range(5_000)), 0), "more than 200 frames in one chain"),
    ("nested.sdf", sdf('<model name="m">' * 400 + "</model>" * 400, 0), "models are nested more than 32 deep"),
    ("long-pose.sdf", sdf(f'<link name="l"><pose>{"1 " * 10**6}</pose></link>', 0), "it must be 6 numbers, not 1000000"),
    ("long-name.sdf", sdf(f'<link name="{"x" * 10**6}"/>', 0), "'name' of <link> is 'xxx.*1 to 1000 characters"),
    # MJCF
    ("replicate.xml", mjcf(f'<replicate count="1000000000">{body()}</replicate>'), "replicate.xml: it has more than 10000 elements"),
    ("attached.xml", f"<mujoco><asset><model name='m' file='part.xml'/></asset><worldbody>{ATTACH}</worldbody></mujoco>", "more than 10000 elements"),
    ("replicate-e.xml", mjcf(f'<replicate count="1e300">{body()}</replicate>'), "it has more than 10000 elements"),
    ("nested.xml", mjcf('<replicate count="99">' * 9 + body() + "</replicate>" * 9), "it has more than 10000 elements"),
    ("included.xml", mjcf('<include file="part.xml"/>'), "included.xml: it has more than 10000 elements"),
    ("composite.xml", mjcf('<body><composite type="cable" count="1000000000 1 1"/></body>'), "it has more than 10000 elements"),
    ("flexcomp.xml", mjcf('<flexcomp name="f" count="9999 9999 9999" spacing="1 1 1"/>'), "it has more than 10000 elements"),
    ("bodies.xml", mjcf(body() * 5_000), "it has more than 1000 joints"),
    ("still-bodies.xml", mjcf("<body/>" * 5_000), "it has more than 2000 bodies"),
    ("defaults.xml", mjcf(body(), f"<default>{'<default/>' * 20_000}</default>"), "it has more than 10000 elements"),
    ("numeric.xml", mjcf(body(), '<custom><numeric name="n" size="1000000000"/></custom>'), "10000 numbers in size"),
    ("geoms.xml", mjcf(body('<geom size="1"/>' * 5_000)), None),
    ("height.xml", mjcf(body(), hfield(99999)), "it has more than 16777216 points in height fields"),
    ("height-geom.xml", mjcf(body() + '<geom type="hfield" hfield="h"/>', hfield(1000)), None),
    ("texture.xml", mjcf(body(), '<asset><texture type="2d" builtin="flat" width="99999" height="99999"/></asset>'), None),
    ("keys.xml", mjcf(body('<geom size="1"/>' * 500), after=f"<keyframe>{'<key/>' * 5000}</keyframe>"), "keyframes that no"),
    ("user.xml", mjcf(body(), '<size nuser_body="1000000000"/>'), "it has more than 10000 numbers in nuser_body of <size>"),
    ("keys-size.xml", mjcf(body(), '<size nkey="1000000000"/>'), "it has more than 10000 numbers in nkey of <size>"),
    ("quaternion.xml", mjcf(body().replace("<body>", '<body quat="1 -1e308 0 0">')), r"turns body_quat 1 into \[.*\], because numbers"),
    # limits
    ("limits-401.toml", f"effort = {'9' * 401}", "effort of joint 'joint1': '?9.* is too large for a number"),
    ("limits-4301.toml", f"effort = {'9' * 4301}", "an integer has more than 4300 digits; the largest number is"),
    ("limits-hex.toml", f"effort = 0x{'f' * 9999}", "an integer of more than 4300 digits is too large for a number"),
    ("limits-deep.toml", "effort = " + "[" * 5000 + "]" * 5000, f"limits-deep.toml, line 1: {NESTED}"),
    ("limits-deep-15.toml", "effort = " + "[" * 15 + "]" * 15, r"effort of joint 'joint1': \[\[.* is not a number"),
    ("limits-field.csv", f"joint,effort\njoint1,{'9' * 131_073}", r"line 2: this is not a line of a table \(field larger than"),
    ("limits-zero.csv", "joint,effort\njoint1,\0", r"line 2.*(not a line of a table|'\\x00' is not a number)"),
    ("limits-wide.csv", "joint" + ",effort" * 100_000, "the columns 'effort' and 'effort' both mean effort"),
    ("wide.csv", "a,alpha,d,theta" + ",z" * 1000 + "\n1,0,0,q\n", "it has more than 1000 columns"),
    ("limits-rows.csv", "joint,effort\n" + "joint1,9\n" * 50_000, None),
    ("limits-names.csv", f"joint,effort\n{'x' * 10_000},9", "has no joint 'xxx.*; its joints are joint1, joint2"),
    ("limits-bytes.csv", "#" * (2**20 + 1), "the limits file has 1048577 bytes; the maximum is 1048576"),
]  # fmt: skip


class Hung(BaseException):
    """Not an Exception, so that nobody takes it for a damaged file."""


@pytest.fixture(autouse=True)
def soon():
    """A hang fails its own test, not the whole run."""

    def hung(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, hung)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def read(path: Path) -> object:
    if path.name.startswith("limits"):
        return with_limits(da.load("planar-2r").robot, str(path))
    return da.load(path)


@pytest.mark.parametrize(("name", "text", "sentence"), CASES, ids=[name for name, _, _ in CASES])
def test_hostile_file_is_read_or_refused_in_one_sentence(tmp_path, name, text, sentence):
    if name.endswith(".xml"):
        pytest.importorskip("mujoco")
        (tmp_path / "part.xml").write_text(PART)
    (tmp_path / name).write_bytes(text.encode())
    if sentence is None:
        read(tmp_path / name)
        return
    with pytest.raises(DalembertError, match=sentence) as caught:
        read(tmp_path / name)
    assert name in str(caught.value) and len(str(caught.value)) < 5000 and str(caught.value).isprintable()


PLACES = [
    *((lambda name: da.load(name), f"arm{suffix}", "robot file") for suffix in (".toml", ".urdf", ".xml", ".mjcf")),
    *(
        (lambda name: with_limits(da.load("planar-2r").robot, str(name)), f"l{s}", "limits file")
        for s in (".toml", ".csv")
    ),
]


@pytest.mark.parametrize(("reader", "name", "what"), PLACES, ids=[name for _, name, _ in PLACES])
def test_devices_pipes_and_folders_are_one_sentence(tmp_path, reader, name, what):
    path = tmp_path / name
    path.symlink_to("/dev/zero")
    with pytest.raises(RobotError, match=f"{name}: this is a device, not a {what}"):
        reader(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(RobotError, match=f"{name}: this is a folder; give the {what} inside it"):
        reader(path)
    path.rmdir()
    os.mkfifo(path)  # nobody writes to it, so it is empty; nobody waits for it
    with (
        pytest.raises(RobotError, match=f"{name}: .*(empty|'convention' is missing)")
        if name != "l.toml"
        else nullcontext()
    ):
        reader(path)
    with pytest.raises(DalembertError, match=r"cannot be read|no such file"):
        reader(tmp_path / ("x" * 5000 + path.suffix))
    with pytest.raises(DalembertError, match=r"is not a valid file name|no such file"):
        reader(f"a\0b{path.suffix}")


def test_a_robot_that_compiles_for_long_is_announced(tmp_path):
    for count in (200, 201):
        (tmp_path / "long.toml").write_text('convention = "standard"\n' + "[[joint]]\na = 0.1\nmass = 1.0\n" * count)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            da.load(tmp_path / "long.toml")
        assert [str(x.message).partition("; ")[2][:60] for x in seen] == (
            ["the first call of each function compiles for about 14 s or mo"[:60]] if count > 200 else []
        )


def test_a_pipe_as_a_mesh_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "m.stl")
    (tmp_path / "sub.xml").write_text('<mujoco><asset><mesh name="m" file="m.stl"/></asset></mujoco>')
    for asset in ('<mesh name="m" file="m.stl"/>', '<model name="s" file="sub.xml"/>'):
        (tmp_path / "r.xml").write_text(f"<mujoco><asset>{asset}</asset><worldbody>{body()}</worldbody></mujoco>")
        with pytest.raises(RobotError, match=r"refers to 'm.stl', which is a pipe or a device and not a file"):
            da.load(tmp_path / "r.xml")


@pytest.mark.parametrize("suffix", [".toml", ".urdf"])
@pytest.mark.parametrize("where", ["robot", "joint", "link", "note"])
def test_lone_surrogates_are_refused_when_saving(tmp_path, suffix, where):
    robot = da.from_dh([{"mass": 1.0}]).robot
    bad = "half \udc80"
    changed = {
        "robot": lambda: robot.replace(name=bad),
        "joint": lambda: robot.replace(joints=[replace(robot.joints[0], name=bad)]),
        "link": lambda: robot.replace(
            links=[robot.links[0], replace(robot.links[1], name=bad)],
            joints=[replace(robot.joints[0], child=bad)],
            tip=None,
        ),
        "note": lambda: robot.replace(notes=[bad]),
    }[where]()
    if (where, suffix) == ("note", ".urdf"):  # URDF holds no notes
        da.Arm(changed).save(tmp_path / "arm.urdf")
        return
    with pytest.raises(RobotError, match=r"half \\udc80"):
        da.Arm(changed).save(tmp_path / f"arm{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".toml", ".urdf"])
def test_names_with_control_characters_come_back(tmp_path, suffix):
    names = ["tab\there", "new\nline", "del\x7f", "\u0085"]
    robot = da.from_dh([{"mass": 1.0, "name": name} for name in names]).robot
    da.Arm(robot).save(tmp_path / f"arm{suffix}")
    assert [joint.name for joint in da.load(tmp_path / f"arm{suffix}").robot.moving_joints] == names


def test_inertia_errors_recommend_what_the_caller_takes(tmp_path):
    row = {"mass": 1.0, "inertia": [1.0, 1.0, 9.0, 0.0, 0.0, 0.0]}
    with pytest.raises(RobotError, match=r'mark the row .* with "physical": False') as caught:
        da.from_dh([row])
    assert "warn" not in str(caught.value)
    arm = da.from_dh([row | {"physical": False}])
    arm.save(tmp_path / "arm.toml")
    text = (tmp_path / "arm.toml").read_text()
    (tmp_path / "arm.toml").write_text(text.replace("physical = false", ""))
    with pytest.raises(RobotError, match=r'load it with physical="warn" \(--physical warn\)'):
        da.load(tmp_path / "arm.toml")
    with pytest.warns(UserWarning, match="physically impossible inertias"):
        da.load(tmp_path / "arm.toml", physical="warn")


def test_the_documents_state_the_bounds():
    document = (Path(__file__).parents[2] / "docs" / "robot-files.md").read_text()
    section = document.partition("## How large a file may be")[2]
    numbers = {name: value for name, value in vars(bounds).items() if name.isupper()}
    assert len(numbers) > 10
    for name, value in numbers.items():
        words = f"{value >> 20} MiB" if name.endswith("_BYTES") else f"{value:,}".replace(",", " ")
        words = f"{value:g}".replace("e+", "e") if isinstance(value, float) else words
        assert words in section, (name, words)


def test_angles_mean_what_they_meant():
    for text, angle in {
        "pi/2": math.pi / 2, "-3 pi / 4": -3 * math.pi / 4, " + 2*pi ": 2 * math.pi, "90 deg": math.pi / 2, "90°": math.pi / 2,
        "1.2 rad": 1.2, ".5e1": 5.0, "2.": 2.0, "- 1": -1.0, "1/2": 0.5, "π": math.pi, "1 /3 deg": math.radians(1 / 3),
    }.items():  # fmt: skip
        assert parse_angle(text) == angle, text
    for text in ("", " ", "+", "/2", "pi deg", "1 2", "1..2", "pi/0", "pi pi", "1e", "deg"):
        assert parse_angle(text) is None, text


def test_suggestions_do_not_take_forever():
    assert nearest("x" * 100_000, ["x" * 99_999]) == ""
    assert nearest("jont1", [f"link{k}" for k in range(100_000)] + ["joint1"]) == ""  # too far back to be compared
    assert nearest("jont1", ["joint1"]) == "; did you mean 'joint1'?"


def test_endless_integers_in_python_are_one_sentence():
    for bad in ({"a": 10**400}, {"a": 10**5000}, {"alpha": [10**5000]}, {"limits": {"effort": 10**400}, "a": 1}):
        with pytest.raises(RobotError, match="it must be"):
            da.from_dh([bad])
    with pytest.raises(RobotError, match="beyond"):
        da.Joint("j", "revolute", "a", "b", offset=10**400)
    with pytest.raises(RobotError, match="beyond"):
        da.Limits(effort=10**400)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RobotError, match="it must be"):
        da.from_dh([{"a": deep}])


def test_a_damaged_matlab_file_is_one_sentence(tmp_path):
    """The byte that kills SciPy's reader, and with it the process, where it is not in one of its own."""
    from scipy.io import savemat

    arm, t = da.load("planar-2r"), np.linspace(0.0, 1.0, 50)
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    savemat(tmp_path / "good.mat", {"t": t, "q": q, "tau": q})
    content = bytearray((tmp_path / "good.mat").read_bytes())
    content[145] = 255
    (tmp_path / "bad.mat").write_bytes(content)
    with pytest.raises(DalembertError, match=r"bad.mat: SciPy's reader of MATLAB files crashed on it \(SIGSEGV\)"):
        read_log(tmp_path / "bad.mat", arm)
    np.testing.assert_array_equal(read_log(tmp_path / "good.mat", arm).q, q)  # in a new helper


def test_a_large_matlab_file_is_refused_before_it_is_read(tmp_path):
    from scipy.io import savemat

    savemat(tmp_path / "zeros.mat", {"a": np.zeros((2, 3))})
    content = (tmp_path / "zeros.mat").read_bytes()
    size, endless = (np.array(shape, "<i4").tobytes() for shape in ([2, 3], [12_000, 12_000]))
    assert content.count(size) == 1
    (tmp_path / "zeros.mat").write_bytes(content.replace(size, endless))
    with pytest.raises(
        DalembertError, match=r"zeros.mat: its variables take 1152000000 bytes; the maximum is 1073741824"
    ):
        read_log(tmp_path / "zeros.mat", da.load("planar-2r"))


@pytest.mark.parametrize("letter", ["x", "\0", "\n", "\U000e0001", "\udc80"])
def test_a_sentence_is_never_endless(letter):
    """Escapes count: a control character of a file takes up to ten letters in the sentence."""
    sentence = str(DalembertError(f"the name is {letter * 100_000}, too long"))
    assert len(sentence) < 4100 and sentence.isprintable()
    assert sentence.startswith("the name is ") and sentence.endswith(", too long")
