"""The limits of an arm along an exciting motion: positions, speeds, accelerations, torques and planes.

Joints, link frames and the tip keep a clearance from planes, n·p ≥ d + clearance, in base axes. The floor is one of
them: its normal is opposite to gravity, and it passes through the base's origin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.base.arrays import Array, double
from dalembert.base.environment.cached_property import cached_property
from dalembert.compiler.quantities.derived import gradient
from dalembert.compiler.quantities.gradients import GRADIENTS
from dalembert.compiler.quantities.machine import kernel
from dalembert.errors import DalembertError
from dalembert.robot.model.robot import Joint
from dalembert.work.identification.fitting.base_parameters import joint_ranges

CORNERS = 500  # corners and interior points of a box of positions at which loop closure is tested
ROOM = 0.9  # fraction of the largest such box that is used
POSTURES = 4000  # random postures among which one within all limits is sought
STILL = 1e-9  # of the arm's size: a point that moves less towards a plane has a constant distance


@dataclass(frozen=True)
class HalfSpace:
    """The half-space n·p ≥ d: ``normal`` (3,) has length one, ``offset`` d is in m, ``name`` is for messages."""

    name: str
    normal: tuple[float, float, float]
    offset: float


def planes_of(given: Sequence[Any]) -> tuple[HalfSpace, ...]:
    """Planes from pairs (normal, offset): the normal may have any length, by which both are divided.

    >>> planes_of([((0, 0, 2), 0.4)])
    (HalfSpace(name='plane 1 (n = 0 0 1, d = 0.2 m)', normal=(0.0, 0.0, 1.0), offset=0.2),)
    """
    if not isinstance(given, (list, tuple)):
        raise DalembertError(
            f"planes is {given!r}; it must be a list of pairs (normal, offset), such as [((0, 0, 1), 0.2)]"
        )
    planes = []
    for k, entry in enumerate(given, 1):
        if not isinstance(entry, (list, tuple)) or len(entry) != 2:
            raise DalembertError(
                f"plane {k} is {entry!r}; it must be a pair (normal, offset), such as ((0, 0, 1), 0.2)"
            )
        normal, offset = double(f"the normal of plane {k}", entry[0]), double(f"the offset of plane {k}", entry[1])
        length = float(np.linalg.norm(normal)) if normal.shape == (3,) else 0.0
        if offset.shape != () or not math.isfinite(length * float(offset)) or not length > 0:
            raise DalembertError(
                f"plane {k} is {entry!r}; its normal must have three finite numbers, not all zero, and its offset one (m)"
            )
        (x, y, z), d = (normal / length).tolist(), float(offset) / length
        planes.append(HalfSpace(f"plane {k} (n = {x:.4g} {y:.4g} {z:.4g}, d = {d:.4g} m)", (x, y, z), d))
    return tuple(planes)


def floor_of(arm: Arm) -> HalfSpace | None:
    """The plane through the base's origin, perpendicular to gravity; None without gravity."""
    gravity = np.array(arm.mechanism.gravity, float)
    if not gravity.any():
        return None
    x, y, z = (-gravity / np.linalg.norm(gravity)).tolist()
    return HalfSpace("the floor", (x, y, z), 0.0)


