"""The compiled passes of ``time_optimal``: reachable sets along the path, interval by interval.

Along a path q(s) every limit on torque or acceleration reads, once divided by the limit,

    |m(s) u + c(s) x + v(s) √x + k(s)| ≤ 1,        x = ṡ²,  u = s̈,  dx/ds = 2u.

On the interval i between two grid points, u is linear in s, from u_L to u_R, and x(s) is its exact integral. The
limits are imposed at both ends of the interval, with the one-sided values of the coefficients, so that jumps at
knots need no special treatment:

    y = x + h (u_L + u_R),    u_L ∈ [α_L(x), β_L(x)],    u_R ∈ [α_R(y), β_R(y)].

Where a coefficient of u is small or changes its sign within the interval (a zero-inertia point), such a u would
oscillate; there u is constant, u_L = u_R, which damps it.

Viscous friction introduces √x, which is replaced by its tangent at a level of x, so that every limit becomes one row

    |u − P − Q x| ≤ S,

α is convex and β concave in x, every set of speeds is an interval, and its ends are found by Newton's method from
outside, which converges monotonically in finitely many steps. The tangent lies above √x by
(√x − √level)² / 2√level; the level is moved to the resulting profile, and the passes run again until the difference
vanishes. Without viscous friction it vanishes at once.

The passes also run again where a limit is exceeded between the grid points; unchanged parts are not recomputed.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from dalembert.compiler.kernel.native import Flags1, Floats1, Floats2, Floats3, Integers1, Integers2, lanes, native

CONSTANT, LINEAR, LEFT_ONLY = 1, 0, 2  # u on an interval; LEFT_ONLY is toppra's "collocation"
HUGE = 1e300  # stands for an unlimited value; its sums with ordinary numbers are finite
ROUND = 1e-13  # of the numbers compared: an interval that is empty by less is a point
CORNER = 0.999  # of the largest x: below this, the corner of a set need not be avoided


class PathLimits(NamedTuple):
    """The limits on the N intervals of a path; J rows on torque and acceleration, V on velocity.

    s        (N+1,) the grid points
    D        (P, 4, J) m, c, v, k at P points; where (N, 3): the left end, the middle and the right end of each interval
    floor    (J,) an |m| that counts as zero
    speed    (P, V) |q'| over the velocity limit
    h        (N,) lengths of the intervals
    smooth   (N,) whether the path continues into the next interval without a knot
    fastest  (N+1,) x allowed by velocity limits; 0 where the motion must stop
    least    a level of x that counts as zero
    """

    s: Floats1
    D: Floats3
    where: Integers2
    floor: Floats1
    speed: Floats2
    h: Floats1
    smooth: Flags1
    fastest: Floats1
    least: float


class Passing(NamedTuple):
    """Work arrays of the passes.

    x, u     (N+1,) and (N, 2): the profile
    K, ends  (N+1, 2) the controllable set of each grid point; (N, 2) the part of the next set allowed at the far end of
             an interval
    rows     (2, 3, 2J) P, Q and S of an interval and its neighbour: for x at the near end, then for the far end
    x_most   (N+1,) x allowed by velocity limits, with their margin
    room, slower  (N,) margin to every limit, as a share of it; the same for velocities
    level    (N+1,) where √x is linearised
    kind     (N,) CONSTANT, LINEAR or LEFT_ONLY
    always   (N,) where u stays constant regardless of the limit shares
    new      (N,) intervals whose rows must be recomputed; dirty (N,) those whose sets must be
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


# -- the rows of an interval -------------------------------------------------------------------------


