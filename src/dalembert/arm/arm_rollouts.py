"""Batched rollouts: many states integrated with fixed steps, on the device that holds their arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm.compiled import Compiled
from dalembert.arm.damping import NONE, Pole, Posed, damped, fastest, posed, some_poses
from dalembert.arm.lazy import ALONE, by_blocks
from dalembert.base.arrays import DOUBLE, SINGLE, is_lazy, number, real
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.wording import shown
from dalembert.compiler.foreign.libraries import TITLES, common_library, library_of
from dalembert.compiler.kernel.batches import run
from dalembert.compiler.kernel.threads import checked_threads
from dalembert.errors import DalembertError, ShapeError
from dalembert.mechanics.motion.methods import METHODS

if TYPE_CHECKING:
    from dalembert.compiler.quantities.rollouts import Plan

# types of step, steps, every, method and friction in calls that are repeated by a quick route
PLAIN = {(float, int, of, str, bool) for of in (int, type(None))}
FEW = 256  # steps of rollouts of a single state that are kept ready, and different settings of them
WORK = 64  # per step and entry of the state, in the units of dalembert.compiler.kernel.batches


class Rolling(NamedTuple):
    """Settings of a rollout: the integration method, the step (s), the numbers of steps, of records and of substeps."""

    plan: Plan
    step: float
    steps: int
    records: int
    parts: int

    def shape(self, arrays: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape of the results."""
        axes = {"tau": 2} if _stepwise(arrays, self.steps) else {}
        shapes = {name: tuple(array.shape) for name, array in arrays.items()}
        try:
            lead = np.broadcast_shapes(*(shape[: -axes.get(name, 1)] for name, shape in shapes.items()))
        except ValueError:
            given = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise ShapeError(f"these shapes do not broadcast: {given}") from None
        return (*lead, self.records, shapes["q"][-1])

    def inputs(self, arrays: Mapping[str, Any], beside: Callable[[Any], Any]) -> list[Any]:
        """(q, q̇, h, τ), where τ has an axis for the steps, each repeated for its substeps; ``beside`` converts to the library."""
        tau = arrays["tau"]
        if not _stepwise(arrays, self.steps):
            tau = tau[..., None, :]
        elif self.parts > 1:
            *lead, steps, n = tau.shape
            tau = (tau[..., None, :] * beside(np.ones((self.parts, 1)))).reshape((*lead, steps * self.parts, n))
        return [arrays["q"], arrays["qd"], beside([[self.step / self.parts]]), tau]


class _QuickRollout:
    """A rollout of one state given as arrays of float64; None for anything else."""

    def __init__(self, kernel: np.ufunc, rolling: Rolling, n: int) -> None:
        steps = rolling.steps * rolling.parts
        self.kernel, self.records, self.state, self.rows = kernel, (rolling.records, n), (n,), (steps, n)
        self.h, self.zero = np.full((steps, 1), rolling.step / rolling.parts), np.zeros((steps, n))

    def __call__(self, q: Any, qd: Any, tau: Any) -> tuple[Any, Any] | None:
        rows = self.zero
        for array in (q, qd) if tau is None else (q, qd, tau):
            if type(array) is not np.ndarray or array.dtype is not DOUBLE or array.shape != self.state:
                return None
        if tau is not None:
            rows = tau[None] if self.rows[0] == 1 else np.broadcast_to(tau, self.rows)
        out = np.empty(self.records), np.empty(self.records)
        self.kernel(q, qd, self.h, rows, out=out)
        return out


