"""Macro files: expanded in the helper process, with packages beside them; every mistake is one sentence."""

from pathlib import Path

import pytest

import dalembert as da
from dalembert.errors import RobotError
from dalembert.robot.readers import xacro_expander
from dalembert.robot.readers.load import load_robot
from dalembert.robot.readers.urdf import parse_urdf

pytest.importorskip("xacro")

XMLNS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
LINK = f"""<robot {XMLNS}><xacro:macro name="body" params="called mass">
<link name="${{called}}"><inertial><mass value="${{mass}}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
</xacro:macro></robot>"""
ARM = """<robot name="$(arg name)" {xmlns}><xacro:arg name="mass" default="2"/>
<xacro:include filename="$(find {package})/urdf/link.xacro"/><link name="base"/>
<xacro:body called="a" mass="${{2*$(arg mass)}}"/>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>{inside}</joint></robot>"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two packages beside each other: the arm, and the macros that it needs."""
    for package in ("arm_description", "parts"):
        (tmp_path / package / "urdf").mkdir(parents=True)
    (tmp_path / "parts" / "urdf" / "link.xacro").write_text(LINK)
    return tmp_path


def arm(folder: Path, package: str = "parts", inside: str = "") -> Path:
    path = folder / "arm_description" / "urdf" / "arm.urdf.xacro"
    path.write_text(ARM.format(xmlns=XMLNS, package=package, inside=inside))
    return path


def test_macros_arguments_and_packages(folder: Path) -> None:
    robot = load_robot(arm(folder), arguments={"name": "r", "mass": 3})
    assert (robot.name, robot.link("a").inertia.mass, robot.notes) == ("r", 6.0, ())
    assert load_robot(arm(folder), arguments={"name": "r"}, tip="base").tip.link == "base"
    expected = parse_urdf(
        '<robot name="r"><link name="base"/><link name="a"><inertial><mass value="4"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint></robot>'
    )
    assert load_robot(arm(folder), arguments={"name": "r"}).replace(source=expected.source) == expected


def test_an_argument_that_nothing_asks_for_is_refused(folder: Path) -> None:
    with pytest.raises(RobotError, match=r"the file has no argument 'mas'; its arguments are .*did you mean 'mass'"):
        load_robot(arm(folder), arguments={"name": "r", "mas": 3})


def test_renamed_package_folders_are_found_and_said(folder: Path) -> None:
    (folder / "arm_description" / "urdf" / "link.xacro").write_text(LINK)
    robot = load_robot(arm(folder, "arm"), arguments={"name": "r"})
    assert robot.notes == ("the package 'arm' was read from the folder 'arm_description'",)


@pytest.mark.parametrize(
    ("package", "inside", "sentence"),
    [
        (
            "parts",
            "",
            r"arm.urdf.xacro: the xacro argument 'name' has no value; give it as load\(…, arguments=.\"name\"",
        ),
        ("elsewhere", "", r"arm.urdf.xacro: the package of \$\(find elsewhere\) is neither in .*ROS_PACKAGE_PATH"),
        ("../parts", "", r"\$\(find ../parts\) is not a package name"),
        ("parts", '<limit effort="${nothing}"/>', "xacro cannot expand it: name 'nothing' is not defined"),
        ("parts", "<xacro:nothing/>", "xacro cannot expand it: unknown macro name: xacro:nothing"),
        ("parts", '<xacro:include filename="no.xacro"/>', "there is no file '.*no.xacro'"),
        ("parts", "${().__class__.__base__}", "uses .__class__., which robot files may not use"),
        ("parts", '<xacro:arg name="len"/>', "xacro cannot expand it: xacro:arg: missing attribute 'default'"),
        ("parts", "<limit", "arm.urdf.xacro: this is not well-formed XML"),
        ("parts", '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>', "calls itself endlessly"),
    ],
)
def test_mistakes_are_one_sentence(folder: Path, package: str, inside: str, sentence: str) -> None:
    given = {} if "argument" in sentence else {"name": "r"}
    with pytest.raises(RobotError, match=sentence) as caught:
        load_robot(arm(folder, package, inside), arguments=given)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_robot(folder: Path) -> None:
    with pytest.raises(
        RobotError, match=r"only macros \(body\) and is not a robot; load the .xacro file that includes it"
    ):
        load_robot(folder / "parts" / "urdf" / "link.xacro")
    with pytest.raises(RobotError, match="no such file"):
        load_robot(folder / "none.xacro")
    (folder / "laughs.xacro").write_text('<!DOCTYPE r [<!ENTITY a "ha">]><robot>&a;</robot>')
    with pytest.raises(RobotError, match="document type or entity"):
        load_robot(folder / "laughs.xacro")
    (folder / "arm.urdf").write_text("<robot/>")
    with pytest.raises(RobotError, match=r"arguments \(name\) are for .xacro files, not for '.urdf'"):
        load_robot(folder / "arm.urdf", arguments={"name": "r"})


