"""The laws of friction, springs and losses at a joint: one class per term, in the order of ``TERMS``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.base.algebra.scalars import Scalar, cos, exp, less, select, sgn, sin, sqrt, tanh
from dalembert.errors import RobotError
from dalembert.robot.terms.term import Term, coefficient, shape


@dataclass(frozen=True)
class Viscous(Term):
    """F_v q̇, S (7.42)."""

    name = "viscous"
    title = "viscous friction"
    damping: float = coefficient("Fv", "N m s/rad")

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (qd,)

    def written(self) -> Any:
        return self.damping if self.physical else super().written()


@dataclass(frozen=True)
class Coulomb(Term):
    """F_s⁺ at positive and −F_s⁻ at negative velocity, S (7.42); at rest the value between them that balances the joint."""

    name = "coulomb"
    title = "Coulomb friction"
    forward: float = coefficient("Fs+", "N m")
    backward: float = coefficient("Fs-", "N m")

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        s = sgn(qd)
        return 0.5 * (s + s * s), 0.5 * (s - s * s)

    def torque(self, q: Scalar, qd: Scalar, load: Scalar) -> Scalar:
        """F_s sgn(q̇), written ½(F_s⁺ + F_s⁻) sgn + ½(F_s⁺ − F_s⁻) sgn²."""
        s = sgn(qd)
        return 0.5 * (self.forward + self.backward) * s + 0.5 * (self.forward - self.backward) * (s * s)

    def static(self, q: Scalar, load: Scalar) -> tuple[Scalar, Scalar]:
        return self.forward, self.backward

    @classmethod
    def read(cls, value: Any) -> Coulomb:
        """One level for both directions, or one level per direction."""
        if isinstance(value, Mapping):
            return super().read(value)
        pair = value.tolist() if hasattr(value, "tolist") else value
        pair = tuple(pair) if isinstance(pair, (list, tuple)) else (pair, pair)
        if len(pair) != 2:
            allowed = "one number, or two (positive velocity, negative velocity)"
            raise RobotError(f"'coulomb' is {list(pair)}; it must be {allowed}")
        return super().read(pair)

    def written(self) -> Any:
        if not self.physical:
            return super().written()
        return self.forward if self.forward == self.backward else (self.forward, self.backward)


@dataclass(frozen=True)
class Offset(Term):
    """τ_0: the offset of a sensor or of the drive current."""

    name = "offset"
    title = "the torque offset"
    of = ()
    level: float = coefficient("tau0", "N m", negative=True)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (1.0,)

    @property
    def symbols(self) -> tuple[str, ...]:
        return ("offset",)

    def written(self) -> Any:
        return self.level


@dataclass(frozen=True)
class Stribeck(Term):
    """F_st sgn(q̇) exp(−(q̇/v_s)²): friction near standstill, in addition to Coulomb friction."""

    name = "stribeck"
    title = "Stribeck friction"
    level: float = coefficient("Fst", "N m")
    speed: float = shape("vs", "rad/s", least=0.0, above=True)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        x = qd / self.speed
        return (sgn(qd) * exp(-(x * x)),)


@dataclass(frozen=True)
class Tanh(Term):
    """F_t tanh((q̇ − v_0)/w): Coulomb friction with a smooth transition at zero velocity."""

    name = "tanh"
    title = "gradual Coulomb friction"
    level: float = coefficient("Ft", "N m")
    width: float = shape("w", "rad/s", least=0.0, above=True)
    centre: float = shape("v0", "rad/s", 0.0)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (tanh((qd - self.centre) / self.width),)


@dataclass(frozen=True)
class Sigmoid(Term):
    """F_g (1/(1 + e^(−(q̇ + v_0)/w)) − 1/(1 + e^(−v_0/w))), which vanishes at rest, as in published models of Franka's arm.

    1/(1 + e^(−x)) is computed as ½ (1 + tanh x/2), which is differentiable at any velocity, while e^(−x) overflows.
    """

    name = "sigmoid"
    title = "sigmoid friction"
    level: float = coefficient("Fg", "N m")
    width: float = shape("w", "rad/s", least=0.0, above=True)
    shift: float = shape("v0", "rad/s", 0.0)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (0.5 * (self._tanh(qd + self.shift) - self._tanh(self.shift)),)

    def _tanh(self, v: Scalar) -> Scalar:
        return tanh(0.5 * v / self.width)


@dataclass(frozen=True)
class Drag(Term):
    """F_q q̇ |q̇|: churning of lubricant, fans, cables."""

    name = "drag"
    title = "quadratic friction"
    level: float = coefficient("Fq", "N m s²/rad²")

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (qd * qd * sgn(qd),)


@dataclass(frozen=True)
class LoadFriction(Term):
    """μ |load| sgn(q̇), where ``load`` is the transmitted torque; with μ ≥ 1 no load could drive the joint."""

    name = "load"
    title = "load-dependent friction"
    of = ("qd", "load")
    share: float = coefficient("mu", "", below=1.0)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (load * sgn(load) * sgn(qd),)


@dataclass(frozen=True)
class GearLoss(Term):
    """η |load| sgn(q̇), with η = η_1 if the load opposes the motion (the motor drives) and η = η_2 if it supports it.

    With η_2 ≥ 1 no load could drive the joint.
    """

    name = "gear"
    title = "gear losses"
    of = ("qd", "load")
    driving: float = coefficient("eta1", "")
    driven: float = coefficient("eta2", "", below=1.0)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        lost = load * sgn(load) * sgn(qd)
        drives = less(0.0, load * sgn(qd))
        return select(drives, lost, 0.0), select(drives, 0.0, lost)


@dataclass(frozen=True)
class Harmonic(Term):
    """a sin kq + b cos kq, with k periods per turn: cogging, torque ripple of a gear, a counterbalance."""

    name = "harmonic"
    title = "the torque ripple"
    of = ("q",)
    order: float = shape("k", "per turn", least=0.0, above=True)
    sine: float = coefficient("a", "N m", 0.0, negative=True)
    cosine: float = coefficient("b", "N m", 0.0, negative=True)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        x = q if self.order == 1.0 else self.order * q
        return sin(x), cos(x)

    @property
    def symbols(self) -> tuple[str, ...]:
        return f"sin{self.order:g}", f"cos{self.order:g}"


@dataclass(frozen=True)
class Spring(Term):
    """k (q − q_0)."""

    name = "spring"
    title = "the spring"
    of = ("q",)
    stiffness: float = coefficient("k", "N m/rad")
    rest: float = shape("q0", "rad", 0.0)

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        return (q - self.rest,)


@dataclass(frozen=True)
class GasSpring(Term):
    """A cylinder between the links before and after a joint: −(F + c (ℓ_0 − ℓ)) dℓ/dq, F pushing its ends apart.

    Its length is ℓ, with ℓ² = a² + b² − 2ab cos(q − q_0).

    a, b   distances of the two ends from the joint axis
    angle  q_0, where the ends are closest to each other
    length ℓ_0, at which the force is F; it increases by c per metre of compression
    """

    name = "gas_spring"
    title = "the gas spring"
    of = ("q",)
    turns = True
    force: float = coefficient("F", "N", negative=True)
    a: float = shape("a", "m", least=0.0, above=True)
    b: float = shape("b", "m", least=0.0, above=True)
    angle: float = shape("q0", "rad", 0.0)
    rate: float = coefficient("c", "N/m", 0.0, negative=True)
    length: float = shape("l0", "m", 0.0, least=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.a == self.b:
            raise RobotError(
                f"the ends of a gas spring are both {self.a:g} m from the axis and could coincide; a and b must differ"
            )

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        x = q - self.angle
        length = sqrt(self.a * self.a + self.b * self.b - 2.0 * self.a * self.b * cos(x))
        slope = self.a * self.b * sin(x) / length
        return -slope, -(self.length - length) * slope
