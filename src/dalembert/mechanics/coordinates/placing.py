"""γ in numbers: the joint positions of the tree for given independent positions, or error messages.

Formulas are compiled like everything else. If a closure has none, the passive joints are found by Newton's
method, which follows the branch from the configuration given in the robot file, for all states of a batch at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import DOUBLE, Array, which_state
from dalembert.base.environment.cached_property import cached_property
from dalembert.errors import ClosureError, ShapeError
from dalembert.mechanics.coordinates.chain import AnyMechanism, on_tree, place
from dalembert.mechanics.coordinates.loop_closure import rows_of, size_of
from dalembert.mechanics.coordinates.triangles import Triangle, line_reach, reach
from dalembert.mechanics.equations.factorisation import inert_joints, inertia_bounds, unresisted

Booleans = NDArray[np.bool_]
STRIDE = 0.15  # rad or m: step of an actuated joint on the path from the configuration of the branch
ROUNDS = 12  # iterations of Newton's method at the goal
ON_THE_WAY = 4  # and at an intermediate configuration
CLOSED = 1e-12  # residual relative to the size of the loop
UNDETERMINED = "its actuated joints do not determine the motion of the passive ones"


class Placing:
    """The joint positions of a mechanism's tree; ``kernel`` gives the array function of a quantity by its name."""

    def __init__(self, mechanism: AnyMechanism, name: str, kernel: Callable[[str], Callable[..., Any]]) -> None:
        self.mechanism, self.name, self.kernel = mechanism, name, kernel
        self.loop_names = [loop.ends.name for loop in mechanism.loops]

    @cached_property
    def home(self) -> Array:
        """Admissible coordinates: 0, or those of the configuration given by the branches: (n,)."""
        home = np.array(self.mechanism.home)
        home.flags.writeable = False
        return home

    def positions(self, q: Array, near: Array | None = None) -> Array:
        """γ(q): (…, N); dependent revolute joints are between −π and π."""
        m = self.mechanism
        if m.identity:
            return q
        if m.by_newton:
            return self.by_newton(q, near)
        with np.errstate(invalid="ignore", divide="ignore"):
            c, s = self.kernel("closure")(q)
        self.explain(q, c, s)
        out = np.array(c, dtype=float)
        for i in m.wound:
            out[..., i] = np.arctan2(s[..., i], c[..., i])
        return out

    def closes(self, q: Array) -> Booleans:
        """Whether γ(q) and Γ(q) exist: (…)."""
        m = self.mechanism
        if m.linear:
            return np.ones(q.shape[:-1], bool)
        if m.by_newton:
            _, lost, flat = self._followed(q.reshape(-1, m.n), None)
            return ~(lost | flat).reshape(q.shape[:-1])
        with np.errstate(invalid="ignore", divide="ignore"):
            Gamma = self.kernel("closure_jacobian")(q)
        return np.isfinite(Gamma).all(axis=(-2, -1))

    def placed(self, q: Array) -> Array:
        """q as used by the kernels: all joints if Newton's method closes the loops, or an error if that fails."""
        m = self.mechanism
        if m.by_newton:
            return self.by_newton(np.asarray(q, DOUBLE), None).astype(q.dtype, copy=False)
        if not m.linear and not (closed := self.closes(q)).all():
            index = tuple(int(k) for k in np.argwhere(~closed)[0])
            self._check_closure(np.asarray(q, DOUBLE)[index], index)
        return q

    @cached_property
    def why_q_matters(self) -> str:
        """Why friction depends on the configuration of the mechanism; empty if it does not."""
        m = self.mechanism
        for body in m.tree.bodies:
            if body.depends("q"):
                term = next(term for term in body.further if "q" in term.of)
                return f"joint '{body.name}' has {term.title.replace('the ', 'a ', 1)}"
        held = set(m.actuated)
        has_friction = (
            i not in held and bool(b.viscous or any(b.coulomb) or b.further) for i, b in enumerate(m.tree.bodies)
        )
        return "passive joints have friction" if not m.linear and any(has_friction) else ""

    def unresisted(self) -> list[int]:
        """The coordinates without inertia in any configuration, for which B is singular."""
        m = self.mechanism
        if m.identity:
            return inert_joints(m.tree)
        suspects: set[int] | None = None
        for shift in (0.0, 0.11, -0.17):
            q = self.home + shift * np.sqrt(np.arange(2, 2 + m.n))
            try:
                x = self.placed(q)
                Gamma, B = self.kernel("closure_jacobian")(x), self.kernel("inertia_matrix")(x)
            except ClosureError:
                continue
            bounds = np.array(inertia_bounds(m.tree, self.positions(q).tolist())) @ Gamma**2
            weak = unresisted(B.tolist(), bounds.tolist())
            suspects = weak if suspects is None else suspects & weak
        return sorted(suspects or ())

    # -- error messages --------------------------------------------------------------------------

    def explain(self, q: Any, *results: Any) -> None:
        """Raise an error for the first state whose result is not finite because of its closure."""
        if all(np.isfinite(x).all() for x in results if isinstance(x, np.ndarray) or np.isscalar(x)):
            return
        q = np.asarray(q, dtype=float)
        for index in np.ndindex(*q.shape[:-1]):
            if not np.all(np.isfinite(q[index])):
                return  # NaN in, NaN out
            self._check_closure(q[index], index)
        for index in np.ndindex(*q.shape[:-1]):
            flat = self._loosest(q[index])
            if flat is not None:
                why = "in this configuration the motion does not determine the force at its cut"
                raise self._failure("singular", flat, q[index], index, why)

    def _failure(self, kind: str, loop: str, q: Array, index: tuple[int, ...], why: str) -> ClosureError:
        """The error of a loop that is "singular", or "unreachable": one that cannot be closed."""
        at = ", ".join(f"{x:.6g}" for x in q.tolist())
        fails = "is singular" if kind == "singular" else "cannot be closed"
        words = f"loop '{loop}' of arm '{self.name}' {fails} at q = ({at}){which_state(index)}: {why}"
        return ClosureError(words, kind, loop, index)

    def _loosest(self, q: Array) -> str | None:
        """The loop whose passive joints have linearly dependent effects at its cut."""
        m = self.mechanism
        if not m.loops:
            return None
        _, Phi = self.kernel("loop_equations")(self.positions(q))
        at = 0
        for loop, passive in zip(m.loops, m.passive, strict=True):
            rows = rows_of(loop)
            s = np.linalg.svd(Phi[at : at + rows][:, list(passive)], compute_uv=False)
            at += rows
            if s[-1] < 1e-8 * s[0]:
                return loop.ends.name
        return None

    def _check_closure(self, q: Array, index: tuple[int, ...]) -> None:
        """Raise an error if a triangle of the closure cannot be closed or is degenerate."""
        m = self.mechanism
        if m.linear or m.by_newton:
            return
        positions = on_tree(m, q.tolist())
        for closure in m.closures:
            if isinstance(closure, Triangle):
                name = self.loop_names[closure.loop]
                apart, singular = (_line_trouble if closure.slides else _side_trouble)(m, closure, positions)
                if apart:
                    raise self._failure("unreachable", name, q, index, apart)
                if singular:
                    raise self._failure("singular", name, q, index, f"{closure.singular}, and {UNDETERMINED}")
            place(m, closure, positions)

    # -- Newton ----------------------------------------------------------------------------------

    def by_newton(self, q: Array, near: Array | None) -> Array:
        """γ(q) by Newton's method, or an error that names the first state without a solution."""
        shape, N = q.shape[:-1], self.mechanism.tree.n
        goal = q.reshape(-1, self.mechanism.n)
        if near is not None:
            if not near.ndim or near.shape[-1] != N:
                raise ShapeError(
                    f"near has shape {near.shape}, but the tree of arm '{self.name}' has {N} joints: the last axis must be {N}"
                )
            try:
                near = np.broadcast_to(near, (*shape, N)).reshape(-1, N)
            except ValueError:
                raise ShapeError(f"these shapes do not broadcast: q {q.shape}, near {near.shape}") from None
        x, lost, flat = self._followed(goal, near)
        for bad, kind, why in (
            (lost, "unreachable", "Newton's method finds no position of its passive joints on this branch"),
            (flat & ~lost, "singular", UNDETERMINED),
        ):
            if bad.any():
                k = int(np.argmax(bad))
                index = tuple(int(i) for i in np.unravel_index(k, shape)) if shape else ()
                raise self._failure(kind, self.loop_names[0], goal[k], index, why)
        return x.reshape(*shape, N)

    def _followed(self, goal: Array, near: Array | None) -> tuple[Array, Booleans, Booleans]:
        """γ (…, N) by Newton's method along a straight path from the branch or from ``near``; lost; singular."""
        m = self.mechanism
        passive = [i for group in m.passive for i in group]
        actuated = list(m.actuated)
        if not np.isfinite(goal).all():
            raise ShapeError("q contains a value that is not a finite number, so no loop can be closed there")
        x = np.empty((len(goal), m.tree.n))
        x[:] = m.pose if near is None else near
        start = x[:, actuated].copy()
        steps = np.ones(len(goal), int)  # per state, so that the result does not depend on the rest of the batch
        if near is None:
            far = np.abs(goal - start).max(-1, initial=0.0)
            steps = np.maximum(1, np.ceil(far / STRIDE)).astype(int)
        size = size_of(m.tree, m.loops, m.pose)
        equations = self.kernel("loop_equations")
        lost = np.zeros(len(goal), bool)
        for step in range(1, int(steps.max(initial=0)) + 1):
            under_way = np.flatnonzero(step <= steps)
            x[under_way], astray = self._stepped(
                x[under_way], start[under_way] + (goal - start)[under_way] * (step / steps[under_way])[:, None],
                lost[under_way], steps[under_way] == step, near is None, size,
            )  # fmt: skip
            lost[under_way] |= astray
        s = np.linalg.svd(equations(x)[1][..., passive], compute_uv=False)
        return x, lost, s[..., -1] < 1e-8 * s[..., 0]

    def _stepped(
        self, x: Array, target: Array, lost: Booleans, last: Booleans, predicted: bool, size: float
    ) -> tuple[Array, Booleans]:
        """Configurations x (k, N) with actuated joints at their targets, and which do not close; exact if ``last``."""
        m, equations = self.mechanism, self.kernel("loop_equations")
        passive, actuated = [i for group in m.passive for i in group], list(m.actuated)
        if predicted:  # along the path
            _, Phi = equations(x)
            x[:, passive] -= _least(
                Phi[..., passive], (Phi[..., actuated] @ (target - x[:, actuated])[..., None])[..., 0]
            )
        x[:, actuated] = target
        m.follow(x)
        for k in range(ROUNDS):
            residual, Phi = equations(x)
            error = np.abs(residual).max(-1, initial=0.0)
            open_still = ~((error < CLOSED * size) | lost) & (last | (k < ON_THE_WAY))
            if not open_still.any():
                break
            move = _least(Phi[..., passive], residual)
            move *= np.minimum(1.0, 0.5 / np.maximum(np.abs(move).max(-1, initial=0.0), 1e-300))[:, None]
            x[:, passive] -= np.where(open_still[:, None], move, 0.0)
        residual, Phi = equations(x)
        if last.any():  # one more iteration, for the last digits
            x[:, passive] -= np.where((last & ~lost)[:, None], _least(Phi[..., passive], residual), 0.0)
            residual, _ = equations(x)
        m.follow(x)  # joints that follow passive joints
        return x, ~(np.abs(residual).max(-1, initial=0.0) < np.where(last, 1e-10, 1e-2) * size)