HOSTILE = {  # expressions that lead to any code, each by another way
    "a comprehension": "${[c for c in [x.__class__.__base__.__subclasses__() for x in [()]][0]][0]}",
    "an attribute": "${().__class__}",
    "a frame": "${(x for x in [1]).gi_frame.f_back.f_builtins}",
    "a function's": "${xacro.load_yaml.__globals__}",
    "a function's own": "${len.name}",
    "a function as text": "${str(len)}",
    "a format": r"${'\x7b0.__class__\x7d'.format(1)}",
    "a format of items": r"${'\x7b0[a]\x7d'.format(dict(a=1))}",
    "a format in a format": r"${'\x7b0:\x7b1.real\x7d\x7d'.format(1, 2)}",
    "a format map": r"${'\x7ba.__class__\x7d'.format_map(dict(a=1))}",
    "a format by map": r"${map('\x7b0.real\x7d'.format, [1])}",
    "vars": "${python.vars(python.list)['__class__']}",
    "type": "${python.type(1)}",
    "a lambda": "${(lambda: 0).__code__}",
    "a walrus": "${(x := 1)}",
    "builtins": "${__builtins__}",
    "the lookup": "${__attribute_of((), '__class__')}",
    "open": "${open('/etc/passwd').read()}",
    "a namespace's parent": "${n.parent.get('len')}",
    "a namespace's top": "${n.top()}",
    "a namespace's method": "${n.update(dict(a=1))}",
    "a namespace itself": "${n}",
    "a namespace as a list": "${list(n)}",
    "the functions": "${python}",
    "the functions as items": "${python.items()}",
    "an item of the functions": "${python['len']}",
    "a key": "${sorted([1], key=len)}",
    "isinstance": "${python.isinstance(1, len)}",
    "eval, open": "$(eval open)",
    "eval, exec": "$(eval exec)",
    "eval, import": "$(eval __import__)",
    "eval, a function's": "$(eval find.func_globals)",
    "eval, an attribute": "$(eval [x.mro for x in [int]])",
    "eval, an f-string": "$(eval f'{[].__class__}')",
    "a power": "${9**9**9}",
    "a shift": "${1 << 10**9}",
    "a text": "${'x' * 10**9}",
    "a list": "${[0] * 10**9}",
    "a range": "${range(10**18)}",
    "a loop": "${[i for i in range(90000) for j in range(90000)]}",
    "steps": "${sum([sum(range(900)) for i in range(9000)])}",
    "a width": "${'%999999999d' % 1}",
    "a starred width": "${'%*d' % (999999999, 1)}",
    "a format's width": r"${'\x7b:999999999\x7d'.format(1)}",
    "a format's given width": r"${'\x7b:\x7b\x7d\x7d'.format(1, 999999999)}",
    "digits": "${round(1, -10**9) * factorial(10**6)}",
    "replacements": "${('x' * 90000).replace('', 'x' * 90000)}",
    "brackets": "${" + "(" * 5000 + ")" * 5000 + "}",
    "signs": "${" + "-" * 50000 + "1}",
    "lists in lists": "${[[[0 for k in range(99)] for j in range(99)] for i in range(99)]}",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_expression_of_a_file_reaches_more_than_its_numbers(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.xacro"
    value = HOSTILE[kind].replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    path.write_text(
        f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="no*.file" ns="n"/>'
        f'<xacro:property name="p" value="{value}"/><link name="${{p}}"/></robot>'
    )
    with pytest.raises(da.RobotError) as raised:
        da.load(path)
    sentence = str(raised.value)
    assert (
        str(path) in sentence and "root:" not in sentence and "within 30 s" not in sentence and "memory" not in sentence
    )


def test_expressions_compute_as_before(tmp_path: Path) -> None:
    (tmp_path / "sizes.yaml").write_text("arm: {length: 0.5, names: [a, b]}\n")
    path = tmp_path / "robot.xacro"
    path.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="mass" default="2"/>'
        """<xacro:property name="y" value="${xacro.load_yaml('sizes.yaml')}"/><xacro:property name="_m" value="3"/>"""
        """<link name="${y.arm.names[0].upper()}${'\\x7b:.1f\\x7d'.format(y['arm']['length'])}"/>"""
        """<link name="${'_'.join([str(len(n)) for n in y.arm.names])}"><inertial>"""
        """<mass value="$(eval mass * 2.0 + 1)"/>"""
        """<inertia ixx="${_m * cos(0) + python.sum([1, 2]) + math.pi - pi}" iyy="5" izz="5" ixy="0" ixz="0" iyz="0"/>"""
        """</inertial></link><joint name="j" type="continuous"><parent link="A0.5"/><child link="1_1"/></joint></robot>"""
    )
    (_, link) = da.load(path).robot.links
    assert (link.name, link.inertia.mass, link.inertia.tensor[0][0]) == ("1_1", 5.0, 6.0)


USUAL = {  # expressions as vendors write them, and their values
    "'%s_%d' % (prefix, 3)": "r_3",
    "radians(90) == pi/2 and math.ceil(1.2) == 2": "True",
    "-1 if not mirrored else 1": "-1",
    "[float(x) for x in xyz.split(' ')][1]": "0.5",
    "max(*map(float, xyz.split()))": "1.0",
    "dict(a=1.5, **dict(b=2))['b']": "2",
    "len([*range(3), *xyz.split()])": "6",
    "'yes' if 'b' in table and table.get('c', 0) == 0 else 'no'": "yes",
    "' '.join([k + str(v) for k, v in sorted(table.items())])": "a1 b2",
    "1.0/12 * 2.0 * (0.3**2 + 0.4**2)": "0.041666666666666664",
    "python.isinstance(prefix, (python.str, python.int)) or python.any([])": "True",
    "round(python.sum([0.1, 0.2]), 3)": "0.3",
    "xacro.message('hello') + xyz[::-1][0]": "1",
    "str(mirrored).lower() + xacro.arg('size')": "false7",
}


def test_expressions_as_vendors_write_them(tmp_path: Path) -> None:
    links = "".join(f'<link name="{k}:${{{text}}}"/>' for k, text in enumerate(USUAL))
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="root"/><child link="{k}:{value}"/></joint>'
        for k, value in enumerate(USUAL.values())
    )
    properties = {"prefix": "r", "mirrored": "false", "xyz": "0 0.5 1", "table": "${dict(a=1, b=2)}"}
    given = "".join(f'<xacro:property name="{name}" value="{value}"/>' for name, value in properties.items())
    (tmp_path / "usual.xacro").write_text(
        f'<robot name="r" {XMLNS}><xacro:arg name="size" default="7"/>{given}<link name="root"/>{links}{joints}</robot>'
    )
    assert len(da.load(tmp_path / "usual.xacro").robot.links) == len(USUAL) + 1


