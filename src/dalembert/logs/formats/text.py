"""Tables in text: comma, semicolon, tab or blanks between; with a header or without; a block of lines at a time."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import DalembertError
from dalembert.files import line_blocks, open_bounded
from dalembert.logs.formats.raw import LARGEST_FILE, Raw, Request, check_names, check_size, listed, tabled

Array = NDArray[np.float64]
Line = tuple[int, str]  # its number, what it says

QUICK = 10_000_000  # bytes: a file so large is worth the reader of pyarrow, where that is installed
LINES = 20_000  # read at a time, so that a long file is never in memory as text
EMPTY = ("", "nan", "-nan", "na", "n/a", "#n/a", "null", "none", "-", "--", "?", "-nan(ind)", "1.#qnan", "-1.#ind")
ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?")
COMMENT = ("#", "%", "//")


def read_text(path: Path, request: Request) -> Raw:
    """A table of numbers in a text file."""
    with open_bounded(path, LARGEST_FILE, "log") as binary:
        size = binary.seek(0, io.SEEK_END)
        binary.seek(0)
        start = binary.read(2)
        binary.seek(0)
        if not size:
            raise DalembertError(f"{path}: the file is empty")
        encoding = "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        file = io.TextIOWrapper(binary, encoding=encoding)
        try:
            return _read(path, file, request, size, lambda: binary.tell() / size)
        except UnicodeDecodeError:
            raise DalembertError(
                f"{path}: this is not a text file in UTF-8, so no table can be read from it; save it as UTF-8"
            ) from None


def _read(path: Path, file: io.TextIOWrapper, request: Request, size: int, done: Callable[[], float]) -> Raw:
    blocks = _blocks(file, path)
    comment, rows = "", list[Line]()
    for block in blocks:
        told = [(number, line) for number, line in block if not line.lstrip().startswith(COMMENT)]
        first = told[0][0] if told else block[-1][0] + 1
        comment = next((line for number, line in reversed(block) if number < first), comment)
        if told:
            rows = [one for one in block if one[0] >= first]
            break
    if not rows:
        raise DalembertError(f"{path}: the file has no rows")
    head = rows[0][1]
    table = _Table(path, head, size > QUICK)
    names = table.split(*rows[0])
    if headed := not _is_row(names):
        rows = rows[1:] or next(blocks, [])
        if not rows:
            raise DalembertError(f"{path}: the file has a header but no rows")
    else:
        described = table.split(0, comment.strip().lstrip("#%/").strip()) if comment else []
        if len(described) == len(names) and not _is_row(described):
            names, headed = described, True  # as numpy.savetxt writes it: # t q1 q2
        else:
            names = [str(k) for k in range(len(names))]
    check_names(str(path), names)
    names = table.settle(names, *rows[0])
    parts, count = [], 0
    for block in chain([rows], blocks):
        parts.append(table.block(block))
        count += parts[-1].size
        check_size(f"{path}: the table", count)
        request.progress(min(1.0, done()))
    whole = np.concatenate(parts) if len(parts) > 1 else parts[0]
    if not len(whole):
        raise DalembertError(f"{path}: the file has no row that is whole")
    if table.short is not None:
        number, count = table.short
        table.notes.append(f"{path}: the last row, line {number}, is cut off after {count} values and was dropped")
    if headed:
        raw = tabled(str(path), names, whole, request.joints, table.faults, table.words)
    else:
        raw = Raw(str(path), table=whole, headed=False)
    raw.notes += table.notes
    texts = [names[k] for k in table.faults if names[k]]
    if texts and headed:
        raw.notes.append(f"{path}: the columns {listed(texts)} hold text and are left out")
    return raw


def _blocks(file: io.TextIOWrapper, path: Path) -> Iterator[list[Line]]:
    """Lines that are not blank, with their numbers, a block at a time."""
    for block in line_blocks(file, path, LINES):
        if lines := [one for one in block if not one[1].isspace()]:
            yield lines


def _is_row(cells: list[str]) -> bool:
    """Whether a line is of numbers, most of it; a header is of words."""
    told = [cell for cell in cells if cell.strip().lower() not in EMPTY]
    return 2 * sum(_plain(cell) or bool(ISO.fullmatch(cell)) for cell in told) > len(told)


def _plain(cell: str) -> bool:
    """Whether a cell is a number, or empty."""
    word = cell.strip().lower()
    if word in EMPTY:
        return True
    try:
        float(word.replace(",", "."))
    except ValueError:
        return False
    return True


class _Table:
    """How the file is written, and the columns that hold no numbers."""

    def __init__(self, path: Path, head: str, large: bool) -> None:
        self.path, self.large = path, large
        self.delimiter = next((d for d in ";\t," if d in head), None)
        self.faults: dict[int, str] = {}
        self.words: dict[int, str] = {}
        self.notes: list[str] = []
        self.decimal_comma = self.trailing = False
        self.dates: set[int] = set()
        self.width = 0
        self.short: tuple[int, int] | None = None

    def split(self, number: int, line: str) -> list[str]:
        """The cells of a line."""
        if self.delimiter is None:
            return line.split()
        try:
            cells = next(csv.reader([line.strip("\r\n")], delimiter=self.delimiter), [])
        except csv.Error as error:
            raise DalembertError(f"{self.path}, line {number}: this is no line of a table ({error})") from None
        return [cell.strip() for cell in cells]

    def settle(self, names: list[str], number: int, line: str) -> list[str]:
        """The columns' names, after a look at the first row of numbers."""
        cells = self.split(number, line)
        if len(names) == len(cells) and names and not names[-1] and not cells[-1]:
            names, self.trailing = names[:-1], True  # every line ends with a comma
        elif len(cells) == len(names) + 1 and not cells[-1]:
            self.trailing = True
        self.width = len(names)
        if self.trailing:
            cells = cells[:-1]
        if self.width < 2:
            raise DalembertError(
                f"{self.path}: this is no table: its first line has no comma, semicolon, tab or blank between columns"
            )
        if len(cells) != self.width:
            raise DalembertError(
                f"{self.path}: the rows have {len(cells)} values, but the header has {self.width} columns; a line before the "
                "header must begin with # or %"
            )
        self.decimal_comma = self.delimiter != "," and any("," in cell for cell in cells)
        if self.decimal_comma:
            self.notes.append(f"{self.path}: commas in numbers are taken as decimal points")
        self.dates = {k for k, cell in enumerate(cells) if ISO.fullmatch(cell)}
        for k, cell in enumerate(cells):
            if not _plain(cell) and k not in self.dates:
                self._odd(number, k, cell)
                self.words[k] = cell
        return names

    def block(self, lines: list[Line]) -> Array:
        """A block of lines as numbers; cells that are empty are NaN, and text marks its column."""
        rows = [line for _, line in lines]
        if rows and self.short is not None:
            self._uneven(*self.short)
        if self.decimal_comma:
            rows = [row.replace(",", ".") for row in rows]
        if self.trailing:
            rows = [row.rstrip().removesuffix(self.delimiter or " ") for row in rows]
        quick = self._quickly(rows) if self.large and not self.dates and not self.faults else None
        if quick is not None:
            return quick
        odd = dict.fromkeys(self.dates, _seconds) | {k: lambda cell: np.nan for k in self.faults}
        try:
            made = np.loadtxt(
                rows,
                delimiter=self.delimiter,
                comments=None,
                ndmin=2,
                quotechar='"',
                converters=odd or None,
                encoding=None,
            )
        except ValueError:
            pass  # something in it is no number: cell by cell, then
        else:
            if made.shape == (len(rows), self.width):  # an open quote takes several lines for one
                return made
        return self._slowly([k for k, _ in lines], rows)

    def _quickly(self, rows: list[str]) -> Array | None:
        """The same as below by pyarrow, four times as fast; None if that is not here, or finds something odd."""
        try:
            from pyarrow import ArrowInvalid, csv, float64
        except ImportError:
            return None
        if self.delimiter is None:
            return None
        names = [str(k) for k in range(self.width)]
        try:
            read = csv.read_csv(
                io.BytesIO("".join(row if row.endswith("\n") else row + "\n" for row in rows).encode()),
                csv.ReadOptions(column_names=names, block_size=1 << 30),
                csv.ParseOptions(delimiter=self.delimiter),
                csv.ConvertOptions(column_types=dict.fromkeys(names, float64()), null_values=[""]),
            )
        except ArrowInvalid:
            return None
        if read.num_rows != len(rows):
            return None
        return np.column_stack([read.column(name).to_numpy() for name in names])

    def _slowly(self, numbers: list[int], rows: list[str]) -> Array:
        made = np.empty((len(rows), self.width))
        kept = 0
        for number, row in zip(numbers, rows, strict=True):
            if self.short is not None:
                self._uneven(*self.short)
            cells = self.split(number, row)
            if len(cells) != self.width:
                self.short = number, len(cells)
                if len(cells) > self.width:
                    self._uneven(*self.short)
                continue  # the last line of a file may be cut off; any other may not
            for j, cell in enumerate(cells):
                try:
                    made[kept, j] = float(cell)
                except ValueError:
                    made[kept, j] = self._odd(number, j, cell)
            kept += 1
        return made[:kept]

    def _odd(self, line: int, column: int, cell: str) -> float:
        """What a cell that is no number stands for."""
        if cell.lower() in EMPTY:
            return np.nan
        what = "a number"
        if ISO.fullmatch(cell):
            what = "a time that exists"
            try:
                return _seconds(cell)
            except ValueError:
                pass
        words = f"{self.path}, line {line}, column {column + 1}: '{cell:.40}' is not {what}"
        self.faults.setdefault(column, words)
        return np.nan

    def _uneven(self, line: int, count: int) -> None:
        raise DalembertError(
            f"{self.path}, line {line}: the row has {count} values, but the header has {self.width} columns"
        )


def _seconds(cell: str) -> float:
    """Seconds since 1970 of an ISO 8601 stamp; UTC where it does not say."""
    then = datetime.fromisoformat(cell)
    return (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp()
