"""Digests of values and of source files: equal inputs have equal digests, in every process and on every machine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

Update = Callable[[bytes], None]


def digest_of(*values: Any) -> str:
    """64 hexadecimal digits for plain values, arrays, dataclasses and containers of them.

    Objects that say how they are pickled (``__reduce__``), such as an :class:`~dalembert.Arm`, count as what they are made
    from. A function has no digest.

    >>> digest_of({"mass": 0.05}, [1, 2]) == digest_of({"mass": 0.05}, [1, 2])
    True
    >>> digest_of([1, 2]) == digest_of([1.0, 2])
    False
    """
    digest = hashlib.sha256()
    for value in values:
        _walk(value, digest.update)
    return digest.hexdigest()


def _walk(value: Any, update: Update) -> None:
    """Feed a value with its type and its length, so that no two values feed the same bytes."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiubcSU":
        _tagged(update, f"array {value.dtype.str} {value.shape}", value.tobytes())
    elif isinstance(value, np.generic):
        _walk(np.asarray(value), update)
    elif value is None or isinstance(value, (bool, int, float, complex)):
        _tagged(update, type(value).__name__, repr(value).encode())
    elif isinstance(value, (str, os.PathLike)):
        _tagged(update, type(value).__name__, os.fspath(value).encode("utf-8", "surrogatepass"))
    elif isinstance(value, bytes):
        _tagged(update, "bytes", value)
    elif isinstance(value, Mapping):
        _several(update, f"mapping {len(value)}", (part for item in value.items() for part in item))
    elif isinstance(value, Set):
        _several(update, f"set {len(value)}", sorted(map(digest_of, value)))
    elif is_dataclass(value) and not isinstance(value, type):
        entries = [(entry.name, getattr(value, entry.name)) for entry in fields(value)]
        _several(update, f"{type(value).__module__}.{type(value).__qualname__}", entries)
    elif isinstance(value, (list, tuple)):
        _several(update, f"sequence {len(value)}", value)
    elif type(value).__module__.startswith("sympy."):
        _tagged(update, type(value).__qualname__, str(value).encode())
    elif type(value).__reduce__ is not object.__reduce__ and not isinstance(value, type):
        _several(update, type(value).__qualname__, value.__reduce__()[1])
    else:
        raise DalembertError(
            f"a {type(value).__name__} has no digest to identify the run when it is resumed; omit resume"
        )


def _tagged(update: Update, tag: str, content: bytes) -> None:
    update(f"{tag} {len(content)}\0".encode())
    update(content)


def _several(update: Update, tag: str, values: Iterable[Any]) -> None:
    update(f"{tag}(".encode())
    for value in values:
        _walk(value, update)
    update(b")")


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
