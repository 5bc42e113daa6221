"""Very many arms in one process, in bounded memory: ``python tests/many_arms.py 30000`` is part of ``make soak``.

Every arm is dropped after use, so its kernels must leave memory. Arms come back after more others than stay in memory,
so most kernels are loaded from the disk again; the first time they are compiled.
"""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.analysis.operational import OperationalSpace
from dalembert.kernel.make import KEPT

MOST_MAPS = 20  # that may come while thousands of arms come and go
MOST_MEGABYTES = 40


def maps() -> int:
    """How many memory maps this process has."""
    return len(Path("/proc/self/maps").read_text().splitlines())


def megabytes() -> float:
    """The memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def variants(count: int, different: int) -> Iterator[da.Arm]:
    """``count`` arms, of which ``different`` differ."""
    arm = da.load("planar-2r")
    for k in range(count):
        yield arm.with_payload(1.0 + (k % different) / 1024)


def use(arm: da.Arm, everything: bool) -> None:
    """One quantity of an arm, or one of every kind."""
    q = np.array([0.3, 0.4])
    held = arm.gravity_torque(q)
    if everything:
        OperationalSpace(arm, "xy").inertia_matrix(q)
        da.simulate(arm, q, None, held, 0.002)
        np.linalg.inv(arm.inertia_matrix(q)).sum()


def main(count: int, different: int, everything: bool = False) -> str:
    """What grew over ``count`` arms; an error where it is too much."""
    assert different > KEPT, "all kernels would stay in memory"
    for arm in variants(2 * different, different):  # every kernel is compiled, and those that stay are there
        use(arm, everything)
    gc.collect()
    maps_before, memory_before = maps(), megabytes()
    for arm in variants(count, different):
        use(arm, everything)
    gc.collect()
    more_maps, more_memory = maps() - maps_before, megabytes() - memory_before
    told = f"{count} arms: {more_maps} more memory maps, {more_memory:.0f} MB more memory"
    if more_maps > MOST_MAPS or more_memory > MOST_MEGABYTES:
        raise SystemExit(told)
    return told


if __name__ == "__main__":
    count, different = (int(word) for word in (*sys.argv[1:], "1000")[:2])
    print(main(count, different, everything="everything" in sys.argv[3:]))
