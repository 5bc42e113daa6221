"""The methods of an identification: how each weighs and solves the equations of a log.

The function of a method takes a :class:`FitProblem` and returns a :class:`MethodFit`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.base.wording import some
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting import least_squares as lsq
from dalembert.work.identification.fitting.base_parameters import BaseParameters, observable_columns, showing_states
from dalembert.work.identification.fitting.covariance import BlockFit
from dalembert.work.identification.fitting.energy_method import energy_equations
from dalembert.work.identification.fitting.evidence import Evidence, LogEquations
from dalembert.work.identification.fitting.fit_options import EstimatorOptions, is_consistent
from dalembert.work.identification.fitting.known_load import KnownLoad, gain_equations, point_mass
from dalembert.work.identification.fitting.result import correlation_times, make_run, relative
from dalembert.work.logs.conditioning import Conditioned

SEEN = 0.05  # minimum fraction of a joint's torque that a payload must cause to fix its drive gain
CLEARLY = 1.5  # times the residual of weighted least squares: the sequential procedure has accumulated errors
PERIODS = 5  # minimum number of periods of the cut-off per parameter for enough energy balances
HARMLESS = 1e-3  # of a joint's torque: a negligible residual
CENTRES = 4  # fits, each with the payload's inertia at the centre of mass of the previous one
LOST = 10.0  # a parameter is undetermined if its uncertainty alone changes the torques by more than this factor


@record
class FitProblem:
    """The equations of a log for one set of base parameters, and their evidence.

    lag      delay of the torques behind the states (s), compensated in both
    lagging  whether it was estimated, so that its uncertainty counts
    loaded   a run with a known payload, for total least squares
    """

    base: BaseParameters
    equations: LogEquations
    evidence: Evidence
    lag: float
    lagging: bool
    estimator: EstimatorOptions
    loaded: KnownLoad | None = None

    @property
    def ready(self) -> Conditioned:
        """The log, its torques shifted by the compensated lag."""
        return self.equations.ready

    @cached_property
    def typical(self) -> Array:
        """The usual size of each base column."""
        return typical_sizes(self.base)

    def fixed(self, evidence: Evidence, noise: Array | None = None) -> tuple[int, ...]:
        """The columns that some equations do not determine or, with ``noise`` (n,), determine so poorly that their errors
        exceed the measured torques."""
        if noise is None or is_consistent(self.estimator):
            return lsq.undetermined(evidence.together(), self.typical)
        size = float(np.sqrt(np.mean(self.ready.tau**2)))
        unit = evidence.together(1.0 / np.maximum(noise, 1e-12 * size))
        return lsq.undetermined(unit, self.typical, 1.0 / (LOST * size))


@record
class MethodFit:
    """What a method makes of a problem: its estimate, the problem with the equations as it left them, and its findings.

    inflation       factor on the error variances, one number or one per joint (n,)
    residuals       of the method's own equations in stretches of time, if these are not the joints' torques
    gains, com      the drive gains (n,) of total least squares, and the payload's centre of mass, if it was unknown
    """

    estimate: lsq.Estimate
    problem: FitProblem
    inflation: Array | float = 1.0
    warnings: tuple[str, ...] = ()
    residuals: tuple[Array, ...] | None = None
    gains: Array | None = None
    gains_std: Array | None = None
    com: Array | None = None
    com_std: Array | None = None


def typical_sizes(base: BaseParameters) -> Array:
    """The size of each base column at random states of order one."""
    Y = base.regressor(*showing_states(base.parameters, 200, seed=3))
    return np.maximum(np.sqrt(np.mean(Y**2, axis=(0, 1))), 1e-12)


def levels(base: BaseParameters, ready: Conditioned) -> Array:
    """For every parameter that is not an inertia, the value with which it alone would cause the measured torques."""
    parameters = base.parameters
    size = np.sqrt(np.mean(ready.tau**2, axis=0))
    squares = 0.0
    for piece, indices in ready.blocks():
        part = piece.part(indices)
        squares = squares + np.sum(parameters.regressor(*part.states, part.temperature) ** 2, axis=0)
    usual = np.sqrt(squares / ready.count)  # (n, p)
    return np.min(np.where(usual > 0, size[:, None] / np.maximum(usual, 1e-300), np.inf), axis=0)


def torque_lag(base: BaseParameters, evidence: Evidence) -> float:
    """The delay of the torques behind the states (s); 0 if it is not significant."""
    fixed = lsq.undetermined(evidence.together(), typical_sizes(base))
    plain = lsq.least_squares(evidence, base.values, fixed, 1)
    lags = BlockFit(evidence, plain.weights, plain.values, fixed).lags()
    return lags.lag if lags.certain else 0.0


# -- least squares ---------------------------------------------------------------------------------


def least_squares(problem: FitProblem, rounds: int) -> MethodFit:
    estimate = lsq.determined(problem.evidence, problem.base.values, problem.fixed, rounds)
    return MethodFit(estimate, problem)


def damped(problem: FitProblem) -> MethodFit:
    damping, to = problem.estimator.damping, problem.estimator.damped_to or "arm"
    return MethodFit(lsq.damped(problem.evidence, problem.base.values, damping, problem.typical, to), problem)


def sequential(problem: FitProblem) -> MethodFit:
    """The procedure of S 7.4, with a warning if its residuals show clearly that errors have accumulated."""
    evidence, start = problem.evidence, problem.base.values
    own = lsq.sequential(evidence, start, problem.typical)
    other = lsq.determined(evidence, start, problem.fixed, 1)
    torques = np.sqrt([joint.z @ joint.z + joint.rss for joint in evidence.joints])
    least = np.maximum(HARMLESS * torques, 1e-300)
    ratios = np.sqrt(lsq.squares(evidence, own.values)) / np.maximum(
        np.sqrt(lsq.squares(evidence, other.values)), least
    )
    worst, doubts = int(np.argmax(ratios)), []
    if ratios[worst] > CLEARLY:
        doubts.append(
            f"{problem.ready.log.source}: errors accumulate from joint to joint in method='sequential', whose residual at joint "
            f"'{problem.base.parameters.arm.joint_names[worst]}' is {ratios[worst]:.2g} times that of weighted least squares; use "
            "method='weighted'"
        )
    return MethodFit(own, problem, warnings=tuple(doubts))


# -- energy ----------------------------------------------------------------------------------------


def energy(problem: FitProblem) -> MethodFit:
    base, ready = problem.base, problem.ready
    E, e, t = energy_equations(base, ready)
    evidence = Evidence.of_equations([E], [e])  # of a single joint on which every parameter acts
    estimate = lsq.determined(evidence, base.values, problem.fixed, 0)
    free = base.rank - len(estimate.fixed)
    periods = round(evidence.together().rows * ready.every / ready.rate * ready.cutoff)
    doubts = []
    if periods < PERIODS * free and not is_consistent(problem.estimator):
        doubts.append(
            f"{ready.log.source}: the log has at most {periods} independent energy balances for {free} parameters, and "
            f"method='energy' is inaccurate with fewer than {PERIODS * free:g}; log a longer motion without repetition, give a "
            "prior, or use method='weighted'"
        )
    gaps = np.flatnonzero(np.abs(np.diff(t)) > 1.5 * ready.every / ready.rate) + 1
    residuals = tuple(np.split(e - E @ estimate.values, gaps))
    return MethodFit(estimate, replace(problem, evidence=evidence), warnings=tuple(doubts), residuals=residuals)


# -- total least squares ---------------------------------------------------------------------------


def total(problem: FitProblem) -> MethodFit:
    """Parameters and drive gains from a run without and one with a known payload.

    If only the mass of the payload is known, its first moments are three further unknowns; its inertia is then that of
    a point mass at its centre, found by fixed-point iteration.
    """
    base, evidence, loaded = problem.base, problem.evidence, problem.loaded
    assert loaded is not None
    arm, n, b = base.parameters.arm, base.parameters.arm.n, base.rank
    triangles = gain_equations(base, evidence, loaded, problem.equations.rests)
    # the noise of the torques as logged, from the run without payload
    alone = least_squares(problem, lsq.ROUNDS).estimate
    times = correlation_times(make_run(base, alone.values, problem.ready), problem.equations.moving)
    # the first moments of the payload that the runs determine beside the arm's own parameters and the mass
    shown = [] if loaded.centred else observable_columns(np.vstack([E[:, : b + 4] for E in triangles]))
    moments = np.array([k - b - 1 for k in shown if k > b], np.intp)
    start, ten, mass = np.append(alone.values, np.zeros(len(moments))), loaded.ten, float(loaded.ten[0])
    for _ in range(1 if loaded.centred else CENTRES):
        held = np.array([relative(E[:, b : b + 10] @ ten, E[:, b + 10 + j]) < SEEN for j, E in enumerate(triangles)])
        if held.all():
            raise DalembertError(
                "the known payload hardly changes the torques in the loaded log, so it cannot fix the scale; use a heavier payload"
            )
        known = ten.copy()
        known[1 + moments] = 0.0
        unknowns = [*range(b), *(b + 1 + moments)]
        reduced = [np.column_stack([E[:, unknowns], E[:, b : b + 10] @ known, E[:, b + 10 :]]) for E in triangles]
        start, gains, covariance, weights = lsq.total(reduced, alone.noise, start, held, times)
        com = np.zeros(3)
        com[moments] = start[b:] / mass
        ten = loaded.ten if loaded.centred else point_mass(mass, com)
    gains_std = np.zeros(n)
    gains_std[~held] = np.sqrt(np.diag(covariance)[len(start) :])
    words = ", ".join(f"{g:.4g} ± {e:.2g}" for g, e in zip(gains, gains_std, strict=True))
    notes = [f"drive gains identified with the payload: {words} times the given ones"]
    names = [arm.joint_names[j] for j in np.flatnonzero(held)]
    warned = [f"the payload hardly loads {some(names)}, whose drive gains keep their given values"] if names else []
    com_std = None
    if not loaded.centred:
        com_std = np.full(3, np.nan)
        com_std[moments] = np.sqrt(np.diag(covariance)[b : b + len(moments)]) / mass
        com[~np.isfinite(com_std)] = np.nan
        centre = ", ".join(
            f"{c:.4g} ± {e:.2g}" if np.isfinite(c) else "not determined" for c, e in zip(com, com_std, strict=True)
        )
        notes.append(
            f"only the mass of the payload is known; its centre of mass, from the tip, is x, y, z = {centre} m"
        )
    noise = alone.noise * np.abs(gains)
    estimate = lsq.Estimate(start[:b], noise, weights, covariance[:b, :b], alone.fixed, tuple(notes))
    com_or_none = None if loaded.centred else com
    return MethodFit(estimate, problem, 1.0, tuple(warned), None, gains, gains_std, com_or_none, com_std)
