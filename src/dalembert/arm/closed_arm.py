"""Arms with closed chains: what an :class:`Arm` can do, on the actuated joints, S 7.3.3.

Where the closure has a formula (parallelograms, four-bars, five-bars, slider-cranks) it is compiled with everything
else. Otherwise the passive joints are found by Newton's method first, following the branch from the
pose that the robot's file names, and the compiled kernels take the joints of the whole tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arrays import DOUBLE, double
from dalembert.coordinates.closure import CoupledMechanism, Linear, Triangle, line_reach, reach
from dalembert.coordinates.loops import rows_of, size_of
from dalembert.equations.factorisation import inertia_bounds, unresisted
from dalembert.errors import ClosureError, DalembertError, ShapeError

if TYPE_CHECKING:
    from dalembert.symbols.present import Equations

Array = NDArray[np.floating[Any]]
STRIDE = 0.15  # rad or m of an actuated joint between two poses of the way from the branch's pose
ROUNDS = 12
CLOSED = 1e-12  # residual beside the size of the loop


class ClosedArm(Arm):
    """An arm some of whose links are joined again. ``q`` is that of the actuated joints.

    >>> import dalembert as da
    >>> arm = da.load("parallelogram")
    >>> arm.joint_names, arm.passive_names
    (("joint1'", "joint1''"), ("joint2'", "joint3'"))
    >>> arm.tree_positions([0.2, 1.2]).round(3)
    array([0.2  , 1.   , 2.142, 1.2  ])
    """

    # -- what it is ------------------------------------------------------------------------------

    @property
    def closed(self) -> CoupledMechanism:
        """:attr:`mechanism` by its type."""
        return self.mechanism  # type: ignore[return-value]

    @cached_property
    def tree(self) -> Arm:
        """The open arm that is left when the loops are cut: its q is that of all joints."""
        return Arm(self.robot.replace(loops=()))

    @property
    def passive_names(self) -> tuple[str, ...]:
        """The joints that no motor moves: their positions follow from q."""
        passive = {name for loop in self.robot.loops for name in loop.passive}
        return tuple(joint.name for joint in self.robot.tree_joints if joint.name in passive)

    @property
    def loop_names(self) -> tuple[str, ...]:
        """The joints at which the closed chains are cut."""
        return tuple(loop.name for loop in self.robot.loops)

    @property
    def closure_kinds(self) -> dict[str, str]:
        """For every loop, how it is closed: "linear", "triangle" (both compiled) or "newton"."""
        kinds = dict.fromkeys(self.loop_names, "newton")
        for closure in self.closed.closures:
            for k in closure.loops:
                kinds[self.loop_names[k]] = "linear" if isinstance(closure, Linear) else "triangle"
        return kinds

    def __repr__(self) -> str:
        loops = len(self.robot.loops)
        joints, chains = "joint" + "s" * (self.n != 1), "closed chain" + "s" * (loops != 1)
        return f"<Arm {self.name!r}: {self.n} actuated {joints}, {loops} {chains}>"

    # -- the closure -----------------------------------------------------------------------------

    def tree_positions(self, q: ArrayLike, near: ArrayLike | None = None) -> Array:
        """γ(q): the positions of all joints of the tree, (…, N), those that turn between −π and π.

        near  (…, N) a closed pose of the tree nearby, from which Newton's method goes on where the
              closure has no formula; without it, from the pose of the file's branch
        """
        given = self._checked("q", q)
        q = np.asarray(given, DOUBLE)
        m = self.closed
        if m.by_newton:
            return self._newton(q, near).astype(given.dtype, copy=False)
        with np.errstate(invalid="ignore", divide="ignore"):
            c, s = self.kernel("closure")(q)
        self._diagnose(q, c, s)
        out = np.array(c, dtype=float)
        for i in (i for group in m.passive for i in group):
            if m.tree.bodies[i].revolute:
                out[..., i] = np.arctan2(s[..., i], c[..., i])
        return out.astype(given.dtype, copy=False)

    def closes(self, q: ArrayLike) -> NDArray[np.bool_]:
        """Whether the loops can be closed at q, and are not singular there: (…)."""
        q = np.asarray(self._checked("q", q), dtype=float)
        if self.closed.by_newton:
            _, lost, flat = self._followed(q.reshape(-1, self.n), None)
            return ~(lost | flat).reshape(q.shape[:-1])
        with np.errstate(invalid="ignore", divide="ignore"):
            Gamma = self.kernel("closure_jacobian")(q)
        return np.isfinite(Gamma).all(axis=(-2, -1))

    def closing(self, rng: np.random.Generator, low: Array, high: Array, count: int) -> Array:
        """Random positions between two bounds at which the loops can be closed: (count, n)."""
        kept: list[Array] = []
        for _ in range(200):
            q = rng.uniform(low, high, (count, self.n))
            kept.append(q[self.closes(q)])
            if sum(map(len, kept)) >= count:
                return np.concatenate(kept)[:count]
        raise ClosureError(
            f"arm '{self.name}': its loops can be closed almost nowhere between these limits",
            "unreachable", self.loop_names[0],
        )  # fmt: skip

    def tree_motion(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array, Array]:
        """(q, q̇, q̈) of all joints of the tree: (…, N) each."""
        v, a = self._run("tree_motion", {"q": q, "qd": qd, "qdd": qdd})
        return np.broadcast_to(self.tree_positions(q), v.shape).astype(v.dtype), v, a

    def closure_jacobian(self, q: ArrayLike) -> Array:
        """Γ = ∂γ/∂q: (…, N, n)."""
        return self._run("closure_jacobian", {"q": q})

    def closure_derivative(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Γ̇ along a motion: (…, N, n)."""
        return self._run("closure_derivative", {"q": q, "qd": qd})

    def loop_residual(self, q: ArrayLike) -> Array:
        """How far the loops are from being closed at γ(q): (…, equations), m; zero but for rounding."""
        return self._run("loop_residual", {"q": q})

    def loop_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        base_motion: ArrayLike | None = None,
    ) -> Array:
        """The reaction at every cut: (…, loops, 6), [f, μ] that link b exerts on link a, in base axes.

        At the loop's point. Of a planar loop these are the components of the force in its plane: what its
        bearings carry across the plane is not determined by the motion and is given as 0. Of other loops
        that have more equations than passive joints, it is the least reaction that makes the motion.
        """
        return self._run(
            "loop_wrenches", {"q": q, "qd": qd, "qdd": qdd}, {"tip_wrench": tip_wrench, "base_motion": base_motion}
        )

    def friction_torque(self, qd: ArrayLike, q: ArrayLike | None = None) -> Array:
        """Γᵀ(F_v q̇ + F_s sgn(q̇)): (…, n). Passive joints rub too, so where Γ is not constant q is needed."""
        if q is None:
            rubs = any(
                self.closed.tree.bodies[i].viscous or any(self.closed.tree.bodies[i].coulomb)
                for group in self.closed.passive
                for i in group
            )
            if rubs and not self.closed.linear:
                raise DalembertError(
                    f"the friction of arm '{self.name}' depends on where it stands, since passive joints rub: "
                    "give friction_torque(qd, q)"
                )
            return super().friction_torque(qd)
        placed = self._placed(q)
        return super()._run("friction_torque", {"qd": qd}, {"q": _Tree(placed)})

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters, of all links of the tree: ``m_1``, ``mx_1``, …, with the joint's number."""
        return self.tree.parameter_names

    @property
    def parameters(self) -> Array:
        """π of S (7.81) of all links of the tree: (13 N,)."""
        return self.tree.parameters

    def equations(self, parameters: str = "nonzero", progress: Any = None) -> Equations:
        """B_a, C_a, g_a and τ_a in closed form, where the closure is linear: S 7.3.3's parallelogram.

        >>> import dalembert as da
        >>> da.load("parallelogram").equations().text("g2")
        "g_2 = (m_ℓ2' ℓ_2' + m_ℓ3' a_1'' + m_ℓ1'' ℓ_1'') g c_1''"
        """
        from dalembert.symbols.closed_chain import closed_equations

        if not self.closed.linear:
            raise DalembertError(
                f"arm '{self.name}' has no closed form: its closure is not linear in q (it is for parallelograms); "
                "the equations of the tree are those of arm.tree.equations()"
            )
        return closed_equations(self.robot, self.closed, parameters, progress)

    @cached_property
    def _home(self) -> Array:
        """The actuated joints in the pose that the branches name: (n,)."""
        return np.array([self.closed.pose[i] for i in self.closed.actuated])

    @cached_property
    def _inert(self) -> list[str]:
        suspects: set[int] | None = None
        for shift in (0.0, 0.11, -0.17):
            q = self._home + shift * np.sqrt(np.arange(2, 2 + self.n))
            try:
                tree_q, Gamma, B = self.tree_positions(q), self.closure_jacobian(q), self.inertia_matrix(q)
            except ClosureError:
                continue
            bounds = np.array(inertia_bounds(self.closed.tree, tree_q.tolist())) @ Gamma**2
            weak = unresisted(B.tolist(), bounds.tolist())
            suspects = weak if suspects is None else suspects & weak
        return [self.joint_names[k] for k in sorted(suspects or ())]

    # -- running ---------------------------------------------------------------------------------

    def _run(
        self,
        quantity: str,
        inputs: dict[str, Any],
        options: dict[str, Any] | None = None,
        formulation: str | None = None,
        out: Array | None = None,
    ) -> Array:
        q = None
        if self.closed.by_newton and "q" in inputs:
            inputs = {name: self._checked(name, value) for name, value in inputs.items()}
            q = np.asarray(inputs["q"], DOUBLE)
            dtype = np.result_type(*inputs.values())  # one float64 among them is no reason to round the tree's joints
            inputs["q"] = _Tree(self._newton(q, None).astype(dtype, copy=False))
        with np.errstate(invalid="ignore", divide="ignore"):  # named below
            result = super()._run(quantity, inputs, options, formulation, out)
        if self.closed.linear and quantity not in ("loop_wrenches", "joint_wrenches"):
            return result
        self._diagnose(inputs["q"] if q is None else q, *(result if isinstance(result, tuple) else (result,)))
        return result

    def _checked(self, name: str, value: Any) -> Any:
        if isinstance(value, _Tree):
            return value.q
        if name == "q":
            name = "qd"  # what a user gives is always that of the actuated joints
            try:
                return super()._checked(name, value)
            except ShapeError as problem:
                raise ShapeError(str(problem).replace("qd ", "q ", 1)) from None
        return super()._checked(name, value)

    def _placed(self, q: ArrayLike) -> Any:
        """q as kernels take it, of all joints where Newton closes the loops; an error where they cannot be closed."""
        given = self._checked("q", q)
        if self.closed.by_newton:
            return self._newton(np.asarray(given, DOUBLE), None).astype(given.dtype, copy=False)
        if not self.closed.linear and not (closed := self.closes(given)).all():
            index = tuple(int(k) for k in np.argwhere(~closed)[0])
            self._check_closure(np.asarray(given, DOUBLE)[index], index)
        return given

    def _diagnose(self, q: Any, *results: Any) -> None:
        """A named error for the first state whose result is not finite, because of its closure."""
        if all(np.isfinite(x).all() for x in results if isinstance(x, np.ndarray) or np.isscalar(x)):
            return
        q = np.asarray(q, dtype=float)
        for index in np.ndindex(*q.shape[:-1]):
            if not np.all(np.isfinite(q[index])):
                return  # not a number in, not a number out
            self._check_closure(q[index], index)
        for index in np.ndindex(*q.shape[:-1]):
            flat = self._loosest(q[index])
            if flat is not None:
                raise ClosureError(
                    f"loop '{flat}' of arm '{self.name}' is singular at q = {_shown(q[index])}{_which(index)}: its links lie "
                    "so that the motion does not determine the force at its cut",
                    "singular", flat, index,
                )  # fmt: skip

    def _loosest(self, q: Array) -> str | None:
        """The loop whose passive joints cannot be told apart by what they do at its cut."""
        m = self.closed
        tree_q = self.tree_positions(q) if not m.by_newton else self._newton(q, None)
        _, Phi = self.kernel("loop_equations")(tree_q)
        at = 0
        for loop, passive in zip(m.loops, m.passive, strict=True):
            rows = rows_of(loop)
            part = Phi[at : at + rows][:, list(passive)]
            at += rows
            s = np.linalg.svd(part, compute_uv=False)
            if s[-1] < 1e-8 * s[0]:
                return loop.ends.name
        return None

    def _check_closure(self, q: Array, index: tuple[int, ...]) -> None:
        """An error where a triangle of the closure cannot be closed, or is flat."""
        from dalembert.coordinates.chain import Chain

        m = self.closed
        if m.linear or m.by_newton:
            return
        chain = object.__new__(Chain)
        chain.closed, chain.tree, chain.N, chain.n = m, m.tree, m.tree.n, m.n
        chain.q = [0.0] * m.tree.n
        for i, x in zip(m.actuated, q.tolist(), strict=True):
            chain.q[i] = x
        for closure in m.closures:
            if isinstance(closure, Triangle):
                name = m.loops[closure.loop].ends.name
                where = f"at q = {_shown(q)}{_which(index)}"
                apart, singular = (_line_trouble if closure.slides else _side_trouble)(m, closure, chain.q)
                if apart:
                    raise ClosureError(
                        f"loop '{name}' of arm '{self.name}' cannot be closed {where}: {apart}",
                        "unreachable", name, index,
                    )  # fmt: skip
                if singular:
                    raise ClosureError(
                        f"loop '{name}' of arm '{self.name}' is singular {where}: {closure.singular}, and its "
                        "actuated joints do not say how the passive ones move",
                        "singular", name, index,
                    )  # fmt: skip
            chain._place(closure)

    # -- Newton ----------------------------------------------------------------------------------

    def _newton(self, q: Array, near: ArrayLike | None) -> Array:
        """γ(q) by Newton, or an error that names the first state without one."""
        shape, N = q.shape[:-1], self.closed.tree.n
        goal = q.reshape(-1, self.n)
        if near is not None:
            near = double("near", near)
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
            (lost, "unreachable", "cannot be closed"),
            (flat & ~lost, "singular", "is singular"),
        ):
            if bad.any():
                k = int(np.argmax(bad))
                index = tuple(int(i) for i in np.unravel_index(k, shape)) if shape else ()
                name = self.loop_names[0]
                tail = (
                    "Newton's method finds no position of its passive joints on this branch"
                    if kind == "unreachable"
                    else "its actuated joints do not say how the passive ones move"
                )
                raise ClosureError(
                    f"loop '{name}' of arm '{self.name}' {why} at q = {_shown(goal[k])}{_which(index)}: {tail}",
                    kind, name, index,
                )  # fmt: skip
        return x.reshape(*shape, N)

    def _followed(self, goal: Array, near: Array | None) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
        """γ (…, N) by Newton along a straight way from the branch's pose, or from poses nearby; lost; singular.

        All states (…, n) at once.
        """
        m = self.closed
        passive = [i for group in m.passive for i in group]
        actuated = list(m.actuated)
        if not np.isfinite(goal).all():
            raise ShapeError("q holds a value that is not a finite number, so no loop can be closed there")
        x = np.empty((len(goal), m.tree.n))
        if near is None:
            x[:] = m.pose
            steps = max(1, int(np.ceil(np.abs(goal - x[:, actuated]).max(initial=0.0) / STRIDE)))
        else:
            x[:] = near
            steps = 1
        start = x[:, actuated].copy()
        size = size_of(m.tree, m.loops, m.pose)
        equations = self.kernel("loop_equations")
        lost = np.zeros(len(goal), bool)
        for step in range(1, steps + 1):
            there = start + (goal - start) * (step / steps)
            if near is None and len(goal):  # predict along the way
                _, Phi = equations(x)
                x[:, passive] -= _least(
                    Phi[..., passive], (Phi[..., actuated] @ (there - x[:, actuated])[..., None])[..., 0]
                )
            x[:, actuated] = there
            rounds = ROUNDS if step == steps else 4
            for _ in range(rounds):
                residual, Phi = equations(x)
                error = np.abs(residual).max(-1, initial=0.0)
                if np.all((error < CLOSED * size) | lost):
                    break
                move = _least(Phi[..., passive], residual)
                move *= np.minimum(1.0, 0.5 / np.maximum(np.abs(move).max(-1, initial=0.0), 1e-300))[:, None]
                x[:, passive] -= np.where(lost[:, None], 0.0, move)
            residual, Phi = equations(x)
            if step == steps:  # once more, for the last digits
                x[:, passive] -= np.where(lost[:, None], 0.0, _least(Phi[..., passive], residual))
                residual, Phi = equations(x)
            lost |= ~(np.abs(residual).max(-1, initial=0.0) < (1e-10 if step == steps else 1e-2) * size)
        s = np.linalg.svd(Phi[..., passive], compute_uv=False)
        return x, lost, s[..., -1] < 1e-8 * s[..., 0]


