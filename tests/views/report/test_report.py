"""The report: one page, whole, without a network, and never over another file."""

from __future__ import annotations

import csv
import datetime
import io
import itertools
import os
import re
import subprocess
import sys
import warnings
from dataclasses import fields, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import html5lib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from typer.testing import CliRunner

import dalembert as da
from dalembert.arm.terms import TorqueTerms
from dalembert.robot.readers.limits_file import with_limits
from dalembert.views.cli.main import app
from dalembert.views.cli.options import date_of
from dalembert.views.report import figures, report_html, study, tip_figures, write_report
from dalembert.views.report.colours import joint_colour
from dalembert.views.report.html import Byline, csv_text, page
from dalembert.views.report.report_page import SECTIONS
from dalembert.views.report.svg import DEVIATION, _fewer
from dalembert.views.report.user_text import _drawn_by, _families, escaped, literal
from dalembert.work.analysis.workspace import workspace_map
from dalembert.work.trajectory.planning.motion_file import MotionTable, read_motion

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
    check_reading(page)
    return tags


def check_reading(page: str) -> None:
    """Headings skip no level, tables say what their heads head, every figure has words, and in a key a colour means one
    thing."""
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1 and levels.count(1) == 1 and all(b <= a + 1 for a, b in itertools.pairwise(levels))
    assert not re.search(r"<th(?![^>]*scope=)[ >]", page)
    assert not re.search(r"<svg(?![^>]*aria-label=\"[^\"])", page.replace("<svg></svg>", ""))
    for entries in re.findall(r'<ul class="key[^"]*">(.*?)</ul>', page, re.DOTALL):
        pairs = re.findall(r'<i class="(\w+)"></i>(.*?)</li>', entries)
        assert pairs and len(pairs) == len(dict(pairs)) == len({word for _, word in pairs}), entries


def downloads(page: str) -> dict[str, str]:
    found = re.findall(r'download="([^"]+)" href="data:text/csv;charset=utf-8,([^"]+)"', page)
    return {name: unquote(data, errors="strict") for name, data in found}


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
    words = [
        "--author",
        "A. <Engineer>",
        "--note",
        "First line.\nSecond line.\n\nAnother & last.",
        "--date",
        "3 May 2026",
    ]
    said = run("report", "planar-2r", "--example", "7.2", *words, "--out", out)
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
                  "Acceleration capability of the tip", "Acceleration of the tip", "is above its limit of"):  # fmt: skip
        assert words in example, words
    assert example.count("<svg") > 50 and len(example.encode()) < 1_600_000
    assert example.index("<h3>Sizing") < example.index("<h3>Acceleration capability")


def test_who_made_a_report_and_when_stands_at_its_top(example: str) -> None:
    assert '<meta name="author" content="A. &lt;Engineer&gt;">' in example
    assert '<p class="byline"><b>A. &lt;Engineer&gt;</b> · 3 May 2026</p>' in example
    assert '<p class="remark">First line.<br>Second line.</p><p class="remark">Another &amp; last.</p>' in example
    bare, dated = (page("A title", "", [], [], Byline(date=date)) for date in (None, datetime.date(2026, 5, 3)))
    assert "<h1>A title</h1>" in bare and "byline" not in bare.partition("</style>")[2]
    assert '<time datetime="2026-05-03">2026-05-03</time>' in dated
    for wrong in ({"author": 3}, {"date": 20260503}, {"note": ["a"]}):
        with pytest.raises(da.DalembertError, match=f"the {next(iter(wrong))} of a report is "):
            report_html([], **wrong)
    assert (date_of("today"), date_of("none"), date_of("May")) == (datetime.date.today().isoformat(), None, "May")


