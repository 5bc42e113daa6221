"""Control of the tip's motion, and of its force against a wall, in operational space (S 7.8).

    ẍ = ẍ_d + K_D (ẋ_d − ẋ) + K_P (x_d − x)     in rows that follow a motion
    ẍ = K_F (h_d − h) − K_V ẋ                    in rows that keep a force h_d against the environment

and the torques (7.141) that make it so, with the contact h_e fed forward and, where the arm is
redundant, τ_0 = g(q) + K_p (q_r − q) − k_N B q̇, of which only the internal motion feels anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arrays import double, which_state
from dalembert.errors import DalembertError, ShapeError, SingularityError
from dalembert.motion.control import Surface, TipLaw
from dalembert.simulation.steps import breaks_of_motion
from dalembert.tip.operational import SINGULAR, OperationalSpace

Array = NDArray[np.floating[Any]]
Motion = Callable[[float], tuple[ArrayLike, ArrayLike, ArrayLike]]

NEAR = 0.1  # a measure that halves in one step below this is on its way through 0


@dataclass(frozen=True)
class Wall:
    """A flat, springy surface without friction.

    point      a point of it in base axes (m); ``normal`` points out of it, towards the arm
    stiffness  N/m; ``damping`` N s/m while the tip presses

    >>> Wall(point=(0.8, 0.0, 0.0), normal=(-1.0, 0.0, 0.0)).stiffness
    10000.0
    """

    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    stiffness: float = 1e4
    damping: float = 0.0

    def wrench(self, op: OperationalSpace, q: ArrayLike, qd: ArrayLike) -> Array:
        """What the tip exerts on the wall, [f, μ] in base axes: (…, 6)."""
        n = np.array(self.normal, float) / np.linalg.norm(self.normal)
        p = op.transform(q)[..., :3, 3]
        depth = (np.array(self.point, float) - p) @ n
        v = (self._linear(op).velocity(q, qd)) @ n
        push = np.where(depth > 0, np.maximum(self.stiffness * depth - self.damping * v, 0.0), 0.0)
        return np.concatenate([-push[..., None] * n, np.zeros((*push.shape, 3))], axis=-1)

    @staticmethod
    def _linear(op: OperationalSpace) -> OperationalSpace:
        return _sub_space(op, ("x", "y", "z"))


def _sub_space(op: OperationalSpace, rows: tuple[str, ...]) -> OperationalSpace:
    """The same frame with other rows, made once."""
    made = op.__dict__.setdefault("_others", {})
    if rows not in made:
        made[rows] = OperationalSpace(op.arm, op.frame, "geometric", rows)
    return made[rows]


class OperationalController:
    """A motion and force controller of the tip, for :func:`dalembert.simulate`: a function (t, q, qd) → τ.

    Where its rows are x, y, z or a quaternion's, without damping, and its contact is none or a wall, fixed
    steps compile it together with the dynamics.

    op         the operational space, :meth:`Arm.operational_space`
    reference  x_d (m,), or a function t → x_d, ẋ_d, ẍ_d, such as a :class:`dalembert.Trajectory` of m rows; after
               its ``duration``, if it has one, the last pose is held
    kp, kd     K_P (1/s²) and K_D (1/s), one number or one for each row
    force      {row: h_d}: rows in which the tip shall exert a force on its environment (N), not move
    kf, kv     K_F (m/s² for each N) and K_V (1/s) in those rows
    contact    the environment: a :class:`Wall`, or a function (q, qd) → wrench (…, 6)
    posture    q_r (n,) to which redundant joints return with ``stiffness`` (N m/rad); none unless given
    calm       k_N (1/s), how fast internal motion dies away

    >>> import dalembert as da
    >>> arm = da.load("planar-3r")
    >>> op = arm.operational_space(task="xy")
    >>> q = [0.5, 0.6, 0.4]
    >>> there = op.pose(q) + [0.0, 0.1]
    >>> run = da.simulate(arm, q, None, OperationalController(op, there), 2.0)
    >>> (op.pose(run.q[-1]) - there).round(4) + 0.0
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
        self.op = op
        self.kp, self.kd = (self._gain(name, value) for name, value in (("kp", kp), ("kd", kd)))
        self.kf, self.kv, self.stiffness, self.calm = kf, kv, stiffness, calm
        self.contact = contact
        self.posture = None if posture is None else np.asarray(op.arm.checked("q", posture), float)
        self.reference: Motion
        if callable(reference):
            self.reference = reference
        else:
            x = double("the reference", reference)
            if x.shape != (op.m,):
                raise ShapeError(f"the reference has shape {x.shape}; the rows {', '.join(op.rows)} are ({op.m},)")
            self.reference = lambda t: (x, np.zeros(op.m), np.zeros(op.m))
        self.force_rows: list[tuple[int, int, float]] = []  # (row of the task, component of the wrench, h_d)
        if force is not None and not isinstance(force, Mapping):
            raise DalembertError(f"force is {force!r}; it is a table of rows and forces, like {{'z': -20.0}}")
        for row, wanted in (force or {}).items():
            if row not in op.rows or row not in ("x", "y", "z"):
                raise DalembertError(
                    f"force is asked for in row '{row}'; it must be one of x, y, z among the rows {', '.join(op.rows)}"
                )
            self.force_rows.append((op.rows.index(row), "xyz".index(row), float(wanted)))
        if self.force_rows and contact is None:
            raise DalembertError("a force needs something to press against: give contact=…")

    def _gain(self, name: str, value: ArrayLike) -> Array:
        gain = double(name, value)
        if gain.shape not in ((), (self.op.m,)) or not (np.isfinite(gain) & (gain >= 0)).all():
            raise ShapeError(f"{name} is one number ≥ 0, or one for each of the rows {', '.join(self.op.rows)}")
        return gain

    def wrench(self, q: ArrayLike, qd: ArrayLike) -> Array | None:
        """What the tip exerts on its environment: (…, 6)."""
        if self.contact is None:
            return None
        if isinstance(self.contact, Wall):
            return self.contact.wrench(self.op, q, qd)
        return np.asarray(self.contact(np.asarray(q, float), np.asarray(qd, float)), float)

    def _wanted(self, t: float) -> tuple[Array, Array, Array]:
        """x_d, ẋ_d, ẍ_d at t: (…, m) each."""
        end = float(getattr(self.reference, "duration", np.inf))
        try:
            given = (double("the reference", v) for v in self.reference(min(t, end)))
            x, xd, xdd = (np.broadcast_to(v, (*v.shape[:-1], self.op.m)) for v in given)
        except (TypeError, ValueError) as problem:
            raise ShapeError(
                f"the reference must give x, xd, xdd at t = {t:g} s, each of shape ({self.op.m},) for the rows "
                f"{', '.join(self.op.rows)}: {problem}"
            ) from problem
        return (x, xd, xdd) if t <= end else (x, np.zeros_like(xd), np.zeros_like(xdd))

    @property
    def breaks(self) -> NDArray[np.float64]:
        """Where the reference is not smooth: its knots, and its end."""
        return breaks_of_motion(self.reference)

    def acceleration(self, t: float, q: ArrayLike, qd: ArrayLike, h_e: Array | None) -> Array:
        """ẍ that is asked for: (…, m)."""
        op = self.op
        x_d, xd_d, xdd_d = self._wanted(t)
        xd = op.velocity(q, qd)
        xdd = xdd_d + self.kd * (xd_d - xd) + self.kp * op.difference(x_d, op.pose(q))
        for row, component, wanted in self.force_rows:
            assert h_e is not None
            xdd[..., row] = self.kf * (wanted - h_e[..., component]) - self.kv * xd[..., row]
        return xdd

    def motors(self, t: float, q: ArrayLike, qd: ArrayLike) -> Array:
        """The torques of the motors: (…, n)."""
        h_e = self.wrench(q, qd)
        return self.op.torque(q, qd, self.acceleration(t, q, qd, h_e), h_e, self._internal(q, qd))

    def _internal(self, q: ArrayLike, qd: ArrayLike) -> Array | None:
        """τ_0"""
        if not self.op.redundant:
            return None
        arm = self.op.arm
        v = np.asarray(qd, float)
        tau = arm.gravity_torque(q) - self.calm * (arm.inertia_matrix(q) @ v[..., None])[..., 0]
        if self.posture is not None:
            tau = tau + self.stiffness * (self.posture - np.asarray(q, float))
        return tau

    def __call__(self, t: float, q: ArrayLike, qd: ArrayLike) -> Array:
        """The motors' torques less Jᵀ h_e, so that ``simulate`` feels the contact too: (…, n)."""
        tau = self.motors(t, q, qd)
        h_e = self.wrench(q, qd)
        if h_e is None:
            return tau
        J = self._whole(q)
        return tau - (np.swapaxes(J, -1, -2) @ h_e[..., None])[..., 0]

    # -- compiled --------------------------------------------------------------------------------

    @property
    def law(self) -> TipLaw | None:
        """The law as an equation, to be compiled with the arm's; None where it is none.

        Angles as rows, and the turn between two orientations, are arctangents; damping depends on what has
        been computed; a contact may be any function.
        """
        op = self.op
        plain = all(row < 3 or (row < 6 and op.space.orientation == "quaternion") for row in op.space.rows)
        wall = self.contact if isinstance(self.contact, Wall) else None
        here = op.mechanism == op.arm.mechanism  # else the contact is not at the tip
        batched = self.posture is not None and self.posture.ndim > 1
        if not plain or batched or op.damping is not None or (self.contact is not None and not (wall and here)):
            return None
        surface = None
        if wall is not None:
            n = np.array(wall.normal, float) / np.linalg.norm(wall.normal)
            surface = Surface(_floats(wall.point), _floats(n), float(wall.stiffness), float(wall.damping))
        least = SINGULAR**2 * op._usual[0]
        return TipLaw(
            op.mechanism, op.space, _floats(np.broadcast_to(self.kp, op.m)), _floats(np.broadcast_to(self.kd, op.m)),
            tuple(self.force_rows), float(self.kf), float(self.kv), surface,
            None if self.posture is None else _floats(self.posture),
            float(self.stiffness), float(self.calm), (_floats(least), SINGULAR),
        )  # fmt: skip

    def references(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """[x_d, ẋ_d, ẍ_d] at the instants t: (N, 3m)."""
        rows = [np.concatenate([x.reshape(self.op.m) for x in self._wanted(float(at))]) for at in t]
        return np.array(rows).reshape(len(t), 3 * self.op.m)

    def _whole(self, q: ArrayLike) -> Array:
        """The geometric Jacobian of the frame: (…, 6, n)."""
        return _sub_space(self.op, ("x", "y", "z", "wx", "wy", "wz")).jacobian(q)


def flown_over(control: OperationalController, t: Array, q: Array) -> None:
    """An error where a step has gone over a kinematic singularity instead of meeting it, and what follows is nonsense.

    q (…, steps, n) at t: as fast as its measure fell in one step, it would be below 0 after the next.
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
            f"{', '.join(op.rows)} in every direction there, and the next step would go over it (measure {value:.3g}, usual "
            "are values near 1); damping=… goes through it",
            "kinematic", tuple(index), value,
        )  # fmt: skip


def _floats(values: Any) -> Any:
    return tuple(float(x) for x in values)
