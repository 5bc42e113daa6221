"""Parquet: columns as in a text table, or columns of lists, one for each quantity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import DalembertError
from dalembert.identification.formats.raw import DAMAGE, Raw, Request, reason, tabled


def read_parquet(path: Path, request: Request) -> Raw:
    """Numbers by column; what is missing is NaN, and text is left out."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise DalembertError(f"{path}: Parquet files need pyarrow: pip install 'dalembert[identify]'") from None
    try:
        table = parquet.read_table(path)
    except (ArrowException, *DAMAGE) as error:
        raise DalembertError(f"{path}: this is no Parquet file ({reason(error)})") from None
    flat: dict[str, NDArray[Any]] = {}
    whole: dict[str, Any] = {}
    faulty: dict[int, str] = {}
    faults: dict[str, str] = {}
    for name in table.column_names:
        values = table.column(name).to_numpy()
        if values.dtype.kind in "fiub":
            flat[name] = values.astype(float)
        elif values.dtype.kind == "M":
            flat[name] = seconds(values)
        elif values.dtype == object and len(values) and all(np.ndim(one) == 1 for one in values if one is not None):
            lengths = {len(one) for one in values if one is not None}
            if len(lengths) == 1:
                empty = np.full(lengths.pop(), np.nan)
                whole[name] = np.stack([empty if one is None else np.asarray(one, float) for one in values])
            else:
                whole[name] = None
                faults[name] = f"{path}: the lists in '{name}' differ in length ({sorted(lengths)[:4]})"
        else:
            faulty[len(flat)] = f"{path}: the column '{name}' holds {table.column(name).type}, not numbers"
            flat[name] = np.full(len(values), np.nan)
    columns = np.column_stack(list(flat.values())) if flat else np.empty((table.num_rows, 0))
    raw = tabled(str(path), list(flat), columns, request.joints, faulty)
    raw.arrays |= whole
    raw.faults |= faults
    return raw


def seconds(stamps: NDArray[Any]) -> NDArray[np.float64]:
    """datetime64 as seconds since 1970; what is no time is NaN."""
    made = stamps.astype("datetime64[ns]").astype(np.int64) * 1e-9
    return np.where(np.isnat(stamps), np.nan, made)
