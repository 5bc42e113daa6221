"""The part of a joint's torque other than inertia, gravity and contact: the terms of :mod:`dalembert.robot.terms`.

S (7.42) has two of them, F_v q̇ + F_s sgn(q̇). Some depend on the load ℓ, the torque that the joint transmits, so that
τ = ℓ + f(q, q̇, ℓ). The load follows from τ, since f depends only on the magnitude of ℓ for each sign:

    f = f_0 + w_σ |ℓ|,  σ = sgn ℓ:    ℓ = (τ − f_0) / (1 + σ w_σ)    with σ = sgn(τ − f_0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dalembert.base.algebra.dual import Dual, slope
from dalembert.base.algebra.records import settle
from dalembert.base.algebra.scalars import Scalar, Values, less, select, total
from dalembert.robot.model.mechanism import Body, Mechanism
from dalembert.robot.terms import Coulomb, Term


def viscous(body: Body, qd: Scalar) -> Scalar:
    """F_v q̇"""
    return body.terms[0].torque(0.0, qd, 0.0)


def coulomb(body: Body, qd: Scalar) -> Scalar:
    """F_s sgn(q̇)"""
    return body.terms[1].torque(0.0, qd, 0.0)


def further(body: Body, q: Scalar, qd: Scalar, load: Scalar) -> Scalar:
    """The terms beyond S (7.42)."""
    x = position(body, q)
    return total(term.torque(x, qd, load) for term in body.further)


def friction(body: Body, q: Scalar, qd: Scalar, load: Scalar) -> Scalar:
    """F_v q̇ + F_s sgn(q̇), and any further terms."""
    x = position(body, q)
    torque = body.terms[0].torque(x, qd, load)
    for term in body.terms[1:]:
        torque = torque + term.torque(x, qd, load)
    return torque


def position(body: Body, q: Scalar) -> Scalar:
    """q as the terms take it; for a passive joint, which is known by its sine and cosine, between −π and π."""
    return q.radians() if body.depends("q") and hasattr(q, "radians") else q


def load_of(body: Body, q: Scalar, qd: Scalar, tau: Scalar) -> Scalar:
    """ℓ, the part of its torque that the joint transmits: τ − f."""
    left = tau - friction(body, q, qd, 0.0)
    return _passed_on(left, lambda load: further(body, q, qd, load)) if body.depends("load") else left


def with_load(body: Body, q: Scalar, qd: Scalar, tau: Scalar) -> Scalar:
    """The joint's torque, from the torque without the terms that depend on the load: ℓ + f(q, q̇, ℓ)."""
    load = tau - friction(body, q, qd, 0.0)
    return load + friction(body, q, qd, load)


def _passed_on(left: Scalar, law: Callable[[Scalar], Scalar]) -> Scalar:
    """ℓ = left / (1 + σ w_σ), where the law consumes w_σ |ℓ| more than without a load."""
    forward, backward = (law(way) - law(0.0) for way in (1.0, -1.0))
    return left / (1.0 + select(less(0.0, left), forward, -backward))


def leaves_a_load(body: Body) -> bool:
    """Whether a torque determines the load uniquely for both directions of motion: 1 + σ w_σ > 0."""
    return all(
        1.0 + way * (further(body, 0.0, speed, way) - further(body, 0.0, speed, 0.0)) > 0.0
        for speed in (-1.0, 1.0)
        for way in (-1.0, 1.0)
    )


def slopes(law: Callable[..., Scalar], body: Body, q: Scalar, *others: Scalar) -> list[Scalar]:
    """The derivatives of a law of a body with respect to each of its arguments."""
    at = (position(body, q), *others)
    return [slope(law(body, *(Dual(x, 1.0 if k == j else 0.0) for j, x in enumerate(at)))) for k in range(len(at))]


def friction_torque(mechanism: Mechanism, q: Values, qd: Values, load: Values) -> list[Scalar]:
    """The friction torque of every joint (N m)."""
    return [friction(*of) for of in zip(mechanism.bodies, q, qd, load, strict=True)]


