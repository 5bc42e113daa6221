"""Compiled objects on disk: keyed by content, written atomically, checked before use.

The folder is the user's own (0700). A file starts with a signature over its key and its code, made
with a secret of the user that lies elsewhere, so that a truncated, foreign or tampered file is
recognised; it is never executed, only compiled again. Several processes may share the folder: a
file appears whole, by renaming, or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path

MAGIC = b"dalembert-object-1\n"
LARGEST = 256 * 1024 * 1024


def folder() -> Path:
    """Where compiled objects lie: $DALEMBERT_CACHE, or the system's cache folder."""
    if chosen := os.environ.get("DALEMBERT_CACHE"):
        return Path(chosen)
    return _base("XDG_CACHE_HOME", ".cache", "Library/Caches") / "dalembert"


def _base(variable: str, linux: str, mac: str) -> Path:
    if value := os.environ.get(variable):
        return Path(value)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home())))
    return Path.home() / (mac if sys.platform == "darwin" else linux)


@cache
def source_digest() -> bytes:
    """A digest of dalembert's own source: other code, other kernels."""
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for room in ("robot", "equations", "graph", "emit", "kernel"):
        for path in sorted((package / room).glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for name in ("quantities.py", "closed_quantities.py", "task_quantities.py", "gradients.py", "rollouts.py"):
        digest.update((package / name).read_bytes())
    return digest.digest()


def key_of(*parts: str) -> str:
    """The name under which something made from these parts is kept."""
    digest = hashlib.sha256(source_digest())
    for part in parts:
        digest.update(hashlib.sha256(part.encode()).digest())
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """The code kept under ``key``, or None when there is none that can be trusted."""
    secret = _secret()
    if secret is None:
        return None
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(folder() / f"{key}.o", flags)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST or not _ours(about):
            return None
        text = file.read()
    head = len(MAGIC) + 32
    code = text[head:]
    if not text.startswith(MAGIC) or not hmac.compare_digest(text[len(MAGIC) : head], _signature(secret, key, code)):
        return None
    return code


def store(key: str, code: bytes) -> None:
    """Keep ``code`` under ``key``; where the disk does not allow it, nothing is kept."""
    secret = _secret()
    if secret is None:
        return
    with contextlib.suppress(OSError):
        _write(folder(), f"{key}.o", MAGIC + _signature(secret, key, code) + code)


def _signature(secret: bytes, key: str, code: bytes) -> bytes:
    return hmac.new(secret, key.encode() + b"\0" + code, hashlib.sha256).digest()


def _ours(about: os.stat_result) -> bool:
    """Whether the file belongs to this user and nobody else may write it."""
    return not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & 0o022)


def _private(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hasattr(os, "getuid") and path.stat().st_mode & 0o077:
        path.chmod(0o700)


def _write(path: Path, name: str, content: bytes) -> None:
    _private(path)
    descriptor, temporary = tempfile.mkstemp(dir=path, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path / name)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _secret() -> bytes | None:
    """The user's secret, made on first use; None where it can neither be read nor made."""
    path = _base("XDG_STATE_HOME", ".local/state", "Library/Application Support") / "dalembert"
    file = path / "cache-secret"
    try:
        if not file.exists():
            _private(path)
            descriptor, temporary = tempfile.mkstemp(dir=path, prefix=".new-")
            with os.fdopen(descriptor, "wb") as new:
                new.write(secrets.token_bytes(32))
            try:
                os.link(temporary, file)  # fails when another process was first: then theirs counts
            except FileExistsError:
                pass
            finally:
                os.unlink(temporary)
        if not _ours(file.stat()):
            return None
        secret = file.read_bytes()
    except OSError:
        return None
    return secret if len(secret) == 32 else None
