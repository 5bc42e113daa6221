"""The report: one page, whole, without a network, and never over another file."""

from __future__ import annotations

import base64
import csv
import io
import os
import re
import subprocess
import sys
import warnings
from dataclasses import fields, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from typer.testing import CliRunner

import dalembert as da
from dalembert.analysis.workspace import workspace_map
from dalembert.arm.terms import TorqueTerms
from dalembert.cli.main import app
from dalembert.cli.terminal import plain
from dalembert.report import figures, report_html, study, tip_figures, write_report
from dalembert.report.html import csv_text
from dalembert.report.words import _drawn_by, _families, escaped, literal
from dalembert.robot.limits_file import with_limits
from dalembert.trajectory.csv_file import MotionTable, read_motion

HEADER = "t,q1,q2,qd1,qd2,qdd1,qdd2"
GOOD = [HEADER, "0,0,0,0,0,0,0", "0.1,0.05,-0.02,1,2,3,4", "0.2,0.2,0.1,0,0,-5,2.5e0"]
VOID = {"meta", "br", "hr", "img", "path", "rect", "use", "circle", "line"}


class Tags(HTMLParser):
    """Every tag that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if found.get("href", "") and str(found["href"]).startswith("#") and tag == "a":
            self.links.append(str(found["href"])[1:])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
            self.open.pop()


def check_page(page: str) -> Tags:
    """Self-contained, well formed, identifiers once, and every link inside it goes somewhere."""
    assert page.startswith("<!DOCTYPE html>")
    for outside in ("http://", "https://", "<script", "<link", "<img", "@import", "url(//", "nan"):
        assert outside not in re.sub(r'"data:[^"]*"', "", page).lower(), outside
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert len(set(tags.ids)) == len(tags.ids)
    assert set(tags.links) <= set(tags.ids)
    return tags


def downloads(page: str) -> dict[str, str]:
    found = re.findall(r'download="([^"]+)" href="data:text/csv;charset=utf-8;base64,([^"]+)"', page)
    return {name: base64.b64decode(data).decode() for name, data in found}


def run(*args: object, code: int = 0):
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(x) for x in args])
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def motion(tmp_path: Path) -> Path:
    path = tmp_path / "motion.csv"
    path.write_text("\n".join(GOOD) + "\n")
    return path


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("report") / "r.html"
    said = run("report", "planar-2r", "--example", "7.2", "--out", out)
    assert str(out) in said.stdout
    return out.read_text()


# -- Example 7.2 ---------------------------------------------------------------------------------


def test_every_part_of_a_torque_has_a_colour_of_its_own() -> None:
    fields_ = {part.name for part in fields(TorqueTerms)}
    assert set(figures.CAUSES) == fields_ - {"products"} | {"centrifugal", "coriolis"}
    assert len({colour for colour, _ in figures.CAUSES.values()}) == len(figures.CAUSES)


def test_the_page_of_example_7_2(example: str) -> None:
    check_page(example)
    for words in ("Equal duration", "Different duration", "Straight line", "Figs 7.9–7.11", "Position (rad)",
                  "Velocity (rad/s)", "Acceleration (rad/s²)", "Tip: acceleration (m/s²)", "Inertia at joint2",
                  "Velocities at joint1", "Gravity at joint1", "Time-optimal", "Bearings", "Motors", "Equations of motion",
                  "What the tip can be accelerated with", "On the way", "needs a torque of",
                  "What can be neglected", "− coriolis + centrifugal", "− small parameters", "terms stay below 1 % at every joint"):  # fmt: skip
        assert words in example, words
    assert example.count("<svg") > 50 and len(example) < 8_000_000


def test_its_numbers_are_the_arms(example: str, tmp_path: Path) -> None:
    files = downloads(example)
    wanted = {"equal-duration.csv", "straight-line-contributions.csv", "straight-line-ellipsoids.csv"}
    assert {f"planar-2r-{name}" for name in wanted} <= set(files)
    arm = da.load("planar-2r")
    for name, text in files.items():
        table = np.genfromtxt(text.splitlines(), delimiter=",", names=True, dtype=None, encoding=None)
        if name.endswith("duration.csv") or name.endswith("line.csv"):
            (tmp_path / name).write_text(text)
            read = read_motion(tmp_path / name, da.load("planar-2r"))  # and the file is a motion file
            tau = arm.inverse_dynamics(read.q, read.qd, read.qdd)
            np.testing.assert_allclose(np.column_stack([table["tau1"], table["tau2"]]), tau, rtol=1e-7, atol=1e-5)
        if name.endswith("ellipsoids.csv"):
            motion = np.genfromtxt(files[name.replace("-ellipsoids", "")].splitlines(), delimiter=",", names=True)
            shape = arm.dynamic_manipulability(np.column_stack([motion["q1"], motion["q2"]]), "arm", redundancy="exact")
            np.testing.assert_allclose(table["centre_y"], shape.center[:, 1], rtol=1e-6, atol=1e-5)
            np.testing.assert_allclose(table["radius2"], shape.radii[:, 1], rtol=1e-6, atol=1e-5)
        if name.endswith("contributions.csv"):
            motion = np.genfromtxt(
                files[name.replace("-contributions", "")].splitlines(), delimiter=",", names=True, dtype=float
            )
            for joint in "12":
                parts = [table[c] for c in table.dtype.names if re.match(rf"[a-z]+{joint}(_|$)", c)]
                np.testing.assert_allclose(np.sum(parts, axis=0), motion[f"tau{joint}"], rtol=1e-7, atol=1e-5)


@pytest.mark.usefixtures("undrawn")
def test_problem_7_7_is_one_option_away(tmp_path: Path) -> None:
    out = tmp_path / "p.html"
    run("report", "planar-2r", "--example", "7.2", "--tip-wrench", "500 500 0 0 0 0", "--out", out)
    page = out.read_text()
    assert (
        "force (500, 500, 0) N" in page and "contact1" in downloads(page)["planar-2r-equal-duration-contributions.csv"]
    )


def test_examples_belong_to_two_link_arms() -> None:
    assert "is about a two-link arm" in run("report", "panda", "--example", "7.2", code=2).stderr
    assert "there is no example '7.9'; known are 7.2" in run("report", "planar-2r", "--example", "7.9", code=2).stderr


# -- every arm -----------------------------------------------------------------------------------


def a_reach(name: str) -> str:
    arm = da.load(name)
    motion = da.polynomial(np.zeros(arm.n), np.full(arm.n, 0.1), duration=1.0)
    return report_html([study(arm, motion, title="A <small> reach & back")])


drawn_reach = cache(a_reach)


def test_the_same_input_gives_the_same_page() -> None:
    assert a_reach("pendulum") == drawn_reach("pendulum")


@pytest.mark.parametrize("name", ["pendulum", "kr300"])
def test_pages_of_other_arms(name: str) -> None:
    page = drawn_reach(name)
    check_page(page)
    assert "A &lt;small&gt; reach &amp; back" in page
    assert ("Equations of motion" in page) == (da.load(name).n <= 3)
    assert ("Effort limits are missing at joint1" in page) == (name == "kr300")
    assert "no rotors and gears" not in page
    assert ("by torques of 1 N m (or N) each" in page) == (name == "kr300")


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_a_redundant_arm_without_rotors() -> None:
    page = a_reach("panda")
    check_page(page)
    assert "no rotors and gears" in page
    for words in ("Equations of motion", "Effort limits are missing", "by torques of 1 N m (or N) each"):
        assert words not in page


@pytest.mark.usefixtures("undrawn")
def test_an_arm_without_ellipsoids_says_why() -> None:
    arm = da.from_dh([{"a": 0.5, "mass": 1.0, "com": (-0.25, 0, 0)}, {"a": 0.4}])  # nothing to accelerate at joint 2
    page = report_html([study(arm, da.polynomial([0, 0], [0.1, 0.1], duration=1.0))])
    check_page(page)
    assert "There is no dynamic manipulability ellipsoid: " in page


def test_figures_are_matplotlib_figures() -> None:
    arm = da.load("planar-2r")
    made = study(arm, da.triangular([-1.4, 2.9], [0.3, 1.2], duration=0.6))
    single = (
        figures.draw_arm,
        figures.motion_figure,
        figures.torque_figure,
        figures.tip_figure,
        figures.scaling_figure,
    )
    drawn = [make(made) for make in single] + figures.contribution_figures(made)
    assert all(isinstance(figure, Figure) for figure in drawn) and len(drawn) == 7
    positions = drawn[1].axes[0].lines[1].get_ydata()
    np.testing.assert_array_equal(positions, made.at.q[:, 1])


def test_scaling_is_told_with_its_factor() -> None:
    arm = da.load("planar-2r")
    motion = da.triangular([-1.4, 2.9], [0.3, 1.2], duration=0.3)
    made = study(arm, motion)
    evenly, fastest = made.evenly.study, made.fastest.study
    assert evenly is not None and fastest is not None
    assert fastest.sizing.duration <= evenly.sizing.duration
    assert max(evenly.sizing.torque.used) == pytest.approx(1.0, abs=1e-3)
    pushed = study(arm, motion, tip_wrench=(1, 0, 0, 0, 0, 0))
    assert pushed.evenly.study is None and "tip" in pushed.evenly.why_not


def test_long_motions_are_thinned_and_keep_their_peaks() -> None:
    arm = da.load("planar-2r")
    t = np.linspace(0, 10, 50_001)
    q = np.column_stack([np.sin(t), np.cos(t)])
    qdd = -q.copy()
    qdd[12_345, 0] = 40.0  # a spike at one instant only
    made = study(arm, MotionTable(t, q, np.column_stack([np.cos(t), -np.sin(t)]), qdd))
    assert made.thinned and len(made.rows) < 1100 and 12_345 in made.rows
    assert made.sizing.torque.at[0] == t[12_345]
    page = report_html([made])
    assert "Of 50,001 instants" in page and len(page) < 5_000_000


def test_one_instant_is_a_motion_too(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("\n".join(GOOD[:2]))
    run("report", "planar-2r", path, "--out", tmp_path / "one.html")
    check_page((tmp_path / "one.html").read_text())


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([HEADER.replace(",qdd2", ""), "0,0,0,0,0,0"], "qdd"),
        ([HEADER, "0,0,0,0,0,0,0", "0.1,0,nan,0,0,0,0"], ", line 3, column 'q2': the value is NaN"),
        ([HEADER, "0.2,0,0,0,0,0,0", "0.1,0,0,0,0,0,0"], ", line 3, column 't': time goes backwards"),
        (["t,q1,qd1,qdd1", "0,0,0,0"], "arm 'planar-2r' has 2 joints"),
        ([HEADER, "0,0,0,x,0,0,0"], ", line 2, column 'qd1': 'x' is not a number"),
    ],
)
def test_bad_motions_get_a_sentence_and_nothing_is_written(lines: list[str], sentence: str, tmp_path: Path) -> None:
    path, out = tmp_path / "bad.csv", tmp_path / "out.html"
    path.write_text("\n".join(lines))
    out.write_text("precious")
    said = run("report", "planar-2r", path, "--out", out, "--force", code=2)
    (line,) = said.stderr.splitlines()
    assert line.startswith(f"error: {path}") and sentence in line
    assert out.read_text() == "precious" and sorted(os.listdir(tmp_path)) == ["bad.csv", "out.html"]


def test_nothing_is_written_over(motion: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    out.write_text("precious")
    assert "left as it is; --force overwrites it" in run("report", "planar-2r", motion, "--out", out, code=2).stderr
    said = run("report", "planar-2r", motion, "--out", motion, "--force", code=2).stderr
    assert "would overwrite the file it is made from" in said and motion.read_text().startswith(HEADER)
    assert "does not exist" in run("report", "planar-2r", motion, "--out", tmp_path / "no" / "x.html", code=2).stderr
    assert out.read_text() == "precious"
    with pytest.raises(da.DalembertError, match="left as it is"):
        write_report(out, [study(da.load("planar-2r"), read_motion(motion, da.load("planar-2r")))])


def test_a_report_needs_a_motion(motion: Path) -> None:
    assert "give MOTION.csv, or --example 7.2" in run("report", "planar-2r", code=2).stderr
    assert "both given; choose one" in run("report", "planar-2r", motion, "--example", "7.2", code=2).stderr
    with pytest.raises(da.DalembertError, match="at least one motion"):
        report_html([])


@pytest.mark.usefixtures("undrawn")
def test_limits_missing_are_named(motion: Path, tmp_path: Path) -> None:
    arm, out = tmp_path / "free.toml", tmp_path / "r.html"
    free = da.from_dh([{"a": 1.0, "mass": 1.0}, {"a": 1.0, "mass": 1.0}], gravity=(0, -9.81, 0))
    free.save(arm)
    said = run("report", arm, motion, "--out", out).stderr
    assert said.startswith("note: ") and "no effort limits at joint1, joint2" in said
    assert "Effort limits are missing at joint1, joint2" in out.read_text()
    out.unlink()
    said = run("report", arm, motion, "--check-limits", "--out", out, code=2).stderr
    assert "limits missing at joints joint1, joint2; --limits gives them" in said and not out.exists()
    run("report", arm, motion, "--check-limits", "--limits", "effort: 1e4", "--out", out)
    assert "are missing" not in out.read_text()


@pytest.mark.usefixtures("undrawn")
def test_check_limits_has_its_own_exit_status(motion: Path, tmp_path: Path) -> None:
    said = run("report", "planar-2r", motion, "--check-limits", "--limits", "effort: 100 5000", "--out",
               tmp_path / "r.html", code=3)  # fmt: skip
    assert "error: joint 'joint1' needs a torque of" in said.stderr
    assert "Limits are exceeded." in (tmp_path / "r.html").read_text()


# -- limits --------------------------------------------------------------------------------------


def efforts(source: object) -> list[float | None]:
    return [joint.limits.effort for joint in with_limits(da.load("planar-2r").robot, str(source)).moving_joints]


def test_limits_from_text_and_files(tmp_path: Path) -> None:
    assert efforts("effort: 7 8") == [7, 8] and efforts("effort: 7; velocity: 1 2") == [7, 7]
    assert efforts("effort: - 8") == [10000, 8]
    toml, table = tmp_path / "l.toml", tmp_path / "l.csv"
    toml.write_text("effort = [7, 8]\n[joints.joint2]\neffort = 9\n")
    assert efforts(toml) == [7, 9]
    table.write_text("joint,effort,velocity\njoint2,5,\n")
    assert efforts(table) == [10000, 5]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("effort: 1 2 3", "effort has 3 values, but robot 'planar-2r' has 2 joints"),
        ("efort: 1", "unknown limit 'efort'; known are lower, upper, velocity, acceleration, effort; did you mean"),
        ("effort: 1 x", "effort of joint 'joint2': 'x' is not a number"),
        ("effort: 0", "the effort limit of joint 'joint1' is 0; it must be more than 0"),
        ("lower: 9", "the lower limit 9 is above the upper limit"),
        ("limits", "neither a file that ends in .toml or .csv nor text"),
        ("no-such.toml", "there is no such file"),
    ],
)
def test_wrong_limits_get_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(da.RobotError, match=re.escape(sentence)):
        efforts(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("joint,effort\njoint1,x\n", "line 2, column 'effort': 'x' is not a number"),
        ("joint,effort\njoint3,5\n", "line 2: robot 'planar-2r' has no joint 'joint3'"),
        ("joint,effort\njoint1\n", "line 2: the row has 1 values, but the header has 2 columns"),
        ("name,effort\n", "line 1: the first column must be 'joint'"),
        ("joint,effort,effort\n", "line 1: the column effort stands there more than once"),
        ("", "the file is empty"),
    ],
)
def test_wrong_limit_tables_get_row_and_column(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(text)
    with pytest.raises(da.RobotError, match=re.escape(sentence)):
        efforts(tmp_path / "l.csv")


def test_small_numbers_at_an_axis_stay_what_they_are() -> None:
    from matplotlib.figure import Figure

    from dalembert.report.svg import figure_svg

    figure = Figure(figsize=(3, 2))
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 0.0125])
    axes.set_yticks([0.0, 0.0025, 0.0125])
    made = figure_svg(figure, "small", "small")
    assert ">0.0025<" in made and ">0.0125<" in made
    assert not re.search(r'"[^">]*\d\.\d{3}[^">]*"', made)  # coordinates are short all the same


# -- a user's words -----------------------------------------------------------------------------------

HOSTILE = (
    r"$\frac{1$", "$x_1$", "关节一", "bell\a\x00\x1b[31m", "rtl\u202e", "<b>&\"'</b><!-- -->", "_hidden", r"\alpha\$",
    "a,b\nc", "робот 🤖", "12px Arial;", "\ud800",
)  # fmt: skip


def renamed(name: str, words: tuple[str, ...]) -> da.Arm:
    """The arm with these names for its joints, its loops and itself; kernels have no names, and are those of the arm."""
    original = da.load(name)
    robot = original.robot
    new = {j.name: f"{words[k % len(words)]}{'·' * (k // len(words))}" for k, j in enumerate(robot.joints)}
    joints = tuple(replace(j, name=new[j.name]) for j in robot.joints)
    loops = tuple(
        replace(
            x, name=words[-1], passive=tuple(new[p] for p in x.passive), branch=tuple((new[p], q) for p, q in x.branch)
        )
        for x in robot.loops
    )
    arm = da.Arm(robot.replace(name="".join(words), joints=joints, loops=loops))
    arm.__dict__["mechanism"] = original.mechanism
    return arm


def written(figure: Figure) -> set[str]:
    """All that stands in the figure, which can be drawn."""
    figure.savefig(io.BytesIO(), format="png", dpi=30)
    return {piece.get_text() for piece in figure.findobj(Text)}


@pytest.mark.parametrize("many", [HOSTILE[:6], HOSTILE[6:], ("long " * 100, "_" * 300)])
def test_names_are_shown_as_they_are_in_every_figure(many: tuple[str, ...]) -> None:
    """Nothing in a name is mathematics, is left out, or makes matplotlib warn."""
    half = len(many) // 2
    names = "".join(many[:half]), "".join(many[half:])
    arm = renamed("planar-2r", names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = study(arm, da.polynomial([0.2, 0.9], [1, 0.5], 1.0))
        for make in (figures.motion_figure, figures.torque_figure, figures.contribution_figures):
            many = make(made)
            for figure in many if isinstance(many, list) else [many]:
                found = " ".join(written(figure))
                whole = make is figures.motion_figure  # names by themselves; in longer titles, how they begin
                assert all(in_a_picture(name)[: None if whole else 20] in found for name in names), make.__name__
        for figure in (figures.draw_arm(made), figures.tip_figure(made), figures.scaling_figure(made)):
            assert written(figure)
        shape = arm.dynamic_manipulability([0.4, 0.7], task="xy")
        assert any(
            in_a_picture(arm.name)[:20] in x for x in written(tip_figures.ellipsoid_figure(arm, [0.4, 0.7], shape))
        )
        assert any(
            in_a_picture(arm.name)[:20] in x for x in written(tip_figures.map_figure(workspace_map(arm, poses=999)))
        )
        whole = da.simulate(arm, [0.1, 0.2], None, None, 0.01).plot()
        shown = written(whole)
        assert all(in_a_picture(plain(name)) in shown for name in names)
        for kind in ("pdf", "svg"):
            whole.savefig(io.BytesIO(), format=kind)


def in_a_picture(word: str) -> str:
    """The word as a figure has it: what no font here has is written out."""
    known = frozenset().union(*(_drawn_by(family, 400) for family in _families()))
    return "".join(c if c in known or ord(c) < 128 else escaped(c) for c in literal(word))


def test_a_character_without_a_font_is_written_out_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalembert.report.words._families", lambda: ("DejaVu Sans",))
    figure = figures.assemble([figures.Panel("关节 q̈ α $x$", lambda axes: None, ((figures.INK, "_关"),))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {r"\u5173\u8282 q̈ α \$x\$", r"_\u5173"} <= written(figure)


@pytest.mark.parametrize("name", ["parallelogram"])
def test_pages_have_the_real_characters(name: str, tmp_path: Path) -> None:
    words = ("关节 $x_1$", "<b>&\"'</b>", "bell\a\x00 \ud800", "12px Arial; 🤖")
    arm = renamed(name, words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = report_html([study(arm, da.polynomial(arm.home, arm.home + 0.3, 1.0))])
    tags = check_page(page)
    assert tags.ids
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert "关节 $x_1$ (N m)</text>" in page  # a title in a picture, where a browser finds the glyphs
    assert "&lt;b&gt;&amp;" in page and "<b>&" not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800]", page)
    assert "\n\n" not in "".join(downloads(page).values())


def test_names_with_commas_stay_one_column() -> None:
    text = csv_text(["t", 'a,"b"', "c\nd"], [np.zeros(2), np.zeros((2, 2))])
    assert next(csv.reader([text.splitlines()[0]])) == ["t", 'a,"b"', r"c\nd"]
    assert len(text.splitlines()) == 3


def test_reports_from_the_terminal_say_nothing_of_glyphs(tmp_path: Path) -> None:
    """A whole process, as a user runs it: nothing of glyphs, fonts or source lines on its stderr."""
    robot = tmp_path / "arm.toml"
    renamed("pendulum", ("关节一 $x$ $\\frac",)).save(robot)
    da.polynomial([0.1], [0.5], 2.0).save(tmp_path / "m.csv", rate=20)
    for command in (["report", robot, tmp_path / "m.csv"], ["simulate", robot, "--q", "0.1", "--duration", "0.01"]):
        picture = tmp_path / ("page.html" if command[0] == "report" else "run.png")
        done = subprocess.run(
            [sys.executable, "-m", "dalembert", *map(str, command), "-o" if command[0] == "report" else "--plot", picture],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert picture.exists() and not re.search("glyph|Warning|font|\\.py", done.stderr, re.IGNORECASE), done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (lambda path, study: (study, path), "the path is a Study; give a file's name"),
        (
            lambda path, study: (path, "swing"),
            "cannot be made of 'swing'; give what da.study makes, one for each motion",
        ),
        (lambda path, study: (path, [study, 3]), "cannot be made of 3; give what da.study makes"),
        (lambda path, study: (path, []), "at least one motion"),
    ],
)
def test_a_report_asked_for_the_wrong_way_says_so(arguments, sentence, tmp_path: Path) -> None:
    study = da.study(da.load("pendulum"), da.polynomial([0.0], [1.0], 1.0))
    with pytest.raises(da.DalembertError, match=sentence):
        da.write_report(*arguments(tmp_path / "page.html", study))
    assert list(tmp_path.iterdir()) == []


def test_a_report_about_one_motion_needs_no_list(tmp_path: Path, undrawn: None) -> None:
    da.write_report(tmp_path / "page.html", da.study(da.load("pendulum"), da.polynomial([0.0], [1.0], 1.0)))
    assert "pendulum" in (tmp_path / "page.html").read_text()


def test_rotation_and_translation_of_the_links_are_apart(example: str) -> None:
    """M (4.1): what the section draws sums to what the accelerations and the velocities take, without gravity."""
    arm = da.load("puma560")
    swing = study(arm, da.polynomial(np.zeros(6), np.linspace(0.3, 1.2, 6), 1.0))
    parts = swing.terms.by_joint
    moving = parts["inertia"] + parts["rotor"] + parts["centrifugal"] + parts["coriolis"]
    assert set(swing.split) == set(figures.SPLIT)
    np.testing.assert_allclose(sum(swing.split.values()), moving, atol=1e-9 * np.abs(moving).max())
    assert "Rotation and translation of the links" in example and "translation, by velocities" in example
    assert "rotation, by velocities" not in example  # the planar arm turns about parallel axes
