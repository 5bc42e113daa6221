"""The batched rollout: very many states in fixed steps, where their arrays are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm.compiled import Compiled
from dalembert.arrays import double, number, shown
from dalembert.errors import DalembertError, ShapeError
from dalembert.foreign.libraries import TITLES, common_library
from dalembert.kernel.batches import run
from dalembert.motion.methods import METHODS

WORK = 64  # of a step for each number of the state, as dalembert.kernel.batches measures it


class Rollouts(Compiled):
    """Rollouts of an arm."""

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
        """(q, q̇) after every so many steps: (…, records, n) each, from states q, q̇ (…, n) and torques.

        tau     (…, n), constant over all steps, or (…, steps, n); zero unless given
        step    length of a step (s)
        steps   how many there are
        every   steps between records, a divisor of ``steps``; the last step alone is recorded unless given
        method  one with fixed steps: "rk4", "euler", …, as for ``da.simulate``
        All arrays are of one kind: NumPy's, or CuPy's or PyTorch's on a GPU, where one thread then takes all steps of a
        state; the results are of that kind. ``da.simulate`` has controllers, stops, contact and checks besides.

        >>> import dalembert as da
        >>> q, qd = da.load("pendulum").rollout([[0.5], [1.0]], [[0.0], [0.0]], step=1e-3, steps=1000, every=500)
        >>> q.shape
        (2, 2, 1)
        """
        from dalembert.quantities.rollouts import Plan, device_rollout, rollout_kernel

        every = steps if every is None else every
        if not _count(steps) or not _count(every) or steps % every:
            raise DalembertError(
                f"every is {shown(every)} and steps is {shown(steps)}; every must be a divisor of steps, both whole numbers "
                "from 1 on"
            )
        h = number("step", step)
        if not 0.0 < h < float("inf"):
            raise DalembertError(f"step is {h}; it must be a positive time in seconds")
        known = [name for name, of in METHODS.items() if not of.solver and not of.symplectic]
        if method not in known:
            raise DalembertError(f"a rollout has no method '{method}'; it has {', '.join(known)}")
        if self.mechanism.by_newton:
            raise DalembertError(
                f"the loops of arm '{self.name}' are closed by Newton's method, which is no part of a rollout; use da.simulate"
            )
        plan, records = Plan(method=method, law="given", friction=friction), steps // every
        library = common_library((q, qd, tau))
        if library is None:
            state = [double("q", q), double("qd", qd)]
            force = np.zeros(self.n) if tau is None else double("tau", tau)
            arrays = self._of_rollout(state, force, np.array([[h]]), steps)
            arrays[2:] = [np.broadcast_to(x, (*x.shape[:-2], steps, x.shape[-1])) for x in arrays[2:]]
            lead = _leading(state, arrays[3])
            out = tuple(np.empty((*lead, records, self.n)) for _ in state)
            run(rollout_kernel(self.mechanism, plan), arrays, out, threads, WORK * steps * 2 * self.n)
            return out[0], out[1]
        if library == "jax":
            raise ShapeError("a rollout takes no JAX array: give NumPy, CuPy or PyTorch arrays")
        on: Any = import_module(f"dalembert.foreign.on_{library}")
        like = q if common_library((q,)) else qd if common_library((qd,)) else tau
        device = on.described(like)
        if device.device < 0:
            raise ShapeError(f"{TITLES[library]} of a rollout must be on a GPU: give NumPy arrays, such as q.numpy()")
        state = [on.beside(like, x) for x in (q, qd)]
        force = on.beside(like, [0.0] * self.n if tau is None else tau)
        arrays = self._of_rollout(state, force, on.beside(like, [[h]]), steps)
        lead = _leading(state, arrays[3])
        out = tuple(on.empty(like, (*lead, records, self.n)) for _ in state)
        scalar = "float" if device.dtype == "float32" else "double"
        kernel = device_rollout(self.mechanism, plan, scalar)
        kernel.launch([on.described(x) for x in (*arrays, *out)], steps, records, on.stream_of(like))
        return out[0], out[1]

    def _of_rollout(self, state: list[Any], force: Any, h: Any, steps: int) -> list[Any]:
        """The inputs of the program: (q, q̇, h, τ), τ with an axis of steps."""
        for name, x in (("q", state[0]), ("qd", state[1]), ("tau", force)):
            if x.ndim == 0 or x.shape[-1] != self.n:
                raise ShapeError(
                    f"{name} has shape {tuple(x.shape)}, but arm '{self.name}' has {self.n} joints: the last axis must be "
                    f"{self.n}, as in (…, {self.n})"
                )
        stepwise = force.ndim > 1 and force.shape[-2] == steps and force.ndim > max(state[0].ndim, state[1].ndim)
        if not stepwise:
            force = force[..., None, :]
        return [*state, h, force]


def _count(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= 1


def _leading(state: list[Any], force: Any) -> tuple[int, ...]:
    """The axes that states and torques (…, steps, n) have together."""
    shapes = [tuple(x.shape[:-1]) for x in state] + [tuple(force.shape[:-2])]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            f"the leading axes of q {shapes[0]}, qd {shapes[1]} and tau {shapes[2]} do not broadcast; torques for every step "
            "are (…, steps, n) with one axis more than q and qd have"
        ) from None
