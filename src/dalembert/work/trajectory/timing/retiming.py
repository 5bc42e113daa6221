"""A motion under a user-defined time law: q(t) = q̄(r(t)), S (7.119)–(7.126)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array, double, number
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.trajectory.planning.events import events_at, instants_of, loaded
from dalembert.work.trajectory.planning.jets import Jet
from dalembert.work.trajectory.planning.limits import check_terms
from dalembert.work.trajectory.planning.motion_checks import finite, positive_number
from dalembert.work.trajectory.planning.profiles import Composed
from dalembert.work.trajectory.planning.splines import spline
from dalembert.work.trajectory.planning.time_breaks import bisected, breaks_of, inside
from dalembert.work.trajectory.planning.trajectory import Trajectory
from dalembert.work.trajectory.timing.scaling import torque_parts

Rates = Callable[[Array], tuple[Array, Array, Array]]

LOOKS = 2001  # times at which a law is checked
NEAR = 1e-9  # of the duration: tolerance of the initial and final values of a law
BACKWARD = 1e-6  # of the mean rate: how far a spline through samples that start at rest may dip below 0
AGREES = 1e-2  # of the largest value: tolerance between r and ṙ and the integrals of ṙ and r̈
HALVINGS = 80  # bisections of the time at which a law reaches a value: beyond the digits of a float64
REMEDY = "let r(t) return (r, ṙ, r̈), or give its samples or a Trajectory of one coordinate"


@dataclass(frozen=True, eq=False)
class Retiming:
    """Result of :meth:`Trajectory.retimed`: the original motion q̄ and the time law r(t).

    ``retiming(t)`` returns (r, ṙ, r̈), each with the shape of t, in s, 1 and 1/s.
    """

    motion: Trajectory = field(repr=False)
    rates: Rates = field(repr=False)
    duration: float

    def __str__(self) -> str:
        fastest = self.rates(np.linspace(0.0, self.duration, LOOKS))[1].max()
        return f"retimed from {self.motion.duration:.6g} to {self.duration:.6g} s, at up to {fastest:.4g} times the original speed"

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """(r, ṙ, r̈) at the times t, from 0 to the duration."""
        at = finite("t", t)
        if len(beyond := at[(at < -NEAR * self.duration) | (at > (1.0 + NEAR) * self.duration)]):
            raise DalembertError(f"the time law is defined from 0 to {self.duration:g} s, not at t = {beyond[0]:g} s")
        r, rd, rdd = (np.broadcast_to(x, at.size).reshape(at.shape) for x in self.rates(at.reshape(-1)))
        return np.clip(r, 0.0, self.motion.duration), np.maximum(rd, 0.0), rdd

    def torques(self, arm: Arm, t: ArrayLike) -> Array:
        """Joint torques (N m or N) of ``arm`` at the times t, shape (*t.shape, n), by S (7.126).

        τ = ṙ² τ̄_s(r) + r̈ B(q̄) q̄′ + ṙ F_v q̄′ + F_s sgn(ṙ q̄′) + g(q̄), where τ̄_s is that of the original motion:
        inverse dynamics is not evaluated on the new motion. The result equals ``arm.inverse_dynamics(*retimed(t))``.
        """
        self.motion.fits(arm)
        check_terms(arm, "retimed")
        r, rd, rdd = (x[..., None] for x in self(t))
        bar = torque_parts(self.motion, arm, r[..., 0])
        model, _ = loaded(self.motion, arm, r[..., 0])
        inertial = np.einsum("...ij,...j->...i", model.inertia_matrix(bar.q), bar.qd)
        tau_s = rd**2 * bar.scaling + rdd * inertial  # (7.126)
        return tau_s + rd * bar.viscous + np.sign(rd) * bar.dry + bar.holding


def retimed(motion: Trajectory, law: Any, duration: float | None = None) -> Trajectory:
    """See :meth:`Trajectory.retimed`."""
    rates, duration, own_knots, own_breaks = _law_of(motion, law, duration)
    retiming = Retiming(motion, rates, duration)
    _check(retiming, own_breaks)
    knots = np.concatenate([_instants(retiming, np.array(motion.knots)), own_knots])
    breaks = np.concatenate([_instants(retiming, motion.breaks), own_breaks])
    sampled = None if motion.sampled_at is None else np.unique(_instants(retiming, motion.sampled_at))
    events = events_at(motion.events, lambda r: _instants(retiming, r))
    knots = np.concatenate([knots, instants_of(events)])
    return Trajectory(
        duration, motion.n, Composed(motion, retiming, breaks), tuple(knots), sampled, retiming, motion.notes, events
    )


def _law_of(motion: Trajectory, law: Any, duration: float | None) -> tuple[Rates, float, Array, Array]:
    """A function for (r, ṙ, r̈), its duration, and the times at which r̈ and at which any derivative may jump."""
    if isinstance(law, Trajectory):
        if law.n != 1:
            raise ShapeError(
                f"the time law is a motion with {law.n} joints; it must be a Trajectory with one coordinate"
            )
        if duration is not None and abs(number("duration", duration) - law.duration) > NEAR * law.duration:
            raise DalembertError(
                f"the duration is {duration:g} s, but the time law lasts {law.duration:g} s: omit duration"
            )
        return lambda t: tuple(x[:, 0] for x in law(t)), law.duration, np.array(law.knots), law.breaks  # type: ignore[return-value]
    if duration is None:
        raise DalembertError(
            f"the time law has no duration: give duration=…, the time (s) at which r(t) reaches {motion.duration:g} s"
        )
    length = positive_number("duration", duration)
    if callable(law):
        knots = breaks_of(law)
        return _of_function(law, length), length, knots, knots
    samples = finite("the time law", law)
    if samples.ndim != 1 or len(samples) < 4:
        raise ShapeError(
            f"the time law has shape {samples.shape}; it must be a function of t, a Trajectory with one coordinate, or "
            "at least 4 samples (N,) of r at equal steps from 0 to the duration"
        )
    return _law_of(motion, spline(np.linspace(0.0, length, len(samples)), samples, "not-a-knot"), None)


def _of_function(law: Callable[[Any], Any], duration: float) -> Rates:
    """(r, ṙ, r̈) from a function that returns all three, or only r, from which the others are derived exactly."""

    def call(t: Any, what: str) -> Any:
        try:
            return law(t)
        except (TypeError, ValueError, AttributeError) as problem:
            raise DalembertError(f"r(t) cannot be {what} ({problem}): {REMEDY}") from problem

    with np.errstate(all="ignore"):
        whole = isinstance(call(np.linspace(0.0, duration, 5), "evaluated for an array of times"), (tuple, list))

    def rates(t: Array) -> tuple[Array, Array, Array]:
        with np.errstate(all="ignore"):  # values that are not finite are reported with their time
            value = call(t, "evaluated for an array of times") if whole else call(Jet(t, 1.0), "differentiated")
        if not whole:
            value = value.parts if isinstance(value, Jet) else Jet(double("r(t)", value)).parts
        if len(value) != 3:
            raise ShapeError(f"r(t) returns {len(value)} values; it must return r, or r, ṙ and r̈")
        parts = [double("r(t)", part) for part in value]
        if any(part.shape not in ((), t.shape) for part in parts):
            shapes = ", ".join(str(part.shape) for part in parts)
            raise ShapeError(f"r(t) returns {shapes} for {len(t)} times; it must return one number for each of them")
        return tuple(np.broadcast_to(part, t.shape) for part in parts)  # type: ignore[return-value]

    return rates


def _check(law: Retiming, breaks: Array) -> None:
    """Raise an error unless the law increases strictly from 0 to the duration of the motion and is consistent."""
    T, end = law.duration, law.motion.duration
    inner = inside(breaks, T)
    t = np.unique(np.concatenate([np.linspace(0.0, T, LOOKS), inner * (1.0 - 1e-12), inner]))
    r, rd, rdd = law.rates(t)
    for name, values in (("r", r), ("its rate ṙ", rd), ("its second derivative r̈", rdd)):
        if len(bad := np.flatnonzero(~np.isfinite(values))):
            raise DalembertError(f"the time law is not finite: {name} is {values[bad[0]]:g} at t = {t[bad[0]]:g} s")
    for k, wanted in ((0, 0.0), (-1, end)):
        if abs(r[k] - wanted) > NEAR * end:
            raise DalembertError(
                f"the time law must go from r(0) = 0 to r({T:g}) = {end:g} s, the duration of the motion; "
                f"r({t[k]:g}) is {r[k]:.9g} s"
            )
    if len(bad := np.flatnonzero(rd < -BACKWARD * end / T)):
        raise DalembertError(
            f"the time law must increase strictly, but its rate ṙ is {rd[bad[0]]:.6g} at t = {t[bad[0]]:.6g} s"
        )
    steps, far = np.diff(r), np.diff(t) > 1e-9 * T
    if len(bad := np.flatnonzero((steps <= 0.0) & far)):
        k = int(bad[0])
        raise DalembertError(
            f"the time law must increase strictly, but r goes from {r[k]:.9g} s at t = {t[k]:.6g} s to {r[k + 1]:.9g} s at "
            f"t = {t[k + 1]:.6g} s"
        )
    for name, rate, value, slope in (("r", "ṙ", r, rd), ("ṙ", "r̈", rd, rdd)):
        grown = np.concatenate([[0.0], np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(t))])
        miss = np.abs(value - value[0] - grown)
        if miss.max() > AGREES * np.abs(value).max():
            k = int(miss.argmax())
            raise DalembertError(
                f"{name} and {rate} of the time law disagree: up to t = {t[k]:.4g} s, {name} grows by "
                f"{value[k] - value[0]:.6g}, but the integral of {rate} is {grown[k]:.6g}"
            )


def _instants(law: Retiming, r: Array) -> Array:
    """The first times at which the law reaches these values of r, by bisection."""
    if not r.size:
        return np.empty(r.shape)
    _, high = bisected(np.zeros(r.shape), np.full(r.shape, law.duration), lambda t: law(t)[0] >= r, HALVINGS)
    ends = np.where(r >= law.motion.duration, law.duration, high)  # where ṙ = 0, r rounds to its final value too early
    return np.where(r <= 0.0, 0.0, ends)
