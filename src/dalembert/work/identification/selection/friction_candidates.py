"""The candidates of a selection: columns that a joint's torque may have besides those of the links, by families.

A family is a law, such as Stribeck friction; its variants differ in a number in which the torque is nonlinear, such as
the speed. Every variant contributes one or several columns to the joint's equations, computed from the law itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.robot.terms import (
    Coulomb,
    Drag,
    GasSpring,
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
from dalembert.work.identification.fitting.parameter_set import Drive, own_terms
from dalembert.work.identification.fitting.term_columns import Samples

# of a joint's largest speed: widths of gradual Coulomb friction
WIDTHS = (0.04, 0.048, 0.058, 0.07, 0.084, 0.1, 0.12, 0.145, 0.175, 0.21, 0.25, 0.3, 0.36)
# the same, for Stribeck friction
SPEEDS = (0.02, 0.026, 0.034, 0.044, 0.057, 0.074, 0.096, 0.125, 0.16, 0.21, 0.27, 0.35)
ORDERS = (1, 2, 3, 4, 5, 6, 8)  # periods of torque ripple per turn
ARMS = (0.2, 0.5, 0.8)  # ratio of the distances of the two ends of a gas spring from the axis
FINE_ARMS = (0.1, 0.17, 0.27, 0.38, 0.5, 0.62, 0.75, 0.87)  # the same, at a joint with a gas spring
FINE_ANGLES = 24  # directions per turn of a gas spring's ends: 15° apart
CLOSEST = 0.97  # largest ratio: with equal arms the ends would coincide
ANGLES = 8  # number of directions per turn in which the ends are nearest to each other
RATIOS = (1.0, -1.0)  # of drives that are shared by neighbouring joints


@dataclass(frozen=True)
class LawVariant:
    """A law with its shape: ``terms`` at a joint, or a ``drive`` that is shared by two joints.

    heated   whether the joint's friction changes with its temperature
    columns  indices of its coefficients among all columns of a selection; set by :class:`Candidates`
    """

    words: str
    terms: tuple[Term, ...] = ()
    drive: Drive | None = None
    heated: bool = False
    columns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Family:
    """A law that a joint (from 0) may have.

    choice    the entry of CHOICES that it belongs to
    replaces  the family that it excludes
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
    """sgn q̇ (N,) averaged over each sampling interval, the velocity being linear between samples.

    Friction jumps between two samples; with sgn at the samples alone the jump could be displaced by up to half an
    interval.

    >>> mean_sign(np.array([-3.0, -1.0, 0.5, 2.0])).tolist()
    [-1.0, -1.0, 0.6666666666666666, 1.0]
    """
    middle = 0.5 * (qd[1:] + qd[:-1])
    before, after = np.append(qd[0], middle), np.append(middle, qd[-1])

    def along(a: Array, b: Array) -> Array:
        rise = b - a
        return np.divide(np.abs(b) - np.abs(a), rise, out=np.sign(a + b), where=rise != 0)

    return 0.5 * (along(before, qd) + along(qd, after))


def columns_of(term: Term, q: Array, qd: Array, load: Array, sign: Array) -> list[Array]:
    """The torque per unit of each coefficient of a term, (N,) or a number; Coulomb friction has a single level.

    ``sign`` (N,) is the sign of the velocities, or their :func:`mean_sign`.
    """
    if isinstance(term, Coulomb):
        return [sign]
    with np.errstate(over="ignore"):  # in an exponential whose inverse is used
        unit_torques = term.columns(*(np.asarray(x).view(Samples) for x in (q, qd, load)))
    out = [np.asarray(x, np.float64) for x in unit_torques]
    if isinstance(term, (Stribeck, LoadFriction, GearLoss)):  # these jump with the sign
        out = [x * (np.sign(qd) * sign) for x in out]
    return out


class Candidates:
    """The families of all joints, and their columns.

    base      number of columns outside the selection; those of the families follow
    families  by (joint, name)
    averaged  whether samples represent the mean over their interval, as those of a decimated log do
    own       for each joint the (column, term, number of the coefficient) of its own terms; the term is None for
              temperature-dependent friction
    drives    (column, drive, kind) of shared drives
    """

    def __init__(self, arm: Arm, base: int, families: Iterable[Family], averaged: bool = False) -> None:
        self.averaged = averaged
        self.arm, self.base, self.size = arm, base, base
        self.families: dict[tuple[int, str], Family] = {}
        self.own: list[list[tuple[int, Term | None, int]]] = [[] for _ in range(arm.n)]
        self.drives: list[tuple[int, Drive, str]] = []
        self._places: dict[tuple[int, Term], tuple[int, ...]] = {}
        for family in families:
            variants = tuple(self._placed(family.joint, variant) for variant in family.variants)
            self.families[family.key] = replace(family, variants=variants)

    def _placed(self, j: int, variant: LawVariant) -> LawVariant:
        columns: list[int] = []

        def further(count: int) -> range:
            first, self.size = self.size, self.size + count
            return range(first, self.size)

        for term in variant.terms:
            if (j, term) not in self._places:
                self._places[j, term] = tuple(further(1 if isinstance(term, Coulomb) else len(term.linear())))
                self.own[j] += [(c, term, k) for k, c in enumerate(self._places[j, term])]
            columns += self._places[j, term]
        if variant.heated:
            columns += (both := further(2))
            self.own[j] += [(c, None, k) for k, c in enumerate(both)]
        if variant.drive is not None:
            columns += (three := further(3))
            self.drives += [(c, variant.drive, kind) for c, kind in zip(three, ("Im", "Fv", "Fs"), strict=True)]
        return replace(variant, columns=tuple(columns))

    def columns_at(self, j: int) -> list[int]:
        """The columns of families that act on joint j, in the order of :meth:`rows`."""
        return [c for c, *_ in self.own[j]] + [c for c, drive, _ in self.drives if j in (drive.i, drive.j)]

    def rows(self, j: int, q: Array, qd: Array, qdd: Array, load: Array, warmth: Array | None = None) -> Array:
        """(columns that act on joint j, samples); ``load`` (N,) is the torque transmitted by the joint, ``warmth`` (N,
        n) the temperature above the mean."""
        out = np.empty((len(self.columns_at(j)), len(q)))
        unit_torques: dict[Term | None, list[Array]] = {}
        position, speed = np.ascontiguousarray(q[:, j]), np.ascontiguousarray(qd[:, j])
        sign_of = mean_sign if self.averaged else np.sign
        sign = sign_of(speed)
        for row, (_, term, k) in enumerate(self.own[j]):
            if term is None and term not in unit_torques:
                above = np.zeros(len(q)) if warmth is None else warmth[:, j]
                unit_torques[term] = [speed * above, sign * above]
            elif term is not None and term not in unit_torques:
                unit_torques[term] = columns_of(term, position, speed, load, sign)
            out[row] = unit_torques[term][k]
        row = len(self.own[j])
        for _, drive, kind in self.drives:
            if j in (drive.i, drive.j):
                share = drive.row(self.arm.n)
                turned = (qdd if kind == "Im" else qd) @ share
                out[row] = share[j] * (sign_of(turned) if kind == "Fs" else turned)
                row += 1
        return out