class _Tree:
    """A position of the whole tree, on its way to a kernel."""

    def __init__(self, q: Array) -> None:
        self.q = q


def _least(A: Array, y: Array) -> Array:
    """The least-squares solutions of A x = y, one for each state."""
    if A.shape[-1] == A.shape[-2]:
        try:
            return np.linalg.solve(A, y[..., None])[..., 0]
        except np.linalg.LinAlgError:
            pass
    return (np.linalg.pinv(A, rcond=1e-12) @ y[..., None])[..., 0]


def _side_trouble(m: CoupledMechanism, closure: Triangle, q: list[Any]) -> tuple[str, bool]:
    """(why the sides of a triangle do not meet, or nothing; whether it is flat)."""
    d2, r1, r2 = reach(m.tree, m.loops[closure.loop], closure, q)  # type: ignore[arg-type]
    d, a, b = (float(np.sqrt(x)) for x in (d2, r1, r2))
    slack = min(a + b - d, d - abs(a - b))
    flat = abs(slack) < 1e-12 * (a + b) or d < 1e-12 * (a + b)
    if slack < 0 and not flat:
        what = "too far apart" if d > a + b else "too near"
        return f"the ends that its links of {a:.4g} m and {b:.4g} m are to join are {what} ({d:.4g} m)", False
    return "", flat or _height(d, a, b) / max(a * b, 1e-300) * d < 2e-9


