"""Negligible terms: for every part of the torque that an approximate model omits, the error along a motion and
the operations saved. M's conclusion calls for "an appropriate approximate model"; S 7.3.2 remarks on rotors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array, number
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.progress import OfFraction, reporting
from dalembert.base.environment.short_repr import record
from dalembert.base.text_tables import aligned
from dalembert.base.wording import shown
from dalembert.compiler.graph.count import Operations, count
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.compiler.quantities.machine import identity, trace
from dalembert.errors import DalembertError
from dalembert.robot.model.omitted_terms import OMISSIONS
from dalembert.work.sizing.motion_samples import Motion, samples_of
from dalembert.work.sizing.sizing import Demand, demand, joint_units
from dalembert.work.trajectory.planning.motion_checks import check_finite

KEPT = 256  # mechanisms whose operation counts are cached
_COUNTED: dict[tuple[str, str], Operations] = {}

VELOCITY = ("coriolis", "centrifugal")
# default omissions: each term alone, all velocity terms, these and all couplings, and all inertia
DROPS = (*((name,) for name in OMISSIONS), VELOCITY, (*VELOCITY, "off-diagonal"), ("rotational", "translational"))


@record
class Omission:
    """Cost and benefit of omitting the named terms.

    error       the missing torque at every joint along the motion: RMS, peak, and time of the peak
    share       (n,) RMS of the error as a share of the RMS torque; 0 for a joint without any torque
    peak_share  (n,) its peak as a share of the peak torque
    operations  of inverse dynamics without these terms, compiled
    model       the arm without these terms
    """

    drop: tuple[str, ...]
    error: Demand
    share: Array
    peak_share: Array
    operations: Operations
    model: Arm = field(repr=False)

    @property
    def name(self) -> str:
        """The names, joined."""
        return " + ".join(self.drop)

    @cached_property
    def direct(self) -> Operations | None:
        """Operations of forward dynamics; None if a joint is left without inertia."""
        return _direct(self.model)


@record
class Omissions:
    """Negligible terms along a motion, printable as a table; created by :meth:`Arm.omissions`.

    torque      the complete torque of every joint: RMS, peak
    operations  of inverse dynamics of the complete model, compiled
    """

    arm: str
    joints: tuple[str, ...]
    torque: Demand
    operations: Operations
    model: Arm = field(repr=False)
    rows: tuple[Omission, ...]

    @cached_property
    def direct(self) -> Operations | None:
        """Operations of forward dynamics of the complete model."""
        return _direct(self.model)

    def __getitem__(self, drop: str | tuple[str, ...]) -> Omission:
        """The omission with this name, or with these names."""
        names = {drop} if isinstance(drop, str) else set(drop)
        for row in self.rows:
            if set(row.drop) == names:
                return row
        known = ", ".join(row.name for row in self.rows)
        raise DalembertError(f"no model without {' + '.join(sorted(names))} was evaluated here; available are: {known}")

    def saved(self, row: Omission, of: Literal["operations", "direct"] = "operations") -> float | None:
        """Share of the operations of inverse or forward dynamics that an omission saves; negative if it adds some."""
        whole, less = getattr(self, of), getattr(row, of)
        return None if whole is None or less is None or not whole.total else 1.0 - less.total / whole.total

    def negligible(self, share: float = 0.01) -> tuple[str, ...]:
        """Names of the terms that, omitted individually, change the RMS torque of no joint by more than this share."""
        limit = number("share", share)
        if not limit >= 0.0:
            raise DalembertError(f"share is {limit:g}; it must be a share of the RMS torque, such as 0.01")
        single = (row for row in self.rows if len(row.drop) == 1 and row.drop[0] in OMISSIONS)
        return tuple(row.name for row in single if row.share.max(initial=0.0) <= limit)

    def table(self) -> list[dict[str, Any]]:
        """One row per omission and joint, {column: value}."""
        return [
            {
                "drop": row.name, "joint": joint, "unit": self.torque.units[i],
                "torque_rms": float(self.torque.rms[i]), "torque_peak": float(self.torque.peak[i]),
                "error_rms": float(row.error.rms[i]), "error_rms_share": float(row.share[i]),
                "error_peak": float(row.error.peak[i]), "error_peak_share": float(row.peak_share[i]),
                "operations": row.operations.total, "operations_saved": self.saved(row),
                "direct_operations": row.direct and row.direct.total, "direct_operations_saved": self.saved(row, "direct"),
            }
            for row in self.rows
            for i, joint in enumerate(self.joints)
        ]  # fmt: skip

    def tables(self, *, direct: bool = True) -> list[tuple[list[str], list[list[str]]]]:
        """Headings and rows of two tables: the error of every joint, and peak errors with the operations of inverse
        and, optionally, of forward dynamics."""
        joints = [f"τ{k}" for k in range(1, len(self.joints) + 1)]
        units = " or ".join(dict.fromkeys(self.torque.units))
        kinds: tuple[Literal["operations", "direct"], ...] = ("operations", "direct") if direct else ("operations",)

        def counted(row: Omission | Omissions) -> list[str]:
            cells = []
            for kind in kinds:
                left, share = getattr(row, kind), self.saved(row, kind) if isinstance(row, Omission) else None
                cells.append("–" if left is None else str(left.total))
                cells.append("" if share is None else f"{100 * share:.0f} %".replace("-", "−"))
            return cells

        errors = [[f"whole model: RMS torque ({units})", *(f"{x:.4g}" for x in self.torque.rms)]]
        errors += [[f"− {row.name}", *map(percent, row.share)] for row in self.rows]
        costs = [["whole model", "", "", *counted(self)]]
        for row in self.rows:
            worst = int(np.argmax(row.peak_share))
            most = float(row.error.peak[worst]) if row.peak_share[worst] else 0.0  # otherwise only rounding
            peak = f"{most:.0f}" if most >= 1000 else f"{most:.3g}"
            where = f"{peak} {self.torque.units[worst]} at {joints[worst]}"
            costs.append([f"− {row.name}", where, percent(row.peak_share[worst]), *counted(row)])
        of = ["inverse", "saved", "direct", "saved"][: 2 * len(kinds)]
        return [
            (["RMS error / RMS torque", *joints], errors),
            (["operations", "worst peak error", "share", *of], costs),
        ]

    def text(self) -> str:
        """Both tables as text."""
        return "\n\n".join(aligned([heads, *rows]) for heads, rows in self.tables())

    __str__ = text


def percent(share: float) -> str:
    """A share as a percentage for people to read.

    >>> percent(0.1234), percent(0.001234), percent(1e-9), percent(0.0)
    ('12.3 %', '0.12 %', '<0.01 %', '0 %')
    """
    if share < 5e-15:
        return "0 %"
    return "<0.01 %" if share < 5e-5 else f"{100 * share:.2f} %" if share < 0.01 else f"{100 * share:.3g} %"


def omissions(
    arm: Arm,
    motion: Motion,
    tip_wrench: ArrayLike | None = None,
    further: Mapping[tuple[str, ...], Arm] | None = None,
    progress: OfFraction | None = None,
) -> Omissions:
    """Negligible terms along a motion, see :meth:`Arm.omissions`, and ``further`` approximate models by name."""
    at = samples_of(arm, motion)
    h = at.push(tip_wrench)
    with np.errstate(all="ignore"):
        tau = np.asarray(at.model(arm).inverse_dynamics(at.q, at.qd, at.qdd, h), float)
    check_finite(arm, at.t, tau)
    units = joint_units(arm)["torque"]
    torque, rows = demand(at.t, "torque", units, tau), []
    further = {} if further is None else further
    if not isinstance(further, Mapping) or not all(isinstance(model, Arm) for model in further.values()):
        raise DalembertError(
            f"further is {shown(further)}; it must be a dict of names and approximate models, such as "
            '{("small parameters",): arm.approximate(small=0.01, motion=motion)}'
        )
    models = {drop: arm.approximate(drop) for drop in DROPS}
    models |= {(name,) if isinstance(name, str) else tuple(name): model for name, model in further.items()}
    for k, (drop, less) in enumerate(models.items()):
        error = demand(at.t, "error", units, tau - at.model(less).inverse_dynamics(at.q, at.qd, at.qdd, h))
        shares = _share(error.rms, torque.rms), _share(error.peak, torque.peak)
        rows.append(Omission(drop, error, *shares, _operations(less, "inverse_dynamics"), less))
        reporting(progress)("approximate models", (k + 1) / len(models))
    return Omissions(arm.name, arm.joint_names, torque, _operations(arm, "inverse_dynamics"), arm, tuple(rows))


def _operations(arm: Arm, quantity: str) -> Operations:
    """Compiled operations of a quantity; models that omit terms the arm does not have share them."""
    key = identity(arm.mechanism), quantity
    if key not in _COUNTED:
        if len(_COUNTED) >= KEPT:
            _COUNTED.pop(next(iter(_COUNTED)))
        _COUNTED[key] = count(trace(arm.mechanism, JOINTS[quantity]))
    return _COUNTED[key]


def _direct(arm: Arm) -> Operations | None:
    return None if arm.placing.unresisted() else _operations(arm, "forward_dynamics")


def _share(error: Array, whole: Array) -> Array:
    """The error relative to the whole, without rounding; without torque, relative to the largest joint torque."""
    most = float(whole.max(initial=0.0)) or 1.0
    beside = np.where(whole > 1e-9 * most, whole, most)
    return np.where(error > 1e-13 * most, error / beside, 0.0)