class Planes:
    """The distances (m) of an arm's P points from K planes, and their gradients.

    clearance  minimum distance
    counted    (K, P): points whose distance is constant are excluded; if one of them lies behind a plane other than the
               floor, an error is raised, because no motion can keep the clearance
    size       approximate range of motion of the points (m)
    """

    def __init__(self, arm: Arm, planes: Sequence[HalfSpace], clearance: float, postures: Array) -> None:
        self.arm, self.planes, self.clearance = arm, tuple(planes), clearance
        self.normals = np.array([plane.normal for plane in planes], float).reshape(-1, 3)
        self.offsets = np.array([plane.offset for plane in planes], float)
        self.size, self.counted = 1.0, np.zeros((0, 0), bool)
        if not planes:
            return
        self._points = kernel(arm.mechanism, GRADIENTS["points"])
        self._slope = kernel(arm.mechanism, gradient(GRADIENTS["points"]))
        distances = self.distances(postures)
        self.size = max(float(np.ptp(distances, axis=0).max()), 1e-9)
        self.counted = np.ptp(distances, axis=0) > STILL * self.size
        for k, plane in enumerate(self.planes):
            behind = np.flatnonzero(~self.counted[k] & (distances[0, k] < -STILL * self.size))
            if len(behind) and plane.name != "the floor":
                raise DalembertError(
                    f"{self.names[behind[0]]} of arm '{arm.name}' always lies {-distances[0, k, behind[0]]:.4g} m behind "
                    f"{plane.name}, so no motion is clear of it; reverse its normal, or change its offset"
                )

    def __bool__(self) -> bool:
        return bool(self.counted.any())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the points: joints, link frames, the tip."""
        joints = self.arm.robot.tree_joints
        return (*(f"joint '{x.name}'" for x in joints), *(f"link '{x.child}'" for x in joints), "the tip")

    def distances(self, q: ArrayLike) -> Array:
        """n·p − d (m): (N, K, P)."""
        points = self._points(self.arm.placed(np.asarray(q, np.float64)))
        return np.asarray(np.einsum("ki,npi->nkp", self.normals, points) - self.offsets[:, None])

    def slope(self, q: Array, weights: Array) -> Array:
        """∂(Σ w∘distances)/∂q (N, n) for weights (N, K, P)."""
        pushed = np.einsum("nkp,ki->npi", weights, self.normals)
        return np.asarray(self._slope(self.arm.placed(q), np.ascontiguousarray(pushed)))

    def excess(self, q: Array, between: bool = False) -> Array:
        """(N,) the amount by which the least distance falls below the clearance, relative to ``size``.

        between  bound the motion between equidistant samples too: a smooth curve deviates by at most an eighth of its
                 second difference
        """
        distances = self.distances(q)
        if between and len(q) > 2:
            bend = np.pad(np.abs(np.diff(distances, 2, axis=0)), ((1, 1), (0, 0), (0, 0)), mode="edge")
            bend = np.maximum(bend, np.maximum(np.roll(bend, 1, axis=0), np.roll(bend, -1, axis=0)))
            distances = distances - bend / 8.0
        return np.asarray((self.clearance - distances[:, self.counted]).max(axis=1) / self.size)

    def worst(self, q: Array) -> str:
        """A description of the point with the smallest clearance in a posture (n,)."""
        distances = np.where(self.counted, self.distances(q[None])[0], np.inf)
        k, p = np.unravel_index(int(np.argmin(distances)), distances.shape)
        side = f"{distances[k, p]:.4g} m in front of" if distances[k, p] >= 0 else f"{-distances[k, p]:.4g} m behind"
        return f"{self.names[p]} is {side} {self.planes[k].name}, and the clearance is {self.clearance:g} m"


class Limited:
    """The limits of an arm as smooth functions of its motion, each ≤ 0 where it is satisfied.

    ``home`` is a posture that satisfies all of them, as far from each as possible: motions are shrunk towards it.
    """

    def __init__(
        self,
        arm: Arm,
        share: float,
        clearance: float | None,
        start: Array | None,
        planes: Sequence[HalfSpace] = (),
        floor: bool = True,
    ) -> None:
        self.arm, self.anchored = arm, start is not None
        self.notes: list[str] = []
        low, high, _ = joint_ranges(arm)
        free = [joint.name for joint in arm.robot.moving_joints if None in (joint.limits.lower, joint.limits.upper)]
        if free:
            self.notes.append(
                f"joints without position limits: {', '.join(free)}; they stay within ±π rad (prismatic joints: ±1 m)"
            )
        shut = [name for name, room in zip(arm.joint_names, high > low, strict=True) if not room]
        if shut:
            raise DalembertError(
                f"the position limits of joint '{shut[0]}' of arm '{arm.name}' leave no room for a motion"
            )
        self.middle, self.half = 0.5 * (low + high), 0.5 * share * (high - low)
        self._closing()
        self.velocity, self.acceleration, effort = (
            share * self._sizes(kind) for kind in ("velocity", "acceleration", "effort")
        )
        levels = np.array([max(map(float, body.coulomb)) for body in arm.mechanism.tree.bodies])
        self.effort = effort - levels @ self.follows  # Coulomb friction of the model may add up to this much
        weak = [name for name, strong in zip(arm.joint_names, self.effort > 0, strict=True) if not strong]
        if weak:
            raise DalembertError(f"the effort limit of joint '{weak[0]}' does not overcome its own Coulomb friction")
        smooth = arm.replace(joints=tuple(map(_without_coulomb, arm.robot.joints))).mechanism
        self.torque = kernel(smooth, GRADIENTS["torque"])
        self.torque_slope = kernel(smooth, gradient(GRADIENTS["torque"]))
        if floor and clearance is not None:
            if (below := floor_of(arm)) is None:
                self.notes.append(
                    f"arm '{arm.name}' has no gravity, so its floor is unknown and not taken into account"
                )
            else:
                planes = (below, *planes)
        self.planes = Planes(arm, planes, 0.0 if clearance is None else clearance, self._postures(0, 1000))
        self.home = self._home(start)

    def _closing(self) -> None:
        """The largest box in the joint ranges, around a pose of the same branch, in which all loops close."""
        arm, home = self.arm, self.arm.home
        low, high = self.middle - self.half, self.middle + self.half
        corners = np.random.default_rng(2).uniform(-1, 1, (CORNERS, arm.n))
        corners = np.vstack([corners, np.sign(corners)])

        def box(s: float) -> tuple[Array, Array]:
            return home + s * np.minimum(low - home, 0.0), home + s * np.maximum(high - home, 0.0)

        def closes(s: float) -> bool:
            a, b = box(s)
            return bool(arm.closes(0.5 * (a + b) + 0.5 * (b - a) * corners).all())

        if closes(1.0):
            return
        inner, outer = 0.0, 1.0
        for _ in range(20):
            s = 0.5 * (inner + outer)
            inner, outer = (s, outer) if closes(s) else (inner, s)
        a, b = box(ROOM * inner)
        self.middle, self.half = 0.5 * (a + b), 0.5 * (b - a)
        words = ", ".join(f"{n} {x:.3g} … {y:.3g}" for n, x, y in zip(arm.joint_names, a, b, strict=True))
        self.notes.append(f"the loops cannot be closed everywhere, so the motion is restricted to {words} rad")

    @cached_property
    def follows(self) -> Array:
        """The largest |Γ| encountered: the speed ratios of the joints of the tree, (N, n)."""
        return np.asarray(np.abs(self.arm.closure_jacobian(self._postures(0, 1000))).max(axis=0))

    def _postures(self, seed: int, count: int) -> Array:
        """(count, n) random postures within the position limits."""
        return self.middle + self.half * np.random.default_rng(seed).uniform(-1, 1, (count, self.arm.n))

    def _sizes(self, kind: str) -> Array:
        values = np.array([getattr(joint.limits, kind) for joint in self.arm.robot.moving_joints], float)
        if not np.isfinite(values).any():
            self.notes.append(
                f"arm '{self.arm.name}' has no {kind} limits, so the motion is not limited in this respect"
            )
        return np.where(np.isnan(values), np.inf, values)

    def _home(self, start: Array | None) -> Array:
        tried = np.vstack([self.middle, self._postures(1, POSTURES)]) if start is None else start[None]
        rest = np.zeros_like(tried)
        worst = self.worst(tried, rest, rest)
        best = int(np.argmin(worst))
        if worst[best] <= (1e-9 if start is not None else -1e-3):
            return tried[best]
        which = "start is not" if start is not None else f"no posture of arm '{self.arm.name}' was found that is"
        words = f"{which} within the position and torque limits"
        if self.planes and self.planes.excess(tried[best][None])[0] >= worst[best]:
            words = f"{which} clear of all planes: {'in the best posture, ' * (start is None)}{self.planes.worst(tried[best])}"
        raise DalembertError(words)

    def parts(self, q: Array, qd: Array, qdd: Array) -> Iterator[tuple[str, Array, Array]]:
        """(kind, value, scale) of every limit: |value| ≤ scale, except for planes, where value ≥ scale."""
        yield "q", q - self.middle, self.half
        if np.isfinite(self.velocity).any():
            yield "qd", qd, self.velocity
        if np.isfinite(self.acceleration).any():
            yield "qdd", qdd, self.acceleration
        if np.isfinite(self.effort).any():
            yield "tau", self.torque(self.arm.placed(q), qd, qdd), self.effort
        if self.planes:
            yield "plane", self.planes.distances(q), np.array(self.planes.clearance)

    def worst(self, q: Array, qd: Array, qdd: Array, between: bool = False) -> Array:
        """(N,) the largest relative excess over any limit; negative where all are satisfied.

        between  for planes, the motion between equidistant samples is bounded too; for the other limits, see
        limits_report
        """
        excess = [
            self.planes.excess(q, between) if kind == "plane" else (np.abs(value) / scale - 1.0).max(axis=1)
            for kind, value, scale in self.parts(q, qd, qdd)
        ]
        return np.asarray(np.max(excess, axis=0))


def _without_coulomb(joint: Joint) -> Joint:
    rotor = None if joint.rotor is None else replace(joint.rotor, coulomb=(0.0, 0.0))
    return replace(joint, friction=joint.friction.without("coulomb"), rotor=rotor)
