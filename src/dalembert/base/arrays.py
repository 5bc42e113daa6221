"""Conversion of numeric arguments to arrays: one rule for types, and the messages for input that breaks it.

float32 stays float32. Every other real type (float16, longdouble, integers, bool, Python numbers) becomes float64.
Dask arrays stay lazy where a method can work block by block; where values are needed immediately, they are refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.wording import shown
from dalembert.errors import ShapeError

Array = NDArray[Any]  # float32 or float64, known when a program runs: `real` decides
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
TOO_LARGE = f"a number beyond ±{np.finfo(DOUBLE).max:.2g}, the largest that float64 has"


def real(name: str, value: Any) -> Any:
    """``value`` as an array of float32, if it holds float32, and otherwise of float64; lazy arrays stay lazy.

    >>> real("q", np.float16([1, 2])).dtype, real("q", np.float32([1, 2])).dtype, real("q", [True, False]).dtype
    (dtype('float64'), dtype('float32'), dtype('float64'))
    """
    if type(value) is not np.ndarray and not _computes_itself(value):
        value = _array(name, value)
    dtype = value.dtype
    if dtype is DOUBLE or dtype is SINGLE:
        return value
    if dtype.kind == "O":
        return _objects(name, value)
    if dtype.kind not in "fiub":
        raise ShapeError(f"{name} holds {dtype}, not real numbers: give integers or floats")
    try:
        with np.errstate(over="raise"):
            return value.astype(SINGLE if dtype.kind == "f" and dtype.itemsize == 4 else DOUBLE)
    except FloatingPointError:
        raise ShapeError(f"{name} holds {TOO_LARGE}") from None


def double(name: str, value: Any) -> NDArray[np.float64]:
    """``value`` as a NumPy array of float64.

    >>> double("kp", [1, 2])
    array([1., 2.])
    """
    return np.asarray(real(name, at_once(name, value)), DOUBLE)


def is_lazy(value: Any) -> bool:
    """Whether ``value`` is a Dask array. Dask is not imported here: if nobody has imported it, nothing can be one.

    >>> is_lazy(np.zeros(3))
    False
    """
    kind = getattr(sys.modules.get("dask.array"), "Array", None)
    return kind is not None and isinstance(value, kind)


def at_once(name: str, value: Any) -> Any:
    """``value`` unchanged; a Dask array is refused, because its values would have to be computed here and now.

    >>> at_once("q", [1.0, 2.0])
    [1.0, 2.0]
    """
    if is_lazy(value):
        raise ShapeError(f"{name} is a Dask array, but its values are needed immediately: give {name}.compute()")
    return value


def number(name: str, value: Any) -> float:
    """``value`` as one float.

    >>> number("mass", np.float32(2))
    2.0
    """
    if isinstance(value, str):
        raise ShapeError(f"{name} is {shown(value)}; it must be a number in SI units")
    array = double(name, value)
    if array.ndim:
        raise ShapeError(f"{name} has shape {array.shape}; it must be one number")
    return float(array)


def which_state(index: Iterable[Any]) -> str:
    """The index of a state in a batch, in words for the end of a clause; empty if there is no batch.

    >>> which_state((2, 0))
    ' (state 2, 0 of the batch)'
    """
    numbers = ", ".join(str(int(k)) for k in index)
    return f" (state {numbers} of the batch)" if numbers else ""


def by_joint(name: str, table: Any, joints: Sequence[str]) -> Any:
    """A table, or a series, whose labels are the joints' names, in the order of the joints; others as they are.

    Labels that are the names of some joints only are an error, because columns are otherwise taken by their position.
    """
    labels = list(getattr(table, "columns", getattr(table, "index", ())))
    if labels == list(joints) or not set(labels) & set(joints):
        return table
    if sorted(map(str, labels)) != sorted(joints):
        raise ShapeError(
            f"{name} has the columns {', '.join(map(str, labels[:20]))}, but the joints are {', '.join(joints)}: name every joint "
            "once, or give an array"
        )
    return table[list(joints)]


def _computes_itself(value: Any) -> bool:
    """Whether the array implements gufuncs itself, as Dask arrays do; tables of pandas and others are converted."""
    own = getattr(type(value), "__array_ufunc__", None)
    return own is not None and own is not np.ndarray.__array_ufunc__ and not isinstance(value, np.generic) and not hasattr(
        value, "to_numpy"
    )  # fmt: skip


def _array(name: str, value: Any) -> Any:
    """Lists, scalars, tables and subclasses of NumPy's array as plain arrays."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ShapeError(
            f"{name} is a masked array with {int(np.ma.count_masked(value))} values masked; fill them, or drop the states"
        )
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        if type(value).__module__.startswith("jax"):
            raise ShapeError(
                f"{name} is traced by JAX (jit, vmap, grad), but this call computes with NumPy: call it outside of the traced "
                "function; the methods of an arm that compute a quantity can be traced"
            ) from None
        raise ShapeError(f"{name} is not an array of numbers: {shown(value)}") from None
    except RuntimeError:  # of PyTorch
        raise ShapeError(
            f"{name} is tracked for differentiation by its library, which ends here: give its values, {name}.detach().numpy()"
        ) from None
    if hasattr(value, "__array__") or array.dtype == DOUBLE:
        return array
    if array.dtype.kind in "fiub":
        return array.astype(DOUBLE)
    if array.dtype.kind == "O":
        return array
    raise ShapeError(f"{name} is not an array of numbers: {shown(value)}")


def _objects(name: str, value: Any) -> Array:
    """An array of Python objects as numbers, if each of them is one: Fraction, Decimal, long integers."""
    array = np.asarray(value)
    try:
        return np.array([float(x) for x in array.ravel()], DOUBLE).reshape(array.shape)
    except OverflowError:
        raise ShapeError(f"{name} holds {TOO_LARGE}") from None
    except (TypeError, ValueError):
        raise ShapeError(f"{name} is not an array of numbers: {shown(value)}") from None
