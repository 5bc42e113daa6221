"""dalembert: the arm's method, and the bare kernel with results written to existing arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from peers.protocol import INPUTS, Array, Way

VERSION = f"dalembert {da.__version__}"


def load(folder: Path) -> da.Arm:
    """The arm from the complete robot file."""
    return da.load(folder / "arm.toml")


def ways(arm: da.Arm, quantity: str) -> dict[str, Way]:
    """The method and the kernel; for inverse dynamics also two threads, and float32."""
    if not hasattr(arm, quantity):
        return {}
    method, kernel = getattr(arm, quantity), arm.kernel(quantity)
    threaded = "threads" in signature(method).parameters

    def into(function: Callable[..., Any]) -> Callable[..., Callable[[], Any]]:
        return lambda *arrays: partial(function, *arrays, out=function(*arrays))

    results = kernel(*(np.zeros(arm.n) for _ in INPUTS[quantity]))
    numbers = partial(compared, arm, quantity)
    result = {
        "kernel": Way(f'arm.kernel("{quantity}"), out=', partial(kernel, out=results), into(kernel), numbers, numbers),
        "method": Way(f"arm.{quantity}", method, lambda *arrays: partial(method, *arrays), numbers, numbers),
    }
    if quantity == "inverse_dynamics" and threaded:
        two = partial(method, threads=2)
        result["float32"] = Way(
            f'arm.kernel("{quantity}", precision="single"), out=', None,
            lambda *arrays: into(arm.kernel(quantity, precision="single"))(*(x.astype(np.float32) for x in arrays)),
            numbers, numbers, bound=2e-5,
        )  # fmt: skip
        result["2 threads"] = Way(f"arm.{quantity}, out=, threads=2", None, into(two), numbers, numbers, alone=False)
    return result


def compared(arm: da.Arm, quantity: str, result: Any) -> Array:
    """The results that all libraries provide: both matrices of derivatives; for regressors and torque terms, their sum τ."""
    if quantity == "regressor":
        return np.asarray(result) @ arm.parameters
    if quantity == "compact_regressor":
        rows, columns = arm.regressor_pattern
        summands = result * arm.parameters[columns]
        return np.stack([summands[..., rows == i].sum(-1) for i in range(arm.n)], -1)
    if quantity == "torque_terms":
        parts = result if isinstance(result, tuple) else [getattr(result, x.name) for x in fields(result)]
        vector = min(map(np.ndim, parts))
        return sum(np.sum(x, axis=tuple(range(vector, np.ndim(x)))) for x in parts)
    if quantity in ("torque_derivatives", "forward_derivatives"):
        return np.stack(tuple(result)[:2], axis=-3)
    return np.array(result)


def operations(arm: da.Arm, quantity: str) -> dict[str, int]:
    """Operation counts as compiled."""
    counts = arm.operations(quantity).compiled
    return {
        "multiplications": counts.multiplications,
        "additions": counts.additions,
        "divisions": counts.divisions,
        "sines and cosines": counts.sines + counts.cosines,
    }
