"""Motions of other programs: columns, units and a filter are options, and what looks wrong is said."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from arms import arm, relative
from dalembert.views.cli.main import app
from dalembert.work.trajectory.planning.motion_doubts import last_digits

Q0, Q1 = [0.0, -1.2, 1.5, -1.0, -1.5, 0.0], [0.8, -0.7, 1.0, -0.6, -1.0, 0.5]
SMOOTH = da.polynomial(Q0, Q1, 2.0)


def written(
    path: Path, step: float = 1e-3, digits: int = 9, *, time: float = 1.0, rates: tuple[float, ...] = ()
) -> Path:
    """The motion in deg, t in units of ``time``, with as many rates as factors are given."""
    t = np.arange(round(2.0 / step) + 1) * step
    states = SMOOTH(np.minimum(t, 2.0))
    columns = [np.degrees(states[0]), *(factor * states[k + 1] for k, factor in enumerate(rates))]
    names = [f"{group}{j + 1}{unit}" for group, unit in (("q", " [deg]"), ("qd", ""), ("qdd", ""))[: len(columns)]
             for j in range(6)]  # fmt: skip
    table = np.round(np.column_stack([t / time, *columns]), digits)
    np.savetxt(path, table, delimiter=",", header=",".join(["t", *names]), comments="", fmt="%.12g")
    return path


def said(path: Path, **options: object) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        da.read_trajectory(path, arm("ur5e"), **options)
    assert all(issubclass(warning.category, da.MotionWarning) for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("how", "sentence", "remedy"),
    [
        ({"digits": 3}, "and the rounding is 100 % of its second difference (RMS) at 1000 Hz", {"cutoff": 10.0}),
        ({"step": 4e-3, "digits": 4}, "--cutoff 10", {"cutoff": 10.0}),
        (
            {"rates": (57.29578,)},
            "qd of joint 'shoulder_pan_joint' and 5 more is 57.3 times",
            {"units": {"qd": "deg/s"}},
        ),
        ({"rates": (1.0, 57.29578)}, "which looks like deg/s^2: units={'qdd': ", {"units": {"qdd": "deg/s^2"}}),
        ({"rates": (-1.0,)}, "which looks like the opposite sign", None),
        ({"rates": (0.0,)}, "qd is zero throughout, although q changes; leave it out", None),
        ({"time": 1e-3}, "the rows are 1 s apart, which looks like times in ms", {"units": {"t": "ms"}}),
        ({"time": 1e-3, "rates": (1.0,)}, "time in another unit", {"units": {"t": "ms"}}),
    ],
)
def test_what_looks_wrong_is_said_with_a_remedy_that_helps(
    how: dict, sentence: str, remedy: dict | None, tmp_path: Path
) -> None:
    path = written(tmp_path / "motion.csv", **how)
    assert any(sentence in x for x in said(path)), said(path)
    if remedy is None:
        return
    assert said(path, **remedy) == []
    read, a = da.read_trajectory(path, arm("ur5e"), **remedy), arm("ur5e")
    t = np.linspace(0.2, 1.8, 1001)
    assert relative(read.torques(a, t), SMOOTH.torques(a, t)) < 0.02


def test_nothing_is_said_of_a_motion_that_is_as_it_says(tmp_path: Path) -> None:
    a = arm("ur5e")
    for k, how in enumerate(({}, {"rates": (1.0,)}, {"rates": (1.0, 1.0)}, {"step": 0.04, "digits": 4})):
        assert said(written(tmp_path / f"{k}.csv", **how)) == []
    cycle = da.trapezoidal(Q0, Q1, acceleration_time=0.2, max_velocity=1.5).hold(0.3)
    for motion in (cycle, (cycle + cycle.reversed()).time_optimal(a), da.spline([0, 1, 2, 3], [Q0, Q1, Q0, Q1])):
        motion.save(tmp_path / "own.csv")
        assert said(tmp_path / "own.csv") == []
    points = "\n".join(f"{k},{k % 3},0,0,0,0,0" for k in range(9))  # typed by hand, a second apart
    (tmp_path / "points.csv").write_text(f"t,q1,q2,q3,q4,q5,q6\n{points}\n")
    assert said(tmp_path / "points.csv", interpolation="monotone") == []


def test_a_last_digit_is_that_of_the_file() -> None:
    values = np.array([[1.25, 3.0, 0.1 + 0.2, np.pi], [7.5, -20.0, 0.3, 1.0]])
    assert last_digits(values).tolist() == [0.01, 1.0, 0.1, 0.0]


COMMANDS = ("torques", "scale", "report", "page", "simulate", "approximate", "size")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_columns_units_and_a_cutoff(command: str, tmp_path: Path) -> None:
    """German names, ms and degrees, without a header that is understood; the same error without the options."""
    t = np.arange(0.0, 1001.0)
    path, q = tmp_path / "spur.csv", np.degrees(da.polynomial([0.0, 0.2], [0.5, 0.4], 1.0)(t / 1e3)[0])
    table = np.round(np.column_stack([t, q, 0 * t]), 3)
    np.savetxt(path, table, delimiter=";", header="Zeit;Achse A;Achse B;Status", comments="", fmt="%.3f")
    files = {"report": "r.html", "page": "p.html"}
    words = [command, "planar-2r", *(["--follow"] if command == "simulate" else []), str(path)]
    words += ["--motors", str(path)] if command == "size" else ["-o", str(tmp_path / files.get(command, "out.csv"))]
    plain = CliRunner().invoke(app, words)
    assert plain.exit_code == 2 and "unknown columns 'Achse A'" in plain.stderr and "--column q=" in plain.stderr
    given = ["--column", "t=Zeit", "--column", "q=1:3", "--unit", "t=ms", "--unit", "q=deg", "--cutoff", "10"]
    done = CliRunner().invoke(app, [*words, *given])
    if command == "size":  # the motion has been read; the catalogue is none
        assert done.exit_code == 2 and "spur.csv: q was converted from deg" in done.stderr
    else:
        assert done.exit_code == 0 and "rounded" not in done.stderr, done.output


def test_columns_and_units_that_cannot_be(tmp_path: Path) -> None:
    path, a = written(tmp_path / "motion.csv"), arm("ur5e")
    for options, sentence in (
        (
            {"columns": {"x": "q1"}},
            "columns names 'x', which is not a quantity of a motion; known quantities are t, q, ",
        ),
        ({"units": {"qd": "deg/s"}}, "the unit of qd is given as 'deg/s', but the file has no qd"),
        ({"columns": {"q": "0:3"}}, "its columns give q the shape"),
        ({"columns": {"t": "clock"}}, "it has no 'clock' for t; it has t, q"),
        ({"cutoff": 900.0}, "the motion cannot be smoothed: the cutoff is 900 Hz; it must lie between 0 and half"),
    ):
        with pytest.raises(da.DalembertError, match=sentence):
            da.read_trajectory(path, a, **options)
