"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from dalembert.errors import DalembertError


@contextmanager
def whole_file(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[TextIO]:
    """A text file to write: made beside its place, and moved there only when all went well.

    On any error, Ctrl-C included, what stood at ``path`` stands there still and nothing else is
    left behind. A link is followed; a device or a pipe is written to as it is.
    """
    target = Path(os.path.realpath(path))
    check_writable(path, overwrite=overwrite)
    if target.exists() and not target.is_file():
        with target.open("w", encoding="utf-8", newline="\n") as device:
            yield device
        return
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".part")
    except OSError as error:
        raise DalembertError(f"{path}: the file cannot be written ({error.strerror})") from None
    beside = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
        if target.exists():
            shutil.copymode(target, beside)
        else:
            beside.chmod(0o666 & ~_umask())  # mkstemp makes it private; this is an ordinary file
        check_writable(path, overwrite=overwrite)  # somebody may have made it while we wrote
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Say now, before any work, why ``path`` could not be written."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DalembertError(f"{path}: this is a folder, not a file to write")
    if not target.parent.is_dir():
        raise DalembertError(f"{path}: the folder '{Path(path).parent}' does not exist")
    if target.is_file() and not overwrite:
        raise DalembertError(f"{path}: the file is there already and was left as it is; --force overwrites it")
    if not os.access(target.parent if not target.exists() or target.is_file() else target, os.W_OK):
        raise DalembertError(f"{path}: the file cannot be written (Permission denied)")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
