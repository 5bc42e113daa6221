"""Inverse dynamics of a motion of the tip, S 7.8: redundancy resolved kinematically or dynamically.

Between the sample times, the motion is the quintic with their values and derivatives. The joints are
integrated (Runge–Kutta 4) and, at every sample time, placed exactly on the motion by Newton steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.base.arrays import Array, at_once, double
from dalembert.base.tables.sampled_motion import SampledMotion
from dalembert.errors import DalembertError, ShapeError, SingularityError
from dalembert.mechanics.motion.methods import RK4
from dalembert.work.trajectory.planning.hermite import Hermite
from dalembert.work.trajectory.planning.limits import refuse_loads
from dalembert.work.trajectory.planning.motion_checks import check_choice, finite

if TYPE_CHECKING:
    from dalembert.work.tip.operational import OperationalSpace

NEWTON = 12  # maximum number of steps
ON_PATH = 1e-11  # m or rad
LONGEST = 0.05  # rad or m: largest motion of a joint in one integration step


def follow(
    op: OperationalSpace,
    t: ArrayLike,
    x: ArrayLike,
    xd: ArrayLike,
    xdd: ArrayLike,
    q0: ArrayLike,
    qd0: ArrayLike | None = None,
    *,
    wrench: ArrayLike | None = None,
    resolution: Literal["kinematic", "dynamic"] = "kinematic",
    tau0: Callable[[float, Array, Array], ArrayLike] | None = None,
) -> SampledMotion:
    """Inverse dynamics of a motion given in operational space, by either method of S 7.8.

    t            (N,) times; x, xd, xdd (N, m) the motion at these times
    q0           (n,) a configuration close to the one at which the motion begins
    qd0          (n,) initial joint velocities; the part that moves the tip is adjusted to xd
    wrench       (6,) or (N, 6) of the end effector on its environment
    resolution   "kinematic": q̇ = J_A⁺ ẋ, then joint inverse dynamics (7.42);
                 "dynamic": the torques (7.141), whose τ_0 moves the redundant joints freely
    tau0         τ_0 as a function of t, q, q̇ ("dynamic" only); 0 by default
    Returns      the joint motion t (N,), q, qd, qdd (N, n) and its torques tau (N, n)
    """
    check_choice("resolution", resolution, ("kinematic", "dynamic"))
    if tau0 is not None and resolution == "kinematic":
        raise DalembertError("tau0 moves redundant joints by torques, which needs resolution='dynamic'")
    instants, path = _path(op, t, x, xd, xdd)
    kinematic, shape = resolution == "kinematic", (len(instants), 6)
    if wrench is not None:
        refuse_loads(op.arm, "the motion of the tip")
    h_e = None if wrench is None else np.broadcast_to(op.arm.checked("tip_wrench", at_once("wrench", wrench)), shape)
    qd = np.zeros(op.arm.n) if qd0 is None else op.arm.checked("qd", at_once("qd0", qd0))
    state = np.array([op.arm.checked("q", at_once("q0", q0)), qd], float)  # q and q̇
    states = np.empty((len(instants), *state.shape))

    def rate(t: float, state: Array) -> Array:
        """q̇ = J_A⁺ ẋ, where the q̇ of the state is unchanged; or q̇, and q̈ for the torques (7.141)."""
        (q, qd), (_, xd, xdd) = state, _wanted(path, t)
        if kinematic:
            return np.stack([np.linalg.pinv(op.jacobian(q)) @ xd, np.zeros(op.arm.n)])
        free = None if tau0 is None else np.asarray(tau0(t, q, qd), float)
        tau = op.torque(q, qd, xdd, contact, free)
        return np.stack([qd, op.arm.forward_dynamics(q, qd, tau - op.contact_torque(q, contact))])

    for k, now in enumerate(instants.tolist()):
        try:
            if k:
                contact = None if h_e is None else h_e[k - 1]
                start = float(instants[k - 1])
                count = 1 + int(np.abs(state[1]).max() * (now - start) / LONGEST)
                dt = (now - start) / count
                for step in range(count):
                    state = RK4.step(rate, start + step * dt, state, dt)
            states[k] = state = _onto(op, path, now, state, kinematic)
        except SingularityError as error:
            raise SingularityError(f"at t = {now:.6g} s: {error}", error.kind, (k,), error.value) from None
    q, qd, accelerations = states[:, 0], states[:, 1], path(instants)[2]
    if kinematic:
        qdd = _kinematic_acceleration(op, q, qd, accelerations)
        tau: Array = op.arm.inverse_dynamics(q, qd, qdd) + op.contact_torque(q, h_e)
    else:
        free = None if tau0 is None else np.array(list(map(tau0, instants.tolist(), q, qd)))
        tau = op.torque(q, qd, accelerations, h_e, free)
        qdd = op.arm.forward_dynamics(q, qd, tau - op.contact_torque(q, h_e))
    return SampledMotion(instants, q, qd, qdd, tau)


def _path(op: OperationalSpace, t: ArrayLike, *motion: ArrayLike) -> tuple[Array, Hermite]:
    instants = double("t", t)
    if instants.ndim != 1 or len(instants) < 2 or not (np.diff(instants) > 0).all():
        raise ShapeError(f"t has shape {instants.shape}; it must be (N,), two or more strictly increasing times")
    shape, numbers = (len(instants), op.m), f", one row per time with the columns {', '.join(op.rows)}"
    arrays = [finite(name, value, shape, numbers) for name, value in zip(("x", "xd", "xdd"), motion, strict=True)]
    if op.orientation != "geometric":  # angles may be given in (−π, π], but must not jump between samples
        x = arrays[0]
        arrays[0] = x[0] + np.cumsum(np.vstack([np.zeros(op.m), op.difference(x[1:], x[:-1])]), axis=0)
    return instants, Hermite(instants, np.array(arrays))


def _wanted(path: Hermite, t: float) -> tuple[Array, Array, Array]:
    x, xd, xdd = path(np.array([t]))
    return x[0], xd[0], xdd[0]


def _onto(op: OperationalSpace, path: Hermite, t: float, state: Array, kinematic: bool) -> Array:
    """The state after Newton steps that place the tip on the motion, with q̇ corrected to the velocity of the tip."""
    (x, xd, _), (q, qd) = _wanted(path, t), state

    def inverse(q: Array) -> Array:
        return np.linalg.pinv(op.jacobian(q)) if kinematic else op.inverse_jacobian(q)

    op.inverse_jacobian(q)  # raises an error if the arm is singular
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
            f"arm '{op.arm.name}' cannot bring its tip to the motion at t = {t:.6g} s: an error of {last:.3g} m or rad "
            "remains; start closer to it (q0), or stay within reach"
        )
    return np.stack([q, inverse(q) @ xd if kinematic else qd + inverse(q) @ (xd - op.velocity(q, qd))])


def _kinematic_acceleration(op: OperationalSpace, q: Array, qd: Array, xdd: Array) -> Array:
    """q̈ of q̇ = J⁺ẋ: J⁺ (ẍ − J̇ q̇) + (1 − J⁺ J) J̇ᵀ J⁺ᵀ q̇, where the last term is due to the change of J⁺."""
    changing = np.zeros_like(q)
    if op.redundant:
        Jd = op.jacobian_derivative(q, qd)
        inverse = np.linalg.pinv(op.jacobian(q))
        changing = (np.swapaxes(Jd, -1, -2) @ (np.swapaxes(inverse, -1, -2) @ qd[..., None]))[..., 0]
    return op.resolved_acceleration(q, qd, xdd, changing)
