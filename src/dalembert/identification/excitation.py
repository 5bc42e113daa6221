"""Exciting trajectories: motions that show an arm's parameters best, S 7.4.

The motion is a finite Fourier series, repeated over whole periods, that starts and ends at rest: q̇ = 0
and q̈ = 0 at both ends are linear in the coefficients and are eliminated exactly. What is minimised is a
function of A = Ȳ_bᵀȲ_b / N, where Ȳ_b holds the columns of the base parameters at N instants:

    condition          cond Ȳ_b = √(λ_max/λ_min) as it stands, in SI units, as Gaz et al. count it. In its place
                       the optimiser sees (log tr Aᵖ + log tr A⁻ᵖ)/2p, which is smooth and tends to log cond
    scaled-condition   the same with every column scaled to length one
    d-optimal          −log det A, the volume of the parameters' error ellipsoid; no scaling of columns and no
                       choice of base parameters changes it but for a constant

under limits on positions, velocities, accelerations, torques, and the height of the arm over the floor.
Gradients are exact: ∂A enters as a matrix of weights G on Ȳ_b, and one compiled kernel gives
∂(Σ G∘Y)/∂(q, q̇, q̈) by reverse mode. Only sgn q̇ of Coulomb friction is smoothed, for the optimiser alone.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert import gradients
from dalembert.arm import Arm
from dalembert.errors import ClosureError, DalembertError
from dalembert.identification.base import BaseParameters, base_parameters
from dalembert.identification.parameters import COULOMB, FRICTION, WIDTH, ParameterSet, tree_of
from dalembert.kernel.one_thread import one_thread
from dalembert.trajectory.checks import joints as per_joint
from dalembert.trajectory.checks import positive
from dalembert.trajectory.fourier import fourier
from dalembert.trajectory.trajectory import Trajectory

Array = NDArray[np.floating[Any]]
Progress = Callable[[float, float], None]

CRITERIA = ("condition", "scaled-condition", "d-optimal")
PERIOD = 10.0  # s: about how long a period is unless its frequency is given
SAMPLES = 24  # instants a period of the highest harmonic, for the optimiser
FINE = 4  # times as many, to check what it found
SMOOTH = 0.02  # of the largest speed: below this sgn q̇ is smoothed
FLAT = 1e-18  # of the largest eigenvalue: what is smaller counts as this
UNEVEN = 100.0  # columns that differ more in length are scaled before eigenvalues are taken
POWERS = (1.0, 2.0, 4.0, 8.0, 16.0)  # p of the smooth condition number, round after round
ROUNDS = 3  # of those for every start; the best goes on through the others
LAST = 3  # more rounds with the largest p
STEPS = 200  # of the optimiser in a round
STIFF = 300.0  # ρ of the limits at first; twice as much every round
MISMATCH = 30.0  # times the scaled condition number: a condition number that tells of units alone
CORNERS = 500  # of a box of positions, and points inside it, at which loops are tried
FAR = 1e6  # what such a motion counts for
ROOM = 0.9  # of the largest such box
POSTURES = 4000  # tried at random for one that all limits allow


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion for identification, and how well it shows the base parameters.

    trajectory        the :class:`~dalembert.Trajectory`, at rest at both ends, within all limits
    criterion         what was optimised, ``value`` what became of it
    condition         of Ȳ_b as it stands, in SI units; ``condition_scaled`` with columns of length one
    log_det           log det of Ȳ_bᵀȲ_b / N
    base              the base parameters that Ȳ_b has columns for
    coefficients      (2, n, L) sine and cosine amplitudes, ``offset`` (n,), ``base_frequency`` (Hz)
    history           best value after every round
    seconds           what it took, interrupted whether Ctrl-C ended it early
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
    base_frequency: float
    history: tuple[float, ...]
    seconds: float
    interrupted: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def value(self) -> float:
        """The criterion's own number: a condition number, or log det."""
        return {
            "condition": self.condition, "scaled-condition": self.condition_scaled, "d-optimal": self.log_det,
        }[self.criterion]  # fmt: skip

    def save(self, path: str | os.PathLike[str], *, rate: float = 100.0, overwrite: bool = True) -> None:
        """Write the motion as CSV: t, q, qd, qdd, and the torques that the arm's model says it takes."""
        self.trajectory.save(path, arm=self.arm, rate=rate, overwrite=overwrite)


