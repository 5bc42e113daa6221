"""Numerical inverse kinematics for any arm, on the compiled kernels.

The task is the position of the tip and, optionally, its orientation, restricted to the directions in which
the arm can move its tip at all: x and y for a planar arm. A point is solved by damped
Gauss–Newton steps; a path is followed from an initial configuration, in steps short enough that neither
a change of branch nor a singular point can be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import hypot
from typing import Literal, NoReturn, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.base.algebra.orientations import rotation_vector
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError, PathError, ShapeError
from dalembert.mechanics.motion.methods import RK4
from dalembert.work.logs.log_units import sliding_joints
from dalembert.work.trajectory.planning.hermite import Hermite
from dalembert.work.trajectory.planning.limits import joint_ranges, position_limits
from dalembert.work.trajectory.planning.motion_checks import check_choice, finite
from dalembert.work.trajectory.planning.time_breaks import bisected

Branch = Literal["lower-elbow", "upper-elbow"]
Excess = tuple[str, float, str, float, str]  # joint, value, side, limit, unit

SEEDS = 96  # initial configurations of the search for a point
STEPS = 120  # maximum number of damped steps
CONVERGED = 1e-11  # m and rad
STUCK = 1e6  # damping above which no step brings the tip closer
SINGULAR = 1e-4  # smallest over largest singular value of the task Jacobian
TURN = 0.05  # rad or m: longest step of a joint along a path
IN_LIMITS = 1e-9  # rad and m: how far rounding may carry a solution beyond a limit
REGULAR = 1e-13  # of the trace of J Jᵀ: what is added to its diagonal, so that it always has an inverse
ORDINARY = (1e-2, 1e2)  # m: arms of this length are measured in metres, others in a unit of their size


@record
class LinePath:
    """x(s) = start + s u, parametrised by its arc length like every path of the tip; ``length`` in m."""

    start: Array
    direction: Array  # unit vector
    length: float

    def __call__(self, s: Array) -> tuple[Array, Array, Array]:
        x = self.start + s[:, None] * self.direction
        return x, np.broadcast_to(self.direction, x.shape), np.zeros_like(x)


@record
class ArcPath:
    """x(s) = centre + ρ (cos(s/ρ) u + sin(s/ρ) v), with orthogonal unit vectors u, v."""

    centre: Array
    u: Array
    v: Array
    radius: float
    length: float

    def __call__(self, s: Array) -> tuple[Array, Array, Array]:
        c, s_ = np.cos(s / self.radius)[:, None], np.sin(s / self.radius)[:, None]
        out = c * self.u + s_ * self.v
        return self.centre + self.radius * out, c * self.v - s_ * self.u, -out / self.radius


TipPath = LinePath | ArcPath


# -- the task ------------------------------------------------------------------------------------


@record
class TipTask:
    """The prescribed directions of the tip: rows (p, 3) of position and (o, 3) of orientation, in base axes.

    With an ``axis`` (3,) of the tip, its direction is prescribed instead of the orientation, with rows in the tip frame.
    """

    arm: Arm
    position: Array
    orientation: Array
    origin: Array  # a reachable tip position, which locates the plane or line that the tip is confined to
    unit: float = 1.0  # m: unit of length of errors and Jacobians
    axis: Array | None = None

    @property
    def size(self) -> int:
        """Number of prescribed directions."""
        return len(self.position) + len(self.orientation)

    def jacobian(self, q: Array) -> Array:
        """The prescribed rows of the Jacobian: (…, r, n)."""
        turning = self.orientation
        if self.axis is not None:
            turning = turning @ np.swapaxes(self.arm.pose(q)[..., :3, :3], -1, -2)
        return self._rows(self.arm.jacobian(q), turning)

    def jacobian_derivative(self, q: Array, qd: Array) -> Array:
        """The prescribed rows of its time derivative, without an axis: (…, r, n)."""
        return self._rows(self.arm.jacobian_derivative(q, qd), self.orientation)

    def _rows(self, J: Array, turning: Array) -> Array:
        return np.concatenate([self.position @ J[..., :3, :] / self.unit, turning @ J[..., 3:, :]], axis=-2)

    def directions(self, x: Array) -> Array:
        """A derivative (…, 3) of the tip position, at constant orientation, expressed in the task rows: (…, r)."""
        along = x @ self.position.T / self.unit
        return np.concatenate([along, np.zeros((*x.shape[:-1], len(self.orientation)))], axis=-1)

    def error(self, q: Array, x: Array, R: Array) -> Array:
        """Error of the tip with respect to x, R: (…, r) in the task's unit and rad."""
        pose = self.arm.pose(q)
        moved = (x - pose[..., :3, 3]) @ self.position.T / self.unit
        if not len(self.orientation):
            return moved
        turned = self.turn(pose[..., :3, :3], R)
        if self.axis is not None:
            turned = _times(np.swapaxes(pose[..., :3, :3], -1, -2), turned)
        return np.concatenate([moved, turned @ self.orientation.T], axis=-1)

    def turn(self, own: Array, R: Array) -> Array:
        """The rotation vector (…, 3) from the orientation ``own`` of the tip to R, or between the directions of the axis."""
        if self.axis is not None:
            return _between(own @ self.axis, R @ self.axis)
        return rotation_vector(R @ np.swapaxes(own, -1, -2))

    def outside(self, x: Array) -> float:
        """Distance (m) of x (3,) from the plane or line in which the tip moves."""
        off = x - self.origin
        return hypot(*(off - self.position.T @ (self.position @ off)))


