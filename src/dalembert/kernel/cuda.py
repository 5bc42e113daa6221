"""Kernels on NVIDIA's GPUs: PTX from LLVM, kept in the cache like other code, loaded by the driver (cuda-bindings).

One text serves every card from the architecture Volta on; the driver makes its machine code of it. A kernel runs on the
stream that it is given, in the primary context of the device, which is the one that CuPy, PyTorch and JAX use, and does
not wait for it.
"""

from __future__ import annotations

import ctypes
import struct
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.emit.grid import AXES, BLOCK, acts_ir, grid_ir, rollout_grid_ir, staged_inputs
from dalembert.emit.ir import BYTES
from dalembert.emit.signature import Signature
from dalembert.environment.extras import extra
from dalembert.errors import DalembertError, ShapeError
from dalembert.kernel import cache as kept
from dalembert.kernel.compile import Machine, compiled_for

if TYPE_CHECKING:
    from dalembert.graph.program import Program
    from dalembert.graph.tape import Graph

GPU = Machine("nvptx64-nvidia-cuda", "sm_70", "+ptx70", 1)
NAME = "run"  # of the kernel in its module
BLOCKS = (256, 128, 64, 32)  # threads in a block, to choose from
USUAL_SHARED = 48 * 1024  # bytes of shared memory that a block may have without being asked for
LOADED = 256  # modules that stay loaded
LAYOUTS = 64  # of arrays, that a kernel remembers how to work on
SCALARS = {"float64": "double", "float32": "float"}


@dataclass(frozen=True)
class DeviceArray:
    """An array in the memory of a GPU, whoever owns it.

    pointer  address of its first number      shape, strides  strides in bytes, 0 where it is broadcast
    dtype    "float32" or "float64"           device          which GPU, as CUDA numbers them
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: int


# -- the driver --------------------------------------------------------------------------------------


@cache
def _driver() -> Any:
    """The vendor's bindings, initialised."""
    with extra("gpu", "a kernel on a GPU"):
        from cuda.bindings import driver
    try:
        started = driver.cuInit(0)
    except (RuntimeError, OSError):  # the driver's library is not there
        raise DalembertError("there is no NVIDIA driver on this machine: give arrays on the CPU") from None
    _done(driver, started)
    return driver


def _done(driver: Any, answer: tuple[Any, ...]) -> Any:
    """What a call gives; a sentence where it failed."""
    error, *values = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        _, text = driver.cuGetErrorString(error)
        what = text.decode() if isinstance(text, bytes) else str(error)
        raise DalembertError(f"the GPU's driver refused: {what} ({error.name})")
    return values[0] if len(values) == 1 else values


def _call(function: str, *arguments: Any) -> Any:
    driver = _driver()
    return _done(driver, getattr(driver, function)(*arguments))


@cache
def _context(device: int) -> Any:
    return _call("cuDevicePrimaryCtxRetain", _call("cuDeviceGet", device))


def _attribute(device: int, name: str) -> int:
    return int(_call("cuDeviceGetAttribute", getattr(_driver().CUdevice_attribute, name), _call("cuDeviceGet", device)))


def _most_shared(device: int) -> int:
    """Bytes of shared memory that a block can have."""
    return _attribute(device, "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")


# -- kernels -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loaded:
    """A kernel's function on a device, and how it is launched; its module is unloaded when nothing refers to it."""

    function: Any
    block: int
    shared: int  # bytes of a block


