"""A load from a force/torque sensor at the wrist: w = A π_L + bias, independent of the arm's own parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array, double
from dalembert.errors import DalembertError, ShapeError
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Frame
from dalembert.work.identification.fitting.base_parameters import observable_columns
from dalembert.work.identification.fitting.fit import NOTHING
from dalembert.work.identification.fitting.least_squares import ROUNDS, correlation_time, least_squares, spread
from dalembert.work.identification.fitting.physical_consistency import tensor
from dalembert.work.identification.fitting.triangular_systems import JointTriangles, triangle
from dalembert.work.identification.payload.payload_fit import Payload, look_at, payload_of
from dalembert.work.logs.checks.impossible_values import garbage_in
from dalembert.work.logs.conditioning import condition
from dalembert.work.logs.formats.raw import Raw
from dalembert.work.logs.log import Log, Source, raw_of, read_log
from dalembert.work.logs.signals import SignalColumns, numeric

WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")


def wrist_regressor(arm: Arm, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """A: (N, 6, 10) with [f, μ] = A π_L, in the axes of the arm's tip and about its origin.

    f = m a + U h and μ = h × a + I ω̇ + ω × I ω, where a is the origin's acceleration less gravity and
    U = S(ω̇) + S(ω)S(ω): the wrench that the flange exerts on the load.
    """
    q, qd, qdd = map(np.atleast_2d, map(double, ("q", "qd", "qdd"), (q, qd, qdd)))
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
    """(N, 3, 3): S(v)."""
    return np.cross(np.eye(3), v[:, None])


def _times(v: Array) -> Array:
    """(N, 3, 6): I v, linear in Ixx, Ixy, Ixz, Iyy, Iyz, Izz."""
    return np.einsum("kij,nj->nik", np.array([tensor(unit) for unit in np.eye(6)]), v)


def from_wrist(
    arm: Arm, log: Source, wrench: ArrayLike | str | None, sensor: Placement | None, sign: float, count: int,
    cutoff: float | None, reading: Mapping[str, Any],
) -> Payload:  # fmt: skip
    frame = "tip" if arm.robot.tip is None else arm.robot.tip.name
    if sensor is not None:
        assert arm.robot.tip is not None
        arm = arm.replace(tip=Frame("sensor", arm.robot.tip.link, arm.robot.tip.placement @ sensor))
        frame = "sensor"
    run = read_log(log, arm, **{**reading, "torque_needed": False})
    t, w, dropped = _wrench(log, run, arm, wrench, reading)
    ready = condition(run, cutoff=cutoff)
    look_at(arm, ((run, ready),), reading)
    notes = [*run.notes, *dropped, *ready.notes]
    order = np.argsort(t, kind="stable")
    t, w = t[order], sign * w[order]
    measured = ready.thinned(lambda piece: np.column_stack([np.interp(piece.t, t, w[:, i]) for i in range(6)]))
    A = ready.thinned(lambda piece: wrist_regressor(arm, *piece.states))[:, :, :count]
    W = np.concatenate([np.broadcast_to(np.eye(6), (len(A), 6, 6)), A], axis=2)
    values, covariance, residual, noise = _solved(W, measured)
    bias, pi = values[:6], values[6:]
    size = float(np.linalg.norm(measured - bias))
    return payload_of(
        pi, covariance[6:, 6:], float(np.linalg.norm(residual)) / max(size, 1e-300), noise, len(W), frame, notes,
        bias=sign * bias, bias_std=np.sqrt(np.maximum(np.diag(covariance)[:6], 0.0)),
    )  # fmt: skip


def _solved(W: Array, y: Array) -> tuple[Array, Array, Array, Array]:
    """Weighted least squares of W (M, 6, p) and y (M, 6): (values, covariance, residual, noise).

    The weights are the noise of each component, found by fixed-point iteration; the covariance accounts for
    autocorrelation.
    """
    if not np.abs(y).max() > NOTHING:
        raise DalembertError("the wrench is zero throughout, so no load can be identified from it")
    p = W.shape[2]
    systems = (triangle(np.column_stack([W[:, j], y[:, j]]), len(y), np.arange(p)) for j in range(y.shape[1]))
    joints = JointTriangles(tuple(systems), p)
    unseen = np.setdiff1d(np.arange(p), observable_columns(joints.together().R))
    estimate = least_squares(joints, np.zeros(p), tuple(unseen.tolist()), ROUNDS)
    values = estimate.values
    residual = y - W @ values
    times = np.array([correlation_time([r - r.mean()]) for r in residual.T])
    noise, covariance = spread(joints, values, estimate.weights, estimate.fixed, times=times)
    values[unseen] = np.nan
    covariance[unseen, :] = covariance[:, unseen] = np.nan
    return values, covariance, residual, noise


def _wrench(
    log: Source, run: Log, arm: Arm, wrench: ArrayLike | str | None, reading: Mapping[str, Any]
) -> tuple[Array, Array, list[str]]:
    """(t, wrench) at the rows of a log, (N,) and (N, 6), and a sentence about the rows that were dropped."""
    raw = Raw(run.source)
    if not isinstance(log, Log):
        raw = raw_of(log, arm, reading.get("topic"), episodes=reading.get("episodes"))
    if run.parts:
        raise raw.wrong("a wrench is read from one run, and this dataset has several; choose one, such as episodes=0")
    t = run.t if run.instants is None else run.instants
    if wrench is None or isinstance(wrench, str):
        name = wrench or "wrench"
        if name in raw.names:
            values = numeric(raw, SignalColumns(name, raw.values(name)))
        elif wrench is None and all(axis in raw.names for axis in WRENCH):
            values = np.column_stack([numeric(raw, SignalColumns(axis, raw.values(axis))) for axis in WRENCH])
        else:
            raise DalembertError(
                f"{raw.source}: it has neither '{name}' with six columns nor all of {', '.join(WRENCH)}; it has {raw.contents}. "
                "A load is identified from joint torques with a second run that carries it (a second log)"
            )
    else:
        values = numeric(raw, SignalColumns("the wrench", wrench))
    if values.shape != (len(t), 6):
        raise ShapeError(
            f"{raw.source}: the wrench has shape {values.shape}; it must be ({len(t)}, 6), one row for each t"
        )
    whole, notes = np.isfinite(values).all(axis=1) & np.isfinite(t), list[str]()
    garbage = garbage_in(t, {"wrench": values})
    if garbage is not None:
        worst = f"{garbage.group} reaches {garbage.value:.3g}"
        if garbage.many:
            raise DalembertError(
                f"{raw.source}: {int(garbage.rows.sum())} of {len(t)} rows of the wrench contain values that no sensor measures "
                f"({worst}); is it another quantity? Name its column, wrench='NAME' (--wrench NAME)"
            )
        whole &= ~garbage.rows
        count = int(garbage.rows.sum())
        notes.append(
            f"{raw.source}: {count} of {len(t)} rows of the wrench contain values that no sensor measures ({worst}) and were dropped"
        )
    if whole.sum() < 10:
        raise DalembertError(f"{raw.source}: only {int(whole.sum())} rows of the wrench contain valid numbers only")
    return t[whole], values[whole], notes
