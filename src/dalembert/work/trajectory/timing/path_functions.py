"""Compiled functions along a path: coefficients of its limits, piecewise polynomials, and evaluation of a timing."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from dalembert.compiler.kernel.native import Floats1, Floats2, Floats3, Integers1, lanes, native
from dalembert.work.trajectory.timing.interval_checks import moved


class PathTerms(NamedTuple):
    """The torques of the arm at points of a path, and the derivatives of the path, (M, n) each.

    g, m, c       gravity, B q' with gravity, and B q'' + C q' with gravity and with friction at qp
    qp, qpp       q' and q''
    viscous, dry  the friction contained in c; no rows if there is none
    """

    g: Floats2
    m: Floats2
    c: Floats2
    qp: Floats2
    qpp: Floats2
    viscous: Floats2
    dry: Floats2


@native
def assemble(
    source: Integers1,
    of: PathTerms,
    rub: Floats2,
    has_friction: bool,
    per: Floats2,
    D: Floats3,
    speed: Floats2,
    largest: Floats2,
) -> None:
    """Compute the coefficients of every limit at P points, in shares of the limit.

    source  (P,) the points among the rows of ``of``
    rub     (P, n) Coulomb friction that acts there; the first and the last three points, in the intervals that begin or
            end at rest, where it vanishes, are kept with and without it; no points if there is none
    has_friction    whether there is any friction; if not, that of ``of`` is not read
    per     (3, n) 1 / limit of the effort, acceleration and velocity of every joint; 0 where there is none
    D       (P, 4, J), zero before: coefficients m, c, v, k of the torques of all n joints, then of their accelerations if
            there are rows for them, then padding
    speed   (P, V), zero before: |q'| over the velocity limit, then padding
    largest (4, J), zero before: largest |m|, |c| and |k| of each row of D, in rows 0, 1 and 3
    """
    g, m, c, qp, qpp, viscous, dry = of.g, of.m, of.c, of.qp, of.qpp, of.viscous, of.dry
    per_effort, per_acceleration, per_velocity = per[0], per[1], per[2]
    P, n = len(source), qp.shape[1]
    accelerates = 2 * n <= D.shape[2]
    for p in range(P):
        q = source[p]
        M, C, V, K, v = D[p, 0], D[p, 1], D[p, 2], D[p, 3], speed[p]
        for j in range(n):
            M[j] = (m[q, j] - g[q, j]) * per_effort[j]
            C[j] = (c[q, j] - g[q, j]) * per_effort[j]
            K[j] = g[q, j] * per_effort[j]
            v[j] = abs(qp[q, j]) * per_velocity[j]
        if has_friction:
            for j in range(n):
                V[j] = viscous[q, j] * per_effort[j]
                C[j] -= V[j] + dry[q, j] * per_effort[j]
        if p < len(rub):
            for j in range(n):
                K[j] += rub[p, j] * per_effort[j]
            if p < 3 or p >= P - 3:
                _keep_rest_too(D[p], rub[p], per_effort)
        if accelerates:
            for j in range(n):
                M[n + j] = qp[q, j] * per_acceleration[j]
                C[n + j] = qpp[q, j] * per_acceleration[j]
        for j in lanes(D.shape[2]):
            largest[0, j] = max(largest[0, j], abs(M[j]))
            largest[1, j] = max(largest[1, j], abs(C[j]))
            largest[3, j] = max(largest[3, j], abs(K[j]))


def _keep_rest_too(D: Floats2, rub: Floats1, per_effort: Floats1) -> None:
    """|τ| ≤ 1 and |τ + rub| ≤ 1 together, which is |τ + rub/2| ≤ 1 − |rub|/2, from |τ + rub| ≤ 1."""
    for j in range(len(rub)):
        D[3, j] -= 0.5 * rub[j] * per_effort[j]
        rest = 1.0 / max(1.0 - 0.5 * abs(rub[j]) * per_effort[j], 1e-6)
        for f in range(4):
            D[f, j] *= rest


def _interval(T: Floats1, t: float) -> int:
    """Index of the last interval that begins at or before t."""
    low, high = 0, len(T) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if T[middle] <= t:
            low = middle
        else:
            high = middle
    return low


def _bernstein(F: Floats2, u: float, v: float, scale: float, into: Floats1) -> None:
    """Σ Fₖ uᵏ vᵈ⁻ᵏ times ``scale``, for each joint."""
    d = F.shape[0] - 1
    for j in range(len(into)):
        into[j] = F[d, j]
    power = 1.0
    for k in range(d - 1, -1, -1):
        power *= v
        for j in range(len(into)):
            into[j] = into[j] * u + F[k, j] * power
    for j in range(len(into)):
        into[j] *= scale


@native
def hermite(t: Floats1, x: Floats1, y: Floats3, F: Floats3, F1: Floats3, F2: Floats3, out: Floats3) -> None:
    """q, q̇ and q̈ (3, M, n) at the times t (M,) of a :class:`Hermite` with nodes x, y and factors F, F1, F2."""
    q, qd, qdd, i = out[0], out[1], out[2], 0
    for p in range(len(t)):
        if x[i] > t[p] or x[i + 1] <= t[p]:
            i = _interval(x, t[p])
        per_h = 1.0 / (x[i + 1] - x[i])
        u, v = (t[p] - x[i]) * per_h, (x[i + 1] - t[p]) * per_h
        _bernstein(F[i], u, v, 1.0, q[p])
        _bernstein(F1[i], u, v, per_h, qd[p])
        _bernstein(F2[i], u, v, per_h * per_h, qdd[p])
        for j in range(q.shape[1]):
            q[p, j] += y[0, i, j]
        if t[p] == x[i] or t[p] == x[i + 1]:  # no rounding at the nodes themselves
            node = i if t[p] == x[i] else i + 1
            for j in range(q.shape[1]):
                q[p, j], qd[p, j] = y[0, node, j], y[1, node, j]
                if len(y) > 2:
                    qdd[p, j] = y[2, node, j]


@native
def law(t: Floats1, T: Floats1, s: Floats1, x: Floats1, u: Floats2, out: Floats2) -> None:
    """(s, ṡ, s̈) at the times t; each interval uses the values on its own side of its knots."""
    N = u.shape[0]
    i = 0
    for p in range(len(t)):
        if T[i] > t[p] or (i + 1 < N and T[i + 1] <= t[p]):
            i = _interval(T, t[p])
        h = s[i + 1] - s[i]
        bend = (u[i, 1] - u[i, 0]) / h
        d, sd = moved(sqrt(x[i]), u[i, 0], bend, t[p] - T[i])
        d = min(max(d, 0.0 if i == 0 else 3e-12 * s[N]), h if i == N - 1 else h - 3e-12 * s[N])
        out[0, p] = s[i] + d
        out[1, p] = max(sd, 0.0)
        out[2, p] = u[i, 0] + bend * d
