"""Kernels: from memory, from the cache on disk, or newly compiled."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np

from dalembert.base.environment.progress import Bar
from dalembert.compiler.emit.signature import Signature
from dalembert.compiler.kernel import cache
from dalembert.compiler.kernel.compile import Machine, MachineCode, object_code, target
from dalembert.compiler.kernel.forks import KEEPING
from dalembert.compiler.kernel.gufunc import Recipe, gufunc

if TYPE_CHECKING:
    from dalembert.compiler.graph.tape import Graph

PATIENCE = 2.0  # seconds of compilation before a progress bar is shown
KEPT = 128  # kernels that stay in memory although no arm refers to them, so that a recreated arm finds its own

_kernels: OrderedDict[str, np.ufunc] = OrderedDict()  # recently used kernels, the latest at the end
_turns: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_turns.clear)  # no other thread survives the fork


def shared_kernel(parts: Sequence[str], make: Callable[[str], np.ufunc], machine: Machine | None = None) -> np.ufunc:
    """The result of ``make`` for the key of these parts and this processor; concurrent threads share one result."""
    key = cache.key_of(*parts, repr(machine or target()))
    with KEEPING:
        if (kernel := _recent(key)) is not None:
            return kernel
        turn = _turns.setdefault(key, threading.RLock())
    with turn:
        with KEEPING:
            if (kernel := _recent(key)) is not None:
                return kernel
        kernel = make(key)
        with KEEPING:
            _kernels[key] = kernel
            if len(_kernels) > KEPT:
                _kernels.popitem(last=False)
        return kernel


def _recent(key: str) -> np.ufunc | None:
    if key in _kernels:
        _kernels.move_to_end(key)
    return _kernels.get(key)


def code_of(
    key: str, ir: Callable[[], Sequence[str]], what: str, optimise: bool = False, machine: Machine | None = None
) -> MachineCode:
    """The machine code cached under the key, or that of ``ir()``, cached from now on; a progress bar names ``what``."""

    def compiled() -> bytes:
        with Bar(f"compiling {what}", PATIENCE) as bar:
            return object_code(ir(), bar, optimise, machine)

    return MachineCode(cache.cached(key, compiled))


def graph_kernel(
    parts: Sequence[str],
    signature: Signature,
    graph: Callable[[], Graph],
    name: str,
    summary: str,
    recipe: Recipe,
    of: str,
    scalar: str = "double",
    machine: Machine | None = None,
) -> np.ufunc:
    """The gufunc of a graph. ``recipe`` (function, arguments) recreates it in another process.

    ``of`` names the owner in the progress bar. With the ``scalar`` "double" the gufunc takes arrays of doubles and of
    floats, which are widened; with "float" it takes arrays of floats. A ``machine`` restricts the instructions that the
    code may use; this processor must support them.
    """

    def ir() -> list[str]:
        from dalembert.compiler.emit.llvm import llvm_ir

        return llvm_ir(graph(), signature, (machine or target()).form(scalar))

    def make(key: str) -> np.ufunc:
        arrays = ", ".join(f"{x} {shape}" for x, shape in (*signature.inputs, *signature.outputs))
        return gufunc(
            code_of(key, ir, f"{name} of {of}", machine=machine),
            signature.gufunc(), name, f"{summary}. Arrays: {arrays}.", recipe, kinds="fd" if scalar == "double" else "f",
        )  # fmt: skip

    return shared_kernel((*parts, scalar), make, machine)
