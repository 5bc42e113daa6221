"""A compiled loop as a real NumPy gufunc.

NumPy creates a gufunc from C function pointers through ``PyUFunc_FromFuncAndDataAndSignature`` in its
C API table, which is accessed here with ctypes. Broadcasting, ``out=``, casts and strides are then
handled by NumPy. NumPy keeps pointers to the code and never frees it; the ufunc is therefore given an object
that owns the code, in the field that holds the function of an ``np.frompyfunc`` and is released with
the ufunc. NumPy pickles ufuncs by name, which these do not have: that object also holds the recipe that recreates the
ufunc in another process.
"""

from __future__ import annotations

import copyreg
import ctypes
import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dalembert.compiler.kernel.compile import MachineCode
from dalembert.errors import DalembertError

Recipe = tuple[Callable[..., np.ufunc], tuple[Any, ...]]  # function and arguments that recreate a kernel

# index in NumPy's table of C functions for ufuncs; fixed by its ABI
_FROM_FUNC_AND_DATA_AND_SIGNATURE = 31


class _Ufunc(ctypes.Structure):
    """NumPy's PyUFuncObject up to the field ``obj``; its layout is part of NumPy's ABI."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        ("nin", ctypes.c_int), ("nout", ctypes.c_int), ("nargs", ctypes.c_int), ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p), ("data", ctypes.c_void_p), ("ntypes", ctypes.c_int),
        ("reserved1", ctypes.c_int), ("name", ctypes.c_void_p), ("types", ctypes.c_void_p), ("doc", ctypes.c_void_p),
        ("ptr", ctypes.c_void_p), ("obj", ctypes.c_void_p),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Owned:
    """The objects to which a ufunc points, and the recipe that recreates it; it lives as long as the ufunc."""

    memory: tuple[Any, ...]
    recipe: Recipe


def loop_of(ufunc: np.ufunc, kind: type[np.floating[Any]]) -> int:
    """The address of the loop of a ufunc for a type."""
    of = _Ufunc.from_address(id(ufunc))
    types = ctypes.cast(of.types, ctypes.POINTER(ctypes.c_byte))
    index = next(k for k in range(of.ntypes) if types[k * of.nargs] == np.dtype(kind).num)
    return int(ctypes.cast(of.functions, ctypes.POINTER(ctypes.c_void_p))[index] or 0)


def numpy_c_functions(table: str) -> Any:
    """The addresses in one of NumPy's tables of C functions, _ARRAY_API or _UFUNC_API."""
    new = int(np.__version__.partition(".")[0]) >= 2
    umath = importlib.import_module("numpy._core._multiarray_umath" if new else "numpy.core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(getattr(umath, table), None), ctypes.POINTER(ctypes.c_void_p))


@cache
def _api() -> Callable[..., Any]:
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int,
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
    )  # fmt: skip
    return prototype(numpy_c_functions("_UFUNC_API")[_FROM_FUNC_AND_DATA_AND_SIGNATURE])


def gufunc(code: MachineCode, signature: str, name: str, doc: str, recipe: Recipe, kinds: str = "fd") -> np.ufunc:
    """The gufunc whose loops are in ``code``; ``recipe`` (function, arguments) recreates it.

    ``kinds`` are the types it has loops for: f is float32, d is float64.
    """
    if re.search(r"[(,]0[,)]", signature):  # NumPy does not accept a core dimension of size 0
        raise DalembertError(f"{name} has nothing to compute: no joint moves")
    inputs, outputs = (part.count("(") for part in signature.split("->"))
    count, arrays = len(kinds), inputs + outputs
    loops = (ctypes.c_void_p * count)(*(code.address(f"loop_{kind}") for kind in kinds))
    data = (ctypes.c_void_p * count)(*[None] * count)
    types = (ctypes.c_byte * (count * arrays))(*(np.dtype(kind).num for kind in kinds for _ in range(arrays)))
    held = [ctypes.create_string_buffer(text.encode()) for text in (name, doc, signature)]
    ufunc = _api()(  # -1: no identity for reductions
        ctypes.addressof(loops), ctypes.addressof(data), ctypes.addressof(types), count, inputs, outputs,
        -1, ctypes.addressof(held[0]), ctypes.addressof(held[1]), 0, ctypes.addressof(held[2]),
    )  # fmt: skip
    owned = _Owned((code, loops, data, types, held), recipe)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owned))  # NumPy drops this reference when the ufunc is destroyed
    _Ufunc.from_address(id(ufunc)).obj = id(owned)
    return ufunc


def _reduce(ufunc: np.ufunc) -> Any:
    address = _Ufunc.from_address(id(ufunc)).obj
    owned = ctypes.cast(address, ctypes.py_object).value if address else None
    return owned.recipe if isinstance(owned, _Owned) else _numpys_own(ufunc)


_numpys_own = copyreg.dispatch_table[np.ufunc]
copyreg.pickle(np.ufunc, _reduce)
