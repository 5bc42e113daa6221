"""Every table with columns is read in every form in which people send it: other encodings, titles, languages, files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.base.tables.columns import name_and_unit
from dalembert.base.tables.number_tables import open_table
from dalembert.robot.readers.limits_file import with_limits
from dalembert.work.logs.log import read_log
from dalembert.work.simulation.recorded import read_states
from dalembert.work.trajectory.planning.motion_file import read_motion, read_points
from workbooks import write_workbook

Cells = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Format:
    """A table: its header in three languages, its rows, and what a reader makes of it, as plain numbers."""

    headers: dict[str, list[str]]
    rows: Cells
    read: Callable[[Path], Any]


def planar() -> da.Arm:
    return da.load("planar-2r")


def samples(count: int = 20) -> list[list[float]]:
    t = np.arange(count) / 100
    q = np.stack([np.sin(9 * t), np.cos(9 * t)], axis=1)
    return np.column_stack([t, q, 5.0 + q]).round(6).tolist()


def log_numbers(path: Path) -> Any:
    log = read_log(path, planar())
    return log.t, log.q, log.tau


def motion_numbers(path: Path) -> Any:
    motion = read_motion(path, planar(), torques=True)
    return motion.t, motion.q, motion.tau


def torque_numbers(path: Path) -> Any:
    torque = da.read_torques(path, planar())
    return torque.t, torque.tau, torque.q0


def point_numbers(path: Path) -> Any:
    points = read_points(path, planar())
    return points.q, points.hold


def robot_numbers(path: Path) -> Any:
    robot = da.load(path, convention="standard").robot
    return [(x.name, x.inertia.mass) for x in robot.links], [(x.name, x.type) for x in robot.joints]


def limit_numbers(path: Path) -> Any:
    return [joint.limits for joint in with_limits(planar().robot, str(path)).moving_joints]


SIGNALS = {
    "English": ["t", "q1", "q2", "tau1", "tau2"],
    "German": ["Zeit", "Winkel_Gelenk1", "Winkel_Gelenk2", "Drehmoment_Gelenk1", "Drehmoment_Gelenk2"],
    "French": ["temps", "articulation1", "articulation2", "couple1", "couple2"],
}
STATES = {
    "English": ["q1", "q2"],
    "German": ["Winkel Gelenk 1", "Winkel Gelenk 2"],
    "French": ["articulation 1", "articulation 2"],
}
DH = {
    "English": ["joint", "a [mm]", "alpha [deg]", "d [mm]", "theta [deg]", "mass [kg]"],
    "German": ["Gelenk", "a [mm]", "alpha [deg]", "d [mm]", "theta [deg]", "Masse [kg]"],
    "French": ["articulation", "a [mm]", "alpha [deg]", "d [mm]", "theta [deg]", "masse [kg]"],
}
MOTORS = {
    "English": ["motor", "Mn [Nm]", "Mmax [Nm]", "n max [rpm]", "J [kg cm²]", "mass [kg]"],
    "German": ["Bezeichnung", "Nennmoment [Nm]", "Spitzenmoment [Nm]", "Höchstdrehzahl [U/min]", "Trägheitsmoment [kg cm²]",
               "Masse [kg]"],
    "French": ["référence", "couple nominal [Nm]", "couple maximal [Nm]", "vitesse maximale [1/min]", "inertie [kg cm²]",
               "masse [kg]"],
}  # fmt: skip
GEARS = {
    "English": ["gear", "i", "T2N [Nm]", "J [kg cm²]", "mass [kg]"],
    "German": ["Getriebe", "Übersetzung", "Nennmoment [Nm]", "Trägheitsmoment [kg cm²]", "Masse [kg]"],
    "French": ["réducteur", "rapport", "couple nominal [Nm]", "inertie [kg cm²]", "masse [kg]"],
}
LIMITS = {
    "English": ["joint", "effort", "velocity [deg/s]"],
    "German": ["Gelenk", "Drehmoment", "Geschwindigkeit [deg/s]"],
    "French": ["articulation", "couple", "vitesse [deg/s]"],
}
FORMATS = {
    "log": Format(SIGNALS, samples(), log_numbers),
    "motion": Format(SIGNALS, samples(), motion_numbers),
    "torques": Format(SIGNALS, samples(), torque_numbers),
    "points": Format(STATES, [[0.0, 0.5], [0.25, -1.5], [1.5, 0.125]], point_numbers),
    "states": Format(STATES, [[0.0, 0.5], [0.25, -1.5]], lambda path: read_states(path, planar())[0]),
    "DH table": Format(
        DH, [["upper", 500.0, 0.0, 0.0, 10.0, 2.5], ["lower", 400.5, 90.0, 0.0, 0.0, 1.5]], robot_numbers
    ),
    "motors": Format(MOTORS, [["M1", 1.25, 4.0, 6000.0, 0.5, 1.5], ["M2", 2.5, 8.0, 5000.0, 1.5, 2.5]], da.read_motors),
    "gears": Format(GEARS, [["G1", 100.0, 50.0, 0.5, 0.5], ["G2", 50.0, 25.0, 0.25, 0.5]], da.read_gears),
    "limits": Format(LIMITS, [["joint1", 87.5, 90.0], ["joint2", 12.0, 45.0]], limit_numbers),
}


def text(cells: Cells, delimiter: str = ",", comma: bool = False) -> str:
    out = io.StringIO()
    plain = [[f"{x!r}".replace(".", ",") if comma and isinstance(x, float) else x for x in row] for row in cells]
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(plain)
    return out.getvalue()


def parquet(path: Path, cells: Cells) -> Path:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet as pq

    pq.write_table(pa.table(dict(zip(cells[0], zip(*cells[1:], strict=True), strict=True))), path)
    return path


def saved(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(content.encode(encoding))
    return path


TITLE = [["Prüfstand 3, Müller"], [""]]
WRITERS: dict[str, Callable[[Path, Cells], Path]] = {
    "commas": lambda folder, cells: saved(folder / "x.csv", text(cells)),
    "tabs": lambda folder, cells: saved(folder / "x.tsv", text(cells, "\t")),
    "semicolons and decimal commas": lambda folder, cells: saved(folder / "x.csv", text(cells, ";", comma=True)),
    "a title": lambda folder, cells: saved(folder / "x.csv", text([*TITLE, *cells], ";")),
    "Windows-1252": lambda folder, cells: saved(folder / "x.csv", text([*TITLE, *cells], ";"), "cp1252"),
    "UTF-16": lambda folder, cells: saved(folder / "x.csv", text(cells, "\t"), "utf-16"),
    "a byte order mark": lambda folder, cells: saved(folder / "x.csv", text(cells), "utf-8-sig"),
    "a workbook": lambda folder, cells: write_workbook(folder / "x.xlsx", [list(row) for row in cells]),
    "a workbook with a title": lambda folder, cells: write_workbook(
        folder / "x.xlsx", [["Prüfstand"], *map(list, cells)]
    ),
    "Parquet": lambda folder, cells: parquet(folder / "x.parquet", cells),
}


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected)
    elif isinstance(expected, Sequence) and not isinstance(expected, str):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    else:
        assert found == expected


@pytest.mark.parametrize("language", ["English", "German", "French"])
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", FORMATS)
def test_every_table_is_read_in_every_form(name: str, writer: str, language: str, tmp_path: Path) -> None:
    form = FORMATS[name]
    plain, folder = tmp_path / "plain", tmp_path / "written"
    plain.mkdir()
    folder.mkdir()
    expected = form.read(WRITERS["commas"](plain, [form.headers["English"], *form.rows]))
    same(form.read(WRITERS[writer](folder, [form.headers[language], *form.rows])), expected)


@pytest.mark.parametrize("name", ["log", "motion", "torques", "motors", "gears"])
def test_a_row_that_repeats_another_is_dropped(name: str, tmp_path: Path) -> None:
    form = FORMATS[name]
    rows = [*form.rows[:1], *form.rows]
    expected = form.read(saved(tmp_path / "x.csv", text([form.headers["English"], *form.rows])))
    same(form.read(saved(tmp_path / "y.csv", text([form.headers["English"], *rows]))), expected)


def test_repairs_are_noted(tmp_path: Path) -> None:
    header, rows = SIGNALS["English"], samples()
    path = saved(tmp_path / "m.csv", text([*TITLE, header, *rows, rows[-1]], ";"), "cp1252")
    notes = " ".join(read_motion(path, planar()).notes)
    for words in (
        "read as Windows-1252",
        "2 lines above the header were ignored",
        "1 row repeats the one before; dropped",
    ):
        assert words in notes
    (part,) = da.read_motors(
        saved(tmp_path / "c.csv", text([MOTORS["English"], *[FORMATS["motors"].rows[0]] * 2]))
    ).notes
    assert part.endswith("1 row repeats another; dropped")


def test_units_in_a_line_of_their_own(tmp_path: Path) -> None:
    header, rows = SIGNALS["English"], samples()
    path = saved(tmp_path / "m.csv", text([["Versuch 7"], header, ["s", "deg", "deg", "Nm", "N mm"], *rows], ";"))
    motion = read_motion(path, planar(), torques=True)
    assert np.allclose(motion.q, np.radians(np.array(rows)[:, 1:3])) and motion.tau is not None
    assert np.allclose(motion.tau, np.array(rows)[:, 3:] * [1.0, 1e-3])


def test_a_column_without_a_unit_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("t;gear;q\ns;1;-\n0;3;1\n0.1;3;2\n0.2;3;4\n")
    with open_table(tmp_path / "log.csv", "log") as table:
        assert list(table.names) == ["t [s]", "gear", "q"]


@pytest.mark.parametrize("name", ["DH table", "motors", "gears", "limits"])
def test_units_in_a_row_below_the_header_are_those_of_the_header(name: str, tmp_path: Path) -> None:
    form = FORMATS[name]
    names, units = zip(*map(name_and_unit, form.headers["English"]), strict=True)
    expected = form.read(saved(tmp_path / "x.csv", text([form.headers["English"], *form.rows])))
    below = [f"[{unit}]" if unit else "" for unit in units]
    same(form.read(saved(tmp_path / "x.csv", text([names, below, *form.rows]))), expected)
