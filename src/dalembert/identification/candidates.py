"""What a selection can choose from: columns that a joint's torque may have besides those of links, by families.

A family is a law, such as Stribeck friction; its variants differ in a number that the torque is not linear in, such as the
speed. Every variant is one or several columns of the joint's equations, made from the law itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.identification.parameters import Drive, own_terms
from dalembert.identification.states import Samples
from dalembert.terms import (
    Coulomb,
    Drag,
    GearLoss,
    Harmonic,
    LoadFriction,
    Offset,
    Spring,
    Stribeck,
    Tanh,
    Term,
    Viscous,
)

Array = NDArray[np.float64]

# of a joint's largest speed: how gradually Coulomb friction may turn over
WIDTHS = (0.04, 0.055, 0.075, 0.1, 0.14, 0.19, 0.26, 0.36)
SPEEDS = (0.02, 0.03, 0.045, 0.065, 0.1, 0.14, 0.2, 0.3)  # the same, for friction that falls with speed
ORDERS = (1, 2, 3, 4, 5, 6, 8)  # of torque ripple, per turn
RATIOS = (1.0, -1.0)  # of drives that neighbours share


@dataclass(frozen=True)
class LawVariant:
    """A law with its shape: ``terms`` at a joint, or a ``drive`` that two joints share.

    parameters  how many coefficients it has
    columns     where they stand among all columns of a selection; set by :class:`Candidates`
    """

    words: str
    terms: tuple[Term, ...] = ()
    drive: Drive | None = None
    columns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Family:
    """A law that a joint (from 0) may have.

    choice    what of CHOICES it belongs to
    replaces  the family that cannot stand beside it
    """

    name: str
    joint: int
    choice: str
    variants: tuple[LawVariant, ...]
    replaces: tuple[str, ...] = field(default=())

    @property
    def key(self) -> tuple[int, str]:
        """Its joint and its name."""
        return self.joint, self.name


def mean_sign(qd: Array) -> Array:
    """sgn q̇ (N,) as a mean over each sampling interval, the velocity being linear between samples.

    Friction jumps between two samples; with sgn at the samples alone the jump would be up to half an interval away.

    >>> mean_sign(np.array([-3.0, -1.0, 0.5, 2.0])).tolist()
    [-1.0, -0.6666666666666667, 1.0, 1.0]
    """
    middle = 0.5 * (qd[1:] + qd[:-1])
    before, after = np.append(qd[0], middle), np.append(middle, qd[-1])

    def along(a: Array, b: Array) -> Array:
        rise = b - a
        return np.divide(np.abs(b) - np.abs(a), rise, out=np.sign(a + b), where=rise != 0)

    return 0.5 * (along(before, qd) + along(qd, after))


def columns_of(term: Term, q: Array, qd: Array, load: Array, sign: Array) -> list[Array]:
    """What a unit of each coefficient of a term brings, (N,) or a number; of Coulomb friction with one level alone.

    ``sign`` (N,) is :func:`mean_sign` of the velocities.
    """
    if isinstance(term, Coulomb):
        return [sign]
    with np.errstate(over="ignore"):  # of an exponential whose inverse counts
        brought = term.columns(*(np.asarray(x).view(Samples) for x in (q, qd, load)))
    out = [np.asarray(x, np.float64) for x in brought]
    if isinstance(term, (Stribeck, LoadFriction, GearLoss)):  # which jump where the sign does
        out = [x * (np.sign(qd) * sign) for x in out]
    return out


class Candidates:
    """The families of all joints, and their columns.

    base      how many columns the links, and all that is not chosen, have; those of the families follow
    families  by (joint, name)
    own       for each joint the (column, term, number of the coefficient) that its own terms bring
    drives    (column, drive, kind) of shared drives
    """

    def __init__(self, arm: Arm, base: int, fastest: Array, open_: Sequence[str]) -> None:
        self.arm, self.base, self.size = arm, base, base
        self.families: dict[tuple[int, str], Family] = {}
        self.own: list[list[tuple[int, Term, int]]] = [[] for _ in range(arm.n)]
        self.drives: list[tuple[int, Drive, str]] = []
        self._places: dict[tuple[int, Term], tuple[int, ...]] = {}
        for j in range(arm.n):
            for family in families_of(arm, j, float(fastest[j]), open_):
                variants = tuple(self._placed(j, variant) for variant in family.variants)
                self.families[family.key] = Family(family.name, j, family.choice, variants, family.replaces)

    def _placed(self, j: int, variant: LawVariant) -> LawVariant:
        columns: list[int] = []
        for term in variant.terms:
            if (j, term) not in self._places:
                count = 1 if isinstance(term, Coulomb) else len(term.linear())
                self._places[j, term] = tuple(range(self.size, self.size + count))
                self.own[j] += [(self.size + k, term, k) for k in range(count)]
                self.size += count
            columns += self._places[j, term]
        if variant.drive is not None:
            for kind in ("Im", "Fv", "Fs"):
                self.drives.append((self.size, variant.drive, kind))
                columns.append(self.size)
                self.size += 1
        return LawVariant(variant.words, variant.terms, variant.drive, tuple(columns))

    def columns_at(self, j: int) -> list[int]:
        """The columns of families that joint j feels, in the order of :meth:`rows`."""
        return [c for c, *_ in self.own[j]] + [c for c, drive, _ in self.drives if j in (drive.i, drive.j)]

    def rows(self, j: int, q: Array, qd: Array, qdd: Array, load: Array) -> Array:
        """(columns that joint j feels, samples); ``load`` (N,) is what the joint passes on."""
        out = np.empty((len(self.columns_at(j)), len(q)))
        brought: dict[Term, list[Array]] = {}
        position, speed = np.ascontiguousarray(q[:, j]), np.ascontiguousarray(qd[:, j])
        sign = mean_sign(speed)
        for row, (_, term, k) in enumerate(self.own[j]):
            if term not in brought:
                brought[term] = columns_of(term, position, speed, load, sign)
            out[row] = brought[term][k]
        row = len(self.own[j])
        for _, drive, kind in self.drives:
            if j in (drive.i, drive.j):
                share = drive.row(self.arm.n)
                turned = (qdd if kind == "Im" else qd) @ share
                out[row] = share[j] * (mean_sign(turned) if kind == "Fs" else turned)
                row += 1
        return out


def families_of(arm: Arm, j: int, fastest: float, open_: Sequence[str]) -> list[Family]:
    """What joint j may have; what the arm has there already is not chosen."""
    joint = arm.robot.moving_joints[j]
    has = {type(term) for k, term in own_terms(arm) if k == arm.mechanism.actuated[j]}
    turns, fastest = joint.type != "prismatic", max(fastest, 1e-9)
    out = [Family("viscous", j, "friction", (LawVariant("viscous friction", (Viscous(0.0),)),))]
    out.append(Family("coulomb", j, "friction", (LawVariant("Coulomb friction", (Coulomb(0.0, 0.0),)),), ("tanh",)))
    if "friction" in open_:
        widths = tuple(
            LawVariant(f"gradual Coulomb friction, width {x * fastest:.2g} rad/s", (Tanh(0.0, x * fastest),))
            for x in WIDTHS
        )
        speeds = tuple(
            LawVariant(f"Stribeck friction, speed {x * fastest:.2g} rad/s", (Stribeck(0.0, x * fastest),))
            for x in SPEEDS
        )
        out += [
            Family("tanh", j, "friction", widths, ("coulomb",)),
            Family("stribeck", j, "friction", speeds),
            Family("drag", j, "friction", (LawVariant("quadratic friction", (Drag(0.0),)),)),
            Family("load", j, "friction", (LawVariant("load-dependent friction", (LoadFriction(0.0),)),), ("gear",)),
            Family(
                "gear",
                j,
                "friction",
                (LawVariant("losses of the gear by direction", (GearLoss(0.0, 0.0),)),),
                ("load",),
            ),
        ]
    if "offset" in open_:
        out.append(Family("offset", j, "offset", (LawVariant("an offset", (Offset(0.0),)),), ("spring",)))
    if "spring" in open_:
        spring = (Spring(0.0), Offset(0.0)) if "offset" in open_ else (Spring(0.0),)  # whose rest is anywhere
        out.append(Family("spring", j, "spring", (LawVariant("a spring", spring),), ("offset",)))
        if turns:
            pair = (Harmonic(1.0), Harmonic(2.0))
            out.append(Family("balance", j, "spring", (LawVariant("a counterbalance", pair),), ("harmonic",)))
    if "ripple" in open_ and turns:
        orders = tuple(LawVariant(f"torque ripple, {k} per turn", (Harmonic(float(k)),)) for k in ORDERS)
        out.append(Family("harmonic", j, "ripple", orders, ("balance",)))
    if "coupling" in open_ and j + 1 < arm.n and not arm.passive_names:
        names = arm.joint_names
        drives = tuple(
            LawVariant(f"a drive that '{names[j]}' and '{names[j + 1]}' share, ratio {r:g}", drive=Drive(j, j + 1, r))
            for r in RATIOS
        )
        out.append(Family("drive", j, "coupling", drives))
    return [family for family in out if not any(type(t) in has for v in family.variants for t in v.terms)]


def laws_of(parts: Mapping[tuple[int, str], LawVariant], j: int) -> list[LawVariant]:
    """Of the parts of a model those at joint j."""
    return [variant for (k, _), variant in parts.items() if k == j]
