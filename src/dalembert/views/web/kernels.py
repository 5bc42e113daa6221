"""The kernels of a page: the displayed quantities, with the arm's parameters as inputs, in one WebAssembly module."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dalembert.arm import Arm
from dalembert.base.files.digest import digest_of_source
from dalembert.compiler.kernel import cache
from dalembert.compiler.kernel.targets import emitted
from dalembert.compiler.quantities.emission import units_apart
from dalembert.compiler.quantities.joints import quantity
from dalembert.compiler.quantities.machine import identity
from dalembert.compiler.quantities.rollouts import ROLLOUTS
from dalembert.compiler.quantities.tip import TIP
from dalembert.mechanics.coordinates.variable_parameters import VARIANTS
from dalembert.mechanics.motion.operational_space import Space

# the quantities that the page computes; ``js/robot.js`` has a method for each
QUANTITIES = (
    "inverse_dynamics",
    "forward_dynamics",
    "torque_terms",
    "inertia_matrix",
    "coriolis_matrix",
    "gravity_torque",
    "kinetic_energy",
    "potential_energy",
    "pose",
    "link_poses",
    "jacobian",
)

OWN_SOURCE = (
    "work.analysis",
    "views.web",
)  # rooms that a page's data are made from, beside those that every key covers


def varied_numbers(arm: Arm) -> tuple[str, ...]:
    """The parameters of the arm, among ``VARIANTS``, that are inputs of its kernels."""
    return tuple(name for name in VARIANTS if not (name == "lengths" and arm.mechanism.loops))


def page_kernels(arm: Arm, space: Space | None) -> bytes:
    """The module: one function for each of :data:`QUANTITIES`, one for the capability of the tip in the rows of
    ``space``, and one for simulation steps; compiled once and cached."""
    mechanism, options = arm.mechanism, (*varied_numbers(arm), "tip_wrench")

    def made() -> bytes:
        entries = [*(quantity(name, mechanism) for name in QUANTITIES), ROLLOUTS["released"]]
        if space is not None:
            entries.append(TIP["reach"].of(space))
        units, files = units_apart(mechanism, arm.name, entries, options=options, function="page")
        source = emitted(units, files, "wasm", None)
        (module,) = (content for content in source.files.values() if isinstance(content, bytes))
        return module

    return cached_bytes(
        ("page", arm.name, identity(mechanism), *QUANTITIES, "released", f"reach {space}", *options), made
    )


def cached_bytes(parts: Sequence[str], make: Callable[[], bytes]) -> bytes:
    """The result of ``make`` for these parts and the present source, taken from the kernel cache if available."""
    source = (digest_of_source(cache.PACKAGE.joinpath(*room.split("."))).hex() for room in OWN_SOURCE)
    return cache.cached(cache.key_of("wasm", *source, *parts), make)
