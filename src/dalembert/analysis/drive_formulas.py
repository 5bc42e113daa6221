"""What the makers of motors and gears calculate with: mean torques and speeds, gear life, torques through gears."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.robot.drives import Gear

Array = NDArray[np.floating[Any]]

RPM = 2.0 * math.pi / 60.0
AT_REST = 1e-9  # of the largest speed: what is less is no motion
# the usual bands of load inertia / motor inertia: (up to, word)
INERTIA_BANDS = (
    (1.0, "very high dynamics"),
    (3.0, "high dynamics"),
    (5.0, "good"),
    (10.0, "usable"),
    (math.inf, "critical"),
)


def mean_torque(duration: ArrayLike, torque: ArrayLike, speed: ArrayLike, exponent: float = 3.0) -> float:
    """T_av = (Σ |n| t |T|^p / Σ |n| t)^(1/p): the torque (N m) that wears a gear as the load pattern does.

    Harmonic Drive has p = 3, Nabtesco (RV) p = 10/3. Where nothing turns it is 0: nothing wears.

    >>> round(mean_torque([0.3, 3.0, 0.4], [400.0, 320.0, 200.0], [7.0, 14.0, 7.0]), 1)  # printed as 319 in its example
    319.7
    """
    turns = np.abs(np.asarray(speed, float)) * np.asarray(duration, float)
    total = float(turns.sum())
    return (
        float((turns @ np.abs(np.asarray(torque, float)) ** exponent / total) ** (1.0 / exponent)) if total > 0 else 0.0
    )


def mean_speed(duration: ArrayLike, speed: ArrayLike) -> float:
    """n_av = Σ |n| t / Σ t, pauses included; in the unit of ``speed``."""
    weights = np.asarray(duration, float)
    return float(weights @ np.abs(np.asarray(speed, float)) / weights.sum())


def gear_life(gear: Gear, torque: float, input_speed: float) -> float:
    """L10 (h) at a mean torque (N m) and a mean input speed (rad/s): L (T2N / T_av)^p (n_N / n_av).

    NaN where the gear does not say its rated life, torque and speed; infinite where it does not turn.

    >>> csf = Gear("CSF-40-120", ratio=120.0, rated_torque=294.0, rated_speed=2000 * RPM, life=7000.0)
    >>> round(gear_life(csf, 319.0, 1440 * RPM), -1)  # Harmonic Drive's example
    7610.0
    """
    if gear.life is None or gear.rated_torque is None or gear.rated_speed is None:
        return math.nan
    if torque == 0 or input_speed == 0:
        return math.inf
    return gear.life * (gear.rated_torque / torque) ** gear.life_exponent * (gear.rated_speed / input_speed)


def momentary_peaks(ratio: float, output_speed: float, duration: float) -> float:
    """How many momentary peaks of a strain wave gear are allowed: 10⁴ / (2 n i t), n in turns/s of the output.

    >>> round(momentary_peaks(120.0, 14 * RPM, 0.15))  # Harmonic Drive's example
    1190
    """
    return 1e4 / (2.0 * output_speed / (2.0 * math.pi) * abs(ratio) * duration)


def rms_torque(duration: ArrayLike, torque: ArrayLike) -> float:
    """√(Σ T² t / Σ t): of torques that each last their time.

    >>> steps = [0.08, 2.0, 0.08, 3.0], [86.2, 3.0, -80.2, 3.0]
    >>> round(rms_torque(*steps), 1)  # FANUC's example for the α30/4000iS, B-65262EN/03, p. 59: 15.0 N m
    15.0
    """
    weights = np.asarray(duration, float)
    return float(np.sqrt(weights @ np.asarray(torque, float) ** 2 / weights.sum()))


def through_gear(gear: Gear | None, load: Array, qd: Array) -> Array:
    """T2 along a motion as the motor feels it: T2 / (k η) where it drives, T2 η / k where it is driven (N m).

    >>> gear = Gear(ratio=100.0, efficiency=0.8)
    >>> through_gear(gear, np.array([80.0, 80.0, 80.0]), np.array([1.0, 0.0, -1.0])).round(3)  # up, and down again
    array([1.  , 1.  , 0.64])
    """
    k, eta = (gear.reduction, gear.efficiency) if gear is not None else (1.0, 1.0)
    speed = np.where(np.abs(qd) > AT_REST * np.abs(qd).max(initial=0.0), qd, 0.0)
    before, after = np.append(0.0, speed[:-1]), np.append(speed[1:], 0.0)
    beside = np.sign(load * before), np.sign(load * after)
    starting = np.where(np.maximum(*beside) > 0, 1.0, np.minimum(*beside))
    direction = np.where(speed != 0, np.sign(load * speed), starting)
    return load / k * eta**-direction


def at_output(gear: Gear | None, load: Array, *, slides: bool) -> Array:
    """The torque (N m) at the gear's output of a joint's load; of a prismatic joint NaN where no lead is known."""
    lead = None if gear is None else gear.lead
    return load * math.nan if slides and lead is None else load * (1.0 if gear is None else gear.lever)


def inertia_band(ratio: float) -> str:
    """What the usual bands say of load inertia / motor inertia.

    >>> inertia_band(2.0), inertia_band(12.0)
    ('high dynamics', 'critical')
    """
    return next(word for most, word in INERTIA_BANDS if ratio <= most)


def curve_at(points: Sequence[tuple[float, float]], speed: ArrayLike) -> Array:
    """A speed–torque curve at some speeds (rad/s): its last torque beyond its end."""
    n, T = np.array(points, float).T
    return np.interp(np.abs(np.asarray(speed, float)), n, T)