def _least(A: Array, y: Array) -> Array:
    """The least-squares solutions of A x = y, one per state."""
    if A.shape[-1] == A.shape[-2]:
        try:
            return np.linalg.solve(A, y[..., None])[..., 0]
        except np.linalg.LinAlgError:  # for at least one state: solve the states separately
            x = _least_squares(A, y)
            fine = np.linalg.det(A) != 0
            x[fine] = np.linalg.solve(A[fine], y[fine][..., None])[..., 0]
            return x
    return _least_squares(A, y)


def _least_squares(A: Array, y: Array) -> Array:
    return (np.linalg.pinv(A, rcond=1e-12) @ y[..., None])[..., 0]


def _side_trouble(m: AnyMechanism, closure: Triangle, q: list[Any]) -> tuple[str, bool]:
    """(reason why the sides of a triangle do not meet, or empty; whether the triangle is degenerate)."""
    d2, r1, r2 = reach(m.tree, m.loops[closure.loop], closure, q)  # type: ignore[arg-type]
    d, a, b = (float(np.sqrt(x)) for x in (d2, r1, r2))
    slack = min(a + b - d, d - abs(a - b))
    flat = abs(slack) < 1e-12 * (a + b) or d < 1e-12 * (a + b)
    if slack < 0 and not flat:
        what = "too far apart" if d > a + b else "too near"
        return f"the ends to be joined by its links of {a:.4g} m and {b:.4g} m are {what} ({d:.4g} m)", False
    along = (d * d + a * a - b * b) / (2.0 * d)
    height = float(np.sqrt(max(0.0, a * a - along * along)))  # above side d
    return "", flat or height / max(a * b, 1e-300) * d < 2e-9


def _line_trouble(m: AnyMechanism, closure: Triangle, q: list[Any]) -> tuple[str, bool]:
    """(reason why the line of a prismatic joint does not meet its circle, or empty; whether it is tangent)."""
    past, r, size = line_reach(m.tree, m.loops[closure.loop], closure, q)  # type: ignore[arg-type]
    flat = abs(r - past) < 1e-12 * r or r < 2e-9 * size
    if r < past and not flat:
        return (
            f"the line of its prismatic joint is {past:.4g} m from a pivot, but the link reaches only {r:.4g} m",
            False,
        )
    return "", flat or float(np.sqrt(r * r - past * past)) < 2e-9 * r
