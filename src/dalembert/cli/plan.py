"""``dalembert plan``: a motion file from points in joint space, or from a line or a circle of the tip."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

import dalembert as da
from dalembert.cli import options
from dalembert.cli.terminal import number, plain, print_table, say, tell
from dalembert.cli.torques import write
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.arrays import Array
    from dalembert.trajectory.points_file import Points

Shape = Literal["trapezoidal", "triangular", "cubic", "quintic", "septic", "spline"]
Orientation = Literal["free", "constant"]
DEGREES = {"cubic": 3, "quintic": 5, "septic": 7}
ACCELERATING = 1 / 3  # default share of the duration of a trapezoidal motion


def plan(
    arm: options.ArmArgument,
    start: Annotated[str | None, Option("--from", metavar='"q1 … qn"', help="Initial joint positions.")] = None,
    to: Annotated[str | None, Option("--to", metavar='"q1 … qn"', help="Final joint positions.")] = None,
    via: Annotated[list[str] | None, Option("--via", metavar='"q1 … qn"', help="A via point; may be repeated.")] = None,
    points: Annotated[
        Path | None,
        Option(
            metavar="POINTS.csv",
            help="All points, one per row with columns q1 …, instead of --from and --to; optionally with hold (s) and payload (kg).",
        ),
    ] = None,
    from_position: Annotated[
        str | None, Option(metavar='"x y z"', help="Initial tip position (m), instead of --from, or near it.")
    ] = None,
    to_position: Annotated[
        str | None,
        Option(metavar='"x y z"', help="Final tip position (m), instead of --to; the nearest joint solution is taken."),
    ] = None,
    line: Annotated[
        str | None, Option(metavar='"x y z"', help="Move the tip along a straight line to this point (m).")
    ] = None,
    circle: Annotated[
        str | None, Option(metavar='"x y z"', help="Move the tip along a circle about this centre (m).")
    ] = None,
    angle: Annotated[float, Option(metavar="DEGREES", help="The angle of the arc.")] = 360.0,
    normal: Annotated[str, Option(metavar='"x y z"', help="The axis of the circle.")] = "0 0 1",
    orientation: Annotated[
        Orientation, Option(help="For --line and --circle: whether the tip keeps its orientation.")
    ] = "free",
    profile: Annotated[
        Shape, Option(help="The velocity profile. 'spline' passes via points without stopping.")
    ] = "trapezoidal",
    duration: Annotated[
        float | None,
        Option(metavar="SECONDS", help="Duration of the motion; default: the shortest that the arm's limits allow."),
    ] = None,
    acceleration_time: Annotated[
        float | None, Option(metavar="SECONDS", help="For trapezoidal; default: a third of the duration.")
    ] = None,
    hold: Annotated[float | None, Option(metavar="SECONDS", help="Dwell time at the end, and at via points.")] = None,
    back: Annotated[bool, Option("--back", help="Return along the same path.")] = False,
    repeat: Annotated[int, Option(metavar="N", help="Repeat the motion N times; it must end where it starts.")] = 1,
    deg: Annotated[bool, Option("--deg", help="Angles of revolute joints are given in degrees.")] = False,
    rate: options.RowRateOption = None,
    torques: Annotated[
        bool, Option("--torques", help="Also write tau1 …, as input for 'dalembert simulate --torque'.")
    ] = False,
    limits: options.LimitsSourceOption = None,
    payload: options.PayloadOption = None,
    payload_com: options.PayloadComOption = None,
    output: Annotated[str, options.written_to("MOTION.csv")] = "-",
    force: Annotated[bool, options.overwriting("MOTION.csv")] = False,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Plan a motion: from point to point, through via points, or the tip along a line or a circle.

    Without --duration the motion is as fast as the arm's velocity and acceleration limits allow, or its effort limits
    if it has no acceleration limits; the choice is reported.

    MOTION.csv gets t (s), q, qd and qdd of every joint; 'dalembert torques', 'scale', 'simulate --follow' and 'report' read it.
    """
    loaded = options.load(arm, loading, payload, payload_com, limits)
    options.check_table(output, "the motion would overwrite the file it is", points, arm, limits, force=force)
    ask = _Points(loaded, deg)
    if (line is not None) + (circle is not None) + (
        points is not None or to is not None or to_position is not None
    ) != 1:
        raise DalembertError(
            "a motion needs one goal: give exactly one of --to, --to-position, --points POINTS.csv, --line and --circle"
        )
    timing = _Timing(loaded, profile, duration, acceleration_time)
    if line is not None or circle is not None:
        if via:
            raise DalembertError("--via applies to motions from point to point; leave it out with --line and --circle")
        motion = _of_the_tip(ask, timing, start, from_position, line, circle, angle, normal, orientation)
        motion = motion if hold is None else motion.hold(hold)
    else:
        motion = timing.through(ask.points(start, from_position, via or [], to, to_position, points, hold))
    if back:
        motion = motion + motion.reversed()
        motion = motion if hold is None else motion.hold(hold)
    if repeat != 1:
        motion = motion.repeated(repeat)
    save(motion, loaded, output, rate=rate, torques=torques, force=force)
    summary(motion, loaded, output)
    tell(plain(timing.sentence), stderr=True)


