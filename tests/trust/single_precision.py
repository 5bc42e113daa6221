"""Kernels in float32 against those in float64, on random robots of all kinds of coordinates."""

from __future__ import annotations

import numpy as np

from trust.check import Outcome, Task
from trust.quantities_agree import KINDS, example

STATES = 500
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
            for result, wanted in zip(_parts(results), _parts(expected), strict=True):
                assert result.dtype == np.float32
                scale = max(float(np.abs(wanted).max()), least)
                error = float(np.abs(result - wanted).max()) / scale / sensitive
                outcome.measure(quantity, error, f"{kind} robot {number}, seed {task.seed}", count)
        outcome.count += 1


def _parts(value: object) -> tuple[np.ndarray, ...]:
    return value if isinstance(value, tuple) else (value,)
