"""The kernels of a page: the quantities that it shows, with the numbers of the arm as inputs, in one WebAssembly module."""

from __future__ import annotations

from dalembert.arm import Arm
from dalembert.coordinates.variants import VARIANTS

# what the page computes; ``js/robot.js`` has a method for each
QUANTITIES = (
    "inverse_dynamics",
    "forward_dynamics",
    "torque_terms",
    "inertia_matrix",
    "coriolis_matrix",
    "gravity_torque",
    "friction_torque",
    "kinetic_energy",
    "potential_energy",
    "pose",
    "link_poses",
    "jacobian",
    "jacobian_derivative",
)


def varied_numbers(arm: Arm) -> tuple[str, ...]:
    """The numbers of the arm that are inputs of its kernels, of ``VARIANTS``."""
    return tuple(name for name in VARIANTS if not (name == "lengths" and arm.mechanism.loops))


def page_kernels(arm: Arm) -> bytes:
    """The module: a function for each of :data:`QUANTITIES`."""
    source = arm.emit(
        QUANTITIES, target="wasm", options=(*varied_numbers(arm), "tip_wrench"), separate=True, function="page"
    )
    (module,) = (content for content in source.files.values() if isinstance(content, bytes))
    return module