def excite(
    arm: Arm,
    *,
    duration: float = 30.0,
    harmonics: int = 5,
    base_frequency: float | None = None,
    criterion: str = "condition",
    friction: Sequence[str] = FRICTION,
    torque_offset: bool = True,
    rotor: bool | None = None,
    clearance: float | None = 0.1,
    share: float = 1.0,
    start: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    starts: int = 4,
    seed: int = 0,
    progress: Progress | None = None,
) -> Excitation:
    """A motion that shows the base parameters of ``arm`` best, within its limits.

    duration        s, a whole number of periods
    harmonics       L of the Fourier series
    base_frequency  Hz; unless given, periods take about 10 s. L times this is the highest frequency: keep it
                    well below what bends the arm
    criterion       "condition", "scaled-condition" or "d-optimal"
    friction        of "viscous" and "coulomb", those to be identified; torque_offset: a constant for each joint
    rotor           rotor inertias, too; where the arm has some, unless said
    clearance       m that joints, link frames and tip stay above the base's origin; None where there is no floor
    share           of every limit that may be used, such as 0.9
    start           (n,) where the motion begins and ends; free unless given
    noise           (n,) standard deviations of the torques (N m), to weight the joints' equations by
    starts, seed    of how many random motions the best is refined; the same seed gives the same motion
    progress        called with the fraction done and the best value so far

    Ctrl-C ends it with the best motion so far.

    >>> import dalembert as da
    >>> found = excite(da.load("pendulum"), duration=10.0, harmonics=3, clearance=None, starts=1)
    >>> found.condition < 50, found.trajectory.limits_report(da.load("pendulum"), torque=True)
    (True, [])
    """
    began = time.monotonic()
    if criterion not in CRITERIA:
        raise DalembertError(f"there is no criterion '{criterion}'; known are {', '.join(CRITERIA)}")
    if harmonics < 2:
        raise DalembertError(f"harmonics is {harmonics}; a motion from rest to rest needs 2 or more")
    if starts < 1:
        raise DalembertError(f"starts is {starts}; at least one motion must be tried")
    if not 0 < share <= 1:
        raise DalembertError(f"share is {share:g}; it is the part of every limit to use, above 0 and at most 1")
    (duration,) = positive("duration", duration, 1)
    f, periods = _frequency(float(duration), base_frequency)
    rotor = any(body.has_rotor for body in tree_of(arm).bodies) if rotor is None else rotor
    base = base_parameters(ParameterSet(arm, tuple(friction), offset=torque_offset, rotor=rotor))
    weights = np.ones(arm.n) if noise is None else 1.0 / positive("noise", noise, arm.n)
    limits = Limited(arm, share, clearance, None if start is None else per_joint("start", start, arm.n))
    problem = Problem(arm, base, limits, f, harmonics, criterion, weights)
    search = Search(problem, starts, seed, progress)
    interrupted = False
    try:
        with one_thread():
            search.run()
    except KeyboardInterrupt:
        if search.best is None:
            raise
        interrupted = True
    assert search.best is not None
    coefficients, centre = problem.series(search.best)
    motion = fourier(coefficients, f, centre, duration=periods / f)
    found = problem.measured(search.best)
    if criterion == "condition" and found[0] > MISMATCH * found[1]:
        limits.notes.append(
            f"the condition number, {found[0]:.3g}, is mostly that of columns of different size ({found[1]:.3g} with columns "
            "of length one): 'scaled-condition' or 'd-optimal' say more about this arm"
        )
    return Excitation(
        arm, motion, criterion, *found, base, coefficients, centre, f, tuple(search.history),
        time.monotonic() - began, interrupted, tuple(limits.notes),
    )  # fmt: skip


def _frequency(duration: float, given: float | None) -> tuple[float, int]:
    """The base frequency (Hz), and how many periods the motion has."""
    if given is None:
        periods = max(1, round(duration / PERIOD))
        return periods / duration, periods
    (f,) = positive("base_frequency", given, 1)
    periods = round(float(f) * duration)
    if periods < 1 or abs(periods - f * duration) > 1e-6 * periods:
        raise DalembertError(
            f"{duration:g} s hold {f * duration:.4g} periods of {f:g} Hz; a motion that ends at rest has a whole number"
        )
    return float(f), periods


