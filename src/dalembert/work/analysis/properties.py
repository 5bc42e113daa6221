"""The notable properties of S 7.2 and M as functions of an arm, each of which returns a quantity that must vanish.

They hold for every arm; a value far from rounding error would be a bug. All of them broadcast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array


def asymmetry(arm: Arm, q: ArrayLike) -> Array:
    """B − Bᵀ: (…, n, n), zero because B is symmetric."""
    B = arm.inertia_matrix(q)
    return B - np.swapaxes(B, -1, -2)


def smallest_inertia(arm: Arm, q: ArrayLike) -> Array:
    """The smallest eigenvalue of B: (…), above zero because B is positive definite."""
    return np.linalg.eigvalsh(arm.inertia_matrix(q))[..., 0]


def another_coriolis_matrix(arm: Arm, q: ArrayLike, qd: ArrayLike) -> Array:
    """Another C that satisfies (7.43), c_ij = Σ_k h_ijk q̇_k: the choice in Problem 7.2."""
    return np.einsum("...ijk,...k->...ij", arm.velocity_coefficients(q), np.asarray(qd, float))


def skew_part(arm: Arm, q: ArrayLike, qd: ArrayLike, coriolis: Array | None = None) -> Array:
    """N = Ḃ − 2C of S (7.47): (…, n, n); ``coriolis`` replaces the Christoffel choice."""
    C = arm.coriolis_matrix(q, qd) if coriolis is None else coriolis
    return arm.inertia_derivative(q, qd) - 2.0 * C


def skew_defect(arm: Arm, q: ArrayLike, qd: ArrayLike, coriolis: Array | None = None) -> Array:
    """N + Nᵀ: zero for the Christoffel C, S (7.48), but not for other choices."""
    N = skew_part(arm, q, qd, coriolis)
    return N + np.swapaxes(N, -1, -2)


def quadratic_defect(arm: Arm, q: ArrayLike, qd: ArrayLike, coriolis: Array | None = None) -> Array:
    """q̇ᵀ N q̇ of S (7.49): (…), zero for every choice of C."""
    v = np.asarray(qd, float)
    return np.einsum("...i,...ij,...j", v, skew_part(arm, q, qd, coriolis), v)


def energy_defect(arm: Arm, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, tip_wrench: ArrayLike | None = None) -> Array:
    """Power balance of S (7.50): ½ d/dt(q̇ᵀBq̇) minus the power of all forces at the joints: (…), zero."""
    v = np.asarray(qd, float)
    qdd = arm.forward_dynamics(q, qd, tau, tip_wrench)
    rate = np.einsum("...i,...ij,...j", v, arm.inertia_matrix(q), qdd) + 0.5 * np.einsum(
        "...i,...ij,...j", v, arm.inertia_derivative(q, qd), v
    )
    if any(body.depends("load") for body in arm.mechanism.bodies):
        friction = arm.torque_terms(q, qd, qdd, tip_wrench).friction
    else:
        friction = arm.friction_torque(qd, q=q)
    force = np.asarray(tau, float) - friction - arm.gravity_torque(q)
    if tip_wrench is not None:
        force = force - np.einsum("...ij,...i->...j", arm.jacobian(q), np.asarray(tip_wrench, float))
    return rate - np.einsum("...i,...i", v, force)


def own_centrifugal(arm: Arm, q: ArrayLike) -> Array:
    """h_iii: (…, n), zero: a joint's own velocity exerts no centrifugal torque on it."""
    return np.einsum("...iii->...i", arm.christoffel(q))


def order_defect(arm: Arm, q: ArrayLike) -> Array:
    """h_ikm − h_imk of M: (…, n, n, n), zero: the order of the two velocities does not matter."""
    c = arm.christoffel(q)
    return c - np.swapaxes(c, -1, -2)