class _Points:
    """The points that the options describe."""

    def __init__(self, arm: da.Arm, degrees: bool) -> None:
        from dalembert.logs.units import sliding_joints

        self.arm, self.degrees = arm, degrees
        self.unit = [1.0 if slides or not degrees else 0.017453292519943295 for slides in sliding_joints(arm)]

    def row(self, option: str, text: str) -> list[float]:
        from dalembert.robot.units import WIDEST

        values = options.row_of(option, text, "q", self.arm.n)
        radians = [
            value
            for value, joint in zip(values, self.arm.robot.moving_joints, strict=True)
            if joint.type != "prismatic"
        ]
        if not self.degrees and max(map(abs, radians), default=0.0) > WIDEST:
            say("warning", f'{option} "{text}" is in rad and looks like degrees; give --deg if it is')
        return [unit * value for unit, value in zip(self.unit, values, strict=True)]

    def at(self, option: str, text: str, near: Any) -> Any:
        """The joint positions that place the tip at a position."""
        position = options.numbers_of(option, text, "x y z")
        return da.inverse_kinematics(self.arm, position, near).q

    def start(self, start: str | None, from_position: str | None) -> Any:
        near = None if start is None else self.row("--from", start)
        if from_position is not None:
            return self.at("--from-position", from_position, near)
        if near is None:
            raise DalembertError('a motion needs a start: give --from "q1 … qn", or --from-position "x y z"')
        return near

    def points(
        self,
        start: str | None,
        from_position: str | None,
        via: list[str],
        to: str | None,
        to_position: str | None,
        file: Path | None,
        hold: float | None,
    ) -> Points:
        """All points of a motion, and the dwell time at each."""
        import numpy as np

        from dalembert.trajectory.points_file import Points, read_points

        if file is not None:
            if start is not None or from_position is not None or to is not None or to_position is not None or via:
                raise DalembertError("--points contains all points; leave out --from, --via and --to")
            given = read_points(file, self.arm, degrees=self.degrees)
            if hold is not None and given.hold.any():
                raise DalembertError(f"{file} has a column 'hold', but --hold is given as well; remove one of them")
            return given if hold is None else replace(given, hold=_rests(hold, len(given.q)))
        rows = [self.start(start, from_position), *(self.row("--via", text) for text in via)]
        if to is not None and to_position is not None:
            raise DalembertError("--to and --to-position are both given; choose one")
        if to is not None:
            rows.append(self.row("--to", to))
        else:
            assert to_position is not None
            rows.append(self.at("--to-position", to_position, rows[-1]))
        return Points(np.array(rows, float), _rests(hold or 0.0, len(rows)), (None,) * len(rows))


def _rests(hold: float, count: int) -> Array:
    """The dwell times of --hold: at all points except the first."""
    import numpy as np

    return np.array([0.0] + [hold] * (count - 1))


