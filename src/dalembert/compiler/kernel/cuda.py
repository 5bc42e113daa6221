"""Kernels on NVIDIA GPUs: PTX from LLVM, cached like other code, loaded by the driver (cuda-bindings).

One PTX text serves every GPU from Volta on; the driver translates it to machine code. A kernel is queued on the given
stream in the primary context of the device, which CuPy, PyTorch and JAX also use, and the call does not wait for it.
"""

from __future__ import annotations

import ctypes
import struct
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.extras import extra
from dalembert.compiler.emit.grid import AXES, BLOCK, grid_ir, phases_ir, rollout_grid_ir, staged_inputs
from dalembert.compiler.emit.ir import BYTES
from dalembert.compiler.emit.signature import Signature
from dalembert.compiler.kernel import cache as kernel_cache
from dalembert.compiler.kernel.compile import Machine, compiled_for
from dalembert.errors import DalembertError, ShapeError

if TYPE_CHECKING:
    from dalembert.compiler.graph.program import Program
    from dalembert.compiler.graph.tape import Graph

GPU = Machine("nvptx64-nvidia-cuda", "sm_70", "+ptx70", 1)
NAME = "run"  # name of the kernel in its module
BLOCKS = (256, 128, 64, 32)  # candidates for the number of threads per block
USUAL_SHARED = 48 * 1024  # bytes of shared memory that a block may use without an explicit request
LOADED = 256  # modules that stay loaded
LAYOUTS = 64  # number of array layouts whose launch parameters a kernel remembers
SCALARS = {"float64": "double", "float32": "float"}


@dataclass(frozen=True)
class DeviceArray:
    """An array in GPU memory, regardless of its owner.

    pointer  address of its first number      shape, strides  strides in bytes, 0 where it is broadcast
    dtype    "float32" or "float64"           device          CUDA's index of the GPU
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
    except (RuntimeError, OSError):  # the driver's library is missing
        raise DalembertError("there is no NVIDIA driver on this machine: pass arrays on the CPU") from None
    _done(driver, started)
    return driver


def _done(driver: Any, answer: tuple[Any, ...]) -> Any:
    """The result of a driver call; raises an error if it failed."""
    error, *values = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        _, text = driver.cuGetErrorString(error)
        what = text.decode() if isinstance(text, bytes) else str(error)
        raise DalembertError(f"the GPU driver reported an error: {what} ({error.name})")
    return values[0] if len(values) == 1 else values


def _call(function: str, *arguments: Any) -> Any:
    driver = _driver()
    return _done(driver, getattr(driver, function)(*arguments))


@cache
def _context(device: int) -> Any:
    return _call("cuDevicePrimaryCtxRetain", _call("cuDeviceGet", device))


def _most_shared(device: int) -> int:
    """Bytes of shared memory available to a block."""
    attribute = _driver().CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    return int(_call("cuDeviceGetAttribute", attribute, _call("cuDeviceGet", device)))


# -- kernels -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loaded:
    """A kernel's function on a device and its launch parameters; its module is unloaded when no longer referenced."""

    function: Any
    block: int
    shared: int  # bytes per block


@dataclass(frozen=True)
class DeviceKernel:
    """The ingredients of a kernel: ``parts`` identify it, and ``graph`` returns its tape, called only if necessary.

    ``phases`` returns the tapes of several equivalent stages, if there are any; ``layouts`` are the launch parameters for
    the array layouts used last.
    """

    parts: tuple[str, ...]
    signature: Signature
    graph: Callable[[], Graph]
    scalar: str
    phases: Callable[[], Sequence[tuple[Graph, Signature]]] | None = None
    layouts: dict[Any, list[Launch]] = field(default_factory=dict, compare=False)

    def ptx(self, kind: str) -> tuple[bytes, int]:
        """The kernel's PTX, cached or compiled now, and the bytes of shared memory that a thread needs."""

        def compiled() -> bytes:
            if kind == "phases" and self.phases is not None:
                ir, numbers = phases_ir(self.phases(), self.signature, self.scalar, NAME)
            else:
                ir, numbers = grid_ir(self.graph(), self.signature, self.scalar, NAME, kind)
            return struct.pack("<q", numbers * BYTES[self.scalar]) + compiled_for(GPU, ir, assembly=True)

        code = _cached(compiled, *self.parts, self.scalar, repr(GPU), kind)
        return code[8:], struct.unpack("<q", code[:8])[0]

    def loaded(self, device: int, kind: str) -> Loaded:
        """The kernel on a device; in a single stage if several would need more shared memory than its blocks have."""
        if kind == "phases" and BLOCK[self.scalar] * self.ptx(kind)[1] > _most_shared(device):
            kind = self.one_phase
        block = 0 if kind == "strided" else BLOCK[self.scalar]
        return _loaded((*self.parts, self.scalar, device, kind), device, lambda: self.ptx(kind), block)

    @cached_property
    def kind(self) -> str:
        """The best tapes for dense rows."""
        if self.phases is not None and self.scalar == "double":  # single precision has enough registers
            return "phases"
        return self.one_phase

    @property
    def one_phase(self) -> str:
        """The best order for one tape."""
        return "staged" if staged_inputs(self.signature, self.scalar) else "direct"


_modules: OrderedDict[Any, Loaded] = OrderedDict()  # those used last, the latest at the end
_loading = threading.RLock()


def _loaded(key: Any, device: int, ptx: Callable[[], tuple[bytes, int]], block: int = 0) -> Loaded:
    """The kernel loaded under a key, or that of ``ptx()``; the device's context must be current."""
    with _loading:
        if key not in _modules:
            _modules[key] = _load(*ptx(), device, block)
            if len(_modules) > LOADED:
                _modules.popitem(last=False)
        _modules.move_to_end(key)
        return _modules[key]


