"""Controllers: a law of ``mechanics/motion/control.py``, its gains, the motion to follow and the model that it uses.

They are traced together with the dynamics, so that a closed control loop also runs as one compiled loop. The model is
the simulated arm unless another one is given, for example one with another payload, wrong parameters or fewer terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array, double
from dalembert.compiler.foreign.libraries import tracked
from dalembert.compiler.quantities import machine
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.compiler.quantities.rollouts import ROLLOUTS
from dalembert.errors import DalembertError, ShapeError
from dalembert.mechanics.coordinates.pulled import smooth
from dalembert.work.identification.fitting.base_parameters import BaseParameters, base_parameters
from dalembert.work.identification.fitting.parameter_set import Parameter, ParameterSet
from dalembert.work.trajectory.planning.time_breaks import breaks_of_motion

# of each controller, the arm and the model of its last call, with the kernel, which takes longer to find than to run
_LATEST: WeakKeyDictionary[Controller, tuple[Arm, Arm | None, np.ufunc]] = WeakKeyDictionary()


class Controller:
    """A law with gains kp, kd ((…, n) or one number), a reference (a pose (…, n) or a motion) and a model.

    A motion is a :class:`dalembert.Trajectory` or any function t (N,) → q, qd, qdd, (N, n) each. After
    its ``duration``, if it has one, the final pose is held. Steps are cut at that time and at the motion's
    ``knots``, if it has any. The loads of its ``events`` are carried in the simulation: without a ``model``, the
    law includes the payload; with one, it uses that model alone.
    """

    law = ""
    what = "motion"
    words: tuple[str, ...] = ("kp", "kd")  # names of the law's two gains, and of its other constants
    constants: tuple[str, ...] = ("kp", "kd")  # arguments that are passed to the compiled law once
    memoryless = ""  # the equivalent law without adaptation
    push: Array | None = None  # the wrench (6,) that the motion exerts at the tip during a stage
    tracks = True  # whether there is a motion or a pose to compare with

    def __init__(self, kp: ArrayLike, kd: ArrayLike, reference: Any, model: Arm | None = None) -> None:
        self.kp, self.kd = (self._gain(name, gain) for name, gain in zip(self.words, (kp, kd), strict=False))
        self.motion: Callable[[Array], tuple[Array, Array, Array]] | None = None
        self.pose: Array | None = None
        if callable(reference):
            self.motion = reference
        else:
            self.pose = double(f"the {self.what}", reference)
        if model is not None and not hasattr(model, "mechanism"):
            raise DalembertError(
                f"{type(self).__name__}: the model is a {type(model).__name__}; it must be an Arm, such as da.load "
                "returns"
            )
        self.model = model

    def __repr__(self) -> str:
        reference = f"a pose {self.pose.shape}" if self.pose is not None else f"a {type(self.motion).__name__}"
        model = "" if self.model is None else f", model {self.model!r:.60}"
        return f"<{type(self).__name__}: gains {' and '.join(self.words)}, follows {reference}{model}>"

    def _gain(self, name: str, value: Any) -> Any:
        if tracked(value):  # which da.simulate takes as it is
            return value
        gain = double(name, value)
        if not np.all(np.isfinite(gain)) or np.any(gain < 0):
            raise ShapeError(f"{type(self).__name__}: {name} must be finite and not negative")
        return gain

    def _sized(self, name: str, gain: Array, size: int) -> Array:
        """A gain with shape (…, size)."""
        if gain.ndim and gain.shape[-1] != size:
            raise ShapeError(f"{type(self).__name__}: {name} has shape {gain.shape}; the last axis must be {size}")
        return gain if gain.ndim else np.full(size, gain)

    def gains(self, arm: Arm, friction: bool = True) -> dict[str, Array]:
        """The :attr:`constants` for an arm, (…, n) each."""
        own = zip(self.constants, self.words, strict=False)
        return {name: self._sized(word, getattr(self, name), arm.n) for name, word in own}

    def followed(self, t: Array, n: int) -> tuple[Array, Array, Array]:
        """(q, qd, qdd) of the motion at the times t: (…, N, n) each."""
        if self.pose is not None:
            if self.pose.ndim == 0 or self.pose.shape[-1] != n:
                raise ShapeError(
                    f"{type(self).__name__}: the {self.what} has shape {self.pose.shape}; the last axis must be {n}"
                )
            held = self.pose[..., None, :]
            if len(t) != 1:
                held = np.broadcast_to(held, (*self.pose.shape[:-1], len(t), n))
            still = np.zeros(held.shape)
            return held, still, still
        assert self.motion is not None
        end = float(getattr(self.motion, "duration", np.inf))
        given = self.motion(np.minimum(t, end))
        parts = [double(f"the {self.what}", x) for x in (given if isinstance(given, Iterable) else [given])]
        if len(parts) != 3 or any(x.shape != (len(t), n) for x in parts):
            shapes = ", ".join(str(x.shape) for x in parts)
            raise ShapeError(
                f"{type(self).__name__}: the motion returns {shapes} for {len(t)} times; "
                f"it must return q, qd and qdd of shape ({len(t)}, {n})"
            )
        if not (finite := np.isfinite(parts).all(axis=(0, 2))).all():
            raise DalembertError(
                f"{type(self).__name__}: the {self.what} has values that are not finite numbers at t = "
                f"{t[~finite][0]:g} s"
            )
        over = (t > end)[:, None]
        return parts[0], np.where(over, 0.0, parts[1]), np.where(over, 0.0, parts[2])

    def reference(self, t: Array, arm: Arm, *, friction: bool = True) -> Array:
        """The reference input of the law at the times t, [q, qd, qdd] of the motion: (…, N, 3n)."""
        return np.concatenate(self.followed(t, arm.n), axis=-1)

    @property
    def breaks(self) -> Array:
        """Times at which the reference is not smooth: its knots, and its end."""
        return breaks_of_motion(self.motion)

    # -- the model -------------------------------------------------------------------------------

    def columns(self, arm: Arm, friction: bool = True) -> tuple[int, ...]:
        """The columns of the regressor whose parameters the law adapts."""
        return ()

    def check_model(self, arm: Arm) -> None:
        """Raise an error if the model cannot represent this arm."""
        model, who = self.model, type(self).__name__
        if model is None:
            return
        if model.n != arm.n:
            raise DalembertError(
                f"{who}: the model '{model.name}' has {model.n} joints, but arm '{arm.name}' has {arm.n}; give a model "
                "with the same number of joints"
            )
        for own, other in zip(arm.robot.moving_joints, model.robot.moving_joints, strict=True):
            if (own.type == "prismatic") != (other.type == "prismatic"):
                raise DalembertError(
                    f"{who}: joint '{other.name}' of the model '{model.name}' is {other.type}, but joint '{own.name}' "
                    f"of arm '{arm.name}' is {own.type}; give a model with the same joint types"
                )
        if bool(model.loops) != bool(arm.loops):
            closed, open_arm = (model.name, arm.name) if model.loops else (arm.name, model.name)
            raise DalembertError(
                f"{who}: '{closed}' has closed chains and '{open_arm}' has none, so their joint variables have "
                "different meanings; give a model with the same loops"
            )
        by_newton = arm.mechanism.by_newton or model.mechanism.by_newton
        if by_newton and _geometry(arm) != _geometry(model):
            raise DalembertError(
                f"{who}: the loops of arm '{arm.name}' are closed by Newton's method, once for both arm and model; "
                "give a model with the same geometry, whose masses and friction may differ"
            )

    def known(self, arm: Arm, friction: bool) -> Any:
        """The mechanism that the law uses; friction omitted from the arm is not compensated either."""
        self.check_model(arm)
        mechanism = (self.model or arm).mechanism
        return mechanism if friction else smooth(mechanism, viscous=False)

    def torque(self, arm: Arm, t: ArrayLike, q: ArrayLike, qd: ArrayLike) -> Array:
        """Torque at the times t (N,) in the states q, qd (…, N, n), from the compiled law.

        >>> import dalembert as da
        >>> arm = da.load("planar-2r")
        >>> PD(100.0, 20.0, [0.0, 0.0]).torque(arm, 0.0, [0.1, 0.0], [0.0, 0.0]).shape
        (2,)
        """
        at = double("t", t)
        reference = self.reference(at.reshape(-1), arm)
        reference = reference.reshape(*reference.shape[:-2], *at.shape, 3 * arm.n)
        gains = [gain[..., None, :] if at.ndim else gain for gain in Controller.gains(self, arm).values()]
        last = _LATEST.get(self)
        if last is None or last[0] is not arm or last[1] is not self.model:
            law = machine.kernel(self.known(arm, True), ROLLOUTS[self.memoryless or self.law])
            last = _LATEST[self] = arm, self.model, law
        tau: Array = last[2](arm.placed(q), arm.checked("qd", qd), reference, *gains)
        return tau

    def kernel(self, arm: Arm, *, friction: bool = True) -> np.ufunc:
        """The compiled law: τ as a function of (q for the equations of motion, q̇, reference, :attr:`constants`)."""
        return machine.kernel(self.known(arm, friction), ROLLOUTS[self.law])


def _geometry(arm: Arm) -> Any:
    """Everything that determines the positions of the tree."""
    bodies = arm.mechanism.tree.bodies
    return [(b.parent, b.revolute, b.placement, b.axis, b.offset, b.link_frame) for b in bodies], arm.loops


class PD(Controller):
    """PD control with gravity compensation: τ = g(q) + K_p (q_d − q) + K_d (q̇_d − q̇); g includes springs and offsets.

    target  a pose (…, n) to move to and hold, or a motion to follow
    model   the arm whose gravity is compensated; by default the simulated arm

    >>> import dalembert as da
    >>> run = da.simulate(da.load("planar-2r"), [0.2, 0.4], None, PD(20000.0, 4000.0, [0.5, 0.0]), 3.0)
    >>> run.q[-1].round(3) + 0.0
    array([0.5, 0. ])
    """

    law, what = "pd", "target"

    def __init__(self, kp: ArrayLike, kd: ArrayLike, target: Any, model: Arm | None = None) -> None:
        super().__init__(kp, kd, target, model)


class Feedforward(Controller):
    """Feedforward torques of a motion with optional feedback: τ = τ_d + K_p (q_d − q) + K_d (q̇_d − q̇).

    τ_d = τ(q_d, q̇_d, q̈_d) is the model's inverse dynamics along the motion, S (7.42), computed once and independent
    of the measured state.

    motion  a motion to follow, or a pose (…, n)
    kp, kd  (…, n) or one number each; without them, pure feedforward
    model   the arm whose inverse dynamics is used; by default the simulated arm

    >>> import dalembert as da
    >>> motion = da.polynomial([0.2, 0.4], [0.5, 0.0], duration=1.0)
    >>> run = da.simulate(da.load("planar-2r"), [0.2, 0.4], None, Feedforward(motion), 1.0)
    >>> run.q[-1].round(6) + 0.0
    array([0.5, 0. ])
    """

    law = "feedforward"

    def __init__(self, motion: Any, kp: ArrayLike = 0.0, kd: ArrayLike = 0.0, model: Arm | None = None) -> None:
        super().__init__(kp, kd, motion, model)

    def reference(self, t: Array, arm: Arm, *, friction: bool = True) -> Array:
        """[q, qd, τ] of the motion at the instants t: (…, N, 3n)."""
        known, (q, qd, qdd) = self.model or arm, self.followed(t, arm.n)
        tau = machine.kernel(self.known(arm, friction), JOINTS["inverse_dynamics"])(known.placed(q), qd, qdd)
        known.placing.explain(q, tau)
        if self.push is not None and self.model is None:
            tau = tau + np.einsum("...ij,i->...j", known.jacobian(q), self.push)
        return np.concatenate([q, qd, tau], axis=-1)


class ComputedTorque(Controller):
    """Inverse dynamics (computed torque): τ = B(q) y + τ′(q, q̇), y = q̈_d + K_d (q̇_d − q̇) + K_p (q_d − q).

    Every joint then follows ë + K_d ė + K_p e = 0. Friction is compensated at the actual velocity; its static levels,
    including Coulomb friction, and load-dependent friction are compensated for the direction of the reference.

    trajectory  a motion to follow, or a pose (…, n)
    model       the arm whose B and τ′ are used; by default the simulated arm

    >>> import dalembert as da
    >>> motion = da.polynomial([0.2, 0.4], [0.5, 0.0], duration=1.0)
    >>> run = da.simulate(da.load("planar-2r"), [0.2, 0.4], None, ComputedTorque(100.0, 20.0, motion), 1.0)
    >>> run.q[-1].round(6) + 0.0
    array([0.5, 0. ])
    """

    law, what = "computed", "trajectory"

    def __init__(self, kp: ArrayLike, kd: ArrayLike, trajectory: Any, model: Arm | None = None) -> None:
        super().__init__(kp, kd, trajectory, model)


class Adaptive(Controller):
    """Adaptive control by Slotine and Li: τ = Y(q, q̇, q̇_r, q̈_r) π̂ + K_D s with dπ̂/dt = Γ Yᵀ s.

    q̇_r = q̇_d + Λ (q_d − q), q̈_r = q̈_d + Λ (q̇_d − q̇), s = q̇_r − q̇; Yπ is :meth:`Arm.reference_torque`. With π̃ = π̂ − π,
    V = ½ sᵀ B s + ½ π̃ᵀ Γ⁻¹ π̃ decreases with V̇ = −sᵀ (K_D s + f(q̇_r) − f(q̇)), since Ḃ − 2C is skew-symmetric:
    friction, which is compensated at q̇_r, helps. With ``gamma=0`` nothing is adapted, which is passivity-based
    control; it works with every method.

    kd          K_D, (…, n) or one number (N m s)
    lambda_     Λ, (…, n) or one number (1/s)
    gamma       Γ, (…, p) or one number: adaptation gain of each parameter
    motion      a motion to follow, or a pose (…, n)
    model       the arm whose parameters are the initial π̂; by default the simulated arm
    parameters  the parameters to adapt, a ``da.ParameterSet`` of the model or its ``base_parameters()``; by default the
                base parameters of links and friction. All others keep the values of the model

    The run has ``parameters`` over time, (…, N, p), and ``parameter_names``.

    >>> import dalembert as da
    >>> arm = da.load("planar-2r")
    >>> motion = da.fourier([[[0.3, 0.1], [0.2, -0.2]], [[0.1, 0.2], [0.3, 0.1]]], 0.5, duration=10.0)
    >>> control = Adaptive(2000.0, 10.0, 100.0, motion, model=arm)
    >>> run = da.simulate(arm.with_payload(20.0), motion.q[0], motion.qd[0], control, 10.0)
    >>> run.parameter_names
    ('Izz_1', 'mx_1', 'my_1', 'Fv_1', 'Fs_1', 'Izz_2', 'mx_2', 'my_2', 'Fv_2', 'Fs_2')
    >>> bool(abs(run.tracking_error[-100:]).max() < abs(run.tracking_error).max() / 5)
    True
    """

    law, memoryless, words = "adaptive", "passivity", ("lambda_", "kd")
    constants: tuple[str, ...] = ("kp", "kd", "gamma")

    def __init__(
        self,
        kd: ArrayLike,
        lambda_: ArrayLike,
        gamma: ArrayLike,
        motion: Any,
        model: Arm | None = None,
        parameters: ParameterSet | BaseParameters | None = None,
    ) -> None:
        if parameters is not None:
            if not isinstance(parameters, (ParameterSet, BaseParameters)):
                raise DalembertError(
                    f"Adaptive: parameters is a {type(parameters).__name__}; it must be a da.ParameterSet, such as "
                    "da.ParameterSet(model, only=['m_2']), or model.base_parameters()"
                )
            own = parameters.parameters.arm if isinstance(parameters, BaseParameters) else parameters.arm
            if model is not None and model != own:
                raise DalembertError(
                    f"Adaptive: the parameters belong to arm '{own.name}', which is not the model; give "
                    "parameters=da.ParameterSet(model, …)"
                )
            model = own
        super().__init__(lambda_, kd, motion, model)
        self.gamma, self.adapted_set = self._gain("gamma", gamma), parameters
        self._bases: dict[Any, BaseParameters] = {}
        if not self.gamma.any():
            self.law, self.constants = "passivity", ("kp", "kd")

    def check_model(self, arm: Arm) -> None:
        """Raise an error if the model cannot represent this arm."""
        super().check_model(arm)
        known = self.model or arm
        if known.mechanism.omitted:
            raise DalembertError(
                f"Adaptive: the model '{known.name}' omits {', '.join(known.mechanism.omitted)} terms, but the law "
                "relies on the skew-symmetry of the complete Ḃ − 2C; give the complete arm, model.replace(omitted=())"
            )

    def gains(self, arm: Arm, friction: bool = True) -> dict[str, Array]:
        """The :attr:`constants` for an arm: Λ, K_D and Γ."""
        gains = super().gains(arm, friction)
        if self.law == "adaptive":
            gains["gamma"] = self._sized("gamma", self.gamma, len(self.names(arm, friction)))
        return gains

    def _adapted(self, arm: Arm, friction: bool) -> tuple[tuple[int, ...], tuple[str, ...], Array]:
        """Of the adapted parameters, or of their combinations: columns of ``arm.regressor``, names, and initial values."""
        known: Any = self.adapted_set or self._base(self.model or arm, friction)
        whole = isinstance(known, ParameterSet)
        parameters, adapted = (known, range(known.size)) if whole else (known.parameters, known.independent)
        self._check([parameters.members[k] for k in adapted], friction)
        columns = tuple(int(parameters.sources[k]) for k in adapted)
        return columns, tuple(parameters.names[k] for k in adapted), known.values

    def _base(self, model: Arm, friction: bool) -> BaseParameters:
        """Base parameters of the links, and of friction if it acts; rotor inertias are known from data sheets."""
        if (key := (model.robot, friction)) not in self._bases:
            whole = ParameterSet(model, rotor=False)
            there = [x.name for x in whole.members if not x.loaded and (friction or not _rubs(x))]
            self._bases[key] = base_parameters(ParameterSet(model, rotor=False, only=there))
        return self._bases[key]

    @staticmethod
    def _check(adapted: list[Parameter], friction: bool) -> None:
        if not adapted:
            raise DalembertError("Adaptive: the set of parameters is empty; name some, or set gamma=0 to adapt nothing")
        for parameter in adapted:
            if parameter.source < 0:
                raise DalembertError(
                    f"Adaptive: parameter '{parameter.name}' has no column in arm.regressor; choose from "
                    "arm.parameter_names"
                )
            if parameter.loaded:
                raise DalembertError(
                    f"Adaptive: the effect of parameter '{parameter.name}' depends on the load, so the torque is not "
                    "linear in it; remove it from the set"
                )
            if not friction and _rubs(parameter):
                raise DalembertError(
                    f"Adaptive: with friction=False there is no '{parameter.name}' to adapt; remove it from the set"
                )

    def columns(self, arm: Arm, friction: bool = True) -> tuple[int, ...]:
        """The columns of ``arm.regressor`` whose parameters are adapted."""
        return () if self.law == "passivity" else self._adapted(arm, friction)[0]

    def names(self, arm: Arm, friction: bool = True) -> tuple[str, ...]:
        """Names of the adapted parameters."""
        return self._adapted(arm, friction)[1]

    def initial(self, arm: Arm, friction: bool = True) -> Array:
        """Initial π̂: (p,)."""
        return self._adapted(arm, friction)[2]

    def kernel(self, arm: Arm, *, friction: bool = True) -> np.ufunc:
        """The compiled law; while it adapts, (τ, rate) as a function of its arrays and of the current estimate."""
        if self.law == "passivity":
            return super().kernel(arm, friction=friction)
        entry = ROLLOUTS["adaptive"].of(self.columns(arm, friction))
        return machine.kernel(self.known(arm, friction), entry)


def _rubs(parameter: Parameter) -> bool:
    """Whether it is a friction coefficient, which friction=False omits."""
    return parameter.unit is not None and not set(parameter.unit.of) <= {"q"}
