"""The C compilers of this machine, for tests of generated code; `make test-machines` installs them."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

ELSEWHERE = "needs another machine:"  # begins the reason of a skipped test that CI may skip, too
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wdouble-promotion")
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def compiler(name: str) -> str:
    """Its path; where there is none the test is skipped, but never in CI."""
    path = shutil.which(name)
    if path is None and "CI" not in os.environ:
        pytest.skip(f"there is no {name} here; make test-machines installs it on Debian")
    assert path is not None, f"there is no {name}; on Debian: apt-get install {name}"
    return path


def compiled(name: str, folder: Path, out: str, sources: Sequence[Path], *flags: str) -> Path:
    """A program or library made of the sources, without any warning."""
    command = [compiler(name), *STRICT, *flags, "-I", str(folder), *map(str, sources), "-o", str(folder / out), "-lm"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0 and run.stderr == "", run.stderr[:3000]
    return folder / out


def library(name: str, folder: Path, *flags: str) -> ctypes.CDLL:
    """All C files of a folder, self-tests aside, as a shared library."""
    sources = [path for path in sorted(folder.glob("*.c")) if not path.stem.endswith("_test")]
    return ctypes.CDLL(str(compiled(name, folder, f"{name}.so", sources, "-shared", "-fPIC", *(flags or ("-O1",)))))


def call(function: object, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """Call a C function of pointers; its outputs."""
    arrays = [np.ascontiguousarray(x) for x in inputs]
    function.restype = None  # type: ignore[attr-defined]
    function(*(ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *outputs)))  # type: ignore[operator]
    return outputs
