"""Joints that follow others by formulas: a user's q = f(y), written in SymPy and traced like all other equations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any

from dalembert.base.algebra.scalars import Scalar, acos, asin, atan, atan2, cos, exp, less, log, select, sin, sqrt, tanh
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.extras import extra
from dalembert.errors import DalembertError

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (sin, cos, exp, log, tanh, atan2, atan, asin, acos)},
    "tan": lambda x: sin(x) / cos(x),
    "Abs": lambda x: select(less(x, 0.0), -x, x),
}
SLOPES: dict[str, Callable[..., Any]] = {  # derivatives; that of Abs away from its kink
    "sign": lambda x: 1.0 - 2.0 * less(x, 0.0),
    "DiracDelta": lambda _: 0.0,
}


@dataclass(frozen=True)
class Formula:
    """q_p = f(q_k): one SymPy expression per dependent joint, in symbols called ``names``."""

    passive: tuple[int, ...]
    known: tuple[int, ...]
    names: tuple[str, ...]
    formulas: tuple[Any, ...]

    kind = "formula"
    loops: tuple[int, ...] = ()

    @cached_property
    def symbols(self) -> tuple[Any, ...]:
        """The symbols used in the formulas."""
        return symbols(self.names)

    def values(self, x: Sequence[Scalar]) -> list[Scalar]:
        """f(q_k)"""
        at = dict(zip(self.names, x, strict=True))
        return [written(formula, at) for formula in self.formulas]

    def slopes(self, x: Sequence[Scalar]) -> list[list[Scalar]]:
        """S = ∂f/∂q_k"""
        at = dict(zip(self.names, x, strict=True))
        return [[written(formula.diff(y), at) for y in self.symbols] for formula in self.formulas]

    def bends(self, x: Sequence[Scalar], xd: Sequence[Scalar]) -> list[list[Scalar]]:
        """Ṡ at the velocities q̇_k"""
        at = dict(zip(self.names, x, strict=True))

        def rate(slope: Any) -> Scalar:
            parts = (written(slope.diff(y), at) * v for y, v in zip(self.symbols, xd, strict=True))
            return sum(parts, start=0.0)

        return [[rate(formula.diff(y)) for y in self.symbols] for formula in self.formulas]


def symbols(names: Sequence[str]) -> tuple[Any, ...]:
    """SymPy symbols for coordinates: real, with names that may contain primes."""
    with extra("symbols", "a coordinate map given as a function"):
        import sympy

    return tuple(sympy.Symbol(name, real=True) for name in names)


def written(formula: Any, at: Mapping[str, Scalar]) -> Scalar:
    """The value of a SymPy expression for scalars of any kind: floats, traced expressions, arrays.

    >>> import sympy
    >>> y = sympy.Symbol("y")
    >>> written(y**2 + sympy.cos(y) / 2, {"y": 0.0})
    0.5
    """
    if formula.is_number:
        return float(formula)
    if formula.is_Symbol:
        return at[formula.name]
    if formula.is_Add:
        return reduce(add, [written(x, at) for x in formula.args])
    if formula.is_Mul:
        above, below = formula.as_numer_denom()
        if below != 1:
            return written(above, at) / written(below, at)
        return reduce(mul, [written(x, at) for x in formula.args])
    if formula.is_Pow and formula.exp.is_Rational and formula.exp.q in (1, 2):
        base = written(formula.base, at)
        base = base if formula.exp.q == 1 else sqrt(base)
        power = reduce(mul, [base] * abs(formula.exp.p))
        return power if formula.exp.p > 0 else 1.0 / power
    if formula.is_Pow:
        return exp(written(formula.exp, at) * log(written(formula.base, at)))
    name = type(formula).__name__
    if name in FUNCTIONS or name in SLOPES:
        return (FUNCTIONS | SLOPES)[name](*(written(x, at) for x in formula.args))
    raise DalembertError(
        f"coordinates defined by '{formula}' cannot be compiled; formulas may use +, −, ×, /, powers, sqrt, "
        f"{', '.join(FUNCTIONS)}"
    )
