"""What a unit's outputs should be, for self-tests: the tape in Python, and how much single precision loses on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from dalembert.emit.signature import Signature
from dalembert.graph.tape import Graph, evaluate

# every operation on arrays of any precision, as the emitted code does it
ON_ARRAYS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "tanh": np.tanh, "atan2": np.arctan2,
    "asin": np.arcsin, "acos": np.arccos, "sign": np.sign,
    "less": lambda x, y: np.where(np.less(x, y), np.float32(1.0), np.float32(0.0)),
    "select": lambda c, x, y: np.where(np.not_equal(c, 0), x, y),
}  # fmt: skip


def expected_outputs(
    graph: Graph, samples: Sequence[Sequence[float]], signature: Signature
) -> tuple[list[list[float]], float]:
    """The outputs for every row of inputs, and the largest error of single precision in units of its epsilon.

    The error is that of an output beside the largest one of its array, which is how much the states magnify rounding.
    """
    exact = [evaluate(graph, row) for row in samples]
    columns = np.array(samples, np.float32).reshape(len(samples), -1).T
    with np.errstate(all="ignore"):
        single = evaluate(graph, list(columns), ON_ARRAYS)
    rough = np.array([np.broadcast_to(np.asarray(x, float), (len(samples),)) for x in single]).T
    precise = np.array(exact)
    worst, at = 0.0, 0
    for _, shape in signature.outputs:
        block = slice(at, at + prod(shape))
        at += prod(shape)
        largest = np.abs(precise[:, block]).max(1, initial=0.0)
        error = np.abs(rough[:, block] - precise[:, block]).max(1, initial=0.0)
        worst = max(worst, float((error[largest > 0] / largest[largest > 0]).max(initial=0.0)))
    return exact, worst * 2.0**23
