"""The class Arm, with which users work. It is documented in words; the letters are in ``equations/``.

Quantities compiled for the robot are in ``dynamics.py`` and ``coordinates.py``. The methods here make other arms, or
delegate to packages that use an arm, through the table ``DELEGATES``: these are imported when a method is called, so
that importing an arm is cheap and imports point in one direction.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm.arm_rollouts import Rollouts
from dalembert.arm.compiled import Array
from dalembert.arm.coordinates import Coordinates, Kinematics
from dalembert.arm.delegates import delegate
from dalembert.arm.derivatives import ArmDerivatives
from dalembert.arm.dynamics import ArmDynamics
from dalembert.arm.in_coordinates import in_coordinates
from dalembert.arm.variants import Variants
from dalembert.base.arrays import double, number
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.files.file_bounds import check_size
from dalembert.errors import ShapeError
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.omitted_terms import omissions
from dalembert.robot.model.robot import Robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.mechanics.symbols.present import Equations
    from dalembert.views.web.live_page import Page
    from dalembert.work.analysis.base_formulas import BaseParameters, SymbolicBaseParameters
    from dalembert.work.analysis.coupling_analysis import Couplings
    from dalembert.work.analysis.ellipsoid import Ellipsoid, Polytope
    from dalembert.work.analysis.negligible_terms import Omissions
    from dalembert.work.tip.operational import OperationalSpace


# functions to which the methods of an arm delegate, in packages that use it: imported on the first call
DELEGATES = {
    "operational_space": "work.tip.operational:OperationalSpace",
    "dynamic_manipulability": "work.analysis.ellipsoid:dynamic_manipulability",
    "acceleration_polytope": "work.analysis.ellipsoid:acceleration_polytope",
    "velocity_manipulability": "work.analysis.ellipsoid:velocity_manipulability",
    "manipulability": "work.analysis.ellipsoid:manipulability",
    "force_manipulability": "work.analysis.ellipsoid:force_manipulability",
    "static_manipulability": "work.analysis.ellipsoid:static_manipulability",
    "couplings": "work.analysis.coupling_analysis:couplings",
    "approximate": "work.analysis.small_parameters:without_small_parameters",
    "omissions": "work.analysis.negligible_terms:omissions",
    "base_parameters": "work.analysis.base_formulas:base_parameters_of",
    "plot": "views.report.arm_figures:arm_figure",
    "page": "views.web.live_page:page_of",
    "_repr_html_": "views.report.notebook:arm_html",
}


@lru_cache(maxsize=32)
def _arm_of(robot: Robot, contacts: tuple[str, ...] = ()) -> Arm:
    """The arm of a robot received from another process: one object for all equal robots, so that they share kernels."""
    return Arm(robot, contacts)


def _arm_of_class(cls: type[Arm], robot: Robot, contacts: tuple[str, ...]) -> Arm:
    """An arm of a user's class received from another process, without a call of the class's own ``__init__``."""
    arm = cls.__new__(cls)
    Arm.__init__(arm, robot, contacts)
    return arm


class Arm(ArmDynamics, Kinematics, Coordinates, ArmDerivatives, Rollouts):
    """A robot with its dynamics, compiled on first use.

    Every method takes arrays whose last axis is the joints and broadcasts over all leading axes. If all arrays are
    float32, so is the result; otherwise (float16, longdouble, integers, bool, lists, mixtures) it is float64.
    Ellipsoids and polytopes are always float64. Units are SI, angles are in radians. Large batches are split over the
    CPUs available to the process, at most OMP_NUM_THREADS; ``threads=`` sets the number of threads, and the result is
    bitwise the same for any number.

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
        if type(self) is Arm:
            return _arm_of, (self.robot, self.contacts)
        state = vars(Arm(self.robot, self.contacts))
        own = {name: value for name, value in vars(self).items() if name not in state and not hasattr(Arm, name)}
        return _arm_of_class, (type(self), self.robot, self.contacts), own or None

    # -- other arms ----------------------------------------------------------------------------------

    @cached_property
    def tree(self) -> Arm:
        """The arm without loops and couplings: its q holds the positions of all joints of the tree."""
        return self if self.robot.tree is self.robot else Arm(self.robot.tree)

    def replace(self, **changes: Any) -> Arm:
        """A new arm whose robot has the given fields replaced, such as ``gravity=(0, 0, 0)``."""
        return Arm(self.robot.replace(**changes))

    def approximate(self, drop: str | Sequence[str] = (), *, small: float | None = None, motion: Any = None) -> Arm:
        """A new arm whose torques omit terms of S (7.40), M (4.1): an approximate model, traced and compiled again.

        drop  names of terms, in addition to those dropped earlier:
              "coriolis"        (h_ijk + h_ikj) q̇_j q̇_k, j < k, the pairs of different joints
              "centrifugal"     h_ijj q̇_j²; together with "coriolis", all velocity terms
              "off-diagonal"    b_ij q̈_j, i ≠ j
              "rotor-coupling"  the contribution of rotors other than k_r² I_m (S 7.3.2)
              "rotational"      M's D_rot and h_rot: inertia tensors about the centres of mass, and rotor inertias
              "translational"   M's D_tran and h_tran; gravity is kept
        small, motion
              also omit the parameters that matter least along the motion: as many as possible without changing the
              torque of any joint by more than this fraction of its RMS; ``robot.notes`` names them
        The names refer to the coordinates of the arm. Gravity, friction, springs and contact are kept, and
        load-dependent friction is computed from the load of the approximate model.

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
        return less if small is None and motion is None else delegate(DELEGATES, "approximate")(less, small, motion)

    def omissions(
        self, motion: Any, tip_wrench: ArrayLike | None = None, further: Mapping[tuple[str, ...], Arm] | None = None
    ) -> Omissions:
        """Terms that can be neglected along a motion: for each name of :meth:`approximate`, and for some combinations, the
        error and the operations saved.

        motion      a Trajectory, or anything with .t (N,), .q, .qd, .qdd (N, n)
        tip_wrench  (6,) by the tip on its environment, in base axes
        further     more approximate models to assess, such as {("small parameters",): arm.approximate(small=0.01,
                    motion=motion)}
        Returns     a table: ``["coriolis"].share`` (n,) of the RMS torque, ``.error.rms`` and ``.error.peak`` (n,) in N m
                    (N for a prismatic joint), ``.operations`` of inverse dynamics; ``str()`` shows it

        >>> import dalembert as da
        >>> arm, motion = da.load("planar-2r"), da.polynomial([0.0, 0.0], [1.0, -1.0], 1.0)
        >>> study = arm.omissions(motion)
        >>> study["rotor-coupling"].share.round(4), study.negligible(0.01)
        (array([0.0028, 0.0095]), ('rotor-coupling',))
        """
        return delegate(DELEGATES, "omissions")(self, motion, tip_wrench, further)

    @property
    def omitted(self) -> tuple[str, ...]:
        """The terms that an approximate model omits; empty for the complete model."""
        return self.robot.omitted

    def with_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None) -> Arm:
        """A new arm that holds a body at its tip.

        mass in kg, com in the tip's frame (m), inertia 3×3 about the body's centre of mass (kg m²); without ``inertia``
        the body is a point mass. An existing payload is replaced.

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
        for what, values in (("mass", [body.mass]), ("com", where), ("inertia", tensor.flat)):
            for value in values:
                check_size(f"the payload's {what}", float(value))
        if (problem := body.impossible()) is not None:
            raise ShapeError(f"the payload is not physical: {problem}")
        return Arm(self.robot.replace(payload=body))

    def variants(
        self,
        parameters: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        payload: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        gears: ArrayLike | None = None,
    ) -> Variants:
        """This arm with other numerical values, one set per entry of the leading axes: a batch of different robots.

        parameters  (…, 13N) instead of :attr:`parameters`: masses, first moments, inertias of the augmented links,
                    rotor inertias and friction; the masses and positions of rotors and the difference between the two
                    Coulomb levels are kept
        lengths     (…, 6N + 3) instead of :attr:`lengths` (m); inertias keep their position in the frame of their link.
                    Not available for closed chains
        payload     (…, 10) one more body at the tip: m (kg), m c (kg m), I_xx, I_xy, I_xz, I_yy, I_yz, I_zz (kg m²) about the
                    tip's origin, in its axes
        gravity     (…, 3) in m/s², in the base frame
        gears       (…, N) instead of :attr:`gears`: k_r with its sign; motor friction, which is referred to the joint,
                    is part of the parameters and does not change
        Returns     an object with the arm's methods, compiled once for all values; its values broadcast with q

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
        """A new arm with one more loop joint, which closes the chain between two of its links: S 7.3.3.

        loop    a :class:`dalembert.Loop`, or its fields by name: name, link_a, placement_a,
                link_b, placement_b (a Placement, or three numbers), kind ("revolute", "connect", "weld"),
                axis, passive (names of joints), branch ({joint: position})
        This works for arms from every kind of file, including URDF; add several loops by calling the method repeatedly.
        """
        return Arm(self.robot.with_loop(fields if loop is None else loop))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the robot to a ``.toml`` or ``.urdf`` file, atomically; ``overwrite=False`` keeps an existing file."""
        from dalembert.robot.readers.load import save_robot

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

        frame        "tip", or the name of a link
        orientation  "zyz", "rpy", "quaternion" or "geometric"
        task         "pose", "position", "orientation", or rows such as "xy" or "x y yaw"; default: the rows in which
                     this arm can move
        damping      a number; the inverse is then damped near singularities instead of raising an error there
        threads      number of threads over which the methods split a large batch; default: chosen by its size

        >>> import dalembert as da
        >>> da.load("puma560").operational_space(orientation="zyz").rows
        ('x', 'y', 'z', 'phi', 'theta', 'psi')
        """
        return delegate(DELEGATES, "operational_space")(self, frame, orientation, task, damping, threads)

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
        """The dynamic manipulability ellipsoid, S (7.148): the tip accelerations that torques τᵀτ ≤ 1 produce from rest.

        torque_limits  (n,), or "arm" for the robot's own limits: then Σ (τ_i / limit_i)² ≤ 1
        task           rows such as "xy"; default: the position rows in which this arm can move
        redundancy     "pseudo-inverse": joint accelerations of least norm, as in S; "dynamic": the dynamically
                       consistent J̄ instead; "exact": every acceleration that those torques can produce
        gravity        False leaves the centre at 0

        >>> import dalembert as da
        >>> e = da.load("planar-3r").dynamic_manipulability([0.4, 0.7, -0.5], task="xy")
        >>> e.center.round(2), e.radii.round(3)
        (array([  0.49, -10.48]), array([0.205, 0.056]))
        """
        return delegate(DELEGATES, "dynamic_manipulability")(
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
        """The exact set of tip accelerations that torques |τ_i| ≤ limit_i produce from rest: the capability of the motors."""
        return delegate(DELEGATES, "acceleration_polytope")(self, q, torque_limits, task, gravity=gravity, frame=frame)

    def velocity_manipulability(
        self, q: ArrayLike, velocity_limits: ArrayLike | str | None = None, task: str | Sequence[str] | None = None
    ) -> Ellipsoid:
        """The ellipsoid of tip velocities that joint velocities q̇ᵀq̇ ≤ 1 produce; ``velocity_limits`` scale the joints."""
        return delegate(DELEGATES, "velocity_manipulability")(self, q, velocity_limits, task)

    def manipulability(
        self, q: ArrayLike, task: str | Sequence[str] | None = None, *, dynamic: bool = False, frame: str = "tip"
    ) -> Array:
        """The manipulability measure w = √det(J Jᵀ) of S (3.56): (…); |det J| for a nonredundant arm, 0 at singularities.

        task     rows such as "xy"; default: the position rows in which this arm can move
        dynamic  True for the dynamic manipulability measure w_d = √det(J (BᵀB)⁻¹ Jᵀ), which is w / det B if the arm has
                 as many joints as the task has rows: S Problem 7.11

        >>> import dalembert as da
        >>> arm, q = da.load("planar-2r"), [0.3, 1.0]
        >>> w, w_d = arm.manipulability(q), arm.manipulability(q, dynamic=True)
        >>> w.round(4), (w_d * np.linalg.det(arm.inertia_matrix(q))).round(4)  # a_1 a_2 |s_2|
        (np.float64(0.8415), np.float64(0.8415))
        """
        return delegate(DELEGATES, "manipulability")(self, q, task, dynamic=dynamic, frame=frame)

    def force_manipulability(
        self, q: ArrayLike, torque_limits: ArrayLike | str | None = None, task: str | Sequence[str] | None = None
    ) -> Ellipsoid:
        """The ellipsoid of tip forces h that torques τᵀτ ≤ 1 can balance, τ = Jᵀ h, ignoring the weight of the arm."""
        return delegate(DELEGATES, "force_manipulability")(self, q, torque_limits, task)

    def static_manipulability(
        self, q: ArrayLike, torque_limits: ArrayLike | str | None = None, task: str | Sequence[str] | None = None
    ) -> Ellipsoid:
        """The ellipsoid of tip forces h that torques τᵀτ ≤ 1 can balance in addition to the arm's weight: |g + Jᵀ h| ≤ 1."""
        return delegate(DELEGATES, "static_manipulability")(self, q, torque_limits, task)

    # -- structure -----------------------------------------------------------------------------------

    def couplings(self) -> Couplings:
        """Which b_ij, h_ijk and g_i are zero, and why: ``.inertia`` (n, n), ``.velocity`` (n, n, n), ``.gravity`` (n,).

        The entries are "always", "structure", "numbers" and "nonzero": S 7.1.3 and 7.3.3, M section 2. ``.at(q)`` names
        the terms that are zero at one configuration, ``.condition("b", 1, 2)`` returns the design for which a term is
        zero at every configuration, and ``print(arm.couplings())`` shows a table. The terms are those of the arm's own
        coordinates, for arms with coupled joints and closed chains as well.
        >>> import dalembert as da
        >>> da.load("cartesian-2").couplings().inertia[0, 1], da.load("cartesian-2-45").couplings().inertia[0, 1]
        (np.str_('structure'), np.str_('nonzero'))
        """
        return delegate(DELEGATES, "couplings")(self)

    # -- closed-form equations -----------------------------------------------------------------------

    def equations(self, parameters: str = "nonzero", progress: Callable[[float], None] | None = None) -> Equations:
        """B, C, g, τ, energies and regressor in closed form: SymPy in S's notation, LaTeX, text, and the derivation.

        parameters  "nonzero": every nonzero number becomes a symbol; "all": all ten inertial parameters of every link,
                    S (7.77); "numbers": only the joint variables are symbols
        progress    a function that is called with the fraction done

        >>> import dalembert as da
        >>> da.load("planar-2r").equations().g[1]
        c_12*g*l_2*m_l2
        >>> da.load("parallelogram").equations().text("g2")
        "g_2 = (m_ℓ2' ℓ_2' + m_ℓ3' a_1'' + m_ℓ1'' ℓ_1'') g c_1''"
        """
        from dalembert.mechanics.symbols.of_robot import equations_of

        return equations_of(self.robot, self.mechanism, parameters, progress)  # type: ignore[return-value]

    def in_coordinates(self, T: Any, offset: ArrayLike | None = None) -> Arm:
        """The same arm in other generalized coordinates y, with q = T y + offset: S Problem 7.6.

        T       an n×n matrix; "absolute" for the angles of the links with respect to the base, if the joint axes are
                parallel; or a function y → q that accepts SymPy symbols and returns a list of formulas with sin, cos,
                tan, asin, acos, atan, atan2, exp, log, tanh, sqrt, Abs and powers
        offset  (n,); zero by default
        The returned arm has every method of an arm; its joints are y_1, y_2, …, and ``tree_positions(y)`` begins with
        the ``tree_positions(q)`` of the original arm, which is q unless joints are coupled or chains are closed.

        >>> import dalembert as da
        >>> da.load("planar-2r").in_coordinates("absolute").equations().B[0, 1]
        -I_m2*k_r2**2 + I_m2*k_r2 + a_1*c_2m1*l_2*m_l2
        """
        return Arm(in_coordinates(self, T, offset))

    def base_parameters(
        self, lengths: str | None = None, tolerance: float | None = None, **columns: Any
    ) -> BaseParameters | SymbolicBaseParameters:
        """The base parameters: the smallest set of combinations of the parameters that determines the torques of any motion.

        lengths    "symbols" for formulas with symbols for the lengths, "numbers" for formulas with the arm's own
                   lengths; both are exact. By default the set is computed numerically, from the regressor at random
                   states
        tolerance  of the numerical method, see :func:`dalembert.work.identification.fitting.base_parameters.base_parameters`
        columns    which parameters are included, as in :class:`dalembert.work.identification.fitting.parameter_set.ParameterSet`:
                   friction, two_sided, offset, rotor, only

        >>> import dalembert as da
        >>> base = da.load("pendulum").base_parameters("symbols", friction=(), rotor=False)
        >>> base.formulas
        ('Î_1zz − a_1² m_1', 'm_1ℓ_C1x + a_1 m_1', 'm_1ℓ_C1y')
        """
        return delegate(DELEGATES, "base_parameters")(self, lengths, tolerance, **columns)

    # -- display -------------------------------------------------------------------------------------

    def plot(self, q: ArrayLike | Any | None = None) -> Figure:
        """A matplotlib Figure of the arm: in its plane if the arm is planar, else from a corner and from the side.

        q  (n,) the configuration, by default the home position; (N, n) several, of which the last is drawn in full and
           the others as ghosts; or a motion (a Trajectory, a Run), with the path of the tip

        Revolute joints are drawn as cylinders along their axes, prismatic joints as blocks, the tip as a frame.

        >>> import dalembert as da
        >>> [axes.get_title("left") for axes in da.load("panda").plot().axes]
        ['panda, from a corner', 'panda, from the side']
        """
        return delegate(DELEGATES, "plot")(self, q)

    def page(self, motions: Any = None, *, title: str | None = None) -> Page:
        """The live page of the arm, which a notebook displays and ``.write(path)`` saves; see :func:`dalembert.write_page`.

        >>> import dalembert as da
        >>> da.load("pendulum").page()
        Page(notes=())
        """
        return delegate(DELEGATES, "page")(self, motions, title=title)

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)
