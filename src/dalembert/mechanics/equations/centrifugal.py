"""Centrifugal torques Σ_j h_ijj q̇_j² of S (7.40), by a recursion.

If joint j alone rotates, the points that it moves accelerate by q̇_j² S(z_j)² (r − p_j). The sum over all joints, each
moving alone, is a + W r on every link, with W = Σ_j q̇_j² S(z_j)² over the joints that rotate it: W takes the place of
U in :mod:`lean_newton_euler`, without ω × ω of different joints. Neither a prismatic joint nor the spin of a rotor has
a centrifugal torque of its own.
"""

from __future__ import annotations

from dalembert.base.algebra.scalars import Scalar, Values
from dalembert.base.algebra.vectors import NULL, ZERO, Mat, RotZ, Vec
from dalembert.mechanics.equations.composite import ForceMoment, link_steps
from dalembert.robot.model.mechanism import Mechanism


def centrifugal_torques(mechanism: Mechanism, q: Values, qd: Values) -> list[Scalar]:
    """Σ_j h_ijj q̇_j² for every joint."""
    s = link_steps(mechanism, q)
    W, a = {-1: NULL}, {-1: ZERO}
    pushes: list[ForceMoment] = []
    for i, link in enumerate(s.links):
        j, R = link.parent, link.R
        back = RotZ(s.turn[i].c, -s.turn[i].s)
        W[i] = _symmetric(back.both(_symmetric(R.T @ W[j] @ R)))
        a[i] = s.up(i, a[j] + W[j] @ link.t)
        if link.revolute:
            square = qd[i] * qd[i]
            W[i] = W[i] - Mat.of(((square, 0.0, 0.0), (0.0, square, 0.0), (0.0, 0.0, 0.0)))  # q̇² S(z)²
        a[i] = a[i] + W[i] @ s.shift[i]
        f = link.m * a[i] + W[i] @ link.h
        pushes.append(ForceMoment(f, link.h.cross(a[i]) + _moment(W[i] @ link.Sigma)))
    tau: list[Scalar] = [0.0] * mechanism.n
    for i in reversed(range(mechanism.n)):
        link = s.links[i]
        tau[i] = pushes[i].felt_by(link)
        if link.parent >= 0:
            seen, behind = pushes[i].moved(s, i), pushes[link.parent]
            pushes[link.parent] = ForceMoment(behind.f + seen.f, behind.mu + seen.mu)
    return tau


def _symmetric(A: Mat) -> Mat:
    """The symmetric matrix A, with each product written once."""
    return Mat.of([[A[min(i, j)][max(i, j)] for j in range(3)] for i in range(3)])


def _moment(A: Mat) -> Vec:
    """ax(A − Aᵀ)"""
    return Vec((A[2][1] - A[1][2], A[0][2] - A[2][0], A[1][0] - A[0][1]))
