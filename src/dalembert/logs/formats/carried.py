"""Readers that call foreign code run in the helper process; what they read comes back as plain data and arrays.

pyarrow and rosbags can crash, hang or exhaust memory on a crafted file; in the helper that is one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dalembert.files.foreign import SECONDS, ask
from dalembert.logs.formats.raw import Raw, Request

SLOWEST = 1 << 20  # bytes per second: a larger file is given more time
WORDS = ("headed", "header", "groups", "units", "faults", "notes")  # what is plain data in a Raw already


def in_helper(module: str, function: str, reader: str) -> Callable[[Path, Request], Raw]:
    """The reader ``function`` of a module of this package, run in the helper; ``reader`` names it in sentences."""

    def read(path: Path, request: Request) -> Raw:
        files = path.iterdir() if path.is_dir() else [path]
        plain, arrays = ask(
            f"{__name__}:read_here",
            {
                "module": module, "function": function, "path": str(path), "joints": request.joints,
                "topic": request.topic,
            },
            where=str(path),
            reader=reader,
            seconds=SECONDS + sum(file.lstat().st_size for file in files) / SLOWEST,
            progress=request.progress,
        )  # fmt: skip
        raw = Raw(str(path), **{name: plain[name] for name in WORDS})
        raw.joints = {name: tuple(joints) for name, joints in plain["joints"].items()}
        raw.arrays = {name: arrays.get(f"array {name}") for name in plain["arrays"]}
        raw.table = arrays.get("table")
        return raw

    return read


def read_here(
    module: str, function: str, path: str, joints: Iterable[str], topic: str | None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A reader's answer, in the helper process."""
    from dalembert.files.foreign_helper import tell

    reader = getattr(import_module(f"{__package__}.{module}"), function)
    raw: Raw = reader(Path(path), Request(tuple(joints), topic, tell))
    arrays = {f"array {name}": values for name, values in raw.arrays.items() if values is not None}
    if raw.table is not None:
        arrays["table"] = raw.table
    plain = {name: getattr(raw, name) for name in (*WORDS, "joints")}
    return plain | {"arrays": list(raw.arrays)}, arrays
