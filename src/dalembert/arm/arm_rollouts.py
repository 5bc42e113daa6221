"""Batched rollouts: many states integrated with fixed steps, on the device that holds their arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm.compiled import Compiled, run_elsewhere
from dalembert.arm.damping import NONE, Pole, Posed, damped, fastest, posed, some_poses
from dalembert.arm.lazy import ALONE, by_blocks
from dalembert.base.arrays import DOUBLE, SINGLE, is_lazy, number, real
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.wording import shown
from dalembert.compiler.foreign.call import Named
from dalembert.compiler.foreign.libraries import TITLES, common_library, constant, repeated
from dalembert.compiler.foreign.rollout_call import RolloutCall, registered_rollout, rollout_call
from dalembert.compiler.kernel.threads import checked_threads
from dalembert.compiler.quantities.rollouts import rollout_kernel
from dalembert.compiler.quantities.step_program import Plan
from dalembert.errors import DalembertError, ShapeError
from dalembert.mechanics.coordinates.variable_parameters import VARIANTS
from dalembert.mechanics.motion.methods import METHODS

QuickRollout = Callable[[Any, Any, Any], tuple[Any, Any] | None]  # of q, q̇, τ

# types of step, steps, every, method and friction in calls that are repeated by a quick route
PLAIN = {(float, int, of, str, bool) for of in (int, type(None))}
FEW = 256  # steps of rollouts of a single state that are kept ready, and different settings of them


def _quick_rollout(call: RolloutCall) -> QuickRollout:
    """A rollout of one state given as arrays of float64; it returns None for anything else."""
    steps, n = call.steps, call.mechanism.n
    kernel, state = rollout_kernel(call.mechanism, call.plan), (n,)
    h, zero = np.full((steps, 1), call.step), np.zeros((steps, n))

    def run(q: Any, qd: Any, tau: Any) -> tuple[Any, Any] | None:
        for array in (q, qd) if tau is None else (q, qd, tau):
            if type(array) is not np.ndarray or array.dtype is not DOUBLE or array.shape != state:
                return None
        rows = zero if tau is None else tau[None] if steps == 1 else np.broadcast_to(tau, (steps, n))
        out = np.empty((call.records, n)), np.empty((call.records, n))
        kernel(q, qd, h, rows, out=out)
        return out

    return run


class Rollouts(Compiled):
    """Rollouts of an arm."""

    @cached_property
    def _quick_rollouts(self) -> dict[Any, QuickRollout]:
        """By settings: rollouts of a single state, called many times."""
        return {}

    @cached_property
    def _damping(self) -> Pole:
        """The fastest decay of joint speeds by friction: steps that it would make unstable are divided."""
        return fastest(self._posed.B, self._posed.D) if damped(self) else NONE

    @cached_property
    def _posed(self) -> Posed:
        """Poses of the arm at which such decays are computed."""
        return posed(self, some_poses(self))

    def rollout(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        step: float,
        steps: int,
        every: int | None = None,
        method: str = "rk4",
        friction: bool = True,
        threads: int | None = None,
    ) -> tuple[Any, Any]:
        """(q, q̇) recorded at regular steps: (…, records, n) each, from initial states q, q̇ (…, n) and torques.

        tau     (…, n), constant over all steps, or (…, steps, n); zero by default
        step    length of a step (s); where friction is stiff for it, each step is computed in substeps
        steps   number of steps
        every   steps between records, a divisor of ``steps``; by default only the last step is recorded
        method  a fixed-step method of ``da.simulate``: "rk4"
        threads number of threads over which a large batch is split; default: chosen by its size
        The results are arrays of the same library as the inputs, and on PyTorch and JAX differentiable with respect to
        q, q̇, τ and the numbers of :meth:`variants`, through sticking, too. NumPy and Dask arrays, and PyTorch and JAX arrays
        on the CPU, are computed in float64 and rounded at the end; arrays on a GPU in their own type, with one GPU thread
        per state. ``da.simulate`` also offers controllers, end stops, contact and checks.

        >>> import dalembert as da
        >>> q, qd = da.load("pendulum").rollout([[0.5], [1.0]], [[0.0], [0.0]], step=1e-3, steps=1000, every=500)
        >>> q.shape
        (2, 2, 1)
        """
        setting = (step, steps, every, method, friction)
        plain = type(q) is np.ndarray and tuple(map(type, setting)) in PLAIN
        if plain and threads is None and (quick := self._quick_rollouts.get(setting)) is not None:
            motion = quick(q, qd, tau)
            if motion is not None:
                return motion
        threads = checked_threads(threads)
        given = {"q": q, "qd": qd, "tau": np.zeros(self.n, SINGLE) if tau is None else tau, **self.numbers}
        library = common_library(given.values())
        if library is None:
            given = {name: real(name, value) for name, value in given.items()}
        else:  # nothing that torch.compile cannot trace
            given = {name: value if hasattr(value, "shape") else np.asarray(value) for name, value in given.items()}
        shape = given["tau"].shape
        stepwise = len(shape) > max(1, given["q"].ndim, given["qd"].ndim) and shape[-2] == steps
        key, sizes = self._rollout_call(method, step, steps, steps if every is None else every, friction, stepwise)
        if library is not None:
            if threads is not None:
                raise ShapeError(f"threads cannot be given with {TITLES[library]}: leave it out")
            if stepwise and (parts := dict(sizes)["tau"][0] // steps) > 1:
                given["tau"] = repeated(given["tau"], parts)
            return run_elsewhere(library, key, sizes, given)
        arrays = {name: self.fitting(name, value) for name, value in given.items()}
        call = registered_rollout(key)
        if plain and call.steps <= FEW and not self.numbers:
            if len(self._quick_rollouts) == FEW:
                self._quick_rollouts.clear()
            self._quick_rollouts[setting] = _quick_rollout(call)
        if any(map(is_lazy, arrays.values())):
            block = partial(_rolled, call, threads or ALONE)
            return by_blocks(block, arrays, [(call.records, self.n)] * 2, axes={"tau": 2} if stepwise else {})
        return _rolled(call, threads, **arrays)

    @constant
    def _rollout_call(
        self, method: str, step: float, steps: int, every: int, friction: bool, stepwise: bool
    ) -> tuple[str, Named]:
        """The key of a rollout with substeps where friction is stiff, and the names and core shapes of its inputs."""
        try:
            possible = min(index(steps), index(every)) >= 1 and steps % every == 0
        except TypeError:
            possible = False
        if not possible:
            raise DalembertError(
                f"every is {shown(every)} and steps is {shown(steps)}; both must be whole numbers from 1, and every must divide "
                "steps"
            )
        h = number("step", step)
        if not 0.0 < h < float("inf"):
            raise DalembertError(f"step is {h}; it must be a positive time in seconds")
        known = [name for name, of in METHODS.items() if not of.solver and not of.symplectic]
        if method not in known:
            raise DalembertError(f"a rollout has no method '{method}'; the methods are {', '.join(known)}")
        if self.mechanism.by_newton:
            raise DalembertError(
                f"the loops of arm '{self.name}' are closed by Newton's method, which a rollout does not support; use da.simulate"
            )
        request = method, h, steps, every, friction, stepwise
        if request not in self._calls:
            parts = self._damping.substeps(self, METHODS[method], h) if friction else 1
            numbers = tuple(name for name in VARIANTS if name in self.numbers)
            plan = Plan(method=method, law="given", friction=friction, numbers=numbers)
            call = rollout_call(self.mechanism, plan, h / parts, steps * parts, steps // every, ("tau",) * stepwise)
            self._calls[request] = call.key, call.inputs
        return self._calls[request]


def _rolled(call: RolloutCall, threads: int | None, **arrays: Any) -> tuple[Any, ...]:
    """A rollout of NumPy arrays, in which the torques of each step act in all of its substeps."""
    if call.rows and (parts := call.steps // arrays["tau"].shape[-2]) > 1:
        arrays["tau"] = repeated(arrays["tau"], parts)
    return call.run([arrays[name] for name, _ in call.inputs], None, threads)
