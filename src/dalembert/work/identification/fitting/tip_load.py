"""Joint torques of a body held at the tip: the columns of its ten parameters, in the tip's frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.errors import DalembertError
from dalembert.robot.model.placement import Placement
from dalembert.work.identification.fitting.parameter_set import WIDTH
from dalembert.work.identification.fitting.physical_consistency import BASIS, ten_of
from dalembert.work.logs.conditioning import Stretch


def carried(tip: Placement) -> Array:
    """(10, 10): a body's ten parameters in the tip's frame → those in the frame of the link that carries it.

    With the pseudo-inertia P = [Σ, h; hᵀ, m], Σ = ½ tr(I) 1 − I, and H the tip's homogeneous matrix, P ↦ H P Hᵀ.
    """
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = np.array(tip.rotation, float), np.array(tip.translation, float)
    return np.column_stack([ten_of(H @ P @ H.T) for P in BASIS])


def check_free_tip(arm: Arm) -> None:
    """Raise an error if the torques cannot show a body at the tip, or show another one already."""
    if arm.robot.payload is not None:
        raise DalembertError(
            f"arm '{arm.name}' already holds a payload; give an arm that holds none, so that all of a load is identified"
        )
    if arm.mechanism.tip_body < 0:
        raise DalembertError(f"the tip of arm '{arm.name}' does not move; a load there has no effect on the torques")


class TipLoad:
    """The torques that a body at the tip of an arm adds, linear in its ten parameters."""

    def __init__(self, arm: Arm) -> None:
        self.arm = arm
        self.carry = carried(arm.mechanism.tip)

    @cached_property
    def weighing(self) -> Arm:
        """The arm on which a load has weight, even if the weight of the links is carried otherwise."""
        if not self.arm.mechanism.tree.lifts:
            return self.arm
        return self.arm.replace(links=tuple(replace(link, weight=1.0) for link in self.arm.robot.links))

    def regressor(self, piece: Stretch) -> Array:
        """(N, n, 10): the torque of every joint per unit of m, m c, I about the tip's origin."""
        at = WIDTH * self.arm.mechanism.tip_body
        return self.weighing.regressor(*piece.states)[:, :, at : at + 10] @ self.carry


def point_mass(mass: float, com: Array) -> Array:
    """(10,) parameters of a point mass at ``com`` (3,)."""
    I = mass * (float(com @ com) * np.eye(3) - np.outer(com, com))
    return np.array([mass, *(mass * com), *I[np.triu_indices(3)]])
