"""Folders and files that belong to the user who runs this process: their locations, and which of them are trusted."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path


class NoHomeError(OSError):
    """The folder for this user's files is unknown."""


def user_folder(variable: str, linux: str, mac: str) -> Path:
    """The folder of this user for one kind of file: $variable, or the system's usual place below the home folder."""
    if value := os.environ.get(variable):
        return Path(value)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home())
    return _home() / (mac if sys.platform == "darwin" else linux)


def state_folder() -> Path:
    """The folder ``dalembert`` in $XDG_STATE_HOME or in the system's folder for the state of programs."""
    return user_folder("XDG_STATE_HOME", ".local/state", "Library/Application Support") / "dalembert"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise NoHomeError(
            "this user has no home folder (HOME is not set); set DALEMBERT_CACHE to a folder for compiled kernels"
        ) from None


def read_own(path: Path, forbidden: int, largest: int) -> bytes | None:
    """The content of a regular file that belongs to this user, has none of the forbidden mode bits and at most ``largest``
    bytes; None for any other file.

    Nothing waits here: a pipe in the file's place is opened without waiting for its writer, and is not read.
    """
    flags = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return None
    try:
        about = os.fstat(descriptor)
        mine = not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & forbidden)
        if not stat.S_ISREG(about.st_mode) or about.st_size > largest or not mine:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(about.st_size)
    except OSError:
        return None
    finally:
        os.close(descriptor)
