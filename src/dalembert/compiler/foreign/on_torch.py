"""PyTorch tensors: every quantity through one operator, ``dalembert::call``, with its derivatives.

It is registered as PyTorch's manual recommends, so that ``torch.compile(fullgraph=True)``, autograd,
``torch.func.vmap`` and ``torch.func.jacrev`` support it: one rule for shapes, one for gradients (the same operator with
another key), and one for an additional axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import Parameter

from dalembert.compiler.foreign.call import Named, registered
from dalembert.compiler.foreign.device import DeviceArray, run_on_device
from dalembert.compiler.foreign.libraries import check_input
from dalembert.errors import ShapeError

FLOATS = (torch.float32, torch.float64)


def run(key: str, sizes: Named, arrays: Mapping[str, Any]) -> Any:
    """The outputs of a call as a tensor or a tuple of them; lists, numbers and NumPy arrays may be mixed in.

    ``torch.compile`` traces this function, so it may use only tensors and constants.
    """
    tensors = [x for x in arrays.values() if isinstance(x, Tensor)]
    dtype, device = tensors[0].dtype, tensors[0].device
    inputs = []
    for name, core in sizes:
        value = arrays[name]
        if not isinstance(value, Tensor):
            value = torch.as_tensor(value, dtype=dtype, device=device)
        check_input("torch", name, value, dtype, FLOATS, core[-1])
        if value.device != device:
            raise ShapeError(
                f"{name} is on the device {value.device} and another tensor is on {device}; all must be on the same "
                f"device: pass {name}.to('{device}')"
            )
        inputs.append(value)
    results = _call(key, inputs)
    return results[0] if len(results) == 1 else tuple(results)


@torch.library.custom_op(
    "dalembert::call", mutates_args=(), device_types="cpu", schema="(str key, Tensor[] inputs) -> Tensor[]"
)
def operator(key: str, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Run the kernel on the memory of the tensors."""
    return _on_cpu(key, inputs)


def _on_cpu(key: str, inputs: Sequence[Tensor]) -> list[Tensor]:
    results = registered(key).run(list(map(_dense, inputs)))
    return [torch.from_numpy(np.asarray(x)) for x in results]


def _dense(x: Tensor) -> NDArray[np.floating[Any]]:
    """The tensor's memory, copied if a row is not contiguous, because kernels take three times as long to gather it.

    Gradients of sums are an example: one number, repeated.
    """
    array = x.detach().numpy()
    return array if x.ndim == 0 or x.stride(-1) == 1 else np.ascontiguousarray(array)


def _on_cuda(key: str, inputs: Sequence[Tensor]) -> list[Tensor]:
    outputs = _empty(key, inputs)
    run_on_device(registered(key), list(map(described, inputs)), list(map(described, outputs)), stream_of(inputs[0]))
    return outputs


operator.register_kernel("cuda")(_on_cuda)


def stream_of(like: Tensor) -> int:
    """The stream on which work with a tensor is queued."""
    return int(torch.cuda.current_stream(like.device).cuda_stream)


def described(x: Tensor) -> DeviceArray:
    """The address of a tensor."""
    size = x.element_size()
    strides = tuple(size * step for step in x.stride())
    return DeviceArray(x.data_ptr(), tuple(x.shape), strides, str(x.dtype).removeprefix("torch."), x.get_device())


@operator.register_fake
def _empty(key: str, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Uninitialised outputs with the broadcast leading axes of all inputs."""
    call = registered(key)
    leading = torch.broadcast_shapes(
        *(x.shape[: x.ndim - len(core)] for x, (_, core) in zip(inputs, call.inputs, strict=True))
    )
    return [inputs[0].new_empty((*leading, *core)) for _, core in call.outputs]


def _gradients(
    key: str, inputs: Sequence[Tensor], weights: Sequence[Tensor | None], needed: Sequence[bool]
) -> list[Tensor | None]:
    """The gradients with respect to the inputs that need one, summed over the axes along which they were broadcast."""
    call = registered(key)
    by = tuple(name for (name, _), wanted in zip(call.inputs, needed, strict=True) if wanted)
    if not by or all(w is None for w in weights):
        return [None] * len(inputs)
    given = [inputs[0].new_zeros(core) if w is None else w for w, (_, core) in zip(weights, call.outputs, strict=True)]
    slopes = iter(_call(call.derivative("gradient", by).key, [*inputs, *given]))
    return [next(slopes).sum_to_size(x.shape) if wanted else None for x, wanted in zip(inputs, needed, strict=True)]


# -- the operator's rules ------------------------------------------------------------------------


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.key, tensors = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, weights: Sequence[Tensor]) -> tuple[None, list[Tensor | None]]:
    return None, _gradients(ctx.key, ctx.saved_tensors, weights, ctx.needs_input_grad[1])


operator.register_autograd(_backward, setup_context=_keep)


@operator.register_vmap
def _over_axis(
    info: Any, in_dims: tuple[Any, ...], key: str, inputs: Sequence[Tensor]
) -> tuple[list[Tensor], list[int]]:
    results = torch.ops.dalembert.call(key, registered(key).with_axis(inputs, in_dims[1], torch.movedim))
    return results, [0] * len(results)


# -- the same for torch.func, which does not support operators with their own rules --------------


def _call(key: str, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
    """The outputs of a call: one operator in a graph, otherwise such that forward-mode differentiation works too."""
    if torch.compiler.is_compiling():
        return torch.ops.dalembert.call(key, inputs)
    if _plain(inputs):
        return tuple((_on_cuda if inputs[0].is_cuda else _on_cpu)(key, inputs))
    return Differentiable.apply(key, *inputs)


def _plain(inputs: Sequence[Tensor]) -> bool:
    """Whether only values are needed, so that the overhead of operators, 100 µs per call, can be avoided."""
    return (
        not (torch.is_grad_enabled() and any(x.requires_grad for x in inputs))
        and all(type(x) in (Tensor, Parameter) for x in inputs)
        and not torch._C._are_functorch_transforms_active()
        and torch._C._len_torch_dispatch_stack() == 0
        and forward_ad._current_level < 0
    )


class Differentiable(torch.autograd.Function):
    """The operator for ``torch.func`` and forward-mode differentiation, for which operators have no rules."""

    @staticmethod
    def forward(key: str, *inputs: Tensor) -> tuple[Tensor, ...]:
        """The outputs."""
        return tuple(torch.ops.dalembert.call(key, inputs))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save the data needed for derivatives."""
        ctx.key, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *weights: Tensor | None) -> tuple[Any, ...]:
        """The gradient."""
        return None, *_gradients(ctx.key, ctx.saved_tensors, weights, ctx.needs_input_grad[1:])

    @staticmethod
    def jvp(ctx: Any, _: None, *directions: Tensor | None) -> tuple[Tensor, ...]:
        """The derivative along directions."""
        call, inputs = registered(ctx.key), ctx.saved_tensors
        by = tuple(name for (name, _), t in zip(call.inputs, directions, strict=True) if t is not None)
        return tuple(_call(call.derivative("tangent", by).key, [*inputs, *(t for t in directions if t is not None)]))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], key: str, *inputs: Tensor) -> tuple[Any, Any]:
        """The outputs over an additional axis."""
        results = _call(key, registered(key).with_axis(inputs, in_dims[1:], torch.movedim))
        return results, (0,) * len(results)
