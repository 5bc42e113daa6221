"""A compiled loop as a real NumPy gufunc.

NumPy makes a gufunc from C function pointers through ``PyUFunc_FromFuncAndDataAndSignature`` in its
C API table, which is reached here with ctypes. Broadcasting, ``out=``, casts and strides are then
NumPy's own. NumPy pickles ufuncs by name, which ours do not have: each is registered with the
recipe that makes it again on the other side.
"""

from __future__ import annotations

import copyreg
import ctypes
import importlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.kernel.compile import Loaded

# the position in NumPy's table of C functions for ufuncs; fixed by its ABI
_FROM_FUNC_AND_DATA_AND_SIGNATURE = 31

_recipes: dict[int, tuple[np.ufunc, Callable[..., np.ufunc], tuple[Any, ...]]] = {}


def _api() -> Callable[..., Any]:
    new = int(np.__version__.partition(".")[0]) >= 2
    umath = importlib.import_module("numpy._core._multiarray_umath" if new else "numpy.core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int,
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
    )  # fmt: skip
    return prototype(table[_FROM_FUNC_AND_DATA_AND_SIGNATURE])


def gufunc(
    code: Loaded,
    signature: str,
    inputs: int,
    outputs: int,
    name: str,
    doc: str,
    recipe: tuple[Callable[..., np.ufunc], tuple[Any, ...]],
    kinds: str = "fd",
) -> np.ufunc:
    """The gufunc whose loops ``code`` holds; ``recipe`` (function, arguments) makes it again.

    ``kinds`` are the types it has loops for: f is float32, d is float64.
    """
    if re.search(r"[(,]0[,)]", signature):  # NumPy takes no core of size 0
        raise DalembertError(f"{name} has nothing to compute: no joint moves")
    count, arrays = len(kinds), inputs + outputs
    loops = (ctypes.c_void_p * count)(*(code.address(f"loop_{kind}") for kind in kinds))
    data = (ctypes.c_void_p * count)(*[None] * count)
    types = (ctypes.c_byte * (count * arrays))(*(np.dtype(kind).num for kind in kinds for _ in range(arrays)))
    held = [ctypes.create_string_buffer(text.encode()) for text in (name, doc, signature)]
    none = -1  # no identity for reductions
    ufunc = _api()(
        ctypes.addressof(loops), ctypes.addressof(data), ctypes.addressof(types), count, inputs, outputs,
        none, ctypes.addressof(held[0]), ctypes.addressof(held[1]), 0, ctypes.addressof(held[2]),
    )  # fmt: skip
    # NumPy keeps pointers into all of this, and a ufunc may be called as long as the process lives
    _immortal.append((code, loops, data, types, held))
    _recipes[id(ufunc)] = (ufunc, *recipe)
    return ufunc


_immortal: list[Any] = []


def _reduce(ufunc: np.ufunc) -> Any:
    if id(ufunc) in _recipes:
        return _recipes[id(ufunc)][1:]
    return _numpys_own(ufunc)


_numpys_own = copyreg.dispatch_table[np.ufunc]
copyreg.pickle(np.ufunc, _reduce)
