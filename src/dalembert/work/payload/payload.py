"""An unknown load at the flange: its mass, centre of mass and inertia, with standard deviations.

S 7.4: "the payload can be regarded as a structural modification of the last link". Two ways:

- from joint torques of a run without and a run with the load. Both runs are fitted together, with the arm's base
  parameters π_b in both and the ten parameters π_L of the load in the second:  τ = Y_b π_b  and
  τ = Y_b π_b + Y_L π_L, where Y_L are the columns of the last link. The runs need not follow the same motion.
- from a force/torque sensor at the wrist:  w = A π_L + bias, where A depends on the motion of the sensor's frame
  and the arm's own parameters do not matter at all.

The low-pass, the derivatives and the choice of samples are those of identification; standard deviations
account for autocorrelated residuals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array, double
from dalembert.compiler.kernel.one_thread import one_thread
from dalembert.errors import DalembertError, ShapeError
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Frame
from dalembert.work.identification.fitting.base_parameters import observable_columns
from dalembert.work.identification.fitting.evidence import Evidence
from dalembert.work.identification.fitting.fit import NOTHING
from dalembert.work.identification.fitting.known_load import check_free_tip
from dalembert.work.identification.fitting.least_squares import ROUNDS, correlation_time, least_squares, spread
from dalembert.work.identification.fitting.physical_consistency import tensor
from dalembert.work.identification.fitting.result import relative
from dalembert.work.logs.checks.impossible_values import garbage_in
from dalembert.work.logs.conditioning import condition
from dalembert.work.logs.formats.raw import Raw
from dalembert.work.logs.log import Log, Source, raw_of, read_log
from dalembert.work.logs.signals import SignalColumns, numeric
from dalembert.work.payload.payload_fit import Payload, look_at, payload_of
from dalembert.work.payload.payload_gains import ARM_DEVIATION
from dalembert.work.payload.payload_torques import LOSSES, from_torques

CHOICES = {"body": 10, "mass-com": 4}
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")


@one_thread()
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
    gain_deviation: ArrayLike | None = None,
    arm_deviation: float | None = ARM_DEVIATION,
    reference: str | bool | None = None,
    friction: Sequence[str] = LOSSES,
    cutoff: float | None = None,
    **reading: Any,
) -> Payload:
    """The load at the flange, identified from two runs or from one with a force/torque sensor at the wrist.

    log, loaded  a run without the load and a run with it, as for :func:`dalembert.identify`; without ``loaded``
                 the log must contain a wrench
    wrench       (N, 6) [fx fy fz mx my mz] in the sensor's axes for each row of the log, or its name in the file; by
                 default 'wrench', or the columns fx … mz. It is the wrench that the flange exerts on the load
    sensor       the pose of the sensor's frame on the arm's tip
    sign         −1 for a sensor that shows the wrench exerted by the load on the flange
    parameters   "body": all ten; "mass-com": mass and first moments only, neglecting the load's own inertia
    gains        drive gains (N m/A) for a log of currents, for instance from a data sheet
    gain_deviation  relative standard deviation of the gains, one number or one per joint; 0.1 by default, 0 for exact
                 gains. With a log of torques, the relative standard deviation of their scale
    arm_deviation  relative standard deviation of the arm's own masses and centres of mass: the weight of the arm itself
                 then serves to calibrate the gains; None omits this source
    reference    the name, in the log without the load, of the torques of the controller's own model, a further source of
                 the gains; by default a log of currents is searched for tau_des, target_moment or target_torque; False: none
    friction     any of "viscous", "coulomb" and "load" (which grows with the transmitted torque); the first two are
                 fitted to each run separately
    cutoff       of the low-pass (Hz)

    All sources of the gains are combined according to their precision, and their remaining uncertainty is part of the
    load's standard deviations; ``by_source`` holds the mass from each of them alone. Logged torques are used without
    correction unless ``gain_deviation`` or ``reference`` is given.

    >>> import numpy as np, dalembert as da
    >>> arm = da.load("puma560")
    >>> motion = da.fourier(np.random.default_rng(0).normal(0, 0.2, (2, 6, 4)), 0.2, duration=20.0)
    >>> t = np.arange(0, 20, 0.01)
    >>> q, qd, qdd = motion(t)
    >>> runs = [
    ...     {"t": t, "q": q, "qd": qd, "tau": a.inverse_dynamics(q, qd, qdd)} for a in (arm, arm.with_payload(2.0))
    ... ]
    >>> round(identify_payload(arm, *runs).mass, 2)
    2.0
    """
    if parameters not in CHOICES:
        raise DalembertError(f"parameters is '{parameters}'; it must be {' or '.join(CHOICES)}")
    check_free_tip(arm)
    if loaded is None:
        if gains is not None or gain_deviation is not None or isinstance(reference, str):
            raise DalembertError(
                "gains, gain_deviation and reference apply to joint torques; omit them for a wrist sensor"
            )
        return from_wrist(arm, log, wrench, sensor, float(sign), CHOICES[parameters], cutoff, reading)
    if wrench is not None or sensor is not None:
        raise DalembertError(
            "a wrench or a sensor is given together with two logs; give one log to use the wrist sensor"
        )
    return from_torques(
        arm, log, loaded, CHOICES[parameters], gains, gain_deviation, arm_deviation, reference, tuple(friction), cutoff,
        reading,
    )  # fmt: skip


# -- from a sensor at the wrist --------------------------------------------------------------------


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
    return payload_of(
        pi, covariance[6:, 6:], relative(residual, measured - bias), noise, len(W), frame, notes,
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
    joints = Evidence.of_equations(list(W.transpose(1, 0, 2)), list(y.T))
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
        bad = f"{raw.source}: {int(garbage.rows.sum())} of {len(t)} rows of the wrench contain values that no sensor measures "
        bad += f"({garbage.group} reaches {garbage.value:.3g})"
        if garbage.many:
            raise DalembertError(f"{bad}; is it another quantity? Name its column, wrench='NAME' (--wrench NAME)")
        whole &= ~garbage.rows
        notes.append(f"{bad} and were dropped")
    if whole.sum() < 10:
        raise DalembertError(f"{raw.source}: only {int(whole.sum())} rows of the wrench contain valid numbers only")
    return t[whole], values[whole], notes
