"""An arm seen from its tip: the dynamic model in operational space, S 7.8.

The equations are in :mod:`dalembert.motion.operational_space`; here they get names, batches, and
errors that tell the two kinds of singularity apart. docs/operational-space.md says what holds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arrays import real
from dalembert.errors import DalembertError, ShapeError, SingularityError
from dalembert.motion import operational_space as equations
from dalembert.motion.operational_space import ANGLE
from dalembert.quantities.joints import JOINTS
from dalembert.quantities.machine import kernel
from dalembert.quantities.tip import TIP
from dalembert.tip.orientations import orientation_numbers, quaternion, rotation_by
from dalembert.tip.resolution import OperationalMotion, follow
from dalembert.tip.task_rows import (
    Task,
    row_names,
    space_of,
    spread,
    with_frame,
)

Array = NDArray[np.floating[Any]]
WHAT = {"zyz": "|sin theta|", "rpy": "|cos pitch|", "quaternion": "the scalar part"}

SINGULAR = 1e-4  # measures below this raise SingularityError
FADES = 4.0  # damping λ² has faded away where the smallest pivot is this many times λ²


class OperationalSpace:
    """The dynamic model of an arm in operational space, S (7.133): B_A ẍ + C_A ẋ + g_A = γ_A − h_A.

    Made by :meth:`Arm.operational_space`. Every method is compiled on first use and takes arrays
    whose last axis is the joints (or, for x, the ``rows``); all leading axes broadcast.

    damping  None: a singularity raises :class:`SingularityError`. A number λ: where the smallest pivot
             d of J_A B⁻¹ J_Aᵀ is below 4λ², λ² (1 − d/4λ²)² 1 is added to it: λ² 1 at the singularity,
             nothing farther away. Likewise in the representation, with the square of its measure.

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
    ) -> None:
        if damping is not None and not (isinstance(damping, (int, float, np.number)) and 0 < damping < np.inf):
            raise DalembertError(f"damping is {damping!r}; it is a number above 0, or None for an error")
        self.arm, self.frame, self.damping = arm, frame, damping
        self.mechanism = with_frame(arm, frame)
        self.space = space_of(arm, self.mechanism, orientation, task)
        self._kernels: dict[str, np.ufunc] = {}

    @property
    def m(self) -> int:
        """How many rows the task has."""
        return self.space.m

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows."""
        return row_names(self.space)

    @property
    def orientation(self) -> str:
        """How the orientation is written."""
        return self.space.orientation

    @property
    def redundant(self) -> bool:
        """Whether the arm has more joints than the task has rows."""
        return self.arm.n > self.m

    def __repr__(self) -> str:
        return f"<OperationalSpace of {self.arm.name!r}: {' '.join(self.rows)} of {self.frame!r}>"

    def __reduce__(self) -> Any:
        return (OperationalSpace, (self.arm, self.frame, self.orientation, self.rows, self.damping))

    # -- kinematics ------------------------------------------------------------------------------

    def transform(self, q: ArrayLike) -> Array:
        """The frame in the base frame: (…, 4, 4) homogeneous matrices."""
        return kernel(self.mechanism, JOINTS["pose"])(self.arm.placed(q))

    def pose(self, q: ArrayLike) -> Array:
        """x_e: (…, m), in m and rad (ε has no unit).

        "geometric" has no coordinates of its own; where its rows wx, wy, wz are asked for, these are
        the axis of the orientation times its angle, whose derivative is ω only for a fixed axis.
        """
        T = self.transform(q)
        R, p = T[..., :3, :3], T[..., :3, 3]
        parts = [p]
        parts.append(orientation_numbers(self.space.orientation, R))
        if ANGLE in self.space.rows:
            parts.append(self._angle(R)[..., None])
        return np.concatenate(parts, axis=-1)[..., list(self.space.rows)]

    def jacobian(self, q: ArrayLike) -> Array:
        """The analytical Jacobian J_A: (…, m, n)."""
        return self._run("jacobian", q=q)

    def transformation(self, q: ArrayLike) -> Array:
        """T_A of S (7.128), v_e = T_A ẋ_e for the whole pose: (…, 6, 6)."""
        return self._run("transformation", q=q)

    def jacobian_derivative(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """J̇_A: (…, m, n)."""
        return self._run("jacobian_derivative", q=q, qd=qd)

    def velocity(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """ẋ_e = J_A q̇: (…, m)."""
        return self._run("velocity", q=q, qd=qd)

    def acceleration(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """ẍ_e = J_A q̈ + J̇_A q̇: (…, m)."""
        return self._run("acceleration", q=q, qd=qd, qdd=qdd)

    def difference(self, x: ArrayLike, y: ArrayLike) -> Array:
        """x − y for two poses (…, m), angles the short way round; "geometric": the turn from y to x."""
        a, b = self._pose("x", x), self._pose("y", y)
        out = a - b
        rows = self.space.rows
        if self.space.orientation == "geometric" and {3, 4, 5} <= set(rows):
            from dalembert.trajectory.inverse_kinematics import rotation_vector

            at = [rows.index(k) for k in (3, 4, 5)]
            turned = rotation_by(a[..., at]) @ np.swapaxes(rotation_by(b[..., at]), -1, -2)
            out[..., at] = rotation_vector(turned)
            angles = [k for k, row in enumerate(rows) if row == ANGLE]
        elif self.space.orientation == "quaternion":
            angles = [k for k, row in enumerate(rows) if row == ANGLE]
        else:
            angles = [k for k, row in enumerate(rows) if row >= 3]
        out[..., angles] = np.remainder(out[..., angles] + np.pi, 2 * np.pi) - np.pi
        return out

    # -- dynamics --------------------------------------------------------------------------------

    def inertia(self, q: ArrayLike) -> Array:
        """B_A = (J_A B⁻¹ J_Aᵀ)⁻¹: (…, m, m), S (7.130)."""
        return self._run("inertia", q=q)

    def coriolis(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """C_A: (…, m, m), with Ḃ_A − 2C_A skew-symmetric for every arm (Problem 7.9).

        C_A ẋ_e is :meth:`coriolis_force` whenever q̇ = J̄_A ẋ_e: for every motion of a nonredundant
        arm, and for motions of a redundant one without internal motion. No matrix can do both for
        all motions of a redundant arm: docs/operational-space.md.
        """
        return self._run("coriolis", q=q, qd=qd)

    def coriolis_force(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """C_A ẋ_e = B_A J_A B⁻¹ C q̇ − B_A J̇_A q̇: (…, m), S (7.131), with whatever q̇ the arm has."""
        return self._run("coriolis_force", q=q, qd=qd)

    def gravity(self, q: ArrayLike) -> Array:
        """g_A = B_A J_A B⁻¹ g: (…, m), S (7.132)."""
        return self._run("gravity", q=q)

    def inverse_jacobian(self, q: ArrayLike) -> Array:
        """The dynamically consistent J̄_A = B⁻¹ J_Aᵀ B_A: (…, n, m), S (7.138)."""
        return self._run("inverse_jacobian", q=q)

    def null_projector(self, q: ArrayLike) -> Array:
        """1 − J_Aᵀ J̄_Aᵀ: (…, n, n), S (7.141): takes a torque to one that does not move the tip."""
        return self._run("null_projector", q=q)

    def torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        xdd: ArrayLike,
        wrench: ArrayLike | None = None,
        tau0: ArrayLike | None = None,
    ) -> Array:
        """Joint torques for a tip acceleration ẍ_e: (…, n), S (7.141), redundancy resolved dynamically.

        wrench  (…, 6) by the end effector on the environment, base axes, at the tip
        tau0    (…, n) any torques; only what does not move the tip is taken of them
        Friction is counted in, so that ``forward_dynamics`` of the result moves the tip by ẍ_e.
        """
        return self._run(
            "torque", q=q, qd=qd, xdd=xdd, tip_wrench=_or_zeros(wrench, 6), tau0=_or_zeros(tau0, self.arm.n)
        )

    def resolved_acceleration(
        self, q: ArrayLike, qd: ArrayLike, xdd: ArrayLike, qdd0: ArrayLike | None = None
    ) -> Array:
        """q̈ = J_A⁺ (ẍ_e − J̇_A q̇) + (1 − J_A⁺ J_A) q̈_0: (…, n)."""
        return self._run("resolved_acceleration", q=q, qd=qd, xdd=xdd, qdd0=_or_zeros(qdd0, self.arm.n))

    def kinematic_torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        xdd: ArrayLike,
        wrench: ArrayLike | None = None,
        qdd0: ArrayLike | None = None,
    ) -> Array:
        """Joint torques for ẍ_e by way of joint accelerations: (…, n), redundancy resolved kinematically."""
        return self.arm.inverse_dynamics(
            q, qd, self.resolved_acceleration(q, qd, xdd, qdd0), tip_wrench=self._at_tip(q, wrench)
        )

    def _at_tip(self, q: ArrayLike, wrench: ArrayLike | None) -> Array | None:
        """A wrench at this frame as one at the arm's tip."""
        if wrench is None or self.mechanism == self.arm.mechanism:
            return None if wrench is None else self.arm.checked("tip_wrench", wrench)
        h = self.arm.checked("tip_wrench", wrench)
        if self.mechanism.tip_body != self.arm.mechanism.tip_body:
            raise DalembertError(
                f"a wrench on '{self.frame}' is not one on the link of the arm's tip; load the arm with tip='{self.frame}'"
            )
        r = self.transform(q)[..., :3, 3] - self.arm.pose(q)[..., :3, 3]
        moment = h[..., 3:] + np.cross(r, h[..., :3])
        return np.concatenate([np.broadcast_to(h[..., :3], moment.shape), moment], axis=-1)

    # -- singularities ---------------------------------------------------------------------------

    def singularity(self, q: ArrayLike) -> tuple[Array, Array]:
        """(kinematic, representation): two measures (…), near 0 at a singularity of that kind.

        kinematic       √ of the smallest pivot of J_A B⁻¹ J_Aᵀ beside what is usual for this arm
        representation  |sin ϑ| (zyz), |cos pitch| (rpy), η (quaternion); 1 where nothing is represented
        """
        with np.errstate(all="ignore"):
            _, pivots, measure = self._kernel("inertia")(self.arm.placed(q), np.zeros(2))
        return self._kinematic("inertia", pivots), self._representation(measure)

    def _kinematic(self, name: str, pivots: Array) -> Array:
        usual = self._usual[1 if name == "resolved_acceleration" else 0]
        share = (np.asarray(pivots) / usual).min(axis=-1)
        return np.sqrt(np.where(share > 0, share, 0.0))

    def _representation(self, measure: Array) -> Array:
        measure = np.asarray(measure)
        if not self.space.represented:
            return np.ones(measure.shape)
        return np.where(measure > 0, measure, 0.0)

    @cached_property
    def _usual(self) -> tuple[Array, Array]:
        """The usual diagonals of J_A B⁻¹ J_Aᵀ and of J_A J_Aᵀ over the arm's configurations: (m,) each."""
        free = dataclasses.replace(self.space, orientation="geometric")  # no representation, no outliers
        diagonals = []
        for q in self.arm.placed(spread(self.arm)):
            J = np.array(equations.analytical(self.mechanism, free, q).J, float)
            B = np.array(equations.inertia_matrix(self.mechanism, q), float)
            diagonals.append((np.einsum("ij,ji->i", J, np.linalg.solve(B, J.T)), np.einsum("ij,ij->i", J, J)))
        first, second = np.mean(diagonals, axis=0)
        return np.where(first > 0, first, 1.0), np.where(second > 0, second, 1.0)

    def _kernel(self, name: str) -> np.ufunc:
        if name not in self._kernels:
            self.arm._needs_inertia()
            space = self.space
            if not space.represented and name != "transformation":  # one kernel for all representations
                space = dataclasses.replace(space, orientation="geometric")
            self._kernels[name] = kernel(self.mechanism, TIP[name].of(space))
        return self._kernels[name]

    def _run(self, name: str, **inputs: Any) -> Array:
        run = self._kernel(name)
        arrays = [self._checked(x, value) for x, value in inputs.items()]
        damped = "soft" in TIP[name].inputs

        def call(soft: Array) -> tuple[Array, Array | None, Array]:
            try:
                with np.errstate(all="ignore"):
                    value, *rest = run(*arrays, *([soft] if damped else []))
            except (TypeError, ValueError) as problem:
                shapes = ", ".join(f"{x} {a.shape}" for x, a in zip(inputs, arrays, strict=True))
                raise ShapeError(f"these shapes do not broadcast: {shapes} ({problem})") from None
            return value, rest[0] if len(rest) > 1 else None, self._representation(rest[-1])

        value, pivots, shown = call(np.zeros(2))
        if self.damping is None or not damped:
            self._check("representation", shown, inputs["q"], arrays)
            if pivots is not None:
                self._check("kinematic", self._kinematic(name, pivots), inputs["q"], arrays)
            return value.astype(np.result_type(*arrays), copy=False)
        soft = np.zeros((*shown.shape, 2))
        soft[..., 1] = self._strength(shown**2)
        if soft.any():
            value, pivots, _ = call(soft)
        if pivots is not None:
            soft[..., 0] = self._strength(pivots.min(axis=-1))
            if soft[..., 0].any():
                value, _, _ = call(soft)
        return value.astype(np.result_type(*arrays), copy=False)

    def _strength(self, square: Array) -> Array:
        """λ² (1 − d/4λ²)² below d = 4λ², else 0: d and this together grow with d, from λ² on."""
        assert self.damping is not None
        most = self.damping**2
        small = np.where(square > 0, square, 0.0)  # NaN and rounding below 0 are at the singularity itself
        return most * np.clip(1.0 - small / (FADES * most), 0.0, 1.0) ** 2

    def _check(self, kind: str, measures: Array, q: Any, arrays: list[Any]) -> None:
        """An error where a measure is small; not where something else than a number was given: that comes out again."""
        if not (measures < SINGULAR).any():
            return
        given = np.broadcast_arrays(measures, *(np.isfinite(a).all(axis=-1) for a in arrays))
        measures = np.where(np.logical_and.reduce(given[1:]), given[0], 1.0)
        if (measures < SINGULAR).any():
            self._refuse(kind, measures, q)

    def _refuse(self, kind: str, measures: Array, q: Any) -> None:
        index = tuple(int(k) for k in np.unravel_index(np.argmin(measures), measures.shape))
        value = float(measures[index])
        at = np.broadcast_to(np.asarray(q, float), (*measures.shape, self.arm.n))[index]
        where = f"at index {index[0] if len(index) == 1 else index} of the batch, " if index else ""
        where += "q = (" + ", ".join(f"{v:.5g}" for v in at) + ")"
        never = self._never_moved
        unable = (
            f"arm '{self.arm.name}' cannot move the rows {', '.join(self.rows)} one by one in any configuration "
            f"({', '.join(never)} not at all or not by itself); leave the task out to take the rows it can move"
        )
        if kind == "representation":
            if never:
                rest = f"besides, {unable}"
            elif self._geometric_measure(at) >= SINGULAR:
                rest = (
                    "the arm itself can move there in every direction of the task. Another orientation ('geometric' has "
                    "no such singularity) or damping=… goes through it"
                )
            else:
                rest = "the arm is in a kinematic singularity there, too, so that only damping=… goes through it"
            raise SingularityError(
                f"representation singularity of the orientation '{self.orientation}' of arm '{self.arm.name}' {where}: "
                f"{WHAT[self.orientation]} = {value:.3g}; {rest}",
                kind, index, value,
            )  # fmt: skip
        if never:
            sentence = f"kinematic singularity: {unable}"
        else:
            sentence = (
                f"kinematic singularity of arm '{self.arm.name}' {where}: it cannot move {', '.join(self.rows)} in every "
                f"direction there (measure {value:.3g}, usual are values near 1); damping=… goes through it"
            )
        raise SingularityError(sentence, kind, index, value)

    def _geometric_measure(self, q: Array) -> float:
        """The kinematic measure at one configuration, whatever the representation."""
        free = dataclasses.replace(self.space, orientation="geometric")
        at = np.asarray(self.arm.placed(q)).tolist()
        J = np.array(equations.analytical(self.mechanism, free, at).J, np.float64)
        A = J @ np.linalg.solve(np.array(equations.inertia_matrix(self.mechanism, at), np.float64), J.T)
        scale = np.sqrt(self._usual[0])
        return float(np.sqrt(max(np.linalg.eigvalsh(A / np.outer(scale, scale))[0], 0.0)))

    @cached_property
    def _never_moved(self) -> list[str]:
        """Rows that no configuration lets move while those before them stand still."""
        free = dataclasses.replace(self.space, orientation="geometric")
        Js = np.array(
            [equations.analytical(self.mechanism, free, q).J for q in self.arm.placed(spread(self.arm, 6))], float
        )
        Js = Js / np.maximum(np.linalg.norm(Js, axis=-1, keepdims=True), 1e-9)
        ranks = [max(np.linalg.matrix_rank(Js[:, :k], tol=1e-6), default=0) if k else 0 for k in range(self.m + 1)]
        return [name for k, name in enumerate(self.rows) if ranks[k + 1] == ranks[k]]

    def _angle(self, R: Array) -> Array:
        """The angle about the normal, from where the frame stands with none."""
        normal, reference = np.array(self.space.normal), self._reference
        turned = R @ reference.T
        axial = 0.5 * np.stack(
            [
                turned[..., 2, 1] - turned[..., 1, 2],
                turned[..., 0, 2] - turned[..., 2, 0],
                turned[..., 1, 0] - turned[..., 0, 1],
            ],
            axis=-1,
        )
        return np.arctan2(axial @ normal, 0.5 * (np.trace(turned, axis1=-2, axis2=-1) - 1.0))

    @cached_property
    def _reference(self) -> Array:
        """Where the angle is 0: R(0) without its turn about the normal, if that can be told; else R(0).

        A closed chain, which need not reach q = 0, is looked at in the pose of its branch.
        """
        R = self.transform(self.arm.home)[:3, :3]
        eta, *eps = quaternion(R)
        along = float(np.dot(eps, self.space.normal))
        if np.hypot(eta, along) < 1e-3:
            return R
        return rotation_by(-2 * np.arctan2(along, eta) * np.array(self.space.normal)) @ R

    def _checked(self, name: str, value: Any) -> Any:
        if name == "q":
            return self.arm.placed(value)
        if name in ("tau0", "qdd0"):
            try:
                return self.arm.checked("qd", value)
            except ShapeError as problem:
                raise ShapeError(str(problem).replace("qd ", f"{name} ", 1)) from None
        if name != "xdd":
            return self.arm.checked(name, value)
        return self._pose(name, value)

    def _pose(self, name: str, value: Any) -> Any:
        """``value`` as an array whose last axis is the task's rows."""
        x = real(name, value)
        if x.ndim == 0 or x.shape[-1] != self.m:
            raise ShapeError(
                f"{name} has shape {x.shape}, but the task has the rows {', '.join(self.rows)}: the last axis must be {self.m}"
            )
        return x

    # -- motions ---------------------------------------------------------------------------------

    def follow(
        self,
        t: ArrayLike,
        x: ArrayLike,
        xd: ArrayLike,
        xdd: ArrayLike,
        q0: ArrayLike,
        qd0: ArrayLike | None = None,
        *,
        wrench: ArrayLike | None = None,
        resolution: Literal["kinematic", "dynamic"] = "kinematic",
        tau0: Callable[[float, Array, Array], ArrayLike] | None = None,
    ) -> OperationalMotion:
        """Inverse dynamics of a motion given in operational space, both ways of S 7.8.

        t            (N,) instants; x, xd, xdd (N, m) the motion at them
        q0           (n,) a configuration near the one at which the motion begins
        qd0          (n,) joint velocities at the start; what moves the tip is made to fit xd
        wrench       (6,) or (N, 6) by the end effector on its environment
        resolution   "kinematic": q̇ = J_A⁺ ẋ, then joint inverse dynamics (7.42);
                     "dynamic": the torques (7.141), whose τ_0 moves the redundant joints as it likes
        tau0         τ_0 as a function of t, q, q̇ ("dynamic" only); 0 unless given
        """
        return follow(self, t, x, xd, xdd, q0, qd0, wrench, resolution, tau0)


def _or_zeros(value: ArrayLike | None, size: int) -> ArrayLike:
    """Zeros of the least type where nothing is given, so that the type of the rest counts."""
    return np.zeros(size, np.float32) if value is None else value
