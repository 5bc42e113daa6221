"""JAX arrays: every quantity as a primitive, with rules for ``jit``, ``vmap``, ``jvp``, ``grad`` and their
combinations.

``call`` is a quantity. ``push`` is its derivative along directions, which is linear in them; its transpose is the
gradient, which is again a ``call``. Both go through XLA's foreign-function interface (:mod:`dalembert.compiler.foreign.xla`)
without copying.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from dalembert.base.arrays import DOUBLE, SINGLE
from dalembert.compiler.foreign.call import Named, Operation, registered
from dalembert.compiler.foreign.libraries import check_input
from dalembert.compiler.foreign.xla import handler_of, on_cpu, on_cuda
from dalembert.errors import ShapeError

TARGET = "dalembert_call"
HANDLERS = {"cpu": handler_of(on_cpu), "CUDA": handler_of(on_cuda)}  # kept alive, because XLA has their addresses

for _platform, _handler in HANDLERS.items():
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(_handler), platform=_platform)

call_p, push_p = Primitive("dalembert_call"), Primitive("dalembert_push")
call_p.multiple_results = push_p.multiple_results = True


def run(key: str, sizes: Named, arrays: Mapping[str, Any]) -> Any:
    """The outputs of a call as a JAX array or a tuple of them; lists, numbers and NumPy arrays may be mixed in."""
    first = next(x for x in arrays.values() if isinstance(x, jax.Array))
    dtype, home = first.dtype, _device(first)
    inputs = []
    for name, core in sizes:
        value = arrays[name]
        if not isinstance(value, jax.Array):
            value = jnp.asarray(value, dtype)
        check_input("jax", name, value, dtype, (SINGLE, DOUBLE), core[-1])
        if (device := _device(value)) != home and None not in (device, home):
            raise ShapeError(
                f"{name} is on the device {device} and another array is on {home}; all must be on the same device: "
                "use jax.device_put"
            )
        inputs.append(value)
    results = call_p.bind(*inputs, key=key)
    return results[0] if len(results) == 1 else tuple(results)


@cache
def register_results(kinds: tuple[type, ...]) -> None:
    """Register these dataclasses of arrays, so that ``jit`` and ``vmap`` accept and return them."""
    for kind in kinds:
        jax.tree_util.register_dataclass(kind)


def _device(array: Any) -> Any:
    """The device to which an array is committed; None if it is uncommitted or traced."""
    return None if isinstance(array, jax.core.Tracer) or not array.committed else array.sharding


# -- rules, the same for both: ``of`` is the key, and for a push also the inputs with directions -----


def _call(key: str, by: tuple[str, ...] | None = None) -> Operation:
    """The quantity, or its derivative along directions of the inputs ``by``."""
    return registered(key) if by is None else registered(key).derivative("tangent", by)


def _called(*inputs: Any, **of: Any) -> Sequence[Any]:
    return call_p.bind(*inputs, key=_call(**of).key)


def _shapes(*inputs: Any, **of: Any) -> list[Any]:
    call = _call(**of)
    leading = call.shapes.leading([x.shape for x in inputs])
    return [jax.core.ShapedArray((*leading, *core), inputs[0].dtype) for _, core in call.outputs]


def _batched(primitive: Primitive, inputs: Sequence[Any], axes: Sequence[int | None], **of: Any) -> tuple[Any, Any]:
    results = primitive.bind(*_call(**of).with_axis(inputs, axes, jnp.moveaxis), **of)
    return results, [0] * len(results)


def _differentiated(
    primitive: Primitive, inputs: Sequence[Any], directions: Sequence[Any], **of: Any
) -> tuple[Any, Any]:
    """The outputs, and their derivative along the non-zero directions."""
    call = _call(**of)
    moving = [(name, t) for (name, _), t in zip(call.inputs, directions, strict=True) if type(t) is not ad.Zero]
    by = tuple(name for name, _ in moving)
    along = push_p.bind(*inputs, *(t for _, t in moving), key=call.key, by=by)
    return primitive.bind(*inputs, **of), along


def _turned(weights: Sequence[Any], *inputs: Any, key: str, by: tuple[str, ...]) -> list[Any]:
    """The gradient with respect to the directions of a push, summed over the axes along which they were broadcast."""
    call = registered(key)
    at, directions = inputs[: len(call.inputs)], inputs[len(call.inputs) :]
    given = [ad.instantiate_zeros(w) for w in weights]
    slopes = call_p.bind(*at, *given, key=call.derivative("gradient", by).key)
    return [None] * len(at) + [_summed(d, t.aval.shape) for d, t in zip(slopes, directions, strict=True)]


def _summed(x: Any, shape: tuple[int, ...]) -> Any:
    further = x.ndim - len(shape)
    spread = tuple(further + k for k, size in enumerate(shape) if size == 1 and x.shape[further + k] != 1)
    return x.sum(axis=(*range(further), *spread)).reshape(shape) if further or spread else x


for _primitive in (call_p, push_p):
    _primitive.def_impl(jax.jit(_called, static_argnames=("key", "by")))
    _primitive.def_abstract_eval(_shapes)
    batching.primitive_batchers[_primitive] = partial(_batched, _primitive)
    ad.primitive_jvps[_primitive] = partial(_differentiated, _primitive)
mlir.register_lowering(call_p, jax.ffi.ffi_lowering(TARGET))
mlir.register_lowering(push_p, mlir.lower_fun(_called, multiple_results=True))
ad.primitive_transposes[push_p] = _turned
