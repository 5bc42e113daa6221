"""Macro files: expanded in the helper process, with packages beside them; every mistake is one sentence."""

from pathlib import Path

import pytest

from dalembert.errors import RobotError
from dalembert.robot.load import load_robot
from dalembert.robot.urdf import parse_urdf

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
        ("../parts", "", r"\$\(find ../parts\) is not a valid package name"),
        ("parts", '<limit effort="${nothing}"/>', "xacro cannot expand it: name 'nothing' is not defined"),
        ("parts", "<xacro:nothing/>", "xacro cannot expand it: unknown macro name: xacro:nothing"),
        ("parts", '<xacro:include filename="no.xacro"/>', "there is no file '.*no.xacro'"),
        ("parts", "${().__class__.__base__}", "xacro cannot expand it: Use of invalid name"),
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
