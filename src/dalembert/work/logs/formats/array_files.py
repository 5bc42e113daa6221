"""Files of arrays: npz with named arrays, npy with one matrix whose columns are selected by number, and MATLAB files.

An array of an npz is read only when needed, after a check of its header: a file of a few bytes can contain an array of
any size. MATLAB files up to version 7 are read by SciPy: variables, and the fields of structs as struct.field.
"""

from __future__ import annotations

import math
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dalembert.base.environment.extras import extra
from dalembert.base.files import open_bounded
from dalembert.base.tables.number_tables import LARGEST_FILE
from dalembert.errors import DalembertError
from dalembert.work.logs.formats.raw import MOST_NUMBERS, Raw, Request, check_names, check_size, damage_told

MAGIC = (b"PK", b"\x93NUMPY")  # first bytes of zip archives (npz) and single arrays (npy)
LONGEST_HEADER = 10_000  # bytes before the numbers of an array, as in NumPy
LONGEST_LIST = 1 << 20  # bytes of the directory of an npz file, about 10,000 arrays
LARGEST = 2**30  # bytes of a MATLAB file, and bytes of all its variables
BYTES = {"double": 8, "single": 4, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
JOINTS = "joint_names"  # the array that names the joints of the columns


def read_numpy(path: Path, request: Request) -> Raw:
    """Plain arrays; pickled objects are refused, because reading one can execute arbitrary code."""
    raw = Raw(str(path))
    with open_bounded(path, LARGEST_FILE, "log") as file:
        start = file.read(6)
        file.seek(0)
        if not start.startswith(MAGIC):
            raise DalembertError(f"{path}: this is not a valid {path.suffix.lower()} file: its first bytes are wrong")
        with _damage_told(path):
            if not start.startswith(b"PK"):
                table = _array(file, f"{path}: the array", matrix=True)
                with np.errstate(invalid="ignore"):
                    raw.table, raw.headed = np.asarray(table, float), False
                return raw
            with ZipFile(_Listed(file)) as archive:
                names = [name.removesuffix(".npy") for name in archive.namelist()]
    check_names(str(path), names, "array")
    raw.arrays = {name: partial(_member, path, name) for name in names}
    if raw.arrays.pop(JOINTS, None) is not None:
        raw.joints = dict.fromkeys(raw.arrays, _words(path, JOINTS))
    return raw


def _words(path: Path, name: str) -> tuple[str, ...]:
    """An array of names."""
    said = _member(path, name).ravel()
    if said.dtype.kind not in "US" or not said.size or not said.dtype.itemsize:
        raise DalembertError(f"{path}: '{name}' contains {said.dtype}, not names; save it as an array of strings")
    codes = said.astype(said.dtype.newbyteorder("=")).view(np.uint8 if said.dtype.kind == "S" else np.uint32)
    if codes.max() > (127 if said.dtype.kind == "S" else sys.maxunicode):
        raise DalembertError(f"{path}: '{name}' contains invalid text; save it as an array of strings")
    words = tuple(said.astype(str).tolist())
    check_names(str(path), words, "joint")
    return words


def _member(path: Path, name: str) -> Any:
    """One array of an npz file."""
    with open_bounded(path, LARGEST_FILE, "log") as file, _damage_told(path), ZipFile(_Listed(file)) as archive:
        members = archive.NameToInfo
        about = members[f"{name}.npy" if f"{name}.npy" in members else name]
        if about.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise DalembertError(
                f"{path}: '{name}' is compressed by zip method {about.compress_type}, which NumPy does not write; "
                "save it with numpy.savez_compressed"
            )
        with archive.open(about) as member:
            return _array(member, f"{path}: '{name}'")


def _array(file: Any, what: str, matrix: bool = False) -> Any:
    """The array in a stream, if it is a plain array of numbers or strings of admissible size."""
    start = file.read(12)
    if start[:6] != MAGIC[1] or start[6:7] not in (b"\x01", b"\x02"):
        raise DalembertError(f"{what} is not a plain array; save arrays of numbers")
    length = struct.unpack("<H", start[8:10])[0] + 10 if start[6] == 1 else struct.unpack("<I", start[8:12])[0] + 12
    if length > LONGEST_HEADER:
        raise DalembertError(f"{what} has a header of {length} bytes; the maximum is {LONGEST_HEADER}")
    header = BytesIO(start + file.read(length - 12))
    version = npy.read_magic(header)
    reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, columns_first, dtype = reader(header)
    if dtype.hasobject:
        raise DalembertError(
            f"{what} is not a plain array but a pickled object, which is refused because it could execute any code; save "
            "arrays of numbers"
        )
    if min(shape, default=0) < 0:
        raise DalembertError(f"{what} has the impossible shape {shape}")
    if matrix and (len(shape) != 2 or dtype.kind not in "fiub"):
        raise DalembertError(
            f"{what} of {dtype} has shape {shape}; a log must be a matrix of numbers, with one row per instant"
        )
    check_size(what, math.prod(shape))
    size = math.prod(shape) * dtype.itemsize
    if size > 8 * MOST_NUMBERS:
        raise DalembertError(f"{what} has {size} bytes; the maximum is {8 * MOST_NUMBERS}, so split the log")
    data = np.empty(size, np.uint8)
    done = 0
    while done < size:
        got = file.readinto(data.data[done : done + (1 << 20)])
        if not got:
            raise DalembertError(f"{what} ends after {done} of its {size} bytes")
        done += got
    return data.view(dtype).reshape(shape, order="F" if columns_first else "C")


class _Listed:
    """A file whose zip directory, which is read in one piece, may not be longer than ``LONGEST_LIST``."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > LONGEST_LIST:
            raise BadZipFile(f"its directory is longer than {LONGEST_LIST} bytes")
        return self.file.read(size if size >= 0 else LONGEST_LIST)  # without a size: the end of the archive


def _damage_told(path: Path) -> AbstractContextManager[None]:
    return damage_told(
        f"{path}: this is not a {path.suffix.lower()} file of plain arrays", BadZipFile, OSError, MemoryError
    )


# -- MATLAB ------------------------------------------------------------------------------------------


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
