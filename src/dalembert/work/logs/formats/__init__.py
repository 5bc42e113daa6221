"""File formats of logs, one reader per format: each returns the contents as a :class:`Raw`, uninterpreted."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from dalembert.base.tables.cells import WORKBOOKS
from dalembert.base.wording import reason, shown
from dalembert.errors import DalembertError
from dalembert.work.logs.formats.carried import read_in_helper, reader_called
from dalembert.work.logs.formats.raw import LARGEST_FILE, Raw, Request

TEXT = (".csv", ".tsv", ".txt", ".dat", ".log")  # these can be pipes too
BAGS = ("rosbag:read_bag", "rosbags' reader of ROS bags")
PARQUET = "pyarrow's reader of Parquet files"
# {suffix: (module and function, name of the reader in messages if it runs in the helper process)}
READERS = {
    **dict.fromkeys((*TEXT, *WORKBOOKS), ("text:read_text", "")),
    ".npz": ("numpy_file:read_numpy", ""),
    ".npy": ("numpy_file:read_numpy", ""),
    ".mat": ("matlab:read_matlab", "SciPy's reader of MATLAB files"),
    ".parquet": ("lerobot:read_parquet", PARQUET),
    "dataset": ("lerobot:read_dataset", PARQUET),
    ".mcap": ("mcap_file:read_mcap", "the reader of MCAP files"),
    **dict.fromkeys((".bag", ".db3", "folder"), BAGS),
}
EPISODES = (".parquet", "dataset")
TOPICS = (".mcap", ".bag", ".db3", "folder")
KNOWN = ".csv (.tsv, .txt, .dat), .xlsx (.xls, .ods), .npz, .npy, .mat, .parquet, .bag, .db3 or .mcap file, or the folder of a ROS 2 bag or a LeRobot dataset"


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
        return read_in_helper(reader, foreign, path, request) if foreign else reader_called(reader)(path, request)
    except OSError as error:
        raise DalembertError(f"{path}: the file cannot be read ({error.strerror or reason(error)})") from None
