"""The cells of a table in a text file or a spreadsheet, as text, with their row numbers.

Text may be delimited by semicolons, tabs, commas or vertical bars, may have a byte order mark, and may be encoded in
UTF-8, UTF-16 or Windows-1252, as exported by spreadsheet programs. Workbooks (.xlsx, .xls, .xlsb, .ods) are read by
Calamine.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dalembert.environment.extras import extra
from dalembert.errors import RobotError
from dalembert.files import open_bounded, read_bounded
from dalembert.robot.bounds import TABLE_BYTES, TABLE_CELLS, at_most

TEXT_TABLES = (".csv", ".tsv")
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
DELIMITERS = (";", "\t", ",", "|")


@dataclass(frozen=True)
class Cells:
    """One interpretation of a file as a table: a sheet of a workbook, or a text split at one delimiter.

    where  beginning of messages about it;  row_word  word for its rows in messages
    rows   (number from 1, cells) of all rows, including blank ones
    comma  whether a comma in a cell is a decimal separator
    """

    where: str
    row_word: str
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    comma: bool
    notes: tuple[str, ...] = ()


def tables_in(path: str | os.PathLike[str]) -> Iterator[Cells]:
    """The possible tables in a file, most likely first."""
    where = os.fspath(path)
    if where.lower().endswith(WORKBOOKS):
        yield from _sheets(where)
        return
    text, notes = _decoded(read_bounded(path, TABLE_BYTES, "table", RobotError), where)
    for delimiter in DELIMITERS:
        if delimiter in text:
            yield Cells(where, "line", tuple(_split(text, delimiter, where)), delimiter != ",", notes)


def _decoded(content: bytes, where: str) -> tuple[str, tuple[str, ...]]:
    """The text, and a note if it is not encoded in UTF-8."""
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        return content.decode("utf-16" if wide else "utf-8-sig"), ()
    except UnicodeDecodeError:
        if wide or b"\0" in content:
            raise RobotError(f"{where}: this is not a text file; save the table as CSV in UTF-8") from None
    return content.decode("cp1252", "replace"), ("the file is not UTF-8; it was read as Windows-1252",)


def _split(text: str, delimiter: str, where: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The rows of a text."""
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, skipinitialspace=True)
    count = 0
    try:
        for cells in reader:
            count += len(cells)
            at_most(TABLE_CELLS, count, "cells", where)
            yield reader.line_num, tuple(cell.strip() for cell in cells)
    except csv.Error as problem:
        raise RobotError(f"{where}, line {reader.line_num}: this is not a line of a table ({problem})") from None


def _sheets(where: str) -> Iterator[Cells]:
    with open_bounded(where, TABLE_BYTES, "table", RobotError):  # a regular file of admissible size
        from dalembert.files.foreign import ask  # starts processes

        plain, _ = ask(
            "dalembert.robot.table_cells:workbook", {"path": where}, where=where, reader="Calamine", error=RobotError
        )
    for name, rows in plain:
        numbered = tuple((number, tuple(cells)) for number, cells in enumerate(rows, 1))
        yield Cells(f"{where}, sheet '{name}'", "row", numbered, True)


def workbook(path: str) -> tuple[list[tuple[str, list[list[str]]]], dict[str, Any]]:
    """The sheets of a workbook as (name, rows of cells as text); runs in the helper process."""
    with extra("spreadsheet", f"{path}: a spreadsheet"):
        from python_calamine import CalamineError, CalamineWorkbook
    try:
        book = CalamineWorkbook.from_path(path)
        sheets, count = [], 0
        for name in book.sheet_names:
            rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False, nrows=TABLE_CELLS)
            count += sum(map(len, rows))
            at_most(TABLE_CELLS, count, "cells", path)
            sheets.append((name, [[_text(cell) for cell in row] for row in rows]))
    except CalamineError as problem:
        raise RobotError(f"{path}: this is not a readable spreadsheet ({problem})") from None
    return sheets, {}


def _text(cell: Any) -> str:
    """A cell as a person would type it; numbers to the last bit."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return repr(cell) if isinstance(cell, float) else str(cell).strip()
