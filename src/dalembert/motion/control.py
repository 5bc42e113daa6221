"""Control laws: the torque as a function of the state and of a reference motion.

All cancel gravity exactly. PD with gravity compensation holds a pose, and follows slow motions;
inverse dynamics (computed torque) makes every joint follow ë + K_d ė + K_p e = 0; control in operational
space makes every row of the tip's pose do so, or keep a force.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.algebra.scalars import Scalar, Values, less, select
from dalembert.algebra.vectors import Mat, Vec, VecLike
from dalembert.coordinates.pulled import (
    AnyMechanism,
    inertia_matrix,
    inverse_dynamics,
    jacobian,
    smooth,
    tip_frame,
)
from dalembert.motion import operational_space
from dalembert.motion.operational_space import Space
from dalembert.motion.rubbing import actuated, dry_torque


def pd_gravity(
    mechanism: AnyMechanism, q: Values, qd: Values, reference: Values, kp: Values, kd: Values
) -> list[Scalar]:
    """τ = g(q) + K_p (q_d − q) + K_d (q̇_d − q̇); ``reference`` is [q_d, q̇_d, q̈_d].

    Of a closed chain by Newton q is that of the whole tree, and the law concerns the actuated joints.
    """
    n = mechanism.n
    rest = [0.0] * n
    g = inverse_dynamics(mechanism, q, rest, rest)
    q_d, qd_d = reference[:n], reference[n : 2 * n]
    q = actuated(mechanism, q)
    return [g[i] + kp[i] * (q_d[i] - q[i]) + kd[i] * (qd_d[i] - qd[i]) for i in range(n)]


def computed_torque(
    mechanism: AnyMechanism, q: Values, qd: Values, reference: Values, kp: Values, kd: Values
) -> list[Scalar]:
    """τ = B(q) y + C q̇ + F_v q̇ + g + F_s sgn(q̇_d), y = q̈_d + K_d (q̇_d − q̇) + K_p (q_d − q).

    Coulomb friction is compensated for the direction in which the reference moves: with the
    measured q̇ the torque would jump back and forth around rest.
    """
    n = mechanism.n
    q_d, qd_d, qdd_d = reference[:n], reference[n : 2 * n], reference[2 * n :]
    q_a = actuated(mechanism, q)
    y = [qdd_d[i] + kd[i] * (qd_d[i] - qd[i]) + kp[i] * (q_d[i] - q_a[i]) for i in range(n)]
    tau = inverse_dynamics(smooth(mechanism), q, qd, y)
    return [t + f for t, f in zip(tau, dry_torque(mechanism, q, qd_d), strict=True)]


# -- the tip, S 7.8 ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Surface:
    """A flat, springy surface without friction: a point of it, its unit normal, N/m and N s/m."""

    point: VecLike
    normal: VecLike
    stiffness: float
    damping: float


@dataclass(frozen=True)
class TipLaw:
    """Control of the tip's motion and of its force, with all its numbers.

    force    (row of the task, component of the wrench, h_d) of rows that keep a force
    surface  what the tip presses against
    posture  q_r, and k_r and k_N, of the torque that internal motion feels: none unless the arm is redundant
    least    pivots of J_A B⁻¹ J_Aᵀ, and the measure of the orientation, below which the pose is singular
    """

    mechanism: AnyMechanism
    space: Space
    kp: tuple[float, ...]
    kd: tuple[float, ...]
    force: tuple[tuple[int, int, float], ...]
    kf: float
    kv: float
    surface: Surface | None
    posture: tuple[float, ...] | None
    stiffness: float
    calm: float
    least: tuple[tuple[float, ...], float]


def tip_control(law: TipLaw, q: Values, qd: Values, reference: Values) -> list[Scalar]:
    """τ of S (7.141) for ẍ = ẍ_d + K_D (ẋ_d − ẋ) + K_P (x_d − x), less Jᵀ h_e of the surface; NaN where singular.

    In rows that keep a force, ẍ = K_F (h_d − h) − K_V ẋ. Rows are x, y, z and those of a quaternion: they
    are entries of the pose, or roots of such; angles are not.
    """
    mechanism, space, m = law.mechanism, law.space, law.space.m
    x_d, xd_d, xdd_d = reference[:m], reference[m : 2 * m], reference[2 * m :]
    R, p = tip_frame(mechanism, q)
    x = [*p, *operational_space.turn(space, R).parts[1:4]]
    xd = operational_space.analytical(mechanism, space, q).J @ Vec(qd)
    xdd = [xdd_d[k] + law.kd[k] * (xd_d[k] - xd[k]) + law.kp[k] * (x_d[k] - x[row]) for k, row in enumerate(space.rows)]
    J = Mat.of(jacobian(mechanism, q))
    h_e = None if law.surface is None else _push(law.surface, p, Mat(J[:3]) @ Vec(qd))
    for k, component, wanted in law.force:
        assert h_e is not None
        xdd[k] = law.kf * (wanted - h_e[component]) - law.kv * xd[k]
    wanted_torque, M = operational_space.torque(mechanism, space, q, qd, xdd, h_e, _internal(law, q, qd))
    tau, (pivots, measure) = list(wanted_torque), M.trust
    lost: Scalar = less(measure, law.least[1]) if space.represented else 0.0
    for pivot, least in zip(pivots, law.least[0], strict=True):
        lost = select(less(pivot, least), 1.0, lost)
    spoilt = select(lost, float("nan"), 0.0)
    for i in range(mechanism.n):
        tau[i] = tau[i] + spoilt
        if h_e is not None:
            tau[i] = tau[i] - J.T[i].dot(h_e)
    return tau


def _push(surface: Surface, p: VecLike, v: Vec) -> Vec:
    """What the tip exerts on the surface: −(k depth − d v) n while it presses, never a pull."""
    normal = Vec(surface.normal)
    depth = (Vec(surface.point) - p).dot(normal)
    push = surface.stiffness * depth - surface.damping * v.dot(normal)
    push = select(less(0.0, depth), select(less(0.0, push), push, 0.0), 0.0)
    return Vec((*(-(push * x) for x in normal), 0.0, 0.0, 0.0))


def _internal(law: TipLaw, q: Values, qd: Values) -> list[Scalar] | None:
    """τ_0 = g + K_p (q_r − q) − k_N B q̇"""
    mechanism, n = law.mechanism, law.mechanism.n
    if law.space.m >= n:
        return None
    rest = [0.0] * n
    g, B, q_a = inverse_dynamics(mechanism, q, rest, rest), inertia_matrix(mechanism, q), actuated(mechanism, q)
    tau = [g[i] - law.calm * Vec(B[i]).dot(qd) for i in range(n)]
    if law.posture is not None:
        tau = [t + law.stiffness * (r - x) for t, r, x in zip(tau, law.posture, q_a, strict=True)]
    return tau
