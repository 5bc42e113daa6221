"""A joint motion: positions, velocities and accelerations as functions of time."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array, double
from dalembert.base.environment.cached_property import cached_property
from dalembert.errors import DalembertError, ShapeError
from dalembert.robot import Inertia
from dalembert.work.trajectory.planning.events import (
    Event,
    LoadTable,
    events_at,
    interval,
    payload_event,
    snapped,
    torques,
    wrench_event,
)
from dalembert.work.trajectory.planning.limits import LimitExcess, LimitsLike, limits_report
from dalembert.work.trajectory.planning.time_breaks import inside, nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.work.trajectory.timing.moves import Move, Stop
    from dalembert.work.trajectory.timing.scaling import ScalingTable

Evaluate = Callable[[Array], tuple[Array, Array, Array]]

# functions that methods of a motion delegate to; their modules build on this one, so they are imported on first use
DELEGATES = {
    "__add__": "work.trajectory.planning.joined:join",
    "_repr_html_": "views.report.notebook:motion_html",
    "animate": "views.report.animation:animate_motion",
    "hold": "work.trajectory.planning.joined:held",
    "moves": "work.trajectory.timing.moves:moves_of",
    "plot": "views.report.plots:motion_figure",
    "repeated": "work.trajectory.planning.joined:repeated",
    "retimed": "work.trajectory.timing.retiming:retimed",
    "reversed": "work.trajectory.planning.joined:backwards",
    "save": "work.trajectory.planning.motion_file:save",
    "scaled": "work.trajectory.timing.scaling:scaled",
    "scaling_table": "work.trajectory.timing.scaling:scaling_table",
    "time_optimal": "work.trajectory.timing.time_optimal:time_optimal",
}
NEAR = 0.1  # share of the mean sample spacing: a sample closer than this to a knot is dropped
SAMPLES = 501  # number of samples in .t, unless the motion brings its own
SAME_INSTANT = 1e-12  # share of the duration: knots closer together than this are merged


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A joint motion from 0 to ``duration`` (s) that can be evaluated at any time.

    ``motion(t)`` returns (q, qd, qdd), each of shape (*t.shape, n), in rad, rad/s and rad/s² (m, m/s and m/s² for
    prismatic joints); ``.t .q .qd .qdd`` hold the same quantities at the sample times. ``knots`` are the times
    at which an acceleration may jump. At a knot, the motion has the value of the segment that begins there; at
    the final time, that of the segment that ends. ``breaks`` are the knots and the times at which a higher
    derivative may jump. Create a motion with :func:`dalembert.trapezoidal`, one of the other planning functions
    or :func:`dalembert.read_trajectory`. ``scaling`` describes what :meth:`scaled`, :meth:`retimed` or
    :meth:`time_optimal` did, ``notes`` lists the conversions made while reading a file, and ``events`` lists the
    payloads carried and the tip wrenches exerted, with their times.

    Join motions with ``+``; see also :meth:`hold`, :meth:`reversed` and :meth:`repeated`.

    >>> import dalembert as da
    >>> motion = da.triangular([0.0, 0.0], [1.0, -2.0], duration=2.0)
    >>> q, qd, qdd = motion(0.5)
    >>> q, qd, qdd
    (array([ 0.125, -0.25 ]), array([ 0.5, -1. ]), array([ 1., -2.]))
    >>> motion.with_payload(3.0, start=0.5)
    <Trajectory: 2 s, 2 joints, payload of 3 kg from 0.5 to 2 s>
    """

    duration: float
    n: int
    evaluate: Evaluate
    knots: tuple[float, ...] = ()
    sampled_at: Array | None = None
    scaling: Any = None  # ScalingReport, TimeOptimalReport or Retiming
    notes: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()

    def __repr__(self) -> str:
        words = [f"{self.duration:.6g} s", f"{self.n} joint{'s' if self.n != 1 else ''}"]
        more = [str(event) for event in self.events[:2]]
        more += [f"{len(self.events) - 2} more events"] if len(self.events) > 2 else []
        return f"<Trajectory: {', '.join(words + more)}>"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.duration) and self.duration > 0):
            raise DalembertError(f"the duration of a motion must be positive; it is {self.duration:g} s")
        object.__setattr__(self, "duration", float(self.duration))
        knots = self._apart(np.array(self.knots, float))
        object.__setattr__(self, "knots", tuple(knots.tolist()))
        if self.events:  # snap event times to their knots, so that both are equal to the last digit
            edges = np.unique(np.concatenate([[0.0], knots, [self.duration]]))
            same = SAME_INSTANT * self.duration
            object.__setattr__(self, "events", events_at(self.events, lambda t: snapped(t, edges, same)))

    def _apart(self, instants: Array) -> Array:
        """The instants in increasing order; the last of nearly equal ones, by which every segment has begun."""
        instants = np.sort(instants)
        return instants[np.diff(instants, append=np.inf) > SAME_INSTANT * self.duration]

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """(q, qd, qdd) at the times ``t``, which must lie between 0 and the duration."""
        at = double("t", t)
        slack = 1e-9 * self.duration
        if at.size and not (at.min() >= -slack and at.max() <= self.duration + slack):
            raise DalembertError(
                f"the motion is defined from 0 to {self.duration:g} s, not at t = "
                f"{at.min() if at.min() < -slack else at.max():g} s"
            )
        flat = np.clip(at.reshape(-1), 0.0, self.duration)
        q, qd, qdd = (np.asarray(x).reshape(*at.shape, self.n) for x in self.evaluate(flat))
        return q, qd, qdd

    @cached_property
    def breaks(self) -> Array:
        """The times at which any derivative may jump: the knots and the junctions of spline segments."""
        pieces = np.asarray(getattr(self.evaluate, "breaks", ()), float).ravel()
        return self._apart(np.concatenate([np.array(self.knots, float), pieces]))

    @cached_property
    def moves(self) -> tuple[list[Move], list[Stop]]:
        """Segments from rest to rest and the stops between them, which :meth:`time_optimal` operates on."""
        return delegate(DELEGATES, "moves")(self)

    # -- samples ---------------------------------------------------------------------------------

    @cached_property
    def t(self) -> Array:
        """Sample times in s, shape (N,), knots included."""
        if self.sampled_at is not None:
            return self.sampled_at
        knots = inside(np.array(self.knots), self.duration)
        instants = np.asarray(getattr(self.evaluate, "instants", np.linspace(0.0, self.duration, SAMPLES)))
        if not len(knots):
            return instants
        apart = np.abs(knots[nearest(knots, instants)] - instants) > max(
            SAME_INSTANT * self.duration, NEAR * self.duration / len(instants)
        )
        apart[[0, -1]] = True
        return np.sort(np.concatenate([instants[apart], knots]))

    @cached_property
    def _samples(self) -> tuple[Array, Array, Array]:
        return self(self.t)

    @property
    def q(self) -> Array:
        """Positions at the sample times, shape (N, n)."""
        return self._samples[0]

    @property
    def qd(self) -> Array:
        """Velocities at the sample times, shape (N, n)."""
        return self._samples[1]

    @property
    def qdd(self) -> Array:
        """Accelerations at the sample times, shape (N, n)."""
        return self._samples[2]

    # -- derived motions ---------------------------------------------------------------------------

    def __add__(self, other: Trajectory) -> Trajectory:
        """This motion followed by ``other``, which must begin at the position and velocity at which this one ends.

        Nothing is resampled: values, knots, sample times and events are taken from both motions. :func:`dalembert.join`
        joins thousands of motions in one step.

        >>> import dalembert as da
        >>> there = da.trapezoidal([0, 0], [1, 0.5], acceleration_time=0.2, max_velocity=2.0)
        >>> cycle = there.hold(0.3) + there.reversed()
        >>> round(cycle.duration, 9), cycle(cycle.duration)[0]
        (1.7, array([0., 0.]))
        """
        if not isinstance(other, Trajectory):
            return NotImplemented
        return delegate(DELEGATES, "__add__")([self, other])

    def __radd__(self, other: object) -> Trajectory:
        """The motion itself for 0 + motion, so that ``sum([…])`` works."""
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented

    def hold(self, duration: float) -> Trajectory:
        """The motion followed by a rest of ``duration`` (s) at its final position; it must end at rest.

        :meth:`time_optimal` preserves the length of a rest; :meth:`scaled` stretches it with the whole motion, as
        S (7.119) with r = ct does.

        >>> import dalembert as da
        >>> da.polynomial([0.0], [1.0], 1.0).hold(0.25)(1.2)
        (array([1.]), array([0.]), array([0.]))
        """
        return delegate(DELEGATES, "hold")(self, duration)

    def reversed(self) -> Trajectory:
        """The time-reversed motion q(T − t), −q̇(T − t), q̈(T − t), with its events mirrored in time.

        >>> import dalembert as da
        >>> da.polynomial([0.0], [1.0], 1.0).reversed()(0.0)[0]
        array([1.])
        """
        return delegate(DELEGATES, "reversed")(self)

    def repeated(self, times: int) -> Trajectory:
        """The motion repeated ``times`` times in sequence; it must end where it begins.

        >>> import dalembert as da
        >>> there = da.polynomial([0.0], [1.0], 1.0)
        >>> (there + there.reversed()).repeated(3).duration
        6.0
        """
        return delegate(DELEGATES, "repeated")(self, times)

    def with_payload(
        self,
        mass: float | Inertia,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        *,
        start: float | None = None,
        end: float | None = None,
    ) -> Trajectory:
        """The motion with a body attached to the tip, throughout or from ``start`` to ``end`` (s).

        mass     in kg, or a :class:`dalembert.Inertia` in the tip frame
        com      centre of mass in the tip frame (m)
        inertia  (3, 3) about the centre of mass (kg m²); without it, the body is a point mass
        Returns  the motion with one more entry in ``events``. The body is held in addition to the arm's own payload and
                 to the payloads of other events. It is grasped and released without impact, at the velocity of the tip

        >>> import dalembert as da
        >>> lift = da.polynomial([0.0, 0.0], [0.5, 0.3], 1.0).with_payload(10.0, com=(0, 0, 0.05), start=0.4)
        >>> print(lift.events[0])
        payload of 10 kg from 0.4 to 1 s
        >>> lift.torques(da.load("planar-2r"), [0.39, 0.4]).round(0)
        array([[1192.,  318.],
               [1394.,  420.]])
        """
        return self._with(payload_event(mass, com, inertia, *interval(self.duration, start, end)))

    def with_tip_wrench(self, wrench: ArrayLike, *, start: float | None = None, end: float | None = None) -> Trajectory:
        """The motion with a constant wrench at the tip, throughout or from ``start`` to ``end`` (s).

        wrench   (6,) [fx, fy, fz, mx, my, mz] (N, N m) exerted by the tip on its environment, in base axes
        Returns  the motion with one more entry in ``events``; the wrenches of several events add up

        >>> import dalembert as da
        >>> press = da.polynomial([0.0, 0.0], [0.5, 0.3], 1.0).with_tip_wrench([0, -50, 0, 0, 0, 0], start=0.8)
        >>> press.events[0].wrench
        (0.0, -50.0, 0.0, 0.0, 0.0, 0.0)
        """
        return self._with(wrench_event(wrench, *interval(self.duration, start, end)))

    def _with(self, event: Event) -> Trajectory:
        knots = inside(np.array([event.start, event.end]), self.duration).tolist()
        return replace(self, knots=(*self.knots, *knots), events=(*self.events, event))

    # -- requirements on the arm -----------------------------------------------------------------

    @cached_property
    def loads(self) -> LoadTable:
        """Loads on the tip from the events of the motion: ``loads.at(t)`` returns payload (…, 10) and wrench (…, 6)."""
        return LoadTable(self.events, self.duration)

    def torques(self, arm: Arm, t: ArrayLike | None = None, *, tip_wrench: ArrayLike | None = None) -> Array:
        """Joint torques of ``arm`` (N m or N) at the times ``t``, by default ``.t``, with all events: shape (…, n).

        tip_wrench  (6,) or (…, 6), added to the wrenches of the events

        >>> import dalembert as da
        >>> motion = da.polynomial([0.0, 0.0], [0.5, 0.3], 1.0)
        >>> motion.torques(da.load("planar-2r")).shape
        (501, 2)
        """
        return torques(self, arm, t, tip_wrench)

    def fits(self, arm: Arm) -> None:
        """Raise an error unless ``arm`` is an Arm with as many joints as the motion."""
        if not isinstance(arm, Arm):
            raise DalembertError(f"the arm is given as {arm!r}; it must be an Arm, for example da.load('panda')")
        if arm.n != self.n:
            raise ShapeError(f"the motion has {self.n} joints, but arm '{arm.name}' has {arm.n}")

    def limits_report(self, arm: Arm, *, torque: bool = True, tip_wrench: ArrayLike | None = None) -> list[LimitExcess]:
        """All limits of ``arm`` that the motion exceeds, each with the time of its largest violation.

        Positions, velocities, accelerations and torques are checked wherever the robot defines limits for them;
        ``torque=False`` omits the torques. ``tip_wrench`` is as in :meth:`dalembert.Arm.inverse_dynamics`.

        >>> import dalembert as da
        >>> fast = da.triangular([0.0, 0.0], [3.0, 3.0], duration=0.3)
        >>> print(fast.limits_report(da.load("planar-2r"))[0])
        joint 'joint1': velocity 20 rad/s at t = 0.15 s is above its limit of 15 rad/s
        """
        return limits_report(self, arm, torque, tip_wrench)

    def check_limits(self, arm: Arm, *, torque: bool = True, tip_wrench: ArrayLike | None = None) -> None:
        """Raise an error that names the joint, value, limit and time of the first entry of :meth:`limits_report`."""
        report = self.limits_report(arm, torque=torque, tip_wrench=tip_wrench)
        if report:
            more = f" (and {len(report) - 1} more)" if len(report) > 1 else ""
            raise DalembertError(f"{report[0]}{more}")

    # -- retiming of the same path -------------------------------------------------------------------

    def retimed(self, law: Any, duration: float | None = None) -> Trajectory:
        """The motion q(t) = q̄(r(t)) along the same path under a user-defined time law r(t): S (7.119)–(7.121).

        law       strictly increasing from r(0) = 0 to the duration of this motion: a function of an array of times that
                  returns r, or r, ṙ and r̈ (if it returns only r and uses NumPy functions, ṙ and r̈ are derived
                  exactly); a Trajectory with one coordinate; or samples (N,) of r at equal steps, interpolated by a
                  cubic spline
        duration  time in s at which the law reaches the end of the motion; a Trajectory has its own
        Returns   the motion; its ``.scaling`` returns (r, ṙ, r̈) at any t, and ``.scaling.torques(arm, t)`` the torques
                  by S (7.126), without running inverse dynamics on the new motion

        >>> import numpy as np, dalembert as da
        >>> motion = da.triangular([0.0, 0.0], [1.0, -2.0], duration=2.0)
        >>> gentle = motion.retimed(lambda t: t - np.sin(np.pi * t) / np.pi, duration=2.0)
        >>> gentle(1.0)[1], gentle(2.0)[0]
        (array([ 2., -4.]), array([ 1., -2.]))
        """
        return delegate(DELEGATES, "retimed")(self, law, duration)

    def scaled(self, arm: Arm, limits: LimitsLike = None, *, allow_faster: bool = False) -> Trajectory:
        """The same motion, slowed down uniformly until no limit of ``arm`` is exceeded: S 7.7, r = ct.

        limits        defaults to the arm's own; one :class:`Limits` per joint, or a dict such as
                      {"effort": [87, 87, 12], "velocity": 2.0}
        allow_faster  also speed up a motion that stays below its limits
        Returns       the motion; its ``.scaling`` names the limiting joint, the time, c and both durations

        >>> import dalembert as da
        >>> fast = da.triangular([0.0, 0.0], [3.0, 3.0], duration=0.3)
        >>> print(fast.scaled(da.load("planar-2r")).scaling)
        slowed down by c = 2.48167, from 0.3 to 0.744502 s: the effort limit of joint 'joint1' at t = 0.15 s decides
        """
        return delegate(DELEGATES, "scaled")(self, arm, limits, allow_faster)

    def scaling_table(
        self, arm: Arm, factors: ArrayLike = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0), limits: LimitsLike = None
    ) -> ScalingTable:
        """Peak torques (N m or N) and limit utilisation with time stretched by each of ``factors``: S 7.7, r = ct.

        factors  positive numbers c, where c > 1 is slower; the factor that just satisfies every limit is added
        limits   as for :meth:`scaled`
        Returns  the table, which can be printed; ``.factor .duration .torque .share .exceeded .decides .fits``

        >>> import dalembert as da
        >>> fast = da.triangular([0.0, 0.0], [3.0, 3.0], duration=0.3)
        >>> print(fast.scaling_table(da.load("planar-2r"), [1, 4]))
        peak torque                   c = 1  c = 2.482*   c = 4
        joint1 (N m)              6.062e+04       1e+04    3964
        joint2 (N m)              2.943e+04        4576    1670
        duration (s)                    0.3      0.7445     1.2
        largest share of a limit     606.2%      100.0%   39.6%
        of joint                     joint1      joint1  joint1
        kind of limit                effort      effort  effort
        * c = 2.48167 just satisfies every limit
        """
        return delegate(DELEGATES, "scaling_table")(self, arm, factors, limits)

    def time_optimal(
        self, arm: Arm, limits: LimitsLike = None, *, grid: int = 1000, duration: float | None = None
    ) -> Trajectory:
        """The same path from rest to rest in the shortest time that the limits of ``arm`` allow.

        limits    as for :meth:`scaled`: torque (with viscous and Coulomb friction), velocity and acceleration
        grid      approximate minimum number of intervals along the path
        duration  prescribed duration in s instead of the shortest one
        Returns   the motion; its ``.scaling`` contains both durations, the rates along the path, the active limits and
                  the stops: the motion stops only at corners of its path and where it dwells

        >>> import dalembert as da
        >>> slow = da.triangular([0.0, 0.0], [3.0, 3.0], duration=3.0)
        >>> slow.time_optimal(da.load("planar-2r")).duration < 0.61
        True
        """
        return delegate(DELEGATES, "time_optimal")(self, arm, limits, grid, duration)

    # -- files -----------------------------------------------------------------------------------

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        arm: Arm | None = None,
        tip_wrench: ArrayLike | None = None,
        rate: float | None = None,
        overwrite: bool = True,
    ) -> None:
        """Write t (s), q1 …, qd1 …, qdd1 … (rad, m), and tau1 … (N m, N) if ``arm`` is given, as .csv, .npz or .parquet.

        rate  samples per second, evenly spaced. By default, rows are written at the sample times ``.t``, with two rows,
              before and after, wherever accelerations or loads jump. The final time is always written
        The file is written completely or not at all, and every number in full precision.
        """
        delegate(DELEGATES, "save")(self, path, arm, tip_wrench, rate, overwrite)

    # -- display ---------------------------------------------------------------------------------

    def plot(self, arm: Arm | None = None) -> Figure:
        """A matplotlib Figure of positions, velocities and accelerations over time, and of torques if ``arm`` is given.

        >>> import dalembert as da
        >>> motion = da.triangular([0.0, 0.0], [1.0, -2.0], duration=2.0)
        >>> [axes.get_title("left") for axes in motion.plot(da.load("planar-2r")).axes]
        ['Position (rad)', 'Velocity (rad/s)', 'Acceleration (rad/s²)', 'Torque (N m)']
        """
        return delegate(DELEGATES, "plot")(self, arm)

    def animate(
        self, path: str | os.PathLike[str], arm: Arm, *, speed: float = 1.0, fps: float = 25.0, overwrite: bool = False
    ) -> None:
        """Write an animation of ``arm`` as ``.gif``, ``.mp4`` or ``.html``; options as in ``run.animate``."""
        delegate(DELEGATES, "animate")(self, path, arm, speed, fps, overwrite)

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)
