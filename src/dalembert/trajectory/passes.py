"""The passes behind ``time_optimal``: reachable sets along the path, interval by interval, compiled.

Along a path q(s) every limit on torque or acceleration reads, once divided by the limit,

    |m(s) u + c(s) x + v(s) √x + k(s)| ≤ 1,        x = ṡ²,  u = s̈,  dx/ds = 2u.

On the interval i between two grid points u is linear in s, from u_L to u_R, and x(s) is the exact integral of it; the
limits are asked for at both ends of the interval, with the one-sided values of the coefficients, so that jumps at
knots cost nothing:

    y = x + h (u_L + u_R),    u_L ∈ [α_L(x), β_L(x)],    u_R ∈ [α_R(y), β_R(y)].

Where a coefficient of u is small or changes its sign within the interval (a zero-inertia point) such a u would swing to
and fro; there u is constant, u_L = u_R, which damps it.

Viscous friction brings √x in. It is replaced by its tangent at a level of x, so that every limit becomes one row

    |u − P − Q x| ≤ S,

α is convex and β concave in x, every set of speeds is an interval, and its ends are found by Newton's method from
outside, which moves one way only and ends after finitely many steps. The tangent lies above √x by
(√x − √level)² / 2√level; the level is moved to the profile that comes out, and the passes run again, until that is
nothing. Without viscous friction it is nothing at once.

The passes run again, too, where a limit is exceeded between the grid points: what has not changed is not computed again.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from dalembert.kernel.native import Flags1, Floats1, Floats2, Floats3, Integers1, Integers2, lanes, native

CONSTANT, LINEAR, LEFT_ONLY = 1, 0, 2  # u on an interval; LEFT_ONLY is toppra's "collocation"
HUGE = 1e300
ROUND = 1e-13
STRAIGHTENED = 16  # times that √x is made straight, at most, before the limits are looked at


class Limits(NamedTuple):
    """The limits on the N intervals of a path; J rows on torque and acceleration, V on velocity.

    D        (P, 4, J) m, c, v, k at P points; where (N, 3): the left end, the middle and the right end of each interval
    floor    (J,) an |m| that is as good as none
    speed    (P, V) |q'| over the velocity limit
    h        (N,) lengths of the intervals
    smooth   (N,) whether the path runs on without a knot into the next interval
    fastest  (N+1,) x allowed by velocity limits; 0 where the motion must stop
    least    a level of x that is as good as 0
    """

    D: Floats3
    where: Integers2
    floor: Floats1
    speed: Floats2
    h: Floats1
    smooth: Flags1
    fastest: Floats1
    least: float


class Passing(NamedTuple):
    """What the passes work with.

    x, u     (N+1,) and (N, 2): the profile
    K, ends  (N+1, 2) the controllable set of each grid point; (N, 2) what the far end of each interval may be of the next
    rows     (2, 3, 2J) P, Q and S of an interval and its neighbour: for x at the near end, then for the far end
    x_most   (N+1,) x allowed by velocity limits, with what is kept free of them
    room, slower  (N,) kept free of every limit, as a share of it; the same for velocities
    level    (N+1,) where √x is made straight
    kind     (N,) CONSTANT, LINEAR or LEFT_ONLY
    always   (N,) where u stays constant whatever the shares of limits say
    new      (N,) intervals whose rows have to be computed again; dirty (N,) those whose sets were
    moved    (N,) intervals on which the profile has changed since its limits were checked
    step     (N,) time on each interval
    """

    x: Floats1
    u: Floats2
    K: Floats2
    ends: Floats2
    rows: Floats3
    x_most: Floats1
    room: Floats1
    slower: Floats1
    level: Floats1
    kind: Integers1
    always: Flags1
    new: Flags1
    dirty: Flags1
    moved: Flags1
    step: Floats1


class Checked(NamedTuple):
    """A profile that was checked.

    x, u, t  (N+1,), (N, 2), (N+1,): ṡ², s̈, and when each grid point is passed
    near     (N, J) the largest share of each row's limit
    over     (N,) the excess of torque and acceleration, as a share of the limit; fast (N,) that of velocity
    blur     (N,) how well ``over`` is known, and counted in it: how wrong the parabolas between the three points of D
             may be, of the order of h³, and more where a derivative jumps
    rounds   (1,) how many rounds it took; 0 where there is no profile
    """

    x: Floats1
    u: Floats2
    t: Floats1
    near: Floats2
    over: Floats1
    fast: Floats1
    blur: Floats1
    rounds: Integers1


# -- the rows of an interval -------------------------------------------------------------------------


def _end_rows(D: Floats2, floor: Floats1, share: float, level: float, ahead: float, into: Floats2, first: int) -> None:
    """P, Q and S of the limits at one end of an interval, with √x made straight at ``level``.

    ahead  2h to express the far end of an interval of constant u by x at its near end, or 0
    """
    start, rise = 0.0, 0.0
    if level > 0.0:
        start = 0.5 * sqrt(level)
        rise = 0.25 / start
    m_, c_, v_, k_ = D[0], D[1], D[2], D[3]
    P, Q, S = into[0], into[1], into[2]
    for j in lanes(len(floor)):
        c = c_[j] + rise * v_[j]
        k = k_[j] + start * v_[j]
        m = m_[j] + ahead * c
        size = max(abs(m), floor[j])
        inverse = 1.0 / size if size > 0.0 else 0.0
        signed = inverse if m >= 0.0 else -inverse
        P[first + j] = -k * signed
        Q[first + j] = -c * signed
        S[first + j] = share * inverse if size > 0.0 else HUGE


def _interval_rows(on: Limits, at: Passing, i: int) -> None:
    """Both ends of interval i."""
    share, kind, into = 1.0 - at.room[i], at.kind[i], at.rows[i % 2]
    left = max(at.level[i], on.least) if at.x_most[i] > 0.0 else 0.0
    right = max(at.level[i + 1], on.least) if at.x_most[i + 1] > 0.0 else 0.0
    _end_rows(on.D[on.where[i, 0]], on.floor, share, left, 0.0, into, 0)
    if kind != LEFT_ONLY:
        _end_rows(on.D[on.where[i, 2]], on.floor, share, right, 2.0 * on.h[i] if kind == CONSTANT else 0.0, into, len(on.floor))


def _bounds(rows: Floats2, first: int, last: int, x: float) -> tuple[float, float]:
    """α and β at x, from some of the rows."""
    P, Q, S = rows[0], rows[1], rows[2]
    alpha, beta = -HUGE, HUGE
    for j in lanes(first, last):
        middle = P[j] + Q[j] * x
        alpha = max(alpha, middle - S[j])
        beta = min(beta, middle + S[j])
    return alpha, beta


def _slopes(rows: Floats2, first: int, last: int, x: float) -> tuple[float, float]:
    """α' and β' at x, from some of the rows."""
    P, Q, S = rows[0], rows[1], rows[2]
    alpha, beta, rise, fall = -HUGE, HUGE, 0.0, 0.0
    for j in lanes(first, last):
        middle = P[j] + Q[j] * x
        low, high = middle - S[j], middle + S[j]
        rise = Q[j] if low > alpha else rise
        alpha = low if low > alpha else alpha
        fall = Q[j] if high < beta else fall
        beta = high if high < beta else beta
    return rise, fall


def _gap(rows: Floats2, first: int, last: int, x: float, low: float, high: float, slope: float) -> float:
    """β − α at x, the target low ≤ x + u/slope ≤ high among the bounds; 0 where it is but for rounding."""
    alpha, beta = _bounds(rows, first, last, x)
    alpha, beta = max(alpha, (low - x) * slope), min(beta, (high - x) * slope)
    gap = beta - alpha
    return gap if gap < -ROUND * (abs(alpha) + abs(beta)) else max(gap, 0.0)


def _gap_slope(rows: Floats2, first: int, last: int, x: float, low: float, high: float, slope: float) -> float:
    """The slope of β − α at x."""
    alpha, beta = _bounds(rows, first, last, x)
    rise, fall = _slopes(rows, first, last, x)
    return (-slope if (high - x) * slope < beta else fall) - (-slope if (low - x) * slope > alpha else rise)


def _range(
    rows: Floats2, first: int, last: int, low: float, high: float, slope: float, most: float
) -> tuple[float, float]:
    """The interval of x in [0, most] for which some u is allowed; (1, −1) where there is none."""
    x = most
    for _ in range(200):
        gap = _gap(rows, first, last, x, low, high, slope)
        if gap >= 0.0:
            break
        fall = _gap_slope(rows, first, last, x, low, high, slope)
        if fall >= 0.0:
            return 1.0, -1.0
        new = x - gap / fall
        if new <= 0.0:  # from very far away the step may round to nothing: there is a root if 0 is allowed
            if _gap(rows, first, last, 0.0, low, high, slope) < 0.0 or x == 0.0:
                return 1.0, -1.0
            new = 1e-9 * x if x > 1e-290 else 0.0
        if new >= x * (1.0 - 1e-15):
            break
        x = new
    highest = x
    x = 0.0
    for _ in range(200):
        gap = _gap(rows, first, last, x, low, high, slope)
        if gap >= 0.0 or x >= highest:
            break
        rise = _gap_slope(rows, first, last, x, low, high, slope)
        if rise <= 0.0:
            return highest, highest
        new = x - gap / rise
        if new <= x * (1.0 + 1e-15):
            break
        x = new
    return min(x, highest), highest


# -- backward: from which speeds the motion can be ended -----------------------------------------------


def _control(on: Limits, at: Passing, i: int) -> bool:
    """The controllable set of grid point i, from that of the next one; whether there is any."""
    _interval_rows(on, at, i)
    rows, h, J = at.rows[i % 2], on.h[i], len(on.floor)
    low, high = at.K[i + 1, 0], at.K[i + 1, 1]
    slope, last = 0.5 / h, 2 * J if at.kind[i] == CONSTANT else J
    if at.kind[i] == LINEAR:  # what of the next set the right end of this interval can stand
        a, b = _range(rows, J, 2 * J, -HUGE, HUGE, 1.0, high)
        low, high = max(a, low), min(b, high)
    at.ends[i, 0], at.ends[i, 1] = low, high
    if low > high:
        return False
    if at.kind[i] == LINEAR:
        alpha, _ = _bounds(rows, J, 2 * J, high)
        _, beta = _bounds(rows, J, 2 * J, low)
        low, high, slope = low - h * beta, high - h * alpha, 1.0 / h
    a, b = _range(rows, 0, last, low, high, slope, at.x_most[i])
    at.K[i, 0], at.K[i, 1] = a, b
    return b >= a


def _backward(on: Limits, at: Passing) -> int:
    """The controllable sets of all grid points; i + 1 where no speed at grid point i lets the path be followed."""
    N, J = len(on.h), len(on.floor)
    a, b = 0.0, at.x_most[N]
    if at.kind[N - 1] == LINEAR:
        _interval_rows(on, at, N - 1)
        a, b = _range(at.rows[(N - 1) % 2], J, 2 * J, -HUGE, HUGE, 1.0, b)
    changed = a != at.K[N, 0] or b != at.K[N, 1]
    at.K[N, 0], at.K[N, 1] = a, b
    if b < a:
        return N + 1
    for i in range(N - 1, -1, -1):
        at.dirty[i] = at.new[i] or changed
        if not at.dirty[i]:
            continue
        low, high = at.K[i, 0], at.K[i, 1]
        if not _control(on, at, i):
            at.K[i, 0] = -1.0  # to be computed again, whatever comes
            return i + 1
        changed = at.K[i, 0] != low or at.K[i, 1] != high
        at.new[i] = False
    return 0


# -- forward: the fastest of them ------------------------------------------------------------------------


def _leads_down(rows: Floats2, step: float, x: float, high: float) -> bool:
    """Whether a little less x would let the next x, min(x + 2h β(x), high), be higher by more than that."""
    _, beta = _bounds(rows, 0, rows.shape[1], x)
    if x + step * beta >= high:
        return False
    _, fall = _slopes(rows, 0, rows.shape[1], x)
    return step * fall < -2.0


def _worthwhile(on: Limits, at: Passing, i: int, lowest: float, highest: float) -> float:
    """The largest x in the interval that does not cost more than it brings on the next interval i, of constant u.

    Next to a zero-inertia point a little more x can be had for a violent braking just after; it is not worth it.
    """
    if at.kind[i] != CONSTANT or lowest >= highest or highest <= 0.0:
        return highest
    _interval_rows(on, at, i)
    rows, step, high = at.rows[i % 2], 2.0 * on.h[i], at.ends[i, 1]
    if not _leads_down(rows, step, highest, high):
        return highest
    good, bad = lowest, highest
    for _ in range(60):
        x = 0.5 * (good + bad)
        if _leads_down(rows, step, x, high):
            bad = x
        else:
            good = x
    return good


def _climb(rows: Floats2, h: float, start: float, most: float, low: float, high: float) -> tuple[float, bool]:
    """The largest y in [low, high] at the far end of an interval of linear u; whether it is allowed there.

    start, most   the least and the greatest x + h u_L that the near end allows
    """
    y, last = high, rows.shape[1]
    for _ in range(200):
        a, b = _bounds(rows, last // 2, last, y)
        above, below = most - y + h * b, y - h * a - start
        gap = min(above, below)
        if gap >= -ROUND * (abs(most) + y + h * (abs(a) + abs(b))):
            return y, True
        rise, fall = _slopes(rows, last // 2, last, y)
        slope = 1.0 - h * rise if below < above else h * fall - 1.0
        if slope >= 0.0:
            return y, y <= low
        new = max(y - gap / slope, low)
        if new >= y * (1.0 - 1e-15):
            return y, True
        y = new
    return y, y <= low


def _go_on_linear(on: Limits, at: Passing, i: int) -> bool:
    """The next x, and u of interval i, which is linear; whether there is any."""
    rows, h, x, last = at.rows[i % 2], on.h[i], at.x[i], at.rows.shape[2]
    low, high = at.ends[i, 0], at.ends[i, 1]
    alpha, beta = _bounds(rows, 0, last // 2, x)
    y, good = _climb(rows, h, x + h * alpha, x + h * beta, low, high)
    if not good:
        return False
    best = y
    if i + 1 < len(on.h):
        best = _worthwhile(on, at, i + 1, low, y)
    for _ in range(60 if best < y else 0):  # that, or something between
        a, _ = _bounds(rows, last // 2, last, best)
        if best - h * a >= x + h * alpha:
            y = best
            break
        best = 0.5 * (best + y)
    a, b = _bounds(rows, last // 2, last, y)
    mean = 0.5 * (y - x) / h
    left = min(max(mean, max(alpha, 2.0 * mean - b)), min(beta, 2.0 * mean - a))
    at.x[i + 1], at.u[i, 0], at.u[i, 1] = y, left, 2.0 * mean - left
    return True


def _go_on_constant(on: Limits, at: Passing, i: int) -> bool:
    """The next x, and u of interval i, which is constant; whether there is any."""
    rows, h, x, last = at.rows[i % 2], on.h[i], at.x[i], at.rows.shape[2]
    low, high = at.ends[i, 0], at.ends[i, 1]
    alpha, beta = _bounds(rows, 0, last if at.kind[i] == CONSTANT else last // 2, x)
    y = min(x + 2.0 * h * beta, high)
    if y < low - 1e-9 * (low + x) - 1e-300:
        return False
    y = max(y, low)
    if i + 1 < len(on.h):
        y = _worthwhile(on, at, i + 1, max(min(x + 2.0 * h * alpha, y), low), y)
    at.x[i + 1] = max(y, 0.0)
    at.u[i, 0] = at.u[i, 1] = 0.5 * (at.x[i + 1] - x) / h
    return True


def _forward(on: Limits, at: Passing) -> int:
    """The fastest profile through the controllable sets; −(i + 1) where it is stuck at i."""
    N = len(on.h)
    start = _worthwhile(on, at, 0, at.K[0, 0], at.K[0, 1])
    changed = start != at.x[0]
    at.x[0] = start
    for i in range(N):
        if not (changed or at.dirty[i] or (i + 1 < N and at.dirty[i + 1])):
            continue
        y, left, right = at.x[i + 1], at.u[i, 0], at.u[i, 1]
        _interval_rows(on, at, i)
        if not (_go_on_linear(on, at, i) if at.kind[i] == LINEAR else _go_on_constant(on, at, i)):
            return -(i + 1)
        if changed or at.u[i, 0] != left or at.u[i, 1] != right:
            at.moved[i] = True
        changed = at.x[i + 1] != y
        if changed:
            at.moved[i] = True
    return 0


@native
def solve(on: Limits, at: Passing) -> int:
    """Backward over the controllable sets, then forward along the fastest profile.

    Returns 0, or i + 1 where no speed at grid point i lets the path be followed to its end; −(i + 1) where the forward
    pass is stuck at i.
    """
    status = _backward(on, at)
    if status == 0:
        status = _forward(on, at)
    if status != 0:
        for i in range(len(on.h)):
            at.new[i] = True
    return status


def _straighten(on: Limits, at: Passing) -> float:
    """√x made straight at the profile; the largest share of a limit by which it was not, where it was."""
    N, J, worst = len(on.h), len(on.floor), 0.0
    for p in range(N + 1):
        x, level = max(at.x[p], on.least), max(at.level[p], on.least)
        if at.x_most[p] == 0.0 or x == level:
            continue
        away, largest = sqrt(x) - sqrt(level), 0.0
        v = on.D[on.where[p, 0] if p < N else on.where[p - 1, 2], 2]
        for j in lanes(J):
            largest = max(largest, abs(v[j]))
        share = largest * away * away / (2.0 * sqrt(level))
        if share < 1e-9:
            continue
        worst = max(worst, share)
        at.level[p] = max(x, 0.25 * level)  # far below x it would allow little more than itself
        if p < N:
            at.new[p] = True
        if p > 0:
            at.new[p - 1] = True
    return worst


# -- between the grid points -------------------------------------------------------------------------


def _parabola(t: float) -> tuple[float, float, float]:
    """What the values at 0, ½ and 1 weigh at t on the parabola through them."""
    return (2.0 * t - 1.0) * (t - 1.0), 4.0 * t * (1.0 - t), t * (2.0 * t - 1.0)


def _share(D: Floats2, j: int, u: float, x: float, w: float) -> float:
    """The share of limit j at a point."""
    return D[0, j] * u + D[1, j] * x + D[2, j] * w + D[3, j]


def _share_between(
    L: Floats2, M: Floats2, R: Floats2, j: int, t: float, u: float, x: float, w: float
) -> float:
    """The share of limit j at t, from 0 to 1 along an interval, between its left end, its middle and its right end."""
    a, b, c = _parabola(t)
    return a * _share(L, j, u, x, w) + b * _share(M, j, u, x, w) + c * _share(R, j, u, x, w)


def _within(start: float, first: float, bend: float, t: float) -> float:
    """x on an interval, where the distance t is behind."""
    return max(start + (2.0 * first + bend * t) * t, 0.0)


def _check_interval(on: Limits, to: Checked, i: int) -> None:
    """``near``, ``over``, ``fast`` and ``blur`` of interval i.

    Each share is taken at five points; what may be missed between them is an eighth of its second differences.
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
    if i + 1 < len(on.h) and on.smooth[i]:  # how far the parabola misses the middle of the next interval
        blur = _misses(on, to, i, i + 1, 0, 2)
    if i > 0 and on.smooth[i - 1]:
        blur = max(blur, _misses(on, to, i, i - 1, 2, 0))
    to.over[i], to.fast[i], to.blur[i] = worst - 1.0 + blur, quick - 1.0, blur


