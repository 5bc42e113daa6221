"""A rough move made smooth within a tolerance, for paths whose noise a time-optimal motion cannot follow.

Positions rounded to a few decimals, or measured, leave rest in steps: the path turns to and fro within a millionth of
a radian, which costs nothing at its own slow speed there and would cost everything at a high one. The path is taken
at points that are farther apart than the noise, with the distance between them as its parameter, and a smoothing
spline through them stays within the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.trajectory.moves import Move, moves_of
from dalembert.trajectory.profiles import Derivatives
from dalembert.trajectory.trajectory import Trajectory

Array = NDArray[np.floating[Any]]

POINTS = 1000  # along the path, at most
APART = 30.0  # tolerances between one point and the next, at least
SHARP = 0.5  # rad between two chords: a corner, which stays one


def smoothed(move: Move, tolerance: float) -> tuple[list[Move], float]:
    """Moves along a path within about ``tolerance`` of this one, and how far it is away at most."""
    r = np.unique(np.concatenate([np.linspace(0.0, move.length, 4 * POINTS + 1), move.knots]))
    q, t = move.at(r)[0], move.given_time(r)
    chosen = _thinned(q, tolerance)
    way = np.diff(q[chosen], axis=0)
    chords = np.sqrt(np.square(way).sum(axis=1))
    s = np.concatenate([[0.0], np.cumsum(chords)])
    unit = way / chords[:, None]
    corners = 1 + np.flatnonzero((unit[1:] * unit[:-1]).sum(axis=1) < np.cos(SHARP))
    ends = np.concatenate([[0], corners, [len(s) - 1]])
    curves = [_fit(s[a : b + 1], q[chosen[a : b + 1]], tolerance) for a, b in pairwise(ends)]
    spline = _Splines(s[ends], tuple(curves))
    knots = np.unique(np.concatenate([s[ends[1:-1]], *(curve.curves[0].t for curve in curves)]))
    motion = Trajectory(float(s[-1]), q.shape[1], spline, tuple(knots[(knots > 0) & (knots < s[-1])]))
    clock = s, t[chosen]
    away = float(np.abs(spline(np.interp(t, t[chosen], s))[0] - q).max())
    return [replace(part, clock=clock) for part in moves_of(motion)[0]], away


def _thinned(q: Array, tolerance: float) -> NDArray[np.intp]:
    """Points of the path, both ends among them, that are far enough apart."""
    steps = np.sqrt(np.square(np.diff(q, axis=0)).sum(axis=1)).sum()
    apart = max(APART * tolerance, steps / POINTS)
    chosen = [0]
    for k in range(1, len(q)):
        if np.square(q[k] - q[chosen[-1]]).sum() >= apart * apart:
            chosen.append(k)
    if len(chosen) > 1 and np.square(q[-1] - q[chosen[-1]]).sum() < 0.25 * apart * apart:
        chosen.pop()
    return np.array([*chosen, len(q) - 1] if chosen[-1] != len(q) - 1 else chosen)


def _fit(s: Array, q: Array, tolerance: float) -> Derivatives:
    """The smoothing spline of degree 5 (3 or 1 through few points) that begins and ends where the path does."""
    from scipy.interpolate import BSpline, UnivariateSpline, make_interp_spline

    degree = 5 if len(s) > 5 else 3 if len(s) > 3 else 1
    fits = [UnivariateSpline(s, column, k=degree, s=len(s) * tolerance**2)._eval_args for column in q.T]
    knots = np.unique(np.concatenate([fit[0] for fit in fits]))
    knots = np.concatenate([[knots[0]] * degree, knots, [knots[-1]] * degree])
    sites = np.array([knots[k + 1 : k + degree + 1].mean() for k in range(len(knots) - degree - 1)])
    values = np.stack([BSpline(*fit)(sites) for fit in fits], axis=1)
    share = ((sites - s[0]) / (s[-1] - s[0]))[:, None]
    values += (q[0] - values[0]) * (1.0 - share) + (q[-1] - values[-1]) * share
    return Derivatives.of(make_interp_spline(sites, values, k=degree, t=knots))


@dataclass(frozen=True, eq=False)
class _Splines:
    """One curve after the other, from each mark to the next."""

    marks: Array
    parts: tuple[Derivatives, ...]

    def __call__(self, s: Array) -> tuple[Array, Array, Array]:
        which = np.clip(np.searchsorted(self.marks, s, side="right") - 1, 0, len(self.parts) - 1)
        n = self.parts[0].curves[0].c.shape[1]
        found = np.empty((3, len(s), n))
        for k, part in enumerate(self.parts):
            mine = which == k
            found[:, mine] = part(s[mine])
        return found[0], found[1], found[2]
