"""MATLAB files up to version 7: variables, and the fields of structs as struct.field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.identification.formats.raw import DAMAGE, Raw, Request, reason


def read_matlab(path: Path, request: Request) -> Raw:
    """Every variable that is an array of numbers."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        found = loadmat(str(path), simplify_cells=True)
    except NotImplementedError:
        raise DalembertError(
            f"{path}: this MATLAB file is of version 7.3 (HDF5), which is not read; save it with save(…, '-v7')"
        ) from None
    except (MatReadError, *DAMAGE) as error:
        raise DalembertError(f"{path}: this is no MATLAB file ({reason(error)})") from None
    raw = Raw(str(path))
    leaves = dict(_leaves({k: v for k, v in found.items() if not k.startswith("__")}))
    short = [name.rpartition(".")[2] for name in leaves]
    for name, values in leaves.items():
        last = name.rpartition(".")[2]
        raw.arrays[last if short.count(last) == 1 else name] = values
    names = raw.arrays.pop("joint_names", None)
    if names is not None:
        said = tuple(str(name).strip() for name in np.ravel(names))
        raw.joints = dict.fromkeys(raw.arrays, said)
    return raw


def _leaves(found: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Arrays of numbers, however deep in structs; text, cells and objects are left out."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{name}.")
        elif name == "joint_names" or np.asarray(value).dtype.kind in "fiub":
            yield f"{before}{name}", np.asarray(value)
