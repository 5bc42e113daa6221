"""Kinetic energy S (7.31) and potential energy S (7.36)."""

from __future__ import annotations

from dalembert.base.algebra.scalars import Scalar, Values, cos, sin
from dalembert.base.algebra.vectors import ZERO, RotZ, Vec
from dalembert.mechanics.equations.kinematics import frames
from dalembert.mechanics.equations.regrouping import lean_links
from dalembert.robot.model.mechanism import Mechanism


def kinetic_energy(mechanism: Mechanism, q: Values, qd: Values) -> Scalar:
    """T = ½ q̇ᵀ B(q) q̇, summed over links and rotors as in S (7.70), on lean frames.

    Regrouping does not change B, and therefore not T.
    """
    T: Scalar = 0.0
    omega, v = {-1: ZERO}, {-1: ZERO}
    for i, link in enumerate(lean_links(mechanism)):
        j, R, h, Sigma, x = link.parent, link.R, link.h, link.Sigma, q[i] + link.offset
        turn = RotZ(cos(x), sin(x)) if link.revolute else RotZ(1.0, 0.0)
        w = turn.back(R.T @ omega[j])
        u = turn.back(R.T @ (v[j] + omega[j].cross(link.t)))
        if link.revolute:
            w = Vec((w[0], w[1], w[2] + qd[i]))
            u = u + w.cross(Vec((0.0, 0.0, link.d)))
        else:
            u = u + w.cross(Vec((0.0, 0.0, x))) + Vec((0.0, 0.0, qd[i]))
        omega[i], v[i] = w, u
        spread = w.dot(w) * Sigma.trace - w.dot(Sigma @ w)
        T = T + 0.5 * link.m * u.dot(u) + u.dot(w.cross(h)) + 0.5 * spread
        k, I_m = link.gear, link.rotor_inertia
        T = T + 0.5 * k * k * I_m * qd[i] * qd[i]
        if not link.reflected:
            T = T + k * I_m * qd[i] * link.rotor_axis.dot(omega[j])
    return T


def potential_energy(mechanism: Mechanism, q: Values) -> Scalar:
    """U = −Σ m_i g_0ᵀ p_Ci over the augmented links, S (7.36), (7.74); zero for masses at the base origin.

    A weight that is carried (:attr:`Link.weight`) is subtracted from U.
    """
    F = frames(mechanism, q)
    U: Scalar = 0.0
    for i, body in enumerate(mechanism.bodies):
        p_C = F.p[i] + F.R[i] @ body.inertia.com
        U = U - body.inertia.mass * mechanism.gravity.dot(p_C)
    return U - potential_energy(mechanism.lifted, q) if mechanism.lifts else U