def _between(a: Array, b: Array) -> Array:
    """The rotation vector (…, 3) of the shortest rotation from the unit vector a to b."""
    normal = np.cross(a, b)
    sine = np.linalg.norm(normal, axis=-1, keepdims=True)
    angle = np.arctan2(sine, (a * b).sum(axis=-1, keepdims=True))
    opposite = (sine < 1e-12) & (angle > 1.0)
    normal = np.where(opposite, np.cross(a, np.eye(3)[np.abs(a).argmin(axis=-1)]), normal)
    return normal * (angle / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-300))


def _times(A: Array, x: Array) -> Array:
    return (A @ x[..., None])[..., 0]


def task_of(arm: Arm, orientation: bool) -> TipTask:
    """The task of positioning the tip or, with ``orientation``, of positioning and orienting it."""
    task = movable_task(arm, starts(arm, 32), orientation)
    if not task.size:
        raise DalembertError(f"no joint of arm '{arm.name}' moves its tip")
    if task.size > arm.n:
        what = "position and orientation" if orientation else "position"
        raise DalembertError(
            f"prescribing the tip's {what} in {task.size} directions needs {task.size} joints, but arm '{arm.name}' "
            f"has {arm.n}"
        )
    return task


def movable_task(arm: Arm, q: Array, orientation: bool) -> TipTask:
    """The task in the directions in which the arm can move its tip at all; q (k, n) are sample configurations."""
    J, unit = sampled_jacobian(arm, q)
    turning = span(J[:, 3:]) if orientation else np.zeros((0, 3))
    return TipTask(arm, span(J[:, :3]), turning, arm.pose(q[0])[:3, 3], unit)


def reach_of(arm: Arm, respect_limits: bool = True) -> tuple[Array, float, float]:
    """A fixed point (3,) on the first joint of the tip's chain, and how far from it the tip can be at most: the sum of the
    lengths of the links (m), and of the travel of the prismatic joints (m), infinite without limits."""
    tree = arm.mechanism.tree
    limits = {joint.name: joint.limits for joint in arm.robot.moving_joints if respect_limits}
    fixed, links, travel, at = tree.base, hypot(*tree.tip.translation), 0.0, tree.tip_body
    while at >= 0:
        body = tree.bodies[at]
        links += hypot(*body.link_frame.translation)
        if not body.revolute:
            own = limits.get(body.name)
            ends = (None, None) if own is None else (own.lower, own.upper)
            travel += max(np.inf if end is None else abs(end + body.offset) for end in ends)
        if body.parent >= 0:
            links += hypot(*body.placement.translation)
        else:
            fixed = tree.base @ body.placement
        at = body.parent
    return np.array(fixed.translation, float), links, travel


