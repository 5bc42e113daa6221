"""Robots from DH tables in CSV files and spreadsheets.

The header names the columns and their units, such as ``joint; a [mm]; alpha (deg); d [mm]; theta; mass [kg]``.
All assumptions (the convention, joint types, units) are recorded in the robot's notes. A number that is implausible in
the unit in which it would be interpreted, such as alpha = -90 without a unit, is refused with both remedies.
"""

from __future__ import annotations

import difflib
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dalembert.base.files.file_bounds import LINKS, NAME, TABLE_COLUMNS, at_most
from dalembert.base.tables.cells import HeadedCells, headed, is_comment, tables_in
from dalembert.base.tables.cells import Row as CellRow
from dalembert.base.tables.columns import EMPTY, LONGEST_CELL, Cell, Column, Heading, check_once, compact, is_number
from dalembert.base.wording import errors_at, nearest, shown, some
from dalembert.errors import RobotError
from dalembert.robot.model.friction_data import Friction
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.robot import LIMIT_KEYS, STANDARD_GRAVITY, Limits, Robot, Rotor
from dalembert.robot.readers.dh import CONVENTIONS, Row, frame_of, from_dh
from dalembert.robot.readers.dh_columns import COLUMNS, GEOMETRY, MEANING, ends, variable, vector
from dalembert.robot.readers.table_parts import symmetric

TYPES = {
    **dict.fromkeys(("r", "rev", "revolute", "rot", "rotational", "rotary", "rotation", "hinge", "0"), "revolute"),
    **dict.fromkeys(("p", "pris", "prismatic", "t", "translational", "linear", "slide", "slider", "1"), "prismatic"),
    **dict.fromkeys(("c", "continuous"), "continuous"),
    **dict.fromkeys(("f", "fix", "fixed", "tool", "flange", "tcp"), "fixed"),
}
CONVENTION_WORDS = {
    **dict.fromkeys(("standard", "classic", "distal", "sdh"), "standard"),
    **dict.fromkeys(("modified", "craig", "proximal", "khalil", "mdh"), "modified"),
}
KEYS = [column.key for column in COLUMNS]
ENDS = ("flange", "tool", "tcp", "ee", "tip", "end effector", "end-effector")  # names of a row without a joint
# words in the headings of columns that affect torques
DYNAMIC_WORDS = ("mass", "inertia", "friction", "damping", "spring", "stiffness", "payload", "rotor")
TOTALS = ("total", "sum", "summe", "gesamt", "σ", "∑")
_SETTING = re.compile(r"\W*(?P<key>convention|dh convention|name|gravity)\s*[:=]\s*(?P<value>.+?)\W*", re.IGNORECASE)


def read_dh_table(path: str | os.PathLike[str], convention: str | None = None) -> Robot:
    """The serial arm described by a DH table in a .csv, .tsv, .xlsx, .xls or .ods file.

    convention  "standard" or "modified"; overrides the file
    """
    table = headed(tables_in(path), MEANING, lambda keys: len(keys & set(GEOMETRY)) >= 2)
    if table is None:
        raise RobotError(
            f"{os.fspath(path)}: no row names the columns of a DH table; write a header such as "
            f"'joint, type, a [mm], alpha [deg], d [mm], theta [deg]', with at least two of {', '.join(GEOMETRY)}"
        )
    return _DHTable(table, Path(path), convention).robot()


class _RowCells(dict[str, Cell]):
    """The cells of a row by column; those of columns that the table does not have are blank."""

    def __missing__(self, key: str) -> Cell:
        return Cell("", Heading(Column(key), key, 0), "", False)


