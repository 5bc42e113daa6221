"""Compilation of LLVM IR to machine code, and loading of machine code as callable functions.

LLVM serves one thread at a time, under a lock that is also held across a fork: a child never finds LLVM in the middle
of an operation of another thread of its parent. The fork waits until that operation is complete.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import mmap
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dalembert.compiler.emit.ir import Form
from dalembert.compiler.kernel.forks import COMPILING
from dalembert.errors import DalembertError

MAPS_FOR_EACH = 4  # memory maps that one object file may need: code, constants, addresses, and one spare
MAPS_FOR_OTHERS = 1000  # memory maps reserved for the rest of the process
LLVM_MEMORY = 64_000_000  # bytes that LLVM may need for anything; 32 MB were measured for the first kernel
MEMORY_PER_BYTE = 20  # bytes that LLVM may need per byte of a module or an object file; 10 were measured
_V2 = ("cx16", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
# the instruction set extensions of the x86-64 levels beyond the baseline
LEVELS = {
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
CPU = "DALEMBERT_CPU"  # the environment variable that limits kernels to the instructions of a level
LIBRARY = "kernel"  # name of a linker's only library
LENGTH_BYTES = 8  # length prefix of each object file of a kernel


@dataclass(frozen=True)
class Machine:
    """A target machine in LLVM's terms."""

    triple: str
    cpu: str
    features: str
    width: int  # doubles in a vector register
    llvm: str = ""

    def form(self, scalar: str = "double", align: int = 1) -> Form:
        """The form of a tape that fills this machine's vector registers."""
        return Form(self.width if scalar == "double" or self.width == 1 else 2 * self.width, scalar, align)


@cache
def target() -> Machine:
    """This machine."""
    with COMPILING:
        import llvmlite
        from llvmlite import binding as llvm

        features = llvm.get_host_cpu_features()
        version = f"{llvmlite.__version__}/{'.'.join(map(str, llvm.llvm_version_info))}"
        triple, cpu, level = llvm.get_process_triple(), llvm.get_host_cpu_name(), os.environ.get(CPU, "")
    if not level:
        return Machine(triple, cpu, features.flatten(), _width(features), version)
    if level not in LEVELS or not triple.startswith("x86_64"):
        raise DalembertError(
            f"the environment variable {CPU} is {level!r}, and this processor is {cpu} ({triple.split('-')[0]}); it must be one "
            f"of {', '.join(LEVELS)} on x86_64, or unset for all instructions that the processor has"
        )
    if missing := [name for name in LEVELS[level] if not features.get(name)]:
        raise DalembertError(
            f"the environment variable {CPU} is {level!r}, but this processor ({cpu}) has no {', '.join(missing)}; choose a "
            "lower level, or unset it"
        )
    return Machine(triple, level, "", _width(dict.fromkeys(LEVELS[level], True)), version)


def _width(features: Mapping[str, bool]) -> int:
    """How many doubles a vector register holds."""
    return 8 if features.get("avx512f") else 4 if features.get("avx") else 2


def host_features() -> dict[str, bool]:
    """The instruction set extensions of this processor, by LLVM's names."""
    with COMPILING:
        from llvmlite import binding as llvm

        return dict(llvm.get_host_cpu_features())


# the target machines; to add one, write a row here and one in the table of targets
LINUX = "unknown-linux-gnu"
MACHINES: dict[str, Machine] = {
    "x86-64-v2": Machine(f"x86_64-{LINUX}", "x86-64-v2", "", 2),
    "x86-64-v3": Machine(f"x86_64-{LINUX}", "x86-64-v3", "", 4),
    "x86-64-v4": Machine(f"x86_64-{LINUX}", "x86-64-v4", "", 8),
    "aarch64": Machine(f"aarch64-{LINUX}", "generic", "", 2),
    "riscv64": Machine(f"riscv64-{LINUX}", "generic-rv64", "+m,+a,+f,+d,+c", 1),
    "cortex-m7": Machine("thumbv7em-unknown-none-eabihf", "cortex-m7", "+fp-armv8d16", 1),
    "cortex-m4f": Machine("thumbv7em-unknown-none-eabihf", "cortex-m4", "", 1),
    "wasm": Machine("wasm32-unknown-unknown", "generic", "+simd128", 2),
}


