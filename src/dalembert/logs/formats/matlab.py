"""MATLAB files up to version 7: variables, and the fields of structs as struct.field."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.files import open_bounded
from dalembert.files.foreign import ask
from dalembert.logs.formats.raw import Raw, Request

LARGEST_FILE = 2**30  # bytes


def read_matlab(path: Path, request: Request) -> Raw:
    """Every variable that is an array of numbers; SciPy reads the file in the helper process."""
    open_bounded(path, LARGEST_FILE, "MATLAB file", DalembertError).close()
    texts, arrays = ask(
        "dalembert.logs.formats.matlab_reader:arrays_of",
        {"path": str(path)},
        where=str(path),
        reader="SciPy's reader of MATLAB files",
    )
    raw = Raw(str(path))
    leaves: dict[str, Any] = {**arrays, **{name: np.array(words) for name, *words in texts}}
    short = Counter(name.rpartition(".")[2] for name in leaves)
    for name, values in leaves.items():
        last = name.rpartition(".")[2]
        raw.arrays[last if short[last] == 1 else name] = values
    names = raw.arrays.pop("joint_names", None)
    if names is not None:
        raw.joints = dict.fromkeys(raw.arrays, tuple(str(name).strip() for name in np.ravel(names)))
    return raw