def gas_spring(a: float, angle: float) -> LawVariant:
    """A gas spring, one end of which is ``a`` times as far from the axis as the other."""
    words = f"a gas spring, lever ratio {a:.3g} : 1, shortest at {angle:.2g} rad"
    return LawVariant(words, (GasSpring(0.0, a, 1.0, angle),))


def gas_springs(around: LawVariant | None = None, step: float = 0.0) -> list[LawVariant]:
    """Gas springs of all shapes, or around one, up to two steps away in the logarithm of a and in the angle (rad)."""
    if around is None:
        return [gas_spring(a, 2 * np.pi * k / FINE_ANGLES) for a in FINE_ARMS for k in range(FINE_ANGLES)]
    (term,) = around.terms
    assert isinstance(term, GasSpring)
    few = range(-2, 3)
    shapes = [(min(float(term.a) * np.exp(step * i), CLOSEST), float(term.angle) + step * k) for i in few for k in few]
    return [gas_spring(float(a), angle) for a, angle in dict.fromkeys(shapes)]


def families_of(arm: Arm, j: int, fastest: float, heavy: bool, heated: bool, open_: Sequence[str]) -> list[Family]:
    """The candidates of joint j; laws that the arm already has there are excluded.

    fastest  its largest speed
    heavy    whether its torque is large enough, compared with the other joints, for a counterbalance
    heated   whether its temperature is logged
    """
    has = {type(term) for k, term in own_terms(arm) if k == arm.mechanism.actuated[j]}
    turns, fastest = arm.robot.moving_joints[j].type != "prismatic", max(fastest, 1e-9)
    out: list[Family] = []

    def offer(name: str, choice: str, variants: Sequence[LawVariant], *replaces: str) -> None:
        if choice in open_ and not any(type(term) in has for variant in variants for term in variant.terms):
            out.append(Family(name, j, choice, tuple(variants), replaces))

    def law(words: str, *terms: Term) -> LawVariant:
        return LawVariant(words, terms)

    widths, speeds = ([x * fastest for x in shares] for shares in (WIDTHS, SPEEDS))
    offer("viscous", "friction", [law("viscous friction", Viscous(0.0))])
    offer("coulomb", "friction", [law("Coulomb friction", Coulomb(0.0, 0.0))], "tanh")
    gradual = [law(f"gradual Coulomb friction, width {w:.2g} rad/s", Tanh(0.0, w)) for w in widths]
    offer("tanh", "friction", gradual, "coulomb")
    offer("stribeck", "friction", [law(f"Stribeck friction, speed {v:.2g} rad/s", Stribeck(0.0, v)) for v in speeds])
    offer("drag", "friction", [law("quadratic friction", Drag(0.0))])
    offer("load", "friction", [law("load-dependent friction", LoadFriction(0.0))], "gear")
    offer("gear", "friction", [law("direction-dependent gear losses", GearLoss(0.0, 0.0))], "load")
    if heated:
        offer("temperature", "friction", [LawVariant("temperature-dependent friction", heated=True)])
    offer("offset", "offset", [law("an offset", Offset(0.0))], "spring")
    spring = (Spring(0.0), Offset(0.0)) if "offset" in open_ else (Spring(0.0),)  # with any rest position
    offer("spring", "spring", [law("a spring", *spring)], "offset")
    if turns:
        offer("balance", "spring", [law("a counterbalance", Harmonic(1.0), Harmonic(2.0))], "harmonic", "gas_spring")
        ripple = [law(f"torque ripple, {k} per turn", Harmonic(float(k))) for k in ORDERS]
        offer("harmonic", "ripple", ripple, "balance")
    if turns and heavy:
        gas = [gas_spring(a, 2 * np.pi * k / ANGLES) for a in ARMS for k in range(ANGLES)]
        offer("gas_spring", "spring", gas, "balance")
    if j + 1 < arm.n and not arm.passive_names:
        names = arm.joint_names
        words = f"a drive shared by '{names[j]}' and '{names[j + 1]}', ratio {{:g}}"
        offer("drive", "coupling", [LawVariant(words.format(r), drive=Drive(j, j + 1, r)) for r in RATIOS])
    return out
