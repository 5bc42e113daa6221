"""Joint motions given by formulas: triangular and trapezoidal velocities, polynomials, and Fourier series."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.base.per_joint import per_joint
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.trajectory.planning.hermite import Hermite
from dalembert.work.trajectory.planning.motion_checks import both_ends, finite, positive
from dalembert.work.trajectory.planning.trajectory import Trajectory

ROUNDING = 1e-9  # relative: times and speeds that agree to this are equal


@record
class Trapezoids:
    """Each joint accelerates uniformly, cruises, decelerates uniformly, then stays at rest.

    q0, q1        (n,) initial and final positions
    durations     (n,) T of each joint (s); 0 for a joint that does not move
    acceleration_times  (n,) t_a of each joint (s), at most T/2; T/2 gives a triangle
    """

    q0: Array
    q1: Array
    durations: Array
    acceleration_times: Array

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        T, ta, last = self.durations, self.acceleration_times, self.durations.max()
        moves = T > 0
        v = np.divide(self.q1 - self.q0, T - ta, out=np.zeros_like(T), where=moves)  # cruising speed
        a = np.divide(v, ta, out=np.zeros_like(T), where=moves)
        t = np.minimum(t, last)[:, None]
        left = T - t
        speeding, slowing = t < ta, t >= T - ta
        standing = (left < 0) | ((left == 0) & (last > T)) | ~moves
        q = np.where(speeding, self.q0 + 0.5 * a * t**2, self.q0 + v * (t - 0.5 * ta))
        q = np.where(slowing, self.q1 - 0.5 * a * left**2, q)
        qd = np.where(speeding, a * t, np.where(slowing, a * left, v))
        qdd = np.where(speeding, a, np.where(slowing, -a, 0.0))
        return np.where(standing, self.q1, q), np.where(standing, 0.0, qd), np.where(standing, 0.0, qdd)


def _trapezoids(q0: Array, q1: Array, T: Array, ta: ArrayLike, synchronised: bool) -> Trajectory:
    """The motion, which ends with its slowest joint; acceleration times are limited to half the duration."""
    moves = q1 != q0
    T = np.where(moves, T, 0.0)
    if synchronised:
        T = np.where(moves, T.max(), 0.0)
    if not moves.any():
        raise DalembertError("q0 and q1 are equal, so there is no motion to plan")
    ta = np.minimum(np.where(moves, ta, 0.0), T / 2)
    return Trajectory(T.max(), len(T), Trapezoids(q0, q1, T, ta), tuple(np.unique([*ta, *(T - ta), *T])))


def triangular(
    q0: ArrayLike,
    q1: ArrayLike,
    *,
    duration: ArrayLike | None = None,
    max_velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    synchronised: bool = False,
) -> Trajectory:
    """A motion with triangular velocities: acceleration during the first half, deceleration during the second.

    q0, q1        (n,) initial and final positions (rad or m), at rest in both
    duration      T (s), or
    max_velocity  peak velocity v (rad/s), which gives T = 2|q1 − q0|/v, or
    acceleration  a (rad/s²), which gives T = 2 √(|q1 − q0|/a)
    synchronised  all joints arrive together with the slowest; otherwise each takes its own time and
                  then stays at rest
    Exactly one of the three is given, as one number for all joints or one per joint.

    >>> import numpy as np
    >>> motion = triangular([0.0, 1.0], [np.pi / 2, 1.0 + np.pi / 2], duration=0.5)
    >>> motion(0.25)[1].round(3)
    array([6.283, 6.283])
    """
    q0, q1 = both_ends(q0, q1)
    given = _given(len(q0), duration=duration, max_velocity=max_velocity, acceleration=acceleration)
    if len(given) != 1:
        raise DalembertError(
            f"a triangular motion needs exactly one of duration, max_velocity and acceleration, not {' and '.join(given) or 'none of them'}"
        )
    d = np.abs(q1 - q0)
    ((name, value),) = given.items()
    T = {"duration": value, "max_velocity": 2 * d / value, "acceleration": 2 * np.sqrt(d / value)}[name]
    return _trapezoids(q0, q1, T, np.inf, synchronised)


def trapezoidal(
    q0: ArrayLike,
    q1: ArrayLike,
    *,
    acceleration_time: ArrayLike | None = None,
    max_velocity: ArrayLike | None = None,
    duration: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    synchronised: bool = False,
) -> Trajectory:
    """A motion with trapezoidal velocities: acceleration, constant velocity, deceleration, as in S Example 7.2.

    q0, q1             (n,) initial and final positions (rad or m), at rest in both
    acceleration_time  t_a (s), duration of the acceleration and of the deceleration
    max_velocity       v (rad/s), the cruise velocity
    duration           T = |q1 − q0|/v + t_a (s)
    acceleration       a = v/t_a (rad/s²)
    synchronised       all joints arrive together with the slowest; otherwise each takes its own time
                       and then stays at rest

    Give two of the first three, or acceleration with max_velocity or duration, as one number for all
    joints or one per joint. If the distance is too short to reach v, the profile becomes a triangle: a given
    acceleration_time is kept and the peak is lowered to |q1 − q0|/t_a; a given acceleration is kept
    and the peak is lowered to √(a |q1 − q0|). ``synchronised`` keeps every joint's t_a and lowers its v.

    >>> motion = trapezoidal([0.0, 0.0], [1.0, -2.0], acceleration_time=0.15, max_velocity=5.0)
    >>> round(motion.duration, 6), motion(0.2)[1], motion(0.4)[1].round(6)
    (0.55, array([ 5., -5.]), array([ 0., -5.]))
    """
    q0, q1 = both_ends(q0, q1)
    d = np.abs(q1 - q0)
    given = _given(
        len(q0), acceleration_time=acceleration_time, max_velocity=max_velocity, duration=duration,
        acceleration=acceleration,
    )  # fmt: skip
    match given:
        case {"acceleration_time": ta, "max_velocity": v, **rest} if not rest or set(rest) == {"duration"}:
            T = np.maximum(d / v + ta, 2 * ta)
            wanted, way = rest.get("duration", T), T
            _possible(np.isclose(wanted, way, rtol=ROUNDING, atol=0), d, lambda j: (
                        f"a duration of {wanted[j]:g} s contradicts the {way[j]:g} s that follow from "
                        "acceleration_time and max_velocity; omit one of the three"
            ))  # fmt: skip
        case {"acceleration_time": ta, "duration": T, **rest} if not rest:
            _possible(2 * ta <= T * (1 + ROUNDING), d, lambda j: (
                f"an acceleration time of {ta[j]:g} s at both ends does not fit into a duration of {T[j]:g} s"
            ))  # fmt: skip
        case {"max_velocity": v, "duration": T, **rest} if not rest:
            _possible(v * T > d, d, lambda j: (
                        f"a distance of {d[j]:g} in {T[j]:g} s needs more than the maximum velocity of {v[j]:g}"
            ))  # fmt: skip
            _possible(v * T <= 2 * d * (1 + ROUNDING), d, lambda j: (
                        f"a distance of {d[j]:g} in {T[j]:g} s never reaches {v[j]:g}: its peak velocity is at most "
                        f"{2 * d[j] / T[j]:g}"
            ))  # fmt: skip
            ta = T - d / v
        case {"acceleration": a, "max_velocity": v, **rest} if not rest:
            ta = np.minimum(v / a, np.sqrt(d / a))
            T = np.divide(d, a * ta, out=np.zeros_like(d), where=d > 0) + ta
        case {"acceleration": a, "duration": T, **rest} if not rest:
            _possible(a * T**2 >= 4 * d * (1 - ROUNDING), d, lambda j: (
                        f"a distance of {d[j]:g} in {T[j]:g} s needs an acceleration of at least "
                        f"{4 * d[j] / T[j] ** 2:g}, not {a[j]:g}"
            ))  # fmt: skip
            root = np.sqrt(np.maximum(T**2 - 4 * d / a, 0.0))
            ta = 2 * d / a / (T + root)  # the smaller root of a t_a² − a T t_a + d = 0
        case _:
            raise DalembertError(
                "a trapezoidal motion needs two of acceleration_time, max_velocity and duration, or acceleration "
                f"with max_velocity or duration; it was given {' and '.join(given) or 'none of them'}"
            )
    return _trapezoids(q0, q1, T, ta, synchronised)


def polynomial(
    q0: ArrayLike,
    q1: ArrayLike,
    duration: float,
    degree: int = 3,
    *,
    start_velocity: ArrayLike | None = None,
    end_velocity: ArrayLike | None = None,
    start_acceleration: ArrayLike | None = None,
    end_acceleration: ArrayLike | None = None,
    start_jerk: ArrayLike | None = None,
    end_jerk: ArrayLike | None = None,
) -> Trajectory:
    """A motion along the polynomial of degree 3, 5 or 7 with the given boundary values at both ends.

    q0, q1    (n,) initial and final positions (rad or m)
    duration  T (s)
    degree    3 accepts velocities, 5 also accelerations, 7 also jerks; values not given are zero

    >>> polynomial([0.0], [1.0], 2.0, degree=5)(1.0)[1]
    array([0.9375])
    """
    q0, q1 = both_ends(q0, q1)
    if degree not in (3, 5, 7):
        raise DalembertError(f"a polynomial motion has degree 3, 5 or 7, not {degree}")
    (T,) = positive("duration", duration, 1)
    given = {
        "velocity": (start_velocity, end_velocity),
        "acceleration": (start_acceleration, end_acceleration),
        "jerk": (start_jerk, end_jerk),
    }
    values = [[q0, q1]]
    for order, (name, ends) in enumerate(given.items(), 1):
        named = {f"{side}_{name}": value for side, value in zip(("start", "end"), ends, strict=True)}
        if 2 * order < degree:
            values.append([per_joint(at, 0.0 if value is None else value, len(q0)) for at, value in named.items()])
            continue
        for at, value in named.items():
            if value is not None:
                raise DalembertError(
                    f"{at} is given, but a polynomial of degree {degree} cannot satisfy it; use degree {2 * order + 1}"
                )
    return Trajectory(float(T), len(q0), Hermite(np.array([0.0, T]), np.array(values)))  # (orders, 2 ends, n)


@record
class FourierSeries:
    """q = q_0 + Σ_l a_l sin(l ω t) + b_l cos(l ω t); offset (n,), sine and cosine (n, L), omega in rad/s."""

    offset: Array
    sine: Array
    cosine: Array
    omega: float

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        w = self.omega * np.arange(1, self.sine.shape[1] + 1)  # (L,)
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))  # (N, L)
        a, b = self.sine.T, self.cosine.T  # (L, n)
        return self.offset + s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b


def fourier(
    coefficients: ArrayLike, base_frequency: float, offset: ArrayLike = 0.0, *, duration: float | None = None
) -> Trajectory:
    """A motion along a finite Fourier series, q = offset + Σ_l a_l sin(2π l f t) + b_l cos(2π l f t), l = 1 … L.

    coefficients    (2, n, L): amplitudes a, then b, of each joint (rad or m)
    base_frequency  f (Hz)
    offset          (n,) mean position (rad or m)
    duration        in s; defaults to one period, 1/f

    >>> import numpy as np
    >>> motion = fourier(np.array([[[1.0, 0.0]], [[0.0, 0.5]]]), base_frequency=0.1)
    >>> motion.duration, motion(0.0)[0]
    (10.0, array([0.5]))
    """
    ab = finite("coefficients", coefficients)
    if ab.ndim != 3 or len(ab) != 2 or 0 in ab.shape:
        raise ShapeError(
            f"coefficients has shape {ab.shape}; it must be (2, n, L): sine and cosine amplitudes of n joints, L harmonics"
        )
    (f,) = positive("base_frequency", base_frequency, 1)
    (T,) = (1 / f,) if duration is None else positive("duration", duration, 1)
    n = ab.shape[1]
    series = FourierSeries(per_joint("offset", offset, n), ab[0], ab[1], float(2 * np.pi * f))
    return Trajectory(float(T), n, series)


@dataclass(frozen=True, eq=False)
class SmoothCurve:
    """A SciPy polynomial or spline with its first two derivatives."""

    curves: tuple[Any, Any, Any]

    @classmethod
    def of(cls, curve: Any) -> SmoothCurve:
        """The curve and its derivatives."""
        return cls((curve, curve.derivative(1), curve.derivative(2)))

    @property
    def breaks(self) -> Array:
        """Times at which its segments meet."""
        curve = self.curves[0]
        return np.asarray(curve.t if hasattr(curve, "t") else curve.x)

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        q, qd, qdd = (curve(t) for curve in self.curves)
        return q, qd, qdd


@dataclass(frozen=True, eq=False)
class Composed:
    """q(r(t)) and its derivatives, of a curve q(r) and a law r(t) of one coordinate: S (7.119)–(7.121)."""

    curve: Callable[[Array], tuple[Array, Array, Array]]
    law: Callable[[Array], tuple[Array, Array, Array]]
    breaks: Array

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        r, rd, rdd = (x.reshape(-1, 1) for x in self.law(t))
        q, qd, qdd = self.curve(r[:, 0])
        return q, rd * qd, rd**2 * qdd + rdd * qd


def _given(n: int, **values: ArrayLike | None) -> dict[str, Array]:
    """The values that are given, as one positive number per joint."""
    return {name: positive(name, value, n) for name, value in values.items() if value is not None}


def _possible(holds: NDArray[np.bool_], d: Array, sentence: Any) -> None:
    """Raise ``sentence(j)`` as an error for the first moving joint for which the condition does not hold."""
    bad = np.flatnonzero(~holds & (d > 0))
    if len(bad):
        raise DalembertError(f"joint {bad[0] + 1}: {sentence(bad[0])}" if len(d) > 1 else sentence(bad[0]))
