"""Readers based on third-party code run in the helper process; their results come back as plain data and arrays.

SciPy, pyarrow and rosbags can crash, hang or exhaust memory on a crafted file; in the helper this is only an error
message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from numpy.typing import NDArray

from dalembert.base.files.reader_process import SECONDS, ask
from dalembert.work.logs.formats.raw import Raw, Request

SLOWEST = 1 << 20  # bytes per second: larger files are given more time
TABLES = "data/*/*.parquet"  # the tables of a LeRobot dataset, below its folder
MOST_FILES = 100_000  # per dataset
# fields of a Raw that are plain data
WORDS = ("headed", "header", "groups", "units", "faults", "doubts", "roles", "notes")


def reader_called(name: str) -> Callable[[Path, Request], Raw]:
    """The reader of this package denoted by "module:function"."""
    reader: Callable[[Path, Request], Raw] = resolve_name(f"{__package__}.{name}")
    return reader


def read_in_helper(reader: str, who: str, path: Path, request: Request) -> Raw:
    """The result of a reader of this package, run in the helper; ``who`` names it in messages."""
    files = [path] if not path.is_dir() else [*path.iterdir(), *islice(path.glob(TABLES), MOST_FILES)]
    fields = {"joints": request.joints, "topic": request.topic, "episodes": request.episodes}
    seconds = SECONDS + sum(file.lstat().st_size for file in files) / SLOWEST
    plain, arrays = ask(
        f"{__name__}:read_here", {"reader": reader, "path": str(path), **fields}, where=str(path), reader=who,
        seconds=seconds, progress=request.progress,
    )  # fmt: skip
    raw = Raw(str(path), **{name: plain[name] for name in WORDS})
    raw.joints = {name: tuple(joints) for name, joints in plain["joints"].items()}
    raw.arrays = {name: arrays.get(f"array {name}") for name in plain["arrays"]}
    raw.table, raw.runs = arrays.get("table"), arrays.get("runs")
    raw.units = {int(column): unit for column, unit in plain["units"].items()}
    return raw


def read_here(
    reader: str, path: str, joints: Iterable[str], topic: str | None, episodes: Iterable[tuple[int, int]] | None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The result of a reader, computed in the helper process."""
    from dalembert.base.files.reader_process_main import tell

    spans = None if episodes is None else tuple((first, end) for first, end in episodes)
    raw = reader_called(reader)(Path(path), Request(tuple(joints), topic, tell, spans))
    arrays = {f"array {name}": values for name, values in raw.arrays.items() if values is not None}
    arrays |= {name: values for name in ("table", "runs") if (values := getattr(raw, name)) is not None}
    plain = {name: getattr(raw, name) for name in (*WORDS, "joints")}
    return plain | {"arrays": list(raw.arrays)}, arrays
