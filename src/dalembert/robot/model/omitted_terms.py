"""Torque terms that an approximate model may omit, S (7.40), M (4.1): their names, and the check of these names."""

from __future__ import annotations

from collections.abc import Iterable

from dalembert.errors import RobotError

# in independent coordinates; the last three change the bodies of the mechanism, the first three its equations
OMISSIONS = {
    "coriolis": "Coriolis torques (h_ijk + h_ikj) q̇_j q̇_k, j < k",
    "centrifugal": "centrifugal torques h_ijj q̇_j²",
    "off-diagonal": "inertial couplings b_ij q̈_j, i ≠ j",
    "rotor-coupling": "rotor effects other than k_r² I_m",
    "rotational": "M's D_rot and h_rot: inertia tensors about the centres of mass, and rotor inertias",
    "translational": "M's D_tran and h_tran: inertial forces of the masses",
}
SUMMANDS = ("coriolis", "centrifugal", "off-diagonal")


def omissions(names: str | Iterable[str]) -> tuple[str, ...]:
    """The names of the omitted terms, without duplicates, in table order."""
    scalar = isinstance(names, str) or not isinstance(names, Iterable) or getattr(names, "ndim", 1) == 0
    given = [names] if scalar else list(names)
    for name in given:
        if name not in list(OMISSIONS):
            both = "; velocity terms are ('coriolis', 'centrifugal')" if name == "velocity" else ""
            known = ", ".join(OMISSIONS)
            raise RobotError(f"{name!r} cannot be omitted from a model; possible omissions are {known}{both}")
    return tuple(name for name in OMISSIONS if name in given)
