"""Parquet: columns as in a text table, or columns of lists, one for each quantity.

The file's own description is looked at first, and only columns of numbers, times and lists of numbers are read.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import DalembertError
from dalembert.files import open_bounded
from dalembert.logs.formats.raw import (
    DAMAGE,
    LARGEST_FILE,
    MOST_COLUMNS,
    Raw,
    Request,
    check_names,
    check_size,
    reason,
    tabled,
)

Array = NDArray[np.float64]

BATCH = 1 << 16  # rows read at a time, since only reading tells how long their lists are


def read_parquet(path: Path, request: Request) -> Raw:
    """Numbers by column; what is missing is NaN, and text is left out."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise DalembertError(f"{path}: Parquet files need pyarrow: pip install 'dalembert[identify]'") from None
    with open_bounded(path, LARGEST_FILE, "log") as stream:
        try:
            file = parquet.ParquetFile(stream)
            return _read(path, request, file)
        except DalembertError:
            raise
        except (ArrowException, *DAMAGE) as error:
            raise DalembertError(f"{path}: this is no Parquet file ({reason(error)})") from None


def _read(path: Path, request: Request, file: Any) -> Raw:
    from pyarrow import Table
    from pyarrow import schema as described

    about, schema = file.metadata, file.schema_arrow
    if about.num_columns > MOST_COLUMNS:
        raise DalembertError(f"{path}: it has {about.num_columns} columns; at most {MOST_COLUMNS} are read")
    check_names(str(path), schema.names)
    twice = [name for name, times in Counter(schema.names).items() if times > 1]
    if twice:
        raise DalembertError(f"{path}: it has two columns of the name '{twice[0]}'")
    wanted = [field.name for field in schema if _is_plain(field.type) or _is_list(field.type)]
    count = about.num_rows * len(schema.names)
    check_size(f"{path}: the table", count)
    batches = []
    for batch in file.iter_batches(BATCH, columns=wanted):
        count += sum(len(column.flatten()) for column in batch.columns if _is_list(column.type))
        check_size(f"{path}: the table", count)
        batches.append(batch)
    table = Table.from_batches(batches, described([schema.field(name) for name in wanted]))
    flat: dict[str, Array] = {}
    whole: dict[str, Any] = {}
    faulty: dict[int, str] = {}
    faults: dict[str, str] = {}
    for field in schema:
        name, kind = field.name, field.type
        if _is_plain(kind):
            flat[name] = _values(table.column(name).combine_chunks())
        elif _is_list(kind):
            rows, lengths = _rows(table.column(name).combine_chunks())
            whole[name] = rows
            if rows is None:
                faults[name] = f"{path}: the lists in '{name}' are empty, or differ in length ({lengths})"
        else:
            faulty[len(flat)] = f"{path}: the column '{name}' holds {kind!s:.60}, not numbers"
            flat[name] = np.full(about.num_rows, np.nan)
    columns = np.column_stack(list(flat.values())) if flat else np.empty((about.num_rows, 0))
    raw = tabled(str(path), list(flat), columns, request.joints, faulty)
    raw.arrays |= whole
    raw.faults |= faults
    return raw


def _is_plain(kind: Any) -> bool:
    """Whether a type is of single numbers or times."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    return any(
        test(kind)
        for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_timestamp)
    )


def _is_list(kind: Any) -> bool:
    """Whether a type is of lists of numbers."""
    from pyarrow import types

    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return lists and _is_plain(kind.value_type)


def _values(values: Any) -> Array:
    """A column of single numbers or times; NaN where there is none. Times are in seconds since 1970."""
    from pyarrow import float64, types

    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if types.is_timestamp(values.type):
        return seconds(values.to_numpy(zero_copy_only=False))
    if types.is_boolean(values.type):
        values = values.cast("uint8")
    return np.asarray(values.cast(float64(), safe=False).to_numpy(zero_copy_only=False), float)


def _rows(lists: Any) -> tuple[Array | None, list[int]]:
    """A column of lists as a matrix, NaN where there is none; or None, and lengths that differ."""
    from pyarrow import compute

    there = lists.is_valid().to_numpy(zero_copy_only=False)
    lengths = compute.unique(compute.list_value_length(lists.drop_null())).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        return None, sorted(lengths)[:4]
    rows = np.full((len(there), lengths[0]), np.nan)
    rows[there] = _values(lists.drop_null().flatten()).reshape(-1, lengths[0])
    return rows, lengths


def seconds(stamps: NDArray[Any]) -> Array:
    """datetime64 as seconds since 1970; what is no time is NaN."""
    made = stamps.astype("datetime64[ns]").astype(np.int64) * 1e-9
    return np.where(np.isnat(stamps), np.nan, made)
