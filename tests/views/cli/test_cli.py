"""The command line: what each command prints, and one sentence for every mistake."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import dalembert as da
from dalembert.base.tables import number_tables
from dalembert.views.cli import torques as torques_module
from dalembert.views.cli.main import app
from dalembert.views.report import report_page
from dalembert.work.trajectory.planning import motion_tables as tables

HEADER = "t,q1,q2,qd1,qd2,qdd1,qdd2"
GOOD = [HEADER, "0,0,0,0,0,0,0", "0.1,0.5,-0.2,1,2,3,4", "0.2,1,1,0,0,-5,2.5e0"]
SRC = Path(da.__file__).parent


def run(*args: object, code: int = 0, width: int = 80):
    """Run a command, expect its exit status, and never a traceback."""
    result = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [str(x) for x in args])
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result


def mistake(*args: object, code: int = 2) -> str:
    """The one sentence that a mistake gets, on one line of stderr."""
    result = run(*args, code=code, width=40)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line


def shell(*args: object, **kwargs) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dalembert", *map(str, args)], capture_output=True, text=True, timeout=60, **kwargs
    )


@pytest.fixture
def motion(tmp_path: Path) -> Path:
    path = tmp_path / "motion.csv"
    path.write_text("\n".join(GOOD) + "\n")
    return path


@pytest.fixture
def bad(tmp_path: Path):
    """Write these lines to a file, expect a sentence about it, and return what follows the path."""

    def check(*lines: str, arm: str = "planar-2r", encoding: str = "utf-8") -> str:
        path, out = tmp_path / "bad.csv", tmp_path / "out.csv"
        path.write_text("\n".join(lines), encoding=encoding)
        out.write_text("precious")
        sentence = mistake("torques", arm, path, "-o", out, "--force")
        assert sentence.startswith(f"error: {path}")
        assert out.read_text() == "precious"
        assert sorted(os.listdir(tmp_path)) == ["bad.csv", "out.csv"]
        return sentence.removeprefix(f"error: {path}")

    return check


# -- arms and show -------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
def test_arms_lists_every_shipped_arm(width: int) -> None:
    output = run("arms", width=width).stdout
    assert all(f"\n{name} " in output for name in da.arms())
    assert "RRPRRR" in output and "110 kg" in output
    assert max(map(len, output.splitlines())) <= width


@pytest.mark.parametrize("name", da.arms())
@pytest.mark.parametrize("width", [80, 120])
def test_show_tells_the_arm_within_the_width(name: str, width: int) -> None:
    output, arm = run("show", name, width=width).stdout, da.load(name)
    assert all(joint in output for joint in arm.joint_names)
    assert all(link.name in output for link in arm.robot.links)
    assert max(map(len, output.splitlines())) <= width
    for word in ("name", "source", "joints", "mass", "gravity", "tip", "Joints", "Links", "principal moments"):
        assert word in output


def test_show_says_notes_rotors_friction_and_payload(tmp_path: Path) -> None:
    puma = run("show", "puma560", width=120).stdout
    assert "published with mass zero" in puma and "not physical" in puma
    assert "-62.61" in puma and "+0.395 / -0.435" in puma and "k_r² I_m only" in puma
    da.load("scara").with_payload(2.5, (0.1, 0, 0)).save(tmp_path / "holding.toml")
    scara = run("show", tmp_path / "holding.toml").stdout
    assert "payload  2.5 kg at 0.1 0 0 m" in scara and "fully" in scara and "31 kg" in scara


def test_what_a_model_leaves_out_is_one_line_on_stderr_and_in_show_and_report(tmp_path: Path) -> None:
    robot = da.load("planar-2r").robot
    links = tuple(replace(link, weight=0.35) for link in robot.links)
    file = tmp_path / "arm.toml"
    da.Arm(robot.replace(links=links, left_out=("the fluid (density)",))).save(file)
    shown = run("show", file, width=120)
    assert shown.stderr == f"warning: {file}: not modelled, although torques depend on it: the fluid (density)\n"
    assert re.search(r"left out\s+the fluid", shown.stdout) and "weight held" in shown.stdout and "0.35" in shown.stdout
    with pytest.warns(da.ModelWarning, match="fluid"):
        arm = da.load(file)
    assert "Omitted from the model: the fluid (density)." in report_page._the_arm(arm)


def test_show_lists_further_terms_of_friction(tmp_path: Path) -> None:
    assert "Further" not in run("show", "puma560", width=120).stdout
    arm = da.load("scara")
    friction = da.Friction(offset=-2.0, stribeck={"level": 1.5, "speed": 0.1}, spring={"stiffness": 30.0})
    joints = [
        replace(joint, friction=friction) if joint.name in ("joint1", "joint3") else joint for joint in arm.robot.joints
    ]
    arm.replace(joints=tuple(joints)).save(tmp_path / "sprung.toml")
    output = run("show", tmp_path / "sprung.toml", width=80).stdout
    assert "Stribeck friction: level 1.5 N m, speed 0.1 rad/s" in output and "torque offset: level -2 N m" in output
    assert "Stribeck friction: level 1.5 N, speed 0.1 m/s" in output and "stiffness 30 N/m" in output
    data = json.loads(run("show", tmp_path / "sprung.toml", "--json").stdout)
    assert data["joints"][0]["friction"]["stribeck"] == {"level": 1.5, "speed": 0.1}


def test_show_keeps_a_column_of_zeros_that_mean_something() -> None:
    assert "lower" in run("show", "cartesian-2").stdout


def test_show_json_is_json_of_the_whole_robot() -> None:
    data = json.loads(run("show", "panda", "--json").stdout)
    assert data["total_mass"] == pytest.approx(17.99)
    assert data["joint_letters"] == "RRRRRRR"
    assert data["joints"][0]["limits"]["effort"] == 87.0
    assert len(data["links"][1]["principal_moments"]) == 3
    for name in da.arms():
        json.loads(run("show", name, "--json").stdout, parse_constant=lambda word: pytest.fail(word))


def test_commands_take_part_of_a_robot(tmp_path: Path) -> None:
    """--lock, --root and --tip, on every command that loads an arm."""
    part = (
        "--lock",
        "panda_joint3=0.4",
        "--lock",
        "panda_joint5 = -1",
        "--root",
        "panda_link1",
        "--tip",
        "panda_link7",
    )
    facts = run("show", "panda", *part, width=160).stdout
    assert "RRRR (4 moving" in facts and "panda_joint3 at 0.4 rad, panda_joint5 at -1 rad" in facts
    (tmp_path / "m.csv").write_text("t,q1,qd1,qdd1\n0,0.5,0,0\n")
    rows = read_back(run("torques", "planar-2r", tmp_path / "m.csv", "--lock", "joint2=0.3").stdout)[1]
    assert rows[0][1] == pytest.approx(da.load("planar-2r").gravity_torque([0.5, 0.3])[0])
    loading = {
        name for name, command in get_command(app).commands.items() if any(x.name == "tip" for x in command.params)
    }
    assert len(loading) >= 15
    for name in loading:
        assert {"physical", "tip", "lock", "root"} <= {x.name for x in get_command(app).commands[name].params}
    assert '--lock "joint2" must be a joint and a position' in mistake("show", "planar-2r", "--lock", "joint2")
    assert "'x' is not a number" in mistake("show", "planar-2r", "--lock", "joint2=x")
    assert "no such joint; the joints that move are joint1, joint2" in mistake("show", "planar-2r", "--lock", "j=1")


def test_choice_of_a_tip_is_said(tmp_path: Path) -> None:
    link = "<link name='{}'/><joint name='j{}' type='continuous'><parent link='{}'/><child link='{}'/></joint>"
    links = "".join(link.format(child, child, parent, child) for child, parent in (("a", "b"), ("l", "a"), ("r", "a")))
    (tmp_path / "r.urdf").write_text(f"<robot name='r'><link name='b'/>{links}</robot>")
    assert (
        "note: the file names no tip; the default is link 'l', one of l, r; choose another with tip= (--tip)"
        in run("show", tmp_path / "r.urdf").stderr
    )
    assert run("show", tmp_path / "r.urdf", "--tip", "r").stderr == ""


def test_show_reads_files_and_takes_a_tip(tmp_path: Path) -> None:
    for suffix in ("toml", "urdf"):
        path = tmp_path / f"arm.{suffix}"
        da.load("panda").save(path)
        assert "17.99 kg" in run("show", path).stdout
    assert "on link 'panda_link7'" in run("show", "panda", "--tip", "panda_link7").stdout


def test_physical_warn_loads_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(
        'name = "odd"\nconvention = "standard"\n'
        "[[joint]]\na = 1.0\nmass = 1.0\ninertia = { xx = 1.0, yy = 1.0, zz = 5.0 }\n"
    )
    assert "triangle inequality" in mistake("show", path)
    result = run("show", path, "--physical", "warn")
    assert result.stderr.startswith("warning: ") and "triangle inequality" in result.stderr
    assert ".py" not in result.stderr and "odd" in result.stdout


def test_names_in_a_file_are_shown_as_they_are_and_cannot_move_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(
        'name = "[red]a\\u001b[2Jb"\nconvention = "standard"\n[[joint]]\na = 1.0\nname = "[bold]j[/bold]"\n'
    )
    output = run("show", path).stdout
    assert "[red]a" in output and "[bold]j[/bold]" in output and "\x1b" not in output


def test_an_unknown_arm_gets_the_nearest_names() -> None:
    for command in (["show", "pandaa"], ["torques", "pandaa", "x.csv"]):
        sentence = mistake(*command)
        assert "no shipped arm 'pandaa'" in sentence and "did you mean 'panda'?" in sentence


def test_a_robot_file_with_a_mistake_is_named(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text("<robot name='x'><link name='a'>")
    assert str(path) in mistake("show", path)
    assert "there is no such file" in mistake("show", tmp_path / "none.toml")


# -- torques -------------------------------------------------------------------------------------


def read_back(text: str) -> tuple[list[str], np.ndarray]:
    head, *rows = text.splitlines()
    return head.split(","), np.array([[float(x) for x in row.split(",")] for row in rows])


def expected(motion: Path, arm: da.Arm, **options) -> np.ndarray:
    rows = np.loadtxt(motion, delimiter=",", skiprows=1)
    n = arm.n
    return arm.inverse_dynamics(
        rows[:, 1 : n + 1], rows[:, n + 1 : 2 * n + 1], rows[:, 2 * n + 1 : 3 * n + 1], **options
    )


def test_torques_are_those_of_the_library_to_the_last_bit(motion: Path, tmp_path: Path) -> None:
    out = tmp_path / "torques.csv"
    result = run("torques", "planar-2r", motion, "-o", out)
    names, rows = read_back(out.read_text())
    assert names == ["t", "tau1", "tau2"]
    assert np.array_equal(rows[:, 0], [0, 0.1, 0.2])
    assert np.array_equal(rows[:, 1:], expected(motion, da.load("planar-2r")))
    assert result.stdout == "" and sorted(os.listdir(tmp_path)) == ["motion.csv", "torques.csv"]


@pytest.mark.parametrize("to_screen", [[], ["-o", "-"]])
def test_torques_without_a_file_go_to_stdout_alone(motion: Path, to_screen: list[str]) -> None:
    result = run("torques", "planar-2r", motion, *to_screen)
    names, rows = read_back(result.stdout)
    assert names[0] == "t" and rows.shape == (3, 3)
    assert "peak" in result.stderr


def test_tip_wrench_and_payload(motion: Path) -> None:
    arm, wrench = da.load("planar-2r"), [10, -20, 0, 0, 0, 5]
    rows = read_back(run("torques", "planar-2r", motion, "--tip-wrench", "10 -20 0 0,0,5").stdout)[1]
    assert np.array_equal(rows[:, 1:], expected(motion, arm, tip_wrench=wrench))
    rows = read_back(run("torques", "planar-2r", motion, "--tip-wrench", "-1 0 0 0 0 0").stdout)[1]
    assert np.array_equal(rows[:, 1:], expected(motion, arm, tip_wrench=[-1, 0, 0, 0, 0, 0]))
    rows = read_back(run("torques", "planar-2r", motion, "--payload", 7, "--payload-com", "0.1 0 0").stdout)[1]
    assert np.array_equal(rows[:, 1:], expected(motion, arm.with_payload(7.0, (0.1, 0, 0))))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tip-wrench", "1 2 3"], ["--tip-wrench needs 6 numbers", "has 3"]),
        (["--tip-wrench", "1 2 3 4 5 x"], ["--tip-wrench", "'x' is not a number"]),
        (["--tip-wrench", "1 2 3 4 5 nan"], ["must be finite"]),
        (["--payload-com", "1 2 3"], ["--payload MASS is missing"]),
        (["--payload", "1", "--payload-com", "1 2"], ["--payload-com needs 3 numbers"]),
        (["--payload", "-1"], ["negative"]),
        (["--payload", "nan"], ["finite"]),
        (["--tip", "hand"], ["hand"]),
    ],
)
def test_options_that_cannot_be(motion: Path, options: list[str], words: list[str]) -> None:
    sentence = mistake("torques", "planar-2r", motion, *options)
    assert all(word in sentence for word in words), sentence


def test_the_summary_names_peak_time_rms_and_what_is_left(motion: Path) -> None:
    tau, t = expected(motion, da.load("planar-2r")), np.array([0, 0.1, 0.2])
    summary = run("torques", "planar-2r", motion).stderr
    assert "3 instants, t = 0 … 0.2 s" in summary
    (row,) = (line.split("  ") for line in summary.splitlines() if line.startswith("joint1"))
    _, peak, when, rms, limit, left = (cell.strip() for cell in row if cell.strip())
    k = np.abs(tau[:, 0]).argmax()
    square = ((tau[1:, 0] ** 2 + tau[:-1, 0] ** 2) / 2 * np.diff(t)).sum() / 0.2
    assert peak == f"{abs(tau[k, 0]):.4g} N m" and when == f"{t[k]:g} s" and rms == f"{square**0.5:.4g} N m"
    assert limit == "10000 N m" and left == f"{100 - abs(tau[k, 0]) / 100:.0f} %"


def test_the_summary_of_an_arm_without_limits_has_no_limits(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    names = ["t", *(f"{group}{k}" for group in ("q", "qd", "qdd") for k in range(1, 7))]
    path.write_text(",".join(names) + "\n" + ",".join(["0"] * 19) + "\n")
    summary = run("torques", "kr300", path).stderr
    assert "limit" not in summary and "at 1 instant," in summary
    sentence = mistake("torques", "kr300", path, "--check-limits")
    assert "has no limits at" in sentence and all(f"joint{k}" in sentence for k in range(1, 7))


def test_check_limits_exits_3_and_says_which(motion: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    run("torques", "planar-2r", motion, "--check-limits")
    result = run("torques", "planar-2r", motion, "-o", out, "--check-limits", "--payload", 900, code=3)
    assert out.exists() and "exceeded" in result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert "joint 'joint1': torque" in lines[0] and "above its limit of 10000 N m" in lines[0]
    path = tmp_path / "far.csv"
    da.polynomial([0.0, 0.0], [12.0, 0.0], 1.0).save(path)
    asked = run("torques", "planar-2r", path, "-o", out, "--force", "--check-limits", code=3).stderr
    unasked = run("torques", "planar-2r", path, "-o", out, "--force").stderr
    for sentence in (
        "joint 'joint1': position 12 rad at t = 1 s is above its limit of 6.28319 rad",
        "joint 'joint1': velocity 18 rad/s at t = 0.5 s is above its limit of 15 rad/s",
    ):
        assert f"error: {sentence}" in asked and f"warning: {sentence}" in unasked


def test_an_output_is_overwritten_only_by_force(motion: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.write_text("precious")
    assert "--force" in mistake("torques", "planar-2r", motion, "-o", out)
    assert out.read_text() == "precious"
    run("torques", "planar-2r", motion, "-o", out, "--force")
    assert out.read_text().startswith("t,tau1,tau2\n")


def test_outputs_that_cannot_be(motion: Path, tmp_path: Path) -> None:
    before = motion.read_text()
    assert "made from" in mistake("torques", "planar-2r", motion, "-o", motion, "--force")
    assert motion.read_text() == before
    robot = tmp_path / "arm.toml"
    da.load("planar-2r").save(robot)
    assert "made from" in mistake("torques", robot, motion, "-o", robot, "--force")
    assert "folder" in mistake("torques", "planar-2r", motion, "-o", tmp_path)
    assert "does not exist" in mistake("torques", "planar-2r", motion, "-o", tmp_path / "none" / "out.csv")
    assert sorted(os.listdir(tmp_path)) == ["arm.toml", "motion.csv"]


def test_links_are_followed_and_devices_are_not_replaced(motion: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    run("torques", "planar-2r", motion, "-o", link, "--force")
    assert link.is_symlink() and real.read_text().startswith("t,tau1")
    assert real.stat().st_mode & 0o777 == 0o640
    run("torques", "planar-2r", motion, "-o", "/dev/null", "--force")
    assert not Path("/dev/null").is_file()


# -- motion files --------------------------------------------------------------------------------


def test_columns_in_any_order_quoted_spaced_with_tau_and_blank_lines(motion: Path, tmp_path: Path) -> None:
    rows = np.loadtxt(motion, delimiter=",", skiprows=1)
    order = [3, 0, 6, 2, 1, 5, 4]
    names = [HEADER.split(",")[k] for k in order]
    lines = ["", "# " + ", ".join(f'"{name}"' for name in [*names, "tau1"])]
    lines += [", ".join(map(repr, [*row[order].tolist(), 9.0])) + "\r\n  " for row in rows]
    other = tmp_path / "other.csv"
    other.write_text("\n".join(lines), encoding="utf-8-sig")
    result = run("torques", "planar-2r", other)
    assert result.stdout == run("torques", "planar-2r", motion).stdout
    assert result.stderr.startswith("note: ") and "tau1" in result.stderr.splitlines()[0]


def test_headers_with_mistakes(bad) -> None:
    assert bad(HEADER.replace("qd2", "qD2"), GOOD[1]).startswith(": unknown column 'qD2'")
    assert "did you mean 'qdd2'" in bad(HEADER.replace("qdd2", "qddd2"), GOOD[1])
    assert bad("t,q1,q2,qd1,qd2", "0,0,0,0,0").startswith(": the columns qdd1 … are missing and cannot be derived")
    assert bad("t,q1,q2,qd1", "0,0,0,0").endswith("but arm 'planar-2r' has 2 joints: qd must have the shape (…, 2)")
    assert bad("t,q1,q2,qd2", "0,0,0,0").startswith(": the column qd1 is missing")
    assert bad("q1,q2,qd1,qd2,qdd1,qdd2", "0,0,0,0,0,0").startswith(": the column t is missing")
    assert bad("t,q2,qd1,qd2,qdd1,qdd2", "0,0,0,0,0,0").startswith(": the column q1 is missing")
    assert "q2 occurs more than once in the header" in bad(HEADER + ",q2", GOOD[1] + ",0")
    assert "no column q9" in bad(HEADER + ",q9", GOOD[1] + ",0")
    assert "column 8 has no name" in bad(HEADER + ",", GOOD[1] + ",0")
    assert "no header" in bad(*GOOD[1:])
    assert "q is in 'grad'; known units are rad, deg" in bad(HEADER.replace("q1", "q1 [grad]", 1), GOOD[1])
    assert bad("t;q1;q2;speed", "0;0;0;0").startswith(": unknown column 'speed'")


@pytest.mark.usefixtures("undrawn")
def test_other_separators_units_and_names_give_the_same_torques_and_are_said(motion: Path, tmp_path: Path) -> None:
    plain, other = run("torques", "planar-2r", motion), tmp_path / "other.csv"
    assert "note: " not in plain.stderr
    other.write_text("\n".join(GOOD).replace(",", "\t"))
    tabs = run("torques", "planar-2r", other)
    assert tabs.stdout == plain.stdout and "note: " not in tabs.stderr
    other.write_text("\n".join(GOOD).replace(",", ";").replace(".", ","))
    commas = run("torques", "planar-2r", other)
    assert commas.stdout == plain.stdout
    assert commas.stderr.splitlines()[0] == f"note: {other}: commas in numbers are read as decimal points"
    rows = np.loadtxt(motion, delimiter=",", skiprows=1) * [1e3, *[180 / np.pi] * 4, 1, 1]
    header = "time_ms,q1 [deg],q2 [deg],qd1 [deg/s],qd2 [deg/s],joint1.acceleration,joint2.acceleration"
    np.savetxt(other, rows, delimiter=",", header=header, comments="", fmt="%.17g")
    degrees = run("torques", "planar-2r", other)
    assert np.allclose(read_back(degrees.stdout)[1], read_back(plain.stdout)[1], rtol=1e-12, atol=1e-9)
    notes = [line for line in degrees.stderr.splitlines() if line.startswith("note: ")]
    brought = (("t", "ms"), ("q", "deg"), ("qd", "deg/s"))
    assert notes == [f"note: {other}: {group} was converted from {unit} to SI" for group, unit in brought]
    page = tmp_path / "page.html"
    result = run("report", "planar-2r", other, "-o", page)
    assert all(note in result.stderr for note in notes) and "q was converted from deg to SI." in page.read_text()


def test_the_wrong_number_of_joints_names_both_shapes(bad) -> None:
    sentence = bad(*GOOD, arm="panda")
    assert "(…, 2)" in sentence and "(…, 7)" in sentence and "'panda' has 7 joints" in sentence


def test_rows_with_mistakes(bad) -> None:
    assert bad(*GOOD, "0.3,1,2,3") == ", line 5: the row has 4 values, but the header has 7 columns"
    assert bad(*GOOD, "0.3,1,2,3,4,5,6,7") == ", line 5: the row has 8 values, but the header has 7 columns"
    assert bad(*GOOD, "", "0.3,1,2,x,4,5,6") == ", line 6, column 'qd1': 'x' is not a number"
    assert bad(*GOOD, "0.3,1,2,,4,5,6") == ", line 5, column 'qd1': the cell is empty"
    assert bad(*GOOD, "0.3,1,2,3,4,5,NaN").startswith(", line 5, column 'qdd2': the value is NaN")
    assert bad(*GOOD, "0.3,1,-inf,3,4,5,6").startswith(", line 5, column 'q2': the value is infinite")
    assert bad(*GOOD, "0.15,1,2,3,4,5,6") == ", line 5, column 't': time goes backwards, from 0.2 to 0.15 s"
    assert "not a number" in bad(*GOOD, "0.3,1_0,2,3,4,5,6")
    assert bad(*GOOD, '0.3,"1,2,3,4,5,6').startswith(", line 5")


def test_files_that_hold_nothing(bad) -> None:
    assert bad("").startswith(": the file is empty")
    assert bad("", "  ", "").startswith(": the file is empty")
    assert bad(HEADER) == ": the file has a header but no rows"
    assert bad(HEADER, "", " ") == ": the file has a header but no rows"


def test_files_that_are_no_text(bad, tmp_path: Path) -> None:
    assert "time goes backwards" in bad(*GOOD, GOOD[1], encoding="utf-16")  # which is read
    assert "not a text file" in bad(*GOOD, "\0\xff", encoding="latin-1")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(os.urandom(3_000_000).replace(b"\n", b"\0"))
    assert str(binary) in mistake("torques", "planar-2r", binary)
    assert "this is a folder" in mistake("torques", "planar-2r", tmp_path)
    assert "there is no such file" in mistake("torques", "planar-2r", tmp_path / "none.csv")
    assert "this is a device" in mistake("torques", "planar-2r", "/dev/zero")


def test_missing_velocities_are_made_and_said(tmp_path: Path) -> None:
    path, t = tmp_path / "positions.csv", np.linspace(0, 2, 201)
    q, qd, qdd = (np.stack([f(3 * t), f(3 * t + 1)], axis=1) * k for f, k in ((np.sin, 1), (np.cos, 3), (np.sin, -9)))
    np.savetxt(path, np.column_stack([t, q]), delimiter=",", header="t,q1,q2", comments="")
    result = run("torques", "planar-2r", path)
    (note,) = (line for line in result.stderr.splitlines() if line.startswith("note: "))
    assert note.endswith(
        "qd and qdd are not in the file and were computed from q, by a quintic spline without phase shift"
    )
    tau = da.load("planar-2r").inverse_dynamics(q, qd, qdd)
    assert np.abs(read_back(result.stdout)[1][6:-6, 1:] - tau[6:-6]).max() < 1e-3
    np.savetxt(path, np.column_stack([t, q, qd]), delimiter=",", header="t,q1,q2,qd1,qd2", comments="")
    assert "qdd are not in the file and were computed from qd" in run("torques", "planar-2r", path).stderr
    path.write_text("t,q1,q2\n" + "".join(f"{k // 2},{k},0\n" for k in range(9)))
    assert "line 3, column 't': the time 0 s occurs twice" in mistake("torques", "planar-2r", path)


def test_repeated_instants_and_a_single_instant_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    for lines in (GOOD[:2], [*GOOD[:2], GOOD[1]]):
        path.write_text("\n".join(lines))
        assert "peak" in run("torques", "planar-2r", path).stderr


def test_rates_too_large_for_any_arm_are_said(motion: Path) -> None:
    motion.write_text("\n".join([HEADER, "0,0,0,1e200,0,0,0"]))
    sentence = mistake("torques", "planar-2r", motion)
    assert "line 2, column 'qd1': the value is 1e+200" in sentence and "within ±1e+30" in sentence


def test_lines_are_numbered_across_chunks(bad, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_tables, "LINES", 2)
    assert bad(*GOOD, "", "0.3,1,2,3,4,5,6", "0.25,1,2,3,4,5,6").startswith(", line 7, column 't'")
    assert bad(*GOOD, "", "0.3,1,2,3,4,5,6", "0.4,1,2,3,4,5").startswith(", line 7: the row has 6 values")


def test_chunks_change_nothing(motion: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run("torques", "planar-2r", motion).stdout
    monkeypatch.setattr(number_tables, "LINES", 2)
    monkeypatch.setattr(tables, "CHUNK", 2)
    monkeypatch.setattr(torques_module, "CHUNK", 1)
    assert run("torques", "planar-2r", motion).stdout == whole


def test_a_hundred_thousand_rows(tmp_path: Path) -> None:
    path, out = tmp_path / "long.csv", tmp_path / "out.csv"
    rows = np.random.default_rng(1).normal(size=(100_000, 7))
    rows[:, 0] = np.arange(len(rows)) / 1000
    np.savetxt(path, rows, delimiter=",", header=HEADER, comments="", fmt="%.9g")
    run("torques", "planar-2r", path, "-o", out)
    assert np.array_equal(np.loadtxt(out, delimiter=",", skiprows=1)[:, 1:], expected(path, da.load("planar-2r")))


# -- the program in a shell ----------------------------------------------------------------------


def test_the_program_itself(motion: Path, tmp_path: Path) -> None:
    assert shell("--version").stdout.strip() == f"dalembert {da.__version__}"
    done = shell("torques", "planar-2r", motion, "-o", tmp_path / "out.csv")
    assert done.returncode == 0 and done.stdout == ""
    wrong = shell("torques", "planar-3r", motion)
    assert wrong.returncode == 2 and wrong.stderr.startswith("error: ") and wrong.stderr.count("\n") == 1
    narrow = shell("show", "puma560", env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert narrow.returncode == 0


def test_a_pipe_as_motion_and_a_reader_that_goes_away(motion: Path) -> None:
    command = f"cat {motion} | {sys.executable} -m dalembert torques planar-2r /dev/stdin"
    piped = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert piped.returncode == 0 and piped.stdout == run("torques", "planar-2r", motion).stdout
    gone = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m dalembert show panda --json | head -1"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert gone.stdout == "{\n" and "Traceback" not in gone.stderr


def test_ctrl_c_ends_quietly_and_leaves_nothing(tmp_path: Path) -> None:
    fifo, out = tmp_path / "motion.csv", tmp_path / "out.csv"
    os.mkfifo(fifo)
    out.write_text("precious")
    process = subprocess.Popen(
        [sys.executable, "-m", "dalembert", "torques", "planar-2r", str(fifo), "-o", str(out), "--force"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with fifo.open("w") as writer:  # opens once the program reads
        writer.write(HEADER + "\n")
        writer.flush()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130 and said == ""
    assert out.read_text() == "precious" and sorted(os.listdir(tmp_path)) == ["motion.csv", "out.csv"]


def test_an_interrupted_write_leaves_what_was_there(
    motion: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(file, *_):
        file.write("t,tau1")
        raise KeyboardInterrupt

    out = tmp_path / "out.csv"
    out.write_text("precious")
    monkeypatch.setattr(tables, "write_table", interrupted)
    result = run("torques", "planar-2r", motion, "-o", out, "--force", code=130)
    assert result.output == "" and out.read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["motion.csv", "out.csv"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_output_that_cannot_be_written_is_named() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dalembert", "arms"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (
        2,
        "error: standard output: No space left on device; free some space there, or write to another disk\n",
    )


def test_a_full_disk_is_one_sentence(motion: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tables, "write_table", full)
    assert "No space left on device" in mistake("torques", "planar-2r", motion, "-o", tmp_path / "out.csv")
    assert sorted(os.listdir(tmp_path)) == ["motion.csv"]


@pytest.mark.parametrize(
    "code",
    [
        "import dalembert",
        "import sys; sys.argv[1:] = ['--help']; from dalembert.views.cli.main import main; main()",
        "import sys; sys.argv[1:] = ['simulate', '--help']; from dalembert.views.cli.main import main; main()",
    ],
)
def test_starting_imports_nothing_heavy(code: str) -> None:
    wrapped = (
        "import atexit, sys\n"
        "heavy = ('sympy', 'symengine', 'matplotlib', 'llvmlite', 'scipy', 'numpy', 'rich', 'dalembert.robot')\n"
        "atexit.register(lambda: print([m for m in heavy if m in sys.modules], file=sys.stderr))\n" + code
    )
    done = subprocess.run([sys.executable, "-c", wrapped], capture_output=True, text=True, timeout=60)
    assert done.stderr.strip() == "[]"


# -- Ctrl-C ----------------------------------------------------------------------------------------------

QUIETLY = (0, 130, -signal.SIGINT)  # it was done already; it stopped; the signal ended it, which a shell shows as 130


def interrupted(*command: str, after: float, again: float | None = None) -> tuple[int, str]:
    """Run the command and press Ctrl-C so many seconds after it has begun to load its own modules; status and stderr."""
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "dalembert", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        seen = ""
        while "dalembert.views" not in seen:  # while Python and the package begin, nothing can be caught
            seen = process.stderr.readline()
            assert seen, "the command ended before it began"
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        if again is not None:
            time.sleep(again)
            process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    return process.returncode, "".join(line for line in rest.splitlines(True) if not line.startswith("import time:"))


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_while_it_starts_ends_it_quietly() -> None:
    """At 12 instants, from the first of our own lines to the command's work."""
    ends = []
    for k in range(12):
        status, said = interrupted("show", "panda", after=0.004 + 0.06 * k)
        assert status in QUIETLY and "Traceback" not in said and "Error" not in said, (k, status, said)
        ends.append(status)
    assert -signal.SIGINT in ends or 130 in ends


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_while_it_works_ends_it_quietly_and_leaves_nothing(tmp_path: Path) -> None:
    for k in range(2):
        out = tmp_path / f"{k}.csv"
        command = ("simulate", "panda", "--duration", "2000", "-o", str(out))
        status, said = interrupted(*command, after=1.2, again=0.02 if k else None)
        assert status in QUIETLY and status and "Traceback" not in said, (k, status, said)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_that_python_would_drop_comes_again() -> None:
    code = """
import signal, time, dalembert.views.cli.main as cli
class Dropped:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def app(prog_name):
    Dropped()
    time.sleep(20)
cli.app = app
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=15)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_ignored_ctrl_c_stays_ignored() -> None:
    """As under nohup, or in a shell's background."""
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.argv[1:] = ['arms'];"
    code += "import threading; from dalembert.__main__ import main;"
    code += "[threading.Timer(0.1 * k, signal.raise_signal, (signal.SIGINT,)).start() for k in range(8)]; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and "panda" in done.stdout and done.stderr == ""


