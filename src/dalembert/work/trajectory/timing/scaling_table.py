"""Effect of uniform time scaling on the torques of a motion, for a set of factors: S 7.7, r = ct."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import record
from dalembert.base.text_tables import aligned
from dalembert.errors import DalembertError, LimitError
from dalembert.work.trajectory.planning.limits import KINDS, LimitsLike, check_terms, joint_limits, sliding_joints
from dalembert.work.trajectory.planning.motion_checks import finite
from dalembert.work.trajectory.planning.trajectory import Trajectory
from dalembert.work.trajectory.timing.scaling import parts_at, scaled, shares

FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
RANGE = (1e-6, 1e6)  # of a factor: beyond it, squared speeds lose all precision

DELEGATES = {"_repr_html_": "views.report.notebook:scaling_table_html"}  # imported on first use


@record
class ScalingTable:
    """One column per factor c by which time is stretched; c > 1 is slower.

    joints     names of the n joints, and ``units`` of their torques
    factor     (K,) c in increasing order, and ``duration`` (K,) of the motion (s)
    torque     (K, n) peak |τ| of each joint (N m or N)
    share      (K, n) its share of the effort limit: 1 is the limit itself
    exceeded   (K,) largest share of any limit, with ``decides``, the joint it belongs to, and ``limit``, its kind
    fits       the factor that just satisfies every limit; None if there is none, for the reason ``why``
    """

    joints: tuple[str, ...]
    units: tuple[str, ...]
    factor: Array
    duration: Array
    torque: Array
    share: Array
    exceeded: Array
    decides: tuple[str, ...]
    limit: tuple[str, ...]
    fits: float | None
    why: str

    @property
    def columns(self) -> list[str]:
        """The headings: the quantity, then the factors."""
        marks = ("*" if factor == self.fits else "" for factor in self.factor.tolist())
        return ["peak torque", *(f"c = {c:.4g}{mark}" for c, mark in zip(self.factor.tolist(), marks, strict=True))]

    @property
    def rows(self) -> list[list[str]]:
        """One row per joint, then the duration, and the largest share of a limit with its joint and kind."""
        peaks = [
            [f"{name} ({unit})", *(f"{x:.4g}" for x in column)]
            for name, unit, column in zip(self.joints, self.units, self.torque.T.tolist(), strict=True)
        ]
        return [
            *peaks,
            ["duration (s)", *(f"{x:.4g}" for x in self.duration.tolist())],
            ["largest share of a limit", *(f"{x:.1%}" for x in self.exceeded.tolist())],
            ["of joint", *self.decides],
            ["kind of limit", *self.limit],
        ]

    @property
    def note(self) -> str:
        """Explanation of the mark *, or the reason why no column has one."""
        return self.why if self.fits is None else f"* c = {self.fits:.6g} just satisfies every limit"

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)

    def __str__(self) -> str:
        return f"{aligned([self.columns, *self.rows])}\n{self.note}"


def scaling_table(
    motion: Trajectory, arm: Arm, factors: ArrayLike = FACTORS, limits: LimitsLike = None
) -> ScalingTable:
    """See :meth:`Trajectory.scaling_table`."""
    motion.fits(arm)
    check_terms(arm, "scaling_table")
    keep = joint_limits(arm, limits)
    requested = finite("factors", factors)
    least, most = RANGE
    if requested.ndim != 1 or not requested.size or not ((requested >= least) & (requested <= most)).all():
        raise DalembertError(
            f"factors is {factors!r:.80}; it must be a list of numbers from {least:g} to {most:g}, such as [1, 1.5, 2]"
        )
    fits, why = _fitting(motion, arm, limits)
    every = np.unique(requested if fits is None else np.append(requested, fits))
    parts = parts_at(motion, arm, keep, (1.0 / every).tolist())
    torque = np.stack([np.abs(parts.torque(1.0 / c)).max(axis=0) for c in every])
    used = np.stack([shares(keep, parts, 1.0 / c).max(axis=0) for c in every])  # (K, n, 3)
    worst, kind = np.divmod(used.reshape(len(every), -1).argmax(axis=1), len(KINDS))
    return ScalingTable(
        joints=arm.joint_names,
        units=tuple("N" if slides else "N m" for slides in sliding_joints(arm)),
        factor=every,
        duration=every * motion.duration,
        torque=torque,
        share=torque / keep.effort,
        exceeded=used.max(axis=(1, 2)),
        decides=tuple(arm.joint_names[j] for j in worst),
        limit=tuple(KINDS[k] for k in kind),
        fits=fits,
        why=why,
    )


def _fitting(motion: Trajectory, arm: Arm, limits: LimitsLike) -> tuple[float | None, str]:
    """The factor that just satisfies every limit, or None and the reason why there is none."""
    try:
        slowed = scaled(motion, arm, limits, allow_faster=True)
    except LimitError as problem:
        return None, str(problem)
    return slowed.duration / motion.duration, ""
