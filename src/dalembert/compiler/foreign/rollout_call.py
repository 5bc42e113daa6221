"""A rollout, or a simulation with a controller, as an operator of another library, with its exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.base.arrays import DOUBLE, SINGLE, Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.compiler.foreign.call import CALLS, Named, Operation, key_of, registered
from dalembert.compiler.graph.program import Program
from dalembert.compiler.kernel.batches import run
from dalembert.compiler.quantities.machine import identity
from dalembert.compiler.quantities.rollout_derivatives import COST, RolloutDerivatives, StepDerivatives
from dalembert.compiler.quantities.rollouts import rollout_kernel
from dalembert.compiler.quantities.step_program import Plan, has_events, rollout, setting_of
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates.chain import AnyMechanism

MOTION = ("q", "qd")


@dataclass(frozen=True, eq=False)
class RolloutCall(Operation):
    """Many steps from q, q̇: the inputs are the initial state, and the stepwise and constant inputs of the program.

    step      length of a step (s); None if the lengths of the steps are an input h
    steps     number of steps, of which ``records`` are returned at equal distances
    rows      stepwise inputs that have a value for every step; others, such as torques τ (n), are held
    mode, by  "" for the motion, or the derivative with respect to these inputs
    """

    mechanism: AnyMechanism
    plan: Plan
    step: float | None
    steps: int
    records: int
    rows: tuple[str, ...]
    key: str
    mode: str = ""
    by: tuple[str, ...] = ()

    @cached_property
    def program(self) -> Program:
        """The program of a step."""
        return rollout(self.mechanism, self.plan).program

    @cached_property
    def _sizes(self) -> dict[str, tuple[int, ...]]:
        """The core shapes of the inputs of the rollout itself."""
        program, unknown = self.program, () if self.step is None else ("h",)
        names = [x for x in (*program.state, *program.stepwise, *program.constant) if x not in unknown]
        return {x: (self.steps, program.sizes[x]) if x in self.rows else (program.sizes[x],) for x in names}

    def _held(self, x: str) -> bool:
        """Whether an input is a stepwise one that is given once."""
        return x in self.program.stepwise and x not in self.rows

    @cached_property
    def inputs(self) -> Named:
        """Names and core shapes of the inputs."""
        own, recorded = self._sizes, (self.records, self.mechanism.n)
        further: dict[str, dict[str, tuple[int, ...]]] = {
            "gradient": {"w_q": recorded, "w_qd": recorded}, "tangent": {f"t_{x}": own[x] for x in self.by}
        }  # fmt: skip
        return tuple({**own, **further.get(self.mode, {})}.items())

    @cached_property
    def outputs(self) -> Named:
        """Names and core shapes of the outputs."""
        if self.mode == "gradient":
            return tuple((f"d_{x}", self._sizes[x]) for x in self.by)
        return tuple((x, (self.records, self.mechanism.n)) for x in MOTION)

    def derivative(self, mode: str, by: tuple[str, ...]) -> Operation:
        """The derivative, or that of the gradient or tangent if no step can have an event."""
        if not self.mode:
            return rollout_call(self.mechanism, self.plan, self.step, self.steps, self.records, self.rows, mode, by)
        if has_events(setting_of(self.mechanism, self.plan), self.plan):
            raise DalembertError(
                "a rollout with dry friction, or with parameters that include it, has first derivatives only, because second ones "
                "do not exist where joints stop; use friction=False, or smooth laws such as tanh"
            )
        if self.mode == mode == "tangent":
            raise DalembertError(
                "a rollout has no second derivative by forward mode twice; differentiate its gradient, as hessian does"
            )
        key = key_of(f"rollout.{self.mode}.{mode}", self.key, *by)
        return CALLS.setdefault(key, SecondDerivative(self, key, mode, by))

    def run(
        self, arrays: Sequence[Any], out: tuple[Any, ...] | None = None, threads: int | None = None
    ) -> tuple[Any, ...]:
        """The outputs for NumPy arrays, computed in float64 and rounded at the end."""
        given, batch = _doubles(self, arrays)
        results = {"": self._motion, "gradient": self._gradient, "tangent": self._tangent}[self.mode](
            given, batch, threads
        )
        return _stored(results, arrays, out)

    def _stepwise(self, given: dict[str, Array]) -> dict[str, Array]:
        """The stepwise inputs, with their axis of steps."""
        given = given if self.step is None else given | {"h": np.array([self.step])}
        each = {x: given[x] if x in self.rows else given[x][..., None, :] for x in self.program.stepwise}
        return {x: np.broadcast_to(row, (*row.shape[:-2], self.steps, row.shape[-1])) for x, row in each.items()}

    def _motion(self, given: dict[str, Array], batch: tuple[int, ...], threads: int | None) -> tuple[Array, ...]:
        program = self.program
        given = given | self._stepwise(given)
        out = tuple(np.empty((*batch, self.records, program.sizes[x])) for x in program.state)
        cost = COST * self.steps * sum(program.sizes[x] for x in program.state)
        run(rollout_kernel(self.mechanism, self.plan), [given[x] for x in program.inputs], out, threads, cost)
        return out[: len(MOTION)]

    @cached_property
    def _recorded(self) -> Array:
        """The steps, from 1, after which the motion is recorded."""
        return np.arange(0, self.steps, self.steps // self.records) + self.steps // self.records

    @cached_property
    def _step(self) -> StepDerivatives:
        return StepDerivatives(self.mechanism, self.plan, tuple(x for x in self.by if x not in self.program.state))

    def _derivatives(
        self, step: StepDerivatives, given: dict[str, Array], batch: tuple[int, ...], threads: int | None
    ) -> RolloutDerivatives:
        rows = self._stepwise(given)
        constants = {x: given[x] for x in self.program.constant}

        def stepwise(start: int, stop: int) -> dict[str, Array]:
            return {x: value[..., start:stop, :] for x, value in rows.items()}

        return RolloutDerivatives(step, batch, constants, stepwise, self.steps, threads)

    def _gradient(self, given: dict[str, Array], batch: tuple[int, ...], threads: int | None) -> tuple[Array, ...]:
        weights = {x: given[f"w_{x}"] for x in MOTION}
        slopes = self._derivatives(self._step, given, batch, threads).back(given, weights, self._recorded)
        return tuple(self._as_given(x, slopes[x]) for x in self.by)

    def _as_given(self, x: str, slope: Array) -> Array:
        """A slope with respect to an input as it is given: torques may be constant."""
        return slope.sum(axis=-2) if self._held(x) else slope

    def _tangent(self, given: dict[str, Array], batch: tuple[int, ...], threads: int | None) -> tuple[Array, ...]:
        directions = {}
        for x in self.by:
            direction = given[f"t_{x}"][..., None, :] if self._held(x) else given[f"t_{x}"]
            # the axis of the one direction
            directions[x] = direction[..., None, :, :] if x in self.program.stepwise else direction[..., None, :]
        dq, dqd = self._derivatives(self._step, given, batch, threads).along(given, directions, 1, self.records)
        return dq[..., 0, :, :], dqd[..., 0, :, :]

    def second(
        self, step: StepDerivatives, given: dict[str, Array], batch: tuple[int, ...], threads: int | None,
        directions: dict[str, Array], turns: dict[str, Array],
    ) -> dict[str, Array]:  # fmt: skip
        """With L = wᵀ y: ∂L/∂x as t_x and its change along the directions as x, and that of the motion as w_q, w_qd.

        turns  directions of the weights w
        """
        weights = {x: given[f"w_{x}"] for x in MOTION}
        directions = {x: t[..., None, :] if self._held(x) else t for x, t in directions.items()}
        motion, slopes = self._derivatives(step, given, batch, threads).curved(
            given, weights, self._recorded, directions, turns
        )
        results = {f"w_{x}": motion[f"d_{x}"][..., self._recorded - 1, :] for x in MOTION}
        for x, core in self._sizes.items():
            for name, slot in ((f"t_{x}", f"g_{x}"), (x, f"d_g_{x}")):
                # an input without effect has no slot
                results[name] = (
                    self._as_given(x, slopes[slot]) if slot in slopes else np.broadcast_to(0.0, (*batch, *core))
                )
        return results


@dataclass(frozen=True, eq=False)
class SecondDerivative(Operation):
    """The "gradient" or "tangent" of the gradient of a rollout, or the gradient of its tangent, with respect to inputs ``by``.

    All follow from one direction δ of the inputs x and one weight w of the outputs y: with L = wᵀ y, the change of ∂L/∂x
    along δ is ∂²L/∂x∂x δ, which is also the gradient of δᵀ ∂L/∂x.
    """

    first: RolloutCall
    key: str
    mode: str
    by: tuple[str, ...]

    @cached_property
    def inputs(self) -> Named:
        """Those of the first derivative, and a weight per output of it, or a direction per input ``by``."""
        own = dict(self.first.inputs)
        further = {f"w_{x}": core for x, core in self.first.outputs}
        return (*own.items(), *(further if self.mode == "gradient" else {f"t_{x}": own[x] for x in self.by}).items())

    @cached_property
    def outputs(self) -> Named:
        """The gradient with respect to the inputs ``by``, or the change of the gradient."""
        own = dict(self.first.inputs)
        return tuple((f"d_{x}", own[x]) for x in self.by) if self.mode == "gradient" else self.first.outputs

    @cached_property
    def _step(self) -> StepDerivatives:
        program, by = self.first.program, {*self.first.by, *self.by}
        names = tuple(x for x in (*program.stepwise, *program.constant) if x in by)
        return StepDerivatives(self.first.mechanism, self.first.plan, names)

    def derivative(self, mode: str, by: tuple[str, ...]) -> Operation:
        """None."""
        raise DalembertError("a rollout has first and second derivatives; take differences of the second ones")

    def run(
        self, arrays: Sequence[Any], out: tuple[Any, ...] | None = None, threads: int | None = None
    ) -> tuple[Any, ...]:
        """The outputs for NumPy arrays, computed in float64 and rounded at the end."""
        (given, batch), prefix = _doubles(self, arrays), "w_d_" if self.first.mode == self.mode else "t_"
        directions = {x: given[prefix + x] for x, _ in self.first.inputs if prefix + x in given}
        turns = {x: directions.pop(f"w_{x}") for x in MOTION if f"w_{x}" in directions}
        names = [x.removeprefix("d_") for x, _ in self.outputs]
        results = self.first.second(self._step, given, batch, threads, directions, turns)
        return _stored([results[x] for x in names], arrays, out)


def _doubles(call: Operation, arrays: Sequence[Any]) -> tuple[dict[str, Array], tuple[int, ...]]:
    """The inputs in float64, by name, and their leading axes together."""
    given = {name: x.astype(DOUBLE, copy=False) for (name, _), x in zip(call.inputs, arrays, strict=True)}
    return given, call.shapes.leading([x.shape for x in arrays])


def _stored(results: Sequence[Array], arrays: Sequence[Any], out: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """The outputs, rounded to the type of the inputs."""
    if out is None:
        kind = np.result_type(SINGLE, *arrays)
        return tuple(x.astype(kind, copy=False) for x in results)
    for place, x in zip(out, results, strict=True):
        place[...] = x
    return out


def rollout_call(
    mechanism: AnyMechanism, plan: Plan, step: float | None, steps: int, records: int, rows: tuple[str, ...],
    mode: str = "", by: tuple[str, ...] = (),
) -> RolloutCall:  # fmt: skip
    """The call of a rollout or of its derivative, new or known."""
    model = () if plan.model is None else (identity(plan.model),)
    settings = repr((plan, step, steps, records, rows, mode, by))
    key = key_of(f"rollout{mode and '.'}{mode}", identity(mechanism), settings, *model)
    CALLS.setdefault(key, RolloutCall(mechanism, plan, step, steps, records, rows, key, mode, by))
    return registered_rollout(key)


def registered_rollout(key: str) -> RolloutCall:
    """The rollout of a key."""
    call = registered(key)
    assert isinstance(call, RolloutCall)
    return call
