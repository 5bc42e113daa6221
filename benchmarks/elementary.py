"""Compiled elementary functions of the tape: nanoseconds per value compared with NumPy, on one core (make bench)."""

from __future__ import annotations

from functools import partial

import numpy as np

from dalembert.base.algebra import scalars
from dalembert.compiler.emit.elementary import ELEMENTARY
from dalembert.compiler.emit.llvm import Signature, llvm_ir
from dalembert.compiler.graph.tape import Graph
from dalembert.compiler.kernel.compile import MachineCode, object_code, target
from dalembert.compiler.kernel.gufunc import gufunc
from sidebyside import STATES, interleaved, one_core, table

WIDE = 8  # values per state, so that the function and not the loop dominates the time
NUMPY = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "atan2": np.arctan2, "asin": np.arcsin, "acos": np.arccos}
RANGES = {"exp": (-20, 20), "log": (1e-3, 1e3), "tanh": (-3, 3), "atan2": (-2, 2), "asin": (-1, 1), "acos": (-1, 1)}


def compiled(name: str) -> np.ufunc:
    """The function applied to WIDE values at once."""
    graph, count = Graph(), NUMPY[name].nin
    arrays = [[graph.input(f"x{a}{k}") for k in range(WIDE)] for a in range(count)]
    graph.output(getattr(scalars, name)(*row) for row in zip(*arrays, strict=True))
    shapes = Signature(tuple((f"x{a}", (WIDE,)) for a in range(count)), (("y", (WIDE,)),))
    code = MachineCode(object_code(llvm_ir(graph, shapes, target().form())))
    return gufunc(code, shapes.gufunc(), count, 1, name, "", (compiled, (name,)))


def main() -> None:
    """One row per function."""
    one_core()
    rng = np.random.default_rng(0)
    rows = []
    for name in ELEMENTARY:
        ours, theirs = compiled(name), NUMPY[name]
        x = [rng.uniform(*RANGES[name], (STATES // WIDE, WIDE)) for _ in range(theirs.nin)]
        out = np.empty_like(x[0])
        least = interleaved({"ours": partial(ours, *x, out=out), "numpy": partial(theirs, *x, out=out)})
        ns = {who: time / out.size * 1e9 for who, time in least.items()}
        rows.append((name, f"{ns['ours']:.2f}", f"{ns['numpy']:.2f}", f"{ns['numpy'] / ns['ours']:.1f}"))
    table(f"{STATES} values, one core, ns per value", rows, ("function", "dalembert", "NumPy", "ratio"))


if __name__ == "__main__":
    main()
