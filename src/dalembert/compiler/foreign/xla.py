"""XLA's foreign-function interface through ctypes: a C function that JAX's compiled programs call.

XLA calls a handler with one structure, the call frame: addresses, types and shapes of the input and output arrays,
attributes, and a function that returns the GPU stream. The structures are those of ``xla/ffi/api/c_api.h``, version 0,
which XLA keeps stable and extends only at their ends. One handler serves all calls of a platform; the attribute ``key``
identifies the call. The handler is written in Python: it acquires the interpreter lock and releases it while the kernel
runs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from math import prod
from typing import Any

import numpy as np

from dalembert.base.arrays import DOUBLE, SINGLE
from dalembert.compiler.foreign.call import Operation, registered
from dalembert.compiler.foreign.device import DeviceArray, run_on_device

MAJOR = 0  # version of the interface that is declared here
EXECUTE = 3  # the stage in which arrays contain values
METADATA = 1  # the extension with which XLA queries the version of a handler
INVALID_ARGUMENT = 3  # error code
TYPES: dict[int, np.dtype[Any]] = {11: SINGLE, 12: DOUBLE}


def _structure(name: str, **fields: Any) -> Any:
    """A structure of ``c_api.h`` by its name there; all but the innermost begin with their size and an extension."""
    return type(name, (Structure,), {"_fields_": list(fields.items())})


def _extensible(name: str, **fields: Any) -> Any:
    return _structure(name, struct_size=c_size_t, extension=c_void_p, **fields)


Version = _extensible("XLA_FFI_Api_Version", major=c_int, minor=c_int)
# an array in memory, dense and row by row
Buffer = _extensible("XLA_FFI_Buffer", dtype=c_int, data=c_void_p, rank=c_int64, dims=POINTER(c_int64))
Buffers = _extensible(
    "XLA_FFI_Args", size=c_int64, types=POINTER(c_int), items=POINTER(POINTER(Buffer))
)  # and XLA_FFI_Rets
Text = _structure("XLA_FFI_ByteSpan", start=c_void_p, length=c_size_t)
Texts = POINTER(POINTER(Text))
Attributes = _extensible(
    "XLA_FFI_Attrs", size=c_int64, types=POINTER(c_int), names=Texts, items=Texts
)  # all are strings
ErrorRequest = _extensible("XLA_FFI_Error_Create_Args", message=c_char_p, code=c_int)
StreamRequest = _extensible("XLA_FFI_Stream_Get_Args", context=c_void_p, stream=c_void_p)
OrdinalRequest = _extensible("XLA_FFI_DeviceOrdinal_Get_Args", context=c_void_p, ordinal=c_int32)
# XLA's own functions; unused ones are declared as addresses
Interface = _extensible(
    "XLA_FFI_Api",
    version=Version,
    internal=c_void_p,
    create_error=CFUNCTYPE(c_void_p, POINTER(ErrorRequest)),
    rest_1=c_void_p * 3,
    get_stream=CFUNCTYPE(c_void_p, POINTER(StreamRequest)),
    rest_2=c_void_p * 12,
    get_ordinal=CFUNCTYPE(c_void_p, POINTER(OrdinalRequest)),
)
Frame = _extensible(
    "XLA_FFI_CallFrame",
    interface=POINTER(Interface),
    context=c_void_p,
    stage=c_int,
    inputs=Buffers,
    outputs=Buffers,
    attributes=Attributes,
)
Metadata = _structure("XLA_FFI_Metadata", struct_size=c_size_t, version=Version, traits=c_uint32)
MetadataRequest = _structure(
    "XLA_FFI_Metadata_Extension", struct_size=c_size_t, type=c_int, next=c_void_p, metadata=POINTER(Metadata)
)

Handler = CFUNCTYPE(c_void_p, POINTER(Frame))
Run = Callable[[Operation, Any, Sequence[Any], Sequence[Any]], None]  # a frame, its inputs and its outputs


def handler_of(run: Run) -> Any:
    """A handler that runs the call named by the attribute ``key``; exceptions are reported as XLA errors."""

    def handle(pointer: Any) -> int | None:
        frame = pointer.contents
        if frame.extension:
            request = MetadataRequest.from_address(frame.extension)
            if request.type == METADATA:
                version = frame.interface.contents.version
                request.metadata.contents.version.major = MAJOR
                request.metadata.contents.version.minor = version.minor
                request.metadata.contents.traits = 0
                return None
        try:
            if frame.stage == EXECUTE:
                run(registered(_key(frame.attributes)), frame, _listed(frame.inputs), _listed(frame.outputs))
        except Exception as problem:  # noqa: BLE001  # exceptions must not cross C code; XLA raises the error again
            message = f"{type(problem).__name__}: {problem}".encode()
            made_of = ErrorRequest(ctypes.sizeof(ErrorRequest), None, message, INVALID_ARGUMENT)
            return frame.interface.contents.create_error(ctypes.byref(made_of))
        return None

    return Handler(handle)


def on_cpu(call: Operation, frame: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Run the kernel on host memory and write the results to XLA's buffers."""
    call.run([_array(x) for x in inputs], tuple(_array(x) for x in outputs))


def on_cuda(call: Operation, frame: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Queue the kernel on GPU memory on XLA's stream."""
    interface = frame.interface.contents
    where = StreamRequest(ctypes.sizeof(StreamRequest), None, frame.context, None)
    interface.get_stream(ctypes.byref(where))
    device = 0
    if interface.struct_size >= ctypes.sizeof(Interface):  # older versions do not report the GPU
        which = OrdinalRequest(ctypes.sizeof(OrdinalRequest), None, frame.context, 0)
        interface.get_ordinal(ctypes.byref(which))
        device = which.ordinal
    given, results = ([_device_array(x, device) for x in buffers] for buffers in (inputs, outputs))
    run_on_device(call, given, results, where.stream or 0)


def _listed(buffers: Any) -> list[Any]:
    return [buffers.items[k].contents for k in range(buffers.size)]


def _key(attributes: Any) -> str:
    texts = {}
    for k in range(attributes.size):
        name, value = (ctypes.string_at(text.start, text.length).decode() for text in (
            attributes.names[k].contents, attributes.items[k].contents
        ))  # fmt: skip
        texts[name] = value
    return texts["key"]


def _array(buffer: Any) -> Any:
    """The buffer's memory as a NumPy array."""
    dtype, shape = TYPES[buffer.dtype], tuple(buffer.dims[: buffer.rank])
    if not prod(shape):
        return np.empty(shape, dtype)
    memory = (ctypes.c_char * (prod(shape) * dtype.itemsize)).from_address(buffer.data)
    return np.frombuffer(memory, dtype).reshape(shape)


def _device_array(buffer: Any, device: int) -> DeviceArray:
    dtype, shape = TYPES[buffer.dtype], tuple(buffer.dims[: buffer.rank])
    strides = tuple(prod(shape[k + 1 :]) * dtype.itemsize for k in range(len(shape)))
    return DeviceArray(buffer.data or 0, shape, strides, dtype.name, device)
