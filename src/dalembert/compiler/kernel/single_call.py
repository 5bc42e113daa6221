"""A kernel's function for one state, at about half the cost of calling the gufunc.

``single_of(gufunc)`` is a built-in function of CPython with the fast-call convention, ``(self, args, count)``, made from
the machine code of ``emit/single_call.ll``; one function serves every kernel. ``self`` is a ``bytes`` object that contains
a table of numbers and addresses. It takes the gufunc's arrays as contiguous rows of float64 and returns an array, or None
for other arrays and for results that raised a floating-point flag: the caller then uses the gufunc, which reports errors
and warnings. Underflow, which NumPy ignores by default, does not count as such a flag. It is not available on platforms
whose object layout is not known.
"""

from __future__ import annotations

import ctypes
import platform
import re
import struct
import sys
import sysconfig
from functools import cache
from math import prod
from typing import Any

import numpy as np

from dalembert.compiler.emit.ir import template
from dalembert.compiler.kernel import cache as kernel_cache
from dalembert.compiler.kernel.compile import c_function, target
from dalembert.compiler.kernel.forks import COMPILING
from dalembert.compiler.kernel.gufunc import loop_of, numpy_c_functions
from dalembert.compiler.kernel.make import code_of

# the entries of the table, eight bytes each: numbers, addresses, and (shape, dims, steps) the offsets of lists in it;
# the lengths of the inputs follow
TABLE = (
    "inputs", "loop", "ndarray", "float64", "new", "clear", "test", "none", "retain", "release", "axes", "shape", "dims", "steps",
)  # fmt: skip
MOST_ARRAYS = 16

# offsets of an array's fields in NumPy's ABI, after the object header
DATA, AXES, LENGTHS, TYPE, FLAGS = 0, 8, 16, 40, 48
WELL_LAID = 0x101  # contiguous and aligned

# invalid, division by zero and overflow, as defined in each processor's fenv.h
MASKS = {"x86_64": 0x0D, "AMD64": 0x0D, "aarch64": 0x07, "arm64": 0x07}
_NEW_FROM_DESCR = 94  # index in NumPy's table of C functions for arrays; fixed by its ABI
_FASTCALL = 0x80


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def _method() -> Any:
    """The function's definition, and the owner of its code; None on an unknown platform.

    It is created once and never freed, because functions refer to it by address only. Concurrent threads must get the
    same one, whereas ``cache`` would create one for each and keep only the last.
    """
    with COMPILING:
        return _defined()


@cache
def _defined() -> Any:
    mask, threaded = MASKS.get(platform.machine()), sysconfig.get_config_var("Py_GIL_DISABLED")
    known = sys.implementation.name == "cpython" and sys.platform != "win32" and sys.maxsize > 2**62
    if mask is None or threaded or not known:
        return None
    text = single_ir(object.__basicsize__, bytes.__basicsize__ - 1, mask)
    code = code_of(kernel_cache.key_of("single", text, repr(target())), lambda: [text], "the call for one state")
    return _MethodDef(b"single", code.address("single"), _FASTCALL, None), code


@cache
def _addresses() -> dict[str, int]:
    """The entries of the table that are common to all kernels."""

    def address(function: Any) -> int:
        return int(ctypes.cast(function, ctypes.c_void_p).value or 0)

    return {
        "ndarray": id(np.ndarray), "float64": id(np.dtype(np.float64)), "none": id(None),
        "new": int(numpy_c_functions("_ARRAY_API")[_NEW_FROM_DESCR] or 0),
        "clear": c_function("feclearexcept"), "test": c_function("fetestexcept"),
        # CPython counts references itself: None and other immortal objects are not counted from 3.12 on
        "retain": address(ctypes.pythonapi.Py_IncRef), "release": address(ctypes.pythonapi.Py_DecRef),
    }  # fmt: skip


def single_ir(head: int, bytes_head: int, mask: int) -> str:
    """The function's text.

    head        bytes before an array's fields, the class last
    bytes_head  bytes before the content of a ``bytes`` object
    mask        the relevant flags as for fetestexcept: invalid, division by zero, overflow
    """
    loads = "\n".join(
        f"  %{name}.place = getelementptr i64, ptr %table, i64 {k}\n  %{name} = load i64, ptr %{name}.place"
        for k, name in enumerate(TABLE)
    )
    fields = {"data": DATA, "axes": AXES, "lengths": LENGTHS, "type": TYPE, "flags": FLAGS}
    return template(
        "single_call", most=MOST_ARRAYS, table=bytes_head, loads=loads, sizes=len(TABLE), class_=head - 8, well=WELL_LAID, mask=mask,
        **{name: head + at for name, at in fields.items()},
    )  # fmt: skip


def single_of(kernel: np.ufunc) -> Any:
    """The function, which keeps the kernel alive; None if there is none."""
    method = _method()
    inputs, outputs = (
        [tuple(map(int, filter(None, shape.split(",")))) for shape in re.findall(r"\((.*?)\)", part)]
        for part in str(kernel.signature).split("->")
    )
    one_array = len(outputs) == 1 and outputs[0] != ()
    if method is None or not one_array or len(inputs) >= MOST_ARRAYS or any(len(x) != 1 for x in inputs):
        return None
    shapes = (*inputs, *outputs)
    strides = [8 * prod(core[k + 1 :]) for core in shapes for k in range(len(core))]
    lists = {"shape": outputs[0], "dims": (1,), "steps": (*(8 * prod(core) for core in shapes), *strides)}
    entries = _addresses() | {"inputs": len(inputs), "loop": loop_of(kernel, np.float64), "axes": len(outputs[0])}
    lengths = [length for (length,) in inputs]
    at = 8 * (len(TABLE) + len(lengths))
    for name, numbers in lists.items():
        entries[name] = at
        at += 8 * len(numbers)
    content = [*(entries[name] for name in TABLE), *lengths, *(x for numbers in lists.values() for x in numbers)]
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    # the object in the function's module field lives as long as the function
    return make(ctypes.addressof(method[0]), struct.pack(f"={len(content)}q", *content), kernel)