class _Timing:
    """The duration of motions, and the sentence that explains it."""

    def __init__(self, arm: da.Arm, profile: Shape, duration: float | None, acceleration_time: float | None) -> None:
        if acceleration_time is not None and (profile != "trapezoidal" or duration is None):
            raise DalembertError("--acceleration-time needs --profile trapezoidal and a --duration")
        if duration is not None and not 0 < duration < float("inf"):
            raise DalembertError(f"--duration is {duration:g} s; it must be finite and more than 0")
        self.arm, self.profile, self.duration, self.accelerating = arm, profile, duration, acceleration_time
        self.sentence = ""
        self.limits: dict[str, Array] = {} if duration is not None else _own_limits(arm)

    def through(self, points: Points) -> da.Trajectory:
        """From point to point, stopping at each, except for a spline."""
        import numpy as np

        q, hold = points.q, points.hold.tolist()
        if len(q) < 2:
            raise DalembertError("a motion needs at least two points, but only one is given")
        ways = np.abs(np.diff(q, axis=0)).max(axis=1)
        if not (way := float(ways.max())) <= 1e12:
            raise DalembertError(f"two successive points are {way:.3g} rad or m apart, farther than a joint moves")
        resting = points.plain or self.profile == "spline"
        if self.profile == "spline" and (any(points.payloads) or hold[0] or len(set(hold[1:])) > 1):
            raise DalembertError(
                "a spline passes its points without stopping; dwell times and payloads need another --profile"
            )
        same = next((k for k, way in enumerate(ways.tolist()) if not way and (resting or k == 0)), None)
        if same is not None:
            raise DalembertError(f"points {same + 1} and {same + 2} are the same; remove one of them")
        if self.profile == "spline":
            return self.spline(points, ways)
        legs: list[da.Trajectory] = []
        for k, share in enumerate((ways / ways.sum()).tolist()):
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

    def spline(self, points: Points, ways: Array) -> da.Trajectory:
        """Through the points without stopping."""
        import numpy as np

        # the square roots of the distances: short segments next to long ones would make the curve overshoot
        times = np.concatenate([[0.0], np.cumsum(np.sqrt(ways) / np.sqrt(ways).sum())])
        return _rested(self.stretched(lambda T: da.spline(T * times, points.q)), float(points.hold[-1]), None)

    def between(self, a: Array, b: Array, duration: float) -> da.Trajectory:
        """From rest to rest in a given time."""
        if self.profile in DEGREES:
            return da.polynomial(a, b, duration, DEGREES[self.profile])
        if self.profile == "triangular":
            return da.triangular(a, b, duration=duration)
        given = self.accelerating if self.accelerating is not None else ACCELERATING * duration
        return da.trapezoidal(a, b, duration=duration, acceleration_time=given)

    def along(self, duration: float) -> dict[str, Any]:
        """The profile of a tip path with a given duration, as da.line takes it."""
        if self.profile == "spline":
            raise DalembertError(
                "--profile spline needs via points; a line or a circle takes one of the other profiles"
            )
        if self.profile == "trapezoidal":
            given = self.accelerating if self.accelerating is not None else ACCELERATING * duration
            return {"profile": self.profile, "duration": duration, "acceleration_time": given}
        return {"profile": self.profile, "duration": duration}

    def stretched(
        self,
        make: Any,
        share: float = 1.0,
        ends: tuple[Array, Array] | None = None,
        payload: da.Inertia | None = None,
    ) -> da.Trajectory:
        """The motion ``make(duration)`` with its payload, with the given duration or the shortest one within the limits."""
        if self.duration is not None:
            self.sentence = f"the duration of {self.duration:g} s was given"
            return _held(make(share * self.duration), payload)
        from dalembert.trajectory.limits import UNLIMITED

        kinds = " and ".join(self.limits)
        if (
            ends is not None
            and self.profile == "trapezoidal"
            and set(self.limits) == {"velocity", "acceleration"}
            and (max(values.max() for values in self.limits.values()) < UNLIMITED)
        ):
            self.sentence = (
                f"each part is as fast as the {kinds} limits of arm '{self.arm.name}' allow, all joints together"
            )
            limits = {"max_velocity": self.limits["velocity"], "acceleration": self.limits["acceleration"]}
            return _held(da.trapezoidal(*ends, **limits, synchronised=True), payload)
        self.sentence = f"the duration follows from the {kinds} limits of arm '{self.arm.name}'"
        return _held(make(1.0), payload).scaled(self.arm, dict(self.limits), allow_faster=True)


