"""A body held at the tip: the joint torques of its ten parameters, and drive gains from a run with a known payload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array, number
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError
from dalembert.robot.model.inertia import Inertia, ten_parameters
from dalembert.robot.model.placement import Placement
from dalembert.work.identification.fitting.base_parameters import BaseParameters
from dalembert.work.identification.fitting.evidence import Evidence, LogEquations, RestWeights
from dalembert.work.identification.fitting.joint_columns import EquationColumns
from dalembert.work.identification.fitting.parameter_set import WIDTH
from dalembert.work.identification.fitting.physical_consistency import BASIS, ten_of
from dalembert.work.logs.conditioning import Conditioned

PAYLOAD = tuple(entry.name for entry in fields(Inertia))
MOST_MASS = 1e6  # kg, largest mass of a known payload


def carried(tip: Placement) -> Array:
    """(10, 10): a body's ten parameters in the tip's frame → those in the frame of the link that carries it.

    With the pseudo-inertia P = [Σ, h; hᵀ, m], Σ = ½ tr(I) 1 − I, and H the tip's homogeneous matrix, P ↦ H P Hᵀ.
    """
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = np.array(tip.rotation, float), np.array(tip.translation, float)
    return np.column_stack([ten_of(H @ P @ H.T) for P in BASIS])


def check_free_tip(arm: Arm) -> None:
    """Raise an error if the torques cannot show a body at the tip, or show another one already."""
    if arm.robot.payload is not None:
        raise DalembertError(
            f"arm '{arm.name}' already holds a payload; give an arm that holds none, so that all of a load is identified"
        )
    if arm.mechanism.tip_body < 0:
        raise DalembertError(f"the tip of arm '{arm.name}' does not move; a load there has no effect on the torques")


class TipLoad:
    """The torques that a body at the tip of an arm adds, linear in its ten parameters."""

    def __init__(self, arm: Arm) -> None:
        self.arm = arm
        self.carry = carried(arm.mechanism.tip)

    @cached_property
    def weighing(self) -> Arm:
        """The arm on which a load has weight, even if the weight of the links is carried otherwise."""
        if not self.arm.mechanism.tree.lifts:
            return self.arm
        return self.arm.replace(links=tuple(replace(link, weight=1.0) for link in self.arm.robot.links))

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """(N, n, 10): the torque of every joint per unit of m, m c, I about the tip's origin."""
        at = WIDTH * self.arm.mechanism.tip_body
        return self.weighing.regressor(q, qd, qdd)[:, :, at : at + 10] @ self.carry


def point_mass(mass: float, com: Array) -> Array:
    """(10,) parameters of a point mass at ``com`` (3,)."""
    I = mass * (float(com @ com) * np.eye(3) - np.outer(com, com))
    return np.array([mass, *(mass * com), *I[np.triu_indices(3)]])


class LoadedColumns(EquationColumns):
    """The columns of base parameters and, after them, those of a body at the tip, for every joint."""

    def __init__(self, base: BaseParameters) -> None:
        self.arm, self.own, self.load = base.parameters.arm, base.joint_columns, TipLoad(base.parameters.arm)
        self.columns = [np.append(columns, base.rank + np.arange(10)) for columns in self.own.columns]

    def rows(self, q: Array, qd: Array, qdd: Array, temperature: Array | None = None) -> Array:
        own, held = self.own.rows(q, qd, qdd, temperature), self.load.regressor(q, qd, qdd)
        return np.vstack([x for j, part in enumerate(self.own.parts) for x in (own[part], held[:, j].T)])


@record
class KnownLoad:
    """A run with a payload of known mass: its ten parameters at the tip; if not ``centred``, its centre is unknown."""

    ten: Array
    run: Conditioned
    centred: bool


def known_load(arm: Arm, payload: Any, run: Conditioned) -> KnownLoad:
    """The known payload of total least squares; if only its mass is given, a number or {"mass": m}, its centre is unknown."""
    check_free_tip(arm)
    if not isinstance(payload, (Inertia, Mapping)):
        payload = {"mass": number("payload", payload)}
    if isinstance(payload, Mapping) and (unknown := [key for key in payload if key not in PAYLOAD]):
        raise DalembertError(f"the known payload has no '{unknown[0]}'; its keys are {', '.join(PAYLOAD)}")
    centred = isinstance(payload, Inertia) or set(payload) != {"mass"}
    body = payload if isinstance(payload, Inertia) else Inertia(**payload)
    if not 0 < float(body.mass) <= MOST_MASS:
        raise DalembertError(
            f"the known payload has a mass of {float(body.mass):g} kg; it must be above 0, and at most {MOST_MASS:g}"
        )
    return KnownLoad(ten_parameters(body), run, centred)


def gain_equations(base: BaseParameters, evidence: Evidence, loaded: KnownLoad, rests: RestWeights) -> list[Array]:
    """For every joint the triangle of [Y, Y_L, −V]: base parameters, the ten of the load, measured torques of all joints.

    Both runs together: those of ``evidence`` are without the load.
    """
    n, b = base.parameters.arm.n, base.rank
    whole = LogEquations(LoadedColumns(base), loaded.run, rests).gathered(b + 10)
    out = []
    for j in range(n):
        parts = []
        for some in (evidence, whole):
            R = np.vstack(list(some.triangles[j]))
            wide = np.zeros((len(R), b + 10 + n))
            wide[:, some.columns[j]], wide[:, b + 10 + j] = R[:, :-2], -R[:, -1]
            parts.append(wide)
        out.append(np.asarray(np.linalg.qr(np.vstack(parts), mode="r")))
    return out
