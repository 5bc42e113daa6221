"""How long a program waits: for ``import dalembert``, for an arm, for its first kernel from the cache (make bench)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from sidebyside import table

PROCESSES = 30
PROGRAM = """
import json, time
import numpy as np
marks = [time.perf_counter()]
def mark(): marks.append(time.perf_counter())
import dalembert as da; mark()
arm, zero = da.load("panda"), np.zeros(7); mark()
import llvmlite.binding; mark()
arm.inverse_dynamics(zero, zero, zero); mark()
print(json.dumps([b - a for a, b in zip(marks, marks[1:])]))
"""


def waits() -> list[float]:
    """Seconds for each step, in the quickest of many new processes, with kernels and bytecode in their caches."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "DALEMBERT_CACHE": folder, "PYTHONPYCACHEPREFIX": folder}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        runs = []
        for _ in range(PROCESSES):
            run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=env)
            runs.append(json.loads(run.stdout))
    return [min(steps) for steps in zip(*runs, strict=True)]


def main() -> None:
    """All of it as a table."""
    imported, loaded, llvm, ready = (1e3 * x for x in waits())
    rows = [
        ("import dalembert, after NumPy", f"{imported:.1f}"),
        ('da.load("panda")', f"{loaded:.1f}"),
        ("import llvmlite.binding", f"{llvm:.1f}"),
        ("inverse_dynamics from the cache on disk, first call", f"{ready:.1f}"),
        ("from import to the first result", f"{imported + loaded + llvm + ready:.1f}"),
    ]
    table(f"A new process, the quickest of {PROCESSES}", rows, ("", "ms"))


if __name__ == "__main__":
    main()
