"""What a person sees: plots, what notebooks show, short reprs, and moving arms."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from typer.testing import CliRunner

import dalembert as da
from dalembert.arm import terms
from dalembert.views.cli.main import app
from dalembert.views.report import animation
from dalembert.views.report.figures import joint_colour
from dalembert.views.report.skeleton import size_of, skeleton, strokes
from dalembert.work.logs.log import read_log
from dalembert.work.sizing.drive_formulas import RPM
from dalembert.work.trajectory.planning.motion_file import MotionTable
from imports import MODULES, room_of

RECORDS = [x for x in vars(terms).values() if is_dataclass(x) and isinstance(x, type)]  # of arrays alone
STRANGE = '<b>&"arm"</b>'


@pytest.fixture(scope="module")
def arm() -> da.Arm:
    return da.load("planar-2r")


@pytest.fixture(scope="module")
def motion() -> da.Trajectory:
    return da.triangular([0.0, 0.5], [1.0, -1.0], duration=1.0)


@pytest.fixture(scope="module")
def log(arm: da.Arm) -> dict[str, np.ndarray]:
    t = np.linspace(0, 4, 1001)
    waves = da.fourier(np.random.default_rng(3).normal(size=(2, 2, 3)), 0.5, duration=4.0)
    q, qd, qdd = waves(t)
    return {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}


@pytest.fixture(scope="module")
def results(arm: da.Arm, motion: da.Trajectory, log: dict[str, np.ndarray]) -> dict[str, Any]:
    """One of everything that a user gets."""
    q, qd = np.array([0.3, 0.8]), np.array([0.5, -0.2])
    run = da.simulate(arm, [0.3, 0.8], None, None, 0.1)
    fit = da.identify(arm, log, validate=log)
    sizing = da.size(arm, motion)
    motor = da.Motor(stall_torque=20.0, peak_torque=600.0, max_speed=1e4, rotor_inertia=1e-4)
    gear = da.Gear(ratio=100.0)
    driven = arm.replace(
        joints=[replace(j, rotor=None, motor=motor, gear=gear) if j.moves else j for j in arm.robot.joints]
    )
    with_drives = da.size(driven, motion)
    return {
        "sizing with drives": with_drives,
        "motor": motor,
        "gear": gear,
        "drives": with_drives.drives,
        "selection": da.select_drives(arm, motion, [replace(motor, name="M", rated_torque=20.0, mass=1.0)], [gear]),
        "drive": with_drives.drives[0],
        "sweep": with_drives.sweep(0),
        "arm": arm,
        "closed chain": da.load("parallelogram"),
        "robot": arm.robot,
        "joint": arm.robot.joints[0],
        "link": arm.robot.links[1],
        "limits": arm.robot.moving_joints[0].limits,
        "motion": motion,
        "moves": motion.moves[0][0],
        "table of a motion": MotionTable(motion.t, motion.q, motion.qd, motion.qdd),
        "run": run,
        "batch": da.simulate(arm, [[0.3, 0.8], [0.1, 0.2]], None, None, 0.1),
        "task": run.task,
        "fit": fit,
        "predicted": fit.run,
        "conditioned": fit.run.conditioned,
        "base parameters": fit.base,
        "parameter set": fit.base.parameters,
        "log": read_log(log, arm),
        "sizing": sizing,
        "demand": sizing.torque,
        "ellipsoid": arm.dynamic_manipulability(q),
        "ellipsoids": arm.velocity_manipulability(np.stack([q, qd])),
        "polytope": arm.acceleration_polytope(q),
        **{record.__name__: record(*(np.ones((9, 7, 7)) for _ in fields(record))) for record in RECORDS},
        "couplings": arm.couplings(),
        "equations": arm.equations(),
        "operational space": arm.operational_space(),
        "study": da.study(arm, motion),
        "map": da.workspace_map(arm, poses=500, cells=10),
        "monte carlo": da.monte_carlo(arm, motion, {"mass": 0.05}, samples=100),
        "with events": motion.with_payload(2.0, start=0.2, end=0.6),
        "inverse kinematics": da.inverse_kinematics(arm, arm.pose(q)),
        "scaling table": motion.scaling_table(arm),
        "scaling": motion.scaled(arm).scaling,
        "operations": arm.operations("inverse_dynamics"),
        "source": arm.emit("inverse_dynamics"),
        "PD": da.PD(1.0, 1.0, [0.0, 0.0]),
        "computed torque": da.ComputedTorque(100.0, 20.0, motion, model=arm),
        "tip control": da.OperationalController(arm.operational_space(), lambda t: (np.zeros(2),) * 3, kp=1.0, kd=1.0),
    }


def test_every_repr_is_at_most_two_lines_and_200_characters(results: dict[str, Any]) -> None:
    walls = {name: repr(x) for name, x in results.items() if repr(x).count("\n") > 1 or len(repr(x)) > 200}
    assert walls == {}
    assert not [name for name, x in results.items() if " object at 0x" in repr(x)]


def test_no_record_of_arrays_has_the_repr_of_a_dataclass() -> None:
    """``@brief`` gives one line, or the record writes its own."""
    walls = []
    for module in MODULES:
        if room_of(module) not in (
            "arm",
            "analysis",
            "trajectory",
            "simulation",
            "identification",
            "logs",
            "tip",
            "report",
        ):
            continue
        for name, record in vars(import_module(f"dalembert.{module}")).items():
            if is_dataclass(record) and isinstance(record, type) and not name.startswith("_"):
                written: Any = getattr(record.__repr__, "__wrapped__", record.__repr__)
                arrays = [f.name for f in fields(record) if f.repr and str(f.type).split(" | ")[0] == "Array"]
                if arrays and written.__code__.co_filename == "<string>":
                    walls.append(f"{module}: {name}")
    assert walls == []


def test_what_a_notebook_shows_is_small_whole_and_without_scripts(results: dict[str, Any]) -> None:
    shown = {name: x._repr_html_() for name, x in results.items() if hasattr(x, "_repr_html_")}
    assert shown.keys() >= {"arm", "closed chain", "motion", "run", "batch", "fit", "log", "sizing", "ellipsoid"}
    assert shown.keys() >= {"drives", "selection"}
    for name, words in shown.items():
        tree = ElementTree.fromstring(words)
        assert len(words) < 40_000, name
        assert tree.find(".//table") is not None, name
        assert "<script" not in words and "http" not in words and "nan" not in words, name
        drawn = ("arm", "closed chain", "motion", "with events", "run", "batch", "fit", "log", "ellipsoid")
        assert (tree.find(".//svg") is not None) == (name in drawn), name


def test_names_are_escaped(arm: da.Arm, motion: da.Trajectory) -> None:
    strange = arm.replace(name=STRANGE)
    run = da.simulate(strange, [0.1, 0.2], None, None, 0.01)
    for x in (strange, run, da.size(strange, motion), strange.dynamic_manipulability([0.1, 0.2])):
        assert STRANGE not in x._repr_html_() and "&lt;b&gt;" in x._repr_html_()
        ElementTree.fromstring(x._repr_html_())


def test_every_plot_is_a_figure_that_shows_itself(results: dict[str, Any], arm: da.Arm, motion: da.Trajectory) -> None:
    plotted = [name for name, x in results.items() if hasattr(x, "plot") and name not in ("batch", "ellipsoids")]
    assert set(plotted) >= {"arm", "motion", "run", "fit", "ellipsoid", "sizing", "map", "drives", "sweep"}
    pictures = {name: results[name].plot() for name in plotted}
    pictures |= {
        "ghosts": arm.plot([[0.0, 0.1], [0.2, 0.3]]),
        "along": arm.plot(motion),
        "batch": results["batch"].plot(1),
    }
    for name, figure in pictures.items():
        assert isinstance(figure, Figure) and figure.axes, name
    png, page = pictures["ghosts"]._repr_png_()  # type: ignore[attr-defined]
    assert png.startswith(b"\x89PNG") and page["width"] > 300


def test_pictures_refuse_what_they_cannot_show(results: dict[str, Any], arm: da.Arm) -> None:
    with pytest.raises(da.ShapeError, match=r"batch shape \(2,\); give the index of one run: batch=0"):
        results["batch"].plot()
    with pytest.raises(da.ShapeError, match=r"batch is 2, but"):
        results["batch"].plot(2)
    with pytest.raises(da.DalembertError, match="from 1 to 24"):
        arm.plot(np.zeros((25, 2)))
    with pytest.raises(da.ShapeError, match="joints"):
        arm.plot([0.1, 0.2, 0.3])


def test_joints_have_colours_of_their_own() -> None:
    """Told apart: the nearest two of twenty differ by a sixteenth of the cube's edge or more."""
    colours = np.array([[int(joint_colour(i)[k : k + 2], 16) for k in (1, 3, 5)] for i in range(20)])
    apart = np.abs(colours[:, None] - colours).max(axis=-1) + 255 * np.eye(20, dtype=int)
    assert apart.min() >= 16


