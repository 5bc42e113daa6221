"""Files uploaded by the page, in a temporary folder that is removed when the studio ends; by the next one if it was killed."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from dalembert.base.files.writing import locked, remove_abandoned
from dalembert.base.wording import shown
from dalembert.errors import DalembertError
from dalembert.views.studio.folder import plain_parts
from dalembert.views.studio.upload_bounds import LOG_BYTES, ROBOT_BYTES, UPLOADED_BYTES
from dalembert.work.logs.formats import READERS

# formats that the page accepts; the others are for the command line
ROBOTS = (".urdf", ".toml", ".xml", ".mjcf", ".sdf")
LOGS = tuple(suffix for suffix in READERS if suffix.startswith("."))
KINDS = {"robot": (ROBOTS, ROBOT_BYTES), "log": (LOGS, LOG_BYTES)}
FOLDER = ("dalembert-studio-", "-uploads")  # how the name of the folder starts and ends
Read = Callable[[], bytes]


def kind_of(kind: str, name: str) -> int:
    """The size limit, in bytes, of a file of that kind and name."""
    if kind not in KINDS:
        raise DalembertError(f"the kind of the uploaded file is {shown(kind)}; it must be {' or '.join(KINDS)}")
    suffixes, most = KINDS[kind]
    if len(plain_parts(name)) > 1 or os.path.splitext(name)[1].lower() not in suffixes:
        raise DalembertError(f"{shown(name)}: the name of a {kind} file must end in {', '.join(suffixes)}")
    return most


class Uploads:
    """Uploaded files, each in its own folder, so that a robot file finds no others; an upload replaces one of its name."""

    def __init__(self) -> None:
        start, end = FOLDER
        remove_abandoned(Path(tempfile.gettempdir()), start, end)
        self._folder = tempfile.TemporaryDirectory(prefix=start, suffix=end, ignore_cleanup_errors=True)
        self._locked = None if os.name == "nt" else os.open(self._folder.name, os.O_RDONLY)
        if self._locked is not None:
            locked(self._locked)  # as long as this process lives
        self._files: dict[str, Path] = {}
        self._lock = threading.Lock()
        self._count = 0
        self._coming = 0  # bytes of the files that are being uploaded

    def take(self, name: str, size: int, read: Read) -> None:
        """Write the pieces that ``read`` returns until it returns nothing, ``size`` bytes in total."""
        with self._lock:
            others = sum(path.stat().st_size for other, path in self._files.items() if other != name)
            if others + self._coming + size > UPLOADED_BYTES:
                raise DalembertError(
                    f"{name}: uploaded files may have {UPLOADED_BYTES >> 20} MiB in total; put the file into the "
                    "robot's folder instead"
                )
            self._count += 1
            self._coming += size
            folder = Path(self._folder.name, str(self._count))
        path = folder / name
        unneeded: Path | None = path
        try:
            folder.mkdir(mode=0o700)
            with path.open("wb") as file:
                while piece := read():
                    file.write(piece)
            with self._lock:
                unneeded, self._files[name] = self._files.get(name), path
        finally:
            with self._lock:
                self._coming -= size
            if unneeded is not None:
                unneeded.unlink(missing_ok=True)

    def scratch(self, kind: str) -> Path:
        """A folder for the files of a job of this kind; only one such job runs at a time."""
        folder = Path(self._folder.name, kind)
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def path(self, name: str) -> Path:
        """The file of that name."""
        with self._lock:
            if name not in self._files:
                raise DalembertError(f"{shown(name)}: no such file has been uploaded")
            return self._files[name]

    def names(self, kind: str) -> list[str]:
        """The files of a kind."""
        suffixes, _ = KINDS[kind]
        with self._lock:
            return [name for name in self._files if os.path.splitext(name)[1].lower() in suffixes]

    def close(self) -> None:
        """Remove all files."""
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None
        self._folder.cleanup()
