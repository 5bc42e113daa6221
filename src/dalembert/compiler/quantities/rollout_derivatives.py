"""Exact derivatives of a rollout: its motion along directions of its inputs, and gradients by going back step by step.

Both are derivatives of the discrete steps, not of the differential equation. A step without events goes back by its adjoint
(:func:`~dalembert.compiler.graph.program_derivative.adjoint`), with the contacts that it holds. Where a contact changes
within a step, the passes of the step are computed again, one by one, and it goes back by the adjoints of the passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt, prod
from typing import NamedTuple

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.compiler.graph.program import Program
from dalembert.compiler.kernel.batches import LANES, run
from dalembert.compiler.kernel.threads import together, usable_threads
from dalembert.compiler.quantities.rollouts import program_of, rollout_kernel
from dalembert.compiler.quantities.step_program import Plan, rollout, setting_of
from dalembert.mechanics.coordinates.chain import AnyMechanism

Arrays = Mapping[str, Array]
Given = Callable[[int, int], Arrays]  # the stepwise inputs of the steps from the first up to the second number

BYTES = 1 << 28  # of the states that are kept for the way back; beyond it, they are computed again in segments
CACHED = 1 << 21  # of the states of a piece of the batch, which stay in the processor's cache
COST = 64  # of a step per entry of the state, in the units of dalembert.compiler.kernel.batches


class CompiledProgram(NamedTuple):
    """A program and its loop."""

    program: Program
    kernel: np.ufunc


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """The step of a rollout and its derivatives with respect to its state and to the inputs ``by``, compiled when needed."""

    mechanism: AnyMechanism
    plan: Plan
    by: tuple[str, ...]

    def _compiled(self, kind: str, by: tuple[str, ...]) -> CompiledProgram:
        program = program_of(self.mechanism, self.plan, kind, by).program
        return CompiledProgram(program, rollout_kernel(self.mechanism, self.plan, kind, by))

    @cached_property
    def observed(self) -> CompiledProgram:
        """The step itself, which counts its events."""
        return self._compiled("observed", ())

    @cached_property
    def tangent(self) -> CompiledProgram:
        """The step along a direction."""
        return self._compiled("tangent", self.by)

    @cached_property
    def adjoint(self) -> CompiledProgram:
        """A step without events, backwards."""
        return self._compiled("adjoint", self.by)

    @cached_property
    def passes(self) -> CompiledProgram:
        """The passes of a step, one by one."""
        return self._compiled("passes", ())

    @cached_property
    def reversal(self) -> CompiledProgram:
        """A pass, backwards, with the event that ends it."""
        return self._compiled("reversal", self.by)

    @cached_property
    def curvature(self) -> CompiledProgram:
        """A step without events, backwards, along a direction."""
        return self._compiled("curvature", self.by)

    @cached_property
    def state(self) -> tuple[str, ...]:
        """The state: q, q̇, and the estimate of an adaptive law."""
        program = self.observed.program
        return tuple(x for x in program.state if x not in program.discrete)

    @cached_property
    def references(self) -> Mapping[str, float]:
        """The inputs that hold the reference of a law, and the fraction of the step at which each is evaluated."""
        return rollout(self.mechanism, self.plan).references

    @cached_property
    def always_passes(self) -> bool:
        """Whether steps without events go back pass by pass, too: where passive joints may have dry friction."""
        return bool(setting_of(self.mechanism, self.plan).dry_passive)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The size of the state and of every input ``by``."""
        return {x: self.observed.program.sizes[x] for x in (*self.state, *self.by)}

    @cached_property
    def stepwise(self) -> tuple[str, ...]:
        """The inputs ``by`` that have a value for every step."""
        return tuple(x for x in self.by if x in self.observed.program.stepwise)


