"""Planes with a clearance: n·p ≥ d + clearance for joints, link frames and tip, in base axes.

The floor is one of them: its normal is opposite to gravity, and it passes through the base's origin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
    return tuple(_plane(k, entry) for k, entry in enumerate(given, 1))


def _plane(k: int, entry: Any) -> HalfSpace:
    if not isinstance(entry, (list, tuple)) or len(entry) != 2:
        raise DalembertError(f"plane {k} is {entry!r}; it must be a pair (normal, offset), such as ((0, 0, 1), 0.2)")
    normal, offset = double(f"the normal of plane {k}", entry[0]), double(f"the offset of plane {k}", entry[1])
    length = float(np.linalg.norm(normal)) if normal.shape == (3,) else 0.0
    if offset.shape != () or not math.isfinite(length * float(offset)) or not length > 0:
        raise DalembertError(
            f"plane {k} is {entry!r}; its normal must have three finite numbers, not all zero, and its offset one (m)"
        )
    x, y, z = (float(v) for v in normal / length)
    d = float(offset) / length
    return HalfSpace(f"plane {k} (n = {x:.4g} {y:.4g} {z:.4g}, d = {d:.4g} m)", (x, y, z), d)


def floor_of(arm: Arm) -> HalfSpace | None:
    """The plane through the base's origin, perpendicular to gravity; None without gravity."""
    gravity = np.array([float(g) for g in arm.mechanism.gravity])
    if not gravity.any():
        return None
    x, y, z = (float(v) for v in -gravity / np.linalg.norm(gravity))
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
            bend = np.zeros_like(distances)
            second = np.abs(np.diff(distances, 2, axis=0))
            bend[1:-1] = second
            bend[0], bend[-1] = second[0], second[-1]
            bend = np.maximum(bend, np.maximum(np.roll(bend, 1, axis=0), np.roll(bend, -1, axis=0)))
            distances = distances - bend / 8.0
        return np.asarray((self.clearance - distances[:, self.counted]).max(axis=1) / self.size)

    def worst(self, q: Array) -> str:
        """A description of the point with the smallest clearance in a posture (n,)."""
        distances = np.where(self.counted, self.distances(q[None])[0], np.inf)
        k, p = np.unravel_index(int(np.argmin(distances)), distances.shape)
        side = f"{distances[k, p]:.4g} m in front of" if distances[k, p] >= 0 else f"{-distances[k, p]:.4g} m behind"
        return f"{self.names[p]} is {side} {self.planes[k].name}, and the clearance is {self.clearance:g} m"
