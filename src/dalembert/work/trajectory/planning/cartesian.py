"""Straight-line and circular motions of the tip, converted to joint motions."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.errors import DalembertError, PathError, ShapeError
from dalembert.work.trajectory.kinematics.inverse_kinematics import (
    ArcPath,
    Branch,
    LinePath,
    NoConfiguration,
    TipPath,
    as_configuration,
    as_point,
    follow,
    place,
    search,
    task_of,
)
from dalembert.work.trajectory.planning.motion_checks import check_choice, direction, finite
from dalembert.work.trajectory.planning.profiles import Composed, polynomial, trapezoidal, triangular
from dalembert.work.trajectory.planning.time_breaks import bisected
from dalembert.work.trajectory.planning.trajectory import Trajectory

Profile = Literal["trapezoidal", "triangular", "cubic", "quintic", "septic"] | Trajectory

MOST_TURNS = 100  # of a circle; each takes some milliseconds to a second
DEGREES = {"cubic": 3, "quintic": 5, "septic": 7}


def line(
    arm: Arm,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    *,
    displacement: ArrayLike | None = None,
    q0: ArrayLike | None = None,
    branch: Branch | None = None,
    orientation: Literal["free", "constant"] = "free",
    profile: Profile = "trapezoidal",
    acceleration_time: float | None = None,
    max_velocity: float | None = None,
    duration: float | None = None,
    acceleration: float | None = None,
    respect_limits: bool = True,
) -> Trajectory:
    """A joint motion that moves the tip along a straight line, by inverse kinematics.

    start         (3,) initial tip position in base axes (m), or (2,) in the plane; defaults to the tip position at q0
    end           (3,) final tip position, or
    displacement  (3,) vector from start to end
    q0            (n,) joint positions at or near the start, which select the branch
    branch        "lower-elbow" or "upper-elbow" instead, for arms whose first two axes are parallel
    orientation   "constant" keeps the initial orientation of the tip; "free" leaves it free
    profile       "trapezoidal" or "triangular" with their values in m, m/s, m/s²; "cubic", "quintic"
                  or "septic" with a duration; or a Trajectory of one joint from 0 to the length of the line
    respect_limits  treat a violated joint position limit as an error

    Redundant arms use the joint velocities of minimum norm. An error names the first point that is
    unreachable, singular or beyond a joint limit.

    >>> import dalembert as da
    >>> motion = line(da.load("planar-2r"), (0.2, 0), displacement=(1.6, 0), branch="lower-elbow",
    ...               acceleration_time=0.15, max_velocity=5.0)
    >>> round(motion.duration, 6), motion(0.0)[0].round(4)
    (0.47, array([-1.4706,  2.9413]))
    """
    begin = _Start(arm, start, q0, branch, orientation, respect_limits)
    way: Array
    if end is not None and displacement is None:
        way = as_point(arm, begin.task, "end", end) - begin.x
    elif displacement is not None and end is None:
        way = finite("displacement", displacement)
        if way.shape not in ((2,), (3,)):
            raise ShapeError(f"displacement has shape {way.shape}; it needs 3 numbers x, y, z, or 2")
        way = np.append(way, np.zeros(3 - len(way)))
    else:
        raise DalembertError("a line needs either end or displacement: give exactly one of them")
    length = float(np.linalg.norm(way))
    if not length > 0:
        raise DalembertError(f"the line has no length: it begins and ends at {place(begin.x)}")
    along = _along(
        length, profile, acceleration_time=acceleration_time, max_velocity=max_velocity, duration=duration,
        acceleration=acceleration,
    )  # fmt: skip
    return begin.motion(LinePath(begin.x, way / length, length), along)


def circle(
    arm: Arm,
    centre: ArrayLike,
    start: ArrayLike | None = None,
    *,
    angle: float = 2 * np.pi,
    normal: ArrayLike = (0.0, 0.0, 1.0),
    q0: ArrayLike | None = None,
    branch: Branch | None = None,
    orientation: Literal["free", "constant"] = "free",
    profile: Profile = "trapezoidal",
    acceleration_time: float | None = None,
    max_velocity: float | None = None,
    duration: float | None = None,
    acceleration: float | None = None,
    respect_limits: bool = True,
) -> Trajectory:
    """A joint motion that moves the tip along a circle or an arc, by inverse kinematics.

    centre  (3,) in base axes (m), or (2,) in the plane
    start   (3,) initial tip position, by default that at q0; its distance from the centre is the radius
    angle   angle of the arc (rad); a negative angle reverses the direction
    normal  axis of rotation, right-handed; the start must lie in the plane through the centre normal to it
    The other arguments are those of :func:`dalembert.line`; lengths along the circle are in m.

    >>> import dalembert as da
    >>> motion = circle(da.load("planar-2r"), (1.0, 0), (1.3, 0), branch="lower-elbow", profile="quintic", duration=2.0)
    >>> motion(0.0)[0].round(4), motion(2.0)[0].round(4)
    (array([-0.8632,  1.7264]), array([-0.8632,  1.7264]))
    """
    begin = _Start(arm, start, q0, branch, orientation, respect_limits)
    middle = as_point(arm, begin.task, "centre", centre)
    axis = direction("normal", normal)
    out = begin.x - middle
    radius = float(np.linalg.norm(out))
    if not radius > 0:
        raise DalembertError(f"the circle has no radius: its start is its centre, {place(middle)}")
    if abs(out @ axis) > 1e-9 * max(1.0, radius):
        raise DalembertError(
            f"the start {place(begin.x)} is {abs(out @ axis):.4g} m away from the plane of the circle: "
            "the normal must be perpendicular to the line from the centre to the start"
        )
    turn = float(finite("angle", angle))
    if abs(turn) < 1e-12:
        raise DalembertError(f"the angle is {turn:g} rad, so there is no arc to follow")
    if abs(turn) > MOST_TURNS * 2 * np.pi:
        raise DalembertError(
            f"an arc of {turn:g} rad is {abs(turn) / (2 * np.pi):g} turns; at most {MOST_TURNS} can be followed: repeat the motion"
        )
    u = out / radius
    v = np.cross(axis, u) * np.sign(turn)
    length = radius * abs(turn)
    along = _along(
        length, profile, acceleration_time=acceleration_time, max_velocity=max_velocity, duration=duration,
        acceleration=acceleration,
    )  # fmt: skip
    return begin.motion(ArcPath(middle, u, v / np.linalg.norm(v), radius, length), along)


class _Start:
    """Start of a path: the task, the point, and the joint positions."""

    def __init__(
        self,
        arm: Arm,
        start: ArrayLike | None,
        q0: ArrayLike | None,
        branch: Branch | None,
        orientation: str,
        respect_limits: bool,
    ) -> None:
        check_choice("orientation", orientation, ("free", "constant"))
        seed = None if q0 is None else as_configuration(arm, q0)
        placing = task_of(arm, orientation=False)
        if start is not None:
            self.x = x = as_point(arm, placing, "start", start)
        elif seed is not None:
            self.x = x = arm.pose(seed)[:3, 3]
        else:
            raise DalembertError("a path needs a start point, or the joint positions q0 at its start")
        try:
            self.q = search(placing, x, seed, branch, respect_limits)
        except NoConfiguration as reason:
            raise PathError(
                f"the tip of arm '{arm.name}' cannot be at the start {place(x)}, s = 0 m, t = 0 s: {reason}",
                reason.kind, tuple(x.tolist()), 0.0, 0.0,
            ) from None  # fmt: skip
        self.task = task_of(arm, orientation=True) if orientation == "constant" else placing
        self.respect_limits = respect_limits

    def motion(self, path: TipPath, along: Trajectory) -> Trajectory:
        """The motion along the path with the velocity profile ``along``."""
        for s in np.linspace(0.0, path.length, 9):
            x = path(np.array([s]))[0][0]
            if self.task.outside(x) > 1e-9 * max(1.0, path.length):
                raise PathError(
                    f"the path leaves the plane in which the tip of arm '{self.task.arm.name}' moves: "
                    f"{place(x)}, s = {s:.6g} m along it, is {self.task.outside(x):.4g} m outside",
                    "unreachable", tuple(x.tolist()), float(s), _time_at(along, float(s)),
                )  # fmt: skip
        arm, rotation = self.task.arm, self.task.arm.pose(self.q)[:3, :3]
        followed = follow(self.task, path, rotation, self.q, lambda s: _time_at(along, s), self.respect_limits)
        return Trajectory(along.duration, arm.n, Composed(followed, along, along.breaks), along.knots)


def _along(length: float, profile: Profile, **values: Any) -> Trajectory:
    """Distance of the tip along its path as a function of time: a motion of one joint, in m."""
    given = {name: value for name, value in values.items() if value is not None}
    if isinstance(profile, Trajectory):
        if given:
            raise DalembertError(f"the profile is itself a motion, so {', '.join(given)} cannot be given as well")
        if profile.n != 1:
            raise DalembertError(f"a profile must be a motion of one joint, but this one has {profile.n}")
        s = profile.q[:, 0]
        slack = 1e-9 * length
        if abs(s[0]) > slack or abs(s[-1] - length) > slack or s.min() < -slack or s.max() > length + slack:
            raise DalembertError(
                f"the profile goes from {s[0]:.6g} to {s[-1]:.6g} m, between {s.min():.6g} and {s.max():.6g} m; "
                f"it must go from 0 to the length of the path, {length:.6g} m, and stay within"
            )
        return profile
    if profile in DEGREES:
        if set(given) != {"duration"}:
            raise DalembertError(
                f"a {profile} profile needs a duration and no other value; it was given {', '.join(given) or 'nothing'}"
            )
        return polynomial([0.0], [length], given["duration"], DEGREES[profile])
    if profile == "triangular":
        if "acceleration_time" in given:
            raise DalembertError("a triangular profile has no acceleration_time, which is always half its duration")
        return triangular([0.0], [length], **given)
    check_choice("profile", profile, ("trapezoidal", "triangular", *DEGREES))
    return trapezoidal([0.0], [length], **given)


def _time_at(profile: Trajectory, s: float) -> float:
    """First time at which the profile reaches s."""
    t, so_far = profile.t, profile.q[:, 0]
    k = int(np.argmax(so_far >= s - 1e-12 * abs(so_far[-1])))
    if k == 0:
        return 0.0
    return float(bisected(t[k - 1], t[k], lambda at: profile(at)[0][0] >= s, 60)[1])
