"""Joint friction as a tuple of terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.base.algebra.records import settle
from dalembert.base.algebra.scalars import Scalar
from dalembert.base.files.file_bounds import TERMS_OF_JOINT
from dalembert.base.wording import nearest
from dalembert.errors import RobotError
from dalembert.robot.terms import TERMS, Coulomb, Term, Viscous


@dataclass(frozen=True, init=False, repr=False)
class Friction:
    """Friction, springs and losses at the joint: F_v q̇ + F_s sgn(q̇) of S (7.42), and further terms by name.

    viscous   F_v (N m s/rad), ≥ 0
    coulomb   F_s (N m), one level or a pair (at positive velocity, at negative velocity), both ≥ 0
    others    offset, stribeck, tanh, sigmoid, drag, load, gear, harmonic, spring, gas_spring: each a dict of its
              parameters, or a list of dicts if a joint has several terms of one kind

    >>> Friction(viscous=0.5, coulomb=(2.0, 1.5), spring={"stiffness": 30.0, "rest": 0.2})
    Friction(viscous=0.5, coulomb=(2.0, 1.5), spring={'stiffness': 30.0, 'rest': 0.2})
    >>> [term.text for term in Friction(stribeck={"level": 1.2, "speed": 0.05})]
    ['Stribeck friction: level 1.2 N m, speed 0.05 rad/s']
    """

    terms: tuple[Term, ...]

    def __init__(self, viscous: Any = 0.0, coulomb: Any = 0.0, **others: Any) -> None:
        terms: list[Term] = []
        for name, value in {"viscous": viscous, "coulomb": coulomb, **others}.items():
            _check_name(name)
            several = isinstance(value, (list, tuple)) and any(isinstance(x, (Mapping, Term)) for x in value)
            terms += [x if isinstance(x, TERMS[name]) else TERMS[name].read(x) for x in (value if several else [value])]
        settle(self, terms=_ordered(terms))

    @classmethod
    def of(cls, terms: Iterable[Term]) -> Friction:
        """The friction made of these terms."""
        friction, given = cls(), list(terms)
        for term in given:
            if not isinstance(term, Term):
                raise RobotError(f"friction is made of terms, not of {term!r}; use Friction(viscous=…) for numbers")
        settle(friction, terms=_ordered(given))
        return friction

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def __repr__(self) -> str:
        return f"Friction({', '.join(f'{name}={value!r}' for name, value in self.written().items())})"

    @property
    def viscous(self) -> Scalar:
        """F_v"""
        return next((term.damping for term in self.terms if isinstance(term, Viscous)), 0.0)

    @property
    def coulomb(self) -> tuple[Scalar, Scalar]:
        """F_s at positive and at negative velocity."""
        return next(((term.forward, term.backward) for term in self.terms if isinstance(term, Coulomb)), (0.0, 0.0))

    @property
    def further(self) -> tuple[Term, ...]:
        """The terms other than viscous and Coulomb friction, S (7.42)."""
        return tuple(term for term in self.terms if not isinstance(term, (Viscous, Coulomb)))

    def replace(self, **terms: Any) -> Friction:
        """A copy in which these terms replace those of the same names."""
        return Friction(**{**self.written(), **terms})

    def without(self, *names: str) -> Friction:
        """A copy without the terms of these names."""
        for name in names:
            _check_name(name)
        return Friction.of(term for term in self.terms if term.name not in names)

    def written(self) -> dict[str, Any]:
        """The arguments of the constructor: {name: parameters of the term}, a list if there are several."""
        out: dict[str, Any] = {}
        for name in TERMS:
            terms = [term for term in self.terms if term.name == name]
            if terms:
                out[name] = terms[0].written() if len(terms) == 1 else [Term.written(term) for term in terms]
        return out


def _check_name(name: str) -> None:
    if name not in TERMS:
        known = ", ".join(TERMS) + nearest(name, list(TERMS))
        raise RobotError(f"there is no friction term '{name}'; known terms are {known}")


def _ordered(terms: list[Term]) -> tuple[Term, ...]:
    """The terms in table order, viscous and Coulomb friction first and at most one of each; zero terms are dropped."""
    for kind in (Viscous, Coulomb):
        if len([term for term in terms if isinstance(term, kind)]) > 1:
            raise RobotError(f"a joint has {kind.name} friction twice; give the sum as a single term")
    losses = [term for term in terms if "load" in term.of and term.physical]
    lost = sum(term.torque(0.0, -1.0, 0.0) - term.torque(0.0, -1.0, 1.0) for term in losses)
    if isinstance(lost, float) and lost >= 1.0:  # no load could drive the joint
        names = " and ".join(dict.fromkeys(term.name for term in losses))
        raise RobotError(
            f"{names} together lose {lost:g} of a load that drives the joint; the fraction must be below 1"
        )
    does = [term for term in terms if any(not isinstance(x, float) or x != 0.0 for x in term.coefficients)]
    if len(does) > TERMS_OF_JOINT:
        raise RobotError(f"a joint has {len(does)} friction terms; at most {TERMS_OF_JOINT} are allowed")
    return tuple(sorted(does, key=lambda term: list(TERMS).index(term.name)))
