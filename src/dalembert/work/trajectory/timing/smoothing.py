"""Smoothing of a rough move within a tolerance, for paths whose noise a time-optimal motion cannot follow.

Positions that are measured, or rounded to a few decimals, leave rest in steps: the path oscillates within a millionth
of a radian, which is harmless at its own low speed there but very costly at a high one. The path is sampled
at points that are farther apart than the noise, with the distance between them as its parameter, and a smoothing
spline through them stays within the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.work.trajectory.planning.profiles import SmoothCurve
from dalembert.work.trajectory.planning.time_breaks import inside, segment
from dalembert.work.trajectory.planning.trajectory import Trajectory
from dalembert.work.trajectory.timing.moves import Move, moves_of

DEGREE = 5  # of the splines
POINTS = 1000  # maximum number of points along the path
APART = 30.0  # minimum distance between points, in tolerances
SHARP = 0.5  # rad between two chords: a corner, which is preserved


def smoothed(move: Move, tolerance: float, marks: Array) -> tuple[list[Move], float]:
    """Moves along a path within about ``tolerance`` of this one, and the largest distance between both.

    marks  times of the original motion at which its loads change; they become knots of the new path
    """
    r = np.unique(np.concatenate([np.linspace(0.0, move.length, 4 * POINTS + 1), move.knots]))
    q, t = move.at(r)[0], move.given_time(r)
    points = _thinned(q, tolerance)
    way = np.diff(q[points], axis=0)
    chords = np.linalg.norm(way, axis=1)
    s = np.cumsum([0.0, *chords])
    unit = way / chords[:, None]
    corners = 1 + np.flatnonzero((unit[1:] * unit[:-1]).sum(axis=1) < np.cos(SHARP))
    ends = np.array([0, *corners, len(s) - 1])
    curves = [_fit(s[a : b + 1], q[points[a : b + 1]], tolerance) for a, b in pairwise(ends)]
    spline = _Splines(s[ends], curves)
    knots = np.unique(np.concatenate([s[ends[1:-1]], *(curve.breaks for joints in curves for curve in joints)]))
    nearest, away = _nearest(spline, q, np.interp(t, t[points], s), float(s[-1]))
    clock = np.maximum.accumulate(nearest), t
    knots = np.append(knots, np.interp(marks[(marks > t[0]) & (marks < t[-1])], t, clock[0]))
    motion = Trajectory(float(s[-1]), q.shape[1], spline, tuple(inside(knots, float(s[-1]))))
    return [replace(part, clock=clock) for part in moves_of(motion)[0]], away


def _nearest(spline: _Splines, q: Array, s: Array, length: float) -> tuple[Array, float]:
    """Parameters (N,) of the points q (N, n) of the old path on the new one, and the largest distance."""
    for _ in range(4):
        at, along, _ = spline(s)
        s = np.clip(s + ((q - at) * along).sum(axis=1) / np.square(along).sum(axis=1), 0.0, length)
    return s, float(np.linalg.norm(q - spline(s)[0], axis=1).max())


def _thinned(q: Array, tolerance: float) -> NDArray[np.intp]:
    """Indices of points of the path that are far enough apart, including both ends."""
    steps = np.linalg.norm(np.diff(q, axis=0), axis=1).sum()
    apart = max(APART * tolerance, steps / POINTS)
    points = [0]
    for k in range(1, len(q)):
        if np.square(q[k] - q[points[-1]]).sum() >= apart * apart:
            points.append(k)
    if len(points) > 1 and np.square(q[-1] - q[points[-1]]).sum() < 0.25 * apart * apart:
        points.pop()
    return np.array([*points, len(q) - 1] if points[-1] != len(q) - 1 else points)


def _fit(s: Array, q: Array, tolerance: float) -> list[SmoothCurve]:
    """Smoothing splines, one per joint, from the first point to the last."""
    with extra("motion", "the time-optimal timing of a path known from samples, or with noise"):
        from scipy.interpolate import BSpline, splrep

    if len(s) <= DEGREE:  # between corners that are close together
        few, s = s, np.linspace(s[0], s[-1], 2 * DEGREE)
        q = np.stack([np.interp(s, few, column) for column in q.T], axis=1)
    curves = []
    for column in q.T:
        (t, c, _), *_ = splrep(s, column, k=DEGREE, s=len(s) * tolerance**2, full_output=1, quiet=1)
        size = len(t) - DEGREE - 1
        c = c[:size]
        # a straight line in s has coefficients equal to its values at the means of neighbouring knots
        share = (np.array([t[k + 1 : k + DEGREE + 1].mean() for k in range(size)]) - s[0]) / (s[-1] - s[0])
        c = c + (column[0] - c[0]) * (1.0 - share) + (column[-1] - c[-1]) * share
        curves.append(SmoothCurve.of(BSpline(t, c, DEGREE)))
    return curves


@dataclass(frozen=True, eq=False)
class _Splines:
    """Consecutive segments, from each mark to the next, with one curve per joint."""

    marks: Array
    stretches: list[list[SmoothCurve]]

    def __call__(self, s: Array) -> tuple[Array, Array, Array]:
        which = segment(self.marks, s)
        q = np.empty((3, len(s), len(self.stretches[0])))
        for k, curves in enumerate(self.stretches):
            mine = which == k
            q[:, mine] = np.stack([np.stack(curve(s[mine])) for curve in curves], axis=2)
        return q[0], q[1], q[2]
