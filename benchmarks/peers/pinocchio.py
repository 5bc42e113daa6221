"""Pinocchio, the wheel ``pin``: its batch calls with one thread if available, otherwise one Python call per state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from peers.protocol import Array, Way

VERSION = f"Pinocchio {pin.__version__}"


@dataclass(frozen=True)
class Model:
    """Of one arm."""

    model: Any
    data: Any
    pool: Any
    parameters: Array


def load(folder: Path) -> Model:
    """From URDF."""
    model = pin.buildModelFromUrdf(str(folder / "arm.urdf"))
    parameters = np.concatenate([inertia.toDynamicParameters() for inertia in list(model.inertias)[1:]])
    return Model(model, model.createData(), pin.ModelPool(model, 1), parameters)


def in_parallel(function: Callable[..., object], m: Model) -> Callable[..., Callable[[], Array]]:
    """A batch call: states are columns, and the result is written to an existing array."""

    def batch(*arrays: Array) -> Callable[[], Array]:
        columns = [np.asfortranarray(x.T) for x in arrays]
        result = np.asfortranarray(np.zeros_like(columns[0]))

        def run() -> Array:
            function(1, m.pool, *columns, result)
            return result

        return run

    return batch


def ways(m: Model, quantity: str) -> dict[str, Way]:
    """Pinocchio's fastest call for each quantity."""
    model, data = m.model, m.data
    regressor = Way(
        "computeJointTorqueRegressor",
        lambda q, qd, qdd: pin.computeJointTorqueRegressor(model, data, q, qd, qdd),
        read=lambda Y: Y @ m.parameters,
    )
    known = {
        "inverse_dynamics": Way(
            "rnea; batches: rneaInParallel, 1 thread", lambda q, qd, qdd: pin.rnea(model, data, q, qd, qdd),
            in_parallel(pin.rneaInParallel, m), rows=lambda x: x.T,
        ),
        "forward_dynamics": Way(
            "aba; batches: abaInParallel, 1 thread", lambda q, qd, tau: pin.aba(model, data, q, qd, tau),
            in_parallel(pin.abaInParallel, m), rows=lambda x: x.T,
        ),
        "inertia_matrix": Way(
            "crba", lambda q: pin.crba(model, data, q), read=lambda B: np.triu(B) + np.triu(B, 1).T
        ),
        "gravity_torque": Way("computeGeneralizedGravity", lambda q: pin.computeGeneralizedGravity(model, data, q)),
        "torque_derivatives": Way(
            "computeRNEADerivatives", lambda q, qd, qdd: pin.computeRNEADerivatives(model, data, q, qd, qdd),
            read=lambda x: np.stack(x[:2]),
        ),
        "forward_derivatives": Way(
            "computeABADerivatives", lambda q, qd, tau: pin.computeABADerivatives(model, data, q, qd, tau),
            read=lambda x: np.stack(x[:2]),
        ),
        "regressor": regressor,
        "compact_regressor": regressor,
    }  # fmt: skip
    return {"": known[quantity]} if quantity in known else {}
