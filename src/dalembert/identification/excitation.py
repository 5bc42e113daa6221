"""Exciting trajectories: motions that determine an arm's parameters best, S 7.4.

A motion is a finite Fourier series, repeated over whole periods, or a spline; both start and end at rest
(:mod:`exciting_shapes`). A criterion (:mod:`exciting_problem`) is optimised under limits on positions, velocities,
accelerations and torques, with a clearance from the floor and other planes (:mod:`exciting_limits`). After a fit, the
motion is the one that most reduces the uncertainty of the quantities named by a goal (:mod:`exciting_goals`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.resuming import resumable_run
from dalembert.arrays import shown
from dalembert.environment.brief import brief
from dalembert.environment.cluster import connected, spread
from dalembert.environment.extras import extra
from dalembert.environment.signals import Terminated
from dalembert.errors import ClosureError, DalembertError
from dalembert.files.journal import Journal, Resume
from dalembert.identification.base import BaseParameters, base_parameters
from dalembert.identification.exciting_goals import Aim, Forecast, aim_of, forecast, weights_of
from dalembert.identification.exciting_limits import Limited
from dalembert.identification.exciting_planes import planes_of
from dalembert.identification.exciting_problem import CRITERIA, ExcitationProblem
from dalembert.identification.exciting_shapes import FourierShapes, Shapes, SplineShapes
from dalembert.identification.parameters import FRICTION, ParameterSet, has_rotors
from dalembert.identification.record import FitRecord, as_record
from dalembert.identification.result import Identification
from dalembert.kernel.one_thread import one_thread
from dalembert.trajectory.checks import joints as per_joint
from dalembert.trajectory.checks import positive
from dalembert.trajectory.csv_file import motion_columns
from dalembert.trajectory.tables import write
from dalembert.trajectory.trajectory import Trajectory

Array = NDArray[np.floating[Any]]
Progress = Callable[[float, float], None]

PERIOD = 10.0  # s: approximate period if no base frequency is given
POWERS = (1.0, 2.0, 4.0, 8.0, 16.0)  # p of the smooth condition number in successive rounds
ROUNDS = 3  # rounds for every start; the best one continues through the remaining rounds
LAST = 3  # additional rounds with the largest p
STEPS = 200  # optimiser steps per round
STIFF = 300.0  # initial ρ of the limits; doubled in every round
MISMATCH = 30.0  # times the scaled condition number: a larger condition number only reflects the units
FAR = 1e6  # objective of a motion whose loops cannot be closed
MOST_SHAPES, MOST_STARTS = 1000, 10_000  # harmonics or points, and random motions: far beyond any useful value
KINDS = ("fourier", "spline")


@brief
@dataclass(frozen=True, eq=False)
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
        values = (self.condition, self.condition_scaled, self.log_det)
        if self.criterion == "l-optimal":
            assert self.forecast is not None
            return self.forecast.value_after
        return values[CRITERIA.index(self.criterion)]

    def save(self, path: str | os.PathLike[str], *, rate: float = 100.0, overwrite: bool = True) -> None:
        """Write the motion as .csv, .npz or .parquet: t, q, qd, qdd, and the torques predicted by the arm's model.

        After a fit, comment lines before the header of a text file, which begin with #, state the goal and the forecast.
        """
        names, columns = motion_columns(self.trajectory, self.arm, rate=rate)
        comments = () if self.forecast is None else self.forecast.lines
        write(path, names, columns, overwrite=overwrite, comments=comments)


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
    resume: Resume = False,
) -> Excitation:
    """A motion within the limits of ``arm`` that determines its base parameters best.

    duration        s; for a Fourier series a whole number of periods
    shape           "fourier", or "spline": of degree 5, starting and ending in the same posture
    harmonics       L of the Fourier series
    points          control points of the spline for every joint; one per second by default
    base_frequency  Hz; by default a period lasts about 10 s. L times this is the highest frequency: keep it well below
                    the first resonance of the arm
    criterion       "condition" (the default), "scaled-condition" or "d-optimal"; after a fit "l-optimal" (the default) or
                    "d-optimal", of both runs together
    after           an earlier fit of this arm: an Identification, its record, or the file that ``fit.save`` or
                    ``dalembert identify --json`` wrote. The motion is planned for its model, whose terms, offsets and noise
                    replace friction, torque_offset, rotor and noise, and it reduces the remaining uncertainty
    goal            the quantities to determine after a fit: "parameters" (the default), "friction", "friction:joint3",
                    "payload" (a run with a load at the tip), "payload:mass-com", "task:motion.csv", or a Trajectory whose
                    torques are to be predicted
    friction        any of "viscous" and "coulomb", to be identified; torque_offset: a constant torque for each joint
    rotor           whether rotor inertias are identified; by default, if the arm has rotors
    clearance       m, minimum distance of joints, link frames and tip from the floor, which is at the height of the base's
                    origin, and from all planes; None: 0 from the planes, and no floor
    floor           whether there is a floor
    planes          (normal, offset) each, in base axes: points p of the arm stay where n·p ≥ d + clearance, n of length one
    share           the fraction of every limit that may be used, such as 0.9
    start           (n,) the posture in which the motion begins and ends; free by default
    noise           (n,) standard deviations of the torques (N m), by which the joints' equations are weighted
    starts, seed    number of random motions from which the best is refined; the same seed gives the same motion
    progress        called with the fraction done and the best value so far
    cluster         the address of a Dask scheduler, or a ``distributed.Client``, whose workers improve the starts; the
                    motion is identical, bit by bit, on processors of the same kind
    resume          True keeps every round of the search on disk, so that the same call resumes a search that was
                    interrupted, with the same bits; a function is also called with a sentence that says what is resumed

    Ctrl-C ends the search with the best motion so far.

    >>> import dalembert as da
    >>> found = excite(da.load("pendulum"), duration=10.0, harmonics=3, clearance=None, starts=1)
    >>> found.condition < 50, found.trajectory.limits_report(da.load("pendulum"), torque=True)
    (True, [])
    """
    began = time.monotonic()
    criterion = _criterion(criterion, after is not None, goal)
    if shape not in KINDS:
        raise DalembertError(f"there is no shape '{shape}'; known are {', '.join(KINDS)}")
    if not 2 <= harmonics <= MOST_SHAPES:
        raise DalembertError(
            f"harmonics is {shown(harmonics)}; it must be from 2, which a motion from rest to rest needs, to {MOST_SHAPES}"
        )
    if shape == "spline" and base_frequency is not None:
        raise DalembertError("base_frequency applies to Fourier series; give points for a spline")
    if points is not None and (shape != "spline" or not 3 <= points <= MOST_SHAPES):
        raise DalembertError(
            f"points is {shown(points)}; it applies to shape='spline' and must be from 3 to {MOST_SHAPES}"
        )
    if not 1 <= starts <= MOST_STARTS:
        raise DalembertError(f"starts is {shown(starts)}; it must be from 1 to {MOST_STARTS}")
    if seed < 0:
        raise DalembertError(f"seed is {seed}; it must be a whole number, 0 or more")
    if clearance is not None and not abs(clearance) <= 1e6:
        raise DalembertError(f"clearance is {clearance:g} m; it must be at most 1e6 m, or None if there is no floor")
    if not 0 < share <= 1:
        raise DalembertError(f"share is {share:g}; it is the fraction of every limit to be used, above 0 and at most 1")
    (duration,) = positive("duration", duration, 1)
    f: float | None = None
    if shape == "fourier":
        f, periods = _frequency(float(duration), base_frequency)
        shapes: Shapes = FourierShapes(f, harmonics, periods)
    else:
        shapes = SplineShapes(float(duration), points or max(3, round(float(duration))))
    aim: Aim | None = None
    if after is None:
        rotor = has_rotors(arm) if rotor is None else rotor
        base = base_parameters(ParameterSet(arm, tuple(friction), offset=torque_offset, rotor=rotor))
        weights = np.ones(arm.n) if noise is None else 1.0 / positive("noise", noise, arm.n)
    else:
        if tuple(friction) != FRICTION or not torque_offset or rotor is not None or noise is not None:
            raise DalembertError(
                "friction, torque_offset, rotor and noise are taken from the earlier fit (after); leave them out"
            )
        record = as_record(after)
        base, weights = record.base(arm), weights_of(record)
        aim = aim_of("parameters" if goal is None else goal, arm, base, record, float(duration))
    begin = None if start is None else per_joint("start", start, arm.n)
    limits = Limited(arm, share, clearance, begin, planes_of(planes), floor)
    if aim is not None:
        limits.notes += aim.notes
    problem = ExcitationProblem(arm, base, limits, shapes, criterion, weights, aim)
    goal_of_run = None if aim is None else (aim.goal.text, aim.goal.wanted, aim.goal.forgotten, aim.prior, aim.seconds)
    inputs = (
        duration, shape, harmonics, points, f, criterion, base.names, base.K, base.values, weights, goal_of_run, clearance,
        floor, planes_of(planes), share, begin, starts, seed,
    )  # fmt: skip
    interrupted = False
    with resumable_run(resume, "search for an exciting motion", arm, *inputs) as journal:
        search = Search(problem, starts, seed, progress, journal)
        try:
            with one_thread():
                search.run(cluster)
        except Terminated:
            raise
        except KeyboardInterrupt:
            if search.best is None:
                raise
            interrupted = journal.unfinished = True
    assert search.best is not None
    coefficients, centre = problem.written(search.best)
    motion = shapes.trajectory(coefficients, centre)
    condition, scaled, log_det = problem.measured(search.best)
    if criterion == "condition" and condition > MISMATCH * scaled:
        limits.notes.append(
            f"the condition number, {condition:.3g}, mostly reflects columns of different size ({scaled:.3g} with columns "
            "of length one): 'scaled-condition' or 'd-optimal' is the better criterion for this arm"
        )
    return Excitation(
        arm, motion, criterion, condition, scaled, log_det, base, coefficients, centre, f, tuple(search.history),
        time.monotonic() - began, interrupted, tuple(limits.notes),
        None if aim is None else forecast(aim, problem.gained(search.best)),
    )  # fmt: skip


def _criterion(criterion: str | None, fitted: bool, goal: Any) -> str:
    """The checked criterion: of a motion by itself, or of the information of a fit and a motion together."""
    if goal is not None and not fitted:
        raise DalembertError("a goal applies to a motion after a fit; give the fit (after), or leave the goal out")
    if criterion is None:
        return "l-optimal" if fitted else "condition"
    if criterion not in CRITERIA:
        raise DalembertError(f"there is no criterion '{criterion}'; known are {', '.join(CRITERIA)}")
    allowed = CRITERIA[2:] if fitted else CRITERIA[:3]
    if criterion not in allowed:
        when = "after a fit" if fitted else "without an earlier fit (after)"
        raise DalembertError(f"the criterion '{criterion}' has no meaning {when}; choose from {', '.join(allowed)}")
    return criterion


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


# -- the search ------------------------------------------------------------------------------------


class Search:
    """Random motions, each improved a little; the best of them improved further."""

    def __init__(
        self, problem: ExcitationProblem, starts: int, seed: int, progress: Progress | None, journal: Journal
    ) -> None:
        self.problem, self.starts, self.seed, self.progress, self.journal = problem, starts, seed, progress, journal
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
            missing = [k for k in range(self.starts) if not self.journal.has(f"start {k} on a cluster")]
            with closing(_begun_on(cluster, (self.problem, self.starts, self.seed), missing)) as results:
                for k in range(self.starts):
                    step = self.journal.step(f"start {k} on a cluster", lambda: next(results))
                    ends.append((step["score"], k, step["x"], _multipliers(step)))
                    first, *rounds = zip(step["offers"], step["scores"].tolist(), strict=True)
                    self._keep(*first)
                    for offer in rounds:
                        self.done += 1
                        self._keep(*offer)
                        self.history.append(self.problem.shown(self.score))
        _, _, x, multipliers = min(ends, key=lambda end: end[:2])
        self._improved("best start", x, POWERS[ROUNDS:] + POWERS[-1:] * LAST, STIFF * 2**ROUNDS, multipliers)

    def begun(self, k: int) -> tuple[float, int, Array, dict[str, Array]]:
        """Start k after a few improvements: its score, k, the motion, and the multipliers of its limits."""

        def drawn() -> dict[str, Any]:
            rng = np.random.default_rng([self.seed, k])
            x = 0.3 * rng.normal(size=self.problem.size) / np.sqrt(self.problem.size[1])
            if not self.problem.anchored:
                x[:, 0] = self.problem.home
            x = self.problem.within_limits(x)
            return {"x": x, "score": self.problem.score(x)}

        step = self.journal.step(f"start {k}", drawn)
        self._keep(step["x"], step["score"])
        x, multipliers = self._improved(f"start {k}", step["x"], POWERS[:ROUNDS], STIFF, {})
        return self.offers[-1][1], k, x, multipliers

    def _improved(
        self, name: str, x: Array, powers: tuple[float, ...], rho: float, multipliers: dict[str, Array]
    ) -> tuple[Array, dict[str, Array]]:
        """The motion after a round for every p, and the multipliers of its limits; its score is that of the last offer."""
        for p in powers:
            step = self.journal.step(f"round of {name}", partial(self._round, x, p, rho, multipliers))
            x, multipliers = step["x"], _multipliers(step)
            self.done += 1
            self._keep(step["offer"], step["score"])
            self.history.append(self.problem.shown(self.score))
            rho *= 2.0
        return x, multipliers

    def _round(self, x: Array, p: float, rho: float, multipliers: dict[str, Array]) -> dict[str, Any]:
        """One round: the motion that the optimiser ends with, the same within the limits, its score, and the multipliers."""
        with extra("identify", "the search for an exciting motion"):
            from scipy.optimize import minimize

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
        best = minimize(both, x.ravel(), jac=True, method="L-BFGS-B", callback=stepped, options=options)
        x = best.x.reshape(problem.size)
        multipliers = problem.penalty(problem.motion(x, problem.few), multipliers, rho)[2]
        offer = problem.within_limits(x)
        return {"x": x, "offer": offer, "score": problem.score(offer), **_named(multipliers)}

    def _keep(self, x: Array, score: float) -> None:
        """Keep a motion if it is the best so far."""
        self.offers.append((x, score))
        if self.best is None or score < self.score:
            self.best, self.score = x, score
        self._tell(0.0)

    def _tell(self, part: float) -> None:
        if self.progress is not None:
            self.progress(min(1.0, (self.done + min(part, 1.0)) / self.planned), self.problem.shown(self.score))


def _begun_on(
    cluster: Any, search: tuple[ExcitationProblem, int, int], starts: Sequence[int]
) -> Generator[dict[str, Any], None, None]:
    """What :func:`_begun` makes of every start, in their order, on the workers of a cluster."""
    if starts:
        with connected(cluster) as client, closing(spread(client, _begun, search, starts)) as results:
            yield from results


def _begun(search: tuple[ExcitationProblem, int, int], k: int) -> dict[str, Any]:
    """Start k alone, on a worker of a cluster: where it ended, and every motion that it evaluated."""
    alone = Search(*search, None, Journal())
    with one_thread():
        score, _, x, multipliers = alone.begun(k)
    offers, scores = zip(*alone.offers, strict=True)
    return {"score": score, "x": x, "offers": np.array(offers), "scores": np.array(scores), **_named(multipliers)}


def _named(multipliers: Mapping[str, Array]) -> dict[str, Array]:
    """Multipliers as entries of a step's result."""
    return {f"multiplier of {name}": values for name, values in multipliers.items()}


def _multipliers(step: Mapping[str, Any]) -> dict[str, Array]:
    """The multipliers of a step's result."""
    start = "multiplier of "
    return {name.removeprefix(start): values for name, values in step.items() if name.startswith(start)}