class Rollouts(Compiled):
    """Rollouts of an arm."""

    @cached_property
    def _quick_rollouts(self) -> dict[Any, _QuickRollout]:
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
        The results are arrays of the same library as the inputs. NumPy and Dask arrays, and PyTorch and JAX arrays on
        the CPU, are computed in float64 and rounded at the end; CuPy arrays, and PyTorch arrays on a GPU, in their own
        type, with one GPU thread per state. ``da.simulate`` also offers controllers, end stops, contact and checks.

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
        from dalembert.compiler.quantities.rollouts import Plan

        every = steps if every is None else every
        threads = checked_threads(threads)
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
        given = {"q": q, "qd": qd, "tau": np.zeros(self.n, SINGLE) if tau is None else tau}
        parts = self._damping.substeps(self, METHODS[method], h) if friction else 1
        rolling = Rolling(Plan(method=method, law="given", friction=friction), h, steps, steps // every, parts)
        library = common_library(given.values())
        if library is not None:
            return self._rolled_elsewhere(library, rolling, given, threads)
        arrays = self._checked_rollout({name: real(name, value) for name, value in given.items()})
        if plain and steps * parts <= FEW:
            if len(self._quick_rollouts) == FEW:
                self._quick_rollouts.clear()
            self._quick_rollouts[setting] = _QuickRollout(self._rollout_kernel(rolling.plan), rolling, self.n)
        if any(map(is_lazy, arrays.values())):
            axes = {"tau": 2} if _stepwise(arrays, steps) else {}
            block = partial(self._rolled, rolling, threads or ALONE)
            return by_blocks(block, arrays, [(rolling.records, self.n)] * 2, axes=axes)
        return self._rolled(rolling, threads, **arrays)

    def _rolled(self, rolling: Rolling, threads: int | None, **arrays: Any) -> tuple[Any, Any]:
        """A rollout of NumPy arrays, computed in float64."""
        kind = np.result_type(SINGLE, *arrays.values())
        steps, inputs = rolling.steps * rolling.parts, rolling.inputs(arrays, np.asarray)
        inputs[2:] = [np.broadcast_to(x, (*x.shape[:-2], steps, x.shape[-1])) for x in inputs[2:]]
        inputs = [x.astype(DOUBLE, copy=False) for x in inputs]
        out = np.empty(rolling.shape(arrays)), np.empty(rolling.shape(arrays))
        cost = WORK * steps * 2 * self.n
        run(self._rollout_kernel(rolling.plan), inputs, out, threads, cost)
        return out[0].astype(kind, copy=False), out[1].astype(kind, copy=False)

    def _rollout_kernel(self, plan: Plan) -> np.ufunc:
        from dalembert.compiler.quantities.rollouts import rollout_kernel

        if plan not in self._kernels:
            self._kernels[plan] = rollout_kernel(self.mechanism, plan)
        return self._kernels[plan]

    def _rolled_elsewhere(
        self, library: str, rolling: Rolling, given: Mapping[str, Any], threads: int | None
    ) -> tuple[Any, Any]:
        """A rollout of arrays of another library: on the GPU if they are there, else through NumPy."""
        from dalembert.compiler.quantities.rollouts import device_rollout

        on: Any = import_module(f"dalembert.compiler.foreign.on_{library}")
        like = next(x for x in given.values() if library_of(x))
        if on.in_main_memory(like):
            arrays = {name: on.beside(like, value) for name, value in given.items()}
            arrays = self._checked_rollout({name: real(name, value) for name, value in arrays.items()})
            q, qd = self._rolled(rolling, threads, **arrays)
            return on.beside(like, q), on.beside(like, qd)
        if library == "jax":
            raise ShapeError("a rollout takes no JAX arrays on a GPU: give arrays on the CPU, or CuPy's or PyTorch's")
        if threads is not None:
            raise ShapeError(f"threads cannot be given with {TITLES[library]} on a GPU: leave it out")
        arrays = self._checked_rollout({name: on.beside(like, value) for name, value in given.items()})
        steps, inputs = rolling.steps * rolling.parts, rolling.inputs(arrays, partial(on.beside, like))
        out = on.empty(like, rolling.shape(arrays)), on.empty(like, rolling.shape(arrays))
        scalar = "float" if on.described(like).dtype == "float32" else "double"
        kernel = device_rollout(self.mechanism, rolling.plan, scalar)
        kernel.launch([on.described(x) for x in (*inputs, *out)], steps, rolling.records, on.stream_of(like))
        return out[0], out[1]

    def _checked_rollout(self, arrays: dict[str, Any]) -> dict[str, Any]:
        return {name: self.fitting(name, array) for name, array in arrays.items()}


def _stepwise(arrays: Mapping[str, Any], steps: int) -> bool:
    """Whether the torques have an axis for the steps."""
    q, qd, tau = arrays["q"], arrays["qd"], arrays["tau"]
    return bool(tau.ndim > max(1, q.ndim, qd.ndim) and tau.shape[-2] == steps)
