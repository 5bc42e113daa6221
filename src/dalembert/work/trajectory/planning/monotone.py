"""Monotone curves through samples, and the detection of splines that leave the range of their samples.

A spline through samples of a joint that is held still overshoots if the motion before or after is fast, and so do its
accelerations. The monotone curve takes a velocity and an acceleration at every sample from its neighbours, with quintic
polynomials between them: q, q̇ and q̈ are continuous, and the curve rises, falls and stays constant where the samples
do. A quintic segment is monotone if its Bernstein coefficients

    q_0,  q_0 + h v_0/5,  q_0 + 2h v_0/5 + h² a_0/20,  q_1 − 2h v_1/5 + h² a_1/20,  q_1 − h v_1/5,  q_1

are. With the slope d = (q_1 − q_0)/h ≥ 0 of the segment and v_0 + v_1 ≤ 5/2 d, the accelerations may at least satisfy

    −4 v_0/h ≤ a_0 ≤ 10 (d − 2/5 (v_0 + v_1))/h,    −10 (d − 2/5 (v_0 + v_1))/h ≤ a_1 ≤ 4 v_1/h.

Where the second differences of the samples are similar, the motion is smooth and nothing is limited: the curve takes
the velocities and accelerations of the spline, as far as these agree with the neighbouring samples, and a smooth
turning point may lie between two samples, as it does on the parabola through them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.base.arrays import Array
from dalembert.work.trajectory.planning.hermite import Hermite

STEEPEST = 2.5  # largest sum of the velocities at both ends, relative to the slope of a segment
ALIKE = 4.0  # ratio of second differences up to which samples are smooth
# largest overshoot of a smooth turning point, relative to the second difference times h²; 1/8 on a parabola
PARABOLA = 0.25
SUBSTANTIAL = 0.05  # of a joint's whole range: how far a curve may leave the range of its neighbouring samples
LEAST = 1e-6  # rad, m: smaller excursions are never reported
LOOKS = np.array([0.15, 0.3, 0.5, 0.7, 0.85])  # of a segment: where it is checked


class InterpolationWarning(UserWarning):
    """A curve through samples leaves the range of its neighbouring samples."""


def monotone(t: Array, values: Array, spline: Hermite | None = None) -> Hermite:
    """The monotone curve through ``values`` (N, n) at the times t (N,); ``spline`` is used where it agrees with them.

    >>> held = monotone(np.array([0.0, 1.0, 2.0, 3.0]), np.array([[0.0], [0.0], [1.0], [1.0]]))
    >>> q, qd, qdd = held(np.array([0.5, 1.5, 2.5]))
    >>> q.ravel(), qdd.ravel()
    (array([0. , 0.5, 1. ]), array([0., 0., 0.]))
    """
    h = np.diff(t)[:, None]
    d = np.diff(values, axis=0) / h
    at = _Slopes(h, d)
    v, a = at.v, at.D
    if spline is not None:
        near = (np.abs(spline.y[1] - v) <= at.spread * at.reach) & (np.abs(spline.y[2] - a) <= 2.0 * at.spread)
        v, a = np.where(near, spline.y[1], v), np.where(near, spline.y[2], a)
    smooth = at.smooth
    while True:
        curve = Hermite(t, np.array([values, *_limited(h, d, v, a, smooth)]))
        outside = _beyond(curve)[1].max(axis=1)
        bad = (outside > at.turning(h, smooth) + 1e-12 * np.abs(values).max()) & (smooth[:-1] | smooth[1:])
        if not bad.any():
            return curve
        smooth = smooth.copy()
        smooth[:-1] &= ~bad
        smooth[1:] &= ~bad


class _Slopes:
    """Local estimates from the samples, (N, n) each.

    v, D    velocity and acceleration of the parabola through each sample and its neighbours
    spread  difference between the accelerations of three consecutive samples
    smooth  whether these accelerations have the same sign and are similar
    reach   (N, 1) mean of the neighbouring steps
    """

    def __init__(self, h: Array, d: Array) -> None:
        N = len(d) + 1
        self.v, self.D = np.empty((N, d.shape[1])), np.zeros((N, d.shape[1]))
        self.v[0], self.v[-1] = d[0], d[-1]
        if N > 2:
            self.v[1:-1] = (h[1:] * d[:-1] + h[:-1] * d[1:]) / (h[:-1] + h[1:])
            self.D[1:-1] = 2.0 * np.diff(d, axis=0) / (h[:-1] + h[1:])
            self.D[0], self.D[-1] = self.D[1], self.D[-2]
            self.v[0] -= 0.5 * h[0] * self.D[0]
            self.v[-1] += 0.5 * h[-1] * self.D[-1]
        three = np.stack([np.concatenate([self.D[:1], self.D[:-1]]), self.D, np.concatenate([self.D[1:], self.D[-1:]])])
        self.spread = np.ptp(three, axis=0)
        sizes = np.abs(three)
        one_sign = np.abs(np.sign(three).sum(axis=0)) == 3
        self.smooth = one_sign & (sizes.max(axis=0) <= ALIKE * sizes.min(axis=0))
        self.reach = 0.5 * (np.concatenate([h[:1], h]) + np.concatenate([h, h[-1:]]))

    def turning(self, h: Array, smooth: Any) -> Array:
        """How far a smooth turning point may leave the samples of each segment; 0 where the motion is not smooth."""
        bend = np.maximum(np.abs(self.D[:-1]), np.abs(self.D[1:]))
        return np.where(smooth[:-1] & smooth[1:], PARABOLA * h**2 * bend, 0.0)


def _limited(h: Array, d: Array, v: Array, a: Array, smooth: Any) -> tuple[Array, Array]:
    """Velocities and accelerations for which the segments are monotone; those of smooth samples are unchanged."""
    left, right = np.concatenate([d[:1], d]), np.concatenate([d, d[-1:]])
    least = np.where(left * right > 0, np.minimum(np.abs(left), np.abs(right)), 0.0)
    bounded = np.sign(left) * np.clip(np.sign(left) * v, 0.0, STEEPEST * least)
    v = np.where(smooth, v, bounded)
    steep = np.abs(v[:-1]) + np.abs(v[1:])
    share = np.minimum(1.0, STEEPEST * np.abs(d) / np.where(steep > 0, steep, 1.0))
    least_share = np.minimum(np.concatenate([share[:1], share]), np.concatenate([share, share[-1:]]))
    v = np.where(smooth, v, least_share * v)
    rises = d >= 0
    room = 10.0 * np.maximum(np.abs(d) - 0.4 * np.abs(v[:-1] + v[1:]), 0.0) / h
    low, high = np.full(v.shape, -np.inf), np.full(v.shape, np.inf)
    for rows, below, above in (
        (slice(None, -1), -4.0 * np.abs(v[:-1]) / h, room),
        (slice(1, None), -room, 4.0 * np.abs(v[1:]) / h),
    ):  # for a rising segment; mirrored for a falling one
        low[rows] = np.maximum(low[rows], np.where(rises, below, -above))
        high[rows] = np.minimum(high[rows], np.where(rises, above, -below))
    return v, np.where(smooth, a, np.clip(a, low, high))


def _beyond(curve: Hermite) -> tuple[Array, Array, Array]:
    """Times (N − 1, looks), how far the curve is beyond the neighbouring samples there, and its values: (…, n)."""
    t, q = curve.x, curve.y[0]
    looks = t[:-1, None] + np.diff(t)[:, None] * LOOKS
    with np.errstate(all="ignore"):
        values = curve(looks.ravel())[0].reshape(*looks.shape, q.shape[1])
    low, high = np.minimum(q[:-1], q[1:])[:, None], np.maximum(q[:-1], q[1:])[:, None]
    return looks, np.maximum(values - high, low - values), values


@dataclass(frozen=True)
class Excursion:
    """The largest departure of a curve from the range of its two neighbouring samples; joints count from 0."""

    joint: int
    time: float
    value: float
    samples: tuple[float, float]
    held: bool  # the two samples are equal

    def sentence(self, what: str) -> str:
        """A sentence that compares the samples of ``what`` with the spline."""
        before, after = self.samples
        between = f"stay at {before:.6g}" if self.held else f"go from {before:.6g} to {after:.6g}"
        return (
            f"the samples of {what}{self.joint + 1} {between}, but the spline through them reaches {self.value:.6g} at "
            f"t = {self.time:.6g} s"
        )


def excursion(curve: Hermite, substantial: float = SUBSTANTIAL) -> Excursion | None:
    """The largest substantial departure of a curve from the range of its neighbouring samples, or None.

    substantial  threshold as a share of the joint's whole range, where two samples differ; ``SUBSTANTIAL`` where they
                 are equal
    """
    q, (looks, beyond, values) = curve.y[0], _beyond(curve)
    total, h = np.ptp(q, axis=0), np.diff(curve.x)[:, None]
    at = _Slopes(h, np.diff(q, axis=0) / h)
    turning = at.turning(h, at.smooth)  # at a smooth turning point between two samples, neither is held
    beyond = beyond - turning[:, None]
    shares = np.where(total > LEAST, beyond / np.where(total > 0, total, 1.0), 0.0)
    held = (np.abs(q[1:] - q[:-1]) <= 1e-9 * np.maximum(total, LEAST)) & (turning == 0)
    shares = shares / np.where(held, SUBSTANTIAL, substantial)[:, None]
    if not shares.max(initial=0.0) > 1.0:
        return None
    worst = np.where(held[:, None] & (shares > 1.0), shares.max() + shares, shares)  # held joints are reported first
    k, look, joint = np.unravel_index(int(worst.argmax()), shares.shape)
    samples = (float(q[k, joint]), float(q[k + 1, joint]))
    return Excursion(int(joint), float(looks[k, look]), float(values[k, look, joint]), samples, bool(held[k, joint]))
