"""What must not be under way when the process forks: a child would wait for a thread that it does not have.

Locks that are held across a fork, so that it waits until another thread has done what it does under them, and that are
free in the child; and imports that other threads have begun, for modules are imported when they are needed. All of it is
known from the first ``import dalembert`` on: what is registered while a fork waits comes too late for it.
"""

from __future__ import annotations

import _frozen_importlib  # importlib itself may be what another thread has begun to import
import _imp
import os
import sys
from _thread import RLock

COMPILING = RLock()  # LLVM works for one thread at a time
KEEPING = RLock()  # of the tables of kernels, for an instant at a time
# what dalembert imports, and what these import in turn: all of Python's own modules, too
WAITED = sys.stdlib_module_names | {
    "dalembert",
    "numpy",
    "scipy",
    "sympy",
    "mpmath",
    "llvmlite",
    "rich",
    "typer",
    "click",
}


_held: list[bool] = []  # Python's lock of imports, once for every fork under way


def _let_imports_end() -> None:
    """Wait for imports that are under way, and let none begin until the fork: every new one needs Python's lock of imports."""
    waited: set[str] = set()
    while True:
        _imp.acquire_lock()
        begun = {name for name, module in list(sys.modules.items()) if _initializing(module)}
        begun.update(getattr(_frozen_importlib, "_module_locks", ()))  # some are not modules yet
        ours = {name for name in begun if name.partition(".")[0] in WAITED} - waited
        if not ours:  # those that this thread is importing itself are not waited for again
            _held.append(True)
            return
        _imp.release_lock()
        for name in ours:
            try:
                __import__(name)
            except ImportError:  # an optional package that is not there
                continue
        waited |= ours


def _let_imports_begin() -> None:
    if _held and _held.pop() and _imp.lock_held():  # a child may have been given a new lock
        _imp.release_lock()


def _initializing(module: object) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


if hasattr(os, "register_at_fork"):  # called in the opposite order before a fork: imports last
    os.register_at_fork(before=_let_imports_end, after_in_parent=_let_imports_begin, after_in_child=_let_imports_begin)
    for _lock in (KEEPING, COMPILING):
        os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
