"""A load from joint torques of a run without and a run with it: τ = Y_b π_b and τ = Y_b π_b + Y_L π_L, fitted at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.identification.base import base_parameters
from dalembert.identification.estimate import correlation_time
from dalembert.identification.parameters import WIDTH, ParameterSet
from dalembert.identification.payload_fit import Payload, look_at, payload_of, solve
from dalembert.identification.physical import BASIS, ten_of
from dalembert.identification.result import Source
from dalembert.logs.conditioning import Conditioned, Stretch, condition
from dalembert.logs.log import SPELLINGS, Log, raw_of, read_log
from dalembert.robot.placement import Placement

Array = NDArray[np.float64]

REFERENCES = ("tau_des", "target_moment", "target_torque")  # torques of a controller's own model, in logs of UR arms
STILL = 0.01  # of a joint's largest speed: below this its friction is not known


def from_torques(
    arm: Arm, log: Source, loaded: Source, count: int, gains: ArrayLike | None, reference: str | None,
    friction: tuple[str, ...], cutoff: float | None, reading: Mapping[str, Any],
) -> Payload:  # fmt: skip
    how = dict(reading)
    if gains is None and reference is None and _has_current(log, arm):
        reference = _reference(log, arm)
    if gains is not None or (reference is not None and _has_current(log, arm)):
        how["gains"] = gains if gains is not None else np.ones(arm.n)
    first, second = read_log(log, arm, **how), read_log(loaded, arm, **how)
    ready = condition(first, cutoff=cutoff)
    other = condition(second, cutoff=ready.cutoff)
    notes = [*first.notes, *second.notes, *ready.notes]
    if reference is None:  # else its unit is found out
        look_at(arm, ((first, ready), (second, other)), how)
    # a rotor inertia is felt by its joint alone and costs nothing to allow for
    base = base_parameters(ParameterSet(arm, friction, offset=True, rotor=True))
    carry = carried(arm.mechanism.tip)
    heavy = arm
    if arm.mechanism.tree.lifts:  # and a load has its weight all the same
        heavy = arm.replace(links=tuple(replace(link, weight=1.0) for link in arm.robot.links))

    def load(piece: Stretch) -> Array:
        at = WIDTH * arm.mechanism.tip_body
        return heavy.regressor(*piece.states)[:, :, at : at + 10] @ carry

    runs, unloaded = (ready, other), ready.count
    fastest = np.abs(ready.qd).max(axis=0)
    moving = np.concatenate([np.abs(run.qd) >= STILL * fastest for run in runs])
    W = np.zeros((len(moving), arm.n, base.rank + count))
    W[:, :, : base.rank] = np.concatenate([run.thinned(lambda piece: base.regressor(*piece.states)) for run in runs])
    W[unloaded:, :, base.rank :] = other.thinned(load)[:, :, :count]
    factor = factor_std = None
    measured = np.concatenate([run.tau for run in runs])
    if reference is not None:
        model = _model_torques(arm, log, ready, reference, reading)
        factor, factor_std = _gains(arm, ready, model, friction, reference)
        measured = measured * factor
        notes.append(f"drive gains from '{reference}': {_listed(factor)} (standard deviations {_listed(factor_std)})")
    elif "gains" in how:
        notes.append("an error of the drive gains is not part of the standard deviations; it acts on the mass in full")
        doubt, other_factor = _gains_doubted(arm, log, ready, friction, reading)
        if other_factor is not None:
            instead, *_ = solve(W, measured * other_factor, moving, base.rank, None, None, unloaded)
            notes.append(f"{doubt}, and gives a mass of {instead[0]:.4g} kg")
    values, covariance, residual, noise = solve(W, measured, moving, base.rank, factor_std, factor, unloaded)
    late = slice(unloaded, None)
    return payload_of(
        values, covariance, float(np.linalg.norm(residual[late]) / np.linalg.norm(measured[late])), noise,
        int(moving.sum()), arm.robot.tip.name if arm.robot.tip else "tip", notes, gains=factor,
    )  # fmt: skip


def _names(log: Source, arm: Arm) -> set[str]:
    """What a log calls its quantities."""
    return set() if isinstance(log, Log) else set(raw_of(log, arm).names)


def _reference(log: Source, arm: Arm) -> str | None:
    """What a log calls the torques of the controller's own model, if it has them by a usual name."""
    return next((name for name in REFERENCES if name in _names(log, arm)), None)


