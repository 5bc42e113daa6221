"""The passes behind ``time_optimal``, in native code: reachable sets along the path, one number at a time.

Along a path q(s) every limit on torque or acceleration reads

    |m(s) u + c(s) x + v(s) √x + k(s)| ≤ 1,        x = ṡ²,  u = s̈,  dx/ds = 2u,

once divided by the limit. On the interval i between two grid points u is linear in s, from u_L to
u_R, and x(s) is the exact integral of it; the limits are asked for at both ends of the interval, with
the one-sided values of the coefficients, so that jumps at knots cost nothing:

    y = x + h (u_L + u_R),    u_L ∈ [α_L(x), β_L(x)],    u_R ∈ [α_R(y), β_R(y)].

Where a coefficient of u is small or changes its sign within the interval (a zero-inertia point) such a
u would swing to and fro; there u is constant, u_L = u_R, which damps it. α is convex and β concave
in x, so every set of speeds is an interval, and its ends are found by Newton's method from outside,
which moves one way only and, for straight rows, ends after finitely many steps.

The root √x is concave. Where viscous friction *helps* a limit (braking) it stands as it is; where it
*hurts* it is replaced by its tangent at some level, which is never less than the root: whatever is allowed
then is truly allowed, and α stays convex and β concave. The tangent is tight at its level only, so the ends
of each set are found again with the level moved to them, until they move no more (`_grow`): that is the whole
connected set of speeds, that of rest where rest is allowed. A set of speeds beyond a gap is not looked for.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from dalembert.kernel.native import Flags1, Floats1, Floats2, Floats3, Floats4, Integers1, Integers2, native

CONSTANT, LINEAR, LEFT_ONLY = 1, 0, 2  # u on an interval; LEFT_ONLY is toppra's "collocation"
HUGE = 1e300
ROUND = 1e-13
CLOSE, NARROW, WIDE = 1.01, 1.2, 100.0  # how far a chord below √y reaches from the y where the tangent touches



class Limits(NamedTuple):
    """The limits on an interval of the path.

    D       (N, 3, 4, J) m, c, v, k at the left end, the middle and the right end of each interval
    floor   (J,) an |m| that is as good as none
    room    (N,) what is kept free of every limit; h (N,) lengths
    least   a level of x that is as good as 0
    """

    D: Floats4
    floor: Floats1
    room: Floats1
    h: Floats1
    least: float


def _rows(into: Floats3, at: Limits, i: int, end: int, level: float, start: float, rise: float, ahead: float) -> None:
    """The limits at one end of an interval as u ≥ A + B x − E √x and u ≤ A' + B' x + E' √x.

    into   (N, 6, J), of which row i is filled; (N, 6, 2J) where each side of a limit needs its own column
    end    0 (left) or 2 (right) of interval i
    level  x of the profile at which √x is made straight; 0 where the path stops
    start, rise   of a chord below the root, start + rise x, for the side where friction helps; 0, 0 to keep the root
    ahead  2h to express the far end of an interval of constant u by x at its near end, or 0
    """
    D, floor, room = at.D, at.floor, at.room[i]
    J, root = D.shape[3], sqrt(level)
    two = into.shape[2] == 2 * J
    if not two and root == 0.0:
        for j in range(J):
            m = D[i, end, 0, j] + ahead * D[i, end, 1, j]
            if abs(m) < floor[j]:
                m = floor[j] if m >= 0.0 else -floor[j]
            inverse = 1.0 / m if m != 0.0 else HUGE
            span, middle = (1.0 - room) * abs(inverse), -D[i, end, 3, j] * inverse
            if m == 0.0:
                span, middle, inverse = HUGE, 0.0, 0.0
            into[i, 0, j], into[i, 3, j] = middle - span, middle + span
            into[i, 1, j] = into[i, 4, j] = -D[i, end, 1, j] * inverse
            into[i, 2, j] = into[i, 5, j] = 0.0
        return
    for j in range(J):
        m, c, v, k = D[i, end, 0, j], D[i, end, 1, j], D[i, end, 2, j], D[i, end, 3, j]
        if abs(m) < floor[j]:
            m = floor[j] if m >= 0.0 else -floor[j]
        for side in range(2):  # 0: from above, m u ≤ 1 − …; 1: from below
            sign = 1.0 - 2.0 * side
            col = 2 * j + side if two else j
            if two or side == 0:
                into[i, 0, col], into[i, 1, col], into[i, 2, col] = -HUGE, 0.0, 0.0
                into[i, 3, col], into[i, 4, col], into[i, 5, col] = HUGE, 0.0, 0.0
            c_s, k_s, e = c, k, 0.0
            if v != 0.0 and root > 0.0:
                if v * sign > 0.0:  # friction hurts: the tangent
                    c_s += 0.5 * v / root
                    k_s += 0.5 * v * root
                elif rise > 0.0:  # friction helps: a chord below the root
                    c_s += v * rise
                    k_s += v * start
                else:
                    e = v
            m_s = m + ahead * c_s
            if abs(m_s) < floor[j]:
                m_s = floor[j] if m_s >= 0.0 else -floor[j]
            if m_s == 0.0:
                continue
            a, b, r = (sign * (1.0 - room) - k_s) / m_s, -c_s / m_s, -e / m_s
            if m_s * sign > 0.0:
                into[i, 3, col], into[i, 4, col], into[i, 5, col] = a, b, r
            else:
                into[i, 0, col], into[i, 1, col], into[i, 2, col] = a, b, -r


def _bounds(r: Floats3, i: int, x: float, curved: bool) -> tuple[float, float, float, float]:
    """α, α', β, β' at x."""
    J = r.shape[2]
    alpha, beta, lowest, highest = -HUGE, HUGE, 0, 0
    if J == 0:
        return alpha, 0.0, beta, 0.0
    if not curved:
        for j in range(J):
            value = r[i, 0, j] + r[i, 1, j] * x
            lowest = j if value > alpha else lowest
            alpha = value if value > alpha else alpha
        for j in range(J):
            value = r[i, 3, j] + r[i, 4, j] * x
            highest = j if value < beta else highest
            beta = value if value < beta else beta
        return alpha, r[i, 1, lowest], beta, r[i, 4, highest]
    w = sqrt(x) if x > 1e-300 else 1e-150
    half = 0.5 / w
    for j in range(J):
        value = r[i, 0, j] + r[i, 1, j] * x - r[i, 2, j] * w
        lowest = j if value > alpha else lowest
        alpha = value if value > alpha else alpha
        value = r[i, 3, j] + r[i, 4, j] * x + r[i, 5, j] * w
        highest = j if value < beta else highest
        beta = value if value < beta else beta
    return alpha, r[i, 1, lowest] - r[i, 2, lowest] * half, beta, r[i, 4, highest] + r[i, 5, highest] * half


def _gap(
    near: Floats3, far: Floats3, i: int, both: bool, x: float, curved: bool, low: float, high: float, slope: float
) -> tuple[float, float, float]:
    """(β − α, its slope, the size of both) at x, the target low ≤ x + u/slope ≤ high among the bounds."""
    alpha, da, beta, db = _bounds(near, i, x, curved)
    if both:
        a2, da2, b2, db2 = _bounds(far, i, x, False)
        if a2 > alpha:
            alpha, da = a2, da2
        if b2 < beta:
            beta, db = b2, db2
    target = (high - x) * slope
    if target < beta:
        beta, db = target, -slope
    target = (low - x) * slope
    if target > alpha:
        alpha, da = target, -slope
    return beta - alpha, db - da, abs(alpha) + abs(beta)


def _range(
    near: Floats3, far: Floats3, i: int, both: bool, curved: bool, low: float, high: float, slope: float, most: float
) -> tuple[float, float]:
    """The interval of x in [0, most] for which some u is allowed; (1, −1) where there is none."""
    x = most
    for _ in range(200):
        g, dg, size = _gap(near, far, i, both, x, curved, low, high, slope)
        if g >= -ROUND * size:
            break
        if dg >= 0.0:
            return 1.0, -1.0
        new = x - g / dg
        if new <= 0.0:  # from very far away the step may round to nothing: there is a root if 0 is allowed
            at_rest, _, size = _gap(near, far, i, both, 0.0, curved, low, high, slope)
            if at_rest < -ROUND * size or x == 0.0:
                return 1.0, -1.0
            new = 1e-9 * x if x > 1e-290 else 0.0
        if new >= x * (1.0 - 1e-15):
            break
        x = new
    highest = x
    x = 0.0
    for _ in range(200):
        g, dg, size = _gap(near, far, i, both, x, curved, low, high, slope)
        if g >= -ROUND * size or x >= highest:
            break
        if dg <= 0.0:
            return highest, highest
        new = x - g / dg
        if new <= x * (1.0 + 1e-15):
            break
        x = new
    return min(x, highest), highest


def _leads_down(near: Floats3, far: Floats3, i: int, curved: bool, step: float, x: float, high: float) -> bool:
    """Whether a little less x would let the next x, min(x + 2h β(x), high), be higher by more than that."""
    _, _, b1, d1 = _bounds(near, i, x, curved)
    _, _, b2, d2 = _bounds(far, i, x, False)
    if b2 < b1:
        b1, d1 = b2, d2
    return x + step * b1 < high and step * d1 < -2.0


def _worthwhile(
    near: Floats3, far: Floats3, at: Limits, i: int, curved: bool, lowest: float, highest: float, low: float, high: float
) -> float:
    """The largest x in the interval that does not cost more than it brings on the next interval, of constant u.

    Next to a zero-inertia point a little more x can be had for a violent braking just after; it is not worth it.
    """
    if lowest >= highest or highest <= 0.0:
        return highest
    if curved:  # √ is made straight at the speed in question
        _rows(near, at, i, 0, max(highest, at.least), 0.0, 0.0, 0.0)
        _far_rows(far, at, i, min(highest, high), low, high, NARROW)
    step = 2.0 * at.h[i]
    if not _leads_down(near, far, i, curved, step, highest, high):
        return highest
    good, bad = lowest, highest
    for _ in range(60):
        x = 0.5 * (good + bad)
        if _leads_down(near, far, i, curved, step, x, high):
            bad = x
        else:
            good = x
    return good


def _end(near: Floats3, second: Floats3, i: int, low: float, high: float, slope: float, x: float) -> float:
    """A y to which x may lead: of the speeds allowed at x, the middle."""
    alpha, _, beta, _ = _bounds(near, i, x, True)
    a2, _, b2, _ = _bounds(second, i, x, False)
    alpha, beta = max(alpha, a2), min(beta, b2)
    u = 0.5 * (max(alpha, (low - x) * slope) + min(beta, (high - x) * slope))
    return min(max(x + u / slope, low), high)


def _far_rows(second: Floats3, at: Limits, i: int, y: float, low: float, high: float, reach: float) -> tuple[float, float]:
    """The far end of an interval of constant u with √y made straight at y; the y for which that holds.

    Where friction helps, a chord lies below the root between its ends only: over [0, reach y], or with NARROW or CLOSE
    for `reach` over [y / reach², y reach²], close to the root.
    """
    if high <= 0.0:
        _rows(second, at, i, 2, 0.0, 0.0, 0.0, 2.0 * at.h[i])
        return low, high
    y = max(y, at.least)
    w = sqrt(y)
    first, last = 0.0, sqrt(reach) * w
    if reach < 2.0:  # NARROW or CLOSE
        first, last = w / reach, w * reach
    _rows(second, at, i, 2, y, first * last / (first + last), 1.0 / (first + last), 2.0 * at.h[i])
    return max(low, first * first), min(high, last * last)


def _grow(
    near: Floats3, second: Floats3, at: Limits, i: int, end: int, both: bool, low: float, high: float, slope: float, most: float,
    x: float, y: float,
) -> tuple[float, float]:  # fmt: skip
    """`_range` with viscous friction: a connected interval of speeds, that of rest if rest is allowed.

    x, y   where to make √ straight first, at this end and (`both`) at the other
    """
    least = at.least
    a, b = _grow_from(near, second, at, i, end, both, low, high, slope, most, x, y)
    if b >= a and a <= least:
        return a, b
    c, d = _grow_from(near, second, at, i, end, both, low, high, slope, most, least, low)
    if d >= c:
        return c, d
    x = min(max(most, least), high)
    for _ in range(28):
        if b >= a:
            break
        a, b = _grow_from(near, second, at, i, end, both, low, high, slope, most, x, x)
        x = 0.15 * x
    return a, b


def _grow_from(
    near: Floats3, second: Floats3, at: Limits, i: int, end: int, both: bool, low: float, high: float, slope: float, most: float,
    x: float, y: float,
) -> tuple[float, float]:  # fmt: skip
    """The connected interval of speeds around those that are allowed with √ made straight at x and y; (1, −1) for none."""
    least = at.least
    l, t = low, high
    if both:
        l, t = _far_rows(second, at, i, min(y, high), low, high, WIDE)
    _rows(near, at, i, end, max(min(x, most), least) if most > 0.0 else 0.0, 0.0, 0.0, 0.0)
    if l > t:
        return 1.0, -1.0
    a, b = _range(near, second, i, both, True, l, t, slope, most)
    if a > b:
        return a, b
    for way in range(4):  # upwards from b, in wide, narrow and small steps, then downwards from a
        if (way == 1 or way == 2) and not both:
            continue
        for _ in range(16):
            x = b if way < 3 else a
            if (way < 3 and not both and x >= most) or (way == 3 and x <= least) or (most == 0.0 and not both):
                break
            l, t = low, high
            if both:
                y = _end(near, second, i, l, t, slope, x)
                reach = WIDE if way == 0 else NARROW if way == 1 else CLOSE if way == 2 else 1.0
                l, t = _far_rows(second, at, i, y, low, high, reach)
            _rows(near, at, i, end, max(x, least) if most > 0.0 else 0.0, 0.0, 0.0, 0.0)
            if l > t:
                break
            c, d = _range(near, second, i, both, True, l, t, slope, most)
            if c > d or c > x * (1.0 + 1e-9) or d < x * (1.0 - 1e-9):
                break
            moved = d - b if way < 3 else a - c
            a, b = min(a, c), max(b, d)
            if moved < 1e-9 * x or b >= most:
                break
    return a, b


def _climb(
    far: Floats3, i: int, curved: bool, h: float, start: float, most: float, low: float, high: float
) -> tuple[float, bool]:
    """The largest y in [low, high] at the far end of an interval of linear u; whether it is allowed there.

    start, most   the least and the greatest x + h u_L that the near end allows
    """
    y = high
    for _ in range(200):
        a, da, b, db = _bounds(far, i, y, curved)
        g, dg = most - y + h * b, -1.0 + h * db
        if y - h * a - start < g:
            g, dg = y - h * a - start, 1.0 - h * da
        if curved and h * (b - a) < g:
            g, dg = h * (b - a), h * (db - da)
        if g >= -ROUND * (abs(most) + y + h * (abs(a) + abs(b))):
            return y, True
        if dg >= 0.0:
            return y, False
        new = max(y - g / dg, low)
        if new >= y * (1.0 - 1e-15):
            return y, y > low
        y = new
    return y, False


def _settle(
    far: Floats3, at: Limits, i: int, curved: bool, alpha: float, beta: float, best: float, y: float, x: Floats1, u: Floats2
) -> None:
    """x and u of an interval of linear u that may lead to y, and should to `best` or something between them."""
    for _ in range(60 if best < y else 0):
        if curved:
            _rows(far, at, i, 2, max(best, at.least), 0.0, 0.0, 0.0)
        a, _, b, _ = _bounds(far, i, best, curved)
        if best - at.h[i] * a >= x[i] + at.h[i] * alpha and (
            not curved or (best - at.h[i] * b <= x[i] + at.h[i] * beta and a <= b)
        ):
            y = best
            break
        best = 0.5 * (best + y)
    if curved:
        _rows(far, at, i, 2, max(y, at.least), 0.0, 0.0, 0.0)
    a, _, b, _ = _bounds(far, i, y, curved)
    mean = 0.5 * (y - x[i]) / at.h[i]
    left = min(max(mean, max(alpha, 2.0 * mean - b)), min(beta, 2.0 * mean - a))
    x[i + 1], u[i, 0], u[i, 1] = y, left, 2.0 * mean - left


def _step_back(i: int, tries: int, x: Floats1, K: Floats2, ends: Floats2) -> bool:
    """A little less x at the end of its set, where one y alone would do and was not found; whether that was possible."""
    share = 1e-7
    for _ in range(tries):
        share *= 4.0
    less = x[i] * (1.0 - share)
    if tries > 12 or less < K[i, 0] or (i > 0 and less < ends[i - 1, 0]):
        return False
    if i == 0:
        x[0] = less
    else:
        ends[i - 1, 1] = less
    return True


def _fastest_end(
    far: Floats3, at: Limits, i: int, x: float, alpha: float, beta: float, low: float, high: float, level: float
) -> float:
    """The largest y in [low, high] that x leads to on an interval of linear u; −1 where none was found."""
    h = at.h[i]
    highest, guess = -1.0, high
    for trial in range(24):
        if highest >= 0.0:
            guess = highest
        elif trial == 1:
            guess = level
        elif trial == 2:
            guess = x
        elif trial > 2:
            guess = low + 0.5 * (guess - low)
        guess = min(max(guess, low), high)
        _rows(far, at, i, 2, max(guess, at.least), 0.0, 0.0, 0.0)
        y, good = _climb(far, i, True, h, x + h * alpha, x + h * beta, low, high)
        if good:
            if highest >= 0.0 and y <= highest * (1.0 + 1e-10):
                return max(highest, y)
            highest = max(highest, y)
        elif highest >= 0.0:
            return highest
    return highest


def _constant_end(
    second: Floats3, at: Limits, i: int, x: float, alpha: float, beta: float, low: float, high: float, level: float
) -> tuple[float, float, float]:
    """The largest y in [low, high] that x leads to on an interval of constant u, and the smallest seen with it.

    The level of √ at the far end is found together with y. Where there is none: −1, the y that is nearly one, and by
    how much it is missed.
    """
    h = at.h[i]
    y, lowest, guess, reach = -1.0, 0.0, 0.0, NARROW
    gap, nearly = HUGE, 0.0
    for trial in range(64):
        if y >= 0.0:
            guess = y
        elif trial < 3:  # what this end allows: the most of it, its middle, the least
            share = 1.0 - 0.5 * trial
            guess = x + 2.0 * h * (share * min(beta, (high - x) / (2.0 * h)) + (1.0 - share) * alpha)
        elif trial == 3:
            guess = level
        elif trial == 4:
            guess = x
        elif trial < 20 and gap < 0.1 * (x + high):  # it was nearly found: closer there
            guess, reach = nearly, CLOSE
        elif reach != WIDE:
            guess, reach = high, WIDE
        else:
            guess = 0.2 * guess
        l, t = _far_rows(second, at, i, min(max(guess, low), high), low, high, reach)
        a, _, b, _ = _bounds(second, i, x, False)
        top, bottom = x + 2.0 * h * min(beta, b), x + 2.0 * h * a
        bottom = max(bottom, l, x + 2.0 * h * alpha)
        if l <= t and bottom - min(top, t) < gap:
            gap, nearly = bottom - min(top, t), 0.5 * (bottom + min(top, t))
        if l <= t and min(top, t) >= bottom - 1e-9 * (x + l):
            new = min(max(top, l), t)
            if new > y * (1.0 + 1e-10):
                reach = WIDE if y >= 0.0 and new > 1.3 * y else min(reach, NARROW)
                y, lowest = new, min(bottom, new)
                continue
        if y >= 0.0:
            if reach == CLOSE:
                break
            reach = NARROW if reach == WIDE else CLOSE
    if y >= 0.0:
        return y, lowest, 0.0
    return y, nearly, gap


@native
def solve(
    curved: bool, at: Limits, x_most: Floats1, kind: Integers1, level: Floats1,
    K: Floats2, x: Floats1, u: Floats2, ends: Floats2, near: Floats3, far: Floats3, second: Floats3,
) -> int:  # fmt: skip
    """Backward over the controllable sets K, then forward along the fastest profile.

    D, floor, least   as :class:`Limits` has them
    h           (N,) lengths; x_most (N+1,): x allowed by velocity limits, 0 where the motion must stop
    room        (N,) kept free of every limit; kind (N,): CONSTANT, LINEAR or LEFT_ONLY
    level       (N+1,) where to make √x straight first; it and `least` are for viscous friction only
    K, x, u     (N+1, 2), (N+1,) and (N, 2): the results
    near, far   (N, 6, J) to work in; second: (N, 6, 2J) with viscous friction, `far` without
    Returns 0, or i + 1 where no speed at grid point i lets the path be followed to its end; −(i + 1)
            where the forward pass is stuck at i
    """
    N, h, least = at.D.shape[0], at.h, at.least
    if curved:
        K[N, 0], K[N, 1] = _grow(far, second, at, N - 1, 2, False, -HUGE, HUGE, 1.0, x_most[N], level[N], 0.0)
    else:
        _rows(far, at, N - 1, 2, 0.0, 0.0, 0.0, 0.0)
        K[N, 0], K[N, 1] = _range(far, far, N - 1, False, curved, -HUGE, HUGE, 1.0, x_most[N])
    if K[N, 1] < K[N, 0]:
        return N + 1
    for i in range(N - 1, -1, -1):
        low, high = K[i + 1, 0], K[i + 1, 1]
        slope = 0.5 / h[i]
        if kind[i] == LINEAR:  # what of the next set the right end of this interval can stand
            if curved:
                a, b = _grow(far, second, at, i, 2, False, -HUGE, HUGE, 1.0, high, level[i + 1], 0.0)
            else:
                _rows(far, at, i, 2, 0.0, 0.0, 0.0, 0.0)
                a, b = _range(far, far, i, False, curved, -HUGE, HUGE, 1.0, high)
            low, high = max(a, low), min(b, high)
            if low > high:
                return i + 1
        ends[i, 0], ends[i, 1] = low, high
        if kind[i] == LINEAR:
            if curved:
                _rows(far, at, i, 2, max(high, least), 0.0, 0.0, 0.0)
            alpha, _, _, _ = _bounds(far, i, high, curved)
            if curved:
                _rows(far, at, i, 2, max(low, least), 0.0, 0.0, 0.0)
            _, _, beta, _ = _bounds(far, i, low, curved)
            low, high, slope = low - h[i] * beta, high - h[i] * alpha, 1.0 / h[i]
        if curved:
            x_level = level[i] if level[i] > 0.0 else K[i + 1, 1]
            y_level = level[i + 1] if level[i + 1] > 0.0 else K[i + 1, 1]
            a, b = _grow(near, second, at, i, 0, kind[i] == CONSTANT, low, high, slope, x_most[i], x_level, y_level)
        else:
            _rows(near, at, i, 0, 0.0, 0.0, 0.0, 0.0)
            if kind[i] == CONSTANT:
                _rows(far, at, i, 2, 0.0, 0.0, 0.0, 2.0 * h[i])
            a, b = _range(near, far, i, kind[i] == CONSTANT, curved, low, high, slope, x_most[i])
        if b < a:
            return i + 1
        # with friction one y alone would do at the very end, and it must be found
        K[i, 0], K[i, 1] = a, max(b * (1.0 - 1e-7), a) if curved else b
    x[0] = K[0, 1]
    if kind[0] == CONSTANT:
        x[0] = _worthwhile(near, second, at, 0, curved, K[0, 0], x[0], ends[0, 0], ends[0, 1])
    i, tries, less = -1, 0, -1
    while i + 1 < N:
        i += 1
        if i > less:
            tries = 0
        low, high = ends[i, 0], ends[i, 1]
        if curved:
            _rows(near, at, i, 0, max(x[i], least) if x_most[i] > 0.0 else 0.0, 0.0, 0.0, 0.0)
        alpha, _, beta, _ = _bounds(near, i, x[i], curved)
        y, lowest, gap = -1.0, low, HUGE
        if kind[i] == LINEAR:
            if curved:
                y = _fastest_end(far, at, i, x[i], alpha, beta, low, high, level[i + 1])
            else:
                y, good = _climb(far, i, curved, h[i], x[i] + h[i] * alpha, x[i] + h[i] * beta, low, high)
                if not good and y > low:
                    return -(i + 1)
        elif curved:
            y, lowest, gap = _constant_end(second, at, i, x[i], alpha, beta, low, high, level[i + 1])
        else:
            if kind[i] == CONSTANT:
                a, _, b, _ = _bounds(far, i, x[i], curved)
                alpha, beta = max(alpha, a), min(beta, b)
            y = min(x[i] + 2.0 * h[i] * beta, high)
            if y < low - 1e-9 * (low + x[i]) - 1e-300:
                return -(i + 1)
            y = max(y, low)
            lowest = min(x[i] + 2.0 * h[i] * alpha, y)
        if y < 0.0:
            less = max(less, i)
            tries += 1
            if _step_back(i, tries, x, K, ends):
                i = max(i - 2, -1)
                continue
            if kind[i] == LINEAR or gap > 1e-3 * (x[i] + low):
                return -(i + 1)
            y = lowest = min(max(lowest, low), high)  # misses by little, which `check` sees and more room mends
        best = y
        if i + 1 < N and kind[i + 1] == CONSTANT:
            lowest = max(lowest, low)
            best = _worthwhile(near, second, at, i + 1, curved, lowest, y, ends[i + 1, 0], ends[i + 1, 1])
        if kind[i] == LINEAR:
            _settle(far, at, i, curved, alpha, beta, best, y, x, u)
            continue
        x[i + 1] = max(best, 0.0)
        u[i, 0] = u[i, 1] = 0.5 * (x[i + 1] - x[i]) / h[i]
    return 0



def _parabola(t: float) -> tuple[float, float, float]:
    """What the values at 0, ½ and 1 weigh at t on the parabola through them."""
    return (2.0 * t - 1.0) * (t - 1.0), 4.0 * t * (1.0 - t), t * (2.0 * t - 1.0)


@native
def check(
    D: Floats4, S: Floats3, h: Floats1, smooth: Flags1, x: Floats1, u: Floats2,
    over: Floats1, fast: Floats1, near: Floats2, blur: Floats1, points: Floats2,
) -> None:  # fmt: skip
    """How far each interval goes beyond its limits, inside as well as at its ends, relative to the limit.

    D      between its three points each coefficient is the parabola through them
    S      (N, 3, n): |q'| over the velocity limit, at the left end, the middle and the right end
    smooth (N,) whether the path runs on without a knot into the next interval
    over   (N,) torque and acceleration; fast (N,) velocity; near (N, J): the largest share of each limit
    blur   (N,) how wrong the parabolas may be, as a share of the limit: of the order of h³, and more where a
           derivative jumps; counted in `over`

    Each share is taken at five points; what may be missed between them is an eighth of its second differences.
    """
    N, J, n = D.shape[0], D.shape[3], S.shape[2]
    z, a, w = points[0], points[1], points[2]
    for i in range(N):
        bend = (u[i, 1] - u[i, 0]) / h[i]
        for p in range(5):
            t = 0.25 * p * h[i]
            z[p] = max(x[i] + (2.0 * u[i, 0] + bend * t) * t, 0.0)
            a[p], w[p] = u[i, 0] + bend * t, sqrt(z[p])
        worst = 0.0
        for j in range(J):
            most, rough, before, last = 0.0, 0.0, 0.0, 0.0
            for p in range(5):
                l0, l1, l2 = _parabola(0.25 * p)
                value = (
                    (l0 * D[i, 0, 0, j] + l1 * D[i, 1, 0, j] + l2 * D[i, 2, 0, j]) * a[p]
                    + (l0 * D[i, 0, 1, j] + l1 * D[i, 1, 1, j] + l2 * D[i, 2, 1, j]) * z[p]
                    + (l0 * D[i, 0, 2, j] + l1 * D[i, 1, 2, j] + l2 * D[i, 2, 2, j]) * w[p]
                    + (l0 * D[i, 0, 3, j] + l1 * D[i, 1, 3, j] + l2 * D[i, 2, 3, j])
                )
                if p > 1:
                    bow = abs(value - 2.0 * last + before)
                    rough = bow if bow > rough else rough
                before, last = last, value
                value = abs(value)
                most = value if value > most else most
            near[i, j] = most
            most += 0.125 * rough
            worst = most if most > worst else worst
        quick = 0.0
        for j in range(n):
            most, rough, before, last = 0.0, 0.0, 0.0, 0.0
            for p in range(5):
                l0, l1, l2 = _parabola(0.25 * p)
                value = (l0 * S[i, 0, j] + l1 * S[i, 1, j] + l2 * S[i, 2, j]) * w[p]
                if p > 1:
                    bow = 2.0 * last - value - before
                    rough = bow if bow > rough else rough
                before, last = last, value
                most = value if value > most else most
            quick = most + 0.125 * rough if most + 0.125 * rough > quick else quick
        over[i], fast[i], blur[i] = worst - 1.0, quick - 1.0, 0.0
    for i in range(N - 1):
        if smooth[i]:  # how far the parabola of one interval misses the middle of the next, both ways
            blur[i] = max(blur[i], _misses(D, near, x, u, h[i], h[i + 1], i, i + 1, 0, 2))
            blur[i + 1] = max(blur[i + 1], _misses(D, near, x, u, h[i + 1], h[i], i + 1, i, 2, 0))
    for i in range(N):
        over[i] += blur[i]


def _misses(D: Floats4, near: Floats2, x: Floats1, u: Floats2, h: float, other: float, i: int, k: int, first: int, last: int) -> float:
    """What the parabola on interval i may be wrong by, judged by the middle of the neighbour k beyond its end `last`."""
    t = 1.0 + 0.5 * other / h
    l0, l1, l2 = _parabola(t)
    # the cubic term: 0.048 at most within, t (t − ½)(t − 1) out there; five times that, for jumps of a derivative
    share = 5.0 * 0.048 / (t * (t - 0.5) * (t - 1.0))
    most = 0.0
    size, speed = max(abs(u[i, 0]), abs(u[i, 1])), max(x[i], x[i + 1])
    for j in range(D.shape[3]):
        if near[i, j] < 0.9:
            continue
        d = 0.0
        for f in range(4):
            scale = size if f == 0 else (speed if f == 1 else (sqrt(speed) if f == 2 else 1.0))
            d += abs(l0 * D[i, first, f, j] + l1 * D[i, 1, f, j] + l2 * D[i, last, f, j] - D[k, 1, f, j]) * scale
        most = max(most, share * d)
    return most


@native
def assemble(
    where: Integers2, g: Floats2, m: Floats2, c: Floats2, qp: Floats2, qpp: Floats2, viscous: Floats2, dry: Floats2,
    rub: Floats3, rests: Flags1, effort: Floats1, acceleration: Floats1, velocity: Floats1,
    torques: Integers1, accelerations: Integers1, velocities: Integers1,
    D: Floats4, speed: Floats3, largest: Floats2, x_most: Floats1,
) -> None:  # fmt: skip
    """The coefficients of every limit on every interval, divided by the limit; the largest |m|, |c|, |k| of each.

    speed is |q'| over the velocity limit; x_most (N+1,) comes as a cap, and goes as what velocity allows besides.

    where   (N, 3) the points of an interval among the rows of g, m, c, qp, qpp: left, middle, right
    g, m, c friction-free: gravity, B q', B q'' + C q' plus friction at qp (viscous, dry), which is taken out here
    rub     (N, 3, n) Coulomb friction that acts on the interval
    rests   (N,) intervals that begin or end at rest, where Coulomb friction is nothing: kept with and without it
    torques, accelerations, velocities  which joints are limited
    """
    N, J, A, V = where.shape[0], len(torques), len(accelerations), len(velocities)
    for f in range(4):
        for r in range(J + A):
            largest[f, r] = 0.0
    for i in range(N):
        for side in range(3):
            p = where[i, side]
            into = D[i, side]
            for r in range(J):
                j = torques[r]
                scale = 1.0 / effort[j]
                into[0, r] = (m[p, j] - g[p, j]) * scale
                into[1, r] = (c[p, j] - g[p, j]) * scale
                into[2, r] = viscous[p, j] * scale
                into[3, r] = g[p, j] * scale
                if into[2, r] != 0.0:
                    into[1, r] -= into[2, r]
                if dry[p, j] != 0.0:
                    into[1, r] -= dry[p, j] * scale
                if not rests[i]:
                    into[3, r] += rub[i, side, j] * scale
                    continue
                # |τ| ≤ 1 and |τ + rub| ≤ 1 together are |τ + rub/2| ≤ 1 − |rub|/2
                into[3, r] += 0.5 * rub[i, side, j] * scale
                rest = 1.0 / max(1.0 - 0.5 * abs(rub[i, side, j]) * scale, 1e-6)
                for f in range(4):
                    into[f, r] *= rest
            for r in range(A):
                j = accelerations[r]
                scale = 1.0 / acceleration[j]
                into[0, J + r] = qp[p, j] * scale
                into[1, J + r] = qpp[p, j] * scale
                into[2, J + r] = into[3, J + r] = 0.0
            most = 0.0
            for r in range(V):
                j = velocities[r]
                value = abs(qp[p, j]) / velocity[j]
                speed[i, side, r] = value
                most = value if value > most else most
            if side != 1 and most * most * x_most[i + side // 2] > 1.0:
                x_most[i + side // 2] = 1.0 / (most * most)
            for f in range(4):
                for r in range(J + A):
                    value = abs(into[f, r])
                    largest[f, r] = value if value > largest[f, r] else largest[f, r]


@native
def largest_share(D: Floats4, x: Floats1, u: Floats2) -> float:
    """The largest share of any limit that is taken at the ends of the intervals."""
    worst = 0.0
    for i in range(D.shape[0]):
        for side in range(2):
            z, a = x[i + side], u[i, side]
            w = sqrt(z)
            for j in range(D.shape[3]):
                f = 2 * side
                value = abs(D[i, f, 0, j] * a + D[i, f, 1, j] * z + D[i, f, 2, j] * w + D[i, f, 3, j])
                worst = value if value > worst else worst
    return worst


@native
def kinds(D: Floats4, h: Floats1, near: Floats2, x_most: Floats1, level: Floats1, into: Integers1, share: float) -> None:
    """CONSTANT where a limit that matters (more than `share` of it used) has little inertia beside its other terms.

    level  (N+1,) the last x, for the slope of viscous friction; 0 where nothing is known
    """
    N, J = D.shape[0], D.shape[3]
    for i in range(N):
        constant = x_most[i] == 0.0 or x_most[i + 1] == 0.0
        if not constant:
            for j in range(J):
                if near[i, j] < share:
                    continue
                left, right = D[i, 0, 0, j], D[i, 2, 0, j]
                small, large = min(abs(left), abs(right)), max(abs(left), abs(right))
                bend = max(abs(D[i, 0, 1, j]), abs(D[i, 2, 1, j])) * h[i]
                slow = min(level[i], level[i + 1])
                if slow > 0.0:
                    bend += 0.5 * abs(D[i, 0, 2, j]) * h[i] / sqrt(slow)
                if left * right < 0.0 or small < 0.6 * large or bend > 0.25 * small:
                    constant = True
                    break
        into[i] = CONSTANT if constant else LINEAR


@native
def tighten(
    over: Floats1, fast: Floats1, allowed: float, fastest: Floats1, reach: int, extra: float, room: Floats1, slower: Floats1, x_most: Floats1
) -> None:
    """More room on the intervals that exceed a limit and on `reach` neighbours, where it may be exceeded next."""
    N = over.shape[0]
    for i in range(N):
        if over[i] > 0.5 * allowed:
            more = 1.1 * over[i] + extra * allowed
            room[i] += more
            for k in range(max(i - reach, 0), min(i + reach + 1, N)):
                if over[k] <= 0.5 * allowed and room[k] < 0.7 * more:
                    room[k] = 0.7 * more
        if fast[i] > 0.5 * allowed:
            slower[i] += 1.05 * fast[i] + 0.25 * allowed
    for i in range(N + 1):
        most = max(slower[i - 1] if i > 0 else 0.0, slower[i] if i < N else 0.0)
        share = 1.0 - min(most, 0.5)
        x_most[i] = fastest[i] * share * share


def moved(start: float, acceleration: float, bend: float, t: float) -> tuple[float, float]:
    """s and ṡ after t (s) where s̈ = acceleration + bend s, from s = 0 and ṡ = start."""
    z = bend * t * t
    C, S, term_c, term_s = 0.5, 1.0, 0.5, 1.0  # (cosh √z − 1)/z and sinh √z/√z, as series
    for k in range(1, 40):
        term_c *= z / ((2 * k + 1) * (2 * k + 2))
        term_s *= z / ((2 * k) * (2 * k + 1))
        C += term_c
        S += term_s
        if abs(term_c) < 1e-18 and abs(term_s) < 1e-18:
            break
    C *= t * t
    S *= t
    return start * S + acceleration * C, start * (1.0 + bend * C) + acceleration * S


@native
def times(h: Floats1, x: Floats1, u: Floats2, into: Floats1) -> int:
    """When each grid point is passed; i + 1 where interval i cannot be crossed."""
    into[0] = 0.0
    for i in range(h.shape[0]):
        first, last = sqrt(x[i]), sqrt(x[i + 1])
        if first + last <= 0.0:
            return i + 1
        t = 2.0 * h[i] / (first + last)
        if u[i, 0] != u[i, 1]:
            bend = (u[i, 1] - u[i, 0]) / h[i]
            for _ in range(20):
                s, sd = moved(first, u[i, 0], bend, t)
                if sd <= 0.0:
                    return i + 1
                step = (h[i] - s) / sd
                t += step
                if abs(step) < 1e-15 * t:
                    break
        into[i + 1] = into[i] + t
    return 0


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
def at(t: Floats1, T: Floats1, s: Floats1, x: Floats1, u: Floats2, out: Floats2) -> None:
    """(s, ṡ, s̈) at the instants t, by intervals; each interval keeps to its own side of its knots."""
    N = u.shape[0]
    i = 0
    for p in range(t.shape[0]):
        if i >= N or T[i] > t[p] or (i + 1 < N and T[i + 1] <= t[p]):
            i = _interval(T, t[p])
        h = s[i + 1] - s[i]
        bend = (u[i, 1] - u[i, 0]) / h
        d, sd = moved(sqrt(x[i]), u[i, 0], bend, t[p] - T[i])
        d = min(max(d, 0.0 if i == 0 else 3e-12 * s[N]), h if i == N - 1 else h - 3e-12 * s[N])
        out[0, p] = s[i] + d
        out[1, p] = max(sd, 0.0)
        out[2, p] = u[i, 0] + bend * d


@native
def safe_between(h: Floats1, x: Floats1, u: Floats2, into: Integers1) -> int:
    """Marks CONSTANT where a linear u would turn x(s) around too sharply; how many were marked."""
    count = 0
    for i in range(h.shape[0]):
        if u[i, 0] != u[i, 1] and abs(u[i, 1] - u[i, 0]) * h[i] > 0.5 * min(x[i], x[i + 1]):
            into[i] = CONSTANT
            count += 1
    return count
