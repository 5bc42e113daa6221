"""An arm in other generalized coordinates y, with q = f(y): S Problem 7.6.

With J = ∂f/∂y the kinetic energy gives B_y = Jᵀ B J, the virtual work τ_y = Jᵀ τ and g_y = Jᵀ g, and
C_y = Jᵀ (C J + B J̇). Where f is linear, J is a constant T and J̇ is zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arrays import double, real
from dalembert.equations.kinematics import frames
from dalembert.errors import DalembertError, ShapeError

if TYPE_CHECKING:
    import sympy

    from dalembert.arm import Arm
    from dalembert.symbols.present import Equations

Array = NDArray[np.floating[Any]]


def in_coordinates(arm: Arm, T: Any, offset: ArrayLike | None = None) -> ArmInCoordinates:
    """The arm in y, where q = T y + offset, T is "absolute", or T is a function y → q."""
    if callable(T) and not hasattr(T, "shape"):
        if offset is not None:
            raise DalembertError("a function y → q needs no offset: add it in the function")
        return MappedArm(arm, T)
    matrix = absolute_angles(arm) if isinstance(T, str) and T == "absolute" else T
    if isinstance(matrix, str):
        raise DalembertError(f"coordinates '{matrix}' are not known; the only name is 'absolute', else give a matrix T")
    numbers = double("T", matrix).copy()
    if numbers.shape != (arm.n, arm.n):
        raise ShapeError(
            f"T has shape {numbers.shape}; arm '{arm.name}' has {arm.n} joints, so it must be ({arm.n}, {arm.n})"
        )
    if not np.isfinite(numbers).all() or _dependent(numbers):
        raise DalembertError("T has no inverse: y would not say where every joint is")
    shift = np.zeros(arm.n) if offset is None else double("offset", offset)
    if shift.shape != (arm.n,):
        raise ShapeError(f"the offset has shape {shift.shape}; it must be ({arm.n},)")
    return LinearArm(arm, numbers, shift)


def _dependent(T: Array) -> bool:
    """Whether T has no inverse, whatever the units of q (its rows) and of y (its columns)."""
    for axis in (1, 0):
        lengths = np.linalg.norm(T, axis=axis, keepdims=True)
        T = T / np.where(lengths > 0, lengths, 1.0)
    return bool(np.linalg.matrix_rank(T) < len(T))


def absolute_angles(arm: Arm) -> Array:
    """T for y_i = the angle of link i with the base: q_i = ±(y_i − y of the link before).

    Of a closed chain, y are the angles of the links that its motors move: q_a = (T⁻¹ Γ)_a⁻¹ y with T of its tree.
    """
    closed, tree = arm.mechanism, arm.tree
    if tree is not arm:
        carried = any(k not in closed.actuated for i in closed.actuated for k in closed.tree.path(i))
        if carried and not closed.linear:
            raise DalembertError(
                f"absolute angles of arm '{arm.name}' are not linear in q, since its closure is not; give a function y → q"
            )
        Gamma = np.array(arm.closure_jacobian(arm.home), np.float64)
        angles = np.linalg.solve(np.array(absolute_angles(tree), np.float64), Gamma)
        return np.linalg.inv(angles[list(closed.actuated)])
    T = np.zeros((arm.n, arm.n))
    z = np.array(frames(arm.mechanism.tree, [0.0] * arm.n).z, dtype=np.float64)
    for i, body in enumerate(arm.mechanism.bodies):
        along = float(z[i] @ z[0])
        if not body.revolute or abs(abs(along) - 1.0) > 1e-9:
            why = "slides" if not body.revolute else "is not parallel to the first"
            raise DalembertError(
                f"absolute angles need parallel turning joints; joint '{body.name}' of '{arm.name}' {why}"
            )
        sign = 1.0 if along > 0 else -1.0
        T[i, i] = sign
        if body.parent >= 0:
            T[i, body.parent] = -sign
    return T


class ArmInCoordinates(ABC):
    """The arm's dynamics in y; arrays (…, n) broadcast as those of the Arm do.

    >>> import dalembert as da
    >>> arm = da.load("planar-2r").in_coordinates("absolute")
    >>> arm.inertia_matrix([0.0, 1.0]).round(3)
    array([[275.51 , -85.492],
           [-85.492, 122.5  ]])
    """

    def __init__(self, arm: Arm) -> None:
        self.arm, self.n = arm, arm.n

    def __repr__(self) -> str:
        return f"<{self.arm!r} in other coordinates>"

    @abstractmethod
    def joint_positions(self, y: ArrayLike) -> Array:
        """q of y."""

    @abstractmethod
    def jacobian(self, y: ArrayLike) -> Array:
        """J = ∂q/∂y: (…, n, n)."""

    @abstractmethod
    def jacobian_derivative(self, y: ArrayLike, yd: ArrayLike) -> Array:
        """J̇: (…, n, n)."""

    @abstractmethod
    def equations(self, parameters: str = "nonzero") -> Equations | MappedEquations:
        """B, C, g and τ in y, in closed form."""

    def _checked(self, name: str, y: ArrayLike) -> Array:
        array: Array = real(name, y)
        if array.ndim == 0 or array.shape[-1] != self.n:
            raise ShapeError(f"{name} has shape {array.shape}; its last axis must be {self.n}")
        return array

    def joint_velocities(self, y: ArrayLike, yd: ArrayLike) -> Array:
        """q̇ = J ẏ."""
        return _apply(self.jacobian(y), self._checked("yd", yd))

    def joint_accelerations(self, y: ArrayLike, yd: ArrayLike, ydd: ArrayLike) -> Array:
        """q̈ = J ÿ + J̇ ẏ."""
        v, a = self._checked("yd", yd), self._checked("ydd", ydd)
        return _apply(self.jacobian(y), a) + _apply(self.jacobian_derivative(y, v), v)

    def inverse_dynamics(
        self, y: ArrayLike, yd: ArrayLike, ydd: ArrayLike, tip_wrench: ArrayLike | None = None
    ) -> Array:
        """The generalized forces τ_y = Jᵀ τ that go with y: (…, n)."""
        q, qd, qdd = self.joint_positions(y), self.joint_velocities(y, yd), self.joint_accelerations(y, yd, ydd)
        return _apply_transposed(self.jacobian(y), self.arm.inverse_dynamics(q, qd, qdd, tip_wrench))

    def forward_dynamics(self, y: ArrayLike, yd: ArrayLike, tau: ArrayLike) -> Array:
        """ÿ under generalized forces τ_y: (…, n)."""
        self.arm._needs_inertia()
        at_rest = np.zeros(self.n)
        left = self._checked("tau", tau) - self.inverse_dynamics(y, yd, at_rest)
        return np.linalg.solve(self.inertia_matrix(y), left[..., None])[..., 0]

    def inertia_matrix(self, y: ArrayLike) -> Array:
        """B_y = Jᵀ B J: (…, n, n)."""
        J = self.jacobian(y)
        return np.swapaxes(J, -1, -2) @ self.arm.inertia_matrix(self.joint_positions(y)) @ J

    def coriolis_matrix(self, y: ArrayLike, yd: ArrayLike) -> Array:
        """C_y = Jᵀ (C J + B J̇): (…, n, n)."""
        q, J, Jd = self.joint_positions(y), self.jacobian(y), self.jacobian_derivative(y, yd)
        C = self.arm.coriolis_matrix(q, self.joint_velocities(y, yd))
        return np.swapaxes(J, -1, -2) @ (C @ J + self.arm.inertia_matrix(q) @ Jd)

    def gravity_torque(self, y: ArrayLike) -> Array:
        """g_y = Jᵀ g: (…, n)."""
        return _apply_transposed(self.jacobian(y), self.arm.gravity_torque(self.joint_positions(y)))


def _apply(A: Array, x: Array) -> Array:
    return np.einsum("...ij,...j->...i", A, x)


def _apply_transposed(A: Array, x: Array) -> Array:
    return np.einsum("...ij,...i->...j", A, x)


class LinearArm(ArmInCoordinates):
    """q = T y + offset."""

    def __init__(self, arm: Arm, T: Array, offset: Array) -> None:
        super().__init__(arm)
        self.T, self.offset = T, offset

    def joint_positions(self, y: ArrayLike) -> Array:
        """q = T y + offset."""
        return self._checked("y", y) @ self.T.T + self.offset

    def jacobian(self, y: ArrayLike) -> Array:
        """T, for every state."""
        return np.broadcast_to(self.T, (*self._checked("y", y).shape[:-1], self.n, self.n))

    def jacobian_derivative(self, y: ArrayLike, yd: ArrayLike) -> Array:
        """Zero."""
        return np.zeros(
            (*np.broadcast_shapes(self._checked("y", y).shape, self._checked("yd", yd).shape)[:-1], self.n, self.n)
        )

    def equations(self, parameters: str = "nonzero") -> Equations:
        """B_y = Tᵀ B T, C_y = Tᵀ C T, g_y = Tᵀ g in closed form; ϑ_i and d_i are the new coordinates."""
        from dalembert.symbols.mapped import transformed
        from dalembert.symbols.present import Equations

        form = self.arm.equations(parameters).form
        return Equations(self.arm.name, transformed(form, self.T.tolist(), self.offset.tolist()))


class MappedArm(ArmInCoordinates):
    """q = f(y) for a function that runs on SymPy symbols."""

    def __init__(self, arm: Arm, f: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        import sympy

        super().__init__(arm)
        n = arm.n
        self.y = sympy.Matrix(sympy.symbols(f"y_1:{n + 1}"))
        self.yd = sympy.Matrix(sympy.symbols(f"ydot_1:{n + 1}"))
        self.ydd = sympy.Matrix(sympy.symbols(f"yddot_1:{n + 1}"))
        self.q = sympy.Matrix(list(f(list(self.y))))
        if self.q.shape != (n, 1):
            raise ShapeError(f"the function gives {self.q.shape[0]} joint positions; arm '{arm.name}' has {n} joints")
        self.J = self.q.jacobian(self.y)
        self.Jd = sum((self.J.diff(v) * r for v, r in zip(self.y, self.yd, strict=True)), sympy.zeros(n, n))
        self._functions = {
            name: sympy.lambdify([*self.y, *self.yd], list(M), "numpy")
            for name, M in (("q", self.q), ("J", self.J), ("Jd", self.Jd))
        }

    def _numbers(self, name: str, y: ArrayLike, yd: ArrayLike, shape: tuple[int, ...]) -> Array:
        y, yd = np.broadcast_arrays(self._checked("y", y), self._checked("yd", yd))
        values = self._functions[name](*np.moveaxis(y, -1, 0), *np.moveaxis(yd, -1, 0))
        stacked = np.stack([np.broadcast_to(np.asarray(v, float), y.shape[:-1]) for v in values], -1)
        return stacked.reshape(*y.shape[:-1], *shape)

    def joint_positions(self, y: ArrayLike) -> Array:
        """q = f(y)."""
        return self._numbers("q", y, np.zeros(self.n), (self.n,))

    def jacobian(self, y: ArrayLike) -> Array:
        """∂f/∂y."""
        return self._numbers("J", y, np.zeros(self.n), (self.n, self.n))

    def jacobian_derivative(self, y: ArrayLike, yd: ArrayLike) -> Array:
        """Its time derivative."""
        return self._numbers("Jd", y, yd, (self.n, self.n))

    def equations(self, parameters: str = "nonzero") -> MappedEquations:
        """The closed form with q = f(y) put in; SymPy's own way of writing."""
        return MappedEquations(self, self.arm.equations(parameters))