def is_beyond_reach(arm: Arm, x: Array, respect_limits: bool) -> bool:
    """Whether x (3,) is farther away than the arm is long: a proof that no configuration places the tip there."""
    fixed, links, travel = reach_of(arm, respect_limits)
    return hypot(*(x - fixed)) > (links + travel) * (1.0 + 1e-9)


def unit_of(arm: Arm) -> float:
    """The unit of length (m) of the search: a metre, or for arms that are very short or very long about their length."""
    links = reach_of(arm)[1]
    if ORDINARY[0] <= links <= ORDINARY[1] or links == 0.0 or not np.isfinite(links):
        return 1.0
    return float(2.0 ** np.round(np.log2(links)))


def joint_units(arm: Arm) -> Array:
    """The unit of each joint variable in the search (n,): rad, and the unit of length for prismatic joints (m)."""
    return np.where(sliding_joints(arm), unit_of(arm), 1.0)


def search_ranges(arm: Arm) -> tuple[Array, Array]:
    """The joint ranges (n,), (n,) in which a search starts; prismatic joints without limits move by the unit of length."""
    (low, high), (lower, upper) = joint_ranges(arm), position_limits(arm)
    units = np.where(np.isinf(lower) | np.isinf(upper), joint_units(arm), 1.0)
    return low * units, high * units


def sampled_jacobian(arm: Arm, q: Array) -> tuple[Array, float]:
    """J (k, 6, n) at sample configurations in the units of the search, and its unit of length (m)."""
    J, unit = arm.jacobian(q) * joint_units(arm), unit_of(arm)
    if not np.isfinite(J).all():
        raise DalembertError(f"the Jacobian of arm '{arm.name}' is not finite, because its lengths are too large")
    return np.concatenate([J[:, :3] / unit, J[:, 3:]], axis=1), unit


def span(J: Array) -> Array:
    """Orthonormal rows (r, 3) that span the columns of all J (N, 3, n); the base axes if these span all directions."""
    M = np.einsum("kij,klj->il", J, J)
    values, vectors = np.linalg.eigh(M)
    none = max(1e-16 * values[-1], 1e-24)  # squared: 1e-8 of the largest, 1e-12 of the unit
    r = int((values > none).sum())
    along = np.flatnonzero(np.diag(M) > none)
    return np.eye(3)[along] if len(along) == r else vectors[:, 3 - r :].T


# -- a point -------------------------------------------------------------------------------------


def configuration_at(arm: Arm, point: ArrayLike, branch: Branch | None = None) -> Array:
    """Joint positions (n,) that place the tip at a point (m), with the smallest joint angles among those within the limits.

    branch  "lower-elbow" or "upper-elbow", for arms whose first two joint axes are parallel: for a two-link arm, q2
            between 0 and π is the lower one, as in S Example 7.2

    >>> import dalembert as da
    >>> configuration_at(da.load("planar-2r"), (0.2, 0.0), "lower-elbow").round(4)
    array([-1.4706,  2.9413])
    """
    task = task_of(arm, orientation=False)
    x = as_point(arm, task, "point", point)
    try:
        return search(task, x, None, branch, True)
    except NoConfiguration as reason:
        raise DalembertError(f"the tip of arm '{arm.name}' cannot be at {place(x)}: {reason}") from None


class NoConfiguration(DalembertError):
    """Reason why the tip cannot be at a point, and the kind of :class:`PathError` at the start of a path."""

    def __init__(self, reason: str, kind: str = "unreachable") -> None:
        super().__init__(reason)
        self.kind = kind


