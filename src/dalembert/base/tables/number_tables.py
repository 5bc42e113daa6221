"""Tables of numbers in text files and workbooks, with or without a header, read in blocks.

Columns are separated by commas, semicolons, tabs or blanks. Logs are read leniently, with a note on every repair, and
motions strictly.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.files import line_blocks, open_bounded
from dalembert.base.tables import cells
from dalembert.base.tables.cells import FILLED, HEADER_WITHIN, WORKBOOKS, encoding_of
from dalembert.base.tables.columns import DECIMAL_COMMA, EMPTY, name_and_unit
from dalembert.base.tables.units import UNITS, plain
from dalembert.base.wording import counted, shown
from dalembert.errors import DalembertError

Line = tuple[int, str]  # its number and its text

LARGEST_FILE = 16 << 30  # bytes
WORKBOOK_BYTES, WORKBOOK_CELLS = 64 << 20, 2_000_000  # larger tables belong in CSV or Parquet files
SNIFFED = 1 << 20  # bytes that decide about the encoding
LINES = 20_000  # lines read at a time, so that a long file is never in memory as text
NO_VALUE = (*EMPTY, "nan", "-nan", "#n/a", "--", "?", "-nan(ind)", "1.#qnan", "-1.#ind")
NO_UNIT = {"", "-", "1"}  # cells of a line of units
KNOWN_UNITS = {plain(unit) for units in UNITS.values() for unit in units}
LONGEST_UNIT = 20  # characters
ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?")


@contextmanager
def open_table(path: str | os.PathLike[str], what: str, *, strict: bool = False) -> Iterator[NumberTable]:
    """The table in a text file or a workbook, with its header read and its rows still to be read.

    strict  incomplete rows and cells that are not numbers are refused; otherwise empty cells are NaN, columns may
            contain text, and the last row may be truncated
    """
    where = os.fspath(path)
    if where.lower().endswith(WORKBOOKS):
        lines, notes = _sheet(where)
        yield NumberTable(path, iter([lines]), strict, lambda: 1.0, notes, "row")
        return
    with open_bounded(path, LARGEST_FILE, what) as binary:
        start = binary.read(SNIFFED)
        encoding, notes = encoding_of(start, where, DalembertError)
        size = binary.seek(0, io.SEEK_END)
        binary.seek(0)
        errors = "replace" if encoding == "cp1252" else "strict"
        try:
            with io.TextIOWrapper(binary, encoding=encoding, errors=errors) as file:
                blocks = line_blocks(file, path, LINES)
                yield NumberTable(path, blocks, strict, lambda: min(1.0, binary.tell() / size), notes)
        except UnicodeDecodeError:
            raise DalembertError(
                f"{path}: this is not a text file in UTF-8, so no table can be read from it; save it as UTF-8"
            ) from None


def _sheet(where: str) -> tuple[list[Line], tuple[str, ...]]:
    """The first sheet of a workbook that holds a table, as lines separated by tabs, and a note on the choice."""
    sheets = cells.sheets(where, WORKBOOK_BYTES, WORKBOOK_CELLS, DalembertError)
    name, rows = next(((name, rows) for name, rows in sheets if len(rows) > 1 and len(rows[0]) > 1), ("", []))
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerows([cell.replace("\n", " ").replace("\r", " ") for cell in row] for row in rows)
    lines = list(enumerate(text.getvalue().splitlines(keepends=True), 1))
    return lines, (f"the sheet '{name}' was read",) if len(sheets) > 1 else ()


def _delimiter(line: str) -> str | None:
    return next((d for d in ";\t," if d in line), None)


def _are_units(cells: list[str]) -> bool:
    """Whether a line consists of units, such as s; deg; Nm or [s], [deg], [Nm]."""
    words = {cell.strip("[]() ") for cell in cells} - NO_UNIT
    return bool(words) and all(len(word) <= LONGEST_UNIT and plain(word) in KNOWN_UNITS for word in words)


def _is_row(cells: list[str]) -> bool:
    """Whether a line consists mostly of numbers; a header consists of words."""
    filled = [cell for cell in cells if cell.strip().lower() not in NO_VALUE]
    return 2 * sum(_plain(cell) or bool(ISO.fullmatch(cell)) for cell in filled) > len(filled)


def _plain(cell: str) -> bool:
    """Whether a cell is a number or empty."""
    word = cell.strip().lower()
    return word in NO_VALUE or _number(word.replace(",", ".")) is not None


def _number(cell: str) -> float | None:
    """The number in a cell; None if it is not a number, or has an underscore, which only Python accepts."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


