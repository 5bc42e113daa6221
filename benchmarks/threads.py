"""Large batches on two threads compared with one, and the automatic choice below and above the break-even size (make bench).

The figures are ratios of minimum times, measured alternately. Other work on the machine occupies cores and makes the ratios too
small: if both cores are busy, two threads are no faster than one. On a shared machine, ``chrt -r 1 python
benchmarks/threads.py`` reserves both cores while it runs (as root).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dalembert as da
from dalembert.compiler.kernel.batches import run
from dalembert.compiler.kernel.threads import usable_threads
from sidebyside import interleaved, table

SIZES = (1_000, 10_000, 100_000, 1_000_000)
SMALL = (1, 10, 100, 1_000, 5_000)
METHODS = {"inverse_dynamics": 3, "forward_dynamics": 3, "inertia_matrix": 1, "regressor": 3}
NUMBERS = 100_000_000  # numbers in the largest results: 0.8 GB


def rounds(seconds: float) -> int:
    """The number of repetitions of a call of this duration."""
    return int(np.clip(1.0 / seconds, 7, 400))


def timed(kernel: np.ufunc, x: list[np.ndarray], calls: dict[Any, Callable[[], object]]) -> dict[Any, float]:
    """The minimum times of calls on these states."""
    few = [a[:1000] for a in x]
    once = interleaved({"kernel": lambda: kernel(*few)}, 20)["kernel"] * max(1.0, len(x[0]) / 1000)
    return interleaved(calls, rounds(once))


def splitting(arm: da.Arm) -> None:
    """Ratios of one thread to two and to the automatic choice, with results written to existing arrays.

    Newly allocated memory for results costs as much as many kernels, depending on the system's allocator.
    """
    rows = []
    for name, inputs in METHODS.items():
        kernel, row = arm.kernel(name), [name]
        for size in SIZES:
            x = [np.random.default_rng(k).uniform(-2, 2, (size, arm.n)) for k in range(inputs)]
            one_state = kernel(*(a[0] for a in x))
            if size * one_state.size > NUMBERS:
                row.append("–")
                continue
            out = np.zeros((size, *one_state.shape))
            calls = {
                threads: lambda threads=threads, x=x, out=out, kernel=kernel: run(kernel, x, out, threads)
                for threads in (1, 2, None)
            }
            least = timed(kernel, x, calls)
            row.append(f"{least[1] / least[2]:.2f}, {least[1] / least[None]:.2f}")
        rows.append(tuple(row))
    table(
        f"panda: the time of one thread relative to threads=2 and to the automatic choice ({usable_threads()} CPUs)",
        rows,
        ("states", *(f"{size:,}" for size in SIZES)),
    )


def small(arm: da.Arm) -> None:
    """Small batches: the method compared with threads=1 and with the bare kernel."""
    rows = []
    for size in SMALL:
        shape = (arm.n,) if size == 1 else (size, arm.n)
        x = [np.random.default_rng(k).uniform(-2, 2, shape) for k in range(3)]
        kernel, repeats = arm.kernel("inverse_dynamics"), max(1, 2000 // size)
        least = interleaved(
            {
                "kernel": lambda x=x, n=repeats, kernel=kernel: [kernel(*x) for _ in range(n)],
                "auto": lambda x=x, n=repeats: [arm.inverse_dynamics(*x) for _ in range(n)],
                "one": lambda x=x, n=repeats: [arm.inverse_dynamics(*x, threads=1) for _ in range(n)],
            },
            100,
        )
        times = [least[name] / repeats * 1e6 for name in ("kernel", "auto", "one")]
        rows.append((f"{size:,}", *(f"{t:.2f}" for t in times), f"{times[2] / times[1]:.2f}"))
    table(
        "panda, inverse dynamics, µs per call", rows, ("states", "gufunc", "method", "threads=1", "threads=1 / method")
    )


def main() -> None:
    """Print both tables."""
    arm = da.load("panda")
    small(arm)
    splitting(arm)


if __name__ == "__main__":
    main()