@pytest.mark.parametrize("name", ["planar-2r", "stanford", "parallelogram"])
def test_strokes_follow_the_kinematics(name: str) -> None:
    """Every joint sits on its cylinder's middle, the tip's axes are those of the pose, at any configuration alike."""
    arm = da.load(name)
    rows = arm.home + 0.1 * np.arange(9)[:, None]
    poses = skeleton(arm, rows)
    drawn = [strokes(arm, pose, size_of(arm, poses)) for pose in poses]
    assert len({tuple((s.colour, s.width) for s in some) for some in drawn}) == 1
    for pose, some, T in zip(poses, drawn, arm.pose(rows), strict=True):
        assert np.allclose([s.ends[0] for s in some[-3:]], T[:3, 3])
        ways = np.array([s.ends[1] - s.ends[0] for s in some[-3:]]).T
        assert np.allclose(ways / np.linalg.norm(ways, axis=0), T[:3, :3])
        middles = np.array([s.ends.mean(axis=0) for s in some])
        assert all(np.abs(middles - seat).max(axis=1).min() < 1e-12 for seat in pose.seats)


# -- moving arms ---------------------------------------------------------------------------------


def seconds_of_gif(path: Path) -> tuple[int, float]:
    with Image.open(path) as film:
        total = 0.0
        for k in range(film.n_frames):  # type: ignore[attr-defined]
            film.seek(k)
            total += film.info["duration"] / 1000
        return film.n_frames, total  # type: ignore[attr-defined]


