"""Cheap calls: the kernel is tried first, and arguments are checked only if it refuses them.

A single state goes to a function in machine code (:mod:`dalembert.compiler.kernel.single_call`), which returns None for anything
else. A gufunc checks the shapes of its arguments, but does not know the rule for types (float32 stays float32,
everything else becomes float64), so only arrays of float64 take this route; all other arguments, and those that the
gufunc refuses, go through the method. Large batches are split over threads (:mod:`dalembert.compiler.kernel.batches`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, cast

import numpy as np

from dalembert.base.arrays import DOUBLE
from dalembert.compiler.kernel.batches import run as run_batch

Method = TypeVar("Method", bound=Callable[..., Any])


def keywords_after(last: str) -> Callable[[Method], Method]:
    """Deprecate positional arguments after the one named ``last``: they work, with a warning that names the keywords."""

    def decorated(method: Method) -> Method:
        _, *given = signature(method).parameters
        positional = given[: given.index(last) + 1]

        @wraps(method)
        def run(self: Any, *arrays: Any, **options: Any) -> Any:
            if names := given[len(positional) : len(arrays)]:
                call = ", ".join((*positional, *(f"{name}={name}" for name in names)))
                warnings.warn(
                    f"{method.__name__} takes {' and '.join(names)} by keyword, {method.__name__}({call}); from version 2 on, "
                    f"only {' and '.join(positional)} may be positional",
                    DeprecationWarning,
                    stacklevel=3,  # past the wrapper of ``quick``
                )
            return method(self, *arrays, **options)

        return cast(Method, run)

    return decorated


def quick(method: Method) -> Method:
    """The method with a fast route around its checks, for float64 arrays without options, once its kernel exists."""
    name, ndarray, broadcast = method.__name__, np.ndarray, np.broadcast
    _, *given = signature(method).parameters.values()
    count = sum(parameter.default is Parameter.empty for parameter in given)

    @wraps(method)
    def run(self: Any, *arrays: Any, **options: Any) -> Any:
        if options or not arrays or arrays[0].__class__ is not ndarray:  # torch.compile traces no further than this
            return method(self, *arrays, **options)
        single = self.singles.get(name)
        if single is not None and (result := single(*arrays)) is not None:
            return result
        if len(arrays) == count:
            size = 0
            for array in arrays:
                if type(array) is not ndarray or array.dtype is not DOUBLE:
                    break
                size += array.size
            else:
                try:
                    kernel, most = self.quick_kernels[name]
                    if (size > most or array.ndim > 2) and broadcast(*arrays).size > most:
                        return run_batch(kernel, arrays)
                    result = kernel(*arrays)
                except (KeyError, TypeError, ValueError):  # the first call, or an error that the method reports
                    return method(self, *arrays)
                if single is None and name not in self.singles:
                    self.prepare_single(name)
                return result
        return method(self, *arrays, **options)

    return cast(Method, run)
