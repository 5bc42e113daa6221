"""Compiled objects on disk: keyed by content, written atomically, checked before use, bounded in size.

They lie in a folder of their own, ``dalembert``, in $DALEMBERT_CACHE or in the system's cache folder. It is made
private (0700); the mode of a folder that is there already is left as it is. A file starts with a signature over its
key and its code, made with a secret of the user that lies elsewhere, so that a truncated, foreign or tampered file is
recognised; it is never executed, only compiled again. Several processes may share the folder: a
file appears whole, by renaming, or not at all. What was not used for longest makes room for what is new.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import math
import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from dalembert.errors import DalembertError

MAGIC = b"dalembert-object-1\n"
LARGEST = 256 * 1024 * 1024
SECRET_LENGTH = 32
MEGABYTE = 1_000_000
USUAL_BOUND = 512 * MEGABYTE
LOOKS = 32  # times that the folder is looked through, on average, while as much is written as it may hold
LEFT_AFTER_EVICTION = 0.75  # of the bound
ABANDONED = 600.0  # seconds after which a file that is being written has no writer any more

PACKAGE = Path(__file__).resolve().parents[1]
# rooms that use kernels; nothing that makes them imports these, and a test sees to it
USERS = {
    "analysis",
    "arm",
    "cli",
    "identification",
    "logs",
    "report",
    "simulation",
    "studio",
    "tip",
    "trajectory",
    "web",
}

_OBJECT = re.compile(r"[0-9a-f]{64}\.o")
_UNFINISHED = re.compile(r"\.new-\w+")


class CacheWarning(UserWarning):
    """Compiled kernels cannot be kept on disk, or what was kept cannot be used."""


def folder() -> Path:
    """Where compiled objects lie: the folder ``dalembert`` in $DALEMBERT_CACHE or in the system's cache folder.

    >>> import os
    >>> str(folder()) == os.path.join(os.environ["DALEMBERT_CACHE"], "dalembert")
    True
    """
    chosen = os.environ.get("DALEMBERT_CACHE")
    return (Path(chosen) if chosen else _base("XDG_CACHE_HOME", ".cache", "Library/Caches")) / "dalembert"


def bound() -> int:
    """How many bytes are kept: $DALEMBERT_CACHE_SIZE, in megabytes, or 512 MB; with 0 nothing is written."""
    text = os.environ.get("DALEMBERT_CACHE_SIZE", "")
    if not text:
        return USUAL_BOUND
    try:
        size = float(text) * MEGABYTE
    except ValueError:
        size = math.nan
    if not 0 <= size < math.inf:
        raise DalembertError(f'DALEMBERT_CACHE_SIZE is "{text:.40}"; give the size in megabytes, such as 512')
    return int(size)


def _base(variable: str, linux: str, mac: str) -> Path:
    if value := os.environ.get(variable):
        return Path(value)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home())
    return _home() / (mac if sys.platform == "darwin" else linux)


class _NoHome(OSError):
    """Nobody knows where this user's files belong."""


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise _NoHome(
            "this user has no home folder (HOME is not set); set DALEMBERT_CACHE to a folder for compiled kernels"
        ) from None


@cache
def source_digest(package: Path = PACKAGE) -> bytes:
    """A digest of all source that can change a kernel: every file of the package but those of the rooms in ``USERS``."""
    digest = hashlib.sha256()
    for folder, rooms, files in os.walk(package):
        rooms[:] = sorted(set(rooms) - (USERS if folder == str(package) else set()))
        for name in sorted(file for file in files if file.endswith(".py")):
            path = os.path.join(folder, name)
            with open(path, "rb", buffering=0) as file:
                source = file.read()
            digest.update(f"{path[len(str(package)) :]}\0{len(source)}\0".encode() + source)
    return digest.digest()


def key_of(*parts: str) -> str:
    """The name under which something made from these parts is kept."""
    digest = hashlib.sha256(source_digest())
    for part in parts:
        digest.update(hashlib.sha256(part.encode()).digest())
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """The code kept under ``key``, or None when there is none that can be trusted."""
    try:
        secret, path = _secret(), folder() / f"{key}.o"
        code = _code(secret, key, _trusted(path, 0o022))
    except OSError:  # told by ``store``
        return None
    if code is not None:
        with contextlib.suppress(OSError):
            os.utime(path)  # for the eviction by age
    return code


def store(key: str, code: bytes) -> None:
    """Keep ``code`` under ``key``; where the disk does not allow it, nothing is kept and a warning says why."""
    from random import random

    most = bound()
    if not most:
        return
    try:
        content = MAGIC + _signature(_secret(), key, code) + code
        _tidied(folder())
        with _new_file(folder(), content) as temporary:
            os.replace(temporary, folder() / f"{key}.o")
        if random() < LOOKS * len(content) / most:
            tend()
    except _NoHome as problem:
        _say(f"compiled kernels are not kept on disk: {problem}")
    except OSError as problem:
        where = problem.filename2 or problem.filename or folder()
        _say(f"compiled kernels are not kept on disk: {where} cannot be written ({problem.strerror})")


