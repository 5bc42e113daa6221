"""Fixed steps: the whole rollout as one compiled loop, or stepped from Python: for a torque that is a Python
function, and for closed chains whose closure is found by Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ClosureError, SimulationError
from dalembert.graph.program import perform
from dalembert.quantities.rollouts import piece_kernel, piece_kernels, rollout, rollout_kernel
from dalembert.simulation.closing import Place, at_instant, by_newton, came_to_an_end
from dalembert.simulation.task import Task, check_limits, check_numbers
from dalembert.tip.controller import OperationalController, flown_over

Array = NDArray[np.float64]
Progress = Callable[[float], None]

STATE_STEPS = 1 << 20  # states × steps between two looks at the progress bar and at Ctrl-C
BYTES = 1 << 26  # of states between records, where every step must be looked at


def fixed_steps(task: Task, progress: Progress | None) -> tuple[Array, Array]:
    """(q, qd) at the records: (*batch, records, n) each."""
    first = _into_program(task)
    run = stepped if task.plan.law == "host" or by_newton(task.arm) else compiled
    q, x = run(task, first, progress)
    if task.every == 1:
        _look_back(task, task.t[task.records], q)
    if task.plan.method == "variational":
        x = piece_kernel(task.arm.mechanism, task.plan, "velocity")(q, x)
    return q, x


def _look_back(task: Task, t: Array, q: Array) -> None:
    """An error where a controller of the tip has gone over a singularity; q is (*batch, instants, n) at the instants t."""
    if isinstance(task.function, OperationalController):
        flown_over(task.function, t[: q.shape[-2]], q)


def _into_program(task: Task) -> list[Array]:
    """The program's state at first: q, qd; or q, p, v."""
    if task.plan.method != "variational":
        return [task.q0, task.qd0]
    p = piece_kernel(task.arm.mechanism, task.plan, "momentum")(task.q0, task.qd0)
    return [task.q0, p, task.qd0]


