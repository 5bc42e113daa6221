"""An unknown load at the flange: its mass, centre of mass and inertia, with standard deviations.

S 7.4: "the payload can be regarded as a structural modification of the last link". Two ways:

- from joint torques of a run without and a run with the load. Both runs are fitted at once, the arm's base
  parameters π_b in both and the ten parameters π_L of the load in the second:  τ = Y_b π_b  and
  τ = Y_b π_b + Y_L π_L, where Y_L are the columns of the last link. The runs need not follow the same motion.
- from a force/torque sensor at the wrist:  w = A π_L + bias, where A holds the motion of the sensor's frame
  and the arm's own parameters do not matter at all.

The low-pass, the derivatives and the choice of samples are those of identification; standard deviations
count residuals that repeat themselves for what they are worth.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError, ShapeError
from dalembert.identification.base import base_parameters
from dalembert.identification.conditioning import Conditioned, condition
from dalembert.identification.estimate import correlation_time
from dalembert.identification.fit import IdentificationWarning
from dalembert.identification.logs import SPELLINGS, Log, read_log
from dalembert.identification.parameters import FRICTION, WIDTH, ParameterSet
from dalembert.identification.suspicions import suspicions
from dalembert.kernel.one_thread import one_thread
from dalembert.robot.inertia import Inertia
from dalembert.robot.model import Frame
from dalembert.robot.placement import Placement

Array = NDArray[np.float64]
Source = str | os.PathLike[str] | Mapping[str, ArrayLike] | Log

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")
CHOICES = {"body": 10, "mass-com": 4}
ROUNDS = 10  # of reweighting, at most
UNSEEN = 1e-6  # a column with less than this of its usual length left beside the others is not seen
REFERENCES = ("tau_des", "target_moment", "target_torque")  # torques of a controller's own model, in logs of UR arms
STILL = 0.01  # of a joint's largest speed: below this its friction is not known


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
        return _tensor(self._derived[0][3:])

    @property
    def inertia_std(self) -> Array:
        """(3, 3) kg m²."""
        return _tensor(self._derived[1][3:])

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
    tensor = _tensor(parameters[4:]) - steiner
    return np.concatenate([c, tensor[np.triu_indices(3)]])


def _tensor(six: Array) -> Array:
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def identify_payload(
    arm: Arm,
    log: Source,
    loaded: Source | None = None,
    *,
    wrench: ArrayLike | str | None = None,
    sensor: Placement | None = None,
    sign: float = 1.0,
    parameters: str = "body",
    gains: ArrayLike | None = None,
    reference: str | None = None,
    friction: Sequence[str] = FRICTION,
    cutoff: float | None = None,
    **reading: Any,
) -> Payload:
    """The load at the flange, from two runs or from one with a force/torque sensor at the wrist.

    log, loaded  a run without the load and a run with it, as for :func:`dalembert.identify`; without ``loaded``
                 the log must have a wrench
    wrench       (N, 6) [fx fy fz mx my mz] in the sensor's axes for each row of the log, or what the file calls
                 it; by default 'wrench', or the columns fx … mz. It is what the flange exerts on the load
    sensor       where the sensor's frame stands on the arm's tip
    sign         −1 for a sensor that shows what the load exerts on the flange
    parameters   "body": all ten; "mass-com": mass and first moments alone, its own inertia neglected
    gains        drive gains (N m/A) for a log with currents
    reference    what the log without the load calls the torques of the controller's own model: drive gains are
                 then found as the factors by which measured torques (or currents) agree with it. Without gains, a
                 log with currents that has such torques by a usual name (tau_des, target_moment) is taken so
    friction     of "viscous" and "coulomb", those that count; cutoff of the low-pass, in Hz

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("puma560")
    >>> found = da.fourier(np.random.default_rng(0).normal(0, 0.2, (2, 6, 4)), 0.2, duration=20.0)
    >>> t = np.arange(0, 20, 0.01)
    >>> q, qd, qdd = found(t)
    >>> runs = [
    ...     {"t": t, "q": q, "qd": qd, "tau": a.inverse_dynamics(q, qd, qdd)} for a in (arm, arm.with_payload(2.0))
    ... ]
    >>> round(identify_payload(arm, *runs).mass, 2)
    2.0
    """
    if parameters not in CHOICES:
        raise DalembertError(f"parameters is '{parameters}'; it must be {' or '.join(CHOICES)}")
    if arm.robot.payload is not None:
        raise DalembertError(
            f"arm '{arm.name}' holds a payload already; an unknown load is found for an arm without one"
        )
    if arm.mechanism.tip_body < 0:
        raise DalembertError(f"the tip of arm '{arm.name}' does not move; a load there shows in no torque")
    if loaded is None:
        if gains is not None or reference is not None:
            raise DalembertError("gains and reference are about joint torques; a wrist sensor needs neither")
        with one_thread():
            return _from_wrist(arm, log, wrench, sensor, float(sign), CHOICES[parameters], cutoff, reading)
    if wrench is not None or sensor is not None:
        raise DalembertError("a wrench or a sensor is given as well as two logs; give one log to use the wrist sensor")
    if gains is not None and reference is not None:
        raise DalembertError("gains and a reference to find them from are both given; choose one")
    with one_thread():
        return _from_torques(arm, log, loaded, CHOICES[parameters], gains, reference, tuple(friction), cutoff, reading)


def _look_at(arm: Arm, runs: Sequence[tuple[Log, Conditioned]], reading: Mapping[str, Any]) -> None:
    """Warns of logs that do not look like what they say they are."""
    for log, ready in runs:
        for sentence in suspicions(arm, log, ready, reading):
            warnings.warn(sentence, IdentificationWarning, stacklevel=4)


# -- joint torques ---------------------------------------------------------------------------------


def _from_torques(
    arm: Arm, log: Source, loaded: Source, count: int, gains: ArrayLike | None, reference: str | None,
    friction: tuple[str, ...], cutoff: float | None, reading: Mapping[str, Any],
) -> Payload:  # fmt: skip
    how = dict(reading)
    if gains is None and reference is None and _has_current(log):
        reference = next((name for name in REFERENCES if name in _names(log)), None)
    if gains is not None or (reference is not None and _has_current(log)):
        how["gains"] = gains if gains is not None else np.ones(arm.n)
    first, second = read_log(log, arm, **how), read_log(loaded, arm, **how)
    ready = condition(first, cutoff=cutoff)
    other = condition(second, cutoff=ready.cutoff)
    notes = [*first.notes, *second.notes, *ready.notes]
    if reference is None:  # else its unit is found out
        _look_at(arm, ((first, ready), (second, other)), how)
    rotor = True  # a rotor inertia is felt by its joint alone and costs nothing to allow for
    base = base_parameters(ParameterSet(arm, friction, offset=True, rotor=rotor))
    carry = carried(arm.mechanism.tip)

    def load(q: Array, qd: Array, qdd: Array) -> Array:
        at = WIDTH * arm.mechanism.tip_body
        return arm.regressor(q, qd, qdd)[:, :, at : at + 10] @ carry

    Y = [_thinned(run, base.regressor) for run in (ready, other)]
    L = _thinned(other, load)[:, :, :count]
    tau = [run.tau for run in (ready, other)]
    fastest = np.abs(ready.qd).max(axis=0)
    moving = np.concatenate([np.abs(run.qd) >= STILL * fastest for run in (ready, other)])
    W = np.zeros((len(moving), arm.n, base.rank + count))
    W[: len(Y[0]), :, : base.rank], W[len(Y[0]) :, :, : base.rank] = Y
    W[len(Y[0]) :, :, base.rank :] = L
    factor = factor_std = None
    measured = np.concatenate(tau)
    if reference is not None:
        wanted = read_log(log, arm, **{**reading, "columns": {**reading.get("columns", {}), "tau": reference}})
        factor, factor_std = _gains(ready, condition(wanted, cutoff=ready.cutoff), arm, friction, reference)
        measured = measured * factor
        notes.append(f"drive gains from '{reference}': {_listed(factor)} (standard deviations {_listed(factor_std)})")
    elif "gains" in how:
        notes.append("an error of the drive gains is not part of the standard deviations; it acts on the mass in full")
        told, other_factor = _gains_doubted(arm, log, ready, friction, reading)
        if other_factor is not None:
            instead, *_ = _solve(W, measured * other_factor, moving, base.rank, None, None, len(Y[0]))
            notes.append(f"{told}, and gives a mass of {instead[0]:.4g} kg")
    values, covariance, residual, noise = _solve(W, measured, moving, base.rank, factor_std, factor, len(Y[0]))
    late = slice(len(Y[0]), None)
    return _made(
        values, covariance, float(np.linalg.norm(residual[late]) / np.linalg.norm(measured[late])), noise,
        int(moving.sum()), arm.robot.tip.name if arm.robot.tip else "tip", notes, gains=factor,
    )  # fmt: skip


def _names(log: Source) -> set[str]:
    """What a dict, an npz or a CSV file calls its quantities, numbers at their ends left out."""
    if isinstance(log, Log):
        return set()
    if isinstance(log, Mapping):
        return {str(name) for name in log}
    path = Path(log)
    if path.suffix.lower() == ".npz" and path.is_file():
        with np.load(path, allow_pickle=False) as file:
            return set(file.files)
    if path.suffix.lower() == ".csv" and path.is_file():
        with path.open(encoding="utf-8-sig", errors="replace") as text:
            return {name.strip().rstrip("0123456789").rstrip("_[ .") for name in text.readline(1 << 20).split(",")}
    return set()


def _has_current(log: Source) -> bool:
    """Whether a log has currents and no torques, and so needs gains."""
    names = {name.lower() for name in _names(log)}
    return bool(names & set(SPELLINGS["current"])) and not names & set(SPELLINGS["tau"])


def _thinned(ready: Conditioned, columns: Any) -> Array:
    """Columns of a regressor at the kept instants, low-passed as the torques are."""
    return np.concatenate([ready.thinned(k, columns(p.q, p.qd, p.qdd)) for k, p in enumerate(ready.pieces)])


def carried(tip: Placement) -> Array:
    """(10, 10): a body's ten parameters in the tip's frame → those in the frame of the link that carries it.

    With the pseudo-inertia P = [Σ, h; hᵀ, m], Σ = ½ tr(I) 1 − I, and H the tip's homogeneous matrix, P ↦ H P Hᵀ.
    """
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = np.array(tip.rotation, float), np.array(tip.translation, float)
    out = np.zeros((10, 10))
    for k in range(10):
        ten = np.zeros(10)
        ten[k] = 1.0
        I, P = _tensor(ten[4:]), np.zeros((4, 4))
        P[:3, :3], P[:3, 3], P[3, :3], P[3, 3] = 0.5 * np.trace(I) * np.eye(3) - I, ten[1:4], ten[1:4], ten[0]
        P = H @ P @ H.T
        I = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
        out[:, k] = [P[3, 3], *P[:3, 3], *I[np.triu_indices(3)]]
    return out


def _gains(
    ready: Conditioned, wanted: Conditioned, arm: Arm, friction: tuple[str, ...], reference: str
) -> tuple[Array, Array]:
    """What measured torques must be multiplied with to agree with the controller's, friction apart: (n,), std."""
    told = np.column_stack([np.interp(ready.t, wanted.t, wanted.tau[:, j]) for j in range(arm.n)])
    made, spread = np.ones(arm.n), np.zeros(arm.n)
    for j in range(arm.n):
        v = ready.qd[:, j]
        use = np.abs(v) >= STILL * np.abs(v).max()
        extra = [v] * ("viscous" in friction) + [np.sign(v)] * ("coulomb" in friction)
        A = np.column_stack([told[:, j], *extra, np.ones_like(v)])[use]
        y = ready.tau[use, j]
        x, *_ = np.linalg.lstsq(A, y, rcond=None)
        left = y - A @ x
        variance = float(left @ left) / max(len(y) - A.shape[1], 1) * correlation_time(left)
        slope_std = np.sqrt(variance * np.linalg.pinv(A.T @ A)[0, 0])
        if not x[0] > 3 * slope_std:
            raise DalembertError(
                f"'{reference}' hardly agrees with the measured torque of joint '{arm.joint_names[j]}', so no drive gain "
                "can be found from it; give gains"
            )
        made[j], spread[j] = 1.0 / x[0], slope_std / x[0] ** 2
    return made, spread


