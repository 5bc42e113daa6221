"""The limits of an arm along an exciting motion: positions, speeds, accelerations, torques, height over the floor."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.arm.tree import tree_of
from dalembert.errors import DalembertError
from dalembert.quantities.gradients import GRADIENTS
from dalembert.quantities.machine import kernel

Array = NDArray[np.floating[Any]]

CORNERS = 500  # of a box of positions, and points inside it, at which loops are tried
ROOM = 0.9  # of the largest such box
POSTURES = 4000  # tried at random for one that all limits allow


class Limited:
    """The limits of an arm as smooth functions of its motion, each ≤ 0 where it is kept.

    ``home`` is a posture that all of them allow, the farther from each the better: motions shrink towards it.
    """

    def __init__(self, arm: Arm, share: float, clearance: float | None, start: Array | None) -> None:
        self.arm, self.clearance, self.anchored = arm, clearance, start is not None
        self.notes: list[str] = []
        n, given = arm.n, [joint.limits for joint in arm.robot.moving_joints]
        reach = np.array([1.0 if joint.type == "prismatic" else np.pi for joint in arm.robot.moving_joints])
        low = np.array([-r if one.lower is None else one.lower for one, r in zip(given, reach, strict=True)])
        high = np.array([r if one.upper is None else one.upper for one, r in zip(given, reach, strict=True)])
        free = [
            j.name for j, one in zip(arm.robot.moving_joints, given, strict=True) if one.lower is None or one.upper is None
        ]  # fmt: skip
        if free:
            self.notes.append(f"without position limits: {', '.join(free)}; they stay within ±π rad (sliding: ±1 m)")
        shut = [arm.joint_names[j] for j in range(n) if not high[j] > low[j]]
        if shut:
            raise DalembertError(f"joint '{shut[0]}' of arm '{arm.name}' has no room between its position limits")
        self.middle, self.half = 0.5 * (low + high), 0.5 * share * (high - low)
        if arm.robot.loops:
            self._closing()
        self.velocity = self._sizes("velocity") * share
        self.acceleration = self._sizes("acceleration") * share
        coulomb = self._coulomb()
        self.effort = self._sizes("effort") * share - coulomb  # the model's Coulomb friction may add as much
        weak = [arm.joint_names[j] for j in range(n) if not self.effort[j] > 0]
        if weak:
            raise DalembertError(f"the effort limit of joint '{weak[0]}' does not overcome its own Coulomb friction")
        for kind in ("velocity", "acceleration", "effort"):
            if not np.isfinite(self._sizes(kind)).any():
                self.notes.append(f"arm '{arm.name}' has no {kind} limits, so none are kept")
        friction_free = [
            _without_coulomb(joint) if joint.moves else joint for joint in arm.robot.joints
        ]  # fmt: skip
        self.smooth = arm.replace(joints=tuple(friction_free)).mechanism
        self.torque = kernel(self.smooth, GRADIENTS["torque"])
        self.torque_slope = kernel(self.smooth, GRADIENTS["torque_gradient"])
        self.points: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.tall = 1.0
        if clearance is not None:
            self._floor(clearance)
        self.home = self._home(start)

    def _closing(self) -> None:
        """Of a closed chain, the largest part of the joints' ranges around its branch in which its loops close."""
        arm, home = self.arm, self.arm._home
        low, high = self.middle - self.half, self.middle + self.half
        corners = np.random.default_rng(2).uniform(-1, 1, (CORNERS, arm.n))
        corners = np.vstack([corners, np.sign(corners)])

        def box(s: float) -> tuple[Array, Array]:
            return home + s * np.minimum(low - home, 0.0), home + s * np.maximum(high - home, 0.0)

        def closes(s: float) -> bool:
            a, b = box(s)
            return bool(arm.closes(0.5 * (a + b) + 0.5 * (b - a) * corners).all())  # type: ignore[attr-defined]

        if closes(1.0):
            return
        inner, outer = 0.0, 1.0
        for _ in range(20):
            s = 0.5 * (inner + outer)
            inner, outer = (s, outer) if closes(s) else (inner, s)
        a, b = box(ROOM * inner)
        self.middle, self.half = 0.5 * (a + b), 0.5 * (b - a)
        words = ", ".join(f"{n} {x:.3g} … {y:.3g}" for n, x, y in zip(arm.joint_names, a, b, strict=True))
        self.notes.append(f"the loops do not close everywhere, so the motion stays where they do: {words} rad")

    def _coulomb(self) -> Array:
        """The most that Coulomb friction takes of every actuated joint, passive joints' with it: (n,)."""
        levels = np.array([max(map(float, body.coulomb)) for body in tree_of(self.arm).bodies])
        return levels @ self.follows if self.arm.robot.loops else levels

    @cached_property
    def follows(self) -> Array:
        """Of a closed chain, the largest |Γ| seen: how fast passive joints follow, (N, n)."""
        at = self.middle + self.half * np.random.default_rng(0).uniform(-1, 1, (1000, self.arm.n))
        return np.asarray(np.abs(self.arm.closure_jacobian(at)).max(axis=0))  # type: ignore[attr-defined]

    def _sizes(self, kind: str) -> Array:
        values = [getattr(joint.limits, kind) for joint in self.arm.robot.moving_joints]
        return np.array([np.inf if v is None else float(v) for v in values])

    def _floor(self, clearance: float) -> None:
        """Which points of the arm can come near the floor at all."""
        if not any(float(g) for g in self.arm.mechanism.gravity):
            self.notes.append(f"arm '{self.arm.name}' has no gravity, so no floor is known and none is kept clear of")
            return
        self.height = kernel(self.arm.mechanism, GRADIENTS["heights"])
        self.height_slope = kernel(self.arm.mechanism, GRADIENTS["heights_gradient"])
        rng = np.random.default_rng(0)
        at = self.middle + self.half * rng.uniform(-1, 1, (1000, self.arm.n))
        heights = self.height(self.arm._placed(at))
        self.tall = max(float(np.ptp(heights)), 1e-9)
        self.points = np.ptp(heights, axis=0) > 1e-9 * self.tall

    @property
    def torque_counts(self) -> bool:
        return bool(np.isfinite(self.effort).any())

    def _home(self, start: Array | None) -> Array:
        rng = np.random.default_rng(1)
        tried = self.middle + self.half * np.vstack([np.zeros(self.arm.n), rng.uniform(-1, 1, (POSTURES, self.arm.n))])
        if start is not None:
            tried = start[None]
        rest = np.zeros_like(tried)
        worst = self.worst(tried, rest, rest)
        best = int(np.argmin(worst))
        if worst[best] > (1e-9 if start is not None else -1e-3):
            which = "start is" if start is not None else f"no posture of arm '{self.arm.name}' was found that is"
            floor = "" if self.clearance is None else f" and {self.clearance:g} m above the floor (clearance)"
            raise DalembertError(
                f"{which} {'not ' * (start is not None)}within the limits of position and torque{floor}"
            )
        return tried[best]

    def parts(self, q: Array, qd: Array, qdd: Array) -> Iterator[tuple[str, Array, Array]]:
        """(kind, value, scale) of every limit: |value| ≤ scale, but for heights, where value ≥ scale."""
        yield "q", q - self.middle, self.half
        if np.isfinite(self.velocity).any():
            yield "qd", qd, self.velocity
        if np.isfinite(self.acceleration).any():
            yield "qdd", qdd, self.acceleration
        if self.torque_counts:
            yield "tau", self.torque(self.arm._placed(q), qd, qdd), self.effort
        if self.points.any():
            yield "height", self.height(self.arm._placed(q)), np.array(self.clearance)

    def worst(self, q: Array, qd: Array, qdd: Array) -> Array:
        """(N,) the largest excess over any limit, in parts of it; below zero where all are kept."""
        out = np.full(len(q), -np.inf)
        for kind, value, scale in self.parts(q, qd, qdd):
            low = kind == "height"
            excess = (scale - value[:, self.points]) / self.tall if low else np.abs(value) / scale - 1.0
            out = np.maximum(out, excess.max(axis=1))
        return out


def _without_coulomb(joint: Any) -> Any:
    from dataclasses import replace

    rotor = None if joint.rotor is None else replace(joint.rotor, coulomb=(0.0, 0.0))
    return replace(joint, friction=replace(joint.friction, coulomb=(0.0, 0.0)), rotor=rotor)


__all__ = ["Limited"]