def _held(motion: da.Trajectory, payload: da.Inertia | None) -> da.Trajectory:
    """The motion with a payload throughout, if there is one."""
    return motion if payload is None else motion.with_payload(payload)


def _rested(motion: da.Trajectory, rest: float, payload: da.Inertia | None) -> da.Trajectory:
    """The motion followed by a dwell, during which the payload is held."""
    if not rest:
        return motion
    held = motion.hold(rest)
    return held if payload is None else held.with_payload(payload, start=motion.duration)


def _own_limits(arm: da.Arm) -> dict[str, Array]:
    """The limits that determine the duration: velocity and acceleration, or effort if there is no acceleration limit."""
    import numpy as np

    from dalembert.trajectory.limits import UNLIMITED

    limits = {
        kind: [getattr(joint.limits, kind) for joint in arm.robot.moving_joints]
        for kind in ("velocity", "acceleration", "effort")
    }
    complete = {kind: np.array(values, float) for kind, values in limits.items() if None not in values}
    complete = {kind: values for kind, values in complete.items() if (values < UNLIMITED).any()}
    if "acceleration" in complete:
        complete.pop("effort", None)
    if not {"acceleration", "effort"} & set(complete):
        raise DalembertError(
            f"arm '{arm.name}' has neither acceleration nor effort limits for all joints, so its limits determine no duration; "
            "give --duration, or --limits"
        )
    return complete


def _of_the_tip(
    ask: _Points,
    timing: _Timing,
    start: str | None,
    from_position: str | None,
    line: str | None,
    circle: str | None,
    angle: float,
    normal: str,
    orientation: Orientation,
) -> da.Trajectory:
    """The tip along a line or a circle, from the initial pose of the joints."""
    import math

    q0 = ask.start(start, from_position)

    def make(duration: float) -> da.Trajectory:
        along = timing.along(duration)
        if line is not None:
            end = options.numbers_of("--line", line, "x y z")
            return da.line(ask.arm, end=end, q0=q0, orientation=orientation, **along)
        assert circle is not None
        centre, axis = options.numbers_of("--circle", circle, "x y z"), options.numbers_of("--normal", normal, "x y z")
        return da.circle(
            ask.arm, centre, angle=math.radians(angle), normal=axis, q0=q0, orientation=orientation, **along
        )

    return timing.stretched(make)


def save(motion: da.Trajectory, arm: da.Arm, output: str, *, rate: float | None, torques: bool, force: bool) -> None:
    """Write a motion to a file or to the screen, with its torques if requested."""
    from dalembert.trajectory.csv_file import motion_columns

    write(output, *motion_columns(motion, arm if torques else None, rate=rate, both_sides=rate is None), force=force)


def summary(motion: da.Trajectory, arm: da.Arm, output: str) -> None:
    """A table on stderr: range, speed and acceleration per joint, and a sentence for each limit that is exceeded."""
    from dalembert.analysis.sizing import joint_units

    units, (q, qd, qdd) = joint_units(arm), (motion.q, motion.qd, motion.qdd)
    rows = []
    for i, name in enumerate(arm.joint_names):
        places = (q[0, i], q[:, i].min(), q[:, i].max(), q[-1, i])
        rows.append([
            plain(name), *(number(float(x), units["position"][i]) for x in places),
            number(float(abs(qd[:, i]).max()), units["speed"][i]),
            number(float(abs(qdd[:, i]).max()), units["acceleration"][i]),
        ])  # fmt: skip
    where = "" if output == "-" else f" → {plain(output)}"
    columns = ["joint", ">from", ">min", ">max", ">to", ">peak speed", ">peak acceleration"]
    print_table(columns, rows, f"{plain(arm.name)}: {motion.duration:.6g} s{where}", stderr=True)
    say("warning", *(str(excess) for excess in motion.limits_report(arm)))
    if carried := _carried(motion):
        tell(plain(f"carried: {carried}"), stderr=True)


def _carried(motion: da.Trajectory) -> str:
    """The payloads of the motion, and their time intervals; consecutive events are merged."""
    from dalembert.robot.tables import some
    from dalembert.trajectory.events import events_of

    edges = motion.loads.edges
    return some([str(event) for event in events_of(edges, *motion.loads.at(edges))], 5, "; ")
