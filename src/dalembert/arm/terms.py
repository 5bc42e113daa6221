"""The parts of a torque, as data with names."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class LagrangeEuler:
    """The dynamic coefficients of M (2.11), (2.14), (2.15)."""

    D: Array
    h: Array
    c: Array


@dataclass(frozen=True)
class Dalembert:
    """The coefficients of the generalized d'Alembert equations, M (4.2)–(4.5)."""

    D_rot: Array
    D_tran: Array
    h_tran: Array
    h_rot: Array
    c: Array


@dataclass(frozen=True)
class TorqueTerms:
    """Who causes what at which joint; the ten fields sum to the torque.

    inertia      (…, n, n)     at joint i by joint j's acceleration, b_ij q̈_j, of links (and of rotors
                               standing still on them)
    rotor        (…, n, n)     the same, by the rotors' own spin: k_ri² I_mi and k_ri I_mi terms
    centrifugal  (…, n, n)     at joint i by joint j's velocity, h_ijj q̇_j²
    coriolis     (…, n, n, n)  at joint i by the velocities of joints j < k, the pair counted once
    gravity, viscous, coulomb, contact   (…, n)
    other        (…, n)        further terms of friction, springs and losses
    base         (…, n)        what the motion of the base adds; 0 unless ``base_motion`` is given
    All in N m (revolute) or N (prismatic). S 7.1.3 reads these terms, Example 7.2 plots them.
    """

    inertia: Array
    rotor: Array
    centrifugal: Array
    coriolis: Array
    gravity: Array
    viscous: Array
    coulomb: Array
    other: Array
    contact: Array
    base: Array

    @property
    def friction(self) -> Array:
        """Viscous, Coulomb and other terms: (…, n)."""
        return self.viscous + self.coulomb + self.other

    @property
    def by_joint(self) -> dict[str, Array]:
        """Every term summed over its causes: name → (…, n)."""
        axes = {"inertia": -1, "rotor": -1, "centrifugal": -1, "coriolis": (-2, -1)}
        return {
            f.name: getattr(self, f.name).sum(axis=axes[f.name]) if f.name in axes else getattr(self, f.name)
            for f in fields(self)
        }

    @property
    def total(self) -> Array:
        """The torque: (…, n)."""
        return np.sum(list(self.by_joint.values()), axis=0)
