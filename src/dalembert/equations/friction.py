"""Joint friction, S (7.42): F_v q̇ + F_s sgn(q̇)."""

from __future__ import annotations

from dalembert.algebra.scalars import Scalar, sgn
from dalembert.robot.mechanism import Body, Mechanism


def viscous(body: Body, qd: Scalar) -> Scalar:
    """F_v q̇"""
    return body.viscous * qd


def coulomb(body: Body, qd: Scalar) -> Scalar:
    """F_s sgn(q̇), with a level of its own for each direction.

    F_s⁺ at positive and −F_s⁻ at negative speed is ½(F_s⁺ + F_s⁻) sgn + ½(F_s⁺ − F_s⁻) sgn².
    """
    forward, backward = body.coulomb
    s = sgn(qd)
    return 0.5 * (forward + backward) * s + 0.5 * (forward - backward) * (s * s)


def friction(body: Body, qd: Scalar) -> Scalar:
    """F_v q̇ + F_s sgn(q̇)"""
    return viscous(body, qd) + coulomb(body, qd)


def friction_torque(mechanism: Mechanism, qd: list[Scalar]) -> list[Scalar]:
    """The friction torque of every joint (N m)."""
    return [friction(body, v) for body, v in zip(mechanism.bodies, qd, strict=True)]