def _line_trouble(m: CoupledMechanism, closure: Triangle, q: list[Any]) -> tuple[str, bool]:
    """(why the line of a slide does not meet its circle, or nothing; whether it touches it)."""
    past, r, size = line_reach(m.tree, m.loops[closure.loop], closure, q)  # type: ignore[arg-type]
    flat = abs(r - past) < 1e-12 * r or r < 2e-9 * size
    if r < past and not flat:
        return f"its slide passes {past:.4g} m from the pivot that it is to be {r:.4g} m away from", False
    return "", flat or float(np.sqrt(r * r - past * past)) < 2e-9 * r


def _height(d: float, a: float, b: float) -> float:
    """The height over side d of a triangle with sides d, a, b."""
    along = (d * d + a * a - b * b) / (2.0 * d)
    return float(np.sqrt(max(0.0, a * a - along * along)))


def _shown(q: Array) -> str:
    return "(" + ", ".join(f"{x:.6g}" for x in np.asarray(q).tolist()) + ")"


def _which(index: tuple[int, ...]) -> str:
    return f" (state {', '.join(map(str, index))} of the batch)" if index else ""


def with_loops(arm: Arm, loops: Sequence[Any], passive: Mapping[str, Sequence[str]] | None = None) -> Arm:
    """The arm with further loops."""
    from dalembert.robot.loops import loop_of

    return Arm(arm.robot.replace(loops=(*arm.robot.loops, *(loop_of(one) for one in loops))))
