"""Linear algebra on one thread, for many small matrices in a row.

NumPy's and SciPy's wheels include OpenBLAS, whose threads wait for one another: for matrices of a hundred
rows this costs more than it gains, and on a busy machine a hundred times more.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from dalembert.compiler.kernel.forks import KEEPING

_within: list[bool] = []  # number of threads inside the context
_before: list[int] = []  # thread count of each library before the first entry
PREFIXES, SUFFIXES = ("scipy_openblas", "openblas"), ("64_", "")


@cache
def _libraries() -> tuple[tuple[Any, Any], ...]:
    """Functions (get, set) for the number of threads of every OpenBLAS included in NumPy and SciPy."""
    calls = []
    for package in ("numpy", "scipy"):
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        home = Path(spec.origin).parent
        for folder in (home.parent / f"{package}.libs", home / ".dylibs"):
            for path in sorted(folder.glob("*openblas*")) if folder.is_dir() else ():
                with contextlib.suppress(OSError):
                    library = ctypes.CDLL(str(path))
                    for prefix, suffix in ((p, s) for p in PREFIXES for s in SUFFIXES):
                        read = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                        write = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                        if read is not None and write is not None:
                            calls.append((read, write))
                            break
    return tuple(calls)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """A context manager in which OpenBLAS uses one thread; other BLAS libraries are not affected.

    >>> import numpy as np
    >>> with one_thread():
    ...     float(np.linalg.det(np.eye(3)))
    1.0
    """
    with KEEPING:
        if not _within:
            _before[:] = [int(read()) for read, _ in _libraries()]
            for _, write in _libraries():
                write(1)
        _within.append(True)
    try:
        yield
    finally:
        with KEEPING:
            _within.pop()
            if not _within:  # the last concurrent thread leaves
                for (_, write), count in zip(_libraries(), _before, strict=True):
                    write(count)
