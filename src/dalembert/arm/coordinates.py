"""Poses and Jacobians of an arm; its coordinates q, and the joints of its tree, which follow from them: γ(q), Γ, Γ̇.

For an ordinary arm the two are the same. For closed chains and coupled joints, the tree has more joints than q has
entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm.compiled import Array, Compiled, Wrenches
from dalembert.arm.lazy import lazy
from dalembert.arm.quick import quick
from dalembert.base.arrays import DOUBLE, double
from dalembert.base.environment.cached_property import cached_property
from dalembert.compiler.foreign.libraries import TITLES, library_of
from dalembert.compiler.kernel.threads import checked_threads
from dalembert.compiler.quantities.machine import size_of
from dalembert.errors import ClosureError, ShapeError
from dalembert.robot.model.robot import Loop


def _sized(*shapes: str) -> Callable[[Compiled], list[tuple[int, ...]]]:
    """The shapes of an arm's arrays, from their letters: :func:`dalembert.compiler.quantities.machine.sizes_of`."""

    return lambda arm: [tuple(size_of(x, arm.sizes) for x in shape) for shape in shapes]


class Kinematics(Compiled):
    """Poses and Jacobians of an arm.

    ``frame`` is the name of a link, or "tip", which is the default. The frame of a link is the one defined in its robot
    file.
    """

    @quick
    def pose(self, q: ArrayLike, *, frame: str | None = None, threads: int | None = None) -> Array:
        """Pose of the tip, or of the frame of a link, in the base frame: (…, 4, 4) homogeneous matrices.

        >>> import dalembert as da
        >>> da.load("planar-2r").pose([0.0, 0.0], frame="link1")[:3, 3]
        array([1., 0., 0.])
        """
        return self.ending_at(frame)._run("pose", {"q": q}, threads=threads)

    @quick
    def link_poses(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """Poses of all link frames in the base frame: (…, n, 4, 4)."""
        return self._run("link_poses", {"q": q}, threads=threads)

    @quick
    def jacobian(self, q: ArrayLike, *, frame: str | None = None, threads: int | None = None) -> Array:
        """The geometric Jacobian of the tip, or of the frame of a link: (…, 6, n), linear rows first, in base axes."""
        return self.ending_at(frame)._run("jacobian", {"q": q}, threads=threads)

    @quick
    def jacobian_derivative(
        self, q: ArrayLike, qd: ArrayLike, *, frame: str | None = None, threads: int | None = None
    ) -> Array:
        """The time derivative of :meth:`jacobian`: (…, 6, n)."""
        return self.ending_at(frame)._run("jacobian_derivative", {"q": q, "qd": qd}, threads=threads)


class Coordinates(Compiled):
    """Positions of the joints of the tree, their dependence on q, and the reactions that close chains."""

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loop joints, at which closed chains are cut, as defined in the robot's file."""
        return self.robot.loops

    @property
    def loop_names(self) -> tuple[str, ...]:
        """The names of the loop joints."""
        return tuple(loop.name for loop in self.loops)

    @cached_property
    def passive_names(self) -> tuple[str, ...]:
        """The names of the passive joints of the tree, which have no motor: their positions follow from q."""
        held = set(self.joint_names)
        return tuple(joint.name for joint in self.robot.tree_joints if joint.name not in held)

    @property
    def closure_kinds(self) -> dict[str, str]:
        """The method by which each loop is closed: "linear", "triangle" (both compiled) or "newton"."""
        kinds = dict.fromkeys(self.loop_names, "newton")
        for closure in self.mechanism.closures:
            kinds |= dict.fromkeys((self.loop_names[k] for k in closure.loops), closure.kind)
        return kinds

    @lazy("q near", _sized("N"))
    def tree_positions(self, q: ArrayLike, near: ArrayLike | None = None) -> Array:
        """γ(q): the positions of all joints of the tree, (…, N); those of passive revolute joints lie between −π and π.

        near  (…, N) a closed pose of the tree nearby, from which Newton's method starts if the closure has no
              formula; by default it starts from the pose of the file's branch

        >>> import dalembert as da
        >>> da.load("parallelogram").tree_positions([0.2, 1.2]).round(3)
        array([0.2  , 1.   , 2.142, 1.2  ])
        """
        held = self._at_hand("q", q)
        positions = self.placing.positions(np.asarray(held, DOUBLE), None if near is None else double("near", near))
        return positions.astype(held.dtype)  # a copy: for an open arm they are q itself

    @lazy("q qd qdd", _sized("N", "N", "N"))
    def tree_motion(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, threads: int | None = None
    ) -> tuple[Array, Array, Array]:
        """(q, q̇, q̈) of all joints of the tree: (…, N) each."""
        if self.mechanism.identity:
            at, v, a = self._joined(threads, q=q, qd=qd, qdd=qdd)
            return at, v, a
        at = self._at_hand("q", q)
        v, a = self._run("tree_motion", {"q": q, "qd": qd, "qdd": qdd}, threads=threads)
        return np.broadcast_to(self.tree_positions(at), v.shape).astype(v.dtype), v, a

    @lazy("q", _sized("Nn"))
    def closure_jacobian(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """Γ = ∂γ/∂q: (…, N, n)."""
        if self.mechanism.identity:
            (at,) = self._joined(threads, q=q)
            return np.broadcast_to(np.eye(self.n, dtype=at.dtype), (*at.shape[:-1], self.n, self.n)).copy()
        return self._run("closure_jacobian", {"q": q}, threads=threads)

    @lazy("q qd", _sized("Nn"))
    def closure_derivative(self, q: ArrayLike, qd: ArrayLike, *, threads: int | None = None) -> Array:
        """Γ̇ along a motion: (…, N, n)."""
        if self.mechanism.identity:
            at, _ = self._joined(threads, q=q, qd=qd)
            return np.zeros((*at.shape[:-1], self.n, self.n), at.dtype)
        return self._run("closure_derivative", {"q": q, "qd": qd}, threads=threads)

    @lazy("q", _sized(""), bool)
    def closes(self, q: ArrayLike) -> NDArray[np.bool_]:
        """Whether the joints of the tree can follow q, that is, the loops can be closed and are not singular: (…)."""
        return self.placing.closes(np.asarray(self._at_hand("q", q), DOUBLE))

    def closing(self, rng: np.random.Generator, low: Array, high: Array, count: int) -> Array:
        """Random positions between two bounds at which the joints of the tree can follow q: (count, n)."""
        closed: list[Array] = []
        for _ in range(200):
            q = rng.uniform(low, high, (count, self.n))
            closed.append(q[self.closes(q)])
            if sum(map(len, closed)) >= count:
                return np.concatenate(closed)[:count]
        raise ClosureError(
            f"arm '{self.name}': its loops can be closed at hardly any position between these limits",
            "unreachable", self.loop_names[0],
        )  # fmt: skip

    @lazy("q", _sized("e"))
    def loop_residual(self, q: ArrayLike, *, threads: int | None = None) -> Array:
        """Closure error of the loops at γ(q): (…, equations), in m; zero except for rounding."""
        if not self.loops:
            (at,) = self._joined(threads, q=q)
            return np.zeros((*at.shape[:-1], 0), at.dtype)
        return self._run("loop_residual", {"q": q}, threads=threads)

    @lazy("q qd qdd tip_wrench base_motion", _sized("L6"))
    def loop_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        base_motion: ArrayLike | None = None,
        *,
        wrenches: Wrenches | None = None,
        threads: int | None = None,
    ) -> Array:
        """The reaction at every loop joint: (…, loops, 6), [f, μ] that link b exerts on link a, in base axes.

        The moment is about the loop's point. For a planar loop, only the force components in its plane are given: the
        loads that its bearings carry out of the plane are not determined by the motion and are set to 0. For other
        loops with more equations than passive joints, the reaction is the smallest one that produces the motion.
        """
        if not self.loops:
            at, _, _ = self._joined(threads, q=q, qd=qd, qdd=qdd)
            return np.zeros((*at.shape[:-1], 0, 6), at.dtype)
        options = {"tip_wrench": tip_wrench, "base_motion": base_motion, "wrenches": wrenches}
        return self._run("loop_wrenches", {"q": q, "qd": qd, "qdd": qdd}, options, threads=threads)

    def _joined(self, threads: int | None, **inputs: ArrayLike) -> list[Array]:
        """Inputs as new arrays of one shape and one type, for results that need no kernel."""
        checked_threads(threads)
        arrays = [self._at_hand(name, value) for name, value in inputs.items()]
        common = np.result_type(*arrays)
        return [x.astype(common) for x in np.broadcast_arrays(*arrays)]

    def _at_hand(self, name: str, value: ArrayLike) -> Any:
        """A checked argument; arrays of other libraries are refused, because no compiled kernel does this computation."""
        if (library := library_of(value)) is not None:
            raise ShapeError(
                f"{name} is {TITLES[library]}, but the positions of the tree of arm '{self.name}' are computed by NumPy: give a "
                "NumPy array"
            )
        return self.checked(name, value)
