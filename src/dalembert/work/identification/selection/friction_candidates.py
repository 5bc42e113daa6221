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
from dalembert.work.identification.fitting.parameter_set import SLOPES, UNITS, Drive, Parameter, one_each, own_terms
from dalembert.work.identification.fitting.term_columns import States

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


Laws = dict[tuple[int, str], LawVariant]  # the laws of a model, by joint and family


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

    def beside(self, laws: Laws) -> Laws:
        """The laws of a model without those that it excludes."""
        return {(j, name): law for (j, name), law in laws.items() if j != self.joint or name not in self.replaces}


class Candidates:
    """The families of all joints, and their columns.

    base      number of columns outside the selection; those of the families follow
    families  by (joint, name)
    averaged  whether samples represent the mean over their interval, as those of a decimated log do
    own       for each joint the columns of its own laws, by the law and whether it changes with the temperature
    drives    (column, parameter) of shared drives
    """

    def __init__(self, arm: Arm, base: int, families: Iterable[Family], averaged: bool = False) -> None:
        self.arm, self.base, self.size, self.averaged = arm, base, base, averaged
        self.own: list[dict[tuple[Term, bool], int]] = [{} for _ in range(arm.n)]
        self.drives: list[tuple[int, Parameter]] = []
        self.families = {
            x.key: replace(x, variants=tuple(self._placed(x.joint, v) for v in x.variants)) for x in families
        }

    def _placed(self, j: int, variant: LawVariant) -> LawVariant:
        single = (UNITS["Fs"],)  # Coulomb friction has a single level
        laws = [(x, False) for term in variant.terms for x in (single if isinstance(term, Coulomb) else one_each(term))]
        laws += [(unit, True) for unit in SLOPES.values() if variant.heated]
        columns = []
        for law in laws:
            columns.append(self.own[j].setdefault(law, self.size))
            self.size = max(self.size, columns[-1] + 1)
        if variant.drive is not None:
            shared = list(enumerate(variant.drive.parameters(), self.size))
            self.drives += shared
            self.size += len(shared)
            columns += [column for column, _ in shared]
        return replace(variant, columns=tuple(columns))

    def shared_at(self, j: int) -> list[tuple[int, Parameter]]:
        """The shared drives that act on joint j, with their columns."""
        return [(c, x) for c, x in self.drives if x.drive is not None and j in (x.drive.i, x.drive.j)]

    def columns_at(self, j: int) -> list[int]:
        """The columns of families that act on joint j, in the order of :meth:`rows`."""
        return [*self.own[j].values(), *(c for c, _ in self.shared_at(j))]

    def rows(self, j: int, states: States) -> Array:
        """(columns that act on joint j, samples)."""
        above = states.zero if states.temperature is None else states.temperature[:, j]
        own = [states.own_torque(law, j) * (above if heated else 1.0) for law, heated in self.own[j]]
        return np.array([*own, *(x.column(states)[:, j] for _, x in self.shared_at(j))]).reshape(-1, len(states.q))


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
