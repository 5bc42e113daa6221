"""Tables in text files: separated by commas, semicolons, tabs or blanks, with or without a header, read in blocks.

This is the only reader of such tables: logs are read leniently, with a note on every repair, and motions strictly.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.files import line_blocks, open_bounded
from dalembert.logs.formats.raw import (
    LARGEST_FILE,
    Array,
    Raw,
    Request,
    check_names,
    check_size,
    counted,
    gathered,
    listed,
)
from dalembert.robot.tables import shown

Line = tuple[int, str]  # its number and its text

QUICK = 10_000_000  # bytes: for larger files pyarrow's reader is worthwhile, if it is installed
LINES = 20_000  # lines read at a time, so that a long file is never in memory as text
EMPTY = ("", "nan", "-nan", "na", "n/a", "#n/a", "null", "none", "-", "--", "?", "-nan(ind)", "1.#qnan", "-1.#ind")
ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?")
ROW = re.compile(r"\s*(?!#(?!n/a)|%|//)\S", re.IGNORECASE)  # a line that is neither blank nor a comment
DECIMAL_COMMA = re.compile(r"\d,\d|(?<![\w.]),\d")


def read_text(path: Path, request: Request) -> Raw:
    """A table of numbers in a text file, for a log."""
    with open_table(path, "log") as table:
        blocks = table.blocks()
        check_names(str(path), table.names)
        parts, count = [], 0
        for _, part in blocks:
            parts.append(part)
            count += part.size
            check_size(f"{path}: the table", count)
            request.progress(table.done())
    whole = np.concatenate(parts) if len(parts) > 1 else parts[0]
    if not len(whole):
        raise DalembertError(f"{path}: the file has no complete row")
    raw = (
        gathered(str(path), table.names, request.joints, table.faults, table.words) if table.headed else Raw(str(path))
    )
    raw.table, raw.headed, raw.notes = whole, table.headed, table.notes
    if table.short is not None:
        number, count = table.short
        raw.note(f"the last row, line {number}, ends after {count} values and was dropped")
    texts = [table.names[k] for k in table.faults if table.names[k]]
    if texts and table.headed:
        raw.note(f"the columns {listed(texts)} contain text and were ignored")
    return raw


@contextmanager
def open_table(path: str | os.PathLike[str], what: str, *, strict: bool = False) -> Iterator[TextTable]:
    """The table in a text file, with its header read and its rows still to be read.

    strict  the text must be UTF-8, and incomplete rows and cells that are not numbers are refused; otherwise empty
            cells are NaN, columns may contain text, and the last row may be truncated
    """
    with open_bounded(path, LARGEST_FILE, what) as binary:
        size = binary.seek(0, io.SEEK_END)
        binary.seek(0)
        start = binary.read(2)
        binary.seek(0)
        wide = start in (b"\xff\xfe", b"\xfe\xff") and not strict
        try:
            with io.TextIOWrapper(binary, encoding="utf-16" if wide else "utf-8-sig") as file:
                yield TextTable(path, file, size, strict, lambda: min(1.0, binary.tell() / size))
        except UnicodeDecodeError:
            raise DalembertError(
                f"{path}: this is not a text file in UTF-8, so no table can be read from it; save it as UTF-8"
            ) from None


def _is_row(cells: list[str]) -> bool:
    """Whether a line consists mostly of numbers; a header consists of words."""
    told = [cell for cell in cells if cell.strip().lower() not in EMPTY]
    return 2 * sum(_plain(cell) or bool(ISO.fullmatch(cell)) for cell in told) > len(told)


def _plain(cell: str) -> bool:
    """Whether a cell is a number or empty."""
    word = cell.strip().lower()
    return word in EMPTY or _number(word.replace(",", ".")) is not None


def _number(cell: str) -> float | None:
    """The number in a cell; None if it is not a number, or has an underscore, which only Python accepts."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