def search(task: TipTask, x: Array, q0: Array | None, branch: Branch | None, respect_limits: bool) -> Array:
    """A configuration with the tip at x, its orientation free; raises :class:`NoConfiguration` if there is none."""
    arm = task.arm
    elbow = None if branch is None else _elbow(arm, branch)
    if task.outside(x) > 1e-9 * max(task.unit, float(np.abs(x).max())):
        region = {1: "line", 2: "plane"}.get(len(task.position), "region")
        raise NoConfiguration(f"it is {task.outside(x):.4g} m away from the {region} in which the tip moves")
    seeds = starts(arm, SEEDS) if q0 is None else q0[None]
    q, left = solve(task, x, np.eye(3), seeds)
    at = left < CONVERGED
    if not at.any():  # an initial guess far away may fail to converge; other guesses show whether all do
        if q0 is not None and (solve(task, x, np.eye(3), starts(arm, SEEDS))[1] < CONVERGED).any():
            raise NoConfiguration("the search from q0 does not converge to it; give a q0 closer to it")
        nearest = np.hypot.reduce(x - arm.pose(q)[:, :3, 3], axis=-1).min()
        raise NoConfiguration(out_of_reach(is_beyond_reach(arm, x, respect_limits), f"{nearest:.4g} m away"))
    q = q[at]
    if elbow is not None:
        q = q[elbow(q) > 0]
        if not len(q):
            raise NoConfiguration(f"it is reachable only with the elbow opposite to branch '{branch}'")
    if q0 is None:  # every angle in (−π, π], or one turn away if only that is within the limits
        least = q - 2 * np.pi * np.ceil((q - np.pi - 1e-9) / (2 * np.pi))
        q = np.where(sliding_joints(arm), q, turned_into(least, *position_limits(arm), (1, -1)))
    q = q[np.argsort(np.linalg.norm(q if q0 is None else q - q0, axis=-1).round(9), kind="stable")]
    excesses = []
    for configuration in q:
        if not respect_limits or (excess := beyond(arm, configuration)) is None:
            return configuration
        excesses.append(excess)
    raise NoConfiguration(would_be(excesses[0]), "limit")


def out_of_reach(proven: bool, how_far: str) -> str:
    """The verdict on a goal at which the search did not arrive: a search that fails proves nothing."""
    if proven:
        return f"out of reach, the closest it gets is {how_far}"
    return f"no configuration was found, the closest one is {how_far}; a q0 near a solution would help the search"


def least_step(J: Array, e: Array, damping: Array | float = 0.0) -> Array:
    """Jᵀ(J Jᵀ + λ)⁻¹ e, the damped step of minimum norm: (…, n); (JᵀJ + λ)⁻¹ Jᵀ e if J (…, r, n) has more rows than columns."""
    Jt = np.swapaxes(J, -1, -2)
    wide = J.shape[-2] <= J.shape[-1]
    square = J @ Jt if wide else Jt @ J
    level = np.trace(square, axis1=-2, axis2=-1)[..., None, None]
    square = square + (damping + REGULAR * level + (level == 0.0)) * np.eye(square.shape[-1])
    if wide:
        return (Jt @ np.linalg.solve(square, e[..., None]))[..., 0]
    return np.linalg.solve(square, Jt @ e[..., None])[..., 0]


