"""Catalogues of motors and gears: tables with one row per part and the units in the headings.

Headings follow common usage, "Mn [Nm]", "J [kg cm²]", "n max (rpm)", or the field names, "rated_torque [N m]".
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from dalembert.base.files.file_bounds import TOML_BYTES
from dalembert.base.tables.cells import Cells, headed, is_comment, tables_in, tables_in_text
from dalembert.base.tables.columns import Cell, Column, check_once, spelled
from dalembert.base.wording import counted, errors_at, shown, some
from dalembert.errors import RobotError
from dalembert.robot.drives.drive_data import DrivePart, Gear, Motor

Kind = TypeVar("Kind", bound=DrivePart)

# {field: alternative names}, compared by letters and digits alone
ALSO: dict[type[DrivePart], dict[str, str]] = {
    Motor: {
        "name": "motor, type, model, order code, part number, Typ, Bezeichnung, Modell, modèle, référence",
        "stall_torque": "M0, T0, standstill torque, static torque, Stillstandsmoment",
        "rated_torque": "Mn, Tn, nominal torque, continuous torque, Nennmoment, Nenndrehmoment, couple nominal",
        "peak_torque": "Mmax, Mpeak, Tmax, max torque, maximum torque, Spitzenmoment, Maximalmoment, couple maximal",
        "rated_speed": "nn, nominal speed, Nenndrehzahl, vitesse nominale",
        "max_speed": "n max, maximum speed, Maximaldrehzahl, Höchstdrehzahl, vitesse maximale",
        "rotor_inertia": "J, Jm, JR, inertia, moment of inertia, Trägheitsmoment, Rotorträgheit, inertie",
        "mass": "m, weight, Masse, Gewicht",
        "torque_constant": "kt, km, kT",
        "resistance": "R, Rtt, R_tt, Ru-v, winding resistance, terminal resistance",
        "phases": "number of phases, Phasen",
        "max_current": "Imax, I max, Ipeak, peak current",
        "thermal_class": "insulation class, Wärmeklasse",
        "winding_limit": "Tw max, max winding temperature",
        "thermal_resistance": "Rth",
        "thermal_time_constant": "Tth, tau th, tau w",
        "brake_torque": "Mbr, M brake, MB, holding torque",
    },
    Gear: {
        "name": "gear, type, model, order code, part number, Getriebe, Typ, Bezeichnung, réducteur, référence",
        "ratio": "i, gear ratio, reduction, reduction ratio, Übersetzung, rapport",
        "lead": "screw lead, pitch, travel per turn",
        "efficiency": "eta, η, Wirkungsgrad, rendement",
        "rated_torque": "T2N, TN, nominal torque, Nennmoment, couple nominal",
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
        "inertia": "J, J1, moment of inertia, Trägheitsmoment, inertie",
        "mass": "m, weight, Masse, Gewicht",
    },
}
# at least one column of each group is required
REQUIRED_COLUMNS: dict[type[DrivePart], str] = {
    Motor: "name, rated_torque or stall_torque, peak_torque, max_speed or rated_speed, rotor_inertia, mass",
    Gear: "name, ratio, rated_torque, inertia, mass",
}
TEXTS = ("name", "thermal_class")


@dataclass(frozen=True)
class Catalogue(Sequence[Kind], Generic[Kind]):
    """Motors or gears in file order, with ``notes`` on the parts of the file that were not used."""

    parts: tuple[Kind, ...]
    notes: tuple[str, ...] = ()
    source: str = ""

    def __repr__(self) -> str:
        if not self.parts:
            return "<Catalogue: empty>"
        return f"<Catalogue of {len(self.parts)} {type(self.parts[0]).__name__.lower()}s>"

    def __len__(self) -> int:
        return len(self.parts)

    @overload
    def __getitem__(self, index: int) -> Kind: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Kind, ...]: ...
    def __getitem__(self, index: int | slice) -> Kind | tuple[Kind, ...]:
        return self.parts[index]


def read_motors(path: str | os.PathLike[str]) -> Catalogue[Motor]:
    """The motors of a catalogue: a .csv, .xlsx or .parquet file.

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
    return _parts(tables_in(path, TOML_BYTES, "catalogue"), Motor, os.fspath(path))


