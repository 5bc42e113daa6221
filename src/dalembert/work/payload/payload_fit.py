"""Parts shared by both ways of identifying a load: the result, and its checks."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import INERTIAL
from dalembert.robot.model.inertia import Inertia
from dalembert.work.identification.fitting.fit import IdentificationWarning
from dalembert.work.identification.fitting.physical_consistency import UPPER, tensor
from dalembert.work.logs.checks.plausible_units import suspicions
from dalembert.work.logs.conditioning import Conditioned
from dalembert.work.logs.log import Log


class MassBySource(NamedTuple):
    """The mass (kg) that one source of the drive gains alone yields, with its standard deviation."""

    name: str
    mass: float
    std: float


@dataclass(frozen=True, eq=False)
class Payload:
    """A load at the flange, in the axes of its reference frame (the arm's tip, or the wrist sensor).

    parameters      (10,) m, m c, I about the frame's origin; NaN for those that the runs do not determine
    covariance      (10, 10) of the parameters
    relative_error  ‖measured − predicted‖ / ‖measured‖ over the run with the load
    noise           standard deviation of each joint's residual (N m), or of each component of the wrench
    bias            (6,) of the wrist sensor, with ``bias_std``
    gains           (n,) N m per logged unit, estimated from the runs and all sources of the gains, with ``gains_std`` and
                    ``gains_unit`` (N m/A, or N m/N m for logged torques); None if logged torques are used without correction
    by_source       the mass from each source of the scale alone: given gains, the controller's model, the arm's weight
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
    gains_std: Array | None = None
    gains_unit: str = ""
    by_source: tuple[MassBySource, ...] = ()
    notes: tuple[str, ...] = ()

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
        """(3, 3) tensor about the centre of mass (kg m²); NaN where the runs do not determine it."""
        return tensor(self._derived[0][3:])

    @property
    def inertia_std(self) -> Array:
        """(3, 3) kg m²."""
        return tensor(self._derived[1][3:])

    @cached_property
    def _derived(self) -> tuple[Array, Array]:
        """(com, tensor about it) as nine numbers, and their standard deviations to first order."""
        at = central(self.parameters)
        steps = np.diag(1e-6 * np.maximum(np.abs(self.parameters), 1e-3))
        J = np.column_stack([(central(self.parameters + step) - at) / step.max() for step in steps])
        J = np.where(np.isfinite(J), J, 0.0)
        known = np.where(np.isfinite(self.covariance), self.covariance, 0.0)
        return at, np.where(np.isfinite(at), np.sqrt(np.maximum(np.diag(J @ known @ J.T), 0.0)), np.nan)

    @property
    def body(self) -> Inertia:
        """The load, with zeros for the parameters that the runs do not determine."""
        return Inertia(self.mass, tuple(np.nan_to_num(self.com).tolist()), np.nan_to_num(self.inertia).tolist())

    def attached_to(self, arm: Arm) -> Arm:
        """The arm holding the load; if the identified inertia is not that of a body, a point mass is used instead."""
        body = self.body
        return arm.with_payload(body.mass, body.com, body.tensor if body.impossible() is None else None)


def central(parameters: Array) -> Array:
    """(c, I about c) from ten parameters about the origin: nine numbers."""
    m, h = parameters[0], parameters[1:4]
    with np.errstate(all="ignore"):
        c = h / m
    steiner = m * (float(c @ c) * np.eye(3) - np.outer(c, c))
    return np.concatenate([c, (tensor(parameters[4:]) - steiner)[UPPER]])


def look_at(arm: Arm, runs: Sequence[tuple[Log, Conditioned]], reading: Mapping[str, Any]) -> None:
    """Issue warnings about logs that look inconsistent with their description."""
    for log, ready in runs:
        for sentence in suspicions(arm, log, ready, reading):
            warnings.warn(sentence, IdentificationWarning, stacklevel=5)  # one level for the decorator


def payload_of(
    values: Array, covariance: Array, error: float, noise: Array, samples: int, frame: str, notes: list[str], **more: Any
) -> Payload:  # fmt: skip
    """The load with the first of the ten parameters, or all; impossible values raise an error or yield a note."""
    ten, spread_of_ten = np.full(10, np.nan), np.full((10, 10), np.nan)
    ten[: len(values)] = values
    spread_of_ten[: len(values), : len(values)] = covariance
    if len(values) < 10:
        notes.append("the inertia of the load about its frame was neglected (parameters='mass-com')")
    unseen = [name for name, v in zip(INERTIAL, values, strict=False) if not np.isfinite(v)]
    if unseen:
        notes.append(f"the motion does not determine {', '.join(unseen)} of the load")
    if not np.isfinite(ten[0]):
        raise DalembertError(
            "the runs do not determine the mass of the load: move more joints of the arm against gravity"
        )
    payload = Payload(ten, spread_of_ten, error, noise, samples, frame, **more)
    if payload.mass <= 0:
        raise DalembertError(
            f"the load has a mass of {payload.mass:.3g} kg, which is impossible: are the runs exchanged, or is the sign of the "
            "torques or the wrench reversed (sign=-1, --reaction)?"
        )
    if len(values) == 10 and not unseen and (problem := payload.body.impossible()) is not None:
        notes.append(
            f"no body has the identified inertia ({problem}): the motion hardly excites it; use mass and centre only"
        )
    return replace(payload, notes=tuple(notes))
