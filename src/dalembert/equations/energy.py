"""Kinetic energy S (7.31) and potential energy S (7.36)."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.algebra.linalg import ZERO, Scalar, Vector, add, cos, cross, dot, matvec, sin, tmatvec
from dalembert.equations.kinematics import frames
from dalembert.equations.lean_newton_euler import turned_back
from dalembert.equations.regrouping import lean_links
from dalembert.robot.mechanism import Mechanism


def kinetic_energy(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Scalar:
    """T = ½ q̇ᵀ B(q) q̇, summed over links and rotors as in S (7.70), on lean frames.

    Regrouping leaves B as it is, and so T.
    """
    T: Scalar = 0.0
    omega: list[Vector] = []
    v: list[Vector] = []
    for i, link in enumerate(lean_links(mechanism)):
        j = link.parent
        w_p, v_p = (omega[j], v[j]) if j >= 0 else (ZERO, ZERO)
        x = q[i] + link.offset
        c, s = (cos(x), sin(x)) if link.revolute else (1.0, 0.0)
        w = turned_back(c, s, tmatvec(link.R, w_p))
        u = turned_back(c, s, tmatvec(link.R, add(v_p, cross(w_p, link.t))))
        if link.revolute:
            w = (w[0], w[1], w[2] + qd[i])
            u = add(u, cross(w, (0.0, 0.0, link.d)))
        else:
            u = add(u, cross(w, (0.0, 0.0, x)), (0.0, 0.0, qd[i]))
        omega.append(w)
        v.append(u)
        S = link.Sigma
        spread = dot(w, w) * (S[0][0] + S[1][1] + S[2][2]) - dot(w, matvec(S, w))
        T = T + 0.5 * link.m * dot(u, u) + dot(u, cross(w, link.h)) + 0.5 * spread
        k, I_m = link.gear, link.rotor_inertia
        T = T + 0.5 * k * k * I_m * qd[i] * qd[i]
        if not link.reflected:
            T = T + k * I_m * qd[i] * dot(link.rotor_axis, w_p)
    return T


def potential_energy(mechanism: Mechanism, q: Sequence[Scalar]) -> Scalar:
    """U = −Σ m_i g_0ᵀ p_Ci over the augmented links, S (7.36), (7.74); zero for masses at the base origin."""
    F = frames(mechanism, q)
    U: Scalar = 0.0
    for i, body in enumerate(mechanism.bodies):
        p_C = add(F.p[i], matvec(F.R[i], body.inertia.com))
        U = U - body.inertia.mass * dot(mechanism.gravity, p_C)
    return U