# -- limits ----------------------------------------------------------------------------------------


class Limited:
    """The limits of an arm as smooth functions of its motion, each ≤ 0 where it is kept.

    ``home`` is a posture that all of them allow, the farther from each the better: motions shrink towards it.
    """

    def __init__(self, arm: Arm, share: float, clearance: float | None, start: Array | None) -> None:
        self.arm, self.clearance, self.anchored = arm, clearance, start is not None
        self.notes: list[str] = []
        n, given = arm.n, [joint.limits for joint in arm.robot.moving_joints]
        reach = np.array([1.0 if joint.type == "prismatic" else np.pi for joint in arm.robot.moving_joints])
        low = np.array([-r if one.lower is None else one.lower for one, r in zip(given, reach, strict=True)])
        high = np.array([r if one.upper is None else one.upper for one, r in zip(given, reach, strict=True)])
        free = [
            j.name for j, one in zip(arm.robot.moving_joints, given, strict=True) if one.lower is None or one.upper is None
        ]  # fmt: skip
        if free:
            self.notes.append(f"without position limits: {', '.join(free)}; they stay within ±π rad (sliding: ±1 m)")
        shut = [arm.joint_names[j] for j in range(n) if not high[j] > low[j]]
        if shut:
            raise DalembertError(f"joint '{shut[0]}' of arm '{arm.name}' has no room between its position limits")
        self.middle, self.half = 0.5 * (low + high), 0.5 * share * (high - low)
        if arm.robot.loops:
            self._closing()
        self.velocity = self._sizes("velocity") * share
        self.acceleration = self._sizes("acceleration") * share
        coulomb = self._coulomb()
        self.effort = self._sizes("effort") * share - coulomb  # the model's Coulomb friction may add as much
        weak = [arm.joint_names[j] for j in range(n) if not self.effort[j] > 0]
        if weak:
            raise DalembertError(f"the effort limit of joint '{weak[0]}' does not overcome its own Coulomb friction")
        for kind in ("velocity", "acceleration", "effort"):
            if not np.isfinite(self._sizes(kind)).any():
                self.notes.append(f"arm '{arm.name}' has no {kind} limits, so none are kept")
        friction_free = [
            _without_coulomb(joint) if joint.moves else joint for joint in arm.robot.joints
        ]  # fmt: skip
        self.smooth = arm.replace(joints=tuple(friction_free)).mechanism
        self.torque = gradients.kernel(self.smooth, "torque", gradient=False)
        self.torque_slope = gradients.kernel(self.smooth, "torque")
        self.points: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.tall = 1.0
        if clearance is not None:
            self._floor(clearance)
        self.home = self._home(start)

    def _closing(self) -> None:
        """Of a closed chain, the largest part of the joints' ranges around its branch in which its loops close."""
        arm, home = self.arm, self.arm._home
        low, high = self.middle - self.half, self.middle + self.half
        corners = np.random.default_rng(2).uniform(-1, 1, (CORNERS, arm.n))
        corners = np.vstack([corners, np.sign(corners)])

        def box(s: float) -> tuple[Array, Array]:
            return home + s * np.minimum(low - home, 0.0), home + s * np.maximum(high - home, 0.0)

        def closes(s: float) -> bool:
            a, b = box(s)
            return bool(arm.closes(0.5 * (a + b) + 0.5 * (b - a) * corners).all())  # type: ignore[attr-defined]

        if closes(1.0):
            return
        inner, outer = 0.0, 1.0
        for _ in range(20):
            s = 0.5 * (inner + outer)
            inner, outer = (s, outer) if closes(s) else (inner, s)
        a, b = box(ROOM * inner)
        self.middle, self.half = 0.5 * (a + b), 0.5 * (b - a)
        words = ", ".join(f"{n} {x:.3g} … {y:.3g}" for n, x, y in zip(arm.joint_names, a, b, strict=True))
        self.notes.append(f"the loops do not close everywhere, so the motion stays where they do: {words} rad")

    def _coulomb(self) -> Array:
        """The most that Coulomb friction takes of every actuated joint, passive joints' with it: (n,)."""
        levels = np.array([max(map(float, body.coulomb)) for body in tree_of(self.arm).bodies])
        return levels @ self.follows if self.arm.robot.loops else levels

    @cached_property
    def follows(self) -> Array:
        """Of a closed chain, the largest |Γ| seen: how fast passive joints follow, (N, n)."""
        at = self.middle + self.half * np.random.default_rng(0).uniform(-1, 1, (1000, self.arm.n))
        return np.asarray(np.abs(self.arm.closure_jacobian(at)).max(axis=0))  # type: ignore[attr-defined]

    def _sizes(self, kind: str) -> Array:
        values = [getattr(joint.limits, kind) for joint in self.arm.robot.moving_joints]
        return np.array([np.inf if v is None else float(v) for v in values])

    def _floor(self, clearance: float) -> None:
        """Which points of the arm can come near the floor at all."""
        if not any(float(g) for g in self.arm.mechanism.gravity):
            self.notes.append(f"arm '{self.arm.name}' has no gravity, so no floor is known and none is kept clear of")
            return
        self.height = gradients.kernel(self.arm.mechanism, "heights", gradient=False)
        self.height_slope = gradients.kernel(self.arm.mechanism, "heights")
        rng = np.random.default_rng(0)
        at = self.middle + self.half * rng.uniform(-1, 1, (1000, self.arm.n))
        heights = self.height(self.arm._placed(at))
        self.tall = max(float(np.ptp(heights)), 1e-9)
        self.points = np.ptp(heights, axis=0) > 1e-9 * self.tall

    @property
    def torque_counts(self) -> bool:
        return bool(np.isfinite(self.effort).any())

    def _home(self, start: Array | None) -> Array:
        rng = np.random.default_rng(1)
        tried = self.middle + self.half * np.vstack([np.zeros(self.arm.n), rng.uniform(-1, 1, (POSTURES, self.arm.n))])
        if start is not None:
            tried = start[None]
        rest = np.zeros_like(tried)
        worst = self.worst(tried, rest, rest)
        best = int(np.argmin(worst))
        if worst[best] > (1e-9 if start is not None else -1e-3):
            which = "start is" if start is not None else f"no posture of arm '{self.arm.name}' was found that is"
            floor = "" if self.clearance is None else f" and {self.clearance:g} m above the floor (clearance)"
            raise DalembertError(
                f"{which} {'not ' * (start is not None)}within the limits of position and torque{floor}"
            )
        return tried[best]

    def parts(self, q: Array, qd: Array, qdd: Array) -> Iterator[tuple[str, Array, Array]]:
        """(kind, value, scale) of every limit: |value| ≤ scale, but for heights, where value ≥ scale."""
        yield "q", q - self.middle, self.half
        if np.isfinite(self.velocity).any():
            yield "qd", qd, self.velocity
        if np.isfinite(self.acceleration).any():
            yield "qdd", qdd, self.acceleration
        if self.torque_counts:
            yield "tau", self.torque(self.arm._placed(q), qd, qdd), self.effort
        if self.points.any():
            yield "height", self.height(self.arm._placed(q)), np.array(self.clearance)

    def worst(self, q: Array, qd: Array, qdd: Array) -> Array:
        """(N,) the largest excess over any limit, in parts of it; below zero where all are kept."""
        out = np.full(len(q), -np.inf)
        for kind, value, scale in self.parts(q, qd, qdd):
            low = kind == "height"
            excess = (scale - value[:, self.points]) / self.tall if low else np.abs(value) / scale - 1.0
            out = np.maximum(out, excess.max(axis=1))
        return out


