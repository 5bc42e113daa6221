"""Compile time and speed of general chains with many joints (make bench); --all includes cases that take minutes."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial

import dalembert as da
from dalembert.compiler.graph.count import count
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.compiler.quantities.machine import trace
from dalembert.work.analysis.price import chain
from sidebyside import interleaved, one_core, random_states, table

JOINT_COUNTS = (10, 30, 60, 100)
LARGEST = {"inverse_dynamics": 100, "forward_dynamics": 100, "inertia_matrix": 100, "torque_derivatives": 60}
STATES = 128


def row(arm: da.Arm, name: str) -> tuple[str, ...]:
    """Time from a call on a new arm to its first result, with an empty cache; then time for many states."""
    states = dict(zip(("q", "qd", "qdd"), random_states(arm.n, STATES), strict=True))
    states["tau"] = states["qdd"]
    arrays = [states[x] for x in JOINTS[name].inputs]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DALEMBERT_CACHE"] = folder
        wall, cpu = time.perf_counter(), time.process_time()
        getattr(arm, name)(*(x[0] for x in arrays))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    kernel = arm.kernel(name)
    least = interleaved({name: partial(kernel, *arrays, out=kernel(*arrays))}, 10)[name]
    operations = count(trace(arm.mechanism, JOINTS[name])).total
    return name, str(arm.n), f"{wall:.2f}", f"{cpu:.2f}", f"{operations:,}", f"{least / STATES * 1e9:,.0f}"


def main() -> None:
    """One row per quantity and number of joints."""
    one_core()
    da.load("planar-2r").gravity_torque([0.0, 0.0])  # loads LLVM and NumPy
    largest = dict.fromkeys(LARGEST, max(JOINT_COUNTS)) if "--all" in sys.argv else LARGEST
    rows = [row(chain(n), name) for name in LARGEST for n in JOINT_COUNTS if n <= largest[name]]
    head = ("general chain", "joints", "first result (s)", "of which CPU (s)", "operations", "ns per state")
    table(f"a new arm and an empty cache, one core; {STATES} states", rows, head)


if __name__ == "__main__":
    main()