# -- sliding and sticking --------------------------------------------------------------------------


def static(body: Body, q: Scalar = 0.0, load: Scalar = 0.0) -> tuple[Scalar, Scalar]:
    """The dry friction that must be overcome to move forward, and backward: the sum of all static levels."""
    levels = [term.static(q, load) for term in body.terms]
    return total(forward for forward, _ in levels), total(backward for _, backward in levels)


def varies(body: Body) -> bool:
    """Whether the static levels depend on the position or on the load."""
    return any(map(_varies, body.further))


def dry(body: Body, q: Scalar, qd: Scalar, way: Scalar, load: Scalar) -> Scalar:
    """The part that :func:`sliding` omits, for a joint that moves in this direction: static levels and load terms."""
    x = position(body, q)
    levels = Coulomb(*static(body, x, load), physical=False).torque(x, way, 0.0)
    for term in body.further:
        if "load" in term.of:
            levels = levels + Sliding(term).torque(x, qd, load)
    return levels


def dry_levels(body: Body, q: Scalar, qd: Scalar, tau: Scalar) -> tuple[Scalar, Scalar]:
    """The dry friction at torque τ when the joint slips forward, and backward.

    The corresponding load follows from the torque, as in :func:`load_of`. A joint at rest sticks while the torque that
    friction must balance lies between the two.
    """
    if not body.depends("load"):
        return static(body, position(body, q))
    driven = tau - friction(sliding(body), q, qd, 0.0)

    def taken(way: float) -> Scalar:
        def law(load: Scalar) -> Scalar:
            return dry(body, q, qd, way, load)

        return driven - _passed_on(driven - law(0.0), law)

    return taken(1.0), -taken(-1.0)


def moving(body: Body, q: Scalar, qd: Scalar) -> Scalar:
    """The part of friction that changes with the speed: f(q, q̇) − f(q, 0)."""
    return friction(body, q, qd, 0.0) - friction(body, q, 0.0, 0.0)


@dataclass(frozen=True)
class Sliding(Term):
    """A term minus its static level: the remainder is continuous where the joint reverses."""

    whole: Term

    def __post_init__(self) -> None:
        settle(self, of=self.whole.of)

    def torque(self, q: Scalar, qd: Scalar, load: Scalar) -> Scalar:
        return self.whole.torque(q, qd, load) - Coulomb(*self.whole.static(q, load), physical=False).torque(q, qd, load)


def sliding(body: Body) -> Body:
    """The same body without dry friction: without static levels and without terms that depend on the load."""
    further = [Sliding(term) if _sticks(term) else term for term in body.further if "load" not in term.of]
    return replace(body, terms=(body.terms[0], Coulomb(0.0, 0.0), *further))


def _varies(term: Term) -> bool:
    """Whether the term may have a static level that depends on the position or on the load."""
    return "load" in term.of or {"q", "qd"} <= set(term.of)


def _sticks(term: Term) -> bool:
    """Whether the term has, or may have, a static level."""
    return _varies(term) or any(not isinstance(x, float) or x != 0.0 for x in term.static(0.0, 0.0))


# -- the same tree with fewer terms ----------------------------------------------------------------


def bare(mechanism: Mechanism) -> Mechanism:
    """The same tree with inertia and gravity only."""
    return replace(mechanism, bodies=tuple(body.bare for body in mechanism.bodies))


def loaded(mechanism: Any) -> list[int]:
    """The joints whose friction depends on the load."""
    return [i for i, body in enumerate(mechanism.bodies) if body.depends("load")]


def relieved(mechanism: Any, q: Values, qd: Values, tau: Values) -> tuple[Any, list[Scalar]]:
    """The tree without load-dependent terms, and the torques with those terms subtracted."""
    bodies, net = list(mechanism.bodies), list(tau)
    for i in loaded(mechanism):
        net[i] = load_of(bodies[i], q[i], qd[i], tau[i])
        bodies[i] = bodies[i].bare
    return replace(mechanism, bodies=tuple(bodies)), net
