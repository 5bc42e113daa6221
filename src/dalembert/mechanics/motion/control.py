"""Control laws: the torque as a function of the state and of a reference motion.

All of them compensate the gravity of their model. PD with gravity compensation holds a pose and follows slow motions;
feedforward applies the torques of the motion itself; inverse dynamics (computed torque) makes every joint follow
ë + K_d ė + K_p e = 0; passivity-based control keeps ½ sᵀ B s from growing and can adapt the parameters; control in
operational space makes every row of the tip's pose follow such an equation, or regulates a force.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from dalembert.base.algebra.scalars import Scalar, Values, dot, less, select
from dalembert.base.algebra.vectors import Mat, Vec
from dalembert.mechanics.coordinates import pulled
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.motion import operational_space
from dalembert.mechanics.motion.dry_friction import actuated, dry_torque
from dalembert.mechanics.motion.operational_space import EXACT, Soft, Space, TaskModel


def limited(tau: Values, effort: Values) -> list[Scalar]:
    """τ limited to ±τ_max of each joint, as its drive delivers it."""
    free = [isinstance(limit, float) and limit == inf for limit in effort]
    most = [t if x else select(less(limit, t), limit, t) for t, limit, x in zip(tau, effort, free, strict=True)]
    return [t if x else select(less(t, -limit), -limit, t) for t, limit, x in zip(most, effort, free, strict=True)]


def pd_gravity(
    mechanism: AnyMechanism, q: Values, qd: Values, reference: Values, kp: Values, kd: Values
) -> list[Scalar]:
    """τ = g(q) + K_p (q_d − q) + K_d (q̇_d − q̇); ``reference`` is [q_d, q̇_d, q̈_d].

    Where Newton's method closes the loops, q covers the whole tree; the law applies to the actuated joints.
    """
    n, rest = mechanism.n, [0.0] * mechanism.n
    g = pulled.inverse_dynamics(mechanism, q, rest, rest)
    return feedforward(mechanism, q, qd, [*reference[: 2 * n], *g], kp, kd)


def computed_torque(
    mechanism: AnyMechanism, q: Values, qd: Values, reference: Values, kp: Values, kd: Values
) -> list[Scalar]:
    """τ = B(q) y + C q̇ + F_v q̇ + g + F_s sgn(q̇_d), y = q̈_d + K_d (q̇_d − q̇) + K_p (q_d − q).

    Dry friction (static levels and load-dependent friction) is compensated for the direction of the reference:
    with the measured q̇, the torque would chatter around rest.
    """
    n = mechanism.n
    q_d, qd_d, qdd_d = _parts(reference, n)
    q_a = actuated(mechanism, q)
    y = [qdd_d[i] + kd[i] * (qd_d[i] - qd[i]) + kp[i] * (q_d[i] - q_a[i]) for i in range(n)]
    tau = pulled.inverse_dynamics(pulled.smooth(mechanism), q, qd, y)
    return [t + f for t, f in zip(tau, dry_torque(mechanism, q, qd, qd_d, tau), strict=True)]


def feedforward(
    mechanism: AnyMechanism, q: Values, qd: Values, reference: Values, kp: Values, kd: Values
) -> list[Scalar]:
    """τ = τ_d + K_p (q_d − q) + K_d (q̇_d − q̇); ``reference`` is [q_d, q̇_d, τ_d], where τ_d are the torques of the
    motion."""
    n, q = mechanism.n, actuated(mechanism, q)
    q_d, qd_d, tau_d = _parts(reference, n)
    return [tau_d[i] + kp[i] * (q_d[i] - q[i]) + kd[i] * (qd_d[i] - qd[i]) for i in range(n)]


def servo(
    mechanism: AnyMechanism,
    q: Values,
    qd: Values,
    reference: Values,
    kp: Values,
    kd: Values,
    effort: Values,
    speed: Values,
) -> list[Scalar]:
    """τ = K_p (q_d − q) + K_d (q̇_d − q̇), limited to what the drives deliver, without a model of the arm.

    effort  τ_max, the largest torque of each drive, also while it brakes
    speed   ω_0: while it drives, the torque is limited to τ_max (1 − |q̇|/ω_0), and to zero above ω_0
    """
    tau = feedforward(mechanism, q, qd, [*reference[: 2 * mechanism.n], *([0.0] * mechanism.n)], kp, kd)
    driving = [select(less(0.0, v * t), select(less(v, 0.0), -v, v), 0.0) for t, v in zip(tau, qd, strict=True)]
    share = [1.0 - v / most for v, most in zip(driving, speed, strict=True)]
    return limited(tau, [limit * select(less(0.0, x), x, 0.0) for limit, x in zip(effort, share, strict=True)])


def held_posture(
    mechanism: AnyMechanism,
    q: Values,
    qd: Values,
    posture: Values,
    kp: Values,
    kd: Values,
    choice: Values,
    effort: Values,
) -> list[Scalar]:
    """The torque that holds a posture with a law chosen for each joint: 0 for none, 1 for :func:`pd_gravity`, and 2 for
    :func:`computed_torque`; limited to ``effort``."""
    reference = [*posture, *([0.0] * (2 * mechanism.n))]
    pd, computed = (law(mechanism, q, qd, reference, kp, kd) for law in (pd_gravity, computed_torque))
    chosen = [
        select(less(1.5, k), y, select(less(0.5, k), x, 0.0)) for k, x, y in zip(choice, pd, computed, strict=True)
    ]
    return limited(chosen, effort)


def pulled_wrench(mechanism: AnyMechanism, q: Values, qd: Values, pull: Values, wrench: Values) -> list[Scalar]:
    """h_e of a tip that a spring and a damper pull with F = k (x − p) − d ṗ; ``pull`` is [x, k, d], and ``wrench`` acts
    beside it."""
    _, p = pulled.tip_frame(mechanism, q)
    J, (*x, stiffness, damping) = pulled.jacobian(mechanism, q), pull
    force = [stiffness * (x[i] - p[i]) - damping * dot(J[i], qd) for i in range(3)]
    return [*(w - f for w, f in zip(wrench[:3], force, strict=True)), *wrench[3:]]


# -- passivity, S 7.2.1 ----------------------------------------------------------------------------


def reference_velocity(
    mechanism: AnyMechanism, q: Values, qd: Values, reference: Values, slope: Values
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """(q̇_r, q̈_r, s): q̇_r = q̇_d + Λ (q_d − q), q̈_r = q̈_d + Λ (q̇_d − q̇), s = q̇_r − q̇."""
    n, q = mechanism.n, actuated(mechanism, q)
    q_d, qd_d, qdd_d = _parts(reference, n)
    qd_r = [qd_d[i] + slope[i] * (q_d[i] - q[i]) for i in range(n)]
    qdd_r = [qdd_d[i] + slope[i] * (qd_d[i] - qd[i]) for i in range(n)]
    return qd_r, qdd_r, [qd_r[i] - qd[i] for i in range(n)]


def passivity(
    mechanism: AnyMechanism, q: Values, qd: Values, reference: Values, slope: Values, kd: Values
) -> list[Scalar]:
    """τ = B q̈_r + C(q, q̇) q̇_r + g + f(q̇_r) + K_D s.

    On the arm itself B ṡ + C s + f(q̇_r) − f(q̇) + K_D s = 0, and since Ḃ − 2C is skew-symmetric, S (7.48),
    d/dt ½ sᵀ B s = −sᵀ (K_D s + f(q̇_r) − f(q̇)).
    """
    qd_r, qdd_r, s = reference_velocity(mechanism, q, qd, reference, slope)
    tau = pulled.reference_torque(mechanism, q, qd, qd_r, qdd_r)
    return [t + k * x for t, k, x in zip(tau, kd, s, strict=True)]


def adaptive(
    mechanism: AnyMechanism,
    columns: tuple[int, ...],
    q: Values,
    qd: Values,
    reference: Values,
    slope: Values,
    kd: Values,
    gamma: Values,
    learned: Values,
) -> tuple[list[Scalar], list[Scalar]]:
    """(τ, Γ Yᵀ s): the law of Slotine and Li, τ = :func:`passivity` + Y δ with δ˙ = Γ Yᵀ s.

    columns  columns of the regressor Y(q, q̇, q̇_r, q̈_r) whose parameters are adapted: π̂ = π of the mechanism + δ
    learned  δ
    """
    qd_r, qdd_r, s = reference_velocity(mechanism, q, qd, reference, slope)
    whole = pulled.reference_regressor(mechanism, q, qd, qd_r, qdd_r)
    Y = [[row[k] for k in columns] for row in whole]
    tau = [t + dot(row, learned) for t, row in zip(passivity(mechanism, q, qd, reference, slope, kd), Y, strict=True)]
    return tau, [g * dot(column, s) for g, column in zip(gamma, zip(*Y, strict=True), strict=True)]


# -- the tip, S 7.8 ------------------------------------------------------------------------------


@dataclass(frozen=True)
class TipLaw:
    """Motion and force control of the tip with all its constants, to run in one loop with the dynamics.

    row_gains, joint_gains  of :func:`tip_torque`
    surface  of :func:`wall_wrench`: the surface that the tip presses against
    least    pivots of J_A B⁻¹ J_Aᵀ, and the measure of the orientation, below which the pose is singular
    """

    mechanism: AnyMechanism
    space: Space
    row_gains: tuple[float, ...]
    joint_gains: tuple[float, ...]
    surface: tuple[float, ...] | None
    least: tuple[tuple[float, ...], float]


def tip_torque(
    mechanism: AnyMechanism,
    space: Space,
    q: Values,
    qd: Values,
    reference: Values,
    h_e: Values | None,
    row_gains: Values,
    joint_gains: Values,
    soft: Soft = EXACT,
) -> tuple[list[Scalar], TaskModel]:
    """τ of S (7.141) for ẍ = ẍ_d + K_D (ẋ_d − ẋ) + K_P e + K_F (h_d − h_e), and the model from which it is computed.

    reference    [e, ẋ_d, ẍ_d], e = x_d − x
    row_gains    [K_P, K_D, K_F, h_d]: a force-controlled row has K_P = 0, one that follows a motion K_F = 0
    joint_gains  [q_r, K_r, k_N] of τ_0 = g + K_r (q_r − q) − k_N B q̇, which acts on the internal motion of a redundant
                 arm
    """
    n, m = mechanism.n, space.m
    error, xd_d, xdd_d = _parts(reference, m)
    kp, kd, kf, h_d = _parts(row_gains, m)
    xd = operational_space.analytical(mechanism, space, q, soft).J @ Vec(qd)
    xdd = [xdd_d[k] + kd[k] * (xd_d[k] - xd[k]) + kp[k] * error[k] for k in range(m)]
    if h_e is not None:
        for k, row in enumerate(space.rows):
            if row < 3:  # x, y, z, which are also the force components of the wrench
                xdd[k] = xdd[k] + kf[k] * (h_d[k] - h_e[row])
    tau_0 = None
    if m < n:
        q_r, k_r, k_n = _parts(joint_gains, n)
        rest = [0.0] * n
        g, B, q_a = (
            pulled.inverse_dynamics(mechanism, q, rest, rest),
            pulled.inertia_matrix(mechanism, q),
            actuated(mechanism, q),
        )
        tau_0 = [g[i] + k_r[i] * (q_r[i] - q_a[i]) - k_n[i] * Vec(B[i]).dot(qd) for i in range(n)]
    tau, model = operational_space.torque(mechanism, space, q, qd, xdd, h_e, tau_0, soft)
    return list(tau), model


def tip_control(law: TipLaw, q: Values, qd: Values, reference: Values) -> list[Scalar]:
    """:func:`tip_torque` minus Jᵀ h_e of the surface, for the reference [x_d, ẋ_d, ẍ_d]; NaN at a singularity.

    Rows are x, y, z and those of a quaternion: they are entries of the pose, or roots of such entries; angles are not.
    """
    mechanism, space = law.mechanism, law.space
    R, p = pulled.tip_frame(mechanism, q)
    x = [*p, *operational_space.turn(space, R).parts[1:4]]
    error = [x_d - x[row] for x_d, row in zip(reference, space.rows, strict=False)]
    h_e = None if law.surface is None else wall_wrench(mechanism, space, q, qd, law.surface)
    tau, M = tip_torque(mechanism, space, q, qd, [*error, *reference[space.m :]], h_e, law.row_gains, law.joint_gains)
    pivots, measure = M.trust
    lost: Scalar = less(measure, law.least[1]) if space.represented else 0.0
    for pivot, least in zip(pivots, law.least[0], strict=True):
        lost = select(less(pivot, least), 1.0, lost)
    spoilt = select(lost, float("nan"), 0.0)
    tau = [t + spoilt for t in tau]
    if h_e is None:
        return tau
    return [t - column.dot(h_e) for t, column in zip(tau, Mat.of(pulled.jacobian(mechanism, q)).T, strict=True)]


def wall_wrench(mechanism: AnyMechanism, space: Space, q: Values, qd: Values, surface: Values) -> list[Scalar]:
    """Wrench of the tip on a flat, elastic surface without friction: −(k depth − d v) n in contact, never a pull.

    surface  [a point of it, its unit normal, k in N/m, d in N s/m]
    """
    point, normal, (stiffness, damping) = Vec(surface[:3]), Vec(surface[3:6]), surface[6:]
    _, p = pulled.tip_frame(mechanism, q)
    v = Mat.of(pulled.jacobian(mechanism, q)[:3]) @ Vec(qd)
    depth = (point - p).dot(normal)
    push = stiffness * depth - damping * v.dot(normal)
    push = select(less(0.0, depth), select(less(0.0, push), push, 0.0), 0.0)
    return [*(-(push * x) for x in normal), 0.0, 0.0, 0.0]


def _parts(values: Values, size: int) -> list[Values]:
    return [values[k : k + size] for k in range(0, len(values), size)]
