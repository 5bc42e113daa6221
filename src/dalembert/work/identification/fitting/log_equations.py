"""The equations of a log: low-passed, separately for each joint, as triangles for least squares.

Shape parameters of friction in which the torque is nonlinear are determined first: Stribeck speeds by trial, the sign
change of gradual Coulomb friction by least squares.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.progress import Progress as Progress
from dalembert.base.environment.short_repr import record
from dalembert.base.per_joint import per_joint
from dalembert.errors import DalembertError
from dalembert.robot.terms import Tanh
from dalembert.work.identification.fitting import least_squares as lsq
from dalembert.work.identification.fitting.base_parameters import (
    BaseParameters,
    base_parameters,
    joint_ranges,
    showing_states,
)
from dalembert.work.identification.fitting.coulomb_transition import turn_overs
from dalembert.work.identification.fitting.covariance import BlockFit, Segments, SegmentSums
from dalembert.work.identification.fitting.joint_columns import JointColumns
from dalembert.work.identification.fitting.model_parameters import stribeck_terms
from dalembert.work.identification.fitting.parameter_set import ParameterSet
from dalembert.work.identification.fitting.triangular_systems import JointTriangles, taken_in, triangle
from dalembert.work.logs.conditioning import Conditioned, Stretch

RowWeights = Callable[[Array], Array]  # residuals (m, n) of some kept samples → (m, n)

REST = 0.1  # the factor on a joint's equations while it is at rest, unless a dead zone is given
STILL = 1e-3  # of its range: a joint that moves less in the whole log is at rest, and its velocities are noise
HELD = 4.0  # numbers per sample and joint, as in the log itself: largest size of the stored low-passed columns
STRIBECK_SPEEDS = (0.02, 0.04, 0.08, 0.16, 0.32)  # of a joint's largest speed, tried one after another


class LogEquations:
    """A conditioned log of an arm: base parameters and triangles, for any choice of parameters.

    dry      whether there is Coulomb friction, in any shape
    zone     a joint slower than this (n,) is at rest, and its equations have the weight ``at_rest``: friction can then
             take any value between its two levels
    lag      delay of the torques behind the states (s), compensated in ``ready``; by default it is estimated together
             with the parameters
    lagging  whether the lag is unknown, so that its uncertainty counts
    still    (n,) the joints at rest throughout: they have no velocity, so their friction is not determined
    """

    def __init__(
        self, arm: Arm, ready: Conditioned, dead_zone: ArrayLike | None, dry: bool, step: Progress,
        lag: float | None = None,
    ) -> None:  # fmt: skip
        self.arm, self.ready, self.step = arm, ready, step
        self.lag, self.lagging = lag, lag is None
        self.fastest = np.abs(ready.qd).max(axis=0)
        self.zone = 0.01 * self.fastest if dead_zone is None else per_joint("dead_zone", dead_zone, self.arm.n)
        if (self.zone < 0).any():
            raise DalembertError(f"dead_zone is {dead_zone!r}; it is a speed (rad/s) and must be at least 0")
        self.at_rest = REST if dead_zone is None else 0.0
        if not dry:
            self.zone = np.zeros(self.arm.n)
        self.still = _still(self.arm, ready)
        self._held: tuple[JointColumns, Array] | None = None

    def prepared(self, parameters: ParameterSet) -> tuple[BaseParameters, JointTriangles]:
        """The base parameters of a set, and the triangle of the log's low-passed equations for every joint."""
        base = base_parameters(parameters)
        return base, self.triangles(base)

    def triangles(self, base: BaseParameters) -> JointTriangles:
        """The triangle of the log's low-passed equations for every joint."""
        return self.weighed(base)[0]

    def of(self, ready: Conditioned) -> LogEquations:
        """The same equations for another conditioned log with the same states."""
        other = copy.copy(self)
        other.ready = ready
        return other

    def weighed(
        self, base: BaseParameters, values: Array | None = None, weigh: RowWeights | None = None
    ) -> tuple[JointTriangles, Array]:
        """The triangles with individually weighted equations, and the residuals (M, n) of ``values`` at the kept samples.

        weigh   the weights of squares, so that rows are multiplied by their roots, from a block of these residuals
        """
        by_joint, ready = base.joint_columns, self.ready
        upper = [np.zeros((len(columns) + 2,) * 2, order="F") for columns in by_joint.columns]  # of [Y, −τ̇, τ]
        sums = SegmentSums(by_joint.columns, ready.count)
        counts, done = np.zeros(self.arm.n, int), 0
        holding = self._holding(by_joint)
        residual = np.zeros((0 if weigh is None else ready.count, self.arm.n))
        for piece, indices in ready.blocks():
            at = slice(done, done + len(indices))
            held = None if holding is None else holding[1][:, at]
            rows, tau, slope = self._rows(by_joint, piece, indices, held)
            moving = np.abs(piece.qd[indices]) >= self.zone
            weights = np.where(moving, 1.0, self.at_rest)
            if weigh is not None and values is not None:
                parts = zip(by_joint.columns, by_joint.parts, strict=True)
                residual[at] = (tau - np.array([values[columns] @ rows[part] for columns, part in parts])).T
                weights = weights * np.sqrt(weigh(residual[at]))
            for j, part in enumerate(by_joint.parts):
                equations = np.vstack([rows[part], -slope[j], tau[j]])
                equations *= weights[:, j]
                sums.take(j, equations)
                upper[j] = taken_in(upper[j], equations.T)
            counts += moving.sum(axis=0)
            done += len(indices)
            del rows, tau, slope  # frees memory before the next block
            self.step("regressor", done / ready.count)
        segments = Segments(sums.G, tuple(by_joint.columns), base.rank, self.lagging)

        def moved(lag: float) -> JointTriangles:
            """The triangle of [Y, τ + lag τ̇]."""
            parts = zip(upper, counts.tolist(), by_joint.columns, strict=True)
            late = (([*R[:, :-2].T, R[:, -1] - lag * R[:, -2]], count, columns) for R, count, columns in parts)
            triangles = tuple(triangle(np.array(R).T, count, columns) for R, count, columns in late)
            return JointTriangles(triangles, base.rank, lag, segments)

        self._held = holding
        joints = moved(0.0)
        if self.lag is None and (lag := self._lag(base, joints)):
            joints = moved(lag)
        return joints, residual

    def _holding(self, by_joint: JointColumns) -> tuple[JointColumns, Array] | None:
        """The low-passed columns (columns of all joints, M) of all kept samples, complete or still to be filled; None
        if they would take more memory than the samples themselves."""
        if self._held is not None and self._held[0] is by_joint:
            return self._held
        self._held = None  # frees memory before the next allocation
        columns, samples = by_joint.parts[-1].stop, sum(len(piece.t) for piece in self.ready.pieces)
        if columns * self.ready.count > HELD * samples * self.arm.n:
            return None
        return by_joint, np.empty((columns, self.ready.count))

    def predicted(self, base: BaseParameters, values: Array) -> Array | None:
        """The low-passed torques (M, n) of base parameters at the kept samples, if their columns are still stored."""
        if self._held is None or self._held[0] is not base.joint_columns or self.still.any():
            return None
        rows, parts = self._held[1], zip(base.joint_columns.columns, base.joint_columns.parts, strict=True)
        return np.column_stack([values[columns] @ rows[part] for columns, part in parts])

    def _rows(
        self, by_joint: JointColumns, piece: Stretch, indices: NDArray[np.intp], held: Array | None
    ) -> tuple[Array, Array, Array]:
        """A block's low-passed columns (columns of all joints, m), torques (n, m) and their derivatives.

        Columns that are already ``held`` are not computed again; new ones are stored there.
        """
        low_passed, full = self.ready.low_passed, self._held is not None
        slope = np.gradient(piece.tau, 1.0 / self.ready.rate, axis=0)
        tau, slope = low_passed(piece.tau.T, indices), low_passed(slope.T, indices)
        if held is not None and full:
            return held, tau, slope
        q, qd, qdd = piece.states
        rows = low_passed(by_joint.rows(q, np.where(self.still, 0.0, qd), qdd, piece.temperature), indices)
        if held is not None:
            held[:] = rows
        return rows, tau, slope

    def _lag(self, base: BaseParameters, joints: JointTriangles) -> float:
        """The delay of the torques behind the states (s); 0 if it is not significant."""
        assert joints.segments is not None
        fixed = lsq.undetermined(joints.together(), typical_sizes(base))
        plain = lsq.least_squares(joints, base.values, fixed, 1)
        lags = BlockFit(joints.segments, plain.weights, plain.values, 0.0, fixed).lags()
        return lags.lag if lags.certain else 0.0

    def with_lag(self, lag: float) -> LogEquations:
        """The same equations with the torques shifted earlier by ``lag`` (s) for good."""
        other = self.of(self.ready.earlier_torques(lag))
        other.lag = lag
        return other

    @property
    def moving(self) -> NDArray[np.bool_]:
        """Which joints move at the kept samples: (M, n)."""
        return np.abs(self.ready.qd) >= self.zone

    def stribeck_speeds(
        self, value: bool | float | Sequence[float], parameters: ParameterSet
    ) -> tuple[Array, list[str]]:
        """The speeds v of exp(−(q̇/v)²), as given or for each joint the one that explains its torque best; and notes."""
        if value is not True:
            return per_joint("stribeck", value, self.arm.n, positive=True), []
        tried = []
        for share in STRIBECK_SPEEDS:
            speeds = np.maximum(share * self.fastest, 1e-9)
            base, joints = self.prepared(parameters.with_terms(stribeck_terms(self.arm, speeds)))
            fixed = lsq.undetermined(joints.together(), typical_sizes(base))
            tried.append(lsq.squares(joints, lsq.least_squares(joints, base.values, fixed, 1).values))
        best_speeds = np.maximum(np.array(STRIBECK_SPEEDS)[np.argmin(tried, axis=0)] * self.fastest, 1e-9)
        return best_speeds, [
            f"the Stribeck speeds were chosen by trial: {', '.join(f'{v:.3g}' for v in best_speeds)} rad/s"
        ]

    def sigmoids(
        self, value: bool | float | Sequence[float], parameters: ParameterSet
    ) -> tuple[Array, Array, list[str]]:
        """Widths and centres of gradual Coulomb friction, as given or by least squares; and notes."""
        if value is not True:
            return per_joint("sigmoid", value, self.arm.n, positive=True), np.zeros(self.arm.n), []
        weights = np.where(self.moving, 1.0, self.at_rest)
        sharp = tuple((j, term) for j, term in parameters.further if not isinstance(term, Tanh))
        base = base_parameters(replace(parameters, terms=sharp))
        widths, centres = turn_overs(base, self.ready, weights, self.step)
        note = (
            f"Coulomb friction changes sign as tanh((q̇ − c)/w), w = {', '.join(f'{w:.3g}' for w in widths)} and "
            f"c = {', '.join(f'{c:.2g}' for c in centres)} rad/s by least squares"
        )
        return widths, centres, [note]


