"""NumPy's own files: npz with arrays by name, npy with one matrix whose columns are asked for by number."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from dalembert.errors import DalembertError
from dalembert.identification.formats.raw import DAMAGE, Raw, Request, reason

MAGIC = (b"PK", b"\x93NUMPY")  # how zip archives (npz) and single arrays (npy) begin
WRONG: tuple[type[Exception], ...] = (BadZipFile, *DAMAGE)


def read_numpy(path: Path, request: Request) -> Raw:
    """Plain arrays; pickled objects are refused, since reading one can run any program."""
    raw = Raw(str(path))
    with path.open("rb") as start:
        if not start.read(6).startswith(MAGIC):
            raise DalembertError(f"{path}: this is no {path.suffix.lower()} file: it does not begin as one")
    try:
        file = np.load(path, allow_pickle=False)
        if isinstance(file, np.ndarray):
            if file.ndim != 2:
                raise DalembertError(
                    f"{path}: the array has shape {file.shape}; a log is a matrix, a row for each instant"
                )
            raw.table, raw.headed = np.asarray(file, float), False
            return raw
        with file:
            for name in file.files:
                try:
                    raw.arrays[name] = file[name]
                except ValueError:
                    raw.arrays[name] = None
                    raw.faults[name] = (
                        f"{path}: '{name}' is not a plain array but a pickled object, which is not read, since it could run "
                        "any program; save arrays of numbers"
                    )
    except DalembertError:
        raise
    except WRONG as error:
        raise DalembertError(
            f"{path}: this is no {path.suffix.lower()} file of plain arrays ({reason(error)})"
        ) from None
    names = raw.arrays.pop("joint_names", None)
    if names is not None:
        said = tuple(str(name) for name in np.ravel(names))
        raw.joints = dict.fromkeys(raw.arrays, said)
    return raw
