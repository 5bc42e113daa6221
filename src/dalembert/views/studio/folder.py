"""The robot's folder: the only folder in which the studio reads and writes files by name."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from dalembert.base.wording import shown
from dalembert.errors import DalembertError
from dalembert.views.studio.upload_bounds import DEPTH, FILES, FOLDERS

LONGEST_NAME = 1000  # characters of a path


class RobotFolder:
    """Files below a folder, by names such as ``logs/run.csv``; names cannot refer to files outside it.

    Names with ``..``, absolute names, hidden files or folders, and links that lead out of the folder are refused.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(os.path.realpath(root))

    def files(self, suffixes: Collection[str]) -> list[str]:
        """The names of files with these suffixes, closest to the folder first, within the limits of ``upload_bounds``."""
        names: list[str] = []
        waiting, visited = [(self.root, 0)], 0
        while waiting and visited < FOLDERS and len(names) < FILES:
            folder, depth = waiting.pop(0)
            visited += 1
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:  # a folder without read permission
                continue
            for entry in entries:
                if entry.name.startswith(".") or not entry.name.isprintable():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting += [(Path(entry.path), depth + 1)] if depth < DEPTH else []
                elif os.path.splitext(entry.name)[1].lower() in suffixes and self._holds(entry.path):
                    names.append(Path(entry.path).relative_to(self.root).as_posix())
        return names[:FILES]

    def _holds(self, path: str) -> bool:
        real = os.path.realpath(path)
        return os.path.isfile(real) and self._is_inside(real)

    def _is_inside(self, real: str) -> bool:
        return Path(real).is_relative_to(self.root)

    def path(self, name: str) -> Path:
        """The path of an existing file, by its name."""
        real = self._real(name)
        if not real.is_file():
            raise DalembertError(f"{shown(name)}: there is no such file in the robot's folder")
        return real

    def target(self, name: str, suffixes: Collection[str]) -> Path:
        """The path at which a file of that name is to be written; it may already exist."""
        real = self._real(name)
        if real.suffix.lower() not in suffixes:
            raise DalembertError(f"{shown(name)}: the name must end in {' or '.join(suffixes)}")
        if not real.parent.is_dir():
            raise DalembertError(f"{shown(name)}: there is no such folder in the robot's folder")
        return real

    def _real(self, name: str) -> Path:
        parts = plain_parts(name)
        real = os.path.realpath(self.root.joinpath(*parts))
        if not self._is_inside(real):
            raise DalembertError(f"{shown(name)} leads out of the robot's folder; only files below it are used")
        return Path(real)


def plain_parts(name: str) -> list[str]:
    """The parts of a relative path without ``..``, hidden files and unprintable characters.

    >>> plain_parts("logs/run.csv")
    ['logs', 'run.csv']
    >>> plain_parts("../run.csv")
    Traceback (most recent call last):
    ...
    dalembert.errors.DalembertError: '../run.csv' is not a file name in the robot's folder; use one such as logs/run.csv
    """
    parts = name.split("/")
    hidden = any(not part or part.startswith(".") for part in parts)
    if hidden or len(name) > LONGEST_NAME or not name.isprintable() or "\\" in name or ":" in name:
        raise DalembertError(f"{shown(name)} is not a file name in the robot's folder; use one such as logs/run.csv")
    return parts
