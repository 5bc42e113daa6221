"""XLA's foreign-function interface, reached with ctypes: a function of C that JAX's compiled programs call.

XLA calls a handler with one structure, the call frame: addresses, types and shapes of the arrays that go in and come out,
attributes, and what asks for the stream of a GPU. The structures are those of ``xla/ffi/api/c_api.h``, version 0, which XLA
keeps stable and extends at their ends only. One handler serves all calls of a platform: the attribute ``key`` names the
call. It is Python: it takes the interpreter's lock, and gives it up while the kernel runs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from math import prod
from typing import Any

import numpy as np

from dalembert.arrays import DOUBLE, SINGLE
from dalembert.foreign.call import ForeignCall, registered
from dalembert.foreign.device import DeviceArray, run_on_device

MAJOR = 0  # of the interface that is written down here
EXECUTE = 3  # the stage in which arrays hold values
METADATA = 1  # the extension with which XLA asks what a handler was written for
INVALID_ARGUMENT = 3  # the code of an error
TYPES = {11: SINGLE, 12: DOUBLE}

_HEAD = [("struct_size", c_size_t), ("extension", c_void_p)]


class Version(Structure):
    """XLA_FFI_Api_Version."""

    _fields_ = [*_HEAD, ("major", c_int), ("minor", c_int)]


class Buffer(Structure):
    """XLA_FFI_Buffer: an array in memory, dense and row by row."""

    _fields_ = [*_HEAD, ("dtype", c_int), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64))]


class Buffers(Structure):
    """XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = [*_HEAD, ("size", c_int64), ("types", POINTER(c_int)), ("items", POINTER(POINTER(Buffer)))]


class Text(Structure):
    """XLA_FFI_ByteSpan."""

    _fields_ = [("start", c_void_p), ("length", c_size_t)]


class Attributes(Structure):
    """XLA_FFI_Attrs, where all attributes are texts."""

    _fields_ = [
        *_HEAD, ("size", c_int64), ("types", POINTER(c_int)), ("names", POINTER(POINTER(Text))),
        ("items", POINTER(POINTER(Text))),
    ]  # fmt: skip


class ErrorRequest(Structure):
    """XLA_FFI_Error_Create_Args."""

    _fields_ = [*_HEAD, ("message", c_char_p), ("code", c_int)]


class StreamRequest(Structure):
    """XLA_FFI_Stream_Get_Args."""

    _fields_ = [*_HEAD, ("context", c_void_p), ("stream", c_void_p)]


class OrdinalRequest(Structure):
    """XLA_FFI_DeviceOrdinal_Get_Args."""

    _fields_ = [*_HEAD, ("context", c_void_p), ("ordinal", c_int32)]


class Interface(Structure):
    """XLA_FFI_Api: XLA's own functions; those that are not asked for stand as addresses."""

    _fields_ = [
        *_HEAD, ("version", Version), ("internal", c_void_p),
        ("create_error", CFUNCTYPE(c_void_p, POINTER(ErrorRequest))), ("rest_1", c_void_p * 3),
        ("get_stream", CFUNCTYPE(c_void_p, POINTER(StreamRequest))), ("rest_2", c_void_p * 12),
        ("get_ordinal", CFUNCTYPE(c_void_p, POINTER(OrdinalRequest))),
    ]  # fmt: skip


class Frame(Structure):
    """XLA_FFI_CallFrame."""

    _fields_ = [
        *_HEAD, ("interface", POINTER(Interface)), ("context", c_void_p), ("stage", c_int),
        ("inputs", Buffers), ("outputs", Buffers), ("attributes", Attributes),
    ]  # fmt: skip


class Metadata(Structure):
    """XLA_FFI_Metadata."""

    _fields_ = [("struct_size", c_size_t), ("version", Version), ("traits", c_uint32)]


class MetadataRequest(Structure):
    """XLA_FFI_Metadata_Extension."""

    _fields_ = [("struct_size", c_size_t), ("type", c_int), ("next", c_void_p), ("metadata", POINTER(Metadata))]


Handler = CFUNCTYPE(c_void_p, POINTER(Frame))
Run = Callable[[ForeignCall, Frame, Sequence[Buffer], Sequence[Buffer]], None]


def handler_of(run: Run) -> Any:
    """A handler that runs the call an attribute ``key`` names; an error becomes one of XLA."""

    def handle(pointer: Any) -> int | None:
        frame: Frame = pointer.contents
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
        except Exception as problem:  # noqa: BLE001  # no error may go through code of C: XLA raises it again
            message = f"{type(problem).__name__}: {problem}".encode()
            made_of = ErrorRequest(ctypes.sizeof(ErrorRequest), None, message, INVALID_ARGUMENT)
            return frame.interface.contents.create_error(ctypes.byref(made_of))  # type: ignore[no-any-return]
        return None

    return Handler(handle)


def on_cpu(call: ForeignCall, frame: Frame, inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> None:
    """The kernel on memory of the computer, its results written where XLA wants them."""
    call.run([_array(x) for x in inputs], tuple(_array(x) for x in outputs))


def on_cuda(call: ForeignCall, frame: Frame, inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> None:
    """The kernel on memory of a GPU, queued on XLA's stream."""
    interface = frame.interface.contents
    where = StreamRequest(ctypes.sizeof(StreamRequest), None, frame.context, None)
    interface.get_stream(ctypes.byref(where))
    device = 0
    if interface.struct_size >= ctypes.sizeof(Interface):  # older ones do not say which GPU it is
        which = OrdinalRequest(ctypes.sizeof(OrdinalRequest), None, frame.context, 0)
        interface.get_ordinal(ctypes.byref(which))
        device = which.ordinal
    arrays = ([_device_array(x, device) for x in given] for given in (inputs, outputs))
    run_on_device(call, *arrays, stream=where.stream or 0)  # type: ignore[misc]


def _listed(buffers: Buffers) -> list[Buffer]:
    return [buffers.items[k].contents for k in range(buffers.size)]


def _key(attributes: Attributes) -> str:
    texts = {}
    for k in range(attributes.size):
        name, value = (ctypes.string_at(text.start, text.length).decode() for text in (
            attributes.names[k].contents, attributes.items[k].contents
        ))  # fmt: skip
        texts[name] = value
    return texts["key"]


def _array(buffer: Buffer) -> Any:
    """The buffer's memory as a NumPy array."""
    dtype, shape = TYPES[buffer.dtype], tuple(buffer.dims[: buffer.rank])
    if not prod(shape):
        return np.empty(shape, dtype)
    memory = (ctypes.c_char * (prod(shape) * dtype.itemsize)).from_address(buffer.data)
    return np.frombuffer(memory, dtype).reshape(shape)


def _device_array(buffer: Buffer, device: int) -> DeviceArray:
    dtype, shape = TYPES[buffer.dtype], tuple(buffer.dims[: buffer.rank])
    strides = tuple(prod(shape[k + 1 :]) * dtype.itemsize for k in range(len(shape)))
    return DeviceArray(buffer.data or 0, shape, strides, dtype.name, device)
