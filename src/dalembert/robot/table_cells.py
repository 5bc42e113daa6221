"""The cells of a table in a text file or a spreadsheet, as text, with the numbers of their rows.

Text may have semicolons, tabs, commas or bars between its cells, a byte order mark, and letters of UTF-8, UTF-16 or
Windows-1252, as spreadsheet programs export it. Workbooks (.xlsx, .xls, .xlsb, .ods) are read by Calamine.
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
    """One way to see a file as a table: a sheet of a workbook, or a text cut at one delimiter.

    where  how a sentence begins that is about it;  row_word  what its rows are called there
    rows   (number from 1, cells) of all rows, blank ones too
    comma  whether a comma in a cell is a decimal point
    """

    where: str
    row_word: str
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    comma: bool
    notes: tuple[str, ...] = ()


def tables_in(path: str | os.PathLike[str]) -> Iterator[Cells]:
    """The tables that a file may hold, the likeliest first."""
    where = os.fspath(path)
    if where.lower().endswith(WORKBOOKS):
        yield from _sheets(where)
        return
    text, notes = _decoded(read_bounded(path, TABLE_BYTES, "table", RobotError), where)
    for delimiter in DELIMITERS:
        if delimiter in text:
            yield Cells(where, "line", tuple(_split(text, delimiter, where)), delimiter != ",", notes)


def _decoded(content: bytes, where: str) -> tuple[str, tuple[str, ...]]:
    """The text, and a note where its letters are not those of UTF-8."""
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        return content.decode("utf-16" if wide else "utf-8-sig"), ()
    except UnicodeDecodeError:
        if wide or b"\0" in content:
            raise RobotError(f"{where}: this is not a text file; save the table as CSV in UTF-8") from None
    return content.decode("cp1252", "replace"), ("the file is not UTF-8; its letters were read as Windows-1252",)


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
        raise RobotError(f"{where}, line {reader.line_num}: this is no line of a table ({problem})") from None


def _sheets(where: str) -> Iterator[Cells]:
    with open_bounded(where, TABLE_BYTES, "table", RobotError):  # a file, and one of a size that a table has
        from dalembert.files.foreign import ask  # which starts processes

        plain, _ = ask(
            "dalembert.robot.table_cells:workbook", {"path": where}, where=where, reader="Calamine", error=RobotError
        )
    for name, rows in plain:
        numbered = tuple((number, tuple(cells)) for number, cells in enumerate(rows, 1))
        yield Cells(f"{where}, sheet '{name}'", "row", numbered, True)


def workbook(path: str) -> tuple[list[tuple[str, list[list[str]]]], dict[str, Any]]:
    """The sheets of a workbook, (name, rows of cells as text) each; run in the helper process."""
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
        raise RobotError(f"{path}: this is not a spreadsheet that can be read ({problem})") from None
    return sheets, {}


def _text(cell: Any) -> str:
    """A cell as a person would have typed it; numbers to the last bit."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return repr(cell) if isinstance(cell, float) else str(cell).strip()
