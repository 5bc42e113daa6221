"""``dalembert plan``: a motion file from points in joint space, or from a line or a circle of the tip."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import dalembert as da
from dalembert.base.options import Allowed, option
from dalembert.base.wording import some
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading
from dalembert.views.cli.terminal import plain, print_table, say, tell
from dalembert.views.cli.torques import motion_rows, write

if TYPE_CHECKING:
    from dalembert.base.arrays import Array
    from dalembert.work.trajectory.planning.motion_file import Points

Shape = Literal["trapezoidal", "triangular", "cubic", "quintic", "septic", "spline"]
DEGREES = {"cubic": 3, "quintic": 5, "septic": 7}
ACCELERATING = 1 / 3  # default share of the duration of a trapezoidal motion


ORDER = (
    "start to via points from_position to_position line circle angle normal orientation profile duration acceleration_time hold "
    "back repeat deg rate torques limits payload payload_com output force"
)


@dataclass(frozen=True)
class RowOptions:
    """The rows of a motion that is written, and its file."""

    rate: float | None = option(
        "Evenly spaced rows per second, as a controller takes them; default: the motion's own instants.", metavar="HZ"
    )
    torques: bool = option("Also write tau1 …, as input for 'dalembert simulate --torque'.", False)
    output: str = options.written_to("MOTION.csv")
    force: bool = options.overwriting("MOTION.csv")

    def save(self, motion: da.Trajectory, arm: da.Arm) -> None:
        """Write a motion to a file or to the screen, with its torques if requested."""
        from dalembert.work.trajectory.planning.motion_file import motion_columns

        torques_of = arm if self.torques else None
        table = motion_columns(motion, torques_of, rate=self.rate, both_sides=self.rate is None)
        write(self.output, *table, force=self.force)


@dataclass(frozen=True)
class PlanOptions(RowOptions, options.Load):
    """The points of a motion, its path, profile and duration, and its file."""

    start: str | None = options.joint_row("Initial joint positions.", spelled="--from")
    to: str | None = options.joint_row("Final joint positions.")
    via: list[str] | None = options.joint_row("A via point; may be repeated.")
    points: Path | None = option(
        "All points, one per row with columns q1 …, instead of --from and --to; optionally with hold (s) and payload (kg).",
        metavar="POINTS.csv",
    )
    from_position: str | None = options.vector("Initial tip position (m), instead of --from, or near it.")
    to_position: str | None = options.vector("Final tip position (m), instead of --to, by the nearest joint solution.")
    line: str | None = options.vector("Move the tip along a straight line to this point (m).")
    circle: str | None = options.vector("Move the tip along a circle about this centre (m).")
    angle: float = option("The angle of the arc.", 360.0, metavar="DEGREES")
    normal: str = options.vector("The axis of the circle.", "0 0 1")
    orientation: Literal["free", "constant"] = option("Orientation of the tip for --line and --circle.", "free")
    profile: Shape = option("The velocity profile. 'spline' passes via points without stopping.", "trapezoidal")
    duration: float | None = option(
        "Its duration; default: the shortest that the limits allow.", metavar="SECONDS",
        check=Allowed(lambda x: 0 < x < math.inf, "finite and above 0, in s"),
    )  # fmt: skip
    acceleration_time: float | None = option("For trapezoidal; default: a third of the duration.", metavar="SECONDS")
    hold: float | None = option("Dwell time at the end, and at via points.", metavar="SECONDS")
    back: bool = option("Return along the same path.", False)
    repeat: int = option("Repeat the motion N times; it must end where it starts.", 1, metavar="N")
    deg: bool = option("Angles of revolute joints are given in degrees.", False)


def plan(arm: ArmArgument, settings: Annotated[PlanOptions, ORDER], loading: Loading) -> None:
    """Plan a motion: from point to point, through via points, or the tip along a line or a circle.

    Without --duration the motion is as fast as the arm's velocity and acceleration limits allow, or its effort limits
    if it has no acceleration limits; the choice is reported.

    MOTION.csv gets t (s), q, qd and qdd of every joint; 'dalembert torques', 'scale', 'simulate --follow' and 'report' read it.
    """
    loaded = options.load(arm, loading, settings)
    through = settings.points is not None or settings.to is not None or settings.to_position is not None
    if (settings.line is not None) + (settings.circle is not None) + through != 1:
        raise DalembertError(
            "a motion needs one goal: give exactly one of --to, --to-position, --points POINTS.csv, --line and --circle"
        )
    planner = _Planner(loaded, settings)
    motion = planner.through(planner.points()) if through else planner.tip_path()
    if settings.back:
        motion = _rested(motion + motion.reversed(), settings.hold or 0.0)
    if settings.repeat != 1:
        motion = motion.repeated(settings.repeat)
    settings.save(motion, loaded)
    summary(motion, loaded, settings.output)
    tell(plain(planner.sentence), stderr=True)


class _Planner:
    """The points that the options describe, the motions through them, and the sentence that explains their duration."""

    def __init__(self, arm: da.Arm, settings: PlanOptions) -> None:
        from dalembert.work.logs.log_units import sliding_joints

        if settings.acceleration_time is not None and (settings.profile != "trapezoidal" or settings.duration is None):
            raise DalembertError("--acceleration-time needs --profile trapezoidal and a --duration")
        self.arm, self.settings, self.sentence = arm, settings, ""
        self.limits = {} if settings.duration is not None else _own_limits(arm)
        self.unit = [1.0 if slides or not settings.deg else math.radians(1.0) for slides in sliding_joints(arm)]

    # -- points

    def row(self, name: str, text: str) -> list[float]:
        """The positions in the value of an option."""
        from dalembert.base.tables.units import WIDEST

        values = options.row_of(name, text, "q", self.arm.n)
        turning = zip(values, self.arm.robot.moving_joints, strict=True)
        if not self.settings.deg and any(abs(x) > WIDEST for x, joint in turning if joint.type != "prismatic"):
            say("warning", f'{name} "{text}" is in rad and looks like degrees; give --deg if it is')
        return [unit * value for unit, value in zip(self.unit, values, strict=True)]

    def at(self, name: str, text: str, near: Any) -> Any:
        """The joint positions that place the tip at a position."""
        position = options.numbers_of(name, text, "x y z")
        return da.inverse_kinematics(self.arm, position, near).q

    def start(self) -> Any:
        """The joint positions at which the motion starts."""
        near = None if self.settings.start is None else self.row("--from", self.settings.start)
        if self.settings.from_position is not None:
            return self.at("--from-position", self.settings.from_position, near)
        if near is None:
            raise DalembertError('a motion needs a start: give --from "q1 … qn", or --from-position "x y z"')
        return near

    def points(self) -> Points:
        """All points of a motion, and the dwell time at each."""
        import numpy as np

        from dalembert.work.trajectory.planning.motion_file import Points, read_points

        settings, hold = self.settings, self.settings.hold
        if settings.points is not None:
            others = (settings.start, settings.from_position, settings.to, settings.to_position)
            if settings.via or any(x is not None for x in others):
                raise DalembertError("--points contains all points; leave out --from, --via and --to")
            points = read_points(settings.points, self.arm, degrees=settings.deg)
            if hold is not None and points.hold.any():
                raise DalembertError(f"{settings.points} has a column 'hold', but --hold is given as well; remove one")
            return points if hold is None else replace(points, hold=np.r_[0.0, [hold] * (len(points.q) - 1)])
        if settings.to is not None and settings.to_position is not None:
            raise options.exclude("--to", "--to-position")
        rows = [self.start(), *(self.row("--via", text) for text in settings.via or ())]
        if settings.to is not None:
            rows.append(self.row("--to", settings.to))
        elif settings.to_position is not None:
            rows.append(self.at("--to-position", settings.to_position, rows[-1]))
        dwell = np.r_[0.0, [hold or 0.0] * (len(rows) - 1)]  # at all points except the first
        return Points(np.array(rows, float), dwell, (None,) * len(rows))

    # -- motions

    def tip_path(self) -> da.Trajectory:
        """The motion of the tip along a line or a circle, from the initial pose of the joints."""
        settings = self.settings
        if settings.via:
            raise DalembertError("--via applies to motions from point to point; leave it out with --line and --circle")
        q0 = self.start()
        if settings.profile == "spline":
            raise DalembertError("--profile spline needs via points; a line or a circle takes one of the others")

        def make(duration: float) -> da.Trajectory:
            along = {"q0": q0, "orientation": settings.orientation, "profile": settings.profile, **self.shape(duration)}
            if settings.line is not None:
                return da.line(self.arm, end=options.numbers_of("--line", settings.line, "x y z"), **along)
            centre = options.numbers_of("--circle", settings.circle or "", "x y z")
            axis = options.numbers_of("--normal", settings.normal, "x y z")
            return da.circle(self.arm, centre, angle=math.radians(settings.angle), normal=axis, **along)

        return _rested(self.stretched(make), settings.hold or 0.0)

    def through(self, points: Points) -> da.Trajectory:
        """From point to point, stopping at each, except for a spline."""
        import numpy as np

        q, hold, is_spline = points.q, points.hold.tolist(), self.settings.profile == "spline"
        if len(q) < 2:
            raise DalembertError("a motion needs at least two points, but only one is given")
        distances = np.abs(np.diff(q, axis=0)).max(axis=1)
        if not (distance := float(distances.max())) <= 1e12:
            raise DalembertError(f"two successive points are {distance:.3g} rad or m apart, farther than a joint moves")
        resting = points.plain or is_spline
        if is_spline and (any(points.payloads) or hold[0] or len(set(hold[1:])) > 1):
            raise DalembertError(
                "a spline passes its points without stopping; dwell times and payloads need another --profile"
            )
        same = next((k for k, distance in enumerate(distances.tolist()) if not distance and (resting or k == 0)), None)
        if same is not None:
            raise DalembertError(f"points {same + 1} and {same + 2} are the same; remove one of them")
        if is_spline:  # at the square roots of the distances: short segments next to long ones would make it overshoot
            times = np.concatenate([[0.0], np.cumsum(np.sqrt(distances) / np.sqrt(distances).sum())])
            return _rested(self.stretched(lambda T: da.spline(T * times, q)), hold[-1])
        legs: list[da.Trajectory] = []
        for k, share in enumerate((distances / distances.sum()).tolist()):
            after = hold[k + 1], points.payloads[k + 1]
            if not share:  # the same point again, with another payload
                legs[-1] = _rested(legs[-1], *after)
                continue
            ends, payload = (q[k], q[k + 1]), points.payloads[k]
            leg = self.stretched(lambda T, a=ends[0], b=ends[1]: self.between(a, b, T), share, ends, payload)
            if k == 0:
                leg = _rested(leg.reversed(), hold[0], payload).reversed()
            legs.append(_rested(leg, *after))
        return da.join(legs)

    def between(self, a: Array, b: Array, duration: float) -> da.Trajectory:
        """From rest to rest in a given time."""
        if self.settings.profile in DEGREES:
            return da.polynomial(a, b, duration, DEGREES[self.settings.profile])
        law = da.triangular if self.settings.profile == "triangular" else da.trapezoidal
        return law(a, b, **self.shape(duration))

    def shape(self, duration: float) -> dict[str, Any]:
        """The keywords of the velocity profile with a given duration."""
        if self.settings.profile != "trapezoidal":
            return {"duration": duration}
        given = self.settings.acceleration_time
        return {"duration": duration, "acceleration_time": ACCELERATING * duration if given is None else given}

    def stretched(
        self, make: Any, share: float = 1.0, ends: tuple[Array, Array] | None = None, payload: da.Inertia | None = None
    ) -> da.Trajectory:
        """The motion ``make(duration)`` with its payload, with the given duration or the shortest one within the limits."""
        if (given := self.settings.duration) is not None:
            self.sentence = f"the duration of {given:g} s was given"
            return _carrying(make(share * given), payload)
        import numpy as np

        from dalembert.base.files.file_bounds import UNLIMITED

        which = f"the {' and '.join(self.limits)} limits of arm '{self.arm.name}'"
        known = set(self.limits) == {"velocity", "acceleration"} and max(map(np.max, self.limits.values())) < UNLIMITED
        if ends is not None and self.settings.profile == "trapezoidal" and known:
            self.sentence = f"each part is as fast as {which} allow, all joints together"
            limits = {"max_velocity": self.limits["velocity"], "acceleration": self.limits["acceleration"]}
            return _carrying(da.trapezoidal(*ends, **limits, synchronised=True), payload)
        self.sentence = f"the duration follows from {which}"
        return _carrying(make(1.0), payload).scaled(self.arm, dict(self.limits), allow_faster=True)


def _carrying(motion: da.Trajectory, payload: da.Inertia | None) -> da.Trajectory:
    """The motion with a payload throughout, if there is one."""
    return motion if payload is None else motion.with_payload(payload)


def _rested(motion: da.Trajectory, rest: float, payload: da.Inertia | None = None) -> da.Trajectory:
    """The motion followed by a dwell, during which the payload is held."""
    if not rest:
        return motion
    resting = motion.hold(rest)
    return resting if payload is None else resting.with_payload(payload, start=motion.duration)


def _own_limits(arm: da.Arm) -> dict[str, Array]:
    """The limits that determine the duration: velocity and acceleration, or effort if there is no acceleration limit."""
    import numpy as np

    from dalembert.base.files.file_bounds import UNLIMITED

    complete = {}
    for kind in ("velocity", "acceleration", "effort"):
        values = [getattr(joint.limits, kind) for joint in arm.robot.moving_joints]
        if None not in values and min(values) < UNLIMITED:
            complete[kind] = np.array(values, float)
    if "acceleration" in complete:
        complete.pop("effort", None)
    if not {"acceleration", "effort"} & set(complete):
        raise DalembertError(
            f"arm '{arm.name}' has neither acceleration nor effort limits for all joints, so its limits determine no duration; "
            "give --duration, or --limits"
        )
    return complete


def summary(motion: da.Trajectory, arm: da.Arm, output: str) -> None:
    """A table on stderr: range, speed and acceleration per joint, and a sentence for each limit that is exceeded."""
    from dalembert.work.trajectory.planning.events import events_of

    rows = motion_rows(arm, motion.q, {"speed": motion.qd, "acceleration": motion.qdd})
    where = "" if output == "-" else f" → {plain(output)}"
    columns = ["joint", ">from", ">min", ">max", ">to", ">peak speed", ">peak acceleration"]
    print_table(columns, rows, f"{plain(arm.name)}: {motion.duration:.6g} s{where}", stderr=True)
    say("warning", *(str(excess) for excess in motion.limits_report(arm)))
    edges = motion.loads.edges
    if carried := events_of(edges, *motion.loads.at(edges)):  # consecutive events are merged
        tell(plain(f"carried: {some(list(map(str, carried)), 5, '; ')}"), stderr=True)
