"""Catalogues of motors and gears: CSV files with one row per part and the units in the headings.

Headings follow common usage, "Mn [Nm]", "J [kg cm²]", "n max (rpm)", or the field names, "rated_torque [N m]".
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from dalembert.errors import RobotError
from dalembert.robot.bounds import TOML_BYTES
from dalembert.robot.drive_units import factor
from dalembert.robot.drives import DrivePart, Gear, Motor
from dalembert.robot.safe_toml import read_text
from dalembert.robot.tables import errors_at, shown, some

Kind = TypeVar("Kind", bound=DrivePart)

# {field: alternative names}, compared by letters and digits alone
ALSO: dict[type[DrivePart], dict[str, str]] = {
    Motor: {
        "name": "motor, type, model, order code, part number",
        "stall_torque": "M0, T0, standstill torque, static torque",
        "rated_torque": "Mn, MN, Tn, nominal torque, continuous torque",
        "peak_torque": "Mmax, Mpeak, Tmax, max torque, maximum torque",
        "rated_speed": "nn, nN, nominal speed",
        "max_speed": "n max, maximum speed",
        "rotor_inertia": "J, Jm, JR, inertia, moment of inertia",
        "mass": "m, weight",
        "torque_constant": "kt, km, kT",
        "resistance": "R, Rtt, R_tt, Ru-v, winding resistance, terminal resistance",
        "phases": "number of phases",
        "max_current": "Imax, I max, Ipeak, peak current",
        "thermal_class": "insulation class",
        "winding_limit": "Tw max, max winding temperature",
        "thermal_resistance": "Rth",
        "thermal_time_constant": "Tth, tau th, tau w",
        "brake_torque": "Mbr, M brake, MB, holding torque",
    },
    Gear: {
        "name": "gear, type, model, order code, part number",
        "ratio": "i, gear ratio, reduction, reduction ratio",
        "lead": "screw lead, pitch, travel per turn",
        "efficiency": "eta, η",
        "rated_torque": "T2N, TN, nominal torque",
        "average_torque": "TA, limit for average torque",
        "acceleration_torque": "T2B, TR, repeated peak torque, max acceleration torque",
        "emergency_torque": "T2Not, T2Em, TM, momentary peak torque, emergency stop torque",
        "rated_speed": "n1N, rated input speed, nominal input speed",
        "mean_input_speed": "n1m, average input speed",
        "max_input_speed": "n1max, maximum input speed",
        "backlash": "jt",
        "stiffness": "ct, Ct21, torsional stiffness, torsional rigidity",
        "tilting_moment": "M2K, M2Kmax, MK",
        "axial_force": "F2A, F2Amax",
        "radial_force": "F2R, F2Rmax",
        "life": "L10, Lh",
        "life_exponent": "exponent",
        "inertia": "J, J1, moment of inertia",
        "mass": "m, weight",
    },
}
# at least one column of each group is required
REQUIRED_COLUMNS: dict[type[DrivePart], tuple[tuple[str, ...], ...]] = {
    Motor: (
        *(("name",), ("rated_torque", "stall_torque"), ("peak_torque",), ("max_speed", "rated_speed")),
        *(("rotor_inertia",), ("mass",)),
    ),
    Gear: (("name",), ("ratio",), ("rated_torque",), ("inertia",), ("mass",)),
}
TEXTS = ("name", "thermal_class")


@dataclass(frozen=True)
class Catalogue(Sequence[Kind], Generic[Kind]):
    """Motors or gears in file order, with ``notes`` on the parts of the file that were not used."""

    parts: tuple[Kind, ...]
    notes: tuple[str, ...] = ()
    source: str = ""

    def __repr__(self) -> str:
        return (
            f"<Catalogue of {len(self.parts)} {type(self.parts[0]).__name__.lower()}s>"
            if self.parts
            else "<Catalogue: empty>"
        )

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self.parts)

    @overload
    def __getitem__(self, index: int) -> Kind: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Kind, ...]: ...
    def __getitem__(self, index: int | slice) -> Kind | tuple[Kind, ...]:
        return self.parts[index]


def read_motors(path: str | os.PathLike[str]) -> Catalogue[Motor]:
    """The motors of a CSV catalogue.

    The columns name, Mn or M0, Mmax, n max or nn, J and mass are required; every other field of
    :class:`dalembert.Motor` is optional.

    >>> import tempfile, pathlib
    >>> text = "motor,Mn [Nm],Mmax [Nm],n max [rpm],J [kg cm²],mass [kg],colour\\nM1,1.2,4.0,6000,0.3,1.5,red\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "motors.csv")
    ...     _ = file.write_text(text, encoding="utf-8")
    ...     motors = read_motors(file)
    >>> motors, motors[0].rotor_inertia
    (<Catalogue of 1 motors>, 3e-05)
    """
    return parse_catalogue(read_text(path, TOML_BYTES, "catalogue"), Motor, os.fspath(path))


def read_gears(path: str | os.PathLike[str]) -> Catalogue[Gear]:
    """The gears of a CSV catalogue.

    The columns name, ratio, T2N, inertia (at the input) and mass are required; every other field of
    :class:`dalembert.Gear` is optional.

    >>> import tempfile, pathlib
    >>> text = "gear,i,eta [%],T2N [Nm],J [kg cm²],mass [kg]\\nG1,100,75,50,0.08,0.5\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "gears.csv")
    ...     _ = file.write_text(text, encoding="utf-8")
    ...     gears = read_gears(file)
    >>> gears[0].ratio, gears[0].efficiency
    (100.0, 0.75)
    """
    return parse_catalogue(read_text(path, TOML_BYTES, "catalogue"), Gear, os.fspath(path))


def parse_catalogue(text: str, kind: type[Kind], where: str = "catalogue.csv") -> Catalogue[Kind]:
    """The parts listed in the text of a CSV catalogue; ``where`` begins every error message."""
    text = text.removeprefix("\ufeff")
    lines = {k: line for k, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")}
    separator = max(";\t,", key=next(iter(lines.values()), "").count)
    reader = csv.reader(io.StringIO("\n".join(lines.values())), delimiter=separator, skipinitialspace=True)
    numbers = list(lines)
    rows: list[list[str]] = []
    places: list[str] = []
    try:
        for row in reader:
            rows.append(row)
            places.append(f"{where}: line {numbers[reader.line_num - 1]}")
    except csv.Error as problem:  # a cell of 131072 characters, a zero byte
        raise RobotError(f"{where}: line {numbers[reader.line_num - 1]} is not a line of a table ({problem})") from None
    if len(rows) < 2:
        raise RobotError(f"{where}: the catalogue has no rows; it needs a line of headings and one line per part")
    columns, notes = _columns(rows[0], kind, where)
    parts = []
    for place, row in zip(places[1:], rows[1:], strict=True):
        if len(row) != len(rows[0]):
            raise RobotError(
                f"{place} has {len(row)} cells, but there are {len(rows[0])} headings; give one cell per heading"
            )
        values = {
            key: _cell(cell.strip(), key, scale, f"{place}, '{rows[0][column]}'", separator)
            for column, (key, scale) in columns.items()
            if (cell := row[column]).strip() not in ("", "-", "–")
        }
        if empty := [" or ".join(group) for group in REQUIRED_COLUMNS[kind] if not values.keys() & set(group)]:
            raise RobotError(
                f"{place} has no value for '{empty[0]}', which is needed to select a {kind.__name__.lower()}; fill it in, or "
                "remove the row"
            )
        with errors_at(place):
            parts.append(kind(**values))
    counts = Counter(part.name for part in parts)
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise RobotError(f"{where}: two parts have the name {shown(twice[0])}; names must be unique")
    return Catalogue(tuple(parts), tuple(notes), where)


def _columns(
    headings: Sequence[str], kind: type[DrivePart], where: str
) -> tuple[dict[int, tuple[str, float]], list[str]]:
    """{column: (field, factor to the model's unit)}, and notes on unused columns."""
    words, units = _words(kind), {entry.name: entry.metadata["unit"] for entry in kind.numbers()}
    columns: dict[int, tuple[str, float]] = {}
    unknown = []
    for column, heading in enumerate(headings):
        match = re.fullmatch(r"\s*(.*?)\s*(?:[\[(](.*?)[\])])?\s*", heading)
        assert match is not None
        key = words.get(_letters(match[1]))
        if key is None:
            unknown.append(heading.strip())
            continue
        if key in (known for known, _ in columns.values()):
            raise RobotError(f"{where}: two columns give '{key}'; remove one of them")
        unit = units.get(key)
        if unit is None:
            columns[column] = (key, 1.0)
            continue
        if match[2] is None and unit not in ("1", "price"):
            raise RobotError(f"{where}: the column {shown(heading.strip())} has no unit; write '{match[1]} [{unit}]'")
        columns[column] = (key, factor(match[2] or "", unit, f"{where}: the column {shown(heading.strip())}"))
    given = {key for key, _ in columns.values()}
    missing = [" or ".join(group) for group in REQUIRED_COLUMNS[kind] if not given & set(group)]
    if missing:
        names = ", ".join(f"'{x}'" for x in missing)
        raise RobotError(
            f"{where}: a catalogue of {kind.__name__.lower()}s needs {names}; its columns are {some(list(headings))}"
        )
    notes = [f"{where}: the columns {', '.join(unknown)} are unknown and were ignored"] if unknown else []
    return columns, notes


def _cell(text: str, key: str, scale: float, where: str, separator: str) -> Any:
    if key in TEXTS:
        return text
    try:
        number = float(text.replace(",", ".") if separator != "," else text)
    except ValueError:
        raise RobotError(f"{where} is {shown(text)}; it must be a number") from None
    return int(number) if key == "phases" else number * scale


def _words(kind: type[DrivePart]) -> dict[str, str]:
    """{possible heading, letters and digits only: field}."""
    own = [entry.name for entry in kind.numbers()] + ["name"] + (["thermal_class", "phases"] if kind is Motor else [])
    words = {_letters(key): key for key in own}
    for key, others in ALSO[kind].items():
        words |= {_letters(word): key for word in others.split(",")}
    return words


def _letters(heading: str) -> str:
    return re.sub(r"[^a-z0-9ηα-ω]", "", heading.lower())