def test_one_file_does_not_change_the_names_of_the_next(tmp_path: Path) -> None:
    (tmp_path / "ns.xacro").write_text(f'<robot {XMLNS}><xacro:property name="x" value="4"/></robot>')
    shadow = '<xacro:property name="len" value="3"/><xacro:include filename="ns.xacro" ns="n"/>'
    for name, inside in (
        ("own", f'{shadow}<link name="x${{n.x + len}}"/>'),
        ("good", "<link name=\"x${len('abcde')}\"/>"),
    ):
        (tmp_path / f"{name}.xacro").write_text(f'<robot name="r" {XMLNS}>{inside}</robot>')
    for name, link in (("own", "x7"), ("good", "x5")):
        assert da.load(tmp_path / f"{name}.xacro").robot.links[0].name == link


def test_macros_and_arguments_that_double_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xacro_expander, "XACRO_ELEMENTS", 500)  # not in the helper, which has the usual bound
    doubling = "".join(f'<xacro:arg name="a{k + 1}" default="$(arg a{k})$(arg a{k})"/>' for k in range(40))
    macros = "".join(f'<xacro:macro name="m{k + 1}"><xacro:m{k}/><xacro:m{k}/></xacro:macro>' for k in range(40))
    for text, sentence in (
        (f'<xacro:arg name="a0" default="x"/>{doubling}<link name="$(arg a40)"/>', "more than 100000 characters"),
        (
            f'<xacro:macro name="m0"><link name="a"/></xacro:macro>{macros}<xacro:m40/>',
            "more than 500 elements after",
        ),
    ):
        (tmp_path / "r.xacro").write_text(f'<robot name="r" {XMLNS}>{text}</robot>')
        with pytest.raises(RobotError, match=sentence):
            xacro_expander.expanded(str(tmp_path / "r.xacro"), {}, {})