class TextTable:
    """A table in a text file: its syntax, the names of its columns, and its rows, one block at a time.

    names   of the columns, as written; their numbers from 0 if there is no header (not ``headed``)
    line    number of the first line that is not a comment
    notes   findings and repairs, one sentence each
    done    the fraction of the file that has been read
    faults  columns that contain text, and where; words: the first row of these columns
    short   line and count of values of a truncated last row
    """

    place = "line"  # where a cell is, in messages

    def __init__(
        self, path: str | os.PathLike[str], file: io.TextIOWrapper, size: int, strict: bool, done: Callable[[], float]
    ) -> None:
        self.path, self.large, self.strict, self.done = path, size > QUICK, strict, done
        self.faults: dict[int, str] = {}
        self.words: dict[int, str] = {}
        self.notes: list[str] = []
        self.decimal_comma = self.trailing = False
        self.dates: set[int] = set()
        self.short: tuple[int, int] | None = None
        self._comment = ""
        self._further = self._lines(file)
        self._rows = next(self._further, [])
        if not self._rows:
            raise DalembertError(f"{path}: the file {'has' if self._comment else 'is empty: it has'} no rows")
        self.line, head = self._rows[0]
        self.delimiter = next((d for d in ";\t," if d in head), None)
        self.names = self.split(self.line, head)
        if headed := not _is_row(self.names):
            self._rows = self._rows[1:] or next(self._further, [])
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

    def _lines(self, file: io.TextIOWrapper) -> Iterator[list[Line]]:
        """Lines that are neither blank nor comments, one block at a time; the last comment before them is kept."""
        begun = False
        for block in line_blocks(file, self.path, LINES):
            rows = [line for line in block if ROW.match(line[1])]
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
            raise DalembertError(f"{self.path}, line {number}: this is not a line of a table ({error})") from None
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
        if numbers is None and self._has_decimal_commas(lines):
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

    def _has_decimal_commas(self, lines: Sequence[Line]) -> bool:
        """Whether numbers with decimal commas, such as 0,5, appear for the first time."""
        if self.decimal_comma or self.delimiter == "," or not any(DECIMAL_COMMA.search(line) for _, line in lines):
            return False
        self.decimal_comma = True
        self.notes.append(f"{self.path}: commas in numbers are read as decimal points")
        return True

    def _numbers(self, rows: list[str]) -> Array | None:
        """The rows converted to numbers at once; None if anything in them is not a number."""
        plain = self.delimiter is not None and not self.dates and not self.faults
        if self.large and plain and (quick := self._quickly(rows)) is not None:
            return quick
        odd = dict.fromkeys(self.dates, _seconds) | {k: lambda cell: np.nan for k in self.faults}
        how: dict[str, Any] = {"comments": None, "quotechar": '"', "converters": odd or None, "encoding": None}
        try:
            table = np.loadtxt(rows, delimiter=self.delimiter, ndmin=2, **how)
        except ValueError:
            return None
        return table if table.shape == (len(rows), len(self.names)) else None  # an open quote merges lines

    def _quickly(self, rows: list[str]) -> Array | None:
        """The same with pyarrow, four times as fast; None if it is not installed or finds anything unusual."""
        try:
            from pyarrow import ArrowInvalid, csv, float64
        except ImportError:
            return None
        names = [str(k) for k in range(len(self.names))]
        try:
            read = csv.read_csv(
                io.BytesIO("".join(row if row.endswith("\n") else row + "\n" for row in rows).encode()),
                csv.ReadOptions(column_names=names, block_size=1 << 30),
                csv.ParseOptions(delimiter=self.delimiter),
                csv.ConvertOptions(
                    column_types=dict.fromkeys(names, float64()), null_values=[] if self.strict else [""]
                ),
            )
        except ArrowInvalid:
            return None
        if read.num_rows != len(rows):
            return None
        return np.column_stack([read.column(name).to_numpy() for name in names])

    def _slowly(self, lines: Sequence[Line], rows: list[str]) -> Array:
        """The rows converted cell by cell; a strict table raises an error for the first invalid cell or row."""
        table, kept = np.empty((len(rows), len(self.names))), 0
        for (number, line), row in zip(lines, rows, strict=True):
            if self.short is not None:
                self._uneven(*self.short)
            cells = self.split(number, row)
            if len(cells) != len(self.names):
                self.short = number, len(cells)
                if self.strict or len(cells) > len(self.names):
                    self._uneven(*self.short)
                continue  # only the last line of a file may be truncated
            for j, cell in enumerate(cells):
                value = _number(cell)
                if value is None and self.strict:
                    what = f"{shown(self.split(number, line)[j])} is not a number" if cell else "the cell is empty"
                    raise DalembertError(f"{self.path}, line {number}, column '{self.names[j]}': {what}")
                table[kept, j] = self._odd(number, j, cell) if value is None else value
            kept += 1
        if self.strict:
            raise DalembertError(f"{self.path}, lines {lines[0][0]} to {lines[-1][0]}: the rows cannot be read")
        return table[:kept]

    def _odd(self, line: int, column: int, cell: str) -> float:
        """The value of a cell that is not a number."""
        if cell.lower() in EMPTY:
            return np.nan
        what = "a number"
        if ISO.fullmatch(cell):
            what = "a valid time"
            try:
                return _seconds(cell)
            except ValueError:
                pass
        self.faults.setdefault(column, f"{self.path}, line {line}, column {column + 1}: '{cell:.40}' is not {what}")
        return np.nan

    def _uneven(self, line: int, count: int) -> None:
        raise DalembertError(
            f"{self.path}, line {line}: the row has {counted(count, 'value')}, but the header has {len(self.names)} columns"
        )


def _seconds(cell: str) -> float:
    """Seconds since 1970 of an ISO 8601 time stamp; UTC by default."""
    then = datetime.fromisoformat(cell)
    return (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp()