def test_a_gif_plays_in_real_time(tmp_path: Path, results: dict[str, Any]) -> None:
    results["run"].animate(tmp_path / "swing.gif", fps=30, speed=0.5)  # a GIF's 30 a second are 33.3
    assert seconds_of_gif(tmp_path / "swing.gif") == (8, pytest.approx(0.2, abs=0.05))


def test_a_video_is_written(tmp_path: Path, motion: da.Trajectory, arm: da.Arm) -> None:
    motion.animate(tmp_path / "swing.mp4", arm, fps=10, speed=2.0)
    assert (tmp_path / "swing.mp4").read_bytes()[4:8] == b"ftyp"


def test_a_page_holds_the_strokes_of_every_instant(tmp_path: Path, results: dict[str, Any], arm: da.Arm) -> None:
    run = results["run"]
    run.animate(tmp_path / "swing.html")
    page = (tmp_path / "swing.html").read_text()
    assert len(page) < 20_000 and "http" not in page.replace("http-equiv", "")
    match = re.search(r"^const D = (.*);$", page, re.MULTILINE)
    assert match is not None
    data = json.loads(match[1])
    frames = np.cumsum(data["frames"], axis=0)
    assert len(frames) == 4 and data["end"] == 0.1  # t = 0, 0.04, 0.08 and the end
    tips = frames[:, 3 * data["tip"] : 3 * data["tip"] + 3]
    exact = arm.pose(np.stack([np.interp([0, 0.04, 0.08, 0.1], run.t, q) for q in run.q.T], axis=-1))[:, :3, 3]
    scale = np.linalg.norm(exact[-1] - exact[0]) / np.linalg.norm(tips[-1] - tips[0])
    assert np.allclose((tips - tips[0]) * scale, exact - exact[0], atol=2e-3 * np.abs(exact).max())


def test_a_film_is_written_whole_or_not_at_all(tmp_path: Path, results: dict[str, Any], monkeypatch: Any) -> None:
    run = results["run"]
    wrong: list[tuple[Callable[[], None], str]] = [
        (
            lambda: run.animate(tmp_path / "swing.avi"),
            "an animation cannot be written as '.avi'; use one of .gif, .mp4, .html",
        ),
        (lambda: run.animate(tmp_path / "swing.html", speed=0.0), "speed is 0.0; it must be above 0"),
        (lambda: run.animate(tmp_path / "swing.html", fps=100), "fps is 100; it must be from 1 to 60"),
        (lambda: run.animate(tmp_path / "swing.html", speed=1e-6), "are allowed; raise speed="),
        (lambda: run.animate(tmp_path / "none" / "swing.html"), "does not exist"),
        (lambda: results["batch"].animate(tmp_path / "swing.html"), "batch=0"),
    ]
    for call, sentence in wrong:
        with pytest.raises(da.DalembertError, match=re.escape(sentence)):
            call()

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(animation, "strokes", stop)
    for kind in animation.WRITERS:
        with pytest.raises(KeyboardInterrupt):
            run.animate(tmp_path / f"swing{kind}")
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_a_film(tmp_path: Path) -> None:
    film = tmp_path / "swing.html"
    given = ["simulate", "planar-2r", "--duration", "0.05", "-o", str(tmp_path / "run.csv"), "--animate", str(film)]
    assert CliRunner().invoke(app, given).exit_code == 0 and "<canvas" in film.read_text()
    refused = CliRunner().invoke(app, given)
    assert refused.exit_code != 0


def test_limits_far_from_a_motion_are_told_at_the_edge(results: dict[str, Any]) -> None:
    """Motion and continuous torque fill the diagram; a limit that is not in sight stands there as a number."""
    drives = results["drives"]
    figure = drives.plot()
    assert "the motion" in [piece.get_text() for piece in figure.legends[0].get_texts()]
    for drive, axes in zip(drives, figure.axes[::2], strict=True):
        words = " ".join(piece.get_text() for piece in axes.texts)
        right, top = axes.get_xlim()[1], axes.get_ylim()[1]
        assert np.abs(drive.motor_torque).max() < top and np.abs(drive.motor_speed / RPM).max() < right
        if drive.motor.peak_torque > top:
            assert f"limit {drive.motor.peak_torque:.3g}" in words
        if drive.motor.top_speed / RPM > right:
            assert f"limit {drive.motor.top_speed / RPM:.4g}" in words
