"""Linear algebra on one thread, for many small matrices in a row.

NumPy's and SciPy's wheels bring OpenBLAS, whose threads wait for one another: for matrices of a hundred
rows that costs more than it brings, and on a machine that has other work to do a hundred times more.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from dalembert.kernel.forks import KEEPING

_within: list[bool] = []  # one for every thread that is within it
_before: list[int] = []  # threads of each library before the first of them
PREFIXES, SUFFIXES = ("scipy_openblas", "openblas"), ("64_", "")


@cache
def _libraries() -> tuple[tuple[Any, Any], ...]:
    """(get, set) the number of threads, of every OpenBLAS that came with NumPy and SciPy."""
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
    """Within it OpenBLAS uses one thread; another BLAS is left alone.

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
            if not _within:  # the last of the threads that were within it at once
                for (_, write), count in zip(_libraries(), _before, strict=True):
                    write(count)