@np.errstate(over="ignore", invalid="ignore")
def solve(task: TipTask, x: Array, R: Array, q: Array) -> tuple[Array, Array]:
    """Final configurations of a damped Gauss–Newton iteration from each of q (k, n), and the remaining errors (k,).

    x, R  (3,), (3, 3) for all of them, or (k, 3), (k, 3, 3) for each individually
    """
    q = q.copy()
    x, R = np.broadcast_to(x, (len(q), 3)), np.broadcast_to(R, (len(q), 3, 3))
    damping, units = np.full(len(q), 1e-2), joint_units(task.arm)
    error = task.error(q, x, R)
    left = np.linalg.norm(error, axis=-1)
    for _ in range(STEPS):
        on = np.flatnonzero((left >= 0.01 * CONVERGED) & (damping < STUCK))  # the others have converged, or cannot
        if not len(on):
            break
        at, misses, far = q[on], error[on], left[on]
        step = least_step(task.jacobian(at) * units, misses, (damping[on] * far)[:, None, None])
        step *= np.minimum(1.0, 1.0 / np.maximum(np.linalg.norm(step, axis=-1), 1e-300))[:, None]
        trial = at + units * step
        trial = np.where(task.arm.closes(trial)[:, None], trial, at)  # reject configurations with open loops
        trial_error = task.error(trial, x[on], R[on])
        trial_left = np.linalg.norm(trial_error, axis=-1)
        better = trial_left < far
        improved = on[better]
        q[improved], error[improved], left[improved] = trial[better], trial_error[better], trial_left[better]
        damping[on] = np.clip(np.where(better, 0.2 * damping[on], 5.0 * damping[on]), 1e-12, STUCK)
    return q, left


def starts(arm: Arm, count: int, series: int = 0) -> Array:
    """Configurations spread over the joint ranges, reproducible for each series."""
    return arm.closing(np.random.default_rng(series), *search_ranges(arm), count)


def turned_into(q: Array, lower: Array, upper: Array, turns: Iterable[int]) -> Array:
    """The angles, each shifted by the first of these numbers of turns that brings it within its limits if it is not."""

    def fits(angles: Array) -> NDArray[np.bool_]:
        return (angles >= lower - IN_LIMITS) & (angles <= upper + IN_LIMITS)

    nearest = q
    for turn in turns:
        turned = q + turn * 2 * np.pi
        nearest = np.where(~fits(nearest) & fits(turned), turned, nearest)
    return nearest


def beyond(arm: Arm, q: Array) -> Excess | None:
    """The first joint beyond a position limit, or None."""
    for value, joint, scale in zip(q, arm.robot.moving_joints, joint_units(arm), strict=True):
        unit = "m" if joint.type == "prismatic" else "rad"
        for side, limit, sign in ("lower", joint.limits.lower, -1), ("upper", joint.limits.upper, 1):
            if limit is not None and sign * (value - limit) > IN_LIMITS * scale:
                return joint.name, float(value), side, limit, unit
    return None


def would_be(excess: Excess) -> str:
    """The reason why a configuration with this excess is no solution."""
    joint, value, side, limit, unit = excess
    return f"joint '{joint}' would be at {value:.6g} {unit}, beyond its {side} limit of {limit:.6g} {unit}"


def _elbow(arm: Arm, branch: str) -> Callable[[Array], Array]:
    """A function that is positive on the selected side of the line from the shoulder to the tip."""
    check_choice("branch", branch, get_args(Branch))
    J = arm.jacobian(starts(arm, 8))
    turning = J[:, 3:, :2]
    axes = np.linalg.norm(turning, axis=1)
    parallel = arm.n >= 2 and np.allclose(axes, 1) and np.allclose(np.cross(turning[..., 0], turning[..., 1]), 0)
    if not parallel:
        raise DalembertError(
            f"branch '{branch}' refers to an elbow between two parallel axes, but the first two axes of arm "
            f"'{arm.name}' are not parallel; select the branch with q0"
        )
    sign = 1.0 if branch == "lower-elbow" else -1.0

    def side(q: Array) -> Array:
        J = arm.jacobian(q)
        z = J[..., 3:, 0]
        tip_from_shoulder, tip_from_elbow = (np.cross(J[..., :3, k], J[..., 3:, k]) for k in (0, 1))
        elbow_from_shoulder = tip_from_shoulder - tip_from_elbow
        return sign * (np.cross(elbow_from_shoulder, tip_from_elbow) * z).sum(axis=-1)

    return side


