"""Least squares with a million samples, and base parameters (make bench)."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import time

import numpy as np

import dalembert as da
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.evidence import LogEquations, RestWeights
from dalembert.work.identification.fitting.parameter_set import ParameterSet
from dalembert.work.logs.conditioning import Conditioned, Stretch
from dalembert.work.logs.log import Log
from sidebyside import one_core, random_states, table

MANY = 1_000_000


def long_log() -> None:
    """Least squares with a million samples of a 7-joint arm, on one core, in the memory of one block."""
    arm = da.load("panda")
    parameters = ParameterSet(arm, two_sided=True, offset=True)
    x = random_states(7, MANY)
    t, tau = np.arange(float(MANY)), arm.inverse_dynamics(*x)
    ready = Conditioned((Stretch(t, *x, tau),), rate=1.0, cutoff=1.0, every=1, edge=0, log=Log(t, x[0], tau))
    base = base_parameters(parameters)
    equations = LogEquations(base.columns_for(ready.sparse), ready, RestWeights.of(arm, ready, 0.0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall = busy = float("inf")
    for _ in range(3):
        start, started = time.perf_counter(), time.process_time()
        whole = equations.gathered(base.rank).together()
        wall, busy = min(wall, time.perf_counter() - start), min(busy, time.process_time() - started)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    rows = [
        (f"base columns: {len(whole.columns)}", f"{wall:.2f}", f"{busy:.2f}", f"{np.sqrt(whole.rss / whole.rows):.1e}")
    ]
    table(f"Blocked QR of {MANY:,} samples of panda", rows, ("", "s", "CPU s", "residual (N m)"))
    print(
        f"peak memory in addition to the log: {grown / 1024:.0f} MB; the stacked regressor would take {MANY * 7 * parameters.size * 8 / 1e9:.0f} GB"
    )


def base_parameter_times() -> None:
    """Time to compute base parameters, numerically and symbolically."""
    rows = []
    for name in ("planar-2r", "stanford", "puma560", "panda"):
        arm = da.load(name)
        arm.base_parameters()
        times = []
        for lengths in (None, "numbers", "symbols"):
            start = time.perf_counter()
            found = arm.base_parameters(lengths)
            found.formulas  # noqa: B018
            times.append(time.perf_counter() - start)
        rows.append((name, f"{found.parameters.size} → {found.rank}", *(f"{t * 1e3:.0f}" for t in times)))
    table("Base parameters, ms", rows, ("", "parameters", "random states", "exact numbers", "letters"))


if __name__ == "__main__":
    one_core()
    long_log()
    base_parameter_times()
