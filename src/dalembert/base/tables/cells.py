"""The cells of a table in a text file, a spreadsheet or a Parquet file, as text, with their row numbers.

Text may be delimited by semicolons, tabs, commas or vertical bars, may have a byte order mark, and may be encoded in
UTF-8, UTF-16 or Windows-1252, as exported by spreadsheet programs. Workbooks (.xlsx, .xls, .xlsb, .ods) are read by
Calamine.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.base.environment.extras import extra
from dalembert.base.files import open_bounded, read_bounded
from dalembert.base.files.file_bounds import TABLE_BYTES, TABLE_CELLS, at_most
from dalembert.base.tables.columns import Cell, Column, Heading, headings, with_units
from dalembert.base.wording import counted, reason
from dalembert.errors import DalembertError, RobotError

TEXT_TABLES = (".csv", ".tsv")
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
# {suffix: name of the reader that the helper process runs}
READERS = dict.fromkeys(WORKBOOKS, "Calamine") | {".parquet": "pyarrow's reader of Parquet files"}
DELIMITERS = (";", "\t", ",", "|")
HEADER_WITHIN = 100  # the header must be among this many rows from the top
FILLED = re.compile(r"\s*(?!#(?!n/a)|%|//)\S", re.IGNORECASE)  # begins a line that is neither blank nor a comment

Row = tuple[int, tuple[str, ...]]  # its number from 1, and its cells


@dataclass(frozen=True)
class Cells:
    """One interpretation of a file as a table: a sheet of a workbook, or a text split at one delimiter.

    where  beginning of messages about it;  row_word  word for its rows in messages
    rows   (number from 1, cells) of all rows, including blank ones
    comma  whether a comma in a cell is a decimal separator
    """

    where: str
    row_word: str
    rows: tuple[Row, ...]
    comma: bool
    notes: tuple[str, ...] = ()

    def at(self, number: int) -> str:
        """The location of a row, as written in messages."""
        return f"{self.where}, {self.row_word} {number}"

    def under(self, columns: Iterable[Heading], row: Row) -> dict[str, Cell]:
        """The cells of a row, keyed by their columns."""
        number, cells = row
        where = self.at(number)
        return {x.key: Cell(cells[x.at] if x.at < len(cells) else "", x, where, self.comma) for x in columns}


@dataclass(frozen=True)
class HeadedCells:
    """A table whose header was found.

    columns   recognised headings, with the units of a row of units;  others  headings that were not, by position
    before, header, rows   the rows above the header, the header, and the rows below it and its units
    """

    cells: Cells
    columns: list[Heading]
    others: dict[int, str]
    before: tuple[Row, ...]
    header: Row
    rows: tuple[Row, ...]

    @property
    def where(self) -> str:
        """The location of the header."""
        return self.cells.at(self.header[0])

    def filled(self) -> list[Row]:
        """The rows below the header that are neither blank nor comments."""
        return [row for row in self.rows if any(row[1]) and not is_comment(row[1])]

    def entries(self, row: Row) -> tuple[str, dict[str, Cell]]:
        """The location of a row with one cell per heading, and its cells, keyed by their columns."""
        where, width = self.cells.at(row[0]), len(self.header[1])
        if len(row[1]) != width:
            raise RobotError(
                f"{where}: the row has {counted(len(row[1]), 'value')}, but the header has {width} columns; give one per column"
            )
        return where, self.cells.under(self.columns, row)


def headed(
    tables: Iterable[Cells], meaning: Mapping[str, Column], is_header: Callable[[set[str]], bool]
) -> HeadedCells | None:
    """The first table with a header: a row for whose keys ``is_header`` holds; None if there is none.

    meaning  {compact name: column}, as :func:`dalembert.base.tables.columns.spelled` returns it
    """
    for cells in tables:
        for at, (number, row) in enumerate(cells.rows[:HEADER_WITHIN]):
            if len(row) > 1:
                columns, others = headings(row, meaning, cells.at(number))
                if is_header({column.key for column in columns}):
                    rest = cells.rows[at + 1 :]
                    if rest and (measured := with_units(columns, rest[0][1])):
                        columns, rest = measured, rest[1:]
                    return HeadedCells(cells, columns, others, cells.rows[:at], cells.rows[at], rest)
    return None


def is_comment(row: tuple[str, ...]) -> bool:
    """Whether a row is a comment."""
    return bool(row and row[0]) and FILLED.match(row[0]) is None


def tables_in(path: str | os.PathLike[str], largest: int = TABLE_BYTES, what: str = "table") -> Iterator[Cells]:
    """The possible tables in a file of at most ``largest`` bytes, most likely first; ``what`` names it in messages."""
    where = os.fspath(path)
    suffix = os.path.splitext(where)[1].lower()
    if suffix in READERS:
        for name, rows in sheets(where, largest, TABLE_CELLS, RobotError):
            numbered = tuple((number, tuple(cells)) for number, cells in enumerate(rows, 1))
            yield Cells(f"{where}, sheet '{name}'" if name else where, "row", numbered, bool(name))
    else:
        content = read_bounded(path, largest, what, RobotError)
        encoding, notes = encoding_of(content, where, RobotError)
        try:
            text = content.decode(encoding, "replace" if encoding == "cp1252" else "strict")
        except UnicodeDecodeError:
            raise RobotError(f"{where}: this is not a text file; save the table as CSV in UTF-8") from None
        yield from tables_in_text(text, where, notes)


def tables_in_text(text: str, where: str, notes: tuple[str, ...] = ()) -> Iterator[Cells]:
    """The possible tables in a text, most likely first."""
    for delimiter in DELIMITERS:
        if delimiter in text:
            yield Cells(where, "line", tuple(_split(text, delimiter, where)), delimiter != ",", notes)


def encoding_of(start: bytes, where: str, error: type[DalembertError]) -> tuple[str, tuple[str, ...]]:
    """The encoding of a text from its first bytes, and a note if it is neither UTF-8 nor UTF-16."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16", ()
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        if b"\0" in start:
            raise error(f"{where}: this is not a text file; save the table as CSV in UTF-8") from None
        return "cp1252", ("the file is not UTF-8; it was read as Windows-1252",)
    return "utf-8-sig", ()