@dataclass(frozen=True)
class DeviceKernel:
    """What a kernel is made of: ``parts`` name it, ``graph`` gives its tape, which is asked for only where it must be.

    ``acts`` gives the tapes of several acts, where there are any, that do the same.
    """

    parts: tuple[str, ...]
    signature: Signature
    graph: Callable[[], Graph]
    scalar: str
    acts: Callable[[], Sequence[tuple[Graph, Signature]]] | None = None

    def ptx(self, kind: str) -> tuple[bytes, int]:
        """The kernel's PTX, from the cache or made now, and the bytes of shared memory that a thread needs."""
        key = kept.key_of(*self.parts, self.scalar, repr(GPU), kind, _llvm_version())
        code = kept.load(key)
        if code is None:
            if kind == "acts" and self.acts is not None:
                ir, numbers = acts_ir(self.acts(), self.signature, self.scalar, NAME)
            else:
                ir, numbers = grid_ir(self.graph(), self.signature, self.scalar, NAME, kind)
            code = struct.pack("<q", numbers * BYTES[self.scalar]) + compiled_for(GPU, ir, assembly=True)
            kept.store(key, code)
        return code[8:], struct.unpack("<q", code[:8])[0]

    def loaded(self, device: int, kind: str) -> Loaded:
        """The kernel on a device; in one act where several would need more shared memory than its blocks have."""
        if kind == "acts" and BLOCK[self.scalar] * self.ptx(kind)[1] > _most_shared(device):
            kind = self.one_act
        block = 0 if kind == "strided" else BLOCK[self.scalar]
        return _loaded((*self.parts, self.scalar, device, kind), device, lambda: self.ptx(kind), block)

    @cached_property
    def layouts(self) -> dict[Any, list[Launch]]:
        """How arrays of the layouts seen last are worked on."""
        return {}

    @cached_property
    def kind(self) -> str:
        """How dense rows are best worked on."""
        if self.acts is not None and self.scalar == "double":  # floats have registers enough
            return "acts"
        return self.one_act

    @property
    def one_act(self) -> str:
        """The same for one tape."""
        return "staged" if staged_inputs(self.signature, self.scalar) else "direct"


_modules: OrderedDict[Any, Loaded] = OrderedDict()  # those used last, the latest at the end
_loading = threading.RLock()


def _loaded(key: Any, device: int, ptx: Callable[[], tuple[bytes, int]], block: int = 0) -> Loaded:
    """The kernel kept under a key, or that of ``ptx()``; the device's context is current."""
    with _loading:
        if key not in _modules:
            _modules[key] = _load(*ptx(), device, block)
            if len(_modules) > LOADED:
                _modules.popitem(last=False)
        _modules.move_to_end(key)
        return _modules[key]


def _load(ptx: bytes, shared: int, device: int, block: int) -> Loaded:
    """Load a kernel that needs so many bytes of shared memory for a thread; a block of 0 threads is to be chosen."""
    module = _call("cuModuleLoadData", ptx + b"\0")
    function = _call("cuModuleGetFunction", module, NAME.encode())
    most = _most_shared(device)
    if block * shared > most:
        raise DalembertError(
            f"a row of {shared:,} bytes is too wide for this GPU, whose blocks share {most:,} bytes; ask for fewer outputs"
        )
    if block * shared > USUAL_SHARED:
        attribute = _driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _call("cuFuncSetAttribute", function, attribute, block * shared)
    if not block:  # that with which most threads are at work at once; of those the smallest
        occupied = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        block = min(BLOCKS, key=lambda b: (-b * _call(occupied, function, b, 0), b))
    loaded = Loaded(function, block, block * shared)
    weakref.finalize(loaded, _unload, module, device).atexit = False
    return loaded


def _unload(module: Any, device: int) -> None:
    """Give a module up, once what runs of it is done."""
    with _current(device):
        _call("cuCtxSynchronize")
        _call("cuModuleUnload", module)


@cache
def _llvm_version() -> str:
    import llvmlite

    return llvmlite.__version__


# -- calls -------------------------------------------------------------------------------------------


def leading_shape(signature: Signature, inputs: Sequence[DeviceArray]) -> tuple[int, ...]:
    """The shape to which the leading axes of the inputs broadcast."""
    leads = [
        array.shape[: len(array.shape) - len(core)] for array, (_, core) in zip(inputs, signature.inputs, strict=True)
    ]
    try:
        return np.broadcast_shapes(*leads)
    except ValueError:
        shapes = ", ".join(f"{name} {a.shape}" for (name, _), a in zip(signature.inputs, inputs, strict=True))
        raise ShapeError(f"these shapes do not broadcast: {shapes}") from None


