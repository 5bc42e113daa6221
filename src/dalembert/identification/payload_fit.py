"""What both ways to a load share: the result, weighted least squares, and judging what was found."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.identification.estimate import above_zero, correlation_time
from dalembert.identification.fit import NOTHING, IdentificationWarning
from dalembert.logs.conditioning import Conditioned
from dalembert.logs.log import Log
from dalembert.logs.suspicions import suspicions
from dalembert.robot.inertia import Inertia

Array = NDArray[np.float64]

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
ROUNDS = 10  # of reweighting, at most
UNSEEN = 1e-6  # a column with less than this of its usual length left beside the others is not seen


@dataclass(frozen=True, eq=False)
class Payload:
    """A load at the flange, in the axes of the frame it is held in (the arm's tip, or the wrist sensor).

    parameters      (10,) m, m c, I about the frame's origin; NaN for what the runs do not show
    covariance      (10, 10) of them
    relative_error  ‖measured − predicted‖ / ‖measured‖ over the run with the load
    noise           standard deviation of each joint's residual (N m), or of each component of the wrench
    bias            (6,) of the wrist sensor, with ``bias_std``
    gains           (n,) what the torques were multiplied with to agree with the reference
    """

    parameters: Array
    covariance: Array
    relative_error: float
    noise: Array
    samples: int
    frame: str
    bias: Array | None = None
    bias_std: Array | None = None
    gains: Array | None = None
    notes: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        centre = ", ".join(f"{x:.4g} ± {e:.1g}" for x, e in zip(self.com, self.com_std, strict=True))
        return f"<Payload at {self.frame!r}: {self.mass:.4g} ± {self.mass_std:.1g} kg, centre of mass {centre} m>"

    @property
    def std(self) -> Array:
        """(10,) standard deviations of the parameters."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def mass(self) -> float:
        """kg."""
        return float(self.parameters[0])

    @property
    def mass_std(self) -> float:
        """kg."""
        return float(self.std[0])

    @property
    def com(self) -> Array:
        """(3,) centre of mass (m)."""
        return self._derived[0][:3]

    @property
    def com_std(self) -> Array:
        """(3,) m."""
        return self._derived[1][:3]

    @property
    def inertia(self) -> Array:
        """(3, 3) tensor about the centre of mass (kg m²); NaN where the runs do not show it."""
        return tensor(self._derived[0][3:])

    @property
    def inertia_std(self) -> Array:
        """(3, 3) kg m²."""
        return tensor(self._derived[1][3:])

    @cached_property
    def _derived(self) -> tuple[Array, Array]:
        """(com, tensor about it) in nine numbers, and their standard deviations to first order."""
        at = central(self.parameters)
        J = np.zeros((9, 10))
        for k in range(10):
            step = 1e-6 * max(abs(float(self.parameters[k])), 1e-3) if np.isfinite(self.parameters[k]) else 0.0
            if step:
                moved = self.parameters.copy()
                moved[k] += step
                J[:, k] = (central(moved) - at) / step
        J = np.where(np.isfinite(J), J, 0.0)
        known = np.where(np.isfinite(self.covariance), self.covariance, 0.0)
        return at, np.where(np.isfinite(at), np.sqrt(np.maximum(np.diag(J @ known @ J.T), 0.0)), np.nan)

    def attached_to(self, arm: Arm) -> Arm:
        """The arm holding the load; where no body has the inertia that was found, a point mass in its place."""
        body = Inertia(self.mass, tuple(np.nan_to_num(self.com).tolist()), np.nan_to_num(self.inertia).tolist())
        if body.impossible() is None:
            return arm.with_payload(self.mass, np.nan_to_num(self.com), np.nan_to_num(self.inertia))
        return arm.with_payload(self.mass, np.nan_to_num(self.com))


def central(parameters: Array) -> Array:
    """(c, I about c) of ten parameters about the origin: nine numbers."""
    m, h = parameters[0], parameters[1:4]
    with np.errstate(all="ignore"):
        c = h / m
    steiner = m * (float(c @ c) * np.eye(3) - np.outer(c, c))
    return np.concatenate([c, (tensor(parameters[4:]) - steiner)[np.triu_indices(3)]])


def tensor(six: Array) -> Array:
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def look_at(arm: Arm, runs: Sequence[tuple[Log, Conditioned]], reading: Mapping[str, Any]) -> None:
    """Warns of logs that do not look like what they say they are."""
    for log, ready in runs:
        for sentence in suspicions(arm, log, ready, reading):
            warnings.warn(sentence, IdentificationWarning, stacklevel=4)


def thinned(ready: Conditioned, columns: Any) -> Array:
    """Columns of a regressor at the kept instants, low-passed as the torques are."""
    return np.concatenate([ready.thinned(k, columns(p.q, p.qd, p.qdd)) for k, p in enumerate(ready.pieces)])


def solve(
    W: Array, y: Array, use: Array, before: int, gain_std: Array | None, gain: Array | None, unloaded: int
) -> tuple[Array, Array, Array, Array]:
    """Weighted least squares, the columns from ``before`` on asked for: (values, covariance, residual, noise).

    The weights are the rows' own noise by component (joint or axis), found by repetition; the covariance
    counts correlated residuals, and errors of the gains where their standard deviations are given.
    """
    if not np.abs(y).max() > NOTHING:
        raise DalembertError("the torques, or the wrench, are zero throughout, so that no load can be found from them")
    _, n, p = W.shape
    weights, x, residual = np.ones(n), np.zeros(p), y
    seen = _seen(W, use)
    noise = np.ones(n)
    inverse = np.zeros((p, p))
    for _ in range(ROUNDS):
        A = (W * weights[:, None])[use][:, seen]
        b = (y * weights)[use]
        size = np.linalg.norm(A, axis=0)
        size[size == 0] = 1.0
        x = np.zeros(p)
        x[seen] = np.linalg.lstsq(A / size, b, rcond=None)[0] / size
        residual = y - W @ x
        free = 1.0 - len(seen) / max(int(use.sum()), len(seen) + 1)
        noise = np.array([np.sqrt(np.mean(residual[use[:, j], j] ** 2) / free) for j in range(n)])
        inverse = np.zeros((p, p))
        inverse[np.ix_(seen, seen)] = np.linalg.pinv((A / size).T @ (A / size), hermitian=True) / np.outer(size, size)
        new = 1.0 / above_zero(noise)
        settled = np.abs(new / weights - 1).max() < 1e-4
        if settled:
            break
        weights = new
    parts = [(residual[k], use[k]) for k in (slice(None, unloaded), slice(unloaded, None))]
    runs = [[r[mine[:, j], j] for r, mine in parts if mine[:, j].any()] for j in range(n)]
    times = np.array([correlation_time([r - r.mean() for r in one]) for one in runs])
    middle = np.zeros((p, p))
    more = np.zeros((p, p))
    for j in range(n):
        A = W[use[:, j], j]
        middle += weights[j] ** 4 * noise[j] ** 2 * times[j] * (A.T @ A)
        if gain_std is not None and gain is not None:  # what an error of the gain does to all equations of the joint
            moved = inverse @ (weights[j] ** 2 * A.T @ y[use[:, j], j]) / gain[j]
            more += gain_std[j] ** 2 * np.outer(moved, moved)
    covariance = inverse @ middle @ inverse + more
    unseen = np.setdiff1d(np.arange(before, p), seen)
    x[unseen] = np.nan
    covariance[unseen, :] = covariance[:, unseen] = np.nan
    return x[before:], covariance[before:, before:], residual, noise


def _seen(W: Array, use: Array) -> NDArray[np.intp]:
    """The columns that have a part of their own; of dependent ones the first."""
    A = W[use]
    p = A.shape[1]
    length = np.linalg.norm(A, axis=0)
    usual = length.max(initial=0.0)
    kept: list[int] = []
    Q = np.zeros((len(A), p))
    for k in range(p):
        if length[k] <= 1e-10 * usual:
            continue
        unit = A[:, k] / length[k]
        for _ in range(2):
            unit = unit - Q[:, : len(kept)] @ (Q[:, : len(kept)].T @ unit)
        left = float(np.linalg.norm(unit))
        if left > UNSEEN:
            Q[:, len(kept)] = unit / left
            kept.append(k)
    return np.array(kept, dtype=np.intp)


def made(
    values: Array, covariance: Array, error: float, noise: Array, samples: int, frame: str, notes: list[str], **more: Any
) -> Payload:  # fmt: skip
    ten, spread = np.full(10, np.nan), np.full((10, 10), np.nan)
    ten[: len(values)] = values
    spread[: len(values), : len(values)] = covariance
    if len(values) < 10:
        notes.append("the inertia of the load about its frame was neglected (parameters='mass-com')")
    unseen = [name for name, v in zip(NAMES, values, strict=False) if not np.isfinite(v)]
    if unseen:
        notes.append(f"the motion does not show {', '.join(unseen)} of the load")
    if not np.isfinite(ten[0]):
        raise DalembertError(
            "the runs do not show the mass of the load: let the arm move more of its joints against gravity"
        )
    found = Payload(ten, spread, error, noise, samples, frame, **more)
    if found.mass <= 0:
        raise DalembertError(
            f"the load has a mass of {found.mass:.3g} kg, which nothing can have: are the runs exchanged, or the sign of "
            "torques or wrench turned (sign=-1, --reaction)?"
        )
    if len(values) == 10 and not unseen:
        problem = Inertia(found.mass, tuple(found.com.tolist()), found.inertia.tolist()).impossible()
        if problem is not None:
            notes.append(
                f"no body has the inertia found ({problem}): the motion hardly shows it; mass and centre count"
            )
    return Payload(ten, spread, error, noise, samples, frame, notes=tuple(notes), **more)


__all__ = ["Payload", "central", "look_at", "made", "solve", "tensor", "thinned"]
