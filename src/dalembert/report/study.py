"""A study: one arm, one motion, and everything a report says about them, computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.analysis.ellipsoid import Ellipsoid, dynamic_manipulability
from dalembert.analysis.monte_carlo import MonteCarlo, Tolerances, monte_carlo
from dalembert.analysis.motion_samples import Motion, MotionSamples, check_fits, samples
from dalembert.analysis.omissions import Omissions
from dalembert.analysis.sizing import Sizing, loads, size, without_effort_limit
from dalembert.arm import Arm
from dalembert.arm.terms import TorqueTerms
from dalembert.environment.brief import brief
from dalembert.errors import DalembertError
from dalembert.trajectory.events import Event, events_of
from dalembert.trajectory.trajectory import Trajectory

Array = NDArray[np.floating[Any]]
Progress = Callable[[float], None]

MOST = 1001  # instants that are drawn and offered for download; more are thinned out
NEGLIGIBLE = 0.01  # of a joint's RMS torque


@brief
@dataclass(frozen=True, eq=False)
class Study:
    """An arm, a motion, and what follows; make one with :func:`study`.

    at      the motion at every instant, twice where it jumps; ``torque`` (N, n) there
    rows    the instants that are drawn: all of them, or ``MOST`` and the peaks; ``shown`` is the
            motion there, and ``terms`` the torque in its parts
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

    @property
    def thinned(self) -> bool:
        """Whether fewer instants are drawn than there are."""
        return len(self.rows) < len(self.at.t)

    @cached_property
    def shown(self) -> MotionSamples:
        """The motion at the instants that are drawn."""
        return self.at.rows(self.rows)

    @property
    def shown_torque(self) -> Array:
        """The torques at the instants that are drawn."""
        return self.torque[self.rows]

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """What the tip carries and exerts, and from when to when, on the clock of ``at``."""
        if isinstance(self.motion, Trajectory):
            return self.motion.events
        return events_of(self.at.t, self.at.payload, self.at.wrench)

    @cached_property
    def terms(self) -> TorqueTerms:
        """The torque in its parts, at the instants that are drawn."""
        at = self.shown
        return at.model(self.arm).torque_terms(at.q, at.qd, at.qdd, at.push(self.tip_wrench))

    @cached_property
    def causes(self) -> dict[str, Array]:
        """Every cause that is there at all, summed over joints that cause it: name → (N, n)."""
        noise = 1e-9 * np.abs(self.shown_torque).max(initial=0.0)
        return {name: x for name, x in self.terms.by_joint.items() if np.abs(x).max(initial=0.0) > noise}

    @cached_property
    def split(self) -> dict[str, Array]:
        """D^rot q̈, D^tran q̈, h^rot and h^tran of M (4.1) at the instants that are drawn: name → (N, n)."""
        model = self.shown.model(self.arm)
        at, qdd = model.dalembert(self.shown.q, self.shown.qd), self.shown.qdd[..., None]
        D = {"D_rot": (at.D_rot @ qdd)[..., 0], "D_tran": (at.D_tran @ qdd)[..., 0]}
        return D | {"h_rot": at.h_rot, "h_tran": at.h_tran}

    @cached_property
    def reactions(self) -> Array:
        """Of closed chains: force and moment at every cut, (N, loops, 6) in base axes, where drawn."""
        at = self.shown
        return at.model(self.arm).loop_wrenches(at.q, at.qd, at.qdd, at.push(self.tip_wrench))

    @cached_property
    def sizing(self) -> Sizing:
        """What the motion asks of joints, motors and bearings."""
        return size(self.arm, self.at, self.tip_wrench)

    @cached_property
    def drawn(self) -> MonteCarlo | None:
        """The torques of robots within the tolerances; None where none are given."""
        if self.tolerances is None:
            return None
        return monte_carlo(self.arm, self.at, self.tolerances, tip_wrench=self.tip_wrench)

    @cached_property
    def tip(self) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration of the tip in base axes, (N, 3) each, where drawn."""
        q, qd, qdd = self.shown.q, self.shown.qd, self.shown.qdd
        J, Jd = self.arm.jacobian(q)[:, :3], self.arm.jacobian_derivative(q, qd)[:, :3]
        velocity = np.einsum("tij,tj->ti", J, qd)
        acceleration = np.einsum("tij,tj->ti", J, qdd) + np.einsum("tij,tj->ti", Jd, qd)
        return self.arm.pose(q)[:, :3, 3], velocity, acceleration

    @cached_property
    def ellipsoids(self) -> Ellipsoid | str:
        """What the tip can be accelerated with from rest at every pose that is drawn, S (7.149), by torques within the
        joints' limits (of 1 where they are not known); or, in a sentence, why there is no telling."""
        limits = None if self.without_effort_limit else "arm"
        try:
            shapes = dynamic_manipulability(self.arm, self.shown.q, limits, redundancy="exact")
        except DalembertError as error:
            return str(error)
        lost = ~(np.isfinite(shapes.radii).all(axis=-1) & np.isfinite(shapes.center).all(axis=-1))
        if lost.any():
            t = float(self.shown.t[np.argmax(lost)])
            return f"the inertia matrix at t = {t:g} s cannot be inverted in float64, its masses lie so far apart"
        return shapes

    @cached_property
    def omissions(self) -> Omissions:
        """What approximate models would leave out along the motion, and what they would save."""
        further: dict[tuple[str, ...], Arm] = {
            ("small parameters",): self.arm.approximate(small=NEGLIGIBLE, motion=self.at)
        }
        return self.arm.omissions(self.at, self.tip_wrench, further)

    # -- what scaling would do -------------------------------------------------------------------

    @property
    def without_effort_limit(self) -> list[str]:
        """The joints whose effort limit is not known."""
        return without_effort_limit(self.arm)

    @cached_property
    def evenly(self) -> Variant:
        """The motion at the even pace that uses the limits up, S 7.7."""
        return self._variant("evenly scaled", lambda motion: motion.scaled(self.arm, allow_faster=True))

    @cached_property
    def fastest(self) -> Variant:
        """The same path in the least time."""
        return self._variant("time-optimal", lambda motion: motion.time_optimal(self.arm))

    def _variant(self, name: str, make: Callable[[Any], Any]) -> Variant:
        try:
            if self.without_effort_limit:
                raise DalembertError(f"limits missing at {', '.join(self.without_effort_limit)}")
            if self.tip_wrench is not None:
                raise DalembertError("scaling counts no force at the tip")
            return Variant(name, study(self.arm, make(self.trajectory), title=name))
        except DalembertError as error:
            return Variant(name, None, str(error))

    @cached_property
    def trajectory(self) -> Trajectory:
        """The motion at every instant; between the rows of a table by quintic pieces."""
        if isinstance(self.motion, Trajectory):
            return self.motion
        from dalembert.trajectory.hermite import Hermite

        at = self.at
        again = (np.diff(at.t, append=np.inf) == 0) & (np.diff(at.q, axis=0, append=np.inf) == 0).all(axis=1)
        at = at.rows(~again)  # without what only shows that something else is carried from now on
        t = at.t - at.t[0]
        if len(t) < 2 or not (np.diff(t) > 0).all():
            raise DalembertError("the motion's instants must all differ")
        return Trajectory(
            float(t[-1]), self.arm.n, Hermite(t, np.array([at.q, at.qd, at.qdd])), sampled_at=t,
            events=events_of(t, at.payload, at.wrench),
        )  # fmt: skip


