"""The Arm: what a user holds. Words outside; the letters are in ``equations/``."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert import quantities
from dalembert.errors import ShapeError, SingularInertiaError
from dalembert.robot.inertia import Inertia
from dalembert.robot.mechanism import Mechanism, mechanism
from dalembert.robot.model import Robot
from dalembert.terms import Dalembert, LagrangeEuler, TorqueTerms

if TYPE_CHECKING:
    from dalembert.analysis.ellipsoid import Ellipsoid, Polytope
    from dalembert.analysis.operational import OperationalSpace
    from dalembert.coordinates import ArmInCoordinates
    from dalembert.identification.base import BaseParameters
    from dalembert.identification.formulas import SymbolicBaseParameters
    from dalembert.symbols.present import Equations

Array = NDArray[np.floating[Any]]

_CORES = re.compile(r"\((.*?)\)")  # the core shapes in a gufunc's signature
_LARGE = 100_000  # numbers in all results together


def _one_block(ufunc: np.ufunc, arrays: list[Any]) -> tuple[Array, ...] | None:
    """Room for several large results in one piece; None where NumPy may see to it itself.

    Freed in several pieces, large results go back to the system, and the next call pays for every page
    again: several times the cost of the calculation. One piece stays with the process.
    """
    if ufunc.nout < 2 or not all(type(a) is np.ndarray for a in arrays):
        return None
    leading = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
    core = [
        tuple(map(int, text.split(","))) if text else () for text in _CORES.findall(str(ufunc.signature).split("->")[1])
    ]
    sizes = [math.prod(leading) * math.prod(shape) for shape in core]
    if sum(sizes) < _LARGE:
        return None
    block = np.empty(sum(sizes), np.result_type(np.float32, *arrays))
    ends = np.cumsum(sizes)
    return tuple(
        block[end - size : end].reshape(*leading, *shape) for size, end, shape in zip(sizes, ends, core, strict=True)
    )


class Arm:
    """A robot with its dynamics, compiled on first use.

    Every method takes arrays whose last axis is the joints and broadcasts over all leading axes;
    float32 in gives float32 out, everything else is float64. SI units, radians.

    >>> import dalembert as da
    >>> arm = da.load("planar-2r")
    >>> arm.inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]).round(2)
    array([1030.05,  245.25])
    """

    def __new__(cls, robot: Robot) -> Arm:
        """An arm; of a robot with loops, a :class:`dalembert.closed_arm.ClosedArm`."""
        if cls is Arm and robot.loops:
            from dalembert.closed_arm import ClosedArm

            return object.__new__(ClosedArm)
        return object.__new__(cls)

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._kernels: dict[Any, np.ufunc] = {}

    # -- what it is ------------------------------------------------------------------------------

    @cached_property
    def mechanism(self) -> Mechanism:
        """What the equations see: fixed joints merged, rotors counted with their links."""
        return mechanism(self.robot)

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.robot.name

    @property
    def n(self) -> int:
        """How many joint variables the arm has."""
        return len(self.robot.moving_joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the moving joints, in the order of ``q``."""
        return tuple(joint.name for joint in self.robot.moving_joints)

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
        tensor = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, float)
        if tensor.shape != (3, 3):
            raise ShapeError(f"the payload's inertia has shape {tensor.shape}; it must be (3, 3)")
        where = np.asarray(com, float)
        if where.shape != (3,):
            raise ShapeError(f"the payload's com has shape {where.shape}; it must be (3,)")
        body = Inertia(float(mass), tuple(where.tolist()), tensor.tolist())
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
        from dalembert.closed_arm import with_loops

        return with_loops(self, [fields if loop is None else loop])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the robot to a ``.toml`` or ``.urdf`` file, whole or not at all."""
        from dalembert.robot.load import save_robot

        save_robot(self.robot, path)

    def __repr__(self) -> str:
        return f"<Arm {self.name!r}: {self.n} joints>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arm) and self.robot == other.robot

    def __hash__(self) -> int:
        return hash(self.robot)

    def __reduce__(self) -> Any:
        return (Arm, (self.robot,))

    # -- dynamics --------------------------------------------------------------------------------

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        base_motion: ArrayLike | None = None,
        formulation: str | None = None,
        out: Array | None = None,
    ) -> Array:
        """Joint torques τ for a motion, S (7.42).

        q, qd, qdd   (…, n) positions, velocities, accelerations
        tip_wrench   (…, 6) [fx fy fz mx my mz] exerted by the end effector on the environment, in
                     base axes, at the tip
        base_motion  (…, 9) [ω, ω̇, p̈] of the base, in base axes
        formulation  "newton-euler" for the page's own form; the fastest unless given
        Returns      (…, n) in N m (revolute) or N (prismatic)
        """
        return self._run(
            "inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd},
            {"tip_wrench": tip_wrench, "base_motion": base_motion}, formulation, out,
        )  # fmt: skip

    def joint_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        base_motion: ArrayLike | None = None,
    ) -> Array:
        """The loads that the bearings carry: (…, n, 6), for each joint [f_i, μ_i].

        f_i (N) and μ_i (N m, about the origin of the joint's frame) are what link i−1 exerts on
        link i, in the axes of link i's frame: S (7.112), (7.113).
        """
        return self._run(
            "joint_wrenches", {"q": q, "qd": qd, "qdd": qdd}, {"tip_wrench": tip_wrench, "base_motion": base_motion}
        )

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        formulation: str | None = None,
    ) -> Array:
        """Joint accelerations q̈ for given torques: (…, n), S (7.115).

        formulation  "composite" (inertia matrix and factorisation) or "articulated" (articulated
                     bodies); unless given, the one with fewer operations for this arm
        """
        self._needs_inertia()
        return self._run("forward_dynamics", {"q": q, "qd": qd, "tau": tau}, {"tip_wrench": tip_wrench}, formulation)

    def inertia_matrix(self, q: ArrayLike, formulation: str | None = None) -> Array:
        """B(q): (…, n, n), S (7.32).

        formulation  "composite" (the default), "column-by-column" (S 7.6) or "lagrange"
        """
        return self._run("inertia_matrix", {"q": q}, formulation=formulation)

    def inertia_derivative(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Ḃ along a motion: (…, n, n)."""
        return self._run("inertia_derivative", {"q": q, "qd": qd})

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike, formulation: str | None = None) -> Array:
        """C(q, q̇) made from Christoffel symbols, so that Ḃ − 2C is skew-symmetric: (…, n, n), S (7.44)."""
        return self._run("coriolis_matrix", {"q": q, "qd": qd}, formulation=formulation)

    def christoffel(self, q: ArrayLike, formulation: str | None = None) -> Array:
        """The Christoffel symbols c_ijk: (…, n, n, n), S (7.45); C_ij = Σ_k c_ijk q̇_k."""
        return self._run("christoffel", {"q": q}, formulation=formulation)

    def torque_derivatives(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array]:
        """(∂τ/∂q, ∂τ/∂q̇): two arrays (…, n, n). ∂τ/∂q̈ is the inertia matrix.

        Coulomb friction is constant between its jumps and adds nothing.
        """
        return self._run("torque_derivatives", {"q": q, "qd": qd, "qdd": qdd})  # type: ignore[return-value]

    def torque_terms(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tip_wrench: ArrayLike | None = None
    ) -> TorqueTerms:
        """The torque in its parts: what every joint's acceleration and every pair of velocities causes where.

        >>> import dalembert as da
        >>> terms = da.load("planar-2r").torque_terms([0.0, 0.5], [1.0, 2.0], [0.0, 0.0])
        >>> terms.coriolis[0, 0, 1].round(2), terms.centrifugal[1, 0].round(2)
        (np.float64(-47.94), np.float64(11.99))
        """
        return TorqueTerms(*self._run("torque_terms", {"q": q, "qd": qd, "qdd": qdd}, {"tip_wrench": tip_wrench}))

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Y(q, q̇, q̈): (…, n, 13n), with τ = Y π exactly, S (7.81); π is :attr:`parameters`.

        >>> import numpy as np, dalembert as da
        >>> arm = da.load("planar-2r")
        >>> x = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
        >>> np.allclose(arm.regressor(*x) @ arm.parameters, arm.inverse_dynamics(*x))
        True
        """
        return self._run("regressor", {"q": q, "qd": qd, "qdd": qdd})

    @property
    def parameters(self) -> Array:
        """π of S (7.81): (13n,), for every joint m, m c, I about the frame's origin, I_m, F_v, F_s.

        A Coulomb level that differs between the directions enters with its mean: S has one F_s.
        """
        from dalembert.equations.regressor import parameters

        return np.array(parameters(self.mechanism), float)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters: ``m_1``, ``mx_1``, …, ``Fs_n``, with the joint's number."""
        from dalembert.equations.regressor import parameter_names

        return tuple(f"{name}_{k + 1}" for k in range(self.n) for name in parameter_names())

    def lagrange_euler(self, q: ArrayLike) -> LagrangeEuler:
        """The dynamic coefficients of M section 2: ``.D`` (…, n, n), ``.h`` (…, n, n, n), ``.c`` (…, n).

        τ_i = Σ_k D_ik q̈_k + Σ_km h_ikm q̇_k q̇_m + c_i, M (2.5), before friction and contact.
        """
        return LagrangeEuler(*self._run("lagrange_euler", {"q": q}))

    def dalembert(self, q: ArrayLike, qd: ArrayLike) -> Dalembert:
        """The generalized d'Alembert equations of M section 4, rotational and translational parts apart.

        ``.D_rot .D_tran`` (…, n, n), ``.h_tran .h_rot .c`` (…, n); τ = (D_rot + D_tran) q̈ + h_tran +
        h_rot + c, M (4.1), before friction and contact.
        """
        return Dalembert(*self._run("dalembert", {"q": q, "qd": qd}))

    def forward_derivatives(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> tuple[Array, Array, Array]:
        """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ): three arrays (…, n, n); the last is B⁻¹."""
        self._needs_inertia()
        return self._run("forward_derivatives", {"q": q, "qd": qd, "tau": tau})  # type: ignore[return-value]

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """½ q̇ᵀ B q̇ (J): (…), S (7.31)."""
        return self._run("kinetic_energy", {"q": q, "qd": qd})

    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy of the moving parts (J), zero for masses at the base's origin: (…), S (7.36)."""
        return self._run("potential_energy", {"q": q})

    def _needs_inertia(self) -> None:
        """B⁻¹ exists only when every joint moves something; names the joints that do not."""
        if self._inert:
            raise SingularInertiaError(
                f"arm '{self.name}' has no B⁻¹: nothing resists joint {', '.join(self._inert)}; "
                "give the links behind it a mass and an inertia about its axis, or the joint a rotor"
            )

    @cached_property
    def _inert(self) -> list[str]:
        from dalembert.equations.factorisation import inert_joints

        return inert_joints(self.mechanism)

    def gravity_torque(self, q: ArrayLike) -> Array:
        """g(q), the torques that hold the arm still: (…, n), S (7.39)."""
        return self._run("gravity_torque", {"q": q})

    def friction_torque(self, qd: ArrayLike) -> Array:
        """F_v q̇ + F_s sgn(q̇): (…, n), S (7.42)."""
        return self._run("friction_torque", {"qd": qd})

    # -- kinematics ------------------------------------------------------------------------------

    def pose(self, q: ArrayLike) -> Array:
        """The tip in the base frame: (…, 4, 4) homogeneous matrices."""
        return self._run("pose", {"q": q})

    def link_poses(self, q: ArrayLike) -> Array:
        """Every link's frame in the base frame: (…, n, 4, 4)."""
        return self._run("link_poses", {"q": q})

    def jacobian(self, q: ArrayLike) -> Array:
        """The geometric Jacobian of the tip: (…, 6, n), linear rows first, in base axes."""
        return self._run("jacobian", {"q": q})

    def jacobian_derivative(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """The time derivative of the geometric Jacobian: (…, 6, n)."""
        return self._run("jacobian_derivative", {"q": q, "qd": qd})

    # -- the tip ---------------------------------------------------------------------------------

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
        from dalembert.analysis.operational import OperationalSpace

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

    # -- closed forms ----------------------------------------------------------------------------

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
        from dalembert.coordinates import in_coordinates

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

    # -- kernels ---------------------------------------------------------------------------------

    def kernel(self, quantity: str, *, formulation: str | None = None, options: tuple[str, ...] = ()) -> np.ufunc:
        """The compiled NumPy gufunc itself, for control loops.

        ``options`` adds inputs, such as ``("tip_wrench",)``. It can be pickled, used from several
        threads at once, and takes ``out=``.

        >>> import dalembert as da
        >>> da.load("planar-2r").kernel("inverse_dynamics").signature
        '(2),(2),(2)->(2)'
        """
        key = (quantity, formulation, options)
        if key not in self._kernels:
            self._kernels[key] = quantities.kernel(self.mechanism, quantity, formulation, tuple(options))
        return self._kernels[key]

    def operations(
        self, quantity: str, formulation: str | None = None, options: tuple[str, ...] = ()
    ) -> quantities.Price:
        """What a quantity costs: ``.written`` (as the formulas stand) and ``.compiled`` operations.

        >>> import dalembert as da
        >>> da.load("planar-2r").operations("inertia_matrix").compiled.total
        4
        """
        return quantities.price(self.mechanism, quantity, formulation, tuple(options))

    def _run(
        self,
        quantity: str,
        inputs: dict[str, Any],
        options: dict[str, Any] | None = None,
        formulation: str | None = None,
        out: Array | None = None,
    ) -> Array:
        given = {name: value for name, value in (options or {}).items() if value is not None}
        ufunc = self.kernel(quantity, formulation=formulation, options=tuple(given))
        arrays = [self._checked(name, value) for name, value in (*inputs.items(), *given.items())]
        try:
            room = _one_block(ufunc, arrays) if out is None else out
            return ufunc(*arrays) if room is None else ufunc(*arrays, out=room)
        except ValueError as problem:
            shapes = ", ".join(f"{name} {a.shape}" for name, a in zip((*inputs, *given), arrays, strict=True))
            what = f" and out {out.shape}" if out is not None else ""
            raise ShapeError(f"these shapes do not broadcast: {shapes}{what} ({problem})") from None

    def _checked(self, name: str, value: Any) -> Any:
        """``value`` as an array whose last axis fits the arm; lazy arrays pass as they are."""
        if not isinstance(value, np.ndarray) and not hasattr(value, "__array_ufunc__"):
            try:
                value = np.asarray(value, dtype=float)
            except (TypeError, ValueError):
                raise ShapeError(f"{name} is not an array of numbers: {value!r:.80}") from None
        if value.dtype.kind not in "fiub":
            raise ShapeError(f"{name} holds {value.dtype}, not real numbers")
        (size,) = (self.n if k in ("n", "Q") else k for k in quantities.INPUTS[name])
        if value.ndim == 0 or value.shape[-1] != size:
            why = f"arm '{self.name}' has {self.n} joints" if size == self.n else f"{name} has {size} components"
            raise ShapeError(
                f"{name} has shape {value.shape}, but {why}: the last axis must be {size}, as in (…, {size})"
            )
        return value
