"""What can be neglected: for every part of the torque that an approximate model leaves out, the error along a motion and
the operations saved. M's conclusion asks for "an appropriate approximate model"; S 7.3.2 remarks on rotors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.analysis.sizing import Demand, Motion, Progress, check_finite, check_fits, demand, joint_units, samples
from dalembert.arm import Arm
from dalembert.arrays import double
from dalembert.errors import DalembertError
from dalembert.graph.count import Operations
from dalembert.robot.omissions import OMISSIONS

Array = NDArray[np.floating[Any]]

VELOCITY = ("coriolis", "centrifugal")
# what is asked unless it is said: each by itself, all velocity terms, these and all couplings, and all inertia
DROPS = (*((name,) for name in OMISSIONS), VELOCITY, (*VELOCITY, "off-diagonal"), ("rotational", "translational"))


@dataclass(frozen=True, eq=False)
class Omission:
    """What it costs, and what it saves, to leave out the terms of these names.

    error       the torque that is missing at every joint along the motion: RMS, peak, and when
    share       (n,) RMS of the error as a share of the RMS torque; 0 where the joint has no torque at all
    peak_share  (n,) its peak as a share of the peak torque
    operations  of inverse dynamics without them, compiled
    """

    drop: tuple[str, ...]
    error: Demand
    share: Array
    peak_share: Array
    operations: Operations

    @property
    def name(self) -> str:
        """The names in one."""
        return " + ".join(self.drop)


@dataclass(frozen=True, eq=False)
class Omissions:
    """What can be neglected along a motion, ``str()`` of it is a table; made by :meth:`Arm.omissions`.

    torque      the whole torque of every joint: RMS, peak
    operations  of inverse dynamics, compiled, of the whole model
    """

    arm: str
    joints: tuple[str, ...]
    torque: Demand
    operations: Operations
    rows: tuple[Omission, ...]

    def __getitem__(self, drop: str | tuple[str, ...]) -> Omission:
        """The omission of this name, or of these names."""
        names = {drop} if isinstance(drop, str) else set(drop)
        for row in self.rows:
            if set(row.drop) == names:
                return row
        known = ", ".join(row.name for row in self.rows)
        raise DalembertError(f"no model without {' + '.join(sorted(names))} was judged here; those that were: {known}")

    def saved(self, row: Omission) -> float:
        """The share of the operations that an omission saves; below 0 where it takes more."""
        return 1.0 - row.operations.total / self.operations.total if self.operations.total else 0.0

    def negligible(self, share: float = 0.01) -> tuple[str, ...]:
        """The names whose terms, each by itself, change the RMS torque of no joint by more than this share."""
        single = (row for row in self.rows if len(row.drop) == 1 and row.drop[0] in OMISSIONS)
        return tuple(row.name for row in single if row.share.max(initial=0.0) <= share)

    def table(self) -> list[dict[str, Any]]:
        """One row for each omission and joint, {column: value}."""
        return [
            {
                "drop": row.name, "joint": joint, "unit": self.torque.units[i],
                "torque_rms": float(self.torque.rms[i]), "torque_peak": float(self.torque.peak[i]),
                "error_rms": float(row.error.rms[i]), "error_rms_share": float(row.share[i]),
                "error_peak": float(row.error.peak[i]), "error_peak_share": float(row.peak_share[i]),
                "operations": row.operations.total, "operations_saved": self.saved(row),
            }
            for row in self.rows
            for i, joint in enumerate(self.joints)
        ]  # fmt: skip

    @property
    def cells(self) -> list[list[str]]:
        """The table in words: the whole model first, then every omission; (name, a share for each joint, worst peak,
        operations, saved)."""
        whole = [f"{x:.4g} {unit}" for x, unit in zip(self.torque.rms, self.torque.units, strict=True)]
        lines = [["whole model (RMS torque)", *whole, "", f"{self.operations.total}", ""]]
        for row in self.rows:
            worst = int(np.argmax(row.peak_share))
            size = float(row.error.peak[worst])
            shown = f"{size:.0f}" if size >= 1000 else f"{size:.3g}"
            peak = f"{shown} {self.torque.units[worst]} ({percent(row.peak_share[worst])})"
            saved = f"{100 * self.saved(row):.0f} %".replace("-", "−")
            lines.append([f"− {row.name}", *map(percent, row.share), peak, f"{row.operations.total}", saved])
        return lines

    @property
    def headings(self) -> list[str]:
        """Those of :attr:`cells`."""
        return ["left out", *self.joints, "worst peak error", "operations", "saved"]

    def text(self) -> str:
        """The table as text: RMS error of every joint as a share of its RMS torque, worst peak error, operations."""
        lines = [self.headings, *self.cells]
        width = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        rows = ("  ".join([line[0].ljust(width[0]), *map(str.rjust, line[1:], width[1:])]) for line in lines)
        return "\n".join(row.rstrip() for row in rows)

    __str__ = text


def percent(share: float) -> str:
    """A share as people say it.

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
    progress: Progress | None = None,
) -> Omissions:
    """What can be neglected along a motion, see :meth:`Arm.omissions`; and ``further`` approximate models, by their names."""
    at = samples(motion)
    check_fits(arm, at)
    h = None if tip_wrench is None else double("tip_wrench", tip_wrench)
    with np.errstate(all="ignore"):
        tau = np.asarray(arm.inverse_dynamics(at.q, at.qd, at.qdd, h), float)
    check_finite(arm, at.t, tau)
    units = joint_units(arm)["torque"]
    torque, rows = demand(at.t, "torque", units, tau), []
    models = {drop: arm.approximate(drop) for drop in DROPS} | dict(further or {})
    for k, (drop, less) in enumerate(models.items()):
        error = demand(at.t, "error", units, tau - less.inverse_dynamics(at.q, at.qd, at.qdd, h))
        shares = _share(error.rms, torque.rms), _share(error.peak, torque.peak)
        rows.append(Omission(drop, error, *shares, less.operations("inverse_dynamics").compiled))
        if progress is not None:
            progress((k + 1) / len(models))
    return Omissions(arm.name, arm.joint_names, torque, arm.operations("inverse_dynamics").compiled, tuple(rows))


def _share(error: Array, whole: Array) -> Array:
    """The error beside the whole, rounding left out; of a joint without a torque beside the largest of the others."""
    most = float(whole.max(initial=0.0)) or 1.0
    beside = np.where(whole > 1e-9 * most, whole, most)
    return np.where(error > 1e-13 * most, error / beside, 0.0)
