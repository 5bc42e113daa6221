"""The Arm: what a user holds. Words outside; the letters are in ``equations/``.

What is compiled for the robot stands in ``dynamics.py`` and ``kinematics.py``. The methods here make other arms, or
hand on to the rooms that use an arm, through the table ``HANDS_ON``: these are imported when a method is called,
so that importing an arm is cheap and imports point one way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm.compiled import Array
from dalembert.arm.coordinates import Coordinates
from dalembert.arm.derivatives import ArmDerivatives
from dalembert.arm.dynamics import ArmDynamics
from dalembert.arm.handed_on import handed_on
from dalembert.arm.kinematics import Kinematics
from dalembert.arm.rollouts import Rollouts
from dalembert.arm.variants import Variants
from dalembert.arrays import double, number
from dalembert.errors import ShapeError
from dalembert.robot.inertia import Inertia
from dalembert.robot.model import Robot
from dalembert.robot.omissions import omissions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.analysis.couplings import Couplings
    from dalembert.analysis.ellipsoid import Ellipsoid, Polytope
    from dalembert.analysis.omissions import Omissions
    from dalembert.identification.base import BaseParameters
    from dalembert.identification.formulas import SymbolicBaseParameters
    from dalembert.symbols.present import Equations
    from dalembert.tip.operational import OperationalSpace
    from dalembert.web.page import Page


# what the methods of an arm hand on to, in rooms that use it: imported when it is first called
HANDS_ON = {
    "operational_space": "tip.operational:OperationalSpace",
    "dynamic_manipulability": "analysis.ellipsoid:dynamic_manipulability",
    "acceleration_polytope": "analysis.ellipsoid:acceleration_polytope",
    "velocity_manipulability": "analysis.ellipsoid:velocity_manipulability",
    "manipulability": "analysis.ellipsoid:manipulability",
    "force_manipulability": "analysis.ellipsoid:force_manipulability",
    "static_manipulability": "analysis.ellipsoid:static_manipulability",
    "couplings": "analysis.couplings:couplings",
    "approximate": "identification.small:without_small_parameters",
    "omissions": "analysis.omissions:omissions",
    "base_parameters": "identification.formulas:base_parameters_of",
    "plot": "report.arm_figures:arm_figure",
    "page": "web.page:page_of",
    "_repr_html_": "report.notebook:arm_html",
}


@lru_cache(maxsize=32)
def _arm_of(robot: Robot, contacts: tuple[str, ...] = ()) -> Arm:
    """The arm of a robot that has come from another process: one for all that come, so that they share its kernels."""
    return Arm(robot, contacts)


class Arm(ArmDynamics, Kinematics, Coordinates, ArmDerivatives, Rollouts):
    """A robot with its dynamics, compiled on first use.

    Every method takes arrays whose last axis is the joints and broadcasts over all leading axes;
    float32 in gives float32 out, everything else (float16, longdouble, integers, bool, lists, mixtures) float64.
    Ellipsoids and polytopes are always float64. SI units, radians. Large batches are split over the CPUs that the process
    may use, at most OMP_NUM_THREADS; ``threads=`` says over how many threads, and the results have the same bits.

    >>> import dalembert as da
    >>> arm = da.load("planar-2r")
    >>> arm.inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]).round(2)
    array([1030.05,  245.25])
    """

    def __repr__(self) -> str:
        loops, following = len(self.loops), len(self.passive_names)
        joints = f"{self.n} {'actuated ' if loops else ''}joint" + "s" * (self.n != 1)
        chains = f", {loops} closed chain" + "s" * (loops != 1) if loops else f", {following} coupled" * bool(following)
        without = f", without {', '.join(self.omitted)}" if self.omitted else ""
        return f"<Arm {self.name!r}: {joints}{chains}{without}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arm) and self.robot == other.robot and self.contacts == other.contacts

    def __hash__(self) -> int:
        return hash(self.robot)

    def __reduce__(self) -> Any:
        return (_arm_of, (self.robot, self.contacts))

    # -- other arms ----------------------------------------------------------------------------------

    @cached_property
    def tree(self) -> Arm:
        """The arm with nothing that ties its joints to each other: its q is that of all joints of the tree."""
        return self if self.robot.tree is self.robot else Arm(self.robot.tree)

    def replace(self, **changes: Any) -> Arm:
        """A new arm whose robot has some fields changed, such as ``gravity=(0, 0, 0)``."""
        return Arm(self.robot.replace(**changes))

    def approximate(self, drop: str | Sequence[str] = (), *, small: float | None = None, motion: Any = None) -> Arm:
        """A new arm whose torques leave out summands of S (7.40), M (4.1): an approximate model, traced and compiled anew.

        drop  names, to which those that were dropped before are added:
              "coriolis"        (h_ijk + h_ikj) q̇_j q̇_k, j < k, the pairs of different joints
              "centrifugal"     h_ijj q̇_j²; with "coriolis" all velocity terms go
              "off-diagonal"    b_ij q̈_j, i ≠ j
              "rotor-coupling"  what rotors add besides k_r² I_m (S 7.3.2)
              "rotational"      M's D_rot and h_rot: inertia tensors about the centres of mass, and rotor inertias
              "translational"   M's D_tran and h_tran; gravity stays
        small, motion
              leave out, too, the parameters that matter least along the motion, as many as change the torque of no joint by
              more than this share of its RMS; ``robot.notes`` names them
        The names are read in the coordinates that the arm holds. Gravity, friction, springs and contact stay, and
        friction that depends on the load sees the load of the approximate model.

        >>> import dalembert as da
        >>> arm = da.load("puma560")
        >>> lighter = arm.approximate(drop=("coriolis", "centrifugal"))
        >>> lighter
        <Arm 'puma560': 6 joints, without coriolis, centrifugal>
        >>> operations = [a.operations("inverse_dynamics").compiled.total for a in (arm, lighter)]
        >>> operations[1] < operations[0]
        True
        """
        less = self.replace(omitted=(*self.omitted, *omissions(drop)))
        return less if small is None and motion is None else handed_on(HANDS_ON, "approximate")(less, small, motion)

    def omissions(
        self, motion: Any, tip_wrench: ArrayLike | None = None, further: Mapping[tuple[str, ...], Arm] | None = None
    ) -> Omissions:
        """What can be neglected along a motion: for each name of :meth:`approximate`, and for some together, the error and
        what it saves.

        motion      a Trajectory, or anything with .t (N,), .q, .qd, .qdd (N, n)
        tip_wrench  (6,) by the tip on its environment, in base axes
        further     more approximate models to judge, such as {("small parameters",): arm.approximate(small=0.01, motion=motion)}
        Returns     a table: ``["coriolis"].share`` (n,) of the RMS torque, ``.error.rms`` and ``.error.peak`` (n,) in N m
                    (N where a joint slides), ``.operations`` of inverse dynamics; ``str()`` shows it

        >>> import dalembert as da
        >>> arm, motion = da.load("planar-2r"), da.polynomial([0.0, 0.0], [1.0, -1.0], 1.0)
        >>> study = arm.omissions(motion)
        >>> study["rotor-coupling"].share.round(4), study.negligible(0.01)
        (array([0.0028, 0.0095]), ('rotor-coupling',))
        """
        return handed_on(HANDS_ON, "omissions")(self, motion, tip_wrench, further)

    @property
    def omitted(self) -> tuple[str, ...]:
        """What an approximate model leaves out; empty for the whole model."""
        return self.robot.omitted

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

    def variants(
        self,
        parameters: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        payload: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        gears: ArrayLike | None = None,
    ) -> Variants:
        """This arm with other numbers, as many sets of them as the leading axes have: a batch of different robots.

        parameters  (…, 13N) in place of :attr:`parameters`: masses, first moments, inertias of the augmented links, rotor
                    inertias and friction; masses and places of rotors stay, and the difference of two Coulomb levels
        lengths     (…, 6N + 3) in place of :attr:`lengths` (m); inertias stay where they are in the frame of their link.
                    Not of closed chains
        payload     (…, 10) one more body at the tip: m (kg), m c (kg m), I_xx, I_xy, I_xz, I_yy, I_yz, I_zz (kg m²) about the
                    tip's origin, in its axes
        gravity     (…, 3) in m/s², in the base frame
        gears       (…, N) in place of :attr:`gears`: k_r with its sign; friction of motors, which is counted at the joint's
                    side, is among the parameters and stays
        Returns     an object with the arm's methods, compiled once for all numbers; their arrays broadcast with q's

        >>> import numpy as np, dalembert as da
        >>> arm, q = da.load("planar-2r"), np.array([0.3, 0.8])
        >>> moon, earth = arm.variants(gravity=[[0, -1.62, 0], [0, -9.81, 0]]).gravity_torque(q)
        >>> np.allclose(earth, arm.gravity_torque(q)), np.allclose(moon, 1.62 / 9.81 * earth)
        (True, True)
        """
        numbers = {"parameters": parameters, "lengths": lengths, "payload": payload, "gravity": gravity}
        numbers["gears"] = gears
        return Variants(self, {name: value for name, value in numbers.items() if value is not None})

    def with_loop(self, loop: Any = None, **fields: Any) -> Arm:
        """A new arm, two of whose links are joined again: a closed chain, S 7.3.3.

        loop    a :class:`dalembert.Loop`, or its fields by name: name, link_a, placement_a,
                link_b, placement_b (a Placement, or three numbers), kind ("revolute", "connect", "weld"),
                axis, passive (names of joints), branch ({joint: position})
        Works for arms from every kind of file, URDF too; several loops are added one after the other.
        """
        return Arm(self.robot.with_loop(fields if loop is None else loop))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the robot to a ``.toml`` or ``.urdf`` file, whole or not at all; ``overwrite=False`` leaves a file that exists."""
        from dalembert.robot.load import save_robot

        save_robot(self.robot, path, overwrite=overwrite)

    # -- the tip -------------------------------------------------------------------------------------

    def operational_space(
        self,
        frame: str = "tip",
        orientation: str = "zyz",
        task: str | Sequence[str] | None = None,
        damping: float | None = None,
        threads: int | None = None,
    ) -> OperationalSpace:
        """The dynamic model in operational space, S 7.8: ``.inertia(q) .coriolis(q, qd) .gravity(q) .torque(…)``.

        frame        "tip", or a link's name
        orientation  "zyz", "rpy", "quaternion" or "geometric"
        task         "pose", "position", "orientation", or rows like "xy" or "x y yaw"; without it the
                     rows that this arm can move
        damping      a number, to go through singularities damped instead of raising an error there
        threads      over how many threads its methods split a large batch; chosen by its size unless given

        >>> import dalembert as da
        >>> da.load("puma560").operational_space(orientation="zyz").rows
        ('x', 'y', 'z', 'phi', 'theta', 'psi')
        """
        return handed_on(HANDS_ON, "operational_space")(self, frame, orientation, task, damping, threads)

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
        return handed_on(HANDS_ON, "dynamic_manipulability")(
            self, q, torque_limits, task, redundancy=redundancy, gravity=gravity, frame=frame
        )

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
        return handed_on(HANDS_ON, "acceleration_polytope")(self, q, torque_limits, task, gravity=gravity, frame=frame)

    def velocity_manipulability(
        self, q: ArrayLike, velocity_limits: ArrayLike | str | None = None, task: str | Sequence[str] | None = None
    ) -> Ellipsoid:
        """The ellipsoid of tip velocities that q̇ᵀq̇ ≤ 1 makes; ``velocity_limits`` scale the joints."""
        return handed_on(HANDS_ON, "velocity_manipulability")(self, q, velocity_limits, task)

    def manipulability(
        self, q: ArrayLike, task: str | Sequence[str] | None = None, *, dynamic: bool = False, frame: str = "tip"
    ) -> Array:
        """The manipulability measure w = √det(J Jᵀ) of S (3.56): (…), |det J| of a nonredundant arm, 0 at singularities.

        task     rows like "xy"; without it the rows of the position that this arm can move
        dynamic  True for the dynamic manipulability measure w_d = √det(J (BᵀB)⁻¹ Jᵀ), which is w / det B where the arm
                 has as many joints as the task has rows: S Problem 7.11

        >>> import dalembert as da
        >>> arm, q = da.load("planar-2r"), [0.3, 1.0]
        >>> w, w_d = arm.manipulability(q), arm.manipulability(q, dynamic=True)
        >>> w.round(4), (w_d * np.linalg.det(arm.inertia_matrix(q))).round(4)  # a_1 a_2 |s_2|
        (np.float64(0.8415), np.float64(0.8415))
        """
        return handed_on(HANDS_ON, "manipulability")(self, q, task, dynamic=dynamic, frame=frame)

    def force_manipulability(
        self, q: ArrayLike, torque_limits: ArrayLike | str | None = None, task: str | Sequence[str] | None = None
    ) -> Ellipsoid:
        """The ellipsoid of tip forces that τᵀτ ≤ 1 holds, τ = Jᵀ h, without the arm's weight."""
        return handed_on(HANDS_ON, "force_manipulability")(self, q, torque_limits, task)

    def static_manipulability(
        self, q: ArrayLike, torque_limits: ArrayLike | str | None = None, task: str | Sequence[str] | None = None
    ) -> Ellipsoid:
        """The ellipsoid of tip forces that τᵀτ ≤ 1 holds besides the arm's weight: |g + Jᵀ h| ≤ 1."""
        return handed_on(HANDS_ON, "static_manipulability")(self, q, torque_limits, task)

    # -- structure -----------------------------------------------------------------------------------

    def couplings(self) -> Couplings:
        """Which b_ij, h_ijk and g_i are zero, and why: ``.inertia`` (n, n), ``.velocity`` (n, n, n), ``.gravity`` (n,).

        Arrays of "always", "structure", "numbers" and "nonzero": S 7.1.3 and 7.3.3, M section 2. ``.at(q)`` names those
        that are zero at one configuration, ``.condition("b", 1, 2)`` the design for which one is zero at all of them;
        ``print(arm.couplings())`` is a table. In the coordinates held, for arms with couplings and closed chains too.

        >>> import dalembert as da
        >>> da.load("cartesian-2").couplings().inertia[0, 1], da.load("cartesian-2-45").couplings().inertia[0, 1]
        (np.str_('structure'), np.str_('nonzero'))
        """
        return handed_on(HANDS_ON, "couplings")(self)

    # -- closed forms --------------------------------------------------------------------------------

    def equations(self, parameters: str = "nonzero", progress: Callable[[float], None] | None = None) -> Equations:
        """B, C, g, τ, energies and regressor in closed form: SymPy with S's letters, LaTeX, text, and the derivation.

        parameters  "nonzero": every number that is not zero becomes a letter; "all": all ten inertial
                    parameters of every link, S (7.77); "numbers": only the joint variables are letters
        progress    called with the fraction done

        >>> import dalembert as da
        >>> da.load("planar-2r").equations().g[1]
        c_12*g*l_2*m_l2
        >>> da.load("parallelogram").equations().text("g2")
        "g_2 = (m_ℓ2' ℓ_2' + m_ℓ3' a_1'' + m_ℓ1'' ℓ_1'') g c_1''"
        """
        from dalembert.symbols.of_robot import equations_of

        return equations_of(self.robot, self.mechanism, parameters, progress)  # type: ignore[return-value]

    def in_coordinates(self, T: Any, offset: ArrayLike | None = None) -> Arm:
        """The same arm in other generalized coordinates y, with q = T y + offset: S Problem 7.6.

        T is an n×n matrix; "absolute" for the angles of the links with the base, where joints are
        parallel; or a function y → q that runs on SymPy symbols and gives a list of formulas with sin, cos,
        tan, asin, acos, atan, atan2, exp, log, tanh, sqrt, Abs and powers. The arm that is returned can do all that an arm can; its joints are y_1, y_2, …,
        and ``tree_positions(y)`` begins with the ``tree_positions(q)`` of this one, which is q where nothing follows.

        >>> import dalembert as da
        >>> da.load("planar-2r").in_coordinates("absolute").equations().B[0, 1]
        -I_m2*k_r2**2 + I_m2*k_r2 + a_1*c_2m1*l_2*m_l2
        """
        from dalembert.arm.in_coordinates import in_coordinates

        return Arm(in_coordinates(self, T, offset))

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
        >>> base = da.load("pendulum").base_parameters("symbols", friction=(), rotor=False)
        >>> base.formulas
        ('Î_1zz − a_1² m_1', 'm_1ℓ_C1x + a_1 m_1', 'm_1ℓ_C1y')
        """
        return handed_on(HANDS_ON, "base_parameters")(self, lengths, tolerance, **columns)

    # -- seeing it -----------------------------------------------------------------------------------

    def plot(self, q: ArrayLike | Any | None = None) -> Figure:
        """A matplotlib Figure of the arm: in its plane if it stays in one, else from a corner and from the side.

        q  (n,) the configuration, its home unless given; (N, n) several, of which the last is drawn in full and the
           others as ghosts; or a motion (a Trajectory, a Run), with the path of the tip

        Revolute joints are cylinders along their axes, prismatic joints blocks; the tip has its frame.

        >>> import dalembert as da
        >>> [axes.get_title("left") for axes in da.load("panda").plot().axes]
        ['panda, from a corner', 'panda, from the side']
        """
        return handed_on(HANDS_ON, "plot")(self, q)

    def page(self, motions: Any = None, *, title: str | None = None) -> Page:
        """The live page of the arm, which a notebook shows and ``.write(path)`` writes; see :func:`dalembert.write_page`.

        >>> import dalembert as da
        >>> da.load("pendulum").page()
        Page(notes=())
        """
        return handed_on(HANDS_ON, "page")(self, motions, title=title)

    def _repr_html_(self) -> str:
        return handed_on(HANDS_ON, "_repr_html_")(self)
