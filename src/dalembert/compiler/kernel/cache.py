"""Compiled objects on disk: keyed by content, written atomically, checked before use, bounded in size.

They are stored in a separate folder, ``dalembert``, in $DALEMBERT_CACHE or in the system's cache folder. It is created
private (0700); the mode of an existing folder is not changed. A file starts with a signature over its key and its code,
made with a secret of the user that is stored elsewhere, so that a truncated, foreign or tampered file is recognised;
such a file is never executed but compiled again. Several processes may share the folder: a file appears complete, by
renaming, or not at all. The least recently used files are removed to make room for new ones.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import math
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from dalembert.base.files.digest import digest_of_source
from dalembert.base.files.private_files import NoHomeError, read_own, state_folder, user_folder
from dalembert.errors import DalembertError

MAGIC = b"dalembert-object-1\n"
LARGEST = 256 * 1024 * 1024
SECRET_LENGTH = 32
MEGABYTE = 1_000_000
USUAL_BOUND = 512 * MEGABYTE
LOOKS = 32  # average number of checks of the folder while as many bytes are written as it may hold
LEFT_AFTER_EVICTION = 0.75  # share of the size limit
ABANDONED = 600.0  # seconds after which an unfinished file counts as abandoned

PACKAGE = Path(__file__).resolve().parents[2]
# floors that only use kernels; a test checks that no code that produces kernels imports them
USERS = {"arm", "work", "views"}

_OBJECT = re.compile(r"[0-9a-f]{64}\.o")
_UNFINISHED = re.compile(r"\.new-\w+")


class CacheWarning(UserWarning):
    """Compiled kernels cannot be cached on disk, or cached ones cannot be used."""


def folder() -> Path:
    """The folder of compiled objects: ``dalembert`` in $DALEMBERT_CACHE or in the system's cache folder.

    >>> import os
    >>> str(folder()) == os.path.join(os.environ["DALEMBERT_CACHE"], "dalembert")
    True
    """
    variable = os.environ.get("DALEMBERT_CACHE")
    return (Path(variable) if variable else user_folder("XDG_CACHE_HOME", ".cache", "Library/Caches")) / "dalembert"


def bound() -> int:
    """The size limit in bytes: $DALEMBERT_CACHE_SIZE in megabytes, or 512 MB; with 0 nothing is written."""
    text = os.environ.get("DALEMBERT_CACHE_SIZE", "")
    if not text:
        return USUAL_BOUND
    try:
        size = float(text) * MEGABYTE
    except ValueError:
        size = math.nan
    if not 0 <= size < math.inf:
        raise DalembertError(f'DALEMBERT_CACHE_SIZE is "{text:.40}"; it must be the size in megabytes, such as 512')
    return int(size)


@cache
def source_digest(package: Path = PACKAGE) -> bytes:
    """A digest of all source that can affect a kernel: every file of the package except those of ``USERS``."""
    return digest_of_source(package, USERS)


def key_of(*parts: str) -> str:
    """The cache key of an object made from these parts."""
    digest = hashlib.sha256(source_digest())
    for part in parts:
        digest.update(hashlib.sha256(part.encode()).digest())
    return digest.hexdigest()


def cached(key: str, make: Callable[[], bytes]) -> bytes:
    """The code cached under ``key``, or the result of ``make``, cached from now on."""
    code = load(key)
    if code is None:
        code = make()
        store(key, code)
    return code


def load(key: str) -> bytes | None:
    """The code cached under ``key``, or None if there is none that can be trusted."""
    try:
        secret, path = _secret(), folder() / f"{key}.o"
        code = _code(secret, key, read_own(path, 0o022, LARGEST))
    except OSError:  # reported by ``store``
        return None
    if code is not None:
        with contextlib.suppress(OSError):
            os.utime(path)  # for the eviction by age
    return code


def store(key: str, code: bytes) -> None:
    """Cache ``code`` under ``key``; if that is impossible, nothing is stored and a warning states the reason."""
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
    except NoHomeError as problem:
        _say(f"compiled kernels are not cached on disk: {problem}")
    except OSError as problem:
        where = problem.filename2 or problem.filename or folder()
        _say(f"compiled kernels are not cached on disk: {where} cannot be written ({problem.strerror})")


# -- maintenance of the folder -------------------------------------------------------------------


class Entry(NamedTuple):
    """A cached object: its file, its size in bytes and the time of its last use (seconds since 1970)."""

    path: Path
    size: int
    used: float


def entries() -> list[Entry]:
    """The cached objects, least recently used first."""
    listed = [Entry(path, about.st_size, about.st_mtime) for path, about in _files(folder(), _OBJECT)]
    return sorted(listed, key=lambda entry: entry.used)


def tend() -> None:
    """Remove unfinished files of killed processes, and the least recently used objects, down to the size limit."""
    _remove_unfinished(older_than=ABANDONED)
    objects, most = entries(), bound()
    total = sum(entry.size for entry in objects)
    if total <= most:
        return
    for entry in objects:
        if total <= LEFT_AFTER_EVICTION * most:
            break
        if _removed(entry.path):
            total -= entry.size


@lru_cache(maxsize=16)
def _tidied(place: Path) -> None:
    """Remove unfinished files of killed processes from this folder, once per process."""
    _remove_unfinished(older_than=ABANDONED)


def verify() -> tuple[int, list[Path], list[Path]]:
    """(number of valid objects, invalid ones that were removed, invalid ones that could not be removed)."""
    secret = _secret()
    good, removed, stuck = 0, [], []
    for entry in entries():
        if _code(secret, entry.path.stem, read_own(entry.path, 0o022, LARGEST)) is not None:
            good += 1
        elif _removed(entry.path):
            removed.append(entry.path)
        else:
            stuck.append(entry.path)
    return good, removed, stuck


def clear() -> int:
    """Remove every cached object, and nothing else; returns their number."""
    _remove_unfinished(older_than=0.0)
    return sum(_removed(entry.path) for entry in entries())


def _files(path: Path, named: re.Pattern[str]) -> Iterator[tuple[Path, os.stat_result]]:
    if not path.is_dir():
        return
    with os.scandir(path) as listing:
        for file in listing:
            if named.fullmatch(file.name):
                with contextlib.suppress(FileNotFoundError):  # removed by another process
                    yield Path(file.path), file.stat(follow_symlinks=False)


def places() -> tuple[Path, Path]:
    """The folders that are used: that of the objects and that of the user's secret."""
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
    except OSError:  # a folder that is not empty, or another user's file
        return False
    return True


