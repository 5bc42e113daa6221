"""Means and energies over a motion: integrals by the trapezoidal rule between its sample times."""

from __future__ import annotations

import numpy as np

from dalembert.base.arrays import Array


def durations(t: Array) -> Array:
    """The time that each sample represents, half the steps on both sides: (N,); 1 each if the duration is zero.

    >>> durations(np.array([0.0, 1.0, 3.0]))
    array([0.5, 1.5, 1. ])
    """
    if t[-1] == t[0]:
        return np.ones(len(t))
    return (np.diff(t, prepend=t[0]) + np.diff(t, append=t[-1])) / 2


def rms(t: Array, x: Array) -> Array:
    """Root mean square over time of x (N, n): (n,); of the samples themselves if the duration is zero."""
    if (largest := np.abs(x).max(initial=0.0)) > 1e150:  # whose square is not a number
        return largest * rms(t, x / largest)
    if t[-1] == t[0]:
        return np.sqrt(np.mean(x**2, axis=0))
    share = np.diff(t, prepend=t[0]) + np.diff(t, append=t[-1])  # each sample represents half the steps on both sides
    return np.sqrt(share @ x**2 / (2 * (t[-1] - t[0])))


def energies(t: Array, power: Array) -> tuple[Array, Array]:
    """(given, returned), each (n,) and ≥ 0: the integrals of the positive and the negative power.

    The power is taken to be linear between samples, so that given − returned is exactly the integral by the
    trapezoidal rule.

    >>> energies(np.array([0.0, 2.0]), np.array([[1.0], [-1.0]]))
    (array([0.5]), array([0.5]))
    """
    dt, a, b = np.diff(t)[:, None], power[:-1], power[1:]
    plain, crossing = dt * (a + b) / 2, a * b < 0
    width = np.where(crossing, np.abs(a - b), 1.0)
    up = np.where(crossing, dt * np.maximum(a, b) ** 2 / (2 * width), np.maximum(plain, 0.0))
    down = np.where(crossing, dt * np.minimum(a, b) ** 2 / (2 * width), np.maximum(-plain, 0.0))
    return up.sum(axis=0), down.sum(axis=0)
