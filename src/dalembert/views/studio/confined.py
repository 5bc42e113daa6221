"""Restriction of a process to files in certain folders, regardless of what a robot file refers to."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from dalembert.base.wording import shown
from dalembert.compiler.kernel import cache
from dalembert.errors import RobotError
from dalembert.robot.readers.mjcf import MjcfFiles

PACKAGE = Path(__file__).parents[2]


def confine(folder: str | os.PathLike[str] | None) -> None:
    """Restrict this process from now on to files below a folder, if there is one, Python's own files, and those of the cache.

    Any other file behaves like one without read permission. The restriction cannot be lifted: it is meant for
    short-lived processes.
    """
    if folder is None:
        return
    given = os.path.realpath(folder)
    libraries = [os.path.realpath(place) for place in sys.path if place and os.path.abspath(place) != os.getcwd()]
    libraries = [place for place in libraries if not Path(given).is_relative_to(place)]
    own = (sys.prefix, sys.base_prefix, PACKAGE, *cache.places(), "/proc", "/sys", "/dev")
    roots = (given, *libraries, *(os.path.realpath(str(place)) for place in own))

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or isinstance(arguments[0], int) or arguments[0] is None:
            return
        real = os.path.realpath(os.fsdecode(arguments[0]))
        if not any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in roots):
            raise PermissionError(errno.EACCES, "it is not in the robot's folder", os.fsdecode(arguments[0]))

    tempfile.gettempdir()  # tries to write files in several places and remembers the first that works
    sys.addaudithook(watch)


def check_mjcf_paths(path: Path, folder: Path) -> None:
    """Check that an MJCF file refers only to files below the folder, because MuJoCo's compiler opens them itself."""
    root = os.path.realpath(folder)
    for name, place in MjcfFiles(str(path), readable=lambda place: place.is_relative_to(root)).places(str(path)):
        if place is None or not place.is_relative_to(root):
            raise RobotError(
                f"{path.name} refers to the file {shown(name)}, which is not in the robot's folder; only files below it are read"
            )
