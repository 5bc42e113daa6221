"""What an approximate model leaves out of the torque, S (7.40), M (4.1): the names, and the sentences for wrong ones."""

from __future__ import annotations

from collections.abc import Iterable

from dalembert.errors import RobotError

# in the coordinates that are held; the last three change the bodies of the mechanism, the first three its equations
OMISSIONS = {
    "coriolis": "Coriolis torques (h_ijk + h_ikj) q̇_j q̇_k, j < k",
    "centrifugal": "centrifugal torques h_ijj q̇_j²",
    "off-diagonal": "inertial couplings b_ij q̈_j, i ≠ j",
    "rotor-coupling": "rotors but for k_r² I_m",
    "rotational": "M's D_rot and h_rot: inertia tensors about the centres of mass, and rotor inertias",
    "translational": "M's D_tran and h_tran: masses as far as they are accelerated",
}
SUMMANDS = ("coriolis", "centrifugal", "off-diagonal")


def omissions(names: str | Iterable[str]) -> tuple[str, ...]:
    """The names of what is left out, each once, in the order of the table."""
    scalar = isinstance(names, str) or not isinstance(names, Iterable) or getattr(names, "ndim", 1) == 0
    given = [names] if scalar else list(names)
    for name in given:
        if name not in list(OMISSIONS):
            both = "; velocity terms are ('coriolis', 'centrifugal')" if name == "velocity" else ""
            raise RobotError(f"{name!r} cannot be left out of a model: omissions are {', '.join(OMISSIONS)}{both}")
    return tuple(name for name in OMISSIONS if name in given)
