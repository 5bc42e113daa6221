"""What looks wrong in a motion that was read, although it can be computed with: units, clocks, and rounded numbers.

Each finding is a sentence with the file, the joint and the remedy. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb, sqrt

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.work.logs.checks.plausible_motion import far_beyond, off_by

TRACE = 50  # rows: a motion with fewer is a list of points, of which nothing is expected
INTERVALS = 200  # of the duration, over which displacements are compared with integrated velocities
MOVED = 1e-3  # rad or m: an arm whose joints all move less is at rest
SLOWEST_CLOCK = 0.5  # s: rows of a recorded motion are closer
MOST_DECIMALS = 12  # beyond these, numbers count as written in full precision
LOOKED = 2000  # rows whose digits are examined
ROUNDED = 0.2  # of the RMS of a difference: larger rounding errors are reported
EVEN = 0.5  # of the usual step: times further from even are not a sampled motion
RATES = {"qd": ("deg/s", "q"), "qdd": ("deg/s^2", "qd")}  # {quantity: (unit in degrees, what it is the derivative of)}


class MotionWarning(UserWarning):
    """A motion that was read does not look as declared, or is too coarse for its derivatives."""


def doubtful(
    source: str,
    arm: Arm | None,
    clocked: bool,
    t: Array,
    groups: Mapping[str, Array],
    digits: Mapping[str, Array],
    *,
    smooth: bool,
) -> tuple[str, ...]:
    """Findings about a motion: t (N,), the quantities (N, n) in its file, and their last digits (n,), in SI units.

    clocked  whether the unit of t is stated; smooth: whether the motion will be filtered, so that rounding does not matter
    """
    findings = []
    if arm is not None:
        goes, in_degrees = far_beyond(arm, source, groups["q"])
        findings += (
            [f"{goes}, which looks like degrees; if it is, {_remedy('q', 'deg', 'q1')}"] if goes and in_degrees else []
        )
    once = np.diff(t, prepend=-np.inf) > 0
    if np.count_nonzero(once) < TRACE:
        return tuple(findings)
    names = [f"joint {k + 1}" for k in range(groups["q"].shape[1])]
    names = names if arm is None else [f"joint '{name}'" for name in arm.joint_names]
    step = float(np.median(np.diff(t[once])))
    if not clocked and step >= SLOWEST_CLOCK:
        findings.append(
            f"{source}: the rows are {step:.4g} s apart, which looks like times in ms; if it is, {_remedy('t', 'ms', 't')}"
        )
    if np.ptp(groups["q"], axis=0).max() > MOVED:
        findings += [x for quantity in RATES if quantity in groups for x in _rates(source, names, t, groups, quantity)]
    if not smooth and "qdd" not in groups:
        base = "qd" if "qd" in groups else "q"
        findings += _rounding(source, names, t[once], base, groups[base][once], digits[base])
    return tuple(findings)


def _remedy(quantity: str, unit: str, column: str) -> str:
    return f"give {_stated(quantity, unit)}, or the unit in the header, as in '{column} [{unit}]'"


def _stated(quantity: str, unit: str) -> str:
    return f"units={{'{quantity}': '{unit}'}} (--unit {quantity}={unit})"


def _rates(source: str, names: Sequence[str], t: Array, groups: Mapping[str, Array], rate: str) -> list[str]:
    """A rate that is not the derivative of its quantity: the change over intervals against the integral of the rate."""
    degrees, base = RATES[rate]
    if base not in groups:
        return []
    h = np.diff(t)[:, None]
    steps = 0.5 * h * (groups[rate][1:] + groups[rate][:-1])
    integral = np.cumsum(np.concatenate([np.zeros_like(steps[:1]), steps]), axis=0)
    rows = np.linspace(0, len(t) - 1, min(len(t), INTERVALS + 1)).astype(int)
    change, wanted = np.diff(groups[base][rows], axis=0), np.diff(integral[rows], axis=0)
    mismatch = off_by(change, wanted)
    if mismatch is None:
        return []
    joints, factor, everywhere = mismatch
    who = names[joints[0]] + (f" and {len(joints) - 1} more" if len(joints) > 1 else "")
    if not wanted.any():
        return [
            f"{source}: {rate} is zero throughout, although {base} changes; leave it out, and it is derived from {base}"
        ]
    by = abs(factor)
    looks = [
        (factor < 0 and 0.8 < by < 1.25, "the opposite sign"),
        (40 < by < 80, f"{degrees}: {_stated(rate, degrees)}"),
        (0.012 < by < 0.025 and base == "q", f"q in degrees: {_stated('q', 'deg')}"),
        (everywhere and (by > 500 or by < 1e-2), f"time in another unit: {_stated('t', 'ms')}"),
    ]
    like = next((f", which looks like {words}" for holds, words in looks if holds), "")
    return [f"{source}: {rate} of {who} is {factor:.3g} times the derivative of {base}{like}"]


def _rounding(source: str, names: Sequence[str], t: Array, base: str, values: Array, last: Array) -> list[str]:
    """A last digit (n,) of ``values`` (N, n) that is too coarse for the accelerations derived from their differences."""
    step = float(np.median(np.diff(t)))
    if np.abs(np.diff(t) - step).max() > EVEN * step:
        return []
    order = 1 if base == "qd" else 2
    noise = sqrt(sum(comb(order, k) ** 2 for k in range(order + 1)) / 12.0)  # RMS of the rounding in a difference
    difference, moves = np.diff(values, order, axis=0), np.diff(values, axis=0) != 0
    moves = moves if order == 1 else moves[1:] | moves[:-1]
    counts = moves.sum(axis=0)
    rms = np.sqrt((np.square(difference) * moves).sum(axis=0) / np.maximum(counts, 1))
    share = np.where(rms > 0, noise * last / np.maximum(rms, 1e-300), 0.0)
    share = np.where((counts >= TRACE) & (share < 2.0), share, 0.0)  # above 2: the values are exact
    worst = int(share.argmax())
    if share[worst] <= ROUNDED:
        return []
    what, cutoff = ("second difference", "first difference")[base == "qd"], min(10.0, 0.1 / step)
    return [
        f"{source}: {base} of {names[worst]} is rounded to {last[worst]:.3g}, and the rounding is "
        f"{100 * min(1.0, share[worst]):.0f} % of its {what} (RMS) at {1.0 / step:.4g} Hz, so the accelerations derived from "
        f"it are too large; give a low-pass, such as cutoff={cutoff:g} (--cutoff {cutoff:g}), or more digits"
    ]


def last_digits(values: Array) -> Array:
    """The last decimal digit with which each column of values (N, k) is written: 0.001 for 1.234; 0 beyond 12 decimals."""
    some = values[:: max(1, len(values) // LOOKED)]
    digits, slack = np.zeros(some.shape[1]), 1e-14 * np.abs(some).max(axis=0)
    for decimals in range(MOST_DECIMALS, -1, -1):
        written = (np.abs(np.round(some, decimals) - some) <= slack).all(axis=0)
        digits[written] = 10.0**-decimals
    return digits
