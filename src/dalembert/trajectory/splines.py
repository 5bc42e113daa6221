"""Motions through waypoints: splines, and the quintic pieces between instants at which all is known."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arrays import Array
from dalembert.errors import DalembertError, ShapeError
from dalembert.extras import extra
from dalembert.robot.tables import nearest
from dalembert.trajectory.checks import finite, joints
from dalembert.trajectory.profiles import SmoothCurve
from dalembert.trajectory.trajectory import Trajectory

BOUNDARIES = ("clamped", "natural", "periodic", "not-a-knot")
CONDITIONS = {"velocity": 1, "acceleration": 2, "jerk": 3}


def spline(
    times: ArrayLike,
    waypoints: ArrayLike,
    boundary: str | Mapping[str, ArrayLike] = "clamped",
    degree: int = 3,
) -> Trajectory:
    """A motion through waypoints along a spline of degree 3 or 5.

    times      (k,) when (s), each later than the one before; the motion begins at 0, which is times[0]
    waypoints  (k, n) where (rad or m)
    boundary   "clamped": at rest at both ends (degree 5: with no acceleration either);
               "natural": no acceleration at both ends (degree 5: derivatives 3 and 4 are zero);
               "periodic": ends as it begins, in all derivatives; "not-a-knot"; or the values
               themselves, such as {"start_velocity": 0.5, "end_acceleration": [0, 1]}: one
               condition for each end with degree 3, two with degree 5, among velocity, acceleration, jerk

    >>> motion = spline([0.0, 1.0, 3.0], [[0.0], [2.0], [1.0]])
    >>> motion(1.0)[0], motion(0.0)[1]
    (array([2.]), array([0.]))
    """
    from scipy.interpolate import make_interp_spline

    t = finite("times", times)
    if t.ndim != 1 or len(t) < 2:
        raise ShapeError(f"times has shape {t.shape}; it must be (k,) with at least two instants")
    late = np.flatnonzero(np.diff(t) <= 0)
    if len(late):
        raise DalembertError(
            f"times[{late[0] + 1}] is {t[late[0] + 1]:g} s, which is not later than the {t[late[0]]:g} s before it"
        )
    q = finite("waypoints", waypoints)
    q = q[:, None] if q.ndim == 1 else q
    if q.ndim != 2 or len(q) != len(t):
        raise ShapeError(f"waypoints has shape {q.shape}, but there are {len(t)} times: it must be ({len(t)}, n)")
    if degree not in (3, 5):
        raise DalembertError(f"a spline has degree 3 or 5, not {degree}")
    t = t - t[0]
    n = q.shape[1]
    conditions: Any
    if isinstance(boundary, str):
        if boundary not in BOUNDARIES:
            raise DalembertError(f"unknown boundary '{boundary}'; known are {', '.join(BOUNDARIES)}")
        if boundary == "periodic" and not np.allclose(q[0], q[-1], rtol=0, atol=1e-12):
            j = int(np.argmax(np.abs(q[0] - q[-1])))
            raise DalembertError(
                f"a periodic motion ends where it begins, but joint {j + 1} goes from {q[0, j]:g} to {q[-1, j]:g}"
            )
        if boundary == "periodic":
            q = np.concatenate([q[:-1], q[:1]])
        if boundary == "not-a-knot" and len(t) <= degree:
            raise DalembertError(f"a not-a-knot spline of degree {degree} needs at least {degree + 1} waypoints")
        half = (degree + 1) // 2
        orders = {"clamped": range(1, half), "natural": range(half, degree)}.get(boundary)
        zeros = [(order, np.zeros(n)) for order in orders or ()]
        conditions = (zeros, zeros) if zeros else {"not-a-knot": None}.get(boundary, boundary)
    else:
        conditions = _conditions(boundary, n, degree)
    try:
        curve = make_interp_spline(t, q, k=degree, bc_type=conditions)
    except np.linalg.LinAlgError:
        raise DalembertError(
            f"{len(t)} waypoints with these boundary values do not determine a spline of degree {degree}"
        ) from None
    return Trajectory(float(t[-1]), n, SmoothCurve.of(curve))


def _conditions(
    boundary: Mapping[str, ArrayLike], n: int, degree: int
) -> tuple[list[tuple[int, Array]], list[tuple[int, Array]]]:
    """The values at both ends as SciPy takes them."""
    known = [f"{side}_{name}" for side in ("start", "end") for name in CONDITIONS]
    for name in boundary:
        if name not in known:
            raise DalembertError(
                f"unknown boundary value '{name}'{nearest(str(name), known) or ': known are ' + ', '.join(known)}"
            )
    sides = []
    for side in ("start", "end"):
        values = [
            (order, joints(f"{side}_{name}", boundary[f"{side}_{name}"], n))
            for name, order in CONDITIONS.items()
            if f"{side}_{name}" in boundary
        ]
        if len(values) != degree // 2:
            raise DalembertError(
                f"a spline of degree {degree} takes {degree // 2} boundary value{'s' if degree > 3 else ''} at its {side}, "
                f"not {len(values)}"
            )
        sides.append(values)
    return sides[0], sides[1]


@dataclass(frozen=True, eq=False)
class Quintics:
    """Between instants x (N,), the quintic with the values y, y1, y2 (N, n) of both ends and their derivatives."""

    x: Array
    y: Array
    y1: Array
    y2: Array

    @property
    def breaks(self) -> Array:
        """Where its pieces meet."""
        return self.x

    def __call__(self, x: Array) -> tuple[Array, Array, Array]:
        i = np.clip(np.searchsorted(self.x, x, side="right") - 1, 0, len(self.x) - 2)
        h = (self.x[i + 1] - self.x[i])[:, None]
        u = (x - self.x[i])[:, None] / h
        rise = self.y[i + 1] - self.y[i]
        v0, v1 = h * self.y1[i], h * self.y1[i + 1]
        a0, a1 = h * h * self.y2[i], h * h * self.y2[i + 1]
        # in u: y0 + v0 u + ½ a0 u² + c3 u³ + c4 u⁴ + c5 u⁵ with the given values at u = 1
        c3 = 10 * rise - 6 * v0 - 4 * v1 - 1.5 * a0 + 0.5 * a1
        c4 = -15 * rise + 8 * v0 + 7 * v1 + 1.5 * a0 - a1
        c5 = 6 * rise - 3 * (v0 + v1) - 0.5 * (a0 - a1)
        q = self.y[i] + u * (v0 + u * (0.5 * a0 + u * (c3 + u * (c4 + u * c5))))
        qd = (v0 + u * (a0 + u * (3 * c3 + u * (4 * c4 + u * 5 * c5)))) / h
        qdd = (a0 + u * (6 * c3 + u * (12 * c4 + u * 20 * c5))) / (h * h)
        for value, node in ((q, self.y), (qd, self.y1), (qdd, self.y2)):  # no rounding at the instants themselves
            value[x == self.x[i]] = node[i[x == self.x[i]]]
            value[x == self.x[i + 1]] = node[i[x == self.x[i + 1]] + 1]
        return q, qd, qdd


def reconstructed(t: Array, values: Array, cutoff: float | None = None) -> tuple[Array, Array]:
    """First and second derivatives of sampled ``values`` (N, n) at the instants t (N,), without phase shift.

    They are those of the quintic spline through all samples, which looks as far ahead as back. With
    ``cutoff`` (Hz; even sampling needed) the samples first go forwards and backwards through a
    second-order Butterworth low-pass, which shifts no phase either; use it for measured positions.
    """
    from scipy.interpolate import make_interp_spline

    if len(t) < 6:
        raise DalembertError(f"a derivative needs values at 6 instants or more, not at {len(t)}")
    if cutoff is not None:
        values = _low_pass(t, values, cutoff)
    # times and values from zero: large offsets would cost digits
    derivatives: list[Array] = []
    with np.errstate(all="ignore"), contextlib.suppress(ValueError):  # among them LinAlgError
        curve = make_interp_spline(t - t[0], values - values[0], k=5)
        derivatives = [curve.derivative(order)(t - t[0]) for order in (1, 2)]
    if not derivatives or not np.isfinite(derivatives).all():
        raise DalembertError("no smooth curve goes through the values; are instants too close, or values too large?")
    return derivatives[0], derivatives[1]


def _low_pass(t: Array, values: Array, cutoff: float) -> Array:
    with extra("motion", "a cutoff for measured positions"):
        from scipy.signal import butter, filtfilt

    steps = np.diff(t)
    step = (t[-1] - t[0]) / (len(t) - 1)
    if np.abs(steps - step).max() > 0.01 * step:
        k = int(np.argmax(np.abs(steps - step)))
        raise DalembertError(
            f"a cutoff needs even sampling, but the step from {t[k]:g} to {t[k + 1]:g} s is not the usual {step:g} s"
        )
    if not 0 < cutoff < 0.5 / step:
        raise DalembertError(f"the cutoff is {cutoff:g} Hz; it must lie between 0 and half the rate, {0.5 / step:g} Hz")
    b, a = butter(2, cutoff * 2 * step)
    length = min(len(values) - 1, int(3 / (cutoff * step)))
    return filtfilt(b, a, values, axis=0, padtype="odd", padlen=length)
