"""Lags between the signals of a log: logged velocities behind positions, torques behind both.

Drives differentiate and filter velocities, and filter and transmit torques; each takes some milliseconds. A lag d of a
signal x appears as an error −d ẋ, which is not noise: more samples do not average it out. The lag of the velocities can
be found from the log itself, since they are derivatives of its positions; that of the torques requires a model of the
arm.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.base.arrays import Array
from dalembert.work.logs.conditioning import automatic_cutoff, low_pass, runs_of, usual_step
from dalembert.work.logs.log import Log, joined

WINDOW = 40_000  # samples from which the lag is estimated: enough for a microsecond
PIECES = 20  # number of pieces of the window, whose lags give the standard error of their mean
SURE = 3.0  # a lag must be at least this many standard errors
SMALLEST = 0.02  # of the sampling interval: a shorter lag is not corrected
LARGEST = 0.05  # s: a signal with a larger lag is not the derivative of the logged positions
ALIKE = 0.9  # smallest correlation of a joint's logged velocity with the derivative of its position


def aligned(log: Log) -> Log:
    """The log with velocities shifted to the sampling instants of the positions.

    >>> t = np.arange(0, 20, 0.01)
    >>> late = Log(t, np.sin(t)[:, None], np.ones((2000, 1)), np.cos(t - 0.004)[:, None])
    >>> off = aligned(late).qd[100:-100, 0] - np.cos(t[100:-100])
    >>> bool(np.abs(off).max() < 1e-6)
    True
    """
    if log.parts:
        return joined([aligned(part) for part in log.parts])
    lag = velocity_lag(log)
    if lag == 0.0 or log.qd is None:
        return log
    step, word = usual_step(log), "later" if lag > 0 else "earlier"
    note = f"{log.source}: the velocities are {1e3 * abs(lag):.2g} ms {word} than the positions and were shifted to match them"
    qd = np.concatenate([later(log.qd[run], lag / step) for run in runs_of(log, step)])
    return replace(log, qd=qd, notes=(*log.notes, note))


def velocity_lag(log: Log) -> float:
    """Lag of the logged velocities behind the derivatives of the positions (s); 0 if it is not significant.

    To first order in the lag d, the derivative of q minus the logged velocity is d q̈; d is estimated by least squares
    over all joints whose velocities match their positions.
    """
    if log.qd is None or len(log) < 10 * PIECES:
        return 0.0
    step = usual_step(log)
    longest = max(runs_of(log, step), key=len)
    middle = (len(longest) - WINDOW) // 2
    rows = longest if middle <= 0 else longest[middle : middle + WINDOW]
    if len(rows) < 10 * PIECES:
        return 0.0
    window = log.rows(slice(int(rows[0]), int(rows[-1]) + 1))
    cutoff, rate = automatic_cutoff(window), 1.0 / step
    q, qd = low_pass(window.q - window.q[0], rate, 2 * cutoff), low_pass(window.qd, rate, 2 * cutoff)  # type: ignore[arg-type]
    speed = np.gradient(q, step, axis=0)
    acceleration = np.gradient(speed, step, axis=0)
    edge = min(round(2 * rate / cutoff), len(q) // 10)
    speed, qd, acceleration = (x[edge : len(q) - edge] for x in (speed, qd, acceleration))
    sizes = np.linalg.norm(speed, axis=0) * np.linalg.norm(qd, axis=0)
    alike = np.sum(speed * qd, axis=0) > ALIKE * np.maximum(sizes, 1e-300)
    if not alike.any():
        return 0.0
    difference, slope = (speed - qd)[:, alike], acceleration[:, alike]
    unit = 1.0 / np.maximum(np.mean(difference**2, axis=0), 1e-24 * np.mean(slope**2, axis=0) + 1e-300)
    pieces = np.array_split(np.arange(len(slope)), PIECES)
    above = np.array([np.sum(difference[x] * slope[x] * unit) for x in pieces])
    below = np.array([np.sum(slope[x] ** 2 * unit) for x in pieces])
    lag = float(above.sum() / max(below.sum(), 1e-300))
    error = float(np.sqrt(np.sum((above - lag * below) ** 2)) / max(below.sum(), 1e-300))
    certain = abs(lag) > SURE * error and SMALLEST * step < abs(lag) < LARGEST
    return lag if certain else 0.0


def later(x: Array, steps: float) -> Array:
    """x (N, …) evaluated ``steps`` samples later, by cubic interpolation between four samples; the ends are held.

    >>> later(np.arange(6.0) ** 2, 0.5).tolist()
    [0.0, 2.25, 6.25, 12.25, 16.0, 25.0]
    """
    whole = int(np.floor(steps))
    f = steps - whole
    at = np.arange(len(x)) + whole
    taps = {
        -1: -f * (f - 1) * (f - 2) / 6, 0: (f + 1) * (f - 1) * (f - 2) / 2,
        1: -(f + 1) * f * (f - 2) / 2, 2: (f + 1) * f * (f - 1) / 6,
    }  # fmt: skip
    inside = slice(max(0, 1 - whole), max(0, min(len(x), len(x) - 2 - whole)))
    out = np.asarray(x[np.clip(np.round(at + f).astype(np.intp), 0, len(x) - 1)], np.float64)
    count = inside.stop - inside.start
    if count > 0:
        first = inside.start + whole
        out[inside] = sum(weight * x[first + k : first + k + count] for k, weight in taps.items())
    return out
