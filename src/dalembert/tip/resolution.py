"""Inverse dynamics of a motion of the tip, S 7.8: redundancy resolved kinematically or dynamically.

Between the instants the motion is the quintic with their values and derivatives. The joints are
integrated (Runge–Kutta 4) and, at every instant, put exactly onto the motion by Newton steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arrays import double
from dalembert.errors import DalembertError, ShapeError, SingularityError
from dalembert.trajectory.splines import Quintics

if TYPE_CHECKING:
    from dalembert.tip.operational import OperationalSpace

Array = NDArray[np.floating[Any]]
NEWTON = 12  # steps at most
ON_PATH = 1e-11  # m or rad
LONGEST = 0.05  # rad or m that a joint moves in one step of the integration


@dataclass(frozen=True, eq=False)
class OperationalMotion:
    """A motion of the joints that makes the tip move as asked, and its torques: t (N,), the rest (N, n)."""

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array


def follow(
    op: OperationalSpace,
    t: ArrayLike,
    x: ArrayLike,
    xd: ArrayLike,
    xdd: ArrayLike,
    q0: ArrayLike,
    qd0: ArrayLike | None,
    wrench: ArrayLike | None,
    resolution: str,
    tau0: Callable[[float, Array, Array], ArrayLike] | None,
) -> OperationalMotion:
    """See :meth:`OperationalSpace.follow`."""
    if resolution not in ("kinematic", "dynamic"):
        raise DalembertError(f"resolution is '{resolution}'; it is 'kinematic' or 'dynamic'")
    if tau0 is not None and resolution == "kinematic":
        raise DalembertError("tau0 moves redundant joints by torques; it needs resolution='dynamic'")
    instants, path = _path(op, t, x, xd, xdd)
    N, n = len(instants), op.arm.n
    h = np.broadcast_to(np.zeros(6) if wrench is None else op.arm.checked("tip_wrench", wrench), (N, 6))
    q, v = np.empty((N, n)), np.empty((N, n))
    kinematic = resolution == "kinematic"
    at: Array = np.array(op.arm.checked("q", q0), float)
    moving = np.zeros(n) if qd0 is None else np.array(op.arm.checked("qd", qd0), float)
    for k in range(N):
        try:
            if k:
                step = _kinematic_step if kinematic else _dynamic_step
                at, moving = step(op, path, float(instants[k - 1]), float(instants[k]), at, moving, h[k - 1], tau0)
            at, moving = _onto(op, path, float(instants[k]), at, moving, kinematic)
        except SingularityError as error:
            raise SingularityError(f"at t = {instants[k]:.6g} s: {error}", error.kind, (k,), error.value) from None
        q[k], v[k] = at, moving
    wanted = path(instants)[2]
    if kinematic:
        qdd = _kinematic_acceleration(op, q, v, wanted)
        return OperationalMotion(instants, q, v, qdd, op.arm.inverse_dynamics(q, v, qdd, tip_wrench=op._at_tip(q, h)))
    free = None if tau0 is None else np.array([tau0(float(s), a, b) for s, a, b in zip(instants, q, v, strict=True)])
    tau = op.torque(q, v, wanted, h, free)
    return OperationalMotion(instants, q, v, op.arm.forward_dynamics(q, v, tau, op._at_tip(q, h)), tau)


def _path(op: OperationalSpace, t: ArrayLike, *motion: ArrayLike) -> tuple[Array, Quintics]:
    instants = double("t", t)
    if instants.ndim != 1 or len(instants) < 2 or not (np.diff(instants) > 0).all():
        raise ShapeError(f"t has shape {instants.shape}; it needs two or more instants (N,), each after the one before")
    arrays = []
    for name, value in zip(("x", "xd", "xdd"), motion, strict=True):
        array = double(name, value)
        if array.shape != (len(instants), op.m):
            raise ShapeError(
                f"{name} has shape {array.shape}; {len(instants)} instants of the rows {', '.join(op.rows)} "
                f"are ({len(instants)}, {op.m})"
            )
        arrays.append(array)
    # angles may be given in (−π, π]; between instants they must not jump
    arrays[0] = arrays[0][0] + np.concatenate(
        [np.zeros((1, op.m)), np.cumsum(op.difference(arrays[0][1:], arrays[0][:-1]), axis=0)]
    ) if op.orientation != "geometric" else arrays[0]  # fmt: skip
    return instants, Quintics(instants, *arrays)


def _wanted(path: Quintics, t: float) -> tuple[Array, Array, Array]:
    x, xd, xdd = path(np.array([t]))
    return x[0], xd[0], xdd[0]


def _steps(t0: float, t1: float, moving: Array) -> int:
    return 1 + int(np.abs(moving).max() * (t1 - t0) / LONGEST)


def _pseudo_inverse(J: Array) -> Array:
    return np.linalg.pinv(J)


def _kinematic_step(
    op: OperationalSpace, path: Quintics, t0: float, t1: float, q: Array, qd: Array, h_e: Array, tau0: Any
) -> tuple[Array, Array]:
    """q̇ = J_A⁺ ẋ over one interval."""

    def rate(t: float, q: Array) -> Array:
        return _pseudo_inverse(op.jacobian(q)) @ _wanted(path, t)[1]

    count = _steps(t0, t1, qd)
    dt = (t1 - t0) / count
    for k in range(count):
        t = t0 + k * dt
        k1 = rate(t, q)
        k2 = rate(t + dt / 2, q + dt / 2 * k1)
        k3 = rate(t + dt / 2, q + dt / 2 * k2)
        k4 = rate(t + dt, q + dt * k3)
        q = q + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return q, qd


def _dynamic_step(
    op: OperationalSpace, path: Quintics, t0: float, t1: float, q: Array, qd: Array, h_e: Array, tau0: Any
) -> tuple[Array, Array]:
    """q̈ of the torques (7.141) over one interval."""
    contact = h_e.any()

    def acceleration(t: float, q: Array, qd: Array) -> Array:
        free = None if tau0 is None else np.asarray(tau0(t, q, qd), float)
        tau = op.torque(q, qd, _wanted(path, t)[2], h_e if contact else None, free)
        return op.arm.forward_dynamics(q, qd, tau, op._at_tip(q, h_e) if contact else None)

    count = _steps(t0, t1, qd)
    dt = (t1 - t0) / count
    for k in range(count):
        t = t0 + k * dt
        a1 = acceleration(t, q, qd)
        v2 = qd + dt / 2 * a1
        a2 = acceleration(t + dt / 2, q + dt / 2 * qd, v2)
        v3 = qd + dt / 2 * a2
        a3 = acceleration(t + dt / 2, q + dt / 2 * v2, v3)
        v4 = qd + dt * a3
        a4 = acceleration(t + dt, q + dt * v3, v4)
        q = q + dt / 6 * (qd + 2 * v2 + 2 * v3 + v4)
        qd = qd + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return q, qd


def _onto(op: OperationalSpace, path: Quintics, t: float, q: Array, qd: Array, kinematic: bool) -> tuple[Array, Array]:
    """Newton steps until the tip is where it should be; then q̇ with the tip's velocity as it should be."""
    x, xd, _ = _wanted(path, t)

    def inverse(q: Array) -> Array:
        return _pseudo_inverse(op.jacobian(q)) if kinematic else op.inverse_jacobian(q)

    op.inverse_jacobian(q)  # says so where the arm is singular
    last = np.inf
    for _ in range(NEWTON):
        error = op.difference(x, op.pose(q))
        size = float(np.abs(error).max())
        if size < ON_PATH or (size >= last and size < 1e-8):
            break
        last = size
        q = q + inverse(q) @ error
    else:
        raise DalembertError(
            f"arm '{op.arm.name}' does not get its tip to the motion at t = {t:.6g} s: {last:.3g} m or rad are left; "
            "begin nearer to it (q0), or stay within reach"
        )
    if kinematic:
        return q, inverse(q) @ xd
    return q, qd + inverse(q) @ (xd - op.velocity(q, qd))


def _kinematic_acceleration(op: OperationalSpace, q: Array, qd: Array, xdd: Array) -> Array:
    """q̈ of q̇ = J⁺ẋ: J⁺ (ẍ − J̇ q̇) + (1 − J⁺ J) J̇ᵀ J⁺ᵀ q̇; the last term is J⁺ changing."""
    changing = np.zeros_like(q)
    if op.redundant:
        Jd = op.jacobian_derivative(q, qd)
        inverse = _pseudo_inverse(op.jacobian(q))
        changing = (np.swapaxes(Jd, -1, -2) @ (np.swapaxes(inverse, -1, -2) @ qd[..., None]))[..., 0]
    return op.resolved_acceleration(q, qd, xdd, changing)