def _misses(on: Limits, to: Checked, i: int, k: int, first: int, last: int) -> float:
    """What the parabola on interval i may be wrong by, judged by the middle of the neighbour k beyond its end ``last``."""
    A, B, C, beyond = on.D[on.where[i, first]], on.D[on.where[i, 1]], on.D[on.where[i, last]], on.D[on.where[k, 1]]
    t = 1.0 + 0.5 * on.h[k] / on.h[i]
    a, b, c = _parabola(t)
    # the cubic term: 0.048 at most within, t (t − ½)(t − 1) out there; five times that, for jumps of a derivative
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


def _moved(start: float, acceleration: float, bend: float, t: float) -> tuple[float, float]:
    """s and ṡ after t (s) where s̈ = acceleration + bend s, from s = 0 and ṡ = start."""
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
    """How long an interval takes; −1 where it cannot be crossed."""
    start, end = sqrt(x), sqrt(y)
    if start + end <= 0.0:
        return -1.0
    t = 2.0 * h / (start + end)
    bend = (last - first) / h
    for _ in range(20 if first != last else 0):
        s, sd = _moved(start, first, bend, t)
        if sd <= 0.0:
            return -1.0
        step = (h - s) / sd
        t += step
        if abs(step) < 1e-15 * t:
            break
    return t


