"""Fixed steps: the whole rollout as one compiled loop, or step by step from Python for a torque that is a Python
function and for chains whose loops are closed by Newton's method."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.progress import Progress, silent
from dalembert.compiler.graph.program import perform
from dalembert.compiler.kernel.batches import over_threads
from dalembert.compiler.kernel.batches import run as run_batch
from dalembert.compiler.quantities.machine import kernel
from dalembert.compiler.quantities.rollouts import ROLLOUTS, piece_kernels, rollout_kernel
from dalembert.errors import ClosureError, SimulationError
from dalembert.mechanics.motion.methods import METHODS
from dalembert.work.simulation.closing import Place, at_instant, check_closure_within_step
from dalembert.work.simulation.task import Task, check_limits, check_numbers
from dalembert.work.tip.controller import OperationalController, check_singularity_between

Motion = tuple[Array, Array]  # q, qd
LATEST = 100  # states that are kept to identify the joint that diverged first

STATE_STEPS = 1 << 20  # states × steps between two updates of the progress bar and checks for Ctrl-C
COST = 64  # of a step per component of the state, as dalembert.compiler.kernel.batches measures it
FEW = 1000  # states up to which splitting calls from Python does not pay off
BYTES = 1 << 26  # of states between records, if every step must be checked


def from_python(task: Task) -> bool:
    """Whether the steps are driven from Python, one call at a time."""
    return task.plan.law == "host" or task.arm.mechanism.by_newton


def fixed_steps(
    task: Task, progress: Progress = silent, threads: int | None = None, loop: CompiledLoop | None = None
) -> tuple[Array, ...]:
    """(q, qd) at the records, (*batch, records, n) each, and any estimates of an adaptive law, (*batch, records, p).

    loop  the compiled loop of the task, if it is known from an earlier run
    """
    run = stepped if from_python(task) else partial(compiled, loop=loop)
    mechanism, state = task.arm.mechanism, task.initial_state
    by_momenta = METHODS[task.plan.method].symplectic
    if by_momenta:  # q, p, v
        state.insert(1, kernel(mechanism, ROLLOUTS["momentum"])(*state))
    q, qd, *learned = run(task, state, progress, threads)
    if task.every == 1:
        _look_back(task, task.t[task.records], q)
    if by_momenta:
        return q, kernel(mechanism, ROLLOUTS["velocity"])(q, qd)
    return q, qd, *learned


def _speeds(task: Task, state: list[Array]) -> Array:
    """q̇ of a state (q, q̇, …) or (q, p, v)."""
    return state[2 if METHODS[task.plan.method].symplectic else 1]


def _look_back(task: Task, t: Array, q: Array) -> None:
    """Raise an error if a controller of the tip has passed a singularity; q is (*batch, instants, n) at the times t."""
    if isinstance(task.function, OperationalController):
        check_singularity_between(task.function, t[: q.shape[-2]], q)


class _Records:
    """The state at the records: (*batch, records, size) for each part."""

    def __init__(self, task: Task, state: list[Array]) -> None:
        self.arrays = tuple(np.empty((*task.batch, len(task.records), x.shape[-1])) for x in state)
        self.done = 0
        self.add([x[..., None, :] for x in state])

    def add(self, states: list[Array]) -> None:
        """Add the next records: (*batch, instants, size) for each part of the state."""
        rows = slice(self.done, self.done + states[0].shape[-2])
        for array, values in zip(self.arrays, states, strict=True):
            array[..., rows, :] = values
        self.done = rows.stop


class CompiledLoop:
    """The compiled loop with the inputs of all steps."""

    def __init__(self, task: Task, threads: int | None) -> None:
        self.task, self.program, self.threads = task, task.rollout.program, threads
        self.kernel = rollout_kernel(task.arm.mechanism, task.plan)
        self.constants = [task.constants[x] for x in self.program.constant]

    def run(self, state: list[Array], start: int, stop: int, records: int = 1) -> list[Array]:
        """The state at ``records`` equally spaced times of these steps: (*batch, records, size) for each part."""
        task, given = self.task, self.task.given(start, stop)
        out = tuple(np.empty((*task.batch, records, x.shape[-1])) for x in state)
        arrays = [*state, *self.constants, *(given[x] for x in self.program.stepwise)]
        run_batch(self.kernel, arrays, out, self.threads, COST * (stop - start) * sum(x.shape[-1] for x in state))
        return list(out)

    def complain(self, state: list[Array], start: int, stop: int) -> None:
        """Repeat the steps one by one and raise an error with the time of the failure."""
        task, positions, speeds = self.task, [state[0]], [_speeds(self.task, state)]

        def motion() -> Motion:
            return np.stack(positions, axis=-2), np.stack(speeds, axis=-2)

        for k in range(start, stop):
            after = [x[..., 0, :].copy() for x in self.run(state, k, k + 1)]
            try:
                check_step(task, k, state[0], state[0], speeds[-1], after, motion)
            except SimulationError:
                _look_back(task, task.t[start:], np.stack(positions, axis=-2))
                raise
            state = after
            positions.append(state[0])
            speeds.append(_speeds(task, state))


def compiled(
    task: Task,
    state: list[Array],
    progress: Progress = silent,
    threads: int | None = None,
    loop: CompiledLoop | None = None,
) -> tuple[Array, ...]:
    """One compiled loop over all states and steps, run in a few chunks so that progress can be shown."""
    loop, records = loop or CompiledLoop(task, threads), _Records(task, state)
    states = int(np.prod(task.batch, dtype=int)) or 1
    watched = task.limits is not None and not task.plan.stops
    every = 1 if watched or len(task.grid.cuts) else task.every
    with np.errstate(all="ignore"):
        start = 0
        while start < task.steps:
            most = max(1, STATE_STEPS // (states * every))
            if every < task.every:
                most = max(1, min(most, BYTES // (8 * sum(x.shape[-1] for x in state) * states)))
            count = min(most, max(1, (task.steps - start) // every))
            stop = min(start + count * every, task.steps) if task.steps - start >= every else task.steps
            out = loop.run(state, start, stop, count)
            ends = start + (stop - start) // count * np.arange(1, count + 1)
            if watched:  # check this first: a motion beyond its limits may diverge there
                check_limits(task, out[0], task.t[ends])
            if not all(np.all(np.isfinite(x)) for x in out[:2]):
                loop.complain(state, start, stop)
            recorded = np.isin(ends, task.records)
            records.add([x[..., recorded, :] for x in out])
            state = [x[..., -1, :].copy() for x in out]
            start = stop
            progress("simulation", start / task.steps)
    return records.arrays


def check_step(
    task: Task, k: int, x: Array, q: Array, qd: Array, state: list[Array], motion: Callable[[], Motion]
) -> None:
    """Raise an error if step k, taken from (q, qd), has diverged; x replaces q in the equations of motion.

    motion  returns (q, qd) up to then: (*batch, instants, n) each
    """
    bad = ~np.all([np.isfinite(part).all(axis=-1) for part in state[:2]], axis=0)
    if bad.any() and task.tip is not None:
        _again_from_python(task, k, q, qd)
    for index in np.argwhere(bad) if bad.any() else ():
        at = tuple(int(i) for i in index)
        check_closure_within_step(task.arm, float(task.t[k]), x[at], q[at], qd[at], float(task.grid.h[k]), at)
    if bad.any():
        check_numbers(task, state[0][..., None, :], state[1][..., None, :], task.t[k + 1 : k + 2], before=motion())


def _again_from_python(task: Task, k: int, q: Array, qd: Array) -> None:
    """Repeat step k from Python, where the tip's controller reports a singularity of its task."""
    assert task.tip is not None
    if METHODS[task.plan.method].symplectic:
        task.tip(float(task.t[k]), q, qd)
    else:
        stepped(task.only(k, q, qd), [q, qd])


