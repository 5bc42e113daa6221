"""Compiled checks of a profile between its grid points: the duration of each interval, and its excess over the limits.

On an interval, s̈ is linear in s, and the coefficients of every limit are parabolas through the three points at which
they are known.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from dalembert.compiler.kernel.native import Floats1, Floats2, Integers1, lanes, native
from dalembert.work.trajectory.timing.reachable_sets import Passing, PathLimits


class Checked(NamedTuple):
    """A profile that has been checked.

    x, u, t  (N+1,), (N, 2), (N+1,): ṡ², s̈, and the time at each grid point
    near     (N, J) the largest share of each row's limit
    over     (N,) the excess of torque and acceleration, as a share of the limit; fast (N,) that of velocity
    blur     (N,) uncertainty of ``over``, which includes it: the error of the parabolas through the three points of D,
             of order h³, and larger where a derivative jumps
    rounds   (1,) number of rounds; 0 if there is no profile
    """

    x: Floats1
    u: Floats2
    t: Floats1
    near: Floats2
    over: Floats1
    fast: Floats1
    blur: Floats1
    rounds: Integers1


def _parabola(t: float) -> tuple[float, float, float]:
    """Weights at t of the values at 0, ½ and 1 on the parabola through them."""
    return (2.0 * t - 1.0) * (t - 1.0), 4.0 * t * (1.0 - t), t * (2.0 * t - 1.0)


def _share(D: Floats2, j: int, u: float, x: float, w: float) -> float:
    """The share of limit j at a point."""
    return D[0, j] * u + D[1, j] * x + D[2, j] * w + D[3, j]


def _share_between(L: Floats2, M: Floats2, R: Floats2, j: int, t: float, u: float, x: float, w: float) -> float:
    """The share of limit j at t, from 0 to 1 along an interval, from its left end, its middle and its right end."""
    a, b, c = _parabola(t)
    return a * _share(L, j, u, x, w) + b * _share(M, j, u, x, w) + c * _share(R, j, u, x, w)


def _within(start: float, first: float, bend: float, t: float) -> float:
    """x on an interval after the distance t."""
    return max(start + (2.0 * first + bend * t) * t, 0.0)


def _check_interval(on: PathLimits, to: Checked, i: int) -> None:
    """Compute ``near``, ``over``, ``fast`` and ``blur`` of interval i.

    Each share is evaluated at five points; an eighth of its second differences bounds what may be missed between them.
    """
    left, middle, right = on.where[i, 0], on.where[i, 1], on.where[i, 2]
    L, M, R, near, h = on.D[left], on.D[middle], on.D[right], to.near[i], on.h[i]
    v0, v1, v2 = on.speed[left], on.speed[middle], on.speed[right]
    first, last, start = to.u[i, 0], to.u[i, 1], to.x[i]
    bend = (last - first) / h
    u1, u2, u3 = first + 0.25 * (last - first), 0.5 * (first + last), last - 0.25 * (last - first)
    x1, x2, x3 = (
        _within(start, first, bend, 0.25 * h),
        _within(start, first, bend, 0.5 * h),
        _within(start, first, bend, 0.75 * h),
    )
    x4 = _within(start, first, bend, h)
    w0, w1, w2, w3, w4 = sqrt(max(start, 0.0)), sqrt(x1), sqrt(x2), sqrt(x3), sqrt(x4)
    worst = 0.0
    for j in lanes(len(near)):
        a = _share(L, j, first, start, w0)
        b = _share_between(L, M, R, j, 0.25, u1, x1, w1)
        c = _share(M, j, u2, x2, w2)
        d = _share_between(L, M, R, j, 0.75, u3, x3, w3)
        e = _share(R, j, last, x4, w4)
        rough = max(abs(a - 2.0 * b + c), abs(b - 2.0 * c + d), abs(c - 2.0 * d + e))
        most = max(abs(a), abs(b), abs(c), abs(d), abs(e))
        near[j] = most
        worst = max(worst, most + 0.125 * rough)
    quick = 0.0
    for j in lanes(len(v0)):
        a, c, e = v0[j] * w0, v1[j] * w2, v2[j] * w4
        b = (0.375 * v0[j] + 0.75 * v1[j] - 0.125 * v2[j]) * w1
        d = (-0.125 * v0[j] + 0.75 * v1[j] + 0.375 * v2[j]) * w3
        rough = max(2.0 * b - a - c, 2.0 * c - b - d, 2.0 * d - c - e, 0.0)
        quick = max(quick, max(a, b, c, d, e) + 0.125 * rough)
    blur = 0.0
    if i + 1 < len(on.h) and on.smooth[i]:  # error of the parabola at the middle of the next interval
        blur = _misses(on, to, i, i + 1, 0, 2)
    if i > 0 and on.smooth[i - 1]:
        blur = max(blur, _misses(on, to, i, i - 1, 2, 0))
    to.over[i], to.fast[i], to.blur[i] = worst - 1.0 + blur, quick - 1.0, blur


def _misses(on: PathLimits, to: Checked, i: int, k: int, first: int, last: int) -> float:
    """Error bound of the parabola on interval i, from the middle of the neighbour k beyond its end ``last``."""
    A, B, C, beyond = on.D[on.where[i, first]], on.D[on.where[i, 1]], on.D[on.where[i, last]], on.D[on.where[k, 1]]
    t = 1.0 + 0.5 * on.h[k] / on.h[i]
    a, b, c = _parabola(t)
    # the cubic term is 0.048 at most within, t (t − ½)(t − 1) outside; five times that, to cover jumps of a derivative
    share = 5.0 * 0.048 / (t * (t - 0.5) * (t - 1.0))
    u, x = max(abs(to.u[i, 0]), abs(to.u[i, 1])), max(to.x[i], to.x[i + 1])
    w, most = sqrt(x), 0.0
    near = to.near[i]
    for j in lanes(len(near)):
        d = (
            abs(a * A[0, j] + b * B[0, j] + c * C[0, j] - beyond[0, j]) * u
            + abs(a * A[1, j] + b * B[1, j] + c * C[1, j] - beyond[1, j]) * x
            + abs(a * A[2, j] + b * B[2, j] + c * C[2, j] - beyond[2, j]) * w
            + abs(a * A[3, j] + b * B[3, j] + c * C[3, j] - beyond[3, j])
        )
        most = max(most, d if near[j] >= 0.9 else 0.0)
    return share * most


def moved(start: float, acceleration: float, bend: float, t: float) -> tuple[float, float]:
    """s and ṡ after the time t (s) where s̈ = acceleration + bend s, from s = 0 and ṡ = start."""
    z = bend * t * t
    C, S = 1.0, 1.0  # 2 (cosh √z − 1)/z and sinh √z/√z, as series
    for k in range(30 if abs(z) > 0.6 else 7, 7, -1):
        C = 1.0 + z * C / ((2 * k + 1) * (2 * k + 2))
        S = 1.0 + z * S / ((2 * k) * (2 * k + 1))
    C = 1.0 + z * (1.0 / 132) * (1.0 + z * (1.0 / 182) * (1.0 + z * (1.0 / 240) * C))
    C = 1.0 + z * (1.0 / 12) * (1.0 + z * (1.0 / 30) * (1.0 + z * (1.0 / 56) * (1.0 + z * (1.0 / 90) * C)))
    S = 1.0 + z * (1.0 / 110) * (1.0 + z * (1.0 / 156) * (1.0 + z * (1.0 / 210) * S))
    S = 1.0 + z * (1.0 / 6) * (1.0 + z * (1.0 / 20) * (1.0 + z * (1.0 / 42) * (1.0 + z * (1.0 / 72) * S)))
    C *= 0.5 * t * t
    S *= t
    return start * S + acceleration * C, start * (1.0 + bend * C) + acceleration * S


def _duration(h: float, x: float, y: float, first: float, last: float) -> float:
    """Duration of an interval; −1 if it cannot be crossed."""
    start, end = sqrt(x), sqrt(y)
    if start + end <= 0.0:
        return -1.0
    t = 2.0 * h / (start + end)
    bend = (last - first) / h
    for _ in range(20 if first != last else 0):
        s, sd = moved(start, first, bend, t)
        if sd <= 0.0:
            return -1.0
        step = (h - s) / sd
        t += step
        if abs(step) < 1e-15 * t:
            break
    return t


@native
def check(on: PathLimits, at: Passing, to: Checked) -> int:
    """Compute the times of the profile and the excess of each interval over its limits, inside as well as at its ends.

    Only intervals that have changed are checked. Returns 0, or i + 1 if interval i cannot be crossed.
    """
    N = len(on.h)
    for i in range(N):
        if at.moved[i]:
            at.step[i] = _duration(on.h[i], at.x[i], at.x[i + 1], at.u[i, 0], at.u[i, 1])
            if at.step[i] < 0.0:
                return i + 1
    to.x[0], to.t[0] = at.x[0], 0.0
    for i in range(N):
        to.x[i + 1], to.u[i, 0], to.u[i, 1] = at.x[i + 1], at.u[i, 0], at.u[i, 1]
        to.t[i + 1] = to.t[i] + at.step[i]
    for i in range(N):
        if at.moved[i]:
            _check_interval(on, to, i)
    return 0
