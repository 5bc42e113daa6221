"""Sampled controllers: the state is measured at a fixed rate, and the torque is held from one sample to the next.

Between two changes of the torque, the arm moves as under any given torque, with the same fixed or adaptive steps. A period
of a compiled law takes two calls, one of the law and one of the compiled loop over the steps of the period, which reads its
state from the records and writes the next ones behind it: nothing is copied or checked in between. Checks follow in blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.progress import Progress, silent
from dalembert.compiler.kernel.batches import run as run_batch
from dalembert.compiler.quantities.rollouts import rollout_kernel
from dalembert.mechanics.motion.methods import METHODS
from dalembert.work.simulation.adaptive import ContactDynamics, Stepping, adaptive
from dalembert.work.simulation.closing import Place
from dalembert.work.simulation.drive_behaviour import measurement
from dalembert.work.simulation.fixed import COST, FEW, LATEST, CompiledLoop, check_step, fixed_steps, from_python
from dalembert.work.simulation.task import Task, check_limits
from dalembert.work.trajectory.planning.time_breaks import nearest

Move = Callable[[int, int], None]  # over the steps from the first up to but excluding the last

BLOCK = 256  # periods between two checks, and between two updates of the progress bar


def sampled(task: Task, by: Stepping, progress: Progress = silent) -> tuple[Array, ...]:
    """(q, qd) at the records; the torques held over each step, (*batch, steps, n); the estimates of an adaptive law."""
    assert task.sampling is not None
    driven = task.driven()
    whole, torques = driven.grid, driven.torques
    assert torques is not None
    samples, arrivals = (_indices(whole.t, x) for x in task.sampling.instants(task.duration))
    inner = np.concatenate([samples, arrivals])
    bounds = np.unique(np.concatenate([[0], inner[inner < len(whole.h)], [len(whole.h)]]))
    takes = np.isin(bounds[:-1], samples)  # whether a sample is taken at the beginning of a period
    acting = np.maximum(np.searchsorted(arrivals, bounds[:-1], side="right") - 1, 0)  # the sample whose torque acts
    measure = measurement(task.sampling, task.q0, task.qd0)
    law = task.sampled_law(whole.t[samples[samples < len(whole.h)]])
    place, learned = Place(task.arm, task.q0), task.initial_estimate
    states = [np.empty((*task.batch, len(whole.t), size)) for size in (task.arm.n, task.arm.n, learned.shape[-1])]
    for part, first in zip(states, (task.q0, task.qd0, learned), strict=True):
        part[..., 0, :] = first
    q, qd, estimates = states
    on_its_own = by.solver or from_python(driven) or METHODS[driven.plan.method].symplectic
    move = _simulated_between(driven, q, qd, by) if on_its_own else _compiled_between(driven, q, qd, by.threads)
    computed: list[Array] = []  # one per sample
    checked = 0
    with np.errstate(all="ignore"):
        for k, (begin, end, takes_one, acts) in enumerate(
            zip(bounds[:-1].tolist(), bounds[1:].tolist(), takes.tolist(), acting.tolist(), strict=True), 1
        ):
            if takes_one:
                seen, speed = measure(q[..., begin, :], qd[..., begin, :])
                tau, rate = law(len(computed), seen, place(seen), speed, learned)
                computed.append(tau)
                learned = learned + rate / task.sampling.rate if task.plan.columns else learned
            torques[..., begin:end, :] = computed[acts][..., None, :]
            move(begin, end)
            if task.plan.columns:
                estimates[..., begin + 1 : end + 1, :] = learned[..., None, :]
            if k % BLOCK == 0 or end == len(whole.h) or task.function is not None:
                _check(driven, q, qd, checked, end)
                checked = end
                progress("simulation", end / len(whole.h))
    at_records = [part[..., task.records, :] for part in states]
    return (*at_records[:2], torques, *(at_records[2:] if task.plan.columns else ()))


def _compiled_between(task: Task, q: Array, qd: Array, threads: int | None) -> Move:
    """A function that moves the arm over some steps in one call of the compiled loop, from record to record."""
    program, kernel = task.rollout.program, rollout_kernel(task.arm.mechanism, task.plan)
    constants, given = [task.constants[x] for x in program.constant], task.given(0, task.steps)
    stepwise = [given[x] for x in program.stepwise]
    cost = COST * sum(x.shape[-1] for x in (q, qd))
    alone = threads == 1 or (threads is None and prod(task.batch) <= FEW)

    def move(begin: int, end: int) -> None:
        inputs = (q[..., begin, :], qd[..., begin, :], *constants, *[x[..., begin:end, :] for x in stepwise])
        out = q[..., begin + 1 : end + 1, :], qd[..., begin + 1 : end + 1, :]
        if alone:
            kernel(*inputs, out=out)
        else:
            run_batch(kernel, inputs, out, threads, cost * (end - begin))

    return move


def _simulated_between(whole: Task, q: Array, qd: Array, by: Stepping) -> Move:
    """The same as a simulation of its own: by adaptive steps, by momenta, or driven from Python."""
    task = replace(whole)
    run: Callable[[], tuple[Array, ...]]
    if by.solver:
        run = partial(adaptive, task, by, dynamics=ContactDynamics(task))
    else:
        loop = None if from_python(task) else CompiledLoop(task, by.threads)
        run = partial(fixed_steps, task, threads=by.threads, loop=loop)

    def move(begin: int, end: int) -> None:
        assert whole.torques is not None
        task.q0, task.qd0 = (x[..., begin, :].copy() for x in (q, qd))
        task.torques, task.grid = whole.torques[..., begin : begin + 1, :], whole.grid.between(begin, end)
        task.wrenches, task.bases = (
            values if values is None or values.shape[-2] == 1 else values[..., begin:end, :]
            for values in (whole.wrenches, whole.bases)
        )
        for states, values in zip((q, qd), run(), strict=True):
            states[..., begin + 1 : end + 1, :] = values[..., 1:, :]

    return move


def _check(task: Task, q: Array, qd: Array, begin: int, end: int) -> None:
    """Raise an error if the motion has left its limits, or has diverged, in these steps."""
    new = slice(begin + 1, end + 1)
    if task.limits is not None and not task.plan.stops:
        check_limits(task, q[..., new, :], task.t[new])
    finite = np.isfinite(q[..., new, :]) & np.isfinite(qd[..., new, :])
    if finite.all():
        return
    k = begin + int(np.argmin(finite.reshape(-1, end - begin, task.arm.n).all(axis=(0, 2))))
    before = slice(max(0, k + 1 - LATEST), k + 1)
    x = Place(task.arm, q[..., k, :])(q[..., k, :])
    after = [y[..., k + 1, :] for y in (q, qd)]
    check_step(task, k, x, q[..., k, :], qd[..., k, :], after, lambda: (q[..., before, :], qd[..., before, :]))


def _indices(t: Array, instants: Array) -> NDArray[np.intp]:
    """Indices of these instants among the grid's times t; times beyond its end get its length."""
    return np.where(instants > t[-1] + 1e-9 * t[-1], len(t), nearest(t, instants))
