"""A digest of source files: equal in every process and on every machine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Set
from pathlib import Path


def digest_of_source(package: Path, without: Set[str] = frozenset()) -> bytes:
    """A digest of every Python file and IR template of a package, except those in the given folders."""
    digest = hashlib.sha256()
    for folder, rooms, files in os.walk(package):
        rooms[:] = sorted(set(rooms) - (without if folder == str(package) else set()))
        for name in sorted(file for file in files if file.endswith((".py", ".ll"))):
            path = os.path.join(folder, name)
            with open(path, "rb", buffering=0) as file:
                source = file.read()
            digest.update(f"{path[len(str(package)) :]}\0{len(source)}\0".encode() + source)
    return digest.digest()