def _gains_doubted(
    arm: Arm, log: Source, ready: Conditioned, friction: tuple[str, ...], reading: Mapping[str, Any]
) -> tuple[str, Array | None]:
    """A sentence and factors if the log has torques of the controller's own model that do not agree with the gains."""
    name = next((name for name in REFERENCES if name in _names(log)), None)
    if name is None:
        return "", None
    wanted = read_log(log, arm, **{**reading, "columns": {**reading.get("columns", {}), "tau": name}})
    try:
        factor, spread = _gains(ready, condition(wanted, cutoff=ready.cutoff), arm, friction, name)
    except DalembertError:
        return "", None
    if not (np.abs(factor - 1) > np.maximum(3 * spread, 0.05)).any():
        return "", None
    said = f"beside '{name}' of the same log, the torques by these gains are too small by factors of {_listed(factor)}"
    return f"{said}; reference='{name}' takes the gains from there", factor


def _solve(
    W: Array, y: Array, use: Array, before: int, gain_std: Array | None, gain: Array | None, unloaded: int
) -> tuple[Array, Array, Array, Array]:
    """Weighted least squares, the columns from ``before`` on asked for: (values, covariance, residual, noise).

    The weights are the rows' own noise by component (joint or axis), found by repetition; the covariance
    counts correlated residuals, and errors of the gains where their standard deviations are given.
    """
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
        new = 1.0 / np.maximum(noise, 1e-12 * max(float(noise.max()), 1e-300))
        settled = np.abs(new / weights - 1).max() < 1e-4
        if settled:
            break
        weights = new
    parts = [residual[:unloaded], residual[unloaded:]] if unloaded else [residual]
    times = np.array([max(correlation_time(part[:, j]) for part in parts) for j in range(n)])
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


