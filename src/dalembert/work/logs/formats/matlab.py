"""MATLAB files up to version 7, read by SciPy: variables, and the fields of structs as struct.field."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.environment.extras import extra
from dalembert.base.files import open_bounded
from dalembert.errors import DalembertError
from dalembert.work.logs.formats.raw import Raw, Request, damage_told

LARGEST = 2**30  # bytes of a file, and bytes of all its variables
BYTES = {"double": 8, "single": 4, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
JOINTS = "joint_names"


def read_matlab(path: Path, request: Request) -> Raw:
    """All variables that are numeric arrays; joint_names names the joints of their columns."""
    with extra("logs", f"{path}: a MATLAB file"):
        from scipy.io import loadmat, whosmat
        from scipy.io.matlab import MatReadError

    open_bounded(path, LARGEST, "MATLAB file").close()
    with damage_told(f"{path}: this is not a MATLAB file", MatReadError):
        try:
            size = sum(math.prod(shape) * BYTES.get(kind, 8) for _, shape, kind in whosmat(path))
            if size > LARGEST:
                raise DalembertError(
                    f"{path}: its variables take {size} bytes; the maximum is {LARGEST}, so save fewer"
                )
            variables = loadmat(path, simplify_cells=True)
        except NotImplementedError:
            raise DalembertError(
                f"{path}: this MATLAB file has version 7.3 (HDF5), which is not supported; save it with save(…, '-v7')"
            ) from None
    leaves = dict(_leaves({name: value for name, value in variables.items() if not name.startswith("__")}))
    short = Counter(name.rpartition(".")[2] for name in leaves)
    arrays = {last if short[last := name.rpartition(".")[2]] == 1 else name: values for name, values in leaves.items()}
    names = arrays.pop(JOINTS, None)
    raw = Raw(str(path), arrays={name: values for name, values in arrays.items() if values.dtype.kind in "fiub"})
    if names is not None:
        raw.joints = dict.fromkeys(raw.arrays, tuple(str(name).strip() for name in np.ravel(names)))
    return raw


def _leaves(fields: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Numeric arrays, at any depth in structs, and joint names; other text, cells and objects are ignored."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{name}.")
        elif name == JOINTS or np.asarray(value).dtype.kind in "fiub":
            yield f"{before}{name}", np.asarray(value)