def reads(folder: Path, name: str, **arguments: str) -> da.Arm:
    path = folder / "robot.xacro"
    path.write_text(f"<robot name=\"r\" {XMLNS}><link name=\"${{xacro.load_yaml('{name}')['key']}}\"/></robot>")
    return da.load(path, arguments=arguments)


def test_yaml_is_read_in_the_robot_s_folders_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, mine / ".ssh", other):
        folder.mkdir()
        (folder / "a.yaml").write_text("key: value")
    (mine / "link.yaml").symlink_to(other / "a.yaml")
    assert reads(mine, "a.yaml").robot.links[0].name == "value"
    for name in ("../other/a.yaml", str(other / "a.yaml"), "link.yaml", ".ssh/a.yaml"):
        with pytest.raises(RobotError, match=r"xacro.load_yaml would read .* neither in the robot's folder"):
            reads(mine, name)
    path = mine / "given.xacro"
    path.write_text(f"<robot name=\"r\" {XMLNS}><link name=\"${{xacro.load_yaml('$(arg file)')['key']}}\"/></robot>")
    assert da.load(path, arguments={"file": str(other / "a.yaml")}).robot.links[0].name == "value"
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(other))
    assert reads(mine, "../other/a.yaml").robot.links[0].name == "value"
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    (other / "package.xml").write_text("<package/>")
    assert reads(mine, "../other/a.yaml").robot.links[0].name == "value"


DOUBLING = "".join(f"k{i + 1}: &k{i + 1} [*k{i}, *k{i}]\n" for i in range(40))
MERGING = "".join(f"k{i + 1}: &k{i + 1}\n  <<: [*k{i}, *k{i}]\n" for i in range(40))
YAML = {
    "a key": ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n", "neither a table nor a list"),
    "a tag": ("key: !!python/object/apply:os.system ['id']", "not valid YAML"),
    "bytes": ("key: !!binary aGVsbG8=", "a value of type bytes"),
    "an alias of itself": ("key: &a [*a]", "more than"),
    "doubling": (f"k0: &k0 [0, 0]\n{DOUBLING}", "more than"),
    "merging": (f"k0: &k0 {{a: 1}}\n{MERGING}", "more than"),
    "nesting": ("key: " + "[" * 1000, "nested too deeply"),
    "a unit": ("key: !degrees 9**9**9", "a power of more than"),
    "a tab": ("\t- a", "not valid YAML"),
}


@pytest.mark.parametrize("kind", YAML)
def test_yaml_is_a_table_or_one_sentence(kind: str, tmp_path: Path) -> None:
    text, sentence = YAML[kind]
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(RobotError, match=sentence) as raised:
        reads(tmp_path, "a.yaml")
    assert "\n" not in str(raised.value) and "BEGIN" not in str(raised.value)


def test_units_of_yaml_and_environment_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROBOT_KIND", "tall")
    (tmp_path / "a.yaml").write_text("key: !degrees 90 * 2\nmade: 2020-01-02\nlong: !millimeters 500\n")
    (tmp_path / "r.xacro").write_text(
        f'<robot name="$(env ROBOT_KIND)$(optenv NO_SUCH a b)" {XMLNS}>'
        '<xacro:property name="y" value="${load_yaml(\'a.yaml\')}"/>'
        "<link name=\"${'_'.join(map(str, [y.key == pi, y.made, y.get('long')]))}\"/></robot>"
    )
    robot = da.load(tmp_path / "r.xacro").robot
    assert (robot.name, robot.links[0].name) == ("talla b", "True_2020-01-02_0.5")
    assert robot.notes == ("the robot contains the value of the environment variable 'ROBOT_KIND'",)