def collapsed(
    shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The same rows with as few leading axes as they have: axes of one are left out, and those that continue each other
    in all arrays are joined.

    >>> collapsed((4, 1, 5), [(40, 40, 8), (0, 0, 0)])
    ((20,), [(8,), (0,)])
    """
    lengths: list[int] = []
    kept_strides: list[list[int]] = [[] for _ in strides]
    for axis, length in enumerate(shape):
        if length == 1:
            continue
        steps = [of[axis] for of in strides]
        if lengths and all(of[-1] == length * step for of, step in zip(kept_strides, steps, strict=True)):
            lengths[-1] *= length
            for of, step in zip(kept_strides, steps, strict=True):
                of[-1] = step
        else:
            lengths.append(length)
            for of, step in zip(kept_strides, steps, strict=True):
                of.append(step)
    return tuple(lengths), [tuple(of) for of in kept_strides]


class Launch(NamedTuple):
    """One launch of a kernel: how far each array has moved on for it, and what follows the arrays' addresses."""

    kernel: Loaded
    states: int
    offsets: tuple[int, ...]
    numbers: tuple[int, ...]


def launch(of: DeviceKernel, inputs: Sequence[DeviceArray], outputs: Sequence[DeviceArray], stream: int) -> None:
    """Run a kernel on arrays of one device, on a stream: outputs have the inputs' leading shape and their core shapes."""
    arrays = [*inputs, *outputs]
    device = arrays[0].device
    layout = (device, *((array.shape, array.strides) for array in arrays))
    with _current(device):
        launches = of.layouts.get(layout)
        if launches is None:
            launches = _launches(of, len(inputs), arrays, device)
            if len(of.layouts) >= LAYOUTS:
                of.layouts.clear()
            of.layouts[layout] = launches
        for kernel, states, offsets, numbers in launches:
            moved = [array.pointer + offset for array, offset in zip(arrays, offsets, strict=True)]
            _launch(kernel, states, (*moved, *numbers), stream)


def _launches(of: DeviceKernel, inputs: int, arrays: Sequence[DeviceArray], device: int) -> list[Launch]:
    """How arrays that lie like these are worked on."""
    cores, size = of.signature.arrays, BYTES[of.scalar]
    lead = leading_shape(of.signature, arrays[:inputs])
    if not prod(lead):
        return []
    strides = [_broadcast(array, len(core), lead) for array, core in zip(arrays, cores, strict=True)]
    lengths, steps = collapsed(lead, strides)
    core_strides = [array.strides[len(array.strides) - len(core) :] for array, core in zip(arrays, cores, strict=True)]
    rows = [step[0] if step else size * prod(core) for step, core in zip(steps, cores, strict=True)]
    dense = [row == size * prod(core) for row, core in zip(rows, cores, strict=True)]
    contiguous = all(_contiguous(core, given, size) for core, given in zip(cores, core_strides, strict=True))
    if contiguous and len(lengths) <= 1 and all(dense[inputs:]):
        count = prod(lengths)
        kernel = of.loaded(device, of.kind if all(dense) else "direct")
        return [Launch(kernel, count, (0,) * len(arrays), (*rows[:inputs], count))]
    kernel = of.loaded(device, "strided")
    flat = [stride for of in core_strides for stride in of]
    return [
        Launch(kernel, prod(inner), tuple(offsets), (prod(inner), *inner[1:], *(x for of in within for x in of), *flat))
        for offsets, inner, within in _by_axes(lengths, steps)
    ]


def _broadcast(array: DeviceArray, core: int, lead: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array's leading axes, broadcast: 0 where it repeats itself."""
    own = len(array.shape) - core
    lengths, strides = array.shape[:own], array.strides[:own]
    missing = len(lead) - own
    return (0,) * missing + tuple(0 if n == 1 else s for n, s in zip(lengths, strides, strict=True))


def _contiguous(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> bool:
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length > 1 and stride != size:
            return False
        size *= length
    return True


def _by_axes(lengths: tuple[int, ...], steps: list[tuple[int, ...]]) -> Any:
    """(offsets, AXES lengths, AXES strides of each array): axes that are too many are gone through one index at a time."""
    if len(lengths) > AXES:
        for k in range(lengths[0]):
            for offsets, inner, within in _by_axes(lengths[1:], [of[1:] for of in steps]):
                yield [offset + k * of[0] for offset, of in zip(offsets, steps, strict=True)], inner, within
        return
    missing = AXES - len(lengths)
    yield [0] * len(steps), (1,) * missing + lengths, [(0,) * missing + of for of in steps]


@contextmanager
def _current(device: int) -> Iterator[None]:
    """Within it the device's primary context is current; what was current before comes back."""
    context = _context(device)
    if int(_call("cuCtxGetCurrent")) == int(context):
        yield
        return
    _call("cuCtxPushCurrent", context)
    try:
        yield
    finally:
        _call("cuCtxPopCurrent")


def _launch(kernel: Loaded, count: int, numbers: Sequence[int], stream: int) -> None:
    words = (ctypes.c_int64 * len(numbers))(*numbers)
    begin = ctypes.addressof(words)
    places = (ctypes.c_int64 * len(numbers))(*range(begin, begin + 8 * len(numbers), 8))
    blocks = -(-count // kernel.block)
    _call(
        "cuLaunchKernel", kernel.function, blocks, 1, 1, kernel.block, 1, 1, kernel.shared, stream,
        ctypes.addressof(places), 0,
    )  # fmt: skip


# -- rollouts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeviceRollout:
    """A rollout as a kernel: ``parts`` name it, ``graphs`` gives its tapes, which are asked for only where they must be."""

    parts: tuple[str, ...]
    program: Program
    graphs: Callable[[], Mapping[str, tuple[Graph, Signature]]]
    scalar: str

    def ptx(self) -> bytes:
        """The kernel's PTX, from the cache or made now."""
        key = kept.key_of("rollout", *self.parts, self.scalar, repr(GPU), _llvm_version())
        code = kept.load(key)
        if code is None:
            code = compiled_for(GPU, rollout_grid_ir(self.program, self.graphs(), self.scalar, NAME), assembly=True)
            kept.store(key, code)
        return code

    def launch(self, arrays: Sequence[DeviceArray], steps: int, records: int, stream: int) -> None:
        """All steps of all states. ``arrays`` are the program's inputs and outputs, whose leading axes broadcast."""
        cores, device = self.program.cores(), arrays[0].device
        lead = arrays[-1].shape[: -len(cores[-1])]  # an output's: that to which the inputs broadcast
        if not prod(lead):
            return
        lengths, outer = collapsed(
            lead, [_broadcast(array, len(core), lead) for array, core in zip(arrays, cores, strict=True)]
        )
        if len(lengths) > 1:
            raise ShapeError("the states of a rollout must lie in one batch; give arrays of shape (states, n)")
        letters = {"s": steps, "m": records}
        sizes = [letters[x] if x in letters else int(x) for x in dict.fromkeys(axis for core in cores for axis in core)]
        inner = [
            0 if length == 1 else stride
            for array, core in zip(arrays, cores, strict=True)
            for length, stride in zip(array.shape[-len(core) :], array.strides[-len(core) :], strict=True)
        ]
        count = prod(lengths)
        numbers = [*(a.pointer for a in arrays), count, *sizes, *(of[0] if of else 0 for of in outer), *inner]
        with _current(device):
            _launch(
                _loaded((*self.parts, self.scalar, device), device, lambda: (self.ptx(), 0)), count, numbers, stream
            )
