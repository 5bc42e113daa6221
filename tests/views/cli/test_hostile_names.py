"""Names of robots, links and joints from strangers, in everything that is written: they are words there, never code."""

from __future__ import annotations

import ast
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.views.cli.main import app

NAME = (
    "a\"b'c</script><img src=x onerror=alert(1)>*/ int evil(void){} /*\\end{align*}\\input{/etc/passwd}%$"
    '\n#include "x"\r\u2028"""`${x}`\x1b[2J=cmd()'
)


@pytest.fixture(scope="module")
def arm() -> da.Arm:
    robot = da.load("planar-2r").robot
    links = tuple(replace(link, name=f"{NAME} link {k}") for k, link in enumerate(robot.links))
    names = {old.name: new.name for old, new in zip(robot.links, links, strict=True)}
    joints = tuple(
        replace(joint, name=f"{NAME} joint {k}", parent=names[joint.parent], child=names[joint.child])
        for k, joint in enumerate(robot.joints)
    )
    return da.Arm(robot.replace(name=NAME, links=links, joints=joints, tip=None))


@pytest.fixture(scope="module")
def folder(arm: da.Arm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    arm.save(folder / "arm.toml")
    da.triangular([0.1, 0.2], [0.6, -0.3], duration=1.0).save(folder / "motion.csv")
    return folder


def run(*words: object) -> str:
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return done.output


def test_robot_files_bring_the_names_back(arm: da.Arm, folder: Path) -> None:
    assert da.load(folder / "arm.toml").robot.name == NAME
    assert da.load(folder / "arm.toml").joint_names == arm.joint_names
    with pytest.raises(da.RobotError, match="which XML cannot"):  # a terminal's escape is no letter of XML
        arm.save(folder / "arm.urdf")
    named = da.load("pendulum").replace(name=NAME.replace("\x1b", "").replace("${", "{"))
    named.save(folder / "named.urdf")
    assert "<img" not in (folder / "named.urdf").read_text()
    assert da.load(folder / "named.urdf").name == named.name


@pytest.mark.parametrize("target", ["python", "numpy"])
def test_python_code_has_its_functions_alone(arm: da.Arm, target: str) -> None:
    (text,) = (text for name, text in arm.emit("inverse_dynamics", target=target).files.items() if name.endswith(".py"))
    assert isinstance(text, str)
    kinds = {type(statement).__name__ for statement in ast.parse(text).body}
    assert kinds <= {"Expr", "Import", "FunctionDef"}


@pytest.mark.parametrize("target", ["c", "llvm", "ptx", "dot"])
def test_code_has_names_in_comments_alone(arm: da.Arm, target: str) -> None:
    """A comment neither ends early nor goes on in the next line; tests/compiler/emit compiles C code with such names."""
    for text in arm.emit("inverse_dynamics", target=target).files.values():
        assert isinstance(text, str)
        bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL) if target == "c" else re.sub(r"(;|//).*", "", text)
        for word in ("int evil(void)", "onerror", '#include "x"', "\x1b", "\u2028"):
            assert word not in bare, word


def test_file_names_stay_in_their_folder(arm: da.Arm) -> None:
    for name in arm.replace(name="../../etc/passwd").emit("inverse_dynamics", target="c").files:
        assert "/" not in name and not name.startswith(".")


def test_latex_has_no_commands_of_a_name(folder: Path) -> None:
    said = run("equations", folder / "arm.toml", "--latex")
    assert "\\input" not in said and said.count("\\end{align*}") == said.count("\\begin{align*}")


@pytest.mark.parametrize("command", ["report", "page"])
def test_pages_have_no_elements_of_a_name(command: str, folder: Path, undrawn: None) -> None:
    out = folder / f"{command}.html"
    run(command, folder / "arm.toml", *([folder / "motion.csv"] if command == "report" else []), "-o", out)
    text = out.read_text()
    assert "<img src=x" not in text and "</script><img" not in text
    assert text.lower().count("<script") == text.lower().count("</script")


def test_a_terminal_gets_no_control_characters(folder: Path) -> None:
    for command in (
        ("show", folder / "arm.toml"),
        ("show", folder / "arm.toml", "--json"),
        ("parameters", folder / "arm.toml"),
    ):
        assert {c for c in run(*command) if unicodedata.category(c) == "Cc"} == {"\n"}


def test_tables_have_no_names_that_a_spreadsheet_would_run(folder: Path) -> None:
    out = folder / "torques.csv"
    run("torques", folder / "arm.toml", folder / "motion.csv", "-o", out)
    assert out.read_text().splitlines()[0] == "t,tau1,tau2"
