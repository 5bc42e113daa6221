"""Means and energies over a motion, and the formulas of motor and gear manufacturers: gear life, torques through gears."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dalembert.base.arrays import Array
from dalembert.robot.drives.drive_data import Gear

RPM = 2.0 * math.pi / 60.0
AT_REST = 1e-9  # of the largest speed: anything slower is at rest
# the usual bands of load inertia / motor inertia: (upper bound, description)
INERTIA_BANDS = (
    (1.0, "very high dynamics"),
    (3.0, "high dynamics"),
    (5.0, "good"),
    (10.0, "usable"),
    (math.inf, "critical"),
)


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
    return np.sqrt(durations(t) @ x**2 / (t[-1] - t[0]))


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


def mean_torque(duration: ArrayLike, torque: ArrayLike, speed: ArrayLike, exponent: float = 3.0) -> float:
    """T_av = (Σ |n| t |T|^p / Σ |n| t)^(1/p): the constant torque (N m) that wears a gear as much as the load pattern.

    Harmonic Drive uses p = 3, Nabtesco (RV) p = 10/3. Without rotation there is no wear, and the result is 0.

    >>> round(mean_torque([0.3, 3.0, 0.4], [400.0, 320.0, 200.0], [7.0, 14.0, 7.0]), 1)  # printed as 319 in its example
    319.7
    """
    turns = np.abs(np.asarray(speed, float)) * np.asarray(duration, float)
    wear, total = turns @ np.abs(np.asarray(torque, float)) ** exponent, float(turns.sum())
    return float((wear / total) ** (1.0 / exponent)) if total > 0 else 0.0


def mean_speed(duration: ArrayLike, speed: ArrayLike) -> float:
    """n_av = Σ |n| t / Σ t, pauses included; in the unit of ``speed``."""
    weights = np.asarray(duration, float)
    return float(weights @ np.abs(np.asarray(speed, float)) / weights.sum())


def gear_life(gear: Gear, torque: float, input_speed: float) -> float:
    """L10 (h) at a mean torque (N m) and a mean input speed (rad/s): L (T2N / T_av)^p (n_N / n_av).

    NaN if the gear does not specify its rated life, torque and speed; infinite if it does not rotate.

    >>> csf = Gear("CSF-40-120", ratio=120.0, rated_torque=294.0, rated_speed=2000 * RPM, life=7000.0)
    >>> round(gear_life(csf, 319.0, 1440 * RPM), -1)  # Harmonic Drive's example
    7610.0
    """
    if gear.life is None or gear.rated_torque is None or gear.rated_speed is None:
        return math.nan
    if torque == 0 or input_speed == 0:
        return math.inf
    spare = gear.rated_torque / torque
    if spare > 1e60:  # its power may not be a number
        return math.inf
    return gear.life * spare**gear.life_exponent * (gear.rated_speed / input_speed)


def rms_torque(duration: ArrayLike, torque: ArrayLike) -> float:
    """√(Σ T² t / Σ t) of torques with these durations.

    >>> steps = [0.08, 2.0, 0.08, 3.0], [86.2, 3.0, -80.2, 3.0]
    >>> round(rms_torque(*steps), 1)  # FANUC's example for the α30/4000iS, B-65262EN/03, p. 59: 15.0 N m
    15.0
    """
    weights = np.asarray(duration, float)
    return float(np.sqrt(weights @ np.asarray(torque, float) ** 2 / weights.sum()))


def through_gear(gear: Gear | None, load: Array, qd: Array) -> Array:
    """T2 along a motion as reflected to the motor: T2 / (k η) where it drives, T2 η / k where it is driven (N m).

    >>> gear = Gear(ratio=100.0, efficiency=0.8)
    >>> through_gear(gear, np.array([80.0, 80.0, 80.0]), np.array([1.0, 0.0, -1.0])).round(3)  # up, and down again
    array([1.  , 1.  , 0.64])
    """
    gear = gear or Gear()
    speed = np.where(np.abs(qd) > AT_REST * np.abs(qd).max(initial=0.0), qd, 0.0)
    before, after = np.append(0.0, speed[:-1]), np.append(speed[1:], 0.0)
    beside = np.sign(load * before), np.sign(load * after)
    starting = np.where(np.maximum(*beside) > 0, 1.0, np.minimum(*beside))
    direction = np.where(speed != 0, np.sign(load * speed), starting)
    return load / gear.reduction * gear.efficiency**-direction


def at_output(gear: Gear | None, load: Array, *, slides: bool) -> Array:
    """Torque (N m) of a joint's load at the gear output; for a prismatic joint, NaN if no lead is known."""
    gear = gear or Gear()
    return load * (math.nan if slides and gear.lead is None else gear.lever)


def inertia_band(ratio: float) -> str:
    """Rating of a ratio of load inertia to motor inertia by the usual bands.

    >>> inertia_band(2.0), inertia_band(12.0)
    ('high dynamics', 'critical')
    """
    return next(word for most, word in INERTIA_BANDS if ratio <= most)


def curve_at(points: Sequence[tuple[float, float]], speed: ArrayLike) -> Array:
    """A speed–torque curve at the given speeds (rad/s); constant beyond its last point."""
    n, T = np.array(points, float).T
    return np.interp(np.abs(np.asarray(speed, float)), n, T)
