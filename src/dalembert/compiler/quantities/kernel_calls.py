"""Running a kernel on checked NumPy arrays: loops are closed first if necessary, and errors are explained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.base.arrays import DOUBLE, Array
from dalembert.compiler.kernel.batches import run
from dalembert.errors import ShapeError
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.coordinates.placing import Placing

REACTIONS = ("loop_wrenches", "joint_wrenches", "recursion")  # undetermined if a loop is singular, even a linear one
STATE = ("q", "qd", "qdd", "tau")


def needs_placing(mechanism: AnyMechanism, quantity: str) -> bool:
    """Whether loops must be closed first, or their closure can fail."""
    return not mechanism.linear or (bool(mechanism.loops) and quantity in REACTIONS)


def run_kernel(
    ufunc: np.ufunc,
    quantity: str,
    arrays: Mapping[str, Any],
    placing: Placing,
    out: Array | tuple[Array, ...] | None = None,
    threads: int | None = None,
) -> Any:
    """The result of a kernel. Loops are closed first if necessary; an error names the loop and the state."""
    if "q" not in arrays or not needs_placing(placing.mechanism, quantity):
        return _run(ufunc, quantity, arrays, out, threads)
    q = np.asarray(arrays["q"], DOUBLE)
    if placing.mechanism.by_newton:  # one float64 among the inputs is no reason to round the joints of the tree
        dtype = np.result_type(*(a for name, a in arrays.items() if name in STATE))
        arrays = {**arrays, "q": placing.by_newton(q, None).astype(dtype, copy=False)}
    with np.errstate(invalid="ignore", divide="ignore"):  # explained below
        result = _run(ufunc, quantity, arrays, out, threads)
    placing.explain(q, *(result if isinstance(result, tuple) else (result,)))
    return result


def _run(
    ufunc: np.ufunc,
    quantity: str,
    arrays: Mapping[str, Any],
    out: Array | tuple[Array, ...] | None,
    threads: int | None,
) -> Any:
    """The result of a kernel, or an error with the names and shapes of its arrays."""
    try:
        return run(ufunc, list(arrays.values()), out, threads)
    except (TypeError, ValueError) as problem:
        shapes = ", ".join(f"{name} {a.shape}" for name, a in arrays.items())
        what = f" and out {out.shape}" if isinstance(out, np.ndarray) else ""
        if isinstance(problem, TypeError):
            raise ShapeError(f"{quantity} cannot be computed from these arrays: {shapes} ({problem})") from None
        raise ShapeError(
            f"these shapes do not broadcast: {shapes}{what}; their leading axes must be equal, or 1"
        ) from None
