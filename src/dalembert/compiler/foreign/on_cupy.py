"""CuPy arrays: kernels on GPU memory, on CuPy's current stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cupy

from dalembert.base.arrays import DOUBLE, SINGLE
from dalembert.compiler.foreign.call import Named, registered
from dalembert.compiler.foreign.device import DeviceArray, run_on_device
from dalembert.compiler.foreign.libraries import check_input
from dalembert.errors import ShapeError


def run(key: str, sizes: Named, arrays: Mapping[str, Any]) -> Any:
    """The outputs of a call as a CuPy array or a tuple of them; lists, numbers and NumPy arrays may be mixed in."""
    first = next(x for x in arrays.values() if isinstance(x, cupy.ndarray))
    dtype, device, inputs = first.dtype, first.device, []
    with device:
        for name, core in sizes:
            value = arrays[name]
            if not isinstance(value, cupy.ndarray):
                value = cupy.asarray(value, dtype)
            check_input("cupy", name, value, dtype, (SINGLE, DOUBLE), core[-1])
            if value.device != device:
                raise ShapeError(
                    f"{name} is on GPU {value.device.id} and another array is on GPU {device.id}; all must be on the "
                    "same GPU"
                )
            inputs.append(value)
        return called(key, inputs)


def called(key: str, inputs: list[Any]) -> Any:
    """The outputs of a call for arrays of valid shapes."""
    call, dtype = registered(key), inputs[0].dtype
    leading = call.shapes.leading([x.shape for x in inputs])
    outputs = [cupy.empty((*leading, *core), dtype) for _, core in call.outputs]
    stream = cupy.cuda.get_current_stream().ptr
    run_on_device(call, list(map(described, inputs)), list(map(described, outputs)), stream)
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def stream_of(like: Any) -> int:
    """The stream on which work with an array is queued."""
    with like.device:
        return int(cupy.cuda.get_current_stream().ptr)


def described(x: Any) -> DeviceArray:
    """The address of an array."""
    return DeviceArray(x.data.ptr, x.shape, x.strides, x.dtype.name, x.device.id)