@brief
@dataclass(frozen=True, eq=False)
class Variant:
    """The motion at another pace; or, in a sentence, why there is none."""

    name: str
    study: Study | None
    why_not: str = ""


def study(
    arm: Arm,
    motion: Motion,
    *,
    title: str = "",
    note: str = "",
    tip_wrench: tuple[float, ...] | None = None,
    tolerances: Tolerances | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Study:
    """Compute what a report says about a motion of an arm.

    motion      a Trajectory, or anything with .t (N,), .q, .qd, .qdd (N, n)
    title, note one line and one paragraph about the motion, for its reader
    tip_wrench  constant [fx fy fz mx my mz] by the tip on its environment, in base axes
    tolerances  of masses, friction and payload, as for :func:`dalembert.monte_carlo`: margins are given with quantiles

    >>> import dalembert as da
    >>> swing = study(da.load("pendulum"), da.polynomial([0.0], [1.0], 1.0), title="Swing")
    >>> swing.title, swing.sizing.duration
    ('Swing', 1.0)
    """
    at = samples(motion)
    check_fits(arm, at)
    wrench = None if tip_wrench is None else tuple(float(x) for x in tip_wrench)
    within = None if tolerances is None else Tolerances.of(tolerances)
    tau, _, _ = loads(arm, at, wrench, progress)
    return Study(arm, motion, title or "Motion", note, wrench, at, tau, _drawn(tau), within)


def _drawn(tau: Array) -> NDArray[np.intp]:
    """The instants that are drawn: evenly spread, and the extremes of every torque."""
    count = len(tau)
    if count <= MOST + 64:
        return np.arange(count)
    extremes = np.concatenate([tau.argmax(axis=0), tau.argmin(axis=0)])
    return np.unique(np.concatenate([np.linspace(0, count - 1, MOST).round().astype(np.intp), extremes]))
