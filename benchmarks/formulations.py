"""Choice of formulation: operations, compile time and speed of the quantities used in simulation, control and identification.

The figures of docs/which-formulation.md, measured in one run per arm, so that ratios are meaningful (make bench).
"""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial

import dalembert as da
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.work.analysis.price import FORMULATIONS
from sidebyside import interleaved, one_core, random_states, table

ARMS = ("planar-2r", "puma560", "panda")
STATES = 1024
# the first formulation of each quantity is the default of the arm's method
ASKED = [
    *(("inverse_dynamics", name) for name in sorted(FORMULATIONS, key=lambda name: name != "lean")),
    *(("forward_dynamics", name) for name in ("composite", "articulated", "column-by-column")),
    *(("inertia_matrix", name) for name in ("composite", "column-by-column", "lagrange")),
    *(("coriolis_matrix", name) for name in ("composite", "lagrange")),
    ("gravity_torque", "lean"),
    ("regressor", "virtual-work"),
    ("torque_terms", "composite"),
    ("dalembert", "dalembert"),
    ("lagrange_euler", "lagrange-euler"),
]


def rows(arm: da.Arm) -> list[tuple[str, ...]]:
    """One row per quantity and formulation: counts, CPU time to the first result, ns per state, and the ratio to the first."""
    arrays = dict(zip(("q", "qd", "qdd"), random_states(arm.n, STATES), strict=True))
    arrays["tau"] = arrays["qdd"]
    calls, first = {}, {}
    for quantity, name in ASKED:
        inputs = [arrays[x] for x in JOINTS[quantity].inputs]
        with tempfile.TemporaryDirectory() as folder:
            os.environ["DALEMBERT_CACHE"] = folder
            start = time.process_time()
            kernel = arm.kernel(quantity, formulation=name)
            kernel(*(x[0] for x in inputs))
            first[quantity, name] = time.process_time() - start
        calls[f"{quantity} {name}"] = partial(kernel, *inputs, out=kernel(*inputs))
    least = interleaved(calls, 10)
    lines = []
    for quantity, name in ASKED:
        price, ns = arm.operations(quantity, name), least[f"{quantity} {name}"] / STATES * 1e9
        usual = next(x for q, x in ASKED if q == quantity)
        ratio = least[f"{quantity} {name}"] / least[f"{quantity} {usual}"]
        counts = [f"{x.multiplications:,} + {x.additions:,}" for x in (price.written, price.compiled)]
        lines.append((quantity, name, *counts, f"{first[quantity, name]:.2f}", f"{ns:,.0f}", f"{ratio:.1f}"))
    return lines


def single(arm: da.Arm) -> tuple[str, ...]:
    """Inverse dynamics of one state as in a control loop: by the method, and by the bare kernel with out=."""
    q, qd, qdd = (x[0] for x in random_states(arm.n, 1))
    kernel, tau = arm.kernel("inverse_dynamics"), arm.inverse_dynamics(q, qd, qdd)
    calls = {
        "method": lambda: [arm.inverse_dynamics(q, qd, qdd) for _ in range(1000)],
        "kernel": lambda: [kernel(q, qd, qdd, out=tau) for _ in range(1000)],
    }
    least = interleaved(calls, 10)
    return arm.name, *(f"{least[name] * 1e3:.2f}" for name in calls)


def main() -> None:
    """One table per arm."""
    one_core()
    da.load("planar-3r").gravity_torque([0.0, 0.0, 0.0])  # loads LLVM and NumPy
    head = ("quantity", "formulation", "written × +", "compiled × +", "first (s)", "ns", "ratio")
    for name in ARMS:
        arm = da.load(name)
        table(f"{name}, {arm.n} joints; one core, ns per state in batches of {STATES}", rows(arm), head)
    one_by_one = [single(da.load(name)) for name in ARMS]
    table("one state per call from Python, µs", one_by_one, ("arm", "arm.inverse_dynamics", "arm.kernel, out="))


if __name__ == "__main__":
    main()
