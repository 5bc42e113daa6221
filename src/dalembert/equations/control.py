"""Control laws: the torque as a function of the state and of a reference motion.

Both cancel gravity exactly. PD with gravity compensation holds a pose, and follows slow motions;
inverse dynamics (computed torque) makes every joint follow ë + K_d ė + K_p e = 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.equations.any_chain import inverse_dynamics, smooth
from dalembert.equations.rubbing import actuated, dry_torque
from dalembert.robot.linalg import Scalar
from dalembert.robot.mechanism import Mechanism


def pd_gravity(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    reference: Sequence[Scalar],
    kp: Sequence[Scalar],
    kd: Sequence[Scalar],
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
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    reference: Sequence[Scalar],
    kp: Sequence[Scalar],
    kd: Sequence[Scalar],
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