# -- files that can be trusted -------------------------------------------------------------------


def _code(secret: bytes, key: str, text: bytes | None) -> bytes | None:
    """The code in a file's content if it was signed for this key with this secret; otherwise None."""
    head = len(MAGIC) + 32
    if text is None or not text.startswith(MAGIC):
        return None
    code = text[head:]
    return code if hmac.compare_digest(text[len(MAGIC) : head], _signature(secret, key, code)) else None


def _signature(secret: bytes, key: str, code: bytes) -> bytes:
    return hmac.new(secret, key.encode() + b"\0" + code, hashlib.sha256).digest()


@contextlib.contextmanager
def _new_file(path: Path, content: bytes) -> Iterator[Path]:
    """A file with a unique name in the folder, which is created if necessary; the file is removed afterwards."""
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
        place = state_folder()
    except NoHomeError:
        if not os.environ.get("DALEMBERT_CACHE"):
            raise
        place = folder()
    return place / "cache-secret"


def _read_secret(path: Path) -> bytes | None:
    secret = read_own(path, 0o077, LARGEST)
    return secret if secret is not None and len(secret) == SECRET_LENGTH else None


def _secret() -> bytes:
    """The user's secret, created on first use or if the existing one is invalid; OSError if it cannot be created."""
    path = _secret_file()
    if (secret := _read_secret(path)) is not None:
        return secret
    with _new_file(path.parent, os.urandom(SECRET_LENGTH)) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            # another process may have been first: its secret is used, and only what cannot be a secret is replaced
            if _read_secret(path) is None:
                os.replace(temporary, path)
                _say(
                    f"{path} was not a secret of {SECRET_LENGTH} bytes that only you can read; it was replaced by a new one"
                )
    if (secret := _read_secret(path)) is None:
        raise OSError(errno.EIO, "the secret that signs compiled kernels cannot be stored", str(path))
    return secret


@lru_cache(maxsize=16)
def _say(sentence: str) -> None:
    """Issue a warning once per process."""
    warnings.warn(sentence, CacheWarning, stacklevel=2)