def _split(text: str, delimiter: str, where: str) -> Iterator[Row]:
    """The rows of a text."""
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, skipinitialspace=True)
    count = 0
    try:
        for cells in reader:
            count += len(cells)
            at_most(TABLE_CELLS, count, "cells", where)
            yield reader.line_num, tuple(cell.strip() for cell in cells)
    except csv.Error as problem:  # a cell of 131072 characters, a zero byte
        raise RobotError(f"{where}, line {reader.line_num}: this is not a line of a table ({problem})") from None


# -- readers in the helper process -----------------------------------------------------------------


def sheets(where: str, largest: int, most: int, error: type[DalembertError]) -> list[tuple[str, list[list[str]]]]:
    """(name, rows of cells) of the sheets of a workbook with at most ``most`` cells; a Parquet file is one without name."""
    with open_bounded(where, largest, "table", error):  # a regular file of admissible size
        from dalembert.base.files.reader_process import ask  # starts processes

        reader = READERS[os.path.splitext(where)[1].lower()]
        plain, _ = ask(
            f"{__name__}:read_sheets", {"path": where, "most": most}, where=where, reader=reader, error=error
        )
        return [(name, rows) for name, rows in plain]


def read_sheets(path: str, most: int) -> tuple[list[tuple[str, list[list[str]]]], dict[str, Any]]:
    """The sheets of a file with their cells as text; runs in the helper process."""
    read = _parquet if path.lower().endswith(".parquet") else _workbook
    return [(name, [[_text(cell) for cell in row] for row in rows]) for name, rows in read(path, most)], {}


def _workbook(path: str, most: int) -> Iterator[tuple[str, Iterable[Iterable[Any]]]]:
    with extra("spreadsheet", f"{path}: a spreadsheet"):
        from python_calamine import CalamineError, CalamineWorkbook
    try:
        book, count = CalamineWorkbook.from_path(path), 0
        for name in book.sheet_names:
            rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False, nrows=most)
            count += sum(map(len, rows))
            at_most(most, count, "cells", path)
            yield name, rows
    except CalamineError as problem:
        raise RobotError(f"{path}: this is not a readable spreadsheet ({problem})") from None


def _parquet(path: str, most: int) -> Iterator[tuple[str, Iterable[Iterable[Any]]]]:
    with extra("logs", f"{path}: a Parquet file"):
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    try:
        with ParquetFile(path) as file:
            names = file.schema_arrow.names
            at_most(most, (file.metadata.num_rows + 1) * len(names), "cells", path)
            yield "", [names, *zip(*(column.to_pylist() for column in file.read().columns), strict=True)]
    except (ArrowException, OSError, ValueError) as problem:
        raise RobotError(f"{path}: this is not a Parquet file ({reason(problem)})") from None


def _text(cell: Any) -> str:
    """A cell as a person would type it; numbers to the last bit."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell).strip()
