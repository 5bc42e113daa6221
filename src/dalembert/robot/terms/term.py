"""Base class of joint torque terms other than inertia, gravity and contact: friction, springs and losses.

A term is an immutable record of numbers. Some of them are *coefficients*: the torque is linear in them, and
identification estimates them. The others define the *shape* of the term. The law is written once, as the torque per
unit of each coefficient (``columns``), for scalars of any kind: dynamics, derivatives, regressor, simulation and
symbols all use it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

from dalembert.base.algebra.records import bounded, settle
from dalembert.base.algebra.scalars import Scalar, total
from dalembert.errors import RobotError

SLIDING_UNITS = (("N m", "N"), ("rad", "m"), ("per turn", "rad/m"))  # for prismatic joints, replaced in this order
CREEP = 1e-300  # a negligible velocity that still has a sign
GRADUAL = 1e-200  # a smaller change at such a velocity is not a jump


def coefficient(
    symbol: str, unit: str, default: Any = ..., *, negative: bool = False, below: float | None = None
) -> Any:
    """A field in which the torque is linear.

    symbol    its name in identification and equations: "Fst" is Fst_3 at joint 3
    negative  whether it may be negative; if not, only a term marked ``physical=False`` can have a negative value
    below     exclusive upper limit, subject to the same rule
    """
    least = -math.inf if negative else 0.0
    return _field(default, {"symbol": symbol, "unit": unit, "least": least, "below": below, "linear": True})


def shape(symbol: str, unit: str, default: Any = ..., *, least: float = -math.inf, above: bool = False) -> Any:
    """A field that is not a coefficient, with the lower limit ``least``, which is exclusive if ``above``."""
    return _field(default, {"symbol": symbol, "unit": unit, "least": least, "above": above, "linear": False})


def _field(default: Any, about: Mapping[str, Any]) -> Any:
    return field(metadata=about) if default is ... else field(default=default, metadata=about)


@dataclass(frozen=True)
class Term:
    """A torque at a joint (N m, or N for a prismatic joint), as the motor must provide it.

    name      of the term in files
    title     in messages and reports
    of        the variables that the torque depends on: "q", "qd" and "load"
    turns     whether the term requires a revolute joint
    physical  False for identified values that are physically impossible, such as friction that drives

    ``load`` is the torque transmitted by the joint: all that it needs apart from its own terms. The law may be any
    function of q and q̇ plus one that is proportional to the magnitude of the load, separately for each of its
    directions.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    of: ClassVar[tuple[str, ...]] = ("qd",)
    turns: ClassVar[bool] = False
    physical: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        for entry in self.numbers():
            counts = self.physical or not entry.metadata["linear"]
            keys = ("least", "above", "below") if counts else ()
            limits = {key: entry.metadata[key] for key in keys if key in entry.metadata}
            value = bounded(getattr(self, entry.name), self.called(entry.name), **limits)
            if not isinstance(value, float) and not hasattr(value, "sin"):
                raise RobotError(f"{self.called(entry.name)} is {value!r}; it must be a number")
            settle(self, **{entry.name: value})

    # -- the law -----------------------------------------------------------------------------------

    def columns(self, q: Scalar, qd: Scalar, load: Scalar) -> tuple[Scalar, ...]:
        """The torque per unit of each coefficient."""
        raise NotImplementedError

    def torque(self, q: Scalar, qd: Scalar, load: Scalar) -> Scalar:
        """The torque of the term."""
        return reduce(add, (x * y for x, y in zip(self.coefficients, self.columns(q, qd, load), strict=True)))

    def static(self, q: Scalar, load: Scalar) -> tuple[Scalar, Scalar]:
        """Its static levels: the jump of the torque when the joint begins to move forward, and backward."""
        if not {"qd", "load"} & set(self.of):
            return 0.0, 0.0
        backward, rest, forward = (self.columns(q, v, load) for v in (-CREEP, 0.0, CREEP))
        return self._jump(rest, forward), self._jump(backward, rest)

    def _jump(self, before: tuple[Scalar, ...], after: tuple[Scalar, ...]) -> Scalar:
        """The jump of the torque, without gradual changes."""
        jumps = (y - x for x, y in zip(before, after, strict=True))
        return total(
            c * x for c, x in zip(self.coefficients, jumps, strict=True) if not isinstance(x, float) or abs(x) > GRADUAL
        )

    # -- parameters ----------------------------------------------------------------------------------

    @classmethod
    def called(cls, field: str) -> str:
        """A parameter of the term in words: "the speed of Stribeck friction"."""
        return f"the {field} of {cls.title}" if len(cls.numbers()) > 1 else cls.title

    @classmethod
    def numbers(cls) -> tuple[Any, ...]:
        """The numeric fields, in order."""
        return tuple(entry for entry in fields(cls) if entry.metadata)

    @classmethod
    def needed(cls) -> list[str]:
        """The names of the numeric fields without a default."""
        return [entry.name for entry in cls.numbers() if not isinstance(entry.default, (int, float))]

    @classmethod
    def linear(cls) -> tuple[str, ...]:
        """The names of the coefficients."""
        return tuple(entry.name for entry in cls.numbers() if entry.metadata["linear"])

    @property
    def values(self) -> tuple[Scalar, ...]:
        """All numbers."""
        return tuple(getattr(self, entry.name) for entry in self.numbers())

    @property
    def coefficients(self) -> tuple[Scalar, ...]:
        """The values of the coefficients."""
        return tuple(getattr(self, name) for name in self.linear())

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the coefficients in identification."""
        return tuple(entry.metadata["symbol"] for entry in self.numbers() if entry.metadata["linear"])

    @property
    def text(self) -> str:
        """The term with its parameters, as one line of text."""
        return self.text_at("revolute")

    def text_at(self, joint_type: str) -> str:
        """The same, in the units of a joint of this type: N and m if it is prismatic."""
        parts = []
        for entry in self.numbers():
            unit = unit_at(entry.metadata["unit"], joint_type == "prismatic")
            parts.append(f"{entry.name} {getattr(self, entry.name):g} {unit}".rstrip())
        title = self.title.removeprefix("the ")
        return f"{title}: {', '.join(parts)}" + ("" if self.physical else " (not physical)")

    # -- files ---------------------------------------------------------------------------------------

    @classmethod
    def read(cls, value: Any) -> Self:
        """A term from the form used in files and calls: parameters by name, in order, or the first of them alone."""
        known = [entry.name for entry in cls.numbers()]
        if isinstance(value, Mapping):
            values = dict(value)
            if unknown := [key for key in values if key not in (*known, "physical")]:
                raise RobotError(f"{cls.name} has no '{unknown[0]}'; it has {', '.join((*known, 'physical'))}")
        else:
            listed = value.tolist() if hasattr(value, "tolist") else value
            listed = tuple(listed) if isinstance(listed, (list, tuple)) else (listed,)
            if len(listed) > len(known):
                raise RobotError(f"{cls.name} has {len(listed)} numbers; it takes {', '.join(known)}")
            values = dict(zip(known, listed, strict=False))
        needed = cls.needed()
        if missing := [name for name in needed if name not in values]:
            raise RobotError(f"{cls.name} has no {' and no '.join(missing)}; give {', '.join(needed)}")
        if not isinstance(values.get("physical", True), bool):
            raise RobotError(f"'physical' of {cls.name} is {values['physical']!r}; it must be true or false")
        for key, x in values.items():
            numeric = hasattr(x, "sin") or isinstance(x, (int, float)) or getattr(x, "ndim", 1) == 0
            if key != "physical" and (isinstance(x, (bool, str)) or not numeric):
                raise RobotError(f"{cls.called(key)} is {x!r}; it must be a number")
        return cls(**values)

    def written(self) -> Any:
        """The form that :meth:`read` accepts: {name: number}, without defaults."""
        values = {x.name: getattr(self, x.name) for x in self.numbers() if getattr(self, x.name) != x.default}
        return values if self.physical else {**values, "physical": False}


def unit_at(unit: str, slides: bool) -> str:
    """The unit of a number of a term at a joint, which is prismatic if it ``slides``."""
    return reduce(lambda text, pair: text.replace(*pair), SLIDING_UNITS, unit) if slides else unit
