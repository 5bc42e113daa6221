"""``da.inverse_kinematics``: joint configurations that bring the tip to a pose, for any arm.

Damped Gauss–Newton iterations on the compiled kernels, from many initial guesses at once. Redundant joints move as
close to the preferred configuration as the task and the joint limits allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import hypot
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array, which_state
from dalembert.base.wording import shown
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.trajectory.kinematics.inverse_kinematics import (
    IN_LIMITS,
    TipTask,
    beyond,
    is_beyond_reach,
    joint_units,
    least_step,
    movable_task,
    out_of_reach,
    place,
    sampled_jacobian,
    search_ranges,
    solve,
    span,
    starts,
    turned_into,
    would_be,
)
from dalembert.work.trajectory.planning.limits import position_limits
from dalembert.work.trajectory.planning.motion_checks import check_choice, direction, finite

Aim = Literal["pose", "position+axis", "position"]
Preference = Literal["mid-range", "zero"]
Booleans = NDArray[np.bool_]

STARTS = 64  # initial guesses per round of the search for a pose
ROUNDS = 12  # maximum number of rounds in the search for all solutions
WITHOUT_NEW = 3  # consecutive rounds without a new solution that end the search
ROWS = 1 << 13  # configurations iterated at a time
REACHED = 1e-9  # m and rad
SAME = 1e-5  # rad and m: configurations closer than this are the same
SAME_REDUNDANT = 1e-3  # the same for redundant arms, which approach the preferred configuration iteratively
REDUNDANT_STEPS = 200  # along the self-motion at most: half a turn takes 8 of the longest
LONGEST = 0.4  # rad and m: longest step of the self-motion
FEW = 8  # configurations that are moved along the self-motion in careful steps, if all others failed


@dataclass(frozen=True, eq=False)
class TipSolution:
    """Result of :func:`dalembert.inverse_kinematics`.

    q          (…, n) rad or m: the preferred configuration for each pose
    solutions  (…, k, n) the requested solutions, the preferred one first; in a batch, padded with rows of NaN
    error      (…, 2) distance of q from the pose, in m and in rad; the angle is 0 if the task leaves it free
    reached    (…) whether the pose is reached; False only with ``unreachable="nearest"``
    task       "pose", "position+axis" or "position"
    """

    arm: Arm
    task: Aim
    q: Array
    solutions: Array
    error: Array
    reached: Booleans

    def __repr__(self) -> str:
        metres, angle = (float(x) for x in self.error.reshape(-1, 2).max(axis=0))
        off = f"error at most {metres:.1e} m, {angle:.1e} rad"
        who = f"task '{self.task}' of arm '{self.arm.name}'"
        if self.q.ndim > 1:
            count = self.reached.size
            return f"<TipSolution: {int(self.reached.sum())} of {count} poses reached, {who}; {off}>"
        count = len(self.solutions)
        numbers = ", ".join(f"{x:.4g}" for x in self.q.round(9) + 0.0)
        return f"<TipSolution: {count} solution{'s' * (count != 1)}, {who}; {off}>\nq = [{numbers}]"


def inverse_kinematics(
    arm: Arm,
    pose: ArrayLike,
    q0: ArrayLike | None = None,
    *,
    task: Aim | None = None,
    axis: ArrayLike | None = None,
    solutions: int | Literal["all"] = 1,
    prefer: Preference = "mid-range",
    respect_limits: bool = True,
    unreachable: Literal["error", "nearest"] = "error",
) -> TipSolution:
    """Joint positions q (…, n) in rad or m that bring the tip to a pose, computed numerically for any arm.

    pose            (…, 4, 4) homogeneous transforms of the tip in the base frame (m), as :meth:`dalembert.Arm.pose`
                    returns them; or (…, 3) positions only, (…, 2) for an arm in the x-y plane
    q0              (…, n) the solution nearest to it is preferred; without it, ``prefer`` decides
    task            "pose"; "position+axis", the position and the direction of a tool axis, for five joints; or
                    "position". By default, the first of these for which the arm has enough joints; see ``.task`` of the
                    result
    axis            (3,) the tool axis for "position+axis" in the tip frame, (0, 0, 1) by default
    solutions       number of distinct configurations to search for (1), or "all". Configurations that differ by full
                    turns of a joint count as one. For a redundant arm, the solutions are the configurations nearest to
                    the preferred one, one for each branch that is found
    prefer          "mid-range": joints near the middle of their ranges, weighted by the range; "zero": small values
    respect_limits  return only configurations within the joint position limits
    unreachable     "error", or "nearest" for the nearest configuration found, with its ``.error``

    The initial guesses of the search are the same in every call. In practice, all eight solutions of a six-joint arm
    with a spherical wrist are found, but there is no proof that no solution was missed.

    >>> import dalembert as da
    >>> arm = da.load("puma560")
    >>> pose = arm.pose([0.3, -0.5, 0.8, 0.4, 0.9, -0.2])
    >>> found = inverse_kinematics(arm, pose, solutions="all", respect_limits=False)
    >>> found.solutions.shape, bool(abs(arm.pose(found.solutions) - pose).max() < 1e-9)
    ((8, 6), True)
    """
    x, R, batch = _goals(arm, pose)
    aim = "position" if R is None and task is None else task
    search = _Search(arm, aim, axis, prefer, respect_limits, q0 is not None)
    if axis is not None and search.aim != "position+axis":
        raise DalembertError(
            f"axis is {shown(axis)}, but the task is '{search.aim}': a tip axis applies only to task='position+axis', "
            "where the rotation of a pose (…, 4, 4) defines its direction"
        )
    if R is None and search.aim != "position":
        raise ShapeError(
            f"task '{task}' needs an orientation, but pose has shape {np.shape(pose)}: give transforms of shape (…, 4, "
            "4)"
        )
    count = _count(solutions)
    check_choice("unreachable", unreachable, ("error", "nearest"))
    near = _near(arm, search.middle if q0 is None else q0, batch)
    R = np.broadcast_to(np.eye(3), (*x.shape, 3)) if R is None else R
    rows_of = [np.empty((0, arm.n))] * len(x)
    if count == 1 and len(x) > 1:  # a batch of poses
        rows_of = list(search.nearest(x, R, near))
    reached = np.ones(len(x), bool)
    for k in [k for k, rows in enumerate(rows_of) if not len(rows)]:
        rows_of[k], reason = search.every(x[k], R[k], near[k], count)
        reached[k] = not reason
        if unreachable == "error" and reason:
            where = f"{place(x[k])}{which_state(np.unravel_index(k, batch))}"
            raise DalembertError(f"the tip of arm '{arm.name}' cannot be at {where}: {reason}")
    most = max(map(len, rows_of), default=1)
    padded = np.full((len(x), most, arm.n), np.nan)
    for k, rows in enumerate(rows_of):
        padded[k, : len(rows)] = rows
    q = padded[:, 0]
    error = np.stack(search.misses(q, x, R), axis=-1)
    return TipSolution(
        arm, search.aim, q.reshape(*batch, arm.n), padded.reshape(*batch, most, arm.n), error.reshape(*batch, 2),
        reached.reshape(batch),
    )  # fmt: skip


# -- the search ----------------------------------------------------------------------------------


class _Search:
    """A task of an arm, with the preference among its solutions: those near a configuration, q0 or ``middle``.

    periodic      (n,) joints whose full turns do not move the tip
    lower, upper  (n,) bounds
    seeded        whether the preferred configuration is q0, from which the search starts
    middle        (n,) preferred configuration without q0
    scale         (n,) unit of distance from the preferred configuration
    units         (n,) of the joint variables: rad, or the unit of length of the task (m)
    """

    def __init__(
        self, arm: Arm, aim: str | None, axis: ArrayLike | None, prefer: str, respect_limits: bool, seeded: bool
    ) -> None:
        check_choice("task", aim, (*get_args(Aim), None))
        check_choice("prefer", prefer, get_args(Preference))
        self.arm, self.seeded, self.units, q = arm, seeded, joint_units(arm), starts(arm, 32)
        for name in get_args(Aim) if aim is None else (aim,):
            task = _task(arm, name, axis, q)
            if aim is None and name != "position" and not len(task.orientation):
                continue  # the arm cannot rotate its tip
            rank = int(np.linalg.matrix_rank(task.jacobian(q) * self.units, tol=1e-9).max())
            if rank == task.size:
                break
        if not rank:
            raise DalembertError(f"no joint of arm '{arm.name}' moves its tip in the directions of task '{name}'")
        self.aim, self.task, self.redundant, self.periodic = name, task, rank < arm.n, _periodic(arm, q[:4])
        free = np.full(arm.n, np.inf)
        self.lower, self.upper = position_limits(arm) if respect_limits else (-free, free)
        (low, high), centred = search_ranges(arm), prefer == "mid-range"
        self.middle: Array = 0.5 * (low + high) if centred else np.zeros(arm.n)
        scale = 0.5 * (high - low) if centred else self.units
        self.scale = self.units if seeded else np.maximum(scale, 1e-9 * self.units)

    def every(self, x: Array, R: Array, near: Array, count: int | None) -> tuple[Array, str]:
        """Distinct solutions (k, n), the preferred one first; or the nearest one, and why there is no solution."""
        solutions: Array = np.empty((0, self.arm.n))
        nearest, excess, idle = None, None, 0
        for series in range(ROUNDS):
            seeds = starts(self.arm, STARTS, series)
            if self.seeded and not series:
                seeds = np.concatenate([near[None], seeds])
            q, left = self.solved(x, R, seeds, near)
            at = self.at(q, x, R)
            if nearest is None or left.min() < nearest[1]:
                nearest = q[left.argmin()], float(left.min())
            fits = at & self.within(q)
            if excess is None and at.any() and not fits.any():
                excess = beyond(self.arm, q[at][0])
            before = len(solutions)
            solutions = self.distinct(np.concatenate([solutions, self.sorted(q[fits], near)]))
            idle = 0 if len(solutions) > before else idle + 1
            if idle == WITHOUT_NEW or (count is not None and len(solutions) >= count):
                break
        if len(solutions):
            return self.sorted(solutions, near)[:count], ""
        assert nearest is not None
        return nearest[0][None], self.reason(nearest[0], x, R, excess)

    def nearest(self, x: Array, R: Array, near: Array) -> Iterator[Array]:
        """The preferred solution (1, n) of each pose (m, 3), (m, 3, 3); (0, n) if none is found immediately."""
        seeds = starts(self.arm, STARTS)
        many = max(1, ROWS // (STARTS + 1))
        for first in range(0, len(x), many):
            part = slice(first, first + many)
            m = len(x[part])
            each = np.broadcast_to(seeds, (m, *seeds.shape))
            if self.seeded:
                each = np.concatenate([near[part, None], each], axis=1)
            k = each.shape[1]
            goals = np.repeat(x[part], k, axis=0), np.repeat(R[part], k, axis=0)
            close = np.repeat(near[part], k, axis=0)
            q, _ = self.solved(*goals, each.reshape(m * k, -1), close)
            distance = np.where(self.at(q, *goals) & self.within(q), self.distance(q, close), np.inf).reshape(m, k)
            best = distance.argmin(axis=1)
            for row, i, d in zip(q.reshape(m, k, -1), best, distance.min(axis=1), strict=True):
                yield row[i : i + 1] if np.isfinite(d) else row[:0]

    def solved(self, x: Array, R: Array, seeds: Array, near: Array) -> tuple[Array, Array]:
        """Solutions (k, n) from each of the seeds, near the preferred configuration, and the remaining errors (k,)."""
        q, left = solve(self.task, x, R, seeds)
        close = q - 2 * np.pi * np.round((q - near) / (2 * np.pi))  # shifted by full turns, within the limits
        q = np.where(self.periodic, turned_into(close, self.lower, self.upper, (1, -1, 2, -2)), q)
        if self.redundant:
            x, R = np.broadcast_to(x, (len(q), 3)), np.broadcast_to(R, (len(q), 3, 3))
            on = np.flatnonzero(self.at(q, x, R))
            target = np.broadcast_to(near, q.shape)
            ends = self.towards_preferred(x[on], R[on], q[on], target[on])
            if len(on) and not (self.at(ends, x[on], R[on]) & self.within(ends)).any():
                few = on[:FEW]  # the steps were too long for the curvature of the self-motion
                ends[:FEW] = self.towards_preferred_carefully(x[few], R[few], q[few], target[few])
            q[on] = ends
        return q, left

    def stepped(self, at: Array, e: Array, wanted: Array) -> Array:
        """Configurations after one step δ = J⁺e + (1 − J⁺J) ``wanted`` in units of each joint's scale, within the limits.

        A joint at a limit that δ would exceed is held there.
        """
        J = self.task.jacobian(at) * self.scale
        held = np.zeros(at.shape, bool)
        for _ in range(3):
            free = np.where(held, 0.0, 1.0)
            Jf = J * free[:, None, :]
            pull = wanted * free
            missing = e - (Jf @ pull[..., None])[..., 0]
            step = self.scale * (pull + least_step(Jf, missing))
            out = ((at <= self.lower) & (step < 0)) | ((at >= self.upper) & (step > 0))
            if not (out & ~held).any():
                break
            held |= out
        length = np.linalg.norm(step / self.units, axis=-1, keepdims=True)
        trial = np.clip(at + step * np.minimum(1.0, LONGEST / np.maximum(length, 1e-300)), self.lower, self.upper)
        return np.where(self.arm.closes(trial)[:, None], trial, at)

    def towards_preferred_carefully(self, x: Array, R: Array, q: Array, target: Array) -> Array:
        """The same as :meth:`towards_preferred` in steps that are halved until they bring the tip, or else the joints, closer; a
        configuration that ends outside the limits or off its goal is returned as it was."""

        def state(at: Array) -> tuple[Array, Array, Booleans]:
            left = np.linalg.norm(self.task.error(at, x, R), axis=-1)
            return left, np.linalg.norm((at - target) / self.scale, axis=-1), self.at(at, x, R)

        at, pull = np.clip(q, self.lower, self.upper), np.ones((len(q), 1))
        left, distance, there = state(at)
        for _ in range(REDUNDANT_STEPS):
            trial = self.stepped(at, self.task.error(at, x, R), pull * (target - at) / self.scale)
            for _ in range(3):  # back to the goal
                trial = self.stepped(trial, self.task.error(trial, x, R), np.zeros(at.shape))
            trial_left, trial_distance, trial_there = state(trial)
            better = np.where(there, trial_there & (trial_distance < distance), trial_there | (trial_left < left))
            at = np.where(better[:, None], trial, at)
            left, distance = np.where(better, trial_left, left), np.where(better, trial_distance, distance)
            there = np.where(better, trial_there, there)
            pull = np.where(better[:, None], np.minimum(1.0, 2.0 * pull), 0.5 * pull)
            if pull.max() < 1e-4:
                break
        return np.where((there & self.within(at))[:, None], at, q)

    def towards_preferred(self, x: Array, R: Array, q: Array, target: Array) -> Array:
        """Configurations moved along the self-motion towards the preferred one, within the limits."""
        q, on = np.clip(q, self.lower, self.upper), np.arange(len(q))
        for _ in range(REDUNDANT_STEPS):
            at = q[on]
            e = self.task.error(at, x[on], R[on])
            trial = self.stepped(at, e, (target[on] - at) / self.scale)
            q[on] = trial
            on = on[(np.abs((trial - at) / self.units).max(axis=-1) > 1e-11) | (np.linalg.norm(e, axis=-1) > REACHED)]
            if not len(on):
                break
        return q

    def distance(self, q: Array, near: Array) -> Array:
        """Distances from the preferred configuration: (k,)."""
        return np.linalg.norm((q - near) / self.scale, axis=-1)

    def sorted(self, q: Array, near: Array) -> Array:
        return q[np.argsort(self.distance(q, near).round(9), kind="stable")]

    def distinct(self, q: Array) -> Array:
        """The configurations without duplicates up to full turns."""
        same = SAME_REDUNDANT if self.redundant else SAME
        solutions: list[Array] = []
        for row in q:
            off = np.array(solutions).reshape(-1, self.arm.n) - row
            off = np.where(self.periodic, np.mod(off + np.pi, 2 * np.pi) - np.pi, off) / self.units
            if not (np.abs(off).max(axis=-1) < same).any():
                solutions.append(row)
        return np.array(solutions).reshape(-1, self.arm.n)

    def misses(self, q: Array, x: Array, R: Array) -> tuple[Array, Array]:
        """Distance of the tip from its goal: (k,) in m, and (k,) in rad, 0 if the task leaves the angle free."""
        pose = self.arm.pose(q)
        away = np.hypot.reduce(pose[..., :3, 3] - x, axis=-1)  # also for goals at 1e300 m
        if self.aim == "position":
            return away, np.zeros(away.shape)
        return away, np.linalg.norm(self.task.turn(pose[..., :3, :3], R), axis=-1)

    def at(self, q: Array, x: Array, R: Array) -> Booleans:
        """Which configurations place the tip at its goal: (k,)."""
        away, angle = self.misses(q, x, R)
        far = np.hypot.reduce(np.broadcast_to(x, (len(q), 3)), axis=-1)
        return (away < REACHED * np.maximum(self.task.unit, far)) & (angle < REACHED)

    def within(self, q: Array) -> Booleans:
        """Which configurations are within the limits: (k,)."""
        margin = IN_LIMITS * self.units
        inside: Booleans = (q >= self.lower - margin) & (q <= self.upper + margin)
        return np.all(inside, axis=-1)

    def reason(self, q: Array, x: Array, R: Array, excess: Any) -> str:
        """Reason why there is no solution; q is the nearest configuration."""
        if excess is not None:
            return would_be(excess)
        away, angle = (float(miss[0]) for miss in self.misses(q[None], x[None], R[None]))
        close = REACHED * max(self.task.unit, hypot(*x))
        if self.aim == "position" or angle < REACHED:
            limited = bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())
            proven = self.task.outside(x) > close or is_beyond_reach(self.arm, x, limited)
            return out_of_reach(proven, f"{away:.4g} m away")
        turned = f"rotated by {angle:.4g} rad ({np.degrees(angle):.3g}°)"
        return out_of_reach(False, turned if away < close else f"{away:.4g} m away and {turned}")


def _task(arm: Arm, aim: str, axis: ArrayLike | None, q: Array) -> TipTask:
    """The rows of a task in the directions in which the arm can move its tip at all; q are sample configurations."""
    task = movable_task(arm, q, orientation=aim == "pose")
    if aim != "position+axis":
        return task
    tool = direction("axis", (0.0, 0.0, 1.0) if axis is None else axis)
    in_tip = np.swapaxes(arm.pose(q)[:, :3, :3], -1, -2) @ sampled_jacobian(arm, q)[0][:, 3:]
    rows = span((np.eye(3) - np.outer(tool, tool)) @ in_tip)
    return replace(task, orientation=rows, axis=tool)


def _periodic(arm: Arm, q: Array) -> Booleans:
    """Joints whose full turns do not move the tip: neither prismatic joints nor joints that drive a mimic joint."""
    here, periodic = arm.pose(q), np.zeros(arm.n, bool)
    for i in range(arm.n):
        turned = q + 2 * np.pi * np.eye(arm.n)[i]
        periodic[i] = bool(arm.closes(turned).all()) and np.allclose(arm.pose(turned), here, atol=1e-9)
    return periodic


# -- arguments -----------------------------------------------------------------------------------


def _goals(arm: Arm, pose: ArrayLike) -> tuple[Array, Array | None, tuple[int, ...]]:
    """Positions (m, 3), rotations (m, 3, 3) unless only positions are given, and the batch shape."""
    T = finite("pose", pose)
    if T.shape[-2:] == (4, 4):
        R = T[..., :3, :3]
        right = np.allclose(R @ np.swapaxes(R, -1, -2), np.eye(3), atol=1e-6) and np.all(np.linalg.det(R) > 0)
        if not right or not np.allclose(T[..., 3, :], (0, 0, 0, 1)):
            raise DalembertError(
                "pose is not a homogeneous transform: its upper left 3 × 3 block must be a rotation matrix and its "
                "last row 0 0 0 1"
            )
        return T[..., :3, 3].reshape(-1, 3), R.reshape(-1, 3, 3), T.shape[:-2]
    if T.ndim and T.shape[-1] == 2:
        q = starts(arm, 8)
        if not np.allclose(arm.jacobian(q)[:, 2], 0, atol=1e-12):
            raise ShapeError(f"pose has shape {T.shape}, but arm '{arm.name}' also moves in z: give x, y and z")
        T = np.concatenate([T, np.broadcast_to(arm.pose(q[0])[2, 3], (*T.shape[:-1], 1))], axis=-1)
    if T.ndim and T.shape[-1] == 3:
        return T.reshape(-1, 3), None, T.shape[:-1]
    raise ShapeError(f"pose has shape {T.shape}; it must be (…, 4, 4) transforms, or (…, 3) positions")


def _near(arm: Arm, q0: ArrayLike, batch: tuple[int, ...]) -> Array:
    q = finite("q0", q0)
    if q.ndim == 0 or q.shape[-1] != arm.n:
        raise ShapeError(
            f"q0 has shape {q.shape}, but arm '{arm.name}' has {arm.n} joints: the last axis must be {arm.n}"
        )
    try:
        return np.broadcast_to(q, (*batch, arm.n)).reshape(-1, arm.n)
    except ValueError:
        raise ShapeError(f"q0 has shape {q.shape}, which does not match the batch of poses {batch}") from None


def _count(solutions: Any) -> int | None:
    if solutions == "all":
        return None
    if isinstance(solutions, (int, np.integer)) and not isinstance(solutions, bool) and solutions >= 1:
        return int(solutions)
    raise DalembertError(f"solutions is {shown(solutions)}; it must be an integer of at least 1, or 'all'")