class _DHTable:
    """A table whose header was found: its columns, its rows, and the assumptions made about them."""

    def __init__(self, table: HeadedCells, path: Path, convention: str | None) -> None:
        self.cells, self.path, self.stated_convention = table.cells, path, convention
        self.notes, self.columns, rows = list(table.cells.notes), table.columns, list(table.rows)
        self.guessed: list[str] = []
        self.partial: list[str] = []
        self.settings = self._settings((*table.before, *(row for row in rows if is_comment(row[1]))))
        width = max((at + 1 for at, cell in enumerate(table.header[1]) if cell), default=0)
        at_most(TABLE_COLUMNS, width, "columns", table.where)
        self.rows = self._joint_rows(rows, width)
        self._ratios()
        self._check_columns(table.where, table.others)
        self._share_units()

    def _column(self, at: int) -> list[str]:
        """The cells below a heading that are not empty."""
        return [row[at] for _, row in self.rows if at < len(row) and row[at]]

    def _ratios(self) -> None:
        """Read a column called i as gear ratios, as in data sheets, unless it counts the rows; n counts them at times."""
        for k, column in enumerate(self.columns):
            cells = self._column(column.at) if compact(column.header) in ("i", "n") else []
            counts = cells in ([str(n + start) for n in range(len(cells))] for start in (0, 1))
            if len(cells) > 1 and all(map(is_number, cells)):
                self.columns[k] = replace(column, column=MEANING["name" if counts else "gear"])

    def _check_columns(self, where: str, others: Mapping[int, str]) -> None:
        """Refuse repeated columns and unknown ones that are misspelt or hold numbers: torques may depend on them."""
        check_once(self.columns, where)
        keys = [column.key for column in self.columns]
        for at, header in others.items():
            name = re.split(r"[\[(]", header)[0].strip()
            word = "" if " " in name else "".join(c for c in name.lower() if c.isalnum())
            close = difflib.get_close_matches(word[:60], [w for w in MEANING if len(w) > 3], n=1, cutoff=0.8)
            if close and len(word) > 3 and MEANING[close[0]].key not in keys:
                raise RobotError(
                    f"{where}: the column '{header}' is unknown; write '{close[0]}' if that is meant, or remove the column "
                    "if not"
                )
            if any(is_number(cell) and set(cell) & set("123456789") for cell in self._column(at)):
                letters = [unicodedata.name(c, "") for c in header if c.isalpha() and not c.isascii()]
                foreign = next((name for name in letters if name.startswith("CYRILLIC")), None)
                hint = f" (it contains the letter {foreign})" if foreign else nearest(header, KEYS)
                raise RobotError(
                    f"{where}: the column {shown(header)} holds numbers and is unknown{hint}; rename it to one of "
                    f"{', '.join(KEYS)}, or remove it"
                )
        if "com" in keys and any(key.startswith("com ") for key in keys):
            raise RobotError(f"{where}: the centre of mass is given both in one column and in several; remove one form")
        dynamic = [x for x in others.values() if any(word in x.lower() for word in DYNAMIC_WORDS)]
        self.left_out = [f"the columns {some([shown(x) for x in dynamic])} of the table"] if dynamic else []
        if unused := [shown(x) for x in others.values() if x not in dynamic]:
            self.notes.append(f"columns that were not used: {some(unused)}")

    def _share_units(self) -> None:
        """Use the unit of alpha for theta and offset, and that of a for d, if they have none of their own."""
        by_key = {column.key: column for column in self.columns}
        for key, other in (("theta", "alpha"), ("alpha", "theta"), ("offset", "alpha"), ("d", "a"), ("a", "d")):
            column, model = by_key.get(key), by_key.get(other)
            if column is None or model is None or column.unit or not model.unit:
                continue
            by_key[key] = replace(column, unit=model.unit)
            like = f"{model.unit}, like '{model.header}'"
            self.notes.append(f"column '{column.header}' has no unit and is read in {like}")
        self.columns = sorted(by_key.values(), key=lambda column: column.at)

    def _settings(self, rows: Sequence[CellRow]) -> dict[str, tuple[str, str]]:
        """Settings from lines such as "# convention: modified" or cells "Convention", "modified": (value, where)."""
        settings: dict[str, tuple[str, str]] = {}
        for number, row in rows:
            cells = [cell for cell in row if cell]
            if not cells:
                continue
            text = f"{cells[0].rstrip(': =')}: {cells[1]}" if len(cells) == 2 else " ".join(cells)
            if len(text) <= LONGEST_CELL and (match := _SETTING.fullmatch(text)):
                settings[match["key"].lower().removeprefix("dh ")] = match["value"], self.cells.at(number)
        return settings

    def convention(self) -> str:
        """The requested convention, else the one in the file, else the usual one; a note records which."""
        columns = (self._column(c.at) for c in self.columns if c.key == "convention")
        cells = (cell.lower() for column in columns for cell in column if cell.lower() not in EMPTY)
        value, where = self.settings.get("convention", (next(cells, ""), self.cells.where))
        stated = _convention(value, where) if value else None
        previous = [c.header for c in self.columns if c.previous and c.key in ("a", "alpha")]
        if self.stated_convention is not None:
            return self.stated_convention
        if stated == "standard" and previous:
            raise RobotError(
                f"{where}: the convention is given as standard, but the column '{previous[0]}' belongs to a modified "
                "table; change one of them, or load it with convention='standard' or convention='modified'"
            )
        if stated is not None:
            return stated
        assumed = "modified" if previous else "standard"
        remedy = "write '# convention: modified' above the table if it is not"
        reason = f": a column is called '{previous[0]}'" if previous else f"; {remedy}"
        self.notes.append(f"the DH convention is assumed to be {assumed}{reason}")
        return assumed

    def _joint_rows(self, rows: Sequence[CellRow], width: int) -> list[CellRow]:
        """The rows that describe joints."""
        geometry = [c.at for c in self.columns if c.key in (*GEOMETRY, "type")]
        joints = []
        for number, row in rows:
            cells = [cell for cell in row if cell.strip("-: ")]
            if not cells or is_comment(row):
                continue
            if cells[0].lower().strip(": ") in TOTALS:
                self.notes.append(f"{self.cells.row_word} {number} ('{cells[0]}') is a total and was ignored")
            elif not any(at < len(row) and row[at] for at in geometry):
                self.notes.append(f"{self.cells.row_word} {number} has no a, alpha, d or theta and was ignored")
            else:
                self._check_width(number, row[width:], width)
                joints.append((number, row))
        return joints

    def _check_width(self, number: int, others: Sequence[str], width: int) -> None:
        """Refuse a number or variable to the right of the header: it has no name, or a decimal comma shifted it."""
        beyond = next((cell for cell in others if re.fullmatch(r"[-+]?[\d.,]+|\*|[qθ].{0,9}", cell)), None)
        if beyond is not None:
            raise RobotError(
                f"{self.cells.at(number)}: {shown(beyond)} is to the right of all {width} columns of the header; name its "
                "column there, or separate the columns by semicolons if commas are decimal separators"
            )

    def robot(self) -> Robot:
        """The arm."""
        convention, table, where = self.convention(), self.rows, self.cells.where
        if not table:
            raise RobotError(f"{where}: the DH table has no rows; an arm needs at least one joint")
        at_most(LINKS, len(table), "rows", where)
        rows, tip = [], None
        for k, numbered in enumerate(table):
            number, at = numbered[0], self.cells.at(numbered[0])
            cells = _RowCells(self.cells.under(self.columns, numbered))
            with errors_at(at):
                row, kind = self._row(cells, k + 1, at)
                if kind != "fixed":
                    rows.append(row)
                elif k + 1 == len(table) and rows:
                    tip = frame_of(row, convention)
                    self.notes.append(f"{self.cells.row_word} {number} has no joint and places the tip frame")
                else:
                    raise RobotError(
                        "the row is fixed, but only the last row of a DH table can be; write the arm as a .toml file with "
                        'convention = "frames"'
                    )
        if self.guessed:
            self.notes.append(f"joint types inferred from what varies: {some(self.guessed)}")
        if self.partial:
            self.notes.append(f"moments of inertia missing from the table are set to 0: {some(self.partial)}")
        self._note_units()
        if not any(row.inertia.mass for row in rows):
            self.notes.append(
                "the table has no masses, so all torques are 0: add columns such as mass [kg], com_x [m] and Ixx [kg m²], or "
                "write the arm as a .toml file, whose links can have shapes with a density"
            )
        elif not any(any(x != 0.0 for x in line) for row in rows for line in row.inertia.tensor):
            self.notes.append(
                "the table has masses and no moments of inertia, so that links are point masses: add columns such as Ixx [kg m²]"
            )
        name, _ = self.settings.get("name", (self.path.stem or "arm", ""))
        with errors_at(where):
            robot = from_dh(
                rows, convention, name=name[:NAME], gravity=self._gravity(), tip=tip, source=str(self.path),
                notes=self.notes,
            )  # fmt: skip
        return robot.replace(left_out=tuple(self.left_out)) if self.left_out else robot

    def _gravity(self) -> Sequence[float]:
        text, where = self.settings.get("gravity", ("", ""))
        if not text:
            return STANDARD_GRAVITY
        try:
            x, y, z = map(float, text.strip("[]() ").replace(",", " ").split())
        except ValueError:
            raise RobotError(f"{where}: gravity is {shown(text)}; it must be three numbers in m/s²") from None
        return x, y, z

    def _note_units(self) -> None:
        """Note which columns were converted to SI units."""
        written = [(x, set(x.column.unit_words(x.unit))) for x in self.columns if x.unit]
        others = [x for x, units in written if not units <= {x.column.unit, x.column.sliding}]
        changed = [f"'{x.header}' from {x.unit}" for x in others]
        if changed:
            self.notes.append(f"columns converted to SI units: {some(changed, 30)}")
        if self.cells.comma and any(
            re.search(r"\d,\d", row[c.at])
            for _, row in self.rows
            for c in self.columns
            if c.column.unit is not None and c.at < len(row)
        ):
            self.notes.append("commas in numbers are read as decimal points")

    def _row(self, cells: _RowCells, count: int, where: str) -> tuple[Row, str]:
        """The row of a joint, and its type."""
        (theta_varies, theta), (d_varies, d) = variable(cells["theta"]), variable(cells["d"])
        names = _names(cells)
        kind = self._type(cells, theta_varies, d_varies, names.get("name") or f"joint{count}")
        slides = kind == "prismatic"
        if (d_varies and not slides) or (theta_varies and slides) or (kind == "fixed" and (theta_varies or d_varies)):
            varying = cells["d" if d_varies else "theta"]
            raise varying.wrong(f"{shown(varying.text)} is a variable, but the joint is {kind}")
        offset = cells["offset"].number(slides)
        if offset and (d if slides else theta):
            raise cells["offset"].wrong(
                f"the joint is {kind} and has both an offset and a {'d' if slides else 'theta'}, which are the same quantity"
            )
        d, theta = (offset or d, theta) if slides else (d, offset or theta)
        a, alpha = (cells[key].number() or 0.0 for key in ("a", "alpha"))
        rotor = _given(cells, slides, inertia="rotor inertia", gear="gear", mass="rotor mass")
        parts: dict[str, Any] = {
            "inertia": _inertia(cells),
            "physical": self._moments_are_whole(cells, names.get("link") or f"link{count}"),
            "limits": _limits(cells, slides),
            "friction": Friction(**_given(cells, slides, viscous="viscous", coulomb="coulomb")),
            "rotor": Rotor(**rotor) if rotor else None,
            "note": cells["note"].text,
        }
        if kind == "fixed" and parts["inertia"].mass:
            raise cells["mass"].wrong("a fixed row cannot have a mass of its own; add it to the link of the row before")
        return Row(a, alpha, d, theta, "revolute" if kind == "fixed" else kind, **names, **parts), kind  # type: ignore[arg-type]

    def _moments_are_whole(self, cells: _RowCells, link: str) -> bool:
        """Whether all principal moments are given, or none; tables of planar arms often have only Izz."""
        given = [k for k in ("xx", "yy", "zz") if cells[f"inertia {k}"].number()]
        if 0 < len(given) < 3 and _inertia(cells).impossible():
            self.partial.append(f"'{link}' (only {', '.join(f'I{k}' for k in given)})")
            return False
        return True

    def _type(self, cells: _RowCells, theta_varies: bool, d_varies: bool, name: str) -> str:
        """The type from the type column, or inferred from what varies."""
        if not (place := cells["type"]).blank:
            kind = TYPES.get(place.text.lower())
            if kind is None:
                raise place.wrong(f"the type is {shown(place.text)}; it must be R (revolute), P (prismatic) or fixed")
            return kind
        if theta_varies and d_varies:
            raise cells["d"].wrong("both theta and d vary; only one of them can be the joint variable")
        if name.lower() in ENDS:
            return "fixed"
        mark = cells["variable"].text.lower().lstrip("*")
        blank = {key: key in cells and cells[key].blank for key in ("theta", "d")}
        slides = d_varies or (not theta_varies and (mark.startswith("d") or (blank["d"] and not blank["theta"])))
        if not (theta_varies or d_varies or mark):
            key = "d" if slides else "theta"
            reason = f"{key} is blank" if blank[key] else "neither theta nor d is marked as variable"
            self.guessed.append(f"'{name}' {'prismatic' if slides else 'revolute'} ({reason})")
        return "prismatic" if slides else "revolute"


