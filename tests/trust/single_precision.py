"""Kernels in float32 against those in float64, on random robots of all kinds of coordinates."""

from __future__ import annotations

import numpy as np

import dalembert as da
from trust.check import Outcome, Task
from trust.quantities_agree import KINDS, example

STATES = 500
STEP = 1e-6  # rad or m
QUANTITIES = (
    "inverse_dynamics", "inertia_matrix", "coriolis_matrix", "gravity_torque", "jacobian", "kinetic_energy",
    "torque_derivatives", "forward_dynamics",
)  # fmt: skip


def work(task: Task, outcome: Outcome) -> None:
    """Random robots; errors in units of the largest number of the array."""
    for number in task.numbers:
        kind = KINDS[number % len(KINDS)]
        a, x = example(kind, task.seed, number)
        rng = np.random.default_rng([task.seed, number, 1])
        count = STATES if a.mechanism.linear else len(x["q"])
        if a.mechanism.linear:
            x = x | {"q": rng.uniform(-2, 2, (count, a.n))}
        motion = [x["q"], *rng.uniform(-2, 2, (2, count, a.n))]
        wide = [values.astype(np.float32).astype(float) for values in motion]
        condition = np.linalg.cond(a.inertia_matrix(wide[0]))
        for quantity in QUANTITIES:
            inputs = {
                "inertia_matrix": 1,
                "gravity_torque": 1,
                "jacobian": 1,
                "coriolis_matrix": 2,
                "kinetic_energy": 2,
            }
            given = wide[: inputs.get(quantity, 3)]
            results = getattr(a, quantity)(*(values.astype(np.float32) for values in given))
            expected = getattr(a, quantity)(*given)
            # accelerations are as sensitive to rounding as B is near to singular
            sensitive = max(1.0, float(condition.max()) / 100) if quantity == "forward_dynamics" else 1.0
            least = float(np.abs(a.inertia_matrix(wide[0])).max()) if quantity == "coriolis_matrix" else 1e-30
            rates = _rates(a, quantity, given, rng)
            for result, wanted, rate in zip(_parts(results), _parts(expected), rates, strict=True):
                assert result.dtype == np.float32
                scale = max(float(np.abs(wanted).max()), least) + rate
                error = float(np.abs(result - wanted).max()) / scale / sensitive
                outcome.measure(quantity, error, f"{kind} robot {number}, seed {task.seed}", count)
        outcome.count += 1


def _rates(a: da.Arm, quantity: str, given: list[np.ndarray], rng: np.random.Generator) -> list[float]:
    """The largest derivative by the position of each array, in a random direction."""
    q, *others = given
    step = STEP * rng.uniform(-1, 1, q.shape)
    after, before = (_parts(getattr(a, quantity)(q + way * step, *others)) for way in (1, -1))
    return [float(np.abs(y - x).max()) / (2 * STEP) for x, y in zip(before, after, strict=True)]


def _parts(value: object) -> tuple[np.ndarray, ...]:
    return value if isinstance(value, tuple) else (value,)