def compiled(task: Task, state: list[Array], progress: Progress | None) -> tuple[Array, Array]:
    """One compiled loop over all states and steps, in a few pieces so that it can be watched."""
    n, batch = task.arm.n, task.batch
    kernel = rollout_kernel(task.arm.mechanism, task.plan)
    program = rollout(task.arm.mechanism, task.plan).program
    states = int(np.prod(batch, dtype=int)) or 1
    kept = [np.empty((*batch, len(task.records), n)) for _ in range(2)]
    for array, x in zip(kept, state, strict=False):
        array[..., 0, :] = x
    constants = [task.constants[x] for x in program.constant]
    watched = task.limits is not None and not task.plan.stops
    every = 1 if watched or len(task.grid.cuts) else task.every
    with np.errstate(all="ignore"):
        at = 0
        while at < task.steps:
            most = max(1, STATE_STEPS // (states * every))
            if every < task.every:
                most = max(1, min(most, BYTES // (8 * n * len(state) * states)))
            count = min(most, max(1, (task.steps - at) // every))
            stop = min(at + count * every, task.steps) if task.steps - at >= every else task.steps
            out = _into(kernel, program, task, state, constants, at, stop, count)
            ends = at + (stop - at) // count * np.arange(1, count + 1)
            if not all(np.all(np.isfinite(x)) for x in out[:2]):
                _complain(kernel, program, task, state, constants, at, stop)
            if watched:
                check_limits(task, out[0], task.t[ends])
            wanted = np.isin(ends, task.records)
            where = np.searchsorted(task.records, ends[wanted])
            for array, x in zip(kept, out, strict=False):
                array[..., where, :] = x[..., wanted, :]
            state = [x[..., -1, :].copy() for x in out]
            at = stop
            if progress is not None:
                progress(at / task.steps)
    return kept[0], kept[1]


def _into(
    kernel: np.ufunc, program: Any, task: Task, state: list[Array], constants: list[Array], at: int, stop: int,
    count: int,
) -> list[Array]:  # fmt: skip
    given = task.given(at, stop)
    out = tuple(np.empty((*task.batch, count, task.arm.n)) for _ in state)
    kernel(*state, *constants, *(given[x] for x in program.stepwise), out=out)
    return list(out)


def _complain(
    kernel: np.ufunc, program: Any, task: Task, state: list[Array], constants: list[Array], at: int, stop: int
) -> None:
    """Take the same steps one by one, to say when it happened."""
    been = [state[0]]
    for k in range(at, stop):
        out = _into(kernel, program, task, state, constants, k, k + 1, 1)
        try:
            _check(task, k, state[0], state[0], state[-1], [x[..., 0, :] for x in out])
        except SimulationError:
            _look_back(task, task.t[at:], np.stack(been, axis=-2))
            raise
        state = [x[..., 0, :].copy() for x in out]
        been.append(state[0])


def _check(task: Task, k: int, x: Array, q: Array, qd: Array, state: list[Array]) -> None:
    """An error where step k, taken from (q, qd), has left the numbers; the equations took x for q."""
    bad = ~np.all([np.isfinite(x).all(axis=-1) for x in state[:2]], axis=0)
    for index in np.argwhere(bad) if bad.any() else ():
        at = tuple(int(i) for i in index)
        if task.tip is not None and np.isfinite(q[at]).all() and np.isfinite(qd[at]).all():
            _again_from_python(task, k, q[at], qd[at], at)
        came_to_an_end(task, float(task.t[k]), x[at], q[at], qd[at], float(task.h[k]), at)
    check_numbers(task, state[0][..., None, :], state[1][..., None, :], task.t[k + 1 : k + 2])


def _again_from_python(task: Task, k: int, q: Array, qd: Array, at: tuple[int, ...]) -> None:
    """Step k of one state with the controller of the tip called from Python: it says where its task is singular."""
    assert task.tip is not None
    if task.plan.method == "variational":
        task.tip(float(task.t[k]), q, qd)
        return
    stepped(task.only(k, q, qd, at), [q, qd], None)


def stepped(task: Task, state: list[Array], progress: Progress | None) -> tuple[Array, Array]:
    """The same program piece by piece: slower, but a torque may be any Python function.

    With another law than "host" this gives what :func:`compiled` gives; the tests use that.
    """
    n, batch = task.arm.n, task.batch
    made = rollout(task.arm.mechanism, task.plan)
    program, kernels = made.program, piece_kernels(task.arm.mechanism, task.plan)
    functions: dict[str, Callable[..., Any]] = {name: tuple_of(kernel) for name, kernel in kernels.items()}

    def host(part: float) -> Callable[..., Any]:
        def torque(q: Array, qd: Array, t: Array, step: Array, done: Array | None = None) -> Any:
            begin = t[..., 0] if done is None else t[..., 0] + done[..., 0]
            instants = np.broadcast_to(begin + part * step[..., 0], batch)
            x = place(q)
            if instants.size and np.all(instants == instants.flat[0]):
                return (task.load_at(k, float(instants.flat[0]), q, x, qd),)
            tau = np.empty_like(q)  # states that stopped at different instants of the step
            for index in np.ndindex(*batch):
                tau[index] = task.load_at(k, float(instants[index]), q[index], x[index], qd[index], index)
            return (tau,)

        return torque

    for stage, part in (("_0", 0.0), ("_half", 0.5), ("_1", 1.0)):
        functions["torque" + stage] = host(part)
    place = Place(task.arm, task.q0)
    functions["place"] = lambda q: (place(q),)
    memory: dict[str, Any] = {x: np.zeros((*batch, size)) for x, size in program.sizes.items()}
    memory |= {x: np.broadcast_to(task.constants[x], (*batch, program.sizes[x])) for x in program.constant}
    memory |= dict(zip(program.state, state, strict=True))
    kept = [np.empty((*batch, len(task.records), n)) for _ in range(2)]
    for array, x in zip(kept, state, strict=False):
        array[..., 0, :] = x
    row = 1
    with np.errstate(all="ignore"):
        for k in range(task.steps):
            given = task.given(k, k + 1)
            memory |= {x: np.broadcast_to(given[x][..., 0, :], (*batch, program.sizes[x])) for x in program.stepwise}
            before = [memory[x] for x in program.state]
            try:
                perform(
                    program, functions, memory, lambda size: np.zeros((*batch, size)), lambda x: bool(np.any(x != 0))
                )
            except ClosureError as problem:
                raise at_instant(problem, float(task.t[k])) from None
            now = [memory[x] for x in program.state]
            try:
                _check(task, k, memory.get("tree_q", before[0]), before[0], before[-1], now)
            except SimulationError:
                if task.every == 1:
                    _look_back(task, task.t[task.records], kept[0][..., :row, :])
                raise
            if task.limits is not None and not task.plan.stops:
                check_limits(task, now[0][..., None, :], task.t[k + 1 : k + 2])
            if k + 1 == task.records[row]:
                for array, x in zip(kept, now, strict=False):
                    array[..., row, :] = x
                row += 1
            if progress is not None and k % 64 == 0:
                progress((k + 1) / task.steps)
    return kept[0], kept[1]


def tuple_of(kernel: np.ufunc) -> Callable[..., Any]:
    """The kernel, with a tuple of results even where there is one."""
    return kernel if kernel.nout > 1 else lambda *x: (kernel(*x),)
