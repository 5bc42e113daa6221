"""Files of named columns: the suffix states the format, for writing and for reading.

Text has one column per name; an npz file has one array per quantity, q (N, n); Parquet has one column per name.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.base.files import whole_binary_file, whole_file
from dalembert.base.tables.number_tables import Line, NumberTable, open_table
from dalembert.base.tables.signal_columns import SPELLED
from dalembert.base.wording import some
from dalembert.errors import DalembertError
from dalembert.work.logs.formats import read
from dalembert.work.logs.formats.raw import Raw, Request

Progress = Callable[[float], None]

CHUNK = 1 << 15  # lines written at a time
TEXT = (".csv", ".tsv", ".txt", ".dat")
BINARY = (".npz", ".parquet")
KINDS = (".csv", *BINARY, *TEXT[1:])  # suffixes of tables that are written


class ArrayTable:
    """A table in a binary file, as :class:`NumberTable` presents a text file: names of its columns, and their values."""

    headed, line, place = True, 1, "row"

    def __init__(self, path: str | os.PathLike[str], raw: Raw) -> None:
        self.path, self.notes = path, list(raw.notes)
        columns = {name: raw.table[:, k] for name, k in raw.header.items()} if raw.table is not None else {}
        columns = {f"{x} [{raw.units[k]}]" if (k := raw.header[x]) in raw.units else x: v for x, v in columns.items()}
        arrays = {name: np.asarray(raw.values(name)) for name in raw.arrays}
        arrays = {name: x[:, 0] if x.shape[1:] == (1,) else x for name, x in arrays.items()}
        lengths = Counter(x.shape[:1] for x in (*columns.values(), *arrays.values()) if x.ndim)
        (count,), left_out = max(lengths, key=lambda shape: lengths[shape], default=(0,)), []
        for name, values in arrays.items():
            known = name.lower() in SPELLED
            if values.ndim > 2 and known:
                raise DalembertError(
                    f"{path}: '{name}' has shape {values.shape}, so the file holds a batch of motions; it must hold one, "
                    "with arrays (N,) and (N, n)"
                )
            if values.shape[:1] != (count,) and known:
                raise DalembertError(
                    f"{path}: '{name}' has shape {values.shape}, but other arrays have {count} rows; it must have one row "
                    "per instant"
                )
            if values.dtype.kind not in "fiu" or values.shape[:1] != (count,):
                left_out.append(name)
            elif values.ndim == 1:
                columns[name] = values
            else:
                owners = raw.joints.get(name, ())
                own = len(owners) == values.shape[1]
                heads = [f"{owners[k]}.{name}" if own else f"{name}{k + 1}" for k in range(values.shape[1])]
                columns |= dict(zip(heads, values.T, strict=True))
        if left_out:
            self.notes.append(f"{path}: {some(left_out)} are not part of a motion and were ignored")
        if not count:
            raise DalembertError(f"{path}: the file has no rows")
        self.names, self._table = list(columns), np.column_stack(list(columns.values())).astype(float)

    def blocks(self) -> Iterator[tuple[list[Line], Array]]:
        """The rows with their numbers from 1, and their values, in one block."""
        yield [(k + 1, "") for k in range(len(self._table))], self._table

    def done(self) -> float:
        """The fraction of the file that has been read."""
        return 1.0


Table = NumberTable | ArrayTable


@contextmanager
def opened(path: str | os.PathLike[str], what: str, joints: Sequence[str] = ()) -> Iterator[Table]:
    """The table in a file, with its header read; every cell must be a number."""
    if Path(path).suffix.lower() in BINARY:
        yield ArrayTable(path, read(Path(path), Request(tuple(joints))))
        return
    with open_table(path, what, strict=True) as table:
        yield table


def write(
    path: str | os.PathLike[str],
    names: Sequence[str],
    columns: Sequence[Array],
    *,
    overwrite: bool,
    comments: Iterable[str] = (),
    progress: Progress | None = None,
) -> None:
    """Write the columns, (N,) or (N, k) each, under their names, in the format of the suffix, atomically.

    comments  lines before the header of a text file
    """
    kind = Path(path).suffix.lower()
    if kind in BINARY:
        with whole_binary_file(path, overwrite=overwrite, kinds=KINDS) as file:
            if kind == ".npz":
                arrays: dict[str, Any] = arrays_of(names, columns)
                np.savez(file, allow_pickle=False, **arrays)
                return
            with extra("logs", "a Parquet file"):
                from pyarrow import parquet, table
            parquet.write_table(table(dict(zip(names, np.column_stack(columns).T, strict=True))), file)
        return
    with whole_file(path, overwrite=overwrite, kinds=KINDS) as text:
        text.writelines(f"# {line}\n" for line in comments)
        write_table(text, names, columns, progress, "\t" if kind == ".tsv" else ",")


def write_table(
    file: TextIO, names: Sequence[str], columns: Sequence[Array], progress: Progress | None = None, separator: str = ","
) -> None:
    """Write the columns, (N,) or (N, k) each, under their names in full precision."""
    count = len(columns[0])
    file.write(separator.join(names) + "\n")
    for start in range(0, count, CHUNK):
        part = np.column_stack([column[start : start + CHUNK] for column in columns])
        file.writelines(separator.join(map(repr, row)) + "\n" for row in part.tolist())
        if progress is not None:
            progress(min(1.0, (start + CHUNK) / count))


def to_screen(names: Sequence[str], columns: Sequence[Array]) -> None:
    """Print the columns as text."""
    write_table(sys.stdout, names, columns)
    sys.stdout.flush()


def arrays_of(names: Sequence[str], columns: Sequence[Array]) -> dict[str, Array]:
    """{name: array}: (N,) columns under their names, and (N, k) columns under their common name, q for q1 … qk."""
    arrays, at = {}, 0
    for column in columns:
        arrays[names[at].rstrip("0123456789") if column.ndim == 2 else names[at]] = column
        at += column.shape[1] if column.ndim == 2 else 1
    return arrays
