"""The evidence of a log: triangles of its low-passed equations, for every joint and block of time.

The equations [Y, −τ̇, τ] of a joint are gathered in consecutive blocks of time, and the rows of each block are reduced
by Householder reflections (LAPACK's tpqrt) to a triangle R with RᵀR = [Y, −τ̇, τ]ᵀ[Y, −τ̇, τ]. Everything else is read
from these triangles, without the log: fits of any weights (S (7.85)), the lag of the torques behind the positions,
fits that leave out or repeat some of the blocks, and every choice of columns.

A fit stacks the triangles and reduces them once more, so Ȳ itself is never squared: the condition number stays that
of Ȳ, and memory does not grow with the log. The joints are kept apart: only the columns of the links that it moves
act on joint i (S (7.80)), joints can be weighted afterwards, any number of times, and the sequential procedure of
S 7.4, from the last joint to the first, can use its equations directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.progress import Progress, silent
from dalembert.base.environment.short_repr import brief, record
from dalembert.base.per_joint import per_joint
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.base_parameters import joint_ranges
from dalembert.work.identification.fitting.joint_columns import EquationColumns
from dalembert.work.logs.conditioning import Conditioned
from dalembert.work.logs.scipy_package import scipy

PANEL = 8  # columns per panel of tpqrt: the fastest choice for 20 to 90 columns
RANK = 1e-11  # relative to the largest: smaller singular values of R (columns of length one) are rounding errors
REST = 0.1  # the factor on a joint's equations while it is at rest, unless a dead zone is given
SLOW = 0.01  # of its largest speed: a slower joint is at rest, unless a dead zone is given
STILL = 1e-3  # of its range: a joint that moves less in the whole log is at rest, and its velocities are noise
HELD = 4.0  # numbers per sample and joint, as in the log itself: largest size of the stored low-passed columns
BLOCKS = 40  # of time, for errors from leaving one out
FINE = 3  # parts of each of them, at which moving blocks may begin
PER_BLOCK = 8  # minimum number of kept samples per block


@record
class RestWeights:
    """How the equations of a joint at rest are weighted: friction can then take any value between its two levels.

    zone    (n,) a joint slower than this is at rest
    factor  on its equations then
    found   whether joints are also at rest where the conditioning of the log found that they are
    still   (n,) the joints at rest throughout: they have no velocity, so their friction is not determined
    """

    zone: Array
    factor: float
    found: bool
    still: NDArray[np.bool_]

    @classmethod
    def of(cls, arm: Arm, ready: Conditioned, dead_zone: ArrayLike | None = None, dry: bool = True) -> RestWeights:
        """The rule for a log; without ``dry`` friction, slow joints are like others."""
        own = dead_zone is None
        zone = SLOW * np.abs(ready.qd).max(axis=0) if own else per_joint("dead_zone", dead_zone, arm.n)
        if (zone < 0).any():
            raise DalembertError(f"dead_zone is {dead_zone!r}; it is a speed (rad/s) and must be at least 0")
        return cls(zone if dry else np.zeros(arm.n), REST if own else 0.0, own and dry, _still(arm, ready))

    def moving(self, qd: Array, resting: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which joints move at velocities (M, n); those that are at rest throughout count as moving, without friction."""
        fast = np.abs(qd) >= self.zone
        return (fast & ~resting) | self.still if self.found else fast


def _still(arm: Arm, ready: Conditioned) -> NDArray[np.bool_]:
    """The joints that hardly move in the whole log, relative to their limits or to a full turn."""
    low = np.min([piece.q.min(axis=0) for piece in ready.pieces], axis=0)
    high = np.max([piece.q.max(axis=0) for piece in ready.pieces], axis=0)
    lower, upper, reach = joint_ranges(arm)
    free = np.array([None in (joint.limits.lower, joint.limits.upper) for joint in arm.robot.moving_joints])
    room = np.where(free, np.where(reach == np.pi, 2 * np.pi, 0.0), upper - lower)
    return np.asarray(high - low < STILL * room)


class EquationBlock(NamedTuple):
    """Low-passed equations of some kept samples: rows (columns of all joints, m), torques and their derivatives (n, m)."""

    at: slice
    rows: Array
    tau: Array
    slope: Array
    moving: NDArray[np.bool_]