@record
class MethodFit:
    """What a method makes of the equations: its estimate, the equations as it left them, and its findings.

    inflation       factor on the error variances, one number or one per joint (n,)
    gains, com      the drive gains (n,) of total least squares, and the payload's centre of mass, if it was unknown
    """

    estimate: lsq.Estimate
    equations: LogEquations
    joints: JointTriangles
    inflation: Array | float = 1.0
    warnings: tuple[str, ...] = ()
    gains: Array | None = None
    gains_std: Array | None = None
    com: Array | None = None
    com_std: Array | None = None


def _still(arm: Arm, ready: Conditioned) -> NDArray[np.bool_]:
    """The joints that hardly move in the whole log, relative to their limits or to a full turn."""
    low = np.min([piece.q.min(axis=0) for piece in ready.pieces], axis=0)
    high = np.max([piece.q.max(axis=0) for piece in ready.pieces], axis=0)
    lower, upper, reach = joint_ranges(arm)
    free = np.array([None in (joint.limits.lower, joint.limits.upper) for joint in arm.robot.moving_joints])
    room = np.where(free, np.where(reach == np.pi, 2 * np.pi, 0.0), upper - lower)
    return np.asarray(high - low < STILL * room)


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


def typical_sizes(base: BaseParameters) -> Array:
    """The size of each base column at random states of order one."""
    Y = base.regressor(*showing_states(base.parameters, 200, seed=3))
    return np.maximum(np.sqrt(np.mean(Y**2, axis=(0, 1))), 1e-12)
