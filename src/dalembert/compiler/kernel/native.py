"""Compilation of plain Python functions on numbers and arrays: ``@native``.

The native functions of a module are compiled together with all functions they call when the first of them is called,
and are cached under a key that contains the source of all modules involved. :mod:`dalembert.compiler.emit.functions` lists the
supported constructs. A function also runs as Python without the compiler: ``function.__wrapped__``.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.compiler.emit.functions import BOOL, FLOAT, INT, ArrayType, Type, functions_ir, interface_of
from dalembert.compiler.kernel.cache import key_of
from dalembert.compiler.kernel.compile import MachineCode, target
from dalembert.compiler.kernel.forks import COMPILING
from dalembert.compiler.kernel.make import code_of
from dalembert.errors import DalembertError

# arrays by their number of dimensions, which the translator reads from the name
Floats1: TypeAlias = Array
Floats2: TypeAlias = Array
Floats3: TypeAlias = Array
Integers1: TypeAlias = NDArray[np.int64]
Integers2: TypeAlias = NDArray[np.int64]
Flags1: TypeAlias = NDArray[np.bool_]

lanes = range  # range of a loop with independent iterations, except for sums, minima and maxima

Function = TypeVar("Function", bound=Callable[..., Any])

PASSED: dict[str, Any] = {FLOAT: ctypes.c_double, INT: ctypes.c_int64, BOOL: ctypes.c_bool}
DTYPES = {FLOAT: np.dtype(np.float64), INT: np.dtype(np.int64), "i8": np.dtype(np.bool_)}

HEAD = object.__basicsize__  # bytes of a NumPy array before its data pointer; the layout is part of NumPy's ABI
_address = ctypes.c_uint64

_natives: dict[str, list[FunctionType]] = {}  # by module


def native(function: Function) -> Function:
    """The function, compiled with its module at the first call; it returns one number or None."""
    assert isinstance(function, FunctionType)
    _natives.setdefault(function.__module__, []).append(function)
    interface = interface_of(function)
    packers = [_packer(type_) for _, type_ in interface.parameters]
    call: Callable[..., Any] | None = None

    def compiled(*given: Any) -> Any:
        nonlocal call
        if call is None:
            call = _entry(function)
        return call(*[word for pack, value in zip(packers, given, strict=True) for word in pack(value)])

    return cast(Function, update_wrapper(compiled, function))


Packer = Callable[[Any], Sequence[Any]]


def _packer(type_: Type) -> Packer:
    """The arguments for a value of this type: itself, an array's address and shape, or the words of a record."""
    if isinstance(type_, str):
        return lambda value: (value,)
    if isinstance(type_, ArrayType):
        return partial(_array_words, DTYPES[type_.element], type_.ndim)
    packers = [_packer(part) for _, part in type_.fields]
    layout = struct.Struct(
        "".join("d" if part == FLOAT else "q" * (1 + getattr(part, "ndim", 0)) for _, part in type_.fields)
    )
    return lambda value: (layout.pack(*[word for pack, x in zip(packers, value, strict=True) for word in pack(x)]),)


def _array_words(dtype: np.dtype[Any], ndim: int, value: Any) -> Sequence[Any]:
    if value.dtype != dtype or value.ndim != ndim or not value.flags.c_contiguous:
        raise DalembertError(
            f"native code received an array of {value.dtype} with {value.ndim} dimensions; it needs a contiguous "
            f"one of {dtype} with {ndim}"
        )
    return _address.from_address(id(value) + HEAD).value, *value.shape


def _entry(function: FunctionType) -> Callable[..., Any]:
    """The compiled function, which releases the interpreter lock while it runs."""
    interface = interface_of(function)
    kinds: list[Any] = []
    for _, type_ in interface.parameters:
        if isinstance(type_, str):
            kinds.append(PASSED[type_])
        else:
            kinds += [ctypes.c_void_p, *[ctypes.c_int64] * getattr(type_, "ndim", 0)]
    returned = PASSED[interface.returns[0]] if interface.returns else None
    with COMPILING:  # one unit for concurrent threads
        address = _code(function.__module__).address(function.__name__)
    return ctypes.CFUNCTYPE(returned, *kinds)(address)


@cache
def _code(module: str) -> MachineCode:
    texts = [Path(str(sys.modules[name].__file__)).read_text("utf-8") for name in _used(module)]
    key = key_of("native", *texts, repr(target()))
    return code_of(key, lambda: [functions_ir(_natives[module])], f"the functions of {module}", optimise=True)


def _used(module: str) -> list[str]:
    """The module and those from which it uses functions, directly or indirectly."""
    listed = [module]
    for name in listed:
        functions = (x for x in vars(sys.modules[name]).values() if isinstance(x, FunctionType))
        listed += sorted({x.__module__ for x in functions} - set(listed) - {__name__, "math"})
    return listed
