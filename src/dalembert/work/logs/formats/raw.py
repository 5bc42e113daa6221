"""The contents of a file before interpretation: named arrays, or a table with groups of columns."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import brief
from dalembert.base.tables.number_tables import LARGEST_FILE as LARGEST_FILE
from dalembert.base.tables.signal_columns import Grouped
from dalembert.base.wording import reason
from dalembert.errors import DalembertError

# limits for a log in any format
MOST_NUMBERS = 1 << 27  # in one array or table: 1 GiB as float64
MOST_COLUMNS = 10_000  # of a table; a damaged header can have more
LONGEST_NAME = 1000  # characters of a column's name, or a joint's
TABLES = "data/*/*.parquet"  # the tables of a LeRobot dataset, below its folder
MOST_FILES = 100_000  # per dataset

# exceptions of third-party readers for damaged files; collected by damaging files at random
DAMAGE: tuple[type[Exception], ...] = (
    AssertionError, EOFError, KeyError, IndexError, OverflowError, RuntimeError, TypeError, ValueError, struct.error,
    zlib.error, TokenError,
)  # fmt: skip


@contextmanager
def damage_told(sentence: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn exceptions of third-party readers into one sentence; ``errors`` are specific to the reader.

    The helper process reports a lack of memory; a reader that runs elsewhere includes MemoryError in its errors.
    """
    try:
        yield
    except DalembertError:
        raise
    except (*DAMAGE, *errors) as error:
        if isinstance(error, MemoryError) and MemoryError not in errors:
            raise
        raise DalembertError(f"{sentence} ({reason(error)})") from None


@dataclass(frozen=True)
class Request:
    """Information for the reader of a file: the arm's joints, the requested topic, and a progress callback.

    episodes  requested episodes of a dataset: (first, last + 1) of each range of numbers; None for all
    """

    joints: tuple[str, ...] = ()
    topic: str | None = None
    progress: Callable[[float], None] = lambda fraction: None
    episodes: tuple[tuple[int, int], ...] | None = None


@brief
@dataclass
class Raw(Grouped):
    """The contents of a file.

    arrays   by name: (N,), (N, k), or anything else in the file; a partial function reads an array when it is needed
    table    (N, k), whose columns have the names, groups and units of :class:`Grouped`
    doubts   by name: why it cannot be used unless the user states its unit
    roles    by quantity: the name that holds it, if the file format defines it; then no other name is searched for
    runs     (N,) run number of each row, if the file holds several runs
    """

    arrays: dict[str, Any] = field(default_factory=dict)
    table: Array | None = None
    headed: bool = True
    doubts: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    runs: NDArray[np.intp] | None = None
    notes: list[str] = field(default_factory=list)

    def note(self, sentence: str) -> None:
        """Record a note about the file, prefixed by its name."""
        self.notes.append(f"{self.source}: {sentence}")

    @property
    def names(self) -> list[str]:
        """All names that can be requested."""
        return [*self.groups, *self.arrays]

    @property
    def contents(self) -> str:
        """The names, for a message."""
        if not self.headed and self.table is not None:
            return f"{self.table.shape[1]} columns without names"
        return super().contents

    def values(self, name: str) -> Any:
        """The values under a name."""
        if name in self.faults:
            raise DalembertError(self.faults[name])
        if name in self.groups:
            return self.columns(self.groups[name])
        value = self.arrays[name]
        if isinstance(value, partial):
            value = self.arrays[name] = value()
        return value

    def columns(self, at: Sequence[int]) -> Array:
        """Columns of the table, as a view if they are adjacent."""
        assert self.table is not None
        if list(at) == list(range(at[0], at[0] + len(at))):
            return self.table[:, at[0] : at[0] + len(at)]
        return self.table[:, list(at)]


def check_size(what: str, numbers: int) -> None:
    """Refuse an array or a table with more numbers than a log can have, before memory is allocated."""
    if numbers > MOST_NUMBERS:
        raise DalembertError(f"{what} has {numbers} numbers; the maximum is {MOST_NUMBERS}, so split the log")


def check_names(source: str, names: Sequence[str], kind: str = "column") -> None:
    """Refuse too many names, or names that are too long."""
    if len(names) > MOST_COLUMNS:
        raise DalembertError(f"{source}: there are {len(names)} {kind}s; the maximum is {MOST_COLUMNS}")
    for number, name in enumerate(names, 1):
        if len(name) > LONGEST_NAME:
            raise DalembertError(
                f"{source}: the name of {kind} {number} has {len(name)} characters; the maximum is {LONGEST_NAME}"
            )


def seconds(stamps: NDArray[Any]) -> Array:
    """datetime64 as seconds since 1970; invalid times are NaN."""
    return np.where(np.isnat(stamps), np.nan, stamps.astype("datetime64[ns]").astype(np.int64) * 1e-9)
