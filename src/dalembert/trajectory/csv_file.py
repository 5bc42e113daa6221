"""Motions and torques in CSV files: a header of names, then one line for each instant.

The columns are t (s), q1 … (rad; m where a joint slides), qd1 … (rad/s), qdd1 … (rad/s²) and tau1 … (N m; N).
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import SEEK_END, TextIOWrapper
from itertools import chain
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError, ShapeError
from dalembert.files import line_blocks, open_bounded
from dalembert.robot.tables import nearest, shown
from dalembert.trajectory.trajectory import Trajectory

Array = NDArray[np.floating[Any]]
Progress = Callable[[float], None]

CHUNK = 1 << 15  # lines read or written at a time
LARGEST_FILE = 16 << 30  # bytes
MOST_NUMBERS = 1 << 28  # in the columns that are read: 2 GiB as float64
GROUPS = ("q", "qd", "qdd")
Line = tuple[int, str]  # its number, what it says
_COLUMN = re.compile(r"(q|qd|qdd|tau)([1-9][0-9]{0,3})")


@dataclass(frozen=True)
class MotionTable:
    """The motion in a file: t (N,) in s, and q, qd, qdd (N, n).

    reconstructed  the groups (qd, qdd) that the file does not have and that were made from the others
    ignored        the columns that were not read
    tau            (N, n), if it was asked for and is there
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    ignored: tuple[str, ...] = ()
    reconstructed: tuple[str, ...] = ()
    tau: Array | None = None


def read_motion(
    path: str | os.PathLike[str],
    n: int | None = None,
    arm: str | None = None,
    progress: Progress | None = None,
    *,
    torques: bool = False,
    strict: bool = False,
    cutoff: float | None = None,
) -> MotionTable:
    """Read the columns t, q1 … qn, qd1 … qdn, qdd1 … qddn, in any order, of a file for ``arm``.

    The group qd or qdd may be missing whole: it is made from the others without phase shift
    (:func:`dalembert.trajectory.splines.reconstructed`, which also explains ``cutoff``). Everything else
    that is wrong is one sentence with the file, the line and the column.

    n         how many joints; as many as the file has columns q1 … unless given
    progress  is told the fraction read
    torques   read tau1 … taun too, where they are there; otherwise they are known and ignored
    strict    every instant must be later than the one before, not the same
    """
    try:
        with (
            open_bounded(path, LARGEST_FILE, "motion") as raw,
            TextIOWrapper(raw, encoding="utf-8-sig") as file,
        ):
            size = raw.seek(0, SEEK_END)
            raw.seek(0)
            blocks = line_blocks(file, path, CHUNK)
            names, rows = _header(path, blocks)
            n, groups = _groups(path, names, n, arm, torques)
            at = {name: k for k, name in enumerate(names)}
            wanted = [at[name] for name in ["t", *(f"{g}{k + 1}" for g in groups for k in range(n))]]
            missing = tuple(group for group in GROUPS if group not in groups)
            parts, count = [], 0
            for part in _rows(path, chain([rows], blocks), names, wanted, strict or bool(missing)):
                parts.append(part)
                count += part.size
                if count > MOST_NUMBERS:
                    raise DalembertError(f"{path}: the motion has more than {MOST_NUMBERS} numbers; no more are read")
                if progress is not None and size:
                    progress(min(1.0, raw.tell() / size))
    except UnicodeDecodeError:
        raise DalembertError(f"{path}: this is not a text file in UTF-8, so no CSV can be read from it") from None
    except OSError as error:
        raise DalembertError(f"{path}: the file cannot be read ({error.strerror})") from None
    if not parts:
        raise DalembertError(f"{path}: the file has a header but no rows")
    table = np.concatenate(parts)
    t, found = table[:, 0], {g: table[:, 1 + k * n : 1 + (k + 1) * n] for k, g in enumerate(groups)}
    if missing:
        _complete(path, t, found, cutoff)
    used = set(wanted)
    ignored = tuple(name for k, name in enumerate(names) if k not in used)
    return MotionTable(t, found["q"], found["qd"], found["qdd"], ignored, missing, found.get("tau"))


def read_trajectory(path: str | os.PathLike[str], arm: Arm | None = None, *, cutoff: float | None = None) -> Trajectory:
    """The motion in a CSV file with a header t, q1, …, qd1, …, qdd1, … (docs/trajectories.md).

    Missing velocities or accelerations are made from what is there, without phase shift; ``cutoff``
    (Hz) smooths what they are made from. At the file's instants the motion has the file's values,
    between them quintic pieces; it begins at 0, which is the file's first instant. With ``arm`` the
    number of joints is checked. Columns tau1, … are not part of a motion and are left aside.

    >>> import tempfile, dalembert as da
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     da.polynomial([0.0], [1.0], duration=2.0).save(f"{folder}/motion.csv")
    ...     read_trajectory(f"{folder}/motion.csv").duration
    2.0
    """
    from dalembert.trajectory.splines import Quintics

    name, n = (arm.name, arm.n) if arm is not None else (None, None)
    table = read_motion(path, n, name, strict=True, cutoff=cutoff)
    if len(table.t) < 2:
        raise DalembertError(f"{path}: a motion needs at least two rows, and the file has one")
    t = table.t - table.t[0]
    return Trajectory(float(t[-1]), table.q.shape[1], Quintics(t, table.q, table.qd, table.qdd), sampled_at=t)


