"""Properties of real drives: effort limits, and controllers with sampling, delay and encoders."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.base.per_joint import per_joint
from dalembert.errors import DalembertError
from dalembert.work.logs.log_units import sliding_joints
from dalembert.work.trajectory.planning.motion_checks import positive_number

MOST_SAMPLES = 1e8  # of a sampled controller in one run: beyond a day at 1 kHz, the times alone need 800 MB
SAME_INSTANT = 1e-9  # of a period: a torque that arrives this close to a sample arrives with it


# -- effort limits -------------------------------------------------------------------------------


def effort_of(arm: Arm, limits: Any) -> Array | None:
    """Largest torque of each drive (n,), infinite where it has no limit; None if torques are not limited."""
    if limits is False or limits is None:
        return None
    if limits is True:
        own = [joint.limits.effort for joint in arm.robot.moving_joints]
        if all(limit is None for limit in own):
            raise DalembertError(
                f"arm '{arm.name}' has no effort limits for effort_limits=True; give them, as in effort_limits=[…], or in the "
                "robot file"
            )
        return np.array([np.inf if limit is None else limit for limit in own], float)
    return per_joint("effort_limits", limits, arm.n, arm=arm.name, positive=True, infinite=True)


@dataclass(frozen=True)
class Saturation:
    """A joint whose torque was at its effort limit.

    joint     its name
    start     time at which it first reached the limit (s)
    duration  total time at the limit (s), in this many ``intervals``
    """

    joint: str
    start: float
    duration: float
    intervals: int

    def __str__(self) -> str:
        often = "" if self.intervals == 1 else f" in {self.intervals} intervals"
        return (
            f"joint '{self.joint}' is at its effort limit from t = {self.start:.6g} s, for {self.duration:.4g} s in "
            f"total{often}"
        )


def saturations(arm: Arm, t: Array, saturated: NDArray[np.bool_]) -> list[Saturation]:
    """One entry per joint that is at its limit at any of the times t (N,); saturated is (N, n)."""
    joints = []
    after = np.append(np.diff(t), 0.0)
    for joint, limited in zip(arm.joint_names, saturated.T, strict=True):
        if limited.any():
            intervals = int(np.count_nonzero(np.diff(limited.astype(int), prepend=0) > 0))
            joints.append(Saturation(joint, float(t[limited.argmax()]), float(after[limited].sum()), intervals))
    return joints


# -- sampled controllers -------------------------------------------------------------------------


@record
class Sampling:
    """Timing and measurements of a sampled controller.

    rate    samples per second
    delay   from a sample to the torque computed from it (s)
    counts  (n,) encoder counts per rad or m; None if the state itself is measured
    filter  cut-off frequency of the low-pass on differences of counts (Hz); None for none
    """

    rate: float
    delay: float = 0.0
    counts: Array | None = None
    filter: float | None = None

    def instants(self, duration: float) -> tuple[Array, Array]:
        """Sampling times, and the times from which the torque of each sample acts (s): (K,) each."""
        samples = np.arange(math.ceil(duration * self.rate * (1 - 1e-12))) / self.rate
        periods = self.delay * self.rate
        whole = round(periods) if periods < 1e15 else 0  # beyond, no number has a fraction
        if abs(periods - whole) < SAME_INSTANT:
            return samples, (np.arange(len(samples)) + whole) / self.rate
        return samples, samples + self.delay

    def breaks(self, duration: float) -> Array:
        """The times between which the torque is constant."""
        if duration * self.rate > MOST_SAMPLES:
            raise DalembertError(f"{duration:g} s at a rate of {self.rate:g} Hz are more than {MOST_SAMPLES:g} samples")
        return np.unique(np.concatenate(self.instants(duration)))


def measurement(sampling: Sampling, q0: Array, qd0: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
    """A function of the state at one sample after the other: the measured positions and velocities, (…, n) each."""
    counts, rate, cutoff = sampling.counts, sampling.rate, sampling.filter
    if counts is None:
        return lambda q, qd: (q, qd)

    def counted(q: Array) -> Array:
        return np.round(q * counts) / counts

    last, speed = counted(q0 - qd0 / rate), None  # one period before the first sample

    def measured(q: Array, qd: Array) -> tuple[Array, Array]:
        nonlocal last, speed
        seen = counted(q)
        difference, last = (seen - last) * rate, seen
        if cutoff is None or speed is None:
            speed = difference
        else:
            speed = speed - math.expm1(-2 * math.pi * cutoff / rate) * (difference - speed)
        return seen, speed

    return measured


def sampling_of(arm: Arm, rate: Any, delay: Any, encoder: Any, velocity_filter: Any) -> Sampling | None:
    """The sampling specified by the arguments of a simulation, validated; None for a continuous controller."""
    late = positive_number("delay", delay, zero=True)
    if rate is None and (late or encoder is not None):
        raise DalembertError(
            f"{'delay' if late else 'encoder'} applies only to a sampled controller: give its rate in Hz too, as in "
            "rate=1000 (--rate 1000)"
        )
    if encoder is None and velocity_filter is not None:
        raise DalembertError(
            "velocity_filter smooths the differences of encoder counts: give encoder too, as in encoder=4096"
        )
    if rate is None:
        return None
    counts = None
    if encoder is not None:
        what = "encoder (counts per turn, or per metre for a prismatic joint)"
        counts = per_joint(what, encoder, arm.n, arm=arm.name, positive=True)
        counts = np.where(sliding_joints(arm), counts, counts / (2 * np.pi))
    cutoff = None if velocity_filter is None else positive_number("velocity_filter", velocity_filter, "Hz")
    return Sampling(positive_number("rate", rate, "Hz"), late, counts, cutoff)
