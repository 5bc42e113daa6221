"""Methods on Dask arrays: evaluated lazily, block by block, on the machines that Dask uses.

A block runs the method itself on NumPy arrays, so loops are closed, types are kept and errors are reported as usual;
the states in an error message are counted within their block. Only the robot and the method's name are sent; each
process that runs a block compiles the kernel or reads it from the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from dalembert.base.arrays import is_lazy
from dalembert.base.environment.extras import extra
from dalembert.compiler.kernel.batches import layout_of
from dalembert.compiler.quantities import joints, machine
from dalembert.errors import ShapeError

if TYPE_CHECKING:
    from dalembert.arm.compiled import Compiled

Method = TypeVar("Method", bound=Callable[..., Any])
Cores = Sequence[tuple[int, ...]]
ALONE = 1  # threads per block, unless more are requested: Dask has threads of its own


def by_blocks(
    function: Callable[..., Any],
    arrays: Mapping[str, Any],
    cores: Cores,
    dtype: Any = None,
    axes: Mapping[str, int] | None = None,
) -> Any:
    """``function`` of the blocks of arrays, which it takes by keyword, as Dask arrays: one, or a tuple of as many as ``cores``.

    arrays  by name, of NumPy and of Dask: leading axes broadcast and may be chunked, the last axis is made one chunk
    cores   the shape of each result after the leading axes
    dtype   of the results; default: float32 if all arrays are float32, else float64
    axes    by name, the number of core axes where it is not one
    """
    with extra("cluster", "a Dask array"):
        import dask.array

    whole, inputs = [], []
    for k, (name, array) in enumerate(arrays.items()):
        count = (axes or {}).get(name, 1)
        last = dict.fromkeys(range(array.ndim - count, array.ndim), -1)
        whole.append(array.rechunk(last) if is_lazy(array) else array)
        inputs.append(f"({','.join(f'i{k}_{j}' for j in range(count))})")
    outputs = [f"({','.join(f'o{k}_{j}' for j in range(len(core)))})" for k, core in enumerate(cores)]
    sizes = {f"o{k}_{j}": size for k, core in enumerate(cores) for j, size in enumerate(core)}
    kind = np.result_type(np.float32, *(a.dtype for a in whole)) if dtype is None else np.dtype(dtype)
    try:
        return dask.array.apply_gufunc(
            partial(_by_name, function, tuple(arrays)), f"{','.join(inputs)}->{','.join(outputs)}", *whole,
            output_sizes=sizes, allow_rechunk=True, output_dtypes=[kind] * len(cores) if len(cores) > 1 else kind,
        )  # fmt: skip
    except ValueError as problem:
        shapes = ", ".join(f"{name} {a.shape}" for name, a in arrays.items())
        if any(math.isnan(size) for a in arrays.values() for size in a.shape):
            raise ShapeError(
                f"the chunks of a Dask array have unknown lengths: {shapes}; compute them first, by "
                "frame.to_dask_array(lengths=True) or array.compute_chunk_sizes()"
            ) from None
        raise ShapeError(f"these shapes do not broadcast: {shapes} ({problem})") from None


def _by_name(function: Callable[..., Any], names: tuple[str, ...], *blocks: Any) -> Any:
    return function(**dict(zip(names, blocks, strict=True)))


def lazy(names: str, cores: Callable[[Any], Cores], dtype: Any = None) -> Callable[[Method], Method]:
    """The method, with a lazy result if one of the named arguments is a Dask array.

    Its class has a method ``lazy_input(name, value)``, which checks an argument; ``cores`` returns the shapes of the
    results of an object after their leading axes.
    """

    def decorate(method: Method) -> Method:
        parameters = signature(method)

        @wraps(method)
        def run(self: Any, *args: Any, **options: Any) -> Any:
            if not any(map(is_lazy, (*args, *options.values()))):
                return method(self, *args, **options)
            if getattr(self, "numbers", None):
                raise ShapeError(
                    f"{method.__name__} does not take Dask arrays for a batch of different robots: give NumPy arrays, or call it on the arm"
                )
            _, *given = parameters.bind(self, *args, **options).arguments.items()
            arrays = {x: self.lazy_input(x, v) for x, v in given if x in names.split() and v is not None}
            rest = {x: v for x, v in given if x not in arrays}
            return by_blocks(partial(getattr(self, method.__name__), **rest), arrays, cores(self), dtype)

        return cast(Method, run)

    return decorate


def run_later(
    arm: Compiled,
    quantity: str,
    inputs: Mapping[str, Any],
    options: Mapping[str, Any],
    formulation: str | None,
    out: Any,
    threads: int | None,
) -> Any:
    """A compiled quantity for Dask arrays, possibly mixed with NumPy arrays."""
    if out is not None:
        raise ShapeError("out cannot be given with Dask arrays, which are computed later: leave it out")
    entry = joints.quantity(quantity, arm.mechanism)
    entry.choice(formulation, arm.mechanism)
    entry.check_options(options)
    arrays = {name: arm.checked(name, value) for name, value in (*inputs.items(), *options.items())}
    cores = [core for _, core in machine.signature(arm.mechanism, entry, tuple(options)).outputs]
    return by_blocks(partial(_run, arm.nominal, quantity, tuple(options), formulation, threads or ALONE), arrays, cores)


def _run(
    arm: Compiled, quantity: str, options: Iterable[str], formulation: str | None, threads: int, **arrays: Any
) -> Any:
    given = {name: arrays.pop(name) for name in options}
    return arm._run(quantity, arrays, given, formulation, threads=threads)


def run_kernel_later(arm: Compiled, ufunc: np.ufunc, quantity: str, arrays: Mapping[str, Any]) -> Any:
    """A compiled kernel applied to Dask arrays that have been checked, possibly mixed with NumPy arrays."""
    layout = layout_of(str(ufunc.signature))
    axes = dict(zip(arrays, layout.inputs, strict=True))
    return by_blocks(partial(_run_kernel, arm.nominal, ufunc, quantity), arrays, layout.shapes, axes=axes)


def _run_kernel(arm: Compiled, ufunc: np.ufunc, quantity: str, **arrays: Any) -> Any:
    return arm._run_kernel(ufunc, quantity, arrays, threads=ALONE)