def test_the_command_of_a_shell_is_the_module() -> None:
    """Both begin with nothing loaded, so that Ctrl-C is seen to at once."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"dalembert": "dalembert.__main__:main"}
    code = "import sys; before = set(sys.modules); import dalembert; print(sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = {
        "dalembert",
        "dalembert.base",
        "dalembert.base.environment",
        "dalembert.base.environment.version",
        "dalembert.errors",
        "dalembert.compiler",
        "dalembert.compiler.kernel",
        "dalembert.compiler.kernel.forks",
        "dalembert.base.bibliography",
    }
    assert set(ast.literal_eval(loaded.stdout)) <= {"__future__", *ours}


# -- numbers that no computer has ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "option", "values"),
    [
        ("simulate", "--every", [0, -1]),
        ("simulate", "--duration", ["nan", "inf", "-1", "1e400", "1" + "0" * 400]),
        ("simulate", "--q", ["nan,0", "1e400,0", "1" + "0" * 5000 + ",0", "1j,0"]),
        ("excite", "--harmonics", [10**29, -1]),
        ("excite", "--starts", [10**29, 0]),
        ("excite", "--seed", [-1]),
        ("excite", "--clearance", ["nan", "inf"]),
    ],
)
def test_impossible_numbers_are_one_sentence(command: str, option: str, values: list[object], tmp_path: Path) -> None:
    for value in values:
        said = mistake(command, "planar-2r", f"{option}={value}", "-o", tmp_path / "out.csv")
        assert option.strip("-") in said.replace("q0", "q")
    assert list(tmp_path.iterdir()) == []


def test_numbers_beyond_all_use_are_no_traceback(motion: Path, tmp_path: Path) -> None:
    run("simulate", "planar-2r", "--duration", "0.01", f"--every={10**30}", "-o", tmp_path / "run.csv")
    assert len((tmp_path / "run.csv").read_text().splitlines()) == 3  # the heading, the beginning and the end
    assert "at most 1e+12 in SI units" in mistake(
        "report", "planar-2r", motion, f"--payload={2**63}", "-o", tmp_path / "p.html"
    )
    moving = da.polynomial([0.0, 0.0], [1.0, 1.0], 1.0)
    for rate in (np.inf, 1e30, 0.0, np.nan):
        with pytest.raises(da.DalembertError, match=r"the rate is .* it must be above zero, and at most 1e"):
            moving.save(tmp_path / "m.csv", rate=rate)


def test_torques_show_what_stretching_the_time_does(motion: Path, tmp_path: Path) -> None:
    """S 7.7: the table of ``scaling_table``, with the factor that just keeps the limits."""
    table = da.read_trajectory(motion).scaling_table(da.load("planar-2r"), [0.5, 2.0])
    shown = run("torques", "planar-2r", motion, "-o", tmp_path / "torques.csv", "--scaling", "0.5, 2").stderr
    for word in (*table.columns, *(cell for row in table.rows for cell in row), table.note):
        assert word in shown
    assert "'x' is not a number" in mistake("torques", "planar-2r", motion, "--scaling", "1 x")
    assert "numbers from 1e-06 to" in mistake("torques", "planar-2r", motion, "--scaling", "0")
    wrench = ("--tip-wrench", "1 0 0 0 0 0")
    assert "--scaling does not support a force at the tip" in mistake(
        "torques", "planar-2r", motion, "--scaling", "1", *wrench
    )


def test_couplings() -> None:
    shown = run("couplings", "parallelogram-decoupled", "--q", "0.1 0.2").stdout
    assert "  n ×         ×" in shown and "i = 2: joint1''" in shown and "not in others: none" in shown
    assert "h_112, h_122, h_211" in run("couplings", "planar-2r", "--q", "0.1 0").stdout
    data = json.loads(run("couplings", "cartesian-2", "--json", "--q", "0 0").stdout)
    assert data["inertia"][0][1] == "structure" and data["velocity"][0][0][0] == "always" and data["zero_at_q"] == []
    condition = run("couplings", "parallelogram", "--condition", "b_12", width=120).stdout
    assert "m_ℓ2' a_1' ℓ_2' + m_ℓ3' a_1'' (a_1' − ℓ_3') = 0\n" in condition and "m_ℓ3' = 3.75" in condition
    assert "No design with positive masses" in run("couplings", "planar-2r", "--condition", "b12", width=120).stdout
    assert "--condition is 'k1'" in mistake("couplings", "planar-2r", "--condition", "k1")
    assert "there is no coefficient" in mistake("couplings", "planar-2r", "--condition", "b17")
    assert "no closed form" in mistake("couplings", "five-bar", "--condition", "h112")


def test_show_writes_the_robot_as_it_was_loaded(tmp_path: Path) -> None:
    for name in ("part.toml", "part.urdf"):
        out = tmp_path / name
        asked = ("show", "scara", "--lock", "joint4=0.3", "-o", out)
        assert f"the robot is in {out}" in " ".join(run(*asked).stderr.split("\n"))
        assert da.load(out).joint_names == da.load("scara", lock={"joint4": 0.3}).joint_names
        assert "--force" in run(*asked, code=2).stderr
        run(*asked, "--force")
        assert "made from; name another" in run("show", out, "-o", out, "--force", code=2).stderr


def test_show_reads_a_table_and_fills_shapes(tmp_path: Path) -> None:
    table = tmp_path / "arm.csv"
    table.write_text("a [mm],alpha (deg),d,theta,mass\n500,90,0,q1,2\n")
    said = " ".join(run("show", table).output.split())
    assert (
        "the DH convention is assumed to be standard" in said
        and "columns converted to SI units: 'a [mm]' from mm" in said
    )
    assert "is assumed to be" not in " ".join(run("show", table, "--convention", "modified").output.split())
    table.write_text("a,alpha,d,theta\n500,90,0,q1\n")
    assert "column 'a': 500 looks like millimetres" in run("show", table, code=2).stderr
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        '<robot name="r"><link name="b"><visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>'
    )
    assert "'b' 7850 kg (1 visual shape)" in " ".join(run("show", urdf, "--density", "steel").output.split())


def test_an_ellipsoid_away_from_rest_is_one_sentence() -> None:
    """Not a table of "none"."""
    said = " ".join(run("ellipsoid", "planar-3r", "--q", "0.5 0.6 0.4", "--limits", "unit").output.split())
    assert "none" not in said and "torques of this size do not hold the arm's weight; give larger --limits" in said
    held = run("ellipsoid", "planar-3r", "--q", "0.5 0.6 0.4", "--limits", "unit", "--no-gravity").output
    assert "from 0 towards" in held and "do not hold" not in held


def test_ellipsoid_prints_both_measures() -> None:
    shown = run("ellipsoid", "planar-2r", "--q", "0.3 1.0", width=120).stdout
    assert "w = √det(J Jᵀ) = 0.8415" in shown and "w_d = √det(J (BᵀB)⁻¹ Jᵀ) = 3.182e-05" in shown
    data = json.loads(run("ellipsoid", "planar-2r", "--q", "0.3 1.0", "--json").stdout)
    assert data["manipulability"]["w"] == pytest.approx(np.sin(1.0))


# -- simulate with a controller ------------------------------------------------------------------


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    path = tmp_path / "slow.csv"
    da.polynomial([0.1, 0.2], [0.4, -0.1], duration=0.2).save(path)
    return path


def test_simulate_follows_a_motion_and_says_how_well(slow: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.csv"
    of = ("simulate", "planar-2r", "--follow", slow, "-o", out, "--force", "--step", "0.002", "--ideal")
    exact = run(*of, width=140)
    assert "RMS error" in exact.stderr and "largest" in exact.stderr and "0.2 s, 101 instants" in exact.stderr
    a, motion = da.load("planar-2r"), da.read_trajectory(slow)
    for control, more in {
        da.Feedforward(motion, [9000.0, 3000.0], 400.0, model=a): (
            "--control=feedforward",
            "--kp=9000 3000",
            "--kd=400",
        ),
        da.Adaptive(900.0, 10.0, 30.0, motion, model=a): ("--control=adaptive", "--kd=900", "--gamma=30"),
    }.items():
        told = run(*of, "--payload", 10, "--model", "planar-2r", *more, width=140).stderr
        expected = da.simulate(a.with_payload(10.0), motion.q[0], motion.qd[0], control, 0.2, step=2e-3)
        written = np.genfromtxt(out, delimiter=",", names=True)
        assert np.allclose([written["q1"], written["q2"]], expected.q.T, atol=1e-12)
        assert f"{expected.rms_tracking_error[0]:.4g} rad" in told
        assert ("adapted parameters" in told) == isinstance(control, da.Adaptive)


def test_simulate_with_a_controller_says_what_is_missing(slow: Path) -> None:
    of = ("simulate", "planar-2r")
    assert "--kp applies to a controller, which needs a motion" in mistake(*of, "--kp", 3)
    assert "--model is the arm that a controller assumes: add --follow" in mistake(*of, "--model", "panda")
    assert "--control pd applies to a controller" in mistake(*of, "--control", "pd")
    assert "--control adaptive needs --kd" in mistake(*of, "--follow", slow, "--control", "adaptive")
    assert "--gamma is not a gain of --control computed, which takes --kp" in mistake(
        *of, "--follow", slow, "--gamma", 1
    )
    assert "leave out --torque" in mistake(*of, "--follow", slow, "--torque", "gravity")
    assert "the model 'pendulum' has 1 joints" in mistake(*of, "--follow", slow, "--model", "pendulum")


def test_arguments_of_xacro_files(tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    path = tmp_path / "arm.xacro"
    path.write_text(
        '<robot name="$(arg name)" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="base"/><link name="a"/>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint></robot>'
    )
    assert "bob" in run("show", str(path), "--argument", "name=bob").output
    assert "--argument name=" in mistake("show", str(path))
    assert "must be a name and a value, like name=ur5e" in mistake("show", str(path), "--argument", "bob")


def test_positions_that_look_like_degrees_are_pointed_out(tmp_path: Path) -> None:
    motion = tmp_path / "motion.csv"
    rows = [f"{0.1 * k:.1f},{k},{k},0,-60,0,60,0" for k in range(8)]
    motion.write_text("\n".join(["t,q1,q2,q3,q4,q5,q6,q7", *rows]) + "\n")
    result = run("torques", "panda", motion, "-o", tmp_path / "out.csv")
    assert (
        "which looks like degrees; if it is, give units={'q': 'deg'} (--unit q=deg), or the unit in the header"
        in " ".join(result.stderr.split())
    )
    motion.write_text(motion.read_text().replace("q1,q2", "q1 [deg],q2"))
    result = run("torques", "panda", motion, "-o", tmp_path / "out.csv", "--force")
    assert result.exit_code == 0 and "looks like degrees" not in result.stderr


def test_columns_with_the_names_of_joints_and_folders_get_a_remedy(tmp_path: Path) -> None:
    motion = tmp_path / "motion.csv"
    motion.write_text("t,joint1,joint2\n0,0,0\n1,1,1\n")
    result = run("torques", "planar-2r", motion, code=2)
    assert "a joint's position is named 'joint1.position'" in " ".join(result.stderr.split())
    assert "this is a folder; give the robot file inside it" in " ".join(run("show", tmp_path, code=2).stderr.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "torques panda m.csv --payload abc",
            "error: invalid value for '--payload': it must be a number; 'dalembert torques -h' lists",
        ),
        ("show panda --convention craig", "'craig' is not one of 'standard', 'modified'; 'dalembert show -h' lists"),
        ("torques panda", "error: missing argument 'MOTION.csv'; 'dalembert torques -h' lists"),
        ("torq panda", "error: no such command 'torq'; did you mean 'torques'? 'dalembert -h' lists"),
        ("show panda --nope", "error: no such option: --nope"),
        ("excite panda --harmonics x", "'--harmonics': it must be a whole number;"),
    ],
)
def test_wrong_options_are_one_sentence(words: str, sentence: str) -> None:
    assert sentence in mistake(*words.split())
