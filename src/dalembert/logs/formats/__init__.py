"""Files that hold logs, one reader a file: each makes a :class:`Raw` of what is in it, and decides nothing."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

from dalembert.errors import DalembertError
from dalembert.logs.formats.raw import LARGEST_FILE, Raw, Request, reason
from dalembert.robot.tables import shown

TEXT = (".csv", ".tsv", ".txt", ".dat", ".log")
BAGS = ("rosbag", "read_bag", "rosbags' reader of ROS bags")
# read in the helper process: the module, its function, and who that is in a sentence
FOREIGN = {
    ".parquet": ("parquet", "read_parquet", "pyarrow's reader of Parquet files"),
    ".bag": BAGS,
    ".db3": BAGS,
    "folder": BAGS,
}
KNOWN = ".csv (.tsv, .txt, .dat), .npz, .npy, .mat, .parquet, .bag, .db3 or .mcap file, or a ROS 2 bag folder"


def read(path: Path, request: Request) -> Raw:
    """What a file holds, by its suffix."""
    suffix = path.suffix.lower()
    try:
        about = path.stat()
    except FileNotFoundError:
        raise DalembertError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise DalembertError(f"{shown(str(path))}: the file cannot be read ({reason(error)})") from None
    regular, folder = stat.S_ISREG(about.st_mode), stat.S_ISDIR(about.st_mode)
    reader = _reader("folder" if folder else suffix)
    if reader is None:
        what = f"'{suffix}'" if suffix else "a file without a suffix"
        raise DalembertError(f"{path}: a log is a {KNOWN}, not {what}")
    if request.topic is not None and suffix in (*TEXT, ".npz", ".npy", ".mat", ".parquet"):
        raise DalembertError(f"{path}: topic is '{request.topic}', but only ROS bags and MCAP files have topics")
    if regular and not about.st_size:
        raise DalembertError(f"{path}: the file is empty")
    if regular and about.st_size > LARGEST_FILE:
        raise DalembertError(f"{path}: the log has {about.st_size} bytes; at most {LARGEST_FILE} are read")
    if not regular and not folder and suffix not in TEXT:
        raise DalembertError(f"{path}: this is a device or a pipe; a {suffix} log is read from a file alone")
    try:
        return reader(path, request)
    except OSError as error:
        raise DalembertError(f"{path}: the file cannot be read ({error.strerror or reason(error)})") from None


def _reader(kind: str) -> Callable[[Path, Request], Raw] | None:
    if kind in TEXT:
        from dalembert.logs.formats.text import read_text

        return read_text
    if kind in (".npz", ".npy"):
        from dalembert.logs.formats.numpy_file import read_numpy

        return read_numpy
    if kind == ".mat":
        from dalembert.logs.formats.matlab import read_matlab

        return read_matlab
    if kind in FOREIGN:
        from dalembert.logs.formats.carried import in_helper

        return in_helper(*FOREIGN[kind])
    if kind == ".mcap":
        from dalembert.logs.formats.mcap_file import read_mcap

        return read_mcap
    return None
