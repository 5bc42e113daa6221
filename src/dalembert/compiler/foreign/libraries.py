"""The library to which an array belongs, determined without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Sequence
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import is_lazy
from dalembert.base.environment.extras import extra
from dalembert.errors import ShapeError

Method = TypeVar("Method", bound=Callable[..., Any])

# the class of a library's arrays, including the placeholders used while functions are traced
CLASSES = {"torch": "Tensor", "jax": "Array", "cupy": "ndarray"}
TITLES = {"torch": "a PyTorch tensor", "jax": "a JAX array", "cupy": "a CuPy array"}
# how a library calls its arrays, and one of them, and how it converts one to doubles and to another type
_DIALECTS = {
    "torch": ("tensors", "tensor", ".double()", ".to({})"),
    "jax": ("JAX arrays", "array", ".astype(float)", ".astype('{}')"),
    "cupy": ("CuPy arrays", "array", ".astype(float)", ".astype('{}')"),
}


def library_of(value: Any) -> str | None:
    """The library in ``CLASSES`` to which the array ``value`` belongs; None otherwise, since a library that is not
    imported has no arrays.

    >>> library_of(np.zeros(3)) is None
    True
    """
    if type(value) is np.ndarray or value is None:
        return None
    for library, name in CLASSES.items():
        kind = getattr(sys.modules.get(library), name, None)
        if kind is not None and isinstance(value, kind):
            return library
    return None


def common_library(values: Iterable[Any]) -> str | None:
    """The one library with arrays among the values; None if there are only NumPy arrays, numbers and lists.

    >>> common_library([np.zeros(3), [1.0, 2.0]]) is None
    True
    """
    common: str | None = None
    for value in values:
        library = library_of(value)
        if library is not None and common is not None and library != common:
            raise ShapeError(
                f"one input is {TITLES[common]} and another is {TITLES[library]}; all must belong to one library: "
                "convert one of them"
            )
        common = library or common
    return common


def check_input(library: str, name: str, array: Any, dtype: Any, floats: Container[Any], size: int) -> None:
    """Refuse an array that is not of the type ``dtype``, one of ``floats``, or whose last axis has another size.

    ``torch.compile`` traces this function.
    """
    arrays, array_name, doubled, converted = _DIALECTS[library]
    if array.dtype not in floats:
        raise ShapeError(f"{name} has dtype {array.dtype}; {arrays} must be float32 or float64: pass {name}{doubled}")
    if array.dtype != dtype:
        raise ShapeError(
            f"{name} has dtype {array.dtype} and another {array_name} has {dtype}; all must have the same: pass "
            f"{name}{converted.format(dtype)}"
        )
    if array.ndim == 0 or array.shape[-1] != size:
        raise ShapeError(f"{name} has shape {tuple(array.shape)}; its last axis must be {size}, as in (…, {size})")


def constant(method: Method) -> Method:
    """The method, marked as having a constant result: ``torch.compile`` calls it while tracing and does not trace into
    it.

    This is ``torch.compiler.assume_constant_result``, which is not available unless PyTorch is imported.
    """
    method._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return method


def entries(array: Any, places: Sequence[int]) -> Any:
    """The entries of the last axis at these indices, for an array of any library.

    >>> entries(np.array([[1.0, 2.0, 3.0]]), (0, 2))
    array([[1., 3.]])
    """
    return array[..., list(places) if library_of(array) == "torch" else np.array(places, np.intp)]


def repeated(array: Any, times: int) -> Any:
    """Every row of an array of any library, repeated so many times.

    >>> repeated(np.array([[1.0], [2.0]]), 2).tolist()
    [[1.0], [1.0], [2.0], [2.0]]
    """
    if library_of(array) == "torch":
        return array.repeat_interleave(times, dim=-2)
    return _module(library_of(array)).repeat(array, times, axis=-2)


def tracked(array: Any) -> str:
    """Whether a library follows what is computed from an array: "values" if its values are known, "shape" if not, or ""."""
    library = library_of(array)
    if library == "torch":
        import torch

        if torch._C._functorch.is_functorch_wrapped_tensor(array):
            return "shape"
        return "values" if array.requires_grad or torch.autograd.forward_ad._current_level >= 0 else ""
    if library == "jax":
        import jax

        return "shape" if isinstance(array, jax.core.Tracer) else ""
    return ""


def values(array: Any, unknown: Any) -> Any:
    """The values of an array of PyTorch or JAX as a NumPy array, or ``unknown`` ones while a function is traced."""
    if tracked(array) == "shape":
        return np.broadcast_to(unknown, tuple(array.shape))
    return np.asarray(array.detach() if library_of(array) == "torch" else array)


def spread(array: Any, shape: Sequence[int]) -> Any:
    """An array of any library, broadcast to a shape.

    >>> spread(np.ones(()), (2,))
    array([1., 1.])
    """
    return _module(library_of(array)).broadcast_to(array, tuple(shape))


def rows_of(array: Any, rows: NDArray[np.intp], first: Any = None) -> Any:
    """These rows of an array of any library, before whose rows a ``first`` one is put, which broadcasts.

    >>> rows_of(np.array([[1.0], [2.0]]), np.array([0, 2]), np.zeros(1))
    array([[0.],
           [2.]])
    """
    library = library_of(array)
    module = _module(library)
    if first is not None:
        of = {"dtype": array.dtype, "device": array.device} if library == "torch" else {"dtype": array.dtype}
        first = (module.as_tensor if library == "torch" else module.asarray)(first, **of)
        first = spread(first[..., None, :], (*array.shape[:-2], 1, array.shape[-1]))
        array = module.concatenate([first, array], axis=-2)
    return array[..., rows.tolist() if library == "torch" else rows, :]


def where(mask: Sequence[Any], array: Any) -> Any:
    """The entries of an array of any library where the mask is true, otherwise 0; its last axes are those of the mask.

    >>> where((True, False), np.array([[1.0, 2.0]]))
    array([[1., 0.]])
    """
    library = library_of(array)
    if library == "torch":
        import torch

        return torch.where(torch.tensor(mask, device=array.device), array, 0.0)
    module = _module(library)
    return module.where(module.array(mask), array, 0.0)


def _module(library: str | None) -> Any:
    """The functions of a library that are named like NumPy's."""
    return np if library is None else import_module({"jax": "jax.numpy"}.get(library, library))


def joined_last(arrays: Sequence[Any]) -> Any:
    """Arrays of one library (NumPy and Dask included), concatenated along the last axis; their leading axes broadcast.

    >>> joined_last([np.zeros((2, 3)), np.ones(1)])
    array([[0., 0., 0., 1.],
           [0., 0., 0., 1.]])
    """
    library = common_library(arrays)
    if library == "torch":
        import torch

        like = next(x for x in arrays if isinstance(x, torch.Tensor))
        leading = torch.broadcast_shapes(*(tuple(x.shape[:-1]) for x in arrays))
        spread = (torch.as_tensor(x, device=like.device).expand(*leading, x.shape[-1]) for x in arrays)
        return torch.cat(list(spread), dim=-1)
    leading = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    module = _module(library)
    if library is not None:
        arrays = [module.asarray(x) for x in arrays]
    elif any(map(is_lazy, arrays)):
        with extra("cluster", "a Dask array"):
            import dask.array

        module = dask.array
    return module.concatenate([module.broadcast_to(x, (*leading, x.shape[-1])) for x in arrays], axis=-1)
