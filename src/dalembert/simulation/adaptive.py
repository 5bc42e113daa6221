"""Adaptive steps: DOP853 (Dormand and Prince, order 8) between the instants at which a joint changes over.

The pieces are those of the fixed steps: while it is known who is held and which way friction points,
the equations are smooth. SciPy's events find when a velocity passes zero, when a held joint's load
passes its friction, and when a joint reaches its stop; there the modes are found anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.equations.stepping import CREEP, PARAMETERS, SOFT, most_passes
from dalembert.errors import ClosureError, SimulationError
from dalembert.rollouts import piece_kernels, rollout, setting_of
from dalembert.simulation.closing import NEAR, Place, at_instant, singular
from dalembert.simulation.task import Task, beyond, check_numbers

Array = NDArray[np.float64]
Progress = Callable[[float], None]


class Dynamics:
    """Accelerations with dry friction and stops, on arrays of any shape; τ − Jᵀ h_e is given."""

    def __init__(self, task: Task) -> None:
        plan = replace(task.plan, method="rk4", law="given", tip_wrench=False, tip=None)
        mechanism = task.arm.mechanism
        self.n, self.plan, self.task = task.arm.n, plan, task
        self.pieces = piece_kernels(mechanism, plan)
        self.eventful = "judge" in self.pieces
        self.setting = setting_of(mechanism, plan)
        self.rubs = bool(self.setting.rubs)
        self.contacts = len(self.setting.contacts)
        self.known = rollout(mechanism, plan).program.constant

    def constants(self, index: tuple[int, ...] | None = None) -> dict[str, Array]:
        """Parameters of one state of the batch; of all, with an axis for time, unless one is named."""
        made = {}
        for name in self.known:
            value = self.task.constants[name]
            if index is None:
                made[name] = value[..., None, :]
            else:
                made[name] = np.broadcast_to(value, (*self.task.batch, value.shape[-1]))[index]
        return made

    def accelerate(
        self, x: Array, qd: Array, tau: Array, constants: dict[str, Array], modes: tuple[Array, Array] | None
    ) -> Any:
        """q̈ (and B, r where there are modes); x is what the equations take for q."""
        load = (tau, *constants.values())
        return self.pieces["accelerate"](x, qd, *(modes or ()), *load)

    def speeds(self, x: Array, qd: Array) -> Array:
        """q̇ of the contacts: the joints, and passive joints that rub."""
        return self.pieces["contacts"](x, qd)[0] if self.rubs else qd

    def modes(
        self, q: Array, x: Array, qd: Array, tau: Array, constants: dict[str, Array], slip: Array | None = None
    ) -> tuple[Array, Array, Array, Array, Array]:
        """(held, way, dry, q̈, q̈ of the contacts): who is at rest, found by trying."""
        zero, one = np.zeros_like(q), np.zeros((*q.shape[:-1], 1))
        speed = self.speeds(x, qd)
        aim = np.zeros_like(speed)
        slip = aim if slip is None else slip
        last = (constants["parameters"],) if self.plan.parameters else ()
        for _ in range(int(most_passes(self.contacts))):
            held, way, dry, _ = self.pieces["modes"](q, speed, slip, aim, zero, one, one, one + 1.0, *last)
            a, *found = self.accelerate(x, qd, tau, constants, (held, dry))
            judged = found[2:] if self.rubs else (a, *found)
            slip, news = self.pieces["judge"](q, speed, slip, held, *judged, *last)
            if not np.any(news):
                break
        return held, way, dry, a, judged[0]

    def push(self, x: Array, qd: Array, tau: Array, constants: dict[str, Array], modes: tuple[Array, Array]) -> Array:
        """The torque on every contact that is held."""
        a, B, r, *found = self.accelerate(x, qd, tau, constants, modes)
        return found[1] if found else r - np.einsum("...ij,...j->...i", B.reshape(*qd.shape, self.n), a)


def adaptive(task: Task, rtol: float, atol: float, progress: Progress | None) -> tuple[Array, Array]:
    """(q, qd) at the records, each state of the batch by itself."""
    n = task.arm.n
    q, qd = (np.empty((*task.batch, len(task.records), n)) for _ in range(2))
    count = max(1, int(np.prod(task.batch, dtype=int)))
    dynamics = Dynamics(task)
    for number, index in enumerate(np.ndindex(*task.batch)):

        def told(fraction: float, number: int = number) -> None:
            if progress is not None:
                progress((number + fraction) / count)

        q[index], qd[index] = _Flight(task, dynamics, index, rtol, atol, told).records()
    return q, qd


class _Flight:
    """One state from beginning to end."""

    def __init__(
        self, task: Task, dynamics: Dynamics, index: tuple[int, ...], rtol: float, atol: float, progress: Progress
    ) -> None:
        self.task, self.dynamics, self.index = task, dynamics, index
        self.rtol, self.atol, self.progress = rtol, atol, progress
        self.n = task.arm.n
        self.constants = dynamics.constants(index)
        self.step = 0  # of the grid, whose torque and reference count
        self.held, self.way, self.dry = (np.zeros(dynamics.contacts) for _ in range(3))
        self.place = Place(task.arm, task.q0[index])
        self.fresh: set[int] = set()
        self.calm = np.inf

    def torque(self, t: float, q: Array, x: Array, qd: Array) -> Array:
        """τ − Jᵀ h_e at an instant; x is what the equations take for q."""
        return self.task.load_at(self.step, t, q, x, qd, self.index)

    def records(self) -> tuple[Array, Array]:
        """(q, qd) at the records."""
        task, n = self.task, self.n
        times = task.t[task.records]
        found = np.empty((len(times), 2 * n))
        x = np.concatenate([task.q0[self.index], task.qd0[self.index]])
        found[0] = x
        done = 1
        for self.step, last in pairwise(task.smooth_between):
            begin, end = task.t[self.step], task.t[last]
            t, stuck, patience = float(begin), 0, 1e-7
            slip = np.zeros_like(self.held)
            while t < end:
                before = self.held
                x = self._settled(t, x, slip)
                # twice as long every time, lest a joint that hardly moves never be seen to have left
                patience = patience * 2.0 if self.fresh and np.array_equal(self.held, before) else 1e-7
                goal = min(float(end), t + max(self.calm, patience))
                wanted = times[done:][(times[done:] > t) & (times[done:] <= goal)]
                asked = wanted if len(wanted) and wanted[-1] == goal else np.append(wanted, goal)
                solution = self._solved(t, goal, x, asked)
                got = np.asarray(solution.y).T if len(solution.t) else np.empty((0, 2 * n))
                take = min(len(got), len(wanted))
                found[done : done + take] = got[:take]
                done += take
                self._check(found[done - take : done], times[done - take : done])
                if solution.status == 1:
                    which = next(k for k, hits in enumerate(solution.t_events) if len(hits))
                    stuck = stuck + 1 if solution.t_events[which][0] <= t + 1e-12 * max(1.0, t) else 0
                    t, x = float(solution.t_events[which][0]), solution.y_events[which][0].copy()
                    x, slip = self._happened(which, t, x)
                    patience = 1e-7
                    if stuck > 50 + 4 * n:
                        raise SimulationError(
                            f"at t = {t:.6g} s it cannot be found out which joints stick and which slip; use method 'rk4'"
                        )
                else:
                    t, x, slip, stuck = goal, got[-1].copy(), np.zeros_like(self.held), 0
                self.progress(t / task.duration)
        return found[:, :n], found[:, n:]

    def _check(self, x: Array, t: Array) -> None:
        check_numbers(replace(self.task, batch=()), x[:, : self.n], x[:, self.n :], t)

    def _settled(self, t: float, x: Array, slip: Array) -> Array:
        """The state after what is immediate: a joint at its stop that moves into it is stopped; then the modes."""
        n, dynamics = self.n, self.dynamics
        if not dynamics.eventful:
            return x
        q, qd = x[:n].copy(), x[n:].copy()
        for _ in range(int(most_passes(n))):
            into = np.zeros_like(self.held)
            for i in range(n):
                lower, upper = dynamics.setting.stops[i]
                if (q[i] >= upper and qd[i] > 0) or (q[i] <= lower and qd[i] < 0):
                    into[i] = 1.0
            if not into.any():
                break
            soft = np.abs(qd[into[:n] > 0]).max() < SOFT
            qd = self._stopped(t, q, qd, np.maximum(into, self.held) if soft else into)
        if dynamics.rubs and self.held[n:].any():  # what is left along directions that turn with the pose
            qd = self._stopped(t, q, qd, np.where(slip == 0.0, self.held, 0.0))
        x = self.place(q)
        held, way, dry, _, rise = dynamics.modes(q, x, qd, self.torque(t, q, x, qd), self.constants, slip)
        self.held, self.way, self.dry = held, way, dry
        # contacts that only just leave rest or a stop stand on the edge of the very event: it is not looked
        # for until they are on their way
        self.fresh, self.calm = set(), np.inf
        speed, rest = dynamics.speeds(x, qd), CREEP if dynamics.rubs else 0.0
        for i in range(dynamics.contacts):
            at_stop = any(dynamics.setting.at_stops(i, q.tolist()))
            if not held[i] and (at_stop or (self._sticks(i) and abs(speed[i]) <= rest)):
                self.fresh.add(i)
                self.calm = min(self.calm, max(1e-7, abs(speed[i]) / max(abs(rise[i]), 1e-3)), 1e-3)
        return np.concatenate([q, qd])

    def _stopped(self, t: float, q: Array, qd: Array, still: Array) -> Array:
        dynamics, free, x = self.dynamics, np.zeros_like(self.held), self.place(q)
        B = dynamics.accelerate(x, qd, self.torque(t, q, x, qd), self.constants, (free, free))[1]
        last = [dynamics.pieces["contacts"](x, qd)[1], np.full(1, self.task.step)] if dynamics.rubs else []
        last += [self.constants["parameters"]] if dynamics.plan.parameters else []
        found = dynamics.pieces["project"](B, qd, still, *last)
        return found[0] if dynamics.rubs else found

    def _solved(self, t: float, end: float, x: Array, asked: Array) -> Any:
        from scipy.integrate import solve_ivp

        n, dynamics, constants = self.n, self.dynamics, self.constants
        modes = (self.held, self.dry) if dynamics.eventful else None

        def slope(at: float, y: Array) -> Array:
            q, qd = y[:n], y[n:]
            x = self.place(q)
            result = dynamics.accelerate(x, qd, self.torque(at, q, x, qd), constants, modes)
            return np.concatenate([qd, result[0] if modes is not None else result])

        # where joints rest there is little to integrate, and long steps could miss that a load comes and goes
        longest = 10 * self.task.step if modes is not None and np.any(modes[0]) else np.inf
        try:
            with np.errstate(all="ignore"):
                solution = solve_ivp(
                    slope, (t, end), x, "DOP853", t_eval=asked, events=self._events(), rtol=self.rtol, atol=self.atol,
                    max_step=longest, first_step=min(end - t, self.task.step) if modes is None else None,
                )  # fmt: skip
        except ClosureError as problem:
            raise at_instant(problem, t) from None
        if solution.status < 0:
            at = float(solution.t[-1]) if len(solution.t) else t
            raise SimulationError(f"the simulation left the numbers after t = {at:.6g} s; {solution.message}")
        return solution

    def _events(self) -> list[Any]:
        """One function an event; all fall through zero."""
        n, dynamics, limits = self.n, self.dynamics, self.task.limits
        self.kinds: list[tuple[str, int]] = []
        functions: list[Any] = []

        def add(kind: str, i: int, function: Callable[[float, Array, int], float]) -> None:
            def event(t: float, y: Array) -> float:
                return float(function(t, y, i))

            event.terminal, event.direction = True, -1  # type: ignore[attr-defined]
            self.kinds.append((kind, i))
            functions.append(event)

        def add_bounds(bounds: Any, i: int, kinds: tuple[str, str]) -> None:
            lower, upper = bounds
            if upper < np.inf:
                add(kinds[1], i, lambda t, y, i: upper - y[i])
            if lower > -np.inf:
                add(kinds[0], i, lambda t, y, i: y[i] - lower)

        if "near_singular" in dynamics.pieces:
            add("singular", 0, self._clearance)
        for i in range(n):
            if limits is not None and not self.task.plan.stops:
                add_bounds(limits[i], i, ("beyond", "beyond"))
        for i in range(dynamics.contacts if dynamics.eventful else 0):
            if self.held[i]:
                add("breaks", i, self._margin)
            elif i not in self.fresh:
                if self._sticks(i) and self.way[i]:
                    add("rests", i, self._speed)
                if i < n:
                    add_bounds(dynamics.setting.stops[i], i, ("lower", "upper"))
        return functions

    def _speed(self, t: float, y: Array, i: int) -> float:
        """The speed of a contact that slips, positive while it does."""
        q, qd = y[: self.n], y[self.n :]
        speed = qd[i] if i < self.n else self.dynamics.speeds(self.place(q), qd)[i]
        return float(self.way[i] * speed)

    def _clearance(self, t: float, y: Array, i: int) -> float:
        """How far a closed chain is from a singular pose."""
        x = self.place(y[: self.n])
        sines = self.dynamics.pieces["near_singular"](x, y[self.n :], np.zeros(1))[1]
        return float(np.min(sines)) - NEAR * NEAR

    def _sticks(self, i: int) -> bool:
        return sum(self._levels(i)) > 0.0

    def _margin(self, t: float, y: Array, i: int) -> float:
        """How much more a held joint can bear; infinite on the side of a stop."""
        n = self.n
        q, qd = y[:n], y[n:]
        x = self.place(q)
        push = self.dynamics.push(x, qd, self.torque(t, q, x, qd), self.constants, (self.held, self.dry))[i]
        forward, backward = self._levels(i)
        lower, upper = self.dynamics.setting.at_stops(i, q.tolist())
        above = 1e9 if upper else forward - push
        below = 1e9 if lower else push + backward
        # found a hair late, so that the joint then truly slips
        return float(min(above, below) + 1e-9 + 1e-10 * (forward + backward))

    def _levels(self, i: int) -> tuple[float, float]:
        if not self.dynamics.plan.friction:
            return 0.0, 0.0
        setting = self.dynamics.setting
        if self.dynamics.plan.parameters:
            rows = (*getattr(setting.mechanism, "actuated", range(self.n)), *setting.rubs)
            level = float(self.constants["parameters"][PARAMETERS * rows[i] + PARAMETERS - 1])
            return level, level
        return setting.contacts[i].coulomb

    def _happened(self, which: int, t: float, x: Array) -> tuple[Array, Array]:
        """The state after the event, and who now slips."""
        kind, i = self.kinds[which]
        n, slip = self.n, np.zeros_like(self.held)
        q, qd = x[:n], x[n:]
        if kind == "beyond":
            raise beyond(self.task, i, float(q[i]), t, self.index)
        if kind == "singular":
            raise singular(self.task, t, self.place(q), q, qd, self.index)
        still = np.zeros_like(self.held)
        still[i] = 1.0
        if kind == "breaks":
            at = self.place(q)
            push = self.dynamics.push(at, qd, self.torque(t, q, at, qd), self.constants, (self.held, self.dry))[i]
            slip[i] = 1.0 if push > 0 else -1.0
        elif kind == "rests":
            qd = self._stopped(t, q, qd, np.maximum(still, self.held))
            if self.dynamics.rubs and abs(self.dynamics.speeds(self.place(q), qd)[i]) > CREEP:
                slip[i] = -self.way[i]  # a passive joint whose direction vanishes turns back
        else:
            lower, upper = self.dynamics.setting.stops[i]
            q[i] = upper if kind == "upper" else lower
            qd = self._stopped(t, q, qd, np.maximum(still, self.held) if abs(qd[i]) < SOFT else still)
        return np.concatenate([q, qd]), slip