def oklab(rgb: np.ndarray) -> np.ndarray:
    """Lightness, green–red and blue–yellow of a colour (red, green, blue from 0 to 1); distances are perceptually uniform."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
    lab = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])
    return lab @ np.cbrt(cones @ linear)


def seen(colour: str, dark: bool = False) -> np.ndarray:
    """A colour in Oklab, as a light or a dark page shows it: by the filter invert(0.92) hue-rotate(180deg) of CSS."""
    rgb = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    rotated = np.array([[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]])
    return oklab(np.clip(rotated @ (0.92 - 0.84 * rgb), 0, 1) if dark else rgb)


def test_a_page_is_html_and_its_figures_can_be_seen_in_the_dark(example: str) -> None:
    html5lib.HTMLParser(strict=True).parse(drawn_reach("pendulum"))
    sheet, _, body = example.partition("</style>")
    assert "figure svg, .key i { filter: invert(0.92) hue-rotate(180deg); }" in sheet
    assert not re.search(r"#[0-9a-f]{6}\b", body)  # the colours of figures are in the style sheet
    used = set(re.findall(r"^\.s\d+{.*?(#[0-9a-f]{6})", sheet, re.MULTILINE))
    assert len(used) > 10
    for colour in used:  # what can be seen on white can be seen in the dark
        apart = np.linalg.norm(seen(colour) - seen("#ffffff"))
        assert np.linalg.norm(seen(colour, dark=True) - seen("#15191f")) >= 0.5 * min(apart, 0.5)


def test_colours_of_many_joints_differ() -> None:
    for dark, least in ((False, 0.07), (True, 0.05)):
        colours = np.array([seen(joint_colour(i), dark) for i in range(20)])
        apart = np.linalg.norm(colours[:, None] - colours, axis=-1) + np.eye(20)
        assert apart.min() > least
    assert len({joint_colour(i) for i in range(40)}) == 40


@pytest.mark.parametrize("seed", range(3))
def test_a_line_with_fewer_points_stays_where_it_was(seed: int) -> None:
    rng = np.random.default_rng(seed)
    line = np.column_stack([np.linspace(0, 300, 500), np.cumsum(rng.normal(size=500))])
    fewer = _fewer(line, DEVIATION)
    assert len(fewer) <= len(line) and np.array_equal(fewer[[0, -1]], line[[0, -1]])
    between = np.interp(line[:, 0], fewer[:, 0], fewer[:, 1])
    steepest = np.abs(np.diff(line[:, 1]) / np.diff(line[:, 0])).max()
    assert np.abs(between - line[:, 1]).max() <= DEVIATION * np.hypot(1, steepest) + 1e-12
    straight = np.column_stack([np.linspace(0, 1, 50), np.linspace(2, 3, 50)])
    assert len(_fewer(straight, DEVIATION)) == 2


def test_sections_are_a_list_that_can_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [section.__name__ for section in SECTIONS].index("_sizing") < len(SECTIONS) - 1
    more = (lambda study, place: f"<h3>{place.keywords['prefix']} of {study.title}</h3>",)
    monkeypatch.setattr("dalembert.views.report.report_page.SECTIONS", more)
    assert "<h3>m1- of Swing</h3>" in report_html(
        study(da.load("pendulum"), da.polynomial([0], [1], 1.0), title="Swing")
    )


def test_events_are_shaded_listed_and_in_the_table(tmp_path: Path, undrawn: None) -> None:
    arm = da.load("pendulum")
    motion = da.polynomial([0.2], [1.0], 1.0).with_payload(2.0, start=0.25, end=0.5)
    carried = study(arm, motion.with_tip_wrench([0, 5, 0, 0, 0, 0], start=0.6), title="carry")
    shown = report_html(carried)
    assert "<li>payload of 2 kg from 0.25 to 0.5\u00a0s</li>" in shown
    (axes,) = figures.alone(figures.torque_panels(carried)[0]).axes
    shaded = sorted((p.get_x(), p.get_x() + p.get_width()) for p in axes.patches)
    np.testing.assert_allclose(shaded, [(0.25, 0.5), (0.6, 1.0)])
    path = tmp_path / "carry.csv"
    path.write_text(downloads(shown)["pendulum-carry.csv"])
    again = study(arm, read_motion(path, arm))
    for name, tolerance in (("peak", 1e-6), ("rms", 1e-5)):
        np.testing.assert_allclose(getattr(again.sizing.torque, name), getattr(carried.sizing.torque, name), tolerance)
    assert [type(event) for event in again.events] == [type(event) for event in carried.events]


def test_its_numbers_are_the_arms(example: str, tmp_path: Path) -> None:
    """One table for each motion, which is a motion file: torques, their causes, the tip and its ellipsoids."""
    files = downloads(example)
    names = ("equal-duration", "different-duration", "straight-line")
    kinds = ("", "-sizing", "-time-optimal")
    assert set(files) == {f"planar-2r-{name}{kind}.csv" for name in names for kind in kinds}
    arm = da.load("planar-2r")
    for name, text in files.items():
        if name.endswith("sizing.csv"):
            continue
        table = np.genfromtxt(text.splitlines(), delimiter=",", names=True)
        (tmp_path / name).write_text(text)
        read = read_motion(tmp_path / name, arm)
        tau = arm.inverse_dynamics(read.q, read.qd, read.qdd)
        np.testing.assert_allclose(np.column_stack([table["tau1"], table["tau2"]]), tau, rtol=1e-7, atol=1e-5)
        if name.endswith("time-optimal.csv"):
            continue
        for joint in "12":
            causes = "inertia|rotor|products|gravity|viscous|coulomb|other|contact|base"
            parts = [table[c] for c in table.dtype.names if re.match(rf"report_({causes}){joint}(_|$)", c)]
            np.testing.assert_allclose(np.sum(parts, axis=0), table[f"tau{joint}"], rtol=1e-7, atol=1e-5)
        np.testing.assert_allclose(table["report_tip_y"], arm.pose(read.q)[:, 1, 3], atol=1e-9)
        shape = arm.dynamic_manipulability(read.q, "arm", redundancy="exact")
        np.testing.assert_allclose(table["report_centre_y"], shape.center[:, 1], rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(table["report_radius2"], shape.radii[:, 1], rtol=1e-6, atol=1e-5)


@pytest.mark.usefixtures("undrawn")
def test_a_wrench_at_the_tip_is_one_option_away(motion: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.html"
    run("report", "planar-2r", motion, "--tip-wrench", "500 500 0 0 0 0", "--out", out)
    shown = out.read_text()
    assert "force (500, 500, 0) N" in shown and "report_contact1" in downloads(shown)["planar-2r-motion.csv"]


def test_examples_belong_to_two_link_arms() -> None:
    assert "needs a two-link arm" in run("report", "panda", "--example", "7.2", code=2).stderr
    assert (
        "there is no example '7.9'; the examples are 7.2"
        in run("report", "planar-2r", "--example", "7.9", code=2).stderr
    )


# -- every arm -----------------------------------------------------------------------------------


def a_reach(arm: da.Arm) -> da.report.Study:
    motion = da.polynomial(np.zeros(arm.n), np.full(arm.n, 0.1), duration=1.0)
    return study(arm, motion, title="A <small> reach & back")


@cache
def drawn_reach(name: str) -> str:
    return report_html(a_reach(da.load(name)))


def test_the_same_input_gives_the_same_page() -> None:
    swing = a_reach(da.load("pendulum"))
    shown = report_html(swing)
    assert shown == drawn_reach("pendulum")
    check_page(shown)
    assert "A &lt;small&gt; reach &amp; back" in shown and "Equations of motion" in shown


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_an_arm_with_more_joints_than_have_equations() -> None:
    arm = da.from_dh([{"a": 0.3, "mass": 1.0, "com": (-0.15, 0, 0)}] * 4, gravity=(0, -9.81, 0))
    shown = report_html(a_reach(da.Arm(with_limits(arm.robot, "effort: 60 40 20 10"))))
    check_page(shown)
    for words in ("Equations of motion", "Effort limits are missing", "with torques of 1 N m (or N) each"):
        assert words not in shown
    assert "no rotors and gears" in shown


@pytest.mark.usefixtures("undrawn")
def test_an_arm_without_ellipsoids_says_why() -> None:
    arm = da.from_dh([{"a": 0.5, "mass": 1.0, "com": (-0.25, 0, 0)}, {"a": 0.4}])  # nothing to accelerate at joint 2
    shown = report_html([study(arm, da.polynomial([0, 0], [0.1, 0.1], duration=1.0))])
    check_page(shown)
    assert "There is no dynamic manipulability ellipsoid: " in shown


def test_figures_are_matplotlib_figures() -> None:
    arm = da.load("planar-2r")
    made = study(arm, da.triangular([-1.4, 2.9], [0.3, 1.2], duration=0.6))
    panels = (
        figures.motion_panels,
        figures.torque_panels,
        figures.stacked_panels,
        figures.pair_panels,
        figures.tip_panels,
        figures.scaling_panels,
    )
    drawn = [figures.assemble(make(made)) for make in panels]
    assert all(isinstance(figure, Figure) for figure in drawn)
    positions = drawn[0].axes[0].lines[1].get_ydata()
    np.testing.assert_array_equal(positions, made.at.q[:, 1])


def test_scaling_is_told_with_its_factor() -> None:
    arm = da.load("planar-2r")
    motion = da.triangular([-1.4, 2.9], [0.3, 1.2], duration=0.3)
    made = study(arm, motion)
    _, evenly, fastest = made.paces.values()
    assert fastest.sizing.duration <= evenly.sizing.duration
    assert max(evenly.sizing.torque.used) == pytest.approx(1.0, abs=1e-3)
    pushed = study(arm, motion, tip_wrench=(1, 0, 0, 0, 0, 0))
    assert list(pushed.paces) == ["as given"] and "tip" in str(pushed.scaled["uniformly scaled"])


@pytest.mark.usefixtures("undrawn")
def test_long_motions_are_thinned_and_keep_their_peaks() -> None:
    arm = da.load("pendulum")
    t = np.linspace(0, 10, 50_001)
    q = np.sin(t)[:, None]
    qdd = -q.copy()
    qdd[12_345, 0] = 40.0  # a spike at one instant only
    made = study(arm, MotionTable(t, q, np.cos(t)[:, None], qdd))
    assert len(made.rows) < 1100 and 12_345 in made.rows
    assert made.sizing.torque.at[0] == t[12_345]
    shown = report_html([made])
    assert "of 50,001 samples are drawn" in shown and len(shown) < 1_000_000


def test_one_instant_is_a_motion_too(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("t,q1,qd1,qdd1\n0,0,0,0\n")
    run("report", "pendulum", path, "--out", tmp_path / "one.html")
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
    assert (
        "was not changed; --force (overwrite=True) overwrites it"
        in run("report", "planar-2r", motion, "--out", out, code=2).stderr
    )
    said = run("report", "planar-2r", motion, "--out", motion, "--force", code=2).stderr
    assert "would overwrite the file it is made from" in said and motion.read_text().startswith(HEADER)
    assert "does not exist" in run("report", "planar-2r", motion, "--out", tmp_path / "no" / "x.html", code=2).stderr
    assert out.read_text() == "precious"
    with pytest.raises(da.DalembertError, match="was not changed"):
        write_report(out, [study(da.load("planar-2r"), read_motion(motion, da.load("planar-2r")))])


def test_a_report_needs_a_motion(motion: Path) -> None:
    assert "give MOTION.csv, or --example 7.2" in run("report", "planar-2r", code=2).stderr
    assert "both given; choose one" in run("report", "planar-2r", motion, "--example", "7.2", code=2).stderr
    with pytest.raises(da.DalembertError, match="there is no motion to report on"):
        report_html([])


@pytest.mark.usefixtures("undrawn")
def test_limits_missing_are_named(motion: Path, tmp_path: Path) -> None:
    arm, out = tmp_path / "free.toml", tmp_path / "r.html"
    free = da.from_dh([{"a": 1.0, "mass": 1.0}, {"a": 1.0, "mass": 1.0}], gravity=(0, -9.81, 0))
    free.save(arm)
    said = run("report", arm, motion, "--out", out).stderr
    assert said.startswith("note: ") and "no effort limits at joint1, joint2" in said
    shown = out.read_text()
    for words in (
        "Effort limits are missing at joint1, joint2",
        "with torques of 1 N m (or N) each",
        "no rotors and gears",
    ):
        assert words in shown
    out.unlink()
    said = run("report", arm, motion, "--check-limits", "--out", out, code=2).stderr
    assert "no limits at joints joint1, joint2; --limits gives them" in said and not out.exists()


@pytest.mark.usefixtures("undrawn")
def test_check_limits_has_its_own_exit_status(motion: Path, tmp_path: Path) -> None:
    said = run("report", "planar-2r", motion, "--check-limits", "--limits", "effort: 100 5000", "--out",
               tmp_path / "r.html", code=3)  # fmt: skip
    assert "error: joint 'joint1': torque" in said.stderr
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
        (
            "efort: 1",
            "unknown limit 'efort'; known limits are lower, upper, velocity, acceleration, effort; did you mean",
        ),
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
        ("joint,effort\njoint1\n", "line 2: the row has 1 value, but the header has 2 columns"),
        ("effort,velocity\n", "its header has no column 'joint'"),
        ("joint,effort,effort\n", "line 1: the columns 'effort' and 'effort' both mean effort"),
        ("", "the file is empty"),
    ],
)
def test_wrong_limit_tables_get_row_and_column(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(text)
    with pytest.raises(da.RobotError, match=re.escape(sentence)):
        efforts(tmp_path / "l.csv")


def test_small_numbers_at_an_axis_stay_what_they_are() -> None:
    from matplotlib.figure import Figure

    from dalembert.views.report.svg import figure_svg

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


def renamed(original: da.Arm, words: tuple[str, ...]) -> da.Arm:
    """The arm with these names for its joints, its loops and itself; kernels have no names, and are those of the arm."""
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
    arm = renamed(da.load("planar-2r"), names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = study(arm, da.polynomial([0.2, 0.9], [1, 0.5], 1.0))
        everything = many == HOSTILE[:6]  # the words of all figures go through one function
        for make in (
            figures.torque_panels,
            *((figures.stacked_panels, figures.pair_panels, figures.motion_panels) if everything else ()),
        ):
            found = " ".join(written(figures.assemble(make(made), 3)))
            whole = make is figures.motion_panels  # names by themselves; in longer titles, how they begin
            assert all(in_a_picture(name)[: None if whole else 20] in found for name in names), make.__name__
        if not everything:
            return
        q = [0.4, 0.7]
        pictures = [
            arm.dynamic_manipulability(q, task="xy").plot(),
            tip_figures.map_figure(workspace_map(arm, poses=999)),
        ]
        assert all(any(in_a_picture(arm.name)[:20] in x for x in written(picture)) for picture in pictures)
        whole = da.simulate(arm, q, None, None, 0.01).plot()
        assert all(in_a_picture(name) in written(whole) for name in names)
        for kind in ("pdf", "svg"):
            whole.savefig(io.BytesIO(), format=kind)


def in_a_picture(word: str) -> str:
    """The word as a figure has it: what no font here has is written out."""
    known = frozenset().union(*(_drawn_by(family) for family in _families()))
    return "".join(c if c in known or ord(c) < 128 else escaped(c) for c in literal(word))


def test_a_character_without_a_font_is_written_out_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalembert.views.report.user_text._families", lambda: ("DejaVu Sans",))
    figure = figures.assemble([figures.Panel("关节 q̈ α $x$", lambda axes: None, ((figures.INK, "_关"),))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {r"\u5173\u8282 q̈ α \$x\$", r"_\u5173"} <= written(figure)


def test_pages_have_the_real_characters(tmp_path: Path) -> None:
    words = ("关节 $x_1$", "<b>&\"'</b>", "bell\a\x00 \ud800", "12px Arial; 🤖")
    arm = renamed(da.load("parallelogram"), words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = report_html([study(arm, da.polynomial(arm.home, arm.home + 0.3, 1.0))])
    tags = check_page(shown)
    assert tags.ids
    (tmp_path / "page.html").write_text(shown, encoding="utf-8")
    assert "关节 $x_1$ (N m)</text>" in shown  # a title in a picture, where a browser finds the glyphs
    assert "&lt;b&gt;&amp;" in shown and "<b>&" not in shown
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800]", shown)
    assert "\n\n" not in "".join(downloads(shown).values())


def test_names_with_commas_stay_one_column() -> None:
    text = csv_text(["t", 'a,"b"', "c\nd"], [np.zeros(2), np.zeros((2, 2))])
    assert next(csv.reader([text.splitlines()[0]])) == ["t", 'a,"b"', r"c\nd"]
    assert len(text.splitlines()) == 3


def test_pictures_from_the_terminal_say_nothing_of_glyphs(tmp_path: Path) -> None:
    """A whole process, as a user runs it: nothing of glyphs, fonts or source lines on its stderr."""
    robot, picture = tmp_path / "arm.toml", tmp_path / "run.png"
    renamed(da.load("pendulum"), ("关节一 $x$ $\\frac",)).save(robot)
    command = ["simulate", robot, "--q", "0.1", "--duration", "0.01", "--plot", picture]
    words = [sys.executable, "-m", "dalembert", *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert picture.exists() and not re.search("glyph|Warning|font|\\.py", done.stderr, re.IGNORECASE), done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (lambda path, study: (study, path), "the path is a Study; give a file name"),
        (
            lambda path, study: (path, "swing"),
            "cannot be made from 'swing'; give results of da.study, one for each motion",
        ),
        (lambda path, study: (path, [study, 3]), "cannot be made from 3; give results of da.study"),
        (lambda path, study: (path, []), "there is no motion to report on"),
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
