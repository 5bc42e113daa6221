"""Time and memory of an identification: long simulated logs of panda, and a short one (make bench).

Every case runs in its own process, on a log that has been read into memory, with kernels already compiled. CPU time is the
total of all threads; on a busy machine it is more meaningful than elapsed time. Memory is the peak of the process minus its
memory after reading the log; this difference is not meaningful for short logs.

--write writes benchmarks/identification.md.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from sidebyside import table

HERE = Path(__file__).resolve().parent
HARMONICS = 6  # sines per joint, each joint with its own frequencies
SLOWEST, FASTEST = 0.05, 0.8  # Hz
FRICTION, WIDTH, NOISE = 0.05, 0.02, 0.02  # share of a joint's largest torque, rad/s, share of its largest torque
PINNED = {"friction": ("viscous", "coulomb"), "offset": True, "cutoff": 8.0, "method": "weighted"}


@dataclass(frozen=True)
class Case:
    """A log and the options of its identification; ``goal`` is in seconds of elapsed time on two cores."""

    words: str
    arm: str
    samples: int
    rate: float
    options: dict[str, Any]
    goal: float


CASES = {
    "pinned": Case("all choices fixed", "panda", 1_000_000, 1000.0, {**PINNED, "selection": False}, 10.0),
    "plain": Case("selection=False", "panda", 1_000_000, 1000.0, {"selection": False}, 10.0),
    "whole": Case("full selection", "panda", 1_000_000, 1000.0, {}, 10.0),
    "load": Case(
        "fixed, load-dependent friction", "panda", 600_000, 1000.0,
        {**PINNED, "selection": False, "terms": {"panda_joint2": ["load"], "panda_joint4": ["load"]}}, 90.0,
    ),
    "short, plain": Case("selection=False", "ur5e", 3_000, 100.0, {"selection": False}, 1.0),
    "short, whole": Case("full selection", "ur5e", 3_000, 100.0, {}, 0.8),
}  # fmt: skip


def simulated(name: str, samples: int, rate: float) -> dict[str, np.ndarray]:
    """t, q, qd and tau of an arm that follows sums of sines, with smoothed Coulomb and viscous friction, offsets and noise."""
    arm, rng = da.load(name), np.random.default_rng(0)
    t, q = np.arange(samples) / rate, np.zeros((samples, arm.n))
    qd, qdd = np.zeros_like(q), np.zeros_like(q)
    for j in range(arm.n):
        for f, size, phase in zip(
            *rng.uniform([[SLOWEST], [0.2], [0]], [[FASTEST], [1], [6.28]], (3, HARMONICS)), strict=True
        ):
            w, a = 2 * np.pi * f, 0.25 * size / f / HARMONICS
            q[:, j] += a * np.sin(w * t + phase)
            qd[:, j] += a * w * np.cos(w * t + phase)
            qdd[:, j] -= a * w**2 * np.sin(w * t + phase)
    tau = arm.inverse_dynamics(q, qd, qdd)
    largest = np.abs(tau).max(axis=0)
    tau += largest * (FRICTION * (np.tanh(qd / WIDTH) + qd + 0.5) + NOISE * rng.standard_normal(tau.shape))
    q += 1e-5 * rng.standard_normal(q.shape)
    qd += 1e-3 * rng.standard_normal(q.shape)
    return {"t": t, "q": q, "qd": qd, "tau": tau}


def measured(key: str, path: str) -> dict[str, float]:
    """One case, in this process: s, CPU s, MB in addition to the log, and the relative error."""
    case = CASES[key]
    arm, log = da.load(case.arm), dict(np.load(path))
    warnings.simplefilter("ignore")
    short = {name: values[:: max(1, round(case.rate / 100))][:3_000] for name, values in log.items()}
    da.identify(arm, short, **case.options)  # compiles, and loads everything that is loaded at first use
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()  # resident now
    wall, busy = time.perf_counter(), time.process_time()
    fit = da.identify(arm, log, **case.options)
    wall, busy = time.perf_counter() - wall, time.process_time() - busy
    more = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    size = sum(values.nbytes for values in log.values())
    return {"wall": wall, "busy": busy, "log": size / 1e6, "more": more / 1e6, "error": fit.relative_error}


def main() -> None:
    """One row per case."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for key, case in CASES.items():
            path = Path(folder) / f"{case.arm}_{case.samples}.npz"
            if not path.exists():
                np.savez(path, **simulated(case.arm, case.samples, case.rate))
            call = [sys.executable, __file__, "--case", key, str(path)]
            told = subprocess.run(
                call, check=True, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
            )
            x = json.loads(told.stdout.splitlines()[-1])
            what = f"{case.samples:,} samples at {case.rate:g} Hz, {case.arm}: {case.words}"
            rows.append(
                (what, f"{x['wall']:.2f}", f"{x['busy']:.2f}", f"{case.goal:g}", f"{x['log']:.1f}", f"{x['more']:.0f}" if x["log"] > 10 else "–", f"{100 * x['error']:.2f}")
            )  # fmt: skip
    head = ("", "s", "CPU s", "goal, s", "log, MB", "additional peak, MB", "relative error, %")
    table("Identification", rows, head)
    if "--write" in sys.argv:
        lines = [
            "# Time and memory of an identification", "", *(__doc__ or "").split("\n\n")[1].splitlines(), "",
            f"The load average was {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores. Written by `benchmarks/identification.py --write`.", "",
            "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1),
            *("| " + " | ".join(row) + " |" for row in rows),
        ]  # fmt: skip
        (HERE / "identification.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if "--case" in sys.argv:
        at = sys.argv.index("--case")
        print(json.dumps(measured(sys.argv[at + 1], sys.argv[at + 2])))
    else:
        main()