def _convention(text: str, where: str) -> str:
    word = re.split(r"[\s,;(]", text.lower().strip())[0]
    if word not in CONVENTION_WORDS:
        raise RobotError(f"{where}: the DH convention is {shown(text)}; it must be one of {', '.join(CONVENTIONS)}")
    return CONVENTION_WORDS[word]


def _names(cells: _RowCells) -> dict[str, str]:
    """The names of joint and link; plain numbers only count the rows."""
    texts = {key: cells[key].text for key in ("name", "link") if not cells[key].blank}
    for key, text in texts.items():
        if len(text) > NAME:
            raise cells[key].wrong(f"the name is {shown(text)}; it must have at most {NAME} characters")
    return {key: text for key, text in texts.items() if not text.isdecimal()}


def _given(cells: _RowCells, slides: bool, **keys: str) -> dict[str, Any]:
    """{field: number} for the columns of these keys that are there and not blank."""
    numbers = {field: cells[key].number(slides) for field, key in keys.items()}
    return {field: number for field, number in numbers.items() if number is not None}


def _limits(cells: _RowCells, slides: bool) -> Limits:
    values = _given(cells, slides, **{key: key for key in LIMIT_KEYS})
    if both := ends(cells["range"], slides):
        if "lower" in values or "upper" in values:
            raise cells["range"].wrong("a range is given as well as a lower or upper limit; remove one of them")
        values["lower"], values["upper"] = both
    return Limits(**values)


def _inertia(cells: _RowCells) -> Inertia:
    com = vector(cells["com"]) if "com" in cells else tuple(cells[f"com {axis}"].number() or 0.0 for axis in "xyz")
    tensor = symmetric(*(cells[f"inertia {k}"].number() or 0.0 for k in ("xx", "yy", "zz", "xy", "yz", "xz")))
    return Inertia(cells["mass"].number() or 0.0, com, tensor)
