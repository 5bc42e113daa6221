"""Our equations on CasADi's symbols, used as scalars."""

from __future__ import annotations

from typing import Any

import casadi as ca

import dalembert as da
from dalembert.compiler.quantities import joints
from dalembert.compiler.quantities.machine import signature


class Symbol:
    """A CasADi scalar that defers to vectors and matrices."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        return lambda: Symbol(getattr(self.value, name)())

    def __neg__(self) -> Symbol:
        return Symbol(-self.value)

    def less(self, other: Any) -> Symbol:
        """1 if this is less, otherwise 0."""
        return Symbol(self.value < value_of(other))

    def select(self, x: Any, y: Any) -> Symbol:
        """x if this is non-zero, otherwise y."""
        return Symbol(ca.if_else(self.value, value_of(x), value_of(y)))


def value_of(x: Any) -> Any:
    """A CasADi scalar."""
    return x.value if isinstance(x, Symbol) else x


def _operator(name: str) -> Any:
    def operate(self: Symbol, other: Any) -> Any:
        if not isinstance(other, (Symbol, int, float)):
            return NotImplemented
        return Symbol(getattr(self.value, name)(value_of(other)))

    return operate


for _name in ("add", "sub", "mul", "truediv"):
    for _operation in (f"__{_name}__", f"__r{_name}__"):
        setattr(Symbol, _operation, _operator(_operation))


def flat(values: Any) -> list[Any]:
    """The numbers of nested lists."""
    return [x for row in values for x in flat(row)] if isinstance(values, (list, tuple)) else [values]


def graph(arm: da.Arm, quantity: str, formulation: str) -> tuple[list[Any], Any]:
    """CasADi's inputs, and the column of values."""
    entry = joints.quantity(quantity, arm.mechanism)
    shapes = signature(arm.mechanism, entry).inputs
    arrays = {x: [Symbol(ca.SX.sym(f"{x}{k}")) for k in range(size)] for x, (size,) in shapes}
    values = entry.values(arm.mechanism, formulation, arrays)
    return [ca.vertcat(*map(value_of, x)) for x in arrays.values()], ca.vertcat(*map(value_of, flat(values)))