@native
def check(on: Limits, at: Passing, to: Checked) -> int:
    """The profile with its times, and how far each interval goes beyond its limits, inside as well as at its ends.

    Only where it has moved; i + 1 where interval i cannot be crossed.
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


# -- the passes, until all is well ---------------------------------------------------------------------


def _kind(on: Limits, at: Passing, near: Floats1, i: int, share: float, viscous: bool) -> int:
    """CONSTANT where a limit that matters (more than ``share`` of it used) has little inertia beside its other terms."""
    if at.always[i] or on.fastest[i] == 0.0 or on.fastest[i + 1] == 0.0:
        return CONSTANT
    L, R, h = on.D[on.where[i, 0]], on.D[on.where[i, 2]], on.h[i]
    slow = min(at.level[i], at.level[i + 1])
    slope = 0.5 * h / sqrt(slow) if viscous and slow > 0.0 else 0.0
    for j in lanes(len(near)):
        left, right = L[0, j], R[0, j]
        small, large = min(abs(left), abs(right)), max(abs(left), abs(right))
        bend = max(abs(L[1, j]), abs(R[1, j])) * h + slope * abs(L[2, j])
        if near[j] >= share and (left * right < 0.0 or small < 0.6 * large or bend > 0.25 * small):
            return CONSTANT
    return LINEAR


def _begin(on: Limits, at: Passing, near: Floats2, share: float, viscous: bool) -> None:
    """The kinds of all intervals, everything else still to be computed."""
    for i in range(len(on.h)):
        at.kind[i] = _kind(on, at, near[i], i, share, viscous and share > 0.0)
        at.room[i] = at.slower[i] = 0.0
        at.new[i] = at.moved[i] = True
    for p in range(len(on.fastest)):
        at.x[p], at.K[p, 0], at.x_most[p] = -1.0, -1.0, on.fastest[p]


def _constant_where_sharp(on: Limits, at: Passing) -> bool:
    """Intervals on which a linear u would turn x(s) around too sharply made constant; whether there are any."""
    some = False
    for i in range(len(on.h)):
        if at.u[i, 0] != at.u[i, 1] and abs(at.u[i, 1] - at.u[i, 0]) * on.h[i] > 0.5 * min(at.x[i], at.x[i + 1]):
            at.kind[i] = CONSTANT
            at.always[i] = at.new[i] = some = True
    return some


def _profile(on: Limits, at: Passing, viscous: bool) -> int:
    """The passes with √x straight where the profile is, and u constant where it has to be; the status of the last."""
    for _ in range(STRAIGHTENED):
        status = solve(on, at)
        if status != 0:
            return status
        worst = _straighten(on, at) if viscous else 0.0
        if worst < 1e-7 and not _constant_where_sharp(on, at):
            return 0
    return 0


def _more_room(on: Limits, at: Passing, to: Checked, allowed: float, round_: int, viscous: bool) -> None:
    """More room where a limit was exceeded and on neighbours, where it may be exceeded next; kinds to match."""
    N = len(on.h)
    reach, extra = 2, 0.25 if round_ == 1 else 5.0
    if round_ >= 5:  # an excess that wanders about is fenced in
        for _ in range(min(round_ - 3, 10)):
            reach = 4 * reach if reach > 2 else 4
    for i in range(N):
        if to.over[i] > 1e-3 + to.blur[i] and at.kind[i] == LINEAR:
            at.always[i] = True
        if to.over[i] > 0.5 * allowed:
            more = 1.1 * to.over[i] + extra * allowed
            at.room[i] += more
            at.new[i] = True
            for k in range(max(i - reach, 0), min(i + reach + 1, N)):
                if to.over[k] <= 0.5 * allowed and at.room[k] < 0.7 * more:
                    at.room[k] = 0.7 * more
                    at.new[k] = True
        if to.fast[i] > 0.5 * allowed:
            at.slower[i] += 1.05 * to.fast[i] + 0.25 * allowed
    for i in range(N + 1):
        most = max(at.slower[i - 1] if i > 0 else 0.0, at.slower[i] if i < N else 0.0)
        share = 1.0 - min(most, 0.5)
        most = on.fastest[i] * share * share
        if most != at.x_most[i]:
            at.x_most[i] = most
            if i < N:
                at.new[i] = True
            if i > 0:
                at.new[i - 1] = True
    for i in range(N):
        kind = _kind(on, at, to.near[i], i, 0.8, viscous)
        if kind != at.kind[i]:
            at.kind[i] = kind
            at.new[i] = True


@native
def repeat(on: Limits, at: Passing, to: Checked, first: int, last: int, allowed: float, share: float, viscous: bool) -> int:
    """Rounds of the passes, ``first`` to ``last``, until no limit is exceeded by more than ``allowed`` of it.

    share  of a limit, in ``to.near``, from which it counts for the kinds of intervals in the first round
    Returns the status of the last pass, as :func:`solve` has it; ``to`` has the last profile that was checked.
    """
    N = len(on.h)
    for round_ in range(first, last + 1):
        if round_ == 1:
            _begin(on, at, to.near, share, viscous)
        else:
            _more_room(on, at, to, allowed, round_ - 1, viscous)
        status = _profile(on, at, viscous)
        if status == 0:
            status = check(on, at, to)
        if status != 0:
            return status
        to.rounds[0] = round_
        worst = -1.0
        for i in range(N):
            at.moved[i] = False
            worst = max(worst, to.over[i], to.fast[i])
        if worst <= allowed:
            break
    return 0


# -- to and from the path --------------------------------------------------------------------------------


@native
def assemble(
    source: Integers1, g: Floats2, m: Floats2, c: Floats2, qp: Floats2, qpp: Floats2,
    viscous: Floats2, dry: Floats2, rub: Floats2, rubs: bool, per_effort: Floats1, per_acceleration: Floats1,
    per_velocity: Floats1, D: Floats3, speed: Floats2, steepest: Floats1, largest: Floats2,
) -> None:  # fmt: skip
    """The coefficients of every limit at P points, divided by the limit; the largest |m|, |c|, |k| of each.

    Rows are the torques of all n joints, then their accelerations, as far as D has rows, then rows of zeros; speed is
    |q'| over the velocity limit, then zeros; steepest (P,) the largest of these.

    source  (P,) the points among the rows of g, m, c, qp, qpp, viscous, dry
    g, m, c friction-free: gravity, B q', B q'' + C q' plus friction at qp (viscous, dry), which is taken out here
    rub     (P, n) Coulomb friction that acts there; the first and the last three points, of the intervals that begin or
            end at rest, where it is nothing, are kept with and without it; no points where there is none
    rubs    whether there is any friction; viscous and dry are not looked at where there is none
    per_…   (n,) one over the limits, 0 where there is none
    """
    P, n, J = len(source), qp.shape[1], D.shape[2]
    accelerates = J >= 2 * n
    for j in range(J):
        largest[0, j] = largest[1, j] = largest[3, j] = 0.0
    for p in range(P):
        q = source[p]
        M, C, V, K, v = D[p, 0], D[p, 1], D[p, 2], D[p, 3], speed[p]
        for j in range(2 * n if accelerates else n, J):
            M[j] = C[j] = V[j] = K[j] = 0.0
        for j in range(n, len(v)):
            v[j] = 0.0
        most = 0.0
        for j in lanes(n):
            M[j] = (m[q, j] - g[q, j]) * per_effort[j]
            C[j] = (c[q, j] - g[q, j]) * per_effort[j]
            V[j] = 0.0
            K[j] = g[q, j] * per_effort[j]
            v[j] = abs(qp[q, j]) * per_velocity[j]
            most = max(most, v[j])
        steepest[p] = most
        if rubs:
            for j in lanes(n):
                V[j] = viscous[q, j] * per_effort[j]
                C[j] -= V[j] + dry[q, j] * per_effort[j]
        if p < len(rub):
            for j in lanes(n):
                K[j] += rub[p, j] * per_effort[j]
            if p < 3 or p >= P - 3:
                _keep_rest_too(D[p], rub[p], per_effort)
        if accelerates:
            for j in lanes(n):
                M[n + j] = qp[q, j] * per_acceleration[j]
                C[n + j] = qpp[q, j] * per_acceleration[j]
                V[n + j] = 0.0
                K[n + j] = 0.0
        for j in lanes(J):
            largest[0, j] = max(largest[0, j], abs(M[j]))
            largest[1, j] = max(largest[1, j], abs(C[j]))
            largest[3, j] = max(largest[3, j], abs(K[j]))


def _keep_rest_too(D: Floats2, rub: Floats1, per_effort: Floats1) -> None:
    """|τ| ≤ 1 and |τ + rub| ≤ 1 together, which is |τ + rub/2| ≤ 1 − |rub|/2, from |τ + rub| ≤ 1."""
    for j in lanes(len(rub)):
        D[3, j] -= 0.5 * rub[j] * per_effort[j]
        rest = 1.0 / max(1.0 - 0.5 * abs(rub[j]) * per_effort[j], 1e-6)
        for f in range(4):
            D[f, j] *= rest


def _interval(T: Floats1, t: float) -> int:
    """The last interval that begins at t or before."""
    low, high = 0, len(T) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if T[middle] <= t:
            low = middle
        else:
            high = middle
    return low


@native
def polynomials(t: Floats1, T: Floats1, c: Floats3, q: Floats2, qd: Floats2, qdd: Floats2) -> None:
    """q, q̇ and q̈ (M, n) at the instants t (M,) of polynomials (degree + 1, pieces, n) between the instants T."""
    i = 0
    for p in range(len(t)):
        if T[i] > t[p] or T[i + 1] <= t[p]:
            i = _interval(T, t[p])
        x = t[p] - T[i]
        for j in lanes(c.shape[2]):
            q[p, j] = c[0, i, j]
            qd[p, j] = qdd[p, j] = 0.0
        for k in range(1, c.shape[0]):
            for j in lanes(c.shape[2]):
                qdd[p, j] = qdd[p, j] * x + 2.0 * qd[p, j]
                qd[p, j] = qd[p, j] * x + q[p, j]
                q[p, j] = q[p, j] * x + c[k, i, j]


@native
def law(t: Floats1, T: Floats1, s: Floats1, x: Floats1, u: Floats2, out: Floats2) -> None:
    """(s, ṡ, s̈) at the instants t, by intervals; each interval keeps to its own side of its knots."""
    N = u.shape[0]
    i = 0
    for p in range(len(t)):
        if T[i] > t[p] or (i + 1 < N and T[i + 1] <= t[p]):
            i = _interval(T, t[p])
        h = s[i + 1] - s[i]
        bend = (u[i, 1] - u[i, 0]) / h
        d, sd = _moved(sqrt(x[i]), u[i, 0], bend, t[p] - T[i])
        d = min(max(d, 0.0 if i == 0 else 3e-12 * s[N]), h if i == N - 1 else h - 3e-12 * s[N])
        out[0, p] = s[i] + d
        out[1, p] = max(sd, 0.0)
        out[2, p] = u[i, 0] + bend * d