def _without_coulomb(joint: Any) -> Any:
    from dataclasses import replace

    rotor = None if joint.rotor is None else replace(joint.rotor, coulomb=(0.0, 0.0))
    return replace(joint, friction=replace(joint.friction, coulomb=(0.0, 0.0)), rotor=rotor)


# -- the problem -----------------------------------------------------------------------------------


class Problem:
    """Coefficients x (n, 1 + 2L − 2) → motion → criterion and limits, with exact gradients.

    x[:, 0] is a joint's mean position and the others span the series that are at rest at both ends, all in
    halves of the joint's range.
    """

    def __init__(
        self, arm: Arm, base: BaseParameters, limits: Limited, f: float, L: int, criterion: str, weights: Array
    ) -> None:
        self.arm, self.base, self.limits = arm, base, limits
        self.f, self.L, self.criterion, self.weights = f, L, criterion, weights
        l = np.arange(1, L + 1)
        rest = np.zeros((2, 2 * L))  # q̇(0) = Σ l ω a_l = 0 and q̈(0) = −Σ (l ω)² b_l = 0
        rest[0, :L], rest[1, L:] = l, l**2
        self.basis = np.linalg.svd(rest)[2][2:].T  # (2L, 2L − 2), orthonormal
        self.anchored = limits.anchored
        self.few = self._shapes(SAMPLES * L)
        self.many = self._shapes(FINE * SAMPLES * L)
        columns = [base.parameters._plan[k][1] for k in base.independent]
        n, wide = arm.n, WIDTH * base.parameters.links
        inner = [c < wide and c % WIDTH < COULOMB for c in columns]
        self.traced = tuple(c for c, own in zip(columns, inner, strict=True) if own)
        self.at = np.flatnonzero(inner)
        self.columns = gradients.kernel(arm.mechanism, "regressor", self.traced, gradient=False)
        self.columns_slope = gradients.kernel(arm.mechanism, "regressor", self.traced)
        self.coulomb = [(k, c // WIDTH) for k, c in enumerate(columns) if c < wide and c % WIDTH == COULOMB]
        moved = base.parameters.actuated
        self.constant = [(k, moved.index((c - wide) // 3)) for k, c in enumerate(columns) if c >= wide]
        self.size = (n, (0 if self.anchored else 1) + self.basis.shape[1])
        self.evaluations = 0

    def _shapes(self, count: int) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration of every basis function at even instants of a period: (N, 2L − 2)."""
        w = 2 * np.pi * self.f * np.arange(1, self.L + 1)
        angle = np.outer(np.arange(count) / (count * self.f), w)
        s, c = np.sin(angle), np.cos(angle)
        P, V, A = np.hstack([s, c]), np.hstack([c * w, -s * w]), np.hstack([-s * w**2, -c * w**2])
        if self.anchored:  # from where it starts, not from its mean
            P = P - P[0]
        return P @ self.basis, V @ self.basis, A @ self.basis

    def _amplitudes(self, x: Array) -> tuple[Array, Array]:
        """(mean or start (n,), shapes (n, 2L − 2)), in rad."""
        half = self.limits.half[:, None]
        if self.anchored:
            return self.limits.home, half * x
        return self.limits.middle + self.limits.half * x[:, 0], half * x[:, 1:]

    def motion(self, x: Array, shapes: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """q, q̇, q̈ at the instants of ``shapes``."""
        centre, z = self._amplitudes(x)
        P, V, A = shapes
        return centre + P @ z.T, V @ z.T, A @ z.T

    def back(self, dq: Array, dqd: Array, dqdd: Array, shapes: tuple[Array, Array, Array]) -> Array:
        """∂/∂x from ∂/∂(q, q̇, q̈): the transpose of :meth:`motion`."""
        P, V, A = shapes
        half = self.limits.half[:, None]
        dz = half * (dq.T @ P + dqd.T @ V + dqdd.T @ A)
        return dz if self.anchored else np.hstack([half * dq.sum(axis=0)[:, None], dz])

    def series(self, x: Array) -> tuple[Array, Array]:
        """(2, n, L) amplitudes and (n,) offset for :func:`dalembert.fourier`."""
        centre, z = self._amplitudes(x)
        ab = z @ self.basis.T
        if self.anchored:
            centre = centre - ab[:, self.L :].sum(axis=1)
        return np.stack([ab[:, : self.L], ab[:, self.L :]]), centre

    def shrunk(self, x: Array, s: float) -> Array:
        """The motion moved a part of the way to the posture that all limits allow."""
        y = s * x
        if not self.anchored:
            home = (self.limits.home - self.limits.middle) / self.limits.half
            y[:, 0] = home + s * (x[:, 0] - home)
        return y

    def within_limits(self, x: Array) -> Array:
        """The same motion, shrunk towards home just as much as the limits ask for."""

        def allowed(s: float) -> bool:
            try:
                return bool(self.limits.worst(*self.motion(self.shrunk(x, s), self.many)).max() <= -1e-6)
            except ClosureError:
                return False

        if not allowed(1.0):
            low, high = 0.0, 1.0
            for _ in range(30):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if allowed(middle) else (low, middle)
            x = self.shrunk(x, low)
        for _ in range(60):  # what lies between the instants
            coefficients, centre = self.series(x)
            if not fourier(coefficients, self.f, centre).limits_report(self.arm, torque=True):
                break
            x = self.shrunk(x, 1 - 1e-3)
        return x

    # -- the criterion -------------------------------------------------------------------------------

    def regressor(self, q: Array, qd: Array, qdd: Array, smooth: Array | None) -> Array:
        """Ȳ_b weighted, (N, n, b); with sgn smoothed where a speed is given for each joint."""
        Y = np.zeros((len(q), self.arm.n, self.base.rank))
        Y[:, :, self.at] = self.columns(self.arm._placed(q), qd, qdd)
        Gamma, speeds = self._followed(q, qd)
        for k, j in self.coulomb:
            level = np.sign(speeds[:, j]) if smooth is None else np.tanh(speeds[:, j] / smooth[j])
            if Gamma is None:
                Y[:, j, k] = level
            else:
                Y[:, :, k] = Gamma[:, j] * level[:, None]
        for k, j in self.constant:
            Y[:, j, k] = 1.0
        return Y * self.weights[:, None]

    def _followed(self, q: Array, qd: Array) -> tuple[Array | None, Array]:
        """(Γ, q̇ of all joints of the tree); of an open arm (None, q̇)."""
        if not self.arm.robot.loops:
            return None, qd
        Gamma = self.arm.closure_jacobian(q)  # type: ignore[attr-defined]
        return Gamma, (Gamma @ qd[..., None])[..., 0]

    @cached_property
    def slow(self) -> Array:
        """The speeds below which sgn is smoothed, of passive joints too."""
        fastest = np.minimum(self.limits.velocity, 2 * np.pi * self.f * self.L * self.limits.half)
        if self.arm.robot.loops:
            fastest = self.limits.follows @ fastest
        return np.asarray(SMOOTH * fastest, dtype=np.float64)

    def objective(self, x: Array, p: float) -> tuple[float, Array, tuple[Array, Array, Array]]:
        """(criterion, ∂/∂x, the motion), smooth."""
        self.evaluations += 1
        state = self.motion(x, self.few)
        q, qd, qdd = state
        Y = self.regressor(q, qd, qdd, self.slow)
        flat = Y.reshape(-1, self.base.rank)
        A = flat.T @ flat / len(q)
        value, dA = criterion_gradient(A, self.criterion, p)
        G = (flat @ (2.0 / len(q) * dA)).reshape(Y.shape) * self.weights[:, None]
        dq, dqd, dqdd = self.columns_slope(self.arm._placed(q), qd, qdd, np.ascontiguousarray(G[:, :, self.at]))
        Gamma, speeds = self._followed(q, qd)
        for k, j in self.coulomb:
            level = np.tanh(speeds[:, j] / self.slow[j])
            steep = (1.0 - level**2) / self.slow[j]
            if Gamma is None:
                dqd[:, j] += G[:, j, k] * steep
            else:
                more, faster = self._friction_slope(q, qd, Gamma[:, j], G[:, :, k], level, steep, j)
                dq, dqd = dq + more, dqd + faster
        return value, self.back(dq, dqd, dqdd, self.few), state

    def _friction_slope(
        self, q: Array, qd: Array, row: Array, g: Array, level: Array, steep: Array, j: int
    ) -> tuple[Array, Array]:
        """∂/∂q and ∂/∂q̇ of (Γ_j g) tanh(Γ_j q̇ / v): since Γ_j = ∂γ_j/∂q, ∂(Γ_j x)/∂q is row j of Γ̇ along x."""
        push = (row * g).sum(axis=1) * steep
        turned = self.arm.closure_derivative  # type: ignore[attr-defined]
        dq = level[:, None] * turned(q, g)[:, j] + push[:, None] * turned(q, qd)[:, j]
        return dq, push[:, None] * row

    def measured(self, x: Array) -> tuple[float, float, float]:
        """(condition, condition with scaled columns, log det) along the motion, sgn as it is."""
        q, qd, qdd = self.motion(x, self.many)
        flat = self.regressor(q, qd, qdd, None).reshape(-1, self.base.rank)
        s = np.linalg.svd(flat / np.sqrt(len(q)), compute_uv=False)
        length = np.linalg.norm(flat, axis=0)
        t = np.linalg.svd(flat / np.where(length > 0, length, 1.0), compute_uv=False)
        ratio = [float(v[0] / v[-1]) if v[-1] > 0 else float("inf") for v in (s, t)]
        return ratio[0], ratio[1], float(2.0 * np.log(np.maximum(s, 1e-300)).sum())

    def score(self, x: Array) -> float:
        """What is compared: the smaller the better."""
        condition, scaled, log_det = self.measured(x)
        return {"condition": condition, "scaled-condition": scaled, "d-optimal": -log_det}[self.criterion]

    def shown(self, score: float) -> float:
        """The score as a person reads it."""
        return -score if self.criterion == "d-optimal" else score

    # -- limits as a penalty -------------------------------------------------------------------------

    def penalty(
        self, state: tuple[Array, Array, Array], multipliers: dict[str, Array], rho: float
    ) -> tuple[float, Array, dict[str, Array]]:
        """Augmented Lagrangian of the limits: (Σ max(0, λ + ρg)² − λ²)/2ρN, its ∂/∂x, and the new λ."""
        N, limits = len(state[0]), self.limits
        total = 0.0
        slopes = {kind: np.zeros_like(state[0]) for kind in ("q", "qd", "qdd")}
        renewed: dict[str, Array] = {}
        for kind, value, scale in limits.parts(*state):
            if kind == "height":
                g = [(scale - value) / limits.tall]
                g[0][:, ~limits.points] = -1.0
            else:
                g = [value / scale - 1.0, -value / scale - 1.0]
            w = np.zeros_like(value)
            for side, one in enumerate(g):
                name = f"{kind}{side}"
                before = multipliers.get(name, 0.0)
                push = np.maximum(0.0, before + rho * one)
                total += float(np.sum(push**2 - np.square(before))) / (2 * rho * N)
                renewed[name] = push
                w += (1 - 2 * side) * push / N
            if kind == "height":
                slopes["q"] += limits.height_slope(self.arm._placed(state[0]), -w / limits.tall)
            elif kind == "tau":
                found = limits.torque_slope(self.arm._placed(state[0]), *state[1:], w / scale)
                for name, d in zip(("q", "qd", "qdd"), found, strict=True):
                    slopes[name] += d
            else:
                slopes[kind] += w / scale
        return total, self.back(slopes["q"], slopes["qd"], slopes["qdd"], self.few), renewed


def criterion_gradient(A: Array, criterion: str, p: float) -> tuple[float, Array]:
    """(value, ∂value/∂A) of the smooth criterion; A is symmetric and positive semidefinite."""
    if criterion == "scaled-condition":
        d = np.sqrt(np.maximum(np.diag(A), 1e-300))
        unit = A / np.outer(d, d)
        value, M = criterion_gradient(unit, "condition", p)
        dA = M / np.outer(d, d)
        dA[np.diag_indices_from(dA)] -= np.sum(M * unit, axis=1) / d**2
        return value, dA
    if criterion == "d-optimal":  # columns of length one for its digits; their lengths come back as a constant
        d = np.sqrt(np.maximum(np.diag(A), 1e-300))
        lam, V = np.linalg.eigh(A / np.outer(d, d))
        lam = np.maximum(lam, FLAT * lam[-1])
        return float(-np.log(lam).sum() - 2.0 * np.log(d).sum()), -((V / lam) @ V.T) / np.outer(d, d)
    lam, V = eigen(A)
    lam = np.maximum(lam, FLAT * lam[-1])
    logs = np.log(lam)
    up, down = np.exp(p * (logs - logs[-1])), np.exp(-p * (logs - logs[0]))
    value = 0.5 * (logs[-1] - logs[0] + (np.log(up.sum()) + np.log(down.sum())) / p)
    slope = 0.5 * (up / up.sum() - down / down.sum()) / lam
    return float(value), (V * slope) @ V.T


def eigen(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, upwards, and eigenvectors of A = Ȳᵀ Ȳ.

    Where columns differ much in length, the small ones would drown in the rounding of the large ones: then from
    the singular values of a triangle R with RᵀR = A, made from columns of length one.
    """
    d = np.sqrt(np.maximum(np.diag(A), 1e-300))
    if d.max() > UNEVEN * d.min():
        with contextlib.suppress(np.linalg.LinAlgError):
            _, s, Vt = np.linalg.svd(np.linalg.cholesky(A / np.outer(d, d)).T * d)
            return s[::-1] ** 2, Vt[::-1].T
    lam, V = np.linalg.eigh(A)
    return lam, V


# -- the search ------------------------------------------------------------------------------------


class Search:
    """Random motions, each improved a little; the best of them improved further."""

    def __init__(self, problem: Problem, starts: int, seed: int, progress: Progress | None) -> None:
        self.problem, self.starts, self.seed, self.progress = problem, starts, seed, progress
        self.best: Array | None = None
        self.score = float("inf")
        self.history: list[float] = []
        self.done, self.planned = 0, (starts - 1) * ROUNDS + len(POWERS) + LAST

    def run(self) -> None:
        """All of it; ``best`` always holds a motion within the limits."""
        ends = []
        for k in range(self.starts):
            rng = np.random.default_rng([self.seed, k])
            x = 0.3 * rng.normal(size=self.problem.size) / np.sqrt(self.problem.size[1])
            if not self.problem.anchored:
                x[:, 0] = (self.problem.limits.home - self.problem.limits.middle) / self.problem.limits.half
            x = self.problem.within_limits(x)
            self._offer(x)
            x, multipliers = self._improved(x, POWERS[:ROUNDS], STIFF, {})
            ends.append((self.problem.score(self.problem.within_limits(x)), k, x, multipliers))
        _, _, x, multipliers = min(ends, key=lambda end: end[:2])
        self._improved(x, POWERS[ROUNDS:] + POWERS[-1:] * LAST, STIFF * 2**ROUNDS, multipliers)

    def _improved(
        self, x: Array, powers: tuple[float, ...], rho: float, multipliers: dict[str, Array]
    ) -> tuple[Array, dict[str, Array]]:
        from scipy.optimize import minimize

        problem = self.problem
        for p in powers:

            def both(flat: Array, p: float = p, m: dict[str, Array] = multipliers, rho: float = rho) -> Any:
                y = flat.reshape(problem.size)
                try:
                    value, slope, state = problem.objective(y, p)
                    extra, more, _ = problem.penalty(state, m, rho)
                except ClosureError:  # a step too far: loops that cannot be closed
                    return FAR, np.zeros(flat.size)
                return value + extra, (slope + more).ravel()

            steps = 0

            def stepped(_: Array) -> None:
                nonlocal steps
                steps += 1
                self._tell(steps / STEPS)

            found = minimize(both, x.ravel(), jac=True, method="L-BFGS-B", callback=stepped, options={"maxiter": STEPS, "maxcor": 20})  # fmt: skip
            x = found.x.reshape(problem.size)
            multipliers = problem.penalty(problem.motion(x, problem.few), multipliers, rho)[2]
            self.done += 1
            self._offer(problem.within_limits(x))
            self.history.append(problem.shown(self.score))
            rho *= 2.0
        return x, multipliers

    def _offer(self, x: Array) -> None:
        """Keep a motion if it is the best so far."""
        score = self.problem.score(x)
        if self.best is None or score < self.score:
            self.best, self.score = x, score
        self._tell(0.0)

    def _tell(self, part: float) -> None:
        if self.progress is not None:
            self.progress(min(1.0, (self.done + min(part, 1.0)) / self.planned), self.problem.shown(self.score))


__all__ = ["CRITERIA", "Excitation", "excite"]