def stepped(
    task: Task, state: list[Array], progress: Progress = silent, threads: int | None = None
) -> tuple[Array, ...]:
    """The same program call by call: slower, but a torque may be any Python function.

    With any law other than "host", the result equals that of :func:`compiled`, as the tests verify.
    """
    batch, program, records = task.batch, task.rollout.program, _Records(task, state)
    place = Place(task.arm, task.q0)

    def host(part: float) -> Callable[..., Any]:
        def torque(q: Array, qd: Array, t: Array, step: Array, done: Array | None = None) -> Any:
            begin = t[..., 0] if done is None else t[..., 0] + done[..., 0]
            instants = np.broadcast_to(begin + part * step[..., 0], batch)
            x = place(q)
            if instants.size and np.all(instants == instants.flat[0]):
                return (task.load_at(k, float(instants.flat[0]), q, x, qd),)
            tau = np.empty((*batch, 2 * task.arm.n if task.twofold else task.arm.n))
            for index in np.ndindex(*batch):  # states that stopped at different times of the step
                tau[index] = task.load_at(k, float(instants[index]), q[index], x[index], qd[index], index)
            return (tau,)

        return torque

    functions: dict[str, Callable[..., Any]] = {"place": lambda q: (place(q),)}
    split = threads is not None or prod(batch) > FEW
    for name, piece in piece_kernels(task.arm.mechanism, task.plan).items():
        functions[name] = tuple_of(over_threads(piece, threads) if split else piece, piece.nout)
    functions |= {name: host(part) for name, part in task.rollout.torques.items()}
    memory: dict[str, Any] = {x: np.zeros((*batch, size)) for x, size in program.sizes.items()}
    memory |= {x: np.broadcast_to(task.constants[x], (*batch, program.sizes[x])) for x in program.constant}
    memory |= dict(zip(program.state, state, strict=True))

    latest: deque[list[Array]] = deque(maxlen=LATEST)

    def motion() -> Motion:
        return np.stack([x[0] for x in latest], -2), np.stack([_speeds(task, x) for x in latest], -2)

    with np.errstate(all="ignore"):
        for k in range(task.steps):
            given = task.given(k, k + 1)
            memory |= {x: np.broadcast_to(given[x][..., 0, :], (*batch, program.sizes[x])) for x in program.stepwise}
            before = [memory[x] for x in program.state]
            latest.append(before)
            try:
                perform(
                    program, functions, memory, lambda size: np.zeros((*batch, size)), lambda x: bool(np.any(x != 0))
                )
            except ClosureError as problem:
                raise at_instant(problem, float(task.t[k])) from None
            after = [memory[x] for x in program.state]
            try:
                check_step(task, k, memory.get("tree_q", before[0]), before[0], _speeds(task, before), after, motion)
            except SimulationError:
                if task.every == 1:
                    _look_back(task, task.t[task.records], records.arrays[0][..., : records.done, :])
                raise
            if task.limits is not None and not task.plan.stops:
                check_limits(task, after[0][..., None, :], task.t[k + 1 : k + 2])
            if k + 1 == task.records[records.done]:
                records.add([x[..., None, :] for x in after])
            if k % 64 == 0:
                progress("simulation", (k + 1) / task.steps)
    return records.arrays


def tuple_of(kernel: Callable[..., Any], results: int) -> Callable[..., Any]:
    """The kernel with its result as a tuple, even if there is only one."""
    return kernel if results > 1 else lambda *x: (kernel(*x),)