class NumberTable:
    """A table of numbers in lines of text: its syntax, the names of its columns, and its rows, one block at a time.

    names   of the columns, as written; their numbers from 0 if there is no header (not ``headed``)
    line    number of the first line that is not a comment
    notes   findings and repairs, one sentence each
    done    the fraction of the file that has been read
    faults  columns that contain text, and where; words: the first row of these columns
    short   line and count of values of a truncated last row
    place   where a cell is, in messages
    """

    def __init__(
        self, path: str | os.PathLike[str], lines: Iterable[list[Line]], strict: bool,
        done: Callable[[], float], notes: Sequence[str] = (), place: str = "line",
    ) -> None:  # fmt: skip
        self.path, self.strict, self.done, self.place = path, strict, done, place
        self.faults: dict[int, str] = {}
        self.words: dict[int, str] = {}
        self.notes = [f"{path}: {note}" for note in notes]
        self.decimal_comma = self.trailing = False
        self.dates: set[int] = set()
        self.short: tuple[int, int] | None = None
        self._comment = ""
        self._further = self._lines(lines)
        self._rows = next(self._further, [])
        if not self._rows:
            raise DalembertError(f"{path}: the file {'has' if self._comment else 'is empty: it has'} no rows")
        self._skip_titles()
        self.line, head = self._rows[0]
        self.delimiter = _delimiter(head)
        self.names = self.split(self.line, head)
        if headed := not _is_row(self.names):
            self._rows = self._rows[1:] or next(self._further, [])
            self._take_units()
        elif self._comment:
            described = self.split(0, self._comment.strip().lstrip("#%/").strip())
            if len(described) == len(self.names) and not _is_row(described):
                self.names, headed = described, True  # as written by numpy.savetxt: # t q1 q2
        self.headed = headed
        if not headed:
            self.names = [str(k) for k in range(len(self.names))]
        if self._rows:
            self._settle(*self._rows[0])

    def blocks(self) -> Iterator[tuple[list[Line], Array]]:
        """The lines with their numbers, and their values: (lines, columns) per block."""
        if not self._rows:
            raise DalembertError(f"{self.path}: the file has a header but no rows")
        return ((lines, self._block(lines)) for lines in chain([self._rows], self._further))

    def _skip_titles(self) -> None:
        """Drop the lines above the header: each has fewer cells than the header, which a row of numbers follows."""
        for at, (number, line) in enumerate(self._rows[:HEADER_WITHIN]):
            self.delimiter = _delimiter(line)
            names = self.split(number, line)
            filled = sum(map(bool, names))
            rest = [self.split(*row) for row in self._rows[at + 1 : at + 3]]
            rest = rest[1:] if len(rest) > 1 and not _is_row(rest[0]) and _are_units(rest[0]) else rest
            follows = bool(rest) and filled > 1 and abs(len(rest[0]) - len(names)) <= 1 and _is_row(rest[0])
            if at == 0 and (_is_row(names) or follows):
                return
            if follows and all(sum(map(bool, self.split(*row))) < filled for row in self._rows[:at]):
                titles = counted(at, f"{self.place} above the header was", f"{self.place}s above the header were")
                self.notes.append(f"{self.path}: {titles} ignored")
                self._rows = self._rows[at:]
                return

    def _take_units(self) -> None:
        """Add the units in a line of their own, below the header, to the names."""
        units = self.split(*self._rows[0]) if self._rows else []
        if len(units) == len(self.names) and _are_units(units):
            units = [unit.strip("[]() ") for unit in units]
            self.names = [
                f"{name} [{unit}]" if unit not in NO_UNIT and name_and_unit(name)[1] is None else name
                for name, unit in zip(self.names, units, strict=True)
            ]
            self._rows = self._rows[1:] or next(self._further, [])

    def _lines(self, lines: Iterable[list[Line]]) -> Iterator[list[Line]]:
        """Lines that are neither blank nor comments, one block at a time; the last comment before them is kept."""
        begun = False
        for block in lines:
            rows = [line for line in block if FILLED.match(line[1])]
            if not begun:
                first = rows[0][0] if rows else block[-1][0] + 1
                before = (text for number, text in reversed(block) if number < first and not text.isspace())
                self._comment, begun = next(before, self._comment), bool(rows)
            if rows:
                yield rows

    def split(self, number: int, line: str) -> list[str]:
        """The cells of a line."""
        if self.delimiter is None:
            return line.split()
        try:
            cells = next(csv.reader([line.strip("\r\n")], delimiter=self.delimiter, skipinitialspace=True), [])
        except csv.Error as error:
            raise DalembertError(
                f"{self.path}, {self.place} {number}: this is not a line of a table ({error})"
            ) from None
        return [cell.strip() for cell in cells]

    def _settle(self, number: int, line: str) -> None:
        """Determine the syntax from the first row of numbers."""
        cells = self.split(number, line)
        if len(self.names) == len(cells) and not self.names[-1] and not cells[-1]:
            self.names = self.names[:-1]
        self.trailing = len(cells) == len(self.names) + 1 and not cells[-1]  # every line ends with a separator
        if self.strict:
            return
        cells = cells[:-1] if self.trailing else cells
        if len(self.names) < 2:
            raise DalembertError(
                f"{self.path}: this is not a table: its first line has no comma, semicolon, tab or blank between columns"
            )
        if len(cells) != len(self.names):
            raise DalembertError(
                f"{self.path}: the rows have {len(cells)} values, but the header has {len(self.names)} columns; a line "
                "before the header must begin with # or %"
            )
        self.dates = {k for k, cell in enumerate(cells) if ISO.fullmatch(cell)}
        for k, cell in enumerate(cells):
            if not _plain(cell) and k not in self.dates:
                self._odd(number, k, cell)
                self.words[k] = cell

    def _block(self, lines: Sequence[Line]) -> Array:
        """A block of lines as numbers; empty cells are NaN, and text marks its column as faulty."""
        if self.short is not None:
            self._uneven(*self.short)
        numbers = self._numbers(rows := self._prepared(lines))
        may_have_commas = numbers is None and not self.decimal_comma and self.delimiter != ","
        if may_have_commas and any(DECIMAL_COMMA.search(line) for _, line in lines):
            self.decimal_comma = True  # numbers such as 0,5 appear for the first time
            self.notes.append(f"{self.path}: commas in numbers are read as decimal points")
            numbers = self._numbers(rows := self._prepared(lines))
        return self._slowly(lines, rows) if numbers is None else numbers

    def _prepared(self, lines: Sequence[Line]) -> list[str]:
        """The lines with decimal points, and without anything after the last column."""
        rows = [line for _, line in lines]
        if self.decimal_comma:
            rows = [row.replace(",", ".") for row in rows]
        if self.trailing:
            rows = [row.rstrip("\r\n ").removesuffix(self.delimiter or " ") for row in rows]
        return rows

    def _numbers(self, rows: list[str]) -> Array | None:
        """The rows converted to numbers at once; None if anything in them is not a number."""
        odd = dict.fromkeys(self.dates, _seconds) | {k: lambda cell: np.nan for k in self.faults}
        how: dict[str, Any] = {"comments": None, "quotechar": '"', "converters": odd or None, "encoding": None}
        try:
            table = np.loadtxt(rows, delimiter=self.delimiter, ndmin=2, **how)
        except ValueError:
            return None
        return table if table.shape == (len(rows), len(self.names)) else None  # an open quote merges lines

    def _slowly(self, lines: Sequence[Line], rows: list[str]) -> Array:
        """The rows converted cell by cell; a strict table raises an error for the first invalid cell or row."""
        table, row_count = np.empty((len(rows), len(self.names))), 0
        for (number, line), row in zip(lines, rows, strict=True):
            cells = self.split(number, row)
            if len(cells) != len(self.names):
                self.short = number, len(cells)
                if self.strict or len(cells) > len(self.names) or number != lines[-1][0]:
                    self._uneven(*self.short)
                continue  # only the last line of a file may be truncated
            for j, cell in enumerate(cells):
                value = _number(cell)
                if value is None and self.strict:
                    what = f"{shown(self.split(number, line)[j])} is not a number" if cell else "the cell is empty"
                    raise DalembertError(f"{self.path}, {self.place} {number}, column '{self.names[j]}': {what}")
                table[row_count, j] = self._odd(number, j, cell) if value is None else value
            row_count += 1
        if self.strict:
            raise DalembertError(f"{self.path}, {self.place}s {lines[0][0]} to {lines[-1][0]}: the rows cannot be read")
        return table[:row_count]

    def _odd(self, line: int, column: int, cell: str) -> float:
        """The value of a cell that is not a number."""
        if cell.lower() in NO_VALUE:
            return np.nan
        what = "a number"
        if ISO.fullmatch(cell):
            what = "a valid time"
            try:
                return _seconds(cell)
            except ValueError:
                pass
        where = f"{self.path}, {self.place} {line}, column {column + 1}"
        self.faults.setdefault(column, f"{where}: '{cell:.40}' is not {what}")
        return np.nan

    def _uneven(self, line: int, count: int) -> None:
        raise DalembertError(
            f"{self.path}, {self.place} {line}: the row has {counted(count, 'value')}, but the header has {len(self.names)} columns"
        )


def _seconds(cell: str) -> float:
    """Seconds since 1970 of an ISO 8601 time stamp; UTC by default."""
    then = datetime.fromisoformat(cell)
    return (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp()
