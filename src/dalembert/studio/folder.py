"""The robot's folder: the only one from which the studio reads files by name, and into which it writes."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from dalembert.errors import DalembertError
from dalembert.robot.tables import shown
from dalembert.studio.bounds import DEPTH, FILES, FOLDERS

LONGEST_NAME = 1000  # letters of a path


class RobotFolder:
    """Files below a folder, by names such as ``logs/run.csv``; no name leads out of it.

    A name with ``..``, an absolute one, a hidden file or folder, and a link that leads out of the folder are refused.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(os.path.realpath(root))

    def files(self, suffixes: Collection[str]) -> list[str]:
        """The names of files with these suffixes, the nearest first; no more than stated in :mod:`dalembert.studio.bounds`."""
        names: list[str] = []
        waiting, visited = [(self.root, 0)], 0
        while waiting and visited < FOLDERS and len(names) < FILES:
            folder, depth = waiting.pop(0)
            visited += 1
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:  # a folder that may not be listed
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
        """The file that a name means, which must be there."""
        real = self._real(name)
        if not real.is_file():
            raise DalembertError(f"{shown(name)}: there is no such file in the robot's folder")
        return real

    def target(self, name: str, suffixes: Collection[str]) -> Path:
        """Where a file of that name is to be written; it may be there already."""
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
    """The parts of a relative path without ``..``, hidden files and letters that cannot be shown.

    >>> plain_parts("logs/run.csv")
    ['logs', 'run.csv']
    >>> plain_parts("../run.csv")
    Traceback (most recent call last):
    ...
    dalembert.errors.DalembertError: '../run.csv' is no name of a file in the robot's folder; give one such as logs/run.csv
    """
    parts = name.split("/")
    hidden = any(not part or part.startswith(".") for part in parts)
    if hidden or len(name) > LONGEST_NAME or not name.isprintable() or "\\" in name or ":" in name:
        raise DalembertError(f"{shown(name)} is no name of a file in the robot's folder; give one such as logs/run.csv")
    return parts