class LogEquations:
    """The low-passed equations Yπ = τ of a conditioned log, some samples at a time; Y has the given columns.

    The columns are stored after the first pass if they take no more memory than the log itself.
    """

    def __init__(self, columns: EquationColumns, ready: Conditioned, rests: RestWeights) -> None:
        self.columns, self.ready, self.rests = columns, ready, rests
        self._held: Array | None = None

    def __iter__(self) -> Iterator[EquationBlock]:
        ready, done, new = self.ready, 0, None
        width, samples = self.columns.parts[-1].stop, sum(piece.q.size for piece in ready.pieces)
        if self._held is None and width * ready.count <= HELD * samples:
            new = np.empty((width, ready.count))
        for piece, indices in ready.blocks():
            at = slice(done, done + len(indices))
            slope = np.gradient(piece.tau, 1.0 / ready.rate, axis=0)
            tau, slope = ready.low_passed(piece.tau.T, indices), ready.low_passed(slope.T, indices)
            if self._held is None:
                q, qd, qdd = piece.states
                qd = np.where(self.rests.still, 0.0, qd)
                rows = ready.low_passed(self.columns.rows(q, qd, qdd, piece.temperature), indices)
            else:
                rows = self._held[:, at]
            if new is not None:
                new[:, at] = rows
            yield EquationBlock(at, rows, tau, slope, self.rests.moving(piece.qd[indices], piece.resting[indices]))
            done = at.stop
        self._held = self._held if new is None else new

    def of(self, ready: Conditioned) -> LogEquations:
        """The same equations with the torques of another conditioned log with the same states."""
        other = LogEquations(self.columns, ready, self.rests)
        other._held = self._held
        return other

    @property
    def moving(self) -> NDArray[np.bool_]:
        """Which joints move at the kept samples: (M, n)."""
        return self.rests.moving(self.ready.qd, self.ready.resting)

    def predicted(self, values: Array) -> Array:
        """(M, n) the low-passed torques of ``values`` of the columns."""
        out = np.empty((self.ready.count, len(self.columns.parts)))
        for block in self:
            for j, (columns, part) in enumerate(zip(self.columns.columns, self.columns.parts, strict=True)):
                out[block.at, j] = values[columns] @ block.rows[part]
        return out

    @property
    def segments(self) -> NDArray[np.intp]:
        """The block of time of every kept sample, for errors from leaving some out: blocks of equal numbers of samples."""
        count = FINE * int(np.clip(self.ready.count // PER_BLOCK, 2, BLOCKS))
        return np.arange(self.ready.count) * count // self.ready.count

    def gathered(
        self, size: int, labels: NDArray[np.intp] | None = None, weights: Array | None = None, step: Progress = silent
    ) -> Evidence:
        """The evidence of all equations, in ``size`` columns.

        labels   the block of time of every kept sample, not used where negative; by default :attr:`segments`
        weights  (M, n) of the squares of the equations, besides those of rests
        """
        labels, columns = self.segments if labels is None else labels, self.columns.columns
        count = int(labels.max(initial=0)) + 1
        R = [[np.zeros((len(x) + 2, len(x) + 2), order="F") for _ in range(count)] for x in columns]
        rows, extended = np.zeros((len(R), count)), scipy.linalg.lapack.dtpqrt
        for block in self:
            factors = np.where(block.moving, 1.0, self.rests.factor).T
            if weights is not None:
                factors = factors * np.sqrt(weights[block.at]).T
            runs = [(label, some) for label, some in runs_of_equal(labels[block.at]) if label >= 0]
            for j, part in enumerate(self.columns.parts):
                equations = np.vstack([block.rows[part], -block.slope[j], block.tau[j]]) * factors[j]
                for label, some in runs:
                    panel, new = min(PANEL, len(equations)), equations[:, some].T
                    R[j][label] = extended(0, panel, R[j][label], new, overwrite_a=True, overwrite_b=True)[0]
                    rows[j, label] += np.count_nonzero(block.moving[some, j])
            step("regressor", block.at.stop / self.ready.count)
        return Evidence(tuple(map(np.array, R)), tuple(columns), rows, size)


def runs_of_equal(labels: NDArray[np.intp]) -> Iterator[tuple[int, slice]]:
    """(label, slice) of every run of equal labels."""
    cuts = np.flatnonzero(np.diff(labels)) + 1
    for start, end in zip([0, *cuts], [*cuts, len(labels)], strict=True):
        if end > start:
            yield int(labels[start]), slice(int(start), int(end))


@brief
@dataclass(frozen=True)
class TriangularSystem:
    """The data of any number of equations Yπ = τ that least squares needs.

    R        (p, p) upper triangular, RᵀR = YᵀY
    z        (p,), Rᵀz = Yᵀτ: the estimates solve Rπ = z
    rss      the sum of squares of τ that no π can explain
    rows     number of equations
    columns  (p,) the base parameters of R's columns
    """

    R: Array
    z: Array
    rss: float
    rows: int
    columns: NDArray[np.intp]

    def squares(self, pi: Array) -> float:
        """‖Yπ − τ‖² for any π."""
        return float(np.sum((self.R @ pi - self.z) ** 2) + self.rss)


def triangle(equations: Array, rows: int, columns: NDArray[np.intp]) -> TriangularSystem:
    """The triangle of equations [Y, τ]; the diagonal of R is nonnegative.

    If Y's columns are dependent, the part of z that no π can reach is added to rss: R and z still satisfy RᵀR = YᵀY and
    Rᵀz = Yᵀτ.
    """
    p = len(columns)
    whole = np.zeros((p + 1, p + 1))
    upper = np.linalg.qr(equations, mode="r") if len(equations) else np.zeros((0, p + 1))
    whole[: len(upper)] = upper[: p + 1]
    whole *= np.where(np.diag(whole) < 0, -1.0, 1.0)[:, None]
    R, z, rss = whole[:p, :p], whole[:p, p].copy(), float(whole[p, p] ** 2)
    U, singular, _ = np.linalg.svd(R / column_lengths(R))
    lost = U[:, singular <= RANK * singular.max(initial=0.0)]
    apart = lost @ (lost.T @ z)
    return TriangularSystem(R, z - apart, rss + float(apart @ apart), rows, columns)


@record
class Evidence:
    """The triangles of a log's equations.

    triangles  for every joint (S, p + 2, p + 2): of [Y, −τ̇, τ], per block of time
    columns    for every joint the base parameters (p,) of its columns of Y
    rows       (n, S) number of equations in which the joint moves
    size       number of base parameters
    lag        compensated delay of the torques behind the states (s): τ + lag τ̇ takes the place of τ
    """

    triangles: tuple[Array, ...]
    columns: tuple[NDArray[np.intp], ...]
    rows: Array
    size: int
    lag: float = 0.0

    @classmethod
    def of_equations(cls, Y: Sequence[Array], tau: Sequence[Array]) -> Evidence:
        """The evidence of equations Y (M, p), τ (M,) of each joint that have been computed, as one block of time."""
        triangles = [
            np.asarray(np.linalg.qr(np.column_stack([rows, np.zeros(len(rows)), right]), mode="r"))[None]
            for rows, right in zip(Y, tau, strict=True)
        ]
        size = Y[0].shape[1]
        return cls(tuple(triangles), (np.arange(size),) * len(Y), np.array([[len(x)] for x in tau], float), size)

    @property
    def count(self) -> int:
        """The number of blocks of time."""
        return self.rows.shape[1]

    @cached_property
    def joints(self) -> tuple[TriangularSystem, ...]:
        """One triangle per joint for all of its equations."""
        systems = []
        for R, columns, rows in zip(self.triangles, self.columns, self.rows, strict=True):
            equations = np.vstack(list(R))
            equations = np.column_stack([equations[:, :-2], equations[:, -1] - self.lag * equations[:, -2]])
            systems.append(triangle(equations, int(rows.sum()), columns))
        return tuple(systems)

    def together(self, weights: Array | None = None) -> TriangularSystem:
        """One triangle of all joints, the equations of joint i multiplied by ``weights[i]``: 1/σ_i to weight by noise."""
        stacked = []
        for joint, weight in zip(self.joints, np.ones(len(self.joints)) if weights is None else weights, strict=True):
            wide = np.zeros((len(joint.z) + 1, self.size + 1))  # [[R, z], [0, √rss]], the triangle of [Y, τ]
            wide[:-1, joint.columns], wide[:-1, -1], wide[-1, -1] = joint.R, joint.z, np.sqrt(joint.rss)
            stacked.append(weight * wide)
        return triangle(np.vstack(stacked), sum(joint.rows for joint in self.joints), np.arange(self.size))

    @cached_property
    def grams(self) -> tuple[Array, ...]:
        """For every joint (S, p + 2, p + 2): RᵀR of its triangles, for sums over blocks."""
        return tuple(R.transpose(0, 2, 1) @ R for R in self.triangles)


def column_lengths(A: ArrayLike) -> Array:
    """The length of every column, or 1 if it is zero: the divisors that scale columns to length one."""
    length = np.linalg.norm(A, axis=0)
    return np.where(length > 0, length, 1.0)
