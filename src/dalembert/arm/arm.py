"""The Arm: what a user holds. Words outside; the letters are in ``equations/``.

What is compiled for the robot stands in ``dynamics.py`` and ``kinematics.py``. The methods here make other arms, or
hand on to the rooms that use an arm: these are imported when a method is called, so that importing an arm is cheap and
imports point one way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm.dynamics import Dynamics
from dalembert.arm.kinematics import Kinematics
from dalembert.arrays import double, number
from dalembert.errors import ShapeError
from dalembert.robot.inertia import Inertia
from dalembert.robot.model import Robot

if TYPE_CHECKING:
    from dalembert.analysis.ellipsoid import Ellipsoid, Polytope
    from dalembert.arm.in_coordinates import ArmInCoordinates
    from dalembert.identification.base import BaseParameters
    from dalembert.identification.formulas import SymbolicBaseParameters
    from dalembert.symbols.present import Equations
    from dalembert.tip.operational import OperationalSpace


class Arm(Dynamics, Kinematics):
    """A robot with its dynamics, compiled on first use.

    Every method takes arrays whose last axis is the joints and broadcasts over all leading axes;
    float32 in gives float32 out, everything else (float16, longdouble, integers, bool, lists, mixtures) float64.
    Ellipsoids and polytopes are always float64. SI units, radians.

    >>> import dalembert as da
    >>> arm = da.load("planar-2r")
    >>> arm.inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]).round(2)
    array([1030.05,  245.25])
    """

    def __new__(cls, robot: Robot) -> Arm:
        """An arm; of a robot with loops, a :class:`dalembert.arm.closed_arm.ClosedArm`."""
        if cls is Arm and (robot.loops or robot.couplings):
            from dalembert.arm.closed_arm import ClosedArm

            return object.__new__(ClosedArm)
        return object.__new__(cls)

    def __repr__(self) -> str:
        return f"<Arm {self.name!r}: {self.n} joints>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arm) and self.robot == other.robot

    def __hash__(self) -> int:
        return hash(self.robot)

    def __reduce__(self) -> Any:
        return (Arm, (self.robot,))

    # -- other arms ----------------------------------------------------------------------------------

    def replace(self, **changes: Any) -> Arm:
        """A new arm whose robot has some fields changed, such as ``gravity=(0, 0, 0)``."""
        return Arm(self.robot.replace(**changes))

    def with_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None) -> Arm:
        """A new arm that holds a body at its tip.

        mass in kg, com in the tip's frame (m), inertia 3×3 about the body's centre of mass (kg m²);
        without it the body is a point. Replaces the payload that was there.

        >>> import dalembert as da
        >>> arm = da.load("planar-2r").with_payload(10.0)
        >>> arm.gravity_torque([0.0, 0.0]).round(2)
        array([1226.25,  343.35])
        """
        tensor = np.zeros((3, 3)) if inertia is None else double("the payload's inertia", inertia)
        if tensor.shape != (3, 3):
            raise ShapeError(f"the payload's inertia has shape {tensor.shape}; it must be (3, 3)")
        where = double("the payload's com", com)
        if where.shape != (3,):
            raise ShapeError(f"the payload's com has shape {where.shape}; it must be (3,)")
        body = Inertia(number("the payload's mass", mass), tuple(where.tolist()), tensor.tolist())
        if (problem := body.impossible()) is not None:
            raise ShapeError(f"no payload can be like this: {problem}")
        return Arm(self.robot.replace(payload=body))

    def with_loop(self, loop: Any = None, **fields: Any) -> Arm:
        """A new arm, two of whose links are joined again: a closed chain, S 7.3.3.

        loop    a :class:`dalembert.robot.loops.Loop`, or its fields by name: name, link_a, placement_a,
                link_b, placement_b (a Placement, or three numbers), kind ("revolute", "connect", "weld"),
                axis, passive (names of joints), branch ({joint: position})
        Works for arms from every kind of file, URDF too; several loops are added one after the other.
        """
        from dalembert.arm.closed_arm import with_loops

        return with_loops(self, [fields if loop is None else loop])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the robot to a ``.toml`` or ``.urdf`` file, whole or not at all."""
        from dalembert.robot.load import save_robot

        save_robot(self.robot, path)

    # -- the tip -------------------------------------------------------------------------------------

    def operational_space(
        self,
        frame: str = "tip",
        orientation: str = "zyz",
        task: str | Sequence[str] | None = None,
        damping: float | None = None,
    ) -> OperationalSpace:
        """The dynamic model in operational space, S 7.8: ``.inertia(q) .coriolis(q, qd) .gravity(q) .torque(…)``.

        frame        "tip", or a link's name
        orientation  "zyz", "rpy", "quaternion" or "geometric"
        task         "pose", "position", "orientation", or rows like "xy" or "x y yaw"; without it the
                     rows that this arm can move
        damping      a number, to go through singularities damped instead of raising an error there

        >>> import dalembert as da
        >>> da.load("puma560").operational_space(orientation="zyz").rows
        ('x', 'y', 'z', 'phi', 'theta', 'psi')
        """
        from dalembert.tip.operational import OperationalSpace

        return OperationalSpace(self, frame, orientation, task, damping)

    def dynamic_manipulability(
        self,
        q: ArrayLike,
        torque_limits: ArrayLike | str | None = None,
        task: str | Sequence[str] | None = None,
        *,
        redundancy: Literal["pseudo-inverse", "dynamic", "exact"] = "pseudo-inverse",
        gravity: bool = True,
        frame: str = "tip",
    ) -> Ellipsoid:
        """The dynamic manipulability ellipsoid, S (7.148): tip accelerations that τᵀτ ≤ 1 makes from rest.

        torque_limits  (n,), or "arm" for the robot's own: then Σ (τ_i / limit_i)² ≤ 1
        task           rows like "xy"; without it the rows of the position that this arm can move
        redundancy     "pseudo-inverse": joint accelerations of least norm, as S has it; "dynamic": the
                       dynamically consistent J̄ in its place; "exact": all accelerations those torques reach
        gravity        False leaves the centre at 0

        >>> import dalembert as da
        >>> e = da.load("planar-3r").dynamic_manipulability([0.4, 0.7, -0.5], task="xy")
        >>> e.center.round(2), e.radii.round(3)
        (array([  0.49, -10.48]), array([0.205, 0.056]))
        """
        from dalembert.analysis.ellipsoid import dynamic_manipulability

        return dynamic_manipulability(self, q, torque_limits, task, redundancy=redundancy, gravity=gravity, frame=frame)

    def acceleration_polytope(
        self,
        q: ArrayLike,
        torque_limits: ArrayLike | str = "arm",
        task: str | Sequence[str] | None = None,
        *,
        gravity: bool = True,
        frame: str = "tip",
    ) -> Polytope:
        """Exactly the tip accelerations that torques |τ_i| ≤ limit_i make from rest: what motors can do."""
        from dalembert.analysis.ellipsoid import acceleration_polytope

        return acceleration_polytope(self, q, torque_limits, task, gravity=gravity, frame=frame)

    def velocity_manipulability(
        self, q: ArrayLike, velocity_limits: ArrayLike | str | None = None, task: str | Sequence[str] | None = None
    ) -> Ellipsoid:
        """The ellipsoid of tip velocities that q̇ᵀq̇ ≤ 1 makes; ``velocity_limits`` scale the joints."""
        from dalembert.analysis.ellipsoid import velocity_manipulability

        return velocity_manipulability(self, q, velocity_limits, task)

    def force_manipulability(
        self, q: ArrayLike, torque_limits: ArrayLike | str | None = None, task: str | Sequence[str] | None = None
    ) -> Ellipsoid:
        """The ellipsoid of tip forces that τᵀτ ≤ 1 holds, τ = Jᵀ h, without the arm's weight."""
        from dalembert.analysis.ellipsoid import force_manipulability

        return force_manipulability(self, q, torque_limits, task)

    def static_manipulability(
        self, q: ArrayLike, torque_limits: ArrayLike | str | None = None, task: str | Sequence[str] | None = None
    ) -> Ellipsoid:
        """The ellipsoid of tip forces that τᵀτ ≤ 1 holds besides the arm's weight: |g + Jᵀ h| ≤ 1."""
        from dalembert.analysis.ellipsoid import static_manipulability

        return static_manipulability(self, q, torque_limits, task)

    # -- closed forms --------------------------------------------------------------------------------

    def equations(self, parameters: str = "nonzero", progress: Callable[[float], None] | None = None) -> Equations:
        """B, C, g and τ in closed form: SymPy with S's letters, LaTeX, text.

        parameters  "nonzero": every number that is not zero becomes a letter; "all": all ten inertial
                    parameters of every link, S (7.77); "numbers": only the joint variables are letters
        progress    called with the fraction done

        >>> import dalembert as da
        >>> da.load("planar-2r").equations().g[1]
        c_12*g*l_2*m_l2
        """
        from dalembert.symbols.present import equations

        return equations(self.robot, parameters, progress)

    def in_coordinates(self, T: Any, offset: ArrayLike | None = None) -> ArmInCoordinates:
        """The same arm in other generalized coordinates y, with q = T y + offset: S Problem 7.6.

        T is an n×n matrix; "absolute" for the angles of the links with the base, where joints are
        parallel; or a function y → q that runs on SymPy symbols.

        >>> import dalembert as da
        >>> da.load("planar-2r").in_coordinates("absolute").equations().B[0, 1]
        -I_m2*k_r2**2 + I_m2*k_r2 + a_1*c_2m1*l_2*m_l2
        """
        from dalembert.arm.in_coordinates import in_coordinates

        return in_coordinates(self, T, offset)

    def base_parameters(
        self, lengths: str | None = None, tolerance: float | None = None, **columns: Any
    ) -> BaseParameters | SymbolicBaseParameters:
        """What a motion can tell of the parameters: the fewest combinations that determine the torques.

        lengths    "symbols" for formulas with letters for the lengths, "numbers" for formulas with the arm's own;
                   both exact. Unless given, numerically, from the regressor at random states
        tolerance  of the numerical way, see :func:`dalembert.identification.base.base_parameters`
        columns    which parameters count, as :class:`dalembert.identification.parameters.ParameterSet` has them:
                   friction, two_sided, offset, rotor, only

        >>> import dalembert as da
        >>> found = da.load("pendulum").base_parameters("symbols", friction=(), rotor=False)
        >>> found.formulas
        ('Î_1zz − a_1² m_1', 'm_1ℓ_C1x + a_1 m_1', 'm_1ℓ_C1y')
        """
        from dalembert.identification.base import TOLERANCE, base_parameters
        from dalembert.identification.formulas import symbolic_base_parameters
        from dalembert.identification.parameters import ParameterSet

        chosen = ParameterSet(self, **columns)
        if lengths is None:
            return base_parameters(chosen, tolerance=TOLERANCE if tolerance is None else tolerance)
        return symbolic_base_parameters(chosen, lengths)
