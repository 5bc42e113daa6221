"""Very many arms in one process, in bounded memory: ``python tests/many_arms.py 30000`` is part of ``make soak``.

Every arm is dropped after use, so its kernels must leave memory. Arms come back after more others than stay in memory,
so kernels are compiled once, and loaded from the disk again and again. Further words are how many arms differ, and
``everything`` for quantities of every kind instead of one.
"""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import dalembert as da
from dalembert.compiler.kernel import make

MOST_MAPS = 20  # that may come while thousands of arms come and go
MOST_MEGABYTES = 40  # over 2,000 arms or more; fewer may take their share of it


def maps() -> int:
    """How many memory maps this process has."""
    return len(Path("/proc/self/maps").read_text().splitlines())


def megabytes() -> float:
    """The memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def variants(count: int, different: int, *names: str) -> Iterator[da.Arm]:
    """``count`` arms of each name, of which ``different`` differ."""
    arms = [da.load(name) for name in names]
    for k in range(count):
        for arm in arms:
            yield arm.with_payload(1.0 + (k % different) / 1024)


def everything(arm: da.Arm) -> None:
    """A quantity of every kind: of the joints, of the tip, with gradients, and a simulation."""
    q = arm.home + 0.1
    arm.inverse_dynamics(q, q, q)
    arm.operations("gravity_torque")
    da.simulate(arm, q, None, None, 0.002)
    arm.operational_space(task="xy").inertia(q)
    arm.jacobian(q)


def main(count: int, different: int, all_kinds: bool = False) -> str:
    """What grew over ``count`` arms; an error where it is too much."""
    names = ("planar-2r", "five-bar") if all_kinds else ("planar-2r",)
    make.KEPT = min(make.KEPT, different - 2)  # or all kernels would stay in memory
    maps_before, memory_before = 0, 0.0
    for k, arm in enumerate(variants(count, different, *names)):
        if k == len(names) * different:  # every kernel is compiled, and those that stay in memory are there
            gc.collect()
            maps_before, memory_before = maps(), megabytes()
        everything(arm) if all_kinds else arm.gravity_torque([0.3, 0.4])
    gc.collect()
    more_maps, more_memory = maps() - maps_before, megabytes() - memory_before
    told = f"{count} arms: {more_maps} more memory maps, {more_memory:.0f} MB more memory"
    if more_maps > MOST_MAPS or more_memory > MOST_MEGABYTES * min(1.0, count / 2000):
        raise SystemExit(told)
    return told


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    print(main(*[*numbers, 1000][:2], "everything" in sys.argv))
