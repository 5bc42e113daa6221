"""Exciting trajectories: motions that determine an arm's parameters best, S 7.4.

A motion is a finite Fourier series, repeated over whole periods, or a spline; both start and end at rest. A criterion
(:mod:`exciting_problem`) is optimised under limits on positions, velocities,
accelerations and torques, with a clearance from the floor and other planes (:mod:`exciting_limits`). After a fit, the
motion is the one that most reduces the uncertainty of the quantities named by a goal (:mod:`exciting_goals`).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.deprecation import warn_of_resume
from dalembert.base.environment.cluster import connected, spread
from dalembert.base.environment.short_repr import record
from dalembert.base.environment.signals import Terminated
from dalembert.base.options import check, documented_by
from dalembert.base.per_joint import per_joint
from dalembert.compiler.kernel.one_thread import one_thread
from dalembert.errors import ClosureError, DalembertError
from dalembert.work.excitation.exciting_goals import Aim, Forecast, aim_of, forecast, weights_of
from dalembert.work.excitation.exciting_limits import Limited, planes_of
from dalembert.work.excitation.exciting_options import CRITERIA, ExcitationOptions
from dalembert.work.excitation.exciting_problem import ExcitationProblem, FourierShapes, Shapes, SplineShapes
from dalembert.work.fits.fit_record import FitRecord, as_record
from dalembert.work.identification.fitting.base_parameters import BaseParameters, base_parameters
from dalembert.work.identification.fitting.parameter_set import FRICTION, ParameterSet, has_rotors
from dalembert.work.identification.fitting.result import Identification
from dalembert.work.logs.scipy_package import scipy
from dalembert.work.trajectory.planning.motion_checks import positive
from dalembert.work.trajectory.planning.motion_file import motion_columns
from dalembert.work.trajectory.planning.motion_tables import write
from dalembert.work.trajectory.planning.trajectory import Trajectory

Progress = Callable[[float, float], None]

PERIOD = 10.0  # s: approximate period if no base frequency is given
POWERS = (1.0, 2.0, 4.0, 8.0, 16.0)  # p of the smooth condition number in successive rounds
ROUNDS = 3  # rounds for every start; the best one continues through the remaining rounds
LAST = 3  # additional rounds with the largest p
STEPS = 200  # optimiser steps per round
STIFF = 300.0  # initial ρ of the limits; doubled in every round
MISMATCH = 30.0  # times the scaled condition number: a larger condition number only reflects the units
FAR = 1e6  # objective of a motion whose loops cannot be closed


@record
class Excitation:
    """A motion for identification, and how well it determines the base parameters.

    trajectory        the :class:`~dalembert.Trajectory`, at rest at both ends, within all limits
    criterion         the criterion that was optimised, and ``value``, its result
    condition         condition number of Ȳ_b in SI units; ``condition_scaled`` with columns of length one
    log_det           log det of Ȳ_bᵀȲ_b / N
    base              the base parameters that correspond to the columns of Ȳ_b
    coefficients      (2, n, L) sine and cosine amplitudes, ``offset`` (n,), ``base_frequency`` (Hz); for a spline
                      (n, points + 6) control points relative to the offset, and no base frequency
    history           best value after every round
    forecast          after a fit, the standard deviations of the quantities in the goal, before and after this motion
    seconds           duration of the search; interrupted: whether Ctrl-C ended it early
    """

    arm: Arm
    trajectory: Trajectory
    criterion: str
    condition: float
    condition_scaled: float
    log_det: float
    base: BaseParameters
    coefficients: Array
    offset: Array
    base_frequency: float | None
    history: tuple[float, ...]
    seconds: float
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    forecast: Forecast | None = None

    @property
    def value(self) -> float:
        """The value of the criterion: a condition number, log det, or the measure of the goal."""
        variance = math.nan if self.forecast is None else self.forecast.value_after
        return (self.condition, self.condition_scaled, self.log_det, variance)[CRITERIA.index(self.criterion)]

    def save(self, path: str | os.PathLike[str], *, rate: float = 100.0, overwrite: bool = True) -> None:
        """Write the motion as .csv, .npz or .parquet: t, q, qd, qdd, and the torques predicted by the arm's model.

        After a fit, comment lines before the header of a text file, which begin with #, state the goal and the forecast.
        """
        names, columns = motion_columns(self.trajectory, self.arm, rate=rate)
        comments = () if self.forecast is None else self.forecast.lines
        write(path, names, columns, overwrite=overwrite, comments=comments)


@documented_by(ExcitationOptions)
def excite(
    arm: Arm,
    *,
    duration: float = 30.0,
    shape: str = "fourier",
    harmonics: int = 5,
    points: int | None = None,
    base_frequency: float | None = None,
    criterion: str | None = None,
    after: Identification | FitRecord | str | os.PathLike[str] | None = None,
    goal: str | Trajectory | None = None,
    friction: Sequence[str] = FRICTION,
    torque_offset: bool = True,
    rotor: bool | None = None,
    clearance: float | None = 0.1,
    floor: bool = True,
    planes: Sequence[Any] = (),
    share: float = 1.0,
    start: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    starts: int = 4,
    seed: int = 0,
    progress: Progress | None = None,
    cluster: Any = None,
    resume: bool = False,
) -> Excitation:
    """A motion within the limits of ``arm`` that determines its base parameters best.

    progress        called with the fraction done and the best value so far

    Ctrl-C ends the search with the best motion so far.

    >>> import dalembert as da
    >>> found = excite(da.load("pendulum"), duration=10.0, harmonics=3, clearance=None, starts=1)
    >>> found.condition < 50, found.trajectory.limits_report(da.load("pendulum"), torque=True)
    (True, [])
    """
    warn_of_resume(resume)
    began = time.monotonic()
    options = ExcitationOptions(
        duration, shape, harmonics, points, base_frequency, criterion, after, goal, friction, torque_offset, rotor,
        clearance, floor, planes, share, start, noise, starts, seed, cluster, resume,
    )  # fmt: skip
    problem = _posed(arm, options)
    interrupted = False
    search = Search(problem, starts, seed, progress)
    try:
        with one_thread():
            search.run(cluster)
    except Terminated:
        raise
    except KeyboardInterrupt:
        if search.best is None:
            raise
        interrupted = True
    assert search.best is not None
    coefficients, centre = problem.written(search.best)
    shapes, notes, aim = problem.shapes, problem.limits.notes, problem.aim
    condition, scaled, log_det = problem.measured(search.best)
    if problem.criterion == "condition" and condition > MISMATCH * scaled:
        notes.append(
            f"the condition number, {condition:.3g}, mostly reflects columns of different size ({scaled:.3g} with columns "
            "of length one): 'scaled-condition' or 'd-optimal' is the better criterion for this arm"
        )
    return Excitation(
        arm, shapes.trajectory(coefficients, centre), problem.criterion, condition, scaled, log_det, problem.base, coefficients, centre,
        getattr(shapes, "f", None), tuple(search.history), time.monotonic() - began, interrupted, tuple(notes),
        None if aim is None else forecast(aim, problem.gained(problem.along(search.best))),
    )  # fmt: skip


def _posed(arm: Arm, given: ExcitationOptions) -> ExcitationProblem:
    """The problem that the options pose."""
    criterion = given.optimised
    check(given)
    given.check_together()
    (duration,) = positive("duration", given.duration, 1)
    if given.shape == "fourier":
        f, periods = _frequency(float(duration), given.base_frequency)
        shapes: Shapes = FourierShapes(f, given.harmonics, periods)
    else:
        shapes = SplineShapes(float(duration), given.points or max(3, round(float(duration))))
    aim: Aim | None = None
    if given.after is None:
        rotor = has_rotors(arm) if given.rotor is None else given.rotor
        base = base_parameters(ParameterSet(arm, tuple(given.friction), offset=given.torque_offset, rotor=rotor))
        weights = np.ones(arm.n) if given.noise is None else 1.0 / positive("noise", given.noise, arm.n)
    else:
        record = as_record(given.after)
        base, weights = record.base(arm), weights_of(record)
        aim = aim_of("parameters" if given.goal is None else given.goal, arm, base, record, float(duration))
    begin = None if given.start is None else per_joint("start", given.start, arm.n)
    limits = Limited(arm, given.share, given.clearance, begin, planes_of(given.planes), given.floor)
    if aim is not None:
        limits.notes += aim.notes
    return ExcitationProblem(arm, base, limits, shapes, criterion, weights, aim)


def _frequency(duration: float, given: float | None) -> tuple[float, int]:
    """The base frequency (Hz), and the number of periods of the motion."""
    if given is None:
        periods = max(1, round(duration / PERIOD))
        return periods / duration, periods
    (f,) = positive("base_frequency", given, 1)
    if not f * duration < 1e9:
        raise DalembertError(
            f"base_frequency is {f:g} Hz, far above what an arm can follow for {duration:g} s; give about 0.1 Hz"
        )
    periods = round(float(f) * duration)
    if periods < 1 or abs(periods - f * duration) > 1e-6 * periods:
        raise DalembertError(
            f"a duration of {duration:g} s contains {f * duration:.4g} periods of {f:g} Hz; a motion that ends at rest needs a whole number"
        )
    return float(f), periods


StartEnd = tuple[float, int, Array, dict[str, Array]]  # score, number, motion, multipliers of its limits

# -- the search ------------------------------------------------------------------------------------


class Search:
    """Random motions, each improved a little; the best of them improved further."""

    def __init__(self, problem: ExcitationProblem, starts: int, seed: int, progress: Progress | None) -> None:
        self.problem, self.starts, self.seed, self.progress = problem, starts, seed, progress
        self.best: Array | None = None
        self.score = float("inf")
        self.history: list[float] = []
        self.offers: list[tuple[Array, float]] = []  # every motion within the limits that was evaluated, and its score
        self.done, self.planned = 0, (starts - 1) * ROUNDS + len(POWERS) + LAST

    def run(self, cluster: Any = None) -> None:
        """The whole search; ``best`` always holds a motion within the limits."""
        ends = []
        if cluster is None:
            ends += [self.begun(k) for k in range(self.starts)]
        else:
            search = (self.problem, self.starts, self.seed)
            with connected(cluster) as client, closing(spread(client, _begun, search, range(self.starts))) as results:
                for end, (first, *rounds) in results:
                    ends.append(end)
                    self._keep(*first)
                    for offer in rounds:
                        self.done += 1
                        self._keep(*offer)
                        self.history.append(self.problem.shown(self.score))
        _, _, x, multipliers = min(ends, key=lambda end: end[:2])
        self._improved(x, POWERS[ROUNDS:] + POWERS[-1:] * LAST, STIFF * 2**ROUNDS, multipliers)

    def begun(self, k: int) -> StartEnd:
        """Start k after a few improvements: its score, k, the motion, and the multipliers of its limits."""
        rng = np.random.default_rng([self.seed, k])
        x = 0.3 * rng.normal(size=self.problem.size) / np.sqrt(self.problem.size[1])
        if not self.problem.anchored:
            x[:, 0] = self.problem.home
        x = self.problem.within_limits(x)
        self._keep(x, self.problem.score(x))
        x, multipliers = self._improved(x, POWERS[:ROUNDS], STIFF, {})
        return self.offers[-1][1], k, x, multipliers

    def _improved(
        self, x: Array, powers: tuple[float, ...], rho: float, multipliers: dict[str, Array]
    ) -> tuple[Array, dict[str, Array]]:
        """The motion after a round for every p, and the multipliers of its limits; its score is that of the last offer."""
        for p in powers:
            x, offer, multipliers = self._round(x, p, rho, multipliers)
            self.done += 1
            self._keep(offer, self.problem.score(offer))
            self.history.append(self.problem.shown(self.score))
            rho *= 2.0
        return x, multipliers

    def _round(
        self, x: Array, p: float, rho: float, multipliers: dict[str, Array]
    ) -> tuple[Array, Array, dict[str, Array]]:
        """One round: the motion that the optimiser ends with, the same within the limits, and the multipliers."""
        problem, steps = self.problem, 0

        def both(flat: Array) -> Any:
            y = flat.reshape(problem.size)
            try:
                value, slope, state = problem.objective(y, p)
                extra, more, _ = problem.penalty(state, multipliers, rho)
            except ClosureError:  # the step is too large: loops cannot be closed
                return FAR, np.zeros(flat.size)
            return value + extra, (slope + more).ravel()

        def stepped(_: Array) -> None:
            nonlocal steps
            steps += 1
            self._tell(steps / STEPS)

        options = {"maxiter": STEPS, "maxcor": 20}
        best = scipy.optimize.minimize(both, x.ravel(), jac=True, method="L-BFGS-B", callback=stepped, options=options)
        x = best.x.reshape(problem.size)
        multipliers = problem.penalty(problem.motion(x, problem.few), multipliers, rho)[2]
        return x, problem.within_limits(x), multipliers

    def _keep(self, x: Array, score: float) -> None:
        """Keep a motion if it is the best so far."""
        self.offers.append((x, score))
        if self.best is None or score < self.score:
            self.best, self.score = x, score
        self._tell(0.0)

    def _tell(self, part: float) -> None:
        if self.progress is not None:
            self.progress(min(1.0, (self.done + min(part, 1.0)) / self.planned), self.problem.shown(self.score))


def _begun(search: tuple[ExcitationProblem, int, int], k: int) -> tuple[StartEnd, list[tuple[Array, float]]]:
    """Start k alone, on a worker of a cluster: where it ended, and every motion that it evaluated."""
    alone = Search(*search, None)
    with one_thread():
        return alone.begun(k), alone.offers
