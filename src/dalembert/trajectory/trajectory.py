"""A joint motion: positions, velocities and accelerations at every instant."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.handed_on import handed_on
from dalembert.arrays import Array, double
from dalembert.errors import DalembertError, ShapeError
from dalembert.robot import Inertia
from dalembert.trajectory.events import Event, LoadTable, moved, snapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.trajectory.limits import LimitsLike
    from dalembert.trajectory.limits_check import LimitExcess
    from dalembert.trajectory.moves import Move, Stop
    from dalembert.trajectory.scaling_table import ScalingTable

Evaluate = Callable[[Array], tuple[Array, Array, Array]]

# what the methods of a motion hand on to, by the modules that are built on it: imported when it is first called
HANDS_ON = {
    "__add__": "trajectory.joined:added",
    "_repr_html_": "report.notebook:motion_html",
    "animate": "report.animation:animate_motion",
    "hold": "trajectory.joined:held",
    "limits_report": "trajectory.limits_check:limits_report",
    "moves": "trajectory.moves:moves_of",
    "plot": "report.plots:motion_figure",
    "repeated": "trajectory.joined:repeated",
    "retimed": "trajectory.retiming:retimed",
    "reversed": "trajectory.joined:backwards",
    "save": "trajectory.csv_file:save",
    "scaled": "trajectory.scaling:scaled",
    "scaling_table": "trajectory.scaling_table:scaling_table",
    "time_optimal": "trajectory.time_optimal:time_optimal",
    "torques": "trajectory.loads:torques",
    "with_payload": "trajectory.loads:with_payload",
    "with_tip_wrench": "trajectory.loads:with_tip_wrench",
}
NEAR = 0.1  # of the mean distance of sample instants: closer ones to a knot say nothing new
SAMPLES = 501  # how many instants .t has unless the motion came with its own
SAME_INSTANT = 1e-12  # of the duration: knots nearer to each other are one


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A joint motion from 0 to ``duration`` (s), known at every instant.

    ``motion(t)`` gives (q, qd, qdd), each of shape (*t.shape, n), in rad, rad/s, rad/s² (m for
    prismatic joints); ``.t .q .qd .qdd`` are the same at sample instants. ``knots`` are the instants
    at which an acceleration may jump; there the value is that of the piece which begins (of the
    piece which ends, at the last); ``breaks`` are the knots and the instants at which a higher
    derivative may jump. Make one with :func:`dalembert.trapezoidal` and its neighbours,
    or :func:`dalembert.read_trajectory`. ``scaling`` says what :meth:`scaled`, :meth:`retimed` or :meth:`time_optimal`
    did, for a motion that they made; ``notes`` what was converted in a file that it was read from;
    ``events`` which payloads are carried and which tip wrenches are exerted, and when.

    Motions are joined with ``+``, and have :meth:`hold`, :meth:`reversed` and :meth:`repeated`.

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
    evaluate: Evaluate = field(repr=False)
    knots: tuple[float, ...] = field(default=(), repr=False)
    sampled_at: Array | None = field(default=None, repr=False)
    scaling: Any = field(default=None, repr=False)  # ScalingReport, TimeOptimalReport or Retiming
    notes: tuple[str, ...] = field(default=(), repr=False)
    events: tuple[Event, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        words = [f"{self.duration:.6g} s", f"{self.n} joint{'s' if self.n != 1 else ''}"]
        more = [str(event) for event in self.events[:2]]
        more += [f"{len(self.events) - 2} more events"] if len(self.events) > 2 else []
        return f"<Trajectory: {', '.join(words + more)}>"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.duration) and self.duration > 0):
            raise DalembertError(f"a motion must last some time; its duration is {self.duration:g} s")
        object.__setattr__(self, "duration", float(self.duration))
        knots = self._apart(np.array(self.knots, float))
        object.__setattr__(self, "knots", tuple(knots.tolist()))
        if self.events:  # at the knots that they are, to the last digit
            edges = np.unique(np.concatenate([[0.0], knots, [self.duration]]))
            same = SAME_INSTANT * self.duration
            object.__setattr__(self, "events", moved(self.events, lambda t: snapped(t, edges, same)))

    def _apart(self, instants: Array) -> Array:
        """The instants in order; of those at the same instant the later one: by then every piece has begun."""
        instants = np.sort(instants)
        return instants[np.diff(instants, append=np.inf) > SAME_INSTANT * self.duration]

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """(q, qd, qdd) at the instants ``t``, which must lie between 0 and the duration."""
        at = double("t", t)
        slack = 1e-9 * self.duration
        if at.size and not (at.min() >= -slack and at.max() <= self.duration + slack):
            raise DalembertError(
                f"the motion is known from 0 to {self.duration:g} s, not at t = "
                f"{at.min() if at.min() < -slack else at.max():g} s"
            )
        flat = np.clip(at.reshape(-1), 0.0, self.duration)
        q, qd, qdd = (np.asarray(x).reshape(*at.shape, self.n) for x in self.evaluate(flat))
        return q, qd, qdd

    @cached_property
    def breaks(self) -> Array:
        """The instants at which any derivative may jump: the knots, and where the pieces of a spline meet."""
        pieces = np.asarray(getattr(self.evaluate, "breaks", ()), float).ravel()
        return self._apart(np.concatenate([np.array(self.knots, float), pieces]))

    @cached_property
    def moves(self) -> tuple[list[Move], list[Stop]]:
        """Its stretches from rest to rest, and the stops between them: what :meth:`time_optimal` works on."""
        return handed_on(HANDS_ON, "moves")(self)

    # -- at the sample instants ------------------------------------------------------------------

    @cached_property
    def t(self) -> Array:
        """The sample instants: (N,), knots among them."""
        if self.sampled_at is not None:
            return self.sampled_at
        knots = np.array([k for k in self.knots if 0 < k < self.duration])
        instants = np.asarray(getattr(self.evaluate, "instants", np.linspace(0.0, self.duration, SAMPLES)))
        if not len(knots):
            return instants
        after = np.clip(np.searchsorted(knots, instants), 0, len(knots) - 1)
        distance = np.minimum(np.abs(knots[after] - instants), np.abs(knots[np.maximum(after - 1, 0)] - instants))
        apart = distance > max(SAME_INSTANT * self.duration, NEAR * self.duration / len(instants))
        apart[[0, -1]] = True
        return np.sort(np.concatenate([instants[apart], knots]))

    @cached_property
    def _samples(self) -> tuple[Array, Array, Array]:
        return self(self.t)

    @property
    def q(self) -> Array:
        """Positions at the sample instants: (N, n)."""
        return self._samples[0]

    @property
    def qd(self) -> Array:
        """Velocities at the sample instants: (N, n)."""
        return self._samples[1]

    @property
    def qdd(self) -> Array:
        """Accelerations at the sample instants: (N, n)."""
        return self._samples[2]

    # -- other motions made of it ------------------------------------------------------------------

    def __add__(self, other: Trajectory) -> Trajectory:
        """This motion and then the ``other``, which must begin where this one ends, as fast as it ends.

        Nothing is resampled: values, knots, sample instants and events are those of both. :func:`dalembert.join` joins
        thousands of motions in one step.

        >>> import dalembert as da
        >>> there = da.trapezoidal([0, 0], [1, 0.5], acceleration_time=0.2, max_velocity=2.0)
        >>> cycle = there.hold(0.3) + there.reversed()
        >>> round(cycle.duration, 9), cycle(cycle.duration)[0]
        (1.7, array([0., 0.]))
        """
        if not isinstance(other, Trajectory):
            return NotImplemented
        return handed_on(HANDS_ON, "__add__")(self, other)

    def __radd__(self, other: object) -> Trajectory:
        """The motion itself for 0 + motion, with which ``sum([…])`` begins."""
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented

    def hold(self, duration: float) -> Trajectory:
        """The motion, and then a rest of ``duration`` (s) where it ends; it must end at rest.

        :meth:`time_optimal` keeps the length of a rest; :meth:`scaled` stretches it with everything else, as S (7.119) with
        r = ct does.

        >>> import dalembert as da
        >>> da.polynomial([0.0], [1.0], 1.0).hold(0.25)(1.2)
        (array([1.]), array([0.]), array([0.]))
        """
        return handed_on(HANDS_ON, "hold")(self, duration)

    def reversed(self) -> Trajectory:
        """The motion run backwards: q(T − t), −q̇(T − t), q̈(T − t); its events are mirrored.

        >>> import dalembert as da
        >>> da.polynomial([0.0], [1.0], 1.0).reversed()(0.0)[0]
        array([1.])
        """
        return handed_on(HANDS_ON, "reversed")(self)

    def repeated(self, times: int) -> Trajectory:
        """The motion so many ``times`` one after the other; it must end where it begins.

        >>> import dalembert as da
        >>> there = da.polynomial([0.0], [1.0], 1.0)
        >>> (there + there.reversed()).repeated(3).duration
        6.0
        """
        return handed_on(HANDS_ON, "repeated")(self, times)

    def with_payload(
        self,
        mass: float | Inertia,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        *,
        start: float | None = None,
        end: float | None = None,
    ) -> Trajectory:
        """The motion with a body held at the tip, all along or from ``start`` to ``end`` (s).

        mass     in kg, or a :class:`dalembert.Inertia` in the tip's frame
        com      its centre of mass in the tip's frame (m)
        inertia  (3, 3) about the centre of mass (kg m²); without it the body is a point
        Returns  the motion with one more of ``events``: the body is held in addition to the arm's own payload and to those
                 of other events. The arm takes it up and lets go of it without a shock: it has the tip's velocity there

        >>> import dalembert as da
        >>> lift = da.polynomial([0.0, 0.0], [0.5, 0.3], 1.0).with_payload(10.0, com=(0, 0, 0.05), start=0.4)
        >>> print(lift.events[0])
        payload of 10 kg from 0.4 to 1 s
        >>> lift.torques(da.load("planar-2r"), [0.39, 0.4]).round(0)
        array([[1192.,  318.],
               [1394.,  420.]])
        """
        return handed_on(HANDS_ON, "with_payload")(self, mass, com, inertia, start, end)

    def with_tip_wrench(self, wrench: ArrayLike, *, start: float | None = None, end: float | None = None) -> Trajectory:
        """The motion with a constant wrench at the tip, all along or from ``start`` to ``end`` (s).

        wrench   (6,) [fx, fy, fz, mx, my, mz] (N, N m) exerted by the tip on its environment, in base axes
        Returns  the motion with one more of ``events``; wrenches of several events add up

        >>> import dalembert as da
        >>> press = da.polynomial([0.0, 0.0], [0.5, 0.3], 1.0).with_tip_wrench([0, -50, 0, 0, 0, 0], start=0.8)
        >>> press.events[0].wrench
        (0.0, -50.0, 0.0, 0.0, 0.0, 0.0)
        """
        return handed_on(HANDS_ON, "with_tip_wrench")(self, wrench, start, end)

    # -- what it asks of an arm ------------------------------------------------------------------

    @cached_property
    def loads(self) -> LoadTable:
        """What acts at the tip along the motion, by its events: ``loads.at(t)`` gives payload (…, 10) and wrench (…, 6)."""
        return LoadTable(self.events, self.duration)

    def torques(self, arm: Arm, t: ArrayLike | None = None, *, tip_wrench: ArrayLike | None = None) -> Array:
        """The torques (N m or N) of ``arm`` at the instants ``t``, at ``.t`` unless given: (…, n), all events counted.

        tip_wrench  (6,) or (…, 6), in addition to what the events exert

        >>> import dalembert as da
        >>> motion = da.polynomial([0.0, 0.0], [0.5, 0.3], 1.0)
        >>> motion.torques(da.load("planar-2r")).shape
        (501, 2)
        """
        return handed_on(HANDS_ON, "torques")(self, arm, t, tip_wrench)

    def fits(self, arm: Arm) -> None:
        """A sentence if ``arm`` is none, or has another number of joints."""
        if not isinstance(arm, Arm):
            raise DalembertError(f"the arm is given as {arm!r}; it must be an Arm, such as da.load('panda') gives")
        if arm.n != self.n:
            raise ShapeError(f"the motion has {self.n} joints, but arm '{arm.name}' has {arm.n}")

    def limits_report(
        self, arm: Arm, *, torque: bool = False, tip_wrench: ArrayLike | None = None
    ) -> list[LimitExcess]:
        """Every limit of ``arm`` that the motion exceeds, with its worst instant; empty when all is well.

        Positions, velocities and accelerations are compared where the robot has limits for them;
        with ``torque`` the torques too (``tip_wrench`` as in :meth:`dalembert.Arm.inverse_dynamics`).

        >>> import dalembert as da
        >>> fast = da.triangular([0.0, 0.0], [3.0, 3.0], duration=0.3)
        >>> print(fast.limits_report(da.load("planar-2r"))[0])
        joint 'joint1': velocity 20 rad/s at t = 0.15 s is above its limit of 15 rad/s
        """
        return handed_on(HANDS_ON, "limits_report")(self, arm, torque, tip_wrench)

    def check_limits(self, arm: Arm, *, torque: bool = False, tip_wrench: ArrayLike | None = None) -> None:
        """An error that names the first joint, value, limit and instant of :meth:`limits_report`."""
        report = self.limits_report(arm, torque=torque, tip_wrench=tip_wrench)
        if report:
            more = f" (and {len(report) - 1} more)" if len(report) > 1 else ""
            raise DalembertError(f"{report[0]}{more}")

    # -- other timings of the same path --------------------------------------------------------------

    def retimed(self, law: Any, duration: float | None = None) -> Trajectory:
        """The motion q(t) = q̄(r(t)) along the same path, under a time law r(t) of your own: S (7.119)–(7.121).

        law       strictly increasing, from r(0) = 0 to the duration of this motion: a function of an array of instants
                  that gives r, or r, ṙ and r̈ (from r alone, written with NumPy's functions, they follow exactly); a
                  Trajectory of one coordinate; or samples (N,) of r at equal steps, through which a cubic spline goes
        duration  when r(t) arrives (s); a Trajectory has its own
        Returns   the motion; its ``.scaling`` gives (r, ṙ, r̈) at any t, and ``.scaling.torques(arm, t)`` the torques
                  by S (7.126), without inverse dynamics of the new motion

        >>> import numpy as np, dalembert as da
        >>> motion = da.triangular([0.0, 0.0], [1.0, -2.0], duration=2.0)
        >>> gentle = motion.retimed(lambda t: t - np.sin(np.pi * t) / np.pi, duration=2.0)
        >>> gentle(1.0)[1], gentle(2.0)[0]
        (array([ 2., -4.]), array([ 1., -2.]))
        """
        return handed_on(HANDS_ON, "retimed")(self, law, duration)

    def scaled(self, arm: Arm, limits: LimitsLike = None, *, allow_faster: bool = False) -> Trajectory:
        """The same motion, slowed down evenly until no limit of ``arm`` is exceeded: S 7.7, r = ct.

        limits        the arm's own unless given: :class:`Limits` for each joint, or a dict such as
                      {"effort": [87, 87, 12], "velocity": 2.0}
        allow_faster  speed it up, too, where the limits leave room
        Returns       the motion; its ``.scaling`` names the joint, the instant, c and both durations

        >>> import dalembert as da
        >>> fast = da.triangular([0.0, 0.0], [3.0, 3.0], duration=0.3)
        >>> print(fast.scaled(da.load("planar-2r")).scaling)
        slowed down by c = 2.48167, from 0.3 to 0.744502 s: the effort limit of joint 'joint1' at t = 0.15 s decides
        """
        return handed_on(HANDS_ON, "scaled")(self, arm, limits, allow_faster)

    def scaling_table(
        self, arm: Arm, factors: ArrayLike = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0), limits: LimitsLike = None
    ) -> ScalingTable:
        """Peak torques (N m or N) and shares of the limits with time stretched by each of ``factors``: S 7.7, r = ct.

        factors  numbers c above zero, c > 1 being slower; the one that just keeps every limit is added to them
        limits   as for :meth:`scaled`
        Returns  the table, which prints; ``.factor .duration .torque .share .exceeded .decides .fits``

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
        * c = 2.48167 just keeps every limit
        """
        return handed_on(HANDS_ON, "scaling_table")(self, arm, factors, limits)

    def time_optimal(
        self, arm: Arm, limits: LimitsLike = None, *, grid: int = 1000, duration: float | None = None
    ) -> Trajectory:
        """The same path from rest to rest in the least time that the limits of ``arm`` allow.

        limits    as for :meth:`scaled`; torque (viscous and Coulomb friction counted), velocity, acceleration
        grid      at least about this many intervals along the path
        duration  a time to take instead of the least, in s
        Returns   the motion; its ``.scaling`` has both durations, the rates along the path, the active limits and
                  the stops: the motion stops at corners of its path and where it dwells, nowhere else

        >>> import dalembert as da
        >>> slow = da.triangular([0.0, 0.0], [3.0, 3.0], duration=3.0)
        >>> slow.time_optimal(da.load("planar-2r")).duration < 0.61
        True
        """
        return handed_on(HANDS_ON, "time_optimal")(self, arm, limits, grid, duration)

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
        """Write a CSV file: t (s), q1 …, qd1 …, qdd1 … (rad, m), and tau1 … (N m, N) if ``arm`` is given.

        rate  samples a second, evenly spaced. Unless it is given, rows are at the sample instants ``.t``, and where
              accelerations or loads jump there are two: before and after. The end is always written
        The file is written whole or not at all, every number to the last bit.
        """
        handed_on(HANDS_ON, "save")(self, path, arm, tip_wrench, rate, overwrite)

    # -- seeing it -------------------------------------------------------------------------------

    def plot(self, arm: Arm | None = None) -> Figure:
        """A matplotlib Figure: positions, velocities and accelerations over time; with ``arm`` its torques too.

        >>> import dalembert as da
        >>> motion = da.triangular([0.0, 0.0], [1.0, -2.0], duration=2.0)
        >>> [axes.get_title("left") for axes in motion.plot(da.load("planar-2r")).axes]
        ['Position (rad)', 'Velocity (rad/s)', 'Acceleration (rad/s²)', 'Torque (N m)']
        """
        return handed_on(HANDS_ON, "plot")(self, arm)

    def animate(
        self,
        path: str | os.PathLike[str],
        arm: Arm,
        *,
        speed: float = 1.0,
        fps: float = 25.0,
        overwrite: bool = False,
    ) -> None:
        """Write the moving ``arm`` as ``.gif``, ``.mp4`` or ``.html``; ``speed`` and ``fps`` as in ``run.animate``."""
        handed_on(HANDS_ON, "animate")(self, path, arm, speed, fps, overwrite)

    def _repr_html_(self) -> str:
        return handed_on(HANDS_ON, "_repr_html_")(self)
