"""A process whose address space is fragmented on purpose loads kernels; it is started by test_loading.py.

Near all that is mapped already there are only holes, 3 GB apart: single pages first, which take the constants of a kernel
but not its code, then holes for whole object files. What the loader maps one by one lies beyond the reach of an
instruction, which is 2 GB.
"""

from __future__ import annotations

import ctypes
import sys

import dalembert as da
from dalembert.compiler.emit import llvm

GIGABYTE, PAGE = 1 << 30, 1 << 12
NO_ACCESS, PRIVATE, ANONYMOUS, NO_RESERVE = 0, 0x02, 0x20, 0x4000


def fragment() -> None:
    """Leave only holes that lie far apart near all that is mapped already."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def taken(size: int) -> int:
        address = libc.mmap(None, size, NO_ACCESS, PRIVATE | ANONYMOUS | NO_RESERVE, -1, 0)
        assert address is not None and address != ctypes.c_void_p(-1).value
        return int(address)

    holes = [PAGE] * 60 + [6 * PAGE] * 60  # from above, as Linux searches for space
    span = 3 * GIGABYTE * len(holes)
    start = taken(span)
    for k, size in enumerate(reversed(holes)):
        libc.munmap(start + 3 * GIGABYTE * k + GIGABYTE, size)
    for size in sorted(set(holes), reverse=True):  # gaps elsewhere are filled
        while not start <= (address := taken(size)) < start + span:
            pass
        libc.munmap(address, size)


def main(names: list[str]) -> None:
    """Load one kernel in one piece and one in several, whose parts call each other, as long tapes have them."""
    arm = da.load("planar-2r")
    arm.kernel("pose")  # LLVM is ready
    fragment()
    for name in names:
        arm.kernel(name)
    llvm.PART_LENGTH = llvm.SHORT_PART_LENGTH = 10
    llvm.MODULE_PARTS = 1
    for name in names:
        da.load("planar-2r").replace(gravity=(0.1, -9.0, 0.2)).kernel(name)
    print("loaded", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
