"""A batch of simulations divided among the workers of a cluster; the results do not depend on the division."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.cluster import computed, shares
from dalembert.base.environment.progress import Progress
from dalembert.errors import ClosureError, DalembertError, SimulationError

if TYPE_CHECKING:
    from dalembert.work.simulation.task import Task

Simulated = Callable[["Task"], tuple[Array, ...]]  # q, q̇ and parameter estimates at the records

PIECES = 256  # maximum number of parts
LANES = 64  # minimum number of states in a part with fixed steps, which process many states at a time


@dataclass(frozen=True)
class Part:
    """The states from ``first`` up to but excluding ``last`` along an axis of the batch."""

    batch: tuple[int, ...]
    axis: int
    first: int
    last: int

    def of(self, values: Any, own: int) -> Any:
        """The values of these states; ``own`` axes follow those of the batch, which may be fewer, or of length 1."""
        if values is None:
            return None
        axis = values.ndim - own - len(self.batch) + self.axis
        if axis < 0 or values.shape[axis] == 1:
            return values
        return values[(slice(None),) * axis + (slice(self.first, self.last),)]

    def task(self, task: Task) -> Task:
        """The simulation of these states."""
        bases, controller = task.base_function, copy(task.controller)
        if controller is not None:
            controller.pose = self.of(controller.pose, 1)
        batch = list(self.batch)
        batch[self.axis] = self.last - self.first
        return replace(
            task, q0=self.of(task.q0, 1), qd0=self.of(task.qd0, 1), batch=tuple(batch), controller=controller,
            constants={name: self.of(values, 1) for name, values in task.constants.items()},
            torques=self.of(task.torques, 2), wrenches=self.of(task.wrenches, 2), bases=self.of(task.bases, 2),
            learned=self.of(task.learned, 1), base_function=None if bases is None else lambda t: self.of(bases(t), 1),
        )  # fmt: skip


def in_pieces(task: Task, simulated: Simulated, cluster: Any, adaptive: bool, progress: Progress) -> list[Array]:
    """The result of ``simulated`` for the batch, in parts on the cluster; adaptive steps take one state at a time."""
    if not task.batch:
        raise DalembertError(
            "a cluster distributes the states of a batch, but this is a single simulation: give q0 of shape (…, n), or "
            "omit cluster"
        )
    axis = int(np.argmax(task.batch))
    states = int(np.prod(task.batch))
    least = 1 if adaptive else LANES
    ends = shares(task.batch[axis], min(PIECES, max(1, states // least)))
    parts = [Part(task.batch, axis, first, last) for first, last in ends]

    results = []
    pieces = ((part, part.task(task)) for part in parts)
    with closing(computed(cluster, _simulated, simulated, pieces)) as simulations:
        for count, result in enumerate(simulations, 1):
            results.append(result)
            progress("simulation", count / len(parts))
    return [np.concatenate(arrays, axis=axis) for arrays in zip(*results, strict=True)]


def _simulated(simulated: Simulated, piece: tuple[Part, Task]) -> tuple[Array, ...]:
    part, task = piece
    try:
        return simulated(task)
    except ClosureError as problem:
        index = tuple(k + part.first * (axis == part.axis) for axis, k in enumerate(problem.index))
        raise ClosureError(_placed(problem, part), problem.kind, problem.loop, index) from None
    except SimulationError as problem:
        raise SimulationError(_placed(problem, part)) from None


def _placed(problem: DalembertError, part: Part) -> str:
    if not part.first:
        return str(problem)
    along = "" if len(part.batch) == 1 else f" along axis {part.axis}"
    return f"{problem}; states are counted from {part.first}{along}, where a part of the batch begins"