def _end_rows(D: Floats2, floor: Floats1, share: float, level: float, ahead: float, into: Floats2, first: int) -> None:
    """Compute P, Q and S of the limits at one end of an interval, with √x linearised at ``level``.

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


def _interval_rows(on: PathLimits, at: Passing, i: int, level: float) -> None:
    """Compute the rows of both ends of interval i, with √x linearised at ``level`` at its near end."""
    share, kind, into = 1.0 - at.room[i], at.kind[i], at.rows[i % 2]
    left = max(level, on.least) if at.x_most[i] > 0.0 else 0.0
    right = max(at.level[i + 1], on.least) if at.x_most[i + 1] > 0.0 else 0.0
    _end_rows(on.D[on.where[i, 0]], on.floor, share, left, 0.0, into, 0)
    if kind != LEFT_ONLY:
        ahead = 2.0 * on.h[i] if kind == CONSTANT else 0.0
        _end_rows(on.D[on.where[i, 2]], on.floor, share, right, ahead, into, len(on.floor))


def _bounds(rows: Floats2, first: int, last: int, x: float) -> tuple[float, float]:
    """α and β at x, from a range of the rows."""
    P, Q, S = rows[0], rows[1], rows[2]
    alpha, beta = -HUGE, HUGE
    for j in lanes(first, last):
        middle = P[j] + Q[j] * x
        alpha = max(alpha, middle - S[j])
        beta = min(beta, middle + S[j])
    return alpha, beta


def _slopes(rows: Floats2, first: int, last: int, x: float) -> tuple[float, float]:
    """α' and β' at x, from a range of the rows."""
    P, Q, S = rows[0], rows[1], rows[2]
    alpha, beta, rise, fall = -HUGE, HUGE, 0.0, 0.0
    for j in range(first, last):
        middle = P[j] + Q[j] * x
        low, high = middle - S[j], middle + S[j]
        rise = Q[j] if low > alpha else rise
        alpha = low if low > alpha else alpha
        fall = Q[j] if high < beta else fall
        beta = high if high < beta else beta
    return rise, fall


def _gap(rows: Floats2, first: int, last: int, x: float, low: float, high: float, slope: float) -> float:
    """β − α at x, with the target low ≤ x + u/slope ≤ high among the bounds; 0 if it is zero up to rounding."""
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
    """The interval of x in [0, most] for which some u is allowed; (1, −1) if it is empty."""
    x = most
    for _ in range(200):
        gap = _gap(rows, first, last, x, low, high, slope)
        if gap >= 0.0:
            break
        fall = _gap_slope(rows, first, last, x, low, high, slope)
        if fall >= 0.0:
            return 1.0, -1.0
        new = x - gap / fall
        if new <= 0.0:  # from very far away, the step may round to zero: there is a root if 0 is allowed
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


# -- backward: speeds from which the motion can be completed -------------------------------------------


def _control(on: PathLimits, at: Passing, i: int) -> bool:
    """Compute the controllable set of grid point i from that of the next one; whether it is nonempty."""
    _interval_rows(on, at, i, at.level[i])
    rows, h, J = at.rows[i % 2], on.h[i], len(on.floor)
    low, high = at.K[i + 1, 0], at.K[i + 1, 1]
    slope, last = 0.5 / h, 2 * J if at.kind[i] == CONSTANT else J
    if at.kind[i] == LINEAR:  # the part of the next set that the right end of this interval allows
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
    at.K[i, 0], at.K[i, 1] = a, _worthwhile(on, at, i, max(a, CORNER * b), b)
    return b >= a


def _backward(on: PathLimits, at: Passing) -> int:
    """Compute all controllable sets; i + 1 if no speed at grid point i allows the path to be followed."""
    N, changed = len(on.h), False
    at.K[N, 0], at.K[N, 1] = 0.0, at.x_most[N]
    for i in range(N - 1, -1, -1):
        at.dirty[i] = at.new[i] or changed
        if not at.dirty[i]:
            continue
        low, high = at.K[i, 0], at.K[i, 1]
        if not _control(on, at, i):
            at.K[i, 0] = -1.0  # force it to be recomputed
            return i + 1
        changed = at.K[i, 0] != low or at.K[i, 1] != high
        at.new[i] = False
    return 0


# -- forward: the fastest speeds -------------------------------------------------------------------------


def _leads_down(rows: Floats2, step: float, x: float, high: float) -> bool:
    """Whether a small decrease of x would increase the next x, min(x + 2h β(x), high), by more than that."""
    _, beta = _bounds(rows, 0, rows.shape[1], x)
    if x + step * beta >= high:
        return False
    _, fall = _slopes(rows, 0, rows.shape[1], x)
    return step * fall < -2.0


def _worthwhile(on: PathLimits, at: Passing, i: int, lowest: float, highest: float) -> float:
    """The largest x in the interval that does not cost more than it gains on the next interval i, of constant u.

    Next to a zero-inertia point, a slightly larger x may be possible at the price of violent braking just after it.
    """
    if at.kind[i] != CONSTANT or lowest >= highest or highest <= 0.0:
        return highest
    _interval_rows(on, at, i, max(at.level[i], highest))  # the slope of √x at the speed under consideration
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
    """The largest y in [low, high] at the far end of an interval of linear u, and whether it is allowed there.

    start, most   the smallest and the largest x + h u_L that the near end allows
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


def _go_on_linear(on: PathLimits, at: Passing, i: int) -> bool:
    """Compute the next x and the linear u of interval i; whether there is a solution."""
    rows, h, x, last = at.rows[i % 2], on.h[i], at.x[i], at.rows.shape[2]
    low, high = at.ends[i, 0], at.ends[i, 1]
    alpha, beta = _bounds(rows, 0, last // 2, x)
    y, good = _climb(rows, h, x + h * alpha, x + h * beta, low, high)
    if not good:
        return False
    best = y
    if i + 1 < len(on.h):
        best = _worthwhile(on, at, i + 1, low, y)
    for _ in range(60 if best < y else 0):  # y, or a value between both
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


def _go_on_constant(on: PathLimits, at: Passing, i: int) -> bool:
    """Compute the next x and the constant u of interval i; whether there is a solution."""
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


def _forward(on: PathLimits, at: Passing) -> int:
    """Compute the fastest profile through the controllable sets; −(i + 1) if it cannot continue at i."""
    N = len(on.h)
    start = _worthwhile(on, at, 0, at.K[0, 0], at.K[0, 1])
    changed = start != at.x[0]
    at.x[0] = start
    for i in range(N):
        if not (changed or at.dirty[i] or (i + 1 < N and at.dirty[i + 1])):
            continue
        y, left, right = at.x[i + 1], at.u[i, 0], at.u[i, 1]
        _interval_rows(on, at, i, at.level[i])
        if not (_go_on_linear(on, at, i) if at.kind[i] == LINEAR else _go_on_constant(on, at, i)):
            return -(i + 1)
        if changed or at.u[i, 0] != left or at.u[i, 1] != right:
            at.moved[i] = True
        changed = at.x[i + 1] != y
        if changed:
            at.moved[i] = True
    return 0


@native
def solve(on: PathLimits, at: Passing) -> int:
    """Backward pass over the controllable sets, then forward pass along the fastest profile.

    Returns 0, or i + 1 if no speed at grid point i allows the path to be followed to its end; −(i + 1) if the forward
    pass cannot continue at i.
    """
    status = _backward(on, at)
    if status == 0:
        status = _forward(on, at)
    if status != 0:
        for i in range(len(on.h)):
            at.new[i] = True
    return status


def straighten(on: PathLimits, at: Passing) -> float:
    """Linearise √x at the profile; returns the largest linearisation error before that, as a share of a limit."""
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
        at.level[p] = max(x, 0.25 * level)  # a level far below x would allow little more than itself
        if p < N:
            at.new[p] = True
        if p > 0:
            at.new[p - 1] = True
    return worst
