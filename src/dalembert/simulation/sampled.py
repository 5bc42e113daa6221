"""Sampled controllers: the state is measured at a fixed rate, and the torque is held from one sample to the next.

Between two changes of the torque, the arm moves as under any given torque, with the same fixed or adaptive steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.simulation.adaptive import ContactDynamics, adaptive
from dalembert.simulation.closing import Place
from dalembert.simulation.drives import Measurement
from dalembert.simulation.fixed import CompiledLoop, fixed_steps, from_python
from dalembert.simulation.task import Task

Array = NDArray[np.float64]
Progress = Callable[[float], None]


def sampled(
    task: Task, solver: str, rtol: float, atol: float, progress: Progress | None, threads: int | None
) -> tuple[Array, ...]:
    """(q, qd) at the records; the torques held over each step, (*batch, steps, n); and the estimates of an adaptive
    law."""
    assert task.sampling is not None
    driven = task.driven()
    whole, torques = driven.grid, driven.torques
    assert torques is not None
    move = _mover(driven, solver, rtol, atol, threads)
    samples, arrivals = (_indices(whole.t, x) for x in task.sampling.instants(task.duration))
    inner = np.concatenate([samples, arrivals])
    bounds = np.unique(np.concatenate([[0], inner[inner < len(whole.h)], [len(whole.h)]]))
    measure, place = Measurement(task.sampling, task.q0, task.qd0), Place(task.arm, task.q0)
    learned = np.zeros((*task.batch, len(task.plan.columns)))
    if task.learned is not None:  # estimated in an earlier stage
        learned = np.broadcast_to(task.learned, learned.shape).copy()
    kept = [np.empty((*task.batch, len(whole.t), size)) for size in (task.arm.n, task.arm.n, learned.shape[-1])]
    q, qd = task.q0, task.qd0
    for part, first in zip(kept, (q, qd, learned), strict=True):
        part[..., 0, :] = first
    computed: list[Array] = []  # one per sample
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if len(computed) < len(samples) and samples[len(computed)] == begin:
            seen = measure(q, qd)
            tau, rate = task.sample(float(whole.t[begin]), seen[0], place(seen[0]), seen[1], learned)
            computed.append(tau)
            learned = learned + rate / task.sampling.rate if task.plan.columns else learned
        acting = computed[max(0, int(np.searchsorted(arrivals, begin, side="right")) - 1)]
        torques[..., begin:end, :] = acting[..., None, :]
        driven.q0, driven.qd0, driven.torques = q, qd, np.broadcast_to(acting, q.shape)[..., None, :]
        driven.grid = whole.between(begin, end)
        rows = move()
        for part, values in zip(kept, (*rows, learned[..., None, :]), strict=True):
            part[..., begin + 1 : end + 1, :] = values[..., 1:, :] if values.shape[-2] > 1 else values
        q, qd = (x[..., -1, :].copy() for x in rows)
        if progress is not None:
            progress(end / len(whole.h))
    at_records = [part[..., task.records, :] for part in kept]
    return (*at_records[:2], torques, *(at_records[2:] if task.plan.columns else ()))


def _mover(task: Task, solver: str, rtol: float, atol: float, threads: int | None) -> Callable[[], Any]:
    """A function that advances the arm over the task's current grid and returns (q, qd) at all its times."""
    if solver:
        return partial(adaptive, task, solver, rtol, atol, None, ContactDynamics(task))
    return partial(fixed_steps, task, None, threads, None if from_python(task) else CompiledLoop(task, threads))


def _indices(t: Array, instants: Array) -> NDArray[np.intp]:
    """Indices of these instants among the grid's times t; times beyond its end get its length."""
    at = np.searchsorted(t, instants)
    before = np.clip(at - 1, 0, len(t) - 1)
    after = np.clip(at, 0, len(t) - 1)
    nearest = np.where(np.abs(t[before] - instants) < np.abs(t[after] - instants), before, after)
    return np.where(instants > t[-1] + 1e-9 * t[-1], len(t), nearest)
