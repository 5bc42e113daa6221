"""Random variations of an arm, under which a property of its structure must persist.

:func:`other_numbers` keeps the kinematic structure: joint types, axis directions, the zero lengths of the
Denavit–Hartenberg table, and gravity. :func:`other_placements` keeps only which joint carries which.

Their numbers carry a bound on their rounding error, so that a zero can be distinguished from a small number. The
equations run on them as on floats: every operation adds its own rounding error to the errors of its operands (a running
error analysis). A number larger than its bound is nonzero, however small it is compared with other coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.base.algebra.vectors import Mat, Vec
from dalembert.base.arrays import Array
from dalembert.mechanics.equations.kinematics import frames
from dalembert.robot.model.inertia import Inertia
from dalembert.robot.model.mechanism import Body, Mechanism, bodies_in_loops, places
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Robot

PARALLEL = 1e-9  # sine of the angle below which axes are parallel
NO_LENGTH = 1e-9  # of the arm's largest link offset
UNIT = 2.0**-53  # relative rounding error


class Rounded:
    """An array of values, one per draw, with bounds on their errors.

    >>> x = Rounded([0.1]) + 0.2 - 0.3
    >>> bool(x.value[0] == 0.0), bool(abs(x.value[0]) <= x.error[0])
    (False, True)
    """

    __slots__ = ("error", "value")
    __array_ufunc__ = None  # so that NumPy defers to our operators

    def __init__(self, value: ArrayLike, error: Array | float = 0.0) -> None:
        """``error`` is that of the operands; the rounding error of the value is added here."""
        self.value: Array = np.asarray(value, float)
        self.error: Array = error + UNIT * np.abs(self.value)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Rounded):
            return self if other == 0.0 else Rounded(self.value + other, self.error + UNIT * abs(other))
        return Rounded(self.value + other.value, self.error + other.error)

    __radd__ = __add__

    def __neg__(self) -> Rounded:
        return -1.0 * self

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, tuple):  # a vector is scaled entry by entry
            return NotImplemented
        if not isinstance(other, Rounded):
            error = (self.error + UNIT * np.abs(self.value)) * abs(other)
            return other if other == 0.0 else Rounded(self.value * other, error)
        x, y = self.value, other.value
        return Rounded(x * y, np.abs(x) * other.error + np.abs(y) * self.error)

    __rmul__ = __mul__

    def sin(self) -> Rounded:
        """sin x"""
        return Rounded(np.sin(self.value), self.error)

    def cos(self) -> Rounded:
        """cos x"""
        return Rounded(np.cos(self.value), self.error)


def stacked(nested: Any, count: int) -> tuple[Array, Array]:
    """The values and the errors of nested lists of numbers, each (count, …)."""
    if isinstance(nested, list):
        parts = [stacked(x, count) for x in nested]
        return np.stack([v for v, _ in parts], axis=1), np.stack([e for _, e in parts], axis=1)
    x = nested if isinstance(nested, Rounded) else Rounded(np.full(count, float(nested)))
    return x.value, x.error


def other_numbers(
    mechanism: Mechanism, robot: Robot, rng: np.random.Generator, count: int, *, linear: bool
) -> Mechanism:
    """The arm with other masses, centres of mass, inertias, rotors and lengths; ``count`` draws of every number.

    Lengths within a closed chain are drawn so that equal ones stay equal, which preserves a parallelogram (``linear``),
    and left unchanged if the chain closes by another formula.
    """
    in_loops = bodies_in_loops(robot, mechanism)
    factors: dict[float, Rounded] = {}
    bodies = _other_bodies(mechanism, robot, rng, count)
    for i, steps in _lengths(mechanism):
        move = Vec((0.0, 0.0, 0.0))
        for length, direction in steps:
            factor = Rounded(rng.uniform(0.4, 1.8, count))
            if i in in_loops:
                factor = factors.setdefault(round(length, 9), factor) if linear else Rounded(np.ones(count))
            move = move + (factor - 1.0) * length * direction
        at = bodies[i].placement
        bodies[i] = replace(bodies[i], placement=replace(at, translation=at.translation + move))
    return replace(mechanism, bodies=tuple(bodies))


def other_placements(mechanism: Mechanism, robot: Robot, rng: np.random.Generator, count: int) -> Mechanism:
    """Any revolute arm with this tree of joints; ``count`` draws of every number.

    Prismatic joints are included as limiting cases, with axes infinitely far away.
    """
    bodies = []
    for body in _other_bodies(mechanism, robot, rng, count):
        place = Placement(_rotation(rng, count), _vector(rng, count))
        bodies.append(replace(body, revolute=True, placement=place, link_frame=Placement()))
    return replace(mechanism, bodies=tuple(bodies), gravity=_vector(rng, count))


def _other_bodies(mechanism: Mechanism, robot: Robot, rng: np.random.Generator, count: int) -> list[Body]:
    at = places(robot)
    real = {at[link.name][0] for link in robot.links if not link.massless}  # a virtual coordinate moves no body
    return [_other_body(body, i in real, rng, count) for i, body in enumerate(mechanism.bodies)]


def _other_body(body: Body, real: bool, rng: np.random.Generator, count: int) -> Body:
    """Any rigid body, and any rotor about the same axis if there is one; all of its weight is borne by the joints."""

    def positive() -> Rounded:
        return Rounded(rng.uniform(0.5, 2.0, count))

    link = body.link
    if real:
        xx, yy, zz, xy, xz, yz = (Rounded(rng.normal(size=count)) for _ in range(6))
        link = Inertia(positive(), _vector(rng, count), ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    changed = replace(body, link=link, inertia=link, lifted=Inertia())
    if not (body.rotor_inertia or body.rotor_mass or body.rotor_transverse):
        return changed
    return replace(
        changed, gear=positive(), rotor_inertia=positive(), rotor_mass=positive(), rotor_transverse=positive(),
        rotor_position=_vector(rng, count),
    )  # fmt: skip


def _vector(rng: np.random.Generator, count: int) -> Vec:
    return Vec(Rounded(rng.normal(size=count)) for _ in range(3))


def _rotation(rng: np.random.Generator, count: int) -> Mat:
    Q, _ = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    Q = Q * np.linalg.det(Q)[:, None, None]
    return Mat.of([Rounded(Q[:, i, j]) for j in range(3)] for i in range(3))


def _lengths(mechanism: Mechanism) -> Iterator[tuple[int, list[tuple[float, Vec]]]]:
    """The nonzero lengths of the Denavit–Hartenberg table, for every joint except those on the base.

    d along the parent's axis and a along the common normal of the two axes, each with its direction in the parent
    frame. A prismatic joint has a direction but no location: its axis is taken through the parent's origin.
    """
    F = frames(mechanism, [0.0] * mechanism.n)
    origin: list[Vec] = []
    steps: list[tuple[int, list[tuple[float, Vec]]]] = []
    for i, body in enumerate(mechanism.bodies):
        p = body.parent
        if p < 0 or not body.revolute:
            origin.append(F.p_joint[i] if p < 0 else origin[p])
            continue
        z_p, z, v = F.z[p], F.z[i], F.p_joint[i] - origin[p]
        across, cosine = z_p.cross(z), z_p.dot(z)
        if across.norm < PARALLEL:
            d, normal = 0.0, v - v.dot(z_p) * z_p
        else:
            d = (v.dot(z_p) - cosine * v.dot(z)) / across.dot(across)
            normal = v.dot(across) / across.dot(across) * across
        origin.append(origin[p] + d * z_p + normal)
        a = normal.norm
        back = F.R[p].T
        steps.append((i, [(d, back @ z_p), *([(a, back @ (1.0 / a * normal))] if a else [])]))
    least = NO_LENGTH * max((abs(length) for _, parts in steps for length, _ in parts), default=0.0)
    return ((i, [(length, x) for length, x in parts if abs(length) > least]) for i, parts in steps)
