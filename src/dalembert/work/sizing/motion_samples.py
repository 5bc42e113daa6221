"""Samples of a motion with its loads, the input of sizing, drives and Monte-Carlo studies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.variants import Variants
from dalembert.base.arrays import Array
from dalembert.base.tables.sampled_motion import SampledMotion
from dalembert.errors import DalembertError
from dalembert.work.trajectory.planning.events import carrying, together


class Motion(Protocol):
    """The attributes of a motion that sizing reads: times (N,) and joint motions (N, n)."""

    @property
    def t(self) -> Any: ...
    @property
    def q(self) -> Any: ...
    @property
    def qd(self) -> Any: ...
    @property
    def qdd(self) -> Any: ...


class MotionSamples(SampledMotion):
    """The samples of a motion with the loads of its events."""

    def model(self, arm: Arm) -> Arm | Variants:
        """The arm with the payload that it carries at each sample."""
        return carrying(arm, self.payload)

    def push(self, tip_wrench: ArrayLike | None) -> Array | None:
        """The sum of ``tip_wrench`` and the wrenches of the events."""
        return together(self.wrench, tip_wrench)


def samples_of(arm: Arm, motion: Motion) -> MotionSamples:
    """The samples of a motion, which must have this arm's joints, at least one sample, and finite values."""
    at = samples(motion)
    for name in ("q", "qd", "qdd"):
        x = getattr(at, name)
        if x.shape != (len(at.t), arm.n):
            raise DalembertError(
                f"the motion's {name} has shape {x.shape}; arm '{arm.name}' has {arm.n} joints and the motion "
                f"{len(at.t)} samples, so it must be ({len(at.t)}, {arm.n})"
            )
        if len(bad := np.argwhere(~np.isfinite(x))):
            row, joint = bad[0]
            raise DalembertError(f"the motion's {name}{joint + 1} at t = {at.t[row]:g} s is not a finite number")
    if not len(at.t):
        raise DalembertError("the motion has no samples")
    return at


def samples(motion: Motion) -> MotionSamples:
    """The sample times of a motion, with the values on both sides at each of its knots.

    At a knot an acceleration may jump, and a peak just before it is a peak as well.
    """
    if missing := [name for name in ("t", "q", "qd", "qdd") if not hasattr(motion, name)]:
        raise DalembertError(
            f"the motion is a {type(motion).__name__} without .{missing[0]}; it must be a Trajectory, or have .t (N,) and "
            ".q, .qd, .qdd (N, n)"
        )
    t = np.asarray(motion.t, float)
    inner = [k for k in getattr(motion, "knots", ()) if t[0] < k < t[-1]]
    events = getattr(motion, "loads", None)
    if events is None or not callable(motion) or not inner:
        q, qd, qdd = (np.asarray(x, float) for x in (motion.q, motion.qd, motion.qdd))
        if events is not None:
            return MotionSamples(t, q, qd, qdd, None, *events.at(t - t[0]))
        carried = (getattr(motion, name, None) for name in ("payload", "wrench"))
        return _on_both_sides(MotionSamples(t, q, qd, qdd, None, *carried))
    before = np.array(inner) - 1e-9 * (t[-1] - t[0])
    times = np.sort(np.concatenate([t, before, np.setdiff1d(inner, t)]))
    q, qd, qdd = motion(times)
    shown = times.copy()  # the value just before a knot is assigned to the knot
    shown[np.searchsorted(times, before)] = inner
    return MotionSamples(shown, q, qd, qdd, None, *events.at(times))


def _on_both_sides(at: MotionSamples) -> MotionSamples:
    """The rows of a table; where the load changes, also with the previous load."""
    tables = [table for table in (at.payload, at.wrench) if table is not None]
    if not tables or len(at.t) < 2:
        return at
    changes = np.flatnonzero(np.any([np.any(np.diff(table, axis=0) != 0, axis=1) for table in tables], axis=0)) + 1
    changes = changes[at.t[changes] > at.t[changes - 1]]  # a time that occurs twice already has both sides
    rows = np.insert(np.arange(len(at.t)), changes, changes)  # duplicate the row of the change
    load = rows.copy()
    load[changes + np.arange(len(changes))] -= 1
    before = at.rows(load)
    return replace(at.rows(rows), payload=before.payload, wrench=before.wrench)
