"""File formats of logs, one reader per format: each returns the contents as a :class:`Raw`, uninterpreted.

Readers based on third-party code run in the helper process, from which their results come back as plain data and
arrays: SciPy, pyarrow and rosbags can crash, hang or exhaust memory on a crafted file, which is only an error message
there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from numpy.typing import NDArray

from dalembert.base.files.reader_process import SECONDS, ask
from dalembert.base.tables.cells import WORKBOOKS
from dalembert.base.wording import reason, shown
from dalembert.errors import DalembertError
from dalembert.work.logs.formats.raw import LARGEST_FILE, MOST_FILES, TABLES, Raw, Request

TEXT = (".csv", ".tsv", ".txt", ".dat", ".log")  # these can be pipes too
BAGS = ("rosbag:read_bag", "rosbags' reader of ROS bags")
PARQUET = "pyarrow's reader of Parquet files"
# {suffix: (module and function, name of the reader in messages if it runs in the helper process)}
READERS = {
    **dict.fromkeys((*TEXT, *WORKBOOKS), ("text:read_text", "")),
    ".npz": ("array_files:read_numpy", ""),
    ".npy": ("array_files:read_numpy", ""),
    ".mat": ("array_files:read_matlab", "SciPy's reader of MATLAB files"),
    ".parquet": ("lerobot:read_parquet", PARQUET),
    "dataset": ("lerobot:read_dataset", PARQUET),
    ".mcap": ("mcap_file:read_mcap", "the reader of MCAP files"),
    **dict.fromkeys((".bag", ".db3", "folder"), BAGS),
}
EPISODES = (".parquet", "dataset")
TOPICS = (".mcap", ".bag", ".db3", "folder")
KNOWN = ".csv (.tsv, .txt, .dat), .xlsx (.xls, .ods), .npz, .npy, .mat, .parquet, .bag, .db3 or .mcap file, or the folder of a ROS 2 bag or a LeRobot dataset"
SLOWEST = 1 << 20  # bytes per second: the helper has more time for larger files
# fields of a Raw that are plain data
WORDS = ("headed", "header", "groups", "joints", "units", "faults", "doubts", "roles", "notes")


def read(path: Path, request: Request) -> Raw:
    """The contents of a file, read according to its suffix."""
    suffix = path.suffix.lower()
    try:
        about = path.stat()
    except FileNotFoundError:
        raise DalembertError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise DalembertError(f"{shown(str(path))}: the file cannot be read ({reason(error)})") from None
    regular, folder = stat.S_ISREG(about.st_mode), stat.S_ISDIR(about.st_mode)
    kind = suffix if not folder else "dataset" if os.path.isfile(path / "meta" / "info.json") else "folder"
    if kind not in READERS:
        what = f"'{suffix}'" if suffix else "a file without a suffix"
        raise DalembertError(f"{path}: a log must be a {KNOWN}, not {what}")
    if request.topic is not None and kind not in TOPICS:
        raise DalembertError(f"{path}: topic is '{request.topic}', but only ROS bags and MCAP files have topics")
    if request.episodes is not None and kind not in EPISODES:
        raise DalembertError(f"{path}: episodes are requested, but only LeRobot datasets have them")
    if regular and not about.st_size:
        raise DalembertError(f"{path}: the file is empty")
    if regular and about.st_size > LARGEST_FILE:
        raise DalembertError(f"{path}: the log has {about.st_size} bytes; the maximum is {LARGEST_FILE}")
    if not regular and not folder and suffix not in TEXT:
        raise DalembertError(f"{path}: this is a device or a pipe; a {suffix} log can only be read from a regular file")
    reader, foreign = READERS[kind]
    try:
        if foreign:
            return _read_in_helper(reader, foreign, path, request)
        raw: Raw = resolve_name(f"{__name__}.{reader}")(path, request)
        return raw
    except OSError as error:
        raise DalembertError(f"{path}: the file cannot be read ({error.strerror or reason(error)})") from None


def _read_in_helper(reader: str, who: str, path: Path, request: Request) -> Raw:
    """The result of a reader, run in the helper; ``who`` names it in messages."""
    files = [path] if not path.is_dir() else [*path.iterdir(), *islice(path.glob(TABLES), MOST_FILES)]
    fields = {"joints": request.joints, "topic": request.topic, "episodes": request.episodes}
    seconds = SECONDS + sum(file.lstat().st_size for file in files) / SLOWEST
    plain, arrays = ask(
        f"{__name__}:read_here", {"reader": reader, "path": str(path), **fields}, where=str(path), reader=who,
        seconds=seconds, progress=request.progress,
    )  # fmt: skip
    raw = Raw(str(path), table=arrays.get("table"), runs=arrays.get("runs"), **{name: plain[name] for name in WORDS})
    raw.joints = {name: tuple(joints) for name, joints in raw.joints.items()}
    raw.units = {int(column): unit for column, unit in raw.units.items()}
    raw.arrays = {name: arrays.get(f"array {name}") for name in plain["arrays"]}
    return raw


def read_here(
    reader: str, path: str, joints: Iterable[str], topic: str | None, episodes: Iterable[tuple[int, int]] | None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The result of a reader, computed in the helper process."""
    from dalembert.base.files.reader_process_main import tell

    spans = None if episodes is None else tuple((first, end) for first, end in episodes)
    raw: Raw = resolve_name(f"{__name__}.{reader}")(Path(path), Request(tuple(joints), topic, tell, spans))
    arrays = {f"array {name}": values for name, values in raw.arrays.items()} | {"table": raw.table, "runs": raw.runs}
    plain = {name: getattr(raw, name) for name in WORDS} | {"arrays": list(raw.arrays)}
    return plain, {name: values for name, values in arrays.items() if values is not None}
