"""Parquet files: columns as in a text table, or columns of lists, one per quantity.

The schema of the file is checked first, and only columns of numbers, times and lists of numbers are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.base.environment.short_repr import brief
from dalembert.base.files import open_bounded
from dalembert.base.tables.number_tables import LARGEST_FILE
from dalembert.base.tables.signal_columns import gathered
from dalembert.errors import DalembertError
from dalembert.work.logs.formats.raw import MOST_COLUMNS, Raw, Request, check_names, check_size, damage_told, seconds

BATCH = 1 << 16  # rows read at a time, because lists may be longer than the file declares


def _arrow() -> Any:
    """The package that reads Parquet files, if it is installed."""
    with extra("logs", "a Parquet file"):
        import pyarrow
        import pyarrow.compute
    return pyarrow


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A Parquet file (pyarrow's ParquetFile) within the limits of a log; problems are reported in one sentence."""
    with extra("logs", f"{path}: a Parquet file"):
        from pyarrow import ArrowException, parquet
    with (
        open_bounded(path, LARGEST_FILE, "log") as stream,
        damage_told(f"{path}: this is not a Parquet file", ArrowException, OSError),
    ):
        yield parquet.ParquetFile(stream)


@brief
@dataclass
class Columns:
    """The columns of a Parquet file: numbers side by side, and lists of numbers.

    flat     names of the columns that are not lists, in the order of ``table`` (rows, columns)
    lists    matrices of the list columns, one row per list; None if lists differ in length or are empty
    lengths  lengths of those lists
    strange  {index in ``flat``: type of a column that is not numeric, and is NaN}
    size     total count of numbers
    """

    flat: list[str]
    table: Array
    lists: dict[str, Array | None]
    lengths: dict[str, list[int]]
    strange: dict[int, str]
    size: int


def columns_of(path: Path, file: Any, progress: Callable[[float], None], before: int = 0) -> Columns:
    """All columns of numbers, times and lists of numbers; ``before`` is the count of numbers in other tables."""
    about, schema = file.metadata, file.schema_arrow
    if about.num_columns > MOST_COLUMNS:
        raise DalembertError(f"{path}: the table has {about.num_columns} columns; the maximum is {MOST_COLUMNS}")
    check_names(str(path), schema.names)
    twice = [name for name, times in Counter(schema.names).items() if times > 1]
    if twice:
        raise DalembertError(f"{path}: two columns have the name '{twice[0]}'")
    wanted = [field.name for field in schema if _is_plain(field.type) or _is_list(field.type)]
    count = before + about.num_rows * len(schema.names)
    check_size(f"{path}: the table", count)
    lists = {field.name: _Lists() for field in schema if _is_list(field.type)}
    check_size(f"{path}: the table", count + (_listed(about, lists) if lists else 0))
    flat = [field.name for field in schema if field.name not in lists]
    columns = np.full((about.num_rows, len(flat)), np.nan)
    at, done = {name: k for k, name in enumerate(flat)}, 0
    for batch in file.iter_batches(BATCH, columns=wanted):
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            if name in lists:
                count += len(values.flatten())
                check_size(f"{path}: the table", count)
                lists[name].add(values)
            else:
                columns[done : done + len(batch), at[name]] = _values(values)
        done += len(batch)
        progress(min(1.0, done / max(1, about.num_rows)))
    if done != about.num_rows:
        raise DalembertError(f"{path}: the table has {done} rows but declares {about.num_rows}; the file is damaged")
    strange = {k: f"{schema.field(name).type!s:.60}" for k, name in enumerate(flat) if name not in wanted}
    matrices = {name: column.matrix() for name, column in lists.items()}
    lengths = {name: sorted(column.lengths)[:4] for name, column in lists.items()}
    return Columns(flat, columns, matrices, lengths, strange, count)


def table_of(path: Path, file: Any, request: Request) -> Raw:
    """Numbers by column; missing values are NaN, and text is ignored."""
    read = columns_of(path, file, request.progress)
    faults = {
        k: f"{path}: the column '{read.flat[k]}' contains {kind}, not numbers" for k, kind in read.strange.items()
    }
    raw = Raw(**vars(gathered(str(path), read.flat, request.joints, faults)))
    raw.table = read.table
    for name, matrix in read.lists.items():
        raw.arrays[name] = matrix
        if matrix is None:
            raw.faults[name] = f"{path}: the lists in '{name}' are empty or differ in length ({read.lengths[name]})"
    return raw


@dataclass
class _Lists:
    """A column of lists, collected batch by batch: the lists, their lengths, and where they are missing."""

    parts: list[Array] = field(default_factory=list)
    present: list[NDArray[np.bool_]] = field(default_factory=list)
    lengths: set[int] = field(default_factory=set)

    def add(self, values: Any) -> None:
        compute = _arrow().compute
        self.present.append(values.is_valid().to_numpy(zero_copy_only=False))
        self.lengths.update(compute.unique(compute.list_value_length(values.drop_null())).to_pylist())
        self.parts.append(_values(values.drop_null().flatten()))

    def matrix(self) -> Array | None:
        """One row per list, NaN if missing; None if lists differ in length or are all empty."""
        if len(self.lengths) != 1 or not max(self.lengths):
            return None
        present = np.concatenate(self.present)
        rows = np.full((len(present), max(self.lengths)), np.nan)
        rows[present] = np.concatenate(self.parts).reshape(-1, rows.shape[1])
        return rows


def _listed(about: Any, names: Collection[str]) -> int:
    """Count of numbers in list columns, as declared by the file."""
    groups = (about.row_group(k) for k in range(about.num_row_groups))
    columns = (group.column(j) for group in groups for j in range(group.num_columns))
    return sum(column.num_values for column in columns if column.path_in_schema.partition(".")[0] in names)


def _is_plain(kind: Any) -> bool:
    """Whether a type consists of single numbers or times."""
    types = _arrow().types
    if types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    return any(
        test(kind)
        for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_timestamp)
    )


def _is_list(kind: Any) -> bool:
    """Whether a type consists of lists of numbers."""
    types = _arrow().types
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return lists and _is_plain(kind.value_type)


def _values(values: Any) -> Array:
    """A column of single numbers or times; NaN if missing. Times are in seconds since 1970."""
    types = _arrow().types
    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if types.is_timestamp(values.type):
        return seconds(values.to_numpy(zero_copy_only=False))
    if types.is_boolean(values.type):
        values = values.cast("uint8")
    return np.asarray(values.cast(_arrow().float64(), safe=False).to_numpy(zero_copy_only=False), float)