# -- a path --------------------------------------------------------------------------------------


@record
class JointPath:
    """Joint positions along a path as functions of its arc length s: q, dq/ds, d²q/ds², (N, n) each."""

    task: TipTask
    path: TipPath
    rotation: Array
    between: Hermite  # initial guess, close enough for one or two Newton steps

    def __call__(self, s: Array) -> tuple[Array, Array, Array]:
        s = np.clip(s, 0.0, self.path.length)
        x, x1, x2 = self.path(s)
        q = self.between(s)[0]
        for _ in range(2):
            q = q + _times(np.linalg.pinv(self.task.jacobian(q)), self.task.error(q, x, self.rotation))
        q1, q2 = derivatives(self.task, q, x1, x2)
        return q, q1, q2


def derivatives(task: TipTask, q: Array, x1: Array, x2: Array) -> tuple[Array, Array]:
    """q′ = J⁺x′ and q″ = J⁺(x″ − J′q′) + (1 − J⁺J) J′ᵀ J⁺ᵀ q′ for a tip with the derivatives x′, x″ (N, 3).

    With as many joints as directions, J⁺ is J⁻¹ and the last term, the derivative of J⁺ itself, vanishes.
    """
    J = task.jacobian(q)
    inverse = np.linalg.pinv(J)
    q1 = _times(inverse, task.directions(x1))
    J1 = task.jacobian_derivative(q, q1)
    q2 = _times(inverse, task.directions(x2) - _times(J1, q1))
    if task.size < task.arm.n:
        bent = _times(np.swapaxes(J1, -1, -2), _times(np.swapaxes(inverse, -1, -2), q1))
        q2 = q2 + bent - _times(inverse, _times(J, bent))
    return q1, q2


def follow(
    task: TipTask, path: TipPath, rotation: Array, q0: Array, time_at: Callable[[float], float], respect_limits: bool
) -> JointPath:
    """Joint positions along the whole path, from the configuration q0 at its start.

    The first point that is unreachable, singular or beyond a joint limit raises a
    :class:`PathError`.
    """
    march = _March(task, path, rotation, time_at)
    s, q, step = 0.0, q0, path.length / 50
    redundant = task.size < task.arm.n
    instants, configurations = [0.0], [q0]
    while True:
        ratio = march.conditioning(q)
        if ratio < SINGULAR:
            march.stop(s, q)
        if respect_limits and (excess := beyond(task.arm, q)) is not None:
            march.stop_at_limit(instants[-2:][0], configurations[-2:][0], s, excess)
        if s >= path.length:
            break
        speed = float(np.linalg.norm(march.flow(s, q)))
        step = min(step, min(TURN, 0.5 * ratio) / max(speed, 1e-300), path.length - s)
        while True:
            ahead = path.length if path.length - (s + step) < 1e-9 * path.length else s + step
            guess = RK4.step(march.flow, s, q, ahead - s)
            reached = march.corrected(ahead, guess)
            near = 1e-10 + 1e-13 / ratio if redundant else 1e-3 * max(speed * step, 1e-6)
            if reached is not None and np.linalg.norm(reached - guess) <= near:
                break
            step /= 2
            if step < 1e-10 * path.length:
                march.stop(s, q)
        s, q, step = ahead, reached, 1.5 * step
        instants.append(s)
        configurations.append(q)
    nodes, qs = np.array(instants), np.array(configurations)
    _, x1, x2 = path(nodes)
    return JointPath(task, path, rotation, Hermite(nodes, np.array([qs, *derivatives(task, qs, x1, x2)])))


