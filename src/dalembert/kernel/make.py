"""A kernel: from memory, from the cache on disk, or made now."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.emit.llvm import Signature, llvm_ir
from dalembert.graph.tape import Graph
from dalembert.kernel import cache
from dalembert.kernel.compile import Loaded, object_code, target
from dalembert.kernel.gufunc import gufunc

Recipe = tuple[Callable[..., np.ufunc], tuple[Any, ...]]

_kernels: dict[str, np.ufunc] = {}
_lock = threading.RLock()


def made(parts: Sequence[str], make: Callable[[str], np.ufunc]) -> np.ufunc:
    """What ``make`` gives for the key of these parts and this processor; it is asked once for each key."""
    key = cache.key_of(*parts, repr(target()))
    with _lock:
        if key not in _kernels:
            _kernels[key] = make(key)
        return _kernels[key]


def code_of(key: str, ir: Callable[[], str]) -> Loaded:
    """The machine code kept under the key, or that of ``ir()``, which is then kept."""
    code = cache.load(key)
    if code is None:
        code = object_code(ir())
        cache.store(key, code)
    return Loaded(code)


def graph_kernel(
    parts: Sequence[str], signature: Signature, graph: Callable[[], Graph], name: str, summary: str, recipe: Recipe
) -> np.ufunc:
    """The gufunc of a graph. ``recipe`` (function, arguments) makes it again, in another process."""

    def make(key: str) -> np.ufunc:
        arrays = ", ".join(f"{x} {shape}" for x, shape in (*signature.inputs, *signature.outputs))
        return gufunc(
            code_of(key, lambda: llvm_ir(graph(), signature, target().width)),
            signature.gufunc(), len(signature.inputs), len(signature.outputs), name, f"{summary}. Arrays: {arrays}.",
            recipe,
        )  # fmt: skip

    return made(parts, make)
