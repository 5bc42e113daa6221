"""Drake, from Python: a MultibodyPlant in continuous time, states one by one."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import MultibodyForces

from peers.protocol import Array, Way

VERSION = f"Drake {version('drake')}"


def load(folder: Path) -> MultibodyPlant:
    """The model from URDF, with its first link fixed to the ground."""
    plant = MultibodyPlant(0.0)
    (instance,) = Parser(plant).AddModels(str(folder / "arm.urdf"))
    children = {plant.get_joint(k).child_body().name() for k in plant.GetJointIndices(instance)}
    names = [plant.get_body(k).name() for k in plant.GetBodyIndices(instance)]
    for root in set(names) - children:  # none if the first link is called world
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(root, instance))
    plant.Finalize()
    return plant


def ways(plant: MultibodyPlant, quantity: str) -> dict[str, Way]:
    """CalcInverseDynamics, EvalTimeDerivatives and CalcMassMatrix."""
    context, forces, n = plant.CreateDefaultContext(), MultibodyForces(plant), plant.num_positions()
    applied = plant.get_applied_generalized_force_input_port().FixValue(context, np.zeros(n)).GetMutableData()
    state = np.zeros(2 * n)

    def inverse(q: Array, qd: Array, qdd: Array) -> Array:
        state[:n], state[n:] = q, qd
        plant.SetPositionsAndVelocities(context, state)
        plant.CalcForceElementsContribution(context, forces)
        return plant.CalcInverseDynamics(context, qdd, forces)

    def forward(q: Array, qd: Array, tau: Array) -> Array:
        state[:n], state[n:] = q, qd
        plant.SetPositionsAndVelocities(context, state)
        applied.get_mutable_value().SetFromVector(tau)
        return plant.EvalTimeDerivatives(context).CopyToVector()[n:]

    def inertia(q: Array) -> Array:
        plant.SetPositions(context, q)
        return plant.CalcMassMatrix(context)

    def gravity(q: Array) -> Array:
        plant.SetPositions(context, q)
        return -plant.CalcGravityGeneralizedForces(context)

    known = {
        "inverse_dynamics": Way("CalcInverseDynamics", inverse),
        "forward_dynamics": Way("EvalTimeDerivatives", forward),
        "inertia_matrix": Way("CalcMassMatrix", inertia),
        "gravity_torque": Way("CalcGravityGeneralizedForces", gravity),
    }
    return {"": known[quantity]} if quantity in known else {}
