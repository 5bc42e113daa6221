"""Operations that must not be in progress during a fork, because the child would wait for a thread that it does not
have.

These are operations under locks, which are held across a fork, so that the fork waits until other threads release them,
and which are free in the child; and imports begun by other threads, because modules are imported on demand. Everything
is registered at the first ``import dalembert``: what is registered while a fork is waiting comes too late for that
fork.
"""

from __future__ import annotations

import _frozen_importlib  # another thread may be importing importlib itself
import _imp
import os
import sys
from _thread import RLock

COMPILING = RLock()  # LLVM serves one thread at a time
KEEPING = RLock()  # of the tables of kernels, held only briefly
# what dalembert imports, directly or not, including all modules of the standard library
WAITED = sys.stdlib_module_names | {
    "dalembert", "numpy", "scipy", "sympy", "mpmath", "llvmlite", "rich", "typer", "click",
}  # fmt: skip

_held: list[bool] = []  # Python's import lock, once per fork in progress


def _let_imports_end() -> None:
    """Wait for imports in progress and block new ones until the fork: every new import needs Python's import lock."""
    waited: set[str] = set()
    while True:
        _imp.acquire_lock()
        begun = {name for name, module in list(sys.modules.items()) if _initializing(module)}
        begun.update(getattr(_frozen_importlib, "_module_locks", ()))  # some entries are not modules yet
        ours = {name for name in begun if name.partition(".")[0] in WAITED} - waited
        if not ours:  # imports of this thread itself are not waited for
            _held.append(True)
            return
        _imp.release_lock()
        for name in ours:
            try:
                __import__(name)
            except ImportError:  # an optional package that is not installed
                continue
        waited |= ours


def _let_imports_begin() -> None:
    if _held and _held.pop() and _imp.lock_held():  # a child may have received a new lock
        _imp.release_lock()


def _initializing(module: object) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


if hasattr(os, "register_at_fork"):  # handlers run in reverse order before a fork: imports last
    os.register_at_fork(before=_let_imports_end, after_in_parent=_let_imports_begin, after_in_child=_let_imports_begin)
    for _lock in (KEEPING, COMPILING):
        os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
