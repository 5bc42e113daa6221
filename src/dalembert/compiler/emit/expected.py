"""Expected outputs of a unit for self-tests: the tape evaluated in Python, and its sensitivity to rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from dalembert.compiler.emit.signature import Signature
from dalembert.compiler.graph.tape import Graph, evaluate

# every operation on arrays of any precision, as in the emitted code
ON_ARRAYS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "tanh": np.tanh, "atan2": np.arctan2,
    "asin": np.arcsin, "acos": np.arccos, "sign": np.sign,
    "less": lambda x, y: np.where(np.less(x, y), np.float32(1.0), np.float32(0.0)),
    "select": lambda c, x, y: np.where(np.not_equal(c, 0), x, y),
}  # fmt: skip


SHARE = 0.25  # share of a rounding error, in units of epsilon, that counts as the size of an output


def expected_outputs(
    graph: Graph, samples: Sequence[Sequence[float]], signature: Signature
) -> tuple[list[list[float]], list[float]]:
    """The outputs for every row of inputs, and for every output array the scale to which its errors are relative.

    The scale is the largest output, or more where rounding has a larger effect, as when large terms cancel: then it
    follows from the errors of single precision, and of double precision relative to long double.
    """
    exact = [evaluate(graph, row) for row in samples]
    precise = np.array(exact)
    harm = [np.abs(_on_arrays(graph, samples, np.float32) - precise) / np.finfo(np.float32).eps]
    harm.append(np.abs(_on_arrays(graph, samples, np.longdouble) - precise) / np.finfo(np.float64).eps)
    # overflow in single precision does not count
    harm = [np.where(np.isfinite(errors), errors, 0.0) for errors in harm]
    sizes = [np.abs(precise), *(SHARE * errors for errors in harm)]
    ends = np.cumsum([prod(shape) for _, shape in signature.outputs])[:-1]
    blocks = zip(*(np.split(size, ends, axis=1) for size in sizes), strict=True)
    return exact, [max(float(block.max(initial=0.0)) for block in of_output) for of_output in blocks]


def _on_arrays(graph: Graph, samples: Sequence[Sequence[float]], kind: Any) -> Any:
    """The outputs for every row of inputs, computed in another precision."""
    columns = np.array(samples, kind).reshape(len(samples), -1).T
    with np.errstate(all="ignore"):
        outputs = evaluate(graph, list(columns), ON_ARRAYS)
    return np.array([np.broadcast_to(np.asarray(x, float), (len(samples),)) for x in outputs]).T
