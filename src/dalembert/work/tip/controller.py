"""Control of the tip's motion, and of its force against a wall, in operational space (S 7.8).

    ẍ = ẍ_d + K_D (ẋ_d − ẋ) + K_P (x_d − x)     in rows that follow a motion
    ẍ = K_F (h_d − h) − K_V ẋ                    in rows that regulate a force h_d against the environment

and the torques (7.141) that realise it, with the contact h_e fed forward and, if the arm is
redundant, τ_0 = g(q) + K_p (q_r − q) − k_N B q̇, which acts on the internal motion only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.base.arrays import Array, at_once, double, which_state
from dalembert.errors import DalembertError, ShapeError, SingularityError
from dalembert.mechanics.motion.control import TipLaw
from dalembert.work.tip.operational import SINGULAR, OperationalSpace
from dalembert.work.trajectory.planning.limits import refuse_loads
from dalembert.work.trajectory.planning.motion_checks import finite
from dalembert.work.trajectory.planning.time_breaks import breaks_of_motion

Motion = Callable[[float], tuple[ArrayLike, ArrayLike, ArrayLike]]

NEAR = 0.1  # a measure below this that halves in one step is about to pass through 0


@dataclass(frozen=True)
class Wall:
    """A flat, elastic surface without friction.

    point      a point of the surface in base axes (m); ``normal`` points outwards, towards the arm
    stiffness  N/m; ``damping`` N s/m while the tip is in contact

    >>> Wall(point=(0.8, 0.0, 0.0), normal=(-1.0, 0.0, 0.0)).stiffness
    10000.0
    """

    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    stiffness: float = 1e4
    damping: float = 0.0

    @property
    def numbers(self) -> Array:
        """[point, unit normal, stiffness, damping], as the equations expect it: (8,)."""
        unit = np.array(self.normal, float) / np.linalg.norm(self.normal)
        return np.concatenate([self.point, unit, [self.stiffness, self.damping]])

    def wrench(self, op: OperationalSpace, q: ArrayLike, qd: ArrayLike) -> Array:
        """Wrench of the tip on the wall, [f, μ] in base axes: (…, 6)."""
        return op.kernel("wall_wrench")(op.arm.placed(q), op.arm.checked("qd", qd), self.numbers)


class OperationalController:
    """A motion and force controller of the tip for :func:`dalembert.simulate`: a function (t, q, qd) → τ.

    Its law is one compiled function. If its rows are x, y, z or those of a quaternion, without damping, and its contact
    is None or a wall, fixed steps run it in one loop with the dynamics.

    op         the operational space, :meth:`Arm.operational_space`
    reference  x_d (m,), or a function t → x_d, ẋ_d, ẍ_d, such as a :class:`dalembert.Trajectory` with m rows; after
               its ``duration``, if it has one, the final pose is held
    kp, kd     K_P (1/s²) and K_D (1/s), one number or one per row
    force      {row: h_d}: rows in which the tip exerts a force on its environment (N) instead of following the motion
    kf, kv     K_F (m/s² per N) and K_V (1/s) in those rows
    contact    the environment: a :class:`Wall`, or a function (q, qd) → wrench (…, 6)
    posture    q_r (n,) to which redundant joints return with ``stiffness`` (N m/rad); none by default
    calm       k_N (1/s), the decay rate of internal motion

    >>> import dalembert as da
    >>> arm = da.load("planar-3r")
    >>> op = arm.operational_space(task="xy")
    >>> q = [0.5, 0.6, 0.4]
    >>> goal = op.pose(q) + [0.0, 0.1]
    >>> run = da.simulate(arm, q, None, OperationalController(op, goal), 2.0)
    >>> (op.pose(run.q[-1]) - goal).round(4) + 0.0
    array([0., 0.])
    """

    def __init__(
        self,
        op: OperationalSpace,
        reference: ArrayLike | Motion,
        kp: ArrayLike = 100.0,
        kd: ArrayLike = 20.0,
        *,
        force: Mapping[str, float] | None = None,
        kf: float = 0.5,
        kv: float = 40.0,
        contact: Wall | Callable[[Array, Array], ArrayLike] | None = None,
        posture: ArrayLike | None = None,
        stiffness: float = 20.0,
        calm: float = 2.0,
    ) -> None:
        if force is not None and not isinstance(force, Mapping):
            raise DalembertError(f"force is {force!r}; it must be a dict of rows and forces, such as {{'z': -20.0}}")
        forces = dict(force or {})
        for row in forces:
            if row not in op.rows or row not in ("x", "y", "z"):
                raise DalembertError(
                    f"a force is requested in row '{row}'; it must be one of x, y, z among the rows "
                    f"{', '.join(op.rows)}"
                )
        if forces and contact is None:
            raise DalembertError("a force needs an environment to press against: give contact=…")
        if contact is not None:
            refuse_loads(op.arm, "the controller")
        self.op, self.contact = op, contact
        self.reference = self._motion(reference)
        self._forced = np.array([row in forces for row in op.rows])
        self._row_gains = np.concatenate([
            np.where(self._forced, 0.0, self._gain("kp", kp)),
            np.where(self._forced, kv, self._gain("kd", kd)),
            np.where(self._forced, kf, 0.0),
            [float(forces.get(row, 0.0)) for row in op.rows],
        ])  # fmt: skip
        if posture is None:
            posture, stiffness = np.zeros(op.arm.n), 0.0
        q_r = double("posture", op.arm.checked("q", posture))
        self._joint_gains = np.concatenate([q_r, np.full_like(q_r, stiffness), np.full_like(q_r, calm)], axis=-1)

    def __repr__(self) -> str:
        forced = [row for row, held in zip(self.op.rows, self._forced, strict=True) if held]
        force = f", force in {' '.join(forced)}" if forced else ""
        return f"<OperationalController of {self.op!r:.100}{force}>"

    def _motion(self, reference: ArrayLike | Motion) -> Motion:
        if callable(reference):
            return reference
        x = finite("the reference", reference, (self.op.m,), f" for the rows {', '.join(self.op.rows)}")
        return lambda t: (x, np.zeros_like(x), np.zeros_like(x))

    def _gain(self, name: str, value: ArrayLike) -> Array:
        gain = double(name, value)
        if gain.shape not in ((), (self.op.m,)) or not (np.isfinite(gain) & (gain >= 0)).all():
            raise ShapeError(f"{name} must be one number ≥ 0, or one per row of {', '.join(self.op.rows)}")
        return gain

    def _wanted(self, t: float) -> tuple[Array, Array, Array]:
        """x_d, ẋ_d, ẍ_d at t, (…, m) each; zeros in force-controlled rows."""
        end = float(getattr(self.reference, "duration", np.inf))
        m = self.op.m
        try:
            given = (double("the reference", v) for v in self.reference(min(t, end)))
            x, xd, xdd = (np.where(self._forced, 0.0, np.broadcast_to(v, (*v.shape[:-1], m))) for v in given)
        except (TypeError, ValueError) as problem:
            raise ShapeError(
                f"the reference must return x, xd, xdd at t = {t:g} s, each of shape ({m},) for the rows "
                f"{', '.join(self.op.rows)}: {problem}"
            ) from problem
        return (x, xd, xdd) if t <= end else (x, np.zeros_like(xd), np.zeros_like(xdd))

    @property
    def breaks(self) -> NDArray[np.float64]:
        """Times at which the reference is not smooth: its knots, and its end."""
        return breaks_of_motion(self.reference)

    def wrench(self, q: ArrayLike, qd: ArrayLike) -> Array | None:
        """Wrench of the tip on its environment: (…, 6)."""
        if self.contact is None:
            return None
        q, qd = at_once("q", q), at_once("qd", qd)
        if isinstance(self.contact, Wall):
            return self.contact.wrench(self.op, q, qd)
        return np.asarray(self.contact(np.asarray(q, float), np.asarray(qd, float)), float)

    def motors(self, t: float, q: ArrayLike, qd: ArrayLike) -> Array:
        """Torques of the motors: (…, n)."""
        return self._motors(t, q, qd, self.wrench(q, qd))

    def _motors(self, t: float, q: ArrayLike, qd: ArrayLike, h_e: Array | None) -> Array:
        q, qd = at_once("q", q), at_once("qd", qd)
        op, (x, xd, xdd) = self.op, self._wanted(t)
        return op.run(
            "controlled", q=q, qd=qd, reference=_joined(op.difference(x, op.pose(q)), xd, xdd),
            tip_wrench=h_e, row_gains=self._row_gains, joint_gains=self._joint_gains,
        )  # fmt: skip

    def __call__(self, t: float, q: ArrayLike, qd: ArrayLike) -> Array:
        """Motor torques minus Jᵀ h_e, so that ``simulate`` includes the contact: (…, n)."""
        h_e = self.wrench(q, qd)
        tau = self._motors(t, q, qd, h_e)
        return tau if h_e is None else tau - self.op.contact_torque(q, h_e)

    @property
    def law(self) -> TipLaw | None:
        """The law as an equation that runs in one loop with the arm's, or None if that is impossible.

        Angles as rows, and the rotation between two orientations, need arctangents; damping depends on values
        already computed; and a contact may be any function.
        """
        op, wall = self.op, self.contact if isinstance(self.contact, Wall) else None
        plain = all(row < 3 or (row < 6 and op.space.orientation == "quaternion") for row in op.space.rows)
        if not plain or self._joint_gains.ndim > 1 or op.damping is not None or self.contact is not wall:
            return None
        return TipLaw(
            op.mechanism, op.space, tuple(self._row_gains.tolist()), tuple(self._joint_gains.tolist()),
            None if wall is None else tuple(wall.numbers.tolist()), (tuple(op.least_pivots.tolist()), SINGULAR),
        )  # fmt: skip

    def references(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """[x_d, ẋ_d, ẍ_d] at the times t: (…, N, 3m)."""
        return np.stack([_joined(*self._wanted(float(instant))) for instant in t], axis=-2)


def _joined(*parts: Array) -> Array:
    return np.concatenate(np.broadcast_arrays(*parts), axis=-1)


def check_singularity_between(control: OperationalController, t: Array, q: Array) -> None:
    """Raise an error if a step has jumped over a kinematic singularity, which would invalidate all that follows.

    q (…, steps, n) at t: at the rate at which its measure fell in one step, it would be below 0 after the next.
    """
    op = control.op
    if op.damping is not None or q.shape[-2] < 2:
        return
    fine: NDArray[np.bool_] = np.asarray(np.isfinite(q).all(axis=-1))
    measure = np.where(fine, op.singularity(np.where(fine[..., None], q, op.arm.home))[0], 1.0)
    before, now = measure[..., :-1], measure[..., 1:]
    over = np.argwhere((2.0 * now <= before) & (now < NEAR))
    if len(over):
        first = over[np.argmin(over[:, -1])]
        *index, k = (int(i) for i in first)
        value = float(now[tuple(first)])
        raise SingularityError(
            f"kinematic singularity of arm '{op.arm.name}' just after t = {float(t[k + 1]):.6g} s{which_state(index)}: it cannot move "
            f"{', '.join(op.rows)} in every direction there, and the next step would jump over it (measure "
            f"{value:.3g}, values near 1 are usual); give damping=… to pass through it",
            "kinematic", tuple(index), value,
        )  # fmt: skip