def runnable(name: str) -> Machine:
    """The machine of a target for code in this process; raises an error if this processor cannot run it."""
    here = target()
    if name == "host":
        return here
    machine = MACHINES[name]
    known = host_features()
    missing = [feature for feature in LEVELS.get(name, ()) if not known.get(feature)]
    if missing or name not in LEVELS or machine.triple.split("-")[0] != here.triple.split("-")[0]:
        why = f", because it lacks {', '.join(missing)}" if missing else ""
        raise DalembertError(
            f"this processor ({here.cpu}) cannot run code for '{name}'{why}; the files can still be written"
        )
    return Machine(here.triple, machine.cpu, machine.features, machine.width, here.llvm)


@cache
def _llvm(everywhere: bool = False) -> Any:
    """llvmlite, initialised to compile for this machine, or for others as well."""
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if everywhere:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    return llvm


def _machine(opt: int = 2, of: Machine | None = None, reloc: str = "pic") -> Any:
    """A new target machine, by default this one; an engine created with it owns it."""
    of = of or target()
    known = _llvm(of.triple != target().triple).Target.from_triple(of.triple)
    return known.create_target_machine(cpu=of.cpu, features=of.features, opt=opt, reloc=reloc, codemodel="small")


def c_function(name: str) -> int:
    """The address of a function of the C mathematics library."""
    library = ctypes.CDLL(None)  # already loaded in this process, because Python and NumPy need them too
    if not hasattr(library, name):
        from ctypes.util import find_library

        library = ctypes.CDLL(find_library("m"))
    return int(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0)


def object_code(
    modules: Sequence[str],
    tell: Callable[[float], None] = lambda fraction: None,
    optimise: bool = False,
    machine: Machine | None = None,
) -> bytes:
    """The object files of IR modules, each preceded by its length, compiled for this machine unless another is given.

    Between modules, ``tell`` receives the progress, forks can proceed, and Ctrl-C is handled. For several modules,
    which are the parts of a long tape, the second instruction scheduling after register allocation is disabled: it
    takes up to half of the time without benefit. The IR of a tape is final; that of functions, with variables in
    memory, calls and vectorisable loops, must first be optimised by LLVM (``optimise``).
    """
    opt = 2 if len(modules) == 1 else 1
    objects = []
    for k, ir in enumerate(modules):
        objects.append(_object(ir, opt, optimise, machine or target()))
        tell((k + 1) / len(modules))
    return b"".join(len(code).to_bytes(LENGTH_BYTES) + code for code in objects)


def _object(ir: str, opt: int, optimise: bool, of: Machine) -> bytes:
    with _module(of, ir, opt) as (module, machine):
        if optimise:
            _optimise(module, machine, 1, loop_vectorization=True, loop_unrolling=False, slp_vectorization=False)
        return bytes(machine.emit_object(module))


def compiled_for(machine: Machine, ir: str, assembly: bool = False, reloc: str = "static", *beside: str) -> bytes:
    """The object file of an optimised IR module for another machine, or its assembly as text.

    Modules ``beside`` it are linked into it; their internal symbols stay internal.
    """
    with _module(machine, ir, 2, reloc, beside) as (module, of):
        _optimise(module, of, 2, loop_vectorization=False, slp_vectorization=False)
        return of.emit_assembly(module).encode() if assembly else bytes(of.emit_object(module))


@contextlib.contextmanager
def _module(
    of: Machine, ir: str, opt: int, reloc: str = "pic", beside: Sequence[str] = ()
) -> Iterator[tuple[Any, Any]]:
    """LLVM's verified module of IR texts and the target machine, under LLVM's lock."""
    _look_for_memory(len(ir))
    with COMPILING, _machine(opt, of, reloc) as machine, _llvm().parse_assembly(ir) as module:
        for other in beside:
            module.link_in(_llvm().parse_assembly(other))
        module.triple = of.triple
        module.data_layout = str(machine.target_data)
        module.verify()
        yield module, machine


