"""SciPy's reader of MATLAB files, in the helper process: the numbers of a file, and the names of its joints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import DalembertError
from dalembert.logs.formats.raw import DAMAGE, reason

LARGEST = 2**30  # bytes that all variables of a file may take
BYTES = {"double": 8, "single": 4, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
JOINTS = "joint_names"


def arrays_of(path: str) -> tuple[list[list[str]], dict[str, NDArray[Any]]]:
    """Every variable that is an array of numbers, structs as struct.field, and texts called joint_names: [name, …]."""
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import MatReadError

    try:
        size = sum(math.prod(shape) * BYTES.get(kind, 8) for _, shape, kind in whosmat(path))
        if size > LARGEST:
            raise DalembertError(f"{path}: its variables take {size} bytes; at most {LARGEST} are read, save fewer")
        found = loadmat(path, simplify_cells=True)
    except NotImplementedError:
        raise DalembertError(
            f"{path}: this MATLAB file is of version 7.3 (HDF5), which is not read; save it with save(…, '-v7')"
        ) from None
    except (DalembertError, MemoryError):
        raise
    except (MatReadError, *DAMAGE) as error:
        raise DalembertError(f"{path}: this is no MATLAB file ({reason(error)})") from None
    texts: list[list[str]] = []
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in _leaves({key: value for key, value in found.items() if not key.startswith("__")}):
        if value.dtype.kind in "fiub":
            arrays[name] = value
        else:
            texts.append([name, *(str(text).strip() for text in np.ravel(value))])
    return texts, arrays


def _leaves(found: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Arrays of numbers, however deep in structs; text, cells and objects are left out."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{name}.")
        elif name == JOINTS or np.asarray(value).dtype.kind in "fiub":
            yield f"{before}{name}", np.asarray(value)