def _complete(path: Any, t: Array, found: dict[str, Array], cutoff: float | None) -> None:
    """Make the groups that are missing: qd from q; qdd from qd, or from q where qd is missing too."""
    from dalembert.trajectory.splines import reconstructed

    try:
        if "qd" not in found:
            found["qd"], second = reconstructed(t, found["q"], cutoff)
            found.setdefault("qdd", second)
        else:
            found["qdd"] = reconstructed(t, found["qd"], cutoff)[0]
    except DalembertError as error:
        missing = " and ".join(f"{group}1 …" for group in GROUPS if group not in found)
        raise DalembertError(f"{path}: the columns {missing} are missing and cannot be made: {error}") from None


def write_table(file: TextIO, names: Sequence[str], columns: Sequence[Array], progress: Progress | None = None) -> None:
    """Write the columns ((N,) or (N, k) each) under their names, every number to the last bit."""
    count = len(columns[0])
    file.write(",".join(names) + "\n")
    for start in range(0, count, CHUNK):
        part = np.column_stack([column[start : start + CHUNK] for column in columns])
        file.writelines(",".join(map(repr, row)) + "\n" for row in part.tolist())
        if progress is not None:
            progress(min(1.0, (start + CHUNK) / count))


def _header(path: Any, blocks: Iterator[list[Line]]) -> tuple[list[str], list[Line]]:
    """The column names, and the lines behind them in their block."""
    for block in blocks:
        for k, (number, line) in enumerate(block):
            text = line.strip().removeprefix("#").strip()  # np.savetxt puts a # before its header
            if text:
                return _names(path, number, text), block[k + 1 :]
    raise DalembertError(f"{path}: the file is empty; it needs a header t, q1, … and rows")


def _names(path: Any, number: int, text: str) -> list[str]:
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
    return names


def _groups(path: Any, names: list[str], n: int | None, arm: str | None, torques: bool) -> tuple[int, list[str]]:
    """How many joints the file is for and which groups of columns it has, or a sentence about the columns at fault."""
    counts = {group: _joints(names, group) for group in (*GROUPS, "tau")}
    owner = f"arm '{arm}'" if arm else "the motion"
    whose = f"{owner} has {n} joint{'s' if n != 1 else ''}"
    if n is None:
        n = max(len(counts["q"]), 1)
        whose = f"q has {n} column{'s' if n != 1 else ''}"
    columns = f"t, q1 … q{n}, qd1 … qd{n}, qdd1 … qdd{n}" if n > 1 else "t, q1, qd1, qdd1"
    unknown = [name for name in names if name != "t" and not _COLUMN.fullmatch(name)]
    if unknown:
        if len(unknown) == 1 and not unknown[0]:
            raise DalembertError(f"{path}: column {names.index('') + 1} has no name; known columns are {columns}")
        plural = "s" if len(unknown) > 1 else ""
        known = ["t", *(f"{group}{k}" for group in GROUPS for k in range(1, n + 1))]
        raise DalembertError(
            f"{path}: unknown column{plural} {_listed([shown(x) for x in unknown])}; known are {columns}"
            f"{nearest(unknown[0], known)}"
        )
    double = [name for name, times in Counter(names).items() if times > 1]
    if double:
        raise DalembertError(f"{path}: the column {_listed(double)} stands in the header more than once")
    wanted = (*GROUPS, "tau") if torques else GROUPS
    for group in wanted:
        numbers = counts[group]
        if numbers and numbers == list(range(1, len(numbers) + 1)) and len(numbers) != n:
            raise ShapeError(
                f"{path}: its columns give {group} the shape (…, {len(numbers)}), but {whose}: "
                f"{group} must have the shape (…, {n})"
            )
    groups = [group for group in wanted if counts[group] or group == "q"]
    needed = ["t", *(f"{group}{k}" for group in groups for k in range(1, n + 1))]
    there = set(names)
    missing = [name for name in needed if name not in there]
    if missing:
        verb, plural = ("is", "") if len(missing) == 1 else ("are", "s")
        raise DalembertError(
            f"{path}: the column{plural} {_listed(missing)} {verb} missing; needed are {columns} "
            "(qd or qdd may be left out whole)"
        )
    beyond = [f"{group}{k}" for group in wanted for k in counts[group] if k > n]
    if beyond:
        raise DalembertError(f"{path}: {whose}, so there can be no column {_listed(beyond)}")
    return n, groups


def _joints(names: list[str], group: str) -> list[int]:
    return sorted(int(found[2]) for name in names if (found := _COLUMN.fullmatch(name)) and found[1] == group)


def _listed(words: list[str], most: int = 8) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def _rows(
    path: Any, blocks: Iterable[list[Line]], names: list[str], wanted: list[int], strict: bool
) -> Iterator[Array]:
    """The wanted columns, a block of lines at a time; ``strict``: no instant twice."""
    first = ",".join("0" * len(names))  # tells loadtxt how many cells a row has
    before = -np.inf
    for block in blocks:
        rows = [(number, text) for number, text in block if not text.isspace()]
        try:
            part = np.loadtxt(
                [first, *(text for _, text in rows)], delimiter=",", comments=None, ndmin=2, quotechar='"'
            )
        except ValueError as error:
            raise DalembertError(_bad_cell(path, rows, names, str(error))) from None
        if len(part) != len(rows) + 1:
            raise DalembertError(_bad_cell(path, rows, names, "a quote takes several lines for one"))
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
        steps = np.diff(t, prepend=before)
        falls = np.flatnonzero(steps <= 0 if strict else steps < 0)
        if len(falls):
            row = falls[0]
            earlier = t[row - 1] if row else before
            if earlier == t[row]:
                raise DalembertError(
                    f"{path}, line {rows[row][0]}, column 't': the instant {t[row]:g} s is there twice"
                )
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
