"""Figures for sizing a cluster (make bench): bytes and time per state on one core, and the overhead of Dask per task.

docs/cluster.md uses these figures.
"""

from __future__ import annotations

import warnings
from functools import partial

import dask.array
import numpy as np
from distributed import Client, LocalCluster

import dalembert as da
from dalembert.arm import Arm
from dalembert.base.environment.cluster import spread
from dalembert.compiler.quantities import machine
from dalembert.compiler.quantities.joints import JOINTS
from sidebyside import interleaved, one_core, random_states, table

QUANTITIES = ("inverse_dynamics", "forward_dynamics", "gravity_torque", "inertia_matrix", "jacobian", "regressor")
STATES = 10_000
PIECES = 400
STEPS = 1000
ROUNDS = 3


def bytes_of(arm: Arm, quantity: str) -> tuple[int, int]:
    """(in, out) bytes per state, as float64."""
    arrays = machine.signature(arm.mechanism, JOINTS[quantity])
    one, other = (8 * sum(int(np.prod(shape)) for _, shape in side) for side in (arrays.inputs, arrays.outputs))
    return one, other


def on_one_core(arm: Arm) -> None:
    """Bytes per state, states per second, and the data rate of one core."""
    calls, x = {}, random_states(arm.n, STATES)
    for name in QUANTITIES:
        ufunc = arm.kernel(name)
        out = tuple(np.empty_like(y) for y in np.atleast_1d(ufunc(*x[: ufunc.nin]))) if ufunc.nout > 1 else None
        calls[name] = partial(ufunc, *x[: ufunc.nin], out=out or np.empty_like(ufunc(*x[: ufunc.nin])))
    least, rows = interleaved(calls), []
    for name, seconds in least.items():
        (into, back), each = bytes_of(arm, name), seconds / STATES
        rows.append(
            (name, str(into), str(back), f"{1e9 * each:.0f}", f"{1e-6 / each:.1f}", f"{(into + back) / each / 1e9:.1f}")
        )
    rollout = partial(da.simulate, arm, 0.1 * x[0][:256], None, None, STEPS * 1e-3, every=STEPS)
    each = interleaved({"rollout": rollout}, 3)["rollout"] / 256
    state = 8 * 2 * arm.n
    rows.append((
        f"rollout, {STEPS} steps", str(state), str(2 * state), f"{1e9 * each:,.0f}", f"{1e-6 / each:.4f}", f"{3 * state / each / 1e9:.4f}",
    ))  # fmt: skip
    head = (arm.name, "bytes in", "bytes out", "ns per state", "M states/s", "GB/s in and out")
    table(f"One core, batches of {STATES:,} states that stay in its cache", rows, head)


def nothing(shared: None, piece: int) -> int:
    """An empty task."""
    return piece


def with_dask(arm: Arm) -> None:
    """The overhead of Dask: per task, and for arrays sent to the workers and back."""
    warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # this is the case that is measured
    x = np.array(random_states(arm.n, 20 * STATES))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        Client(local) as client,
    ):
        list(spread(client, nothing, None, range(20)))
        piece = interleaved({"": lambda: list(spread(client, nothing, None, range(PIECES)))}, ROUNDS)[""] / PIECES
        lazy = [dask.array.from_array(a, chunks=(STATES, arm.n)) for a in x]
        travel = interleaved({"": lambda: arm.inverse_dynamics(*lazy).compute()}, ROUNDS)[""] / len(x[0])
        seeds = dask.array.random.default_rng(0).uniform(
            -2, 2, (3, 20 * len(x[0]), arm.n), chunks=(3, 10 * STATES, arm.n)
        )
        made = interleaved({"": lambda: arm.inverse_dynamics(*seeds).max().compute()}, ROUNDS)[""] / seeds.shape[1]
    here = interleaved({"here": partial(arm.kernel("inverse_dynamics"), *x)}, 9)["here"] / len(x[0])
    rows = [
        ("one empty task", f"{1e3 * piece:.2f} ms"),
        ("inverse dynamics in this process, on one core, per state", f"{1e9 * here:.0f} ns"),
        ("states sent to two workers, torques sent back, per state", f"{1e9 * travel:.0f} ns"),
        ("states sampled by two workers, largest torque sent back, per state", f"{1e9 * made:.0f} ns"),
    ]
    table("Dask with two worker processes on this machine", rows, (arm.name, "time"))


def main() -> None:
    """Both tables."""
    arm = da.load("panda")
    with_dask(arm)
    one_core()
    on_one_core(arm)


if __name__ == "__main__":
    main()
