"""Many robots at once: an arm whose numbers are arrays, one robot per set of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm.arm_rollouts import Rollouts
from dalembert.arm.compiled import Array
from dalembert.arm.coordinates import Coordinates, Kinematics
from dalembert.arm.damping import Pole, fastest, friction_slopes, some_poses
from dalembert.arm.derivatives import ArmDerivatives
from dalembert.arm.dynamics import ArmDynamics
from dalembert.base.algebra.records import settle
from dalembert.base.environment.cached_property import cached_property
from dalembert.compiler.foreign.libraries import TITLES, constant, library_of
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import WIDTH
from dalembert.robot.model.robot import Frame

if TYPE_CHECKING:
    from dalembert.arm.arm import Arm

FEW_POSES = 4  # poses at which the fastest pole of many robots is computed
VISCOUS = 11  # index of F_v among the parameters of a joint


class Variants(ArmDynamics, Kinematics, Coordinates, ArmDerivatives, Rollouts):
    """The compiled quantities of an arm whose mechanism's numbers are arrays: :meth:`Arm.variants` creates it.

    Its methods are the methods of the arm that compute a quantity. The leading axes of the numbers broadcast with those
    of q, q̇ and the other inputs.

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("planar-2r")
    >>> heavier = arm.parameters * np.linspace(1.0, 1.2, 5)[:, None, None]  # five robots
    >>> arm.variants(parameters=heavier).gravity_torque(np.zeros((3, 2))).shape  # in three postures
    (5, 3, 2)
    """

    arm: Arm

    def __init__(self, arm: Arm, numbers: Mapping[str, ArrayLike]) -> None:
        super().__init__(arm.robot)
        settle(self, arm=arm, mechanism=arm.mechanism, _kernels=arm._kernels)
        checked = {
            name: (self.fitting if library_of(value) else self.checked)(name, value) for name, value in numbers.items()
        }
        settle(self, numbers=checked)
        if "lengths" in numbers and self.loops:
            raise DalembertError(
                f"lengths cannot be inputs of arm '{self.name}', because its loops are closed for the lengths that it has; change "
                "the robot, arm.replace(joints=…), for each set of lengths"
            )

    @cached_property
    def _damping(self) -> Pole:
        """The fastest pole of all robots at a few poses; that of the arm if the numbers are not known yet."""
        if any(library_of(value) for value in self.numbers.values()) or not self.mechanism.identity:
            return self.arm._damping
        poses = some_poses(self.arm)[:FEW_POSES]
        lead = max(value.ndim for value in self.numbers.values()) - 1
        B = np.asarray(self.inertia_matrix(poses.reshape(-1, *(1,) * lead, self.n)), np.float64)
        D = friction_slopes(self.mechanism, poses[:1])[0] + np.zeros((*B.shape[1:-2], 1, 1))
        if "parameters" in self.numbers:
            viscous = slice(VISCOUS, WIDTH * self.n, WIDTH)
            D = D + (self.parameters - self.arm.parameters)[..., viscous, None] * np.eye(self.n)
        return fastest(B.reshape(-1, self.n, self.n), np.broadcast_to(D, B.shape).reshape(-1, self.n, self.n))

    def _with_contacts(self, frames: tuple[str, ...]) -> Variants:
        return Variants(self.arm.touching(frames), self.numbers)

    def _with_tip(self, tip: Frame) -> Variants:
        arm, numbers = self.arm.ending_at(tip.name), dict(self.numbers)
        if "lengths" in numbers:  # the last three are those of the arm's own tip
            lengths = numbers["lengths"]
            if library_of(lengths) is not None:
                raise DalembertError(
                    f"the frame '{tip.name}' is not available for arms whose lengths are {TITLES[library_of(lengths) or '']}; give "
                    "lengths as a NumPy array"
                )
            own = np.broadcast_to(np.array(arm.mechanism.tip.translation, float), (*lengths.shape[:-1], 3))
            numbers["lengths"] = np.concatenate([lengths[..., :-3], own], axis=-1)
        return Variants(arm, numbers)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in self.numbers.items())
        return f"<Variants of {self.arm!r}: {shapes}>"

    def __reduce__(self) -> Any:
        return Variants, (self.arm, self.numbers)

    @property
    def nominal(self) -> Arm:
        """The arm itself."""
        return self.arm

    @property
    def parameters(self) -> Array:
        """π of S (7.81) of each robot: (…, 13N); by default those of the arm."""
        return self.numbers.get("parameters", self.arm.parameters)

    @constant
    def _needs_for_friction(self, no_q: bool, no_load: bool) -> None:
        """The check of the arm; q is also needed if Γ is not constant, since every joint may have friction."""
        if no_q and "parameters" in self.numbers and not self.mechanism.linear:
            raise DalembertError(
                f"the friction of arm '{self.name}' depends on its configuration, since passive joints may have friction: give "
                "friction_torque(qd, q=q)"
            )
        super()._needs_for_friction(no_q, no_load)

    @constant
    def _needs_inertia(self) -> None:
        """No check: other parameters may have inertia where the arm has none; if not, accelerations are not finite."""
        if not {"parameters", "payload"} & set(self.numbers):
            super()._needs_inertia()