@dataclass(frozen=True, eq=False)
class _March:
    """The steps of :func:`follow`."""

    task: TipTask
    path: TipPath
    rotation: Array
    time_at: Callable[[float], float]

    def conditioning(self, q: Array) -> float:
        """Smallest over largest singular value of the task Jacobian."""
        values = np.linalg.svd(self.task.jacobian(q), compute_uv=False)
        return float(values[-1] / values[0]) if values[0] > 0 else 0.0

    def flow(self, s: float, q: Array) -> Array:
        """dq/ds = J⁺ dx/ds."""
        x1 = self.path(np.array([s]))[1][0]
        return np.linalg.pinv(self.task.jacobian(q)) @ self.task.directions(x1)

    def corrected(self, s: float, q: Array) -> Array | None:
        """The configuration nearest to q with the tip at s, or None if Newton's method does not converge."""
        x = self.path(np.array([s]))[0][0]
        for _ in range(6):
            error = self.task.error(q, x, self.rotation)
            q = q + np.linalg.pinv(self.task.jacobian(q)) @ error
            if np.linalg.norm(error) < CONVERGED:  # after one further step
                return q
        return None

    def stop(self, s: float, q: Array) -> NoReturn:
        """Raise the error for an arm that cannot continue at s: it leaves its workspace, or is singular."""
        arm = self.task.arm
        beyond = s + 1e-3 * self.path.length
        if beyond <= self.path.length:
            x = self.path(np.array([beyond]))[0][0]
            seeds = np.concatenate([q[None], starts(arm, SEEDS)])
            if not (solve(self.task, x, self.rotation, seeds)[1] < CONVERGED).any():
                self.fail("unreachable", s, f"the path leaves the workspace of arm '{arm.name}'")
        self.fail("singular", s, f"arm '{arm.name}' is singular on the path and cannot move its tip in every direction")

    def stop_at_limit(self, before: float, q: Array, after: float, excess: Excess) -> NoReturn:
        """Raise the error for a joint that exceeds its limit between two points of the path, with q at the first."""
        joint, value, side, limit, unit = excess

        def exceeded(s: float) -> bool:
            at = self.corrected(s, RK4.step(self.flow, before, q, s - before))
            return at is None or beyond(self.task.arm, at) is not None

        _, high = bisected(before, after, exceeded, 40)
        self.fail(
            "limit", high,
            f"joint '{joint}' of arm '{self.task.arm.name}' reaches its {side} limit of {limit:.6g} {unit}, "
            f"and the path would take it to {value:.6g} {unit},",
        )  # fmt: skip

    def fail(self, kind: str, s: float, sentence: str) -> NoReturn:
        """Raise the error with the point, its distance along the path and its time."""
        x, time = self.path(np.array([s]))[0][0], self.time_at(s)
        where = f"at {place(x)}, s = {s:.6g} m along the path, t = {time:.6g} s"
        raise PathError(f"{sentence} {where}", kind, tuple(x.tolist()), s, time)


# -- arguments -----------------------------------------------------------------------------------


def place(x: Array) -> str:
    """A point as text for messages."""
    small = 1e-9 * min(1.0, float(np.abs(x).max()))
    return "({}, {}, {}) m".format(*(f"{v + 0.0:.6g}" if abs(v) > small else "0" for v in x))


def as_point(arm: Arm, task: TipTask, name: str, value: ArrayLike) -> Array:
    """A point (3,); two numbers suffice if the tip cannot move in z."""
    x = finite(name, value)
    if x.shape == (2,) and np.allclose(task.position[:, 2], 0, atol=1e-12):
        return np.array([x[0], x[1], task.origin[2]])
    if x.shape != (3,):
        planar = " (or 2, for an arm in the x-y plane)"
        also = f"; arm '{arm.name}' also moves in z" if x.shape == (2,) else planar
        raise ShapeError(f"{name} has shape {x.shape}; it needs 3 numbers x, y, z{also}")
    return x


def as_configuration(arm: Arm, q0: ArrayLike) -> Array:
    q = finite("q0", q0)
    if q.shape != (arm.n,):
        raise ShapeError(f"q0 has shape {q.shape}, but arm '{arm.name}' has {arm.n} joints: it must be ({arm.n},)")
    return q