def _made(
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


def _listed(values: Array) -> str:
    return ", ".join(f"{v:.4g}" for v in values)


# -- a sensor at the wrist -------------------------------------------------------------------------


def wrist_regressor(arm: Arm, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """A: (N, 6, 10) with [f, μ] = A π_L, in the axes of the arm's tip and about its origin.

    f = m a + U h and μ = h × a + I ω̇ + ω × I ω, where a is the origin's acceleration less gravity and
    U = S(ω̇) + S(ω)S(ω): what the flange exerts on the load.
    """
    q, qd, qdd = (np.atleast_2d(np.asarray(x, float)) for x in (q, qd, qdd))
    R = arm.pose(q)[:, :3, :3]
    J, Jd = arm.jacobian(q), arm.jacobian_derivative(q, qd)
    twist = np.einsum("kij,kj->ki", J, qd)
    rate = np.einsum("kij,kj->ki", J, qdd) + np.einsum("kij,kj->ki", Jd, qd)
    gravity = np.array([float(g) for g in arm.mechanism.gravity])
    a, w, wd = (np.einsum("kji,kj->ki", R, x) for x in (rate[:, :3] - gravity, twist[:, 3:], rate[:, 3:]))
    S = _skew(w)
    A = np.zeros((len(q), 6, 10))
    A[:, :3, 0] = a
    A[:, :3, 1:4] = _skew(wd) + S @ S
    A[:, 3:, 1:4] = -_skew(a)
    A[:, 3:, 4:] = _times(wd) + S @ _times(w)
    return A


def _skew(v: Array) -> Array:
    out = np.zeros((len(v), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    return out - np.swapaxes(out, 1, 2)


def _times(v: Array) -> Array:
    """(N, 3, 6): I v, linear in Ixx, Ixy, Ixz, Iyy, Iyz, Izz."""
    out = np.zeros((len(v), 3, 6))
    for row, columns in enumerate(((0, 1, 2), (1, 3, 4), (2, 4, 5))):
        for k, column in enumerate(columns):
            out[:, row, column] = v[:, k]
    return out


def _from_wrist(
    arm: Arm, log: Source, wrench: ArrayLike | str | None, sensor: Placement | None, sign: float, count: int,
    cutoff: float | None, reading: Mapping[str, Any],
) -> Payload:  # fmt: skip
    frame = "tip" if arm.robot.tip is None else arm.robot.tip.name
    if sensor is not None:
        assert arm.robot.tip is not None
        arm = arm.replace(tip=Frame("sensor", arm.robot.tip.link, arm.robot.tip.placement @ sensor))
        frame = "sensor"
    t, w = _wrench(log, wrench)
    run = read_log(log, arm, **{**reading, "torque_needed": False})
    ready = condition(run, cutoff=cutoff)
    _look_at(arm, ((run, ready),), reading)
    notes = [*run.notes, *ready.notes]
    order = np.argsort(t, kind="stable")
    t, w = t[order], sign * w[order]
    measured = np.concatenate([
        ready.thinned(k, np.column_stack([np.interp(p.t, t, w[:, i]) for i in range(6)]))
        for k, p in enumerate(ready.pieces)
    ])  # fmt: skip
    A = _thinned(ready, lambda q, qd, qdd: wrist_regressor(arm, q, qd, qdd))[:, :, :count]
    W = np.concatenate([np.broadcast_to(np.eye(6), (len(A), 6, 6)), A], axis=2)
    use = np.ones(W.shape[:2], dtype=bool)
    values, covariance, residual, noise = _solve(W, measured, use, 0, None, None, 0)
    bias, pi = values[:6], values[6:]
    size = float(np.linalg.norm(measured - bias))
    return _made(
        pi, covariance[6:, 6:], float(np.linalg.norm(residual)) / max(size, 1e-300), noise, len(W), frame, notes,
        bias=sign * bias, bias_std=np.sqrt(np.maximum(np.diag(covariance)[:6], 0.0)),
    )  # fmt: skip


def _wrench(log: Source, wrench: ArrayLike | str | None) -> tuple[Array, Array]:
    """(t, wrench) of a log: (N,) and (N, 6)."""
    if isinstance(log, Log):
        arrays: dict[str, Any] = {"t": log.t}
    elif isinstance(log, Mapping):
        arrays = dict(log)
    else:
        arrays = _table(Path(log))
    source = str(log) if isinstance(log, (str, os.PathLike)) else "the log"
    if "t" not in arrays:
        raise DalembertError(f"{source}: a log with a wrench needs its time in s in a column t")
    t = np.asarray(arrays["t"], float).ravel()
    if wrench is None or isinstance(wrench, str):
        name = wrench or "wrench"
        if name in arrays:
            values = np.asarray(arrays[name], float)
        elif wrench is None and all(one in arrays for one in WRENCH):
            values = np.column_stack([np.asarray(arrays[one], float) for one in WRENCH])
        else:
            raise DalembertError(
                f"{source}: it has no '{name}' of six columns and not all of {', '.join(WRENCH)}; it has "
                f"{', '.join(list(arrays)[:12])}"
            )
    else:
        values = np.asarray(wrench, float)
    if values.shape != (len(t), 6):
        raise ShapeError(f"{source}: the wrench has shape {values.shape}; it must be ({len(t)}, 6), a row for each t")
    whole = np.isfinite(values).all(axis=1) & np.isfinite(t)
    if whole.sum() < 10:
        raise DalembertError(f"{source}: only {int(whole.sum())} rows of the wrench hold numbers throughout")
    return t[whole], values[whole]


def _table(path: Path) -> dict[str, Any]:
    """Columns of an npz or CSV file by name; w1 … w6 are gathered into w."""
    if not path.is_file():
        raise DalembertError(f"{path}: there is no such file")
    if path.suffix.lower() == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    if path.suffix.lower() != ".csv":
        raise DalembertError(f"{path}: a log with a wrench is a .csv or .npz file, not '{path.suffix}'")
    with path.open(encoding="utf-8-sig") as text:
        names = [name.strip() for name in text.readline().split(",")]
        try:
            rows = np.loadtxt(text, delimiter=",", ndmin=2)
        except ValueError as error:
            raise DalembertError(f"{path}: this is no table of numbers ({error})") from None
    if rows.shape[1] != len(names):
        raise DalembertError(f"{path}: the rows have {rows.shape[1]} values, but the header has {len(names)} columns")
    arrays: dict[str, Any] = {name: rows[:, k] for k, name in enumerate(names)}
    for stem in {name[:-1] for name in names if name[-1:] == "6"}:
        six = [f"{stem}{k}" for k in range(1, 7)]
        if all(one in arrays for one in six):
            arrays[stem] = np.column_stack([arrays[one] for one in six])
    return arrays


__all__ = ["Payload", "identify_payload", "wrist_regressor"]
