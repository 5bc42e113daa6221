"""Adaptive steps: a SciPy solver (DOP853) between the times at which a contact changes state.

The program is that of the fixed steps: as long as it is known which contacts are held and in which direction friction
acts, the equations are smooth. Every step is searched, on its interpolating polynomial, for the first time at which
a joint reaches its stop, a velocity crosses zero, or a held contact is overloaded; there the step ends and
the modes are determined again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.base.environment.progress import Progress, part_of, silent
from dalembert.compiler.graph.program import repeat
from dalembert.compiler.quantities.rollouts import piece_kernels
from dalembert.compiler.quantities.step_program import Plan, rollout, setting_of
from dalembert.errors import ClosureError, SimulationError
from dalembert.mechanics.coordinates.variable_parameters import with_parameters
from dalembert.mechanics.equations.friction import static
from dalembert.mechanics.motion.contact import CREEP, OVERLOAD, REACHED
from dalembert.work.simulation.closing import NEAR, Place, at_instant, singular
from dalembert.work.simulation.fixed import tuple_of
from dalembert.work.simulation.task import Task, beyond, check_numbers

Given = tuple[Array, ...]  # τ − Jᵀ h_e and, if the base moves, its motion
# a contact that leaves a stop or rest is detected again only after it has moved this far past it
PAST = {"lower": REACHED, "upper": REACHED, "rests": CREEP}
Watch = tuple[list[tuple[str, int]], Callable[[Array, Array], Array]]  # labels, and values (instants, labels)
SAMPLES = np.linspace(0.0, 1.0, 9)  # points of a step at which events are searched for


class ContactDynamics:
    """Accelerations with dry friction and stops, on arrays of any shape, for given τ − Jᵀ h_e and base motion."""

    def __init__(self, task: Task) -> None:
        plan = replace(
            task.plan, method=Plan.method, law="given", tip_wrench=False, tip=None, twofold=task.twofold,
            base_motion="held" if task.plan.base_motion else "",
            model=None, columns=(), effort=(),
        )  # fmt: skip
        mechanism = task.arm.mechanism
        self.n, self.plan, self.task = task.arm.n, plan, task
        self.pieces = piece_kernels(mechanism, plan)
        whole = rollout(mechanism, plan)
        self.calls, self.sizes = whole.calls(), whole.program.sizes
        self.eventful = "pivot" in self.pieces
        self.setting = setting_of(mechanism, plan)
        self.dry_passive, self.varies = bool(self.setting.dry_passive), self.setting.varies
        self.contacts = len(self.setting.contacts)
        self.known = whole.program.constant
        self.load_takes = tuple(name for name in self.known if name != "restitution")

    def constants(self, index: tuple[int, ...] | None = None) -> dict[str, Array]:
        """Restitution and parameters of one state of the batch; without an index of all, with an axis for time."""
        values = {name: self.task.part(self.task.constants[name], index) for name in self.known}
        return {name: value[..., None, :] for name, value in values.items()} if index is None else values

    def accelerate(
        self, x: Array, qd: Array, given: Given, constants: dict[str, Array], modes: tuple[Array, ...] | None
    ) -> Array:
        """q̈; x replaces q in the equations of motion."""
        if modes is None:
            return self.pieces["accelerate"](x, qd, *given, *constants.values())
        known = [constants[key] for key in self.load_takes]
        loads = self.pieces["load"](x, qd, *given, *known)
        return self.pieces["solve"](*loads, *modes, *known)

    def push(
        self, x: Array, qd: Array, given: Given, constants: dict[str, Array], modes: tuple[Array, ...]
    ) -> tuple[Array, Array]:
        """Torque on every held contact, and the static levels of all contacts, forward and then backward."""
        known = [constants[key] for key in self.load_takes]
        loads = self.pieces["load"](x, qd, *given, *known)
        return self.pieces["bear"](*loads, *modes, *known)[1], self.levels(constants, loads)

    def levels(self, constants: dict[str, Array], loads: Sequence[Array]) -> Array:
        """Static levels of all contacts, forward and then backward, for one state of the batch."""
        if self.varies:
            return loads[-1]
        bodies = self.setting.contacts
        if self.plan.parameters and self.plan.friction:
            mechanism = self.setting.mechanism
            tree = with_parameters(mechanism, constants["parameters"].tolist()).tree
            bodies = tuple(tree.bodies[i] for i in (*mechanism.actuated, *self.setting.dry_passive))
        return np.array([static(body) for body in bodies]).T.ravel()

    def memory(self, q: Array, qd: Array, constants: dict[str, Array]) -> dict[str, Any]:
        """The slots of the program at the start of a step."""
        slots: dict[str, Any] = {x: np.zeros((*q.shape[:-1], size)) for x, size in self.sizes.items()}
        return slots | constants | {"q": q, "qd": qd, "h": slots["h"] + self.task.step}

    def perform(self, name: str, memory: dict[str, Any]) -> None:
        """Execute one call of the program, repeated as often as it requests."""
        repeat(
            self.calls[name],
            tuple_of(self.pieces[name], self.pieces[name].nout),
            memory,
            lambda x: bool(np.any(x != 0)),
        )

    def load(self, memory: dict[str, Any], x: Array, given: Given) -> None:
        """Compute B, r and the other load-dependent slots for the velocity in its slot."""
        loads = self.pieces["load"](x, memory["qd"], *given, *(memory[name] for name in self.load_takes))
        slots = ("B1", "r1", *(("G1", "drift1") if self.dry_passive else ()), *(("levels1",) if self.varies else ()))
        memory |= zip(slots, loads, strict=True)

    def modes(
        self, q: Array, x: Array, qd: Array, given: Given, constants: dict[str, Array]
    ) -> tuple[Array, Array, Array]:
        """(held, q̈, q̈ of the contacts), with the contacts that are at rest."""
        memory = self.memory(q, qd, constants)
        self.load(memory, x, given)
        self.perform("pivot", memory)
        return memory["held"], memory["a1"], memory["rise1" if self.dry_passive else "a1"]


@dataclass(frozen=True)
class Stepping:
    """How a task is integrated: the name of a SciPy ``solver`` with its tolerances, or "" for fixed steps in threads."""

    solver: str
    rtol: float
    atol: float
    threads: int | None


def adaptive(
    task: Task, by: Stepping, progress: Progress = silent, dynamics: ContactDynamics | None = None
) -> tuple[Array, Array]:
    """(q, qd) at the records, each state of the batch separately."""
    with extra("motion", "simulation with adaptive steps"):
        from scipy import integrate, optimize

    q, qd = (np.empty((*task.batch, len(task.records), task.arm.n)) for _ in range(2))
    count = max(1, int(np.prod(task.batch, dtype=int)))
    dynamics, solver = dynamics or ContactDynamics(task), getattr(integrate, by.solver)
    steps = partial(solver, rtol=by.rtol, atol=by.atol)
    for number, index in enumerate(np.ndindex(*task.batch)):
        part = part_of(progress, number / count, (number + 1) / count)
        q[index], qd[index] = _Flight(task, dynamics, index, steps, optimize.brentq, part).records()
    return q, qd


class _Flight:
    """The simulation of one state from start to end."""

    def __init__(
        self,
        task: Task,
        dynamics: ContactDynamics,
        index: tuple[int, ...],
        solver: Callable[..., Any],
        root: Callable[..., float],
        progress: Progress,
    ) -> None:
        self.task, self.dynamics, self.index, self.progress = task, dynamics, index, progress
        self.solver, self.root = solver, root
        self.n = task.arm.n
        self.constants = dynamics.constants(index)
        self.step = 0  # index of the grid step whose torque and reference apply
        self.held, self.way, self.dry = (np.zeros(dynamics.contacts) for _ in range(3))
        self.levels = np.zeros(2 * dynamics.contacts)
        self.place = Place(task.arm, task.q0[index])
        self.bounds = dynamics.setting.stops if task.limits is None else task.limits

    def given(self, t: float, q: Array, x: Array, qd: Array) -> Given:
        """τ − Jᵀ h_e at a given time, and the motion of the base; x replaces q in the equations of motion."""
        load = self.task.load_at(self.step, t, q, x, qd, self.index)
        return load, *self.task.base_at(self.step, t, self.index)

    def records(self) -> tuple[Array, Array]:
        """(q, qd) at the records."""
        task, n = self.task, self.n
        self.times = task.t[task.records]
        self.states = np.empty((len(self.times), 2 * n))
        x = np.concatenate([task.q0[self.index], task.qd0[self.index]])
        self.states[0] = x
        self.done = 1
        for self.step, last in pairwise(task.smooth_between):
            begin, end = task.t[self.step], task.t[last]
            t, stuck = float(begin), 0
            still = np.zeros(self.dynamics.contacts)
            while t < end:
                x = self._after_impacts(t, x, still)
                before, (t, x, still) = t, self._until_event(t, float(end), x)
                stuck = stuck + 1 if t <= before + 1e-12 * max(1.0, t) else 0
                if stuck > 50 + 4 * n:
                    raise SimulationError(
                        f"at t = {t:.6g} s it cannot be determined which joints stick and which slip; use method 'rk4'"
                    )
                self.progress("simulation", t / task.duration)
        return self.states[:, :n], self.states[:, n:]

    def _after_impacts(self, t: float, x: Array, still: Array) -> Array:
        """The state after instantaneous changes: impacts, and joints stopped by friction; then the modes."""
        n, dynamics = self.n, self.dynamics
        if not dynamics.eventful:
            return x
        q, qd = x[:n], x[n:]
        at = self.place(q)
        memory = dynamics.memory(q, qd, self.constants) | {"still": still}
        dynamics.load(memory, at, self.given(t, q, at, qd))
        for _ in range(50):
            dynamics.perform("touch", memory)
            if not memory["knock"].any():
                break
            memory |= {"left": np.zeros(n), "turn": np.zeros(1)}
            dynamics.perform("strike", memory)
            memory |= {"qd": memory["struck"], "still": np.zeros_like(still)}
            if dynamics.dry_passive:
                memory["slip"] = memory["slipped"]
            dynamics.load(memory, at, self.given(t, q, at, memory["qd"]))
        dynamics.perform("pivot", memory)
        self.held, self.way = memory["held"], memory["way"]
        self.dry = memory["dry"]
        self.levels = dynamics.levels(self.constants, [memory.get("levels1", self.levels)])
        return np.concatenate([q, memory["qd"]])

    def _until_event(self, t: float, end: float, x: Array) -> tuple[float, Array, Array]:
        """(t, x, still) at the next event or at the end; records on the way are stored."""
        n, dynamics, constants = self.n, self.dynamics, self.constants
        modes = (self.held, self.way, self.dry) if dynamics.eventful else None

        def slope(at: float, y: Array) -> Array:
            q, qd = y[:n], y[n:]
            x = self.place(q)
            return np.concatenate([qd, dynamics.accelerate(x, qd, self.given(at, q, x, qd), constants, modes)])

        # when joints rest there is little to integrate, and long steps could miss a load that comes and goes
        longest = 10 * self.task.step if modes is not None and np.any(modes[0]) else np.inf
        watched = self._watched()
        still = np.zeros(dynamics.contacts)
        with np.errstate(all="ignore"):
            try:
                first = min(end - t, self.task.step) if modes is None else None
                solver = self.solver(slope, t, x, end, max_step=longest, first_step=first)
                event = None
                while event is None and solver.status == "running":
                    message = solver.step()
                    if solver.status == "failed":
                        raise SimulationError(f"the simulation diverged after t = {solver.t:.6g} s; {message}")
                    path = solver.dense_output()
                    event = self._first(watched, path, solver.t_old, solver.t)
                    self._record(path, solver.t if event is None else event[0])
            except ClosureError as problem:
                raise at_instant(problem, t) from None
        if event is None:
            return end, solver.y.copy(), still
        return event[0], *self._state_at_event(*event, path(event[0]), still)

    def _record(self, path: Any, until: float) -> None:
        """Store the records up to a given time, from the interpolating polynomial of the step."""
        last = int(np.searchsorted(self.times, until, side="right"))
        if last <= self.done:
            return
        new = path(self.times[self.done : last]).T
        lower, upper = np.array(self.dynamics.setting.stops).T
        new[:, : self.n] = np.clip(new[:, : self.n], lower, upper)
        self.states[self.done : last] = new
        before = self.states[: self.done, : self.n], self.states[: self.done, self.n :]
        check_numbers(self.task, new[:, : self.n], new[:, self.n :], self.times[self.done : last], self.index, before)
        self.done = last

    # -- events ----------------------------------------------------------------------------------

    def _watched(self) -> list[Watch]:
        """The functions to watch for events, each of which is a decrease through zero."""
        n, dynamics, task = self.n, self.dynamics, self.task
        watched: list[Watch] = []
        contacts = range(dynamics.contacts if dynamics.eventful else 0)
        held = [i for i in contacts if self.held[i]]
        dry = np.sum(np.split(self.levels, 2), axis=0) > 0.0
        slipping = [i for i in contacts if not self.held[i] and self.way[i] and dry[i]]
        bounds = self.bounds
        ends = [(i, side) for i, pair in enumerate(bounds) for side in (0, 1) if np.isfinite(pair[side])]
        ends = [(i, side) for i, side in ends if i not in held]
        if "near_singular" in dynamics.pieces:
            watched.append(([("singular", 0)], self._clearance))
        if ends:
            kinds = ("lower", "upper") if task.plan.stops else ("beyond", "beyond")
            joints, sign = [i for i, _ in ends], np.array([-1.0 if side else 1.0 for _, side in ends])
            limit = np.array([bounds[i][side] for i, side in ends])
            late = REACHED if task.plan.stops else 0.0
            labels = [(kinds[side], i) for i, side in ends]
            watched.append((labels, lambda t, y: sign * (y[:, :n][:, joints] - limit) + late))
        if slipping:
            watched.append(([("rests", i) for i in slipping], lambda t, y: self._speeds(t, y)[:, slipping]))
        if held:
            watched.append(([("breaks", i) for i in held], lambda t, y: self._margins(t, y)[:, held]))
        return watched

    def _first(self, watched: list[Watch], path: Any, begin: float, end: float) -> tuple[float, str, int] | None:
        """The first event of a step: time, kind and index."""
        if not watched:
            return None
        t = begin + (end - begin) * SAMPLES
        y = path(t).T
        turns = self._turns(path, t, y)
        if turns:
            t = np.sort(np.append(t, turns))
            y = path(t).T
        events: list[tuple[float, str, int]] = []
        for labels, function in watched:
            values = function(t, y)
            for column in map(int, np.flatnonzero((values < 0.0).any(axis=0))):

                def value(at: float, function: Any = function, column: int = column) -> float:
                    return float(function(np.array([at]), path(at)[None])[0, column])

                k = int(np.argmax(values[:, column] < 0.0))
                kind, i = labels[column]
                at, late = float(t[k]), PAST.get(kind, 0.0)
                if k > 0 and value(t[k - 1]) > 0.0 > value(at):
                    late = late if value(t[k - 1]) > late else 0.0  # now that it is known to occur, without delay
                    at = float(self.root(lambda x, late=late: value(x) - late, t[k - 1], at, xtol=1e-15, rtol=1e-15))
                events.append((at, kind, i))
        return min(events, default=None)

    def _turns(self, path: Any, t: Array, y: Array) -> list[float]:
        """Times between two samples at which joints reverse: they may have been at a limit and left it again."""
        turns = []
        for i, (lower, upper) in enumerate(self.bounds):
            q, qd = y[:, i], y[:, self.n + i]
            for k in np.flatnonzero(qd[:-1] * qd[1:] < 0.0):
                reach = (t[k + 1] - t[k]) * max(abs(qd[k]), abs(qd[k + 1]))
                if max(q[k], q[k + 1]) + reach > upper or min(q[k], q[k + 1]) - reach < lower:
                    turns.append(float(self.root(lambda at, i=i: path(at)[self.n + i], t[k], t[k + 1])))
        return turns

    def _placed(self, y: Array) -> Array:
        """Positions of some states for the equations of motion."""
        return np.stack([self.place(q) for q in y[:, : self.n]]) if self.place.newton else y[:, : self.n]

    def _speeds(self, t: Array, y: Array) -> Array:
        """Speeds of slipping contacts, positive as long as they slip."""
        qd = y[:, self.n :]
        speeds = self.dynamics.pieces["contacts"](self._placed(y), qd) if self.dynamics.dry_passive else qd
        return self.way * speeds + CREEP

    def _clearance(self, t: Array, y: Array) -> Array:
        """Distance of a closed chain from a singular pose."""
        sines = self.dynamics.pieces["near_singular"](self._placed(y), y[:, self.n :], np.zeros(1))[1]
        return np.min(sines, axis=-1, keepdims=True) - NEAR * NEAR

    def _margins(self, t: Array, y: Array) -> Array:
        """Remaining load capacity of held contacts; infinite on the side of a stop."""
        n, x = self.n, self._placed(y)
        each = [self.given(*state) for state in zip(t, y[:, :n], x, y[:, n:], strict=True)]
        given = tuple(np.stack(values) for values in zip(*each, strict=True))
        push, levels = self.dynamics.push(x, y[:, n:], given, self.constants, (self.held, self.way, self.dry))
        forward, backward = np.split(levels, 2, axis=-1)
        above, below = forward - push, backward + push
        for i in range(self.dynamics.contacts):
            lower, upper = self.dynamics.setting.at_stops(i, y[0, :n].tolist())
            above[:, i] = np.inf if upper else above[:, i]
            below[:, i] = np.inf if lower else below[:, i]
        return np.minimum(above, below) + OVERLOAD * (1.0 + forward + backward)

    def _state_at_event(self, t: float, kind: str, i: int, x: Array, still: Array) -> tuple[Array, Array]:
        """The state at the event, and the contacts to be stopped there."""
        q, qd = x[: self.n], x[self.n :]
        if kind == "beyond":
            raise beyond(self.task, i, float(q[i]), t, self.index)
        if kind == "singular":
            raise singular(self.task.arm, t, self.place(q), q, qd, self.index)
        if kind == "rests":
            still[i] = 1.0
        elif kind in ("lower", "upper"):
            q[i] = self.dynamics.setting.stops[i][kind == "upper"]
        return x, still
