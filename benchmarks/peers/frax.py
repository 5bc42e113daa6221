"""frax, dynamics in JAX: ``jit`` for a state, ``jit(vmap)`` for a batch, in double precision on the CPU, as its README recommends."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import jax
import jax.numpy as jnp
from frax import Robot

from peers.protocol import Array, Way

VERSION = f"frax on JAX {jax.__version__}"
GRAVITY = (0.0, 0.0, 9.81, 0.0, 0.0, 0.0)  # linear parts first


def load(folder: Path) -> Robot:
    """The model from URDF; frax needs a mass for every link, including the base, where it has no effect."""
    document = ElementTree.parse(folder / "arm.urdf")
    for link in document.getroot().iter("link"):
        if link.find("inertial") is None:
            inertial = ElementTree.SubElement(link, "inertial")
            ElementTree.SubElement(inertial, "mass", value="0")
            ElementTree.SubElement(inertial, "inertia", dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "0"))
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "arm.urdf"
        document.write(path)
        return Robot(str(path))


def ways(robot: Robot, quantity: str) -> dict[str, Way]:
    """Inverse and forward dynamics, B and g, and derivatives by jacfwd."""
    upwards = jnp.array(GRAVITY)

    def inverse(q: Any, qd: Any, qdd: Any) -> Any:
        return robot.rnea(q, qd, qdd, upwards, None)

    def forward(q: Any, qd: Any, tau: Any) -> Any:
        return robot.forward_dynamics(q, qd, tau, None)

    def derivatives(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *x: jnp.stack(jax.jacfwd(function, (0, 1))(*x))

    known = {
        "inverse_dynamics": ("rnea", inverse),
        "forward_dynamics": ("forward_dynamics", forward),
        "inertia_matrix": ("crba", robot.crba),
        "gravity_torque": ("gravity_vector", robot.gravity_vector),
        "torque_derivatives": ("jacfwd of rnea", derivatives(inverse)),
        "forward_derivatives": ("jacfwd of forward_dynamics", derivatives(forward)),
    }
    if quantity not in known:
        return {}
    name, function = known[quantity]
    one, many = jax.jit(function), jax.jit(jax.vmap(function))

    def batch(*arrays: Array) -> Callable[[], Any]:
        given = [jnp.asarray(x) for x in arrays]
        many(*given).block_until_ready()
        return lambda: many(*given).block_until_ready()

    return {"": Way(f"jit of {name}; batches: jit(vmap)", lambda *x: one(*x).block_until_ready(), batch)}
