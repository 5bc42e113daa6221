"""A study: one arm, one motion, and all results of a report on them, computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.arm.terms import TorqueTerms
from dalembert.base.arrays import Array
from dalembert.base.deprecation import warn_of_resume
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.progress import OfFraction as Progress
from dalembert.base.environment.progress import reporting
from dalembert.base.environment.short_repr import brief
from dalembert.errors import DalembertError
from dalembert.work.analysis.ellipsoid import Ellipsoid, dynamic_manipulability
from dalembert.work.sizing.monte_carlo import MonteCarlo, Tolerances, monte_carlo
from dalembert.work.sizing.motion_samples import Motion, MotionSamples, samples_of
from dalembert.work.sizing.sizing import Sizing, loads, size, without_effort_limit
from dalembert.work.trajectory.planning.events import Event, events_of
from dalembert.work.trajectory.planning.trajectory import Trajectory

Place = Callable[..., str]  # of panels under a name, in a section about a motion: (panels, name, **look) → HTML
MOST = 1001  # largest number of samples that are drawn and offered for download


@brief
@dataclass(frozen=True, eq=False)
class Study:
    """An arm, a motion, and the results; created by :func:`study`.

    at      the motion at every sample, twice where it jumps; ``torque`` (N, n) there
    rows    the samples that are drawn: all of them, or ``MOST`` and the peaks; ``shown`` is the motion there, and
            ``terms`` the torque in its parts
    """

    arm: Arm
    motion: Any
    title: str
    note: str
    tip_wrench: tuple[float, ...] | None
    at: MotionSamples
    torque: Array
    rows: NDArray[np.intp]
    tolerances: Tolerances | None = None

    @cached_property
    def shown(self) -> MotionSamples:
        """The motion at the drawn samples."""
        return self.at.rows(self.rows)

    @property
    def shown_torque(self) -> Array:
        """The torques at the drawn samples."""
        return self.torque[self.rows]

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The payloads and wrenches at the tip with their time intervals, on the clock of ``at``."""
        if isinstance(self.motion, Trajectory):
            return self.motion.events
        return events_of(self.at.t, self.at.payload, self.at.wrench)

    @cached_property
    def terms(self) -> TorqueTerms:
        """The torque in its parts, at the drawn samples."""
        at = self.shown
        return at.model(self.arm).torque_terms(at.q, at.qd, at.qdd, at.push(self.tip_wrench))

    @cached_property
    def causes(self) -> dict[str, Array]:
        """Every nonzero contribution, summed over the joints that cause it: name → (N, n)."""
        noise = 1e-9 * np.abs(self.shown_torque).max(initial=0.0)
        return {name: x for name, x in self.terms.by_joint.items() if np.abs(x).max(initial=0.0) > noise}

    @cached_property
    def reactions(self) -> Array:
        """For closed chains: force and moment at every loop closure, (N, loops, 6) in base axes, at the drawn samples."""
        at = self.shown
        return at.model(self.arm).loop_wrenches(at.q, at.qd, at.qdd, at.push(self.tip_wrench))

    @cached_property
    def sizing(self) -> Sizing:
        """The requirements of the motion on joints, motors and bearings."""
        return size(self.arm, self.at, self.tip_wrench)

    @cached_property
    def drawn(self) -> MonteCarlo | None:
        """The torques of robots within the tolerances; None if none are given."""
        if self.tolerances is None:
            return None
        return monte_carlo(self.arm, self.at, self.tolerances, tip_wrench=self.tip_wrench)

    @cached_property
    def tip(self) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration of the tip in base axes, (N, 3) each, at the drawn samples."""
        q, qd, qdd = self.shown.q, self.shown.qd, self.shown.qdd
        J, Jd = self.arm.jacobian(q)[:, :3], self.arm.jacobian_derivative(q, qd)[:, :3]
        velocity = np.einsum("tij,tj->ti", J, qd)
        acceleration = np.einsum("tij,tj->ti", J, qdd) + np.einsum("tij,tj->ti", Jd, qd)
        return self.arm.pose(q)[:, :3, 3], velocity, acceleration

    @cached_property
    def ellipsoids(self) -> Ellipsoid | str:
        """The dynamic manipulability ellipsoid at every drawn pose, S (7.149), for torques within the joints' limits
        (of 1 if these are unknown); or a sentence that explains why there is none."""
        limits = None if self.without_effort_limit else "arm"
        try:
            shapes = dynamic_manipulability(self.arm, self.shown.q, limits, redundancy="exact")
        except DalembertError as error:
            return str(error)
        lost = ~(np.isfinite(shapes.radii).all(axis=-1) & np.isfinite(shapes.center).all(axis=-1))
        if lost.any():
            t = float(self.shown.t[np.argmax(lost)])
            return f"the inertia matrix at t = {t:g} s cannot be inverted in float64: its masses differ too much"
        return shapes

    # -- scaling -------------------------------------------------------------------

    @property
    def without_effort_limit(self) -> list[str]:
        """The joints whose effort limit is unknown."""
        return without_effort_limit(self.arm)

    @cached_property
    def scaled(self) -> dict[str, Study | str]:
        """The motion scaled uniformly until it reaches the limits, S 7.7, and the same path in minimum time; or why not."""
        makes: dict[str, Callable[[Trajectory], Trajectory]] = {
            "uniformly scaled": lambda motion: motion.scaled(self.arm, allow_faster=True),
            "time-optimal": lambda motion: motion.time_optimal(self.arm),
        }
        return {name: self._scaled(name, make) for name, make in makes.items()}

    def _scaled(self, name: str, make: Callable[[Trajectory], Trajectory]) -> Study | str:
        try:
            if self.without_effort_limit:
                raise DalembertError(f"effort limits are missing at {', '.join(self.without_effort_limit)}")
            if self.tip_wrench is not None:
                raise DalembertError("scaling does not support a force at the tip")
            return study(self.arm, make(self.trajectory), title=name)
        except DalembertError as error:
            return str(error)

    @property
    def paces(self) -> dict[str, Study]:
        """The motion as given, and scaled as far as possible."""
        return {"as given": self} | {name: x for name, x in self.scaled.items() if isinstance(x, Study)}

    @cached_property
    def trajectory(self) -> Trajectory:
        """The motion at any time; between the rows of a table by quintic interpolation."""
        if isinstance(self.motion, Trajectory):
            return self.motion
        from dalembert.work.trajectory.planning.motion_file import MotionTable, trajectory_of

        at = self.at
        if (np.diff(at.t) < 0).any():
            raise DalembertError("the times of the motion must not decrease")
        return trajectory_of(self.title, MotionTable(at.t, at.q, at.qd, at.qdd, payload=at.payload, wrench=at.wrench))


def study(
    arm: Arm,
    motion: Motion,
    *,
    title: str = "",
    note: str = "",
    tip_wrench: tuple[float, ...] | None = None,
    tolerances: Tolerances | Mapping[str, Any] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Study:
    """The results of a report on a motion of an arm, computed once.

    motion      a Trajectory, or anything with .t (N,), .q, .qd, .qdd (N, n)
    title, note one line and one paragraph about the motion, shown in the report
    tip_wrench  constant [fx fy fz mx my mz] exerted by the tip on its environment, in base axes
    tolerances  of masses, friction and payload, as for :func:`dalembert.monte_carlo`: margins are given with quantiles
    resume      deprecated since version 1.1, without effect

    >>> import dalembert as da
    >>> swing = study(da.load("pendulum"), da.polynomial([0.0], [1.0], 1.0), title="Swing")
    >>> swing.title, swing.sizing.duration
    ('Swing', 1.0)
    """
    warn_of_resume(resume)
    at = samples_of(arm, motion)
    wrench = None if tip_wrench is None else tuple(float(x) for x in tip_wrench)
    within = None if tolerances is None else Tolerances.of(tolerances)
    tau, _, _ = loads(arm, at, wrench, reporting(progress))
    return Study(arm, motion, title or "Motion", note, wrench, at, tau, _drawn(tau), within)


def _drawn(tau: Array) -> NDArray[np.intp]:
    """The samples that are drawn: evenly spaced, and the extremes of every torque."""
    count = len(tau)
    if count <= MOST + 64:
        return np.arange(count)
    extremes = np.concatenate([tau.argmax(axis=0), tau.argmin(axis=0)])
    return np.unique(np.concatenate([np.linspace(0, count - 1, MOST).round().astype(np.intp), extremes]))
