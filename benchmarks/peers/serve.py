"""The process of one library: requests in, answers out, one line of JSON each (python -m peers.serve NAME FOLDER).

Every library is timed by the same rule: the minimum time of a call, repeated for a while, with short calls in loops.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from peers.protocol import INPUTS, Array, Way

LOOPED, AWHILE = 200, 0.02  # states of a Python loop without a batch call, and its time limit in s
SAMPLE = 50e-6  # s, the shortest interval that is timed
ALL_CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


class Server:
    """One library, its models and the call that was prepared last."""

    def __init__(self, name: str, folder: Path) -> None:
        start = time.perf_counter()
        self.peer = import_module(f"peers.{name}")
        self.imported = time.perf_counter() - start
        self.folder = folder
        self.models: dict[str, Any] = {}
        self.ways: dict[tuple[str, str], dict[str, Way]] = {}
        self.prepared: tuple[Any, Callable[[], Any], int] = (None, lambda: None, 0)

    def states(self, case: str, quantity: str, count: int) -> list[Array]:
        """The states, the same for every library; a single state has no leading axis."""
        files = [np.load(self.folder / case / f"{name}.npy", mmap_mode="r") for name in INPUTS[quantity]]
        return [np.array(x[0] if count == 1 else x[:count]) for x in files]

    def cores(self, way: Way) -> None:
        """Restrict the process to one core, the last, or allow all cores."""
        if ALL_CORES:
            os.sched_setaffinity(0, {max(ALL_CORES)} if way.alone else ALL_CORES)

    def way(self, case: str, quantity: str, name: str) -> Way:
        """The model, created at first use."""
        if case not in self.models:
            self.models[case] = self.peer.load(self.folder / case)
        if (case, quantity) not in self.ways:
            self.ways[case, quantity] = self.peer.ways(self.models[case], quantity)
        return self.ways[case, quantity][name]

    # -- requests -------------------------------------------------------------------------------------

    def hello(self) -> dict[str, Any]:
        """The version, and the duration of the import."""
        return {"version": self.peer.VERSION, "import": self.imported}

    def check(self, case: str, quantity: str) -> dict[str, Any]:
        """Every way compared with our results: the largest difference relative to the largest number; and seconds to the first result."""
        clock = time.perf_counter()
        if case not in self.models:
            self.models[case] = self.peer.load(self.folder / case)
        loaded = time.perf_counter() - clock
        self.ways[case, quantity] = self.peer.ways(self.models[case], quantity)
        want = np.load(self.folder / case / f"{quantity}.npy")
        arrays, found, first = self.states(case, quantity, len(want)), {}, None
        for name, way in self.ways[case, quantity].items():
            errors = []
            if way.one is not None:
                way.one(*(x[0].copy() for x in arrays))
                first = first or time.perf_counter() - clock
                errors.append(np.stack([way.read(way.one(*(x[k].copy() for x in arrays))) for k in range(len(want))]))
            if way.batch is not None:
                errors.append(way.rows(way.batch(*arrays)()))
            error = max(float(np.abs(got - want).max() / np.abs(want).max()) for got in errors)
            found[name] = {
                "error": error,
                "bound": way.bound,
                "call": way.call,
                "batch": way.batch is not None,
                "one": way.one is not None,
            }
        return {"ways": found, "load": loaded, "first": first}

    def time(self, case: str, quantity: str, way: str, states: int, seconds: float) -> dict[str, Any]:
        """Seconds per state; a loop over single calls takes at most LOOPED."""
        key = (case, quantity, way, states)
        if self.prepared[0] != key:
            self.prepared = (None, lambda: None, 0)  # free the memory of the last one before allocating this one's
            self.prepared = (key, *self.calls(*key))
        _, call, count = self.prepared
        self.cores(self.way(case, quantity, way))
        return {"seconds": least(call, seconds) / count}

    def calls(self, case: str, quantity: str, name: str, states: int) -> tuple[Callable[[], Any], int]:
        """A call without arguments, and the number of states that it computes."""
        way = self.way(case, quantity, name)
        if way.batch is not None and states > 1:
            return way.batch(*self.states(case, quantity, states)), states
        one = way.one
        if states == 1:
            state = self.states(case, quantity, 1)
            return lambda: one(*state), 1
        first = self.states(case, quantity, 1)
        start = time.perf_counter()
        one(*first)
        count = int(np.clip(AWHILE / (time.perf_counter() - start), 2, min(states, LOOPED)))
        rows = [tuple(x.copy() for x in row) for row in zip(*self.states(case, quantity, count), strict=True)]

        def loop() -> None:
            for row in rows:
                one(*row)

        return loop, len(rows)

    def memory(self, case: str, quantity: str, way: str, states: int) -> dict[str, Any]:
        """Bytes by which a batch makes the process grow, in addition to inputs and outputs, and its size without that batch."""
        self.calls(case, quantity, way, 1000)[0]()
        before = peak()
        paths = [self.folder / case / f"{name}.npy" for name in INPUTS[quantity]]
        arrays = [np.load(path)[:states] for path in paths]  # not memory-mapped, which would count twice
        chosen = self.way(case, quantity, way)
        result = np.asarray(chosen.batch(*arrays)())
        taken = sum(x.nbytes for x in (*arrays, result))
        return {"beyond": peak() - before - taken, "process": before}

    def operations(self, case: str, quantity: str) -> dict[str, Any]:
        """Counts of operations."""
        return {"operations": self.peer.operations(self.peer.load(self.folder / case), quantity)}


def least(call: Callable[[], Any], seconds: float) -> float:
    """The minimum time of one call."""
    start = time.perf_counter()
    call()
    best = time.perf_counter() - start
    loops, more = max(1, round(SAMPLE / best)), 3 if best < seconds else 1
    until = time.perf_counter() + seconds
    while more > 0 or time.perf_counter() < until:
        start = time.perf_counter()
        for _ in repeat(None, loops):
            call()
        best = min(best, (time.perf_counter() - start) / loops)
        more -= 1
    return best


def peak() -> int:
    """The peak memory of the process so far (bytes), from Linux; that of getrusage includes the parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main(name: str, folder: str) -> None:
    """Answer until there are no more requests."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of a library must not mix with the answers
    if ALL_CORES:
        os.sched_setaffinity(0, {max(ALL_CORES)})  # before a library starts its threads
    server = Server(name, Path(folder))
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(server, request.pop("do"))(**request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
