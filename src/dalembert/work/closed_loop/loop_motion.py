"""Simulated motions of a closed loop from the beginning of every segment, with their exact derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.compiler.quantities.rollout_derivatives import RolloutDerivatives, StepDerivatives
from dalembert.compiler.quantities.step_program import Plan, gains_of
from dalembert.work.closed_loop.loop_segments import LoopSegments, Timing
from dalembert.work.identification.fitting.base_parameters import BaseParameters

START, REFINED = 0.25, 3  # s of samples from which the initial state of a run is computed, and how often
BYTES = 1 << 27  # of the derivatives of the segments that are simulated at once


class TimeBelief(NamedTuple):
    """What is known of a time in a controller beforehand (s); ``fitted`` if the fit determines it, from ``mean`` on."""

    mean: float
    deviation: float = 0.0
    fitted: bool = False


@record
class LoopUnknowns:
    """The unknowns x of a closed loop: base parameters, constants of the controller, and times in it.

    base    the base parameters, all of which the numbers of the arm contain
    gains   (name, joint) of each unknown constant of the law, such as ("kp", 0)
    times   by name of :class:`Timing`, what is known of it beforehand; those that are not known exactly end x
    known   the constants of the law, (n,) each; starting values of those that are unknown
    """

    base: BaseParameters
    gains: tuple[tuple[str, int], ...]
    times: Mapping[str, TimeBelief]
    known: dict[str, Array]

    @property
    def arm(self) -> Arm:
        """The arm of the base parameters."""
        return self.base.parameters.arm

    @cached_property
    def unknown_times(self) -> tuple[str, ...]:
        """The names of the times that are not known exactly."""
        return tuple(name for name, belief in self.times.items() if belief.deviation or belief.fitted)

    @cached_property
    def assumed(self) -> dict[int, float]:
        """The places of the times that keep their means, and their deviations."""
        first = self.base.rank + len(self.gains)
        beliefs = (self.times[name] for name in self.unknown_times)
        return {k: belief.deviation for k, belief in enumerate(beliefs, first) if not belief.fitted}

    @cached_property
    def start(self) -> Array:
        """The values from which a fit starts."""
        gains = (self.known[name][j] for name, j in self.gains)
        return np.array([*self.base.values, *gains, *(self.times[name].mean for name in self.unknown_times)])

    @cached_property
    def sources(self) -> NDArray[np.intp]:
        """The places of the base parameters among the numbers of the arm."""
        return np.asarray(self.base.parameters.sources, np.intp)[list(self.base.independent)]

    def timing(self, x: Array) -> Timing:
        """The times in the controller."""
        end = len(x) - len(self.unknown_times)
        known = {name: belief.mean for name, belief in self.times.items()}
        return Timing(**known | dict(zip(self.unknown_times, x[end:].tolist(), strict=True)))

    def constants(self, x: Array) -> dict[str, Array]:
        """The constants of the law and the numbers of the arm."""
        b = self.base.rank
        law = {name: value.copy() for name, value in self.known.items()}
        for (name, j), value in zip(self.gains, x[b:], strict=False):
            law[name][j] = value
        parameters = np.array(self.arm.parameters, float)
        parameters[self.sources] += x[:b] - self.base.values
        return law | {"parameters": parameters}

    @cached_property
    def directions(self) -> dict[str, Array]:
        """The directions of the initial state and of all unknowns but the times, (2n + b + g, k) by slot."""
        n, b = self.arm.n, self.base.rank
        count = 2 * n + b + len(self.gains)
        sizes = {"q": n, "qd": n, "parameters": len(self.arm.parameters), **{name: n for name, _ in self.gains}}
        directions = {slot: np.zeros((count, size)) for slot, size in sizes.items()}
        directions["q"][:n], directions["qd"][n : 2 * n] = np.eye(n), np.eye(n)
        directions["parameters"][2 * n + np.arange(b), self.sources] = 1.0
        for k, (name, j) in enumerate(self.gains):
            directions[name][2 * n + b + k, j] = 1.0
        return directions


class LoopMotion(NamedTuple):
    """Motions of some segments: q (S, K, n), and the state (S, 2n) at their ends; or their derivatives by the initial state
    and the unknowns, (S, p, K, n) and (S, p, 2n)."""

    q: Array
    end: Array


@record
class LoopSimulation:
    """The closed loop over all segments at once."""

    segments: LoopSegments
    unknowns: LoopUnknowns
    threads: int | None = None

    @cached_property
    def plan(self) -> Plan:
        """The program of the loop."""
        controller = self.segments.controller
        model = controller.model or (None if controller.law == "servo" else self.segments.arm)
        return Plan(
            law=controller.law, friction=True, numbers=("parameters",), model=None if model is None else model.mechanism
        )

    @cached_property
    def _references(self) -> Mapping[str, float]:
        """The inputs of the program that hold references, and the fraction of the step at which each is taken."""
        return self._step(()).references

    def _step(self, by: Sequence[str]) -> StepDerivatives:
        return StepDerivatives(self.unknowns.arm.mechanism, self.plan, tuple(by))

    def _derivatives(self, x: Array, by: Sequence[str], some: slice) -> RolloutDerivatives:
        segments, constants, timing = self.segments, self.unknowns.constants(x), self.unknowns.timing(x)
        constants = {name: constants[name] for name in (*gains_of(self.plan.law), "parameters")}
        h = segments.steps[some]
        stepwise = {"h": h} | {
            slot: segments.references(part, timing).value[some] for slot, part in self._references.items()
        }
        return RolloutDerivatives(
            self._step(by), (len(h),), constants, lambda start, stop: {k: v[:, start:stop] for k, v in stepwise.items()},
            h.shape[1], self.threads,
        )  # fmt: skip

    def motion(self, x: Array, states: Array) -> LoopMotion:
        """The motion of every segment from its initial state (S, 2n)."""
        whole = self._derivatives(x, (), slice(None))
        n, records = self.segments.arm.n, self.segments.used.shape[1]
        motion = whole.motion({"q": states[:, :n], "qd": states[:, n:]}, records)
        return LoopMotion(motion["q"], np.concatenate([motion["q"][:, -1], motion["qd"][:, -1]], axis=1))

    def begun(self, x: Array) -> Array:
        """(S, 2n) the initial states with which the motion explains the first samples of every segment best."""
        segments = self.segments.first(START)
        n, records, states = segments.arm.n, segments.used.shape[1], segments.states
        part = replace(self, segments=segments)
        unit = {"q": np.eye(2 * n)[:, :n], "qd": np.eye(2 * n)[:, n:]}
        for _ in range(REFINED):
            error = np.where(segments.used[..., None], segments.q[:, 1:] - part.motion(x, states).q, 0.0)
            state = {"q": states[:, :n], "qd": states[:, n:]}
            slopes = part._derivatives(x, (), slice(None)).along(state, unit, 2 * n, records)[0]
            slopes = np.where(segments.used[:, None, :, None], slopes, 0.0).reshape(len(states), 2 * n, -1)
            states = states + np.einsum(
                "skr,sr->sk", np.linalg.pinv(slopes.swapaxes(1, 2)), error.reshape(len(states), -1)
            )
        return states

    def slopes(self, x: Array, states: Array) -> Iterator[tuple[slice, LoopMotion]]:
        """The derivatives of consecutive segments, some at a time."""
        n, records, directions = self.segments.arm.n, self.segments.used.shape[1], self.unknowns.directions
        slots = tuple(slot for slot in directions if slot not in ("q", "qd"))
        most = max(1, BYTES // (16 * (len(directions["q"]) + len(self.unknowns.unknown_times)) * records * n))
        for start in range(0, len(states), most):
            some = slice(start, min(start + most, len(states)))
            state = {"q": states[some, :n], "qd": states[some, n:]}
            parts = [self._derivatives(x, slots, some).along(state, directions, len(directions["q"]), records)]
            if self.unknowns.unknown_times:
                parts.append(self._by_times(x, state, some, records))
            dq, dqd = (np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True))
            yield some, LoopMotion(dq, np.concatenate([dq[:, :, -1], dqd[:, :, -1]], axis=-1))

    def _by_times(self, x: Array, state: dict[str, Array], some: slice, records: int) -> tuple[Array, Array]:
        """The derivatives by the unknown times, which act through the references."""
        timing, names = self.unknowns.timing(x), self.unknowns.unknown_times
        directions = {}
        for slot, part in self._references.items():
            references = self.segments.references(part, timing)
            directions[slot] = np.stack([getattr(references, f"by_{name}")[some] for name in names], axis=1)
        return self._derivatives(x, tuple(directions), some).along(state, directions, len(names), records)