# -- looking after the folder --------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A kept object: its file, its size in bytes and when it was last used (seconds since 1970)."""

    path: Path
    size: int
    used: float


def entries() -> list[Entry]:
    """What is kept, the least recently used first."""
    listed = [Entry(path, about.st_size, about.st_mtime) for path, about in _files(folder(), _OBJECT)]
    return sorted(listed, key=lambda entry: entry.used)


def tend() -> None:
    """Remove what processes that were killed left unfinished, and what was not used for longest, down to the bound."""
    _remove_unfinished(older_than=ABANDONED)
    kept, most = entries(), bound()
    total = sum(entry.size for entry in kept)
    if total <= most:
        return
    for entry in kept:
        if total <= LEFT_AFTER_EVICTION * most:
            break
        if _removed(entry.path):
            total -= entry.size


@lru_cache(maxsize=16)
def _tidied(place: Path) -> None:
    """Remove what killed processes left unfinished in this folder, once per process."""
    _remove_unfinished(older_than=ABANDONED)


def verify() -> tuple[int, list[Path], list[Path]]:
    """(how many objects are good, the bad ones that were removed, those that could not be removed)."""
    secret = _secret()
    good, removed, stuck = 0, [], []
    for entry in entries():
        if _code(secret, entry.path.stem, _trusted(entry.path, 0o022)) is not None:
            good += 1
        elif _removed(entry.path):
            removed.append(entry.path)
        else:
            stuck.append(entry.path)
    return good, removed, stuck


def clear() -> int:
    """Remove every kept object, and nothing else; how many there were."""
    _remove_unfinished(older_than=0.0)
    return sum(_removed(entry.path) for entry in entries())


def _files(path: Path, named: re.Pattern[str]) -> Iterator[tuple[Path, os.stat_result]]:
    if not path.is_dir():
        return
    with os.scandir(path) as listing:
        for file in listing:
            if named.fullmatch(file.name):
                with contextlib.suppress(FileNotFoundError):  # another process was quicker
                    yield Path(file.path), file.stat(follow_symlinks=False)


def places() -> tuple[Path, Path]:
    """The folders that are read and written: that of the objects, and that of the user's secret."""
    return folder(), _secret_file().parent


def _remove_unfinished(older_than: float) -> None:
    for place in places():
        for path, about in _files(place, _UNFINISHED):
            if time.time() - about.st_mtime > older_than:
                _removed(path)


def _removed(path: Path) -> bool:
    try:
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    except FileNotFoundError:
        return True
    except OSError:  # a folder that is not empty, or a file of somebody else
        return False
    return True


# -- files that can be trusted -------------------------------------------------------------------


def _code(secret: bytes, key: str, text: bytes | None) -> bytes | None:
    """The code in a file's content, where it was signed for this key with this secret."""
    head = len(MAGIC) + 32
    if text is None or not text.startswith(MAGIC):
        return None
    code = text[head:]
    return code if hmac.compare_digest(text[len(MAGIC) : head], _signature(secret, key, code)) else None


def _signature(secret: bytes, key: str, code: bytes) -> bytes:
    return hmac.new(secret, key.encode() + b"\0" + code, hashlib.sha256).digest()


def _trusted(path: Path, forbidden: int) -> bytes | None:
    """The content of a regular file that is this user's and has none of the forbidden mode bits; None of another.

    Nothing waits here: a pipe in the file's place is opened without waiting for its writer, and not read.
    """
    flags = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:
            return None
        if hasattr(os, "getuid") and (about.st_uid != os.getuid() or about.st_mode & forbidden):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST)
    except OSError:
        return None
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _new_file(path: Path, content: bytes) -> Iterator[Path]:
    """A file under a name of its own in the folder, which is made if need be; the file is gone afterwards."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path / f".new-{os.urandom(8).hex()}"
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content)
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _secret_file() -> Path:
    try:
        place = _base("XDG_STATE_HOME", ".local/state", "Library/Application Support") / "dalembert"
    except _NoHome:
        if not os.environ.get("DALEMBERT_CACHE"):
            raise
        place = folder()
    return place / "cache-secret"


def _secret() -> bytes:
    """The user's secret, made on first use, and again where what is there cannot be one; OSError if it cannot be made."""
    path = _secret_file()
    secret = _trusted(path, 0o077)
    if secret is not None and len(secret) == SECRET_LENGTH:
        return secret
    with _new_file(path.parent, os.urandom(SECRET_LENGTH)) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            # another process may have been first: then theirs counts, and only what cannot be a secret is replaced
            secret = _trusted(path, 0o077)
            if secret is None or len(secret) != SECRET_LENGTH:
                os.replace(temporary, path)
                _say(
                    f"{path} was not a secret of {SECRET_LENGTH} bytes that only you can read; it was replaced by a new one"
                )
    secret = _trusted(path, 0o077)
    if secret is None or len(secret) != SECRET_LENGTH:
        raise OSError(errno.EIO, "the secret that compiled kernels are signed with cannot be kept", str(path))
    return secret


@lru_cache(maxsize=16)
def _say(sentence: str) -> None:
    """A warning, once per process."""
    warnings.warn(sentence, CacheWarning, stacklevel=2)