def _optimise(module: Any, machine: Any, speed: int, **tuning: bool) -> None:
    """Run LLVM's passes over a module.

    The passes are freed here, because llvmlite's class inherits a ``_dispose`` that does nothing before the one that
    frees them; this would leak 150 kB per module.
    """
    options = _llvm().create_pipeline_tuning_options(speed_level=speed)
    for name, value in tuning.items():
        setattr(options, name, value)
    with _llvm().create_pass_builder(machine, options) as builder:
        passes = builder.getModulePassManager()
        try:
            passes.run(module, builder)
        finally:
            _llvm().newpassmanagers.NewPassManager._dispose(passes)
            passes.detach()


def _objects(code: bytes) -> Iterator[bytes]:
    """The object files in the result of :func:`object_code`."""
    start = 0
    while start < len(code):
        first = start + LENGTH_BYTES
        start = first + int.from_bytes(code[start:first])
        yield code[first:start]


class MachineCode:
    """Machine code in memory, unmapped when it is no longer referenced.

    It is linked by LLVM's JITLink, which places each object file in one block of memory and raises errors. LLVM's older
    loader maps code and constants separately; in a process with large arrays or libraries they can lie more than 2 GB
    apart, which is beyond the reach of an instruction, and it aborts the process.
    """

    def __init__(self, code: bytes) -> None:
        objects = list(_objects(code))
        with COMPILING:
            _unmap()
            _look_for_room(len(objects))
            _look_for_memory(len(code))
            library = _llvm().JITLibraryBuilder()
            for part in objects:
                library.add_object_img(part)
            self._linker = _llvm().create_lljit_compiler(_machine(), use_jit_link=True, suppress_errors=True)
            self._trackers = [self._linker]  # code lives as long as they do
            weakref.finalize(self, _give_up, self._trackers).atexit = False
            self._trackers.append(library.link(self._linker, LIBRARY))

    def address(self, name: str) -> int:
        """The address of a function; the object files that it needs are placed in memory at the first call."""
        with COMPILING:
            try:
                tracker = self._linker.lookup(LIBRARY, name)
            except RuntimeError as problem:
                raise DalembertError(f"a kernel cannot be loaded into this process: {problem}") from None
            self._trackers.append(tracker)
            return int(tracker[name])


_unused: deque[Any] = deque()  # linkers and trackers of code that is no longer referenced


def _give_up(trackers: list[Any]) -> None:
    """Unmap the code of a linker: now, or when the thread that holds LLVM's lock is done."""
    _unused.extend(trackers)
    _unmap()


def _unmap() -> None:
    if COMPILING.acquire(blocking=False):  # objects can be destroyed anywhere, even where waiting would deadlock
        try:
            with contextlib.suppress(IndexError):
                while True:
                    _unused.pop().close()
        finally:
            COMPILING.release()


# -- the system's limits on memory ---------------------------------------------------------------


def _look_for_memory(size: int) -> None:
    """Raise an error where LLVM would abort the process because it gets no memory, as under ``ulimit -v``."""
    needed = LLVM_MEMORY + MEMORY_PER_BYTE * size
    try:
        mmap.mmap(-1, needed).close()
    except (OSError, MemoryError):
        raise DalembertError(
            f"this process gets no {needed / 1e6:.0f} MB of memory, which a kernel needs while it is compiled and "
            "loaded; drop arrays that are no longer needed, or raise the limit on memory (ulimit -v)"
        ) from None


_room = 0  # object files that can be loaded before the maps are counted again


def _look_for_room(objects: int) -> None:
    """Raise an error where LLVM would abort the process: Linux limits a process to vm.max_map_count maps."""
    global _room
    if _room < objects:
        _room = _loadable()
        if _room < objects:
            gc.collect()
            _unmap()
            _room = _loadable()
        if _room < objects:
            raise DalembertError(
                f"this process has {_maps()} memory maps and the system allows {most_maps()}, so no more kernels "
                "can be loaded; drop arms that are no longer needed, or raise vm.max_map_count (sysctl)"
            )
    _room -= objects


def _loadable() -> int:
    return (most_maps() - MAPS_FOR_OTHERS - _maps()) // MAPS_FOR_EACH


def _maps() -> int:
    """The number of memory maps of this process; 0 if the system does not report it."""
    try:
        with open("/proc/self/maps", "rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return 0


def most_maps() -> int:
    """The number of memory maps that the system allows per process."""
    try:
        return int(Path("/proc/sys/vm/max_map_count").read_text())
    except (OSError, ValueError):
        return 1 << 31
