"""Motions and torques in CSV files: a header of names, then one line for each instant."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import DalembertError, ShapeError
from dalembert.robot.tables import nearest, shown

Array = NDArray[np.float64]
Progress = Callable[[float], None]

CHUNK = 1 << 15  # lines read or written at a time
LONGEST_HEADER = 1 << 20  # characters; more is no table
GROUPS = ("q", "qd", "qdd")
_COLUMN = re.compile(r"(q|qd|qdd|tau)([1-9][0-9]{0,3})")


@dataclass(frozen=True)
class MotionTable:
    """The motion in a file: t (N,) in s, and q, qd, qdd (N, n). ``ignored`` columns were not read."""

    t: Array
    q: Array
    qd: Array
    qdd: Array
    ignored: tuple[str, ...] = ()


def read_motion(path: str | os.PathLike[str], n: int, arm: str, progress: Progress | None = None) -> MotionTable:
    """Read the columns t, q1 … qn, qd1 … qdn, qdd1 … qddn, in any order, of a file for ``arm``.

    Columns tau1 … are known and ignored. Everything else that is wrong is one sentence with the
    file, the line and the column. ``progress`` is told the fraction read.
    """
    try:
        size = os.stat(path).st_size
        with open(path, "rb") as raw, TextIOWrapper(raw, encoding="utf-8-sig") as file:
            names, line = _header(path, file)
            wanted = _wanted(path, names, n, arm)
            parts = []
            for part in _rows(path, file, names, line, wanted):
                parts.append(part)
                if progress is not None and size:
                    progress(min(1.0, raw.tell() / size))
    except UnicodeDecodeError:
        raise DalembertError(f"{path}: this is not a text file in UTF-8, so no CSV can be read from it") from None
    except OSError as error:
        raise DalembertError(f"{path}: the file cannot be read ({error.strerror})") from None
    if not parts:
        raise DalembertError(f"{path}: the file has a header but no rows")
    table = np.concatenate(parts)
    q, qd, qdd = (table[:, 1 + k * n : 1 + (k + 1) * n] for k in range(3))
    used = set(wanted)
    return MotionTable(table[:, 0], q, qd, qdd, tuple(name for k, name in enumerate(names) if k not in used))


def write_table(file: TextIO, names: Sequence[str], columns: Sequence[Array], progress: Progress | None = None) -> None:
    """Write the columns ((N,) or (N, k) each) under their names, every number to the last bit."""
    count = len(columns[0])
    file.write(",".join(names) + "\n")
    for start in range(0, count, CHUNK):
        part = np.column_stack([column[start : start + CHUNK] for column in columns])
        file.writelines(",".join(map(repr, row)) + "\n" for row in part.tolist())
        if progress is not None:
            progress(min(1.0, (start + CHUNK) / count))


def _header(path: Any, file: TextIO) -> tuple[list[str], int]:
    """The column names, and the number of the line they stand on."""
    text, number = "", 0
    while not text:
        line = file.readline(LONGEST_HEADER)
        if len(line) == LONGEST_HEADER:
            raise DalembertError(f"{path}: the first line has no end, so this is no CSV file")
        if not line:
            raise DalembertError(f"{path}: the file is empty; it needs a header t, q1, … and rows")
        text, number = line.strip().removeprefix("#").strip(), number + 1  # np.savetxt puts a # before its header
    for separator, word in ((";", "semicolons"), ("\t", "tabs")):
        if separator in text and "," not in text:
            raise DalembertError(f"{path}: the columns are separated by {word}; separate them by commas")
    try:
        names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]
    except csv.Error as error:
        raise DalembertError(f"{path}: the header is no line of a CSV file ({error})") from None
    if any(_is_number(name) for name in names):
        raise DalembertError(
            f"{path}, line {number}: the file has no header; its first line must name the columns t, q1, …"
        )
    return names, number


def _wanted(path: Any, names: list[str], n: int, arm: str) -> list[int]:
    """Where t, q, qd and qdd stand among the columns, or a sentence that names the columns at fault."""
    known = ["t", *(f"{group}{k}" for group in GROUPS for k in range(1, n + 1))]
    columns = f"t, q1 … q{n}, qd1 … qd{n}, qdd1 … qdd{n}" if n > 1 else "t, q1, qd1, qdd1"
    unknown = [name for name in names if name != "t" and not _COLUMN.fullmatch(name)]
    if unknown:
        if len(unknown) == 1 and not unknown[0]:
            raise DalembertError(f"{path}: column {names.index('') + 1} has no name; known columns are {columns}")
        plural = "s" if len(unknown) > 1 else ""
        raise DalembertError(
            f"{path}: unknown column{plural} {_listed([shown(x) for x in unknown])}; known are {columns}"
            f"{nearest(unknown[0], known)}"
        )
    double = [name for name, times in Counter(names).items() if times > 1]
    if double:
        raise DalembertError(f"{path}: the column {_listed(double)} stands in the header more than once")
    counts = {group: _joints(names, group) for group in GROUPS}
    for group, numbers in counts.items():
        if numbers and numbers == list(range(1, len(numbers) + 1)) and len(numbers) != n:
            raise ShapeError(
                f"{path}: its columns give {group} the shape (…, {len(numbers)}), but arm '{arm}' has {n} "
                f"joint{'s' if n > 1 else ''}: {group} must have the shape (…, {n})"
            )
    column_of = {name: k for k, name in enumerate(names)}
    missing = [name for name in known if name not in column_of]
    if missing:
        verb, plural = ("is", "") if len(missing) == 1 else ("are", "s")
        raise DalembertError(f"{path}: the column{plural} {_listed(missing)} {verb} missing; needed are {columns}")
    beyond = [name for name in names if (found := _COLUMN.fullmatch(name)) and int(found[2]) > n and found[1] != "tau"]
    if beyond:
        raise DalembertError(f"{path}: arm '{arm}' has {n} joints, so there can be no column {_listed(beyond)}")
    return [column_of[name] for name in known]


def _joints(names: list[str], group: str) -> list[int]:
    return sorted(int(found[2]) for name in names if (found := _COLUMN.fullmatch(name)) and found[1] == group)


def _listed(words: list[str], most: int = 8) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def _rows(path: Any, file: Iterable[str], names: list[str], header_line: int, wanted: list[int]) -> Iterator[Array]:
    """The wanted columns, a chunk of lines at a time."""
    first = ",".join("0" * len(names))  # tells loadtxt how many cells a row has
    lines = enumerate(file, header_line + 1)
    before = -np.inf
    while chunk := list(islice(lines, CHUNK)):
        rows = [(number, text) for number, text in chunk if not text.isspace()]
        try:
            part = np.loadtxt(
                [first, *(text for _, text in rows)], delimiter=",", comments=None, ndmin=2, quotechar='"'
            )
        except ValueError as error:
            raise DalembertError(_bad_cell(path, rows, names, str(error))) from None
        part = part[1:, wanted]
        bad = np.argwhere(~np.isfinite(part))
        if len(bad):
            row, column = bad[0]
            value = "NaN" if np.isnan(part[row, column]) else "infinite"
            raise DalembertError(
                f"{path}, line {rows[row][0]}, column '{names[wanted[column]]}': "
                f"the value is {value}; it must be a finite number"
            )
        t = part[:, 0]
        falls = np.flatnonzero(np.diff(t, prepend=before) < 0)
        if len(falls):
            row = falls[0]
            earlier = t[row - 1] if row else before
            raise DalembertError(
                f"{path}, line {rows[row][0]}, column 't': time goes backwards, from {earlier:g} to {t[row]:g} s"
            )
        if len(part):
            before = t[-1]
            yield part


def _bad_cell(path: Any, rows: list[tuple[int, str]], names: list[str], reason: str) -> str:
    """The sentence for the first cell that is no number, or the first row of the wrong length."""
    for number, text in rows:
        try:
            cells = next(csv.reader([text], skipinitialspace=True))
        except csv.Error as error:
            return f"{path}, line {number}: this is no line of a CSV file ({error})"
        if len(cells) != len(names):
            return (
                f"{path}, line {number}: the row has {len(cells)} value{'s' if len(cells) != 1 else ''}, "
                f"but the header has {len(names)} columns"
            )
        for name, cell in zip(names, cells, strict=True):
            if not _is_number(cell):
                what = f"{shown(cell)} is not a number" if cell.strip() else "the cell is empty"
                return f"{path}, line {number}, column '{name}': {what}"
    return f"{path}, lines {rows[0][0]} to {rows[-1][0]}: the rows cannot be read ({reason})"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
