"""The dynamic model of an arm in operational space, S 7.8.

The equations are in :mod:`dalembert.mechanics.motion.operational_space`; this module adds names, batches, and
errors that distinguish the two kinds of singularity. docs/operational-space.md states the properties.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.lazy import by_blocks, lazy
from dalembert.base.algebra.orientations import angle_about, quaternion, rotation_by, rotation_vector
from dalembert.base.arrays import Array, is_lazy, real
from dalembert.base.environment.cached_property import cached_property
from dalembert.compiler.kernel.batches import run as run_batch
from dalembert.compiler.kernel.threads import checked_threads
from dalembert.compiler.quantities import machine
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.compiler.quantities.machine import INPUTS
from dalembert.compiler.quantities.rollouts import ROLLOUTS
from dalembert.compiler.quantities.tip import TIP
from dalembert.errors import DalembertError, ShapeError, SingularityError
from dalembert.mechanics.coordinates.pulled import inertia_matrix
from dalembert.mechanics.motion import operational_space as equations
from dalembert.mechanics.motion.operational_space import ANGLE
from dalembert.work.tip import resolution
from dalembert.work.tip.task_rows import (
    REPRESENTATIONS,
    Task,
    independent_rows,
    row_names,
    space_of,
    spread,
    with_frame,
)
from dalembert.work.trajectory.planning.limits import refuse_loads

SINGULAR = 1e-4  # measures below this raise SingularityError
FADES = 4.0  # damping λ² vanishes where the smallest pivot is this many times λ²
OF_FRAME = {"transform": JOINTS["pose"], "tip_torque": ROLLOUTS["tip_torque"]}  # the same for every task


class OperationalSpace:
    """The dynamic model of an arm in operational space, S (7.133): B_A ẍ + C_A ẋ + g_A = γ_A − h_A.

    Created by :meth:`Arm.operational_space`. Every method is compiled on first use and accepts arrays
    whose last axis is the joints (or, for x, the ``rows``); all leading axes broadcast.

    damping  None: a singularity raises :class:`SingularityError`. A number λ: where the smallest pivot
             d of J_A B⁻¹ J_Aᵀ is below 4λ², λ² (1 − d/4λ²)² 1 is added to it: λ² 1 at the singularity,
             nothing farther away. The representation is treated likewise, with the square of its measure.
    threads  number of threads among which large batches are divided; None: chosen by their size

    ``rows`` are the names of its m rows; ``redundant`` tells whether the arm has more joints than that.

    >>> import dalembert as da
    >>> op = da.load("planar-3r").operational_space()
    >>> op.rows
    ('x', 'y', 'angle')
    >>> op.inertia([0.3, 0.5, -0.7]).shape
    (3, 3)
    """

    def __init__(
        self,
        arm: Arm,
        frame: str = "tip",
        orientation: str = "zyz",
        task: Task = None,
        damping: float | None = None,
        threads: int | None = None,
    ) -> None:
        if damping is not None and not (isinstance(damping, (int, float, np.number)) and 0 < damping < np.inf):
            raise DalembertError(f"damping is {damping!r}; it must be a number above 0, or None to raise an error")
        self.arm, self.frame, self.damping, self.threads = arm, frame, damping, checked_threads(threads)
        self.mechanism = with_frame(arm, frame)
        self.space = space_of(arm, self.mechanism, orientation, task)
        self.orientation, self.rows, self.m = orientation, row_names(self.space), self.space.m
        self.redundant = arm.n > self.m
        self._kernels: dict[str, np.ufunc] = {}

    def __repr__(self) -> str:
        return f"<OperationalSpace of {self.arm.name!r}: {' '.join(self.rows)} of {self.frame!r}>"

    def __reduce__(self) -> Any:
        return OperationalSpace, (self.arm, self.frame, self.orientation, self.rows, self.damping, self.threads)

    # -- kinematics ------------------------------------------------------------------------------

    @lazy("q", lambda op: [(4, 4)])
    def transform(self, q: ArrayLike) -> Array:
        """The frame in the base frame: (…, 4, 4) homogeneous matrices."""
        return run_batch(self.kernel("transform"), [self.arm.placed(q)], threads=self.threads)

    @lazy("q", lambda op: [(op.m,)])
    def pose(self, q: ArrayLike) -> Array:
        """x_e: (…, m), in m and rad (ε is dimensionless).

        "geometric" has no coordinates of its own; for its rows wx, wy, wz, the result is
        the axis of the orientation times its angle, whose derivative is ω only for a fixed axis.
        """
        T = self.transform(q)
        R, p = T[..., :3, :3], T[..., :3, 3]
        parts = [p, REPRESENTATIONS[self.orientation].numbers(R) if {3, 4, 5} & set(self.space.rows) else p]
        if ANGLE in self.space.rows:
            parts.append(angle_about(np.array(self.space.normal), R @ self._reference.T)[..., None])
        return np.concatenate(parts, axis=-1)[..., list(self.space.rows)]

    def jacobian(self, q: ArrayLike) -> Array:
        """The analytical Jacobian J_A: (…, m, n)."""
        return self.run("jacobian", q=q)

    def transformation(self, q: ArrayLike) -> Array:
        """T_A of S (7.128), v_e = T_A ẋ_e for the whole pose: (…, 6, 6)."""
        return self.run("transformation", q=q)

    def jacobian_derivative(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """J̇_A: (…, m, n)."""
        return self.run("jacobian_derivative", q=q, qd=qd)

    def velocity(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """ẋ_e = J_A q̇: (…, m)."""
        return self.run("velocity", q=q, qd=qd)

    def acceleration(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """ẍ_e = J_A q̈ + J̇_A q̇: (…, m)."""
        return self.run("acceleration", q=q, qd=qd, qdd=qdd)

    @lazy("x y", lambda op: [(op.m,)])
    def difference(self, x: ArrayLike, y: ArrayLike) -> Array:
        """x − y for two poses (…, m), with angles along the shorter way; for "geometric", the rotation from y to x."""
        a, b = self._checked("x", x), self._checked("y", y)
        out, rows = a - b, self.space.rows
        turns = self.orientation == "geometric" and {3, 4, 5} <= set(rows)
        if turns:
            vector = [rows.index(k) for k in (3, 4, 5)]
            out[..., vector] = rotation_vector(
                rotation_by(a[..., vector]) @ np.swapaxes(rotation_by(b[..., vector]), -1, -2)
            )
        first_angle = ANGLE if turns or self.orientation == "quaternion" else 3
        angles = [k for k, row in enumerate(rows) if row >= first_angle]
        out[..., angles] = np.remainder(out[..., angles] + np.pi, 2 * np.pi) - np.pi
        return out

    # -- dynamics --------------------------------------------------------------------------------

    def inertia(self, q: ArrayLike) -> Array:
        """B_A = (J_A B⁻¹ J_Aᵀ)⁻¹: (…, m, m), S (7.130)."""
        return self.run("inertia", q=q)

    def coriolis(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """C_A: (…, m, m), with Ḃ_A − 2C_A skew-symmetric for every arm (Problem 7.9).

        C_A ẋ_e is :meth:`coriolis_force` whenever q̇ = J̄_A ẋ_e: for every motion of a nonredundant
        arm, and for motions of a redundant one without internal motion. No matrix can do both for
        all motions of a redundant arm: docs/operational-space.md.
        """
        return self.run("coriolis", q=q, qd=qd)

    def coriolis_force(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """C_A ẋ_e = B_A J_A B⁻¹ C q̇ − B_A J̇_A q̇: (…, m), S (7.131), for any q̇ of the arm."""
        return self.run("coriolis_force", q=q, qd=qd)

    def gravity(self, q: ArrayLike) -> Array:
        """g_A = B_A J_A B⁻¹ g: (…, m), S (7.132)."""
        return self.run("gravity", q=q)

    def inverse_jacobian(self, q: ArrayLike) -> Array:
        """The dynamically consistent J̄_A = B⁻¹ J_Aᵀ B_A: (…, n, m), S (7.138)."""
        return self.run("inverse_jacobian", q=q)

    def null_projector(self, q: ArrayLike) -> Array:
        """1 − J_Aᵀ J̄_Aᵀ: (…, n, n), S (7.141): projects a torque to one that does not move the tip."""
        return self.run("null_projector", q=q)

    def torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        xdd: ArrayLike,
        wrench: ArrayLike | None = None,
        tau0: ArrayLike | None = None,
    ) -> Array:
        """Joint torques for a tip acceleration ẍ_e: (…, n), S (7.141), redundancy resolved dynamically.

        wrench  (…, 6) of the end effector on the environment, in base axes, at the tip
        tau0    (…, n) any torques, of which only the part that does not move the tip is used
        Friction is included, so that ``forward_dynamics`` of the result accelerates the tip by ẍ_e.
        """
        return self.run("torque", q=q, qd=qd, xdd=xdd, tip_wrench=wrench, tau0=tau0)

    def resolved_acceleration(
        self, q: ArrayLike, qd: ArrayLike, xdd: ArrayLike, qdd0: ArrayLike | None = None
    ) -> Array:
        """q̈ = J_A⁺ (ẍ_e − J̇_A q̇) + (1 − J_A⁺ J_A) q̈_0: (…, n)."""
        return self.run("resolved_acceleration", q=q, qd=qd, xdd=xdd, qdd0=qdd0)

    def kinematic_torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        xdd: ArrayLike,
        wrench: ArrayLike | None = None,
        qdd0: ArrayLike | None = None,
    ) -> Array:
        """Joint torques for ẍ_e computed through joint accelerations: (…, n), redundancy resolved kinematically."""
        if wrench is not None:
            refuse_loads(self.arm, "kinematic_torque")
        qdd = self.resolved_acceleration(q, qd, xdd, qdd0)
        return self.arm.inverse_dynamics(q, qd, qdd, threads=self.threads) + self.contact_torque(q, wrench)

    @lazy("q wrench", lambda op: [(op.arm.n,)])
    def contact_torque(self, q: ArrayLike, wrench: ArrayLike | None) -> Array:
        """Jᵀ h_e, the joint torques of a wrench (…, 6) of this frame on its environment: (…, n)."""
        if wrench is None:
            return np.zeros(self.arm.n, np.float32)
        arrays = [self.arm.placed(q), self.arm.checked("tip_wrench", wrench)]
        return run_batch(self.kernel("tip_torque"), arrays, threads=self.threads)

    # -- singularities ---------------------------------------------------------------------------

    @lazy("q", lambda op: [(), ()], np.float64)
    def singularity(self, q: ArrayLike) -> tuple[Array, Array]:
        """(kinematic, representation): two measures (…), close to 0 at a singularity of that kind.

        kinematic       square root of the smallest pivot of J_A B⁻¹ J_Aᵀ, relative to its typical value for this arm
        representation  |sin ϑ| (zyz), |cos pitch| (rpy), η (quaternion); 1 if no orientation is represented
        """
        with np.errstate(all="ignore"):
            _, pivots, measure = run_batch(
                self.kernel("inertia"), [self.arm.placed(q), np.zeros(2)], threads=self.threads
            )
        return self._kinematic("inertia", pivots), self._representation(measure)

    def _kinematic(self, name: str, pivots: Array) -> Array:
        usual = self._usual[1 if name == "resolved_acceleration" else 0]
        return np.sqrt(np.fmax((np.asarray(pivots) / usual).min(axis=-1), 0.0))

    def _representation(self, measure: Array) -> Array:
        return np.fmax(measure, 0.0) if self.space.represented else np.ones_like(measure)

    @property
    def least_pivots(self) -> Array:
        """The pivots of J_A B⁻¹ J_Aᵀ below which the arm is singular: (m,)."""
        return SINGULAR**2 * self._usual[0]

    @cached_property
    def _usual(self) -> tuple[Array, Array]:
        """Typical diagonals of J_A B⁻¹ J_Aᵀ and of J_A J_Aᵀ over the configurations of the arm: (m,) each."""
        J, mobility = self._free(spread(self.arm))
        diagonals = np.diagonal(mobility, axis1=-2, axis2=-1), (J * J).sum(axis=-1)
        mobile, moved = (np.where(d.mean(axis=0) > 0, d.mean(axis=0), 1.0) for d in diagonals)
        return mobile, moved

    def _free(self, q: Array) -> tuple[Array, Array]:
        """J_A (k, m, n) and J_A B⁻¹ J_Aᵀ (k, m, m) at q (k, n), without a representation that may be singular."""
        space = dataclasses.replace(self.space, orientation="geometric")
        placed = np.asarray(self.arm.placed(q), float).tolist()
        J = np.array([equations.analytical(self.mechanism, space, x).J for x in placed], float)
        B = np.array([inertia_matrix(self.mechanism, x) for x in placed], float)
        return J, J @ np.linalg.solve(B, np.swapaxes(J, -1, -2))

    def kernel(self, name: str) -> np.ufunc:
        """The compiled quantity of this name in :mod:`dalembert.compiler.quantities.tip`, or in ``OF_FRAME``."""
        if name not in self._kernels:
            if (entry := OF_FRAME.get(name)) is None:
                self.arm._needs_inertia()
                space = self.space
                if not space.represented and name != "transformation":  # one kernel for all representations
                    space = dataclasses.replace(space, orientation="geometric")
                entry = TIP[name].of(space)
            self._kernels[name] = machine.kernel(self.mechanism, entry)
        return self._kernels[name]

    def run(self, name: str, **inputs: Any) -> Array:
        """The named quantity for inputs in their order (None is zero); at a singularity, damped or an error."""
        if any(map(is_lazy, inputs.values())):
            given = {x: self.lazy_input(x, value) for x, value in inputs.items() if value is not None}
            (_, core), *_ = machine.signature(self.mechanism, TIP[name].of(self.space)).outputs
            return by_blocks(partial(self.run, name, **dict.fromkeys(inputs)), given, [core])
        kernel = self.kernel(name)
        arrays = [self._checked(x, value) for x, value in inputs.items()]
        damped = "soft" in TIP[name].inputs

        def call(soft: Array) -> tuple[Array, Array | None, Array]:
            try:
                with np.errstate(all="ignore"):
                    value, *rest = run_batch(kernel, [*arrays, *([soft] if damped else [])], threads=self.threads)
            except (TypeError, ValueError) as problem:
                shapes = ", ".join(f"{x} {a.shape}" for x, a in zip(inputs, arrays, strict=True))
                raise ShapeError(f"these shapes do not broadcast: {shapes} ({problem})") from None
            value = value.astype(np.result_type(*arrays), copy=False)
            return value, rest[0] if len(rest) > 1 else None, self._representation(rest[-1])

        value, pivots, measure = call(np.zeros(2))
        if self.damping is None or not damped:
            self._check("representation", measure, inputs["q"], arrays)
            if pivots is not None:
                self._check("kinematic", self._kinematic(name, pivots), inputs["q"], arrays)
            return value
        soft = np.zeros((*measure.shape, 2))
        soft[..., 1] = self._strength(measure**2)
        if soft.any():
            value, pivots, _ = call(soft)
        if pivots is not None:
            soft[..., 0] = self._strength(pivots.min(axis=-1))
            if soft[..., 0].any():
                value, _, _ = call(soft)
        return value

    def _strength(self, square: Array) -> Array:
        """λ² (1 − d/4λ²)² below d = 4λ², otherwise 0; the sum of d and this increases with d, starting at λ²."""
        assert self.damping is not None
        most = self.damping**2
        small = np.fmax(square, 0.0)  # NaN and rounding below 0 count as the singularity itself
        return most * np.clip(1.0 - small / (FADES * most), 0.0, 1.0) ** 2

    def _check(self, kind: str, measures: Array, q: Any, arrays: list[Any]) -> None:
        """Raise an error where a measure is small, except where the input was not finite, which is returned as such."""
        if not (measures < SINGULAR).any():
            return
        measures, *numbers = np.broadcast_arrays(measures, *(np.isfinite(a).all(axis=-1) for a in arrays))
        measures = np.where(np.logical_and.reduce(numbers), measures, 1.0)
        if not (measures < SINGULAR).any():
            return
        index = tuple(int(k) for k in np.unravel_index(np.argmin(measures), measures.shape))
        value = float(measures[index])
        at = np.broadcast_to(np.asarray(q, float), (*measures.shape, self.arm.n))[index]
        where = f"at index {index[0] if len(index) == 1 else index} of the batch, " if index else ""
        where += "q = (" + ", ".join(f"{v:.5g}" for v in at) + ")"
        raise SingularityError(self._sentence(kind, at, where, value), kind, index, value)

    def _sentence(self, kind: str, q: Array, where: str, value: float) -> str:
        """The message for a singularity of this kind at q (n,), with its place and its measure."""
        if kind == "kinematic" and self._unable:
            return f"kinematic singularity: {self._unable}"
        if kind == "kinematic":
            return (
                f"kinematic singularity of arm '{self.arm.name}' {where}: it cannot move {', '.join(self.rows)} in every "
                f"direction there (measure {value:.3g}, values near 1 are usual); give damping=… to pass through it"
            )
        least = np.linalg.eigvalsh(self._free(q[None])[1][0] / np.sqrt(np.outer(self._usual[0], self._usual[0])))[0]
        if self._unable:
            advice = f"besides, {self._unable}"
        elif least < SINGULAR**2:
            advice = "the arm is also at a kinematic singularity there, so only damping=… passes through it"
        else:
            advice = (
                "the arm itself can move in every direction of the task there. Use another orientation ('geometric' "
                "has no such singularity), or give damping=… to pass through it"
            )
        return (
            f"representation singularity of the orientation '{self.orientation}' of arm '{self.arm.name}' {where}: "
            f"{REPRESENTATIONS[self.orientation].measure} = {value:.3g}; {advice}"
        )

    @cached_property
    def _unable(self) -> str:
        """The message about rows that no configuration can move while the rows before them stay at rest."""
        moved = independent_rows(self._free(spread(self.arm))[0])
        never = [name for k, name in enumerate(self.rows) if k not in moved]
        if not never:
            return ""
        return (
            f"arm '{self.arm.name}' cannot move the rows {', '.join(self.rows)} independently in any configuration "
            f"({', '.join(never)} not at all or not by itself); omit the task to use the rows that it can move"
        )

    @cached_property
    def _reference(self) -> Array:
        """Orientation with angle 0: R(0) without its rotation about the normal, if that is defined; otherwise R(0).

        A closed chain, which need not reach q = 0, is evaluated in the pose of its branch.
        """
        R, normal = self.transform(self.arm.home)[:3, :3], np.array(self.space.normal)
        Q = quaternion(R)
        if np.hypot(Q[0], Q[1:] @ normal) < 1e-3:
            return R
        return rotation_by(-angle_about(normal, R) * normal) @ R

    def lazy_input(self, name: str, value: Any) -> Any:
        """An argument of a method that may be a Dask array, validated."""
        name = "tip_wrench" if name == "wrench" else name
        return self.arm.checked(name, value) if name == "q" else self._checked(name, value)

    def _checked(self, name: str, value: Any) -> Any:
        """``value`` as an array: poses have the task's rows along their last axis, others as kernels expect."""
        if value is None:  # zeros of the smallest type, so that the type of the others decides
            return np.zeros(6 if name == "tip_wrench" else self.arm.n, np.float32)
        (along,) = INPUTS.get(name, ("m",))
        if name == "q":
            return self.arm.placed(value)
        if along in ("n", "6") and name not in ("tau0", "qdd0"):
            return self.arm.checked(name, value)
        array = real(name, value)
        lengths = {
            "m": (self.m, f"the task has the rows {', '.join(self.rows)}"),
            "n": (self.arm.n, f"arm '{self.arm.name}' has {self.arm.n} joints"),
        }
        size, why = lengths.get(along, (0, ""))
        if why and array.shape[-1:] != (size,):
            raise ShapeError(
                f"{name} has shape {array.shape}, but {why}: the last axis must be {size}, as in (…, {size})"
            )
        return array

    follow = resolution.follow