def read_gears(path: str | os.PathLike[str]) -> Catalogue[Gear]:
    """The gears of a catalogue: a .csv, .xlsx or .parquet file.

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
    return _parts(tables_in(path, TOML_BYTES, "catalogue"), Gear, os.fspath(path))


def parse_catalogue(text: str, kind: type[Kind], where: str = "catalogue.csv") -> Catalogue[Kind]:
    """The parts listed in the text of a CSV catalogue; ``where`` begins every error message."""
    return _parts(tables_in_text(text.removeprefix("\ufeff"), where), kind, where)


def _parts(tables: Iterable[Cells], kind: type[Kind], where: str) -> Catalogue[Kind]:
    tables = list(tables)
    table = headed(tables, spelled(_columns(kind)), lambda keys: len(keys) >= 3 and "name" in keys)
    first = [row for cells in tables[:1] for _, row in cells.rows if any(row) and not is_comment(row)]
    filled = table.filled() if table else list(enumerate(first[1:]))
    if not filled:
        raise RobotError(f"{where}: the catalogue has no rows; it needs a line of headings and one line per part")
    header = table.header[1] if table else first[0]
    if missing := _absent(kind, {x.key for x in table.columns} if table else set()):
        word = kind.__name__.lower()
        raise RobotError(f"{where}: a catalogue of {word}s needs {missing}; its columns are {some(header)}")
    assert table is not None  # without one, all columns are missing
    notes = list(table.cells.notes)
    check_once(table.columns, where)
    for x in table.columns:
        if x.column.unit not in (None, "1", "price") and x.unit is None:
            raise RobotError(f"{where}: the column {shown(x.header)} has no unit; write '{x.header} [{x.column.unit}]'")
    if table.others:
        notes.append(f"{where}: the columns {', '.join(table.others.values())} are unknown and were ignored")
    different = {row: number for number, row in reversed(filled)}
    if repeated := len(filled) - len(different):
        notes.append(f"{where}: {counted(repeated, 'row repeats', 'rows repeat')} another; dropped")
    parts = [_part(kind, *table.entries((number, row))) for row, number in reversed(different.items())]
    if twice := sorted(name for name, count in Counter(part.name for part in parts).items() if count > 1):
        raise RobotError(f"{where}: two parts have the name {shown(twice[0])}; names must be unique")
    return Catalogue(tuple(parts), tuple(notes), where)


def _part(kind: type[Kind], place: str, row: Mapping[str, Cell]) -> Kind:
    """The part in a row."""
    cells = {key: cell for key, cell in row.items() if not cell.blank}
    if empty := _absent(kind, cells.keys()):
        raise RobotError(
            f"{place} has no value for {empty}, which is needed to select a {kind.__name__.lower()}; fill it in, or remove the "
            "row"
        )
    values: dict[str, Any] = {k: cell.text if k in TEXTS else cell.number() for k, cell in cells.items()}
    with errors_at(place):
        return kind(**values)


def _absent(kind: type[DrivePart], keys: AbstractSet[str]) -> str:
    """The required columns that are not among the keys, in words."""
    groups = REQUIRED_COLUMNS[kind].split(", ")
    return ", ".join(f"'{group}'" for group in groups if not keys & set(group.split(" or ")))


def _columns(kind: type[DrivePart]) -> list[Column]:
    """The columns of a catalogue: the fields of a part."""
    units = {entry.name: entry.metadata["unit"] for entry in kind.numbers()}
    keys = [*units, "name", *(("thermal_class", "phases") if kind is Motor else ())]
    return [Column(key, ALSO[kind].get(key, ""), "1" if key == "phases" else units.get(key)) for key in keys]
