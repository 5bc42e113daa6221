"""Motions through waypoints: splines, and the derivatives of sampled positions."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.base.per_joint import per_joint
from dalembert.base.wording import nearest
from dalembert.errors import DalembertError, ShapeError
from dalembert.work.trajectory.planning import hermite
from dalembert.work.trajectory.planning.hermite import Hermite
from dalembert.work.trajectory.planning.monotone import Excursion, InterpolationWarning, excursion, monotone
from dalembert.work.trajectory.planning.motion_checks import check_choice, finite, positions
from dalembert.work.trajectory.planning.trajectory import Trajectory

BOUNDARIES = ("clamped", "natural", "periodic", "not-a-knot")
CONDITIONS = {"velocity": 1, "acceleration": 2, "jerk": 3}
INTERPOLATIONS = ("auto", "spline", "monotone")
# of a joint's range: how far a spline may leave the interval of the two neighbouring waypoints; holds are stricter
WAYPOINTS = np.inf
SIDES = ("start", "end")
LOWEST = 1e-6  # of the sampling rate: the coefficients of a lower low-pass are lost in rounding


def spline(
    times: ArrayLike,
    waypoints: ArrayLike,
    boundary: str | Mapping[str, ArrayLike] = "clamped",
    degree: int = 3,
    interpolation: str = "spline",
) -> Trajectory:
    """A motion through waypoints along a spline of degree 3 or 5, or along a monotone curve that stays between them.

    times      (k,) strictly increasing times (s); the motion begins at 0, which corresponds to times[0]
    waypoints  (k, n) positions (rad or m)
    boundary   "clamped": at rest at both ends (degree 5: also without acceleration);
               "natural": no acceleration at both ends (degree 5: derivatives 3 and 4 are zero);
               "periodic": all derivatives at the end equal those at the start; "not-a-knot"; or explicit
               values such as {"start_velocity": 0.5, "end_acceleration": [0, 1]}: one condition per end
               with degree 3, two with degree 5, chosen from velocity, acceleration and jerk
    interpolation  "spline", or "monotone" for a curve that rises, falls and stays constant where the waypoints do, with
               continuous accelerations. Use it for motions with rests, where a spline overshoots (an
               InterpolationWarning reports this); its boundary is "clamped" (without acceleration), "natural" or
               "not-a-knot" (no condition)

    >>> motion = spline([0.0, 1.0, 3.0], [[0.0], [2.0], [1.0]])
    >>> motion(1.0)[0], motion(0.0)[1]
    (array([2.]), array([0.]))
    """
    t = finite("times", times)
    if t.ndim != 1 or len(t) < 2:
        raise ShapeError(f"times has shape {t.shape}; it must be (k,) with at least two times")
    late = np.flatnonzero(np.diff(t) <= 0)
    if len(late):
        raise DalembertError(
            f"times[{late[0] + 1}] is {t[late[0] + 1]:g} s, which is not later than the {t[late[0]]:g} s before it"
        )
    q = positions("waypoints", waypoints)
    q = q[:, None] if q.ndim == 1 else q
    if q.ndim != 2 or len(q) != len(t):
        raise ShapeError(f"waypoints has shape {q.shape}, but there are {len(t)} times: it must be ({len(t)}, n)")
    if degree not in (3, 5):
        raise DalembertError(f"a spline has degree 3 or 5, not {degree}")
    t = t - t[0]
    check_choice("interpolation", interpolation, ("spline", "monotone"))
    if interpolation == "monotone":
        return Trajectory(float(t[-1]), q.shape[1], _monotone_with(boundary, monotone(t, q)))
    m, n = (degree + 1) // 2, q.shape[1]
    values: Array | float = 0.0
    if isinstance(boundary, str):
        check_choice("boundary", boundary, BOUNDARIES)
        if boundary == "periodic" and not np.allclose(q[0], q[-1], rtol=0, atol=1e-12):
            j = int(np.argmax(np.abs(q[0] - q[-1])))
            raise DalembertError(
                f"a periodic motion must end where it begins, but joint {j + 1} goes from {q[0, j]:g} to {q[-1, j]:g}"
            )
        if boundary == "periodic":
            q = np.concatenate([q[:-1], q[:1]])
        if boundary == "not-a-knot" and len(t) <= degree:
            raise DalembertError(f"a not-a-knot spline of degree {degree} needs at least {degree + 1} waypoints")
        orders = {"clamped": range(1, m), "natural": range(m, degree)}.get(boundary, range(0))
        conditions = {"periodic": _alike, "not-a-knot": _knotless}.get(
            boundary, partial(_derivatives, (orders, orders))
        )
    else:
        orders_of_ends, values = _end_values(boundary, n, degree)
        conditions = partial(_derivatives, orders_of_ends)
    try:
        curve = hermite.spline(t, q, m, conditions, values)
    except np.linalg.LinAlgError:
        raise DalembertError(
            f"{len(t)} waypoints with these boundary values do not determine a spline of degree {degree}"
        ) from None
    if (worst := excursion(curve, WAYPOINTS)) is not None:
        remedy = 'give interpolation="monotone", or more waypoints'
        warnings.warn(f"{worst.sentence('joint ')}: {remedy}", InterpolationWarning, stacklevel=2)
    return Trajectory(float(t[-1]), n, curve)


def _monotone_with(boundary: Any, curve: Hermite) -> Hermite:
    """The monotone curve with the boundary condition applied; the derivatives set to zero never make it reverse."""
    orders = {"clamped": slice(1, 3), "natural": slice(2, 3), "not-a-knot": slice(0)}
    if not isinstance(boundary, str) or boundary not in orders:
        raise DalembertError(f"the boundary of a monotone curve must be {' or '.join(orders)}, not {boundary!r}")
    y = curve.y.copy()
    y[orders[boundary]][:, [0, -1]] = 0.0
    return Hermite(curve.x, y)


def _derivatives(orders: tuple[Sequence[int], Sequence[int]], curve: Hermite) -> Array:
    """Derivatives of the given orders at the start, then those at the end."""
    return np.concatenate([curve.derivatives(side)[np.array(k) - 1] for side, k in zip(SIDES, orders, strict=True)])


def _alike(curve: Hermite) -> Array:
    """Differences of the derivatives between both ends: zero for a periodic curve."""
    return (curve.derivatives("end") - curve.derivatives("start"))[:-1]


def _knotless(curve: Hermite) -> Array:
    """Jumps of the highest derivative at the first and last inner nodes: zero where two segments are one polynomial."""
    m = len(curve.y)
    return np.concatenate([np.diff(curve.highest(pieces), axis=0) for pieces in (slice(m), slice(-m, None))])


def _end_values(boundary: Mapping[str, ArrayLike], n: int, degree: int) -> tuple[tuple[list[int], list[int]], Array]:
    """Orders of the derivatives prescribed at both ends, and their values (degree − 1, n)."""
    known = [f"{side}_{name}" for side in SIDES for name in CONDITIONS]
    for name in boundary:
        if name not in known:
            raise DalembertError(
                f"unknown boundary value '{name}'{nearest(str(name), known) or '; choose from ' + ', '.join(known)}"
            )
    orders, values = {}, []
    for side in SIDES:
        given = [name for name in CONDITIONS if f"{side}_{name}" in boundary]
        if len(given) != degree // 2:
            raise DalembertError(
                f"a spline of degree {degree} takes {degree // 2} boundary value{'s' if degree > 3 else ''} at its {side}, "
                f"not {len(given)}"
            )
        orders[side] = [CONDITIONS[name] for name in given]
        values += [per_joint(f"{side}_{name}", boundary[f"{side}_{name}"], n) for name in given]
    return (orders["start"], orders["end"]), np.array(values)


def quintic(t: Array, values: Array) -> Hermite:
    """The quintic spline through sampled ``values`` (N, n) at the times t (N,), whose derivatives have no phase shift."""
    if len(t) < 6:
        raise DalembertError(
            f"a derivative needs values at 6 times or more, not {len(t)}; interpolation 'monotone' needs only two"
        )
    with np.errstate(all="ignore"), contextlib.suppress(np.linalg.LinAlgError):
        curve = hermite.spline(t, values, 3, _knotless)
        if np.isfinite(curve.y).all():
            return curve
    raise DalembertError(
        "no smooth curve passes through the values; are times too close together, or values too large?"
    )


def reconstruction(t: Array, values: Array, interpolation: str) -> tuple[Hermite, Excursion | None, bool]:
    """A curve through sampled ``values`` (N, n) at the times t (N,), where their spline leaves their range, and whether
    the curve is that spline.

    interpolation  "spline", :func:`quintic`; "monotone", :func:`dalembert.work.trajectory.planning.monotone.monotone`; or "auto": the
                   spline, unless it moves a joint that the samples hold still by more than 5 % of the joint's range
    """
    check_choice("interpolation", interpolation, INTERPOLATIONS)
    try:
        spline = quintic(t, values)
    except DalembertError:
        if interpolation != "monotone" or len(t) < 2:
            raise
        return monotone(t, values), None, False
    worst = excursion(spline)
    if interpolation == "spline" or (interpolation == "auto" and not (worst is not None and worst.held)):
        return spline, worst, True
    return monotone(t, values, spline), worst, False


def low_pass(t: Array, values: Array, cutoff: float) -> Array:
    """Evenly sampled ``values`` (N, n), filtered forwards and backwards with a second-order Butterworth low-pass."""
    with extra("motion", "a cutoff for measured positions"):
        from scipy.signal import butter, filtfilt

    steps = np.diff(t)
    step = (t[-1] - t[0]) / (len(t) - 1)
    if np.abs(steps - step).max() > 0.01 * step:
        k = int(np.argmax(np.abs(steps - step)))
        raise DalembertError(
            f"a cutoff needs even sampling, but the step from {t[k]:g} to {t[k + 1]:g} s differs from the usual "
            f"{step:g} s"
        )
    if not 0 < cutoff < 0.5 / step:
        raise DalembertError(
            f"the cutoff is {cutoff:g} Hz; it must lie between 0 and half the sampling rate, {0.5 / step:g} Hz"
        )
    if cutoff * step < LOWEST:
        raise DalembertError(
            f"the cutoff is {cutoff:g} Hz, which would remove the motion; it must be at least {LOWEST / step:g} Hz"
        )
    b, a = butter(2, cutoff * 2 * step)
    length = min(len(values) - 1, int(3 / (cutoff * step)))
    return filtfilt(b, a, values, axis=0, padtype="odd", padlen=length)
