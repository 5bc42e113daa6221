"""The fit of a closed loop to recorded positions: Levenberg–Marquardt with multiple shooting.

Every segment is simulated from an initial state of its own, s_k, with exact derivatives. Linearised, the states obey
δs_{k+1} = F_k δs_k + G_k δx + (end of segment k − s_{k+1}), so all of them follow from δx: the equations of the positions
contain the unknowns x alone, and at the solution the segments join to one motion. Short segments converge from rough
values where a single simulation of a long log would leave the measured motion. The initial state of a stretch is that
which explains its first segment best. The first rounds take some pieces of the log, each a stretch of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dalembert.base.arrays import Array
from dalembert.base.environment.progress import Progress
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError
from dalembert.work.closed_loop.loop_motion import LoopMotion, LoopSimulation
from dalembert.work.identification.fitting import least_squares as lsq
from dalembert.work.identification.fitting.covariance import BlockFit
from dalembert.work.identification.fitting.evidence import BLOCKS, FINE, Evidence, TriangularSystem, column_lengths

ROUNDS = 40  # maximum
CONVERGED = 0.1  # standard deviations: smaller changes of all unknowns end the iteration
NEAR = 10.0  # standard deviations: changes below which some segments have served their purpose
SOME = 2500  # samples of the segments of the first rounds
# damping and share of the steps that are tried, one after the other, until one makes the fit better
STEPS = ((0.0, 1.0), (0.0, 0.5), (0.0, 0.25), (0.0, 0.1), (0.01, 0.25), (1.0, 0.25), (100.0, 0.1))
PRICE, RESTARTS = 100.0, 2  # see LoopFit
JOINED = 0.25  # of the squared gaps: what a step must reach at the price of larger errors
SAME = 1.001  # factor on the squared error that counts as no increase
UNLIKE = 1.0  # error relative to the motion within a segment above which a fit of some pieces has failed
LOST = 10.0  # an unknown is undetermined if its uncertainty alone changes the torques by more than this factor
VAGUE = 0.1  # relative standard deviation above which a gain counts as undetermined


class ClosedLoopDivergesError(DalembertError):
    """The closed loop cannot be simulated near the values from which a fit starts."""

    def __init__(self) -> None:
        super().__init__(
            "the closed loop of the controller and the arm cannot be fitted to the positions; are the gains in N m/rad and "
            "N m s/rad at the joint, the positions in rad, the commands those of this log, and was the motion stable?"
        )


@record
class LoopEquations:
    """The linearised equations of the positions at some unknowns.

    evidence  of J x = measured − simulated + J x at the unknowns
    slopes    (S, 2n, p) and ``shifts`` (S, 2n): the initial states follow from those of x
    """

    evidence: Evidence
    slopes: Array
    shifts: Array


def start_error(loop: LoopSimulation, x: Array | None = None) -> float:
    """The error of values, by default of those from which a fit starts: the largest of all joints, relative to its motion
    within a segment."""
    segments = loop.segments.some(SOME)
    motion = replace(loop, segments=segments).motion(loop.unknowns.start if x is None else x, segments.states)
    used = segments.used[..., None]
    error = np.where(used, segments.q[:, 1:] - motion.q, 0.0)
    moved = np.where(used, segments.q[:, 1:] - segments.q[:, :1], 0.0)
    ratios = np.linalg.norm(error, axis=(0, 1)) / np.maximum(np.linalg.norm(moved, axis=(0, 1)), 1e-300)
    return float(ratios.max()) if np.isfinite(ratios).all() else np.inf


class LoopState(NamedTuple):
    """Values of the unknowns x, the initial states of the segments (S, 2n), their motion, and the error of each joint."""

    x: Array
    states: Array
    motion: LoopMotion
    noise: Array


@record
class LoopSolution:
    """The state that fits best, the last equations, and the unknowns that the log does not determine.

    blocks  the fit in blocks of time, for its covariance
    """

    state: LoopState
    system: TriangularSystem
    blocks: BlockFit

    @property
    def fixed(self) -> tuple[int, ...]:
        """The unknowns that keep their starting values."""
        return self.blocks.fixed

    def covariance(self, assumed: Mapping[int, float]) -> Array:
        """The covariance (p, p) of the unknowns, with the effect of errors in those that are assumed (their deviations)."""
        free, R = [k for k in range(len(self.state.x)) if k not in self.fixed], self.system.R
        covariance, size = self.blocks.jackknife(), np.maximum(np.linalg.norm(R[:, free], axis=0), 1e-300)
        for k, deviation in assumed.items():
            drift = np.zeros(len(covariance))
            drift[free] = -np.linalg.lstsq(R[:, free] / size, R[:, k], rcond=None)[0] / size
            drift[k] = 1.0
            covariance = covariance + deviation**2 * np.outer(drift, drift)
        return covariance


@record
class LoopFit:
    """A fit of a closed loop.

    typical   the usual torque per unit of every unknown; torque  the usual torque (N m)
    restarts  with shorter steps and measured initial states, where no step makes the fit better
    price     the factor by which a whole step may increase the squared errors where it joins the segments
    """

    loop: LoopSimulation
    typical: Array
    torque: float
    step: Progress
    restarts: int = RESTARTS
    price: float = PRICE

    def solved(self) -> LoopSolution:
        """The unknowns that fit best."""
        x, some = self.loop.unknowns.start, self.loop.segments.some(SOME)
        if some is not self.loop.segments:
            x = replace(self, loop=replace(self.loop, segments=some)).iterated(x, NEAR).state.x
            if start_error(self.loop, x) > UNLIKE:
                raise ClosedLoopDivergesError()
        return self.iterated(x, CONVERGED)

    def iterated(self, x: Array, converged: float) -> LoopSolution:
        """The solution from x, when all changes are below ``converged`` standard deviations."""
        state = before = self._begin(x)
        for done in range(ROUNDS):
            equations = self._linearised(state)
            if not all(np.isfinite(R).all() for R in equations.evidence.triangles):  # the loop itself is unstable
                return self._finer().iterated(before.x, converged)
            system = equations.evidence.together(1.0 / state.noise)
            fixed = self._fixed(system, state.x)
            new, whole = self._improved(state, equations, system, fixed)
            self.step("closed loop", (done + 1) / ROUNDS)
            if new is None and self.restarts:  # states or values at which the motion has no useful derivative
                return self._finer().iterated(before.x, converged)
            if new is None:
                break
            free = [k for k in range(len(x)) if k not in fixed]
            covariance = lsq.inverse_of(system.R[:, free].T @ system.R[:, free])
            sigma = np.sqrt(np.diag(covariance) * max(1.0, self._times(new.motion)))
            still = whole and bool(np.all(np.abs(new.x - state.x)[free] <= converged * sigma))
            before, state = state, new
            if still:
                break
        evidence = equations.evidence  # in blocks of time that are longer than the errors are correlated
        memory = self._times(state.motion) * evidence.count / self.loop.segments.used.sum()
        return LoopSolution(state, system, BlockFit(evidence, 1.0 / state.noise, state.x, fixed, memory=memory))

    def _finer(self) -> LoopFit:
        """The same with half the steps, and without detours."""
        if not self.restarts:
            raise ClosedLoopDivergesError()
        segments = replace(self.loop.segments, parts=2 * self.loop.segments.parts)
        return replace(self, loop=replace(self.loop, segments=segments), restarts=self.restarts - 1, price=SAME)

    def _begin(self, x: Array) -> LoopState:
        """The state with some values of the unknowns, and the measured initial states."""
        states = self.loop.segments.states
        motion = self.loop.motion(x, states)
        if not np.isfinite(motion.q).all():
            raise ClosedLoopDivergesError()
        return LoopState(x, states, motion, self._noise(motion))

    def _errors(self, motion: LoopMotion) -> Array:
        segments = self.loop.segments
        return np.asarray(np.where(segments.used[..., None], segments.q[:, 1:] - motion.q, 0.0))

    def _noise(self, motion: LoopMotion) -> Array:
        """The root mean square of every joint's error (n,)."""
        squares = np.sum(self._errors(motion) ** 2, axis=(0, 1))
        return np.asarray(lsq.above_zero(np.sqrt(squares / self.loop.segments.used.sum())))

    def _badness(self, states: Array, motion: LoopMotion, noise: Array) -> tuple[float, float]:
        """The squared errors of the positions, and of the joints between segments, which count as much as a segment."""
        segments = self.loop.segments
        gap = np.where(segments.begins[1:, None], 0.0, motion.end[:-1] - states[1:])[:, : segments.arm.n]
        errors = float(np.sum((self._errors(motion) / noise) ** 2))
        gaps = float(segments.used.shape[1] * np.sum((gap / noise) ** 2))
        return (errors, gaps) if np.isfinite(errors + gaps) else (np.inf, np.inf)

    def _improved(
        self, state: LoopState, equations: LoopEquations, system: TriangularSystem, fixed: tuple[int, ...]
    ) -> tuple[LoopState | None, bool]:
        """The state after the first of STEPS that makes the fit better, if any, and whether it is a whole one.

        A whole step may also join the segments at the price of larger errors, from which the next one continues.
        """
        (errors, gaps), b = self._badness(*state[1:]), self.loop.unknowns.base.rank
        # undetermined unknowns keep their starting values, and gains the present ones, which are consistent
        kept = np.concatenate([self.loop.unknowns.start[:b], state.x[b:]])
        for damping, share in STEPS:
            change = share * _change(system, state.x, kept, fixed, damping)
            x, states = state.x + change, state.states + equations.slopes @ change + share * equations.shifts
            motion, whole = self.loop.motion(x, states), share == 1.0
            after, open_after = self._badness(states, motion, state.noise)
            joined = whole and open_after < JOINED * gaps and after < self.price * errors
            if joined or after + open_after <= SAME * (errors + gaps):
                return LoopState(x, states, motion, self._noise(motion)), whole
        return None, False

    def _fixed(self, system: TriangularSystem, x: Array) -> tuple[int, ...]:
        """The unknowns that are assumed or that the log does not determine: gains with a large relative error, and then
        others whose errors exceed the usual torques."""
        b, fixed = self.loop.unknowns.base.rank, [*self.loop.unknowns.assumed]
        gains = [*range(b, b + len(self.loop.unknowns.gains))]
        while gains:
            vague = [1.0 / max(abs(x[k]) * _own_length(system, k, fixed), 1e-300) for k in gains]
            worst = int(np.argmax(vague))
            if vague[worst] <= VAGUE:
                break
            fixed.append(gains.pop(worst))
        free = [k for k in range(len(x)) if k not in fixed]
        part = replace(system, R=system.R[:, free])
        lost = lsq.undetermined(part, self.typical[free], 1.0 / (LOST * self.torque))
        return tuple(sorted([*fixed, *(free[k] for k in lost)]))

    def _times(self, motion: LoopMotion) -> float:
        """The correlation time of the errors, in samples: the median of all joints."""
        used, errors = self.loop.segments.used, self._errors(motion)
        return float(np.median([lsq.correlation_time([errors[..., j][used]]) for j in range(errors.shape[-1])]))

    def _linearised(self, state: LoopState) -> LoopEquations:
        """The equations of all segments, condensed to the unknowns."""
        x, states, motion, noise = state
        segments, n, p = self.loop.segments, self.loop.segments.arm.n, len(x)
        count = int(np.clip(len(states), 1, FINE * BLOCKS))
        labels = np.arange(len(states)) * count // len(states)
        slopes, shifts = np.zeros((len(states), 2 * n, p)), np.zeros((len(states), 2 * n))
        rows: list[list[Array]] = [[] for _ in range(count)]
        for some, part in self.loop.slopes(x, states):
            for s, dq, ends in zip(range(len(states))[some], part.q, part.end, strict=True):
                use = segments.used[s]
                error = (segments.q[s, 1:] - motion.q[s])[use]
                by_state, by_x = (np.moveaxis(own[:, use], 0, -1) for own in (dq[: 2 * n], dq[2 * n :]))
                if segments.begins[s]:
                    inverse = np.linalg.pinv((by_state / noise[:, None]).reshape(-1, 2 * n))
                    slopes[s] = -inverse @ (by_x / noise[:, None]).reshape(-1, p)
                    shifts[s] = inverse @ (error / noise).ravel()
                J = by_x + by_state @ slopes[s]
                right = error - by_state @ shifts[s] + J @ x
                rows[labels[s]].append(np.concatenate([J, np.zeros((*right.shape, 1)), right[..., None]], axis=-1))
                if s + 1 < len(states) and not segments.begins[s + 1]:
                    slopes[s + 1] = ends[: 2 * n].T @ slopes[s] + ends[2 * n :].T
                    shifts[s + 1] = ends[: 2 * n].T @ shifts[s] + motion.end[s] - states[s + 1]
        triangles = np.zeros((n, count, p + 2, p + 2))
        for label, block in enumerate(rows):
            for j, equations in enumerate(np.moveaxis(np.concatenate(block), 1, 0)):
                R = np.linalg.qr(equations, mode="r")
                triangles[j, label, : len(R)] = R
        samples = np.array([[sum(map(len, block)) for block in rows]] * n, float)
        return LoopEquations(Evidence(tuple(triangles), (np.arange(p),) * n, samples, p), slopes, shifts)


def _own_length(system: TriangularSystem, k: int, fixed: Sequence[int]) -> float:
    """The length of the part of a column that the other free columns cannot stand for; its inverse is a standard deviation."""
    others = [i for i in range(len(system.z)) if i != k and i not in fixed]
    A, column = system.R[:, others] / column_lengths(system.R[:, others]), system.R[:, k]
    return float(np.linalg.norm(column - A @ np.linalg.lstsq(A, column, rcond=1e-12)[0]))


def _change(system: TriangularSystem, x: Array, kept: Array, fixed: tuple[int, ...], damping: float) -> Array:
    """The step from x to the solution of the equations, with damping relative to the length of each column; the fixed
    unknowns take the values ``kept``."""
    free = [k for k in range(len(x)) if k not in fixed]
    change = np.zeros(len(x))
    change[list(fixed)] = (kept - x)[list(fixed)]
    R, right = system.R[:, free], system.z - system.R @ (x + change)
    size = column_lengths(R)
    rows = np.vstack([R / size, np.sqrt(damping) * np.eye(len(free))])
    change[free] = np.linalg.lstsq(rows, np.append(right, np.zeros(len(free))), rcond=None)[0] / size
    return change