class MappedEquations:
    """B, C, g, tau as SymPy matrices in y_i, ydot_i, yddot_i; ``parameters`` as in Equations."""

    def __init__(self, mapped: MappedArm, e: Equations) -> None:
        import sympy

        J, Jd, v = mapped.J, mapped.Jd, mapped.J * mapped.yd
        put = {**dict(zip(e.q, mapped.q, strict=True)), **dict(zip(e.qd, v, strict=True))}

        def changed(M: Any) -> Any:
            return sympy.Matrix(e.with_angles(M)).subs(put, simultaneous=True)

        B, C = changed(e.B), changed(e.C)
        self.q, self.qd, self.qdd, self.parameters = mapped.y, mapped.yd, mapped.ydd, e.parameters
        self.B: sympy.Matrix = J.T * B * J
        self.C: sympy.Matrix = J.T * (C * J + B * Jd)
        self.g: sympy.Matrix = J.T * changed(e.g)
        self.tau: sympy.Matrix = self.B * self.qdd + self.C * self.qd + self.g + J.T * changed(e.friction)

    def latex(self) -> str:
        """The equations as a LaTeX ``align*``."""
        import sympy

        rows = [rf"\tau_{{{i}}} &= {sympy.latex(x)}" for i, x in enumerate(self.tau, 1)]
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"