@dataclass(frozen=True)
class RolloutDerivatives:
    """The derivatives of a rollout with respect to its initial state and to the inputs of ``step.by``.

    constants  (…, k) by name, and ``batch`` the leading axes of everything together
    given      the stepwise inputs, (…, steps, k) by name
    """

    step: StepDerivatives
    batch: tuple[int, ...]
    constants: Arrays
    given: Given
    steps: int
    threads: int | None = None
    memory: dict[str, Array] = field(default_factory=dict)

    def _room(self, name: str, shape: tuple[int, ...]) -> Array:
        """Memory for the numbers of this name, which the pieces of a batch share: new memory would cost more than they do."""
        size = prod(shape)
        if name not in self.memory or self.memory[name].size < size:
            self.memory[name] = np.empty(size)
        return self.memory[name][:size].reshape(shape)

    def _run(
        self, compiled: CompiledProgram, arrays: Arrays, steps: int, records: int, batch: Sequence[int], room: str = ""
    ) -> dict[str, Array]:
        """The state of a program at regular times, (*batch, records, k) by name, until the next run in this room.

        The memory of each has a row before these, ``[..., 0, :]`` of (*batch, records + 1, k) by the name ``room`` + name.
        """
        program, kernel = compiled
        given = [np.broadcast_to(arrays[x], (*np.shape(arrays[x])[:-2], steps, program.sizes[x])) if x in program.stepwise
                 else arrays[x] for x in program.inputs]  # fmt: skip
        out = tuple(self._room(room + x, (*batch, records + 1, program.sizes[x]))[..., 1:, :] for x in program.state)
        with np.errstate(all="ignore"):
            run(kernel, given, out, self.threads, COST * steps * sum(program.sizes[x] for x in program.state))
        return dict(zip(program.state, out, strict=True))

    def motion(self, state: Arrays, records: int) -> dict[str, Array]:
        """The state at regular times, (*batch, records, n) by name."""
        return self._forward(state, 0, self.steps, records)

    def along(self, state: Arrays, directions: Arrays, count: int, records: int) -> tuple[Array, Array]:
        """(dq, dq̇) at regular times, (*batch, p, records, n) each, along ``count`` directions p at once.

        state       the initial one, (…, n) by name
        directions  of q, q̇ and the inputs ``by``, by their names: (…, p, k), for a stepwise input (…, p, steps, k)
        """
        own = {**state, **self.constants, "events": np.zeros(1)}
        arrays = {x: np.asarray(value)[..., None, :] for x, value in own.items()}
        arrays |= {x: np.asarray(value)[..., None, :, :] for x, value in self.given(0, self.steps).items()}
        zero = np.zeros(1)
        for x, size in self.step.sizes.items():
            arrays[f"d_{x}"] = directions.get(x, np.broadcast_to(zero, (1, size)))
        out = self._run(self.step.tangent, arrays, self.steps, records, (*self.batch, count))
        return out["d_q"], out["d_qd"]

    def curved(
        self, state: Arrays, weights: Arrays, records: Array, directions: Arrays, turns: Arrays
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """The motion with its change d_x along a direction, (*batch, steps, n), and ∂L/∂x of :meth:`back`, g_x, with d_g_x.

        directions  of the state and the inputs ``by``, and ``turns`` those of the weights, by their names
        Arrays of all steps are kept; no step may have an event.
        """
        steps, sizes, zero = self.steps, self.step.sizes, np.zeros(1)
        fixed = {**self.constants, **self.given(0, steps)}
        fixed |= {f"d_{x}": directions.get(x, np.broadcast_to(zero, (1,) * (x in self.step.stepwise) + (size,)))
                  for x, size in sizes.items()}  # fmt: skip
        motion = {
            x: y.copy() for x, y in self._run(self.step.tangent, {**state, **fixed}, steps, steps, self.batch).items()
        }
        arrays = {**fixed, **self._spread(weights, records, 0, steps)}
        arrays |= {f"d_{x}": w for x, w in self._spread(turns, records, 0, steps).items()}
        for x in self.step.state:
            for of, start in ((x, state[x]), (f"d_{x}", fixed[f"d_{x}"])):
                first = np.broadcast_to(start, (*self.batch, sizes[x]))[..., None, :]
                arrays[of] = np.concatenate([first, motion[of][..., :-1, :]], axis=-2)
        program = self.step.curvature.program
        arrays = {x: y[..., ::-1, :] if x in program.stepwise else y for x, y in arrays.items()}
        for x in program.inputs:
            arrays.setdefault(x, np.zeros((1,) * (x in program.stepwise) + (program.sizes[x],)))
        out = self._run(self.step.curvature, arrays, steps, steps if self.step.stepwise else 1, self.batch)
        stepwise = {f"{d}g_{x}" for x in self.step.stepwise for d in ("", "d_")}
        return motion, {x: y[..., ::-1, :].copy() if x in stepwise else y[..., -1, :] for x, y in out.items()}

    @cached_property
    def _kept(self) -> int:
        """Bytes that the way back keeps for each state of the batch."""
        return 8 * self.steps * sum(self.step.sizes.values())

    def back(self, state: Arrays, weights: Arrays, records: Array) -> dict[str, Array]:
        """∂L/∂x for the state and the inputs ``by``: (*batch, k), for a stepwise input (*batch, steps, k).

        weights  ∂L/∂q and ∂L/∂q̇, (…, r, n) by name, with respect to the state after each of the steps ``records``, from 1
        """
        weights = {x: weights.get(x, np.zeros((len(records), self.step.sizes[x]))) for x in self.step.state}
        count = LANES * max(1, CACHED // (LANES * self._kept))
        if max(self.batch, default=1) <= count:
            return self._back(state, weights, records)
        axis, step = int(np.argmax(self.batch)), self.step
        length, behind = self.batch[axis], len(self.batch) - axis - 1
        g = {x: np.empty((*self.batch, *(self.steps,) * (x in step.stepwise), k)) for x, k in step.sizes.items()}

        def work(some: Iterator[slice]) -> None:
            memory: dict[str, Array] = {}
            for piece in some:
                batch = (*self.batch[:axis], piece.stop - piece.start, *self.batch[axis + 1 :])

                def given(start: int, stop: int, piece: slice = piece) -> Arrays:
                    return _cut(self.given(start, stop), piece, behind + 2)

                constants = _cut(self.constants, piece, behind + 1)
                part = replace(self, batch=batch, constants=constants, given=given, threads=1, memory=memory)
                slopes = part._back(_cut(state, piece, behind + 1), _cut(weights, piece, behind + 2), records)
                for x, slope in slopes.items():
                    np.moveaxis(g[x], axis, 0)[piece] = np.moveaxis(slope, axis, 0)

        threads = usable_threads() if self.threads is None else self.threads
        pieces = [slice(k, min(k + count, length)) for k in range(0, length, count)]
        together(work, pieces, min(threads, len(pieces)))
        return g

    def _back(self, state: Arrays, weights: Arrays, records: Array) -> dict[str, Array]:
        """The gradients of one piece of the batch."""
        sizes, whole = self.step.sizes, prod(self.batch) * self._kept
        part = self.steps if whole <= BYTES else max(1, isqrt(self.steps), BYTES * self.steps // (2 * whole))
        starts = list(range(0, self.steps, part))
        states = [{x: np.broadcast_to(state[x], (*self.batch, sizes[x])) for x in self.step.state}]
        for start in starts[:-1]:
            states.append(self._last(self._forward(states[-1], start, start + part, 1)))
        g = {x: np.zeros((*self.batch, size)) for x, size in sizes.items()}
        stepwise = {x: np.empty((*self.batch, self.steps, sizes[x])) for x in self.step.stepwise}
        for start, before in zip(reversed(starts), reversed(states), strict=True):
            stop = min(start + part, self.steps)
            inner = int(np.searchsorted(records, stop))
            if inner < len(records) and records[inner] == stop:
                g |= {x: g[x] + w[..., inner, :] for x, w in weights.items()}
            earlier = {x: w[..., :inner, :] for x, w in weights.items()}
            g = self._segment(before, start, stop, self._spread(earlier, records[:inner], start, stop), g, stepwise)
        return g | stepwise

    @staticmethod
    def _spread(weights: Arrays, records: Array, start: int, stop: int) -> dict[str, Array]:
        """The weights of the states after all of these steps: zero where none are recorded."""
        first, last = np.searchsorted(records, (start + 1, stop + 1))
        if first == last:
            return {f"w_{x}": np.zeros((1, w.shape[-1])) for x, w in weights.items()}
        spread = {}
        for x, w in weights.items():
            spread[f"w_{x}"] = np.zeros((*w.shape[:-2], stop - start, w.shape[-1]))
            spread[f"w_{x}"][..., records[first:last] - start - 1, :] = w[..., first:last, :]
        return spread

    def _forward(self, state: Arrays, start: int, stop: int, records: int) -> dict[str, Array]:
        arrays = {**state, **self.constants, "events": np.zeros(1), **self.given(start, stop)}
        return self._run(self.step.observed, arrays, stop - start, records, self.batch, "state ")

    def _last(self, motion: Arrays) -> dict[str, Array]:
        return {x: motion[x][..., -1, :].copy() for x in self.step.state}

    def _segment(
        self, state: Arrays, start: int, stop: int, weights: Arrays, g: dict[str, Array], stepwise: dict[str, Array]
    ) -> dict[str, Array]:
        """The gradients before some steps, from those after them; stepwise ones are written to their place."""
        count, given = stop - start, self.given(start, stop)
        after = self._forward(state, start, stop, count)
        before = {}
        for x in self.step.state:
            states = self._room(f"state {x}", (*self.batch, count + 1, self.step.sizes[x]))
            states[..., 0, :], before[x] = state[x], states[..., :-1, :]
        arrays = {**given, **before, **weights}
        passes = np.zeros((*self.batch, count))
        if "events" in after:
            events = np.diff(after["events"][..., 0], prepend=0.0, axis=-1)
            passes = np.where(self.step.always_passes | (events != 0), events + 1, 0)
        happen = np.flatnonzero(passes.reshape(-1, count).any(axis=0)).tolist()
        end = count
        for k in [*reversed(happen), -1]:
            if k + 1 < end:
                g = self._held(arrays, k + 1, end, start, g, stepwise)
            if k >= 0:
                later = g
                if not self.step.always_passes:
                    g = self._held(arrays, k, k + 1, start, g, stepwise)
                few = np.ceil(np.log2(np.maximum(passes[..., k], 0.5)))  # states of about as many passes together
                for size in np.unique(few[few >= 0]):
                    self._through(arrays, k, np.where(few == size, passes[..., k], 0), later, g, start, stepwise)
            end = k
        return g

    def _held(
        self, arrays: Arrays, first: int, last: int, start: int, g: dict[str, Array], stepwise: dict[str, Array]
    ) -> dict[str, Array]:
        """The gradients before steps without events."""
        rows = slice(first, last)
        back = {x: value[..., rows, :][..., ::-1, :] if value.shape[-2] > 1 else value for x, value in arrays.items()}
        back |= {f"g_{x}": value for x, value in g.items()} | dict(self.constants)
        out = self._run(self.step.adjoint, back, last - first, last - first if stepwise else 1, self.batch)
        for x, values in stepwise.items():
            values[..., start + first : start + last, :] = out[f"g_{x}"][..., ::-1, :]
        return {x: out[f"g_{x}"][..., -1, :].copy() for x in g}

    def _through(
        self, arrays: Arrays, k: int, passes: Array, later: Arrays, g: dict[str, Array], start: int,
        stepwise: dict[str, Array],
    ) -> None:  # fmt: skip
        """Write the gradients before step k where it takes more than one pass, from pass to pass backwards."""
        where, most = passes > 0, int(passes.max())
        forward, program = self.step.passes.program, self.step.reversal.program

        def lanes(value: Array) -> Array:
            return np.broadcast_to(value, (*self.batch, value.shape[-1]))[where]

        given = {x: lanes(value) for x, value in self.constants.items()}
        given |= {x: lanes(value[..., k if value.shape[-2] > 1 else 0, :]) for x, value in arrays.items()}
        held = {x: given[x][:, None] for x in forward.stepwise}
        first = {x: given.get(x, np.zeros((1, forward.sizes[x]))) for x in forward.state}
        count = (len(next(iter(first.values()))),)
        after = self._run(self.step.passes, given | first | held, most, most, count)
        back: dict[str, Array] = dict(given) | held
        for x in forward.state:
            before = np.concatenate(
                [np.broadcast_to(first[x][:, None], after[x][:, :1].shape), after[x][:, :-1]], axis=1
            )
            back[x] = before[:, ::-1]
        for x in program.state:
            of = x.removeprefix("g_")
            known = later[of][where] if of in later and of not in stepwise else np.zeros((1, program.sizes[x]))
            back[x] = known + given[f"w_{of}"] if of in self.step.state else known
        back |= {x: np.zeros((1, 1, program.sizes[x])) for x in program.stepwise if x.startswith("w_")}
        out = self._run(self.step.reversal, back, most, most, count)
        for x in self.step.sizes:
            if x in stepwise:
                stepwise[x][..., start + k, :][where] = out[f"g_{x}"].sum(axis=1)
            else:
                g[x][where] = out[f"g_{x}"][:, -1]


def _cut(values: Arrays, piece: slice, behind: int) -> Arrays:
    """A piece of the axis of arrays that has so many axes behind it; arrays that do not vary along it stay whole."""
    axis = -1 - behind
    return {
        x: np.moveaxis(np.moveaxis(value, axis, 0)[piece], 0, axis)
        if value.ndim > behind and value.shape[axis] > 1
        else value
        for x, value in values.items()
    }