def _load(ptx: bytes, shared: int, device: int, block: int) -> Loaded:
    """Load a kernel that needs so many bytes of shared memory per thread; a block size of 0 is chosen automatically."""
    module = _call("cuModuleLoadData", ptx + b"\0")
    function = _call("cuModuleGetFunction", module, NAME.encode())
    most = _most_shared(device)
    if block * shared > most:
        raise DalembertError(
            f"a row of {shared:,} bytes is too wide for this GPU, whose blocks share {most:,} bytes; request fewer "
            "outputs"
        )
    if block * shared > USUAL_SHARED:
        attribute = _driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _call("cuFuncSetAttribute", function, attribute, block * shared)
    if not block:  # the block size with the highest occupancy, and the smallest of those
        occupied = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        block = min(BLOCKS, key=lambda b: (-b * _call(occupied, function, b, 0), b))
    loaded = Loaded(function, block, block * shared)
    weakref.finalize(loaded, _unload, module, device).atexit = False
    return loaded


def _unload(module: Any, device: int) -> None:
    """Unload a module once its running kernels are done."""
    with _current(device):
        _call("cuCtxSynchronize")
        _call("cuModuleUnload", module)


def _cached(compiled: Callable[[], bytes], *parts: str) -> bytes:
    """The code cached under these parts and LLVM's version, or compiled now."""
    import llvmlite

    return kernel_cache.cached(kernel_cache.key_of(*parts, llvmlite.__version__), compiled)


# -- calls -------------------------------------------------------------------------------------------


def collapsed(
    shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The same rows with as few leading axes as possible: axes of length one are dropped, and axes that are contiguous
    in all arrays are merged.

    >>> collapsed((4, 1, 5), [(40, 40, 8), (0, 0, 0)])
    ((20,), [(8,), (0,)])
    """
    axes: list[tuple[int, list[int]]] = []  # their lengths, and the stride of each array
    for length, *steps in zip(shape, *strides, strict=True):
        if length == 1:
            continue
        if axes and axes[-1][1] == [length * step for step in steps]:
            length *= axes.pop()[0]
        axes.append((length, steps))
    return tuple(length for length, _ in axes), [tuple(steps[k] for _, steps in axes) for k in range(len(strides))]


# a kernel, its number of states, the offset of each array, and the arguments that follow the arrays' addresses
Launch = tuple[Loaded, int, tuple[int, ...], tuple[int, ...]]


def launch(of: DeviceKernel, inputs: Sequence[DeviceArray], outputs: Sequence[DeviceArray], stream: int) -> None:
    """Queue a kernel on arrays of one device on a stream; outputs have the leading shape of the inputs."""
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
    """Launch parameters for arrays with this layout."""
    cores, size = of.signature.arrays, BYTES[of.scalar]
    lead = of.signature.leading([array.shape for array in arrays[:inputs]])
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
        return [(kernel, count, (0,) * len(arrays), (*rows[:inputs], count))]
    kernel = of.loaded(device, "strided")
    flat = [stride for of in core_strides for stride in of]
    return [
        (kernel, prod(inner), tuple(offsets), (prod(inner), *inner[1:], *(x for of in within for x in of), *flat))
        for offsets, inner, within in _by_axes(lengths, steps)
    ]


def _broadcast(array: DeviceArray, core: int, lead: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array's broadcast leading axes: 0 along broadcast axes."""
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
    """(offsets, AXES lengths, AXES strides of each array); surplus axes are iterated one index at a time."""
    if len(lengths) > AXES:
        for k in range(lengths[0]):
            for offsets, inner, within in _by_axes(lengths[1:], [of[1:] for of in steps]):
                yield [offset + k * of[0] for offset, of in zip(offsets, steps, strict=True)], inner, within
        return
    missing = AXES - len(lengths)
    yield [0] * len(steps), (1,) * missing + lengths, [(0,) * missing + of for of in steps]


@contextmanager
def _current(device: int) -> Iterator[None]:
    """A context manager in which the device's primary context is current; the previous one is restored afterwards."""
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


@cache
def number_on(device: int, value: float, dtype: str) -> int:
    """The address of a number in the memory of a device."""
    content = struct.pack("d" if dtype == "float64" else "f", value)
    with _current(device):
        pointer = _call("cuMemAlloc", len(content))
        _call("cuMemcpyHtoD", pointer, content, len(content))
    return int(pointer)


# -- rollouts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeviceRollout:
    """A rollout as a kernel: ``parts`` identify it, and ``graphs`` returns its tapes, called only if necessary."""

    parts: tuple[str, ...]
    program: Program
    graphs: Callable[[], Mapping[str, tuple[Graph, Signature]]]
    scalar: str

    def ptx(self) -> bytes:
        """The kernel's PTX, cached or compiled now."""

        def compiled() -> bytes:
            return compiled_for(GPU, rollout_grid_ir(self.program, self.graphs(), self.scalar, NAME), assembly=True)

        return _cached(compiled, "rollout", *self.parts, self.scalar, repr(GPU))

    def launch(self, arrays: Sequence[DeviceArray], steps: int, records: int, stream: int) -> None:
        """Queue all steps of all states. ``arrays`` are the program's inputs and outputs, whose leading axes
        broadcast."""
        cores, device = self.program.cores(), arrays[0].device
        lead = arrays[-1].shape[: -len(cores[-1])]  # that of an output, to which the inputs broadcast
        if not prod(lead):
            return
        lengths, outer = collapsed(
            lead, [_broadcast(array, len(core), lead) for array, core in zip(arrays, cores, strict=True)]
        )
        if len(lengths) > 1:
            raise ShapeError("the states of a rollout must form one batch; pass arrays of shape (states, n)")
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
