"""A map of a million poses of panda on one core (make bench); the goal is 5 s."""

from __future__ import annotations

import time
from functools import partial

import dalembert as da
from dalembert.work.analysis.workspace import QUANTITIES, evaluator, workspace_map
from sidebyside import interleaved, one_core, random_states, table

POSES = 1_000_000


def main() -> None:
    """One row per quantity: compile time, the whole map, and the kernel alone."""
    one_core()
    arm = da.load("panda")
    q = random_states(arm.n)[0]
    rows = []
    for quantity in QUANTITIES:
        start = time.perf_counter()
        value_of, _ = evaluator(arm, quantity, "arm", None, "pseudo-inverse")
        value_of(q)
        made = time.perf_counter() - start
        start = time.perf_counter()
        workspace_map(arm, quantity, poses=POSES, limits="arm")
        whole = time.perf_counter() - start
        best = interleaved({"kernel": partial(value_of, q)})["kernel"] / len(q)
        rows.append((quantity, f"{made:.2f}", f"{whole:.2f}", f"{best * 1e9:.0f}"))
    head = ("panda", "ready (s)", f"{POSES:,} poses (s)", "ns per pose")
    table("Maps over the workspace, one core; ready: compiled, or read from the cache", rows, head)


if __name__ == "__main__":
    main()
