"""LLVM IR to machine code, and machine code to something that can be called."""

from __future__ import annotations

import ctypes
import ctypes.util
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

_lock = threading.Lock()


@dataclass(frozen=True)
class Target:
    """The machine that code is made for."""

    triple: str
    cpu: str
    features: str
    width: int  # doubles in a vector register
    llvm: str


@cache
def target() -> Target:
    """This machine."""
    import llvmlite
    from llvmlite import binding as llvm

    found = llvm.get_host_cpu_features()
    width = 8 if found.get("avx512f") else 4 if found.get("avx") else 2
    version = ".".join(map(str, llvm.llvm_version_info))
    triple = llvm.get_process_triple()
    return Target(triple, llvm.get_host_cpu_name(), found.flatten(), width, f"{llvmlite.__version__}/{version}")


@cache
def _machine() -> Any:
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _provide_trigonometry(llvm)
    here = target()
    return llvm.Target.from_triple(here.triple).create_target_machine(
        cpu=here.cpu, features=here.features, opt=2, reloc="pic", codemodel="small"
    )


def _provide_trigonometry(llvm: Any) -> None:
    """The C library's sin and cos, for angles beyond the arithmetic's range."""
    library = ctypes.CDLL(ctypes.util.find_library("m") or None)
    for name in ("sin", "cos"):
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        llvm.add_symbol(f"dalembert_{name}", address)


def object_code(ir: str) -> bytes:
    """Compile IR to an object file for this machine."""
    from llvmlite import binding as llvm

    with _lock:
        machine = _machine()
        module = llvm.parse_assembly(ir)
        module.triple = target().triple
        module.data_layout = str(machine.target_data)
        module.verify()
        return bytes(machine.emit_object(module))


_engines: list[Any] = []  # an engine that dies takes the target machine, which all of them share, with it


class Loaded:
    """Machine code in memory; it stays there as long as the process lives."""

    def __init__(self, code: bytes) -> None:
        from llvmlite import binding as llvm

        with _lock:
            machine = _machine()
            empty = llvm.parse_assembly("")
            empty.triple = target().triple
            self._engine = llvm.create_mcjit_compiler(empty, machine)
            _engines.append(self._engine)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function is."""
        return int(self._engine.get_function_address(name))