def _has_current(log: Source, arm: Arm) -> bool:
    """Whether a log has currents and no torques, and so needs gains."""
    names = {name.lower() for name in _names(log, arm)}
    return bool(names & set(SPELLINGS["current"])) and not names & set(SPELLINGS["tau"])


def carried(tip: Placement) -> Array:
    """(10, 10): a body's ten parameters in the tip's frame → those in the frame of the link that carries it.

    With the pseudo-inertia P = [Σ, h; hᵀ, m], Σ = ½ tr(I) 1 − I, and H the tip's homogeneous matrix, P ↦ H P Hᵀ.
    """
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = np.array(tip.rotation, float), np.array(tip.translation, float)
    return np.column_stack([ten_of(H @ P @ H.T) for P in BASIS])


def _model_torques(arm: Arm, log: Source, ready: Conditioned, reference: str, reading: Mapping[str, Any]) -> Array:
    """The torques of the controller's own model at the instants that ``ready`` keeps: (M, n)."""
    model = read_log(log, arm, **{**reading, "columns": {**reading.get("columns", {}), "tau": reference}})
    wanted = condition(model, cutoff=ready.cutoff)
    return np.column_stack([np.interp(ready.t, wanted.t, wanted.tau[:, j]) for j in range(arm.n)])


def _gains(
    arm: Arm, ready: Conditioned, expected: Array, friction: tuple[str, ...], reference: str
) -> tuple[Array, Array]:
    """What measured torques must be multiplied with to agree with the expected, friction apart: (n,), std."""
    gains, spread = np.ones(arm.n), np.zeros(arm.n)
    for j in range(arm.n):
        v = ready.qd[:, j]
        use = np.abs(v) >= STILL * np.abs(v).max()
        extra = [v] * ("viscous" in friction) + [np.sign(v)] * ("coulomb" in friction)
        A = np.column_stack([expected[:, j], *extra, np.ones_like(v)])[use]
        y = ready.tau[use, j]
        x, *_ = np.linalg.lstsq(A, y, rcond=None)
        left = y - A @ x
        variance = float(left @ left) / max(len(y) - A.shape[1], 1) * correlation_time([left - left.mean()])
        slope_std = np.sqrt(variance * np.linalg.pinv(A.T @ A)[0, 0])
        if not x[0] > 3 * slope_std:
            raise DalembertError(
                f"'{reference}' hardly agrees with the measured torque of joint '{arm.joint_names[j]}', so no drive gain "
                "can be found from it; give gains"
            )
        gains[j], spread[j] = 1.0 / x[0], slope_std / x[0] ** 2
    return gains, spread


def _gains_doubted(
    arm: Arm, log: Source, ready: Conditioned, friction: tuple[str, ...], reading: Mapping[str, Any]
) -> tuple[str, Array | None]:
    """A sentence and factors if the log has torques of the controller's own model that do not agree with the gains."""
    name = _reference(log, arm)
    if name is None:
        return "", None
    model = _model_torques(arm, log, ready, name, reading)
    try:
        factor, spread = _gains(arm, ready, model, friction, name)
    except DalembertError:
        return "", None
    if not (np.abs(factor - 1) > np.maximum(3 * spread, 0.05)).any():
        return "", None
    return (
        f"beside '{name}' of the same log, the torques by these gains are too small by factors of {_listed(factor)}; "
        f"reference='{name}' takes the gains from there"
    ), factor


def _listed(values: Array) -> str:
    return ", ".join(f"{v:.4g}" for v in values)
